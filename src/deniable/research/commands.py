"""The commands of this package, as the command line lists them: a module, and the first sentence of its help."""

DEAL = ("deniable.research.dealt.cli", "Deal a secret share to each contributor.")
HAND_OUT = ("deniable.research.dealt.cli", "Move shares from a deal into a file for contributors.")
BENCH = ("deniable.research.comparison.cli", "Compare mechanisms on the same data and seeds.")

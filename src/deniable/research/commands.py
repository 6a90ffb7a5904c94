"""Commands of this package for the command line, each with its module and the first sentence of its help."""

CALIBRATE = (
    "deniable.research.leakage.calibration.cli",
    "Find the largest budgets that keep leakage below a cap.",
)
LOAD_TIMES = ("deniable.research.load_times.cli", "Print load times by the confidence that browsers hide.")
DEAL = ("deniable.research.dealt.cli", "Deal a secret share to each contributor.")
HAND_OUT = ("deniable.research.dealt.cli", "Move shares from a deal into a file for contributors.")
BENCH = ("deniable.research.comparison.cli", "Compare mechanisms on the same data and seeds.")

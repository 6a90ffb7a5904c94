"""Figure 4 of the paper: the three losses on the clicks of Kosarak, and on the clicks with separators counted."""

from __future__ import annotations

from experiments.harness import Run
from experiments.ocms.figures import SYNTHETIC, perform
from experiments.ocms.paper import PAPER

REAL = tuple(name for name in SYNTHETIC if "prime" not in name)
"""Methods without the prime family, whose reports are all compared with all values: 2e10 comparisons per run here."""

SEPARATED = ("OCMS", "OCMS-MSE", "HE", "CMS+HE", "RHR")


@PAPER.experiment("kosarak", "Figure 4: clicks of the Kosarak prefix (needs DENIABLE_DATA)", runs=100)
def kosarak(run: Run) -> None:
    """Measure the three losses on the clicks of the Kosarak prefix; f* = 1."""
    perform(run, "kosarak", REAL, "Kosarak clicks (first 100,000 of 990,002 lines)")


@PAPER.experiment(
    "kosarak-separators", "Figure 4 with separators counted as values, as the paper's numbers suggest", runs=100
)
def kosarak_separators(run: Run) -> None:
    """Measure the three losses on the Kosarak prefix with a sequence file's separators as values."""
    perform(run, "kosarak-separators", SEPARATED, "Kosarak prefix, separators counted as values")

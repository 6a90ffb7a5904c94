"""``python -m experiments.jrr NAME``: run one experiment, ``all`` of them, or ``list`` them."""

from experiments.jrr import (
    attackers,
    couplings,
    datasets,
    extensions,
    newcomers,
    quotas,
    sweeps,
    theory,
    two_phase,
    underperformance,
    which_m,
)
from experiments.jrr.paper import PAPER

MODULES = (
    datasets,
    sweeps,
    underperformance,
    attackers,
    extensions,
    couplings,
    theory,
    quotas,
    two_phase,
    newcomers,
    which_m,
)
"""Modules that register their experiments when they are imported."""

# Experiments that need data come last. So if there are no data, `all` stops there and not earlier.
PAPER.experiments = dict(sorted(PAPER.experiments.items(), key=lambda item: item[0] in ("real-records", "data-counts")))

if __name__ == "__main__":
    PAPER.main()

"""``python -m experiments.ocms NAME``: run one experiment, ``all`` of them, or ``list`` them."""

from experiments.ocms import (
    assignment,
    bias,
    brute_force,
    errata,
    example_a,
    fairness,
    families,
    figures,
    intervals,
    kosarak,
    pilot,
    random_bits,
    rappor,
    rhr,
    tables,
    wrong_bound,
)
from experiments.ocms.paper import PAPER

MODULES = (
    *(
        figures,
        brute_force,
        tables,
        fairness,
        bias,
        assignment,
        random_bits,
        wrong_bound,
        pilot,
        rappor,
        rhr,
        intervals,
        families,
        errata,
    ),
    *(example_a, kosarak),
)
"""Modules that register their experiments when they are imported."""

# Experiments that need data come last. So if there are no data, `all` stops there and not earlier.
PAPER.experiments = dict(sorted(PAPER.experiments.items(), key=lambda item: item[0].startswith("kosarak")))

if __name__ == "__main__":
    PAPER.main()

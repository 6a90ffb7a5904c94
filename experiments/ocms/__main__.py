"""``python -m experiments.ocms NAME``: run one experiment, ``all`` of them, or ``list`` them."""

from experiments.ocms import assignment, bias, errata, families, figures, intervals, kosarak, rhr, tables
from experiments.ocms.paper import PAPER

MODULES = (figures, tables, bias, assignment, rhr, intervals, families, errata, kosarak)
"""Importing them registers their experiments."""

# What needs data comes last, so that `all` stops there, and not before, if there are none.
PAPER.experiments = dict(sorted(PAPER.experiments.items(), key=lambda item: item[0].startswith("kosarak")))

if __name__ == "__main__":
    PAPER.main()

"""``python -m experiments.answers NAME``: run one experiment, ``all`` of them, or ``list`` them."""

from experiments.answers import ordered, pair_coverage, pairs
from experiments.answers.paper import PAPER

MODULES = (ordered, pairs, pair_coverage)
"""Modules that register their experiments when they are imported."""

if __name__ == "__main__":
    PAPER.main()

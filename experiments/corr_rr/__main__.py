"""``python -m experiments.corr_rr NAME``: run one experiment, ``all`` of them, or ``list`` them."""

from importlib import import_module

from experiments.corr_rr.paper import PAPER

NAMES: tuple[str, ...] = (
    "tables",
    "optimum",
    "figures",
    "claims",
    "statements",
    "data_tables",
    "readings",
    "ideas",
    "variants",
    "decoder",
    "coverage",
    "achieved",
)
"""Modules with experiments, in the order of the list; importing a module registers its experiments."""

MODULES = tuple(import_module(f"experiments.corr_rr.{name}") for name in NAMES)

NEED_DATA = (
    "figure-11",
    "v1-figure-14",
    "claims",
    "statements",
    "real-data",
    "readings",
    "per-value",
    "variants",
    "decoder",
    "held-out",
)
"""Experiments that need data; they come last, so that `all` runs the others before it stops for lack of data."""

PAPER.experiments = dict(sorted(PAPER.experiments.items(), key=lambda item: item[0] in NEED_DATA))

if __name__ == "__main__":
    PAPER.main()

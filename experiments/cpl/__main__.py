"""``python -m experiments.cpl NAME... [--runs N] [--seed N] [-o FOLDER]``."""

from experiments.cpl.experiments import PAPER

if __name__ == "__main__":
    PAPER.main()

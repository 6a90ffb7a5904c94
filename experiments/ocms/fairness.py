"""Differences between the author's published code, the paper's text and our code, and their effects.

The author's code is github.com/mingen-pan/CountMeanSketch, `evaluation/sketch.py`. It is not used here.

* Its decoder inverts the matrix of randomised response numerically, so that it does not contain line 44 of Algorithm 1.
* Its CMS+HE has 2,048 hash functions of 1,024 cells; the experiments here have 1,024 of them.
* Its recursive Hadamard response has b = ceil(epsilon log2 e) bits; section 4.3 prints b = epsilon.
"""

from __future__ import annotations

import math

import numpy as np

from deniable.research.baselines.apple_hadamard import AppleHCMS
from experiments.harness import Cell, Run
from experiments.ocms import methods
from experiments.ocms.losses import estimated
from experiments.ocms.methods import variances
from experiments.ocms.paper import EPSILONS, PAPER
from experiments.ocms.populations import population
from experiments.ocms.statistics import Comparison, randomness, standard_error

PUBLISHED_HASHES = 2048
"""Number of hash functions of CMS+HE in the author's code."""


def inverted(epsilon: float, m: int) -> tuple[float, float]:
    """Return the weights of a match and of a mismatch if the matrix of randomised response is inverted numerically."""
    odds = math.exp(epsilon)
    matrix = (np.ones((m, m)) + (odds - 1) * np.eye(m)) / (odds + m - 1)
    inverse = np.linalg.inv(matrix)
    return float(inverse[0, 0]), float(inverse[0, 1])


def hash_functions(cell: Cell) -> Cell:
    """Measure the l2 loss of CMS+HE with the author's number of hash functions, and return both theories."""
    people = population(cell["data"], cell["seed"]).compact()

    def sketch(hashes: int, seed: int = 0) -> AppleHCMS:
        return AppleHCMS(people.k, cell["epsilon"], methods.CELLS, hashes, seed)

    found = np.empty(cell["runs"])
    for run in range(cell["runs"]):
        rng = randomness(cell, run)
        estimates = estimated(sketch(PUBLISHED_HASHES, rng.seed), people, rng)
        found[run] = ((estimates - people.frequencies[people.interest]) ** 2).sum()
    theories = {hashes: float(variances(sketch(hashes), people).sum()) for hashes in (methods.HASHES, PUBLISHED_HASHES)}
    mean, error, theory = float(found.mean()), standard_error(found), theories[PUBLISHED_HASHES]
    return {
        "l2": mean,
        "error": error,
        "theory": theory,
        "z": Comparison(mean, error, theory).z,
        "1,024 over 2,048": theories[methods.HASHES] / theory,
    }


def recursive_response(epsilon: float, bits: int) -> tuple[float, float]:
    """Return (n l2/d for spread-out data, n worst MSE) of recursive Hadamard response, 2^bits cells, large d."""
    odds = math.exp(epsilon)
    p, q = odds / (odds + 2**bits - 1), 1 / (odds + 2**bits - 1)
    share = 2.0 ** -(bits - 1)
    return (share * (p + q) + (1 - share) * 2 * q) / (p - q) ** 2, (p + q) / (p - q) ** 2


@PAPER.experiment("fairness", "Differences between the author's code, the paper's text and our code", runs=100, quick=1)
def fairness(run: Run) -> None:
    """Measure CMS+HE with 2,048 hash functions; compute line 44 and the b of section 4.3, as coded and as printed."""
    settings = [{"data": data, "epsilon": epsilon} for data in ("zipf", "gaussian") for epsilon in EPSILONS]
    cells = run.cells(settings, hash_functions)
    run.save_table(cells, "-hashes")
    run.show(cells, title="l2 loss of CMS+HE with 2,048 hash functions")
    rows = []
    for epsilon in EPSILONS:
        odds = math.exp(epsilon)
        match, mismatch = inverted(epsilon, 8)
        coded = math.ceil(epsilon * math.log2(math.e))
        (l2, worst), (printed_l2, printed_worst) = (
            recursive_response(epsilon, coded),
            recursive_response(epsilon, epsilon),
        )
        rows.append(
            {
                "epsilon": epsilon,
                "match of the inverse less (E+m-2)/(E-1)": match - (odds + 6) / (odds - 1),
                "mismatch less -1/(E-1)": mismatch + 1 / (odds - 1),
                "b coded": coded,
                "b printed": epsilon,
                "l2/d coded": l2,
                "l2/d printed": printed_l2,
                "worst MSE coded": worst,
                "worst MSE printed": printed_worst,
                "HE": ((odds + 1) / (odds - 1)) ** 2,
            }
        )
    run.save_table(rows, "-code")
    run.show(rows, title="line 44 and b, as coded and as printed")

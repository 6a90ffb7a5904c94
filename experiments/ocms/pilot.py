"""Bound f* from a pilot, after Theorem 3.7: how often the bound fails, and the gain of the second phase.

A tenth of the contributors answer with the sketch for the mean error. Their reports bound the largest frequency. The
others answer with the sketch for that bound (`deniable.oracles.max_frequency_bound`, `learn_sketch`). All contributors
are drawn from one population, in which one value has the frequency `top` and all others are equally rare.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from deniable import OCMS, SimulationRandomness
from deniable.oracles.sketch.pilot import bound_price, max_frequency_bound, upper_frequency
from experiments.harness import Cell, Run
from experiments.ocms.paper import PAPER
from experiments.ocms.statistics import randomness, standard_error

K, PILOT, OTHERS, CONFIDENCE = 1000, 1000, 9000, 0.95
TOPS = (0.001, 0.1, 0.5)
"""Frequency of the commonest value: equal to that of all others, a tenth, and half."""


def failure(epsilon: float, top: float) -> float:
    """Return the exact probability that the commonest value's own limit is too low; the bound fails no more often."""
    mechanism = OCMS(K, epsilon)
    p1, p0 = map(float, mechanism.support_probabilities)
    low, high = 0, PILOT
    while low < high:
        middle = (low + high) // 2
        if upper_frequency(mechanism, middle, PILOT, CONFIDENCE) >= top:
            high = middle
        else:
            low = middle + 1
    return float(stats.binom.cdf(low - 1, PILOT, p0 + top * (p1 - p0)))


def two_phases(cell: Cell) -> Cell:
    """Measure the bound, how often it fails, and the second phase's errors at the commonest and at a rare value."""
    epsilon, top = cell["epsilon"], cell["top"]
    shares = np.full(K, (1 - top) / (K - 1))
    shares[0] = top
    pilot = OCMS(K, epsilon)
    bounds, squares, cells, theory = [], [], [], []
    for run in range(cell["runs"]):
        rng: SimulationRandomness = randomness(cell, run)
        first = np.repeat(np.arange(K), rng.generator.multinomial(PILOT, shares))
        bound = max_frequency_bound(pilot.aggregate(pilot.randomize(first, rng)), CONFIDENCE)
        sketch = OCMS(K, epsilon, "mse", bound.max_frequency)
        counts = rng.generator.multinomial(OTHERS, shares)
        reports = sketch.randomize(np.repeat(np.arange(K), counts), rng)
        estimate = sketch.estimate_support(sketch.count_support(reports, [0, 1]), OTHERS, [0, 1])
        bounds.append(bound.max_frequency)
        cells.append(sketch.m)
        theory.append([sketch.variance(top, 1), sketch.variance(0.0, 1)])
        squares.append(OTHERS * (estimate.frequencies - counts[:2] / OTHERS) ** 2)
    found, errors = np.array(bounds), np.array(squares)
    expected = np.mean(theory, axis=0)
    place = int(expected.argmax())
    missed = found < top
    unbounded = OCMS(K, epsilon, "mse")
    worst = max(unbounded.variance(0.0, 1), unbounded.variance(top, 1))
    return {
        "bound": float(found.mean()),
        "failed": float(missed.mean()),
        "failed error": math.sqrt(max(float(missed.mean()), 1 / len(found)) / len(found)),
        "own limit fails": failure(epsilon, top),
        "median m": float(np.median(np.array(cells))),
        "m at f*=1": unbounded.m,
        "largest n MSE": float(errors[:, place].mean()),
        "error": standard_error(errors[:, place]),
        "theory": float(expected[place]),
        "at f*=1": worst,
        "over f*=1": float(errors[:, place].mean()) / worst,
        "over error": standard_error(errors[:, place]) / worst,
    }


@PAPER.experiment(
    "pilot", "Bound f* from a pilot: how often it fails, and the gain in the second phase", runs=2000, quick=2
)
def pilot(run: Run) -> None:
    """Measure a pilot's bound and the second phase's largest error; print the cost of a bound that fails."""
    settings = [{"epsilon": epsilon, "top": top} for epsilon in (1, 3, 5) for top in TOPS]
    rows = run.cells(settings, two_phases)
    for row in rows:
        far = abs(row["over f*=1"] - 1) >= 2 * row["over error"]
        row["verdict"] = ("less" if row["over f*=1"] < 1 else "more") if far else "undecided"
    run.save_table(rows)
    run.show(rows, title=f"a pilot of {PILOT:,} of {PILOT + OTHERS:,}, {CONFIDENCE:.0%} confidence; {run.runs} runs")
    prices = []
    for epsilon in (1, 3, 5):
        for at_most in (0.02, 0.1):
            price = bound_price(100_000, epsilon, 100_000, at_most)
            held, *_, broken = price.errors
            prices.append(
                {
                    "epsilon": epsilon,
                    "f*": at_most,
                    "m": price.m,
                    "m at f*=1": price.unbounded_m,
                    "held": held.bounded / held.unbounded,
                    "at frequency 1": broken.bounded / broken.unbounded,
                    "break even": price.break_even,
                }
            )
    run.save_table(prices, "-price")
    run.show(
        prices, title="largest standard error over that of f* = 1: while f* holds, and if everybody holds one value"
    )

"""Measure how often intervals of answers contain the truth.

The answers are means, totals, quantiles, differences between waves, and intervals that are looked at repeatedly.
``python -m benchmarks.answers FOLDER`` prints the results and writes docs/results/answers.json. FOLDER (or
DENIABLE_DATA) has brfss2015_health.csv.gz, whose columns are the populations from which contributors are drawn. All
intervals are 95% intervals. A setting fails if the number of intervals that contain the truth is improbably low. The
limit is the least number with probability 1e-4 or more when the true coverage is .93.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from deniable import GRR, OUE, Estimate, SimulationRandomness, SubsetSelection
from deniable.answers import difference
from deniable.core.checks import TARGETS
from deniable.core.estimate import affine_estimate

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "answers.json"
FILE = "brfss2015_health.csv.gz"
RUNS, LOOK_RUNS, LOOKS = 1000, 400, 60
SETTINGS = (
    ("GenHlth", "GRR", 1.0, 500),
    ("PhysHlth in steps of two days", "SubsetSelection", 1.0, 500),
    ("GenHlth", "GRR", 4.0, 20_000),
    ("PhysHlth in steps of two days", "OUE", 1.0, 20_000),
    ("GenHlth", "SubsetSelection", 1.0, 1_000_000),
    ("PhysHlth in steps of two days", "GRR", 4.0, 1_000_000),
)
MECHANISMS: dict[str, Any] = {"GRR": GRR, "SubsetSelection": SubsetSelection, "OUE": OUE}
LOOKED = (
    (5, 0.3, "GRR", 1.0),
    (16, 0.3, "SubsetSelection", 1.0),
    (16, 0.02, "OUE", 1.0),
    (2, 0.5, "GRR", 4.0),
    (16, 0.1, "OUE", 3.0),
)
HOWS = ("any", "one")
LEAST, CHANCE = 0.93, 1e-4

Counts = NDArray[np.int64]


def populations(folder: Path) -> dict[str, Counts]:
    """Return the number of people with each value, for two ordered columns of 5 and 16 values."""
    with gzip.open(folder / FILE, "rb") as file:
        rows = list(csv.DictReader(io.TextIOWrapper(file, "utf-8")))
    found = {}
    health = np.array([float(row["GenHlth"]) for row in rows]).astype(int)
    found["GenHlth"] = np.bincount(health - 1)
    days = np.array([float(row["PhysHlth"]) for row in rows]).astype(int)
    found["PhysHlth in steps of two days"] = np.bincount(days // 2, minlength=16)
    return found


def _questions(estimate: Estimate) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name of a question, its answer, and the truth as a function of frequencies."""
    k = estimate.k
    scores, top = np.arange(k) * 1.0, np.arange(k) >= k - 2
    yield "mean", estimate.mean(scores), lambda f: f @ scores
    yield "total", estimate.total([str(v) for v in np.flatnonzero(top)]), lambda f: f[top].sum()
    yield "at least", estimate.at_least(str(k // 2)), lambda f: f[k // 2 :].sum()


def coverage(people: Counts, name: str, epsilon: float, n: int, runs: int, seed: int) -> dict[str, float]:
    """Return the share of runs in which each interval contained the truth; contributors are drawn anew in each run."""
    mechanism = MECHANISMS[name](len(people), epsilon)
    generator, rng = np.random.default_rng(seed), SimulationRandomness(seed)
    f = people / people.sum()
    hits: dict[str, int] = {}

    def count(question: str, held: bool) -> None:
        hits[question] = hits.get(question, 0) + bool(held)

    def within(bounds: tuple[float, float], truth: float) -> bool:
        return bounds[0] - 1e-12 <= truth <= bounds[1] + 1e-12

    shifted = np.roll(f, 1) * 0.2 + f * 0.8
    for _ in range(runs):
        held = generator.multinomial(n, f)
        later = generator.multinomial(n, shifted)
        estimate = mechanism.estimate(mechanism.simulate_aggregate(held, rng))
        second = mechanism.estimate(mechanism.simulate_aggregate(later, rng))
        truths = {"contributors": (held / n, later / n), "population": (f, shifted)}
        changes = {question: (answer, truth) for question, answer, truth in _questions(second)}
        for question, answer, truth in _questions(estimate):
            change = difference(changes[question][0], answer, independent=True)
            for target in TARGETS:
                here, there = truths[target]
                count(f"{question}, {target}", within(answer.interval(target=target), truth(here)))
                moved = truth(there) - truth(here)
                count(f"difference of {question}, {target}", within(change.interval(target=target), moved))
        quantiles = estimate.quantiles((0.25, 0.5, 0.75))
        for target in TARGETS:
            cumulated = np.cumsum(truths[target][0])
            right = True
            for quantile in quantiles:
                low, high = quantile.places(target=target)
                right &= low <= int(np.argmax(cumulated >= quantile.p - 1e-12)) <= high
            count(f"three quantiles, {target}", right)
    return {question: held / runs for question, held in sorted(hits.items())}


def looks(f: float, k: int, name: str, epsilon: float, n: int, seed: int) -> dict[str, float]:
    """Return how often intervals missed the truth at some of 60 looks, and how wide they are.

    Anytime-valid intervals are compared with intervals for one look. The question is one category with frequency f. All
    runs are drawn at once from the distribution of its count.
    """
    p, q = map(float, MECHANISMS[name](k, epsilon).support_probabilities)
    generator = np.random.default_rng(seed)
    counts = np.zeros(LOOK_RUNS, dtype=np.int64)
    missed = {how: np.zeros(LOOK_RUNS, dtype=bool) for how in HOWS}
    widths = dict.fromkeys(missed, 0.0)
    for look in range(1, LOOKS + 1):
        counts = counts + generator.binomial(n // LOOKS, q + (p - q) * f, LOOK_RUNS)
        estimate = affine_estimate(counts, look * (n // LOOKS), p, q, k=k)
        for how in missed:
            lower, upper = estimate.interval(target="population", anytime=how == "any", planned=n)
            missed[how] |= (f < lower) | (f > upper)
            widths[how] = float((upper - lower).mean())  # the width of the last look stays
    return {
        "missed at any look": float(missed["any"].mean()),
        "missed by one-look intervals": float(missed["one"].mean()),
        "width, in widths of one look": round(widths["any"] / widths["one"], 3),
    }


def main(folder: Path, runs: int) -> int:
    """Run all settings, write the results, and return 1 if one fails."""
    people = populations(folder)
    least = int(stats.binom.ppf(CHANCE, runs, LEAST)) / runs
    found: dict[str, Any] = {"runs": runs, "confidence": 0.95, "least": least, "coverage": [], "looks": []}
    failed = []
    for place, (column, name, epsilon, n) in enumerate(SETTINGS):
        counts = people[column]
        row = coverage(counts, name, epsilon, n, runs, 1000 + place)
        setting = {"column": column, "k": len(counts), "mechanism": name, "epsilon": epsilon, "n": n}
        found["coverage"].append(setting | row)
        failed += [setting | {"question": question, "held": held} for question, held in row.items() if held < least]
        print(setting, {question: round(held, 3) for question, held in row.items()}, flush=True)
        RESULTS.write_text(json.dumps(found | {"failed": failed}, indent=1) + "\n")
    for place, (k, f, name, epsilon) in enumerate(LOOKED):
        row = looks(f, k, name, epsilon, 6000, 5000 + place)
        found["looks"].append({"k": k, "f": f, "mechanism": name, "epsilon": epsilon, "n": 6000} | row)
        print(found["looks"][-1], flush=True)
    RESULTS.write_text(json.dumps(found | {"failed": failed}, indent=1) + "\n")
    print(f"{len(failed)} of {sum(len(row) - 5 for row in found['coverage'])} intervals held in less than {least:.3f}")
    return bool(failed)


if __name__ == "__main__":
    place = sys.argv[1] if len(sys.argv) > 1 else os.environ["DENIABLE_DATA"]
    sys.exit(main(Path(place), int(sys.argv[2]) if len(sys.argv) > 2 else RUNS))

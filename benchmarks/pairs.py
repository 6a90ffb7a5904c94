"""Time `PairSample` against subset selection over as many values, and the tables of all pairs.

``python -m benchmarks.pairs`` prints the results and writes benchmarks/results/pairs.json. Both mechanisms take turns.
The ratio is the median over the rounds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import time_calls
from deniable import SimulationRandomness
from deniable.answers import crosstabs
from deniable.oracles import SubsetSelection
from deniable.records import PairSample

RESULTS = Path(__file__).parent / "results" / "pairs.json"
REPORTS, ROUNDS, SECONDS = 200_000, 7, 0.3
RATIO = 1.15
"""Largest acceptable processor time of a pair's report, relative to subset selection over as many values."""

TABLES = 5.0
"""Largest acceptable seconds for all 45 tables of ten questions of 16 answers, decoded and with intervals."""


def randomize(k: int, d: int, epsilon: float, dtype: type) -> dict[str, Any]:
    """Return nanoseconds per report for d questions of k answers, and for subset selection over k^2 values."""
    pairs, subsets = PairSample((k,) * d, epsilon), SubsetSelection(k * k, epsilon)
    rng, generator = SimulationRandomness(1), np.random.default_rng(1)
    records: NDArray[Any] = generator.integers(0, k, (REPORTS, d)).astype(dtype)
    codes = generator.integers(0, k * k, REPORTS)
    calls: tuple[Callable[[], object], ...] = (
        lambda: pairs.randomize(records, rng),
        lambda: subsets.randomize(codes, rng),
    )
    for call in calls:
        call()  # the first call compiles and is not counted
    rounds = [[time_calls(call, REPORTS, SECONDS).nanoseconds for call in calls] for _ in range(ROUNDS)]
    return {
        "k": k,
        "d": d,
        "epsilon": epsilon,
        "omega": subsets.omega,
        "records": np.dtype(dtype).name,
        "PairSample": round(median(ours for ours, _ in rounds), 2),
        "SubsetSelection": round(median(theirs for _, theirs in rounds), 2),
        "ratio": round(median(ours / theirs for ours, theirs in rounds), 3),
    }


def tables(k: int, d: int) -> dict[str, float]:
    """Return processor seconds for all tables of d questions of k answers, and then for all intervals."""
    pairs, generator = PairSample((k,) * d, 1.0), np.random.default_rng(2)
    reports = pairs.randomize(generator.integers(0, k, (REPORTS, d)), SimulationRandomness(3))
    aggregate = pairs.aggregate(reports)
    started = time.process_time()
    found = crosstabs(pairs, aggregate)
    found.decoded  # noqa: B018  it is made when it is read
    decoded = time.process_time()
    for pair in found:
        found[pair].interval()
    return {"decoded": decoded - started, "with intervals": time.process_time() - started}


def main() -> None:
    """Measure, print and write the results."""
    rows = [
        randomize(k, d, epsilon, dtype)
        for k, d, epsilon in ((16, 10, 1.0), (16, 10, 2.0), (40, 4, 1.0), (4, 6, 1.0))
        for dtype in (np.int64, np.uint8)
    ]
    for row in rows:
        print(
            "{d} questions of {k} answers, epsilon {epsilon}, {records}: {PairSample} ns, subset selection "
            "{SubsetSelection} ns, ratio {ratio}".format_map(row)
        )
    seconds = tables(16, 10)
    print(f"45 tables decoded, with intervals, within {TABLES} s: {seconds['with intervals']:.2f} s")
    RESULTS.write_text(json.dumps({"randomize": rows, "tables": seconds}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

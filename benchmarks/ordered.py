"""Time square waves: each report against its limits, and functionals on the first and on a repeated call.

``python -m benchmarks.ordered`` prints the results and writes benchmarks/results/ordered.json. The limits are those of
all benchmarks: drawing the same random words without using them, and reading the reports once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.measure import time_calls
from benchmarks.ours import RecordingRandomness, read_once
from deniable import SimulationRandomness
from deniable.answers import functional
from deniable.oracles import SquareWave

RESULTS = Path(__file__).parent / "results" / "ordered.json"
REPORTS, ROUNDS, SECONDS = 1_000_000, 5, 0.3
FIRST = 0.3
"""Largest acceptable seconds for the first functional of 1,024 values."""


def verbs(k: int) -> list[dict[str, Any]]:
    """Return nanoseconds per report for both verbs and for their limits, as medians of the rounds."""
    wave, rng, answers = SquareWave(k, 1.0), SimulationRandomness(1), np.arange(REPORTS) % k
    recorder = RecordingRandomness(rng)
    reports = wave.randomize(answers, recorder)  # this compiles and is not counted
    wave.aggregate(reports)
    buffer = np.empty(max(recorder.requests), np.uint64)

    def draw() -> None:
        for size in recorder.requests:
            rng.fill(buffer[:size])

    calls: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "randomize": (lambda: wave.randomize(answers, rng), draw),
        "aggregate": (lambda: wave.aggregate(reports), lambda: read_once([reports])),
    }
    rows = []
    for verb, pair in calls.items():
        ours, limit = (median(time_calls(call, REPORTS, SECONDS).nanoseconds for _ in range(ROUNDS)) for call in pair)
        rows.append({"k": k, "window": wave.window, "verb": verb, "ns": round(ours, 2), "limit": round(limit, 2)})
    return rows


def functionals(k: int) -> dict[str, Any]:
    """Return processor seconds to find the window, for a first functional, and for the same functional again."""
    started = time.process_time()
    wave = SquareWave(k, 1.3)
    window = time.process_time() - started
    aggregate = wave.simulate_aggregate(np.full(k, 100), SimulationRandomness(1))
    times = []
    for _ in range(2):
        started = time.process_time()
        functional(wave, aggregate, np.arange(k, dtype=np.float64))
        times.append(time.process_time() - started)
    estimate = wave.estimate(aggregate)
    started = time.process_time()
    estimate.cdf()
    cdf = time.process_time() - started
    return {"k": k, "window": window, "first": times[0], "again": times[1], "distribution function": cdf}


def main() -> None:
    """Measure, print and write the results."""
    found: dict[str, Any] = {
        "verbs": [row for k in (16, 256, 1024) for row in verbs(k)],
        "functionals": functionals(1024),
    }
    for row in found["verbs"]:
        print("k = {k:>4}, {verb}: {ns:5.2f} ns per report, limit {limit:.2f} ns".format_map(row))
    times = found["functionals"]
    print(", ".join(f"{name}: {seconds:.4f}" + " s" * (name != "k") for name, seconds in times.items()))
    print(f"first functional of k = 1024 within {FIRST} s: {'yes' if times['first'] <= FIRST else 'NO'}")
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

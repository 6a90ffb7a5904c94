"""Measure the cost of surveys of any size: ``python -m benchmarks.capacity``, or ``make capacity``.

The rows are those of `benchmarks.compare` and a few more. A row has the device's microseconds for one report, the bytes
of a report, the collector's nanoseconds per report, the bytes of its state, and the time to estimate all values. Times
are processor time, the least of several rounds. Then 10^9 contributors and 2^20 values are simulated: the aggregates
are real, but no contributor makes a report. The results go to `docs/results/capacity.json`; `--page` writes the tables
of `docs/capacity.md` from them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import deniable
from benchmarks import quoted
from benchmarks.compare import ROWS, Row, answers_of
from benchmarks.files import RESULTS as FILES, table
from benchmarks.pages import with_tables
from benchmarks.report import processor
from deniable import Aggregate, SecureRandomness, SimulationRandomness

ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "docs" / "results" / "capacity.json", ROOT / "docs" / "capacity.md"

MORE = (
    Row("SHE", {"k": 128}, 20_000),
    Row("SquareWave", {"k": 1024}, 200_000),
    Row("SPL", {"sizes": (16,) * 50}, 20_000),
)

BILLION = 10**9
LARGE = (("GRR", {"k": 1 << 20}, 8.0), ("OUE", {"k": 1 << 20}, 1.0), ("OCMS", {"k": 1 << 20}, 1.0))
"""Mechanisms that are measured with 10^9 contributors and 2^20 values."""


def least(call: Callable[[], object], seconds: float, rounds: int = 5) -> float:
    """Return the least processor seconds of a call, over several rounds of at least `seconds`."""
    call()
    found = []
    for _ in range(rounds):
        calls, start = 0, time.process_time()
        while (taken := time.process_time() - start) < seconds:
            call()
            calls += 1
        found.append(taken / calls)
    return min(found)


def built(row: Row) -> Any:
    """Return the mechanism of a row."""
    return deniable.mechanism(row.name, **row.given)


def cost(row: Row, seconds: float = 0.05) -> dict[str, Any]:
    """Return the cost of a row's mechanism for device, network, collector and analyst."""
    mechanism = built(row)
    answers, secure, rng = answers_of(row), SecureRandomness(), SimulationRandomness(1)
    one = answers[:1]
    reports = mechanism.randomize(answers, rng)
    aggregate = mechanism.aggregate(reports)
    return {
        "row": str(row),
        "device_us": least(lambda: mechanism.randomize(one, secure), seconds) * 1e6,
        "bulk_ns": least(lambda: mechanism.randomize(answers, rng), seconds) / row.n * 1e9,
        "bytes": sum(np.dtype(field.dtype).itemsize * (field.width or 1) for field in mechanism.report_fields),
        "collector_ns": least(lambda: mechanism.aggregate(reports), seconds) / row.n * 1e9,
        "state_bytes": aggregate.counts.nbytes,
        "estimate_ms": least(lambda: mechanism.estimate(aggregate), seconds) * 1e3,
    }


def large(name: str, parameters: dict[str, Any], epsilon: float, n: int = BILLION) -> dict[str, Any]:
    """Return size and cost of the aggregate of n contributors, and the accuracy of its estimates."""
    mechanism: Any = deniable.mechanism(name, **parameters, epsilon=epsilon)
    k = parameters["k"]
    counts = np.full(k, n // k)
    counts[7] += n - counts.sum()
    start = time.process_time()
    aggregate = mechanism.simulate_aggregate(counts, SimulationRandomness(1))
    simulated = time.process_time() - start

    def estimate() -> Any:
        return mechanism.estimate(aggregate)

    frequencies = estimate().frequencies
    z = (frequencies - counts / n) / mechanism.variance(1 / k, n) ** 0.5
    content = aggregate.to_bytes()
    return {
        "mechanism": f"{name}(k=2^{k.bit_length() - 1}, epsilon={epsilon:g})",
        "n": n,
        "simulated_s": simulated,
        "counter": aggregate.counts.dtype.name,
        "state_mb": len(content) / 1e6,
        "merge_ms": least(lambda: aggregate + aggregate, 0.05, 3) * 1e3,
        "read_ms": least(lambda: Aggregate.from_bytes(content), 0.05, 3) * 1e3,
        "estimate_ms": least(estimate, 0.05, 3) * 1e3,
        "standard_error": mechanism.variance(1 / k, n) ** 0.5,
        "z_sd": float(z.std()),
        "z_largest": float(np.abs(z).max()),
    }


def tables(found: dict[str, Any]) -> dict[str, str]:
    """Return the tables of the page, by name."""
    lines = [
        "| mechanism | device, µs a report | report, bytes | collector, s per 10^9 | network per 10^9 | state "
        "| estimate, ms |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in found["costs"]:
        name = row["row"].replace("](", "] (")  # Markdown would read this as a link
        lines.append(
            f"| {name} | {row['device_us']:.0f} | {row['bytes']} | {row['collector_ns']:.3g} "
            f"| {size(row['bytes'] * BILLION)} | {size(row['state_bytes'])} | {row['estimate_ms']:.2g} |"
        )
    more = [
        "| 10^9 contributors | state, MB | counters | merge, ms | read and check, ms | estimate, ms | standard error "
        "| sd of z | largest z |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in found["large"]:
        more.append(
            f"| {row['mechanism']} | {row['state_mb']:.1f} | {row['counter']} | {row['merge_ms']:.1f} "
            f"| {row['read_ms']:.1f} | {row['estimate_ms']:.0f} | {row['standard_error']:.2g} | {row['z_sd']:.3f} "
            f"| {row['z_largest']:.1f} |"
        )
    machine = f"Measured on: {found['machine']}."
    return {"costs": "\n".join(lines), "large": "\n".join(more), "machine": machine}


def size(number: float) -> str:
    """Return bytes in the unit that leaves one to three digits before the point."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


def with_results(text: str, found: dict[str, Any]) -> str:
    """Return the page with tables that are written from the results."""
    return with_tables(text, tables(found) | {"files": table(json.loads(FILES.read_text()))})


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.capacity", description="Measure the cost of surveys of any size."
    )
    parser.add_argument("--page", action="store_true", help="only write the page's tables from the stored results")
    options = parser.parse_args()
    if not options.page:
        costs = []
        for row in (*ROWS, *MORE):
            costs.append(cost(row))
            print(json.dumps(costs[-1]), flush=True)
        found = {"machine": processor(), "costs": costs, "large": [large(*each) for each in LARGE]}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    quoted.write({"files": json.loads(FILES.read_text())}, FILES.with_name("benchmarks.json"))
    PAGE.write_text(with_results(PAGE.read_text(), json.loads(RESULTS.read_text())))


if __name__ == "__main__":
    main()

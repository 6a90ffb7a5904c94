"""Time the Spread sketch at 2^17 and 2^20 values against plain numpy: ``python -m benchmarks.dictionaries``.

Server time is the time to turn reports into support counts of all values: histogram, decoding, and the decoder's
self-checks. The reference is numpy's `bincount` and a Walsh-Hadamard transform in whole-array numpy operations, in the
same run. The rates of the prime family and a query list follow (`evaluations`). Each time is the least of several
rounds, in processor time of all threads. All work runs in one thread.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluations import query_list, rates
from deniable import CountMeanSketch, SecureRandomness, SimulationRandomness
from deniable.oracles.sketch.families._walsh import walsh_hadamard
from deniable.oracles.sketch.families.hash_range import Objective

CONTRIBUTORS = 1_000_000


def milliseconds(call: Callable[[], Any], rounds: int) -> float:
    """Return the least processor time of some calls, after one call that is not counted."""
    call()
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best * 1e3


def reference_transform(values: NDArray[np.int64]) -> None:
    """Apply the Walsh-Hadamard transform in place, stage by stage in whole-array operations."""
    h = 1
    while h < len(values):
        pairs = values.reshape(-1, 2, h)
        pairs[:, 0], pairs[:, 1] = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        h *= 2


def zipf_codes(k: int, n: int) -> NDArray[np.uint32]:
    """Return n codes whose frequencies fall like 1/rank."""
    weights = np.cumsum(1 / np.arange(1, k + 1))
    drawn = np.random.default_rng(1).random(n) * weights[-1]
    codes: NDArray[np.uint32] = np.searchsorted(weights, drawn).astype(np.uint32)
    return codes


def measure(bits: int, epsilon: float, rounds: int) -> str:
    """Measure one setting and return its line of the table."""
    k, n = 1 << bits, CONTRIBUTORS
    sketch = CountMeanSketch(k, epsilon, family="spread")
    hashes: Any = sketch.hashes
    codes, simulated = zipf_codes(k, n), SimulationRandomness(1)
    reports = sketch.randomize(codes, simulated)
    aggregate = sketch.aggregate(reports)
    simulation = milliseconds(lambda: sketch.randomize(codes, simulated), rounds)
    secure = milliseconds(lambda: sketch.randomize(codes, SecureRandomness()), rounds)
    histogram = milliseconds(lambda: hashes.tally(reports), rounds)
    decoding = milliseconds(lambda: hashes.decode(aggregate.counts, n), rounds)
    server = milliseconds(lambda: hashes.decode(hashes.tally(reports), n), rounds)
    transform = milliseconds(lambda: walsh_hadamard(np.zeros(k, dtype=np.int32)), rounds)
    counting = milliseconds(lambda: np.bincount(reports, minlength=sketch.state_size), rounds)
    reference = milliseconds(lambda: reference_transform(np.zeros(k, dtype=np.int64)), rounds)
    truth = np.bincount(codes, minlength=k) / n
    error = float(((sketch.estimate(aggregate).frequencies - truth) ** 2).mean())
    best = Objective.mean(k, epsilon)
    ideal = float(best.cost(Fraction(best.best_real))) / n
    megabytes = aggregate.counts.nbytes / 1e6
    return (
        f"| 2^{bits}, {epsilon:g} | {sketch.m} | {np.ceil(sketch.report_bits):.0f} | {megabytes:.1f} "
        f"| {n / simulation / 1e3:.0f} | {n / secure / 1e3:.0f} | {histogram:.1f} | {decoding:.1f} | {server:.1f} "
        f"| {transform:.1f} | {counting:.1f} + {reference:.1f} | {(counting + reference) / server:.1f} "
        f"| {error / ideal:.3f} |"
    )


def large(n: int, epsilon: float = 1.0) -> str:
    """Simulate n contributors at 2^20 values and return a sentence about state, times and errors."""
    k = 1 << 20
    sketch = CountMeanSketch(k, epsilon, family="spread")
    counts = np.full(k, n // k)
    counts[7] += n - counts.sum()
    start = time.process_time()
    aggregate = sketch.simulate_aggregate(counts, SimulationRandomness(1))
    simulated = time.process_time() - start
    decoding = milliseconds(lambda: sketch.hashes.decode(aggregate.counts, n), 3)
    frequencies = sketch.estimate(aggregate).frequencies
    z = (frequencies - counts / n) / sketch.variance(1 / k, n) ** 0.5
    return (
        f"n={n:,} at 2^20 values, epsilon={epsilon:g}: state {aggregate.counts.nbytes / 1e6:.2f} MB "
        f"({aggregate.counts.dtype}), simulated in {simulated:.1f} s, decoded in {decoding:.1f} ms, "
        f"z mean {z.mean():+.4f}, sd {z.std():.4f}, largest {np.abs(z).max():.2f}"
    )


HEADER = (
    "| d, epsilon | m | bits | state, MB | client, M/s | client, OS CSPRNG, M/s | histogram, ms | decode, ms "
    "| server, ms | transform alone, ms | numpy: bincount + transform, ms | ratio | MSE / ideal |\n"
    "|" + " --- |" * 13
)
SETTINGS = tuple((bits, epsilon) for bits in (17, 20) for epsilon in (1.0, 2.0, 4.0))


def tables(rounds: int, note: Callable[[str], None]) -> str:
    """Measure all settings, and return Markdown: the Spread table, the rates of the prime family, and a query list."""
    lines = [HEADER]
    for bits, epsilon in SETTINGS:
        note(f"Spread at 2^{bits}, epsilon={epsilon:g}")
        lines.append(measure(bits, epsilon, rounds))
    note("prime family")
    lines += ["", "| prime family: evaluations | 10^9 per second | range | goal |", "| --- | --- | --- | --- |"]
    lines += [rate.row for rate in rates(rounds)]
    return "\n".join([*lines, "", str(query_list())])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dictionaries", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument(
        "--large", type=int, default=0, metavar="N", help="also simulate N contributors, for example 100000000"
    )
    options = parser.parse_args()
    print(tables(options.rounds, lambda text: print(text, file=sys.stderr)))
    if options.large:
        print("\n" + large(options.large))


if __name__ == "__main__":
    main()

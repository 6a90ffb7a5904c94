"""Measure hash evaluations of the prime family per second, and a short query list against many reports.

An evaluation decides whether one report supports one value. Rates are per second of processor time, in one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measure import Spread, spread, time_calls
from deniable import CountMeanSketch, SimulationRandomness

CONSECUTIVE_GOAL = 2e9
ARBITRARY_GOAL = 5e8
QUERIES = 100
QUERY_LIST_REPORTS = 10_000_000


@dataclass(frozen=True)
class Rate:
    """Evaluations per second of processor time: median, smallest and largest value of the rounds.

    Parameters
    ----------
    what : str
        Values and reports in words.
    rate : Spread
        Evaluations per second.
    goal : float
        Smallest acceptable median.
    """

    what: str
    rate: Spread
    goal: float

    @property
    def row(self) -> str:
        """One line of the table."""
        reached = "yes" if self.rate.median >= self.goal else "NO"
        return (
            f"| {self.what} | {self.rate.median / 1e9:.2f} | {self.rate.least / 1e9:.2f}-{self.rate.most / 1e9:.2f} "
            f"| >={self.goal / 1e9:g} {reached} |"
        )


@dataclass(frozen=True)
class QueryList:
    """A query list of `QUERIES` values against `reports` reports.

    Parameters
    ----------
    reports : int
        Number of reports.
    cpu, wall : float
        Seconds.
    steps : int
        How often progress was reported.
    """

    reports: int
    cpu: float
    wall: float
    steps: int

    def __str__(self) -> str:
        return (
            f"{QUERIES} queries against {self.reports:,} reports of the prime family: {self.cpu:.1f} s of processor "
            f"time, {self.wall:.1f} s on the clock, progress told {self.steps} times"
        )


def rates(rounds: int, seconds: float = 0.5) -> list[Rate]:
    """Measure the rates for consecutive values (a whole dictionary) and for arbitrary values."""
    small = CountMeanSketch(1 << 17, 1.0, family="prime")
    large = CountMeanSketch((1 << 31) - 10_000, 1.0, family="prime")
    rng, reports = SimulationRandomness(1), 4_000
    dictionary = small.hashes.checked(small.randomize(np.arange(reports), rng))
    codes = np.random.default_rng(1).choice(large.k, 20_000, replace=False).astype(np.int64)
    scattered = large.hashes.checked(large.randomize(codes[:reports], rng))
    return [
        _rate(
            f"all {small.k:,} consecutive values",
            lambda: small.hashes.tally(dictionary),
            reports * small.k,
            CONSECUTIVE_GOAL,
            rounds,
            seconds,
        ),
        _rate(
            f"{len(codes):,} arbitrary values below 2^31",
            lambda: large.hashes.count_queries(scattered, codes),
            reports * len(codes),
            ARBITRARY_GOAL,
            rounds,
            seconds,
        ),
    ]


def _rate(what: str, call: Callable[[], Any], evaluations: int, goal: float, rounds: int, seconds: float) -> Rate:
    call()  # the first call compiles and is not counted
    found = [time_calls(call, evaluations, seconds) for _ in range(rounds)]
    return Rate(what, spread([timing.reports / timing.cpu for timing in found]), goal)


def query_list(reports: int = QUERY_LIST_REPORTS) -> QueryList:
    """Count the supports of a hundred scattered values in reports over a domain of 2^31 values."""
    sketch = CountMeanSketch((1 << 31) - 10_000, 1.0, family="prime")
    rng = np.random.default_rng(1)
    queries = rng.choice(sketch.k, QUERIES, replace=False)
    received = sketch.randomize(rng.integers(0, sketch.k, reports), SimulationRandomness(1))
    told: list[int] = []
    wall, cpu = time.perf_counter(), time.process_time()
    sketch.count_support(received, queries, progress=lambda done, _: told.append(done))
    return QueryList(reports, time.process_time() - cpu, time.perf_counter() - wall, len(told))

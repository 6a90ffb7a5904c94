"""Processor time per report, ratios and their spread. Standard library only: both environments import this module."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Timing:
    """Total time of some calls.

    Parameters
    ----------
    reports : int
        Reports handled by all calls.
    cpu : float
        Seconds of processor time of all threads of the process. A busy machine hardly changes this cost.
    wall : float
        Seconds on the clock.
    """

    reports: int
    cpu: float
    wall: float

    @property
    def nanoseconds(self) -> float:
        """Processor time per report."""
        return self.cpu / self.reports * 1e9

    @property
    def parallelism(self) -> float:
        """Processor time over clock time: about 1 on an idle machine, above 1 only with several threads."""
        return self.cpu / self.wall


@dataclass(frozen=True)
class Spread:
    """Median, smallest and largest value of the rounds."""

    median: float
    least: float
    most: float


def spread(values: Sequence[float]) -> Spread:
    """Summarise the rounds of one quantity."""
    if not values:
        raise ValueError("values must not be empty")
    return Spread(median(values), min(values), max(values))


def ratios(ours: Sequence[Timing], theirs: Sequence[Timing]) -> Spread:
    """Summarise the ratio of their processor time per report to ours, round by round."""
    return spread([b.nanoseconds / a.nanoseconds for a, b in zip(ours, theirs, strict=True)])


def time_calls(call: Callable[[], object], reports: int, seconds: float) -> Timing:
    """Call repeatedly for `seconds` of processor time, at least once, without garbage collection."""
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        # The clock is read after more and more calls. For a call of microseconds, reading the clock would take a fifth
        # of the time.
        calls, more = 0, 1
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        while True:
            for _ in range(more):
                call()
            calls += more
            cpu = time.process_time() - cpu_start
            if cpu >= seconds:
                return Timing(calls * reports, cpu, time.perf_counter() - wall_start)
            more = max(1, min(2 * more, int(calls * (seconds - cpu) / max(cpu, 1e-9))))
    finally:
        if collecting:
            gc.enable()

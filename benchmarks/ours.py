"""Calls of this library for a case, and the cost of its random bits alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import deniable
from benchmarks.cases import Case, Verb
from benchmarks.data import mean_absolute_error, true_frequencies
from benchmarks.measure import Timing, time_calls
from deniable import SecureRandomness, SimulationRandomness
from deniable.core.names import mechanism_class
from deniable.core.randomness import Randomness, Words


class RecordingRandomness:
    """Randomness that passes each request on and records its number of words."""

    def __init__(self, source: Randomness) -> None:
        self.source = source
        self.requests: list[int] = []

    def fill(self, words: Words) -> None:
        """Overwrite a contiguous uint64 array with fresh uniform words."""
        self.requests.append(words.size)
        self.source.fill(words)


def build(case: Case) -> Any:
    """Return the mechanism of a case."""
    domain = case.sizes[0] if len(case.sizes) == 1 else case.sizes
    made: Any = getattr(deniable, case.name) if case.epsilon_once is None else mechanism_class(case.name)
    return made(domain, *case.budgets)


def fields(reports: Any) -> list[NDArray[Any]]:
    """Return the arrays of a batch of reports."""
    return [reports] if isinstance(reports, np.ndarray) else list(reports)


def read_once(arrays: list[NDArray[Any]]) -> int:
    """Read all bytes of the reports once; every aggregator must do at least this."""
    return sum(int(np.bitwise_or.reduce(_words(array))) & 1 for array in arrays)


def _words(array: NDArray[Any]) -> NDArray[np.uint64]:
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return flat[: flat.size // 8 * 8].view(np.uint64)


class Ours:
    """One case, compiled and ready for measurement.

    Parameters
    ----------
    case : Case
        The case to run.
    answers : int64 array
        The contributors' true answers.
    secure : bool
        Whether to draw from `SecureRandomness` instead of `SimulationRandomness`.
    """

    def __init__(self, case: Case, answers: NDArray[np.int64], *, secure: bool) -> None:
        self.case = case
        self.answers = answers
        self.mechanism = build(case)
        self.rng: Randomness = SecureRandomness() if secure else SimulationRandomness(1)
        recorder = RecordingRandomness(self.rng)
        self.reports = self.mechanism.randomize(answers, recorder)  # this compiles and is not counted
        self.requests = recorder.requests
        self._buffer = np.empty(max(self.requests), np.uint64)
        self.aggregate = self.mechanism.aggregate(self.reports)
        self.estimate()

    @property
    def words(self) -> float:
        """Number of 64-bit random words per report."""
        return sum(self.requests) / len(self.answers)

    def randomize(self) -> Any:
        """Randomise all answers in one call, as contributors."""
        return self.mechanism.randomize(self.answers, self.rng)

    def estimate(self) -> Any:
        """Aggregate and estimate, as collector and analyst, because the peers' aggregators do both."""
        return self.mechanism.estimate(self.mechanism.aggregate(self.reports))

    def draw(self) -> None:
        """Draw the words that `randomize` draws, in the same portions, without using them."""
        for size in self.requests:
            self.rng.fill(self._buffer[:size])

    def read(self) -> int:
        """Read the reports once."""
        return read_once(fields(self.reports))

    def tally(self) -> Any:
        """Sum the reports, as collector."""
        return self.mechanism.aggregate(self.reports)

    def decode(self) -> Any:
        """Estimate all values of the aggregate, as analyst."""
        return self.mechanism.estimate(self.aggregate)

    def read_state(self) -> int:
        """Read the aggregate once."""
        return read_once([self.aggregate.counts])

    def measure(self, verb: Verb, seconds: float) -> tuple[Timing, Timing]:
        """Return the timing of a verb and of its limit: drawing the random bits, or reading the reports or state."""
        calls: dict[Verb, tuple[Callable[[], object], Callable[[], object]]] = {
            "randomize": (self.randomize, self.draw),
            "aggregate": (self.estimate, self.read),
            "tally": (self.tally, self.read),
            "decode": (self.decode, self.read_state),
        }
        call, limit = calls[verb]
        rows = self.case.sizes[0] if verb == "decode" else len(self.answers)
        return time_calls(call, rows, seconds), time_calls(limit, rows, seconds / 4)

    def error(self) -> float:
        """Return the mean absolute error of the estimate."""
        estimate = self.estimate()
        several = len(self.case.sizes) > 1
        found = [estimate[j].frequencies for j in range(len(self.case.sizes))] if several else [estimate.frequencies]
        return mean_absolute_error(found, true_frequencies(self.case, self.answers))

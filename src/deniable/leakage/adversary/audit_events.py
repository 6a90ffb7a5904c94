"""Readings of reports for an audit: as labels, or, where a report is long, as what it says about two values at a time.

An event of an audit is a set of labels. Reports of one integer are their own labels. Bits, hashes, subsets and noisy
vectors have far too many outputs to count; but of all that such a report says, only its support of x and of x' tells
an input x from x', so for this pair its label is that pair of levels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidInputError, InvalidReportError, quoted
from deniable.leakage.adversary.attacks import says_one
from deniable.oracles.oracle import FrequencyOracle

Counts = NDArray[np.int64]
Labels: TypeAlias = Callable[[Any], NDArray[np.integer[Any]]]
"""A caller's own events: a batch of n reports to labels int[n], each in 0..4095."""

MAX_LABELS = 4096
"""Number of distinct labels that an audit counts."""


def features(mechanism: FrequencyOracle[Any], reports: Any) -> NDArray[np.uint8]:
    """Return what every report says about every value, as small levels uint8[n, k] (`support_levels`).

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import OUE
    >>> features(OUE(k=3, epsilon=1.0), np.array([[0b101]], dtype=np.uint8))
    array([[1, 0, 1]], dtype=uint8)
    """
    return mechanism.support_levels(reports, np.arange(mechanism.k))


def event_probability(mechanism: FrequencyOracle[Any]) -> float | None:
    """Return the probability, under input x, of the event that tells x from another input best; None if not known."""
    return None if mechanism.support_law is None else mechanism.support_law.telling()


class Reader(ABC):
    """Counts the labels of batches of reports, and hands the counts out pair by pair."""

    @abstractmethod
    def count(self, reports: Any, owners: NDArray[np.int64]) -> None:
        """Add a batch of n reports; owners int[n] are the positions of their inputs."""

    @abstractmethod
    def pairs(self, x: int) -> tuple[Counts, Counts]:
        """Return label counts under input x and under every x', both int64[inputs, labels]."""

    @abstractmethod
    def describe(self, event: NDArray[np.bool_], pair: tuple[Any, Any]) -> str:
        """Say in words which reports are in an event bool[labels]."""


@final
class LabelReader(Reader):
    """Reads reports through a function to labels; by default an integer report is its own label."""

    def __init__(self, inputs: int, labels: Labels | None = None) -> None:
        self._labels = labels
        self._counts = np.zeros((inputs, 1), dtype=np.int64)

    def count(self, reports: Any, owners: NDArray[np.int64]) -> None:
        labels = np.asarray(self._labels(reports) if self._labels else reports)
        if labels.shape != owners.shape or not np.issubdtype(labels.dtype, np.integer):
            raise InvalidReportError(
                f"labels of reports must be integers of shape ({len(owners)},), got dtype={labels.dtype}, "
                f"shape={labels.shape}: pass reports_of, the mechanism whose reports they are, or events"
            )
        low, high = int(labels.min()), int(labels.max())
        if low < 0 or high >= MAX_LABELS:
            raise InvalidReportError(
                f"labels of reports must be in 0..{MAX_LABELS - 1}, got {low if low < 0 else high}: "
                "pass events that group the reports"
            )
        if high >= self._counts.shape[1]:
            self._counts = np.pad(self._counts, ((0, 0), (0, high + 1 - self._counts.shape[1])))
        width = self._counts.shape[1]
        cells = np.bincount(owners * width + labels, minlength=self._counts.size)
        self._counts += cells.reshape(self._counts.shape)

    def pairs(self, x: int) -> tuple[Counts, Counts]:
        return np.broadcast_to(self._counts[x], self._counts.shape), self._counts

    def describe(self, event: NDArray[np.bool_], pair: tuple[Any, Any]) -> str:  # noqa: ARG002
        inside = np.flatnonzero(event)
        shown = ", ".join(str(label) for label in inside[:5]) + (", ..." if len(inside) > 5 else "")
        return f"the report's label is in {{{shown}}}"


@final
class FeatureReader(Reader):
    """Reads reports through `features`: for a pair of inputs, the label is the levels of these two values.

    Label a*levels + b is level a at x, b at x'.
    """

    def __init__(self, mechanism: FrequencyOracle[Any], codes: NDArray[np.int64]) -> None:
        self._mechanism, self._codes = mechanism, codes
        self._levels = mechanism.levels
        m = len(codes)
        # [u, w, a, b]: reports of input u that have level a at u and level b at w.
        self._counts = np.zeros((m, m, self._levels, self._levels), dtype=np.int64)

    def count(self, reports: Any, owners: NDArray[np.int64]) -> None:
        levels = features(self._mechanism, reports)[:, self._codes]
        for u in range(len(self._codes)):
            rows = levels[owners == u]
            for a in range(self._levels):
                own = rows[rows[:, u] == a]
                for b in range(self._levels):
                    self._counts[u, :, a, b] += (own == b).sum(axis=0)

    def pairs(self, x: int) -> tuple[Counts, Counts]:
        m = len(self._codes)
        return self._counts[x].reshape(m, -1), self._counts[:, x].transpose(0, 2, 1).reshape(m, -1)

    def describe(self, event: NDArray[np.bool_], pair: tuple[Any, Any]) -> str:
        inside = [divmod(int(label), self._levels) for label in np.flatnonzero(event)]
        levels = ", ".join(f"({a}, {b})" for a, b in inside)
        return f"the levels of values {pair[0]} and {pair[1]} in the report are in {{{levels}}}"


def reader_for(mechanism: FrequencyOracle[Any] | None, inputs: NDArray[Any], events: Labels | None) -> Reader:
    """Return how to read reports: the caller's events first, then what is known of the mechanism, then as they are."""
    if events is not None or mechanism is None or says_one(mechanism):
        return LabelReader(len(inputs), events)
    if inputs.ndim != 1 or inputs.min() < 0 or inputs.max() >= mechanism.k:
        raise InvalidInputError(f"inputs must be codes in 0..{mechanism.k - 1} for {quoted(mechanism)}")
    return FeatureReader(mechanism, inputs.astype(np.int64))


def block_rows(mechanism: FrequencyOracle[Any] | None) -> int:
    """Return how many reports an audit asks for at a time, so that their features stay in some megabytes."""
    k = 1 if mechanism is None or says_one(mechanism) else mechanism.k
    return max(1, (1 << 22) // max(k, 16))

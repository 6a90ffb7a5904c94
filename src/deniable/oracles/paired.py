"""Estimates of how frequencies changed between two waves, from two reports of each person.

Reports of one person in two waves depend on each other, because of a memo or because the answer stayed the same. The
difference of both estimates takes this dependence into account if the waves are counted together. Let n00, n01, n10 and
n11 be the numbers of people whose reports support a value in neither wave, in the second, in the first and in both. The
difference is (n01 - n10)/(n D) with D = p - q. Its variance follows from the variance of a mean of n numbers in {-1, 0,
1}. This holds whatever the dependence is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import checked_integer, checked_probability
from deniable.core.state import LIMIT, stretches_sum_to
from deniable.errors import InvalidParameterError, MismatchError, TooLargeError, out_of_range, quoted
from deniable.oracles.oracle import AffineIndicators

Floats = NDArray[np.float64]

MAX_PAIRED_VALUES = 1 << 20
"""Most values whose pairs are counted."""

FEWEST_CHANGED = 10
"""Fewest reports that must support a value in only one wave for an interval. For fewer, the normal distribution is too
inaccurate."""

_CELLS = 1 << 22
"""Most supports that are worked on together."""


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts of the same people's reports in two waves, for every value. Their size does not depend on n.

    Parameters
    ----------
    mechanism : FrequencyOracle
        A pure oracle, the same in both waves, memoised or not.
    counts : int64[4 k]
        Numbers of people, in four blocks with one count for each value: people whose reports support the value in
        neither wave, only in the second wave, only in the first wave, and in both waves.
    n : int
        Number of people.

    Raises
    ------
    InvalidParameterError
        If the mechanism is not a pure oracle, or the counts have a wrong dtype or shape.
    DamagedStateError
        If the four counts of a value do not sum to n.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.oracles import MemoisedGRR
    >>> from deniable.oracles.paired import pair_counts
    >>> mechanism, rng = MemoisedGRR(k=2, epsilon_forever=2.0, epsilon_once=1.0), SimulationRandomness(1)
    >>> kept = mechanism.permanent([0] * 600 + [1] * 400, rng)
    >>> monday, tuesday = mechanism.report(kept, rng), mechanism.report(kept, rng)
    >>> pairs = pair_counts(mechanism, monday, tuesday)
    >>> pairs.n, pairs.counts.shape, round(float(pairs.trend().change[0]), 3)
    (1000, (8,), -0.009)
    """

    mechanism: Any  # it is a FrequencyOracle whose indicators are affine
    counts: NDArray[np.int64]
    n: int

    def __post_init__(self) -> None:
        k = _checked_size(self.mechanism)
        counts = np.asarray(self.counts)
        if counts.dtype.kind not in "iu" or counts.shape != (4 * k,):
            raise InvalidParameterError(
                f"counts must be integers of shape ({4 * k},) for pairs of reports of {self.mechanism.name}, got "
                f"dtype={counts.dtype}, shape={counts.shape}"
            )
        n = checked_integer("n", self.n, 0, LIMIT - 1)
        counts = counts.astype(np.int64)
        # The four counts of a value become neighbours, with one stretch after another.
        stretches_sum_to(counts.reshape(4, k).T.ravel(), (4,) * k, n)
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "n", n)

    @classmethod
    def empty(cls, mechanism: Any) -> PairCounts:
        """Return the counts of no people; adding them changes nothing."""
        return cls(mechanism, np.zeros(4 * _checked_size(mechanism), dtype=np.int64), 0)

    def __add__(self, other: PairCounts) -> PairCounts:
        """Return the sum of the counts of different people.

        Raises
        ------
        MismatchError
            If the mechanisms differ.
        TooLargeError
            If the sum would have 2^62 people or more.
        """
        if not isinstance(other, PairCounts):
            return NotImplemented
        if self.mechanism != other.mechanism:
            raise MismatchError(
                f"cannot merge pairs of different mechanisms: {quoted(self.mechanism)} and {quoted(other.mechanism)}"
            )
        n = self.n + other.n
        if n >= LIMIT:
            raise TooLargeError(f"pairs must count fewer than 2^62 people in total, got {self.n} + {other.n}")
        return PairCounts(self.mechanism, self.counts + other.counts, n)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PairCounts)
            and (self.mechanism, self.n) == (other.mechanism, other.n)
            and bool(np.array_equal(self.counts, other.counts))
        )

    def __hash__(self) -> int:
        return hash((self.mechanism, self.n, self.counts.tobytes()))

    def wave(self, number: int) -> NDArray[np.int64]:
        """Return how many reports of one wave, 0 or 1, support each value, int64[k]."""
        neither, second, first, both = self.counts.reshape(4, -1)
        del neither
        return both + (second if checked_integer("number", number, 0, 1) else first)

    def trend(self) -> Trend:
        """Analyst: return how frequencies changed from the first wave to the second.

        Raises
        ------
        InvalidParameterError
            If there are no people.
        """
        if not self.n:
            raise InvalidParameterError("a trend needs at least one pair of reports, got n=0")
        p, q = map(float, self.mechanism.support_probabilities)
        _, second, first, _ = self.counts.reshape(4, -1)
        mean, moved = (second - first) / self.n, (second + first) / self.n
        error = np.sqrt((moved - mean**2) / self.n) / (p - q)
        one, other = ((self.wave(number) / self.n - q) / (p - q) for number in (0, 1))
        return Trend(self.n, one, other, mean / (p - q), error, first + second)


@dataclass(frozen=True, eq=False)
class Trend:
    """Changes of all frequencies between two waves with the same people, as arrays over the k values.

    Parameters
    ----------
    n : int
        Number of people.
    first, second, change : float64[k]
        Unbiased raw estimates of both waves, and the second minus the first.
    standard_error : float64[k]
        Standard errors of the changes in the population that the people were drawn from.
    changed : int64[k]
        Number of people whose reports support the value in only one wave.
    """

    n: int
    first: Floats
    second: Floats
    change: Floats
    standard_error: Floats
    changed: NDArray[np.int64]

    def interval(self, confidence: float = 0.95, simultaneous: int = 1) -> Floats:
        """Return Wald's intervals of the changes in the population, float64[k, 2].

        The interval of a value is NaN if fewer than 10 people's reports support it in only one wave.

        Parameters
        ----------
        confidence : float
            Coverage of each interval, in (0, 1).
        simultaneous : int
            Number of intervals that must hold together (Bonferroni).

        Raises
        ------
        InvalidParameterError
            If a parameter is out of bounds.
        """
        from scipy import special

        level = checked_probability("confidence", confidence, open_interval=True)
        z = -special.ndtri((1 - level) / 2 / checked_integer("simultaneous", simultaneous, 1))
        half = np.where(self.changed >= FEWEST_CHANGED, z * self.standard_error, math.nan)
        return np.stack([self.change - half, self.change + half], axis=1)


def pair_counts(mechanism: Any, first: Any, second: Any) -> PairCounts:
    """Collector: count the reports of the same people in two waves.

    The collector must know which two reports belong together, for instance by a pseudonym on every report. A pseudonym
    links all reports of a person. If some rows are paired wrongly, the estimated change is still unbiased. But the
    interval of the change gets wider if people keep their answers from wave to wave.

    Parameters
    ----------
    mechanism : FrequencyOracle
        A pure oracle, the same in both waves.
    first, second : batches of n reports
        Reports of the two waves. Row i of both is from the same person.

    Raises
    ------
    InvalidParameterError
        If the mechanism is not a pure oracle.
    MismatchError
        If the batches differ in length.
    InvalidReportError
        If the mechanism cannot have produced a report.

    Examples
    --------
    >>> from deniable import GRR
    >>> pair_counts(GRR(k=2, epsilon=1.0), [0, 0, 1], [0, 1, 1]).counts.tolist()
    [1, 1, 0, 1, 1, 0, 1, 1]
    """
    k = _checked_size(mechanism)
    for reports in (first, second):
        mechanism.check_reports(reports)
    lengths = [_length(reports) for reports in (first, second)]
    if lengths[0] != lengths[1]:
        raise MismatchError(
            f"both waves must have one report of every person, got {lengths[0]:,} and {lengths[1]:,} reports"
        )
    counts, values = np.zeros((4, k), dtype=np.int64), np.arange(k)
    rows = max(1, _CELLS // k)
    for start in range(0, lengths[0], rows):
        one, other = (
            mechanism.supports(_rows(mechanism, reports, slice(start, start + rows)), values)
            for reports in (first, second)
        )
        counts += np.stack([(a & b).sum(axis=0) for a in (~one, one) for b in (~other, other)])
    return PairCounts(mechanism, counts.ravel(), lengths[0])


def _checked_size(mechanism: Any) -> int:
    if not isinstance(mechanism, AffineIndicators):
        raise InvalidParameterError(
            "counting pairs of reports needs a pure frequency oracle, such as GRR or MemoisedGRR, got "
            f"mechanism={type(mechanism).__name__}"
        )
    k = int(mechanism.k)  # type: ignore[attr-defined]
    if k > MAX_PAIRED_VALUES:
        raise out_of_range("k", f"<= {MAX_PAIRED_VALUES:,} to count pairs", k)
    return k


def _length(reports: Any) -> int:
    return len(reports[0]) if isinstance(reports, tuple) else len(reports)


def _rows(mechanism: Any, reports: Any, rows: slice) -> Any:
    columns = reports if isinstance(reports, tuple) else (reports,)
    return mechanism.report_type(*(column[rows] for column in columns))

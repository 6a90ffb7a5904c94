"""FrequencyOracle: the base of mechanisms for one attribute."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypeIs

from deniable.core.aggregate import Aggregate
from deniable.core.checks import Codes, checked_codes, checked_counts
from deniable.core.estimate import Estimate
from deniable.core.mechanism import Mechanism
from deniable.core.randomness import BLOCK_WORDS, Randomness, SimulationRandomness, checked_randomness
from deniable.core.report_likelihood import MAX_LISTED, ReportIndicators, ReportLikelihood, TellsAnswers
from deniable.errors import InvalidParameterError, TooLargeError
from deniable.oracles.support import PairLaw, SupportLaw

Floats = NDArray[np.float64]
Reports = TypeVar("Reports")

SIMULATION_ROWS = 1 << 22
"""Most reports that a simulation makes at a time."""


class GradedSupport(ABC):
    """An oracle whose reports support values at more than two levels."""

    @abstractmethod
    def _levels(self, reports: Any, values: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return uint8[n, len(values)]: the level (0..`levels`-1) of support that each report gives each value."""


class WeighedReports(ABC):
    """An oracle in which each report counts as a number; the average over all reports estimates a mean of scores."""

    @abstractmethod
    def report_weights(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the amount that each report adds to a mean of scores[k], and its variance for each true value, [k].

        Reports are in the order of `outputs`. The amounts have the least variance if all answers are equally frequent.
        """

    @abstractmethod
    def report_means(self, values: Floats) -> Floats:
        """Return the mean of values[m, outputs] over the reports of each true value, float64[m, k]."""


class AffineIndicators(ABC):
    """An oracle whose reports support the true value with probability p, and every other value with q < p."""

    @property
    @abstractmethod
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p, q): probability that a report supports v if the contributor holds v, and if not."""


class FrequencyOracle(Mechanism[Reports], TellsAnswers):
    """A mechanism for one attribute with domain {0, ..., k-1}: it takes codes int[n] and returns an `Estimate`.

    Attributes
    ----------
    k : int
        Domain size.
    levels : int
        Number of levels that `support_levels` distinguishes.
    memoised_epsilon : float or None
        Implemented epsilon of all reports of one stored response together, however many. None if no response is stored.
    state_is_histogram : bool
        Whether an aggregate counts every possible report, in the order of `outputs`. It then determines the likelihood
        of the reports.
    ordered : bool
        Whether values have an order, and a report distinguishes near values less well than distant values.
    """

    k: int
    records: ClassVar[bool] = False
    levels: ClassVar[int] = 2
    memoised_epsilon: float | None = None
    state_is_histogram: ClassVar[bool] = False
    ordered: ClassVar[bool] = False

    @property
    def domain(self) -> tuple[int, ...]:
        """Domain size of the one attribute, as the tuple (k,)."""
        return (self.k,)

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> Reports:
        """Contributor: turn true codes into reports, one row each.

        Parameters
        ----------
        inputs : int[n]
            True codes in 0..k-1.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        batch of n reports
            Reports in the form that `report_fields` describes.

        Raises
        ------
        InvalidInputError
            If a code is out of range. The message names its row.
        InvalidParameterError
            If `rng` is not a source of random words.
        """
        return self._randomize(checked_codes(inputs, self.k), checked_randomness(rng))

    @abstractmethod
    def _randomize(self, codes: Codes, rng: Randomness) -> Reports:
        """Return the reports of codes[n], which are all in 0..k-1."""

    # ---------------------------------------------------------------- collector

    @abstractmethod
    def estimate(self, aggregate: Aggregate) -> Estimate: ...

    @abstractmethod
    def variance(self, f: float, n: int) -> float:
        """Return the noise variance of one estimated frequency at true frequency f, with n contributors."""

    # ---------------------------------------------------------------- information in a report

    @property
    @abstractmethod
    def support_law(self) -> SupportLaw | None:
        """Distribution of the set of values that a report supports; None if it differs between true values.

        If it is None, the success of a guess and the leakage are computed by listing all reports.
        """

    @abstractmethod
    def supports(self, reports: Any, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which values each report supports, bool[n, len(values)]; an adversary guesses one of them.

        Parameters
        ----------
        reports : batch of n reports
            Reports from `randomize`.
        values : int64[m]
            Codes in 0..k-1.
        """

    def support_levels(self, reports: Any, values: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the level, from 0 to `levels`-1, at which each report supports each value, uint8[n, len(values)]."""
        found = self._levels(reports, values) if isinstance(self, GradedSupport) else self.supports(reports, values)
        return found.astype(np.uint8)

    @property
    def weighing(self) -> WeighedReports:
        """Return the object that gives report weights: the oracle itself, or one that lists all reports."""
        return self if isinstance(self, WeighedReports) else _ListedReports(self)

    def guess_channel(self) -> NDArray[np.float64]:
        """Return P(guess | code), float64[k, k], for a uniform guess among the values that a report supports.

        If a report supports no value, the guess is uniform among all values. The method lists all reports. If there is
        a `support_law`, the diagonal is its `guess_success`.

        Raises
        ------
        TooLargeError
            If there are too many reports to list.
        """
        return self.channel() @ self.guess_probabilities(self.outputs())

    def guess_probabilities(self, reports: Any) -> NDArray[np.float64]:
        """Return P(guess = v | report), float64[n, k]."""
        supported = self.supports(reports, np.arange(self.k))
        filled = supported | ~supported.any(axis=1, keepdims=True)
        probabilities: NDArray[np.float64] = filled / filled.sum(axis=1, keepdims=True)
        return probabilities

    # ---------------------------------------------------------------- likelihood

    def _likelihood(self, reports: Any, attributes: tuple[int, ...]) -> ReportLikelihood:  # noqa: ARG002
        law = self.support_law
        if isinstance(law, PairLaw):
            supported = self.supports(reports, np.arange(self.k))
            return ReportLikelihood.of_sets(supported, law.ratio, law.log_absent(supported.sum(axis=1)))
        places = self._places(reports)
        return ReportLikelihood.of(_listed(self)[0].T[places])

    def _indicators(self, reports: Any, attributes: tuple[int, ...]) -> ReportIndicators:  # noqa: ARG002
        if isinstance(self, AffineIndicators):
            p, q = map(float, self.support_probabilities)
            values = (self.supports(reports, np.arange(self.k)).astype(np.float64) - q) / (p - q)
            return ReportIndicators.of(values)
        places, weighing = self._places(reports), self.weighing
        weights = np.array([weighing.report_weights(unit)[0] for unit in np.eye(self.k)])
        return ReportIndicators.of(weights.T[places])

    def _listed_likelihood(self, attributes: tuple[int, ...]) -> ReportLikelihood | None:
        law = self.support_law
        if law is not None and law.hashes is not None:
            return None
        try:
            outputs = self.outputs()
        except TooLargeError:
            return None
        if len(self._as_bytes(outputs)) > MAX_LISTED:
            return None
        return self._likelihood(outputs, attributes)

    def _places(self, reports: Any) -> NDArray[np.int64]:
        """Return int64[n]: the index of each report in `outputs`."""
        self.check_reports(reports)
        listed, own = self._as_bytes(self.outputs()), self._as_bytes(reports)
        distinct, inverse = np.unique(own, return_inverse=True)
        order = np.argsort(listed)
        return order[np.searchsorted(listed, distinct, sorter=order)][inverse]

    def _as_bytes(self, reports: Any) -> NDArray[Any]:
        """Return each report as one opaque element."""
        columns = reports if isinstance(reports, tuple) else (reports,)
        parts = []
        for field, column in zip(self.report_fields, columns, strict=True):
            array = np.ascontiguousarray(column, dtype=np.dtype(field.dtype).newbyteorder(">"))
            parts.append(array.reshape(len(array), -1).view(np.uint8))
        joined = np.ascontiguousarray(np.concatenate(parts, axis=1))
        return joined.view(f"S{joined.shape[1]}")[:, 0]

    # ---------------------------------------------------------------- simulation

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with given true counts, without reports; its distribution is exact.

        Parameters
        ----------
        counts : int[k]
            Number of contributors who hold each value.
        rng : SimulationRandomness
            Source of the draw.

        Raises
        ------
        InvalidInputError
            If the counts are not k integers >= 0.
        """
        held = checked_counts(counts, self.k)
        return Aggregate(self, self._simulate(held, rng), int(held.sum()))

    @abstractmethod
    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        """Return a random state int64[state_size] for contributors with the true counts int64[k]."""

    def _simulate_by_reports(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        """Return the sum of reports made in blocks, if no product distribution applies, in memory independent of n."""
        # The state of no reports is made first, so that the collector refuses a state that is too large before it is
        # set up.
        total = self._tally(self._randomize(np.zeros(0, dtype=np.int64), rng))[0].astype(np.int64)
        for codes in holders_in_blocks(counts, min(max(BLOCK_WORDS, self.state_size), SIMULATION_ROWS)):
            total += self._tally(self._randomize(codes, rng))[0]
        return total


def holders_in_blocks(counts: NDArray[np.int64], step: int) -> Iterator[NDArray[np.int64]]:
    """Yield the codes that contributors hold, at most `step` at a time: each v counts[v] times, in increasing order."""
    last = np.cumsum(counts)
    n = int(last[-1]) if len(last) else 0
    for start in range(0, n, step):
        stop = min(start + step, n)
        # These are the values v whose stretches meet this block.
        first, end = np.searchsorted(last, (start, stop - 1), side="right")
        edges = np.clip(last[first : end + 1], start, stop)
        yield np.repeat(np.arange(first, end + 1), np.diff(edges, prepend=start))


def is_oracle(client: object) -> TypeIs[FrequencyOracle[Any]]:
    """Return whether an object is a frequency oracle, not a channel, a number, a record mechanism or a client."""
    return isinstance(client, FrequencyOracle)


def checked_oracle(mechanism: object) -> FrequencyOracle[Any]:
    """Return a frequency oracle unchanged, or raise InvalidParameterError for anything else."""
    if not is_oracle(mechanism):
        raise InvalidParameterError(f"mechanism must be for a single attribute, got {type(mechanism).__name__}")
    return mechanism


@final
@dataclass(frozen=True)
class _ListedReports(WeighedReports):
    """Likelihoods computed from the channel of an oracle whose reports can all be listed."""

    oracle: FrequencyOracle[Any]

    def report_weights(self, scores: Floats) -> tuple[Floats, Floats]:
        channel, scaled = _listed(self.oracle)
        weights: Floats = scaled.T @ np.linalg.solve(scaled @ channel.T, scores)
        return weights, channel @ weights**2 - scores**2

    def report_means(self, values: Floats) -> Floats:
        return values @ _listed(self.oracle)[0].T


@lru_cache(maxsize=4)
def _listed(oracle: FrequencyOracle[Any]) -> tuple[Floats, Floats]:
    """Return the channel P and the matrix P D^-1."""
    channel = oracle.channel()
    return channel, channel / channel.mean(axis=0)

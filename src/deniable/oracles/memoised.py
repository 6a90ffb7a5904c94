"""Memoised oracles: a device stores one permanent response for every answer and derives each report from it.

Each memoised mechanism has two budgets. `epsilon_forever` covers any number of reports of one unchanged answer.
`epsilon_once` covers one report.

Each memoised mechanism is based on one oracle: GRR, OUE or local hashing. It randomises in two stages. The first stage
randomises each possible answer once, with the oracle at `epsilon_forever`. With local hashing, this stage randomises
each cell once instead. The device stores the results, which are called *permanent responses*. For every report, the
second stage takes the permanent response of the true answer and randomises it again. After both stages, a report has
the same distribution as a report of the oracle at `epsilon_once`.

For GRR, a permanent response is the true code with probability p1, and any particular other code with probability q1.
The oracle at `epsilon_once` reports the true code with probability P. The second stage keeps a permanent response with
probability p2, and otherwise replaces it by a uniformly drawn other code. So that both stages together have the
probability P, p2 is (P - q1)/(p1 - q1). The same formula holds for the cells of local hashing.

In the published L-GRR and LOLOHA (Arcolezi et al. 2022, 2023), the second stage is different if there are more than two
codes or cells. A report of L-GRR or LOLOHA then spends less than `epsilon_once`, so it has more noise than is
necessary.

*Random words* are random numbers of 64 bits, which each client draws for itself. All clients use their words in the
same order. A client first draws the permanent responses of the answers 0 to k-1, one after the other. For each answer,
it uses the words in the same way as the oracle does for one report. For local hashing, the words of the hash function
come first, and the words of the cells follow. After that, the second stage uses words for every report. With GRR or
local hashing, it uses one word. With OUE, it uses the words of one unary report. If the two budgets are equal, the
second stage changes nothing and uses no words.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.card import Card
from deniable.core.checks import Codes, checked_codes, checked_domain, checked_integer, settle
from deniable.core.privacy import Guarantee, TrustModel, bound_text, repeated
from deniable.core.randomness import Randomness, WordStream, checked_randomness
from deniable.core.thresholds import (
    EPSILON_MIN,
    SCALE,
    EpsilonLike,
    checked_epsilon,
    exact,
    exp_bounds,
    log_up,
    spent,
    threshold_up,
)
from deniable.errors import InvalidParameterError, TooLargeError, out_of_range, quoted, unknown_name
from deniable.oracles.bits import Bits, checked_bits, randomize_bits, randomize_one_hot
from deniable.oracles.grr import GRR, OneCode, respond
from deniable.oracles.oracle import FrequencyOracle
from deniable.oracles.pure import PureOracle
from deniable.oracles.sketch.count_mean_sketch import Sketch
from deniable.oracles.sketch.families.family import HashFamily
from deniable.oracles.sketch.families.registry import family_entry
from deniable.oracles.unary import OUE
from deniable.oracles.unary_bulk import noisy_bits, probabilities
from deniable.oracles.unary_encoding import UnaryEncoding, likelihood_ratio

Reports = TypeVar("Reports")

MAX_MEMO_ROWS = 1 << 20
"""Most permanent responses that one contributor draws and keeps. The limit is 1,024 responses if each has k bits."""

MAX_HISTORIES = 1 << 13
"""Most histories times outcomes that `Memoised.history_ratio` lists."""


@dataclass(frozen=True)
class Memoised(FrequencyOracle[Reports]):
    """The base of memoised oracles: their two budgets, two stages, and bounds for repeated reports.

    Attributes
    ----------
    epsilon_forever, epsilon_once : float or Fraction
        Budgets of all reports of one unchanged answer together, and of one report.
    epsilon : float or Fraction
        The larger budget, `epsilon_forever`.
    memoised_epsilon : float
        The larger budget as implemented.
    """

    k: int
    epsilon_forever: float | Fraction
    epsilon_once: float | Fraction
    epsilon: float | Fraction = field(init=False, repr=False, compare=False)
    memoised_epsilon: float = field(init=False, repr=False, compare=False)

    constructor = "from_epsilon"
    kept: ClassVar[str] = "answer"
    """Thing that has a permanent response of its own: an answer, or a cell of the contributor's hash function."""
    kept_note: ClassVar[str] = ""
    """Limit of the row about changes, if responses are not kept by answer."""
    most_rows: ClassVar[int] = MAX_MEMO_ROWS
    """Most permanent responses that a contributor may have to keep."""
    attains_once: ClassVar[bool] = True
    """True if one report spends all of `epsilon_once`, up to the rounding of thresholds."""

    def _check_budgets(self) -> None:
        for name in ("epsilon_forever", "epsilon_once"):
            object.__setattr__(self, name, checked_epsilon(getattr(self, name), name))
        if exact(self.epsilon_once) > exact(self.epsilon_forever):
            forever = f"<= epsilon_forever={float(self.epsilon_forever):g}"
            raise out_of_range("epsilon_once", forever, float(self.epsilon_once))
        settle(self, epsilon=self.epsilon_forever)

    def _check_stages(self) -> None:
        (p, q) = self.second_stage
        if not p > q:
            raise InvalidParameterError(
                f"k must be smaller with this epsilon_once, got k={self.k} with "
                f"epsilon_once={float(self.epsilon_once):g}: 64-bit thresholds are too coarse for this many answers"
            )
        settle(self, memoised_epsilon=log_up(self.permanent_ratio()))

    @classmethod
    def from_epsilon(cls, k: int, epsilon: EpsilonLike, epsilon_once: EpsilonLike | None = None) -> Any:
        """Return the mechanism with budget epsilon for all reports of one unchanged answer together.

        Parameters
        ----------
        k : int
            Domain size.
        epsilon : float, Fraction, Decimal or str
            The budget `epsilon_forever`.
        epsilon_once : float, Fraction, Decimal or str, optional
            The budget of one report; by default half of epsilon.

        Examples
        --------
        >>> from deniable.oracles.memoised import MemoisedGRR
        >>> MemoisedGRR.from_epsilon(k=4, epsilon=2.0)
        MemoisedGRR(k=4, epsilon_forever=2.0, epsilon_once=1.0)
        """
        once = max(EPSILON_MIN, exact(checked_epsilon(epsilon)) / 2) if epsilon_once is None else exact(epsilon_once)
        make: Any = cls
        return make(k, exact(epsilon), once)

    # ---------------------------------------------------------------- contributor

    @property
    @abstractmethod
    def memo_rows(self) -> int:
        """Number of permanent responses that a contributor draws and keeps."""

    @abstractmethod
    def _draw_memo(self, rng: Randomness) -> Reports: ...

    @abstractmethod
    def _memo_rows_of(self, memo: Reports, codes: Codes) -> Reports:
        """Return the permanent responses of the given codes, one row for each code."""

    @abstractmethod
    def _permanent(self, codes: Codes, rng: Randomness) -> Reports: ...

    @abstractmethod
    def _report(self, permanent: Reports, rng: Randomness) -> Reports: ...

    def draw_memo(self, rng: Randomness) -> Reports:
        """Contributor: draw the permanent responses of all answers; keep them, and never draw them again.

        They are drawn before the answer is known, so the stored responses say nothing about the answer.

        Parameters
        ----------
        rng : Randomness
            Source of the noise.

        Returns
        -------
        batch of `memo_rows` reports
            Row v belongs to answer v. With a hash function, all rows have the same function, and row c belongs to cell
            c.

        Raises
        ------
        TooLargeError
            If there would be more than 2^20 permanent responses, or more than 1,024 responses of k bits.

        Examples
        --------
        >>> from deniable import SimulationRandomness
        >>> from deniable.oracles.memoised import MemoisedGRR
        >>> mechanism, rng = MemoisedGRR(k=4, epsilon_forever=2.0, epsilon_once=1.0), SimulationRandomness(1)
        >>> memo = mechanism.draw_memo(rng)
        >>> monday, tuesday = (mechanism.report_from(memo, 3, rng) for _ in range(2))
        >>> memo.shape, monday.shape
        ((4,), (1,))
        """
        if self.memo_rows > self.most_rows:
            raise TooLargeError(
                f"memo_rows must be at most {self.most_rows:,}, got memo_rows={self.memo_rows:,} for {quoted(self)}; "
                "use MemoisedHash"
            )
        return self._draw_memo(checked_randomness(rng))

    def report_from(self, memo: Reports, code: int, rng: Randomness) -> Reports:
        """Contributor: return a report of one answer from stored permanent responses, with fresh noise.

        Parameters
        ----------
        memo : batch of `memo_rows` reports
            Stored permanent responses from `draw_memo`.
        code : int
            The true answer, in 0..k-1.
        rng : Randomness
            Source of the noise.

        Raises
        ------
        InvalidInputError
            If the code is out of range.
        InvalidReportError
            If the memo does not belong to this mechanism.
        """
        codes = checked_codes([code], self.k)
        self.check_reports(memo)
        return self._report(self._memo_rows_of(memo, codes), checked_randomness(rng))

    def permanent(self, inputs: ArrayLike, rng: Randomness) -> Reports:
        """Contributor: draw permanent responses of n contributors, for simulations in which answers never change.

        Parameters
        ----------
        inputs : int[n]
            True codes in 0..k-1.
        rng : Randomness
            Source of the noise.

        Raises
        ------
        InvalidInputError
            If a code is out of range. The message names its row.
        """
        return self._permanent(checked_codes(inputs, self.k), checked_randomness(rng))

    def report(self, permanent: Reports, rng: Randomness) -> Reports:
        """Contributor: return reports of permanent responses with fresh noise, one row each.

        Parameters
        ----------
        permanent : batch of n reports
            Permanent responses from `permanent`.
        rng : Randomness
            Source of the noise.

        Raises
        ------
        InvalidReportError
            If a row is not a permanent response of this mechanism.
        """
        self.check_reports(permanent)
        return self._report(permanent, checked_randomness(rng))

    # ---------------------------------------------------------------- guarantee

    @property
    @abstractmethod
    def first_stage(self) -> tuple[Fraction, Fraction]:
        """Implemented (p1, q1): probability that a permanent response supports the true value, and any other value."""

    @property
    @abstractmethod
    def second_stage(self) -> tuple[Fraction, Fraction]:
        """Implemented (p2, q2): as `first_stage`, for a report of a permanent response instead of a true value."""

    @abstractmethod
    def permanent_ratio(self) -> Fraction:
        """Return the exact largest likelihood ratio of a permanent response, from the implemented thresholds."""

    @abstractmethod
    def second_ratio(self) -> Fraction | float:
        """Return the largest likelihood ratio of a report between two permanent responses; infinite for copies."""

    @property
    def one_report_epsilon(self) -> float:
        """Attained epsilon of one report: `epsilon_once` if one report spends it, otherwise the implemented epsilon."""
        return float(self.epsilon_once) if self.attains_once else self.implemented_epsilon()

    def privacy(self) -> Guarantee:
        """Return the guarantee; its epsilon is `epsilon_forever`, the larger of the two budgets."""
        forever, once = float(self.epsilon_forever), self.one_report_epsilon
        return Guarantee(
            epsilon=forever,
            per_attribute=(forever,),
            implemented_epsilon=self.memoised_epsilon,
            trust_models=(
                TrustModel("collector", "one report", once),
                TrustModel(
                    "collector",
                    "any number of reports of one unchanged answer",
                    forever,
                    note="approached as reports accumulate",
                ),
                TrustModel(
                    "collector",
                    f"reports of r different {self.kept}s, the times of change being known",
                    forever,
                    status="upper bound",
                    scaling="per report",
                    note=self.kept_note,
                ),
                repeated("r reports, each with new permanent responses", once),
            ),
            remarks=(
                "times of change are not protected: people whose answers change at different times can be told apart",
                "the client must keep its permanent responses: without them every report spends a new budget",
                *self._remarks(),
            ),
        )

    def _remarks(self) -> Iterator[str]:
        once, step = bound_text(float(self.epsilon_once)), log_up(self.second_ratio())
        attained = bound_text(self.one_report_epsilon)
        if attained != once:
            yield f"one report attains epsilon = {attained} of the declared epsilon_once = {once}"
        if math.isinf(step):
            yield "reports copy the permanent response: every change of an answer is visible"
        else:
            yield f"any two histories of T reports: epsilon = {once} + (T - 1) x {bound_text(step)}"

    def history_epsilon(self, reports: int) -> float:
        """Return the bound for all reports together of a contributor whose answer may change between the reports.

        The bound is for any two sequences of answers. It is epsilon_once + (reports - 1) ln(p2/q2), with (p2, q2) from
        `second_stage`. For unary reports, each of the k bits adds its own logarithm. If reports copy the permanent
        response, the bound for more than one report is infinite.

        Parameters
        ----------
        reports : int
            Number of reports, at least 1: one for each wave of the survey that the contributor answers.

        Raises
        ------
        InvalidParameterError
            If `reports` is less than 1.

        Examples
        --------
        >>> from deniable.oracles.memoised import MemoisedHash
        >>> mechanism = MemoisedHash(k=16, epsilon_forever=2.0, epsilon_once=1.0, g=2)
        >>> [round(mechanism.history_epsilon(waves), 3) for waves in (1, 3, 6)]
        [1.0, 3.815, 8.038]
        """
        waves = checked_integer("reports", reports, 1)
        if waves == 1:
            return float(self.epsilon_once)
        step = log_up(self.second_ratio())
        if math.isinf(step):
            return math.inf
        total = exact(self.epsilon_once) + (waves - 1) * Fraction(step)
        context = Context(prec=40, rounding=ROUND_CEILING)
        return math.nextafter(float(context.divide(Decimal(total.numerator), Decimal(total.denominator))), math.inf)

    def history_ratio(self, reports: int, *, same_changes: bool = False) -> Fraction:
        """Return the largest likelihood ratio between two sequences of answers (*histories*), by listing all of them.

        Parameters
        ----------
        reports : int
            Number of reports, at least 1.
        same_changes : bool
            True to compare only pairs of histories with the same pattern: two waves have equal answers in one history
            if and only if they have equal answers in the other.

        Raises
        ------
        TooLargeError
            If there are too many histories. Use the bound of `history_epsilon` instead.

        Examples
        --------
        >>> from deniable.oracles.memoised import MemoisedHash
        >>> import math
        >>> mechanism = MemoisedHash(k=16, epsilon_forever=1.0, epsilon_once="0.9", g=2)
        >>> round(math.log(mechanism.history_ratio(3)), 2)
        3.68
        """
        waves = checked_integer("reports", reports, 1)
        histories = _histories(self.memo_rows, waves, MAX_HISTORIES // self._outcomes(waves), self)
        laws = {history: self._history_law(history) for history in histories}
        largest = Fraction(1)
        for first, law in laws.items():
            if first != pattern(first):
                # The names of answers do not matter, so one history of each pattern is enough on one side.
                continue
            for second, other in laws.items():
                if not same_changes or pattern(second) == first:
                    ratio = Fraction(1)
                    for ours, theirs in zip(law, other, strict=True):
                        ratio *= max(Fraction(a, b) for a, b in zip(ours, theirs, strict=True))
                    largest = max(largest, ratio)
        return largest

    @abstractmethod
    def _outcomes(self, waves: int) -> int:
        """Return the number of outcomes of one factor of a history's distribution."""

    @abstractmethod
    def _history_law(self, history: tuple[int, ...]) -> list[list[int]]:
        """Return the distribution of a history's reports: lists over 2^(128 waves), one per independent factor."""


def memoised_oracle(
    k: int, epsilon_forever: EpsilonLike, epsilon_once: EpsilonLike, oracle: str = "GRR", g: int | None = None
) -> MemoisedGRR | MemoisedOUE | MemoisedHash:
    """Return the memoised oracle with the given name.

    Parameters
    ----------
    k : int
        Domain size.
    epsilon_forever, epsilon_once : float, Fraction, Decimal or str
        Budgets of all reports of one unchanged answer together, and of one report.
    oracle : {"GRR", "OUE", "hash"}
        Oracle of both stages.
    g : int, optional
        Number of cells, for "hash" only.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> memoised_oracle(k=100, epsilon_forever=2.0, epsilon_once=1.0, oracle="hash")
    MemoisedHash(k=100, epsilon_forever=2.0, epsilon_once=1.0, g=4)
    """
    forever, once = checked_epsilon(epsilon_forever, "epsilon_forever"), checked_epsilon(epsilon_once, "epsilon_once")
    if oracle == "hash":
        return MemoisedHash(k, forever, once, g)
    if g is not None:
        raise InvalidParameterError(
            f'g works only with oracle="hash", got g={g} with oracle={quoted(oracle)}: leave out g'
        )
    makers: dict[str, Any] = {"GRR": MemoisedGRR, "OUE": MemoisedOUE}
    if oracle not in makers:
        raise unknown_name("oracle", oracle, ("GRR", "OUE", "hash"))
    made: MemoisedGRR | MemoisedOUE = makers[oracle](k, forever, once)
    return made


def second_lie(p1: Fraction, q1: Fraction, target: Fraction) -> Fraction:
    """Return q2 = (t - q1)/(p1 - q1), with which both stages together report any other value with probability t.

    The probability t is `target`. For m codes, p2 is 1 - (m - 1) q2. The same equation, with 1 - q1 in the place of p1,
    holds for bits that a second stage flips with probability q2. A clear bit is then set with probability q1 (1 - q2) +
    (1 - q1) q2 after both stages.

    Examples
    --------
    >>> second_lie(Fraction(3, 4), Fraction(1, 4), Fraction(1, 3))
    Fraction(1, 6)
    """
    return (target - q1) / (p1 - q1)


def _second_threshold(p1: Fraction, q1: Fraction, once: EpsilonLike, others: int) -> int:
    """Return 2^64 q2 rounded up, so both stages together never exceed e^once; 0 if no more noise is needed."""
    lower, _ = exp_bounds(spent(once))
    return max(0, threshold_up(second_lie(p1, q1, 1 / (lower + others))))


@dataclass(frozen=True)
class MemoisedValues(Memoised[Reports]):
    """Base of memoised oracles that keep a permanent response for each of the k values."""

    def __post_init__(self) -> None:
        settle(self, k=checked_domain(self.k))
        self._check_budgets()
        self._check_stages()

    @property
    @abstractmethod
    def first(self) -> PureOracle[Reports]:
        """The oracle of the permanent stage, at `epsilon_forever`."""

    @property
    def first_stage(self) -> tuple[Fraction, Fraction]:
        return self.first.support_probabilities

    @property
    def memo_rows(self) -> int:
        return self.k

    def _permanent(self, codes: Codes, rng: Randomness) -> Reports:
        return self.first._randomize(codes, rng)


@dataclass(frozen=True)
class MemoisedCode(OneCode, MemoisedValues[Codes]):
    """Base of memoised oracles that report one code; both stages are randomised response over k codes."""

    @cached_property
    def first(self) -> GRR:
        """The oracle of the permanent stage, at `epsilon_forever`."""
        return GRR(self.k, self.epsilon_forever)

    @property
    @abstractmethod
    def lie(self) -> int:
        """Threshold Q2: the second stage reports each of the k-1 other codes with probability Q2/2^64."""

    @cached_property
    def second_stage(self) -> tuple[Fraction, Fraction]:
        q = Fraction(self.lie, SCALE)
        return 1 - (self.k - 1) * q, q

    @cached_property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        (p1, q1), (_, q2) = self.first_stage, self.second_stage
        q = q1 + q2 * (p1 - q1)
        return 1 - (self.k - 1) * q, q

    def permanent_ratio(self) -> Fraction:
        return self.first.implemented_ratio()

    def second_ratio(self) -> Fraction | float:
        p, q = self.second_stage
        return p / q if q else math.inf

    def _draw_memo(self, rng: Randomness) -> Codes:
        return self.first._randomize(np.arange(self.k), rng)

    def _memo_rows_of(self, memo: Codes, codes: Codes) -> Codes:
        check_rows(len(np.asarray(memo)), self)
        return np.asarray(memo)[codes]

    def _report(self, permanent: Codes, rng: Randomness) -> Codes:
        codes = np.ascontiguousarray(permanent)
        return respond(codes, self.lie, self.k, rng) if self.lie else codes.copy()

    def _randomize(self, codes: Codes, rng: Randomness) -> Codes:
        return self._report(self._permanent(codes, rng), rng)

    def _outcomes(self, waves: int) -> int:
        return int(self.k**waves)

    def _history_law(self, history: tuple[int, ...]) -> list[list[int]]:
        p, q = map(_scaled, self.first_stage)

        def stored(value: int) -> list[int]:
            return [p if code == value else q for code in range(self.k)]

        own, other = map(_scaled, self.second_stage)
        second = [[own if report == code else other for report in range(self.k)] for code in range(self.k)]
        return [_law(stored, second, history)]


@final
@dataclass(frozen=True)
class MemoisedGRR(MemoisedCode):
    """Memoised randomised response keeps a randomised code for each answer and derives every report from these codes.

    In the first stage, a device randomises each possible answer once and stores the results, which are called
    *permanent responses*. In the second stage, for each report, the device takes the permanent response of the true
    answer and randomises it again. The parameter `epsilon_once` is the budget of one report. One report of MemoisedGRR
    spends all of this budget. The published mechanism L-GRR has the same first stage, but its second stage is different
    if k > 2. One report of L-GRR then spends less than `epsilon_once`.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^20.
    epsilon_forever : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. It covers all reports of one unchanged answer together, however many
        there are.
    epsilon_once : float, Fraction, Decimal or str
        Privacy budget in nats of one report, at most `epsilon_forever`.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.oracles.memoised import MemoisedGRR
    >>> mechanism = MemoisedGRR(k=4, epsilon_forever=2.0, epsilon_once=1.0)
    >>> mechanism.estimate(mechanism.aggregate(mechanism.randomize([0, 1, 1], SimulationRandomness(1)))).n
    3
    """

    name = "MemoisedGRR"
    card = Card(
        group="one attribute",
        when="to ask the same people again, if few answers are possible and the answers practically never change",
        planned=False,
        instead="`deniable plan` compares mechanisms for a question that is asked once; "
        "MemoisedGRR is for a question that is asked repeatedly; each time it is asked, the reports have the error of "
        "GRR at `epsilon_once`",
        wire="one code",
        page="programmes.md",
    )

    @cached_property
    def lie(self) -> int:
        """Threshold Q2: the second stage reports each of the k-1 other codes with probability Q2/2^64."""
        return _second_threshold(*self.first_stage, self.epsilon_once, self.k - 1)


@dataclass(frozen=True)
class MemoisedBits(UnaryEncoding, MemoisedValues[Bits]):
    """Base of memoised oracles that report one bit per value; the first stage is optimised unary encoding."""

    most_rows = 1024

    @cached_property
    def first(self) -> OUE:
        """The oracle of the permanent stage, at `epsilon_forever`."""
        return OUE(self.k, self.epsilon_forever)

    @property
    @abstractmethod
    def second_thresholds(self) -> tuple[int, int]:
        """Thresholds (P2, Q2): a set permanent bit is reported as set with P2/2^64, and a clear one with Q2/2^64."""

    @cached_property
    def second_stage(self) -> tuple[Fraction, Fraction]:
        return probabilities(self.second_thresholds)

    @cached_property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        (p1, q1), (p2, q2) = self.first_stage, self.second_stage
        return q2 + p1 * (p2 - q2), q2 + q1 * (p2 - q2)

    def permanent_ratio(self) -> Fraction:
        return likelihood_ratio(*self.first_stage)

    def second_ratio(self) -> Fraction | float:
        # Two permanent responses can differ in all k bits.
        p, q = self.second_stage
        return max(p / q, (1 - q) / (1 - p)) ** self.k if q else math.inf

    @property
    def _copies(self) -> bool:
        return self.second_thresholds == (SCALE, 0)

    def _draw_memo(self, rng: Randomness) -> Bits:
        # Memos are drawn row by row, as clients draw them. The words of each row follow the words that the row before
        # it has read.
        stream = WordStream(rng)
        rows = [randomize_one_hot(np.array([code]), self.k, self.first.thresholds, stream) for code in range(self.k)]
        return np.concatenate(rows)

    def _memo_rows_of(self, memo: Bits, codes: Codes) -> Bits:
        bits = checked_bits(memo, self.k)
        check_rows(len(bits), self)
        return bits[codes]

    def _report(self, permanent: Bits, rng: Randomness) -> Bits:
        if self._copies:
            return permanent.copy()
        return noisy_bits(permanent, self.k, self.second_thresholds, rng)

    def _randomize_few(self, codes: Codes, rng: Randomness) -> Bits:
        stream = WordStream(rng)
        stored = randomize_one_hot(codes, self.k, self.first.thresholds, stream)
        return stored if self._copies else randomize_bits(stored, self.k, self.second_thresholds, stream)

    def _outcomes(self, waves: int) -> int:
        return int(2**waves)

    def _history_law(self, history: tuple[int, ...]) -> list[list[int]]:
        p, q = map(_scaled, self.first_stage)

        def stored_of(bit: int) -> Callable[[int], Sequence[int]]:
            return lambda value: (SCALE - p, p) if value == bit else (SCALE - q, q)

        second = [(SCALE - chance, chance) for chance in reversed(self.second_thresholds)]
        return [_law(stored_of(bit), second, history) for bit in range(self.k)]


@final
@dataclass(frozen=True)
class MemoisedOUE(MemoisedBits):
    """Memoised optimised unary encoding keeps k randomised bits for each answer and derives every report from them.

    A device writes each possible answer as k bits: the bit of the answer is 1, and all others are 0. The device
    randomises the bits of each answer once and stores the results, which are called *permanent responses*. For each
    report, the device takes the permanent response of the true answer and randomises its bits again. The literature
    calls this mechanism L-OSUE.

    Parameters
    ----------
    k : int
        Number of possible answers k, at least 2. A contributor's device stores one response of k bits for each of the k
        answers. Devices therefore refuse a k above 1,024.
    epsilon_forever : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. It covers all reports of one unchanged answer together, however many
        there are.
    epsilon_once : float, Fraction, Decimal or str
        Privacy budget in nats of one report, at most `epsilon_forever`.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.oracles.memoised import MemoisedOUE
    >>> mechanism = MemoisedOUE(k=12, epsilon_forever=2.0, epsilon_once=1.0)
    >>> mechanism.draw_memo(SimulationRandomness(1)).shape
    (12, 2)
    """

    name = "MemoisedOUE"
    card = Card(
        group="one attribute",
        when="to ask the same people again, if at most 1,024 answers are possible and the answers practically never "
        "change",
        planned=False,
        instead="`deniable plan` compares mechanisms for a question that is asked once; "
        "MemoisedOUE is for a question that is asked repeatedly; each time it is asked, the reports have the error of "
        "OUE at `epsilon_once`",
        wire="k bits",
        page="programmes.md",
    )

    @cached_property
    def flip(self) -> int:
        """Q2: the second stage flips a bit with probability Q2/2^64."""
        _, q1 = self.first_stage
        return _second_threshold(1 - q1, q1, self.epsilon_once, 1)

    @property
    def second_thresholds(self) -> tuple[int, int]:
        return SCALE - self.flip, self.flip


@dataclass(frozen=True)
class MemoisedCells(Sketch, Memoised[Any]):
    """Base of memoised oracles that report a cell of a hash function, which each contributor draws once."""

    g: int | None = None

    kept = "cell"
    kept_note = "answers that change at the same times may change cells at different ones"

    def __post_init__(self) -> None:
        settle(self, k=checked_domain(self.k))
        self._check_budgets()
        if self.g is None:
            settle(self, g=min(MAX_MEMO_ROWS, self._best_cells()))
        settle(self, g=checked_integer("g", self.g or 0, 2, MAX_MEMO_ROWS))
        self._check_stages()

    @cached_property
    def hashes(self) -> HashFamily:
        assert self.g is not None
        return family_entry("prime").build(self.k, self.g)

    @property
    @abstractmethod
    def response(self) -> MemoisedCode:
        """The memoised oracle over the g cells."""

    @abstractmethod
    def _best_cells(self) -> int:
        """Return the default number of cells."""

    @property
    def first_stage(self) -> tuple[Fraction, Fraction]:
        return self.response.first_stage

    @property
    def second_stage(self) -> tuple[Fraction, Fraction]:
        return self.response.second_stage

    def permanent_ratio(self) -> Fraction:
        return self.response.permanent_ratio()

    def second_ratio(self) -> Fraction | float:
        return self.response.second_ratio()

    @property
    def memo_rows(self) -> int:
        return self.response.k

    def _draw_memo(self, rng: Randomness) -> Any:
        parameters = self.hashes.draw_parameters(rng, 1)
        cells = self.response._draw_memo(rng)
        return self.hashes.join(tuple(np.repeat(column, len(cells)) for column in parameters), cells)

    def _memo_rows_of(self, memo: Any, codes: Codes) -> Any:
        parameters, cells = self.hashes.split(self.hashes.checked(memo))
        check_rows(len(cells), self)
        own = tuple(np.repeat(column[:1], len(codes)) for column in parameters)
        return self.hashes.join(own, cells[self.hashes.hash(codes, *own)])

    def _permanent(self, codes: Codes, rng: Randomness) -> Any:
        parameters = self.hashes.draw_parameters(rng, len(codes))
        return self.hashes.join(parameters, self.response._permanent(self.hashes.hash(codes, *parameters), rng))

    def _report(self, permanent: Any, rng: Randomness) -> Any:
        parameters, cells = self.hashes.split(self.hashes.checked(permanent))
        return self.hashes.join(parameters, self.response._report(cells, rng))

    def _randomize(self, codes: Codes, rng: Randomness) -> Any:
        return self._report(self._permanent(codes, rng), rng)

    def _outcomes(self, waves: int) -> int:
        return self.response._outcomes(waves)

    def _history_law(self, history: tuple[int, ...]) -> list[list[int]]:
        # The hash function is public, so a history is a history of cells. Every history of cells belongs to some
        # answers.
        return self.response._history_law(history)


@final
@dataclass(frozen=True)
class MemoisedHash(MemoisedCells):
    """Memoised local hashing keeps a hash function and randomised cells, and derives every report from them.

    The hash function maps every possible answer to one of g cells. The device randomises each of the g cells once and
    stores the results, which are called *permanent responses*. For each report, the device takes the permanent response
    of the true answer's cell and randomises it again.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^32.
    epsilon_forever : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. It covers all reports of one unchanged answer together, however many
        there are.
    epsilon_once : float, Fraction, Decimal or str
        Privacy budget in nats of one report, at most `epsilon_forever`.
    g : int, optional
        Number of cells g, from 2 to 2^20. The default is round(e^epsilon_once + 1), which is best for rare values. The
        object stores the chosen number in `g`.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.oracles.memoised import MemoisedHash
    >>> mechanism = MemoisedHash(k=1000, epsilon_forever=2.0, epsilon_once=1.0)
    >>> mechanism.g, len(mechanism.draw_memo(SimulationRandomness(1)).value)
    (4, 4)
    """

    name = "MemoisedHash"
    card = Card(
        group="dictionaries",
        when="to ask the same people again, if the answers practically never change; the list of possible answers may "
        "be long",
        planned=False,
        instead="`deniable plan` compares mechanisms for a question that is asked once; "
        "MemoisedHash is for a question that is asked repeatedly; each time it is asked, the reports with the default "
        "g have the error of OLH (optimised local hashing) at `epsilon_once`",
        wire="a hash function and a cell",
        page="programmes.md",
    )

    @cached_property
    def response(self) -> MemoisedGRR:
        assert self.g is not None
        return MemoisedGRR(self.g, self.epsilon_forever, self.epsilon_once)

    def _best_cells(self) -> int:
        lower, _ = exp_bounds(spent(self.epsilon_once))
        return math.floor(lower + Fraction(3, 2))


def check_rows(rows: int, mechanism: Memoised[Any]) -> None:
    """Raise InvalidParameterError unless a memo has a row for every answer or cell."""
    if rows != mechanism.memo_rows:
        raise InvalidParameterError(
            f"memo must be the {mechanism.memo_rows:,} rows that draw_memo returned, got {rows:,} rows"
        )


def pattern(history: Sequence[int]) -> tuple[int, ...]:
    """Return a history with its answers numbered in order of appearance, which shows the waves with equal answers.

    Examples
    --------
    >>> pattern((7, 3, 7))
    (0, 1, 0)
    """
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(one, len(numbers)) for one in history)


def _histories(rows: int, waves: int, most: int, mechanism: Memoised[Any]) -> list[tuple[int, ...]]:
    if rows**waves > most:
        raise TooLargeError(
            f"{quoted(mechanism)} has too many histories to list for reports={waves}: use fewer reports, or use the "
            "bound of history_epsilon"
        )
    found: list[tuple[int, ...]] = [()]
    for _ in range(waves):
        found = [(*history, value) for history in found for value in range(rows)]
    return found


def _scaled(probability: Fraction) -> int:
    return int(probability * SCALE)


def _law(
    stored: Callable[[int], Sequence[int]], second: Sequence[Sequence[int]], history: tuple[int, ...]
) -> list[int]:
    """Return P(all reports | history) over 2^(128 T) for codes or one bit, with the last report varying fastest.

    Parameters
    ----------
    stored : callable
        Function from an answer to the probability of each permanent response, times 2^64.
    second : sequence of sequences of int
        Probabilities of all reports, times 2^64, for each permanent response.
    history : tuple of int
        Answer in each wave.
    """
    outcomes, chances, waves = len(second), np.array(second, dtype=object), len(history)
    outputs = np.array(np.unravel_index(np.arange(outcomes**waves), (outcomes,) * waves))
    law = np.full(outputs.shape[1], SCALE ** (waves - len(set(history))), dtype=object)
    for value in set(history):
        times = [t for t, one in enumerate(history) if one == value]
        total = np.zeros(outputs.shape[1], dtype=object)
        for response, chance in enumerate(stored(value)):
            part = np.full(outputs.shape[1], chance, dtype=object)
            for t in times:
                part = part * chances[response][outputs[t]]
            total = total + part
        law = law * total
    return list(law)

"""Generalised randomised response (GRR): report the true answer, or one of the other k-1 answers.

GRR is described by Kairouz, Bonawitz, Ramage, *Discrete distribution estimation under local privacy* (2016). If k < 3
e^epsilon + 2, the variance of GRR for rare answers is smaller than the variance of OUE (Wang, Blocki, Li, Jha 2017).
The error of `SubsetSelection` is never larger than the error of GRR. For small k, the two mechanisms are the same.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.card import Card
from deniable.core.checks import Codes, check_counters, checked_domain, checked_report_codes, code_dtype, settle
from deniable.core.kernels import PLAIN, exact_kernel, kernel
from deniable.core.mechanism import ChecksRows, Mechanism, ReportField
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness, SimulationRandomness, Words, blocks
from deniable.core.state import Counts, counts_sum_to
from deniable.core.thresholds import SCALE, EpsilonLike, checked_epsilon, exp_bounds, spent, threshold_up
from deniable.errors import InvalidParameterError
from deniable.oracles.pure import CountingOracle
from deniable.oracles.support import FixedSize


@lru_cache(maxsize=1024, typed=True)
def lie_threshold(k: int, epsilon: EpsilonLike) -> int:
    """Return the threshold Q with which GRR reports each of the k-1 other values.

    Each other value is reported with probability Q/2^64, and the true value with probability 1 - (k-1) Q/2^64. Q =
    ceil(2^64/(e^epsilon + k - 1)) is computed in directed high precision. Rounding up brings the probabilities closer.
    For k <= 2^32 sqrt(epsilon) it never makes the true answer the rarer one, because 2^64/k exceeds 2^64/(e^epsilon + k
    - 1) by at least one.

    Raises
    ------
    InvalidParameterError
        If k is larger. The difference p - q would then vanish between two thresholds, or become negative without a
        bound on the ratio.
    """
    budget = spent(epsilon)
    if k * k > budget * SCALE:
        raise InvalidParameterError(
            f"k must be <= 2^32 sqrt(epsilon), got k={k} with epsilon={float(budget)}: for a larger k, 64-bit "
            "thresholds are too coarse. Choose a smaller k"
        )
    lower, _ = exp_bounds(budget)
    return threshold_up(1 / (lower + k - 1))


class CodeReports(Mechanism[Codes]):
    """Base of mechanisms whose report is one code below `state_size` and whose state counts each code."""

    def _tally(self, reports: ArrayLike) -> tuple[NDArray[np.int64], int]:
        codes = checked_report_codes(reports, self.state_size)
        return count_codes(codes, self.state_size), len(codes)

    def outputs(self) -> Codes:
        return np.arange(self.state_size, dtype=code_dtype(self.state_size))

    @cached_property
    def report_fields(self) -> tuple[ReportField, ...]:
        """One code per report."""
        return (ReportField("value", code_dtype(self.state_size).name),)

    @property
    def report_bits(self) -> float:
        """Bits per report, log2 of the number of codes."""
        return float(np.log2(self.state_size))


class HistogramReports(CodeReports, ChecksRows):
    """Base of mechanisms like `CodeReports` whose state can be any histogram of their reports."""

    state_is_histogram = True
    uncounted: ClassVar[slice | None] = slice(0, 0)

    def _check_rows(self, reports: ArrayLike) -> Codes:
        return checked_report_codes(reports, self.state_size)

    def check_state(self, counts: Counts, n: int) -> None:
        counts_sum_to(counts, n)


@dataclass(frozen=True)
class OneCode(HistogramReports, CountingOracle[Codes]):
    """Base of oracles that report one code (uint8, uint16 or uint32 [n]): the true code with p, each other with q."""

    k: int

    @property
    @abstractmethod
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p, q): probabilities that a report equals v if the contributor holds v, and otherwise."""

    @cached_property
    def support_law(self) -> FixedSize:
        """Every report supports the one value that it is."""
        return FixedSize(self.k, 1, self.support_probabilities[0])

    def supports(self, reports: Codes, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        matrix: NDArray[np.bool_] = checked_report_codes(reports, self.k)[:, None] == values
        return matrix

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio p/q of the implemented thresholds, exact."""
        p, q = self.support_probabilities
        return p / q

    def _channel(self) -> NDArray[Any]:
        self._check_channel(self.k, self.k)
        p, q = self.support_probabilities
        matrix = np.full((self.k, self.k), q, dtype=object)
        np.fill_diagonal(matrix, p)
        return matrix

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # A contributor who lies chooses among the *other* values. Equivalently, with probability k q a contributor
        # reports a uniform value and otherwise the truth. That needs one binomial per value and one multinomial.
        uniform = rng.generator.binomial(counts, self.k * float(self.support_probabilities[1]))
        spread = rng.generator.multinomial(uniform.sum(), np.full(self.k, 1 / self.k))
        return counts - uniform + spread


@dataclass(frozen=True)
class RandomizedResponse(OneCode):
    """Base of oracles whose report is one code that one random word decides.

    Each report uses one 64-bit word u. It is the true code x if u >= (k-1) Q, and (x + 1 + floor(u/Q)) mod k otherwise.
    """

    epsilon: float | Fraction

    @property
    @abstractmethod
    def _lie(self) -> int:
        """Q: each of the other values is reported with probability Q/2^64."""

    def __post_init__(self) -> None:
        settle(self, k=checked_domain(self.k), epsilon=checked_epsilon(self.epsilon))
        self._lie  # noqa: B018  refuses a domain too large for 64 bits

    @cached_property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p, q): probabilities that a report equals v if the contributor holds v, and otherwise."""
        q = Fraction(self._lie, SCALE)
        return 1 - (self.k - 1) * q, q

    def _randomize(self, codes: Codes, rng: Randomness) -> Codes:
        return respond(codes, self._lie, self.k, rng)


@final
@dataclass(frozen=True)
class GRR(RandomizedResponse):
    """Generalised randomised response reports the true code or one of the k-1 other codes.

    The true code is reported with probability e^epsilon/(e^epsilon + k - 1). All other codes are equally likely.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^32 and at most 2^32 sqrt(epsilon). The probabilities of the codes are
        multiples of 2^-64. For a larger k, these multiples are too coarse to make the true code likelier than the other
        codes.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. A float is read as the decimal that Python prints for it, so 0.1 is
        read as 1/10.

    Raises
    ------
    InvalidParameterError
        If k or epsilon is out of bounds.

    Examples
    --------
    >>> from deniable import GRR, SimulationRandomness
    >>> import numpy as np
    >>> grr = GRR(k=4, epsilon=1.0)
    >>> reports = grr.randomize(np.array([0, 1, 2, 3, 3]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape
    (dtype('uint8'), (5,))
    >>> grr.estimate(grr.aggregate(reports)).n
    5
    """

    name = "GRR"
    card = Card(
        group="one attribute",
        when="for a question with few possible answers (k < 3 e^epsilon + 2); compared with OUE, GRR then has a "
        "smaller error for rare answers and shorter reports",
        aliases=("k-RR", "direct encoding"),
        recommended=True,
        direct=True,
        wire="one code",
    )

    @cached_property
    def _lie(self) -> int:
        return lie_threshold(self.k, self.epsilon)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon against everybody, for one report."""
        return self._local_guarantee()


def respond(codes: Codes, lie: int, k: int, rng: Randomness) -> Codes:
    """Return codes[n] after GRR with a 64-bit threshold Q > 0; each row uses one word, in the order of the rows."""
    reports = np.empty(len(codes), dtype=code_dtype(k))
    for rows, words in blocks(rng, len(codes)):
        randomize_codes(codes[rows], words, np.uint64(lie), k, reports[rows])
    return reports


@exact_kernel
def randomize_codes(codes: Codes, words: Words, lie: np.uint64, k: int, reports: Codes) -> None:
    """Write codes[n] after GRR with words uint64[n] to reports[n]; `lie` is the threshold Q of `lie_threshold`."""
    truth = np.uint64(k - 1) * lie
    for i in range(codes.shape[0]):
        word, code = words[i], np.int64(codes[i])
        if PLAIN:
            step = word // lie
        else:
            # The float product is off by at most one (k <= 2^32), and is then corrected in integers. This vectorises.
            step = np.int64(float(min(word, truth)) * (1.0 / float(lie)))
            rest = np.int64(word - np.uint64(step) * lie)
            step += np.int64(rest >= np.int64(lie)) - np.int64(rest < 0)
        value = code + 1 + step
        value -= k if value >= k else 0
        reports[i] = code if word >= truth else value


_FOUR_TABLES = 1 << 20
"""Largest domain that is counted in four tables, which still fit into a cache."""


_WHOLE = 1 << 31
"""Codes that are counted at a time in 32 bits if the domain is large."""


@kernel
def _count(codes: Codes, tables: NDArray[np.int64]) -> None:
    n = codes.shape[0]
    body = n - n % 4
    for i in range(0, body, 4):
        # Four tables are used, so that equal neighbours do not wait for each other's increment.
        tables[0, codes[i]] += 1
        tables[1, codes[i + 1]] += 1
        tables[2, codes[i + 2]] += 1
        tables[3, codes[i + 3]] += 1
    for i in range(body, n):
        tables[0, codes[i]] += 1


@kernel
def _count_one_by_one(codes: Codes, counts: NDArray[np.integer[Any]]) -> None:
    for i in range(codes.shape[0]):
        counts[codes[i]] += 1


def count_codes(codes: Codes, k: int) -> NDArray[Any]:
    """Return int[k]: how often each code occurs in codes[n], which are already checked to be in 0..k-1.

    The counters of a large domain are int32 if the counts fit, as in an aggregate. The 2^28 counters of the largest
    histogram are then set up only once, in one GiB.

    Raises
    ------
    TooLargeError
        If k is too large to set up k counters.
    """
    check_counters(k)
    if k > _FOUR_TABLES:
        large: NDArray[np.integer[Any]] = np.zeros(k, dtype=np.int32 if len(codes) < _WHOLE else np.int64)
        _count_one_by_one(codes, large)
        return large
    tables = np.zeros((4, k), dtype=np.int64)
    _count(codes, tables)
    counts: NDArray[np.int64] = tables.sum(axis=0)
    return counts

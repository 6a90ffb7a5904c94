"""RAPPOR: the device stores a randomised response and derives a fresh report from it for every collection.

RAPPOR is from Erlingsson, Pihur, Korolova, *RAPPOR: Randomized aggregatable privacy-preserving ordinal response*
(2014). The paper encodes an answer with a Bloom filter. Here every possible answer has a bit of its own, so answers
never collide.

The class states two budgets. The budget `one_report_epsilon` holds against a collector who sees one report. The budget
`epsilon` holds against a collector who sees any number of reports, and so learns the permanent response. With p = 0.5,
q = 0.75 and the same two budgets, the mechanism `MemoisedOUE` has less variance for rare answers than RAPPOR.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.card import Card
from deniable.core.checks import Codes, checked_codes, checked_domain, settle
from deniable.core.privacy import Guarantee, TrustModel, repeated
from deniable.core.randomness import Randomness
from deniable.core.thresholds import (
    SCALE,
    EpsilonLike,
    checked_epsilon,
    exact,
    exp_bounds,
    log_up,
    spent,
    threshold_down,
    threshold_up,
)
from deniable.errors import InvalidInputError, InvalidParameterError, out_of_range
from deniable.oracles.bits import Bits, check_padding, checked_bits
from deniable.oracles.unary_bulk import noisy_bits, noisy_one_hot, probabilities
from deniable.oracles.unary_encoding import UnaryEncoding, checked_decimal, likelihood_ratio


@final
@dataclass(frozen=True)
class RAPPOR(UnaryEncoding):
    """RAPPOR stores k randomised bits on the device and derives every report from them.

    The device writes the answer as k bits: the bit of the true answer is 1, and all others are 0. Randomisation has two
    stages:

    * In the permanent stage, every bit is flipped with probability f/2. The device stores the resulting bits, which are
      called the *permanent response*, and uses these bits for every report of the same answer.
    * In the instantaneous stage, the device draws a new report from the permanent response. If a bit of the permanent
      response is 1, the same bit of the report is 1 with probability q. If the bit of the permanent response is 0, the
      same bit of the report is 1 with probability p.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^32. A report takes k bits.
    f : float, Fraction, Decimal or str
        Noise of the permanent stage, greater than 0 and less than 1. Every bit is flipped with probability f/2. A float
        is read as the decimal that Python prints for it.
    p, q : float, Fraction, Decimal or str
        Probabilities that a bit of the report is 1: p if the same bit of the permanent response is 0, and q if that bit
        is 1. The condition is 0 < p < q < 1.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable.oracles.rappor import RAPPOR
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> rappor = RAPPOR(k=10, f=0.5, p=0.5, q=0.75)
    >>> round(rappor.epsilon, 4), round(rappor.one_report_epsilon, 4)
    (2.1972, 0.5371)
    >>> rng = SimulationRandomness(1)
    >>> memoised = rappor.permanent(np.array([0, 9, 9]), rng)   # stored by the clients
    >>> monday, tuesday = rappor.report(memoised, rng), rappor.report(memoised, rng)
    >>> monday.dtype, monday.shape
    (dtype('uint8'), (3, 2))
    """

    f: float | Fraction
    p: float | Fraction
    q: float | Fraction
    epsilon: float = field(init=False, repr=False, compare=False)
    """Epsilon of a whole contributor for unlimited reports of one memoised answer: 2 ln((1 - f/2)/(f/2)), rounded up.
    (Two one-hot encodings differ in two bits.)"""
    memoised_epsilon: float = field(init=False, repr=False, compare=False)
    """The same epsilon, as implemented."""

    name = "RAPPOR"
    constructor = "from_epsilon"
    card = Card(
        group="one attribute",
        when="if the same people are asked again and again; each device stores a randomised answer, which limits what "
        "all its reports together reveal",
        wire="k bits",
        note="epsilon bounds what all reports from one permanent response reveal together",
    )

    def __post_init__(self) -> None:
        settle(self, k=checked_domain(self.k))
        for name in ("f", "p", "q"):
            number = checked_decimal(name, getattr(self, name), Fraction(0), Fraction(1), "(0, 1)")
            object.__setattr__(self, name, number)
        half = exact(self.f) / 2
        settle(self, epsilon=log_up(((1 - half) / half) ** 2))
        settle(self, memoised_epsilon=self.implemented_permanent_epsilon())
        (one, zero), (kept, flipped) = self.report_thresholds, self.permanent_thresholds
        if not zero < one:
            raise InvalidParameterError(f"p must be < q, got p={float(self.p)}, q={float(self.q)}")
        if not flipped < kept:
            raise out_of_range("f", "at most 1 - 2^-63", float(self.f))

    @classmethod
    def from_epsilon(cls, k: int, epsilon: EpsilonLike, p: EpsilonLike = 0.5, q: EpsilonLike = 0.75) -> RAPPOR:
        """Return the RAPPOR with budget epsilon for *any number of* reports: f = 2/(e^(epsilon/2) + 1), rounded up.

        Parameters
        ----------
        k : int
            Domain size.
        epsilon : float, Fraction, Decimal or str
            Budget in nats, in [1e-6, 32], against a collector who sees any number of reports of one stored answer.
        p, q : float, Fraction, Decimal or str
            Probabilities of the instantaneous stage. The epsilon of one report follows from f, p and q
            (`one_report_epsilon`).

        Examples
        --------
        >>> from deniable.oracles.rappor import RAPPOR
        >>> RAPPOR.from_epsilon(k=16, epsilon=2.0)
        RAPPOR(k=16, f=0.5378828427399903, p=0.5, q=0.75)
        """
        lower, _ = exp_bounds(spent(checked_epsilon(epsilon)) / 2)
        target = 2 / (lower + 1)
        f = float(target)
        # A float field means its shortest decimal, and this decimal must not be below the target.
        while exact(f) < target:
            f = math.nextafter(f, 1.0)
        return cls(k, f, exact(p, "p"), exact(q, "q"))

    # ---------------------------------------------------------------- contributor

    def _randomize_few(self, codes: Codes, rng: Randomness) -> Bits:
        # This draws a permanent response and reports it once. Contributors who report again keep the response and use
        # `report`.
        return self._report(self._permanent(codes, rng), rng)

    def permanent(self, inputs: ArrayLike, rng: Randomness) -> Bits:
        """Contributor: draw the permanent response, uint8[n, ceil(k/8)]; store it, and never draw it again.

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
        return self._permanent(checked_codes(inputs, self.k), rng)

    def _permanent(self, codes: Codes, rng: Randomness) -> Bits:
        return noisy_one_hot(codes, self.k, self.permanent_thresholds, rng)

    def report(self, permanent: ArrayLike, rng: Randomness) -> Bits:
        """Contributor: return a report of a stored permanent response, with fresh noise, uint8[n, ceil(k/8)].

        Parameters
        ----------
        permanent : uint8[n, ceil(k/8)]
            Permanent responses from `permanent`.
        rng : Randomness
            Source of the noise.

        Raises
        ------
        InvalidInputError
            If the dtype or the shape is wrong, or a padding bit is set. The message names its row.
        """
        bits = checked_bits(permanent, self.k, InvalidInputError)
        check_padding(bits, self.k, InvalidInputError)
        return self._report(bits, rng)

    def _report(self, permanent: Bits, rng: Randomness) -> Bits:
        return noisy_bits(permanent, self.k, self.report_thresholds, rng)

    # ---------------------------------------------------------------- guarantee and exact distribution

    @property
    def one_report_epsilon(self) -> float:
        """Epsilon of one report, from the exact f, p and q: ln[q* (1 - p*)/(p* (1 - q*))], rounded up.

        Here q* is the probability that bit v of a report is 1 if the contributor holds v, and p* the probability that
        it is 1 if the contributor does not hold v.
        """
        return log_up(likelihood_ratio(*_composed(exact(self.f) / 2, exact(self.p), exact(self.q))))

    @cached_property
    def permanent_thresholds(self) -> tuple[int, int]:
        """Thresholds (P, Q): a permanent bit is 1 with probability P/2^64 if the true bit is 1, otherwise Q/2^64."""
        flipped = threshold_up(exact(self.f) / 2)
        return SCALE - flipped, flipped

    @cached_property
    def report_thresholds(self) -> tuple[int, int]:
        """Thresholds (P, Q) = (q 2^64 rounded down, p 2^64 rounded up) for the bits of a report."""
        return threshold_down(exact(self.q)), threshold_up(exact(self.p))

    @cached_property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (q*, p*) of one report: probability of bit v if the contributor holds v, and if not."""
        _, flipped = probabilities(self.permanent_thresholds)
        one, zero = probabilities(self.report_thresholds)
        return _composed(flipped, zero, one)

    def privacy(self) -> Guarantee:
        """Return the guarantee. Its epsilon is for any number of reports, and a single report has a smaller epsilon."""
        every, one = self.epsilon, self.one_report_epsilon
        return Guarantee(
            epsilon=every,
            per_attribute=(every,),
            implemented_epsilon=self.implemented_permanent_epsilon(),
            trust_models=(
                TrustModel("collector", "one report", one),
                TrustModel(
                    "collector",
                    "unlimited reports of one memoised answer",
                    every,
                    status="upper bound",
                    note="approached as reports accumulate",
                ),
                TrustModel("anybody", "the stored permanent response", every),
                repeated("r reports, each with a new permanent response", one),
            ),
            remarks=(
                "the client must memoise the permanent response: the unlimited-report guarantee holds for one stored "
                "response per contributor",
            ),
        )

    def implemented_permanent_ratio(self) -> Fraction:
        """Exact largest likelihood ratio of the permanent response, from the implemented threshold."""
        return likelihood_ratio(*probabilities(self.permanent_thresholds))

    def implemented_permanent_epsilon(self) -> float:
        """Natural logarithm of `implemented_permanent_ratio`, rounded up: the epsilon of any number of reports."""
        return log_up(self.implemented_permanent_ratio())

    def permanent_channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(permanent response | code), shape (k, 2^k); as Fractions if `exact`."""
        matrix = self._bit_channel(*probabilities(self.permanent_thresholds))
        return matrix if exact else matrix.astype(np.float64)


def _composed(flipped: Fraction, p: Fraction, q: Fraction) -> tuple[Fraction, Fraction]:
    """Return (q*, p*) of both stages together, computed from the flip probability and the instantaneous p and q."""
    return (1 - flipped) * q + flipped * p, flipped * q + (1 - flipped) * p

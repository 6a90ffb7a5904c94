"""L-GRR, L-OUE and LOLOHA with the published parameters of the second stage.

L-GRR, L-OUE and LOLOHA are from two papers: Arcolezi, Couchot, Al Bouna, Xiao, *Improving the utility of locally
differentially private protocols for longitudinal and multidimensional frequency estimates* (2022), and Arcolezi,
Pinzon, Palamidessi, Gambs, *Frequency estimation of evolving data under local differential privacy* (2023).

Each of these mechanisms randomises in two stages. The first stage draws a *permanent response*, once. For every report,
the second stage randomises the permanent response again. The memoised mechanisms of this library are `MemoisedGRR`,
`MemoisedOUE` and `MemoisedHash`. They have the same two budgets and the same first stage, and use random numbers in the
same way. Only their second stages are different:

* In L-GRR and LOLOHA, one report spends less than `epsilon_once` if there are more than two codes or cells. The method
  `privacy` states how much one report spends. One report of `MemoisedGRR` or `MemoisedHash` spends all of
  `epsilon_once`.
* In L-OUE, one report spends all of `epsilon_once`. But the bit of the true answer is 1 less often than in
  `MemoisedOUE`.
* The papers also have L-OSUE, in which one report spends all of `epsilon_once`. `MemoisedOUE` is L-OSUE.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Any, final

from deniable.core.card import Card
from deniable.core.thresholds import SCALE, exact, exp_bounds, spent, threshold_up
from deniable.errors import out_of_range
from deniable.oracles.memoised import Memoised, MemoisedBits, MemoisedCells, MemoisedCode

INSTEAD = (
    "`deniable plan` compares mechanisms for a question that is asked once; "
    "this mechanism is for a question that is asked repeatedly"
)


def _check_below(mechanism: Memoised[Any]) -> None:
    """Raise InvalidParameterError if the budgets are equal, because these papers then have no second stage."""
    once, forever = mechanism.epsilon_once, mechanism.epsilon_forever
    if exact(once) >= exact(forever):
        raise out_of_range("epsilon_once", f"< epsilon_forever={float(forever):g}", float(once))


@final
@dataclass(frozen=True)
class LGRR(MemoisedCode):
    """The published form of L-GRR randomises a code once, stores the result, and randomises it again for each report.

    Both stages are randomised response over the k codes. The second stage has the budget ln((A B - 1)/(A - B)), where A
    = exp(epsilon_forever) and B = exp(epsilon_once). The parameter `epsilon_once` is the budget of one report. For k >
    2, one report of L-GRR spends less than this budget. For example, with k = 8, epsilon_forever = 2 and epsilon_once =
    1, one report spends 0.755. The mechanism `MemoisedGRR` has the same two budgets, and its reports spend all of
    `epsilon_once`. In the example, the variance of `MemoisedGRR` for rare answers is therefore less than half of the
    variance of L-GRR.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^20.
    epsilon_forever : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. It covers all reports of one unchanged answer together, however many
        there are.
    epsilon_once : float, Fraction, Decimal or str
        Declared budget in nats of one report, less than `epsilon_forever`.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable.research.baselines import LGRR
    >>> round(LGRR(k=8, epsilon_forever=2.0, epsilon_once=1.0).one_report_epsilon, 3)
    0.755
    """

    attains_once = False
    name = "L-GRR"
    card = Card(
        group="baselines",
        when="only for comparison; with the same two privacy budgets and more than two possible answers, MemoisedGRR "
        "has a smaller error",
        planned=False,
        instead=INSTEAD,
        wire="one code",
        page="programmes.md",
        note="with more than two possible answers, one report spends less than its declared epsilon",
    )

    @cached_property
    def lie(self) -> int:
        """Threshold Q2 of the second stage.

        The second stage reports each of the k-1 other codes with probability Q2/2^64.
        """
        _check_below(self)
        (_, forever), (once, _) = exp_bounds(spent(self.epsilon_forever)), exp_bounds(spent(self.epsilon_once))
        return threshold_up(1 / ((forever * once - 1) / (forever - once) + self.k - 1))


@final
@dataclass(frozen=True)
class LOUE(MemoisedBits):
    """The published form of L-OUE randomises k bits once, stores them, and randomises them again for each report.

    The stored bits are called the *permanent response*. A bit that is 1 in the permanent response is 1 in a report with
    probability 1/2. But the bit of the true answer may be 0 in the permanent response. So the bit of the true answer is
    1 in a report with a probability below 1/2. The mechanism `MemoisedOUE` has the same two budgets. In its reports,
    the bit of the true answer is 1 with probability 1/2, so it has less variance than L-OUE. One report of either
    mechanism spends all of `epsilon_once`, which is the budget of one report.

    Parameters
    ----------
    k : int
        Number of possible answers k, at least 2. A contributor's device stores one response of k bits for each of the k
        answers. Devices therefore refuse a k above 1,024.
    epsilon_forever : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. It covers all reports of one unchanged answer together, however many
        there are.
    epsilon_once : float, Fraction, Decimal or str
        Budget in nats of one report, less than ln((2 e^epsilon_forever + 1)/3). The probabilities of the paper's second
        stage are valid only below this limit.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable.research.baselines import LOUE
    >>> mechanism = LOUE(k=12, epsilon_forever=2.0, epsilon_once=1.0)
    >>> [round(float(chance), 4) for chance in mechanism.second_stage]
    [0.5, 0.0809]
    """

    name = "L-OUE"
    card = Card(
        group="baselines",
        when="only for comparison; with the same two privacy budgets, MemoisedOUE has a smaller error",
        planned=False,
        instead=INSTEAD,
        wire="k bits",
        page="programmes.md",
    )

    @cached_property
    def second_thresholds(self) -> tuple[int, int]:
        """Thresholds (P2, Q2) of the second stage.

        P2/2^64 is 1/2. Q2 solves p (1 - q) = e^epsilon_once q (1 - p), rounded up.
        """
        _check_below(self)
        _, q1 = self.first_stage
        ratio, _ = exp_bounds(spent(self.epsilon_once))
        # With x = Q2/2^64, p = 1/4 + x/2 and q = q1/2 + (1 - q1) x.
        square = (1 - q1) / 2 * (ratio - 1)
        linear = (1 - q1 / 2) / 2 - (1 - q1) / 4 - ratio * ((1 - q1) * 3 / 4 - q1 / 4)
        constant = (1 - q1 / 2) / 4 - ratio * q1 * 3 / 8
        if constant <= 0:
            forever = float(self.epsilon_forever)
            most = math.log((2 * math.exp(forever) + 1) / 3)
            raise out_of_range("epsilon_once", f"below {most:.6g} for {self.name}", float(self.epsilon_once))
        root = _root_below(linear**2 - 4 * square * constant)
        return SCALE // 2, threshold_up(2 * constant / (root - linear))


@final
@dataclass(frozen=True)
class LOLOHA(MemoisedCells):
    """The published form of LOLOHA hashes the true code to one of g cells and randomises this cell twice.

    Each contributor draws one hash function, which maps every possible answer to one of g cells. The device randomises
    the cell of an answer once and stores the result, which is called the *permanent response*. For each report, the
    device randomises the permanent response again. Both stages are randomised response over the g cells, as in `L-GRR`.
    The parameter `epsilon_once` is the budget of one report. For g > 2, one report of LOLOHA spends less than this
    budget. The mechanism `MemoisedHash` also hashes codes to cells, and its reports spend the whole budget.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^32.
    epsilon_forever : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. It covers all reports of one unchanged answer together, however many
        there are.
    epsilon_once : float, Fraction, Decimal or str
        Declared budget in nats of one report, less than `epsilon_forever`.
    g : int, optional
        Number of cells g, from 2 to 2^20. With g = 2 the mechanism is BiLOLOHA. The default is the g that Arcolezi et
        al. (2023) call optimal. With the default, the mechanism is OLOLOHA. The object stores the number in `g`.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable.research.baselines import LOLOHA
    >>> mechanism = LOLOHA(k=1000, epsilon_forever=4.0, epsilon_once=2.0)
    >>> mechanism.g, round(mechanism.one_report_epsilon, 2) < 2
    (7, True)
    """

    attains_once = False
    name = "LOLOHA"
    card = Card(
        group="baselines",
        when="only for comparison; with the same two privacy budgets, MemoisedHash has a smaller error for rare "
        "answers",
        planned=False,
        instead=INSTEAD,
        wire="a hash function and a cell",
        page="programmes.md",
        note="with more than two cells, one report spends less than its declared epsilon",
    )

    @cached_property
    def response(self) -> LGRR:
        assert self.g is not None
        return LGRR(self.g, self.epsilon_forever, self.epsilon_once)

    def _best_cells(self) -> int:
        _check_below(self)
        with localcontext(Context(prec=120, rounding=ROUND_HALF_EVEN)):
            a, b = (
                (Decimal(budget.numerator) / Decimal(budget.denominator)).exp()
                for budget in (exact(self.epsilon_forever), exact(self.epsilon_once))
            )
            root = (a**4 - 14 * a**2 + 12 * a * b * (1 - a * b) + 12 * a**3 * b + 1).sqrt()
            return max(2, int((1 + (root - a**2 + 1) / (6 * (a - b))).to_integral_value()))


def _root_below(square: Fraction) -> Fraction:
    """Return the square root of a fraction, rounded down to a multiple of 2^-256."""
    return Fraction(math.isqrt((square.numerator << 512) // square.denominator), 1 << 256)

"""Respondents who do not comply: what an anchor question, two groups or several items say about them.

Atsusaka and Stevenson (2023) for the anchor; Clark and Desharnais (1998) for cheaters; Moshagen, Musch and Erdfelder
(2012) for the stochastic lie detector; Böckenholt and van der Heijden (2007) for people who always say no. None of them
changes the guarantee of a report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import checked_integer, checked_probability
from deniable.core.result import Result
from deniable.designs.design import Design
from deniable.designs.kinds import HALF, Number, checked_number
from deniable.designs.questionnaires import Figure, Questionnaire, TwoGroups, different, wald
from deniable.errors import InvalidInputError, InvalidParameterError, NoIntervalError, out_of_range

Floats = NDArray[np.float64]


# ---------------------------------------------------------------- an anchor question


@final
@dataclass(frozen=True, eq=False)
class AnchorEstimate(Result):
    """Crosswise estimates, naive and corrected for people who answered by chance.

    Attributes
    ----------
    naive, corrected : Figure
        Prevalence as if everybody followed the instructions, and after the correction.
    attentive : Figure
        Share of people who followed them.
    """

    format = "deniable anchored crosswise estimate"

    naive: Figure
    attentive: Figure
    corrected: Figure


@final
@dataclass(frozen=True)
class CrosswiseAnchor:
    """A crosswise question beside another one whose sensitive statement is true for nobody.

    Parameters
    ----------
    p, p_anchor : Fraction
        Prevalence of the innocuous statement of each.

    Notes
    -----
    The anchor's trait has prevalence 0, so its report tells whether the innocuous statement of the anchor is true. Use
    a fact that may be known, and never the fact of the sensitive question.
    """

    p: Fraction
    p_anchor: Fraction

    def estimate(
        self,
        same_same: int,
        same_different: int,
        different_same: int,
        different_different: int,
        *,
        confidence: float = 0.95,
    ) -> AnchorEstimate:
        """Analyst: return the prevalence, corrected for the share of people who answered by chance.

        Parameters
        ----------
        same_same, same_different, different_same, different_different : int
            Number of people by their two reports: first to the sensitive question, then to the anchor.
        confidence : float
            Coverage of the intervals.

        Raises
        ------
        InvalidInputError
            If a count is negative, or there are fewer than two people.
        NoIntervalError
            If the anchor does not show that anybody followed the instructions.

        Notes
        -----
        Everybody attends to both questions alike, whatever their trait; all others answer by a fair coin.

        Examples
        --------
        >>> from deniable import designs
        >>> found = designs.crosswise_anchor("3/20", "3/20").estimate(1116, 311, 425, 148)
        >>> [round(one.value, 3) for one in (found.naive, found.attentive, found.corrected)]
        [0.195, 0.773, 0.105]
        """
        confidence = checked_probability("confidence", confidence, open_interval=True)
        names = ("same_same", "same_different", "different_same", "different_different")
        given = (same_same, same_different, different_same, different_different)
        counts = np.array([checked_integer(name, count, 0) for name, count in zip(names, given, strict=True)])
        n = int(counts.sum())
        if n < 2:
            raise InvalidInputError(f"counts must have at least two people, got {n}")
        same, anchored = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0])
        shares = counts / n
        naive, attentive = self._first(float(shares @ same), float(shares @ anchored), n, confidence)
        if not attentive.value >= 2 * attentive.standard_error:
            raise NoIntervalError(
                "the anchor does not show that anybody followed the instructions, so there is no corrected estimate: "
                "show sensitivity(gamma) for a range of shares instead"
            )
        value, influence = self._corrected(same, anchored, shares)
        return AnchorEstimate(naive, attentive, wald(value, float(counts @ influence**2) / (n * (n - 1)), confidence))

    def _first(self, same: float, anchored: float, n: int, confidence: float) -> tuple[Figure, Figure]:
        gap, anchor_gap = 2 * float(self.p) - 1, 0.5 - float(self.p_anchor)
        return (
            wald((same + float(self.p) - 1) / gap, same * (1 - same) / (n - 1) / gap**2, confidence),
            wald((anchored - 0.5) / anchor_gap, anchored * (1 - anchored) / (n - 1) / anchor_gap**2, confidence),
        )

    def _corrected(self, same: Floats, anchored: Floats, shares: Floats) -> tuple[float, Floats]:
        """Return the corrected prevalence and the influence of every kind of person on it."""
        gap, anchor_gap = 2 * float(self.p) - 1, 0.5 - float(self.p_anchor)
        first, second = float(shares @ same), float(shares @ anchored)
        gamma = (second - 0.5) / anchor_gap
        moved = (first - 0.5) / gamma
        influence = ((same - first) - moved * (anchored - second) / anchor_gap) / (gamma * gap)
        return 0.5 + moved / gap, influence

    def scores(
        self, same: Sequence[bool], same_anchor: Sequence[bool], weights: Sequence[float]
    ) -> tuple[float, Floats]:
        """Analyst: return the corrected weighted prevalence, and every person's score for `linearized`.

        Parameters
        ----------
        same, same_anchor : sequence of bool
            Whether each person reported "same" to the sensitive question and to the anchor.
        weights : sequence of float
            Weight of each person, > 0.

        Returns
        -------
        float, float64[n]
            The estimate, and scores whose weighted mean it is.
        """
        one, two, w = (np.asarray(values, dtype=np.float64) for values in (same, same_anchor, weights))
        value, influence = self._corrected(one, two, w / w.sum())
        return value, value + influence

    def sensitivity(self, same: int, n: int, gamma: float, *, confidence: float = 0.95) -> Figure:
        """Analyst: return the prevalence if a given share of people followed the instructions.

        Parameters
        ----------
        same, n : int
            People who reported "same" to the sensitive question, and all people.
        gamma : float
            Share who followed the instructions, in (0, 1].
        confidence : float
            Coverage of the interval.

        Raises
        ------
        InvalidParameterError
            If the share is out of bounds.

        Examples
        --------
        >>> from deniable import designs
        >>> anchor = designs.crosswise_anchor("3/20", "3/20")
        >>> [round(anchor.sensitivity(1427, 2000, gamma).value, 3) for gamma in (1, 0.8, 0.6)]
        [0.195, 0.119, -0.008]
        """
        confidence = checked_probability("confidence", confidence, open_interval=True)
        if not 0 < checked_probability("gamma", gamma) <= 1:
            raise out_of_range("gamma", "in (0, 1]", gamma)
        share = checked_integer("same", same, 0, checked_integer("n", n, 2)) / n
        slope = 1 / (gamma * (2 * float(self.p) - 1))
        return wald(0.5 + (share - 0.5) * slope, share * (1 - share) / (n - 1) * slope**2, confidence)


def crosswise_anchor(p: Number, p_anchor: Number) -> CrosswiseAnchor:
    """Return the crosswise model with an anchor question (Atsusaka and Stevenson 2023).

    Parameters
    ----------
    p, p_anchor : Fraction, int or str
        Prevalence of the innocuous statement of the sensitive question and of the anchor, not 1/2.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, or a float.

    Examples
    --------
    >>> from deniable import designs
    >>> designs.crosswise_anchor("2/12", "3/12").p
    Fraction(1, 6)
    """
    found = []
    for name, value in (("p", p), ("p_anchor", p_anchor)):
        number = checked_number(name, value)
        if not 0 <= number <= 1 or number == HALF:
            raise InvalidParameterError(f"{name} must be in [0, 1] and differ from 1/2, got {name}={number}")
        found.append(number)
    return CrosswiseAnchor(*found)


# ---------------------------------------------------------------- two groups: one likelihood, read twice


@final
@dataclass(frozen=True, eq=False)
class CheatersEstimate(Result):
    """Shares of people in the cheater detection model, and the bounds that no data can narrow.

    Attributes
    ----------
    honest_yes, honest_no, cheaters : Figure
        Carriers who follow the device, non-carriers who do, and people who always say no. Intervals are NaN where the
        estimate lies on the boundary.
    bounds : (float, float)
        Prevalence if no cheater is a carrier, and if all are.
    boundary : bool
        Whether the shares were kept from leaving [0, 1].
    p_value : float
        Likelihood ratio test that nobody cheats.
    """

    format = "deniable cheaters estimate"

    honest_yes: Figure
    honest_no: Figure
    cheaters: Figure
    bounds: tuple[float, float]
    boundary: bool
    p_value: float


@final
@dataclass(frozen=True, eq=False)
class LieDetectorEstimate(Result):
    """Prevalence and truthfulness in the stochastic lie detector.

    Attributes
    ----------
    prevalence, truthful : Figure
        Share of carriers, and the share of carriers who admit it. Intervals are NaN on the boundary.
    assumes : str
        What the data cannot show.
    note : str
        What is not determined, if anything.
    p_value : float
        Likelihood ratio test that all carriers are truthful.
    """

    format = "deniable lie detector estimate"

    prevalence: Figure
    truthful: Figure
    assumes: str
    note: str
    p_value: float


@final
@dataclass(frozen=True)
class Cheaters(Questionnaire):
    """Two random groups with forced yes at two probabilities, where some people always say no.

    Parameters
    ----------
    p1, p2 : Fraction
        Probability of a forced yes in each group.
    """

    p1: Fraction
    p2: Fraction

    @property
    def why_no_epsilon(self) -> str:
        return "A forced yes is one-sided: whoever says no is no carrier, or does not follow the instructions."

    def estimate(self, yes: Sequence[int], n: Sequence[int], *, confidence: float = 0.95) -> CheatersEstimate:
        """Analyst: return the shares of honest people and of cheaters.

        Parameters
        ----------
        yes, n : (int, int)
            People who said yes, and all people, in each group.
        confidence : float
            Coverage of the intervals.

        Raises
        ------
        InvalidInputError, InvalidParameterError
            If counts or the confidence are out of bounds.
        """
        confidence = checked_probability("confidence", confidence, open_interval=True)
        groups, p1, p2 = TwoGroups(yes, n), float(self.p1), float(self.p2)
        (one, two), gap = groups.shares, p2 - p1
        pi, beta = (p2 * one - p1 * two) / gap, (two - one) / gap
        shares, slopes = (pi, beta, 1 - pi - beta), np.array([[p2, -p1], [-1, 1], [1 - p2, p1 - 1]]) / gap
        fitted = _in_simplex(groups, (p1, p2))
        boundary = not min(shares) >= 0
        if boundary:
            figures = [Figure(share, math.nan, math.nan, math.nan) for share in fitted]
        else:
            figures = [groups.figure(s, slope, confidence) for s, slope in zip(shares, slopes.tolist(), strict=True)]
        whole, nobody = _log_likelihood(groups, _yes(fitted, (p1, p2))), _edge(groups, (p1, p2), 2)
        yes_share, no_share, cheating = figures
        return CheatersEstimate(
            honest_yes=yes_share,
            honest_no=no_share,
            cheaters=cheating,
            bounds=(yes_share.value, yes_share.value + cheating.value),
            boundary=boundary,
            p_value=_half_chi2(whole - nobody[0]),
        )

    def lie_detector(self, yes: Sequence[int], n: Sequence[int], *, confidence: float = 0.95) -> LieDetectorEstimate:
        """Analyst: return the same likelihood read as the stochastic lie detector: every cheater is a carrier.

        `p1` and `p2` are probabilities of a forced yes. Moshagen's are probabilities that a non-carrier says no: give
        1 less those. No data can choose between this reading and `estimate`.

        Parameters
        ----------
        yes, n : (int, int)
            People who said yes, and all people, in each group.
        confidence : float
            Coverage of the intervals.

        Raises
        ------
        InvalidInputError, InvalidParameterError
            If counts or the confidence are out of bounds.

        Examples
        --------
        >>> from deniable import designs
        >>> found = designs.cheaters("5/6", "1/6").lie_detector(yes=(373, 398), n=(564, 692))
        >>> [round(one.value, 3) for one in (found.prevalence, found.truthful)]
        [0.871, 0.636]
        """
        cdm = self.estimate(yes, n, confidence=confidence)
        groups, (p1, p2) = TwoGroups(yes, n), (float(self.p1), float(self.p2))
        gap = p2 - p1
        share, honest = 1 - cdm.honest_no.value, cdm.honest_yes.value
        assumes = "assumes that every cheater is a carrier"
        nothing = Figure(math.nan, math.nan, math.nan, math.nan)
        if cdm.boundary:
            prevalence = Figure(share, math.nan, math.nan, math.nan)
            truthful = Figure(honest / share, math.nan, math.nan, math.nan) if share > 0 else nothing
        else:
            prevalence = groups.figure(share, (1 / gap, -1 / gap), confidence)
            # honest/share as a function of the two shares of yes
            slopes = (
                [(a - honest / share * b) / share for a, b in ((p2 / gap, 1 / gap), (-p1 / gap, -1 / gap))]
                if share
                else []
            )
            truthful = groups.figure(honest / share, slopes, confidence) if share else nothing
        note = ""
        if not prevalence.value > 2 * prevalence.standard_error:
            note = (
                f"Prevalence {prevalence.value:.3f} ({prevalence.standard_error:.3f}) is not above zero: "
                "truthfulness is not determined."
            )
        return LieDetectorEstimate(prevalence, truthful, assumes, note, cdm.p_value)


def cheaters(p1: Number, p2: Number) -> Cheaters:
    """Return the cheater detection model (Clark and Desharnais 1998).

    Parameters
    ----------
    p1, p2 : Fraction, int or str
        Probability of a forced yes in each random group; they must differ.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds or a float, or both groups used one probability.

    Examples
    --------
    >>> from deniable import designs
    >>> found = designs.cheaters("1/4", "3/4").estimate(yes=(150, 270), n=(400, 400))
    >>> round(found.cheaters.value, 3), [round(end, 3) for end in found.bounds]
    (0.175, [0.225, 0.4])
    """
    one = checked_number("p1", p1)
    if one == checked_number("p2", p2):
        raise InvalidParameterError(
            f"p1 must differ from p2, got p1={one}: if both groups use one p, cheaters cannot be told from honest noes"
        )
    return Cheaters(*different("p1", p1, "p2", p2))


def _yes(shares: Sequence[float], p: Sequence[float]) -> Floats:
    """Return the chances of yes in each group."""
    return np.array([shares[0] + shares[1] * one for one in p])


def _log_likelihood(groups: TwoGroups, chances: Floats) -> float:
    from scipy.special import xlog1py, xlogy

    return float((xlogy(groups.yes, chances) + xlog1py(groups.n - groups.yes, -chances)).sum())


def _edge(groups: TwoGroups, p: Sequence[float], without: int) -> tuple[float, tuple[float, float, float]]:
    """Return the largest likelihood where one of the three shares is 0, and the shares there: concave in one number."""
    from scipy.optimize import minimize_scalar

    def shares(x: float) -> tuple[float, float, float]:
        found = [x, 1 - x]
        found.insert(without, 0.0)
        return found[0], found[1], found[2]

    def worse(x: float) -> float:
        return -_log_likelihood(groups, np.clip(_yes(shares(x), p), 0.0, 1.0))

    inside = float(minimize_scalar(worse, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-12}).x)
    best = min((0.0, 1.0, inside), key=worse)
    return -worse(best), shares(best)


def _in_simplex(groups: TwoGroups, p: tuple[float, float]) -> tuple[float, float, float]:
    (one, two), gap = groups.shares, p[1] - p[0]
    free = (p[1] * one - p[0] * two) / gap, (two - one) / gap
    shares = (float(free[0]), float(free[1]), float(1 - sum(free)))
    if min(shares) >= 0:
        return shares
    return max((_edge(groups, p, without) for without in range(3)), key=lambda found: found[0])[1]


def _half_chi2(gain: float) -> float:
    """Return the p-value of a likelihood ratio where half of the law is at 0 and half chi-squared of one degree."""
    from scipy import stats

    return float(stats.chi2.sf(2 * gain, 1)) / 2 if gain > 1e-9 else 1.0


# ---------------------------------------------------------------- people who say no to everything


@final
@dataclass(frozen=True, eq=False)
class NoSayersEstimate(Result):
    """Share of people who say no to every item, and the prevalences among all others.

    Attributes
    ----------
    share : Figure
        People who say no whatever the device says.
    prevalences : tuple of Figure
        Of every item, among the others.
    p_value : float or None
        Test of fit; None where the model has as many parameters as the data.
    """

    format = "deniable no-sayers estimate"

    share: Figure
    prevalences: tuple[Figure, ...]
    p_value: float | None


@final
@dataclass(frozen=True, eq=False)
class NoSayersBounds(Result):
    """Bounds of the share of people who say no to everything, whatever the traits have to do with each other.

    Attributes
    ----------
    share : (float, float)
        Least and largest share for which a table of traits exists.
    prevalences : tuple of (float, float)
        Of every item, among the others, over that range.
    """

    format = "deniable no-sayers bounds"

    share: tuple[float, float]
    prevalences: tuple[tuple[float, float], ...]


@final
@dataclass(frozen=True)
class SelfProtectiveNo:
    """Several binary designs for the same people, some of whom say no to all of them.

    Parameters
    ----------
    items : tuple of Design
        One per question, each with devices of its own.
    """

    items: tuple[Design, ...]

    @cached_property
    def _channels(self) -> tuple[Floats, ...]:
        return tuple(item.channel() for item in self.items)

    def _chances(self, prevalences: Sequence[float]) -> Floats:
        """Return the chances of every pattern of reports if traits are independent, float64[2^J]."""
        found = np.ones(1)
        for channel, f in zip(self._channels, prevalences, strict=True):
            found = np.outer(found, (1 - f) * channel[0] + f * channel[1]).ravel()
        return found

    def _checked(self, counts: Sequence[int]) -> NDArray[np.int64]:
        size = 1 << len(self.items)
        if len(counts) != size:
            raise InvalidInputError(f"counts must have {size} patterns, the last item fastest, got {len(counts)}")
        found = np.array([checked_integer(f"counts[{i}]", count, 0) for i, count in enumerate(counts)])
        if not found.sum():
            raise InvalidInputError("counts must have at least one person, got 0")
        return found

    def estimate(self, counts: Sequence[int], *, confidence: float = 0.95) -> NoSayersEstimate:
        """Analyst: return the share of no-sayers by maximum likelihood, if the traits are independent.

        Parameters
        ----------
        counts : sequence of int
            People with every pattern of reports, 2^J, in the order 0...00, 0...01, 0...10; the last item fastest.
        confidence : float
            Coverage of the intervals, which are NaN on the boundary.

        Raises
        ------
        InvalidParameterError
            If there is one item only: nothing then tells no-sayers from honest noes.
        InvalidInputError
            If there is not one count for each pattern.

        Notes
        -----
        Two items leave nothing to test. If traits depend on each other in any way, the share is not determined: read
        `bounds`.
        """
        if len(self.items) < 2:
            raise InvalidParameterError("items must be at least two, got 1: no-sayers cannot be told from honest noes")
        confidence = checked_probability("confidence", confidence, open_interval=True)
        held = self._checked(counts)
        n, parameters = int(held.sum()), len(self.items) + 1
        found = self._fitted(held)
        chances, slopes = self._model(found), self._slopes(found)
        inside = bool((found > 1e-7).all() and (found < 1 - 1e-7).all())
        information = n * (slopes / np.maximum(chances, 1e-300)) @ slopes.T
        known = inside and np.linalg.matrix_rank(information) == parameters
        variances = np.diag(np.linalg.inv(information)) if known else np.full(parameters, np.nan)
        figures = [
            wald(float(value), float(variance), confidence)
            if known
            else Figure(float(value), math.nan, math.nan, math.nan)
            for value, variance in zip(found, variances, strict=True)
        ]
        free = len(held) - 1 - parameters
        return NoSayersEstimate(figures[0], tuple(figures[1:]), _fit(held, chances, free) if free > 0 else None)

    def _model(self, values: Floats) -> Floats:
        found = (1 - values[0]) * self._chances(values[1:].tolist())
        found[0] += values[0]
        return np.asarray(found)

    def _slopes(self, values: Floats) -> Floats:
        """Return the derivatives of every chance, float64[parameters, 2^J]: the model is linear in each parameter."""
        found = []
        for i in range(len(values)):
            ends = [np.where(np.arange(len(values)) == i, end, values) for end in (1.0, 0.0)]
            found.append(self._model(ends[0]) - self._model(ends[1]))
        return np.array(found)

    def _fitted(self, held: NDArray[np.int64]) -> Floats:
        from scipy.optimize import minimize

        def worse(values: Floats) -> tuple[float, Floats]:
            chances = np.maximum(self._model(values), 1e-12)
            return -float(held @ np.log(chances)) / held.sum(), -(self._slopes(values) @ (held / chances)) / held.sum()

        bounds = [(0.0, 1.0)] * (len(self.items) + 1)
        starts = [np.array([theta, *[f] * len(self.items)]) for theta, f in ((0.05, 0.1), (0.3, 0.5))]
        fits = [
            minimize(worse, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-12})
            for start in starts
        ]
        best = min(fits, key=lambda fit: float(fit.fun))
        values: Floats = np.asarray(best.x, dtype=np.float64)
        return values

    def bounds(self, counts: Sequence[int]) -> NoSayersBounds:
        """Analyst: return all shares of no-sayers for which some table of traits makes the observed shares.

        Parameters
        ----------
        counts : sequence of int
            As in `estimate`.

        Raises
        ------
        InvalidInputError
            If there is not one count for each pattern.
        NoIntervalError
            If no share is possible: reports vary by chance, or instructions were not followed in other ways.

        Examples
        --------
        >>> from deniable import designs
        >>> one_die = designs.forced("1/6", "1/6")
        >>> found = designs.self_protective(one_die, one_die).bounds([640, 150, 140, 70])
        >>> [round(end, 3) for end in found.share]
        [0.0, 0.585]
        """
        held = self._checked(counts)
        observed, every_no = held / held.sum(), np.eye(1, len(held))[0]
        for j, channel in enumerate(self._channels):
            unmixed = np.linalg.inv(channel).T
            shape = (1 << j, 2, -1)
            observed, every_no = (
                np.einsum("ab,ibk->iak", unmixed, one.reshape(shape)).ravel() for one in (observed, every_no)
            )
        # The table is (observed - theta every_no)/(1 - theta), and no cell may be negative.
        low, high = 0.0, 1.0
        for seen, moved in zip(observed, every_no, strict=True):
            if moved > 1e-12:
                high = min(high, seen / moved)
            elif moved < -1e-12:
                low = max(low, seen / moved)
            elif seen < -1e-12:
                high = -1.0
        if low > high:
            raise NoIntervalError(
                "no share of no-sayers makes a possible table of traits: reports vary by chance or instructions were "
                "not followed in another way; read estimate instead"
            )
        ends = []
        for j in range(len(self.items)):
            carriers = [one.reshape(1 << j, 2, -1)[:, 1].sum() for one in (observed, every_no)]
            found = [(carriers[0] - t * carriers[1]) / (1 - t) if t < 1 else math.nan for t in (low, high)]
            ends.append((float(min(found)), float(max(found))))
        return NoSayersBounds((float(low), float(high)), tuple(ends))


def self_protective(*items: Design) -> SelfProtectiveNo:
    """Return the model of people who say no to every question (Böckenholt and van der Heijden 2007).

    Parameters
    ----------
    *items : Design
        Designs of two reports and two truths, one per question.

    Raises
    ------
    InvalidParameterError
        If there is no item, more than ten, or one has other than two reports.

    Examples
    --------
    >>> from deniable import designs
    >>> one_die = designs.forced("1/6", "1/6")
    >>> found = designs.self_protective(one_die, one_die, one_die).estimate([520, 90, 95, 45, 100, 50, 45, 55])
    >>> round(found.share.value, 2), found.p_value is not None
    (0.38, True)
    """
    if not 1 <= len(items) <= 10:
        raise InvalidParameterError(f"items must be one to ten designs, got {len(items)}")
    for item in items:
        if item.k != 2 or item.state_size != 2:
            raise InvalidParameterError(f"items must have two reports and two truths, got {item!r}")
    return SelfProtectiveNo(items)


def _fit(held: NDArray[np.int64], chances: Floats, free: int) -> float:
    from scipy import stats
    from scipy.special import xlogy

    ratio = 2 * float(xlogy(held, held / held.sum()).sum() - xlogy(held, chances).sum())
    return float(stats.chi2.sf(max(ratio, 0.0), free))

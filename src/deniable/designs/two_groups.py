"""Models of people who always say no, estimated from two groups with different devices.

The cheater detection model is by Clark and Desharnais (1998), and the stochastic lie detector by Moshagen, Musch and
Erdfelder (2012). Both models have the same likelihood and interpret it differently. Neither model changes the guarantee
of a report.

"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import checked_probability
from deniable.core.report_likelihood import ReportLikelihood
from deniable.core.result import Result
from deniable.designs.compliance import Beginning, Codes, ComplianceDesign
from deniable.designs.constructors import forced
from deniable.designs.design import Design
from deniable.designs.kinds import Number, checked_number
from deniable.designs.questionnaires import Figure, Questionnaire, TwoGroups, different
from deniable.errors import InvalidParameterError

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class CheatersEstimate(Result):
    """Shares of honest people and cheaters, with bounds of the prevalence.

    Attributes
    ----------
    honest_yes, honest_no, cheaters : Figure
        Share of people who are carriers and follow the device, share who are not carriers and follow it, and share who
        always say no. Intervals are NaN if `boundary` is True.
    bounds : (float, float)
        Prevalence if no cheater is a carrier, and prevalence if all cheaters are carriers.
    boundary : bool
        True if an estimated share would lie outside [0, 1], so that the estimate was moved to the boundary.
    p_value : float
        P-value of the likelihood ratio test of the hypothesis that nobody cheats.
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
        Share of carriers among all people, and share of truthful people among carriers. Intervals are NaN if an
        estimated share would lie outside [0, 1].
    assumes : str
        Assumption of the model that the data cannot test.
    note : str
        Warning if the truthfulness is not determined, otherwise "".
    p_value : float
        P-value of the likelihood ratio test of the hypothesis that all carriers are truthful.
    """

    format = "deniable lie detector estimate"

    prevalence: Figure
    truthful: Figure
    assumes: str
    note: str
    p_value: float


@final
@dataclass(frozen=True)
class Cheaters(Questionnaire, ComplianceDesign):
    """The cheater detection model: two random groups with different probabilities of a forced yes.

    Parameters
    ----------
    p1, p2 : Fraction
        Probability of a forced yes in each group.
    """

    p1: Fraction
    p2: Fraction

    reports: ClassVar[tuple[str, str]] = ("no", "yes")
    seconds: ClassVar[tuple[str, str]] = ("1", "2")
    follower: ClassVar[str] = "follows"
    assumes: ClassVar[str] = "the coefficients are about people who follow the instructions"

    @property
    def device(self) -> Design:
        return forced(min(self.p1, self.p2), 0)

    def beginning(self, report: Codes, second: Codes) -> Beginning:
        found = self.estimate(*_counted(report, second))
        followers = 1 - found.cheaters.value
        return Beginning(found.honest_yes.value / max(followers, 1e-12), followers)

    def told(self, report: Codes, second: Codes) -> ReportLikelihood:
        # The columns are: no trait (not followed, followed) and trait (not followed, followed). Only people who follow
        # the instructions can say yes.
        yes = np.array([[0.0, float(one), 0.0, 1.0] for one in (self.p1, self.p2)])[second]
        return ReportLikelihood.of(np.where(report[:, None] == 1, yes, 1 - yes))

    @property
    def why_no_epsilon(self) -> str:
        return "A forced yes is one-sided: a person who says no is not a carrier, or does not follow the instructions."

    def estimate(self, yes: Sequence[int], n: Sequence[int], *, confidence: float = 0.95) -> CheatersEstimate:
        """Analyst: return the shares of honest carriers, honest non-carriers and cheaters.

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
        """Analyst: return estimates that assume that every cheater is a carrier (the stochastic lie detector).

        The likelihood is the same as in `estimate`, so no data can decide between the two models. `p1` and `p2` are
        probabilities of a forced yes. The parameters in the paper of Moshagen, Musch and Erdfelder (2012) are
        probabilities that a non-carrier says no, so subtract those from 1.

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
            # The slopes are the derivatives of honest/share with respect to the two shares of yes.
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


@final
@dataclass(frozen=True)
class LieDetector(ComplianceDesign):
    """The stochastic lie detector: the model of `cheaters`, if everyone who breaks the rules is a carrier.

    Parameters
    ----------
    groups : Cheaters
        The two groups.

    Examples
    --------
    >>> from deniable import designs
    >>> designs.LieDetector(designs.cheaters("1/4", "3/4")).follower
    'truthful'
    """

    groups: Cheaters

    reports: ClassVar[tuple[str, str]] = Cheaters.reports
    seconds: ClassVar[tuple[str, str]] = Cheaters.seconds
    follower: ClassVar[str] = "truthful"
    assumes: ClassVar[str] = "assumes that every cheater is a carrier"

    @property
    def device(self) -> Design:
        return self.groups.device

    def beginning(self, report: Codes, second: Codes) -> Beginning:
        found = self.groups.lie_detector(*_counted(report, second))
        return Beginning(found.prevalence.value, found.truthful.value)

    def told(self, report: Codes, second: Codes) -> ReportLikelihood:
        yes = np.array([[float(p), float(p), 0.0, 1.0] for p in (self.groups.p1, self.groups.p2)])[second]
        return ReportLikelihood.of(np.where(report[:, None] == 1, yes, 1 - yes))


def _counted(report: Codes, second: Codes) -> tuple[list[int], list[int]]:
    """Return the number of people who said yes, and of all people, in each group."""
    return np.bincount(second[report == 1], minlength=2).tolist(), np.bincount(second, minlength=2).tolist()


def cheaters(p1: Number, p2: Number) -> Cheaters:
    """Return the cheater detection model (Clark and Desharnais 1998).

    Parameters
    ----------
    p1, p2 : Fraction, int or str
        Probability of a forced yes in each random group; they must differ.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds or a float, or both groups have the same probability.

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
            f"p1 must differ from p2, got p1={one} and p2={one}: if both groups use the same p, cheaters cannot be "
            "told apart from people who truthfully say no"
        )
    return Cheaters(*different("p1", p1, "p2", p2))


def _yes(shares: Sequence[float], p: Sequence[float]) -> Floats:
    """Return the probability of yes in each group."""
    return np.array([shares[0] + shares[1] * one for one in p])


def _log_likelihood(groups: TwoGroups, chances: Floats) -> float:
    from scipy.special import xlog1py, xlogy

    return float((xlogy(groups.yes, chances) + xlog1py(groups.n - groups.yes, -chances)).sum())


def _edge(groups: TwoGroups, p: Sequence[float], without: int) -> tuple[float, tuple[float, float, float]]:
    """Return the largest log-likelihood if one of the three shares is 0, and the shares at this maximum.

    The search is over one number, in which the log-likelihood is concave.
    """
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
    """Return the p-value of a likelihood ratio test at a boundary.

    Under the null hypothesis, half of the distribution is at 0 and half is chi-squared with one degree of freedom.
    """
    from scipy import stats

    return float(stats.chi2.sf(2 * gain, 1)) / 2 if gain > 1e-9 else 1.0

"""Anchor question of the crosswise model, to estimate how many people followed the instructions.

The method is by Atsusaka and Stevenson (2023). The correction does not change the guarantee of a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import checked_integer, checked_probability
from deniable.core.report_likelihood import ReportLikelihood
from deniable.core.result import Result
from deniable.designs.compliance import Beginning, Codes, ComplianceDesign
from deniable.designs.constructors import crosswise
from deniable.designs.design import Design
from deniable.designs.kinds import HALF, Number, checked_number
from deniable.designs.questionnaires import Figure, wald
from deniable.errors import InvalidInputError, InvalidParameterError, NoIntervalError, out_of_range

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class AnchorEstimate(Result):
    """Crosswise estimates of a prevalence, uncorrected and corrected for people who answered by chance.

    Attributes
    ----------
    naive, corrected : Figure
        Prevalence under the assumption that everybody followed the instructions, and prevalence corrected for the
        people who did not.
    attentive : Figure
        Share of people who followed the instructions.
    """

    format = "deniable anchored crosswise estimate"

    naive: Figure
    attentive: Figure
    corrected: Figure


@final
@dataclass(frozen=True)
class CrosswiseAnchor(ComplianceDesign):
    """A crosswise question with an anchor: a second question whose sensitive statement is true for nobody.

    Parameters
    ----------
    p, p_anchor : Fraction
        Prevalence of the innocuous statements of the question and of the anchor.

    Notes
    -----
    The anchor's trait has prevalence 0, so its report reveals whether the anchor's innocuous statement is true. So
    choose an innocuous statement for the anchor that the collector may know about a person. Do not use the innocuous
    statement of the sensitive question for the anchor as well.
    """

    p: Fraction
    p_anchor: Fraction

    reports: ClassVar[tuple[str, str]] = ("different", "same")
    seconds: ClassVar[tuple[str, str]] = ("different", "same")
    follower: ClassVar[str] = "follows"

    @property
    def device(self) -> Design:
        return crosswise(self.p)

    def beginning(self, report: Codes, second: Codes) -> Beginning:
        found = self.estimate(*np.bincount(3 - 2 * report - second, minlength=4).tolist())
        return Beginning(found.corrected.value, found.attentive.value)

    def told(self, report: Codes, second: Codes) -> ReportLikelihood:
        # The likelihood has the two margins, as in cWise and `estimate`. It assumes nothing about how a person's two
        # random draws are related.
        p, anchor = float(self.p), float(self.p_anchor)
        first = np.array([[0.5, p, 0.5, 1 - p], [0.5, 1 - p, 0.5, p]])
        other = np.array([[0.5, anchor, 0.5, anchor], [0.5, 1 - anchor, 0.5, 1 - anchor]])
        scales = np.log(first.max(axis=1)[report]) + np.log(other.max(axis=1)[second])
        both = [one / one.max(axis=1, keepdims=True) for one in (first, other)]
        relative = np.concatenate([both[0][report], both[1][second]], axis=1)
        return ReportLikelihood(relative, scales, np.ones(len(report), dtype=np.bool_))

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
            Number of people by their two reports. The first word is the report to the sensitive question, the second to
            the anchor.
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
        The model assumes that a person who follows the instructions does so for both questions, whatever the trait. All
        other people answer both questions by a fair coin.

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
            raise InvalidInputError(f"counts must include at least two people, got {n}")
        same, anchored = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0])
        shares = counts / n
        naive, attentive = self._first(float(shares @ same), float(shares @ anchored), n, confidence)
        if not attentive.value >= 2 * attentive.standard_error:
            raise NoIntervalError(
                "the anchor does not show that anybody followed the instructions, so there is no corrected estimate: "
                "call sensitivity(gamma) with several values of gamma instead"
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
        """Analyst: return the corrected weighted prevalence, and every person's score for `weighted_mean`.

        Parameters
        ----------
        same, same_anchor : sequence of bool
            Whether each person reported "same" to the sensitive question and to the anchor.
        weights : sequence of float
            Weight of each person, > 0.

        Returns
        -------
        float, float64[n]
            The estimate, and scores with this estimate as their weighted mean.
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
        If a parameter is out of bounds or a float.

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

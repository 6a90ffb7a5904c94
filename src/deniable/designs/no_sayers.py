"""Model of people who say no to every item, whatever is true (Böckenholt and van der Heijden 2007).

The model does not change the guarantee of a report.

"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import checked_integer, checked_probability
from deniable.core.result import Result
from deniable.designs.design import Design
from deniable.designs.questionnaires import Figure, wald
from deniable.errors import InvalidInputError, InvalidParameterError, NoIntervalError, quoted

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class NoSayersEstimate(Result):
    """Share of people who say no to every item, and the prevalences among all others.

    Attributes
    ----------
    share : Figure
        Share of people who say no whatever the device says.
    prevalences : tuple of Figure
        Prevalence of every item among all other people.
    p_value : float or None
        P-value of the test of fit. None with two items: the model then has as many parameters as there are free counts,
        so the fit cannot be tested.
    """

    format = "deniable no-sayers estimate"

    share: Figure
    prevalences: tuple[Figure, ...]
    p_value: float | None


@final
@dataclass(frozen=True, eq=False)
class NoSayersBounds(Result):
    """Range of shares of people who say no to everything, whatever the dependence between the traits.

    Attributes
    ----------
    share : (float, float)
        Smallest and largest share with which some joint distribution of the traits explains the reports.
    prevalences : tuple of (float, float)
        Smallest and largest prevalence of every item among all other people, for shares in this range.
    """

    format = "deniable no-sayers bounds"

    share: tuple[float, float]
    prevalences: tuple[tuple[float, float], ...]


@final
@dataclass(frozen=True)
class SelfProtectiveNo:
    """Several binary designs for the same people, some of whom say no to every question.

    Parameters
    ----------
    items : tuple of Design
        One design for each question, each with its own device.
    """

    items: tuple[Design, ...]

    @cached_property
    def _channels(self) -> tuple[Floats, ...]:
        return tuple(item.channel() for item in self.items)

    def _chances(self, prevalences: Sequence[float]) -> Floats:
        """Return the probability of every pattern of reports if traits are independent, float64[2^J]."""
        found = np.ones(1)
        for channel, f in zip(self._channels, prevalences, strict=True):
            found = np.outer(found, (1 - f) * channel[0] + f * channel[1]).ravel()
        return found

    def _checked(self, counts: Sequence[int]) -> NDArray[np.int64]:
        size = 1 << len(self.items)
        if len(counts) != size:
            raise InvalidInputError(
                f"counts must have one number for each of the {size} patterns of answers, got {len(counts)}; "
                "sort the patterns so that the answer to the last item changes fastest"
            )
        found = np.array([checked_integer(f"counts[{i}]", count, 0) for i, count in enumerate(counts)])
        if not found.sum():
            raise InvalidInputError("counts must include at least one person, got 0")
        return found

    def estimate(self, counts: Sequence[int], *, confidence: float = 0.95) -> NoSayersEstimate:
        """Analyst: return the maximum-likelihood share of no-sayers if the traits are independent.

        Parameters
        ----------
        counts : sequence of int
            Number of people with each of the 2^J patterns of reports, in the order 0...00, 0...01, 0...10, in which the
            last item changes fastest.
        confidence : float
            Coverage of the intervals. They are NaN on the boundary.

        Raises
        ------
        InvalidParameterError
            If there is only one item, because no-sayers and honest noes then look the same.
        InvalidInputError
            If the counts are not one number for each pattern.

        Notes
        -----
        With two items, the fit cannot be tested. If traits may depend on each other, the reports determine only a range
        of shares; see `bounds`.
        """
        if len(self.items) < 2:
            raise InvalidParameterError(
                "items must list at least two designs, got 1: with one item, people who always say no cannot be told "
                "apart from people who truthfully say no"
            )
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
        """Return the derivatives of the probabilities of all patterns, float64[parameters, 2^J].

        The model is linear in each parameter.
        """
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
        return np.asarray(best.x, dtype=np.float64)

    def bounds(self, counts: Sequence[int]) -> NoSayersBounds:
        """Analyst: return the range of possible shares of no-sayers, whatever the dependence between the traits.

        Parameters
        ----------
        counts : sequence of int
            See `estimate`.

        Raises
        ------
        InvalidInputError
            If the counts are not one number for each pattern.
        NoIntervalError
            If no share explains the reports. The cause may be chance, or people who broke the instructions in other
            ways.

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
                "these counts fit no share of people who always say no, so there are no bounds. The cause may be "
                "chance, or people who broke the instructions in other ways. Use `estimate` instead"
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
        Designs with two reports and two truths, one for each question.

    Raises
    ------
    InvalidParameterError
        If there is no item, there are more than ten, or an item does not have two reports.

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
            raise InvalidParameterError(
                "every item must be a design with two possible reports and two possible true answers, got "
                f"{quoted(item)}"
            )
    return SelfProtectiveNo(items)


def _fit(held: NDArray[np.int64], chances: Floats, free: int) -> float:
    from scipy import stats
    from scipy.special import xlogy

    ratio = 2 * float(xlogy(held, held / held.sum()).sum() - xlogy(held, chances).sum())
    return float(stats.chi2.sf(max(ratio, 0.0), free))

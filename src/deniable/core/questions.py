"""Questions about one attribute's frequencies: totals, means, differences, distribution function, quantiles.

All answers are linear in the frequencies, or quotients of such answers. A class that implements these two kinds answers
all questions.

Questions about *ordered* answers (`at_least`, `mean`, `cdf`, `quantiles`) are about people who gave an ordered answer.
Categories without a score, such as "no answer" and "other", are left out. The answer is then a quotient with Fieller's
interval. Frequencies sum to one. So these questions may add any constant to their weights and subtract it from the
answer. They use the constant with the least variance at uniform frequencies. For instance, a mean of years then does
not depend on the first year of the calendar. `total` and `linear` add up the frequencies as they are shown.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.answer import Answer, Bounds, ComputedIntervals
from deniable.core.bounded_sums import BoundedSum, Ratio
from deniable.core.checks import Target
from deniable.core.fieller import fieller
from deniable.core.ordered import Cdf, Quantile
from deniable.core.support_counts import normal_quantile
from deniable.errors import InvalidParameterError, UnknownCategoryError, quoted

Floats: TypeAlias = NDArray[np.float64]
Weights: TypeAlias = ArrayLike | Mapping[str, float]


class Terms(NamedTuple):
    """Two linear answers and how their errors are correlated.

    Attributes
    ----------
    above, below : float
        The two answers.
    variances : mapping of target to (float, float, float)
        Variance of the first answer, covariance, and variance of the second answer. NaN if they are not determined.
    n : int
        Number of reports.
    source : frozenset of str
        Ids of the collections, report batches and earlier phases behind the answers.
    refusal : str
        Reason why there is no interval, or "".
    """

    above: float
    below: float
    variances: Mapping[Target, tuple[float, float, float]]
    n: int
    source: frozenset[str]
    refusal: str


class Questions(ABC):
    """Questions about the k frequencies of one attribute."""

    @property
    @abstractmethod
    def attribute(self) -> str:
        """The attribute's name."""

    @property
    @abstractmethod
    def scores(self) -> Floats | None:
        """Return each category's score in a mean, float64[k] (NaN for none), or None if no category has a score."""

    @property
    @abstractmethod
    def unranked(self) -> tuple[int, ...]:
        """Codes without a place in the order of the answers, if categories have no scores."""

    @property
    @abstractmethod
    def k(self) -> int:
        """Number of categories."""

    # ---------------------------------------------------------------- methods of subclasses

    @abstractmethod
    def linear(self, weights: Weights, *, question: str = "") -> Answer:
        """Analyst: return the weighted sum of the frequencies, sum_v weights[v] f^(v), with its interval.

        Parameters
        ----------
        weights : float[k], or mapping of label to float
            Weights. In a mapping, categories that are left out have weight 0.
        question : str
            Description of the sum in words.

        Raises
        ------
        InvalidParameterError
            If the weights are not k finite numbers.
        UnknownCategoryError
            If a label is not a category. The message names it.
        """

    @abstractmethod
    def _shifted(self, weights: Floats, question: str) -> Answer:
        """Return sum_v weights[v] f(v) for frequencies that sum to one, using the shift of least variance."""

    @abstractmethod
    def _terms(self, above: Floats, below: Floats) -> Terms:
        """Return sum above f(v) and sum below f(v), shifted as in `_shifted`, with their joint variances."""

    @abstractmethod
    def _differences(self, above: Floats, below: Floats, ratios: Floats) -> tuple[BoundedSum, ...]:
        """Return the sums behind sum (above - t below) f(v) for every t, or () if their distribution is not known."""

    @abstractmethod
    def _labels_of(self) -> tuple[str, ...]:
        """Return the names of all k categories."""

    @abstractmethod
    def _check_whole(self, question: str) -> None:
        """Raise InvalidParameterError unless this object has all categories of the attribute."""

    # ---------------------------------------------------------------- questions

    def total(self, labels: str | Sequence[str]) -> Answer:
        """Analyst: return the frequency of several categories together, which is the sum of their frequencies.

        Raises
        ------
        UnknownCategoryError
            If a label is not a category.
        InvalidParameterError
            If a category is named twice.

        Examples
        --------
        >>> from deniable import GRR
        >>> grr = GRR(k=3, epsilon=3.0)
        >>> stars = grr.estimate(grr.aggregate([0, 2, 2, 1, 2])).named("stars", ["1", "2", "3"])
        >>> round(stars.total(["1", "2", "3"]).value, 12)
        1.0
        """
        wanted = _listed(labels)
        return self.linear(self._marked(wanted), question=f"total of {_named(wanted)}{self._about}")

    def difference(self, labels: str | Sequence[str], others: str | Sequence[str]) -> Answer:
        """Analyst: return the frequency of some categories minus that of other categories of the same attribute.

        Examples
        --------
        >>> from deniable import GRR
        >>> grr = GRR(k=3, epsilon=3.0)
        >>> stars = grr.estimate(grr.aggregate([0, 2, 2, 1, 2])).named("stars", ["1", "2", "3"])
        >>> round(stars.difference("3", "1").value, 3)
        0.463
        """
        these, those = _listed(labels), _listed(others)
        weights = self._marked(these) - self._marked(those)
        return self.linear(weights, question=f"{_named(these)} less {_named(those)}{self._about}")

    def at_least(self, label: str) -> Answer:
        """Analyst: return the share of answers at or above a category, among people who gave an ordered answer.

        Raises
        ------
        UnknownCategoryError
            If a label is not an ordered category.
        """
        order = self._order("at_least")
        labels = [self._labels_of()[code] for code in order]
        if label not in labels:
            raise UnknownCategoryError(f"the ordered categories of the estimate do not include {quoted(label)}")
        higher = order[labels.index(label) :]
        return self._among(self._indicator(higher), order, f"share of {quoted(label)} or more{self._about}")

    def mean(self, scores: ArrayLike | Mapping[str, float] | None = None) -> Answer:
        """Analyst: return the mean score, among people whose answer has a score.

        Parameters
        ----------
        scores : float[k], or mapping of label to float, optional
            Number that every category counts. Categories with NaN, and categories that are not in a mapping, do not
            count. The default is the attribute's `scores`.

        Raises
        ------
        InvalidParameterError
            If there are no scores, or they are not k numbers.
        UnknownCategoryError
            If a label is not a category.

        Examples
        --------
        >>> from deniable import GRR
        >>> grr = GRR(k=3, epsilon=3.0)
        >>> stars = grr.estimate(grr.aggregate([0, 2, 2, 1, 2])).named("stars", ["1", "2", "3"])
        >>> stars.mean([1, 2, 3])
        mean of “stars”: 2.4629 ± 0.22374
        """
        self._check_whole("mean")
        given = self._checked_scores(scores)
        scored = np.flatnonzero(~np.isnan(given))
        return self._among(np.where(np.isnan(given), 0.0, given), scored, f"mean{self._about}")

    def cdf(self) -> Cdf:
        """Analyst: return the share of answers up to each category, in the order of scores, or of codes without scores.

        It takes time O(k^2). `Estimate.cdf` for k = 1,024 takes some tens of milliseconds.
        """
        order, labels = self._order("cdf"), self._labels_of()
        answers = [
            self._among(self._indicator(order[: i + 1]), order, f"share up to {quoted(labels[code])}{self._about}")
            for i, code in enumerate(order[:-1])
        ]
        scores = None if self.scores is None else self.scores[order]
        return Cdf(tuple(labels[code] for code in order), tuple(answers), scores)

    def quantiles(self, ps: Sequence[float] = (0.25, 0.5, 0.75)) -> tuple[Quantile, ...]:
        """Analyst: return the quantiles for the shares ps. Their intervals hold together.

        Raises
        ------
        InvalidParameterError
            If a share is not in (0, 1).
        """
        cdf = self.cdf()
        return tuple(cdf.quantile(p) for p in ps)

    # ---------------------------------------------------------------- helpers

    def _quotient(self, above: Floats, below: Floats, question: str) -> Answer:
        """Return the quotient sum above f(v) / sum below f(v), with Fieller's interval."""
        a, b, variances, n, source, refusal = self._terms(above, below)
        value = a / b if b else math.nan
        errors = {}
        for target, (own, both, other) in variances.items():
            spread = own - 2 * value * both + value * value * other
            errors[target] = math.sqrt(max(spread, 0.0)) / abs(b) if not math.isnan(spread) else math.nan
        shares = above[below > 0] / below[below > 0]
        tested = Ratio(partial(self._differences, above, below), value, variances, (shares.min(), shares.max()))

        def bounds(tail: float, target: Target) -> Bounds:
            if tested.is_few(target):
                return tested.bounds(tail, target)
            return fieller(a, b, variances[target], normal_quantile(tail))

        intervals = ComputedIntervals(bounds, tested.is_few)
        extent = float(shares.min()), float(shares.max())
        return Answer(value, errors, question, n, intervals, refusal=refusal, source=source, extent=extent)

    def _among(self, weights: Floats, codes: NDArray[np.intp], question: str) -> Answer:
        """Return sum_v weights[v] f(v) among contributors with these codes. The weights of other codes are 0."""
        if len(codes) == len(weights):
            return self._shifted(weights, question)
        return self._quotient(weights, self._indicator(codes), f"{question} (of those who gave an answer that counts)")

    @property
    def ranked(self) -> NDArray[np.intp]:
        """Codes of the ordered categories, lowest first, ordered by scores, or by codes if there are no scores."""
        if self.scores is None:
            return np.setdiff1d(np.arange(self.k), self.unranked)
        order = np.argsort(self.scores, kind="stable")
        return order[~np.isnan(self.scores[order])]

    def _order(self, question: str) -> NDArray[np.intp]:
        self._check_whole(question)
        return self.ranked

    def _checked_scores(self, scores: ArrayLike | Mapping[str, float] | None) -> Floats:
        if scores is None:
            if self.scores is None:
                raise InvalidParameterError(
                    f"scores must give a number for every category{self._about}, but there are no scores: pass "
                    "scores, or declare scores in the schema"
                )
            return self.scores
        given = self._by_code(scores, math.nan)
        if given.shape != (self.k,) or np.isinf(given).any() or np.isnan(given).all():
            raise InvalidParameterError(
                f"scores must be {self.k} numbers (finite numbers, or NaN for a category without a score), got "
                f"shape={given.shape}"
            )
        return given

    def _checked_weights(self, weights: Weights) -> Floats:
        given = self._by_code(weights, 0.0)
        if given.shape != (self.k,) or not np.isfinite(given).all():
            raise InvalidParameterError(f"weights must be {self.k} finite numbers, got shape={given.shape}")
        return given

    def _by_code(self, given: ArrayLike | Mapping[str, float], absent: float) -> Floats:
        """Return an array of values given for every code, or given by label, with `absent` for all other codes."""
        if not isinstance(given, Mapping):
            return np.asarray(given, dtype=np.float64)
        values = np.full(self.k, absent)
        for label, value in given.items():
            values[self._code(label)] = value
        return values

    def _marked(self, labels: Sequence[str]) -> Floats:
        if len(set(labels)) < len(labels) or not labels:
            raise InvalidParameterError(
                f"labels must list one or more different categories, got {quoted(list(labels))}"
            )
        return self._indicator(np.array([self._code(label) for label in labels]))

    def _indicator(self, codes: NDArray[np.intp]) -> Floats:
        weights = np.zeros(self.k)
        weights[codes] = 1.0
        return weights

    def _code(self, label: str) -> int:
        code = self._codes_by_label().get(label)
        if code is None:
            raise UnknownCategoryError(
                f"the estimate{self._about} has no category {quoted(label)}; its categories are "
                f"{quoted(list(self._codes_by_label()))}"
            )
        return code

    @abstractmethod
    def _codes_by_label(self) -> Mapping[str, int]:
        """Return the code of every label."""

    @property
    def _about(self) -> str:
        return f" of {quoted(self.attribute)}" if self.attribute else ""


def _listed(labels: str | Sequence[str]) -> list[str]:
    found = [labels] if isinstance(labels, str) or not isinstance(labels, Iterable) else list(labels)
    for label in found:
        if not isinstance(label, str):
            raise InvalidParameterError(
                f"labels must be names of categories, got {quoted(label)}; use the names in Estimate.labels"
            )
    return found


def _named(labels: Sequence[str]) -> str:
    return ", ".join(map(quoted, labels))


def same_scores(one: Questions, other: Questions) -> bool:
    """Return whether two estimates give every category the same score."""
    if one.scores is None or other.scores is None:
        return one.scores is other.scores
    return bool(np.array_equal(one.scores, other.scores, equal_nan=True))

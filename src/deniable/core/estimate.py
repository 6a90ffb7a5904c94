"""Estimate: frequencies for the analyst, with standard errors and intervals.

Every unbiased estimator of this library is affine in a sum of independent terms, one for each contributor. A
contributor adds the variance ``noise_present`` to the frequency of the category that they hold, and ``noise_absent`` to
all others. There are two kinds of uncertainty, and every interval states its target:

* ``target="contributors"``: the frequency among these contributors. The interval allows for the mechanism's noise only.
* ``target="population"``: the frequency in the population from which they were drawn. The interval allows for noise and
  sampling.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core import bounded_sums
from deniable.core.answer import NORMAL, Answer, Bounds, Intervals, rescaled
from deniable.core.bounded_sums import BoundedSum, ReportLaw, Sample, bounded_sum, is_few, side_by_side
from deniable.core.checks import (
    TARGETS,
    Target as Target,
    check_target,
    checked_comparisons,
    checked_integer,
    checked_probability,
    settle,
)
from deniable.core.joint import JointNoise, one_support
from deniable.core.projection import nearest_distribution
from deniable.core.questions import Questions, Terms, Weights
from deniable.core.renderers import render
from deniable.core.support_counts import SupportCounts, normal_quantile
from deniable.errors import InvalidParameterError, MissingExtraError, NoIntervalError, UnknownCategoryError, quoted

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Probability = float | Fraction


SHOWN, MOST_SHOWN = 10, 30
"""Number of categories of an estimate that a text lists, and that a picture lists."""


def _frozen(values: ArrayLike) -> Floats:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


class _Labels:
    """The field `labels`. For domains of millions, the default names "0", "1", ... are made when first read."""

    @overload
    def __get__(self, estimate: None, owner: type) -> tuple[()]: ...
    @overload
    def __get__(self, estimate: Estimate, owner: type) -> tuple[str, ...]: ...
    def __get__(self, estimate: Estimate | None, owner: type) -> tuple[str, ...]:
        if estimate is None:
            return ()  # dataclasses read the field's default here
        if not estimate.__dict__["_labels"]:
            estimate.__dict__["_labels"] = tuple(str(v) for v in range(estimate.k))
        stored: tuple[str, ...] = estimate.__dict__["_labels"]
        return stored

    def __set__(self, estimate: Estimate, labels: Sequence[str]) -> None:
        estimate.__dict__["_labels"] = tuple(labels)


@dataclass(frozen=True, eq=False)
class Selection:
    """Categories of an attribute that an estimate contains, if it does not contain all of them.

    Parameters
    ----------
    frequencies : float64[K]
        Frequencies of all categories of the attribute.
    codes : int64[k]
        Codes of the categories in the estimate.
    """

    frequencies: Floats
    codes: NDArray[np.int64]

    @cached_property
    def held(self) -> Floats:
        """Frequencies of all categories, float64[K], nearest to the estimated ones among those that could be true."""
        return nearest_distribution(self.frequencies)

    def weights(self, weights: Floats) -> Floats:
        """Return weights of the selected categories as weights of all categories."""
        spread = np.zeros(len(self.frequencies))
        np.add.at(spread, self.codes, weights)
        return spread


class Shown(ABC):
    """Base class of an estimate or the estimates of a record: a table for programs and a picture for people."""

    @property
    @abstractmethod
    def _shown(self) -> dict[int | str, Estimate]:
        """Return the estimates to show, keyed by attribute."""

    @abstractmethod
    def to_arrow(self, confidence: float = 0.95, target: Target = "contributors") -> pa.Table:
        """Return a pyarrow table with a row for each category."""

    def _repr_html_(self) -> str:
        shown: str = render("html", self._shown)
        return shown

    def plot(self) -> Figure:
        """Return a matplotlib figure of the most frequent categories, with intervals (extra ``pictures``)."""
        figure: Figure = render("figure", self._shown)
        return figure

    def to_pandas(self, confidence: float = 0.95, target: Target = "contributors") -> pandas.DataFrame:
        """Return the table of `to_arrow` as a pandas DataFrame (extra ``dataframes``)."""
        try:
            import pandas  # noqa: F401
        except ImportError as error:
            raise MissingExtraError('to_pandas needs pandas: pip install "deniable[dataframes]"') from error
        frame: pandas.DataFrame = self.to_arrow(confidence, target).to_pandas()
        return frame

    def to_frame(self, confidence: float = 0.95, target: Target = "contributors") -> pandas.DataFrame:
        """Return the table of `to_pandas`, indexed by category, or by attribute and category (extra ``dataframes``).

        Examples
        --------
        >>> from deniable import GRR
        >>> import numpy as np
        >>> oracle = GRR(k=2, epsilon=1.0)
        >>> estimate = oracle.estimate(oracle.aggregate(np.array([0, 0, 1]))).named("smoker", ["yes", "no"])
        >>> estimate.to_frame().loc["yes", "estimate"].round(3)
        np.float64(0.861)
        """
        frame = self.to_pandas(confidence, target)
        return frame.set_index([name for name in ("attribute", "category") if name in frame])

    def to_polars(self, confidence: float = 0.95, target: Target = "contributors") -> polars.DataFrame:
        """Return the table of `to_arrow` as a polars DataFrame (extra ``dataframes``)."""
        try:
            import polars
        except ImportError as error:
            raise MissingExtraError('to_polars needs polars: pip install "deniable[dataframes]"') from error
        frame = polars.from_arrow(self.to_arrow(confidence, target))
        assert isinstance(frame, polars.DataFrame)
        return frame


class FrequencyIntervals(ABC):
    """The method by which an estimate computes the intervals of its categories.

    Every estimate has such an object. The docstring of a subclass says for which estimates the subclass is.
    """

    @abstractmethod
    def at_tail(self, estimate: Estimate, tail: float, target: Target) -> tuple[Floats, Floats]:
        """Return (lower, upper), each float64[k]. Each bound fails with probability at most about `tail`."""

    @abstractmethod
    def of(self, codes: NDArray[np.int64]) -> FrequencyIntervals:
        """Return the method for the chosen categories."""


@final
class SupportIntervals(FrequencyIntervals):
    """Default intervals, computed from the estimate's noise, counts and samples."""

    def at_tail(self, estimate: Estimate, tail: float, target: Target) -> tuple[Floats, Floats]:
        return estimate._from_reports(tail, target)

    def of(self, codes: NDArray[np.int64]) -> SupportIntervals:  # noqa: ARG002
        return self


FROM_REPORTS = SupportIntervals()


@final
@dataclass(frozen=True, eq=False)
class OwnIntervals(FrequencyIntervals):
    """Intervals from the mechanism's own formula, for estimates that are not sums of independent terms.

    Parameters
    ----------
    bounds : callable
        Function of (tail, target) that returns (lower, upper) for all categories.
    """

    bounds: Callable[[float, Target], tuple[Floats, Floats]]

    def at_tail(self, estimate: Estimate, tail: float, target: Target) -> tuple[Floats, Floats]:  # noqa: ARG002
        return self.bounds(tail, target)

    def of(self, codes: NDArray[np.int64]) -> OwnIntervals:
        def chosen(tail: float, target: Target) -> tuple[Floats, Floats]:
            lower, upper = self.bounds(tail, target)
            return lower[codes], upper[codes]

        return OwnIntervals(chosen)


@final
@dataclass(frozen=True, eq=False)
class CategoryIntervals(Intervals):
    """Intervals of an answer that is the frequency of the only category of an estimate."""

    category: Estimate

    def at_tail(self, answer: Answer, tail: float, target: Target) -> Bounds:  # noqa: ARG002
        return _first(self.category._at_tail(tail, target))

    def ends(self, answer: Answer, tail: float, target: Target) -> Bounds:  # noqa: ARG002
        return _first(self.category._score(tail, target))

    def is_few(self, answer: Answer, target: Target) -> bool:
        return self.category.scarce or NORMAL.is_few(answer, target)


@final
@dataclass(frozen=True, eq=False)
class Estimate(Questions, Shown):
    """Estimated frequencies of the k categories of one attribute.

    Analysts get an estimate from ``mechanism.estimate(aggregate)``. Raw estimates are unbiased and never clipped.
    Because of the noise, a raw frequency may be negative or exceed one.

    Parameters
    ----------
    frequencies : float64[k]
        Estimated frequencies.
    n : int
        Number of reports behind the estimate.
    noise_absent, noise_present : float64[k] or float
        Noise of one report, in squared frequency. For each category, one report gives an unbiased estimate of a number
        that is 1 if the contributor holds the category, and 0 otherwise. `noise_present` is the variance of this
        estimate for contributors who hold the category, and `noise_absent` is its variance for all others.
    contributors : int, optional
        Number of contributors from whom the reports come. It differs from n if contributors report a random attribute
        (SMP).
    labels : sequence of str, optional
        Category names; "0", "1", ... by default.
    attribute : str, optional
        The attribute's name, for tables and plots.
    processing : tuple of str
        Steps of post-processing behind this estimate, in their order. Empty for a raw estimate.
    raw : Estimate, optional
        Unbiased raw estimate behind a post-processed one, if there is one.
    intervals : FrequencyIntervals
        Method that computes intervals. By default it uses the noise, `support` and `samples`.
    scarce : bool
        True if the estimate has `OwnIntervals` and too few reports matter for a normal approximation. Sums that contain
        the estimate are then not treated as normal.
    support : SupportCounts, optional
        Counts behind the frequencies, if their distribution is known to be a sum of two binomials.
    joint : callable, optional
        Correlation of the noise of the frequencies (`deniable.core.joint`), if it is known.
    samples : tuple of Sample
        Reports behind the frequencies, with the distribution of the amount that one report adds to a weighted sum, if
        this distribution is known.
    scores : float64[k], optional
        Score of each category, from which means are computed; NaN for categories that means leave out.
    unranked : tuple of int
        Codes that have no place in the order of the answers, for instance "no answer".
    source : frozenset of str
        Ids of the collections, report batches and earlier phases behind the estimate.
    part : Selection, optional
        Frequencies of all categories, and the codes of the categories in this estimate. None if the estimate has all
        categories.
    title : str, optional
        Text that people read instead of the attribute's name.
    looked_at : int
        Number of candidates that a search compared, if a search in the same reports found the categories. Otherwise 0.

    Raises
    ------
    InvalidParameterError
        If the number of labels is not the number of categories.

    Examples
    --------
    >>> from deniable import GRR
    >>> import numpy as np
    >>> grr = GRR(k=2, epsilon=1.0)
    >>> estimate = grr.estimate(grr.aggregate(np.repeat([0, 1], [300, 100])))
    >>> estimate.frequencies.round(3)
    array([ 1.041, -0.041])
    >>> estimate.standard_errors.round(3)
    array([0.048, 0.048])
    >>> [bound.round(2) for bound in estimate.interval(0.95)]
    [array([ 0.95, -0.14]), array([1.14, 0.05])]
    """

    frequencies: Floats
    n: int
    noise_absent: Floats
    noise_present: Floats
    contributors: int = -1
    labels: _Labels = _Labels()
    attribute: str = ""
    processing: tuple[str, ...] = ()
    raw: Estimate | None = None
    intervals: FrequencyIntervals = FROM_REPORTS
    scarce: bool = False
    support: SupportCounts | None = None
    joint: JointNoise | None = None
    samples: tuple[Sample, ...] = ()
    scores: Floats | None = None
    unranked: tuple[int, ...] = ()
    source: frozenset[str] = frozenset()
    part: Selection | None = None
    title: str = ""
    looked_at: int = 0

    def __post_init__(self) -> None:
        frequencies = _frozen(self.frequencies)
        settle(self, frequencies=frequencies)
        if self.scores is not None:
            settle(self, scores=_checked_scores(self.scores, len(frequencies)))
        for name in ("noise_absent", "noise_present"):
            object.__setattr__(self, name, _frozen(np.broadcast_to(getattr(self, name), frequencies.shape)))
        if self.contributors < 0:
            settle(self, contributors=self.n)
        given = len(self.__dict__["_labels"])
        if given not in (0, len(frequencies)):
            raise InvalidParameterError(f"labels must name all {len(frequencies)} categories, got {given} labels")

    def __repr__(self) -> str:
        about = f" of {self.attribute!r}" if self.attribute else ""
        steps = f", after {', '.join(self.processing)}" if self.processing else ""
        codes = np.arange(self.k) if self.k <= SHOWN else np.sort(self._largest(SHOWN))
        lines = [f"Estimate{about}: k = {self.k:,}, n = {self.n:,}{steps}"]
        for code, error in zip(codes, self[codes].standard_errors, strict=True):
            uncertain = f" ± {error:.5g}" if self.is_raw else ""
            lines.append(f"  {self.labels[code]!r}: {self.frequencies[code]:.5g}{uncertain}")
        if self.k > SHOWN:
            lines.append(f"  and {self.k - SHOWN:,} categories with smaller estimates")
        return "\n".join(lines)

    def __getitem__(self, labels: str | Sequence[str] | NDArray[np.int64]) -> Estimate:
        """Return the estimate of one or several categories, given by labels, or by an array of codes.

        Raises
        ------
        UnknownCategoryError
            If a label is not a category. The message names it.
        """
        if isinstance(labels, np.ndarray):
            return self._of(labels)
        codes = self._codes
        wanted = [labels] if isinstance(labels, str) else list(labels)
        for label in wanted:
            if label not in codes:
                raise UnknownCategoryError(
                    f"the estimate has no category {quoted(label)}; its categories are {quoted(self.labels)}"
                )
        return self._of(np.array([codes[label] for label in wanted], dtype=np.int64))

    def top(self, n: int = 10) -> Estimate:
        """Return the estimate of the n most frequent categories, the largest first.

        The estimates themselves decide which categories are shown. Intervals that allow for this selection need
        ``simultaneous`` = the number of categories before the selection.

        Examples
        --------
        >>> from deniable import GRR
        >>> grr = GRR(k=3, epsilon=3.0)
        >>> colours = grr.estimate(grr.aggregate([0, 2, 2, 1, 2])).named("colour", ["red", "green", "blue"])
        >>> colours.top(1)
        Estimate of 'colour': k = 1, n = 5
          'blue': 0.64192 ± 0.13529
        """
        return self._of(self._largest(min(checked_integer("n", n, 1), self.k)))

    @property
    def _shown(self) -> dict[int | str, Estimate]:
        return {self.attribute or "frequencies": self.top(MOST_SHOWN)}

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {label: code for code, label in enumerate(self.labels)}

    def _largest(self, n: int) -> NDArray[np.int64]:
        return np.argsort(-self.frequencies, kind="stable")[:n]

    def _of(self, codes: NDArray[np.int64]) -> Estimate:
        support, raw = self.support, self.raw
        whole = self.part or Selection(self.frequencies, np.arange(self.k))
        part = replace(whole, codes=whole.codes[codes])
        return replace(
            self,
            frequencies=self.frequencies[codes],
            noise_absent=self.noise_absent[codes],
            noise_present=self.noise_present[codes],
            labels=tuple(self.labels[code] for code in codes),
            raw=None if raw is None else raw._of(codes),
            intervals=self.intervals.of(codes),
            support=None if support is None else support.of(codes),
            scores=None if self.scores is None else self.scores[codes],
            part=part,
        )

    @property
    def k(self) -> int:
        """Domain size."""
        return len(self.frequencies)

    @property
    def is_raw(self) -> bool:
        """Return whether the frequencies are the mechanism's own unbiased estimate."""
        return not self.processing

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of the frequencies among these contributors (noise only), float64[k].

        After post-processing they are NaN; read ``estimate.raw.standard_errors`` instead. Without reports they are
        infinite.
        """
        return self.standard_errors_for("contributors")

    def standard_errors_for(self, target: Target) -> Floats:
        """Return standard errors, float64[k], for "contributors" (noise only) or "population" (noise and sampling)."""
        check_target(target)
        if not self.is_raw:
            return np.full(self.k, np.nan)
        if self.n == 0:
            return np.full(self.k, np.inf)
        f = np.clip(self.frequencies, 0.0, 1.0)
        noise = self.noise_absent + (self.noise_present - self.noise_absent) * f
        return np.sqrt(noise / self.n + f * (1 - f) * self._sampling(target))

    def interval(
        self,
        confidence: float = 0.95,
        *,
        target: Target = "contributors",
        simultaneous: bool | int = False,
        malicious: float = 0.0,
        anytime: bool = False,
        planned: int | None = None,
    ) -> tuple[Floats, Floats]:
        """Return (lower, upper) confidence bounds, each float64[k].

        The method depends on what is known. Suppose that the distribution of the counts is known (`support`): a report
        supports a category with probability p if the contributor holds it, and with probability q if not. If min(n q, n
        (1 - p)) < 25, the interval inverts this distribution exactly (`deniable.core.support_counts`). The exact
        interval lies in [0, 1], and its coverage is at least `confidence` for every n and every frequency f. A raw
        estimate outside [0, 1] is also outside the interval. A raw estimate inside [0, 1] can be outside the interval
        too, if no whole number of contributors is exactly this share.

        If instead the distribution of single reports is known (`samples`: square waves, tables of pairs, combined
        phases) and too few reports matter for a normal approximation, the interval is Chernoff's bound
        (`deniable.core.bounded_sums`). It lies in [0, 1], and its coverage is at least `confidence`.

        In all other cases, the interval contains every frequency f that a z-test with the variance *at f* does not
        reject (Wilson's construction, mapped through the affine estimator). It is not clipped to [0, 1]. Mechanisms
        with a dealer compute their own intervals (`OwnIntervals`).

        Parameters
        ----------
        confidence : float
            Coverage in (0, 1).
        target : {"contributors", "population"}
            "contributors": the interval allows for the noise only. "population": it allows for the noise and for
            sampling from a large population.
        simultaneous : bool or int
            True for k intervals that all hold together with probability `confidence`, by Bonferroni's bound. An integer
            >= 1 is the number of intervals that must hold together, for instance over several attributes.
        malicious : float
            Fraction of malicious contributors, in [0, 1). They may report anything, and may have seen all other
            reports. The interval is then for the frequency among honest contributors, or in the honest part of the
            population.
        anytime : bool
            True for anytime-valid intervals. You may look at a growing collection as often as you like, and the
            intervals of all looks hold together, even if you stop because a difference shows. Only for
            ``target="population"``, and only if the order in which contributors arrive has nothing to do with their
            answers.
        planned : int, optional
            Number of contributors that was planned before the first look, for ``anytime=True``. Give the same number at
            every look. The intervals hold at every number of contributors, and are narrowest near the planned number.

        Returns
        -------
        (float64[k], float64[k])
            Lower and upper bounds. NaN if there are no reports, and infinite if all who reported may be malicious.

        Raises
        ------
        InvalidParameterError
            If `confidence`, `target`, `simultaneous` or `malicious` is out of bounds, or `planned` is missing for
            ``anytime=True``.
        NoIntervalError
            If the estimate was post-processed, or no interval is known that allows for malicious contributors or is
            valid at any time.

        Notes
        -----
        The interval from z-tests assumes that the sum of the reports is normal. If min(n q, n (1 - p)) is at least 25,
        single intervals of 95% for these contributors have a coverage of at least .935. The command `make intervals`
        checks this coverage. The coverage jumps a little as n and f change.

        With SMP, only a random part of the contributors report attribute j: n_j of n. So the number of holders among
        these n_j contributors is random, too. If min(n_j q, n_j (1 - p)) is small or few contributors hold the value,
        the interval for all contributors is the exact interval for the population, given n_j. It is valid because the
        count is then a sum of independent trials (its generating function has only real roots). Among all such sums
        with the same mean, a binomial has the largest tails (Hoeffding 1956).

        With `malicious`, let m be the number of malicious contributors. Depending on what they reported, different
        numbers of the n - m honest reports support a category. The lower end of the interval is computed from the
        smallest number that is possible, and the upper end from the largest (`influence`, in counts). So the interval
        holds for any behaviour of malicious contributors.

        With ``anytime=True``, the interval is Robbins' confidence sequence for the count's probability
        (`deniable.core.confidence_sequence`).
        """
        check_target(target)
        confidence = checked_probability("confidence", confidence, open_interval=True)
        comparisons = checked_comparisons(simultaneous, self.k)
        if not self.is_raw:
            raise NoIntervalError(self._refusal)
        if not 0 <= malicious < 1:
            raise InvalidParameterError(f"malicious must be a fraction in [0, 1), got malicious={quoted(malicious)}")
        if planned is not None and not anytime:
            raise InvalidParameterError(
                "planned works only with anytime=True: leave out planned, or add anytime=True",
                parameters=("anytime=True",),
            )
        if self.n == 0:
            nothing = np.full(self.k, np.nan)
            return nothing, nothing.copy()
        alpha = (1 - confidence) / comparisons
        if anytime:
            return self._at_any_time(alpha, target, malicious, planned)
        return self._despite(malicious, alpha / 2, target) if malicious else self._at_tail(alpha / 2, target)

    def _at_tail(self, tail: float, target: Target) -> tuple[Floats, Floats]:
        return self.intervals.at_tail(self, tail, target)

    def _from_reports(self, tail: float, target: Target) -> tuple[Floats, Floats]:
        lower, upper = self._score(tail, target)
        if self.support is not None:
            few = np.ones(self.k, dtype=np.bool_)
            if target == "contributors" and self.contributors > self.n:
                # The number of holders among the reporters varies less than in a sample of a population. So the
                # population's bounds are valid.
                step = 1 / (self.n * np.abs(self.support.p - self.support.q))
                few, target = is_few(self.standard_errors_for(target), step), "population"
            low, high = self.support.bounds(tail, target)
            known = few & ~np.isnan(low)
        elif self.samples:
            each = [self._sums(np.eye(1, self.k, v)[0], f) for v, f in enumerate(self.frequencies.tolist())]
            if not all(each):
                return lower, upper
            sums = side_by_side([one for (one,) in each])
            known = is_few(self.standard_errors_for(target), sums.grain(target))
            low, high = np.full((2, self.k), np.nan)
            if known.any():
                low[known], high[known] = bounded_sums.bounds([sums.of(np.flatnonzero(known))], tail, target)
        else:
            return lower, upper
        return np.where(known, low, lower), np.where(known, high, upper)

    def _summed(self, weights: Floats, value: float, classes: NDArray[np.intp] | None = None) -> BoundedSum | None:
        """Return the sum of reports behind weights @ frequencies, or None if the reports' distribution is not known."""
        whole, chosen = self.contributors == self.n and len(self.samples) < 2, np.flatnonzero(weights)
        if self.n and self.support is not None and len(chosen) == 1 and classes is None:
            # A report supports a category or does not. The distribution of several supports does not matter for one
            # category.
            p, q = (float(np.broadcast_to(share, self.k)[chosen[0]]) for share in (self.support.p, self.support.q))
            held = np.clip(self.frequencies[chosen], 0.0, 1.0)
            sample = Sample(self.n, 1.0, one_support(p, q))
            both = np.array([weights[chosen[0]], 0.0])
            return bounded_sum([sample], both, value, np.concatenate([held, 1 - held]), whole=whole)
        if not self.samples:
            return None
        scores, held = weights if self.part is None else self.part.weights(weights), self._held
        # All other values count for nothing, so one more score of 0 is enough for them.
        if self.support is not None and self.support.k > len(scores):
            scores, held = np.append(scores, 0.0), np.append(held, max(0.0, 1 - held.sum()))
        return bounded_sum(self.samples, scores, value, held, whole=whole, classes=classes)

    def _sums(self, weights: Floats, value: float) -> tuple[BoundedSum, ...]:
        found = self._summed(weights, value)
        return () if found is None else (found,)

    def _differences(self, above: Floats, below: Floats, ratios: Floats) -> tuple[BoundedSum, ...]:
        one, other = self._shift(above), self._shift(below)
        a, b = above - one, below - other
        _, classes = np.unique(np.stack([above, below]), axis=1, return_inverse=True)
        values = float(a @ self.frequencies), float(b @ self.frequencies)
        found = [self._summed(a - t * b, values[0] - t * values[1], classes) for t in ratios.tolist()]
        sums = [sum_.scaled(1.0, one - t * other) for sum_, t in zip(found, ratios.tolist(), strict=True) if sum_]
        return (side_by_side(sums),) if sums else ()

    def _despite(self, malicious: float, tail: float, target: Target) -> tuple[Floats, Floats]:
        if self.support is None:
            raise NoIntervalError(
                "no interval can allow for malicious contributors in this estimate, because the influence of one "
                "report on the estimate is not determined. Leave out malicious to get an interval"
            )
        # The share is read as a simple fraction, so that 0.29 of 100 is 29 and 1/3 of 30 is 10. Malicious contributors
        # choose what they report, so all of them may report this attribute.
        lying = math.floor(Fraction(str(malicious)).limit_denominator(10**8) * self.contributors)
        if lying >= self.n:
            return np.full(self.k, -np.inf), np.full(self.k, np.inf)
        honest = self.contributors - lying
        fewest, most = (_affine(support, honest) for support in self.support.without(lying))
        return fewest._at_tail(tail, target)[0], most._at_tail(tail, target)[1]

    def _at_any_time(
        self, alpha: float, target: Target, malicious: float, planned: int | None
    ) -> tuple[Floats, Floats]:
        if malicious:
            raise InvalidParameterError(
                "malicious and anytime=True cannot be used together: no interval is known that allows for both "
                "malicious contributors and repeated looks. Leave one of the two out",
                parameters=("anytime=True",),
            )
        if planned is None:
            raise InvalidParameterError(
                "planned must be given with anytime=True: give the number of contributors that was planned before the "
                "first look",
                parameters=("anytime=True",),
            )
        planned = checked_integer("planned", planned, 1)
        if target != "population":
            raise NoIntervalError(
                "intervals for repeated looks are about the population: target must be population, got "
                f"target={quoted(target)}"
            )
        if self.support is None:
            raise NoIntervalError(
                "no interval can allow for repeated looks in this estimate, because no count of reports in this "
                "estimate has a known distribution. Leave out anytime to get an interval"
            )
        from deniable.core import confidence_sequence  # this import loads scipy

        return confidence_sequence.bounds(
            self.support.counts, self.n, self.support.p, self.support.q, self.support.k, alpha, planned
        )

    def _score(self, tail: float, target: Target) -> tuple[Floats, Floats]:
        z2 = normal_quantile(tail) ** 2
        sampling = self._sampling(target)
        # The interval contains every f with (f^ - f)^2 <= z^2 [ (absent + (present - absent) f)/n + sampling f (1-f) ],
        # which is quadratic in f.
        slope = (self.noise_present - self.noise_absent) / self.n + sampling
        a = 1 + z2 * sampling
        b = self.frequencies + z2 * slope / 2
        c = self.frequencies**2 - z2 * self.noise_absent / self.n
        root = b**2 - a * c
        half = np.sqrt(np.maximum(root, 0.0)) / a
        lower, upper = b / a - half, b / a + half
        # Far outside of [0, 1] the quadratic may have no solution. The bounds then use the variance at the nearest
        # frequency.
        wald = np.sqrt(z2) * self.standard_errors_for(target)
        lower = np.where(root > 0, lower, self.frequencies - wald)
        upper = np.where(root > 0, upper, self.frequencies + wald)
        return lower, upper

    def _sampling(self, target: Target) -> float:
        drawn = 1 / self.n
        return drawn if target == "population" else max(0.0, drawn - 1 / self.contributors)

    def processed(self, frequencies: ArrayLike, step: str) -> Estimate:
        """Return a post-processed estimate that names its step and keeps the raw estimate. It has no intervals.

        Raises
        ------
        InvalidParameterError
            If the estimate does not have all categories. A step would treat those that it has as if they were all.
        """
        self._check_whole(step)
        return replace(
            self,
            frequencies=np.asarray(frequencies, dtype=np.float64),
            processing=(*self.processing, step),
            raw=self if self.raw is None else self.raw,
        )

    def named(
        self,
        attribute: str,
        labels: Sequence[str],
        scores: ArrayLike | None = None,
        unranked: Sequence[int] = (),
        title: str = "",
    ) -> Estimate:
        """Return the same estimate with an attribute's name and labels.

        The scores, the codes without a place in the order of the answers, and the title are taken from the attribute,
        too.
        """
        raw = self.raw.named(attribute, labels, scores, unranked, title) if self.raw is not None else None
        known = self.scores if scores is None else np.asarray(scores, dtype=np.float64)
        rest = tuple(unranked)
        return replace(
            self, attribute=attribute, labels=tuple(labels), scores=known, unranked=rest, raw=raw, title=title
        )

    def of(self, source: frozenset[str]) -> Estimate:
        """Return the same estimate with the ids of the collections, report batches and earlier phases behind it."""
        raw = self.raw.of(source) if self.raw is not None else None
        return replace(self, source=source, raw=raw)

    # ---------------------------------------------------------------- questions

    def linear(self, weights: Weights, *, question: str = "") -> Answer:
        """Analyst: return the weighted sum of the frequencies, sum_v weights[v] f^(v), with its interval.

        A single category keeps its own standard error and interval. If several categories have the same weight and
        every report is one code (GRR), the interval is the interval of their pooled count. It is exact if the intervals
        of single categories are exact. For all other sums, the interval is Chernoff's bound if too few reports matter
        for a normal approximation (`deniable.core.bounded_sums`). Otherwise it is Wald's interval with the exact
        variance at the nearest possible frequencies.

        Parameters
        ----------
        weights : float[k], or mapping of label to float
            Weights. In a mapping, categories that are left out have weight 0.
        question : str
            Name of the sum, in words.

        Raises
        ------
        InvalidParameterError
            If the weights are not k finite numbers.
        UnknownCategoryError
            If a label is not a category. The message names it.

        Examples
        --------
        >>> from deniable import OUE, SimulationRandomness
        >>> oue = OUE(k=3, epsilon=3.0)
        >>> size = oue.simulate_aggregate([50, 100, 50], SimulationRandomness(1))
        >>> size = oue.estimate(size).named("size", ["S", "M", "L"])
        >>> more = size.linear({"L": 1.0, "S": -1.0})
        >>> round(more.standard_error, 4), [round(end, 2) for end in more.interval()]
        (0.0658, [-0.17, 0.08])
        """
        return self._answered(self._checked_weights(weights), 0.0, question or f"weighted sum{self._about}")

    def _shifted(self, weights: Floats, question: str) -> Answer:
        shift = self._shift(weights)
        return self._answered(weights - shift, shift, question)

    def _shift(self, weights: Floats) -> float:
        """Return the multiple of the frequencies' sum (which is 1) of least variance if they are uniform."""
        if self.joint is None or self.part is not None or (self.support is not None and self.support.one_each):
            return 0.0  # there is nothing to gain, or nothing is known
        uniform, ones = np.full(self.k, 1 / self.k), np.ones(self.k)
        alone = self.joint(ones, uniform)
        scale = float(np.abs(weights).max()) or 1.0
        both = (self.joint(weights / scale + ones, uniform) - self.joint(weights / scale - ones, uniform)) / 4
        one = self.joint(np.eye(1, self.k)[0], uniform)
        return scale * both / alone if alone > 1e-9 * one else 0.0  # it is also 0 where the quotient is NaN

    def _answered(self, weights: Floats, constant: float, question: str) -> Answer:
        """Return the answer weights @ frequencies + constant."""
        chosen = np.flatnonzero(weights)
        value = float(weights[chosen] @ self.frequencies[chosen]) + constant
        # Categories outside this estimate count as 0.
        ends = [weights.min(), weights.max(), *([] if self._is_whole and self.k > 1 else [0.0])]
        extent = float(min(ends)) + constant, float(max(ends)) + constant
        about: dict[str, Any] = {"question": question, "n": self.n, "source": self.source}
        about |= {"extent": extent, "everyone": True}
        if not self.is_raw:
            return Answer(value, dict.fromkeys(TARGETS, math.nan), **about, refusal=self._refusal)
        if self.n == 0:
            return Answer(math.nan, dict.fromkeys(TARGETS, math.inf), **about)
        single = self._as_one(weights, chosen)
        if single is not None:
            one, factor, offset = single
            errors = {target: float(one.standard_errors_for(target)[0]) for target in TARGETS}
            answer = Answer(
                float(one.frequencies[0]),
                errors,
                **about,
                intervals=CategoryIntervals(one),
                sums=one._sums(np.ones(1), float(one.frequencies[0])),
            )
            return replace(rescaled(answer, factor, offset + constant), value=value, extent=extent)
        errors = {target: math.sqrt(self._variance(weights, target)) for target in TARGETS}
        sums = (one.scaled(1.0, constant) for one in self._sums(weights, value - constant))
        return Answer(value, errors, **about, sums=tuple(sums), refusal=_not_determined(errors))

    def pooled(self, labels: str | Sequence[str]) -> Estimate | None:
        """Analyst: return the exact estimate of several categories together, or None if their counts cannot be pooled.

        A single category can always be pooled. With GRR any categories can, because a report names exactly one
        category. Pooled categories have two kinds of intervals that other sums do not have: intervals that allow for
        malicious contributors, and anytime-valid intervals.

        Raises
        ------
        UnknownCategoryError
            If a label is not a category.
        InvalidParameterError
            If a category is named twice.
        """
        weights = self._marked([labels] if isinstance(labels, str) else list(labels))
        found = self._as_one(weights, np.flatnonzero(weights)) if self.is_raw else None
        if found is None or found[1] != 1.0 or found[2] != 0.0:
            return None
        return found[0]

    def _as_one(self, weights: Floats, chosen: NDArray[np.intp]) -> tuple[Estimate, float, float] | None:
        """Return (estimate of one category, factor, offset) equal to the weighted sum, or None if there is none."""
        if len(chosen) == 1:
            return self._of(chosen), float(weights[chosen[0]]), 0.0
        support = self.support
        if support is None or not support.one_each:
            if self.k == 2 and self._always_one:
                return self._of(np.array([0])), float(weights[0] - weights[1]), float(weights[1])
            return None
        values = np.unique(weights)
        base = 0.0 if len(chosen) < self.k or self.k < support.k else float(values[0])
        marked = np.flatnonzero(weights != base)
        if len(np.unique(weights[marked])) > 1:
            return None
        factor = float(weights[marked[0]]) - base if len(marked) else 0.0
        return _affine(support.pooled(marked), self.contributors), factor, base

    @cached_property
    def _always_one(self) -> bool:
        """Return whether the estimated frequencies sum to one for all possible reports."""
        if self.joint is None or not self._is_whole:
            return False
        uniform = np.full(self.k, 1 / self.k)
        return self.joint(np.ones(self.k), uniform) <= 1e-12 * self.joint(np.eye(1, self.k)[0], uniform)

    def _terms(self, above: Floats, below: Floats) -> Terms:
        one, other = self._shift(above), self._shift(below)
        a, b = above - one, below - other
        unknown = (math.nan,) * 3
        variances = dict.fromkeys(TARGETS, unknown)
        refusal = "" if self.is_raw else self._refusal
        if self.is_raw and self.n:
            for target in TARGETS:
                sum_, gap = (self._variance(a + sign * b, target) for sign in (1.0, -1.0))
                variances[target] = self._variance(a, target), (sum_ - gap) / 4, self._variance(b, target)
            refusal = _not_determined({target: sum(found) for target, found in variances.items()})
        values = float(a @ self.frequencies) + one, float(b @ self.frequencies) + other
        return Terms(*values, variances, self.n, self.source, refusal)

    def _variance(self, weights: Floats, target: Target) -> float:
        """Return the variance of weights @ frequencies at the nearest possible frequencies, or NaN if it is unknown."""
        if self.joint is None:
            return math.nan
        held = self._held
        w = weights if self.part is None else self.part.weights(weights)
        spread = float((w * w) @ held - (w @ held) ** 2)
        noise = self.joint(w, held) / self.n + max(spread, 0.0) * self._sampling(target)
        return noise if math.isnan(noise) else max(noise, 0.0)  # only rounding makes it negative

    @cached_property
    def _held(self) -> Floats:
        if self.part is not None:
            return self.part.held
        if self._is_whole:
            return nearest_distribution(self.frequencies)
        held = np.clip(self.frequencies, 0.0, 1.0)
        return held if held.sum() <= 1 else nearest_distribution(self.frequencies)

    @property
    def _is_whole(self) -> bool:
        return self.part is None and (self.support is None or self.support.k == self.k)

    def _check_whole(self, question: str) -> None:
        if not self._is_whole:
            raise InvalidParameterError(
                f"{question} needs an estimate of all categories, got an estimate of only {self.k} of the categories"
            )

    def _labels_of(self) -> tuple[str, ...]:
        return self.labels

    def _codes_by_label(self) -> Mapping[str, int]:
        return self._codes

    @property
    def _refusal(self) -> str:
        """Return the reason why a post-processed estimate has no interval."""
        steps = "”, then “".join(self.processing)
        instead = "; use estimate.raw.interval(...)" if self.raw is not None and self.raw.is_raw else ""
        return f"no valid interval is known after the step “{steps}”{instead}"

    def to_arrow(self, confidence: float = 0.95, target: Target = "contributors") -> pa.Table:
        """Return a pyarrow table: category, estimate, standard_error, lower, upper; null if a number does not exist."""
        import pyarrow as pa

        columns: dict[str, Any] = {"category": list(self.labels), "estimate": self.frequencies}
        if self.is_raw and self.n > 0:
            lower, upper = self.interval(confidence, target=target)
            columns |= {"standard_error": self.standard_errors_for(target), "lower": lower, "upper": upper}
        else:
            columns |= {name: pa.nulls(self.k, pa.float64()) for name in ("standard_error", "lower", "upper")}
        return pa.table(columns)


class RecordEstimate(Mapping[int | str, Estimate], Shown):
    """Estimates of a record mechanism: a mapping from an attribute's index or name to its `Estimate`.

    The keys are indexes in a result of ``mechanism.estimate(aggregate)``, and names in a result of a `Collection`.

    Parameters
    ----------
    estimates : mapping of int or str to Estimate
        The estimate of each attribute, in order.

    Examples
    --------
    >>> from deniable import SPL, SimulationRandomness
    >>> import numpy as np
    >>> spl = SPL(sizes=(2, 3), epsilon=2.0)
    >>> reports = spl.randomize(np.array([[0, 2], [1, 1]]), SimulationRandomness(1))
    >>> estimates = spl.estimate(spl.aggregate(reports))
    >>> list(estimates), estimates[1].k
    ([0, 1], 3)
    """

    def __init__(self, estimates: Mapping[int | str, Estimate] | Mapping[int, Estimate] | Mapping[str, Estimate]):
        self._estimates: dict[int | str, Estimate] = dict(estimates.items())

    def __getitem__(self, attribute: int | str) -> Estimate:
        return self._estimates[attribute]

    def __iter__(self) -> Iterator[int | str]:
        return iter(self._estimates)

    def __len__(self) -> int:
        return len(self._estimates)

    def __repr__(self) -> str:
        shown = list(self._estimates.items())[:SHOWN]
        lines = [f"{name!r}: {estimate!r}" for name, estimate in shown]
        hidden = len(self) - len(shown)
        return "\n".join(["RecordEstimate", *lines, *([f"and {hidden:,} more attributes"] if hidden else [])])

    @property
    def _shown(self) -> dict[int | str, Estimate]:
        return {name: estimate.top(MOST_SHOWN) for name, estimate in self._estimates.items()}

    @property
    def comparisons(self) -> int:
        """Number of frequencies of all attributes together, for intervals that hold together (``simultaneous=``)."""
        return sum(estimate.k for estimate in self._estimates.values())

    def to_arrow(self, confidence: float = 0.95, target: Target = "contributors") -> pa.Table:
        """Return one pyarrow table with all attributes; the first column is ``attribute``."""
        import pyarrow as pa

        tables = []
        for name, estimate in self._estimates.items():
            table = estimate.to_arrow(confidence, target)
            tables.append(table.add_column(0, "attribute", pa.array([str(name)] * estimate.k)))
        return pa.concat_tables(tables)


def affine_estimate(
    counts: ArrayLike,
    n: int,
    p: ArrayLike,
    q: ArrayLike,
    contributors: int | None = None,
    *,
    sizes: tuple[int, int] | None = None,
    k: int = -1,
    joint: JointNoise | None = None,
    law: ReportLaw | None = None,
) -> Estimate:
    """Return the unbiased Estimate computed from support counts.

    A report *supports* v with probability p if its contributor holds v and q otherwise, so ``f^(v) = (counts[v]/n -
    q)/(p - q)``. The variances of one report are q(1-q) and p(1-p) over (p-q)^2.

    Parameters
    ----------
    counts : int[k]
        Number of reports that support each value.
    n : int
        Number of reports.
    p, q : float or float[k]
        The *implemented* support probabilities.
    contributors : int, optional
        Number of contributors from whom the n reports were sampled. The default is n.
    sizes, k : (int, int) and int, optional
        Smallest and largest number of values that one report supports, and the number of values. See `SupportCounts`.
    joint, law : callable, optional
        Correlation of the noise (see `Estimate`), and the distribution of one report's part in a weighted sum (see
        `Sample`).
    """
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    support = SupportCounts(np.asarray(counts, dtype=np.int64), n, p, q, sizes, k)
    return _affine(support, n if contributors is None else contributors, joint, law)


def _affine(
    support: SupportCounts, contributors: int, joint: JointNoise | None = None, law: ReportLaw | None = None
) -> Estimate:
    n, p, q = support.n, support.p, support.q
    gain = p - q
    return Estimate(
        frequencies=(support.counts / n - q) / gain if n > 0 else np.full(support.counts.shape, np.nan),
        n=n,
        noise_absent=q * (1 - q) / gain**2,
        noise_present=p * (1 - p) / gain**2,
        contributors=contributors,
        support=support,
        joint=joint,
        samples=(Sample(n, 1.0, law),) if law is not None and n > 0 else (),
    )


def affine_variance(p: Probability, q: Probability, f: float, n: int) -> float:
    """Return the noise variance of (count/n - q)/(p - q) at true frequency f, for n contributors."""
    p, q = float(p), float(q)
    return (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2)


def _first(bounds: tuple[Floats, Floats]) -> tuple[float, float]:
    lower, upper = bounds
    return float(lower[0]), float(upper[0])


def _not_determined(errors: Mapping[Target, float]) -> str:
    """Return the reason why there is no interval if a standard error is NaN."""
    if not any(map(math.isnan, errors.values())):
        return ""
    return (
        "no interval is known: the correlations of the noise of several categories are not determined for this estimate"
    )


def _checked_scores(scores: ArrayLike, k: int) -> Floats:
    found = _frozen(scores)
    if found.shape != (k,) or np.isinf(found).any():
        raise InvalidParameterError(
            f"scores must be {k} numbers (finite numbers, or NaN for a category without a score), got "
            f"shape={found.shape}"
        )
    return found

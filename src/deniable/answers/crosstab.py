"""Crosstabs of two answers, with valid intervals, and tests that say when they cannot decide.

All questions of a `Crosstab` use the consistent table T*, which is unbiased and has the same margins as every other
table. The test of independence and Cramer's V use the pair's own table. An answer may be *not determined*. A ratio
whose denominator the reports cannot distinguish from 0 has no bounded interval, so no bounded interval is given.

* P(b | a): Fieller (1954), all t for which (T_ab - t T_a+)^2 <= z^2 Var(T_ab - t T_a+).
* P(b | a) - P(b | a'): MOVER (Zou, Donner, 2008) of the two Fieller intervals *with their correlation*. The shared
  margins of T* make two groups' shares negatively correlated, about -.6 in collections of six attributes.
* Odds ratio: Fieller on the two unbiased products of cells, with second-order variances.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from deniable.core import bounded_sums
from deniable.core.aggregate import Aggregate
from deniable.core.answer import NOTHING, UNDETERMINED, Answer, Bounds, ComputedIntervals, Intervals
from deniable.core.bounded_sums import BoundedSum, Ratio, is_few, side_by_side
from deniable.core.checks import (
    TARGETS,
    Target,
    check_target,
    checked_comparisons,
    checked_integer,
    checked_probability,
)
from deniable.core.fieller import fieller
from deniable.core.result import Result
from deniable.core.support_counts import normal_quantile
from deniable.errors import InvalidParameterError, MismatchError, UnknownCategoryError, quoted
from deniable.records.dependence.association import sampled_cramers_v
from deniable.records.dependence.decoding import Decoded, DecodedTable, dependence_decode
from deniable.records.joint import JointTables, has_tables
from deniable.records.pair_sample import PairSample
from deniable.records.pairs import attribute_pairs
from deniable.survey.collection import Collection

Floats = NDArray[np.float64]
Label: TypeAlias = int | str | Sequence[int | str]
"""A category by its label, or by its code; or several of them, which count as one."""

MOST_CROWDED = 0.05
"""Largest (k_i + k_j) v(K)/N at which the Wald test and the interval of Cramer's V were found to hold their levels."""

LEVEL_NOTE = "at .05 the test rejected independent attributes in .024 to .088 of runs where (k_i + k_j) v/N <= .05"


@dataclass(frozen=True, eq=False)
class Independence(Result):
    """A test of whether two attributes are independent in the population.

    Parameters
    ----------
    statistic : float
        Test statistic. If the attributes are independent, it is chi-squared with `degrees` degrees of freedom. NaN
        without a test.
    degrees : int
        Degrees of freedom, (k_i - 1)(k_j - 1) for attributes with k_i and k_j categories.
    p_value : float
        Probability of a statistic at least as large if the attributes are independent. NaN without a test.
    method : str
        Name of the test.
    reports : int
        Number of reports of this pair.
    reports_needed : int
        Smallest number of reports with which the level of the test holds; 0 if it always holds.
    note : str
        Remark on how well the level of the test holds, or reason why there is no p-value.
    """

    statistic: float
    degrees: int
    p_value: float
    method: str
    reports: int
    reports_needed: int
    note: str

    @property
    def determined(self) -> bool:
        """Return whether there is a p-value."""
        return not math.isnan(self.p_value)


@dataclass(frozen=True, eq=False)
class Crosstab:
    """A table of two attributes: rows are categories of the first, and columns are categories of the second.

    Analysts get tables from `crosstabs`.

    Parameters
    ----------
    names : (str, str)
        The attributes.
    labels : (tuple of str, tuple of str)
        Their categories.
    """

    names: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    _tables: JointTables = field(repr=False)
    _all: Crosstabs = field(repr=False)
    _pair: tuple[int, int] = field(repr=False)
    _turned: bool = field(repr=False)

    # ---------------------------------------------------------------- tables

    @cached_property
    def _own(self) -> Any:
        return self._tables[self._pair]

    @cached_property
    def _joint(self) -> Any:
        return self._tables.consistent(*self._pair)

    @property
    def n(self) -> int:
        """Number of reports about this pair."""
        return int(self._own.n)

    @property
    def contributors(self) -> int:
        """Number of all reports."""
        return self._tables.contributors

    @property
    def raw(self) -> Floats:
        """Unbiased joint frequencies from reports of this pair only, float64[rows, columns]; NaN without reports."""
        return self._shown(self._own.frequencies)

    @property
    def consistent(self) -> Floats:
        """Unbiased joint frequencies whose margins agree with all other tables, float64[rows, columns].

        Some frequencies may be negative. All answers use this table, except the test of independence and Cramer's V.
        """
        return self._shown(self._joint.frequencies)

    def standard_errors(self, target: Target = "contributors") -> Floats:
        """Return the standard errors of `consistent`, float64[rows, columns]; NaN without reports."""
        return self._shown(self._joint.standard_errors(target))

    def interval(
        self, confidence: float = 0.95, *, simultaneous: bool | int = False, target: Target = "contributors"
    ) -> tuple[Floats, Floats]:
        """Return (lower, upper) bounds of the cells of `consistent`, each float64[rows, columns].

        The interval reaches z standard errors in both directions, and is not clipped to [0, 1]. Without reports it is
        NaN. If a cell rests on too few reports for this normal interval (`deniable.core.bounded_sums`), other bounds
        replace it. They use only the reports of this pair, lie in [0, 1], and are widened if necessary to contain the
        estimate.

        Parameters
        ----------
        confidence : float
            Coverage in (0, 1).
        simultaneous : bool or int
            True: the intervals of all cells hold together, by Bonferroni's bound. An integer is the number of intervals
            that must hold together.
        target : {"contributors", "population"}
            "contributors": the interval allows for the mechanism's noise. "population": it also allows for the sampling
            of the contributors.
        """
        together = checked_comparisons(simultaneous, self.consistent.size)
        confidence = checked_probability("confidence", confidence, open_interval=True)
        tail, errors = (1 - confidence) / (2 * together), self.standard_errors(target)
        half = normal_quantile(tail) * errors
        lower, upper = self.consistent - half, self.consistent + half
        few = is_few(errors, self._grain(target)) if self.n else np.zeros(errors.shape, dtype=np.bool_)
        # Cells with the same number of reports have the same bounds, so each number is computed once.
        for value in np.unique(self.raw[few]).tolist():
            cells = few & (self.raw == value)
            low, high = bounded_sums.bounds([self._summed(self._cell(np.flatnonzero(cells)[0]))], tail, target)
            near = np.clip(self.consistent[cells], 0.0, 1.0)
            lower[cells], upper[cells] = np.minimum(low, near), np.maximum(high, near)
        return lower, upper

    @cached_property
    def decoded(self) -> DecodedTable:
        """The table after the step "dependence", which decodes all pairs together. The table has no intervals."""
        found = self._all.decoded.tables[self._pair]
        return DecodedTable(self._shown(found.frequencies), found.dependence)

    # ---------------------------------------------------------------- questions

    def conditional(self, of: Label, *, given: Label) -> Answer:
        """Return P(column `of` | row `given`), with Fieller's interval.

        Parameters
        ----------
        of : label, code, or several
            Category of the column attribute. Several categories are added up.
        given : label, code, or several
            Category of the row attribute, or several.

        Raises
        ------
        UnknownCategoryError
            If a label or code is not a category.
        """
        (ratio,) = self._ratios(of, [given])
        return self._answer(
            f"share of {quoted(of)} in {quoted(given)}",
            ratio.value,
            ratio.error,
            ComputedIntervals(ratio.interval, ratio.is_few),
        )

    def difference(self, of: Label, *, groups: tuple[Label, Label]) -> Answer:
        """Return P(column `of` | first group) - P(column `of` | second group), with its interval (by the method MOVER).

        Parameters
        ----------
        of : label, code, or several
            Category of the column attribute. Several categories are added up.
        groups : (row, row)
            The two groups to compare. Each is a row label, a row code, or several of them.

        Raises
        ------
        UnknownCategoryError
            If a label or code is not a category.
        InvalidParameterError
            If the groups overlap.
        """
        first, second = groups
        if shared := set(self._codes(0, first)) & set(self._codes(0, second)):
            raise InvalidParameterError(
                f"groups must be two groups without a common category, but {quoted(self.labels[0][min(shared)])} is in "
                "both groups"
            )
        one, other = self._ratios(of, [first, second])
        d = one.value - other.value

        def error(target: Target) -> float:
            slope = one.slope - other.slope
            return math.sqrt(max(float(slope @ one.covariances[target] @ slope), 0.0))

        def few(target: Target) -> bool:
            return one.is_few(target) or other.is_few(target)

        def bounds(tail: float, target: Target) -> Bounds:
            if few(target):
                (l1, u1), (l2, u2) = (np.clip(share.interval(tail / 2, target), 0.0, 1.0) for share in (one, other))
                return NOTHING if (l1 - u2, u1 - l2) == (-1.0, 1.0) else (float(l1 - u2), float(u1 - l2))
            (l1, u1), (l2, u2) = one.interval(tail, target), other.interval(tail, target)
            if not all(map(math.isfinite, (l1, u1, l2, u2))):
                return NOTHING
            t1, t2, rho = one.value, other.value, _correlation(one, other, target)
            below = (t1 - l1) ** 2 - 2 * rho * (t1 - l1) * (u2 - t2) + (u2 - t2) ** 2
            above = (u1 - t1) ** 2 - 2 * rho * (u1 - t1) * (t2 - l2) + (t2 - l2) ** 2
            return d - math.sqrt(max(below, 0.0)), d + math.sqrt(max(above, 0.0))

        return self._answer(
            f"share of {quoted(of)} in {quoted(first)} less that in {quoted(second)}",
            d,
            error,
            ComputedIntervals(bounds, few),
        )

    def odds_ratio(
        self,
        groups: tuple[Label, Label] = (0, 1),
        of: tuple[Label, Label] = (0, 1),
        *,
        target: Target = "contributors",
    ) -> Answer:
        """Return [P(c | g)/P(c' | g)] / [P(c | g')/P(c' | g')] of rows (g, g') and columns (c, c').

        If a cell may be 0, the odds ratio is not determined, and its interval is unbounded. This is the most frequent
        result with a few tens of thousands of contributors. The stated confidence counts such results as intervals that
        contain the truth. Bounded intervals then arise only if noise made the cell large, and they contain the truth
        less often than stated. In an experiment with 500 contributors, 8% of the collections had a bounded interval,
        and 61% of these intervals contained the truth.

        Parameters
        ----------
        groups : (row, row)
            The two groups. By default the first two categories.
        of : (column, column)
            The two outcomes. By default the first two categories.
        target : {"contributors", "population"}
            People whose odds ratio the value estimates. For this, products of cells are corrected for the correlation
            of their errors.

        Raises
        ------
        UnknownCategoryError
            If a label or code is not a category.
        InvalidParameterError
            If `target` has another value.
        """
        check_target(target)
        (row, other_row), (column, other_column) = (
            [self._indicator(axis, one) for one in pair] for axis, pair in enumerate((groups, of))
        )
        cells = [(row, column), (other_row, other_column), (row, other_column), (other_row, column)]
        weights = np.stack([np.outer(a, b) for a, b in cells])
        x, products = self._values(weights), {}
        covariances = self._covariances(weights)
        for whom, v in covariances.items():
            a, b = float(x[0] * x[1] - v[0, 1]), float(x[2] * x[3] - v[2, 3])
            slopes = np.array([[x[1], x[0], 0, 0], [0, 0, x[3], x[2]]])
            matrix = slopes @ v @ slopes.T
            matrix += np.diag([v[0, 0] * v[1, 1] + v[0, 1] ** 2, v[2, 2] * v[3, 3] + v[2, 3] ** 2])
            products[whom] = a, b, (float(matrix[0, 0]), float(matrix[0, 1]), float(matrix[1, 1]))

        def error(target: Target) -> float:
            a, b, (above, both, below) = products[target]
            return math.sqrt(max(above - 2 * a / b * both + (a / b) ** 2 * below, 0.0)) / abs(b) if b else math.nan

        def few(target: Target) -> bool:
            return bool(is_few(np.sqrt(np.maximum(np.diag(covariances[target]), 0.0)), self._grain(target)).any())

        def bounds(tail: float, target: Target) -> Bounds:
            if few(target):
                sums = side_by_side([self._summed(one) for one in weights])
                low, high = bounded_sums.bounds([sums], tail / 4, target)
                least, most = low[:2].prod() / high[2:].prod(), high[:2].prod()
                return float(least), float(most / low[2:].prod()) if low[2:].prod() > 0 else math.inf
            lower, upper = fieller(*products[target], normal_quantile(tail))
            return max(lower, 0.0), upper

        a, b, _ = products[target]
        return self._answer(
            f"odds ratio of {quoted(groups)} and {quoted(of)}",
            a / b if b else math.nan,
            error,
            ComputedIntervals(bounds, few),
        )

    def conditionals(
        self, confidence: float = 0.95, *, target: Target = "contributors"
    ) -> tuple[Floats, Floats, Floats]:
        """Return (value, lower, upper) of P(column | row) for all cells, each float64[rows, columns].

        Each row sums to one. The bounds of a value that is not determined are NaN.
        """
        result = np.full((3, *self.consistent.shape), np.nan)
        for row in range(result.shape[1]):
            for column in range(result.shape[2]):
                found = self.conditional(column, given=row)
                result[0, row, column] = found.value
                if found.determined(confidence, target=target):
                    result[1:, row, column] = found.interval(confidence, target=target)
        value, lower, upper = result
        return value, lower, upper

    def independence(self) -> Independence:
        """Test whether the attributes are independent in the population that the contributors were drawn from.

        For `PairSample` this is a Wald test. It has no result if the pair has too few reports for its level to hold.
        For SPL pairs it is the ordinary chi-squared test of the reported codes, whose level holds for every number of
        reports.
        """
        found = self._own.independence()
        needed = math.ceil(found.crowding * self.n / MOST_CROWDED) if math.isfinite(found.crowding) else 0
        if found.crowding <= MOST_CROWDED and not math.isnan(found.statistic):
            p_value = float(special.chdtrc(found.degrees, found.statistic))
            note = LEVEL_NOTE if found.crowding else "the level holds at every number of reports"
        else:
            p_value = math.nan
            what = f"the test needs {needed:,}" if needed else "every code must have been reported"
            note = f"not determined: too few reports of this pair, {self.n:,}; {what}"
        return Independence(found.statistic, found.degrees, p_value, found.method, self.n, needed, note)

    def cramers_v(self) -> Answer:
        """Return Cramer's V of the population, from 0 (independent) to 1, corrected for noise.

        The interval assumes that V^2 is a noncentral chi-squared variable (`CramersV.bounds`). It always allows for
        noise and for sampling. There is no interval if there are too few reports for the test of independence. V then
        depends on margins that are mostly noise.
        """
        nothing = self._answer("Cramer's V", math.nan, lambda _: math.nan, UNDETERMINED)
        if not self.n:
            return nothing
        found, crowding = sampled_cramers_v(self._own), self._own.crowding
        refusal = ""
        if crowding > MOST_CROWDED:
            needed = math.ceil(crowding * self.n / MOST_CROWDED)
            refusal = f"no interval is known for Cramer's V from {self.n:,} reports of this pair: it needs {needed:,}"
        intervals = ComputedIntervals(lambda tail, _: found.bounds(tail), UNDETERMINED.few)
        return replace(nothing, value=min(found.corrected, 1.0), intervals=intervals, refusal=refusal)

    # ---------------------------------------------------------------- helpers

    def _shown(self, table: Floats) -> Floats:
        return table.T if self._turned else table

    def _values(self, weights: Floats) -> Floats:
        found: Floats = (weights * self.consistent).sum(axis=(1, 2))
        return found

    def _summed(self, weights: Floats, classes: NDArray[np.intp] | None = None) -> BoundedSum:
        found: BoundedSum = self._own.summed(weights.T if self._turned else weights, classes)
        return found

    def _cell(self, place: np.intp | int) -> Floats:
        return np.eye(1, self.consistent.size, int(place)).reshape(self.consistent.shape)

    def _grain(self, target: Target) -> float:
        """Return the typical change of any cell by one report of the pair."""
        return float(self._summed(self._cell(0)).grain(target)[0])

    def _covariances(self, weights: Floats) -> dict[Target, Floats]:
        turned = weights.transpose(0, 2, 1) if self._turned else weights
        return {target: self._joint.covariance(turned, target) for target in TARGETS}

    def _answer(
        self,
        question: str,
        value: float,
        error: Callable[[Target], float],
        intervals: Intervals,
    ) -> Answer:
        rows, columns = self.names
        return Answer(
            float(value) if self.n else math.nan,
            {target: error(target) if self.n else math.inf for target in TARGETS},
            f"{question} of {quoted(rows)} and {quoted(columns)}",
            self.n,
            intervals if self.n else UNDETERMINED,
            source=self._all.source,
        )

    def _ratios(self, of: Label, given: Sequence[Label]) -> list[_Ratio]:
        """Return the shares of a column in groups, with their joint covariance."""
        column = self._indicator(1, of)
        rows = [self._indicator(0, group) for group in given]
        weights = np.stack([np.outer(row, one) for row in rows for one in (column, np.ones_like(column))])
        values, covariances = self._values(weights), self._covariances(weights)
        return [
            _Ratio(
                values,
                covariances,
                2 * g,
                partial(self._differences, above, below),
                self._summed(below, self._alike(above, below)),
            )
            for g, (above, below) in enumerate(weights.reshape(len(rows), 2, *self.consistent.shape))
        ]

    def _differences(self, above: Floats, below: Floats, ratios: Floats) -> list[BoundedSum]:
        classes = self._alike(above, below)
        return [side_by_side([self._summed(above - t * below, classes) for t in ratios.tolist()])]

    def _alike(self, above: Floats, below: Floats) -> NDArray[np.intp]:
        cells = above + below
        return np.unique(cells.T if self._turned else cells, return_inverse=True)[1].ravel()

    def _indicator(self, axis: int, label: Label) -> Floats:
        found = np.zeros(len(self.labels[axis]))
        found[self._codes(axis, label)] = 1.0
        return found

    def _codes(self, axis: int, label: Label) -> list[int]:
        wanted = [label] if isinstance(label, (int, np.integer, str)) else list(label)
        if not wanted:
            raise InvalidParameterError(
                f"a question about {quoted(self.names[axis])} must name at least one category, got no category"
            )
        return [self._code(axis, one) for one in wanted]

    def _code(self, axis: int, label: int | str) -> int:
        labels = self.labels[axis]
        if isinstance(label, str):
            if label not in labels:
                raise UnknownCategoryError(
                    f"{quoted(self.names[axis])} has no category {quoted(label)}; its categories are {quoted(labels)}"
                )
            return labels.index(label)
        return checked_integer(f"a code of {quoted(self.names[axis])}", label, 0, len(labels) - 1)


@dataclass(frozen=True, eq=False)
class _Ratio:
    """Ratio values[at]/values[at + 1], with the covariances of all values and the sums behind their differences."""

    values: Floats
    covariances: Mapping[Target, Floats]
    at: int
    differences: Callable[[Floats], Sequence[BoundedSum]]
    below: BoundedSum

    @property
    def value(self) -> float:
        below = float(self.values[self.at + 1])
        return float(self.values[self.at]) / below if below else math.nan

    @property
    def slope(self) -> Floats:
        """Gradient of the ratio, NaN if it has none."""
        found, below = np.zeros(len(self.values)), float(self.values[self.at + 1])
        found[self.at : self.at + 2] = (1 / below, -self.value / below) if below else math.nan
        return found

    def error(self, target: Target) -> float:
        """Return the standard error, to first order."""
        slope = self.slope
        return math.sqrt(max(float(slope @ self.covariances[target] @ slope), 0.0))

    def _variances(self, target: Target) -> tuple[float, float, float]:
        v = self.covariances[target][self.at : self.at + 2, self.at : self.at + 2]
        return float(v[0, 0]), float(v[0, 1]), float(v[1, 1])

    @cached_property
    def _tested(self) -> Ratio:
        variances = {target: self._variances(target) for target in TARGETS}
        return Ratio(self.differences, self.value, variances, (0.0, 1.0), self.below)

    def is_few(self, target: Target) -> bool:
        """Return whether the reports that matter are few."""
        return self._tested.is_few(target)

    def interval(self, tail: float, target: Target) -> Bounds:
        if self.is_few(target):
            return self._tested.bounds(tail, target)
        above, below = (float(one) for one in self.values[self.at : self.at + 2])
        return fieller(above, below, self._variances(target), normal_quantile(tail))


def _correlation(one: _Ratio, other: _Ratio, target: Target) -> float:
    """Return the correlation of two shares, which for two groups comes from the table's shared margins."""
    g, h, v = one.slope, other.slope, one.covariances[target]
    scale = math.sqrt(max(float(g @ v @ g) * float(h @ v @ h), 0.0))
    return min(max(float(g @ v @ h) / scale, -1.0), 1.0) if scale > 0 else 0.0


class Crosstabs(Mapping[tuple[Any, Any], Crosstab]):
    """Crosstabs of all pairs of attributes: look up a pair by its two names or indices, in either order.

    Parameters
    ----------
    tables : JointTables
        Raw tables.
    names : sequence of str or int
        Key of each attribute.
    labels : sequence of tuple of str
        Its categories.
    source : frozenset of str
        Ids of the collections and report batches behind the tables.
    titles : sequence of str
        Titles of the attributes, or "" for an attribute without a title. A pair may also be named by its titles.
    """

    def __init__(
        self,
        tables: JointTables,
        names: Sequence[str] | Sequence[int],
        labels: Sequence[tuple[str, ...]],
        source: frozenset[str] = frozenset(),
        titles: Sequence[str] = (),
    ) -> None:
        self.tables, self.names, self.labels, self.source = tables, tuple(names), tuple(labels), source
        self._titles = tuple(titles)

    @cached_property
    def decoded(self) -> Decoded:
        """Return all tables after the dependence decoder, which decodes them together."""
        return dependence_decode(self.tables)

    def __getitem__(self, pair: tuple[Any, Any]) -> Crosstab:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise InvalidParameterError(f"pair must name two attributes, got {quoted(pair)}")
        i, j = map(self._place, pair)
        if i == j:
            raise InvalidParameterError(f"pair must name two different attributes, got {quoted(pair[0])} twice")
        names, labels = (str(self.names[i]), str(self.names[j])), (self.labels[i], self.labels[j])
        return Crosstab(names, labels, self.tables, self, (min(i, j), max(i, j)), i > j)

    def _place(self, asked: Any) -> int:
        """Return the place of an attribute by its name, or by its title if only one attribute has that title."""
        if asked in self.names and not isinstance(asked, bool):
            return self.names.index(asked)
        if asked and self._titles.count(asked) == 1:
            return self._titles.index(asked)
        known = ", ".join(map(str, self.names[:5])) + (", ..." if len(self.names) > 5 else "")
        titled = " (or one of their titles)" if any(self._titles) else ""
        raise InvalidParameterError(f"attribute must be one of {known}{titled}, got {quoted(asked)}")

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return ((self.names[i], self.names[j]) for i, j in attribute_pairs(len(self.names)))

    def __len__(self) -> int:
        return len(self.tables)


@dataclass(frozen=True)
class CrosstabError(Result):
    """Expected precision of the table of a pair, as `crosstab_error` returns it.

    Parameters
    ----------
    reports : float
        Expected number of reports of the pair.
    cell : float
        Half-width of the widest interval among all cells.
    difference : float
        Half-width of the widest interval among all differences between two groups' shares of an answer. Infinite if a
        difference will not be determined.
    tested : bool
        Whether there will be enough reports for the test of independence.
    contributors_for_test : int
        Smallest number of contributors with enough reports for the test.
    """

    reports: float
    cell: float
    difference: float
    tested: bool
    contributors_for_test: int


def crosstab_error(
    mechanism: PairSample,
    contributors: int,
    pair: tuple[int, int],
    *,
    truth: Callable[[tuple[int, ...]], ArrayLike] | None = None,
    confidence: float = 0.95,
    target: Target = "contributors",
) -> CrosstabError:
    """Organiser: return how precise the table of a pair will be, before anyone is asked.

    Parameters
    ----------
    mechanism : PairSample
        Mechanism with which contributors will report.
    contributors : int
        Expected number of contributors.
    pair : (int, int)
        The attributes. Groups are the categories of the first attribute.
    truth : callable, optional
        Assumed frequencies in the form of `PairSample.expected_tables`. By default they are uniform.
    confidence, target
        Options of the intervals, see `Crosstab.interval`.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable.records.pair_sample import PairSample
    >>> found = crosstab_error(PairSample((4, 5, 2, 3), 2.0), 20_000, (0, 1))
    >>> round(found.cell, 3), round(found.difference, 2), found.tested
    (0.023, 0.14, True)
    """
    sizes = mechanism.sizes
    tables = Crosstabs(mechanism.expected_tables(contributors, truth), range(len(sizes)), [()] * len(sizes))
    table = tables[pair]
    labels = tuple(tuple(map(str, range(sizes[j]))) for j in pair)
    table = replace(table, labels=(labels[0], labels[1]))
    lower, upper = table.interval(confidence, target=target)
    widest = 0.0
    for of in range(len(labels[1])):
        for groups in combinations(range(len(labels[0])), 2):
            low, high = table.difference(of, groups=groups).interval(confidence, target=target)
            widest = max(widest, (high - low) / 2)
    crowding = table._own.independence().crowding
    needed = math.ceil(crowding * contributors / MOST_CROWDED)
    half = float((upper - lower).max() / 2)
    return CrosstabError(float(table._own.n), half, widest, crowding <= MOST_CROWDED, needed)


def crosstabs(source: Any, aggregate: Aggregate) -> Crosstabs:
    """Analyst: return the tables of all pairs of attributes of a collection.

    Parameters
    ----------
    source : Collection or JointRecords
        A collection over `PairSample` or `SPLPairs`, or one of these mechanisms.
    aggregate : Aggregate
        Aggregate of the reports.

    Returns
    -------
    Crosstabs
        Mapping from a pair of attributes, in either order, to its `Crosstab`. The keys are names for a collection and
        indexes for a mechanism.

    Raises
    ------
    MismatchError
        If the aggregate is of another collection, or the mechanism's reports have no tables of pairs.
    EmptyAggregateError
        If the aggregate contains no reports.

    Examples
    --------
    >>> from deniable import Attribute, Collection, Schema, SimulationRandomness
    >>> from deniable.records.pair_sample import PairSample
    >>> schema = Schema((Attribute("team", ("sales", "support")), Attribute("content", ("yes", "no"))))
    >>> survey = Collection(schema, PairSample(schema.sizes, 2.0))
    >>> held = [["sales", "yes"]] * 4000 + [["sales", "no"]] * 1000 + [["support", "no"]] * 3000
    >>> codes = [[("sales", "support").index(a), ("yes", "no").index(b)] for a, b in held]
    >>> reports = survey.mechanism.randomize(codes, SimulationRandomness(1))
    >>> table = crosstabs(survey, survey.aggregate(reports))["team", "content"]
    >>> [round(end, 2) for end in table.difference("yes", groups=("sales", "support")).interval()]
    [0.78, 0.85]
    >>> table.odds_ratio().determined()
    False
    >>> table.independence().p_value < 0.001
    True
    """
    if isinstance(source, Collection):
        source.check(aggregate)
        mechanism: Any = source.mechanism
        columns, made_from = source.schema.columns, source.source(aggregate)
        names: Sequence[Any] = [column.name for column in columns]
        labels = [column.labels for column in columns]
        titles = [column.title for column in columns]
    else:
        mechanism, made_from = source, aggregate.source
        names, labels = range(len(mechanism.domain)), [tuple(map(str, range(k))) for k in mechanism.domain]
        titles = []
    if not has_tables(mechanism):
        raise MismatchError(
            f"a cross table needs reports that combine two answers, but a report of {mechanism.name} is about one "
            "answer: collect again with PairSample (`deniable collection --pairs`)"
        )
    return Crosstabs(mechanism.tables(aggregate), names, labels, made_from, titles)

"""Means and quantiles of a plain outcome within the groups of a randomised answer, without a model.

T are the unbiased indicators of a group. The mean of the group is estimated as sum T y / sum T, and its interval is
Fieller's. The distribution function of a group, sum T 1[y <= t] / sum T, need not increase, so the code makes it
increasing. The interval of a quantile contains all t at which a test does not reject F(t) = p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from deniable.core.checks import checked_kind, checked_probability
from deniable.core.fieller import fieller
from deniable.errors import InvalidInputError, InvalidParameterError, quoted
from deniable.models.privacy import privacy_statement
from deniable.models.reading import Missing, complete, rows_of
from deniable.models.row_laws import Floats
from deniable.survey.collection import Collection

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class GroupValues:
    """One number for each group, with its interval.

    Parameters
    ----------
    labels : tuple of str
        Labels of the groups.
    values : float64[k]
        Means or quantiles.
    standard_errors : float64[k]
        Standard errors of means. NaN for quantiles.
    lower, upper : float64[k]
        Ends of the intervals. Infinite if the reports do not determine a group.
    statement : str
        The privacy statement.
    dropped : int
        Number of rows left out because a value was missing.
    """

    labels: tuple[str, ...]
    values: Floats
    standard_errors: Floats
    lower: Floats
    upper: Floats
    statement: str = ""
    dropped: int = 0

    def to_pandas(self) -> pandas.DataFrame:
        """Return a row for each group."""
        import pandas

        columns = {
            "value": self.values,
            "standard_error": self.standard_errors,
            "lower": self.lower,
            "upper": self.upper,
        }
        return pandas.DataFrame(columns, index=list(self.labels))


def group_means(
    indicators: Floats, outcome: Floats, labels: Sequence[str] = (), confidence: float = 0.95, statement: str = ""
) -> GroupValues:
    """Return the mean of a plain outcome in every group, with Fieller's interval.

    Parameters
    ----------
    indicators : float64[n, k]
        Unbiased indicators of the groups (`Mechanism.indicators`).
    outcome : float64[n]
        The plain outcome.
    labels : sequence of str, optional
        Names of the groups. By default their codes.
    confidence : float
        Level of the intervals.
    statement : str
        The privacy statement.

    Examples
    --------
    >>> from deniable import GRR, SimulationRandomness
    >>> grr, group = GRR(k=2, epsilon=3.0), np.repeat([0, 1], 500)
    >>> reports = grr.randomize(group, SimulationRandomness(1))
    >>> group_means(grr.indicators(reports).values, 1.0 + group).values.round(2)
    array([1.02, 1.99])
    """
    level = checked_probability("confidence", confidence, open_interval=True)
    n, k = indicators.shape
    z = float(stats.norm.ppf(0.5 + level / 2))
    tops, bottoms = indicators.T @ outcome / n, indicators.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = tops / bottoms
        rest = indicators * (outcome[:, None] - means)
        errors = np.sqrt((rest**2).sum(axis=0) / (n * (n - 1))) / np.abs(bottoms)
    ends = []
    for group in range(k):
        pairs = np.stack([indicators[:, group] * outcome, indicators[:, group]])
        own, both, other = _second_moments(pairs - pairs.mean(axis=1, keepdims=True)) / (n * (n - 1))
        ends.append(fieller(float(tops[group]), float(bottoms[group]), (own, both, other), z))
    lower, upper = np.array(ends).T
    names = tuple(labels) or tuple(map(str, range(k)))
    return GroupValues(names, means, errors, lower, upper, statement)


def _second_moments(pairs: Floats) -> Floats:
    return np.array([pairs[0] @ pairs[0], pairs[0] @ pairs[1], pairs[1] @ pairs[1]])


def group_quantiles(
    indicators: Floats,
    outcome: Floats,
    share: float = 0.5,
    labels: Sequence[str] = (),
    confidence: float = 0.95,
    statement: str = "",
) -> GroupValues:
    """Return a quantile of a plain outcome in every group, with its interval.

    Let F be the distribution function of the outcome in a group. The interval contains all t for which the test of
    F(t) = share does not reject.

    Parameters
    ----------
    indicators, outcome, labels, confidence, statement
        See `group_means`.
    share : float
        Share of the quantile, in (0, 1). 0.5 is the median.

    Examples
    --------
    >>> from deniable import GRR, SimulationRandomness
    >>> grr, group = GRR(k=2, epsilon=3.0), np.repeat([0, 1], 500)
    >>> reports = grr.randomize(group, SimulationRandomness(1))
    >>> group_quantiles(grr.indicators(reports).values, np.arange(1000.0)).values.round(-1)
    array([250., 750.])
    """
    checked_probability("share", share, open_interval=True)
    level = checked_probability("confidence", confidence, open_interval=True)
    critical = float(stats.chi2.ppf(level, 1))
    order = np.argsort(outcome, kind="stable")
    points, places = outcome[order], indicators[order]
    # Several rows with the same value are one point.
    last = np.append(points[1:] != points[:-1], True)
    found = []
    for own in places.T:
        total = own.sum()
        if total <= 0:
            found.append((np.nan, -np.inf, np.inf))
            continue
        cumulative = np.cumsum(own)
        below = np.maximum.accumulate(cumulative[last] / total)
        value = points[last][min(int(np.searchsorted(below, share)), int(last.sum()) - 1)]
        # The sum of T (1[y <= t] - share) has mean zero at the quantile t.
        sums = cumulative[last] - share * total
        squares = np.cumsum(own**2)
        spread = squares[last] * (1 - 2 * share) + share**2 * squares[-1] - sums**2 / len(own)
        kept = sums**2 <= critical * spread
        if not kept.any():
            found.append((value, value, value))
            continue
        inside = np.flatnonzero(kept)
        low = -np.inf if inside[0] == 0 else points[last][inside[0]]
        high = np.inf if inside[-1] >= len(kept) - 1 else points[last][inside[-1] + 1]
        found.append((value, min(low, value), max(high, value)))
    values, lower, upper = np.array(found, dtype=np.float64).T
    names = tuple(labels) or tuple(map(str, range(len(values))))
    return GroupValues(names, values, np.full(len(values), np.nan), lower, upper, statement)


def by_group(
    outcome: str,
    group: str,
    survey: Collection,
    reports: Any,
    people: Any,
    *,
    quantile: float | None = None,
    confidence: float = 0.95,
    key: str | None = None,
    missing: Missing = "category",
) -> GroupValues:
    """Analyst: return the mean or a quantile of a plain column within the groups of a randomised answer.

    Parameters
    ----------
    outcome : str
        Name of a column of numbers.
    group : str
        Name of an attribute of the survey.
    survey, reports, people, key, missing
        See `fit`. "No answer" is a group of its own.
    quantile : float, optional
        Share of the quantile, in (0, 1). By default the mean is returned.
    confidence : float
        Level of the intervals.

    Raises
    ------
    InvalidParameterError
        If the survey has no such group.
    InvalidInputError
        If the outcome is not a column of finite numbers, or is incomplete with `missing="refuse"`.

    Examples
    --------
    >>> from deniable import GRR, Attribute, Collection, Schema, SimulationRandomness
    >>> survey = Collection(Schema((Attribute("smoker", ("no", "yes")),)), GRR(k=2, epsilon=3.0))
    >>> smokes = np.repeat([0, 1], [700, 300])
    >>> reports = survey.randomize(smokes[:, None], SimulationRandomness(1))
    >>> by_group("cigarettes", "smoker", survey, reports, {"cigarettes": 12.0 * smokes}).values.round(1)
    array([ 0. , 11.5])
    """
    checked_kind("survey", survey, Collection)
    if group not in survey.schema.names:
        raise InvalidParameterError(
            f"group must be an attribute of the survey ({', '.join(survey.schema.names)}), got group={quoted(group)}"
        )
    place = survey.schema.names.index(group)
    rows = rows_of(survey, reports, people, key)
    if outcome not in rows.table.columns:
        raise InvalidInputError(
            f"the table must have the column {quoted(outcome)}, got {', '.join(rows.table.columns)}"
        )
    kept = complete(rows, [outcome], missing)
    dropped = int((~kept).sum())
    told = survey.mechanism.indicators(rows.reports, [place])
    try:
        y = rows.table[outcome].to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        y = np.full(len(kept), np.nan)  # Texts are not numbers.
    if not np.isfinite(y[kept]).all():
        raise InvalidInputError(f"{outcome} must contain only finite numbers; leave out the rows with other values")
    kept &= told.asked
    if not kept.any():
        raise InvalidInputError(
            f"{outcome} must have at least one finite number in the rows whose report is about {group}, got no finite "
            "number"
        )
    labels = survey.schema.columns[place].labels
    statement = privacy_statement(survey.mechanism, survey.privacy())
    if quantile is None:
        found = group_means(told.values[kept], y[kept], labels, confidence, statement)
    else:
        found = group_quantiles(told.values[kept], y[kept], quantile, labels, confidence, statement)
    return replace(found, dropped=dropped)

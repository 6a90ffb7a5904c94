"""Summary of a crosstab as data, with sentences first, then tables, intervals and the test.

Sentences are made from the numbers. They mention the clearest difference between any two rows and for any column. The
interval of this difference allows for the choice (Bonferroni).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.answers.crosstab import Crosstab, Independence
from deniable.core.checks import Target, checked_probability
from deniable.core.privacy import Guarantee
from deniable.core.result import HIDDEN, Result
from deniable.core.spreadsheets import csv_text
from deniable.errors import quoted
from deniable.records.dependence.decoding import NEARLY_INDEPENDENT

Floats = NDArray[np.float64]

VISIBLE = 0.05
"""Below this p-value a sentence says that two answers are related."""


@dataclass(frozen=True, eq=False)
class Difference(Result):
    """The clearest difference between two rows.

    Parameters
    ----------
    of : str
        The column.
    groups : (str, str)
        The two rows, the one with the larger share first.
    value, lower, upper : float
        The difference, and its interval.
    comparisons : int
        Number of differences that it was chosen from, which the interval allows for.
    """

    of: str
    groups: tuple[str, str]
    value: float
    lower: float
    upper: float
    comparisons: int


@dataclass(frozen=True, eq=False)
class CrosstabSummary(Result):
    """A crosstab with intervals and notes, as `summarize_crosstab` returns it.

    Parameters
    ----------
    title : str
        Title of the collection, or "".
    rows, columns : str
        The attributes.
    row_labels, column_labels : tuple of str
        Their categories.
    reports, contributors : int
        Number of reports about this pair, and number of all contributors.
    confidence : float
        Confidence of the intervals.
    target : {"contributors", "population"}
        Target of the intervals of cells, shares and the difference.
    raw : float64[rows, columns]
        Unbiased joint frequencies from this pair's reports alone.
    consistent, standard_errors, lower, upper : float64[rows, columns]
        Unbiased joint frequencies that agree with all other tables, their standard errors, and their interval ends.
    shares, share_lower, share_upper : float64[rows, columns]
        Share of every column within every row, with bounds. Bounds that are not determined are NaN.
    difference : Difference or None
        The clearest difference between two rows, or None if no difference is determined.
    independence : Independence
        Test of whether the attributes are independent.
    association, association_lower, association_upper : float
        Cramer's V of the population with its interval. The ends are NaN if no interval is known.
    decoded : float64[rows, columns]
        The table after the post-processing step "dependence"; it has no intervals.
    dependence : float
        Share of the raw interaction between the attributes that the step "dependence" kept, as a mean over the table.
    guarantee : Guarantee
        Guarantee for the contributors.
    collection : str
        Id of the collection, or "".
    """

    format = "deniable crosstab"
    also: ClassVar = {"sentences": "sentences", "step": "step"}

    step: ClassVar[str] = "dependence"
    """Name of the step that made `decoded`."""

    title: str
    rows: str
    columns: str
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    reports: int
    contributors: int
    confidence: float
    target: Target
    raw: Floats
    consistent: Floats
    standard_errors: Floats
    lower: Floats
    upper: Floats
    shares: Floats
    share_lower: Floats
    share_upper: Floats
    difference: Difference | None
    independence: Independence
    association: float
    association_lower: float
    association_upper: float
    decoded: Floats
    dependence: float
    guarantee: Guarantee = field(metadata=HIDDEN)
    collection: str = ""

    def csv(self) -> str:
        """Return all numbers as CSV, one cell of the table in each row; numbers that do not exist are empty.

        Labels that a spreadsheet would run as formulas begin with an apostrophe.
        """
        parts = {
            "estimate": self.consistent,
            "standard_error": self.standard_errors,
            "lower": self.lower,
            "upper": self.upper,
            "share": self.shares,
            "share_lower": self.share_lower,
            "share_upper": self.share_upper,
            "decoded": self.decoded,
        }
        rows: list[tuple[str, ...]] = [(self.rows, self.columns, *parts)]
        for i, group in enumerate(self.row_labels):
            for j, label in enumerate(self.column_labels):
                values = (float(part[i, j]) for part in parts.values())
                rows.append((group, label, *("" if math.isnan(value) else repr(value) for value in values)))
        return csv_text(rows)

    @property
    def level_text(self) -> str:
        """The confidence as text, such as "95%" or "99.5%"."""
        return f"{100 * self.confidence:.10g}%"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the results in sentences, the most important first."""
        found = (self._test_sentence, self._difference_sentence, self._association_sentence, self._decoder_sentence)
        return tuple(sentence for sentence in found if sentence)

    @property
    def _test_sentence(self) -> str:
        test, both = self.independence, f"{quoted(self.rows)} and {quoted(self.columns)}"
        if not test.determined:
            asked = f"; a test needs {test.reports_needed:,}" if test.reports_needed else ""
            return f"Whether {both} are related is not determined: {self.reports:,} reports of this pair{asked}."
        chance = "less than 1 in 1,000" if test.p_value < 0.001 else f"{test.p_value:.3f}"
        if test.p_value < VISIBLE:
            return f"{both} are related: independent answers would show as much with probability {chance}."
        return (
            f"These reports do not show that {both} are related: independent answers would show as much with "
            f"probability {test.p_value:.2f}. This does not prove that they are unrelated."
        )

    @property
    def _difference_sentence(self) -> str:
        found = self.difference
        if found is None:
            return (
                f"No difference between two groups of {quoted(self.rows)} is determined: too few reports of this pair."
            )
        one, other = (self.row_labels.index(group) for group in found.groups)
        column = self.column_labels.index(found.of)
        clear = found.lower > 0
        allowed = (
            f", an interval that allows for the choice among {found.comparisons:,}" if found.comparisons > 1 else ""
        )
        ends = f"{100 * found.lower:.1f} to {100 * found.upper:.1f} points with {self.level_text} confidence{allowed}"
        if not clear:
            none = f"No two groups of {quoted(self.rows)} differ for certain"
            if found.comparisons > MOST_COMPARED:
                which = f"the {MOST_COMPARED:,} largest differences between groups of {quoted(self.rows)}"
                none = f"None of {which} is certain"
            groups = " and ".join(map(quoted, found.groups))
            return f"{none}. The clearest difference is in {quoted(found.of)}, between {groups}: {ends}."
        return (
            f"{quoted(found.of)} is the answer of {self._share(one, column)} of {quoted(found.groups[0])} and of "
            f"{self._share(other, column)} of {quoted(found.groups[1])}; the difference is {ends}."
        )

    def _share(self, row: int, column: int) -> str:
        # An estimate outside of [0, 1] is shown as the nearest possible share.
        return f"{100 * min(max(float(self.shares[row, column]), 0.0), 1.0):.0f}%"

    @property
    def _association_sentence(self) -> str:
        if not self.reports:
            return ""
        if math.isnan(self.association_lower):
            return f"Cramer's V is not determined: {self.reports:,} reports of this pair are too few for an interval."
        ends = f"{self.association_lower:.2f} to {self.association_upper:.2f}"
        return f"Cramer's V is {self.association:.2f} ({ends}); 0 is independence, 1 the strongest dependence."

    @property
    def _decoder_sentence(self) -> str:
        if not self.dependence < NEARLY_INDEPENDENT:
            return ""
        return (
            "The decoded table is nearly that of independent answers, because there are few reports or little "
            f"dependence: it keeps {100 * self.dependence:.0f}% of what the raw table has beyond its margins."
        )


def summarize_crosstab(
    table: Crosstab,
    guarantee: Guarantee,
    *,
    title: str = "",
    collection: str = "",
    confidence: float = 0.95,
    target: Target = "contributors",
) -> CrosstabSummary:
    """Return a crosstab together with its intervals, tests and notes.

    Parameters
    ----------
    table : Crosstab
        Table whose rows are the groups to compare.
    guarantee : Guarantee
        Guarantee for the contributors.
    title, collection : str
        Title and id of the collection.
    confidence, target
        Options of the intervals, see `Crosstab.interval`.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.answers import crosstabs
    >>> from deniable.records.pair_sample import PairSample
    >>> pairs = PairSample(sizes=(2, 2), epsilon=2.0)
    >>> held = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> aggregate = pairs.simulate_aggregate(held, [4000, 1000, 2000, 3000], SimulationRandomness(1))
    >>> summary = summarize_crosstab(crosstabs(pairs, aggregate)[0, 1], pairs.privacy())
    >>> print(summary.sentences[0])
    “0” and “1” are related: independent answers would show as much with probability less than 1 in 1,000.
    """
    level = checked_probability("confidence", confidence, open_interval=True)
    lower, upper = table.interval(level, target=target)
    shares, share_lower, share_upper = table.conditionals(level, target=target)
    association = table.cramers_v()
    low, high = association.interval(level) if association.has_interval else (math.nan, math.nan)
    return CrosstabSummary(
        title=title,
        rows=table.names[0],
        columns=table.names[1],
        row_labels=table.labels[0],
        column_labels=table.labels[1],
        reports=table.n,
        contributors=table.contributors,
        confidence=level,
        target=target,
        raw=table.raw,
        consistent=table.consistent,
        standard_errors=table.standard_errors(target),
        lower=lower,
        upper=upper,
        shares=shares,
        share_lower=share_lower,
        share_upper=share_upper,
        difference=_clearest(table, level, target),
        independence=table.independence(),
        association=association.value,
        association_lower=low,
        association_upper=high,
        decoded=table.decoded.frequencies,
        dependence=table.decoded.dependence,
        guarantee=guarantee,
        collection=collection,
    )


MOST_COMPARED = 2_000
"""Most differences whose intervals are computed. If there are more, the largest differences relative to a rough error
are chosen."""


def _largest(table: Crosstab, asked: list[tuple[tuple[int, int], int]]) -> list[tuple[tuple[int, int], int]]:
    """Return the comparisons whose intervals are computed, all or `MOST_COMPARED`, in the requested order."""
    if len(asked) <= MOST_COMPARED:
        return asked
    # The error of a share is roughly the error of a cell over the row's frequency. Rows that may be empty come last.
    margins = np.maximum(table.consistent.sum(axis=1), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = table.consistent / margins[:, None]
        one, other, of = (np.array(which) for which in zip(*((*pair, of) for pair, of in asked), strict=True))
        clear = np.abs(shares[one, of] - shares[other, of]) / np.hypot(1 / margins[one], 1 / margins[other])
    first = np.argsort(-np.nan_to_num(clear, nan=0.0, posinf=0.0), kind="stable")[:MOST_COMPARED]
    return [asked[i] for i in np.sort(first)]


def _clearest(table: Crosstab, confidence: float, target: Target) -> Difference | None:
    """Return the difference that is most standard errors from 0, for the first column only if there are two."""
    rows, columns = len(table.labels[0]), len(table.labels[1])
    asked = [(pair, of) for of in range(1 if columns == 2 else columns) for pair in combinations(range(rows), 2)]
    found = []
    for pair, of in _largest(table, asked):
        answer = table.difference(of, groups=pair)
        error = answer.standard_error_for(target)
        known = error > 0 and math.isfinite(answer.value)
        if known and answer.determined(confidence, target=target, simultaneous=len(asked)):
            found.append((abs(answer.value) / error, pair, of, answer))
    if not found:
        return None
    _, pair, of, answer = max(found, key=lambda one: one[0])
    lower, upper = answer.interval(confidence, target=target, simultaneous=len(asked))
    one, other = (table.labels[0][row] for row in pair)
    if answer.value < 0:
        one, other, lower, upper = other, one, -upper, -lower
    return Difference(table.labels[1][of], (one, other), abs(answer.value), lower, upper, len(asked))

"""Warnings about rare categories that determine the leakage, and records with rare categories merged.

A leakage is a maximum over categories. A country with a handful of residents can determine the figure for everybody,
although the figure is about a few people and depends largely on chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import Codes, checked_probability, checked_records
from deniable.leakage.prior.correlation import worst_case_cpl
from deniable.leakage.prior.distributions import Floats
from deniable.leakage.prior.empirical_prior import Observed
from deniable.survey.attribute import Attribute
from deniable.survey.schema import Schema

RARE_SHARE = 0.05
"""A category with a smaller share of the records is rare."""

_DECIDES = 0.8
"""Rare categories decide a leakage if merging them reduces it to less than this share."""

_MATTERS = 0.1
"""Leakages below this share of the budget are not worth a warning."""

_SHOWN = 3


def merged_places(held: NDArray[np.integer], share: float) -> NDArray[np.int64]:
    """Return the place of each category when those held by less than a share are one, the last; if there are several.

    Examples
    --------
    >>> merged_places(np.array([50, 46, 3, 1]), 0.05)
    array([0, 1, 2, 2])
    >>> merged_places(np.array([50, 49, 1]), 0.05)
    array([0, 1, 2])
    """
    rare = held < share * held.sum()
    if rare.sum() < 2:
        return np.arange(len(held))
    return np.where(rare, int((~rare).sum()), np.cumsum(~rare) - 1)


def merge_rare(records: ArrayLike, schema: Schema, share: float = RARE_SHARE) -> tuple[Codes, Schema, tuple[str, ...]]:
    """Return records and schema with the rare categories of each attribute merged into one category.

    Parameters
    ----------
    records : int[n, d]
        Codes of the schema's attributes.
    schema : Schema
        Names and labels.
    share : float
        Share of the records below which a category is rare, in [0, 1].

    Returns
    -------
    codes, schema, notes
        The records with new codes, the schema with fewer categories, and notes on which categories were merged.

    Raises
    ------
    InvalidInputError
        If a code is out of range.
    InvalidParameterError
        If `share` is out of range.

    Examples
    --------
    >>> schema = Schema((Attribute("country", ("fr", "de", "lu", "li")), Attribute("smoker", ("yes", "no"))))
    >>> records = np.repeat([[0, 0], [1, 1], [2, 0], [3, 1]], [50, 46, 3, 1], axis=0)
    >>> codes, smaller, notes = merge_rare(records, schema)
    >>> smaller.columns[0].labels, codes.max(axis=0).tolist(), notes
    (('fr', 'de', 'lu, li'), [2, 1], ('country: 2 categories held by less than 5% each are merged',))
    """
    codes, least = checked_records(records, schema.sizes), checked_probability("share", share)
    columns, attributes, notes = [], [], []
    for j, attribute in enumerate(schema.columns):
        places = merged_places(np.bincount(codes[:, j], minlength=schema.sizes[j]), least)
        columns.append(places[codes[:, j]])
        members = [[label for label, at in zip(attribute.labels, places, strict=True) if at == place]
                   for place in range(int(places.max()) + 1)]  # fmt: skip
        if len(members) == len(places):
            attributes.append(attribute)
            continue
        attributes.append(Attribute(attribute.name, tuple(_joined(labels) for labels in members)))
        which = f"{len(members[-1])} categories held by less than {100 * least:.3g}% each"
        notes.append(f"{attribute.name}: {which} are merged")
    return np.column_stack(columns), Schema(tuple(attributes)), tuple(notes)


def _joined(labels: Sequence[str]) -> str:
    shown = ", ".join(labels[:_SHOWN])
    return shown if len(labels) <= _SHOWN else f"{shown} and {len(labels) - _SHOWN} others"


def rare_warnings(data: Observed, epsilons: Floats, share: float = RARE_SHARE) -> tuple[str, ...]:
    """Return a warning if rare categories determine the leakage about some attribute, by Algorithm 2.

    Parameters
    ----------
    data : Observed
        The records.
    epsilons : float64[d]
        Budget of each attribute's release.
    share : float
        A category with a smaller share of the records is rare.

    Examples
    --------
    >>> from deniable.leakage.prior.empirical_prior import observed
    >>> rows = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [3, 1]], [240, 240, 240, 240, 20, 20], axis=0)
    >>> (told,) = rare_warnings(observed(rows, (4, 2), ["country", "smoker"]), np.array([1.0, 1.0]))
    >>> print(told.partition(". ")[0])
    categories held by less than 5% of the records decide what is leaked about country (1.00, merged 0.00)
    """
    d = len(data.sizes)
    places = [merged_places(np.diagonal(data.counts.table(j, j)), share) for j in range(d)]
    merged = [int(place.max()) + 1 < size for place, size in zip(places, data.sizes, strict=True)]
    if not any(merged):
        return ()
    before, after = np.zeros((d, d)), np.zeros((d, d))
    for i in range(d):
        for j in (j for j in range(d) if j != i):
            table = data.counts.table(i, j)
            before[i, j] = after[i, j] = _worst(table, float(epsilons[j]))
            if merged[i] or merged[j]:
                smaller = np.zeros((int(places[i].max()) + 1, int(places[j].max()) + 1))
                np.add.at(smaller, (places[i][:, None], places[j]), table)
                after[i, j] = _worst(smaller, float(epsilons[j]))
    was, left = before.max(axis=1), after.max(axis=1)
    least = _MATTERS * epsilons.max()
    decided = [i for i in np.argsort(left - was) if left[i] < _DECIDES * was[i] and was[i] > least]
    if not decided:
        return ()
    shown = [f"{data.names[i]} ({was[i]:.2f}, merged {left[i]:.2f})" for i in decided[:_SHOWN]]
    rest = [f"{len(decided) - _SHOWN} more"] if len(decided) > _SHOWN else []
    *most, last = [*shown, *rest]
    named = f"{', '.join(most)} and {last}" if most else last
    return (
        f"categories held by less than {100 * share:.3g}% of the records decide what is leaked about {named}. If "
        f"these categories are merged, the question leaks less: --merge-rare {share:g} shows the figures",
    )


def _worst(table: NDArray[np.integer] | Floats, epsilon: float) -> float:
    return worst_case_cpl(table / table.sum(axis=1, keepdims=True), epsilon).epsilon

"""Comparison of two collections for every answer: two waves, two departments, or the same people twice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.answers.asked import IntervalOptions, Row, row, shares
from deniable.answers.independent import difference
from deniable.core.aggregate import Aggregate
from deniable.core.answer import Answer
from deniable.core.checks import Target, listed
from deniable.core.estimate import Estimate
from deniable.core.privacy import Guarantee
from deniable.core.questions import same_scores
from deniable.core.result import HIDDEN, OPTIONAL, Result
from deniable.errors import InvalidParameterError, MismatchError, NoIntervalError, quoted
from deniable.oracles.paired import FEWEST_CHANGED, PairCounts
from deniable.survey.collection import Collection

Floats = NDArray[np.float64]


MOST_SCALE = 12
"""Most categories of a scale that are compared one by one. On a longer scale the mean is compared."""


@dataclass(frozen=True, eq=False)
class AttributeComparison(Result):
    """Attribute of both collections, with arrays over its k categories and NaN for numbers that do not exist.

    Parameters
    ----------
    attribute, title : str
        Its name, and what people call it.
    categories : tuple of str
        Category names.
    first, second, change, standard_error, lower, upper : float64[k]
        Frequency in either collection, second less first, its standard error and its interval.
    joint_lower, joint_upper : float64[k]
        Interval of the change that holds together with those of all other categories of the page.
    mean : Row or None
        Change of the mean score, if categories have scores.
    note : str
        Reason why there is no interval; empty if there is one.
    mean_note : str
        Reason why means are not compared although categories have scores; otherwise "".
    """

    also: ClassVar = {"categories": "rows"}

    attribute: str
    categories: tuple[str, ...] = field(metadata=HIDDEN)
    first: Floats = field(metadata=HIDDEN)
    second: Floats = field(metadata=HIDDEN)
    change: Floats = field(metadata=HIDDEN)
    standard_error: Floats = field(metadata=HIDDEN)
    lower: Floats = field(metadata=HIDDEN)
    upper: Floats = field(metadata=HIDDEN)
    joint_lower: Floats = field(metadata=HIDDEN)
    joint_upper: Floats = field(metadata=HIDDEN)
    title: str = field(default="", metadata=OPTIONAL)
    mean: Row | None = field(default=None, metadata=OPTIONAL)
    note: str = field(default="", metadata=OPTIONAL)
    mean_note: str = field(default="", metadata=OPTIONAL)

    @property
    def is_number(self) -> bool:
        """Return whether the categories are points of a long scale, for which only the mean should be read."""
        return self.mean is not None and len(self.categories) > MOST_SCALE

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Estimates of every category, by name."""
        names = ("first", "second", "change", "standard_error", "lower", "upper")
        columns = [getattr(self, name).tolist() for name in names]
        values = zip(*columns, strict=True)
        return [
            {"category": label, **dict(zip(names, found, strict=True))}
            for label, found in zip(self.categories, values, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """Changes from a first collection to a second one, as `compare` returns them.

    Parameters
    ----------
    titles : (str, str)
        Titles of the collections.
    collections : (str, str)
        Ids of the collections.
    n : (int, int)
        Numbers of contributors.
    guarantees : (Guarantee, Guarantee)
        Guarantees of the collections.
    attributes : tuple of AttributeComparison
        Attributes that both collections ask, in the order of the first collection.
    left_out : tuple of str
        Attributes that only one collection asks, or that have different categories.
    confidence, target, together
        Options of the intervals. `together` is the number of intervals that hold together, or 1 if each holds on its
        own.
    same_people : bool
        Whether the same people answered both collections, so that their reports were counted in pairs.
    """

    format = "deniable comparison"
    also: ClassVar = {"sentences": "sentences", "interval": "interval", "guarantees": "promised"}

    titles: tuple[str, str]
    collections: tuple[str, str]
    n: tuple[int, int]
    guarantees: tuple[Guarantee, Guarantee] = field(metadata=HIDDEN)
    attributes: tuple[AttributeComparison, ...]
    left_out: tuple[str, ...] = ()
    confidence: float = field(default=0.95, metadata=HIDDEN)
    target: Target = field(default="population", metadata=HIDDEN)
    together: int = field(default=1, metadata=HIDDEN)
    same_people: bool = field(default=False, metadata=OPTIONAL)

    @property
    def options(self) -> IntervalOptions:
        """Return the options of the intervals."""
        return IntervalOptions(self.confidence, self.target, self.together)

    @property
    def promised(self) -> list[dict[str, Any]]:
        """Both guarantees as data."""
        return [guarantee.to_dict() for guarantee in self.guarantees]

    @property
    def interval(self) -> dict[str, Any]:
        """Description of the intervals as data and in words."""
        return {
            "confidence": self.confidence,
            "target": self.target,
            "together": self.together,
            "covers": self.interval_text,
        }

    @property
    def interval_text(self) -> str:
        """Target of the intervals."""
        one, other = (f"{n:,}" for n in self.n)
        covers = (
            f"the change in the population that these {one} contributors were drawn from, whose two reports are taken "
            "together: the noise of the randomisation and of the sampling"
            if self.same_people
            else f"the change from those {one} contributors to these {other}: the noise of the randomisation only"
            if self.target == "contributors"
            else f"the change between the populations that {one} and {other} contributors were drawn from: the "
            "noise of the randomisation and of the sampling"
        )
        together = f"; all {self.together:,} hold together" if self.together > 1 else ""
        return f"The {self.options.level} interval covers {covers}{together}."

    @property
    def sentences(self) -> list[str]:
        """Changes in words.

        Only categories with a clear change are named. For this purpose, the intervals of all changes are widened so
        that they hold together. A change is clear if its widened interval does not contain 0.
        """
        return [sentence for one in self.attributes for sentence in self._said(one)]

    def _said(self, one: AttributeComparison) -> list[str]:
        name = quoted(one.title or one.attribute)
        if one.note:
            return [f"No change of {name} is known: {one.note}."]
        said = [one.mean.sentence] if one.mean is not None else []
        said += [f"No change of the mean of {name} is known: {one.mean_note}."] if one.mean_note else []
        if one.is_number:
            return said
        if np.isnan(one.change).all():
            return said or [f"No change of {name} is known: one of the collections has no reports about it."]
        lower, upper = one.joint_lower, one.joint_upper
        shown = (lower > 0) | (upper < 0)
        for i in np.flatnonzero(shown):
            write = shares(float(one.standard_error[i]))
            low, high = sorted(abs(float(end)) for end in (lower[i], upper[i]))
            verb = "rose" if one.change[i] > 0 else "fell"
            said.append(
                f"{quoted(one.categories[i])} of {name} {verb} by {_points(write, abs(float(one.change[i])))}: by "
                f"{write(low).removesuffix('%')} to {_points(write, high)}, with {self.options.level} confidence in "
                "all changes named here."
            )
        if not shown.any():
            widest = float(np.nanmax(np.maximum(-lower, upper)))
            said.append(
                f"No category of {name} can be said to have changed: changes of up to "
                f"{_points(shares(widest / 10), widest)} would not show."
            )
        return said


def _points(write: Any, value: float) -> str:
    """Return a difference of percentages, in percentage points."""
    return f"{write(value).removesuffix('%')} points"


def compare(
    first: tuple[Collection, Aggregate],
    second: tuple[Collection, Aggregate],
    *,
    independent: bool,
    confidence: float = 0.95,
    target: Target = "population",
    simultaneous: bool = False,
    attributes: Sequence[str] | None = None,
) -> Comparison:
    """Analyst: compare two collections with different contributors, the second minus the first.

    Parameters
    ----------
    first, second : (Collection, Aggregate)
        Each collection with the aggregate of its reports. Attributes with equal names and categories are compared.
        Their means are compared if the categories also have equal scores.
    independent : bool
        True if nobody is in both collections; see `difference`.
    confidence : float
        Coverage of the intervals, in (0, 1).
    target : {"population", "contributors"}
        Target of the intervals: the population from which people were drawn, or these contributors.
    simultaneous : bool
        If True, all intervals hold together.
    attributes : sequence of str, optional
        Compare only these attributes, given by name or by title. Choose them before you look at the numbers.

    Raises
    ------
    InvalidParameterError
        If `independent` is not True, or a requested attribute is not in both collections.
    MismatchError
        If the collections share contributors, or a collection was learned from the other. Also if an aggregate does not
        belong to its collection, or the collections have no attribute in common.

    Examples
    --------
    >>> from deniable import GRR, Attribute, Schema, SimulationRandomness
    >>> from dataclasses import replace
    >>> schema, waves = Schema((Attribute("vote", ("A", "B")),)), []
    >>> for title, votes in ("May", [900, 1100]), ("June", [1100, 900]):
    ...     survey = Collection(schema, GRR(k=2, epsilon=2.0), title=title)
    ...     counted = survey.mechanism.simulate_aggregate(votes, SimulationRandomness(1))
    ...     waves.append((survey, replace(counted, collection=survey.id)))
    >>> compare(*waves, independent=True).sentences[0]
    '“A” of “vote” rose by 10.1 points: by 5.5 to 14.7 points, with 95% confidence in all changes named here.'
    """
    if independent is not True:
        raise InvalidParameterError(
            "independent=True must be given to confirm that nobody reported to both collections. If the same people "
            "reported to both collections, compare the reports row by row with trend (`deniable compare "
            "--same-people`), because no interval for the same people can be computed from aggregates",
            parameters=("independent=True",),
        )
    estimates = [collection.estimate(aggregate) for collection, aggregate in (first, second)]
    one, other = estimates
    common = [name for name in map(str, one) if name in other and other[name].labels == one[name].labels]
    names = (
        common if attributes is None else list(dict.fromkeys(_name(asked, common, estimates) for asked in attributes))
    )
    for name in names:
        if name not in common:
            raise InvalidParameterError(
                "attributes must name attributes that both collections ask with the same categories "
                f"({listed(common)}), or their titles, got {quoted(name)}"
            )
    if not names:
        raise MismatchError(
            "collections must share an attribute with the same categories, but these two collections share no such "
            "attribute"
        )
    scored = [name for name in names if one[name].scores is not None and same_scores(one[name], other[name])]
    named = [name for name in names if name not in scored or one[name].k <= MOST_SCALE]
    everyone = sum(one[name].k for name in named)
    together = sum(one[name].k for name in names) + len(scored) if simultaneous else 1
    options = IntervalOptions(confidence, target, together)
    joint = IntervalOptions(confidence, target, max(everyone, together, 1))
    parts = tuple(_compared(one[name], other[name], (options, joint), independent) for name in names)
    everything = dict.fromkeys([*map(str, one), *map(str, other)])
    return Comparison(
        (first[0].title, second[0].title),
        (first[0].id, second[0].id),
        (first[1].n, second[1].n),
        (first[0].privacy(), second[0].privacy()),
        parts,
        tuple(name for name in everything if name not in common),
        confidence,
        target,
        together,
    )


def _name(asked: str, common: Sequence[str], estimates: Sequence[Any]) -> str:
    """Return the name of the only common attribute with this title, or what was asked."""
    titled = {name for name in common for one in estimates if asked and one[name].title == asked}
    return titled.pop() if len(titled) == 1 and asked not in common else asked


def _compared(
    one: Estimate, other: Estimate, pair: tuple[IntervalOptions, IntervalOptions], independent: bool
) -> AttributeComparison:
    options, joint = pair
    changes = [
        difference(after, before, independent=independent)
        for before, after in ((one.total(label), other.total(label)) for label in one.labels)
    ]
    note = ""
    bounds = together = np.full((one.k, 2), math.nan)
    try:
        bounds, together = (np.array([change.interval(**how.single) for change in changes]) for how in (options, joint))
    except NoIntervalError as error:
        note = str(error)
    mean, mean_note = None, ""
    if not same_scores(one, other):
        mean_note = "the two collections give its categories different scores, so its means are not compared"
    elif one.scores is not None:
        change: Answer = difference(other.mean(), one.mean(), independent=independent)
        about = f"the change of the mean of {quoted(one.title or one.attribute)}"
        mean = row(change, "score", about, options, one.contributors + other.contributors)
    return AttributeComparison(
        one.attribute,
        one.labels,
        one.frequencies,
        other.frequencies,
        np.array([change.value for change in changes]),
        np.array([change.standard_error_for(options.target) for change in changes]),
        bounds[:, 0],
        bounds[:, 1],
        together[:, 0],
        together[:, 1],
        one.title,
        mean,
        note,
        mean_note,
    )


def trend(
    first: Collection,
    second: Collection,
    pairs: PairCounts,
    *,
    confidence: float = 0.95,
    simultaneous: bool = False,
) -> Comparison:
    """Analyst: compare two waves that the same people answered: the second minus the first.

    The intervals are for the population. They allow for the dependence between the two reports of a person
    (`PairCounts.trend`). A category has no interval if fewer than ten people have reports that support it in exactly
    one of the waves.

    Parameters
    ----------
    first, second : Collection
        Collections of the waves. Each asks the same single question, with the same categories and the same mechanism.
    pairs : PairCounts
        Counts of both reports of every person.
    confidence : float
        Coverage of the intervals, in (0, 1).
    simultaneous : bool
        If True, all intervals hold together.

    Raises
    ------
    MismatchError
        If the two waves have different categories, or a wave or the pairs are of another mechanism.
    InvalidParameterError
        If the pairs count no people, or a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import Attribute, Schema, SimulationRandomness
    >>> from deniable.oracles import MemoisedGRR
    >>> from deniable.oracles.paired import pair_counts
    >>> schema = Schema((Attribute("smoker", ("yes", "no")),))
    >>> coins, rng = MemoisedGRR(k=2, epsilon_forever=2, epsilon_once=1), SimulationRandomness(1)
    >>> spring, autumn = (Collection(schema, coins, title=title) for title in ("spring", "autumn"))
    >>> kept = coins.permanent([0] * 4000 + [1] * 6000, rng)
    >>> found = trend(spring, autumn, pair_counts(coins, coins.report(kept, rng), coins.report(kept, rng)))
    >>> found.sentences
    ['No category of “smoker” can be said to have changed: changes of up to 3.28 points would not show.']
    """
    mechanism, attribute = pairs.mechanism, first.schema.attributes[0]
    for wave in (first, second):
        if wave.mechanism != mechanism:
            raise MismatchError(
                f"the pairs were counted for the mechanism {quoted(mechanism)}, but one wave uses "
                f"{quoted(wave.mechanism)}; count the pairs of these two waves"
            )
    if first.schema.attributes[0].labels != second.schema.attributes[0].labels:
        raise MismatchError(
            "both waves must ask the same question with the same categories, but the two waves differ; compare waves "
            "with the same schema"
        )
    together = attribute.k if simultaneous else 1
    found, options = pairs.trend(), IntervalOptions(confidence, "population", together)
    bounds, joint = (found.interval(confidence, number) for number in (together, attribute.k))
    few = "" if np.isfinite(bounds).any() else f"fewer than {FEWEST_CHANGED} people's reports tell the waves apart"
    row = AttributeComparison(
        attribute.name,
        attribute.labels,
        found.first,
        found.second,
        found.change,
        found.standard_error,
        bounds[:, 0],
        bounds[:, 1],
        joint[:, 0],
        joint[:, 1],
        attribute.title,
        note=few,
    )
    return Comparison(
        (first.title, second.title),
        (first.id, second.id),
        (pairs.n, pairs.n),
        (first.privacy(), second.privacy()),
        (row,),
        (),
        options.confidence,
        options.target,
        together,
        same_people=True,
    )

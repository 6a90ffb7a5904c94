"""Answers as data, each with the question, the number with its interval, and a sentence that says both.

Sentences are made from the numbers alone. They say if the reports do not determine an answer. If the interval of a
difference contains 0, they name no direction.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from deniable.core.answer import Answer
from deniable.core.checks import Target, listed
from deniable.core.estimate import Estimate
from deniable.core.ordered import Cdf, Quantile
from deniable.core.result import HIDDEN, OPTIONAL, Result
from deniable.errors import InvalidParameterError, NoIntervalError, quoted
from deniable.survey.schema import Schema

Floats = NDArray[np.float64]
Unit = Literal["share", "score", "category"]

_DIGITS = 3
"""Most digits of a score's standard error that its answer shows."""


@dataclass(frozen=True)
class IntervalOptions:
    """Options for the intervals on a page, the same for all numbers.

    Parameters
    ----------
    confidence : float
        Coverage.
    target : {"contributors", "population"}
        Target of the intervals.
    simultaneous : int
        Number of intervals that hold together.
    malicious : float
        Fraction of malicious contributors.
    anytime : bool
        Whether the intervals of all looks at a growing collection hold together.
    planned : int, optional
        Number of contributors that the analyst planned before the first look.
    """

    confidence: float = 0.95
    target: Target = "contributors"
    simultaneous: int = 1
    malicious: float = 0.0
    anytime: bool = False
    planned: int | None = None

    @property
    def single(self) -> dict[str, Any]:
        """The parameters of `Answer.interval`."""
        return {"confidence": self.confidence, "target": self.target, "simultaneous": self.simultaneous}

    @property
    def full(self) -> dict[str, Any]:
        """The parameters of `Estimate.interval`."""
        return {**self.single, "malicious": self.malicious, "anytime": self.anytime, "planned": self.planned}

    @property
    def plain(self) -> bool:
        """Return whether the intervals are for a single look and for honest contributors."""
        return not (self.malicious or self.anytime)

    @property
    def level(self) -> str:
        """The confidence as text, such as "95%"."""
        return f"{100 * self.confidence:.10g}%"


@dataclass(frozen=True, eq=False)
class Row(Result):
    """Answer to one question, with NaN or an empty text for values that do not exist; an end may be infinite.

    Parameters
    ----------
    question : str
        Question that was asked.
    unit : {"share", "score", "category"}
        Unit of the numbers. For a category they are scores, if the category has a score.
    value, standard_error, lower, upper : float
        Answer, its standard error and the ends of its interval.
    category, lowest, highest : str
        For a quantile: the category, and the ends of its interval.
    note : str
        Reason why there is no interval; empty if there is one.
    sentence : str
        Answer in words.
    """

    question: str
    unit: Unit
    value: float
    standard_error: float
    lower: float
    upper: float
    sentence: str
    category: str = field(default="", metadata=OPTIONAL)
    lowest: str = field(default="", metadata=OPTIONAL)
    highest: str = field(default="", metadata=OPTIONAL)
    note: str = field(default="", metadata=OPTIONAL)

    @property
    def write(self) -> Callable[[float], str]:
        """Return the function that writes a number of this row, as a percentage or as a score rounded by its error."""
        return shares(self.standard_error) if self.unit == "share" else scores(self.standard_error)

    @property
    def interval_text(self) -> str:
        """Text of the interval for a table's cell."""
        if self.unit == "category":
            return f"{self.lowest} to {self.highest}" if self.lowest else "-"
        return "-" if math.isnan(self.lower) else f"{self.write(self.lower)} to {self.write(self.upper)}"

    @property
    def value_text(self) -> str:
        """Text of the answer for a table's cell."""
        return self.category or "-" if self.unit == "category" else self.write(self.value)


@dataclass(frozen=True, eq=False)
class Curve(Result):
    """Distribution function with its band.

    Parameters
    ----------
    attribute : str
        Its attribute.
    categories : tuple of str
        Categories in order, the lowest first.
    value, lower, upper : float64[m]
        Share of answers up to each category, and the ends of the band; NaN if there is none.
    """

    also: ClassVar = {"categories": "rows"}

    attribute: str
    categories: tuple[str, ...] = field(metadata=HIDDEN)
    value: Floats = field(metadata=HIDDEN)
    lower: Floats = field(metadata=HIDDEN)
    upper: Floats = field(metadata=HIDDEN)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Estimates of the share up to every category."""
        names = ("category", "value", "lower", "upper")
        columns = (self.categories, self.value.tolist(), self.lower.tolist(), self.upper.tolist())
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


@dataclass(frozen=True)
class QuestionSet:
    """Further questions about estimates: means, totals and quantiles, by attribute.

    Parameters
    ----------
    means : tuple of str
        Attributes whose mean is wanted.
    totals : tuple of (str, tuple of str)
        Attributes, each with the categories to add up.
    quantiles : tuple of (str, tuple of float)
        Attributes, each with the shares of the wanted quantiles, such as 0.5 for the median.

    Examples
    --------
    >>> from deniable import GRR
    >>> grr = GRR(k=3, epsilon=3.0)
    >>> stars = grr.estimate(grr.aggregate([0, 2, 2, 1, 2] * 20)).named("stars", ["1", "2", "3"], [1, 2, 3])
    >>> rows, curves = QuestionSet(means=("stars",)).of({"stars": stars})
    >>> rows[0].sentence
    'The mean of “stars” among these 100 contributors is 2.463 (95% interval: 2.322 to 2.621).'
    """

    means: tuple[str, ...] = ()
    totals: tuple[tuple[str, tuple[str, ...]], ...] = ()
    quantiles: tuple[tuple[str, tuple[float, ...]], ...] = ()

    @classmethod
    def default(cls, schema: Schema) -> QuestionSet:
        """Return the default questions for a schema: mean and quartiles of every numeric attribute.

        If an attribute is a grid of numbers, estimates of single points are mostly noise. Its mean and quartiles are
        more precise.

        Examples
        --------
        >>> from deniable import Attribute
        >>> age = Attribute("age", kind="numeric", range=(0, 90), grid=10)
        >>> QuestionSet.default(Schema((age, Attribute("smoker", ("yes", "no")))))
        QuestionSet(means=('age',), totals=(), quantiles=(('age', (0.25, 0.5, 0.75)),))
        """
        grids = tuple(column.name for column in schema.columns if column.question_kind.quartiles_shown)
        return cls(means=grids, quantiles=tuple((name, (0.25, 0.5, 0.75)) for name in grids))

    def warnings(self, schema: Schema) -> tuple[str, ...]:
        """Return warnings about the questions, one sentence each, to read before the answers.

        Examples
        --------
        >>> from deniable import Attribute
        >>> towns = Schema((Attribute("town", ("Bern", "Aarau")),))
        >>> QuestionSet(quantiles=(("town", (0.5,)),)).warnings(towns)[0][:57]
        'the categories of “town” are in no order that the schema '
        """
        orderless = {one.name for one in schema.columns if not one.question_kind.in_order(one)}
        return tuple(
            f"the categories of {quoted(name)} are in no order that the schema knows: "
            "its quantiles follow the list as it is"
            for name, _ in self.quantiles
            if name in orderless
        )

    def count(self, estimates: Mapping[Any, Estimate]) -> int:
        """Return the number of intervals that these answers need; a quantile over k categories needs k - 1."""
        bands = sum(max(estimates[name].k - 1, 0) for name, _ in self.quantiles if name in estimates)
        return len(self.means) + len(self.totals) + bands

    def of(
        self,
        estimates: Mapping[Any, Estimate],
        options: IntervalOptions | None = None,
        contributors: int | None = None,
    ) -> tuple[tuple[Row, ...], tuple[Curve, ...]]:
        """Analyst: return the answers to these questions, and the distribution functions behind the quantiles.

        Parameters
        ----------
        estimates : mapping of attribute to Estimate
            Estimates of a collection.
        options : IntervalOptions, optional
            Options of the intervals.
        contributors : int, optional
            Number of contributors, for the sentences. By default the number in the estimate.

        Raises
        ------
        InvalidParameterError
            If there is no such attribute, or the attribute has no scores.
        UnknownCategoryError
            If the attribute has no such category.
        """
        chosen = options or IntervalOptions()
        rows: list[Row] = []
        curves: list[Curve] = []
        for name in self.means:
            one = _attribute(estimates, name)
            about = f"the mean of {_called(one)}{_counted(one)}"
            rows.append(row(one.mean(), "score", about, chosen, contributors or one.contributors))
        for name, labels in self.totals:
            one = _attribute(estimates, name)
            these = " or ".join(map(quoted, labels))
            about = f"the share of {these} of {_called(one)}"
            pooled = None if chosen.plain else one.pooled(labels)
            rows.append(row(one.total(labels), "share", about, chosen, contributors or one.contributors, pooled))
        for name, shares_ in self.quantiles:
            one = _attribute(estimates, name)
            cdf = one.cdf()
            about = f"{_called(one)}{_counted(one)}"
            rows += [_quantile(cdf.quantile(p), name, about, chosen, contributors or one.contributors) for p in shares_]
            if np.isfinite(cdf.values).all():
                curves.append(_curve(name, cdf, chosen))
        return tuple(rows), tuple(curves)


def shares(error: float) -> Callable[[float], str]:
    """Return the function that writes shares as percentages with two digits of an error: 1 to 4 decimals."""
    decimals = min(max(1 - math.floor(math.log10(100 * error)), 1), 4) if 0 < error < math.inf else 1

    def text(value: float) -> str:
        if math.isnan(value):
            return "-"
        if math.isinf(value):
            return "-∞" if value < 0 else "∞"
        written = f"{100 * value:.{decimals}f}%"
        return written[1:] if written.startswith("-") and not written.strip("-0.%") else written

    return text


def scores(error: float) -> Callable[[float], str]:
    """Return the function that writes scores with two digits of an error."""
    decimals = min(max(1 - math.floor(math.log10(error)), 0), 12) if 0 < error < math.inf else _DIGITS

    def text(value: float) -> str:
        if math.isinf(value):
            return "-∞" if value < 0 else "∞"
        return f"{value:,.{decimals}f}" if math.isfinite(value) else "-"

    return text


def whom(target: Target, contributors: int) -> str:
    """Return in words the people that an answer is about."""
    if target == "contributors":
        return f"among these {contributors:,} contributors"
    return f"in the population that these {contributors:,} contributors were drawn from"


def _attribute(estimates: Mapping[Any, Estimate], name: str) -> Estimate:
    if name not in estimates:
        raise InvalidParameterError(
            f"questions must name attributes of the estimates ({listed(list(map(str, estimates)))}), got {quoted(name)}"
        )
    estimate = estimates[name]
    return estimate if estimate.raw is None else estimate.raw


def _called(estimate: Estimate) -> str:
    return quoted(estimate.title or estimate.attribute)


def _counted(estimate: Estimate) -> str:
    """Return in words the people whose answers an ordered question leaves out."""
    return ", of those who gave an answer that counts," if len(estimate.ranked) < estimate.k else ""


def row(
    answer: Answer, unit: Unit, about: str, options: IntervalOptions, contributors: int, pooled: Estimate | None = None
) -> Row:
    """Return an answer as a row; `about` completes "... is 3" with a noun.

    `pooled` is the estimate of the answer's categories as one, which has intervals despite malicious contributors
    and at any time.
    """
    lower = upper = math.nan
    note = ""
    try:
        if pooled is not None:
            lower, upper = (float(end[0]) for end in pooled.interval(**options.full))
        elif options.plain:
            lower, upper = answer.interval(**options.single)
        else:
            note = "of several categories together no interval is known for malicious contributors or at any time"
    except NoIntervalError as error:
        note = str(error)
    known = Row(
        answer.question or about,
        unit,
        answer.value,
        answer.standard_error_for(options.target),
        lower,
        upper,
        "",
        note=note,
    )
    return dataclasses.replace(known, sentence=_sentence(known, about, options, contributors))


def _sentence(known: Row, about: str, options: IntervalOptions, contributors: int) -> str:
    subject = f"{about[0].upper()}{about[1:]} {whom(options.target, contributors)}"
    write = known.write
    if math.isnan(known.value):
        return f"{subject} is not determined: there are no reports."
    if known.note:
        return f"{subject} is estimated at {write(known.value)}, without an interval: {known.note}."
    if not (math.isfinite(known.lower) and math.isfinite(known.upper)):
        return f"{subject} is not determined by the reports: the {options.level} interval has no end."
    return (
        f"{subject} is {write(known.value)} ({options.level} interval: {write(known.lower)} to {write(known.upper)})."
    )


def _quantile(found: Quantile, attribute: str, about: str, options: IntervalOptions, contributors: int) -> Row:
    question = f"{found.p:g} quantile of {quoted(attribute)}"
    if not found.determined:
        nothing = f"The {found.p:g} quantile of {about} {whom(options.target, contributors)} is not determined: "
        return Row(question, "category", math.nan, math.nan, math.nan, math.nan, f"{nothing}there are no reports.")
    lowest = highest = note = ""
    ends = math.nan, math.nan
    if found.cdf.refusal or not options.plain:
        note = found.cdf.refusal or "of quantiles no interval is known for malicious contributors or at any time"
    else:
        how: dict[str, Any] = {"target": options.target, "simultaneous": max(options.simultaneous, 1)}
        lowest, highest = found.interval(options.confidence, **how)
        ends = found.bounds(options.confidence, **how)
    about_whom = whom(options.target, contributors)
    subject = f"{about_whom[0].upper()}{about_whom[1:]}, {_share_text(found.p)} of the answers to {about} are at most"
    interval = (
        f" ({options.level} interval: {quoted(lowest)} to {quoted(highest)})"
        if lowest
        else f", without an interval: {note}"
    )
    return Row(
        question,
        "category",
        found.value,
        math.nan,
        *ends,
        f"{subject} {quoted(found.label)}{interval}.",
        found.label,
        lowest,
        highest,
        note,
    )


def _share_text(p: float) -> str:
    return {0.25: "a quarter", 0.5: "half", 0.75: "three quarters"}.get(p, f"{100 * p:g}%")


def _curve(name: str, cdf: Cdf, options: IntervalOptions) -> Curve:
    nothing = np.full(len(cdf.labels), np.nan)
    lower = upper = nothing
    if not cdf.refusal and options.plain:
        lower, upper = cdf.band(options.confidence, options.target, options.simultaneous)
    return Curve(name, cdf.labels, cdf.values, lower, upper)

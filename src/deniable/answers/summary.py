"""Summary of an estimate, with intervals, a selection that they allow for, and the truth if it is known.

A list that was selected by its own estimates needs intervals that hold for everything from which it was selected
(Bonferroni). These are all categories if the largest are listed, and all candidates if a search found the list.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.answers.asked import Curve, IntervalOptions, QuestionSet, Row
from deniable.core.checks import Target, checked_integer, listed
from deniable.core.estimate import Estimate, Floats, RecordEstimate
from deniable.core.mechanism import Mechanism
from deniable.core.privacy import Guarantee
from deniable.core.result import HIDDEN, OPTIONAL, Result, fields_of
from deniable.core.spec import to_spec
from deniable.core.spreadsheets import csv_text
from deniable.errors import InvalidInputError, InvalidParameterError, NoIntervalError, quoted
from deniable.records.phases.phases import Phases

Selection = Literal["all", "top", "queries", "found"]

_COLUMNS = ("estimate", "standard_error", "lower", "upper", "processed", "truth")
_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class AttributeSummary(Result):
    """Estimates of one attribute: arrays over its k categories, NaN where a number does not exist.

    Parameters
    ----------
    attribute : str
        Name of the attribute in the schema.
    categories : tuple of str
        Category names, length k.
    reports : int
        Number of reports about this attribute. There are fewer reports than contributors if everyone reports only a
        sampled attribute.
    estimate, standard_error, lower, upper : float64[k]
        Raw unbiased frequencies, standard errors, and interval ends. NaN without reports.
    processed : float64[k] or None
        Post-processed frequencies, which have no interval.
    truth : float64[k] or None
        True frequencies, if they are known.
    total : int
        Number of categories before the selection (`Summary.selection`); 0 if nothing was selected.
    title : str
        Text that people read instead of the name, or "".
    note : str
        Reason why this attribute is an exception: its intervals do not allow for malicious contributors or repeated
        looks, although the other intervals do. Otherwise "".
    """

    also: ClassVar = {"categories": "rows"}

    attribute: str
    reports: int
    categories: tuple[str, ...] = field(metadata=HIDDEN)
    estimate: Floats = field(metadata=HIDDEN)
    standard_error: Floats = field(metadata=HIDDEN)
    lower: Floats = field(metadata=HIDDEN)
    upper: Floats = field(metadata=HIDDEN)
    processed: Floats | None = field(default=None, metadata=HIDDEN)
    truth: Floats | None = field(default=None, metadata=HIDDEN)
    total: int = field(default=0, metadata={"json": "selected_from", **OPTIONAL})
    title: str = field(default="", metadata=OPTIONAL)
    note: str = field(default="", metadata=OPTIONAL)

    @cached_property
    def covered(self) -> NDArray[np.bool_]:
        """Return whether each interval contains the truth, bool[k]; False if there is no interval or no truth."""
        if self.truth is None:
            return np.zeros(len(self.categories), dtype=np.bool_)
        # Rounding must not decide about a truth at the very end of an interval.
        slack = 1e-12
        return (self.lower - slack <= self.truth) & (self.truth <= self.upper + slack)

    @property
    def missed(self) -> NDArray[np.bool_]:
        """Return whether each interval misses the truth, bool[k]; False if there is no interval or no truth."""
        if self.truth is None:
            return np.zeros(len(self.categories), dtype=np.bool_)
        return ~(self.covered | np.isnan(self.lower) | np.isnan(self.truth))

    def order(self) -> NDArray[np.intp]:
        """Return the positions of all categories, in the order of their estimates, the largest first."""
        return np.argsort(-self.estimate, kind="stable")

    def select(self, positions: NDArray[np.intp]) -> AttributeSummary:
        """Return the summary of the given categories only, in the given order."""
        columns: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[positions] for name in _COLUMNS
        }
        categories = tuple(self.categories[i] for i in positions)
        return dataclasses.replace(self, categories=categories, total=len(self.categories), **columns)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Numbers of every category, as a list of rows with named entries."""
        return list(self.iterate())

    def iterate(self) -> Iterator[dict[str, Any]]:
        """Yield `rows`, with None for numbers that do not exist."""
        columns = {name: getattr(self, name) for name in _COLUMNS if getattr(self, name) is not None}
        for start in range(0, len(self.categories), _BLOCK):
            block = slice(start, start + _BLOCK)
            values = zip(*(column[block].tolist() for column in columns.values()), strict=True)
            for label, row in zip(self.categories[block], values, strict=True):
                known = (value if math.isfinite(value) else None for value in row)
                yield {"category": label, **dict(zip(columns, known, strict=True))}


@dataclass(frozen=True, eq=False)
class Summary(Result):
    """An estimate with its intervals and the notes needed to read them, as `summarize` returns it.

    Parameters
    ----------
    title : str
        Heading, or "".
    mechanism : Mechanism
        Mechanism that made the reports.
    guarantee : Guarantee
        Guarantee for the contributors.
    n : int
        Number of contributors.
    attributes : tuple of AttributeSummary
        Attributes in the schema's order.
    confidence : float
        Coverage of the intervals.
    target : {"contributors", "population"}
        Target of the intervals.
    simultaneous : bool
        Whether all intervals hold together.
    processing : tuple of str
        Steps of post-processing that made the `processed` frequencies, in their order.
    truth_n : int or None
        Number of records behind the truth.
    collection : str
        Id of the collection, or "".
    selection : {"all", "top", "queries", "found"}
        Selection of the listed categories: all, the categories with the largest estimates, the requested categories, or
        the strings that a search found.
    together : int
        Number of intervals that hold together, if `simultaneous` is True. 0 stands for the number of listed intervals.
    earlier : tuple of str
        Names of the mechanisms of earlier phases whose reports the estimate combines.
    biased : tuple of str
        Reasons why raw estimates of the mechanism are biased, or empty if they are unbiased. Biased estimates have no
        intervals.
    malicious : float
        Fraction of malicious contributors for which the intervals allow.
    anytime : bool
        Whether the intervals of all looks at a growing collection hold together.
    planned : int or None
        Number of contributors that the analyst planned before the first look.
    answers : tuple of Row
        Means, totals and quantiles that the analyst asked for.
    curves : tuple of Curve
        Distribution functions behind the quantiles.
    several : mapping of str to tuple of int
        Positions of the columns of each question that fills several columns (`Schema.several`). The guarantee states a
        bound for each such question.
    """

    format = "deniable estimate"
    also: ClassVar = {"mechanism": "specification", "guarantee": "promised", "interval": "interval"}

    title: str
    mechanism: Mechanism[Any] = field(metadata=HIDDEN)
    guarantee: Guarantee = field(metadata=HIDDEN)
    n: int
    attributes: tuple[AttributeSummary, ...]
    confidence: float = field(default=0.95, metadata=HIDDEN)
    target: Target = field(default="contributors", metadata=HIDDEN)
    simultaneous: bool = field(default=False, metadata=HIDDEN)
    processing: tuple[str, ...] = ()
    truth_n: int | None = None
    collection: str = ""
    selection: Selection = "all"
    together: int = field(default=0, metadata=HIDDEN)
    earlier: tuple[str, ...] = field(default=(), metadata=HIDDEN)
    biased: tuple[str, ...] = field(default=(), metadata=HIDDEN)
    malicious: float = field(default=0.0, metadata=HIDDEN)
    anytime: bool = field(default=False, metadata=HIDDEN)
    planned: int | None = field(default=None, metadata=HIDDEN)
    answers: tuple[Row, ...] = field(default=(), metadata=OPTIONAL)
    curves: tuple[Curve, ...] = field(default=(), metadata=OPTIONAL)
    several: Mapping[str, tuple[int, ...]] = field(default_factory=dict, metadata=HIDDEN)

    @property
    def level_text(self) -> str:
        """The confidence as text, such as "95%" or "99.5%"."""
        return f"{100 * self.confidence:.10g}%"

    @property
    def has_intervals(self) -> bool:
        """Return whether any interval exists."""
        return any(bool(np.isfinite(row.lower).any()) for row in self.attributes)

    @property
    def interval_text(self) -> str:
        """Target of the intervals, or the reason why there are none."""
        without = f"The estimate is biased: {'; '.join(self.biased)}." if self.biased else ""
        if without and not self.has_intervals:
            return f"There are no intervals. {without}"
        count = self.together or sum(len(row.categories) for row in self.attributes if row.reports)
        together = f"; all {count:,} hold together with at least that confidence" if self.simultaneous else ""
        covers = (
            f"the frequency among these {self.n:,} contributors: the noise of the randomisation only"
            if self.target == "contributors"
            else f"the frequency in the population that these {self.n:,} contributors were drawn from: "
            "the noise of the randomisation and of the sampling"
        )
        if self.malicious:
            together += (
                f", even if up to {100 * self.malicious:.10g}% of all contributors work together, know everything and "
                "send false reports; it is then about honest contributors"
            )
        if self.anytime:
            together += (
                "; so do the intervals of all looks at this growing collection, whenever you stop, if contributors "
                "arrive in an order that has nothing to do with their answers"
            )
        text = f"The {self.level_text} interval covers {covers}{together}."
        return f"{text} Where there is none: {without[0].lower()}{without[1:]}" if without else text

    @cached_property
    def coverage(self) -> tuple[int, int] | None:
        """Number of intervals that contain the truth, and number of all intervals; None if the truth is not known."""
        if self.truth_n is None:
            return None
        hits = sum(int(row.covered.sum()) for row in self.attributes)
        return hits, hits + sum(int(row.missed.sum()) for row in self.attributes)

    @property
    def coverage_text(self) -> str:
        """Sentence that says how many intervals contain the truth, or "" if the truth or every interval is unknown."""
        hits, total = self.coverage or (0, 0)
        if not total:
            return ""
        expected = "all of them together" if self.simultaneous else f"about {self.confidence * total:.1f} expected"
        return f"{hits} of {total} intervals contain the truth ({expected})."

    @property
    def interval(self) -> dict[str, Any]:
        """Description of the intervals as data and in words: confidence, target, and whether they hold together."""
        names = ("confidence", "target", "simultaneous")
        further: dict[str, Any] = {"malicious": self.malicious} if self.malicious else {}
        further |= {"looks": "any", "planned": self.planned} if self.anytime else {}
        return {name: getattr(self, name) for name in names} | further | {"covers": self.interval_text}

    @property
    def promised(self) -> dict[str, Any]:
        """The guarantee as data, with the bounds of questions that fill several columns."""
        bounds = [one.to_dict() for one in self.guarantee.questions(self.several)]
        return self.guarantee.to_dict() | ({"questions": bounds} if bounds else {})

    @property
    def specification(self) -> dict[str, Any]:
        """The mechanism as data."""
        return to_spec(self.mechanism)

    def csv(self) -> str:
        """Return all numbers as CSV, one frequency or answer in each row. Numbers that do not exist are empty cells.

        Labels that a spreadsheet would run as formulas begin with an apostrophe.
        """
        return csv_text(self._csv_rows())

    def _csv_rows(self) -> Iterator[Sequence[str]]:
        yield ("attribute", "question", "category", *_COLUMNS, "lowest", "highest")
        for own in self.attributes:
            for found in own.iterate():
                numbers = (found.get(name) for name in _COLUMNS)
                yield (own.attribute, "frequency", found["category"], *map(_cell, numbers), "", "")
        for answer in self.answers:
            values = (answer.value, answer.standard_error, answer.lower, answer.upper)
            yield ("", answer.question, answer.category, *map(_cell, values), "", "", answer.lowest, answer.highest)

    def json_parts(self) -> Iterator[str]:
        """Yield the JSON text of `to_dict` in pieces, with a line for each category; for domains of millions."""
        head = dataclasses.replace(self, attributes=()).to_dict() | {"interval": self.interval}
        del head["attributes"]
        yield (
            json.dumps(head, indent=2, ensure_ascii=False, allow_nan=False).removesuffix("\n}") + ',\n  "attributes": ['
        )
        for j, row in enumerate(self.attributes):
            text = json.dumps(fields_of(row), ensure_ascii=False, allow_nan=False).removesuffix("}")
            yield f'{"," if j else ""}\n    {text}, "categories": ['
            comma = ""
            for category in row.iterate():
                yield f"{comma}\n      {json.dumps(category, ensure_ascii=False, allow_nan=False)}"
                comma = ","
            yield "\n    ]}"
        yield "\n  ]\n}"


def summarize(
    estimates: Estimate | RecordEstimate | Mapping[str, Estimate],
    *,
    mechanism: Mechanism[Any],
    n: int,
    title: str = "",
    confidence: float = 0.95,
    target: Target = "contributors",
    simultaneous: bool = False,
    truth: Mapping[str, ArrayLike] | None = None,
    truth_n: int | None = None,
    collection: str = "",
    top: int | None = None,
    queries: Mapping[str, ArrayLike] | None = None,
    asked: QuestionSet | None = None,
    malicious: float = 0.0,
    anytime: bool = False,
    planned: int | None = None,
    several: Mapping[str, tuple[int, ...]] | None = None,
) -> Summary:
    """Analyst: return an estimate together with its intervals and the notes needed to read them.

    Post-processed estimates are shown after their raw estimates, and only raw estimates have intervals. If a search
    found the strings, the intervals allow for all candidates that the search compared.

    Parameters
    ----------
    estimates : Estimate, RecordEstimate or mapping attribute -> Estimate
        Estimates from ``mechanism.estimate`` or ``collection.estimate``, raw or post-processed.
    mechanism : Mechanism
        Mechanism that made the reports. Its ``privacy()`` is shown first.
    n : int
        Number of contributors.
    title : str
        Heading.
    confidence : float
        Coverage of the intervals, in (0, 1).
    target : {"contributors", "population"}
        Target of the intervals: these contributors, or the population from which they were drawn.
    simultaneous : bool
        If True, all intervals of all attributes hold together.
    truth : mapping attribute -> int[k], optional
        True counts, for demonstrations and rehearsals.
    truth_n : int, optional
        Number of contributors behind the truth. The default is the sum of the true counts. Give this number if some
        true answers are not categories.
    collection : str
        Id of the collection.
    top : int, optional
        Number of categories to list for each attribute: those with the largest estimates, the largest first. Because
        this is a selection, the intervals then hold for all categories together, listed or not.
    queries : mapping attribute -> int[q], optional
        Codes of the categories to list for each attribute, in this order. You must have chosen them before you looked
        at the estimates.
    asked : QuestionSet, optional
        Means, totals and quantiles to compute as well.
    malicious, anytime, planned
        See `Estimate.interval`.
    several : mapping of str to tuple of int, optional
        Positions of the columns of each question that fills several columns (`Schema.several`). A bound for each such
        question is shown with the guarantee.

    Raises
    ------
    InvalidInputError
        If the truth of an attribute has a wrong number of categories.
    InvalidParameterError
        If `confidence` or `target` is out of bounds, `top` and `queries` are both given, or `queries` names a code
        twice.

    Examples
    --------
    >>> from deniable import GRR
    >>> from deniable.answers import summarize
    >>> import numpy as np
    >>> grr = GRR(k=2, epsilon=3.0)
    >>> estimate = grr.estimate(grr.aggregate(np.array([0, 0, 0, 1]))).named("smokes", ["no", "yes"])
    >>> summary = summarize(estimate, mechanism=grr, n=4, truth={"smokes": [3, 1]})
    >>> summary.coverage_text
    '2 of 2 intervals contain the truth (about 1.9 expected).'
    """
    if top is not None:
        checked_integer("top", top, 1)
        if queries is not None:
            raise InvalidParameterError(
                "top and queries cannot be used together: leave out top, because queries already says which "
                "categories to list"
            )
    named = _named(estimates)
    codes = None if queries is None else _asked_codes(named, queries)
    looked_at = max((estimate.looked_at for estimate in named.values()), default=0)
    comparisons = sum(
        estimate.k if codes is None else len(codes[name]) for name, estimate in named.items() if estimate.n
    )
    questions = asked or QuestionSet()
    comparisons = looked_at or comparisons + questions.count(named)
    simultaneous = simultaneous or top is not None or looked_at > 0
    together = comparisons if simultaneous and comparisons else 1
    options = IntervalOptions(confidence, target, together, malicious, anytime, planned)
    attributes = tuple(
        _attribute(name, estimate, options, None if truth is None else truth.get(name), truth_n)
        for name, estimate in named.items()
    )
    if attributes and all(row.note for row in attributes):
        raise NoIntervalError(attributes[0].note)
    rows, curves = questions.of(named, options, n)
    processing = next(
        (
            # Steps that made the mechanism's own estimate biased are left out, so that only the post-processing is
            # named.
            estimate.processing[len(estimate.raw.processing) :]
            for estimate in named.values()
            if estimate.raw is not None
        ),
        (),
    )
    biased = [step for estimate in named.values() for step in (estimate.raw or estimate).processing]
    records = None
    if truth is not None:
        records = truth_n or max((round(float(np.sum(np.asarray(counts)))) for counts in truth.values()), default=0)
    selection: Selection = "found" if looked_at else "all"
    if codes is not None:
        selection = "queries"
        attributes = tuple(row.select(codes[row.attribute]) for row in attributes)
    elif top is not None:
        selection = "found" if looked_at else "top"
        attributes = tuple(
            row.select(row.order()[:top]) if looked_at == 0 or len(row.categories) > top else row for row in attributes
        )
    return Summary(
        title=title,
        mechanism=mechanism,
        guarantee=mechanism.privacy(),
        n=n,
        attributes=attributes,
        confidence=confidence,
        target=target,
        simultaneous=simultaneous,
        processing=processing,
        biased=tuple(dict.fromkeys(biased)),
        truth_n=records,
        collection=collection,
        selection=selection,
        together=comparisons if simultaneous else 0,
        malicious=malicious,
        anytime=anytime,
        planned=planned,
        answers=rows,
        curves=curves,
        several=several or {},
    )


def _asked_codes(estimates: Mapping[str, Estimate], queries: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.intp]]:
    """Return the requested codes of every attribute, which must be different codes of its categories."""
    if set(queries) != set(estimates):
        raise InvalidParameterError(
            f"queries must list codes for each attribute of the estimates ({listed(list(estimates))}), and for no "
            f"other attribute, got {listed(list(queries)) or 'none'}"
        )
    found = {}
    for name, estimate in estimates.items():
        codes = np.asarray(queries[name])
        if (
            codes.ndim != 1
            or (codes.size and codes.dtype.kind not in "iu")
            or len(np.unique(codes)) < len(codes)
            or (codes.size and not 0 <= codes.min() <= codes.max() < estimate.k)
        ):
            raise InvalidParameterError(
                f"queries must list different codes in 0..{estimate.k - 1} for {quoted(name)}, got "
                f"{quoted(codes.tolist())}"
            )
        found[name] = codes.astype(np.intp)
    return found


def summarize_phases(phases: Phases, estimates: RecordEstimate, **options: Any) -> Summary:
    """Analyst: return the estimate of all phases together, with its intervals and the notes needed to read them.

    Parameters
    ----------
    phases : Phases
        Phases of the survey. Their guarantee is shown first, and says who took part in which phase.
    estimates : RecordEstimate
        Estimates from ``phases.estimate``, raw or post-processed.
    **options
        Options of `summarize`: confidence, target, simultaneous, truth, ...

    Examples
    --------
    >>> from deniable import SPL, Attribute, Collection, Schema, SimulationRandomness
    >>> from deniable.records.phases.phases import next_phase
    >>> import numpy as np
    >>> rng, answers = SimulationRandomness(1), np.array([[0, 0], [0, 1], [1, 1]] * 100)
    >>> schema = Schema((Attribute("smokes", ("no", "yes")), Attribute("drinks", ("no", "yes"))))
    >>> first = Collection(schema, SPL(sizes=(2, 2), epsilon=1.0))
    >>> first_reports = first.aggregate(first.randomize(answers, rng))
    >>> second = next_phase(first, first_reports, contributors=300)
    >>> second_reports = second.aggregate(second.randomize(answers, rng))
    >>> phases = Phases(((first, first_reports), (second, second_reports)))
    >>> summary = summarize_phases(phases, phases.estimate())
    >>> summary.earlier, summary.mechanism.name, summary.n
    (('SPL',), 'Corr-RR', 600)
    """
    last, _ = phases.parts[-1]
    summary = summarize(
        estimates, mechanism=last.mechanism, n=phases.n, title=last.title, collection=last.id, **options
    )
    earlier = tuple(collection.mechanism.name for collection, _ in phases.parts[:-1])
    # With weights, the `n` of a combined estimate is not the number of reports.
    parts = [_named(collection.estimate(aggregate)) for collection, aggregate in phases.parts]
    attributes = tuple(
        dataclasses.replace(row, reports=sum(part[row.attribute].n for part in parts) if row.reports else 0)
        for row in summary.attributes
    )
    return dataclasses.replace(summary, attributes=attributes, guarantee=phases.privacy(), earlier=earlier)


def _cell(value: float | None) -> str:
    """Return a number in full precision, or an empty text if it does not exist."""
    return "" if value is None or not math.isfinite(value) else repr(value)


def _named(estimates: Estimate | RecordEstimate | Mapping[str, Estimate]) -> dict[str, Estimate]:
    if isinstance(estimates, Estimate):
        return {estimates.attribute or "value": estimates}
    return {estimate.attribute or str(key): estimate for key, estimate in estimates.items()}


def _attribute(
    name: str,
    estimate: Estimate,
    options: IntervalOptions,
    counts: ArrayLike | None,
    truth_n: int | None,
) -> AttributeSummary:
    raw = estimate if estimate.raw is None else estimate.raw
    # A mechanism's own estimate may be biased without a raw estimate behind it.
    nothing = np.full(raw.k, np.nan)
    lower, upper, note = nothing, nothing, ""
    try:
        lower, upper = raw.interval(**options.full) if raw.is_raw else (nothing, nothing)
    except NoIntervalError as error:
        note = str(error)
    truth = None
    if counts is not None:
        known = np.asarray(counts, dtype=np.float64)
        if known.shape != (raw.k,):
            raise InvalidInputError(
                f"truth of {quoted(name)} must have {raw.k} counts (one for each category), got shape={known.shape}"
            )
        total = truth_n or known.sum()
        truth = known / total if total > 0 else np.full(raw.k, np.nan)
    errors = raw.standard_errors_for(options.target)
    return AttributeSummary(
        attribute=name,
        categories=raw.labels,
        reports=raw.n,
        estimate=raw.frequencies,
        standard_error=np.where(np.isfinite(errors), errors, np.nan),
        lower=lower,
        upper=upper,
        processed=None if estimate.raw is None else estimate.frequencies,
        truth=truth,
        title=estimate.title,
        note=note,
    )

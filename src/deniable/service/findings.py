"""Findings of a survey in plain language: one for each question, with a sentence and a chart below it.

A headline is read after the estimates were seen. It therefore rests on intervals that hold together for all answers of
all questions, and at every look while the survey is open. It claims only what both ends of its interval allow. If an
estimate lies outside the interval beside it, the finding says why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal, final

import numpy as np

from deniable.answers import AttributeSummary, Summary
from deniable.answers.asked import scores
from deniable.core.aggregate import Aggregate
from deniable.core.answer import Answer
from deniable.core.estimate import Estimate, Floats, RecordEstimate
from deniable.errors import DeniableError
from deniable.postprocess.smoothing import smooth
from deniable.service.phrases import ENGLISH, Phrases, phrases
from deniable.service.survey_page import SurveyPage
from deniable.survey.attribute import Attribute
from deniable.survey.collection import Collection

MOST = 12
"""Most answers of one chart. If there are more, those with the largest estimates are shown, and intervals are
simultaneous for all answers."""

GROUPS = 8
"""Number of bars of a smoothed histogram."""

TOO_WIDE = 0.5
"""Width of an interval from which no headline is made."""

Verb = Literal["answered", "chose"]
"""Verbs of a headline: people gave an answer, or chose an answer among others."""

_LEFT = 7.0
"""Per cent of a chart's width that is left of zero, for the dot of a negative estimate."""

EARLY = ENGLISH("early")
BELOW = ENGLISH("below")
ABOVE = ENGLISH("above")
OUTSIDE = ENGLISH("outside")
SHAPE = ENGLISH("shape")
NOT_DETERMINED = ENGLISH("not_determined")
NO_REPORTS = ENGLISH("no_reports")
MEAN_LATER = ENGLISH("mean_later")
RANGE_LATER = ENGLISH("range_later")


@final
@dataclass(frozen=True)
class Bar:
    """Bar for one answer in a chart: numbers from 0 to 1, or NaN if there is no number.

    Parameters
    ----------
    label : str
        Text of the answer.
    estimate, lower, upper : float
        Estimated share, and the ends of its range.
    said : Phrases
        Sentences in the language of the bar's texts.
    """

    label: str
    estimate: float
    lower: float
    upper: float
    said: Phrases = field(default=ENGLISH, repr=False)

    @property
    def determined(self) -> bool:
        """True if the range says more than "0 to 100%"."""
        return self.ranged and not (self.lower <= 0 and self.upper >= 1)

    @property
    def ranged(self) -> bool:
        """True if there is a range."""
        return math.isfinite(self.lower) and math.isfinite(self.upper)

    @property
    def note(self) -> str:
        """Reason why the estimate lies outside its range; empty if it does not."""
        if not self.ranged or self.lower <= self.estimate <= self.upper:
            return ""
        return self.said("below" if self.estimate < 0 else "above" if self.estimate > 1 else "outside")

    @property
    def number(self) -> str:
        """Estimate in whole per cent."""
        if self.ranged and not self.determined:
            return self.said("unknown")
        if not self.ranged and not math.isfinite(self.estimate):
            return ""
        number = self.said.percent(_percent(self.estimate))
        return f"{number}{'*' if self.note else ''}" if self.ranged else self.said("about", x=number)

    @property
    def range_text(self) -> str:
        """Range in whole per cent, rounded outwards; empty if it says nothing."""
        return range_text(self.lower, self.upper, self.said) if self.determined else ""


@final
@dataclass(frozen=True)
class Drawn:
    """Positions of one bar in per cent of the width; None for a shape that is not drawn."""

    sure: str | None
    open_start: str
    open_width: str | None
    line: str | None
    dot: str | None


@final
@dataclass(frozen=True)
class Finding:
    """Finding about one question: a sentence, a range and a chart.

    Parameters
    ----------
    name, question : str
        Name of the attribute, and its question as people read it.
    headline : str
        Sentence with the main result.
    range_text : str
        Interval that the headline rests on.
    likely : bool
        True if the range is that of the headline's share; a mean says its own range.
    bars : tuple of Bar
        Bars of the chart.
    caption : str
        Number of reports, and what the ranges cover.
    notes : tuple of str
        Further facts that a reader of the chart must know.
    """

    name: str
    question: str
    headline: str
    range_text: str = ""
    bars: tuple[Bar, ...] = ()
    caption: str = ""
    notes: tuple[str, ...] = ()
    likely: bool = False


def findings(
    collection: Collection,
    page: SurveyPage,
    aggregate: Aggregate | RecordEstimate,
    summary: Summary,
    simultaneous: Summary | None,
    language: str | None = None,
) -> tuple[Finding, ...]:
    """Return one finding for each question, in the survey's order.

    Parameters
    ----------
    collection : Collection
        Collection that was asked.
    page : SurveyPage
        Survey page with the texts that people read.
    aggregate : Aggregate or RecordEstimate
        Sum that the estimates come from, or estimates from several rounds together, whose shapes are not smoothed.
    summary : Summary
        Estimates with the interval of each answer.
    simultaneous : Summary or None
        Same estimates with intervals that hold together, those of `means_of` among them; None if there are none.
    language : str, optional
        Tag of one of the page's languages, whose texts are quoted and whose sentences are used; by default the first
        language's texts in English sentences, for organisers.
    """
    summed = aggregate if isinstance(aggregate, Aggregate) else None
    estimates = aggregate if isinstance(aggregate, RecordEstimate) else collection.estimate(aggregate)
    wide = None if simultaneous is None else simultaneous.attributes
    words = next(iter(page.languages.values())) if language is None else page.languages[language]
    said = ENGLISH if language is None else phrases(language)
    # While a survey is open, no interval of a mean is known.
    together = 0 if simultaneous is None or simultaneous.anytime else simultaneous.together
    found, column = [], 0
    for attribute in collection.schema.attributes:
        span = slice(column, column + len(attribute.columns))
        column = span.stop
        rows = summary.attributes[span]
        joint = rows if wide is None else wide[span]
        question = words.questions.get(attribute.name) or attribute.title or attribute.name
        labels = tuple(words.labels.get(attribute.name) or attribute.labels)
        about = _About(attribute, question, labels, summary, together=together, said=said)
        if not rows[0].reports:
            found.append(Finding(attribute.name, question, said("headline_not"), notes=(said("no_reports"),)))
        elif attribute.question_kind.several:
            bars, held = _ticked(labels, rows, said), _ticked(labels, joint, said)
            found.append(_shares(about, bars, held, rows[0].reports, wide is not None))
        elif attribute.ask == "mean" or attribute.question_kind.quartiles_shown:
            smoothed = None if summed is None else _smoothed(collection, summed, span.start)
            found.append(_mean(about, estimates[rows[0].attribute], smoothed, rows[0]))
        else:
            bars, held = _listed(labels, rows[0], said), _listed(labels, joint[0], said)
            found.append(_shares(about, bars, held, rows[0].reports, wide is not None))
    return tuple(found)


def means_of(collection: Collection) -> tuple[str, ...]:
    """Return the columns whose finding is a mean."""
    columns = collection.schema.columns
    return tuple(one.name for one in columns if one.ask == "mean" or one.question_kind.quartiles_shown)


def axis_top(every: tuple[Finding, ...]) -> float:
    """Return the end of the axis that all charts share: a round share that no bar exceeds.

    Examples
    --------
    >>> axis_top((Finding("a", "A?", "", bars=(Bar("yes", 0.3, 0.25, 0.41),)),))
    0.5
    """
    values = [value for one in every for bar in one.bars for value in (bar.estimate, bar.upper) if math.isfinite(value)]
    return next((top for top in (0.1, 0.2, 0.5, 0.8) if max(values, default=1.0) <= top), 1.0)


def axis_ticks(top: float, said: Phrases = ENGLISH) -> tuple[tuple[str, str], ...]:
    """Return the positions of the axis's ticks and their labels.

    Examples
    --------
    >>> axis_ticks(0.5)
    (('7.00%', '0%'), ('53.50%', '25'), ('100.00%', '50%'))
    """
    steps = (0.0, top / 2, top)
    marks = (f"{100 * step:g}" for step in steps)
    texts = (said.figure(mark) if i == 1 else said.percent(said.figure(mark)) for i, mark in enumerate(marks))
    return tuple(zip((_place(step, top) for step in steps), texts, strict=True))


def drawn(bar: Bar, top: float) -> Drawn:
    """Return the positions of a bar.

    Examples
    --------
    >>> drawn(Bar("yes", -0.01, 0.0, 0.25), 0.5)
    Drawn(sure=None, open_start='7.00%', open_width='46.50%', line=None, dot='5.14%')
    """
    if not bar.ranged:
        sure = _width(bar.estimate, top) if bar.estimate > 0 else None
        return Drawn(None, _place(0, top), sure, None, None)
    low, high = max(bar.lower, 0.0), min(bar.upper, 1.0)
    shown = bar.determined and math.isfinite(bar.estimate)
    negative = shown and bar.estimate < 0
    return Drawn(
        _width(low, top) if low > 0 else None,
        _place(low, top),
        _width(high - low, top) if high > low else None,
        _place(min(bar.estimate, top), top) if shown and not negative else None,
        _place(max(bar.estimate, -0.05 * top), top) if negative else None,
    )


def range_text(lower: float, upper: float, said: Phrases = ENGLISH) -> str:
    """Return a range in whole per cent, rounded outwards, so that it never says less than it is.

    Examples
    --------
    >>> range_text(0.551, 0.6301), range_text(-0.01, 0.03)
    ('55 to 64%', '0 to 3%')
    """
    low, high = _outwards(lower, upper)
    return said("range", low=low, high=high)


def claim(label: str, lower: float, upper: float, verb: Verb = "answered", said: Phrases = ENGLISH) -> str:
    """Return the strongest sentence about an answer that both ends of its range allow.

    Examples
    --------
    >>> claim("yes", 0.52, 0.6), claim("yes", 0.2, 0.24), claim("yes", 0.3, 0.4), claim("yes", 0.1, 0.7)
    ('More than half answered “yes”', 'Fewer than a quarter answered “yes”', 'More than a quarter answered “yes”', \
'Too early to say')
    """
    if not math.isfinite(lower) or not math.isfinite(upper) or upper - lower > TOO_WIDE:
        return said("early")
    low, high = _outwards(lower, upper)
    if low > 50:
        found = "more_half"
    elif high < 25:
        found = "few_quarter"
    elif 25 < low < 50:
        found = "more_quarter"
    else:
        found = "few_half" if high < 50 else "between"
    return said(f"{found}_{verb}", label=label, low=low, high=high)


# -------------------------------------------------------------------- kinds of findings


@final
@dataclass(frozen=True)
class _About:
    """Question of a finding, with the estimates that the finding rests on."""

    attribute: Attribute
    question: str
    labels: tuple[str, ...]
    summary: Summary
    together: int
    said: Phrases

    @property
    def closed(self) -> bool:
        return self.together > 0

    def count(self, reports: int) -> str:
        """Return the sentence about the number of reports."""
        key = "reports_one" if reports == 1 else "reports_many"
        return self.said(key, n=self.said.figure(f"{reports:,}"))

    def caption(self, reports: int) -> str:
        """Return the text about what ranges cover, which people they are about, and how many reports there are."""
        if not self.summary.has_intervals:
            return self.count(reports)
        return f"{interval_text(self.summary, self.said)} {self.count(reports)}"


def interval_text(summary: Summary, said: Phrases) -> str:
    """Return the text about what the intervals of a summary cover."""
    level = said.percent(summary.level_text.removesuffix("%"))
    looks = said("looks") if summary.anytime else ""
    return said("caption", level=level, looks=looks, whom=said(summary.target))


def _shares(about: _About, bars: tuple[Bar, ...], joint: tuple[Bar, ...], reports: int, supported: bool) -> Finding:
    """Return the finding of a question whose answers have shares: headline about the largest, with joint intervals."""
    order = sorted(range(len(bars)), key=lambda i: -bars[i].estimate)
    said, notes = about.said, list[str]()
    if len(bars) > MOST:
        shown = sorted(order[:MOST])
        notes.append(said("most_shown", most=MOST, all=said.figure(f"{len(bars):,}")))
        drawn_bars = tuple(joint[i] for i in shown) if supported else tuple(bars[i] for i in shown)
    else:
        drawn_bars = bars
    best = joint[order[0]]
    several = about.attribute.question_kind.several
    verb: Verb = "chose" if several else "answered"
    headline = claim(best.label, best.lower, best.upper, verb, said) if supported else said("early")
    if several:
        notes.append(said("several_note"))
    if not any(bar.ranged for bar in drawn_bars):
        # A point without its range is not shown as a result.
        drawn_bars = ()
        notes.append(said("range_later"))
    notes += [bar.note for bar in drawn_bars if bar.note]
    notes += [said("not_determined") for bar in drawn_bars if not bar.determined][:1]
    quoted = best.range_text if supported and headline != said("early") else ""
    return Finding(
        about.attribute.name,
        about.question,
        headline,
        quoted,
        drawn_bars,
        about.caption(reports),
        tuple(dict.fromkeys(notes)),
        likely=bool(quoted),
    )


def _mean(about: _About, estimate: Estimate, smoothed: Estimate | None, row: AttributeSummary) -> Finding:
    """Return the finding of a question whose answers are numbers: the mean's interval, then the smoothed shape."""
    answer = estimate.mean()
    said = about.said
    headline, quoted, notes = said("mean_open"), "", list[str]()
    lower, upper = _interval(answer, about) if about.closed else (math.nan, math.nan)
    if not about.closed:
        notes.append(said("mean_later"))
    elif math.isfinite(lower) and math.isfinite(upper):
        write = scores(answer.standard_error)
        low, high, guess = (said.figure(write(value)) for value in (lower, upper, answer.value))
        headline = said("mean_between", low=low, high=high)
        # The contributors' mean has an interval for the same target, so the mean lies inside.
        quoted = said("mean_guess", x=guess, low=low, high=high)
    else:
        headline = said("mean_not")
        notes.append(said("mean_unbounded"))
    bars: tuple[Bar, ...] = ()
    if smoothed is not None:
        labels = about.labels if len(about.labels) == estimate.k else row.categories
        bars = _grouped(labels, smoothed.frequencies, said)
        notes.append(said("shape"))
    return Finding(
        about.attribute.name,
        about.question,
        headline,
        quoted,
        bars,
        about.caption(row.reports) if about.closed else about.count(row.reports),
        tuple(notes),
    )


def _interval(answer: Answer, about: _About) -> tuple[float, float]:
    try:
        summary = about.summary
        return answer.interval(summary.confidence, target=summary.target, simultaneous=about.together)
    except DeniableError:
        return math.nan, math.nan


def _smoothed(collection: Collection, aggregate: Aggregate, column: int) -> Estimate | None:
    """Return the smoothed distribution of a column, or None if the mechanism has none."""
    try:
        found: Estimate | RecordEstimate = smooth(collection.mechanism, aggregate)
    except DeniableError:
        return None
    one = found if isinstance(found, Estimate) else found[column]
    return one if one.processing and np.isfinite(one.frequencies).all() else None


def _grouped(labels: tuple[str, ...], frequencies: Floats, said: Phrases) -> tuple[Bar, ...]:
    """Return at most `GROUPS` bars of neighbouring points, or a bar for each of few answers."""
    if len(labels) <= MOST:
        parts = [np.array([i]) for i in range(len(labels))]
    else:
        parts = np.array_split(np.arange(len(labels)), GROUPS)
    return tuple(
        Bar(
            labels[part[0]]
            if len(part) == 1
            else f"{said.figure(labels[part[0]])} \N{EN DASH} {said.figure(labels[part[-1]])}",
            float(frequencies[part].sum()),
            math.nan,
            math.nan,
            said,
        )
        for part in parts
    )


def _listed(labels: tuple[str, ...], row: AttributeSummary, said: Phrases) -> tuple[Bar, ...]:
    names = labels if len(labels) == len(row.categories) else row.categories
    ends = row.estimate.tolist(), row.lower.tolist(), row.upper.tolist()
    return tuple(Bar(*one, said) for one in zip(names, *ends, strict=True))


def _ticked(labels: tuple[str, ...], rows: tuple[AttributeSummary, ...], said: Phrases) -> tuple[Bar, ...]:
    """Return a bar for each option of a question of several answers: the share of people who chose it."""
    return tuple(
        replace(_listed(row.categories, row, said)[-1], label=label) for label, row in zip(labels, rows, strict=True)
    )


# -------------------------------------------------------------------- numbers


def _percent(share: float) -> str:
    number = round(100 * share)
    return f"−{-number}" if number < 0 else str(number)  # noqa: RUF001  # a minus sign is meant


def _outwards(lower: float, upper: float) -> tuple[int, int]:
    """Return ends in whole per cent, within 0 and 100 and never inside the range; rounding noise moves no end."""
    low, high = math.floor(100 * lower + 1e-9), math.ceil(100 * upper - 1e-9)
    return max(low, 0), min(max(high, 0), 100)


def _place(share: float, top: float) -> str:
    return f"{_LEFT + (100 - _LEFT) * share / top:.2f}%"


def _width(share: float, top: float) -> str:
    return f"{(100 - _LEFT) * min(share, top) / top:.2f}%"

"""Rehearsal as a page, with the rates at which the report would mislead, and one report as an example."""

from __future__ import annotations

import dataclasses

from deniable.errors import quoted
from deniable.planning.rehearsal import Rate, Rehearsal
from deniable.report.estimates import estimate_page
from deniable.report.page import Card, Page, Part, Section
from deniable.report.parts.table import Table
from deniable.report.parts.text import Text

_OFTEN = 0.1
"""If a top category is wrong in at least this share of runs, this is said before the numbers."""


def rehearsal_page(rehearsal: Rehearsal, title: str = "") -> Page:
    """Return the page of a rehearsal.

    Examples
    --------
    >>> from deniable import Attribute, Schema, SimulationRandomness
    >>> from deniable.planning import Guess, collection, rehearse
    >>> schema = Schema((Attribute("smoker", ("yes", "no")),))
    >>> guess = Guess.from_shares(schema, {"smoker": {"yes": 0.3, "no": 0.7}})
    >>> page = rehearsal_page(rehearse(collection(schema, 1.0), 500, guess, runs=20, rng=SimulationRandomness(1)))
    >>> [section.heading for section in page.sections]
    ['How often the report misleads', 'One report, as it might look: smoker']
    """
    example = estimate_page(rehearsal.example)
    sections = [Section("How often the report misleads", _questions(rehearsal))]
    if rehearsal.differences:
        sections.append(Section("Which of two is more frequent", _differences(rehearsal)))
    sections += [
        Section(f"One report, as it might look: {section.heading}", section.parts) for section in example.sections
    ]
    answers = (
        "Their answers have the proportions of the given rows, and are the same in every run. Only the randomisation "
        "differs."
        if rehearsal.private
        else "Their answers are a guess, and are the same in every run. Only the randomisation differs. Nobody was "
        "asked."
    )
    invented = Card(
        f"A rehearsal: {rehearsal.contributors:,} invented contributors, {rehearsal.runs:,} runs", (answers,)
    )
    truth = "that of the rows that were given" if rehearsal.private else "a guess, and is shown because of that"
    page = dataclasses.replace(
        example,
        title=title or "Dress rehearsal",
        cards=(invented, *example.cards),
        sections=tuple(sections),
        introduction=sentences(rehearsal),
        footer=f"Made by deniable. The truth is {truth}.",
        private=False,
    )
    return page.for_holder(rehearsal.notice) if rehearsal.private else page


def sentences(rehearsal: Rehearsal) -> tuple[str, ...]:
    """Return what a rehearsal showed, in words, the worst first."""
    found = []
    ranked = [question for question in rehearsal.questions if question.top_wrong is not None]
    worst = max(ranked, key=lambda question: question.top_wrong.rate if question.top_wrong else 0.0, default=None)
    if worst is not None and worst.top_wrong is not None:
        if worst.top_wrong.rate >= _OFTEN:
            found.append(
                f"The report may mislead: in {_percent(worst.top_wrong.rate)} of the runs it put the wrong category of "
                f"{quoted(worst.label)} first."
            )
        else:
            often = (
                f"at least {_percent(1 - worst.top_wrong.rate)} of the runs" if worst.top_wrong.rate else "every run"
            )
            found.append(f"The report put the most frequent category first in {often}, whatever the question.")
    for difference in rehearsal.differences:
        found.append(
            f"For {quoted(difference.name)}, the report had the order of {quoted(difference.first)} and "
            f"{quoted(difference.second)} wrong in {_percent(difference.wrong_sign.rate)} of the runs, left it open in "
            f"{_percent(difference.undecided.rate)}, and was sure of the wrong order in "
            f"{_percent(difference.wrongly_decided.rate)}."
        )
    return tuple(found)


def _questions(rehearsal: Rehearsal) -> tuple[Part, ...]:
    level = f"{100 * rehearsal.confidence:g}%"
    questions = rehearsal.questions
    columns = [
        [question.label for question in questions],
        ["-" if question.top_wrong is None else _rate(question.top_wrong) for question in questions],
        [_rate(question.missed) for question in questions],
        [f"{question.off:.1f}" if question.off >= 0.95 else f"{question.off:.2g}" for question in questions],
    ]
    means = tuple(f"{one.label}: its mean, {one.unit}" for one in questions if one.ask == "mean")
    words = (
        f"Top wrong: the report and the guess have different first categories. Intervals that miss: among {level} "
        "intervals, "
        f"those that do not hold the truth; {100 * (1 - rehearsal.confidence):.2g}% are expected. Off by: largest "
        "error of a share, in percentage points, in 95 of 100 runs at most this. Brackets: 95% interval of the "
        "number for infinitely many runs."
    )
    table = Table.of(["question", "top wrong", "intervals that miss", "off by"], columns)
    return table, Text((words,)), Text(means, items=True)


def _differences(rehearsal: Rehearsal) -> tuple[Part, ...]:
    all_ = rehearsal.differences
    columns = [
        [f"{one.name}: {one.first} - {one.second}" for one in all_],
        [f"{100 * one.truth:.1f}" for one in all_],
        [_percent(one.wrong_sign.rate) for one in all_],
        [_percent(one.undecided.rate) for one in all_],
        [_percent(one.wrongly_decided.rate) for one in all_],
    ]
    header = ["difference", "truth", "wrong sign", "left open", "sure and wrong"]
    words = "The guessed difference in percentage points. Left open: the interval of the difference contains 0."
    return Table.of(header, columns), Text((words,))


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f}%".replace(".0%", "%")


def _rate(rate: Rate) -> str:
    return f"{_percent(rate.rate)} ({_percent(rate.lower)} to {_percent(rate.upper)})"

"""Plan of a questionnaire as a page."""

from __future__ import annotations

from collections.abc import Sequence

from deniable.core.privacy import bound_text
from deniable.planning.survey_plan import MechanismRow, QuestionPlan, Setting, SurveyPlan
from deniable.report.page import Card, Page, Section, Table, Text


def survey_plan_page(decision: SurveyPlan) -> Page:
    """Return the page of a decision: every question's error at every epsilon, what it costs, and what it promises.

    Examples
    --------
    >>> from deniable import Attribute, Schema
    >>> from deniable.planning import plan_survey
    >>> page = survey_plan_page(plan_survey(Schema((Attribute("smoker", ("yes", "no")),)), 1000, [1.0]))
    >>> page.sections[0].parts[0].cells(0)
    ('smoker', '2', '5.9')
    """
    settings = decision.settings
    budgets = [_budget(setting) for setting in settings]
    questions = [*zip(*(setting.questions for setting in settings), strict=True)]
    sections = [Section("How far off an answer may be, either way", _errors(questions, budgets))]
    if decision.target is not None:
        target = f"+-{decision.target:g} percentage points, or hundredths of a scale"
        sections.append(Section(f"Contributors needed for {target}", (_needed(questions, budgets),)))
    if settings[0].pairs:
        sections.append(Section("Tables of two questions", _pairs(settings, budgets)))
    sections.append(Section("What contributors are promised", _promises(settings)))
    sections.append(Section("Mechanisms", _mechanisms(settings)))
    title = f"Plan for {decision.contributors:,} contributors"
    cards = tuple(Card(warning, warning=True) for warning in decision.warnings)
    return Page(title, cards, tuple(sections), notes=(decision.assumptions,))


def _budget(setting: Setting) -> str:
    return f"eps {bound_text(float(setting.epsilon))}"


def _number(value: float) -> str:
    return f"{value:,.1f}" if value >= 0.95 else f"{value:.2g}"


def _named(questions: Sequence[tuple[QuestionPlan, ...]]) -> list[list[str]]:
    return [[row[0].label for row in questions], [str(row[0].categories) for row in questions]]


def _errors(questions: Sequence[tuple[QuestionPlan, ...]], budgets: Sequence[str]) -> tuple[Table | Text, ...]:
    cells = [[_number(row[i].half_width) for row in questions] for i in range(len(budgets))]
    table = Table.of(["question", "answers", *budgets], [*_named(questions), *cells])
    means = tuple(f"{row[0].label}: its mean, {row[0].unit}" for row in questions if row[0].ask == "mean")
    shares = "In percentage points of any one share, " if len(means) < len(questions) else ""
    words = f"{shares}for the answers that make it largest{'; but' if means else '.'}"
    return table, Text((words[0].upper() + words[1:],)), Text(means, items=True)


def _needed(questions: Sequence[tuple[QuestionPlan, ...]], budgets: Sequence[str]) -> Table:
    cells = [
        ["-" if row[i].contributors_needed is None else f"{row[i].contributors_needed:,}" for row in questions]
        for i in range(len(budgets))
    ]
    return Table.of(["question", "answers", *budgets], [*_named(questions), *cells])


def _pairs(settings: Sequence[Setting], budgets: Sequence[str]) -> tuple[Table | Text, ...]:
    pairs = [*zip(*(setting.pairs for setting in settings), strict=True)]
    shown = sorted(pairs, key=lambda row: -row[0].half_width)[:_PAIRS]
    columns = [
        [f"{row[0].first} x {row[0].second}" for row in shown],
        [str(row[0].cells) for row in shown],
        *([_number(row[i].half_width) for row in shown] for i in range(len(budgets))),
    ]
    rest = f" These are the {_PAIRS} largest of {len(pairs):,}; --json has all." if len(pairs) > _PAIRS else ""
    words = f"Half-width of one cell in percentage points of all contributors, where all cells are alike.{rest}"
    return Table.of(["table", "cells", *budgets], columns), Text((words,))


_PAIRS = 20
"""Tables that a page lists."""


def _promises(settings: Sequence[Setting]) -> tuple[Table | Text, ...]:
    columns = [
        [bound_text(float(setting.epsilon)) for setting in settings],
        [f"{setting.odds:,g} times" for setting in settings],
        [setting.max_posterior for setting in settings],
    ]
    table = Table.of(["epsilon", "odds move by at most", "a coin toss becomes at most"], columns)
    words = (
        "Whatever somebody answers and whoever looks, nobody's odds about them move by more than this: who took an "
        "answer of theirs for a coin toss is at most so sure of it afterwards."
    )
    return table, Text((words,))


def _mechanisms(settings: Sequence[Setting]) -> tuple[Table | Text, ...]:
    names = list(dict.fromkeys(row.name for setting in settings for row in setting.mechanisms))
    rows: list[dict[str, MechanismRow]] = [{row.name: row for row in setting.mechanisms} for setting in settings]
    said: list[Table | Text] = []
    for text, words in (
        (
            _error,
            "Half-width of the worst question, in percentage points or hundredths of a scale; * a collection takes.",
        ),
        (_bits, "Bits of one report."),
        (_influence, "For how many contributors one liar counts who wants to raise one share."),
    ):
        cells = [[text(found.get(name)) for name in names] for found in rows]
        said += [Table.of(["mechanism", *map(_budget, settings)], [names, *cells]), Text((words,))]
    remarks: dict[str, list[str]] = {}
    for name in names:
        for found in rows:
            row = found.get(name)
            remark = "" if row is None else f"not compared: {row.reason}" if row.reason else row.note
            if remark and name not in remarks.setdefault(remark, []):
                remarks[remark].append(name)
    named = tuple(f"{', '.join(who)}: {remark}" for remark, who in remarks.items())
    return *said, Text(named, items=True)


def _influence(row: MechanismRow | None) -> str:
    return "-" if row is None or row.influence is None else f"{row.influence:,.1f}"


def _error(row: MechanismRow | None) -> str:
    if row is None or row.relative_half_width is None:
        return "-"
    return ("*" if row.chosen else "") + _number(100 * row.relative_half_width)


def _bits(row: MechanismRow | None) -> str:
    return "-" if row is None or row.bits_per_report is None else f"{row.bits_per_report:,.1f}"

"""Plan of a questionnaire as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from deniable.core.privacy import bound_text
from deniable.planning.survey_plan import MechanismRow, QuestionPlan, Setting, SurveyPlan
from deniable.report.page import Card, Page, Section
from deniable.report.parts.table import Table
from deniable.report.parts.text import Text


def survey_plan_page(decision: SurveyPlan, units: Mapping[str, str] = MappingProxyType({})) -> Page:
    """Return the page of a survey plan: people needed, errors of all questions for every epsilon, and promises.

    Parameters
    ----------
    decision : SurveyPlan
        The plan.
    units : mapping of str to str
        Units, such as "years" or "euros", for questions whose mean is asked, by their names.

    Examples
    --------
    >>> from deniable import Attribute, Schema
    >>> from deniable.planning import plan_survey
    >>> page = survey_plan_page(plan_survey(Schema((Attribute("smoker", ("yes", "no")),)), 1000, [1.0]))
    >>> page.sections[0].parts[0].cells(0)
    ('smoker', 'percentage points', '±5.9')
    """
    settings = decision.settings
    budgets = [_budget(setting) for setting in settings]
    questions = [*zip(*(setting.questions for setting in settings), strict=True)]
    sections = []
    if decision.target is not None:
        sections.append(Section("People needed", _needed(questions, budgets, decision.target, units)))
    heading = f"How far off results may be with {decision.contributors:,} people"
    sections.append(Section(heading, _errors(questions, budgets, units)))
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


def _unit(plan: QuestionPlan, units: Mapping[str, str]) -> str:
    """Return what the errors of a question are counted in."""
    return units.get(plan.name, plan.unit) if plan.ask == "mean" else plan.unit


def _errors(
    questions: Sequence[tuple[QuestionPlan, ...]], budgets: Sequence[str], units: Mapping[str, str]
) -> tuple[Table | Text, ...]:
    cells = [[f"±{_number(row[i].half_width)}" for row in questions] for i in range(len(budgets))]
    named = [[row[0].label for row in questions], [_unit(row[0], units) for row in questions]]
    words = "For any single share or mean, and for the answers that make the error largest."
    return Table.of(["question", "in", *budgets], [*named, *cells]), Text((words,))


def _needed(
    questions: Sequence[tuple[QuestionPlan, ...]], budgets: Sequence[str], target: float, units: Mapping[str, str]
) -> tuple[Table | Text, ...]:
    def wanted(plan: QuestionPlan) -> str:
        """Return the target of one question: hundredths of a scale in the scale's own unit."""
        return f"±{_number(target * plan.span / 100)} {_unit(plan, units)}"

    cells = [
        ["-" if row[i].contributors_needed is None else f"{row[i].contributors_needed:,}" for row in questions]
        for i in range(len(budgets))
    ]
    named = [[row[0].label for row in questions], [wanted(row[0]) for row in questions]]
    return (Table.of(["question", "for", *budgets], [*named, *cells]),)


def _pairs(settings: Sequence[Setting], budgets: Sequence[str]) -> tuple[Table | Text, ...]:
    pairs = [*zip(*(setting.pairs for setting in settings), strict=True)]
    shown = sorted(pairs, key=lambda row: -row[0].half_width)[:_PAIRS]
    columns = [
        [f"{row[0].first} x {row[0].second}" for row in shown],
        [str(row[0].cells) for row in shown],
        *([_number(row[i].half_width) for row in shown] for i in range(len(budgets))),
    ]
    rest = f" These are the {_PAIRS} largest of {len(pairs):,}; --json has all." if len(pairs) > _PAIRS else ""
    words = f"Half-width of one cell in percentage points of all contributors, if all cells have the same share.{rest}"
    return Table.of(["table", "cells", *budgets], columns), Text((words,))


_PAIRS = 20
"""Tables that a page lists."""


def _promises(settings: Sequence[Setting]) -> tuple[Table | Text, ...]:
    columns = [
        [bound_text(float(setting.epsilon)) for setting in settings],
        [f"{setting.odds:,g}" for setting in settings],
        [setting.max_posterior for setting in settings],
    ]
    table = Table.of(["epsilon", "odds change by a factor of at most", "50% becomes at most"], columns)
    words = (
        "Whatever contributors answer, their reports change nobody's odds about them by more than this factor. The "
        "last column is for someone who thought an answer 50% likely before: it shows how sure of it they can be "
        "afterwards."
    )
    return table, Text((words,))


def _mechanisms(settings: Sequence[Setting]) -> tuple[Table | Text, ...]:
    names = list(dict.fromkeys(row.name for setting in settings for row in setting.mechanisms))
    rows: list[dict[str, MechanismRow]] = [{row.name: row for row in setting.mechanisms} for setting in settings]
    said: list[Table | Text] = []
    for text, words in (
        (
            _error,
            "Half-width for the worst question, in percentage points or hundredths of a scale. * marks the mechanism "
            "that a collection uses by default.",
        ),
        (_bits, "Bits of one report."),
        (
            _influence,
            "Number of contributors that one malicious contributor counts for, if they try to raise one share.",
        ),
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

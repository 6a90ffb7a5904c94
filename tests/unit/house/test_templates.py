"""Help texts and errors follow one template each, so that readers find each part in its usual place."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, get_type_hints

import pytest
from typer.main import get_command

from deniable.cli import app
from deniable.errors import not_available, out_of_range, unknown_name
from tests.unit.house import prose

# ------------------------------------------------------------------ the command line's help

ROOT: Any = get_command(app)
SUMMARY_VERBS = {
    "Add",
    "Check",
    "Import",
    "Compare",
    "Create",
    "Deal",
    "Draft",
    "Estimate",
    "Find",
    "Fit",
    "Move",
    "Predict",
    "Print",
    "Randomise",
    "Run",
    "Show",
    "Test",
    "Try",
    "Turn",
    "Write",
}
SWITCH_VERBS = {
    "Add",
    "Allow",
    "Also",
    "Assume",
    "Close",
    "Collect",
    "Compare",
    "Confirm",
    "Count",
    "Create",
    "Do",
    "Every",
    "Export",
    "Hide",
    "Import",
    "Keep",
    "List",
    "Make",
    "Overwrite",
    "Print",
    "Randomise",
    "Run",
    "Show",
    "Skip",
    "Turn",
    "Widen",
    "With",
    "Write",
}
CLAUSES = {
    "How",
    "If",
    "Instead",
    "It",
    "Its",
    "Of",
    "So",
    "That",
    "Those",
    "What",
    "Whatever",
    "When",
    "Where",
    "Whether",
    "Which",
    "Who",
    "Whoever",
    "Whose",
    "Why",
}


class Option(NamedTuple):
    """An option or argument: its command, its name, its help as declared, and its click parameter."""

    verb: str
    name: str
    said: str
    parameter: Any


def _options() -> Iterator[Option]:
    for verb in ROOT.commands:
        hints = get_type_hints(ROOT.commands[verb].callback, include_extras=True)
        for parameter in ROOT.commands[verb].params:
            if "--help" not in parameter.opts:
                (said,) = (one.help for one in hints[parameter.name].__metadata__ if getattr(one, "help", None))
                yield Option(verb, parameter.opts[-1], said, parameter)


OPTIONS = list(_options())


@pytest.mark.parametrize("verb", ROOT.commands)
def test_a_summary_is_an_imperative_of_at_most_sixty_characters(verb: str) -> None:
    summary = ROOT.commands[verb].help.splitlines()[0]
    assert summary.split()[0].rstrip(",") in SUMMARY_VERBS, summary
    assert len(summary) <= 60
    assert summary.endswith(".")


@pytest.mark.parametrize("option", OPTIONS, ids=lambda one: f"{one.verb} {one.name}")
def test_help_of_an_option_follows_the_template(option: Option) -> None:
    """[With --x: | For new: ] noun phrase or imperative; then "repeatable" or "default: ..." last; a full stop."""
    said = option.said
    assert said.endswith("."), said
    assert "by default" not in said, "write 'default: ...' at the end"
    condition = re.match(r"(?:With|Without|For) [^:;.]+: ", said)
    body = said[condition.end() :] if condition else said
    first = re.match(r"[\w:.-]+", body)
    assert first is not None, said
    assert first[0] not in CLAUSES, f"begin with a noun or an imperative: {said}"
    assert condition or body[0].isupper() or ":" in first[0] or body.split(":")[0].islower(), said
    if getattr(option.parameter, "is_flag", False):
        assert first[0].capitalize() in SWITCH_VERBS, f"begin a switch with an imperative: {said}"
    if getattr(option.parameter, "multiple", False):
        assert re.search(r"; repeatable(?: with --[\w-]+)?\.$", said), f"end with '; repeatable.': {said}"
    else:
        assert "epeatable." not in said or option.name == "--seed", said
    for default in re.finditer(r"[Dd]efault: ", said):
        assert ";" not in said[default.end() :].removesuffix("; repeatable."), f"the default comes last: {said}"


# ------------------------------------------------------------------ errors


class Message(NamedTuple):
    """A message of a raise statement: its file and line, the error's name, the text with {} for values."""

    place: str
    error: str
    said: str


@functools.cache
def _messages() -> tuple[Message, ...]:
    return tuple(_said_by_raise_statements())


def _said_by_raise_statements() -> Iterator[Message]:
    for path in sorted(prose.SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                name = ast.unparse(node.exc.func)
                parts = [prose._literal(part) or "{}" for part in node.exc.args]
                if parts[-1].strip("{}:;, ") and (said := _whole(name, parts)):
                    yield Message(f"{path.relative_to(prose.ROOT)}:{node.lineno}", name, said)


def _whole(name: str, parts: list[str]) -> str:
    """Return the complete message of a raise statement, even if a function or class of `deniable` completes it."""
    match name, parts:
        case "not_available", [what, mechanism, remedy]:
            return f"{what} is not available for {mechanism}: {remedy}"
        case "out_of_range", [parameter, rule, value, *remedy]:
            return ": ".join([f"{parameter} must be {rule}, got {parameter}={value}", *remedy])
        case "unknown_name", [parameter, value, names, *remedy]:
            return ": ".join([f"{parameter} must be one of {names}, got {parameter}={value}", *remedy])
        case ("Problem", [_]) | ("AmbiguousNumbersError", _):
            return (
                ""  # The only argument of a problem is its name, and numbers that can be misread have a class's text.
            )
        case _:
            return parts[-1]


def _breaking(rule: str) -> list[str]:
    return [f"{one.place}: {one.said}" for one in _messages() if re.search(rule, one.said)]


NAMES = "|".join(
    (
        "Aggregate",
        "Answer",
        "Chernoff",
        "Content-Length",
        "Corr",
        "Cramer",
        "Estimate",
        "Parquet",
        "PostgreSQL",
        "SQLite",
        "SecureRandomness",
        "SimulationRandomness",
        "Spark",
        "WordStream",
        "DuckDB",
    )
)
"""Names with which a message may begin."""

FORBIDDEN = {
    "ends with a full stop": r"(?<!\.\.)\.$",
    "begins with a capital": rf"^(?!{NAMES})[A-Z][a-z]",
    "asks or exclaims": r"[!?]$",
    "says 'exclude each other'": r"exclude each other",
    "says 'it is none', 'it has none'": r", \S+ (?:is|has) none\b",
    "says what a noun is not": r"(?<!there )\b(?:is|are|was|were) no \w",
    "has two spaces": r"  ",
}
"""Patterns that no message may match."""


@pytest.mark.parametrize("rule", FORBIDDEN)
def test_no_message_breaks_the_template(rule: str) -> None:
    assert _breaking(FORBIDDEN[rule]) == []


RULES_WITHOUT_A_VALUE = 0
"""Messages with NAME must RULE, but without the value found or the next step. Lower it; never raise it."""


def test_a_rule_comes_with_what_was_found_or_what_to_do() -> None:
    """After "must": `got`, a colon or semicolon and the next step, or a clause that says what is there."""
    without = [
        one
        for one in _messages()
        if re.search(r"^\S+ must ", one.said) and not re.search(r"got |[:;,] |\{\}", one.said.split(" must ", 1)[1])
    ]
    listed = "\n".join(f"{one.place}: {one.said}" for one in without)
    assert len(without) <= RULES_WITHOUT_A_VALUE, listed
    assert len(without) >= RULES_WITHOUT_A_VALUE - 3, f"lower RULES_WITHOUT_A_VALUE to {len(without)}"


ELSEWHERE = {
    "unknown name": r"^(\w+) must be one of \{\}, got \1=\{\}$",
    "out of range": r"^(\S+) must be (?:in|<=?|>=?) [^,]+, got \1=\{\}$",
    "not available": r"is not available for \{\}",
}
"""Three mistakes whose wording only `deniable.errors` may define."""


@pytest.mark.parametrize("name", ELSEWHERE)
def test_one_function_words_each_of_three_mistakes(name: str) -> None:
    spelled = [
        one.place for one in _messages() if one.error == "InvalidParameterError" if re.search(ELSEWHERE[name], one.said)
    ]
    assert spelled == [], f"raise {name.replace(' ', '_')}(...) instead"


def test_the_three_functions_say_name_rule_value_and_remedy() -> None:
    assert str(unknown_name("rule", "x", ["a", "b"], "use a")) == "rule must be one of a, b, got rule=“x”: use a"
    assert str(out_of_range("n", ">= 1", 0)) == "n must be >= 1, got n=0"
    assert str(not_available("a table", "GRR", "use SMP")) == "a table is not available for GRR: use SMP"


def test_messages_are_found() -> None:
    assert len(_messages()) > 500
    assert sum(one.error == "InvalidParameterError" for one in _messages()) > 150

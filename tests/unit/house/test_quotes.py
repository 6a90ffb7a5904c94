"""No message shows a person's input in Python's quotes or notation: `errors.quoted` shows values."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.unit.house import prose

NUMBERS = "a number with all its digits, for a table or a computation"
OBJECT = "a mechanism or design, which is shown as it is made"
REPR = {
    "answers/crosstab_summary.py": NUMBERS,
    "answers/summary.py": NUMBERS,
    "core/mechanism.py": OBJECT,
    "designs/design.py": OBJECT,
    "errors.py": "the last resort of `quoted`, for objects",
    "oracles/unary_encoding.py": OBJECT,
    "planning/repeated.py": OBJECT,
    "research/baselines/apple.py": OBJECT,
    "service/metrics.py": NUMBERS,
    "survey/grid.py": NUMBERS,
    "survey/kinds/numeric.py": NUMBERS,
    "survey/lists.py": NUMBERS,
    "testing/foreign.py": "reports of another library, compared by what they are",
}
"""Modules that use `repr` outside of a `__repr__`, each with what it is for. Only ever remove some."""


def _reprs() -> Iterator[tuple[str, int, bool]]:
    """Yield each `!r` and `repr` outside of a `__repr__`: module, line, and whether it is in a sentence."""
    for path in sorted(prose.SOURCES.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "!r" not in text and "repr" not in text:
            continue
        tree = ast.parse(text)
        allowed = {
            id(node)
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef) and function.name == "__repr__"
            for node in ast.walk(function)
        }
        for node in ast.walk(tree):
            if id(node) not in allowed:
                module = str(path.relative_to(prose.SOURCES))
                if isinstance(node, ast.FormattedValue) and node.conversion == ord("r"):
                    yield module, node.lineno, True
                if isinstance(node, ast.Name) and node.id == "repr":
                    yield module, node.lineno, False


def test_no_sentence_shows_a_value_as_python_writes_it() -> None:
    found = list(_reprs())
    spelled = [f"{module}:{line}" for module, line, sentence in found if sentence or module not in REPR]
    assert spelled == [], "show values with errors.quoted"
    assert set(REPR) == {module for module, _, sentence in found if not sentence}, "remove what no longer occurs"

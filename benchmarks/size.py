"""Statements of the library, of what the first edition could do and of what came later: ``python -m benchmarks.size``.

A *statement* is a statement node of the syntax tree: not a line, and not changed by a formatter. A module counts as
later if all of it serves what the first edition could not do; `LATER` says what. A module that serves both counts as
the first edition's, so its figure is an upper one.
"""

from __future__ import annotations

import ast
import fnmatch
from collections import Counter
from collections.abc import Callable
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "deniable"

FIRST_EDITION, FIRST_DOCUMENTS = 21_578, 14_051
"""Statements of the last commit of the first edition, f9f754c, and lines of its docstrings, counted in the same way."""

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

LATER: dict[str, tuple[str, ...]] = {
    "questions of estimates": (
        *("answers/[!_cs]*.py", "answers/c[!r]*.py", "answers/stratified.py", "cli/compare.py", "report/answers.py"),
        *("core/answer.py", "core/questions.py", "core/ordered.py", "core/fieller.py", "core/looks.py"),
        *("core/joint.py", "core/renderers.py", "report/shown.py"),
    ),
    "crosstabs": (
        *("answers/crosstab*.py", "cli/crosstab.py", "report/crosstabs.py", "postprocess/dependence.py"),
        *("records/pair_sample.py", "records/pair_parts.py", "records/pair_margins.py", "records/joint.py"),
        *("records/sampled_tables.py", "records/split_tables.py"),
    ),
    "kinds of questions": (
        *("survey/grid.py", "oracles/square_wave.py", "oracles/wave_weights.py"),
        *("postprocess/smoothing.py", "planning/waves.py", "files/formats/workbooks.py", "files/jobs/tidying.py"),
    ),
    "planning a decision, rehearsals": (
        *("planning/decision.py", "planning/exploring.py", "planning/guess.py", "planning/pair_error.py"),
        *("planning/phase_loss.py", "planning/question*.py", "planning/rehearsal.py", "cli/rehearse.py"),
        *("report/decisions.py", "report/explorer.py", "report/rehearsals.py"),
    ),
    "the collector and its clients": (
        *("service/*", "files/wire.py", "files/formats/posted.py", "cli/serve.py", "cli/survey.py", "cli/send.py"),
        "report/consent.py",
    ),
    "engines": ("engines/*",),
    "what a contributor sees before reporting, and the order of reports": (
        *("survey/inspection.py", "cli/inspect.py", "files/jobs/shuffling.py"),
    ),
    "laws for mechanisms of other packages": ("testing/*",),
    "letters of all scripts in pictures": ("report/fonts.py",),
}
"""What the first edition could not do, and the modules that serve nothing else."""


def statements(path: Path) -> int:
    """Return the number of statements of a module."""
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def docstring_lines(path: Path) -> int:
    """Return the number of lines of a module's docstrings."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, Documented)]
    return sum(text.count("\n") + 1 for node in nodes if (text := ast.get_docstring(node, clean=False)))


def later(module: str) -> str:
    """Return what a module, named by its path, serves that the first edition could not do; "" if there is nothing."""
    return next((what for what, modules in LATER.items() if any(fnmatch.fnmatch(module, one) for one in modules)), "")


def sizes(count: Callable[[Path], int] = statements) -> tuple[Counter[str], Counter[str]]:
    """Return what the first edition's capabilities have now, by package, and what each later one has."""
    first: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).as_posix()
        what = later(module)
        if what:
            others[what] += count(path)
        else:
            first[module.split("/")[0] if "/" in module else "deniable"] += count(path)
    return first, others


def main() -> None:
    """Print both counts."""
    first, others = sizes()
    total = first.total() + others.total()
    print(f"{total:,} statements, {first.total():,} of them for what the first edition could do in {FIRST_EDITION:,}")
    for package, count in first.most_common():
        print(f"    {package:<12}{count:>7,}")
    print(f"{others.total():,} for what came later")
    for what, count in others.most_common():
        print(f"    {count:>7,}  {what}")
    first, others = sizes(docstring_lines)
    total = first.total() + others.total()
    print(f"{total:,} lines of docstrings, {first.total():,} of them where there were {FIRST_DOCUMENTS:,}")


if __name__ == "__main__":
    main()

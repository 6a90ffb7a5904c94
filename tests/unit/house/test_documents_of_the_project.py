"""README, docs and the docstrings of public names are true."""

from __future__ import annotations

import ast
import importlib
import math
import os
import re
import types
from pathlib import Path

import pytest
from docs.making import mechanisms, names, outputs

import deniable
from deniable.core.names import CLASSES, mechanism_class

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_tests_that_pages_name_exist() -> None:
    tests = [part.as_posix() for part in (ROOT / "tests").rglob("test_*.py")]
    for page in PAGES:
        for room, name in re.findall(r"`(?:tests/)?((?:\w+/)*)(test_\w+)(?:\.py)?`", page.read_text()):
            assert any(test.endswith(f"/{room}{name}.py") for test in tests), f"{page.name} names {room}{name}"


@pytest.mark.parametrize("page", PAGES, ids=_relative)
def test_python_in_the_pages_runs(page: Path) -> None:
    """All blocks run, and their output is below them."""
    text, name = page.read_text(encoding="utf-8"), _relative(page)
    made = outputs.with_outputs(name, text)
    if name not in outputs.NEEDS_DATA or os.environ.get("DENIABLE_DATA"):
        assert outputs.alike(text, made), "the output on the page is another: run python -m docs.making"


def test_outputs_may_differ_in_last_digits_only() -> None:
    assert outputs.alike("mean 0.12345678, 1,200", "mean 0.12345679, 1,200")
    assert not outputs.alike("mean 0.1234", "mean 0.1235")
    assert not outputs.alike("mean 0.1234", "median 0.1234")
    page = "```python\nprint(1 + 1)\n```\n\nText.\n"
    shown = outputs.with_outputs("docs/a.md", page)
    assert shown == "```python\nprint(1 + 1)\n```\n\n```output\n2\n```\n\nText.\n"
    assert outputs.with_outputs("docs/a.md", shown.replace("\n2\n", "\n3\n")) == shown


def test_every_mechanism_has_a_page_that_is_up_to_date() -> None:
    made = mechanisms.pages(without=mechanisms.SLOW)
    assert len(made) == 1 + len(CLASSES) - len(mechanisms.SLOW)
    for path, text in made.items():
        assert text == (ROOT / "docs" / path).read_text(encoding="utf-8"), f"docs/{path}: run python -m docs.making"


@pytest.mark.long
@pytest.mark.parametrize("name", mechanisms.SLOW)
def test_pages_whose_errors_take_seconds_are_up_to_date(name: str) -> None:
    card = mechanism_class(name).card
    path = ROOT / "docs" / "mechanisms" / f"{mechanisms.slug(name)}.md"
    assert mechanisms.page(name, card) == path.read_text(encoding="utf-8")


def test_errors_on_pages_of_mechanisms_are_those_of_the_formulas() -> None:
    """For GRR and OUE in closed form, and for a mean by the square wave's own channel."""
    e = math.exp(1)
    shown = mechanisms.errors("GRR")
    assert shown is not None
    for (_, k), values in shown.rows:
        size = int(k.replace(",", ""))
        variance = (e + size - 2) / (e - 1) ** 2
        assert values == pytest.approx([196 * math.sqrt(variance / n) for n in shown.contributors], rel=1e-4)
    shown = mechanisms.errors("OUE")
    assert shown is not None
    assert shown.rows[0][1] == pytest.approx([392 * math.sqrt(e / n) / (e - 1) for n in shown.contributors], rel=1e-4)


def test_readme_is_under_two_screens() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 80


def test_public_names() -> None:
    names = set(dir(deniable))
    verbs = {"mechanism", "collection", "plan", "recommend", "draft_schema", "read_dictionary"}
    core = {"Aggregate", "Estimate", "RecordEstimate", "Mechanism", "Guarantee", "TrustModel", "DeniableError"}
    core |= {"SecureRandomness", "SimulationRandomness", "Attribute", "Schema", "Collection", "Dictionary"}
    mechanisms = {"GRR", "OUE", "RAPPOR", "SubsetSelection", "CountMeanSketch", "OCMS", "SPL", "SMP", "CorrRR"}
    assert verbs | core | mechanisms <= names
    namespaces = {name for name in names if isinstance(getattr(deniable, name), types.ModuleType)}
    assert {"answers", "errors", "leakage", "planning", "postprocess", "report"} <= namespaces
    assert len(names - namespaces) <= 37
    assert set(vars(deniable)["__all__"]) == names
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        deniable.nothing_of_that_name  # type: ignore[attr-defined]  # noqa: B018


PACKAGES = [
    ".".join(("deniable", *stub.parent.relative_to(ROOT / "src" / "deniable").parts))
    for stub in sorted((ROOT / "src" / "deniable").rglob("__init__.pyi"))
]


@pytest.mark.parametrize("name", PACKAGES)
def test_lazy_names_exist_and_no_module_hides_one(name: str) -> None:
    package = importlib.import_module(name)
    stub = ast.parse(Path(package.__file__ or "").with_suffix(".pyi").read_text())
    imports = [node for node in ast.walk(stub) if isinstance(node, ast.ImportFrom)]
    names = {alias.name for node in imports for alias in node.names}
    assert names == set(package.__all__)
    # A name that is not imported as `x as x` is private to type checkers.
    assert all(alias.asname == alias.name for node in imports for alias in node.names)
    modules = {alias.name for node in imports if node.module is None for alias in node.names}
    assert {one for one in names if isinstance(getattr(package, one), types.ModuleType)} == modules


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_function_has_an_example(name: str) -> None:
    package = importlib.import_module(name)
    found = {one: getattr(package, one) for one in package.__all__}
    assert {
        one for one, value in found.items() if isinstance(value, types.FunctionType) and ">>>" not in str(value.__doc__)
    } == set()


def test_tables_of_mechanisms_and_names_are_as_cards_and_namespaces_say() -> None:
    page = (ROOT / "docs" / "choosing.md").read_text()
    assert names.with_shelves(page) == page, "run python -m docs.making"
    for path, text in names.pages().items():
        assert text == (ROOT / "docs" / path).read_text(), f"docs/{path}: run python -m docs.making"
    for name in CLASSES:
        assert f"| [`{name}`](mechanisms/" in page


def test_every_error_is_in_the_tree() -> None:
    tree = deniable.errors.__doc__ or ""
    for name, value in vars(deniable.errors).items():
        if isinstance(value, type):
            assert re.search(rf"\b{name}\b", tree), name
            assert issubclass(value, deniable.DeniableError)


def test_version_is_said_once() -> None:
    from importlib.metadata import version

    assert f'version = "{version("deniable")}"' in (ROOT / "pyproject.toml").read_text()
    assert f"version: {version('deniable')}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version('deniable')}" in (ROOT / "CHANGELOG.md").read_text()

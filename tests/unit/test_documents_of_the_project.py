"""README, docs and the public names say what is true."""

from __future__ import annotations

import re
import types
from pathlib import Path

import pytest

import deniable

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_relative)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=_relative)
def test_python_in_the_pages_runs(page: Path) -> None:
    namespace: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, str(page), "exec"), namespace)


def test_readme_is_under_two_screens() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 80


def test_public_names() -> None:
    names = {
        name
        for name, value in vars(deniable).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    mechanisms = {"GRR", "SUE", "OUE", "RAPPOR", "SubsetSelection", "Exponential", "SHE", "THE"}
    mechanisms |= {"CountMeanSketch", "BLH", "OLH", "SPL", "SMP", "RSFD", "RSRFD"}
    core = {"Aggregate", "Estimate", "RecordEstimate", "Mechanism", "Guarantee", "TrustModel"}
    core |= {"Randomness", "SecureRandomness", "SimulationRandomness", "Attribute", "Schema", "Collection"}
    functions = {"draft_schema", "plan", "recommend", "Plan", "PlanRow", "norm_sub", "simplex", "base_cut"}
    functions |= {"clip_normalize", "iterative_bayes", "iterative_bayes_reports"}
    assert mechanisms | core | functions <= names
    errors = {name for name in names if name.endswith("Error")}
    assert errors == {name for name in vars(deniable.errors) if name.endswith("Error")}


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

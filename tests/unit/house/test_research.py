"""The main part of the library and `deniable.research`: which modules may name which."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from deniable.core.names import CLASSES

SOURCE = Path(__file__).parents[3] / "src" / "deniable"

TABLES = {"core/names.py", "oracles/sketch/families/registry.py"}
"""Tables of classes by name: they name modules of research without importing them."""


def named_in(source: Path) -> set[str]:
    """Return the modules outside `research` that spell its name in code or in an example."""
    modules = (path for path in source.rglob("*.py") if "research" not in path.relative_to(source).parts)
    return {path.relative_to(source).as_posix() for path in modules if "deniable.research." in path.read_text()}


def test_the_main_house_names_research_in_tables_only() -> None:
    assert named_in(SOURCE) == TABLES


def test_the_search_sees_a_name(tmp_path: Path) -> None:
    (tmp_path / "research").mkdir()
    (tmp_path / "research" / "own.py").write_text("import deniable.research.dealt")
    (tmp_path / "command.py").write_text("import deniable.research.dealt")
    assert named_in(tmp_path) == {"command.py"}


def test_nothing_is_recommended_from_research() -> None:
    from deniable.core.names import cards

    studied = {name for name, place in CLASSES.items() if place.startswith("deniable.research.")}
    recommended = {name for name, card in cards() if card.recommended or any(one.recommended for one in card.variants)}
    assert studied
    assert not studied & recommended


def test_research_is_imported_when_it_is_asked_for_only() -> None:
    """A survey, its reports and its estimate do not need it; plans do, because they compare all mechanisms."""
    code = (
        "import sys, deniable as dn\n"
        "survey = dn.Collection(dn.Schema((dn.Attribute('a', ('x', 'y', 'z')),)), dn.GRR(3, 1.0))\n"
        "reports = survey.randomize({'a': ['x', 'y', 'z']}, dn.SimulationRandomness(1))\n"
        "survey.estimate(survey.aggregate(reports))\n"
        "import deniable.cli\n"
        "print(sorted(name for name in sys.modules if name.startswith('deniable.research')))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

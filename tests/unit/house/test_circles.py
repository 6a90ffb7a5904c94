"""No module imports itself through others; imports for types, inside functions and by name are included."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

Imports = dict[str, set[str]]


def named(node: ast.AST) -> Iterator[str]:
    """Yield the imports of a piece of a program: modules, or possible modules in them."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        yield from (one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str))


def of_python(folder: Path, base: Path) -> Imports:
    """Return the imports among a folder's modules, without packages, which all modules in them load."""
    paths = {".".join(path.relative_to(base).with_suffix("").parts): path for path in folder.rglob("*.py")}
    return {
        module: {name for node in ast.walk(ast.parse(path.read_text())) for name in named(node)} & paths.keys()
        for module, path in paths.items()
    }


def of_typescript(folder: Path) -> Imports:
    """Return the imports among the modules of the client."""
    pattern = r"""(?:from|import\()\s*["']\./([a-z-]+)\.js["']"""
    return {path.stem: set(re.findall(pattern, path.read_text())) for path in folder.glob("*.ts")}


def circle(imports: Imports) -> list[str]:
    """Return modules that import each other in a circle; none if there is no circle."""
    rest = dict(imports)
    # A module that imports no remaining module is in no circle. Nor is a module that no remaining module imports.
    while True:
        used = {name for names in rest.values() for name in names}
        kept = {name: rest[name] & rest.keys() for name in rest if rest[name] & rest.keys() and name in used}
        if kept == rest:
            return sorted(rest)
        rest = kept


@pytest.mark.parametrize("folder", ["src/deniable", "benchmarks", "experiments", "client/src"])
def test_no_module_leads_back_to_itself(folder: str) -> None:
    place = ROOT / folder
    imports = of_typescript(place) if folder == "client/src" else of_python(place, place.parent)
    assert sum(map(len, imports.values())) > 10
    assert circle(imports) == []


def test_packages_stand_on_ten_floors_and_no_import_is_left_out() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (floors,) = [one for one in contracts if one.get("containers") == ["deniable"]]
    assert len(floors["layers"]) <= 10
    assert floors["exhaustive"]
    assert not [one["name"] for one in contracts if "ignore_imports" in one]


def test_a_circle_is_found(tmp_path: Path) -> None:
    texts = {
        "a": "from x.b import f",
        "b": "def f():\n    import importlib\n    importlib.import_module('x.c')",
        "c": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from x import b",
        "d": "import x.c",
    }
    (tmp_path / "x").mkdir()
    for name, text in texts.items():
        (tmp_path / "x" / f"{name}.py").write_text(text)
    assert circle(of_python(tmp_path / "x", tmp_path)) == ["x.b", "x.c"]
    (tmp_path / "a.ts").write_text('import type { B } from "./b.js";')
    (tmp_path / "b.ts").write_text('const a = await import("./a.js");')
    assert circle(of_typescript(tmp_path)) == ["a", "b"]

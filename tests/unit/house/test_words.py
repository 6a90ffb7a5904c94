"""Random words leave their source in one place."""

from __future__ import annotations

import ast
from pathlib import Path

import deniable

ROOT = Path(deniable.__file__).parent


def test_only_streams_fill_arrays_with_words() -> None:
    """No module but `core.randomness` calls `rng.fill`: a buffer of a kernel's own could be read twice."""
    calls = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "fill"
        if not isinstance(node.func.value, ast.Name) or node.func.value.id != "textwrap"
    }
    assert calls == {"core/randomness.py", "testing/bulk.py"}

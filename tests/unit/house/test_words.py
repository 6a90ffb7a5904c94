"""Random words leave their source in one place."""

from __future__ import annotations

import ast
from pathlib import Path

import deniable

ROOT = Path(deniable.__file__).parent


def test_only_streams_fill_arrays_with_words() -> None:
    """No module but `core.randomness` names `rng.fill`: a buffer of a kernel's own could be read twice."""
    named = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "fill"
        if not isinstance(node.value, ast.Name) or node.value.id != "textwrap"
    }
    assert named == {"core/randomness.py", "testing/bulk.py"}

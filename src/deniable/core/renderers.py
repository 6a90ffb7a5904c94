"""Renderers of estimates for people: a table, so that an estimate shows itself and knows no page.

`deniable` itself, which is loaded before all packages in it, fills the table with what `report` has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

RENDERERS: dict[str, Callable[[Any], Any]] = {}
"""Renderers of estimates by attribute: "figure" (matplotlib), "html" (a text)."""


def render(kind: str, estimates: Any) -> Any:
    """Return what the renderer of that kind draws of estimates by attribute."""
    return RENDERERS[kind](estimates)

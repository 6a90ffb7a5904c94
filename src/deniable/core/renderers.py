"""Table of renderers of estimates for people, so that an estimate can be shown without knowing its page.

`deniable`, which is loaded before all its packages, fills the table with the renderers of `report`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

RENDERERS: dict[str, Callable[[Any], Any]] = {}
"""Renderers of estimates by attribute: "figure" (matplotlib), "html" (a text)."""


def render(kind: str, estimates: Any) -> Any:
    """Return the drawing that the renderer of that kind makes of estimates, which are given by attribute."""
    return RENDERERS[kind](estimates)

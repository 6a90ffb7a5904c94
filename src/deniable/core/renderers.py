"""What draws estimates for people: a table that `report` fills, so that an estimate shows itself and knows no page.

This is the one place where a lower layer reaches a higher one: by name, when somebody asks for a picture.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

RENDERERS: dict[str, Callable[[Any], Any]] = {}
"""How to draw estimates by attribute: "figure" (matplotlib), "html" (a text)."""


def render(kind: str, estimates: Any) -> Any:
    """Return what the renderer of that kind draws of estimates by attribute."""
    if kind not in RENDERERS:
        importlib.import_module("deniable.report.shown")
    return RENDERERS[kind](estimates)

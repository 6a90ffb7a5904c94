"""The papers' experiments by name, and the printed numbers for comparison."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from experiments.harness import Paper

PAPER = Paper("corr_rr")


@cache
def expected() -> dict[str, Any]:
    """Return the cells that the papers print, with their settings."""
    text = Path(__file__).with_name("expected.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found

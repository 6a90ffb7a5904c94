"""The paper's experiments by name, and its numbers for comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.harness import Paper

PAPER = Paper("ocms")

EPSILONS = (1, 2, 3, 4, 5)
"""The privacy budgets of the paper's figures."""


def expected() -> dict[str, Any]:
    """Return the paper's numbers for comparison, from its text and tables."""
    path = Path(__file__).with_name("expected.json")
    numbers: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return numbers

"""``python -m experiments.guides [NAME ...]``: make the guides' pictures and the file of answers in docs/."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from experiments.guides import epsilon, loads, screenshots, staff, tutorial

DOCS = Path(__file__).parents[2] / "docs"

MADE: dict[str, Callable[[], None]] = {
    "epsilon": lambda: epsilon.draw(DOCS / "pictures" / "epsilon.png"),
    "load-times": lambda: loads.draw(DOCS / "pictures" / "load-times.png"),
    "staff": lambda: staff.write(DOCS / "tutorial" / "staff.csv"),
    "tutorial": lambda: tutorial.draw(DOCS / "pictures"),
    "screenshots": lambda: screenshots.draw(DOCS / "screenshots"),
}

if __name__ == "__main__":
    names = sys.argv[1:] or list(MADE)
    if unknown := [name for name in names if name not in MADE]:
        raise SystemExit(f"NAME must be one of {', '.join(MADE)}, got {unknown[0]}")
    for name in names:
        MADE[name]()

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
    for name in sys.argv[1:] or MADE:
        MADE[name]()

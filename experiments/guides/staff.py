"""Answers for the tutorial: 3,000 invented nurses, in a file as people really have them.

The file has semicolons, row numbers, one answer with several spellings, "n/a" among numbers, a long tail, and open
text.
"""

from __future__ import annotations

import random
from pathlib import Path

N = 3000
LEAVING = {"never": 0.42, "sometimes": 0.37, "often": 0.21}
"""Distribution from which answers to the question about leaving are drawn."""


def text() -> str:
    """Return the file, which is always the same.

    >>> text().splitlines()[:2]
    ['nr;shift;overtime;leaving;remark', '1;day;1;sometimes;ward 16: a canteen at night']
    """
    draw = random.Random(8)
    wishes = ("more of us", "a rota that comes earlier", "a room to sleep in", "fewer forms", "a canteen at night")
    lines = ["nr;shift;overtime;leaving;remark"]
    for number in range(1, N + 1):
        shift = draw.choices(("day", "Day", "night", "Night", "both"), (0.35, 0.15, 0.2, 0.1, 0.2))[0]
        overtime = str(round(draw.expovariate(1 / 9))) if draw.random() > 0.02 else "n/a"
        if number == 1729:
            overtime = "412"
        leaving = draw.choices(tuple(LEAVING), tuple(LEAVING.values()))[0]
        remark = f"ward {draw.randint(1, 40)}: {draw.choice(wishes)}" if draw.random() < 0.3 else ""
        lines.append(f"{number};{shift};{overtime};{leaving};{remark}")
    return "\n".join(lines) + "\n"


def write(path: Path) -> None:
    """Write the file."""
    path.write_text(text(), encoding="utf-8", newline="\n")

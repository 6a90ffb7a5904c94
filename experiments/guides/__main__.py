"""``python -m experiments.guides``: draw every picture of the guides into docs/pictures."""

from __future__ import annotations

from pathlib import Path

from experiments.guides import epsilon

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"

if __name__ == "__main__":
    epsilon.draw(FOLDER / "epsilon.png")

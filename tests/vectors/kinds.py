"""Write rounding.json, schema.json and survey.json, with which clients in other languages copy the question kinds.

Run ``python -m tests.vectors.kinds``. The thresholds of rounding.json are computed here from the definition, in
fractions. The library computes them in integers.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from deniable import AdaptiveSMP, Attribute, Collection, Schema

FOLDER = Path(__file__).parent

SCHEMA = Schema(
    (
        Attribute("sex", ("f", "m"), missing="no answer"),
        Attribute("age", edges=(30, 60)),
        Attribute("stars", ("1", "2", "3", "4", "5"), kind="ordered", ask="mean", title="Stars out of five"),
        Attribute("mood", ("bad", "so-so", "good"), kind="ordered", scores=(-1, 0, 1.5)),
        Attribute("income", kind="numeric", range=(0, 5000), grid=21, clip=True, title="Income a month"),
        Attribute("share", kind="numeric", range=(-0.5, 1), grid=4, missing="no answer", ask="shares"),
        Attribute("devices", ("phone", "radio", "television"), other="another", kind="multiple"),
        Attribute("languages", ("es; ca", "en"), kind="multiple", separator="|", title="Languages at home"),
    )
)
"""Every kind that stands beside others, and every key."""

RANGES = (((0, 5000), 21), ((-0.5, 1), 4), ((0, 1), 2), ((0.001, 0.0013), 7), ((-1e15, 1e15), 1024))
ANSWERS = ("0", "1", "-0.5", "250", "250.5", "4999.999999", "0.1", ".25", "+3e-1", "0.0012", "1e-30", "-123456789012.5")


def survey() -> Collection:
    """Return a collection of the schema."""
    return Collection(SCHEMA, AdaptiveSMP(SCHEMA.sizes, 2.0), title="every kind")


def rounding_cases() -> list[dict[str, Any]]:
    """Return cases of one answer and one word: the first words that leave it below, the last that lift it, the ends."""
    cases = []
    for ends, grid in RANGES:
        low, high = (Fraction(repr(end)) for end in ends)
        for answer in ANSWERS:
            value = Fraction(answer)
            clipped = min(max(value, low), high)
            place = (clipped - low) * (grid - 1) / (high - low)
            code, threshold = int(place), int((place - int(place)) * 2**64)
            words = {0, threshold - 1, threshold, 2**64 - 1} - {-1}
            cases += [
                {
                    "range": list(ends),
                    "grid": grid,
                    "clip": value != clipped,
                    "answer": answer,
                    "threshold": f"{threshold:016x}",
                    "word": f"{word:016x}",
                    "code": code + (word < threshold),
                }
                for word in sorted(words)
            ]
    return cases


def main() -> None:
    """Write the three files."""
    text = json.dumps({"cases": rounding_cases()}, indent=1)
    (FOLDER / "rounding.json").write_text(text + "\n")
    SCHEMA.save(FOLDER / "schema.json")
    survey().save(FOLDER / "survey.json")


if __name__ == "__main__":
    main()

"""Attributes of all kinds."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from deniable import (
    Attribute,
)

DEVICES = Attribute("devices", ("phone", "radio", "tv"), kind="multiple")

LABELS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=";"), min_size=1, max_size=6).map(
    str.strip
)

NUMBERS = st.floats(-1e15, 1e15, allow_nan=False).map(lambda value: round(value, 3) + 0.0)


@st.composite
def attributes(draw: st.DrawFn) -> Attribute:
    """Any attribute except open text, of any kind, with any key."""
    name, title = draw(st.text(min_size=1, max_size=6)), draw(st.text(max_size=3))
    kind = draw(st.sampled_from(["categories", "ordered", "numeric", "multiple"]))
    labels = draw(st.lists(LABELS.filter(bool), min_size=4, max_size=6, unique=True))
    missing, other = (label if draw(st.booleans()) else None for label in labels[:2])
    keys: dict[str, Any] = {"kind": kind, "title": title, "missing": missing, "other": other}
    if kind == "numeric":
        low = draw(st.integers(-1000, 1000)) / draw(st.sampled_from([1, 10, 8]))
        keys |= {"range": (low, low + draw(st.integers(1, 10**6)) / 4), "grid": draw(st.integers(2, 40))}
        keys |= {"clip": draw(st.booleans()), "ask": draw(st.sampled_from([None, "shares", "mean"]))}
        # A label may equal a point's label. Then the attribute is refused, which is another test.
        keys |= {"missing": missing and f"m{missing}", "other": other and f"o{other}"}
        return Attribute(name, **keys)
    if kind == "ordered" and draw(st.booleans()):
        keys["scores"] = tuple(draw(st.lists(NUMBERS, min_size=len(labels) - 2, max_size=len(labels) - 2)))
        keys["ask"] = draw(st.sampled_from([None, "shares", "mean"]))
    if kind == "multiple":
        keys["separator"] = draw(st.sampled_from([";", " ; ", ";;"]))
    return Attribute(name, tuple(labels[2:]), **keys)

"""A survey with guessed answers, and its rehearsal."""

from __future__ import annotations

from deniable import Attribute, Schema

SMOKER = Schema((Attribute("smoker", ("yes", "no")),))

SURVEY = Schema(
    (
        Attribute("stars", ("1", "2", "3"), "none", kind="ordered", ask="mean", title="How many stars?"),
        Attribute("devices", ("phone", "radio"), kind="multiple"),
        Attribute("income", kind="numeric", range=(0, 100), grid=5, ask="shares"),
    )
)

SHARES = {
    "stars": {"1": 0.2, "2": 0.2, "3": 0.4, "none": 0.2},
    "devices": {"phone": 0.9, "radio": 0.3},
    "income": {"0": 0.5, "50": 0.5},
}

"""Questionnaires for plans."""

from __future__ import annotations

from statistics import NormalDist

from deniable import (
    Attribute,
    Schema,
)


def questionnaire(*sizes: int) -> Schema:
    return Schema(tuple(Attribute(f"q{i}", tuple(map(str, range(k)))) for i, k in enumerate(sizes)))


Z = NormalDist().inv_cdf(0.975)

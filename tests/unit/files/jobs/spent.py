"""Surveys whose epsilon is spent."""

from __future__ import annotations

from typing import Any

from deniable import SPL, Collection
from tests.unit.survey_files import SCHEMA

FEW = 40


def survey(epsilon: str, version: int = 1, kind: type[Any] = SPL) -> Collection:
    return Collection(SCHEMA, kind(sizes=SCHEMA.sizes, epsilon=epsilon), version=version)

"""Phases as collections: matching phases, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deniable import SPL, Aggregate, Attribute, Collection, Schema, SimulationRandomness
from deniable.errors import InvalidParameterError, MismatchError
from deniable.records.phases.phases import Phases, next_round

SCHEMA = Schema((Attribute("smokes", ("no", "yes")), Attribute("drinks", ("no", "yes"))))


def wave(version: int) -> tuple[Collection, Aggregate]:
    survey = Collection(SCHEMA, SPL(sizes=(2, 2), epsilon=1.0), version)
    answers = np.array([[0, 0], [0, 1], [1, 1]] * 20)
    return survey, survey.aggregate(survey.randomize(answers, SimulationRandomness(version)))


def test_surveys_that_learned_from_none_are_not_phases() -> None:
    with pytest.raises(
        MismatchError, match=r"phase 2 learned from no phase.*to compare two surveys, use .*deniable compare"
    ):
        Phases((wave(1), wave(2)))


def test_a_phase_is_a_collection_and_then_its_aggregate() -> None:
    survey, aggregate = wave(1)
    swapped: Any = (aggregate, survey)
    with pytest.raises(InvalidParameterError, match="must be a Collection, with its aggregate second, got Aggregate"):
        Phases((swapped, wave(2)))
    with pytest.raises(InvalidParameterError, match="must be a Collection, with its aggregate second, got Aggregate"):
        next_round([swapped], contributors=100)

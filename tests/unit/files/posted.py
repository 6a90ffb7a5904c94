"""Reports in the form in which they are posted."""

from __future__ import annotations

import numpy as np

from deniable import SimulationRandomness
from deniable.files.wire import (
    Body,
    to_wire,
)
from deniable.survey.collection import Collection
from tests.unit.survey_files import SURVEY


def body(n: int, start: int = 0, survey: Collection = SURVEY) -> Body:
    """Return n reports; their ids count from `start`."""
    codes = np.stack([np.arange(n) % size for size in survey.schema.sizes], axis=1)
    rows = to_wire(survey.mechanism, survey.randomize(codes, SimulationRandomness(start)))
    ids = np.zeros((n, 16), np.uint8)
    ids[:, 14:] = np.arange(start, start + n).astype(">u2").view(np.uint8).reshape(n, 2)
    return Body(survey.id, ids, rows)

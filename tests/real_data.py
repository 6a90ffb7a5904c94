"""Real data sets as integer records, from the directory that the environment variable DENIABLE_DATA names.

The files are not part of the project (their licences differ). The encodings are those of the experiments.
"""

from __future__ import annotations

import os

import pytest
from experiments.cpl.data import (
    ADULT_NUMERIC as ADULT_NUMERIC,
    CARDIO_NUMERIC as CARDIO_NUMERIC,
    Table as Table,
    adult as adult,
    cardio as cardio,
    celeba as celeba,
    common_faces as common_faces,
    lfw as lfw,
    quartiles as quartiles,
)

requires_data = pytest.mark.skipif(
    not os.environ.get("DENIABLE_DATA"),
    reason="real data are not distributed with the project: set DENIABLE_DATA to a directory that has them",
)

"""Real data sets as integer records, from the directory that the environment variable DENIABLE_DATA names.

The files are not part of the project (their licences differ). The encodings are those of the experiments.
"""

from __future__ import annotations

import os

import pytest
from experiments.cpl.data import ADULT_NUMERIC as ADULT_NUMERIC
from experiments.cpl.data import CARDIO_NUMERIC as CARDIO_NUMERIC
from experiments.cpl.data import Table as Table
from experiments.cpl.data import adult as adult
from experiments.cpl.data import cardio as cardio
from experiments.cpl.data import celeba as celeba
from experiments.cpl.data import common_faces as common_faces
from experiments.cpl.data import lfw as lfw
from experiments.cpl.data import quartiles as quartiles

requires_data = pytest.mark.skipif(
    not os.environ.get("DENIABLE_DATA"),
    reason="real data are not distributed with the project: set DENIABLE_DATA to a directory that has them",
)

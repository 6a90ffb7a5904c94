"""The example survey."""

from __future__ import annotations

import numpy as np

from deniable.survey.example import demo_answers, demo_schema
from tests.unit.affairs import TRUTH, N


def test_schema_encodes_every_answer() -> None:
    schema = demo_schema()
    codes = schema.encode(demo_answers())
    assert codes.shape == (N, 6)
    assert len(schema.names) >= 5
    for j, (name, counts) in enumerate(TRUTH.items()):
        assert schema.names[j] == name
        assert np.bincount(codes[:, j]).tolist() == counts, name

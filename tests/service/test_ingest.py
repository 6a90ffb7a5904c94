"""Impossible reports of a batch are found with few checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deniable.service import ingest
from deniable.service.surveys import Survey
from tests.service.asking import (
    ASKED,
    page,
)


@pytest.mark.parametrize(("impossible", "most"), [(1, 46), (512, 4000), (10_000, 1100)])
@pytest.mark.parametrize("others", [0, 100])
def test_impossible_reports_are_found_by_few_looks(
    impossible: int, most: int, others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For 10,000 impossible reports, 20,000 checks would block all others for seconds."""
    survey, looks = Survey.read(ASKED.to_json(), page(), {}), [0]
    look = Survey.valid

    def counted(self: Survey, rows: Any) -> bool:
        looks[0] += 1
        return look(self, rows)

    monkeypatch.setattr(Survey, "valid", counted)
    rows = np.zeros((10_000, 1), np.uint8)
    rows[np.random.default_rng(3).permutation(10_000)[:impossible]] = 3
    honest = [np.full((1, 1), 2, np.uint8)] * others
    found = ingest.valid_rows(survey, [*honest, rows, *honest])
    taken = (rows < 3)[:, 0] if impossible <= ingest.MOST_IMPOSSIBLE else np.zeros(10_000, np.bool_)
    assert found.tolist() == [True] * others + taken.tolist() + [True] * others
    assert looks[0] <= most


def test_impossible_reports_are_those_that_one_look_each_would_find() -> None:
    survey = Survey.read(ASKED.to_json(), page(), {})
    generator = np.random.default_rng(5)
    for _ in range(30):
        sent = [generator.choice(5, (n, 1), p=[0.5, 0.3, 0.1, 0.05, 0.05]) for n in generator.integers(1, 9, 12)]
        posted = [rows.astype(np.uint8) for rows in sent]
        assert ingest.valid_rows(survey, posted).tolist() == (np.concatenate(posted)[:, 0] < 3).tolist()

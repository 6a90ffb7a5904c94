"""A file of reports alone reveals no pairs with the same noise, and no answer beyond the best guess."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from deniable import SimulationRandomness, SubsetSelection
from deniable.files.formats.reports import ReportReader
from deniable.files.jobs.randomizing import randomize_file
from deniable.survey.attribute import Attribute
from deniable.survey.collection import Collection
from deniable.survey.schema import Schema
from tests.contract.test_bulk import old_line

K, N, EPSILON = 1000, 3 << 15, 5.0
LABELS = [f"v{value}" for value in range(K)]
MECHANISM = SubsetSelection(K, EPSILON)
SURVEY = Collection(Schema((Attribute("town", tuple(LABELS)),)), MECHANISM)


def reports_of_a_file(folder: Path) -> tuple[NDArray[np.int64], dict[tuple[int, ...], int]]:
    """Return the reports of 98,304 contributors in random order, as in a file, and the holder of each report."""
    answers = np.random.default_rng(1).integers(0, K, N)
    pq.write_table(pa.table({"town": pa.array(LABELS).take(pa.array(answers))}), folder / "answers.parquet")
    randomize_file(SURVEY, folder / "answers.parquet", folder / "reports.parquet", SimulationRandomness(1))
    reports = np.concatenate(list(ReportReader(folder / "reports.parquet", SURVEY))).astype(np.int64)
    in_order = MECHANISM.randomize(answers, SimulationRandomness(1))
    return reports, dict(zip(map(tuple, in_order.tolist()), answers.tolist(), strict=True))


def guesses(reports: NDArray[np.int64]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield (report, guessed answer) for pairs that differ in one element, as if other elements were reused noise."""
    seen: dict[tuple[int, ...], list[tuple[int, ...]]] = defaultdict(list)
    for report in map(tuple, reports.tolist()):
        for noise in combinations(report, len(report) - 1):
            seen[noise].append(report)
    for noise, alike in seen.items():
        for report in alike if len(alike) > 1 else ():
            yield report, sum(report) - sum(noise)


@pytest.mark.parametrize("old", [False, True], ids=["now", "before"])
def test_pairs_of_reports_tell_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bool) -> None:
    if old:
        monkeypatch.setattr("deniable.oracles.subset.fill_many", old_line)
    reports, truth = reports_of_a_file(tmp_path)
    right = [truth[report] == guess for report, guess in guesses(reports)]
    if old:
        # The best guess from one report alone is right for 7.9% of the contributors.
        assert len(right) > N / 100
        assert np.mean(right) > 2 * 0.079
        return
    omega = reports.shape[1]
    by_chance = comb(N, 2) * omega * (K - omega) / comb(K, omega)
    assert by_chance < 0.05
    assert not right

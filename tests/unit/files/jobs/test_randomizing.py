"""Randomising a file of answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deniable import Collection
from deniable.files import randomize_file
from deniable.files.jobs import randomizing
from tests.unit.files.jobs.spent import FEW, survey
from tests.unit.survey_files import N, answers_file, rng


def test_a_file_is_read_twice_only_if_the_ledger_may_know_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twice: list[str] = []
    read = randomizing.read_digest

    def counted(collection: Collection, answers: Any, *more: Any, **named: Any) -> Any:
        twice.append(answers)
        return read(collection, answers, *more, **named)

    monkeypatch.setattr(randomizing, "read_digest", counted)
    for kind, n in (("csv", N), ("parquet", N), ("parquet", N + 1), ("csv", FEW)):
        answers = answers_file(tmp_path / f"{n}.{kind}", n)
        randomize_file(survey("1", n), answers, tmp_path / f"{n}-{kind}.out", rng(), allow_repeat=True)
    # The first file is not in the list, because nothing is known about it. The third is not either: a Parquet file is
    # known to differ.
    assert [Path(path).name for path in twice] == [f"{N}.parquet", f"{FEW}.csv"]

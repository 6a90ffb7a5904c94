"""The store of permanent responses: drawn once, private, the same for all processes, and independent of answers."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import GRR, Attribute, Collection, Schema, SecureRandomness, SimulationRandomness
from deniable.errors import FileFormatError, InvalidParameterError
from deniable.files.jobs.memos import MemoStore, memoised_of, person_directory, series, user_memos
from deniable.oracles import MemoisedGRR, MemoisedHash, MemoisedOUE

SCHEMA = Schema((Attribute("mood", ("good", "so so", "bad")),))
KINDS: list[Any] = [MemoisedGRR(3, 2.0, 1.0), MemoisedOUE(3, 2.0, 1.0), MemoisedHash(3, 2.0, 1.0, 2)]


def wave(mechanism: Any = KINDS[0], title: str = "spring") -> Collection:
    return Collection(SCHEMA, mechanism, title=title)


@pytest.mark.parametrize("mechanism", KINDS, ids=repr)
def test_a_memo_is_drawn_once_and_stored_before_it_is_used(mechanism: Any, tmp_path: Path) -> None:
    store = MemoStore(tmp_path / "memos.json")
    first = store.memo(wave(mechanism), SimulationRandomness(1))
    content = store.path.read_bytes()
    assert stat.S_IMODE(os.stat(store.path).st_mode) == 0o600
    again = MemoStore(store.path).memo(wave(mechanism, "autumn"), SimulationRandomness(2))
    assert again.id == first.id
    assert repr(again.rows) == repr(first.rows)
    assert store.path.read_bytes() == content
    # Its reports are made from these rows: with equal budgets they copy the rows.
    copying = type(mechanism)(3, 2.0, 2.0, *([2] if isinstance(mechanism, MemoisedHash) else []))
    memo = store.memo(wave(copying), SimulationRandomness(3)).rows
    for code in range(3):
        report = store.report(wave(copying), [code], SimulationRandomness(4))
        assert repr(report) == repr(copying._memo_rows_of(memo, np.array([code])))


def test_what_is_kept_does_not_depend_on_an_answer(tmp_path: Path) -> None:
    """The same words make the same file for all answers; a memo has a row for each answer."""
    contents = set()
    for code in range(3):
        store = MemoStore(tmp_path / f"{code}.json")
        store.report(wave(), [code], SimulationRandomness(7))
        (kept,) = json.loads(store.path.read_text())["memos"]
        assert len(kept["rows"]) == 3
        contents.add(json.dumps([kept["series"], kept["rows"]]))
    assert len(contents) == 1


def test_a_series_is_questions_and_coins(tmp_path: Path) -> None:
    del tmp_path
    assert series(wave()) == series(wave(title="autumn"))
    assert series(wave()) == series(Collection(SCHEMA, KINDS[0], version=9))
    others = [wave(MemoisedGRR(3, 2.0, 0.5)), Collection(Schema((Attribute("mood", ("a", "b", "c")),)), KINDS[0])]
    assert len({series(one) for one in (wave(), *others)}) == 3
    with pytest.raises(InvalidParameterError, match="mechanism must keep permanent responses, got mechanism=GRR"):
        memoised_of(wave(GRR(3, 1.0)))


WORKER = """
import sys
from pathlib import Path
from deniable import Attribute, Collection, Schema, SecureRandomness
from deniable.files.jobs.memos import MemoStore
from deniable.oracles import MemoisedGRR
store, schema = MemoStore(Path(sys.argv[1])), Schema((Attribute("mood", ("good", "so so", "bad")),))
names = []
for budget in range(2, 8):
    coins = MemoisedGRR(3, budget, 1)
    names.append(store.memo(Collection(schema, coins), SecureRandomness()).id)
print(" ".join(names))
"""


def test_four_processes_share_every_memo_and_lose_none(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WORKER, str(tmp_path / "memos.json")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = {process.communicate(timeout=120)[0] for process in running}
    assert all(process.returncode == 0 for process in running)
    (names,) = said
    stored = json.loads((tmp_path / "memos.json").read_text())["memos"]
    assert [one["id"] for one in stored] == names.split()
    assert not list(tmp_path.glob("*.lock"))


def test_merging_keeps_what_is_here(tmp_path: Path) -> None:
    ours, theirs = MemoStore(tmp_path / "ours.json"), MemoStore(tmp_path / "theirs.json")
    here = ours.memo(wave(), SecureRandomness())
    theirs.memo(wave(), SecureRandomness())
    there = theirs.memo(wave(KINDS[1]), SecureRandomness())
    assert ours.merge(theirs) == 1
    assert ours.memo(wave(), SecureRandomness()).id == here.id
    assert ours.memo(wave(KINDS[1]), SecureRandomness()).id == there.id
    assert ours.merge(theirs) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda kept: kept["rows"].pop(), "must contain 3 rows for this series of reports, got 2"),
        (
            lambda kept: kept["rows"].__setitem__(0, "CQ"),
            "must contain permanent responses of MemoisedGRR: report must be in 0..2",
        ),
        (lambda kept: kept["rows"].__setitem__(0, "AAAA"), "must contain permanent responses of MemoisedGRR"),
        (lambda kept: kept.pop("id"), "memos"),
    ],
)
def test_a_damaged_store_is_refused_and_not_drawn_again(change: Any, message: str, tmp_path: Path) -> None:
    store = MemoStore(tmp_path / "memos.json")
    store.memo(wave(), SecureRandomness())
    data = json.loads(store.path.read_text())
    change(data["memos"][0])
    store.path.write_text(json.dumps(data))
    with pytest.raises(FileFormatError, match=message):
        store.memo(wave(), SecureRandomness())
    assert json.loads(store.path.read_text()) == data


def test_one_person_at_a_time(tmp_path: Path) -> None:
    store = MemoStore(tmp_path / "memos.json")
    with pytest.raises(InvalidParameterError, match="answers must have one row"):
        store.report(wave(), [0, 1], SecureRandomness())
    assert not store.path.exists()
    assert user_memos("ann").path == person_directory("ann") / "memos.json"
    assert stat.S_IMODE(os.stat(person_directory("ann")).st_mode) == 0o700
    for name in ("", "../ann", "a b", "x" * 41, "ä"):
        with pytest.raises(InvalidParameterError, match="person must be 1 to 40 letters"):
            user_memos(name)

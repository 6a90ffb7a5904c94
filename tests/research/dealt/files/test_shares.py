"""Files of shares: read in pieces, read at once, and handed out."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from deniable import Collection
from deniable.errors import AlreadyRandomizedError
from deniable.files.jobs.ledger import LOCK, Entry
from deniable.research.dealt.files.shares import ShareReader, ShareStream, share_ledger
from tests.cli.conftest import Run


@pytest.mark.long
def test_hand_outs_wait_for_each_other(dealt: Run) -> None:
    """Two real processes are both held until both have begun: one share is handed out once."""
    command = [sys.executable, "-m", "deniable.cli", "hand-out", "survey.json", "shares", "--contributor", "1", "-o"]
    with contextlib.ExitStack() as started:
        with share_ledger("shares").held():
            both = []
            for i in range(2):
                child = subprocess.Popen([*command, f"{i}.parquet"], stderr=subprocess.PIPE, text=True)
                started.enter_context(child)
                started.callback(child.kill)  # this is registered before the wait for the child
                both.append(child)
            with pytest.raises(subprocess.TimeoutExpired):
                both[0].wait(timeout=4)
        errors = [child.communicate(timeout=300)[1] for child in both]
    assert sorted(child.returncode for child in both) == [0, 2]
    assert sum("has no share for contributor 1: this share was handed out" in error for error in errors) == 1
    assert len(list(Path().glob("?.parquet"))) == 1
    assert share_ledger("shares").entries() == ()


def test_runs_at_once_do_not_forget_each_other(dealt: Run) -> None:
    collection_ = Collection.load("survey.json")

    def stream() -> ShareStream:
        return ShareStream(ShareReader("shares", collection_), share_ledger("shares"))

    one, other, same = stream(), stream(), stream()
    for each, count in ((one, 10), (other, 5), (same, 5)):
        each.take(count)
    with one.recording("one.parquet"):
        pass
    # Both runs began before either was recorded. So the second run sees that its shares are gone.
    with (
        pytest.raises(AlreadyRandomizedError, match=r"contributor 1 in shares was already used \(for one.parquet\)"),
        other.recording("other.parquet"),
    ):
        pass
    assert [entry.into for entry in share_ledger("shares").entries()] == ["one.parquet"]
    assert not [name for name in os.listdir("shares") if name.endswith(LOCK)]


def test_shares_taken_in_pieces_are_one_entry(dealt: Run) -> None:
    stream = ShareStream(ShareReader("shares", Collection.load("survey.json")), share_ledger("shares"))
    for count in (3, 4, 1):
        stream.take(count)
    with stream.recording("pieces.parquet"):
        pass
    assert [(entry.first, entry.last) for entry in share_ledger("shares").entries()] == [(1, 8)]


def test_reports_that_cannot_be_named_take_back_their_own_shares_only(dealt: Run) -> None:
    stream = ShareStream(ShareReader("shares", Collection.load("survey.json")), share_ledger("shares"))
    stream.take(5)
    used = {"event": "used", "collection": "c", "dealing": "d", "first": 1, "last": 5}
    other = Entry.model_validate(used | {"into": "other.parquet"})
    with share_ledger("shares").held():
        share_ledger("shares").change([other])
    with pytest.raises(OSError, match="full"), stream.recording("same.parquet"):
        raise OSError("full")
    assert share_ledger("shares").entries() == (other,)

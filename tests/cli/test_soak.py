"""Errors while the CSV parser reads ahead end the process as errors, whatever its threads do."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from benchmarks.soak import CASES, soak, write_cases

from deniable.errors import FileFormatError, InvalidInputError
from deniable.files import open_answers
from deniable.files.formats import csv_files

# This runs the command line with a disk on which every read takes a while. So the parser's threads are always reading.
SLOW = """
import sys, time
from deniable import cli
from deniable.files.formats import csv_files
original = csv_files._Stream.read
def read(self, size=-1):
    result = original(self, size)
    time.sleep(0.2)
    return result
csv_files._Stream.read = read
sys.argv = ["deniable", "randomize", "survey.json", {name!r}, "-o", "r.parquet"]
cli.main()
"""


@pytest.mark.parametrize("name", ["empty.csv", "bytes.csv"])
def test_a_thread_that_is_reading_does_not_abort_the_exit(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_cases(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", SLOW.format(name=name)], capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == 2, done.stderr[-3000:]
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


def _stop_at_the_first_batch(path: Path) -> None:
    with open_answers(path) as reader:
        for _ in reader:
            raise KeyError("the consumer stops here")


@pytest.mark.parametrize("name", [name for name, status in CASES.items() if status])
def test_no_thread_holds_anything_when_an_error_is_raised(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same is true if the consumer stops halfway: the thread ends long before its timeout."""
    parsers: list[csv_files._Parser] = []
    original = csv_files.CsvFile._open

    def opened(self: csv_files.CsvFile, *arguments: object) -> csv_files._Parser:
        parsers.append(original(self, *arguments))  # type: ignore[arg-type]
        return parsers[-1]

    monkeypatch.setattr(csv_files.CsvFile, "_open", opened)
    monkeypatch.setattr(csv_files, "PATIENCE", 600.0)
    write_cases(tmp_path)
    start = time.monotonic()
    with pytest.raises((InvalidInputError, FileFormatError, KeyError)):
        _stop_at_the_first_batch(tmp_path / name)
    assert time.monotonic() - start < 500
    assert [parser._lent() for parser in parsers] == [None] * len(parsers)


@pytest.mark.long
def test_runs_that_must_fail_do_and_no_others(tmp_path: Path) -> None:
    result = soak(len(CASES), tmp_path)
    assert result["unexpected"] == []
    assert result["statuses"] == {name: {str(status): 1} for name, status in CASES.items()}

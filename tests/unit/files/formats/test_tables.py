"""Answers from files: all damage is named, nothing is guessed, and nothing is lost."""

from __future__ import annotations

import datetime
import gzip
import os
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.errors import (
    DeniableError,
    FileFormatError,
    InvalidInputError,
    InvalidParameterError,
    MissingExtraError,
)
from deniable.files.formats.tables import open_answers
from tests.unit.files.formats.read_tables import _read, _read_bytes

# -------------------------------------------------------------------- valid CSV


@pytest.mark.parametrize(
    ("content", "answers"),
    [
        (b"a,b\n1,2\n3,4\n", {"a": ["1", "3"], "b": ["2", "4"]}),
        (b"a,b\n1,2\n3,4", {"a": ["1", "3"], "b": ["2", "4"]}),
        (b"a,b\r\n1,2\r\n3,4\r\n", {"a": ["1", "3"], "b": ["2", "4"]}),
        (b"a,b\r1,2\r3,4", {"a": ["1", "3"], "b": ["2", "4"]}),
        (b"\xef\xbb\xbfa,b\n1,2\n", {"a": ["1"], "b": ["2"]}),
        (b'a,b\n1,"x\r\ny"\n', {"a": ["1"], "b": ["x\r\ny"]}),
        (b'a,b\n1,"say ""no"""\n', {"a": ["1"], "b": ['say "no"']}),
        (b'a,b\n1,"say ""no"""', {"a": ["1"], "b": ['say "no"']}),
        (b"a,b\n,\n", {"a": [""], "b": [""]}),
        (b'a,b\n"",NULL\n', {"a": [""], "b": ["NULL"]}),
        (b"a,b\n007,1e3\ntrue,2020-01-02\n", {"a": ["007", "true"], "b": ["1e3", "2020-01-02"]}),
        (b"\n\na,b\n\n1,2\n\n", {"a": ["1"], "b": ["2"]}),
        (b"a\nx\n\ny\n", {"a": ["x", "", "y"]}),
        (b"\na\nx\n\n", {"a": ["x", ""]}),
        (b"a,b;c\n1,2\n", {"a": ["1"], "b;c": ["2"]}),
    ],
)
def test_csv(tmp_path: Path, content: bytes, answers: dict[str, list[str]]) -> None:
    assert _read_bytes(tmp_path, content) == answers
    assert _read_bytes(tmp_path, gzip.compress(content, mtime=0), "a.csv.gz") == answers
    assert _read_bytes(tmp_path, gzip.compress(content, mtime=0), "named without.csv") == answers


def test_columns_are_chosen_and_ordered(tmp_path: Path) -> None:
    assert list(_read_bytes(tmp_path, b"a,b,c\n1,2,3\n", columns=["c", "a"]).items()) == [("c", ["3"]), ("a", ["1"])]
    assert _read_bytes(tmp_path, b"a,b,b\n1,2,3\n", columns=["a"]) == {"a": ["1"]}


# -------------------------------------------------------------------- invalid CSV


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"", InvalidInputError, "has no line of column names: the file is empty"),
        (b"\n\r\n", InvalidInputError, "has no line of column names: the file is empty"),
        (b'a,"b\n1,2\n', InvalidInputError, "or a quotation mark in that line is opened and not closed"),
        (b"a,b\n", InvalidInputError, "must contain at least one record, but it contains no answers"),
        (b"a,b", InvalidInputError, "must contain at least one record, but it contains no answers"),
        (b"a,b\n1,2\n3\n4,5\n", InvalidInputError, "must have 2 cells in every record, got 1 in row 2"),
        (b"a,b\n1,2\n\n3,4,5\n", InvalidInputError, "must have 2 cells in every record, got 3 in row 2"),
        (b'a,b\n"1\n1",2\n3\n', InvalidInputError, "must have 2 cells in every record, got 1 in row 2"),
        (b'a,b\n1,"2\n3,4\n', InvalidInputError, "ends inside quotes: a quote in row 1, or before, is never closed"),
        (b'a,b\n1,2\n3,"4', InvalidInputError, "ends inside quotes: a quote in row 2, or before, is never closed"),
        (b'a,b\n1,2\n"3,4', InvalidInputError, "ends inside quotes: a quote in row 2, or before, is never closed"),
        (b'a,b\n1,2\n3,"4""', InvalidInputError, "ends inside quotes: a quote in row 2, or before, is never closed"),
        (b'a\n1\n"2\n', InvalidInputError, "ends inside quotes: a quote in row 2, or before, is never closed"),
        (
            b"a,b,a\n1,2,3\n",
            InvalidInputError,
            "must have columns with different names, but columns 1 and 3 have the same name",
        ),
        (b"\xc3\xa9,\xe9\n1,2\n", FileFormatError, "must be UTF-8 text, but its header is not"),
        (b"a,b\n\xc3\xa9,2\n3,\xe9t\xe9\n", FileFormatError, "must be UTF-8 text, but row 2 of column “b” is not"),
        (
            b"a,b\n1,2\n3,\x81\n",
            FileFormatError,
            "must be UTF-8, UTF-16 or Windows-1252 text, but its text",
        ),
        (
            b"PK\x03\x04\0\0\0\0",
            FileFormatError,
            "must be a CSV file, a Parquet file or a workbook named *.xlsx, but this file is a zip archive",
        ),
    ],
)
def test_damaged_csv(tmp_path: Path, content: bytes, error: type[DeniableError], message: str) -> None:
    with pytest.raises(error) as caught:
        _read_bytes(tmp_path, content)
    assert str(caught.value).startswith(f"{tmp_path / 'a.csv'} ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_columns_that_are_absent(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"a.csv must have the column “c”, got “a” and 1 other column$"):
        _read_bytes(tmp_path, b"a,b\n1,2\n", columns=["a", "c"])
    with pytest.raises(InvalidInputError, match=r"got 1 other column \(are the columns separated by semicolons\?"):
        _read_bytes(tmp_path, b"a;b\n1;2;3\n", columns=["a", "b"])


@pytest.mark.parametrize(
    ("content", "name", "columns"),
    [
        (b"a;b\n1;2\n", "a.csv", {"a": ["1"], "b": ["2"]}),
        (b"a;b\n1,5;2,5\n", "a.csv", {"a": ["1,5"], "b": ["2,5"]}),
        (b"\xef\xbb\xbfa\tb\nx, y\tz\n", "a.csv", {"a": ["x, y"], "b": ["z"]}),
        (b"a|b\r\n1|\r\n", "a.csv", {"a": ["1"], "b": [""]}),
        (b"a;b\n1;2\n", "a.tsv", {"a": ["1"], "b": ["2"]}),
        (b'a;"b\nc;d"\n"1;1";2\n', "a.csv", {"a": ["1;1"], "b\nc;d": ["2"]}),
        # The usual delimiter stays if the cells fit: several answers in one cell are not columns.
        (b"a,b\nx;y,1;2\n", "a.csv", {"a": ["x;y"], "b": ["1;2"]}),
        (b"a\nx;y\nz\n", "a.csv", {"a": ["x;y", "z"]}),
        (b"a\n1\n2\n", "a.csv", {"a": ["1", "2"]}),
        (gzip.compress(b"a;b\n1;2\n", mtime=0), "a.csv.gz", {"a": ["1"], "b": ["2"]}),
    ],
)
def test_what_divides_the_cells_is_found(
    tmp_path: Path, content: bytes, name: str, columns: dict[str, list[str]]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with open_answers(path) as reader:
        (batch,) = reader
        assert batch.to_pydict() == columns


def _workbook(path: Path, *lines: list[Any]) -> Path:
    book = openpyxl.Workbook()
    for line in lines:
        book.active.append(line)
    book.save(path)
    return path


def test_workbooks_say_what_csv_would(tmp_path: Path) -> None:
    day = datetime.datetime(2024, 5, 1)
    path = _workbook(
        tmp_path / "a.xlsx",
        ["name", "n", "x", "day", "time", "yes"],
        ["Zoë, A", 3.0, 0.1, day, day.replace(hour=9), True],
        [None, 10**14, 1e300, None, None, None],
        [None, None, None, None, None, None],
        ["=1+1", -0.5, None, day.date(), None, False],
    )
    with open_answers(path) as reader:
        (batch,) = reader
        assert (reader.rows, reader.done, reader.unit) == (3, 3, "rows")
    assert batch.to_pydict() == {
        "name": ["Zoë, A", "", ""],
        "n": ["3", str(10**14), "-0.5"],
        "x": ["0.1", "1e+300", ""],
        "day": ["2024-05-01", "", "2024-05-01"],
        "time": ["2024-05-01 09:00:00", "", ""],
        "yes": ["true", "", "false"],
    }
    with open_answers(path, ["yes", "n"]) as reader:
        assert [one.column_names for one in reader] == [["yes", "n"]]


def test_workbooks_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.xlsx"
    ragged = r"must have 2 cells in every record, got 3 in row 2$"
    _workbook(path, ["a", "b"], [1, 2], [1, 2, 3])
    with pytest.raises(InvalidInputError, match=ragged), open_answers(path) as reader:
        list(reader)
    with pytest.raises(InvalidInputError, match=r"its first sheet is empty$"):
        open_answers(_workbook(path))
    _workbook(path, ["a", "b"])
    with pytest.raises(InvalidInputError, match=r"it contains no answers"), open_answers(path) as reader:
        list(reader)
    with pytest.raises(InvalidInputError, match=r"must have columns with different names"):
        open_answers(_workbook(path, ["a", "a"], [1, 2]))
    whole = path.read_bytes()
    for content in (b"", b"a,b\n1,2\n", whole[:-30], b"PK\x03\x04" + b"x" * 50):
        path.write_bytes(content)
        with pytest.raises(
            FileFormatError, match=r"a.xlsx is not a workbook \(.xlsx\), or the file is damaged or locked$"
        ) as caught:
            open_answers(path)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r'pip install "deniable\[excel\]"; or save the sheet as CSV$'):
        open_answers(path)


def test_what_divides_the_cells_can_be_said(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a;b\n1;2\n")
    with open_answers(path, delimiter=",") as reader:
        assert [batch.to_pydict() for batch in reader] == [{"a;b": ["1;2"]}]
    path.write_text("a/b\n" + "1/2\n" * 20_000 + "3/4\n")
    with open_answers(path, delimiter="/") as reader:
        assert sum(batch.num_rows for batch in reader) == 20_001
    path.write_text("a;b\n" + "1,3;2\n" * 20_000)
    with open_answers(path) as reader:
        assert reader.columns == ("a", "b")
    for wrong in ("", ";;", '"', "\n", "é"):
        with pytest.raises(InvalidParameterError, match=r"^delimiter must be one ASCII character"):
            open_answers(path, delimiter=wrong)


@pytest.mark.parametrize("cut", [20, 5000, -4, -20])
def test_truncated_gzip(tmp_path: Path, cut: int) -> None:
    content = gzip.compress(b"a,b\n" + os.urandom(20_000).hex().encode() + b",2\n" + b"1,2\n" * 5000)
    with pytest.raises(FileFormatError, match=r"^cannot read .*a.csv.gz: its gzip data are damaged or cut off"):
        _read_bytes(tmp_path, content[:cut], "a.csv.gz")


def test_damaged_gzip(tmp_path: Path) -> None:
    content = bytearray(gzip.compress(os.urandom(20_000).hex().encode()))
    content[2000:2100] = bytes(100)
    with pytest.raises(FileFormatError, match=r"^cannot read .*a.csv.gz: "):
        _read_bytes(tmp_path, bytes(content), "a.csv.gz")


# -------------------------------------------------------------------- Parquet


def test_parquet(tmp_path: Path) -> None:
    table = pa.table({"a.b": [1, None, 3], "c": ["x", "", "y"], "d": [[1], [2], [3]]})
    pq.write_table(table, tmp_path / "answers.data", row_group_size=2)
    assert _read(tmp_path / "answers.data") == table.to_pydict()
    assert _read(tmp_path / "answers.data", ["c", "a.b"]) == table.select(["c", "a.b"]).to_pydict()
    with open_answers(tmp_path / "answers.data") as reader:
        assert (reader.done, reader.unit, reader.total) == (0, "rows", 3)
    with pytest.raises(InvalidInputError, match=r"answers.data must have the column “x”, got 3 other columns$"):
        _read(tmp_path / "answers.data", ["x"])


def test_parquet_without_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([], pa.string())}), tmp_path / "a.parquet")
    with pytest.raises(InvalidInputError, match="must contain at least one record, but it contains no answers"):
        _read(tmp_path / "a.parquet")


@pytest.mark.parametrize("cut", [3, 4, 100, 2000, -1])
def test_truncated_parquet(tmp_path: Path, cut: int) -> None:
    pq.write_table(pa.table({"a": [str(i) for i in range(1000)]}), tmp_path / "whole.parquet")
    (tmp_path / "a.parquet").write_bytes((tmp_path / "whole.parquet").read_bytes()[:cut])
    with pytest.raises(FileFormatError, match=r"a.parquet is not a Parquet file, or the file is damaged$"):
        _read(tmp_path / "a.parquet")


def test_parquet_damaged_in_the_middle(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [str(i) for i in range(10_000)]}), tmp_path / "a.parquet", compression="zstd")
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[100:1000] = bytes(900)
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(FileFormatError, match=r"a.parquet is not a Parquet file, or the file is damaged$"):
        _read(tmp_path / "a.parquet")


# -------------------------------------------------------------------- other files


def test_other_files(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"^there is no file .*a.csv$"):
        _read(tmp_path / "a.csv")
    with pytest.raises(FileFormatError, match=r"^cannot read .*: Is a directory$"):
        _read(tmp_path)
    with pytest.raises(
        FileFormatError, match=r"^cannot tell what kind of file .*a.doc is: its name must end in one of"
    ):
        _read_bytes(tmp_path, b"a,b\n1,2\n", "a.doc")
    with pytest.raises(FileFormatError, match=r"a.parquet is not a Parquet file, or the file is damaged$"):
        _read_bytes(tmp_path, b"a,b\n1,2\n", "a.parquet")

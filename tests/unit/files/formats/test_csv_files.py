"""CSV files: any text, progress, rows and quotes."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from deniable.errors import (
    DeniableError,
    InvalidInputError,
)
from deniable.files.formats import csv_files
from deniable.files.formats.tables import open_answers
from tests.unit.files.formats.read_tables import _read, _read_bytes

CELLS = st.text(max_size=6) | st.sampled_from(["", '"', '""', ",", "\n", "\r\n", "\t", "\ufeff", "nan", "1.0", " x "])


@given(
    st.lists(st.text(max_size=4), min_size=1, max_size=4, unique=True),
    st.data(),
    st.sampled_from([",", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.integers(40, 200),
)
def test_any_text_survives(
    tmp_path_factory: pytest.TempPathFactory,
    header: list[str],
    data: st.DataObject,
    delimiter: str,
    line_end: str,
    marked: bool,
    block: int,
) -> None:
    rows = data.draw(st.lists(st.tuples(*[CELLS for _ in header]), min_size=1, max_size=8))
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator=line_end)
    writer.writerows([header, *rows])
    path = tmp_path_factory.mktemp("csv") / ("a.csv" if delimiter == "," else "a.TSV")
    path.write_bytes(text.getvalue().encode("utf-8-sig" if marked else "utf-8"))
    with pytest.MonkeyPatch.context() as patch:
        # Blocks end in the middle of a record, but can hold any single one of these records.
        patch.setattr(csv_files, "BLOCK_BYTES", 256 + block)
        assert _read(path) == {name: [row[j] for row in rows] for j, name in enumerate(header)}


def test_progress_is_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 1000)
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "1,2\n" * 100_000)
    with open_answers(path) as reader:
        assert (reader.done, reader.unit, reader.total) == (0, "bytes", 400_004)
        seen = [reader.done for _ in reader]
    assert seen == sorted(seen)
    assert len(seen) > 3  # the parser decides how far ahead it reads
    assert seen[-1] == reader.done == 400_004


def test_row_numbers_go_on_after_the_first_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 1000)
    good = b"a,b\n\xc3\xa9,1\n" + b'1,"x\ny"\n' * 4999
    for line, message in [
        (b"3\n", "in row 5001"),
        (b"3,\xe9\n", "row 5001 of column “b”"),
        (b'3,"4\n', "in row 5001,"),
    ]:
        with pytest.raises(DeniableError, match=message):
            _read_bytes(tmp_path, good + line)


def test_a_quote_that_swallows_a_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 1000)
    with pytest.raises(
        InvalidInputError,
        match=r"has a record longer than 1000 bytes near the start of the file: look for a quotation mark",
    ):
        _read_bytes(tmp_path, b'a,b\n1,"2\n' + b"3,4\n" * 5000)

"""Small files that would expand to gigabytes: refused before they are unpacked, in a process with little memory."""

from __future__ import annotations

import gzip
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import GRR, Aggregate, Collection
from deniable.core.spec import canonical_json
from deniable.errors import FileFormatError, InvalidInputError
from deniable.files import open_answers
from deniable.files.formats.pages import MOST_ELEMENTS, check_pages
from deniable.files.formats.reports import ID_COLUMN, write_reports
from deniable.survey.encoding import dictionary_encoded
from deniable.survey.schema import Attribute, Schema
from tests.forked import Forked
from tests.unit.survey_files import rng

MECHANISM = GRR(k=2, epsilon=1.0)
SURVEY = Collection(Schema((Attribute("a", ("x", "y")),)), MECHANISM)
ROOM = 256 << 20
"""Bytes of address space of a reader; each file below needs at least twice as much when unpacked."""

CELLS = ROOM // 4
"""Number of eight-byte numbers that need twice this space."""

READER = """
import json, resource, sys
from pathlib import Path
import numpy, pyarrow, pyarrow.parquet
from deniable import Aggregate, Collection, DeniableError
from deniable.files import ReportReader, draft_schema_file, open_answers

pyarrow.set_cpu_count(1)
pyarrow.set_io_thread_count(1)
kind, path, survey, room = sys.argv[1], Path(sys.argv[2]), Collection.load(sys.argv[3]), int(sys.argv[4])

def read(path):
    match kind:
        case "aggregate":
            return Aggregate.load(path).n
        case "bytes":
            return Aggregate.from_bytes(path.read_bytes()).n
        case "reports":
            return sum(len(part) for part in ReportReader(path, survey))
        case "answers":
            with open_answers(path) as file:
                return sum(batch.num_rows for batch in file)

used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))
try:
    said = {"rows": read(path)}
except DeniableError as error:
    said = {"error": f"{type(error).__name__}: {error}"}
print(json.dumps(said))
"""


def read(kind: str, path: Path, tmp_path: Path) -> dict[str, object]:
    """Return the message of a process with little memory about a file; the process must not run out of memory."""
    SURVEY.save(tmp_path / "survey.json")
    done = Forked(READER, kind, str(path), str(tmp_path / "survey.json"), str(ROOM)).wait()
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, object] = json.loads(done.stdout)
    return found


def aggregate(path: Path, compression: str | None, cells: int = CELLS) -> Path:
    """An aggregate of GRR with zero counters."""
    header = {"format": "deniable aggregate", "version": 1, "n": 0, "collection": "", "batches": []}
    header["mechanism"] = {"mechanism": "GRR", "k": cells, "epsilon": "1"}
    table = pa.table({"counts": np.zeros(cells, np.int64)}).replace_schema_metadata(
        {"deniable": canonical_json(header)}
    )
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(str(path), table.schema, options=options) as writer:
        writer.write_table(table)
    return path


def one_page(table: pa.Table, path: Path, compression: str = "zstd", dictionary: bool = False) -> Path:
    """Parquet whose columns have one page each."""
    pq.write_table(
        table, path, compression=compression, use_dictionary=dictionary, write_statistics=False, store_schema=False,
        data_page_size=2**31 - 1, max_rows_per_page=2**31 - 1, write_batch_size=2**30, row_group_size=2**31 - 1,
    )  # fmt: skip
    return path


def zeros(path: Path) -> Path:
    return one_page(pa.table({"a": np.zeros(CELLS, np.int64)}), path)


def one_long_text(path: Path) -> Path:
    """65,536 rows, all of which refer to one text of 60,000 characters."""
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1 << 16, np.int32)), pa.array(["x" * 60_000]))
    return one_page(pa.table({"a": texts}), path, "none", dictionary=True)


def lists_of_a_long_text(path: Path) -> Path:
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1 << 16, np.int32)), pa.array(["x" * 60_000]))
    lists = pa.ListArray.from_arrays(pa.array(np.arange((1 << 16) + 1, dtype=np.int32)), texts)
    return one_page(pa.table({"a": lists}), path, "none", dictionary=True)


def one_long_list(path: Path) -> Path:
    """One row, a list of 2^27 zeros: 600 bytes without any codec."""
    lists = pa.ListArray.from_arrays(pa.array([0, 1 << 27], pa.int32()), pa.array(np.zeros(1 << 27, np.int8)))
    return one_page(pa.table({"a": lists.cast(pa.list_(pa.int32()))}), path, "none", dictionary=True)


def prefixes(path: Path) -> Path:
    """Return texts that share the beginning of the one before: in 70 KB, 4,096 texts of 60,000 characters."""
    texts = pa.array(["x" * 60_000] * 4096)
    table = pa.table({"a": texts})
    pq.write_table(
        table, path, compression="none", use_dictionary=False, column_encoding={"a": "DELTA_BYTE_ARRAY"},
        write_statistics=False, data_page_size=2**31 - 1, write_batch_size=2**30, store_schema=False,
    )  # fmt: skip
    return path


def structs(path: Path) -> Path:
    return one_page(pa.table({"a": pa.array([{"x": "yes"}] * 10)}), path)


@pytest.mark.parametrize("kind", ["aggregate", "bytes"])
@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_a_compressed_aggregate_is_refused_before_it_is_unpacked(codec: str, kind: str, tmp_path: Path) -> None:
    path = aggregate(tmp_path / "a.aggregate", codec)
    assert path.stat().st_size < (1 << 16 if codec == "zstd" else 1 << 22)
    found = read(kind, path, tmp_path)
    assert str(found["error"]).startswith("FileFormatError: ")
    assert "must not contain compressed data" in str(found["error"])
    assert "ask for the original file" in str(found["error"])


def test_the_same_aggregate_is_read_if_it_is_small(tmp_path: Path) -> None:
    """Only the compression is refused, not the way the file was made."""
    assert read("aggregate", aggregate(tmp_path / "plain", None, 1000), tmp_path)["rows"] == 0
    with pytest.raises(FileFormatError, match="compressed"):
        Aggregate.load(aggregate(tmp_path / "packed", "zstd", 1000))


def test_a_length_beyond_the_file_is_not_read_from_memory(tmp_path: Path) -> None:
    """Both lengths in a batch's header say 300 million; the buffer holds three numbers."""
    content = bytearray(aggregate(tmp_path / "a", None, 3).read_bytes())
    places = [at for at in range(0, len(content) - 8, 8) if struct.unpack_from("<q", content, at)[0] == 3]
    for at in places:
        struct.pack_into("<q", content, at, 300_000_000)
    assert len(places) >= 2
    with pytest.raises(FileFormatError, match="not an aggregate file, or the file is damaged"):
        Aggregate.from_bytes(bytes(content))


@pytest.mark.parametrize("values", [pa.array([None] * 3), pa.array([1.0, 2.0, 3.0]), pa.array(["1", "2", "3"])])
def test_other_columns_are_no_aggregate(values: pa.Array, tmp_path: Path) -> None:
    """Null columns, for example, have no buffers, and can claim any number of rows."""
    for table in (pa.table({"counts": values}), pa.table({"counts": [0, 0, 0], "more": values})):
        with pa.ipc.new_file(str(tmp_path / "a"), table.schema) as writer:
            writer.write_table(table)
        with pytest.raises(FileFormatError, match="not an aggregate file, or the file is damaged"):
            Aggregate.load(tmp_path / "a")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            zeros,
            "one page of each column may need at most 260 MiB in total when unpacked, but the largest pages",
        ),
        (one_long_list, f"must have at most {MOST_ELEMENTS:,} list elements in each row group, got 134,217,728"),
        (one_long_text, None),
        (lists_of_a_long_text, None),
        (prefixes, "must have texts in the encoding PLAIN or RLE_DICTIONARY, got DELTA_BYTE_ARRAY in column “a”"),
        (structs, "column “a” must hold text or numbers, got the type struct"),
    ],
)
def test_answers_in_parquet_are_read_in_little_memory_or_refused(
    make: Callable[[Path], Path], says: str | None, tmp_path: Path
) -> None:
    path = make(tmp_path / "a.parquet")
    assert path.stat().st_size < 1 << 19
    rows = pq.read_metadata(path).num_rows
    found = read("answers", path, tmp_path)
    if says is None:
        assert found["rows"] == rows
    else:
        assert says in str(found["error"])


@pytest.mark.long
def test_reports_are_held_to_what_we_write_ourselves(tmp_path: Path) -> None:
    """64 MiB and more from a page of 1 MiB: the sender of reports chooses the codec."""
    path = tmp_path / "r.parquet"
    write_reports(path, SURVEY, [MECHANISM.randomize([0, 1] * 50, rng())], rng())
    metadata = pq.read_metadata(path).metadata
    n = 1 << 28
    ids = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int8)), pa.array([SURVEY.id]))
    fields = [field.name for field in SURVEY.mechanism.report_fields]
    table = pa.table({fields[0]: np.zeros(n, np.uint8), ID_COLUMN: ids}).replace_schema_metadata(metadata)
    pq.write_table(
        table, path, compression="zstd", use_dictionary=[ID_COLUMN], write_statistics=False,
        data_page_size=2**31 - 1, max_rows_per_page=2**31 - 1, write_batch_size=2**30, row_group_size=2**31 - 1,
    )  # fmt: skip
    assert path.stat().st_size < 1 << 17
    found = read("reports", path, tmp_path)
    assert "FileFormatError" in str(found["error"])
    assert "one page of each column may need at most 68 MiB in total" in str(found["error"])


def test_reports_whose_id_is_one_long_text_cost_that_text(tmp_path: Path) -> None:
    """Without pyarrow's own schema in the file, a column of texts would be read as one text per row."""
    path = tmp_path / "r.parquet"
    write_reports(path, SURVEY, [MECHANISM.randomize([0, 1] * 50, rng())], rng())
    stated = pq.read_metadata(path).metadata[b"deniable"]
    ids = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1 << 17, np.int32)), pa.array(["x" * 60_000]))
    fields = [field.name for field in SURVEY.mechanism.report_fields]
    table = pa.table({fields[0]: np.zeros(1 << 17, np.uint8), ID_COLUMN: ids})
    with pq.ParquetWriter(path, table.schema, compression="none", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({b"deniable": stated})
    assert path.stat().st_size < 1 << 18
    assert "MismatchError: row 1 of" in str(read("reports", path, tmp_path)["error"])


def test_what_a_footer_says_is_not_believed(tmp_path: Path) -> None:
    """Sizes are taken from the pages, because the reader allocates by them."""
    path = zeros(tmp_path / "a.parquet")
    content = path.read_bytes()
    honest = pq.read_metadata(path).row_group(0).column(0).total_uncompressed_size
    modest = content.replace(_varint(honest), _varint(1 << 28), -1)
    assert modest != content
    path.write_bytes(modest)
    assert pq.read_metadata(path).row_group(0).column(0).total_uncompressed_size == 1 << 28
    with pytest.raises(FileFormatError, match="the largest pages need 512 MiB"):
        check_pages(pq.ParquetFile(path), path, ["a"])


def test_a_line_of_half_a_million_column_names_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"," * (1 << 19) + b"\n" + b"," * (1 << 19) + b"\n")
    assert path.stat().st_size < 1 << 11
    found = read("answers", path, tmp_path)
    assert "FileFormatError" in str(found["error"])
    assert "must have at most 16,384 columns, got 524,289" in str(found["error"])
    with gzip.open(path, "wb") as file:
        file.write(b'"' + b"x" * (1 << 18) + b'"' + b"," * (1 << 19) + b"\n")
    assert "must have column names of at most 131,072 characters" in str(read("answers", path, tmp_path)["error"])


def test_a_column_name_that_occurs_often_is_named_with_two_places(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,a,a,a\n1,2,3,4\n")
    with pytest.raises(InvalidInputError, match="but columns 1 and 2 have the same name"):
        open_answers(tmp_path / "a.csv")


def test_a_workbook_that_becomes_too_large_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    """Its styles are 200 MB of spaces, which would be read whole."""
    openpyxl = pytest.importorskip("openpyxl")
    book, path = openpyxl.Workbook(), tmp_path / "a.xlsx"
    book.active.append(["a"])
    book.active.append(["yes"])
    book.save(tmp_path / "small.xlsx")
    with zipfile.ZipFile(tmp_path / "small.xlsx") as small, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as large:
        for name in small.namelist():
            content = small.read(name)
            if name == "xl/styles.xml":
                content = content.replace(b"</styleSheet>", b" " * 200_000_000 + b"</styleSheet>")
            large.writestr(name, content)
    assert path.stat().st_size < 1 << 20
    found = read("answers", path, tmp_path)
    assert "FileFormatError" in str(found["error"])
    assert "needs 190 MiB when unpacked, but at most 128 MiB are allowed; save the sheet as CSV" in str(found["error"])
    assert read("answers", tmp_path / "small.xlsx", tmp_path)["rows"] == 1


def test_one_long_text_among_many_is_not_copied_for_every_row() -> None:
    """A dictionary of many batches, of which one uses the longest text only."""
    texts = pa.array(["x" * 60_000, *map(str, range(1 << 16))])
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1 << 15, np.int32)), texts)
    before = pa.total_allocated_bytes()
    found = dictionary_encoded(column, "a")
    assert pa.total_allocated_bytes() - before < 1 << 20
    assert (len(found.dictionary), found[5].as_py()) == (1, "x" * 60_000)
    some = pa.DictionaryArray.from_arrays(pa.array([3, None, 1, 3], pa.int32()), texts)
    assert dictionary_encoded(some, "a").to_pylist() == ["2", None, "0", "2"]


def _varint(value: int) -> bytes:
    """Return a positive integer in the compact protocol's zigzag form."""
    value, found = 2 * value, bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def test_views_of_texts_are_refused(tmp_path: Path) -> None:
    """They would be read as one text per row: gigabytes for a kilobyte."""
    path = tmp_path / "views.parquet"
    pq.write_table(pa.table({"a": pa.array(["x"] * 3).cast(pa.string_view())}), path)
    with pytest.raises(InvalidInputError, match="string_view"), open_answers(path, ["a"]) as reader:
        list(reader)


def test_a_workbook_with_too_many_styles_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/styles.xml", b"<xf/>" * (1 << 19))
    with pytest.raises(
        FileFormatError, match="at most 2,097,152 bytes of styles, got 2,621,440; save the sheet as CSV"
    ):
        open_answers(path, ["a"])


@pytest.mark.parametrize("encoding", ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
def test_texts_in_encodings_without_dictionaries_are_named(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": ["yes", "no"]}), path, use_dictionary=False, column_encoding={"a": encoding})
    with pytest.raises(FileFormatError, match=f"got {encoding} in column “a”"), open_answers(path, ["a"]) as reader:
        list(reader)

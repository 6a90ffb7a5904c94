"""Report files in Parquet, with the collection's id in every row and a digest of the content in every file.

A file has the columns of `mechanism.report_fields` and a dictionary-encoded column ``collection``. Its metadata carry
the format version, the collection's id, and the digest that names this batch of reports: SHA-256 over a random batch
number and the content of the columns. Because of the content, a renamed or recompressed copy is the same batch. Because
of the batch number, two batches whose few reports happen to be equal are different.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from deniable.core.mechanism import Mechanism, ReportField
from deniable.core.outputs import Commit, atomic_path
from deniable.core.randomness import Randomness, draw
from deniable.core.spec import content_hash
from deniable.errors import FileFormatError, MismatchError, quoted
from deniable.files.formats.columns import arrays_of, arrow_type, check_column, to_arrow, to_numpy
from deniable.files.formats.pages import is_text_type
from deniable.files.formats.parquet_metadata import REPORTS
from deniable.files.formats.tables import open_parquet, parquet_batches, parquet_errors
from deniable.survey.collection import Collection, short_id

ID_COLUMN = "collection"

BATCH_BYTES = 1 << 22
BATCH_ROWS = 1 << 17


@dataclass(frozen=True)
class WrittenReports:
    """Result of `write_reports`.

    Parameters
    ----------
    n : int
        Number of reports.
    digest : str
        The batch's digest (64 hex digits).
    """

    n: int
    digest: str


def batch_rows(mechanism: Mechanism[Any]) -> int:
    """Return how many reports are handled at a time: as many as fit into `BATCH_BYTES`, at most `BATCH_ROWS`."""
    return max(1, min(BATCH_ROWS, BATCH_BYTES // _row_bytes(mechanism.report_fields)))


def most_unpacked(fields: Sequence[ReportField]) -> int:
    """Return how many bytes the pages of a file of ours may become at a time: far more than those that we write."""
    return 16 * max(BATCH_BYTES, _row_bytes(fields)) + BATCH_BYTES * len(fields)


def _row_bytes(fields: Sequence[ReportField]) -> int:
    return sum(np.dtype(field.dtype).itemsize * (field.width or 1) for field in fields)


def write_reports(
    path: str | os.PathLike[str],
    collection: Collection,
    batches: Iterable[Any],
    rng: Randomness,
    *,
    private: bool = False,
    commit: Commit | None = None,
) -> WrittenReports:
    """Holder of many reports: write a report file atomically; each batch becomes one or several row groups.

    Parameters
    ----------
    path : path
        The file. It appears when all batches are written, and not at all after a failure.
    collection : Collection
        Collection to which the reports belong.
    batches : iterable of reports
        Batches in the mechanism's report type.
    rng : Randomness
        Source of the batch's random number, which is drawn last.
    private : bool
        If True, only the owner of the file can read it.
    commit : context manager, optional
        Context that is entered when the file is complete, and left when it has appeared.

    Raises
    ------
    InvalidReportError
        If a batch does not have the mechanism's report type.
    OutputInUseError
        If another run is writing the same file.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from deniable import GRR, Attribute, Collection, Schema, SimulationRandomness
    >>> survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=2.0))
    >>> rng = SimulationRandomness(1)
    >>> with TemporaryDirectory() as folder:
    ...     write_reports(Path(folder) / "reports.parquet", survey, [survey.mechanism.randomize([0, 1, 1], rng)], rng).n
    3
    """
    fields = collection.mechanism.report_fields
    schema = pa.schema(
        [pa.field(field.name, arrow_type(field), False) for field in fields]
        + [pa.field(ID_COLUMN, pa.dictionary(pa.int8(), pa.string()), False)]
    )
    digest = _Digest(collection.id, fields)
    with (
        atomic_path(path, private=private, commit=commit) as temporary,
        pq.ParquetWriter(
            temporary, schema, compression="lz4", use_dictionary=_dictionaries(fields), write_page_checksum=True
        ) as writer,
    ):
        for reports in batches:
            arrays = arrays_of(reports, fields)
            digest.update(arrays)
            columns = [to_arrow(array, field) for array, field in zip(arrays, fields, strict=True)]
            ids = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(arrays[0]), np.int8)), pa.array([collection.id]))
            writer.write_batch(pa.record_batch([*columns, ids], schema=schema), batch_rows(collection.mechanism))
        number = draw(rng, 2).astype("<u8").tobytes().hex()
        named = digest.hexdigest(number)
        writer.add_key_value_metadata(REPORTS.metadata(collection, batch_number=number, digest=named))
    return WrittenReports(digest.n, named)


class ReportReader:
    """A report file as an iterator over batches; it checks that every report belongs to the collection.

    Parameters
    ----------
    path : path
        The file.
    collection : Collection
        Collection to which the reports must belong.

    Attributes
    ----------
    n : int
        Number of reports.
    digest : str
        Digest of the batch as stated in the file. It is verified when the iteration reaches the end.

    Raises
    ------
    FileFormatError
        If the file does not exist, is truncated, is not a report file, or has another format version.
    MismatchError
        If the file belongs to another collection.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from deniable import GRR, SimulationRandomness
    >>> from deniable.survey.schema import Attribute, Schema
    >>> survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=1.0))
    >>> path, rng = Path(tempfile.mkdtemp()) / "reports.parquet", SimulationRandomness(1)
    >>> written = write_reports(path, survey, [survey.randomize({"smoker": ["no", "yes"]}, rng)], rng)
    >>> reader = ReportReader(path, survey)
    >>> reader.n, reader.digest == written.digest, list(reader)
    (2, True, [array([1, 0], dtype=uint8)])
    """

    def __init__(self, path: str | os.PathLike[str], collection: Collection) -> None:
        self.path, self.collection = Path(path), collection
        with open_parquet(self.path) as file, parquet_errors(self.path):
            self.n: int = file.metadata.num_rows
            schema = file.schema_arrow
            metadata = file.metadata.metadata
        stated = REPORTS.stated(metadata, self.path, collection)
        self.digest: str = stated["digest"]
        self._number: str = stated["batch_number"]
        for field in collection.mechanism.report_fields:
            check_column(schema, field, str(self.path))
        if ID_COLUMN not in schema.names:
            raise FileFormatError(
                f"{self.path} must have the column {quoted(ID_COLUMN)}, but its columns are {quoted(schema.names)}"
            )
        kind = schema.field(ID_COLUMN).type
        if not is_text_type(kind.value_type if pa.types.is_dictionary(kind) else kind):
            raise FileFormatError(f"{self.path}: the column {quoted(ID_COLUMN)} must contain text, got {kind}")

    def __iter__(self) -> Generator[Any, None, None]:
        """Yield batches of reports, in the mechanism's report type.

        Raises
        ------
        MismatchError
            If a row belongs to another collection; the message names the row.
        FileFormatError
            If the file is damaged. Batches that were yielded before must then not be used.
        """
        mechanism = self.collection.mechanism
        fields = mechanism.report_fields
        digest = _Digest(self.collection.id, fields)
        with open_parquet(self.path, dictionaries=[ID_COLUMN]) as file:
            columns = [*(field.name for field in fields), ID_COLUMN]
            for batch in parquet_batches(file, self.path, batch_rows(mechanism), columns, most_unpacked(fields)):
                with parquet_errors(self.path):
                    check_ids(batch.column(ID_COLUMN), self.collection.id, str(self.path), digest.n)
                    arrays = [to_numpy(batch.column(field.name), field, str(self.path), digest.n) for field in fields]
                digest.update(arrays)
                yield mechanism.report_type(*arrays)
        if digest.hexdigest(self._number) != self.digest:
            raise FileFormatError(
                f"{self.path} is damaged: its reports do not match the digest {short_id(self.digest)} that the file "
                "states"
            )


def check_ids(ids: pa.Array, collection: str, source: str, start: int) -> None:
    """Raise MismatchError, which names the row, unless all ids are the collection's.

    Parameters
    ----------
    ids : pyarrow.Array
        Ids as text, plain or dictionary-encoded.
    collection : str
        Id that all of them must equal.
    source : str
        Source of the rows, for the message.
    start : int
        Number of rows of the source that came before.
    """
    distinct = ids.dictionary if pa.types.is_dictionary(ids.type) else pc.unique(ids)
    if ids.null_count == 0 and distinct.to_pylist() == [collection]:
        return
    # Ids are compared one by one, because all rows may refer to one long text.
    for row, value in enumerate(ids):
        if value.as_py() != collection:
            raise MismatchError(
                f"row {start + row + 1} of {source} belongs to collection {short_id(str(value.as_py() or ''))}, "
                f"not to {short_id(collection)}"
            )


class _Digest:
    """SHA-256 of a stream of reports, whatever their division into batches: one hash per column, then one of those."""

    def __init__(self, collection: str, fields: tuple[ReportField, ...]) -> None:
        self.n = 0
        self._collection, self._fields = collection, fields
        self._hashes = [hashlib.sha256() for _ in fields]

    def update(self, arrays: list[NDArray[Any]]) -> None:
        self.n += len(arrays[0])
        for column, array in zip(self._hashes, arrays, strict=True):
            little = array if sys.byteorder == "little" else array.byteswap()
            column.update(little.reshape(-1).view(np.uint8).data)

    def hexdigest(self, batch_number: str) -> str:
        columns = [
            [field.name, field.dtype, field.width, column.hexdigest()]
            for field, column in zip(self._fields, self._hashes, strict=True)
        ]
        return content_hash({"collection": self._collection, "number": batch_number, "n": self.n, "columns": columns})


def _dictionaries(fields: tuple[ReportField, ...]) -> list[str]:
    """Return the paths of the columns that are stored as dictionaries.

    Rows of bytes are not stored as dictionaries. Nearly all of them differ, and the search for equal ones takes longer
    than all other work. For SPL over six attributes it took 130 of 160 ns a report, and the file was half as large
    again.
    """
    plain = [field.name for field in fields if field.width is None]
    lists = [f"{field.name}.list.element" for field in fields if field.width is not None and field.dtype != "uint8"]
    return [ID_COLUMN, *plain, *lists]

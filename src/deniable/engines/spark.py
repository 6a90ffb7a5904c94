"""Randomisation of a DataFrame of answers into stored reports, and sums of a DataFrame of reports, in Apache Spark.

No function returns a lazy result. A lazy DataFrame would make other reports of the same contributors for every action,
and spend epsilon again. So `randomize` writes files and returns a description of the files.

Spark repeats a task that failed, and runs a second copy of a task that is slow. Every attempt makes reports of its own
in a hidden file with a name of its own. Spark takes the result of one attempt per task. Only the file that this result
names becomes visible, with all others or not at all. Sums of tasks contain the number of their partition, so none is
added twice.

The largest cost of a row is its transfer from Java to Python. So reports with few possible values are counted in Spark
by a ``GROUP BY``. All other reports are transferred with as few columns as possible.

Files have the format of `deniable randomize`. So `deniable aggregate` adds them up, and `aggregate` adds up the files
of `deniable randomize`.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from deniable.core.aggregate import Aggregate
from deniable.core.randomness import SecureRandomness
from deniable.errors import (
    DuplicateReportsError,
    EmptyAggregateError,
    FileFormatError,
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
    MismatchError,
    OutputError,
    quoted,
)
from deniable.files.formats.columns import report_arrays
from deniable.files.formats.parquet_metadata import REPORTS
from deniable.files.formats.reports import BATCH_BYTES, ID_COLUMN, batch_rows, write_reports
from deniable.files.jobs.shuffling import shuffled
from deniable.survey.collection import Collection, short_id
from deniable.survey.encoding import check_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

COUNTED_BITS = 16
"""Reports of at most this many bits are counted, so each different report is sent once. At most 65,536 reports come to
the driver."""

PIECE_ROWS = 1 << 16
"""Rows that a task handles at a time, unless they have too many bytes."""

_INTEGERS = ("byte", "short", "integer", "long")
_WRITTEN = "partition int, file string, n long, digest string, error string"
_SUMMED = "partition int, sum binary, error string"

_ERRORS = {"InvalidInputError": InvalidInputError, "InvalidReportError": InvalidReportError}


def randomize(answers: DataFrame, collection: Collection, path: str) -> DataFrame:
    """Holder of many answers: randomise a DataFrame of answers into report files, and return the reports.

    The tasks draw random words from the operating system where they run. The order of the reports in a file is random,
    but the file shows which task made them. There is no ledger. Randomising the same answers twice spends epsilon
    twice.

    Parameters
    ----------
    answers : pyspark.sql.DataFrame
        Answers, with one row for each contributor and the columns of the schema. The DataFrame is evaluated once.
    collection : Collection
        Collection with the questions and the mechanism.
    path : str
        Path or URI of a new directory, as the driver and all executors see it. If the file system can rename
        directories, the directory appears with all reports or not at all.

    Returns
    -------
    pyspark.sql.DataFrame
        The stored reports.

    Raises
    ------
    InvalidParameterError
        If the mechanism needs shares from a dealer.
    InvalidInputError
        If a column is missing, there are no answers, or an answer cannot be encoded. The message names partition, row
        and attribute.
    OutputError
        If the directory exists.
    """
    if collection.dealt:
        raise InvalidParameterError(
            f"collection must have a mechanism that needs no dealer, got {collection.mechanism.name}"
        )
    asked = collection.schema.asked
    check_columns(list(answers.columns), asked, "the DataFrame")
    store = Store.at(path)
    store.start()
    try:
        task = partial(_attempt, partial(write_part, collection, store))
        chosen = answers.select(*(f"`{name.replace('`', '``')}`" for name in asked))
        written = [Part(*row) for row in chosen.mapInArrow(task, _WRITTEN).collect()]
        _raise_first((part.partition, part.error) for part in written)
        if not any(part.n for part in written):
            raise InvalidInputError("the DataFrame must contain at least one row of answers, but it is empty")
        store.commit(written)
    finally:
        store.discard()
    return answers.sparkSession.read.parquet(store.uri)


def aggregate(reports: DataFrame, collection: Collection) -> Aggregate:
    """Collector: add up a DataFrame of reports, first in the tasks and then in a tree.

    Parameters
    ----------
    reports : pyspark.sql.DataFrame
        Reports, with the columns of a report file.
    collection : Collection
        Collection to which the reports must belong.

    Returns
    -------
    Aggregate
        The same aggregate as from `deniable aggregate` with the same files. If the DataFrame has all reports of the
        files that it reads, the aggregate lists the batches of these files. Their digests are not verified. Otherwise
        it lists one batch with a new name.

    Raises
    ------
    MismatchError
        If a row belongs to another collection.
    InvalidReportError
        If a column is missing, or the mechanism cannot have produced a report.
    DuplicateReportsError
        If the DataFrame has reports of its files twice.
    EmptyAggregateError
        If there are no reports.
    """
    names = [field.name for field in collection.mechanism.report_fields]
    absent = [name for name in (*names, ID_COLUMN) if name not in reports.columns]
    if absent:
        raise InvalidReportError(
            f"the DataFrame must have the column {quoted(absent[0])}, got {', '.join(reports.columns)}"
        )
    from pyspark.sql import functions

    call = uuid.uuid4().hex
    # Ids are compared where the rows are, because as texts they would be most of what is sent. A report of another
    # collection is sent as a null report, which costs nothing. Code that meets a null asks once more which collection
    # it was.
    ours = functions.col(ID_COLUMN).eqNullSafe(collection.id)
    try:
        if _few(reports, collection):
            total = _counted(reports, ours, collection)
        else:
            total = _summed(reports, ours, collection, call)
    except InvalidReportError:
        for (other,) in reports.where(~ours).select(ID_COLUMN).limit(1).collect():
            raise MismatchError(
                f"the DataFrame contains reports of collection {short_id(str(other or ''))}, not of "
                f"{short_id(collection.id)}"
            ) from None
        raise
    if total.n == 0:
        raise EmptyAggregateError("the DataFrame must contain at least one report, but it is empty")
    return replace(total, batches=_batches(reports.inputFiles(), collection, total.n, call))


def _few(reports: DataFrame, collection: Collection) -> bool:
    """Return whether so few reports can differ that they are counted: codes, in columns of integers."""
    fields = collection.mechanism.report_fields
    kinds = {field.name: field.dataType.typeName() for field in reports.schema.fields}
    return all(field.width is None and kinds[field.name] in _INTEGERS for field in fields) and (
        sum(8 * np.dtype(field.dtype).itemsize for field in fields) <= COUNTED_BITS
    )


def _counted(reports: DataFrame, ours: Column, collection: Collection) -> Aggregate:
    """Return the aggregate of reports that Spark counts."""
    from pyspark.sql import functions

    chosen = []
    for field in collection.mechanism.report_fields:
        column, limits = functions.col(field.name), np.iinfo(field.dtype)
        fits = ours & column.between(int(limits.min), int(limits.max))
        chosen.append(functions.when(fits, column).alias(field.name))
    grouped = reports.select(*chosen).groupBy(*(field.name for field in collection.mechanism.report_fields))
    return weighted(collection, [tuple(row) for row in grouped.count().collect()])


def _summed(reports: DataFrame, ours: Column, collection: Collection, call: str) -> Aggregate:
    """Return the aggregate of any reports: tasks add up their own, then a tree."""
    from pyspark.sql import functions

    first, *others = (field.name for field in collection.mechanism.report_fields)
    chosen = functions.when(ours, functions.col(first)).alias(first)
    parts = reports.select(chosen, *others).mapInArrow(partial(_attempt, partial(sum_part, collection, call)), _SUMMED)
    # The partition's number decides where a sum is sent, so a task that runs again sends it to the same place. Spark
    # takes as many tasks as the bytes of the sums ask for.
    sums = parts.repartition("partition").mapInArrow(partial(_attempt, partial(merge_parts, collection)), _SUMMED)
    found = sums.collect()
    _raise_first((row[0], row[2]) for row in found)
    total = sum(
        (Aggregate.from_bytes(bytes(row[1])) for row in found), Aggregate.empty(collection.mechanism, collection.id)
    )
    missing = {f"{call} {number}" for number in range(len(total.batches))} ^ total.batches
    if missing:
        raise DuplicateReportsError(
            f"every partition must be added exactly once, but {len(missing)} partitions are missing or unexpected; "
            "add up the DataFrame again"
        )
    return total


def weighted(collection: Collection, rows: Sequence[tuple[Any, ...]]) -> Aggregate:
    """Return the aggregate of counted reports.

    Parameters
    ----------
    collection : Collection
        Collection of the reports.
    rows : sequence of tuple
        Different reports as the values of their fields, None if a value cannot be of this collection. The last item is
        the number of occurrences.

    Raises
    ------
    InvalidReportError
        If a field is None, or the mechanism cannot have produced a report.
    """
    mechanism = collection.mechanism
    fields = mechanism.report_fields
    *columns, counts = zip(*rows, strict=True) if rows else ((),) * (len(fields) + 1)
    for field, values in zip(fields, columns, strict=True):
        if None in values:
            limits = np.iinfo(field.dtype)
            number = sum(count for value, count in zip(values, counts, strict=True) if value is None)
            raise InvalidReportError(
                f"report field {quoted(field.name)} must be in {limits.min}..{limits.max} in every row, but {number} "
                "rows have another value"
            )
    arrays = [np.array(values, dtype=field.dtype) for field, values in zip(fields, columns, strict=True)]
    often = np.array(counts, dtype=np.int64)
    total = Aggregate.empty(mechanism, collection.id)
    # The total is twice what the higher bits of the counts give, plus once what this bit gives. This is exact for every
    # mechanism.
    for bit in reversed(range(int(often.max(initial=0)).bit_length())):
        odd = often >> bit & 1 == 1
        total += total
        if odd.any():
            try:
                total += collection.aggregate(mechanism.report_type(*(array[odd] for array in arrays)))
            except InvalidReportError as error:
                raise InvalidReportError(
                    f"{error} (row numbers in this message count only different reports, not all rows)"
                ) from None
    return total


# ---------------------------------------------------------------- tasks


class Part(NamedTuple):
    """Output of one attempt of a task.

    Parameters
    ----------
    partition : int
        Number of the task.
    file : str
        Name of the file that the task wrote; "" if the task had no answers.
    n : int
        Number of reports.
    digest : str
        Digest of the file.
    error : str
        Error in the answers; "" if there is none.
    """

    partition: int
    file: str
    n: int
    digest: str
    error: str


def _attempt(
    work: Callable[[int, Iterable[pa.RecordBatch]], pa.RecordBatch], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Do the work of one attempt of a task, and yield its one row."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    yield work(context.partitionId(), batches)


def write_part(
    collection: Collection, store: Store, partition: int, batches: Iterable[pa.RecordBatch]
) -> pa.RecordBatch:
    """Write a partition's reports to a file of this attempt's own, and return `Part` as a batch of one row.

    Errors in answers are returned, because another attempt would fail in the same way.
    """
    rng, mechanism = SecureRandomness(), collection.mechanism

    def reports() -> Iterator[Any]:
        rows = 0
        for table in _tables(batches):
            codes = collection.schema.read(table, first_row=rows + 1).codes(rng)
            rows += table.num_rows
            yield collection.randomize(codes, rng)

    name = f"part-{partition:05d}-{uuid.uuid4().hex}.parquet"
    try:
        with tempfile.TemporaryDirectory() as directory:
            local = Path(directory) / name
            ordered = shuffled(mechanism, reports(), batch_rows(mechanism), rng.spawn())
            written = write_reports(local, collection, ordered, rng)
            if written.n == 0:
                return _row(Part(partition, "", 0, "", ""))
            store.put(local, name)
    except InvalidInputError as error:
        return _row(Part(partition, "", 0, "", _named(error, f"partition {partition}: ")))
    return _row(Part(partition, name, written.n, written.digest, ""))


def sum_part(collection: Collection, call: str, partition: int, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """Add up the reports of a partition; return its number, the aggregate's bytes and what is wrong, as one row."""
    total = Aggregate.empty(collection.mechanism, collection.id)
    try:
        for table in _tables(batches):
            try:
                total += collection.aggregate(report_arrays(table, collection.mechanism))
            except InvalidReportError as error:
                raise InvalidReportError(
                    f"{error} (row 1 in this message is row {total.n + 1} of the partition)"
                ) from None
    except InvalidReportError as error:
        return _sum_row(partition, b"", _named(error, f"partition {partition}: "))
    return _sum_row(partition, replace(total, batches=frozenset({f"{call} {partition}"})).to_bytes(), "")


def _tables(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the same rows in larger pieces: Spark's batches of 10,000 cost more to begin than to do."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
        if sum(one.num_rows for one in held) >= PIECE_ROWS or sum(one.nbytes for one in held) >= BATCH_BYTES:
            yield pa.Table.from_batches(held).combine_chunks()
            held = []
    if held:
        yield pa.Table.from_batches(held).combine_chunks()


def merge_parts(collection: Collection, partition: int, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """Add up aggregates of partitions, as rows of `sum_part`, to one row."""
    total = Aggregate.empty(collection.mechanism, collection.id)
    for batch in batches:
        for content, error in zip(batch.column("sum"), batch.column("error"), strict=True):
            if error.as_py():
                return _sum_row(partition, b"", error.as_py())
            total += Aggregate.from_bytes(content.as_py())
    return _sum_row(partition, total.to_bytes(), "")


def _row(part: Part) -> pa.RecordBatch:
    kinds = (pa.int32(), pa.string(), pa.int64(), pa.string(), pa.string())
    return pa.record_batch(
        [pa.array([value], kind) for value, kind in zip(part, kinds, strict=True)], names=part._fields
    )


def _sum_row(partition: int, content: bytes, error: str) -> pa.RecordBatch:
    columns = [pa.array([partition], pa.int32()), pa.array([content], pa.binary()), pa.array([error], pa.string())]
    return pa.record_batch(columns, names=["partition", "sum", "error"])


def _named(error: Exception, where: str) -> str:
    kind = next(name for name, known in _ERRORS.items() if isinstance(error, known))
    return f"{kind}|{where}{error}"


def _raise_first(errors: Iterable[tuple[int, str]]) -> None:
    found = sorted(pair for pair in errors if pair[1])
    if found:
        kind, _, message = found[0][1].partition("|")
        raise _ERRORS[kind](message)


# ---------------------------------------------------------------- places of files


class Store(NamedTuple):
    """Directory that appears as a whole; attempts write beside it, and files that count are moved into it.

    Parameters
    ----------
    files : pyarrow.fs.FileSystem
        File system of the directory, which is pickled into tasks.
    directory : str
        Path of the directory in this file system.
    uri : str
        Name of the directory for Spark.
    staging : str
        Path of the hidden directory beside it, which only this run uses.
    """

    files: fs.FileSystem
    directory: str
    uri: str
    staging: str

    @classmethod
    def at(cls, path: str) -> Store:
        """Return the store of a path or URI, which must not exist."""
        if "://" in path:
            files, directory = fs.FileSystem.from_uri(path)
            uri = path
        else:
            files, directory = fs.LocalFileSystem(), str(Path(path).absolute())
            uri = Path(directory).as_uri()
        if files.get_file_info(directory).type != fs.FileType.NotFound:
            raise OutputError(f"cannot write {path}: this path exists; choose another path")
        place = PurePosixPath(directory)
        # Spark and `deniable aggregate` ignore names that begin with an underscore.
        return cls(files, directory, uri, str(place.with_name(f"_{place.name}-{uuid.uuid4().hex}.partial")))

    def start(self) -> None:
        """Driver: make room for attempts; on a local disk only its owner can look into it."""
        if self.files.type_name == "local":
            os.makedirs(self.staging, mode=0o700)
        self.files.create_dir(f"{self.staging}/attempts")
        self.files.create_dir(f"{self.staging}/reports")

    def put(self, local: Path, name: str) -> None:
        """Task: copy a finished file to where attempts lie; fails if the run is over by now."""
        fs.copy_files(
            str(local), f"{self.staging}/attempts/{name}", source_filesystem=fs.LocalFileSystem(),
            destination_filesystem=self.files,
        )  # fmt: skip

    def commit(self, written: Iterable[Part]) -> None:
        """Driver: let the files of these attempts appear, one per partition, all at once."""
        partitions: set[int] = set()
        for part in written:
            if part.partition in partitions:
                raise DuplicateReportsError(
                    f"partition {part.partition} must be written once, but it was written twice"
                )
            partitions.add(part.partition)
            if part.file:
                self.files.move(f"{self.staging}/attempts/{part.file}", f"{self.staging}/reports/{part.file}")
        self.files.move(f"{self.staging}/reports", self.directory)

    def discard(self) -> None:
        """Driver: remove what other attempts wrote, and with it the room for attempts that are still under way."""
        if self.files.get_file_info(self.staging).type != fs.FileType.NotFound:
            self.files.delete_dir(self.staging)


def _batches(uris: Iterable[str], collection: Collection, n: int, call: str) -> frozenset[str]:
    """Return the digests of the report files that hold exactly n reports, or one new name."""
    fresh = frozenset({hashlib.sha256(call.encode()).hexdigest()})
    digests: dict[str, str] = {}
    rows = 0
    for uri in uris:
        files, path = fs.FileSystem.from_uri(uri)
        try:
            with files.open_input_file(path) as source:
                metadata = pq.read_metadata(source)
            digest = REPORTS.stated(metadata.metadata, path, collection)["digest"]
        except (FileFormatError, MismatchError, OSError, pa.ArrowException):
            return fresh
        if digest in digests:
            raise DuplicateReportsError(
                f"{uri} and {digests[digest]} contain the same batch of reports ({short_id(digest)}); leave out one of "
                "the two files"
            )
        digests[digest] = uri
        rows += metadata.num_rows
    if digests and n > rows:
        raise DuplicateReportsError(
            f"the DataFrame must contain every report at most once, but it has {n} rows, and its files have only "
            f"{rows} reports; remove the repeated rows"
        )
    return frozenset(digests) if digests and n == rows else fresh

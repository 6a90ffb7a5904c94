"""Streaming jobs of the command line, which read files and write one file in memory that does not grow.

Every output appears completely or not at all. `randomize_file` leaves nothing when it is interrupted, because reports
that nobody saw spent nothing. `aggregate_files` keeps its finished work, because counting is not private and repetition
is a waste. It leaves a `Checkpoint`, where the next run continues.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from deniable.core.aggregate import Aggregate
from deniable.core.outputs import atomic_path
from deniable.errors import DeniableError, InvalidParameterError, InvalidReportError, OutputError, not_available
from deniable.files.formats.json_lines import JsonLinesReader, report_readers
from deniable.files.formats.reports import ReportReader
from deniable.files.formats.tables import Progress as Progress, open_answers, with_progress
from deniable.files.jobs.prefetch import Prefetcher
from deniable.files.jobs.randomizing import (
    PathLike,
    RandomizeResult as RandomizeResult,
    count_texts as count_texts,
    randomize_file as randomize_file,
    read_truth as read_truth,
    refuse_overwriting,
)
from deniable.survey.collection import Collection
from deniable.survey.decimals import NumberColumns
from deniable.survey.drafting import DraftResult as DraftResult, draft_schema

CHECKPOINT_SECONDS = 1.0
"""The sum of the finished files is written at most this often, and at every interruption."""


class Checkpoint:
    """Sum of the finished report files, in a hidden aggregate file beside the output.

    The context manager must be entered while this process alone holds the output. Inside the block, call `keep` for
    finished work. If an exception or an interruption ends the block, the kept work is written. `done` removes the file
    once the output exists.

    Parameters
    ----------
    collection : Collection
        Collection to which the reports belong.
    output : Path
        Path of the future aggregate.
    batches : set of str
        Digests of the batches that shall be in the aggregate. The checkpoint of an earlier run is used only if it
        contains no other batches.

    Attributes
    ----------
    aggregate : Aggregate
        Sum so far. Inside the block it begins with the sum of an earlier run, or empty.
    """

    def __init__(self, collection: Collection, output: Path, batches: set[str]) -> None:
        self.path = output.with_name(f".{output.name}.resume")
        self.aggregate = Aggregate.empty(collection.mechanism, collection.id)
        self._batches = batches
        self._written = time.monotonic()

    def __enter__(self) -> Checkpoint:
        with contextlib.suppress(DeniableError):
            earlier = Aggregate.load(self.path)
            if earlier.collection == self.aggregate.collection and earlier.batches <= self._batches:
                self.aggregate = earlier
        return self

    @contextlib.contextmanager
    def done(self) -> Iterator[None]:
        """Remove the file after the block."""
        yield
        self.path.unlink(missing_ok=True)

    def keep(self, aggregate: Aggregate) -> None:
        """Take note that one more file is finished."""
        self.aggregate = aggregate
        if time.monotonic() - self._written >= CHECKPOINT_SECONDS:
            self._write()

    def _write(self) -> None:
        self.aggregate.save(self.path)
        self._written = time.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None and self.aggregate.batches:
            with contextlib.suppress(OutputError):
                self._write()


OnInvalid = Callable[[Path, int, str], None]
"""Function that is called with a report file, the number of its skipped reports, and the fault of the first."""


def draft_schema_file(
    answers: PathLike,
    output: PathLike,
    max_categories: int = 50,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    progress: Progress | None = None,
) -> DraftResult:
    """Collector: draft the public schema of a file of answers; see `deniable.draft_schema`.

    Parameters
    ----------
    answers : path
        File of answers, CSV or Parquet.
    output : path
        Path for the schema, a JSON document for you to edit.
    max_categories : int
        Largest number of categories in a list.
    delimiter : str, optional
        Delimiter of the cells of CSV, if it cannot be detected.
    decimal : {"point", "comma"}, optional
        Decimal mark, if the file leaves it open (`deniable.survey.decimals`).
    progress : callable, optional
        Function that is called with (done, total).

    Raises
    ------
    InvalidInputError
        If the file has no answers, or no column can be used in a schema.
    InvalidParameterError
        If numbers can be read in two ways and `decimal` is not given.
    FileFormatError
        If the file cannot be read.
    OutputError
        If the schema cannot be written.

    Examples
    --------
    >>> from pyarrow import table
    >>> from pyarrow.csv import write_csv
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_csv(table({"smoker": ["yes", "no", "no"]}), Path(folder) / "answers.csv")
    ...     draft_schema_file(Path(folder) / "answers.csv", Path(folder) / "schema.json").schema.names
    ('smoker',)
    """
    refuse_overwriting(output, [answers])
    with open_answers(answers, delimiter=delimiter, decimal=decimal, numbers=NumberColumns()) as reader:
        draft = draft_schema(with_progress(reader, progress), max_categories)
        draft = replace(draft, remarks=reader.remarks)
    draft.schema.save(output)
    return draft


def aggregate_files(
    collection: Collection,
    reports: Sequence[PathLike],
    output: PathLike,
    *,
    on_invalid: OnInvalid | None = None,
    progress: Progress | None = None,
) -> Aggregate:
    """Collector: add up report files into one aggregate.

    If the run is interrupted, the sum of the finished files stays in a hidden file beside the output. The next run with
    the same files continues from it, and removes it at the end.

    Parameters
    ----------
    collection : Collection
        Collection to which the reports belong.
    reports : sequence of path
        Report files, in Parquet or as posted reports (JSON Lines), or directories of them. Each batch and each id may
        occur only once.
    output : path
        The aggregate.
    on_invalid : callable, optional
        If given, reports that no client can have produced are skipped, and their file is not refused. The function is
        called for every file with such reports, with (file, number of skipped reports, what is wrong with the first).
        The mechanism must allow it (`can_skip_invalid`).
    progress : callable, optional
        Function that is called with (finished reports, total reports).

    Raises
    ------
    InvalidParameterError
        If `on_invalid` is given and the mechanism cannot skip invalid reports.
    DuplicateReportsError
        If two files hold the same batch of reports, or an id occurs twice.
    MismatchError
        If a file, or a row of a file, belongs to another collection.
    FileFormatError
        If a file is damaged or of another kind.
    InvalidReportError
        If the mechanism cannot have produced a report, and `on_invalid` is not given.
    OutputInUseError
        If another run is writing the same output.
    OutputError
        If the aggregate cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from deniable import GRR, Attribute, Collection, Schema, SimulationRandomness
    >>> survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=2.0))
    >>> from deniable.files import randomize_file
    >>> from pyarrow import table
    >>> from pyarrow.csv import write_csv
    >>> with TemporaryDirectory() as folder:
    ...     answers, reports = Path(folder) / "answers.csv", Path(folder) / "reports.parquet"
    ...     write_csv(table({"smoker": ["yes", "no", "no"] * 100}), answers)
    ...     _ = randomize_file(survey, answers, reports, SimulationRandomness(1))
    ...     aggregate_files(survey, [reports], Path(folder) / "all.aggregate").n
    300
    """
    if on_invalid is not None and not collection.mechanism.can_skip_invalid:
        raise not_available(
            "skipping invalid reports", collection.mechanism.name, "leave out the files that contain invalid reports"
        )
    if not reports:
        raise InvalidParameterError("reports must name at least one file, got none")
    refuse_overwriting(output, reports)
    readers = report_readers(reports, collection)
    rows = sum(reader.n for reader in readers)
    checkpoint = Checkpoint(collection, Path(output), {reader.digest for reader in readers})
    # From here on the output belongs to this run. So of two simultaneous runs, neither overwrites the other's sum or
    # checkpoint.
    with atomic_path(output, commit=checkpoint.done()) as temporary, checkpoint:
        total = checkpoint.aggregate
        finished = sum(reader.n for reader in readers if reader.digest in total.batches)
        if on_invalid is None and total.n != finished:
            # An earlier run skipped reports, which this run was not told to do.
            total = Aggregate.empty(collection.mechanism, collection.id)
        elif on_invalid is not None and total.n != finished:
            on_invalid(Path(output), finished - total.n, "it was named by the run that was interrupted")
        for reader in readers:
            if reader.digest not in total.batches:
                total += _aggregated(reader, total.n, rows, on_invalid, progress)
                checkpoint.keep(total)
        total.write(temporary)
    return total


def merge_files(aggregates: Sequence[PathLike], output: PathLike) -> Aggregate:
    """Collector: merge aggregate files of one collection into one.

    Raises
    ------
    DuplicateReportsError
        If two files contain the same batch of reports. The message names the file.
    MismatchError
        If the files belong to different collections or mechanisms.
    FileFormatError
        If a file is damaged or of another kind.
    OutputInUseError
        If another run is writing the same output.
    OutputError
        If the result cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from deniable import GRR, Attribute, Collection, Schema, SimulationRandomness
    >>> survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=2.0))
    >>> rng = SimulationRandomness(1)
    >>> with TemporaryDirectory() as folder:
    ...     parts = [Path(folder) / name for name in ("monday.aggregate", "tuesday.aggregate")]
    ...     for part in parts:
    ...         survey.aggregate(survey.randomize({"smoker": ["yes", "no"]}, rng)).save(part)
    ...     merge_files(parts, Path(folder) / "all.aggregate").n
    4
    """
    if not aggregates:
        raise InvalidParameterError("aggregates must name at least one file, got none")
    with atomic_path(output) as temporary:
        total = Aggregate.load(aggregates[0])
        for path in aggregates[1:]:
            part = Aggregate.load(path)
            try:
                total += part
            except DeniableError as error:
                raise type(error)(f"{path}: {error}") from error
        total.write(temporary)
    return total


def _aggregated(
    reader: ReportReader | JsonLinesReader,
    before: int,
    total: int,
    on_invalid: OnInvalid | None,
    progress: Progress | None,
) -> Aggregate:
    """Return the aggregate of one report file; `before` of `total` reports are counted already."""
    mechanism: Any = reader.collection.mechanism
    result = Aggregate.empty(mechanism, reader.collection.id)
    rejected, reason = 0, ""
    with Prefetcher(iter(reader)) as batches:
        for reports in batches:
            counted = f" (rows counted from row {result.n + rejected + 1})" if result.n + rejected else ""
            try:
                if on_invalid is not None:
                    valid = mechanism.valid_reports(reports)
                    reports = valid.reports
                    reason = reason or (valid.first_error and valid.first_error + counted)
                    rejected += valid.rejected
                result += reader.collection.aggregate(reports)
            except InvalidReportError as error:
                raise InvalidReportError(f"{reader.path}: {error}{counted}") from error
            if progress is not None:
                progress(before + result.n + rejected, total)
    if on_invalid is not None and rejected:
        on_invalid(reader.path, rejected, reason)
    return replace(result, batches=frozenset({reader.digest}))

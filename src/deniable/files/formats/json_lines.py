"""JSON Lines files of posted reports, in which each line is one body (`deniable.files.wire`).

Senders keep their reports in such a file, and another collector may pass reports on in it. The digest of a file is
SHA-256 over its sorted ids and reports. So a file with another order or another division into bodies is the same batch.
Each id may occur once in a command, because a report that is sent twice has the same id both times.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import DuplicateReportsError, FileFormatError, InvalidReportError, MismatchError, TooLargeError
from deniable.files.formats.reports import ReportReader, batch_rows
from deniable.files.wire import ID_BYTES, MAX_BODY, from_json, from_wire, report_width, to_base64url
from deniable.survey.collection import Collection, short_id

SUFFIX = ".jsonl"


class JsonLinesReader:
    r"""Iterator over the batches of reports in a JSON Lines file of bodies, in the order of their ids.

    The file is read when the reader is made. The reader holds its ids and reports in memory, a few dozen bytes each.

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
        Digest of the batch.

    Raises
    ------
    FileFormatError
        If there is no such file, or a line is not a body.
    MismatchError
        If a line is of another collection.
    DuplicateReportsError
        If an id occurs twice.

    Examples
    --------
    >>> import tempfile
    >>> from deniable import GRR, SimulationRandomness
    >>> from deniable.files.wire import Body, to_wire
    >>> from deniable.survey.schema import Attribute, Schema
    >>> survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=1.0))
    >>> rows = to_wire(survey.mechanism, survey.randomize({"smoker": ["no", "yes"]}, SimulationRandomness(1)))
    >>> ids = np.arange(32, dtype=np.uint8).reshape(2, 16)
    >>> path = Path(tempfile.mkdtemp()) / "reports.jsonl"
    >>> _ = path.write_bytes(Body(survey.id, ids, rows).to_json() + b"\n")
    >>> reader = JsonLinesReader(path, survey)
    >>> reader.n, list(reader)
    (2, [array([1, 0], dtype=uint8)])
    """

    def __init__(self, path: str | os.PathLike[str], collection: Collection) -> None:
        self.path, self.collection = Path(path), collection
        self._posted = _read(self.path, collection)
        self.n = len(self._posted)
        _refuse_repeated(self.ids, str(self.path))
        self.digest = hashlib.sha256(self._posted.tobytes()).hexdigest()

    @property
    def ids(self) -> NDArray[np.void]:
        """The reports' ids, sorted, as one item each."""
        return np.ascontiguousarray(self._posted[:, :ID_BYTES]).view(f"V{ID_BYTES}")[:, 0]

    def __iter__(self) -> Generator[Any, None, None]:
        """Yield batches of reports, in the mechanism's report type."""
        mechanism, rows = self.collection.mechanism, self._posted[:, ID_BYTES:]
        size = batch_rows(mechanism)
        for start in range(0, self.n, size):
            yield from_wire(mechanism, rows[start : start + size])


def report_readers(
    paths: Iterable[str | os.PathLike[str]], collection: Collection
) -> list[ReportReader | JsonLinesReader]:
    """Collector: open report files of either kind, also in directories; the content tells whether it is Parquet.

    Raises
    ------
    FileFormatError
        If a directory contains no report file, or a file is damaged or foreign.
    MismatchError
        If a file is of another collection.
    DuplicateReportsError
        If two files contain the same batch, or the same id.
    """
    files = [file for path in paths for file in _files(Path(path))]
    readers = [JsonLinesReader(f, collection) if _is_posted(f) else ReportReader(f, collection) for f in files]
    _refuse_duplicates(readers)
    return readers


def _files(path: Path) -> Sequence[Path]:
    """Return the file, or the files of reports in a directory, by name."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.suffix in (SUFFIX, ".parquet") and file.name[0] != ".")
    if not found:
        raise FileFormatError(
            f"{path} must contain report files named *{SUFFIX} or *.parquet, but it contains no such file"
        )
    return found


def _is_posted(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(1) in (b"{", b"\n") or path.suffix == SUFFIX
    except OSError:
        return False  # the other reader says what is wrong


def _read(path: Path, collection: Collection) -> NDArray[np.uint8]:
    """Return ids and reports of a file, sorted: uint8[n, 16 + width]."""
    width = report_width(collection.mechanism)
    parts = [np.empty((0, ID_BYTES + width), np.uint8)]
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_BODY + 2):
                number += 1
                if line.strip():
                    body = from_json(line.strip())
                    if body.collection != collection.id:
                        raise MismatchError(
                            f"line {number} of {path} belongs to collection {short_id(body.collection)}, not to "
                            f"{short_id(collection.id)}"
                        )
                    if body.rows.shape[1] != width:
                        raise InvalidReportError(f"a report must have {width} bytes, got {body.rows.shape[1]}")
                    parts.append(np.concatenate([body.ids, body.rows], axis=1))
    except FileNotFoundError as error:
        raise FileFormatError(f"there is no file {path}") from error
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {error.strerror or error}") from error
    except (InvalidReportError, TooLargeError) as error:
        said = str(error).replace(" at line 1 column ", " at column ")
        where = f"{path}: line {number}"
        rest = said.removeprefix("the body ")
        raise FileFormatError(f"{where}: {said}" if rest == said else f"{where} {rest}") from error
    posted = np.concatenate(parts)
    # Items without a type are compared byte by byte.
    return posted[np.argsort(posted.view(f"V{ID_BYTES + width}")[:, 0])]


def _refuse_duplicates(readers: Sequence[ReportReader | JsonLinesReader]) -> None:
    seen: dict[str, Path] = {}
    for reader in readers:
        first = seen.setdefault(reader.digest, reader.path)
        if first is not reader.path:
            same = "is given twice" if first == reader.path else f"holds the same reports as {first}"
            raise DuplicateReportsError(f"{reader.path} {same}, so the reports in this file would be counted twice")
    ids = [reader.ids for reader in readers if isinstance(reader, JsonLinesReader)]
    if len(ids) > 1:
        _refuse_repeated(np.sort(np.concatenate(ids)), "these files")


def _refuse_repeated(ids: NDArray[np.void], where: str) -> None:
    """Raise DuplicateReportsError if one of these sorted ids occurs twice."""
    same = np.flatnonzero(ids[1:] == ids[:-1])
    if len(same):
        name = to_base64url(ids[same[0]].tobytes())
        raise DuplicateReportsError(
            f"the report id {name} occurs twice in {where}, so the report of this id would be counted twice"
        )

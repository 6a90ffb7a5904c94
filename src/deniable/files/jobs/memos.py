"""Permanent responses of one person, drawn once for a question and its mechanism, and used in every wave.

A store is in the directory of the ledger of answers, in a file that nobody else can read. It contains the result of
`Memoised.draw_memo`, a response for every answer, or for every cell and the hash function. So a store says nothing
about the true answers. A memo is on the disk before the first report that is made from it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.documents import Document, parse_document, read_document
from deniable.core.randomness import Randomness
from deniable.core.spec import content_hash, to_spec
from deniable.errors import DeniableError, FileFormatError, InvalidParameterError, OutputError, quoted
from deniable.files.formats.columns import arrays_of
from deniable.files.jobs.ledger import answers_ledger
from deniable.files.jobs.private_document import PrivateDocument
from deniable.files.wire import from_base64url, from_wire, report_width, to_base64url, to_wire
from deniable.oracles.memoised import Memoised
from deniable.survey.collection import Collection

FORMAT = "deniable memo store"


class KeptMemo(Document):
    """Permanent responses in the JSON document: the series that they belong to, their name and their rows."""

    series: str
    id: str
    rows: list[str]


class MemoShape(Document):
    """Keys of a memo store in the JSON document."""

    memos: list[KeptMemo]


@dataclass(frozen=True)
class Memo:
    """Permanent responses of one person for one series of waves.

    Parameters
    ----------
    id : str
        Random name, 32 hexadecimal digits, under which a ledger adds up the reports of one memo.
    rows : batch of reports
        Result of `Memoised.draw_memo`.
    """

    id: str
    rows: Any


def is_memoised(collection: Collection) -> bool:
    """Return whether reports of a collection are made of permanent responses, which the person keeps.

    Examples
    --------
    >>> from deniable import Attribute, Schema
    >>> from deniable.oracles import MemoisedGRR
    >>> schema = Schema((Attribute("smoker", ("yes", "no")),))
    >>> is_memoised(Collection(schema, MemoisedGRR(k=2, epsilon_forever=2.0, epsilon_once=1.0)))
    True
    """
    return isinstance(collection.mechanism, Memoised)


def memoised_of(collection: Collection) -> Memoised[Any]:
    """Return the memoised mechanism of a collection.

    Raises
    ------
    InvalidParameterError
        If its mechanism keeps nothing.
    """
    if not is_memoised(collection):
        raise InvalidParameterError(
            f"mechanism must keep permanent responses, got mechanism={collection.mechanism.name}; use MemoisedGRR, "
            "MemoisedOUE or MemoisedHash"
        )
    return cast("Memoised[Any]", collection.mechanism)


def series(collection: Collection) -> str:
    """Return the name of all waves that share a memo, a hash of questions and mechanism in 64 hexadecimal digits.

    Title and version may differ from wave to wave. A collection with other answers or another budget has another
    series. So a memo is never used with a mechanism that it was not drawn for.

    Raises
    ------
    InvalidParameterError
        If the mechanism of the collection keeps nothing.

    Examples
    --------
    >>> from deniable import Attribute, Schema
    >>> from deniable.oracles import MemoisedGRR
    >>> schema = Schema((Attribute("smoker", ("yes", "no")),))
    >>> coins = MemoisedGRR(k=2, epsilon_forever=2.0, epsilon_once=1.0)
    >>> spring, autumn = Collection(schema, coins, title="spring"), Collection(schema, coins, title="autumn")
    >>> spring.id == autumn.id, series(spring) == series(autumn)
    (False, True)
    """
    return content_hash({"schema": collection.schema.to_dict(), "mechanism": to_spec(memoised_of(collection))})


class MemoStore:
    """Locked file of one person's permanent responses.

    Parameters
    ----------
    path : Path
        The file, which its owner alone can read; its lock is beside it while it is held.

    Examples
    --------
    >>> import tempfile
    >>> from deniable import Attribute, Schema, SimulationRandomness
    >>> from deniable.oracles import MemoisedGRR
    >>> schema = Schema((Attribute("smoker", ("yes", "no")),))
    >>> wave = Collection(schema, MemoisedGRR(k=2, epsilon_forever=2.0, epsilon_once=1.0))
    >>> store, rng = MemoStore(Path(tempfile.mkdtemp()) / "memos.json"), SimulationRandomness(1)
    >>> store.memo(wave, rng).id == store.memo(wave, rng).id
    True
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = PrivateDocument(path, FORMAT, MemoShape(memos=[]))

    def memo(self, collection: Collection, rng: Randomness) -> Memo:
        """Return the permanent responses of a series, which are drawn and stored if there are none yet.

        If two processes ask at once, the second one gets the responses that the first one stored.

        Parameters
        ----------
        collection : Collection
            A wave of the series.
        rng : Randomness
            Source of the noise, if the responses have to be drawn.

        Raises
        ------
        InvalidParameterError
            If the mechanism of the collection keeps nothing.
        TooLargeError
            If one person would have to keep too many responses.
        FileFormatError
            If the store is damaged.
        OutputError
            If it cannot be written.
        """
        mechanism, name = memoised_of(collection), series(collection)
        with self._file.held():
            shape = self._file.read()
            for kept in shape.memos:
                if kept.series == name:
                    return Memo(kept.id, self._rows(mechanism, kept))
            rows = mechanism.draw_memo(rng)
            texts = [to_base64url(row) for row in to_wire(mechanism, rows)]
            added = KeptMemo(series=name, id=secrets.token_hex(16), rows=texts)
            self._file.write(MemoShape(memos=[*shape.memos, added]))
            return Memo(added.id, rows)

    def report(self, collection: Collection, codes: ArrayLike, rng: Randomness) -> Any:
        """Contributor: report one person's answer from the permanent responses of its series.

        Parameters
        ----------
        collection : Collection
            The wave.
        codes : int[1] or int[1, 1]
            The true answer.
        rng : Randomness
            Source of the noise.

        Returns
        -------
        batch of one report
            Batch as the mechanism's `randomize` returns it.

        Raises
        ------
        InvalidParameterError
            If there is not one contributor, or the mechanism keeps nothing.
        """
        values = np.asarray(codes).reshape(-1)
        if len(values) != 1:
            raise InvalidParameterError(
                f"answers must have one row, got {len(values)} rows: permanent responses are kept for one person at a "
                "time. Give every person a separate file of answers, and a name (--person)"
            )
        return memoised_of(collection).report_from(self.memo(collection, rng).rows, values[0], rng)

    def merge(self, other: MemoStore) -> int:
        """Add the memos of another store for series that have none here, and return their number.

        Existing memos stay, because a memo that was used for a report must not be replaced.

        Parameters
        ----------
        other : MemoStore
            Store to read, for instance from another device of the same person.

        Raises
        ------
        FileFormatError
            If one of the stores is damaged or missing.
        OutputError
            If this store cannot be written.
        """
        theirs = parse_document(read_document(other.path), str(other.path), FORMAT, MemoShape).memos
        with self._file.held():
            ours = self._file.read().memos
            known = {kept.series for kept in ours}
            added = [kept for kept in theirs if kept.series not in known]
            self._file.write(MemoShape(memos=[*ours, *added]))
            return len(added)

    def _rows(self, mechanism: Memoised[Any], kept: KeptMemo) -> Any:
        try:
            rows = from_wire(mechanism, from_base64url(kept.rows, report_width(mechanism), "row"))
            mechanism.check_reports(rows)
            # Files have little-endian bytes, which numpy distinguishes from the machine's own order.
            columns = arrays_of(rows, mechanism.report_fields)
            fields = zip(columns, mechanism.report_fields, strict=True)
            rows = mechanism.report_type(*(np.ascontiguousarray(one, np.dtype(field.dtype)) for one, field in fields))
        except DeniableError as error:
            raise FileFormatError(
                f"{self.path} must contain permanent responses of {mechanism.name}: {error}"
            ) from error
        if len(kept.rows) != mechanism.memo_rows:
            raise FileFormatError(
                f"{self.path} must contain {mechanism.memo_rows:,} rows for this series of reports, got "
                f"{len(kept.rows):,}; restore the file from a copy"
            )
        return rows


def user_memos(person: str = "me") -> MemoStore:
    """Return the store of a person's permanent responses, in this user's directory that nobody else can read.

    Parameters
    ----------
    person : str
        Name of the person on this device.

    Raises
    ------
    OutputError
        If there is no such directory and it cannot be made.
    InvalidParameterError
        If the name is empty or has characters other than letters, digits, hyphens and underscores.
    """
    return MemoStore(person_directory(person) / "memos.json")


def person_directory(person: str) -> Path:
    """Return the directory of a person's ledger and memos, which is made if it is missing.

    Raises
    ------
    OutputError
        If it cannot be made.
    InvalidParameterError
        If the name cannot be one of a directory.
    """
    if not (person and len(person) <= 40 and person.isascii() and person.replace("-", "").replace("_", "").isalnum()):
        raise InvalidParameterError(
            f"person must be 1 to 40 letters, digits, hyphens or underscores, got person={quoted(person)}",
            parameters=("person",),
        )
    directory = answers_ledger().path.parent / "persons" / person
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {directory}: {error.strerror or error}") from error
    return directory

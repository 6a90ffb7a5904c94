"""Ledger of randomised, dealt and used data, so that none of these acts happens twice unnoticed.

Two reports about the same answers spend epsilon twice. Two answers with one share are seen through the same random
draw. Two deals for one collection are two distributions in one sum. A ledger is a reminder to honest parties, not a
defence against anyone.

The holder of the answers has one ledger of answers, in ``$XDG_STATE_HOME/deniable``, never beside reports. Every
directory of shares has one ledger of shares, which names contributors by number only. An entry is *begun* before its
reports or shares become visible, under a lock that is held until the entry is *finished*. An entry that is only begun
belongs to a process that was killed.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from deniable.core.documents import Document, document_text, parse_document, read_document
from deniable.core.outputs import locked, write_text
from deniable.errors import DeniableError, FileFormatError, OutputError
from deniable.survey.collection import Collection
from deniable.survey.encoding import Readings

FORMAT = "deniable ledger"
FILE_NAME = "ledger.json"
LOCK = ".lock"
"""Ending of the name of a ledger's lock."""

EARLIER_FILE_NAME = ".deniable-ledger.json"
"""File that earlier versions left beside reports. With this file, a contributor's answer can be found by trying."""

RECOGNISED_FROM = 1000
"""Answers of at least this many contributors are recognised by a keyed digest. Answers of fewer contributors are
recognised only by the path of their file."""

Entries = tuple["Entry", ...]


class Entry(Document):
    """Entry about the answers or the shares of contributors `first` to `last`.

    Parameters
    ----------
    event : {"randomized", "dealt", "used"}
        Answers randomised, shares dealt into a directory, or shares used for reports.
    collection : str
        Id of the collection.
    into : str
        Destination of the reports or the shares.
    first, last : int
        Contributors, counted from 1, both included.
    answers : str
        Identification of the answers: ``hmac:`` and a keyed digest, or ``path:`` and the path of their file.
    file : str
        Keyed digest of the bytes of a file of many answers, the same for all questions; "" for few answers.
    dealing : str
        Random number of the deal.
    epsilon : str
        Epsilon that each contributor spent by reports, an exact decimal or fraction; "" if there is no bound.
    modified : int
        Time of the last change of the file of few answers, if their reports are kept to be sent; otherwise 0.
    begun : bool
        True if the entry was begun and not yet finished.
    """

    event: Literal["randomized", "dealt", "used"]
    collection: str
    into: str
    first: int = 1
    last: int
    answers: str = ""
    file: str = ""
    dealing: str = ""
    epsilon: str = ""
    modified: int = 0
    begun: bool = False


class LedgerShape(Document):
    """Keys of a ledger in the JSON document."""

    key: str = ""
    entries: list[Entry]


class Ledger:
    """Locked file of entries.

    Parameters
    ----------
    path : Path
        Path of the file, which only its owner can read. The lock file is beside it while the lock is held.
    format : str
        Name of the format.

    Examples
    --------
    >>> import tempfile
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger.json", FORMAT)
    >>> entry = Entry(event="used", collection="survey", dealing="1f", first=1, last=300, into="monday.parquet")
    >>> with ledger.recording([entry], refuse=lambda entries: None):
    ...     [entry.begun for entry in ledger.entries()]
    [True]
    >>> [entry.begun for entry in ledger.entries()]
    [False]
    """

    def __init__(self, path: Path, format: str) -> None:
        self.path, self._format = path, format

    def entries(self) -> Entries:
        """Return the recorded entries, oldest first.

        Raises
        ------
        FileFormatError
            If the ledger is damaged.
        """
        return tuple(self._read().entries)

    def key(self) -> bytes:
        """Return the key of the ledger's digests, which is drawn at the first request.

        Raises
        ------
        FileFormatError
            If the ledger is damaged.
        OutputError
            If it cannot be written.
        """
        with self.held():
            shape = self._read()
            if not shape.key:
                shape = LedgerShape(key=secrets.token_hex(32), entries=shape.entries)
                self._write(shape)
        try:
            return bytes.fromhex(shape.key)
        except ValueError as error:
            raise FileFormatError(f"{self.path}: key must contain only hexadecimal digits") from error

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let nobody else change the ledger inside the block."""
        with locked(self.path.with_name(self.path.name + LOCK)):
            yield

    def change(self, added: Sequence[Entry] = (), *, removed: Sequence[Entry] = ()) -> None:
        """Record entries, and remove one equal to each of others, in one step; the ledger must be held."""
        shape = self._read()
        kept = list(shape.entries)
        for entry in removed:
            kept.remove(entry)
        self._write(LedgerShape(key=shape.key, entries=[*kept, *added]))

    @contextlib.contextmanager
    def recording(self, entries: Sequence[Entry], refuse: Callable[[Entries], None]) -> Iterator[None]:
        """Record entries as begun before the block and as finished after it; nobody else can record meanwhile.

        Parameters
        ----------
        entries : sequence of Entry
            Entries about the acts that become visible inside the block.
        refuse : callable
            Function that gets the entries recorded so far, and raises an error if the acts are not allowed.

        Raises
        ------
        FileFormatError
            If the ledger is damaged.
        OutputError
            If it cannot be written.
        """
        begun = [entry.model_copy(update={"begun": True}) for entry in entries]
        with self.held():
            refuse(self.entries())
            self.change(begun)
            try:
                yield
            except (OSError, DeniableError):
                # Nothing became visible, because the file system or another ledger inside the block failed. Any other
                # exception may have come right after the act became visible.
                self.change(removed=begun)
                raise
            # The act happened, and the ledger already says so. If the ledger cannot say more, the act is not undone.
            with contextlib.suppress(DeniableError):
                self.change(entries, removed=begun)

    def _read(self) -> LedgerShape:
        if not self.path.exists():
            return LedgerShape(entries=[])
        return parse_document(read_document(self.path), str(self.path), self._format, LedgerShape)

    def _write(self, shape: LedgerShape) -> None:
        body = shape.model_dump(exclude_defaults=True)
        write_text(self.path, document_text(self._format, body), private=True)


def answers_ledger() -> Ledger:
    """Return the ledger of this user's answers, in a directory that nobody else can read.

    Raises
    ------
    OutputError
        If there is no such directory and it cannot be made, or the user has no home.
    """
    stated = os.environ.get("XDG_STATE_HOME", "")
    # The XDG specification says that relative paths are ignored.
    base = stated if os.path.isabs(stated) else os.path.expanduser("~/.local/state")
    directory = Path(base) / "deniable"
    try:
        if not directory.is_absolute():
            # If the user has no home directory, "~" stays as it is. It would become a folder beside the reports.
            raise OSError("this user has no home directory")
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if directory.stat().st_mode & 0o077:
            directory.chmod(0o700)
    except OSError as error:
        raise OutputError(
            f"cannot write {directory}: {error.strerror or error}. The ledger of what was randomised "
            "is kept there: set XDG_STATE_HOME to keep the ledger elsewhere"
        ) from error
    return Ledger(directory / FILE_NAME, FORMAT)


class AnswersDigest:
    """Identification of a file's answers, by a keyed digest if they are many and by nothing derived if they are few.

    The digest depends on the contributors' codes or texts and on their order. It does not depend on the name, the
    notation or the division of a file. For numbers it depends on the answers, not on their random rounding. So the same
    answers are recognised a second time.

    Parameters
    ----------
    collection : Collection
        Collection for which the answers are.
    key : bytes
        Key of the ledger of answers.
    """

    def __init__(self, collection: Collection, key: bytes) -> None:
        self.n = 0
        self._mac = hmac.new(key, digestmod="sha256")
        schema = collection.schema
        self._codes = None if schema.is_text else np.min_scalar_type(max(schema.sizes) - 1).newbyteorder("<")
        self._decimals = hmac.new(key, digestmod="sha256") if schema.is_rounded else None

    def update(self, readings: Readings) -> None:
        """Take in the answers of some more contributors."""
        codes = readings.base
        self.n += len(codes)
        if self._decimals is not None:
            codes = codes.copy()
            # A decimal determines its place on the grid, so only codes without a decimal are kept.
            codes[:, list(readings.rounded)] *= readings.decimals == ""
            self._decimals.update("".join(f"{decimal}\n" for decimal in readings.decimals.reshape(-1)).encode())
        if self._codes is not None:
            self._mac.update(np.ascontiguousarray(codes, dtype=self._codes).reshape(-1).data)
            return
        for text in codes[:, 0]:
            content = text.encode()
            self._mac.update(len(content).to_bytes(8, "little") + content)

    def answers(self) -> str:
        """Return what an entry says of these answers if they are many, "" if they are few."""
        if self.n < RECOGNISED_FROM:
            return ""
        mac = self._mac.copy()
        if self._decimals is not None:
            mac.update(self._decimals.digest())
        mac.update(self.n.to_bytes(8, "little"))
        return f"hmac:{mac.hexdigest()}"

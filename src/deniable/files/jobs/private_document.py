"""JSON document that only its owner can read, and that one process at a time reads and writes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from deniable.core.documents import Document, document_text, parse_document, read_document
from deniable.core.outputs import locked, write_text
from deniable.files.jobs.ledger import LOCK

Shape = TypeVar("Shape", bound=Document)


@dataclass(frozen=True)
class PrivateDocument(Generic[Shape]):
    """Locked file of one format.

    Parameters
    ----------
    path : Path
        Path of the file. The lock file is beside it while the lock is held.
    format : str
        Name of the format.
    empty : Document
        Content of a file that does not exist yet.
    """

    path: Path
    format: str
    empty: Shape

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from reading and writing inside the block."""
        with locked(self.path.with_name(self.path.name + LOCK)):
            yield

    def read(self) -> Shape:
        """Return the content of the file.

        Raises
        ------
        FileFormatError
            If the file is damaged.
        """
        if not self.path.exists():
            return self.empty
        return parse_document(read_document(self.path), str(self.path), self.format, type(self.empty))

    def write(self, shape: Shape, path: Path | None = None) -> None:
        """Write the file, or a copy of it to another path.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        body = shape.model_dump(exclude_none=True)
        write_text(path or self.path, document_text(self.format, body), private=True)

"""A JSON document that its owner alone can read, and that one process at a time reads and writes."""

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
    """A locked file of one format.

    Parameters
    ----------
    path : Path
        The file; its lock is beside it while it is held.
    format : str
        Name of the format.
    empty : Document
        What a file that does not exist yet holds.
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
        """Return what the file holds.

        Raises
        ------
        FileFormatError
            If it is damaged.
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

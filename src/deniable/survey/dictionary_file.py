"""Dictionaries in files with one word per line, for more words than a schema can hold.

A document that needs a dictionary names the file, the number of words and their digest. The file is in the directory of
the document. So the document stays small, and its readers notice if the words are not those that were published with
it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import GetCoreSchemaHandler, ValidationInfo
from pydantic_core.core_schema import CoreSchema, with_info_after_validator_function

from deniable.core.documents import Document, read_document
from deniable.errors import FileFormatError, InvalidParameterError, OutputError, quoted
from deniable.survey.dictionary import Dictionary


class DictionaryShape(Document):
    """Keys of a reference to a dictionary in a JSON document."""

    file: str
    k: int
    digest: str


@dataclass(frozen=True)
class DictionaryFile:
    r"""Dictionary and name of its file, which is in the directory of every document that refers to it.

    Parameters
    ----------
    file : str
        Name of the file, without directories.
    words : Dictionary
        Words in the file.

    Raises
    ------
    InvalidParameterError
        If the name contains a directory.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "colours.txt"
    >>> _ = path.write_text("red\ngreen\nblue\n")
    >>> colours = DictionaryFile.read(path)
    >>> colours.file, colours.words.k
    ('colours.txt', 3)
    """

    file: str
    words: Dictionary

    def __post_init__(self) -> None:
        # A document from a stranger must not make its reader open files other than those that came with it.
        if not isinstance(self.file, str) or self.file in ("", ".", "..") or set("/\\\0") & set(self.file):
            raise InvalidParameterError(
                f"file of a dictionary must be the name of a file, got file={quoted(self.file)}"
            )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> DictionaryFile:
        """Return the dictionary in a file (see `read_dictionary`)."""
        return cls(Path(path).name, read_dictionary(path))

    @classmethod
    def load(cls, shape: DictionaryShape, directory: str | os.PathLike[str], source: str) -> DictionaryFile:
        """Return the dictionary that a document refers to.

        Raises
        ------
        FileFormatError
            If the file is missing, or if its dictionary is not the one that the document was made with. The message
            then names the expected and the found digest.
        """
        expected = f"{shape.k:,} words with digest {shape.digest}"
        path = Path(directory) / cls(shape.file, Dictionary(("0", "1"))).file
        if not path.exists():
            raise FileFormatError(
                f"there is no file {path}: {source} needs this dictionary ({expected}) in the same folder; copy "
                "the file to this folder"
            )
        found = cls.read(path)
        if (found.words.k, found.words.digest) != (shape.k, shape.digest):
            raise FileFormatError(
                f"{path} must be the dictionary that {source} names, {expected}, got "
                f"{found.words.k:,} words with digest {found.words.digest}; use the original file"
            )
        return found

    def check_beside(self, document: str | os.PathLike[str]) -> None:
        """Raise OutputError unless this dictionary is in the directory to which the document will be written."""
        path = Path(document).parent / self.file
        if not path.exists():
            raise OutputError(
                f"cannot write {document}: the dictionary {self.file} must be in the same folder; copy it to {path}"
            )
        if read_dictionary(path).digest != self.words.digest:
            raise OutputError(
                f"cannot write {document}: {path} in the same folder is a different dictionary; choose another folder"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the reference as plain JSON data."""
        return {"file": self.file, "k": self.words.k, "digest": self.words.digest}


def referred_dictionary(_: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
    """Return the pydantic schema by which an attribute's dictionary is read from a reference to a file.

    The file is in the directory of the document. The context of a validation must contain this `directory` and the
    document's name as `source`.
    """

    def loaded(reference: DictionaryShape | None, info: ValidationInfo[dict[str, Any]]) -> DictionaryFile | None:
        return None if reference is None else DictionaryFile.load(reference, **info.context)

    return with_info_after_validator_function(loaded, handler.generate_schema(DictionaryShape | None))


def read_dictionary(path: str | os.PathLike[str]) -> Dictionary:
    r"""Read a public list of words: UTF-8 text, one word per line, in the order of their codes.

    A byte-order mark at the start is ignored. Lines end with a line feed, or with a carriage return and a line feed.
    Everything else is part of the word, even white space.

    Parameters
    ----------
    path : path
        The file.

    Raises
    ------
    FileFormatError
        If the file does not exist, is not UTF-8, has fewer than two lines, or has an empty line or a word twice. The
        message names the lines.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "colours.txt"
    >>> _ = path.write_text("red\ngreen\nred\n")
    >>> read_dictionary(path)
    Traceback (most recent call last):
    deniable.errors.FileFormatError: .../colours.txt must contain every word once, got “red” in lines 1 and 3
    """
    words = read_lines(path)
    try:
        return Dictionary(words)
    except InvalidParameterError as error:
        first: dict[str, int] = {}
        for line, word in enumerate(words, 1):
            if first.setdefault(word, line) != line:
                raise FileFormatError(
                    f"{path} must contain every word once, got {quoted(word)} in lines {first[word]} and {line}"
                ) from error
        raise FileFormatError(f"{path}: {error}") from error


def read_lines(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the lines of a UTF-8 text file, none of which may be empty.

    Raises
    ------
    FileFormatError
        If there is no such file, the file is not UTF-8, or a line is empty. The message names an empty line.
    """
    text = read_document(path)
    # splitlines is not used, because it also divides at characters that may be part of a word.
    words = text.removesuffix("\n").split("\n")
    if "\r" in text:
        words = [word.removesuffix("\r") for word in words]
    if "" in words:
        raise FileFormatError(f"{path} must have a word in every line, but line {words.index('') + 1} is empty")
    return tuple(words)

"""Metadata of our Parquet files: format, version, collection, and further identifiers.

They are stored as JSON in the metadata of Parquet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deniable.core.documents import loads
from deniable.core.spec import canonical_json
from deniable.errors import FileFormatError, MismatchError, quoted
from deniable.survey.collection import Collection, short_id

KEY = b"deniable"
"""Key of our statement among the metadata."""

VERSION = 1


@dataclass(frozen=True)
class Kind:
    """Kind of Parquet file.

    Parameters
    ----------
    rows : str
        Description of the rows.
    foreign : str
        Message about a file of another kind.
    keys : tuple of str
        Keys that are stored in addition to the collection.
    """

    rows: str
    foreign: str
    keys: tuple[str, ...]

    @property
    def format(self) -> str:
        """Name of the format."""
        return f"deniable {self.rows}"

    def metadata(self, collection: Collection, **stated: str) -> dict[bytes, str]:
        """Return the metadata of a file."""
        header = {"format": self.format, "format_version": VERSION, "collection": collection.id}
        return {KEY: canonical_json(header | stated)}

    def stated(self, metadata: Mapping[bytes, bytes] | None, path: object, collection: Collection) -> dict[str, str]:
        """Return the collection and the values of `keys` from a file's metadata.

        Raises
        ------
        FileFormatError
            If the metadata are not those of such a file, or have another format version.
        MismatchError
            If the file is of another collection.
        """
        try:
            stated: Any = loads((metadata or {}).get(KEY) or b"null")
        except ValueError:
            stated = None
        if not isinstance(stated, dict) or stated.get("format") != self.format:
            raise FileFormatError(
                f"{path} {self.foreign}: the metadata of this file do not name the format {self.format}"
            )
        if stated.get("format_version") != VERSION:
            raise FileFormatError(
                f"{path} has format_version={quoted(stated.get('format_version'))}; this release can read "
                f"format_version={VERSION} of {self.format}. Upgrade deniable if a newer release wrote this file"
            )
        keys = ("collection", *self.keys)
        if not all(isinstance(stated.get(key), str) for key in keys):
            raise FileFormatError(f"{path} is damaged: its metadata must contain {', '.join(keys)}")
        if stated["collection"] != collection.id:
            raise MismatchError(
                f"{path} contains {self.rows} of collection {short_id(stated['collection'])}, not of "
                f"{short_id(collection.id)}"
            )
        return {key: stated[key] for key in keys}


REPORTS = Kind("reports", "is not a report file", ("batch_number", "digest"))
SHARES = Kind("shares", "holds no shares", ("deal", "dealing"))

"""Reports as rows of bytes of a fixed width, and the bodies of requests that contain them.

A report is the fields of `mechanism.report_fields` in their order, little-endian, without padding between them or
around them, so that all reports of a collection have equal length. A posted report has an id of 16 bytes, by which a
retry is recognised. The sender chooses the id, and the id says nothing about the report. A report may have a leaf of 32
bytes, by which its sender finds later that the report was counted (`deniable.files.receipts`).

Bodies have two forms with the same content.

* JSON, one object: ``{"collection": <64 hex digits>, "reports": [{"id": <22 characters>, "report": <characters>}]}``,
  ids and reports in base64url (RFC 4648, section 5) without padding, spare bits zero. A report may have a third key,
  ``"leaf": <43 characters>``. Keys may come in any order, and no other key is taken. A line of a JSON Lines file is one
  such body.
* Binary, `BINARY_TYPE`: the collection's id, 32 bytes; then for every report its id, 16 bytes, and its row. With
  `LEAVES_TYPE`, every row is followed by a leaf, 32 bytes.

Both hold at least one report and at most `MAX_REPORTS`, in at most `MAX_BODY` bytes.
"""

from __future__ import annotations

import binascii
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json as parsed_json

from deniable.core.mechanism import Mechanism
from deniable.errors import InvalidReportError, TooLargeError
from deniable.files.formats.columns import arrays_of
from deniable.records.mixed_reports import field_bytes, packed, unpacked

JSON_TYPE = "application/json"
BINARY_TYPE = "application/vnd.deniable.reports"
LEAVES_TYPE = "application/vnd.deniable.reports-with-leaves"

MAX_BODY = 1 << 20
"""Most bytes of a body."""

MAX_REPORTS = 10_000
"""Most reports of a body."""

ID_BYTES = 16
"""Bytes of a report's id."""

LEAF_BYTES = 32
"""Bytes of a leaf. A leaf of zeros means that there is none."""

_COLLECTION_BYTES = 32
_HEX = re.compile(r"[0-9a-f]{64}")
_BASE64URL = re.compile(r"[A-Za-z0-9_-]*")
_LAST = {0: "", 2: "AQgw", 3: "AEIMQUYcgkosw048"}
"""Characters whose spare bits are zero, by the number of characters in the last group. A whole group has no spare
bits."""
_BODY_KEYS, _REPORT_KEYS = {"collection", "reports"}, {"id", "report"}
_LEAF_KEYS = {"id", "report", "leaf"}
_URL = bytes.maketrans(b"+/", b"-_")
_STANDARD = bytes.maketrans(b"-_", b"+/")

Rows: TypeAlias = NDArray[np.uint8]


# -------------------------------------------------------------------- rows


def report_width(mechanism: Mechanism[Any]) -> int:
    """Return the number of bytes of one report, the same for all reports of a mechanism.

    Examples
    --------
    >>> from deniable import GRR, OUE
    >>> report_width(GRR(k=1000, epsilon=1.0)), report_width(OUE(k=1000, epsilon=1.0))
    (2, 125)
    """
    return sum(map(field_bytes, mechanism.report_fields))


def to_wire(mechanism: Mechanism[Any], reports: Any) -> Rows:
    """Contributor: return reports as rows of bytes.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism of the reports.
    reports : batch of n reports
        Reports in the form of `randomize`.

    Returns
    -------
    uint8[n, report_width(mechanism)]
        Rows of bytes, one for each report.

    Raises
    ------
    InvalidReportError
        If the reports do not have the dtypes and shapes of `report_fields`.

    Examples
    --------
    >>> from deniable import GRR
    >>> grr = GRR(k=1000, epsilon=1.0)
    >>> rows = to_wire(grr, np.array([999, 258], dtype=np.uint16))
    >>> rows.tolist(), from_wire(grr, rows).tolist()
    ([[231, 3], [2, 1]], [999, 258])
    """
    arrays = arrays_of(reports, mechanism.report_fields)
    return packed(mechanism, tuple(arrays), report_width(mechanism))


def from_wire(mechanism: Mechanism[Any], rows: Rows) -> Any:
    """Collector: return the batch of reports that rows of bytes contain.

    The function does not check whether a client can have made these reports; `aggregate` does.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism of the reports.
    rows : uint8[n, report_width(mechanism)]
        Rows of bytes, one for each report.

    Returns
    -------
    batch of n reports
        Reports in the mechanism's report type, ready for `aggregate`.

    Raises
    ------
    InvalidReportError
        If rows have a wrong width.
    """
    width = report_width(mechanism)
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != width:
        raise InvalidReportError(
            f"rows must be an array uint8[n, {width}] for {mechanism.name} (one row for each report), got "
            f"dtype={rows.dtype}, shape={rows.shape}"
        )
    return unpacked(mechanism, rows)


# -------------------------------------------------------------------- bodies


@dataclass(frozen=True, eq=False)
class Body:
    """Body of one request: reports of one collection, each with its id.

    Parameters
    ----------
    collection : str
        Id of the collection, 64 hexadecimal digits.
    ids : uint8[n, 16]
        Ids of the reports.
    rows : uint8[n, width]
        The reports.
    leaves : uint8[n, 32], optional
        Leaves of the reports. A leaf is a hash of a secret and the report. By the leaf, the sender later finds out
        whether the report was counted (`deniable.files.receipts`).

    Examples
    --------
    >>> body = Body("00" * 32, np.zeros((1, 16), np.uint8), np.array([[7, 1]], np.uint8))
    >>> body.to_json().decode()[81:]
    '"reports":[{"id":"AAAAAAAAAAAAAAAAAAAAAA","report":"BwE"}]}'
    >>> from_json(body.to_json(), width=2).rows.tolist(), from_binary(body.to_binary(), width=2).rows.tolist()
    ([[7, 1]], [[7, 1]])
    """

    collection: str
    ids: Rows
    rows: Rows
    leaves: Rows | None = None

    @property
    def n(self) -> int:
        """Number of reports."""
        return len(self.ids)

    @property
    def all_leaves(self) -> Rows:
        """Leaves of all reports, uint8[n, 32]; zeros for a report without a leaf."""
        return np.zeros((self.n, LEAF_BYTES), np.uint8) if self.leaves is None else self.leaves

    @property
    def binary_type(self) -> str:
        """Media type of the short form, with or without leaves."""
        return BINARY_TYPE if self.leaves is None else LEAVES_TYPE

    def to_json(self) -> bytes:
        """Return the body in its readable form, one line of JSON."""
        reports = ",".join(
            f'{{"id":"{to_base64url(name)}","report":"{to_base64url(row)}"'
            + (f',"leaf":"{to_base64url(leaf)}"}}' if leaf.any() else "}")
            for name, row, leaf in zip(self.ids, self.rows, self.all_leaves, strict=True)
        )
        return f'{{"collection":"{self.collection}","reports":[{reports}]}}'.encode()

    def to_binary(self) -> bytes:
        """Return the body in its short form, as bytes of fixed width for each report."""
        columns = [self.ids, self.rows] + ([] if self.leaves is None else [self.leaves])
        return bytes.fromhex(self.collection) + np.concatenate(columns, axis=1).tobytes()


def from_json(content: bytes, width: int | None = None) -> Body:
    """Collector: read a body in its readable form.

    Parameters
    ----------
    content : bytes
        Content of the request.
    width : int, optional
        Number of bytes of a report of the collection. The default is the number of bytes of the first report.

    Raises
    ------
    TooLargeError
        If the body has more than `MAX_BODY` bytes or `MAX_REPORTS` reports.
    InvalidReportError
        If the content is not such a body: it is not JSON, a key is unknown or missing, or an id or a report has a wrong
        length.
    """
    _check_size(len(content))
    try:
        # No text of the body stays in a cache of strings.
        found = parsed_json(content, cache_strings="none")
    except ValueError as error:
        raise InvalidReportError(f"the body must be reports in JSON: {error}") from None
    # The check is written by hand and stops at the first fault. A library would list a million faults of a hostile
    # body.
    if not isinstance(found, dict) or found.keys() != _BODY_KEYS:
        raise InvalidReportError(
            "the body must be an object with exactly two keys, collection and reports: leave out other keys"
        )
    collection, reports = found["collection"], found["reports"]
    if not isinstance(collection, str) or not _HEX.fullmatch(collection):
        raise InvalidReportError(
            "collection must be an id with 64 hexadecimal digits: take the id from the collection's file"
        )
    if not isinstance(reports, list):
        raise InvalidReportError("reports must be a list, got something else")
    _check_count(len(reports))
    names, texts, leaves, places = [], [], [], []
    for row, posted in enumerate(reports, 1):
        if not isinstance(posted, dict) or posted.keys() not in (_LEAF_KEYS, _REPORT_KEYS):
            raise InvalidReportError(
                f"report {row} must be an object with the keys id and report, and optionally leaf: leave out other keys"
            )
        names.append(posted["id"])
        texts.append(posted["report"])
        if "leaf" in posted:
            places.append(row - 1)
            leaves.append(posted["leaf"])
    ids = from_base64url(names, ID_BYTES, "id")
    if width is None:
        width = len(texts[0]) * 3 // 4 if isinstance(texts[0], str) else 0
    rows = from_base64url(texts, width, "report")
    if not leaves:
        return Body(collection, ids, rows)
    found = np.zeros((len(names), LEAF_BYTES), np.uint8)
    found[places] = from_base64url(leaves, LEAF_BYTES, "leaf")
    return Body(collection, ids, rows, found)


def from_binary(content: bytes, width: int, *, leaves: bool = False) -> Body:
    """Collector: read a body in its short form; set `leaves` if every report has a leaf, as `Body` explains."""
    _check_size(len(content))
    reports, one = len(content) - _COLLECTION_BYTES, ID_BYTES + width + (LEAF_BYTES if leaves else 0)
    if reports < 0 or reports % one:
        raise InvalidReportError(
            f"the body must have {_COLLECTION_BYTES} bytes, and another {one} bytes for every report, got "
            f"{len(content)} bytes in total"
        )
    _check_count(reports // one)
    table = np.frombuffer(content, np.uint8, offset=_COLLECTION_BYTES).reshape(-1, one)
    ids, rows, rest = table[:, :ID_BYTES], table[:, ID_BYTES : ID_BYTES + width], table[:, ID_BYTES + width :]
    return Body(content[:_COLLECTION_BYTES].hex(), ids, rows, rest if leaves else None)


def to_base64url(content: Rows | bytes) -> str:
    """Return bytes as base64url without padding."""
    return binascii.b2a_base64(bytes(content), newline=False).rstrip(b"=").translate(_URL).decode()


def from_base64url(texts: list[Any], width: int, what: str) -> Rows:
    """Return the bytes of texts in base64url without padding, as uint8[n, width].

    Raises
    ------
    InvalidReportError
        If an item is not text, or has another length, a character that is not allowed, or unused bits that are not
        zero. So all bytes have exactly one text.
    """
    length = (4 * width + 2) // 3
    last = _LAST[length % 4]
    for row, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise InvalidReportError(f"{what} must be a string, but it is something else in report {row}")
        if len(text) != length:
            raise InvalidReportError(f"{what} must have {length} characters, but it has {len(text)} in report {row}")
        if last and text[-1] not in last:
            raise InvalidReportError(
                f"{what} must be base64url with zero spare bits, but the spare bits are not zero in report {row}"
            )
    # "A" is six zero bits. With this filling all texts are decoded at once, and the added bytes come after each row.
    filling = "A" * (-length % 4)
    joined = filling.join([*texts, ""])
    if not _BASE64URL.fullmatch(joined):
        raise InvalidReportError(f"{what} must be base64url, but it has other characters")
    table = np.frombuffer(binascii.a2b_base64(joined.encode().translate(_STANDARD)), np.uint8)
    return table.reshape(len(texts), (length + len(filling)) * 3 // 4)[:, :width]


def _check_size(size: int) -> None:
    if size > MAX_BODY:
        raise TooLargeError(f"the body must have at most {MAX_BODY} bytes, got {size}")


def _check_count(reports: int) -> None:
    if reports < 1:
        raise InvalidReportError("the body must contain at least one report, got none")
    if reports > MAX_REPORTS:
        raise TooLargeError(f"the body must contain at most {MAX_REPORTS} reports, got {reports}")

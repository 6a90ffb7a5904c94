"""JSON documents that people edit. Error messages name the place of the error in the document."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from deniable.errors import DeniableError, FileFormatError, InvalidParameterError, quoted

FORMAT_VERSION = 1
"""Version of a JSON document, unless its content needs a later one."""


MAX_CHARACTERS = 1 << 26
"""Longest document that is read, which is far longer than a schema of a million categories."""

MAX_DEPTH = 32
"""Deepest nesting of lists and objects in a document."""


_BOUNDS = {
    "greater_than_equal": ("must be >= {:g}", "ge"),
    "less_than_equal": ("must be <= {:g}", "le"),
    "too_short": ("must have {} or more entries", "min_length"),
}
"""For each name that pydantic gives a broken bound: the rule in words, and the place where pydantic keeps the bound."""

_RULES = {
    "missing": " must be given",
    # Dataclasses and models name the same mistake differently.
    "extra_forbidden": " must be left out, because there is no such key",
    "unexpected_keyword_argument": " must be left out, because there is no such key",
}
"""Names in pydantic of mistakes whose rule needs no value."""


class Document(BaseModel):
    """Base of the shapes that documents are checked against. Shapes allow no unknown keys and no conversions.

    A dataclass that has the same configuration as its `__pydantic_config__` is a shape as well. The caller builds the
    object that a shape describes; this module never calls back.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Shape = TypeVar("Shape", bound=Document)


def read_document(path: str | os.PathLike[str], kind: str = "UTF-8 text") -> str:
    """Return the text of a UTF-8 file. `kind` says in messages what the file should be.

    Raises
    ------
    FileFormatError
        If there is no such file, or the file is not UTF-8 text.
    """
    try:
        if (size := os.path.getsize(path)) > 4 * MAX_CHARACTERS:
            raise FileFormatError(f"{path} must have at most {4 * MAX_CHARACTERS} bytes, got {size}")
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise FileFormatError(f"there is no file {path}") from error
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{path} must be {kind}, but byte {error.start + 1} is {error.object[error.start]:#04x}, which is not "
            "UTF-8: the file is damaged, or it is a file of another kind"
        ) from error
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {error.strerror or error}") from error


def loads(text: str | bytes) -> Any:
    """Return the data in a JSON text that has no key twice, no NaN, and no nesting deeper than `MAX_DEPTH`.

    Raises
    ------
    ValueError
        If it is not such a text (json.JSONDecodeError with the place), or if it is longer than `MAX_CHARACTERS`.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"a document must have at most {MAX_CHARACTERS} characters, got {len(text)}")
    try:
        data = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError(f"the document is nested more than {MAX_DEPTH} levels deep") from error
    level = [data]
    for _ in range(MAX_DEPTH):
        # The depth is checked level by level, so that code that reads the document may recurse.
        level = [item for value in level for item in _items(value)]
        if not level:
            return data
    raise ValueError(f"the document is nested more than {MAX_DEPTH} levels deep")


def _items(value: Any) -> list[Any]:
    found = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [item for item in found if isinstance(item, (dict, list))]


def document_body(text: str, source: str, name: str, latest: int = FORMAT_VERSION) -> tuple[bytes, int]:
    """Return the keys of a JSON document of one format as JSON, to be checked against a shape, and the version.

    Parameters
    ----------
    text : str
        JSON text of an object with ``format``, ``format_version`` and the keys of the shape.
    source : str
        Path of the document, which messages use as its name.
    name : str
        Name of the format, for instance "deniable schema".
    latest : int
        Latest version that is read. All versions from 1 on are read.

    Raises
    ------
    FileFormatError
        If the text is not JSON (the message names line and column), or has another format or version.
    """
    try:
        data = loads(text)
    except json.JSONDecodeError as error:
        raise FileFormatError(
            f"{source} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        ) from error
    except ValueError as error:
        raise FileFormatError(f"{source} is not a {name}: {error}") from error
    if not isinstance(data, dict) or data.get("format") != name:
        got = f"format={quoted(data.get('format'))}" if isinstance(data, dict) else type(data).__name__
        raise FileFormatError(f"{source} is not a {name}: expected format={quoted(name)}, got {got}")
    version = data.get("format_version")
    if type(version) is not int or not FORMAT_VERSION <= version <= latest:
        read = " and ".join(str(known) for known in range(FORMAT_VERSION, latest + 1))
        raise FileFormatError(
            f"{source} has format_version={quoted(version)}; this release can read format_version={read} of a "
            f"{name}. Upgrade deniable if a newer release wrote this file"
        )
    body = {key: value for key, value in data.items() if key not in ("format", "format_version")}
    try:
        return json.dumps(body, ensure_ascii=False).encode(), version
    except UnicodeEncodeError as error:
        raise FileFormatError(
            f"{source} must contain valid Unicode text, but it contains half of a surrogate pair; correct this text"
        ) from error


def check_version(version: int, needed: int, source: str) -> None:
    """Raise FileFormatError if a document of this version has keys that only a later version has."""
    if version < needed:
        raise FileFormatError(
            f"{source} uses keys that do not exist in format_version={version}: set format_version={needed}"
        )


@contextlib.contextmanager
def placed(source: str) -> Iterator[None]:
    """Raise a shape's errors with their place in the document, as in ``attributes[2].categories``.

    Raises
    ------
    FileFormatError
        If a key is missing, unknown or of the wrong type.
    InvalidParameterError
        If a number is outside the bounds of its field, or if a list or an object is too short.
    """
    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        cause = first.get("ctx", {}).get("error")
        if isinstance(cause, DeniableError):
            raise FileFormatError(f"{source}: {cause}") from cause
        if first["type"] in _BOUNDS:
            raise InvalidParameterError(f"{source}: {_out_of_bounds(first)}") from error
        raise FileFormatError(f"{source}: {_place(first['loc'])}{_RULES.get(first['type']) or _rule(first)}") from error


def parse_document(text: str, source: str, name: str, shape: type[Shape]) -> Shape:
    """Return the keys of a JSON document of one format that contains only data, checked against their types.

    The parameters and errors are those of `document_body` and `placed`.
    """
    body, _ = document_body(text, source, name)
    with placed(source):
        return shape.model_validate_json(body)


def document_text(name: str, body: dict[str, Any], version: int = FORMAT_VERSION) -> str:
    """Return the indented JSON text of a document of one format. It ends in a newline."""
    header = {"format": name, "format_version": version}
    return json.dumps(header | body, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _place(location: tuple[int | str, ...]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.removeprefix(".")


def _rule(error: ErrorDetails) -> str:
    """Return the rule in a message of pydantic: "Input should be a valid integer" is " must be a valid integer"."""
    said = error["msg"].lower()
    return f" must {rule}" if (rule := said.removeprefix("input should ")) != said else f": {said}"


def _out_of_bounds(error: ErrorDetails) -> str:
    """Return a message about the bound that a value breaks: ``min_batch must be >= 20, got min_batch=19``."""
    rule, bound = _BOUNDS[error["type"]]
    stated = error["ctx"]
    got = stated.get("actual_length", f"{error['loc'][-1]}={error['input']}")
    return f"{_place(error['loc'])} {rule.format(stated[bound])}, got {got}"


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key, value in pairs:
        if key in data:
            raise ValueError(f"the key {quoted(key)} occurs twice in one object")
        data[key] = value
    return data


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")

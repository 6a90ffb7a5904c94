"""Base of results: a frozen dataclass that writes itself as JSON, without a second list of its fields."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

FORMAT_VERSION = 1
"""Version of every result that this release writes."""

HIDDEN: Mapping[str, Any] = {"json": ""}
"""Metadata of a field that JSON does not have. With {"json": name}, the field has another name in JSON."""

OPTIONAL: Mapping[str, Any] = {"optional": True}
"""Metadata of a field that JSON has only if the value is not the default."""


@dataclass(frozen=True, eq=False)
class Result:
    """Base of results.

    Examples
    --------
    >>> @dataclass(frozen=True, eq=False)
    ... class Share(Result):
    ...     also = {"odds": "odds"}
    ...     value: float
    ...     note: str = dataclasses.field(default="", metadata=OPTIONAL)
    ...     @property
    ...     def odds(self) -> float:
    ...         return self.value / (1 - self.value)
    >>> Share(0.75).to_dict()
    {'value': 0.75, 'odds': 3.0}
    """

    format: ClassVar[str] = ""
    """Name of the JSON document; empty for parts of a document."""

    also: ClassVar[Mapping[str, str]] = {}
    """Keys of JSON besides the fields: the name in JSON, and the dotted path of the property that computes the
    value."""

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain JSON data in full precision. Numbers that do not exist are None."""
        head = {"format": self.format, "version": FORMAT_VERSION} if self.format else {}
        return head | fields_of(self) | {name: plain(attrgetter(path)(self)) for name, path in self.also.items()}


def plain(value: Any) -> Any:
    """Return a value made of dataclasses, arrays and exact numbers as plain JSON data.

    Examples
    --------
    >>> plain({"shares": np.array([0.5, np.nan]), "epsilon": Fraction(1, 4)})
    {'shares': [0.5, None], 'epsilon': 0.25}
    """
    match value:
        case Result():
            return value.to_dict()
        case np.ndarray() | np.generic():
            return plain(value.tolist())
        case Mapping():
            return {name: plain(item) for name, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case Fraction():
            return float(value)
        case float() if not math.isfinite(value):
            return None
    return fields_of(value) if dataclasses.is_dataclass(value) else value


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that are written in JSON, as plain data."""
    found = {}
    for field in dataclasses.fields(value):
        name, own = field.metadata.get("json", field.name), getattr(value, field.name)
        if name and not (field.metadata.get("optional") and own == field.default):
            found[name] = plain(own)
    return found

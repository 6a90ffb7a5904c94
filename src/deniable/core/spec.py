"""Specifications of mechanisms: the JSON that configures client and server.

A mechanism is a frozen dataclass of public parameters, so its specification is its name and its fields. Numbers that
carry privacy are written as exact decimals.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
from fractions import Fraction
from typing import Any

from deniable.core.names import SPECIAL_CASES, mechanism_class
from deniable.core.thresholds import exact_text
from deniable.errors import FileFormatError, InvalidParameterError, quoted


def to_spec(mechanism: Any) -> dict[str, Any]:
    """Return a mechanism's JSON specification.

    Examples
    --------
    >>> from deniable import GRR
    >>> to_spec(GRR(k=4, epsilon=0.1))
    {'mechanism': 'GRR', 'k': 4, 'epsilon': '0.1'}
    """
    fields = dataclasses.fields(mechanism)
    values = {field.name: _plain(field.name, getattr(mechanism, field.name)) for field in fields if field.init}
    return {"mechanism": mechanism.name, **values}


def from_spec(spec: dict[str, Any]) -> Any:
    """Return the mechanism that a specification describes.

    Raises
    ------
    FileFormatError
        If the name is unknown, or if a field is missing or unknown.
    InvalidParameterError
        If a parameter is out of bounds.
    """
    name = spec.get("mechanism") if isinstance(spec, dict) else None
    try:
        if not isinstance(name, str) or name in SPECIAL_CASES:
            raise InvalidParameterError("no mechanism of this release has that name")
        cls = mechanism_class(name)
    except InvalidParameterError:
        raise FileFormatError(
            f"unknown mechanism {quoted(name)}: correct the name, or install the release that wrote the specification"
        ) from None
    for field in cls.stated:
        if spec.get(field) in (None, []):
            raise FileFormatError(
                f"the specification of {name} is damaged: {field} is missing; write the specification with `to_spec`"
            )
    parameters = {key: _tupled(value) for key, value in spec.items() if key != "mechanism"}
    try:
        mechanism: Any = cls(**parameters)
    except TypeError as error:
        raise FileFormatError(f"the specification of {name} is damaged: {_fault(cls, parameters) or error}") from error
    return mechanism


def _fault(cls: type, given: dict[str, Any]) -> str:
    """Return which parameter is unknown or missing, or "" if none is."""
    known = inspect.signature(cls).parameters
    for name in given:
        if name not in known:
            return f"{quoted(name)} is not a parameter of this mechanism"
    for name, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and name not in given:
            return f"{name} is missing"
    return ""


def canonical_json(value: Any) -> str:
    """Return JSON with sorted keys and no white space, the text that content hashes are computed from."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def content_hash(value: Any) -> str:
    """Return the SHA-256 (hex) of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


_BUDGETS = ("epsilon", "epsilon_forever", "epsilon_once")


def _plain(name: str, value: Any) -> Any:
    if name in _BUDGETS or isinstance(value, Fraction):
        return exact_text(value)
    if dataclasses.is_dataclass(value):
        return to_spec(value)
    if isinstance(value, tuple):
        return [_plain("", item) for item in value]
    return value


def _tupled(value: Any) -> Any:
    if isinstance(value, dict) and "mechanism" in value:
        return from_spec(value)
    return tuple(_tupled(item) for item in value) if isinstance(value, list) else value

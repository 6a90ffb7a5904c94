"""Functions that turn words on a command line into a mechanism."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import typer

from deniable.core.construction import mechanism_for
from deniable.core.documents import loads
from deniable.core.names import SPECIAL_CASES, cards, find, mechanism_class, mechanism_names
from deniable.errors import InvalidParameterError, quoted, unknown_name


def constructor_names() -> list[str]:
    """Return the names that --mechanism offers."""
    return [name for name in mechanism_names() if _offered(name, mechanism_class(name))]


def _offered(name: str, cls: Any) -> bool:
    return name in SPECIAL_CASES or bool(cls.card.listed)


RECOMMENDED = "GRR, SubsetSelection, OCMS, SquareWave, SMP or PairSample"
"""Names that help texts suggest; ``--mechanism list`` prints all."""


def listing(value: str | None) -> str | None:
    """Return the value of --mechanism, or print every name with its use and exit if the value is "list"."""
    if value != "list":
        return value
    for name, card in cards():
        if card.listed:
            names = [name, *(one.name for one in card.variants if one.name in SPECIAL_CASES)]
            typer.echo(f"{', '.join(names):<24} {card.when}")
    raise typer.Exit


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return the domain sizes in a text such as "5,4,6"."""
    sizes = []
    for part in text.split(","):
        try:
            sizes.append(int(part))
        except ValueError:
            raise InvalidParameterError(
                f"sizes must be integers separated by commas, got sizes={quoted(text)}"
            ) from None
    return tuple(sizes)


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Return the parameters in texts such as ["m=8", "family=prime"].

    Values are JSON, or else text.

    Examples
    --------
    >>> parse_settings(["m=8", "family=prime", "priors=[[0.5, 0.5]]"])
    {'m': 8, 'family': 'prime', 'priors': ((0.5, 0.5),)}
    """
    result: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise InvalidParameterError(f"set must be NAME=VALUE, got set={quoted(setting)}")
        if name in result:
            raise InvalidParameterError(f"set must name each parameter once, got {quoted(name)} twice")
        try:
            result[name] = _tuples(loads(text))
        except json.JSONDecodeError:
            result[name] = text
        except ValueError as error:
            raise InvalidParameterError(f"{name} cannot be read as a value: {error}") from error
    return result


def build_mechanism(name: str, sizes: tuple[int, ...], epsilon: str, settings: dict[str, Any]) -> Any:
    """Return the mechanism with this name for the given domain sizes.

    The size of open text is 0.
    """
    try:
        found = find(name)
        offered = _offered(found.name, found.make)
    except InvalidParameterError:
        offered = False
    if not offered:
        raise unknown_name("mechanism", name, constructor_names())
    return mechanism_for(name, sizes, epsilon, settings, "add --set {}=...")


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value

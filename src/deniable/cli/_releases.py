"""From words on a command line to how attributes are released one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deniable.cli._mechanisms import build_mechanism, constructor_names, parse_settings
from deniable.errors import InvalidParameterError

ANY = "any"
"""The name of all mechanisms together: figures are those of the worst."""


def releases(name: str, sizes: tuple[int, ...], epsilon: str, settings: Sequence[str]) -> tuple[str, Any]:
    """Return how attributes are released, in words and as mechanisms (or as one budget, for any mechanism)."""
    make = factory(name, settings)
    if make is None:
        return f"each by any mechanism with epsilon = {epsilon}", epsilon
    made = {k: make(k, epsilon) for k in set(sizes)}
    return f"each by {make.name} with epsilon = {epsilon}", [made[k] for k in sizes]


class Factory:
    """Makes the mechanism of a name for one attribute.

    Parameters
    ----------
    name : str
        As `build_mechanism` takes it.
    settings : sequence of str
        Further parameters, "NAME=VALUE".
    """

    def __init__(self, name: str, settings: Sequence[str]) -> None:
        self._name, self._settings = name, parse_settings(settings)
        extra = f" ({', '.join(settings)})" if settings else ""
        known = next((known for known in constructor_names() if known.casefold() == name.casefold()), name)
        self.name = f"{known}{extra}"

    def __call__(self, k: int, epsilon: Any) -> Any:
        """Return the mechanism for a domain size and a budget.

        Raises
        ------
        InvalidParameterError
            If the name or a parameter is unknown or out of bounds, or the mechanism is for whole records.
        """
        mechanism = build_mechanism(self._name, (k,), epsilon, self._settings)
        if mechanism.records:
            raise InvalidParameterError(
                f"mechanism must be one for single attributes, got mechanism={self._name!r}, which randomises whole "
                "records: make a collection of it, and ask about that (deniable leakage --collection)"
            )
        return mechanism


def factory(name: str, settings: Sequence[str]) -> Factory | None:
    """Return what makes the mechanism of a name; None for any mechanism.

    Raises
    ------
    InvalidParameterError
        If there are settings for any mechanism, or the mechanism is unknown or for whole records.
    """
    if name.casefold() != ANY:
        return Factory(name, settings)
    if settings:
        raise InvalidParameterError("mechanism must be named to set its parameters: add --mechanism")
    return None


def parse_caps(texts: Sequence[str]) -> dict[str, str]:
    """Return the caps in ["age=0.5"].

    Raises
    ------
    InvalidParameterError
        If one has no "=", or a name occurs twice.
    """
    caps: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name:
            raise InvalidParameterError(f"cap must be NAME=VALUE, got cap={text!r}")
        if name in caps:
            raise InvalidParameterError(f"cap must name an attribute once, got {name!r} twice")
        caps[name] = value
    return caps

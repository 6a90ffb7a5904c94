"""Construction of mechanisms from their names, for plans, files of words and command lines.

`mechanism` is for callers who know the parameters of a mechanism. `mechanism_for` is for callers who know the questions
and the budget. All further parameters of the mechanism are settings, given by name.
"""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Sequence
from typing import Any

from deniable.core.names import SPECIAL_CASES, Found, cards, find, mechanism_class
from deniable.core.thresholds import EpsilonLike
from deniable.errors import InvalidParameterError, quoted

_DOMAIN = ("k", "sizes", "epsilon")


def mechanism(name: str, **parameters: Any) -> Any:
    """Return the mechanism with the given name and parameters.

    Parameters
    ----------
    name : str
        Name of the mechanism in the literature, the name of a variant such as "SMP[OUE]" or "CMS[spread]", or another
        name on the mechanism's card. For a mechanism from another package: the name of its entry point. Upper and lower
        case, plus signs, hyphens and spaces make no difference.
    **parameters
        Parameters of the mechanism's class.

    Raises
    ------
    InvalidParameterError
        If there is no such name, or a parameter is unknown, missing or out of bounds.

    Examples
    --------
    >>> mechanism("grr", k=4, epsilon=1.0)
    GRR(k=4, epsilon=1.0)
    >>> mechanism("SMP[OUE]", sizes=(5, 4), epsilon=1.0)
    SMP(sizes=(5, 4), epsilon=1.0, oracle='OUE')
    """
    found = find(name)
    given = {**found.settings, **parameters}
    known = inspect.signature(found.make).parameters
    _check_known(found, given, list(known))
    _check_absent(found, known, given, "give a value as {}=...")
    return found.make(**given)


def mechanism_for(
    name: str,
    sizes: Sequence[int],
    epsilon: EpsilonLike,
    settings: dict[str, Any] | None = None,
    how_to_set: str = "give a value as {}=...",
) -> Any:
    """Return the mechanism with the given name, for a domain and the budget of a whole contributor.

    Mechanisms that have other parameters (`Mechanism.constructor`) are built from their budget. A mechanism with a
    dealer gets its own deal, so another collection gets another deal.

    Parameters
    ----------
    name : str
        Name as for `mechanism`.
    sizes : sequence of int
        Domain size of each attribute; (0,) for open text.
    epsilon : float, Fraction, Decimal or str
        Budget in nats.
    settings : dict of str to value, optional
        Other parameters of the mechanism.
    how_to_set : str
        Advice in a message about a missing parameter.

    Raises
    ------
    InvalidParameterError
        If there is no such name, a parameter is unknown, missing or out of bounds, the mechanism is for another number
        of attributes or categories, or the mechanism is for open text but the domain has categories.

    Examples
    --------
    >>> mechanism_for("RAPPOR", (4,), 1.0).q
    0.75
    >>> mechanism_for("SMP", (5, 4), "0.5", {"oracle": "OUE"})
    SMP(sizes=(5, 4), epsilon=0.5, oracle='OUE')
    """
    found, domain = find(name), tuple(sizes)
    takes_text = found.name not in SPECIAL_CASES and found.make.takes_text
    if takes_text != (domain == (0,)):
        kinds = ("open text", "listed categories")
        works, asks = kinds if takes_text else kinds[::-1]
        raise InvalidParameterError(
            f"{found.name} works with {works}, but the schema asks for {asks}: choose another mechanism, such as "
            f"{'GRR' if takes_text else 'HeavyHitters'}"
        )
    own = "" if found.name in SPECIAL_CASES else found.make.constructor
    construct = getattr(found.make, own) if own else found.make
    known = inspect.signature(construct).parameters
    dealt = found.name not in SPECIAL_CASES and found.make.dealt
    given = _domain(found.name.partition("[")[0], known, domain, dealt)
    chosen = {**found.settings, **(settings or {})}
    _check_known(found, chosen, [parameter for parameter in known if parameter not in _DOMAIN])
    if "deal_id" in known:
        given["deal_id"] = secrets.token_hex(16)
    given |= {**chosen, "epsilon": epsilon}
    _check_absent(found, known, given, how_to_set)
    return construct(**given)


def _domain(name: str, known: Any, sizes: tuple[int, ...], dealt: bool) -> dict[str, Any]:
    if sizes == (0,):
        return {}
    if "sizes" in known:
        return {"sizes": sizes}
    if len(sizes) != 1:
        others = " or ".join(_dealt_records()) if dealt else "SMP or SPL"
        raise InvalidParameterError(
            f"{name} works with one attribute, but the schema has {len(sizes)} attributes: choose a mechanism for "
            f"records, such as {others}"
        )
    if "k" in known:
        return {"k": sizes[0]}
    if sizes[0] != 2:
        raise InvalidParameterError(
            f"{name} works with an attribute with two categories, but the attribute of the schema has {sizes[0]} "
            "categories: choose another mechanism, such as GRR"
        )
    return {}


def _dealt_records() -> list[str]:
    """Return the names of mechanisms for records that need a dealer."""
    dealt = [name for name, _ in cards() if mechanism_class(name).dealt]
    return [name for name in dealt if "sizes" in inspect.signature(mechanism_class(name)).parameters]


def _check_known(found: Found, given: dict[str, Any], free: list[str]) -> None:
    for name in given:
        if name not in free:
            raise InvalidParameterError(
                f"{found.name} has no parameter {quoted(name)}; its parameters are: {', '.join(free) or 'none'}"
            )


def _check_absent(found: Found, known: Any, given: dict[str, Any], how_to_set: str) -> None:
    for name, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and name not in given:
            raise InvalidParameterError(f"{found.name} needs the parameter {name}: {how_to_set.format(name)}")

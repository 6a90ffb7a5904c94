"""From words on a command line to a mechanism."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any

from deniable.dealt.shares import fresh_deal_id
from deniable.documents import loads
from deniable.errors import InvalidParameterError
from deniable.mechanism import Mechanism
from deniable.mechanisms.local_hashing import BLH, OLH
from deniable.mechanisms.ocms import OCMS
from deniable.spec import mechanism_class, mechanism_names

_CONSTRUCTORS: dict[str, Callable[..., Mechanism[Any]]] = {"BLH": BLH, "OCMS": OCMS, "OLH": OLH}
"""Names of the field that are no classes of their own."""

_SEPARATORS = str.maketrans("", "", "+- ")

_UNLISTED = {"CMS-queries", "HeavyHitters"}
"""Mechanisms that no list of categories calls for: a query list is chosen when decoding, and heavy hitters, who are for
open text, are chosen by asking for it."""


def constructor_names() -> list[str]:
    """Return the names that --mechanism offers."""
    return sorted({*mechanism_names(), *_CONSTRUCTORS} - _UNLISTED)


def text_mechanism_names() -> list[str]:
    """Return the names that --mechanism accepts for open text."""
    return [name for name in mechanism_names() if getattr(mechanism_class(name), "takes_text", False)]


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return the domain sizes in "5,4,6".

    Raises
    ------
    InvalidParameterError
        If a part is no integer.
    """
    sizes = []
    for part in text.split(","):
        try:
            sizes.append(int(part))
        except ValueError:
            raise InvalidParameterError(f"sizes must be integers separated by commas, got sizes={text!r}") from None
    return tuple(sizes)


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Return the parameters in ["m=8", "family=prime"]; values are JSON, or else text.

    Examples
    --------
    >>> parse_settings(["m=8", "family=prime", "priors=[[0.5, 0.5]]"])
    {'m': 8, 'family': 'prime', 'priors': ((0.5, 0.5),)}

    Raises
    ------
    InvalidParameterError
        If a setting has no "=", or occurs twice.
    """
    result: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise InvalidParameterError(f"set must be NAME=VALUE, got set={setting!r}")
        if name in result:
            raise InvalidParameterError(f"set must name a parameter once, got {name!r} twice")
        try:
            result[name] = _tuples(loads(text))
        except json.JSONDecodeError:
            result[name] = text
        except ValueError as error:
            raise InvalidParameterError(f"{name} is no value: {error}") from error
    return result


def build_mechanism(name: str, sizes: tuple[int, ...], epsilon: str, settings: dict[str, Any]) -> Mechanism[Any]:
    """Return the mechanism of a name for these domain sizes.

    Names are those of a plan: "SMP[OUE]" is SMP over OUE, "CMS[spread]" the sketch of that family; case, plus signs,
    hyphens and spaces do not matter, so RSFD is RS+FD. The size of open text is 0.

    Raises
    ------
    InvalidParameterError
        If the name or a parameter is unknown, a parameter is absent or out of bounds, or the mechanism is for one
        attribute and there are several.
    """
    offered = text_mechanism_names() if sizes == (0,) else constructor_names()
    known = {spelling(one): one for one in offered}
    wanted, bracket, oracle = name.removesuffix("]").partition("[")
    if spelling(name) in known:
        wanted, bracket = name, ""
    if bracket:
        inside = {"family": oracle.lower()} if spelling(wanted) == "cms" else {"oracle": oracle.upper()}
        settings = {**inside, **settings}
    if spelling(wanted) not in known:
        open_text = " for open text" if sizes == (0,) else ""
        raise InvalidParameterError(f"mechanism must be one of {', '.join(offered)}{open_text}, got mechanism={name!r}")
    name = known[spelling(wanted)]
    cls = _CONSTRUCTORS.get(name) or mechanism_class(name)
    # Some mechanisms have parameters of their own in place of epsilon; then a named constructor finds them.
    construct = getattr(cls, "from_epsilon", getattr(cls, "optimal", cls))
    parameters = inspect.signature(construct).parameters
    domain: dict[str, Any] = {"sizes": sizes}
    if sizes == (0,):
        domain = {}
    elif "sizes" not in parameters:
        if len(sizes) != 1:
            raise InvalidParameterError(
                f"{name} is for one attribute and the schema has {len(sizes)}: choose a mechanism for records"
            )
        domain = {"k": sizes[0]}
        if "k" not in parameters:
            if sizes[0] != 2:
                raise InvalidParameterError(f"{name} is for two categories and the schema has {sizes[0]}")
            domain = {}
    free = [parameter for parameter in parameters if parameter not in ("k", "sizes", "epsilon")]
    unknown = [setting for setting in settings if setting not in free]
    if unknown:
        raise InvalidParameterError(
            f"{name} has no parameter {unknown[0]!r}; it has {', '.join(free) or 'none to set'}"
        )
    absent = [key for key in free if parameters[key].default is inspect.Parameter.empty and key not in settings]
    if absent:
        raise InvalidParameterError(f"{name} needs {absent[0]}: add --set {absent[0]}=...")
    if "deal_id" in parameters:
        # One collection, one deal: whoever makes another collection makes another deal.
        settings = {"deal_id": fresh_deal_id(), **settings}
    mechanism: Mechanism[Any] = construct(**domain, epsilon=epsilon, **settings)
    return mechanism


def spelling(name: str) -> str:
    """Return a name without case, plus signs, hyphens and spaces: SPLPairs, the class, is "SPL pairs", its name."""
    return name.translate(_SEPARATORS).casefold()


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value

"""Candidate mechanisms of a plan, with their construction from (sizes, epsilon) and limits of practicality."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from deniable.core.card import Card, Variant
from deniable.core.construction import mechanism_for
from deniable.core.mechanism import Mechanism
from deniable.core.names import SPECIAL_CASES, cards, find, mechanism_class, spelling
from deniable.errors import InvalidParameterError, TooLargeError, quoted

MAX_REPORT_BITS = 1 << 19
"""Largest practical report (64 KiB). For larger reports a contributor's upload and a day's storage are the problem."""

MAX_STATE_SIZE = 1 << 27
"""Largest practical aggregate: 2^27 counters, one GiB."""

MAX_COMPARED = 1 << 19
"""Most values with which each report is compared, which takes two minutes of a core per million reports. For more
values a transform is used."""

SMALL_DOMAIN = 1 << 10
"""Up to this many values, a subset or a bit per value is a short report, and no transform is needed."""

LARGE_DOMAIN = 1 << 16
"""For more values than this, a mechanism that decodes all of them in one transform is preferred if there is one. Its
variance is within a tenth of the least, its report is a few bytes, and its collector takes milliseconds."""

Build = Callable[[tuple[int, ...], float | Fraction], Mechanism[Any]]


@dataclass(frozen=True)
class Candidate:
    """Mechanism that a plan may compare.

    Parameters
    ----------
    name : str
        Name in the literature, with the frequency oracle in brackets for records: "SPL[OUE]".
    build : callable
        Function (sizes, epsilon) -> mechanism.
    note : str
        Note that a reader of the plan must know.
    recommendable : bool
        True if `recommend` may choose the mechanism without being asked.
    compares : bool
        True if decoding compares every report with every value.
    transforms : bool
        True if one transform decodes short reports for all values.
    alternative : bool
        True if the mechanism is recommended only if no other requested mechanism is feasible.
    direct : bool
        True if a report is one code and the histogram of reports is the answer.
    two_phases : bool
        True if `build` returns phase one only, and the error is that of both phases, with bias.
    """

    name: str
    build: Build
    note: str = ""
    recommendable: bool = False
    compares: bool = False
    transforms: bool = False
    alternative: bool = False
    direct: bool = False
    two_phases: bool = False


_RECORDS = ("records", "two phases")
"""Groups of mechanisms for several attributes."""


def candidates_of(name: str) -> Iterator[Candidate]:
    """Yield the rows that a mechanism's card makes: its variants, or the mechanism itself."""
    cls = mechanism_class(name)
    card: Card = cls.card
    for row in card.variants or (Variant(name, (), card.note, card.recommended, card.alternative, card.decoding),):
        phases = card.group == "two phases"
        yield Candidate(
            row.name,
            cls.phase_one if phases else partial(mechanism_for, row.name),
            row.note or card.note,
            recommendable=row.recommended,
            compares=row.decoding == "compares",
            transforms=row.decoding == "transform",
            alternative=row.alternative,
            direct=card.direct,
            two_phases=phases,
        )


def _planned(records: bool) -> tuple[Candidate, ...]:
    return tuple(
        candidate
        for name, card in cards()
        if card.planned and (card.group in _RECORDS) == records
        for candidate in candidates_of(name)
    )


ONE_ATTRIBUTE = _planned(records=False)
"""Frequency oracles for one attribute, in the order that settles ties."""

RECORDS = _planned(records=True)
"""Record mechanisms, in the order that settles ties."""


def candidates_for(d: int, mechanisms: Sequence[str] | None = None) -> tuple[Candidate, ...]:
    """Return all candidates for d attributes, or the named ones.

    The case of names does not matter. "SPL" means SPL over every oracle, "CMS" means the sketch of every family, and
    "RSFD" means RS+FD.

    Raises
    ------
    InvalidParameterError
        If a name matches nothing, or no name is given.
    """
    offered = ONE_ATTRIBUTE if d == 1 else RECORDS
    if mechanisms is None:
        return offered
    if isinstance(mechanisms, str) or len(mechanisms) == 0:
        raise InvalidParameterError(
            f"mechanisms must be a list of at least one name, got mechanisms={quoted(mechanisms)}"
        )
    chosen = dict.fromkeys(one for wanted in mechanisms for one in _matching(str(wanted), offered, d))
    return tuple(sorted(chosen, key=lambda one: offered.index(one) if one in offered else len(offered)))


def _matching(wanted: str, offered: Sequence[Candidate], d: int) -> list[Candidate]:
    """Return the candidates that a name means; of mechanisms of other packages those of their cards."""
    matching = [
        one for one in offered if spelling(wanted) in (spelling(one.name), spelling(one.name.partition("[")[0]))
    ]
    if matching:
        return matching
    names = ", ".join(one.name for one in offered)
    attributes = "one attribute" if d == 1 else f"{d} attributes"
    unknown = InvalidParameterError(
        f"mechanisms must be possible for {attributes}, got mechanisms={quoted(wanted)}; choose among {names}"
    )
    try:
        found = find(wanted)
    except InvalidParameterError:
        raise unknown from None
    if found.name in SPECIAL_CASES:
        raise unknown
    cls = found.make
    if not cls.card.planned:
        raise InvalidParameterError(
            f"mechanisms must not contain {quoted(wanted)}, because a plan cannot compute its error: {cls.card.instead}"
        )
    if (cls.card.group in _RECORDS) != (d > 1):
        raise unknown
    return [one for one in candidates_of(cls.name) if "[" not in wanted or spelling(one.name) == spelling(wanted)]


def build(candidate: Candidate, sizes: tuple[int, ...], epsilon: float | Fraction) -> Mechanism[Any]:
    """Return the candidate's mechanism.

    Raises
    ------
    InvalidParameterError
        If the mechanism does not exist for these parameters.
    TooLargeError
        If the mechanism exceeds a limit of practicality; the message names the limit.
    """
    # The limit is checked before building, because a large table would take long to set up only to be refused.
    _check_limit("counters", sum(sizes), MAX_STATE_SIZE)
    if candidate.compares:
        _check_limit("values compared with every report", sizes[0], MAX_COMPARED)
    mechanism = candidate.build(sizes, epsilon)
    _check_limit("bits per report", mechanism.report_bits, MAX_REPORT_BITS)
    _check_limit("counters", mechanism.state_size, MAX_STATE_SIZE)
    return mechanism


def preferred(sizes: tuple[int, ...], feasible: Sequence[str]) -> tuple[str, ...]:
    """Return the feasible names that may be recommended, which are all of them if none suits the domain.

    For one attribute, a transform suits more than 2^10 values. For more than 2^16 values a transform is preferred to
    all other candidates except GRR. A report of GRR is as short, and its histogram is the answer.
    """
    k = sizes[0]
    suitable = [one for one in ONE_ATTRIBUTE + RECORDS if one.name in feasible and not one.alternative]
    if len(sizes) == 1 and k <= SMALL_DOMAIN:
        suitable = [one for one in suitable if not one.transforms]
    elif len(sizes) == 1 and k > LARGE_DOMAIN and any(one.transforms for one in suitable):
        suitable = [one for one in suitable if one.transforms or one.direct]
    return tuple(one.name for one in suitable) or tuple(feasible)


def _check_limit(what: str, value: float, limit: int) -> None:
    if value > limit:
        raise TooLargeError(f"{what} must be <= {limit:,} to be practical, got {value:,.0f}; use fewer categories")

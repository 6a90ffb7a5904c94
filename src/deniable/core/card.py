"""Card: what people and programs are told about a mechanism before they take it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Group = Literal["one attribute", "dictionaries", "open text", "records", "two phases", "dealt", "baselines"]
Decoding = Literal["counts", "compares", "transform"]


@dataclass(frozen=True)
class Variant:
    """A mechanism with some parameters set, under a name of its own: "SPL[OUE]", "CMS[spread]".

    Parameters
    ----------
    name : str
        What a plan calls it.
    settings : tuple of (str, value)
        The parameters that are set.
    note : str
        What a reader of a plan must know about it; the card's note if empty.
    recommended, alternative, decoding
        As in `Card`.
    """

    name: str
    settings: tuple[tuple[str, Any], ...] = ()
    note: str = ""
    recommended: bool = False
    alternative: bool = False
    decoding: Decoding = "counts"


@dataclass(frozen=True)
class Card:
    """Description of a mechanism; planner, choosing tables, command line and API index are made from cards.

    Parameters
    ----------
    group : Group
        Which mechanisms it is listed with. Baselines are here to be compared with.
    when : str
        When to use it: a phrase that completes "Use it ...". Semicolons separate sentences, which pages write as such.
    aliases : tuple of str
        Names that people type besides its own; case, plus signs, hyphens and spaces never matter.
    recommended : bool
        Whether the planner may recommend it without being asked.
    alternative : bool
        Whether it is recommended only if nothing else that was asked for is feasible.
    planned : bool
        Whether a plan compares it.
    listed : bool
        Whether a command line offers it by name for what is asked; not where it is chosen when decoding.
    instead : str
        Where `planned` is false: why, and what to compare in its place. Semicolons separate sentences.
    decoding : {"counts", "compares", "transform"}
        What decoding costs: one pass over counts, a comparison of every report with every value, or one transform.
    direct : bool
        Whether a report is one code and its histogram the answer, so that no domain is too large for it.
    wire : str
        A phrase that completes "One report is ...".
    page : str
        The page that explains it, below `docs/`.
    note : str
        What a reader of a plan must know about it. Semicolons separate sentences.
    variants : tuple of Variant
        The rows of a plan, where they are not just the mechanism itself.
    """

    group: Group
    when: str
    aliases: tuple[str, ...] = ()
    recommended: bool = False
    alternative: bool = False
    planned: bool = True
    listed: bool = True
    instead: str = ""
    decoding: Decoding = "counts"
    direct: bool = False
    wire: str = ""
    page: str = "choosing.md"
    note: str = ""
    variants: tuple[Variant, ...] = ()

"""Card: description of a mechanism for people and programs that choose one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Group = Literal["one attribute", "dictionaries", "open text", "records", "two phases", "dealt", "baselines"]
Decoding = Literal["counts", "compares", "transform"]


@dataclass(frozen=True)
class Variant:
    """A mechanism with some parameters set and its own name, such as "SPL[OUE]" or "CMS[spread]".

    Parameters
    ----------
    name : str
        Name in a plan.
    settings : tuple of (str, value)
        Parameters that are set.
    note : str
        Note for the reader of a plan. If it is empty, the card's note is used.
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
    """Description of a mechanism. The planner, tables for choosing, command line and API index are made from cards.

    Parameters
    ----------
    group : Group
        Group in which the mechanism is listed. Baselines are in the package for comparison.
    when : str
        Phrase that completes "Use it ..." and says when to use the mechanism. Semicolons separate sentences; pages
        print them as separate sentences.
    aliases : tuple of str
        Other names that people type for the mechanism. Upper and lower case, plus signs, hyphens and spaces make no
        difference.
    recommended : bool
        True if the planner may recommend the mechanism without being asked.
    alternative : bool
        True if the mechanism is recommended only if nothing else that was asked for is feasible.
    planned : bool
        True if a plan compares the mechanism.
    listed : bool
        True if a command line offers the mechanism by name for a question. False if it is chosen when decoding.
    instead : str
        If `planned` is false: reason, and what to compare instead. Semicolons separate sentences.
    decoding : {"counts", "compares", "transform"}
        Cost of decoding: one pass over counts, a comparison of every report with every value, or one transform.
    direct : bool
        True if a report is one code and the histogram of reports is the answer, so that no domain is too large.
    wire : str
        Phrase that completes "One report is ...".
    page : str
        Page below `docs/` that explains the mechanism.
    note : str
        Note for the reader of a plan. Semicolons separate sentences.
    variants : tuple of Variant
        Rows of a plan, if they are not just the mechanism itself.
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

"""Sentences of results in the languages that ship: ``languages/TAG.json``, with placeholders in braces."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

FOLDER = Path(__file__).parent / "languages"

RIGHT_TO_LEFT = frozenset(["ar", "fa", "he", "ur"])
"""Languages that are written from right to left."""

_SWAPPED = {".": "\0", ",": "\1"}


@final
@dataclass(frozen=True)
class Phrases:
    """Sentences of one language.

    Parameters
    ----------
    tag : str
        Tag of the language.
    words : mapping of str to str
        Sentences by their keys.
    """

    tag: str
    words: Mapping[str, str] = field(repr=False, hash=False)

    def __call__(self, key: str, **places: object) -> str:
        """Return a sentence with its placeholders filled in.

        Examples
        --------
        >>> phrases("de")("mean_between", low="1,5", high="2")
        'Der Mittelwert liegt zwischen 1,5 und 2'
        """
        return self.words[key].format(**places)

    def percent(self, number: str) -> str:
        """Return a number with the per cent sign of this language."""
        return self("percent", x=number)

    def figure(self, number: str) -> str:
        """Return a number, given as English writes it, with the marks of this language.

        Examples
        --------
        >>> phrases("de").figure("1,234.5"), phrases("en").figure("1,234.5")
        ('1.234,5', '1,234.5')
        """
        marks = {"\0": self.words["decimal"], "\1": self.words["thousands"]}
        kept = "".join(_SWAPPED.get(sign, sign) for sign in number)
        written = "".join(marks.get(sign, sign) for sign in kept)
        return self.apart(written) if number.startswith("-") else written

    def apart(self, text: str) -> str:
        r"""Return a negative number or a date so that it keeps its order in a sentence from right to left.

        Examples
        --------
        >>> phrases("ar").apart("-0.5"), phrases("en").apart("-0.5")
        ('\u2066-0.5\u2069', '-0.5')
        """
        return f"\u2066{text}\u2069" if self.tag in RIGHT_TO_LEFT else text


@functools.cache
def phrases(tag: str) -> Phrases:
    """Return the sentences of a language tag, or the English ones if the language has none.

    Examples
    --------
    >>> phrases("de-AT").tag, phrases("pt-BR").tag
    ('de', 'en')
    """
    own = tag.partition("-")[0].lower()
    name = own if own in shipped() else "en"
    return Phrases(name, json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


@functools.cache
def shipped() -> frozenset[str]:
    """Return the tags of the languages that have sentences."""
    return frozenset(path.stem for path in FOLDER.glob("*.json"))


ENGLISH = phrases("en")

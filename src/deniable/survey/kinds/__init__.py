"""Kinds of questions, one file for each kind, found by name.

Every file of this folder is a kind. It contains one class derived from `QuestionKind` and the only object of the class,
`KIND`. The file has the name that the kind has in documents. `client/src/kinds` has a file of the same name, which does
the same in a browser.

Other modules never compare the name of a kind. They use `Attribute.question_kind`.

Examples
--------
>>> KINDS["numeric"].usual_ask, KINDS["multiple"].several
('mean', True)
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from deniable.survey.question_kind import QuestionKind as QuestionKind


def _found() -> dict[str, QuestionKind]:
    """Return the kinds of this folder, keyed by name, in alphabetical order."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name: import_module(f"{__name__}.{name}").KIND for name in names}


KINDS: Mapping[str, QuestionKind] = MappingProxyType(_found())
"""Every kind, by its name."""

USUAL = next(name for name, kind in KINDS.items() if kind.usual)
"""Name of the kind of a question whose document names none."""

DRAFTED: tuple[QuestionKind, ...] = tuple(
    sorted((kind for kind in KINDS.values() if kind.drafted), key=lambda kind: kind.drafted)
)
"""The kinds that a draft may use, in the order in which they are tried."""


def names_with(key: str) -> str:
    """Return a text with the names of the kinds that have a given key of an attribute.

    Examples
    --------
    >>> names_with("dictionary")
    'dictionary'
    """
    return " or ".join(name for name, kind in KINDS.items() if key in kind.keys)

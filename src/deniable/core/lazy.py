"""Packages whose names are imported when they are first used (PEP 562): who asks for one thing does not wait for all.

A package lists its names twice: once for type checkers, as imports, and once as the table that `attach` takes. A test
holds that they are the same.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def attach(
    package: str, places: Mapping[str, str], subpackages: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a package's ``__getattr__``, ``__dir__`` and ``__all__``.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    places : mapping of str to str
        Module to the names that come from there, separated by spaces.
    subpackages : tuple of str
        Packages below it that are imported when they are first used.
    """
    homes = {name: module for module, names in places.items() for name in names.split()}

    def load(name: str) -> Any:
        if name in subpackages:
            return importlib.import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    names = sorted({*homes, *subpackages})
    return load, lambda: names, names

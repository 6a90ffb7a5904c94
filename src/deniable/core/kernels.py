"""Array loops that run compiled for many rows and interpreted for a few.

A contributor's device makes one report and must not wait for a compiler; a simulation makes a million and must not
wait for an interpreter. Both run the *same source*, so they cannot disagree; or a few rows are run by plain integers,
which Python adds ten times as fast as numpy's scalars, from a function beside the loop that tests hold to it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

import numpy as np

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

INTERPRETED_ROWS = 16
"""Calls whose first argument has at most this many rows are interpreted."""


class Kernel(Generic[Parameters, Result]):
    """A loop over the rows of its first argument; see `kernel`."""

    def __init__(self, function: Callable[Parameters, Result]) -> None:
        self.interpreted = function
        self.few: Callable[Parameters, Result] = self._interpret
        functools.update_wrapper(self, function)

    @functools.cached_property
    def compiled(self) -> Callable[Parameters, Result]:
        """The same function compiled by numba on first use, cached on disk where there is a place to write."""
        import numba

        result: Callable[Parameters, Result]
        try:
            result = numba.njit(cache=True, nogil=True)(self.interpreted)
        except RuntimeError:
            # Neither the package nor a home directory can be written to, as in a read-only container.
            result = numba.njit(nogil=True)(self.interpreted)
        return result

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Run `few` if the first argument has at most `INTERPRETED_ROWS` rows, else compiled."""
        rows = args[0]
        if isinstance(rows, np.ndarray) and rows.shape[0] <= INTERPRETED_ROWS:
            return self.few(*args, **kwargs)
        return self.compiled(*args, **kwargs)

    def _interpret(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with np.errstate(over="ignore"):
            return self.interpreted(*args, **kwargs)

    def for_few(self, function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        """Decorate what does the same to a few rows, by plain integers."""
        self.few = function
        return function


def kernel(function: Callable[Parameters, Result]) -> Kernel[Parameters, Result]:
    """Decorate a loop over the rows of its first argument.

    Write integer constants as ``np.uint64(...)`` where they meet ``uint64`` words: numba would otherwise promote a mix
    of signed and unsigned to float.
    """
    return Kernel(function)

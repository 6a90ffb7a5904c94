"""Array loops that run compiled for many rows and interpreted for few rows.

A contributor's device makes one report and must not wait for a compiler. A simulation makes a million reports and must
not wait for an interpreter. Both run the *same source*, so they cannot disagree. In a `kernel`, few rows run with
numpy's scalars, which wrap around as compiled integers do. In an `exact_kernel`, no integer wraps around, so few rows
run with Python's own numbers, which are several times as fast. Only `Kernel.__call__` chooses.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

INTERPRETED_ROWS = 16
"""Calls whose first argument has at most this many rows are interpreted."""


def worth_compiling(rows: int) -> bool:
    """Return whether compiling, or a table or algorithm for many rows, is worthwhile for this many rows.

    Only this function decides between the algorithms of a device with one report and of a simulation with many. Kernels
    call it, and so does code that has an algorithm for each case.
    """
    return rows > INTERPRETED_ROWS


PLAIN = False
"""True inside of an exact kernel that is interpreted. There Python divides numbers faster than it multiplies them."""


_NUMBERS = SimpleNamespace(int64=int, uint64=int)
"""Stand-in for numpy in an exact kernel that is interpreted. A name that is missing here is an error there."""


class _PlainForms(dict[type, Callable[[Any], Any]]):
    """Conversions of the arguments of an interpreted exact kernel, by type.

    Elements of a memoryview are plain numbers. Writing a number that does not fit raises ValueError.
    """

    def __missing__(self, kind: type) -> Callable[[Any], Any]:
        form: Callable[[Any], Any] = _same
        if issubclass(kind, np.ndarray):
            form = memoryview
        elif issubclass(kind, np.generic):
            form = kind.item
        return self.setdefault(kind, form)


def _same(given: Any) -> Any:
    return given


_PLAIN_FORMS = _PlainForms({int: int, np.uint64: int, np.int64: int})


class Kernel(Generic[Parameters, Result]):
    """Loop over the rows of its first argument (see `kernel` and `exact_kernel`)."""

    def __init__(self, function: Callable[Parameters, Result], *, exact: bool, reorder: bool = False) -> None:
        self.interpreted, self.exact = function, exact
        self._options: dict[str, Any] = {"nogil": True, "fastmath": {"reassoc", "contract"} if reorder else False}
        self.few: Callable[Parameters, Result] = _plainly(function) if exact else self._wrapping
        functools.update_wrapper(self, function)

    @functools.cached_property
    def compiled(self) -> Callable[Parameters, Result]:
        """The same function, compiled by numba on first use. It is cached on disk if there is a place to write."""
        import numba

        result: Callable[Parameters, Result]
        try:
            result = numba.njit(cache=True, **self._options)(self.interpreted)
        except RuntimeError:
            # numba cannot keep its cache if neither the package nor a home directory is writable, as in a read-only
            # container.
            result = numba.njit(**self._options)(self.interpreted)
        return result

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Run the compiled function if the rows of the first argument are `worth_compiling`, otherwise `few`."""
        rows = args[0]
        if isinstance(rows, np.ndarray) and not worth_compiling(len(rows)):
            return self.few(*args, **kwargs)
        return self.compiled(*args, **kwargs)

    def for_batch(self, rows: int) -> Callable[Parameters, Result]:
        """Return the function for every block of a batch with this many rows, so that small blocks are compiled too."""
        return self.compiled if worth_compiling(rows) else self.few

    def _wrapping(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with np.errstate(over="ignore"):
            return self.interpreted(*args, **kwargs)

    def for_few(self, function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        """Decorate a function that does the same as the loop for few rows, in fewer steps."""
        self.few = function
        return function


def _plainly(function: Any) -> Any:
    """Return the same code for plain numbers: `PLAIN` is true, numpy is `_NUMBERS`, and constants are plain."""
    plain: Any = None

    def few(*args: Any) -> Any:
        nonlocal plain
        if plain is None:
            # The plain form is made at the first call, when names that are defined below the kernel are known.
            names, known = function.__code__.co_names, function.__globals__
            used = {name: _PLAIN_FORMS[type(known[name])](known[name]) for name in names if name in known}
            plain = FunctionType(function.__code__, {**used, "np": _NUMBERS, "PLAIN": True}, function.__name__)
        return plain(*[_PLAIN_FORMS[type(one)](one) for one in args])

    return few


def kernel(function: Callable[Parameters, Result]) -> Kernel[Parameters, Result]:
    """Decorate a loop over the rows of its first argument.

    Write integer constants as ``np.uint64(...)`` where they meet ``uint64`` words: otherwise numba would promote a mix
    of signed and unsigned integers to float.
    """
    return Kernel(function, exact=False)


def sum_kernel(function: Callable[Parameters, Result]) -> Kernel[Parameters, Result]:
    """Decorate a loop that adds up floats in an order that the compiler chooses. Rounding differs between machines."""
    return Kernel(function, exact=False, reorder=True)


def exact_kernel(function: Callable[Parameters, Result]) -> Kernel[Parameters, Result]:
    """Decorate a loop whose results do not depend on integer wrap-around. Few rows run on Python's own numbers.

    The loop may read and write only elements and slices of arrays, not rows of tables. Its floats must have 64 bits.
    """
    return Kernel(function, exact=True)

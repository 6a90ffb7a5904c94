"""Validation of parameters and arrays for all mechanisms, with one wording for each kind of mistake."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.ma import MaskedArray
from numpy.typing import ArrayLike, NDArray

from deniable.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
    TooLargeError,
    out_of_range,
    quoted,
)

Codes = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]
Kind = TypeVar("Kind")
MAX_DOMAIN = 1 << 32

MAX_ATTRIBUTES = 1 << 12
"""Largest number of attributes of a mechanism."""

MAX_COUNTERS = 1 << 28
"""Largest histogram that a collector sets up (2 GiB)."""


def settle(instance: Any, **fields: Any) -> None:
    """Set fields of a frozen dataclass in its `__post_init__`."""
    for name, value in fields.items():
        object.__setattr__(instance, name, value)


def checked_integer(name: str, value: int, minimum: int, maximum: int | None = None) -> int:
    """Return the value as int, or raise an InvalidParameterError that names the bound."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InvalidParameterError(f"{name} must be an integer, got {name}={quoted(value)}", parameters=(name,))
    if value < minimum:
        raise out_of_range(name, f">= {minimum}", value)
    if maximum is not None and value > maximum:
        raise out_of_range(name, f"<= {maximum}", value)
    return int(value)


def checked_domain(k: int) -> int:
    """Return a domain size k after checking that 2 <= k <= 2^32."""
    return checked_integer("k", k, 2, MAX_DOMAIN)


def checked_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the domain sizes of d >= 1 attributes after checking them."""
    listed = isinstance(sizes, Sequence) and not isinstance(sizes, (str, bytes))
    if not (listed or (isinstance(sizes, np.ndarray) and sizes.ndim)) or len(sizes) == 0:
        raise InvalidParameterError(
            f"sizes must list the numbers of categories of one or more attributes, got sizes={quoted(sizes)}"
        )
    if len(sizes) > MAX_ATTRIBUTES:
        raise TooLargeError(f"sizes must list at most {MAX_ATTRIBUTES} attributes, got {len(sizes)}")
    return tuple(checked_integer(f"sizes[{j}]", size, 2, MAX_DOMAIN) for j, size in enumerate(sizes))


def checked_probability(name: str, value: float, *, open_interval: bool = False) -> float:
    """Return a probability after checking that it is in [0, 1], or in (0, 1) if `open_interval` is true."""
    bounds = "(0, 1)" if open_interval else "[0, 1]"
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InvalidParameterError(
            f"{name} must be a number in {bounds}, got {name}={quoted(value)}", parameters=(name,)
        )
    inside = 0 < value < 1 if open_interval else 0 <= value <= 1
    if not inside:
        raise out_of_range(name, f"in {bounds}", value)
    return float(value)


def checked_entries(given: Any, entries: int, rule: str) -> Any:
    """Return a sequence that has `entries` entries, or raise InvalidParameterError with the rule that it breaks."""
    if isinstance(given, (str, bytes)) or not hasattr(given, "__len__") or len(given) != entries:
        raise InvalidParameterError(f"{rule}, got {quoted(given)}")
    return given


@functools.lru_cache(maxsize=1024)
def code_dtype(k: int) -> np.dtype[Any]:
    """Return the smallest unsigned dtype that holds codes 0..k-1, which is the dtype of reported codes."""
    return np.dtype(np.uint8 if k <= 1 << 8 else np.uint16 if k <= 1 << 16 else np.uint32)


def checked_codes(values: ArrayLike, k: int) -> Codes:
    """Return one attribute's codes as a contiguous integer array of shape (n,), all in 0..k-1.

    Raises
    ------
    InvalidInputError
        If the array is not such codes. The message names the dtype, the shape, or the first row (1-based) that is out
        of range.
    """
    return _codes(values, (k,), 1, InvalidInputError, "value")


def checked_records(records: ArrayLike, sizes: Sequence[int]) -> Codes:
    """Return records as a contiguous integer array of shape (n, d), with column j in 0..sizes[j]-1."""
    return _codes(records, tuple(sizes), 2, InvalidInputError, "value")


def checked_report_codes(reports: ArrayLike, k: int, what: str = "report") -> Codes:
    """Return reported codes as an array of shape (n,), all in 0..k-1, or raise InvalidReportError."""
    return _codes(reports, (k,), 1, InvalidReportError, what)


def checked_report_records(reports: ArrayLike, sizes: Sequence[int]) -> Codes:
    """Return reported codes as an array of shape (n, d), column j in 0..sizes[j]-1, or raise InvalidReportError."""
    return _codes(reports, tuple(sizes), 2, InvalidReportError, "report")


def integer_array(values: ArrayLike, error: type[InvalidInputError | InvalidReportError], what: str) -> Codes:
    """Return an array of integers in native byte order, or raise `error`. An empty list gives an empty array."""
    if isinstance(values, MaskedArray):
        # numpy would silently drop the mask, and show the masked values.
        raise error(f"{what} must not be a masked array: fill in the masked values first")
    try:
        array = np.asarray(values)
    except ValueError:  # numpy refuses rows of different lengths
        raise error(
            f"{what} must be an array of integers, got a {type(values).__name__} with rows of different lengths"
        ) from None
    if array.size == 0 and not isinstance(values, np.ndarray):
        return np.empty(array.shape, dtype=np.int64)
    # The check uses the kind, because numpy counts timedelta64 among its integers.
    if array.dtype.kind not in "iu":
        # The dtype of text is not shown, because it tells the length of the longest answer.
        kind = "text" if array.dtype.kind in "SU" else array.dtype
        remedy = "" if kind != "text" else ": pass labels to a collection, and their codes 0, 1, ... to a mechanism"
        raise error(f"{what} must have an integer dtype, got dtype={kind}{remedy}")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _codes(
    values: ArrayLike, sizes: tuple[int, ...], ndim: int, error: type[InvalidInputError | InvalidReportError], what: str
) -> Codes:
    array = integer_array(values, error, f"{what}s")
    if array.ndim != ndim or (ndim == 2 and array.shape[1] != len(sizes)):
        expected = "(n,)" if ndim == 1 else f"(n, {len(sizes)}), one column for each attribute"
        raise error(f"{what}s must have shape {expected}, got shape={array.shape}")
    array = np.ascontiguousarray(array)
    if array.size == 0 or _all_inside(array, sizes):
        return array
    columns = array.reshape(len(array), len(sizes))
    for j, k in enumerate(sizes):
        wrong = (columns[:, j] < 0) | (columns[:, j] >= k)
        if wrong.any():
            row = int(wrong.argmax())
            where = f"row {row + 1}" + (f", attribute {j}" if ndim == 2 else "")
            # A wrong code may still tell the answer that it was meant for, so it is not shown. A wrong report tells
            # nothing new.
            got = "something else" if error is InvalidInputError else f"{what}={int(columns[row, j])}"
            raise error(f"{what} must be in 0..{k - 1}, got {got} in {where}")
    return array


_FEW = 64
"""Most codes that are compared as plain integers, because numpy takes longer to begin."""

_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def _all_inside(array: Codes, sizes: tuple[int, ...]) -> bool:
    if array.size <= _FEW:
        codes = array.ravel().tolist()
        return min(codes) >= 0 and all(map(operator.lt, codes, itertools.cycle(sizes)))
    # In the common case one pass is enough: as an unsigned number, a negative code is larger than every positive code
    # of its dtype.
    signed, bits = array.dtype.kind == "i", 8 * array.dtype.itemsize
    unsigned = array.view(_UNSIGNED[array.dtype.itemsize]).reshape(-1)
    most = (1 << bits - signed) - 1
    if int(unsigned.max()) <= min(min(sizes) - 1, most):
        return True
    if len(sizes) == 1:
        return False
    largest = np.array([min(k - 1, most) for k in sizes], dtype=unsigned.dtype)
    # Domains differ, so stretches of whole rows are compared with the repeated row of largest codes.
    bounds = np.tile(largest, 1 + min(len(array), 8192 // len(sizes)))
    stretches = (unsigned[start : start + bounds.size] for start in range(0, unsigned.size, bounds.size))
    return not any(bool((stretch > bounds[: stretch.size]).any()) for stretch in stretches)


def check_counters(counters: int) -> None:
    """Raise TooLargeError if a collector would need more than MAX_COUNTERS counters."""
    if counters > MAX_COUNTERS:
        raise TooLargeError(
            f"a mechanism must have at most {MAX_COUNTERS:,} counters to add up its reports, got {counters:,}: use a "
            "sketch"
        )


def checked_counts(counts: ArrayLike, k: int) -> NDArray[np.int64]:
    """Return the true counts of k values as int64[k], all >= 0, or raise InvalidInputError."""
    array = np.asarray(counts)
    if array.dtype.kind not in "iu" or array.shape != (k,):
        raise InvalidInputError(
            f"counts must be integers of shape ({k},), got dtype={array.dtype}, shape={array.shape}"
        )
    if array.size and int(array.min()) < 0:
        raise InvalidInputError(f"counts must be >= 0, got counts[{int(array.argmin())}]={int(array.min())}")
    # A float bounds the sum first, because the integer sum could wrap.
    if array.sum(dtype=np.float64) >= 1 << 62:
        raise InvalidInputError(f"counts must sum to less than 2^62, got sum={sum(map(int, array))}")
    return array.astype(np.int64)


_NAMED = 5


def checked_kind(name: str, value: Any, kind: type[Kind], such_as: str = "") -> Kind:
    """Return a value after checking that it is an instance of a class of this package.

    Raises
    ------
    InvalidParameterError
        If the value is of another class. The message names both classes, and `such_as` says how to get a right value.
    """
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise InvalidParameterError(f"{name} must be {article} {kind.__name__}{such_as}, got {type(value).__name__}")
    return value


def listed(names: Sequence[str]) -> str:
    """Return a text with the first few names and the number of the others."""
    shown = ", ".join(names[:_NAMED])
    return (shown or "none") + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


Target = Literal["contributors", "population"]
TARGETS: tuple[Target, Target] = ("contributors", "population")


def check_target(target: str) -> None:
    """Raise InvalidParameterError unless a target is one of the two targets."""
    if target not in TARGETS:
        raise InvalidParameterError(f'target must be "contributors" or "population", got target={quoted(target)}')


def checked_comparisons(simultaneous: bool | int, own: int) -> int:
    """Return the number of intervals that must hold together: `own` for True, 1 for False, else the given number."""
    if isinstance(simultaneous, (bool, np.bool_)):
        return own if simultaneous else 1
    return checked_integer("simultaneous", simultaneous, 1)

"""Joint and conditional distributions of attributes as the adversary's prior, validated and summed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_records, checked_sizes
from deniable.errors import InvalidInputError, TooLargeError, quoted

Floats = NDArray[np.float64]

MAX_STATES = 1 << 24
"""Largest joint table (cells) that is built from records."""

_TOLERANCE = 1e-9


def checked_distribution(values: ArrayLike, name: str, axis: int | None = None) -> Floats:
    """Return a distribution as float64, normalised exactly; `axis` None checks the whole, -1 every row.

    Raises
    ------
    InvalidInputError
        If an entry is negative or not finite, or a sum differs from one by more than 1e-9.
    """
    array = np.array(values, dtype=np.float64)
    if array.size == 0:
        raise InvalidInputError(f"{name} must contain at least one number, got shape={array.shape}")
    if not np.isfinite(array).all():
        place = int(np.isfinite(array).argmin())
        raise InvalidInputError(
            f"{name} must contain only finite numbers, got {array.flat[place]} at {_place(place, array.shape)}"
        )
    if array.min() < 0:
        where = _place(int(array.argmin()), array.shape)
        raise InvalidInputError(f"{name} must be >= 0, got {array.min():g} at {where}")
    sums = array.sum(axis=axis, keepdims=axis is not None)
    worst = float(np.abs(sums - 1).max())
    if worst > _TOLERANCE:
        what = "sum to one" if axis is None else "have rows that sum to one"
        bad = float(np.ravel(sums)[int(np.abs(np.ravel(sums) - 1).argmax())])
        raise InvalidInputError(f"{name} must {what} within {_TOLERANCE:g}, got {bad:.12g}")
    normalised: Floats = array / sums
    return normalised


def _place(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, shape))


def checked_joint(joint: ArrayLike) -> Floats:
    """Return a joint distribution of d >= 1 attributes, one axis each."""
    array = checked_distribution(joint, "joint")
    if array.ndim < 1:
        raise InvalidInputError(f"joint must have one axis per attribute, got shape={array.shape}")
    return array


def checked_conditional(conditional: ArrayLike) -> Floats:
    """Return conditional[x, u] = P(X_j = u | X_i = x): shape (|X_i|, |X_j|), rows sum to one."""
    array = checked_distribution(conditional, "conditional", axis=-1)
    if array.ndim != 2:
        raise InvalidInputError(
            f"conditional must have two axes (one for X_i and one for X_j), got shape={array.shape}"
        )
    return array


def conditional_from_joint(joint: ArrayLike, target: int = 0, sources: int | Sequence[int] | None = None) -> Floats:
    """Return P(X_sources | X_target) from a joint distribution.

    Parameters
    ----------
    joint : float[k_1, ..., k_d]
        Joint probabilities, one axis per attribute.
    target : int
        Attribute i that is inferred.
    sources : int, sequence of int, or None
        Attributes that are released. By default all others. The codes of several attributes are combined; the last
        attribute changes fastest.

    Returns
    -------
    float64[k_target, product of the sources' sizes]

    Raises
    ------
    InvalidInputError
        If a category of the target has probability zero. Drop this category first.

    Examples
    --------
    >>> conditional_from_joint([[0.4, 0.1], [0.1, 0.4]])
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """
    table = checked_joint(joint)
    rest = [j for j in range(table.ndim) if j != target]
    kept = rest if sources is None else [sources] if isinstance(sources, int) else list(sources)
    if not kept or target in kept or len(set(kept)) != len(kept) or not set(kept) <= set(rest) | {target}:
        raise InvalidInputError(
            f"sources must name one or more different attributes, but not target={target}, got sources={quoted(kept)}"
        )
    dropped = tuple(j for j in rest if j not in kept)
    order = [target, *kept]
    remaining = [j for j in range(table.ndim) if j not in dropped]
    table = table.sum(axis=dropped).transpose([remaining.index(j) for j in order])
    table = table.reshape(table.shape[0], -1)
    mass = table.sum(axis=1, keepdims=True)
    if (mass == 0).any():
        empty = int(np.flatnonzero(mass[:, 0] == 0)[0])
        raise InvalidInputError(
            f"category {empty} of attribute {target} has the probability 0: leave this category out of the joint table"
        )
    conditional: Floats = table / mass
    return conditional


def joint_from_records(records: ArrayLike, sizes: Sequence[int]) -> Floats:
    """Return the empirical joint distribution of integer records, shape `sizes`.

    Raises
    ------
    InvalidInputError
        If there are no records, or a code is out of range.
    TooLargeError
        If the table has more than MAX_STATES cells.

    Examples
    --------
    >>> import numpy as np
    >>> joint_from_records(np.array([[0, 1], [0, 1], [1, 0], [1, 1]]), (2, 2))
    array([[0.  , 0.5 ],
           [0.25, 0.25]])
    """
    shape = checked_sizes(sizes)
    codes = checked_records(records, shape)
    if len(codes) == 0:
        raise InvalidInputError("records must not be empty, got 0 records")
    cells = int(np.prod([float(size) for size in shape]))
    if cells > MAX_STATES:
        raise TooLargeError(
            f"the joint table must have at most {MAX_STATES} cells, got {cells} for the sizes {quoted(shape)}: use "
            "pairwise leakage, blocks of attributes, or the prior-free bound"
        )
    flat = np.ravel_multi_index(tuple(codes.astype(np.int64).T), shape)
    counts = np.bincount(flat, minlength=cells).reshape(shape)
    return counts / len(codes)


def marginals(table: Floats) -> list[Floats]:
    """Return the one-way tables of every axis."""
    # The added axis of length one plays the first attribute of a pair.
    return [part[0] for _, part in _with_first(table[None], list(range(1, table.ndim + 1)))]


def _with_first(table: Floats, axes: list[int]) -> Iterator[tuple[int, Floats]]:
    """Yield (axis, table of axis 0 and that axis); `axes` names the table's axes 1, 2, ..."""
    if len(axes) == 1:
        yield axes[0], table
        return
    middle = len(axes) // 2
    yield from _with_first(table.sum(axis=tuple(range(1 + middle, table.ndim))), axes[:middle])
    yield from _with_first(table.sum(axis=tuple(range(1, 1 + middle))), axes[middle:])


def merged_channel(channel: ArrayLike) -> Floats:
    """Return a channel with proportional columns added up: fewer outputs, the same leakage about everything.

    Examples
    --------
    >>> merged_channel([[0.3, 0.2, 0.5], [0.15, 0.1, 0.75]])
    array([[0.5 , 0.5 ],
           [0.75, 0.25]])
    """
    if np.ndim(channel) != 2:
        raise InvalidInputError(f"channel must have shape (inputs, outputs), got shape={np.shape(channel)}")
    matrix = checked_distribution(channel, "channel", axis=-1)
    matrix = matrix[:, matrix.sum(axis=0) > 0]
    with np.errstate(divide="ignore"):
        logs = np.log(matrix / matrix.max(axis=0))
    # Columns are compared by ten digits of their log-ratios. Columns that differ only by rounding are one output, and
    # small entries keep their digits.
    _, column = np.unique(np.round(logs, 10) + 0.0, axis=1, return_inverse=True)
    merged = np.zeros((matrix.shape[0], int(column.max()) + 1))
    np.add.at(merged.T, column, matrix.T)
    return merged

"""Records prepared for leakage analysis.

What data cannot say anything about is left out and named: a constant attribute has no two values to tell apart, and
nothing is conditional on a category that nobody holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import Codes, checked_records, checked_sizes
from deniable.errors import InvalidInputError
from deniable.leakage.prior.distributions import Floats, checked_joint, joint_from_records
from deniable.leakage.prior.mechanism_leakage import Release, enumerated, is_budget, release_epsilon

Releases: TypeAlias = float | Sequence[Release]
"""One release per attribute, or one number: everybody's epsilon."""


@dataclass(frozen=True, eq=False)
class Observed:
    """Records ready for leakage analysis; what `observed` returns.

    Parameters
    ----------
    codes : int[n, d]
        Records of the attributes that vary, each recoded to the categories that occur.
    sizes : tuple of int
        Number of categories that occur, at least two each.
    names : tuple of str
        Names of these attributes.
    attributes : tuple of int
        Their columns in the original records.
    categories : tuple of int64 arrays
        Original codes of the categories that occur, by attribute.
    domains : tuple of int
        Original sizes of *all* attributes, with the categories that nobody holds.
    notes : tuple of str
        What was left out, by name.
    """

    codes: Codes
    sizes: tuple[int, ...]
    names: tuple[str, ...]
    attributes: tuple[int, ...]
    categories: tuple[NDArray[np.int64], ...]
    domains: tuple[int, ...]
    notes: tuple[str, ...]

    def joint(self) -> Floats:
        """Return the empirical joint distribution, shape `sizes`; TooLargeError above its limit."""
        return joint_from_records(self.codes, self.sizes)

    def chosen(self, releases: Releases) -> list[Release]:
        """Return the releases of the kept attributes from those of the original ones, on their original domains."""
        if not isinstance(releases, Sequence):
            return [float(releases)] * len(self.attributes)
        if len(releases) != len(self.domains):
            raise InvalidInputError(
                f"mechanisms must have one entry per attribute ({len(self.domains)}), got {len(releases)}"
            )
        return [releases[j] for j in self.attributes]

    def restricted(self, releases: Releases) -> list[Release]:
        """Return the releases of the kept attributes on the categories that occur: rows of their channels.

        Where some category is missing and the channel cannot be listed, only the epsilon remains.
        """
        result = self.chosen(releases)
        for position, (j, seen) in enumerate(zip(self.attributes, self.categories, strict=True)):
            if len(seen) < self.domains[j] and not is_budget(result[position]):
                channel = enumerated(result[position])
                result[position] = release_epsilon(result[position]) if channel is None else channel[seen]
        return result


def observed(records: ArrayLike, sizes: Sequence[int], names: Sequence[str] | None = None) -> Observed:
    """Prepare records for leakage analysis: leave out what is constant or held by nobody, and say so.

    Parameters
    ----------
    records : int[n, d]
        Codes, column j in 0..sizes[j]-1.
    sizes : sequence of int
        Domain sizes.
    names : sequence of str, optional
        Attribute names; "attribute 0", ... by default.

    Raises
    ------
    InvalidInputError
        If there are no records, a code is out of range, or every attribute is constant.

    Examples
    --------
    >>> import numpy as np
    >>> data = observed(np.array([[0, 2, 1], [1, 0, 1]]), (2, 3, 2), names=["sex", "job", "adult"])
    >>> data.names, data.sizes, data.codes.tolist()
    (('sex', 'job'), (2, 2), [[0, 1], [1, 0]])
    >>> data.notes
    ('adult is constant in the data: left out', 'job: category 1 does not occur in the data: left out')
    """
    domains = checked_sizes(sizes)
    codes = checked_records(records, domains)
    if len(codes) == 0:
        raise InvalidInputError("records must not be empty, got 0 records")
    shown = [f"attribute {j}" for j in range(len(domains))] if names is None else [str(name) for name in names]
    if len(shown) != len(domains):
        raise InvalidInputError(f"names must name all {len(domains)} attributes, got {len(shown)} names")
    seen = [np.flatnonzero(np.bincount(codes[:, j], minlength=size)) for j, size in enumerate(domains)]
    kept = tuple(j for j in range(len(domains)) if len(seen[j]) > 1)
    if not kept:
        raise InvalidInputError(f"records must vary in some attribute, got the same record {len(codes)} times")
    notes = [f"{shown[j]} is constant in the data: left out" for j in range(len(domains)) if j not in kept]
    notes += [_missing(shown[j], seen[j], domains[j]) for j in kept if len(seen[j]) < domains[j]]
    recoded = np.column_stack([np.searchsorted(seen[j], codes[:, j]) for j in kept])
    return Observed(
        codes=recoded,
        sizes=tuple(len(seen[j]) for j in kept),
        names=tuple(shown[j] for j in kept),
        attributes=kept,
        categories=tuple(seen[j] for j in kept),
        domains=domains,
        notes=tuple(notes),
    )


def drop_unseen(joint: ArrayLike, channels: Sequence[ArrayLike]) -> tuple[Floats, list[Floats], tuple[str, ...]]:
    """Drop categories of probability zero from a joint table and from the channels' inputs.

    Parameters
    ----------
    joint : float[k_1, ..., k_d]
        Joint distribution.
    channels : sequence of float[k_j, outputs]
        Channels, for instance ``mechanism.channel()``.

    Returns
    -------
    joint, channels, notes
        Smaller tables, and what was dropped. An axis of length one is left for a constant attribute.

    Examples
    --------
    >>> import numpy as np
    >>> joint, channels, notes = drop_unseen([[0.5, 0.0, 0.1], [0.2, 0.0, 0.2]], [np.eye(2), np.eye(3)])
    >>> joint.shape, channels[1].shape, notes
    ((2, 2), (2, 3), ('attribute 1: category 1 does not occur in the data: left out',))
    """
    table = checked_joint(joint)
    if len(channels) != table.ndim:
        raise InvalidInputError(f"channels must have one entry per attribute ({table.ndim}), got {len(channels)}")
    notes, smaller = [], []
    for axis, size in enumerate(table.shape):
        mass = table.sum(axis=tuple(other for other in range(table.ndim) if other != axis))
        kept = np.flatnonzero(mass)
        channel = np.asarray(channels[axis], dtype=np.float64)
        if channel.ndim != 2 or len(channel) != size:
            raise InvalidInputError(f"channel {axis} must have {size} inputs, got shape={channel.shape}")
        if len(kept) < size:
            notes.append(_missing(f"attribute {axis}", kept, size))
        table = np.take(table, kept, axis=axis)
        smaller.append(channel[kept])
    return table, smaller, tuple(notes)


def _missing(name: str, seen: NDArray[np.int64], size: int) -> str:
    missing = np.setdiff1d(np.arange(size), seen)
    shown = ", ".join(str(code) for code in missing[:5]) + (", ..." if len(missing) > 5 else "")
    verb = "category {} does not" if len(missing) == 1 else f"{len(missing)} categories ({{}}) do not"
    return f"{name}: {verb.format(shown)} occur in the data: left out"

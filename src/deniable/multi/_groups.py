"""Partitions of the attributes, and the one that dependence suggests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.checks import checked_integer
from deniable.errors import InvalidParameterError
from deniable.multi.alignment import Alignment

Groups = tuple[tuple[int, ...], ...]


def checked_groups(groups: Any, d: int) -> Groups:
    """Return a partition of d attributes as tuples.

    Raises
    ------
    InvalidParameterError
        If an attribute is missing or occurs twice, or the indices of a group do not ascend.
    """
    if isinstance(groups, (str, bytes)) or not hasattr(groups, "__len__"):
        raise InvalidParameterError(f"groups must be a partition of the attributes, got groups={groups!r}")
    result = []
    for place, group in enumerate(groups):
        if isinstance(group, (str, bytes)) or not hasattr(group, "__len__") or len(group) == 0:
            raise InvalidParameterError(f"groups[{place}] must have one attribute or more, got {group!r}")
        own = tuple(checked_integer(f"groups[{place}][{i}]", j, 0, d - 1) for i, j in enumerate(group))
        if list(own) != sorted(set(own)):
            raise InvalidParameterError(f"groups[{place}] must have ascending attributes, got {own}")
        result.append(own)
    listed = sorted(j for group in result for j in group)
    if listed != list(range(d)):
        raise InvalidParameterError(f"groups must name each of the attributes 0..{d - 1} once, got {tuple(result)}")
    return tuple(result)


def group_alignment(alignment: Alignment, group: tuple[int, ...]) -> Alignment:
    """Return the maps between attributes of one group, numbered inside it."""
    place = {j: i for i, j in enumerate(group)}
    return tuple(
        (place[larger], place[smaller], codes)
        for larger, smaller, codes in alignment
        if larger in place and smaller in place
    )


def dependence_groups(dependence: NDArray[np.float64]) -> list[Groups]:
    """Return the partitions into 1, 2, ..., d groups that average linkage finds.

    Starting from single attributes, the two groups with the largest mean dependence between their attributes are
    merged, the first ones among equals.

    Parameters
    ----------
    dependence : float64[d, d]
        Symmetric; the diagonal is not read.
    """
    groups: list[tuple[int, ...]] = [(j,) for j in range(len(dependence))]
    means = np.array(dependence, dtype=np.float64)
    found = [tuple(groups)]
    while len(groups) > 1:
        above = np.triu(np.ones(means.shape, dtype=np.bool_), 1)
        a, b = divmod(int(np.where(above, means, -np.inf).argmax()), len(groups))
        sizes = len(groups[a]), len(groups[b])
        merged = (sizes[0] * means[a] + sizes[1] * means[b]) / sum(sizes)
        means[a], means[:, a] = merged, merged
        means = np.delete(np.delete(means, b, axis=0), b, axis=1)
        groups[a] = tuple(sorted(groups[a] + groups[b]))
        del groups[b]
        found.append(tuple(groups))
    return found[::-1]

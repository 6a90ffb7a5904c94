"""Alignment of attributes whose domains differ, by public maps between their codes.

The alignment is from Seeam, Zheng, Hu (Corr-RR), section 3.3.4. For every pair of attributes, a public map sends the
codes of the larger domain onto the codes of the smaller domain. The codes of the smaller domain thereby name *groups*
of codes of the larger domain. By default, groups are contiguous and of nearly equal size. A copy into a smaller domain
is mapped. A copy into a larger domain is spread uniformly over its group.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_entries, checked_integer
from deniable.errors import InvalidParameterError, TooLargeError, quoted

Map = tuple[int, ...]
Alignment = tuple[tuple[int, int, Map], ...]
"""Entries (attribute with the larger domain, attribute with the smaller, the smaller's code of each larger's code)."""


MAX_CELLS = 1 << 18
"""Largest number of probabilities, over all pairs of attributes, of copies between domains that differ."""


def contiguous_map(k: int, groups: int) -> Map:
    """Return the group of each of k codes, for contiguous groups whose sizes differ by at most one.

    Parameters
    ----------
    k : int
        Domain size, >= groups.
    groups : int
        Number of groups, >= 1.

    Examples
    --------
    >>> contiguous_map(5, 2)
    (0, 0, 0, 1, 1)
    """
    checked_integer("groups", groups, 1, k)
    return tuple(code * groups // k for code in range(k))


def checked_map(name: str, codes: Any, k: int, groups: int) -> Map:
    """Return a map of k codes onto `groups` groups, or raise InvalidParameterError."""
    checked_entries(codes, k, f"{name} must have one group per code ({k})")
    result = tuple(checked_integer(f"{name}[{code}]", group, 0, groups - 1) for code, group in enumerate(codes))
    unused = sorted(set(range(groups)) - set(result))
    if unused:
        raise InvalidParameterError(
            f"{name} must map at least one code to every group in 0..{groups - 1}, but no code is mapped to group "
            f"{unused[0]}"
        )
    return result


def checked_alignment(alignment: Sequence[Any], sizes: Sequence[int]) -> Alignment:
    """Return tuples (larger attribute, smaller attribute, map onto the smaller domain), one per given pair."""
    if isinstance(alignment, (str, bytes)) or not hasattr(alignment, "__len__"):
        raise InvalidParameterError(f"alignment must be a sequence of maps, got alignment={quoted(alignment)}")
    result: list[tuple[int, int, Map]] = []
    for place, entry in enumerate(alignment):
        name = f"alignment[{place}]"
        *ends, codes = checked_entries(entry, 3, f"{name} must be (larger attribute, smaller attribute, map)")
        larger, smaller = (checked_integer(f"{name}[{i}]", j, 0, len(sizes) - 1) for i, j in enumerate(ends))
        if larger == smaller or sizes[larger] < sizes[smaller]:
            raise InvalidParameterError(
                f"{name} must map an attribute to a different attribute with at most as many categories, got attribute "
                f"{larger} mapped to attribute {smaller} with sizes={quoted(tuple(sizes))}"
            )
        if any({larger, smaller} == {a, b} for a, b, _ in result):
            raise InvalidParameterError(
                f"alignment must have only one map for each pair of attributes, got two maps for attributes {larger} "
                f"and {smaller}"
            )
        result.append((larger, smaller, checked_map(f"{name}[2]", codes, sizes[larger], sizes[smaller])))
    return tuple(result)


def check_table_size(sizes: Sequence[int], alignment: Alignment) -> None:
    """Raise TooLargeError if copies over domains that differ (or are mapped) need more than MAX_CELLS probabilities."""
    cells = sum(sizes) ** 2 - sum(size**2 for size in sizes)
    if (len(set(sizes)) > 1 or alignment) and cells > MAX_CELLS:
        raise TooLargeError(
            f"attributes with different numbers of categories must have at most {MAX_CELLS} copy probabilities, got "
            f"{cells}: use the mechanism RS+RFD instead, which can learn from the same first phase"
        )


def pair_map(sizes: Sequence[int], alignment: Alignment, source: int, target: int) -> tuple[Map, bool]:
    """Return the map of a pair of attributes, and True if it maps the source's codes (False: the target's codes)."""
    for larger, smaller, codes in alignment:
        if {larger, smaller} == {source, target}:
            return codes, larger == source
    inward = sizes[source] >= sizes[target]
    larger, smaller = (source, target) if inward else (target, source)
    return contiguous_map(sizes[larger], sizes[smaller]), inward


def copy_law(
    probability: Fraction, sizes: Sequence[int], alignment: Alignment, source: int, target: int
) -> NDArray[Any]:
    """Return P(reported code of the target | reported code of the source), Fraction[k_source, k_target].

    On the smaller of the two domains, the code is copied with `probability` and is otherwise uniform on the other
    codes. If the target has the larger domain, the result is then spread uniformly over its group.
    """
    codes, inward = pair_map(sizes, alignment, source, target)
    groups = min(sizes[source], sizes[target])
    aligned = np.full((groups, groups), (1 - probability) / (groups - 1), dtype=object)
    np.fill_diagonal(aligned, probability)
    if inward:
        return aligned[list(codes)]
    members = [codes.count(group) for group in range(groups)]
    spread: NDArray[Any] = aligned[:, list(codes)] * np.array([Fraction(1, members[g]) for g in codes], dtype=object)
    return spread


def copied_frequencies(
    frequencies: ArrayLike, sizes: Sequence[int], alignment: Alignment, source: int, target: int
) -> NDArray[np.float64]:
    """Return the frequencies of the target if it copies the source with probability 1, float64[k_target]."""
    codes, inward = pair_map(sizes, alignment, source, target)
    own = np.asarray(frequencies, dtype=np.float64)
    if inward:
        return np.bincount(codes, weights=own, minlength=sizes[target]).astype(np.float64)
    members = np.bincount(codes, minlength=sizes[source])
    return (own / members)[list(codes)]

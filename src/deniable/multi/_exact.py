"""Exact laws of whole records: every record, every report, and the probability of one given the other."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def product_rows(parts: Sequence[NDArray[Any]], dtype: DTypeLike) -> NDArray[Any]:
    """Return every combination of one row of each part, joined; the last part changes fastest.

    Parts are arrays of shape (rows,) or (rows, columns).
    """
    tables = [part.reshape(len(part), -1) for part in parts]
    index = np.indices([len(table) for table in tables]).reshape(len(tables), -1)
    return np.concatenate([table[i] for table, i in zip(tables, index, strict=True)], axis=1).astype(dtype)


def independent(factors: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the channel of independent channels (a Kronecker product); rows and columns as in `product_rows`."""
    result: NDArray[Any] = reduce(np.kron, factors)
    return result


def sampled(truths: Sequence[NDArray[Any]], fakes: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the channel that reports one uniformly sampled attribute and fakes of the others.

    Parameters
    ----------
    truths : sequence of Fraction[k_j, outputs_j]
        Channel of each attribute when sampled.
    fakes : sequence of Fraction[outputs_j]
        Law of each attribute's fake report.
    """
    d = len(truths)
    repeated = [np.tile(fake, (len(truth), 1)) for truth, fake in zip(truths, fakes, strict=True)]
    mixture = reduce(np.add, (independent([*repeated[:j], truths[j], *repeated[j + 1 :]]) for j in range(d)))
    result: NDArray[Any] = mixture * Fraction(1, d)
    return result


Evidence = tuple[tuple[Fraction, Fraction], ...]
"""For every choice, what it adds to the numerator and to the denominator of a quotient of sums."""


def largest_quotient_of_sums(parts: Sequence[Evidence]) -> Fraction:
    """Return the largest quotient of two sums with one choice per part, exactly: Dinkelbach's iteration."""
    ratio = Fraction(0)
    while True:
        chosen = [max(part, key=lambda pair: pair[0] - ratio * pair[1]) for part in parts]
        found = Fraction(sum(high for high, _ in chosen)) / sum(low for _, low in chosen)
        if found == ratio:
            return found
        ratio = found

"""Goodness of fit of counted outcomes, for the statistical tests of one-attribute mechanisms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.core.kernels import Kernel

FAMILY_WISE_ERROR = 1e-6
"""Probability that a correct mechanism fails one statistical test, over all its comparisons."""


def p_value(observed: Iterable[Any], law: Mapping[Any, float]) -> float:
    """Chi-squared p-value of outcomes against their probabilities.

    The rarest outcomes are pooled until 5 of them are expected. An outcome that the law does not know gives 0.
    """
    counts = Counter(observed)
    n = sum(counts.values())
    if not counts.keys() <= law.keys():
        return 0.0
    expected = np.array([n * float(probability) for probability in law.values()])
    seen = np.array([counts[outcome] for outcome in law], dtype=np.float64)
    order = np.argsort(expected)
    expected, seen = expected[order], seen[order]
    pooled = max(int(np.searchsorted(np.cumsum(expected), 5)) + 1, int((expected < 5).sum()))
    expected = np.append(expected[pooled:], expected[:pooled].sum())
    seen = np.append(seen[pooled:], seen[:pooled].sum())
    statistic = float(((seen - expected) ** 2 / expected).sum())
    return float(stats.chi2.sf(statistic, len(expected) - 1))


def rows(array: NDArray[np.integer]) -> list[tuple[int, ...]]:
    """Rows of a matrix as tuples."""
    return [tuple(row) for row in array.tolist()]


@contextmanager
def always_interpreted() -> Iterator[None]:
    """Run every kernel interpreted, whatever its number of rows."""
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
        patch.setattr(Kernel, "compiled", property(lambda self: self.interpreted))
        yield

"""What the records of a data set say about pairs of attributes, for the leakage of any release."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from deniable.errors import InvalidInputError
from deniable.leakage.prior.distributions import Floats
from deniable.leakage.prior.empirical_prior import Observed, observed
from deniable.leakage.prior.mechanism_leakage import Release, mechanism_cpl
from deniable.leakage.prior.pairwise import PairCounts


class PairPriors:
    """P(X_j | X_i) of all ordered pairs of attributes of a data set, counted once.

    Constant attributes are left out, and so are rows of categories that nobody holds (`observed`).

    Parameters
    ----------
    records : int[n, d]
        Codes, column j in 0..sizes[j]-1.
    sizes : sequence of int
        Domain sizes.

    Raises
    ------
    InvalidInputError
        If there are no records, a code is out of range, or every attribute is constant.

    Examples
    --------
    >>> import numpy as np
    >>> priors = PairPriors(np.array([[0, 0], [0, 1], [1, 1], [1, 1]]), (2, 2))
    >>> priors.conditional(0, 1)
    array([[0.5, 0.5],
           [0. , 1. ]])
    >>> priors.leakage([1.0, 1.0]).round(4)  # Algorithm 2
    array([[0.    , 0.6201],
           [0.7634, 0.    ]])
    """

    def __init__(self, records: ArrayLike, sizes: Sequence[int]) -> None:
        self.data: Observed = observed(records, sizes)
        self._counts = PairCounts.of(self.data.codes, self.data.sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Domain sizes of the attributes that vary, with the categories that nobody holds."""
        return tuple(self.data.domains[j] for j in self.data.attributes)

    def conditional(self, i: int, j: int) -> Floats:
        """Return P(X_j = u | X_i = x), shape (values of i that occur, domain size of j)."""
        rows = np.zeros((self.data.sizes[i], self.sizes[j]))
        rows[:, self.data.categories[j]] = self._counts.conditional(i, j)
        return rows

    def leakage(self, releases: Sequence[Release]) -> Floats:
        """Return CPL about i by the release of j, float64[d, d]; one mechanism, channel or epsilon per attribute."""
        d = len(self.sizes)
        if len(releases) != d:
            raise InvalidInputError(
                f"releases must have one entry per attribute that varies ({d}), got {len(releases)}"
            )
        matrix = np.zeros((d, d))
        for i in range(d):
            for j in [j for j in range(d) if j != i]:
                matrix[i, j] = mechanism_cpl(releases[j], self.conditional(i, j)).epsilon
        return matrix

    def frequencies(self, j: int) -> Floats:
        """Return the frequencies of attribute j, float64[sizes[j]]."""
        frequencies = np.zeros(self.sizes[j])
        frequencies[self.data.categories[j]] = np.diagonal(self._counts.table(j, j)) / len(self.data.codes)
        return frequencies


def off_diagonal(matrix: ArrayLike, name: str) -> Floats:
    """Return the entries of a leakage matrix for all ordered pairs, or raise InvalidInputError."""
    array = np.asarray(matrix, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or len(array) < 2:
        raise InvalidInputError(f"{name} must have shape (d, d) with d >= 2, got shape={array.shape}")
    pairs: Floats = array[~np.eye(len(array), dtype=np.bool_)]
    if not np.isfinite(pairs).all():
        raise InvalidInputError(f"{name} must be finite")
    return pairs

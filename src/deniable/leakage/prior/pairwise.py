"""Pairwise leakage of a whole data set: who leaks about whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from math import fsum
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import Codes
from deniable.core.privacy import Status
from deniable.core.result import Result
from deniable.errors import TooLargeError
from deniable.leakage.figure_status import leakage_text, weakest
from deniable.leakage.prior.distributions import Floats
from deniable.leakage.prior.empirical_prior import Observed, Releases, observed
from deniable.leakage.prior.mechanism_leakage import mechanism_cpl, release_epsilon

MAX_CATEGORIES = 1 << 12
"""Largest number of categories of all attributes together: 128 MiB of pair counts."""

_BLOCK_CELLS = 1 << 19


@dataclass(frozen=True, eq=False)
class Pair(Result):
    """One directed pair: what releasing `source` reveals about `target`, in nats.

    Parameters
    ----------
    target, source : str
        Names of the attributes.
    epsilon : float
        The leakage.
    possible : float
        The epsilon that the source is released with: no leakage is larger.
    plausible : (float, float) or None
        Where the leakage lies for 90% of the populations that these records could have come from, widened to hold
        `epsilon` itself, which few records push up; given where cells hold so few records that it matters.
    """

    also: ClassVar = {"text": "text"}

    target: str
    source: str
    epsilon: float
    possible: float
    plausible: tuple[float, float] | None = None

    @property
    def text(self) -> str:
        """The pair in words."""
        figures = (self.epsilon, self.possible, *(self.plausible or ()))
        leaked, possible, *ends = (leakage_text(figure, self.possible) for figure in figures)
        much = " to ".join(ends) if ends else f"up to {leaked}"
        few = f" ({leaked} in these records, of which few tell)" if ends else ""
        return f"releasing {self.source} reveals {much} of a possible {possible} about {self.target}{few}"

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class PairwiseLeakage:
    """Leakage between all pairs of attributes; what `pairwise_leakage` returns.

    Parameters
    ----------
    names : tuple of str
        The d attributes that vary.
    attributes : tuple of int
        Their columns in the records.
    matrix : float64[d, d]
        matrix[i, j]: CPL about attribute i by the release of j alone, nats; zero on the diagonal.
    direct : float64[d]
        Epsilon of each attribute's own release.
    statuses : tuple of {"exact", "upper bound"}
        How sure column j is, which depends on the mechanism of j.
    notes : tuple of str
        What was left out, by name.
    """

    names: tuple[str, ...]
    attributes: tuple[int, ...]
    matrix: Floats
    direct: Floats
    statuses: tuple[Status, ...]
    notes: tuple[str, ...]

    @property
    def tcpl(self) -> float:
        """Total correlation-induced leakage, the sum of all pairs' CPL in nats: an index of the data set, no bound."""
        return fsum(self.matrix.ravel())

    @property
    def additive_figure_not_a_bound(self) -> Floats:
        """Direct leakage plus the sum of pairwise leakages, float64[d]; it can lie below the true total."""
        figure: Floats = self.direct + self.matrix.sum(axis=1)
        return figure

    def strongest(self, count: int = 10) -> list[Pair]:
        """Return the pairs with the largest leakage, largest first."""
        return strongest_pairs(self.matrix, self.direct, self.names, count)


def strongest_pairs(
    matrix: Floats, direct: Floats, names: Sequence[str], count: int, target: str | None = None
) -> list[Pair]:
    """Return the pairs with the largest entries of a matrix of leakages, largest first; about the target only."""
    order = (divmod(int(place), len(names)) for place in np.argsort(-matrix, axis=None, kind="stable"))
    pairs = (
        Pair(names[i], names[j], float(matrix[i, j]), float(direct[j]))
        for i, j in order
        if i != j and target in (None, names[i])
    )
    return list(islice(pairs, count))


def pairwise_leakage(
    records: ArrayLike | Observed,
    sizes: Sequence[int] = (),
    releases: Releases = 1.0,
    names: Sequence[str] | None = None,
) -> PairwiseLeakage:
    """CPL between all pairs of attributes under the empirical distribution of the records.

    Parameters
    ----------
    records : int[n, d] or Observed
        Codes, column j in 0..sizes[j]-1; or what `observed` made of them.
    sizes : sequence of int
        Domain sizes; not needed with an `Observed`.
    releases : float or sequence of mechanisms, channels or epsilons
        How each attribute is released. A float is everybody's epsilon; the figures are then Algorithm 2's, the worst
        case over all mechanisms.
    names : sequence of str, optional
        Attribute names.

    Raises
    ------
    InvalidInputError
        If a code is out of range, or every attribute is constant.
    TooLargeError
        If all attributes together have more than MAX_CATEGORIES categories.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import GRR
    >>> bald = np.repeat([0, 0, 1, 1], [50, 40, 0, 10])
    >>> male = np.repeat([0, 1, 0, 1], [50, 40, 0, 10])
    >>> leakage = pairwise_leakage(np.column_stack([bald, male]), (2, 2), [GRR(k=2, epsilon=1.0)] * 2, ["Bald", "Male"])
    >>> leakage.matrix.round(3)
    array([[0.   , 0.67 ],
           [0.295, 0.   ]])
    >>> print(leakage.strongest(1)[0])
    releasing Male reveals up to 0.67 of a possible 1.00 about Bald
    >>> round(leakage.tcpl, 2)
    0.97
    """
    data = records if isinstance(records, Observed) else observed(records, sizes, names)
    chosen = data.chosen(releases)
    counts = PairCounts.of(data.codes, data.sizes)
    d = len(data.sizes)
    matrix = np.zeros((d, d))
    statuses: list[Status] = []
    for j in range(d):
        figures = []
        for i in [i for i in range(d) if i != j]:
            figure = mechanism_cpl(chosen[j], _on_domain(counts.conditional(i, j), data, j))
            matrix[i, j] = figure.epsilon
            figures.append(figure.status)
        statuses.append(weakest(*figures))
    direct = np.array([release_epsilon(release) for release in chosen])
    return PairwiseLeakage(data.names, data.attributes, matrix, direct, tuple(statuses), data.notes)


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Contingency tables of all pairs of attributes, as the blocks of one symmetric matrix.

    Parameters
    ----------
    counts : int64[K, K]
        K categories of all attributes; block (i, j) is the two-way table of attributes i and j.
    starts : tuple of int
        First category of every attribute, and K.
    """

    counts: NDArray[np.int64]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, codes: Codes, sizes: Sequence[int]) -> PairCounts:
        """Count records int[n, d] (checked already), a block of rows at a time.

        Raises
        ------
        TooLargeError
            If there are more than MAX_CATEGORIES categories.
        """
        starts = tuple(accumulate(sizes, initial=0))
        total, d = starts[-1], len(sizes)
        if total > MAX_CATEGORIES:
            raise TooLargeError(
                f"pairwise leakage must have at most {MAX_CATEGORIES} categories over all attributes, got {total}: "
                "merge rare categories or leave attributes out"
            )
        counts = np.zeros(total * total, dtype=np.int64)
        step = max(1, _BLOCK_CELLS // d)
        for start in range(0, len(codes), step):
            columns = codes[start : start + step].T.astype(np.int64) + np.array(starts[:-1])[:, None]
            for i in range(d):
                rows = slice(starts[i] * total, starts[i + 1] * total)
                cells = (columns[i] - starts[i]) * total + columns[i:]
                counts[rows] += np.bincount(cells.ravel(), minlength=sizes[i] * total)
        matrix = counts.reshape(total, total)
        for i in range(d):
            matrix[starts[i + 1] :, starts[i] : starts[i + 1]] = matrix[starts[i] : starts[i + 1], starts[i + 1] :].T
        return cls(matrix, starts)

    def table(self, i: int, j: int) -> NDArray[np.int64]:
        """Return the two-way table of attributes i (rows) and j (columns)."""
        return self.counts[self.starts[i] : self.starts[i + 1], self.starts[j] : self.starts[j + 1]]

    def conditional(self, i: int, j: int) -> Floats:
        """Return P(X_j | X_i), rows of attribute i."""
        table = self.table(i, j)
        rows: Floats = table / table.sum(axis=1, keepdims=True)
        return rows

    def mutual_information(self, i: int, j: int) -> float:
        """Return the mutual information of attributes i and j, in nats."""
        joint = self.table(i, j) / self.table(i, j).sum()
        product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        held = joint > 0
        return max(0.0, fsum(joint[held] * np.log(joint[held] / product[held])))


def _on_domain(conditional: Floats, data: Observed, j: int) -> Floats:
    """Return a conditional with a zero column for every category of attribute j that nobody holds."""
    full = data.domains[data.attributes[j]]
    if full == conditional.shape[1]:
        return conditional
    wide = np.zeros((len(conditional), full))
    wide[:, data.categories[j]] = conditional
    return wide

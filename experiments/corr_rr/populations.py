"""The papers' synthetic data: as their text describes them, and in variants that fit their numbers.

Every attribute but the first copies an earlier attribute, its parent, with probability rho. In SynA the first attribute
is the parent of all others. In SynB each parent is drawn among the earlier attributes, once per data set (Table 2's
correlations are products along one tree). The `Source` gives the distribution of the first attribute and of attributes
that do not copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

TABULATED = 4096
"""Largest number of possible records whose counts are drawn at once; beyond, single records are drawn."""


class Source(NamedTuple):
    """Distributions from which attributes are drawn.

    Parameters
    ----------
    first : str
        "skewed": probabilities proportional to k, k-1, ..., 1, which is the papers' (.4, .3, .2, .1) at k = 4. Or
        "uniform".
    otherwise : str
        Distribution of an attribute that does not copy: "others" is uniform over the other values, "all" is uniform
        over all values, "first" is the first attribute's distribution.
    """

    first: str
    otherwise: str


SOURCES = {
    "as_described": Source("skewed", "others"),
    "equal_marginals": Source("uniform", "all"),
    "shared_marginals": Source("skewed", "first"),
}
"""Sources by name. With "first", or "all" after a uniform first attribute, the correlation with the parent is rho."""


class People(NamedTuple):
    """Contributors.

    Parameters
    ----------
    records : int64[r, d]
        Records that occur in the data.
    counts : int64[r]
        Number of contributors who hold each of them.
    sizes : tuple of int
        Domain sizes.
    """

    records: Codes
    counts: Codes
    sizes: tuple[int, ...]

    @property
    def n(self) -> int:
        """Number of contributors."""
        return int(self.counts.sum())

    @property
    def marginal_counts(self) -> list[Codes]:
        """Number of contributors who hold each value of each attribute."""
        weights = self.counts.astype(np.float64)
        columns = zip(self.records.T, self.sizes, strict=True)
        return [np.bincount(column, weights, size).astype(np.int64) for column, size in columns]

    @property
    def frequencies(self) -> list[Floats]:
        """Realised frequencies, which errors are measured against."""
        return [counts / self.n for counts in self.marginal_counts]

    def split(self, first: int, rng: np.random.Generator) -> tuple[People, People]:
        """Return a random choice of `first` contributors, and the others."""
        drawn = rng.multivariate_hypergeometric(self.counts, first, method="marginals")
        return People(self.records, drawn, self.sizes), People(self.records, self.counts - drawn, self.sizes)


def people(records: Codes, sizes: tuple[int, ...]) -> People:
    """Return the contributors who hold these records; each row is one contributor."""
    places = np.ravel_multi_index(tuple(records.T), sizes)
    held, counts = np.unique(places, return_counts=True)
    return People(np.stack(np.unravel_index(held, sizes), axis=1).astype(np.int64), counts, sizes)


@dataclass(frozen=True)
class Synthetic:
    """A distribution of records.

    Parameters
    ----------
    source : str
        One of `SOURCES`.
    k, d : int
        Domain size and number of attributes.
    rho : float
        Probability of a copy.
    parents : tuple of int
        Parents: entry j is the parent of attribute j+1, in 0..j. All are 0 for SynA.
    """

    source: str
    k: int
    d: int
    rho: float
    parents: tuple[int, ...]

    @property
    def first(self) -> Floats:
        """Distribution of the first attribute."""
        k = self.k
        if SOURCES[self.source].first == "uniform":
            return np.full(k, 1 / k)
        return np.arange(k, 0, -1) / (k * (k + 1) / 2)

    @property
    def copying(self) -> Floats:
        """float64[k, k]: probability of a value (column) given the parent's (row)."""
        k, identity = self.k, np.eye(self.k)
        otherwise = {
            "others": (1 - identity) / (k - 1),
            "all": np.full((k, k), 1 / k),
            "first": np.tile(self.first, (k, 1)),
        }[SOURCES[self.source].otherwise]
        return self.rho * identity + (1 - self.rho) * otherwise

    @property
    def marginals(self) -> list[Floats]:
        """Distribution of every attribute."""
        result = [self.first]
        for parent in self.parents:
            result.append(result[parent] @ self.copying)
        return result

    @property
    def joint(self) -> Floats:
        """Probability of every record, float64[k, ..., k]."""
        result = self.first
        for j, parent in enumerate(self.parents, start=1):
            shape = [1] * (j + 1)
            shape[parent], shape[j] = self.k, self.k
            result = result[..., np.newaxis] * self.copying.reshape(shape)
        return result

    def correlation(self, i: int, j: int) -> float:
        """Pearson's correlation of the codes of two attributes."""
        joint = self.joint
        table = joint.sum(axis=tuple(a for a in range(self.d) if a not in (i, j)))
        codes = np.arange(self.k)
        means = [codes @ self.marginals[a] for a in (i, j)]
        deviations = [float(np.sqrt(codes**2 @ self.marginals[a] - m**2)) for a, m in zip((i, j), means, strict=True)]
        return float((codes @ table @ codes - means[0] * means[1]) / (deviations[0] * deviations[1]))

    def draw(self, n: int, rng: np.random.Generator) -> People:
        """Draw n contributors."""
        sizes = (self.k,) * self.d
        if self.k**self.d <= TABULATED:
            counts = rng.multinomial(n, self.joint.ravel())
            held = np.flatnonzero(counts)
            records = np.stack(np.unravel_index(held, sizes), axis=1).astype(np.int64)
            return People(records, counts[held], sizes)
        columns = [rng.choice(self.k, n, p=self.first)]
        cumulative = self.copying.cumsum(axis=1)
        cumulative[:, -1] = 1.0  # rounding must not leave a draw without a value
        for parent in self.parents:
            columns.append((rng.random(n)[:, np.newaxis] >= cumulative[columns[parent]]).sum(axis=1))
        return people(np.stack(columns, axis=1), sizes)


def synthetic(data: str, source: str, k: int, d: int, rho: float, rng: np.random.Generator) -> Synthetic:
    """Return the distribution of "SynA" or "SynB"; SynB's parents are drawn."""
    parents = tuple(int(rng.integers(j)) if data == "SynB" else 0 for j in range(1, d))
    return Synthetic(source, k, d, rho, parents)

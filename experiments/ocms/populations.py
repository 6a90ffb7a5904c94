"""The data sets of the paper's section 6, as counts of the values of a dictionary."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from experiments.harness import data_file

KOSARAK = "kosarak_first100k.dat.gz"
"""The first 100,000 lines (users) of the click stream Kosarak, which has 990,002."""

SPACING = 128
"""Zipf codes are multiples of this number, so that they share their low bits in recursive Hadamard response."""


@dataclass(frozen=True)
class Population:
    """Contributors of one data set.

    Parameters
    ----------
    name : str
        Name of the data set.
    counts : int64[k]
        Number of contributors who hold each value of the dictionary.
    interest : int64[q]
        Codes whose estimates are measured.
    max_frequency : int
        Advance knowledge of the collector about the largest frequency, f* of the paper: 0 or 1.
    """

    name: str
    counts: NDArray[np.int64]
    interest: NDArray[np.int64]
    max_frequency: int = 1

    @property
    def k(self) -> int:
        """Dictionary size."""
        return len(self.counts)

    @property
    def n(self) -> int:
        """Number of contributors."""
        return int(self.counts.sum())

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """The true frequencies among these contributors, float64[k]."""
        return self.counts / self.n

    def compact(self) -> Population:
        """Return the same contributors over the values that occur or are of interest, with new numbers.

        Use it for mechanisms whose distribution does not depend on the numbering of values or on the number of other
        values.
        """
        wanted = self.counts > 0
        wanted[self.interest] = True
        kept = np.flatnonzero(wanted)
        return Population(self.name, self.counts[kept], np.searchsorted(kept, self.interest), self.max_frequency)


def zipf(seed: int, k: int = 100_000, n: int = 10_000, interest: int = 100) -> Population:
    """Draw n contributors; the r-th commonest value has probability proportional to 1/r^2 (section 6.1).

    The r-th commonest value has code 128 (r-1). All codes share their low bits, which is the worst case of recursive
    Hadamard response.
    """
    codes = np.arange(0, k, SPACING)
    weights = 1.0 / np.arange(1, len(codes) + 1) ** 2
    counts = np.zeros(k, dtype=np.int64)
    counts[codes] = np.random.default_rng([seed, 1]).multinomial(n, weights / weights.sum())
    return Population("zipf", counts, codes[:interest])


def gaussian(seed: int, k: int = 10_000, n: int = 10_000, deviation: float = 50.0) -> Population:
    """Draw n contributors from a rounded normal distribution with a random mean (section 6.2): f* = 0."""
    rng = np.random.default_rng([seed, 2])
    mean = int(rng.integers(k // 10, 9 * k // 10, endpoint=True))
    values = np.clip(np.rint(rng.normal(mean, deviation, n)).astype(np.int64), 0, k - 1)
    return Population("gaussian", np.bincount(values, minlength=k), np.arange(k), max_frequency=0)


@lru_cache(maxsize=1)
def _kosarak_clicks() -> tuple[NDArray[np.int64], int]:
    """Return (clicks per page, pages numbered from 1; lines) of the prefix."""
    with gzip.open(data_file(KOSARAK), "rt", encoding="ascii") as file:
        lines = file.read().splitlines()
    pages = np.array(" ".join(lines).split(), dtype=np.int64)
    return np.bincount(pages), len(lines)


def kosarak(interest: int = 1000) -> Population:
    """Return each click of the Kosarak prefix as one contributor; page p has code p - 1.

    The prefix has 100,000 of 990,002 lines and a tenth of the clicks. Errors are measured on the commonest pages.
    """
    clicks, _ = _kosarak_clicks()
    counts = clicks[1:]
    return Population("kosarak", counts, np.sort(np.argsort(-counts, kind="stable")[:interest]))


def kosarak_with_separators(k: int = 26_000, share: int = 10, interest: int = 1000) -> Population:
    """Return the prefix with a sequence file's separators among the values, which the paper's numbers fit.

    The paper's numbers fit a file that ends each click with -1 and each line with -2, with both counted as values: code
    = number + 2. A tenth of the prefix's counts (a hundredth of the full file's) is kept, and values that round to 0
    are dropped.
    """
    clicks, lines = _kosarak_clicks()
    numbers = np.concatenate([[lines, clicks.sum()], [0], clicks[1:]])
    counts = np.zeros(k, dtype=np.int64)
    counts[: len(numbers)] = np.rint(numbers / share).astype(np.int64)
    return Population("kosarak-separators", counts, np.arange(interest))


def companions(k: int = 100_000, n: int = 10_000, interest: int = 100) -> Population:
    """Return n contributors who all hold value 0, measured on values with the same low bits: the worst case of RHR."""
    counts = np.zeros(k, dtype=np.int64)
    counts[0] = n
    return Population("companions", counts, SPACING * np.arange(1, interest + 1))


def spread_out(k: int = 100_000, n: int = 10_000, interest: int = 100) -> Population:
    """Return n contributors with n different values, evenly spaced but for the last bits, measured on other values."""
    counts = np.zeros(k, dtype=np.int64)
    held = np.random.default_rng(3).choice(np.setdiff1d(np.arange(k), SPACING * np.arange(interest)), n, replace=False)
    counts[held] = 1
    return Population("spread-out", counts, SPACING * np.arange(interest))


@lru_cache(maxsize=8)
def population(name: str, seed: int) -> Population:
    """Return a data set by name; the synthetic ones depend on the seed."""
    makers: dict[str, Callable[[], Population]] = {
        "zipf": partial(zipf, seed),
        "gaussian": partial(gaussian, seed),
        "kosarak": kosarak,
        "kosarak-separators": kosarak_with_separators,
        "companions": companions,
        "spread-out": spread_out,
    }
    return makers[name]()

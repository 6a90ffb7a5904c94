"""Ordered attributes of real data sets, as distributions over ordered codes."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.harness import data_file

Floats = NDArray[np.float64]

CLASSES = ("not_recom", "recommend", "very_recom", "priority", "spec_prior")
POPULATIONS = ("y", "s", "v", "c", "n", "a")
"""Sizes of mushroom populations in order: solitary, scattered, several, clustered, numerous, abundant."""
USES = tuple(f"CL{i}" for i in range(7))
"""Times of last use in order: never used, ..., used in the last day."""


class Scale(NamedTuple):
    """An ordered attribute.

    Parameters
    ----------
    data, name : str
        Name of the file, and topic of the question.
    k : int
        Number of codes.
    codes : callable
        (row, k) -> code; a row maps column names to texts. None if the row has no answer.
    """

    data: str
    name: str
    k: int
    codes: Callable[[dict[str, str], int], int | None]

    @property
    def label(self) -> str:
        """Its name and number of codes."""
        return f"{self.name}, k = {self.k}"


def _listed(column: str, order: Sequence[str]) -> Callable[[dict[str, str], int], int | None]:
    return lambda row, _: order.index(row[column])


def _binned(column: str, low: float, high: float) -> Callable[[dict[str, str], int], int | None]:
    """Return the function that maps values to equal bins of a public range."""
    return lambda row, k: min(max(int((float(row[column]) - low) / (high - low) * k), 0), k - 1)


def _onsets(row: dict[str, str], _: int) -> int:
    return sum(int(row[f"v{i}"]) for i in range(1, 17))


SCALES = (
    Scale("nursery.csv", "nursery class", 5, _listed("class", CLASSES)),
    Scale("mushroom.csv", "mushroom population", 6, _listed("population", POPULATIONS)),
    Scale("womens_clothing.csv", "clothing rating", 5, _listed("Rating", "12345")),
    Scale("drug_consumption.csv", "cannabis use", 7, _listed("cannabis", USES)),
    Scale("womens_clothing.csv", "age of reviewers", 16, _binned("Age", 18, 100)),
    Scale("womens_clothing.csv", "age of reviewers", 32, _binned("Age", 18, 100)),
    Scale("womens_clothing.csv", "age of reviewers", 64, _binned("Age", 18, 100)),
    Scale("drug_consumption.csv", "neuroticism score", 16, _binned("nscore", -3.5, 3.5)),
    Scale("drug_consumption.csv", "neuroticism score", 64, _binned("nscore", -3.5, 3.5)),
    Scale("firm_teacher_clave.csv", "onsets of a rhythm", 17, _onsets),
)
"""All scales, chosen before any of them was decoded: the first four are short, the others long."""


@cache
def distribution(label: str) -> Floats:
    """Return the shares of a scale's codes, float64[k]."""
    scale = next(one for one in SCALES if one.label == label)
    with data_file(scale.data).open(encoding="utf-8", newline="") as file:
        counted = Counter(scale.codes(row, scale.k) for row in csv.DictReader(file))
    counts = np.array([counted[code] for code in range(scale.k)], dtype=np.float64)
    shares: Floats = counts / counts.sum()
    return shares


def invented(k: int) -> Floats:
    """Return a distribution that needs no data: two humps and a spike at the lowest code."""
    x = np.arange(k) / (k - 1)
    shares: Floats = np.exp(-((x - 0.35) ** 2) / 0.02) + 0.6 * np.exp(-((x - 0.75) ** 2) / 0.01)
    shares /= shares.sum() / 0.9
    shares[0] += 0.1
    return shares

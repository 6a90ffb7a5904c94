"""Views of data sets as records of codes, and a built-in distribution for runs without data."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.harness import data_file

Codes = NDArray[np.int64]

SEMICOLONS = ("cardio_train.csv.gz",)
"""Files whose delimiter is a semicolon."""

VIEWS: dict[str, tuple[str, dict[str, int]]] = {
    "nursery": (
        "nursery.csv",
        dict.fromkeys(
            ("parents", "has_nurs", "form", "children", "housing", "finance", "social", "health", "class"), 0
        ),
    ),
    "mushroom": (
        "mushroom.csv",
        dict.fromkeys(
            ("class", "cap-shape", "cap-color", "odor", "gill-color", "stalk-root", "ring-type", "habitat"), 0
        ),
    ),
    "womens_clothing": (
        "womens_clothing.csv",
        {"Age": 8, "Rating": 0, "Recommended IND": 0, "Department Name": 0, "Class Name": 0},
    ),
    "drug_consumption": (
        "drug_consumption.csv",
        {
            "age": 0,
            "gender": 0,
            "education": 0,
            "nscore": 5,
            "impulsive": 5,
            "alcohol": 0,
            "cannabis": 0,
            "nicotine": 0,
        },
    ),
    "clave": (
        "firm_teacher_clave.csv",
        dict.fromkeys([f"v{i}" for i in range(1, 9)] + ["neutral", "reverse_clave", "forward_clave", "incoherent"], 0),
    ),
    "adult": (
        "adult.csv.gz",
        {"sex": 0, "income": 0, "education": 0, "marital-status": 0, "race": 0, "age": 8},
    ),
    "brfss": (
        "brfss2015_health.csv.gz",
        {"GenHlth": 0, "Income": 0, "HighBP": 0, "Diabetes_binary": 0, "Education": 0, "Age": 0, "Smoker": 0, "Sex": 0},
    ),
    "cardio": (
        "cardio_train.csv.gz",
        {"age": 8, "cardio": 0, "cholesterol": 0, "gluc": 0, "smoke": 0, "gender": 0},
    ),
}
"""Name -> file and columns.

The number of a column is a number of contiguous groups of its sorted values, with nearly equally many records each.
"""


class Population(NamedTuple):
    """Distribution from which contributors are drawn.

    Parameters
    ----------
    records : int64[r, d]
        Distinct records.
    shares : float64[r]
        Frequency of each record.
    sizes : tuple of int
        Domain sizes.
    names : tuple of str
        Names of the attributes.
    """

    records: Codes
    shares: NDArray[np.float64]
    sizes: tuple[int, ...]
    names: tuple[str, ...]

    def draw(self, n: int, generator: np.random.Generator) -> Codes:
        """Return the number of n contributors who hold each record, int64[r]."""
        return generator.multinomial(n, self.shares)

    def of(self, names: tuple[str, ...]) -> Population:
        """Return the population restricted to chosen attributes."""
        places = [self.names.index(name) for name in names]
        return _grouped(self.records[:, places], self.shares, tuple(self.sizes[j] for j in places), names)

    def table(self, held: NDArray[Any], i: int, j: int) -> NDArray[np.float64]:
        """Return the joint frequencies of two attributes, given the number of holders of each record."""
        found = np.zeros((self.sizes[i], self.sizes[j]))
        np.add.at(found, (self.records[:, i], self.records[:, j]), held)
        shares: NDArray[np.float64] = found / np.sum(held)
        return shares


@cache
def population(name: str) -> Population:
    """Return a population by name: a view of a data set, or "public", a built-in distribution that needs no data."""
    if name == "public":
        return _public()
    file, columns = VIEWS[name]
    table = pd.read_csv(
        data_file(file), dtype=str, keep_default_na=False, sep=";" if file in SEMICOLONS else ",", usecols=list(columns)
    )
    codes, sizes = [], []
    for column, groups in columns.items():
        values, found = _coded(table[column], groups)
        codes.append(found)
        sizes.append(values)
    return _grouped(np.stack(codes, axis=1), np.full(len(table), 1 / len(table)), tuple(sizes), tuple(columns))


def _coded(column: pd.Series[str], groups: int) -> tuple[int, Codes]:
    if not groups:
        found, values = pd.factorize(column, sort=True)
        return len(values), found.astype(np.int64)
    numbers = pd.to_numeric(column)
    edges = np.unique(np.quantile(numbers, np.arange(1, groups) / groups))
    return len(edges) + 1, np.searchsorted(edges, numbers, side="right").astype(np.int64)


def _grouped(records: Codes, shares: NDArray[np.float64], sizes: tuple[int, ...], names: tuple[str, ...]) -> Population:
    distinct, which = np.unique(records, axis=0, return_inverse=True)
    totals = np.bincount(which.ravel(), weights=shares).astype(np.float64)
    return Population(distinct, totals, sizes, names)


def _public() -> Population:
    """Return a distribution of five attributes.

    The first has two groups. The second depends on the first, the third on the second, and the other two are
    independent.
    """
    sizes = (2, 3, 4, 2, 5)
    records = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1).astype(np.int64)
    first = np.array([0.45, 0.55])[records[:, 0]]
    second = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])[records[:, 0], records[:, 1]]
    third = np.array([[0.5, 0.3, 0.15, 0.05], [0.25] * 4, [0.1, 0.2, 0.3, 0.4]])[records[:, 1], records[:, 2]]
    rest = np.array([0.3, 0.7])[records[:, 3]] * np.array([0.4, 0.25, 0.2, 0.1, 0.05])[records[:, 4]]
    return Population(records, first * second * third * rest, sizes, ("group", "answer", "reason", "coin", "die"))

"""The papers' real data, from the directory that ``DENIABLE_DATA`` names, and the encodings of their columns.

The papers say little about encodings. Our encodings were chosen by the text and by the printed correlations, never by
an error. `Encoding.note` gives the reason for each choice, and the experiment `real-data` shows our correlations beside
the printed ones. Codes follow the sorted labels, as in common label encoders. If a domain is cut, the most frequent
labels stay and the others become one label "Other", which is sorted with the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow.csv
from numpy.typing import NDArray

from deniable import SimulationRandomness
from experiments.corr_rr.populations import Codes, Floats, People, people
from experiments.harness import Cell, data_file

MARRIED = "Married"
SPOUSES = ("Husband", "Wife")


class Encoding(NamedTuple):
    """Columns of a file as records over one domain.

    Parameters
    ----------
    file : str
        Name of the file.
    columns : tuple of str
        Attributes, in their order.
    k : int
        Domain size.
    n : int or None
        Number of contributors, drawn anew from the rows in each repetition; None takes all rows.
    printed : tuple of float
        Smallest and largest correlation that the paper prints.
    note : str
        What the paper leaves open, and our choice.
    """

    file: str
    columns: tuple[str, ...]
    k: int
    n: int | None
    printed: tuple[float, float]
    note: str


ENCODINGS: Mapping[str, Encoding] = {
    "Clave": Encoding(
        *("firm_teacher_clave.csv", ("v2", "forward_clave"), 2, None, (0.298, 0.298)),
        "two columns 'randomly selected': the only pair near the printed .298 (two onsets reach .07); all 10,800 rows",
    ),
    "Mushroom": Encoding(
        *("mushroom.csv", ("stalk-root", "ring-type"), 5, None, (0.209, 0.209)),
        "the two columns of five labels ('?' is one), of the printed correlation and skewness; nothing is merged",
    ),
    "Adult": Encoding(
        *("adult.csv.gz", ("sex", "marital-status", "relationship"), 2, 10_000, (0.43, 0.95)),
        "married or not (labels that begin with 'Married'), husband or wife or neither; 10,000 rows drawn at random",
    ),
    "Clave 16": Encoding(
        *("firm_teacher_clave.csv", tuple(f"v{i}" for i in range(1, 17)), 2, None, (-0.07, 0.05)),
        "the sixteen onsets, all 10,800 rows",
    ),
    "Nursery": Encoding(
        *("nursery.csv", ("parents", "has_nurs", "form", "children", "housing", "social", "health", "class"), 3, None),
        (-0.07, 0.05),
        "all columns but finance; 'frequency-based grouping' is read as the two commonest labels and Other",
    ),
    "Mushroom 9": Encoding(
        "mushroom.csv",
        (
            *("cap-shape", "cap-color", "odor", "gill-color", "stalk-color-above-ring", "stalk-color-below-ring"),
            *("spore-print-color", "population", "habitat"),
        ),
        *(6, None, (-0.37, 0.6)),
        "the nine columns of more than five labels, the five commonest and Other",
    ),
}
"""Data sets by name: three from the PoPETs version (Table 3), three from the preprint (Table I)."""

PRINTED_DATA = ("Clave", "Mushroom", "Adult")
PREPRINT_DATA = ("Clave 16", "Nursery", "Mushroom 9")


def labels_of(name: str, column: str, values: NDArray[np.str_], k: int) -> NDArray[np.str_]:
    """Return the labels of one column after merging to at most k."""
    if name == "Adult" and column == "marital-status":
        return np.where(np.char.startswith(values, MARRIED), "married", "alone")
    if name == "Adult" and column == "relationship":
        return np.where(np.isin(values, SPOUSES), "spouse", "other")
    found, counts = np.unique(values, return_counts=True)
    if len(found) <= k:
        return values
    commonest = found[np.argsort(-counts, kind="stable")[: k - 1]]
    return np.where(np.isin(values, commonest), values, "Other")


@cache
def codes(name: str) -> Codes:
    """Return the records of a data set, int64[rows, d]."""
    encoding = ENCODINGS[name]
    options = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(encoding.columns, "string"))
    table = pyarrow.csv.read_csv(data_file(encoding.file), convert_options=options)
    columns = []
    for column in encoding.columns:
        values = table.column(column).to_numpy().astype(np.str_)
        columns.append(np.unique(labels_of(name, column, values, encoding.k), return_inverse=True)[1])
    return np.stack(columns, axis=1).astype(np.int64)


@cache
def everybody(name: str) -> People:
    """Return all rows of a data set as contributors."""
    records = codes(name)
    return people(records, (ENCODINGS[name].k,) * records.shape[1])


def sample(cell: Cell, rng: SimulationRandomness) -> People:
    """Return the contributors of one repetition."""
    rows = everybody(cell["data"])
    n = ENCODINGS[cell["data"]].n
    return rows if n is None else rows.split(n, rng.generator)[0]


def correlations(name: str) -> list[float]:
    """Return Pearson's correlation of the codes of every pair of attributes, as the papers measure dependence."""
    matrix: Floats = np.asarray(np.corrcoef(codes(name).T))
    found: list[float] = matrix[np.triu_indices(len(matrix), 1)].tolist()
    return found

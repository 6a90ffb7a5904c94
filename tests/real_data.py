"""Real data sets as integer records, from the directory that the environment variable DENIABLE_DATA names.

The files are not part of the project (their licences differ). Encodings, and nothing is tuned to a result:

* **categorical columns**: codes in sorted order of the values as they stand; "?" (missing in Adult) is a category;
* **numeric columns**: quartiles, that is right-closed bins between the column's distinct quartiles. Bins that would be
  empty because quartiles coincide do not exist: Adult's capital gains become "0" and "more".

The paper bins numeric columns too and does not say how; quartiles are the one rule that needs no choice per column.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from numpy.typing import NDArray

ADULT_NUMERIC = ("age", "fnlwgt", "capital-gain", "capital-loss", "hours-per-week")
CARDIO_NUMERIC = ("age", "height", "weight", "ap_hi", "ap_lo")

requires_data = pytest.mark.skipif(
    not os.environ.get("DENIABLE_DATA"),
    reason="real data are not distributed with the project: set DENIABLE_DATA to a directory that has them",
)


class Table(NamedTuple):
    """A data set.

    Parameters
    ----------
    records : uint8[n, d]
        Codes, column j in 0..sizes[j]-1; every code occurs.
    sizes : tuple of int
        Number of categories of every attribute.
    names : tuple of str
        Attribute names.
    """

    records: NDArray[np.uint8]
    sizes: tuple[int, ...]
    names: tuple[str, ...]

    def select(self, names: Sequence[str]) -> Table:
        """Return the table of some attributes, in the order given."""
        columns = [self.names.index(name) for name in names]
        return Table(self.records[:, columns], tuple(self.sizes[j] for j in columns), tuple(names))


def adult() -> Table:
    """UCI Adult, 48,842 x 15: all columns, the 14 features and income; numeric ones by quartiles.

    ``education-num`` is kept: with its 16 values it is an ordering of ``education``.
    """
    return _encoded(_read("adult.csv.gz"), ADULT_NUMERIC)


def celeba() -> Table:
    """CelebA attribute labels, 202,599 x 40 bits."""
    return _encoded(_read("celeba_attr.csv.gz"), ())


def cardio() -> Table:
    """Cardiovascular disease, 70,000 x 12: 11 features and ``cardio``, without the id; numeric ones by quartiles."""
    return _encoded(_read("cardio_train.csv.gz", ";").drop_columns(["id"]), CARDIO_NUMERIC)


def lfw() -> Table:
    """Labelled Faces in the Wild, signs of 73 attribute scores, 13,143 x 73 bits."""
    return _encoded(_read("lfw_attributes_sign.csv.gz"), ())


def common_faces() -> tuple[Table, Table]:
    """CelebA and LFW restricted to the 38 attribute names they share, in CelebA's order.

    The paper uses 21 of them and does not say which.
    """
    faces, public = celeba(), lfw()
    shared = [name for name in faces.names if name in public.names]
    return faces.select(shared), public.select(shared)


def quartiles(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the right-closed quartile bin of every value; equal quartiles make one bound, and leave bins empty.

    >>> quartiles(np.array([0.0, 0, 0, 0, 5, 7])).tolist()
    [0, 0, 0, 0, 2, 2]
    """
    bounds = np.unique(np.quantile(values, [0.25, 0.5, 0.75]))
    return np.searchsorted(bounds, values, side="left")


def _read(name: str, delimiter: str = ",") -> pa.Table:
    path = Path(os.environ["DENIABLE_DATA"]) / name
    return pyarrow.csv.read_csv(path, parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter))


def _encoded(table: pa.Table, numeric: Sequence[str]) -> Table:
    columns, sizes = [], []
    for name in table.column_names:
        values = table.column(name).to_numpy()
        binned = quartiles(values.astype(np.float64)) if name in numeric else values
        categories, codes = np.unique(binned, return_inverse=True)
        columns.append(codes.astype(np.uint8))
        sizes.append(len(categories))
    return Table(np.column_stack(columns), tuple(sizes), tuple(table.column_names))

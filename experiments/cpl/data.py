"""Adult, CelebA, Cardio and LFW as integer records, from the directory that ``DENIABLE_DATA`` names.

The files are not part of the project (their licences differ). DSS, the paper's fourth data set, is a table of an
Australian government department that no source at hand offers: every experiment goes without it.

The paper bins numeric columns and does not say how. Here nothing is tuned to a result:

* **categorical columns**: codes in sorted order of the values as they stand; "?" (missing in Adult) is a category;
* **numeric columns**: quartiles, that is right-closed bins between the column's distinct quartiles. Bins that would be
  empty because quartiles coincide do not exist: Adult's capital gains become "0" and "more".

Quartiles are the one rule that needs no choice per column. `adult` and `cardio` take another rule too, so that an
experiment can show how much the published figures depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
from numpy.typing import NDArray

from experiments.harness import data_file

ADULT_NUMERIC = ("age", "fnlwgt", "capital-gain", "capital-loss", "hours-per-week")
CARDIO_NUMERIC = ("age", "height", "weight", "ap_hi", "ap_lo")

COMMON_FACES = 21
"""Attributes of CelebA that the paper compares with LFW. It does not list them; see `common_faces`."""

Binning = Callable[[NDArray[np.float64]], NDArray[np.intp]]


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


def quartiles(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the right-closed quartile bin of every value; equal quartiles make one bound, and leave bins empty.

    >>> quartiles(np.array([0.0, 0, 0, 0, 5, 7])).tolist()
    [0, 0, 0, 0, 2, 2]
    """
    return quantiles(values, 4)


def quantiles(values: NDArray[np.float64], bins: int) -> NDArray[np.intp]:
    """Return the right-closed bin of every value between the distinct quantiles that make `bins` equal shares.

    >>> quantiles(np.array([1.0, 2, 3, 4, 5, 6]), 3).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    bounds = np.unique(np.quantile(values, np.arange(1, bins) / bins))
    return np.searchsorted(bounds, values, side="left")


def equal_widths(values: NDArray[np.float64], bins: int) -> NDArray[np.intp]:
    """Return the bin of every value when the range is cut into `bins` equal parts.

    >>> equal_widths(np.array([0.0, 1, 2, 10]), 5).tolist()
    [0, 0, 1, 4]
    """
    low, high = values.min(), values.max()
    inner = low + (high - low) * np.arange(1, bins) / bins
    return np.searchsorted(inner, values, side="right")


def adult(binning: Binning = quartiles, without: tuple[str, ...] = (), complete: bool = False) -> Table:
    """UCI Adult, 48,842 x 15: the 14 features and income; numeric columns by quartiles.

    ``education-num`` is kept: with its 16 values it is an ordering of ``education``.

    Parameters
    ----------
    binning : callable
        Numeric values -> bin numbers.
    without : tuple of str
        Columns to leave out.
    complete : bool
        Whether rows with a missing value ("?") are left out: 45,222 remain.
    """
    table = _read("adult.csv.gz").drop_columns(list(without))
    if complete:
        known = np.ones(len(table), dtype=np.bool_)
        for column in table.columns:
            known &= column.to_numpy() != "?"
        table = table.filter(pa.array(known))
    return _encoded(table, ADULT_NUMERIC, binning)


@cache
def celeba() -> Table:
    """CelebA attribute labels, 202,599 x 40 bits."""
    return _encoded(_read("celeba_attr.csv.gz"), ())


def cardio(binning: Binning = quartiles) -> Table:
    """Cardiovascular disease, 70,000 x 12: 11 features and ``cardio``, without the id; numeric ones by quartiles."""
    return _encoded(_read("cardio_train.csv.gz", ";").drop_columns(["id"]), CARDIO_NUMERIC, binning)


@cache
def lfw() -> Table:
    """Labelled Faces in the Wild, signs of 73 attribute scores, 13,143 x 73 bits."""
    return _encoded(_read("lfw_attributes_sign.csv.gz"), ())


def common_faces(count: int | None = None) -> tuple[Table, Table]:
    """CelebA and LFW restricted to attribute names they share, in CelebA's (alphabetical) order.

    They share 38. The paper uses 21 of them and does not say which; ``common_faces(COMMON_FACES)`` is the first 21.
    """
    faces, public = celeba(), lfw()
    shared = [name for name in faces.names if name in public.names][:count]
    return faces.select(shared), public.select(shared)


LOADERS: dict[str, Callable[[], Table]] = {"CelebA": celeba, "Adult": cache(adult), "Cardio": cache(cardio)}
"""The paper's data sets that were available to us, loaded once."""


def _read(name: str, delimiter: str = ",") -> pa.Table:
    return pyarrow.csv.read_csv(data_file(name), parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter))


def _encoded(table: pa.Table, numeric: Sequence[str], binning: Binning = quartiles) -> Table:
    columns, sizes = [], []
    for name in table.column_names:
        values = table.column(name).to_numpy()
        binned = binning(values.astype(np.float64)) if name in numeric else values
        categories, codes = np.unique(binned, return_inverse=True)
        columns.append(codes.astype(np.uint8))
        sizes.append(len(categories))
    return Table(np.column_stack(columns), tuple(sizes), tuple(table.column_names))

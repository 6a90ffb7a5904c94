"""Adult, CelebA, Cardio and LFW as integer records, from the directory that ``DENIABLE_DATA`` names.

The files are not part of the project (their licences differ). DSS, the paper's fourth data set, is a table of an
Australian government department. We have found no source of this table, so that no experiment uses it.

The paper bins numeric columns and does not say how. Our bins are not tuned to any result:

* **categorical columns**: codes in sorted order of the unchanged values; "?" (missing in Adult) is a category;
* **numeric columns**: right-closed bins between the column's distinct quartiles. If quartiles coincide, there are fewer
  bins: Adult's capital gains become "0" and "more".

Quartiles need no choice per column. `adult` and `cardio` also accept another rule, so that an experiment can show how
much the published figures depend on the rule.
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
"""Number of CelebA's attributes that the paper compares with LFW without listing them; see `common_faces`."""

Binning = Callable[[NDArray[np.float64]], NDArray[np.intp]]


class Table(NamedTuple):
    """A data set.

    Parameters
    ----------
    records : uint8[n, d]
        Codes; column j has codes 0..sizes[j]-1, and each code occurs.
    sizes : tuple of int
        Number of categories of each attribute.
    names : tuple of str
        Attribute names.
    """

    records: NDArray[np.uint8]
    sizes: tuple[int, ...]
    names: tuple[str, ...]

    def select(self, names: Sequence[str]) -> Table:
        """Return the table restricted to some attributes, in the order given."""
        columns = [self.names.index(name) for name in names]
        return Table(self.records[:, columns], tuple(self.sizes[j] for j in columns), tuple(names))


def quartiles(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the right-closed quartile bin of each value; equal quartiles make one bound, and leave bins empty.

    >>> quartiles(np.array([0.0, 0, 0, 0, 5, 7])).tolist()
    [0, 0, 0, 0, 2, 2]
    """
    return quantiles(values, 4)


def quantiles(values: NDArray[np.float64], bins: int) -> NDArray[np.intp]:
    """Return the right-closed bin of each value, between distinct quantiles that divide the values into equal shares.

    >>> quantiles(np.array([1.0, 2, 3, 4, 5, 6]), 3).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    bounds = np.unique(np.quantile(values, np.arange(1, bins) / bins))
    return np.searchsorted(bounds, values, side="left")


def equal_widths(values: NDArray[np.float64], bins: int) -> NDArray[np.intp]:
    """Return the bin of each value when the range is divided into `bins` equal parts.

    >>> equal_widths(np.array([0.0, 1, 2, 10]), 5).tolist()
    [0, 0, 1, 4]
    """
    low, high = values.min(), values.max()
    inner = low + (high - low) * np.arange(1, bins) / bins
    return np.searchsorted(inner, values, side="right")


def adult(binning: Binning = quartiles, without: tuple[str, ...] = (), complete: bool = False) -> Table:
    """UCI Adult, 48,842 x 15: the 14 features and income; quartiles of numeric columns.

    ``education-num`` is kept: its 16 values put ``education`` in an order.

    Parameters
    ----------
    binning : callable
        Numeric values -> bin numbers.
    without : tuple of str
        Columns to leave out.
    complete : bool
        Whether to leave out rows with a missing value ("?"); then 45,222 remain.
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
    """CelebA attribute labels: 202,599 rows of 40 bits."""
    return _encoded(_read("celeba_attr.csv.gz"), ())


def cardio(binning: Binning = quartiles) -> Table:
    """Cardiovascular disease, 70,000 x 12: 11 features and ``cardio``, without the id; quartiles of numeric columns."""
    return _encoded(_read("cardio_train.csv.gz", ";").drop_columns(["id"]), CARDIO_NUMERIC, binning)


@cache
def lfw() -> Table:
    """Labelled Faces in the Wild: signs of 73 attribute scores, 13,143 rows of 73 bits."""
    return _encoded(_read("lfw_attributes_sign.csv.gz"), ())


def common_faces(count: int | None = None) -> tuple[Table, Table]:
    """CelebA and LFW, restricted to the attribute names that they share, in CelebA's (alphabetical) order.

    They share 38. The paper uses 21 of them and does not say which; ``common_faces(COMMON_FACES)`` is the first 21.
    """
    faces, public = celeba(), lfw()
    shared = [name for name in faces.names if name in public.names][:count]
    return faces.select(shared), public.select(shared)


LOADERS: dict[str, Callable[[], Table]] = {"CelebA": celeba, "Adult": cache(adult), "Cardio": cache(cardio)}
"""The paper's data sets that are available to us; each is loaded once."""


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

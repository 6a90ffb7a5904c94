"""Settings of the real data that the text does not give: number of readings that fit the printed correlations.

Mushroom: "we selected one attribute and merged adjacent categorical values (after encoding) so that its domain size
matched that of the other"; Table 3 prints five values and a correlation of .209. Clave: two randomly selected columns
of binary activation vectors, .298.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pyarrow.csv
from numpy.typing import NDArray

from experiments.corr_rr.claims import NEVER, RFD
from experiments.corr_rr.layouts import EPSILON
from experiments.corr_rr.measure import moments, paired_ratio
from experiments.corr_rr.methods import Setting, errors, four
from experiments.corr_rr.paper import PAPER
from experiments.corr_rr.populations import Codes, Floats, People
from experiments.harness import Cell, Run, data_file
from experiments.ocms.statistics import randomness

MUSHROOM, CLAVE = "mushroom.csv", "firm_teacher_clave.csv"
PRINTED = {MUSHROOM: 0.209, CLAVE: 0.298}
ROUNDING = 0.0005
VALUES = 5
"""Domain size of Mushroom in Table 3."""


class Reading(NamedTuple):
    """Two columns, with five values each.

    Parameters
    ----------
    columns : (str, str)
        Names of the columns.
    cuts : (tuple of int, tuple of int)
        Codes at which a new group of adjacent codes begins. If nothing is merged, these are all codes but the first.
    correlation : float
        Pearson's correlation of the merged codes.
    """

    columns: tuple[str, str]
    cuts: tuple[tuple[int, ...], tuple[int, ...]]
    correlation: float

    @property
    def fits(self) -> bool:
        """Whether the absolute correlation rounds to the printed one."""
        return abs(abs(self.correlation) - PRINTED[MUSHROOM]) <= ROUNDING


def columns_of(name: str) -> dict[str, Codes]:
    """Return each column of a file as codes of its sorted labels."""
    table = pyarrow.csv.read_csv(data_file(name))
    return {
        column: np.unique(table.column(column).to_numpy().astype(np.str_), return_inverse=True)[1].astype(np.int64)
        for column in table.column_names
    }


def cuts_of(labels: int) -> list[tuple[int, ...]]:
    """Return all ways to merge adjacent codes into five groups."""
    return list(combinations(range(1, labels), VALUES - 1))


def groups(labels: int, cuts: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the group of each code."""
    return np.searchsorted(np.array(cuts), np.arange(labels), side="right").astype(np.int64)


def correlations(first: Codes, second: Codes) -> Iterator[tuple[tuple[tuple[int, ...], tuple[int, ...]], float]]:
    """Yield the correlation of the merged codes for all mergings of two columns."""
    sizes = int(first.max()) + 1, int(second.max()) + 1
    table: Floats = np.zeros(sizes)
    np.add.at(table, (first, second), 1 / len(first))
    every = [np.stack([groups(size, cuts) for cuts in cuts_of(size)]) for size in sizes]
    codes = [one.astype(np.float64) for one in every]
    margins = table.sum(axis=1), table.sum(axis=0)
    means = [one @ margin for one, margin in zip(codes, margins, strict=True)]
    deviations = [np.sqrt(one**2 @ margin - m**2) for one, margin, m in zip(codes, margins, means, strict=True)]
    covariances = codes[0] @ table @ codes[1].T - np.outer(*means)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = covariances / np.outer(*deviations)
    for i, a in enumerate(cuts_of(sizes[0])):
        for j, b in enumerate(cuts_of(sizes[1])):
            yield (a, b), float(found[i, j])


def mushroom() -> dict[str, list[Reading]]:
    """Return all readings of Mushroom, by the number of columns that are merged."""
    columns = {name: codes for name, codes in columns_of(MUSHROOM).items() if codes.max() + 1 >= VALUES}
    found: dict[str, list[Reading]] = {"neither merged": [], "one merged": [], "both merged": []}
    for a, b in combinations(columns, 2):
        merged = sum(int(columns[name].max()) + 1 > VALUES for name in (a, b))
        kind = list(found)[merged]
        found[kind] += [Reading((a, b), cuts, value) for cuts, value in correlations(columns[a], columns[b])]
    return found


def people_of(reading: Cell) -> People:
    """Return all rows of Mushroom in one reading."""
    columns = columns_of(MUSHROOM)
    codes = [
        groups(int(columns[name].max()) + 1, tuple(cuts))[columns[name]]
        for name, cuts in zip(reading["columns"], reading["cuts"], strict=True)
    ]
    places = np.ravel_multi_index(tuple(codes), (VALUES, VALUES))
    held, counts = np.unique(places, return_counts=True)
    return People(np.stack(np.unravel_index(held, (VALUES, VALUES)), axis=1).astype(np.int64), counts, (VALUES,) * 2)


def measure(cell: Cell) -> Cell:
    """Measure the paper's four mechanisms on one reading."""
    people, table = people_of(cell), []
    for run in range(cell["runs"]):
        setting = Setting(cell["epsilon"], round(cell["share"] * people.n))
        table.append(errors(people.frequencies, four(people, setting, randomness(cell, run)), ["raw"]))
    return moments(table)


@PAPER.experiment("readings", "Mushroom and Clave: number of encodings that fit the printed correlations", runs=200)
def readings(run: Run) -> None:
    """Count the readings; check section 4.4's sentence on Mushroom if a column of five values is kept."""
    found = mushroom()
    rows = [
        {"data": "Mushroom", "readings": kind, "number": len(every), "fit": sum(one.fits for one in every)}
        for kind, every in found.items()
    ]
    clave = columns_of(CLAVE)
    pairs = sorted(
        (abs(abs(float(np.corrcoef(clave[a], clave[b])[0, 1])) - PRINTED[CLAVE]), a, b)
        for a, b in combinations(clave, 2)
    )
    fit = sum(distance <= ROUNDING for distance, _, _ in pairs)
    rows.append({"data": "Clave", "readings": "pairs of columns", "number": len(pairs), "fit": fit})
    run.save_table(rows)
    run.show(rows, title="number of readings whose correlation rounds to the printed one")
    nearest = [{"columns": f"{a} x {b}", "distance": distance} for distance, a, b in pairs[:3]]
    run.save_table(nearest, "-clave")
    run.show(nearest, title="Clave: the nearest pairs")
    chosen = [*found["neither merged"], *(one for one in found["one merged"] if one.fits)]
    base: Cell = {"share": 0.1}
    cells = run.cells(
        [
            base | {"columns": list(one.columns), "cuts": [list(part) for part in one.cuts], "epsilon": epsilon}
            for one in chosen
            for epsilon in EPSILON
        ],
        measure,
    )
    behind = []
    for place, cell in enumerate(cells):
        ratio = paired_ratio(cell, "Corr-RR", RFD)
        behind.append(
            {
                "columns": " x ".join(cell["columns"]),
                "correlation": chosen[place // len(EPSILON)].correlation,
                "cuts": " ".join(str(cut) for part in cell["cuts"] for cut in part),
                "epsilon": cell["epsilon"],
                "Corr-RR over RS+RFD": ratio.value,
                "error": ratio.error,
                "ahead": ratio.verdict(NEVER, 1),
            }
        )
    run.save_table(behind, "-mushroom")
    run.show(behind, title="Mushroom: Corr-RR's error over RS+RFD's in every reading")

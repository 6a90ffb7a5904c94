"""Contributors of a setting: the papers' synthetic records, other synthetic kinds, and views of real data.

A setting determines its contributors; only the collection is repeated. Contributors of the Dirichlet kinds hold at most
4096 distinct records, so that an aggregate is drawn quickly.
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from experiments.corr_rr.populations import Codes, Floats, People, synthetic
from experiments.harness import Cell, data_file

DISTINCT = 4096
"""Largest number of distinct records of a population of Dirichlet kind."""


class Population(NamedTuple):
    """Contributors, and the groups of attributes that share a domain.

    Parameters
    ----------
    people : People
        Distinct records with counts.
    groups : tuple of tuples of int
        Attributes with one domain, for the decoder.
    """

    people: People
    groups: tuple[tuple[int, ...], ...]


def population(cell: Cell) -> Population:
    """Return the contributors of a setting, the same on each call."""
    if "file" in cell:
        return _view(cell)
    seed = zlib.crc32(repr(sorted((name, cell[name]) for name in cell if name not in IRRELEVANT)).encode())
    rng = np.random.default_rng([seed, cell["sample"]])
    sizes, n = tuple(cell["sizes"]), cell["n"]
    if "data" in cell:
        law = synthetic(cell["data"], cell["source"], sizes[0], len(sizes), cell["rho"], rng)
        return Population(law.draw(n, rng), _equal(sizes))
    drawn = SOURCES[cell["source"]](cell, min(n, DISTINCT), rng)
    counts = np.ones(len(drawn), dtype=np.int64)
    if n > len(drawn):
        counts += rng.multinomial(n - len(drawn), np.full(len(drawn), 1 / len(drawn)))
    return _grouped(drawn, counts, sizes, _equal(sizes))


IRRELEVANT = ("epsilon", "runs", "seed", "n1")
"""Parts of a setting that do not change its contributors."""


# ---------------------------------------------------------------- Dirichlet kinds


def _columns(marginals: list[Floats], n: int, rng: np.random.Generator) -> Codes:
    return np.stack([rng.choice(len(m), n, p=m) for m in marginals], axis=1)


def _independent(cell: Cell, n: int, rng: np.random.Generator) -> Codes:
    """Return independent attributes, each with its own marginal from Dirichlet(alpha, ..., alpha)."""
    return _columns([_dirichlet(np.full(k, cell["alpha"]), rng) for k in cell["sizes"]], n, rng)


def _alike(cell: Cell, n: int, rng: np.random.Generator) -> Codes:
    """Return independent attributes with marginals from Dirichlet(c m) around one m, if their domains are alike."""
    centres = {k: _dirichlet(np.full(k, cell["alpha"]), rng) for k in sorted(set(cell["sizes"]))}
    return _columns([_dirichlet(cell["closeness"] * centres[k], rng) for k in cell["sizes"]], n, rng)


def _classes(cell: Cell, n: int, rng: np.random.Generator) -> Codes:
    """Return dependent attributes: latent classes, with a marginal for each class and attribute."""
    shares = _dirichlet(np.ones(cell["classes"]), rng)
    tables = [[_dirichlet(np.full(k, cell["alpha"]), rng) for k in cell["sizes"]] for _ in shares]
    chosen = rng.choice(len(shares), n, p=shares)
    records = np.empty((n, len(cell["sizes"])), dtype=np.int64)
    for c, marginals in enumerate(tables):
        rows = chosen == c
        records[rows] = _columns(marginals, int(rows.sum()), rng)
    return records


def _copies(cell: Cell, n: int, rng: np.random.Generator) -> Codes:
    """Return dependent attributes: each copies its predecessor with probability rho (scaled), else is drawn anew."""
    sizes = cell["sizes"]
    records = _independent(cell, n, rng)
    for j in range(1, len(sizes)):
        copied = records[:, j - 1] * sizes[j] // sizes[j - 1]
        records[:, j] = np.where(rng.random(n) < cell["rho"], copied, records[:, j])
    return records


def _zipf(cell: Cell, n: int, rng: np.random.Generator) -> Codes:
    """Return independent attributes whose shares fall as a power of the rank, in a random order."""
    laws = [np.arange(1.0, k + 1) ** -cell["power"] for k in cell["sizes"]]
    return _columns([rng.permutation(law / law.sum()) for law in laws], n, rng)


def _spike(cell: Cell, n: int, rng: np.random.Generator) -> Codes:
    """Return independent attributes in which one value has the given share; Dirichlet(alpha) divides the rest."""
    marginals = []
    for k in cell["sizes"]:
        rest = (1 - cell["share"]) * _dirichlet(np.full(k - 1, cell["alpha"]), rng)
        marginals.append(np.insert(rest, int(rng.integers(k)), cell["share"]))
    return _columns([m / m.sum() for m in marginals], n, rng)


SOURCES = {
    "independent": _independent,
    "alike": _alike,
    "classes": _classes,
    "copies": _copies,
    "zipf": _zipf,
    "spike": _spike,
}
"""Synthetic kinds by name, in addition to those of the papers."""


def _dirichlet(concentration: Floats, rng: np.random.Generator) -> Floats:
    # Tiny concentrations may underflow to 0/0. One value then has the whole probability.
    drawn = rng.standard_gamma(np.maximum(concentration, 1e-3))
    if drawn.sum() <= 0:
        drawn[int(rng.integers(len(drawn)))] = 1.0
    shares: Floats = drawn / drawn.sum()
    return shares


# ---------------------------------------------------------------- real data


@cache
def _table(name: str) -> pd.DataFrame:
    separator = ";" if name.startswith("cardio") else ","
    return pd.read_csv(data_file(name), sep=separator, dtype=str, keep_default_na=False)


def _view(cell: Cell) -> Population:
    """Return columns of a file, in groups that share a domain.

    The domain is the sorted union of the values of the group's columns. `merge` forms contiguous groups of the sorted
    values if a domain is larger; `n` draws that many rows.
    """
    table = _table(cell["file"])
    rows: Codes = np.arange(len(table), dtype=np.int64)
    if cell.get("n", len(table)) < len(table):
        rows = np.random.default_rng(cell["sample"]).choice(rows, cell["n"], replace=False)
    codes, sizes, groups = list[Codes](), list[int](), list[tuple[int, ...]]()
    for names in cell["columns"]:
        values = sorted({value for name in names for value in table[name].unique()}, key=_natural)
        place = {value: i for i, value in enumerate(values)}
        k = min(len(values), cell.get("merge", len(values)))
        groups.append(tuple(range(len(codes), len(codes) + len(names))))
        for name in names:
            codes.append(table[name].map(place).to_numpy(dtype=np.int64)[rows] * k // len(values))
            sizes.append(k)
    records = np.stack(codes, axis=1)
    return _grouped(records, np.ones(len(records), dtype=np.int64), tuple(sizes), tuple(groups))


def _natural(value: str) -> tuple[float, str]:
    try:
        return float(value), ""
    except ValueError:
        return float("inf"), value


def _equal(sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(j for j, k in enumerate(sizes) if k == size) for size in dict.fromkeys(sizes))


def _grouped(records: Codes, counts: Codes, sizes: tuple[int, ...], groups: tuple[tuple[int, ...], ...]) -> Population:
    distinct, inverse = np.unique(records, axis=0, return_inverse=True)
    totals = np.bincount(inverse.ravel(), weights=counts).astype(np.int64)
    return Population(People(distinct, totals, sizes), groups)

"""Records prepared for leakage analysis, and counted pair by pair.

The code leaves out and names attributes and categories about which the data say nothing. A constant attribute has no
two values that could be told apart. There is no distribution conditional on a category that nobody holds. The code also
states the effect of few records on the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import fsum
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import Codes, checked_records, checked_sizes, listed
from deniable.errors import InvalidInputError, TooLargeError, quoted, unknown_name
from deniable.leakage.prior.correlation import Release, check_releases, enumerated, is_budget, release_epsilon
from deniable.leakage.prior.distributions import Floats, joint_from_records
from deniable.survey.schema import Schema

Releases: TypeAlias = float | Sequence[Release]
"""One release per attribute, or one number, which is the epsilon of every attribute."""

MAX_CATEGORIES = 1 << 12
"""Largest number of categories of all attributes together: 128 MiB of pair counts."""

SMALL_CELL = 5
"""A cell with fewer records than this is small."""

_BLOCK_CELLS = 1 << 19
_RARE_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Contingency tables of all pairs of attributes, as the blocks of one symmetric matrix.

    Parameters
    ----------
    counts : int64[K, K]
        K categories of all attributes; block (i, j) is the two-way table of attributes i and j.
    starts : tuple of int
        First category of every attribute, and K.
    """

    counts: NDArray[np.int64]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, codes: Codes, sizes: Sequence[int]) -> PairCounts:
        """Return the pair counts of checked records int[n, d], counted one block of rows at a time.

        Raises
        ------
        TooLargeError
            If there are more than MAX_CATEGORIES categories.
        """
        starts = tuple(accumulate(sizes, initial=0))
        total, d = starts[-1], len(sizes)
        if total > MAX_CATEGORIES:
            raise TooLargeError(
                f"pairwise leakage is computed for at most {MAX_CATEGORIES} categories in total over all attributes, "
                f"got {total}: merge rare categories, or leave attributes out"
            )
        counts = np.zeros(total * total, dtype=np.int64)
        step = max(1, _BLOCK_CELLS // d)
        for start in range(0, len(codes), step):
            columns = codes[start : start + step].T.astype(np.int64) + np.array(starts[:-1])[:, None]
            for i in range(d):
                rows = slice(starts[i] * total, starts[i + 1] * total)
                cells = (columns[i] - starts[i]) * total + columns[i:]
                counts[rows] += np.bincount(cells.ravel(), minlength=sizes[i] * total)
        matrix = counts.reshape(total, total)
        for i in range(d):
            matrix[starts[i + 1] :, starts[i] : starts[i + 1]] = matrix[starts[i] : starts[i + 1], starts[i + 1] :].T
        return cls(matrix, starts)

    def table(self, i: int, j: int) -> NDArray[np.int64]:
        """Return the two-way table of attributes i (rows) and j (columns)."""
        return self.counts[self.starts[i] : self.starts[i + 1], self.starts[j] : self.starts[j + 1]]

    def conditional(self, i: int, j: int) -> Floats:
        """Return P(X_j | X_i), rows of attribute i."""
        table = self.table(i, j)
        rows: Floats = table / table.sum(axis=1, keepdims=True)
        return rows

    def mutual_information(self, i: int, j: int) -> float:
        """Return the mutual information of attributes i and j, in nats."""
        joint = self.table(i, j) / self.table(i, j).sum()
        product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        held = joint > 0
        return max(0.0, fsum(joint[held] * np.log(joint[held] / product[held])))


@dataclass(frozen=True, eq=False)
class Observed:
    """Records prepared for leakage analysis, as `observed` returns them.

    Parameters
    ----------
    codes : int[n, d]
        Records of the attributes that vary, with codes for the categories that occur.
    sizes : tuple of int
        Numbers of categories that occur, at least two for each attribute.
    names : tuple of str
        Names of the attributes that vary.
    attributes : tuple of int
        Columns of these attributes in the original records.
    categories : tuple of int64 arrays
        Original codes of the categories that occur, for each attribute.
    domains : tuple of int
        Original sizes of *all* attributes, with categories that nobody holds.
    notes : tuple of str
        Notes on what was left out, with names.
    """

    codes: Codes
    sizes: tuple[int, ...]
    names: tuple[str, ...]
    attributes: tuple[int, ...]
    categories: tuple[NDArray[np.int64], ...]
    domains: tuple[int, ...]
    notes: tuple[str, ...]

    @cached_property
    def counts(self) -> PairCounts:
        """Two-way tables of the categories that occur; TooLargeError for more than `MAX_CATEGORIES` categories."""
        return PairCounts.of(self.codes, self.sizes)

    @property
    def kept_domains(self) -> tuple[int, ...]:
        """Domain sizes of the attributes that vary, with categories that nobody holds."""
        return tuple(self.domains[j] for j in self.attributes)

    def widened(self, rows: Floats, j: int) -> Floats:
        """Return rows over the whole domain of attribute j, from rows over the categories that occur."""
        wide = np.zeros((len(rows), self.domains[self.attributes[j]]))
        wide[:, self.categories[j]] = rows
        return wide

    def conditional(self, i: int, j: int) -> Floats:
        """Return P(X_j = u | X_i = x), shape (categories of i that occur, domain size of j).

        Examples
        --------
        >>> observed(np.array([[0, 0], [0, 1], [1, 1], [1, 1]]), (2, 2)).conditional(0, 1)
        array([[0.5, 0.5],
               [0. , 1. ]])
        """
        return self.widened(self.counts.conditional(i, j), j)

    def frequencies(self, j: int) -> Floats:
        """Return the frequencies of attribute j over its domain."""
        held = np.diagonal(self.counts.table(j, j)) / len(self.codes)
        return self.widened(held[None], j).reshape(-1)

    def joint(self) -> Floats:
        """Return the empirical joint distribution, shape `sizes`; TooLargeError if it is too large."""
        return joint_from_records(self.codes, self.sizes)

    def chosen(self, releases: Releases) -> list[Release]:
        """Return the releases of the attributes that vary, for their original domains."""
        if not isinstance(releases, Sequence):
            return [float(releases)] * len(self.attributes)
        check_releases(releases, len(self.domains))
        return [releases[j] for j in self.attributes]

    def restricted(self, releases: Releases) -> list[Release]:
        """Return the channels of the attributes that vary, with rows for the categories that occur.

        If some category does not occur and the channel is too large to list, the epsilon stands for the channel.
        """
        result = self.chosen(releases)
        for position, (j, seen) in enumerate(zip(self.attributes, self.categories, strict=True)):
            if len(seen) < self.domains[j] and not is_budget(result[position]):
                channel = enumerated(result[position])
                result[position] = release_epsilon(result[position]) if channel is None else channel[seen]
        return result


def observed(records: ArrayLike, sizes: Sequence[int], names: Sequence[str] | None = None) -> Observed:
    """Return records without constant attributes and categories that nobody holds, with notes on what is left out.

    Parameters
    ----------
    records : int[n, d]
        Codes of the records. Codes in column j are in 0..sizes[j]-1.
    sizes : sequence of int
        Domain sizes.
    names : sequence of str, optional
        Attribute names. The default is "attribute 0", ...

    Raises
    ------
    InvalidInputError
        If there are no records, a code is out of range, or every attribute is constant.

    Examples
    --------
    >>> import numpy as np
    >>> data = observed(np.array([[0, 2, 1], [1, 0, 1]]), (2, 3, 2), names=["sex", "job", "adult"])
    >>> data.names, data.sizes, data.codes.tolist()
    (('sex', 'job'), (2, 2), [[0, 1], [1, 0]])
    >>> data.notes
    ('adult is constant in the data: left out', 'job: category 1 does not occur in the data: left out')
    """
    domains = checked_sizes(sizes)
    codes = checked_records(records, domains)
    if len(codes) == 0:
        raise InvalidInputError("records must not be empty, got 0 records")
    shown = [f"attribute {j}" for j in range(len(domains))] if names is None else [str(name) for name in names]
    if len(shown) != len(domains):
        raise InvalidInputError(f"names must name all {len(domains)} attributes, got {len(shown)}")
    seen = [np.flatnonzero(np.bincount(codes[:, j], minlength=size)) for j, size in enumerate(domains)]
    kept = tuple(j for j in range(len(domains)) if len(seen[j]) > 1)
    if not kept:
        raise InvalidInputError(
            f"at least one attribute must vary in the records, but all {len(codes)} records are the same"
        )
    notes = [f"{shown[j]} is constant in the data: left out" for j in range(len(domains)) if j not in kept]
    notes += [missing_note(shown[j], seen[j], domains[j]) for j in kept if len(seen[j]) < domains[j]]
    recoded = np.column_stack([np.searchsorted(seen[j], codes[:, j]) for j in kept])
    return Observed(
        codes=recoded,
        sizes=tuple(len(seen[j]) for j in kept),
        names=tuple(shown[j] for j in kept),
        attributes=kept,
        categories=tuple(seen[j] for j in kept),
        domains=domains,
        notes=tuple(notes),
    )


def varying(codes: Codes, schema: Schema, target: str | None = None) -> Observed:
    """Return the records of the attributes that vary, or raise if fewer than two do, or not the target."""
    if target is not None and target not in schema.names:
        raise unknown_name("target", target, [listed(schema.names)])
    data = observed(codes, schema.sizes, schema.names)
    if target is not None and target not in data.names:
        raise InvalidInputError(
            f"target {quoted(target)} is the same in all records, so reports cannot reveal anything about this "
            "attribute: choose another target"
        )
    if len(data.names) < 2:
        raise InvalidInputError(
            f"at least two attributes must vary in the records, but only {listed(data.names)} varies: a single "
            "attribute has no correlation with others"
        )
    return data


def left_out(data: Observed, schema: Schema) -> tuple[str, ...]:
    """Return what the records say nothing about: constant attributes, categories that nobody holds."""
    constant = [name for name in schema.names if name not in data.names]
    notes = [f"left out, because it is the same in all records: {listed(constant)}"] if constant else []
    for name, attribute, seen in zip(data.names, data.attributes, data.categories, strict=True):
        labels = schema.columns[attribute].labels
        absent = [label for code, label in enumerate(labels) if code not in set(seen.tolist())]
        if absent:
            notes.append(f"{name}: nobody holds {listed(absent)}; nothing can be said about them")
    return tuple(notes)


def warnings_of(data: Observed, schema: Schema, *, exact: bool) -> tuple[str, ...]:
    """Return one sentence for each way in which few records make figures large; if `exact`, also about totals."""
    warnings = []
    rare = []
    for j, (name, attribute) in enumerate(zip(data.names, data.attributes, strict=True)):
        labels = schema.columns[attribute].labels
        held = np.bincount(data.codes[:, j], minlength=data.sizes[j])
        rare += [
            f"{name} {quoted(labels[data.categories[j][c]])} ({held[c]})" for c in np.flatnonzero(held < SMALL_CELL)
        ]
    if rare:
        warnings.append(
            f"{len(rare)} categor{'y is' if len(rare) == 1 else 'ies are'} held by fewer than {SMALL_CELL} records, "
            f"so the leakage about them looks as large as possible: {listed(rare)}. Merge them in a schema, or "
            "leave them out"
        )
    if exact:
        _, counts = np.unique(np.ravel_multi_index(tuple(data.codes.T), data.sizes), return_counts=True)
        few = int(counts[counts < SMALL_CELL].sum())
        if few > _RARE_SHARE * len(data.codes):
            warnings.append(
                f"{few / len(data.codes):.0%} of the records have a combination of answers that fewer than "
                f"{SMALL_CELL} share. Totals then distinguish these very people; in the population, totals are smaller"
            )
    return tuple(warnings)


def missing_note(name: str, seen: NDArray[np.int64], size: int) -> str:
    """Return the note about categories of an attribute that nobody has."""
    missing = np.setdiff1d(np.arange(size), seen)
    shown = ", ".join(str(code) for code in missing[:5]) + (", ..." if len(missing) > 5 else "")
    verb = "category {} does not" if len(missing) == 1 else f"{len(missing)} categories ({{}}) do not"
    return f"{name}: {verb.format(shown)} occur in the data: left out"

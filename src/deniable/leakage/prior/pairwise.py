"""Pairwise leakage of a whole data set, from each attribute about each other attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import expm1, floor, fsum, inf, isfinite, isinf, log10
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.checks import checked_probability
from deniable.core.privacy import Status
from deniable.core.randomness import SimulationRandomness
from deniable.core.result import OPTIONAL, Result
from deniable.errors import InvalidParameterError
from deniable.leakage.prior.correlation import (
    MAX_DOMAIN,
    Release,
    any_mechanism_channel,
    is_budget,
    mechanism_cpl,
    release_epsilon,
    worst_case_cpl,
)
from deniable.leakage.prior.distributions import Floats, conditional_from_joint
from deniable.leakage.prior.empirical_prior import SMALL_CELL, Observed, Releases, observed
from deniable.leakage.prior.uncertain_prior import range_from_counts

_DRAWS, _SEED = 100, 1
_NEGLIGIBLE = 0.02


@dataclass(frozen=True, eq=False)
class Pair(Result):
    """Leakage of a release of `source` about `target`, in nats.

    Parameters
    ----------
    target, source : str
        Names of the attributes.
    epsilon : float
        Leakage of the pair.
    possible : float
        Epsilon of the source's release; no leakage is larger.
    plausible : (float, float) or None
        Range of the leakage for 90% of the populations that these records could have come from. The range is widened to
        include `epsilon` itself, which few records increase. It is given if cells have so few records that it matters.
    delta : float
        Delta of the bound P(event | x) <= e^epsilon P(event | x') + delta; 0 unless the source's release has a delta.
    """

    also: ClassVar = {"text": "text"}

    target: str
    source: str
    epsilon: float
    possible: float
    plausible: tuple[float, float] | None = None
    delta: float = field(default=0.0, metadata=OPTIONAL)

    @property
    def text(self) -> str:
        """The pair in words."""
        figures = (self.epsilon, self.possible, *(self.plausible or ()))
        leaked, possible, *ends = (leakage_text(figure, self.possible) for figure in figures)
        much = " to ".join(ends) if ends else f"up to {leaked}"
        few = f" ({leaked} in these records, of which few tell)" if ends else ""
        rarely = f", with delta {self.delta:.3g}" if self.delta else ""
        return f"releasing {self.source} reveals {much} of a possible {possible} about {self.target}{few}{rarely}"

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class PairwiseLeakage:
    """Leakage between all pairs of attributes, as `pairwise_leakage` returns it.

    Parameters
    ----------
    names : tuple of str
        Names of the d attributes that vary.
    attributes : tuple of int
        Columns of these attributes in the records.
    matrix : float64[d, d]
        Entry [i, j] is the leakage about attribute i by the release of j alone (CPL), in nats. The diagonal is zero.
    direct : float64[d]
        Epsilon of each attribute's own release.
    statuses : tuple of {"exact", "upper bound"}
        Status of each column, which depends on the mechanism of its attribute.
    notes : tuple of str
        Notes on what was left out, with names.
    direct_delta : float64[d]
        Delta of each attribute's own release.
    deltas : float64[d, d]
        Entry [i, j] is the smallest delta that is valid together with the epsilon matrix[i, j]. The definition is the
        relaxation (20) in *The Hidden Cost of Correlation*. Zero without `direct_delta`.
    """

    names: tuple[str, ...]
    attributes: tuple[int, ...]
    matrix: Floats
    direct: Floats
    statuses: tuple[Status, ...]
    notes: tuple[str, ...]
    direct_delta: Floats
    deltas: Floats

    @property
    def tcpl(self) -> float:
        """Total correlation-induced leakage, the sum of all pairs' CPL in nats; an index, not a bound."""
        return fsum(self.matrix.ravel())

    @property
    def additive_figure_not_a_bound(self) -> Floats:
        """Direct leakage plus the sum of pairwise leakages, float64[d]; it can be less than the true total."""
        figure: Floats = self.direct + self.matrix.sum(axis=1)
        return figure

    @property
    def additive_delta_not_a_bound(self) -> Floats:
        """Direct delta plus the sum of pairwise deltas, float64[d]; it can be less than the true total delta."""
        figure: Floats = self.direct_delta + self.deltas.sum(axis=1)
        return figure

    def strongest(self, count: int = 10) -> list[Pair]:
        """Return the pairs with the largest leakage, largest first."""
        return strongest_pairs(self.matrix, self.direct, self.names, count, deltas=self.deltas)


def strongest_pairs(
    matrix: Floats,
    direct: Floats,
    names: Sequence[str],
    count: int,
    target: str | None = None,
    deltas: Floats | None = None,
) -> list[Pair]:
    """Return the pairs with the largest entries of a matrix of leakages, largest first; about the target only."""
    order = (divmod(int(place), len(names)) for place in np.argsort(-matrix, axis=None, kind="stable"))
    rare = np.zeros_like(matrix) if deltas is None else deltas
    pairs = (
        Pair(names[i], names[j], float(matrix[i, j]), float(direct[j]), delta=float(rare[i, j]))
        for i, j in order
        if i != j and target in (None, names[i])
    )
    return list(islice(pairs, count))


def pairwise_leakage(
    records: ArrayLike | Observed,
    sizes: Sequence[int] = (),
    releases: Releases = 1.0,
    names: Sequence[str] | None = None,
    *,
    delta: float = 0.0,
) -> PairwiseLeakage:
    """Return what the release of each attribute leaks about each other attribute (CPL), if records are the prior.

    Parameters
    ----------
    records : int[n, d] or Observed
        Codes of the records, or the result of `observed`. Codes in column j are in 0..sizes[j]-1.
    sizes : sequence of int
        Domain sizes; not needed with an `Observed`.
    releases : float or sequence of mechanisms, channels or epsilons
        Mechanism, channel or epsilon of each attribute's release. A single float is the epsilon of all attributes. An
        epsilon stands for the mechanism with this epsilon that leaks most (`worst_case_cpl`).
    names : sequence of str, optional
        Attribute names.
    delta : float
        Delta of each release for events, in [0, 1]. Releases may then be any (epsilon, delta)-LDP mechanisms. Each
        figure is the largest over these mechanisms, with its smallest delta.

    Raises
    ------
    InvalidInputError
        If a code is out of range, or every attribute is constant.
    InvalidParameterError
        If `delta` is out of range, or not 0 although a mechanism is given.
    TooLargeError
        If all attributes together have more than MAX_CATEGORIES categories.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import GRR
    >>> bald = np.repeat([0, 0, 1, 1], [50, 40, 0, 10])
    >>> male = np.repeat([0, 1, 0, 1], [50, 40, 0, 10])
    >>> leakage = pairwise_leakage(np.column_stack([bald, male]), (2, 2), [GRR(k=2, epsilon=1.0)] * 2, ["Bald", "Male"])
    >>> leakage.matrix.round(3)
    array([[0.   , 0.67 ],
           [0.295, 0.   ]])
    >>> print(leakage.strongest(1)[0])
    releasing Male reveals up to 0.67 of a possible 1.00 about Bald
    >>> round(leakage.tcpl, 2)
    0.97
    """
    data = records if isinstance(records, Observed) else observed(records, sizes, names)
    chosen = data.chosen(releases)
    matrix, statuses = matrix_of(data, chosen)
    direct = np.array([release_epsilon(release) for release in chosen])
    own = own_deltas(delta, chosen)
    deltas = _deltas(data, matrix, direct, own)
    return PairwiseLeakage(data.names, data.attributes, matrix, direct, tuple(statuses), data.notes, own, deltas)


def own_deltas(delta: float, releases: Sequence[Any]) -> Floats:
    """Return the delta of each release: `delta` for any mechanisms with a budget, 0 for attributes not released.

    Raises
    ------
    InvalidParameterError
        If delta is out of range, or not 0 with a mechanism or a channel of its own.

    Examples
    --------
    >>> own_deltas(0.01, [1.0, np.ones((2, 1))])
    array([0.01, 0.  ])
    """
    share = checked_probability("delta", delta)
    shares = np.array([0.0 if np.shape(release)[-1:] == (1,) else share for release in releases])
    for release, own in zip(releases, shares, strict=True):
        if own and not (is_budget(release) or _is_any_mechanism(release)):
            raise InvalidParameterError(
                f"delta must be 0 for a named mechanism, got delta={share}: the guarantee of a named mechanism needs "
                "no delta. To ask about all mechanisms with an epsilon and a delta, give the epsilon in place of the "
                "mechanism"
            )
    return shares


def _is_any_mechanism(release: Any) -> bool:
    """Tell whether a release is the channel that stands for all mechanisms with its epsilon."""
    shape: tuple[int, ...] = np.shape(release)
    if len(shape) != 2 or not 2 <= shape[0] <= MAX_DOMAIN or shape[1] != 2 ** shape[0] - 2:
        return False
    epsilon = release_epsilon(release)
    return isfinite(epsilon) and bool(
        np.allclose(release, any_mechanism_channel(shape[0], epsilon), rtol=1e-12, atol=0)
    )


def _deltas(data: Observed, matrix: Floats, direct: Floats, own: Floats) -> Floats:
    """Return the smallest delta beside each worst-case leakage L, delta (e^L - 1)/(e^epsilon - 1)."""
    deltas = np.zeros_like(matrix)
    for j in np.flatnonzero(own).tolist():
        if direct[j] > 0:
            deltas[:, j] = own[j] * np.expm1(matrix[:, j]) / expm1(direct[j])
        else:
            others = [i for i in range(len(direct)) if i != j]
            deltas[others, j] = [worst_case_cpl(data.conditional(i, j), 0.0, own[j]).delta for i in others]
    return deltas


def matrix_of(data: Observed, releases: Sequence[Release]) -> tuple[Floats, list[Status]]:
    """Return the leakages, and how sure each column is."""
    d = len(data.sizes)
    matrix = np.zeros((d, d))
    statuses: list[Status] = []
    for j, release in enumerate(releases):
        figures = {i: mechanism_cpl(release, data.conditional(i, j)) for i in range(d) if i != j}
        for i, figure in figures.items():
            matrix[i, j] = figure.epsilon
        statuses.append(weakest(*(figure.status for figure in figures.values())))
    return matrix, statuses


def with_ranges(pairs: Sequence[Pair], data: Observed, releases: Sequence[Release]) -> tuple[Pair, ...]:
    """Return the pairs, those with few records in a cell with their range over plausible populations."""
    result = []
    for pair in pairs:
        i, j = data.names.index(pair.target), data.names.index(pair.source)
        table, attribute = data.counts.table(i, j), data.attributes[j]
        if table.min() >= SMALL_CELL:
            result.append(pair)
            continue
        release = releases[attribute]

        def figure(joint: Floats, release: Release = release, j: int = j) -> float:
            return mechanism_cpl(release, data.widened(conditional_from_joint(joint), j)).epsilon

        found = range_from_counts(table, figure, SimulationRandomness(_SEED), draws=_DRAWS)
        low, high = min(float(found.low), pair.epsilon), max(float(found.high), pair.epsilon)
        matters = max(abs(low - pair.epsilon), abs(high - pair.epsilon)) > _NEGLIGIBLE * pair.possible
        result.append(replace(pair, plausible=(low, high)) if matters else pair)
    return tuple(result)


def weakest(*statuses: Status) -> Status:
    """Return the status of a figure computed from figures of these statuses.

    Examples
    --------
    >>> weakest("exact", "upper bound")
    'upper bound'
    """
    order: tuple[Status, ...] = ("exact", "upper bound", "assumption")
    return order[max((order.index(status) for status in statuses), default=0)]


def leakage_text(value: float, scale: float) -> str:
    """Return a leakage with two decimals, with more where the budget it is measured against is small.

    Examples
    --------
    >>> leakage_text(0.5694, 1.0), leakage_text(0.00123, 0.01)
    ('0.57', '0.0012')
    """
    if isinf(value):
        return "unbounded"
    # The scale is a hair larger, so that 0.01 as implemented, which is just below 0.01, counts as 0.01.
    decimals = max(2, 2 - floor(log10(1.000001 * scale))) if 0 < scale < inf else 2
    return f"{value:.{decimals}f}"

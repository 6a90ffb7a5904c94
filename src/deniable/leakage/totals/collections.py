"""Leakage of one report of a record mechanism about each attribute, for an adversary with a stated prior.

A record's report need not consist of one independent release per attribute. The report of SPL does, and
`record_leakage` treats it so. SMP reveals one attribute and which attribute it is. RS+FD and RS+RFD reveal one
attribute among fakes of the others, but not which attribute it is. The leakage about X_i is then the leakage of the
whole channel from X_i to the report, P(report | x_i) = sum over records of P(record | x_i) P(report | record):

* SMP, also adaptive or pivot-coded: the sampled attribute does not depend on the record. So the leakage is the largest
  over the attribute itself and over other attributes through their correlation. It is the declared epsilon, whatever
  the prior.
* PairSample: the drawn pair is treated likewise, and its two codes are one value. The leakage about X_i is the largest
  over the pairs, and over the attributes drawn alone, of the leakage by their code given x_i.
* RS+FD, RS+RFD: the likelihood of a record is proportional to the sum over attributes of its evidence, P(y_j | held
  value)/P(y_j as a fake). Such a ratio of likelihoods is a ratio of two sums whose terms are chosen one by one.
  Dinkelbach's iteration maximises the ratio exactly, however many reports there are, and it needs only pairwise
  conditionals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.checks import checked_records
from deniable.errors import InvalidParameterError, quoted
from deniable.leakage.prior.correlation import Leakage, mechanism_cpl
from deniable.leakage.prior.distributions import Floats
from deniable.leakage.prior.empirical_prior import PairCounts, observed
from deniable.leakage.prior.pairwise import pairwise_leakage
from deniable.records.fake_data import FakeData
from deniable.records.fakes import Fake
from deniable.records.pair_sample import PairSample
from deniable.records.sampled_attribute import OneAttribute

Sampling: TypeAlias = OneAttribute[Any] | FakeData | PairSample
"""Record mechanisms that report one sampled attribute, or one pair."""

_TOLERANCE = 1e-14
_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class SampledLeakage:
    """Leakage of one report about the d attributes that are not constant, as `sampled_leakage` returns it.

    Parameters
    ----------
    attributes : tuple of int
        Columns of these attributes in the records.
    matrix : float64[d, d]
        Entry [i, j] is the leakage about attribute i by the part of the report that is about j, in nats. For SMP this
        is a report of j, for PairSample a report of j that is not about i. The diagonal is zero.
    direct : float64[d]
        Leakage about j itself by the part of the report that is about j.
    totals : tuple of Leakage
        Leakage about each attribute by the whole report, exact under the stated prior.
    """

    attributes: tuple[int, ...]
    matrix: Floats
    direct: Floats
    totals: tuple[Leakage, ...]


def sampled_leakage(records: ArrayLike, mechanism: Sampling) -> SampledLeakage:
    """Return the leakage of one report of SMP, PairSample, RS+FD or RS+RFD about every attribute.

    Parameters
    ----------
    records : int[n, d]
        Codes of records whose empirical distribution is the prior.
    mechanism : SMP, AdaptiveSMP, PivotCoded, PairSample, RSFD or RSRFD
        Mechanism that randomises whole records.

    Raises
    ------
    InvalidInputError
        If a code is out of the mechanism's range, there are no records, or every attribute is constant.
    InvalidParameterError
        If it is another mechanism. Its epsilon for the whole record then bounds every leakage, for any prior.
    TooLargeError
        If all attributes together have too many categories to count pairs.

    Examples
    --------
    The part about a correlated attribute adds to what a report says: RS+FD's own guarantee for one attribute alone is
    0.62 here, its epsilon for whole records 1.

    >>> import numpy as np
    >>> from deniable import RSFD, SMP
    >>> records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [45, 5, 5, 45], axis=0)
    >>> for mechanism in (RSFD(sizes=(2, 2), epsilon=1.0), SMP(sizes=(2, 2), epsilon=1.0)):
    ...     print(*sampled_leakage(records, mechanism).totals)
    0.8855 (exact) 0.8855 (exact)
    1.0000 (exact) 1.0000 (exact)
    """
    if mechanism.reveals not in ("one", "fakes", "pairs"):
        raise InvalidParameterError(
            f"mechanism must be SMP, SMP[ADP], PivotCoded, PairSample, RS+FD or RS+RFD, got {quoted(mechanism)}: for "
            "this mechanism, use the epsilon of the whole contributor. For every prior, this epsilon bounds the "
            "leakage about every attribute"
        )
    if mechanism.reveals == "pairs":
        return _of_pairs(records, mechanism)
    return _of_smp(records, mechanism) if mechanism.reveals == "one" else _of_fakes(records, mechanism)


# ---------------------------------------------------------------- one attribute in the open


def _of_smp(records: ArrayLike, mechanism: OneAttribute[Any]) -> SampledLeakage:
    found = pairwise_leakage(records, mechanism.sizes, mechanism.oracles)
    # The attribute itself comes first, because the first of equal totals is named.
    totals = [
        max(Leakage(float(own), "exact"), *map(Leakage, row.tolist(), found.statuses), key=lambda one: one.epsilon)
        for own, row in zip(found.direct, found.matrix, strict=True)
    ]
    return SampledLeakage(found.attributes, found.matrix, found.direct, tuple(totals))


def _of_pairs(records: ArrayLike, mechanism: PairSample) -> SampledLeakage:
    data, codes = observed(records, mechanism.sizes), checked_records(records, mechanism.sizes)
    kept = data.attributes
    matrix, direct, totals = np.zeros((len(kept), len(kept))), np.zeros(len(kept)), []
    for row, (i, seen) in enumerate(zip(kept, data.categories, strict=True)):
        total = Leakage(0.0, "exact")
        for choice, part in enumerate(mechanism.parts):
            table = np.zeros((mechanism.sizes[i], part.oracle.k))
            np.add.at(table, (codes[:, i], mechanism.code(codes, choice)), 1.0)
            found = mechanism_cpl(part.oracle, table[seen] / table[seen].sum(axis=1, keepdims=True))
            total = max(total, found, key=lambda one: one.epsilon)
            if i in part.attributes:
                direct[row] = max(direct[row], found.epsilon)
            else:
                for column in (kept.index(j) for j in part.attributes if j in kept):
                    matrix[row, column] = max(matrix[row, column], found.epsilon)
        totals.append(total)
    return SampledLeakage(kept, matrix, direct, tuple(totals))


# ---------------------------------------------------------------- one attribute among fakes


@dataclass(frozen=True, eq=False)
class _Listed:
    """Evidence of a GRR report: ratios float64[k, outputs] to the law of a fake."""

    ratios: Floats

    def best(self, above: Floats, below: Floats, factor: Floats) -> tuple[Floats, Floats]:
        """Return the evidence for `above` and for `below`, float64[m], of the report that is best at this factor.

        `above` and `below` are distributions of the held value, float64[m, k]. The best report maximises the evidence
        for `above` less `factor` times the evidence for `below`.
        """
        high, low = above @ self.ratios, below @ self.ratios
        chosen = (high - factor[:, None] * low).argmax(axis=1)[:, None]
        return np.take_along_axis(high, chosen, 1)[:, 0], np.take_along_axis(low, chosen, 1)[:, 0]


@dataclass(frozen=True, eq=False)
class _Sets:
    """Evidence of a unary-encoded report with the set S of bits: (low + (high - low) [value in S])/scale[|S|]."""

    low: float
    high: float
    scale: Floats

    def best(self, above: Floats, below: Floats, factor: Floats) -> tuple[Floats, Floats]:
        """As `_Listed.best`; for every size the best set is a prefix of the values sorted by their gain."""
        order = np.argsort(-(above - factor[:, None] * below), axis=1, kind="stable")
        sides = []
        for rows in (above, below):
            inside = np.cumsum(np.take_along_axis(rows, order, 1), axis=1)
            inside = np.concatenate([np.zeros((len(rows), 1)), inside], axis=1)
            sides.append((self.low + (self.high - self.low) * inside) / self.scale)
        chosen = (sides[0] - factor[:, None] * sides[1]).argmax(axis=1)[:, None]
        return np.take_along_axis(sides[0], chosen, 1)[:, 0], np.take_along_axis(sides[1], chosen, 1)[:, 0]


_Evidence: TypeAlias = _Listed | _Sets


def _of_fakes(records: ArrayLike, mechanism: FakeData) -> SampledLeakage:
    data, d = observed(records, mechanism.sizes), len(mechanism.sizes)
    kept, counts = data.attributes, PairCounts.of(checked_records(records, mechanism.sizes), mechanism.sizes)
    evidence = [_evidence(fake) for fake in mechanism.fakes_of]
    impossible = [_impossible(fake) for fake in mechanism.fakes_of]
    matrix, direct, totals = np.zeros((len(kept), len(kept))), np.zeros(len(kept)), []
    for row, (i, seen) in enumerate(zip(kept, data.categories, strict=True)):
        # Constant attributes are included, because a report is about all attributes.
        tables = [counts.table(i, j)[seen] for j in range(d)]
        rows = [table / table.sum(axis=1, keepdims=True) for table in tables]
        # A value that no fake takes shows that its attribute was sampled. Then only this attribute says anything.
        shown = [_log_ratio(rows[j] @ impossible[j]) for j in range(d)]
        for column, j in enumerate(kept):
            alone = max(shown[j], _largest_ratio([evidence[j]], [rows[j]], float(d - 1)))
            if i == j:
                direct[row] = alone
            else:
                matrix[row, column] = alone
        totals.append(Leakage(max(*shown, _largest_ratio(evidence, rows)), "exact"))
    return SampledLeakage(kept, matrix, direct, tuple(totals))


def _evidence(fake: Fake) -> _Evidence:
    """Return how much likelier a report is when true than when fake, of one attribute."""
    k, (p, q) = fake.oracle.k, map(float, fake.oracle.support_probabilities)
    if fake.oracle.state_is_histogram:
        law = fake.law.astype(np.float64)
        taken = law > 0
        truth = np.full((k, k), q) + (p - q) * np.eye(k)
        return _Listed(truth[:, taken] / law[taken])
    # Against the all-zero vector, a set bit has the ratio p/q and a clear bit (1-p)/(1-q). Against a random value,
    # these ratios are relative to their mean over all values.
    high, low, sizes = p / q, (1 - p) / (1 - q), np.arange(k + 1)
    return _Sets(low, high, low + (high - low) * sizes / k if fake.of_values else np.ones(k + 1))


def _impossible(fake: Fake) -> Floats:
    """Return the truth's columns (k, outputs) of the reports that no fake can be."""
    k, (p, q) = fake.oracle.k, map(float, fake.oracle.support_probabilities)
    never = np.flatnonzero(fake.law == 0) if fake.shows else np.empty(0, np.int64)
    return q + (p - q) * np.eye(k)[:, never] if len(never) else np.ones((k, 1))


def _log_ratio(likelihoods: Floats) -> float:
    return float(np.log(likelihoods.max(axis=0) / likelihoods.min(axis=0)).max())


def _largest_ratio(evidence: Sequence[_Evidence], rows: Sequence[Floats], others: float = 0.0) -> float:
    """Return max over reports and pairs x, x' of ln of the ratio of the summed evidence, plus a constant in both sums.

    `others` is the evidence of the remaining parts, which is one for each part on average.
    """
    values = len(rows[0])
    x, other = (index.ravel() for index in np.indices((values, values)))
    factor: Floats = np.ones(values * values)
    for _ in range(_ROUNDS):
        parts = [part.best(row[x], row[other], factor) for part, row in zip(evidence, rows, strict=True)]
        above, below = (others + np.sum(side, axis=0) for side in zip(*parts, strict=True))
        if not (above > factor * below * (1 + _TOLERANCE)).any():
            break
        factor = np.maximum(factor, above / below)
    return float(np.log(factor.max()))

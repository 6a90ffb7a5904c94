"""Dealt mechanisms for the contract suite, each with its distribution written down by brute force.

A type is one contributor's share as a tuple of integers, with its fields one after another. A report is a tuple in the
same way. A case has the distribution of all contributors' types, and of the reports for each type. Both are computed
from the declared parameters, in floats; only the parameters' names are shared with the mechanism.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deniable.research.dealt.coupling.coupled_oue import CoupledOUE
from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.coupling.jrr_local_hashing import JRRLocalHashing
from deniable.research.dealt.coupling.kary_jrr import KaryJRR
from deniable.research.dealt.coupling.report_coupling import ReportCoupledRR
from deniable.research.dealt.quota.batches import QuotaBatches
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.records import QuotaRecords
from deniable.research.dealt.quota.unary import QuotaUnary
from tests.research.dealt import coupling_laws

Row = tuple[int, ...]
"""A share or a report as integers."""

Types = tuple[Row, ...]
"""The shares of all contributors."""


@dataclass(frozen=True)
class DealtCase:
    """One family in one form.

    Parameters
    ----------
    name : str
        Name in test ids.
    build : callable(n, deal_id) -> mechanism
    types : callable(mechanism) -> (types of all contributors, probability), each once
    says : callable(mechanism, type, answer) -> probability of each report
    exact : tuple of int
        Numbers of contributors with full enumeration.
    shown : int
        Number of contributors at which deals are compared with the distribution of types.
    large : int
        The number of contributors in simulations, odd.
    view : {"others' shares", "my share"}
        What the adversary in the first number of `privacy()` knows besides the report.
    reached : bool
        Whether that number is the enumerated worst case at the last of `exact`.
    combines : bool
        Whether estimates of several deals can be combined.
    """

    name: str
    build: Callable[[int, str], Any]
    types: Callable[[Any], Iterable[tuple[Types, float]]]
    says: Callable[[Any, Row, Any], Mapping[Row, float]]
    exact: tuple[int, ...] = (2, 3, 4)
    shown: int = 3
    large: int = 101
    view: Literal["others' shares", "my share"] = "my share"
    reached: bool = True
    combines: bool = True

    def sizes(self, mechanism: Any) -> tuple[int, ...]:
        return mechanism.sizes if hasattr(mechanism, "sizes") else (mechanism.k,)

    def answers(self, mechanism: Any) -> list[Any]:
        """Return all answers, or records, of one contributor."""
        sizes = self.sizes(mechanism)
        records = list(itertools.product(*map(range, sizes)))
        return records if hasattr(mechanism, "sizes") else [record[0] for record in records]

    def data(self, mechanism: Any, most: int = 8) -> list[NDArray[np.int64]]:
        """Return the answers of all n contributors: all data sets up to order, or eight of them."""
        listed = list(itertools.combinations_with_replacement(self.answers(mechanism), mechanism.n))
        chosen = (
            np.unique(np.linspace(0, len(listed) - 1, most).astype(int)) if len(listed) > most else range(len(listed))
        )
        return [np.array(listed[i], dtype=np.int64) for i in chosen]

    def many(self, mechanism: Any) -> NDArray[np.int64]:
        """Return answers of n contributors for simulations; most of them hold the first value of each attribute."""
        sizes, rows = self.sizes(mechanism), np.arange(mechanism.n)
        columns = [np.where(rows % (4 + j) == 1, 1 + (rows // 7) % (size - 1), 0) for j, size in enumerate(sizes)]
        return np.stack(columns, axis=1) if hasattr(mechanism, "sizes") else columns[0]

    def truth(self, mechanism: Any, data: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the frequencies of all values of all attributes, one after another."""
        columns = data.reshape(len(data), -1).T
        return np.concatenate(
            [np.bincount(c, minlength=k) / len(data) for c, k in zip(columns, self.sizes(mechanism), strict=True)]
        )

    def simulate(self, mechanism: Any, data: NDArray[np.int64], rng: Any) -> Any:
        """Draw the aggregate of these contributors without reports."""
        if hasattr(mechanism, "sizes"):
            return mechanism.simulate_aggregate(*np.unique(data, axis=0, return_counts=True), rng)
        if hasattr(mechanism, "batches"):
            batches = data.reshape(mechanism.batches, mechanism.size)
            return mechanism.simulate_aggregate([np.bincount(b, minlength=mechanism.k) for b in batches], rng)
        return mechanism.simulate_aggregate(np.bincount(data, minlength=mechanism.k), rng)


def normalised(weights: Mapping[Types, float]) -> Iterator[tuple[Types, float]]:
    total = math.fsum(weights.values())
    return ((types, weight / total) for types, weight in weights.items() if weight)


# ---------------------------------------------------------------- quota


def _cap(quota: Any, k: int) -> tuple[float, float]:
    """Return the truthfulness of a truth-teller: (p, lie)."""
    if quota.epsilon_aux is None:
        return 1.0, 0.0
    lie = 1 / (math.exp(quota.epsilon_aux) + k - 1)
    return 1 - (k - 1) * lie, lie


def _quota_law(quota: Any, n: int, k: int, minimum: int) -> dict[Row, float]:
    """Return R^b for all assignments with at least `minimum` forced on each value; R = (e - 1)/(p - lie e)."""
    truth, lie = _cap(quota, k)
    e = math.exp(quota.epsilon)
    weight = (e - 1) / (truth - lie * e)
    law = {
        types: weight ** types.count(k)
        for types in itertools.product(range(k + 1), repeat=n)
        if min(types.count(v) for v in range(k)) >= minimum
    }
    total = math.fsum(law.values())
    return {types: w / total for types, w in law.items()}


def _quota_types(quota: QuotaRR) -> Iterator[tuple[Types, float]]:
    law = _quota_law(quota, quota.n, quota.k, quota.a0)
    return ((tuple((t,) for t in types), w) for types, w in law.items())


def _quota_value(quota: Any, k: int, type_: int, x: int) -> dict[int, float]:
    truth, lie = _cap(quota, k)
    return {type_: 1.0} if type_ < k else {v: truth if v == x else lie for v in range(k)}


def _quota_says(quota: QuotaRR, type_: Row, x: int) -> dict[Row, float]:
    return {(v,): w for v, w in _quota_value(quota, quota.k, type_[0], x).items()}


def _quota(k: int, epsilon: float, epsilon_aux: float | None = None) -> Callable[[int, str], QuotaRR]:
    def build(n: int, deal_id: str) -> QuotaRR:
        minimum = (n - 1) // k if n < 20 else None
        return QuotaRR(epsilon, n, minimum, k, epsilon_aux=epsilon_aux, deal_id=deal_id)

    return build


def _record_types(quota: QuotaRecords) -> Iterator[tuple[Types, float]]:
    d = len(quota.sizes)
    numbers = [quota.n // d + (j < quota.n % d) for j in range(d)]
    assert quota.minima is not None
    laws = [_quota_law(quota, n, k, a0) for n, k, a0 in zip(numbers, quota.sizes, quota.minima, strict=True)]
    groups = [g for g in itertools.product(range(d), repeat=quota.n) if [g.count(j) for j in range(d)] == numbers]
    for group in groups:
        for parts in itertools.product(*(law.items() for law in laws)):
            own = [iter(types) for types, _ in parts]
            yield tuple((g, next(own[g])) for g in group), math.prod(w for _, w in parts) / len(groups)


def _record_says(quota: QuotaRecords, type_: Row, x: Sequence[int]) -> dict[Row, float]:
    group, told = type_
    return {(group, v): w for v, w in _quota_value(quota, quota.sizes[group], told, x[group]).items()}


def _records(epsilon_aux: float | None, *sizes: int) -> Callable[[int, str], QuotaRecords]:
    def build(n: int, deal_id: str) -> QuotaRecords:
        d = len(sizes)
        minima = tuple((n // d - 1) // k for k in sizes) if n < 20 else None
        return QuotaRecords(sizes, 1.0, n, minima, epsilon_aux=epsilon_aux, deal_id=deal_id)

    return build


def _batch_types(quota: QuotaBatches) -> Iterator[tuple[Types, float]]:
    assert quota.minimum is not None
    law = _quota_law(quota, quota.size, quota.k, quota.minimum)
    for parts in itertools.product(law.items(), repeat=quota.batches):
        types = tuple((b, t) for b, (own, _) in enumerate(parts) for t in own)
        yield types, math.prod(w for _, w in parts)


def _batch_says(quota: QuotaBatches, type_: Row, x: int) -> dict[Row, float]:
    return {(type_[0], v): w for v, w in _quota_value(quota, quota.k, type_[1], x).items()}


def _batches(epsilon_aux: float | None) -> Callable[[int, str], QuotaBatches]:
    def build(n: int, deal_id: str) -> QuotaBatches:
        size = next(s for s in (35, 5, 3, 2) if n % s == 0)
        return QuotaBatches(1.0, size, n // size, (size - 1) // 2, epsilon_aux=epsilon_aux, deal_id=deal_id)

    return build


def _bitwise(n: int, k: int, law: Mapping[Row, float], pack: Callable[[Row], Row]) -> Iterator[tuple[Types, float]]:
    """Yield types of k independent bits from the distribution of one bit's types; `pack` makes a share of k types."""
    for bits in itertools.product(law.items(), repeat=k):
        columns = [types for types, _ in bits]
        yield tuple(pack(tuple(c[i] for c in columns)) for i in range(n)), math.prod(w for _, w in bits)


def _unary_types(quota: QuotaUnary) -> Iterator[tuple[Types, float]]:
    """Yield types 0 (report 1), 1 (report 0) and 2 (report the truth), with OUE's probabilities and both quotas."""
    q = 1 / (math.exp(quota.epsilon) + 1)
    odds, (said, denied) = (q, 0.5, 0.5 - q), quota.minima
    law = {
        types: math.prod(odds[t] for t in types)
        for types in itertools.product(range(3), repeat=quota.n)
        if types.count(0) >= said and types.count(1) >= denied
    }
    total = math.fsum(law.values())
    return _bitwise(quota.n, quota.k, {types: w / total for types, w in law.items()}, lambda share: share)


def _bytes(bits: Sequence[int]) -> Row:
    return tuple(int(b) for b in np.packbits(np.array(bits, dtype=np.uint8), bitorder="little"))


def _unary_says(quota: QuotaUnary, type_: Row, x: int) -> dict[Row, float]:
    return {_bytes([int(v == x) if t == 2 else 1 - t for v, t in enumerate(type_)]): 1.0}


def _unary(k: int) -> Callable[[int, str], QuotaUnary]:
    def build(n: int, deal_id: str) -> QuotaUnary:
        said, denied = (1, (n - 1) // 2) if n < 20 else (None, None)
        return QuotaUnary(k if n < 20 else 10, 1.0, n, said, denied, deal_id=deal_id)

    return build


# ---------------------------------------------------------------- JRR and coupled reports


def _sign_types(jrr: Any) -> list[tuple[Types, float]]:
    """Return types: 0 minus, 1 plus, 2 unpaired; uniform on the balanced vectors."""
    code = {-1: 0, 1: 1, 0: 2}
    return [(tuple((code[s],) for s in signs), float(w)) for signs, w in coupling_laws.signs(jrr.n).items()]


def _truthful(jrr: Any, cells: int, type_: int) -> float:
    """Return the probability of the truth, p + R s, with s^2 = -rho p (1 - p)/(cells - 1)."""
    p, rho = float(jrr.p), float(jrr.rho)
    return p + (-1, 1, 0)[type_] * math.sqrt(-rho * p * (1 - p) / (cells - 1))


def _cell_law(jrr: Any, cells: int, type_: int, x: int) -> dict[int, float]:
    true = min(1.0, _truthful(jrr, cells, type_))
    return {v: true if v == x else (1 - true) / (cells - 1) for v in range(cells)}


def _jrr_says(jrr: Any, type_: Row, x: int) -> dict[Row, float]:
    return {(v,): w for v, w in _cell_law(jrr, jrr.k, type_[0], x).items()}


def _hashed_says(jrr: JRRLocalHashing, type_: Row, x: int) -> dict[Row, float]:
    """Return the probability of each report: over all public hash functions, by the response to the cell."""
    parameters, weights = jrr.hashes.members()
    cells = jrr.hashes.hash(np.full(len(weights), x), *parameters)
    law: dict[Row, float] = {}
    for *function, cell, weight in zip(*parameters, cells, weights, strict=True):
        for v, w in _cell_law(jrr, jrr.m, type_[0], int(cell)).items():
            law[(*map(int, function), v)] = float(weight) * w
    return law


def _coupled_types(coupled: ReportCoupledRR) -> list[tuple[Types, float]]:
    """Return types 0 (report 0), 1 (report 1) and 2 (report the truth), by U and the peer's 1 - U."""
    p = Fraction(coupled.p)
    law = coupling_laws.type_law(coupled.n, 1 - p, p, Fraction(coupled.weight))
    return [(tuple((t,) for t in types), float(w)) for types, w in law.items()]


def _coupled_says(_coupled: ReportCoupledRR, type_: Row, x: int) -> dict[Row, float]:
    return {(x if type_[0] == 2 else type_[0],): 1.0}


def _coupled_bits(coupled: CoupledOUE) -> Iterator[tuple[Types, float]]:
    law = coupling_laws.type_law(coupled.n, Fraction(coupled.q), Fraction(1, 2), Fraction(coupled.weight))
    return _bitwise(
        coupled.n,
        coupled.k,
        {types: float(w) for types, w in law.items()},
        lambda share: (*_bytes([t == 1 for t in share]), *_bytes([t == 2 for t in share])),
    )


def _coupled_bits_say(coupled: CoupledOUE, type_: Row, x: int) -> dict[Row, float]:
    half = len(type_) // 2
    ones, truth = (np.unpackbits(np.array(part, np.uint8), bitorder="little") for part in (type_[:half], type_[half:]))
    bits = [int(ones[v]) | (int(truth[v]) & (v == x)) for v in range(coupled.k)]
    return {_bytes(bits): 1.0}


OTHERS: Literal["others' shares"] = "others' shares"

DEALT_CASES: list[DealtCase] = [
    DealtCase("QuotaRR", _quota(2, 1.0), _quota_types, _quota_says, view=OTHERS),
    DealtCase("QuotaRR-capped", _quota(2, 0.5, 1.5), _quota_types, _quota_says, view=OTHERS),
    DealtCase("QuotaRR-3", _quota(3, 2.0), _quota_types, _quota_says, (2, 3, 4), 4, view=OTHERS),
    DealtCase("QuotaRR-3-capped", _quota(3, 1.0, 2.0), _quota_types, _quota_says, (2, 3, 4), 4, view=OTHERS),
    DealtCase("QuotaUnary", _unary(2), _unary_types, _unary_says, view=OTHERS),
    DealtCase("QuotaUnary-3", _unary(3), _unary_types, _unary_says, (2, 3), 2, view=OTHERS),
    DealtCase(
        "QuotaRecords", _records(None, 2, 2), _record_types, _record_says, (4, 5), 4, view=OTHERS, combines=False
    ),
    DealtCase(
        "QuotaRecords-capped", _records(2.0, 2, 3), _record_types, _record_says, (4, 5), 4, view=OTHERS, combines=False
    ),
    DealtCase("QuotaBatches", _batches(None), _batch_types, _batch_says, (3, 4, 6), 6, 105, OTHERS, combines=False),
    DealtCase("QuotaBatches-capped", _batches(2.0), _batch_types, _batch_says, (3, 4), 3, 105, OTHERS, combines=False),
    DealtCase("JRR", lambda n, d: JRR(0.75, -0.2, n, deal_id=d), _sign_types, _jrr_says, (2, 3, 4, 5)),
    DealtCase("JRR-extreme", lambda n, d: JRR(0.8, -0.25, n, deal_id=d), _sign_types, _jrr_says),
    DealtCase("KaryJRR", lambda n, d: KaryJRR(3, 0.5, -0.5, n, deal_id=d), _sign_types, _jrr_says, (2, 3, 4, 5)),
    DealtCase("KaryJRR-binary", lambda n, d: KaryJRR(2, 0.7, -0.3, n, deal_id=d), _sign_types, _jrr_says),
    DealtCase("ReportCoupledRR", lambda n, d: ReportCoupledRR(0.75, n, deal_id=d), _coupled_types, _coupled_says),
    DealtCase(
        "ReportCoupledRR-1/2", lambda n, d: ReportCoupledRR(0.7, n, 0.5, deal_id=d), _coupled_types, _coupled_says
    ),
    DealtCase(
        "CoupledOUE",
        lambda n, d: CoupledOUE(2 if n < 20 else 10, 0.25, n, deal_id=d),
        _coupled_bits,
        _coupled_bits_say,
    ),
    DealtCase(
        "CoupledOUE-1/2",
        lambda n, d: CoupledOUE(2 if n < 20 else 10, 0.25, n, 0.5, deal_id=d),
        _coupled_bits,
        _coupled_bits_say,
        (2, 3),
        2,
    ),
    DealtCase(
        "JRRLocalHashing",
        lambda n, d: JRRLocalHashing(3, 2, 0.75, -0.2, n, deal_id=d),
        _sign_types,
        _hashed_says,
        (2, 3),
    ),
]


def report_states(mechanism: Any, reports: Iterable[Row]) -> dict[Row, tuple[Row, int]]:
    """Return the effect of one report on the collector's counters and on the number of reports."""
    states = {}
    for report in reports:
        aggregate = mechanism.aggregate(batch(mechanism.report_type, mechanism.report_fields, [report]))
        states[report] = (tuple(int(c) for c in aggregate.counts), int(aggregate.n))
    return states


def arrays(fields: Sequence[Any], rows: Sequence[Row]) -> list[NDArray[Any]]:
    """Return the arrays of the fields, of rows of integers."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), sum(field.width or 1 for field in fields))
    start, result = 0, []
    for field in fields:
        width = field.width or 1
        columns = table[:, start : start + width].astype(field.dtype)
        result.append(columns if field.width is not None else columns[:, 0])
        start += width
    return result


def batch(make: Callable[..., Any], fields: Sequence[Any], rows: Sequence[Row], *first: Any) -> Any:
    """Return rows of integers as reports, or as shares with a deal's id."""
    return make(*first, *arrays(fields, rows))


def rows_of(columns: Iterable[NDArray[Any]], n: int) -> list[Row]:
    """Return some fields as rows of integers."""
    table = np.concatenate([np.asarray(c, np.int64).reshape(n, math.prod(c.shape[1:])) for c in columns], axis=1)
    return [tuple(row) for row in table.tolist()]


def state_law(
    case: DealtCase,
    mechanism: Any,
    data: NDArray[np.int64],
    reporters: int,
    known: dict[Row, tuple[Row, int]] | None = None,
) -> dict[tuple[Row, int], float]:
    """Return the distribution of the collector's counters and number of reports after the first `reporters` reports.

    `known` caches the effect of each report between calls.
    """
    known = {} if known is None else known
    listed = [tuple(x) if np.ndim(x) else int(x) for x in data[:reporters]]
    added: dict[tuple[Row, Any], dict[tuple[Row, int], float]] = {}
    total: dict[tuple[Row, int], float] = defaultdict(float)
    grouped: dict[Types, float] = defaultdict(float)
    for types, weight in case.types(mechanism):
        grouped[types[:reporters]] += weight
    for types, weight in grouped.items():
        law: dict[tuple[Row, int], float] = {((0,) * mechanism.state_size, 0): weight}
        for type_, x in zip(types, listed, strict=True):
            if (type_, x) not in added:
                one: dict[tuple[Row, int], float] = defaultdict(float)
                said = case.says(mechanism, type_, x)
                known.update(report_states(mechanism, said.keys() - known.keys()))
                for report, w in said.items():
                    one[known[report]] += w
                added[type_, x] = one
            step: dict[tuple[Row, int], float] = defaultdict(float)
            for (counts, n), w in law.items():
                for (more, m), v in added[type_, x].items():
                    step[tuple(a + b for a, b in zip(counts, more, strict=True)), n + m] += w * v
            law = step
        for state, w in law.items():
            total[state] += w
    return total

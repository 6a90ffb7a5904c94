"""The laws: functions that raise AssertionError when a mechanism breaks one. The mutants call the same functions."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import deniable as dn
from deniable.spec import from_spec, to_spec
from tests.contract.cases import Case

FAMILY_WISE_ERROR = 1e-6
"""Probability that a correct mechanism fails one statistical law (over all its cells); seeds are fixed."""


def take(reports: Any, rows: Any) -> Any:
    """Select rows of a batch of reports (an array or a NamedTuple of arrays)."""
    return type(reports)(*(field[rows] for field in reports)) if isinstance(reports, tuple) else reports[rows]


def length(reports: Any) -> int:
    return len(reports[0]) if isinstance(reports, tuple) else len(reports)


def keys(reports: Any) -> list[bytes]:
    """One hashable key per report, equal for equal reports whatever the dtype."""
    fields = reports if isinstance(reports, tuple) else (reports,)
    columns = [
        np.asarray(field, dtype=np.int64).reshape(length(reports), math.prod(np.shape(field)[1:])) for field in fields
    ]
    joined = np.ascontiguousarray(np.concatenate(columns, axis=1))
    return [row.tobytes() for row in joined]


def rows_sum_to_one(mechanism: Any) -> None:
    exact = mechanism.channel(exact=True)
    assert all(isinstance(cell, (Fraction, int)) for cell in exact.flat)
    assert all(sum(row, Fraction(0)) == 1 for row in exact)
    assert all(cell >= 0 for cell in exact.flat)
    assert np.abs(mechanism.channel().sum(axis=1) - 1).max() <= 1e-12
    assert exact.shape[1] == length(mechanism.outputs()) == len(set(keys(mechanism.outputs())))


def channel_ratio(exact: NDArray[Any]) -> Fraction:
    """Largest likelihood ratio of a channel, by looking at every column."""
    worst = Fraction(1)
    for column in exact.T:
        low, high = min(column), max(column)
        assert low > 0 or high == 0, "an output that one input can produce and another cannot"
        worst = max(worst, high / low) if high else worst
    return worst


def ratio_keeps_the_budget(case: Case, mechanism: Any, declared: float) -> None:
    ratio = channel_ratio(mechanism.channel(exact=True))
    assert ratio == mechanism.implemented_ratio()
    context = Context(prec=50)
    logarithm = context.ln(context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    budget, tight = Decimal(repr(declared)), Decimal(case.one_report_epsilon(mechanism))
    slack = Decimal("1e-45")  # the 50-digit logarithm's own error
    assert logarithm <= budget + slack, f"ln ratio {logarithm} exceeds the declared {budget}"
    # From below too: a mutant that is merely too noisy must not survive.
    assert abs(logarithm - tight) <= Decimal("1e-9") * max(tight, Decimal("0.01")), f"{logarithm} is not {tight}"
    implemented = Decimal(mechanism.implemented_epsilon())
    assert logarithm <= implemented <= logarithm + Decimal("1e-12")


def _single_report_states(mechanism: Any) -> NDArray[np.int64]:
    """State vector that each possible report adds, int64[outputs, state_size]."""
    outputs = mechanism.outputs()
    return np.array([mechanism.aggregate(take(outputs, slice(o, o + 1))).counts for o in range(length(outputs))])


def _estimate_vector(mechanism: Any, report: Any) -> NDArray[np.float64]:
    estimate = mechanism.estimate(mechanism.aggregate(report))
    parts = [estimate] if isinstance(estimate, dn.Estimate) else list(estimate.values())
    return np.concatenate([part.frequencies for part in parts])


def unbiased(case: Case, mechanism: Any) -> None:
    """E[f^(v) | x] = 1[x = v], by the exact channel; conditional on the attribute being reported where one is drawn."""
    sizes = mechanism.sizes if case.records else (mechanism.k,)
    outputs, channel = mechanism.outputs(), mechanism.channel()
    estimates = np.array([_estimate_vector(mechanism, take(outputs, slice(o, o + 1))) for o in range(channel.shape[1])])
    inputs = case.inputs(sizes).reshape(channel.shape[0], -1)
    seen = ~np.isnan(estimates)
    for x, row in zip(inputs, channel, strict=True):
        truth = np.concatenate([np.eye(size)[code] for size, code in zip(sizes, x, strict=True)])
        for v in range(len(truth)):
            mass = row[seen[:, v]]
            mean = math.fsum(mass * estimates[seen[:, v], v]) / math.fsum(mass)
            assert abs(mean - truth[v]) <= 1e-12 * max(1.0, float(np.nanmax(np.abs(estimates)))), (x, v, mean)


def _chi_squared(observed: NDArray[np.int64], expected: NDArray[np.float64]) -> float:
    """P-value of the counts against their expectations; cells expected below 5 are pooled."""
    assert observed[expected == 0].sum() == 0, "an output of probability zero occurred"
    order = np.argsort(expected)
    observed, expected = observed[order], expected[order]
    small = int(np.searchsorted(np.cumsum(expected), 5)) + 1 if expected[0] < 5 else 0
    small = max(small, int((expected < 5).sum()))
    if small > 1:
        observed = np.append(observed[small:], observed[:small].sum())
        expected = np.append(expected[small:], expected[:small].sum())
    keep = expected > 0
    if keep.sum() < 2:
        return 1.0
    statistic = float(((observed[keep] - expected[keep]) ** 2 / expected[keep]).sum())
    return float(stats.chi2.sf(statistic, int(keep.sum()) - 1))


def reports_follow_the_channel(case: Case, mechanism: Any, n: int = 40_000, seed: int = 20_26) -> None:
    """Chi-squared of the randomised reports of every input against its channel row."""
    channel = mechanism.channel()
    column = {key: o for o, key in enumerate(keys(mechanism.outputs()))}
    inputs = case.inputs(mechanism.sizes if case.records else (mechanism.k,))
    rng = dn.SimulationRandomness(seed)
    for x, row in zip(inputs, channel, strict=True):
        reports = mechanism.randomize(np.repeat(x[None], n, axis=0), rng)
        observed = np.zeros(len(row), dtype=np.int64)
        found, counts = np.unique([column[key] for key in keys(reports)], return_counts=True)
        observed[found] = counts
        p_value = _chi_squared(observed, row * n)
        assert p_value >= FAMILY_WISE_ERROR / len(inputs), f"input {x}: p-value {p_value}"


def simulated_aggregates_follow_the_law(case: Case, mechanism: Any, draws: int = 4000, seed: int = 11) -> None:
    """Means and covariances of `simulate_aggregate` against the exact ones of the channel (z, Bonferroni)."""
    states = _single_report_states(mechanism).astype(np.float64)
    channel = mechanism.channel()
    counts = np.arange(3, 3 + channel.shape[0], dtype=np.int64) * 7
    mean = np.zeros(states.shape[1])
    covariance = np.zeros((states.shape[1], states.shape[1]))
    for count, row in zip(counts, channel, strict=True):
        centre = row @ states
        mean += count * centre
        covariance += count * ((states * row[:, None]).T @ states - np.outer(centre, centre))
    rng = dn.SimulationRandomness(seed)
    drawn = np.array([case.simulate(mechanism, counts, rng).counts for _ in range(draws)], dtype=np.float64)
    assert case.simulate(mechanism, counts, rng).n == counts.sum()
    tests = len(mean) + len(mean) * (len(mean) + 1) / 2
    z = stats.norm.isf(FAMILY_WISE_ERROR / tests / 2)
    deviation = drawn - mean
    spread = np.sqrt(np.diag(covariance))
    assert (np.abs(deviation.mean(axis=0)) <= z * spread / math.sqrt(draws) + 1e-9).all()
    # Sums of hundreds of independent reports are near normal: Var(sample covariance) = (s_ii s_jj + s_ij^2)/draws.
    sample = deviation.T @ deviation / draws
    error = np.sqrt((np.outer(spread**2, spread**2) + covariance**2) / draws)
    assert (np.abs(sample - covariance) <= 1.1 * z * error + 1e-9).all()


def intervals_cover(case: Case, mechanism: Any, n: int = 5000, draws: int = 3000, seed: int = 5) -> None:
    """Coverage of the 95% interval for these contributors at frequencies 0, 0.1 and 0.9 of the first attribute."""
    sizes = mechanism.sizes if case.records else (mechanism.k,)
    inputs = case.inputs(sizes).reshape(-1, len(sizes))
    held = np.array([0, n // 10, n - n // 10])
    assert sizes[0] == 3
    counts = np.zeros(len(inputs), dtype=np.int64)
    for value, count in enumerate(held):
        counts[np.flatnonzero(inputs[:, 0] == value)[0]] = count
    rng = dn.SimulationRandomness(seed)
    hits = np.zeros(3)
    for _ in range(draws):
        estimate = mechanism.estimate(case.simulate(mechanism, counts, rng))
        lower, upper = (estimate[0] if case.records else estimate).interval(0.95)
        hits += (lower <= held / n) & (held / n <= upper)
    # Exact binomial bounds of the simulation itself; 0.005 is the score interval's own discreteness at n = 5000.
    low, high = stats.binom.ppf(5e-7, draws, 0.945), stats.binom.isf(5e-7, draws, 0.955)
    assert ((hits >= low) & (hits <= high)).all(), hits / draws


def merging_is_adding(mechanism: Any, reports: Any, cuts: list[int]) -> None:
    """Aggregates of any partition, in any order, sum to the aggregate of the whole; empty is neutral."""
    whole = mechanism.aggregate(reports)
    edges = [0, *sorted(cuts), length(reports)]
    parts = [mechanism.aggregate(take(reports, slice(a, b))) for a, b in itertools.pairwise(edges)]
    for order in (parts, parts[::-1]):
        total = dn.Aggregate.empty(mechanism)
        for part in order:
            total = total + part
        assert total == whole
        assert total.n == length(reports)
    assert whole + dn.Aggregate.empty(mechanism) == dn.Aggregate.empty(mechanism) + whole == whole


def is_data(mechanism: Any) -> None:
    """Parameters only: equal, hashable, frozen, picklable, and the same after JSON."""
    again = from_spec(json.loads(json.dumps(to_spec(mechanism))))
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    try:
        mechanism.epsilon = 99
    except AttributeError:
        return
    raise AssertionError("the mechanism is not frozen")


def reports_match_their_declaration(case: Case, mechanism: Any) -> None:
    """`report_fields` tells what `randomize` returns."""
    inputs = case.inputs(mechanism.sizes if case.records else (mechanism.k,))
    for n in (0, 1, 40):  # empty, interpreted, compiled
        reports = mechanism.randomize(np.resize(inputs, (n, *inputs.shape[1:])), dn.SimulationRandomness(1))
        fields = reports if isinstance(reports, tuple) else (reports,)
        assert len(fields) == len(mechanism.report_fields)
        for field, declared in zip(fields, mechanism.report_fields, strict=True):
            assert field.dtype == np.dtype(declared.dtype)
            assert field.shape == ((n,) if declared.width is None else (n, declared.width))
        again = mechanism.report_type(*fields)
        assert keys(again) == keys(reports)
        assert mechanism.aggregate(reports).n == n
    assert mechanism.report_bits > 0

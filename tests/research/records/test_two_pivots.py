from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from deniable import SPL, Aggregate, SimulationRandomness
from deniable.core.spec import from_spec, to_spec
from deniable.errors import (
    DamagedStateError,
    EmptyAggregateError,
    InvalidParameterError,
    MismatchError,
    NoIntervalError,
    TooLargeError,
)
from deniable.records.split import SPLPairs
from deniable.research.records.joint_tables import pair_tables
from deniable.research.records.two_pivot_tables import learn_two_pivot_tables
from deniable.research.records.two_pivots import TwoPivotRR
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted, rows
from tests.unit.records.phases.second_phase_laws import some_pair_tables, two_pivot_law
from tests.unit.records.record_laws import aggregates_agree, grr, records, worst_p_value

JOINT = np.array([[[0.2, 0.1], [0.05, 0.0]], [[0.05, 0.1], [0.1, 0.05]], [[0.0, 0.05], [0.1, 0.2]]])
"""Over sizes (3, 2, 2)."""


def _mechanism(sizes: tuple[int, ...], epsilon: float = 1.0) -> TwoPivotRR:
    return TwoPivotRR(sizes, epsilon, some_pair_tables(sizes))


# -------------------------------------------------------------------- draws


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(3, 2), (2, 3, 2), (2, 2, 2, 2)])
def test_reports_follow_the_definition(sizes: tuple[int, ...]) -> None:
    mechanism = _mechanism(sizes)
    textbook = lambda x: two_pivot_law(x, sizes, 1.0, mechanism.tables)  # noqa: E731
    bound = FAMILY_WISE_ERROR / math.prod(sizes)
    n = 12_000
    assert worst_p_value(mechanism, rows, textbook, SimulationRandomness(1), n) > bound
    with always_interpreted():
        assert worst_p_value(mechanism, rows, textbook, SimulationRandomness(2), 40) > bound
    # These reports look like codes drawn given the *true* codes.
    if len(sizes) > 2:
        leaky = lambda x: two_pivot_law(x, sizes, 1.0, mechanism.tables, leaky=True)  # noqa: E731
        assert worst_p_value(mechanism, rows, leaky, SimulationRandomness(1), n) < bound
    # Mutants: each pivot gets the whole budget; the tables are those of other pairs.
    mutant = TwoPivotRR(sizes, 2.0, mechanism.tables)
    assert worst_p_value(mutant, rows, textbook, SimulationRandomness(1), n) < bound
    if sizes == (2, 2, 2, 2):
        turned = [[table if table else () for table in row] for row in mechanism.tables]
        turned[0], turned[5] = (
            [(), (), turned[5][0], turned[5][1]],
            [turned[0][2], turned[0][3], (), ()],
        )
        mutant = TwoPivotRR(sizes, 1.0, turned)  # type: ignore[arg-type]
        assert worst_p_value(mutant, rows, textbook, SimulationRandomness(1), n) < bound


def test_simulated_pair_counts_follow_the_law() -> None:
    """Means and covariances of all pair counts of four attributes against the channel."""
    mechanism = _mechanism((2, 2, 2, 2))
    every = np.array(records((2, 2, 2, 2)))
    held = np.arange(len(every)) * 17 % 90
    outputs, rng = mechanism.outputs(), SimulationRandomness(3)
    states = np.array([mechanism.aggregate(outputs[o : o + 1]).counts for o in range(len(outputs))], dtype=np.float64)
    drawn = np.array([mechanism.simulate_aggregate(every, held, rng).counts for _ in range(1000)])
    assert aggregates_agree(mechanism, held, drawn, states)


# -------------------------------------------------------------------- estimates


def test_frequencies_and_pair_tables_are_unbiased() -> None:
    """Exact expectation over the channel at a joint distribution with dependence; variance, too."""
    mechanism = _mechanism((3, 2, 2))
    outputs, law = mechanism.outputs(), JOINT.ravel() @ mechanism.channel()
    aggregates = [mechanism.aggregate(outputs[o : o + 1]) for o in range(len(outputs))]
    single = np.array([np.concatenate([e.frequencies for e in mechanism.estimate(a).values()]) for a in aggregates])
    truth = np.concatenate([JOINT.sum(axis=tuple(i for i in range(3) if i != j)) for j in range(3)])
    assert law @ single == pytest.approx(truth, abs=1e-9)
    for (i, j), place in zip(itertools.combinations(range(3), 2), range(3), strict=True):
        cells = np.array([mechanism.joint(a)[i, j].frequencies for a in aggregates])
        assert law @ cells == pytest.approx(JOINT.sum(axis=2 - place).ravel(), abs=1e-9)
    # These are standard errors at counts equal to their expectation: E second moment - frequency.
    states = np.array([a.counts for a in aggregates])
    n = 10**12
    estimates, _ = mechanism.system.estimates(law @ states * n, n, "")
    noise = np.concatenate([e.standard_errors**2 * n for e in estimates.values()])
    assert noise == pytest.approx(law @ single**2 - truth, rel=1e-6)


def test_two_attributes_are_split() -> None:
    """d = 2: both are pivots; the estimates equal those of SPL and of its pair tables."""
    mechanism, pairs = TwoPivotRR((2, 3), 1.0, (((), ()),)), SPLPairs((2, 3), 1.0)
    assert (mechanism.channel(exact=True) == SPL((2, 3), 1.0).channel(exact=True)).all()
    reports = [[0, 1], [1, 1], [1, 2], [0, 0]]
    ours, theirs = mechanism.aggregate(reports), pairs.aggregate(reports)
    table = pair_tables(theirs)[0, 1].cells
    assert mechanism.joint(ours)[0, 1].frequencies == pytest.approx(table.frequencies, abs=1e-9)
    for j in range(2):
        assert mechanism.estimate(ours)[j].frequencies == pytest.approx(pairs.estimate(theirs)[j].frequencies, abs=1e-9)
        assert mechanism.debiased(ours)[j].is_raw


def test_intervals_of_pairs_cover() -> None:
    mechanism, n, draws, rng = _mechanism((3, 2, 2), 3.0), 4000, 800, SimulationRandomness(4)
    held = np.round(JOINT.ravel() * n).astype(np.int64)
    truth, hits = JOINT.sum(axis=2).ravel(), np.zeros(6)
    for _ in range(draws):
        low, high = mechanism.joint(mechanism.simulate_aggregate(records((3, 2, 2)), held, rng))[0, 1].interval()
        hits += (low <= truth) & (truth <= high)
    fewest, most = stats.binom.ppf(5e-7, draws, 0.94), stats.binom.isf(5e-7, draws, 0.96)
    assert ((hits >= fewest) & (hits <= most)).all(), hits / draws


def test_debiased_says_that_it_is_biased() -> None:
    mechanism = _mechanism((2, 2, 2))
    aggregate = mechanism.aggregate([[0, 1, 0], [1, 1, 0], [0, 0, 0]])
    estimate = mechanism.debiased(aggregate)[2]
    p, q = (grr(y, 0, 2, 0.5) for y in (0, 1))
    assert estimate.frequencies == pytest.approx([(1 - q) / (p - q), -q / (p - q)], rel=1e-12)
    with pytest.raises(NoIntervalError, match=r"two pivots \(biased"):
        estimate.interval()


def test_one_frequency_that_is_not_determined_makes_its_attribute_biased() -> None:
    """For all tables, one value of the first attribute and one cell of the last pair are not determined."""
    _, mechanism = _learned("least-norm")
    system = mechanism.system
    offset, found, identifiable = system.solution
    some = np.ones_like(identifiable)
    some[[1, -1]] = False
    vars(system)["solution"] = offset, found, some
    own, pairs = system.estimates(np.arange(len(found.T)), 100, "biased")
    assert ["biased" in own[j].processing for j in range(3)] == [True, False, False]
    assert ["biased" in pairs[pair].processing for pair in ((0, 1), (0, 2), (1, 2))] == [False, False, True]


def test_pairs_that_the_tables_cancel_are_not_called_unbiased() -> None:
    """Each code avoids both pivots by one half: 1 - 1/2 - 1/2 of the common part of three pairs is left."""
    away = ((0.0, 1.0), (0.5, 0.5), (0.5, 0.5), (1.0, 0.0))
    mechanism = TwoPivotRR((2, 2, 2), 1.0, (((), (), away), ((), away, ()), (away, (), ())))
    aggregate = mechanism.aggregate([[0, 1, 0], [1, 1, 0], [0, 0, 0]])
    assert all(one.is_raw for one in mechanism.estimate(aggregate).values())
    with pytest.raises(NoIntervalError, match="biased: the tables leave some frequencies undetermined"):
        mechanism.joint(aggregate)[0, 1].interval()


def test_beyond_the_limits() -> None:
    wide = _mechanism((22, 22, 22))
    assert wide.state_size == 3 * 484
    with pytest.raises(TooLargeError, match="at most 1024 cells in total, got 1452"):
        wide.estimate(wide.aggregate([[0, 0, 0]]))
    many = _mechanism((3,) * 9)
    with pytest.raises(NoIntervalError, match="no standard error is known beyond 8192"):
        many.estimate(many.aggregate([[0] * 9]))[0].interval()
    with pytest.raises(TooLargeError, match="at most 262144 probabilities"):
        TwoPivotRR((4,) * 50, 1.0, ())


# -------------------------------------------------------------------- learning


def _learned(method: str, n2: int = 1000, n: int = 3000, epsilon: float = 6.0) -> tuple[Aggregate, TwoPivotRR]:
    pairs = TwoPivotRR.phase_one((3, 2, 2), epsilon)
    held = np.round(JOINT.ravel() * n).astype(np.int64)
    first = pairs.simulate_aggregate(records((3, 2, 2)), held, SimulationRandomness(1))
    return first, TwoPivotRR.learn(first, n2, method)


@pytest.mark.parametrize("epsilon", [0.5, 6.0])
def test_least_norm_tables_minimise_the_expected_error(epsilon: float) -> None:
    """scipy minimises the same error over all tables of the target, and finds no smaller one."""
    n2 = 300
    first, mechanism = _learned("least-norm", n2, 200_000, epsilon)
    tables = pair_tables(first)
    for j, (s, t), place in ((0, (1, 2), 2), (1, (0, 2), 1), (2, (0, 1), 0)):
        k, cells = mechanism.sizes[j], mechanism.sizes[s] * mechanism.sizes[t]
        own = tables[j, s].margins[0]
        a, b = mechanism.oracles[s].channel(), mechanism.oracles[t].channel()
        law = (a @ tables[s, t].projected.frequencies @ b.T).ravel()
        p, q = map(float, mechanism.oracles[j].support_probabilities)

        def error(flat: Any, law: Any = law, own: Any = own, p: float = p, q: float = q, k: int = k) -> float:
            pi = (2 * (q + (p - q) * own) + law @ flat.reshape(-1, k)) / 3
            return float((pi * (1 - pi) / n2 + (pi - q - (p - q) * own) ** 2).sum() / (p - q) ** 2)

        ours = np.array(mechanism.tables[place][j])
        assert ours.shape == (cells, k)
        rows_sum = optimize.LinearConstraint(np.kron(np.eye(cells), np.ones(k)), 1, 1)
        best = optimize.minimize(
            error, np.full(cells * k, 1 / k), bounds=[(0, 1)] * (cells * k), constraints=rows_sum, tol=1e-14
        )
        assert error(ours.ravel()) <= best.fun + 1e-9
        # Among all tables with this mean and the same signs, none is nearer to the uniform table. So slopes are
        # proportional to `law`.
        if ours.min() > 1e-6:
            assert np.ptp((ours - 1 / k) / law[:, None], axis=0) == pytest.approx(np.zeros(k), abs=1e-9)


def test_least_norm_tables_hardly_look_at_the_pivots_at_small_budgets() -> None:
    _, mechanism = _learned("least-norm", epsilon=0.1, n=2_000_000)
    table = np.array(mechanism.tables[0][2])
    assert np.ptp(table, axis=0).max() < 0.05 * np.abs(table - 0.5).max() + 0.01


def test_conditional_tables_by_hand() -> None:
    """P(v | a, b) proportional to P(v | a) P(v | b)/P(v) at a known joint distribution."""
    _, mechanism = _learned("conditional", n=100_000, epsilon=32.0)
    first, second = JOINT.sum(axis=1), JOINT.sum(axis=0)
    first, second = first / first.sum(axis=1, keepdims=True), second / second.sum(axis=1, keepdims=True)
    shares = first[:, None, :] * second[None, :, :] / JOINT.sum(axis=(0, 1))
    shares /= shares.sum(axis=2, keepdims=True)
    assert np.array(mechanism.tables[0][2]) == pytest.approx(shares.reshape(6, 2), abs=2e-4)


def test_learning_is_pure_and_files_keep_it() -> None:
    first, mechanism = _learned("least-norm")
    assert TwoPivotRR.learn(first, 1000) == mechanism
    assert from_spec(json.loads(json.dumps(to_spec(mechanism)))) == mechanism
    assert mechanism.tables == learn_two_pivot_tables(pair_tables(first), mechanism.oracles, 1000)
    pairs = SPLPairs((2, 2), 1.0)
    assert TwoPivotRR.learn(pairs.aggregate([[0, 0]]), 10).tables == (((), ()),)


# -------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ((), r"tables must have 3 entries"),
        ((((), ()),) * 3, r"tables\[0\] must have 3 entries"),
        ((((), (), ((1, 0),)),) * 3, r"tables\[0\]\[2\] must have 4 entries"),
        ((((), (), ((1, 0.1),) * 4),) * 3, r"tables\[0\]\[2\]\[0\] must sum to 1"),
        (((((1, 0),) * 4, (), ((1, 0),) * 4),) * 3, r"tables\[0\]\[0\] must have 0 entries"),
    ],
)
def test_refuses_bad_tables(tables: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        TwoPivotRR((2, 2, 2), 1.0, tables)


def test_refuses() -> None:
    with pytest.raises(InvalidParameterError, match="at least two attributes"):
        TwoPivotRR((2,), 1.0, ())
    with pytest.raises(InvalidParameterError, match="epsilon must be >= 1e-06 per attribute"):
        TwoPivotRR((2, 2), 1e-6, (((), ()),))
    pairs = SPLPairs((2, 2, 2), 1.0)
    aggregate = pairs.aggregate([[0, 0, 1]])
    with pytest.raises(InvalidParameterError, match="method must be one of least-norm, conditional"):
        TwoPivotRR.learn(aggregate, 10, "best")
    with pytest.raises(InvalidParameterError, match="n2 must be >= 2"):
        TwoPivotRR.learn(aggregate, 1)
    with pytest.raises(MismatchError, match="SPL pairs"):
        TwoPivotRR.learn(pairs.marginals(aggregate), 10)
    with pytest.raises(EmptyAggregateError):
        TwoPivotRR.learn(Aggregate.empty(pairs), 10)
    wide = SPLPairs((4,) * 50, 50 * 0.1)
    with pytest.raises(TooLargeError, match="at most 262144 probabilities"):
        TwoPivotRR.learn(wide.aggregate(np.zeros((1, 50), dtype=np.int64)), 10)
    mechanism = _mechanism((2, 2, 2))
    with pytest.raises(DamagedStateError, match="all tables of attribute 0 must have the same total for each category"):
        Aggregate(mechanism, np.array([1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0]), 1)
    for name in ("estimate", "debiased", "joint"):
        with pytest.raises(EmptyAggregateError):
            getattr(mechanism, name)(Aggregate.empty(mechanism))
        with pytest.raises(MismatchError, match="came from"):
            getattr(mechanism, name)(aggregate)
    with pytest.raises(InvalidParameterError, match="attribute must be <= 2"):
        mechanism.implemented_attribute_ratio(3)

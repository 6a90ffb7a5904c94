from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from deniable import Aggregate, CorrRR, SimulationRandomness
from deniable.core.spec import from_spec, to_spec
from deniable.errors import EmptyAggregateError, InvalidParameterError, MismatchError, NoIntervalError, TooLargeError
from deniable.records.split import SPL, SPLPairs
from deniable.research.records.cond_rr import CondRR
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted, rows
from tests.unit.records.phases.second_phase_laws import cond_rr_law, some_conditionals
from tests.unit.records.pivot.corr_rr_laws import constant
from tests.unit.records.record_laws import records, worst_p_value


def _true_conditionals(joint: np.ndarray[Any, Any]) -> Any:
    """Return conditional tables of a joint distribution over any number of attributes."""
    d = joint.ndim
    result = []
    for s in range(d):
        row: list[Any] = []
        for j in range(d):
            table = joint.sum(axis=tuple(i for i in range(d) if i not in (s, j)))
            table = table if s < j else table.T
            row.append(() if s == j else tuple(map(tuple, (table / table.sum(axis=1, keepdims=True)).tolist())))
        result.append(tuple(row))
    return tuple(result)


def _expectation(mechanism: CondRR, joint: np.ndarray[Any, Any], estimator: str) -> list[np.ndarray[Any, Any]]:
    """Return the exact expectation of an estimator over contributors with this joint distribution."""
    outputs, law = mechanism.outputs(), joint.ravel() @ mechanism.channel()
    single = [getattr(mechanism, estimator)(mechanism.aggregate(outputs[o : o + 1])) for o in range(len(outputs))]
    return [
        np.sum([p * one[j].frequencies for p, one in zip(law, single, strict=True)], axis=0)
        for j in range(len(mechanism.sizes))
    ]


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(3, 3), (5, 2), (2, 3, 2)])
def test_reports_follow_the_definition(sizes: tuple[int, ...]) -> None:
    tables = some_conditionals(sizes)
    cond = CondRR(sizes, 1.0, tables)
    textbook = lambda x: cond_rr_law(x, sizes, 1.0, tables)  # noqa: E731
    bound = FAMILY_WISE_ERROR / math.prod(sizes)
    assert worst_p_value(cond, rows, textbook, SimulationRandomness(1), 20_000) > bound
    with always_interpreted():
        assert worst_p_value(cond, rows, textbook, SimulationRandomness(2), 200) > bound
    # These reports look like codes drawn given the *true* code.
    leaky = lambda x: cond_rr_law(x, sizes, 1.0, tables, leaky=True)  # noqa: E731
    assert worst_p_value(cond, rows, leaky, SimulationRandomness(1), 20_000) < bound
    # Mutant: tables of target given pivot are read as pivot given target.
    if len(set(sizes)) == 1:
        mutant = CondRR(sizes, 1.0, tuple(zip(*tables, strict=True)))
        assert worst_p_value(mutant, rows, textbook, SimulationRandomness(1), 20_000) < bound


def test_copies_are_a_special_case() -> None:
    """With tables of copies, the channel is Corr-RR's."""
    matrix = ((1.0, 0.7), (0.2, 1.0))
    tables = (
        ((), tuple(tuple(0.2 if a == b else 0.4 for b in range(3)) for a in range(3))),
        (tuple(tuple(0.7 if a == b else 0.15 for b in range(3)) for a in range(3)), ()),
    )
    cond, corr = CondRR((3, 3), 1.0, tables), CorrRR((3, 3), 1.0, matrix)
    assert np.abs(cond.channel() - corr.channel()).max() < 1e-15
    aggregate = cond.aggregate([[0, 1], [2, 2], [1, 1]])
    theirs = corr.aggregate([[0, 1], [2, 2], [1, 1]])
    for estimator in ("debiased", "unmixed"):
        for j in range(2):
            ours = getattr(cond, estimator)(aggregate)[j].frequencies
            assert ours == pytest.approx(getattr(corr, estimator)(theirs)[j].frequencies, abs=1e-9)
    # A copy of a uniform lie is a uniform code, so nothing needs to be taken out.
    assert cond.levelled(aggregate)[0].frequencies == pytest.approx(cond.debiased(aggregate)[0].frequencies, abs=1e-12)


def test_what_each_estimator_is_unbiased_for() -> None:
    joint = np.array([[[0.2, 0.1], [0.05, 0.0]], [[0.05, 0.1], [0.1, 0.05]], [[0.0, 0.05], [0.1, 0.2]]])
    truth = [joint.sum(axis=tuple(i for i in range(3) if i != j)) for j in range(3)]
    right, wrong = (
        CondRR((3, 2, 2), 0.7, _true_conditionals(joint)),
        CondRR((3, 2, 2), 0.7, some_conditionals((3, 2, 2))),
    )
    for j in range(3):
        assert _expectation(wrong, joint, "unmixed")[j] == pytest.approx(truth[j], abs=1e-9)
        assert np.abs(_expectation(wrong, joint, "levelled")[j] - truth[j]).max() > 0.01
        # The population's own tables bring every pivot's true part to f_j, even if domains differ.
        assert _expectation(right, joint, "levelled")[j] == pytest.approx(truth[j], abs=1e-9)
    assert np.abs(_expectation(right, joint, "debiased")[0] - truth[0]).max() > 0.01


def test_estimates_say_what_they_are() -> None:
    cond = CondRR((3, 3), 1.0, some_conditionals((3, 3)))
    aggregate = cond.aggregate([[0, 1], [2, 2], [1, 0]])
    assert cond.estimate(aggregate)[0].is_raw
    for estimator, message in (("debiased", "counted as if"), ("levelled", "unless the conditional distributions")):
        with pytest.raises(NoIntervalError, match=message):
            getattr(cond, estimator)(aggregate)[0].interval()
    alone = CondRR((3,), 1.0, (((),),))
    for estimator in ("estimate", "debiased", "levelled"):
        assert getattr(alone, estimator)(alone.aggregate([[0], [2]]))[0].is_raw
    # Certain copies in both directions hide every difference.
    eye = tuple(tuple(row) for row in np.eye(2).tolist())
    hidden = CondRR((2, 2), 1.0, (((), eye), (eye, ())))
    with pytest.raises(NoIntervalError, match="undetermined"):
        hidden.estimate(hidden.aggregate([[0, 0], [1, 1]]))[0].interval()


def test_learned_tables_are_the_population_s_without_noise() -> None:
    joint = np.array([[0.3, 0.1, 0.0], [0.1, 0.2, 0.3]])
    pairs = CondRR.phase_one((2, 3), 32)
    assert pairs == SPLPairs((2, 3), 32.0)
    aggregate = pairs.simulate_aggregate(records((2, 3)), [300, 100, 0, 100, 200, 300], SimulationRandomness(1))
    learned = CondRR.learn(aggregate, 10)
    assert learned == CondRR.learn(aggregate, 10_000)
    assert (learned.sizes, learned.epsilon) == ((2, 3), 32.0)
    for ours, true in zip(learned.conditionals, _true_conditionals(joint), strict=True):
        for table, expected in zip(ours, true, strict=True):
            assert np.array(table) == pytest.approx(np.array(expected), abs=1e-6)
    assert from_spec(json.loads(json.dumps(to_spec(learned)))) == learned


def test_a_code_that_was_never_seen_gets_the_target_s_own_frequencies() -> None:
    pairs = SPLPairs((2, 2), 32)
    learned = CondRR.learn(pairs.aggregate([[0, 0], [0, 1]]), 10)
    assert np.array(learned.conditionals[0][1]) == pytest.approx(np.full((2, 2), 0.5), abs=1e-9)


def test_learning_many_attributes() -> None:
    pairs = SPLPairs((4,) * 50, 8.0)
    reports = SimulationRandomness(1).generator.integers(0, 4, (2000, 50))
    assert len(CondRR.learn(pairs.aggregate(reports), 1000).conditionals) == 50


@pytest.mark.parametrize(
    ("conditionals", "message"),
    [
        ((), r"conditionals must have 2 entries"),
        ((((), ()), ((), ())), r"conditionals\[0\]\[1\] must have 2 entries"),
        ((((), ((0.5, 0.5),)), ((), ())), r"conditionals\[0\]\[1\] must have 2 entries"),
        (
            (((), ((0.5, 0.4), (1, 0))), ((), ())),
            r"conditionals\[0\]\[1\]\[0\] must sum to 1 within 1e-09, got sum=0.9",
        ),
        ((((), ((1.5, -0.5), (1, 0))), ((), ())), r"conditionals\[0\]\[1\]\[0\]\[1\] must be >= 0, got -0.5"),
        ((((), ((1, 0, 0), (1, 0))), ((), ())), r"conditionals\[0\]\[1\]\[0\] must have 2 probabilities"),
        ((((), ((math.nan, 0), (1, 0))), ((), ())), r"conditionals\[0\]\[1\]\[0\]\[0\] must be a finite number"),
        (((((1, 0),), ((1, 0), (1, 0))), ((), ())), r"conditionals\[0\]\[0\] must have 0 entries"),
    ],
)
def test_refuses_bad_tables(conditionals: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        CondRR((2, 2), 1.0, conditionals)


def test_refuses() -> None:
    with pytest.raises(TooLargeError, match="at most 262144 probabilities, got 2000000"):
        CondRR((1000, 1000), 1.0, ())
    spl, pairs = SPL((2, 2), 1.0), SPLPairs((2, 2), 1.0)
    with pytest.raises(MismatchError, match="SPL pairs"):
        CondRR.learn(spl.aggregate([[0, 0]]), 10)
    with pytest.raises(EmptyAggregateError):
        CondRR.learn(Aggregate.empty(pairs), 10)
    with pytest.raises(InvalidParameterError, match="n2 must be >= 1"):
        CondRR.learn(pairs.aggregate([[0, 0]]), 0)
    cond = CondRR((2, 2), 1.0, some_conditionals((2, 2)))
    other = CorrRR((2, 2), 1.0, constant(2, 0.5)).aggregate([[0, 0]])
    for estimator in ("estimate", "debiased", "levelled"):
        with pytest.raises(MismatchError, match="came from"):
            getattr(cond, estimator)(other)
        with pytest.raises(EmptyAggregateError):
            getattr(cond, estimator)(Aggregate.empty(cond))
    with pytest.raises(InvalidParameterError, match="attribute must be <= 1"):
        cond.implemented_attribute_ratio(2)

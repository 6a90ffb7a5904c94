"""All second phases are learned in the same way: ``cls.learn(aggregate, n2)``, from counts of ``cls.phase_one``."""

from __future__ import annotations

import inspect
import json
from typing import Any

import numpy as np
import pytest

from deniable import Aggregate, SimulationRandomness
from deniable.core.names import mechanism_class
from deniable.core.spec import from_spec, to_spec
from deniable.errors import EmptyAggregateError, InvalidParameterError, MismatchError
from deniable.oracles.grr import GRR
from deniable.records.phases.second_phase import second_phases
from deniable.records.phases.two_phase import combine
from deniable.records.split import SPLPairs
from tests.unit.records.record_laws import records

SIZES = (3, 3, 3)
SECOND_PHASES = second_phases()


@pytest.mark.parametrize("name", SECOND_PHASES)
def test_learning_is_a_pure_function_of_the_aggregate(name: str) -> None:
    """Another object with the same numbers gives the same result; parts combine; files keep the result."""
    cls: Any = SECOND_PHASES[name]
    assert mechanism_class(name) is cls
    every, rng = np.array(records(SIZES)), SimulationRandomness(1)
    held = np.arange(27) * 13 % 50
    pairs = SPLPairs(SIZES, 3.0)
    first = pairs.simulate_aggregate(every, held, rng)
    learned = cls.learn(first, 5000)
    assert learned == cls.learn(Aggregate(pairs, first.counts.copy(), first.n), 5000)
    assert (learned.sizes, learned.epsilon, learned.name) == (SIZES, 3.0, name)
    assert from_spec(json.loads(json.dumps(to_spec(learned)))) == learned
    second = learned.aggregate(learned.randomize(np.repeat(every, held, axis=0), rng))
    both = combine(pairs.estimate(first), learned.estimate(second))
    assert both[0].contributors == 2 * held.sum()
    assert cls.phase_one(SIZES, "3.0") in (pairs, pairs.spl)
    assert cls.phase_one(SIZES, "3.0").aggregate([[0, 1, 2]]).n == 1


@pytest.mark.parametrize("name", SECOND_PHASES)
def test_the_signature_is_the_same(name: str) -> None:
    cls: Any = SECOND_PHASES[name]
    parameters = list(inspect.signature(cls.learn).parameters.values())
    assert [parameter.name for parameter in parameters[:2]] == ["aggregate", "n2"]
    assert all(parameter.default is not parameter.empty for parameter in parameters[2:])


@pytest.mark.parametrize("name", SECOND_PHASES)
def test_nothing_is_learned_from_nothing(name: str) -> None:
    cls: Any = SECOND_PHASES[name]
    pairs, grr = SPLPairs(SIZES, 3.0), GRR(3, 1.0)
    with pytest.raises(EmptyAggregateError):
        cls.learn(Aggregate.empty(pairs), 100)
    with pytest.raises(MismatchError):
        cls.learn(grr.aggregate([0, 1, 2]), 100)
    aggregate = pairs.aggregate([[0, 1, 2], [2, 2, 2]])
    for n2 in (0, -5, 2.5, True, "many"):
        with pytest.raises(InvalidParameterError, match="n2 must be"):
            cls.learn(aggregate, n2)


@pytest.mark.parametrize("name", ["Corr-RR", "RS+RFD", "Cond-RR", "Corr-RR groups"])
def test_fifty_attributes(name: str) -> None:
    cls: Any = SECOND_PHASES[name]
    pairs = SPLPairs((4,) * 50, 8.0)
    reports = SimulationRandomness(1).generator.integers(0, 4, (500, 50))
    assert cls.learn(pairs.aggregate(reports), 1000).state_size == 200

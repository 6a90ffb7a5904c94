from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable import SPL, Aggregate, CorrRR, SimulationRandomness
from deniable.core.spec import from_spec, to_spec
from deniable.errors import EmptyAggregateError, InvalidParameterError, MismatchError, NoIntervalError
from deniable.records.pivot.copy_probabilities import joint_copy_probabilities, pairwise_copy_probabilities
from deniable.records.pivot.corr_rr_error import expected_error
from deniable.records.split import SPLPairs
from deniable.research.records.grouping import GroupedCorrRR, dependence_groups
from tests.unit.records.pivot.corr_rr_laws import constant, some_matrix
from tests.unit.records.record_laws import records


def _two_and_two(n: int, random: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return four attributes over {0, 1, 2}: 0 and 2 mostly agree, 1 and 3 mostly agree; pairs are independent."""
    first, second = random.integers(0, 3, (2, n))
    noisy = [np.where(random.random(n) < 0.9, part, random.integers(0, 3, n)) for part in (first, second)]
    return np.stack([first, second, *noisy], axis=1)


# -------------------------------------------------------------------- groups


def test_average_linkage_by_hand() -> None:
    """d = 4, by means: (1, 3) at .9 first; then (0, 2) at .5 and not (0, 13) at (.6 + .3)/2 = .45; then all."""
    dependence = np.array([[1, 0.6, 0.5, 0.3], [0.6, 1, 0.1, 0.9], [0.5, 0.1, 1, 0.2], [0.3, 0.9, 0.2, 1]])
    assert dependence_groups(dependence) == [
        ((0, 1, 2, 3),),
        ((0, 2), (1, 3)),
        ((0,), (1, 3), (2,)),
        ((0,), (1,), (2,), (3,)),
    ]
    assert dependence_groups(np.eye(1)) == [((0,),)]
    # The mean is over groups of different sizes: {0, 1, 2} to 3 is (.6 + .6 + 0)/3 = .4, below .45 of (3, 4).
    five = np.eye(5)
    for i, j, v in ((0, 1, 0.9), (0, 2, 0.8), (1, 2, 0.8), (0, 3, 0.6), (1, 3, 0.6), (3, 4, 0.45)):
        five[i, j] = five[j, i] = v
    assert dependence_groups(five)[1] == ((0, 1, 2), (3, 4))


def test_dependence_finds_the_groups() -> None:
    rng = SimulationRandomness(1)
    pairs = GroupedCorrRR.phase_one((3,) * 4, 4.0)
    assert pairs == SPLPairs((3,) * 4, 4.0)
    aggregate = pairs.aggregate(pairs.randomize(_two_and_two(20_000, rng.generator), rng))
    grouped = GroupedCorrRR.learn(aggregate, 10_000, groups=2)
    assert grouped.groups == ((0, 2), (1, 3))
    assert [part.epsilon for part in grouped.parts] == [2.0, 2.0]
    marginals = [estimate.frequencies for estimate in pairs.estimate(aggregate).values()]
    for group, matrix in zip(grouped.groups, grouped.copy_probabilities, strict=True):
        expected = pairwise_copy_probabilities([marginals[j] for j in group], 10_000)
        assert np.array(matrix) == pytest.approx(expected, abs=1e-12)
    joint = GroupedCorrRR.learn(aggregate, 10_000, "joint", groups=1)
    assert np.array(joint.copy_probabilities[0]) == pytest.approx(
        joint_copy_probabilities(marginals, 10_000), abs=1e-12
    )
    assert GroupedCorrRR.learn(aggregate, 10_000, groups=1).parts[0] == CorrRR.learn(aggregate, 10_000)


def test_the_number_of_groups_follows_the_expected_error() -> None:
    """Without noise in phase one, the chosen partition is the best of the four by Theorem 5."""
    pairs, every = SPLPairs((2, 2, 2), 32), records((2, 2, 2))
    counts = np.array([300, 50, 40, 10, 20, 30, 250, 300])
    aggregate = pairs.simulate_aggregate(every, counts * 1000, SimulationRandomness(1))
    truth = [estimate.frequencies for estimate in pairs.estimate(aggregate).values()]
    for n2 in (5, 50):
        chosen = GroupedCorrRR.learn(aggregate, n2)
        errors = []
        for groups in (1, 2, 3):
            one = GroupedCorrRR.learn(aggregate, n2, groups=groups)
            errors.append(
                sum(
                    float(mse.mean())
                    for group, part in zip(one.groups, one.parts, strict=True)
                    for mse in expected_error(part, [truth[j] for j in group], n2).mse
                )
                / 3
            )
            assert one.expected_error(truth, n2) == pytest.approx(errors[-1], rel=1e-12)
        assert len(chosen.groups) == int(np.argmin(errors)) + 1


def test_noise_in_phase_one_is_not_taken_for_bias() -> None:
    """With equal marginals there is no bias: one group with the whole budget is best. 40 noisy first phases, epsilon
    .5."""
    rng, pairs = SimulationRandomness(2), SPLPairs((3, 3, 3), 0.5)
    every, found = records((3, 3, 3)), []
    for _ in range(40):
        aggregate = pairs.simulate_aggregate(every, rng.generator.multinomial(2000, np.full(27, 1 / 27)), rng)
        found.append(len(GroupedCorrRR.learn(aggregate, 18_000).groups))
    assert found.count(1) >= 20


# -------------------------------------------------------------------- the mechanism


def test_shares_are_exact_fractions() -> None:
    grouped = GroupedCorrRR((2,) * 3, 0.1, ((0,), (1,), (2,)), (((1,),),) * 3)
    assert [part.epsilon for part in grouped.parts] == [Fraction(1, 30)] * 3
    assert grouped.oracles == SPL((2,) * 3, 0.1).oracles
    assert (grouped.channel(exact=True) == SPL((2,) * 3, 0.1).channel(exact=True)).all()
    assert grouped.privacy().per_attribute == pytest.approx([0.1 / 3] * 3, abs=1e-12)


def test_groups_of_one_have_intervals_and_others_say_why_not() -> None:
    grouped = GroupedCorrRR((3, 2, 3), 1.0, ((0, 2), (1,)), (some_matrix(2), ((1,),)))
    aggregate = grouped.aggregate([[0, 1, 2], [1, 1, 1]])
    estimates = grouped.estimate(aggregate)
    assert estimates[1].is_raw
    with pytest.raises(NoIntervalError, match="Corr-RR"):
        estimates[0].interval()
    assert all(estimate.is_raw for estimate in grouped.unmixed(aggregate).values())
    part = grouped.parts[0]
    theirs = part.estimate(part.aggregate([[0, 2], [1, 1]]))
    assert estimates[2].frequencies.tolist() == theirs[1].frequencies.tolist()
    assert grouped.debiased(aggregate)[0].frequencies.tolist() == theirs[0].frequencies.tolist()
    assert list(estimates) == [0, 1, 2]


def test_maps_belong_to_their_group() -> None:
    alignment = ((2, 0, (1, 0, 0)),)
    grouped = GroupedCorrRR((2, 2, 3), 1.0, ((0, 2), (1,)), (constant(2, 0.8), ((1,),)), alignment)
    assert grouped.parts[0].alignment == ((1, 0, (1, 0, 0)),)
    assert grouped.parts[1].alignment == ()
    assert from_spec(json.loads(json.dumps(to_spec(grouped)))) == grouped
    pairs = SPLPairs((2, 2, 3), 8.0)
    aggregate = pairs.aggregate([[0, 0, 1], [1, 1, 0], [0, 1, 2], [1, 0, 0]] * 20)
    for groups in (1, 3):
        learned = GroupedCorrRR.learn(aggregate, 100, groups=groups, alignment=alignment)
        assert learned.alignment == (alignment if groups == 1 else ())


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (((0, 1),), r"groups must contain each of the attributes 0\.\.2 exactly once"),
        (((0, 1), (1, 2)), r"groups must contain each of the attributes 0\.\.2 exactly once"),
        (((1, 0), (2,)), r"groups\[0\] must list its attributes in ascending order"),
        (((0, 1, 2), ()), r"groups\[1\] must contain at least one attribute"),
        (((0, 1, 3),), r"groups\[0\]\[2\] must be <= 2"),
        (7, "groups must be lists of attributes"),
    ],
)
def test_refuses_what_is_no_partition(groups: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        GroupedCorrRR((2, 2, 2), 1.0, groups, (constant(3, 0.5),))


def test_refuses() -> None:
    with pytest.raises(InvalidParameterError, match=r"one matrix per group \(2\)"):
        GroupedCorrRR((2, 2), 1.0, ((0,), (1,)), (((1,),),))
    with pytest.raises(InvalidParameterError, match="epsilon must be >= 1e-06 per attribute"):
        GroupedCorrRR((2, 2), 1e-6, ((0,), (1,)), (((1,),),) * 2)
    pairs = SPLPairs((2, 2), 1.0)
    aggregate = pairs.aggregate([[0, 0], [1, 0]])
    for settings, message in (
        ({"groups": 3}, "groups must be <= 2"),
        ({"groups": 0}, "groups must be >= 1"),
        ({"method": "best"}, "method must be one of"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            GroupedCorrRR.learn(aggregate, 10, **settings)
    with pytest.raises(InvalidParameterError, match="n2 must be >= 2"):
        GroupedCorrRR.learn(aggregate, 1)
    with pytest.raises(MismatchError, match="SPL pairs"):
        GroupedCorrRR.learn(pairs.marginals(aggregate), 10)
    with pytest.raises(EmptyAggregateError):
        GroupedCorrRR.learn(Aggregate.empty(pairs), 10)

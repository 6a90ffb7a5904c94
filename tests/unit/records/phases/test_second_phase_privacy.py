"""Whole records are enumerated, with all pivots and draws: the largest ratio equals the declared one exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from deniable import CorrRR
from deniable.records.split import SPLPairs
from deniable.research.records.cond_rr import CondRR
from deniable.research.records.grouping import GroupedCorrRR
from deniable.research.records.two_pivots import TwoPivotRR
from deniable.testing import laws
from tests.unit.records.phases.second_phase_laws import (
    cond_rr_law,
    grouped_law,
    random_conditionals,
    random_copies,
    random_pair_tables,
    two_pivot_law,
)
from tests.unit.records.pivot.corr_rr_laws import law as corr_rr_law
from tests.unit.records.record_laws import largest_ratio, log, records

ALIKE = ((2, 2), (3, 3), (2, 2, 2))
DIFFERENT = ((2, 3), (3, 2, 2))
EPSILONS = (0.1, 0.5, 1.0, 3.0)
PARTITIONS = {1: (((0,),),), 2: (((0, 1),), ((0,), (1,))), 3: (((0, 2), (1,)), ((0,), (1, 2)), ((0,), (1,), (2,)))}


def _corr_rr(sizes: Any, epsilon: float, random: np.random.Generator) -> tuple[Any, Any]:
    matrix = random_copies(len(sizes), random)
    return CorrRR(sizes, epsilon, matrix), lambda x: corr_rr_law(x, sizes, epsilon, matrix)


def _cond_rr(sizes: Any, epsilon: float, random: np.random.Generator) -> tuple[Any, Any]:
    tables = random_conditionals(sizes, random)
    return CondRR(sizes, epsilon, tables), lambda x: cond_rr_law(x, sizes, epsilon, tables)


def _grouped(sizes: Any, epsilon: float, random: np.random.Generator) -> tuple[Any, Any]:
    partitions = PARTITIONS[len(sizes)]
    groups = partitions[int(random.integers(len(partitions)))]
    matrices = tuple(random_copies(len(group), random) for group in groups)
    return (
        GroupedCorrRR(sizes, epsilon, groups, matrices),
        lambda x: grouped_law(x, sizes, epsilon, groups, matrices),
    )


def _two_pivots(sizes: Any, epsilon: float, random: np.random.Generator) -> tuple[Any, Any]:
    tables = random_pair_tables(sizes, random)
    return TwoPivotRR(sizes, epsilon, tables), lambda x: two_pivot_law(x, sizes, epsilon, tables)


FAMILIES: dict[str, Callable[[Any, float, np.random.Generator], tuple[Any, Any]]] = {
    "Corr-RR": _corr_rr,
    "Cond-RR": _cond_rr,
    "groups": _grouped,
    "two pivots": _two_pivots,
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sizes", [*ALIKE, *DIFFERENT])
@pytest.mark.parametrize("family", FAMILIES)
def test_any_tables_keep_the_budget(family: str, sizes: tuple[int, ...], seed: int) -> None:
    """Random tables, some with certain and impossible codes; the channel equals the definition."""
    random = np.random.default_rng([seed, *sizes])
    epsilon = EPSILONS[seed % len(EPSILONS)]
    mechanism, textbook = FAMILIES[family](sizes, epsilon, random)
    channel, outputs = mechanism.channel(exact=True), [tuple(row) for row in mechanism.outputs().tolist()]
    laws.rows_sum_to_one(mechanism)
    for x, row in zip(records(sizes), mechanism.channel(), strict=True):
        expected = textbook(x)
        assert row.tolist() == pytest.approx([expected[y] for y in outputs], rel=1e-11, abs=1e-18)
        assert math.fsum(expected[y] for y in outputs) == pytest.approx(1.0, abs=1e-12)
    ratio = laws.channel_ratio(channel)
    assert ratio == mechanism.implemented_ratio()
    assert log(ratio) <= Decimal(repr(epsilon))
    assert abs(log(ratio) - Decimal(repr(epsilon))) < Decimal("1e-12")
    assert mechanism.privacy().epsilon == epsilon
    for j, declared in enumerate(mechanism.privacy().per_attribute):
        enumerated = largest_ratio(channel, sizes, j)
        assert enumerated == mechanism.implemented_attribute_ratio(j)
        assert math.log(enumerated) == pytest.approx(declared, abs=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_three_codes_and_three_attributes(family: str) -> None:
    mechanism, textbook = FAMILIES[family]((3, 3, 3), 0.5, np.random.default_rng(1))
    channel, outputs = mechanism.channel(exact=True), [tuple(row) for row in mechanism.outputs().tolist()]
    assert laws.channel_ratio(channel) == mechanism.implemented_ratio()
    assert abs(log(mechanism.implemented_ratio()) - Decimal("0.5")) < Decimal("1e-12")
    expected = textbook((0, 1, 2))
    row = channel[records((3, 3, 3)).index((0, 1, 2))].astype(float)
    assert row.tolist() == pytest.approx([expected[y] for y in outputs], rel=1e-11, abs=1e-18)


def test_pairs_are_counted_of_the_same_reports_as_spl() -> None:
    pairs = SPLPairs((3, 2, 2), 1.0)
    assert laws.channel_ratio(pairs.channel(exact=True)) == pairs.implemented_ratio()
    assert (pairs.channel(exact=True) == pairs.spl.channel(exact=True)).all()
    assert pairs.privacy() == pairs.spl.privacy()


def test_a_budget_that_is_spent_twice_is_seen() -> None:
    """Mutants: two pivots with the whole epsilon each, groups with the whole epsilon each."""
    random = np.random.default_rng(2)
    tables = random_pair_tables((2, 2, 2), random)
    for honest, mutant in (
        (TwoPivotRR((2, 2, 2), 0.5, tables), TwoPivotRR((2, 2, 2), 1.0, tables)),
        (
            GroupedCorrRR((2, 2), 0.5, ((0,), (1,)), (((1,),), ((1,),))),
            GroupedCorrRR((2, 2), 1.0, ((0,), (1,)), (((1,),), ((1,),))),
        ),
    ):
        assert log(laws.channel_ratio(honest.channel(exact=True))) <= Decimal("0.5")
        assert log(laws.channel_ratio(mutant.channel(exact=True))) > Decimal("0.999")


def test_large_domains_get_an_upper_bound() -> None:
    sizes = (20, 21, 22)
    cond = CondRR(sizes, 1.0, random_conditionals(sizes, np.random.default_rng(3)))
    assert cond.implemented_ratio() == max(oracle.implemented_ratio() for oracle in cond.oracles)
    assert cond.implemented_attribute_ratio(1) == cond.oracles[1].implemented_ratio()
    two = TwoPivotRR(sizes, 1.0, random_pair_tables(sizes, np.random.default_rng(3)))
    ratios = sorted(oracle.implemented_ratio() for oracle in two.oracles)
    assert two.implemented_ratio() == ratios[1] * ratios[2]
    assert two.implemented_attribute_ratio(1) == two.oracles[1].implemented_ratio()
    for mechanism in (cond, two):
        assert log(mechanism.implemented_ratio()) <= 1

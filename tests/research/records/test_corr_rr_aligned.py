from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from deniable import SimulationRandomness
from deniable.errors import InvalidInputError, InvalidParameterError, InvalidReportError, NoIntervalError
from deniable.research.records.corr_rr_aligned import AlignedCorrRR
from deniable.testing import laws
from tests.contract.cases import Case
from tests.unit._goodness import FAMILY_WISE_ERROR, rows
from tests.unit.records.pivot.corr_rr_laws import constant, law, pivot_code, some_matrix
from tests.unit.records.record_laws import Record, worst_p_value

CASE = Case(
    "Corr-RR aligned",
    lambda sizes, e: AlignedCorrRR(tuple(sizes), e, some_matrix(len(sizes))),
    records=True,
)
MAPS = ((0, 1), (1, 0, 0, 1, 1))


def _law(x: Record, mechanism: AlignedCorrRR, matrix: Any) -> dict[Any, float]:
    """Align, run and expand: the distribution over the common domain, divided among the codes of a reported group."""
    maps, groups = mechanism.maps, mechanism.groups
    inner = law(tuple(maps[j][v] for j, v in enumerate(x)), (groups,) * len(x), 1.0, matrix)
    result = {}
    for y in itertools.product(*map(range, mechanism.sizes)):
        mapped = tuple(maps[j][v] for j, v in enumerate(y))
        result[y] = inner[mapped] / math.prod(maps[j].count(z) for j, z in enumerate(mapped))
    return result


@pytest.mark.long
@pytest.mark.parametrize(
    ("sizes", "maps"), [((2, 5), MAPS), ((2, 5), ()), ((3, 2), ()), ((2, 2, 3), ()), ((3, 3), ((0, 1, 2), (2, 0, 1)))]
)
def test_channel_and_reports_are_the_definition(sizes: tuple[int, ...], maps: Any) -> None:
    matrix = some_matrix(len(sizes))
    aligned = AlignedCorrRR(sizes, 1.0, matrix, maps)
    laws.rows_sum_to_one(aligned)
    outputs = rows(aligned.outputs())
    for x, row in zip(CASE.inputs(sizes).tolist(), aligned.channel(), strict=True):
        expected = _law(tuple(x), aligned, matrix)
        assert row.tolist() == pytest.approx([expected[y] for y in outputs], rel=1e-12)
    laws.ratio_keeps_the_budget(aligned, 1.0)
    bound = FAMILY_WISE_ERROR / math.prod(sizes)
    textbook = lambda x: _law(x, aligned, matrix)  # noqa: E731
    assert worst_p_value(aligned, rows, textbook, SimulationRandomness(1), 10_000) > bound
    laws.simulated_aggregates_follow_the_law(aligned, draws=1500)


def test_contract() -> None:
    aligned = AlignedCorrRR((2, 5), 1.0, some_matrix(2), MAPS)
    laws.is_data(aligned)
    laws.reports_match_their_declaration(aligned)
    laws.merging_is_adding(aligned, aligned.randomize([[0, 4], [1, 0], [1, 3]], SimulationRandomness(1)), [1])
    assert aligned.privacy().epsilon == 1.0
    assert len(AlignedCorrRR((2, 3), 1.0, pivot_code(2)).outputs()) == 6
    assert len(AlignedCorrRR((2, 3), 1.0, constant(2, 1.0)).outputs()) == 3


def test_only_groups_are_estimated() -> None:
    aligned = AlignedCorrRR((2, 5), 5.0, constant(2, 0.5), MAPS)
    # Everybody holds (0, 1), which is in group (0, 0). The estimate knows only the group.
    aggregate = aligned.simulate_aggregate([[0, 1]], [200_000], SimulationRandomness(2))
    groups, spread = aligned.estimate_groups(aggregate), aligned.estimate(aggregate)
    # P = 1/k is RS+FD, so E f^ = 1/2 + (1/2)(1 - 1/2) = .75.
    assert groups[1].frequencies == pytest.approx([0.75, 0.25], abs=0.01)
    held = groups[1].frequencies[[1, 0, 0, 1, 1]] / np.array([3, 2, 2, 3, 3])
    assert spread[1].frequencies == pytest.approx(held, abs=1e-12)
    assert spread[0].frequencies == pytest.approx(groups[0].frequencies, abs=1e-12)
    with pytest.raises(NoIntervalError, match="frequencies within a group are not identifiable"):
        spread[1].interval()
    with pytest.raises(NoIntervalError, match="copies pull every attribute towards the others"):
        spread[0].interval()


def test_refuses() -> None:
    for parameters, message in (
        ({"maps": ((0, 1),)}, r"maps must have one map for each of the 2 attributes"),
        ({"maps": 3}, "maps must have one map for each of the"),
        ({"maps": ((0, 1), (0, 1, 2, 1, 0))}, r"maps\[1\]\[2\] must be <= 1"),
        (
            {"maps": ((0, 1), (0, 0, 0, 0, 0))},
            r"maps\[1\] must map at least one code to every group in 0\.\.1, but no code is mapped to group 1",
        ),
        ({"sizes": (2, 1)}, r"sizes\[1\] must be >= 2"),
        ({"epsilon": 0}, "epsilon must be > 0"),
        ({"copy_probabilities": ((1, 2), (0, 1))}, r"copy_probabilities\[0\]\[1\] must be in"),
    ):
        given: Any = {"sizes": (2, 5), "epsilon": 1.0, "copy_probabilities": constant(2, 0.5), **parameters}
        with pytest.raises(InvalidParameterError, match=message):
            AlignedCorrRR(**given)
    aligned = AlignedCorrRR((2, 5), 1.0, constant(2, 0.5))
    with pytest.raises(InvalidInputError, match="got something else in row 1, attribute 1"):
        aligned.randomize([[0, 5]], SimulationRandomness(1))
    with pytest.raises(InvalidReportError, match="got report=2 in row 1, attribute 0"):
        aligned.aggregate([[2, 4]])

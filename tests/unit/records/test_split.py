from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable import SPL, SimulationRandomness
from deniable.errors import InvalidInputError, InvalidParameterError, InvalidReportError, TooLargeError
from tests.contract.cases import SIMULATIONS
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted, rows
from tests.unit.records.record_laws import (
    BITS,
    CODES,
    Record,
    aggregates_agree,
    all_bits,
    estimates_are_unbiased,
    grr,
    oue,
    ratios_are_declared,
    records,
    unpacked,
    worst_p_value,
)


def _grr_law(x: Record, sizes: tuple[int, ...], epsilon: float) -> dict[Any, float]:
    share = epsilon / len(sizes)
    return {y: math.prod(grr(b, a, k, share) for a, b, k in zip(x, y, sizes, strict=True)) for y in records(sizes)}


def _oue_law(x: Record, sizes: tuple[int, ...], epsilon: float) -> dict[Any, float]:
    vectors = [all_bits(k) for k in sizes]
    law = {}
    for chosen in records([len(part) for part in vectors]):
        y = tuple(part[c] for part, c in zip(vectors, chosen, strict=True))
        law[y] = math.prod(oue(bits, a, epsilon / len(sizes)) for a, bits in zip(x, y, strict=True))
    return law


LAWS = {"GRR": _grr_law, "OUE": _oue_law}


def _keys(oracle: str, sizes: tuple[int, ...]) -> Any:
    return rows if oracle == "GRR" else lambda reports: unpacked(reports, sizes)


@pytest.mark.parametrize(
    ("oracle", "sizes", "epsilon"), [("GRR", *setting) for setting in CODES] + [("OUE", *setting) for setting in BITS]
)
def test_channel_is_the_textbook_product(oracle: str, sizes: tuple[int, ...], epsilon: float) -> None:
    spl = SPL(sizes, epsilon, oracle)
    channel = spl.channel(exact=True)
    assert all(sum(row, Fraction(0)) == 1 for row in channel)
    outputs = spl.outputs()
    for x, row in zip(records(sizes), channel, strict=True):
        law = LAWS[oracle](x, sizes, epsilon)
        assert [float(cell) for cell in row] == pytest.approx(
            [law[key] for key in _keys(oracle, sizes)(outputs)], rel=1e-12
        )
    ratios_are_declared(spl, epsilon)
    estimates_are_unbiased(spl, [outputs[o : o + 1] for o in range(len(outputs))], [None] * len(outputs))


@pytest.mark.long
@pytest.mark.parametrize(("oracle", "sizes"), [("GRR", (2, 3)), ("GRR", (3, 3)), ("OUE", (2, 3)), ("OUE", (3,))])
def test_reports_follow_the_channel(oracle: str, sizes: tuple[int, ...]) -> None:
    bound = FAMILY_WISE_ERROR / math.prod(sizes)
    law = lambda x: LAWS[oracle](x, sizes, 1.0)  # noqa: E731
    assert worst_p_value(SPL(sizes, 1.0, oracle), _keys(oracle, sizes), law, SimulationRandomness(1), 30_000) > bound
    with always_interpreted():
        few = worst_p_value(SPL(sizes, 1.0, oracle), _keys(oracle, sizes), law, SimulationRandomness(2), 300)
    assert few > bound
    if len(sizes) > 1:
        # Mutant: every attribute spends the whole epsilon.
        mutant = SPL(sizes, 1.0 * len(sizes), oracle)
        assert worst_p_value(mutant, _keys(oracle, sizes), law, SimulationRandomness(1), 30_000) < bound


def test_reports_of_many_bits_are_not_listed() -> None:
    """Every bit doubles them; of a wide attribute 64 bits are enough to know that they are too many."""
    assert SPL((3, 4), 1.0, "OUE").layout.outputs == len(SPL((3, 4), 1.0, "OUE").outputs()) == 1 << 7
    assert SPL((3, 100), 1.0, "OUE").layout.outputs == 1 << 67
    with pytest.raises(TooLargeError, match="147573952589676412928"):
        SPL((3, 100), 1.0, "OUE").outputs()


def test_the_budget_is_split_exactly() -> None:
    assert SPL((2, 2, 2), 0.1).oracles[0].epsilon == Fraction(1, 30)
    assert SPL((2, 3), 1.0).privacy().per_attribute == (0.5, 0.5)


def test_simulated_aggregates_follow_the_law() -> None:
    sizes = (2, 3, 2)
    for oracle in ("GRR", "OUE"):
        spl = SPL(sizes, 1.0, oracle)
        held = np.array([400, 0, 10, 30, 0, 0, 1, 2, 300, 0, 0, 90])  # these are correlated
        table = held.reshape(sizes)
        marginals = [table.sum(axis=(1, 2)), table.sum(axis=(0, 2)), table.sum(axis=(0, 1))]
        rng = SimulationRandomness(4)
        drawn = np.array([spl.simulate_aggregate(marginals, rng).counts for _ in range(SIMULATIONS)])
        outputs = spl.outputs()
        states = np.array([spl.aggregate(outputs[o : o + 1]).counts for o in range(len(outputs))], dtype=np.float64)
        assert aggregates_agree(spl, held, drawn, states)
        # Mutant: the budget is not split.
        greedy = SPL(sizes, 3.0, oracle)
        drawn = np.array([greedy.simulate_aggregate(marginals, rng).counts for _ in range(SIMULATIONS)])
        assert not aggregates_agree(spl, held, drawn, states)


def test_variance_is_the_textbook_one() -> None:
    # OUE at f = 0 has 4 e^(eps/d)/(e^(eps/d) - 1)^2 = 63.66769... for eps/d = 1/4, so +-1 point at 95% needs 2.45
    # million.
    variance = SPL((100,) * 4, 1.0, "OUE").variance(0.0, 1, 2)
    assert variance == pytest.approx(4 * math.exp(0.25) / (math.exp(0.25) - 1) ** 2, rel=1e-12)
    assert round(variance * (1.959964 / 0.01) ** 2 / 1e6, 2) == 2.45
    assert SPL((2, 16), 2.0).variance(0.0, 1, 1) == pytest.approx(5.662430016946315, rel=1e-13)


def test_the_wire() -> None:
    assert SPL((2, 4), 1.0).report_bits == 3.0
    assert SPL((2, 300), 1.0).report_fields[0].dtype == "uint16"
    field = SPL((2, 9, 8), 1.0, "OUE").report_fields[0]
    assert (field.name, field.dtype, field.width) == ("bits", "uint8", 4)
    assert SPL((2, 9, 8), 1.0, "OUE").report_bits == 19.0
    assert SPL((2, 9, 8), 1.0, "OUE").state_size == 19


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sizes": ()}, "sizes must list the numbers of categories"),
        ({"sizes": (2, 1)}, r"sizes\[1\] must be >= 2, got sizes\[1\]=1"),
        ({"sizes": 3}, "sizes must list"),
        ({"oracle": "OLH"}, "oracle must be one of GRR, OUE, got oracle=“OLH”"),
        ({"epsilon": 0}, "epsilon must be > 0, got epsilon=0"),
        ({"epsilon": -1.0}, "epsilon must be > 0, got epsilon=-1.0"),
        ({"epsilon": float("nan")}, "epsilon must be a finite number"),
        ({"epsilon": float("inf")}, "epsilon must be a finite number"),
        ({"epsilon": 1.5e-6}, "epsilon must be >= 1e-06 per attribute, got epsilon=1.5e-06 for 2 attributes"),
    ],
)
def test_refuses_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        SPL(**{"sizes": (2, 3), "epsilon": 1.0, **parameters})


def test_refuses_bad_input() -> None:
    spl = SPL((2, 3), 1.0)
    rng = SimulationRandomness(1)
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.2, got something else in row 2, attribute 1"):
        spl.randomize([[1, 2], [1, 3]], rng)
    with pytest.raises(InvalidInputError, match=r"shape \(n, 2\), one column for each attribute, got shape=\(1, 3\)"):
        spl.randomize([[1, 2, 0]], rng)
    with pytest.raises(InvalidReportError, match=r"got report=2 in row 1, attribute 0"):
        spl.aggregate([[2, 2], [1, 2]])
    with pytest.raises(InvalidParameterError, match="attribute must be <= 1, got attribute=2"):
        spl.variance(0.1, 10, 2)
    with pytest.raises(InvalidInputError, match=r"one array for each of the 2 attributes, got 1"):
        spl.simulate_aggregate([[1, 2]], rng)
    with pytest.raises(InvalidInputError, match=r"same sum for every attribute, got the sums 3, 4"):
        spl.simulate_aggregate([[1, 2], [1, 2, 1]], rng)


def test_refuses_hostile_bits() -> None:
    spl = SPL((2, 9), 1.0, "OUE")
    reports = spl.randomize(np.zeros((50, 2), dtype=np.int64), SimulationRandomness(1))
    with pytest.raises(InvalidReportError, match=r"uint8 of shape \(n, 3\), got dtype=int64"):
        spl.aggregate(reports.astype(np.int64))
    with pytest.raises(InvalidReportError, match=r"shape=\(50, 2\)"):
        spl.aggregate(reports[:, :2])
    for byte, padding, attribute in ((0, 0b100, 0), (2, 0b10, 1)):
        wrong = reports.copy()
        wrong[40, byte] |= padding
        with pytest.raises(InvalidReportError, match=f"must be zero, got a 1 in row 41, attribute {attribute}"):
            spl.aggregate(wrong)
    assert spl.aggregate([]).n == 0

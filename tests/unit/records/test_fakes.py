"""Fake answers: channels by their definition, and variances."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable import RSFD, SimulationRandomness
from deniable.records import RSRFD, fakes, layout, sampled_attribute
from deniable.records.uniform_draws import uniform_rows
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted, rows
from tests.unit.records.fake_laws import FAKES, _biased, _mixture, _priors, _realistic_law
from tests.unit.records.record_laws import (
    BITS,
    CODES,
    Record,
    all_bits,
    estimates_are_unbiased,
    grr,
    oue,
    ratios_are_declared,
    records,
    unpacked,
    worst_p_value,
)


def _law(kind: str, x: Record, sizes: tuple[int, ...], epsilon: float) -> dict[Any, float]:
    if kind == "uniform":
        truths = [lambda y, v, k=k: grr(y, v, k, epsilon) for k in sizes]
        fakes: list[Any] = [lambda _y, k=k: 1 / k for k in sizes]
        return _mixture(x, truths, fakes, records(sizes))
    bits = [lambda y, v: oue(y, v, epsilon)] * len(sizes)
    vectors = [all_bits(k) for k in sizes]
    outputs = [
        tuple(part[c] for part, c in zip(vectors, chosen, strict=True)) for chosen in records([*map(len, vectors)])
    ]
    if kind == "zero":
        return _mixture(x, bits, [lambda y: oue(y, None, epsilon)] * len(sizes), outputs)
    random = [lambda y, k=k: math.fsum(oue(y, v, epsilon) for v in range(k)) / k for k in sizes]
    return _mixture(x, bits, random, outputs)


def _keys(kind: str, sizes: tuple[int, ...]) -> Any:
    return rows if kind == "uniform" else lambda reports: unpacked(reports, sizes)


@pytest.mark.parametrize(
    ("oracle", "kind", "sizes", "epsilon"),
    [(*FAKES[0], *setting) for setting in CODES] + [(*fakes, *setting) for fakes in FAKES[1:] for setting in BITS],
)
def test_channel_is_the_definition(oracle: str, kind: str, sizes: tuple[int, ...], epsilon: float) -> None:
    rsfd = RSFD(sizes, epsilon, oracle, kind)
    channel = rsfd.channel(exact=True)
    assert all(sum(row, Fraction(0)) == 1 for row in channel)
    outputs = rsfd.outputs()
    for x, row in zip(records(sizes), channel, strict=True):
        law = _law(kind, x, sizes, epsilon)
        expected = [law[key] for key in _keys(kind, sizes)(outputs)]
        assert [float(cell) for cell in row] == pytest.approx(expected, rel=1e-12)
    ratios_are_declared(rsfd, epsilon)
    estimates_are_unbiased(rsfd, [outputs[o : o + 1] for o in range(len(outputs))], [None] * len(outputs))


@pytest.mark.parametrize("zeros", [(), (0,), (0, 1)])
@pytest.mark.parametrize(("sizes", "epsilon"), CODES)
def test_realistic_channel_is_the_definition(sizes: tuple[int, ...], epsilon: float, zeros: tuple[int, ...]) -> None:
    priors = _priors(sizes, zeros)
    rsrfd = RSRFD(sizes, epsilon, priors)
    channel = rsrfd.channel(exact=True)
    assert all(sum(row, Fraction(0)) == 1 for row in channel)
    outputs = rsrfd.outputs()
    for x, row in zip(records(sizes), channel, strict=True):
        law = {y: mass for y, mass in _realistic_law(x, sizes, epsilon, priors).items() if mass > 0}
        assert rows(outputs) == list(law)
        assert [float(cell) for cell in row] == pytest.approx(list(law.values()), rel=1e-12)
    ratios_are_declared(rsrfd, epsilon)
    estimates_are_unbiased(rsrfd, [outputs[o : o + 1] for o in range(len(outputs))], [None] * len(outputs))


@pytest.mark.parametrize(("oracle", "kind"), FAKES)
def test_variance(oracle: str, kind: str) -> None:
    """That of one report's estimate under the textbook law, for the second attribute of (2, 3)."""
    sizes, epsilon = (2, 3), 1.0
    rsfd = RSFD(sizes, epsilon, oracle, kind)
    for x, f in (((0, 2), 1.0), ((0, 1), 0.0)):
        law = _law(kind, x, sizes, epsilon)
        chance = math.fsum(m for y, m in law.items() if (y[1] == 2 if kind == "uniform" else y[1][2]))
        other = _law(kind, (0, 0), sizes, epsilon)
        absent = math.fsum(m for y, m in other.items() if (y[1] == 2 if kind == "uniform" else y[1][2]))
        held = _law(kind, (0, 2), sizes, epsilon)
        present = math.fsum(m for y, m in held.items() if (y[1] == 2 if kind == "uniform" else y[1][2]))
        expected = chance * (1 - chance) / (present - absent) ** 2 / 500
        assert rsfd.variance(f, 500, 1) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("oracle", "kind"), FAKES)
def test_noise_of_weighted_sums(oracle: str, kind: str) -> None:
    """That of one report under the textbook law, for the second attribute of (2, 3)."""
    sizes, weights, f = (2, 3), np.array([0.0, 1.0, 5.0]), np.array([0.2, 0.5, 0.3])
    rsfd = RSFD(sizes, 1.0, oracle, kind)
    p, q = map(float, rsfd.support_probabilities[1])
    expected = 0.0
    for value, share in enumerate(f):
        law = _law(kind, (0, value), sizes, 1.0)
        supports = np.array([np.eye(3)[y[1]] if kind == "uniform" else y[1] for y in law])
        said, chances = (supports - q) / (p - q) @ weights, np.array(list(law.values()))
        expected += share * (chances @ said**2 - (chances @ said) ** 2)
    joint = rsfd.estimate(rsfd.aggregate(rsfd.randomize([[0, 0]], SimulationRandomness(1))))[1].joint
    assert joint is not None
    assert joint(weights, f) == pytest.approx(expected, rel=1e-10)


@pytest.mark.long
@pytest.mark.parametrize(
    ("oracle", "kind", "sizes"), [*((*fakes, (2, 3)) for fakes in FAKES), ("GRR", "uniform", (2, 2, 2))]
)
def test_reports_follow_the_channel(
    oracle: str, kind: str, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = FAMILY_WISE_ERROR / math.prod(sizes)

    def smallest(n: int, seed: int) -> float:
        law = lambda x: _law(kind, x, sizes, 1.0)  # noqa: E731
        rsfd = RSFD(sizes, 1.0, oracle, kind)
        return worst_p_value(rsfd, _keys(kind, sizes), law, SimulationRandomness(seed), n)

    assert smallest(20_000, 1) > bound
    with always_interpreted():
        assert smallest(200, 2) > bound
    with monkeypatch.context() as patch:
        # Mutant: the sampled attribute is biased, as (uniform below d + 1) mod d.
        for module in (sampled_attribute, fakes):
            patch.setattr(module, "sample_attributes", _biased)
        assert smallest(20_000, 1) < bound
    if kind != "zero":
        # Mutant: fakes are never value 0.
        monkeypatch.setattr(fakes, "uniform_rows", _never_zero)
        assert smallest(20_000, 1) < bound
    else:
        # Mutant: fakes are the true values of all attributes.
        monkeypatch.setattr(fakes, "set_sampled", lambda codes, _, starts, bits: layout.set_all(codes, starts, bits))
        assert smallest(20_000, 1) < bound


def _never_zero(rng: Any, bounds: Any, choices: Any) -> None:
    uniform_rows(rng, [bound - 1 for bound in bounds], choices)
    choices += 1

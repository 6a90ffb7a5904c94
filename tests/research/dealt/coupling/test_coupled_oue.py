"""Report coupling inside OUE: its distribution per bit, its error, its guarantee, and the need for pairs per bit."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import OUE, Aggregate, SimulationRandomness
from deniable.core.spec import from_spec, to_spec
from deniable.errors import (
    DamagedStateError,
    EmptyAggregateError,
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
    MismatchError,
)
from deniable.research.dealt.coupling.coupled_oue import CoupledOUE
from deniable.research.dealt.shares import Shares
from tests.research.dealt.coupling_laws import (
    SAY_0,
    SAY_1,
    TRUTH,
    divergence,
    first,
    largest_ratio,
    moments,
    reports,
    type_law,
)
from tests.unit._goodness import FAMILY_WISE_ERROR, p_value

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "jrr_coupling.json").read_text())
HALF = Fraction(1, 2)
PARAMETERS = [(Fraction(1, 4), Fraction(1)), (Fraction(3, 8), Fraction(1)), (Fraction(1, 8), Fraction(1, 4))]


def _law(mechanism: CoupledOUE) -> dict[tuple[int, ...], Any]:
    p, q = mechanism.support_probabilities
    return type_law(mechanism.n, q, p, Fraction(mechanism.weight))


def _types(shares: Shares, k: int) -> np.ndarray[Any, Any]:
    """Return the types of each contributor and bit."""
    ones, truth = (
        np.unpackbits(bits, axis=1, bitorder="little")[:, :k] for bits in (shares.columns[0], shares.columns[1])
    )
    return np.where(ones == 1, SAY_1, np.where(truth == 1, TRUTH, SAY_0))


@pytest.mark.parametrize(("q", "weight"), PARAMETERS)
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_mean_and_variance_are_exact(q: Fraction, weight: Fraction, n: int) -> None:
    mechanism = CoupledOUE(3, q, n, weight)
    law = _law(mechanism)
    for held in range(n + 1):
        bits = (1,) * held + (0,) * (n - held)
        said = reports(law, bits)
        for i, x in enumerate(bits):
            assert sum(w for y, w in said.items() if y[i]) == (HALF if x else q)
        for reporters in {n, n - 1}:
            holders = sum(bits[:reporters])
            mean, variance = moments(said, first(reporters, 1))
            assert (mean - reporters * q) / (HALF - q) == holders
            found = mechanism.variance(holders / reporters, reporters=reporters) * reporters**2
            assert found == pytest.approx(float(variance / (HALF - q) ** 2), abs=1e-12)


@pytest.mark.parametrize("row", VECTORS["oue"], ids=lambda row: f"{row['eps']}-{row['n1']}")
def test_variance_of_the_vectors(row: dict[str, Any]) -> None:
    n = row["n"]
    mechanism = CoupledOUE(2, 1 / (1 + math.exp(row["eps"])), n, colluders=5)
    assert mechanism.variance(row["n1"] / n) * n**2 == pytest.approx(row["var_anti"], rel=1e-9)
    independent = CoupledOUE(2, mechanism.q, n, weight=0)
    assert independent.variance(row["n1"] / n) * n**2 == pytest.approx(row["var_indep"], rel=1e-9)
    assert mechanism.epsilon_against(5) == pytest.approx(row["eps_M5_n2000"], abs=1e-9)
    if row["n1"] == 0:
        assert row["var_anti"] / row["var_indep"] == pytest.approx(1 - math.exp(-row["eps"]), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("colluders", [0, 5, 400])
def test_optimal_spends_its_epsilon(epsilon: float, colluders: int) -> None:
    mechanism = CoupledOUE.optimal(10, 1000, epsilon, colluders)
    assert mechanism.epsilon_against(colluders) == pytest.approx(epsilon, rel=1e-12)
    assert mechanism.epsilon_against(colluders) <= epsilon
    assert mechanism.colluders == colluders
    if colluders == 5:
        ratio = mechanism.variance(0.0) / OUE(10, epsilon).variance(0.0, 1000)
        assert ratio == pytest.approx(1 - math.exp(-epsilon), rel=0.02)


@pytest.mark.parametrize(("q", "weight"), PARAMETERS)
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_rows_hold_in_their_views(q: Fraction, weight: Fraction, n: int) -> None:
    mechanism = CoupledOUE(2, q, n, weight)
    law = _law(mechanism)

    def bit_ratios(views: Any, seen: dict[Any, Any]) -> tuple[float, float]:
        """Return the worst P(y | own)/P(y | not) of bit v and the worst P(y | not)/P(y | own) of bit w."""
        own, other = 0.0, 0.0
        for view in views:
            a, b, c = (seen[view, t] for t in (SAY_1, TRUTH, SAY_0))
            for held, free in ((a + b, a), (c, b + c)):
                if held or free:
                    own = max(own, math.inf if not free else float(held / free))
                    other = max(other, math.inf if not held else float(free / held))
        return own, other

    for colluders in range(n):
        row = next(
            r for r in mechanism.guarantee_against(colluders=colluders).trust_models if "colluders' shares" in r.view
        )
        seen: dict[Any, Any] = defaultdict(Fraction)
        for told, w in law.items():
            seen[told[n - colluders :], told[0]] += w
        # Bits are dealt independently, so the worst of all is the product of the worst of two.
        own, other = bit_ratios({view for view, _ in seen}, seen)
        worst = math.log(own * other)
        assert row.epsilon >= worst - 1e-12
        if row.status == "exact":
            assert row.epsilon == pytest.approx(worst, abs=1e-9)
        exact = colluders == 0 or (n % 2 == 0 and (weight == 1 or colluders == 1))
        assert (row.status == "exact") == exact
    rows = mechanism.privacy().trust_models
    alone = next(r for r in rows if r.view.startswith("my report only"))
    assert alone.epsilon == pytest.approx(math.log((1 - q) / q), abs=1e-12)
    assert rows[0].epsilon == rows[1].epsilon == math.inf
    # If everybody else is known to give the answer w, the bit w in all reports shows who was told 0.
    known = next(r for r in rows if r.view == "all reports and everybody else's data")
    held, free = reports(law, (1,) * n), reports(law, (0, *(1,) * (n - 1)))
    worst = largest_ratio((held.get(y, 0), free.get(y, 0)) for y in itertools.product((0, 1), repeat=n))
    if known.status == "exact":
        assert known.epsilon == math.log(worst) == math.inf
    assert known.epsilon >= math.log(worst)


@pytest.mark.parametrize(("q", "weight"), PARAMETERS)
@pytest.mark.parametrize("n", [3, 4])
def test_row_at_delta_is_a_bound(q: Fraction, weight: Fraction, n: int) -> None:
    law = _law(CoupledOUE(2, q, n, weight))
    held, free = (reports(law, (x, *(0,) * (n - 1))) for x in (1, 0))
    v = {(y, z): held.get(y, 0) * free.get(z, 0) for y in {*held, *free} for z in {*held, *free}}
    w = {(z, y): weight_ for (y, z), weight_ in v.items()}
    for delta in (0.3, 0.1, 0.02):
        rows = CoupledOUE(2, q, n, weight).guarantee_against(delta=delta).trust_models
        row = next(r for r in rows if "none of the two answers" in r.view)
        assert row.status == "upper bound"
        if math.isfinite(row.epsilon):
            assert divergence(v, w, row.epsilon) <= delta + 1e-12


def test_rows_at_scale() -> None:
    rows = {row.view: row for row in CoupledOUE.optimal(128, 10_000, 0.5, 5).privacy().trust_models}
    assert rows["all reports; everybody else is known to hold none of the two answers compared"].epsilon < 0.56
    assert rows["my report and the colluders' shares, other reports ignored"].epsilon == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(("q", "weight"), PARAMETERS)
def test_bits_are_dealt_independently(q: Fraction, weight: Fraction) -> None:
    mechanism = CoupledOUE(10, q, 4, weight)
    law = {told: float(w) for told, w in _law(mechanism).items()}
    rng = SimulationRandomness(2)
    dealt = [_types(mechanism.deal(4, rng), 10) for _ in range(800)]
    columns = [tuple(types[:, v].tolist()) for types in dealt for v in range(10)]
    assert p_value(columns, law) > FAMILY_WISE_ERROR
    # Which of the first two contributors was told 0 in one bit says nothing about another bit, in the first and in the
    # second byte.
    both = [(tuple(t[:2, 7] == SAY_0), tuple(t[:2, 8] == SAY_0)) for t in dealt]
    zeros: dict[Any, float] = defaultdict(float)
    for told, w in law.items():
        zeros[tuple(t == SAY_0 for t in told[:2])] += w
    joint = {(a, b): x * y for a, x in zeros.items() for b, y in zeros.items()}
    assert p_value(both, joint) > FAMILY_WISE_ERROR
    # Mutant: one deal for all bits.
    assert p_value([(a, a) for a, _ in both], joint) < FAMILY_WISE_ERROR


def test_reports_follow_the_share() -> None:
    mechanism = CoupledOUE(11, 0.25, 30)
    shares = mechanism.deal(30, SimulationRandomness(1))
    assert (
        shares.columns[0].nbytes + shares.columns[1].nbytes == 30 * 4
    )  # there are two bits per contributor and value, in whole bytes
    truth = np.arange(30) % 11
    found = np.unpackbits(mechanism.randomize(truth, shares, SimulationRandomness(1)), axis=1, bitorder="little")
    types = _types(shares, 11)
    expected = np.where(types == TRUTH, np.arange(11) == truth[:, None], types)
    assert (found[:, :11] == expected).all()
    assert not found[:, 11:].any()
    for i in (0, 29, -1):
        assert (
            mechanism.randomize(truth[i : i + 1 or None], shares[i], SimulationRandomness(1)).tolist()
            == np.packbits(found[i : i + 1 or None], axis=1, bitorder="little").tolist()
        )
    # In each bit exactly half are told to report 0.
    assert ((types == SAY_0).sum(axis=0) == 15).all()


def _identified(n: int, d: int, epsilon: float, *, own_pairs: bool) -> float:
    """Return the share of contributors whose peer in the first bit is found by likelihood; all values are rare."""
    q = 1 / (1 + math.exp(epsilon))
    generator = np.random.default_rng(5)
    reported, order = np.zeros((n, d)), np.empty((d, n), dtype=np.int64)
    for v in range(d):
        order[v] = generator.permutation(n) if own_pairs or v == 0 else order[0]
        u = generator.random(n // 2)
        reported[order[v, : n // 2], v], reported[order[v, n // 2 :], v] = u < q, 1 - u < q
    # Peers never both report 1 in a bit. If both report 0, they are less likely to be peers than if one of them reports
    # 1.
    both = reported @ reported.T
    one = reported.sum(axis=1)[:, None] + reported.sum(axis=1) - 2 * both
    score = -1e9 * both - one * math.log(1 - q) + (d - both - one) * math.log((1 - 2 * q) / (1 - q) ** 2)
    np.fill_diagonal(score, -np.inf)
    peer = np.empty(n, dtype=np.int64)
    peer[order[0, : n // 2]], peer[order[0, n // 2 :]] = order[0, n // 2 :], order[0, : n // 2]
    return float((score.argmax(axis=1) == peer).mean())


def test_one_pairing_for_all_bits_identifies_the_peers() -> None:
    """With rare values, n = 2000 and epsilon = 1, peers are the two who never both report a bit."""
    assert _identified(2000, 128, 1.0, own_pairs=False) > 0.9
    assert _identified(2000, 128, 1.0, own_pairs=True) < 0.01


def test_both_ways_to_simulate_follow_the_law() -> None:
    mechanism = CoupledOUE(2, 0.25, 5)
    data = (1, 0, 0, 1, 0)
    law: dict[int, float] = defaultdict(float)
    for y, w in reports(_law(mechanism), data).items():
        law[sum(y)] += float(w)
    rng = SimulationRandomness(5)
    direct = [
        mechanism.aggregate(mechanism.randomize(list(data), mechanism.deal(5, rng), SimulationRandomness(1))).counts
        for _ in range(3000)
    ]
    drawn = [mechanism.simulate_aggregate([3, 2], rng).counts for _ in range(3000)]
    for sample in (direct, drawn):
        assert p_value([int(counts[1]) for counts in sample], {i: w for i, w in law.items() if w}) > FAMILY_WISE_ERROR
    # Mutant: uncoupled.
    loose = CoupledOUE(2, 0.25, 5, 0)
    plain = [int(loose.simulate_aggregate([3, 2], rng).counts[1]) for _ in range(3000)]
    assert p_value(plain, {i: w for i, w in law.items() if w}) < FAMILY_WISE_ERROR


def test_estimates_have_their_mean_and_variance() -> None:
    mechanism = CoupledOUE.optimal(4, 2000, 0.5, 5)
    held = np.array([1900, 60, 40, 0])
    rng, size = SimulationRandomness(2), 3000
    f = np.array([mechanism.frequencies(mechanism.simulate_aggregate(held, rng)) for _ in range(size)])
    for v in range(4):
        variance = mechanism.variance(held[v] / 2000)
        assert abs(f[:, v].mean() - held[v] / 2000) < 5.5 * math.sqrt(variance / size)
        assert f[:, v].var() == pytest.approx(variance, rel=5.5 * math.sqrt(2 / size))
    estimate = mechanism.estimate(mechanism.simulate_aggregate(held, rng))
    lower, upper = estimate.interval(0.999999)
    assert (lower <= held / 2000).all()
    assert (held / 2000 < upper).all()


def test_is_data() -> None:
    mechanism = CoupledOUE(9, 0.25, 100, Fraction(1, 3), 7, "x")
    again: Any = from_spec(to_spec(mechanism))
    assert again == mechanism
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    assert (mechanism.state_size, mechanism.report_bits, mechanism.report_fields[0].width) == (9, 9.0, 2)
    assert [(field.name, field.width) for field in mechanism.share_fields] == [("ones", 2), ("truth", 2)]
    shares = mechanism.deal(100, SimulationRandomness(1))
    rebuilt = Shares("x", shares.columns)
    truth, rng = np.zeros(100, dtype=np.int64), SimulationRandomness(1)
    assert (mechanism.randomize(truth, rebuilt, rng) == mechanism.randomize(truth, shares, rng)).all()
    assert CoupledOUE(3, 0.25, 10).outputs().shape == (8, 1)
    assert mechanism.implemented_ratio() == mechanism.implemented_epsilon() == mechanism.epsilon == math.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 1}, "k must be >= 2, got k=1"),
        ({"q": 0.5}, r"q must be in \(0, 0\.5\), got q=0\.5"),
        ({"q": 0}, r"q must be in \(0, 0\.5\), got q=0"),
        ({"n": 1}, "n must be >= 2, got n=1"),
        ({"weight": -1}, r"weight must be in \[0, 1\], got weight=-1"),
        ({"colluders": 10}, "colluders must be <= 9, got colluders=10"),
        ({"deal_id": None}, "deal_id must be a string"),
    ],
)
def test_bad_parameters_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        CoupledOUE(**({"k": 3, "q": 0.25, "n": 10} | arguments))


def test_bad_use_is_named() -> None:
    mechanism = CoupledOUE(10, 0.25, 10, deal_id="monday")
    shares = mechanism.deal(10, SimulationRandomness(1))
    truth = np.zeros(10, dtype=np.int64)
    with pytest.raises(InvalidInputError, match="every contributor needs one share, got 10 contributors and 9 shares"):
        mechanism.randomize(truth, shares[:9], SimulationRandomness(1))
    with pytest.raises(MismatchError, match="shares belong to deal “monday”, not to deal “”"):
        CoupledOUE(10, 0.25, 10).randomize(truth, shares, SimulationRandomness(1))
    with pytest.raises(InvalidInputError, match="shares must have the columns"):
        mechanism.randomize(truth, Shares("monday", (np.zeros(10, np.uint8),)), SimulationRandomness(1))
    ones = np.full((1, 2), 3, dtype=np.uint8)
    with pytest.raises(InvalidInputError, match="every bit must have one type, but a bit in row 1"):
        mechanism.randomize([0], Shares("monday", (ones, ones)), SimulationRandomness(1))
    with pytest.raises(InvalidInputError, match=r"padding bits 10\.\.15 must be zero"):
        mechanism.randomize([0], Shares("monday", (ones * 0 + 255, ones * 0)), SimulationRandomness(1))
    with pytest.raises(InvalidInputError, match=r"ones must have shape \(n, 2\)"):
        mechanism.randomize([0], Shares("monday", (ones[:, :1], ones[:, :1])), SimulationRandomness(1))
    with pytest.raises(InvalidParameterError, match="n must be 10, got n=9: the deal was made for 10 contributors"):
        mechanism.deal(9, SimulationRandomness(1))
    with pytest.raises(InvalidParameterError, match="colluders must be <= 4 for n=10"):
        CoupledOUE.optimal(3, 10, 1.0, 5)
    with pytest.raises(InvalidReportError, match="padding bits"):
        mechanism.aggregate(ones * 0 + 255)
    with pytest.raises(DamagedStateError, match="n=10 contributors has at most as many reports, got 11"):
        mechanism.estimate(Aggregate(mechanism, np.zeros(10, np.int64), 11))
    with pytest.raises(EmptyAggregateError):
        mechanism.estimate(Aggregate.empty(mechanism))
    with pytest.raises(InvalidInputError, match="counts must sum to n=10, got 9"):
        mechanism.simulate_aggregate([9, *([0] * 9)], SimulationRandomness(1))

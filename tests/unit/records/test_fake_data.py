from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable import RSFD, Aggregate, SimulationRandomness
from deniable.core.spec import from_spec, to_spec
from deniable.errors import InvalidInputError, InvalidParameterError, InvalidReportError
from deniable.records import RSRFD, fake_data, fakes, layout, sampled_attribute
from deniable.records.uniform_draws import uniform_rows
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted, rows
from tests.unit.records.record_laws import (
    BITS,
    CODES,
    EPSILONS,
    Record,
    aggregates_agree,
    all_bits,
    estimates_are_unbiased,
    grr,
    largest_ratio,
    log,
    oue,
    ratios_are_declared,
    records,
    unpacked,
    worst_p_value,
)

FAKES = (("GRR", "uniform"), ("OUE", "zero"), ("OUE", "random"))
PRIORS = {2: (0.9, 0.1), 3: (0.5, 0.3, 0.2)}
ZEROS = {2: (1.0, 0.0), 3: (0.0, 0.4, 0.6)}


@pytest.mark.parametrize("n", [1, 2, 5, 16])
@pytest.mark.parametrize("sizes", [(2, 3), (16,) * 5, (2, 1 << 20, 300)])
def test_few_records_get_the_fakes_and_reports_of_many(sizes: tuple[int, ...], n: int) -> None:
    rsfd = RSFD(sizes, 1.0)
    codes = np.random.default_rng(n).integers(sizes, size=(n, len(sizes)), dtype=np.int64)
    found = rsfd.randomize(codes, SimulationRandomness(n))
    rng = SimulationRandomness(n)
    assert isinstance(rsfd.layout, layout.CodeLayout)
    many = fakes.codes_among(rsfd.layout, codes, rng, partial(uniform_rows, rng, sizes))
    assert found.dtype == many.dtype
    assert found.tolist() == many.tolist()


def _mixture(x: Record, truths: list[Any], fakes: list[Any], outputs: list[Any]) -> dict[Any, float]:
    """P(y | x) = 1/d sum_j truth_j(y_j | x_j) prod_(i != j) fake_i(y_i), from the definition."""
    d = len(x)
    law = {}
    for y in outputs:
        terms = [truths[j](y[j], x[j]) * math.prod(fakes[i](y[i]) for i in range(d) if i != j) / d for j in range(d)]
        law[tuple(y)] = math.fsum(terms)
    return law


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


def _realistic_law(x: Record, sizes: tuple[int, ...], epsilon: float, priors: Any) -> dict[Any, float]:
    truths = [lambda y, v, k=k: grr(y, v, k, epsilon) for k in sizes]
    return _mixture(x, truths, [lambda y, prior=prior: prior[y] for prior in priors], records(sizes))


def _keys(kind: str, sizes: tuple[int, ...]) -> Any:
    return rows if kind == "uniform" else lambda reports: unpacked(reports, sizes)


def _priors(sizes: tuple[int, ...], zeros: tuple[int, ...] = ()) -> Any:
    return tuple((ZEROS if j in zeros else PRIORS)[k] for j, k in enumerate(sizes))


# -------------------------------------------------------------------- exact laws


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


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_whole_record_ratio_is_that_of_the_sampled_attribute(epsilon: float) -> None:
    """Fakes dilute nothing between records that differ everywhere, whatever the sizes."""
    for sizes in ((2, 2), (2, 3), (3, 3), (2, 2, 2), (2, 3, 2)):
        ratio = largest_ratio(RSFD(sizes, epsilon).channel(exact=True), sizes)
        assert abs(float(log(ratio)) - epsilon) < 1e-12 * max(1.0, epsilon)


def test_the_amplified_budget_is_a_trap() -> None:
    """Spending eps' = ln(d (e^eps - 1) + 1) for eps = 0.5 costs eps' = 0.832 (d = 2), 1.081 (d = 3) between records."""
    for sizes, spent in (((3, 3), 0.832), ((2, 2, 2), 1.081)):
        amplified = math.log(len(sizes) * (math.exp(0.5) - 1) + 1)
        assert round(amplified, 3) == spent
        rsfd = RSFD(sizes, amplified)
        assert round(float(log(largest_ratio(rsfd.channel(exact=True), sizes))), 3) == spent
        assert round(rsfd.privacy().epsilon, 3) == spent
        # It is 0.5 between records that differ in one attribute,
        assert [round(value, 12) for value in rsfd.privacy().per_attribute] == [0.5] * len(sizes)
    # but not even that where the attributes are not alike, or fakes are random values.
    amplified = math.log(2 * (math.exp(0.5) - 1) + 1)
    assert [round(value, 3) for value in RSFD((2, 4), amplified).privacy().per_attribute] == [0.456, 0.542]
    assert [round(value, 3) for value in RSFD((3, 3), amplified, "OUE", "random").privacy().per_attribute] == [0.55] * 2
    assert [round(value, 3) for value in RSFD((2, 4), amplified, "OUE").privacy().per_attribute] == [0.5] * 2


def test_a_zero_prior_gives_its_attribute_away() -> None:
    rsrfd = RSRFD((2, 3), 1.0, ((1, 0), (0.2, 0.3, 0.5)))
    assert rsrfd.privacy().per_attribute[0] == 1.0
    assert rsrfd.privacy().per_attribute[1] < 0.9
    assert any("prior is zero" in remark for remark in rsrfd.privacy().remarks)
    assert not any("prior is zero" in remark for remark in RSRFD((2, 2), 1.0, ((0.5, 0.5),) * 2).privacy().remarks)
    # Both attributes' zero values in one report cannot be.
    assert rows(RSRFD((2, 2), 1.0, ((1, 0), (0, 1))).outputs()) == [(0, 0), (0, 1), (1, 1)]


# -------------------------------------------------------------------- estimators


def test_estimators_are_the_published_ones() -> None:
    """GRR: (c d k - n (d - 1 + q k))/(n k (p - q)); realistic: (d c/n - q - (d-1) pi)/(p - q)."""
    n, epsilon = 1000, 1.0
    for k, counts in ((2, [700, 300]), (4, [100, 200, 300, 400])):
        p, q = grr(0, 0, k, epsilon), grr(1, 0, k, epsilon)
        rsfd = RSFD((k, k, k), epsilon)
        estimate = rsfd.estimate(Aggregate(rsfd, np.array(counts * 3), n))[1]
        by_hand = [(c * 3 * k - n * (2 + q * k)) / (n * k * (p - q)) for c in counts]
        assert estimate.frequencies == pytest.approx(by_hand, rel=1e-11)
        prior: Any = np.arange(1, k + 1) / (k * (k + 1) / 2)
        rsrfd = RSRFD((k, k, k), epsilon, (prior, prior, prior[::-1]))
        estimate = rsrfd.estimate(Aggregate(rsrfd, np.array(counts * 3), n))[2]
        by_hand = [(3 * c / n - q - 2 * pi) / (p - q) for c, pi in zip(counts, prior[::-1], strict=True)]
        assert estimate.frequencies == pytest.approx(by_hand, rel=1e-11)


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


def test_variance_of_realistic_fakes_depends_on_the_prior() -> None:
    rsrfd = RSRFD((2, 3), 1.0, _priors((2, 3)))
    p, q = grr(0, 0, 3, 1.0), grr(1, 0, 3, 1.0)
    expected = []
    for pi in PRIORS[3]:
        absent = (q + pi) / 2
        expected.append(absent * (1 - absent) * 4 / (p - q) ** 2 / 500)
    assert [rsrfd.variance(0.0, 500, 1, v) for v in range(3)] == pytest.approx(expected, rel=1e-10)
    assert rsrfd.variance(0.0, 500, 1) == pytest.approx(sum(expected) / 3, rel=1e-10)


# -------------------------------------------------------------------- randomise


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
        # Mutant: the sampled attribute is biased, (uniform below d + 1) mod d.
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


def _biased(rng: Any, n: int, d: int) -> Any:
    attributes = np.empty((n, 1), dtype=np.uint8)
    uniform_rows(rng, (d + 1,), attributes)
    return attributes[:, 0] % d


def _never_zero(rng: Any, bounds: Any, choices: Any) -> None:
    uniform_rows(rng, [bound - 1 for bound in bounds], choices)
    choices += 1


@pytest.mark.long
@pytest.mark.parametrize(("sizes", "zeros"), [((2, 3), ()), ((2, 3), (1,)), ((2, 2, 2), (0, 1))])
def test_realistic_reports_follow_the_channel(
    sizes: tuple[int, ...], zeros: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    bound, priors = FAMILY_WISE_ERROR / math.prod(sizes), _priors(sizes, zeros)

    def smallest(n: int, seed: int, drawn_from: Any = priors) -> float:
        def law(x: Record) -> dict[Any, float]:
            return {y: mass for y, mass in _realistic_law(x, sizes, 1.0, priors).items() if mass > 0}

        rsrfd = RSRFD(sizes, 1.0, drawn_from)
        return worst_p_value(rsrfd, rows, law, SimulationRandomness(seed), n)

    assert smallest(20_000, 1) > bound
    with always_interpreted():
        assert smallest(200, 2) > bound
    # Mutants: uniform fakes; a biased attribute.
    assert smallest(20_000, 1, [np.full(k, 1 / k) for k in sizes]) < bound
    monkeypatch.setattr(sampled_attribute, "sample_attributes", _biased)
    assert smallest(20_000, 1) < bound


@pytest.mark.parametrize("sizes", [(300, 7, 4), (5, 5)])
def test_over_several_blocks_true_values_stand_in_their_own_rows(sizes: tuple[int, ...]) -> None:
    """At a budget without lies, a column differs from the truth only by fakes: (d-1)/d (1 - 1/k) of its rows."""
    n = 2 * sampled_attribute.SAMPLED_ROWS + 5
    truth = np.stack([np.arange(n) * (j + 3) % k for j, k in enumerate(sizes)], axis=1)
    uniform = tuple((1 / k,) * k for k in sizes)
    for mechanism in (RSFD(sizes, 32), RSRFD(sizes, 32, uniform)):
        reports = mechanism.randomize(truth, SimulationRandomness(7))
        for j, k in enumerate(sizes):
            chance = (len(sizes) - 1) / len(sizes) * (1 - 1 / k)
            wrong = (reports[:, j] != truth[:, j]).sum()
            assert stats.binomtest(int(wrong), n, chance).pvalue > FAMILY_WISE_ERROR


# -------------------------------------------------------------------- simulate


@pytest.mark.long
@pytest.mark.parametrize(("oracle", "kind"), [*FAKES, ("GRR", "realistic")])
def test_simulated_aggregates_follow_the_law(oracle: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (2, 3)
    held = np.array([400, 10, 3, 0, 90, 330])  # correlated
    # At a large budget the covariance between attributes is large, too; random values have the smallest.
    draws = 10_000 if kind == "random" else 4_000
    mechanism: Any = RSRFD(sizes, 4.0, _priors(sizes)) if kind == "realistic" else RSFD(sizes, 4.0, oracle, kind)
    outputs = mechanism.outputs()
    states = np.array([mechanism.aggregate(outputs[o : o + 1]).counts for o in range(len(outputs))], dtype=np.float64)

    def drawn() -> Any:
        rng = SimulationRandomness(4)
        rows = np.array(records(sizes))
        return np.array([mechanism.simulate_aggregate(rows, held, rng).counts for _ in range(draws)])

    assert aggregates_agree(mechanism, held, drawn(), states)
    assert mechanism.simulate_aggregate(records(sizes), held, SimulationRandomness(1)).n == 833

    # Mutant: who samples what is drawn for every attribute on its own, as if marginal counts were enough.
    def independent(rows: Any, counts: Any, sizes: Any, rng: Any) -> Any:
        parts = []
        for j, k in enumerate(sizes):
            true_counts = np.bincount(np.array(rows)[:, j], weights=counts, minlength=k).astype(np.int64)
            parts.append(rng.generator.binomial(true_counts, 1 / len(sizes)))
        return parts

    monkeypatch.setattr(fake_data, "simulate_sampling", independent)
    assert not aggregates_agree(mechanism, held, drawn(), states)


# -------------------------------------------------------------------- parameters and reports


def test_fakes_follow_the_oracle() -> None:
    assert RSFD((2, 2), 1.0).fakes == "uniform"
    assert RSFD((2, 2), 1.0, "OUE").fakes == "zero"
    assert RSFD((2, 2), 1.0, "OUE") == RSFD((2, 2), 1.0, "OUE", "zero")
    with pytest.raises(InvalidParameterError, match="fakes must be uniform with the oracle GRR, got fakes=“zero”"):
        RSFD((2, 2), 1.0, "GRR", "zero")
    with pytest.raises(
        InvalidParameterError, match="fakes must be zero or random with the oracle OUE, got fakes=“uniform”"
    ):
        RSFD((2, 2), 1.0, "OUE", "uniform")
    with pytest.raises(InvalidParameterError, match="oracle must be one of GRR, OUE"):
        RSFD((2, 2), 1.0, "SUE")


def test_priors_are_data() -> None:
    """Arrays, fractions and text all become the same exact numbers, also after JSON."""
    mixed: Any = ((Fraction(1, 4), "0.75"), (Fraction(1, 3),) * 3)
    exact = RSRFD((2, 3), 1.0, mixed)
    assert exact.priors == ((0.25, 0.75), (Fraction(1, 3),) * 3)
    assert from_spec(to_spec(exact)) == exact
    arrays: Any = [np.array([0.25, 0.75]), np.full(3, 1 / 3)]
    assert RSRFD((2, 3), 1.0, arrays) == RSRFD((2, 3), 1.0, ((0.25, 0.75), (1 / 3,) * 3))
    implemented = exact.implemented_priors[1]
    assert sum(implemented) == 1
    assert max(abs(value - Fraction(1, 3)) for value in implemented) <= Fraction(1, 2**64)


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        (((0.5, 0.5),), r"one distribution per attribute \(2\)"),
        ("ab", "one distribution per attribute"),
        (((0.5, 0.5), (0.5, 0.5)), r"priors\[1\] must have 3 probabilities, got 0.5, 0.5"),
        (((0.5, 0.5), (0.5, 0.6, -0.1)), r"priors\[1\]\[2\] must be >= 0, got -0.1"),
        (((0.5, 0.5001), (0.2, 0.3, 0.5)), r"priors\[0\] must sum to 1 within 1e-09, got sum=1.0001"),
        (((0.5, float("nan")), (0.2, 0.3, 0.5)), r"priors\[0\]\[1\] must be a finite number"),
        (((0.5, None), (0.2, 0.3, 0.5)), r"priors\[0\]\[1\] must be a finite number"),
        ((0.5, 0.5), r"priors\[0\] must have 2 probabilities"),
        (((0, 0), (0.2, 0.3, 0.5)), r"priors\[0\] must sum to 1"),
    ],
)
def test_refuses_bad_priors(priors: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        RSRFD((2, 3), 1.0, priors)


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf")])
def test_refuses_bad_budgets(epsilon: float) -> None:
    for build in (lambda: RSFD((2, 3), epsilon), lambda: RSRFD((2, 3), epsilon, _priors((2, 3)))):
        with pytest.raises(InvalidParameterError, match="epsilon must be"):
            build()


def test_refuses_bad_input() -> None:
    rng = SimulationRandomness(1)
    for mechanism in (RSFD((2, 3), 1.0), RSFD((2, 3), 1.0, "OUE"), RSRFD((2, 3), 1.0, _priors((2, 3)))):
        with pytest.raises(
            InvalidInputError, match=r"value must be in 0\.\.2, got something else in row 2, attribute 1"
        ):
            mechanism.randomize([[1, 2], [1, -1]], rng)
        with pytest.raises(
            InvalidInputError, match=r"shape \(n, 2\), one column for each attribute, got shape=\(1, 1\)"
        ):
            mechanism.randomize([[1]], rng)
        with pytest.raises(InvalidInputError, match="row 1, attribute 1"):
            mechanism.simulate_aggregate([[0, 3]], [5], rng)
        with pytest.raises(InvalidInputError, match="counts must be >= 0"):
            mechanism.simulate_aggregate([[0, 2]], [-5], rng)
        with pytest.raises(InvalidParameterError, match="attribute must be >= 0, got attribute=-1"):
            mechanism.variance(0.1, 10, -1)
    with pytest.raises(InvalidReportError, match="got report=3 in row 1, attribute 1"):
        RSFD((2, 3), 1.0).aggregate([[0, 3]])
    reports = RSFD((2, 3), 1.0, "OUE").randomize([[0, 2]] * 30, rng)
    reports[20, 1] |= 8
    with pytest.raises(InvalidReportError, match="a 1 in row 21, attribute 1"):
        RSFD((2, 3), 1.0, "OUE").aggregate(reports)

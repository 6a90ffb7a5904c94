from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable import SecureRandomness, SimulationRandomness
from deniable.core.names import mechanism_class
from deniable.core.randomness import BLOCK_WORDS, Randomness, uniform_below
from deniable.core.spec import from_spec, to_spec
from deniable.errors import InvalidInputError, InvalidParameterError, InvalidReportError, TooLargeError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.sketch.families.prime import HashedReports, PrimeFamily
from deniable.oracles.sketch.local_hashing import BLH, OLH

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "ocms_core.json").read_text())
FAMILY_WISE_ERROR = 1e-6

Randomizer = Callable[[CountMeanSketch, NDArray[np.int64], Randomness], HashedReports]


def prime_family(sketch: CountMeanSketch) -> PrimeFamily:
    assert isinstance(sketch.hashes, PrimeFamily)
    return sketch.hashes


def supports(sketch: CountMeanSketch, reports: HashedReports, v: int) -> NDArray[np.bool_]:
    """Whether each report supports v, from the definition of the hash."""
    a0, a1, value = (column.astype(np.int64) for column in reports)
    found: NDArray[np.bool_] = (a0 + a1 * v) % prime_family(sketch).prime % sketch.hashes.m == value
    return found


# ------------------------------------------------------------------------------------------------ known answers


@pytest.mark.parametrize("row", VECTORS["prime"], ids=lambda row: f"{row['p']}")
def test_estimate_vectors(row: dict[str, Any]) -> None:
    """Two of the vectors have a larger modulus than the smallest one: put the family in place by hand."""
    sketch = CountMeanSketch(row["d"], row["eps"], row["m"])
    sketch.__dict__["hashes"] = PrimeFamily(row["d"], row["m"], row["p"])
    reports = HashedReports(*(np.array(row[name]) for name in ("a0", "a1", "z")))
    aggregate, queries = sketch.aggregate(reports), np.array(row["queries"])
    assert aggregate.counts[queries].tolist() == row["counts"]
    assert sketch.count_support(reports, queries).tolist() == row["counts"]
    assert sketch.estimate(aggregate).frequencies[queries] == pytest.approx(row["estimates"], rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("m", [2, 3, 8, 56])
def test_variance_vectors(m: int) -> None:
    rows = [row for row in VECTORS["variance"] if row["m"] == m]
    assert len(rows) == 32
    for row in rows:
        # The exact collision probability of the smallest modulus, or 1/m, which the largest approaches to 1e-17.
        k = 2**31 if row["cbar"] == 1 / m else 2
        variance = CountMeanSketch(k, row["eps"], m).variance(row["f"], row["n"])
        assert variance == pytest.approx(row["var"], rel=1e-12)


@pytest.mark.parametrize("row", VECTORS["hash_range"], ids=lambda row: f"{row['eps']}-{row['d']}")
def test_default_number_of_cells_vectors(row: dict[str, Any]) -> None:
    assert CountMeanSketch(row["d"], row["eps"]).m == row["m_best"]


@pytest.mark.parametrize("k", [2, 3, 10, 1000, 2**32])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 3.0, 6.0])
def test_no_other_number_of_cells_is_better(k: int, epsilon: float) -> None:
    """Pan, eq. (20): [(1-f)(E+m-1)^2 + f m^2 E]/((m-1)(E-1)^2) at f = 1/k, by trying all m up to 3000."""
    e, f = math.exp(epsilon), 1 / k
    cost = {m: ((1 - f) * (e + m - 1) ** 2 + f * m**2 * e) / (m - 1) for m in range(2, 3001)}
    assert cost[CountMeanSketch(k, epsilon).m or 0] <= min(cost.values()) * (1 + 1e-12)


def test_the_number_of_cells_stays_in_its_range() -> None:
    assert CountMeanSketch(2**32, 32).m == 2**32


# ------------------------------------------------------------------------------------------------ local hashing


@pytest.mark.parametrize(
    ("epsilon", "m"),
    # round(e^epsilon) + 1; ln 1.5 = 0.405465..., e^4 = 54.598, e^5 = 148.413, e^22.18 = 4.2919e9.
    [(1e-6, 2), (0.4054, 2), (0.4055, 3), (0.5, 3), (1.0, 4), (2.0, 8), (4.0, 56), (5.0, 149), ("0.5", 3)],
)
def test_olh_is_a_sketch_of_this_many_cells(epsilon: Any, m: int) -> None:
    assert OLH(100, epsilon) == CountMeanSketch(100, float(epsilon), m)


def test_blh_is_a_sketch_of_two_cells() -> None:
    assert BLH(k=100, epsilon=2.0) == CountMeanSketch(100, 2.0, 2)
    assert BLH(k=100, epsilon=0.4) == OLH(k=100, epsilon=0.4)


def test_local_hashing_by_name() -> None:
    assert {name: mechanism_class(name)(64, 1.0).m for name in ("BLH", "OLH")} == {"BLH": 2, "OLH": 4}


def test_olh_variance_is_the_textbook_one() -> None:
    # Wang et al. (2017): 4 e^eps/(n (e^eps - 1)^2) at f = 0; e^1 gives 3.6827. Rounding m = 3.718 to 4 costs 0.3%.
    assert OLH(2**20, 1.0).variance(0.0, 1) == pytest.approx(3.6827, rel=3e-3)
    assert OLH(2**20, 1.0).variance(0.0, 1000) * 1000 == pytest.approx(OLH(2**20, 1.0).variance(0.0, 1))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: CountMeanSketch(1, 1.0), "k must be >= 2, got k=1"),
        (lambda: CountMeanSketch(2**32 + 1, 1.0), "k must be <= 4294967296"),
        (lambda: CountMeanSketch(8, 0), "epsilon must be > 0, got epsilon=0"),
        (lambda: CountMeanSketch(8, 1.0, 1), "m must be >= 2, got m=1"),
        (lambda: CountMeanSketch(8, 1.0, 2.0), "m must be an integer, got m=2.0"),  # type: ignore[arg-type]
        (lambda: CountMeanSketch(8, 1.0, True), "m must be an integer, got m=true"),
        (lambda: CountMeanSketch(8, 1.0, family="sprad"), "family must be one of prime, spread.*, got family=“sprad”"),
        (lambda: OLH(8, 22.2), r"epsilon must be at most 22\.18 for OLH.*, got epsilon=22\.2; use CountMeanSketch"),
        (lambda: OLH(8, -1.0), "epsilon must be > 0, got epsilon=-1.0"),
        (lambda: BLH(0, 1.0), "k must be >= 2, got k=0"),
    ],
)
def test_bad_parameters_are_named(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        build()


def test_the_specification_stores_the_number_of_cells() -> None:
    sketch = CountMeanSketch(1000, 0.1)
    spec = to_spec(sketch)
    assert spec == {"mechanism": "CMS", "k": 1000, "epsilon": "0.1", "m": 2, "family": "prime"}
    assert from_spec(json.loads(json.dumps(spec))) == sketch
    assert dataclasses.replace(sketch, epsilon=2.0).m == 2


# ------------------------------------------------------------------------------------------------ exact law

SMALL = [(2, 0.01, 2), (2, 1.0, 2), (3, 1.0, 4), (4, 2.0, 3), (5, 5.0, 2), (6, 0.5, 3)]


@pytest.mark.parametrize(("k", "epsilon", "m"), SMALL)
def test_the_channel_is_unbiased_exactly(k: int, epsilon: float, m: int) -> None:
    """Sum over all outputs of P(output | x) 1[output supports v]: p1 if v = x, else p0, as Fractions."""
    sketch = CountMeanSketch(k, epsilon, m)
    channel, outputs = sketch.channel(exact=True), sketch.outputs()
    assert channel.shape == (k, prime_family(sketch).prime ** 2 * m) == (k, len(outputs.value))
    p1, p0 = sketch.support_probabilities
    values = sorted(set(channel.flat))
    assert len(values) == 2
    assert values[1] / values[0] == sketch.implemented_ratio()
    for x, v in itertools.product(range(k), range(k)):
        row = channel[x]
        assert sum(row == values[0]) * values[0] + sum(row == values[1]) * values[1] == 1
        supporting = row[supports(sketch, outputs, v)]
        mass = sum(int((supporting == value).sum()) * value for value in values)
        assert mass == (p1 if x == v else p0)
        # The estimator's expectation is the truth.
        assert (mass - p0) / (p1 - p0) == (x == v)


@pytest.mark.parametrize(("k", "epsilon"), [(8, 5.0), (1024, 1.0), (2**20, 3.0), (2**32, 0.01)])
def test_the_factors_of_a_channel_too_large_to_list(k: int, epsilon: float) -> None:
    sketch = OLH(k, epsilon)
    with pytest.raises(TooLargeError, match="the channel of OLH"):
        sketch.channel()
    with pytest.raises(TooLargeError):
        sketch.outputs()
    response = sketch.response.channel(exact=True)
    assert response.shape == (sketch.m, sketch.m)
    assert sum(response[0], Fraction(0)) == 1
    assert response.max() / response.min() == sketch.implemented_ratio()
    # Tight from both sides: ln ratio within 1e-15 below epsilon, at 64-bit thresholds and these m.
    assert epsilon * (1 - 1e-12) <= sketch.implemented_epsilon() <= epsilon * (1 + 1e-12)
    p, q, c = response.max(), response.min(), sketch.collision_probability
    assert sketch.support_probabilities == (p, c * p + (1 - c) * q)


def test_the_guarantee() -> None:
    guarantee = OLH(1000, 1.0).privacy()
    assert guarantee.epsilon == 1.0
    assert guarantee.implemented_epsilon == pytest.approx(1.0, rel=1e-15)
    assert "public and independent" in str(guarantee)


@pytest.mark.parametrize(
    ("k", "m", "dtypes", "bits"),
    [
        (1024, 4, ("uint32", "uint32", "uint8"), 2 * math.log2(1031) + 2),
        (10, 257, ("uint32", "uint32", "uint16"), 2 * math.log2(1801) + math.log2(257)),
        (2**32, 65537, ("uint64", "uint64", "uint32"), 2 * math.log2(4294967311) + math.log2(65537)),
    ],
)
def test_report_layout(k: int, m: int, dtypes: tuple[str, ...], bits: float) -> None:
    sketch = CountMeanSketch(k, 1.0, m)
    assert [field.name for field in sketch.report_fields] == ["a0", "a1", "value"]
    assert tuple(field.dtype for field in sketch.report_fields) == dtypes
    assert sketch.report_bits == pytest.approx(bits, rel=1e-12)
    assert sketch.state_size == k
    for n in (0, 1, 100):
        reports = sketch.randomize(np.full(n, k - 1), SecureRandomness())
        assert tuple(column.dtype.name for column in reports) == dtypes
        assert {len(column) for column in reports} == {n}


# ------------------------------------------------------------------------------------------------ reports


def report_p_value(randomize: Randomizer, seed: int) -> float:
    """Smallest p-value over inputs of the chi-squared of 200,000 reports against the channel's row."""
    sketch, n = CountMeanSketch(3, 1.0, 2), 200_000
    prime = prime_family(sketch).prime
    expected = n * sketch.channel()
    smallest = 1.0
    for x in range(3):
        reports = randomize(sketch, np.full(n, x), SimulationRandomness(seed + x))
        a0, a1, value = (column.astype(np.int64) for column in reports)
        observed = np.bincount((a0 * prime + a1) * 2 + value, minlength=2 * prime**2)
        statistic = ((observed - expected[x]) ** 2 / expected[x]).sum()
        smallest = min(smallest, float(stats.chi2.sf(statistic, len(observed) - 1)))
    return smallest


def slopes_from_one(sketch: CountMeanSketch, codes: NDArray[np.int64], rng: Randomness) -> HashedReports:
    family = prime_family(sketch)
    a0 = uniform_below(rng, family.prime, len(codes))
    a1 = 1 + uniform_below(rng, family.prime - 1, len(codes))
    return HashedReports(a0, a1, sketch.response.randomize(family.hash(codes, a0, a1), rng))


def lie_includes_the_truth(sketch: CountMeanSketch, codes: NDArray[np.int64], rng: Randomness) -> HashedReports:
    a0, a1 = sketch.hashes.draw_parameters(rng, len(codes))
    cells = sketch.hashes.hash(codes, a0, a1)
    lies = sketch.response.randomize(cells, rng) != cells
    anything = uniform_below(rng, sketch.hashes.m, len(codes))
    return HashedReports(a0, a1, np.where(lies, anything, cells))


def larger_budget(sketch: CountMeanSketch, codes: NDArray[np.int64], rng: Randomness) -> HashedReports:
    reports: HashedReports = dataclasses.replace(sketch, epsilon=1.1 * float(sketch.epsilon)).randomize(codes, rng)
    return reports


def test_reports_follow_the_channel() -> None:
    """Family-wise error 1e-6 over three inputs."""
    assert report_p_value(CountMeanSketch.randomize, 100) > FAMILY_WISE_ERROR / 3


@pytest.mark.parametrize("mutant", [slopes_from_one, lie_includes_the_truth, larger_budget])
def test_mutant_reports_do_not_follow_the_channel(mutant: Randomizer) -> None:
    assert report_p_value(mutant, 100) < FAMILY_WISE_ERROR / 3


def test_one_report_at_a_time_is_the_same_law() -> None:
    """Interpreted kernels (at most 16 rows): support of the truth in 3000 single reports, two-sided 1e-6."""
    sketch, n = OLH(50, 2.0), 3000
    rng = SimulationRandomness(21)
    hits = sum(int(sketch.aggregate(sketch.randomize([7], rng)).counts[7]) for _ in range(n))
    p = float(sketch.support_probabilities[0])
    assert abs(hits - n * p) <= stats.norm.isf(FAMILY_WISE_ERROR / 2) * math.sqrt(n * p * (1 - p))


def test_answers_out_of_range_are_named() -> None:
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.9, got something else in row 2"):
        OLH(10, 1.0).randomize([0, 10], SimulationRandomness(1))
    sketch = OLH(10, 1.0)
    reports = sketch.randomize([0], SimulationRandomness(1))
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.9, got something else in row 1"):
        sketch.count_support(reports, [-1])


def test_hostile_reports_are_named() -> None:
    sketch = OLH(10, 1.0)  # P = 29, m = 4
    good = sketch.randomize(np.arange(10), SimulationRandomness(1))
    hostile = {"a0": 29, "a1": 2**32 - 1, "value": 4}
    for name, wrong in hostile.items():
        column = getattr(good, name).copy()
        column[6] = wrong
        bound = 3 if name == "value" else 28
        with pytest.raises(InvalidReportError, match=rf"{name} must be in 0\.\.{bound}, got {name}={wrong} in row 7"):
            sketch.aggregate(good._replace(**{name: column}))
        with pytest.raises(InvalidReportError, match=f"{name}={wrong} in row 7"):
            sketch.count_support(good._replace(**{name: column}), [0])
    with pytest.raises(InvalidReportError, match="the same length, got the lengths 10, 10, 9"):
        sketch.aggregate(good._replace(value=good.value[:-1]))
    with pytest.raises(InvalidReportError, match="got ndarray"):
        sketch.aggregate(good.value)


# ------------------------------------------------------------------------------------------------ estimates


def largest_z(randomize: Randomizer) -> float:
    """Largest |f^ - f|/sd over k = 1024 values; 300,000 contributors, a third of them with value 7."""
    sketch, n = OLH(1024, 1.0), 300_000
    codes = np.where(np.arange(n) % 3 == 0, 7, np.arange(n) * 31 % 1024)
    truth = np.bincount(codes, minlength=1024) / n
    estimate = sketch.estimate(sketch.aggregate(randomize(sketch, codes, SimulationRandomness(77))))
    sd = np.sqrt([sketch.variance(f, n) for f in truth])
    return float(np.abs((estimate.frequencies - truth) / sd).max())


def test_estimates_are_unbiased_at_k_1024() -> None:
    """z with family-wise error 1e-6 over 1024 values, from the variance at the truth."""
    assert largest_z(CountMeanSketch.randomize) < stats.norm.isf(FAMILY_WISE_ERROR / 2048)


@pytest.mark.parametrize("mutant", [lie_includes_the_truth, larger_budget])
def test_mutant_estimates_are_biased_at_k_1024(mutant: Randomizer) -> None:
    assert largest_z(mutant) > stats.norm.isf(FAMILY_WISE_ERROR / 2048)


def test_variance_is_the_observed_one() -> None:
    """4000 aggregates of 200 contributors: 3999 s^2/variance is chi-squared; two-sided 1e-6 over three values."""
    sketch, n, draws = CountMeanSketch(5, 1.5), 200, 4000
    codes = np.tile(np.repeat([0, 1, 2], [150, 40, 10]), draws)
    reports = sketch.randomize(codes, SimulationRandomness(9))
    p1, p0 = map(float, sketch.support_probabilities)
    low, high = (float(stats.chi2.ppf(tail, draws - 1)) for tail in (1e-6 / 6, 1 - 1e-6 / 6))
    for v, f in ((0, 0.75), (1, 0.2), (4, 0.0)):
        estimates = (supports(sketch, reports, v).reshape(draws, n).mean(axis=1) - p0) / (p1 - p0)
        scatter = (draws - 1) * estimates.var(ddof=1)
        assert low < scatter / sketch.variance(f, n) < high
        if f == 0.75:  # Mutant: the variance of a rare value, whatever f is.
            assert scatter / sketch.variance(0.0, n) > high


def test_queries_agree_with_the_aggregate() -> None:
    sketch = OLH(3000, 3.0)
    reports = sketch.randomize(np.arange(5000) % 3000, SimulationRandomness(5))
    queries = np.array([2999, 0, 17, 17, 1500])
    assert (sketch.count_support(reports, queries) == sketch.aggregate(reports).counts[queries]).all()
    assert [int(supports(sketch, reports, v).sum()) for v in queries] == sketch.count_support(reports, queries).tolist()


def test_a_large_dictionary_is_queried_without_its_counters() -> None:
    sketch = OLH(2**32, 4.0)
    codes = np.where(np.arange(60_000) % 2 == 0, 4_000_000_000, np.arange(60_000))
    counts = sketch.count_support(sketch.randomize(codes, SimulationRandomness(6)), [4_000_000_000, 3_999_999_999])
    p1, p0 = map(float, sketch.support_probabilities)
    frequencies = (counts / 60_000 - p0) / (p1 - p0)
    sd = np.sqrt([sketch.variance(f, 60_000) for f in (0.5, 0.0)])
    assert (np.abs(frequencies - [0.5, 0.0]) < stats.norm.isf(FAMILY_WISE_ERROR / 4) * sd).all()


def test_simulation_is_a_stream_of_reports() -> None:
    """The same seed gives the aggregate of the same reports, over several blocks."""
    sketch = OLH(6, 1.0)
    counts = np.array([BLOCK_WORDS, 5, 0, BLOCK_WORDS - 3, 1, 900])
    reports = sketch.randomize(np.repeat(np.arange(6), counts), SimulationRandomness(13))
    assert sketch.simulate_aggregate(counts, SimulationRandomness(13)) == sketch.aggregate(reports)
    nobody = sketch.simulate_aggregate(np.zeros(6, dtype=int), SimulationRandomness(1))
    assert (nobody.n, nobody.counts.tolist()) == (0, [0] * 6)

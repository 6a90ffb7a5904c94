from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable import SecureRandomness, SimulationRandomness
from deniable.core.names import mechanism_class
from deniable.core.randomness import Randomness, uniform_below
from deniable.core.spec import from_spec, to_spec
from deniable.errors import InvalidParameterError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.sketch.families.prime import HashedReports, PrimeFamily
from deniable.oracles.sketch.local_hashing import BLH, OLH
from tests.unit.oracles.sketch.sketch_laws import FAMILY_WISE_ERROR, Randomizer, largest_z

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "ocms_core.json").read_text())


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
        # This is the exact collision probability of the smallest modulus, or 1/m, which the largest modulus approaches
        # to 1e-17.
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


def test_local_hashing_by_name() -> None:
    assert {name: mechanism_class(name)(64, 1.0).m for name in ("BLH", "OLH")} == {"BLH": 2, "OLH": 4}


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
        (lambda: OLH(8, 22.2), r"epsilon must be at most 22\.18 for OLH, got epsilon=22\.2: .* Use CountMeanSketch"),
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


# ------------------------------------------------------------------------------------------------ exact distribution

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


# ------------------------------------------------------------------------------------------------ estimates


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
        if f == 0.75:  # this mutant has the variance of a rare value, whatever f is
            assert scatter / sketch.variance(0.0, n) > high


def test_queries_agree_with_the_aggregate() -> None:
    sketch = OLH(3000, 3.0)
    reports = sketch.randomize(np.arange(5000) % 3000, SimulationRandomness(5))
    queries = np.array([2999, 0, 17, 17, 1500])
    assert (sketch.count_support(reports, queries) == sketch.aggregate(reports).counts[queries]).all()
    assert [int(supports(sketch, reports, v).sum()) for v in queries] == sketch.count_support(reports, queries).tolist()

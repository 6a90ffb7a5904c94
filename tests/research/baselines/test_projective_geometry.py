from __future__ import annotations

import math

import numpy as np
import pytest

import deniable as dn
from deniable import SimulationRandomness
from deniable.errors import DamagedStateError, InvalidParameterError, InvalidReportError, TooLargeError
from deniable.research.baselines.projective_geometry import PGR, best_field, dimension
from deniable.testing import laws
from tests.contract.cases import Case
from tests.research.baselines.baseline_laws import moments
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted, p_value

CASE = Case("PGR", lambda sizes, epsilon: PGR(sizes[0], epsilon))


# -------------------------------------------------------------------- points


def test_damaged_counters_are_refused() -> None:
    response = PGR(k=10, epsilon=1.0, q=3)
    counters = np.zeros(response.points, dtype=np.int64)
    counters[3] = 7
    with pytest.raises(DamagedStateError, match="must sum to 8, got 7"):
        dn.Aggregate(response, counters, 8)
    counters[4] = -1
    with pytest.raises(DamagedStateError, match="got -1"):
        dn.Aggregate(response, counters, 6)


# -------------------------------------------------------------------- choice of the field


def test_dimension_is_the_smallest_that_holds_the_domain() -> None:
    # (q^t - 1)/(q - 1) is 3, 7, 15 for q = 2, and 4, 13, 40 for q = 3.
    assert [dimension(k, 2) for k in (2, 3, 4, 7, 8, 15, 16)] == [2, 2, 3, 3, 4, 4, 5]
    assert [dimension(k, 3) for k in (2, 4, 5, 13, 14, 40)] == [2, 2, 3, 3, 4, 4]
    assert (PGR(2**17, 1.0, 5).points, PGR(2**17, 4.0, 59).points) == (488281, 208920)


@pytest.mark.parametrize("k", [5, 9, 100, 2000])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 3.0, 5.0])
def test_default_field_has_the_least_variance_of_all_primes(k: int, epsilon: float) -> None:
    """Not only of the two primes that are tried; to .5%, because the dimension jumps."""
    primes = [q for q in range(2, 400) if all(q % d for d in range(2, math.isqrt(q) + 1))]
    best = min(PGR(k, epsilon, q).variance(1 / k, 1) for q in primes)
    assert PGR(k, epsilon).variance(1 / k, 1) <= 1.005 * best


@pytest.mark.parametrize("epsilon", [1e-6, 10.0, 32.0])
@pytest.mark.parametrize("k", [2, 1000, 2**31])
def test_default_field_always_exists(k: int, epsilon: float) -> None:
    response = PGR(k, epsilon)
    assert k <= response.points <= 2**32
    codes = np.array([0, k // 2, k - 1] * 10)
    reports = response.randomize(codes, SimulationRandomness(1))
    assert int(reports.max()) < response.points


@pytest.mark.parametrize(("q", "message"), [(4, "prime"), (1, "q must be >= 2"), (3.0, "integer"), (65537, "at most")])
def test_bad_fields(q: int, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        PGR(100_000, 1.0, q)


def test_domain_bounds() -> None:
    with pytest.raises(InvalidParameterError, match="k must be <= 2147483648"):
        PGR(2**31 + 1, 1.0)
    with pytest.raises(InvalidParameterError, match="k must be >= 2"):
        best_field(1, 1.0)


# -------------------------------------------------------------------- laws


@pytest.mark.parametrize("q", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_every_field_is_private_and_unbiased(q: int, epsilon: float) -> None:
    response = PGR(13, epsilon, q)
    laws.rows_sum_to_one(response)
    laws.ratio_keeps_the_budget(response, epsilon)
    laws.unbiased(response)


@pytest.mark.parametrize(("k", "q"), [(6, 2), (6, 3), (13, 3), (6, 5)])
def test_variance_is_the_second_moment_of_the_channel(k: int, q: int) -> None:
    response = PGR(k, 1.5, q)
    _, variance = moments(response)
    expected = np.where(np.eye(k, dtype=bool), response.variance(1.0, 1), response.variance(0.0, 1))
    assert variance == pytest.approx(expected, rel=1e-9)
    assert response.worst_variance(4) == pytest.approx(float(expected.max()) / 4, rel=1e-12)


def test_variance_against_the_ideal_of_large_domains() -> None:
    # No mechanism has less than 4e/(e-1)^2 and 4e^4/(e^4-1)^2 at f -> 0.
    assert PGR(2**17, 1.0, 5).variance(0.0, 1) / 3.6826943768311695 == pytest.approx(1.0378, abs=1e-4)
    assert PGR(2**17, 1.0).variance(0.0, 1) / 3.6826943768311695 == pytest.approx(1.0237, abs=1e-4)
    assert PGR(2**17, 4.0, 59).variance(0.0, 1) / 0.0760218298380711 == pytest.approx(1.0008, abs=1e-4)


@pytest.mark.parametrize(("k", "q"), [(7, 2), (9, 3), (25, 5)])
@pytest.mark.parametrize("interpreted", [False, True])
def test_reports_follow_the_channel(k: int, q: int, interpreted: bool) -> None:
    response = PGR(k, 1.0, q)
    channel = response.channel()
    for x in (0, 3, k - 1):
        inputs = np.full(1500 if interpreted else 60_000, x)
        if interpreted:
            with always_interpreted():
                reports = response.randomize(inputs, SimulationRandomness(x))
        else:
            reports = response.randomize(inputs, SimulationRandomness(x))
        assert p_value(reports.tolist(), dict(enumerate(channel[x]))) >= FAMILY_WISE_ERROR / 18


def test_simulated_aggregates_follow_the_law() -> None:
    laws.simulated_aggregates_follow_the_law(PGR(5, 1.0, 3))


def test_a_hostile_report_is_named() -> None:
    response = PGR(k=10, epsilon=1.0, q=3)
    with pytest.raises(InvalidReportError, match=r"report must be in 0\.\.12, got report=13 in row 2"):
        response.aggregate(np.array([0, 13]))


# -------------------------------------------------------------------- the flaw of the published program


def test_a_histogram_that_is_too_large_is_refused_before_it_is_made() -> None:
    response = PGR(65_536, 11.0)
    with pytest.raises(TooLargeError, match="at most 268,435,456 counters to add up its reports, got 3,583,638,633"):
        response.aggregate(response.randomize([7], SimulationRandomness(1)))

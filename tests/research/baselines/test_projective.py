"""Projective mechanisms: draws, counts, and the published sampler, which exceeds its budget."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from deniable import SimulationRandomness
from deniable.errors import DamagedStateError, TooLargeError
from deniable.research.baselines.projective import (
    draw_point,
    draw_points,
    incidence_counts,
    point_count,
    report_vectors,
    value_vectors,
)
from deniable.research.baselines.projective_geometry import PGR
from deniable.testing import laws

SPACES = [(2, 2), (2, 3), (2, 5), (3, 2), (3, 3), (3, 4), (5, 2), (5, 3), (7, 2), (7, 3), (13, 2)]

Vector = tuple[int, ...]


def _normal(vector: Vector, q: int, entry: Callable[[list[int]], int]) -> Vector:
    """Scale a nonzero vector so that the entry chosen among its nonzero ones is 1."""
    at = entry([j for j, value in enumerate(vector) if value])
    inverse = pow(vector[at], -1, q)
    return tuple(value * inverse % q for value in vector)


def _first(positions: list[int]) -> int:
    return positions[0]


def _last(positions: list[int]) -> int:
    return positions[-1]


@pytest.mark.parametrize(("q", "t"), SPACES)
def test_numbers_are_those_of_the_points(q: int, t: int) -> None:
    nonzero = [vector for vector in itertools.product(range(q), repeat=t) if any(vector)]
    values = sorted({_normal(vector, q, _first) for vector in nonzero})
    assert point_count(q, t) == len(values)
    # Values are in the order of the vectors read as integers.
    assert value_vectors(np.arange(len(values)), q, t).tolist() == [list(vector) for vector in values]
    # Reports are ordered by the place of the last nonzero entry, then by what precedes it.
    ends = sorted({_normal(vector, q, _last) for vector in nonzero}, key=lambda u: (max(np.flatnonzero(u)), u))
    assert report_vectors(q, t).tolist() == [list(vector) for vector in ends]


def counts_of(q: int, t: int) -> np.ndarray:
    return np.array([point_count(q, s) for s in range(t + 1)], dtype=np.float64)


@pytest.mark.parametrize(("q", "t"), SPACES)
def test_draws_and_points_are_in_bijection(q: int, t: int) -> None:
    """One draw of N(t-1) per incident point, one of q^(t-1) per other point; all at once and one by one."""
    total, preferred = point_count(q, t), point_count(q, t - 1)
    incident = value_vectors(np.arange(total), q, t) @ report_vectors(q, t).T % q == 0
    for value in range(total):
        included = np.arange(total) < preferred
        draws = np.concatenate([np.arange(preferred), np.arange(total - preferred)])
        reports = np.empty(total, dtype=np.uint16)
        draw_points.compiled(np.full(total, value), included, draws, counts_of(q, t), reports)
        assert sorted(reports[included].tolist()) == np.flatnonzero(incident[value]).tolist()
        assert sorted(reports[~included].tolist()) == np.flatnonzero(~incident[value]).tolist()
        pairs = zip(included.tolist(), draws.tolist(), strict=True)
        assert reports.tolist() == [draw_point(value, inside, draw, q, t) for inside, draw in pairs]


@pytest.mark.parametrize(
    ("q", "t"),
    [(2, 32), (3, 11), (3, 20), (5, 13), (7, 7), (13, 8), (17, 7), (251, 5), (257, 4), (1621, 4), (65521, 3)],
)
def test_large_spaces_are_drawn_side_by_side_as_one_by_one(q: int, t: int) -> None:
    """Mixed rows, each with the next draw of its kind; the first and last draw and value are among them."""
    generator, n = np.random.default_rng(q * t), 400
    total, preferred = point_count(q, t), point_count(q, t - 1)
    included = generator.random(n) < 0.5
    codes = generator.integers(total, size=n)
    codes[:40] = np.concatenate([np.arange(20), total - 1 - np.arange(20)])
    near, far = (generator.integers(most, size=n) for most in (preferred, total - preferred))
    for draws, most in (near, preferred), (far, total - preferred):
        draws[:60:3], draws[1:60:3] = np.arange(20), most - 1 - np.arange(20)
    inside = int(included.sum())
    reports = np.empty(n, dtype=np.uint32)
    joined = np.concatenate([near[:inside], far[: n - inside]])
    draw_points.compiled(codes, included, joined, counts_of(q, t), reports)
    left = {True: iter(near.tolist()), False: iter(far.tolist())}
    rows = zip(codes.tolist(), included.tolist(), strict=True)
    assert reports.tolist() == [draw_point(code, one, next(left[one]), q, t) for code, one in rows]


@settings(deadline=None, max_examples=80)
@given(st.sampled_from(SPACES), st.integers(0, 2**32), st.sampled_from([1, 10, 10**6, 10**11]))
def test_fast_counts_are_the_brute_force_counts(space: tuple[int, int], seed: int, largest: int) -> None:
    q, t = space
    histogram = np.random.default_rng(seed).integers(0, largest, size=point_count(q, t))
    incident = value_vectors(np.arange(len(histogram)), q, t) @ report_vectors(q, t).T % q == 0
    counts = incidence_counts(histogram, int(histogram.sum()), q, t)
    assert (counts == incident.astype(np.int64) @ histogram).all()


@pytest.mark.parametrize(("q", "t"), [(2, 13), (3, 8), (11, 4), (101, 3), (257, 3)])
def test_fast_counts_of_large_spaces(q: int, t: int) -> None:
    """Compared with single comparisons at 40 values; 10^13 reports in all."""
    generator = np.random.default_rng(q)
    points = point_count(q, t)
    histogram = generator.multinomial(10**13, generator.dirichlet(np.full(points, 0.1)))
    values = np.append(generator.integers(points, size=38), [0, points - 1])
    counts = incidence_counts(histogram, 10**13, q, t)
    reports = report_vectors(q, t)
    for value, vector in zip(values, value_vectors(values, q, t), strict=True):
        assert counts[value] == histogram[reports @ vector % q == 0].sum()


def test_counts_beyond_what_a_double_holds_are_refused() -> None:
    histogram = np.random.default_rng(1).integers(0, 2**52, size=point_count(3, 5))
    with pytest.raises(TooLargeError, match="n must be <= 10000000000000 to decode the reports in floating point"):
        incidence_counts(histogram, int(histogram.sum()), 3, 5)
    # The counters belong to more reports than n says.
    with pytest.raises((TooLargeError, DamagedStateError)):
        incidence_counts(histogram, 1, 3, 5)


def _starting_over(value: Vector, product: int, q: int) -> dict[Vector, float]:
    """Return the published draw's distribution of a vector with <u, value> = product, up to a factor.

    All entries are drawn; an all-zero draw starts over. Then the entry at the value's first nonzero one is set so that
    the product is right. If the vector is zero after this step, the draw also starts over.
    """
    first, law = _first([j for j, entry in enumerate(value) if entry]), dict[Vector, float]()
    for drawn in itertools.product(range(q), repeat=len(value)):
        if not any(drawn):
            continue
        rest = sum(a * b for j, (a, b) in enumerate(zip(drawn, value, strict=True)) if j != first)
        u = list(drawn)
        u[first] = (product - rest) * pow(value[first], -1, q) % q
        if any(u):
            point = _normal(tuple(u), q, _last)
            law[point] = law.get(point, 0) + 1
    total = sum(law.values())
    return {point: count / total for point, count in law.items()}


def _flawed_channel(response: PGR) -> NDArray[np.float64]:
    assert response.q is not None
    q, t, p = response.q, response.dimension, float(response.support_probabilities[0])
    column = {tuple(u): c for c, u in enumerate(report_vectors(q, t).tolist())}
    channel = np.zeros((response.k, response.points))
    for row, value in zip(channel, value_vectors(np.arange(response.k), q, t).tolist(), strict=True):
        for product in range(q):
            weight = p if product == 0 else (1 - p) / (q - 1)
            for point, probability in _starting_over(tuple(value), product, q).items():
                row[column[point]] += weight * probability
    return channel


def _log_ratio(channel: NDArray[np.float64]) -> float:
    return float(np.log(channel.max(axis=0) / channel.min(axis=0)).max())


def test_published_sampler_breaks_its_budget_and_the_laws_catch_it() -> None:
    response = PGR(k=6, epsilon=1.0, q=5)
    flawed = _flawed_channel(response)
    assert flawed.sum(axis=1) == pytest.approx(1.0)
    # The undersampled point has 4/24 of the complement's mass instead of 1/5.
    assert _log_ratio(flawed) == pytest.approx(1 + math.log(6 / 5), abs=1e-9)
    assert _log_ratio(response.channel()) == pytest.approx(1.0, abs=1e-12)

    class Exact:
        """Channel of the mutant, for the law of privacy."""

        implemented_ratio, implemented_epsilon = response.implemented_ratio, response.implemented_epsilon
        privacy, epsilon = response.privacy, response.epsilon

        def channel(self, **_exact: bool) -> NDArray[Any]:
            return np.array([[Fraction(cell) for cell in row] for row in flawed], dtype=object)

    with pytest.raises(AssertionError):
        laws.ratio_keeps_the_budget(Exact(), 1.0)

    class Sampled:
        """Reports of the mutant, compared with the honest channel."""

        domain, records = response.domain, response.records
        channel, outputs = response.channel, response.outputs

        def randomize(self, inputs: NDArray[Any], rng: SimulationRandomness) -> NDArray[np.int64]:
            return rng.generator.choice(
                response.points, size=len(inputs), p=flawed[inputs[0]] / flawed[inputs[0]].sum()
            )

    with pytest.raises(AssertionError):
        laws.reports_follow_the_channel(Sampled())


@pytest.mark.parametrize(("k", "q"), [(13, 3), (31, 5), (7, 2)])
def test_published_sampler_breaks_its_budget_in_three_dimensions(k: int, q: int) -> None:
    """The rarest point has mass (q-1)/(q^3-1) of the complement, not 1/q^2; larger spaces are less affected."""
    excess = math.log((q**3 - 1) / (q**3 - q**2))
    assert _log_ratio(_flawed_channel(PGR(k, 1.0, q))) >= 1 + excess - 1e-9
    assert excess > 0.1

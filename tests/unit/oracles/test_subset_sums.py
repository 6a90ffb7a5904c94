"""The sum of random subsets: its whole distribution by enumeration, its mutants, and the cost of large sums."""

from __future__ import annotations

import inspect
import itertools
import math
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import SimulationRandomness
from deniable.core.kernels import Kernel
from deniable.errors import BrokenLawError
from deniable.oracles import subset as module
from deniable.oracles.subset import SubsetSelection, draw_sums
from deniable.testing import laws
from tests.unit._goodness import always_interpreted

Law = dict[tuple[int, ...], float]

CASES = [
    # The columns are holders of each value, uniform subsets and omega.
    ((1, 0, 1), 1, 1),
    ((2, 1, 0), 0, 2),
    ((0, 0, 0, 0), 2, 2),
    ((1, 1, 0, 1), 0, 2),
    ((0, 2, 1, 0), 1, 3),
    ((1, 0, 0, 0, 1), 1, 2),
    ((0, 0, 1, 0, 0), 1, 4),
    ((1, 0, 0, 0, 0, 1, 0), 0, 3),
    ((0,) * 8, 1, 4),
    ((0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0), 0, 5),
]


class Walker:
    """A generator that takes each possible path once, with its probability."""

    def __init__(self) -> None:
        self.course: list[tuple[int, int]] = []
        self.place, self.probability = 0, 1.0

    def binomial(self, n: int, p: float) -> int:
        if self.place == len(self.course):
            self.course.append((0, int(n)))
        drawn, _ = self.course[self.place]
        self.place += 1
        self.probability *= math.comb(int(n), drawn) * p**drawn * (1 - p) ** (int(n) - drawn)
        return drawn

    def courses(self) -> Iterator[None]:
        while True:
            self.place, self.probability = 0, 1.0
            yield
            while self.course and self.course[-1][0] == self.course[-1][1]:
                self.course.pop()
            if not self.course:
                return
            drawn, most = self.course.pop()
            self.course.append((drawn + 1, most))


def _walked(draw: Callable[[Any], NDArray[np.int64]]) -> Law:
    """Return the distribution of values drawn from a generator."""
    walker, law = Walker(), defaultdict[tuple[int, ...], float](float)
    for _ in walker.courses():
        law[tuple(draw(walker).ravel().tolist())] += walker.probability
    return law


def _listed(holders: tuple[int, ...], uniform: int, omega: int) -> Law:
    """Return the distribution of the sum by adding subset after subset, all of a kind equally likely."""
    k, law = len(holders), {(0,) * len(holders): 1.0}
    kinds = [x for x, count in enumerate(holders) for _ in range(count)] + [-1] * uniform
    for x in kinds:
        subsets = [s for s in itertools.combinations(range(k), omega) if x < 0 or x in s]
        added = defaultdict[tuple[int, ...], float](float)
        for sums, probability in law.items():
            for subset in subsets:
                added[tuple(c + (v in subset) for v, c in enumerate(sums))] += probability / len(subsets)
        law = added
    return law


def _distance(one: Law, other: Law) -> float:
    return max(abs(one.get(sums, 0.0) - other.get(sums, 0.0)) for sums in {*one, *other})


def _drawn_law(holders: tuple[int, ...], uniform: int, omega: int) -> Law:
    with always_interpreted():
        return _walked(lambda g: draw_sums(np.array([holders]), np.array([uniform]), omega, g))


@pytest.mark.parametrize(("holders", "uniform", "omega"), CASES)
def test_sums_have_the_distribution_of_all_subsets(holders: tuple[int, ...], uniform: int, omega: int) -> None:
    assert _distance(_drawn_law(holders, uniform, omega), _listed(holders, uniform, omega)) <= 1e-14


def test_groups_are_independent_and_each_its_own() -> None:
    first, second = ((1, 0, 0), 0, 1), ((0, 1, 0), 1, 1)
    with always_interpreted():
        found = _walked(lambda g: draw_sums(np.array([first[0], second[0]]), np.array([0, 1]), 1, g))
    product = {(*a, *b): p * q for a, p in _listed(*first).items() for b, q in _listed(*second).items()}
    assert _distance(found, product) <= 1e-14


def test_parts_of_many_subsets_add_up_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SUBSETS", 1)
    assert _distance(_drawn_law((1, 0, 1), 1, 1), _listed((1, 0, 1), 1, 1)) <= 1e-14


def test_a_whole_aggregate_has_the_distribution_of_the_channel() -> None:
    """Two holders of 0 and one of 2 in subset selection, from the exact channel; 64-bit thresholds and all."""
    mechanism, held = SubsetSelection(k=4, epsilon=1.0, omega=2), [2, 0, 1, 0]
    outputs, channel = mechanism.outputs(), mechanism.channel()
    law: Law = {(0,) * 4: 1.0}
    for x in np.repeat(np.arange(4), held):
        added = defaultdict[tuple[int, ...], float](float)
        for sums, probability in law.items():
            for subset, chance in zip(outputs.tolist(), channel[x], strict=True):
                added[tuple(c + (v in subset) for v, c in enumerate(sums))] += probability * chance
        law = added

    class Columns:
        """Draw whole arrays of binomials one by one."""

        def __init__(self, walker: Walker) -> None:
            self.generator = self
            self.walker = walker

        def binomial(self, n: Any, p: float) -> Any:
            if np.ndim(n):
                return np.array([[self.walker.binomial(one, p) for one in row] for row in n])
            return self.walker.binomial(n, p)

    with always_interpreted():
        found = _walked(lambda walker: mechanism._simulate(np.array(held), Columns(walker)))  # type: ignore[arg-type]
    assert _distance(found, law) <= 1e-14


MUTANTS = {
    "the left half has no room for the holder's own value": ("count, left = on_left, left - 1", "count = on_left"),
    "the right half has none either": ("count, right = held - on_left, right - 1", "count = held - on_left"),
    "holders are placed as if all were still to come": ("unplaced -= held", "unplaced -= 0"),
    "holders that were placed are placed again": ("to_left -= on_left", "to_left -= 0"),
    "binomials instead of hypergeometric numbers": ("(value * (right - trials + value))", "(value * float(right))"),
    "a tail is cut off": ("mass > NEGLIGIBLE", "mass > 0.5"),
    "either half of a tree is as likely": ("masses[2 * i] / masses[i]", "0.5"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_the_halving_are_killed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = inspect.getsource(module._halve.interpreted)
    assert MUTANTS[name][0] in source
    scope = dict(vars(module))
    exec(source.replace(*MUTANTS[name]), scope)
    mutant = scope["_halve"]
    assert isinstance(mutant, Kernel)
    monkeypatch.setattr(module, "_halve", mutant)

    def distance(holders: tuple[int, ...], uniform: int, omega: int) -> float:
        try:
            return _distance(_drawn_law(holders, uniform, omega), _listed(holders, uniform, omega))
        except (IndexError, ZeroDivisionError, ValueError):
            return 1.0

    assert any(distance(*case) > 1e-3 for case in CASES)


# ---------------------------------------------------------------- compiled, and larger


@pytest.mark.long
@pytest.mark.parametrize(("k", "omega"), [(6, 1), (7, 3), (9, 4), (9, 8)])
def test_compiled_sums_follow_the_law(k: int, omega: int) -> None:
    laws.simulated_aggregates_follow_the_law(SubsetSelection(k=k, epsilon=1.0, omega=omega))


def test_mutant_that_draws_elements_with_replacement_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mean and sum are right, but a set may have a value twice."""

    def mutant(holders: Any, uniform: Any, omega: int, generator: np.random.Generator) -> Any:
        k = holders.shape[1]
        drawn = holders + generator.multinomial(uniform * omega, np.full(k, 1 / k))
        for x, count in enumerate(holders[0]):
            drawn[0] += generator.multinomial(count * (omega - 1), (np.arange(k) != x) / (k - 1))
        return drawn

    monkeypatch.setattr("deniable.oracles.subset.draw_sums", mutant)
    with pytest.raises(BrokenLawError, match="covariances"):
        laws.simulated_aggregates_follow_the_law(SubsetSelection(k=7, epsilon=1.0, omega=3))


@pytest.mark.parametrize(("k", "omega", "n"), [(1000, 300, 5000), (1023, 1000, 500), (5000, 2, 100_000)])
def test_large_sums_have_the_moments_of_subsets(k: int, omega: int, n: int) -> None:
    """For uniform subsets, the mean of the sum of squared deviations over values is n omega (1 - omega/k)."""
    draws = draw_sums(np.zeros((60, k), dtype=np.int64), np.full(60, n), omega, SimulationRandomness(3).generator)
    assert (draws.sum(axis=1) == n * omega).all()
    spread = ((draws - n * omega / k) ** 2).sum(axis=1)
    mean = n * omega * (1 - omega / k)
    # There are about (k-1) degrees of freedom, so the mean of 60 has a standard error of mean sqrt(2/(60 (k-1))).
    assert abs(spread.mean() / mean - 1) <= 5.5 * math.sqrt(2 / (60 * (k - 1)))


def test_the_largest_subsets_take_seconds_and_bounded_memory() -> None:
    """k = 65,536 at epsilon .001: 100,000 sets of 32,752 values took 11 to 59 s value by value."""
    mechanism = SubsetSelection(k=65_536, epsilon=1e-3)
    held = np.random.default_rng(1).multinomial(100_000, np.full(65_536, 1 / 65_536))
    mechanism.simulate_aggregate(held[::-1], SimulationRandomness(1))  # this compiles, or reads the cache
    tracemalloc.start()
    began = time.process_time()
    aggregate = mechanism.simulate_aggregate(held, SimulationRandomness(2))
    took, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert aggregate.counts.sum() == 100_000 * 32_752
    assert took <= 5
    assert peak <= 16 << 20

"""Measure the coverage of 95% intervals when few reports are randomised or few contributors hold a value.

Each row is a setting with 20,000 collections, drawn from its exact distribution with a fixed seed. Collections that
give the interval the same input are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import GRR, OUE, SMP, SimulationRandomness, answers
from deniable.core import bounded_sums
from deniable.core.aggregate import Aggregate
from deniable.core.checks import Target
from deniable.core.estimate import Estimate
from deniable.errors import NoIntervalError
from deniable.oracles import SquareWave
from deniable.records.pair_sample import PairSample
from deniable.records.pivot.pivot_coded import PivotCoded

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Bounds = Any

RUNS = 20_000
LEAST = 0.935
TARGETS: tuple[Target, ...] = ("contributors", "population")

TABLE = np.array([[[6, 1], [1, 0], [0, 1], [2, 0]], [[1, 2], [0, 0], [3, 0], [0, 1]], [[0, 0], [1, 0], [0, 0], [0, 1]]])
"""Number of contributors, of twenty in all, who hold each record of sizes (3, 4, 2)."""


@dataclass(frozen=True)
class Row:
    """A setting, and `runs` collections from it.

    Parameters
    ----------
    name : str
        The setting.
    states : int64[runs, s]
        Input of the interval, for each collection.
    interval : callable
        state -> (lower, upper), numbers or arrays of several questions.
    truth : float or float64[questions]
        The values that the intervals should contain.
    """

    name: str
    states: Counts
    interval: Callable[[Counts], Bounds]
    truth: Any

    def measure(self) -> dict[str, Any]:
        """Return the least coverage of the questions, the mean width if bounded, and how often no interval is given."""
        states, times = np.unique(self.states, axis=0, return_counts=True)
        truth = np.atleast_1d(self.truth).astype(np.float64)
        held, width, bounded, none = np.zeros(len(truth)), 0.0, 0, 0
        for state, count in zip(states, times.tolist(), strict=True):
            try:
                lower, upper = (np.atleast_1d(end).ravel() for end in self.interval(state))
            except NoIntervalError:
                none += count
                continue
            # A truth that equals an end is inside, also after a division. Without a number there is no claim.
            held += count * ~((lower > truth + 1e-9) | (upper < truth - 1e-9))
            if np.isfinite(lower).all() and np.isfinite(upper).all():
                width, bounded = width + count * float(np.mean(upper - lower)), bounded + count
        shown = float(times.sum() - none)
        return {
            "setting": self.name,
            "coverage": round(float(held.min() / shown), 4) if shown else None,
            "width": round(width / bounded, 3) if bounded == shown and shown else None,
            "none": round(none / float(times.sum()), 4),
        }


class Draws:
    """Collections drawn from their exact distribution."""

    def __init__(self, runs: int, seed: int) -> None:
        self.runs, self.generator = runs, np.random.default_rng(seed)

    def holders(self, counts: Any, target: Target) -> Counts:
        """Return the number of contributors who hold each value: fixed for all runs, or drawn from a population."""
        given = np.asarray(counts).ravel()
        if target == "contributors":
            return np.tile(given, (self.runs, 1))
        drawn: Counts = self.generator.multinomial(given.sum(), given / given.sum(), self.runs)
        return drawn

    def codes(self, mechanism: Any, holders: Counts) -> Counts:
        """Return the number of reports with each code; a report is one code."""
        parts = (
            self.generator.multinomial(holders[:, value], row / row.sum())
            for value, row in enumerate(mechanism.channel())
        )
        return sum(parts, start=np.zeros((len(holders), 1), dtype=np.int64))

    def bits(self, mechanism: Any, holders: Counts) -> Counts:
        """Return the number of supports of each value; values are drawn independently."""
        p, q = map(float, mechanism.support_probabilities)
        total = holders.sum(axis=1, keepdims=True)
        drawn: Counts = self.generator.binomial(holders, p) + self.generator.binomial(total - holders, q)
        return drawn

    def dealt(self, holders: Counts, parts: int) -> list[Counts]:
        """Return the number of holders in each of several parts; each contributor draws a part uniformly."""
        left, found = holders, []
        for rest in range(parts, 0, -1):
            found.append(self.generator.binomial(left, 1 / rest))
            left = left - found[-1]
        return found


def _estimate(mechanism: Any, counts: Counts, n: int) -> Any:
    return mechanism.estimate(Aggregate(mechanism, counts, n))


def _mean(mechanism: Any, scores: Any, n: int, target: Target, counts: Counts) -> Bounds:
    return _estimate(mechanism, counts, n).mean(scores).interval(target=target)


def _frequencies(mechanism: Any, n: int, target: Target, counts: Counts) -> Bounds:
    return _estimate(mechanism, counts, n).interval(target=target)


def one_attribute(draws: Draws) -> Iterator[Row]:
    """Yield the rows for one attribute."""
    grr, oue, wave = GRR(5, 6.0), OUE(6, 6.0), SquareWave(8, 6.0)
    for target in TARGETS:
        for n in (20, 100):
            for mechanism, draw in ((grr, draws.codes), (oue, draws.bits), (SquareWave(5, 6.0), draws.codes)):
                k = mechanism.k
                states = draw(mechanism, draws.holders(n * np.eye(k, dtype=int)[0], target))
                name = f"{mechanism.name}({k}) mean, all hold the lowest, epsilon 6, n = {n}, {target}"
                yield Row(name, states, partial(_mean, mechanism, range(1, k + 1), n, target), 1)
            share = np.array([3, 0, 0, 0, 0, 0, 0, 7])
            states = draws.codes(wave, draws.holders(share * n // 10, target))
            name = f"SquareWave(8) frequencies, f = .3, epsilon 6, n = {n}, {target}"
            yield Row(name, states, partial(_frequencies, wave, n, target), share / 10)
        long = SquareWave(16, 6.0)
        states = draws.codes(long, draws.holders([10, *[0] * 14, 10], target))
        yield Row(
            f"SquareWave(16) frequencies, f = .5, epsilon 6, n = 20, {target}",
            states,
            partial(_frequencies, long, 20, target),
            np.array([0.5, *[0] * 14, 0.5]),
        )
    scores, rare = np.array([0, 1, 2, 3, 50]), np.array([19, 0, 0, 0, 1])
    for n in (10, 20):
        states = draws.codes(grr, draws.generator.multinomial(n, rare / 20, draws.runs))
        name = f"GRR(5) mean of scores 0 to 3 and 50, one in 20 holds 50, epsilon 6, n = {n}, population"
        yield Row(name, states, partial(_mean, grr, scores, n, "population"), 2.5)


def two_collections(draws: Draws) -> Iterator[Row]:
    """Yield the rows for two waves, or two strata."""
    grr, scores = GRR(3, 6.0), np.array([0, 1, 50])
    for target in TARGETS:
        for sizes in ((20, 10), (100, 20)):
            held = [np.array([n - n // 10, 0, n // 10]) for n in sizes]
            states = np.hstack([draws.codes(grr, draws.holders(one, target)) for one in held])
            about = f"scores 0, 1 and 50, one in 10 holds 50, epsilon 6, n = {sizes[0]} + {sizes[1]}, {target}"
            yield Row(f"difference of waves' means, {about}", states, partial(_waves, grr, scores, sizes, target), 0)
            yield Row(f"mean in strata, {about}", states, partial(_strata, grr, scores, sizes, target), 5)


def _both(mechanism: Any, sizes: tuple[int, int], counts: Counts) -> list[Estimate]:
    parts = np.split(counts, 2)
    return [_estimate(mechanism, part, n) for part, n in zip(parts, sizes, strict=True)]


def _waves(mechanism: Any, scores: Floats, sizes: tuple[int, int], target: Target, counts: Counts) -> Bounds:
    one, other = (estimate.mean(scores) for estimate in _both(mechanism, sizes, counts))
    return answers.difference(one, other, independent=True).interval(target=target)


def _strata(mechanism: Any, scores: Floats, sizes: tuple[int, int], target: Target, counts: Counts) -> Bounds:
    estimates = dict(zip(("east", "west"), _both(mechanism, sizes, counts), strict=True))
    return answers.strata(estimates, {"east": "0.5", "west": "0.5"}).mean(scores).interval(target=target)


def sampled_attributes(draws: Draws) -> Iterator[Row]:
    """Yield the rows for mechanisms that report one of several attributes, when all contributors hold 0."""
    n = 100
    for target in TARGETS:
        for mechanism in (SMP((2, 4), 6.0), PivotCoded((4, 4, 4), 6.0)):
            d, k = len(mechanism.sizes), mechanism.sizes[-1]
            parts = draws.dealt(np.full((draws.runs, 1), n), d)
            own = draws.codes(GRR(k, 6.0), np.hstack([parts[-1], np.zeros((draws.runs, k - 1), dtype=int)]))
            name = f"{mechanism.name}{mechanism.sizes} frequencies, all hold 0, epsilon 6, n = {n}, {target}"
            yield Row(name, own, partial(_last_attribute, mechanism, n, target), np.eye(k)[0])
    pairs, n = PairSample((4, 3, 5), 6.0), 20
    for target in TARGETS:
        tables = _split(pairs, _pair_states(draws, pairs, np.eye(60, dtype=int)[0] * n, target))
        # The last attribute's frequencies come from the column sums of its tables.
        for table, part in zip(tables, pairs.parts, strict=True):
            sums = table.reshape(-1, *part.sizes).sum(axis=1)
            table[:] = 0
            table[:, : part.sizes[1]] = sums
        states = np.hstack(tables)
        name = f"PairSample(4, 3, 5) frequencies, all hold 0, epsilon 6, n = {n}, {target}"
        yield Row(name, states, partial(_pair_frequencies, pairs, n, target), np.eye(5)[0])


def _last_attribute(mechanism: Any, n: int, target: Target, counts: Counts) -> Bounds:
    if not counts.sum():
        return -np.inf, np.inf
    oracle = mechanism.oracles[-1]
    return oracle.from_support(counts, int(counts.sum()), n).interval(target=target)


def _pair_states(draws: Draws, pairs: PairSample, held: Any, target: Target) -> Counts:
    """Return the tables of all pairs, one after the other, when each report is one code."""
    records = np.indices(pairs.sizes).reshape(len(pairs.sizes), -1)
    tables = []
    dealt = draws.dealt(draws.holders(held, target), len(pairs.parts))
    for part, holders in zip(pairs.parts, dealt, strict=True):
        assert part.oracle.omega == 1
        codes = np.ravel_multi_index([records[j] for j in part.attributes], part.sizes)
        cells = np.zeros((len(holders), part.oracle.k), dtype=np.int64)
        for record, code in enumerate(codes.tolist()):
            cells[:, code] += holders[:, record]
        tables.append(draws.codes(GRR(part.oracle.k, pairs.epsilon), cells))
    return np.hstack(tables)


def _split(pairs: PairSample, counts: Counts) -> list[Counts]:
    return np.split(counts, np.cumsum([part.oracle.k for part in pairs.parts])[:-1], axis=-1)


def _pair_aggregate(pairs: PairSample, counts: Counts, n: int) -> Aggregate:
    split = zip(pairs.parts, _split(pairs, counts), strict=True)
    parts = [Aggregate(part.oracle, own, int(own.sum())) for part, own in split]
    return Aggregate(pairs, pairs.column.joined(parts), n)


def _pair_frequencies(pairs: PairSample, n: int, target: Target, counts: Counts) -> Bounds:
    return pairs.estimate(_pair_aggregate(pairs, counts, n))[len(pairs.sizes) - 1].interval(target=target)


def crosstabs(draws: Draws) -> Iterator[Row]:
    """Yield the rows for the crosstab of two of three attributes."""
    pairs = PairSample((3, 4, 2), 6.0)
    for target in TARGETS:
        for n in (20, 100):
            held, first = TABLE * n // 20, 12
            truth = held.sum(axis=2) / n
            states = _pair_states(draws, pairs, held, target)
            own = states[:, :first]
            for cell in (0, 1, 11):
                # The bounds of a cell depend on its own count and on the number of reports of the pair.
                seen = np.stack([own[:, cell], own.sum(axis=1)], axis=1)
                place = f"cell ({cell // 4}, {cell % 4}), f = {truth.ravel()[cell]:.2f}"
                name = f"PairSample(3, 4, 2) {place}, epsilon 6, n = {n}, {target}"
                yield Row(name, seen, partial(_cell, pairs, n, target), truth.ravel()[cell])
            if n == 20:
                share = truth[0, 0] / truth[0].sum()
                gap = share - truth[1, 0] / truth[1].sum()
                rows = own.reshape(-1, 3, 4)
                inside = np.stack([rows[..., 0], rows[..., 1:].sum(axis=2)], axis=-1).reshape(-1, 6)
                both = np.hstack([inside[:, :4], inside[:, 4:].sum(axis=1, keepdims=True)])
                one = np.hstack([inside[:, :2], inside[:, 2:].sum(axis=1, keepdims=True)])
                about = f"epsilon 6, n = {n}, {target}"
                yield Row(
                    f"PairSample(3, 4, 2) share in a group, {about}", one, partial(_share, pairs, n, target), share
                )
                yield Row(f"PairSample(3, 4, 2) two groups, {about}", both, partial(_groups, pairs, n, target), gap)
    for n in (20, 100):
        weak = PairSample((3, 4), 0.5)
        truth = np.array([[4, 1, 0, 0], [0, 3, 1, 1], [1, 0, 5, 4]])
        law = truth / truth.sum()
        margins = np.outer(law.sum(axis=1), law.sum(axis=0))
        strength = np.sqrt(((law - margins) ** 2 / margins).sum() / 2)
        drawn = draws.generator.multinomial(n, law.ravel(), min(draws.runs, 500))
        oracle, rng = weak.parts[0].oracle, SimulationRandomness(n)
        counts = np.stack([oracle.simulate_aggregate(held, rng).counts for held in drawn])
        yield Row(
            f"PairSample(3, 4) Cramer's V, epsilon .5, n = {n}, population",
            counts,
            partial(_strength, weak, n),
            strength,
        )


def _table(pairs: PairSample, own: Counts, n: int) -> Any:
    """Return the first pair's crosstab for these reports; all other reports are about other pairs."""
    rest = n - int(own.sum())
    counts = np.zeros(sum(part.oracle.k for part in pairs.parts), dtype=np.int64)
    counts[: own.size] = own.ravel()
    counts[own.size], counts[own.size + pairs.parts[1].oracle.k] = rest - rest // 2, rest // 2
    return answers.crosstabs(pairs, _pair_aggregate(pairs, counts, n))[0, 1]


def _cell(pairs: PairSample, n: int, target: Target, seen: Counts) -> Bounds:
    count, reports = seen.tolist()
    if not reports:
        return -np.inf, np.inf
    own = np.zeros((3, 4), dtype=np.int64)
    own[0, 0], own[1, 1] = count, reports - count
    table = _table(pairs, own, n)
    # The shown interval is widened to the estimate from all tables.
    return bounded_sums.bounds([table._summed(table._cell(0))], 0.025, target)


def _share(pairs: PairSample, n: int, target: Target, seen: Counts) -> Bounds:
    own = np.zeros((3, 4), dtype=np.int64)
    own[0, :2], own[2, 2] = seen[:2], seen[2]
    return _table(pairs, own, n).conditional(0, given=0).interval(target=target)


def _groups(pairs: PairSample, n: int, target: Target, seen: Counts) -> Bounds:
    own = np.zeros((3, 4), dtype=np.int64)
    own[0, :2], own[1, :2], own[2, 2] = seen[:2], seen[2:4], seen[4]
    return _table(pairs, own, n).difference(0, groups=(0, 1)).interval(target=target)


def _strength(pairs: PairSample, n: int, counts: Counts) -> Bounds:
    aggregate = Aggregate(pairs, pairs.column.joined([Aggregate(pairs.parts[0].oracle, counts, n)]), n)
    return answers.crosstabs(pairs, aggregate)[0, 1].cramers_v().interval()


def rows(runs: int = RUNS, seed: int = 23) -> Iterator[Row]:
    """Yield all settings; the collections of each kind are drawn with their own seed."""
    for offset, group in enumerate((one_attribute, two_collections, sampled_attributes, crosstabs)):
        yield from group(Draws(runs, seed + offset))

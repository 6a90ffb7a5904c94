"""Compute the coverage of 95% intervals of dealt mechanisms, by the exact distribution of the supports.

`rows` lists the least coverage over shares of holders for each mechanism, epsilon, number of contributors and target.
It takes a minute. The distributions are computed here from the definition of each mechanism: by sums over all types or
signs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.core.aggregate import Aggregate
from deniable.core.checks import Target
from deniable.core.estimate import Estimate
from deniable.research.dealt.coupling.coupled_oue import CoupledOUE
from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.coupling.kary_jrr import KaryJRR
from deniable.research.dealt.coupling.report_coupling import ReportCoupledRR
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.records import QuotaRecords
from deniable.research.dealt.quota.unary import QuotaUnary

LEAST = 0.935
SHARES = (0.0, 0.003, 0.1, 0.5, 1.0)
SIZES = (2, 5, 20, 100, 2000)
EPSILONS = (0.1, 1.0, 6.0)
TARGETS: tuple[Target, Target] = ("contributors", "population")

Floats = NDArray[np.float64]
Pmf = tuple[int, Floats]
"""Smallest number of supports, and the probabilities of the numbers from there on."""


class Setting(NamedTuple):
    """A mechanism, the distribution of the supports of its first value, and the estimate from a number of supports.

    Parameters
    ----------
    name : str
        Name of the setting.
    contributors : callable
        (holders) -> distribution.
    population : callable
        (frequency) -> distribution.
    estimate : callable
        (supports) -> the estimate of the first value.
    reports : int
        Largest possible number of supports.
    """

    name: str
    contributors: Callable[[int], Pmf]
    population: Callable[[float], Pmf]
    estimate: Callable[[int], Estimate]
    reports: int


# ---------------------------------------------------------------- distributions


def choose(n: Any, k: Any) -> Any:
    """Return the logarithm of the binomial coefficient; -inf if the coefficient is 0."""
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    fits = (k >= 0) & (k <= n)
    inner = np.where(fits, k, 0.0)
    outer = np.where(fits, n, 0.0)
    logs = special.gammaln(outer + 1) - special.gammaln(inner + 1) - special.gammaln(outer - inner + 1)
    return np.where(fits, logs, -np.inf)


def binomial(n: int, p: float) -> Floats:
    """Return the binomial probabilities of 0..n."""
    x = np.arange(n + 1)
    found: Floats = np.exp(choose(n, x) + special.xlogy(x, p) + special.xlog1py(n - x, -p))
    return found


def hypergeometric(n: int, holders: int, drawn: int) -> Floats:
    """Return the probabilities of 0..drawn holders among those who are drawn from n contributors."""
    x = np.arange(drawn + 1)
    found: Floats = np.exp(choose(holders, x) + choose(n - holders, drawn - x) - choose(n, drawn))
    return found


def trimmed(first: int, law: Floats) -> Pmf:
    """Return a distribution without outcomes less likely than 1e-18."""
    kept = np.flatnonzero(law > 1e-18)
    return first + int(kept[0]), law[kept[0] : kept[-1] + 1]


def summed(*parts: Pmf) -> Pmf:
    """Return the distribution of a sum of independent numbers."""
    first, law = 0, np.ones(1)
    for start, other in parts:
        first, law = trimmed(first + start, np.convolve(law, other))
    return first, law


def mixed(parts: list[tuple[float, Pmf]]) -> Pmf:
    """Return the mixture of distributions with the given probabilities."""
    low, high = min(first for _, (first, _) in parts), max(first + len(law) for _, (first, law) in parts)
    found = np.zeros(high - low)
    for probability, (first, law) in parts:
        found[first - low : first - low + len(law)] += probability * law
    return low, found


def quota_types(n: int, minimum: int, others: list[int], weights: list[float], told: float) -> list[tuple[int, Pmf]]:
    """Return for each b the distribution of a, times P(b), given each quota's weight and minimum.

    P(a, c_1, ..., b) ~ w^a w_1^c_1 ... told^b / (a! c_1! ... b!). Rates that sum to n keep the numbers within range.
    """
    rate = n / (sum(weights) + told)

    def poisson(least: int, weight: float) -> Floats:
        x = np.arange(n + 1)
        logs = np.where(x < least, -np.inf, x * math.log(rate * weight) - special.gammaln(x + 1.0))
        found: Floats = np.exp(logs - logs.max())
        return found

    own, truthful, rest = poisson(minimum, weights[0]), poisson(0, told), np.ones(1)
    for least, weight in zip(others, weights[1:], strict=True):
        rest = np.convolve(rest, poisson(least, weight))[: n + 1]
        rest = rest / rest.max()
    found = []
    for b in range(n + 1):
        a = np.arange(n - b + 1)
        left = n - b - a
        law = own[: n - b + 1] * truthful[b] * np.where(left < len(rest), rest[np.minimum(left, len(rest) - 1)], 0.0)
        found.append((b, law))
    total = math.fsum(float(law.sum()) for _, law in found)
    return [(b, trimmed(0, law / total)) for b, law in found if law.sum() > 1e-16 * total]


def pair_types(n: int, table: Floats, alone: Floats) -> list[tuple[int, Pmf]]:
    """Return the same distributions for n/2 pairs of types, and for one more contributor if n is odd."""
    # Type 0 says 0, type 1 says v, and type 2 says the truth. Each axis has room for n + 1 numbers, so a cyclic
    # convolution has no overlap.
    pair, single = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    for t in range(3):
        single[int(t == 2), int(t == 1)] += alone[t]
        for u in range(3):
            pair[int(t == 2) + int(u == 2), int(t == 1) + int(u == 1)] += table[t, u]
    joint = np.fft.irfft2(np.fft.rfft2(pair) ** (n // 2) * np.fft.rfft2(single) ** (n % 2), s=(n + 1, n + 1))
    joint = np.where(joint > 1e-15, joint, 0.0)
    return [(b, trimmed(0, law)) for b, law in enumerate(joint) if law.any()]


def by_types(types: Callable[[], list[tuple[int, Pmf]]], n: int) -> tuple[Callable[..., Pmf], Callable[..., Pmf]]:
    """Return the distributions of a + H: H of the b truth-tellers hold the value."""

    def contributors(holders: int) -> Pmf:
        return mixed([(1.0, summed(law, trimmed(0, hypergeometric(n, holders, b)))) for b, law in types()])

    def population(f: float) -> Pmf:
        return mixed([(1.0, summed(law, trimmed(0, binomial(b, f)))) for b, law in types()])

    return contributors, population


def by_signs(mechanism: Any, pull: float) -> tuple[Callable[..., Pmf], Callable[..., Pmf]]:
    """Return the distributions of supports by dealt signs: given the signs, reports are independent."""
    n, p, q, s = mechanism.n, *map(float, mechanism.support_probabilities), float(mechanism.coin.s)
    half = n // 2
    signs = [(half, p + s, q + pull * s), (half, p - s, q - pull * s)]

    def part(size: int, holders: int, own: float, other: float) -> Pmf:
        return summed(trimmed(0, binomial(holders, own)), trimmed(0, binomial(size - holders, other)))

    def even(holders: int) -> Pmf:
        chances = hypergeometric(2 * half, holders, half)
        kept = [(h, c) for h, c in enumerate(chances.tolist()) if c > 1e-15]
        (size, *plus), (_, *minus) = signs
        return mixed([(c, summed(part(size, h, *plus), part(size, holders - h, *minus))) for h, c in kept])

    def contributors(holders: int) -> Pmf:
        if n % 2 == 0:
            return even(holders)
        # The unpaired contributor has no sign.
        parts = [(holders / n, holders - 1, p), (1 - holders / n, holders, q)]
        return mixed([(c, summed(even(h), (0, np.array([1 - t, t])))) for c, h, t in parts if c])

    def population(f: float) -> Pmf:
        drawn = [trimmed(0, binomial(size, f * own + (1 - f) * other)) for size, own, other in signs]
        return summed(*drawn, trimmed(0, binomial(n % 2, f * p + (1 - f) * q)))

    return contributors, population


# ---------------------------------------------------------------- settings


def estimated(mechanism: Any) -> Callable[[int], Estimate]:
    """Return the function that estimates the first value; all other reports are taken to be the second value."""

    def estimate(count: int) -> Estimate:
        counts = np.zeros(mechanism.k, dtype=np.int64)
        counts[0], counts[1] = count, mechanism.n - count
        found: Estimate = mechanism.estimate(Aggregate(mechanism, counts, mechanism.n))["0"]
        return found

    return estimate


def quota_setting(epsilon: float, n: int, k: int) -> Setting:
    """Return quota randomised response over k values."""
    quota = QuotaRR(epsilon, n, k=k)

    @lru_cache
    def types() -> list[tuple[int, Pmf]]:
        return quota_types(n, quota.a0, [quota.a0] * (k - 1), [1.0] * k, float(quota.weight))

    return Setting(f"QuotaRR k={k}", *by_types(types, n), estimated(quota), n)


def unary_setting(epsilon: float, n: int) -> Setting:
    """Return quota unary encoding over five values."""
    quota = QuotaUnary(5, epsilon, n)
    one, zero = map(float, quota.weights)
    said, denied = quota.minima

    @lru_cache
    def types() -> list[tuple[int, Pmf]]:
        return quota_types(n, said, [denied], [1.0, one / zero], one)

    return Setting("QuotaUnary", *by_types(types, n), estimated(quota), n)


def records_setting(epsilon: float, n: int) -> Setting:
    """Return the first attribute of quota records of two and five values."""
    quota = QuotaRecords((2, 5), epsilon, n)
    part, rest = quota.parts

    @lru_cache
    def types() -> list[tuple[int, Pmf]]:
        return quota_types(part.n, part.a0, [part.a0], [1.0, 1.0], float(part.weight))

    def estimate(count: int) -> Estimate:
        counts = np.array([count, part.n - count, rest.n, 0, 0, 0, 0, part.n, rest.n])
        return quota.estimate(Aggregate(quota, counts, n))[0]["0"]

    return Setting("QuotaRecords", *by_types(types, n), estimate, part.n)


def jrr_setting(epsilon: float, n: int) -> Setting:
    """Return joint randomised response at its most extreme, designed for rare answers."""
    jrr = JRR.optimal(n, epsilon, 0 if n <= 100 else 5, 0)
    return Setting("JRR", *by_signs(jrr, -1.0), estimated(jrr), n)


def kary_setting(epsilon: float, n: int) -> Setting:
    """Return k-ary joint randomised response over four values."""
    jrr = KaryJRR.optimal(4, n, epsilon, 0 if n <= 100 else 5)
    return Setting("KaryJRR", *by_signs(jrr, -1 / 3), estimated(jrr), n)


def coupled_setting(mechanism: CoupledOUE | ReportCoupledRR) -> Setting:
    """Return contributors whose reports are coupled in pairs."""
    table, alone = (law.astype(np.float64) for law in (mechanism.coupling.pairs, mechanism.coupling.shares))

    @lru_cache
    def types() -> list[tuple[int, Pmf]]:
        return pair_types(mechanism.n, table, alone)

    return Setting(mechanism.name, *by_types(types, mechanism.n), estimated(mechanism), mechanism.n)


def settings(epsilon: float, n: int) -> Iterator[Setting]:
    """Yield every mechanism for n contributors."""
    yield quota_setting(epsilon, n, 2)
    yield quota_setting(epsilon, n, 5)
    yield unary_setting(epsilon, n)
    if n >= 4:
        yield records_setting(epsilon, n)
    yield jrr_setting(epsilon, n)
    yield kary_setting(epsilon, n)
    colluders = 0 if n <= 100 else 5
    yield coupled_setting(CoupledOUE.optimal(5, n, epsilon, colluders))
    yield coupled_setting(ReportCoupledRR.optimal(n, epsilon, colluders))


# ---------------------------------------------------------------- coverage


def coverage(setting: Setting, n: int, target: Target, share: float) -> tuple[float, float]:
    """Return how often the 95% interval contains the share, and its mean width (beyond n = 100: its median width)."""
    truth = round(share * n) / n if target == "contributors" else share
    first, law = setting.contributors(round(share * n)) if target == "contributors" else setting.population(share)
    likely = [c for c in range(len(law)) if law[c] > 1e-7 and 0 <= first + c <= setting.reports]
    ends: dict[int, tuple[float, float]] = {}

    def interval(c: int) -> tuple[float, float]:
        if c not in ends:
            lower, upper = setting.estimate(first + c).interval(0.95, target=target)
            ends[c] = float(lower[0]), float(upper[0])
        return ends[c]

    def inside(c: int) -> bool:
        return interval(c)[0] <= truth + 1e-12 and truth - 1e-12 <= interval(c)[1]

    if n <= 100:
        held = sum(float(law[c]) for c in likely if inside(c))
        width = sum(float(law[c]) * (interval(c)[1] - interval(c)[0]) for c in likely)
        return held, width
    # If there are many counts, those whose interval contains the truth are neighbours. So only the ends of their range
    # are sought.
    middle = int(np.cumsum(law).searchsorted(0.5))
    if not inside(middle):
        return 0.0, math.nan
    ends_of = []
    for outer in (likely[0], likely[-1]):
        good, bad = middle, outer + (1 if outer > middle else -1)
        while abs(good - bad) > 1:
            trial = (good + bad) // 2
            good, bad = (trial, bad) if inside(trial) else (good, trial)
        ends_of.append(good)
    lower, upper = interval(middle)
    return float(law[ends_of[0] : ends_of[1] + 1].sum()), upper - lower


def measured(sizes: tuple[int, ...] = SIZES, epsilons: tuple[float, ...] = EPSILONS) -> Iterator[dict[str, Any]]:
    """Yield the least coverage over shares for each setting and target, and the width at a share of .1."""
    for n in sizes:
        for epsilon in epsilons:
            for setting in settings(epsilon, n):
                for target in TARGETS:
                    found = {share: coverage(setting, n, target, share) for share in SHARES}
                    worst = min(SHARES, key=lambda share: found[share][0])
                    row = {"mechanism": setting.name, "epsilon": epsilon, "n": n, "target": target}
                    yield row | {"share": worst, "coverage": found[worst][0], "width": found[0.1][1]}


def rows() -> list[dict[str, Any]]:
    """Return the least coverage of each setting.

    Raises
    ------
    SystemExit
        If a coverage is below `LEAST`; the message names its setting.
    """
    found = list(measured())
    for row in found:
        if row["coverage"] < LEAST:
            raise SystemExit(f"a 95% interval covers less than its limit: {row}")
    return found


if __name__ == "__main__":
    for line in rows():
        print(line)

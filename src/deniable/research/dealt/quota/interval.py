"""Number of reports that support a value under dealt quotas, from the distribution of the types.

The number is a + H, where a counts those told to say v, and H those told the truth who hold v. Near f = 0 it has the
distribution of a, which is cut off at the minimum and far from normal. Given the types, H is hypergeometric among
contributors. It is binomial if the contributors were drawn from a population.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special

from deniable.research.dealt.interval import SupportLaw
from deniable.research.dealt.quota.law import CountLaw, Floats

_COLUMNS = 256
_NORMAL_FROM = 400.0
_WORK = 1 << 28
_NEGLIGIBLE = 1e-16
_ROUNDING = 1e-17

Deals = tuple[tuple[CountLaw, int, int], ...]


@dataclass(frozen=True)
class Columns:
    """Joint distribution of the number b of truth-tellers and the number a of those told to say v, on a coarse grid.

    The grid has at most a few hundred points in each direction.

    Parameters
    ----------
    a : int64[A]
        Consecutive numbers of those told to say v.
    b : int64[B]
        Numbers of truth-tellers. Each number also stands for its neighbours.
    weights : float64[B, A]
        P(b, a).
    centres : float64[C]
        Means of consecutive stretches of the values of a.
    masses : float64[B, C]
        P(b, a in the stretch).
    spread : float
        Variance within a stretch, by which a smooth distribution is widened.
    n : int
        Number of contributors whose types are counted.
    truth, lie : float
        Probability that a truth-teller's report supports v if they hold it, and if not.
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    weights: Floats
    centres: Floats
    masses: Floats
    spread: float
    n: int
    truth: float
    lie: float


@dataclass(frozen=True)
class QuotaSupports(SupportLaw):
    """Distribution of the number of supports of people who were dealt quotas, in one or several similar deals.

    If there are several deals, holders are taken to be spread over them at random.

    Parameters
    ----------
    deals : tuple of (CountLaw, int, int)
        Types of all contributors dealt to, how many of these contributors report, and how many such deals there are.
    truth, lie : float
        Probability that a truth-teller's report supports v if they hold it, and if not.
    among : int
        Number of people among whom the holders are counted.
    """

    deals: Deals
    truth: float
    lie: float
    among: int

    ordered = True

    @property
    def reporters(self) -> int:  # type: ignore[override]
        """Number of reports in all deals."""
        return sum(reporters * times for _, reporters, times in self.deals)

    @property
    def cut_off(self) -> bool:  # type: ignore[override]
        """Return True if there is only one deal, because sums of several deals are smoother."""
        return sum(times for _, _, times in self.deals) == 1

    def at_most(self, count: int, holders: int) -> float:
        return _at_most(self, count, holders / self.among, holders)

    def at_most_drawn(self, count: int, frequency: float) -> float:
        return _at_most(self, count, frequency, None)


# ---------------------------------------------------------------- the distribution of the types


@dataclass(frozen=True, eq=False)
class _Types:
    """Probabilities P(b, a) for consecutive numbers b of truth-tellers and a of those told to say v.

    The fields `b` and `a` are the first number of each.
    """

    b: int
    a: int
    weights: Floats

    def trimmed(self) -> _Types:
        """Return these probabilities without negligible margins."""
        rows, columns = (np.flatnonzero(self.weights.sum(axis=axis) > _NEGLIGIBLE) for axis in (1, 0))
        b, a = int(rows[0]), int(columns[0])
        return _Types(self.b + b, self.a + a, self.weights[b : rows[-1] + 1, a : columns[-1] + 1])

    def plus(self, other: _Types) -> _Types:
        """Return the distribution of the types of two independent deals together."""
        shape = [one + two - 1 for one, two in zip(self.weights.shape, other.weights.shape, strict=True)]
        size = [fft.next_fast_len(length, real=True) for length in shape]
        product = fft.rfft2(self.weights, size) * fft.rfft2(other.weights, size)
        weights = np.maximum(fft.irfft2(product, size)[: shape[0], : shape[1]], 0.0)
        return _Types(self.b + other.b, self.a + other.a, np.where(weights > _ROUNDING, weights, 0.0)).trimmed()

    def with_random_answers(self, share: float, says: float) -> _Types:
        """Return the distribution if each truth-teller answers at random with probability `share`.

        A random answer is v with probability `says`, and another value otherwise.
        """
        top = self.b + len(self.weights) - 1
        least = max(0, self.b - _most_random(self.b, share))
        found = np.zeros((top - least + 1, self.weights.shape[1] + _most_random(top, share)))
        for random in range(_most_random(top, share) + 1):
            # From b truth-tellers, b - random are left.
            b = np.arange(max(self.b, least + random), top + 1)
            chance = np.exp(_log_choose(b, random) + special.xlogy(random, share) + special.xlog1py(b - random, -share))
            left = self.weights[b - self.b] * chance[:, None]
            said = np.arange(random + 1)
            law = np.exp(_log_choose(random, said) + said * math.log(says) + (random - said) * math.log1p(-says))
            for more, probability in enumerate(law.tolist()):
                found[b - random - least, more : more + left.shape[1]] += probability * left
        return _Types(least, self.a, found).trimmed()

    def without(self, missing: int, n: int) -> _Types:
        """Return the distribution for those who are left if `missing` of n contributors drop out.

        Dropping out does not depend on what they were dealt.
        """
        found = self
        for left in range(n, n - missing, -1):
            rows, columns = int(found.b > 0), int(found.a > 0)
            old = np.pad(found.weights, ((rows, 0), (columns, 0)))
            b = np.arange(found.b - rows, found.b - rows + len(old))[:, None]
            a = np.arange(found.a - columns, found.a - columns + old.shape[1])
            new = np.maximum(left - a - b, 0) * old
            new[:, :-1] += (a * old)[:, 1:]
            new[:-1] += (b * old)[1:]
            found = _Types(int(b[0, 0]), int(a[0]), new / left)
            if left % 16 == 0:
                found = found.trimmed()
        return found.trimmed()


def _most_random(b: int, share: float) -> int:
    return min(b, math.ceil(b * share + 9 * math.sqrt(b * share * (1 - share)) + 16))


def _log_choose(n: NDArray[np.int64] | int, k: NDArray[np.int64] | int) -> Floats:
    return special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(np.subtract(n, k) + 1.0)


@lru_cache(maxsize=8)
def columns_of(deals: Deals, truth: float, lie: float) -> Columns:
    """Return the grid of a distribution of types, with every a and b if there are at most `_COLUMNS` of them.

    Drop-outs, and random answers of truth-tellers under a cap, are worked into the types if that takes a bounded time.
    It does if they are few, or if there are few types to begin with. Otherwise they are counted as normal noise, and
    `Columns.n`, `truth` and `lie` say so.
    """
    (law, reporters, times), *others = deals
    if not others and times == 1 and not 0 < _work(law, reporters, 1 - truth + lie) <= _WORK:
        return _coarse(law.a.values, law.b.values, law.b.weights, law.a_given_b, law.n, truth, lie)
    types = None
    for law, reporters, times in deals:
        part = _worked_in(law, reporters, truth, lie)
        # Powers are made by doubling.
        while times:
            if times & 1:
                types = part if types is None else types.plus(part)
            times >>= 1
            part = part.plus(part) if times else part
    assert types is not None
    weights, first = types.weights, types.b
    return _coarse(
        types.a + np.arange(weights.shape[1]),
        first + np.arange(len(weights)),
        weights.sum(axis=1),
        lambda value: weights[value - first] / weights[value - first].sum(),
        sum(reporters * times for _, reporters, times in deals),
        1.0,
        0.0,
    )


def _work(law: CountLaw, reporters: int, share: float) -> int:
    """Return about how many operations `_worked_in` takes, or 0 if there is nothing to be worked in."""
    random = _most_random(int(law.b.values[-1]), share) if share else 0
    return len(law.a.weights) * len(law.b.weights) * (law.n - reporters + random * random // 2)


def _worked_in(law: CountLaw, reporters: int, truth: float, lie: float) -> _Types:
    """Return the types of those who report.

    Among truth-tellers, only those who tell the truth in the end are counted.
    """
    a, b, share = law.a, law.b, 1 - truth + lie
    joint = np.array([law.a_given_b(value) for value in b.values.tolist()]) * b.weights[:, None] / b.weights.sum()
    types = _Types(b.start, a.start, joint).trimmed()
    return (types.with_random_answers(share, lie / share) if share else types).without(law.n - reporters, law.n)


def _coarse(
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    shares: Floats,
    given: Callable[[int], Floats],
    n: int,
    truth: float,
    lie: float,
) -> Columns:
    """Return the grid for the numbers `b` of truth-tellers, which have the probabilities `shares`.

    The function `given` returns P(a | b).
    """
    step = -(-len(b) // _COLUMNS)
    values = b[step // 2 :: step]
    # Each column stands for `step` neighbouring numbers of truth-tellers.
    shares = np.append(shares, np.zeros(-len(b) % step)).reshape(-1, step).sum(axis=1)[: len(values)]
    shares = shares / shares.sum()
    kept = shares > 1e-13
    weights = np.array([given(value) for value in values[kept].tolist()]) * shares[kept, None]
    likely = np.flatnonzero(weights.max(axis=0) > 1e-13)
    first, last = int(likely[0]), int(likely[-1]) + 1
    width = -(-(last - first) // _COLUMNS)
    starts = np.arange(first, last, width)
    stops = np.append(starts[1:], last)
    masses = np.add.reduceat(weights[:, :last], starts, axis=1)
    centres = a[0] + (starts + stops - 1) / 2
    return Columns(a, values[kept], weights, centres, masses, (width * width - 1) / 12, n, truth, lie)


# ---------------------------------------------------------------- the distribution of the supports


def _at_most(law: QuotaSupports, count: int, theta: float, holders: int | None) -> float:
    """Return P(supports <= count) for the share `theta` of holders.

    They are `holders` of the `among` people, or of a population if `holders` is None.
    """
    columns = columns_of(law.deals, law.truth, law.lie)
    among = math.inf if holders is None else law.among
    truth, lie, left = columns.truth, columns.lie, law.reporters / columns.n
    gain, truthful, b = truth - lie, lie + (truth - lie) * theta, columns.b * left
    held = gain**2 * b * theta * (1 - theta) * (1.0 if holders is None else (among - b) / max(among - 1, 1))
    variances = held + b * (theta * truth * (1 - truth) + (1 - theta) * lie * (1 - lie))
    plain = (truth, lie, left) == (1.0, 0.0, 1.0)
    smooth = variances >= _NORMAL_FROM if plain else np.full(len(b), left < 1) | (variances > 0)
    total = 0.0
    for row in np.flatnonzero(~smooth):
        rest = count - columns.a
        size = int(columns.b[row])
        if not plain:
            below = (rest >= b[row] * truthful).astype(np.float64)
        elif holders is None:
            below = _binomial_at_most(rest, size, theta)
        else:
            below = _hypergeometric_at_most(rest, law.among, holders, size)
        total += float(columns.weights[row] @ below)
    if smooth.any():
        told, b = columns.b[smooth, None], b[smooth, None]
        wide = variances[smooth, None] + columns.spread
        if left < 1:
            said, mean = columns.centres + truthful**2 * told, columns.centres + truthful * told
            wide = wide + law.reporters * (1 - left) * (said - mean**2 / columns.n) / (columns.n - 1)
        z = (count - left * columns.centres + 0.5 - b * truthful) / np.sqrt(wide)
        below = special.ndtr(z)
        if plain:
            skewness = (1 - 2 * theta) * (1 - 2 * b / among) * variances[smooth, None] / wide**1.5
            below = below - skewness * (z**2 - 1) * np.exp(-(z**2) / 2) / (6 * np.sqrt(2 * np.pi))
        total += float((columns.masses[smooth] * np.clip(below, 0.0, 1.0)).sum())
    return min(total, 1.0)


def _hypergeometric_at_most(x: NDArray[np.int64], n: int, holders: int, b: int) -> Floats:
    first, last = max(0, holders + b - n), min(holders, b)
    mode = min(max((holders + 1) * (b + 1) // (n + 2), first), last)
    low, h = _around(mode, first, last)
    return _cumulative(x, low, np.log((holders - h) * (b - h) / ((h + 1) * (n - holders - b + h + 1))))


def _binomial_at_most(x: NDArray[np.int64], b: int, f: float) -> Floats:
    first, last = b if f == 1 else 0, 0 if f == 0 else b
    low, h = _around(min(max(int((b + 1) * f), first), last), first, last)
    return _cumulative(x, low, np.log((b - h) / (h + 1) * (f / (1 - f))) if len(h) else np.zeros(0))


def _around(mode: int, first: int, last: int) -> tuple[int, NDArray[np.int64]]:
    # The variance is below 400. Numbers more than 20 deviations above or below the mode are negligible.
    low = max(first, mode - 500)
    return low, np.arange(low, min(last, mode + 500))


def _cumulative(x: NDArray[np.int64], low: int, steps: Floats) -> Floats:
    """Return P(X <= x), where steps[i] is the logarithm of P(low + i + 1)/P(low + i)."""
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    cumulative = np.append(np.exp(logs - logs.max()).cumsum(), 0.0)
    result: Floats = cumulative[np.where(x < low, -1, np.minimum(x - low, len(steps)))] / cumulative[-2]
    return result

"""Covariance of one attribute's estimated frequencies, which gives the variance of every weighted sum of them.

A joint noise is a function of (weights, f). It returns the variance of one report's estimate of sum_v weights[v] 1[x =
v], as the mean over contributors whose frequencies are f. It returns NaN where the variance is not determined. The
variance for n reports is 1/n of it. `weights` and `f` are float64[k].

The distribution of a report (`ReportLaw`) says more: the variance given each value, and the smallest and largest
estimate of one report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.core.bounded_sums import Added, ReportLaw

Floats: TypeAlias = NDArray[np.float64]
JointNoise: TypeAlias = Callable[[Floats, Floats], float]


def exchangeable(p: float, q: float, own: float, other: float) -> JointNoise:
    """Return the noise of supports if all pairs have the same correlation. The noise is computed in O(k).

    Parameters
    ----------
    p, q : float
        Probability that a report supports v if its contributor holds v, and if not.
    own, other : float
        Covariance of one report's supports of v and w if its contributor holds one of them (own) or neither (other).
    """
    return partial(_exchangeable, p * (1 - p), q * (1 - q), own, other, (p - q) ** 2)


def _exchangeable(
    present: float, absent: float, own: float, other: float, gain2: float, weights: Floats, f: Floats
) -> float:
    squares = weights * weights
    alone = squares @ (f * present + (1 - f) * absent)
    # `pairs` is the sum over v != w of w_v w_w [(own - other) (f_v + f_w) + other].
    total = weights.sum()
    pairs = 2 * (own - other) * ((weights @ f) * total - squares @ f) + other * (total**2 - squares.sum())
    return float((alone + pairs) / gain2)


def unary_reports(p: float, q: float) -> ReportLaw:
    """Return the distribution of reports that support every value independently of the others."""
    return partial(_unary_reports, p, q)


def _unary_reports(p: float, q: float, weights: Floats) -> Added:
    scores = weights / (p - q)

    def logs(rates: Floats) -> Floats:
        grown = np.expm1(rates[:, None] * scores)
        absent = np.log1p(q * grown)
        found: Floats = np.log1p(p * grown) - absent + (absent.sum(axis=1) - rates * q * scores.sum())[:, None]
        return found

    return Added(float(np.abs(scores).max()), logs)


def support_reports(p: float, q: float, own: float, other: float, sizes: tuple[int, int], k: int) -> ReportLaw:
    """Return the distribution of reports that support sizes[0] to sizes[1] of k values (see `exchangeable`)."""
    return code_reports(p, q) if sizes == (1, 1) else partial(_support_reports, p, q, own, other, sizes, k)


def _support_reports(
    p: float, q: float, own: float, other: float, sizes: tuple[int, int], k: int, weights: Floats
) -> Added:
    squares, total, gain = weights * weights, weights.sum(), p - q
    # These are the parts of `_exchangeable` if f is 1 at one value.
    absent = q * (1 - q) * squares.sum() + other * (total**2 - squares.sum())
    held = (p * (1 - p) - q * (1 - q)) * squares + 2 * (own - other) * (weights * total - squares)
    low, high = -_largest(-weights, sizes, k), _largest(weights, sizes, k)
    # If all sets have one size, a mistake puts one value in the place of another.
    step = np.ptp(weights) if sizes[0] == sizes[1] else np.abs(weights).max()
    ends = (low - q * total) / gain, (high - q * total) / gain
    return Added(float(step / gain), partial(_two_points, weights, np.maximum(absent + held, 0.0) / gain**2, ends))


def _two_points(means: Floats, variances: Floats, ends: tuple[float, float], rates: Floats) -> Floats:
    """Return log E exp(rate W) for the two-point W with these means and variances that has one point at the end.

    Among all W with the given mean and variance that do not exceed the end, this W has the largest value (Bennett
    1962).
    """
    far = np.where(rates < 0, *ends)[:, None]
    room = far - means
    chances = variances / np.where(variances > 0, variances + room**2, 1.0)
    near = means - np.divide(variances, room, out=np.zeros(room.shape), where=room != 0)
    at_near = rates[:, None] * near
    return at_near + np.log1p(chances * np.expm1(np.clip(rates[:, None] * far - at_near, -700.0, 700.0)))


def _largest(weights: Floats, sizes: tuple[int, int], k: int) -> float:
    """Return the largest sum of weights of sizes[0] to sizes[1] of k values. Values without a weight have weight 0."""
    least, most = sizes
    ups, downs = -np.sort(-weights[weights > 0])[:most], -np.sort(-weights[weights < 0])
    forced = max(0, least - (k - len(downs)))
    return float(ups.sum() + downs[:forced].sum())


def one_code(p: Floats, q: Floats) -> JointNoise:
    """Return the noise of reports of one code each, which is v with probability p_v if v is held, else q_v."""
    return partial(_one_code, np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))


def _one_code(p: Floats, q: Floats, weights: Floats, f: Floats) -> float:
    gain = p - q
    scores = weights / gain
    # A contributor who holds x reports y with probability q_y + gain_y 1[x = y]. So E(score) = sum_y q_y score_y +
    # weights[x].
    mean = (q * scores).sum() + weights
    square = (q * scores * scores).sum() + f @ (gain * scores * scores)
    return float(square - f @ (mean * mean))


def code_reports(p: Floats | float, q: Floats | float) -> ReportLaw:
    """Return the distribution of reports that are one code each (see `one_code`)."""
    return partial(_code_reports, np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))


def _code_reports(p: Floats, q: Floats, weights: Floats) -> Added:
    gain = p - q
    scores, listed = weights / gain, np.broadcast_to(q, weights.shape)
    # Codes that nobody listed have weight 0. They have the probability that is left.
    rest, offset = np.maximum(1 - listed.sum() - gain, 0.0), (q * scores).sum()
    ends = np.append(scores, 0.0) if (rest > 1e-12).any() else scores
    # Exponents are relative to their largest value around the middle of the scores. Otherwise scores of one sign that
    # are far from 0 would vanish.
    centre, most = float(ends.max() + ends.min()) / 2, float(np.ptp(ends)) / 2

    def logs(rates: Floats) -> Floats:
        rate = rates[:, None]
        scale = np.abs(rate) * most
        powers = np.exp(rate * (scores - centre) - scale)
        left = np.where(rest > 1e-12, rest, 0.0) * np.exp(np.minimum(-rate * centre - scale, 0.0))
        found: Floats = np.log((powers @ listed)[:, None] + gain * powers + left) + scale + rate * (centre - offset)
        return found

    return Added(float(np.ptp(scores)), logs)


def one_support(p: float, q: float) -> ReportLaw:
    """Return the distribution of a report's support of one category that alone has a weight other than 0."""
    return partial(_one_support, p, q)


def _one_support(p: float, q: float, weights: Floats) -> Added:
    score = float(weights[0]) / (p - q)
    chances = np.array([p, q])

    def logs(rates: Floats) -> Floats:
        with np.errstate(divide="ignore"):  # a support may be certain or impossible
            yes, no = np.log(chances), np.log1p(-chances)
        exponents = rates[:, None] * score
        return np.asarray(np.logaddexp(yes + exponents, no) - exponents * q)

    return Added(abs(score), logs)


def listed_reports(means: Callable[[Floats], Floats], scores: Floats) -> Added:
    """Return the contribution of reports whose outputs have unbiased scores float64[outputs].

    Parameters
    ----------
    means : callable
        Function from float64[m, outputs] to float64[m, x]. It returns the mean of the outputs' numbers for every value
        x that is held.
    scores : float64[outputs]
        Score of each output.
    """
    centre = float(scores.mean())
    most = float(np.abs(scores - centre).max())

    def logs(rates: Floats) -> Floats:
        scale = np.abs(rates)[:, None] * most
        powers = np.exp(rates[:, None] * (scores - centre) - scale)
        return np.asarray(np.log(np.maximum(means(powers), 1e-300)) + scale + rates[:, None] * centre)

    return Added(float(np.ptp(scores)), logs)


def mixed(noises: Sequence[JointNoise], shares: Sequence[float]) -> JointNoise:
    """Return the noise of the sum of independent estimates, each multiplied by its entry of `shares`."""
    return partial(_mixed, tuple(noises), tuple(shares))


def _mixed(noises: tuple[JointNoise, ...], shares: tuple[float, ...], weights: Floats, f: Floats) -> float:
    return sum(share * noise(weights, f) for noise, share in zip(noises, shares, strict=True))

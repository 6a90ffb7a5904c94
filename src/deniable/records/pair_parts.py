"""Reports for one choice of `PairSample` (one pair of attributes or one attribute), and their distribution.

A pair (i, j) is one attribute with the K = k_i k_j codes x_i k_j + x_j and goes through subset selection. The
distribution of such a report is known exactly (`FixedSize`). So are the covariances of everything that is linear in its
table. Let M[c, c'] = P(c and c' are supported). The covariance of one report's unbiased estimate at the distribution f
is

    Sigma(f) = (M - m m')/(p - q)^2,   M[c, c] = m[c] = q + (p - q) f[c],
    M[c, c'] = r2 + (r1 - r2)(f[c] + f[c']),

Here r1 is the probability that two values are both supported if the contributor holds one of them. If the contributor
holds neither, this probability is r2. The covariance includes the sampling of the contributor from the population.
Noise of the mechanism and sampling are separated when a question is answered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.bounded_sums import Added, ReportLaw
from deniable.core.estimate import Estimate, Floats
from deniable.core.joint import JointNoise, support_reports
from deniable.core.projection import nearest_distribution
from deniable.core.report_likelihood import ReportLikelihood
from deniable.oracles.subset import SubsetSelection


class Margin(NamedTuple):
    """Reports of one part about one attribute.

    Parameters
    ----------
    frequencies : float64[k]
        Unbiased frequencies.
    absent, present : float64[k]
        Noise variance of one report's estimate if its contributor does not, or does, hold the value.
    joint : callable or None
        Correlation of one report's noise, if it is known.
    law : callable or None
        Contribution of one report to a weighted sum, if it is known.
    """

    frequencies: Floats
    absent: Floats
    present: Floats
    joint: JointNoise | None
    law: ReportLaw | None = None


@dataclass(frozen=True)
class Part(ABC):
    """One choice of `PairSample`, which is one attribute or a pair of attributes.

    Parameters
    ----------
    attributes : tuple of int
        Indices of one or two attributes.
    sizes : tuple of int
        Domain sizes of these attributes.
    oracle : FrequencyOracle
        Oracle that reports the choice's code with the whole budget.
    """

    attributes: tuple[int, ...]
    sizes: tuple[int, ...]
    oracle: Any  # the kind of part tells its class

    @abstractmethod
    def spread(self, axis: int) -> float:
        """Return the mean variance, with sampling, of one report's margin at the uniform distribution."""

    @abstractmethod
    def margin(self, frequencies: Floats, estimate: Estimate | None, axis: int) -> Margin:
        """Return the margin of one attribute, from unbiased frequencies in the part's shape and their estimate."""

    @abstractmethod
    def likelihood(self, reports: Any, attributes: tuple[int, ...]) -> ReportLikelihood:
        """Return `Mechanism.likelihood` for reports of this part and one or two of its attributes."""

    @abstractmethod
    def indicators(self, reports: Any, attributes: tuple[int, ...]) -> Floats:
        """Return the values of `Mechanism.indicators` for reports of this part and one or two of its attributes."""

    @abstractmethod
    def margin_noise(self, axis: int) -> tuple[float, float]:
        """Return one report's noise variance, averaged over values, if the value is not held and if it is held."""

    @abstractmethod
    def margin_covariance(self, f: Floats, axis: int) -> Floats:
        """Return the covariance float64[k, k], with sampling, of one report's margin at the part's distribution f."""


@final
@dataclass(frozen=True)
class PairPart(Part):
    """Two attributes that go through subset selection over the K = k_i k_j pairs of their codes."""

    def spread(self, axis: int) -> float:
        k, cells = self.sizes[axis], int(self.oracle.k)
        lumped = cells // k
        noise = float(self.oracle.variance(1 / cells, 1))
        return lumped * noise * (1 - (lumped - 1) / (cells - 1)) + (1 - 1 / k) / k

    def margin(self, frequencies: Floats, estimate: Estimate | None, axis: int) -> Margin:  # noqa: ARG002
        found = frequencies.sum(axis=1 - axis)
        absent, present = self.margin_noise(axis)
        joint = partial(subset_law(self.oracle).lumped_joint_noise, self.oracle.k // self.sizes[axis])
        law = partial(_lumped_report, subset_reports(self.oracle), self.oracle.k // self.sizes[axis])
        return Margin(found, np.full(len(found), absent), np.full(len(found), present), joint, law)

    def likelihood(self, reports: Any, attributes: tuple[int, ...]) -> ReportLikelihood:
        if len(attributes) == 2:
            found = self.oracle.likelihood(reports)
            ordered: ReportLikelihood = found._replace(relative=self._ordered(found.relative, attributes))
            return ordered
        # The partner's answer may be anything. By symmetry, the distribution of how many reported cells share each code
        # does not depend on it. Among the sets with these numbers N, the share N_a/lumped contains any one cell of code
        # a.
        law = self.oracle.support_law
        supported = self.oracle.supports(reports, np.arange(self.oracle.k)).reshape(-1, *self.sizes)
        axis = self.attributes.index(attributes[0])
        numbers, lumped = supported.sum(axis=2 - axis), self.sizes[1 - axis]
        relative = 1 + (law.ratio - 1) * numbers / lumped
        largest = relative.max(axis=1)
        factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, lumped + 1)))))
        choices = factorials[lumped] - factorials[numbers] - factorials[lumped - numbers]
        scale = law.log_absent(numbers.sum(axis=1)) + choices.sum(axis=1) + np.log(largest)
        return ReportLikelihood(relative / largest[:, None], scale, np.ones(len(scale), dtype=np.bool_))

    def indicators(self, reports: Any, attributes: tuple[int, ...]) -> Floats:
        cells = self.oracle.indicators(reports).values
        if len(attributes) == 2:
            return self._ordered(cells, attributes)
        sums: Floats = cells.reshape(-1, *self.sizes).sum(axis=2 - self.attributes.index(attributes[0]))
        return sums

    def _ordered(self, cells: Floats, attributes: tuple[int, ...]) -> Floats:
        """Return cells[n, k_i k_j] in the order of these attributes."""
        if attributes == self.attributes:
            return cells
        return cells.reshape(-1, *self.sizes).swapaxes(1, 2).reshape(len(cells), -1)

    def margin_noise(self, axis: int) -> tuple[float, float]:
        return subset_law(self.oracle).lumped_noise(self.oracle.k // self.sizes[axis])

    def margin_covariance(self, f: Floats, axis: int) -> Floats:
        return subset_law(self.oracle).lumped_covariance(f.sum(axis=1 - axis), self.oracle.k // self.sizes[axis])


@final
@dataclass(frozen=True)
class SinglePart(Part):
    """One attribute that goes through its own oracle."""

    def spread(self, axis: int) -> float:  # noqa: ARG002
        (k,) = self.sizes
        return float(self.oracle.variance(1 / k, 1)) + (1 - 1 / k) / k

    def margin(self, frequencies: Floats, estimate: Estimate | None, axis: int) -> Margin:
        if estimate is not None:
            (sample,) = estimate.samples
            return Margin(frequencies, estimate.noise_absent, estimate.noise_present, estimate.joint, sample.law)
        absent, present = self.margin_noise(axis)
        return Margin(frequencies, np.full(len(frequencies), absent), np.full(len(frequencies), present), None)

    def likelihood(self, reports: Any, attributes: tuple[int, ...]) -> ReportLikelihood:  # noqa: ARG002
        found: ReportLikelihood = self.oracle.likelihood(reports)
        return found

    def indicators(self, reports: Any, attributes: tuple[int, ...]) -> Floats:  # noqa: ARG002
        values: Floats = self.oracle.indicators(reports).values
        return values

    def margin_noise(self, axis: int) -> tuple[float, float]:  # noqa: ARG002
        return float(self.oracle.variance(0.0, 1)), float(self.oracle.variance(1.0, 1))

    def margin_covariance(self, f: Floats, axis: int) -> Floats:  # noqa: ARG002
        noise: Floats = self.oracle.covariance(f, 1)
        return noise + np.diag(f) - np.outer(f, f)


@dataclass(frozen=True)
class SubsetLaw:
    """Second moments of one report of subset selection, as floats.

    Parameters
    ----------
    p, q : float
        Probability that a value is supported if it is held, and if it is not held.
    r1, r2 : float
        Probability that two values are both supported if one of them is held, and if neither is held.
    """

    p: float
    q: float
    r1: float
    r2: float

    @property
    def gain(self) -> float:
        """(p - q)^2."""
        return (self.p - self.q) ** 2

    def products(self, a: Floats, b: Floats, f: Floats) -> Floats:
        """Return a' Sigma(f) b over the last axis, for weights that are broadcast to each other."""
        p, q, r1, r2 = self.p, self.q, self.r1, self.r2
        both = a * b
        sum_a, sum_b, sum_ab = a.sum(axis=-1), b.sum(axis=-1), both.sum(axis=-1)
        on_a, on_b, on_ab = a @ f, b @ f, both @ f
        second = q * sum_ab + (p - q) * on_ab + r2 * (sum_a * sum_b - sum_ab)
        second = second + (r1 - r2) * (on_a * sum_b + sum_a * on_b - 2 * on_ab)
        found: Floats = (second - (q * sum_a + (p - q) * on_a) * (q * sum_b + (p - q) * on_b)) / self.gain
        return found

    def covariance(self, f: Floats) -> Floats:
        """Return Sigma(f), float64[K, K]."""
        mean = self.q + (self.p - self.q) * f
        moments = self.r2 + (self.r1 - self.r2) * (f[:, None] + f[None, :])
        np.fill_diagonal(moments, mean)
        return (moments - np.outer(mean, mean)) / self.gain

    def lumped_covariance(self, f: Floats, cells: int) -> Floats:
        """Return the covariance float64[k, k] of sums over groups of `cells` values; f are the groups' frequencies."""
        mean = self.q * cells + (self.p - self.q) * f
        moments = self.r2 * cells**2 + (self.r1 - self.r2) * cells * (f[:, None] + f[None, :])
        alone = (self.q - self.r2) * cells + (self.p - self.q - 2 * (self.r1 - self.r2)) * f
        return (moments + np.diag(alone) - np.outer(mean, mean)) / self.gain

    def lumped_joint_noise(self, cells: int, weights: Floats, f: Floats) -> float:
        """Return the noise variance of a weighted sum over groups of `cells` values; f are the groups' frequencies."""
        squares, total, held = weights * weights, weights.sum(), weights @ f
        alone = (self.q - self.r2) * cells * squares.sum()
        alone += (self.p - self.q - 2 * (self.r1 - self.r2)) * (squares @ f)
        pairs = self.r2 * cells**2 * total**2 + 2 * (self.r1 - self.r2) * cells * held * total
        mean = self.q * cells * total + (self.p - self.q) * held
        return float((alone + pairs - mean**2) / self.gain - (squares @ f - held**2))

    def lumped_noise(self, cells: int) -> tuple[float, float]:
        """Return the noise variance of the sum over a group of values if none is held, and if one is held."""
        rest = cells - 1
        absent = cells * self.q + cells * rest * self.r2 - (cells * self.q) ** 2
        squares = self.p + rest * self.q + 2 * rest * self.r1 + rest * (rest - 1) * self.r2
        return absent / self.gain, (squares - (self.p + rest * self.q) ** 2) / self.gain


@lru_cache(maxsize=1 << 12)
def subset_law(oracle: SubsetSelection) -> SubsetLaw:
    """Return the second moments of an oracle's reports, from its implemented probabilities."""
    (p, q), (r1, r2) = oracle.support_probabilities, oracle.support_law.both()
    return SubsetLaw(float(p), float(q), float(r1), float(r2))


def subset_reports(oracle: SubsetSelection) -> ReportLaw:
    """Return the function for one report's contribution to a weighted sum over all values."""
    law = subset_law(oracle)
    pairs = law.r1 - law.p * law.q, law.r2 - law.q**2
    return support_reports(law.p, law.q, *pairs, oracle.support_law.sizes, oracle.k)


def _lumped_report(law: ReportLaw, cells: int, weights: Floats) -> Added:
    """Return one report's contribution to a weighted sum over groups of `cells` values each."""
    added = law(np.repeat(weights, cells))
    return added._replace(logs=lambda rates: added.logs(rates)[:, ::cells])


@dataclass(frozen=True, eq=False)
class Reported:
    """Actual or expected reports about one part.

    Parameters
    ----------
    part : Part
        Part that the reports are about.
    n : float
        Number of reports about the part.
    frequencies : float64, shape `part.sizes`
        Unbiased frequencies, or NaN if there are no reports.
    estimate : Estimate, optional
        Estimate of the same frequencies with their noise, which the part's oracle made from the reports.
    """

    part: Part
    n: float
    frequencies: Floats
    estimate: Estimate | None = None

    @classmethod
    def of(cls, part: Part, n: int, counts: NDArray[Any]) -> Reported:
        """Return the reported frequencies of a part with n reports, from the state of its oracle."""
        if n == 0:
            return cls(part, 0, np.full(part.sizes, np.nan))
        estimate = part.oracle.estimate(Aggregate(part.oracle, counts, n))
        return cls(part, n, estimate.frequencies.reshape(part.sizes), estimate)

    @cached_property
    def plugged(self) -> Floats:
        """Nearest probability distribution, at which variances are computed."""
        return nearest_distribution(self.frequencies.ravel()).reshape(self.part.sizes)

    def margin(self, attribute: int) -> Margin:
        """Return the margin of one of the part's attributes; the part must have reports."""
        return self.part.margin(self.frequencies, self.estimate, self.part.attributes.index(attribute))

    def margin_covariance(self, attribute: int) -> Floats:
        """Return the covariance of that margin, from noise and sampling of its n reports."""
        return self.part.margin_covariance(self.plugged, self.part.attributes.index(attribute)) / self.n

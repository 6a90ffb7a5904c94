"""Fake reports of RS+FD and RS+RFD for the attributes that were not sampled, and the resulting probabilities.

A ``"uniform"`` fake (over GRR) is a uniform code. A ``"zero"`` fake (over OUE) is the all-zero vector with every bit
randomised. A ``"random"`` fake (over OUE) is a uniform value through the oracle. A uniform value through GRR is a
uniform code. A fake from a prior (over GRR) is a code drawn from a public distribution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import kernel
from deniable.core.randomness import Randomness, SimulationRandomness
from deniable.oracles.bits import Bits
from deniable.records.layout import BitLayout, CodeLayout, Oracle, independent, row_blocks, set_all, set_sampled
from deniable.records.sampled_attribute import SAMPLED_ROWS, overwrite_sampled, sample_attributes
from deniable.records.uniform_draws import uniform_rows

Evidence = tuple[tuple[Fraction, Fraction], ...]
"""Terms that every choice adds to the numerator and to the denominator of a quotient of sums."""


def largest_quotient_of_sums(parts: Sequence[Evidence]) -> Fraction:
    """Return the exact largest quotient of two sums with one choice per part, by Dinkelbach's iteration."""
    ratio = Fraction(0)
    while True:
        chosen = [max(part, key=lambda pair: pair[0] - ratio * pair[1]) for part in parts]
        found = Fraction(sum(high for high, _ in chosen)) / sum(low for _, low in chosen)
        if found == ratio:
            return found
        ratio = found


def sampled(truths: Sequence[NDArray[Any]], fakes: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the channel that reports one uniformly sampled attribute and fakes of the others.

    Parameters
    ----------
    truths : sequence of Fraction[k_j, outputs_j]
        Channel of each attribute when sampled.
    fakes : sequence of Fraction[outputs_j]
        Distribution of each attribute's fake report.
    """
    d = len(truths)
    repeated = [np.tile(fake, (len(truth), 1)) for truth, fake in zip(truths, fakes, strict=True)]
    mixture = reduce(np.add, (independent([*repeated[:j], truths[j], *repeated[j + 1 :]]) for j in range(d)))
    result: NDArray[Any] = mixture * Fraction(1, d)
    return result


@dataclass(frozen=True)
class Fake(ABC):
    """Fake reports of one attribute.

    Parameters
    ----------
    oracle : GRR or OUE
        Oracle that the attribute goes through when it is sampled.
    support : Fraction or tuple of Fraction
        Probability that a fake supports a value, or a tuple with one probability per value if values differ.
    evidence : tuple of (Fraction, Fraction)
        Pairs of the ratio P(report | held value)/P(report as a fake), for every report that may be extreme. The first
        entry is for the value that makes the report likeliest, and the second for the value that makes it least likely.
    least : Fraction
        Smallest such ratio of any report.
    """

    oracle: Oracle
    support: Any
    evidence: Evidence
    least: Fraction

    of_values: ClassVar[bool] = True
    """True if a fake is the report that some value would have."""

    @property
    def shows(self) -> bool:
        """Return whether some reports are never fakes."""
        return isinstance(self.support, tuple) and 0 in self.support

    def mixed(self, true: Fraction, d: int) -> Any:
        """Return (true + (d-1) s)/d, where s is the support, or a tuple if values differ."""
        if isinstance(self.support, tuple):
            return tuple((true + (d - 1) * s) / d for s in self.support)
        return (true + (d - 1) * self.support) / d

    @property
    @abstractmethod
    def both(self) -> Fraction:
        """Probability that a fake supports two given values."""

    @property
    @abstractmethod
    def law(self) -> NDArray[Any]:
        """Probability of every output of the oracle as a fake, Fraction[outputs]."""

    @abstractmethod
    def probabilities(self, reports: Any) -> NDArray[np.float64]:
        """Return the probability of each of n reports of the oracle as a fake, float64[n]."""

    @abstractmethod
    def simulate(self, held: NDArray[np.int64], fakes: int, rng: SimulationRandomness) -> NDArray[np.int64]:
        """Return random support counts, exact in distribution, of contributors' sampled answers and of fakes."""


@final
class PriorFake(Fake):
    """Fakes over GRR that are codes drawn from the distribution `support`."""

    both = Fraction(0)

    @property
    def law(self) -> NDArray[Any]:
        return np.array(self.support, dtype=object)

    def probabilities(self, reports: Any) -> NDArray[np.float64]:
        chances: NDArray[np.float64] = np.array(self.support, dtype=np.float64)[reports]
        return chances

    def simulate(self, held: NDArray[np.int64], fakes: int, rng: SimulationRandomness) -> NDArray[np.int64]:
        weights = np.array(self.support, dtype=np.float64)
        drawn = rng.generator.multinomial(fakes, weights / weights.sum())
        return self.oracle.simulate_aggregate(held, rng).counts + drawn


@final
class RandomFake(Fake):
    """Fakes that are uniform values through the oracle, which over GRR are uniform codes."""

    @property
    def both(self) -> Fraction:
        own, other = self.oracle.support_law.both()
        return other + (own - other) * Fraction(2, self.oracle.k)

    @property
    def law(self) -> NDArray[Any]:
        law: NDArray[Any] = self.oracle.channel(exact=True).sum(axis=0) * Fraction(1, self.oracle.k)
        return law

    def probabilities(self, reports: Any) -> NDArray[np.float64]:
        means: NDArray[np.float64] = self.oracle.likelihood(reports).probabilities.mean(axis=1)
        return means

    def simulate(self, held: NDArray[np.int64], fakes: int, rng: SimulationRandomness) -> NDArray[np.int64]:
        values = rng.generator.multinomial(fakes, np.full(self.oracle.k, 1 / self.oracle.k))
        return self.oracle.simulate_aggregate(held + values, rng).counts


@final
class ZeroFake(Fake):
    """Fakes over OUE that are all-zero vectors with every bit randomised."""

    of_values = False

    @property
    def both(self) -> Fraction:
        q = self.oracle.support_probabilities[1]
        return q * q

    @property
    def law(self) -> NDArray[Any]:
        k, q = self.oracle.k, self.support
        ones = np.unpackbits(self.oracle.outputs().astype(np.uint8), axis=1).sum(axis=1)
        return np.array([q ** int(t) * (1 - q) ** (k - int(t)) for t in ones], dtype=object)

    def probabilities(self, reports: Any) -> NDArray[np.float64]:
        k, q = self.oracle.k, float(self.support)
        ones = self.oracle.supports(reports, np.arange(k)).sum(axis=1)
        chances: NDArray[np.float64] = q**ones * (1 - q) ** (k - ones)
        return chances

    def simulate(self, held: NDArray[np.int64], fakes: int, rng: SimulationRandomness) -> NDArray[np.int64]:
        p, q = map(float, self.oracle.support_probabilities)
        others = held.sum() + fakes - held
        counts: NDArray[np.int64] = rng.generator.binomial(held, p) + rng.generator.binomial(others, q)
        return counts


def prior_fake(oracle: Oracle, prior: tuple[Fraction, ...]) -> Fake:
    """Return fakes that follow a prior; a report says most about the rarest value and least about the commonest."""
    (p, q), rare, common = oracle.support_probabilities, min(pi for pi in prior if pi), max(prior)
    return PriorFake(oracle, prior, ((p / rare, q / rare), (p / common, q / common)), q / common)


def uniform_code(oracle: Oracle) -> Fake:
    """Return uniform codes as fakes."""
    (p, q), k = oracle.support_probabilities, oracle.k
    return RandomFake(oracle, Fraction(1, k), ((k * p, k * q),), k * q)


def zero_vector(oracle: Oracle) -> Fake:
    """Return randomised all-zero vectors as fakes; all bits except the bit of the held value cancel."""
    p, q = oracle.support_probabilities
    low = (1 - p) / (1 - q)
    return ZeroFake(oracle, q, ((p / q, low),), low)


def random_vector(oracle: Oracle) -> Fake:
    """Return randomised vectors of uniform values as fakes.

    A report with t bits set is (t high + (k-t) low)/k times as likely as for a zero vector. The held bit says most if
    it alone is set, and least if it alone is clear.
    """
    (p, q), k = oracle.support_probabilities, oracle.k
    high, low = p / q, (1 - p) / (1 - q)
    alone = k / (high + (k - 1) * low)
    return RandomFake(oracle, q + (p - q) / k, ((high * alone, low * alone),), low * k / ((k - 1) * high + low))


# ---------------------------------------------------------------- draws


def uniform_codes(layout: CodeLayout, codes: Codes, rng: Randomness) -> NDArray[Any]:
    """Return rows of uniform codes in which the report of one sampled attribute replaces one code."""
    return codes_among(layout, codes, rng, partial(uniform_rows, rng, layout.sizes))


def codes_among(
    layout: CodeLayout, codes: Codes, rng: Randomness, fill: Callable[[NDArray[Any]], None]
) -> NDArray[Any]:
    """Return rows of codes that `fill` writes, in which the report of one sampled attribute replaces one code."""
    reports = layout.empty(len(codes))
    for rows in row_blocks(len(codes), SAMPLED_ROWS):
        fill(reports[rows])
        overwrite_sampled(layout.oracles, codes[rows], rng, reports[rows])
    return reports


def zero_bits(layout: BitLayout, codes: Codes, rng: Randomness) -> Bits:
    """Return rows of randomised bits, where only the bit of one sampled attribute's answer was set before."""

    def fill(codes: Codes, attributes: Codes, bits: Bits) -> None:
        set_sampled(codes, attributes, layout.starts, bits)

    return _filled(layout, codes, rng, fill)


def random_bits(layout: BitLayout, codes: Codes, rng: Randomness) -> Bits:
    """Return rows of randomised bits of a uniform value per attribute, but of the true value for the sampled one."""

    def fill(codes: Codes, attributes: Codes, bits: Bits) -> None:
        values = np.empty(codes.shape, dtype=np.uint32)
        uniform_rows(rng, layout.sizes, values)
        _keep_sampled(codes, attributes, values)
        set_all(values, layout.starts, bits)

    return _filled(layout, codes, rng, fill)


def _filled(layout: BitLayout, codes: Codes, rng: Randomness, fill: Callable[[Codes, Codes, Bits], None]) -> Bits:
    reports = layout.empty(len(codes))
    for rows in row_blocks(len(codes), layout.block_rows):
        bits = np.zeros(reports[rows].shape, dtype=np.uint8)
        fill(codes[rows], sample_attributes(rng, len(bits), len(layout.sizes)), bits)
        reports[rows] = layout.randomize_bits(bits, rng)
    return reports


@kernel
def _keep_sampled(codes: Codes, attributes: Codes, values: NDArray[np.uint32]) -> None:
    # This puts the sampled code of each row in the place of its fake value.
    for i in range(codes.shape[0]):
        j = np.int64(attributes[i])
        values[i, j] = codes[i, j]


class Kind(NamedTuple):
    """One kind of fakes: the distribution for one attribute, and the function that draws all fakes."""

    law: Callable[[Any], Fake]
    randomize: Callable[[Any, Codes, Randomness], NDArray[Any]]


FAKES = {
    "GRR": {"uniform": Kind(uniform_code, uniform_codes)},
    "OUE": {"zero": Kind(zero_vector, zero_bits), "random": Kind(random_vector, random_bits)},
}
"""Kinds of fakes over each oracle, the default first."""

"""Apple's Hadamard count-mean sketch (HCMS) as published, including its bias, with a public row and one bit per report.

The mechanism is from Differential Privacy Team, Apple, *Learning with privacy at scale* (2017), algorithms 5 and 6.
Pan, *Improving Count-Mean Sketch as the Leading Locally Differentially Private Frequency Estimator for Large
Dictionaries*, section 4.5, describes the mechanism as a count-mean sketch whose cells are reported by Hadamard encoding
("CMS+HE").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import Codes
from deniable.core.privacy import Guarantee
from deniable.errors import InvalidParameterError
from deniable.oracles.sketch.families._walsh import walsh_rows
from deniable.research.baselines.fixed_sketch import FixedSketch
from deniable.research.baselines.public_rows import SignedRows, parity


@final
@dataclass(frozen=True)
class AppleHCMS(FixedSketch[Codes], SignedRows):
    """Apple's Hadamard count-mean sketch reports a hash function, a row of a Hadamard matrix, and one noisy bit.

    The device draws a hash function h_j from a fixed list. The function maps the true code x to one of m cells. The
    device also draws a row of the m x m Hadamard matrix. One bit says whether entry (row, h_j(x)) of the matrix is -1.
    The device reports this bit with probability e^epsilon/(e^epsilon + 1), and the opposite bit otherwise. To find an
    entry of the matrix, write the numbers of the row and of the cell in binary and count the places where both numbers
    have a 1. The entry is -1 if this count is odd.

    For a given hash function and row, every value v has a bit, which says whether entry (row, h_j(v)) is -1. Two values
    in the same cell always have the same bit, and two values in different cells have the same bit in half of the rows.
    With uniform hash functions, two values are in the same cell with probability 1/m. So they have the same bit with
    probability c = (m + 1)/(2m).

    The mechanism is **biased**, because the hash functions are the same in every collection. Its bias is as large as
    the bias of `AppleCMS`. Take a value, and let C be the number of reports whose bit equals the bit of this value. The
    estimate of the value's frequency is then m/(m-1) ((e^epsilon + 1)/(e^epsilon - 1) (2C/n - 1) - 1/m).

    The method `variance` computes equation (10) of Pan's paper, which is named under *Source*. It uses the collision
    probability c, and the probabilities of randomised response over 2 cells, because the reported bit has two values.
    Erratum: section 4.5 of the paper describes the mechanism as a sketch with m' = 2m/(m + 1) cells. The variance of
    that sketch differs from the variance of `AppleHCMS`. For example, the difference is 7% at epsilon = 1 and m = 16.
    The two variances agree only as m goes to infinity.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^31 - 1.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. A float is read as the decimal that Python prints for it, so 0.1 is
        read as 1/10.
    m : int
        Number of cells m, a power of two, at least 2.
    hashes : int
        Number of hash functions. The collector keeps m counters for each function, at most 2^31 counters for all
        functions.
    seed : int
        Public seed of the hash functions, an integer from 0 to 2^64 - 1.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable.research.baselines.apple_hadamard import AppleHCMS
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> sketch = AppleHCMS(k=100, epsilon=4.0, m=16, hashes=8)
    >>> reports = sketch.randomize(np.array([3, 3, 99]), SimulationRandomness(1))
    >>> reports.dtype, sketch.report_bits
    (dtype('uint8'), 8.0)
    >>> sketch.estimate(sketch.aggregate(reports)).processing
    ('Apple HCMS (biased: collisions are fixed)',)
    """

    m: int = 1024
    hashes: int = 1024
    seed: int = 0

    name = "AppleHCMS"
    published = "Apple HCMS"
    card = Card(
        group="baselines",
        when="only for comparison; it is biased, because its hash functions are the same in every collection",
        planned=False,
        instead="the mechanism is only for comparison; use CMS[spread] instead, which is the count-mean sketch with "
        'the hash family "spread"',
        decoding="transform",
        wire="one integer that holds a hash function, a row and a bit",
        page="theory/sketches.md",
    )

    def __post_init__(self) -> None:
        self._check_parameters()
        if self.m & (self.m - 1):
            raise InvalidParameterError(f"m must be a power of two, got m={self.m}")

    def _cell(self, codes: Codes, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the bit of each code, where row = m * index of the hash function + row of the Hadamard matrix."""
        shift = self.m.bit_length() - 1
        return parity(rows & (self.m - 1) & self.functions.cells(codes, rows >> shift))

    # ---------------------------------------------------------------- analyst

    def support_counts(self, aggregate: Aggregate) -> NDArray[np.int64]:
        """Analyst: return the number of reports with the true bit of each value, int64[k].

        This takes O(hashes (k + m log m)) time.
        """
        self.check(aggregate)
        sums = aggregate.counts.copy()
        walsh_rows(sums, self.m)
        twice = aggregate.n + self.functions.gather(sums.reshape(self.hashes, self.m))
        return twice // 2

    # ---------------------------------------------------------------- guarantee and exact distribution

    @property
    def collision_probability(self) -> Fraction:
        """Probability (m + 1)/(2m), assumed by the estimator, that two values have the same bit."""
        return Fraction(self.m + 1, 2 * self.m)

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Probabilities (p1, p0) that the estimator uses: p, and c p + (1 - c) q where c = `collision_probability`."""
        p, q = self.response.support_probabilities
        return p, self.collision_probability * (p - q) + q

    def privacy(self) -> Guarantee:
        return self._local_guarantee(
            "the hash function and the row in a report are public and independent of the answer"
        )

    @property
    def rows(self) -> int:
        """Number of rows: one for each row of every hash function's Hadamard matrix."""
        return self.hashes * self.m

    @property
    def report_bits(self) -> float:
        """Number of bits per report, log2 hashes + log2 m + 1.

        The functions themselves are published once, as a seed.
        """
        return math.log2(self.state_size) + 1

"""Hadamard encoding (HE), or Hadamard response, which reports one noisy bit of a random row of a Hadamard matrix.

The mechanism is from Bassily, Smith, *Local, private, efficient protocols for succinct histograms* (2015), and from
Acharya, Sun, *Communication complexity in locally private distribution estimation and heavy hitters* (2019). Pan,
*Improving Count-Mean Sketch as the Leading Locally Differentially Private Frequency Estimator for Large Dictionaries*,
section 4.1 and appendix J, describes Hadamard encoding as the count-mean sketch with m = 2 cells. The hash functions of
this sketch are the rows of the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from deniable.core.card import Card
from deniable.core.checks import Codes, checked_integer, settle
from deniable.core.privacy import Guarantee
from deniable.core.thresholds import checked_epsilon
from deniable.oracles.pure import PureOracle
from deniable.oracles.sketch.families._walsh import walsh_hadamard
from deniable.research.baselines.public_rows import SignedRows, parity

MAX_HADAMARD_DOMAIN = 1 << 30
"""Largest k, so that a report fits 32 bits."""


@final
@dataclass(frozen=True)
class HadamardEncoding(SignedRows, PureOracle[Codes]):
    """Hadamard encoding reports a random row of a Hadamard matrix and one noisy bit.

    The matrix has K rows and K columns, where K = 2^ceil(log2(k + 1)). The device draws a row r uniformly from 0..K-1.
    For the true code x, one bit says whether entry (r, x + 1) of the matrix is -1. To find the entry, write r and x + 1
    in binary and count the places where both have a 1. The entry is -1 if this count is odd. The device reports this
    bit with probability e^epsilon/(e^epsilon + 1), and the opposite bit otherwise. Column 0 holds only ones and belongs
    to no code.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^30. The collector keeps K counters.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. A float is read as the decimal that Python prints for it, so 0.1 is
        read as 1/10.

    Raises
    ------
    InvalidParameterError
        If k or epsilon is out of bounds.

    Examples
    --------
    >>> from deniable.research.baselines.hadamard import HadamardEncoding
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> encoding = HadamardEncoding(k=1000, epsilon=1.0)
    >>> reports = encoding.randomize(np.array([0, 999, 17]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape, encoding.report_bits
    (dtype('uint16'), (3,), 11.0)
    >>> encoding.estimate(encoding.aggregate(reports)).k
    1000
    """

    support_law = None
    name = "HE"
    card = Card(
        group="baselines",
        when="only for comparison; its variance stays above 1/n even at a very large epsilon",
        aliases=("Hadamard encoding",),
        planned=False,
        instead="the mechanism is only for comparison; use CMS[spread] instead, which is the count-mean sketch with "
        'the hash family "spread"',
        decoding="transform",
        wire="one integer that holds a row and a bit",
        page="theory/sketches.md",
    )

    def __post_init__(self) -> None:
        settle(self, k=checked_integer("k", self.k, 2, MAX_HADAMARD_DOMAIN), epsilon=checked_epsilon(self.epsilon))

    @property
    def rows(self) -> int:
        """Size K of the Hadamard matrix, which is the smallest power of two above k."""
        return 1 << self.k.bit_length()

    def _cell(self, codes: Codes, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the bit of each code in its row, which is 0 if entry (row, code + 1) of the Hadamard matrix is +1."""
        return parity(rows & (codes.astype(np.int64) + 1))

    def _support(self, counts: NDArray[np.int64], n: int, codes: Codes | None) -> NDArray[np.int64]:
        # Reports that agree with v minus those that do not are the Walsh-Hadamard transform of the sums at v + 1.
        sums = counts.copy()
        walsh_hadamard(sums)
        twice = n + sums[1 : self.k + 1]
        return twice // 2 if codes is None else twice[codes] // 2

    # ---------------------------------------------------------------- guarantee and exact distribution

    @property
    def collision_probability(self) -> Fraction:
        """Probability that v and v' have the same bit in a random row, exactly 1/2 for every v != v'."""
        return Fraction(1, 2)

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p1, p0): the probability that a report has v's bit if the contributor holds v, and if not."""
        p, q = self.response.support_probabilities
        return p, (p + q) / 2

    def privacy(self) -> Guarantee:
        return self._local_guarantee("the row in a report is public and independent of the answer")

    @property
    def report_bits(self) -> float:
        """Number of bits per report, log2 K + 1."""
        return float(self.rows.bit_length())

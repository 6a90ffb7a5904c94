"""Apple's private count-mean sketch (`AppleCMS`) as published, including its bias.

The mechanism is from Differential Privacy Team, Apple, *Learning with privacy at scale* (2017), algorithms 1 to 4. The
library includes `AppleCMS` to show its bias. The bias is described by Pan, *Improving Count-Mean Sketch as the Leading
Locally Differentially Private Frequency Estimator for Large Dictionaries*, section 3.7. To collect data, use
`CountMeanSketch`. It is unbiased, and for rare values it has less variance than `AppleCMS`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import Codes, checked_report_codes, code_dtype
from deniable.core.kernels import kernel
from deniable.core.mechanism import ReportField
from deniable.core.privacy import Guarantee
from deniable.core.randomness import BLOCK_WORDS, Randomness, SimulationRandomness, uniform_below
from deniable.core.state import Counts, counts_between, refuse
from deniable.errors import InvalidReportError
from deniable.oracles.bits import Bits, check_bit_outputs, check_padding, checked_bits, packed_width
from deniable.oracles.oracle import holders_in_blocks
from deniable.oracles.unary import SUE
from deniable.research.baselines.fixed_sketch import FixedSketch
from deniable.research.baselines.public_rows import add_reports


class IndexedBits(NamedTuple):
    """Batch of n reports of `AppleCMS`.

    Parameters
    ----------
    hash_index : uint8[n], uint16[n] or uint32[n]
        Index of the hash function, in 0..hashes-1.
    bits : uint8[n, ceil(m/8)]
        Noisy one-hot encoding of the cell, packed. Cell c is bit c % 8 of byte c // 8, and padding is zero.
    """

    hash_index: NDArray[Any]
    bits: Bits


@final
@dataclass(frozen=True)
class AppleCMS(FixedSketch[IndexedBits]):
    """Apple's count-mean sketch reports a hash function from a fixed list, and the hashed answer as noisy bits.

    The device draws a hash function h_j from the list. The function maps the true code x to one of m cells. The device
    writes the cell h_j(x) as m bits: the bit of this cell is 1, and all others are 0. The device flips each bit with
    probability 1/(e^(epsilon/2) + 1).

    The mechanism is **biased**, because the hash functions are the same in every collection. Two values *collide* under
    a hash function if the function maps both values to the same cell. On average, two values collide under 1/m of the
    hash functions. But the list is fixed, so some pairs of values collide under a larger share of its functions, in
    every collection. The estimates of the values of these pairs do not converge to the truth. The method
    `conditional_bias` returns the bias for given true frequencies. The estimate has neither standard errors nor
    intervals.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^31 - 1.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. A float is read as the decimal that Python prints for it, so 0.1 is
        read as 1/10.
    m : int
        Number of cells m, at least 2. A report has m bits.
    hashes : int
        Number of hash functions. The collector keeps m counters for each function, at most 2^31 counters for all
        functions. Apple's deployments used 65,536 functions with 1,024 cells each.
    seed : int
        Public seed of the hash functions, an integer from 0 to 2^64 - 1.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable.research.baselines.apple import AppleCMS
    >>> from deniable import SimulationRandomness
    >>> from deniable.errors import NoIntervalError
    >>> import numpy as np
    >>> sketch = AppleCMS(k=100, epsilon=4.0, m=16, hashes=8)
    >>> reports = sketch.randomize(np.array([3, 3, 99]), SimulationRandomness(1))
    >>> reports.hash_index.dtype, reports.bits.shape
    (dtype('uint8'), (3, 2))
    >>> estimate = sketch.estimate(sketch.aggregate(reports))
    >>> try:
    ...     estimate.interval(0.95)
    ... except NoIntervalError as error:
    ...     print(error)
    no valid interval is known after the step “Apple CMS (biased: collisions are fixed)”
    >>> truth = np.eye(100)[3]  # everybody holds 3; what an infinite number of contributors would show at 3 and 4
    >>> (truth + sketch.conditional_bias(truth))[3:5].round(3)
    array([ 1.   , -0.067])
    """

    k: int
    epsilon: float | Fraction
    m: int = 1024
    hashes: int = 1024
    seed: int = 0

    report_type = IndexedBits
    name = "AppleCMS"
    published = "Apple CMS"
    card = Card(
        group="baselines",
        when="only for comparison; it is biased, because its hash functions are the same in every collection",
        planned=False,
        instead="the mechanism is only for comparison; use CMS[spread] instead, which is the count-mean sketch with "
        'the hash family "spread"',
        wire="a hash function and m bits",
        page="theory/sketches.md",
    )

    def __post_init__(self) -> None:
        self._check_parameters()

    @cached_property
    def response(self) -> SUE:
        """Symmetric unary encoding over m values, through which a cell is reported."""
        return SUE(self.m, self.epsilon)

    # ---------------------------------------------------------------- contributor

    def _randomize(self, codes: Codes, rng: Randomness) -> IndexedBits:
        index = uniform_below(rng, self.hashes, len(codes))
        bits = self.response.randomize(self.functions.cells(codes, index), rng)
        return IndexedBits(index.astype(code_dtype(self.hashes)), bits)

    # ---------------------------------------------------------------- collector

    def _checked(self, reports: Any) -> IndexedBits:
        if not isinstance(reports, tuple) or len(reports) != len(IndexedBits._fields):
            raise InvalidReportError(
                f"reports must be IndexedBits(hash_index, bits), got an object of the type {type(reports).__name__}"
            )
        index, bits = checked_report_codes(reports[0], self.hashes, "hash_index"), checked_bits(reports[1], self.m)
        check_padding(bits, self.m)
        if len(index) != len(bits):
            raise InvalidReportError(
                f"hash_index and bits must have the same length, got the lengths {len(index)} and {len(bits)}"
            )
        return IndexedBits(index, bits)

    def _tally(self, reports: Any) -> tuple[NDArray[np.int64], int]:
        index, bits = self._checked(reports)
        counts = np.zeros((self.hashes, self.m), dtype=np.int64)
        _add_bits(bits, index, counts)
        return counts.ravel(), len(index)

    def supports(self, reports: Any, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return the values whose cell has its bit set, bool[n, len(values)]."""
        index, bits = self._checked(reports)
        wide = np.repeat(index.astype(np.int64), len(values))
        cells = (
            self.functions.cells(np.tile(values, len(index)), wide).reshape(len(index), len(values)).astype(np.int64)
        )
        rows = np.arange(len(index))[:, None]
        matrix: NDArray[np.bool_] = (bits[rows, cells >> 3] >> (cells & 7).astype(np.uint8) & 1).astype(np.bool_)
        return matrix

    # ---------------------------------------------------------------- analyst

    def support_counts(self, aggregate: Aggregate) -> NDArray[np.int64]:
        """Analyst: return the number of reports in which the bit of each value's cell is set, int64[k].

        This takes O(hashes k) time.
        """
        self.check(aggregate)
        return self.functions.gather(aggregate.counts.reshape(self.hashes, self.m))

    # ---------------------------------------------------------------- guarantee and exact distribution

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Probabilities (p1, p0) that the estimator uses: p1 = p and p0 = p/m + (1 - 1/m) q.

        This p0 is as if values collided with probability 1/m.
        """
        p, q = self.response.support_probabilities
        return p, (p - q) / self.m + q

    def privacy(self) -> Guarantee:
        return self._local_guarantee("the hash function in a report is public and independent of the answer")

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio (p/q)^2 of the implemented thresholds, exact if some function separates values.

        A list of functions that all map every value to one cell tells nothing, and its ratio is 1.
        """
        return self.response.implemented_ratio()

    def outputs(self) -> IndexedBits:
        """Return every possible report once, in the order of the columns of `channel`, where the bits vary fastest."""
        bits = self._cell_outputs()
        index = np.repeat(np.arange(self.hashes, dtype=code_dtype(self.hashes)), len(bits))
        return IndexedBits(index, np.tile(bits, (self.hashes, 1)))

    def _channel(self) -> NDArray[Any]:
        self._cell_outputs()
        cells = self.response.channel(exact=True) / self.hashes
        return np.concatenate([cells[self.functions.of_all(j)] for j in range(self.hashes)], axis=1)

    def _cell_outputs(self) -> Bits:
        check_bit_outputs(self.m, repr(self))
        self._check_channel(self.k, self.hashes << self.m)
        return self.response.outputs()

    # ---------------------------------------------------------------- simulation and files

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # The number of contributors in each cell of each function is drawn first. Then bits are independent, so each
        # cell needs two binomials. The time is O(min(n, k hashes) + hashes m).
        cells = np.zeros((self.hashes, self.m), dtype=np.int64)
        many = counts > self.hashes
        every = np.arange(self.hashes)
        for x in np.flatnonzero(many):
            spread = rng.generator.multinomial(counts[x], np.full(self.hashes, 1 / self.hashes))
            cells[every, self.functions.cells(np.full(self.hashes, x), every)] += spread
        for codes in holders_in_blocks(np.where(many, 0, counts), BLOCK_WORDS):
            index = rng.generator.integers(self.hashes, size=len(codes))
            add_reports(index * self.m + self.functions.cells(codes, index), cells.reshape(-1))
        p, q = map(float, self.response.support_probabilities)
        others = cells.sum(axis=1, keepdims=True) - cells
        drawn = rng.generator.binomial(cells, p) + rng.generator.binomial(others, q)
        flat: NDArray[np.int64] = drawn.ravel()
        return flat

    @property
    def state_size(self) -> int:
        """Number of counters: one per cell of every hash function."""
        return self.hashes * self.m

    def check_state(self, counts: Counts, n: int) -> None:
        counts_between(counts, 0, n)
        reporters = int(counts.reshape(self.hashes, self.m).max(axis=1).sum())
        if reporters > n:
            refuse(f"every report has one hash function: the largest counts of all must sum to <= {n}, got {reporters}")

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        return (
            ReportField("hash_index", code_dtype(self.hashes).name),
            ReportField("bits", "uint8", packed_width(self.m)),
        )

    @property
    def report_bits(self) -> float:
        """Number of bits per report, log2 hashes + m; the functions themselves are published once, as a seed."""
        return math.log2(self.hashes) + self.m


@kernel
def _add_bits(bits: Bits, index: NDArray[np.integer[Any]], counts: NDArray[np.int64]) -> None:
    """Add bit c of every row to counts[index, c]."""
    m = counts.shape[1]
    for i in range(bits.shape[0]):
        row, counters = bits[i], counts[index[i]]
        for c in range(m):
            counters[c] += (row[c >> 3] >> (c & 7)) & 1

"""Subset selection: report a set of values that is likely to contain the true one.

The mechanism is from Wang, Huang, Wang, Nie, Xu, Yang, Li, Qiao, *Mutual information optimally local private discrete
distribution estimation* (2016), and from Ye, Barg, *Optimal schemes for discrete distribution estimation under locally
differential privacy* (2018). The papers call it optimal for medium epsilon (the "medium privacy regime"). Its error is
never larger than the error of GRR, because GRR is subset selection with sets of size one.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.card import Card
from deniable.core.checks import (
    Codes,
    checked_domain,
    checked_integer,
    checked_report_records,
    code_dtype,
    integer_array,
    settle,
)
from deniable.core.kernels import kernel, worth_compiling
from deniable.core.mechanism import MAX_CHANNEL_CELLS, ChecksRows, ReportField
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness, SimulationRandomness
from deniable.core.state import Counts, counts_between, counts_sum_to
from deniable.core.thresholds import SCALE, EpsilonLike, checked_epsilon, exp_bounds, spent, threshold_down
from deniable.errors import InvalidReportError
from deniable.oracles.pure import CountingOracle
from deniable.oracles.subset_bulk import fill_many
from deniable.oracles.subset_draws import count_subsets, draw_subsets
from deniable.oracles.support import FixedSize


def best_subset_size(k: int, epsilon: EpsilonLike) -> int:
    """Return the omega in 1..k-1 with the least variance at frequency 0, floor or ceiling of k/(e^epsilon + 1)."""
    odds, _ = exp_bounds(spent(epsilon))
    middle = k / (odds + 1)
    candidates = {min(max(1, omega), k - 1) for omega in (math.floor(middle), math.ceil(middle))}
    return min(sorted(candidates), key=lambda omega: _noise_absent(k, omega, omega * odds / (omega * odds + k - omega)))


_SUMMED = 1 << 20
"""Longest sets whose bits are summed up element by element."""


@final
@dataclass(frozen=True)
class SubsetSelection(CountingOracle[Codes], ChecksRows):
    """Subset selection reports a set of codes that is likely to contain the true code.

    The size of the set is omega. The set contains the true code with probability p = omega e^epsilon/(omega e^epsilon +
    k - omega). All other members of the set are drawn uniformly from the other codes. A report needs log2 C(k, omega)
    bits, where C(k, omega) is the number of sets of omega codes among k codes. This number of bits is at most k. The
    library stores and sends the omega codes themselves, which can take more space than the k bits of OUE. For example,
    at epsilon 1 and k = 100, a report of subset selection takes 27 bytes, and a report of OUE takes 13 bytes.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^32.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. A float is read as the decimal that Python prints for it, so 0.1 is
        read as 1/10.
    omega : int, optional
        Size of the reported sets, from 1 to k-1. The default has the least variance at frequency 0. It is one of the
        two integers next to k/(e^epsilon + 1). The object stores the size in `omega`. With omega = 1 the mechanism is
        GRR.

    Raises
    ------
    InvalidParameterError
        If k, epsilon or omega is out of bounds.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.oracles.subset import SubsetSelection
    >>> import numpy as np
    >>> mechanism = SubsetSelection(k=8, epsilon=1.0)
    >>> mechanism.omega
    2
    >>> reports = mechanism.randomize(np.array([0, 1, 7]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape
    (dtype('uint8'), (3, 2))
    >>> mechanism.aggregate(reports).counts.sum()
    np.int64(6)
    """

    k: int
    epsilon: float | Fraction
    omega: int | None = None

    name = "SubsetSelection"
    card = Card(
        group="one attribute",
        when="for a question with more than a few and at most some hundreds of possible answers; its error is never "
        "larger than the error of GRR",
        aliases=("omega-SS", "SS"),
        recommended=True,
        wire="omega codes in increasing order",
    )

    def __post_init__(self) -> None:
        settle(self, k=checked_domain(self.k), epsilon=checked_epsilon(self.epsilon))
        omega = best_subset_size(self.k, self.epsilon) if self.omega is None else self.omega
        settle(self, omega=checked_integer("omega", omega, 1, self.k - 1))

    # ---------------------------------------------------------------- contributor

    def _randomize(self, codes: Codes, rng: Randomness) -> Codes:
        # One 64-bit word decides whether the true value is included. The other elements are a uniform subset of the
        # other values. A device draws them by Floyd's algorithm, with half a word each and with rejection of biased
        # draws.
        if not worth_compiling(len(codes)):
            subsets = draw_subsets(codes.tolist(), self._inclusion, self.k, self._size, rng)
            return np.array(subsets, dtype=code_dtype(self.k)).reshape(len(codes), self._size)
        reports = np.empty((len(codes), self._size), dtype=code_dtype(self.k))
        fill_many(codes, np.uint64(self._inclusion), self.k, rng, reports)
        return reports

    # ---------------------------------------------------------------- collector

    def _tally(self, reports: ArrayLike) -> tuple[NDArray[np.int64], int]:
        subsets = self._checked_shape(reports)
        counts = np.zeros(self.k, dtype=np.int64)
        wrong = count_subsets(subsets, self.k, counts)
        if wrong >= 0:
            raise InvalidReportError(self._what_is_wrong(subsets[wrong], wrong + 1))
        return counts, len(subsets)

    def _check_rows(self, reports: ArrayLike) -> None:
        subsets = self._checked_shape(reports)
        increasing = (subsets[:, 1:] > subsets[:, :-1]).all(axis=1)
        valid = increasing & (subsets[:, 0] >= 0) & (subsets[:, -1] < self.k)
        if not valid.all():
            row = int(valid.argmin())
            raise InvalidReportError(self._what_is_wrong(subsets[row], row + 1))

    def supports(self, reports: ArrayLike, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        subsets = checked_report_records(self._checked_shape(reports), (self.k,) * self._size)
        found = np.zeros((len(subsets), len(values)), dtype=np.bool_)
        for element in subsets.T:
            found |= element[:, None] == values
        return found

    def _checked_shape(self, reports: ArrayLike) -> Codes:
        array = integer_array(reports, InvalidReportError, "reports")
        if array.size == 0 and not isinstance(reports, np.ndarray):
            array = np.empty((0, self._size), dtype=code_dtype(self.k))
        if array.ndim != 2 or array.shape[1] != self._size:
            raise InvalidReportError(f"reports must have shape (n, {self._size}), got shape={array.shape}")
        return np.ascontiguousarray(array)

    def _what_is_wrong(self, subset: Codes, row: int) -> str:
        values = [int(value) for value in subset]
        for value in values:
            if not 0 <= value < self.k:
                return f"report must be in 0..{self.k - 1}, got report={value} in row {row}"
        before, after = next((a, b) for a, b in itertools.pairwise(values) if b <= a)
        return f"a reported set must be strictly increasing, got {after} after {before} in row {row}"

    @cached_property
    def support_law(self) -> FixedSize:
        """Every report supports omega values."""
        return FixedSize(self.k, self._size, self.support_probabilities[0])

    @property
    def _size(self) -> int:
        assert self.omega is not None
        return self.omega

    @cached_property
    def _inclusion(self) -> int:
        """Threshold, p rounded down, below which a 64-bit word includes the true value."""
        odds, _ = exp_bounds(spent(self.epsilon))
        return threshold_down(self._size * odds / (self._size * odds + self.k - self._size))

    @cached_property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p*, q*): probability that a set contains v if the contributor holds v, and if not."""
        p = Fraction(self._inclusion, SCALE)
        return p, _other_support(self.k, self._size, p)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon against everybody, for one report."""
        return self._local_guarantee()

    def implemented_ratio(self) -> Fraction:
        """Exact largest likelihood ratio of a report, from the implemented threshold."""
        p, _ = self.support_probabilities
        ratio = p * (self.k - self._size) / ((1 - p) * self._size)
        return max(ratio, 1 / ratio)

    def outputs(self) -> Codes:
        """Every possible report once, lexicographically, in the order of the columns of `channel`."""
        self._check_enumerable()
        subsets = list(itertools.combinations(range(self.k), self._size))
        return np.array(subsets, dtype=code_dtype(self.k))

    def _channel(self) -> NDArray[Any]:
        p, _ = self.support_probabilities
        outputs = self.outputs()
        without = (1 - p) / math.comb(self.k - 1, self._size)
        matrix = np.full((self.k, len(outputs)), without, dtype=object)
        for column, subset in enumerate(outputs):
            matrix[subset, column] = p / math.comb(self.k - 1, self._size - 1)
        return matrix

    def _check_enumerable(self) -> None:
        # C(k, omega) >= k, so for large k no huge integer needs to be computed.
        small = self.k * self.k <= MAX_CHANNEL_CELLS
        self._check_channel(self.k, math.comb(self.k, self._size) if small else self.k)

    # ---------------------------------------------------------------- simulation and files

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        state: NDArray[np.int64] = self.simulate_groups(counts[None], rng)[0]
        return state

    def simulate_groups(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        """Draw the states int64[groups, k] of several groups of contributors with true counts int64[groups, k].

        With probability (1-p) k/(k-omega) a contributor reports a uniform set of omega values. Otherwise the set
        contains the true value and omega - 1 uniform other values. `draw_sums` draws the sum of such sets in time O(k
        log k), for any number of sets.
        """
        p, _ = self.support_probabilities
        uniform = rng.generator.binomial(counts, float((1 - p) * self.k / (self.k - self._size)))
        return draw_sums(counts - uniform, uniform.sum(axis=1), self._size, rng.generator)

    def check_state(self, counts: Counts, n: int) -> None:
        counts_between(counts, 0, n)
        counts_sum_to(counts, n * self._size)

    @cached_property
    def report_fields(self) -> tuple[ReportField, ...]:
        """One set of omega codes per report."""
        return (ReportField("subset", code_dtype(self.k).name, self._size),)

    @property
    def report_bits(self) -> float:
        """Bits per report, log2 C(k, omega)."""
        if min(self._size, self.k - self._size) > _SUMMED:
            parts = (self.k + 1, self._size + 1, self.k - self._size + 1)
            whole, chosen, rest = map(math.lgamma, parts)
            return (whole - chosen - rest) / math.log(2)
        shorter = np.arange(min(self._size, self.k - self._size))
        return float(np.log2((self.k - shorter) / (shorter + 1)).sum())


def _other_support(k: int, omega: int, p: Fraction) -> Fraction:
    """Return q* = p (omega-1)/(k-1) + (1-p) omega/(k-1), the probability that a set contains a given other value."""
    return (omega - p) / (k - 1)


def _noise_absent(k: int, omega: int, p: Fraction) -> Fraction:
    """Return the variance q* (1-q*)/(p - q*)^2 of one report at frequency 0."""
    q = _other_support(k, omega, p)
    return q * (1 - q) / (p - q) ** 2


# This part draws how often each value is in many random subsets, without drawing the subsets.
#
# Subsets that have equally many elements in a range of values are exchangeable there. So a histogram of that number is
# all that needs to be known about the range. Ranges are halved again and again. If a uniform subset has r elements in a
# range, their number in the left half is hypergeometric. Given the numbers in both halves, the elements of the halves
# are independent. One multinomial for each r therefore draws the histograms of both halves. Once a range is a single
# value, the subsets with one element there are its count.
#
# Some contributors report their own value for certain, and a uniform subset of the others. They wait in a histogram of
# their own until the range is their value.

Histogram = NDArray[np.int64]

MAX_SUBSETS = 500_000_000
"""Most subsets of a group that are added up at a time. This bounds the table of masses."""


NEGLIGIBLE = 2.0**-100
"""A number of elements is left out if it is less probable than the most probable number by this factor."""


def draw_sums(holders: Histogram, uniform: Histogram, omega: int, generator: np.random.Generator) -> Histogram:
    """Return random counts of how often each of k values occurs in independent random subsets, for several groups.

    The distribution is exact up to the rounding of doubles. Every probability is a ratio of sums of positive terms,
    with a relative error of some 1e-15. The outcomes that `NEGLIGIBLE` leaves out have a mass below 1e-25.

    Parameters
    ----------
    holders : int64[groups, k]
        Number of subsets {x} + (uniform subset of omega - 1 others), for each value x.
    uniform : int64[groups]
        Number of uniform subsets of all k values.
    omega : int
        Size of every subset, 1 <= omega <= k - 1.
    generator : numpy.random.Generator
        Source of the draw.

    Returns
    -------
    int64[groups, k]
        Histogram of each group, whose sum is omega times the number of the group's subsets.

    Notes
    -----
    A range of s values takes some 10 s binomials at most, and at most log2(s) for each subset that has elements there.
    The time is therefore O(k log k) for each group and 500 million of its subsets. Memory is O(groups k).
    """
    parts = 1 + int((holders.sum(axis=1) + uniform).max(initial=0)) // MAX_SUBSETS
    total = holders.copy()
    for part in range(parts):
        own, free = (counts // parts + (part < counts % parts) for counts in (holders, uniform))
        total += _other_values(own, free, omega, generator)
    return total


def _other_values(holders: Histogram, uniform: Histogram, omega: int, generator: np.random.Generator) -> Histogram:
    """Return the counts of `draw_sums` without the holders' own values."""
    groups, k = holders.shape
    before = np.concatenate(([0], np.cumsum(holders)))
    state = np.zeros((groups, 2, omega + 1), dtype=np.int64)
    state[:, 0, omega], state[:, 1, omega - 1] = uniform, holders.sum(axis=1)
    tree = _tree_size(max(omega, int(holders.sum(axis=1).max(initial=0))))
    masses, flows = np.zeros(tree), np.zeros(tree, dtype=np.int64)
    edges = np.array([0, k], dtype=np.int64)
    while len(edges) <= k:
        ranges = 2 * (len(edges) - 1)
        halved = np.arange(ranges + 1) * k // ranges
        width = 1 + min(omega, int(np.diff(halved).max()))
        parts = np.zeros((groups * ranges, 2, width), dtype=np.int64)
        _halve.compiled(state, halved, before, parts, masses, flows, generator)
        edges, state = halved, parts
    single = state.reshape(groups, len(edges) - 1, 2, -1)[:, np.diff(edges) > 0, 0]
    return np.ascontiguousarray(single[..., 1])


def _tree_size(trials: int) -> int:
    """Return the number of nodes that the tree over a hypergeometric number needs for the largest number of trials.

    By Hoeffding's inequality, a number beyond 7 sqrt(trials) from its mean is less probable than `NEGLIGIBLE` allows.
    """
    return 2 << min(trials, 14 * math.isqrt(trials) + 64).bit_length()


@kernel
def _halve(
    state: Histogram,
    edges: Histogram,
    before: Histogram,
    parts: Histogram,
    masses: NDArray[np.float64],
    flows: Histogram,
    generator: np.random.Generator,
) -> None:
    """Draw the histograms of the halves of every range, parts[2 ranges, 2, r], from the histograms of the ranges.

    In state[ranges, 2, r], row 0 counts uniform subsets, and row 1 counts the subsets of holders whose value is in the
    range. Every group has the same ranges. Range i is cut into the parts between edges 2i, 2i + 1 and 2i + 2. before[x]
    is the number of holders of the first x values, with all groups one after the other.
    """
    ranges = (edges.shape[0] - 1) // 2
    k = edges[edges.shape[0] - 1]
    for node in range(state.shape[0]):
        group, place = node // ranges, node % ranges
        first, middle, last = edges[2 * place], edges[2 * place + 1], edges[2 * place + 2]
        to_left = before[group * k + middle] - before[group * k + first]
        unplaced = before[group * k + last] - before[group * k + first]
        for r in range(state.shape[2]):
            held, on_left = state[node, 1, r], np.int64(0)
            # Task 0 draws how many of these holders have their value on the left. Tasks 1 and 2 draw the other elements
            # of both kinds of holders, and task 3 draws uniform subsets.
            for task in range(4):
                count, trials, left, right = state[node, 0, r], np.int64(r), middle - first, last - middle
                if task == 0:
                    unplaced -= held
                    count, trials, left, right = np.int64(held > 0), to_left, held, unplaced
                elif task == 1:
                    count, left = on_left, left - 1
                elif task == 2:
                    count, right = held - on_left, right - 1
                if count == 0:
                    continue
                # Hypergeometric masses are computed from the mode outwards.
                low, high = max(np.int64(0), trials - right), min(trials, left)
                mode = min(max((trials + 1) * (left + 1) // (left + right + 2), low), high)
                start, stop, mass = mode, mode, 1.0
                while start > low and mass > NEGLIGIBLE:
                    mass *= (start * (right - trials + start)) / ((left - start + 1.0) * (trials - start + 1.0))
                    start -= 1
                mass = 1.0
                while stop < high and mass > NEGLIGIBLE:
                    mass *= ((left - stop) * (trials - stop)) / ((stop + 1.0) * (right - trials + stop + 1.0))
                    stop += 1
                leaves = np.int64(1)
                while leaves < stop - start + 1:
                    leaves *= 2
                masses[leaves : 2 * leaves] = 0.0
                own = leaves - start
                masses[own + mode] = 1.0
                for value in range(mode, start, -1):
                    ratio = (value * (right - trials + value)) / ((left - value + 1.0) * (trials - value + 1.0))
                    masses[own + value - 1] = masses[own + value] * ratio
                for value in range(mode, stop):
                    ratio = ((left - value) * (trials - value)) / ((value + 1.0) * (right - trials + value + 1.0))
                    masses[own + value + 1] = masses[own + value] * ratio
                # All subsets go down a tree of binomials, which ends at a number for each of them.
                for i in range(leaves - 1, 0, -1):
                    masses[i] = masses[2 * i] + masses[2 * i + 1]
                flows[1] = count
                for i in range(1, leaves):
                    flows[2 * i] = flows[2 * i + 1] = 0
                    if flows[i] > 0:
                        if masses[2 * i + 1] == 0.0:
                            flows[2 * i] = flows[i]
                        elif masses[2 * i] == 0.0:
                            flows[2 * i + 1] = flows[i]
                        else:
                            flows[2 * i] = generator.binomial(flows[i], masses[2 * i] / masses[i])
                            flows[2 * i + 1] = flows[i] - flows[2 * i]
                for value in range(start, stop + 1):
                    drawn = flows[own + value]
                    if task == 0:
                        on_left += value * drawn
                    elif drawn > 0:
                        parts[2 * node, np.int64(task == 1), value] += drawn
                        parts[2 * node + 1, np.int64(task == 2), trials - value] += drawn
            to_left -= on_left

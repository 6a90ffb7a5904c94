"""The pivot code: one attribute with the whole budget, inside a message that is a full record.

Some clients must send a code for every attribute, as with `SPL` and Corr-RR. Even so, only one of these codes, the code
of the pivot, needs to depend on the person's answers. Corr-RR draws the other codes from this code by a public rule. So
epsilon would be the same if the collector knew the pivot. `PivotCoded` therefore chooses the other codes such that the
collector can tell which attribute is the pivot.

The gain is accuracy. The collector counts only the codes of pivots, so every estimate is unbiased and has the variance
of `SMP` with GRR. The cost is that the pivot is no longer hidden. Local differential privacy does not require that the
pivot is hidden, but a survey may have other reasons to hide it.

The codes of every attribute fall into m groups, where m is the smallest number of possible answers. Groups are
contiguous and of nearly equal size: the code v of an attribute with k possible answers is in group floor(v m/k). The
collector reads a record by one rule. The pivot is the attribute s >= 1 whose code is in the same group as the code of
attribute 0. If there is no such attribute, the pivot is attribute 0. If there are several such attributes, the report
is invalid.

The client first randomises the code of the pivot by GRR. It then chooses the other codes such that the collector's rule
finds the pivot. If the pivot is s >= 1, attribute 0 gets a code of the same group as the pivot's code. All other
attributes get codes of other groups. If the pivot is attribute 0, every other attribute gets a code outside the group
of the pivot's code. Every attribute has m >= 2 non-empty groups, so such codes exist for any numbers of possible
answers. The client draws uniformly among the codes that these rules allow.

If all attributes have the same number of possible answers, each group is a single code. The mechanism is then Corr-RR
with special copy probabilities. Let P[j, s] be the probability that attribute j copies the code of the pivot s. In
`PivotCoded`, P[0, s] = 1 for every s >= 1, and all other copy probabilities are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import Codes, check_counters, checked_report_records
from deniable.core.kernels import PLAIN, exact_kernel, kernel
from deniable.core.randomness import Randomness, Words, blocks, draw
from deniable.core.state import Counts, counts_sum_to
from deniable.errors import InvalidReportError
from deniable.oracles.grr import GRR
from deniable.records.layout import CodeLayout, grr_oracles, starts_of, stretches
from deniable.records.pivot.pivot_draws import sample_pivots
from deniable.records.pivot.pivot_law import every_report
from deniable.records.record import FullRecords
from deniable.records.sampled_attribute import OneAttribute

_HALF = np.uint64(32)
_LOW = np.uint64((1 << 32) - 1)
_MOST = np.uint64((1 << 64) - 1)


@final
@dataclass(frozen=True)
class PivotCoded(OneAttribute[NDArray[Any]], FullRecords):
    """Each contributor reports one uniformly sampled attribute through GRR, in the format of a full record.

    GRR spends the whole budget on the sampled attribute, which is called the *pivot*. The collector reads from the
    record which attribute is the pivot. To make this possible, the device chooses the codes of all attributes except
    the pivot by a rule. If the pivot is not attribute 0, the pivot is the only attribute with the same code as
    attribute 0. If the pivot is attribute 0, no other attribute has the code of attribute 0. If attributes have
    different numbers of possible answers, a public rule divides the codes of every attribute into the same number of
    groups. The collector then compares groups instead of codes.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of possible answers (k_1, ..., k_d) of the d attributes, each from 2 to 2^32. The sizes may differ.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, from 1e-6 to 32.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.records.pivot.pivot_coded import PivotCoded
    >>> import numpy as np
    >>> coded = PivotCoded(sizes=(4, 4, 4), epsilon=1.0)
    >>> reports = coded.randomize(np.array([[0, 3, 1]] * 4), SimulationRandomness(1))
    >>> reports.dtype, coded.reported_attribute(reports).shape
    (dtype('uint8'), (4,))
    >>> coded.reported_attribute(np.array([[2, 2, 0], [2, 1, 2], [2, 0, 1]]))
    array([1, 2, 0])
    """

    remarks = (
        "the sampled attribute is visible to the collector: the record tells which one it is; the choice is uniform "
        "and does not depend on the record",
        "the codes of all other attributes are made up from the sampled one's noisy report and tell nothing else",
    )
    name = "PivotCoded"
    card = Card(
        group="records",
        when="for several attributes, if a report must have a code for every attribute",
        wire="a code for every attribute",
        note="a report has the format of a full record but tells only about one sampled attribute; the collector sees "
        "which attribute this is",
    )

    def _check_parameters(self) -> None:
        self.layout  # noqa: B018  refuses what GRR refuses

    @cached_property
    def layout(self) -> CodeLayout:
        """Layout of reports, with one column of codes per attribute."""
        return CodeLayout(grr_oracles(self.sizes, self.epsilon))

    @property
    def oracles(self) -> tuple[GRR, ...]:
        """GRR oracle of each attribute, with the whole epsilon."""
        return self.layout.oracles

    # ---------------------------------------------------------------- contributor

    def _randomize(self, codes: Codes, rng: Randomness) -> NDArray[Any]:
        # The pivot of every record goes through its oracle, and is coded into the record.
        (sizes, lies), d = self._draws, len(self.sizes)
        surround = _surround_alike if len(set(self.sizes)) == 1 else _surround
        reports, pivots = self.layout.empty(len(codes)), sample_pivots(rng, len(codes), d)
        for rows, drawn in blocks(rng, len(codes), d):
            words, block = drawn.reshape(-1, d), reports[rows]
            _privatise(words, codes[rows], pivots[rows], lies, sizes, block)
            again = np.zeros(len(block), dtype=np.bool_)
            if surround(words, pivots[rows], sizes, block, again):
                _surround_again(rng, pivots[rows], sizes, block, again, surround)
        return reports

    @cached_property
    def _draws(self) -> tuple[Words, Words]:
        """Sizes and lies of all attributes, uint64[d] each."""
        sizes, lies = zip(*((oracle.k, oracle._lie) for oracle in self.oracles), strict=True)
        return np.array(sizes, dtype=np.uint64), np.array(lies, dtype=np.uint64)

    # ---------------------------------------------------------------- collector

    def _tally(self, reports: Any) -> tuple[NDArray[np.int64], int]:
        codes = checked_report_records(reports, self.sizes)
        check_counters(sum(self.sizes))
        counts = np.zeros(sum(self.sizes), dtype=np.int64)
        wrong = tally_coded(codes, np.array(self.sizes, dtype=np.uint64), starts_of(self.sizes), counts)
        if wrong >= 0:
            raise self._ambiguous(codes[wrong].tolist(), wrong + 1)
        return counts, len(codes)

    def reported_attribute(self, reports: Any) -> NDArray[np.int64]:
        codes = checked_report_records(reports, self.sizes).astype(np.int64)
        found = decoded_pivots(self.sizes, codes)
        if (found < 0).any():
            row = int((found < 0).argmax())
            raise self._ambiguous(codes[row].tolist(), row + 1)
        return found

    def about(self, reports: Any, attribute: int) -> NDArray[Any]:
        told: NDArray[Any] = np.asarray(reports)[self.reported_attribute(reports) == attribute, attribute]
        return told

    def _ambiguous(self, report: list[int], row: int) -> InvalidReportError:
        groups = [code * min(self.sizes) // size for code, size in zip(report, self.sizes, strict=True)]
        claimed = [j for j, group in enumerate(groups) if j and group == groups[0]]
        return InvalidReportError(
            "a report must be about one sampled attribute, got a report that may be about attributes "
            f"{' and '.join(map(str, claimed))} in row {row}"
        )

    def _parts(self, counts: NDArray[Any]) -> list[tuple[NDArray[Any], int]]:
        return [(counts[place], int(counts[place].sum())) for place in stretches(self.sizes)]

    def _state(self, parts: Sequence[Aggregate]) -> NDArray[np.int64]:
        return np.concatenate([part.counts for part in parts])

    @property
    def state_size(self) -> int:
        """Number of counters: one per value of every attribute.

        The counters of an attribute sum to the number of its reports.
        """
        return sum(self.sizes)

    def check_state(self, counts: Counts, n: int) -> None:
        counts_sum_to(counts, n)

    # ---------------------------------------------------------------- exact distribution

    def outputs(self) -> NDArray[Any]:
        return self._outputs()[0].astype(self.layout.field.dtype)

    def _outputs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return every possible report, and the pivot of each."""
        self._check_channel(1, prod(self.sizes))
        reports = every_report(self.sizes)
        pivots = decoded_pivots(self.sizes, reports)
        return reports[pivots >= 0], pivots[pivots >= 0]

    def _channel(self) -> NDArray[Any]:
        self._check_channel(prod(self.sizes), prod(self.sizes))
        reports, pivots = self._outputs()
        records, told = every_report(self.sizes), np.arange(len(reports))
        weights = np.array(code_weights(self.sizes, pivots, reports), dtype=object) * Fraction(1, len(self.sizes))
        present, absent = (
            np.array([one.support_probabilities[i] for one in self.oracles], dtype=object)[pivots] * weights
            for i in (0, 1)
        )
        held = records[:, pivots] == reports[told, pivots]
        matrix: NDArray[Any] = np.where(held, present, absent)
        return matrix


# ---------------------------------------------------------------- draws


def _surround_again(
    rng: Randomness,
    pivots: Codes,
    sizes: NDArray[np.uint64],
    reports: NDArray[Any],
    again: NDArray[np.bool_],
    surround: Callable[..., int],
) -> None:
    # The pivot's report stays. Only the uniform choices around it are drawn again.
    todo = np.flatnonzero(again)
    while todo.size:
        words = draw(rng, todo.size * len(sizes)).reshape(todo.size, len(sizes))
        part, refused = reports[todo], np.zeros(todo.size, dtype=np.bool_)
        surround(words, pivots[todo], sizes, part, refused)
        reports[todo] = part
        todo = todo[refused]


@exact_kernel
def _privatise(
    words: Words, codes: Codes, pivots: Codes, lies: Words, sizes: NDArray[np.uint64], reports: NDArray[Any]
) -> None:
    # The first word of the row decides GRR of the pivot.
    one = np.uint64(1)
    for i in range(words.shape[0]):
        s = np.int64(pivots[i])
        word, lie, size = words[i, 0], lies[s], sizes[s]
        value = np.uint64(codes[i, s])
        if word < (size - one) * lie:
            value += one + word // lie
            value -= size if value >= size else np.uint64(0)
        reports[i, s] = value


@kernel
def _surround(
    words: Words, pivots: Codes, sizes: NDArray[np.uint64], reports: NDArray[Any], again: NDArray[np.bool_]
) -> int:
    # Every attribute but the pivot has a word of its own. The function returns how many rows must be drawn again, and
    # marks them.
    d = sizes.shape[0]
    one, zero = np.uint64(1), np.uint64(0)
    groups = sizes[0]
    for j in range(d):
        groups = min(groups, sizes[j])
    refused = 0
    for i in range(words.shape[0]):
        s = np.int64(pivots[i])
        group = np.uint64(reports[i, s])
        if sizes[s] != groups:
            group = group * groups // sizes[s]
        wrong = False
        t = 1
        for j in range(d):
            if j == s:
                continue
            size, low, width = sizes[j], group, one
            if size != groups:
                low = (group * size + groups - one) // groups
                width = ((group + one) * size + groups - one) // groups - low
            bound = width if j == 0 else size - width
            word = words[i, t]
            t += 1
            # `choice` is the high word of a 64 x 33-bit product, made of halves. `rest` is its low word, which says
            # whether the choice is uniform.
            choice = ((word >> _HALF) * bound + (((word & _LOW) * bound) >> _HALF)) >> _HALF
            rest = word * bound
            wrong |= rest < bound and rest < (zero - bound) % bound
            if j == 0 or choice >= low:
                choice += low if j == 0 else width
            reports[i, j] = choice
        if wrong:
            again[i] = True
            refused += 1
    return refused


@exact_kernel
def _surround_alike(
    words: Words, pivots: Codes, sizes: NDArray[np.uint64], reports: NDArray[Any], again: NDArray[np.bool_]
) -> int:
    # This is `_surround` over equal domains: attribute 0 copies, and all others are among k - 1 codes. It needs no
    # branch, because it draws the pivot like the others and then puts it right.
    one = np.uint64(1)
    bound = sizes[0] - one
    limit = (_MOST % bound + one) % bound
    refused = 0
    for i in range(words.shape[0]):
        s = np.int64(pivots[i])
        told = np.uint64(reports[i, s])
        wrong = False
        for j in range(1, sizes.shape[0]):
            word = words[i, j]
            if PLAIN:
                product = word * bound
                choice, rest = product >> 64, product & _MOST
            else:
                lower = (word & _LOW) * bound
                upper = (word >> _HALF) * bound + (lower >> _HALF)
                choice, rest = upper >> _HALF, (upper << _HALF) | (lower & _LOW)
            wrong |= (rest < limit) & (j != s)
            reports[i, j] = choice + np.uint64(choice >= told)
        reports[i, 0] = told
        reports[i, s] = told
        if wrong:
            again[i] = True
            refused += 1
    return refused


@kernel
def tally_coded(codes: Codes, sizes: NDArray[np.uint64], starts: NDArray[np.int64], counts: NDArray[np.int64]) -> int:
    """Add the pivots' codes in codes[n, d], all in range, to counts; return the first ambiguous row, or -1."""
    d = sizes.shape[0]
    groups = sizes[0]
    for j in range(d):
        groups = min(groups, sizes[j])
    for i in range(codes.shape[0]):
        first = np.uint64(codes[i, 0])
        if sizes[0] != groups:
            first = first * groups // sizes[0]
        s, found = 0, 0
        for j in range(1, d):
            group = np.uint64(codes[i, j])
            if sizes[j] != groups:
                group = group * groups // sizes[j]
            if group == first:
                s = j
                found += 1
        if found > 1:
            return i
        counts[starts[s] + np.int64(codes[i, s])] += 1
    return -1


# ---------------------------------------------------------------- exact distribution


def decoded_pivots(sizes: Sequence[int], reports: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pivot of every report in reports[n, d], or -1 if two or more attributes could be the pivot."""
    # Numbers are unsigned, because the product of two domain sizes that differ is below 2^64.
    groups = np.where(
        np.array(sizes) == min(sizes),
        reports.astype(np.uint64),
        reports.astype(np.uint64) * np.uint64(min(sizes)) // np.array(sizes, dtype=np.uint64),
    )
    alike = groups[:, 1:] == groups[:, :1]
    claims = alike.sum(axis=1)
    told = np.where(claims == 1, 1 + alike.argmax(axis=1) if len(sizes) > 1 else 0, 0)
    return np.where(claims > 1, -1, told)


def code_weights(sizes: Sequence[int], pivots: NDArray[np.int64], reports: NDArray[np.int64]) -> list[Fraction]:
    """Return the probability of the other codes of each report, given the report of its pivot."""
    m = min(sizes)
    weights = []
    for s, report in zip(pivots.tolist(), reports.tolist(), strict=True):
        group = report[s] * m // sizes[s]
        widths = [sum(1 for v in range(k) if v * m // k == group) for k in sizes]
        choices = [
            width if j == 0 else k - width for j, (k, width) in enumerate(zip(sizes, widths, strict=True)) if j != s
        ]
        weights.append(Fraction(1, prod(choices)))
    return weights

"""Heavy hitters: the frequent strings of a dictionary that nobody has written down.

The method is prefix extension, from Bassily, Nissim, Stemmer, Thakurta, *Practical locally private heavy hitters*
(2017), and Wang, Li, Jha, *Locally differentially private heavy hitter identification* (2019). Here it works on folded
prefixes. Every contributor reports one prefix of their string. A public linear map folds the prefix to a few bits. The
device reports the folded prefix through a count-mean sketch (CMS[spread]) with the whole epsilon.

The collector first estimates the frequencies of the shortest prefixes, and keeps the prefixes whose estimates are well
above the noise. Then it extends each kept prefix by every possible byte, and estimates the frequencies of these longer
prefixes. Each length of prefix has two different folding maps. One of the maps may give a rare prefix the same folded
value as a frequent prefix. Under the other map, these two prefixes rarely have the same value. The collector keeps only
prefixes that look frequent under both maps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import checked_integer, checked_report_codes, settle
from deniable.core.estimate import Estimate, affine_estimate
from deniable.core.kernels import kernel
from deniable.core.mechanism import ChecksRows, Mechanism, ReportField, SkipsInvalid
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness, uniform_below
from deniable.core.state import Counts, check_parts, counts_sum_to
from deniable.core.thresholds import checked_epsilon
from deniable.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
    TooLargeError,
    out_of_range,
    quoted,
)
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch

Bytes = NDArray[np.uint8]

FIRST_BYTES = 2
"""Shortest prefix, in bytes. All 65,536 prefixes of this length are tried."""

MAX_COUNTERS = 1 << 29
"""Most counters of all groups together. Adding up and decoding takes about 14 bytes for each counter."""

FOLDS = 2
"""Public folds per prefix length."""


class PrefixReports(NamedTuple):
    """Reports of n contributors: the public group (prefix length and fold) and the Spread report of the prefix.

    Parameters
    ----------
    group : uint8[n]
        Group in 0..groups-1. The prefix has ``2 + group // 2`` bytes, and the fold is ``group % 2``.
    value : uint32[n] or uint64[n]
        Report of the group's sketch.
    """

    group: NDArray[np.uint8]
    value: NDArray[Any]


@final
@dataclass(frozen=True)
class HeavyHitters(Mechanism[PrefixReports], SkipsInvalid, ChecksRows):
    """`HeavyHitters` finds and counts frequent strings without a list of the possible strings.

    Each device draws a length and takes the prefix of its string that has this length. The device reports this prefix
    in randomised form. The collector finds the frequent strings step by step, from the shortest prefixes to the
    longest.

    Parameters
    ----------
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. The one prefix that a contributor reports spends the whole budget.
    max_bytes : int
        Number of bytes of a string (in UTF-8) that the mechanism uses, from 3 to 16. If a string is longer, only its
        first `max_bytes` bytes are found.
    fold_bits : int
        Number of bits, from 16 to 24, to which a public map shortens (*folds*) a prefix. With more bits, fewer prefixes
        get the same folded value, and the collector's state is larger.
    seed : int
        Public seed of the maps that fold prefixes, at least 0.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.
    TooLargeError
        If the sketches of all groups have more than 2^29 counters together, for instance with 24 bits and 16 bytes at
        epsilon 1.

    Examples
    --------
    >>> from deniable import HeavyHitters, SimulationRandomness
    >>> hunt = HeavyHitters(epsilon=4.0, max_bytes=4)
    >>> words = ["lamp"] * 30_000 + ["moon"] * 20_000 + ["rare"] * 10
    >>> found = hunt.estimate(hunt.aggregate(hunt.randomize(words, SimulationRandomness(1))))
    >>> found.labels
    ('lamp', 'moon')
    >>> found.frequencies.round(1)
    array([0.6, 0.4])
    """

    epsilon: float | Fraction
    max_bytes: int = 8
    fold_bits: int = 16
    seed: int = 0

    report_type = PrefixReports
    takes_text = True
    records = False
    name = "HeavyHitters"
    card = Card(
        group="open text",
        when="to find frequent strings if nobody has a list of the possible strings",
        planned=False,
        instead="plans do not compare mechanisms for open text; every survey that asks for open text uses HeavyHitters",
        decoding="transform",
        wire="the length of a prefix and one integer",
        page="theory/sketches.md",
    )

    def __post_init__(self) -> None:
        settle(self, epsilon=checked_epsilon(self.epsilon))
        for name, low, high in (("max_bytes", 3, 16), ("fold_bits", 16, 24), ("seed", 0, 1 << 63)):
            object.__setattr__(self, name, checked_integer(name, getattr(self, name), low, high))
        if self.state_size > MAX_COUNTERS:
            raise TooLargeError(
                f"all {self.groups} groups together must have at most {MAX_COUNTERS:,} counters, got "
                f"{self.state_size:,} with max_bytes={self.max_bytes} and fold_bits={self.fold_bits}; choose a "
                "smaller max_bytes or fold_bits"
            )

    @property
    def groups(self) -> int:
        """Number of groups: two for every prefix length, one for each fold."""
        return FOLDS * (self.max_bytes - FIRST_BYTES + 1)

    @cached_property
    def sketch(self) -> CountMeanSketch:
        """The oracle of all groups: a Spread sketch of the folded prefixes.

        The sketch has the default number of cells. If all groups together would have too many counters, the number of
        cells is halved until the counters are few enough.
        """
        sketch = CountMeanSketch(k=1 << self.fold_bits, epsilon=self.epsilon, family="spread")
        while self.groups * (sketch.state_size + 1) > MAX_COUNTERS and sketch.hashes.m > 2:
            smaller = replace(sketch, m=sketch.hashes.m // 2)
            if smaller.state_size >= sketch.state_size:
                break
            sketch = smaller
        return sketch

    @property
    def domain(self) -> tuple[int, ...]:
        return (0,)

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: Sequence[str], rng: Randomness) -> PrefixReports:
        """Contributor: draw a group, and report the string's folded prefix through the group's sketch.

        Parameters
        ----------
        inputs : sequence of n str
            True strings, without NUL characters.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Raises
        ------
        InvalidInputError
            If an entry is not text or contains a NUL. The message names its row.
        """
        encoded = self.encode(inputs)
        group = uniform_below(rng, self.groups, len(encoded)).astype(np.uint8)
        folded = np.zeros(len(encoded), dtype=np.int64)
        for number in range(self.groups):
            rows = group == number
            folded[rows] = self.fold(encoded[rows], number)
        return PrefixReports(group, self.sketch.randomize(folded, rng))

    def encode(self, texts: Sequence[str]) -> Bytes:
        """Return the strings as uint8[n, max_bytes]: UTF-8, cut after `max_bytes` and filled up with zeros.

        Raises
        ------
        InvalidInputError
            If an entry is not text or contains a NUL. The message names its row, counted from 1.
        """
        if isinstance(texts, (str, bytes)):
            raise InvalidInputError(f"strings must be a sequence of strings, got a single {type(texts).__name__}")
        # The strings become one text of bytes, and the place is kept where each string begins in it.
        try:
            content = "\0".join(texts).encode()
        except (TypeError, UnicodeEncodeError):
            self._refuse(texts)
        data = np.frombuffer(content, dtype=np.uint8)
        ends = np.append(np.flatnonzero(data == 0), len(data)) if len(texts) else np.zeros(0, dtype=np.int64)
        if len(ends) != len(texts):
            self._refuse(texts)
        encoded = np.zeros((len(texts), self.max_bytes), dtype=np.uint8)
        cut_strings(ends, data, encoded)
        return encoded

    @staticmethod
    def _refuse(texts: Sequence[str]) -> NoReturn:
        for row, text in enumerate(texts):
            try:
                content = text.encode()
            except (AttributeError, UnicodeEncodeError):
                break
            if b"\0" in content:
                raise InvalidInputError(
                    f"a string must not contain the character NUL, but the string in row {row + 1} contains it"
                )
        raise InvalidInputError(
            f"every string must be Unicode text, got {type(text).__name__} in row {row + 1}"
        ) from None

    def fold(self, encoded: Bytes, group: int) -> NDArray[np.int64]:
        """Return the folded prefixes of `group`, int64[n] in 0..2^fold_bits-1: a linear map over GF(2)."""
        folded = np.zeros(len(encoded), dtype=np.int64)
        for place, table in enumerate(self._tables[group]):
            folded ^= table[encoded[:, place]]
        return folded

    @cached_property
    def _tables(self) -> list[list[NDArray[np.int64]]]:
        """Arrays tables[group][place][byte] from the public seed: what a byte at a place adds (by XOR) to the fold."""
        return [
            [self._table(group, place) for place in range(FIRST_BYTES + group // FOLDS)] for group in range(self.groups)
        ]

    def _table(self, group: int, place: int) -> NDArray[np.int64]:
        content = hashlib.sha256(f"deniable fold {self.seed} {group} {place}".encode()).digest()
        columns = np.frombuffer(content, dtype="<u4").astype(np.int64) & ((1 << self.fold_bits) - 1)
        if group < FOLDS:
            # The first prefixes have 16 bits. They are not folded, because all of them must be told apart.
            columns = np.int64(1) << (np.arange(8) + 8 * place)
        bits = np.arange(256)[:, None] >> np.arange(8) & 1
        table: NDArray[np.int64] = np.bitwise_xor.reduce(np.where(bits == 1, columns, 0), axis=1)
        return table

    # ---------------------------------------------------------------- collector

    def _check_rows(self, reports: PrefixReports) -> tuple[NDArray[np.integer[Any]], Any]:
        group = checked_report_codes(reports.group, self.groups, "group")
        values = np.asarray(reports.value)
        if values.shape != group.shape:
            raise InvalidReportError(
                f"group and value must have the same length, got the shapes {group.shape} and {values.shape}"
            )
        return group, self.sketch.hashes.checked(values)

    def _tally(self, reports: PrefixReports) -> tuple[NDArray[np.int64], int]:
        # The state has one histogram per group, and the number of reports of each group.
        group, checked = self._check_rows(reports)
        tallies = [self.sketch.hashes.tally(checked[group == number]) for number in range(self.groups)]
        sizes = np.bincount(group, minlength=self.groups)
        return np.concatenate([*tallies, sizes]), len(group)

    def _valid_rows(self, reports: Any) -> tuple[NDArray[np.bool_], str]:
        group, values = np.asarray(reports.group), np.asarray(reports.value)
        inside = self.sketch.hashes.valid_rows(values)
        valid = (group < self.groups) & inside
        reason = ""
        if not valid.all():
            row = int((~valid).argmax())
            got = f"group={group[row]}, value={values[row]} in row {row + 1}"
            reason = f"group must be in 0..{self.groups - 1} and value one of the sketch's reports, got {got}"
        return valid, reason

    # ---------------------------------------------------------------- analyst

    def estimate(
        self,
        aggregate: Aggregate,
        queries: Sequence[str] | None = None,
        *,
        threshold: float = 4.0,
        max_candidates: int = 10_000,
    ) -> Estimate:
        """Analyst: find the frequent strings, or count given strings. The strings are the labels of the estimate.

        A frequency is estimated from the contributors who reported the longest prefix. Every prefix is folded by two
        maps. If a string has the same two folded values as a frequent string, both are counted together. For two given
        strings, this has probability 4^-fold_bits. A string with one equal folded value raises the other string's
        estimate by half of its own frequency. The search does not list such strings, because the two folds must agree
        (`agreement`).

        Parameters
        ----------
        aggregate : Aggregate
            Aggregate of this mechanism.
        queries : sequence of str, optional
            Strings of at most `max_bytes` bytes to count. By default the method searches for the frequent strings.
        threshold : float
            Number of standard errors. A prefix is kept if its estimate from both folds together is this many standard
            errors above zero, and its estimate from each single fold is at least half as many standard errors above
            zero. With 4, about 3 in 100,000 prefixes that nobody holds are kept at each length. Without effect if
            `queries` are given.
        max_candidates : int
            Maximum number of prefixes to keep at each length. The most frequent are kept. Without effect if `queries`
            are given.

        Returns
        -------
        Estimate
            Sorted by falling frequency. `looked_at` bounds the number of candidates that the search compared at one
            length, and `deniable.answers.summarize` computes intervals that allow for this number. A string of
            `max_bytes` bytes may be the beginning of a longer string. The search and the estimate use the same reports,
            so found frequencies close to the threshold are a little too high.

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        InvalidParameterError
            If a query is longer than `max_bytes` bytes.
        """
        self.check(aggregate)
        if not threshold > 0:
            raise out_of_range("threshold", "> 0", threshold)
        checked_integer("max_candidates", max_candidates, 1)
        if queries is not None:
            encoded = self.encode(queries)
            long = next((text for text in queries if len(text.encode()) > self.max_bytes), None)
            if long is not None:
                raise InvalidParameterError(
                    f"queries must be strings of at most {self.max_bytes} bytes, because reports say nothing about "
                    f"further bytes, got {quoted(long)}; ask for the beginning of this string"
                )
            support, n = self._support(aggregate, self.groups // FOLDS - 1, encoded)
            estimate = self._estimate(support.sum(axis=1), int(n.sum()), aggregate.n)
            return estimate.named("string", list(queries))
        prefixes = np.stack(np.divmod(np.arange(1 << 16), 256), axis=1).astype(np.uint8)
        prefixes = prefixes[(prefixes[:, 0] > 0) | (prefixes[:, 1] == 0)]
        for level in range(self.groups // FOLDS):
            if level > 0:
                prefixes = _extended(prefixes)
            support, n = self._support(aggregate, level, prefixes)
            together = self._estimate(support.sum(axis=1), int(n.sum()), aggregate.n)
            kept = self._agreement(support, n, threshold) & (
                together.frequencies > threshold * np.sqrt(together.noise_absent / max(1, together.n))
            )
            order = np.argsort(-together.frequencies[kept], kind="stable")[:max_candidates]
            prefixes, support = prefixes[kept][order], support[kept][order]
        estimate = self._estimate(support.sum(axis=1), int(n.sum()), aggregate.n)
        looked_at = max(1 << 8 * FIRST_BYTES, 256 * max_candidates)
        return replace(estimate, looked_at=looked_at).named("string", [_text(row) for row in prefixes])

    def _support(self, aggregate: Aggregate, level: int, prefixes: Bytes) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return support counts int64[candidates, folds] and numbers of reports int64[folds] for one prefix length."""
        size = self.sketch.state_size
        support = np.zeros((len(prefixes), FOLDS), dtype=np.int64)
        numbers = range(FOLDS * level, FOLDS * (level + 1))
        n = aggregate.counts[size * self.groups :][list(numbers)]
        for fold, number in enumerate(numbers):
            state = aggregate.counts[size * number : size * (number + 1)]
            decoded = self.sketch.hashes.decode(state, int(n[fold]))
            support[:, fold] = decoded[self.fold(prefixes, number)]
        return support, n

    def _estimate(self, support: NDArray[np.int64], n: int, contributors: int) -> Estimate:
        p1, p0 = self.sketch.support_probabilities
        return affine_estimate(support, n, float(p1), float(p0), contributors, k=256**self.max_bytes)

    def _agreement(self, support: NDArray[np.int64], n: NDArray[Any], threshold: float) -> NDArray[np.bool_]:
        """Return for each candidate whether it exceeds half the threshold in each fold alone."""
        agreed = np.ones(len(support), dtype=bool)
        for fold in range(FOLDS):
            alone = self._estimate(support[:, fold], int(n[fold]), int(n[fold]))
            agreed &= alone.frequencies > threshold / 2 * np.sqrt(alone.noise_absent / max(1, alone.n))
        return agreed

    # ---------------------------------------------------------------- guarantee and files

    def privacy(self) -> Guarantee:
        """Return the guarantee, which is the guarantee of the sketch, and the same for every prefix length."""
        return self._local_guarantee(
            "the collector sees which prefix length was reported; the choice is uniform and independent of the string"
        )

    def implemented_ratio(self) -> Fraction:
        """Exact largest likelihood ratio of the implemented thresholds, which is that of the sketch."""
        return self.sketch.implemented_ratio()

    def outputs(self) -> PrefixReports:
        """Raise TooLargeError, because open text has no codes and so no channel to list."""
        raise TooLargeError(
            "the channel of a mechanism for open text cannot be listed: use `sketch.channel()`, the channel of folded "
            "prefixes"
        )

    def _channel(self) -> NDArray[Any]:
        raise TooLargeError(
            "the channel of a mechanism for open text cannot be listed: use `sketch.channel()`, the channel of folded "
            "prefixes"
        )

    @property
    def state_size(self) -> int:
        """Number of counters: a Spread histogram and one more counter for each group."""
        return self.groups * (self.sketch.state_size + 1)

    def check_state(self, counts: Counts, n: int) -> None:
        reported = counts[-self.groups :]
        counts_sum_to(reported, n, len(counts) - self.groups)
        check_parts([self.sketch] * self.groups, counts, reported)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        return (ReportField("group", "uint8"), ReportField("value", self.sketch.report_fields[0].dtype))

    @property
    def report_bits(self) -> float:
        return float(np.log2(self.groups)) + self.sketch.report_bits


@kernel
def cut_strings(ends: NDArray[np.int64], data: Bytes, encoded: Bytes) -> None:
    """Copy strings into zeroed encoded[n, width]; each ends at `ends` and begins after the end of the one before."""
    start = np.int64(0)
    for i in range(ends.shape[0]):
        for place in range(min(ends[i] - start, np.int64(encoded.shape[1]))):
            encoded[i, place] = data[start + place]
        start = ends[i] + 1


def _extended(prefixes: Bytes) -> Bytes:
    """Return every prefix extended by every byte; a string that has ended (with a zero) is followed by zeros only."""
    ended = prefixes[:, -1] == 0
    going = np.repeat(prefixes[~ended], 256, axis=0)
    after = np.tile(np.arange(256, dtype=np.uint8), int((~ended).sum()))
    stopped = np.column_stack([prefixes[ended], np.zeros(int(ended.sum()), dtype=np.uint8)])
    return np.concatenate([np.column_stack([going, after]), stopped]).astype(np.uint8)


def _text(row: Bytes) -> str:
    return row.tobytes().rstrip(b"\0").decode(errors="backslashreplace")

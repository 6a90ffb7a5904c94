"""Count-mean sketch for dictionaries that nobody can list, whose collector counts supports of a list of known queries.

Contributors report exactly as with the count-mean sketch itself. The number k of possible answers can be as large as
the sketch's hash family allows. For example, the possible answers can be all 64-bit fingerprints of strings. The
collector keeps one counter for each chosen value. Aggregates can be merged, as with every other mechanism.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import Codes, checked_counts, settle
from deniable.core.estimate import Estimate
from deniable.core.mechanism import ChecksRows, Mechanism, ReportField, SkipsInvalid
from deniable.core.privacy import Guarantee
from deniable.core.randomness import BLOCK_WORDS, Randomness, SimulationRandomness
from deniable.core.state import Counts, counts_between
from deniable.errors import InvalidParameterError, quoted
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.sketch.families._columns import columns_of


@final
@dataclass(frozen=True)
class QuerySketch(Mechanism[Any], SkipsInvalid, ChecksRows):
    """The query sketch is a count-mean sketch that estimates only the frequencies of a list of chosen values.

    Each report contains a random hash function and a noisy cell. The function maps the true code to a cell, and the
    device randomises this cell. A report *supports* a value if the reported function maps the value to the reported
    cell. For each chosen value, the collector counts the reports that support the value.

    The hash function is from a family. In the table of errors, CMS[prime] is the sketch with the family "prime", and
    CMS[binary] is the sketch with the family "binary".

    Parameters
    ----------
    sketch : CountMeanSketch
        The count-mean sketch with which contributors report. Its parameter k is the number of possible answers.
    queries : sequence of int
        Codes whose frequencies are wanted. Each code is from 0 to k-1, and no code is repeated. Contributors need not
        know this list.

    Raises
    ------
    InvalidParameterError
        If a query is out of range, or occurs twice, or there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import CountMeanSketch, SimulationRandomness
    >>> from deniable.research.families.query_sketch import QuerySketch
    >>> sketch = CountMeanSketch(k=2**32, epsilon=2.0)
    >>> asked = QuerySketch(sketch, (123_456_789, 5))
    >>> reports = sketch.randomize(np.full(1000, 123_456_789), SimulationRandomness(1))
    >>> state = asked.aggregate(reports[:3])
    >>> state.counts.shape, asked.estimate(state).labels
    ((2,), ('123456789', '5'))
    """

    sketch: CountMeanSketch
    queries: tuple[int, ...]
    k: int = field(init=False, repr=False, compare=False)
    epsilon: float | Fraction = field(init=False, repr=False, compare=False)

    records = False
    name = "CMS-queries"
    card = Card(
        group="dictionaries",
        when="to estimate the frequencies of chosen values in a dictionary that is too large to list",
        planned=False,
        listed=False,
        instead="a plan lists the sketches CMS[prime] and CMS[binary] instead; for CMS-queries, contributors send "
        "the same reports as for these two sketches",
        decoding="compares",
        wire="a hash function and a cell",
        page="theory/sketches.md",
    )

    def __post_init__(self) -> None:
        if not isinstance(self.sketch, CountMeanSketch):
            raise InvalidParameterError(f"sketch must be a CountMeanSketch, got {type(self.sketch).__name__}")
        queries = tuple(self.queries)
        seen: dict[int, int] = {}
        for i, x in enumerate(queries):
            if isinstance(x, bool) or not isinstance(x, (int, np.integer)) or not 0 <= x < self.sketch.k:
                raise InvalidParameterError(f"queries must be in 0..{self.sketch.k - 1}, got queries[{i}]={quoted(x)}")
            if seen.setdefault(int(x), i) != i:
                raise InvalidParameterError(
                    f"queries must be distinct, got the code {x} at the positions {seen[int(x)]} and {i}"
                )
        if not queries:
            raise InvalidParameterError("queries must list at least one code, got none")
        settle(self, queries=tuple(seen))
        settle(self, k=self.sketch.k)
        settle(self, epsilon=self.sketch.epsilon)

    @cached_property
    def _codes(self) -> Codes:
        return np.array(self.queries, dtype=np.uint64 if self.sketch.k > 1 << 63 else np.int64)

    @property
    def domain(self) -> tuple[int, ...]:
        return (self.k,)

    # ---------------------------------------------------------------- the three actors

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> Any:
        """Contributor: return the report of a true code in 0..k-1, by `CountMeanSketch.randomize`."""
        return self.sketch.randomize(inputs, rng)

    def _tally(self, reports: Any) -> tuple[NDArray[np.integer[Any]], int]:
        # This counts the reports that support each query, in O(n q) time at most.
        return self.sketch.count_support(reports, self._codes), len(columns_of(reports)[0])

    def _check_rows(self, reports: Any) -> Any:
        return self.sketch._check_rows(reports)

    def _valid_rows(self, reports: Any) -> tuple[NDArray[np.bool_], str]:
        return self.sketch._valid_rows(reports)

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: return unbiased frequencies of the queries, in their order, with the codes as labels."""
        self.check(aggregate)
        return self.sketch.estimate_support(aggregate.counts, aggregate.n, self._codes)

    def variance(self, f: float, n: int) -> float:
        """Variance of an estimated frequency from n contributors whose true value is f, noise only."""
        return self.sketch.variance(f, n)

    # ---------------------------------------------------------------- properties of the sketch

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p1, p0) of the sketch."""
        return self.sketch.support_probabilities

    def privacy(self) -> Guarantee:
        """Return the sketch's guarantee, which does not depend on the queries."""
        return self.sketch.privacy()

    def implemented_ratio(self) -> Fraction:
        return self.sketch.implemented_ratio()

    def outputs(self) -> Any:
        return self.sketch.outputs()

    def _channel(self) -> NDArray[Any]:
        return self.sketch._channel()

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Return an aggregate of contributors who hold the queries, drawn exactly in distribution in O(n q) time.

        Parameters
        ----------
        counts : int[q]
            Number of contributors who hold each query.
        rng : SimulationRandomness
            Source of the draw.
        """
        held = np.repeat(self._codes, checked_counts(counts, len(self.queries)))
        total = np.zeros(len(self.queries), dtype=np.int64)
        for start in range(0, len(held), BLOCK_WORDS):
            reports = self.sketch.randomize(held[start : start + BLOCK_WORDS], rng)
            total += self.sketch.count_support(reports, self._codes)
        return Aggregate(self, total, len(held))

    @property
    def state_size(self) -> int:
        return len(self.queries)

    def check_state(self, counts: Counts, n: int) -> None:
        counts_between(counts, 0, n)

    @property
    def report_type(self) -> Callable[..., Any]:
        return self.sketch.report_type

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        return self.sketch.report_fields

    @property
    def report_bits(self) -> float:
        return self.sketch.report_bits

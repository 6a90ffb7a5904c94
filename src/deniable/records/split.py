"""SPL: split the budget and report every attribute, with counts by attribute or by pairs of attributes.

Each of the d attributes is reported through its own frequency oracle with the budget epsilon/d. The d reports together
spend epsilon. SPL is the baseline of the literature on several attributes. It is better than sampling one attribute
(`SMP`) only if epsilon/d is large.

All mechanisms of this library that learn how attributes depend on each other use `SPLPairs` as their first phase. With
`SPLPairs`, contributors report exactly as with `SPL` and GRR, but the collector counts differently. The collector of
`SPL` counts how often each code was reported, and the collector of `SPLPairs` keeps a table of the reported codes for
every pair of attributes. The frequencies of single attributes follow from these tables. The paper on Corr-RR (Seeam,
Zheng, Hu, sections 3.3.5 and 3.3.6) also estimates joint distributions in its first phase.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card, Variant
from deniable.core.checks import Codes, code_dtype
from deniable.core.randomness import Randomness, SimulationRandomness
from deniable.oracles.grr import GRR
from deniable.records.joint import JointRecords
from deniable.records.layout import (
    BitLayout,
    CodeLayout,
    Oracle,
    checked_share,
    grr_oracles,
    independent,
    make_layout,
    row_blocks,
)
from deniable.records.pairs import IndependentPairs, branch, check_pairs, tally_pairs
from deniable.records.record import EveryAttribute, SimulatedByMarginal, SimulatedByRecord
from deniable.records.split_tables import SplitTables

SIMULATED_RECORDS = 1 << 12
"""Records that are simulated at a time."""


@dataclass(frozen=True)
class SplitRecords(EveryAttribute):
    """A mechanism that reports every attribute through its own oracle with epsilon/d; the reports compose."""

    remarks = ()

    @property
    @abstractmethod
    def layout(self) -> CodeLayout | BitLayout: ...

    @property
    def oracles(self) -> tuple[Oracle, ...]:
        """The frequency oracle of each attribute, with its share epsilon/d."""
        return self.layout.oracles

    def _randomize(self, codes: Codes, rng: Randomness) -> NDArray[Any]:
        return self.layout.randomize(codes, rng)

    def implemented_ratio(self) -> Fraction:
        """Exact largest likelihood ratio between two records, which is the product over the attributes."""
        return prod((oracle.implemented_ratio() for oracle in self.oracles), start=Fraction(1))

    def outputs(self) -> NDArray[Any]:
        return self._product()

    def _channel(self) -> NDArray[Any]:
        self._check_channel(prod(self.sizes), self.layout.outputs)
        return independent([oracle.channel(exact=True) for oracle in self.oracles])


@final
@dataclass(frozen=True)
class SPL(SplitRecords, SimulatedByMarginal):
    """Each contributor reports every attribute through a frequency oracle, with an equal share of the budget for each.

    The parameter `oracle` decides whether the attributes are reported through GRR or OUE. With GRR, reports are an [n,
    d] array of codes. The dtype of the array is the smallest of uint8, uint16 and uint32 that can hold the codes of all
    attributes. With OUE, reports are packed bits: uint8[n, sum of ceil(k_j/8)]. Every attribute starts at a byte
    boundary.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of possible answers (k_1, ..., k_d) of the d attributes, each from 2 to 2^32. The sizes may differ.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, from 1e-6 to 32. Each attribute spends the exact fraction epsilon/d,
        which must be at least 1e-6.
    oracle : {"GRR", "OUE"}
        Frequency oracle of every attribute.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SPL, SimulationRandomness
    >>> import numpy as np
    >>> spl = SPL(sizes=(2, 4), epsilon=2.0)
    >>> reports = spl.randomize(np.array([[0, 3], [1, 3], [1, 0]]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape
    (dtype('uint8'), (3, 2))
    >>> estimates = spl.estimate(spl.aggregate(reports))
    >>> [estimate.k for estimate in estimates.values()]
    [2, 4]
    """

    oracle: str = "GRR"

    name = "SPL"
    card = Card(
        group="records",
        when="for few attributes, if epsilon is large even after it is divided among them; every attribute is reported",
        recommended=True,
        wire="a code (GRR) or one bit per possible answer (OUE), for every attribute",
        variants=(
            Variant("SPL[GRR]", (("oracle", "GRR"),), recommended=True),
            Variant("SPL[OUE]", (("oracle", "OUE"),), recommended=True),
        ),
    )

    def _check_parameters(self) -> None:
        self.layout  # noqa: B018  refuses what an oracle refuses

    @cached_property
    def layout(self) -> CodeLayout | BitLayout:
        """Layout with the oracles' reports side by side."""
        return make_layout(self.oracle, self.sizes, checked_share(self.epsilon, len(self.sizes)))


@final
@dataclass(frozen=True)
class SPLPairs(SplitRecords, IndependentPairs, SimulatedByRecord[NDArray[Any]], JointRecords[NDArray[Any]]):
    """Each contributor reports every attribute through GRR, with an equal share of the budget for each.

    For every pair of attributes, the collector keeps a table of how often two codes were reported together.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of possible answers (k_1, ..., k_d) of the d attributes, with d at least 2 and each k_j from 2 to 2^32.
        The tables of all pairs together have at most 2^22 cells.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, from 1e-6 to 32. Each attribute spends the exact fraction epsilon/d,
        which must be at least 1e-6.

    Raises
    ------
    InvalidParameterError, TooLargeError
        If a parameter is out of bounds, or the tables are too large.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.records.split import SPLPairs
    >>> import numpy as np
    >>> pairs = SPLPairs(sizes=(2, 3), epsilon=8.0)
    >>> reports = pairs.randomize(np.array([[0, 2], [1, 1], [1, 1]]), SimulationRandomness(1))
    >>> aggregate = pairs.aggregate(reports)
    >>> aggregate.counts.reshape(2, 3)
    array([[0, 0, 1],
           [0, 2, 0]])
    """

    name = "SPL pairs"
    card = Card(
        group="two phases",
        when="as the first phase of a two-phase survey, to learn how attributes depend on each other; it also "
        "gives tables of pairs of attributes, but the tables of PairSample have a smaller error unless epsilon is "
        "large",
        planned=False,
        instead="a plan lists SPL[GRR], which has the same errors for frequencies",
        wire="a code for every attribute",
    )

    def _check_parameters(self) -> None:
        self.layout  # noqa: B018  refuses what GRR refuses
        check_pairs(self.sizes)

    @cached_property
    def spl(self) -> SPL:
        """The mechanism `SPL` with the same reports, whose aggregate counts single attributes."""
        return SPL(self.sizes, self.epsilon)

    @cached_property
    def layout(self) -> CodeLayout:
        """Layout with a column of codes for each attribute."""
        return CodeLayout(grr_oracles(self.sizes, checked_share(self.epsilon, len(self.sizes))))

    @property
    def channels(self) -> tuple[GRR, ...]:
        return self.layout.oracles

    def tables(self, aggregate: Aggregate) -> SplitTables:
        self.check(aggregate)
        return SplitTables(aggregate)

    def marginals(self, aggregate: Aggregate) -> Aggregate:
        """Return the counts of single attributes from the same reports, as an aggregate of `self.spl`."""
        self.check(aggregate)
        counts = self.support_counts(aggregate.counts)
        return Aggregate(self.spl, counts, aggregate.n, aggregate.collection, aggregate.batches)

    def _simulate(self, records: Codes, held: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # The tables of overlapping pairs depend on each other, so whole reported records are drawn. Attribute by
        # attribute, one multinomial splits each group of contributors who agree so far. The cost is O(m d), with m the
        # number of different (record, report) that occur. m is at most the number of contributors.
        total = np.zeros(self.state_size, dtype=np.int64)
        for block in row_blocks(len(records), SIMULATED_RECORDS):
            rows, left = records[block], held[block]
            reports = np.empty((len(rows), 0), dtype=code_dtype(max(self.sizes)))
            for j, oracle in enumerate(self.oracles):
                groups, codes, left = branch(left, oracle.channel()[rows[:, j]], rng)
                rows = rows[groups]
                reports = np.concatenate([reports[groups], codes[:, None].astype(reports.dtype)], axis=1)
            total += tally_pairs(reports, self.sizes, left)
        return total

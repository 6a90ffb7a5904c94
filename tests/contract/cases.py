"""Mechanisms for the contract suite. Listing a mechanism here once adds it to the suite."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import deniable as dn
from deniable.core.thresholds import checked_epsilon, exact
from deniable.designs import Design
from deniable.oracles import BLH, MemoisedGRR, MemoisedHash, MemoisedOUE, SquareWave
from deniable.records import RSRFD
from deniable.records.oracle_choice import oracles_for
from deniable.records.pair_sample import PairSample
from deniable.records.pivot.pivot_coded import PivotCoded
from deniable.records.sample import AdaptiveSMP
from deniable.records.split import SPLPairs
from deniable.research.baselines import LGRR, LOLOHA, LOUE, SHE, THE, Exponential
from deniable.research.baselines.hadamard import HadamardEncoding
from deniable.research.baselines.projective_geometry import PGR
from deniable.research.baselines.recursive_hadamard import RecursiveHadamard
from deniable.research.families.query_sketch import QuerySketch
from deniable.research.records.cond_rr import CondRR
from deniable.research.records.grouping import GroupedCorrRR
from deniable.research.records.two_pivots import TwoPivotRR
from tests.unit.records.phases.second_phase_laws import some_conditionals, some_pair_tables
from tests.unit.records.pivot.corr_rr_laws import some_matrix

EPSILONS = (0.01, 0.5, 1.0, 2.0, 5.0)
DOMAINS = (2, 3, 4, 5, 8)
SIMULATIONS = 1500
"""Aggregates drawn per mechanism: the bound of a variance is then a fifth of it, 1.1 z sqrt(2 / 1500) with z = 4.9."""
COVERED = 700
"""Estimates with tested intervals: intervals with coverage up to 85.5% or from 99.7% fail in 999 of 1000 tests."""
RECORD_SIZES = ((2, 2), (3, 2), (2, 2, 2))
PRIORS = {2: (0.25, 0.75), 3: (0.5, 0.3, 0.2)}


@dataclass(frozen=True)
class Case:
    """One family: its constructor, and exceptions from the common contract.

    Parameters
    ----------
    name : str
        Name in test ids.
    build : callable(sizes, epsilon) -> mechanism
        `sizes` has one entry for one-attribute mechanisms.
    records : bool
        Whether inputs are records int[n, d] rather than codes int[n].
    one_report_epsilon : callable(mechanism) -> float
        Tight epsilon of one report; this is `privacy().epsilon` except for RAPPOR.
    largest : callable(sizes, epsilon) -> bool
        Whether the channel is small enough to enumerate. Larger channels are checked in factors by the family's own
        tests.
    unbiased : bool
        Whether estimates are unbiased over all domains. If not, the family's own tests check the stated bias.
    """

    name: str
    build: Callable[[Sequence[int], float], Any]
    records: bool = False
    one_report_epsilon: Callable[[Any], float] = lambda mechanism: float(mechanism.privacy().epsilon)
    enumerable: Callable[[Sequence[int], float], bool] = lambda _sizes, _epsilon: True
    unbiased: bool = True

    def inputs(self, sizes: Sequence[int]) -> NDArray[np.int64]:
        """Return each input once, in the order of the channel's rows."""
        if self.records:
            return np.array(list(itertools.product(*map(range, sizes))), dtype=np.int64)
        return np.arange(sizes[0], dtype=np.int64)


def _first(family: Any, /, **parameters: Any) -> Callable[[Sequence[int], float], Any]:
    return lambda sizes, epsilon: family(k=sizes[0], epsilon=epsilon, **parameters)


def _rappor(sizes: Sequence[int], epsilon: float) -> Any:
    return dn.RAPPOR.from_epsilon(k=sizes[0], epsilon=epsilon)


def _memoised(family: Any) -> Callable[[Sequence[int], float], Any]:
    return lambda sizes, epsilon: family.from_epsilon(sizes[0], epsilon)


def _two_cells(sizes: Sequence[int], epsilon: float) -> Any:
    forever = checked_epsilon(epsilon)
    return MemoisedHash(sizes[0], forever, exact(forever) * 4 / 5, 2)


def _published_cells(sizes: Sequence[int], epsilon: float) -> Any:
    forever = checked_epsilon(epsilon)
    return LOLOHA(sizes[0], forever, exact(forever) * 4 / 5, 2)


def _few_outputs(family: Any, /, **parameters: Any) -> Callable[[Sequence[int], float], bool]:
    """Return a function: whether a sketch has at most 20,000 outputs, which list every hash function.

    The own tests of larger sketches check channel and family in factors.
    """

    def few(sizes: Sequence[int], epsilon: float) -> bool:
        hashes = family(k=sizes[0], epsilon=epsilon, **parameters).hashes
        return bool(hashes.member_count * hashes.m <= 20_000)

    return few


def _all_queries(sizes: Sequence[int], epsilon: float) -> Any:
    sketch = dn.CountMeanSketch(sizes[0], epsilon, 2, "spread")
    return QuerySketch(sketch, tuple(range(sketch.k)))


def _records(family: Any, **parameters: Any) -> Callable[[Sequence[int], float], Any]:
    return lambda sizes, epsilon: family(sizes=tuple(sizes), epsilon=epsilon, **parameters)


def _rsrfd(sizes: Sequence[int], epsilon: float) -> Any:
    return RSRFD(sizes=tuple(sizes), epsilon=epsilon, priors=tuple(PRIORS.get(k, (1.0,)) for k in sizes))


def _published(family: Any, **tables: Callable[[Sequence[int]], Any]) -> Callable[[Sequence[int], float], Any]:
    """Return a constructor of a second phase's mechanism; it has no tables if the domains are invalid."""

    def build(sizes: Sequence[int], epsilon: float) -> Any:
        fits = all(type(size) is int and size >= 2 for size in sizes)
        made = {name: table(sizes) if fits else () for name, table in tables.items()}
        return family(sizes=tuple(sizes), epsilon=epsilon, **made)

    return build


def _groups(sizes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    return ((0, 1),) if len(sizes) == 2 else ((0, 2), (1,))


def _mixed_sample(sizes: Sequence[int], epsilon: float) -> Any:
    """Return adaptive sampling with a sketch, subsets and packed bits, or subsets of pairs for three attributes."""
    offered: tuple[Callable[[int], Any], ...] = (
        lambda k: dn.CountMeanSketch(k, epsilon, 2, "spread"),
        lambda k: dn.SubsetSelection(k, epsilon, omega=max(1, k - 1)),
        lambda k: dn.OUE(k, epsilon),
    )
    return AdaptiveSMP(tuple(sizes), epsilon, tuple(make(k) for make, k in zip(offered, sizes, strict=False)))


def _sampled_waves(sizes: Sequence[int], epsilon: float) -> Any:
    """Return adaptive sampling in which every other attribute is asked for its mean."""
    return AdaptiveSMP(tuple(sizes), epsilon, oracles_for(sizes, epsilon, means=range(0, len(sizes), 2)))


def _small(limit: int) -> Callable[[Sequence[int], float], bool]:
    """Return a function: whether all attributes together have at most `limit` values; product channels grow fast."""
    return lambda sizes, _epsilon: math.prod(sizes) <= limit


CASES: list[Case] = [
    Case("GRR", _first(dn.GRR)),
    Case("SUE", _first(dn.SUE)),
    Case("OUE", _first(dn.OUE)),
    Case("RAPPOR", _rappor, one_report_epsilon=lambda mechanism: float(mechanism.one_report_epsilon)),
    Case("MemoisedGRR", _memoised(MemoisedGRR), one_report_epsilon=lambda made: float(made.epsilon_once)),
    Case("MemoisedOUE", _memoised(MemoisedOUE), one_report_epsilon=lambda made: float(made.epsilon_once)),
    Case(
        "MemoisedHash",
        _two_cells,
        one_report_epsilon=lambda made: float(made.epsilon_once),
    ),
    Case("SubsetSelection", _first(dn.SubsetSelection)),
    Case("SubsetSelection-2", lambda sizes, e: dn.SubsetSelection(sizes[0], e, omega=1 if sizes[0] == 2 else 2)),
    Case("Exponential", _first(Exponential)),
    Case("SHE", _first(SHE, resolution=1, clamp=1), enumerable=_small(4)),
    Case("THE", _first(THE)),
    Case("L-GRR", _memoised(LGRR), one_report_epsilon=lambda made: float(made.one_report_epsilon)),
    Case("L-OUE", _memoised(LOUE), one_report_epsilon=lambda made: float(made.one_report_epsilon)),
    Case("LOLOHA", _published_cells, one_report_epsilon=lambda made: float(made.one_report_epsilon)),
    Case("SquareWave", _first(SquareWave)),
    Case("SquareWave-2", _first(SquareWave, window=2)),
    Case("Design", lambda sizes, e: Design.from_epsilon(sizes[0], e)),
    Case("BLH", _first(BLH), enumerable=_few_outputs(BLH)),
    Case("OLH", _first(dn.OLH), enumerable=_few_outputs(dn.OLH)),
    Case("CMS", _first(dn.CountMeanSketch, m=3), enumerable=_few_outputs(dn.CountMeanSketch, m=3)),
    Case("CMS-spread", _first(dn.CountMeanSketch, m=2, family="spread")),
    Case("CMS-spread-4", _first(dn.CountMeanSketch, m=4, family="spread")),
    Case("CMS-queries", _all_queries),
    Case(
        "CMS-partition", _first(dn.CountMeanSketch, m=3, family="partition"), enumerable=lambda sizes, _: sizes[0] == 3
    ),
    Case("CMS-linear", _first(dn.CountMeanSketch, m=3, family="linear")),
    Case("CMS-linear-4", _first(dn.CountMeanSketch, m=4, family="linear")),
    Case("CMS-binary", _first(dn.CountMeanSketch, m=2, family="binary"), enumerable=_small(4)),
    Case("HE", _first(HadamardEncoding)),
    Case("RHR", _first(RecursiveHadamard)),
    Case("PGR", _first(PGR)),
    Case("PGR-3", _first(PGR, q=3)),
    Case("SPL-GRR", _records(dn.SPL), records=True),
    Case("SPL-OUE", _records(dn.SPL, oracle="OUE"), records=True),
    Case("SMP-GRR", _records(dn.SMP), records=True),
    Case("SMP-OUE", _records(dn.SMP, oracle="OUE"), records=True),
    Case("RS+FD-GRR", _records(dn.RSFD), records=True),
    Case("RS+FD-OUE-zero", _records(dn.RSFD, oracle="OUE", fakes="zero"), records=True),
    Case("RS+FD-OUE-random", _records(dn.RSFD, oracle="OUE", fakes="random"), records=True),
    Case("RS+RFD", _rsrfd, records=True),
    Case("SMP-ADP", _records(AdaptiveSMP), records=True),
    Case("SMP-ADP-mixed", _mixed_sample, records=True),
    Case("SMP-ADP-waves", _sampled_waves, records=True),
    Case("PivotCoded", _records(PivotCoded), records=True),
    Case("SPL-pairs", _records(SPLPairs), records=True),
    Case("PairSample", _records(PairSample), records=True),
    Case("PairSample-singles", _records(PairSample, singles="0.25"), records=True),
    Case(
        "Corr-RR",
        _published(dn.CorrRR, copy_probabilities=lambda sizes: some_matrix(len(sizes))),
        records=True,
        unbiased=False,
    ),
    Case("Cond-RR", _published(CondRR, conditionals=some_conditionals), records=True),
    Case(
        "Corr-RR-groups",
        _published(
            GroupedCorrRR,
            groups=_groups,
            copy_probabilities=lambda sizes: tuple(some_matrix(len(group)) for group in _groups(sizes)),
        ),
        records=True,
        unbiased=False,
    ),
    Case("Corr-RR-two-pivots", _published(TwoPivotRR, tables=some_pair_tables), records=True),
]


def grid(case: Case) -> list[tuple[tuple[int, ...], float]]:
    """Return each (sizes, epsilon) at which the case is enumerated."""
    all_sizes: Sequence[tuple[int, ...]] = RECORD_SIZES if case.records else [(k,) for k in DOMAINS]
    return [(sizes, e) for sizes in all_sizes for e in EPSILONS if case.enumerable(sizes, e)]

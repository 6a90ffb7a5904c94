"""Many attributes: records int[n, d] in, one estimate per attribute out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.records.dependence.association import (
        cramers_v as cramers_v,
        dependence_matrix as dependence_matrix,
        pearson as pearson,
    )
    from deniable.records.dependence.pair_tables import (
        PairTable as PairTable,
        PairTables as PairTables,
        pair_tables as pair_tables,
    )
    from deniable.records.fake_data import RSFD as RSFD, RSRFD as RSRFD
    from deniable.records.oracle_choice import best_oracle as best_oracle
    from deniable.records.pair_sample import PairReports as PairReports, PairSample as PairSample
    from deniable.records.phases.phases import Phases as Phases, next_phase as next_phase
    from deniable.records.phases.refinement import combine_rounds as combine_rounds, refine as refine
    from deniable.records.phases.two_phase import combine as combine
    from deniable.records.pivot.cond_rr import CondRR as CondRR
    from deniable.records.pivot.corr_rr import CorrRR as CorrRR
    from deniable.records.pivot.corr_rr_aligned import AlignedCorrRR as AlignedCorrRR
    from deniable.records.pivot.grouping import GroupedCorrRR as GroupedCorrRR
    from deniable.records.pivot.pivot_coded import PivotCoded as PivotCoded
    from deniable.records.pivot.two_pivots import TwoPivotRR as TwoPivotRR
    from deniable.records.sample import SMP as SMP, AdaptiveReports as AdaptiveReports, AdaptiveSMP as AdaptiveSMP
    from deniable.records.split import SPL as SPL, SPLPairs as SPLPairs
else:
    from deniable.core.lazy import attach

    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "deniable.records.oracle_choice": "best_oracle",
            "deniable.records.dependence.association": "cramers_v dependence_matrix pearson",
            "deniable.records.dependence.pair_tables": "PairTable PairTables pair_tables",
            "deniable.records.fake_data": "RSFD RSRFD",
            "deniable.records.pair_sample": "PairReports PairSample",
            "deniable.records.phases.phases": "Phases next_phase",
            "deniable.records.phases.refinement": "combine_rounds refine",
            "deniable.records.phases.two_phase": "combine",
            "deniable.records.pivot.cond_rr": "CondRR",
            "deniable.records.pivot.corr_rr": "CorrRR",
            "deniable.records.pivot.corr_rr_aligned": "AlignedCorrRR",
            "deniable.records.pivot.grouping": "GroupedCorrRR",
            "deniable.records.pivot.pivot_coded": "PivotCoded",
            "deniable.records.pivot.two_pivots": "TwoPivotRR",
            "deniable.records.sample": "AdaptiveReports AdaptiveSMP SMP",
            "deniable.records.split": "SPL SPLPairs",
        },
    )

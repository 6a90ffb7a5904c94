from .dependence.decoding import (
    Decoded as Decoded,
    DecodedTable as DecodedTable,
    dependence_decode as dependence_decode,
)
from .fake_data import RSFD as RSFD, RSRFD as RSRFD
from .oracle_choice import best_oracle as best_oracle
from .pair_sample import PairReports as PairReports, PairSample as PairSample
from .phases.phases import Phases as Phases, next_phase as next_phase
from .phases.refinement import refine as refine
from .phases.two_phase import combine as combine
from .pivot.corr_rr import CorrRR as CorrRR
from .pivot.pivot_coded import PivotCoded as PivotCoded
from .sample import SMP as SMP, AdaptiveReports as AdaptiveReports, AdaptiveSMP as AdaptiveSMP
from .split import SPL as SPL, SPLPairs as SPLPairs

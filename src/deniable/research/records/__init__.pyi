from .association import cramers_v as cramers_v, dependence_matrix as dependence_matrix, pearson as pearson
from .combined_rounds import combine_rounds as combine_rounds
from .cond_rr import CondRR as CondRR
from .corr_rr_aligned import AlignedCorrRR as AlignedCorrRR
from .grouping import GroupedCorrRR as GroupedCorrRR
from .joint_tables import PairTable as PairTable, PairTables as PairTables, pair_tables as pair_tables
from .two_pivots import TwoPivotRR as TwoPivotRR

from .cond_rr import CondRR as CondRR
from .corr_rr_aligned import AlignedCorrRR as AlignedCorrRR
from .grouping import GroupedCorrRR as GroupedCorrRR
from .two_pivots import TwoPivotRR as TwoPivotRR

from .constructors import (
    christofides as christofides,
    crosswise as crosswise,
    forced as forced,
    forced_k as forced_k,
    garbling as garbling,
    improved_unrelated as improved_unrelated,
    kuk as kuk,
    mangat as mangat,
    modular as modular,
    singh_joarder as singh_joarder,
    triangular as triangular,
    two_stage as two_stage,
    two_stage_unrelated as two_stage_unrelated,
    two_trial as two_trial,
    unrelated as unrelated,
    warner as warner,
)
from .design import Design as Design
from .estimates import DesignEstimate as DesignEstimate

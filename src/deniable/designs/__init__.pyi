from .anchors import (
    AnchorEstimate as AnchorEstimate,
    CrosswiseAnchor as CrosswiseAnchor,
    crosswise_anchor as crosswise_anchor,
)
from .compliance import ComplianceDesign as ComplianceDesign
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
from .instruments import Instrument as Instrument, booklet as booklet
from .no_sayers import (
    NoSayersBounds as NoSayersBounds,
    NoSayersEstimate as NoSayersEstimate,
    SelfProtectiveNo as SelfProtectiveNo,
    self_protective as self_protective,
)
from .questionnaires import (
    EichhornHayre as EichhornHayre,
    Figure as Figure,
    ItemCount as ItemCount,
    ItemCountEstimate as ItemCountEstimate,
    Questionnaire as Questionnaire,
    ScrambledEstimate as ScrambledEstimate,
    UnrelatedEstimate as UnrelatedEstimate,
    UnrelatedUnknown as UnrelatedUnknown,
    eichhorn_hayre as eichhorn_hayre,
    item_count as item_count,
    unrelated_unknown as unrelated_unknown,
)
from .samples import (
    Margin as Margin,
    SampleEstimate as SampleEstimate,
    estimate_sample as estimate_sample,
    weighted_mean as weighted_mean,
)
from .two_groups import (
    Cheaters as Cheaters,
    CheatersEstimate as CheatersEstimate,
    LieDetector as LieDetector,
    LieDetectorEstimate as LieDetectorEstimate,
    cheaters as cheaters,
)

from .grr import GRR as GRR
from .memoised import (
    Memoised as Memoised,
    MemoisedGRR as MemoisedGRR,
    MemoisedHash as MemoisedHash,
    MemoisedOUE as MemoisedOUE,
    memoised_oracle as memoised_oracle,
)
from .paired import PairCounts as PairCounts, Trend as Trend, pair_counts as pair_counts
from .rappor import RAPPOR as RAPPOR
from .sketch.count_mean_sketch import CountMeanSketch as CountMeanSketch
from .sketch.heavy_hitters import HeavyHitters as HeavyHitters
from .sketch.local_hashing import BLH as BLH, OLH as OLH
from .sketch.ocms import (
    OCMS as OCMS,
    SketchChoice as SketchChoice,
    SketchOption as SketchOption,
    ocms_choice as ocms_choice,
)
from .sketch.pilot import (
    BoundPrice as BoundPrice,
    FrequencyBound as FrequencyBound,
    bound_price as bound_price,
    learn_sketch as learn_sketch,
    least_bound as least_bound,
    max_frequency_bound as max_frequency_bound,
)
from .square_wave import SquareWave as SquareWave
from .subset import SubsetSelection as SubsetSelection
from .unary import OUE as OUE, SUE as SUE

from . import (
    answers as answers,
    designs as designs,
    errors as errors,
    files as files,
    leakage as leakage,
    models as models,
    oracles as oracles,
    planning as planning,
    postprocess as postprocess,
    records as records,
    report as report,
    research as research,
    testing as testing,
)
from .core.aggregate import Aggregate as Aggregate
from .core.construction import mechanism as mechanism
from .core.estimate import Estimate as Estimate, RecordEstimate as RecordEstimate
from .core.mechanism import Mechanism as Mechanism
from .core.privacy import Guarantee as Guarantee, TrustModel as TrustModel
from .core.randomness import SecureRandomness as SecureRandomness, SimulationRandomness as SimulationRandomness
from .errors import DeniableError as DeniableError
from .oracles.grr import GRR as GRR
from .oracles.rappor import RAPPOR as RAPPOR
from .oracles.sketch.count_mean_sketch import CountMeanSketch as CountMeanSketch
from .oracles.sketch.heavy_hitters import HeavyHitters as HeavyHitters
from .oracles.sketch.local_hashing import OLH as OLH
from .oracles.sketch.ocms import OCMS as OCMS
from .oracles.subset import SubsetSelection as SubsetSelection
from .oracles.unary import OUE as OUE, SUE as SUE
from .planning import plan as plan, recommend as recommend
from .planning.default import collection as collection
from .records.fake_data import RSFD as RSFD
from .records.pivot.corr_rr import CorrRR as CorrRR
from .records.sample import SMP as SMP, AdaptiveSMP as AdaptiveSMP
from .records.split import SPL as SPL
from .survey.collection import Collection as Collection
from .survey.dictionary import Dictionary as Dictionary, fingerprint as fingerprint
from .survey.dictionary_file import read_dictionary as read_dictionary
from .survey.drafting import draft_schema as draft_schema
from .survey.schema import AskIf as AskIf, Attribute as Attribute, Schema as Schema

__version__: str

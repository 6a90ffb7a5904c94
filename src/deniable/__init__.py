"""Local differential privacy: from randomised answers to frequencies with honest error bars."""

from deniable.aggregate import Aggregate as Aggregate
from deniable.errors import DeniableError as DeniableError
from deniable.errors import DuplicateReportsError as DuplicateReportsError
from deniable.errors import EmptyAggregateError as EmptyAggregateError
from deniable.errors import FileFormatError as FileFormatError
from deniable.errors import InvalidInputError as InvalidInputError
from deniable.errors import InvalidParameterError as InvalidParameterError
from deniable.errors import InvalidReportError as InvalidReportError
from deniable.errors import MismatchError as MismatchError
from deniable.errors import MissingExtraError as MissingExtraError
from deniable.errors import NoIntervalError as NoIntervalError
from deniable.errors import OutputError as OutputError
from deniable.errors import TooLargeError as TooLargeError
from deniable.errors import UnknownCategoryError as UnknownCategoryError
from deniable.estimate import Estimate as Estimate
from deniable.estimate import RecordEstimate as RecordEstimate
from deniable.mechanism import Mechanism as Mechanism
from deniable.mechanisms.count_mean_sketch import BLH as BLH
from deniable.mechanisms.count_mean_sketch import OLH as OLH
from deniable.mechanisms.count_mean_sketch import CountMeanSketch as CountMeanSketch
from deniable.mechanisms.grr import GRR as GRR
from deniable.privacy import Guarantee as Guarantee
from deniable.privacy import TrustModel as TrustModel
from deniable.randomness import Randomness as Randomness
from deniable.randomness import SecureRandomness as SecureRandomness
from deniable.randomness import SimulationRandomness as SimulationRandomness

"""What a release leaks: about the attribute released, about the attributes it depends on, and in total.

Every figure says what it is: exact, an upper bound, or true under an assumption. ``docs/theory/leakage.md`` has the
proofs in short and how to read the numbers.
"""

from deniable.leakage.algorithm_benchmark import AlgorithmScore as AlgorithmScore
from deniable.leakage.algorithm_benchmark import benchmark_algorithms as benchmark_algorithms
from deniable.leakage.attacks import attack_channel as attack_channel
from deniable.leakage.attacks import attack_cpl as attack_cpl
from deniable.leakage.attacks import attack_success as attack_success
from deniable.leakage.attacks import effective_epsilon as effective_epsilon
from deniable.leakage.auditor import AuditResult as AuditResult
from deniable.leakage.auditor import audit as audit
from deniable.leakage.auditor import needed_samples as needed_samples
from deniable.leakage.blocks import BlockBound as BlockBound
from deniable.leakage.blocks import block_bound as block_bound
from deniable.leakage.blocks import block_bound_assuming_independence as block_bound_assuming_independence
from deniable.leakage.bounds import concatenated_bound as concatenated_bound
from deniable.leakage.bounds import joint_cpl as joint_cpl
from deniable.leakage.bounds import partial_bound as partial_bound
from deniable.leakage.bounds import prior_free_bound as prior_free_bound
from deniable.leakage.calibration import Calibration as Calibration
from deniable.leakage.calibration import calibrate as calibrate
from deniable.leakage.collections import SampledLeakage as SampledLeakage
from deniable.leakage.collections import guarantee_under_prior as guarantee_under_prior
from deniable.leakage.collections import sampled_leakage as sampled_leakage
from deniable.leakage.correlation import WorstCase as WorstCase
from deniable.leakage.correlation import cpl as cpl
from deniable.leakage.correlation import fixed_size_cpl as fixed_size_cpl
from deniable.leakage.correlation import saturation as saturation
from deniable.leakage.correlation import worst_case_cpl as worst_case_cpl
from deniable.leakage.distributions import conditional_from_joint as conditional_from_joint
from deniable.leakage.distributions import joint_from_records as joint_from_records
from deniable.leakage.estimated import LeakageRange as LeakageRange
from deniable.leakage.estimated import joint_from_estimate as joint_from_estimate
from deniable.leakage.estimated import range_from_counts as range_from_counts
from deniable.leakage.estimated import range_from_estimate as range_from_estimate
from deniable.leakage.figures import Leakage as Leakage
from deniable.leakage.mechanism_benchmark import MechanismScore as MechanismScore
from deniable.leakage.mechanism_benchmark import benchmark_mechanisms as benchmark_mechanisms
from deniable.leakage.mechanism_leakage import channel_delta as channel_delta
from deniable.leakage.mechanism_leakage import mechanism_cpl as mechanism_cpl
from deniable.leakage.observed import Observed as Observed
from deniable.leakage.observed import drop_unseen as drop_unseen
from deniable.leakage.observed import observed as observed
from deniable.leakage.pairwise import PairwiseLeakage as PairwiseLeakage
from deniable.leakage.pairwise import pairwise_leakage as pairwise_leakage
from deniable.leakage.records import RecordLeakage as RecordLeakage
from deniable.leakage.records import record_leakage as record_leakage
from deniable.leakage.statistical import StatisticalLeakage as StatisticalLeakage
from deniable.leakage.statistical import statistical_cpl as statistical_cpl
from deniable.leakage.total import TotalLeakage as TotalLeakage
from deniable.leakage.total import exact_totals as exact_totals
from deniable.leakage.total import total_leakage as total_leakage
from deniable.leakage.tree import TreePrior as TreePrior
from deniable.leakage.tree_totals import TreeLeakage as TreeLeakage
from deniable.leakage.tree_totals import tree_leakage as tree_leakage
from deniable.leakage.unequal import calibrate_unequal as calibrate_unequal

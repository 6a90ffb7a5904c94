"""What a release leaks: about the attribute released, about the attributes it depends on, and in total.

Every figure says what it is: exact, an upper bound, or true under an assumption. ``docs/theory/leakage.md`` has the
proofs in short and how to read the numbers.
"""

from deniable.leakage.adversary.algorithm_benchmark import AlgorithmScore, benchmark_algorithms
from deniable.leakage.adversary.attack_workflow import StatisticalLeakage, statistical_cpl
from deniable.leakage.adversary.attacks import attack_channel, attack_cpl, attack_success, effective_epsilon
from deniable.leakage.adversary.auditor import AuditResult, audit, needed_samples
from deniable.leakage.adversary.collection_audit import AuditSummary, audit_collection
from deniable.leakage.adversary.mechanism_benchmark import MechanismScore, benchmark_mechanisms
from deniable.leakage.calibration.budget_allocation import calibrate_unequal
from deniable.leakage.calibration.budgets import Budgets, calibrate_records
from deniable.leakage.calibration.calibration import Calibration, calibrate
from deniable.leakage.figure_status import Leakage
from deniable.leakage.prior.correlation import WorstCase, cpl, fixed_size_cpl, saturation, worst_case_cpl
from deniable.leakage.prior.distributions import conditional_from_joint, joint_from_records
from deniable.leakage.prior.empirical_prior import Observed, drop_unseen, observed
from deniable.leakage.prior.mechanism_leakage import channel_delta, mechanism_cpl
from deniable.leakage.prior.pairwise import PairwiseLeakage, pairwise_leakage
from deniable.leakage.prior.tree import TreePrior
from deniable.leakage.prior.uncertain_prior import (
    LeakageRange,
    joint_from_estimate,
    range_from_counts,
    range_from_estimate,
)
from deniable.leakage.summary import LeakageSummary, summarize, summarize_collection
from deniable.leakage.totals.blocks import BlockBound, block_bound, block_bound_assuming_independence
from deniable.leakage.totals.bounds import concatenated_bound, joint_cpl, partial_bound, prior_free_bound
from deniable.leakage.totals.collections import SampledLeakage, guarantee_under_prior, sampled_leakage
from deniable.leakage.totals.records import RecordLeakage, record_leakage
from deniable.leakage.totals.total import TotalLeakage, exact_totals, total_leakage
from deniable.leakage.totals.tree_totals import TreeLeakage, tree_leakage

__all__ = [
    "AlgorithmScore",
    "AuditResult",
    "AuditSummary",
    "BlockBound",
    "Budgets",
    "Calibration",
    "Leakage",
    "LeakageRange",
    "LeakageSummary",
    "MechanismScore",
    "Observed",
    "PairwiseLeakage",
    "RecordLeakage",
    "SampledLeakage",
    "StatisticalLeakage",
    "TotalLeakage",
    "TreeLeakage",
    "TreePrior",
    "WorstCase",
    "attack_channel",
    "attack_cpl",
    "attack_success",
    "audit",
    "audit_collection",
    "benchmark_algorithms",
    "benchmark_mechanisms",
    "block_bound",
    "block_bound_assuming_independence",
    "calibrate",
    "calibrate_records",
    "calibrate_unequal",
    "channel_delta",
    "concatenated_bound",
    "conditional_from_joint",
    "cpl",
    "drop_unseen",
    "effective_epsilon",
    "exact_totals",
    "fixed_size_cpl",
    "guarantee_under_prior",
    "joint_cpl",
    "joint_from_estimate",
    "joint_from_records",
    "mechanism_cpl",
    "needed_samples",
    "observed",
    "pairwise_leakage",
    "partial_bound",
    "prior_free_bound",
    "range_from_counts",
    "range_from_estimate",
    "record_leakage",
    "sampled_leakage",
    "saturation",
    "statistical_cpl",
    "summarize",
    "summarize_collection",
    "total_leakage",
    "tree_leakage",
    "worst_case_cpl",
]

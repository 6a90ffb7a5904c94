from .adversary.attacks import (
    attack_channel as attack_channel,
    attack_cpl as attack_cpl,
    attack_success as attack_success,
    effective_epsilon as effective_epsilon,
)
from .adversary.auditor import AuditResult as AuditResult, audit as audit, needed_samples as needed_samples
from .adversary.collection_audit import AuditSummary as AuditSummary, audit_collection as audit_collection
from .calibration.budget_allocation import calibrate_unequal as calibrate_unequal
from .calibration.budgets import Budgets as Budgets, calibrate_records as calibrate_records
from .calibration.calibration import (
    Calibration as Calibration,
    calibrate as calibrate,
    calibrate_worst as calibrate_worst,
)
from .calibration.checked import CheckedBudgets as CheckedBudgets
from .checking import check_budgets as check_budgets
from .prior.correlation import (
    Leakage as Leakage,
    WorstCase as WorstCase,
    channel_delta as channel_delta,
    cpl as cpl,
    fixed_size_cpl as fixed_size_cpl,
    mechanism_cpl as mechanism_cpl,
    saturation as saturation,
    worst_case_cpl as worst_case_cpl,
)
from .prior.distributions import (
    conditional_from_joint as conditional_from_joint,
    joint_from_records as joint_from_records,
)
from .prior.empirical_prior import Observed as Observed, drop_unseen as drop_unseen, observed as observed
from .prior.pairwise import PairwiseLeakage as PairwiseLeakage, pairwise_leakage as pairwise_leakage
from .prior.rare_categories import merge_rare as merge_rare
from .prior.tree import TreePrior as TreePrior
from .prior.uncertain_prior import (
    LeakageRange as LeakageRange,
    joint_from_estimate as joint_from_estimate,
    range_from_counts as range_from_counts,
    range_from_estimate as range_from_estimate,
)
from .summary import (
    LeakageSummary as LeakageSummary,
    RecordLeakage as RecordLeakage,
    guarantee_under_prior as guarantee_under_prior,
    record_leakage as record_leakage,
    summarize as summarize,
    summarize_collection as summarize_collection,
)
from .totals.bounds import (
    BlockBound as BlockBound,
    block_bound as block_bound,
    block_bound_assuming_independence as block_bound_assuming_independence,
    concatenated_bound as concatenated_bound,
    joint_cpl as joint_cpl,
    partial_bound as partial_bound,
    prior_free_bound as prior_free_bound,
)
from .totals.collections import SampledLeakage as SampledLeakage, sampled_leakage as sampled_leakage
from .totals.deltas import (
    composed_delta as composed_delta,
    revealing_channel as revealing_channel,
    total_delta as total_delta,
)
from .totals.total import TotalLeakage as TotalLeakage, exact_totals as exact_totals, total_leakage as total_leakage
from .totals.tree_totals import TreeLeakage as TreeLeakage, tree_leakage as tree_leakage

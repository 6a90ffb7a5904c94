from .adversary.auditor import AuditResult as AuditResult, audit as audit, needed_samples as needed_samples
from .adversary.collection_audit import AuditSummary as AuditSummary, audit_collection as audit_collection
from .prior.correlation import (
    Leakage as Leakage,
    WorstCase as WorstCase,
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
from .prior.empirical_prior import Observed as Observed, observed as observed
from .prior.pairwise import PairwiseLeakage as PairwiseLeakage, pairwise_leakage as pairwise_leakage
from .prior.rare_categories import merge_rare as merge_rare
from .prior.tree import TreePrior as TreePrior
from .prior.uncertain_prior import LeakageRange as LeakageRange, range_from_counts as range_from_counts
from .summary import (
    LeakageSummary as LeakageSummary,
    RecordLeakage as RecordLeakage,
    guarantee_under_prior as guarantee_under_prior,
    record_leakage as record_leakage,
    summarize as summarize,
    summarize_collection as summarize_collection,
)
from .totals.collections import SampledLeakage as SampledLeakage, sampled_leakage as sampled_leakage
from .totals.deltas import composed_delta as composed_delta, revealing_channel as revealing_channel
from .totals.tree_totals import TreeLeakage as TreeLeakage, tree_leakage as tree_leakage

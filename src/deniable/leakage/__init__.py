"""What a release leaks: about the attribute released, about the attributes it depends on, and in total.

Every figure says what it is: exact, an upper bound, or true under an assumption. ``docs/theory/leakage.md`` has the
proofs in short and how to read the numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.leakage.adversary.algorithm_benchmark import (
        AlgorithmScore as AlgorithmScore,
        benchmark_algorithms as benchmark_algorithms,
    )
    from deniable.leakage.adversary.attack_workflow import (
        StatisticalLeakage as StatisticalLeakage,
        statistical_cpl as statistical_cpl,
    )
    from deniable.leakage.adversary.attacks import (
        attack_channel as attack_channel,
        attack_cpl as attack_cpl,
        attack_success as attack_success,
        effective_epsilon as effective_epsilon,
    )
    from deniable.leakage.adversary.auditor import (
        AuditResult as AuditResult,
        audit as audit,
        needed_samples as needed_samples,
    )
    from deniable.leakage.adversary.collection_audit import (
        AuditSummary as AuditSummary,
        audit_collection as audit_collection,
    )
    from deniable.leakage.adversary.mechanism_benchmark import (
        MechanismScore as MechanismScore,
        benchmark_mechanisms as benchmark_mechanisms,
    )
    from deniable.leakage.calibration.budget_allocation import calibrate_unequal as calibrate_unequal
    from deniable.leakage.calibration.budgets import Budgets as Budgets, calibrate_records as calibrate_records
    from deniable.leakage.calibration.calibration import Calibration as Calibration, calibrate as calibrate
    from deniable.leakage.figure_status import Leakage as Leakage
    from deniable.leakage.prior.correlation import (
        WorstCase as WorstCase,
        channel_delta as channel_delta,
        cpl as cpl,
        fixed_size_cpl as fixed_size_cpl,
        mechanism_cpl as mechanism_cpl,
        saturation as saturation,
        worst_case_cpl as worst_case_cpl,
    )
    from deniable.leakage.prior.distributions import (
        conditional_from_joint as conditional_from_joint,
        joint_from_records as joint_from_records,
    )
    from deniable.leakage.prior.empirical_prior import (
        Observed as Observed,
        drop_unseen as drop_unseen,
        observed as observed,
    )
    from deniable.leakage.prior.pairwise import PairwiseLeakage as PairwiseLeakage, pairwise_leakage as pairwise_leakage
    from deniable.leakage.prior.tree import TreePrior as TreePrior
    from deniable.leakage.prior.uncertain_prior import (
        LeakageRange as LeakageRange,
        joint_from_estimate as joint_from_estimate,
        range_from_counts as range_from_counts,
        range_from_estimate as range_from_estimate,
    )
    from deniable.leakage.summary import (
        LeakageSummary as LeakageSummary,
        RecordLeakage as RecordLeakage,
        guarantee_under_prior as guarantee_under_prior,
        record_leakage as record_leakage,
        summarize as summarize,
        summarize_collection as summarize_collection,
    )
    from deniable.leakage.totals.blocks import (
        BlockBound as BlockBound,
        block_bound as block_bound,
        block_bound_assuming_independence as block_bound_assuming_independence,
    )
    from deniable.leakage.totals.bounds import (
        concatenated_bound as concatenated_bound,
        joint_cpl as joint_cpl,
        partial_bound as partial_bound,
        prior_free_bound as prior_free_bound,
    )
    from deniable.leakage.totals.collections import SampledLeakage as SampledLeakage, sampled_leakage as sampled_leakage
    from deniable.leakage.totals.total import (
        TotalLeakage as TotalLeakage,
        exact_totals as exact_totals,
        total_leakage as total_leakage,
    )
    from deniable.leakage.totals.tree_totals import TreeLeakage as TreeLeakage, tree_leakage as tree_leakage
else:
    from deniable.core.lazy import attach

    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "deniable.leakage.adversary.algorithm_benchmark": "AlgorithmScore benchmark_algorithms",
            "deniable.leakage.adversary.attack_workflow": "StatisticalLeakage statistical_cpl",
            "deniable.leakage.adversary.attacks": "attack_channel attack_cpl attack_success effective_epsilon",
            "deniable.leakage.adversary.auditor": "AuditResult audit needed_samples",
            "deniable.leakage.adversary.collection_audit": "AuditSummary audit_collection",
            "deniable.leakage.adversary.mechanism_benchmark": "MechanismScore benchmark_mechanisms",
            "deniable.leakage.calibration.budget_allocation": "calibrate_unequal",
            "deniable.leakage.calibration.budgets": "Budgets calibrate_records",
            "deniable.leakage.calibration.calibration": "Calibration calibrate",
            "deniable.leakage.figure_status": "Leakage",
            "deniable.leakage.prior.correlation": "WorstCase channel_delta cpl fixed_size_cpl mechanism_cpl "
            "saturation worst_case_cpl",
            "deniable.leakage.prior.distributions": "conditional_from_joint joint_from_records",
            "deniable.leakage.prior.empirical_prior": "Observed drop_unseen observed",
            "deniable.leakage.prior.pairwise": "PairwiseLeakage pairwise_leakage",
            "deniable.leakage.prior.tree": "TreePrior",
            "deniable.leakage.prior.uncertain_prior": "LeakageRange joint_from_estimate range_from_counts "
            "range_from_estimate",
            "deniable.leakage.summary": "LeakageSummary RecordLeakage guarantee_under_prior record_leakage "
            "summarize summarize_collection",
            "deniable.leakage.totals.blocks": "BlockBound block_bound block_bound_assuming_independence",
            "deniable.leakage.totals.bounds": "concatenated_bound joint_cpl partial_bound prior_free_bound",
            "deniable.leakage.totals.collections": "SampledLeakage sampled_leakage",
            "deniable.leakage.totals.total": "TotalLeakage exact_totals total_leakage",
            "deniable.leakage.totals.tree_totals": "TreeLeakage tree_leakage",
        },
    )

from .bounds import (
    BlockBound as BlockBound,
    block_bound as block_bound,
    block_bound_assuming_independence as block_bound_assuming_independence,
    concatenated_bound as concatenated_bound,
    joint_cpl as joint_cpl,
    partial_bound as partial_bound,
    prior_free_bound as prior_free_bound,
)
from .calibration.budget_allocation import calibrate_unequal as calibrate_unequal
from .calibration.budgets import (
    Budgets as Budgets,
    CheckedBudgets as CheckedBudgets,
    calibrate_records as calibrate_records,
    check_budgets as check_budgets,
)
from .calibration.calibration import Calibration as Calibration, calibrate as calibrate
from .calibration.page import budgets_page as budgets_page
from .deltas import channel_delta as channel_delta, total_delta as total_delta
from .joint_totals import (
    TotalLeakage as TotalLeakage,
    drop_unseen as drop_unseen,
    exact_totals as exact_totals,
    total_leakage as total_leakage,
)
from .selection import Selection as Selection, select_attributes as select_attributes
from .wrong_prior import (
    calibrate_worst as calibrate_worst,
    cpl_within as cpl_within,
    joint_from_estimate as joint_from_estimate,
    range_from_estimate as range_from_estimate,
    totals_within as totals_within,
)

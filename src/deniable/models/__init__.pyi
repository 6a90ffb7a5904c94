from .complying import fit_compliance as fit_compliance
from .fitted import Fit as Fit, LikelihoodRatio as LikelihoodRatio
from .fitting import fit as fit
from .groups import (
    GroupValues as GroupValues,
    by_group as by_group,
    group_means as group_means,
    group_quantiles as group_quantiles,
)
from .privacy import privacy_statement as privacy_statement
from .summary import FitSummary as FitSummary

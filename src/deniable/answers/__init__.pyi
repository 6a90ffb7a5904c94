from .asked import IntervalOptions as IntervalOptions, QuestionSet as QuestionSet
from .codebooks import codebook as codebook
from .comparison import Comparison as Comparison, compare as compare, trend as trend
from .counts import counts_document as counts_document
from .crosstab import (
    Crosstab as Crosstab,
    CrosstabError as CrosstabError,
    Crosstabs as Crosstabs,
    Independence as Independence,
    crosstab_error as crosstab_error,
    crosstabs as crosstabs,
)
from .crosstab_summary import CrosstabSummary as CrosstabSummary, summarize_crosstab as summarize_crosstab
from .functionals import functional as functional, functional_weights as functional_weights
from .independent import difference as difference, differences as differences, odds as odds, ratio as ratio
from .missing import WorstCase as WorstCase, worst_case as worst_case, worst_case_total as worst_case_total
from .stratified import Stratified as Stratified, strata as strata
from .summary import (
    AttributeSummary as AttributeSummary,
    Summary as Summary,
    summarize as summarize,
    summarize_phases as summarize_phases,
)

"""What analysts ask of an estimate: differences, ratios, strata, missing answers; and summaries, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.answers.asked import Asked as Asked
    from deniable.answers.asked import Reading as Reading
    from deniable.answers.codebooks import codebook as codebook
    from deniable.answers.comparison import Comparison as Comparison
    from deniable.answers.comparison import compare as compare
    from deniable.answers.crosstab import Crosstab as Crosstab
    from deniable.answers.crosstab import CrosstabError as CrosstabError
    from deniable.answers.crosstab import Crosstabs as Crosstabs
    from deniable.answers.crosstab import Independence as Independence
    from deniable.answers.crosstab import crosstab_error as crosstab_error
    from deniable.answers.crosstab import crosstabs as crosstabs
    from deniable.answers.crosstab_summary import CrosstabSummary as CrosstabSummary
    from deniable.answers.crosstab_summary import summarize_crosstab as summarize_crosstab
    from deniable.answers.functionals import functional as functional
    from deniable.answers.functionals import functional_weights as functional_weights
    from deniable.answers.independent import difference as difference
    from deniable.answers.independent import differences as differences
    from deniable.answers.independent import odds as odds
    from deniable.answers.independent import ratio as ratio
    from deniable.answers.missing import WorstCase as WorstCase
    from deniable.answers.missing import worst_case as worst_case
    from deniable.answers.missing import worst_case_total as worst_case_total
    from deniable.answers.stratified import Stratified as Stratified
    from deniable.answers.stratified import strata as strata
    from deniable.answers.summary import AttributeSummary as AttributeSummary
    from deniable.answers.summary import Summary as Summary
    from deniable.answers.summary import summarize as summarize
    from deniable.answers.summary import summarize_phases as summarize_phases
else:
    from deniable.core.lazy import attach

    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "deniable.answers.asked": "Asked Reading",
            "deniable.answers.codebooks": "codebook",
            "deniable.answers.comparison": "Comparison compare",
            "deniable.answers.functionals": "functional functional_weights",
            "deniable.answers.crosstab_summary": "CrosstabSummary summarize_crosstab",
            "deniable.answers.crosstab": "Crosstab CrosstabError Crosstabs Independence crosstab_error crosstabs",
            "deniable.answers.independent": "difference differences odds ratio",
            "deniable.answers.missing": "WorstCase worst_case worst_case_total",
            "deniable.answers.stratified": "Stratified strata",
            "deniable.answers.summary": "AttributeSummary Summary summarize summarize_phases",
        },
    )

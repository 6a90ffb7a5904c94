"""What analysts ask of an estimate: differences, ratios, strata, missing answers; and summaries, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.answers.asked import Asked as Asked, Reading as Reading
    from deniable.answers.codebooks import codebook as codebook
    from deniable.answers.comparison import Comparison as Comparison, compare as compare
    from deniable.answers.crosstab import (
        Crosstab as Crosstab,
        CrosstabError as CrosstabError,
        Crosstabs as Crosstabs,
        Independence as Independence,
        crosstab_error as crosstab_error,
        crosstabs as crosstabs,
    )
    from deniable.answers.crosstab_summary import (
        CrosstabSummary as CrosstabSummary,
        summarize_crosstab as summarize_crosstab,
    )
    from deniable.answers.functionals import functional as functional, functional_weights as functional_weights
    from deniable.answers.independent import (
        difference as difference,
        differences as differences,
        odds as odds,
        ratio as ratio,
    )
    from deniable.answers.missing import (
        WorstCase as WorstCase,
        worst_case as worst_case,
        worst_case_total as worst_case_total,
    )
    from deniable.answers.stratified import Stratified as Stratified, strata as strata
    from deniable.answers.summary import (
        AttributeSummary as AttributeSummary,
        Summary as Summary,
        summarize as summarize,
        summarize_phases as summarize_phases,
    )
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

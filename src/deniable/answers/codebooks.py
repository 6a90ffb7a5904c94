"""Codebook of a summary's CSV, with the meaning, the unit and the origin of every column.

The codebook is CSV itself, so that R, SPSS and spreadsheets read it like the numbers. It has one row for each column of
the CSV, then one for each value of its text columns, then one for each fact about the survey. Names of columns are
valid names of variables in all these programs. They begin with a letter, have letters and underscores, are at most 64
characters long, and are not reserved words.
"""

from __future__ import annotations

from collections.abc import Iterator

from deniable.answers.summary import Summary
from deniable.core.privacy import bound_text
from deniable.core.spreadsheets import csv_text

HEADER = ("variable", "label", "unit", "value", "value_label")

_OWN = (
    "share of people if the question is frequency (1 means everybody; raw shares may be below 0 or above 1), "
    "otherwise in the unit of the question"
)
VARIABLES = {
    "attribute": ("name of the question; empty for answers about several categories", "text"),
    "question": ("frequency of one category, or the question that was asked of the estimate", "text"),
    "category": ("the answer that the row is about, as the schema spells it", "text"),
    "estimate": ("unbiased estimate", _OWN),
    "standard_error": ("standard error of the estimate", _OWN),
    "lower": ("lower end of the interval", _OWN),
    "upper": ("upper end of the interval", _OWN),
    "processed": ("post-processed frequency, which has no interval", "share of people, 0 to 1"),
    "truth": ("true frequency, known in rehearsals only", "share of people, 0 to 1"),
    "lowest": ("category at the lower end of a quantile's interval", "text"),
    "highest": ("category at the upper end of a quantile's interval", "text"),
}
"""The columns of `Summary.csv`, with their labels and units."""


def codebook(summary: Summary) -> str:
    """Analyst: return the codebook of `summary.csv()` as CSV.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import GRR, Estimate, SimulationRandomness
    >>> from deniable.answers import summarize
    >>> grr = GRR(k=2, epsilon=1.0)
    >>> aggregate = grr.aggregate(grr.randomize(np.array([0, 1] * 50), SimulationRandomness(1)))
    >>> lines = codebook(summarize(grr.estimate(aggregate), mechanism=grr, n=100)).splitlines()
    >>> lines[0]
    'variable,label,unit,value,value_label'
    >>> lines[-7]
    'survey,contributors,people,100,'
    """
    questions = dict.fromkeys((answer.question, answer.unit) for answer in summary.answers)
    biased = {"estimate": ("estimate; some or all are biased, see intervals", _OWN)} if summary.biased else {}
    return csv_text(
        [
            HEADER,
            *((name, label, unit, "", "") for name, (label, unit) in (VARIABLES | biased).items()),
            *(("attribute", "", "", attribute.attribute, attribute.title) for attribute in summary.attributes),
            *(("question", "", unit, question, "") for question, unit in questions),
            *(("survey", *fact, "") for fact in _facts(summary)),
        ]
    )


def _facts(summary: Summary) -> Iterator[tuple[str, str, str]]:
    """Yield the facts that the numbers are relative to, as label, unit and value."""
    yield "contributors", "people", str(summary.n)
    yield "epsilon of the whole contributor", "nats", bound_text(summary.guarantee.epsilon)
    yield "mechanism", "", summary.mechanism.name
    yield "collection", "", summary.collection
    yield "confidence of the intervals", "probability", f"{summary.confidence:.10g}"
    yield "target of the intervals", "", summary.target
    yield "intervals", "", summary.interval_text
    if summary.processing:
        yield "post-processing", "", ", ".join(summary.processing)

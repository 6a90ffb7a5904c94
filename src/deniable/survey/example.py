"""Example survey that is real and sensitive: Fair's survey about extramarital affairs.

Ray Fair, *A theory of extramarital affairs*, Journal of Political Economy (1978). The answers of 6,366 readers of
*Redbook* come with statsmodels (extra ``demo``); nothing is downloaded and no answer is stored in this package.
"""

from __future__ import annotations

import pyarrow as pa

from deniable.errors import MissingExtraError
from deniable.survey.attribute import Attribute
from deniable.survey.schema import Schema

TITLE = "Extramarital affairs survey (Fair 1978)"

BINNING = (
    "“affairs” is the survey's measure of time spent in extramarital affairs, a number from 0 on. Its four classes are "
    "public and were fixed in advance: none (below 0.01), under 1, 1 to under 4, 4 or more. “age” is the midpoint of "
    "the questionnaire's own classes. The other answers are categories of the questionnaire."
)

_TITLES = {
    "affairs": "How much time do you spend in extramarital affairs?",
    "rate_marriage": "How do you rate your marriage?",
    "religious": "How religious are you?",
    "age": "How old are you?",
    "educ": "What is your education?",
    "occupation": "What is your occupation?",
}
"""Titles of the questions, in the order in which they are asked."""

_SCALES: dict[str, dict[float, str]] = {
    "rate_marriage": {1: "very poor", 2: "poor", 3: "fair", 4: "good", 5: "very good"},
    "religious": {1: "not", 2: "mildly", 3: "fairly", 4: "strongly"},
    "educ": {
        9: "grade school",
        12: "high school",
        14: "some college",
        16: "college graduate",
        17: "some graduate school",
        20: "advanced degree",
    },
    "occupation": {
        1: "student",
        2: "farming, semi-skilled or unskilled",
        3: "white-collar",
        4: "teacher, nurse, artist, technician",
        5: "managerial, administrative, business",
        6: "professional with advanced degree",
    },
}


def demo_schema() -> Schema:
    """Return the public list of questions and answers, written from the questionnaire and not from the answers.

    Examples
    --------
    >>> demo_schema().sizes
    (4, 5, 4, 6, 6, 6)
    """
    ages = ("under 20", "20 to 24", "25 to 29", "30 to 34", "35 to 39", "40 or over")
    spent = ("none", "under 1", "1 to under 4", "4 or more")
    attributes = {
        "affairs": Attribute("affairs", spent, edges=(0.01, 1, 4), title=_TITLES["affairs"]),
        "age": Attribute("age", ages, edges=(20, 25, 30, 35, 40), title=_TITLES["age"]),
        **{name: Attribute(name, tuple(labels.values()), title=_TITLES[name]) for name, labels in _SCALES.items()},
    }
    return Schema(tuple(attributes[name] for name in _TITLES))


def demo_answers() -> pa.Table:
    """Return the true answers, with a row for each contributor.

    Raises
    ------
    MissingExtraError
        If statsmodels is not installed.
    """
    try:
        from statsmodels.datasets import fair
    except ImportError as error:
        raise MissingExtraError('the demo needs statsmodels and its data: pip install "deniable[demo]"') from error
    frame = fair.load_pandas().data
    columns = {}
    for name in demo_schema().names:
        values = [float(value) for value in frame[name]]
        columns[name] = [_SCALES[name][value] for value in values] if name in _SCALES else values
    return pa.table(columns)

"""Counts of supports as a document for other programs: `tests/stack/test_r.py` reads one in R."""

from __future__ import annotations

import pytest

from deniable import Attribute, Collection, Schema, SimulationRandomness
from deniable.answers import counts_document
from deniable.errors import InvalidParameterError
from deniable.oracles.sketch.heavy_hitters import HeavyHitters


def test_strings_that_a_search_found_are_not_counts() -> None:
    survey = Collection(Schema((Attribute("word", text=True),)), HeavyHitters(epsilon=4.0, max_bytes=3))
    aggregate = survey.aggregate(survey.randomize({"word": ["tea", "ale"]}, SimulationRandomness(1)))
    with pytest.raises(InvalidParameterError, match="the counts of strings that a search found do not"):
        counts_document(survey, aggregate)

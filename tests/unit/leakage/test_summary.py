"""Summaries of leakage: mechanisms that cannot release single attributes are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deniable import GRR, SPL, Attribute, Schema
from deniable.errors import DeniableError, InvalidInputError, InvalidParameterError
from deniable.leakage import summarize
from deniable.oracles.sketch.heavy_hitters import HeavyHitters

SCHEMA = Schema((Attribute("bald", ("no", "yes")), Attribute("male", ("no", "yes"))))
RECORDS = np.repeat([[0, 0], [0, 1], [1, 1]], [50, 40, 10], axis=0)


@pytest.mark.parametrize(
    ("releases", "error", "message"),
    [
        ([SPL(sizes=(2, 2), epsilon=1.0)] * 2, InvalidParameterError, "“SPL” is for whole records: make a collection"),
        ([HeavyHitters(epsilon=1.0)] * 2, InvalidParameterError, "“HeavyHitters” is for open text"),
        ([GRR(k=2, epsilon=1.0)], InvalidInputError, "one entry for each of the 2 attributes, got 1"),
    ],
)
def test_releases_are_of_single_attributes(releases: Any, error: type[DeniableError], message: str) -> None:
    with pytest.raises(error, match=message):
        summarize(RECORDS, SCHEMA, releases, source="faces.csv", release="by a mechanism")


def test_open_text_has_no_leakage_of_categories() -> None:
    text = Schema((Attribute("word", text=True),))
    with pytest.raises(InvalidParameterError, match="open text, but leakage is computed for listed categories"):
        summarize(RECORDS[:, :1], text, 1.0, source="words.csv", release="by any mechanism")

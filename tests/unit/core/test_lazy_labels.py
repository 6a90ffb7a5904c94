"""Names of a million categories are made on first use, and do not change."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from deniable import Estimate
from deniable.errors import InvalidParameterError


def test_default_labels_are_made_when_read() -> None:
    estimate = Estimate(np.array([0.5, 0.25, 0.25]), 10, np.ones(3), np.ones(3))
    assert estimate.__dict__["_labels"] == ()
    assert pickle.loads(pickle.dumps(estimate)).labels == copy.deepcopy(estimate).labels == ("0", "1", "2")
    assert estimate.labels == ("0", "1", "2")
    assert estimate.labels is estimate.labels
    assert dataclasses.replace(estimate, n=11).labels == ("0", "1", "2")
    assert [line.split(":")[0].strip() for line in repr(estimate).splitlines()[1:]] == ["'0'", "'1'", "'2'"]


def test_given_labels_stay() -> None:
    estimate = Estimate(np.array([0.5, 0.5]), 10, np.ones(2), np.ones(2), labels=["yes", "no"])
    assert estimate.labels == ("yes", "no")
    assert estimate.named("smoker", ["ja", "nein"]).labels == ("ja", "nein")
    with pytest.raises(InvalidParameterError, match="labels must name all 2 categories, got 3 labels"):
        estimate.named("smoker", ["a", "b", "c"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        estimate.labels = ("a", "b")  # type: ignore[misc]

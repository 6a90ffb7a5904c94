"""A small part of `make client-law`: reports with the client's own randomness against the exact channel."""

import shutil

import pytest

from deniable.core.construction import mechanism
from tests.client_law import COPIES, PRIORS, listed, rounded, small_adaptive

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

RARE = 1e-7
"""Significance level. Randomness is real, and a correct client fails a test once in ten million runs."""


def test_reports_of_the_browsers_generator_follow_the_exact_channel() -> None:
    pivot = mechanism("PivotCoded", sizes=(2, 3, 5), epsilon="1")
    assert listed("PivotCoded", pivot, [1, 2, 4], 2000).p > RARE
    assert listed("SMP[ADP]", small_adaptive(), [1, 20], 5000).p > RARE
    assert rounded(2000).p > RARE
    assert listed("RS+RFD", mechanism("RS+RFD", sizes=(2, 3), epsilon="1", priors=PRIORS), [1, 2], 5000).p > RARE
    for sizes in ((3, 3, 3), (2, 3, 5)):
        made = mechanism("Corr-RR", sizes=sizes, epsilon="1", copy_probabilities=COPIES)
        assert listed("Corr-RR", made, [0, 1, 2], 3000).p > RARE


def test_reports_of_another_law_are_noticed() -> None:
    made, bolder = (mechanism("GRR", k=5, epsilon=epsilon) for epsilon in ("1", "1.3"))
    assert listed("GRR", bolder, [3], 5000).p > RARE
    assert listed("GRR", bolder, [3], 5000, against=made).p < RARE

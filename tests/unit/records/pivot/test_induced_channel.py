"""Noise of estimates through an induced channel, by literals."""

from __future__ import annotations

import numpy as np

from deniable.records.pivot.induced_channel import InducedChannel


def test_noise_of_others_where_everybody_is_estimated_to_hold_one_value() -> None:
    """No contributor is left for weights of the others' noise, so that all other values count alike."""
    second = np.array([[9.0, 2.0, 4.0], [3.0, 8.0, 5.0], [1.0, 6.0, 7.0]])
    known = np.ones(3, dtype=np.bool_)
    channel = InducedChannel((3,), np.eye(3), np.eye(3), np.zeros(3), known, second)
    estimate = channel.estimate(np.array([10, 0, 0]), 10, "biased")[0]
    assert estimate.frequencies.tolist() == [1.0, 0.0, 0.0]
    # Holders add the diagonal less 1. Others add the mean of 2 and 4 for value 0, and what holders of 0 add elsewhere.
    assert np.asarray(estimate.noise_present).tolist() == [8.0, 7.0, 6.0]
    assert np.asarray(estimate.noise_absent).tolist() == [3.0, 3.0, 1.0]

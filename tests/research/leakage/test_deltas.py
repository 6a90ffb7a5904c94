"""Deltas of a known channel, over all events."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from deniable import GRR
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.leakage import (
    cpl,
    mechanism_cpl,
)
from deniable.research.leakage import channel_delta, total_delta
from tests.unit.leakage.leakage_laws import random_joint

TIE = 1e-9


def test_delta_is_about_events_not_single_outputs() -> None:
    """The answer with one of a thousand nonces: each output has probability .001, all together reveal everything."""
    nonce = np.full((1, 1000), 1 / 1000)
    channel = np.kron(np.eye(2), nonce)
    assert channel_delta(channel, np.eye(2), 5.0) == pytest.approx(1.0, abs=1e-12)
    # At epsilon = CPL, a pure channel needs no delta.
    rows = np.array([[0.8, 0.2], [0.2, 0.8]])
    grr = GRR(2, 1.0).channel()
    assert channel_delta(grr, rows, cpl(grr, rows)) == pytest.approx(0, abs=1e-15)


def test_bad_arguments_are_named() -> None:
    rows = np.eye(2)
    with pytest.raises(InvalidInputError, match=r"conditional must have 3 columns \(one for each answer of GRR"):
        mechanism_cpl(GRR(3, 1.0), rows)
    with pytest.raises(InvalidInputError, match="rows that sum to one"):
        mechanism_cpl(GRR(2, 1.0), rows * 0.9)
    with pytest.raises(InvalidParameterError, match="epsilon must be finite and >= 0, got epsilon=-1"):
        mechanism_cpl(-1.0, rows)
    with pytest.raises(InvalidParameterError, match="epsilon must be >= 0"):
        channel_delta(rows, rows, -0.5)
    with pytest.raises(InvalidInputError, match="one for each column of conditional"):
        channel_delta(np.eye(3), rows, 0.5)


def test_a_known_channel_by_every_event() -> None:
    """The enumeration agrees with the definition over all sets of outputs."""
    generator = np.random.default_rng(8)
    joint = random_joint(generator, (2, 2))
    channels = [generator.dirichlet(np.ones(2), 2), generator.dirichlet(np.ones(3), 2)]
    together = np.einsum("ab,ay,bz->ayz", joint, *channels).reshape(2, -1) / joint.sum(axis=1)[:, None]
    most = max(
        together[x, list(event)].sum() - math.exp(0.3) * together[1 - x, list(event)].sum()
        for x in (0, 1)
        for size in range(7)
        for event in itertools.combinations(range(6), size)
    )
    assert total_delta(joint, channels, 0.3)[0] == pytest.approx(most, abs=TIE)

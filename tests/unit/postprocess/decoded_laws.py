"""Frequencies of several attributes with one domain, and their decoded values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import GRR, RecordEstimate
from deniable.core import shared_domain
from deniable.core.aggregate import Aggregate

Floats = NDArray[np.float64]

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "corr_rr_decoder.json").read_text())["cases"]

CASES = pytest.mark.parametrize("case", VECTORS, ids=lambda case: f"d{case['d']}-k{case['k']}-eps{case['eps']}")


def of_counts(k: int, epsilon: float, counts: list[list[int]]) -> RecordEstimate:
    grr = GRR(k, epsilon)
    rows = enumerate(counts)
    return RecordEstimate({j: grr.estimate(Aggregate(grr, np.array(row), int(sum(row)))) for j, row in rows})


def table(estimates: RecordEstimate) -> Floats:
    return np.stack([one.frequencies for one in estimates.values()])


def spike(k: int, share: float, d: int = 1) -> Floats:
    f = np.tile(np.random.default_rng(k).dirichlet(np.full(k - 1, 0.5)) * (1 - share), (d, 1))
    return np.insert(f, 3, share, axis=1)


def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return what will be the number of frequencies of every block that is decoded."""
    seen: list[int] = []
    posteriors = shared_domain._block_posteriors

    def counted(z: Any, *others: Any) -> Any:
        seen.append(len(z))
        return posteriors(z, *others)

    monkeypatch.setattr(shared_domain, "_block_posteriors", counted)
    return seen

"""Plans of a session."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.research.dealt.mpc.counts import (
    draw_types,
)
from deniable.research.dealt.mpc.plan import Plan, plan_of
from deniable.research.dealt.quota.quota_rr import QuotaRR
from tests.research.dealt.mpc.sessions import Alone
from tests.research.dealt.mpc.started import jrr


def test_plan_survives_its_journey() -> None:
    for mechanism in (QuotaRR(1.0, 30), jrr(30)):
        plan = plan_of(mechanism, 30, "network")
        assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("n", [2, 3, 7, 50])
def test_types_of_every_size_are_valid(alone: Alone, n: int) -> None:
    for k in (2, 3):
        if k >= n:
            continue
        quota = QuotaRR(1.0, n, k=k)
        plan = plan_of(quota, n)
        assert plan.law is not None
        counts = np.bincount(alone.run(draw_types(alone.session(n), plan.law, n)), minlength=k + 1)
        assert counts.sum() == n
        assert len(counts) == k + 1
        assert (counts[:k] >= quota.a0).all()

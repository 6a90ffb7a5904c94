"""The guarantee with several helpers: which of them may collude."""

from __future__ import annotations

import pytest

from deniable.research.dealt.mpc.guarantee import with_helpers
from deniable.research.dealt.quota.quota_rr import QuotaRR


@pytest.mark.parametrize(("parties", "tolerated"), [(3, 1), (4, 1), (5, 2)])
def test_guarantee_names_who_may_collude(parties: int, tolerated: int) -> None:
    quota = QuotaRR(1.0, 100, epsilon_aux=3.0)
    rows = {row.adversary: row for row in with_helpers(quota.privacy(), parties).trust_models}
    few = rows[f"collector and up to {tolerated} of {parties} helpers"]
    assert (few.epsilon, few.status) == (1.0, "assumption")
    assert "follow the protocol" in few.note
    assert rows[f"collector and more than {tolerated} of {parties} helpers"].epsilon == 3.0
    assert not any("dealer" in adversary for adversary in rows)
    assert "different organisations" in with_helpers(quota.privacy(), parties).remarks[0]

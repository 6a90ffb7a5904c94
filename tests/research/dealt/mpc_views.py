"""Helpers that shuffle two values many times and write their knowledge to a file; mpc/test_splitting starts them.

Each helper writes its pieces at place 0. Then it writes for each deal and group whether the permutation is the swap, or
-1 if the helper does not know it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deniable.research.dealt.mpc import helper
from deniable.research.dealt.mpc.plan import Plan
from deniable.research.dealt.mpc.session import Session, Shares
from deniable.research.dealt.mpc.shuffling import shuffle_by_resharing

DEALS = 200


async def deal_and_note(session: Session, plan: Plan) -> Shares:
    """Shuffle (0, 1) DEALS times."""
    assert plan.n == 2
    told: list[int] = []
    tell = Session.tell

    async def noted(self: Session, values: Shares, sender: int, receivers: Sequence[int]) -> Shares | None:
        order = await tell(self, values, sender, receivers)
        told.append(-1 if order is None else int(order[0]))
        return order

    Session.tell = noted  # type: ignore[method-assign]
    pieces = [int((await shuffle_by_resharing(session, np.arange(2)))[0]) for _ in range(DEALS)]
    return np.array([*pieces, *told])


if __name__ == "__main__":
    helper.deal = deal_and_note
    helper.main()

"""A mechanism for which several helpers deal."""

from __future__ import annotations

from deniable.research.dealt.coupling.jrr import JRR


def jrr(n: int) -> JRR:
    return JRR(p=0.6, rho=-0.5, n=n, deal_id="monday")

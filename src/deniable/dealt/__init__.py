"""Dealt coins: a dealer who sees no data deals correlated randomness, one secret share to each contributor."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.dealt.coupling.coupled_oue import CoupledOUE as CoupledOUE
    from deniable.dealt.coupling.jrr import JRR as JRR
    from deniable.dealt.coupling.jrr_local_hashing import JRRLocalHashing as JRRLocalHashing
    from deniable.dealt.coupling.kary_jrr import KaryJRR as KaryJRR
    from deniable.dealt.coupling.parameters import (
        algorithm_1 as algorithm_1,
        theorem2_as_printed as theorem2_as_printed,
    )
    from deniable.dealt.coupling.report_coupling import ReportCoupledRR as ReportCoupledRR
    from deniable.dealt.dealt import DealtMechanism as DealtMechanism
    from deniable.dealt.quota.batches import QuotaBatches as QuotaBatches, smallest_batch as smallest_batch
    from deniable.dealt.quota.quota_rr import QuotaRR as QuotaRR
    from deniable.dealt.quota.records import QuotaRecords as QuotaRecords
    from deniable.dealt.quota.unary import QuotaUnary as QuotaUnary
    from deniable.dealt.several_deals import combine_deals as combine_deals, estimate_deals as estimate_deals
    from deniable.dealt.shares import Dealer as Dealer, Shares as Shares, fresh_deal_id as fresh_deal_id
else:
    from deniable.core.lazy import attach

    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "deniable.dealt.coupling.coupled_oue": "CoupledOUE",
            "deniable.dealt.coupling.jrr": "JRR",
            "deniable.dealt.coupling.jrr_local_hashing": "JRRLocalHashing",
            "deniable.dealt.coupling.kary_jrr": "KaryJRR",
            "deniable.dealt.coupling.parameters": "algorithm_1 theorem2_as_printed",
            "deniable.dealt.coupling.report_coupling": "ReportCoupledRR",
            "deniable.dealt.dealt": "DealtMechanism",
            "deniable.dealt.quota.batches": "QuotaBatches smallest_batch",
            "deniable.dealt.quota.quota_rr": "QuotaRR",
            "deniable.dealt.quota.records": "QuotaRecords",
            "deniable.dealt.quota.unary": "QuotaUnary",
            "deniable.dealt.several_deals": "combine_deals estimate_deals",
            "deniable.dealt.shares": "Dealer Shares fresh_deal_id",
        },
    )

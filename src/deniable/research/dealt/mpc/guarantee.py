"""Guarantee of a dealt mechanism when several helpers replace the dealer."""

from __future__ import annotations

from dataclasses import replace

from deniable.core.checks import checked_integer
from deniable.core.privacy import Guarantee, TrustModel
from deniable.research.dealt.mpc.plan import MAX_PARTIES, MIN_PARTIES


def with_helpers(guarantee: Guarantee, parties: int = 3) -> Guarantee:
    """Return a dealt mechanism's guarantee with the dealer replaced by `parties` helpers.

    Let t = (parties - 1) // 2. Every row of the collector also holds if up to t helpers collude with the collector.
    What these helpers see is independent of the shares, whatever their computing power. More than t helpers together
    are the dealer. The collector's first row is printed again with the helpers in its view. Its status is "assumption",
    because helpers must follow the protocol.

    Parameters
    ----------
    guarantee : Guarantee
        Guarantee of a mechanism with a dealer, as `privacy()` returns it.
    parties : int
        Number of helpers, 3 to 5.

    Raises
    ------
    InvalidParameterError
        If the number of helpers is out of bounds.

    Examples
    --------
    >>> from deniable.research.dealt.quota.quota_rr import QuotaRR
    >>> for row in with_helpers(QuotaRR(epsilon=1.0, n=100).privacy()).trust_models:
    ...     if "helpers" in row.adversary:
    ...         print(row.adversary, row.epsilon, row.status)
    collector and up to 1 of 3 helpers 1.0 assumption
    collector and more than 1 of 3 helpers inf exact
    all 3 helpers 0.0 exact
    """
    checked_integer("parties", parties, MIN_PARTIES, MAX_PARTIES)
    tolerated = (parties - 1) // 2
    rows = [_of_helpers(row, tolerated, parties) for row in guarantee.trust_models]
    headline = next(row for row in rows if row.adversary == "collector")
    condition = "all helpers follow the protocol, over private channels"
    few = replace(
        headline,
        adversary=f"collector and up to {tolerated} of {parties} helpers",
        view=f"{headline.view}, and all that these helpers see",
        status="assumption",
        note="; ".join(filter(None, [condition, headline.note])),
    )
    remarks = [remark for remark in guarantee.remarks if "dealer" not in remark]
    return replace(
        guarantee,
        trust_models=(few, *rows),
        remarks=(
            f"every row of the collector holds as well if up to {tolerated} of the {parties} helpers collude with it; "
            "more of them are a dealer: helpers must belong to different organisations",
            *remarks,
        ),
    )


def _of_helpers(row: TrustModel, tolerated: int, parties: int) -> TrustModel:
    if row.adversary == "dealer":
        return replace(row, adversary=f"all {parties} helpers")
    return replace(row, adversary=row.adversary.replace("dealer", f"more than {tolerated} of {parties} helpers"))

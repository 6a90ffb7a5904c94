"""Deals without a dealer, by secure multi-party computation (extra `mpc`)."""

from deniable.research.dealt.mpc.guarantee import with_helpers as with_helpers
from deniable.research.dealt.mpc.splitting import (
    Helpers as Helpers,
    SplitDeal as SplitDeal,
    deal_without_dealer as deal_without_dealer,
    join_pieces as join_pieces,
    split_deal as split_deal,
)

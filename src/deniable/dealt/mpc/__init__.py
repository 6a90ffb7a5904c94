"""Dealing without a dealer, by secure multi-party computation (extra `mpc`)."""

from deniable.dealt.mpc.guarantee import with_helpers as with_helpers
from deniable.dealt.mpc.splitting import Helpers as Helpers
from deniable.dealt.mpc.splitting import SplitDeal as SplitDeal
from deniable.dealt.mpc.splitting import deal_without_dealer as deal_without_dealer
from deniable.dealt.mpc.splitting import join_pieces as join_pieces
from deniable.dealt.mpc.splitting import split_deal as split_deal

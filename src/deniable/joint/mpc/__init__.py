"""Dealing without a dealer, by secure multi-party computation (extra `mpc`)."""

from deniable.joint.mpc.guarantee import with_helpers as with_helpers
from deniable.joint.mpc.splitting import Helpers as Helpers
from deniable.joint.mpc.splitting import SplitDeal as SplitDeal
from deniable.joint.mpc.splitting import deal_without_dealer as deal_without_dealer
from deniable.joint.mpc.splitting import join_pieces as join_pieces
from deniable.joint.mpc.splitting import split_deal as split_deal

"""A helper that shuffles with mpyc's own shuffle; ``benchmarks.dealing`` starts it for comparison."""

from __future__ import annotations

import numpy as np

from deniable.research.dealt.mpc import helper
from deniable.research.dealt.mpc.session import Session, Shares
from deniable.research.dealt.mpc.shuffling import SHUFFLES


async def shuffle_by_mpyc(session: Session, values: Shares) -> Shares:
    """Return the values in a secret, uniformly random order: n secret unit vectors, O(n^2)."""
    mpc = session.runtime
    secret = mpc.SecFld(modulus=session.modulus)
    listed = [secret(secret.field(int(value))) for value in values]
    mpc.random.shuffle(secret, listed)
    shares = await mpc.gather(listed)
    return np.array([int(share.value) for share in shares], dtype=np.int64)


if __name__ == "__main__":
    SHUFFLES["mpyc"] = shuffle_by_mpyc
    helper.main()

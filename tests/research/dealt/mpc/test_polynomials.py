"""Polynomials over the helpers' field."""

from __future__ import annotations

import numpy as np

from deniable.research.dealt.mpc.polynomials import recombination, value_at


def test_polynomials_are_recombined() -> None:
    # f(x) = 5 + 3 x + 2 x^2 mod 7 has the values 3, 5, 4 at 1, 2, 3.
    assert value_at([1, 2, 3], np.array([[3], [5], [4]]), 7).tolist() == [5]
    assert value_at([2, 3], np.array([[1], [2]]), 7, at=1).tolist() == [0]
    assert recombination([1, 2, 3], 7) == [3, 4, 1]

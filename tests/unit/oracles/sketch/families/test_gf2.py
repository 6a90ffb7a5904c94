"""Fields of 2^m elements: products and polynomials, checked by trial division."""

from __future__ import annotations

from deniable.oracles.sketch.families._gf2 import is_irreducible, multiply, smallest_irreducible


def test_field_multiplication() -> None:
    """GF(2^8) modulo x^8 + x^4 + x^3 + x + 1: the textbook's {57} . {83} = {c1} and {53}^-1 = {ca} (FIPS 197)."""
    assert multiply(0x57, 0x83, 0x11B) == 0xC1
    assert multiply(0x53, 0xCA, 0x11B) == 1


def test_irreducible_polynomials_by_trial_division() -> None:
    def divides(factor: int, polynomial: int) -> bool:
        while polynomial.bit_length() >= factor.bit_length():
            polynomial ^= factor << (polynomial.bit_length() - factor.bit_length())
        return polynomial == 0

    for polynomial in range(2, 1 << 9):
        degree = polynomial.bit_length() - 1
        expected = not any(divides(factor, polynomial) for factor in range(2, 1 << (degree // 2 + 1)))
        assert is_irreducible(polynomial) == expected, bin(polynomial)
    # Seroussi, Table of low-weight binary irreducible polynomials (1998), has x^64 + x^4 + x^3 + x + 1.
    assert smallest_irreducible(64) == (1 << 64) | 0b11011

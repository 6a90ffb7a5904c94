"""Cells of Spread, computed by hand."""

from __future__ import annotations

import json
from pathlib import Path

VECTORS = json.loads((Path(__file__).parents[4] / "vectors" / "ocms_spread.json").read_text())

POLYNOMIALS = {
    int(degree): sum(bit << i for i, bit in enumerate(bits)) for degree, bits in VECTORS["irreducible_f2"].items()
}


def times_alpha(w: int, degree: int) -> int:
    w <<= 1
    return w ^ POLYNOMIALS[degree] if w >> degree & 1 else w


def cell_by_hand(k: int, m: int, row: int, x: int) -> int:
    """The module docstring's definition, level by level, in Python integers; the field polynomials are the vectors'."""
    cell_bits = m.bit_length() - 1
    bits = max((k - 1).bit_length(), cell_bits)
    bits = 2 * cell_bits if cell_bits + 1 < bits < 2 * cell_bits else bits
    while bits >= 2 * cell_bits and row >= 1 << (bits - cell_bits):
        row -= 1 << (bits - cell_bits)
        bits -= cell_bits
        x >>= cell_bits
    degree, low = (bits - cell_bits, x & (m - 1)) if bits >= 2 * cell_bits else (bits, 0)
    high = x >> cell_bits if bits >= 2 * cell_bits else x
    cell, w = low, row
    for j in range(cell_bits):
        cell ^= ((w & high).bit_count() & 1) << j
        w = times_alpha(w, degree)
    return cell

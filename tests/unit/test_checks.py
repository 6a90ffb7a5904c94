from __future__ import annotations

import random

import numpy as np
import pytest

from deniable import InvalidInputError
from deniable.checks import checked_codes, checked_records


def test_records_are_refused_exactly_when_a_code_is_out_of_range() -> None:
    """Against a plain loop, over dtypes, negative codes and domains larger than the dtype."""
    source = random.Random(1)
    refused = 0
    for _ in range(1500):
        sizes = [source.randint(2, 300) for _ in range(source.randint(1, 4))]
        dtype = np.dtype(source.choice(["i1", "u1", "i2", "u2", "i8", "u8", ">i4"]))
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        table = [[source.randint(0, min(k - 1, high)) for k in sizes] for _ in range(source.randint(1, 40))]
        if source.random() < 0.6:
            row, j = source.randrange(len(table)), source.randrange(len(sizes))
            table[row][j] = source.choice([v for v in (-1, sizes[j], high, low, 255, 200) if low <= v <= high])
        inside = all(0 <= value < k for values in table for value, k in zip(values, sizes, strict=True))
        if inside:
            assert checked_records(np.array(table, dtype=dtype), sizes).tolist() == table
        else:
            refused += 1
            with pytest.raises(InvalidInputError, match="value must be in"):
                checked_records(np.array(table, dtype=dtype), sizes)
    assert refused > 300


def test_a_negative_code_is_no_large_one() -> None:
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.199, got value=-128 in row 1"):
        checked_codes(np.array([-128], dtype=np.int8), 200)


def test_the_first_wrong_row_of_many_is_named() -> None:
    table = np.zeros((100_000, 3), dtype=np.int64)
    table[77_776, 1] = 9
    with pytest.raises(InvalidInputError, match="got value=9 in row 77777, attribute 1"):
        checked_records(table, (2, 9, 3))

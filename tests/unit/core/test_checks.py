from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from deniable import GRR, SPL, SimulationRandomness, SubsetSelection
from deniable.core.checks import MAX_ATTRIBUTES, checked_codes, checked_counts, checked_records, checked_sizes
from deniable.errors import InvalidInputError, InvalidParameterError, InvalidReportError, TooLargeError
from deniable.research.baselines import SHE, RecursiveHadamard


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
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.199, got something else in row 1"):
        checked_codes(np.array([-128], dtype=np.int8), 200)


def test_the_first_wrong_row_of_many_is_named() -> None:
    table = np.zeros((100_000, 3), dtype=np.int64)
    table[77_776, 1] = 9
    with pytest.raises(InvalidInputError, match="got something else in row 77777, attribute 1"):
        checked_records(table, (2, 9, 3))


def test_a_masked_answer_is_not_unmasked() -> None:
    answers = np.ma.MaskedArray([1, 2], mask=[True, False])
    with pytest.raises(InvalidInputError, match="values must not be a masked array"):
        GRR(k=4, epsilon=1.0).randomize(answers, SimulationRandomness(1))


@pytest.mark.parametrize("n", [1, 40])
@pytest.mark.parametrize("mechanism", [GRR(4, 1.0), SubsetSelection(40, 1.0), SHE(4, 1.0), RecursiveHadamard(4, 1.0)])
def test_a_time_span_is_no_integer(mechanism: Any, n: int) -> None:
    """numpy counts timedelta64 among its signed integers."""
    reports = mechanism.randomize(np.zeros(n, dtype=np.int64), SimulationRandomness(1))
    with pytest.raises(InvalidReportError, match="reports must have an integer dtype, got dtype=timedelta64"):
        mechanism.aggregate(reports.astype(np.int64).astype("m8[s]"))


@pytest.mark.parametrize("n", [1, 40])
@pytest.mark.parametrize(
    "mechanism",
    [GRR(300, 1.0), SubsetSelection(40, 1.0), SHE(4, 1.0), RecursiveHadamard(4, 1.0), SPL((2, 300), 1.0)],
)
def test_reports_may_come_in_the_byte_order_of_another_machine(mechanism: Any, n: int) -> None:
    shape = (n, 2) if isinstance(mechanism, SPL) else n
    reports = mechanism.randomize(np.zeros(shape, dtype=np.int64), SimulationRandomness(1))
    assert mechanism.aggregate(reports.astype(">i4")) == mechanism.aggregate(reports)


def test_true_counts_whose_sum_overflows_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"counts must sum to less than 2\^62, got sum=18446744073709551616"):
        checked_counts([2**62] * 4, 4)
    assert checked_counts([2**60] * 3, 3).tolist() == [2**60] * 3


@pytest.mark.parametrize("sizes", [np.array(5), [], "23", 5, None, {2, 3}])
def test_sizes_must_be_a_sequence(sizes: Any) -> None:
    with pytest.raises(InvalidParameterError, match="sizes must list the numbers of categories"):
        checked_sizes(sizes)


@pytest.mark.parametrize("ragged", [[[1, 2], [3]], [[0], 1]])
def test_rows_of_different_lengths_are_a_typed_error(ragged: Any) -> None:
    grr = GRR(k=4, epsilon=1.0)
    with pytest.raises(InvalidReportError, match="reports must be an array of integers, got a list"):
        grr.aggregate(ragged)
    with pytest.raises(InvalidInputError, match="values must be an array of integers, got a list"):
        grr.randomize(ragged, SimulationRandomness(1))


def test_sizes_of_too_many_attributes_are_refused() -> None:
    with pytest.raises(TooLargeError, match=f"at most {MAX_ATTRIBUTES} attributes, got {MAX_ATTRIBUTES + 1}"):
        checked_sizes((2,) * (MAX_ATTRIBUTES + 1))


@pytest.mark.parametrize(
    ("counts", "message"),
    [([1.0, 2.0], r"integers of shape \(2,\), got dtype=float64"), ([3, -1], r">= 0, got counts\[1\]=-1")],
)
def test_bad_true_counts_are_named(counts: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        checked_counts(counts, 2)

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import caching
from numpy.typing import NDArray

import deniable
from deniable.core.kernels import INTERPRETED_ROWS, PLAIN, exact_kernel, kernel


@kernel
def _add_one(values: NDArray[Any], result: NDArray[Any]) -> None:
    for i in range(values.shape[0]):
        result[i] = values[i] + 1


@pytest.mark.parametrize("rows", [1, INTERPRETED_ROWS, INTERPRETED_ROWS + 1])
def test_a_kernel_runs_where_nothing_can_be_cached(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An example is a container with a read-only file system and a user without a home."""
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="cannot cache function"):
        numba.njit(cache=True)(_add_one.interpreted)
    values, result = np.arange(rows), np.zeros(rows, dtype=np.int64)
    kernel(_add_one.interpreted)(values, result)
    assert (result == values + 1).all()


# ------------------------------------------------------------------------------------------------ on plain numbers

SOURCE = Path(deniable.__file__).parent
SIXTEEN = np.uint64(16)


@exact_kernel
def _multiply(words: NDArray[np.uint64], factor: np.uint64, highs: NDArray[np.uint64], result: NDArray[Any]) -> bool:
    for i in range(words.shape[0]):
        if PLAIN:
            highs[i] = words[i] * factor >> 64
        result[i] = np.uint64(words[i] + SIXTEEN)
    return isinstance(factor, int)


def test_few_rows_of_an_exact_kernel_run_on_plain_numbers() -> None:
    """A product of 127 bits, a non-contiguous array, a constant of the module, and the factor."""
    words = np.array([2**63, 0, 3, 0], dtype=np.uint64)[::2]
    highs, result = np.zeros(2, dtype=np.uint64), np.zeros(2, dtype=np.int32)
    words[0] = 2**30
    assert _multiply(words, np.uint64(2**63), highs, result) is True
    assert highs.tolist() == [2**29, 1]
    assert result.tolist() == [2**30 + 16, 19]


@pytest.mark.parametrize("rows", [INTERPRETED_ROWS + 1, 1])
def test_many_rows_of_an_exact_kernel_are_compiled(rows: int) -> None:
    add = exact_kernel(_add_and_tell.interpreted)
    values, result = np.arange(rows), np.zeros(rows, dtype=np.int64)
    add(values, result)
    assert result.tolist() == [value + (rows == 1) for value in range(rows)]


@kernel
def _add_and_tell(values: NDArray[Any], result: NDArray[Any]) -> None:
    for i in range(values.shape[0]):
        result[i] = values[i] + np.int64(PLAIN)


def test_what_would_wrap_around_is_an_error_where_it_is_written() -> None:
    words, result = np.array([2**64 - 1], dtype=np.uint64), np.zeros(1, dtype=np.uint64)
    with pytest.raises(ValueError, match="invalid value for format"):
        _multiply(words, np.uint64(1), result.copy(), result)
    assert result.tolist() == [0]


def _exact_kernels() -> Iterator[ast.FunctionDef]:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and "exact_kernel" in map(ast.unparse, node.decorator_list):
                yield node


def test_exact_kernels_know_all_names_that_they_use() -> None:
    """A test of its own module compares each with its compiled form, at its words' bounds; new ones need a test."""
    kernels = {one.name: one for one in _exact_kernels()}
    assert kernels.keys() == {
        *("randomize_codes", "parameters_from_words", "hash_codes", "set_codes"),
        *("choose_rows", "copy_words", "_privatise", "_surround_alike", "_multiply"),
        *("_divide", "_divide_by_product"),
    }
    for one in kernels.values():
        names = [node for part in one.body for node in ast.walk(part) if isinstance(node, ast.Attribute)]
        assert {node.attr for node in names if ast.unparse(node.value) == "np"} <= {"int64", "uint64"}, one.name

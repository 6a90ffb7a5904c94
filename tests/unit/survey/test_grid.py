"""Random rounding of numbers to a public grid: exact distribution, words, and mutants that must fail."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from deniable import GRR, Attribute, Collection, Schema, SimulationRandomness
from deniable.errors import InvalidInputError, InvalidParameterError, UnknownCategoryError
from deniable.oracles.grr import lie_threshold
from deniable.survey.grid import Cell, Grid, Number

GRIDS = (
    Grid((0.0, 1.0), 2),
    Grid((0.0, 100.0), 33),
    Grid((-2.5, 0.1), 4),
    Grid((-1e15, 1e15), 1024),
    Grid((0.001, 0.0013), 7),
)
"""Points that are short decimals, and points that no decimal is (26/30, 200/3, ...)."""

Law = Callable[[Grid, Number], Cell | None]


class Recorded:
    """Recorded words, and the number of requests."""

    def __init__(self, *words: int) -> None:
        self.words, self.requests = list(words), 0

    def fill(self, words: NDArray[np.uint64]) -> None:
        self.requests += 1
        words[:] = [self.words.pop(0) for _ in range(len(words))]


def _answers(grid: Grid) -> Iterator[Fraction]:
    """Yield decimals from the whole range: its ends, near its points, and between."""
    low, high = (Fraction(Decimal(repr(end))) for end in grid.ends)
    for parts in (10, 64, 999):
        for i in range(parts + 1):
            yield from (Fraction(round((low + (high - low) * i / parts) * 10**9), 10**9),)
    for point in grid.points[:: max(1, grid.size // 8)]:
        yield Fraction(round(point * 10**18), 10**18)


def _number(value: Fraction) -> Number:
    assert (value * 10**18).denominator == 1, "not a decimal"
    number = Number.read(f"{int(value * 10**18)}e-18")
    assert number is not None
    return number


def unbiased(law: Law) -> bool:
    """Return whether the expected point equals the answer, or is less than 2^-64 steps below it, never above."""
    for grid in GRIDS:
        step = grid.points[1] - grid.points[0]
        for value in _answers(grid):
            if not grid.points[0] <= value <= grid.points[-1]:
                continue
            cell = law(grid, _number(value))
            assert cell is not None
            up = Fraction(cell.threshold, 2**64)
            upper = grid.points[min(cell.code + 1, grid.size - 1)]
            expected = (1 - up) * grid.points[cell.code] + up * upper
            if not 0 <= value - expected < step / 2**64:
                return False
    return True


def _exact(grid: Grid, number: Number) -> tuple[int, Fraction]:
    low, high = grid.points[0], grid.points[-1]
    place = (Fraction(number.mantissa) * Fraction(10) ** number.exponent - low) * (grid.size - 1) / (high - low)
    return int(place), place - int(place)


def _nearest(grid: Grid, number: Number) -> Cell:
    code, rest = _exact(grid, number)
    return Cell(code, 2**64 if 2 * rest >= 1 else 0)


def _floats(grid: Grid, number: Number) -> Cell:
    code, rest = _exact(grid, number)
    return Cell(code, int(float(rest) * 2.0**64))


def _away(grid: Grid, number: Number) -> Cell:
    code, rest = _exact(grid, number)
    return Cell(code, -int(-rest * 2**64 // 1))


def _downwards(grid: Grid, number: Number) -> Cell:
    return Cell(_exact(grid, number)[0], 0)


def test_the_expected_point_is_the_answer() -> None:
    assert unbiased(Grid.cell)


@pytest.mark.parametrize("mutant", [_nearest, _floats, _away, _downwards])
def test_other_roundings_are_found_out(mutant: Law) -> None:
    assert not unbiased(mutant)


def test_points_stay_where_they_are_and_ends_are_points() -> None:
    for grid in (GRIDS[0], Grid((0.0, 100.0), 101), Grid((-0.3, 0.3), 7)):
        assert [grid.cell(_number(point)) for point in grid.points] == [Cell(i, 0) for i in range(grid.size)]
    assert Grid((-0.3, 0.3), 7).labels == ("-0.3", "-0.2", "-0.1", "0", "0.1", "0.2", "0.3")
    assert Grid((0.0, 1.0), 4).labels == ("0", "0.333333", "0.666667", "1")
    assert Grid((1e6, 1e6 + 1), 3).labels == ("1000000", "1000000.5", "1000001")


def test_an_answer_outside_is_nowhere_unless_clipped() -> None:
    grid = Grid((0.0, 10.0), 11)
    for text, end in (("-0.001", Cell(0, 0)), ("10.0000000000000000001", Cell(10, 0)), ("1e300", Cell(10, 0))):
        number = Number.read(text)
        assert number is not None
        assert grid.cell(number) is None
        assert grid.cell(number, clip=True) == end


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30), st.booleans())
def test_numbers_are_read_exactly_and_have_one_form(value: Decimal, plain: bool) -> None:
    text = format(value, "f") if plain else str(value)
    number = Number.read(text)
    assert number is not None
    assert Fraction(number.mantissa) * Fraction(10) ** number.exponent == Fraction(value)
    assert number == Number.read(f"+{text}0" if "." in text and not text.startswith("-") and "E" not in text else text)
    assert number.mantissa % 10 or number == (0, 0)


@pytest.mark.parametrize("text", ["", ".", "+", "e5", "1e", "1,5", "0x1", "1 ", "nan", "1e401", "1" * 401, "1e-99999"])
def test_what_is_no_number_or_too_long(text: str) -> None:
    assert Number.read(text) is None


# ---------------------------------------------------------------------- words

INCOME = Attribute("income", kind="numeric", range=(0, 8), grid=5, missing="no answer")
HOURS = Attribute("hours", kind="numeric", range=(0, 1), grid=2, clip=True)
TWO = Schema((INCOME, Attribute("sex", ("f", "m")), HOURS))
HALF, QUARTER = 2**63, 2**62


@pytest.mark.parametrize(
    ("income", "hours", "words", "codes"),
    [
        ("3", "0.25", (HALF - 1, QUARTER - 1), [2, 0, 1]),
        ("3", "0.25", (HALF, QUARTER), [1, 0, 0]),
        ("3.0", ".25", (0, 2**64 - 1), [2, 0, 0]),
        # A word is drawn but not used for a missing answer, an answer on a point, and a clipped answer.
        ("", "0.25", (0, QUARTER - 1), [5, 0, 1]),
        ("4", "7", (0, 0), [2, 0, 1]),
        ("8", "1", (0, 0), [4, 0, 1]),
    ],
)
def test_the_words_of_one_contributor(income: str, hours: str, words: tuple[int, int], codes: list[int]) -> None:
    """One word per numeric attribute, in the schema's order, in one request; the upper point if it is below T."""
    rng = Recorded(*words, 7)
    assert TWO.encode({"hours": [hours], "sex": ["f"], "income": [income]}, rng).tolist() == [codes]
    assert (rng.words, rng.requests) == ([7], 1)


def test_rounding_comes_before_the_mechanism_and_contributors_row_by_row() -> None:
    rng = Recorded(HALF - 1, QUARTER, HALF, QUARTER - 1)
    assert TWO.encode({"income": [3, 3], "sex": ["f", "m"], "hours": [0.25, 0.25]}, rng).tolist() == [
        [2, 0, 0],
        [1, 1, 1],
    ]
    survey = Collection(Schema((HOURS,)), GRR(k=2, epsilon=1.0))
    lie = lie_threshold(2, 1.0)
    for first, second in itertools.product((0, HALF - 1, HALF, 2**64 - 1), (0, lie - 1, lie, 2**64 - 1)):
        rng = Recorded(first, second)
        (report,) = survey.randomize({"hours": ["0.5"]}, rng)
        rounded = int(first < HALF)
        assert report == (rounded if second >= lie else 1 - rounded)
        assert rng.words == []


def test_rng_is_needed_for_numbers_and_for_nothing_else() -> None:
    with pytest.raises(InvalidParameterError, match=r"^rng must be given, because answers to “income” are rounded"):
        TWO.encode({"income": [1], "sex": ["f"], "hours": [1]})
    assert Schema(TWO.attributes[1:2]).encode({"sex": ["m"]}).tolist() == [[1]]
    assert TWO.read({"income": [3], "sex": ["f"], "hours": [1]}).base.tolist() == [[1, 0, 1]]


def test_the_mean_of_many_is_the_answers() -> None:
    """200,000 answers of .3 steps: the mean of the codes is binomial, six standard deviations either way."""
    n = 200_000
    codes = Schema((HOURS,)).encode(pa.table({"hours": np.full(n, 0.3)}), SimulationRandomness(1))
    assert abs(int(codes.sum()) - 0.3 * n) < 6 * (n * 0.3 * 0.7) ** 0.5


# ---------------------------------------------------------------------- columns and errors


@pytest.mark.parametrize(
    "column",
    [
        ["3", "3.0", "+3", "3e0", "0.3E1", "003"],
        [3, 3],
        [3.0, 3.0],
        pa.array([3, 3], pa.int8()),
        pa.array([3, 3], pa.float32()),
        pa.array([Decimal("3.00")], pa.decimal128(5, 2)),
        pa.array(["3", "3"]).dictionary_encode(),
    ],
)
def test_types_of_columns(column: Any) -> None:
    schema = Schema((INCOME,))
    readings = schema.read({"income": column})
    assert {tuple(row) for row in readings.base} == {(1,)}
    assert set(readings.thresholds.reshape(-1).tolist()) == {HALF}
    assert set(readings.decimals.reshape(-1)) == {"3e0"}


def test_a_float_is_its_shortest_decimal() -> None:
    tenths = Schema((Attribute("x", kind="numeric", range=(0, 1), grid=11),))
    readings = tenths.read({"x": pa.array([0.3, 0.1, 0.7])})
    assert (readings.base.tolist(), readings.thresholds.tolist()) == ([[3], [1], [7]], [[0], [0], [0]])
    assert tenths.read({"x": pa.array([0.3], pa.float32())}).thresholds.tolist() == [[0]]


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        (
            ["1", "-0.5"],
            InvalidInputError,
            "answer of attribute “x” in row 2 must be in [0, 8]; correct this answer, or declare a wider",
        ),
        ([1.0, 8.001], InvalidInputError, "answer of attribute “x” in row 2 must be in [0, 8]"),
        (["1", None], InvalidInputError, "missing answer of attribute “x” in row 2"),
        (["1", ""], InvalidInputError, "missing answer of attribute “x” in row 2"),
        (
            ["1", "inf"],
            InvalidInputError,
            "answers of attribute “x” in row 2 must be finite numbers of at most 400 digits",
        ),
        (["1", "1e999"], InvalidInputError, "answers of attribute “x” in row 2 must be finite numbers"),
        (["1", "0" * 500], InvalidInputError, "answers of attribute “x” in row 2 must be finite numbers"),
        (pa.array([1.0, float("nan")]), InvalidInputError, "answers of attribute “x” in row 2 must be finite numbers"),
        (["1", "many"], UnknownCategoryError, "unknown answer of attribute “x” in row 2: it must be a number"),
        ([[1], [2]], InvalidInputError, "column “x” must hold text or numbers"),
    ],
)
def test_answers_that_have_no_place(column: Any, error: type[Exception], message: str) -> None:
    schema = Schema((Attribute("x", kind="numeric", range=(0, 8), grid=5),))
    with pytest.raises(error) as caught:
        schema.encode({"x": column}, SimulationRandomness(1))
    assert str(caught.value).startswith(message)
    assert type(caught.value) is error


def test_missing_and_other_have_codes_after_the_points() -> None:
    x = Attribute("x", kind="numeric", range=(0, 8), grid=5, missing="-1", other="else")
    codes = Schema((x,)).encode({"x": ["-1", "-1.0", "", "many", "else", "8"]}, SimulationRandomness(1))
    assert codes[:, 0].tolist() == [5, 5, 5, 6, 6, 4]
    assert Schema((x,)).decode(codes).column("x").to_pylist() == ["-1", "-1", "-1", "else", "else", "8"]
    with pytest.raises(InvalidInputError, match=r"must be in \[0, 8\]"):
        Schema((x,)).encode({"x": ["9"]}, SimulationRandomness(1))
    assert x.code_scores is not None
    assert x.code_scores[:5].tolist() == [0, 2, 4, 6, 8]
    assert np.isnan(x.code_scores[5:]).all()


@cache
def _asking(ends: tuple[float, float], grid: int, clip: bool) -> Schema:
    return Schema((Attribute("x", kind="numeric", range=ends, grid=grid, clip=clip),))


VECTORS = Path(__file__).parents[2] / "vectors" / "rounding.json"


def test_the_vectors_for_other_clients() -> None:
    data = json.loads(VECTORS.read_text())
    for case in data["cases"]:
        schema = _asking(tuple(case["range"]), case["grid"], case["clip"])
        (code,) = schema.encode({"x": [case["answer"]]}, Recorded(int(case["word"], 16)))[0]
        readings = schema.read({"x": [case["answer"]]})
        assert readings.thresholds.tolist() == [[int(case["threshold"], 16)]]
        assert code == case["code"]
    assert len(data["cases"]) >= 100

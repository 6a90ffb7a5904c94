"""A draft schema: what it takes from the answers, what it leaves out, and what it warns of."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.survey.drafting import PUBLISHED, draft_schema, equal_edges
from deniable.survey.schema import Attribute

N = 200


def _remarks(table: pa.Table, name: str, max_categories: int = 50) -> tuple[Attribute | None, list[str]]:
    """Draft one column beside one that is always fit."""
    column = table.column(name).combine_chunks()
    fit = pa.array(["x", "y"] * (len(column) // 2 + 1)).slice(0, len(column))
    draft = draft_schema(pa.table({name: column, "fit": fit}), max_categories)
    found = [attribute for attribute in draft.schema.attributes if attribute.name == name]
    return (found[0] if found else None), [warning for warning in draft.warnings[1:] if "'fit'" not in warning]


def _drafted(column: object, max_categories: int = 50) -> tuple[Attribute | None, list[str]]:
    return _remarks(pa.table({"a": column}), "a", max_categories)


def test_categories_are_sorted_and_missing_is_one() -> None:
    assert _drafted(["b", "a", "", "b", "a"] * 20) == (Attribute("a", ("a", "b"), missing="missing"), [])
    assert _drafted(["b", "a", None, "missing"] * 20)[0] == Attribute("a", ("a", "b", "missing"), missing="missing_")


@pytest.mark.parametrize(
    "column",
    [
        [10, 9, -1, 10] * 20,
        ["10", "9", "-1", "10.0"] * 20,
        pa.array([10.0, 9.0, -1.0, 10.0] * 20),
        pa.array(["10", "9", "-1", "10"] * 20).dictionary_encode(),
    ],
)
def test_few_numbers_are_categories_in_numeric_order(column: object) -> None:
    assert _drafted(column) == (Attribute("a", ("-1", "9", "10")), [])


def test_numbers_with_leading_zeros_are_text() -> None:
    assert _drafted(["01", "1", "002"] * 20)[0] == Attribute("a", ("002", "01", "1"))
    attribute, remarks = _drafted([f"0{i}" for i in range(60)] * 20)
    assert attribute is None
    assert remarks == ["column 'a' is left out: it has 60 distinct answers, max_categories=50"]


@pytest.mark.parametrize("as_text", [True, False])
def test_many_numbers_become_round_intervals(as_text: bool) -> None:
    values = np.random.default_rng(1).uniform(17, 83, N)
    column = pa.array([*map(repr, values.tolist()), ""]) if as_text else pa.array([*values.tolist(), None])
    attribute, remarks = _drafted(column)
    assert attribute == Attribute("a", missing="missing", edges=(20, 30, 40, 50, 60, 70, 80))
    assert len(remarks) == 1
    assert "its cut points come from the smallest and the largest answer" in remarks[0]


def test_what_is_left_out_is_named() -> None:
    people = [f"person {i}" for i in range(N)]
    assert _drafted(people) == (
        None,
        ["column 'a' is left out: it looks like an identifier (200 distinct answers of 200)"],
    )
    assert _drafted(["a", "b", *people[:18]])[0] is None
    assert _drafted(people[:5])[0] == Attribute("a", tuple(people[:5]))
    assert _drafted(range(1000, 1000 + N)) == (None, ["column 'a' is left out: it numbers its rows"])
    assert _drafted([str(i) for i in range(N)]) == (None, ["column 'a' is left out: it numbers its rows"])
    assert _drafted([""] * N) == (None, ["column 'a' is left out: it is empty"])
    assert _drafted(pa.nulls(N)) == (None, ["column 'a' is left out: it is empty"])
    assert _drafted(["x"] * N) == (None, ["column 'a' is left out: it holds a single answer"])
    assert _drafted(["x", ""] * N)[0] == Attribute("a", ("x",), missing="missing")
    assert _drafted(["x", "y", "z"] * N, 2) == (
        None,
        ["column 'a' is left out: it has 3 distinct answers, max_categories=2"],
    )


def test_very_many_distinct_answers_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.survey.drafting.MAX_TRACKED", 60)
    attribute, remarks = _drafted([f"place {i % 100}" for i in range(1000)])
    assert attribute is None
    assert remarks == ["column 'a' is left out: it has at least 60 distinct answers, max_categories=50"]
    assert _drafted(np.arange(1000)[::-1])[0] == Attribute("a", edges=tuple(range(100, 1000, 100)))


def test_rare_categories_are_counted() -> None:
    draft = draft_schema(pa.table({"a": ["x"] * 90 + ["y"] * 5 + ["z"] * 4 + ["w"]}))
    assert draft.warnings == (PUBLISHED, "attribute 'a': 2 of 4 categories are held by fewer than 5 people")
    assert "published" in PUBLISHED
    assert "private answers" in PUBLISHED


@given(st.lists(st.sampled_from(["x", "y", "z", "", None]), min_size=1, max_size=40), st.integers(1, 7))
def test_batches_do_not_matter(answers: list[str | None], size: int) -> None:
    table = pa.table({"a": pa.array(answers, pa.string()), "b": pa.array(answers[::-1], pa.string())})
    try:
        whole = draft_schema(table)
    except InvalidInputError:
        with pytest.raises(InvalidInputError):
            draft_schema(table.to_batches(max_chunksize=size))
    else:
        assert draft_schema(table.to_batches(max_chunksize=size)) == whole


def test_row_numbers_across_batches() -> None:
    table = pa.table({"id": range(30), "gap": [*range(15), *range(16, 31)], "a": ["x", "y"] * 15})
    assert draft_schema(table.to_batches(max_chunksize=7), 40).schema.names == ("gap", "a")


def test_no_draft_of_nothing() -> None:
    with pytest.raises(InvalidInputError, match=r"^a schema is drafted from at least one record, got none$"):
        draft_schema(pa.table({"a": pa.array([], pa.string())}))
    with pytest.raises(
        InvalidInputError, match=r"^no column is fit for a schema: column 'a' is left out: it is empty$"
    ):
        draft_schema(pa.table({"a": [""]}))
    with pytest.raises(InvalidInputError, match=r"a column without a name is left out$"):
        draft_schema(pa.table([["x", "y"]], names=[""]))
    with pytest.raises(InvalidInputError, match=r"column 'a' must hold text or numbers, got the type list"):
        draft_schema(pa.table({"a": [["x"], ["y"]]}))
    with pytest.raises(InvalidParameterError, match=r"^max_categories must be >= 2, got max_categories=1$"):
        draft_schema(pa.table({"a": ["x", "y"]}), 1)


def test_a_draft_encodes_the_answers_it_came_from() -> None:
    rng = np.random.default_rng(2)
    table = pa.table(
        {
            "job": rng.choice(["a", "b,c", 'd"e', ""], N),
            "packs": rng.integers(0, 5, N),
            "income": rng.normal(30_000, 20_000, N),
            "height": [f"{value:.2f}" for value in rng.normal(1.7, 0.1, N)],
        }
    )
    schema = draft_schema(table, 20).schema
    assert schema.names == ("job", "packs", "income", "height")
    codes = schema.encode(table)
    assert [len(np.unique(codes[:, j])) for j in range(2)] == [4, 5]


# -------------------------------------------------------------------- round cut points


@pytest.mark.parametrize(
    ("low", "high", "intervals", "edges"),
    [
        (0, 1, 2, (1.0,)),
        (0, 1, 3, (0.5, 1.0)),
        (0.05, 0.95, 10, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)),
        (-3, 3, 10, (-2, -1, 0, 1, 2, 3)),
        (0, 5e-324, 10, (5e-324,)),
        (1e15, 1e15 + 1, 10, (1e15 + 1,)),
    ],
)
def test_equal_edges(low: float, high: float, intervals: int, edges: tuple[float, ...]) -> None:
    assert equal_edges(low, high, intervals) == edges


@given(
    st.floats(-1e308, 1e308, allow_nan=False),
    st.floats(-1e308, 1e308, allow_nan=False),
    st.integers(2, 20),
)
def test_edges_are_inside_and_few(first: float, second: float, intervals: int) -> None:
    low, high = sorted((first, second))
    if low < high:
        edges = equal_edges(low, high, intervals)
        assert 1 <= len(edges) < intervals
        assert list(edges) == sorted(set(edges))
        assert low < edges[0]
        assert edges[-1] <= high

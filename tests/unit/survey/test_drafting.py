"""Draft schemas: what they take from the answers, what they leave out, and their warnings."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from deniable import SimulationRandomness
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.survey.drafting import PUBLISHED, draft_schema
from deniable.survey.schema import Attribute

N = 200


def _remarks(
    table: pa.Table, name: str, max_categories: int = 50, kinds: bool = True
) -> tuple[Attribute | None, list[str]]:
    """Draft one column beside a column that is always usable."""
    column = table.column(name).combine_chunks()
    fit = pa.array(["x", "y"] * (len(column) // 2 + 1)).slice(0, len(column))
    draft = draft_schema(pa.table({name: column, "fit": fit}), max_categories, kinds=kinds)
    found = [attribute for attribute in draft.schema.attributes if attribute.name == name]
    return (found[0] if found else None), [warning for warning in draft.warnings[1:] if "'fit'" not in warning]


def _drafted(column: object, max_categories: int = 50, kinds: bool = True) -> tuple[Attribute | None, list[str]]:
    return _remarks(pa.table({"a": column}), "a", max_categories, kinds)


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
    assert remarks == ["column “a” is left out: it has 60 distinct answers, max_categories=50"]


@pytest.mark.parametrize("as_text", [True, False])
def test_many_numbers_become_round_intervals(as_text: bool) -> None:
    values = np.random.default_rng(1).uniform(17, 83, N)
    column = pa.array([*map(repr, values.tolist()), ""]) if as_text else pa.array([*values.tolist(), None])
    attribute, remarks = _drafted(column, kinds=False)
    assert attribute == Attribute("a", missing="missing", edges=(20, 30, 40, 50, 60, 70, 80))
    assert len(remarks) == 1
    assert "its cut points come from the smallest and the largest answer" in remarks[0]


def test_what_is_left_out_is_named() -> None:
    people = [f"person {i}" for i in range(N)]
    assert _drafted(people) == (
        None,
        ["column “a” is left out: it looks like an identifier (200 distinct answers of 200)"],
    )
    assert _drafted(["a", "b", *people[:18]])[0] is None
    assert _drafted(people[:5])[0] == Attribute("a", tuple(people[:5]))
    assert _drafted(range(1000, 1000 + N)) == (None, ["column “a” is left out: it numbers its rows"])
    assert _drafted([str(i) for i in range(N)]) == (None, ["column “a” is left out: it numbers its rows"])
    assert _drafted([""] * N) == (None, ["column “a” is left out: it is empty"])
    assert _drafted(pa.nulls(N)) == (None, ["column “a” is left out: it is empty"])
    assert _drafted(["x"] * N) == (None, ["column “a” is left out: it holds a single answer"])
    assert _drafted(["x", ""] * N)[0] == Attribute("a", ("x",), missing="missing")
    assert _drafted(["x", "y", "z"] * N, 2) == (
        None,
        ["column “a” is left out: it has 3 distinct answers, max_categories=2"],
    )


def test_very_many_distinct_answers_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.survey.drafting.MAX_TRACKED", 60)
    attribute, remarks = _drafted([f"place {i % 100}" for i in range(1000)])
    assert attribute is None
    assert remarks == ["column “a” is left out: it has at least 60 distinct answers, max_categories=50"]
    assert _drafted(np.arange(1000)[::-1], kinds=False)[0] == Attribute("a", edges=tuple(range(100, 1000, 100)))


def test_rare_categories_are_counted() -> None:
    draft = draft_schema(pa.table({"a": ["x"] * 90 + ["y"] * 5 + ["z"] * 4 + ["w"]}))
    assert draft.warnings == (PUBLISHED, "attribute “a”: 2 of 4 categories are held by fewer than 5 people")
    assert "the schema is public" in PUBLISHED
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
    with pytest.raises(
        InvalidInputError,
        match=r"^a table must have at least one record before a schema can be drafted from it, got none$",
    ):
        draft_schema(pa.table({"a": pa.array([], pa.string())}))
    with pytest.raises(
        InvalidInputError,
        match=r"^the table must have a column that a schema can use, got none. column “a” is left out: it is empty$",
    ):
        draft_schema(pa.table({"a": [""]}))
    with pytest.raises(InvalidInputError, match=r"a column without a name is left out$"):
        draft_schema(pa.table([["x", "y"]], names=[""]))
    with pytest.raises(InvalidInputError, match=r"column “a” must hold text or numbers, got the type list"):
        draft_schema(pa.table({"a": [[["x"]], [["y"]]]}))
    with pytest.raises(InvalidInputError, match=r"column “a” is left out: it holds lists$"):
        draft_schema(pa.table({"a": [["x"], ["y"]]}), kinds=False)
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
    assert [attribute.kind for attribute in schema.attributes] == ["categories", "ordered", "numeric", "numeric"]
    codes = schema.encode(table, SimulationRandomness(1))
    assert [len(np.unique(codes[:, j])) for j in range(2)] == [4, 5]


# -------------------------------------------------------------------- kinds


def test_short_spans_of_whole_numbers_are_ordered_with_what_lies_between() -> None:
    assert _drafted([1, 2, 4, 5] * 20)[0] == Attribute("a", ("1", "2", "3", "4", "5"), kind="ordered")
    assert _drafted(["0", "10.0", "3", "5", "6", "9", ""] * 20)[0] == Attribute(
        "a", tuple(map(str, range(11))), missing="missing", kind="ordered"
    )
    # Two values are codes of something, even if they are ten apart. Halves are not whole numbers.
    assert _drafted([0, 1] * 20)[0] == Attribute("a", ("0", "1"))
    assert _drafted([101, 204, 310] * 20)[0] == Attribute("a", ("101", "204", "310"))
    assert _drafted([0.5, 1, 1.5] * 20)[0] == Attribute("a", ("0.5", "1", "1.5"))
    assert _drafted([1, 2, 3] * 20, kinds=False)[0] == Attribute("a", ("1", "2", "3"))


def test_many_numbers_go_onto_a_round_grid_wider_than_the_answers() -> None:
    ages = np.random.default_rng(1).integers(17, 84, N)
    attribute, remarks = _drafted(ages)
    assert attribute == Attribute("a", kind="numeric", range=(0, 90), grid=46)
    (remark,) = remarks
    assert remark.startswith("attribute “a”: its range comes from the answers, rounded outwards. A range is public")
    assert not re.search(r"\d", remark)
    heights = np.random.default_rng(1).uniform(1.52, 1.98, N)
    assert _drafted(heights)[0] == Attribute("a", kind="numeric", range=(1.5, 2.0), grid=51)


def test_a_tail_far_away_is_clipped_and_not_published() -> None:
    values = [*np.random.default_rng(1).integers(1000, 3000, 400).tolist(), 987654321]
    attribute, remarks = _drafted(values)
    assert attribute == Attribute("a", kind="numeric", range=(0, 3000), grid=31, clip=True)
    assert "few answers lie far from all others" in remarks[1]
    assert "reported as its nearer end (clip). Make the range wider if such answers are possible" in remarks[1]
    assert "98765" not in " ".join(remarks)


def test_cells_of_no_number_are_missing_or_other() -> None:
    numbers = [f"{i * 7 % 90}.5" for i in range(200)]
    attribute, remarks = _drafted([*numbers, "NA", "n/a", "NA"])
    assert attribute is not None
    assert (attribute.kind, attribute.missing, attribute.other) == ("numeric", "NA", "no number")
    assert remarks[1] == (
        "attribute “a”: 2 cells “NA” are read as missing answers (rows 201, 203); write “n/a” in the same way if that "
        "means the same"
    )
    assert remarks[2] == (
        "attribute “a”: 1 of 203 cells are not numbers, and are reported as “no number” (row 202): correct those that "
        "should be numbers; otherwise their numbers are lost"
    )
    few, remarks = _drafted([*numbers, "about forty"])
    assert few is not None
    assert (few.kind, few.missing, few.other) == ("numeric", None, "no number")
    assert "forty" not in " ".join(remarks)
    refused, remarks = _drafted([*numbers, *["refused to say"] * 60])
    assert refused is not None
    assert (refused.kind, refused.other) == ("numeric", "no number")
    assert remarks[1].startswith("attribute “a”: 60 of 260 cells are not numbers")
    assert _drafted([*numbers, *["refused to say"] * 201])[0] is None
    assert _drafted([*numbers, *[f"about {word}" for word in ("ten", "forty", "fifty", "sixty")] * 5])[0] is None
    commas, _ = _drafted([f"{i * 7 % 90},5" for i in range(200)])
    assert commas is not None
    assert commas.kind == "numeric"
    marked, _ = _drafted(["1", "2", "3", "5", "?"] * 20)
    assert marked == Attribute("a", ("1", "2", "3", "4", "5"), missing="?", kind="ordered")


def test_several_answers_in_a_cell_or_a_list() -> None:
    cells = ["phone; tv", "tv", "", "radio;phone", "tv;radio;phone", "phone"] * 20
    attribute, remarks = _drafted(cells)
    assert attribute == Attribute("a", ("phone", "radio", "tv"), kind="multiple")
    assert remarks == [
        "attribute “a”: several answers, each an option that is reported as yes or no; cells are divided at “;”"
    ]
    assert _drafted([cell.replace(";", ", ") for cell in cells])[0] == Attribute(
        "a", ("phone", "radio", "tv"), kind="multiple", separator=","
    )
    lists = [[part.strip() for part in cell.split(";") if part] for cell in cells]
    assert _drafted([*lists, None])[0] == Attribute("a", ("phone", "radio", "tv"), missing="missing", kind="multiple")
    with_comma = pa.array([["x;y"], ["x;y", "z"]] * 20)
    assert _drafted(with_comma)[0] == Attribute("a", ("x;y", "z"), kind="multiple", separator="|")
    # A comma inside of a category does not divide answers. Nor does a semicolon in a single answer.
    for column in (["Paris, France", "Lyon, France", "Berlin, Germany"] * 20, ["a; b", "c", "d"] * 20):
        plain = _drafted(column)[0]
        assert plain is not None
        assert plain.kind == "categories"
    assert _drafted([[f"box {i}"] for i in range(30)] * 9)[1][0].endswith("30 different answers, 2 to 20 can be boxes")


def test_dates_are_cut_and_answers_that_are_one_are_counted() -> None:
    days = [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(200)]
    by_month = tuple(f"2024-{month:02}-01" for month in range(2, 13))
    for column in (days, pa.array(days).cast(pa.date32()), [f"{day} 12:30" for day in days]):
        attribute, remarks = _drafted(column)
        assert attribute == Attribute("a", edges=by_month, kind="ordered")
        assert remarks[0].startswith("attribute “a”: dates, cut by months; the cut points come from the first")
    born = _drafted([f"{1950 + i % 40}-{1 + i % 12:02}-11" for i in range(200)])[0]
    assert born == Attribute("a", edges=tuple(f"{year}-01-01" for year in range(1951, 1990)), kind="ordered")
    for column in ([f"2024-05-{1 + i % 30:02}" for i in range(200)], [f"{1800 + i}-01-01" for i in range(200)]):
        assert _drafted(column)[1] == [
            "column “a” is left out: its dates fall into one month, or are not dates of days; cut them yourself (edges)"
        ]
    months = _drafted(["2023-11", "2024-02", "2023-12", "2024-03", ""] * 20)[0]
    assert months == Attribute(
        "a", ("2023-11", "2023-12", "2024-01", "2024-02", "2024-03"), missing="missing", kind="ordered"
    )
    assert _drafted(["1950-01", "2024-12"] * 20)[0] is None
    alike = _drafted(["Yes", "yes ", "YES", "no", "so so", "so  so"] * 20)[1]
    assert alike[0].startswith("attribute “a”: 5 categories differ from another category only in case or white space")


@pytest.mark.parametrize("value", [1e15, 1e300])
def test_numbers_without_a_grid_are_left_out(value: float) -> None:
    attribute, remarks = _drafted([value * (1 + i / 8) for i in range(60)])
    assert attribute is None
    assert remarks == ["column “a” is left out: its numbers are too large or too close together"]

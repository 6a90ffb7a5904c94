"""Multiple-choice questions: one column per option, from cells, lists and chunks."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from deniable import (
    AdaptiveSMP,
    Attribute,
    Collection,
    Schema,
    SimulationRandomness,
)
from deniable.errors import InvalidInputError, InvalidParameterError, UnknownCategoryError
from tests.unit.survey.attributes import DEVICES


def test_boxes_are_columns_with_names_that_read_well() -> None:
    schema = Schema((Attribute("sex", ("f", "m")), DEVICES))
    assert schema.asked == ("sex", "devices")
    assert schema.names == ("sex", "devices: phone", "devices: radio", "devices: tv")
    assert schema.sizes == (2, 2, 2, 2)
    assert [column.labels for column in schema.columns[1:]] == [("no", "yes")] * 3
    titled = Attribute("devices", ("phone", "tv"), kind="multiple", title="What is at home?").columns
    assert [column.title for column in titled] == ["What is at home? phone", "What is at home? tv"]
    with pytest.raises(
        InvalidParameterError, match="all attributes must have different names, got “devices: tv” twice"
    ):
        Schema((DEVICES, Attribute("devices: tv", ("x", "y"))))


BOXES: tuple[list[str], ...] = (["phone", "tv"], [], ["radio"], ["tv", "tv"])
TICKED = [[1, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    "answers",
    [
        {"devices": ["phone;tv", "", "radio", "tv;tv"]},
        {"devices": ["tv ; phone;", None, " radio", ";tv"]},
        {"devices": list(BOXES)},
        pa.table({"devices": pa.array(BOXES, pa.large_list(pa.string()))}),
        pa.table({"devices": pa.array([["x"], *BOXES, None])}).slice(1, 4),
        pa.table({"devices": pa.array(["phone;tv", "", "radio", "tv"]).dictionary_encode()}),
        pd.DataFrame({"devices": ["phone;tv", None, "radio", "tv"]}),
        pd.DataFrame({"devices": list(BOXES)}),
        pl.DataFrame({"devices": list(BOXES)}),
    ],
    ids=lambda answers: type(answers).__name__,
)
def test_cells_and_lists(answers: Any) -> None:
    assert Schema((DEVICES,)).encode(answers).tolist() == TICKED


def test_missing_and_other_are_boxes() -> None:
    asked = Attribute("devices", ("phone", "tv"), missing="no answer", other="another", kind="multiple", separator="|")
    schema = Schema((asked,))
    assert schema.names[2:] == ("devices: no answer", "devices: another")
    cells = schema.encode({"devices": ["phone|fax", "", None, "no answer", "tv;phone"]}).tolist()
    assert cells == [[1, 0, 0, 1], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert schema.encode({"devices": [["fax"], [], None]}).tolist() == [[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0]]
    assert schema.encode({"devices": [None, None]}).tolist() == [[0, 0, 1, 0]] * 2
    assert schema.decode([[1, 0, 0, 1], [0, 0, 0, 0]]).to_pydict() == {"devices": ["phone|another", ""]}


def test_boxes_that_are_numbers() -> None:
    schema = Schema((Attribute("years", ("2023", "2024"), kind="multiple"),))
    assert schema.encode({"years": ["2024;2023.0", "2023"]}).tolist() == [[1, 1], [1, 0]]
    assert schema.encode({"years": [[2024], [2023, 2024]]}).tolist() == [[0, 1], [1, 1]]
    assert schema.encode({"years": [2024, 2023]}).tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        (
            ["tv", "tv;fax"],
            UnknownCategoryError,
            "unknown option of attribute “devices” in row 2: the schema has “phone”, ",
        ),
        (["tv", "tv,phone"], UnknownCategoryError, "and cells are divided at “;”; correct the answer, or declare"),
        ([["tv"], ["fax"]], UnknownCategoryError, "unknown option of attribute “devices” in row 2"),
        ([["tv"], [None]], InvalidInputError, "missing answer of attribute “devices” in row 2"),
        ([["tv"], None], InvalidInputError, "missing answer of attribute “devices” in row 2"),
        ([None, None], InvalidInputError, "missing answer of attribute “devices” in row 1"),
        (pa.array([60], pa.duration("s")), InvalidInputError, "must hold text or numbers, got the type duration[s]"),
        ([[["tv"]], []], InvalidInputError, "column “devices” must hold text or numbers"),
    ],
)
def test_answers_that_are_no_boxes(column: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        Schema((DEVICES,)).encode({"devices": column})
    assert message in str(caught.value)
    assert type(caught.value) is error


@given(st.lists(st.sets(st.sampled_from(["phone", "radio", "tv"])), max_size=8), st.integers(1, 8))
def test_chunks_and_slices_do_not_matter(answers: list[set[str]], size: int) -> None:
    expected = [[int(box in answer) for box in DEVICES.labels] for answer in answers]
    lists = [sorted(answer) for answer in answers]
    chunks = [lists[i : i + size] for i in range(0, len(lists), size)]
    table = pa.table({"devices": pa.chunked_array(chunks, pa.list_(pa.string()))})
    assert Schema((DEVICES,)).encode(table).reshape(-1, 3).tolist() == expected
    texts = pa.table({"devices": pa.chunked_array([[";".join(a) for a in c] for c in chunks], pa.string())})
    codes = Schema((DEVICES,)).encode(texts)
    assert codes.tolist() == expected
    assert Schema((DEVICES,)).decode(codes).column("devices").to_pylist() == [
        DEVICES.separator.join(box for box in DEVICES.labels if box in answer) for answer in answers
    ]


def test_the_guarantee_is_the_records_and_estimates_are_by_box() -> None:
    schema = Schema((DEVICES, Attribute("sex", ("f", "m"))))
    survey = Collection(schema, AdaptiveSMP((2, 2, 2, 2), 1.5))
    assert survey.privacy().epsilon == AdaptiveSMP((2, 2, 2, 2), 1.5).privacy().epsilon == 1.5
    answers = {"devices": ["phone;tv"] * 3000 + [""] * 1000, "sex": ["f"] * 4000}
    reports = survey.randomize(answers, SimulationRandomness(2))
    estimates = survey.estimate(survey.aggregate(reports))
    assert list(estimates) == ["devices: phone", "devices: radio", "devices: tv", "sex"]
    for name, truth in (("devices: phone", 0.75), ("devices: radio", 0), ("devices: tv", 0.75)):
        yes = estimates[name]["yes"]
        assert abs(yes.frequencies[0] - truth) < 5 * yes.standard_errors[0]
    # Words are independent, but the distribution is the same. With codes the result is identical.
    codes = schema.encode(answers)
    again = survey.randomize(codes, SimulationRandomness(2))
    assert (reports.attribute == again.attribute).all()
    assert (reports.payload == again.payload).all()

"""Numbers as people write them: the meaning of a cell, its evidence, and the question if there is none."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from typer.testing import CliRunner

from deniable import Attribute, Schema, SimulationRandomness
from deniable.cli import app
from deniable.errors import AmbiguousNumbersError, InvalidParameterError
from deniable.files.formats.tables import open_answers
from deniable.survey.decimals import Decimals, NumberColumns, plain_number, read_number
from deniable.survey.drafting import draft_schema


@pytest.mark.parametrize(
    ("cell", "reading", "number"),
    [
        ("1.746,82", "comma", "1746.82"),
        ("0,70", "comma", "0.70"),
        ("0,700", "comma", "0.700"),
        ("-1.234.567,5", "comma", "-1234567.5"),
        ("1.234.567", "comma", "1234567"),
        ("1,234,567", "point", "1234567"),
        ("1,746.82", "point", "1746.82"),
        ("0.125", "point", "0.125"),
        ("1234.567", "point", "1234.567"),
        (".5", "point", ".5"),
        ("1.5e3", "point", "1.5e3"),
        ("1 746", "plain", "1746"),
        ("1\u202f746,5", "comma", "1746.5"),
        ("12\u2019500.25", "point", "12500.25"),
        ("\u22123,5", "comma", "-3.5"),
        (" 42 ", "plain", "42"),
        ("0123", "plain", "0123"),
        ("1.746", "1.500", "1.746"),
        ("12,500", "1,500", "12,500"),
        ("1.746,82.5", "word", "1.746,82.5"),
        ("1,2,3", "word", "1,2,3"),
        ("12.34,567", "word", "12.34,567"),
        ("01.02.2024", "word", "01.02.2024"),
        ("1.2345.678", "word", "1.2345.678"),
        ("n/a", "word", "n/a"),
    ],
)
def test_a_cell_is_read_in_one_way_or_is_a_question(cell: str, reading: str, number: str) -> None:
    assert read_number(cell) == (reading, number)


@given(st.integers(-(10**10), 10**10), st.integers(0, 4), st.sampled_from(["point", "comma"]), st.booleans())
def test_every_way_to_write_a_number_is_read_as_that_number(digits: int, places: int, mark: str, grouped: bool) -> None:
    value = Fraction(digits, 10**places)
    whole, _, fraction = f"{abs(digits):0{places + 1}d}"[: -places or None], "", ""
    if places:
        fraction = f"{abs(digits):0{places + 1}d}"[-places:]
    text = f"{int(whole):,}" if grouped else whole
    if mark == "comma":
        text = text.replace(",", ".")
    text = ("-" if digits < 0 else "") + text + ({"point": ".", "comma": ","}[mark] + fraction if places else "")
    found = plain_number(text, mark)  # type: ignore[arg-type]
    assert found is not None
    assert Fraction(found) == value
    unknown = plain_number(text, None)
    assert unknown is None or Fraction(unknown) == value


def _decided(columns: dict[str, list[str]], *, points: bool = False, decimal: str | None = None) -> list[list[str]]:
    found = Decimals(Path("a.csv"), NumberColumns(dict.fromkeys(columns, ())), decimal, points)
    found.look(columns)
    return [column.to_pylist() for column in found.convert(pa.record_batch(columns), 1).columns]


def test_the_other_cells_of_a_column_decide() -> None:
    assert _decided({"a": ["1.746", "0,5"], "b": ["1.746", "0.5"]}) == [["1746", "0.5"], ["1.746", "0.5"]]
    assert _decided({"a": ["12,500", "1,234.5"], "b": ["3,250", "2.000,1"]}) == [
        ["12500", "1234.5"],
        ["3.250", "2000.1"],
    ]


@pytest.mark.parametrize(
    ("columns", "points", "named"),
    [
        ({"a": ["1.746", "980"]}, False, "the column a of"),
        ({"a": ["1,746", "980"]}, True, "the column a of"),
        ({"a": ["1.746", "0,5", "0.5"]}, True, "the column a of"),
        ({"a": ["1.746"], "b": ["2.500"], "c": ["0,5"]}, True, "the columns a, b of"),
    ],
)
def test_where_nothing_decides_there_is_one_question(columns: dict[str, list[str]], points: bool, named: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"^decimal must be given for {named} a.csv: if ") as caught:
        _decided(columns, points=points)
    assert not any(cell in str(caught.value) for cells in columns.values() for cell in cells if len(cell) > 3)
    for decimal, number in (("comma", 1746.0), ("point", 1.746)):
        first = float(_decided(columns, points=points, decimal=decimal)[0][0])
        assert first == (number if "," not in columns["a"][0] else {1746.0: 1.746, 1.746: 1746.0}[number])


def test_points_are_decimal_points_where_programs_write_them() -> None:
    assert _decided({"a": ["1.746"]}, points=True) == [["1.746"]]
    assert _decided({"a": ["1.746"], "b": ["0.5"]}) == [["1.746"], ["0.5"]]


def test_a_later_cell_asks_by_its_row_and_without_its_content() -> None:
    found = Decimals(Path("a.csv"), NumberColumns({"a": ()}), None, points=False)
    found.look({"a": ["5", "980"]})
    with pytest.raises(InvalidParameterError, match=r"column a of a\.csv, row 12: if 1\.500 is 1500 there") as caught:
        found.convert(pa.record_batch({"a": ["7", "1.746"]}), 11)
    assert "1.746" not in str(caught.value)


def test_columns_are_guessed_and_lists_of_options_are_none() -> None:
    columns = {
        "amount": ["0,5", "2,25", "refused", "1.000,5"],
        "picked": ["1,3", "2", "1,2", "2,3"],
        "town": ["Bonn, centre", "Ulm", "1,5", "x"],
        "mark": ["1,3", "2,0", "1,7", "3,3"],
    }
    found = Decimals(Path("a.csv"), NumberColumns(), None, points=False)
    found.look(columns)
    read = found.convert(pa.record_batch(columns), 1).to_pydict()
    assert read == {**columns, "amount": ["0.5", "2.25", "refused", "1000.5"], "mark": ["1.3", "2.0", "1.7", "3.3"]}
    assert list(found.remarks) == ["numbers have decimal commas in amount, mark"]


def test_labels_stay_and_white_space_is_nothing() -> None:
    found = Decimals(Path("a.csv"), NumberColumns({"a": {"9,99", " "}}), "comma", points=False)
    batch = found.convert(pa.record_batch({"a": ["9,99", " ", "1,5", "  "], "b": ["x ", "\t", "", "1,5"]}), 1)
    assert batch.to_pydict() == {"a": ["9,99", " ", "1.5", ""], "b": ["x ", "", "", "1,5"]}


TEXT = "sep=;\r\nStraße;Größe\r\n" + "".join(f"Köln {i};1{i},5\r\n" for i in range(5))


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_encodings_are_recognised_and_named(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(TEXT.encode(codec))
    with open_answers(path, numbers=NumberColumns()) as reader:
        (batch,) = reader
        remarks = reader.remarks
    assert batch.to_pydict() == {"Straße": [f"Köln {i}" for i in range(5)], "Größe": [f"1{i}.5" for i in range(5)]}
    named = {"utf-8": [], "utf-8-sig": [], "cp1252": [f"{path} is Windows-1252 (cp1252) text"]}
    assert list(remarks[:-1]) == named.get(codec, [f"{path} is UTF-16 text"])


@pytest.mark.parametrize("codec", ["utf-8", "cp1252", "utf-16-be"])
def test_an_encoding_shows_late_and_across_blocks(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    # The first letter beyond ASCII is cut in two, or is the last byte of a block.
    lines = "a,b\n" + "x,y\n" * ((1 << 18) - 2) + "x,"
    content = (lines + " " * ((1 << 20) - 1 - len(lines)) + "éü\nend,z\n").encode(codec)
    path.write_bytes(content)
    with open_answers(path) as reader:
        last = list(reader)[-1]
    assert [text.strip() for text in last.column(1).to_pylist()[-2:]] == ["éü", "z"]


def test_schema_randomize_and_estimate_ask_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Path("rent.csv").write_text(
        "rent;town\n" + "".join(f"{1 + i % 2}.{137 * i % 1000:03};{'ab'[i % 2]}\n" for i in range(90))
    )

    def run(code: int, *arguments: str) -> str:
        result = CliRunner(env={"COLUMNS": "80"}).invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == code, result.output
        return result.stderr

    question = (
        "error: decimal must be given for the column rent of rent.csv: if 1.500 is 1500 there, pass --decimal comma; "
        "if 1.500 is one and a half, pass --decimal point\n"
    )
    assert run(2, "schema", "rent.csv", "-o", "schema.json") == question
    run(0, "schema", "rent.csv", "-o", "schema.json", "--decimal", "comma")
    assert json.loads(Path("schema.json").read_text())["attributes"][0]["range"] == [0, 3000]
    run(0, "collection", "--schema", "schema.json", "--epsilon", "2", "-o", "survey.json")
    assert question in run(2, "randomize", "survey.json", "rent.csv", "-o", "reports.parquet")
    run(0, "randomize", "survey.json", "rent.csv", "-o", "reports.parquet", "--decimal", "comma")
    run(0, "aggregate", "survey.json", "reports.parquet", "-o", "all.aggregate")
    assert question in run(2, "estimate", "survey.json", "all.aggregate", "--truth", "rent.csv")
    run(0, "estimate", "survey.json", "all.aggregate", "--truth", "rent.csv", "--decimal", "comma")


def test_tables_in_memory_are_read_as_files_are(tmp_path: Path) -> None:
    rents = ["1.746,82", "980", "0,70", "2.500", " "]
    schema = Schema((Attribute("rent", kind="numeric", range=(0, 5000), grid=51, missing="none"),))
    path = tmp_path / "rents.csv"
    path.write_text("rent;n\n" + "".join(f"{rent};1\n" for rent in rents))
    with open_answers(path, ["rent"], numbers=NumberColumns(schema.number_columns)) as reader:
        parts = [schema.read(batch).codes(SimulationRandomness(3)) for batch in reader]
    for table in (
        {"rent": rents},
        pa.table({"rent": pa.array(rents).dictionary_encode()}),
        pa.table({"rent": pa.array(rents, pa.large_string())}),
    ):
        codes = schema.encode(table, SimulationRandomness(3))
        assert codes.tolist() == np.concatenate(parts).tolist()
    # Programs write points. Cells that contradict this decide, and a person who knows better can say so.
    assert schema.encode({"rent": ["1.500"]}, SimulationRandomness(3))[0, 0] <= 1
    assert schema.encode({"rent": ["1.500"]}, SimulationRandomness(3), decimal="comma").tolist() == [[15]]
    with pytest.raises(AmbiguousNumbersError, match="the column rent of the table: if 1,500 is 1500 there, pass"):
        schema.encode({"rent": ["1,500"]}, SimulationRandomness(3))
    drafted = draft_schema({"rent": [f"{i},5" for i in range(60)]}).schema.attributes[0]
    assert drafted.kind == "numeric"

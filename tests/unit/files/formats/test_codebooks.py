"""Codebooks for R, Stata and SPSS."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deniable import Collection, Schema
from deniable.cli import app
from deniable.core.construction import mechanism
from deniable.errors import InvalidParameterError
from deniable.files import variables, write_codebook
from deniable.survey.schema import Attribute
from tests.unit.files.formats.forms import EXPECTED, _survey


def test_pandas_reads_the_codebook_for_stata(tmp_path: Path) -> None:
    from pandas.io.stata import StataReader

    write_codebook(_survey(), tmp_path / "codebook.dta")
    with StataReader(tmp_path / "codebook.dta") as reader:
        assert reader.variable_labels() == {name: title for name, (title, _) in EXPECTED.items()}
        labels = {name: {int(code): text for code, text in of.items()} for name, of in reader.value_labels().items()}
        assert list(labels.values()) == [of for _, of in EXPECTED.values()]
        assert reader.data_label.startswith("epsilon 1; mechanism SPL")


def test_csv_readers_read_the_codebook_for_r(tmp_path: Path) -> None:
    write_codebook(_survey(), tmp_path / "codebook.csv")
    with (tmp_path / "codebook.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found: dict[str, tuple[str, dict[int, str]]] = {}
    for row in rows:
        if row["value"]:
            found.setdefault(row["variable"], (row["title"], {}))[1][int(row["value"])] = row["value_label"]
    assert found == EXPECTED
    assert {"variable": "survey", "title": "epsilon", "value": "", "value_label": "1"} in rows


def test_codebooks_need_codes_and_a_known_ending(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"output must end in \.csv, \.dta or \.sav"):
        write_codebook(_survey(), tmp_path / "codebook.xlsx")
    text = Collection(Schema((Attribute("url", text=True),)), mechanism("HeavyHitters", epsilon="4"))
    with pytest.raises(InvalidParameterError, match="asks for open text"):
        variables(text)
    command = ["codebook", str(tmp_path / "survey.json"), "-o", str(tmp_path / "codebook.sav")]
    _survey().save(tmp_path / "survey.json")
    assert CliRunner().invoke(app, command).exit_code == 0
    assert CliRunner().invoke(app, command).exit_code != 0
    assert CliRunner().invoke(app, [*command, "--force"]).exit_code == 0

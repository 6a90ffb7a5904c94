"""Data sets of the experiments: made from their origin's files, and checked by columns, rows and content."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from experiments import overview
from experiments.data_sets import MAKERS, DataError, DataSet, content, data_sets, prepare, verify
from experiments.harness import ASKED, MissingDataError, Paper, Run, data_file
from typer.testing import CliRunner

from tests.real_data import requires_data

RAW: dict[str, tuple[dict[str, str], str]] = {
    "adult.csv.gz": (
        {
            "adult.data": "39, State-gov, <=50K\n50, ?, >50K\n\n",
            "adult.test": "|1x3 Cross validator\n25, Private, <=50K.\n\n",
        },
        "{}\n39,State-gov,<=50K\n50,?,>50K\n25,Private,<=50K\n",
    ),
    "mushroom.csv": ({"agaricus-lepiota.data": "p,x,s\ne,?,s\n"}, "{}\np,x,s\ne,?,s\n"),
    "nursery.csv": ({"nursery.data": "usual,proper\n\n"}, "{}\nusual,proper\n"),
    "firm_teacher_clave.csv": (
        {"ClaveVectors_Firm-Teacher_Model.txt": "1 0 1\r\n0 0 1 error fixed\r\n"},
        "{}\n1,0,1\n0,0,1\n",
    ),
    "drug_consumption.csv": ({"drug_consumption.data": "1,0.49788,CL5\n"}, "{}\n1,0.49788,CL5\n"),
    "celeba_attr.csv.gz": (
        {"list_attr_celeba.txt": "2\nBald Male \n000001.jpg -1  1\n000002.jpg  1 -1\n"},
        "{}\n0,1\n1,0\n",
    ),
    "lfw_attributes_sign.csv.gz": (
        {"lfw_attributes.txt": "# 73 attributes\n#\tperson\timagenum\tMale\nA B\t1\t0.5\nA B\t2\t-0.25\nC\t1\t0\n"},
        "{}\n1\n0\n0\n",
    ),
    "cardio_train.csv.gz": ({"cardio_train.csv": "id;age\n0;18393\n"}, "id;age\n0;18393\n"),
    "womens_clothing.csv": (
        {"Womens Clothing E-Commerce Reviews.csv": ',Age,Review Text,Rating\n0,33,"Fits, ""well"",\nand",4\n1,34,,\n'},
        "{}\n33,4\n34,\n",
    ),
    "brfss2015_health.csv.gz": (
        {"diabetes_binary_health_indicators_BRFSS2015.csv": "a,BMI\n0.0,40.0\n1.0,20.0\n"},
        "a,BMI\n0,40\n1,20\n",
    ),
    "acs_employment_montana.csv": ({"db_ACSEmployement.csv": "A,B\r\n1,16.0\r\n"}, "A,B\r\n1,16.0\r\n"),
    "fair_affairs.csv": ({"fair.csv": '"age","affairs"\r\n32,0.1\r\n'}, "age,affairs\n32,0.1\n"),
}
"""Small examples of each origin's format: raw files, and the file to make; {} stands for the header."""

COLUMNS = {
    "adult.csv.gz": ["age", "workclass", "income"],
    "firm_teacher_clave.csv": ["v1", "v2", "forward_clave"],
    "celeba_attr.csv.gz": ["Bald", "Male"],
    "lfw_attributes_sign.csv.gz": ["Male"],
    "womens_clothing.csv": ["Age", "Rating"],
}


def _small(name: str) -> tuple[DataSet, dict[str, bytes], bytes]:
    raw, template = RAW[name]
    made = template.replace("{}", ",".join(COLUMNS.get(name, ["c", "d"])))
    given = data_sets()[name]
    columns = made.splitlines()[0].split(given.delimiter)
    digest = hashlib.sha256(made.encode()).hexdigest()
    small = replace(given, rows=len(made.splitlines()) - 1, columns=columns, sha256=digest)
    return small, {file: text.encode() for file, text in raw.items()}, made.encode()


@pytest.mark.parametrize("name", RAW)
def test_files_are_made_from_their_origins(name: str) -> None:
    data, raw, made = _small(name)
    assert set(raw) == set(data_sets()[name].origin)
    assert MAKERS[name](data, raw) == made


def test_kosarak_is_a_prefix() -> None:
    lines = [f"{line} {line + 1} \n" for line in range(100_002)]
    raw = {"kosarak.dat.gz": gzip.compress("".join(lines).encode())}
    made = MAKERS["kosarak_first100k.dat.gz"](data_sets()["kosarak_first100k.dat.gz"], raw).splitlines()
    assert (len(made), made[0], made[-1]) == (100_000, b"0 1", b"99999 100000")


def test_every_data_set_has_a_maker_and_a_licence() -> None:
    assert set(MAKERS) == set(data_sets())
    for data in data_sets().values():
        assert data.licence
        assert data.page.startswith("http")
        assert all(place is None or place.startswith(("http", "package:")) for place in data.origin.values())


def test_a_file_placed_by_hand_is_accepted_and_verified(tmp_path: Path) -> None:
    data, raw, made = _small("adult.csv.gz")
    (tmp_path / "raw").mkdir()
    for name, text in raw.items():
        (tmp_path / "raw" / name).write_bytes(text)
    assert prepare(data, tmp_path) == "made, verified"
    assert content(tmp_path / data.name) == made
    assert prepare(data, tmp_path) == "there, verified"
    # The file was compressed by another program, but its content counts.
    (tmp_path / data.name).write_bytes(gzip.compress(made, 1))
    assert prepare(data, tmp_path) == "there, verified"


def test_a_file_is_fetched_from_its_address(tmp_path: Path) -> None:
    data, raw, made = _small("nursery.csv")
    (tmp_path / "elsewhere").write_bytes(raw["nursery.data"])
    published = replace(data, origin={"nursery.data": (tmp_path / "elsewhere").as_uri()})
    assert prepare(published, tmp_path / "data") == "made, verified"
    assert (tmp_path / "data" / "nursery.csv").read_bytes() == made


def test_what_only_a_person_can_fetch_is_said(tmp_path: Path) -> None:
    data, *_ = _small("cardio_train.csv.gz")
    with pytest.raises(DataError, match=r"get cardio_train.csv from https://www.kaggle.com/.* and place it in .*/raw"):
        prepare(data, tmp_path)
    out_of_reach = replace(data, origin={"cardio_train.csv": (tmp_path / "nothing").as_uri()})
    with pytest.raises(DataError, match=r"cannot be had.*; get cardio_train.csv"):
        prepare(out_of_reach, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"columns": ["parents", "form"]}, "its columns are .*proper"),
        ({"rows": 7}, "it has 1 rows, and should have 7"),
        ({"sha256": "0"}, "content's SHA-256 is"),
    ],
)
def test_a_wrong_file_is_named_and_not_written(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    data, raw, made = _small("nursery.csv")
    data = replace(data, columns=["c", "proper"] if "columns" in change else data.columns)
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "nursery.data").write_bytes(raw["nursery.data"])
    with pytest.raises(DataError, match=said):
        verify(replace(data, **change), made.replace(b"c,d", b"c,proper") if "columns" in change else made)
    if "columns" not in change:
        with pytest.raises(DataError, match=said):
            prepare(replace(data, **change), tmp_path)
        assert not (tmp_path / "nursery.csv").exists()


def test_a_wrong_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    data, *_ = _small("adult.csv.gz")
    (tmp_path / data.name).write_bytes(b"not gzip")
    with pytest.raises(DataError, match="is not a gzip file"):
        prepare(data, tmp_path)
    assert (tmp_path / data.name).read_bytes() == b"not gzip"


@requires_data
@pytest.mark.parametrize("name", list(data_sets()))
def test_the_files_at_hand_are_the_right_ones(name: str) -> None:
    path = Path(os.environ["DENIABLE_DATA"]) / name
    if not path.is_file():
        pytest.skip(f"there is no {name}")
    verify(data_sets()[name], content(path))


# ---------------------------------------------------------------- all papers


def test_every_paper_and_command_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    shown = CliRunner().invoke(overview.app, []).output
    for name in overview.PAPERS:
        for experiment in overview.paper(name).experiments:
            assert f"  {experiment} " in shown
    assert overview.span(overview.measured()["ocms"]["zipf"]["seconds"]) in shown


def test_every_file_that_an_experiment_names_can_be_made() -> None:
    modules = [path for name in overview.PAPERS for path in (Path(overview.__file__).parent / name).glob("*.py")]
    sources = "".join(path.read_text(encoding="utf-8") for path in modules)
    named = set(re.findall(r'"(\w+\.(?:csv|dat)(?:\.gz)?)"', sources))
    assert len(named) > 10
    assert named <= set(data_sets())


def test_times_and_data_are_those_of_commands_that_exist() -> None:
    for name, entries in overview.measured().items():
        assert set(entries) <= set(overview.paper(name).experiments)
        for entry in entries.values():
            assert entry["seconds"] > 0
            assert set(entry["data"]) <= set(data_sets())
        quick = {one.name for one in overview.paper(name).experiments.values() if one.quick is not None}
        assert not [one for one in quick & set(entries) if entries[one]["data"]]


def test_all_without_data_runs_what_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DENIABLE_DATA", raising=False)
    paper, seen = Paper("paper"), list[tuple[str, int]]()

    @paper.experiment("needs", "reads a file", runs=5)
    def _needs(_: Run) -> None:
        data_file("adult.csv.gz")

    @paper.experiment("free", "reads nothing", runs=5, quick=2)
    def _free(run: Run) -> None:
        seen.append((run.name, run.runs))

    monkeypatch.setattr(overview, "PAPERS", {"paper": "a paper"})
    monkeypatch.setattr(overview, "paper", lambda _: paper)
    result = CliRunner().invoke(overview.app, ["all", "-o", str(tmp_path)])
    assert result.exit_code == 0
    assert "left out: paper needs: adult.csv.gz is needed: set DENIABLE_DATA" in result.output
    assert "1 commands in" in result.output
    assert CliRunner().invoke(overview.app, ["all", "--quick", "-o", str(tmp_path)]).exit_code == 0
    assert seen == [("free", 5), ("free", 2)]
    assert paper.run_all(tmp_path)[0] == ["free"]


def test_the_data_command_says_what_may_be_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    small = {name: _small(name)[0] for name in ("nursery.csv", "celeba_attr.csv.gz")}
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "nursery.data").write_bytes(_small("nursery.csv")[1]["nursery.data"])
    monkeypatch.setattr(overview, "data_sets", lambda: small)
    result = CliRunner().invoke(overview.app, ["data", "--folder", str(tmp_path)])
    assert result.exit_code == 2
    assert "made, verified" in result.output
    assert "NO: CUHK MMLab" in result.output
    assert "get list_attr_celeba.txt from" in result.output
    assert CliRunner().invoke(overview.app, ["data", "nursery.csv", "--folder", str(tmp_path)]).exit_code == 0
    assert CliRunner().invoke(overview.app, ["data", "nonsense", "--folder", str(tmp_path)]).exit_code == 2


def test_a_command_is_measured_with_the_data_it_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DENIABLE_DATA", str(tmp_path))
    (tmp_path / "nursery.csv").touch()
    ASKED.clear()
    paper = Paper("paper")

    @paper.experiment("reads", "reads a file")
    def _reads(run: Run) -> None:
        data_file("nursery.csv")
        run.save_table([{"a": 1}])

    monkeypatch.setattr(overview, "paper", lambda _: paper)
    found = overview.cost("paper", "reads", tmp_path, 1)
    assert (tmp_path / "paper" / "reads.csv").exists()
    assert found["data"] == ["nursery.csv"]
    assert found["seconds"] > 0
    assert json.dumps(found)


def test_a_missing_file_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DENIABLE_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match="python -m experiments data"):
        data_file("adult.csv.gz")

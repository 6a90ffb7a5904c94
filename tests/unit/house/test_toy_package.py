"""A mechanism in one file outside the package, found by its entry point, works in all parts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import deniable as dn
from deniable.cli import app
from deniable.core.names import mechanism_class
from deniable.errors import BrokenLawError
from deniable.leakage import audit, mechanism_cpl
from deniable.planning import plan
from deniable.postprocess import iterative_bayes
from deniable.research.adversary import attack_success
from deniable.testing import check_mechanism

PACKAGE = Path(__file__).parents[2] / "toy_package"


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(PACKAGE))
    mechanism_class.cache_clear()
    yield
    mechanism_class.cache_clear()


def toy(k: int = 4, epsilon: float = 1.0) -> Any:
    return dn.mechanism("toyrr", k=k, epsilon=epsilon)


@pytest.mark.parametrize(
    ("k", "epsilon"), [(3, 1.0), *(pytest.param(*one, marks=[pytest.mark.long]) for one in ((2, 0.5), (5, 3.0)))]
)
def test_the_laws_hold(k: int, epsilon: float) -> None:
    checked = check_mechanism(toy(k, epsilon))
    assert len(checked.held) >= 16
    assert not checked.skipped


def test_a_class_without_an_entry_point_keeps_every_law_that_needs_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = toy(3)
    monkeypatch.setattr("deniable.core.names.extensions", lambda _: ())
    mechanism_class.cache_clear()
    checked = check_mechanism(mechanism, registered=False)
    assert [law for law, _ in checked.skipped] == ["is_found_by_name"]
    assert "entry point" in str(checked)
    with pytest.raises(BrokenLawError, match=r"breaks is_found_by_name: .*entry point .*“ToyRR”"):
        check_mechanism(mechanism)


def test_a_toy_with_grrs_law_gives_grrs_numbers() -> None:
    mine, theirs = toy(), dn.GRR(k=4, epsilon=1.0)
    assert mine.implemented_ratio() == theirs.implemented_ratio()
    assert (mine.channel(exact=True) == theirs.channel(exact=True)).all()
    inputs = np.arange(400) % 4
    reports = mine.randomize(inputs, dn.SimulationRandomness(1))
    np.testing.assert_array_equal(reports, theirs.randomize(inputs, dn.SimulationRandomness(1)))
    own, other = (one.estimate(one.aggregate(reports)) for one in (mine, theirs))
    np.testing.assert_array_equal(own.frequencies, other.frequencies)
    np.testing.assert_array_equal(own.interval(0.95), other.interval(0.95))
    f = [0.1, 0.2, 0.3, 0.4]
    np.testing.assert_allclose(mine.covariance(f, 400), theirs.covariance(f, 400), rtol=1e-14)
    rows = [[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.3, 0.5]]
    assert mechanism_cpl(mine, rows) == mechanism_cpl(theirs, rows)
    assert attack_success(mine) == attack_success(theirs)
    decoded, same = (iterative_bayes(one, one.aggregate(reports)).frequencies for one in (mine, theirs))
    np.testing.assert_array_equal(decoded, same)
    audits = [audit(one, rng=dn.SimulationRandomness(3), samples=20_000) for one in (mine, theirs)]
    assert audits[0].epsilon_lower == audits[1].epsilon_lower
    assert audits[0].pair == audits[1].pair


def test_a_plan_compares_it() -> None:
    rows = plan([4], 1.0, 1000, mechanisms=["ToyRR", "GRR"]).rows
    assert {row.name for row in rows} == {"ToyRR", "GRR"}
    assert rows[0].mean_variance == rows[1].mean_variance


def test_it_goes_through_files_and_the_command_line(tmp_path: Path) -> None:
    answers = tmp_path / "answers.csv"
    answers.write_text("smoker\n" + "yes\nno\nno\nformer\n" * 100)
    (tmp_path / "schema.json").write_text(dn.Schema((dn.Attribute("smoker", ("yes", "no", "former")),)).to_json())

    def run(*words: str) -> str:
        result = CliRunner().invoke(app, [*words])
        assert result.exit_code == 0, result.output
        return result.output

    names = ("survey.json", "reports.parquet", "day.aggregate", "page.html", "page.png")
    survey, reports, day, html, png = (str(tmp_path / name) for name in names)
    schema = str(tmp_path / "schema.json")
    run("collection", "--schema", schema, "--epsilon", "1", "--mechanism", "toy-rr", "-o", survey)
    assert json.loads(Path(survey).read_text())["mechanism"]["mechanism"] == "ToyRR"
    assert "ToyRR" in run("inspect", survey)
    run("randomize", survey, str(answers), "-o", reports)
    run("aggregate", survey, reports, "-o", day)
    assert "smoker" in run("estimate", survey, day, "--html", html, "--plot", png)
    assert "ToyRR" in Path(html).read_text()
    assert Path(png).read_bytes().startswith(b"\x89PNG")


# ------------------------------------------------------------------------------------------------------------ records


def toy_records(epsilon: float = 2.0) -> Any:
    return dn.mechanism("toysplit", sizes=(2, 3), epsilon=epsilon)


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (4,)])
def test_the_laws_hold_for_records(sizes: tuple[int, ...]) -> None:
    checked = check_mechanism(dn.mechanism("ToySplit", sizes=sizes, epsilon=1.0))
    assert len(checked.held) >= 13
    assert not checked.skipped


def test_a_toy_for_records_with_spls_law_gives_spls_numbers() -> None:
    mine, theirs = toy_records(), dn.SPL(sizes=(2, 3), epsilon=2.0)
    assert (mine.channel(exact=True) == theirs.channel(exact=True)).all()
    assert mine.privacy().per_attribute == theirs.privacy().per_attribute
    records = np.stack([np.arange(600) % 2, np.arange(600) // 7 % 3], axis=1)
    reports = mine.randomize(records, dn.SimulationRandomness(1))
    np.testing.assert_array_equal(reports, theirs.randomize(records, dn.SimulationRandomness(1)))
    own, other = (one.estimate(one.aggregate(reports)) for one in (mine, theirs))
    found: list[Any] = [iterative_bayes(one, one.aggregate(reports)) for one in (mine, theirs)]
    for j in range(2):
        np.testing.assert_array_equal(found[0][j].frequencies, found[1][j].frequencies)
        np.testing.assert_array_equal(own[j].frequencies, other[j].frequencies)
        np.testing.assert_array_equal(own[j].interval(0.95), other[j].interval(0.95))
        assert attack_success(mine.oracles[j]) == attack_success(theirs.oracles[j])


def test_records_of_another_package_go_through_files_and_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All commands print the same about it as about SPL."""
    monkeypatch.chdir(tmp_path)
    answers = ["yes,a", "no,b", "no,c", "yes,b", "no,c"] * 80
    Path("answers.csv").write_text("smoker,drinks\n" + "\n".join(answers) + "\n")
    attributes = (dn.Attribute("smoker", ("yes", "no")), dn.Attribute("drinks", ("a", "b", "c")))
    Path("schema.json").write_text(dn.Schema(attributes).to_json())

    def run(*words: str) -> str:
        result = CliRunner().invoke(app, [*words])
        assert result.exit_code == 0, result.output
        return result.stdout

    said: dict[str, list[Any]] = {}
    for name, given in (("ToySplit", "toy-split"), ("SPL", "SPL")):
        survey, day = f"{name}.json", f"{name}.aggregate"
        run("collection", "--schema", "schema.json", "--epsilon", "2", "--mechanism", given, "-o", survey)
        assert name in run("inspect", survey)
        run("randomize", survey, "answers.csv", "-o", f"{name}.parquet", "--allow-repeat")
        run("aggregate", survey, f"{name}.parquet", "-o", f"{name}.2.aggregate")
        collection = dn.Collection.load(survey)
        columns = zip(*(row.split(",") for row in answers), strict=True)
        records = collection.schema.encode(dict(zip(("smoker", "drinks"), columns, strict=True)))
        mechanism: Any = collection.mechanism
        collection.aggregate(mechanism.randomize(records, dn.SimulationRandomness(1))).save(day)
        shown = json.loads(run("estimate", survey, day, "--json"))
        run("estimate", survey, day, "--html", f"{name}.html", "--plot", f"{name}.png")
        assert name in Path(f"{name}.html").read_text()
        assert Path(f"{name}.png").read_bytes().startswith(b"\x89PNG")
        leaks = json.loads(run("leakage", "answers.csv", "--collection", survey, "--json"))
        audited = json.loads(run("audit", survey, "--samples", "6000", "--seed", "1", "--json"))
        words = ("--sizes", "2,3", "--epsilon", "2", "--contributors", "400", "--mechanism", given, "--json")
        (planned,) = (row for row in json.loads(run("plan", *words))["rows"] if row.pop("name") in (name, "SPL[GRR]"))
        planned["parameters"].pop("oracle", None)  # only SPL has this parameter
        said[name] = [shown["attributes"], leaks["pairs"], leaks["totals"], audited["clients"], planned]
    assert said["ToySplit"] == said["SPL"]

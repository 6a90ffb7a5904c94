"""Collections made on the command line: the default, requirements, and mechanisms by name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import QUESTIONS, N, Run, schema_text


def test_collection_recommends_says_why_and_shows_the_guarantee(run: Run) -> None:
    result = run("collection", "--schema", "schema.json", "--epsilon", "1", "-o", "survey.json", "--title", "Survey")
    assert result.exit_code == 0
    assert "\nGuarantee: epsilon = 1 for the whole contributor; odds change at most 2.72-fold\n" in result.stdout
    assert "recommended" in result.stdout
    data = json.loads(Path("survey.json").read_text())
    assert data["title"] == "Survey"
    assert data["mechanism"]["epsilon"] == "1"
    assert data["id"] in result.stdout


def test_the_default_for_records_goes_all_the_way(run: Run) -> None:
    """Different oracles side by side go through files and are decoded together."""
    generator = np.random.default_rng(3)
    towns = [f"town {i}" for i in range(40)]
    schema = json.loads(schema_text("smoker", "colour"))
    schema["attributes"] += [{"name": name, "categories": towns} for name in ("born", "lives")]
    Path("wide.json").write_text(json.dumps(schema))
    rows = [line.split(",") for line in Path("answers.csv").read_text().splitlines()[1:]]
    rows = [[*row, *generator.choice(towns, 2, p=np.arange(1, 41) / 820)] for row in rows]
    Path("wide.csv").write_text("\n".join(map(",".join, [["smoker", "colour", "born", "lives"], *rows])))
    made = run("collection", "--schema", "wide.json", "--epsilon", "2", "-o", "wide-survey.json")
    assert made.exit_code == 0, made.output
    text = " ".join(made.stdout.split())
    assert "mechanism: SMP[ADP]" in text
    inspected = " ".join(run("inspect", "wide-survey.json").stdout.split())
    assert "the sampled attribute is visible to the collector" in inspected
    assert "one sampled attribute has" in text
    assert "oracles by size: 2 x GRR, 2 x SubsetSelection" in text
    for arguments in (
        ("randomize", "wide-survey.json", "wide.csv", "-o", "reports.parquet"),
        ("aggregate", "wide-survey.json", "reports.parquet", "-o", "all.aggregate"),
    ):
        assert run(*arguments).exit_code == 0
    shown = run(
        "estimate",
        "wide-survey.json",
        "all.aggregate",
        "--truth",
        "wide.csv",
        "--postprocess",
        "hierarchical",
        "--json",
    )
    assert shown.exit_code == 0, shown.output
    data = json.loads(shown.stdout)
    assert data["processing"] == ["hierarchical"]
    assert sum(attribute["reports"] for attribute in data["attributes"]) == N
    errors = []
    for attribute in data["attributes"]:
        rows = attribute["categories"]
        assert sum(row["processed"] for row in rows) == pytest.approx(1)
        errors.append([[(row[kind] - row["truth"]) ** 2 for row in rows] for kind in ("estimate", "processed")])
    # Two attributes share a list of forty categories. The decoder has a third of the error or less here.
    for raw, decoded in errors[2:]:
        assert sum(decoded) < 0.5 * sum(raw)
    page = run("estimate", "wide-survey.json", "all.aggregate", "--html", "page.html", "--verbose")
    assert "mechanism SMP[ADP] over GRR, SubsetSelection" in page.stdout


@pytest.mark.parametrize(
    ("options", "mechanism", "says"),
    [
        (("--full-record",), "PivotCoded", "coded into a full record"),
        (("--hide-sampled-attribute",), "RS+FD", "fakes that hide the sampled attribute (RS+FD["),
        (
            ("--hide-sampled-attribute", "--contributors", "1000000"),
            "RS+FD",
            "Corr-RR has an expected squared error of",
        ),
        (
            ("--hide-sampled-attribute", "--contributors", "300"),
            "SPL",
            "deniable learn makes phase two, Corr-RR, from its aggregate predicted: both phases together have",
        ),
    ],
)
def test_wishes_about_the_default_for_records(run: Run, options: tuple[str, ...], mechanism: str, says: str) -> None:
    schema = json.loads(schema_text("colour"))
    schema["attributes"] += [{"name": f"q{j}", "categories": QUESTIONS["colour"]} for j in range(3)]
    Path("four.json").write_text(json.dumps(schema))
    made = run("collection", "--schema", "four.json", "--epsilon", "0.5", *options, "-o", "survey.json")
    assert made.exit_code == 0, made.output
    assert json.loads(Path("survey.json").read_text())["mechanism"]["mechanism"] == mechanism
    assert says in " ".join(made.stdout.split())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--mechanism", "SPL"), {"mechanism": "SPL", "oracle": "GRR"}),
        (("--mechanism", "smp[adp]"), {"mechanism": "SMP[ADP]"}),
        (("--mechanism", "PivotCoded"), {"mechanism": "PivotCoded"}),
        (("--mechanism", "SMP", "--oracle", "OUE"), {"mechanism": "SMP", "oracle": "OUE"}),
        (("--mechanism", "spl[oue]"), {"mechanism": "SPL", "oracle": "OUE"}),
        (("--mechanism", "RSFD", "--oracle", "GRR"), {"mechanism": "RS+FD", "oracle": "GRR"}),
        (
            ("--mechanism", "RSRFD", "--set", "priors=[[0.5,0.5],[0.25,0.25,0.25,0.25]]"),
            {"mechanism": "RS+RFD"},
        ),
    ],
)
def test_record_mechanisms_are_chosen_by_name(run: Run, options: tuple[str, ...], expected: dict[str, str]) -> None:
    result = run("collection", "--schema", "schema.json", "--epsilon", "0.1", *options, "-o", "survey.json")
    assert result.exit_code == 0, result.output
    data = json.loads(Path("survey.json").read_text())["mechanism"]
    assert data["epsilon"] == "0.1"
    assert {key: data[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--mechanism", "GRR"), {"mechanism": "GRR", "k": 4}),
        (("--mechanism", "OLH"), {"mechanism": "CMS"}),
        (("--mechanism", "SubsetSelection", "--set", "omega=2"), {"omega": 2}),
        (("--mechanism", "RAPPOR"), {"mechanism": "RAPPOR"}),
    ],
)
def test_one_attribute_has_the_frequency_oracles(
    run: Run, options: tuple[str, ...], expected: dict[str, object]
) -> None:
    Path("one.json").write_text(schema_text("colour"))
    result = run("collection", "--schema", "one.json", "--epsilon", "2", *options, "-o", "survey.json")
    assert result.exit_code == 0, result.output
    data = json.loads(Path("survey.json").read_text())["mechanism"]
    assert {key: data[key] for key in expected} == expected
    assert run("randomize", "survey.json", "answers.csv", "-o", "reports.parquet").exit_code == 0
    assert run("aggregate", "survey.json", "reports.parquet", "-o", "all.aggregate").exit_code == 0
    assert run("estimate", "survey.json", "all.aggregate").exit_code == 0

"""The main job, command by command: what is printed, what is written, what is refused."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

from tests.cli.conftest import QUESTIONS, N, Run, run_all, schema_text


def test_version(run: Run) -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert re.fullmatch(r"deniable \d+\.\d+\.\d+\n", result.stdout)


def test_whole_way_from_answers_to_estimates(collected: Run) -> None:
    result = collected("estimate", "survey.json", "all.aggregate", "--truth", "answers.csv")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "Estimated frequencies"
    assert lines[-1] == "Guarantee: epsilon = 3 for the whole contributor; odds change at most 20.1-fold"
    verbose = collected("estimate", "survey.json", "all.aggregate", "--truth", "answers.csv", "--verbose").stdout
    assert verbose.startswith(result.stdout.removesuffix(f"{lines[-1]}\n"))
    promised = verbose.splitlines()[len(lines) - 1 :]
    assert promised[0] == "epsilon = 3 for the whole contributor (implemented: 3.000000000000)"
    assert any(line.startswith("  per attribute: ") for line in promised)
    assert f"  n = {N:,} contributors, mechanism" in verbose
    assert re.search(r"^smoker\n[\d,]+ reports$", result.stdout, re.M)
    assert re.search(r"^category +estimate +std. error +95% interval +truth$", result.stdout, re.M)
    assert re.search(r"\d of 6 intervals contain the truth \(about 5\.7 expected\)", result.stdout)


def test_tables_fit_eighty_columns(collected: Run) -> None:
    result = collected(
        "estimate", "survey.json", "all.aggregate", "--truth", "answers.csv", "--postprocess", "norm-sub"
    )
    assert max(map(cell_len, result.stdout.splitlines())) <= 80
    labels = re.sub(r"  +-?[\d.]+%.*", "", result.stdout)
    assert QUESTIONS["colour"][-1] in " ".join(labels.split())
    assert "…" not in result.stdout


def test_json_is_all_there_is_on_stdout(collected: Run) -> None:
    options = ("--json", "--plot", "a.png", "--html", "a.html", "--truth", "answers.csv", "--postprocess", "simplex")
    result = collected("estimate", "survey.json", "all.aggregate", *options)
    data = json.loads(result.stdout)
    assert data["n"] == N
    assert data["collection"] == json.loads(Path("survey.json").read_text())["id"]
    assert [attribute["attribute"] for attribute in data["attributes"]] == ["smoker", "colour"]
    for attribute in data["attributes"]:
        categories = attribute["categories"]
        assert [row["category"] for row in categories] == QUESTIONS[attribute["attribute"]]
        assert sum(row["truth"] for row in categories) == pytest.approx(1)
        assert sum(row["processed"] for row in categories) == pytest.approx(1)
        for row in categories:
            # Six standard errors: one in five hundred million.
            assert abs(row["estimate"] - row["truth"]) < 6 * row["standard_error"]
            assert row["lower"] < row["estimate"] < row["upper"]
    assert "wrote a.png" in result.stderr
    assert "wrote a.html" in result.stderr
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert Path("a.html").read_text().startswith("<!doctype html>")


def test_confidence_and_target_reach_the_intervals(collected: Run) -> None:
    def width(*options: str) -> float:
        data = json.loads(collected("estimate", "survey.json", "all.aggregate", "--json", *options).stdout)
        row = data["attributes"][0]["categories"][0]
        return float(row["upper"] - row["lower"])

    plain = width()
    assert width("--confidence", "0.5") < plain < width("--confidence", "0.999")
    assert plain < width("--target", "population")
    assert plain < width("--simultaneous")
    text = collected("estimate", "survey.json", "all.aggregate", "--target", "population", "--confidence", "0.9").stdout
    assert "90% interval" in text
    assert "population" in text


def test_truth_about_others_is_noted(collected: Run) -> None:
    Path("few.csv").write_text("smoker,colour\nyes,red\n")
    result = collected("estimate", "survey.json", "all.aggregate", "--truth", "few.csv")
    assert result.exit_code == 0
    assert "the truth is about 1 records, the reports about 4,000 contributors" in result.stderr


def test_what_tells_the_truth_can_be_read_by_its_owner_only(collected: Run) -> None:
    """Estimates are for everybody; with the true frequencies beside them they are the holder's."""
    files = ("a.html", "a.png", "a.csv")
    options = [part for name in files for part in ({"html": "--html", "png": "--plot", "csv": "--csv"}[name[2:]], name)]
    modes = []
    umask = os.umask(0o022)
    try:
        for truth in ((), ("--truth", "answers.csv")):
            assert collected("estimate", "survey.json", "all.aggregate", *options, *truth).exit_code == 0
            modes.append([Path(name).stat().st_mode & 0o777 for name in files])
    finally:
        os.umask(umask)
    assert modes == [[0o644] * 3, [0o600] * 3]


def test_days_are_merged_and_no_day_counts_twice(survey: Run) -> None:
    lines = Path("answers.csv").read_text().splitlines()
    for day, rows in ((1, lines[1:1001]), (2, lines[1001:])):
        Path(f"day{day}.csv").write_text("\n".join([lines[0], *rows]) + "\n")
        assert survey("randomize", "survey.json", f"day{day}.csv", "-o", f"day{day}.parquet").exit_code == 0
        assert survey("aggregate", "survey.json", f"day{day}.parquet", "-o", f"day{day}.aggregate").exit_code == 0
    merged = survey("merge", "day1.aggregate", "day2.aggregate", "-o", "all.aggregate")
    assert merged.exit_code == 0
    assert f"{N:,} reports in 2 batches" in merged.stderr
    together = survey("aggregate", "survey.json", "day1.parquet", "day2.parquet", "-o", "both.aggregate")
    assert together.exit_code == 0
    outputs = [survey("estimate", "survey.json", name, "--json").stdout for name in ("all.aggregate", "both.aggregate")]
    assert outputs[0] == outputs[1]
    twice = survey("merge", "all.aggregate", "day2.aggregate", "-o", "more.aggregate")
    assert twice.exit_code == 2
    assert not Path("more.aggregate").exists()


# -------------------------------------------------------------------------------------------------- schema


def test_schema_is_drafted_shown_and_warned_about(run: Run) -> None:
    result = run("schema", "answers.csv", "-o", "draft.json")
    assert result.exit_code == 0
    assert "smoker" in result.stdout
    assert max(map(cell_len, result.stdout.splitlines())) <= 80
    assert "warning: category lists, ranges and cut points are published" in result.stderr
    drafted = json.loads(Path("draft.json").read_text())
    assert [attribute["name"] for attribute in drafted["attributes"]] == ["smoker", "colour"]


def test_an_edited_schema_is_not_overwritten(run: Run) -> None:
    before = Path("schema.json").read_text()
    result = run("schema", "answers.csv", "-o", "schema.json")
    assert result.exit_code == 2
    assert "schema.json exists" in result.stderr
    assert Path("schema.json").read_text() == before
    assert run("schema", "answers.csv", "-o", "schema.json", "--force").exit_code == 0
    assert Path("schema.json").read_text() != before


# -------------------------------------------------------------------------------------------------- collection


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
    """Different oracles side by side, through files, and decoded together."""
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
    # Forty categories of two attributes over the same list: the decoder has a third of the error or less here.
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


def test_the_pivot_code_goes_all_the_way(run: Run) -> None:
    assert (
        run("collection", "--schema", "schema.json", "--epsilon", "3", "--full-record", "-o", "s.json").exit_code == 0
    )
    assert run("randomize", "s.json", "answers.csv", "-o", "reports.parquet").exit_code == 0
    assert run("aggregate", "s.json", "reports.parquet", "-o", "all.aggregate").exit_code == 0
    shown = run(
        "estimate", "s.json", "all.aggregate", "--truth", "answers.csv", "--postprocess", "hierarchical", "--verbose"
    )
    assert shown.exit_code == 0, shown.output
    assert "mechanism PivotCoded" in shown.stdout


def test_reports_in_place_of_an_aggregate(collected: Run) -> None:
    result = collected("estimate", "survey.json", "reports.parquet")
    assert result.exit_code == 2
    assert "but a Parquet file. If it contains reports, add them up first with `deniable aggregate`" in result.stderr


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


def test_the_same_collection_may_be_made_again_and_another_not(run: Run) -> None:
    make = ("collection", "--schema", "schema.json", "--mechanism", "SMP", "-o", "survey.json", "--epsilon")
    assert run(*make, "1").exit_code == 0
    before = Path("survey.json").read_text()
    assert run(*make, "1").exit_code == 0
    other = run(*make, "2")
    assert other.exit_code == 2
    assert "survey.json" in other.stderr
    assert Path("survey.json").read_text() == before
    assert run(*make, "2", "--force").exit_code == 0


# -------------------------------------------------------------------------------------------------- randomize


def test_spent_reports_are_not_overwritten(survey: Run) -> None:
    command = ("randomize", "survey.json", "answers.csv", "-o", "reports.parquet")
    assert survey(*command).exit_code == 0
    before = Path("reports.parquet").read_bytes()
    refused = survey(*command)
    assert refused.exit_code == 2
    assert "reports.parquet exists" in refused.stderr
    assert Path("reports.parquet").read_bytes() == before


def test_the_same_answers_are_randomised_again_only_when_told(survey: Run) -> None:
    assert survey("randomize", "survey.json", "answers.csv", "-o", "reports.parquet").exit_code == 0
    refused = survey("randomize", "survey.json", "answers.csv", "-o", "second.parquet")
    assert refused.exit_code == 2
    assert "--allow-repeat" in refused.stderr
    assert not Path("second.parquet").exists()
    assert survey("randomize", "survey.json", "answers.csv", "-o", "second.parquet", "--allow-repeat").exit_code == 0


def test_randomize_states_what_was_spent(survey: Run) -> None:
    result = survey("randomize", "survey.json", "answers.csv", "-o", "reports.parquet")
    assert "4,000 contributors have each spent epsilon = 3" in result.stderr
    assert result.stdout.startswith("epsilon = 3 for the whole contributor")


def test_randomize_states_what_was_spent_in_all(survey: Run) -> None:
    """Five collections at epsilon 4 are not five times 4."""
    for number in range(1, 6):
        made = survey(
            "collection",
            "--schema",
            "schema.json",
            "--epsilon",
            "4",
            "--collection-version",
            number,
            "-o",
            f"{number}.json",
        )
        assert made.exit_code == 0, made.output
        limit = ["--max-epsilon", "20"]
        result = survey("randomize", f"{number}.json", "answers.csv", "-o", f"{number}.parquet", *limit)
        assert result.exit_code == 0, result.output
        total = f", and epsilon = {4 * number} in all {number} collections of these answers" if number > 1 else ""
        assert f"4,000 contributors have each spent epsilon = 4{total}\n" in result.stderr
        assert ("warning: these answers were randomised before" in result.stderr) == (number > 1)
    assert "with this collection their contributors spend epsilon = 20 in all" in " ".join(result.stderr.split())
    refused = survey("randomize", "survey.json", "answers.csv", "-o", "6.parquet", *limit)
    assert refused.exit_code == 2
    assert "must be <= --max-epsilon=20, got epsilon = 23, which is 3 too much" in refused.stderr
    assert not Path("6.parquet").exists()
    said = survey("randomize", "survey.json", "answers.csv", "-o", "6.parquet", "--json")
    found = json.loads(said.stdout)
    assert (found["n"], found["output"], found["guarantee"]["epsilon"]) == (N, "6.parquet", 3.0)
    assert found["spent"]["epsilon"] == 23.0
    assert [one["epsilon"] for one in found["spent"]["earlier"]] == [4.0] * 5


# -------------------------------------------------------------------------------------------------- plan


def test_plan_fits_and_recommends(run: Run) -> None:
    result = run("plan", "--sizes", "5,4,6", "--contributors", "20000", "--epsilon", "1")
    assert result.exit_code == 0
    assert max(map(cell_len, result.stdout.splitlines())) <= 80
    assert "* SMP[GRR]" in result.stdout
    assert result.stdout.endswith("recommended: SMP[GRR]\n")


def test_plan_says_when_corr_rr_is_worse_than_sampling(run: Run) -> None:
    plan = ("plan", "--sizes", "4,4,4", "--epsilon", "1", "--contributors", "20000")
    text = " ".join(run(*plan).stdout.split())
    assert re.search(r"Corr-RR: two phases, .* \(of which bias .*\): worse than the default for records", text)
    uniform = "[[0.25,0.25,0.25,0.25],[0.25,0.25,0.25,0.25],[0.25,0.25,0.25,0.25]]"
    text = " ".join(run(*plan, "--marginals", uniform).stdout.split())
    assert re.search(r"Corr-RR: two phases, .* \(no bias\): better than the default for records", text)
    assert "for the given marginals, from which P is learned" in text
    assert text.endswith("recommended: SMP[GRR]")


def test_infeasible_is_an_answer(run: Run) -> None:
    result = run("plan", "--sizes", "5,4,6", "--contributors", "20000", "--epsilon", "1", "--target-error", "0.01")
    assert result.exit_code == 0
    assert re.search(r"^infeasible: SMP\[GRR\] needs [\d,]+ contributors for ±0\.01, got 20,000$", result.stdout, re.M)
    huge = run("plan", "--sizes", "1000000000", "--contributors", "20000", "--epsilon", "1", "--json")
    assert json.loads(huge.stdout)["recommended"] is None
    assert (
        max(
            map(
                cell_len,
                run("plan", "--sizes", "1000000000", "--contributors", "9", "--epsilon", "1").stdout.splitlines(),
            )
        )
        <= 80
    )


def needed(run: Run, sizes: str, epsilon: str) -> dict[str, int]:
    result = run("plan", "--sizes", sizes, "--epsilon", epsilon, "--target-error", "0.01", "--json")
    return {row["name"]: row["contributors_needed"] for row in json.loads(result.stdout)["rows"]}


def test_plan_gets_the_known_crossovers(run: Run) -> None:
    one, four = needed(run, "100", "1"), needed(run, "100", "4")
    assert one["GRR"] == pytest.approx(1.31e6, rel=0.01)
    assert one["OUE"] == pytest.approx(0.141e6, rel=0.01)
    assert (four["GRR"], four["OUE"]) == (2041, 2920)


def test_ordered_answers_are_decoded_smoothly(run: Run) -> None:
    scale = {"name": "score", "kind": "ordered", "categories": [str(i) for i in range(11)], "ask": "mean"}
    asked = [scale, {"name": "smoker", "categories": ["yes", "no"]}]
    schema = {"format": "deniable schema", "format_version": 2, "attributes": asked}
    Path("s.json").write_text(json.dumps(schema))
    generator = np.random.default_rng(1)
    rows = zip(generator.binomial(10, 0.7, N), generator.choice(["yes", "no"], N), strict=True)
    Path("a.csv").write_text("score,smoker\n" + "".join(f"{score},{smoker}\n" for score, smoker in rows))
    run_all(
        run,
        "collection --schema s.json --epsilon 4 -o c.json",
        "randomize c.json a.csv -o r.parquet",
        "aggregate c.json r.parquet -o a.aggregate",
    )
    result = run("estimate", "c.json", "a.aggregate", "--truth", "a.csv", "--postprocess", "smooth", "--json")
    score, smoker = json.loads(result.stdout)["attributes"]
    decoded, truth = (np.array([row[key] for row in score["categories"]]) for key in ("processed", "truth"))
    assert decoded.sum() == pytest.approx(1)
    # Half a step of eleven: raw shares are further off.
    raw = np.array([row["estimate"] for row in score["categories"]])
    assert np.abs(np.cumsum(decoded - truth)).sum() < 0.5
    assert np.abs(decoded - truth).sum() < np.abs(raw - truth).sum()
    assert not any("processed" in row for row in smoker["categories"])
    other = run("estimate", "c.json", "a.aggregate", "--postprocess", "smooth", "--deal", "a.aggregate")
    assert other.exit_code == 2
    assert "several deals need a mechanism with a dealer" in other.stderr

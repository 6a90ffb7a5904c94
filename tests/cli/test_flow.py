"""The main workflow, command by command: output, files and refusals."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

from tests.cli.conftest import QUESTIONS, N, Run, run_all


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
            # Six standard errors are exceeded once in five hundred million.
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
    """Everyone may read estimates; a file that also has the true frequencies is for its owner only."""
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


# -------------------------------------------------------------------------------------------------- collection


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
    # Half a step of eleven is the tolerance. Raw shares are further off.
    raw = np.array([row["estimate"] for row in score["categories"]])
    assert np.abs(np.cumsum(decoded - truth)).sum() < 0.5
    assert np.abs(decoded - truth).sum() < np.abs(raw - truth).sum()
    assert not any("processed" in row for row in smoker["categories"])
    other = run("estimate", "c.json", "a.aggregate", "--postprocess", "smooth", "--deal", "a.aggregate")
    assert other.exit_code == 2
    assert "several deals need a mechanism with a dealer" in other.stderr

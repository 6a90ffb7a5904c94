"""Bad input always gives one clear line on stderr and exit code 2, without traceback or half-written files."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Run, schema_text

RANDOMIZE = ("randomize", "survey.json", "answers.csv", "-o", "reports.parquet")


def files() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def refused(run: Run, *arguments: str, says: str) -> str:
    """Run a command that must fail with one line that contains all words of `says`, and leave no file in the folder."""
    before = files()
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    # The guarantee is printed before answers are read.
    assert result.stdout == "" or (arguments[0] == "randomize" and result.stdout.startswith("epsilon = "))
    # So may be what the contributors of these answers have spent before.
    lines = [line for line in result.stderr.splitlines() if not line.startswith("warning: these answers were")]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    assert says in lines[0]
    assert files() == before
    return lines[0]


@pytest.mark.parametrize(
    ("epsilon", "says"),
    [
        ("0", "epsilon must be"),
        ("-1", "epsilon must be"),
        ("nan", "epsilon must be a finite number, got epsilon=“nan”"),
        ("inf", "epsilon must be a finite number, got epsilon=“inf”"),
        ("1e400", "epsilon must be"),
        ("33", "epsilon must be"),
        ("one", "epsilon must be a finite number, got epsilon=“one”"),
    ],
)
@pytest.mark.parametrize("mechanism", [(), ("--mechanism", "SPL")])
def test_bad_epsilon(run: Run, epsilon: str, says: str, mechanism: tuple[str, ...]) -> None:
    make = ("collection", "--schema", "schema.json", *mechanism, "-o", "survey.json", "--epsilon", epsilon)
    refused(run, *make, says=says)
    refused(run, "plan", "--sizes", "4", "--contributors", "10", "--epsilon", epsilon, says="epsilon must be")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--mechanism", "GRR"), "GRR works with one attribute, but the schema has 2"),
        (("--mechanism", "Laplace"), "got mechanism=“Laplace”. The names are AppleCMS, AppleHCMS, BLH, CMS, "),
        (("--mechanism", "CMS-queries"), "mechanism must be one of"),
        (("--mechanism", "CMS[quadratic]"), "CMS works with one attribute"),
        (("--mechanism", "SMP", "--oracle", "SUE"), "oracle must be one of GRR, OUE, got oracle=“SUE”"),
        (("--mechanism", "SMP", "--set", "m=8"), "SMP has no parameter “m”; its parameters are: oracle"),
        (("--mechanism", "SMP", "--set", "m"), "set must be NAME=VALUE, got set=“m”"),
        (("--mechanism", "SMP", "--set", "oracle=GRR", "--set", "oracle=OUE"), "got “oracle” twice"),
        (("--mechanism", "RSRFD"), "RS+RFD needs the parameter priors: add --set priors=..."),
        (("--oracle", "OUE"), "mechanism must be named before oracle can be set"),
        (
            ("--full-record", "--mechanism", "SMP"),
            "--full-record and mechanism cannot be used together",
        ),
        (("--hide-sampled-attribute", "--contributors", "3"), "contributors must be >= 20, got contributors=3"),
        (
            ("--mechanism", "SMP[ADP]", "--set", "oracles=[1,2]"),
            "oracles[0] must be GRR, OUE, SubsetSelection, CountMeanSketch or SquareWave, got 1",
        ),
        (("--collection-version", "0"), "--collection-version must be >= 1, got --collection-version=0"),
    ],
)
def test_bad_mechanisms(run: Run, options: tuple[str, ...], says: str) -> None:
    refused(run, "collection", "--schema", "schema.json", "--epsilon", "1", *options, "-o", "survey.json", says=says)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not JSON"),
        ("{}", "is not a deniable schema"),
        (json.dumps({"format": "deniable schema", "format_version": 99, "attributes": []}), "format_version=99"),
        (schema_text("smoker").replace('"no"', '"yes"'), "labels of attribute “smoker” must be distinct"),
        (schema_text("smoker").replace(', "no"', ""), "attribute “smoker” must have at least two labels"),
    ],
)
def test_bad_schemas(run: Run, text: str, says: str) -> None:
    Path("bad.json").write_text(text)
    refused(run, "collection", "--schema", "bad.json", "--epsilon", "1", "-o", "survey.json", says=says)


def test_a_collection_that_was_edited(survey: Run) -> None:
    text = Path("survey.json").read_text()
    Path("survey.json").write_text(text.replace('"3"', '"0.1"'))
    refused(survey, *RANDOMIZE, says="survey.json was changed after it was made")


# -------------------------------------------------------------------------------------------------- answers


def test_unknown_category_in_row_17(survey: Run) -> None:
    lines = Path("answers.csv").read_text().splitlines()
    lines[17] = "maybe,red"
    Path("answers.csv").write_text("\n".join(lines) + "\n")
    line = refused(survey, *RANDOMIZE, says="row 17")
    assert "maybe" not in line
    assert "“smoker”" in line


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("smoker\nyes\n", "must have the column “colour”"),
        ("smoker,colour\nyes,red\nno\n", "row 2"),
        ("smoker,colour\nyes,red\nno,red,blue\n", "row 2"),
        ("smoker,colour\nyes,red\n,red\n", "missing answer of attribute “smoker” in row 2"),
        ("smoker,smoker,colour\nyes,yes,red\n", "columns 1 and 2 have the same name"),
        ("", "answers.csv"),
    ],
)
def test_bad_csv(survey: Run, text: str, says: str) -> None:
    Path("answers.csv").write_text(text)
    refused(survey, *RANDOMIZE, says=says)


def test_csv_without_records(survey: Run) -> None:
    Path("answers.csv").write_text("smoker,colour\n")
    refused(survey, *RANDOMIZE, says="")


def test_bom_and_quoted_newlines_are_no_errors(run: Run) -> None:
    label = "two\nlines, and a comma"
    Path("schema.json").write_text(schema_text("smoker", "colour").replace('"red"', json.dumps(label)))
    rows = 'yes,"two\nlines, and a comma"\nno,green\n' * 50
    Path("answers.csv").write_bytes(b"\xef\xbb\xbf" + f"smoker,colour\n{rows}".encode())
    for arguments in (
        ("collection", "--schema", "schema.json", "--epsilon", "8", "-o", "survey.json"),
        RANDOMIZE,
        ("aggregate", "survey.json", "reports.parquet", "-o", "all.aggregate"),
    ):
        result = run(*arguments)
        assert result.exit_code == 0, result.output
    result = run("estimate", "survey.json", "all.aggregate", "--truth", "answers.csv")
    assert result.exit_code == 0
    assert "two\\nlines, and a comma" in result.stdout


def test_absent_files_are_named(survey: Run) -> None:
    refused(survey, "randomize", "survey.json", "none.csv", "-o", "reports.parquet", says="none.csv")
    refused(survey, "randomize", "none.json", "answers.csv", "-o", "reports.parquet", says="none.json")
    refused(survey, "aggregate", "survey.json", "none.parquet", "-o", "all.aggregate", says="none.parquet")
    refused(survey, "estimate", "survey.json", "none.aggregate", says="none.aggregate")
    refused(survey, "merge", "none.aggregate", "-o", "all.aggregate", says="none.aggregate")
    refused(survey, "schema", "none.csv", "-o", "draft.json", says="none.csv")


def test_a_folder_instead_of_a_file(survey: Run) -> None:
    Path("folder").mkdir()
    refused(survey, "randomize", "survey.json", "folder", "-o", "reports.parquet", says="folder")
    refused(survey, "aggregate", "survey.json", "folder", "-o", "all.aggregate", says="folder")
    refused(survey, "estimate", "survey.json", "folder", says="folder")
    refused(survey, "randomize", "survey.json", "answers.csv", "-o", "folder", says="folder")


# -------------------------------------------------------------------------------------------------- reports


@pytest.fixture
def reported(survey: Run) -> Run:
    assert survey(*RANDOMIZE).exit_code == 0
    return survey


AGGREGATE = ("aggregate", "survey.json", "reports.parquet", "-o", "all.aggregate")


def test_truncated_parquet(reported: Run) -> None:
    data = Path("reports.parquet").read_bytes()
    Path("reports.parquet").write_bytes(data[: len(data) // 2])
    refused(reported, *AGGREGATE, says="reports.parquet")


def test_foreign_files_as_reports(reported: Run) -> None:
    pq.write_table(pa.table({"smoker": ["yes"], "colour": ["red"]}), "reports.parquet")
    refused(reported, *AGGREGATE, says="reports.parquet")
    shutil.copy("answers.csv", "reports.parquet")
    refused(reported, *AGGREGATE, says="reports.parquet")


def test_reports_as_answers(reported: Run) -> None:
    refused(reported, "randomize", "survey.json", "reports.parquet", "-o", "more.parquet", says="column")


def test_the_same_reports_twice(reported: Run) -> None:
    shutil.copy("reports.parquet", "copy.parquet")
    twice = ("aggregate", "survey.json", "reports.parquet")
    refused(reported, *twice, "reports.parquet", "-o", "all.aggregate", says="counted twice")
    refused(reported, *twice, "copy.parquet", "-o", "all.aggregate", says="copy.parquet")
    assert reported(*AGGREGATE).exit_code == 0
    shutil.copy("all.aggregate", "copy.aggregate")
    refused(reported, "merge", "all.aggregate", "copy.aggregate", "-o", "sum.aggregate", says="copy.aggregate")


def other_survey(run: Run, *options: str) -> None:
    result = run("collection", "--schema", "schema.json", "--epsilon", "3", *options, "-o", "other.json")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("options", [("--mechanism", "SMP", "--collection-version", "2"), ("--mechanism", "SPL")])
def test_reports_and_aggregates_of_another_collection(reported: Run, options: tuple[str, ...]) -> None:
    other_survey(reported, *options)
    refused(reported, "aggregate", "other.json", "reports.parquet", "-o", "all.aggregate", says="reports.parquet")
    assert reported(*AGGREGATE).exit_code == 0
    refused(reported, "estimate", "other.json", "all.aggregate", "--plot", "a.png", says="collection")
    assert reported("randomize", "other.json", "answers.csv", "-o", "other.parquet").exit_code == 0
    assert reported("aggregate", "other.json", "other.parquet", "-o", "other.aggregate").exit_code == 0
    refused(reported, "merge", "all.aggregate", "other.aggregate", "-o", "sum.aggregate", says="other.aggregate")
    both = ("aggregate", "survey.json", "reports.parquet", "other.parquet")
    refused(reported, *both, "-o", "sum.aggregate", says="other.parquet")


def test_damaged_aggregates(reported: Run) -> None:
    Path("all.aggregate").write_bytes(b"nonsense")
    refused(reported, "estimate", "survey.json", "all.aggregate", says="all.aggregate")
    refused(reported, "merge", "all.aggregate", "-o", "sum.aggregate", says="all.aggregate")


# -------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--confidence", "1"), "confidence must be in (0, 1), got confidence=1.0"),
        (("--confidence", "nan"), "confidence must be in (0, 1), got confidence=nan"),
        (("--postprocess", "magic"), "postprocess must be one of norm-sub"),
        (("--truth", "none.csv"), "none.csv"),
        (("--plot", "none/a.png"), "cannot write “none/a.png”: there is no directory “none”"),
        (("--html", "none/a.html", "--plot", "a.png"), "cannot write “none/a.html"),
        (("--plot", "survey.json"), "the output must not be one of the inputs"),
        (("--html", "all.aggregate"), "the output must not be one of the inputs"),
    ],
)
def test_bad_options_of_estimate(collected: Run, options: tuple[str, ...], says: str) -> None:
    refused(collected, "estimate", "survey.json", "all.aggregate", *options, says=says)


@pytest.mark.parametrize(
    "command",
    [
        ("estimate", "survey.json", "all.aggregate"),
        ("crosstab", "survey.json", "all.aggregate", "colour", "smoker"),
        ("rehearse", "schema.json", "--contributors", "10", "--guess", "answers.csv"),
        ("leakage", "answers.csv", "--epsilon", "1"),
    ],
)
def test_without_matplotlib_pictures_are_refused_before_any_work(
    collected: Run, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    says = 'pictures need matplotlib 3.11 or later: pip install "deniable[pictures]"'
    refused(collected, *command, "--plot", "a.png", "--html", "a.html", says=says)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--sizes", "5,x"), "sizes must be integers separated by commas, got sizes=“5,x”"),
        (("--sizes", "1"), "sizes[0] must be >= 2, got sizes[0]=1"),
        (("--sizes", "4", "--contributors", "0"), "contributors must be >= 1"),
        (("--sizes", "4", "--target-error", "0"), "--target-error must be in (0, 1)"),
        (("--sizes", "4", "--target-error", "nan"), "--target-error must be in (0, 1)"),
        (("--sizes", "4", "--mechanism", "SPL"), "mechanisms must be possible for one attribute"),
    ],
)
def test_bad_options_of_plan(run: Run, options: tuple[str, ...], says: str) -> None:
    enough = () if {"--contributors", "--target-error"} & set(options) else ("--contributors", "10")
    refused(run, "plan", "--epsilon", "1", *options, *enough, says=says)


def test_plan_without_a_question(run: Run) -> None:
    refused(run, "plan", "--epsilon", "1", "--sizes", "4", says="contributors or --target-error must be given")


# -------------------------------------------------------------------------------------------------- outputs


def test_unwritable_outputs(collected: Run) -> None:
    for arguments in (
        ("schema", "answers.csv"),
        ("collection", "--schema", "schema.json", "--epsilon", "1"),
        ("randomize", "survey.json", "answers.csv", "--allow-repeat"),
        ("aggregate", "survey.json", "reports.parquet"),
        ("merge", "all.aggregate"),
    ):
        refused(collected, *arguments, "-o", "none/out", says="cannot write “none/out”: there is no directory “none”")
        refused(collected, *arguments, "-o", ".", says="directory")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder where even root may not write")
def test_folder_where_nobody_may_write(collected: Run) -> None:
    refused(collected, "merge", "all.aggregate", "-o", "/proc/out", says="cannot write /proc/out")
    refused(collected, "randomize", "survey.json", "answers.csv", "--allow-repeat", "-o", "/proc/out", says="/proc/out")
    for option in ("--plot", "--html"):
        refused(
            collected, "estimate", "survey.json", "all.aggregate", option, "/proc/out", says="cannot write /proc/out"
        )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_folder_without_permission(collected: Run) -> None:
    Path("locked").mkdir(mode=0o500)
    refused(collected, "merge", "all.aggregate", "-o", "locked/out", says="cannot write locked/out")


def test_outputs_that_are_inputs(collected: Run) -> None:
    refused(collected, *AGGREGATE[:-1], "reports.parquet", says="the output must not be one of the inputs")
    refused(collected, *RANDOMIZE[:-1], "answers.csv", "--force", says="the output must not be one of the inputs")
    refused(collected, "schema", "answers.csv", "-o", "answers.csv", "--force", says="must not be one of the inputs")
    refused(
        collected, "collection", "--schema", "schema.json", "--epsilon", "1", "-o", "schema.json",
        says="the output must not be one of the inputs",
    )  # fmt: skip


def test_hostile_file_names_do_not_reach_the_terminal(survey: Run) -> None:
    name = "\x1b[31mred\n.csv"
    line = refused(survey, "randomize", "survey.json", name, "-o", "reports.parquet", says="\\x1b[31mred\\n.csv")
    assert "\x1b" not in line


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nothing",),
        ("estimate",),
        ("estimate", "survey.json", "all.aggregate", "--confidence", "high"),
        ("estimate", "survey.json", "all.aggregate", "--target", "everybody"),
        ("randomize", "survey.json", "answers.csv"),
        ("merge", "-o", "x"),
    ],
)
def test_usage_errors_exit_2_and_point_to_help(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage: " in result.output


def test_errors_name_switches_and_answers_as_they_are_typed(collected: Run) -> None:
    again = collected("randomize", "survey.json", "answers.csv", "-o", "again.parquet")
    assert again.exit_code == 2
    assert again.stderr.endswith("To randomise these answers again, pass --allow-repeat\n")
    total = collected("estimate", "survey.json", "all.aggregate", "--total", "smoker=never")
    assert "has no category “never”; its categories are “yes”, “no”" in total.stderr
    mean = collected("estimate", "survey.json", "all.aggregate", "--mean", "smoker")
    assert "mean must name an attribute with scores, but the schema has no scores for “smoker”" in mean.stderr
    assert "mean(" not in mean.stderr


def test_warnings_name_options_as_they_are_typed(run: Run) -> None:
    cities = [f"city {i % 70}" for i in range(400)]
    Path("cities.csv").write_text("city,team,shift\n" + "".join(f"{c},{c[-1]},{c[-2]}\n" for c in cities))
    for command in ("schema cities.csv -o drafted.json", "leakage cities.csv --epsilon 1"):
        result = run(*command.split())
        said = " ".join((result.stdout + result.stderr).split())
        assert "column “city” is left out: it has 70 distinct answers, --max-categories=50" in said, command
        assert "max_categories" not in said

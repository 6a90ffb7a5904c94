"""The plan of a questionnaire on the command line, and the same warning when the collection is made."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from deniable import Attribute, Schema
from deniable.oracles import bound_price
from deniable.planning import plan_survey
from tests.cli.conftest import Run


@pytest.fixture
def questionnaire(folder: Path) -> Path:
    """Fifty-six questions of five answers."""
    path = folder / "questionnaire.json"
    answers = ("never", "rarely", "sometimes", "often", "always")
    Schema(tuple(Attribute(f"question {i + 1}", answers) for i in range(56))).save(path)
    return path


def test_a_plan_of_a_questionnaire(run: Run) -> None:
    schema = Schema.load("schema.json")
    result = run("plan", "--schema", "schema.json", "--contributors", "8000", "--target", "3")
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    text = " ".join(result.stdout.split())
    assert "Plan for 8,000 contributors" in text
    # The half-width uses sqrt(v/n). At epsilon 1, randomised response over four colours and two questions give 2
    # (2.3036 + 1.1640) / 8000.
    assert re.search(r"colour percentage points ±\S+ ±5\.2 ", text)
    assert text.index("People needed") < text.index("How far off results may be with 8,000 people")
    assert "0.5 1.65 62.3% 1 2.72 73.2% 2 7.39 88.1% 4 54.6 98.3%" in text
    assert "WARNING" not in text
    assert "one malicious contributor counts for" in text
    assert "liar" not in text
    data = json.loads(
        run("plan", "--schema", "schema.json", "--contributors", "8000", "--target", "3", "--json").stdout
    )
    assert data == json.loads(json.dumps(plan_survey(schema, 8000, target=3).to_dict()))
    assert [setting["epsilon"] for setting in data["settings"]] == [0.5, 1.0, 2.0, 4.0]


def test_a_plan_speaks_in_the_units_of_its_questions(run: Run) -> None:
    age = Attribute("age", kind="numeric", range=(20, 80), grid=31, title="How old are you?")
    Schema((age,)).save("ages.json")
    plan = ("plan", "--schema", "ages.json", "--contributors", "2000", "--epsilon", "1")
    said = run(*plan, "--unit", "age=years").stdout
    # The default is five hundredths of 60 years.
    (needed,) = re.findall(r"^How old are you\? +±3\.0 years +([\d,]+)$", said, re.M)
    (half,) = re.findall(r"^How old are you\? +years +±(\d+\.\d)$", said, re.M)
    (question,) = json.loads(run(*plan, "--json").stdout)["settings"][0]["questions"]
    assert (needed, half) == (f"{question['contributors_needed']:,}", f"{question['half_width']:.1f}")
    assert "on the scale from 20 to 80" in run(*plan).stdout
    for unit in ("age", "age=", "height=cm"):
        said = run(*plan, "--unit", unit).stderr
        assert "unit must be NAME=UNIT, where NAME is a question whose mean is asked (age)" in said
    Schema((age, Attribute("smoker", ("yes", "no")))).save("ages.json")
    assert "whose mean is asked (age), got unit=“smoker=kg”" in run(*plan, "--unit", "smoker=kg").stderr


def test_epsilons_and_all_mechanisms(run: Run) -> None:
    plan = ("plan", "--schema", "schema.json", "--contributors", "8000", "--epsilon", "0.7", "--epsilon", "3")
    short, long = (json.loads(run(*plan, "--json", *more).stdout) for more in ((), ("--all",)))
    assert [setting["epsilon"] for setting in short["settings"]] == [0.7, 3.0]
    names = [{row["name"] for row in data["settings"][0]["mechanisms"]} for data in (short, long)]
    assert names[0] < names[1]
    assert "RS+FD[GRR]" in names[1]


def test_pairs(run: Run) -> None:
    result = run("plan", "--schema", "schema.json", "--contributors", "20000", "--pairs")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert re.search(r"smoker x colour 8 [\d. ]+ Half-width of one cell", text)
    assert "PairSample" in text
    made = run("collection", "--schema", "schema.json", "--epsilon", "1", "--pairs", "-o", "pairs.json")
    assert "mechanism: PairSample" in made.stdout
    assert "one drawn pair of attributes" in " ".join(made.stdout.split())
    refused = run("collection", "--schema", "schema.json", "--epsilon", "1", "--pairs", "--full-record", "-o", "p.json")
    assert refused.exit_code == 2
    assert "pairs and --full-record cannot be used together" in refused.stderr


def test_a_survey_that_cannot_work_is_said_to_alike(run: Run, questionnaire: Path) -> None:
    plan = " ".join(run("plan", "--schema", questionnaire, "--contributors", "8000", "--epsilon", "1").stdout.split())
    making = ("collection", "--schema", questionnaire, "--epsilon", "1", "-o", "survey.json")
    made = run(*making, "--contributors", "8000")
    assert made.exit_code == 0
    warning = re.search(r"warning: (this survey cannot work: .*)", made.stderr)
    assert warning is not None
    assert warning[1] in plan
    assert "56 questions, 8,000 contributors and epsilon = 1 leave answers uncertain by up to ±31" in warning[1]
    for enough in (("--contributors", "80000"), ()):
        assert "cannot work" not in run(*making, *enough).stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "exactly one of --schema and --sizes must be given"),
        (("--schema", "schema.json", "--sizes", "3"), "exactly one of --schema and --sizes must be given"),
        (("--schema", "schema.json"), "contributors must be given: add --contributors"),
        (
            ("--schema", "schema.json", "--frequency", "0.1"),
            "--frequency works only with --sizes: leave",
        ),
        (
            ("--schema", "schema.json", "--mechanism", "GRR"),
            "--mechanism works only with --sizes: leave",
        ),
        (("--sizes", "4", "--epsilon", "1", "--target", "3"), "--target works only with --schema: leave out --target"),
        (("--sizes", "4", "--epsilon", "1", "--all"), "--all works only with --schema: leave out --all"),
        (("--sizes", "4", "--epsilon", "1", "--epsilon", "2"), "epsilon must be given exactly once with --sizes"),
        (("--sizes", "4"), "epsilon must be given exactly once with --sizes"),
        (("--schema", "schema.json", "--pilot", "9"), "--pilot works only with --sizes: leave out --pilot"),
        (
            ("--sizes", "4,3", "--epsilon", "1", "--contributors", "99", "--max-frequency", "0.1"),
            "--max-frequency works only with one attribute, but sizes lists 2",
        ),
        (
            ("--sizes", "4", "--epsilon", "1", "--contributors", "99", "--pilot", "99"),
            "pilot must be <= 98, got pilot=99",
        ),
        (
            ("--schema", "schema.json", "--contributors", "9", "--target", "0"),
            "target must be a number of percentage points",
        ),
    ],
)
def test_bad_options(run: Run, options: tuple[str, ...], says: str) -> None:
    result = run("plan", *options)
    assert result.exit_code == 2
    assert f"error: {says}" in result.stderr
    assert result.stdout == ""


# ---------------------------------------------------------------- rehearse


def test_a_plan_shows_the_price_of_a_bound(run: Run) -> None:
    options = ("--sizes", "5000", "--epsilon", "3", "--contributors", "20000", "--mechanism", "OCMS")
    plain, priced = run("plan", *options), run("plan", *options, "--max-frequency", "0.05")
    assert "A bound on all frequencies" not in plain.stdout
    assert priced.stdout.startswith(plain.stdout.rstrip())
    said = " ".join(priced.stdout.split())
    for sentence in bound_price(5000, 3, 20_000, 0.05).sentences:
        assert sentence in said
    piloted = " ".join(run("plan", *options, "--pilot", "2000").stdout.split())
    assert "a pilot of 2,000 contributors bounds all frequencies with 95% confidence" in piloted
    assert "for 18,000 contributors" in piloted


# ---------------------------------------------------------------- messages


def test_messages_spell_options_as_they_are_typed(run: Run) -> None:
    refused = run("plan", "--sizes", "4", "--epsilon", "1", "--target-error", "2")
    assert refused.stderr == "error: --target-error must be in (0, 1), got --target-error=2.0\n"
    # A file of that name is the user's own word, so it does not become an option.
    for path in ("target_error", "x/target_error.json"):
        refused = run("plan", "--schema", path, "--contributors", "9")
        assert f"{path}" in refused.stderr
        assert "--target-error" not in refused.stderr


def test_a_mechanism_for_records_is_named(run: Run) -> None:
    make = ("collection", "--schema", "schema.json", "--epsilon", "1", "-o", "s.json", "--mechanism")
    assert "such as QuotaRecords" in run(*make, "QuotaRR", "--set", "n=10").stderr
    assert "choose a mechanism for records, such as SMP or SPL" in run(*make, "GRR").stderr


def test_phases_in_the_wrong_order_and_waves_that_are_none(survey: Run) -> None:
    run = survey
    run("randomize", "survey.json", "answers.csv", "-o", "reports.parquet")
    added = run("aggregate", "survey.json", "reports.parquet", "-o", "total")
    assert "4,000 reports in 1 batch\n" in added.stderr
    swapped = run("learn", "total", "survey.json", "--contributors", "100", "-o", "next.json")
    assert "total comes first: write survey.json total" in swapped.stderr
    run("collection", "--schema", "schema.json", "--epsilon", "1", "-o", "wave.json")
    run("randomize", "wave.json", "answers.csv", "-o", "wave.parquet")
    run("aggregate", "wave.json", "wave.parquet", "-o", "wave.total")
    together = run("combine", "survey.json", "total", "wave.json", "wave.total")
    assert "to compare two surveys, use `deniable.answers.compare` (`deniable compare`)" in together.stderr
    for refused in (swapped, together):
        assert refused.exit_code == 2


def test_people_for_a_coefficient(run: Run) -> None:
    plan = ("plan", "--sizes", "2", "--epsilon", "1", "--coefficient", "age=0.1")
    text = " ".join(run(*plan, "--contributors", "1874").stdout.split())
    assert "standard error of 0.1 for the slope of age" in text
    assert "GRR 1,874 0.09998" in text
    found = json.loads(run(*plan, "--supposed", "-1.5,0.5", "--mechanism", "GRR", "--json").stdout)
    assert [row["mechanism"] for row in found["rows"]] == ["GRR"]
    assert found["rows"][0]["contributors_needed"] > 1874
    for options, says in (
        (("--coefficient", "age"), "NAME=ERROR"),
        (("--supposed", "1,2"), "--coefficient"),
        (("--coefficient", "age=0.1", "--pilot", "5"), "left out"),
        (("--coefficient", "age=0.1", "--confidence", "0.9"), "left out"),
    ):
        result = run("plan", "--sizes", "2", "--epsilon", "1", *options)
        assert result.exit_code == 2
        assert says in result.stderr


def test_waves_of_one_question(run: Run) -> None:
    line = ("plan", "--sizes", "16", "--epsilon", "4", "--contributors", "60000", "--waves", "12")
    shown = run(*line)
    assert shown.exit_code == 0, shown.stderr
    words = " ".join(shown.stdout.split())
    assert "recommended: rotating panel" in words
    assert "not recommended, because the times of change may not be known" in words
    data = json.loads(run(*line, "--answers", "2", "--times-known", "--json").stdout)
    best = next(row for row in data["rows"] if row["recommended"])
    assert (best["way"], best["mechanism"]) == (
        "memoised answers",
        "MemoisedGRR(k=16, epsilon_forever=2.0, epsilon_once=2.0)",
    )
    for more, message in (
        (("--target-error", "0.01"), "--target-error must be left out with --waves"),
        (("--waves", "1"), "waves must be"),
        (("--answers", "99"), "answers must be"),
    ):
        refused = run(*line, *more)
        assert refused.exit_code == 2
        assert message in refused.stderr
    several = run("plan", "--sizes", "2,3", "--epsilon", "4", "--contributors", "600", "--waves", "12")
    assert "--waves must be used with one number of categories" in several.stderr
    alone = run("plan", "--sizes", "2", "--epsilon", "4", "--contributors", "600", "--answers", "1")
    assert "work only with --waves" in alone.stderr

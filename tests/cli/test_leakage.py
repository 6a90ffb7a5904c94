"""`leakage`, `calibrate` and `audit`: output, files and refusals."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

from deniable.leakage.totals.total import ADDITIVE_DELTA, ADDITIVE_LABEL
from tests.cli.conftest import Run
from tests.cli.test_bad_input import refused

NAMES = ("sex", "smoker", "cough")


@pytest.fixture
def run(run: Run) -> Run:
    """The same folder with linked.csv: smoking depends on sex, coughing on smoking; one column is constant."""
    generator = np.random.default_rng(3)
    n = 3000
    sex = generator.choice(["f", "m"], n)
    smoker = np.where(generator.random(n) < np.where(sex == "m", 0.5, 0.2), "yes", "no")
    cough = np.where(generator.random(n) < np.where(smoker == "yes", 0.7, 0.1), "often", "never")
    cough[generator.random(n) < 0.1] = "daily"
    age = generator.integers(5, 100, n)
    rows = [f"{a},{b},{c},{d},here" for a, b, c, d in zip(sex, smoker, cough, age, strict=True)]
    Path("linked.csv").write_text("sex,smoker,cough,age,place\n" + "\n".join(rows) + "\n")
    attributes = [
        {"name": "sex", "categories": ["f", "m"]},
        {"name": "smoker", "categories": ["yes", "no"]},
        {"name": "cough", "categories": ["daily", "often", "never"]},
    ]
    document = {"format": "deniable schema", "format_version": 1, "attributes": attributes}
    Path("linked.json").write_text(json.dumps(document))
    return run


def collection(run: Run, mechanism: str, *options: str, epsilon: str = "2") -> str:
    made = run(
        "collection", "--schema", "linked.json", "--epsilon", epsilon, "--mechanism", mechanism, *options,
        "-o", "survey.json", "--title", "Lungs", "--force",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    return str(json.loads(Path("survey.json").read_text())["id"])


# -------------------------------------------------------------------------------------------------- leakage


def test_leakage_says_who_leaks_about_whom_and_relative_to_what(run: Run) -> None:
    result = run("leakage", "linked.csv", "--epsilon", "1", "--attributes", "sex,smoker,cough")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "What this release leaks"
    assert max(map(cell_len, lines)) <= 80
    flat = " ".join(result.stdout.split())
    assert "Released: 3 attributes, each by any mechanism with epsilon = 1." in flat
    assert "every combination of answers occurs in linked.csv (3,000 records)" in flat
    assert "For any prior, no total is larger than 3.00." in flat
    assert re.search(r"^about ↓ +sex +smoker +cough$", result.stdout, re.M)
    assert re.search(r"  releasing cough reveals up to 0\.\d\d of a possible 1\.00 about smoker", result.stdout)
    assert f"about   total   own  {ADDITIVE_LABEL}" in result.stdout


def test_leakage_reads_a_file_without_a_schema_and_names_what_it_did(run: Run) -> None:
    result = run("leakage", "linked.csv", "--epsilon", "1", "--mechanism", "GRR")
    assert result.exit_code == 0
    flat = " ".join(result.stdout.split())
    assert "column “place” is left out: it holds a single answer" in flat
    assert "numbers cut into intervals of equal width: age" in flat
    assert "Released: 4 attributes, each by GRR with epsilon = 1." in flat
    kept = run("leakage", "linked.csv", "--epsilon", "1", "--attributes", "sex,smoker,place")
    assert "Released: 2 attributes" in kept.stdout
    assert "column “place” is left out" in " ".join(kept.stdout.split())


def test_leakage_about_an_attribute_that_is_not_released(run: Run) -> None:
    result = run("leakage", "linked.csv", "--epsilon", "1", "--attributes", "smoker,cough", "--target", "sex", "--json")
    data = json.loads(result.stdout)
    assert [pair["released"] for pair in data["pairs"]] == ["smoker", "cough"]
    assert {pair["about"] for pair in data["pairs"]} == {"sex"}
    (total,) = data["totals"]
    assert total["own_epsilon"] == 0
    assert max(pair["leakage"] for pair in data["pairs"]) <= total["total"]["epsilon"] < 1


def test_leakage_writes_json_a_picture_and_a_page(run: Run) -> None:
    options = ("--schema", "linked.json", "--json", "--plot", "a.png", "--html", "a.html", "--strongest", "2")
    result = run("leakage", "linked.csv", "--epsilon", "0.5", *options)
    data = json.loads(result.stdout)
    assert data["format"] == "deniable leakage"
    assert data["prior"]["records"] == 3000
    assert data["release"]["worst_case_over_mechanisms"] is True
    assert len(data["pairs"]) == 6
    assert len(data["strongest"]) == 2
    assert data["any_prior"]["epsilon"] == pytest.approx(1.5)
    assert all(ADDITIVE_LABEL in total for total in data["totals"])
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert Path("a.html").read_text().startswith("<!doctype html>")
    assert "wrote a.png" in result.stderr


def test_leakage_and_calibration_state_deltas(run: Run) -> None:
    options = ("linked.csv", "--schema", "linked.json", "--delta", "0.01", "--json")
    data = json.loads(run("leakage", *options, "--epsilon", "1").stdout)
    assert data["release"]["delta"] == 0.01
    assert data["any_prior"]["delta"] == pytest.approx(1 - 0.99**3)
    assert all(0 < pair["delta"] <= 0.01 for pair in data["pairs"])
    assert all(total["total"]["delta"] >= 0.01 and total[ADDITIVE_DELTA] > 0.01 for total in data["totals"])
    text = run("leakage", *options[:-1], "--epsilon", "1").stdout
    assert "its delta" in text
    assert "with epsilon = 1 and delta = 0.01." in " ".join(text.split())
    found = json.loads(run("calibrate", *options, "--epsilon-total", "2").stdout)
    assert all(row["total"]["delta"] >= 0.01 for row in found["attributes"])
    plain = json.loads(run("calibrate", *options[:3], "--json", "--epsilon-total", "2").stdout)
    assert [row["epsilon"] for row in plain["attributes"]] == [row["epsilon"] for row in found["attributes"]]
    assert "delta" not in json.dumps(plain)


def test_a_delta_is_refused_where_a_guarantee_needs_none(run: Run) -> None:
    for command, budget in (("leakage", "--epsilon"), ("calibrate", "--epsilon-total")):
        options = ("linked.csv", "--schema", "linked.json", budget, "1")
        named = (*options, "--delta", "0.01", "--mechanism", "GRR")
        refused(run, command, *named, says="delta must be 0 for a named mechanism")
        refused(run, command, *options, "--delta", "2", says="delta must be in [0, 1], got delta=2")
    collection(run, "SPL")
    told = ("leakage", "linked.csv", "--collection", "survey.json", "--delta", "0.01")
    refused(run, *told, says="delta must be left out with --collection")


def test_calibrated_budgets_are_checked_against_other_answers(run: Run) -> None:
    """In the other answers, smoking depends more on sex."""
    generator = np.random.default_rng(4)
    sex = generator.choice(["f", "m"], 2000)
    smoker = np.where(generator.random(2000) < np.where(sex == "m", 0.9, 0.05), "yes", "no")
    cough = generator.choice(["daily", "often", "never"], 2000)
    rows = [f"{a},{b},{c}" for a, b, c in zip(sex, smoker, cough, strict=True)]
    Path("others.csv").write_text("sex,smoker,cough\n" + "\n".join(rows) + "\n")
    options = ("linked.csv", "--schema", "linked.json", "--epsilon-total", "2", "--mechanism", "GRR")
    found = json.loads(run("calibrate", *options, "--check", "others.csv", "--json").stdout)
    there = {one["attribute"]: one for one in found["check"]["totals"]}
    assert there["sex"]["within"] is False
    assert there["sex"]["total"]["epsilon"] > 2
    epsilon = next(row["epsilon"] for row in found["attributes"] if row["attribute"] == "sex")
    told = ("leakage", "others.csv", "--schema", "linked.json", "--mechanism", "GRR", "--json")
    leaked = json.loads(run(*told, "--epsilon", str(epsilon)).stdout)
    assert [one["total"]["epsilon"] for one in leaked["totals"]] == [
        pytest.approx(one["total"]["epsilon"]) for one in found["check"]["totals"]
    ]
    text = " ".join(run("calibrate", *options, "--check", "others.csv").stdout.split())
    assert "Checked against others.csv" in text
    assert "these budgets do not hold: the cap is exceeded for" in text
    same = " ".join(run("calibrate", *options, "--check", "linked.csv").stdout.split())
    assert "For somebody who knows linked.csv (3,000 records) every cap holds, too." in same


def test_rare_categories_are_named_and_merged(run: Run) -> None:
    country = np.repeat(["fr", "de", "lu", "li"], [480, 480, 20, 20])
    smoker = np.concatenate([np.tile(["yes", "no"], 480), np.repeat(["yes", "no"], 20)])
    rows = [f"{a},{b}" for a, b in zip(country, smoker, strict=True)]
    Path("rare.csv").write_text("country,smoker\n" + "\n".join(rows) + "\n")
    for command, budget in (("leakage", "--epsilon"), ("calibrate", "--epsilon-total")):
        told = json.loads(run(command, "rare.csv", budget, "1", "--json").stdout)
        assert any("--merge-rare 0.05" in warning for warning in told["warnings"])
        merged = json.loads(run(command, "rare.csv", budget, "1", "--merge-rare", "0.05", "--json").stdout)
        assert not any("--merge-rare" in warning for warning in merged["warnings"])
        assert any("country: 2 categories" in text for text in merged["notes"])
    refused(
        run, "calibrate", "rare.csv", "--epsilon-total", "1", "--merge-rare", "0.05", "--check", "rare.csv",
        says="--check and --merge-rare cannot be used together",
    )  # fmt: skip


@pytest.mark.parametrize("mechanism", ["GRR", "oue", "OLH", "RAPPOR", "SubsetSelection", "SHE"])
def test_leakage_of_named_mechanisms(run: Run, mechanism: str) -> None:
    result = run(
        "leakage", "linked.csv", "--schema", "linked.json", "--epsilon", "1", "--mechanism", mechanism, "--json"
    )
    assert result.exit_code == 0, result.output
    named = json.loads(result.stdout)
    worst = json.loads(run("leakage", "linked.csv", "--schema", "linked.json", "--epsilon", "1", "--json").stdout)
    for one, other in zip(named["pairs"], worst["pairs"], strict=True):
        assert one["leakage"] <= other["leakage"] + 1e-9


@pytest.mark.parametrize("mechanism", ["SPL", "SMP", "RSFD"])
@pytest.mark.parametrize("oracle", ["GRR", "OUE"])
def test_leakage_of_a_collection(run: Run, mechanism: str, oracle: str) -> None:
    identity = collection(run, mechanism, "--oracle", oracle)
    before = Path("survey.json").read_text()
    result = run("leakage", "linked.csv", "--collection", "survey.json", "--json", "--html", "a.html")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["collection"] == identity
    assert Path("survey.json").read_text() == before
    section = [row for row in data["guarantee"]["trust_models"] if "asks about" in row["view"]]
    assert [row["epsilon"] for row in section] == [total["total"]["epsilon"] for total in data["totals"]]
    assert all(row["epsilon"] <= 2 + 1e-9 for row in section)
    assert identity in Path("a.html").read_text()
    text = run("leakage", "linked.csv", "--collection", "survey.json").stdout
    assert text.startswith("“Lungs”: what this release leaks\n")
    assert text.endswith("\nGuarantee: epsilon = 2 for the whole contributor; odds change at most 7.39-fold\n")


@pytest.mark.parametrize("mechanism", ["SMP[ADP]", "PivotCoded"])
def test_leakage_and_audit_of_the_defaults_for_records(run: Run, mechanism: str) -> None:
    collection(run, mechanism, epsilon="3")
    result = run("leakage", "linked.csv", "--collection", "survey.json", "--json")
    assert result.exit_code == 0, result.output
    assert [total["total"]["epsilon"] for total in json.loads(result.stdout)["totals"]] == pytest.approx([3] * 3)
    audited = run("audit", "survey.json", "--seed", "1", "--json")
    assert audited.exit_code == 0, audited.output
    for client in json.loads(audited.stdout)["clients"]:
        assert 0.7 * 3 < client["epsilon_lower"] < client["claimed_epsilon"] == pytest.approx(3)


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "33", "one"])
def test_leakage_refuses_bad_budgets(run: Run, epsilon: str) -> None:
    for mechanism in ("any", "GRR"):
        refused(run, "leakage", "linked.csv", "--epsilon", epsilon, "--mechanism", mechanism, says="epsilon must be")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "either --epsilon or --collection must be given"),
        (("--epsilon", "1", "--attributes", "sex,height"), "must have the column “height”"),
        (("--epsilon", "1", "--attributes", "sex,,age"), "attributes must be different names separated by commas"),
        (
            ("--epsilon", "1", "--attributes", "sex"),
            "attributes must name at least two attributes, got only sex: a single attribute has no correlation",
        ),
        (("--epsilon", "1", "--attributes", "sex,place"), "no column"),
        (
            ("--epsilon", "1", "--target", "height"),
            "target must be one of sex, smoker, cough, age, got target=“height”",
        ),
        (
            ("--epsilon", "1", "--schema", "linked.json", "--max-categories", "9"),
            "--max-categories must be left out with --schema, because it would have no effect",
        ),
        (("--epsilon", "1", "--target", "place"), "with a single answer, so choose another --target"),
        (("--epsilon", "1", "--max-categories", "2", "--attributes", "sex,cough"), "column “cough” is left out"),
        (("--epsilon", "1", "--mechanism", "Laplace"), "mechanism must be one of"),
        (("--epsilon", "1", "--mechanism", "SMP"), "mechanism must be for single attributes"),
        (("--epsilon", "1", "--set", "m=3"), "mechanism must be named before its parameters can be set"),
        (("--epsilon", "1", "--schema", "absent.json"), "absent.json"),
        (
            ("--epsilon", "1", "--schema", "linked.json", "--attributes", "sex,age"),
            "the schema has no attribute “age”",
        ),
        (("--epsilon", "1", "--plot", "absent/a.png"), "there is no directory “absent”"),
        (("--epsilon", "1", "--html", "linked.csv"), "the output must not be one of the inputs"),
    ],
)
def test_leakage_refuses_bad_input(run: Run, options: tuple[str, ...], says: str) -> None:
    if says == "no column":
        says = "at least two attributes must vary"
    refused(run, "leakage", "linked.csv", *options, says=says)


def test_leakage_of_a_collection_refuses_what_the_collection_states(run: Run) -> None:
    collection(run, "SMP")
    for options in (("--epsilon", "1"), ("--mechanism", "GRR"), ("--schema", "linked.json"), ("--attributes", "sex")):
        refused(
            run, "leakage", "linked.csv", "--collection", "survey.json", *options,
            says=f"{options[0][2:]} must be left out with --collection",
        )  # fmt: skip
    collection(run, "SMP")
    refused(run, "leakage", "answers.csv", "--collection", "survey.json", says="must have the columns “sex”, “cough”")


def test_too_many_categories_are_refused_with_size_and_alternatives(run: Run) -> None:
    rows = "\n".join(f"a{i % 2100},b{i % 2100}" for i in range(4200))
    Path("wide.csv").write_text(f"one,two\n{rows}\n")
    line = refused(run, "leakage", "wide.csv", "--epsilon", "1", "--max-categories", "3000", says="got 4200")
    assert "merge rare categories, or leave attributes out" in line


# -------------------------------------------------------------------------------------------------- calibrate


def test_calibrate_prints_budgets_and_the_totals_they_reach(run: Run) -> None:
    result = run("calibrate", "linked.csv", "--schema", "linked.json", "--epsilon-total", "2")
    assert result.exit_code == 0, result.output
    assert max(map(cell_len, result.stdout.splitlines())) <= 80
    assert result.stdout.startswith("Budgets that keep every total within 2\n")
    rows = re.findall(r"^(\w+) +([\d.]+) +2 +([\d.]+)  worst case$", result.stdout, re.M)
    assert [row[0] for row in rows] == list(NAMES)
    assert len({row[1] for row in rows}) == 1
    assert 2 / 3 < float(rows[0][1]) < 2
    assert max(float(row[2]) for row in rows) == 2
    assert "Splitting the smallest cap equally gives 0.666667 each" in " ".join(result.stdout.split())


@pytest.mark.parametrize("output", ["text", "json", "html"])
def test_calibrate_by_the_additive_figure_warns_everywhere(run: Run, output: str) -> None:
    options = ("--json",) if output == "json" else ("--html", "a.html") if output == "html" else ()
    result = run(
        "calibrate",
        "linked.csv",
        "--schema",
        "linked.json",
        "--epsilon-total",
        "2",
        "--criterion",
        "additive",
        *options,
    )
    shown = Path("a.html").read_text() if output == "html" else result.stdout
    flat = " ".join(shown.split())
    assert f"No guarantee: the {ADDITIVE_LABEL} can lie below the true total" in flat
    for found in re.finditer("additive", flat.replace('"criterion": "additive"', "")):
        assert flat.replace('"criterion": "additive"', "")[found.start() :].startswith(ADDITIVE_LABEL)


def test_calibrate_takes_criteria_caps_and_a_tree(run: Run) -> None:
    calibrate = ("calibrate", "linked.csv", "--schema", "linked.json", "--epsilon-total", "2", "--json")
    budget = {}
    for criterion in ("exact", "blocks", "prior-free"):
        data = json.loads(run(*calibrate, "--criterion", criterion).stdout)
        assert data["is_guarantee"] is True
        budget[criterion] = data["attributes"][0]["epsilon"]
    assert budget["prior-free"] == pytest.approx(2 / 3)
    assert budget["prior-free"] <= budget["blocks"] <= budget["exact"]
    capped = json.loads(run(*calibrate, "--mechanism", "GRR", "--cap", "sex=0.5").stdout)
    assert [row["cap"] for row in capped["attributes"]] == [0.5, 2, 2]
    assert capped["attributes"][0]["total"]["epsilon"] <= 0.5
    tree = json.loads(run(*calibrate, "--tree", "--mechanism", "GRR").stdout)
    assert tree["is_guarantee"] is False
    assert "assumption" in tree["warning"]


@pytest.mark.parametrize("total", ["0", "-1", "nan", "inf", "two"])
def test_calibrate_refuses_bad_caps(run: Run, total: str) -> None:
    refused(run, "calibrate", "linked.csv", "--epsilon-total", total, says="--epsilon-total must be")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--attributes", "sex,age", "--criterion", "exact"), "name the mechanism, merge categories"),
        (("--attributes", "sex,smoker", "--unequal"), "mechanism must be named"),
        (("--attributes", "sex,smoker", "--cap", "sex"), "cap must be NAME=VALUE, got cap=“sex”"),
        (
            ("--attributes", "sex,smoker", "--cap", "age=1", "--mechanism", "GRR"),
            "caps must name attributes that vary in the records",
        ),
        (("--attributes", "sex,smoker", "--cap", "sex=0", "--mechanism", "GRR"), "cap of “sex” must be > 0"),
        (("--html", "absent/a.html"), "there is no directory “absent”"),
    ],
)
def test_calibrate_refuses_bad_input(run: Run, options: tuple[str, ...], says: str) -> None:
    refused(run, "calibrate", "linked.csv", "--epsilon-total", "2", *options, says=says)


def test_calibrate_takes_what_is_in_reach_and_says_so(run: Run) -> None:
    small = run("calibrate", "linked.csv", "--schema", "linked.json", "--epsilon-total", "2", "--json")
    assert json.loads(small.stdout)["criterion"] == "exact"
    assert small.stderr == ""
    names = [f"a{j}" for j in range(30)]
    codes = np.random.default_rng(1).integers(0, 2, (200, 30))
    Path("wide.csv").write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in codes)]) + "\n")
    line = refused(run, "calibrate", "wide.csv", "--epsilon-total", "2", "--criterion", "exact", says="got 1073741824")
    assert "leave out --criterion" in line
    assert "block" not in line
    # Six attributes of five categories, whose worst mechanisms have 2^5 reports each, need 1.1e9 states.
    five = np.random.default_rng(1).integers(0, 5, (300, 6))
    Path("five.csv").write_text("\n".join(["a,b,c,d,e,f", *(",".join(map(str, row)) for row in five)]) + "\n")
    for file, criterion, offer in (("five.csv", "blocks", "--mechanism"), ("wide.csv", "prior-free", "--tree")):
        result = run("calibrate", file, "--epsilon-total", "2", "--max-categories", "6", "--json")
        data = json.loads(result.stdout)
        assert (data["criterion"], data["is_guarantee"]) == (criterion, True)
        assert any(f"({criterion})" in note for note in data["notes"])
        assert offer in result.stderr
    (offered,) = re.findall(r"--tree", result.stderr)
    assert run("calibrate", "wide.csv", "--epsilon-total", "2", offered).exit_code == 0


# -------------------------------------------------------------------------------------------------- audit


@pytest.mark.parametrize(
    ("mechanism", "oracle"), [("SPL", "GRR"), ("SPL", "OUE"), ("SMP", "GRR"), ("SMP", "OUE"), ("RSFD", "OUE")]
)
def test_audit_of_a_collection_finds_nothing_wrong(run: Run, mechanism: str, oracle: str) -> None:
    collection(run, mechanism, "--oracle", oracle, epsilon="6")
    result = run("audit", "survey.json", "--seed", "1", "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert [client["client"] for client in data["clients"]] == list(NAMES)
    for client in data["clients"]:
        assert 0 < client["epsilon_lower"] < client["claimed_epsilon"]
        assert client["alpha"] == pytest.approx(0.01 / 3)
        if mechanism != "RSFD":
            assert client["epsilon_lower"] > 0.7 * client["claimed_epsilon"]
            assert client["claimed_epsilon"] == pytest.approx(2 if mechanism == "SPL" else 6)


def test_audit_prints_that_nothing_is_proved(run: Run) -> None:
    Path("one.json").write_text(Path("linked.json").read_text())
    collection(run, "SMP", epsilon="4")
    result = run("audit", "survey.json", "--seed", "1", "--attributes", "sex,cough")
    assert result.stdout.splitlines()[-1] == "no violation found (this proves nothing)"
    assert re.search(r"^sex +4 +\d\.\d{4} +[\d,]+$", result.stdout, re.M)
    assert "smoker" not in result.stdout


CLIENTS = """
import numpy as np
from deniable import GRR, OUE

class Client:
    def __init__(self, inner): self.inner = inner
    def randomize(self, inputs, rng): return self.inner.randomize(inputs, rng)

class Own:
    epsilon, k = 1.0, 3
    def randomize(self, inputs, rng):
        return [int(x) for x in inputs]

class Broken(Own):
    def randomize(self, inputs, rng): raise RuntimeError("no network")

cheat, honest, bits = Client(GRR(k=3, epsilon=1.6)), Client(GRR(k=3, epsilon=1.0)), Client(OUE(k=3, epsilon=1.6))
own, broken = Own(), Broken()
"""


@pytest.mark.parametrize(
    ("name", "options", "refutes"),
    [
        ("cheat", ("--epsilon", "1", "--k", "3"), True),
        ("honest", ("--epsilon", "1", "--k", "3"), False),
        ("bits", ("--epsilon", "1", "--k", "3", "--reports-of", "OUE"), True),
        ("own", (), True),
        ("own", ("--inputs", "0,2"), True),
    ],
)
def test_audit_of_somebody_elses_client(run: Run, name: str, options: tuple[str, ...], refutes: bool) -> None:
    Path("clients.py").write_text(CLIENTS)
    result = run("audit", "--module", f"clients.py:{name}", *options, "--seed", "5")
    assert result.exit_code == (1 if refutes else 0), result.output
    last = " ".join(result.stdout.split())
    assert (f"clients.py:{name} exceeds the claim: epsilon is at least" in last) == refutes
    assert max(map(cell_len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "one of COLLECTION and --module must be given"),
        (("survey.json", "--module", "clients.py:own"), "one of COLLECTION and --module must be given"),
        (("survey.json", "--epsilon", "1"), "epsilon must be left out with a collection"),
        (("survey.json", "--attributes", "height"), "attributes must be among sex, smoker, cough, got “height”"),
        (("survey.json", "--samples", "10"), "reports per input to tell epsilon 2 from 2.6"),
        (("survey.json", "--alpha", "0"), "alpha must be"),
        (("survey.json", "--inputs", "0,5"), "sex: inputs must be codes of answers in 0..1, got 5"),
        (("survey.json", "--attributes", "sex", "--inputs", "-1,0"), "inputs must be codes of answers in 0..1, got -1"),
        (
            ("--module", "clients.py:own", "--attributes", "sex"),
            "--attributes must be left out with --module, because it would have no effect",
        ),
        (("survey.json", "--inputs", "0,x"), "separated by commas, such as 0,3,5, got inputs=“0,x”"),
        (("--module", "clients.py"), "module must be FILE.py:OBJECT"),
        (("--module", "absent.py:own"), "there is no file absent.py"),
        (("--module", "clients.py:absent"), "clients.py has no object “absent”"),
        (
            ("--module", "clients.py:np"),
            "must be an object with the method randomize(inputs, rng), got an object of the type module",
        ),
        (
            ("--module", "clients.py:Own"),
            "must be an object with the method randomize(inputs, rng), but Own is a class; write client = Own()",
        ),
        (("--module", "clients.py:honest"), "epsilon must be given (--epsilon)"),
        (("--module", "clients.py:honest", "--epsilon", "1"), "k must be given (--k)"),
        (("--module", "clients.py:own", "--epsilon", "nan"), "epsilon must be a finite number"),
        (("--module", "clients.py:own", "--epsilon", "0"), "epsilon must be > 0"),
        (("--module", "clients.py:broken"), "clients.py:broken failed to randomize: RuntimeError: no network"),
        (("--module", "clients.py:bits", "--epsilon", "1", "--k", "3"), "name the mechanism with --reports-of"),
        (("--module", "clients.py:own", "--k", "200"), "inputs must be 2 to 100 different answers"),
        (("--module", "bad.py:own"), "bad.py cannot be imported: SyntaxError"),
        (("absent.json",), "absent.json"),
    ],
)
def test_audit_refuses_bad_input(
    run: Run, options: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Importing a user's module may cache it; the command itself must leave no file.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    collection(run, "SMP")
    Path("clients.py").write_text(CLIENTS)
    Path("bad.py").write_text("def :")
    refused(run, "audit", *options, says=says)


# -------------------------------------------------------------------------------------------------- real data

DATA = Path(os.environ.get("DENIABLE_DATA", "absent"))
CELEBA = DATA / "celeba_attr.csv.gz"


@pytest.mark.skipif(not CELEBA.exists(), reason="needs DENIABLE_DATA with celeba_attr.csv.gz")
def test_known_figures_of_celeba(run: Run) -> None:
    data = json.loads(run("leakage", CELEBA, "--epsilon", "1", "--attributes", "Male,Bald", "--json").stdout)
    figures = {(pair["about"], pair["released"]): pair["leakage"] for pair in data["pairs"]}
    assert figures["Bald", "Male"] == pytest.approx(0.699, abs=0.0005)
    assert figures["Male", "Bald"] == pytest.approx(0.088, abs=0.0005)
    names = "Young,Chubby,Double_Chin"
    data = json.loads(
        run("leakage", CELEBA, "--epsilon", "1", "--attributes", names, "--target", "Young", "--json").stdout
    )
    (young,) = data["totals"]
    # The pair of other attributes alone has 0.581 and 0.475. The own epsilon adds 1.
    assert young["total"]["epsilon"] == pytest.approx(1.581, abs=0.0005)
    assert young[ADDITIVE_LABEL] == pytest.approx(1.475, abs=0.0005)

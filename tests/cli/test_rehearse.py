"""Rehearsals on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def guess(folder: Path) -> Path:
    """Guessed shares."""
    path = folder / "guess.csv"
    rows = ["smoker,yes,0.3", "smoker,no,0.7", "colour,red,0.5", "colour,green,0.3", "colour,blue,0.2"]
    path.write_text("\n".join(["attribute,category,share", *rows]) + "\n")
    return path


def test_a_rehearsal(run: Run, guess: Path) -> None:
    command = ("rehearse", "schema.json", "--contributors", "2000", "--guess", guess, "--runs", "50", "--seed", "3")
    compared = ("--difference", "colour=green,blue", "--html", "page.html", "--plot", "picture.png")
    result = run(*command, *compared)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    text = " ".join(result.stdout.split())
    assert "A rehearsal: 2,000 invented contributors, 50 runs" in text
    assert "For “colour”, the report had the order of “green” and “blue” wrong in" in text
    assert "One report, as it might look: smoker" in text
    assert Path("picture.png").stat().st_size > 10_000
    assert "invented contributors" in Path("page.html").read_text()
    data = json.loads(run(*command, *compared[:2], "--json").stdout)
    assert data["contributors"], data["runs"] == (2000, 50)
    assert [question["name"] for question in data["questions"]] == ["smoker", "colour"]
    assert set(data["questions"][0]) == {"name", "ask", "unit", "top_wrong", "missed", "off"}
    assert data["differences"][0]["truth"] == pytest.approx(0.1)
    assert data["example"]["attributes"][0]["categories"][0]["truth"] == pytest.approx(0.3)
    assert f"{data['differences'][0]['undecided']['rate'] * 100:g}%" in text


def test_nothing_of_a_guess_but_shares_is_shown(run: Run) -> None:
    Path("people.csv").write_text("name,smoker,colour\nAnn Smith,yes,red\nBob Jones,no,green\n")
    result = run(
        "rehearse", "schema.json", "--contributors", "100", "--guess", "people.csv", "--runs", "2", "--html", "p.html"
    )
    assert result.exit_code == 0, result.output
    for text in (result.output, Path("p.html").read_text()):
        assert "Ann" not in text
        assert "people.csv" not in text


@pytest.mark.long
def test_a_rehearsal_of_answers_is_marked_as_their_holders(run: Run, guess: Path) -> None:
    """It contains exact shares of real answers; a rehearsal from guessed shares does not."""
    command = (
        "rehearse",
        "schema.json",
        "--contributors",
        "4000",
        "--runs",
        "2",
        "--html",
        "p.html",
        "--plot",
        "p.png",
    )
    notice = "if the answers are somebody's, it is for their holder only, and not for publication"
    for like, private in (("answers.csv", True), (guess, False)):
        umask = os.umask(0o022)
        try:
            text, data = (run(*command, "--guess", like, *more) for more in ((), ("--json",)))
        finally:
            os.umask(umask)
        assert text.exit_code == data.exit_code == 0, text.output
        found = json.loads(data.stdout)
        assert (found["private"], notice in found["notice"]) == (private, private)
        assert (notice in " ".join(data.stderr.split())) == private
        printed, page = " ".join(text.stdout.split()), " ".join(Path("p.html").read_text().split())
        for shown in (printed, page):
            assert ("For the holder of the answers only, not for publication" in shown) == private
            assert ("Nobody was asked" in shown) == ("The truth is a guess" in page) == (not private)
        assert printed.startswith("WARNING: For the holder") == private
        assert page.index("For the holder") < page.index("epsilon = 1") if private else True
        assert {Path(name).stat().st_mode & 0o777 for name in ("p.html", "p.png")} == {0o600 if private else 0o644}
    # The permissions matter because the output has the shares of the file, to the last digit.
    (smoker, _) = json.loads(run(*command, "--guess", "answers.csv", "--json").stdout)["example"]["attributes"]
    lines = Path("answers.csv").read_text().splitlines()[1:]
    yes = sum(line.startswith("yes,") for line in lines)
    assert smoker["categories"][0]["truth"] == yes / len(lines)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--difference", "age=a,b"), "difference must be QUESTION=CATEGORY,CATEGORY with a question of the schema"),
        (("--difference", "smoker=yes"), "difference must name two categories of “smoker”, such as smoker=yes,no"),
        (("--runs", "1"), "runs must be >= 2"),
        (("--seed", "-1"), "seed must be an integer >= 0"),
        (("--contributors", "0"), "contributors must be >= 1"),
        (("--epsilon", "0"), "epsilon must be"),
        (("--guess", "none.csv"), "none.csv"),
        (("--html", "guess.csv"), "the output must not be one of the inputs"),
    ],
)
def test_bad_options_of_a_rehearsal(run: Run, guess: Path, options: tuple[str, ...], says: str) -> None:
    result = run("rehearse", "schema.json", "--contributors", "100", "--guess", guess, *options)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""

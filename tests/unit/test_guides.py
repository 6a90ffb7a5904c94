"""The guides in docs/ say what is true: every number is computed here, every picture can be drawn again."""

from __future__ import annotations

import contextlib
import io
import math
import re
from pathlib import Path

import pytest
from experiments.guides import epsilon as dots
from typer.testing import CliRunner

from deniable import GRR, Attribute, Schema
from deniable.cli import app
from deniable.core.privacy import odds_text
from deniable.planning import decide

DOCS = Path(__file__).parents[2] / "docs"
EPSILON = (DOCS / "epsilon.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    """Return the page's blocks in a language."""
    return re.findall(rf"```{language}\n(.*?)```", page, re.S)


def prose(page: str) -> str:
    """Return what is neither code, nor a table, nor where a link leads, in one line."""
    text = re.sub(r"```.*?```", "", page, flags=re.S)
    text = re.sub(r"^\|.*$", "", text, flags=re.M)
    return " ".join(re.sub(r"\]\([^)]*\)", "]", text).split())


def half_width(schema: Schema, n: int, epsilon: float, question: int = 0) -> float:
    return decide(schema, n, [epsilon]).settings[0].questions[question].half_width


def yes_or_no(questions: int) -> Schema:
    return Schema(tuple(Attribute(f"question {i}", ("yes", "no")) for i in range(questions)))


def believed(before: float, epsilon: float) -> float:
    """Return of how many in a hundred a yes is believed after a report of yes, by who believed it of `before`."""
    factor = before / (1 - before) * math.exp(epsilon)
    return 100 * factor / (1 + factor)


def test_no_symbol_before_the_third_screen_of_the_page_about_epsilon() -> None:
    """A screen is 40 lines of 45 characters: what a phone 390 pixels wide shows of prose."""
    lines, seen = 0, []
    for paragraph in EPSILON.split("\n\n"):
        lines += math.ceil(len(paragraph) / 45) + 1
        if lines > 80:
            break
        seen.append(re.sub(r"!?\[|\]\([^)]*\)|^#+ |\*", "", paragraph))
    assert len(seen) >= 8
    assert not re.findall(r"[^\w\s.,:;?'-]", "\n\n".join(seen))


def test_tables_of_the_page_about_epsilon_are_what_its_block_prints() -> None:
    (block,) = blocks(EPSILON, "python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "epsilon.md", "exec"), {})
    rows = [line for line in EPSILON.splitlines() if re.match(r"\| [\d.]+ \|", line)]
    assert printed.getvalue().splitlines() == rows
    assert len(rows) == 12


WORDS = {98: "98", 86: "86", 73: "seventy-three", 27: "twenty-seven", 4: "four"}


def test_every_number_of_the_page_about_epsilon() -> None:
    truth, lie = (round(100 * float(p)) for p in GRR(k=2, epsilon=1.0).support_probabilities)
    one, four = odds_text(1.0), odds_text(4.0)
    firm, office = yes_or_no(1), decide(Schema.from_json(blocks(EPSILON, "json")[1]), 3000, [1, 2])
    change = [math.hypot(*[setting.questions[0].half_width] * 2) for setting in office.settings]
    sentences = [
        f"Of a hundred women whose answer is yes, about {WORDS[truth]} send yes, and {WORDS[lie]} send no.",
        f"about {WORDS[lie]} reports in a hundred would say yes all the same. If everybody had, about {WORDS[truth]}.",
        f"her odds can now be {one} to one, and no more.",
        f"she wins {round(believed(1 / 2, 1))} bets of a hundred, and loses {100 - round(believed(1 / 2, 1))}.",
        f"they are {one} to nine: he now believes it of {round(believed(1 / 10, 1))} such people in a hundred",
        f"Had your report said no, it would be {WORDS[round(believed(1 / 10, -1))]}.",
        f"With epsilon at four the step is {four}: the neighbour is right {WORDS[round(believed(1 / 2, 4))]} times",
        f"the insurer believes it of {WORDS[round(believed(1 / 10, 4))]} such people in a hundred.",
        f"With 10,000 people and epsilon 1, one question is known to {half_width(yes_or_no(1), 10_000, 1):.1f} points, "
        f"and each of six to {half_width(yes_or_no(6), 10_000, 1):.1f}.",
        f"with epsilon 1 each has spent 2, and the odds may have moved by {odds_text(2.0)} times; four times, and it "
        f"is {four}.",
        f"to {change[0]:.1f} points at 1 and to {change[1]:.1f} at 2. **It takes 2**",
        "At 8 a report is a lie 3 times in 10,000.",
        f"At 1 the answer is known to {half_width(firm, 400, 1):.1f} points",
        "With 0.25 a month it would spend 3 in a year",
        "asks every user once a quarter: 2 in a year.",
        "2.718... at epsilon 1",
    ]
    assert round(10_000 * float(GRR(k=2, epsilon=8.0).support_probabilities[1])) == 3
    assert (12 * 0.25, 4 * 0.5, f"{math.e:.3f}") == (3, 2, "2.718")
    assert change[0] > 6 > change[1]  # "to see whether a campaign moves smoking by six points"
    assert decide(firm, 400, ["0.5"]).warnings
    assert not decide(firm, 400, [1]).warnings
    left = prose(EPSILON)
    for sentence in sentences:
        assert sentence in left
        left = left.replace(sentence, "")
    # What is left are budgets, numbers of people as they are chosen, and the numbers of list items.
    assert set(re.findall(r"\d[\d,]*(?:\.\d+)?", left)) <= {
        "0.5",
        "1",
        "2",
        "3",
        "4",
        "19",
        "20",
        "400",
        "3,000",
        "500,000",
    }


def test_half_the_epsilon_wants_four_times_the_people_and_ten_times_the_people_a_third_of_the_error() -> None:
    rows = {row.split(" | ")[0].strip("| "): row for row in EPSILON.splitlines() if row.startswith("| ")}
    for epsilon in (0.1, 0.5, 1.0):
        assert f"{epsilon:g}" in rows
        assert half_width(yes_or_no(1), 4_000, epsilon / 2) == pytest.approx(
            half_width(yes_or_no(1), 1_000, epsilon), rel=0.05
        )
    assert half_width(yes_or_no(1), 10_000, 1) * math.sqrt(10) == pytest.approx(half_width(yes_or_no(1), 1_000, 1))


def test_the_worked_cases_end_in_plans_that_say_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands, shown = blocks(EPSILON, "sh"), blocks(EPSILON, "text")
    questionnaires = re.findall(r"`(\w+\.json)`:\s+```json\n(.*?)```", EPSILON, re.S)
    assert len(questionnaires) == len(commands) == len(shown) == 3
    for (name, text), command, excerpt in zip(questionnaires, commands, shown, strict=True):
        Path(name).write_text(text)
        result = CliRunner(env={"COLUMNS": "80"}).invoke(app, command.split()[1:], catch_exceptions=False)
        assert result.exit_code == 0
        for line in excerpt.splitlines():
            assert line in result.stdout.splitlines()


def test_the_picture_of_lies_is_small_and_counts_what_the_coins_do(tmp_path: Path) -> None:
    for epsilon in dots.BUDGETS:
        truth, lies = dots.sent(epsilon)
        assert (truth, lies) == (
            round(100 / (1 + math.exp(-epsilon))),
            round(100 / (1 + math.exp(epsilon))),
        )
    dots.draw(tmp_path / "epsilon.png")
    assert (tmp_path / "epsilon.png").stat().st_size < 120_000

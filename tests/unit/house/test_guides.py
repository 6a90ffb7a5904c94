"""The guides in docs/ are true: their numbers are computed here, and their pictures can be drawn again."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from experiments.guides import epsilon as dots, staff
from typer.testing import CliRunner

import deniable
from deniable import GRR, SPL, Attribute, Collection, Schema, collection
from deniable.cli import app
from deniable.core.privacy import odds_text
from deniable.files.wire import report_width
from deniable.leakage.adversary.best_guess import best_guess
from deniable.oracles.rappor import RAPPOR
from deniable.planning import plan_survey
from deniable.planning.survey_plan import max_posterior_text
from deniable.report import consent_text
from deniable.service.survey_page import SurveyPage
from deniable.survey.attribute import VERSION_2
from deniable.survey.dictionary_file import DictionaryShape
from deniable.survey.example import demo_schema
from deniable.survey.kinds import KINDS

DOCS = Path(__file__).parents[3] / "docs"
EPSILON = (DOCS / "epsilon.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    """Return the page's blocks in a language."""
    return re.findall(rf"```{language}\n(.*?)```", page, re.S)


def prose(page: str) -> str:
    """Return a page in one line, without code, tables and link targets."""
    text = re.sub(r"```.*?```", "", page, flags=re.S)
    text = re.sub(r"^\|.*$", "", text, flags=re.M)
    return " ".join(re.sub(r"\]\([^)]*\)", "]", text).split())


def half_width(schema: Schema, n: int, epsilon: float, question: int = 0) -> float:
    return plan_survey(schema, n, [epsilon]).settings[0].questions[question].half_width


def yes_or_no(questions: int) -> Schema:
    return Schema(tuple(Attribute(f"question {i}", ("yes", "no")) for i in range(questions)))


def believed(before: float, epsilon: float) -> float:
    """Return how many in a hundred believe a yes after a report of yes, given that `before` believed it."""
    factor = before / (1 - before) * math.exp(epsilon)
    return 100 * factor / (1 + factor)


def test_no_symbol_before_the_third_screen_of_the_page_about_epsilon() -> None:
    """A screen has 40 lines of 45 characters, like prose on a phone of 390 pixels."""
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
    firm, office = yes_or_no(1), plan_survey(Schema.from_json(blocks(EPSILON, "json")[1]), 3000, [1, 2])
    change = [math.hypot(*[setting.questions[0].half_width] * 2) for setting in office.settings]
    sentences = [
        f"Among a hundred women whose answer is yes, about {WORDS[truth]} send yes, and {WORDS[lie]} send no.",
        f"about {WORDS[lie]} reports in a hundred would still say yes. "
        f"If every woman had had one, about {WORDS[truth]} reports would say yes.",
        f"her odds can now be {one} to one, and no more.",
        f"she wins {round(believed(1 / 2, 1))} bets of a hundred, and loses {100 - round(believed(1 / 2, 1))}.",
        f"his odds are {one} to nine.",
        f"he expects {round(believed(1 / 10, 1))} smokers, and no longer ten.",
        f"whose report says no, he expects {WORDS[round(believed(1 / 10, -1))]}.",
        f"Your report makes their odds at most {one} times larger or smaller.",
        f"With epsilon at four, the odds can become {four} times larger. "
        f"Then the neighbour is right {WORDS[round(believed(1 / 2, 4))]} times in a hundred.",
        f"the insurer expects {WORDS[round(believed(1 / 10, 4))]} smokers.",
        "Take 10,000 people and epsilon 1. "
        f"If you ask one question, its result is within {half_width(yes_or_no(1), 10_000, 1):.1f} points "
        "of the truth in 19 of 20 surveys. "
        f"If you ask six questions, each result is within {half_width(yes_or_no(6), 10_000, 1):.1f} points.",
        "each time with epsilon 1, has spent an epsilon of 2. "
        f"The odds about this person may have changed by a factor of {odds_text(2.0)}. "
        f"After four such answers, the factor is {four}.",
        f"{change[0]:.1f} points at epsilon 1, and {change[1]:.1f} points at epsilon 2. **The office takes epsilon 2**",
        "At epsilon 8, a report is false 3 times in 10,000.",
        f"At epsilon 1 the result is within {half_width(firm, 400, 1):.1f} points of the truth in 19 of 20 surveys.",
        "With an epsilon of 0.25 every month, each user would spend 3 in a year",
        "asks every user once a quarter. Each user then spends an epsilon of 2 in a year.",
        "2.718... at epsilon 1",
    ]
    assert round(10_000 * float(GRR(k=2, epsilon=8.0).support_probabilities[1])) == 3
    assert (12 * 0.25, 4 * 0.5, f"{math.e:.3f}") == (3, 2, "2.718")
    assert change[0] > 6 > change[1]  # the guide asks "whether a campaign changes the share of smokers by six points"
    assert plan_survey(firm, 400, ["0.5"]).warnings
    assert not plan_survey(firm, 400, [1]).warnings
    left = prose(EPSILON)
    for sentence in sentences:
        assert sentence in left
        left = left.replace(sentence, "")
    # The rest are budgets, numbers of people as they are chosen, and the numbers of list items.
    assert set(re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", left)) <= {
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
    for epsilon in (2.0, 4.0, 8.0):
        assert half_width(yes_or_no(1), 4_000, epsilon / 2) > half_width(yes_or_no(1), 1_000, epsilon)
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


CLI = (DOCS / "cli.md").read_text(encoding="utf-8")
TUTORIAL = (DOCS / "tutorial.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    """Return the commands that readers of the tutorial type."""
    return [line for block in blocks(TUTORIAL, "sh") for line in block.splitlines()]


def test_the_first_survey_takes_ten_commands_which_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the output of `make demo` to the report, as on the page; a long test covers the installation."""
    shutil.copytree(DOCS / "tutorial", tmp_path / "docs" / "tutorial")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert len(commands()) <= 10
    assert commands()[:2] == ["make demo", ". .venv/bin/activate"]
    (questionnaire,) = blocks(TUTORIAL, "json")
    shown = blocks(TUTORIAL, "text")
    assert len(shown) == 2
    for line in commands()[2:]:
        if line.startswith("deniable"):
            result = CliRunner(env={"COLUMNS": "80"}).invoke(app, shlex.split(line)[1:], catch_exceptions=False)
            assert result.exit_code == 0, (line, result.output)
            if line.split()[1] in ("schema", "plan"):
                printed = result.stdout.splitlines()
                assert not [row for row in shown.pop(0).splitlines() if row not in printed]
            if line.split()[1] == "inspect":
                said = " ".join(result.stdout.split())
                assert "whatever you send, nobody's odds about you can change by more than a factor of 7.39" in said
        else:
            subprocess.run(line, shell=True, check=True)
        if line.startswith("sed"):
            assert Path("schema.json").is_file()
            Path("schema.json").write_text(questionnaire)
    report = Path("report.html").read_text(encoding="utf-8")
    assert "Do you think of leaving?" in report
    keys_of_json_are_those_of_the_reference()
    assert Path("result.png").stat().st_size > 10_000


def keys_of_json_are_those_of_the_reference() -> None:
    """Every key that `estimate --json` prints, at any depth, is named in its part of the reference."""
    asked = "estimate survey.json all.aggregate --total leaving=often --quantiles leaving=.5 --truth answers.csv --json"
    result = CliRunner().invoke(app, asked.split(), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    (reference,) = re.findall(r"^## `deniable estimate`\n(.*?)(?=^## )", CLI, re.M | re.S)
    left = [json.loads(result.stdout)]
    for known in ("guarantee", "mechanism"):  # these have the keys of `inspect`, and the mechanism's parameters
        left[0][known] = None
    printed = set()
    while left:
        one = left.pop()
        left += one.values() if isinstance(one, dict) else one if isinstance(one, list) else []
        printed |= set(one) if isinstance(one, dict) else set()
    assert {"format", "n", "interval", "categories", "estimate", "truth", "curves"} <= printed
    assert not sorted(key for key in printed if f"`{key}`" not in reference)


def test_the_answers_of_the_tutorial_are_those_that_its_command_writes() -> None:
    text = (DOCS / "tutorial" / "staff.csv").read_text(encoding="utf-8")
    assert text == staff.text()
    leaving = [row.split(";")[3] for row in text.splitlines()[1:]]
    for answer, share in staff.LEAVING.items():
        assert abs(leaving.count(answer) / staff.N - share) < 4 * math.sqrt(share * (1 - share) / staff.N)


@pytest.mark.long
def test_a_newcomer_comes_from_a_clone_to_the_report_of_a_survey(tmp_path: Path) -> None:
    """Type the page's commands into a shell in a fresh clone; only Python and git come from this environment."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{DOCS.parent}", str(clone)], check=True)
    (questionnaire,) = blocks(TUTORIAL, "json")
    (tmp_path / "schema.json").write_text(questionnaire)
    script = "\n".join(f"{line}\n" + f"cp '{tmp_path}/schema.json' ." * line.startswith("sed") for line in commands())
    own = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME", "MAKEFLAGS")
    environment = {name: value for name, value in os.environ.items() if name not in own}
    here = str(Path(sys.executable).parent)
    environment["PATH"] = ":".join(place for place in os.environ["PATH"].split(":") if place != here)
    environment["XDG_STATE_HOME"] = str(tmp_path / "state")
    subprocess.run(["bash", "-e"], input=script, text=True, cwd=clone, env=environment, check=True)
    assert "Do you think of leaving?" in (clone / "report.html").read_text(encoding="utf-8")


def test_pictures_of_the_guides_are_small() -> None:
    found = sorted(path for folder in ("pictures", "screenshots") for path in (DOCS / folder).glob("*.png"))
    assert len(found) >= 3
    assert not [path.name for path in found if path.stat().st_size >= 120_000]


GLOSSARY = (DOCS / "glossary.md").read_text(encoding="utf-8")
FAQ = (DOCS / "faq.md").read_text(encoding="utf-8")


def anchor(heading: str) -> str:
    """Return the end of a link to a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_the_glossary_lists_its_terms_in_order_and_says_each_in_three_sentences() -> None:
    terms = dict(re.findall(r"^### ([^\n]*)\n\n(.*?)(?=\n\n|\Z)", GLOSSARY, re.M | re.S))
    listed = re.findall(r"\[([^]]*)\]\(#([^)]*)\)", GLOSSARY.split("\n## ")[0])
    assert [name for _, name in listed] == [anchor(term) for term in sorted(terms, key=str.lower)]
    vocabulary = "contributor collector report aggregate epsilon interval standard-error support mechanism oracle deal"
    assert {*vocabulary.split(), "phase", "wave", "target", "ledger", "wire-form"} <= {name for _, name in listed}
    for term, text in terms.items():
        sentences = re.findall(r"[.?!:;](?= |\n|$)", re.sub(r"\]\([^)]*\)", "]", text))
        assert len([end for end in sentences if end in ".?!"]) <= 3, term


def test_answers_to_questions_are_short_and_their_numbers_computed() -> None:
    answers = dict(re.findall(r"^## ([^\n]*)\n\n(.*?)(?=\n## |\Z)", FAQ, re.M | re.S))
    assert len(answers) >= 20
    for question, answer in answers.items():
        assert question[-1] in "?."
        assert len(answer.split()) <= 90, question
    decided = plan_survey(yes_or_no(1), 1000, [0.5, 1, 2], target=3).settings
    needed = [f"{setting.questions[0].contributors_needed:,}" for setting in decided]
    six = plan_survey(yes_or_no(6), 1000, [1], target=3).settings[0].questions[0].contributors_needed
    # If Laplace noise of scale 1/epsilon is added to a count, 95% lie within ln 20 of it.
    central, local = 100 * math.log(20) / 10_000, half_width(yes_or_no(1), 10_000, 1)
    influence = GRR(k=2, epsilon=1.0).influence()
    assert influence is not None
    sentences = [
        f"You need {needed[0]} people at epsilon 0.5, {needed[1]} at epsilon 1, and {needed[2]} at epsilon 2.",
        f"For six such questions at epsilon 1, you need {six:,} people.",
        f"the share that the holder publishes is within {central:.2f} points of the true share. With `deniable`, the "
        f"share is within {local:.1f} points of the true share.",
        f"such a person counts for {influence.up:.1f} people",
    ]
    for sentence in sentences:
        assert sentence in prose(FAQ)


CONSENT = (DOCS / "templates" / "consent.md").read_text(encoding="utf-8")
DPIA = (DOCS / "templates" / "dpia.md").read_text(encoding="utf-8")


def test_consent_texts_are_what_the_library_fills_in() -> None:
    (block,) = blocks(CONSENT, "python")
    made: dict[str, str] = {}
    exec(compile(block.replace("print(filled)", ""), "consent.md", "exec"), made)
    shown = [text.split() for text in blocks(CONSENT, "text")]
    assert shown == [made["blank"].split(), made["filled"].split()]
    assert "[" not in made["filled"]
    assert made["blank"].count("[") == 7


def test_a_consent_text_promises_what_its_collection_does() -> None:
    words = Schema((Attribute("smoker", ("yes", "no")), Attribute("mood", ("bad", "good"))))
    one = collection(words, 2)
    one_text = consent_text(one, who="We")
    assert "nobody's odds about you can change by more than a factor of 7.39" in one_text
    assert "about only one of the questions" in one_text
    assert one.id[:12] in one_text
    every = consent_text(Collection(words, SPL(sizes=(2, 2), epsilon=1.0)))
    assert "which your device draws" not in every
    assert "which your device draws" not in consent_text(collection(yes_or_no(1), 1))
    dealt = Collection(yes_or_no(1), deniable.mechanism("QuotaRR", k=2, epsilon=1.0, n=100, deal_id="one"))
    assert "for ever" not in consent_text(dealt)
    assert "a dealer hands out secret shares" in consent_text(dealt)
    assert "coins that somebody dealt" in consent_text(dealt)
    remembering = consent_text(Collection(yes_or_no(1), RAPPOR.from_epsilon(k=2, epsilon=1.0)))
    for text in (one_text, every, consent_text(dealt), remembering):
        # A device may keep its random draws (RAPPOR), and a dealer knows them. Whether people must answer is not ours
        # to say.
        assert "written down" not in text
        assert "voluntary" not in text
    assert "is little protection" in consent_text(collection(words, 5))


def test_numbers_of_the_impact_assessment_are_those_of_the_demonstration() -> None:
    survey = collection(demo_schema(), 1)
    planned, less = plan_survey(demo_schema(), 6366, [1, 0.5]).settings
    errors = {question.name: question.half_width for question in planned.questions}
    guess = best_guess(survey.mechanism, 0)
    assert guess.after is not None
    said = [
        f"{len(demo_schema().names)} questions: affairs",
        f"{report_width(survey.mechanism)} bytes",
        f"{errors['affairs']:.1f} points for affairs, {max(errors.values()):.1f} for age",
        f"{less.questions[0].half_width:.0f} points for affairs and {less.questions[3].half_width:.0f} for age",
        f"change by a factor of at most {odds_text(1.0)}",
        f"at most {max_posterior_text(1.0)} sure",
        f"right in {100 * guess.after:.1f} of 100 cases with the report, and in {100 * guess.without:.0f} of",
        f"change by a factor of up to {odds_text(2.0)} |",
        f"at least {SurveyPage.model_fields['min_batch'].default} is added",
    ]
    for words in said:
        assert words in DPIA, words


STABILITY = (DOCS / "stability.md").read_text(encoding="utf-8")


def test_tests_that_the_page_about_stability_names_exist() -> None:
    named = re.findall(r"`(tests/[\w/.]+)(?:::(\w+))?`", STABILITY)
    assert len(named) > 15
    for place, function in named:
        assert (DOCS.parent / place).exists(), place
        assert not function or f"def {function}(" in (DOCS.parent / place).read_text()


SCHEMA = (DOCS / "schema.md").read_text(encoding="utf-8")


def test_every_key_of_a_schema_is_on_its_page_with_its_default_and_no_other() -> None:
    """Keys are those that the document's own models take: of an attribute, of the document, of a dictionary."""
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \|", SCHEMA, re.M)
    fields = {field.name: field for field in dataclasses.fields(Attribute)}
    assert [name for name, _, _ in rows] == [
        "format",
        "format_version",
        *(field.name for field in dataclasses.fields(Schema)),
        *(name for name, _, _ in rows[3:]),
    ]
    listed = {name: (kinds, default) for name, kinds, default in rows[3 : 3 + len(fields)]}
    assert set(listed) == set(fields)
    assert [name for name, _, _ in rows[3 + len(fields) :]] == list(DictionaryShape.model_fields)
    for name, (_, default) in listed.items():
        stated = fields[name].default
        if isinstance(stated, (str, bool)):
            assert json.dumps(stated) in default, name
    for kind in KINDS:
        assert f'`"{kind}"`' in SCHEMA
    for name in VERSION_2:
        assert f"`{name}`" not in SCHEMA.split("version 1 has only the keys")[1].split(". ")[0]
    earlier = set(fields) - set(VERSION_2)
    assert set(re.findall(r"`(\w+)`", SCHEMA.split("version 1 has only the keys")[1].split(". ")[0])) == earlier


def test_a_key_is_refused_where_the_page_does_not_list_its_kind() -> None:
    """One attribute of every kind, and every key on it: taken where the page says so, refused where it does not."""
    least: dict[str, dict[str, Any]] = {
        "categories": {"categories": ["a", "b"]},
        "ordered": {"categories": ["1", "2"]},
        "numeric": {"range": [0, 1], "grid": 2},
        "multiple": {"categories": ["a", "b"]},
        "text": {},
    }
    values = {"missing": "none", "other": "else", "edges": [1], "scores": [1, 2], "range": [0, 1], "grid": 2}
    values |= {"clip": True, "ask": "mean", "separator": "|", "title": "What?", "categories": ["a", "b"]}
    values |= {"ask_if": {"question": "p", "answers": ["yes"]}}
    rows = {name: kinds for name, kinds, _ in re.findall(r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \|", SCHEMA, re.M)}
    for kind, needed in least.items():
        for key, value in values.items():
            said = rows[key]
            listed = kind in said.split(", ") or said == "all" or (said == "all but text" and kind != "text")
            document = {"name": "q", "kind": kind, **needed, key: value}
            if key == "edges":
                document |= {"categories": ["low", "high"]} if "categories" in needed else {}
            before = [{"name": "p", "categories": ["yes", "no"]}] if kind != "text" else []
            document |= {"missing": "none"} if key == "ask_if" else {}
            text = json.dumps({"format": "deniable schema", "format_version": 2, "attributes": [*before, document]})
            with contextlib.nullcontext() if listed else pytest.raises(deniable.DeniableError):
                Schema.from_json(text)


def test_pages_that_beginners_read_first_lead_to_the_glossary() -> None:
    for name in ("concepts", "epsilon", "tutorial", "faq", "planning", "collecting", "schema", "answers", "stability"):
        assert "](glossary.md" in (DOCS / f"{name}.md").read_text(encoding="utf-8"), name

"""A test runs every block of code and every command of the pages, or this file gives the reason why not.

`test_python_in_the_pages_runs` runs Python. Commands of `deniable` run here. Each block has its own folder, with the
files that a reader has at that line. Blocks that other tests run are listed with their test.
"""

from __future__ import annotations

import configparser
import doctest
import glob
import importlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import openpyxl
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from deniable import GRR, Collection, Schema
from deniable.cli import app, commands as all_commands
from deniable.oracles import MemoisedGRR

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "experiments").glob("*/README.md")),
    ROOT / "client" / "README.md",
]


class Block(NamedTuple):
    """A fenced block: its page, its number on the page, its language, its text."""

    page: str
    place: int
    language: str
    text: str


def _blocks() -> Iterator[Block]:
    for path in PAGES:
        found = re.findall(r"^( *)```(\w*)\n(.*?)^\1```", path.read_text(encoding="utf-8"), re.M | re.S)
        for place, (_, language, text) in enumerate(found):
            yield Block(str(path.relative_to(ROOT)), place, language, text)


BLOCKS = list(_blocks())

GUIDES = "tests/unit/house/test_guides.py"
WORKED_CASES = f"{GUIDES}::test_the_worked_cases_end_in_plans_that_say_what_the"
FIRST_SURVEY = f"{GUIDES}::test_the_first_survey_takes_ten_commands_which_work"
PACKAGE = "tests/browser/test_package.py::test"
ELSEWHERE = {
    ("docs/client.md", "html"): "tests/client/test_docs.py::test_the_survey_is_embedded_in_five_lines",
    ("docs/client.md", "js"): "client/test/docs.test.mjs",
    (
        "docs/client.md",
        "text",
    ): "tests/client/test_vectors.py::test_a_link_ends_in_half_of_a_hash_over_both_documents",
    (
        "docs/embedding.md",
        "html",
    ): f"{PACKAGE}_the_element_asks_a_survey_under_a_strict_policy",
    ("docs/embedding.md", "js"): f"{PACKAGE}_a_page_loads_draws_once_and_sends",
    (
        "docs/embedding.md",
        "text",
    ): f"{PACKAGE}_the_element_asks_a_survey_under_a_strict_policy",
    ("docs/collecting.md", "sh"): "tests/service/test_docs.py::test_the_commands_work_in_their_order",
    ("docs/deployment.md", "shell"): "tests/service/test_deploy.py::test_the_unit_starts_takes_a_report_and_ends",
    ("docs/deployment.md", "toml"): "tests/service/test_docs.py::test_the_configuration_is_one",
    ("docs/epsilon.md", "json"): WORKED_CASES,
    ("docs/epsilon.md", "sh"): WORKED_CASES,
    ("docs/epsilon.md", "text"): WORKED_CASES,
    ("docs/comparing.md", "py"): "tests/docs/test_blocks.py::test_commands_of_the_pages_work",
    ("docs/programmes.md", "toml"): "tests/docs/test_blocks.py::test_commands_of_the_pages_work",
    ("docs/answers.md", "r"): "tests/stack/test_r.py::test_r_reads_numbers_and_codebook_as_the_page_on_answers_says",
    ("docs/load-times.md", "js"): "tests/browser/test_load_times.py",
    ("docs/surveyjs.md", "html"): "tests/stack/test_transcripts.py::test_a_form_of_surveyjs",
    ("docs/surveyjs.md", "js"): "tests/browser/test_surveyjs.py",
    ("docs/r.md", "r"): "tests/stack/test_r.py::test_the_page_about_r_runs",
    ("docs/schema.md", "json"): "tests/unit/survey/test_attribute.py::test_the_reference_has_every_key_and_its",
    ("docs/templates/consent.md", "text"): f"{GUIDES}::test_consent_texts_are_what_the_library",
    ("docs/tutorial.md", "json"): FIRST_SURVEY,
    ("docs/tutorial.md", "sh"): FIRST_SURVEY,
    ("docs/tutorial.md", "text"): FIRST_SURVEY,
}
"""Page and language of blocks that have their own test."""

NOT_RUN = {
    ("docs/answers.md", "spss"): "SPSS is not here, and the page says so; names and columns: tests/cli/test_answers.py",
    ("docs/architecture.md", "text"): "a map of folders",
    ("docs/collecting.md", "json"): "the shape of a body; a whole one is in tests/vectors/service",
    ("docs/programmes.md", "json"): "the shape of a ledger: tests/unit/files/jobs/test_person.py",
    ("docs/engines.md", "py"): "Spark and DuckDB: tests/engines runs them, where they are installed",
    ("docs/r.md", "shell"): "what tests/stack/conftest.py does, in a library of its own",
    ("client/README.md", "html"): "what docs/embedding.md shows, with another place of the file",
}
"""Page and language of blocks that no test runs, with the reason."""

OTHER_PROGRAMS = {
    "deniable bench compare mine.py:subset multi": "other libraries: tests/research/comparison",
    "make": "a target of the Makefile: checked to be one; .ci/run makes demo, test and check",
    "pip": "installing: .ci/dist does, in a new environment",
    ".venv/bin/python": "a benchmark of minutes: its module is checked to be there",
    "python -m experiments": "minutes: `make quick` runs all with few runs; those named are checked to exist",
    "DENIABLE_DATA=": "the same, on data that not everybody has",
    "deniable serve --demo": "tests/service/test_commands.py starts it, and 60 contributors answer",
    "deniable survey invite": "needs a survey for invited people: tests/service/test_invitations.py",
    "deniable survey next": "needs reports of a round: tests/service/test_rounds.py",
    "deniable survey open smoking": "the second round's draft: tests/service/test_rounds.py",
    "deniable survey export smoking --round": "the same",
    "deniable send survey.json answers.csv http": "needs a collector: tests/service/test_commands.py sends to one",
}
"""Beginnings of lines that are not run here, with the reason."""

HERE = {("docs/extending.md", "toml")}
"""Page and language of blocks that are not commands; tests below read them."""

# ------------------------------------------------------------------ environments of commands

N = 600
QUESTIONS = {
    "stars": ["1", "2", "3", "4", "5"],
    "team": ["north", "south"],
    "content": ["yes", "no"],
    "department": ["sales", "works", "office"],
}


def _answers(name: str, *columns: str) -> None:
    rng = np.random.default_rng(14)
    drawn = [rng.choice(QUESTIONS[column], N) for column in columns]
    rows = [",".join(row) for row in zip(*drawn, strict=True)]
    Path(name).write_text("\n".join([",".join(columns), *rows]) + "\n")


def _run(*lines: str) -> None:
    for line in lines:
        words = [one for word in shlex.split(line) for one in (sorted(glob.glob(word)) or [word])]
        result = CliRunner(env={"COLUMNS": "80"}).invoke(app, words[1:], catch_exceptions=False)
        assert result.exit_code == 0, (line, result.output)


def _questionnaire(*columns: str, name: str = "schema.json") -> None:
    _answers("answers.csv", *columns)
    _run(f"deniable schema answers.csv -o {name}")


def _reports(collection: str, aggregate: str, answers: str = "answers.csv") -> None:
    _run(
        f"deniable randomize {collection} {answers} -o {aggregate}.parquet --allow-repeat",
        f"deniable aggregate {collection} {aggregate}.parquet -o {aggregate}",
    )


def _mechanism_of_mine() -> None:
    Path("mine.py").write_text(_code("docs/comparing.md", "py"))


def _asked(*columns: str, collection: str = "survey.json", aggregate: str = "all.aggregate", options: str = "") -> None:
    _questionnaire(*columns, name=f"{collection}.schema")
    _run(f"deniable collection --schema {collection}.schema --epsilon 2 {options} -o {collection}")
    _reports(collection, aggregate)


def _two_waves() -> None:
    _asked("stars", collection="may.json", aggregate="may.aggregate", options="--title May")
    _asked("stars", collection="june.json", aggregate="june.aggregate", options="--title June")


def _first_steps() -> None:
    _questionnaire("stars", "team")
    _run("deniable collection --schema schema.json --epsilon 1 -o survey.json")
    _answers("day2.csv", "stars", "team")
    _reports("survey.json", "day2.aggregate", "day2.csv")
    for made in ("schema.json", "survey.json"):
        Path(made).unlink()


def _dictionary() -> None:
    Path("words.txt").write_text("north\nsouth\nwest\n")
    _answers("team.csv", "team")
    Path("answers.csv").write_text(Path("team.csv").read_text().replace("team", "url"))
    _run(
        "deniable collection --dictionary words.txt --attribute url --epsilon 1 -o survey.json",
        "deniable collection --heavy-hitters --attribute url --epsilon 4 -o hunt.json",
    )
    _reports("survey.json", "all.aggregate")
    _reports("hunt.json", "strings.aggregate")


def _one_phase() -> None:
    _questionnaire("team", "content")
    _run("deniable collection --schema schema.json --mechanism SPL --epsilon 1 -o survey.json")
    _reports("survey.json", "phase1.aggregate")


def _two_phases() -> None:
    _one_phase()
    _run("deniable learn survey.json phase1.aggregate --contributors 9000 -o survey-phase2.json")
    Path("others.csv").write_text(Path("answers.csv").read_text() + "north,yes\n")
    _reports("survey-phase2.json", "phase2.aggregate", "others.csv")


def _pilot() -> None:
    Path("words.txt").write_text("north\nsouth\nwest\n")
    _answers("team.csv", "team")
    Path("answers.csv").write_text(Path("team.csv").read_text().replace("team", "word"))
    _run("deniable collection --dictionary words.txt --attribute word --mechanism OCMS --epsilon 3 -o pilot.json")
    _reports("pilot.json", "pilot.aggregate")


def _programme() -> None:
    _questionnaire("team")
    asked = Schema.load("schema.json")
    Collection(asked, MemoisedGRR(2, 2, 1), title="Mood").save(Path("mood.json"))
    Collection(asked, GRR(2, 1), title="Smoking").save(Path("smoking.json"))
    Path("plan.toml").write_text(_code("docs/programmes.md", "toml"))


def _dealt() -> None:
    _questionnaire("team")
    Path("anna.csv").write_text("team\nnorth\n")


def _guess() -> None:
    _questionnaire("stars", "team")
    _answers("guess.csv", "stars", "team")


def _incomes() -> None:
    attribute = '{"name": "income", "kind": "numeric", "range": [0, 5000], "grid": 51, "clip": true}'
    Path("income.json").write_text(f'{{"format": "deniable schema", "format_version": 2, "attributes": [{attribute}]}}')
    Path("answers.csv").write_text("income\n" + "1234\n2345\n" * N)
    _run("deniable collection --schema income.json --epsilon 2 -o survey.json")
    _reports("survey.json", "all.aggregate")


def _parts() -> None:
    _asked("team", aggregate="part-1.arrow")
    Path("reports-on-this-machine").mkdir()
    _answers("others.csv", "team")
    _run("deniable randomize survey.json others.csv -o reports-on-this-machine/reports.parquet --allow-repeat")


def _database() -> None:
    _questionnaire("team")
    Path("deniable").mkdir()
    _run(
        "deniable collection --schema schema.json --epsilon 2 -o survey.json",
        "deniable survey new team survey.json --database sqlite:deniable/survey.db",
    )


def _accounts() -> None:
    _questionnaire("team")
    Path("password.txt").write_text("correct horse battery")
    _run(
        "deniable collection --schema schema.json --epsilon 2 -o survey.json",
        "deniable survey new smoking survey.json",
        "deniable analyst add ann --role owner --password-file password.txt",
    )


def _staff() -> None:
    _questionnaire("stars", "department", name="staff.json")
    _run("deniable collection --schema staff.json --epsilon 3 --pairs -o survey.json")
    _reports("survey.json", "all.aggregate")


def _code(page: str, language: str) -> str:
    return next(block.text for block in BLOCKS if (block.page, block.language) == (page, language))


def _form(name: str) -> None:
    book = openpyxl.Workbook()
    sheets = {
        "survey": [["type", "name", "label"], ["select_one yn", "smoker", "Do you smoke?"]],
        "choices": [["list_name", "name"], ["yn", "yes"], ["yn", "no"]],
    }
    for sheet, rows in sheets.items():
        page = book.create_sheet(sheet)
        for row in rows:
            page.append(row)
    book.save(name)


def _pilot_of_form() -> None:
    _form("form.xlsx")
    Path("answers.csv").write_text("smoker\n" + "yes\nno\nno\n" * 100)


def _loads() -> None:
    entry = {"duration": 900.5, "responseEnd": 200.25, "confidence": {"randomizedTriggerRate": 0.5, "value": "high"}}
    Path("loads.jsonl").write_text(f"{json.dumps(entry)}\n" * 3)


def _answered() -> None:
    _asked("stars")
    _two_waves()


def _sample() -> None:
    rows = [f"{'yes' if i % 3 else 'no'},{1 + i % 2},{'north' if i < 60 else 'south'},v{i // 10}" for i in range(120)]
    Path("people.csv").write_text("\n".join(["said,w,region,village", *rows]) + "\n")


HAS: dict[tuple[str, str], Callable[[], None]] = {
    ("README.md", "deniable schema"): lambda: _answers("answers.csv", "stars", "team"),
    ("docs/answers.md", "deniable estimate survey.json all.aggregate --mean"): _answered,
    ("docs/answers.md", "deniable estimate survey.json all.aggregate --csv"): lambda: _asked("stars"),
    ("docs/choosing.md", "deniable plan"): _guess,
    ("docs/cli.md", "deniable schema"): _first_steps,
    ("docs/cli.md", "deniable collection --dictionary words.txt --attribute url"): _dictionary,
    ("docs/cli.md", "deniable collection --schema schema.json --mechanism SPL"): _two_phases,
    ("docs/cli.md", "deniable learn"): _two_phases,
    ("docs/cli.md", "deniable collection --dictionary words.txt --attribute word"): _pilot,
    ("docs/cli.md", "deniable programme"): _programme,
    ("docs/cli.md", "deniable rehearse"): _guess,
    ("docs/cli.md", "deniable collection --schema schema.json --mechanism QuotaRR"): _dealt,
    ("docs/collecting.md", "deniable analyst add"): _accounts,
    ("docs/collecting.md", "deniable analyst audit"): _accounts,
    ("docs/crosstabs.md", "deniable collection"): lambda: _questionnaire("team", "content"),
    ("docs/deployment.md", "deniable survey backup"): _database,
    ("docs/deployment.md", "deniable survey migrate"): _database,
    ("docs/designs.md", "deniable estimate --design forced"): _sample,
    ("docs/engines.md", "deniable aggregate"): _parts,
    ("docs/planning.md", "deniable plan"): _guess,
    ("docs/planning.md", "deniable rehearse"): _guess,
    ("docs/comparing.md", "deniable bench"): _mechanism_of_mine,
    ("docs/forms.md", "deniable form"): _pilot_of_form,
    ("docs/forms.md", "deniable codebook"): lambda: _asked("stars"),
    ("docs/load-times.md", "deniable load-times"): _loads,
    ("docs/r.md", "deniable estimate"): lambda: _asked("stars"),
    ("docs/stories/incomes.md", "deniable estimate"): _incomes,
    ("docs/stories/poll.md", "deniable compare"): _two_waves,
    ("docs/stories/staff.md", "deniable collection"): _staff,
}
"""Page, and beginning of a block's first command -> preparation of the folder.

Only blocks that need files are listed.
"""


def _lines(block: Block) -> list[str]:
    return [line for line in (re.sub("(^| +)#.*", "", one) for one in block.text.splitlines()) if line]


def _other(line: str) -> bool:
    return any(line.startswith(beginning) for beginning in OTHER_PROGRAMS)


def _commands(block: Block) -> list[str]:
    """Return the commands of a block that this test runs."""
    return [line for line in _lines(block) if not _other(line)]


def _begins(block: Block, key: tuple[str, str]) -> bool:
    page, beginning = key
    return block.page == page and " ".join("".join(_commands(block)[:1]).split()).startswith(beginning)


OURS = [block for block in BLOCKS if block.language in ("", "sh") and (block.page, block.language) not in ELSEWHERE]


@pytest.mark.parametrize("block", OURS, ids=lambda block: f"{block.page}-{block.place}")
def test_commands_of_the_pages_work(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = _commands(block)
    monkeypatch.chdir(tmp_path)
    for prepare in (prepare for key, prepare in HAS.items() if _begins(block, key)):
        prepare()
    for line in lines:
        assert line.startswith("deniable "), f"a test runs it, or OTHER_PROGRAMS says why not: {line}"
        _run(line.replace("/var/lib/", f"{tmp_path}/"))


EXAMPLES = [block for block in BLOCKS if block.language == "pycon" and block.page.startswith("docs/mechanisms/")]


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: block.page)
def test_the_example_of_a_mechanism_runs_alone(block: Block) -> None:
    # The same lines are an example of the class, which would also find the names of its module.
    example = doctest.DocTestParser().get_doctest(block.text, {}, block.page, block.page, block.place)
    found = doctest.DocTestRunner(verbose=False).run(example)
    assert example.examples
    assert found.failed == 0


def test_every_block_is_run_or_has_a_reason() -> None:
    for block in BLOCKS:
        executed = block.page.startswith("docs/") or block.page in ("README.md", "SECURITY.md", "CHANGELOG.md")
        run = (block.language == "python" and executed) or block in OURS
        run |= block.language == "output"  # `test_python_in_the_pages_runs` compares it
        run |= block in EXAMPLES
        assert run or (block.page, block.language) in {*ELSEWHERE, *NOT_RUN, *HERE}, block


def test_reasons_and_stages_are_of_blocks_that_there_are() -> None:
    assert {*ELSEWHERE, *NOT_RUN, *HERE} <= {(block.page, block.language) for block in BLOCKS}
    asked = [line for block in OURS for line in _lines(block)]
    assert all(any(line.startswith(beginning) for line in asked) for beginning in OTHER_PROGRAMS)
    assert {key: sum(_begins(block, key) for block in OURS) for key in HAS} == dict.fromkeys(HAS, 1)
    for test in ELSEWHERE.values():
        path, _, function = test.partition("::")
        assert f"def {function}" in (ROOT / path).read_text(encoding="utf-8") if function else (ROOT / path).exists()


def test_commands_name_verbs_and_options_that_there_are() -> None:
    """Commands that are not run, and commands inside sentences, are tested as well."""
    commands: Any = get_command(app)
    options = {
        command: {option for one in commands.commands[command].params for option in one.opts}
        for command in all_commands()
    }
    said = [line for block in BLOCKS if block.language in ("", "sh") for line in _lines(block)]
    for path in PAGES:
        said += re.findall(r"(?<!`)`(deniable [^`\n]+)`(?!`)", path.read_text(encoding="utf-8"))
    for line in (line for line in said if line.startswith("deniable ")):
        _, command, *words = line.replace("...", "").split()
        if command.startswith("-"):
            continue
        assert command in options, line
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options[command] | {"--help"}, (
            line
        )


def test_targets_and_modules_of_the_pages_exist() -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.M))
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        named = re.findall(r"(?:^|`)make ([a-z][a-z0-9-]*)", text, re.M)
        assert set(named) <= targets, path
        for module in re.findall(r"python -m ((?:benchmarks|experiments|tests|docs)[\w.]*)", text):
            place = ROOT / module.replace(".", "/")
            assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), f"{path}: {module}"


def test_experiments_of_the_pages_exist() -> None:
    for page in sorted((ROOT / "experiments").glob("*/README.md")):
        paper = importlib.import_module(f"experiments.{page.parent.name}.paper").PAPER
        importlib.import_module(f"experiments.{page.parent.name}.__main__")
        for words in re.findall(
            rf"python -m experiments\.{page.parent.name} ([a-z][^\n#]*)", page.read_text(encoding="utf-8")
        ):
            named = {word for word in re.sub(" -+.*", "", words).split() if word not in ("all", "list")}
            assert named <= set(paper.experiments), page


def test_the_mechanism_of_the_page_is_the_one_that_is_held_to_the_laws() -> None:
    """`test_toy_package` installs the file and checks the laws; the page shows and runs its code."""
    shown = [block.text for block in BLOCKS if block[0::2] == ("docs/extending.md", "python")]
    file = (ROOT / "tests" / "toy_package" / "toy_package.py").read_text(encoding="utf-8")
    assert file.endswith(shown[0])
    assert file.removesuffix(shown[0]).count('"""') == 2  # the file differs only in its docstring


def test_a_mechanism_of_another_package_is_named_as_the_page_says() -> None:
    (block,) = (block for block in BLOCKS if block[0::2] == ("docs/extending.md", "toml"))
    project = tomllib.loads(block.text)["project"]
    named = project["entry-points"]["deniable.mechanisms"]
    (installed,) = (ROOT / "tests" / "toy_package").glob("*.dist-info/entry_points.txt")
    parser = configparser.RawConfigParser()
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(installed.read_text())
    assert named.items() <= dict(parser["deniable.mechanisms"]).items()
    metadata = (installed.parent / "METADATA").read_text()
    assert f"Name: {project['name']}\nVersion: {project['version']}" in metadata


@pytest.mark.long
def test_the_pyproject_of_the_page_installs_the_mechanism(tmp_path: Path) -> None:
    (block,) = (block for block in BLOCKS if block[0::2] == ("docs/extending.md", "toml"))
    source, installed = tmp_path / "source", tmp_path / "installed"
    source.mkdir()
    (source / "pyproject.toml").write_text(block.text)
    shutil.copy(ROOT / "tests" / "toy_package" / "toy_package.py", source)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--target", str(installed), str(source)], check=True)
    code = (
        "import deniable\nfrom deniable.testing import check_mechanism\n"
        "print(check_mechanism(deniable.mechanism('ToyRR', k=3, epsilon=1.0)))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(installed)}, capture_output=True, text=True, check=True
    )
    assert told.stdout == "ToyRR(k=3, epsilon=1.0): 22 laws hold, 0 not checked\n"

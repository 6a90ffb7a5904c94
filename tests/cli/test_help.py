"""Every command and option has a help text and a place in docs/cli.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from docs.making import commands
from typer.main import get_command

import deniable.cli
from deniable.cli import app, verbs
from tests.cli.conftest import Run

REFERENCE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
ROOT: Any = get_command(app)
VERBS = verbs()
ORDER = tuple(VERBS)


def parameters(verb: str) -> list[Any]:
    return [parameter for parameter in ROOT.commands[verb].params if "--help" not in parameter.opts]


def section(verb: str) -> str:
    found = re.search(rf"^## `deniable {verb}`\n(.*?)(?=^## |\Z)", REFERENCE, re.M | re.S)
    assert found is not None, f"docs/cli.md must have a section on deniable {verb}"
    return found[1]


def test_the_verbs_are_those_of_the_documentation() -> None:
    assert tuple(ROOT.commands) == ORDER
    assert tuple(re.findall(r"^## `deniable ([\w-]+)`$", REFERENCE, re.M)) == ORDER
    assert "`--version`" in REFERENCE


@pytest.mark.parametrize("verb", ORDER)
def test_command_has_help_that_fits(verb: str, run: Run) -> None:
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert len(ROOT.commands[verb].help) > 20
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("verb", ORDER)
def test_every_parameter_has_help(verb: str) -> None:
    hints = get_type_hints(ROOT.commands[verb].callback, include_extras=True)
    for parameter in parameters(verb):
        said = hints[parameter.name].__metadata__
        assert any(getattr(one, "help", None) for one in said), f"{verb} {parameter.name}"


@pytest.mark.parametrize("verb", ORDER)
def test_every_parameter_is_in_the_reference_and_nothing_else(verb: str) -> None:
    assert commands.table(verb) in section(verb), "run python -m docs.making"
    explained = re.findall(r"^\* ((?:`[^`]+`(?:, )?)+):", section(verb), re.M)
    spelled = {option for parameter in parameters(verb) for option in [commands.name(parameter), *parameter.opts]}
    assert {option for one in explained for option in re.findall("`([^`]+)`", one)} <= spelled


def test_the_tables_of_the_reference_follow_the_help() -> None:
    table = commands.table("collection").splitlines()
    assert "| `--output`, `-o` | required | Where to write the collection (JSON). |" in table
    assert "| `--collection-version` | `1` | Round of the collection; rounds are never mixed. |" in table
    assert "[a mechanism](choosing.md#all-mechanisms)" in commands.table("calibrate")
    assert "GRR, HE" not in REFERENCE
    changed = REFERENCE.replace("Where to write the collection (JSON).", "Elsewhere.")
    assert commands.with_tables(changed) == REFERENCE != changed


@pytest.mark.parametrize("verb", ORDER)
def test_the_list_of_verbs_says_what_their_help_says_first(verb: str) -> None:
    module, sentence = VERBS[verb]
    assert ROOT.commands[verb].help.splitlines()[0] == sentence
    assert ROOT.commands[verb].callback.__module__ == module


def test_files_are_named_after_the_first_verb_in_them() -> None:
    first: dict[str, str] = {}
    for verb, (module, _) in VERBS.items():
        room, _, name = module.rpartition(".")
        if room == "deniable.cli":
            first.setdefault(name, verb.replace("-", "_"))
    assert first == {module: module for module in first}
    folder = Path(deniable.cli.__file__).parent
    assert {path.stem for path in folder.glob("[a-z]*.py")} == first.keys()


@pytest.mark.parametrize("verb", ORDER)
def test_short_help_is_not_cut(verb: str, run: Run) -> None:
    (line,) = (line for line in run("--help").stdout.splitlines() if line.split()[:1] == [verb])
    assert line.endswith(".")
    assert not line.endswith("...")

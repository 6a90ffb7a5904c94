"""Every command and option has a help text and a place in docs/cli.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from docs.making import commands
from typer.main import get_command

import deniable.cli
from deniable.cli import analyst, app, commands as all_commands, survey
from deniable.cli._mechanisms import constructor_names
from tests.cli.conftest import Run

REFERENCE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
ROOT: Any = get_command(app)
COMMANDS = all_commands()
ORDER = tuple(COMMANDS)


def parameters(command: str) -> list[Any]:
    return [parameter for parameter in ROOT.commands[command].params if "--help" not in parameter.opts]


def section(command: str) -> str:
    found = re.search(rf"^## `deniable {command}`\n(.*?)(?=^## |\Z)", REFERENCE, re.M | re.S)
    assert found is not None, (
        f"docs/cli.md must have a section '## `deniable {command}`', in the order of --help; write what it does, "
        f"and the lines '{commands.BEGIN}' and '{commands.END}', then run python -m docs.making"
    )
    return found[1]


def test_the_verbs_are_those_of_the_documentation() -> None:
    assert tuple(ROOT.commands) == ORDER
    for command in ORDER:
        section(command)
    assert tuple(re.findall(r"^## `deniable ([\w-]+)`$", REFERENCE, re.M)) == ORDER
    assert "`--version`" in REFERENCE


@pytest.mark.parametrize("command", ORDER)
def test_command_has_help_that_fits(command: str, run: Run) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert len(ROOT.commands[command].help) > 20
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("command", ORDER)
def test_every_parameter_has_help(command: str) -> None:
    hints = get_type_hints(ROOT.commands[command].callback, include_extras=True)
    for parameter in parameters(command):
        said = hints[parameter.name].__metadata__
        assert any(getattr(one, "help", None) for one in said), f"{command} {parameter.name}"


@pytest.mark.parametrize("command", ORDER)
def test_every_parameter_is_in_the_reference_and_nothing_else(command: str) -> None:
    assert commands.table(command) in section(command), "run python -m docs.making"
    explained = re.findall(r"^\* ((?:`[^`]+`(?:, )?)+):", section(command), re.M)
    spelled = {option for parameter in parameters(command) for option in [commands.name(parameter), *parameter.opts]}
    assert {option for one in explained for option in re.findall("`([^`]+)`", one)} <= spelled


def test_the_tables_of_the_reference_follow_the_help() -> None:
    table = commands.table("collection").splitlines()
    assert "| `--output`, `-o` | required | File for the collection (JSON). |" in table
    assert "| `--collection-version` | `1` | Round of the collection; rounds are never mixed. |" in table
    assert "[all names](choosing.md#all-mechanisms)" in commands.table("calibrate")
    assert "GRR, HE" not in REFERENCE
    changed = REFERENCE.replace("File for the collection (JSON).", "Elsewhere.")
    assert commands.with_tables(changed) == REFERENCE != changed


@pytest.mark.parametrize("command", ORDER)
def test_the_list_of_commands_says_what_their_help_says_first(command: str) -> None:
    module, sentence = COMMANDS[command]
    assert ROOT.commands[command].help.splitlines()[0] == sentence
    assert ROOT.commands[command].callback.__module__ == module


def test_files_are_named_after_the_first_verb_in_them() -> None:
    first: dict[str, str] = {}
    for command, (module, _) in COMMANDS.items():
        room, _, name = module.rpartition(".")
        if room == "deniable.cli":
            first.setdefault(name, command.replace("-", "_"))
    assert first == {module: module for module in first}
    folder = Path(deniable.cli.__file__).parent
    assert {path.stem for path in folder.glob("[a-z]*.py")} == first.keys()


@pytest.mark.parametrize("command", ORDER)
def test_short_help_is_not_cut(command: str, run: Run) -> None:
    (line,) = (line for line in run("--help").stdout.splitlines() if line.split()[:1] == [command])
    assert line.endswith(".")
    assert not line.endswith("...")


@pytest.mark.parametrize("command", ["collection", "leakage", "calibrate"])
def test_mechanism_list_prints_every_name_that_the_option_takes(command: str, run: Run) -> None:
    """The list is printed even if other required options are missing."""
    result = run(command, "--mechanism", "list")
    assert result.exit_code == 0
    printed = {name for line in result.stdout.splitlines() for name in re.split(r"\s{2,}", line)[0].strip().split(", ")}
    assert printed >= set(constructor_names()) - {"HeavyHitters"}
    help_text = next(one.help for one in parameters(command) if "--mechanism" in one.opts)
    named = re.search(r"(?:such as|over all\),) ([^;]*);", help_text)
    assert named is not None
    assert set(re.split(r", | or ", named[1])) <= printed


UNUSED = {
    "serve --demo survey.toml": "CONFIG must be left out with --demo",
    "serve --demo --database sqlite:other.db": "--database must be left out with --demo",
    "serve --demo --json": "--json must be left out with --demo",
    "serve --rehearse 5": "--rehearse must be left out without --demo",
    "survey list staff": "SLUG must be left out with survey list",
    "survey open staff --now": "--now must be left out with survey open",
    "survey status staff --keep 3": "--keep must be left out with survey status",
    "survey backup --output kept --reports": "--reports must be left out with survey backup",
    "analyst remove ann laptop": "TOKEN must be left out with analyst remove",
    "analyst list --role owner": "--role must be left out with analyst list",
}


@pytest.mark.parametrize("line", UNUSED)
def test_options_without_effect_are_refused_before_anything_is_done(line: str, run: Run, folder: Path) -> None:
    before = sorted(folder.iterdir())
    result = run(*line.split())
    assert result.exit_code == 2
    assert result.stderr.strip() == f"error: {UNUSED[line]}, because it would have no effect"
    assert sorted(folder.iterdir()) == before


def test_values_from_the_environment_are_never_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DENIABLE_DATABASE", "sqlite:absent.db")
    assert "absent.db" in run("survey", "list").stderr


ACTIONS: dict[str, tuple[Any, Any]] = {
    "survey": (survey.Action, survey._USED),
    "analyst": (analyst.AnalystAction, analyst._USED),
}


@pytest.mark.parametrize("command", ACTIONS)
def test_every_option_of_a_command_with_actions_has_an_action(command: str) -> None:
    actions, used = ACTIONS[command]
    assert set(used) == set(actions)
    (_, *others) = [parameter.name for parameter in parameters(command)]
    assert set.union(*used.values()) | {"database", "as_json"} == set(others)

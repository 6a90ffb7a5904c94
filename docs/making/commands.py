"""Tables of command parameters in `docs/cli.md`, made from the text of `--help`."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from typer.main import get_command

from deniable.cli import app, commands as all_commands

BEGIN, END = "<!-- made from --help: begin -->", "<!-- made from --help: end -->"

MECHANISMS = "[all names](choosing.md#all-mechanisms)"


def parameters(name: str) -> list[Any]:
    """Return the parameters of a command, in the order of its help."""
    commands: Any = get_command(app)
    return [parameter for parameter in commands.commands[name].params if "--help" not in parameter.opts]


def name(parameter: Any) -> str:
    """Return the name of a parameter: the word of an argument, or the longest spelling of an option."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar)
    return str(max(parameter.opts, key=len))


def table(name: str) -> str:
    """Return the table of a command's parameters in Markdown."""
    lines = ["| parameter | default | meaning |", "|---|---|---|"]
    return "\n".join([*lines, *(_row(parameter) for parameter in parameters(name))])


def _row(parameter: Any) -> str:
    short = [option for option in parameter.opts if option.startswith("-") and option != name(parameter)]
    shown = ", ".join(f"`{spelling}`" for spelling in [name(parameter), *short])
    environment = f" Also from the environment, `{parameter.envvar}`." if parameter.envvar else ""
    return f"| {shown} | {_default(parameter)} | {_in_markdown(parameter.help)}{environment} |"


def _default(parameter: Any) -> str:
    default = parameter.default
    value = default.value if isinstance(default, Enum) else default
    if parameter.required:
        return "required"
    return "" if value in (None, "", False) else f"`{value}`"


def _in_markdown(said: str) -> str:
    one = said.replace("'list' prints all", f"`list` prints {MECHANISMS}")
    return re.sub(r"(?<![\w-])(--[a-z][a-z-]*)", r"`\1`", one).replace("|", "\\|")


def with_tables(page: str) -> str:
    """Return the reference with up-to-date tables in the sections of commands that have markers."""
    before, *sections = re.split(r"(?=^## `deniable )", page, flags=re.M)
    made = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.S)
    for place, section in enumerate(sections):
        name = section.partition("`deniable ")[2].partition("`")[0]
        if name in all_commands():
            now = f"{BEGIN}\n\n{table(name)}\n\n{END}"
            sections[place] = made.sub(lambda _, now=now: now, section)
    return "".join([before, *sections])

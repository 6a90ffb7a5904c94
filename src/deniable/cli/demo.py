"""Command that demonstrates every step on real, sensitive data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._app import command, console
from deniable.demo import run_demo


@command("demo", interrupted="the files of finished steps are complete; run it again")
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write into.")] = Path("demo"),
) -> None:
    """Run every step on a real, sensitive survey.

    Uses Fair's survey on extramarital affairs (1978). Randomises the answers of 6,366 women at
    epsilon 1 and at epsilon 4, collects them, estimates, and compares with the truth.

    Needs: pip install "deniable[demo]".
    """
    run_demo(output, console())

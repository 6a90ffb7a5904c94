"""Find faults in the client that only browser tests notice: ``python -m tests.mutants.client [--seed 1] [--count 16]``.

Each fault is drawn with a seed from all lines of ``client/src``, put into a copy of the project, and built. Two groups
of tests run on the copy, each until one test fails: tests without a browser, and those of ``tests/browser``. A JSON
file says which group noticed which fault.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from tests.mutants.__main__ import PYTEST, ROOT, environment, files_of_the_project

CHANGES = (
    *(("===", "!=="), ("!==", "==="), ("<=", "<"), (">=", ">"), (" < ", " <= "), (" > ", " >= ")),
    *(("&&", "||"), ("||", "&&"), ("true", "false"), ("false", "true"), (" + 1", " + 2"), (" - 1", " - 2")),
)
"""Texts that a fault replaces, with their replacements."""

STATEMENT = re.compile(r"\s+(?!return|throw|import|export)[\w.?]+\(.*\);")
"""Pattern of a line that is one call; a fault removes it."""

GROUPS = {"without a browser": "tests/client", "in a browser": "tests/browser"}


@dataclass(frozen=True)
class Fault:
    """One line of a file, and its replacement."""

    file: str
    line: int
    before: str
    after: str


def faults(file: str, text: str) -> Iterator[Fault]:
    """Yield all faults of a file; comments have none."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("//", "/*", "*", "import ", "export type", "export interface")):
            continue
        for old, new in CHANGES:
            for found in re.finditer(rf"(?<![=!<>&|\w]){re.escape(old)}(?![=<>&|\w])", line):
                yield Fault(file, number, line, line[: found.start()] + new + line[found.end() :])
        if STATEMENT.fullmatch(line):
            yield Fault(file, number, line, "")


def drawn(seed: int, sources: Sequence[Path]) -> list[Fault]:
    """Return all faults of the client in the order of the test."""
    everything = [
        fault for path in sources for fault in faults(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    ]
    random.Random(seed).shuffle(everything)
    return everything


def noticed(copy: Path, fault: Fault) -> dict[str, str | None] | None:
    """Return the first test of each group that fails, or None if the fault does not compile."""
    client, path = copy / "client", copy / fault.file
    whole = path.read_text(encoding="utf-8")
    lines = whole.splitlines(keepends=True)
    lines[fault.line - 1] = fault.after + "\n"
    path.write_text("".join(lines), encoding="utf-8")
    try:
        for command in (("npm", "run", "check"), ("node", "build.mjs")):
            if subprocess.run(command, cwd=client, capture_output=True, check=False).returncode:
                return None
        return _first_failures(copy)
    finally:
        path.write_text(whole, encoding="utf-8")


def _first_failures(copy: Path) -> dict[str, str | None]:
    with ThreadPoolExecutor(len(GROUPS)) as pool:
        return dict(zip(GROUPS, pool.map(lambda tests: _first_failure(copy, tests), GROUPS.values()), strict=True))


def _first_failure(copy: Path, tests: str) -> str | None:
    """Return the first test that fails in the group and also alone, because pages can be late on a busy machine."""
    failed = _failure(copy, tests)
    while failed is not None and _failure(copy, failed) is None:
        failed = _failure(copy, tests)
    return failed


def _failure(copy: Path, tests: str) -> str | None:
    command, place = [*PYTEST, tests], environment(copy)
    ended = subprocess.run(command, cwd=copy, env=place, capture_output=True, text=True, check=False)
    if ended.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", ended.stdout, re.M)
    if failed is None:
        raise SystemExit(f"the tests could not be run:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return failed[1]


def main(
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 1,
    count: Annotated[int, typer.Option(help="Number of faults.")] = 16,
    output: Annotated[Path, typer.Option("-o", "--output", help="JSON.")] = Path("results/client-mutants.json"),
) -> None:
    """Test a sample of faults, and write after each which group noticed it."""
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "project"
        for file in files_of_the_project():
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, copy / file)
        (copy / "client" / "node_modules").symlink_to(ROOT / "client" / "node_modules")
        if any((failed := _first_failures(copy)).values()):
            raise SystemExit(f"these tests fail without a fault: {failed}")
        for fault in drawn(seed, sorted((ROOT / "client" / "src").rglob("*.ts"))):
            found = noticed(copy, fault)
            if found is None:
                continue
            rows.append({**asdict(fault), "noticed": found})
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(json.dumps({"seed": seed, "faults": rows}, indent=1, ensure_ascii=False) + "\n")
            print(f"{len(rows)}. {fault.file}:{fault.line}", found, flush=True, file=sys.stderr)
            if len(rows) == count:
                break


if __name__ == "__main__":
    typer.run(main)

"""Real processes: exit codes, Ctrl-C during work, closed pipes, and all kinds of terminals."""

from __future__ import annotations

import importlib.metadata
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.interrupting import names
from tests.forked import Forked

COMMAND = "import sys; sys.argv[0] = 'deniable'; from deniable.cli import main; main()"


def process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "deniable.cli", *arguments],
        capture_output=True, encoding="utf-8", errors="replace", env={**os.environ, **environment}, timeout=120,
    )  # fmt: skip


def test_the_script_is_the_entry_point() -> None:
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="deniable")
    assert script.value == "deniable.cli:main"


def test_exit_codes(folder: Path) -> None:
    version = process("--version")
    assert (version.returncode, version.stderr) == (0, "")
    # The interpreter's start is the same for both commands.
    bad = Forked(COMMAND, "plan", "--sizes", "4", "--epsilon", "-1", "--contributors", "10").wait()
    assert bad.returncode == 2
    assert bad.stderr.startswith("error: epsilon must be")
    assert len(bad.stderr.splitlines()) == 1
    assert Forked(COMMAND, "nothing").wait().returncode == 2


def test_interruption_after_the_reports_are_complete_says_so(survey: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = Path.replace

    def interrupt(source: Path, target: Path) -> Path:
        result = replace(source, target)
        if target.name == "reports.parquet":
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(Path, "replace", interrupt)
    result = survey("randomize", "survey.json", "answers.csv", "-o", "reports.parquet")
    assert result.exit_code == 130
    assert result.stderr == "interrupted: reports.parquet is complete, nothing else was written\n"
    # The act happened, so the next run is refused.
    assert survey("randomize", "survey.json", "answers.csv", "-o", "second.parquet").exit_code == 2
    assert survey("aggregate", "survey.json", "reports.parquet", "-o", "all.aggregate").exit_code == 0


def test_interrupted_estimate_writes_nothing(collected: Run) -> None:
    before = names()
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import os, deniable.cli as cli, deniable.cli._estimates as shared\n"
        "shared.save_page = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.argv = ['deniable', 'estimate', 'survey.json', 'all.aggregate', '--html', 'a.html']\n"
        "cli.main()\n"
    )
    result = Forked(code).wait()
    assert result.returncode == 130
    assert result.stderr == "interrupted: nothing was written\n"
    assert result.stdout == ""
    assert names() == before


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_closed_pipe_is_quiet(collected: Run, options: tuple[str, ...]) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "deniable.cli", "estimate", "survey.json", "all.aggregate", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    child.wait(timeout=120)


def test_a_terminal_without_unicode(collected: Run) -> None:
    result = process("estimate", "survey.json", "all.aggregate", PYTHONIOENCODING="ascii")
    assert result.returncode == 0
    assert result.stderr == ""
    assert "smoker" in result.stdout
    plan = ("plan", "--schema", "schema.json", "--contributors", "500", "--epsilon", "1")
    plain, usual = (process(*plan, PYTHONIOENCODING=name).stdout for name in ("ascii", "utf-8"))
    assert "+-" in plain
    assert "?" not in plain
    assert "\N{PLUS-MINUS SIGN}" in usual
    assert usual.replace("\N{PLUS-MINUS SIGN}", "+-").split("\n")[0] == plain.split("\n")[0]
    assert "\u00b1 “a” …é".encode("ascii", "deniable.plain") == b'+- "a" ...?'
    assert "\u00b1 “a”".encode("latin-1", "deniable.plain") == b'\xb1 "a"'


def test_progress_is_shown_on_a_terminal_and_never_in_the_output(collected: Run) -> None:
    code = (
        "import sys, time, deniable.cli._app as shared, deniable.cli.estimate as command, deniable.cli as cli\n"
        "shared._QUIET_SECONDS = 0.0\n"
        "read = command.read_truth\n"
        "def slow(*arguments, **options):\n"
        "    time.sleep(0.5)\n"
        "    return read(*arguments, **options)\n"
        "command.read_truth = slow\n"
        "sys.argv = ['deniable', 'estimate', 'survey.json', 'all.aggregate', '--truth', 'answers.csv', *sys.argv[1:]]\n"
        "cli.main()\n"
    )
    shown = {}
    for option in ("--simultaneous", "--json"):
        master, slave = pty.openpty()
        result = subprocess.run(
            [sys.executable, "-c", code, option], stdout=subprocess.PIPE, stderr=slave, encoding="utf-8", timeout=120,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"},
        )  # fmt: skip
        os.close(slave)
        os.set_blocking(master, False)
        try:
            shown[option] = os.read(master, 1 << 16).decode()
        except (BlockingIOError, OSError):
            shown[option] = ""
        os.close(master)
        assert result.returncode == 0
        assert "reading the truth" not in result.stdout
        assert "\x1b" not in result.stdout
        if option == "--json":
            json.loads(result.stdout)
    assert "reading the truth" in shown["--simultaneous"]
    assert shown["--json"] == ""

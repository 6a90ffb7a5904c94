"""Python processes without the seconds of importing the library: each is a fork of one that has done so.

As real as others: they have a process id, their own files, and end by signals. For what a test does not measure: use
`subprocess` where imports, encodings or the interpreter's own start matter.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any
from unittest import mock

_HAVING = multiprocessing.get_context("forkserver")
_HAVING.set_forkserver_preload(
    ["numba", "scipy.stats", "pyarrow.parquet", "deniable.files", "deniable.cli.randomize", "deniable.cli.aggregate"]
)


class Forked:
    """A process that runs code as the main module, with arguments, here and in this environment.

    Parameters
    ----------
    code : str
        What it runs.
    *arguments : str
        What follows the program's name in `sys.argv`.
    cwd : Path
        Where it runs; here by default.
    environment : str
        Further variables.
    """

    def __init__(self, code: str, *arguments: str, cwd: Path | None = None, **environment: str) -> None:
        self._said = tuple(tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115
        places = tuple(f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in self._said)
        self._process = _HAVING.Process(
            target=_run,
            args=(code, ["-c", *arguments], str(cwd or Path.cwd()), {**os.environ, **environment}, places),
        )
        # Without this patch, the child would import the test runner's own main module.
        with mock.patch.dict(sys.modules, {"__main__": types.ModuleType("__main__")}):
            self._process.start()

    @property
    def pid(self) -> int:
        """The process's id."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Return its exit code, negative for a signal; None while it runs."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def wait(self, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Return its exit code and what it said, once it has ended."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            self._process.kill()
            raise subprocess.TimeoutExpired("forked", timeout)
        texts = []
        for file in self._said:
            file.seek(0)
            texts.append(file.read().decode())
            file.close()
        return subprocess.CompletedProcess([], self._process.exitcode, *texts)


def _run(code: str, arguments: list[str], cwd: str, environment: dict[str, str], places: tuple[str, str]) -> None:
    """Become the process that runs the code."""
    for number, place in enumerate(places, 1):
        opened = os.open(place, os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = arguments
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "<forked>", "exec"), names)

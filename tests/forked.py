"""Python processes that do not spend seconds on importing the library: they are forks of a process that imported it.

They are real processes: they have a process id and their own files, and end by signals. Use `subprocess` instead if
imports, encodings or the interpreter's own start matter for the test.
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
    """A process that runs code as the main module, with arguments, in this environment.

    Parameters
    ----------
    code : str
        Code to run.
    *arguments : str
        Arguments after the program's name in `sys.argv`.
    cwd : Path
        Working directory; the current one by default.
    environment : str
        Further environment variables.
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
        """Id of the process."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while the process runs."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send the process a signal."""
        os.kill(self.pid, number)

    def wait(self, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Wait until the process ends; return its exit code and its output."""
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

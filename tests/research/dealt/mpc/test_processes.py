"""Helpers as processes: they end with their starter, and report why they failed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from deniable.research.dealt.mpc import processes


def test_helper_ends_with_its_starter() -> None:
    process = subprocess.Popen([sys.executable, "-m", processes.MODULE], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    _, words = process.communicate(b'{"plan": "", "index": 0, "ports": [], "listening": 0}\n', timeout=60)
    assert process.returncode == 70
    assert words.decode().strip() == "the process that started this helper has ended"


def test_a_helper_that_fails_says_why_and_is_ended(tmp_path: Path) -> None:
    listening = processes._listening(1)
    with listening, (tmp_path / "log").open("w+b") as log:
        one = processes._start(listening, log, processes.MODULE)
        port = listening.getsockname()[1]
        processes._send(one, {"plan": "no plan", "index": 0, "ports": [port], "listening": listening.fileno()})
        assert one.wait(60) == 70
        log.seek(0)
        assert b"Traceback" in log.read()
        idle = processes._start(listening, log, processes.MODULE)
        processes._end([one, idle])
    assert idle.returncode == -signal.SIGKILL
    assert idle.stdin is not None
    assert idle.stdin.closed

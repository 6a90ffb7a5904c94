"""Interrupt commands in the middle of their work."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

from tests.forked import Forked

# This program runs the command line, and stops for ten seconds in the middle of the named method's second call.
STOPPING = """
import pathlib, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from deniable import Collection, SecureRandomness, cli
owner, name = {{
    "randomize": (SecureRandomness, "fill"), "aggregate": (Collection, "aggregate"), "deal": (SecureRandomness, "fill")
}}["{command}"]
original, calls = getattr(owner, name), []
def stopping(*arguments):
    calls.append(1)
    if len(calls) == 2:
        pathlib.Path("stopped").touch()
        time.sleep(10)  # a thread is waited for, where one works ahead
    return original(*arguments)
setattr(owner, name, stopping)
sys.argv = ["deniable", {arguments}]
cli.main()
"""


def interrupted(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command until it is in the middle of its work, press Ctrl-C, and return its output."""
    code = STOPPING.format(command=command, arguments=", ".join(map(repr, (command, *arguments))))
    child = Forked(code)
    for _ in range(1200):
        if Path("stopped").exists() or child.poll() is not None:
            break
        time.sleep(0.05)
    Path("stopped").unlink()
    child.send_signal(signal.SIGINT)
    return child.wait()


def names() -> set[str]:
    return {path.name for path in Path().iterdir()}

"""Helpers as processes on this machine, which are started together, watched, and never left running."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from typing import IO, Any

from deniable.errors import DealingError
from deniable.research.dealt.mpc.plan import Plan

MODULE = "deniable.research.dealt.mpc.helper"


def run_helpers(plan: Plan, parties: int, timeout: float, module: str = MODULE) -> list[dict[str, Any]]:
    """Return what each helper process wrote in one deal on the loopback interface.

    Whatever happens, including an interrupt, no helper outlives the call. If this process is killed, the helpers
    notice.

    Raises
    ------
    DealingError
        If a helper fails, or the helpers are not done after `timeout` seconds.
    """
    with ExitStack() as stack:
        # The system binds the sockets to free ports, and they are handed over open. So nobody can take a port in
        # between.
        sockets = [stack.enter_context(_listening(parties)) for _ in range(parties)]
        ports = [listening.getsockname()[1] for listening in sockets]
        helpers: list[subprocess.Popen[bytes]] = []
        stack.callback(_end, helpers)
        logs: list[IO[bytes]] = []
        for index, listening in enumerate(sockets):
            log = stack.enter_context(tempfile.TemporaryFile())
            job = {"plan": plan.to_json(), "index": index, "ports": ports, "listening": listening.fileno()}
            helpers.append(_start(listening, log, module))
            logs.append(log)
            _send(helpers[-1], job)
        for listening in sockets:
            listening.close()
        return _results(helpers, logs, timeout)


def _listening(parties: int) -> socket.socket:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(parties)
    return listening


def _start(listening: socket.socket, log: IO[bytes], module: str) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MPYC_")}
    return subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        pass_fds=[listening.fileno()],
        env=environment,
        # An interrupt at the terminal reaches only this process, which ends all helpers.
        start_new_session=True,
    )


def _send(helper: subprocess.Popen[bytes], job: dict[str, Any]) -> None:
    assert helper.stdin is not None
    with suppress(BrokenPipeError):  # the helper's exit status says why
        # The pipe stays open: its end tells the helper that this process is gone.
        helper.stdin.write(json.dumps(job).encode() + b"\n")
        helper.stdin.flush()


def _read(helper: subprocess.Popen[bytes]) -> bytes:
    assert helper.stdout is not None
    written = helper.stdout.read()
    if helper.wait() != 0:
        raise DealingError(f"exit status {helper.returncode}")
    return written


def _results(helpers: list[subprocess.Popen[bytes]], logs: list[IO[bytes]], timeout: float) -> list[dict[str, Any]]:
    deadline = time.monotonic() + timeout
    pool = ThreadPoolExecutor(len(helpers))
    try:
        readers: list[Future[bytes]] = [pool.submit(_read, helper) for helper in helpers]
        finished, waiting = wait(readers, max(deadline - time.monotonic(), 0), FIRST_EXCEPTION)
        failed = [index for index, reader in enumerate(readers) if reader in finished and reader.exception()]
        if failed:
            # Helpers that lost this one as a peer report the loss within moments. But this one may not have been the
            # first to fail.
            wait(readers, 1.0)
            failed = [index for index, reader in enumerate(readers) if reader.done() and reader.exception()]
            raise DealingError(f"helper {_blamed(failed, logs)}; no share of this deal may be used")
        if waiting:
            raise DealingError(
                f"the helpers were not done after {timeout:g} s: allow more time, or deal to fewer contributors"
            )
        return [json.loads(reader.result()) for reader in readers]
    finally:
        _end(helpers)
        pool.shutdown()


def _blamed(failed: list[int], logs: list[IO[bytes]]) -> str:
    """Return which helper failed, and its last words.

    A helper that only lost a peer is blamed last.
    """
    words = {}
    for index in failed:
        logs[index].seek(0)
        lines = logs[index].read().decode(errors="replace").strip().splitlines()
        words[index] = lines[-1] if lines else "it was killed"
    index = min(words, key=lambda i: ("is lost" in words[i], i))
    return f"{index + 1} failed ({words[index]})"


def _end(helpers: list[subprocess.Popen[bytes]]) -> None:
    for helper in helpers:
        helper.kill()
    for helper in helpers:
        helper.wait()
        for pipe in (helper.stdin, helper.stdout):
            if pipe is not None and not pipe.closed:
                with suppress(BrokenPipeError):
                    pipe.close()

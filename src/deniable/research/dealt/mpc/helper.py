"""One helper as a separate process (``python -m deniable.research.dealt.mpc.helper``) for `deal_without_dealer`.

The helper reads one line of JSON with the plan and the addresses of its peers. It computes with the peers. Then it
writes one line of JSON with its own share of each contributor's type, and ends. It also ends at once if the process
that started it is gone or a peer is lost.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
import time
import traceback
from typing import Any

import numpy as np

from deniable.core.randomness import SecureRandomness
from deniable.research.dealt.mpc.counts import draw_types
from deniable.research.dealt.mpc.plan import Plan
from deniable.research.dealt.mpc.session import Session, Shares, load_runtime
from deniable.research.dealt.mpc.shuffling import SHUFFLES

FAILED = 70
"""Exit status of a helper that cannot go on (EX_SOFTWARE)."""


async def deal(session: Session, plan: Plan) -> Shares:
    """Return this helper's shares of the types, int64[n], as values of fresh polynomials of degree t."""
    if plan.counts is not None:
        types = np.repeat(np.arange(len(plan.counts), dtype=np.int64), plan.counts)
    else:
        assert plan.law is not None
        types = await draw_types(session, plan.law, plan.n)
    return await SHUFFLES[plan.shuffle](session, types)


def _stop(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
    # sys.exit is not enough, because threads that wait for a lost peer would wait on.
    os._exit(FAILED)


def _read_job() -> dict[str, Any]:
    line = bytearray()
    # The read is unbuffered, because the thread that watches the pipe must not share a lock with the end of the
    # process.
    while not line.endswith(b"\n"):
        part = os.read(0, 1 << 16)
        if not part:
            _stop("no plan was given")
        line += part
    job: dict[str, Any] = json.loads(line)
    return job


def _watch_starter() -> None:
    while os.read(0, 1):
        pass
    _stop("the process that started this helper has ended")


async def _compute(runtime: Any, plan: Plan) -> None:
    done = False
    unset = runtime.unset_protocol

    def lost(peer: int) -> None:
        if not done:
            _stop(f"helper {peer + 1} is lost")
        unset(peer)

    runtime.unset_protocol = lost
    await runtime.start()
    started, worked = time.perf_counter(), time.process_time()
    session = Session(runtime, plan.modulus, SecureRandomness())
    shares = await deal(session, plan)
    result = {
        "pieces": shares.tolist(),
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - worked,
        "bytes_sent": session.bytes_sent,
    }
    done = True
    await runtime.shutdown()
    print(json.dumps(result), flush=True)


def main() -> None:
    """Run one helper."""
    job = _read_job()
    threading.Thread(target=_watch_starter, daemon=True).start()
    addresses = [part for port in job["ports"] for part in ("-P", f"127.0.0.1:{port}")]
    runtime = load_runtime([*addresses, "-I", str(job["index"])])
    loop = runtime._loop
    listening = socket.socket(fileno=job["listening"])
    create_server = loop.create_server

    def listen(factory: Any, port: int, ssl: Any) -> Any:  # noqa: ARG001
        # mpyc would listen on every interface. This socket is the starter's, which is bound to the loopback interface.
        return create_server(factory, sock=listening, ssl=ssl)

    loop.create_server = listen
    loop.set_exception_handler(lambda _, context: _stop(_described(context)))
    asyncio.set_event_loop(loop)
    try:
        runtime.run(_compute(runtime, Plan.from_json(job["plan"])))
    except Exception:
        _stop(traceback.format_exc())


def _described(context: dict[str, Any]) -> str:
    error = context.get("exception")
    return str(context["message"]) if error is None else f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main()

"""Sessions of several helpers in one process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import numpy as np

from deniable import SimulationRandomness
from deniable.research.dealt.mpc.session import Session, load_runtime

FALSE_ALARM = 1e-6


class Alone:
    """A session of one party: the same program without peers and polynomials."""

    def __init__(self) -> None:
        self.runtime = load_runtime()

    def session(self, seed: int) -> Session:
        return Session(self.runtime, 251, SimulationRandomness(seed))

    def run(self, program: Awaitable[Any]) -> Any:
        asyncio.set_event_loop(self.runtime._loop)
        return self.runtime.run(program)


def numbers(bits: np.ndarray[Any, Any]) -> list[int]:
    return [int("".join(str(bit) for bit in row) or "0", 2) for row in bits.tolist()]

"""Talk to `peer_worker`, which runs in the peers' environment."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.cases import Case, Verb
from benchmarks.measure import Timing

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_ENVIRONMENT = ROOT / ".venv-peers"


class PeerProcess:
    """Process of the other environment; it lives for the whole run.

    Parameters
    ----------
    environment : Path
        Virtual environment in which the peers are installed.

    Raises
    ------
    FileNotFoundError
        If the environment does not exist.
    """

    def __init__(self, environment: Path) -> None:
        python = environment / "bin" / "python"
        if not python.exists():
            raise FileNotFoundError(f"there are no peers in {environment}; `make bench` installs them")
        self._process = subprocess.Popen(
            [str(python), "-m", "benchmarks.peer_worker"],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> PeerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()

    def _ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the peers' process has no pipes")
        self._process.stdin.write(json.dumps({"op": op, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the peers' process ended during {op!r} with code {self._process.wait()}")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def versions(self) -> dict[str, str]:
        """Return the installed versions."""
        return self._ask("versions")

    def data(self, case: Case, contributors: int, seed: int) -> str:
        """Make the answers of a case in the other process and return their digest."""
        return str(self._ask("data", case=case.name, contributors=contributors, seed=seed)["digest"])

    def prepare(self, peer: str, verb: Verb, seconds: float) -> dict[str, Any]:
        """Compile and calibrate; return the number of reports per call, their form, and the name of the call."""
        return self._ask("prepare", peer=peer, verb=verb, seconds=seconds)

    def measure(self, peer: str, verb: Verb, seconds: float) -> Timing:
        """Time one round."""
        return Timing(**self._ask("measure", peer=peer, verb=verb, seconds=seconds))

    def error(self, peer: str) -> float:
        """Return the mean absolute error of the peer's estimate."""
        return float(self._ask("error", peer=peer)["error"])

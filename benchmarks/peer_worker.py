"""Run the peers in a process with their own environment; read one JSON request per line and answer with one line.

Each client is called once per contributor, and each aggregator once per batch (`peer_libraries`). If a peer accepts
inputs in several forms (a list, an integer array, an array of Python objects), all forms are timed and the fastest is
used.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases import LDP_TOOLBOX, MULTI_FREQ, PURE_LDP, Case, Verb, case_named
from benchmarks.data import digest, mean_absolute_error, true_answers, true_frequencies
from benchmarks.measure import time_calls
from benchmarks.peer_libraries import PEERS, Peer

PROBE_SECONDS = 0.05


def in_form(values: list[Any], form: str) -> Any:
    """Return a list of inputs or reports as a list, an array, or an array of Python objects."""
    return values if form == "list" else np.array(values, dtype=object if form == "object array" else None)


@dataclass(frozen=True)
class Job:
    """One measurement, ready to run."""

    call: Callable[[], Any]
    reports: int
    form: str
    text: str


class Worker:
    """Answer requests; keep the data of one case at a time."""

    def __init__(self) -> None:
        self.case: Case | None = None
        self.answers: NDArray[np.int64] = np.empty(0, np.int64)
        self.jobs: dict[tuple[str, Verb], Job] = {}

    def versions(self) -> dict[str, str]:
        """Return the installed versions."""
        names = (MULTI_FREQ, PURE_LDP, LDP_TOOLBOX, "numpy", "numba", "xxhash")
        return {"python": platform.python_version()} | {name: version(name) for name in names}

    def data(self, case: str, contributors: int, seed: int) -> dict[str, str]:
        """Make the answers of a case and forget those of the previous one."""
        self.case = case_named(case)
        self.jobs = {}
        self.answers = true_answers(self.case, contributors, seed)
        return {"digest": digest(self.answers)}

    def prepare(self, peer: str, verb: Verb, seconds: float) -> dict[str, Any]:
        """Compile, choose the fastest form, and choose the number of reports that take about `seconds`."""
        if self.case is None:
            raise RuntimeError("prepare must come after data")
        library = PEERS[peer](self.case)
        most = min(self.case.peer_reports, len(self.answers))
        count = 64
        if verb == "randomize":
            make, text = library.client, library.client_text
        elif verb == "decode":
            assert library.decoder is not None
            make, text = library.decoder(library.client(self.answers[:most].tolist())), library.decoder_text
            most = self.case.sizes[0]
            count = most if library.decodes_all else count
        else:
            make, text = library.aggregator, library.aggregator_text
        forms = ("list", "array") if verb == "randomize" else ("list",) if verb == "decode" else library.report_forms
        source = functools.partial(self._batch, library, verb)

        make(source(count, "list"))  # the first call compiles and is not counted
        while time_calls(functools.partial(make, source(count, "list")), count, 0).cpu < PROBE_SECONDS and count < most:
            count = min(4 * count, most)
        batches = {form: source(count, form) for form in forms}
        costs = {form: float("inf") for form in forms}
        for _ in range(3):
            for form in forms:
                cost = time_calls(functools.partial(make, batches[form]), count, PROBE_SECONDS).nanoseconds
                costs[form] = min(costs[form], cost)
        form = min(forms, key=lambda name: costs[name])
        reports = most if library.decodes_all and verb == "decode" else self._affordable(most, seconds, costs[form])
        batch = source(reports, form)
        self.jobs[peer, verb] = Job(functools.partial(make, batch), reports, form, text)
        return {"reports": reports, "form": form, "text": text}

    def _affordable(self, most: int, seconds: float, nanoseconds: float) -> int:
        return int(min(most, max(256, seconds * 1e9 / nanoseconds)))

    def _batch(self, library: Peer, verb: Verb, count: int, form: str) -> Any:
        if verb == "decode":
            return list(range(count))
        inputs = self.answers[:count]
        if verb == "randomize":
            return inputs if form == "array" else inputs.tolist()
        return in_form(library.client(inputs.tolist()), form)

    def measure(self, peer: str, verb: Verb, seconds: float) -> dict[str, Any]:
        """Time a prepared job."""
        job = self.jobs[peer, verb]
        return asdict(time_calls(job.call, job.reports, seconds))

    def error(self, peer: str) -> dict[str, float]:
        """Return the mean absolute error of the peer's estimate; it is not part of the timing."""
        if self.case is None:
            raise RuntimeError("error must come after data")
        job = self.jobs[peer, "aggregate"]
        found = job.call()
        estimates = [np.asarray(one, np.float64) for one in (found if len(self.case.sizes) > 1 else [found])]
        truth = true_frequencies(self.case, self.answers[: job.reports])
        return {"error": mean_absolute_error(estimates, truth)}


def serve() -> None:
    """Answer requests until standard input closes; output of the peers goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        reply = getattr(worker, request.pop("op"))(**request)
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()

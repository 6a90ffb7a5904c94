"""The peers' side: a process of their own environment that reads one JSON request per line and answers with one.

Every client is called once per contributor, every aggregator once per batch, as the peers' own examples do. Where
inputs can be handed over in several forms (a list, an integer array, an array of Python objects), each is timed and
the peer's fastest one is used.
"""

from __future__ import annotations

import functools
import importlib
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

from benchmarks.cases import MULTI_FREQ, PURE_LDP, Case, Verb, case_named
from benchmarks.data import digest, mean_absolute_error, true_answers, true_frequencies
from benchmarks.measure import time_calls

Forms = tuple[str, ...]
PROBE_SECONDS = 0.05


@dataclass(frozen=True)
class Peer:
    """A peer's client and aggregator for one case, and the text that states what is called.

    `client` maps all inputs to a list of reports, `aggregator` a batch of reports to estimates per attribute.
    """

    client: Callable[[Any], list[Any]]
    client_text: str
    aggregator: Callable[[Any], Any]
    aggregator_text: str
    report_forms: Forms


def multi_freq(case: Case) -> Peer:
    """Return multi-freq-ldpy's functions for a case (matrix inversion, its plain estimator)."""
    oracles, many = "multi_freq_ldpy.pure_frequency_oracles", "multi_freq_ldpy.mdim_freq_est"
    k, sizes, d, epsilon = case.sizes[0], list(case.sizes), len(case.sizes), case.epsilon
    module_name, stem, client_args, aggregator_args, forms = {
        "GRR": (f"{oracles}.GRR", "GRR", (k, epsilon), (k, epsilon), ("list", "array", "object array")),
        "OUE": (f"{oracles}.UE", "UE", (k, epsilon, True), (epsilon, True), ("list", "array")),
        "OLH": (f"{oracles}.LH", "LH", (k, epsilon, True), (k, epsilon, True), ("list",)),
        "SPL": (f"{many}.SPL_solution", "SPL_GRR", *2 * ((sizes, d, epsilon),), ("list", "array", "object array")),
        "SMP": (f"{many}.SMP_solution", "SMP_GRR", *2 * ((sizes, d, epsilon),), ("list",)),
        "RSFD": (f"{many}.RSpFD_solution", "RSpFD_GRR", *2 * ((sizes, d, epsilon),), ("list", "array", "object array")),
    }[case.name]
    module = importlib.import_module(module_name)
    client = getattr(module, f"{stem}_Client")
    aggregator = getattr(module, f"{stem}_Aggregator_MI")
    return Peer(
        client=lambda inputs: [client(value, *client_args) for value in inputs],
        client_text=f"[{stem}_Client(x, {_listed(client_args)}) for x in inputs]",
        aggregator=lambda reports: aggregator(reports, *aggregator_args),
        aggregator_text=f"{stem}_Aggregator_MI(reports, {_listed(aggregator_args)})",
        report_forms=forms,
    )


def pure_ldp(case: Case) -> Peer:
    """Return pure-ldp's client and server for a case."""
    package, stem, options = {
        "GRR": ("direct_encoding", "DE", {}),
        "OUE": ("unary_encoding", "UE", {"use_oue": True}),
        "OLH": ("local_hashing", "LH", {"use_olh": True}),
    }[case.name]
    module = importlib.import_module(f"pure_ldp.frequency_oracles.{package}")
    k, epsilon = case.sizes[0], case.epsilon
    client = getattr(module, f"{stem}Client")(epsilon, k, index_mapper=lambda value: value, **options)

    def aggregate(reports: Any) -> Any:
        server = getattr(module, f"{stem}Server")(epsilon, k, index_mapper=lambda value: value, **options)
        server.aggregate_all(reports)
        return server.estimate_all(range(k), suppress_warnings=True) / len(reports)

    return Peer(
        client=lambda inputs: [client.privatise(value) for value in inputs],
        client_text=f"[{stem}Client.privatise(x) for x in inputs]",
        aggregator=aggregate,
        aggregator_text=f"{stem}Server.aggregate_all(reports), then estimate_all(range({k}))",
        report_forms=("list", "array") if case.name == "OUE" else ("list",),
    )


PEERS: dict[str, Callable[[Case], Peer]] = {MULTI_FREQ: multi_freq, PURE_LDP: pure_ldp}


def _listed(arguments: tuple[Any, ...]) -> str:
    return ", ".join(map(str, arguments))


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
    """Answers the requests; keeps one case's data at a time."""

    def __init__(self) -> None:
        self.case: Case | None = None
        self.answers: NDArray[np.int64] = np.empty(0, np.int64)
        self.jobs: dict[tuple[str, Verb], Job] = {}

    def versions(self) -> dict[str, str]:
        """Return what is installed."""
        names = (MULTI_FREQ, PURE_LDP, "numpy", "numba", "xxhash")
        return {"python": platform.python_version()} | {name: version(name) for name in names}

    def data(self, case: str, contributors: int, seed: int) -> dict[str, str]:
        """Make the answers of a case and forget those of the previous one."""
        self.case = case_named(case)
        self.jobs = {}
        self.answers = true_answers(self.case, contributors, seed)
        return {"digest": digest(self.answers)}

    def prepare(self, peer: str, verb: Verb, seconds: float) -> dict[str, Any]:
        """Compile, choose the fastest form, and choose how many reports take about `seconds`."""
        if self.case is None:
            raise RuntimeError("prepare must come after data")
        library = PEERS[peer](self.case)
        most = min(self.case.peer_reports, len(self.answers))
        if verb == "randomize":
            make, text = library.client, library.client_text
        else:
            make, text = library.aggregator, library.aggregator_text
        forms = ("list", "array") if verb == "randomize" else library.report_forms
        source = functools.partial(self._batch, library, verb)

        make(source(64, "list"))  # compilation is not counted
        count = 64
        while time_calls(functools.partial(make, source(count, "list")), count, 0).cpu < PROBE_SECONDS and count < most:
            count = min(4 * count, most)
        batches = {form: source(count, form) for form in forms}
        costs = {form: float("inf") for form in forms}
        for _ in range(3):
            for form in forms:
                cost = time_calls(functools.partial(make, batches[form]), count, PROBE_SECONDS).nanoseconds
                costs[form] = min(costs[form], cost)
        form = min(forms, key=lambda name: costs[name])
        reports = int(min(most, max(256, seconds * 1e9 / costs[form])))
        batch = source(reports, form)
        self.jobs[peer, verb] = Job(functools.partial(make, batch), reports, form, text)
        return {"reports": reports, "form": form, "text": text}

    def _batch(self, library: Peer, verb: Verb, count: int, form: str) -> Any:
        inputs = self.answers[:count]
        if verb == "randomize":
            return inputs if form == "array" else inputs.tolist()
        return in_form(library.client(inputs.tolist()), form)

    def measure(self, peer: str, verb: Verb, seconds: float) -> dict[str, Any]:
        """Time a prepared job."""
        job = self.jobs[peer, verb]
        return asdict(time_calls(job.call, job.reports, seconds))

    def error(self, peer: str) -> dict[str, float]:
        """Return the mean absolute error of the peer's estimate, outside the timing."""
        if self.case is None:
            raise RuntimeError("error must come after data")
        job = self.jobs[peer, "aggregate"]
        found = job.call()
        estimates = [np.asarray(one, np.float64) for one in (found if len(self.case.sizes) > 1 else [found])]
        truth = true_frequencies(self.case, self.answers[: job.reports])
        return {"error": mean_absolute_error(estimates, truth)}


def serve() -> None:
    """Answer requests until standard input closes; whatever the peers print goes to standard error."""
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

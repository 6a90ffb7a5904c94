"""Script that runs a mechanism of another library in that library's own environment.

It needs only numpy and that library, and is started by ``PEERS/bin/python peer_worker.py``. It reads one JSON request
from standard input, with ``peer``, ``mechanism``, ``k``, ``epsilon``, ``seeds`` and ``answers`` (one list for each
seed). It writes the estimates of every seed as JSON.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import random
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

Functions = tuple[Callable[[int], Any], Callable[[Sequence[Any]], Any]]


def multi_freq_ldpy(mechanism: str, k: int, epsilon: float) -> Functions:
    """Return the client and the estimator of multi-freq-ldpy for GRR, SUE, OUE, BLH or OLH."""
    module, stem, client_options, estimator_options = {
        "GRR": ("GRR", "GRR", (k, epsilon), (k, epsilon)),
        "SUE": ("UE", "UE", (k, epsilon, False), (epsilon, False)),
        "OUE": ("UE", "UE", (k, epsilon, True), (epsilon, True)),
        "BLH": ("LH", "LH", (k, epsilon, False), (k, epsilon, False)),
        "OLH": ("LH", "LH", (k, epsilon, True), (k, epsilon, True)),
    }[mechanism]
    found = importlib.import_module(f"multi_freq_ldpy.pure_frequency_oracles.{module}")
    client, estimator = getattr(found, f"{stem}_Client"), getattr(found, f"{stem}_Aggregator_MI")
    return lambda value: client(value, *client_options), lambda reports: estimator(reports, *estimator_options)


def pure_ldp(mechanism: str, k: int, epsilon: float) -> Functions:
    """Return the client and the estimator of pure-ldp for DE (which is GRR), OUE or OLH."""
    module, stem, options = {
        "GRR": ("direct_encoding", "DE", {}),
        "OUE": ("unary_encoding", "UE", {"use_oue": True}),
        "OLH": ("local_hashing", "LH", {"use_olh": True}),
    }[mechanism]
    found = importlib.import_module(f"pure_ldp.frequency_oracles.{module}")
    client = getattr(found, f"{stem}Client")(epsilon, k, index_mapper=lambda value: value, **options)

    def estimate(reports: Sequence[Any]) -> Any:
        server = getattr(found, f"{stem}Server")(epsilon, k, index_mapper=lambda value: value, **options)
        server.aggregate_all(reports)
        return server.estimate_all(range(k), suppress_warnings=True) / len(reports)

    return client.privatise, estimate


def ldp_toolbox(mechanism: str, k: int, epsilon: float) -> Functions:
    """Return the client and the estimator of ldp-toolbox for GRR, OUE or SS."""
    module, name = {
        "GRR": ("grr", "GeneralizedRandomizedResponse"),
        "OUE": ("ue", "UnaryEncoding"),
        "SS": ("ss", "SubsetSelection"),
    }[mechanism]
    protocol = getattr(importlib.import_module(f"ldp_toolbox.protocols.frequency.{module}"), name)(k, epsilon)
    return protocol.obfuscate, protocol.estimate


PEERS: dict[str, tuple[Callable[[str, int, float], Functions], tuple[str, ...]]] = {
    "multi-freq-ldpy": (multi_freq_ldpy, ("GRR", "SUE", "OUE", "BLH", "OLH")),
    "pure-ldp": (pure_ldp, ("GRR", "OUE", "OLH")),
    "ldp-toolbox": (ldp_toolbox, ("GRR", "OUE", "SS")),
}
"""Libraries by the names under which they are installed, and their mechanisms."""


def seed_everything(seed: int) -> None:
    """Seed the generators that these libraries draw from: Python's, numpy's, and numba's own."""
    import numpy as np

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  the generator that they draw from
    _compiled_seed()(seed)


@functools.cache
def _compiled_seed() -> Callable[[int], None]:
    import numba
    import numpy as np

    def seed_numba(seed: int) -> None:
        np.random.seed(seed)  # noqa: NPY002

    return numba.njit()(seed_numba)


def main() -> None:
    """Answer one request, and send the library's own output to standard error."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    request = json.load(sys.stdin)
    make, _ = PEERS[request["peer"]]
    client, estimate = make(request["mechanism"], request["k"], request["epsilon"])
    found = []
    for seed, values in zip(request["seeds"], request["answers"], strict=True):
        seed_everything(seed)
        reports = [client(value) for value in values]
        found.append([float(one) for one in estimate(reports)])
    json.dump(found, answer)
    answer.close()


if __name__ == "__main__":
    main()

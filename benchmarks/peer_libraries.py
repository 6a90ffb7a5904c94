"""Functions of the peers, called once per contributor and once per batch, as in the peers' own examples."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.cases import LDP_TOOLBOX, MULTI_FREQ, PURE_LDP, SKETCH_PEERS, Case

Forms = tuple[str, ...]

SKETCH_HASHES, SKETCH_CELLS = 128, 1024
"""Numbers of hash functions and of cells in pure-ldp's own example."""


@dataclass(frozen=True)
class Peer:
    """Client and aggregator of a peer for one case, and a text that names the functions called.

    `client` maps all inputs to a list of reports. `aggregator` maps a batch of reports to estimates per attribute, or
    to a filled server if there is a `decoder`. `decoder` maps reports to a function from values to estimates;
    `decodes_all` is true if its cost does not depend on the number of values. `report_forms` lists the forms in which
    the peer accepts reports.
    """

    client: Callable[[Any], list[Any]]
    client_text: str
    aggregator: Callable[[Any], Any]
    aggregator_text: str
    report_forms: Forms
    decoder: Callable[[list[Any]], Callable[[Any], Any]] | None = None
    decoder_text: str = ""
    decodes_all: bool = False


def multi_freq(case: Case) -> Peer:
    """Return the functions of multi-freq-ldpy for a case (matrix inversion, its plain estimator)."""
    oracles, many = "multi_freq_ldpy.pure_frequency_oracles", "multi_freq_ldpy.mdim_freq_est"
    again = "multi_freq_ldpy.long_freq_est"
    k, sizes, d, epsilon = case.sizes[0], list(case.sizes), len(case.sizes), case.epsilon
    module_name, stem, client_args, aggregator_args, forms = {
        "GRR": (f"{oracles}.GRR", "GRR", (k, epsilon), (k, epsilon), ("list", "array", "object array")),
        "OUE": (f"{oracles}.UE", "UE", (k, epsilon, True), (epsilon, True), ("list", "array")),
        "OLH": (f"{oracles}.LH", "LH", (k, epsilon, True), (k, epsilon, True), ("list",)),
        "L-GRR": (f"{again}.L_GRR", "L_GRR", *2 * ((k, *case.budgets),), ("list", "array", "object array")),
        "L-OUE": (f"{again}.L_OUE", "L_OUE", (k, *case.budgets), case.budgets, ("list", "array")),
        "LOLOHA": (f"{again}.L_LH", "L_LH", *2 * ((k, *case.budgets, True),), ("list",)),
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
    """Return client and server of pure-ldp for a case."""
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


def ldp_toolbox(case: Case) -> Peer:
    """Return the protocol of ldp-toolbox for a case; it compiles its clients with numba."""
    module_name, class_name = {
        "GRR": ("grr", "GeneralizedRandomizedResponse"),
        "OUE": ("ue", "UnaryEncoding"),
        "SubsetSelection": ("ss", "SubsetSelection"),
    }[case.name]
    module = importlib.import_module(f"ldp_toolbox.protocols.frequency.{module_name}")
    protocol = getattr(module, class_name)(case.sizes[0], case.epsilon)
    return Peer(
        client=lambda inputs: [protocol.obfuscate(value) for value in inputs],
        client_text=f"[{class_name}.obfuscate(x) for x in inputs]",
        aggregator=protocol.estimate,
        aggregator_text=f"{class_name}.estimate(reports)",
        report_forms=("list", "array"),
    )


def pure_ldp_sketch(case: Case, hadamard: bool) -> Peer:
    """Return the count-mean sketch of pure-ldp, or its Hadamard variant.

    The Hadamard variant transforms its sketch once, which is not counted. Each value is then looked up.
    """
    module = importlib.import_module("pure_ldp.frequency_oracles.apple_cms")
    epsilon = case.epsilon

    def new_server() -> Any:
        return module.CMSServer(epsilon, SKETCH_HASHES, SKETCH_CELLS, is_hadamard=hadamard)

    server = new_server()
    client = module.CMSClient(epsilon, server.get_hash_funcs(), SKETCH_CELLS, is_hadamard=hadamard)

    def tally(reports: Any) -> Any:
        server.reset()  # making a server is not counted
        server.aggregate_all(reports)
        return server

    def decoder(reports: list[Any]) -> Callable[[Any], Any]:
        filled = new_server()
        filled.aggregate_all(reports)
        filled.estimate(0, suppress_warnings=True)
        return lambda values: filled.estimate_all(values, suppress_warnings=True) / len(reports)

    name = f"CMSServer({SKETCH_HASHES} hashes, {SKETCH_CELLS} cells{', is_hadamard=True' if hadamard else ''})"
    return Peer(
        client=lambda inputs: [client.privatise(value) for value in inputs],
        client_text=f"[CMSClient.privatise(x) for x in inputs] of {name}",
        aggregator=tally,
        aggregator_text=f"{name}.aggregate_all(reports)",
        report_forms=("list",),
        decoder=decoder,
        decoder_text=f"{name}.estimate_all(values)",
    )


def pure_ldp_hadamard_response(case: Case) -> Peer:
    """Return the Hadamard response of pure-ldp, which decodes all values by a transform."""
    module = importlib.import_module("pure_ldp.frequency_oracles.hadamard_response")
    k, epsilon = case.sizes[0], case.epsilon
    server = module.HadamardResponseServer(epsilon, k, index_mapper=lambda value: value)
    client = module.HadamardResponseClient(epsilon, k, server.get_hash_funcs(), index_mapper=lambda value: value)

    def tally(reports: Any) -> Any:
        server.reset()
        server.aggregate_all(reports)
        return server

    def decoder(reports: list[Any]) -> Callable[[Any], Any]:
        def decode(values: Any) -> Any:
            server.last_estimated = 0  # otherwise the server remembers its last answer
            return server.estimate_all(values, suppress_warnings=True) / len(reports)

        tally(reports)
        return decode

    return Peer(
        client=lambda inputs: [client.privatise(value) for value in inputs],
        client_text="[HadamardResponseClient.privatise(x) for x in inputs]",
        aggregator=tally,
        aggregator_text="HadamardResponseServer.aggregate_all(reports)",
        report_forms=("list",),
        decoder=decoder,
        decoder_text=f"HadamardResponseServer.estimate_all(range({k}))",
        decodes_all=True,
    )


PEERS: dict[str, Callable[[Case], Peer]] = {
    MULTI_FREQ: multi_freq,
    PURE_LDP: pure_ldp,
    LDP_TOOLBOX: ldp_toolbox,
    SKETCH_PEERS[0]: lambda case: pure_ldp_sketch(case, hadamard=False),
    SKETCH_PEERS[1]: lambda case: pure_ldp_sketch(case, hadamard=True),
    SKETCH_PEERS[2]: pure_ldp_hadamard_response,
}


def _listed(arguments: tuple[Any, ...]) -> str:
    return ", ".join(map(str, arguments))

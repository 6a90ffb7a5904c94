"""What is compared with whom, and the ratio to reach. Standard library only: both environments import it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Verb = Literal["randomize", "aggregate", "tally", "decode"]
VERBS: tuple[Verb, ...] = ("randomize", "aggregate")
SKETCH_VERBS: tuple[Verb, ...] = ("randomize", "tally", "decode")
"""Where decoding costs per value and not per report, the collector's work is taken apart: `tally` is per report,
`decode` per value."""

MULTI_FREQ = "multi-freq-ldpy"
PURE_LDP = "pure-ldp"
LDP_TOOLBOX = "ldp-toolbox"
SKETCH_PEERS = ("pure-ldp CMS", "pure-ldp HCMS", "pure-ldp HR")


@dataclass(frozen=True)
class Case:
    """One mechanism at one domain, with the peers that implement it.

    Parameters
    ----------
    name : str
        The mechanism, as given to ``--cases``.
    sizes : tuple of int
        Domain sizes (k_1, ..., k_d).
    goals : mapping of verb to float
        Smallest acceptable ratio to every peer; verbs without a goal are measured for information.
    peers : tuple of str
        Distribution names, with the mechanism where several of a distribution are compared.
    epsilon_once : float, optional
        Budget of one report, where people are asked again and epsilon is that of all reports.
    peer_reports : int
        Most reports a peer makes in one call; bounds its memory where a report is a vector of 8-byte floats.
    verbs : tuple of str
        What is measured.
    """

    name: str
    sizes: tuple[int, ...]
    goals: Mapping[Verb, float] = field(hash=False)
    peers: tuple[str, ...] = (MULTI_FREQ,)
    epsilon: float = 1.0
    epsilon_once: float | None = None
    peer_reports: int = 1_000_000
    verbs: tuple[Verb, ...] = VERBS

    @property
    def budgets(self) -> tuple[float, ...]:
        """epsilon, and the budget of one report if there is one."""
        return (self.epsilon,) if self.epsilon_once is None else (self.epsilon, self.epsilon_once)

    @property
    def domain(self) -> str:
        """The domain in words, for instance ``k=16`` or ``d=5, k=16``."""
        return f"k={self.sizes[0]}" if len(self.sizes) == 1 else f"d={len(self.sizes)}, k={self.sizes[0]}"


FIVE = (16,) * 5
CASES: tuple[Case, ...] = (
    Case("GRR", (16,), {"randomize": 100, "aggregate": 100}, (MULTI_FREQ, PURE_LDP, LDP_TOOLBOX)),
    Case("OUE", (128,), {"randomize": 25, "aggregate": 50}, (MULTI_FREQ, PURE_LDP, LDP_TOOLBOX), peer_reports=20_000),
    Case("SubsetSelection", (128,), {"randomize": 25, "aggregate": 50}, (LDP_TOOLBOX,), peer_reports=20_000),
    Case("OLH", (1024,), {"aggregate": 1000}, (MULTI_FREQ, PURE_LDP)),
    Case("SPL", FIVE, {"randomize": 50, "aggregate": 20}),
    Case("SMP", FIVE, {"randomize": 50, "aggregate": 20}),
    Case("RSFD", FIVE, {"randomize": 50, "aggregate": 20}),
    Case("L-GRR", (16,), {}, epsilon=2.0, epsilon_once=1.0),
    Case("L-OUE", (128,), {}, epsilon=2.0, epsilon_once=1.0, peer_reports=20_000),
    Case("LOLOHA", (1024,), {}, epsilon=2.0, epsilon_once=1.0),
    Case("OCMS", (1 << 17,), {}, SKETCH_PEERS, peer_reports=5_000, verbs=SKETCH_VERBS),
)


def case_named(name: str) -> Case:
    """Return a case by its name, in any capitals."""
    for case in CASES:
        if case.name.lower() == name.lower():
            return case
    raise KeyError(f"case must be one of {', '.join(case.name for case in CASES)}, got {name!r}")

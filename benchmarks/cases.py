"""Comparisons with peers, and the ratios to reach. Standard library only: both environments import this module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Verb = Literal["randomize", "aggregate", "tally", "decode"]
VERBS: tuple[Verb, ...] = ("randomize", "aggregate")
SKETCH_VERBS: tuple[Verb, ...] = ("randomize", "tally", "decode")
"""Verbs of mechanisms whose decoding costs time per value and not per report.

The collector's work is measured in two parts: `tally` per report, and `decode` per value.
"""

MULTI_FREQ = "multi-freq-ldpy"
PURE_LDP = "pure-ldp"
LDP_TOOLBOX = "ldp-toolbox"
SKETCH_PEERS = ("pure-ldp CMS", "pure-ldp HCMS", "pure-ldp HR")


@dataclass(frozen=True)
class Case:
    """One mechanism at one domain, and the peers that implement it.

    Parameters
    ----------
    name : str
        The mechanism, as given to ``--cases``.
    sizes : tuple of int
        Domain sizes (k_1, ..., k_d).
    goals : mapping of verb to float
        Smallest acceptable ratio to every peer. Verbs without a goal are measured for information.
    peers : tuple of str
        Names of distributions, with the mechanism if several mechanisms of one distribution are compared.
    epsilon_once : float, optional
        Budget of one report, if people are asked repeatedly and epsilon covers all their reports.
    peer_reports : int
        Largest number of reports that a peer makes in one call. This bounds its memory if a report is a vector of
        8-byte floats.
    verbs : tuple of str
        Calls to measure.
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
        """epsilon, followed by the budget of one report if the case has one."""
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
    """Return a case by its name, in upper or lower case."""
    for case in CASES:
        if case.name.lower() == name.lower():
            return case
    raise KeyError(f"case must be one of {', '.join(case.name for case in CASES)}, got {name!r}")

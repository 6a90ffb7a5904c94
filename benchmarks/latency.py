"""Measure the time for one report on a device, for this library and for the peers' client functions.

This library draws from `SecureRandomness`, checks its input and runs interpreted, so that nobody waits for a compiler.
The peers' times are those of `benchmarks.run`, which calls their clients once per contributor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.cases import Case
from benchmarks.measure import Spread, Timing, spread, time_calls
from benchmarks.ours import build
from benchmarks.run import Comparison


@dataclass(frozen=True)
class Latency:
    """Microseconds of processor time for one report, after a first one.

    Parameters
    ----------
    case : Case
        The mechanism and its domain.
    ours : list of Timing
        One timing per round.
    peers : dict of str to Spread
        Microseconds per call of each peer's client.
    """

    case: Case
    ours: list[Timing]
    peers: dict[str, Spread]

    @property
    def microseconds(self) -> Spread:
        """Our time in microseconds: median, least and largest of the rounds."""
        return spread([timing.nanoseconds / 1000 for timing in self.ours])


def one_report(case: Case, rounds: int, seconds: float) -> list[Timing]:
    """Return our rounds: one contributor per call, after a first report that loads the code."""
    from deniable import SecureRandomness

    mechanism, rng = build(case), SecureRandomness()
    inputs = [0] if len(case.sizes) == 1 else [[0] * len(case.sizes)]
    mechanism.randomize(inputs, rng)
    return [time_calls(lambda: mechanism.randomize(inputs, rng), 1, seconds) for _ in range(rounds)]


def latencies(comparisons: Sequence[Comparison], rounds: int, seconds: float) -> list[Latency]:
    """Return one latency for each case of these comparisons."""
    cases = dict.fromkeys(one.case for one in comparisons if one.verb == "randomize")
    return [
        Latency(
            case,
            one_report(case, rounds, seconds),
            {
                one.peer: spread([timing.nanoseconds / 1000 for timing in one.theirs])
                for one in comparisons
                if one.case == case and one.verb == "randomize"
            },
        )
        for case in cases
    ]


def document(found: Sequence[Latency]) -> list[dict[str, Any]]:
    """Return latencies as JSON."""
    return [asdict(one) | {"microseconds": asdict(one.microseconds)} for one in found]


def table(found: Sequence[dict[str, Any]]) -> str:
    """Return the table of a document in Markdown."""
    lines = ["| one report, µs | ours | range | peers' client functions |", "|---|---:|---:|---|"]
    for one in found:
        sizes, ours = one["case"]["sizes"], one["microseconds"]
        domain = f"k={sizes[0]}" if len(sizes) == 1 else f"d={len(sizes)}, k={sizes[0]}"
        span = f"{ours['least']:.3g}-{ours['most']:.3g}"
        peers = ", ".join(f"{name} {times['median']:.3g}" for name, times in one["peers"].items())
        lines.append(f"| {one['case']['name']} {domain} | {ours['median']:.3g} | {span} | {peers} |")
    return "\n".join(lines)

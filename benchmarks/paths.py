"""Measure all paths of this library that have a goal in time or memory, in one process.

Randomising is compared with drawing the same words, and aggregating with reading the reports once. `benchmarks.run` has
the comparisons with peers. The paths here have no peer, or a goal that is not a ratio.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from benchmarks.compare import copies
from benchmarks.measure import spread, time_calls
from benchmarks.report import processor, significant

UNITS = {"ns": 1e9, "µs": 1e6, "s": 1.0}
LARGE = 1 << 28
"""Domain whose histogram must be summed within a bound of memory."""


@dataclass(frozen=True)
class Path:
    """One measured path.

    Parameters
    ----------
    name : str
        Name of the path.
    unit : str
        "ns", "µs" or "s".
    goal : float
        Largest acceptable time per item, in this unit.
    items : int
        Number of items that one call handles.
    call : callable
        Function to measure.
    limit : callable or None
        Work that every implementation must do.
    """

    name: str
    unit: str
    goal: float
    items: int
    call: Callable[[], object]
    limit: Callable[[], object] | None = None


def measure(rounds: int = 5, seconds: float = 0.3, *, note: Callable[[str], object] = print) -> dict[str, Any]:
    """Return the processor time of all paths: median, smallest and largest value of the rounds."""
    found = []
    for path in paths():
        path.call()  # the first call compiles and is not counted
        scale = UNITS[path.unit]
        times = [time_calls(path.call, path.items, seconds).nanoseconds / 1e9 * scale for _ in range(rounds)]
        limits = (
            [time_calls(path.limit, path.items, seconds / 3).nanoseconds for _ in range(rounds)] if path.limit else []
        )
        ours = spread(times)
        found.append(
            {
                "path": path.name,
                "unit": path.unit,
                "ours": ours.median,
                "least": ours.least,
                "most": ours.most,
                "limit": spread(limits).median / 1e9 * scale if limits else None,
                "goal": path.goal,
            }
        )
        note(f"{path.name}: {significant(ours.median)} {path.unit} ({significant(ours.least)}), goal {path.goal:g}")
        gc.collect()
    found.append(memory())
    when = datetime.now(UTC).isoformat(timespec="minutes")
    return {"machine": processor(), "when": when, "load": os.getloadavg()[0], "paths": found}


def table(found: dict[str, Any]) -> str:
    """Return the results of `measure` as a table in Markdown."""
    lines = ["| path | unit | limit | ours | range | goal |", "|---|---|---:|---:|---:|---:|"]
    for one in found["paths"]:
        limit = significant(one["limit"]) if one["limit"] is not None else ""
        span = f"{significant(one['least'])}-{significant(one['most'])}" if one["least"] != one["most"] else ""
        goal = f"<={one['goal']:g} {'yes' if one['least'] <= one['goal'] else 'NO'}"
        lines.append(f"| {one['path']} | {one['unit']} | {limit} | {significant(one['ours'])} | {span} | {goal} |")
    return "\n".join(lines)


# ------------------------------------------------------------------------------------------------------ the paths


def paths() -> Iterator[Path]:
    """Yield all paths; each is made when it is needed, to have few of them in memory."""
    for name, parameters, goal in RANDOMIZED:
        yield randomized(name, parameters, goal)
    for name, parameters, goal in AGGREGATED:
        yield aggregated(name, parameters, goal)
    yield from prepared()
    for name, parameters, goal in SINGLE:
        yield single(name, parameters, goal)


FIVE, FIFTY, WIDE = (16,) * 5, (16,) * 50, 1 << 17
RANDOMIZED: tuple[tuple[str, dict[str, Any], float], ...] = (
    ("OUE", {"k": 128}, 40),
    ("SUE", {"k": 128}, 40),
    ("THE", {"k": 128}, 40),
    ("RAPPOR", {"k": 128}, 40),
    ("SubsetSelection", {"k": 128}, 70),
    ("SubsetSelection", {"k": 256}, 120),
    ("SubsetSelection", {"k": 1024, "epsilon": 4.0}, 60),
    ("PGR", {"k": 1024}, 15),
    ("CMS", {"k": WIDE, "m": 4, "family": "spread"}, 7),
    ("CMS", {"k": WIDE, "m": 4, "family": "partition"}, 7),
    ("CMS", {"k": WIDE, "m": 4, "family": "linear"}, 7),
    ("Corr-RR", {"sizes": FIVE}, 15),
    ("Corr-RR", {"sizes": FIFTY}, 150),
    ("SMP[ADP]", {"sizes": FIVE}, 15),
)
"""Batches that contributors randomise (default: epsilon 1), and the goal in nanoseconds per report."""

AGGREGATED: tuple[tuple[str, dict[str, Any], float], ...] = (
    ("SMP", {"sizes": FIVE}, 0.9),
    ("SMP[ADP]", {"sizes": FIVE}, 2.7),
    ("SMP[ADP]", {"sizes": FIFTY}, 3.4),
)
"""Batches that the collector sums, and the goal in nanoseconds per report."""

SINGLE: tuple[tuple[str, dict[str, Any], float], ...] = (
    ("GRR", {"k": 16}, 5),
    ("OUE", {"k": 128}, 15),
    ("SHE", {"k": 128}, 15),
    ("SubsetSelection", {"k": 128}, 15),
    ("OLH", {"k": 1024}, 15),
    ("OCMS", {"k": WIDE}, 15),
    ("SPL", {"sizes": FIVE}, 15),
    ("SMP", {"sizes": FIVE}, 15),
    ("SMP[ADP]", {"sizes": FIVE}, 15),
    ("RS+FD", {"sizes": FIVE}, 15),
    ("PivotCoded", {"sizes": FIVE}, 15),
    ("Corr-RR", {"sizes": FIVE}, 15),
)
"""Single reports on a device, after a first one, and the goal in microseconds."""


def build(name: str, parameters: dict[str, Any]) -> Any:
    """Return a mechanism, by default with epsilon 1; Corr-RR copies its pivot with probabilities from .3 to .7."""
    import deniable

    given = {"epsilon": 1.0, **parameters}
    if name == "RAPPOR":
        return deniable.RAPPOR.from_epsilon(**given)
    if name == "Corr-RR":
        given["copy_probabilities"] = copies(len(parameters["sizes"]))
    return deniable.mechanism(name, **given)


def shown(name: str, parameters: dict[str, Any]) -> str:
    """Return the name of a mechanism with its parameters."""
    words = [f"d={len(parameters['sizes'])}, k=16"] if "sizes" in parameters else [f"k={parameters['k']:,}"]
    words += [parameters["family"]] if "family" in parameters else []
    words += [f"epsilon={parameters['epsilon']:g}"] if "epsilon" in parameters else []
    return f"{name} {', '.join(words)}"


def answers(parameters: dict[str, Any], n: int) -> Any:
    """Return the answers of n contributors, small codes more frequent than large ones: int64[n] or int64[n, d]."""
    import numpy as np

    rng = np.random.default_rng(1978)
    if "k" in parameters:
        return np.minimum(rng.geometric(0.05, n) - 1, parameters["k"] - 1)
    return np.stack([np.minimum(rng.geometric(0.2, n) - 1, size - 1) for size in parameters["sizes"]], axis=1)


def randomized(name: str, parameters: dict[str, Any], goal: float) -> Path:
    """Return the path that randomises a batch; its limit draws the same words."""
    import numpy as np

    from benchmarks.ours import RecordingRandomness
    from deniable import SimulationRandomness

    mechanism, n = build(name, parameters), 50_000 if len(parameters.get("sizes", ())) > 5 else 500_000
    held, rng = answers(parameters, n), SimulationRandomness(1)
    recorder = RecordingRandomness(rng)
    mechanism.randomize(held, recorder)
    buffer = np.empty(max(recorder.requests), dtype=np.uint64)

    def draw() -> None:
        for size in recorder.requests:
            rng.fill(buffer[:size])

    what = f"{shown(name, parameters)}: randomize"
    return Path(what, "ns", goal, n, lambda: mechanism.randomize(held, rng), draw)


def aggregated(name: str, parameters: dict[str, Any], goal: float) -> Path:
    """Return the path that sums a batch; its limit reads the reports."""
    from benchmarks.ours import fields, read_once
    from deniable import SimulationRandomness

    mechanism, n = build(name, parameters), 1_000_000
    reports = mechanism.randomize(answers(parameters, n), SimulationRandomness(1))
    what = f"{shown(name, parameters)}: aggregate"
    return Path(what, "ns", goal, n, lambda: mechanism.aggregate(reports), lambda: read_once(fields(reports)))


def single(name: str, parameters: dict[str, Any], goal: float) -> Path:
    """Return the path for one report, with randomness from the operating system."""
    from deniable import SecureRandomness

    mechanism, rng = build(name, parameters), SecureRandomness()
    held = [[0] * len(parameters["sizes"])] if "sizes" in parameters else [0]
    return Path(f"{shown(name, parameters)}: one report", "µs", goal, 1, lambda: mechanism.randomize(held, rng))


def prepared() -> Iterator[Path]:
    """Yield all other paths: texts, deals, intervals, and a decoder."""
    import numpy as np

    from deniable import SMP, SimulationRandomness
    from deniable.oracles.sketch.heavy_hitters import HeavyHitters
    from deniable.postprocess import hierarchical
    from deniable.research.dealt.coupling.coupled_oue import CoupledOUE
    from deniable.research.dealt.interval import holder_bounds
    from deniable.research.dealt.quota.interval import columns_of
    from deniable.research.dealt.quota.quota_rr import QuotaRR

    rng = SimulationRandomness(3)
    hunt = HeavyHitters(epsilon=4.0, max_bytes=16)
    texts = [f"www.example{number % 997}.org" for number in range(200_000)]
    yield Path(
        "HeavyHitters: encode a string", "ns", 60, len(texts), lambda: hunt.encode(texts), "\0".join(texts).encode
    )
    quotas = QuotaRR(1.0, 100_000, k=65_535)
    yield Path("QuotaRR k=65,535, n=100,000: deal", "s", 0.6, 1, lambda: quotas.deal(100_000, rng))
    million = QuotaRR(1.0, 1_000_000, k=16)
    dealt = million.randomize(np.arange(1_000_000) % 16, million.deal(1_000_000, rng), rng)
    estimate = million.estimate(million.aggregate(dealt))

    def intervals() -> object:
        # Nothing may be remembered from one call to the next.
        columns_of.cache_clear()
        holder_bounds.cache_clear()
        return estimate.interval(0.95)

    yield Path("QuotaRR k=16, n=1,000,000: intervals", "s", 0.2, 1, intervals)
    coupled = CoupledOUE.optimal(k=128, n=10_000, epsilon=1.0, colluders=5)
    yield Path("CoupledOUE k=128: deal a bit", "ns", 90, 128 * 10_000, lambda: coupled.deal(10_000, rng))
    k, d = 65_536, 4
    smp = SMP((k,) * d, 1.0)
    records = np.stack([rng.generator.choice(k, 5000, p=rng.generator.dirichlet(np.ones(k))) for _ in range(d)], axis=1)
    raw = smp.estimate(smp.aggregate(smp.randomize(records, rng)))
    yield Path("hierarchical decoder, d=4, k=65,536, n=5,000", "s", 1, 1, lambda: hierarchical(raw))


def memory() -> dict[str, Any]:
    """Return the peak memory while reports over 2^28 values are summed, in its own process."""
    command = [sys.executable, "-m", "benchmarks.paths", "--memory"]
    reply = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    peak = reply["peak"] / 2**30
    name = f"GRR k=2^28: aggregate a million reports in {reply['seconds']:.1f} s, peak memory"
    return {"path": name, "unit": "GiB", "ours": peak, "least": peak, "most": peak, "limit": 2.0, "goal": 3.5}


def _add_up_a_large_histogram() -> None:
    import numpy as np

    from deniable import GRR, SimulationRandomness

    grr = GRR(LARGE, 1.0)
    reports = grr.randomize(np.arange(1_000_000) * 263 % LARGE, SimulationRandomness(1))
    start = time.process_time()
    grr.aggregate(reports)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"peak": peak, "seconds": time.process_time() - start}))


def main() -> None:
    """Measure and print; or run as the process whose memory is measured."""
    if "--memory" in sys.argv:
        _add_up_a_large_histogram()
        return
    found = measure(note=lambda text: print(text, file=sys.stderr, flush=True))
    print(table(found))


if __name__ == "__main__":
    main()

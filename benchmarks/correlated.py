"""Time mechanisms for records of correlated attributes: ``python -m benchmarks.correlated``.

It compares them with SPL, and times the learning of P and the decoder. No peer has these mechanisms. Times are
processor time in one thread. A round measures SPL and each other mechanism in turn, and ratios are taken within a
round.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from typing import Any

SINGLE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

D, K, EPSILON = 5, 16, 1.0
GOAL = 0.5
"""Smallest acceptable rate, as a share of SPL's rate."""
LEARNED_ATTRIBUTES = 50
LEARNING_GOAL = 1.0
"""Largest acceptable time to learn P, in seconds."""
DECODED = ((4, 4), (8, 20), (1, 256), (8, 256))


def mechanisms() -> dict[str, Any]:
    """Return the record mechanisms over equal domains; SPL first."""
    import numpy as np

    from deniable import SPL, CorrRR
    from deniable.records.pivot.pivot_coded import PivotCoded

    sizes = (K,) * D
    copies = np.random.default_rng(1).uniform(0, 1, (D, D))
    np.fill_diagonal(copies, 1)
    return {
        "SPL": SPL(sizes, EPSILON),
        "Corr-RR": CorrRR(sizes, EPSILON, tuple(map(tuple, copies.tolist()))),
        "PivotCoded": PivotCoded(sizes, EPSILON),
    }


def records_table(n: int, rounds: int, seconds: float) -> None:
    """Print the time per record of randomize and aggregate, and the rate relative to SPL's."""

    from benchmarks.measure import Timing, ratios, spread, time_calls
    from deniable import SimulationRandomness

    rng = SimulationRandomness(1)
    records = rng.generator.integers(0, K, (n, D))
    all_of_them = mechanisms()
    reports = {name: one.randomize(records, rng) for name, one in all_of_them.items()}
    calls: dict[tuple[str, str], Callable[[], object]] = {}
    for name, one in all_of_them.items():
        calls[name, "randomize"] = partial(one.randomize, records, rng)
        calls[name, "aggregate"] = partial(one.aggregate, reports[name])
    for call in calls.values():
        call()  # the first call compiles and is not timed
    timings: dict[tuple[str, str], list[Timing]] = {key: [] for key in calls}
    for _ in range(rounds):
        for key, call in calls.items():
            timings[key].append(time_calls(call, n, seconds))
    print(f"records of d={D} attributes, k={K}, epsilon={EPSILON:g}, {n:,} in a batch; {rounds} rounds\n")
    print("| mechanism | verb | ns/record | rate, SPL = 1 | spread | goal |\n|---|---|---|---|---|---|")
    for (name, verb), mine in timings.items():
        rate = ratios(mine, timings["SPL", verb])
        time = spread([timing.nanoseconds for timing in mine])
        reached = "" if name == "SPL" else f">={GOAL:g} {'yes' if rate.median >= GOAL else 'NO'}"
        span = f"{rate.least:.2f}-{rate.most:.2f}"
        print(f"| {name} | {verb} | {time.median:.2f} | {rate.median:.2f} | {span} | {reached} |")


def learning_table(rounds: int) -> None:
    """Print the time to learn P for 50 attributes."""
    import numpy as np

    from benchmarks.measure import spread, time_calls
    from deniable import CorrRR, SimulationRandomness

    rng = SimulationRandomness(2)
    sizes = (K,) * LEARNED_ATTRIBUTES
    spl = CorrRR.phase_one(sizes, 5.0)
    first = spl.simulate_aggregate([rng.generator.multinomial(100_000, np.full(K, 1 / K)) for _ in sizes], rng)
    print(f"\n| learning P, d={LEARNED_ATTRIBUTES}, k={K} | s | spread | goal |\n|---|---|---|---|")
    for method in ("pairwise", "joint"):

        def call(method: str = method) -> object:
            return CorrRR.learn(first, 10**6, method)

        call()
        seconds = spread([time_calls(call, 1, 0.0).cpu for _ in range(rounds)])
        reached = "yes" if seconds.median < LEARNING_GOAL else "NO"
        span = f"{seconds.least:.3f}-{seconds.most:.3f}"
        print(f"| {method} | {seconds.median:.3f} | {span} | <{LEARNING_GOAL:g} {reached} |")


def decoder_table(rounds: int, seconds: float) -> None:
    """Print the time of the hierarchical decoder."""
    import numpy as np

    from benchmarks.measure import spread, time_calls
    from deniable import SMP, SimulationRandomness
    from deniable.postprocess import hierarchical

    rng = SimulationRandomness(3)
    print("\n| decoder | ms | spread |\n|---|---|---|")
    for d, k in DECODED:
        smp = SMP((k,) * d, 1.0)
        records = np.stack([rng.generator.choice(k, 5000, p=rng.generator.dirichlet(np.ones(k))) for _ in range(d)], 1)
        raw = smp.estimate(smp.aggregate(smp.randomize(records, rng)))

        def call(raw: Any = raw) -> object:
            return hierarchical(raw)

        call()
        times = spread([time_calls(call, 1, seconds).nanoseconds / 1e6 for _ in range(rounds)])
        print(f"| d={d}, k={k} | {times.median:.2f} | {times.least:.2f}-{times.most:.2f} |")


def main() -> None:
    """Measure and print."""
    os.environ.update(SINGLE_THREAD)  # this must come before numpy and numba are imported
    parser = argparse.ArgumentParser(prog="python -m benchmarks.correlated")
    parser.add_argument("--contributors", type=int, default=1_000_000, metavar="N", help="records in a batch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="least processor seconds of a measurement")
    options = parser.parse_args()
    records_table(options.contributors, options.rounds, options.seconds)
    learning_table(options.rounds)
    decoder_table(options.rounds, options.seconds)


if __name__ == "__main__":
    main()

"""Measure time and traffic of dealing without a dealer, and how they grow: ``python -m benchmarks.dealing``.

Three ways to shuffle the same signs are compared: mpyc's own shuffle, switching networks, and resharing. Then whole
deals of quota types are measured; their counts are drawn in secret. Helpers are processes on this machine. Bytes are
exact. Times are the least of the rounds.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from deniable.research.dealt.mpc.plan import Plan, plan_of
from deniable.research.dealt.mpc.processes import MODULE, run_helpers
from deniable.research.dealt.quota.quota_rr import QuotaRR

SIZES = (50, 100, 200, 300, 500)
PARTIES = (3, 5)
MPYC = "benchmarks.mpyc_shuffle"


@dataclass(frozen=True)
class Measured:
    """Measurements of one deal.

    They are the clock seconds and processor seconds of the slowest helper, and the most bytes that one helper sent.
    """

    what: str
    parties: int
    n: int
    seconds: float
    cpu_seconds: float
    bytes_sent: int


TERMS: dict[str, Callable[[float], float]] = {
    "1": lambda _: 1.0,
    "n": lambda n: n,
    "n log2 n": lambda n: n * math.log2(n),
    "n^2": lambda n: n * n,
}

LAWS = {
    "shuffle, mpyc's own": ("1", "n", "n^2"),
    "shuffle, network": ("1", "n log2 n"),
    "shuffle, resharing": ("1", "n"),
    "quota deal, network": ("1", "n log2 n"),
    "quota deal, resharing": ("1", "n"),
}


def plan_for(what: str, n: int) -> tuple[Plan, str]:
    """Return the plan and the helpers' program."""
    shuffle = what.rpartition(", ")[2]
    if what.startswith("quota"):
        return plan_of(QuotaRR(1.0, n), n, shuffle), MODULE
    if shuffle == "mpyc's own":
        return Plan(n, 251, (n // 2, n // 2, n % 2), None, "mpyc"), MPYC
    return Plan(n, 251, (n // 2, n // 2, n % 2), None, shuffle), MODULE


def measure(what: str, parties: int, n: int, rounds: int) -> Measured:
    """Deal `rounds` times; return the least times and the bytes sent."""
    plan, module = plan_for(what, n)
    runs = [run_helpers(plan, parties, 1200.0, module) for _ in range(rounds)]
    return Measured(
        what,
        parties,
        n,
        min(max(result["seconds"] for result in run) for run in runs),
        min(max(result["cpu_seconds"] for result in run) for run in runs),
        # Secret counts are tried a random number of times, so their bytes are averaged.
        round(sum(max(result["bytes_sent"] for result in run) for run in runs) / rounds),
    )


def law(rows: list[Measured], unit: str, value: Callable[[Measured], float]) -> str:
    """Return the formula for one quantity of one kind of deal: least squares in relative error, coefficients >= 0."""
    terms = LAWS[rows[0].what]
    design = np.array([[TERMS[term](row.n) for term in terms] for row in rows])
    design /= np.array([[value(row)] for row in rows])
    coefficients, _ = nnls(design, np.ones(len(rows)))
    residual = float(np.abs(design @ coefficients - 1).max())
    text = " + ".join(f"{c:.3g} {term}" for c, term in zip(coefficients, terms, strict=True) if c > 0)
    return f"{text.replace(' 1 ', ' ').removesuffix(' 1')} {unit} (within {100 * residual:.0f} %)"


def main() -> None:
    """Measure, print, and write a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dealing")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--parties", type=int, nargs="+", default=PARTIES)
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/dealing.csv"))
    options = parser.parse_args()
    rows = []
    for parties in options.parties:
        for what in LAWS:
            for n in options.sizes:
                rounds = 1 if "mpyc" in what else options.rounds
                rows.append(measure(what, parties, n, rounds))
                row = rows[-1]
                print(
                    f"{what:24} {parties} helpers n={n:4}: {row.seconds:7.3f} s, cpu {row.cpu_seconds:7.3f} s, "
                    f"{row.bytes_sent / 1000:9.1f} kB sent per helper",
                    flush=True,
                )
            mine = [row for row in rows if (row.what, row.parties) == (what, parties)]
            print("  law:", law(mine, "s", lambda row: row.seconds))
            print("  law:", law(mine, "cpu s", lambda row: row.cpu_seconds))
            print("  law:", law(mine, "kB", lambda row: row.bytes_sent / 1000), flush=True)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*asdict(rows[0])])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


if __name__ == "__main__":
    main()

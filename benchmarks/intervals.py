"""Compute the coverage of 95% intervals by the exact distribution of the counts, for many numbers of holders.

Run ``python -m benchmarks.intervals [result.json]``, or ``make intervals``; it takes some minutes. For each k and
epsilon it takes numbers of reports, up to 100,000, around the number at which score intervals replace exact intervals.
It also gives the coverage of the score interval where the library does not use it. Exact intervals are listed for up to
2,000 reports. Then follow the settings of `benchmarks.few_reports`, in which few reports are randomised or few
contributors hold a value.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks import dealt_intervals, few_reports
from deniable import GRR
from deniable.core.estimate import affine_estimate
from deniable.core.support_counts import FEW
from deniable.oracles.unary import OUE

SIZES = (2, 4, 16, 128)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
LARGEST = 100_000
LARGEST_EXACT = 2_000
FACTORS = (0.02, 0.1, 0.3, 0.7, 0.99, 1.0, 1.04, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 3.0, 6.0, 12.0)
"""Numbers of reports, as multiples of the number at which min(n q, n (1 - p)) = 25."""

Floats = NDArray[np.float64]


def measure(p: float, q: float, n: int) -> dict[str, Any]:
    """Return the least coverage over numbers of holders, for the exact and for the score interval."""
    estimate = affine_estimate(np.arange(n + 1), n, p, q)
    few = n * min(q, 1 - p) < FEW
    # This estimate is the same without its distribution of counts.
    intervals = {"score": replace(estimate, support=None).interval()}
    if few and n <= LARGEST_EXACT:
        intervals["exact"] = estimate.interval()
    least = dict.fromkeys(intervals, 1.0)
    for m in holders(n):
        first, law = law_of_count(m, n, p, q)
        counts = slice(first, first + len(law))
        for name, (lower, upper) in intervals.items():
            # A share that equals an end of the interval is inside, also after a division.
            inside = (lower[counts] <= m / n + 1e-12) & (m / n - 1e-12 <= upper[counts])
            least[name] = min(least[name], float(law[inside].sum()))
    return {"n": n, "mistakes": round(n * min(q, 1 - p), 3), "few": few, **least}


def holders(n: int) -> list[int]:
    """Return all numbers of holders if n is at most 300, else numbers that grow sparser away from either end."""
    near = np.unique(np.concatenate([np.arange(120), np.geomspace(120, n, 120).astype(int)]))
    near = near[near <= n]
    return [int(m) for m in (np.arange(n + 1) if n <= 300 else np.unique(np.concatenate([near, n - near])))]


def law_of_count(m: int, n: int, p: float, q: float) -> tuple[int, Floats]:
    """Return the first count whose probability is not negligible, and the probabilities from there on."""
    (first, true), (second, false) = (_binomial(size, share) for size, share in ((m, p), (n - m, q)))
    return first + second, np.convolve(true, false)


def _binomial(n: int, p: float) -> tuple[int, Floats]:
    low, high = (int(stats.binom.ppf(level, n, p)) if n else 0 for level in (1e-16, 1 - 1e-16))
    first = max(low - 1, 0)
    law: Floats = stats.binom.pmf(np.arange(first, min(high + 2, n) + 1), n, p)
    return first, law


def main(result: Path, summary: Path | None = None) -> None:
    """Write the table, print its worst rows, and fail if a coverage is below its limit."""
    started, rows = time.process_time(), []
    for oracle in (GRR, OUE):
        for k in SIZES:
            for epsilon in EPSILONS:
                p, q = map(float, oracle(k=k, epsilon=epsilon).support_probabilities)
                sizes = {max(1, int(np.ceil(FEW / min(q, 1 - p) * factor))) for factor in FACTORS} | {2, 100, 300}
                for n in sorted(n for n in sizes if n <= LARGEST):
                    rows.append({"oracle": oracle.__name__, "k": k, "epsilon": epsilon, **measure(p, q, n)})
    exact = [row["exact"] for row in rows if "exact" in row]
    score = [row["score"] for row in rows if not row["few"]]
    alone = [row["score"] for row in rows if row["few"]]
    few = []
    for row in few_reports.rows():
        few.append(row.measure())
        print(few[-1], flush=True)
    shown = [row["coverage"] for row in few if row["none"] < 1]
    dealt = dealt_intervals.rows()
    found = {
        "rows": len(rows),
        "seconds": round(time.process_time() - started),
        "exact": min(exact),
        "score": min(score),
        "score alone": min(alone),
        "few reports": min(shown),
        "with a dealer": min(row["coverage"] for row in dealt),
        "settings": few,
        "dealt": dealt,
        "table": rows,
    }
    result.parent.mkdir(parents=True, exist_ok=True)
    result.write_text(json.dumps(found, indent=1) + "\n")
    if summary is not None:
        short = {name: value for name, value in found.items() if name not in ("table", "dealt")}
        summary.write_text(json.dumps(short, indent=1) + "\n")
    print({name: value for name, value in found.items() if name not in ("table", "settings", "dealt")})
    if min(exact) < 0.95 - 1e-9 or min(score) < few_reports.LEAST or min(shown) < few_reports.LEAST:
        raise SystemExit("a 95% interval covers less than its limit")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        main(Path("results/intervals.json"), Path("docs/results/intervals.json"))

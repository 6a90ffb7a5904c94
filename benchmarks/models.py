"""Measure seconds and memory of a regression on a million randomised answers, against statsmodels on true ones.

`python -m benchmarks.models` uses 10^6 rows, 20 columns, 5 categories, and GRR at epsilon 2. statsmodels fits the true
answers.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import numpy as np

import deniable as dn
from deniable.core.randomness import SimulationRandomness
from deniable.models.fitting import fit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--categories", type=int, default=5)
    parser.add_argument("--statsmodels", action="store_true", help="also fit the true answers with statsmodels")
    options = parser.parse_args()
    rng, n, p, k = np.random.default_rng(1), options.rows, options.columns, options.categories
    x = rng.normal(size=(n, p - 1)).astype(np.float64)
    beta = rng.normal(0, 0.3, (p - 1, k - 1))
    answers = np.empty(n, dtype=np.int64)
    for start in range(0, n, 100_000):
        rows = slice(start, start + 100_000)
        eta = np.column_stack([np.zeros(len(x[rows])), x[rows] @ beta])
        answers[rows] = (eta + rng.gumbel(size=eta.shape)).argmax(axis=1)
    labels = tuple(map(str, range(k)))
    survey = dn.Collection(dn.Schema((dn.Attribute("answer", labels),)), dn.GRR(k=k, epsilon=2.0))
    reports = survey.randomize(answers[:, None], SimulationRandomness(1))
    names = [f"x{j}" for j in range(p - 1)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start_time, cpu_before = time.perf_counter(), time.process_time()
    found = fit("answer ~ " + " + ".join(names), survey, reports, dict(zip(names, x.T, strict=True)))
    seconds = time.perf_counter() - start_time
    found.bse  # noqa: B018
    whole, cpu = time.perf_counter() - start_time, time.process_time() - cpu_before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    result = {
        "rows": n,
        "columns": p,
        "categories": k,
        "fit_seconds": round(seconds, 2),
        "with_errors_seconds": round(whole, 2),
        "cpu_seconds": round(cpu, 2),
        "added_peak_mib": peak >> 10,
        "design_mib": (8 * n * p) >> 20,
        "determined": found.determined,
    }
    if options.statsmodels:
        import statsmodels.api as sm

        design = np.column_stack([np.ones(n), x])
        start_time, cpu_before = time.perf_counter(), time.process_time()
        clean = sm.MNLogit(answers, design).fit(disp=0)
        clean.bse  # noqa: B018
        result["statsmodels_clean_seconds"] = round(time.perf_counter() - start_time, 2)
        result["statsmodels_clean_cpu_seconds"] = round(time.process_time() - cpu_before, 2)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

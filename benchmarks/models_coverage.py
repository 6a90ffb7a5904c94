"""How often intervals of coefficients contain the truth: `python -m benchmarks.models_coverage --runs 1000`.

Every run draws covariates, answers and reports anew, and fits through `models.fit` as an analyst would, also where it
would refuse few reports (`force=True`). Cells are written to docs/results/models_coverage.json as they are done.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import deniable as dn
from deniable import models

OUTPUT = Path("docs/results/models_coverage.json")
EPSILONS = (0.5, 1.0, 2.0, 4.0)
SIZES = (2, 5, 16)
PEOPLE = (1_000, 100_000)


def truth_of(k: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return coefficients [k - 1, 3] of an intercept, a normal column and a fair coin."""
    steps = np.arange(1, k) / (k - 1)
    return np.column_stack([-0.5 * steps, 0.5 * steps, 0.5 * (1 - steps) + 0.2])


def one_run(k: int, epsilon: float, n: int, seed: int) -> dict[str, float]:
    """Return what one collection says of the slope of the normal column on the last category."""
    rng = np.random.default_rng([seed, k, n, int(10 * epsilon)])
    people = pd.DataFrame({"x": rng.normal(size=n), "coin": rng.integers(0, 2, n)})
    beta = truth_of(k)
    eta = np.column_stack([np.zeros(n), np.column_stack([np.ones(n), people.x, people.coin]) @ beta.T])
    answers = (eta + rng.gumbel(size=(n, k))).argmax(axis=1)
    labels = tuple(f"a{code}" for code in range(k))
    survey = dn.Collection(dn.Schema((dn.Attribute("answer", labels),)), dn.GRR(k=k, epsilon=epsilon))
    reports = survey.randomize(answers[:, None], dn.SimulationRandomness(int(rng.integers(1 << 60))))
    fit = models.fit("answer ~ x + coin", survey, reports, people, force=True)
    name = "x" if k == 2 else f"{labels[-1]}: x"
    value = beta[-1, 1]
    place = list(fit.names).index(name)
    error = float(fit.bse.iloc[place])
    known = math.isfinite(error)
    wald = known and abs(float(fit.params.iloc[place]) - value) <= 1.959964 * error
    held = fit._fixed(place)
    return {
        "determined": float(known),
        "wald": float(wald),
        "score": float(held.score_statistic(value) <= 3.841459),
        "profile": float(held.profile_statistic(value) <= 3.841459),
        "error": float(fit.expected_error or math.nan),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="most seconds of one cell")
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    cells = []
    for n in PEOPLE:
        for k in SIZES:
            for epsilon in EPSILONS:
                runs: list[dict[str, float]] = []
                start = time.monotonic()
                while len(runs) < options.runs and time.monotonic() - start < options.seconds:
                    runs.append(one_run(k, epsilon, n, len(runs)))
                determined = sum(run["determined"] for run in runs)
                wald = sum(run["wald"] for run in runs)
                cells.append(
                    {
                        "n": n,
                        "k": k,
                        "epsilon": epsilon,
                        "runs": len(runs),
                        "expected_error": float(np.mean([run["error"] for run in runs])),
                        "determined": determined / len(runs),
                        "wald_of_determined": wald / determined if determined else None,
                        "score": float(np.mean([run["score"] for run in runs])),
                        "profile": float(np.mean([run["profile"] for run in runs])),
                    }
                )
                options.output.write_text(json.dumps({"mechanism": "GRR", "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()

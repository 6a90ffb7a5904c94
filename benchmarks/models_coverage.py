"""How often intervals of coefficients contain the truth: `python -m benchmarks.models_coverage --runs 1000`.

Every run draws covariates, answers and reports anew, and judges the slope of the first column on the last category. Its
column has 13 values, so that equal rows can be fitted together as one row with a frequency; the likelihood, scores and
intervals are those of the single rows. Models are fitted also where `models.fit` would refuse few reports. Cells are
written to docs/results/models_coverage.json as they are done; a cell that takes too long has fewer runs, and says so.
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
from scipy import stats

import deniable as dn
from deniable.core.report_likelihood import ReportIndicators, ReportLikelihood
from deniable.models.building import Material, build_outcome
from deniable.models.fitted import Fit, Source
from deniable.models.formulas import effects_of, parse_formula, plain_columns
from deniable.models.maximising import STARTS, best_of_starts
from deniable.models.problem import RowWeights
from deniable.planning.coefficient_plan import Design, coefficient_error

OUTPUT = Path("docs/results/models_coverage.json")
EPSILONS = (0.5, 1.0, 2.0, 4.0)
SIZES = (2, 5, 16)
PEOPLE = (1_000, 100_000)
VALUES = np.arange(-6, 7) / 2
"""Values of the first column: a normal law in steps of a half."""

Floats = np.ndarray[Any, np.dtype[np.float64]]


def chances_of_values() -> Floats:
    """Return the probability of every value of the first column."""
    edges = np.concatenate([[-np.inf], (VALUES[1:] + VALUES[:-1]) / 2, [np.inf]])
    found: Floats = np.diff(stats.norm.cdf(edges))
    return found


def truth_of(k: int) -> Floats:
    """Return coefficients [k - 1, 3] of an intercept, a normal column and a fair coin."""
    steps = np.arange(1, k) / (k - 1)
    return np.column_stack([-0.5 * steps, 0.5 * steps, 0.5 * (1 - steps) + 0.2])


def shares_at(rows: Floats, beta: Floats) -> Floats:
    """Return the shares of the answers at rows of columns."""
    eta = np.column_stack([np.zeros(len(rows)), rows @ beta.T])
    found: Floats = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    return found


def expected_error_of(k: int, epsilon: float, n: int) -> float:
    """Return the largest expected standard error of a slope per standard deviation, at zero slopes."""
    chances = chances_of_values()
    rows = np.column_stack([np.ones(26), np.repeat(VALUES, 2), np.tile([0.0, 1.0], 13)])
    weights = np.repeat(chances, 2) / 2
    shares = weights @ shares_at(rows, truth_of(k))
    flat = np.zeros((k - 1, 3))
    flat[:, 0] = np.log(shares[1:] / shares[0])
    errors = coefficient_error(dn.GRR(k=k, epsilon=epsilon), n, flat, Design(rows, weights, "13 values and a coin"))
    deviations = np.sqrt(weights @ (rows - weights @ rows) ** 2)
    return float((errors * deviations)[:, 1:].max())


def fit_grouped(survey: dn.Collection, people: pd.DataFrame, codes: Any, expected: float | None = None) -> Fit:
    """Fit `answer ~ x + coin` by likelihood to rows that are put together where they are equal."""
    grouped = people.assign(code=codes).groupby(["x", "coin", "code"]).size().reset_index(name="rows")
    table, counts = grouped[["x", "coin"]], grouped["rows"].to_numpy(dtype=np.float64)
    attribute = survey.schema.columns[0]
    parsed = parse_formula("answer ~ x + coin", ("answer",), ("x", "coin"))
    plain, values = plain_columns(parsed, table)
    reports = grouped["code"].to_numpy()
    likelihood: ReportLikelihood = survey.mechanism.likelihood(reports, [0])
    indicators: ReportIndicators = survey.mechanism.indicators(reports, [0])
    material = Material(
        parsed,
        {"answer": attribute},
        plain,
        values,
        np.empty(0),
        (),
        effects_of(parsed, {"answer": attribute.labels}, plain),
        RowWeights(None, counts),
    )
    model = "logit" if attribute.k == 2 else "multinomial"
    built = build_outcome(material, likelihood, indicators, model, survey.mechanism.listed_likelihood([0]))
    solution, starts = best_of_starts(built.problem, built.start, STARTS)
    source = Source(
        table, len(people), 0, None, False, True, None, survey.privacy(), "", "", "", {"answer": attribute.labels}
    )
    return Fit(parsed, plain, built, solution, starts, source, "sandwich", expected, ())


def drawn(k: int, epsilon: float, n: int, seed: int) -> tuple[dn.Collection, pd.DataFrame, Any]:
    """Return a survey, the plain columns of n people, and their reports."""
    rng = np.random.default_rng([seed, k, n, int(10 * epsilon)])
    people = pd.DataFrame({"x": rng.choice(VALUES, n, p=chances_of_values()), "coin": rng.integers(0, 2, n)})
    shares = shares_at(np.column_stack([np.ones(n), people.x, people.coin]), truth_of(k))
    answers = (rng.random(n)[:, None] > np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1)
    labels = tuple(f"a{code}" for code in range(k))
    survey = dn.Collection(dn.Schema((dn.Attribute("answer", labels),)), dn.GRR(k=k, epsilon=epsilon))
    reports = survey.randomize(answers[:, None], dn.SimulationRandomness(int(rng.integers(1 << 60))))
    return survey, people, reports


def one_run(k: int, epsilon: float, n: int, seed: int, expected: float) -> dict[str, float]:
    """Return what one collection says of the slope of the first column on the last category."""
    survey, people, reports = drawn(k, epsilon, n, seed)
    fit = fit_grouped(survey, people, reports, expected)
    value = truth_of(k)[-1, 1]
    place = list(fit.names).index("x" if k == 2 else f"a{k - 1}: x")
    error = float(fit.bse.iloc[place])
    known = math.isfinite(error)
    wald = known and abs(float(fit.params.iloc[place]) - value) <= 1.959964 * error
    held = fit._fixed(place)
    score = held.score_statistic(value) <= 3.841459
    return {
        "determined": float(known),
        "wald": float(wald),
        "score": float(score),
        "profile": float(held.profile_statistic(value) <= 3.841459),
        "shown": float(wald if fit.interval_kind == "wald" else score),
        "shown_wald": float(fit.interval_kind == "wald"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="most seconds of one cell")
    parser.add_argument("--people", type=int, nargs="*", default=PEOPLE)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--epsilons", type=float, nargs="*", default=EPSILONS)
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    # Cells that are not asked for stay as they are.
    found: list[dict[str, Any]] = json.loads(options.output.read_text())["cells"] if options.output.exists() else []
    cells = {(cell["n"], cell["k"], cell["epsilon"]): cell for cell in found}
    for n in options.people:
        for k in options.sizes:
            for epsilon in options.epsilons:
                expected = expected_error_of(k, epsilon, n)
                runs: list[dict[str, float]] = []
                start = time.monotonic()
                while len(runs) < options.runs and time.monotonic() - start < options.seconds:
                    runs.append(one_run(k, epsilon, n, len(runs), expected))
                determined = sum(run["determined"] for run in runs)

                def mean(name: str, runs: list[dict[str, float]] = runs) -> float:
                    return float(np.mean([run[name] for run in runs]))

                cells[n, k, epsilon] = {
                    "n": n,
                    "k": k,
                    "epsilon": epsilon,
                    "runs": len(runs),
                    "expected_error": round(expected, 4),
                    "determined": mean("determined"),
                    "shown": mean("shown"),
                    "shown_wald": mean("shown_wald"),
                    "wald_of_determined": sum(run["wald"] for run in runs) / determined if determined else None,
                    "score": mean("score"),
                    "profile": mean("profile"),
                }
                result = {
                    "mechanism": "GRR",
                    "slope": "first column on the last category",
                    "cells": [cells[place] for place in sorted(cells)],
                }
                options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Measure how often intervals of coefficients contain the truth: `python -m benchmarks.models_coverage --runs 1000`.

Each run draws columns, answers and reports anew, and checks the slope of the first column for the last category. The
first column has 13 values, so that equal rows can be fitted as one row with a frequency. The likelihood, scores and
intervals are the same as for single rows. Models are fitted even if `models.fit` would refuse so few reports.

Cells take turns, a few runs at a time, and each is written to its own file after each turn. `--collect` combines the
files. A run depends only on its cell and number, so that an interrupted cell can be continued.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

import deniable as dn
from deniable.models.building import Built, Material, build_outcome
from deniable.models.fitted import MOST_ERROR, Fit, Source
from deniable.models.formulas import effects_of, parse_formula, plain_columns
from deniable.models.maximising import best_of_starts, maximise
from deniable.models.problem import MixtureProblem, RowWeights
from deniable.planning.coefficient_plan import Design, coefficient_error

OUTPUT = Path("docs/results/models_coverage.json")
EPSILONS = (0.5, 1.0, 2.0, 4.0)
SIZES = (2, 5, 16)
PEOPLE = (1_000, 100_000)
VALUES = np.arange(-6, 7) / 2
"""Values of the first column: a normal distribution rounded to multiples of a half."""

CRITICAL = 3.841458820694124
"""The 95% point of chi-squared with one degree of freedom."""

_BOTH = len(VALUES) * 2
_EXTRA_STARTS = 8

Floats = np.ndarray[Any, np.dtype[np.float64]]


def chances_of_values() -> Floats:
    """Return the probability of each value of the first column."""
    edges = np.concatenate([[-np.inf], (VALUES[1:] + VALUES[:-1]) / 2, [np.inf]])
    found: Floats = np.diff(stats.norm.cdf(edges))
    return found


def rows_of_values() -> Floats:
    """Return the 26 different rows of an intercept, the first column and the coin."""
    return np.column_stack([np.ones(_BOTH), np.repeat(VALUES, 2), np.tile([0.0, 1.0], len(VALUES))])


def truth_of(k: int) -> Floats:
    """Return the true coefficients [k - 1, 3] of an intercept, a normal column and a fair coin."""
    steps = np.arange(1, k) / (k - 1)
    return np.column_stack([-0.5 * steps, 0.5 * steps, 0.5 * (1 - steps) + 0.2])


def shares_at(rows: Floats, beta: Floats) -> Floats:
    """Return the shares of the answers, given rows of columns."""
    eta = np.column_stack([np.zeros(len(rows)), rows @ beta.T])
    found: Floats = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    return found


def expected_error_of(k: int, epsilon: float, n: int) -> float:
    """Return the largest expected standard error of a slope per standard deviation, at zero slopes."""
    rows, weights = rows_of_values(), np.repeat(chances_of_values(), 2) / 2
    shares = weights @ shares_at(rows, truth_of(k))
    flat = np.zeros((k - 1, 3))
    flat[:, 0] = np.log(shares[1:] / shares[0])
    errors = coefficient_error(dn.GRR(k=k, epsilon=epsilon), n, flat, Design(rows, weights, "13 values and a coin"))
    deviations = np.sqrt(weights @ (rows - weights @ rows) ** 2)
    return float((errors * deviations)[:, 1:].max())


class Cell:
    """One setting of k, epsilon and number of people, with the models of its grouped rows.

    Parameters
    ----------
    k : int
        Number of answers.
    epsilon : float
        Budget of a report.
    n : int
        Number of people.
    """

    def __init__(self, k: int, epsilon: float, n: int) -> None:
        self.k, self.epsilon, self.n = k, epsilon, n
        labels = tuple(f"a{code}" for code in range(k))
        self.survey = dn.Collection(dn.Schema((dn.Attribute("answer", labels),)), dn.GRR(k=k, epsilon=epsilon))
        attribute, mechanism = self.survey.schema.columns[0], self.survey.mechanism
        self.table = pd.DataFrame({"x": np.repeat(VALUES, 2 * k), "coin": np.tile(np.repeat([0, 1], k), len(VALUES))})
        self.parsed = parse_formula("answer ~ x + coin", ("answer",), ("x", "coin"))
        self.plain, values = plain_columns(self.parsed, self.table)
        codes = np.tile(np.arange(k), _BOTH)
        self.indicators = mechanism.indicators(codes, [0])
        effects = effects_of(self.parsed, {"answer": attribute.labels}, self.plain)
        material = Material(
            self.parsed, {"answer": attribute}, self.plain, values, np.empty(0), (), effects, RowWeights()
        )
        model, listed = "logit" if k == 2 else "multinomial", mechanism.listed_likelihood([0])
        self.built = build_outcome(material, mechanism.likelihood(codes, [0]), self.indicators, model, listed)
        self.expected = expected_error_of(k, epsilon, n)
        self.value = float(truth_of(k)[-1, 1])
        self.place = list(self.built.parameters.names).index("x" if k == 2 else f"a{k - 1}: x")

    def counts(self, number: int) -> Floats:
        """Return how often a run drew each grouped row: people, their answers, their reports."""
        rng = np.random.default_rng([number, self.k, self.n, int(10 * self.epsilon)])
        people = rng.multinomial(self.n, np.repeat(chances_of_values(), 2) / 2)
        answers = [rng.multinomial(count, own) for count, own in zip(people, self.shares(), strict=True)]
        codes = np.concatenate([np.repeat(np.arange(self.k), own) for own in answers])
        groups = np.repeat(np.arange(_BOTH), people)
        reports = self.survey.randomize(codes[:, None], dn.SimulationRandomness(int(rng.integers(1 << 60))))
        return np.bincount(groups * self.k + np.ravel(reports), minlength=_BOTH * self.k).astype(np.float64)

    def shares(self) -> Floats:
        """Return the true shares of the answers for each of the 26 rows."""
        return shares_at(rows_of_values(), truth_of(self.k))

    def fit(self, counts: Floats) -> Fit:
        """Fit `answer ~ x + coin` by likelihood."""
        built, problem = self.built, self.built.problem
        assert isinstance(problem, MixtureProblem)
        counted: Built = replace(built, problem=replace(problem, weights=RowWeights(None, counts)))
        shares = np.clip(counts @ self.indicators.values / counts.sum(), 0.01, 0.99)
        start = np.zeros((self.k - 1, 3))
        start[:, self.plain.intercept or 0] = np.log(shares[1:] / shares[0])
        solution, starts = best_of_starts(counted.problem, start.ravel())
        source = Source(
            self.table,
            self.n,
            0,
            None,
            False,
            True,
            None,
            self.survey.privacy(),
            "",
            "",
            "",
            {"answer": self.survey.schema.columns[0].labels},
        )
        return Fit(self.parsed, self.plain, counted, solution, starts, source, "sandwich", self.expected, ())

    def run(self, number: int) -> dict[str, float]:
        """Return the results of one collection for the slope of the first column and the last category."""
        fit = self.fit(self.counts(number))
        error = float(np.sqrt(np.diag(fit.cov_params().to_numpy())[self.place]))
        wald = (
            math.isfinite(error) and abs(float(fit.params.iloc[self.place]) - self.value) <= math.sqrt(CRITICAL) * error
        )
        held = fit._fixed(self.place)
        score = held.score_statistic(self.value) <= CRITICAL
        profile = held.profile_statistic(self.value)
        kind = "wald" if math.isfinite(error) and fit.largest_error <= 0.3 else "score"
        # Only the slope that is judged is checked. All slopes of 16 answers would take a hundred times as long.
        closed = math.isfinite(error) and (kind == "wald" or all(held.closes(side, CRITICAL) for side in (-1, 1)))
        return {
            "found": float(fit.converged),
            "closed": float(closed),
            "wald": float(wald),
            "score": float(score),
            "profile": float(profile <= CRITICAL),
            "shown": float(wald if kind == "wald" else score),
            "shown_wald": float(kind == "wald"),
            "agree": float(fit.starts.agree == fit.starts.tried),
        }


def profile_again(cell: Cell, number: int) -> tuple[float, float]:
    """Return the profile statistic of a run, and the same statistic with more starting points for both maxima.

    A difference shows that the search misses a maximum.
    """
    fit = cell.fit(cell.counts(number))
    held = fit._fixed(cell.place)
    simple = held.profile_statistic(cell.value)
    rng = np.random.default_rng(number)
    free = fit._solution.evaluation.value
    fixed = held.at(cell.value)[1]
    for _ in range(_EXTRA_STARTS):
        start = fit._built.start + rng.normal(0, 1.0, len(fit._built.start))
        free = max(free, maximise(fit._built.problem, start).evaluation.value)
        moved = np.asarray(np.linalg.solve(held.back, start), dtype=np.float64)
        moved[held.place] = cell.value
        fixed = max(fixed, maximise(held.moved, moved, held.free, held.scale).evaluation.value)
    return simple, 2 * (free - fixed)


def summary_of(cell: dict[str, Any], runs: list[dict[str, float]]) -> dict[str, Any]:
    """Return shares over the runs of a cell."""
    found = [run for run in runs if run["found"]]

    def mean(name: str, own: list[dict[str, float]]) -> float | None:
        return float(np.mean([run[name] for run in own])) if own else None

    return {
        **cell,
        "runs": len(runs),
        "refused": cell["expected_error"] > MOST_ERROR,
        "maximum_found": mean("found", runs),
        "closed": mean("closed", runs),
        "shown": mean("shown", runs),
        "shown_wald": mean("shown_wald", runs),
        "wald_of_found": mean("wald", found),
        "score": mean("score", runs),
        "profile": mean("profile", runs),
        "starts_agree": mean("agree", runs),
    }


def _place(folder: Path, cell: Cell) -> Path:
    return folder / f"n{cell.n}-k{cell.k}-e{cell.epsilon:g}.json"


def _write(path: Path, document: Any) -> None:
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps(document) + "\n")
    partial.replace(path)


def collect(folder: Path, output: Path) -> None:
    """Combine the files of all cells."""
    documents = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    cells = [summary_of(one["cell"], one["runs"]) for one in documents]
    cells.sort(key=lambda cell: (cell["n"], cell["k"], cell["epsilon"]))
    result = {"mechanism": "GRR", "slope": "first column on the last category", "cells": cells}
    output.write_text(json.dumps(result, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder where the cells are written")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="largest number of seconds in all")
    parser.add_argument("--turn", type=float, default=10.0, help="seconds of one turn of a cell")
    parser.add_argument("--people", type=int, nargs="*", default=PEOPLE)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--epsilons", type=float, nargs="*", default=EPSILONS)
    parser.add_argument("--collect", action="store_true", help="only combine the files")
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    if options.collect:
        collect(options.folder, options.output)
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    waiting = [Cell(k, epsilon, n) for n in options.people for k in options.sizes for epsilon in options.epsilons]
    begin = time.monotonic()
    while waiting and time.monotonic() - begin < options.seconds:
        for cell in tuple(waiting):
            path, start = _place(options.folder, cell), time.monotonic()
            runs = json.loads(path.read_text())["runs"] if path.exists() else []
            while len(runs) < options.runs and time.monotonic() - start < options.turn:
                runs.append(cell.run(len(runs)))
            about = {"n": cell.n, "k": cell.k, "epsilon": cell.epsilon, "expected_error": round(cell.expected, 4)}
            _write(path, {"cell": about, "runs": runs})
            if len(runs) >= options.runs:
                waiting.remove(cell)


if __name__ == "__main__":
    main()

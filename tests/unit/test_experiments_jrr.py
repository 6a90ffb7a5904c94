from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.harness import Cell
from experiments.jrr import sweeps
from experiments.jrr.__main__ import MODULES
from experiments.jrr.attackers import ADVERSARIES, equivalent, learned
from experiments.jrr.datasets import record_errors
from experiments.jrr.methods import (
    METHODS,
    build,
    count_variance,
    errors,
    estimated_counts,
    relative_errors,
    setting,
    z_of,
)
from experiments.jrr.paper import DATASETS, PAPER, expected
from experiments.jrr.underperformance import underperformance

from deniable import GRR, SimulationRandomness
from deniable.joint.jrr import JRR

FOLDER = Path(sweeps.__file__).parent


def test_every_experiment_is_described() -> None:
    assert MODULES
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert list(PAPER.experiments)[-1] == "real-records", "what needs data comes last"
    for name in PAPER.experiments:
        assert f"`{name}`" in text, name


@pytest.mark.parametrize("entry", expected()["second_implementation"]["table3"], ids=lambda one: f"{one['dataset']}")
def test_closed_forms_are_a_second_implementations(entry: dict[str, Any]) -> None:
    one = setting(entry["n"], entry["n1"], entry["eps"], entry["M"])
    for key, method in (("mse_rr", "RR"), ("mse_alg1", "JRR, Algorithm 1"), ("mse_opt_exact", "JRR, optimum")):
        assert count_variance(build(method, one), one["n"], one["count"]) == pytest.approx(entry[key], rel=1e-9)


def test_rr_is_randomised_response() -> None:
    one = setting(10_000, 500, 1.0)
    assert count_variance(build("RR", one), 10_000, 500) == pytest.approx(
        GRR(2, 1.0).variance(0.05, 1) * 10_000, rel=1e-9
    )


# Five methods, each by two ways of drawing: a family of ten at 1e-6 in all, two-sided, normal.
BOUND = 5.33


@pytest.mark.parametrize("method", METHODS)
def test_what_is_drawn_is_what_contributors_do(method: str) -> None:
    one: Cell = {**setting(400, 60, 1.0), "method": method, "runs": 2000, "seed": 1}
    mechanism = build(method, one)
    assert abs(z_of({**one, **errors(one)})) < BOUND
    answers = np.repeat([0, 1], [340, 60])
    squares = record_errors(mechanism, answers, 2000, SimulationRandomness(2)) ** 2
    theory = count_variance(mechanism, 400, 60)
    assert abs(squares.mean() / theory - 1) * math.sqrt(1000) < BOUND


def test_a_deal_without_correlation_would_be_seen() -> None:
    # JRR whose dealer hands out independent signs is RR with the same p: its MSE is outside the bound above.
    mechanism = build("JRR, optimum", setting(400, 12, 0.5))
    broken = JRR(mechanism.p, 0.0, 400)
    estimates = estimated_counts(broken, 400, 12, 2000, SimulationRandomness(3))
    ratio = float(((estimates - 12) ** 2).mean()) / count_variance(mechanism, 400, 12)
    assert abs(ratio - 1) * math.sqrt(1000) > BOUND


def test_relative_errors_are_means_over_the_values_that_occur() -> None:
    found = relative_errors(np.array([30.0, 15.0]), 100, 20)
    np.testing.assert_allclose(found, [(10 / 20 + 10 / 80) / 2, (5 / 20 + 5 / 80) / 2], rtol=1e-15)
    np.testing.assert_allclose(relative_errors(np.array([90.0]), 100, 100), [0.1], rtol=1e-15)


@pytest.mark.parametrize(("epsilon", "excess"), [(0.001, 1.8), (0.01, 0.085), (0.1, 0.008), (1.0, 0.0011)])
def test_the_excess_at_one_half_is_not_below_1e_4(epsilon: float, excess: float) -> None:
    assert underperformance("JRR, Algorithm 1", 10_000, epsilon)["RI"] == pytest.approx(excess, rel=0.05)


@pytest.mark.parametrize(("epsilon", "width"), [(0.01, 1.0), (0.1, 0.46), (1.0, 0.20)])
def test_the_range_on_which_jrr_loses_is_not_below_3_percent(epsilon: float, width: float) -> None:
    assert underperformance("JRR, Algorithm 1", 1_000, epsilon)["R"] == pytest.approx(width, abs=0.006)


def test_the_range_is_where_the_closed_forms_cross() -> None:
    n, width = 10_000, underperformance("JRR, Algorithm 1", 10_000, 0.1)["R"]
    one = setting(n, n // 2, 0.1)
    for share, worse in ((0.5 + 0.49 * width, True), (0.5 + 0.51 * width, False)):
        jrr, plain = (count_variance(build(name, one), n, round(share * n)) for name in ("JRR, Algorithm 1", "RR"))
        assert (jrr > plain) == worse


def test_quota_rr_never_loses_to_rr() -> None:
    assert underperformance("quota RR", 10_000, 0.1)["R"] == 0.0
    for name, (n, count) in DATASETS.items():
        one = setting(n, count, 0.1)
        assert count_variance(build("quota RR", one), n, count) < count_variance(build("RR", one), n, count), name


@pytest.mark.parametrize(("epsilon", "really"), [(0.01, 1.34), (0.1, 0.338), (0.5, 0.571), (1.0, 1.035)])
def test_what_is_learned_with_everybody_elses_data(epsilon: float, really: float) -> None:
    found = learned(build("JRR, optimum", setting(10_000, 0, epsilon)), 0.05)
    assert found[ADVERSARIES[3]] == pytest.approx(really, abs=0.006)
    assert found[ADVERSARIES[1]] <= epsilon * (1 + 1e-12)
    assert found[ADVERSARIES[4]] == math.inf
    quota = learned(build("quota RR", setting(10_000, 0, epsilon)), 0.05)
    assert max(quota[name] for name in ADVERSARIES[:4]) == pytest.approx(epsilon, rel=1e-12)


def test_rr_of_equal_strength() -> None:
    assert equivalent(1.0, 10_000) == pytest.approx(9207, rel=1e-3)
    assert equivalent(math.inf, 10_000) == 0.0


@pytest.mark.parametrize(("epsilon", "first"), [(0.01, 17), (0.1, 152), (1.0, 775)])
def test_jrr_is_not_better_for_every_coalition(epsilon: float, first: int) -> None:
    def worse(ratio: float) -> bool:
        return ratio > 1

    found = sweeps.first_coalition("JRR, Algorithm 1", epsilon, worse)
    assert found == first
    for m, answer in ((first - 1, False), (first, True)):
        one = setting(10_000, 1_000, epsilon, m)
        jrr, plain = (count_variance(build(name, one), 10_000, 1_000) for name in ("JRR, Algorithm 1", "RR"))
        assert (jrr > plain) == answer


def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "SHARES", (0.1,))
    monkeypatch.setattr(sweeps, "CONTRIBUTORS", (10_000,))
    monkeypatch.setattr(sweeps, "BUDGETS", (0.1, 1.0))
    monkeypatch.setattr(sweeps, "SIZES", (20, 2_000))
    monkeypatch.setattr(sweeps, "COALITIONS", (0, 5, 9_999))


@pytest.mark.parametrize("name", [name for name in PAPER.experiments if name != "real-records"])
def test_experiments_write_tables_and_pictures(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _small(monkeypatch)
    PAPER.run(name, tmp_path, runs=3)
    written = {path.suffix for path in (tmp_path / "jrr").iterdir() if path.name.startswith(name)}
    assert {".csv", ".png"} <= written


def test_real_answers_have_the_papers_counts() -> None:
    import os

    if not os.environ.get("DENIABLE_DATA"):
        pytest.skip("set DENIABLE_DATA to the directory of the data sets")
    from experiments.jrr.datasets import real_answers

    answers = real_answers()
    shop = answers.pop("E-commerce")
    assert (len(shop), int(shop.sum())) == DATASETS["E-commerce"]
    ((name, visits),) = answers.items()
    assert name == "Kosarak, page 294"
    assert (len(visits), int(visits.sum())) == (20_000, 669)


def test_numbers_to_compare_with_are_complete() -> None:
    numbers = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
    assert len(numbers["second_implementation"]["table3"]) == 12
    assert {claim["id"] for claim in numbers["claims"]} >= {"3a-0.01", "3c-1", "4a"}

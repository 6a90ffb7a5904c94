"""The experiments' alternatives are as published, and the tables have the properties that the page states."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.answers.mean_mechanisms import (
    MEANS,
    deviation,
    duchi,
    grr_scores,
    hybrid,
    piecewise,
    rounded,
    subset_scores,
)
from experiments.answers.ordered import HELD_OUT, cover, ems, errors_of, padding_wins
from experiments.answers.ordered_data import SCALES, invented
from experiments.answers.paper import PAPER
from scipy import integrate

from deniable import GRR, SimulationRandomness, SubsetSelection
from deniable.oracles import SquareWave


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("t", [-1.0, 0.0, 0.3])
def test_variances_are_those_of_the_published_laws(epsilon: float, t: float) -> None:
    at = np.array([t])
    # Duchi's report is +-C with P(C) = (e^eps - 1) t/(2 (e^eps + 1)) + 1/2.
    size = (math.exp(epsilon) + 1) / math.expm1(epsilon)
    up = t / (2 * size) + 0.5
    mean = size * (2 * up - 1)
    assert mean == pytest.approx(t)
    assert duchi(epsilon, at)[0] == pytest.approx(size**2 - mean**2)
    # The piecewise mechanism has density p on [l, r] with r - l = C - 1, and p/e^eps elsewhere in [-C, C].
    half = math.exp(epsilon / 2)
    c = (half + 1) / (half - 1)
    left = (c + 1) / 2 * t - (c - 1) / 2
    p = (half**2 - half) / (2 * half + 2)

    def density(x: float) -> float:
        return p if left <= x <= left + c - 1 else p / half**2

    moments = [
        integrate.quad(lambda x, m=m: x**m * density(x), -c, c, points=[left, left + c - 1])[0] for m in (0, 1, 2)
    ]
    assert moments[:2] == pytest.approx([1, t], abs=1e-9)
    assert piecewise(epsilon, at)[0] == pytest.approx(moments[2] - t**2, rel=1e-8)
    share = 1 - 1 / half if epsilon > 0.61 else 0.0
    assert hybrid(epsilon, at)[0] == pytest.approx(
        share * piecewise(epsilon, at)[0] + (1 - share) * duchi(epsilon, at)[0]
    )


def test_scores_of_randomized_response_vary_as_its_channel_says() -> None:
    grr, scores = GRR(5, 1.0), np.linspace(-1, 1, 5)
    weights = np.linalg.solve(grr.channel(), scores)
    assert grr_scores(5, 1.0) == pytest.approx(grr.channel() @ weights**2 - scores**2)


def test_scores_of_subsets_vary_as_their_channel_says() -> None:
    oracle, scores = SubsetSelection(5, 1.0), np.linspace(-1, 1, 5)
    one = np.array(
        [oracle.estimate(oracle.aggregate(report[None])).frequencies @ scores for report in oracle.outputs()]
    )
    assert subset_scores(5, 1.0) == pytest.approx(oracle.channel() @ one**2 - scores**2)


def test_rounding_at_random_adds_no_bias_and_its_own_variance() -> None:
    variances = np.array([1.0, 2.0, 3.0])
    answers, between = rounded(variances, 2)
    assert answers.tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    # Half of the time the value is -1, else 0. The variance is the mean of the variances, and a quarter between the two
    # values.
    assert between.tolist() == [1.0, 1.5 + 0.25, 2.0, 2.5 + 0.25, 3.0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SquareWave", [(2.00, 2.00), (1.00, 1.00), (0.51, 0.45), (0.19, 0.17)]),
        ("SquareWave, paper's window", [(2.26, 2.15), (1.12, 1.02), (0.55, 0.47), (0.33, 0.25)]),
        ("Hybrid", [(2.04, 2.02), (1.04, 1.04), (0.51, 0.51), (0.23, 0.23)]),
        ("Piecewise", [(2.30, 2.18), (1.14, 1.03), (0.55, 0.47), (0.25, 0.19)]),
        ("Duchi", [(2.04, 2.02), (1.08, 1.04), (0.66, 0.58), (0.52, 0.42)]),
    ],
)
def test_the_noise_of_a_mean_is_that_of_independent_code(name: str, expected: list[tuple[float, float]]) -> None:
    """The independent code prints two digits."""
    for epsilon, (worst, uniform) in zip((0.5, 1.0, 2.0, 4.0), expected, strict=True):
        found = deviation(MEANS[name](16, epsilon))
        assert found == pytest.approx({"worst": worst, "uniform": uniform}, abs=0.006)


def _table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "answers" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_mean_is_nearly_hybrids_on_short_scales_and_better_on_long_ones(tmp_path: Path) -> None:
    PAPER.run("mean-hybrid", tmp_path)
    short, long = _table(tmp_path, "mean-hybrid-largest")
    assert float(short["uniform answers"]) <= 1.07
    assert float(long["uniform answers"]) <= 1.0
    assert float(long["uniform codes"]) <= 1.0
    assert len(_table(tmp_path, "mean-hybrid")) == 13 * 4


def test_padding_wins_where_there_are_many_boxes_and_few_ticks() -> None:
    """At epsilon 1, from about 4 c^2 options on."""
    for c, least, most in ((1, 2, 4), (2, 10, 16), (3, 25, 36)):
        assert not padding_wins(least - 1 if c > 1 else 2, c, "1") or c == 1
        assert padding_wins(most, c, "1")


def test_ems_is_em_with_a_smoothing_step_and_keeps_a_uniform_truth() -> None:
    wave = SquareWave(8, 2.0)
    flat = wave.simulate_aggregate(np.full(8, 2_000_000), SimulationRandomness(1))
    assert ems(wave, flat) == pytest.approx(np.full(8, 0.125), abs=0.01)
    spike = wave.simulate_aggregate(np.array([0, 0, 0, 100_000, 0, 0, 0, 0]), SimulationRandomness(1))
    found = ems(wave, spike)
    assert found.sum() == pytest.approx(1)
    assert found[3] < 0.6  # this is its known property


def test_errors_are_in_units_of_the_range_and_of_shares() -> None:
    truth, moved = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5])
    found = errors_of(moved, truth)
    assert found["W1"] == pytest.approx(0.5)
    assert found["cells"] == pytest.approx(1 / 6)
    # Quartiles of the moved distribution are its codes 1, 1, 2, which cover the true shares .5-1, .5-1, 1-1.
    assert found["quantiles"] == pytest.approx((0.25 + 0.0 + 0.25) / 3)
    assert errors_of(truth, truth) == {"W1": 0.0, "cells": 0.0, "quantiles": 0.0}


def test_intervals_of_an_invented_scale_cover() -> None:
    cell: dict[str, Any] = {"epsilon": 1.0, "n": 2000, "runs": 150, "seed": 1}
    found = cover(cell, invented(7))
    # The bound is four standard deviations of 150 draws below the level. Bands and quartiles contain the truth more
    # often.
    least = 0.95 - 4 * math.sqrt(0.95 * 0.05 / 150)
    assert all(found[name] >= least for name in found if name != "quartiles' width"), found
    assert 0 < found["quartiles' width"] < 1


def test_ten_scales_are_held_out_at_nine_settings_each() -> None:
    assert len({scale.label for scale in SCALES}) == 10
    assert [scale.k for scale in SCALES if scale.k <= 8] == [5, 6, 5, 7]
    assert HELD_OUT == {"epsilons": (0.7, 1.5, 3.0), "ns": (2_000, 20_000, 200_000)}

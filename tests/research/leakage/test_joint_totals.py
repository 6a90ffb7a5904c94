"""Totals of a joint distribution: closed forms, and enumeration of all outputs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable import GRR
from deniable.errors import InvalidInputError, InvalidParameterError, TooLargeError
from deniable.leakage.prior.distributions import merged_channel
from deniable.leakage.totals.total import ADDITIVE_LABEL
from deniable.research.leakage import exact_totals, total_leakage
from tests.unit.leakage.leakage_laws import (
    enumerated_joint_cpl,
    enumerated_total,
    hidden_among,
    random_joint,
    small_mechanisms,
)

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "cpl.json").read_text())

XOR = np.zeros((2, 2, 2))

XOR[0, 0, 0] = XOR[0, 1, 1] = XOR[1, 0, 1] = XOR[1, 1, 0] = 0.25


@pytest.mark.parametrize("vector", VECTORS["tpl"], ids=lambda v: f"{v['name']}-{v['mech']}-{v['eps']}")
def test_known_answers(vector: dict[str, Any]) -> None:
    assert vector["mech"] == "grr"
    joint = np.array(vector["joint_flat"]).reshape(vector["shape"])
    target = vector["target"]
    found = total_leakage(joint, [GRR(k=k, epsilon=vector["eps"]) for k in vector["shape"]])
    assert found.exact[target] == pytest.approx(vector["tpl"], abs=1e-12)
    assert found.joint_cpl[target] == pytest.approx(vector["joint_cpl"], abs=1e-12)
    assert found.direct[target] == pytest.approx(vector["dpl"], abs=1e-12)
    assert found.direct[target] + found.joint_cpl[target] == pytest.approx(vector["dpl_plus_joint"], abs=1e-12)
    for source, expected in vector["cpl"].items():
        assert found.pairwise[target, int(source)] == pytest.approx(expected, abs=1e-12)
    assert found.additive_figure_not_a_bound[target] == pytest.approx(vector["additive"], abs=1e-12)
    assert (vector["tpl"] <= vector["additive"] + 1e-9) is vector["additive_holds"]
    assert found.prior_free_bound == pytest.approx(vector["spl"], abs=1e-12)


def test_exclusive_or_in_closed_form() -> None:
    found = total_leakage(XOR, [GRR(k=2, epsilon=1.0)] * 3)
    assert found.exact == pytest.approx([1.4337808304830272] * 3, abs=1e-12)  # this is 1 + ln cosh 1
    assert found.additive_figure_not_a_bound == pytest.approx([1.0] * 3, abs=1e-12)


@pytest.mark.parametrize(("n", "epsilon"), [(2, 0.5), (3, 2.0), (10, 1.0), (20, 1.0)])
def test_pairwise_harmless_neighbours_that_reveal_together(n: int, epsilon: float) -> None:
    joint = hidden_among(n)
    mechanisms = [GRR(k=2, epsilon=epsilon)] * (n + 1)
    exact = exact_totals(joint, mechanisms)
    assert exact[0] - epsilon == pytest.approx(math.log(1 - 1 / n + math.exp(n * epsilon) / n) - epsilon, abs=1e-10)
    if n < 20:  # for 21 binary attributes only the exact totals are computed
        pairs = total_leakage(joint, mechanisms).pairwise[0]
        assert np.abs(pairs).max() < 1e-12  # every single neighbour is independent of the target


@pytest.mark.parametrize("seed", range(12))
def test_against_enumeration_of_all_outputs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [(2, 3), (3, 2, 2), (2, 2, 2, 2), (4, 2, 3)][seed % 4]
    joint = random_joint(rng, sizes, zeros=0.3 if seed % 2 else 0.0)
    mechanisms = []
    for k in sizes:
        offered = small_mechanisms(k, round(float(rng.uniform(0.1, 2.5)), 3))
        if len(sizes) > 2:  # the loops of the enumeration go through every output
            offered = {name: offered[name] for name in ("GRR", "Exponential", "SubsetSelection", "OUE")}
        mechanisms.append(offered[str(rng.choice(list(offered)))])
    channels = [np.asarray(mechanism.channel()) for mechanism in mechanisms]
    while math.prod(channel.shape[1] for channel in channels) > 3000:
        mechanisms[int(np.argmax([channel.shape[1] for channel in channels]))] = None
        mechanisms = [GRR(k, 1.0) if one is None else one for k, one in zip(sizes, mechanisms, strict=True)]
        channels = [np.asarray(mechanism.channel()) for mechanism in mechanisms]
    found = total_leakage(joint, mechanisms)
    for target in range(len(sizes)):
        others = [j for j in range(len(sizes)) if j != target]
        assert found.exact[target] == pytest.approx(enumerated_total(joint, channels, target), abs=1e-10)
        assert found.joint_cpl[target] == pytest.approx(
            enumerated_joint_cpl(joint, channels, target, others), abs=1e-10
        )
        for source in others:
            assert found.pairwise[target, source] == pytest.approx(
                enumerated_joint_cpl(joint, channels, target, [source]), abs=1e-10
            )
    assert exact_totals(joint, channels) == pytest.approx(found.exact, abs=1e-12)


@pytest.mark.parametrize("name", ["GRR", "Exponential", "SubsetSelection", "OUE", "SUE", "THE", "RAPPOR", "SHE", "BLH"])
def test_every_mechanism_against_enumeration(name: str) -> None:
    rng = np.random.default_rng(5)
    joint = random_joint(rng, (3, 2), zeros=0.2)
    mechanisms = [small_mechanisms(3, 1.3)[name], GRR(k=2, epsilon=0.7)]
    channels = [np.asarray(mechanism.channel()) for mechanism in mechanisms]
    found = exact_totals(joint, mechanisms)
    for target in range(2):
        assert found[target] == pytest.approx(enumerated_total(joint, channels, target), abs=1e-10)


def test_a_channel_with_zeros_reveals_everything() -> None:
    found = total_leakage([[0.4, 0.1], [0.1, 0.4]], [np.eye(2), GRR(k=2, epsilon=1.0)])
    assert found.exact[0] == math.inf
    assert found.exact[1] == pytest.approx(1 + math.log(4), abs=1e-12)
    # These are two noiseless attributes that can exclude each other's values.
    found = total_leakage([[0.5, 0.0], [0.2, 0.3]], [np.eye(2), np.eye(2)])
    assert (found.exact == math.inf).all()


def test_a_long_binary_chain_in_closed_form() -> None:
    flip = np.array([[0.95, 0.05], [0.05, 0.95]])
    joint = np.array([0.5, 0.5])
    for _ in range(13):
        joint = joint[..., None] * flip
    found = exact_totals(joint, [GRR(k=2, epsilon=0.5)] * 14)
    # By hand, the message along a binary chain is a Moebius map of the likelihood ratio.
    message, passed = 0.0, []
    for _ in range(14):
        passed.append(message)
        ratio = math.exp(0.5 + message)
        message = math.log((0.95 * ratio + 0.05) / (0.05 * ratio + 0.95))
    assert found == pytest.approx([0.5 + passed[i] + passed[13 - i] for i in range(14)], abs=1e-10)


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 10_000), st.integers(0, 2), st.floats(0.01, 3), st.floats(0.01, 3))
def test_totals_rise_with_every_epsilon(seed: int, attribute: int, first: float, second: float) -> None:
    joint = random_joint(np.random.default_rng(seed), (2, 3, 2), zeros=0.2)
    budgets = [1.0, 0.5, 2.0]
    low, high = sorted((first, second))
    small, large = (
        exact_totals(
            joint,
            [
                GRR(k=k, epsilon=value if j == attribute else e)
                for j, (k, e) in enumerate(zip((2, 3, 2), budgets, strict=True))
            ],
        )
        for value in (low, high)
    )
    assert (small <= large + 1e-12).all()
    assert (large <= sum(budgets) - budgets[attribute] + high + 1e-12).all()
    assert large[attribute] >= high - 1e-12  # the bound is never less than the direct leakage


def test_the_rendering_names_the_additive_figure_for_what_it_is() -> None:
    text = str(total_leakage(XOR, [GRR(k=2, epsilon=1.0)] * 3))
    assert text.splitlines()[0] == (
        "attribute 0  total 1.4338 (exact)  direct 1.0000  others 0.4338  additive figure (not a bound) 1.0000"
    )
    assert text.splitlines()[-1] == "for any joint distribution at most 3.0000 (upper bound)"
    assert text.count(ADDITIVE_LABEL) == text.count("additive") == 3
    assert "Bald " in total_leakage(XOR, [GRR(k=2, epsilon=1.0)] * 3).text(["Bald", "Male", "Young"])


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        ([[0.5, 0.5], [0.0, 0.0]], "category 1 of attribute 0 has the probability 0"),
        ([[0.5, -0.1], [0.3, 0.3]], r"joint must be >= 0, got -0.1 at \(0, 1\)"),
        ([[0.5, 0.1], [0.3, 0.3]], "joint must sum to one within 1e-09, got 1.2"),
        ([[math.nan, 0.1], [0.3, 0.3]], "joint must contain"),
        ([[], []], "joint must contain at least one number"),
    ],
)
def test_bad_joints_are_named(joint: Any, message: str) -> None:
    for function in (total_leakage, exact_totals):
        with pytest.raises(InvalidInputError, match=message):
            function(joint, [GRR(k=2, epsilon=1.0)] * 2)


def test_bad_mechanisms_are_named() -> None:
    joint = np.full((2, 3), 1 / 6)
    with pytest.raises(InvalidInputError, match=r"one entry for each of the 2 attributes, got 1"):
        total_leakage(joint, [GRR(k=2, epsilon=1.0)])
    with pytest.raises(
        InvalidInputError,
        match="mechanisms\\[1\\] must have 3 possible answers, got 2: axis 1 of joint has 3 categories",
    ):
        total_leakage(joint, [GRR(k=2, epsilon=1.0)] * 2)
    with pytest.raises(InvalidInputError, match="channel must have rows that sum to one"):
        total_leakage(joint, [GRR(k=2, epsilon=1.0), np.eye(3) * 0.9])
    for wrong in (np.array([1.0]), 1.0, "GRR"):
        with pytest.raises(InvalidInputError, match=r"mechanisms\[0\] must be a mechanism or a channel of shape"):
            total_leakage([0.5, 0.5], [wrong])
    with pytest.raises(InvalidInputError, match=r"channel must have shape \(inputs, outputs\), got shape=\(1,\)"):
        merged_channel([1.0])
    with pytest.raises(InvalidParameterError, match="must sum to at most 600, got 640"):
        exact_totals(np.full((2,) * 20, 2.0**-20), [GRR(k=2, epsilon=32.0)] * 20)


def test_too_many_states_are_refused_with_the_size_and_the_alternatives() -> None:
    joint = np.full((5,) * 3, 1 / 125)
    with pytest.raises(
        TooLargeError, match=r"at most 67108864 states, got \d+ for 3 attributes .*GiB.*block_bound.*tree"
    ):
        exact_totals(joint, [np.random.default_rng(1).dirichlet(np.ones(500), size=5)] * 3)

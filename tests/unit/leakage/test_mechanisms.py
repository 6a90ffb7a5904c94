"""CPL of mechanism objects: known answers, listed channels, and the distinction between exact values and bounds."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import GRR
from deniable.core.mechanism import ReportField
from deniable.core.privacy import Guarantee
from deniable.core.state import counts_sum_to
from deniable.errors import TooLargeError
from deniable.leakage import cpl, fixed_size_cpl, mechanism_cpl, worst_case_cpl
from deniable.leakage.prior.correlation import enumerated, reaches_every_set, release_epsilon
from deniable.leakage.prior.distributions import conditional_from_joint
from deniable.oracles.pure import CountingOracle
from deniable.oracles.rappor import RAPPOR
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.sketch.families.prime import PrimeFamily
from deniable.oracles.sketch.local_hashing import BLH, OLH
from deniable.oracles.subset import SubsetSelection
from deniable.oracles.unary import OUE, SUE
from deniable.research.baselines.exponential import Exponential
from deniable.research.baselines.histogram import SHE
from deniable.research.baselines.histogram_threshold import THE
from deniable.research.leakage import channel_delta
from tests.unit.leakage.leakage_laws import small_mechanisms

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "cpl.json").read_text())
NAMES = ("GRR", "Exponential", "SubsetSelection", "OUE", "SUE", "THE", "RAPPOR", "SHE", "BLH")


def _conditional(vector: dict[str, Any]) -> NDArray[np.float64]:
    joint = np.array(vector["joint"])
    return conditional_from_joint(joint.T if vector.get("direction") == "j<-i" else joint)


@pytest.mark.parametrize("vector", VECTORS["pair"], ids=lambda v: f"{v['name']}-{v['direction']}-{v['eps']}")
def test_known_answers(vector: dict[str, Any]) -> None:
    conditional = _conditional(vector)
    k, epsilon = conditional.shape[1], vector["eps"]
    cases: dict[str, Any] = {
        "cpl_grr": GRR(k, epsilon),
        "cpl_exp": Exponential(k, epsilon),
        "cpl_oue": OUE(k, epsilon),
        "cpl_rappor": SUE(k, epsilon),
        "cpl_ss": SubsetSelection(k, epsilon, vector["ss_omega"]),
        "cpl_blh": BLH(k, epsilon),  # with two to four values, the prime family already reaches every set
        "cpl_eps": OLH(k, epsilon),
    }
    for field, mechanism in cases.items():
        found = mechanism_cpl(mechanism, conditional)
        assert found.status == "exact", field
        assert found.epsilon == pytest.approx(vector[field], abs=1e-12), field


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_theory_is_what_the_channel_says(name: str, k: int) -> None:
    rng = np.random.default_rng(k)
    mechanism = small_mechanisms(k, 1.7)[name]
    channel = np.asarray(mechanism.channel())
    for _ in range(8):
        rows = rng.dirichlet(np.full(k, 0.4), size=3)
        found = mechanism_cpl(mechanism, rows)
        assert found.status == "exact"
        assert found.epsilon == pytest.approx(cpl(channel, rows), abs=1e-11)
        attained = worst_case_cpl(rows, mechanism.implemented_epsilon()).epsilon
        assert found.epsilon <= attained + 1e-12
        if reaches_every_set(mechanism, k):
            assert found.epsilon == pytest.approx(attained, abs=1e-12)


def test_the_paper_s_order_of_mechanisms_is_one_of_attacks() -> None:
    """At equal epsilon, OUE, SUE and SHE leak no less than GRR: they attain Algorithm 2, which GRR need not do."""
    rows = [[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.3, 0.5]]
    grr = mechanism_cpl(GRR(4, 1.0), rows).epsilon
    for mechanism in (OUE(4, 1.0), SUE(4, 1.0), SHE(4, 1.0)):
        assert mechanism_cpl(mechanism, rows).epsilon > grr + 0.1


def test_mechanisms_that_spend_less_than_they_declare() -> None:
    rows = np.array([[0.8, 0.2], [0.2, 0.8]])
    halved = mechanism_cpl(Exponential(2, 2.0), rows).epsilon
    assert halved == pytest.approx(mechanism_cpl(GRR(2, 1.0), rows).epsilon, abs=1e-12)
    the = THE(2, 1.0)
    expected = worst_case_cpl(rows, the.tight_epsilon()).epsilon
    assert mechanism_cpl(the, rows).epsilon == pytest.approx(expected, abs=1e-12)
    assert expected < worst_case_cpl(rows, 1.0).epsilon - 0.01


def test_rappor_states_one_report_and_names_the_figure_for_any_number() -> None:
    rows = np.array([[0.8, 0.2], [0.2, 0.8]])
    rappor = RAPPOR(k=2, f=0.5, p=0.5, q=0.75)
    found = mechanism_cpl(rappor, rows)
    assert found.epsilon == pytest.approx(worst_case_cpl(rows, rappor.one_report_epsilon).epsilon, abs=1e-12)
    forever = cpl(rappor.permanent_channel(), rows)
    assert f"any number of reports of one memoised answer: {forever:.6g}" in found.note


def test_large_domains_need_no_channel() -> None:
    rng = np.random.default_rng(1)
    rows = rng.dirichlet(np.ones(60), size=4)
    for mechanism in (OUE(60, 1.0), SUE(60, 1.0), SHE(60, 1.0), RAPPOR.from_epsilon(60, 1.0)):
        assert enumerated(mechanism) is None
        found = mechanism_cpl(mechanism, rows)
        assert found.status == "exact"
        assert found.epsilon == pytest.approx(worst_case_cpl(rows, mechanism.implemented_epsilon()).epsilon, abs=1e-12)
    subset = SubsetSelection(60, 1.0)
    assert subset.omega is not None
    expected = fixed_size_cpl(rows, 1.0, subset.omega)
    assert mechanism_cpl(subset, rows).epsilon == pytest.approx(expected, abs=1e-12)


def test_the_prime_family_reaches_fewer_sets_than_all_functions() -> None:
    rng = np.random.default_rng(2)
    rows = rng.dirichlet(np.full(23, 0.5), size=3)
    sketch = CountMeanSketch(23, 1.0)
    found = mechanism_cpl(sketch, rows)
    # This is independent: it takes every function of the family in plain integers, by the definition.
    best = 1.0
    assert isinstance(sketch.hashes, PrimeFamily)
    prime, m = sketch.hashes.prime, sketch.hashes.m
    p, q = map(float, sketch.response.support_probabilities)
    for a0, a1 in itertools.product(range(prime), repeat=2):
        cells = [(a0 + a1 * v) % prime % m for v in range(23)]
        for z in set(cells):
            composed = rows @ np.array([p if cell == z else q for cell in cells])
            best = max(best, float(composed.max() / composed.min()))
    assert found.status == "exact"
    assert found.epsilon == pytest.approx(math.log(best), abs=1e-12)
    assert found.epsilon < worst_case_cpl(rows, 1.0).epsilon - 0.01


def test_other_families_are_listed_alike() -> None:
    rows = np.random.default_rng(4).dirichlet(np.full(6, 0.5), size=3)
    for sketch in (CountMeanSketch(6, 1.0, 4, "spread"), CountMeanSketch(6, 1.0, 2)):
        found = mechanism_cpl(sketch, rows)
        assert found.status == "exact"
        assert found.epsilon == pytest.approx(cpl(sketch.channel(), rows), abs=1e-12)


def test_a_sketch_too_large_to_list_says_upper_bound() -> None:
    rows = np.random.default_rng(3).dirichlet(np.ones(500), size=2)
    found = mechanism_cpl(CountMeanSketch(500, 1.0), rows)
    assert found.status == "upper bound"
    assert "has 253009 functions to list" in found.note
    assert found.epsilon == pytest.approx(worst_case_cpl(rows, 1.0).epsilon, abs=1e-12)


@dataclass(frozen=True)
class Foreign(CountingOracle[Any]):
    """A mechanism of another package: a binary release that favours one answer, or one that cannot be listed."""

    k: int = 2
    listed: bool = True

    name = "Foreign"
    epsilon = math.log(4)
    support_law = None
    support_probabilities = (Fraction(8, 10), Fraction(2, 10))
    report_fields = (ReportField("value", "uint8"),)
    report_bits = 1.0

    def privacy(self) -> Guarantee:
        return self._local_guarantee()

    def implemented_ratio(self) -> Fraction:
        return Fraction(4)

    def outputs(self) -> Any:
        return np.arange(2)

    def _channel(self) -> NDArray[Any]:
        if not self.listed:
            raise TooLargeError("too large")
        high, low = self.support_probabilities
        return np.array([[high, low], [low, high]], dtype=object)

    def supports(self, reports: Any, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.asarray(np.asarray(reports)[:, None] == values)

    def _randomize(self, codes: Any, rng: Any) -> Any:
        return codes ^ (rng.generator.random(len(codes)) < 0.2)

    def _tally(self, reports: Any) -> tuple[NDArray[np.int64], int]:
        return np.bincount(reports, minlength=2), len(reports)

    def _simulate(self, counts: NDArray[np.int64], rng: Any) -> NDArray[np.int64]:
        return self._simulate_by_reports(counts, rng)

    def check_state(self, counts: Any, n: int) -> None:
        counts_sum_to(counts, n)


def test_foreign_mechanisms_go_through_their_channel_or_get_a_bound() -> None:
    rows = np.array([[0.9, 0.1], [0.4, 0.6]])
    found = mechanism_cpl(Foreign(), rows)
    assert found.status == "exact"
    assert found.epsilon == pytest.approx(cpl([[0.8, 0.2], [0.2, 0.8]], rows))
    found = mechanism_cpl(Foreign(listed=False), rows)
    assert found.status == "upper bound"
    assert found.epsilon == pytest.approx(worst_case_cpl(rows, math.log(4)).epsilon)
    assert release_epsilon(Foreign()) == pytest.approx(math.log(4), abs=1e-15)
    assert not reaches_every_set(Foreign(), 2)


def test_a_budget_is_algorithm_two_and_a_matrix_algorithm_one() -> None:
    rows = np.array([[0.9, 0.1], [0.4, 0.6]])
    budget = mechanism_cpl(1.0, rows)
    assert (budget.status, budget.epsilon) == ("upper bound", worst_case_cpl(rows, 1.0).epsilon)
    matrix = mechanism_cpl(np.eye(2), rows)
    assert matrix.status == "exact"
    assert matrix.epsilon == pytest.approx(math.log(6), abs=1e-12)
    assert str(budget) == f"{budget.epsilon:.4f} (upper bound; attained by some mechanism with this epsilon)"


@pytest.mark.parametrize("vector", VECTORS["tight"], ids=lambda v: f"{v['name']}-{v['delta']}-{v['eps_prime']}")
def test_known_answers_of_the_delta_of_a_channel(vector: dict[str, Any]) -> None:
    conditional = _conditional(vector)
    k, epsilon = conditional.shape[1], vector["eps"]
    channel = np.full((k, k), 1 / k) if epsilon == 0 else GRR(k, epsilon).channel()
    found = channel_delta(channel, conditional, vector["eps_prime"])
    assert found == pytest.approx(vector["grr_channel_delta"], abs=1e-12)
    assert found <= worst_case_cpl(conditional, epsilon, vector["delta"]).delta_at(vector["eps_prime"]) + 1e-12

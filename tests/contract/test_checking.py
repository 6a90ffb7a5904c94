"""`check_mechanism` for authors of other packages: its checks, skips and refusals, and mutants that must fail."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.core.names import CLASSES
from deniable.errors import BrokenLawError, InvalidInputError, InvalidParameterError
from deniable.oracles.grr import RandomizedResponse
from deniable.oracles.pure import PureOracle
from deniable.testing import check_mechanism, laws
from tests.contract.cases import CASES
from tests.research.dealt.dealt_cases import DEALT_CASES

BY_NAME = {case.name: case for case in CASES}
LAWS = {"GRR": 22, "SUE": 22, "RAPPOR": 22, "RHR": 20, "CMS-queries": 17, "SPL-GRR": 19, "SMP-OUE": 19, "Corr-RR": 19}
"""Number of laws that the bases of a mechanism promise."""

OWN_TESTS = {"AppleCMS", "AppleHCMS", "HeavyHitters", "Corr-RR aligned"}
"""Mechanisms without a case; test_apple, test_heavy_hitters and test_corr_rr_aligned check them."""


def test_every_mechanism_has_a_case() -> None:
    built = {case.build((2, 2) if case.records else (3,), 1.0).name for case in CASES}
    dealt = {case.build(case.large, "mine").name for case in DEALT_CASES}
    missing = CLASSES.keys() - built - dealt - OWN_TESTS
    assert not missing, f"tests/contract/cases.py must list every mechanism, add a Case for {sorted(missing)}"


@pytest.mark.long
@pytest.mark.parametrize("name", LAWS)
def test_says_of_each_law_whether_it_holds_or_was_skipped(name: str) -> None:
    case = BY_NAME[name]
    mechanism = case.build((3, 2) if case.records else (3,), 1.0)
    checked = check_mechanism(mechanism, report_epsilon=case.one_report_epsilon(mechanism), unbiased=case.unbiased)
    biased = {"unbiased", "intervals_cover"} if name == "Corr-RR" else set()
    assert {law for law, _ in checked.skipped} == biased
    assert len(set(checked.held) | biased) == len(checked.held) + len(biased) == LAWS[name]
    assert str(checked).startswith(f"{mechanism!r}: {LAWS[name] - len(biased)} laws hold")


@pytest.mark.long
def test_skips_what_cannot_be_enumerated_and_says_why() -> None:
    checked = check_mechanism(dn.SUE(k=12, epsilon=1.0))
    assert dict(checked.skipped) == dict.fromkeys(
        ("reports_follow_the_channel", "simulated_aggregates_follow_the_law"),
        "its channel has 12 x 4096 cells, at most 4096 for this: check it with fewer values too",
    )
    checked = check_mechanism(dn.SUE(k=64, epsilon=1.0))
    assert len(checked.held) == 10
    assert len(checked.skipped) == 12
    assert "4194304" in checked.skipped[0].why


def test_skips_laws_of_many_whose_reports_would_fill_the_memory() -> None:
    skipped = dict(check_mechanism(dn.OUE(k=8_000, epsilon=1.0)).skipped)
    assert (
        skipped["blocks_are_independent"] == "its inputs and reports would take 504 MiB: check it with fewer values too"
    )


def test_refuses_dealers_and_texts() -> None:
    with pytest.raises(InvalidParameterError, match="must not need shares of a dealer"):
        check_mechanism(DEALT_CASES[0].build(DEALT_CASES[0].large, "mine"))


GRR3 = dn.GRR(k=3, epsilon=1.0)


def _broken(law: str) -> Any:
    return pytest.raises(BrokenLawError, match=rf"^GRR\(k=3, epsilon=1.0\) breaks {law}: ")


def test_variance_quartered(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = PureOracle.variance
    monkeypatch.setattr(PureOracle, "variance", lambda self, f, n: honest(self, f, n) / 4)
    with _broken("variance_is_the_channels"):
        check_mechanism(GRR3)


@pytest.mark.parametrize(("bits", "law"), [(1e9, "report_bits_fit"), (0.5, "report_bits_hold_the_entropy")])
def test_report_bits(monkeypatch: pytest.MonkeyPatch, bits: float, law: str) -> None:
    monkeypatch.setattr(RandomizedResponse, "report_bits", bits)
    with _broken(law):
        check_mechanism(GRR3)


def test_few_are_not_added_to_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large batches, empty batches and single reports do not show this fault."""
    honest = dn.Aggregate.__add__

    def added(one: dn.Aggregate, other: dn.Aggregate) -> dn.Aggregate:
        return one if one.n and other.n and one.n + other.n <= 3 else honest(one, other)

    monkeypatch.setattr(dn.Aggregate, "__add__", added)
    with _broken("merging_is_adding"):
        check_mechanism(GRR3)


def test_supports_shifted(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = RandomizedResponse.supports
    monkeypatch.setattr(
        RandomizedResponse, "supports", lambda self, reports, values: honest(self, (reports + 1) % 3, values)
    )
    # Likelihoods are made from supports, so their law is the first to fail.
    with _broken("reports_have_a_likelihood"):
        check_mechanism(GRR3)
    with pytest.raises(AssertionError):
        laws.supports_follow_the_channel(GRR3)


def test_covariance_of_independent_values(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = PureOracle.covariance
    monkeypatch.setattr(
        PureOracle, "covariance", lambda self, f, n, values=None: honest(self, f, n, values) * np.eye(len(f))
    )
    with _broken("covariance_is_the_channels"):
        check_mechanism(GRR3)


def test_linear_variance_without_covariances(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = PureOracle.covariance
    monkeypatch.setattr(
        PureOracle, "linear_variance", lambda self, w, f, n: float(np.square(w) @ np.diag(honest(self, f, n)))
    )
    with _broken("covariance_is_the_channels"):
        check_mechanism(GRR3)


def test_no_noise_has_no_variance() -> None:
    """Reports are the truth: all variances are zero, and only rounding errors are allowed."""

    class Truth:
        domain = (3,)

        def channel(self) -> Any:
            return np.eye(3)

        def covariance(self, f: Any, _n: int, values: Any = None) -> Any:
            return np.zeros((len(f if values is None else values),) * 2)

        def linear_variance(self, *_: Any) -> float:
            return 0.0

    laws.covariance_is_the_channels(Truth(), estimates=np.eye(3))


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_intervals_of_two_values(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """A tenth of the contributors hold one of two values: intervals of half the width do not cover."""
    honest = dn.Estimate.interval

    def narrowed(self: dn.Estimate, confidence: float) -> Any:
        ends = np.array(honest(self, confidence))
        return tuple(ends + share * (self.frequencies - ends))

    monkeypatch.setattr(dn.Estimate, "interval", narrowed)
    with nullcontext() if share == 0 else pytest.raises(BrokenLawError, match="cover"):
        laws.intervals_cover(dn.GRR(k=2, epsilon=1.0), draws=400)


def test_a_message_with_another_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def mutant(self: dn.GRR, inputs: Any, rng: Any) -> Any:
        raise InvalidInputError("codes must be in 0..2")

    honest = dn.GRR.randomize
    monkeypatch.setattr(
        dn.GRR,
        "randomize",
        lambda self, inputs, rng: (mutant if max(inputs, default=0) > 2 else honest)(self, inputs, rng),
    )
    with _broken("refuses_bad_answers"):
        check_mechanism(GRR3)


@pytest.mark.long
def test_needs_no_test_runner_and_no_assertions() -> None:
    code = (
        "import sys, deniable.oracles.pure as pure\n"
        "from deniable import GRR; from deniable.testing import check_mechanism\n"
        "assert 0 == 1, 'assertions are off'\n"
        "pure.PureOracle.variance = lambda self, f, n: 1.0\n"
        "try: check_mechanism(GRR(k=2, epsilon=1.0))\n"
        "except AssertionError: sys.exit(int('pytest' in sys.modules))\n"
        "sys.exit('not caught')"
    )
    subprocess.run([sys.executable, "-O", "-c", code], check=True)

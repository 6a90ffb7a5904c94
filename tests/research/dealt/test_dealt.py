"""All laws for all dealt mechanisms; each registered mechanism is in one of the two suites."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import deniable as dn
from deniable.core.names import mechanism_class, mechanism_names
from deniable.errors import InvalidParameterError
from deniable.research.dealt.dealt import DealtMechanism
from tests.contract.cases import CASES
from tests.research.dealt import dealt_laws
from tests.research.dealt.dealt_cases import DEALT_CASES, DealtCase

ONE_EACH = [pytest.param(case, id=case.name) for case in DEALT_CASES]
ENUMERATED = [pytest.param(case, n, id=f"{case.name}-{n}") for case in DEALT_CASES for n in case.exact]
N = 25

OWN_SUITES = {
    "AppleCMS": "research/baselines/test_apple.py",
    "AppleHCMS": "research/baselines/test_apple.py",
    "Corr-RR aligned": "research/records/test_corr_rr_aligned.py",
    "HeavyHitters": "unit/oracles/sketch/test_heavy_hitters.py",
    "OCMS": "unit/oracles/sketch/test_ocms.py",
}
"""Mechanisms that the plain suite does not list, with their own tests."""


# ---------------------------------------------------------------- completeness


def mechanism_names_dealer(name: str) -> bool:
    found = mechanism_class(name)
    return isinstance(found, type) and issubclass(found, DealtMechanism)


def _members_of_dealt() -> set[str]:
    return {"deal", "deal_id", "share_fields", "n"}


def test_every_dealt_mechanism_is_listed() -> None:
    listed = {type(case.build(case.large, "mine")) for case in DEALT_CASES}
    classes = {mechanism_class(name) for name in mechanism_names() if mechanism_names_dealer(name)}
    assert classes == listed
    for found in classes:
        annotations = {name for base in found.__mro__ for name in getattr(base, "__annotations__", {})}
        assert _members_of_dealt() <= set(dir(found)) | annotations
    assert all(isinstance(case.build(case.large, "mine"), DealtMechanism) for case in DEALT_CASES)


def test_every_other_mechanism_is_listed() -> None:
    built = [case.build((3, 2) if case.records else (3,), 1.0) for case in CASES]
    plain = {name for name in mechanism_names() if not mechanism_names_dealer(name)}
    missing = plain - {mechanism.name for mechanism in built} - {case.name for case in CASES}
    assert missing == set(OWN_SUITES)
    tests = Path(__file__).parents[2]
    assert all((tests / file).is_file() for file in OWN_SUITES.values())


# ---------------------------------------------------------------- by enumeration


@pytest.mark.parametrize(("case", "n"), ENUMERATED)
def test_estimates_are_exact(case: DealtCase, n: int) -> None:
    dealt_laws.estimates_are_exact(case, case.build(n, "mine"))


@pytest.mark.parametrize(("case", "n"), ENUMERATED)
def test_keeps_its_guarantee(case: DealtCase, n: int) -> None:
    dealt_laws.keeps_its_guarantee(case, case.build(n, "mine"))


@pytest.mark.parametrize("case", ONE_EACH)
def test_deals_follow_the_law(case: DealtCase) -> None:
    dealt_laws.deals_follow_the_law(case, case.build(case.shown, "mine"))


@pytest.mark.parametrize("case", ONE_EACH)
def test_contributors_follow_their_shares(case: DealtCase) -> None:
    dealt_laws.contributors_follow_their_shares(case, case.build(case.shown, "mine"))


@pytest.mark.parametrize("case", ONE_EACH)
def test_simulated_aggregates_follow_the_law(case: DealtCase) -> None:
    dealt_laws.simulated_aggregates_follow_the_law(case, case.build(case.shown, "mine"))


# ---------------------------------------------------------------- by simulation


@pytest.mark.long
@pytest.mark.parametrize("case", ONE_EACH)
def test_estimates_of_many(case: DealtCase) -> None:
    dealt_laws.estimates_of_many(case, case.build(case.large, "mine"))


# ---------------------------------------------------------------- data, files, sums


@pytest.mark.parametrize("case", ONE_EACH)
def test_is_data(case: DealtCase) -> None:
    for n in (case.exact[-1], case.large):
        dealt_laws.is_data(case, case.build(n, "mine"))


NAN = float("nan")
BAD: dict[str, tuple[Any, ...]] = {
    "n": (1, 0, -4, 2.5, "9", True, None, 2**40),
    "size": (1, 0, -4, 2.5, "9", True, None),
    "batches": (0, -1, 2.5, True, None, 2**17),
    "k": (1, 0, -3, 2.0, True, "4", 2**33),
    "m": (1, 0, -3, 2.0, True, "4", 2**17),
    "sizes": ((), (2, 1), (2, "3"), 4),
    "epsilon": (0, -1.0, NAN, float("inf"), 33, 1e-7, "much", None, True),
    "epsilon_aux": (0.25, NAN, 33, "much", True),
    "p": (0, 1, -1.0, NAN, "much", None, True),
    "q": (0, 0.5, 1, NAN, "much", None, True),
    "rho": (0.1, -9, NAN, "much", None, True),
    "weight": (-0.1, 1.1, NAN, "much", None, True),
    "minimum": (-1, 10**9, 1.5, True),
    "minima": ((-1, 0), (0,), (0, 10**9)),
    "said": (-1, 1.5, 10**9),
    "denied": (-1, 1.5, 10**9),
    "design": (-0.1, 1.1, NAN, "much"),
    "colluders": (-1, 10**6, 1.5, True),
    "deal_id": (7, None, b"mine"),
}


@pytest.mark.parametrize("case", ONE_EACH)
def test_refuses_bad_parameters(case: DealtCase) -> None:
    mechanism = case.build(N, "mine")
    names = [field.name for field in dataclasses.fields(mechanism) if field.init]
    assert set(names) <= BAD.keys()
    for name in names:
        for value in BAD[name]:
            # The quota of an attribute has the name that its deal has.
            with pytest.raises(InvalidParameterError, match=r"\bminim(a|um)\b" if name == "minima" else rf"\b{name}\b"):
                dataclasses.replace(mechanism, **{name: value})


@pytest.mark.parametrize("case", ONE_EACH)
def test_shares_match_their_declaration(case: DealtCase) -> None:
    for n in (case.exact[-1], N):
        dealt_laws.shares_match_their_declaration(case, case.build(n, "mine"), dn.SimulationRandomness(2))


@pytest.mark.parametrize("case", ONE_EACH)
def test_shares_survive_parquet(case: DealtCase, tmp_path: Path) -> None:
    dealt_laws.shares_survive_parquet(case.build(N, "mine"), tmp_path)


@pytest.mark.parametrize("case", ONE_EACH)
def test_merging_is_adding(case: DealtCase) -> None:
    mechanism = case.build(N, "mine")
    rng = dn.SimulationRandomness(12)
    reports = mechanism.randomize(case.many(mechanism), mechanism.deal(N, rng), rng)

    @settings(max_examples=15, deadline=None, database=None, derandomize=True)
    @given(st.lists(st.integers(0, N), max_size=4))
    def merge(cuts: list[int]) -> None:
        dealt_laws.merging_is_adding(case, mechanism, reports, cuts)

    merge()
    dealt_laws.merging_is_adding(case, mechanism, reports, [1])  # this operand has one report


@pytest.mark.parametrize("case", ONE_EACH)
def test_deals_do_not_mix(case: DealtCase) -> None:
    dealt_laws.deals_do_not_mix(case, case.build(N, "mine"))


@pytest.mark.parametrize("case", ONE_EACH)
def test_deals_combine(case: DealtCase) -> None:
    dealt_laws.deals_combine(case, case.build(N, "mine"))


# ---------------------------------------------------------------- errors and real randomness


@pytest.mark.parametrize("case", ONE_EACH)
def test_refuses_bad_shares(case: DealtCase) -> None:
    dealt_laws.refuses_bad_shares(case, case.build(N, "mine"))


@pytest.mark.parametrize("case", ONE_EACH)
def test_refuses_bad_answers(case: DealtCase) -> None:
    dealt_laws.refuses_bad_answers(case, case.build(N, "mine"))


@pytest.mark.parametrize("case", ONE_EACH)
def test_collector_takes_no_shares(case: DealtCase) -> None:
    dealt_laws.collector_takes_no_shares(case.build(N, "mine"), dn.SimulationRandomness(1))


@pytest.mark.parametrize("case", ONE_EACH)
def test_secure_randomness_deals_and_randomizes(case: DealtCase) -> None:
    mechanism, rng = case.build(N, "mine"), dn.SecureRandomness()
    data = case.many(mechanism)
    deals = [mechanism.deal(N, rng) for _ in range(2)]
    aggregate = mechanism.aggregate(mechanism.randomize(data, deals[0], rng))
    assert aggregate.n == N
    assert np.isfinite(dealt_laws.estimated(mechanism, aggregate)).all()
    # For every case, equal deals of 25 are rarer than one in 10^6: at least 25!/(12! 12!) deals are equally likely.
    pairs: Any = zip(*(dealt_laws.fields_of(mechanism, deal) for deal in deals), strict=True)
    assert not all(np.array_equal(one, other) for one, other in pairs)

"""All laws for all listed mechanisms."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import deniable as dn
from deniable.errors import (
    EmptyAggregateError,
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
    MismatchError,
)
from deniable.files.wire import from_wire, to_wire
from deniable.oracles.linear import LinearOracle
from deniable.oracles.oracle import FrequencyOracle
from deniable.oracles.pure import PureOracle
from deniable.testing import laws
from tests.contract.cases import CASES, COVERED, SIMULATIONS, Case, grid

SETTINGS = [
    pytest.param(
        case,
        sizes,
        epsilon,
        id=f"{case.name}-{'x'.join(map(str, sizes))}-{epsilon:g}",
        # Every domain is tested at epsilon 1, and every budget over the smallest domain. Other cases are for `make
        # long`.
        marks=[] if epsilon == 1 or sizes == settings_of_it[0][0] else [pytest.mark.long],
    )
    for case in CASES
    for settings_of_it in (grid(case),)
    for sizes, epsilon in settings_of_it
]
ONE_EACH = [pytest.param(case, id=case.name) for case in CASES]


@pytest.mark.parametrize(("case", "sizes", "epsilon"), SETTINGS)
def test_channel_is_exactly_private_and_unbiased(
    case: Case, sizes: tuple[int, ...], epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = case.build(sizes, epsilon)
    # Nine laws ask for the same fractions, so the channel is cached.
    monkeypatch.setattr(type(mechanism), "channel", functools.cache(type(mechanism).channel))
    laws.rows_sum_to_one(mechanism)
    laws.ratio_keeps_the_budget(mechanism, epsilon, case.one_report_epsilon(mechanism))
    laws.report_bits_hold_the_entropy(mechanism)
    estimates = laws.single_report_estimates(mechanism)
    if case.unbiased:
        laws.unbiased(mechanism, estimates)
    if isinstance(mechanism, FrequencyOracle):
        laws.variance_is_the_channels(mechanism, estimates=estimates)
    if isinstance(mechanism, LinearOracle):
        laws.covariance_is_the_channels(mechanism, estimates=estimates)
    if isinstance(mechanism, PureOracle):
        laws.supports_follow_the_channel(mechanism)


def _sizes(case: Case) -> tuple[int, ...]:
    return (3, 2) if case.records else (3,)


@pytest.mark.parametrize("case", ONE_EACH)
def test_rows_are_refused_without_an_aggregate_as_with_one(case: Case) -> None:
    """Client reports, also with some changed bytes, one at a time and many at once."""
    mechanism, random = case.build(_sizes(case), 1.0), np.random.default_rng(11)
    inputs = np.zeros((80, len(_sizes(case))) if case.records else 80, dtype=np.int64)
    rows = to_wire(mechanism, mechanism.randomize(inputs, dn.SimulationRandomness(11)))
    rows ^= (random.integers(1, 256, rows.shape) * (random.random(rows.shape) < 0.2)).astype(np.uint8)

    def said(of: Any, part: slice) -> str:
        try:
            of(from_wire(mechanism, rows[part]))
        except InvalidReportError as error:
            return str(error)
        return ""

    parts = [*(slice(row, row + 1) for row in range(len(rows))), slice(None), slice(0, 0)]
    refused = [said(mechanism.check_reports, part) for part in parts]
    assert refused == [said(mechanism.aggregate, part) for part in parts]
    assert not refused[-1]
    # If any bytes are a report, as for 8 bits, nothing is refused.
    assert any(refused) or len(mechanism.outputs()) == 256 ** rows.shape[1]


@pytest.mark.parametrize("case", ONE_EACH)
def test_reports_follow_the_channel(case: Case) -> None:
    laws.reports_follow_the_channel(case.build(_sizes(case), 1.0))


@pytest.mark.parametrize("case", ONE_EACH)
def test_reports_have_a_likelihood(case: Case) -> None:
    mechanism = case.build(_sizes(case), 1.0)
    if case.enumerable(_sizes(case), 1.0):
        laws.reports_have_a_likelihood(mechanism)
    laws.models_have_their_gradient(mechanism)


@pytest.mark.parametrize("case", ONE_EACH)
def test_simulated_aggregates_follow_the_law(case: Case) -> None:
    laws.simulated_aggregates_follow_the_law(case.build(_sizes(case), 1.0), draws=SIMULATIONS)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES if case.unbiased])
def test_intervals_cover(case: Case) -> None:
    """Enough runs to refute intervals of three quarters of the width, and of 1.53 times the width."""
    laws.intervals_cover(case.build(_sizes(case), 1.0), draws=COVERED)


@pytest.mark.long
@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES if case.unbiased])
def test_intervals_cover_in_many_rehearsals(case: Case) -> None:
    laws.intervals_cover(case.build(_sizes(case), 1.0))


@pytest.mark.parametrize("case", ONE_EACH)
def test_merging_is_adding(case: Case) -> None:
    mechanism = case.build(_sizes(case), 1.0)
    inputs = case.inputs(_sizes(case))

    @settings(max_examples=25, deadline=None, database=None, derandomize=True)
    @given(st.integers(1, 60), st.data())
    def merge(n: int, data: st.DataObject) -> None:
        cuts = data.draw(st.lists(st.integers(0, n), max_size=4))
        reports = mechanism.randomize(inputs[np.arange(n) % len(inputs)], dn.SimulationRandomness(n))
        laws.merging_is_adding(mechanism, reports, cuts)
        laws.merging_is_adding(mechanism, reports, [1])  # this operand has one report

    merge()


@pytest.mark.parametrize("case", ONE_EACH)
def test_is_data(case: Case) -> None:
    laws.is_data(case.build(_sizes(case), 1.0))
    laws.is_data(case.build(_sizes(case), 0.1))


@pytest.mark.parametrize("case", ONE_EACH)
def test_reports_match_their_declaration(case: Case) -> None:
    laws.reports_match_their_declaration(case.build(_sizes(case), 1.0))


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), 33, 1e-7, "much", None, True])
@pytest.mark.parametrize("case", ONE_EACH)
def test_refuses_a_bad_budget(case: Case, epsilon: Any) -> None:
    with pytest.raises(InvalidParameterError, match="epsilon"):
        case.build(_sizes(case), epsilon)


@pytest.mark.parametrize("size", [1, 0, -3, 2.0, True, "4"])
@pytest.mark.parametrize("case", ONE_EACH)
def test_refuses_a_bad_domain(case: Case, size: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"k must|sizes"):
        case.build((size, 2) if case.records else (size,), 1.0)


@pytest.mark.parametrize("case", ONE_EACH)
def test_keeps_the_laws_that_need_no_channel(case: Case) -> None:
    mechanism = case.build(_sizes(case), 1.0)
    laws.report_bits_fit(mechanism)
    laws.refuses_bad_answers(mechanism)
    laws.refuses_what_does_not_belong(mechanism)


@pytest.mark.parametrize("case", ONE_EACH)
def test_refuses_bad_answers(case: Case) -> None:
    mechanism = case.build(_sizes(case), 1.0)
    inputs = case.inputs(_sizes(case))
    rng = dn.SimulationRandomness(1)
    wrong = np.resize(inputs, (30, *inputs.shape[1:]))
    wrong.reshape(30, -1)[16, 0] = 3
    with pytest.raises(InvalidInputError, match=r"0\.\.2, got something else in row 17"):
        mechanism.randomize(wrong, rng)
    wrong.reshape(30, -1)[16, 0] = -1
    with pytest.raises(InvalidInputError, match=r"0\.\.2, got something else in row 17"):
        mechanism.randomize(wrong, rng)
    with pytest.raises(InvalidInputError, match="dtype=float64"):
        mechanism.randomize(inputs.astype(float), rng)
    with pytest.raises(InvalidInputError, match="shape"):
        mechanism.randomize(inputs[None], rng)


@pytest.mark.parametrize("case", ONE_EACH)
def test_refuses_what_does_not_belong(case: Case) -> None:
    mechanism, other = case.build(_sizes(case), 1.0), case.build(_sizes(case), 2.0)
    inputs = case.inputs(_sizes(case))
    mine, theirs = (m.aggregate(m.randomize(inputs, dn.SimulationRandomness(1))) for m in (mechanism, other))
    with pytest.raises(MismatchError, match="merge"):
        mine + theirs
    with pytest.raises(MismatchError, match="came from"):
        mechanism.estimate(theirs)
    with pytest.raises(EmptyAggregateError):
        mechanism.estimate(dn.Aggregate.empty(mechanism))

"""Members that are defined once, in the base of dealt mechanisms: signatures, meanings, refusals."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from deniable import Estimate, RecordEstimate, SimulationRandomness
from deniable.errors import InvalidInputError, TooLargeError
from deniable.research.dealt.coupling.coupled import CoupledMechanism
from deniable.research.dealt.coupling.coupled_oue import CoupledOUE
from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.coupling.jrr_local_hashing import JRRLocalHashing
from deniable.research.dealt.coupling.kary_jrr import KaryJRR
from deniable.research.dealt.coupling.report_coupling import ReportCoupledRR
from deniable.research.dealt.dealt import DealtMechanism
from deniable.research.dealt.quota.batches import QuotaBatches
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.records import QuotaRecords
from deniable.research.dealt.quota.unary import QuotaUnary
from deniable.research.dealt.shares import Shares

COUPLED: list[Any] = [
    JRR(0.7, -0.1, 10),
    KaryJRR(3, 0.5, -0.5, 10),
    JRRLocalHashing(9, 3, 0.5, -0.5, 10),
    ReportCoupledRR(0.7, 10),
    CoupledOUE(4, 0.25, 10),
]
DEALT: list[Any] = [
    *COUPLED,
    QuotaRR(1.0, 10),
    QuotaUnary(4, 1.0, 10),
    QuotaRecords((2, 2), 1.0, 10),
    QuotaBatches(1.0, 10, 1),
]
each = pytest.mark.parametrize("mechanism", DEALT, ids=lambda m: m.name)


def _abstract(member: Any) -> bool:
    return bool(getattr(member, "__isabstractmethod__", False))


@each
def test_the_verbs_are_written_once(mechanism: Any) -> None:
    for verb in ("deal", "randomize", "aggregate", "check_state", "implemented_epsilon", "channel"):
        found = [vars(base)[verb] for base in type(mechanism).__mro__ if verb in vars(base)]
        assert len([member for member in found if not _abstract(member)]) == 1, verb
    assert list(inspect.signature(mechanism.randomize).parameters) == ["inputs", "shares", "rng"]
    assert list(inspect.signature(mechanism.privacy).parameters) == []
    assert type(mechanism).__final__
    assert isinstance(mechanism, DealtMechanism)


@each
def test_one_meaning_of_epsilon_and_one_type_of_shares_and_estimates(mechanism: Any) -> None:
    first = mechanism.privacy().trust_models[0]
    assert float(mechanism.epsilon) == first.epsilon == mechanism.privacy().epsilon
    rng = SimulationRandomness(1)
    shares = mechanism.deal(10, rng)
    assert type(shares) is Shares
    assert len(shares.columns) == len(mechanism.share_fields)
    inputs = np.zeros((10, 2) if mechanism.records else 10, dtype=np.int64)
    estimate = mechanism.estimate(mechanism.aggregate(mechanism.randomize(inputs, shares, rng)))
    assert type(estimate) is (RecordEstimate if mechanism.records else Estimate)
    assert mechanism.card.group == "dealt"
    assert mechanism.card.when


@pytest.mark.parametrize("mechanism", COUPLED, ids=lambda m: m.name)
def test_the_nominal_epsilon_is_the_row_of_colluders(mechanism: CoupledMechanism[Any]) -> None:
    assert mechanism.guarantee_against() == mechanism.privacy()
    for colluders in (1, 3):
        rows = mechanism.guarantee_against(colluders=colluders).trust_models
        (told,) = [
            row for row in rows if row.adversary.startswith(f"collector and {colluders} coll") and "shares" in row.view
        ]
        assert told.epsilon == mechanism.epsilon_against(colluders)
    assert mechanism.colluders == 5
    assert mechanism.epsilon_against(5) <= mechanism.epsilon


@each
def test_one_report_has_no_channel_of_its_own(mechanism: Any) -> None:
    with pytest.raises(TooLargeError, match="reports of one deal depend on each other"):
        mechanism.channel()


@each
def test_columns_that_are_none_of_the_mechanisms_are_named(mechanism: Any) -> None:
    rng = SimulationRandomness(1)
    columns = mechanism.deal(10, rng).columns
    inputs = np.zeros((10, 2) if mechanism.records else 10, dtype=np.int64)
    name = mechanism.share_fields[0].name
    for wrong, message in (
        ((*columns, columns[0]), "shares must have the columns"),
        ((columns[0].astype(np.int64), *columns[1:]), f"{name} must be an array of dtype uint8 .* got int64"),
        ((columns[0][..., None], *columns[1:]), f"{name} must have shape"),
        ((columns[0][:9], *columns[1:]), "every contributor needs one share, got 10 contributors and 9 shares"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            mechanism.randomize(inputs, Shares("", wrong), rng)

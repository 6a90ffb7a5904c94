"""Shared parts of all record mechanisms: their base is abstract or final, and its members agree with each other."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

from deniable import OUE, RSFD, SMP, SPL, AdaptiveSMP, CountMeanSketch, SimulationRandomness
from deniable.core.names import mechanism_class, mechanism_names
from deniable.errors import InvalidParameterError
from deniable.planning.candidates import RECORDS
from deniable.records import PivotCoded, SPLPairs
from deniable.records.record import DirectRecords, RecordMechanism
from tests.contract.cases import CASES
from tests.unit.records.record_laws import records

SIZES = (3, 2)
REGISTERED = [
    cls for cls in map(mechanism_class, mechanism_names()) if isinstance(cls, type) and issubclass(cls, RecordMechanism)
]
BUILT = {case.name: case.build(SIZES, 1.0) for case in CASES if case.records}
DIRECT = {name: one for name, one in BUILT.items() if isinstance(one, DirectRecords)}


def test_every_record_mechanism_is_here() -> None:
    assert len(REGISTERED) == 13
    assert {type(one) for one in BUILT.values()} == {cls for cls in REGISTERED if cls.name != "Corr-RR aligned"}


@pytest.mark.parametrize("name", BUILT)
def test_the_collector_sees_the_attribute_or_not(name: str) -> None:
    """Reports on an attribute form a batch of its oracle's reports; if the attribute is hidden, all reports do."""
    mechanism: Any = BUILT[name]
    reports = mechanism.randomize(np.array(records(SIZES) * 50), SimulationRandomness(3))
    told = mechanism.reported_attribute(reports)
    assert (told is not None) == (mechanism.reveals in ("one", "pairs"))
    for j, oracle in enumerate(mechanism.oracles):
        assert oracle.k == SIZES[j]
        part = mechanism.about(reports, j)
        assert oracle.aggregate(part).n == (300 if told is None else int((told == j).sum()))
    if told is None:
        return
    states = [oracle.aggregate(mechanism.about(reports, j)).counts for j, oracle in enumerate(mechanism.oracles)]
    whole, length = mechanism.aggregate(reports).counts, sum(map(len, states))
    if mechanism.reveals == "one":
        np.testing.assert_array_equal(np.concatenate(states), whole[:length])
    elif mechanism.singles:  # these are behind the only table of the pair
        np.testing.assert_array_equal(np.concatenate(states), whole[6 : 6 + length])
    else:
        assert not any(map(np.any, states))


@pytest.mark.parametrize("name", DIRECT)
def test_variance_is_the_diagonal_of_the_covariance(name: str) -> None:
    mechanism: Any = DIRECT[name]
    f, w = np.array([0.2, 0.5, 0.3]), np.array([1.0, -2.0, 0.25])
    covariance = mechanism.covariance(f, 1000, 0)
    np.testing.assert_allclose(np.diag(covariance), [mechanism.variance(v, 1000, 0) for v in f], rtol=1e-12)
    np.testing.assert_allclose(mechanism.covariance(f, 1000, 0, [2, 0]), covariance[np.ix_([2, 0], [2, 0])], rtol=1e-12)
    assert math.isclose(mechanism.linear_variance(w, f, 1000, 0), w @ covariance @ w, rel_tol=1e-9)
    with pytest.raises(InvalidParameterError, match="attribute must be <= 1, got attribute=2"):
        mechanism.covariance(f, 1000, 2)


@pytest.mark.parametrize("mechanism", [SPL(SIZES, 1.0), SPL(SIZES, 1.0, "OUE"), SPLPairs(SIZES, 1.0)])
def test_covariance_where_everybody_reports_all_is_enumerated(mechanism: Any) -> None:
    outputs, channel = mechanism.outputs(), mechanism.channel()
    single = np.array([mechanism.estimate(mechanism.aggregate(row[None]))[0].frequencies for row in outputs])
    expected, f = np.zeros((3, 3)), np.array([0.2, 0.5, 0.3])
    for x, law in zip(records(SIZES), channel, strict=True):
        centre = law @ single
        expected += f[x[0]] / 2 * ((single * law[:, None]).T @ single - np.outer(centre, centre))
    np.testing.assert_allclose(mechanism.covariance(f, 7, 0), expected / 7, rtol=1e-9, atol=1e-15)


def test_covariance_where_contributors_take_turns_is_that_of_estimates() -> None:
    """Conditional on n_j: GRR's among n_j, and the sampling of n_j of n without replacement, by rehearsal."""
    smp, held = SMP((3, 2), 2.0), np.array([400, 0, 900, 0, 700, 0])
    f, n, draws = np.array([0.2, 0.45, 0.35]), 2000, 1500
    rng = SimulationRandomness(5)
    found = np.array(
        [smp.estimate(smp.simulate_aggregate(records((3, 2)), held, rng))[0].frequencies for _ in range(draws)]
    )
    expected = smp.covariance(f, n, 0)
    spread = np.sqrt(np.diag(expected))
    # n_j varies by 1/sqrt(n) relative to n/d. So the expected variance is larger by about 1/n relative, far below this.
    error = np.sqrt((np.outer(spread**2, spread**2) + expected**2) / draws)
    assert (np.abs(np.cov(found.T) - expected) <= 6 * error).all()


@pytest.mark.parametrize("cls", REGISTERED)
def test_rehearsals_say_what_they_take(cls: Any) -> None:
    parameters = list(inspect.signature(cls.simulate_aggregate).parameters)[1:]
    assert parameters == (["counts", "rng"] if cls.simulates == "marginals" else ["records", "counts", "rng"])


def test_cards_have_the_rows_of_a_plan() -> None:
    rows = {}
    for cls in REGISTERED:
        assert cls.card.planned or cls.card.instead, cls
        for row in cls.card.variants or ():
            rows[row.name] = row.note or cls.card.note, row.recommended, cls.card.alternative
        if cls.card.planned and not cls.card.variants:
            rows[cls.name] = cls.card.note, cls.card.recommended, cls.card.alternative
    assert rows == {one.name: (one.note, one.recommendable, one.alternative) for one in RECORDS}


def test_an_oracle_that_reports_two_columns_is_told_apart() -> None:
    """A sketch's report comes back from its bytes as the batch that its own aggregate reads."""
    adaptive = AdaptiveSMP((300, 3), 1.0, (CountMeanSketch(300, 1.0, 4, "linear"), OUE(3, 1.0)))
    reports = adaptive.randomize(np.array([[299, 2], [0, 1]] * 40), SimulationRandomness(1))
    assert isinstance(adaptive.about(reports, 0), tuple)
    assert adaptive.about(reports, 1).shape[1] == 1


def test_a_hidden_and_a_visible_attribute() -> None:
    assert RSFD(SIZES, 1.0).reported_attribute(np.zeros((3, 2), np.uint8)) is None
    np.testing.assert_array_equal(PivotCoded((3, 3), 1.0).reported_attribute(np.array([[1, 1], [0, 1]])), [1, 0])

"""A programme's totals equal those of a person's ledger; its leakage is that of all reports together."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import GRR, OUE, SMP, SPL, Attribute, Collection, Schema
from deniable.errors import InvalidParameterError, MismatchError
from deniable.files.jobs.memos import Memo
from deniable.files.jobs.person import PersonLedger
from deniable.oracles import MemoisedGRR, MemoisedHash, MemoisedOUE
from deniable.planning import PlannedSurvey, programme

MOOD = Schema((Attribute("mood", ("good", "bad")),))
SMOKER = Schema((Attribute("smoker", ("yes", "no")),))
BOTH = Schema((*MOOD.attributes, *SMOKER.attributes))
RECORDS = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [400, 100, 200, 300], axis=0)


def survey(mechanism: Any, schema: Schema = MOOD, name: str = "one", **more: Any) -> PlannedSurvey:
    return PlannedSurvey(name, Collection(schema, mechanism), **more)


def test_pure_epsilon_adds_exactly_and_groups_are_apart() -> None:
    found = programme(
        [
            survey(GRR(2, Fraction(1, 10)), waves=7),
            survey(GRR(2, Fraction(1, 3)), name="two", people="a"),
            survey(GRR(2, 0.4), name="three", waves=2, people="b"),
        ]
    )
    assert [row.total for row in found.surveys] == [Fraction(7, 10), Fraction(1, 3), Fraction(4, 5)]
    assert found.groups == {"a": pytest.approx(0.7 + 1 / 3), "b": 1.5}
    assert found.statement == "One contributor spends at most epsilon = 1.5, in “b”."
    assert found.groups["a"] >= 0.7 + 1 / 3


@pytest.mark.parametrize(
    "mechanism", [MemoisedGRR(2, 2, 1), MemoisedOUE(2, 2, 1), MemoisedHash(2, 2, 1, 2), GRR(2, 0.3)], ids=repr
)
@pytest.mark.parametrize("waves", [1, 2, 5, 12])
def test_a_total_is_what_the_ledger_of_a_person_counts(mechanism: Any, waves: int, tmp_path: Path) -> None:
    ledger = PersonLedger(tmp_path / "ledger.json")
    collection = Collection(MOOD, mechanism)
    memo = None if isinstance(mechanism, GRR) else Memo("ab" * 16, None)
    for _ in range(waves):
        with ledger.spending(collection, memo=memo) as spent:
            pass
    assert programme([survey(mechanism, waves=waves)]).surveys[0].total == spent.epsilon


def test_only_rows_that_hold_are_stated() -> None:
    """r epsilon_forever: for one unchanged answer always, for r answers with known times of values, never for cells."""
    forever = [
        programme([survey(made, waves=52, answers=answers, times_known=known)]).surveys[0]
        for made, answers, known in (
            (MemoisedGRR(2, 2, 1), 1, False),
            (MemoisedHash(2, 2, 1, 2), 1, False),
            (MemoisedOUE(2, 2, 1), 2, True),
        )
    ]
    assert [row.total for row in forever] == [2, 2, 4]
    assert "nobody's answer ever changes" in forever[0].holds
    # Two rows are false: r epsilon_forever whatever the times, also for cells; T epsilon_once, which is below the truth
    # at T = 3.
    false = survey(MemoisedHash(2, 1, 0.9, 2), waves=3, answers=2, times_known=True)
    mechanism: Any = false.collection.mechanism
    worst = mechanism.history_ratio(3)
    total = programme([false]).surveys[0]
    assert total.holds == ""
    assert float(total.total or 0) >= math.log(worst) > max(2.0, 2.7)
    unknown = survey(MemoisedHash(2, 1, 1, 2), waves=3)
    assert programme([unknown]).epsilon == math.inf
    assert programme([unknown]).statement == "No bound is known for the total of one contributor."


def law(channels: list[np.ndarray[Any, Any]], about: int) -> float:
    """Return the leakage about one of two attributes by brute force: all outcomes of both channels, by the prior."""
    prior = np.array([[0.4, 0.1], [0.2, 0.3]])
    joint = np.einsum("ab,ax,by->abxy", prior, *channels)
    rows = joint.sum(axis=1 - about).reshape(2, -1) / prior.sum(axis=1 - about)[:, None]
    return float(
        np.log((rows[0] / rows[1]).max())
        if (rows[0] / rows[1]).max() > (rows[1] / rows[0]).max()
        else np.log((rows[1] / rows[0]).max())
    )


def test_leakage_is_that_of_all_reports_together() -> None:
    """Three waves about mood and one about smoker against the law of all 2^4 outcomes, written out."""
    mood, smoker = GRR(2, 0.5), OUE(2, 1.0)
    found = programme(
        [survey(mood, waves=3), survey(smoker, SMOKER, "two")], records=RECORDS, schema=BOTH, source="a.csv"
    )
    one = mood.channel()
    three = np.einsum("ai,aj,ak->aijk", one, one, one).reshape(2, -1)
    for about, row in enumerate(found.leakage):
        assert row.status == "exact"
        assert row.total == pytest.approx(law([three, smoker.channel()], about), rel=1e-9)
    assert [row.own_epsilon for row in found.leakage] == pytest.approx([1.5, 1.0])
    # Mutant: only one wave counts.
    assert law([one, smoker.channel()], 0) < found.leakage[0].total - 0.5


def test_leakage_of_memoised_reports_is_exact_and_below_their_budget() -> None:
    mechanism = MemoisedGRR(2, 2.0, 1.0)
    found = programme(
        [survey(mechanism, waves=5, answers=1), survey(GRR(2, 1.0), SMOKER, "two")],
        records=RECORDS,
        schema=BOTH,
        source="a.csv",
    )
    rows = [
        np.array([float(Fraction(x, (1 << 64) ** 10)) for x in mechanism._history_law((v,) * 5)[0]]) for v in (0, 1)
    ]
    rows = [row / row.sum() for row in rows]
    channel = np.array(rows)
    for about, row in enumerate(found.leakage):
        assert row.status == "exact"
        assert row.total == pytest.approx(law([channel, GRR(2, 1.0).channel()], about), rel=1e-9)
    assert found.leakage[0].own_epsilon < 2.0


def test_bounds_stand_where_the_state_does_not_fit() -> None:
    """40 waves of OUE by budget, sampled attributes by their whole budget: never below the exact figure."""
    large = programme(
        [survey(MemoisedOUE(2, 2.0, 1.0), waves=9, answers=1), survey(GRR(2, 1.0), SMOKER, "two")],
        records=RECORDS,
        schema=BOTH,
        source="a.csv",
    )
    assert {row.status for row in large.leakage} == {"upper bound"}
    assert large.leakage[0].own_epsilon == pytest.approx(2.0)
    sampled = programme(
        [survey(SMP((2, 2), 1.0), BOTH), survey(SPL((2, 2), 1.0), BOTH, "two", waves=2)],
        records=RECORDS,
        schema=BOTH,
        source="a.csv",
    )
    split = programme([survey(SPL((2, 2), 1.0), BOTH, waves=2)], records=RECORDS, schema=BOTH, source="a.csv")
    for row, alone in zip(sampled.leakage, split.leakage, strict=True):
        assert (row.status, alone.status) == ("upper bound", "exact")
        assert row.total == pytest.approx(alone.total + 1)
        assert row.total <= sampled.epsilon


def test_refuses() -> None:
    with pytest.raises(InvalidParameterError, match="at least one survey"):
        programme([])
    with pytest.raises(InvalidParameterError, match="schema must be given"):
        programme([survey(GRR(2, 1.0))], records=RECORDS)
    other = Schema((Attribute("mood", ("up", "down")), *SMOKER.attributes))
    with pytest.raises(MismatchError, match="same categories"):
        programme([survey(GRR(2, 1.0))], records=RECORDS, schema=other)
    with pytest.raises(MismatchError, match="but the records have no column with this name"):
        programme([survey(GRR(2, 1.0))], records=RECORDS[:, 1:], schema=SMOKER)

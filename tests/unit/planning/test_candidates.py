"""Mechanisms that a plan compares."""

from __future__ import annotations

import math

from deniable.core.names import cards
from deniable.planning import plan, plan_survey
from deniable.planning.candidates import ONE_ATTRIBUTE, RECORDS
from tests.unit.planning.questionnaires import questionnaire


def test_every_mechanism_on_request() -> None:
    short, long = (
        plan_survey(questionnaire(6), 1000, ["1"], every=every).settings[0].mechanisms for every in (False, True)
    )
    assert {row.name for row in short} < {row.name for row in long}
    assert {row.name for row in long} == {one.name for one in ONE_ATTRIBUTE}
    errors = [row.relative_half_width for row in long if row.relative_half_width is not None]
    assert errors == sorted(errors)


def test_every_mechanism_is_offered() -> None:
    names = [one.name for one in (*ONE_ATTRIBUTE, *RECORDS)]
    kept = [
        "GRR", "SUE", "OUE", "RAPPOR", "SubsetSelection", "Exponential", "SHE", "THE", "BLH", "OLH",
        "CMS[spread]", "OCMS", "CMS[partition]", "CMS[linear]", "CMS[prime]", "CMS[binary]",
        "SPL[GRR]", "SPL[OUE]", "SMP[GRR]", "SMP[OUE]", "SMP[ADP]", "PivotCoded", "RS+FD[GRR]", "RS+FD[OUE]", "Corr-RR",
    ]  # fmt: skip
    # The order settles ties. Mechanisms that come later need no line here, because their cards say whether they are
    # offered.
    assert [name for name in names if name in kept] == kept
    for name, card in cards():
        rows = {variant.name for variant in card.variants} or {name}
        assert not card.planned or rows <= set(names), name
        assert card.planned or not rows & set(names), name
    for sizes, offered in (([12], ONE_ATTRIBUTE), ([3, 4], RECORDS)):
        result = plan(sizes, 1.0, contributors=1000)
        assert {row.name for row in result.rows} == {one.name for one in offered}
        assert all(row.feasible and row.mechanism is not None for row in result.rows)
        variances = [row.mean_variance or math.nan for row in result.rows]
        assert variances == sorted(variances)

"""Guarantees about a whole multiple-choice question, against the enumerated distribution of the reports."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from deniable import Attribute, Collection, Schema, SimulationRandomness, mechanism
from deniable.answers import summarize
from deniable.cli import app
from deniable.core.privacy import odds_text
from deniable.records.pair_sample import PairSample
from deniable.records.sample import SMP
from deniable.records.split import SPL
from deniable.report import consent_text, estimate_page, render_html
from deniable.survey.inspection import inspect_collection

SCHEMA = Schema(
    (
        Attribute("sex", ("f", "m", "x")),
        Attribute("devices", ("phone", "radio"), missing="none", kind="multiple"),
        Attribute("smoker", ("yes", "no")),
    )
)
BOXES = (1, 2, 3)


def enumerated(found: Any, columns: tuple[int, ...]) -> Fraction:
    """Return the largest likelihood ratio of two records that differ only in these columns, over all reports."""
    channel = found.channel(exact=True)
    records = list(itertools.product(*map(range, found.sizes)))
    others = [j for j in range(len(found.sizes)) if j not in columns]
    worst = Fraction(1)
    for (i, one), (j, two) in itertools.permutations(enumerate(records), 2):
        if all(one[c] == two[c] for c in others):
            worst = max(worst, *(p / q for p, q in zip(channel[i], channel[j], strict=True) if q or p))
    return worst


@pytest.mark.parametrize("epsilon", ["1", "0.7", "3"])
@pytest.mark.parametrize("oracle", ["GRR", "OUE"])
def test_all_boxes_of_a_question_have_their_shares_together_under_spl(oracle: str, epsilon: str) -> None:
    """m of d options: exactly m/d of the whole epsilon, three times the bound for one option."""
    sizes = (2, 2, 2) if oracle == "OUE" else (3, 2, 2, 2)
    spl, columns = SPL(sizes=sizes, epsilon=Fraction(epsilon), oracle=oracle), (0, 1) if oracle == "OUE" else BOXES
    bound = spl.privacy().question("devices", columns)
    share = float(Fraction(epsilon) * len(columns) / len(sizes))
    assert bound.status == "exact"
    assert bound.epsilon == pytest.approx(share, rel=1e-15)
    # The code stays below the bound, and only by the rounding of thresholds.
    assert math.log(enumerated(spl, columns)) == pytest.approx(share, rel=1e-12)
    assert enumerated(spl, columns) == math.prod(enumerated(spl, (j,)) for j in columns)
    assert bound.epsilon > 1.9 * spl.privacy().per_attribute[columns[0]]


@pytest.mark.parametrize("name", ["SMP", "RS+FD", "PairSample"])
def test_where_a_report_is_about_some_columns_only_the_bound_holds(name: str) -> None:
    found = mechanism(name, sizes=(2, 2, 3), epsilon="1.5")
    for columns in ((0, 1), (0, 2), (1, 2)):
        bound = found.privacy().question("devices", columns)
        assert math.log(enumerated(found, columns)) <= bound.epsilon * (1 + 1e-12)
        assert bound.epsilon <= 1.5
        # None of these parts adds up to the whole. So no sum is known to be attained.
        assert bound.status == "upper bound"
    whole = found.privacy().question("all", (0, 1, 2))
    assert (whole.epsilon, whole.status) == (1.5, "exact")
    assert math.log(enumerated(found, (0, 1, 2))) == pytest.approx(1.5, rel=1e-12)


def test_columns_of_questions() -> None:
    assert SCHEMA.several == {"devices": BOXES}
    assert [SCHEMA.names[j] for j in BOXES] == ["devices: phone", "devices: radio", "devices: none"]
    assert Schema((Attribute("sex", ("f", "m")),)).several == {}


def test_whatever_says_the_guarantee_says_it(tmp_path: Path) -> None:
    survey = Collection(SCHEMA, SPL(sizes=SCHEMA.sizes, epsilon=2.0), title="T")
    found = inspect_collection(survey)
    sentence = (
        "for all options of one question, if the other answers are known, the odds can change by a factor of at most: "
        f"“devices” {odds_text(1.2)}"
    )
    line = "per question: epsilon = 1.2 for devices (exact)"
    assert sentence in found.sentences
    assert found.to_dict()["questions"] == [{"name": "devices", "epsilon": 1.2, "status": "exact"}]
    survey.save(tmp_path / "survey.json")
    for command in ("inspect",):
        said = CliRunner(env={"COLUMNS": "200"}).invoke(app, [command, str(tmp_path / "survey.json")]).stdout
        assert sentence in said
        assert line in said
    assert sentence.removesuffix(" times") in " ".join(consent_text(survey).split())
    aggregate = survey.aggregate(
        survey.randomize(
            {"sex": ["f", "m"], "devices": ["phone", ""], "smoker": ["yes", "no"]}, SimulationRandomness(1)
        )
    )
    summary = summarize(survey.estimate(aggregate), mechanism=survey.mechanism, n=2, several=survey.schema.several)
    assert line in render_html(estimate_page(summary))
    assert json.loads("".join(summary.json_parts()))["guarantee"]["questions"] == found.to_dict()["questions"]
    aggregate.save(tmp_path / "all.aggregate")
    said = (
        CliRunner(env={"COLUMNS": "200"})
        .invoke(app, ["estimate", str(tmp_path / "survey.json"), str(tmp_path / "all.aggregate"), "--verbose"])
        .stdout
    )
    assert line in said


def test_a_survey_without_such_questions_says_nothing_new() -> None:
    single = Collection(Schema(SCHEMA.attributes[::2]), SMP(sizes=(3, 2), epsilon=1.0))
    found = inspect_collection(single)
    assert found.to_dict()["questions"] == []
    assert not any("all options" in sentence for sentence in found.sentences)
    assert found.guarantee.lines(single.schema.names, single.schema.several) == found.guarantee.lines(
        single.schema.names
    )
    assert PairSample((2, 2, 3), 1.0).privacy().question("a", [0, 1]).epsilon == 1.0

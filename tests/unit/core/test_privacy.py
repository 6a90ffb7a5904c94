"""Statements of a guarantee in words, as data and on a page: the same everywhere, and never too small."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

from deniable import GRR, RAPPOR, SMP, Attribute, Collection, Schema
from deniable.answers import summarize
from deniable.core.privacy import Guarantee, bound_text, odds, odds_text
from deniable.errors import InvalidParameterError, PrivacyLimitError
from deniable.report import estimate_page, render_html
from deniable.research.dealt import JRR, CoupledOUE, KaryJRR, QuotaRR, ReportCoupledRR
from deniable.research.dealt.mpc.guarantee import with_helpers

BITS = Schema((Attribute("smoker", ("yes", "no")),))

MECHANISMS: dict[str, Any] = {
    "GRR": GRR(k=2, epsilon=2.0),
    "RAPPOR": RAPPOR.from_epsilon(k=2, epsilon=2.0),
    "QuotaRR": QuotaRR(epsilon=2.0, n=100, deal_id="a"),
    "JRR": JRR.optimal(100, 2.0, 3),
    "KaryJRR": KaryJRR.optimal(3, 100, 2.0, 3),
    "ReportCoupledRR": ReportCoupledRR.optimal(100, 2.0, 3),
    "CoupledOUE": CoupledOUE.optimal(3, 100, 2.0, 3),
}


@pytest.fixture(params=[*MECHANISMS, "helpers"])
def guarantee(request: pytest.FixtureRequest) -> Guarantee:
    if request.param == "helpers":
        return with_helpers(MECHANISMS["QuotaRR"].privacy())
    found: Guarantee = MECHANISMS[request.param].privacy()
    return found


def test_repetition_is_never_free_as_data(guarantee: Guarantee) -> None:
    """The rows contain at least one row that says, in a field and in its bound, that reports add up."""
    rows = guarantee.to_dict()["trust_models"]
    repeated = [row for row in rows if row["scaling"] == "per report"]
    assert repeated
    assert all(row["bound"].startswith("epsilon = r x ") for row in repeated)
    assert all(row["scaling"] == "once" and "r x" not in row["bound"] for row in rows if row not in repeated)
    assert all(row["scaling"] == "per report" for row in rows if row["view"].startswith("r reports"))


def test_text_says_what_the_field_says_whatever_the_words(guarantee: Guarantee) -> None:
    for text in (str(guarantee), "\n".join(guarantee.lines([]))):
        assert text.count("epsilon = r x ") == sum(row.scaling == "per report" for row in guarantee.trust_models)
        assert all(row.bound in text for row in guarantee.trust_models)


def test_files_and_pages_say_the_same() -> None:
    survey = Collection(BITS, GRR(k=2, epsilon=2.0))
    estimates = survey.estimate(survey.aggregate(np.array([0, 1, 1])))
    summary = summarize(estimates, mechanism=survey.mechanism, n=3)
    page, data = render_html(estimate_page(summary)), summary.to_dict()
    document = json.loads(survey.to_json())
    for row in survey.privacy().to_dict()["trust_models"]:
        assert row in data["guarantee"]["trust_models"]
        assert row in document["guarantee"]["trust_models"]
        assert row["bound"] in page


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.35, 1.0, math.log(2.72), math.log(7.39), 3.0, 4.0, 10.0, 32.0])
def test_odds_are_rounded_up(epsilon: float) -> None:
    with localcontext(prec=60):
        exact = Decimal(epsilon).exp()
    found = odds(epsilon)
    assert exact <= found <= exact * Decimal("1.01")
    assert len(found.as_tuple().digits) <= 3
    assert Decimal(odds_text(epsilon).replace(",", "")) == found


@pytest.mark.parametrize("value", [1.0, 1.0000001, 1 / 3, 2 / 3, 1e-6, 0.1 + 0.2, 31.99999999, 1.4999995])
def test_bounds_are_rounded_up(value: float) -> None:
    shown = Decimal(bound_text(value))
    assert Decimal(str(value)) <= shown <= Decimal(str(value)) * Decimal("1.00001")
    assert bound_text(math.inf) == "inf"


def test_what_is_implemented_is_rounded_up_too() -> None:
    above = Guarantee(1.0, (1.0,), math.nextafter(1.0, 2.0), ())
    assert above.headline.endswith("(implemented: 1.000000000001)")
    assert GRR(k=2, epsilon=1.0).privacy().headline.endswith("(implemented: 1.000000000000)")


def test_plain_words() -> None:
    assert GRR(k=2, epsilon=1.0).privacy().plain_words()[0] == (
        "whatever you send, nobody's odds about you can change by more than a factor of 2.72"
    )
    words = SMP(sizes=(2, 3), epsilon=1.0).privacy().plain_words(("smoker", "age"))
    assert (
        "for one answer on its own, if the others are known, the odds can change by a factor of at most: "
        "“smoker” 2.72, “age” 2.72" in words
    )


def test_plain_words_do_not_promise_what_a_dealer_can_undo() -> None:
    """`nobody` is for guarantees that trust nobody."""
    for name in ("QuotaRR", "ReportCoupledRR", "CoupledOUE"):
        words = MECHANISMS[name].privacy().plain_words()
        assert not any("nobody's" in line for line in words)
        assert any(
            "who sees all reports and all shares can change the odds without any limit" in line for line in words
        )
    capped = QuotaRR(epsilon=1.0, n=100, epsilon_aux=2.0, deal_id="a").privacy().plain_words()
    assert capped[0].startswith(
        "whatever you send, the odds about you can change by a factor of at most 2.72 for collector"
    )
    assert any("collector and dealer" in line and "by a factor of up to 7.39" in line for line in capped)


@pytest.mark.parametrize(("epsilon", "warned"), [(4.0, False), (4.000001, True), (32.0, True)])
def test_above_four_there_is_a_warning(epsilon: float, warned: bool) -> None:
    assert bool(GRR(k=2, epsilon=epsilon).privacy().warnings) is warned


def test_a_guarantee_without_a_finite_epsilon_is_warned_of() -> None:
    assert MECHANISMS["ReportCoupledRR"].privacy().warnings == (
        "the guarantee has no finite epsilon: read who sees what before you report",
    )


def test_a_contributor_states_the_most_they_accept() -> None:
    guarantee = GRR(k=2, epsilon=0.1).privacy()
    guarantee.require(0.1)
    guarantee.require("0.1")
    with pytest.raises(PrivacyLimitError, match=r"^epsilon must be <= max_epsilon=0.0999, .* epsilon = 0\.1\. Nothing"):
        guarantee.require("0.0999")
    with pytest.raises(PrivacyLimitError, match="but this guarantee has epsilon = inf"):
        MECHANISMS["ReportCoupledRR"].privacy().require(32)
    with pytest.raises(InvalidParameterError, match="max_epsilon must be a finite number"):
        guarantee.require("much")
    with pytest.raises(InvalidParameterError, match="max_epsilon must be > 0"):
        guarantee.require(0)

"""Budgets of people who answer in several collections: exact sums, stated before spending, and limited."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable import GRR, SMP, SPL, Collection, mechanism
from deniable.core.privacy import Guarantee, TrustModel
from deniable.errors import AlreadyRandomizedError, PrivacyLimitError
from deniable.files import randomize_file
from deniable.files.jobs.ledger import Entry, answers_ledger
from deniable.files.jobs.spending import Spending, budget
from deniable.oracles.rappor import RAPPOR
from deniable.research.dealt.files import deal_file
from deniable.survey.schema import Attribute, Schema
from tests.unit.files.jobs.spent import FEW, survey
from tests.unit.survey_files import SCHEMA, N, answers_file, files, rng


@pytest.mark.parametrize("n", [FEW, N])
def test_five_collections_of_the_same_answers_add_up(n: int, tmp_path: Path) -> None:
    answers = answers_file(tmp_path / "a.csv", n)
    said: list[Spending] = []
    for version in range(1, 6):
        kind = SMP if version % 2 else SPL
        result = randomize_file(
            survey("4", version, kind), answers, tmp_path / f"{version}.parquet", rng(version), on_total=said.append
        )
        assert result.spending.total == 4 * version
    assert [found.total for found in said] == [4, 8, 12, 16, 20]
    assert said[0].text == ""
    assert said[1].text == (
        f"these answers were randomised before: epsilon = 4 in collection {survey('4', 1, SMP).id[:12]} (into "
        f"{tmp_path / '1.parquet'}); with this collection their contributors spend epsilon = 8 in all"
    )
    found = said[4].to_dict()
    assert found["epsilon"] == 20.0
    assert [one["epsilon"] for one in found["earlier"]] == [4.0] * 4
    assert found["earlier"][3] == {
        "collection": survey("4", 4, SPL).id, "epsilon": 4.0, "into": str(tmp_path / "4.parquet"), "begun": False,
    }  # fmt: skip


def test_many_answers_add_up_whatever_their_file_few_by_their_path(tmp_path: Path) -> None:
    for n, total in ((N, 6), (FEW, 4)):
        randomize_file(survey("2"), answers_file(tmp_path / f"{n}.csv", n), tmp_path / f"{n}.1", rng())
        same = answers_file(tmp_path / f"{n} copy.parquet", n)
        copied = randomize_file(survey("2", 2), same, tmp_path / f"{n}.2", rng())
        original = randomize_file(survey("2", 3), tmp_path / f"{n}.csv", tmp_path / f"{n}.3", rng())
        assert copied.spending.total == (4 if n == N else 2)
        assert original.spending.total == total


def test_decimals_are_added_exactly(tmp_path: Path) -> None:
    """In floats, ten times 0.1 is less than 1, and three times more than 0.3."""
    answers = answers_file(tmp_path / "a.csv", FEW)
    for version in range(1, 11):
        limit = "0.3" if version <= 3 else 1
        done = randomize_file(survey("0.1", version), answers, tmp_path / f"{version}", rng(), max_epsilon=limit)
    assert done.spending.total == 1
    assert done.spending.bound == "epsilon = 1"
    with pytest.raises(
        PrivacyLimitError, match=r"must be <= max_epsilon=1, got epsilon = 1\.1, which is 0\.1 too much"
    ):
        randomize_file(survey("0.1", 11), answers, tmp_path / "11", rng(), max_epsilon=1)
    assert done.spending.to_dict()["epsilon"] == 1.0
    # A total that no float equals is rounded up.
    third = Entry(event="randomized", collection="c", into="r", last=1, epsilon="1/3")
    assert Fraction(Spending(survey("0.1"), (third,)).to_dict()["epsilon"]) > Fraction(13, 30)


@pytest.mark.parametrize("n", [FEW, N])
def test_a_limit_is_one_on_the_total(n: int, tmp_path: Path) -> None:
    answers = answers_file(tmp_path / "a.csv", n)
    randomize_file(survey("4"), answers, tmp_path / "1.parquet", rng(), max_epsilon=4)
    randomize_file(survey("4", 2), answers, tmp_path / "2.parquet", rng(), max_epsilon=8)
    before, drawn = answers_ledger().entries(), rng(3)
    with pytest.raises(PrivacyLimitError) as caught:
        randomize_file(survey("4", 3), answers, tmp_path / "3.parquet", drawn, max_epsilon="10")
    assert str(caught.value) == (
        "epsilon of all collections of these answers must be <= max_epsilon=10, got epsilon = 12, which is 2 too much; "
        f"spent before: epsilon = 4 in collection {survey('4').id[:12]} (into {tmp_path / '1.parquet'}), epsilon = 4 "
        f"in collection {survey('4', 2).id[:12]} (into {tmp_path / '2.parquet'}). Nothing was randomised: ask for a "
        "collection with a smaller epsilon, or accept a larger total"
    )
    assert answers_ledger().entries() == before
    assert files(tmp_path) == {"a.csv", "1.parquet", "2.parquet"}
    # Nothing was drawn: the source is in its original state.
    assert drawn.generator.bit_generator.state == rng(3).generator.bit_generator.state
    randomize_file(survey("2", 3), answers, tmp_path / "3.parquet", rng(), max_epsilon="10")


def test_the_total_is_said_before_anything_is_drawn(tmp_path: Path) -> None:
    answers, drawn = answers_file(tmp_path / "a.csv"), rng(3)
    randomize_file(survey("4"), answers, tmp_path / "1.parquet", rng())
    before = answers_ledger().entries()

    def leave(found: Spending) -> None:
        assert found.total == 5
        assert len(found.earlier) == 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        randomize_file(survey("1", 2), answers, tmp_path / "2.parquet", drawn, on_total=leave)
    assert drawn.generator.bit_generator.state == rng(3).generator.bit_generator.state
    assert answers_ledger().entries() == before
    assert files(tmp_path) == {"a.csv", "1.parquet"}


def test_a_run_at_the_same_time_counts_as_well(tmp_path: Path) -> None:
    """It is recorded after the total was stated; the last check is under the ledger's lock."""
    answers = answers_file(tmp_path / "a.csv")

    def meanwhile(_: Spending) -> None:
        randomize_file(survey("4", 2), answers, tmp_path / "2.parquet", rng())

    with pytest.raises(PrivacyLimitError, match="got epsilon = 8, which is 3 too much"):
        randomize_file(survey("4"), answers, tmp_path / "1.parquet", rng(), max_epsilon=5, on_total=meanwhile)
    assert files(tmp_path) == {"a.csv", "2.parquet"}
    assert len(answers_ledger().entries()) == 1


def test_runs_of_one_collection_and_stopped_ones_count(tmp_path: Path) -> None:
    answers = answers_file(tmp_path / "a.csv", FEW)
    path = f"path:{answers.resolve()}"
    stopped = Entry(
        event="randomized",
        collection="1f" * 32,
        into="/gone.parquet",
        last=FEW,
        answers=path,
        epsilon="1.5",
        begun=True,
    )
    unknown = stopped.model_copy(update={"epsilon": "", "begun": False, "into": "/old.parquet"})
    ledger = answers_ledger()
    with ledger.held():
        ledger.change([stopped])
    randomize_file(survey("2"), answers, tmp_path / "1.parquet", rng())
    with pytest.raises(
        AlreadyRandomizedError,
        match=r"the bound for each contributor is epsilon = 5\.5 instead of epsilon = 2\. To randomise",
    ):
        randomize_file(survey("2"), answers, tmp_path / "2.parquet", rng())
    with pytest.raises(PrivacyLimitError, match=r"got epsilon = 5\.5, .* \(into /gone.parquet, if that appeared\), "):
        randomize_file(survey("2"), answers, tmp_path / "2.parquet", rng(), allow_repeat=True, max_epsilon=5)
    assert randomize_file(
        survey("2"), answers, tmp_path / "2.parquet", rng(), allow_repeat=True, max_epsilon=5.5
    ).spending.total == Fraction("5.5")
    # A record of an earlier version, which has no spending, is not read as zero.
    with ledger.held():
        ledger.change([unknown])
    with pytest.raises(PrivacyLimitError, match="got an epsilon without a known bound; spent before"):
        randomize_file(survey("2", 2), answers, tmp_path / "3.parquet", rng(), max_epsilon=32)
    said: list[Spending] = []
    randomize_file(survey("2", 2), answers, tmp_path / "3.parquet", rng(), on_total=said.append)
    assert said[0].to_dict()["epsilon"] is None


def test_phases_enter_the_same_total(tmp_path: Path) -> None:
    from deniable.records.phases.phases import next_phase

    answers = answers_file(tmp_path / "a.csv")
    first = Collection(SCHEMA, SPL(sizes=SCHEMA.sizes, epsilon=1.0))
    randomize_file(first, answers, tmp_path / "1.parquet", rng())
    reports = first.aggregate(first.randomize({"smoker": ["yes", "no"] * 200, "age": ["30", "50"] * 200}, rng()))
    second = next_phase(first, reports, contributors=N)
    done = randomize_file(second, answers, tmp_path / "2.parquet", rng(), allow_repeat=True)
    assert done.spending.total == 2
    assert "a person who takes part in both phases spends the epsilons of both" in done.warnings[0]


def test_shares_enter_with_a_collector_who_sees_all_reports(tmp_path: Path) -> None:
    schema = Schema((Attribute("smoker", ("yes", "no")),))
    answers = tmp_path / "a.csv"
    answers.write_text("smoker\n" + "yes\nno\n" * 5)
    randomize_file(Collection(schema, GRR(k=2, epsilon=0.5)), answers, tmp_path / "1.parquet", rng())
    quota = Collection(schema, mechanism("QuotaRR", k=2, epsilon="0.7", n=10, deal_id="one"))
    deal_file(quota, 10, tmp_path / "deal", rng())
    done = randomize_file(quota, answers, tmp_path / "2.parquet", rng(), shares=tmp_path / "deal")
    assert done.spending.total == Fraction("1.2")


def test_what_each_kind_of_guarantee_adds() -> None:
    one = Schema((Attribute("smoker", ("yes", "no")),))

    def added(found: Any) -> float:
        text = budget(Collection(one, found))
        return float(Fraction(text)) if text else math.inf

    # The budget is as declared, although its float is less than 0.35.
    assert budget(Collection(one, GRR(k=2, epsilon=0.35))) == "0.35"
    assert budget(Collection(one, GRR(k=2, epsilon=Fraction(1, 3)))) == "1/3"
    # A tighter guarantee than the declared budget adds its own epsilon. RAPPOR counts as if any number of reports were
    # seen.
    assert added(mechanism("Exponential", k=2, epsilon=1.0)) == 0.5
    rappor = RAPPOR.from_epsilon(k=2, epsilon=1.0)
    assert added(rappor) == rappor.privacy().epsilon
    # With a dealer, the bound is against somebody who sees all reports and knows everybody else's answer, without help
    # from the dealer.
    coupled = mechanism("CoupledOUE", k=2, q=0.3, n=10, weight=0.5, deal_id="one")
    (knows,) = (row for row in coupled.privacy().trust_models if row.view == "all reports and everybody else's data")
    assert coupled.privacy().epsilon == math.inf
    assert added(coupled) == knows.epsilon < math.inf
    nobody = Guarantee(math.inf, (math.inf,), math.inf, (replace(knows, epsilon=math.inf),))
    assert nobody.of_all_reports == math.inf
    weakest = TrustModel("collector", "all reports, everybody else's data and all n-1 others' shares", 3.0)
    assert replace(nobody, trust_models=(weakest, knows)).of_all_reports == 3.0


def test_other_questions_of_the_same_file_add_up(tmp_path: Path) -> None:
    """Five collections may ask five questions: the people of the file are the same, if it is the same file."""
    answers = answers_file(tmp_path / "a.csv")
    (smoker,) = (one for one in SCHEMA.attributes if one.name == "smoker")
    alone = Collection(Schema((smoker,)), GRR(k=3, epsilon=0.5))
    randomize_file(survey("2"), answers, tmp_path / "1.parquet", rng())
    copy = tmp_path / "copy.csv"
    copy.write_bytes(answers.read_bytes())
    assert randomize_file(alone, copy, tmp_path / "2.parquet", rng()).spending.total == Fraction("2.5")
    other = answers_file(tmp_path / "b.parquet")
    assert randomize_file(alone, other, tmp_path / "3.parquet", rng(), allow_repeat=True).spending.total == 1
    kept = [entry.file for entry in answers_ledger().entries()]
    assert kept[0] == kept[1] != kept[2]
    few = answers_file(tmp_path / "few.csv", FEW)
    randomize_file(survey("1"), few, tmp_path / "4.parquet", rng())
    assert answers_ledger().entries()[-1].file == ""

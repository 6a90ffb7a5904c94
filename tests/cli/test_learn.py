"""Phases are connected through files: `learn` and `combine`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from deniable import OCMS, Aggregate, Collection
from deniable.oracles import bound_price, max_frequency_bound
from deniable.records.phases.phases import Phases, aggregate_hash
from deniable.records.phases.refinement import refine
from deniable.records.pivot.corr_rr import CorrRR
from deniable.survey.collection import LearnedFrom
from tests.cli.conftest import MadeOnce, Run, run_all


@pytest.fixture
def phases(run: Run, made_once: MadeOnce) -> Run:
    """A survey with two phases: 1,000 contributors use SPL, the other 3,000 Corr-RR."""
    lines = Path("answers.csv").read_text().splitlines(keepends=True)
    Path("one.csv").write_text("".join(lines[:1001]))
    Path("two.csv").write_text("".join([lines[0], *lines[1001:]]))
    made_once(
        "phases",
        lambda: run_all(
            run,
            "collection --schema schema.json --epsilon 3 --mechanism SPL --title Habits -o one.json",
            "randomize one.json one.csv -o one.parquet",
            "aggregate one.json one.parquet -o one.aggregate",
            "learn one.json one.aggregate --contributors 3000 -o two.json",
            "randomize two.json two.csv -o two.parquet",
            "aggregate two.json two.parquet -o two.aggregate",
        ),
    )
    return run


@pytest.fixture
def alike(run: Run, made_once: MadeOnce) -> Run:
    """Phases over two attributes of two categories; a.json uses SPL, b.json Corr-RR."""
    names = ("smoker", "drinker")
    attributes = [{"name": name, "categories": ["yes", "no"]} for name in names]
    Path("alike.json").write_text(
        json.dumps({"format": "deniable schema", "format_version": 1, "attributes": attributes})
    )
    codes = np.random.default_rng(3).random((4000, 2)) < (0.2, 0.4)
    lines = [",".join("yes" if one else "no" for one in row) + "\n" for row in codes]
    for name, part in (("a", lines[:2000]), ("b", lines[2000:])):
        Path(f"{name}.csv").write_text("".join([",".join(names) + "\n", *part]))
    made_once(
        "alike",
        lambda: run_all(
            run,
            "collection --schema alike.json --epsilon 3 --mechanism SPL -o a.json",
            "randomize a.json a.csv -o a.parquet",
            "aggregate a.json a.parquet -o a.aggregate",
            "learn a.json a.aggregate --contributors 2000 -o b.json",
            "randomize b.json b.csv -o b.parquet",
            "aggregate b.json b.parquet -o b.aggregate",
        ),
    )
    return run


def test_the_second_file_records_the_first(phases: Run) -> None:
    first, second = Collection.load("one.json"), Collection.load("two.json")
    assert second.learned_from is not None
    assert (second.learned_from.collection, second.learned_from.contributors) == (first.id, 1000)
    assert (second.version, second.title, second.mechanism.name) == (2, "Habits", "Corr-RR")
    document = json.loads(Path("two.json").read_text())
    assert document["learned_from"]["collection"] == first.id
    assert "learned_from" not in json.loads(Path("one.json").read_text())
    # Only what was learned is published: the counts of phase one are not in the file.
    for count in Aggregate.load("one.aggregate").counts:
        assert f" {count}," not in Path("two.json").read_text()
    document["learned_from"]["contributors"] = 1001
    Path("two.json").write_text(json.dumps(document))
    changed = phases("aggregate", "two.json", "two.parquet", "-o", "x.aggregate")
    assert changed.exit_code == 2
    assert "was changed after it was made" in changed.stderr


def test_combine_is_the_librarys(phases: Run) -> None:
    result = phases("combine", "one.json", "one.aggregate", "two.json", "two.aggregate", "--json")
    shown = json.loads(result.stdout)
    parts = [(Collection.load(f"{name}.json"), Aggregate.load(f"{name}.aggregate")) for name in ("one", "two")]
    # The weights are the counts: a quarter for phase one and three quarters for phase two.
    first, second = (collection.estimate(aggregate) for collection, aggregate in parts)
    for attribute in shown["attributes"]:
        name = attribute["attribute"]
        expected = 0.25 * first[name].frequencies + 0.75 * second[name].frequencies
        found = [category["estimate"] for category in attribute["categories"]]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert shown["n"] == 4000 == Phases(parts).n
    weighted = phases(
        "combine", "one.json", "one.aggregate", "two.json", "two.aggregate", "--weights", "0.9,0.1", "--json"
    )
    assert {one["reports"] for one in json.loads(weighted.stdout)["attributes"]} == {4000}
    assert shown["guarantee"]["epsilon"] == 3.0
    assert shown["guarantee"]["per_attribute"][0] > 1.5, "phase two's, not the smaller one of phase one"
    assert "phase 1: SPL, 1,000 contributors, epsilon = 3 for each" in shown["guarantee"]["remarks"]


def test_the_predicted_loss_is_said_where_one_learns_and_combines(phases: Run) -> None:
    sentence = "predicted: unbiased estimates of this phase have [0-9.,]+ times the variance of .+, the default, on the"
    learned = phases("learn", "one.json", "one.aggregate", "--contributors", "3000", "-o", "again.json")
    assert re.search(sentence, " ".join(learned.stdout.split()))
    combined = phases("combine", "one.json", "one.aggregate", "two.json", "two.aggregate")
    assert re.search(f"^phase 2, Corr-RR: {sentence} same people$", combined.stderr, re.M)
    assert "phase 1, " not in combined.stderr


def test_weights_learned_from_the_data_have_no_intervals(phases: Run) -> None:
    files = ("one.json", "one.aggregate", "two.json", "two.aggregate")
    result = phases("combine", *files, "--weights", "inverse-variance", "--plot", "out.png", "--html", "out.html")
    assert result.exit_code == 0, result.output
    assert "There are no intervals. The estimate is biased" in " ".join(result.stdout.split())
    assert "nan" not in Path("out.html").read_text().split("<svg")[0]
    assert Path("out.png").stat().st_size > 1000
    given = phases("combine", *files, "--weights", "0.5,0.5", "--postprocess", "simplex")
    assert "The 95% interval covers" in given.stdout
    assert "simplex" in given.stdout


def test_late_reports_of_phase_one_are_noted(phases: Run) -> None:
    phases("randomize", "one.json", "answers.csv", "-o", "late.parquet")
    phases("aggregate", "one.json", "one.parquet", "late.parquet", "-o", "more.aggregate")
    result = phases("combine", "one.json", "more.aggregate", "two.json", "two.aggregate")
    assert "phase 2 learned from 1,000 reports of phase 1, not from these 5,000" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("combine one.json one.aggregate", "at least two phases must be given, each as a collection and an aggregate"),
        ("combine one.json one.aggregate two.json", "got 3 files"),
        ("combine two.json two.aggregate one.json one.aggregate", "phase 2 (collection"),
        ("combine one.json one.aggregate one.json one.aggregate", "merge the aggregates of this collection first"),
        ("combine one.json two.aggregate two.json two.aggregate", "the aggregate belongs to collection"),
        ("combine one.json one.aggregate two.json two.aggregate --weights lots", "got weights=“lots”"),
        ("combine one.json one.aggregate two.json two.aggregate --weights 1,2,3", "weights must be 2 numbers"),
        ("combine one.json one.aggregate two.json two.aggregate --postprocess magic", "got postprocess=“magic”"),
        ("learn one.json two.aggregate --contributors 10 -o x.json", "the aggregate belongs to collection"),
        ("learn one.json one.aggregate --contributors 1 -o x.json", "contributors must be >= 2, got contributors=1"),
        ("learn one.json one.aggregate --contributors 10 --mechanism GRR -o x.json", "mechanism must be one of"),
        (
            "learn one.json one.aggregate --contributors 10 --set metod=joint -o x.json",
            "got “metod”; leave this setting out",
        ),
        ("learn one.json one.aggregate --contributors 10 --set as_printed=7 -o x.json", "got as_printed=7"),
        (
            "learn one.json one.aggregate --contributors 10 --mechanism Cond-RR -o x.json",
            "pair tables need an aggregate of the mechanism SPL pairs, got an aggregate of SPL(",
        ),
        ("learn one.json one.aggregate --contributors 10 -o two.json", "two.json exists with different content"),
        ("learn one.json one.aggregate --contributors 10 -o one.aggregate", "must not be one of the inputs"),
    ],
)
def test_bad_input(phases: Run, line: str, message: str) -> None:
    result = phases(*line.split())
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not Path("x.json").exists()


def test_the_same_answers_are_not_randomised_in_two_phases(phases: Run) -> None:
    twice = phases("randomize", "two.json", "one.csv", "-o", "x.parquet")
    assert twice.exit_code == 2
    said = " ".join(twice.stderr.split())
    assert re.search(
        r"one\.csv was randomised before for the phase that this collection learned from \(into /\S+/one\.parquet\)",
        said,
    )
    assert not Path("x.parquet").exists()
    meant = phases("randomize", "two.json", "one.csv", "-o", "x.parquet", "--allow-repeat")
    assert meant.exit_code == 0
    assert "a person who takes part in both phases spends the epsilons of both" in " ".join(meant.stderr.split())


def test_names_of_classes_are_names_of_mechanisms(phases: Run) -> None:
    made = phases("collection", "--schema", "schema.json", "--epsilon", "1", "--mechanism", "SPLPairs", "-o", "p.json")
    assert made.exit_code == 0
    assert Collection.load("p.json").mechanism.name == "SPL pairs"
    assert phases("randomize", "p.json", "one.csv", "-o", "p.parquet").exit_code == 0
    assert phases("aggregate", "p.json", "p.parquet", "-o", "p.aggregate").exit_code == 0
    arguments = ("learn", "p.json", "p.aggregate", "--contributors", "10", "--mechanism", "CondRR", "-o", "q.json")
    assert phases(*arguments).exit_code == 0
    assert Collection.load("q.json").mechanism.name == "Cond-RR"


def test_learning_again_writes_the_same_file(phases: Run) -> None:
    before = Path("two.json").read_bytes()
    again = phases(
        "learn", "one.json", "one.aggregate", "--contributors", "3000", "--mechanism", "corr-rr", "-o", "two.json"
    )
    assert again.exit_code == 0
    assert Path("two.json").read_bytes() == before


# -------------------------------------------------------------------- a bound on all frequencies


LEARN = ("learn", "one.json", "one.aggregate", "--mechanism", "OCMS", "--contributors")


def test_a_sketch_is_learned_from_a_pilot_of_one_attribute(run: Run) -> None:
    words = [f"w{i}" for i in range(2000)]
    Path("words.txt").write_text("\n".join(words))
    chosen = np.where(np.arange(3000) < 300, 7, np.arange(3000) % 2000)
    Path("pilot.csv").write_text("\n".join(["word", *(words[i] for i in chosen)]) + "\n")
    run_all(
        run,
        "collection --dictionary words.txt --attribute word --mechanism OCMS --epsilon 3 -o one.json",
        "randomize one.json pilot.csv -o one.parquet",
        "aggregate one.json one.parquet -o one.aggregate",
    )
    learned = run(*LEARN, "9000", "--set", "confidence=0.9", "-o", "two.json")
    assert learned.exit_code == 0, learned.output
    pilot = Aggregate.load("one.aggregate")
    bound = max_frequency_bound(pilot, 0.9)
    assert Collection.load("two.json").mechanism == OCMS(2000, "3", "mse", bound.max_frequency)
    said = " ".join(learned.stdout.split())
    expected = f"learned from 3,000 contributors: no value has more than {100 * bound.max_frequency:.3g}%, with 90%"
    assert expected in said
    for sentence in bound_price(2000, "3", 9000, bound.max_frequency).sentences:
        assert sentence in said
    Path("others.csv").write_text("\n".join(["word", *(words[i % 2000] for i in range(5000))]) + "\n")
    run_all(run, "randomize two.json others.csv -o two.parquet", "aggregate two.json two.parquet -o two.aggregate")
    both = run("combine", "one.json", "one.aggregate", "two.json", "two.aggregate", "--json")
    assert json.loads(both.stdout)["n"] == 8000
    assert "not determined" not in both.stderr
    refused = run(*LEARN, "9", "--set", "confidence=2", "-o", "x.json")
    assert refused.exit_code == 2
    assert "confidence must be in (0, 1), got confidence=2" in refused.stderr


# -------------------------------------------------------------------- named estimators


def test_a_named_estimator_has_intervals_where_the_default_has_none(alike: Run) -> None:
    collection, aggregate = Collection.load("b.json"), Aggregate.load("b.aggregate")
    mechanism = collection.mechanism
    assert isinstance(mechanism, CorrRR)
    assert "There are no intervals" in " ".join(alike("estimate", "b.json", "b.aggregate").stdout.split())
    shown = json.loads(alike("estimate", "b.json", "b.aggregate", "--estimator", "unmixed", "--json").stdout)
    for attribute, expected in zip(shown["attributes"], mechanism.unmixed(aggregate).values(), strict=True):
        low, _ = expected.interval()
        assert [one["estimate"] for one in attribute["categories"]] == pytest.approx(expected.frequencies, abs=1e-12)
        assert [one["lower"] for one in attribute["categories"]] == pytest.approx(low, abs=1e-12)
    files = ("a.json", "a.aggregate", "b.json", "b.aggregate")
    assert "There are no intervals" in " ".join(alike("combine", *files).stdout.split())
    both = json.loads(alike("combine", *files, "--estimator", "unmixed", "--json").stdout)
    first = Collection.load("a.json").estimate(Aggregate.load("a.aggregate"))
    for attribute, second in zip(both["attributes"], mechanism.unmixed(aggregate).values(), strict=True):
        expected_both = (first[attribute["attribute"]].frequencies + second.frequencies) / 2
        assert [one["estimate"] for one in attribute["categories"]] == pytest.approx(expected_both, abs=1e-12)
        assert all(one["standard_error"] > 0 for one in attribute["categories"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("estimate b.json b.aggregate --estimator levelled", "one of debiased, unmixed for Corr-RR, got"),
        ("estimate b.json b.aggregate --estimator privacy", "got estimator=“privacy”"),
        (
            "estimate a.json a.aggregate --estimator unmixed",
            "left out, because SPL has only one, got estimator=“unmixed”",
        ),
        ("combine a.json a.aggregate b.json b.aggregate --estimator clipped", "one of debiased, unmixed, got"),
        (
            "estimate b.json b.aggregate --estimator unmixed --deal a.aggregate",
            "--estimator must be left out with --deal",
        ),
    ],
)
def test_unknown_estimators_name_the_choices(alike: Run, line: str, message: str) -> None:
    result = alike(*line.split())
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


# -------------------------------------------------------------------- rounds


def test_the_third_phase_learns_from_both(alike: Run) -> None:
    files = ("a.json", "a.aggregate", "b.json", "b.aggregate")
    made = alike("learn", *files, "--contributors", "500", "-o", "c.json")
    assert made.exit_code == 0, made.output
    third, ids = Collection.load("c.json"), [Collection.load(f"{name}.json").id for name in "ab"]
    aggregates = [Aggregate.load(f"{name}.aggregate") for name in "ab"]
    assert third.mechanism == refine(aggregates, 500)
    assert third.mechanism != refine(aggregates[:1], 500)
    assert third.version == 3
    assert third.learned_from is not None
    assert (third.learned_from.collection, third.learned_from.earlier) == (ids[1], (ids[0],))
    assert third.learned_from.contributors == 4000
    assert "earlier" not in json.loads(Path("b.json").read_text())["learned_from"]
    again = alike("randomize", "c.json", "a.csv", "-o", "c.parquet")
    assert again.exit_code == 2, "a's contributors have taken part, two phases before"
    for line in (
        "randomize c.json b.csv -o c.parquet --allow-repeat",
        "aggregate c.json c.parquet -o c.aggregate",
        "combine a.json a.aggregate b.json b.aggregate c.json c.aggregate --estimator unmixed",
    ):
        result = alike(*line.split())
        assert result.exit_code == 0, result.output
    assert "not from these" not in result.output
    late = ("aggregate", "b.json", "b.parquet", "late.parquet", "-o", "more.aggregate")
    alike("randomize", "b.json", "a.csv", "-o", "late.parquet", "--allow-repeat")
    assert alike(*late).exit_code == 0
    result = alike("combine", *files[:3], "more.aggregate", "c.json", "c.aggregate")
    said = " ".join(result.stderr.split())
    assert "phase 3 learned from 4,000 reports of phases 1 and 2, not from these 6,000" in said


def test_corr_rr_alone_teaches_by_its_unmixed_estimate(alike: Run) -> None:
    made = alike("learn", "b.json", "b.aggregate", "--contributors", "500", "-o", "c.json")
    assert made.exit_code == 0, made.output
    learned = Collection.load("c.json").mechanism
    assert isinstance(learned, CorrRR)
    expected = np.array(refine([Aggregate.load("b.aggregate")], 500).copy_probabilities)
    np.testing.assert_allclose(np.array(learned.copy_probabilities), expected, rtol=0, atol=1e-12)
    # Copies that are certain leave only the mean of the attributes to learn from.
    blind = ("collection", "--schema", "alike.json", "--epsilon", "3", "--mechanism", "Corr-RR")
    assert alike(*blind, "--set", "copy_probabilities=[[1,1],[1,1]]", "-o", "blind.json").exit_code == 0
    assert alike("randomize", "blind.json", "b.csv", "-o", "blind.parquet").exit_code == 0
    assert alike("aggregate", "blind.json", "blind.parquet", "-o", "blind.aggregate").exit_code == 0
    refused = alike("learn", "blind.json", "blind.aggregate", "--contributors", "500", "-o", "d.json")
    assert refused.exit_code == 2
    assert "learn from this phase together with the earlier phases, or from a phase with the mechanism SPL" in " ".join(
        refused.stderr.split()
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("learn a.json a.aggregate b.json --contributors 9 -o x.json", "for each phase, got 3 files"),
        (
            "learn b.json b.aggregate a.json a.aggregate --contributors 9 -o x.json",
            "must have learned from an earlier phase",
        ),
        (
            "learn a.json a.aggregate b.json b.aggregate --mechanism RSRFD --contributors 9 -o x.json",
            "only Corr-RR can learn from 2 phases, got mechanism=“RS+RFD”",
        ),
        (
            "learn a.json a.aggregate b.json b.aggregate --set as_printed=true --contributors 9 -o x.json",
            "settings for Corr-RR from several phases must be among method, alignment",
        ),
        ("learn a.json a.aggregate b.json b.aggregate --contributors 1 -o x.json", "contributors must be >= 2"),
    ],
)
def test_bad_rounds(alike: Run, line: str, message: str) -> None:
    result = alike(*line.split())
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not Path("x.json").exists()


# -------------------------------------------------------------------- precision


def test_a_phase_that_makes_all_worse_is_named(alike: Run) -> None:
    """Nearly certain copies leave the difference of the two attributes nearly undetermined."""
    first, aggregate = Collection.load("a.json"), Aggregate.load("a.aggregate")
    learned = LearnedFrom(first.id, aggregate_hash(aggregate), aggregate.n)
    blurred = CorrRR((2, 2), 3.0, ((1.0, 0.98), (0.98, 1.0)))
    second = Collection(first.schema, blurred, 2, learned_from=learned)
    second.save("blurred.json")
    assert alike("randomize", "blurred.json", "b.csv", "-o", "blurred.parquet").exit_code == 0
    assert alike("aggregate", "blurred.json", "blurred.parquet", "-o", "blurred.aggregate").exit_code == 0
    files = ("combine", "a.json", "a.aggregate", "blurred.json", "blurred.aggregate")
    result = alike(*files, "--estimator", "unmixed")
    said = " ".join(result.stderr.split())
    noisy = second.estimate(Aggregate.load("blurred.aggregate"), estimator="unmixed")["smoker"]
    fine = first.estimate(aggregate)["smoker"]
    alone = fine.standard_errors_for("population")[0]
    both = np.hypot(alone, noisy.standard_errors_for("population")[0]) / 2
    pattern = (
        r"warning: smoker: the standard error is (\S+) for all phases together by counts, and (\S+) for phase 1 alone: "
        "use that phase alone"
    )
    stated = re.search(pattern, said)
    assert stated is not None, said
    assert both > 1.5 * alone
    assert [float(one) for one in stated.groups()] == pytest.approx([both, alone], rel=0.15)
    assert "warning: drinker: " in said
    assert said.endswith("give it more weight by --weights")
    assert "warning" not in alike(*files, "--estimator", "unmixed", "--weights", "1,0").stderr
    assert "warning" not in alike(*files).stderr, "a biased combination has no standard error"


def test_unequal_domains_too_large_for_copies_name_another_mechanism(run: Run) -> None:
    labels = [f"v{code}" for code in range(70_000)]
    attributes = [{"name": "town", "categories": labels}, {"name": "smoker", "categories": ["yes", "no"]}]
    Path("large.json").write_text(
        json.dumps({"format": "deniable schema", "format_version": 1, "attributes": attributes})
    )
    Path("large.csv").write_text("town,smoker\nv1,no\nv69999,yes\n")
    for line in (
        "collection --schema large.json --epsilon 3 --mechanism SPL -o l.json",
        "randomize l.json large.csv -o l.parquet",
        "aggregate l.json l.parquet -o l.aggregate",
    ):
        assert run(*line.split()).exit_code == 0
    refused = run("learn", "l.json", "l.aggregate", "--contributors", "9", "-o", "m.json")
    assert refused.exit_code == 2
    said = " ".join(refused.stderr.split())
    assert "at most 262144 copy probabilities, got 280000: use the mechanism RS+RFD" in said
    learned = run("learn", "l.json", "l.aggregate", "--contributors", "9", "--mechanism", "RS+RFD", "-o", "m.json")
    assert learned.exit_code == 0, learned.output


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("SPL pairs", "a plan lists SPL[GRR], which has the same errors for frequencies"),
        ("SPLPairs", "a plan lists SPL[GRR]"),
        ("Cond-RR", "the error of Cond-RR depends on tables that are learned in a first phase"),
        ("Corr-RR groups", "Corr-RR has one group of all attributes, and SPL[GRR] has d groups of one attribute each"),
        ("GroupedCorrRR", "the error of Corr-RR groups depends on probabilities that"),
        ("Corr-RR two pivots", "the error tables of Corr-RR and SPL[GRR]"),
        ("two-phase RS+RFD", "see RS+FD[GRR], which is RS+RFD with uniform priors"),
    ],
)
def test_what_cannot_be_planned_says_what_to_compare(run: Run, name: str, message: str) -> None:
    line = ("plan", "--sizes", "3,3", "--epsilon", "1", "--contributors", "1000", "--mechanism", name)
    refused = run(*line)
    assert refused.exit_code == 2
    assert message in " ".join(refused.stderr.split())
    assert run(*line[:-1], "Corr-RR").exit_code == 0

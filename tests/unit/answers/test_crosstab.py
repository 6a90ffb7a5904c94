"""Crosstabs: known answers, intervals that cover, tests that refuse, and mutants that must fail."""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable import SMP, Attribute, Collection, Schema, SimulationRandomness
from deniable.answers.crosstab import Crosstab, Crosstabs, crosstabs
from deniable.errors import InvalidParameterError, MismatchError, UnknownCategoryError
from deniable.leakage.totals.collections import sampled_leakage
from deniable.records.dependence.decoding import dependence_decode
from deniable.records.pair_margins import Margins
from deniable.records.pair_parts import Reported
from deniable.records.pair_sample import PairSample
from deniable.records.sampled_tables import SampledTables
from deniable.records.split import SPLPairs

Floats = NDArray[np.float64]
ASKED = importlib.import_module("deniable.answers.crosstab")
VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "pairs.json").read_text())


def table_of(table: Any, n: int, epsilon: float = 1.0) -> Crosstab:
    """Return the crosstab of a collection of two attributes whose only table is this one."""
    frequencies = np.array(table, dtype=float)
    mechanism = PairSample(frequencies.shape, epsilon)
    tables = SampledTables(Margins(mechanism.sizes, (Reported(mechanism.parts[0], n, frequencies),), n))
    return Crosstabs(tables, [0, 1], [tuple("abcdefgh"[:k]) for k in frequencies.shape])[0, 1]


def test_known_answers() -> None:
    """The known answers come from independent code."""
    own = table_of(VECTORS["own"]["table"], VECTORS["own"]["n"])
    difference = own.difference(0, groups=(0, 1))
    expected = VECTORS["own"]["diff_rows01_col0"]
    assert [difference.value, *difference.interval(target="population")] == pytest.approx(expected[:3], rel=1e-8)
    odds = own.odds_ratio()
    value, *ends = VECTORS["own"]["odds_ratio"]
    assert odds.interval(target="population") == pytest.approx(ends, rel=1e-7)
    assert odds.value == pytest.approx(value, rel=1e-5)  # the other value is less the population's covariance
    assert own.independence().p_value == pytest.approx(VECTORS["own"]["independence_p"], rel=1e-9)


def test_the_decoder_gives_its_known_answers() -> None:
    given, known = VECTORS["consistent"], VECTORS["eb"]
    mechanism = PairSample(tuple(given["sizes"]), given["epsilon"], "0.25")
    parts = []
    for part in mechanism.parts:
        key = ",".join(map(str, part.attributes))
        which = ("tables", "n") if len(part.attributes) == 2 else ("singles", "n_singles")
        parts.append(Reported(part, given[which[1]][key], np.array(given[which[0]][key])))
    tables = SampledTables(Margins(mechanism.sizes, tuple(parts), sum(int(one.n) for one in parts)))
    decoded = dependence_decode(tables)
    for j, margin in enumerate(decoded.margins):
        assert margin == pytest.approx(np.array(known["margins"][str(j)]), abs=1e-12)
        assert tables.margin_spread(j) == pytest.approx(known["s2"][str(j)][0], rel=1e-12)
    for (i, j), table in decoded.tables.items():
        assert table.frequencies == pytest.approx(np.array(known["tables"][f"{i},{j}"]), abs=1e-12)
        assert table.processing == ("dependence",)


def mechanism_of(collection: Collection) -> Any:
    """Return the mechanism of a collection."""
    return collection.mechanism


def survey(n: int = 6000, epsilon: float = 2.0) -> tuple[Collection, Any]:
    """A collection of three questions: the second depends on the first, and the third is independent."""
    schema = Schema(
        (
            Attribute("team", ("sales", "support", "labs")),
            Attribute("content", ("yes", "no")),
            Attribute("lunch", ("rice", "bread", "soup", "none")),
        )
    )
    collection, rng = Collection(schema, PairSample(schema.sizes, epsilon)), SimulationRandomness(5)
    team = rng.generator.integers(0, 3, n)
    content = (rng.generator.random(n) > np.array([0.9, 0.5, 0.2])[team]).astype(int)
    records = np.stack([team, content, rng.generator.integers(0, 4, n)], axis=1)
    return collection, collection.aggregate(mechanism_of(collection).randomize(records, rng))


def test_tables_are_found_by_name_and_turned_with_their_question() -> None:
    """Mutant that swaps axes: a table read in the other direction gives the same answers."""
    collection, aggregate = survey()
    tables = crosstabs(collection, aggregate)
    assert list(tables) == [("team", "content"), ("team", "lunch"), ("content", "lunch")]
    one, turned = tables["team", "lunch"], tables["lunch", "team"]
    assert one.labels == turned.labels[::-1] == (("sales", "support", "labs"), ("rice", "bread", "soup", "none"))
    for name in ("raw", "consistent"):
        assert np.array_equal(getattr(one, name), getattr(turned, name).T)
    assert np.array_equal(one.decoded.frequencies, turned.decoded.frequencies.T)
    assert np.array_equal(one.interval()[0], turned.interval()[0].T)
    assert one.odds_ratio(("labs", "sales"), ("soup", "rice")).interval() == pytest.approx(
        turned.odds_ratio(("soup", "rice"), ("labs", "sales")).interval(), rel=1e-12
    )
    assert one.independence().p_value == turned.independence().p_value
    # Shares of rows are compared with the same shares from cells and margins.
    share = turned.conditional("labs", given="none")
    cells = one.consistent
    assert share.value == pytest.approx(cells[2, 3] / cells[:, 3].sum(), rel=1e-12)
    assert share.interval()[0] < share.value < share.interval()[1]
    estimates = collection.estimate(aggregate)
    assert cells.sum(axis=0) == pytest.approx(estimates["lunch"].frequencies, abs=1e-12)
    first = crosstabs(
        collection.mechanism,
        collection.mechanism.aggregate(mechanism_of(collection).randomize([[0, 0, 0]] * 9, SimulationRandomness(1))),
    )
    assert list(first) == [(0, 1), (0, 2), (1, 2)]


def test_several_categories_count_as_one() -> None:
    tables = crosstabs(*survey())
    table = tables["content", "lunch"]
    whole = table.conditional(("rice", "bread", "soup", "none"), given="yes")
    assert (whole.value, *whole.interval()) == pytest.approx((1, 1, 1), abs=1e-7)
    some = table.conditional(("rice", "soup"), given="yes")
    apart = [table.conditional(one, given="yes").value for one in ("rice", "soup")]
    assert some.value == pytest.approx(sum(apart), rel=1e-12)
    difference = tables["team", "content"].difference("yes", groups=("sales", ["support", "labs"]))
    assert difference.interval()[0] > 0.3
    assert difference.source == tables["team", "content"].conditional("yes", given="labs").source != frozenset()


def test_all_shares_at_once_are_those_one_by_one() -> None:
    table = crosstabs(*survey())["team", "lunch"]
    value, lower, upper = table.conditionals()
    one = table.conditional("soup", given="labs")
    assert (value[2, 2], lower[2, 2], upper[2, 2]) == (one.value, *one.interval())
    assert value.sum(axis=1) == pytest.approx(np.ones(3), abs=1e-12)


def test_what_the_reports_cannot_tell_is_not_determined() -> None:
    """A category without holders, a cell of 0, a pair without reports: there are answers, and no exceptions."""
    table = table_of([[0.0, 0.0, 0.0], [0.5, 0.3, 0.2]], 3000)
    nobody = table.conditional("a", given="a")
    assert not nobody.determined()  # this is 0/0
    rare = table_of([[0.004, 0.0, 0.0], [0.496, 0.3, 0.2]], 3000).conditional("a", given="a")
    assert (rare.determined(), rare.interval()) == (False, (-math.inf, math.inf))
    assert not table.difference("a", groups=("a", "b")).determined()
    odds = table_of([[0.5, 0.0], [0.25, 0.25]], 3000).odds_ratio()
    assert (odds.determined(), *odds.interval()) == (False, 0.0, math.inf)
    mechanism = PairSample((2, 2, 2), 1.0)
    reports = mechanism.randomize(np.zeros((300, 3), dtype=int), SimulationRandomness(1))
    aggregate = mechanism.aggregate(type(reports)(*(column[reports.choice == 0] for column in reports)))
    empty = crosstabs(mechanism, aggregate)[1, 2]
    assert empty.n == 0
    assert np.isnan(empty.raw).all()
    assert np.isnan(empty.interval()[0]).all()
    asked = (empty.conditional(0, given=0), empty.difference(0, groups=(0, 1)), empty.odds_ratio(), empty.cramers_v())
    assert not any(found.determined() for found in asked)
    assert not empty.independence().determined
    assert np.isnan(empty.decoded.frequencies).all()


def test_the_test_is_refused_where_its_level_was_not_found_to_hold() -> None:
    few, enough = (table_of(np.full((4, 4), 1 / 16), n).independence() for n in (300, 60_000))
    assert (few.determined, enough.determined) == (False, True)
    assert few.reports_needed == enough.reports_needed > 300
    assert f"the test needs {few.reports_needed:,}" in few.note
    at, below = (table_of(np.full((4, 4), 1 / 16), few.reports_needed - less).independence() for less in (0, 1))
    assert (at.determined, below.determined) == (True, False)


def test_the_chi_squared_of_split_budgets_is_that_of_the_reported_codes() -> None:
    pairs, rng = SPLPairs((2, 3), 2.0), SimulationRandomness(2)
    aggregate = pairs.aggregate(pairs.randomize(rng.generator.integers(0, (2, 3), (400, 2)), rng))
    found = crosstabs(pairs, aggregate)[0, 1].independence()
    expected = stats.chi2_contingency(aggregate.counts.reshape(2, 3), correction=False)
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-12)
    assert (found.degrees, found.reports_needed) == (2, 0)
    nothing = crosstabs(pairs, pairs.aggregate(np.array([[0, 1]] * 5)))[0, 1]
    assert not nothing.independence().determined
    assert nothing.decoded.frequencies.sum() == pytest.approx(1)


def test_bad_questions_are_named() -> None:
    collection, aggregate = survey(300)
    tables = crosstabs(collection, aggregate)
    with pytest.raises(InvalidParameterError, match="two different attributes, got “team” twice"):
        tables["team", "team"]
    with pytest.raises(InvalidParameterError, match="attribute must be one of team, content, lunch, got “tea”"):
        tables["tea", "team"]
    table = tables["team", "content"]
    with pytest.raises(UnknownCategoryError, match="“content” has no category “maybe”; its categories are “yes”, “no”"):
        table.conditional("maybe", given="sales")
    with pytest.raises(InvalidParameterError, match="a code of “team” must be <= 2"):
        table.conditional("yes", given=3)
    with pytest.raises(InvalidParameterError, match="without a common category, but “sales” is in both groups"):
        table.difference("yes", groups=("sales", ("labs", "sales")))
    with pytest.raises(InvalidParameterError, match="target must be"):
        table.interval(target="everybody")  # type: ignore[arg-type]
    smp = SMP(collection.schema.sizes, 1.0)
    with pytest.raises(MismatchError, match="a cross table needs reports that combine two answers"):
        crosstabs(smp, smp.aggregate(smp.randomize([[0, 0, 0]], SimulationRandomness(1))))
    with pytest.raises(MismatchError, match="collection"):
        crosstabs(
            collection,
            collection.mechanism.aggregate(mechanism_of(collection).randomize([[0, 0, 0]], SimulationRandomness(1))),
        )


# ---------------------------------------------------------------- by sampling


def coverage(runs: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Return the coverage of 95% intervals on T* of six attributes, and the level of the independence test at .05.

    The groups' reports are drawn as normal variables with their exact covariances. The long check, `python -m
    experiments answers`, draws real reports.
    """
    sizes, n = (2, 2, 3, 3, 2, 2), 60_000
    mechanism, generator = PairSample(sizes, 4.0), np.random.default_rng(7)
    dependent = np.array([[0.15, 0.35], [0.35, 0.15]])

    def truth(pair: Any) -> Floats:
        return dependent if pair == (0, 1) else np.full([sizes[j] for j in pair], 1 / math.prod(sizes[j] for j in pair))

    parts = mechanism.expected_tables(n, truth).margins.reported
    roots = []
    for one in parts:
        pair: Any = one.part.attributes
        own = SampledTables(Margins(sizes, (one,), n))[pair]
        covariance = own.covariance(np.eye(one.frequencies.size).reshape(-1, *one.part.sizes), "population")
        values, vectors = np.linalg.eigh(covariance)
        roots.append(vectors * np.sqrt(values.clip(0)))
    hits = dict.fromkeys(("cell", "difference", "share", "odds", "level", "mutant"), 0.0)
    odds = dependent[0, 0] * dependent[1, 1] / (dependent[0, 1] * dependent[1, 0])
    for _ in range(runs):
        drawn = [
            Reported(
                one.part, one.n, one.frequencies + (root @ generator.standard_normal(len(root))).reshape(one.part.sizes)
            )
            for one, root in zip(parts, roots, strict=True)
        ]
        tables = Crosstabs(SampledTables(Margins(sizes, tuple(drawn), n)), range(6), [tuple("abc"[:k]) for k in sizes])
        table = tables[0, 1]
        lower, upper = table.interval(target="population")
        hits["cell"] += lower[0, 1] <= 0.35 <= upper[0, 1]
        for name, found, true in (
            ("difference", table.difference(0, groups=(0, 1)), 0.3 - 0.7),
            ("share", table.conditional(1, given=0), 0.7),
            ("odds", table.odds_ratio(), odds),
        ):
            low, high = found.interval(target="population")
            hits[name] += low <= true <= high
        with monkeypatch.context() as mutant:  # this mutant drops rho
            mutant.setattr(ASKED, "_correlation", lambda _one, _other, _target: 0.0)
            low, high = table.difference(0, groups=(0, 1)).interval(target="population")
            hits["mutant"] += low <= 0.3 - 0.7 <= high
        hits["level"] += tables[2, 3].independence().p_value < 0.05
    return {name: count / runs for name, count in hits.items()}


@pytest.mark.long
def test_intervals_cover_and_the_correlation_may_not_be_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = 900
    found = coverage(runs, monkeypatch)
    # The bound allows one failure in a million over six statements, and .01 because intervals are exact only in large
    # samples.
    error = stats.norm.isf(1e-6 / 6) * math.sqrt(0.95 * 0.05 / runs) + 0.01
    for name in ("cell", "difference", "share", "odds"):
        assert abs(found[name] - 0.95) < error, found
    assert abs(found["level"] - 0.05) < error, found
    assert found["mutant"] < 0.95 - error, found


# ---------------------------------------------------------------- answers from base classes


def test_a_report_of_a_pair_leaks_what_its_code_says() -> None:
    """X1 copies X0: a report of (0, 1) reveals epsilon about both, a report of (1, 2) something about X0 too."""
    rng = SimulationRandomness(1)
    first = rng.generator.integers(0, 2, 400)
    records = np.stack([first, first, rng.generator.integers(0, 3, 400)], axis=1)
    found = sampled_leakage(records, PairSample((2, 2, 3), 1.0))
    assert found.direct[:2] == pytest.approx([1.0, 1.0], abs=1e-9)
    assert 0.2 < found.matrix[0, 1] < 1.0
    assert found.matrix[0, 0] == 0
    assert all(total.epsilon <= 1 for total in found.totals)
    assert found.totals[2].epsilon == max(found.direct[2], found.matrix[2].max())

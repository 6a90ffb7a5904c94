from __future__ import annotations

import ast
import csv
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.corr_rr import (
    claim_page,
    claims,
    figures,
    measure,
    methods,
    pictures,
    populations,
    real,
    statements,
    tables,
    variants,
)
from experiments.corr_rr.__main__ import MODULES
from experiments.corr_rr.coverage import draw_coverage
from experiments.corr_rr.layouts import LAYOUTS, Layout
from experiments.corr_rr.methods import Setting, errors, estimates, reported, simulated
from experiments.corr_rr.optimum import probability
from experiments.corr_rr.paper import PAPER, expected
from experiments.corr_rr.populations import People, Synthetic, people, synthetic
from experiments.harness import Cell, MissingDataError, Run
from experiments.pages import Results
from numpy.typing import NDArray
from scipy import stats

from deniable import Aggregate, Estimate, RecordEstimate, SimulationRandomness

FOLDER = Path(populations.__file__).parent
MINE = (
    *("tables", "optimum", "figures", "layouts", "claims", "data_tables", "variants", "readings", "ideas"),
    *("real", "measure", "methods", "populations", "pictures", "paper"),
)
Floats = NDArray[np.float64]


# ---------------------------------------------------------------- names, documents, numbers


def test_every_experiment_is_registered_and_documented() -> None:
    assert MODULES
    printed = {f"table-{i}" for i in (2, 4, 5, 6, 7, 8, 9)}
    printed |= {f"figure-{i}" for i in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14)}
    printed |= {f"v1-figure-{i}" for i in range(4, 15)} | {"agreement", "claims", "real-data", "variants"}
    assert printed <= set(PAPER.experiments)
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name in PAPER.experiments:
        assert f"`{name}`" in text, name


def test_only_the_public_interface_is_used() -> None:
    for name in MINE:
        tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("deniable"):
                imported = [*node.module.split("."), *(alias.name for alias in node.names)]
                assert not any(part.startswith("_") for part in imported), (name, imported)


def test_the_printed_cells() -> None:
    printed = expected()["tables"]
    assert sorted(printed) == ["4", "5", "6", "7", "8", "9"]
    cells = [n for t in printed.values() for m in t["cells"].values() for row in m.values() for n in row]
    assert len(cells) == 360
    for table in printed.values():
        assert table["n1"] == [table["n"] * i // 20 for i in range(1, 11)]
    # These digits are copied from the print.
    assert printed["6"]["cells"]["Corr-RR"]["0.5"][0] == "5.729e-04"
    assert printed["7"]["cells"]["RS+RFD"]["0.1"][-1] == "2.823e+00"
    assert expected()["table2"]["columns"]["0.9"]["SynB"] == ["0.899", "0.897", "0.812", "0.804", "0.730", "0.904"]


# ---------------------------------------------------------------- synthetic data


def test_table_2_follows_from_equal_marginals_only() -> None:
    """On a tree of copies, correlations multiply along the path: rho per edge if copies keep the marginals."""
    for source in ("equal_marginals", "shared_marginals"):
        for rho in (0.1, 0.5, 0.9):
            star = Synthetic(source, 4, 4, rho, (0, 0, 0))
            chain = Synthetic(source, 4, 4, rho, (0, 1, 2))
            assert star.correlation(0, 3) == pytest.approx(rho, abs=1e-12)
            assert star.correlation(1, 2) == pytest.approx(rho**2, abs=1e-12)
            assert chain.correlation(0, 3) == pytest.approx(rho**3, abs=1e-12)
    # As described, the next value is a copy or *another* value. So the codes' regression slope is a = (k rho - 1)/(k -
    # 1).
    for rho, digits in ((0.1, -0.180), (0.5, 0.302), (0.9, 0.841)):
        a = (4 * rho - 1) / 3
        first = np.array([0.4, 0.3, 0.2, 0.1])
        second = 0.25 + a * (first - 0.25)
        deviation = [math.sqrt(share @ np.arange(4) ** 2 - (share @ np.arange(4)) ** 2) for share in (first, second)]
        found = Synthetic("as_described", 4, 2, rho, (0,))
        assert found.correlation(0, 1) == pytest.approx(a * deviation[0] / deviation[1], abs=1e-12)
        assert found.correlation(0, 1) == pytest.approx(digits, abs=5e-4)
        np.testing.assert_allclose(found.marginals[1], second, atol=1e-15)
    # Read literally, "another value" after a uniform first attribute would not give the printed correlations either.
    slope = (4 * 0.1 - 1) / 3
    assert slope == pytest.approx(-0.2)


def test_the_printed_correlations() -> None:
    deviation = 0.0075  # a correlation near zero over 20,000 records deviates by at most this; 1/sqrt(n) = .0071
    wrong = {"as_described": 0, "equal_marginals": 0}
    for source in wrong:
        for rho, columns in expected()["table2"]["columns"].items():
            for data in ("SynA", "SynB"):
                source_law = Synthetic(source, 4, 4, float(rho), tables.tree(data, rho))
                pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
                for number, pair in zip(columns[data], pairs, strict=True):
                    wrong[source] += abs(float(number) - source_law.correlation(*pair)) > 3 * deviation
    assert wrong["equal_marginals"] == 0
    assert wrong["as_described"] >= 30


def test_joint_and_marginals_agree() -> None:
    law = Synthetic("as_described", 3, 4, 0.3, (0, 1, 1))
    assert law.joint.shape == (3, 3, 3, 3)
    assert law.joint.sum() == pytest.approx(1, abs=1e-14)
    for j in range(4):
        np.testing.assert_allclose(law.joint.sum(axis=tuple(a for a in range(4) if a != j)), law.marginals[j])
    # Given their parent, attribute 1, the attributes 2 and 3 are independent.
    given = law.joint.sum(axis=0)[1]
    given = given / given.sum()
    np.testing.assert_allclose(given, np.outer(given.sum(axis=1), given.sum(axis=0)), atol=1e-15)


@pytest.mark.parametrize("tabulated", [True, False])
@pytest.mark.parametrize("source", ["as_described", "equal_marginals", "shared_marginals"])
def test_drawn_records_follow_the_joint(source: str, tabulated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not tabulated:
        monkeypatch.setattr(populations, "TABULATED", 0)
    law = Synthetic(source, 3, 3, 0.4, (0, 1))
    group = law.draw(60_000, np.random.default_rng(7))
    counts = np.zeros((3, 3, 3))
    counts[tuple(group.records.T)] = group.counts
    assert group.n == 60_000
    level = 1e-6 / 6
    assert stats.chisquare(counts.ravel(), 60_000 * law.joint.ravel()).pvalue > level
    # Mutants: rho differs; a star replaces the chain.
    for mutant in (replace(law, rho=0.43), replace(law, parents=(0, 0))):
        assert stats.chisquare(counts.ravel(), 60_000 * mutant.joint.ravel()).pvalue < level


def test_parents() -> None:
    rng = np.random.default_rng(1)
    assert synthetic("SynA", "as_described", 4, 5, 0.1, rng).parents == (0, 0, 0, 0)
    drawn = [synthetic("SynB", "as_described", 4, 4, 0.1, rng).parents for _ in range(600)]
    assert {parents[0] for parents in drawn} == {0}
    counts = np.bincount([2 * (2 * parents[1]) // 2 * 3 // 2 + parents[2] for parents in drawn], minlength=6)
    assert stats.chisquare(counts).pvalue > 1e-6


def test_people() -> None:
    group = people(np.array([[1, 0], [0, 2], [1, 0]]), (2, 3))
    assert group.records.tolist() == [[0, 2], [1, 0]]
    assert group.counts.tolist() == [1, 2]
    assert [counts.tolist() for counts in group.marginal_counts] == [[1, 2], [2, 0, 1]]
    assert [part.tolist() for part in group.frequencies] == [[1 / 3, 2 / 3], [2 / 3, 0, 1 / 3]]


def test_phase_one_is_a_random_part() -> None:
    group = People(np.array([[0], [1], [2]]), np.array([500, 300, 200]), (3,))
    rng = np.random.default_rng(2)
    parts = [group.split(100, rng) for _ in range(2000)]
    assert all(first.n == 100 and second.n == 900 for first, second in parts)
    assert all((first.counts + second.counts == group.counts).all() for first, second in parts)
    drawn = np.array([first.counts for first, _ in parts])
    # The variance is hypergeometric: 100 f (1-f) 900/999. The mean of 2000 is normal.
    f = np.array([0.5, 0.3, 0.2])
    variance = 100 * f * (1 - f) * 900 / 999
    assert (np.abs(drawn.mean(axis=0) - 100 * f) < 5.2 * np.sqrt(variance / 2000)).all()
    assert (np.abs(drawn.var(axis=0) / variance - 1) < 5.2 * math.sqrt(2 / 2000)).all()


# ---------------------------------------------------------------- the fast distribution and that of reports

Collect = Callable[[Any, People, SimulationRandomness], Aggregate]


def _other_budget(mechanism: Any, group: People, rng: SimulationRandomness) -> Aggregate:
    drawn = simulated(replace(mechanism, epsilon=1.5 * float(mechanism.epsilon)), group, rng)
    return Aggregate(mechanism, drawn.counts, drawn.n)


def _other_codes(mechanism: Any, group: People, rng: SimulationRandomness) -> Aggregate:
    """Shift the second attribute's codes by one."""
    slipped = People(group.records.copy(), group.counts, group.sizes)
    slipped.records[:, 1] = (slipped.records[:, 1] + 1) % group.sizes[1]
    return simulated(mechanism, slipped, rng)


def _features(collect: Collect, seed: int, runs: int) -> Floats:
    """Return results of a small survey, float64[runs, features]: 900 contributors, d = 3, k = 3.

    The features of each method are the logarithm of its error, raw and projected, and the errors of two of its
    frequencies.
    """
    law = Synthetic("as_described", 3, 3, 0.6, (0, 0))
    result = []
    for run in range(runs):
        rng = SimulationRandomness(1000 * seed + run)
        group = law.draw(900, rng.generator)
        found = estimates(group, Setting(2.0, 300, known_priors=True), rng, collect)
        found.pop("uniform")
        mse = errors(group.frequencies, found)
        truth = group.frequencies
        wrong = [part[j].frequencies[0] - truth[j][0] for part in found.values() for j in (0, 1)]
        result.append([*np.log(list(mse.values())), *wrong])
    return np.array(result)


def _largest_z(first: Floats, second: Floats) -> float:
    scale = np.sqrt(first.var(axis=0, ddof=1) / len(first) + second.var(axis=0, ddof=1) / len(second))
    return float((np.abs(first.mean(axis=0) - second.mean(axis=0)) / scale).max())


@pytest.mark.long
def test_the_whole_pipeline_agrees_with_records() -> None:
    runs = 80
    slow, fast = _features(reported, 1, runs), _features(simulated, 2, runs)
    features = slow.shape[1]
    assert features == 25 + 24  # twelve methods, raw and projected, and one decoded have two frequencies each
    bound = float(stats.norm.isf(1e-6 / 2 / features))
    assert _largest_z(slow, fast) < bound
    worst = min(stats.ks_2samp(slow[:, i], fast[:, i]).pvalue for i in range(features))
    assert worst > 1e-6 / features
    assert _largest_z(slow, _features(_other_budget, 3, runs // 2)) > bound
    assert _largest_z(slow, _features(_other_codes, 4, runs // 2)) > bound


# ---------------------------------------------------------------- cells of the papers


def _cell(table: str, source: str, epsilon: float, n1: int, runs: int) -> Cell:
    own = [cell for cell in tables.settings(table, source) if cell["epsilon"] == epsilon]
    chosen = next(cell for cell in own if round(cell["share"] * cell["n"]) == n1)
    cell = chosen | {"runs": runs, "seed": 1}
    return cell | measure.measure(cell)


def _printed(table: str, method: str, epsilon: float, n1: int) -> str:
    printed = expected()["tables"][table]
    number: str = printed["cells"][method][f"{epsilon}"][printed["n1"].index(n1)]
    return number


@pytest.mark.parametrize(
    ("table", "epsilon", "n1"), [("4", 0.1, 20), ("5", 0.5, 100), ("6", 0.5, 1000), ("9", 0.1, 4000)]
)
def test_equal_marginals_give_the_printed_cells(table: str, epsilon: float, n1: int) -> None:
    cell = _cell(table, "equal_marginals", epsilon, n1, runs=60)
    for method in ("RS+RFD", "Corr-RR"):
        z = tables.compared(cell, method, _printed(table, method, epsilon, n1)).z
        # Eight comparisons have a family-wise 1e-4 with 60 repetitions, whose errors are skewed.
        assert abs(z) < 4.5, (method, z)


@pytest.mark.parametrize(("table", "epsilon", "n1"), [("6", 0.5, 1000), ("9", 0.5, 3000)])
def test_the_described_data_do_not(table: str, epsilon: float, n1: int) -> None:
    cell = _cell(table, "as_described", epsilon, n1, runs=60)
    assert tables.compared(cell, "Corr-RR", _printed(table, "Corr-RR", epsilon, n1)).z > 3.5
    assert abs(tables.compared(cell, "RS+RFD", _printed(table, "RS+RFD", epsilon, n1)).z) < 4.5


def test_the_printed_rs_rfd_is_clipped() -> None:
    cell = _cell("4", "equal_marginals", 0.1, 20, runs=80)
    raw, deviation = cell["mse"]["RS+RFD|raw"]
    assert raw > 2 * float(_printed("4", "RS+RFD", 0.1, 20))
    assert (raw - float(_printed("4", "RS+RFD", 0.1, 20))) / deviation * math.sqrt(80) > 6


def test_a_comparison_counts_both_errors_and_the_rounding() -> None:
    cell: Cell = {"runs": 400, "mse": {"Corr-RR|raw": [3e-3, 2e-3]}}
    both = tables.compared(cell, "Corr-RR", "2.500e-03")
    assert both.error == pytest.approx(1e-4)
    assert both.expected_error == pytest.approx(math.hypot(2e-4, 5e-7 / math.sqrt(3)))
    assert both.z == pytest.approx(5e-4 / math.sqrt(5e-8), rel=1e-4)
    rows = [{"z": z, "ours": ours, "paper": 1.0} for z, ours in ((0.0, 1.0), (-4.0, 0.25), (3.5, 4.0), (2.9, 1.0))]
    found = tables.verdict(rows)
    assert (found["cells"], found["|z| > 3"], found["largest"]) == (4, 2, 4.0)
    assert found["chi2/cell"] == pytest.approx((16 + 12.25 + 8.41) / 4)
    assert found["ours/paper"] == pytest.approx(1.0)


# ---------------------------------------------------------------- methods


def _estimate(frequencies: list[float], n: int) -> Estimate:
    return Estimate(np.array(frequencies), n, np.ones(2), np.ones(2))


def test_nobody_asked() -> None:
    one = RecordEstimate({0: _estimate([0.9, 0.1], 100)})
    assert methods.uniform(one)[0].frequencies.tolist() == [0.5, 0.5]


def test_errors_are_means_over_values_then_attributes() -> None:
    found = {"SMP": RecordEstimate({0: _estimate([1.2, -0.2], 100), 1: _estimate([0.5, 0.5], 100)})}
    mse = errors([np.array([0.8, 0.2]), np.array([0.5, 0.5])], found)
    assert mse["SMP|raw"] == pytest.approx(0.08)
    assert mse["SMP|simplex"] == pytest.approx(0.02)
    assert set(mse) == {"SMP|raw", "SMP|simplex"}


def test_the_copy_probability_of_figure_2() -> None:
    # The regression slope of the marginals is 18001/17999 (.2/.3) in gains. p = (1 + a)/2 at k = 2, clipped to [0, 1].
    assert probability(0.7, 0.8) == pytest.approx((1 + 18_001 / 17_999 * 0.2 / 0.3) / 2, rel=1e-12)
    assert probability(0.9, 0.6) == 1.0
    assert probability(0.1, 0.7) == 0.0
    assert probability(0.9, 0.5) == 0.5
    assert probability(0.7, 0.8, as_printed=True) == 1.0


# ---------------------------------------------------------------- results without printed numbers


def test_variants_use_every_contributor_once() -> None:
    group = Synthetic("as_described", 3, 3, 0.8, (0, 0)).draw(4000, np.random.default_rng(3))
    found = variants.variants(group, 4.0, 400, SimulationRandomness(5))
    assert {"Corr-RR", "Corr-RR groups", "Cond-RR", "two pivots", "Corr-RR, four rounds", "default"} <= set(found)
    for name, one in found.items():
        assert {part.contributors for part in one.values()} == {4000}, name
        assert all(np.isfinite(part.frequencies).all() for part in one.values()), name
    # Unbiased estimates are as near to the truth as their standard errors say.
    for name in ("default", "Cond-RR", "two pivots unmixed"):
        for part, f in zip(found[name].values(), group.frequencies, strict=True):
            assert part.is_raw
            assert (np.abs(part.frequencies - f) < 5 * part.standard_errors).all(), name


def test_two_pivots_are_left_out_where_they_are_too_large() -> None:
    group = Synthetic("as_described", 6, 9, 0.8, (0,) * 8).draw(300, np.random.default_rng(3))
    found = variants.variants(group, 3.0, 60, SimulationRandomness(5))
    assert "two pivots" in found
    assert "two pivots unmixed" not in found


# ---------------------------------------------------------------- figures and claims


def test_layouts_cover_the_papers_axes() -> None:
    for name, layout in LAYOUTS.items():
        cells = layout.all_cells()
        assert len(cells) == len(layout.sources) * len(layout.panel[1]) * len(layout.axis[1]), name
        assert len(layout.panel[1]) == 3
        assert layout.runs == (200 if name.startswith("v1") else 100)
        assert layout.open
        for cell in cells:
            if "source" in cell:
                assert cell["n"] == (10_000 if name.startswith("v1") else 20_000)
                assert cell["d"] >= 2
                assert 0 < cell["rho"] < 1
            assert 0 < cell["epsilon"] <= 5
            assert 0 < cell["share"] <= 0.5


def _together(cell: Cell, errors_of: dict[str, list[float]]) -> Cell:
    """Return a cell like `measure.together`, with these errors in its repetitions."""
    values = np.array(list(errors_of.values()))
    lines = [f"{name}|raw" for name in errors_of]
    found: Cell = cell | {"lines": lines, "mean": values.mean(axis=1).tolist(), "covariance": np.cov(values).tolist()}
    return found | {"runs": values.shape[1]}


def test_claims_are_about_cells_that_exist() -> None:
    for claim in claims.CLAIMS:
        for figure in claim.figures:
            layout = LAYOUTS[figure]
            cells = [cell for cell in layout.all_cells() if cell.get("source", "") == layout.sources[0]]
            same = {name: [1.0, 1.5] for name in (*claims.BASELINES, *claims.RULES.values())}
            found = claims.ratios(claim, claim.of, [_together(cell, same) for cell in cells])
            assert found, claim
            assert {one.value for one in found} == {1.0}
            assert claim.low < claim.high


def test_ratios_have_the_standard_error_of_pairs() -> None:
    """Compared with the ratio's spread over many experiments of 200 repetitions; unpaired, it is far too large."""
    rng = np.random.default_rng(4)
    ratios, stated, unpaired = [], [], []
    for _ in range(400):
        shared = rng.gamma(4, size=200)
        cell = _together({}, {"Corr-RR": list(0.5 * shared + rng.gamma(1, size=200)), "SPL": list(shared)})
        one = measure.paired_ratio(cell, "Corr-RR", "SPL")
        ratios.append(one.value)
        stated.append(one.error)
        unpaired.append(measure.ratio_between(cell, cell | {"lines": ["SPL|raw", "Corr-RR|raw"]}, "Corr-RR").error)
    assert np.mean(ratios) == pytest.approx(0.75, abs=0.005)
    assert np.mean(stated) == pytest.approx(np.std(ratios), rel=5 / math.sqrt(2 * 400))
    assert np.mean(unpaired) > 1.25 * np.std(ratios)
    # The same method in two cells has independent repetitions.
    first, second = (
        _together({}, {"Corr-RR": list(rng.gamma(4, size=200) * scale), "SPL": [1.0] * 200}) for scale in (1, 2)
    )
    between = measure.ratio_between(first, second, "Corr-RR")
    assert between.value == pytest.approx(0.5, abs=5 * between.error)
    assert between.error == pytest.approx(0.5 * math.sqrt(2 / 4 / 200), rel=0.2)


@pytest.mark.parametrize(
    ("value", "error", "expected_verdict"),
    [(0.54, 0.01, "no"), (0.52, 0.011, "undecided"), (0.47, 0.014, "yes"), (0.49, 0.014, "undecided")],
)
def test_nothing_within_two_standard_errors_is_decided(value: float, error: float, expected_verdict: str) -> None:
    one = measure.Ratio(value, error)
    assert one.verdict(claims.NEVER, 0.5) == expected_verdict
    mirrored = {"no": "yes", "yes": "no", "undecided": "undecided"}
    assert one.verdict(0.5, math.inf) == mirrored[expected_verdict]
    assert measure.Ratio(0.5, 0.01).verdict(0.4, 0.6) == "yes"
    assert measure.Ratio(0.61, 0.01).verdict(0.4, 0.6) == "undecided"


def test_claims_are_decided_by_their_cells() -> None:
    spread = np.array([0.9, 1.1, 1.0, 1.0])
    cells = [
        _together(
            {"source": "as_described", "rho": rho, "epsilon": 0.1},
            {"SPL": list(4 * spread), "RS+FD": list(2 * spread), "RS+RFD clipped": list(spread[::-1])}
            | {"Corr-RR": list(value * spread), "Corr-RR preprint": list(0.3 * spread)},
        )
        for rho, value in ((0.1, 0.8), (0.5, 0.42), (0.9, 0.2))
    ]
    best = claims.Claim(("figure-3",), "best", {}, claims.BASELINES, claims.NEVER, 0.4)
    row = claims.check(best, "figure-3", "as_described", "PoPETs", cells)
    assert (row["smallest"], row["largest"]) == (pytest.approx(0.2), pytest.approx(0.8))
    assert (row["yes"], row["no"], row["undecided"], row["verdict"]) == (1, 1, 1, "no")
    assert claims.check(best, "figure-3", "as_described", "preprint", cells)["verdict"] == "yes"
    assert claims.check(best._replace(some=True), "figure-3", "as_described", "PoPETs", cells)["verdict"] == "yes"
    two = best._replace(at={"rho": (0.5, 0.9)})
    assert claims.check(two, "figure-3", "as_described", "PoPETs", cells)["verdict"] == "undecided"
    falls = claims.Claim(("figure-3",), "falls", {"rho": 0.9}, (), claims.NEVER, 0.5, {"rho": 0.1})
    assert claims.check(falls, "figure-3", "as_described", "PoPETs", cells)["largest"] == pytest.approx(0.25)
    order = claims.Claim(("figure-3",), "order", {}, ("SPL",), claims.NEVER, 1, of="RS+FD")
    assert claims.check(order, "figure-3", "as_described", "", cells)["largest"] == pytest.approx(0.5)


def test_the_page_takes_its_verdicts_from_the_results(tmp_path: Path) -> None:
    """One ratio: value, error, verdict; many ratios: yes/no/undecided and the range; "up to": the best."""
    columns = "figure,claim,data,rule,smallest,smallest error,largest,largest error,yes,no,undecided,verdict"

    def shown(row: claim_page.Row, *lines: str) -> str:
        (tmp_path / "claims.csv").write_text("\n".join([columns, *lines]), encoding="utf-8")
        return re.sub("[⟨⟩]", "", claim_page.cell(Results(tmp_path), row, "as described", "PoPETs"))

    half = claim_page.Row("Figures 5, 6", "half", "figure-5 figure-6", "half of RS+RFD")
    five, six = (f"figure-{i},half of RS+RFD,as described,PoPETs" for i in (5, 6))
    no = ".546,.014,.546,.014,0,1,0,no"
    assert shown(half, f"{five},{no}", f"{six},{no}") == ".55 (.01), .55 (.01): no"
    assert shown(half, f"{five},{no}", f"{six},.51,.02,.51,.02,0,0,1,undecided") == ".55 (.01) no, .51 (.02) undecided"
    best = claim_page.Row("Figures 3, 4", "best", "figure-3", claim_page.BEST)
    three = f"figure-3,{claim_page.BEST},as described,PoPETs"
    assert shown(best, f"{three},.3,.01,1.2,.02,13,1,1,no") == "13/1/1, .30 to 1.20: no"
    assert shown(best, f"{three},.3,.01,.9,.02,15,0,0,yes") == "15/0/0, .30 to .90: yes"
    some = claim_page.Row("4.5", "up to 80%", "figure-3", "up to 80% below all")
    assert shown(some, "figure-3,up to 80% below all,as described,PoPETs,.19,.01,12.5,.1,0,9,1,undecided") == (
        ".19 (.01) at best: undecided"
    )
    words = {claim.words for claim in claims.CLAIMS}
    rows = (*claim_page.ROWS, *claim_page.PREPRINT_ROWS, *claim_page.REAL_ROWS, *claim_page.BASELINE_ROWS)
    assert {row.claim for row in rows} == words
    for row in rows:
        for figure in row.figures.split():
            assert any(figure in claim.figures for claim in claims.CLAIMS if claim.words == row.claim), row


def test_the_share_of_phase_one_with_the_smallest_error() -> None:
    spread = np.array([0.9, 1.1, 1.0, 1.0] * 50)
    cells = [
        _together(
            {"source": source, "epsilon": epsilon, "share": share},
            {"Corr-RR": list(error * spread), "Corr-RR preprint": list(spread / error)},
        )
        for source in LAYOUTS["figure-9"].sources
        for epsilon in LAYOUTS["figure-9"].panel[1]
        for share, error in ((0.05, 1.0), (0.1, 0.9), (0.15, 0.91), (0.2, 1.2))
    ]
    rows = claims.best_shares("figure-9", cells)
    assert len(rows) == 2 * 2 * 3
    found = [(row["best"], row["from"], row["to"]) for row in rows if row["rule"] == "PoPETs"]
    assert set(found) == {(0.1, 0.1, 0.15)}
    assert {(row["best"], row["from"], row["to"]) for row in rows if row["rule"] == "preprint"} == {(0.2, 0.2, 0.2)}
    printed = claims.printed_shares()
    assert len(printed) == 18
    assert {row["best"] for row in printed} == {0.05, 0.1}


def test_the_preprints_figures_and_counts_have_its_own_rule() -> None:
    for name, layout in LAYOUTS.items():
        drawn = pictures.shown("raw", layout.preprint)
        assert (claims.RULES["preprint"] in drawn) is name.startswith("v1-"), name
        assert "Corr-RR" in drawn
    lines = {f"{name}|simplex": [1.0, 0.1] for name in (*claims.BASELINES, "SMP", "Corr-RR")}
    cell = {"mse": lines | {"Corr-RR preprint|simplex": [0.5, 0.1], methods.DEFAULT: [0.6, 0.1]}}
    ours = statements.beside_default("all", [cell])
    theirs = statements.beside_default("all", [cell], statements.PREPRINT_FOUR)
    assert (ours["default better"], ours["default ratio"]) == (1, pytest.approx(0.6))
    assert (theirs["Corr-RR best"], theirs["default better"], theirs["default largest"]) == (1, 0, pytest.approx(1.2))


def test_a_figure_is_saved_and_resumed(tmp_path: Path) -> None:
    base = {"data": "SynA", "k": 3, "d": 2, "n": 300, "share": 0.1, "epsilon": 1.0}
    layout = Layout("small", base, ("rho", (0.1, 0.9)), ("epsilon", (1, 2)), 2, ("Nothing is open.",))
    run = Run("corr_rr", "small", tmp_path, runs=2, seed=1)
    figures.perform(layout, run)
    with (run.folder / "small.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8 * 23
    assert {row["post"] for row in rows} == {"raw", "simplex", "hierarchical"}
    assert all(math.isfinite(float(row["mse"])) for row in rows)
    for suffix in ("", "-simplex"):
        assert (run.folder / f"small{suffix}.png").stat().st_size > 20_000

    def refuse(_: Cell) -> Cell:
        raise AssertionError("a finished cell was computed again")

    assert len(run.cells(layout.all_cells(), refuse)) == 8


def test_a_table_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def quick(cell: Cell) -> Cell:
        return {"mse": {line: [1e-3, 1e-4] for line in ("RS+RFD clipped|raw", "Corr-RR|raw")}}

    monkeypatch.setattr(tables, "measure", quick)
    run = Run("corr_rr", "table-6", tmp_path, runs=2, seed=1)
    tables.perform("6", run)
    with (run.folder / "table-6.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 120
    assert (rows[50]["method"], rows[50]["epsilon"], rows[50]["n1"]) == ("Corr-RR", "0.5", "1000")
    assert float(rows[50]["paper"]) == 5.729e-4
    assert (run.folder / "table-6.png").stat().st_size > 20_000


# ---------------------------------------------------------------- real data


def test_without_data_the_error_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DENIABLE_DATA", raising=False)
    with pytest.raises(MissingDataError, match="set DENIABLE_DATA"):
        real.codes.__wrapped__("Clave")


def test_labels_are_merged_as_stated() -> None:
    values = np.array(["b", "b", "b", "z", "z", "a", "c"])
    assert real.labels_of("Mushroom 9", "odor", values, 3).tolist() == ["b", "b", "b", "z", "z", "Other", "Other"]
    assert real.labels_of("Mushroom 9", "odor", values, 4).tolist() == values.tolist()
    status = np.array(["Married-AF-spouse", "Never-married", "Divorced", "Married-spouse-absent"])
    assert real.labels_of("Adult", "marital-status", status, 2).tolist() == ["married", "alone", "alone", "married"]
    place = np.array(["Wife", "Own-child", "Husband"])
    assert real.labels_of("Adult", "relationship", place, 2).tolist() == ["spouse", "other", "spouse"]


def test_real_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mushroom.csv").write_text("stalk-root,ring-type\n?,p\nb,e\nb,p\n?,p\n", encoding="utf-8")
    monkeypatch.setenv("DENIABLE_DATA", str(tmp_path))
    read = real.codes.__wrapped__
    monkeypatch.setattr(real, "codes", read)
    assert read("Mushroom").tolist() == [[0, 1], [1, 0], [1, 1], [0, 1]]
    group = real.everybody.__wrapped__("Mushroom")
    assert (group.n, group.sizes) == (4, (5, 5))
    monkeypatch.setattr(real, "everybody", lambda _: group)
    encoding = real.ENCODINGS["Mushroom"]
    assert real.sample({"data": "Mushroom"}, SimulationRandomness(1)) is group
    monkeypatch.setattr(real, "ENCODINGS", {"Mushroom": encoding._replace(n=3)})
    assert real.sample({"data": "Mushroom"}, SimulationRandomness(1)).n == 3
    assert real.correlations("Mushroom") == [pytest.approx(-1 / math.sqrt(3))]


def test_no_interval_of_the_picture_of_coverage_is_cut() -> None:
    row = {"method": "PivotCoded", "n": "20", "d": "2", "k": "2", "epsilon": "1", "phase one": "0%"}
    rows = [
        row | {"contributors": "0.9", "contributors error": "0.03", "population": "0.97", "population error": "0.01"},
        row | {"contributors": "0.95", "contributors error": "0.01", "population": "0.95", "population error": "0.03"},
    ]
    for axes in draw_coverage(rows).axes:
        low, high = axes.get_xlim()
        assert low < 0.9 - 2 * 0.03 < 0.95 + 2 * 0.03 < high

"""Tables of PairSample: unbiased, covariances by enumeration, consistent margins, and mutants that must fail."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import linalg

from deniable import SimulationRandomness
from deniable.errors import InvalidParameterError
from deniable.oracles.subset import SubsetSelection
from deniable.records.pair_margins import Margins
from deniable.records.pair_parts import PairPart, Part, Reported, SubsetLaw, subset_law
from deniable.records.pair_sample import PairSample, singles_for
from deniable.records.sampled_tables import SampledTable, SampledTables
from deniable.records.split import SPLPairs

Floats = NDArray[np.float64]
VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "pairs.json").read_text())


def enumerated(oracle: SubsetSelection, f: Floats) -> Floats:
    """Covariance of one report's estimate, its contributor drawn from f, by listing every report."""
    p, q = map(float, oracle.support_probabilities)
    estimates = (oracle.supports(oracle.outputs(), np.arange(oracle.k)) - q) / (p - q)
    law = f @ oracle.channel()
    mean = law @ estimates
    found: Floats = (estimates * law[:, None]).T @ estimates - np.outer(mean, mean)
    return found


@pytest.mark.parametrize(("k", "omega"), [(4, 1), (6, 2), (6, 5), (8, 3)])
def test_covariances_of_one_report_are_the_enumerated_ones(k: int, omega: int) -> None:
    oracle = SubsetSelection(k, 0.8, omega)
    f = np.arange(1, k + 1) / (k * (k + 1) / 2)
    expected, law = enumerated(oracle, f), subset_law(oracle)
    slack = 1e-12 * np.diag(expected).max()
    assert np.abs(law.covariance(f) - expected).max() <= slack
    weights = np.stack([np.arange(k) - 1.7, np.eye(k)[1], np.ones(k), (-1.0) ** np.arange(k)])
    products = law.products(weights[:, None, :], weights[None, :, :], f)
    assert np.abs(products - weights @ expected @ weights.T).max() <= slack * k**3
    # Margins have two rows of k/2 cells each, with every cell of a row together.
    rows = np.kron(np.eye(2), np.ones(k // 2))
    assert np.abs(law.lumped_covariance(rows @ f, k // 2) - rows @ expected @ rows.T).max() <= slack * k**2
    # If a value of a row is held, or none is, there is only noise.
    for held, noise in ((0, law.lumped_noise(k // 2)[1]), (k - 1, law.lumped_noise(k // 2)[0])):
        assert noise == pytest.approx(rows[0] @ enumerated(oracle, np.eye(k)[held]) @ rows[0], rel=1e-12)
    if omega > 1:  # the mutant has r1 = r2
        mutant = SubsetLaw(law.p, law.q, law.r2, law.r2)
        assert np.abs(mutant.covariance(f) - expected).max() > 1e6 * slack


def reported(mechanism: PairSample, source: dict[str, Any]) -> SampledTables:
    """Return the tables with listed frequencies and numbers of reports."""
    parts = []
    for part in mechanism.parts:
        key = ",".join(map(str, part.attributes))
        table, n = ("tables", "n") if len(part.attributes) == 2 else ("singles", "n_singles")
        parts.append(Reported(part, source[n][key], np.array(source[table][key])))
    return SampledTables(Margins(mechanism.sizes, tuple(parts), sum(int(one.n) for one in parts)))


def cells(table: Any) -> Floats:
    """Return the indicator of every cell."""
    found: Floats = np.eye(table.frequencies.size).reshape(-1, *table.shape)
    return found


def test_known_answers() -> None:
    given = VECTORS["consistent"]
    mechanism = PairSample(tuple(given["sizes"]), given["epsilon"], "0.25")
    tables = reported(mechanism, given)
    for j in range(3):
        expected = {
            ("s" if len(key) == 1 else ",".join(map(str, key))): w for key, w in tables.margins.weights(j).items()
        }
        assert expected == pytest.approx(given["weights"][str(j)], rel=1e-12)
    table = tables.consistent(0, 1)
    assert table.frequencies == pytest.approx(np.array(given["table01"]), abs=1e-14)
    assert table.covariance(cells(table), "population") == pytest.approx(np.array(given["covariance01"]), abs=1e-14)
    assert subset_law(SubsetSelection(6, 1.0)).covariance(np.array(VECTORS["f"])) == pytest.approx(
        np.array(VECTORS["sigma"]), abs=1e-11
    )


def drawn(
    sizes: tuple[int, ...], singles: str, n: int = 4000, epsilon: float = 1.0
) -> tuple[PairSample, SampledTables]:
    """Return the tables of contributors with dependent answers."""
    mechanism, rng = PairSample(sizes, epsilon, singles), SimulationRandomness(8)
    first = rng.generator.integers(0, 6, n)
    noise = rng.generator.integers(0, 2, (n, len(sizes)))
    records = (first[:, None] + noise) % np.array(sizes)
    return mechanism, mechanism.tables(mechanism.aggregate(mechanism.randomize(records, rng)))


@pytest.mark.parametrize("singles", ["0", "0.25"])
def test_consistent_tables_agree_about_every_margin(singles: str) -> None:
    mechanism, tables = drawn((2, 3, 4, 2), singles)
    estimate = {j: tables.margin(j) for j in range(4)}
    raw_apart = 0.0
    for i, j in tables:
        table, own = tables.consistent(i, j), tables[i, j]
        assert np.abs(table.frequencies.sum(axis=1) - estimate[i]).max() < 1e-12
        assert np.abs(table.frequencies.sum(axis=0) - estimate[j]).max() < 1e-12
        raw_apart = max(raw_apart, float(np.abs(own.frequencies.sum(axis=1) - estimate[i]).max()))
    assert raw_apart > 0.01
    assert mechanism.state_size == len(tables.margins.reported) + 8 + 6 + 6 + 12 + 4 + 8 + (11 if singles != "0" else 0)


@pytest.mark.parametrize("singles", ["0", "0.25"])
def test_the_covariance_of_consistent_tables_is_that_of_the_linear_map(singles: str) -> None:
    """T* is moved by every group's table in turn; groups are independent, so what each adds is summed."""
    mechanism, tables = drawn((2, 3, 4), singles)
    groups = tables.margins.reported

    def consistent(changed: int, by: Floats) -> Floats:
        moved = list(groups)
        old = groups[changed]
        moved[changed] = Reported(old.part, old.n, old.frequencies + by)
        found = SampledTables(Margins(mechanism.sizes, tuple(moved), tables.contributors)).consistent(0, 2)
        return found.frequencies.ravel()

    base = tables.consistent(0, 2)
    expected = np.zeros((8, 8))
    for g, one in enumerate(groups):
        size = one.frequencies.size
        slope = np.stack(
            [consistent(g, step) - base.frequencies.ravel() for step in np.eye(size).reshape(-1, *one.part.sizes)]
        )
        expected += slope.T @ enumerated(one.part.oracle, one.plugged.ravel()) @ slope / one.n
    found = base.covariance(cells(base), "population")
    assert np.abs(found - expected).max() <= 1e-12 * np.diag(expected).max()
    assert base.variances(cells(base), "population") == pytest.approx(np.diag(expected), rel=1e-12)
    f = base.plugged.ravel()
    contributors = expected - (np.diag(f) - np.outer(f, f)) / tables.contributors
    assert base.covariance(cells(base)) == pytest.approx(contributors, rel=1e-9, abs=1e-15)
    assert base.standard_errors() == pytest.approx(np.sqrt(np.diag(contributors)).reshape(2, 4), rel=1e-9)


def test_the_error_for_contributors_is_exact_when_taken_once() -> None:
    """All contributors of four, drawn from a joint: E(<c, T*> - <c, their own table>)^2, by enumeration."""
    sizes = (2, 2, 2)
    mechanism = PairSample(sizes, 1.0)
    records = np.array(list(itertools.product((0, 1), repeat=3)))
    joint = np.array([8, 1, 2, 3, 1, 5, 4, 12]) / 36
    numbers: dict[Any, int] = {(0, 1): 2, (0, 2): 1, (1, 2): 1}

    def truth(attributes: tuple[int, ...]) -> Floats:
        table = np.zeros((2,) * len(attributes))
        np.add.at(table, tuple(records[:, j] for j in attributes), joint)
        return table

    parts = tuple(Reported(part, numbers[part.attributes], truth(part.attributes)) for part in mechanism.parts)
    tables = SampledTables(Margins(sizes, parts, 4))
    table = tables.consistent(0, 1)
    question = np.array([[1.0, -0.5], [0.25, 2.0]])
    slopes, laws = [], []
    for g, one in enumerate(parts):
        moved = []
        for step in np.eye(4).reshape(4, 2, 2):
            changed = list(parts)
            changed[g] = Reported(one.part, one.n, one.frequencies + step)
            moved.append(
                SampledTables(Margins(sizes, tuple(changed), 4)).consistent(0, 1).frequencies - table.frequencies
            )
        slopes.append(np.array([(question * step).sum() for step in moved]) / one.n)
        laws.append([slopes[-1] @ enumerated(one.part.oracle, held) @ slopes[-1] for held in np.eye(4)])
    assigned = [0, 0, 1, 2]
    offset = float((question * table.frequencies).sum()) - sum(
        float(slope @ one.frequencies.ravel()) * one.n for slope, one in zip(slopes, parts, strict=True)
    )
    error = 0.0
    codes = [mechanism.code(records, g) for g in range(3)]
    for people in itertools.product(range(8), repeat=4):
        mean = offset + sum(slopes[g][codes[g][x]] for g, x in zip(assigned, people, strict=True))
        noise = sum(laws[g][codes[g][x]] for g, x in zip(assigned, people, strict=True))
        own = sum(question[tuple(records[x, :2])] for x in people) / 4
        error += float(np.prod(joint[list(people)])) * ((mean - own) ** 2 + noise)
    assert table.variances(question[None])[0] == pytest.approx(error, rel=1e-12)
    # This mutant subtracts sampling group by group.
    f = truth((0, 1)).ravel()
    noise_only = sum(
        float(one.n) * float(np.dot(one.frequencies.ravel(), law)) for one, law in zip(parts, laws, strict=True)
    )
    assert abs(noise_only - error) > 0.01 * error
    assert table.variances(question[None], "population")[0] == pytest.approx(
        error + float((question.ravel() ** 2) @ f - (question.ravel() @ f) ** 2) / 4, rel=1e-12
    )


def expectation(margins: type[Margins]) -> tuple[Floats, Floats]:
    """Return E T*_01 given one report of the pair (0, 1) and one of (0, 2), by enumeration, and the true table."""
    mechanism = PairSample((2, 2, 2), 1.0)
    people = ((0, 1, 1), (1, 1, 0))
    outputs, channel = mechanism.outputs(), mechanism.channel(exact=True)
    rows = [x * 4 + y * 2 + z for x, y, z in people]
    totals: defaultdict[bool, Any] = defaultdict(lambda: 0)
    mass: Any = 0
    for a, b in itertools.product(range(12), repeat=2):
        if {int(outputs.choice[a]), int(outputs.choice[b])} != {0, 1}:
            continue
        share = channel[rows[0], a] * channel[rows[1], b]
        reports = type(outputs)(outputs.choice[[a, b]], outputs.payload[[a, b]])
        counts = mechanism.aggregate(reports).counts
        parts = tuple(
            Reported.of(part, int(counts[12 + g]), counts[4 * g : 4 * g + 4]) for g, part in enumerate(mechanism.parts)
        )
        table = SampledTables(margins(mechanism.sizes, parts, 2)).consistent(0, 1).frequencies
        totals[True] = totals[True] + float(share) * table
        mass += share
    truth = np.zeros((2, 2))
    for x, y, _ in people:
        truth[x, y] += 0.5
    return totals[True] / float(mass), truth


class ReadingMargins(Margins):
    """Mutant: weights depend on the answers."""

    @cached_property
    def _weighted(self) -> list[tuple[dict[tuple[int, ...], float], float]]:
        found = []
        for weights, total in super()._weighted:
            seen = {
                which: weight * (1 + float(self.about[which].frequencies[0, 0] > 0))
                for which, weight in weights.items()
            }
            found.append(({which: weight / sum(seen.values()) for which, weight in seen.items()}, total))
        return found


def test_consistent_tables_are_unbiased_and_weights_may_not_read_data() -> None:
    found, truth = expectation(Margins)
    assert np.abs(found - truth).max() < 1e-12
    mutant, _ = expectation(ReadingMargins)
    assert np.abs(mutant - truth).max() > 0.01


def test_raw_tables_are_what_subset_selection_says_of_the_pairs_codes() -> None:
    mechanism, rng = PairSample((2, 3, 4), 1.0, "0.25"), SimulationRandomness(4)
    records = rng.generator.integers(0, (2, 3, 4), (3000, 3))
    reports = mechanism.randomize(records, rng)
    tables = mechanism.tables(mechanism.aggregate(reports))
    for choice, part in enumerate(mechanism.parts[:3]):
        i, j = part.attributes
        own = part.oracle.estimate(part.oracle.aggregate(mechanism.chosen(reports, choice)))
        assert np.array_equal(tables[i, j].frequencies.ravel(), own.frequencies)
        assert tables[i, j].n == own.n == tables.numbers[i, j]
    with pytest.raises(InvalidParameterError, match="different attributes"):
        tables[1, 1]


def test_one_report_leaves_the_rest_undetermined() -> None:
    mechanism = PairSample((2, 3, 2), 1.0)
    reports = mechanism.randomize(np.zeros((200, 3), dtype=int), SimulationRandomness(1))
    few = type(reports)(*(column[reports.choice == 0] for column in reports))
    aggregate = mechanism.aggregate(few)
    tables, estimates = mechanism.tables(aggregate), mechanism.estimate(aggregate)
    assert np.isnan(tables[0, 2].frequencies).all()
    assert np.isnan(tables.consistent(0, 2).standard_errors()).all()
    assert np.isnan(estimates[2].frequencies).all()
    assert estimates[2].n == 0
    assert np.isfinite(tables.consistent(0, 1).standard_errors()).all()
    assert estimates[0].n == len(few.choice)


def test_variances_before_the_collection_are_those_of_expected_numbers() -> None:
    mechanism = PairSample((2, 3, 4), 1.0, "0.25")
    f, n = np.array([0.5, 0.3, 0.2]), 6000
    matrix = mechanism.covariance(f, n, 1)
    assert np.diag(matrix) == pytest.approx([mechanism.variance(share, n, 1) for share in f], rel=1e-12)
    weights = np.array([1.0, -2.0, 0.5])
    assert mechanism.linear_variance(weights, f, n, 1) == pytest.approx(float(weights @ matrix @ weights), rel=1e-12)
    tables = mechanism.expected_tables(n)
    covariance = sum(tables.margins.covariances[1].values()) - (np.eye(3) - 1 / 3) / 3 / n
    assert mechanism.covariance(np.full(3, 1 / 3), n, 1) == pytest.approx(np.asarray(covariance), rel=1e-12)
    # By sampling, this is the spread of the estimates of many collections, within 4 standard errors of a variance.
    records = np.stack(
        [np.resize([0, 1], n), np.repeat([0, 1, 2], [3000, 1800, 1200]), np.resize([0, 1, 2, 3], n)], axis=1
    )
    rows, held = np.unique(records, axis=0, return_counts=True)
    rng, runs = SimulationRandomness(6), 300
    found = [mechanism.estimate(mechanism.simulate_aggregate(rows, held, rng))[1].frequencies for _ in range(runs)]
    assert np.var(found, axis=0) == pytest.approx(np.diag(matrix), rel=4 * math.sqrt(2 / runs))


@pytest.mark.parametrize("means", [(), (2,)])
def test_linear_questions_of_an_attribute_take_the_margins_covariance(means: tuple[int, ...]) -> None:
    """Also where an attribute goes through the square wave if it is drawn alone."""
    sizes = (2, 3, 5)
    mechanism, rng = PairSample(sizes, 1.0, "0.4", singles_for(sizes, 1.0, means)), SimulationRandomness(3)
    records = rng.generator.integers(0, sizes, (4000, 3))
    aggregate = mechanism.aggregate(mechanism.randomize(records, rng))
    estimate, tables = mechanism.estimate(aggregate)[2], mechanism.tables(aggregate)
    scores = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    # One estimate uses the average margin, and the tables use each part's own. So covariances are compared at one
    # distribution.
    parts = tuple(
        Reported(one.part, one.n, np.full(one.part.sizes, 1 / one.frequencies.size), one.estimate)
        for one in tables.margins.reported
    )
    margins = Margins(sizes, parts, tables.contributors)
    expected = scores @ np.asarray(sum(margins.covariances[2].values())) @ scores
    joint = margins.estimate(2)
    assert joint.joint is not None
    uniform = np.full(5, 0.2)
    sampled = sum(w**2 / margins.about[which].n for which, w in margins.weights(2).items())
    spread = float(scores**2 @ uniform - (scores @ uniform) ** 2)
    assert joint.joint(scores, uniform) / joint.n + spread * sampled == pytest.approx(expected, rel=1e-10)
    answer = estimate.mean(scores)
    lower, upper = answer.interval(0.9999)
    assert lower < records[:, 2].mean() + 1 < upper
    alone = mechanism.by_attribute(aggregate)
    assert [one.n for one in alone] == [tables.numbers[j,] for j in range(3)]
    assert alone[2].mechanism == mechanism.oracles[2]


def test_a_liar_moves_an_attribute_by_the_lever_of_the_best_choice() -> None:
    """By enumeration of crafted reports: the effect of one report on the average margin, in units of 1/n."""
    mechanism, n = PairSample((2, 3, 2), 1.0, "0.25"), 10_000
    weights = {part.attributes: (weight, number) for part, weight, number in mechanism._weighted(1, n)}
    outputs, moves = mechanism.outputs(), []
    for o in range(len(outputs.choice)):
        part = mechanism.parts[int(outputs.choice[o])]
        if 1 in part.attributes:
            report = type(outputs)(outputs.choice[[o]], outputs.payload[[o]])
            table = mechanism.tables(mechanism.aggregate(report)).margins.about[part.attributes]
            weight, number = weights[part.attributes]
            moves.append(float(table.margin(1).frequencies[0]) * weight / number * n)
    influence = mechanism.influence(1, 1)
    assert influence is not None
    assert (influence.up, influence.down) == pytest.approx((max(moves), min(moves)), rel=1e-12)


def own_table(part: Part, table: Floats, n: int) -> SampledTable:
    """Return a pair's own table with listed frequencies."""
    return SampledTable((0, 1), table, n, n, Reported(part, n, table), subset_law(part.oracle))


def test_the_test_of_independence_is_the_wald_statistic_of_full_matrices() -> None:
    part = PairPart((0, 1), (3, 4), SubsetSelection(12, 1.0))
    table = np.array([[3.0, 1, 2, 2], [1, 4, 3, 1], [2, 1, 1, 5]]) / 26
    own, n = own_table(part, table, 5000), 5000
    r, c = table.sum(axis=1), table.sum(axis=0)
    rows, columns = linalg.helmert(3) @ (np.eye(3) - r[:, None]), linalg.helmert(4) @ (np.eye(4) - c[:, None])
    turn = np.kron(rows, columns)
    covariance = turn @ enumerated(part.oracle, np.outer(r, c).ravel()) @ turn.T / n
    residual = np.kron(linalg.helmert(3), linalg.helmert(4)) @ (table - np.outer(r, c)).ravel()
    found = own.independence()
    assert found.statistic == pytest.approx(residual @ np.linalg.solve(covariance, residual), rel=1e-10)
    assert found.degrees == 6
    centred = np.kron(np.eye(3) - r[:, None], np.eye(4) - c[:, None])
    expected = centred @ enumerated(part.oracle, np.outer(r, c).ravel()) @ centred.T / n
    terms = sum(np.kron(term.rows, term.columns) for term in own.residual_covariance())
    assert np.abs(terms - expected).max() <= 1e-12 * np.diag(expected).max()


def test_tables_of_split_budgets_show_their_own_variance() -> None:
    """A question's variance against the enumerated law of reports at the reported frequencies."""
    pairs, rng = SPLPairs((2, 3), 4.0), SimulationRandomness(2)
    records = np.repeat([[0, 0], [0, 2], [1, 1], [1, 2]], [200, 100, 150, 50], axis=0)
    aggregate = pairs.aggregate(pairs.randomize(records, rng))
    table = pairs.tables(aggregate)[0, 1]
    assert np.abs(table.frequencies.sum(axis=0) - pairs.tables(aggregate).margin(1)).max() < 1e-12
    law = aggregate.counts / 500
    question = np.array([[1.0, 0.0, -2.0], [0.5, 0.0, 1.0]])
    first, second = (np.linalg.inv(oracle.channel()) for oracle in pairs.oracles)
    answers = np.kron(first, second) @ question.ravel()
    expected = (law @ answers**2 - (law @ answers) ** 2) / 500
    assert table.variances(question[None], "population")[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("omega", [1, 2, 3])
def test_a_pair_s_report_says_of_one_answer_how_many_cells_of_each_code_it_has(axis: int, omega: int) -> None:
    """P(numbers | answer), the sum over all sets with these numbers of cells, the same for every partner's answer."""
    sizes = (2, 3)
    oracle = SubsetSelection(6, 1.0, omega)
    part = PairPart((0, 1), sizes, oracle)
    channel, reports = oracle.channel().reshape(*sizes, -1), oracle.outputs()
    numbers = oracle.supports(reports, np.arange(6)).reshape(-1, *sizes).sum(axis=2 - axis)
    same = (numbers[:, None] == numbers).all(axis=2)
    for partner in range(sizes[1 - axis]):
        given = channel.take(partner, axis=1 - axis)
        assert part.likelihood(reports, (axis,)).probabilities == pytest.approx((given @ same).T, rel=1e-12)

from __future__ import annotations

import gzip
import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.dealt_intervals import measured
from experiments.harness import Cell, Run
from experiments.jrr import (
    couplings,
    datasets,
    extensions,
    newcomers,
    quotas,
    second,
    sweeps,
    theory,
    two_phase,
    which_m,
)
from experiments.jrr.__main__ import MODULES
from experiments.jrr.attackers import ADVERSARIES, learned
from experiments.jrr.datasets import drawn_ones, real_answers, record_errors
from experiments.jrr.methods import (
    METHODS,
    build,
    count_variance,
    equivalent,
    errors,
    estimated_counts,
    relative_errors,
    setting,
    z_of,
)
from experiments.jrr.paper import DATASETS, PAPER, expected
from experiments.jrr.underperformance import at_own_p, underperformance
from experiments.pages import DOCS, Results, printed

from deniable import GRR, SimulationRandomness
from deniable.research.dealt.coupling.jrr import JRR
from tests.real_data import requires_data

FOLDER = Path(sweeps.__file__).parent
WITHOUT_PICTURES = ("real-records", "data-counts", "couplings", "theory", "quotas", "dealing", "dealt-intervals")


def test_every_experiment_is_described() -> None:
    assert MODULES
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert set(list(PAPER.experiments)[-2:]) == {"data-counts", "real-records"}, "what needs data comes last"
    for name in PAPER.experiments:
        assert f"`{name}`" in text, name


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("data", DATASETS)
def test_closed_forms_are_those_of_brute_force(data: str, epsilon: float) -> None:
    n, count = DATASETS[data]
    for method, value in second.three(n, count, epsilon, 5).items():
        assert count_variance(build(method, setting(n, count, epsilon)), n, count) == pytest.approx(value, rel=1e-9)


def test_brute_force_does_not_use_the_library() -> None:
    assert "deniable" not in re.sub(r'""".*?"""', "", Path(second.__file__).read_text(), flags=re.DOTALL)


@pytest.mark.parametrize(("p", "size", "n", "count"), [(0.6, 2, 4, 1), (0.6, 4, 4, 3), (0.7, 3, 6, 2), (0.75, 4, 8, 8)])
def test_balanced_groups_by_enumeration(p: float, size: int, n: int, count: int) -> None:
    """All sets of truth-tellers that the groups allow, for one grouping of a shuffled list of answers."""
    least, more = extensions.balanced_group(p, size)
    first = second_moment = 0.0
    law = np.zeros(n + 1)
    patterns = [
        (coins, (1 - more if sum(coins) == least else more) / math.comb(size, sum(coins)))
        for coins in itertools.product((0, 1), repeat=size)
        if sum(coins) in (least, least + 1)
    ]
    orders = set(itertools.permutations([1] * count + [0] * (n - count)))
    for chosen in itertools.product(patterns, repeat=n // size):
        weight = math.prod(chance for _, chance in chosen)
        coins = [coin for part, _ in chosen for coin in part]
        law[n - sum(coins)] += weight
        for answers in orders:
            ones = sum(x if coin else 1 - x for x, coin in zip(answers, coins, strict=True))
            first += weight / len(orders) * ones
            second_moment += weight / len(orders) * ones**2
    variance = (second_moment - first**2) / (2 * p - 1) ** 2
    assert first == pytest.approx(count * p + (n - count) * (1 - p), rel=1e-12)
    assert extensions.group_variance(p, size, n, count) == pytest.approx(variance, rel=1e-9, abs=1e-12)
    if more not in (0.0, 1.0):
        z = np.arange(n)
        direct = extensions.epsilon_at(law[:-1] * (n - z) / n, law[1:] * (z + 1) / n)
        assert extensions.others_known(p, size, n) == pytest.approx(direct, abs=1e-6)


@pytest.mark.parametrize(("p", "s"), [(0.6, 0.0), (0.6, 0.3), (0.75, 0.25)])
def test_the_law_of_the_number_of_ones_by_enumeration(p: float, s: float) -> None:
    n, count = 6, 2
    law = np.zeros(n + 1)
    signs = [one for one in itertools.product((1, -1), repeat=n) if sum(one) == 0]
    for dealt in signs:
        for coins in itertools.product((0, 1), repeat=n):
            weight = math.prod((p + r * s) if coin else 1 - (p + r * s) for r, coin in zip(dealt, coins, strict=True))
            ones = sum(coins[:count]) + sum(1 - coin for coin in coins[count:])
            law[ones] += weight / len(signs)
    np.testing.assert_allclose(extensions.law_of_ones(p, s, n, count), law, atol=1e-12)


def test_two_are_jrr_at_its_extreme() -> None:
    one = setting(10_000, 500, 1.0, 0)
    mechanism = build("JRR, optimum", one)
    found = extensions.group_variance(mechanism.p, 2, 10_000, 500)
    assert found == pytest.approx(count_variance(mechanism, 10_000, 500), rel=1e-9)


@pytest.mark.parametrize("ones", [0, 1, 3])
def test_views_of_coupled_reports_by_enumeration(ones: int) -> None:
    """All orders of the pairs' types for n = 6: distributions of my report and both counts of the others."""
    n, p = 6, 0.6
    kinds = {("t", "t"): 2 * p - 1, ("1", "0"): 1 - p, ("0", "1"): 1 - p}
    laws: list[dict[tuple[int, int, int], float]] = [{}, {}]
    for pairs in itertools.product(kinds, repeat=n // 2):
        weight = math.prod(kinds[pair] for pair in pairs)
        for order in itertools.permutations([kind for pair in pairs for kind in pair]):
            told_0 = sum(kind == "0" for kind in order[1 : 1 + ones])
            told_1 = sum(kind == "1" for kind in order[1 + ones :])
            for answer in (0, 1):
                mine = answer if order[0] == "t" else int(order[0])
                view = (mine, told_0, told_1)
                laws[answer][view] = laws[answer].get(view, 0.0) + weight / math.factorial(n)
    for found, law in zip(couplings.views(p, n, ones), laws, strict=True):
        assert sorted(found[found > 1e-15]) == pytest.approx(sorted(law.values()), rel=1e-9)


def test_means_have_their_closed_form() -> None:
    values = np.array([0.1, 0.5, 0.9, 0.3])
    mechanism = build("JRR, optimum", {**setting(4, 2, 1.0, 0), "count": 0})
    expected_variance = 0.0
    for bits in itertools.product((0, 1), repeat=4):
        chance = math.prod(v if bit else 1 - v for v, bit in zip(values, bits, strict=True))
        deviation = (sum(bits) - values.sum()) ** 2
        expected_variance += chance * (count_variance(mechanism, 4, sum(bits)) + deviation)
    found = extensions.mean_variance(mechanism, values, 4)
    assert found == pytest.approx(expected_variance, rel=1e-9)


def test_rr_is_randomised_response() -> None:
    one = setting(10_000, 500, 1.0)
    assert count_variance(build("RR", one), 10_000, 500) == pytest.approx(
        GRR(2, 1.0).variance(0.05, 1) * 10_000, rel=1e-9
    )


# Five methods, each drawn in two ways, are a family of ten at 1e-6 in total, two-sided and normal.
BOUND = 5.33


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_what_is_drawn_is_what_contributors_do(method: str) -> None:
    one: Cell = {**setting(400, 60, 1.0), "method": method, "runs": 2000, "seed": 1}
    mechanism = build(method, one)
    assert abs(z_of({**one, **errors(one)})) < BOUND
    answers = np.repeat([0, 1], [340, 60])
    squares = record_errors(mechanism, answers, 2000, SimulationRandomness(2)) ** 2
    theory = count_variance(mechanism, 400, 60)
    assert abs(squares.mean() / theory - 1) * math.sqrt(1000) < BOUND


def test_a_deal_without_correlation_would_be_seen() -> None:
    # This is JRR whose dealer hands out independent signs, which is RR with the same p. Its MSE is outside of the bound
    # above.
    mechanism = build("JRR, optimum", setting(400, 12, 0.5))
    broken = JRR(mechanism.p, 0.0, 400)
    estimates = estimated_counts(broken, 400, 12, 2000, SimulationRandomness(3))
    ratio = float(((estimates - 12) ** 2).mean()) / count_variance(mechanism, 400, 12)
    assert abs(ratio - 1) * math.sqrt(1000) > BOUND


def test_relative_errors_are_means_over_the_values_that_occur() -> None:
    found = relative_errors(np.array([30.0, 15.0]), 100, 20)
    np.testing.assert_allclose(found, [(10 / 20 + 10 / 80) / 2, (5 / 20 + 5 / 80) / 2], rtol=1e-15)
    np.testing.assert_allclose(relative_errors(np.array([90.0]), 100, 100), [0.1], rtol=1e-15)


@pytest.mark.parametrize(("epsilon", "excess"), [(0.001, 1.8), (0.01, 0.085), (0.1, 0.008), (1.0, 0.0011)])
def test_the_excess_at_one_half_is_not_below_1e_4(epsilon: float, excess: float) -> None:
    assert underperformance("JRR, Algorithm 1", 10_000, epsilon)["RI"] == pytest.approx(excess, rel=0.05)


@pytest.mark.parametrize(("epsilon", "width"), [(0.01, 1.0), (0.1, 0.46), (1.0, 0.20)])
def test_the_range_on_which_jrr_loses_is_not_below_3_percent(epsilon: float, width: float) -> None:
    assert underperformance("JRR, Algorithm 1", 1_000, epsilon)["R"] == pytest.approx(width, abs=0.006)


@pytest.mark.parametrize(
    ("n", "epsilon", "colluders", "excess"),
    [(10_000, 0.001, 2, 9.995e-5), (5_000, 1.0, 1, 7.363e-5), (5_000, 1.0, 5, 2.736e-5)],
)
def test_figures_7_and_8_are_of_jrrs_own_p(n: int, epsilon: float, colluders: int, excess: float) -> None:
    """RI is -rho/(n - 1), e^-epsilon/(n - 1) for few colluders; R is 1/sqrt(n): the four printed statements."""
    found = at_own_p(n, epsilon, colluders)
    assert found["RI"] == pytest.approx(excess, rel=2e-4)
    if colluders < 5:
        assert found["RI"] == pytest.approx(math.exp(-epsilon) / (n - 1), rel=1e-3)
    assert found["R"] == pytest.approx(n**-0.5, rel=1e-9)


def test_whole_counts_on_which_jrr_is_worse_at_its_own_p() -> None:
    one = setting(1_000, 500, 0.1)
    mechanism = build("JRR, Algorithm 1", one)
    plain = JRR(mechanism.p, 0, 1_000)
    worse = [m for m in range(1_001) if count_variance(mechanism, 1_000, m) > count_variance(plain, 1_000, m)]
    assert (worse[0], worse[-1]) == (485, 515)
    assert which_m.whole_counts(1_000) == 0.03


def test_the_printed_numbers_fit_one_colluder_and_not_five() -> None:
    """.147, .204, .313 and .638, and an 80th percentile of .654: M from 0 to 2; .331 and .826 at Table 4's five."""
    for m, values in ((0, (0.147, 0.313, 0.638, 0.204)), (2, (0.147, 0.313, 0.638, 0.204)),
                      (5, (0.331, 0.775, 0.663, 0.731))):  # fmt: skip
        found = [which_m.ratio(n, count, 0.01, m) for n, count in DATASETS.values()]
        assert found == pytest.approx(values, abs=6e-4)
    n, count = DATASETS["Kosarak"]
    for m, value in ((1, 0.654), (5, 0.826)):
        mechanism = build("JRR, Algorithm 1", setting(n, count, 0.1, m))
        # An ARE is half the error of the count, over n_1 and over n_0, with z_.9 = 1.28155.
        deviation = math.sqrt(count_variance(mechanism, n, count))
        assert 1.28155 * deviation * (1 / count + 1 / (n - count)) / 2 == pytest.approx(value, abs=5e-4)
    assert which_m.ratio(10_000, 100, 0.01, 2) == pytest.approx(0.0529, abs=5e-5)
    assert which_m.ratio(10_000, 100, 0.01, 5) == pytest.approx(0.6703, abs=5e-5)


def test_an_exact_percentile_is_that_of_the_enumerated_law() -> None:
    """Four contributors, one with value 1, by RR with p = .75: the reports are a sum of four random bits."""
    law: dict[float, float] = {}
    for coins in itertools.product((0, 1), repeat=4):
        ones = coins[0] + sum(1 - coin for coin in coins[1:])
        error = round(abs((ones - 1) / 0.5 - 1) * (1 + 1 / 3) / 2, 9)
        law[error] = law.get(error, 0.0) + math.prod(0.75 if coin else 0.25 for coin in coins)
    below = list(itertools.accumulate(law[error] for error in sorted(law)))
    expected_percentile = sorted(law)[next(i for i, value in enumerate(below) if value >= 0.8)]
    assert which_m.percentile(0.75, 0.0, 4, 1)[0] == pytest.approx(expected_percentile, abs=1e-8)


@pytest.mark.parametrize(("epsilon", "most"), [(0.01, 0.085), (0.1, 0.0080), (1.0, 0.00106)])
def test_the_excess_of_figure_5(epsilon: float, most: float) -> None:
    assert which_m.ratio(10_000, 1_000, epsilon, 9_999) - 1 == pytest.approx(most, rel=0.01)


@pytest.mark.parametrize("count", [2, 20])
def test_two_phases_by_enumeration(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty contributors: the distribution of phase one as plain sums, and the best JRR for each guess."""
    monkeypatch.setattr(two_phase, "COLLUDERS", 0)
    two_phase.planned.cache_clear()
    n, epsilon, part = 40, 2.0, 0.3
    first, q = JRR.optimal(n, part * epsilon, n - 1), 1 / (1 + math.exp(part * epsilon))
    total, kinds = np.zeros(2), set()
    for told, lied in itertools.product(range(count + 1), range(n - count + 1)):
        chance = math.comb(count, told) * (1 - q) ** told * q ** (count - told)
        chance *= math.comb(n - count, lied) * q**lied * (1 - q) ** (n - count - lied)
        found = (told + lied - n * q) / (1 - 2 * q)
        guess = round(min(max(found, 0.0), n))
        second = JRR.optimal(n, (1 - part) * epsilon, 0, guess)
        kinds.add(second.rho == 0)
        for place, at in enumerate((guess, n / 2)):
            precision = 1 / first.count_variance(at), 1 / second.count_variance(at)
            weight = precision[0] / sum(precision)
            known = (weight * (found - count)) ** 2
            total[place] += chance * (known + (1 - weight) ** 2 * second.count_variance(count))
    assert kinds == {True, False}
    np.testing.assert_allclose(two_phase.exact_by_budget(n, count, epsilon, part), total, rtol=1e-9)
    two_phase.planned.cache_clear()


def test_two_phases_that_split_epsilon_lose() -> None:
    """Near .30, .45, .92 and 1.13, 1.51, 1.94 from 60 other runs (18% each); one phase has .27 and 1.02."""
    n, plain = 10_000, equivalent(0.1, 10_000)
    for share, others, one_phase in ((0.05, (0.30, 0.45, 0.92), 0.272), (0.5, (1.13, 1.51, 1.94), 1.019)):
        assert two_phase.planned(n, 0.1, None).count_variance(share * n) / plain == pytest.approx(one_phase, abs=1e-3)
        for part, theirs in zip((0.05, 0.2, 0.5), others, strict=True):
            ours = float(two_phase.exact_by_budget(n, round(share * n), 0.1, part).min()) / plain
            assert abs(theirs / ours - 1) < 2 * math.sqrt(2 / 60)
            assert ours > one_phase * 1.05


def test_two_groups_are_what_their_conditional_errors_say() -> None:
    one: Cell = {**setting(1_000, 500, 0.5), "share": 0.5, "first": 0.2, "runs": 150, "seed": 1}
    cell = two_phase.by_contributors(one)
    assert abs(cell["mse"] - cell["conditional"]) < 4 * cell["mse_error"]
    assert cell["conditional_error"] < cell["mse_error"] / 2


@pytest.mark.long
def test_the_coverage_of_a_deal_with_newcomers() -> None:
    found = newcomers.coverage((280, 0.5), (600, 2.5), (0.5, 0.0))
    assert found["coverage"] == pytest.approx(0.956, abs=5e-4)
    assert found["at one frequency"] == pytest.approx(0.918, abs=5e-4)


def test_the_range_is_where_the_closed_forms_cross() -> None:
    n, width = 10_000, underperformance("JRR, Algorithm 1", 10_000, 0.1)["R"]
    one = setting(n, n // 2, 0.1)
    for share, worse in ((0.5 + 0.49 * width, True), (0.5 + 0.51 * width, False)):
        jrr, plain = (count_variance(build(name, one), n, round(share * n)) for name in ("JRR, Algorithm 1", "RR"))
        assert (jrr > plain) == worse


def test_quota_rr_never_loses_to_rr() -> None:
    assert underperformance("quota RR", 10_000, 0.1)["R"] == 0.0
    for name, (n, count) in DATASETS.items():
        one = setting(n, count, 0.1)
        assert count_variance(build("quota RR", one), n, count) < count_variance(build("RR", one), n, count), name


@pytest.mark.parametrize(("epsilon", "really"), [(0.01, 1.34), (0.1, 0.338), (0.5, 0.571), (1.0, 1.035)])
def test_what_is_learned_with_everybody_elses_data(epsilon: float, really: float) -> None:
    found = learned(build("JRR, optimum", setting(10_000, 0, epsilon)), 0.05)
    assert found[ADVERSARIES[3]] == pytest.approx(really, abs=0.006)
    assert found[ADVERSARIES[1]] <= epsilon * (1 + 1e-12)
    assert found[ADVERSARIES[4]] == math.inf
    quota = learned(build("quota RR", setting(10_000, 0, epsilon)), 0.05)
    assert max(quota[name] for name in ADVERSARIES[:4]) == pytest.approx(epsilon, rel=1e-12)


def test_rr_of_equal_strength() -> None:
    assert equivalent(1.0, 10_000) == pytest.approx(9207, rel=1e-3)
    assert equivalent(math.inf, 10_000) == 0.0


@pytest.mark.parametrize(("epsilon", "first"), [(0.01, 17), (0.1, 152), (1.0, 775)])
def test_jrr_is_not_better_for_every_coalition(epsilon: float, first: int) -> None:
    def worse(ratio: float) -> bool:
        return ratio > 1

    found = sweeps.first_coalition("JRR, Algorithm 1", epsilon, worse)
    assert found == first
    for m, answer in ((first - 1, False), (first, True)):
        one = setting(10_000, 1_000, epsilon, m)
        jrr, plain = (count_variance(build(name, one), 10_000, 1_000) for name in ("JRR, Algorithm 1", "RR"))
        assert (jrr > plain) == answer


def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "SEEDS", 2)
    monkeypatch.setattr(extensions, "GROUPS", (2, 5))
    monkeypatch.setattr(sweeps, "SHARES", (0.1,))
    monkeypatch.setattr(sweeps, "CONTRIBUTORS", (10_000,))
    monkeypatch.setattr(sweeps, "BUDGETS", (0.1, 1.0))
    monkeypatch.setattr(sweeps, "SIZES", (20, 2_000))
    monkeypatch.setattr(sweeps, "COALITIONS", (0, 5, 9_999))


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    sorted(
        {*PAPER.experiments}
        - {"real-records", "data-counts", "couplings", "theory", "quotas", "dealing", "dealt-intervals"}
    ),
)
def test_experiments_write_tables_and_pictures(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _small(monkeypatch)
    PAPER.run(name, tmp_path, runs=3)
    written = {path.suffix for path in (tmp_path / "jrr").iterdir() if path.name.startswith(name)}
    assert {".csv", ".png"} - ({".png"} if name in ("shuffle", "newcomers", "which-m") else set()) <= written


@requires_data
def test_kosarak_is_not_what_table_3_has() -> None:
    """Appendix J: 100 random pages, 20,000 clicks. The median is far below 659, and 659 is rare."""
    ones = drawn_ones(2_000, np.random.default_rng(1))
    assert 50 < float(np.median(ones)) < 66
    # 1% of 2,000 must be met within five binomial standard errors.
    assert abs(float((ones >= 659).mean()) - 0.012) < 5 * math.sqrt(0.012 / 2_000)
    answers = real_answers()
    assert (len(answers["E-commerce"]), int(answers["E-commerce"].sum())) == DATASETS["E-commerce"]
    assert len(answers["Kosarak"]) == 20_000


@requires_data
def test_kosaraks_users_may_be_what_table_3_has() -> None:
    """The other reading: 20,000 users, with 1 after a visit to any of 100 random pages."""
    ones = datasets.drawn_visitors(300, np.random.default_rng(1))
    # The tolerance is five standard errors of a median, by the density that 20,000 draws have there.
    assert 340 < float(np.median(ones)) < 460
    assert abs(float((ones >= 659).mean()) - 0.151) < 5 * math.sqrt(0.151 * 0.849 / 300)


def test_visits_are_counted_once_for_each_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gzip.open(tmp_path / "kosarak_first100k.dat.gz", "wt", encoding="ascii") as file:
        file.write("7 3 7\n3\n9\n")
    monkeypatch.setenv("DENIABLE_DATA", str(tmp_path))
    pages, users = datasets.visits()
    assert ([page.tolist() for page in pages], users) == ([[0, 1], [0], [2]], 3)


def test_the_papers_numbers_are_complete() -> None:
    claims = {claim["id"]: claim["paper"] for claim in expected()["claims"]}
    assert claims.keys() >= sweeps.PLACES.keys()
    assert (claims["3a-0.01"], claims["3c-1"], claims["8-RI"]) == (0.058, 0.009, 7.3e-5)


def test_quick_needs_no_data() -> None:
    quick = {name for name, one in PAPER.experiments.items() if one.quick is not None}
    assert quick >= {"table-3", "fig-5", "attackers", "groups", "shuffle", "means", "two-phase"}
    assert not quick & {"real-records", "data-counts"}


def test_the_tables_of_the_pages_on_quotas_and_dealing_are_those_of_the_library(tmp_path: Path) -> None:
    """Every number of `quotas` beside docs/theory/quota_rr.md and dealing.md is what the library computes now."""
    run = Run("jrr", "quotas", tmp_path, 1, 1)
    quotas.quotas(run)
    computed, folder = Results(tmp_path / "jrr"), DOCS / "theory" / "results"
    stored = [*folder.glob("quota_rr/*.csv"), *folder.glob("dealing/quotas-*.csv")]
    assert {path.stem for path in stored} == {path.stem for path in (tmp_path / "jrr").glob("*.csv")}
    for path in stored:
        kept = Results(path.parent).rows(path.stem)
        for row, other in zip(computed.rows(path.stem), kept, strict=True):
            assert row.keys() == other.keys()
            for column, value in row.items():
                assert value == other[column] or float(value) == pytest.approx(float(other[column]), rel=1e-6), column


def test_coverage_beside_the_page_on_dealt_intervals_is_that_of_the_library() -> None:
    kept = Results(DOCS / "theory" / "results" / "dealt_intervals")
    for row in measured(sizes=(5,), epsilons=(6.0,)):
        where = {key: row[key] for key in ("mechanism", "epsilon", "n", "target")}
        for column in ("coverage", "width"):
            assert kept.value("dealt-intervals", column, **where) == pytest.approx(row[column], rel=1e-6), where


def test_the_tables_of_the_coupling_page_are_those_of_its_command(tmp_path: Path) -> None:
    """docs/theory/coupling.md has all closed forms that `couplings` prints, in the same digits."""
    text = (FOLDER.parents[1] / "docs" / "theory" / "coupling.md").read_text(encoding="utf-8")
    run = Run("jrr", "couplings", tmp_path, 1, 1)
    for part in (couplings.kary, couplings.binary, couplings.unary, couplings.hashed):
        part(run)
    table = Results(tmp_path / "jrr")

    def digits(value: str) -> str:
        return re.sub(
            r"^1\.000$|^\.000$", lambda found: "1" if found[0][0] == "1" else "0", printed(float(value), ".3f")
        )

    for row in table.rows("couplings"):
        k, epsilon, *rest = row.values()
        assert f"| {k}, {float(epsilon):g} | {' | '.join(map(digits, rest))} |" in text
    for method, share, label in (
        ("report coupling", 0.05, "| report coupling, f = .05"),
        ("report coupling", 0.5, "| report coupling, f = .5"),
    ):
        chosen = [row["of RR"] for row in table.rows("couplings-binary", method=method, share=share)]
        assert f"{label} | {' | '.join(map(digits, chosen))} |" in text
    assert " | ".join(digits(row["of OUE"]) for row in table.rows("couplings-oue")) in text
    for row in table.rows("couplings-olh"):
        epsilon, *rest = row.values()
        cells = " | ".join(printed(float(value), ".3f") for value in rest)
        assert f"| epsilon = {printed(float(epsilon), 'g')} | {cells} |" in text


def test_what_colluders_lies_tell_is_enumerated() -> None:
    """At the extreme a liar's sign is certain. Two contributors are peers; more of them hide one another."""
    assert theory.epsilon_given_lies(0.6, -0.5, 2, 1) == pytest.approx(math.log(9))
    assert theory.epsilon_given_lies(0.6, -2 / 3, 4, 2) == math.inf
    assert math.log(1.5) < theory.epsilon_given_lies(0.6, -0.5, 4, 1) < theory.epsilon_given_lies(0.6, -0.5, 4, 3)


def test_the_tables_of_the_theory_page_are_those_of_its_command(tmp_path: Path) -> None:
    run = Run("jrr", "theory", tmp_path, 1, 1)
    for part in (theory.caps, theory.optimum, theory.lies):
        part(run)
    for path in (tmp_path / "jrr").glob("*.csv"):
        ours, kept = (
            [list(row.values()) for row in Results(folder).rows(path.stem)]
            for folder in (tmp_path / "jrr", DOCS / "theory" / "results" / "jrr")
        )
        assert [len(ours), *map(len, ours)] == [len(kept), *map(len, kept)]
        for one, other in zip(itertools.chain(*ours), itertools.chain(*kept), strict=True):
            assert one == other or float(one) == pytest.approx(float(other), rel=1e-9)


def test_one_pairing_used_again_is_found() -> None:
    """Peers disagree more often than by chance: many rounds reveal nearly all peers, one round none."""
    assert theory.peers_found(200, 60, 0.1, 1) > 0.9
    assert theory.peers_found(200, 1, 0.1, 1) < 0.1

"""Memoised oracles: exact chains, information in sequences of reports, and false statements about them."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import GRR, OUE, SimulationRandomness
from deniable.core.spec import from_spec, to_spec
from deniable.core.thresholds import SCALE
from deniable.errors import InvalidInputError, InvalidParameterError, InvalidReportError, TooLargeError
from deniable.oracles import memoised as module
from deniable.oracles.bits import randomize_one_hot
from deniable.oracles.memoised import (
    MemoisedGRR,
    MemoisedHash,
    MemoisedOUE,
    memoised_oracle,
    pattern,
    second_lie,
)

ULP = Fraction(1, SCALE)
MEMBERS: list[Any] = [
    MemoisedGRR(4, 2.0, 1.0),
    MemoisedGRR(2, 1.0, 0.9),
    MemoisedOUE(4, 2.0, 1.0),
    MemoisedOUE(3, 4.0, 2.0),
    MemoisedHash(16, 2.0, 1.0, 2),
    MemoisedHash(5, 1.0, 0.5),
]


def log(ratio: Fraction) -> float:
    return math.log(ratio.numerator) - math.log(ratio.denominator)


# ---------------------------------------------------------------- the chain


@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize(("forever", "once"), [(9, 3), (3, 2), (20, 20), (5, Fraction(3, 2))])
def test_both_stages_together_are_the_oracle_in_rationals(m: int, forever: int, once: Fraction) -> None:
    """With rational e^epsilon nothing is rounded: the product of both stages is randomised response, entry by entry."""

    def response(ratio: Fraction | int) -> tuple[Fraction, Fraction]:
        return Fraction(ratio) / (ratio + m - 1), Fraction(1) / (ratio + m - 1)

    (p1, q1), (p, q) = response(forever), response(once)
    q2 = second_lie(p1, q1, q)
    first = [[p1 if i == j else q1 for j in range(m)] for i in range(m)]
    second = [[1 - (m - 1) * q2 if i == j else q2 for j in range(m)] for i in range(m)]
    product = [[sum(first[i][r] * second[r][j] for r in range(m)) for j in range(m)] for i in range(m)]
    assert product == [[p if i == j else q for j in range(m)] for i in range(m)]
    # The own bit is set with 1/2 in both stages, and any other bit with 1/(e^epsilon + 1).
    q1, q = Fraction(1, forever + 1), 1 / (Fraction(once) + 1)
    flip = second_lie(1 - q1, q1, q)
    assert q1 * (1 - flip) + (1 - q1) * flip == q
    assert Fraction(1, 2) * (1 - flip) + Fraction(1, 2) * flip == Fraction(1, 2)


def memo_matrix(mechanism: Any) -> NDArray[Any]:
    """Return P(report | permanent response) of codes as Fractions, shape (k, k)."""
    p, q = mechanism.second_stage
    matrix = np.full((mechanism.memo_rows, mechanism.memo_rows), q, dtype=object)
    np.fill_diagonal(matrix, p)
    return matrix


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize(("forever", "once"), [(1.0, 0.5), (2.0, 1.0), (2.0, 2.0), (4.0, 2.0), (1.0, 0.9)])
def test_the_composed_channel_is_the_oracle_within_rounding_and_never_above(k: int, forever: Any, once: Any) -> None:
    made, oracle = MemoisedGRR(k, forever, once), GRR(k, once)
    product = made.first.channel(exact=True) @ memo_matrix(made)
    assert (product == made.channel(exact=True)).all()
    assert all(abs(ours - theirs) <= ULP for ours, theirs in zip(*(_off(one) for one in (made, oracle)), strict=True))
    bits, unary = MemoisedOUE(k, forever, once), OUE(k, once)
    p2, q2 = bits.second_stage
    rows = np.arange(1 << k)
    flips = np.array(
        [[q2 ** (a ^ b).bit_count() * p2 ** (k - (a ^ b).bit_count()) for b in range(1 << k)] for a in range(1 << k)]
    )
    assert (bits.first.channel(exact=True) @ flips == bits.channel(exact=True)).all()
    assert len(rows) == bits.channel().shape[1]
    assert bits.support_probabilities[0] == Fraction(1, 2)
    assert abs(bits.support_probabilities[1] - unary.support_probabilities[1]) <= ULP
    for one, declared in ((made, once), (bits, once)):
        assert one.implemented_epsilon() <= float(declared)
        assert one.memoised_epsilon <= float(forever)
        assert abs(one.implemented_epsilon() - float(declared)) < 1e-12


def _off(one: Any) -> NDArray[Any]:
    matrix = one.channel(exact=True)
    found: NDArray[Any] = matrix[~np.eye(len(matrix), dtype=bool)]
    return found


def test_a_hash_reports_a_cell_of_the_exact_chain() -> None:
    made = MemoisedHash(3, 2.0, 1.0, 2)
    c, (p, q) = made.collision_probability, made.response.support_probabilities
    assert made.support_probabilities == (p, c * p + (1 - c) * q)
    assert made.response == MemoisedGRR(2, 2.0, 1.0)
    # The best number of cells is that of local hashing at epsilon_once, not at epsilon_forever.
    found = [MemoisedHash(1000, *budgets).g for budgets in ((1.0, 0.5), (2.0, 1.0), (4.0, 2.0))]
    assert found == [3, 4, 8]
    assert MemoisedHash(1000, 32.0, 32.0).g == 1 << 20


KNOWN = [
    # The columns are m, both budgets, p2, what the published p2 attains, and covariances of two supports of one answer.
    (2, 1.0, 0.5, 0.7649962877984053, 0.5, 0.05522674474852978, 0.05522674474852976),
    (4, 2.0, 1.0, 0.6164624616830003, 0.9014829920428411, 0.02076855177962309, 0.049033681099421404),
    (16, 2.0, 1.0, 0.38109807792780925, 0.5732333266681425, 0.004927921720768148, 0.025535972609643465),
]


@pytest.mark.parametrize(("m", "forever", "once", "p2", "published", "absent", "present"), KNOWN)
def test_known_chains(
    m: int, forever: float, once: float, p2: float, published: float, absent: float, present: float
) -> None:
    made = MemoisedGRR(m, forever, once)
    (p1, q1), (own, other) = made.first_stage, made.second_stage
    assert float(own) == pytest.approx(p2, rel=1e-12)
    # For two reports of one unchanged answer this is (p2 - q2)^2 times the variance of its permanent response.
    for chance, known in ((q1, absent), (p1, present)):
        assert float((own - other) ** 2 * chance * (1 - chance)) == pytest.approx(known, rel=1e-9)
    # The published p2 = (q1 - e p1)/((-p1 e) + m q1 e - q1 e - p1 (m - 1) + q1) spends less, except for two values.
    e, a, b = math.exp(once), float(p1), float(q1)
    theirs = (b - e * a) / (-a * e + m * b * e - b * e - a * (m - 1) + b)
    q = b + (1 - theirs) / (m - 1) * (a - b)
    assert math.log((1 - (m - 1) * q) / q) == pytest.approx(published, rel=1e-9)
    assert (abs(published - once) < 1e-9) == (m == 2)


@pytest.mark.parametrize(
    ("forever", "once", "p2", "q"),
    [(1, 0.5, 0.7649962877984056, 0.3775406687981454), (4, 2, 0.8950064145964934, 0.11920292202211755)],
)
def test_known_chains_of_bits(forever: float, once: float, p2: float, q: float) -> None:
    bits = MemoisedOUE(4, forever, once)
    assert float(bits.second_stage[0]) == pytest.approx(p2, rel=1e-12)
    assert float(bits.support_probabilities[1]) == pytest.approx(q, rel=1e-12)


def test_the_published_second_stage_does_not_attain_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant of the module: 1/(p1 (e + m - 1) ...) as published would fail the comparison with the oracle above."""
    honest = MemoisedGRR(4, 2.0, 1.0)
    monkeypatch.setattr(module, "second_lie", lambda *_: (1 - Fraction("0.5766396098184713")) / 3)
    mutant = MemoisedGRR(4, 2.0, 1.0)
    assert mutant.implemented_epsilon() == pytest.approx(0.9014829920428411)
    assert honest.implemented_epsilon() == pytest.approx(1.0)


# ---------------------------------------------------------------- sequences


def test_every_row_about_sequences_and_the_false_ones() -> None:
    """All sequences of T = 3 answers, k = 3, g = 2: the guarantee's statements are true, plausible others are false."""
    for forever, once, largest in ((1.0, 0.9, 3.6777), (0.5, 0.45, 2.9591), (2.0, 1.0, 2.6416)):
        made = MemoisedHash(3, forever, once, 2)
        found = log(made.history_ratio(3))
        assert found == pytest.approx(largest, abs=1e-4)
        # Two bounds are false: r eps_forever whatever the times, and min(r, g) eps_forever for any sequence.
        assert found > 2 * forever or (forever, once) == (2.0, 1.0)
        assert found <= made.history_epsilon(3)
        # If the same waves share a cell, r cells give r eps_forever.
        assert log(made.history_ratio(3, same_changes=True)) <= 2 * forever
    assert log(MemoisedHash(3, 2.0, 1.0, 2).history_ratio(6)) == pytest.approx(4.7540, abs=1e-4)  # > 4 = 2 eps_forever
    # The bound T eps_once is false.
    assert log(MemoisedHash(3, 1.0, 0.9, 2).history_ratio(3)) > 3 * 0.9
    others: list[Any] = [MemoisedGRR(3, 1.0, 0.5), MemoisedGRR(3, 2.0, 1.0), MemoisedOUE(3, 1.0, 0.5)]
    for one in others:
        assert log(one.history_ratio(1)) <= float(one.epsilon_once)
        assert log(one.history_ratio(3)) <= one.history_epsilon(3)
        for waves, values in ((2, 2), (3, 3)):
            assert log(one.history_ratio(waves, same_changes=True)) <= values * float(one.epsilon_forever)


def test_one_unchanged_answer_reveals_epsilon_forever_and_no_more() -> None:
    made = MemoisedGRR(2, 1.0, 0.9)
    one, other = made._history_law((0,) * 12)[0], made._history_law((1,) * 12)[0]
    worst = log(max(Fraction(a, b) for a, b in zip(one, other, strict=True)))
    assert 0.9999 < worst <= 1.0


def test_a_memo_that_is_drawn_again_breaks_the_bound() -> None:
    """All 2^12 sequences of twelve reports of one answer: epsilon_forever with one memo, 12 epsilon_once without it."""
    made, waves = MemoisedGRR(2, 1.0, 0.9), 12
    kept = [made._history_law((code,) * waves)[0] for code in (0, 1)]
    p, q = made.support_probabilities
    ones = np.array([outcome.bit_count() for outcome in range(2**waves)])
    redrawn = [[p ** int(waves - x) * q ** int(x) for x in ones], [q ** int(waves - x) * p ** int(x) for x in ones]]
    worst = [log(max(Fraction(a, b) for a, b in zip(*pair, strict=True))) for pair in (kept, redrawn)]
    assert worst[0] <= 1.0
    assert worst[1] == pytest.approx(waves * 0.9, abs=1e-9)


@pytest.mark.parametrize("made", MEMBERS, ids=repr)
def test_reports_of_one_memo_agree_more_often_than_redrawn_ones(made: Any) -> None:
    """3,000 people, 30 reports each: two reports of one memo have the covariance (p2 - q2)^2 p1 (1 - p1).

    A memo that is drawn again for every report has covariance 0. The variance of 3,000 means of 30 supports, each
    below 1/4, has a standard error below .25 sqrt(2/3000) = .0065 of the weakest kind: bound half of the covariance.
    """
    rng, people, waves = SimulationRandomness(17), 3000, 30
    codes = np.full(people, made.k - 1)

    def covariance(redraw: bool) -> float:
        memo, supported = made.permanent(codes, rng), np.zeros((people, waves))
        for wave in range(waves):
            memo = made.permanent(codes, rng) if redraw else memo
            supported[:, wave] = made.supports(made.report(memo, rng), codes[:1])[:, 0]
        # This estimate is unbiased: the variance of a person's mean, less what one report's noise adds to it.
        return float(supported.mean(axis=1).var(ddof=1) - supported.var(axis=1, ddof=1).mean() / waves)

    (p1, _), (p2, q2) = made.first_stage, made.second_stage
    expected = float((p2 - q2) ** 2 * p1 * (1 - p1))
    assert abs(covariance(redraw=False) - expected) < expected / 2
    assert abs(covariance(redraw=True)) < expected / 2


def test_equal_value_patterns_are_not_enough_where_cells_are_kept() -> None:
    """Three values in two cells: (a, b, a) may stay in one cell while (c, d, c) moves."""
    made = MemoisedHash(3, 1.0, 0.9, 2)
    worst = Fraction(1)
    for function in itertools.product(range(2), repeat=3):
        for one, other in itertools.product(itertools.product(range(3), repeat=3), repeat=2):
            if pattern(one) == pattern(other):
                laws = [made._history_law(tuple(function[v] for v in history))[0] for history in (one, other)]
                worst = max(worst, *(Fraction(a, b) for a, b in zip(*laws, strict=True)))
                if log(worst) > 3.67:
                    break
    assert log(worst) == pytest.approx(3.6777, abs=1e-4)
    assert "reports of r different cells, the times of change being known" in str(made.privacy())


def test_changes_are_visible_where_reports_copy_the_permanent_response() -> None:
    made = MemoisedGRR(3, 1.0, 1.0)
    assert made.lie == 0
    assert made.history_epsilon(1) == 1.0
    assert made.history_epsilon(2) == math.inf
    assert "every change of an answer is visible" in str(made.privacy())
    memo = made.draw_memo(SimulationRandomness(5))
    assert {made.report_from(memo, 1, SimulationRandomness(seed))[0] for seed in range(50)} == {memo[1]}


def test_too_many_histories_are_refused() -> None:
    with pytest.raises(TooLargeError, match="use the bound of history_epsilon"):
        MemoisedGRR(8, 2.0, 1.0).history_ratio(5)
    with pytest.raises(InvalidParameterError, match="reports must be >= 1"):
        MemoisedGRR(8, 2.0, 1.0).history_epsilon(0)


def test_the_guarantee_says_what_is_not_protected() -> None:
    for made in MEMBERS:
        found = made.privacy()
        assert found.epsilon == float(made.epsilon_forever)
        assert [row.epsilon for row in found.trust_models[:2]] == [
            float(made.epsilon_once),
            float(made.epsilon_forever),
        ]
        assert any("times of change are not protected" in remark for remark in found.remarks)


# ---------------------------------------------------------------- words


class Words:
    """Return these words and count those taken."""

    def __init__(self, words: list[int]) -> None:
        self.words, self.taken = words, 0

    def fill(self, words: NDArray[np.uint64]) -> None:
        for i in range(len(words)):
            words[i] = self.words[self.taken] if self.taken < len(self.words) else 1 << 63
            self.taken += 1


def test_which_word_decides_which_report() -> None:
    made = MemoisedGRR(3, 2.0, 1.0)
    lie, second, top = int(made.first_stage[1] * SCALE), made.lie, SCALE - 1
    # Word v decides the permanent response of value v: the truth from (k-1) Q on, else a step.
    source = Words([top, 0, lie, top, 0])
    memo = made.draw_memo(source)
    assert (memo.tolist(), source.taken) == ([0, 2, 1], 3)
    # Each report takes one more word, by the threshold of the second stage.
    assert made.report_from(memo, 1, source).tolist() == [2]
    assert made.report_from(memo, 1, source).tolist() == [0]
    assert source.taken == 5
    for word, reported in ((2 * second - 1, 1), (2 * second, 2), (second, 1), (second - 1, 0)):
        assert made.report_from(memo, 1, Words([word])).tolist() == [reported]


def test_a_memo_takes_the_same_words_whatever_is_answered() -> None:
    for made in MEMBERS:
        taken = set()
        for code in range(made.k):
            source = Words(list(np.random.default_rng(7).integers(0, SCALE, 4000, dtype=np.uint64).tolist()))
            memo: Any = made.draw_memo(source)
            drawn = source.taken
            made.report_from(memo, code, source)
            taken.add(drawn)
        assert len(taken) == 1
        rows = made._permanent(np.arange(made.memo_rows) % made.k, SimulationRandomness(1))
        assert type(rows) is type(memo)


def _largest_deviation(memos: NDArray[np.bool_], p: float, q: float) -> float:
    """Return the largest deviation of memo bits from their distribution in standard errors, single and in pairs."""
    k, found = memos.shape[1], 0.0
    bits = memos.reshape(len(memos), k * k)
    chances = np.where(np.eye(k, dtype=bool), p, q).ravel()
    for i, j in itertools.combinations_with_replacement(range(k * k), 2):
        expected = chances[i] if i == j else chances[i] * chances[j]
        deviation = (bits[:, i] & bits[:, j]).sum() - len(bits) * expected
        found = max(found, abs(deviation) / math.sqrt(len(bits) * expected * (1 - expected)))
    return found


def test_the_bits_of_a_memo_are_independent_draws_of_the_first_stage() -> None:
    """45 counts over 3,000 memos, each within 4.9 standard errors; not so if rows read each other's words."""
    made, n, values = MemoisedOUE(3, 2.0, 1.0), 3000, np.arange(3)
    p, q = map(float, made.first_stage)
    rng = SimulationRandomness(17)
    drawn = [made.supports(made.draw_memo(rng), values) for _ in range(n)]
    assert _largest_deviation(np.array(drawn), p, q) < 4.9
    words = np.random.default_rng(17).integers(0, SCALE, (n, 64), dtype=np.uint64).tolist()
    same = [
        [randomize_one_hot(values[code : code + 1], 3, made.first.thresholds, Words(own)) for code in values]
        for own in words
    ]
    assert _largest_deviation(np.array([made.supports(np.concatenate(one), values) for one in same]), p, q) > 10


@pytest.mark.parametrize("made", MEMBERS, ids=repr)
def test_reports_from_a_memo_follow_the_channel(made: Any) -> None:
    """5,000 contributors with a memo each, one report: the support counts are those of epsilon_once; z below 4.9."""
    rng, n, code = SimulationRandomness(11), 5000, made.k - 1
    p, q = made.support_probabilities
    supported = np.zeros(made.k)
    for _ in range(n // 10):
        memo = made.draw_memo(rng)
        supported += made.supports(made.report_from(memo, code, rng), np.arange(made.k))[0]
    many = made.supports(made.report(made.permanent(np.full(n, code), rng), rng), np.arange(made.k)).sum(axis=0)
    for counts, size in ((supported, n // 10), (many, n)):
        for value, count in enumerate(counts):
            chance = float(p if value == code else q)
            assert abs(count - size * chance) < 4.9 * math.sqrt(size * chance * (1 - chance))


# ---------------------------------------------------------------- parameters


def test_specifications_write_budgets_as_decimals() -> None:
    made = MemoisedHash(16, 0.7, 0.35, 2)
    spec = to_spec(made)
    assert spec == {"mechanism": "MemoisedHash", "k": 16, "epsilon_forever": "0.7", "epsilon_once": "0.35", "g": 2}
    assert from_spec(json.loads(json.dumps(spec))) == made


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MemoisedGRR(4, 1.0, 2.0), "epsilon_once must be <= epsilon_forever=1, got epsilon_once=2"),
        (lambda: MemoisedGRR(1, 2.0, 1.0), "k must be"),
        (lambda: MemoisedGRR(4, 0, 1.0), "epsilon_forever must be"),
        (lambda: MemoisedGRR(4, 1.0, cast("Any", "x")), "epsilon_once must be"),
        (lambda: MemoisedHash(4, 2.0, 1.0, 1), "g must be"),
        (lambda: memoised_oracle(4, 2.0, 1.0, "SUE"), "oracle must be one of GRR, OUE, hash"),
        (lambda: memoised_oracle(4, 2.0, 1.0, "GRR", 2), "g works only with oracle="),
    ],
)
def test_refuses(make: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        make()


def test_refuses_a_memo_of_another_mechanism_and_one_too_large() -> None:
    made, rng = MemoisedGRR(4, 2.0, 1.0), SimulationRandomness(1)
    with pytest.raises(InvalidParameterError, match="memo must be the 4 rows"):
        made.report_from(np.zeros(3, dtype=np.uint8), 0, rng)
    with pytest.raises(InvalidReportError, match=r"must be in 0\.\.3"):
        made.report_from(np.full(4, 9, dtype=np.uint8), 0, rng)
    with pytest.raises(InvalidInputError):
        made.report_from(made.draw_memo(rng), 4, rng)
    larges: list[Any] = [MemoisedOUE(1025, 2.0, 1.0), MemoisedGRR((1 << 20) + 1, 2.0, 1.0)]
    for large in larges:
        with pytest.raises(TooLargeError, match="use MemoisedHash"):
            large.draw_memo(rng)


def test_the_name_of_an_oracle_makes_its_member() -> None:
    assert memoised_oracle(4, 2.0, 1.0) == MemoisedGRR(4, 2.0, 1.0)
    assert memoised_oracle(4, 2.0, 1.0, "OUE") == MemoisedOUE(4, 2.0, 1.0)
    assert memoised_oracle(4, 2.0, 1.0, "hash", 2) == MemoisedHash(4, 2.0, 1.0, 2)

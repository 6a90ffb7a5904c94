"""Designs: channels from their devices, odds from the definition, all vectors, and faults that must be noticed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable import SimulationRandomness, designs
from deniable.core.spec import from_spec, to_spec
from deniable.core.support_counts import of_population
from deniable.designs import Design, design as design_module, kinds
from deniable.errors import InvalidInputError, InvalidParameterError, InvalidReportError, PrivacyLimitError
from deniable.testing import check_mechanism, laws
from tests.unit.designs import devices, vectors

CHANNELS = [pytest.param(case, id=case["id"]) for case in vectors.CASES if case["kind"] == "channel"]
SETTINGS = [pytest.param(*setting, id=f"{setting[0]}-{i}") for i, setting in enumerate(devices.SETTINGS)]


def of_vector(case: dict[str, Any]) -> Design:
    """Build the design of a vector with its own constructor."""
    params = {"q" if name == "rate" else name: value for name, value in case["params"].items()}
    build: Callable[..., Design] = getattr(designs, case["design"])
    return build(**params)


# ---------------------------------------------------------------- channels and their proofs


@pytest.mark.parametrize(("name", "parameters"), SETTINGS)
def test_the_channel_is_what_the_device_does(name: str, parameters: tuple[Any, ...]) -> None:
    made = Design(name, parameters)
    assert devices.channel(name, parameters, made.k, made.state_size) == [list(row) for row in made.rows]
    laws.rows_sum_to_one(made)


@pytest.mark.parametrize(("name", "parameters"), SETTINGS)
def test_odds_are_the_largest_ratios_in_favour_of_each_truth(name: str, parameters: tuple[Any, ...]) -> None:
    made = Design(name, parameters)
    for x in range(made.k):
        ratios: list[Fraction | float] = []
        for y in range(made.state_size):
            for other in set(range(made.k)) - {x}:
                own, others = made.rows[x][y], made.rows[other][y]
                ratios += [own / others if others else math.inf] if own else []
        assert made.odds[x] == max(ratios)
    assert made.implemented_ratio() == max(made.odds)
    if math.isfinite(made.epsilon):
        ratio = max(made.odds)
        assert isinstance(ratio, Fraction)
        log = Context(prec=50).ln(Decimal(ratio.numerator) / Decimal(ratio.denominator))
        assert log <= Decimal(made.epsilon) <= log + Decimal("1e-15")


@pytest.mark.parametrize(("name", "parameters"), SETTINGS)
def test_scores_have_the_truth_for_their_mean_exactly(name: str, parameters: tuple[Any, ...]) -> None:
    made = Design(name, parameters)
    for x, row in enumerate(made.rows):
        for v in range(made.k):
            mean = sum(cell * weights[v] for cell, weights in zip(row, made.weights, strict=True))
            assert mean == (x == v)


FINITE = [
    ("forced", ("1/6", "1/12")),
    ("kuk", ("1/5", "4/5", 1)),
    ("modular", ("1/2", "1/3", "1/6")),
]
"""Designs with both orders of a and b, with more reports than truths, and with inverses that are not diagonal."""


@pytest.mark.parametrize(("name", "parameters"), FINITE)
def test_designs_keep_every_law(name: str, parameters: tuple[Any, ...]) -> None:
    assert check_mechanism(Design(name, parameters)).skipped == ()


@pytest.mark.parametrize(("name", "parameters"), SETTINGS)
def test_reports_follow_the_channel(name: str, parameters: tuple[Any, ...]) -> None:
    laws.reports_follow_the_channel(Design(name, parameters), n=5000)


# ---------------------------------------------------------------- the contract's vectors


@pytest.mark.parametrize("case", CHANNELS)
def test_vectors_of_channels_and_estimates(case: dict[str, Any]) -> None:
    made, counts = of_vector(case), np.array(case["counts"])
    assert [[str(cell) for cell in row] for row in made.rows] == [
        [str(Fraction(cell)) for cell in row] for row in case["channel"]
    ]
    assert [str(most) for most in made.odds] == case["odds"]
    assert str(made.implemented_ratio()) == case["ratio"]
    assert made.epsilon == pytest.approx(float(case["epsilon"]), rel=1e-14)
    scores = [[str(weights[1])] if made.k == 2 else [str(one) for one in weights] for weights in made.weights]
    assert scores == case["scores"]
    found = made.estimate_counts(case["counts"], confidence=case["confidence"])
    aggregate = made.aggregate(np.repeat(np.arange(made.state_size), counts))
    assert np.array_equal(made.estimate(aggregate).frequencies, found.shares)
    if made.k > 2:
        assert found.shares == pytest.approx(case["estimate_float"], abs=1e-8)
        assert found.standard_errors**2 == pytest.approx(case["variance_population"], abs=1e-8)
        return
    assert found.prevalence == pytest.approx(case["estimate_float"], abs=1e-8)
    assert found.standard_error**2 == pytest.approx(case["variance_population"], abs=1e-8)
    assert found.unbiased_variances[1] == pytest.approx(case["variance_unbiased"], abs=1e-8)
    alone = made.estimate_counts(case["counts"], target="contributors")
    assert alone.standard_error**2 == pytest.approx(case["variance_contributors"], abs=1e-8)
    no, yes = (float(row[1]) for row in made.rows)
    few = made.state_size == 2 and counts.sum() * min(no, 1 - yes) < 25
    assert found.interval == pytest.approx(
        case["interval_exact_population" if few else "interval_score_population"], abs=1e-8
    )
    if made.state_size == 2:
        support = found.estimate.support
        assert support is not None
        p, q = (np.broadcast_to(share, 2) for share in (support.p, support.q))
        exact = of_population(support.counts, support.n, p, q, 0.025)
        assert [bound[1] for bound in exact] == pytest.approx(case["interval_exact_population"], abs=1e-8)


@pytest.mark.parametrize(
    "case", [case for case in vectors.CASES if case["kind"] == "refused"], ids=lambda case: case["id"]
)
def test_vectors_of_refusals(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=case["message_contains"].replace("+", r"\+")):
        of_vector(case)


def test_vectors_of_the_best_channel_and_of_planning() -> None:
    (at,) = (case for case in vectors.CASES if case["kind"] == "at")
    best = designs.forced.at(odds=(at["params"]["L0"], at["params"]["L1"]))
    assert best == designs.forced(at["yes"], at["no"])
    (plan,) = (case for case in vectors.CASES if case["kind"] == "plan")
    made = of_vector(plan)
    assert made.variance_of_one(plan["f"]) / Fraction(plan["se"]) ** 2 == Fraction(plan["n_exact"])
    assert made.people_needed(plan["f"], plan["se"]) == plan["n"]


# ---------------------------------------------------------------- estimates


def test_too_few_yes_and_too_many_are_said() -> None:
    one_die = designs.forced("1/6", "1/6")
    (fewer,) = one_die.estimate_counts([48, 2]).warnings
    # P(at most 2 of 50 at 1/6) = (5/6)^50 + 50 (1/6) (5/6)^49 + 1225 (1/36) (5/6)^48.
    p = (5 / 6) ** 50 + 50 / 6 * (5 / 6) ** 49 + 1225 / 36 * (5 / 6) ** 48
    assert fewer == (f'Fewer say "yes" than the device alone produces (p = {p:.2g}). Were instructions followed?')
    (more,) = designs.warner("3/4").estimate_counts([0, 20]).warnings
    assert more.startswith('More say "yes" than if everybody were a carrier (p = 0.0032)')
    assert designs.kuk("1/5", "4/5").estimate_counts([0, 50]).warnings[0].startswith('Fewer say "0" than')
    christofides = designs.christofides(["1/10", "2/10", "3/10", "4/10"])
    assert christofides.estimate_counts([0, 0, 1, 40]).warnings[0].startswith("Fewer say low numbers than the device")
    assert one_die.estimate_counts([1604, 831]).warnings == ()
    (many,) = designs.forced("1/4", "1/4").estimate_counts([900, 100]).warnings
    assert many.startswith('Fewer say "yes"')
    assert designs.two_trial("3/4").estimate_counts([100, 1, 0]).warnings[0].startswith("Fewer say high numbers than")


def test_counts_by_name_and_bad_counts() -> None:
    crosswise = designs.crosswise("2/12")
    named = crosswise.estimate_counts({"different": 212, "same": 788})
    assert named.counts == (788, 212)
    with pytest.raises(
        InvalidInputError,
        match="counts must name the reports “same”, “different”, got counts with the names",
    ):
        crosswise.estimate_counts({"yes": 1, "no": 2})
    with pytest.raises(InvalidInputError, match="counts must be a list of numbers, got counts with the names “red”"):
        designs.kuk("4/5", "1/5").estimate_counts({"red": 2})
    for wrong in ([1], [1, 2, 3], [-1, 4], [0.5, 1]):
        with pytest.raises(InvalidInputError, match="counts must"):
            crosswise.estimate_counts(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="at least one report"):
        crosswise.estimate_counts([0, 0])
    with pytest.raises(InvalidReportError):
        crosswise.score([2])


# ---------------------------------------------------------------- data, budgets, collections


def test_specifications_keep_the_fractions() -> None:
    made = designs.triangular("1/3", one_sided=True)
    spec = to_spec(made)
    assert spec == {"mechanism": "Design", "design": "triangular", "parameters": ["1/3"], "one_sided": True}
    again = from_spec(json.loads(json.dumps(spec)))
    assert again == made
    assert again.epsilon == math.inf
    assert repr(made) == "Design('triangular', p=1/3, one_sided=True)"
    assert repr(designs.modular(["1/2", "1/4", "1/4"])) == "Design('modular', weights=(1/2, 1/4, 1/4))"


def test_a_budget_is_kept_and_nearly_spent() -> None:
    for k in (2, 3, 8):
        for epsilon in ("0.000001", "0.01", "1", "4", "32"):
            made = Design.from_epsilon(k, epsilon)
            assert made.k == k
            assert float(epsilon) - 1e-6 <= made.epsilon <= float(epsilon)
            assert made.epsilon > 0
    with pytest.raises(InvalidParameterError, match=r"epsilon must be >= 1\.60944 for Design\('crosswise', p=1/6\)"):
        Design.from_epsilon(2, 1.6, "crosswise", ("1/6",))
    with pytest.raises(
        InvalidParameterError,
        match="k must be 2 for crosswise with these parameters, got k=3",
    ):
        Design.from_epsilon(3, 2, "crosswise", ("1/6",))
    with pytest.raises(InvalidParameterError, match="k must be at most 64"):
        Design.from_epsilon(65, 2)
    with pytest.raises(InvalidParameterError, match="design must have a finite epsilon"):
        Design.from_epsilon(2, 32, "triangular", ("1/6",))


SMOKER = dn.Schema((dn.Attribute("smoker", ("no", "yes")),))


def test_a_collection_takes_designs_whose_reports_prove_nothing() -> None:
    survey = dn.Collection(SMOKER, designs.crosswise("2/12"))
    again = dn.Collection.from_json(survey.to_json())
    assert again.id == survey.id
    reports = again.randomize({"smoker": ["no", "yes", "no"]}, SimulationRandomness(1))
    assert again.estimate(again.aggregate(reports))["smoker"].n == 3
    status = survey.privacy().trust_models[0]
    assert status.status == "assumption"
    assert "learn the birthday" in status.note
    from deniable.cli._mechanisms import build_mechanism

    made = build_mechanism("design", (2,), "1.7", {"design": "crosswise", "parameters": ("2/12",)})
    assert made == designs.crosswise("1/6")


def test_one_sided_designs_need_to_be_accepted_and_proofs_of_carrying_never_are() -> None:
    with pytest.raises(InvalidParameterError, match=r"not a carrier; to accept this, pass one_sided=True"):
        dn.Collection(SMOKER, designs.triangular("1/4"))
    survey = dn.Collection(SMOKER, designs.triangular("1/4", one_sided=True))
    assert dn.Collection.from_json(survey.to_json()).id == survey.id
    guarantee = survey.privacy()
    assert guarantee.epsilon == math.inf
    assert 'A report of "none" proves that the person is not a carrier: no epsilon holds.' in str(guarantee)
    assert "A report raises the odds of being a carrier at most 4 times." in str(guarantee)
    assert guarantee.plain_words() == ("there is no limit on how much someone can learn about you",)
    with pytest.raises(PrivacyLimitError):
        guarantee.require(32)
    for proof in (designs.forced(0, "1/4", one_sided=True), designs.warner(1), designs.kuk("1/2", 0, one_sided=True)):
        with pytest.raises(InvalidParameterError, match="can prove the sensitive answer"):
            dn.Collection(SMOKER, proof)
    three = dn.Schema((dn.Attribute("mood", ("a", "b", "c")),))
    with pytest.raises(InvalidParameterError, match="can prove the sensitive answer"):
        dn.Collection(
            three,
            designs.forced_k(
                ["1/2", 0, 0],
            ),
        )


# ---------------------------------------------------------------- planning


@pytest.mark.parametrize(
    ("build", "people"),
    [
        (lambda: designs.forced("1/6", "1/6"), (900, 1007, 1182)),
        (lambda: designs.crosswise("2/12"), (900, 1007, 1182)),
        (lambda: designs.forced("1/6", "1/12"), (723, 815, 962)),
        (lambda: designs.forced("1/4", "1/4"), (1994, 2100, 2275)),
        (lambda: designs.unrelated("1/2", "1/12"), (623, 833, 1216)),
        (lambda: designs.triangular("1/4"), (911, 975, 1067)),
        (lambda: designs.warner("7/10"), (3400, 3507, 3682)),
    ],
)
def test_people_needed_are_those_of_the_table(build: Callable[[], Design], people: tuple[int, ...]) -> None:
    """Standard error .02 at a prevalence of .05, .1 and .2."""
    made = build()
    found = [made.people_needed(f, "1/50") for f in ("1/20", "1/10", "1/5")]
    assert found == list(people)


def test_no_binary_channel_with_these_odds_varies_less() -> None:
    """1,000 random two-answer channels within the odds, at five prevalences."""
    random = np.random.default_rng(28)
    best = designs.forced.at(odds=(5, 3))
    tried = 0
    for _ in range(1000):
        a = Fraction(int(random.integers(1, 99)), 100)
        b = Fraction(int(random.integers(1, 99)), 100)
        if a >= b or b / a > 3 or (1 - a) / (1 - b) > 5:
            continue
        tried += 1
        other = designs.forced(a, 1 - b)
        for f in (0, "1/10", "1/2", "9/10", 1):
            assert other.variance_of_one(f) >= best.variance_of_one(f)
    assert tried > 20


def test_planning_refuses() -> None:
    with pytest.raises(InvalidParameterError, match="two possible true answers"):
        designs.forced_k(["1/12"] * 3).people_needed("1/10", "1/50")
    with pytest.raises(InvalidParameterError, match="standard_error must be > 0"):
        designs.warner("7/10").people_needed("1/10", 0)
    with pytest.raises(InvalidParameterError, match="prevalence must be in"):
        designs.warner("7/10").people_needed("11/10", "1/50")
    with pytest.raises(InvalidParameterError, match="bias must differ from 0"):
        designs.warner("7/10").beats_direct_from("1/10", 0)


def test_a_direct_question_is_worse_from_the_number_where_errors_are_equal() -> None:
    crosswise = designs.crosswise("2/12")
    n = crosswise.beats_direct_from("1/10", "1/20")
    f, one = Fraction(1, 10), crosswise.variance_of_one("1/10")
    errors = [(one / m, f * (1 - f) / m + Fraction(1, 20) ** 2) for m in (n - 1, n)]
    assert errors[0][0] >= errors[0][1]
    assert errors[1][0] < errors[1][1]


# ---------------------------------------------------------------- faults that must be seen


def test_mutant_p_and_q_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """P(yes | carrier) and P(yes | not a carrier) in each other's place: reports no longer follow the device."""
    honest = kinds.binary
    monkeypatch.setattr(kinds, "binary", lambda no, yes: honest(yes, no))
    with pytest.raises(AssertionError):
        test_the_channel_is_what_the_device_does("forced", (Fraction(1, 6), Fraction(1, 12)))


def test_mutant_odds_in_the_other_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Design.odds.func  # type: ignore[attr-defined]
    monkeypatch.setattr(Design, "odds", property(lambda self: honest(self)[::-1]))
    with pytest.raises(AssertionError):
        test_odds_are_the_largest_ratios_in_favour_of_each_truth("forced", (Fraction(1, 6), Fraction(1, 12)))
    case = next(case for case in vectors.CASES if case["id"] == "triangular-1/4")
    with pytest.raises((AssertionError, InvalidParameterError)):
        test_vectors_of_channels_and_estimates(case)


def test_mutant_same_and_different_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = kinds.KINDS["crosswise"]
    monkeypatch.setitem(kinds.KINDS, "crosswise", kinds.Kind(kind.parameters, kind.rows, kind.reports[::-1]))
    found = designs.crosswise("2/12").estimate_counts({"same": 788, "different": 212})
    assert found.prevalence == pytest.approx(0.932)  # this is the prevalence of 212 "same"
    with pytest.raises(AssertionError):
        test_counts_by_name_and_bad_counts()


def test_mutant_estimator_that_is_turned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design_module, "inverse", lambda rows: tuple(zip(*_transposed(rows), strict=True))[::-1])
    with pytest.raises(AssertionError):
        laws.unbiased(designs.forced("1/6", "1/12"))


def _transposed(rows: Any) -> Any:
    found = kinds.inverse(rows)
    assert found is not None
    return list(zip(*found, strict=True))

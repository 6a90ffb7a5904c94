from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import deniable as dn
from deniable import GRR
from deniable.core.thresholds import BudgetShare, checked_epsilon, exact, exact_text, exp_bounds, log_up, spent
from deniable.errors import InvalidParameterError
from deniable.research.baselines import SHE, THE, Exponential


@pytest.mark.parametrize(
    ("written", "number"),
    [
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (Decimal("0.10"), Fraction(1, 10)),
        (3, Fraction(3)),
        ("1/3", Fraction(1, 3)),
        (1e-6, Fraction(1, 10**6)),
    ],
)
def test_a_number_means_what_is_written(written: Any, number: Fraction) -> None:
    assert exact(written) == number


@pytest.mark.parametrize("written", [float("nan"), float("inf"), "one", None, True, 1j, [1], "1_0", "\u0661"])
def test_what_is_no_number_is_refused(written: Any) -> None:
    with pytest.raises(InvalidParameterError, match="epsilon must be a finite number"):
        exact(written, "epsilon")


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.1, "0.1"), (1, "1"), (Fraction(1, 3), "1/3"), (Fraction(1, 8), "0.125"), (100, "100"), (1e-6, "0.000001")],
)
def test_exact_text(number: Any, text: str) -> None:
    assert exact_text(number) == text


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=32, max_denominator=10**9))
def test_exact_text_is_read_back_exactly(number: Fraction) -> None:
    assert exact(exact_text(number)) == number


def test_epsilon_keeps_a_float_where_a_float_says_it() -> None:
    assert checked_epsilon(Fraction(1, 10)) == 0.1
    assert isinstance(checked_epsilon(Fraction(1, 10)), float)
    assert checked_epsilon(Fraction(1, 3)) == Fraction(1, 3)


# These are e and e^-1 to 70 digits, from tables.
E = Fraction("2.7182818284590452353602874713526624977572470936999595749669676277240766")
INVERSE = Fraction("0.3678794411714423215955237701614608674458111310317678345078368016974614")


def test_exp_bounds_enclose_e() -> None:
    for exponent, value in ((Fraction(1), E), (Fraction(-1), INVERSE)):
        lower, upper = exp_bounds(exponent)
        assert lower < value < upper
        assert (upper - lower) / lower < Fraction(1, 10**55)


def test_log_up_is_at_or_above() -> None:
    assert log_up(Fraction(1)) >= 0
    assert 1.0 <= log_up(E + Fraction(1, 10**60)) <= 1.0 + 2.3e-16
    # This is ln 2 to 40 digits. The next double below is too small.
    ln2 = Decimal("0.6931471805599453094172321214581765680755")
    assert ln2 <= Decimal(log_up(Fraction(2))) < ln2 + Decimal("1.2e-16")


@pytest.mark.parametrize("written", [np.float16(0.1), np.float32(0.1), np.float64(0.1), np.longdouble("0.1")])
def test_a_float_of_any_precision_means_its_shortest_decimal(written: Any) -> None:
    assert exact(written) == Fraction(1, 10)
    assert GRR(k=4, epsilon=written) == GRR(k=4, epsilon=0.1)


# These are decimals whose nearest float is less or more, and numbers that no float equals.
AWKWARD = (0.1, 0.2, 0.3, 0.35, 0.37, 0.7, 1.1, 1.3, 2.3, 3.3, 4.1, 5.7, "0.35000000000000000001", Fraction(7, 3))


@pytest.mark.parametrize(
    "written",
    ["1e400", Decimal("1e400"), 10**400, Fraction(10**400), "1e300", "33"],
    ids=["text", "Decimal", "int", "Fraction", "a double", "33"],
)
def test_a_budget_that_no_float_holds_is_too_large_like_any_other(written: Any) -> None:
    for check in (checked_epsilon, GRR(k=2, epsilon=1.0).privacy().require):
        with pytest.raises(InvalidParameterError, match=r"epsilon must be (in \[1e-06, 32\]|.* below 2\^1023)"):
            check(written)


def test_what_is_spent_is_the_lesser_of_the_decimal_and_its_nearest_float() -> None:
    assert Fraction(0.35) < Fraction("0.35")
    assert spent(0.35) == spent("0.35") == Fraction(0.35)
    assert Fraction(0.1) > Fraction("0.1")
    assert spent(0.1) == Fraction(1, 10)
    assert spent(0.25) == Fraction(1, 4)


def test_a_share_of_a_budget_is_spent_as_it_is() -> None:
    share = BudgetShare(spent(0.35) / 5)
    assert spent(share) == share == Fraction(0.35) / 5
    # Rounding once more, as for a budget of its own, would give another number. Its thresholds would differ from those
    # of a client that divides t.
    assert spent(Fraction(share)) != share
    assert checked_epsilon(share) is share
    assert GRR(3, share).support_probabilities != GRR(3, Fraction(share)).support_probabilities


@pytest.mark.parametrize("epsilon", AWKWARD)
def test_no_implemented_epsilon_exceeds_the_float_of_the_declared_one(epsilon: Any) -> None:
    declared = float(exact(epsilon))
    mechanisms: list[Any] = [
        *(oracle(k, epsilon) for k in (2, 5, 100) for oracle in (dn.GRR, dn.SUE, dn.OUE, dn.SubsetSelection, THE)),
        SHE(4, epsilon),
        dn.CountMeanSketch(100, epsilon),
        dn.CountMeanSketch(100, epsilon, family="spread"),
        *(records((2, 3, 4), epsilon) for records in (dn.SPL, dn.SMP, dn.RSFD)),
        dn.SPL((2, 3), epsilon, "OUE"),
    ]
    for mechanism in mechanisms:
        assert mechanism.implemented_epsilon() <= declared, mechanism
    assert Exponential(5, epsilon).implemented_epsilon() <= declared / 2


def test_a_least_budget_can_be_shared_to_the_last() -> None:
    assert float(dn.SPL((2, 2), 2e-6).oracles[0].epsilon) == 1e-6

"""Laws that can be tested on reports of a foreign mechanism: each rejects a mutant, and accepts a correct mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from deniable.errors import BrokenLawError, InvalidParameterError
from deniable.testing import check_foreign

K, EPSILON = 4, 1.0
P = math.e / (math.e + K - 1)
Q = (1 - P) / (K - 1)


def _client(p: float = P, seed: int = 1) -> Callable[[int], int]:
    rng = np.random.default_rng(seed)

    def client(value: int) -> int:
        return value if rng.random() < p else (value + 1 + int(rng.integers(K - 1))) % K

    return client


def _estimate(reports: Sequence[Any]) -> Any:
    return (np.bincount(reports, minlength=K) / len(reports) - Q) / (P - Q)


def _check(client: Callable[[int], Any], estimate: Callable[[Sequence[Any]], Any] = _estimate, **options: Any) -> Any:
    return check_foreign(client, estimate, k=K, epsilon=EPSILON, draws=4_000, **options)


@pytest.mark.parametrize("seed", range(5))
def test_a_correct_mechanism_keeps_all_laws(seed: int) -> None:
    assert _check(_client(seed=seed)) == ("draws_reports", "keeps_the_budget", "order_does_not_matter", "unbiased")


def test_a_larger_budget_than_stated_is_noticed() -> None:
    """The odds are 10, but e is stated: 4,000 reports of each value give a lower bound above e."""
    p = 10 / (10 + K - 1)
    with pytest.raises(
        BrokenLawError, match=r"keeps_the_budget: in 4000 draws from each value, report \d came"
    ) as broken:
        _check(_client(p))
    least = float(str(broken.value).rpartition("at least ")[2])
    assert math.e < least < 10


def test_true_answers_are_noticed() -> None:
    with pytest.raises(BrokenLawError, match="draws_reports: value 0 always makes the same report"):
        _check(lambda value: value)


def test_a_constant_reveals_nothing_and_estimates_nothing() -> None:
    with pytest.raises(BrokenLawError, match="unbiased"):
        _check(lambda _: 0)


def test_a_biased_estimate_is_noticed() -> None:
    def clipped(reports: Sequence[Any]) -> Any:
        return np.clip(_estimate(reports), 0, 1)

    with pytest.raises(BrokenLawError, match="unbiased: if all contributors hold value 0"):
        _check(_client(), clipped)


def test_an_estimate_that_reads_the_order_is_noticed() -> None:
    def first(reports: Sequence[Any]) -> Any:
        return np.eye(K)[reports[0]]

    with pytest.raises(BrokenLawError, match="order_does_not_matter"):
        _check(_client(), first)


def test_an_estimate_of_another_shape_is_noticed() -> None:
    with pytest.raises(BrokenLawError, match="an estimate must be 4 finite numbers"):
        _check(_client(), lambda _: [1.0, 2.0])


def test_long_reports_show_more_by_an_event() -> None:
    """With a random number beside it, no report repeats; the first part of the report breaks the budget."""
    rng = np.random.default_rng(2)
    inner = _client(0.99)

    def client(value: int) -> tuple[int, float]:
        return inner(value), rng.random()

    def estimate(reports: Sequence[Any]) -> Any:
        return (np.bincount([one for one, _ in reports], minlength=K) / len(reports) - 0.01 / 3) / (0.99 - 0.01 / 3)

    assert "keeps_the_budget" in _check(client, estimate)
    with pytest.raises(BrokenLawError, match="keeps_the_budget"):
        _check(client, estimate, event=lambda report: report[0])


def test_parameters_are_checked() -> None:
    with pytest.raises(InvalidParameterError, match="epsilon must be positive"):
        check_foreign(_client(), _estimate, k=K, epsilon=0)
    with pytest.raises(InvalidParameterError, match="draws must be"):
        check_foreign(_client(), _estimate, k=K, epsilon=1, draws=10)

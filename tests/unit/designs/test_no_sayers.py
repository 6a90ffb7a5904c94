"""People who say no to all questions: estimates, errors and bounds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from deniable import designs
from deniable.errors import InvalidInputError, InvalidParameterError, NoIntervalError

ONE_DIE = designs.forced("1/6", "1/6")

TWO_DICE = designs.forced("1/6", "1/12")


def _patterns(theta: float, prevalences: tuple[float, ...], items: tuple[designs.Design, ...]) -> list[float]:
    found = []
    for reports in itertools.product((0, 1), repeat=len(items)):
        chance = 1.0
        for report, f, item in zip(reports, prevalences, items, strict=True):
            chance *= (1 - f) * float(item.rows[0][report]) + f * float(item.rows[1][report])
        found.append((1 - theta) * chance + theta * (not any(reports)))
    return found


def test_independent_items_give_back_what_expected_counts_are_made_of() -> None:
    items = (ONE_DIE, TWO_DICE, ONE_DIE)
    counts = [round(10**7 * chance) for chance in _patterns(0.15, (0.1, 0.3, 0.5), items)]
    found = designs.self_protective(*items).estimate(counts)
    assert found.share.value == pytest.approx(0.15, abs=1e-3)
    assert [one.value for one in found.prevalences] == pytest.approx([0.1, 0.3, 0.5], abs=1e-3)
    assert found.p_value is not None
    assert found.p_value > 0.5
    two = designs.self_protective(ONE_DIE, TWO_DICE)
    saturated = two.estimate([round(10**7 * chance) for chance in _patterns(0.15, (0.1, 0.3), two.items)])
    assert saturated.p_value is None
    assert saturated.share.value == pytest.approx(0.15, abs=1e-3)
    with pytest.raises(InvalidParameterError, match="at least two designs, got 1"):
        designs.self_protective(ONE_DIE).estimate([10, 10])


def test_standard_errors_are_those_of_replicates() -> None:
    items = (ONE_DIE, ONE_DIE, ONE_DIE)
    model, chances = designs.self_protective(*items), _patterns(0.2, (0.3, 0.4, 0.5), items)
    drawn = np.random.default_rng(5).multinomial(4000, chances, 40)
    fits = [model.estimate(row) for row in drawn.tolist()]
    spread, said = np.std([fit.share.value for fit in fits]), np.mean([fit.share.standard_error for fit in fits])
    assert spread == pytest.approx(said, rel=0.45)  # these are four standard errors of 40 replicates


def test_bounds_are_those_of_a_linear_programme() -> None:
    counts = [640, 150, 140, 70]
    items = (ONE_DIE, TWO_DICE)
    found = designs.self_protective(*items).bounds(counts)
    # The unknowns are the share and the table of traits, (1 - theta) T. They are linear in the observed shares.
    channel = np.kron(items[0].channel(), items[1].channel())
    equations = np.vstack([np.hstack([np.eye(1, 4).T, channel.T])])
    ends = []
    for sign in (1, -1):
        solved = linprog([sign, 0, 0, 0, 0], A_eq=equations, b_eq=np.array(counts) / 1000, bounds=(0, 1))
        assert solved.fun is not None
        ends.append(sign * float(solved.fun))
    assert found.share == pytest.approx(tuple(ends), abs=1e-9)
    for j, cells in enumerate(([2, 3], [1, 3])):
        at = []
        for theta in found.share:
            table = np.linalg.solve(channel.T, np.array(counts) / 1000 - theta * np.eye(1, 4)[0]) / (1 - theta)
            assert table.min() > -1e-9
            at.append(table[cells].sum())
        assert found.prevalences[j] == pytest.approx((min(at), max(at)))
    with pytest.raises(NoIntervalError, match="these counts fit no share"):
        designs.self_protective(ONE_DIE, ONE_DIE).bounds([0, 0, 0, 100])


def test_one_item_is_never_identified() -> None:
    """The derivatives of one item's chances have rank 1 for two parameters; two items have rank 3 for three."""
    for items, rank in (((ONE_DIE,), 1), ((ONE_DIE, TWO_DICE), 3), ((ONE_DIE, TWO_DICE, ONE_DIE), 4)):
        model = designs.self_protective(*items)
        slopes = model._slopes(np.array([0.2, *[0.3] * len(items)]))
        assert np.linalg.matrix_rank(slopes) == rank


def test_self_protective_refuses() -> None:
    with pytest.raises(InvalidParameterError, match="two possible reports and two possible true answers"):
        designs.self_protective(designs.kuk("4/5", "1/5", 2))
    with pytest.raises(InvalidParameterError, match="one to ten"):
        designs.self_protective()
    with pytest.raises(InvalidInputError, match="counts must have one number for each of the 4 patterns"):
        designs.self_protective(ONE_DIE, ONE_DIE).estimate([1, 2])
    with pytest.raises(InvalidInputError, match="at least one person"):
        designs.self_protective(ONE_DIE, ONE_DIE).bounds([0, 0, 0, 0])

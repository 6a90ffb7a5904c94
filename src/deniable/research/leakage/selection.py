"""Choice of attributes to release: a largest set that keeps every total below a cap."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deniable.errors import InvalidInputError, InvalidParameterError, quoted
from deniable.leakage.prior.distributions import Floats, checked_joint
from deniable.leakage.totals.total import totals
from deniable.oracles.oracle import FrequencyOracle
from deniable.research.leakage.calibration.calibration import checked_cap
from deniable.research.leakage.joint_totals import check_no_empty_category, checked_channels

MAX_EXHAUSTIVE = 10
"""Largest number of attributes for which every set is considered."""

_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Selection:
    """Attributes to release, as `select_attributes` returns them.

    Parameters
    ----------
    attributes : tuple of int
        Positions of the chosen attributes, ascending.
    cap : float
        Cap on every total, in nats.
    totals : float64[d]
        Exact totals about all attributes, released or not, under the stated prior.
    worth : float
        Sum of the weights of the chosen attributes.
    greedy_worth : float
        Sum of the weights of the attributes that the greedy search chose.
    at_most : float
        Upper bound for the worth of every choice that meets the cap. It equals `worth` if this choice is optimal.
    """

    attributes: tuple[int, ...]
    cap: float
    totals: Floats
    worth: float
    greedy_worth: float
    at_most: float

    @property
    def is_optimal(self) -> bool:
        """Return whether every choice that meets the cap has at most this worth."""
        return self.worth >= self.at_most * (1 - _SLACK)

    def __str__(self) -> str:
        sure = "optimal" if self.is_optimal else f"greedy; no choice is worth more than {self.at_most:g}"
        return (
            f"release attributes {list(self.attributes)}, worth {self.worth:g} ({sure}): every total is at most "
            f"{self.totals.max():.4f} of {self.cap:g}"
        )


def select_attributes(
    joint: ArrayLike,
    mechanisms: Sequence[FrequencyOracle[Any] | ArrayLike],
    epsilon_total: float,
    weights: Sequence[float] | None = None,
) -> Selection:
    """Return the attributes worth most to release, such that every exact total is at or below a cap.

    A greedy search adds attributes one by one. In each step it takes the attribute with the smallest increase of the
    largest total, divided by the attribute's weight. It stops if no further attribute meets the cap. For up to
    MAX_EXHAUSTIVE attributes, the function also compares all choices that meet the cap and returns the best. A choice
    that meets the cap still meets it without some of its attributes, because a release of fewer attributes never
    reveals more.

    Parameters
    ----------
    joint : float[k_1, ..., k_d]
        Prior of the adversary. It may contain attributes that must be protected and are not released.
    mechanisms : sequence of d mechanisms or channels
        Mechanism or channel with which each attribute would be released.
    epsilon_total : float
        Cap in nats on the total leakage about every attribute, released or not.
    weights : sequence of d floats, optional
        Worth of releasing each attribute, >= 0. Use 0 for an attribute that is not needed. By default 1 for all.

    Raises
    ------
    InvalidInputError
        If a shape does not fit, or a category has probability zero.
    InvalidParameterError
        If the cap is not positive and finite, or a weight is negative or not finite.
    TooLargeError
        If exact totals cannot be computed.

    Examples
    --------
    Two bits and their exclusive or: any two of them may be released, but not all three.

    >>> import numpy as np
    >>> from deniable import GRR
    >>> xor = np.zeros((2, 2, 2))
    >>> xor[0, 0, 0] = xor[0, 1, 1] = xor[1, 0, 1] = xor[1, 1, 0] = 0.25
    >>> print(select_attributes(xor, [GRR(k=2, epsilon=1.0)] * 3, 1.2))
    release attributes [0, 1], worth 2 (optimal): every total is at most 1.0000 of 1.2
    """
    table, cap = checked_joint(joint), checked_cap("epsilon_total", epsilon_total)
    check_no_empty_category(table)
    channels = checked_channels(table.shape, mechanisms)
    d = table.ndim
    worth = np.ones(d) if weights is None else np.asarray(weights, dtype=np.float64)
    if worth.shape != (d,):
        raise InvalidInputError(f"weights must have one entry for each of the {d} attributes, got shape={worth.shape}")
    if not (np.isfinite(worth).all() and (worth >= 0).all()):
        raise InvalidParameterError(f"weights must be finite and >= 0, got weights={quoted(worth)}")
    known: dict[frozenset[int], Floats] = {}

    def found(chosen: frozenset[int]) -> Floats:
        if chosen not in known:
            used = [channel if j in chosen else np.ones((len(channel), 1)) for j, channel in enumerate(channels)]
            known[chosen] = totals(table, used)[0]
        return known[chosen]

    def fits(chosen: frozenset[int]) -> bool:
        return float(found(chosen).max()) <= cap * (1 + _SLACK)

    wanted = [j for j in range(d) if worth[j] > 0 and fits(frozenset({j}))]
    greedy = _greedy(wanted, worth, fits, lambda chosen: float(found(chosen).max()))
    best, at_most = greedy, math.fsum(worth[wanted].tolist())
    if d <= MAX_EXHAUSTIVE:
        best = max(greedy, _best(wanted, worth, fits), key=lambda chosen: _worth(chosen, worth))
        at_most = _worth(best, worth)
    return Selection(tuple(sorted(best)), cap, found(best), _worth(best, worth), _worth(greedy, worth), at_most)


def _worth(chosen: frozenset[int], worth: Floats) -> float:
    return math.fsum(worth[sorted(chosen)].tolist())


def _greedy(
    wanted: Sequence[int],
    worth: Floats,
    fits: Callable[[frozenset[int]], bool],
    largest: Callable[[frozenset[int]], float],
) -> frozenset[int]:
    chosen: frozenset[int] = frozenset()
    while fitting := [j for j in wanted if j not in chosen and fits(chosen | {j})]:
        level = largest(chosen)
        chosen |= {min(fitting, key=lambda j: (largest(chosen | {j}) - level) / worth[j])}
    return chosen


def _best(wanted: Sequence[int], worth: Floats, fits: Callable[[frozenset[int]], bool]) -> frozenset[int]:
    """Return the best feasible choice.

    A choice is not extended if it is not feasible or cannot beat the best choice so far.
    """
    best: frozenset[int] = frozenset()

    def extend(chosen: frozenset[int], left: Sequence[int]) -> None:
        nonlocal best
        if _worth(chosen, worth) > _worth(best, worth):
            best = chosen
        for place, j in enumerate(left):
            if _worth(chosen.union(left[place:]), worth) <= _worth(best, worth):
                return
            if fits(chosen | {j}):
                extend(chosen | {j}, left[place + 1 :])

    extend(frozenset(), wanted)
    return best

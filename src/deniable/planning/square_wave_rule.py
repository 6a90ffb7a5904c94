"""Which means are better read from a square wave, and which from shares.

A square wave reports ordered answers near the truth, so sums that change slowly along the scale cost little. An answer
without a score ("no answer") has no place on the scale but stands beside its last point: a mean of those who answered
jumps there, and the wave is bad at jumps. On short scales the oracle of least error for shares then gives the better
mean, too.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from deniable.errors import TooLargeError
from deniable.oracles.linear import LinearOracle
from deniable.oracles.square_wave import SquareWave
from deniable.records.oracle_choice import best_oracle
from deniable.survey.attribute import Attribute


def prefers_square_wave(column: Attribute, epsilon: float | Fraction) -> bool:
    """Tell whether a column's mean is asked, and a square wave has less error of it than the oracle for its shares.

    Where every answer has a score it has. Else their variances are compared at the uniform distribution over all
    answers, by the delta method: of the scores less the mean, answers without one counting nowhere.

    Examples
    --------
    >>> stars = ("1", "2", "3", "4", "5")
    >>> prefers_square_wave(Attribute("stars", stars, kind="ordered", ask="mean"), 1.0)
    True
    >>> prefers_square_wave(Attribute("stars", stars, missing="no answer", kind="ordered", ask="mean"), 1.0)
    False
    """
    scores = column.code_scores
    if column.ask != "mean" or scores is None:
        return False
    counted = np.isfinite(scores)
    if counted.all():
        return True
    weights = np.where(counted, scores - scores[counted].mean(), 0.0)
    uniform = np.full(column.k, 1 / column.k)
    others: LinearOracle[Any] = best_oracle(column.k, epsilon)
    try:
        alone = others.linear_variance(weights, uniform, 1)
    except TooLargeError:  # of a sketch, whose pairs of values have no common law
        return True
    return SquareWave(column.k, epsilon).linear_variance(weights, uniform, 1) <= alone

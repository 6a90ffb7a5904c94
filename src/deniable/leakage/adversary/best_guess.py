"""Rate at which the best guess about one answer of one contributor is right, with their report and without it.

The adversary knows that answers are distributed uniformly, and that the answers to different questions are independent.
Then the best guess is a value that the report makes likeliest. This is the Bayes vulnerability of the channel (Smith,
*On the foundations of quantitative information flow*, 2009), and no guess from the report does better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.core.checks import checked_integer
from deniable.core.mechanism import Mechanism
from deniable.leakage.prior.correlation import enumerated
from deniable.oracles.oracle import FrequencyOracle, is_oracle
from deniable.oracles.subset import SubsetSelection
from deniable.records.record import RecordMechanism, is_records


@dataclass(frozen=True)
class BestGuess:
    """Rate at which the best guess about one answer is right.

    Parameters
    ----------
    without : float
        Rate before the report is seen: 1/k.
    after : float or None
        Rate after the report is seen; None if no formula gives it and the reports are too many to be listed.
    exact : bool
        True if `after` is that of this very mechanism. For sketches it is that of ideal hash functions.
    """

    without: float
    after: float | None
    exact: bool = True


def best_guess(mechanism: Mechanism[Any], attribute: int = 0) -> BestGuess:
    """Analyst: return how often the best guess about one answer is right, with and without the report.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism for one attribute, or for records.
    attribute : int
        Number of the attribute.

    Raises
    ------
    InvalidParameterError
        If the mechanism has no such attribute.

    Examples
    --------
    >>> from deniable import GRR, SMP
    >>> guess = best_guess(GRR(k=4, epsilon=1.0))
    >>> guess.without, round(guess.after, 4)
    (0.25, 0.4754)
    >>> round(best_guess(SMP(sizes=(4, 2), epsilon=1.0)).after, 4)  # every other report is about this attribute
    0.3627
    """
    j = checked_integer("attribute", attribute, 0, len(mechanism.domain) - 1)
    without = 1 / mechanism.domain[j]
    if is_records(mechanism):
        return _of_records(mechanism, j, without)
    if is_oracle(mechanism):
        return _of_oracle(mechanism)
    return BestGuess(without, None)


def _of_oracle(oracle: FrequencyOracle[Any]) -> BestGuess:
    law = oracle.support_law
    if law is not None:
        # Supported values are equally likely, and likelier than all others. So any supported value is the best guess.
        return BestGuess(1 / oracle.k, float(law.guess_success()), exact=law.hashes is None)
    channel = enumerated(oracle)
    after = None if channel is None else float(channel.max(axis=0).sum()) / oracle.k
    return BestGuess(1 / oracle.k, after)


def _of_pairs(mechanism: Any, j: int, without: float) -> BestGuess:
    """Return the guess from one report of a drawn pair, or of an attribute alone."""
    after, exact = 0.0, True
    for part, share in zip(mechanism.parts, mechanism.choice_probabilities, strict=True):
        found = without
        if part.attributes == (j,):
            own = _of_oracle(part.oracle)
            if own.after is None:
                return BestGuess(without, None)
            found, exact = own.after, exact and own.exact
        elif j in part.attributes:
            found = _of_subset(part.oracle, mechanism.domain[j])
        after += float(share) * found
    return BestGuess(without, after, exact)


def _of_subset(oracle: SubsetSelection, k: int) -> float:
    """Return the best guess about one of two attributes whose pair is reported by subset selection.

    A reported set contains c_v cells of the row of value v. The best guess is the row with the largest c_v. It is right
    with probability p/omega E + (1-p)/(K-omega) (K/k - E), where E is the mean of the largest c_v over all sets.
    """
    assert oracle.omega is not None, "set when it was made"
    cells, size = oracle.k, oracle.omega
    row = cells // k
    sets = math.comb(cells, size)
    # The number of sets with at most m cells in every row is a coefficient of (sum_{i <= m} C(row, i) z^i)^k.
    largest = Fraction(0)
    for m in range(min(row, size)):
        counts = [1] + [0] * size
        for _ in range(k):
            counts = [
                sum(counts[t - i] * math.comb(row, i) for i in range(min(m, row, t) + 1)) for t in range(size + 1)
            ]
        largest += 1 - Fraction(counts[size], sets)
    p, _ = oracle.support_probabilities
    return float(p / size * largest + (1 - p) / (cells - size) * (row - largest))


def _of_records(mechanism: RecordMechanism[Any], j: int, without: float) -> BestGuess:
    if mechanism.reveals == "pairs":
        return _of_pairs(mechanism, j, without)
    if mechanism.reveals not in ("all", "one"):
        return BestGuess(without, None)
    own = _of_oracle(mechanism.oracles[j])
    if own.after is None or mechanism.reveals == "all":
        return own
    # Answers are independent, so a report about another attribute says nothing about this one.
    turns = len(mechanism.domain)
    return BestGuess(without, own.after / turns + without * (turns - 1) / turns, own.exact)

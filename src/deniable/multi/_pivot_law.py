"""The exact law of a record of which one privatised pivot decides everything.

P(y | x) = 1/d sum_s GRR_s(y_s | x_s) W_s(y), where the *weight* W_s(y) is the probability that pivot s, reported as
y_s, brings the others to y. Every GRR term is p_s or q_s whatever the other ones are, so likelihood ratios follow from
the weights alone. Transfers are integers over 2^64, and so are weights, over 2^(64 (d-1)).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.grr import GRR
from deniable.multi._priors import cumulative_thresholds
from deniable.thresholds import SCALE

MAX_REPORTS = 1 << 13
"""Largest number of reports over which likelihood ratios are maximised exactly."""

Transfers = Sequence[Sequence[NDArray[Any]]]
"""transfers[pivot][target]: int[k_pivot, k_target] over 2^64; a pivot's own is empty and not read."""


def rounded_transfer(law: NDArray[Any]) -> NDArray[Any]:
    """Return a law of numbers that sum to one per row as integers over 2^64: differences of rounded cumulative sums.

    Rounding changes the law by less than 2^-64 per entry, and no guarantee: the pivot's report is private already.
    """
    rows = [[high - low for low, high in pairwise((0, *cumulative_thresholds(row)))] for row in law.tolist()]
    return np.array(rows, dtype=object)


def every_report(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return all records over these sizes, int64[prod(sizes), d], the last attribute fastest."""
    return np.indices(tuple(sizes), dtype=np.int64).reshape(len(sizes), -1).T


def equality_patterns(d: int, k: int) -> NDArray[np.int64] | None:
    """Return one report for every way in which d codes over {0..k-1} can be equal, None if beyond MAX_REPORTS."""
    patterns: list[tuple[int, ...]] = [(0,)]
    for _ in range(d - 1):
        patterns = [(*row, code) for row in patterns for code in range(min(max(row) + 2, k))]
        if len(patterns) > MAX_REPORTS:
            return None
    return np.array(patterns, dtype=np.int64)


def pivot_weights(transfers: Transfers, reports: NDArray[np.int64]) -> NDArray[Any]:
    """Return W_s(y) of every pivot and report, int[d, reports] over 2^(64 (d-1))."""
    d = len(transfers)
    weights = np.full((d, len(reports)), 1, dtype=object)
    for s in range(d):
        for j in range(d):
            if j != s:
                weights[s] = weights[s] * transfers[s][j][reports[:, s], reports[:, j]]
    return weights


def possible_reports(transfers: Transfers, sizes: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return all reports of positive probability, int64[reports, d], and their weights, int[d, reports]."""
    reports = every_report(sizes)
    weights = pivot_weights(transfers, reports)
    possible = (weights > 0).any(axis=0)
    return reports[possible], weights[:, possible]


def pivot_channel(oracles: Sequence[GRR], transfers: Transfers) -> NDArray[Any]:
    """Return P(report | record), Fraction[records, possible reports]; records in the order of `every_report`."""
    d, sizes = len(oracles), [oracle.k for oracle in oracles]
    records = every_report(sizes)
    reports, weights = possible_reports(transfers, sizes)
    total = np.zeros((len(records), len(reports)), dtype=object)
    for s, oracle in enumerate(oracles):
        p, q = (int(probability * SCALE) for probability in oracle.support_probabilities)
        held = records[:, s, None] == reports[None, :, s]
        total += np.array([q, p], dtype=object)[held.astype(np.int64)] * weights[s]
    share = Fraction(1, d * SCALE**d)
    matrix: NDArray[Any] = total * share
    return matrix


def whole_record_ratio(oracles: Sequence[GRR], weights: NDArray[Any]) -> Fraction:
    """Return the largest likelihood ratio between any two records: max over reports of sum p_s W_s / sum q_s W_s."""
    present, absent = _probabilities(oracles)
    return largest_quotient(present @ weights, absent @ weights)


def one_attribute_ratio(oracles: Sequence[GRR], weights: NDArray[Any], attribute: int) -> Fraction:
    """Return the largest likelihood ratio between records that differ in one attribute only.

    What the others say is least where they hold other codes than those reported.
    """
    present, absent = _probabilities(oracles)
    unlikely = absent @ weights
    return largest_quotient(unlikely + (present[attribute] - absent[attribute]) * weights[attribute], unlikely)


def _probabilities(oracles: Sequence[GRR]) -> tuple[NDArray[Any], NDArray[Any]]:
    pairs = [oracle.support_probabilities for oracle in oracles]
    present, absent = (np.array([int(pair[i] * SCALE) for pair in pairs], dtype=object) for i in (0, 1))
    return present, absent


def largest_quotient(likely: NDArray[Any], unlikely: NDArray[Any]) -> Fraction:
    """Return the largest of likely/unlikely, int[reports] each, where unlikely is not zero."""
    pairs = [(a, b) for a, b in zip(likely.tolist(), unlikely.tolist(), strict=True) if b > 0]
    # Floats single out the few that may be the largest; fractions decide.
    bound = max(a / b for a, b in pairs) * (1 - 1e-12)
    return max(Fraction(a, b) for a, b in pairs if a / b >= bound)

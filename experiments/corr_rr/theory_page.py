"""Quotations of results in docs/theory/corr_rr.md (see `experiments.pages`); exact numbers are computed when read."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from deniable import GRR, CorrRR
from deniable.records.pivot.copy_probabilities import pairwise_copy_probabilities
from deniable.records.pivot.corr_rr_error import expected_error
from deniable.records.pivot.pivot_law import MAX_REPORTS
from deniable.records.split_tables import report_covariance
from experiments.corr_rr.populations import Floats, Synthetic
from experiments.pages import Page, Results, number_of, setting, traced

SETTINGS = ((0.1, 0.5), (0.9, 0.5), (0.1, 2.0), (0.9, 2.0))
ROWS = ("SMP", "SPL", "Corr-RR", "two groups", "groups chosen by error", "Cond-RR levelled", "Cond-RR unmixed",
        "Cond-RR levelled, true tables", "two pivots, least norm, unmixed",
        "two pivots, least norm, debiased")  # fmt: skip


def _achieved(results: Results) -> list[str]:
    def cell(method: str, rho: float, epsilon: float, post: str = "raw") -> str:
        return results.number("achieved", "mse", ".1e", method=method, post=post, rho=rho, epsilon=epsilon)

    fakes = " | ".join(" / ".join(cell(f"RS+RFD {kind}", *one) for kind in ("raw", "clipped")) for one in SETTINGS)
    four, two = ([cell(name, 0.9, e, "cells") for name in ("TwoPivotRR", "SPLPairs")] for e in (4.0, 2.0))
    raw = [row for row in results.rows("achieved", post="raw") if float(row["epsilon"]) < 4]
    usual, unstable = (
        max(float(row["error"]) / float(row["mse"]) for row in raw if (row["method"] == "Cond-RR unmixed") is chosen)
        for chosen in (False, True)
    )
    return [
        *(f"| {name} | {' | '.join(cell(name, *one) for one in SETTINGS)} |" for name in ROWS),
        f"| RS+RFD raw / clipped | {fakes} |",
        f"The standard error of each number is at most {traced(usual, '.0%')} of the number, or "
        f"{traced(unstable, '.0%')} for Cond-RR unmixed.",
        f"the mean squared error of a cell is {four[0]} with `TwoPivotRR`, and {four[1]} with `SPLPairs`. At "
        f"epsilon = 2 the mean squared error is {two[0]} with `TwoPivotRR`, and {two[1]} with `SPLPairs`.",
    ]


def null_level(d: int, k: int = 4, epsilon: float = 1.0, n: int = 20_000) -> float:
    """Return Cramer's V that noise alone gives two independent attributes with equally frequent codes."""
    uniform: Floats = np.full(k, 1 / k)
    covariance = report_covariance(GRR(k, Fraction(epsilon) / d), uniform)
    weights = 1 / np.maximum(uniform, np.sqrt(np.diag(covariance) / n))
    return float(np.sum(weights * np.diag(covariance))) / math.sqrt(n * (k - 1))


def _association(results: Results) -> list[str]:
    (row,) = results.rows("achieved-association")
    off = abs(float(row["stated over actual"]) - 1)
    return [
        f"with k = 4 equally frequent codes, epsilon = 1 and n = {setting('20,000')}. Then V is near "
        f"{traced(null_level(2), '.1f')} at d = 2, and near {traced(null_level(3), '.1f')} at d = 3.",
        f"In {number_of(row, 'collections', ',.0f')} simulations of two independent attributes (k = 4, epsilon = 1, "
        f"n = {setting('20,000')}), z has the standard deviation {number_of(row, 'sd of z', '.2f')} ± "
        f"{number_of(row, 'error', '.2f')}. The mean standard error of Pearson's correlation is within "
        f"{traced(off + 2 * float(row['error']), '.0%')} of its standard deviation.",
    ]


def _errata(_: Results) -> list[str]:
    k, epsilon, n2 = 10, 1.0, 9_000
    delta = math.expm1(epsilon) / (math.exp(epsilon) + k - 1)
    squares = k * (2 / k - 1) ** 2
    larger = (k - 2) ** 2 * (1 - delta) / (k * n2 * delta * (1 - 1 / n2) * squares)

    marginals, n2 = Synthetic("as_described", 4, 2, 0.5, (0,)).marginals, 18_000
    ours, printed = (
        expected_error(pairwise_copy_probabilities(marginals, n2, as_printed=as_printed), marginals, n2, 0.5).mean
        for as_printed in (False, True)
    )
    copies = [[1.0 if s == j else 0.3 for s in range(3)] for j in range(3)]
    per_attribute = CorrRR((2, 2, 2), 1.0, tuple(map(tuple, copies))).privacy().per_attribute
    # The page has the ratio 1 + (E - 1) .7/1.3; the mechanism states its logarithm at epsilon = 1.
    share = math.expm1(per_attribute[0]) / math.expm1(1.0)
    if not math.isclose(share, 0.7 / 1.3, rel_tol=1e-9):
        raise ValueError(f"the share of one attribute must be .7/1.3, got {share}")
    return [
        f"If at most {traced(MAX_REPORTS, 'd')} different reports are possible",
        # There are 4,140 ways in which the codes of eight attributes can be equal.
        f"For d <= 8 there are fewer than {traced(MAX_REPORTS, 'd')} patterns.",
        f"At k = 10, epsilon = 1, n2 = {setting('9,000')} and uniform marginals the difference is "
        f"{traced(larger, '.4f')}.",
        f"n2 = {setting('18,000')}). The expected MSE is {traced(ours, '.2e')} with the indices of Theorem 5, and "
        f"{traced(printed, '.2e')} with the indices of Algorithm 1.",
        f"take d = 3, k = 2 and P = {setting(0.3)}. Then the largest ratio is 1 + (e^epsilon - 1) {setting('.7/1.3')}",
    ]


PAGE = Page(
    "corr_rr",
    (_achieved, _association, _errata),
    stated={
        "Let A_i = (I - q 11')/Delta": "a formula",
        "SynA (rho = .9, d = 4)": "a setting",
        "are learned from 2,000 reports of phase one": "a setting",
        "a mean over 60 collections": "the runs",
        "n = 20,000 and n1 = 2,000": "a setting",
        "rho .1, eps .5 | rho .9, eps .5 | rho .1, eps 2 | rho .9, eps 2": "settings",
        "the minus of its proof (7.2)": "the paper",
        "7.1 | Pr(Y_s != v)": "the paper",
        "7.1, 7.2 | n in some places": "the paper",
        "The first reason is in the proof (6.1)": "the preprint",
        "as in its proof (6.2)": "the preprint",
        "preprint, 6.2 | a pi": "the preprint",
        '"by symmetry, the same bias/variance formula applies" (6.1)': "the preprint",
        "marginals of SynA (rho = .5, d = 2": "a setting",
    },
    pictures={},
    theory=True,
)

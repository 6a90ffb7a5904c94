"""Quotations of results in docs/theory/sketches.md (see `experiments.pages`); most are computed when they are read."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from deniable import GRR, CountMeanSketch
from deniable.core.support_counts import FEW
from deniable.oracles.sketch.families.family import MAX_STATE_SIZE
from deniable.oracles.sketch.families.hash_range import Objective
from deniable.oracles.sketch.families.registry import MAX_CHOSEN_STATE, family_entry
from deniable.oracles.sketch.heavy_hitters import MAX_COUNTERS, HeavyHitters
from deniable.research.baselines.hadamard import HadamardEncoding
from experiments.ocms import errata
from experiments.pages import FOLDER, Page, Results, setting, traced

PAPERS_TABLES = Results(FOLDER / "results" / "ocms")
"""Tables of docs/papers/ocms.md."""


def _best(epsilon: float, frequencies: tuple[float, ...]) -> float:
    """Return the best real number of cells."""
    e, f = math.exp(epsilon), min(max(frequencies), 0.5)
    return 1 + math.sqrt(e * ((1 - f) * e + f) / (f * e + 1 - f))


def _cost(epsilon: float, m: float, frequencies: tuple[float, ...]) -> float:
    return max(errata.sketch_variance(f, epsilon, m, 1 / m) for f in frequencies)


@cache
def _excess(family: str, frequencies: tuple[float, ...]) -> tuple[float, float]:
    """Return the mean and the largest excess of a family's best m over the best real m, epsilon .5 to 6."""
    found = []
    for step in range(551):
        epsilon = 0.5 + 0.01 * step
        best = _best(epsilon, frequencies)
        cells = family_entry(family).cells_around(max(2, math.floor(best)))
        least = min(_cost(epsilon, m, frequencies) for m in cells)
        found.append(least / _cost(epsilon, best, frequencies) - 1)
    return math.fsum(found) / len(found), max(found)


@cache
def _nearest(bound: float) -> float:
    """Return the largest excess of the nearest integer over the better integer around the best real m."""
    found = []
    for step in range(10, 600):
        epsilon, frequencies = 0.01 * step, (0.0, bound)
        best = _best(epsilon, frequencies)
        costs = {m: _cost(epsilon, m, frequencies) for m in (math.floor(best), math.floor(best) + 1)}
        found.append(costs[round(best)] / min(costs.values()) - 1)
    return max(found)


def _cells(_: Results) -> list[str]:
    worst = Objective.worst_case(Fraction(1), 0.8)
    chosen = worst.best(family_entry("prime").cells_around)
    names = {"prime": "all integers (partition, prime, binary)", "linear": "prime powers (linear)",
             "spread": "powers of two (spread)"}  # fmt: skip
    quotes = []
    for family, name in names.items():
        cells = []
        for frequencies in ((1e-5,), (0.0, 1.0)):
            mean, largest = _excess(family, frequencies)
            digits = ".0%" if mean > 0.1 else ".1%" if mean > 0.01 else ".2%"
            cells.append(f"{traced(mean, digits)} ({traced(largest, '.0%' if largest > 0.2 else '.1%')})")
        quotes.append(f"| {name} | {' | '.join(cells)} |")
    return [
        *quotes,
        f"f* = 1 and epsilon = .8 the library takes m = {traced(chosen, 'd')}, but the integer nearest to the best "
        f"m is {traced(round(worst.best_real), 'd')}.",
        f"by up to {traced(_nearest(1.0), '.0%')} at f* = 1, and by up to {traced(_nearest(0.5), '.0%')} at "
        f"f* = {setting(0.5)}.",
    ]


def _power(number: int) -> str:
    return f"2^{traced(round(math.log2(number)), 'd')}"


def _large_epsilon(_: Results) -> list[str]:
    quotes = [
        f"best m has at most {_power(MAX_STATE_SIZE)} counters, the best m is the default. Otherwise the library "
        f"considers only numbers m whose state has at most {_power(MAX_CHOSEN_STATE)} counters.",
    ]
    n = 10_000
    for k, epsilon in ((65_536, 10), (65_536, 11), (65_536, 20), (300, 20)):
        default = CountMeanSketch(k, epsilon, family="spread")
        cells = Objective.mean(k, epsilon).best(family_entry("spread").cells_around)
        best = CountMeanSketch(k, epsilon, m=cells, family="spread")
        errors = [100 * one.variance(1 / k, n) ** 0.5 for one in (default, best, GRR(k, epsilon))]
        shown = [traced(error, ".4f" if error < 0.001 else ".3f") for error in errors]
        variances = ", ".join(traced(one.variance(1 / k, 1), ".1e") for one in (default, best))
        quotes.append(
            f"| {setting(f'{k:,}, {epsilon}')} | {traced(cells, ',d')}, {_power(best.state_size)} | "
            f"{traced(default.hashes.m, ',d')} | {variances} | {shown[0]}, {shown[1]} | {shown[2]} |"
        )
    return quotes


@cache
def _halved_from() -> float:
    """Return the least epsilon, in hundredths, from which `HeavyHitters` halves the default number of cells."""

    def halved(hundredths: int) -> bool:
        hunt = HeavyHitters(epsilon=Fraction(hundredths, 100))
        return hunt.sketch.m != CountMeanSketch(1 << hunt.fold_bits, hunt.epsilon, family="spread").m

    return next(hundredths for hundredths in range(800, 1000) if halved(hundredths)) / 100


def _mechanisms(_: Results) -> list[str]:
    p1, p0 = map(float, CountMeanSketch(10**5, 1.0, m=4, family="spread").support_probabilities)
    # (E+1)^2 = 8 E: the variance of Hadamard encoding is twice 4E/(E-1)^2.
    twice = math.log(3 + math.sqrt(8))
    assert math.isclose(HadamardEncoding(100, twice).variance(0.0, 1), 2, rel_tol=1e-6)
    return [
        f"If min(n p0, n (1 - p1)) < {traced(FEW, 'g')}",
        f"and suppose that {setting('1%')} of the contributors are dishonest. These contributors can raise the "
        f"estimate of a value by {traced((1 - p0) / (p1 - p0), '.1f')} percentage points",
        f"All groups together have at most {_power(MAX_COUNTERS)} counters. If the default m needs more counters, m is "
        f"halved until {_power(MAX_COUNTERS)} are enough.",
        f"this happens from epsilon {traced(_halved_from(), '.2f')} on",
        f"its variance is twice OUE's at epsilon = {traced(twice, '.2f')}, and",
        f"The actual epsilon is then {traced(1 + math.log(6 / 5), '.3f')}.",
    ]


def _corrections(_: Results) -> list[str]:
    def number(where: str, spec: str, column: str = "number") -> str:
        return PAPERS_TABLES.number("errata", column, spec, where=where)

    def tail(n: int, spec: str, kind: str = "pairwise") -> str:
        return PAPERS_TABLES.number("random-bits", "beyond 4", spec, kind=kind, n=n, epsilon=4)

    def bits(column: str, spec: str) -> str:
        return PAPERS_TABLES.number("random-bits", column, spec, kind="pairwise", n=1000, epsilon=4)

    rhr, he = (
        PAPERS_TABLES.number("rhr", "n worst", ".2f", data="companions", method=method, epsilon=4)
        for method in ("RHR", "HE")
    )
    commonest = PAPERS_TABLES.number("errata-kosarak", "commonest", ".3f", counted="clicks")
    matches = errata.sketch_variance(0.0, 4.0, 64, 0.5)
    share = 1 / (2 * 7 + 1) ** 2
    return [
        f"the bias at epsilon = 1, m = 3, f = 0 is {number('Algorithm 1, line 44', '.2f')})",
        f"about {traced(math.log2(math.e) / 2, '.2f')} epsilon bits",
        f"which is {number('Appendix G, (45)', '.2f', 'beside')} at tau = {setting(0.01)} and epsilon = 1",
        f"in the example exactly {number('Appendix G, (45)', '.0f')} are needed",
        f"take m = 2, P = {setting('11')}, epsilon = .05 and f = 0. The theorem promises an excess of at most tau = "
        f"{setting('2/121')} = {number('Theorem 3.9', '.3%', 'beside')}, but the excess is "
        f"{number('Theorem 3.9', '.3%')}.",
        f"m = 2, P = {setting('11')} and epsilon = .1 satisfy the condition for tau = {setting('1%')}, and have an "
        f"excess of {number('Corollary 3.5', '.2%')}.",
        f"Then the excess is at most {traced(((1 - share) / (1 - 2 * share)) ** 2 - 1, '.2%')}.",
        f"At epsilon = 4 and f = 0 it is {traced(matches, '.2f')}/n.",
        f"variance (E+1)(E+2^b-1)/(n (E-1)^2) = {rhr}/n.",
        f"than Hadamard encoding, which has {he}/n.",
        f"m = {setting('16')} and f = 0, the variance of CMS+HE is {number('Section 4.5', '.0%')} larger",
        f"only {bits('bits', '.1f')} random bits determine the functions of all contributors. (The theorem gives "
        f"{bits('bits of the theorem', '.0f')}.)",
        f"with {setting('100')} contributors, the error is more than four standard errors with probability "
        f"{tail(100, '.1%')}. With {setting('1,000')} contributors this probability is {tail(1000, '.1%')}, and with "
        f"independent functions it is about {tail(100, '.2%', 'independent')}",
        f"the most frequent page has the frequency {commonest}.",
    ]


PAGE = Page(
    "sketches",
    (_cells, _large_epsilon, _mechanisms, _corrections),
    stated={
        "(IEEE CSF 2025)": "the paper's year",
        'The column "standard error" is for 10,000 contributors': "a setting",
        "(Feldman, Nelson, Nguyen, Talwar, 2022)": "a reference",
        "a value of the data set Kosarak with a frequency above .4": "the paper, section 6.3",
    },
    pictures={},
    paper="ocms",
    theory=True,
)

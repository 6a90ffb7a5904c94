"""Statements of the paper that are wrong as printed: one row each, with a number that shows the error.

The numbers come from the formulas of `sketch_variance`, or from a list of all hash functions (`enumerated`). Sections,
theorems and Appendices A to C have the same numbers in the proceedings and on arXiv. Appendices D to K on arXiv are
Supplements S1 to S8 of the proceedings. Both versions have all statements below.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

from scipy import special

from deniable import SubsetSelection
from deniable.oracles.sketch.ocms import ocms_choice
from deniable.research.baselines.recursive_hadamard import RecursiveHadamard
from experiments.harness import Cell, Run
from experiments.ocms.methods import worst_l2
from experiments.ocms.paper import PAPER
from experiments.ocms.random_bits import listed

CLICKS, LINES = 8_019_015, 990_002
"""The published totals of Kosarak."""


# ---------------------------------------------------------------- the errors of a sketch


def sketch_variance(f: float, epsilon: float, m: float, collision: float) -> float:
    """Return n Var f^ of the sketch, from its two support probabilities (eq. (10))."""
    e = math.exp(epsilon)
    p1, p0 = e / (e + m - 1), (1 + collision * (e - 1)) / (e + m - 1)
    return (f * p1 * (1 - p1) + (1 - f) * p0 * (1 - p0)) / (p1 - p0) ** 2


def prime_collision(m: int, prime: int) -> float:
    """Return eq. (16), the collision probability of the prime family."""
    q, r = divmod(prime, m)
    return ((2 * q + 1) * r + m * q * q) / prime**2


def enumerated(f: float, epsilon: float, m: int, prime: int) -> tuple[float, float]:
    """Return E g(x) and n Var g(x) by listing all hash functions and reports of the prime family, for d = 2.

    A share f of the contributors holds x = 0, the others x' = 1. The decoder is eq. (8) with Q as the inverse of P.
    """
    e = math.exp(epsilon)
    keep, other = e / (e + m - 1), 1 / (e + m - 1)
    match, mismatch = (e + m - 2) / (e - 1), -1 / (e - 1)
    functions = [(a0 % m, (a0 + a1) % prime % m) for a0, a1 in itertools.product(range(prime), repeat=2)]
    share = sum(own == theirs for own, theirs in functions) / len(functions)  # 1/m'
    moments = []
    for holds_x in (True, False):
        mean = square = 0.0
        for cell_of_x, cell_of_other in functions:
            held = cell_of_x if holds_x else cell_of_other
            for z in range(m):
                probability = (keep if z == held else other) / len(functions)
                decoded = match if z == cell_of_x else mismatch
                g = decoded / (1 - share) - share / (1 - share)
                mean, square = mean + probability * g, square + probability * g * g
        moments.append((mean, square - mean**2))
    (present, spread), (absent, noise) = moments
    return f * present + (1 - f) * absent, f * spread + (1 - f) * noise


def algorithm_bias(f: float, epsilon: float, m: int) -> float:
    """Return E f^ - f if a match counts (E+m-1)/(E-1), as in Algorithm 1, line 44, instead of (E+m-2)/(E-1)."""
    e = math.exp(epsilon)
    matches = (f * e + (1 - f) * (e + m - 1) / m) / (e + m - 1)
    return m / (m - 1) * matches / (e - 1)


# ---------------------------------------------------------------- Theorem 3.9 and its corollary


def promised(f: float, epsilon: float, m: int, prime: int, at: float | None = None) -> float:
    """Return the smallest tau by Theorem 3.9; `at` is the point of its derivative (m as printed)."""
    e, cells = math.exp(epsilon), m if at is None else at
    same = e * (m - 1) / (e - 1) ** 2
    slope = (2 * cells * same + cells - 1) / (cells - 1) ** 3
    return slope * m / (sketch_variance(f, epsilon, m, 1 / m) * (2 * (prime // m) + 1) ** 2)


def excess(f: float, epsilon: float, m: int, prime: int) -> float:
    """Return Var g/Var f^ - 1: the cost of imperfect hashing."""
    return sketch_variance(f, epsilon, m, prime_collision(m, prime)) / sketch_variance(f, epsilon, m, 1 / m) - 1


def needed(m: int, prime: int) -> float:
    """Return the least m' of Appendix H, m - m/(2q+1)^2, at which the derivative is largest."""
    return m - m / (2 * (prime // m) + 1) ** 2


def _fields(m: int, rule: int) -> Iterator[int]:
    return (prime for prime in range(max(rule * m, m + 1), 12 * m) if all(prime % i for i in range(2, prime)))


def imperfect_hashing() -> list[Cell]:
    """Count on a grid how often Theorem 3.9 and Corollary 3.5 fail, as printed and as corrected.

    The grid has m = 2..12, all primes below 12m, epsilon from .05 to 5, and f = 0, 1/2, 1. For the corollary, the grid
    has the f of the largest variance, and the m that are best for some epsilon in either mode.
    """
    epsilons = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
    rows = []
    for rule, words in ((1, "all P > m"), (5, "P >= 5m"), (7, "P >= 7m")):
        settings = [
            (f, epsilon, m, prime)
            for m in range(2, 13)
            for prime in _fields(m, rule)
            for epsilon in epsilons
            for f in (0.0, 0.5, 1.0)
        ]
        costs = [excess(*one) for one in settings]
        printed = [promised(*one) for one in settings]
        corrected = [promised(*one, at=needed(*one[2:])) for one in settings]
        worst = max(range(len(settings)), key=lambda i: costs[i] / printed[i])
        rows.append(
            {
                "statement": "Theorem 3.9",
                "fields": words,
                "settings": len(settings),
                "fails as printed": sum(a > b for a, b in zip(costs, printed, strict=True)),
                "fails as corrected": sum(a > b for a, b in zip(costs, corrected, strict=True)),
                "largest excess over promise": costs[worst] / printed[worst],
                "at": "f={}, eps={}, m={}, P={}".format(*settings[worst]),
            }
        )
    for rule, words in ((1, "all P > m"), (5, "P >= 5m"), (7, "P >= 7m")):
        costs, printed, squared, corrected, places = [], [], [], [], []
        for epsilon in epsilons:
            for mode, best in (("mse", 1 + math.exp(epsilon / 2)), ("l2", 1 + math.exp(epsilon))):
                frequencies = (0.0, 1.0) if mode == "mse" else (1e-5,)
                for m in {max(2, math.floor(best)), math.floor(best) + 1}:
                    if m > 60:
                        continue
                    base = max(sketch_variance(f, epsilon, m, 1 / m) for f in frequencies)
                    for prime in _fields(m, rule):
                        found = max(sketch_variance(f, epsilon, m, prime_collision(m, prime)) for f in frequencies)
                        square = (2 * (prime // m) + 1) ** 2
                        costs.append(found / base - 1)
                        printed.append(1 / square)
                        squared.append(2 / square)
                        corrected.append(2 / (square - 2.5))
                        places.append(f"{mode}, eps={epsilon}, m={m}, P={prime}")
        worst = max(range(len(costs)), key=lambda i: costs[i] / printed[i])
        rows.append(
            {
                "statement": "Corollary 3.5",
                "fields": words,
                "settings": len(costs),
                "fails as printed": sum(a > b for a, b in zip(costs, printed, strict=True)),
                "fails with sqrt(2/tau)": sum(a > b for a, b in zip(costs, squared, strict=True)),
                "fails as corrected": sum(a > b for a, b in zip(costs, corrected, strict=True)),
                "largest excess over promise": costs[worst] / printed[worst],
                "at": places[worst],
                "largest excess": max(costs),
            }
        )
    return rows


# ---------------------------------------------------------------- hash families, listed


def six_cells() -> list[tuple[int, ...]]:
    """Return all functions of a pairwise independent family from four values to *six* cells."""
    points = list(itertools.product(range(2), repeat=2))
    to_two = [tuple((a * x + b * y + c) % 2 for x, y in points) for a, b, c in itertools.product(range(2), repeat=3)]
    triples = [(x, y) for x in range(3) for y in range(3)][:4]
    to_three = [tuple((a * x + b * y + c) % 3 for x, y in triples) for a, b, c in itertools.product(range(3), repeat=3)]
    return [tuple(3 * u + v for u, v in zip(two, three, strict=True)) for two in to_two for three in to_three]


def affine_bits(bits: int) -> list[tuple[int, ...]]:
    """Return all 2^(bits+1) affine functions from `bits` bits to one bit, which are pairwise independent."""
    return [tuple(((w & x).bit_count() + b) % 2 for x in range(2**bits)) for w in range(2**bits) for b in range(2)]


def linear_bits(bits: int) -> list[tuple[int, ...]]:
    """Return all 2^bits linear functions from `bits` bits to one: constant collisions, but 0 is always in cell 0."""
    return [(0, *function) for function in hadamard_bits(bits)]


def hadamard_bits(bits: int) -> list[tuple[int, ...]]:
    """Return the hash functions of Hadamard encoding: the columns of the matrix; value x is row x + 1."""
    return [tuple((j & x).bit_count() % 2 for x in range(1, 2**bits)) for j in range(2**bits)]


def dependence(functions: list[tuple[int, ...]], cells: int, values: int) -> Fraction:
    """Return the distance of the cells of this many values from uniform and independent; 0 if they are."""
    farthest = Fraction(0)
    for chosen in itertools.combinations(range(len(functions[0])), values):
        counts = dict.fromkeys(itertools.product(range(cells), repeat=values), 0)
        for function in functions:
            counts[tuple(function[x] for x in chosen)] += 1
        even = Fraction(1, cells**values)
        farthest = max(farthest, *(abs(Fraction(count, len(functions)) - even) for count in counts.values()))
    return farthest


# ---------------------------------------------------------------- the findings


def asymmetric_cells(epsilon: float, tau: float) -> int:
    """Return the least m at which CMS over asymmetric RAPPOR is within tau of its limit, by eq. (6) at f = 0."""
    e = math.exp(epsilon)
    same, other = (e + 1) ** 2 / (e - 1) ** 2, 4 * e / (e - 1) ** 2

    def variance(m: int) -> float:
        return m / (m - 1) ** 2 * (same + (m - 1) * other + (m - 1) / m)

    return next(m for m in itertools.count(2) if variance(m) <= (1 + tau) * other)


def normal_share(epsilon: float, n: int, m: int) -> float:
    """Return E|f^ - f| over its Cauchy-Schwarz bound at f = 0, from the exact mean deviation of a binomial count."""
    e = math.exp(epsilon)
    p0 = (1 + (e - 1) / m) / (e + m - 1)
    middle = math.floor(n * p0) + 1
    logarithm = (
        special.gammaln(n + 1)
        - special.gammaln(middle + 1)
        - special.gammaln(n - middle + 1)
        + middle * math.log(p0)
        + (n - middle) * math.log1p(-p0)
    )
    # De Moivre's formula is E|C - n p| = 2 (1-p) c P(C = c) with c = floor(n p) + 1.
    return float(2 * (1 - p0) * middle * math.exp(logarithm) / math.sqrt(n * p0 * (1 - p0)))


def findings() -> list[Cell]:
    """Return one row per statement: place, printed statement, correct statement, evidence, and a number."""
    rows = [*_algorithm(), *_theorems(), *_appendices(), *_connections(), *_tables_and_bits(), *_data()]
    columns = ("where", "printed", "correct", "shown by", "number", "beside")
    return [dict(zip(columns, row, strict=False)) for row in rows]


Finding = tuple[str, str, str, str, float] | tuple[str, str, str, str, float, float]
"""Place, printed statement, correct statement, evidence, number, and a second number for comparison."""


def _algorithm() -> list[Finding]:
    return [
        (
            "Algorithm 1, line 44",
            "a match is worth (E+m-1)/(E-1)",
            "(E+m-2)/(E-1), which the author's code has: it inverts the matrix",
            "bias at eps=1, m=3, f=0",
            algorithm_bias(0.0, 1.0, 3),
        ),
        (
            "Algorithm 1, lines 5 and 10",
            "the prime 2^64 - 59 for all dictionaries; section 3.5 counts 2 log2 max(d+1, 5m) bits",
            "the smallest prime above both does",
            "bits of a function over those of section 3.5, d=100,000",
            2 * math.log2(2**64 - 59) / (2 * math.log2(100_001)),
        ),
    ]


def _theorems() -> list[Finding]:
    nearest = {m: max(sketch_variance(f, 0.8, m, 1 / m) for f in (0.0, 1.0)) for m in (2, 3)}
    choice = next(one for one in ocms_choice(10**5, 0.8, "mse").options if one.family == "prime")
    e103 = {m: 9 * sketch_variance(0, 1.03, m, 1 / m) + sketch_variance(1, 1.03, m, 1 / m) for m in (3, 4)}
    return [
        ("Theorem 3.4, eq. (9)", "E[g(x)] = 0", "f(x)", "enumerated at f=.3, m=3, P=7", enumerated(0.3, 1, 3, 7)[0]),
        (
            "Theorem 3.5",
            "alpha <= sqrt(E n/(m-1))",
            "alpha <= sqrt(n/(m-1))",
            "the Chernoff delta at the printed end, eps=1, m=4, f=0; must be <= 1",
            _chernoff_delta(1.0, 4),
        ),
        (
            "Theorem 3.6",
            "m is the closest integer",
            "the better of floor and ceiling",
            f"worst variance of m=2 over m={choice.m} at f*=1, eps=0.8",
            nearest[2] / nearest[3] - 1,
        ),
        (
            "Theorem 3.8",
            "m is the closest integer",
            "the better of floor and ceiling",
            "l2 of m=3, nearest to 3.494, over m=4 at d=10, eps=1.03",
            e103[3] / e103[4] - 1,
        ),
        (
            "After Theorem 3.7",
            "harmless if delta (1-2f*) = O(4E/(n (E-1)^2))",
            "O(4E/(E-1)^2): both sides of (14) have their 1/n",
            "printed condition over the true one, n=10,000",
            1 / 10_000,
        ),
        (
            "Theorem 3.9",
            "the derivative at m bounds the excess",
            "at m - m/(2q+1)^2: the derivative falls with m', and m' < m",
            "excess at m=2, P=11, eps=.05, f=0, listed; beside it the smallest tau that the theorem promises",
            enumerated(0.0, 0.05, 2, 11)[1] / sketch_variance(0.0, 0.05, 2, 0.5) - 1,
            promised(0.0, 0.05, 2, 11),
        ),
        (
            "Corollary 3.5",
            "2q+1 > sqrt(1/tau); hence P >= 5m for 1%",
            "(2q+1)^2 >= 2/tau + 5/2; hence P >= 7m",
            "excess at m=2, P=11, eps=.1, enumerated; less than .01 is claimed",
            enumerated(0.0, 0.1, 2, 11)[1] / sketch_variance(0.0, 0.1, 2, 0.5) - 1,
        ),
        (
            "Section 3.5",
            "there is no pairwise independent family for m = 6",
            "there is: a function to 2 cells and one to 3",
            "distance from uniform of any two of four values' cells, 216 functions listed",
            float(dependence(six_cells(), 6, 2)),
        ),
        (
            "Section 3.4, a-RP",
            "(f*(E-1)^2 + 4^eps)/(E-1)^2, also in Appendix G",
            "4 e^eps for 4^eps",
            "4 e^eps / 4^eps at eps=3",
            4 * math.exp(3) / 4**3,
        ),
        (
            "Section 3.4, optimised MSE",
            "e^(eps/2)/(n (e^eps - 1)^2)",
            "(e^(eps/2) - 1)^2 below",
            "the right one over the printed one at eps=1",
            ((math.e - 1) / (math.exp(0.5) - 1)) ** 2,
        ),
    ]


def _appendices() -> list[Finding]:
    e, m = math.e, 4
    at_3 = math.exp(3)
    delta = math.sqrt(at_3 * (0.7 * at_3 + 0.3) * (0.3 * at_3 + 0.7))
    step = 1e-5
    by_m = (
        (sketch_variance(1, 1, m + step, 1 / (m + step)) - sketch_variance(1, 1, m - step, 1 / (m - step))) / step / 2
    )
    by_f = sketch_variance(1, 1, m, 1 / m) - sketch_variance(0, 1, m, 1 / m)
    at_0 = (
        (sketch_variance(0, 1, m + step, 1 / (m + step)) - sketch_variance(0, 1, m - step, 1 / (m - step))) / step / 2
    )
    ratio = {x: x / (math.sqrt(x) + 1) ** 2 for x in (1.0, math.exp(4))}
    least = -m / ((m - 1) * (e - 1)) - 1 / (m - 1)
    collisions = [sum(h == 0 for h in range(m)) / m]  # a value's cell is uniform given the other value's cell
    return [
        (
            "Appendix B, m",
            "m = 1 + Delta",
            "m = 1 + Delta/(f* E + 1 - f*), as in Theorem 3.6",
            "printed m over the right one at f*=.3, eps=3",
            (1 + delta) / (1 + delta / (0.3 * at_3 + 0.7)),
        ),
        (
            "Appendix B, derivatives",
            "two derivatives are by f(x)",
            "by m",
            "at f=1, m=4, eps=1: derivative by f over the printed expression, which is that by m",
            by_f / by_m,
        ),
        (
            "Appendix B, denominator",
            "(m-1) below the derivative at f = 0",
            "(m-1)^2",
            "printed over the derivative (central difference) at m=4, eps=1",
            (m - e - 1) * (m + e - 1) / ((m - 1) * (e - 1) ** 2) / at_0,
        ),
        (
            "Appendix C, l-OCMS",
            "2 log2 d + eps/2 bits, where Table II has 2 log d + eps",
            "2 log2 d + log2(1+E)",
            "log2(1+E) at eps=4, for 2 and 4",
            math.log2(1 + math.exp(4)),
        ),
        (
            "Appendix C, l1",
            "the Cauchy-Schwarz bound is tight, and the normal's mean deviation wrong",
            "the bound is sqrt(pi/2) times too large; the mean deviation is right",
            "exact l1 over the bound, one value, n=10,000, eps=1, m=4",
            normal_share(1.0, 10_000, 4),
        ),
        (
            "Appendix F, A",
            "e^-1 in the least value",
            "-1",
            "the printed least value less the right one, eps=1, m=4",
            m / (m - 1) * math.exp(-1) / (e - 1) - 1 / (m - 1) - least,
        ),
        (
            "Appendix F, (40) and (41)",
            "exp(-n alpha^2/3 ...)",
            "no n, as in Theorem 3.5",
            "log10 of the printed bound at alpha=1, n=10,000, eps=1, m=4, where the probability is .3",
            (math.log(2) - 10_000 / 3 * (m - 1) / (e + m - 1)) / math.log(10),
        ),
        (
            "Appendix G, (45)",
            "m = Omega((E-1)^2/((1+tau) E)) for a-RP",
            "(E+1)^2/(2 tau E)",
            "needed m at tau=.01, eps=1, by eq. (6); beside it the printed bound",
            asymmetric_cells(1.0, 0.01),
            (e - 1) ** 2 / (1.01 * e),
        ),
        (
            "Appendix H, m'",
            "m' = m - m/(2q+1)^2",
            "m' >= that",
            "m' less the printed one, m=3, P=7, listed",
            1 / prime_collision(3, 7) - needed(3, 7),
        ),
        (
            "Appendix H, ratio",
            "Var(R|=)/Var f^ decreases with eps at m = 1 + e^(eps/2)",
            "it increases, from 1/4 to 1",
            "the ratio at eps=4",
            ratio[math.exp(4)],
        ),
        (
            "Appendix I",
            "Var c = (m-1)/m",
            "(m-1)/m^2",
            "variance of one collision at m=4, listed",
            collisions[0] * (1 - collisions[0]),
        ),
        (
            "Appendix J",
            "the sum over contributors estimates f(x)",
            "n f(x): 1/n is missing",
            "expectation of the sum over f(x), n=5, three values, listed",
            _hadamard_sum(5),
        ),
    ]


def _connections() -> list[Finding]:
    recursive = sketch_variance(0.0, 1.0, 2, 17 / 32) / sketch_variance(0.0, 1.0, 32 / 17, 17 / 32) - 1
    e4, cells = math.exp(4), 64
    matches = sketch_variance(0.0, 4.0, cells, 0.5)
    return [
        (
            "Sections 3.1 and 3.3",
            "a constant collision probability 1/m is pairwise independence",
            "it is weaker, and suffices",
            "all linear functions of three bits to one, where any two values collide in half of them: distance of one "
            "value's cells from uniform, listed",
            float(dependence(linear_bits(3), 2, 1)),
        ),
        (
            "Section 4.1",
            "rows of a Hadamard matrix are 3-wise independent",
            "pairwise: the product of three rows is constant",
            "distance from uniform of three of seven values' cells, listed",
            float(dependence(hadamard_bits(3), 2, 3)),
        ),
        (
            "Section 4.3, low bits",
            "the same with probability 2^(b-1)",
            "2^-(b-1)",
            "at b=6",
            2.0**-5,
        ),
        (
            "Section 4.3, b",
            "b = eps, which is m = e^eps",
            "b = eps is m = 2^eps (at eps = 1 HE); the author's code has ceil(eps log2 e)",
            "e^eps over 2^eps at eps=4",
            e4 / 2**4,
        ),
        (
            "Section 4.3, worst case",
            "eq. (5) with c = 1/2 is RHR's MSE",
            "(E+1)(E+2^b-1)/(n (E-1)^2): its decoder takes a difference of two cells",
            "eq. (5) over it at eps=4, b=6",
            matches / ((e4 + 1) * (e4 + cells - 1) / (e4 - 1) ** 2),
        ),
        (
            "Section 4.5",
            "CMS over CMS is a CMS with m' = m1 m2/(m1+m2-1)",
            "its collisions are, its error only in the limit",
            "variance of CMS+HE (m1=16) over CMS+RR with m', less 1, eps=1, f=0",
            recursive,
        ),
        (
            "Theorem 5.2, how it is read",
            "CMS then works as expected",
            "its variance does; Theorem 3.5 needs independence",
            "probability of an error beyond 4 standard errors at m=5, P=11, n=121, eps=4, listed; beside it the one of "
            "independent assignments",
            *(listed(kind, 121, 4.0)["beyond 4"] for kind in ("pairwise", "independent")),
        ),
        (
            "Section 5.3, functions",
            "a pairwise independent family has at least (d+1)^2 functions",
            "2d suffice for m = 2 and d a power of two",
            "distance from uniform of two of eight values' cells, 16 functions listed",
            float(dependence(affine_bits(3), 2, 2)),
        ),
        (
            "Section 5.3, bits",
            "2 log2 d bits are unavoidable",
            "log2 d + 1 suffice",
            "bits of Spread at d=2^20, eps=1",
            next(one.report_bits for one in ocms_choice(1 << 20, 1.0).options if one.family == "spread"),
        ),
    ]


def _tables_and_bits() -> list[Finding]:
    l2 = {eps: worst_l2(RecursiveHadamard(100_000, eps)) * min(eps, eps**2) for eps in (1.0, 5.0)}
    return [
        (
            "Table I, RHR, l2",
            "Theta(d/min(eps, eps^2))",
            "it falls like e^-eps",
            "l2 min(eps, eps^2)/d at eps=1 over eps=5; a Theta would keep it",
            l2[1.0] / l2[5.0],
        ),
        (
            "Table II, OCMS",
            "log2 m is eps/2 or eps",
            "nats are not bits: .72 eps and 1.44 eps",
            "log2 e",
            math.log2(math.e),
        ),
        (
            "Table II, RHR",
            "log d + eps bits",
            "about log2 d + 1: the row has b - 1 bits less",
            "bits at d=100,000, eps=4; beside it the printed entry",
            RecursiveHadamard(100_000, 4.0).report_bits,
            math.log2(100_000) + 4,
        ),
        (
            "Table II, OLH",
            "d eps bits",
            "d log2(1+E)",
            "over the printed one at eps=1",
            math.log2(1 + math.e),
        ),
        (
            "Table II, subset selection",
            "d/(1+E) bits, the size of the subset",
            "log2 C(d, omega), about d H(1/(1+E))",
            "bits over the printed entry at d=100,000, eps=1",
            SubsetSelection(100_000, 1.0).report_bits * (1 + math.e) / 100_000,
        ),
    ]


def _data() -> list[Finding]:
    return [
        (
            "Section 6.3, frequency",
            "one Kosarak value has frequency above 0.4",
            "0.076, page 6; the number fits only a file whose separators are values",
            "share of click ends among clicks and both separators, by the published totals",
            CLICKS / (2 * CLICKS + LINES),
        ),
        (
            "Section 6.3, entries",
            "over 170,000 entries in 1% of Kosarak",
            "80,190 clicks; 170,280 with both separators",
            "(2 clicks + lines)/100",
            (2 * CLICKS + LINES) / 100,
        ),
    ]


def _chernoff_delta(epsilon: float, m: int) -> float:
    """Return delta = alpha sd/(f - A) of Appendix F at f = 0, for alpha at the printed range's end (n cancels)."""
    e = math.exp(epsilon)
    alpha = math.sqrt(e / (m - 1))
    lowest = -m / ((m - 1) * (e - 1)) - 1 / (m - 1)
    return alpha * math.sqrt(sketch_variance(0.0, epsilon, m, 1 / m)) / -lowest


def _hadamard_sum(n: int) -> float:
    """Return E of Appendix J's sum over f(x): of n contributors, two hold x = 0, the others 1 and 2."""
    held, size = [0, 0, 1, 2, 2][:n], 4
    total = 0.0
    for value in held:
        # The expectation of H^[X+1, j] is H[X+1, j] itself, and j is uniform.
        products = [(-1) ** (((value + 1) & j).bit_count() + (1 & j).bit_count()) for j in range(size)]
        total += sum(products) / size
    return total / (held.count(0) / n)


def kosarak_readings() -> list[Cell]:
    """Return size of 1% of Kosarak and share of its commonest symbol, for each way to count separators."""
    rows = []
    for words, ends, line_ends in (
        ("clicks", 0, 0),
        ("clicks and line ends", 0, LINES),
        ("clicks and click ends", CLICKS, 0),
        ("clicks and both", CLICKS, LINES),
    ):
        total = CLICKS + ends + line_ends
        # The commonest page has .076 of the clicks (in the prefix at hand), which is less than the line ends have.
        rows.append({"counted": words, "1%": total / 100, "commonest": max(ends, line_ends, 0.076 * CLICKS) / total})
    return rows


@PAPER.experiment("errata", "Errata: statements of the paper that are wrong as printed", quick=1)
def errata(run: Run) -> None:
    """Compute the numbers of the errata; nothing is random."""
    rows = findings()
    run.save_table(rows)
    run.show(rows, title=f"Errata: {len(rows)} statements")
    scanned = imperfect_hashing()
    run.save_table(scanned, "-imperfect-hashing")
    run.show(scanned, title="Theorem 3.9 and Corollary 3.5 over a grid of settings")
    run.save_table(kosarak_readings(), "-kosarak")

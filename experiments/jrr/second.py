"""The paper's formulas a second time, by brute force and without the library: only loops and Table 2.

`python -m experiments.jrr table-3` compares the library's closed forms with these. Nothing here is imported from
`deniable`, so that readers can check forty lines of arithmetic.
"""

from __future__ import annotations

from math import exp


def variance(p: float, rho: float, n: int, count: int) -> float:
    """Return the variance of the estimated number of ones, from the four cells of Table 2 and random pairs.

    >>> round(variance(0.8, -0.1875, 2, 2), 4)  # Example 2 of the paper: .72
    0.7222
    """
    q = 1 - p
    both_true, one_lies, both_lie = p * p + rho * p * q, (1 - rho) * p * q, q * q + rho * p * q
    if abs(both_true + 2 * one_lies + both_lie - 1) > 1e-12:
        raise ArithmeticError("the cells of Table 2 must add up to 1")
    # For each pair of peers with two ones, one, or none: the number of ones in their reports, with its mean and second
    # moment.
    cells = {
        2: ((2, both_true), (1, 2 * one_lies), (0, both_lie)),
        1: ((1, both_true), (2, one_lies), (0, one_lies), (1, both_lie)),
        0: ((0, both_true), (1, 2 * one_lies), (2, both_lie)),
    }
    spread = {}
    for ones, cell in cells.items():
        mean = sum(reports * mass for reports, mass in cell)
        spread[ones] = sum(reports**2 * mass for reports, mass in cell) - mean**2
    zeros, pairs = n - count, n * (n - 1)
    share = {2: count * (count - 1) / pairs, 1: 2 * count * zeros / pairs, 0: zeros * (zeros - 1) / pairs}
    return n / 2 * sum(share[ones] * spread[ones] for ones in cells) / (p - q) ** 2


def randomised_response(n: int, epsilon: float) -> float:
    """Return the variance of RR's count, (3)."""
    p = exp(epsilon) / (1 + exp(epsilon))
    return n * p * (1 - p) / (2 * p - 1) ** 2


def algorithm_1(n: int, epsilon: float, colluders: int, step: float = 1e-4) -> tuple[float, float]:
    """Return (p, rho) by the two loops of Algorithm 1; constraint (22) is tried at each step.

    >>> [round(value, 4) for value in algorithm_1(10_000, 0.1, 5)]
    [0.5249, -0.381]
    """
    p = exp(epsilon) / (1 + exp(epsilon)) - step
    while p > 0.5:
        q, tries = 1 - p, 0
        while (rho := 1 - 1 / p + tries * step) <= 1:
            most, least = max((1 - rho) * p, p + rho * q), min((1 - rho) * q, q + rho * p)
            others = n - colluders - 1
            if colluders * most + others * p <= exp(epsilon) * (colluders * least + others * q):
                return p, rho
            tries += 1
        p -= step
    raise ArithmeticError("no pair (p, rho) satisfies the constraint")


def best(n: int, count: int, epsilon: float, colluders: int, points: int = 400, rounds: int = 8) -> float:
    """Return the least variance of any JRR that is safe against m colluders with their shares, by ever finer grids.

    The constraint is the exact one. Given the shares of m others, a report is true with probability at most p + s m/(n
    - m). This probability must not exceed e^epsilon/(1 + e^epsilon).
    """
    most, exposed = exp(epsilon) / (1 + exp(epsilon)), colluders / (n - colluders)
    low, high, found = 0.5, most, randomised_response(n, epsilon)
    for _ in range(rounds):
        grid = [low + (high - low) * (i + 1) / points for i in range(points)]
        values = []
        for p in grid:
            s = min(1 - p, max(0.0, most - p) / exposed)
            values.append(variance(p, max(-(s**2) / (p * (1 - p)), 1 - 1 / p), n, count))
        at = min(range(points), key=values.__getitem__)
        found = min(found, values[at])
        low, high = grid[max(at - 1, 0)], grid[min(at + 1, points - 1)]
    return found


def three(n: int, count: int, epsilon: float, colluders: int) -> dict[str, float]:
    """Return the variances of RR, of Algorithm 1's JRR and of the best JRR."""
    p, rho = algorithm_1(n, epsilon, colluders)
    return {
        "RR": randomised_response(n, epsilon),
        "JRR, Algorithm 1": variance(p, rho, n, count),
        "JRR, optimum": best(n, count, epsilon, colluders),
    }

"""Numbers of docs/theory/jrr.md: adversaries, caps, the optimum, lies known to colluders, and pairs found."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from math import inf, log, prod, sqrt

import numpy as np

from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.coupling.parameters import theorem2_as_printed
from deniable.research.dealt.quota.quota_rr import QuotaRR
from experiments.harness import Cell, Run
from experiments.jrr.attackers import ADVERSARIES, DELTA, learned
from experiments.jrr.methods import build, count_variance, equivalent, setting
from experiments.jrr.paper import COLLUDERS, PAPER

N, SHARE = 10_000, 0.05
MY_REPORT, _, BASE_RATE, OTHERS_DATA, _ = ADVERSARIES


@PAPER.experiment("theory", "Numbers of docs/theory/jrr.md", runs=50_000)
def theory(run: Run) -> None:
    """Print closed forms, enumerations, and a simulation of one pairing that is reused."""
    honest(run)
    caps(run)
    optimum(run)
    lies(run)
    _pairs(run)


def honest(run: Run) -> None:
    """Tabulate the epsilon of each adversary, and RR's variance at that epsilon over JRR's."""
    rows = [_against(N, epsilon) for epsilon in (0.01, 0.1, 0.5, 1.0)]
    rows.append(_against(10**6, 0.1))
    rows.append(_against(N, _worth_it(N)))
    run.show(rows, title=f"JRR, optimum for a share of {SHARE}: adversaries, and RR's variance at their epsilon")
    run.save_table(rows, "-adversaries")


def _against(n: int, epsilon: float) -> Cell:
    one = setting(n, round(SHARE * n), epsilon)
    mechanism = build("JRR, optimum", one)
    found, variance = learned(mechanism, SHARE), count_variance(mechanism, n, one["count"])
    pure = [
        row.epsilon
        for row in mechanism.guarantee_against(theta=SHARE, delta=DELTA).trust_models
        if row.delta == 0 and "all reports" in f"{row.adversary} {row.view}" and "everybody else's data" in row.view
    ]
    return {
        "n": n,
        "epsilon": epsilon,
        "my report": found[MY_REPORT],
        "base rate": found[BASE_RATE],
        "RR at base rate": equivalent(found[BASE_RATE], n) / variance,
        "others' data": found[OTHERS_DATA],
        "RR at others' data": equivalent(found[OTHERS_DATA], n) / variance,
        "others' data, delta 0": min(pure, default=inf),
        "of RR": variance / equivalent(epsilon, n),
    }


def _worth_it(n: int) -> float:
    """Return the least nominal epsilon from which RR, at the epsilon for others' data, has the larger variance."""
    low, high = 0.1, 0.5
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if _against(n, middle)["RR at others' data"] > 1 else (middle, high)
    return high


def caps(run: Run) -> None:
    """Tabulate the cost of a cap on each contributor's epsilon, for JRR and for quota RR."""
    count = round(SHARE * N)
    plain = equivalent(0.1, N)
    rows: list[Cell] = []
    for cap in (0.5, 1.0, 2.0, 4.0, None):
        mechanism = JRR.optimal(N, 0.1, COLLUDERS, count, cap)
        views = [
            row
            for row in mechanism.guarantee_against(theta=SHARE, delta=DELTA).trust_models
            if "all reports" in f"{row.adversary} {row.view}" and "everybody else's data" in row.view
        ]
        rows.append(
            {
                "method": "JRR",
                "cap": "none" if cap is None else cap,
                "delta 0": min((row.epsilon for row in views if row.delta == 0), default=inf),
                "at delta": min(row.epsilon for row in views if row.delta > 0),
                "of RR": count_variance(mechanism, N, count) / plain,
            }
        )
    for cap in (1.0, None):
        quota = QuotaRR(epsilon=0.1, n=N, epsilon_aux=cap)
        rows.append({"method": "quota RR", "cap": "none" if cap is None else cap, "delta 0": 0.1, "at delta": 0.1,
                     "of RR": count_variance(quota, N, count) / plain})  # fmt: skip
    run.show(rows, title=f"Caps: nominal epsilon .1, n = {N:,}, a share of {SHARE}, delta 1e-6")
    run.save_table(rows, "-caps")


def optimum(run: Run) -> None:
    """Tabulate the variances of Algorithm 1 and of the optimum over RR's."""
    rows = []
    for epsilon, colluders, share in ((0.01, 5, 0.0), (0.1, 5, 0.1), (1.0, 5, 0.05), (0.1, 100, 0.05)):
        one = setting(N, round(share * N), epsilon, colluders)
        row: Cell = {"epsilon": epsilon, "M": colluders, "theta": share}
        for name in ("JRR, Algorithm 1", "JRR, optimum"):
            row[name] = count_variance(build(name, one), N, one["count"]) / equivalent(epsilon, N)
        rows.append(row)
    run.show(rows, title=f"Variance over RR's, n = {N:,}")
    run.save_table(rows, "-optimum")


# ------------------------------------------------------------------------------------------------ colluders


def sign_vectors(n: int) -> Iterator[tuple[int, ...]]:
    """Yield all vectors with as many +1 as -1, for even n."""
    for plus in combinations(range(n), n // 2):
        yield tuple(1 if i in plus else -1 for i in range(n))


def epsilon_given_lies(p: float, rho: float, n: int, colluders: int) -> float:
    """Return the epsilon of my report for someone who knows which of `colluders` others lied, by enumeration.

    All signs and lies are enumerated. Given the signs, contributors are independent, with P(truth) = p + sign s.
    Contributor 0 is me.

    >>> round(epsilon_given_lies(0.6, -0.5, 2, 1), 3)  # x = q - a p = .1
    2.197
    """
    s = sqrt(-rho * p * (1 - p))
    worst = 0.0
    for lied in product((False, True), repeat=colluders):
        mass = truth = 0.0
        for signs in sign_vectors(n):
            chances = [p + sign * s for sign in signs]
            weight = prod(1 - c if lie else c for c, lie in zip(chances[1 : colluders + 1], lied, strict=True))
            mass, truth = mass + weight, truth + weight * chances[0]
        if mass > 1e-15:
            least = min(truth / mass, 1 - truth / mass)
            worst = max(worst, log((1 - least) / least) if least > 1e-12 else inf)
    return worst


def lies(run: Run) -> None:
    """Tabulate Theorem 2 as printed, our bound, and the true value by enumeration."""
    rows = []
    for n, colluders, p, rho in ((6, 3, 0.6, -0.5), (4, 2, 0.6, -2 / 3)):
        mu = 1 if 2 * colluders >= n else colluders / (n - colluders)
        x = 1 - p + mu * rho * p
        rows.append(
            {
                "n": n,
                "m": colluders,
                "p": p,
                "rho": rho,
                "bound": log((1 - x) / x) if x > 1e-12 else inf,
                "truth": epsilon_given_lies(p, rho, n, colluders),
                "Theorem 2": theorem2_as_printed(p, rho, n, colluders),
            }
        )
    run.show(rows, title="My report and which of m colluders lied: epsilon")
    run.save_table(rows, "-lies")


# ---------------------------------------------------------------------------------------------------------- simulations


def peers_found(n: int, rounds: int, epsilon: float, seed: int) -> float:
    """Return the share of contributors whose peer agrees or disagrees with them most often, if a pairing is kept.

    Random draws and signs are fresh in each round, and answers stay the same. Half of the contributors hold 1. JRR has
    its smallest correlation.
    """
    generator = np.random.default_rng(seed)
    p = float(JRR.optimal(n, epsilon, COLLUDERS, 0).p)
    answers = generator.random(n) < 0.5
    half = n // 2  # contributor i and contributor half + i are peers
    reports = np.empty((rounds, n), dtype=np.float32)
    for i in range(rounds):
        signs = generator.choice((-1, 1), half)
        draw = generator.random(n)
        s = 1 - p  # this is the extreme coupling
        truth = draw < p + s * np.concatenate([signs, -signs])
        reports[i] = 2.0 * (truth == answers) - 1
    agreement = np.abs(reports.T @ reports)
    np.fill_diagonal(agreement, -1)
    return float((agreement.argmax(axis=1) == (np.arange(n) + half) % n).mean())


def _pairs(run: Run) -> None:
    cells = run.cells(
        [{"n": 2000, "rounds": rounds, "epsilon": 0.1, "part": "pairs"} for rounds in (10, 20, 30)],
        lambda cell: {"found": peers_found(cell["n"], cell["rounds"], cell["epsilon"], cell["seed"])},
    )
    rows = [{key: cell[key] for key in ("n", "epsilon", "rounds", "found")} for cell in cells]
    run.show(rows, title="One pairing, fresh coins and signs: contributors whose peer is found")
    run.save_table(rows, "-pairs")

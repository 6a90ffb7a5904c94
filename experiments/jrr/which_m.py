"""Numbers M of colluders for which Algorithm 1 gives the paper's printed numbers, and the p of figures 7 and 8.

Table 4 has M = 5 as the default. From n = 25,000 on, Algorithm 1 reaches the end of its grid at epsilon .01 for any M
up to 5. With fewer contributors, M makes a difference.
"""

from __future__ import annotations

from functools import cache
from math import exp, floor, log10, sqrt
from statistics import NormalDist

import numpy as np
from scipy import stats

from experiments.harness import Cell, Run
from experiments.jrr.extensions import law_of_ones
from experiments.jrr.methods import build, count_variance, setting
from experiments.jrr.paper import DATASETS, EPSILONS, PAPER, expected
from experiments.jrr.sweeps import PLACES, RATIO_ERROR
from experiments.jrr.underperformance import at_own_p

PLANNED = tuple(range(7))
"""M from 0 to 6: the five of Table 4, and its neighbours."""

RUNS = 1000
ALGORITHM_1 = "JRR, Algorithm 1"


def ratio(n: int, count: int, epsilon: float, colluders: int) -> float:
    """Return Algorithm 1's MSE over RR's, in closed form."""
    one = setting(n, count, epsilon, colluders)
    jrr, plain = (count_variance(build(name, one), n, count) for name in (ALGORITHM_1, "RR"))
    return jrr / plain


def last_digit(printed: float) -> float:
    """Return one unit of the last printed digit.

    >>> last_digit(0.058), last_digit(0.7), last_digit(7.3e-05)
    (0.001, 0.1, 1e-06)
    """
    digits = f"{printed:.6g}".split("e")[0].lstrip("0.").replace(".", "").rstrip("0")
    return float(f"1e{floor(log10(printed)) - len(digits) + 1}")


@cache
def percentile(p: float, rho: float, n: int, count: int, level: float = 0.8) -> tuple[float, float, float]:
    """Return the exact percentile of the ARE, and the 95% range of this percentile in 1,000 runs.

    The ARE is a multiple of (1/n_1 + 1/n_0)/(2 (p - q)), so that the percentile differs a little from a normal one.
    """
    law = law_of_ones(p, sqrt(max(-rho * p * (1 - p), 0.0)), n, count)
    are = np.abs((np.arange(n + 1) - n * (1 - p)) / (2 * p - 1) - count) * (1 / count + 1 / (n - count)) / 2
    order = np.argsort(are)
    below = np.cumsum(law[order])
    # The shown percentile is at most x if at least this many runs are at most x.
    shown = stats.binom.sf(round(level * RUNS) - 1, RUNS, np.minimum(below, 1.0))
    exact, low, high = (
        are[order][int(np.searchsorted(law, at))] for law, at in ((below, level), (shown, 0.025), (shown, 0.975))
    )
    return float(exact), float(low), float(high)


@PAPER.experiment("which-m", "The M that fits the printed numbers; figures 7 and 8 at JRR's own p", quick=1)
def which_m(run: Run) -> None:
    """Print closed forms for M from 0 to 6 beside the paper's numbers."""
    data(run)
    printed_numbers(run)
    own_p(run)


def data(run: Run) -> None:
    """Tabulate figure 1's ratios, and whether Kosarak's and Census's are both below Amazon's and E-commerce's."""
    rows: list[Cell] = []
    for epsilon in EPSILONS:
        found = {(name, m): ratio(n, count, epsilon, m) for name, (n, count) in DATASETS.items() for m in PLANNED}
        for m in PLANNED:
            far = max(found["Kosarak", m], found["Census", m])
            near = min(found["Amazon", m], found["E-commerce", m])
            # Each of the figure's two ratios has a standard error.
            z = (near - far) / (RATIO_ERROR * sqrt(near**2 + far**2))
            rows.append({"epsilon": epsilon, "M": m, **{name: found[name, m] for name in DATASETS},
                         "larger margin": "yes" if far < near else "no", "z in the figure": z,
                         "in the figure": "undecided" if abs(z) <= 2 else "yes" if z > 0 else "no"})  # fmt: skip
    run.show(rows, title="Figure 1: Algorithm 1's MSE over that of RR, by M")
    run.save_table(rows, "-data")


def printed_numbers(run: Run) -> None:
    """Tabulate each printed number with its values by M, and the largest M up to which both agree.

    They agree if they are within two standard errors of 1,000 runs and half a unit of the last printed digit. RI is a
    closed form; here the limit is a whole unit, because numbers may have been truncated.
    """
    stated = {claim["id"]: claim for claim in expected()["claims"]}
    rows: list[Cell] = []
    for name, (n, share, epsilon) in PLACES.items():
        # Panel (a) of figure 3 does not state its n, so the default of Table 4 is used.
        at = 10_000 if name.startswith("3a") else n
        values = [ratio(at, round(share * at), epsilon, m) for m in PLANNED]
        rows.append(_row(stated[name], at, epsilon, values, [2 * RATIO_ERROR * value for value in values], 0.5))
    n, count = DATASETS["Kosarak"]
    percentiles: list[Cell] = []
    for m in PLANNED:
        mechanism = build(ALGORITHM_1, setting(n, count, 0.1, m))
        exact, low, high = percentile(float(mechanism.p), float(mechanism.rho), n, count)
        deviation = sqrt(mechanism.count_variance(count)) * (1 / count + 1 / (n - count)) / 2
        percentiles.append({"M": m, "normal law": NormalDist().inv_cdf(0.9) * deviation, "exact law": exact,
                            "2.5%": low, "97.5%": high})  # fmt: skip
    run.save_table(percentiles, "-percentile")
    values, spread = ([one[key] for one in percentiles] for key in ("normal law", "97.5%"))
    rows.append(_row(stated["2-80"], n, 0.1, values, [h - v for h, v in zip(spread, values, strict=True)], 0.5))
    for epsilon in EPSILONS:
        values = [at_own_p(5_000, epsilon, m)["RI"] for m in PLANNED]
        rows.append(_row(stated["8-RI"], 5_000, epsilon, values, [0.0] * len(PLANNED), 1.0))
    run.show(rows, title="Numbers that the paper prints, and their values for each M")
    run.save_table(rows)


def _row(claim: Cell, n: int, epsilon: float, values: list[float], spread: list[float], units: float) -> Cell:
    allowed = last_digit(claim["paper"]) * units * (1 + 1e-9)
    agree = [abs(value - claim["paper"]) <= allowed + error for value, error in zip(values, spread, strict=True)]
    fitting = [str(m) for m, one in zip(PLANNED, agree, strict=True) if one]
    row: Cell = {"id": claim["id"], "claim": claim["claim"], "n": n, "epsilon": epsilon, "paper": claim["paper"]}
    return {**row, **{f"M = {m}": value for m, value in zip(PLANNED, values, strict=True)},
            "allowed at M = 5": allowed + spread[5], "M that fit": " ".join(fitting) or "none"}  # fmt: skip


def own_p(run: Run) -> None:
    """Tabulate the four statements of figures 7 and 8, against RR with the same p and with the same epsilon."""
    rows: list[Cell] = []
    for epsilon in (0.001, *EPSILONS):
        for n in (1_000, 5_000, 10_000, 80_000):
            for m in (0, 1, 2, 5):
                found = at_own_p(n, epsilon, m)
                rows.append({"n": n, "epsilon": epsilon, "M": m, **found, "e^-epsilon/(n - 1)": exp(-epsilon) / (n - 1),
                             "1/sqrt(n)": 1 / sqrt(n), "R in whole counts": whole_counts(n)})  # fmt: skip
    run.show([row for row in rows if row["M"] == 0 and row["epsilon"] in (0.001, 1.0)], title="At JRR's own p, M = 0")
    run.save_table(rows, "-own-p")


def whole_counts(n: int) -> float:
    """Return R of JRR against RR with the same p: from the least to the largest count at which JRR is worse.

    >>> whole_counts(1000)  # 485 to 515
    0.03
    """
    worse = [count for count in range(n + 1) if (2 * count - n) ** 2 < n]
    return (worse[-1] - worse[0]) / n

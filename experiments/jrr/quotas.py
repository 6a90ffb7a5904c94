"""Numbers of docs/theory/quota_rr.md, dealing.md and dealt_intervals.md: exact variances, counts and coverage."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from benchmarks.dealing import measure
from benchmarks.dealt_intervals import by_types, measured, quota_types

from deniable import GRR, OUE, SMP
from deniable.research.dealt.mpc.plan import count_law
from deniable.research.dealt.mpc.shuffling import route, shuffling_groups
from deniable.research.dealt.quota.batches import smallest_batch
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.records import QuotaRecords
from deniable.research.dealt.quota.unary import QuotaUnary
from experiments.harness import Cell, Run
from experiments.jrr.paper import PAPER

N = 10_000
SHARES = (0.0, 0.01, 0.05, 0.1, 0.5, 1.0)
SIZES = (5, 10, 20, 50, 100, 200, 1000, N)


@PAPER.experiment("quotas", "Numbers of docs/theory/quota_rr.md and dealing.md")
def quotas(run: Run) -> None:
    """Print exact variances over those of plain mechanisms, and exact counts."""
    designs(run)
    unary(run)
    batches(run)
    acceptance(run)
    facts(run)


def designs(run: Run) -> None:
    """Tabulate QuotaRR's variance over GRR's, for two design frequencies."""
    rows = [
        {
            "epsilon": epsilon,
            "design": 0.5 if design is None else design,
            "f": f,
            "of GRR": QuotaRR(epsilon, N, design=design).variance(f) / GRR(2, epsilon).variance(f, N),
        }
        for design, f in ((None, 0.05), (0.05, 0.05), (None, 0.5))
        for epsilon in (0.1, 0.5, 1.0)
    ]
    run.show(rows, title=f"QuotaRR: variance over GRR's, n = {N:,}, k = 2")
    run.save_table(rows, "-designs")


def unary(run: Run) -> None:
    """Tabulate QuotaUnary's quotas, and its variance over OUE's."""
    rows: list[Cell] = []
    for epsilon in (0.1, 0.5, 1.0, 3.0):
        quota, plain = QuotaUnary(4, epsilon, N), OUE(4, epsilon)
        row: Cell = {"epsilon": epsilon, "a0": quota.minima[0], "c0": quota.minima[1]}
        rows.append(row | {f"f = {f:g}": quota.variance(f) / plain.variance(f, N) for f in SHARES})
    run.show(rows, title=f"QuotaUnary: variance over OUE's, n = {N:,}")
    run.save_table(rows, "-unary")


def batches(run: Run) -> None:
    """Tabulate the variance of one batch over GRR's, and the smallest batch."""
    rows: list[Cell] = []
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        plain = GRR(2, epsilon)
        row = {f"m = {m}": QuotaRR(epsilon, m).variance(0.05) / plain.variance(0.05, m) for m in SIZES}
        rows.append({"epsilon": epsilon, "smallest": smallest_batch(epsilon)} | row)
    run.show(rows, title="A batch of m: variance over GRR's, k = 2, f = .05; and the smallest batch")
    run.save_table(rows, "-batches")


def acceptance(run: Run) -> None:
    """Tabulate the exact probability that the counts of a dealer's draw are accepted."""
    rows: list[Cell] = [
        {"epsilon": epsilon, "n": n, "k": k, "accepted": accepted(QuotaRR(epsilon, n, k=k))}
        for epsilon in (0.1, 1.0, 3.0)
        for n in (20, 500, 2000)
        for k in (2, 10)
    ]
    run.show(rows, title="Probability that drawn counts are accepted")
    run.save_table(rows, "-acceptance")


def accepted(quota: QuotaRR) -> float:
    """Return the probability that counts are accepted, by the integer tables of dealer and helpers."""
    law = count_law(quota.tables)
    weights = np.diff(np.array([0, *law.cumulative], dtype=object))
    one, total = np.array([float(Fraction(w, law.cumulative[-1])) for w in weights]), np.ones(1)
    for _ in range(quota.k):
        total = np.convolve(total, one)[: len(law.acceptance)]
    kept = np.array([float(Fraction(w, max(law.acceptance))) for w in law.acceptance[: len(total)]])
    return float(total @ kept)


def facts(run: Run) -> None:
    """Tabulate single numbers of the page on quota randomised response."""
    rare, designed, default = QuotaRR(1.0, N, design=0.0), QuotaRR(7.0, N, k=100, design=0.5), QuotaRR(7.0, N, k=100)
    dropping = QuotaRR(0.5, 1000, 400)
    records, sampled = QuotaRecords((2, 5), 0.5, N), SMP((2, 5), 0.5)
    found: Cell = {
        "designed at 0, f = 1/2": rare.variance(0.5) / GRR(2, 1.0).variance(0.5, N),
        "a0 of k = 100 at 1/2": designed.a0,
        "worst ratio of k = 100 at 1/2": _worst(designed),
        "a0 of k = 100": default.a0,
        "worst ratio of k = 100": _worst(default),
        "normal interval": normal_coverage(1000, 0.1, 0.05),
        "drop-outs": dropping.variance(0.15, reporters=700) / dropping.variance(0.15) * 0.7**2,
        "smallest batch of k = 20": smallest_batch(1.0, k=20),
        "switches of n = 500": sum(len(upper) for upper, _, _ in route(range(500))),
        "switches of n = 4": sum(len(upper) for upper, _, _ in route(range(4))),
    }
    for helpers in (3, 4, 5):
        found[f"groups of {helpers} helpers"] = len(shuffling_groups(helpers, (helpers - 1) // 2))
    for j, k in enumerate((2, 5)):
        found[f"SMP, k = {k}"] = sampled.variance(0.05, N, attribute=j) ** 0.5
        found[f"QuotaRecords, k = {k}"] = records.variance(0.05, attribute=j) ** 0.5
    rows = [{"fact": fact, "value": value} for fact, value in found.items()]
    run.show(rows, title="Single numbers")
    run.save_table(rows, "-facts")


def _worst(quota: QuotaRR) -> float:
    plain = GRR(quota.k, quota.epsilon)
    return max(quota.variance(f) / plain.variance(f, quota.n) for f in np.linspace(0, 1, 101).tolist())


def normal_coverage(n: int, epsilon: float, f: float) -> float:
    """Return the exact coverage of a normal 95% interval with the variance at the estimate, for the contributors."""
    quota = QuotaRR(epsilon, n, design=f)
    types = quota_types(n, quota.a0, [quota.a0], [1.0] * 2, float(quota.weight))
    first, law = by_types(lambda: types, n)[0](round(f * n))
    present, absent = quota.support_probabilities
    held = 0.0
    for count, probability in enumerate(law.tolist(), first):
        estimate = (count / n - absent) / (present - absent)
        held += probability * ((estimate - f) ** 2 <= 1.959964**2 * quota.variance(estimate))
    return held


@PAPER.experiment("dealing", "Bytes of secret shuffles on docs/theory/dealing.md")
def traffic(run: Run) -> None:
    """Count the bytes that a helper sends for a shuffle, with every helper as a process of this machine."""
    rows: list[Cell] = [
        {
            "shuffle": shuffle,
            "helpers": helpers,
            "n": n,
            "bytes": measure(f"shuffle, {shuffle}", helpers, n, 1).bytes_sent,
        }
        for helpers in (3, 5)
        for shuffle in ("network", "resharing")
        for n in (50, 100, 200, 300, 500)
    ]
    run.show(rows, title="Most bytes that one helper sends")
    run.save_table(rows)


@PAPER.experiment("dealt-intervals", "Coverage of docs/theory/dealt_intervals.md and quota_rr.md")
def dealt_intervals(run: Run) -> None:
    """Compute the coverage of 95% intervals by exact distributions; it takes a minute."""
    rows = list(measured())
    run.show(rows, title="95% intervals: smallest coverage over shares of holders, and the width at a share of .1")
    run.save_table(rows)

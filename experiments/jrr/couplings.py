"""Numbers of docs/theory/coupling.md: k values, coupled reports, OUE and local hashing (4.6.1 and 4.6.2)."""

from __future__ import annotations

from math import exp, inf, log
from time import perf_counter

import numpy as np
from scipy.special import gammaln

from deniable import GRR, OLH, OUE, SimulationRandomness
from deniable.research.dealt.coupling.coupled_oue import CoupledOUE
from deniable.research.dealt.coupling.jrr_local_hashing import JRRLocalHashing
from deniable.research.dealt.coupling.kary_jrr import KaryJRR
from deniable.research.dealt.coupling.report_coupling import ReportCoupledRR
from experiments.harness import Cell, Run
from experiments.jrr.extensions import epsilon_at
from experiments.jrr.methods import build, count_variance, setting
from experiments.jrr.paper import COLLUDERS, PAPER, Floats

N = 10_000
KARY = ((3, 1.0), (4, 1.0), (10, 1.0), (20, 1.0), (10, 3.0))


def others_data(rows: object) -> float:
    """Return the epsilon at a delta of a guarantee's row "all reports, everybody else's data"."""
    found = [
        row.epsilon
        for row in rows  # type: ignore[attr-defined]
        if row.delta > 0 and "all reports" in f"{row.adversary} {row.view}" and "else" in f"{row.adversary} {row.view}"
    ]
    return min(found, default=inf)


@PAPER.experiment("couplings", "Tables of docs/theory/coupling.md: k values, coupled reports, OUE, OLH")
def couplings(run: Run) -> None:
    """Print variances in closed form, exact distributions of views, and peers revealed by one pairing for all bits."""
    kary(run)
    binary(run)
    _worst_data(run)
    unary(run)
    _peers(run)
    hashed(run)
    _facts(run)


def kary(run: Run) -> None:
    """Tabulate k-ary JRR over GRR, both tuned at their own frequency."""
    rows = []
    for k, epsilon in KARY:
        plain = GRR(k, epsilon)
        row: Cell = {"k": k, "epsilon": epsilon}
        for label, count in {"0": 0, ".01": N // 100, "1/k": N // k, ".5": N // 2, "1": N}.items():
            tuned = KaryJRR.optimal(k, N, epsilon, COLLUDERS, count)
            row[f"f = {label}"] = tuned.variance(count / N) / plain.variance(count / N, N)
        row["epsilon at delta"] = others_data(KaryJRR.optimal(k, N, epsilon, COLLUDERS, 0).privacy().trust_models)
        rows.append(row)
    run.show(rows, title=f"k-ary JRR: variance over GRR's, n = {N:,}, each tuned at its own f")
    run.save_table(rows)


def binary(run: Run) -> None:
    """Tabulate JRR, report coupling and quota RR for binary questions."""
    rows = []
    for epsilon in (0.1, 0.5, 1.0):
        for share in (0.05, 0.5):
            one = setting(N, round(share * N), epsilon)
            plain = count_variance(build("RR", one), N, one["count"])
            for name in ("JRR, optimum", "report coupling", "quota RR"):
                mechanism = build(name, one)
                row: Cell = {"epsilon": epsilon, "share": share, "method": name}
                row["of RR"] = count_variance(mechanism, N, one["count"]) / plain
                row["base rate known"] = epsilon
                if name != "quota RR":
                    found = mechanism.guarantee_against(theta=0.05).trust_models
                    rates = [r.epsilon for r in found if "base rate" in f"{r.adversary} {r.view}" and r.delta > 0]
                    row["base rate known"] = min(rates, default="")
                rows.append(row)
    run.show(rows, title="Variance over RR's, and epsilon at delta 1e-6 for an adversary who knows a base rate of .05")
    run.save_table(rows, "-binary")


def _ways(total: int, chosen: Floats) -> Floats:
    """Return log C(total, chosen), or -inf if the coefficient is 0."""
    fits = (chosen >= 0) & (chosen <= total)
    safe = np.where(fits, chosen, 0.0)
    return np.where(fits, gammaln(total + 1) - gammaln(safe + 1) - gammaln(total - safe + 1), -np.inf)


def views(p: float, n: int, ones: int) -> tuple[Floats, Floats]:
    """Return the distributions of all reports if I hold 0 and if I hold 1, when all other data are known.

    Of the n - 1 others, `ones` hold 1. The reports reduce to mine, the number of holders of 1 who are told "say 0" (u),
    and the number of holders of 0 who are told "say 1" (v). Given the number of pairs that are told the truth, types
    are a uniform arrangement of their counts.
    """
    q, pairs, others = 1 - p, n // 2, n - 1
    t = np.arange(pairs + 1.0)[:, None, None]
    u = np.arange(min(ones, pairs) + 1.0)[None, :, None]
    v = np.arange(min(others - ones, pairs) + 1.0)[None, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        prior = _ways(pairs, t) + t * log(p - q) + (pairs - t) * log(2 * q)
        law = {}
        for mine, held in (("truth", 2 * t), ("one", pairs - t), ("zero", pairs - t)):
            ups, downs = pairs - t - (mine == "one"), pairs - t - (mine == "zero")
            # For the others, u of `downs` fall on holders of 1, and v of `ups` on holders of 0. The rest fall where
            # there is room.
            arranged = (
                gammaln(np.maximum(ups, 0) + 1) + gammaln(np.maximum(downs, 0) + 1)
                - gammaln(u + 1) - gammaln(v + 1)
                - gammaln(np.maximum(downs - u, 0) + 1) - gammaln(np.maximum(ups - v, 0) + 1)
            )  # fmt: skip
            room_1 = ones - u - (ups - v)  # holders of 1 told the truth
            room_0 = others - ones - v - (downs - u)
            fits = (ups >= v) & (downs >= u) & (room_1 >= 0) & (room_0 >= 0)
            places = (
                gammaln(ones + 1) - gammaln(np.maximum(room_1, 0) + 1)
                + gammaln(others - ones + 1) - gammaln(np.maximum(room_0, 0) + 1)
                - gammaln(others + 1) + gammaln(np.maximum(others - ups - downs, 0) + 1)
            )  # fmt: skip
            logs = np.where(fits & (held > 0), prior + np.log(held / n) + places + arranged, -np.inf)
            law[mine] = np.exp(logs).sum(axis=0)
    answers = []
    for answer in (0, 1):
        says_one = law["one"] + (law["truth"] if answer else 0)
        says_zero = law["zero"] + (0 if answer else law["truth"])
        answers.append(np.stack([says_zero, says_one]).ravel())
    return answers[0], answers[1]


def _worst_data(run: Run) -> None:
    rows = []
    for n, epsilon in ((200, 0.1), (400, 0.1), (200, 0.5), (400, 0.5), (400, 1.0)):
        mechanism = ReportCoupledRR.optimal(n, epsilon, 0)
        tried = sorted({0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, n // 4, n // 2})
        found = {ones: epsilon_at(*views(float(mechanism.p), n, ones)) for ones in tried}
        worst = max(found, key=found.__getitem__)
        rows.append({"n": n, "epsilon": epsilon, "others all equal": found[0], "worst of the data tried": found[worst],
                     "with ones among the others": worst})  # fmt: skip
    run.show(rows, title="Report coupling, nobody colludes, all other data known: epsilon at delta 1e-6")
    run.save_table(rows, "-worst-data")


def unary(run: Run) -> None:
    """Tabulate coupled OUE over OUE for a rare value."""
    rows = []
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0):
        coupled = CoupledOUE.optimal(128, N, epsilon, COLLUDERS)
        rows.append({"epsilon": epsilon, "of OUE": coupled.variance(0.0) / OUE(128, epsilon).variance(0.0, N),
                     "1 - exp(-epsilon)": 1 - exp(-epsilon)})  # fmt: skip
    run.show(rows, title=f"Coupled OUE, 128 values, f = 0, n = {N:,}")
    run.save_table(rows, "-oue")


def identified(n: int, d: int, epsilon: float, seed: int, *, own_pairs: bool) -> float:
    """Return the share of contributors whose peer in the first bit the collector finds by likelihood; rare values."""
    q = 1 / (1 + exp(epsilon))
    generator = np.random.default_rng(seed)
    reported, first = np.zeros((n, d), dtype=np.float32), generator.permutation(n)
    for v in range(d):
        order = generator.permutation(n) if own_pairs and v else first
        u = generator.random(n // 2)
        reported[order[: n // 2], v], reported[order[n // 2 :], v] = u < q, 1 - u < q
    both = reported @ reported.T
    either = reported.sum(axis=1)[:, None] + reported.sum(axis=1) - 2 * both
    # Peers never both report 1 in a bit. If both report 0, they are less likely to be peers than if one of them reports
    # 1.
    score = -1e9 * both - either * log(1 - q) + (d - both - either) * log((1 - 2 * q) / (1 - q) ** 2)
    np.fill_diagonal(score, -np.inf)
    peer = np.empty(n, dtype=np.int64)
    peer[first[: n // 2]], peer[first[n // 2 :]] = first[n // 2 :], first[: n // 2]
    return float((score.argmax(axis=1) == peer).mean())


def _peers(run: Run) -> None:
    cases = [(n, epsilon, False) for n in (200, 2000, 5000) for epsilon in (0.5, 1.0, 2.0)]
    cases += [(n, 1.0, True) for n in (200, 2000, 5000)]
    cells = run.cells(
        [{"n": n, "epsilon": epsilon, "own pairs": own, "part": "peers"} for n, epsilon, own in cases],
        lambda cell: {"found": identified(cell["n"], 128, cell["epsilon"], cell["seed"], own_pairs=cell["own pairs"])},
    )
    rows = [{key: cell[key] for key in ("n", "epsilon", "own pairs", "found")} for cell in cells]
    run.show(rows, title="Contributors whose peer is found from 128 bits of rare values")
    run.save_table(rows, "-peers")


def hashed(run: Run) -> None:
    """Tabulate k-ary JRR inside local hashing, over OLH."""
    rows = []
    for epsilon in (0.5, 1.0, 2.0):
        plain = OLH(1000, epsilon)
        assert plain.m is not None
        row: Cell = {"epsilon": epsilon}
        for share in (0.0, 0.01, 0.05, 0.5):
            count = None if share == 0 else round(share * N)
            coupled = JRRLocalHashing.optimal(1000, plain.m, N, epsilon, COLLUDERS, count)
            row[f"f = {share:g}"] = coupled.variance(share) / plain.variance(share, N)
        rows.append(row)
    run.show(rows, title=f"k-ary JRR inside local hashing, 1,000 values: variance over OLH's, n = {N:,}")
    run.save_table(rows, "-olh")


def _facts(run: Run) -> None:
    """Write single numbers of the page: two rows of guarantees, and the cost of a deal for each bit."""
    shares = KaryJRR.optimal(10, N, 1.0, COLLUDERS, 0, reveal="truths").privacy().trust_models
    unknown = CoupledOUE.optimal(128, N, 0.5, COLLUDERS).privacy().trust_models
    rows: list[Cell] = [
        {
            "fact": "shares of 5 colluders, tuned to what they say of lies: k = 10, epsilon 1",
            "value": next(row.epsilon for row in shares if "colluders" in row.adversary and "shares" in row.view),
        },
        {
            "fact": "nobody else holds either answer, delta 1e-6: OUE, epsilon .5",
            "value": next(row.epsilon for row in unknown if row.delta > 0 and "none of the two" in row.view),
        },
    ]
    many = CoupledOUE.optimal(128, 100_000, 1.0, COLLUDERS)
    took = []
    for number in range(3):
        started = perf_counter()
        many.deal(100_000, SimulationRandomness(number))
        took.append(perf_counter() - started)
    rows.append({"fact": "seconds to deal 128 bits to 100,000 contributors, least of 3", "value": min(took)})
    run.show(rows, title="Single numbers")
    run.save_table(rows, "-facts")

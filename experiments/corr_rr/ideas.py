"""Two ideas that the paper does not measure: copies chosen value by value, and a size for phase one.

4.4 explains Mushroom by p_y, which minimises the average error "rather than MSE of the estimator for each value". Here
the pivot's reported value v is copied with a probability p_v of its own, otherwise replaced by a uniform other value:

* `each`: p_v minimises Theorem 5's error of the value v alone, as the sentence says literally;
* `together`: all p_v of a pair minimise the exact expected error of the pair's target, a bounded least-squares problem.

Section 4.3.4 recommends 5 to 10% of the contributors for phase one. Section 3.2.2 and section 4.3.4 also recommend 10
to 20%.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from deniable import SMP, Aggregate, CorrRR, RecordEstimate, SimulationRandomness
from deniable.planning.two_phase import corr_rr_plan
from deniable.records import combine
from deniable.research.records.cond_rr import CondRR
from experiments.corr_rr.decoder_data import population
from experiments.corr_rr.decoder_settings import held_out
from experiments.corr_rr.measure import Ratio, moments, paired_ratio
from experiments.corr_rr.methods import errors, simulated
from experiments.corr_rr.paper import PAPER
from experiments.corr_rr.populations import Floats, People, synthetic
from experiments.corr_rr.real import PRINTED_DATA, everybody
from experiments.harness import Cell, Run
from experiments.ocms.statistics import randomness

_FLAT = 1e-12


def grr(k: int, epsilon: float) -> tuple[float, float]:
    """Return q and Delta of GRR."""
    q = 1 / (math.exp(epsilon) + k - 1)
    return q, 1 - k * q


def each(target: Floats, pivot: Floats, n2: int, epsilon: float) -> Floats:
    """Return the p_v that minimises Theorem 5's error for each value alone."""
    k, (q, delta) = len(target), grr(len(target), epsilon)
    alpha, beta = 1 - 1 / n2, -2 * target + (1 - 2 * q) / (n2 * delta)
    c0, c1 = (target + (1 - pivot) / (k - 1)) / 2, (k * pivot - 1) / (k - 1) / 2
    flat = np.abs(c1) < _FLAT
    best = (-beta / (2 * alpha) - c0) / np.where(flat, 1, c1)
    return np.clip(np.where(flat, 1 / k, best), 0, 1)


def _exchange(weights: Floats) -> Floats:
    """Return M with W'w = (1 - w)/(k - 1) + M p for weights w with sum one; W is the table of `table_of`."""
    k = len(weights)
    return np.asarray(np.diag(weights) * k / (k - 1) - np.tile(weights, (k, 1)) / (k - 1))


def together(target: Floats, pivot: Floats, n2: int, epsilon: float) -> Floats:
    """Return the p_v that minimise the target's expected error: variance and squared bias summed over values."""
    from scipy import optimize

    k, (q, delta) = len(target), grr(len(target), epsilon)
    reported = q + delta * pivot
    wanted = (q + delta * target - 1 / (2 * n2)) / (1 - 1 / n2)
    fixed = (q + delta * target) / 2 + (1 - reported) / (k - 1) / 2
    return np.asarray(optimize.lsq_linear(_exchange(reported) / 2, wanted - fixed, (0, 1)).x, dtype=np.float64)


def together_levelled(target: Floats, pivot: Floats, _: int, __: float) -> Floats:
    """Return the p_v that minimise the squared bias of the estimate without the public part of the copies."""
    from scipy import optimize

    k = len(target)
    found = optimize.lsq_linear(_exchange(pivot), target - (1 - pivot) / (k - 1), (0, 1))
    return np.asarray(found.x, dtype=np.float64)


def table_of(p: Floats) -> Floats:
    """Return W: row u is the distribution of a target whose pivot was reported as u."""
    k = len(p)
    table = np.tile(((1 - p) / (k - 1))[:, np.newaxis], (1, k))
    np.fill_diagonal(table, p)
    return table


Rule = Callable[[Floats, Floats, int, float], Floats]

RULES: Mapping[str, tuple[Rule, str]] = {
    "each": (each, "debiased"),
    "each, levelled": (each, "levelled"),
    "together": (together, "debiased"),
    "together, levelled": (together_levelled, "levelled"),
}
"""Rule and estimator: the paper's estimator, or one that corrects for uniform lies by the published tables."""


def learned(first: Aggregate, n2: int, rule: Rule) -> CondRR:
    """Return the mechanism that has a copy probability for each value."""
    marginals = [part.frequencies for part in first.mechanism.estimate(first).values()]
    sizes, epsilon = first.mechanism.sizes, float(first.mechanism.epsilon)
    tables = tuple(
        tuple(
            () if s == j else tuple(map(tuple, table_of(rule(marginals[j], marginals[s], n2, epsilon)).tolist()))
            for j in range(len(sizes))
        )
        for s in range(len(sizes))
    )
    return CondRR(sizes, first.mechanism.epsilon, tables)


def by_value(people: People, epsilon: float, share: float, rng: SimulationRandomness) -> dict[str, RecordEstimate]:
    """Collect from the same contributors with one p_y per pair, with one per value, and by sampling one attribute."""
    first_people, second_people = people.split(round(share * people.n), rng.generator)
    first = simulated(CorrRR.phase_one(people.sizes, epsilon), first_people, rng)
    one = first.mechanism.estimate(first)
    corr_rr = CorrRR.learn(first, second_people.n)
    found = {"Corr-RR": combine(one, corr_rr.estimate(simulated(corr_rr, second_people, rng)))}
    for name, (rule, estimator) in RULES.items():
        mechanism = learned(first, second_people.n, rule)
        reports = simulated(mechanism, second_people, rng)
        found[name] = combine(one, getattr(mechanism, estimator)(reports))
    smp = SMP(people.sizes, epsilon)
    return found | {"SMP": smp.estimate(simulated(smp, people, rng))}


@cache
def _held(text: str) -> People:
    return population(json.loads(text)).people


def people_of(cell: Cell) -> People:
    """Return the contributors of a setting: the paper's real data, SynA as described, or a held-out population."""
    if cell["family"] == "held out":
        return _held(json.dumps({name: value for name, value in cell.items() if name not in OWN}, sort_keys=True))
    if cell["family"] == "real data":
        return everybody(cell["data"])
    law = synthetic("SynA", "as_described", 4, cell["d"], cell["rho"], np.random.default_rng(1))
    return law.draw(cell["n"], np.random.default_rng(2))


OWN = ("family", "share", "runs", "seed", "place")


ATTRIBUTES, CELLS = 4, 500
"""Limits of held-out settings for value-by-value copies: number of attributes, and number of table cells."""


def held_out_alike(cells: float = math.inf) -> list[Cell]:
    """Return the held-out settings of few attributes with one domain, for which the rules are meant."""
    found = []
    for place, cell in enumerate(held_out()):
        sizes = population(cell).people.sizes
        d, k = len(sizes), sizes[0]
        if len(set(sizes)) == 1 and 1 < d <= ATTRIBUTES and d * (d - 1) * k**2 <= cells:
            found.append(cell | {"family": "held out", "place": place})
    return found


def own_settings(epsilons: Sequence[float], contributors: Sequence[int] = (20_000,)) -> list[Cell]:
    """Return the paper's settings: SynA as described, and its real data."""
    drawn = [
        {"family": "SynA as described", "d": d, "rho": rho, "n": n, "epsilon": epsilon}
        for d in (2, 4)
        for rho in (0.1, 0.9)
        for n in contributors
        for epsilon in epsilons
    ]
    return drawn + [
        {"family": "real data", "data": data, "epsilon": epsilon} for data in PRINTED_DATA for epsilon in epsilons
    ]


def measure_values(cell: Cell) -> Cell:
    """Measure one p_y per pair against one per value."""
    people = people_of(cell)
    return moments(
        [
            errors(people.frequencies, by_value(people, cell["epsilon"], cell["share"], randomness(cell, run)), ["raw"])
            for run in range(cell["runs"])
        ]
    )


def geometric_mean(ratios: Sequence[Ratio]) -> Ratio:
    """Return the geometric mean of independent ratios, and its Monte-Carlo error over their runs."""
    mean = math.exp(float(np.mean([math.log(one.value) for one in ratios])))
    return Ratio(mean, mean * math.sqrt(sum((one.error / one.value) ** 2 for one in ratios)) / len(ratios))


@PAPER.experiment("per-value", "Section 4.4: one copy probability for each value instead of each pair", runs=100)
def per_value(run: Run) -> None:
    """Compare the rules on the paper's own settings and on held-out settings."""
    settings = [cell | {"share": 0.1} for cell in (*own_settings((0.1, 0.3, 0.5)), *held_out_alike(CELLS))]
    cells = run.cells(settings, measure_values)
    rows = []
    for cell in cells:
        for name in (*RULES, "SMP"):
            ratio = paired_ratio(cell, name, "Corr-RR")
            rows.append(
                {column: cell.get(column, "") for column in ("family", "data", "d", "rho", "n", "place", "epsilon")}
                | {"rule": name, "ratio": ratio.value, "error": ratio.error, "verdict": ratio.verdict(-math.inf, 1)}
            )
    run.save_table(rows)
    summary = []
    for family in ("SynA as described", "Mushroom", "Clave, Adult", "held out"):
        for name in (*RULES, "SMP"):
            own = [row for row in rows if row["rule"] == name and _family(row) == family]
            mean = geometric_mean([Ratio(row["ratio"], row["error"]) for row in own])
            summary.append(
                {"family": family, "rule": name, "settings": len(own), "mean": mean.value, "error": mean.error}
                | {"better": sum(row["verdict"] == "yes" for row in own)}
                | {"worse": sum(row["verdict"] == "no" for row in own)}
                | {"worst": max(row["ratio"] for row in own)}
            )
    run.save_table(summary, "-summary")
    run.show(summary, title="error divided by the error with one probability per pair; geometric means")


def _family(row: Cell) -> str:
    if row["family"] != "real data":
        return str(row["family"])
    return "Mushroom" if row["data"] == "Mushroom" else "Clave, Adult"


# ---------------------------------------------------------------- the size of phase one

SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
DEVIATIONS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3)
"""Candidates for the standard error of phase one's frequencies; development settings choose one of them."""


def measure_share(cell: Cell) -> Cell:
    """Measure Corr-RR with one size of phase one."""
    people, table = people_of(cell), []
    for run in range(cell["runs"]):
        rng = randomness(cell, run)
        first_people, second_people = people.split(max(round(cell["share"] * people.n), 2), rng.generator)
        first = simulated(CorrRR.phase_one(people.sizes, cell["epsilon"]), first_people, rng)
        corr_rr = CorrRR.learn(first, second_people.n)
        second = corr_rr.estimate(simulated(corr_rr, second_people, rng))
        table.append(errors(people.frequencies, {"Corr-RR": combine(first.mechanism.estimate(first), second)}, ["raw"]))
    values = np.array([one["Corr-RR|raw"] for one in table])
    return {"mse": float(values.mean()), "error": float(values.std(ddof=1) / math.sqrt(len(values)))}


def nearest(share: float) -> float:
    """Return the measured share with the nearest ratio."""
    return min(SHARES, key=lambda one: abs(math.log(one / share)))


def by_deviation(people: People, epsilon: float, deviation: float) -> float:
    """Return the share of phase one at which uniform frequencies have this standard error."""
    k = people.sizes[0]
    q, delta = grr(k, epsilon / len(people.sizes))
    reported = q + delta / k
    return reported * (1 - reported) / (delta * deviation) ** 2 / people.n


def planned(people: People, epsilon: float) -> float:
    """Return the share that `corr_rr_plan` chooses in advance."""
    return corr_rr_plan(people.sizes, epsilon, people.n).n1 / people.n


@PAPER.experiment(
    "phase-one", "Section 4.3.4: size of phase one, chosen on the paper's settings, checked on held-out ones", runs=100
)
def phase_one(run: Run) -> None:
    """Measure Corr-RR with eight sizes of phase one; choose a rule on the paper's settings, and check it elsewhere."""
    settings = [*own_settings((0.1, 0.3, 0.5, 1.0), (2000, 20_000)), *held_out_alike()]
    measured = run.cells([cell | {"share": share} for cell in settings for share in SHARES], measure_share)
    rows = []
    for place, cell in enumerate(settings):
        people, own = people_of(cell), measured[place * len(SHARES) : (place + 1) * len(SHARES)]
        by_share = {one["share"]: Ratio(one["mse"], one["error"]) for one in own}
        best = min(by_share, key=lambda share: by_share[share].value)
        chosen = {f"{share:.0%}": share for share in SHARES} | {"plan": nearest(planned(people, cell["epsilon"]))}
        chosen |= {f"deviation {one:g}": nearest(by_deviation(people, cell["epsilon"], one)) for one in DEVIATIONS}
        for rule, share in chosen.items():
            value = by_share[share]
            rows.append(
                {"family": "held out" if cell["family"] == "held out" else "the paper's", "setting": place}
                | {"epsilon": cell["epsilon"], "n": people.n, "d": len(people.sizes), "k": people.sizes[0]}
                | {"best": best, "rule": rule, "share": share, "over best": value.value / by_share[best].value}
                | {"error": value.error / by_share[best].value}
            )
    run.save_table(rows)
    summary = []
    for family in ("the paper's", "held out"):
        for rule in dict.fromkeys(row["rule"] for row in rows):
            own_rows = [row for row in rows if (row["family"], row["rule"]) == (family, rule)]
            mean = geometric_mean([Ratio(row["over best"], row["error"]) for row in own_rows])
            summary.append(
                {"family": family, "rule": rule, "settings": len(own_rows), "mean": mean.value, "error": mean.error}
                | {"worst": max(row["over best"] for row in own_rows)}
            )
    run.save_table(summary, "-summary")
    run.show(summary, title="Corr-RR's error divided by its error at the best of eight sizes; geometric means")

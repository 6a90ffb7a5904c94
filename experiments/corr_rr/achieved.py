"""Simulated numbers of docs/theory/corr_rr.md: errors of all methods with two phases, and of measures of dependence."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np

from deniable import SMP, CorrRR, RecordEstimate, SimulationRandomness
from deniable.records import RSRFD, combine
from deniable.records.split import SPLPairs
from deniable.research.records.association import cramers_v, pearson
from deniable.research.records.cond_rr import CondRR
from deniable.research.records.grouping import GroupedCorrRR
from deniable.research.records.joint_tables import pair_tables
from deniable.research.records.two_pivots import TwoPivotRR
from experiments.corr_rr.measure import rows_of, summary
from experiments.corr_rr.methods import errors, simulated
from experiments.corr_rr.paper import PAPER
from experiments.corr_rr.populations import Floats, People, Synthetic, synthetic
from experiments.harness import Cell, Run
from experiments.ocms.statistics import randomness

K, D, N, N1 = 4, 4, 20_000, 2_000
"""Values, attributes, contributors, and contributors of phase one."""

PAIRS = tuple(combinations(range(D), 2))
ASSOCIATION_RUNS = 2_000


def true_conditionals(source: Synthetic) -> Any:
    """Return the distribution of attribute j given each code of attribute s, for all s and j."""

    def table(s: int, j: int) -> Any:
        joint = source.joint.sum(axis=tuple(a for a in range(D) if a not in (s, j)))
        rows = joint if s < j else joint.T
        return tuple(map(tuple, rows / rows.sum(axis=1, keepdims=True)))

    return tuple(tuple(() if s == j else table(s, j) for j in range(D)) for s in range(D))


def _table(group: People, i: int, j: int) -> Floats:
    table = np.zeros((K, K))
    np.add.at(table, (group.records[:, i], group.records[:, j]), group.counts / group.n)
    return table.ravel()


def collected(source: Synthetic, epsilon: float, rng: SimulationRandomness) -> dict[str, float]:
    """Return the raw error of each method in one collection, and the errors of cells of pair tables."""
    group = source.draw(N, rng.generator)
    sizes = group.sizes
    first_group, second_group = group.split(N1, rng.generator)
    first = simulated(SPLPairs(sizes, epsilon), first_group, rng)
    one = first.mechanism.estimate(first)
    found: dict[str, RecordEstimate] = {}

    def second(mechanism: Any, **names: str) -> None:
        """Combine phase one with each estimator of one aggregate; `unmixed` by inverse variance, others by counts."""
        reports = simulated(mechanism, second_group, rng)
        for estimator, name in names.items():
            weights = "inverse-variance" if estimator == "unmixed" else "counts"
            found[name] = combine(one, getattr(mechanism, estimator)(reports), weights=weights)

    pairs = simulated(SPLPairs(sizes, epsilon), group, rng)
    smp, true = SMP(sizes, epsilon), CondRR(sizes, epsilon, true_conditionals(source))
    found["SMP"] = smp.estimate(simulated(smp, group, rng))
    found["SPL"] = pairs.mechanism.estimate(pairs)
    found["Cond-RR levelled, true tables"] = true.levelled(simulated(true, group, rng))
    n2, pivots = second_group.n, TwoPivotRR.learn(first, second_group.n)
    second(RSRFD.learn(first, n2), estimate="RS+RFD raw", clipped="RS+RFD clipped")
    second(CorrRR.learn(first, n2), estimate="Corr-RR")
    second(GroupedCorrRR.learn(first, n2, groups=2), estimate="two groups")
    second(GroupedCorrRR.learn(first, n2), estimate="groups chosen by error")
    second(CondRR.learn(first, n2), levelled="Cond-RR levelled", unmixed="Cond-RR unmixed")
    second(pivots, unmixed="two pivots, least norm, unmixed", debiased="two pivots, least norm, debiased")
    tables, joint = pair_tables(pairs), pivots.joint(simulated(pivots, group, rng))
    cells = {"SPLPairs": {pair: tables[pair].cells for pair in PAIRS}, "TwoPivotRR": joint}
    return errors(group.frequencies, found, ["raw"]) | {
        f"{name}|cells": float(np.mean([(one[pair].frequencies - _table(group, *pair)) ** 2 for pair in PAIRS]))
        for name, one in cells.items()
    }


def measure(cell: Cell) -> Cell:
    """Measure one setting."""
    repeated = []
    for run in range(cell["runs"]):
        rng = randomness(cell, run)
        source = synthetic("SynA", "as_described", K, D, cell["rho"], rng.generator)
        repeated.append(collected(source, cell["epsilon"], rng))
    return summary(repeated)


def association(cell: Cell) -> Cell:
    """Measure Cramer's V and Pearson's correlation of two independent attributes with uniform frequencies."""
    pairs = SPLPairs((K, K), cell["epsilon"])
    records = np.stack(np.divmod(np.arange(K * K), K), axis=1)
    z, correlations, stated = [], [], []
    for run in range(ASSOCIATION_RUNS):
        rng = randomness(cell, run)
        held = rng.generator.multinomial(cell["n"], np.full(K * K, 1 / K**2))
        table = pair_tables(pairs.simulate_aggregate(records, held, rng))[0, 1]
        found = pearson(table)
        z.append(cramers_v(table).z)
        correlations.append(found.value)
        stated.append(found.standard_error)
    return {
        "collections": ASSOCIATION_RUNS,
        "sd of z": float(np.std(z, ddof=1)),
        "stated over actual": float(np.mean(stated) / np.std(correlations, ddof=1)),
        "error": 1 / math.sqrt(2 * ASSOCIATION_RUNS),
    }


@PAPER.experiment("achieved", "Errors of all methods with two phases on SynA, and of measures of dependence", runs=60)
def achieved(run: Run) -> None:
    """Measure the numbers of the page on the theory of Corr-RR."""
    settings = [{"rho": rho, "epsilon": epsilon} for epsilon in (0.5, 2.0, 4.0) for rho in (0.1, 0.9)]
    rows = rows_of(run.cells(settings, measure))
    run.save_table(rows)
    run.show(rows, title=f"SynA as described, d = {D}, k = {K}, n = {N:,}, {run.runs} collections")
    found = run.cells([{"epsilon": 1.0, "n": N}], association, version=2)
    run.save_table(found, "-association")
    run.show(found, title="independent attributes, d = 2")

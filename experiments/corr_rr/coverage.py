"""Coverage of the 95% intervals with and without a phase one; no published value is learned from reports.

Each repetition draws contributors from a distribution of dependent records and collects their reports. It then checks
two intervals per frequency. The interval for these contributors should contain their frequency. The interval for the
population should contain the frequency in the distribution.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from deniable import SPL, CorrRR, RecordEstimate, SimulationRandomness
from deniable.core.checks import Target
from deniable.records import combine
from deniable.records.pivot.pivot_coded import PivotCoded
from experiments.corr_rr.decoder_data import population
from experiments.corr_rr.methods import simulated
from experiments.corr_rr.paper import PAPER
from experiments.corr_rr.pictures import dress, panels
from experiments.corr_rr.populations import People
from experiments.harness import Cell, Run

CONFIDENCE = 0.95
PHASE_ONE = 0.2
COPIES = 0.6
"""Probability of a copy, equal for all pairs, for Corr-RR with a given P."""

TARGETS: tuple[Target, ...] = ("contributors", "population")
SHAPES = (
    (1000, [2, 2], 1.0),
    (20_000, [2, 2], 0.1),
    (20_000, [4, 4], 0.5),
    (5000, [4, 4, 4, 4], 1.0),
    (100_000, [4, 4, 4, 4], 2.0),
    (20_000, [10, 10, 10], 1.0),
    (20_000, [2, 2, 2, 2, 2, 2], 3.0),
    (20_000, [16, 16, 16, 16, 16], 1.0),
    (200_000, [64, 64], 2.0),
    (20_000, [2, 3, 7, 12], 1.0),
)
"""Contributors, domain sizes, epsilon."""


def settings() -> list[Cell]:
    """Return the settings: each shape with and without phase one, and two of them for Corr-RR with a given P."""
    shapes: list[Cell] = [
        {"sizes": sizes, "n": n, "epsilon": epsilon, "source": "classes", "classes": 3, "alpha": 0.5, "sample": 11}
        for n, sizes, epsilon in SHAPES
    ]
    pivot = [cell | {"method": "PivotCoded", "share": share} for cell in shapes for share in (0.0, PHASE_ONE)]
    given = [
        cell | {"method": "Corr-RR, P given", "share": share} for cell in shapes[2:4] for share in (0.0, PHASE_ONE)
    ]
    return pivot + given


def collected(people: People, cell: Cell, rng: SimulationRandomness) -> RecordEstimate:
    """Return the unbiased estimate of one collection: from phase two, or both phases by inverse-variance weights."""
    sizes, epsilon, d = people.sizes, cell["epsilon"], len(people.sizes)
    first_people, second_people = people.split(round(cell["share"] * people.n), rng.generator)
    if cell["method"] == "PivotCoded":
        coded = PivotCoded(sizes, epsilon)
        second: RecordEstimate = coded.estimate(simulated(coded, second_people, rng))
    else:
        copies = np.full((d, d), COPIES)
        np.fill_diagonal(copies, 1)
        corr_rr = CorrRR(sizes, epsilon, tuple(map(tuple, copies.tolist())))
        second = corr_rr.unmixed(simulated(corr_rr, second_people, rng))
    if not first_people.n:
        return second
    spl = SPL(sizes, epsilon)
    first: RecordEstimate = spl.estimate(simulated(spl, first_people, rng))
    return combine(first, second, weights="inverse-variance", learned=False)


def covered(estimate: RecordEstimate, people: People, law: People) -> list[float]:
    """Return the share of intervals that contain the truth, for these contributors and for the population."""
    shares = []
    for target, truth in zip(TARGETS, (people.frequencies, law.frequencies), strict=True):
        hits = []
        for one, f in zip(estimate.values(), truth, strict=True):
            lower, upper = one.interval(CONFIDENCE, target=target)
            hits.append((lower <= f) & (f <= upper))
        shares.append(float(np.concatenate(hits).mean()))
    return shares


def measure(cell: Cell) -> Cell:
    """Return the mean coverage of all intervals for both targets, with standard errors over the repetitions."""
    law, rng = population(cell | {"n": max(cell["n"], 10_000)}).people, SimulationRandomness(cell["seed"])
    shares = []
    for _ in range(cell["runs"]):
        counts = rng.generator.multinomial(cell["n"], law.counts / law.n)
        people = People(law.records, counts.astype(np.int64), law.sizes)
        shares.append(covered(collected(people, cell, rng), people, law))
    values: Cell = {}
    for target, column in zip(TARGETS, np.array(shares).T, strict=True):
        error = float(column.std(ddof=1) / np.sqrt(len(column)))
        values |= {target: float(column.mean()), f"{target} error": error}
    return values


def row(cell: Cell) -> Cell:
    """Return a cell as a row of the table."""
    sizes = cell["sizes"]
    k = str(sizes[0]) if len(set(sizes)) == 1 else "/".join(map(str, sizes))
    shape = {"method": cell["method"], "n": cell["n"], "d": len(sizes), "k": k, "epsilon": cell["epsilon"]}
    measured = {name: cell[name] for target in TARGETS for name in (target, f"{target} error")}
    return shape | {"phase one": f"{cell['share']:.0%}", "runs": cell["runs"]} | measured


@PAPER.experiment("coverage", "Coverage of the 95% intervals, with and without phase one", runs=400, quick=2)
def coverage(run: Run) -> None:
    """Measure the coverage in all settings; draw it with two standard errors on each side."""
    cells = run.cells(settings(), measure)
    rows = [row(cell) for cell in cells]
    run.save_table(rows)
    columns = ("method", "n", "d", "k", "epsilon", "phase one", *TARGETS)
    run.show(rows, columns, "share of 95% intervals that hold the truth")
    for target in TARGETS:
        far = max(abs(cell[target] - CONFIDENCE) for cell in cells)
        within = sum(abs(cell[target] - CONFIDENCE) <= 3 * cell[f"{target} error"] for cell in cells)
        run.say(f"{target}: {within} of {len(cells)} settings within 3 standard errors of 0.95; farthest by {far:.4f}.")
    run.save_figure(draw_coverage(rows))


def draw_coverage(rows: Sequence[Cell]) -> Figure:
    """Return the picture: one row per setting, with two standard errors on each side."""
    figure, axes = panels(1, 2, width=11, height=0.27 * len(rows) + 0.6)
    ends = [float(row[target]) + side * 2 * float(row[f"{target} error"])
            for row in rows for target in TARGETS for side in (-1, 1)]  # fmt: skip
    names = [
        f"{one['method']}{' + SPL' * (one['phase one'] != '0%')}, n={int(one['n']):,}, d={one['d']}, k={one['k']}, "
        f"ε={float(one['epsilon']):g}"
        for one in rows
    ]
    headings = {"contributors": "of these contributors' frequencies", "population": "of the population's frequencies"}
    for panel, target in zip(axes[0], TARGETS, strict=True):
        for place, one in enumerate(rows):
            colour = "#0072B2" if one["phase one"] == "0%" else "#D55E00"
            middle, half = float(one[target]), 2 * float(one[f"{target} error"])
            panel.plot([middle - half, middle + half], [place, place], color=colour, linewidth=1.2)
            panel.plot([middle], [place], "o", color=colour, markersize=4)
        panel.axvline(CONFIDENCE, color="0.3", linewidth=1)
        panel.set_xlim(min(ends) - 0.002, max(ends) + 0.002)
        dress(panel, f"Coverage {headings[target]}", "share of 95% intervals that hold the truth")
    axes[0][0].set_yticks(range(len(rows)), names, fontsize=8)
    axes[0][0].invert_yaxis()
    return figure

"""Observations OB1 to OB3 in one table, asymmetry on CelebA, and LFW's knowledge about CelebA's leakage."""

from __future__ import annotations

import numpy as np
from scipy import stats

from deniable.leakage import conditional_from_joint, joint_from_records, saturation
from deniable.leakage.prior.empirical_prior import observed
from deniable.research.adversary.benchmarks import leakage_matrix
from experiments.cpl import brute_force
from experiments.cpl.data import COMMON_FACES, LOADERS, Table, common_faces
from experiments.cpl.pairs import grr_matrix
from experiments.cpl.paper import PAPER, Floats, pairs_of
from experiments.harness import Cell, Run
from experiments.pictures import BLUE, GREY, VERMILLION, dress, note, panels

EPSILONS = (0.5, 1.0, 2.0, 3.0)
PAIRS = (
    ("CelebA", "Bald", "Male"),
    ("CelebA", "Male", "Bald"),
    ("Cardio", "cholesterol", "cardio"),
    ("Cardio", "cardio", "cholesterol"),
)
LIMITS = tuple(("CelebA", "Male", source) for source in ("No_Beard", "Wearing_Necklace", "Smiling"))


@PAPER.experiment("observations", "Asymmetry, saturation, small CPLs; LFW as public knowledge about CelebA")
def observations(run: Run) -> None:
    """Compute asymmetric pairs, limits and shares of small figures, with the library and by brute force."""
    matrices = {name: grr_matrix(load()) for name, load in LOADERS.items()}
    rows: list[Cell] = []
    for data, about, released in PAIRS:
        names = LOADERS[data]().names
        rows.append(
            {
                "figure": f"CPL, GRR, epsilon 1: {data}, {about} <- {released}",
                "measured": float(matrices[data][names.index(about), names.index(released)]),
                "by brute force": brute_force.grr_cpl(LOADERS[data]().select([about, released]), 1.0),
            }
        )
    for data, about, released in LIMITS:
        pair = LOADERS[data]().select([about, released])
        rows.append(
            {
                "figure": f"limit of CPL: {data}, {about} <- {released}",
                "measured": saturation(conditional_from_joint(joint_from_records(pair.records, pair.sizes))),
                "by brute force": brute_force.grr_cpl(pair, 32.0),
            }
        )
    for data, matrix in matrices.items():
        one, other = _both_directions(matrix)
        ratio = float(np.median(np.maximum(one, other) / np.maximum(np.minimum(one, other), 1e-9)))
        rows.append({"figure": f"median of larger/smaller direction: {data}", "measured": ratio})
    run.show(rows)
    run.save_table(rows)
    public = _public_knowledge(run)
    figure, (left, right) = panels(2, 10.5, 4.8)
    faces = LOADERS["CelebA"]()
    dress(left, "CelebA: one direction against the other", "CPL, the smaller direction", "the larger direction")
    one, other = _both_directions(matrices["CelebA"])
    left.plot(np.minimum(one, other), np.maximum(one, other), "o", color=BLUE, alpha=0.5, markersize=4,
              markeredgewidth=0)  # fmt: skip
    left.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    note(left, (0.8, 0.8), "equal", GREY, (0, -12))
    male, bald = faces.names.index("Male"), faces.names.index("Bald")
    x, y = matrices["CelebA"][male, bald], matrices["CelebA"][bald, male]
    left.plot(x, y, "o", color=VERMILLION, markersize=7)
    note(left, (x, y), f"Bald <- Male {y:.2f}", VERMILLION, (-22, 24))
    note(left, (x, y), f"Male <- Bald {x:.2f}", VERMILLION, (-22, 13))
    dress(right, "21 attributes, epsilon 1: LFW against CelebA", "CPL by CelebA's joint", "CPL by LFW's joint")
    right.plot(*public, "o", color=BLUE, alpha=0.5, markersize=4, markeredgewidth=0)
    right.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    note(right, (0.85, 0.85), "equal", GREY, (6, -10))
    correlation = float(np.corrcoef(*public)[0, 1])
    note(right, (0.03, 0.97), f"correlation {correlation:.2f}", BLUE, (0, 0))
    for panel in (left, right):
        panel.set_xlim(0, 1)
        panel.set_ylim(0, 1)
        panel.set_aspect("equal")
    run.save_figure(figure)


def _both_directions(matrix: Floats) -> tuple[Floats, Floats]:
    above = np.triu_indices(len(matrix), 1)
    return matrix[above], matrix.T[above]


def _public_knowledge(run: Run) -> tuple[Floats, Floats]:
    """Compare LFW's CPL (Algorithm 2) with CelebA's; return the figures of 21 attributes at epsilon 1."""
    rows, shown = [], (np.zeros(0), np.zeros(0))
    for count in (COMMON_FACES, None):
        faces, public = common_faces(count)
        for epsilon in EPSILONS:
            own, theirs = _figures(faces, epsilon), _figures(public, epsilon)
            rows.append(
                {
                    "attributes": len(faces.names),
                    "epsilon": epsilon,
                    "correlation": float(np.corrcoef(own, theirs)[0, 1]),
                    "rank correlation": float(stats.spearmanr(own, theirs).statistic),
                    "mean, CelebA": float(own.mean()),
                    "mean, LFW": float(theirs.mean()),
                    "share LFW underestimates": float((theirs < own).mean()),
                }
            )
            if (count, epsilon) == (COMMON_FACES, 1.0):
                shown = (own, theirs)
    run.show(rows, title="CPL by LFW's joint against CelebA's")
    run.save_table(rows, "-lfw")
    return shown


def _figures(table: Table, epsilon: float) -> Floats:
    return pairs_of(leakage_matrix(observed(table.records, table.sizes), [epsilon] * len(table.sizes)))

"""The additive figure (6) is not a bound: counter-examples, frequency of violations on CelebA, and valid cases."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes

from deniable import GRR, SimulationRandomness
from deniable.leakage import joint_from_records
from deniable.research.leakage import total_leakage
from experiments.cpl.data import celeba
from experiments.cpl.paper import PAPER, Floats
from experiments.harness import Cell, Run
from experiments.pictures import BLUE, GREY, VERMILLION, dress, note, panels

EPSILON = 1.0
NEIGHBOURS = (2, 3, 5, 8, 12)
HIDDEN = (2, 3, 5, 8, 12, 16, 20)
TELLING = ("Young", "Chubby", "Double_Chin")


def exclusive_or() -> Floats:
    """Return the joint distribution of an exclusive or and its two fair bits, in which all pairs are independent.

    >>> float(exclusive_or()[1, 0, 1])
    0.25
    """
    joint = np.zeros((2, 2, 2))
    for first in (0, 1):
        for second in (0, 1):
            joint[first ^ second, first, second] = 0.25
    return joint


def hidden_among(n: int) -> Floats:
    """Return the joint distribution of a fair bit and n bits that depend on it only all together.

    If the target is 0, the others are all one with probability 1/n, else all zero. If the target is 1, exactly one of
    them is one. Each single bit is independent of the target.

    >>> float(hidden_among(4)[0].sum()), float(hidden_among(4)[1, 1].sum())  # P(X_1 = 1 | X_0 = 1) = 1/4
    (0.5, 0.125)
    """
    joint = np.zeros((2,) * (n + 1))
    joint[(0, *(1,) * n)] = 0.5 / n
    joint[(0, *(0,) * n)] = 0.5 - 0.5 / n
    for one in range(n):
        joint[(1, *(int(j == one) for j in range(n)))] = 0.5 / n
    return joint


def independent_given_target(rng: np.random.Generator) -> Floats:
    """Return a random joint of a target and 2..5 others, independent given the target; each has 2..4 values."""
    sizes = rng.integers(2, 5, rng.integers(3, 7))
    joint: Floats = rng.dirichlet(np.ones(sizes[0]))
    for size in sizes[1:]:
        rows = rng.dirichlet(np.full(size, 0.7), sizes[0])
        joint = joint[..., None] * rows.reshape(sizes[0], *(1,) * (joint.ndim - 1), size)
    return joint


def ratio_about_first(joint: Floats, epsilon: float) -> tuple[float, float]:
    """Return the exact total about attribute 0 and the additive figure, if GRR releases all attributes."""
    found = total_leakage(joint, [GRR(k, epsilon) for k in joint.shape])
    return float(found.exact[0]), float(found.additive_figure_not_a_bound[0])


@PAPER.experiment("additive", "The additive figure (6) against exact totals: where it is not a bound", runs=300)
def additive(run: Run) -> None:
    """Test known counter-examples, `--runs` random subsets of CelebA by size, and as many joints with a valid (6)."""
    examples = _examples(run)

    def compute(cell: Cell) -> Cell:
        rng = SimulationRandomness(cell["seed"]).generator
        pairs = []
        for _ in range(cell["runs"]):
            if cell["neighbours"]:
                columns = rng.choice(len(celeba().names), cell["neighbours"] + 1, replace=False)
                joint = joint_from_records(celeba().records[:, columns], (2,) * len(columns))
            else:
                joint = independent_given_target(rng)
            pairs.append(ratio_about_first(joint, EPSILON))
        return {"exact": [pair[0] for pair in pairs], "additive": [pair[1] for pair in pairs]}

    cells = run.cells([{"neighbours": n, "epsilon": EPSILON} for n in (*NEIGHBOURS, 0)], compute)
    rows = []
    for cell in cells:
        ratios = np.array(cell["exact"]) / np.array(cell["additive"])
        rows.append(
            {
                "joint": f"CelebA, {cell['neighbours']} neighbours"
                if cell["neighbours"]
                else "independent given target",
                "tried": len(ratios),
                "exact above additive": int((ratios > 1 + 1e-9).sum()),
                "share": float((ratios > 1 + 1e-9).mean()),
                "largest exact/additive": float(ratios.max()),
                "smallest": float(ratios.min()),
            }
        )
    run.show(rows, title="Exact total against the additive figure, GRR, epsilon 1")
    run.save_table(rows, "-subsets")
    figure, (left, right) = panels(2, 11, 4.3, width_ratios=(1, 1.25))
    _draw_hidden(left, examples)
    _draw_subsets(right, cells, rows)
    run.save_figure(figure)


def _examples(run: Run) -> list[Cell]:
    cases: dict[str, Floats] = {"exclusive or of two fair bits": exclusive_or()}
    faces = celeba().select(TELLING)
    cases["CelebA: Young <- Chubby, Double_Chin"] = joint_from_records(faces.records, faces.sizes)
    rows = []
    for name, joint in cases.items():
        exact, figure = ratio_about_first(joint, EPSILON)
        rows.append({"joint": name, "exact": exact, "additive figure (not a bound)": figure, "prior-free": 3.0})
    closed = 1 + math.log(math.cosh(1))

    def compute(cell: Cell) -> Cell:
        found = total_leakage(hidden_among(cell["hidden"]), [GRR(2, cell["epsilon"])] * (cell["hidden"] + 1))
        return {"others": float(found.joint_cpl[0]), "largest pair": float(np.abs(found.pairwise[0]).max())}

    hidden = run.cells([{"hidden": n, "epsilon": EPSILON} for n in HIDDEN], compute)
    for cell in hidden:
        n, epsilon = cell["hidden"], cell["epsilon"]
        rows.append(
            {
                "joint": f"hidden among {n} neighbours, by the neighbours alone",
                "exact": cell["others"],
                "additive figure (not a bound)": round(n * cell["largest pair"], 12),
                "prior-free": n * epsilon,
                "closed form": math.log(1 - 1 / n + math.exp(n * epsilon) / n) - epsilon,
            }
        )
    rows[0]["closed form"] = closed
    run.show(rows, title="Counter-examples, GRR, epsilon 1")
    run.save_table(rows)
    return hidden


def _draw_hidden(panel: Axes, cells: list[Cell]) -> None:
    dress(panel, "neighbours that reveal only together", "neighbours", "leakage about the target, nats")
    n = [cell["hidden"] for cell in cells]
    panel.plot(n, n, color=GREY, linewidth=1.2, linestyle="--")
    panel.plot(n, [cell["others"] for cell in cells], "o-", color=BLUE, linewidth=1.8, markersize=5)
    panel.plot(n, [0] * len(n), "D-.", color=VERMILLION, linewidth=1.8, markersize=5, clip_on=False, zorder=5)
    note(panel, (12, 14), "sum of their epsilons\n(bound for any prior)", GREY, (0, 0), align="right")
    note(panel, (n[-3], cells[-3]["others"]), "exact", BLUE, (10, -6))
    note(panel, (12, 0), "additive figure (not a bound): 0", VERMILLION, (0, 12), align="center")
    panel.set_xticks(HIDDEN)
    panel.set_yticks(range(0, 21, 5))
    panel.set_xlim(0, 21)
    panel.set_ylim(0, 21)


def _draw_subsets(panel: Axes, cells: list[Cell], rows: list[Cell]) -> None:
    rng = np.random.default_rng(0)  # this only spreads the dots
    for place, (cell, row) in enumerate(zip(cells, rows, strict=True)):
        ratios = np.array(cell["exact"]) / np.array(cell["additive"])
        over = ratios > 1 + 1e-9
        x = place + rng.uniform(-0.3, 0.3, len(ratios))
        panel.plot(x[~over], ratios[~over], "o", color=BLUE, markersize=2.6, alpha=0.55, markeredgewidth=0)
        panel.plot(x[over], ratios[over], "o", color=VERMILLION, markersize=2.6, alpha=0.8, markeredgewidth=0)
        text = f"{row['share']:.0%} above" if row["exact above additive"] else "none above"
        note(panel, (place, 1.52), text, VERMILLION if row["exact above additive"] else BLUE, (0, 0), 8.5, "center")
    panel.axhline(1, color=VERMILLION, linewidth=1)
    dress(panel, "exact total/additive figure, GRR, epsilon 1", "", "ratio; above 1 the figure is no bound")
    labels = [f"CelebA,\n{n} others" for n in NEIGHBOURS]
    panel.set_xticks(range(len(cells)), [*labels, "independent\ngiven target"])
    panel.set_ylim(0.6, 1.56)

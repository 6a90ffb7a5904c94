"""Figure 8 for many choices of 21 attributes: the paper's factor, and the exact totals of its budgets, by cap.

The paper takes 21 of the attributes that CelebA and LFW share and does not list them. They share 38, so that there are
2.9e10 choices. We use `--runs` random choices, and the choice of a greedy search for the largest budget. Budgets come
from the closed form of GRR over two values, all pairs at once; a test compares them with `calibrate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from matplotlib.axes import Axes

from deniable import SimulationRandomness
from deniable.leakage.prior.empirical_prior import observed
from deniable.research.leakage import calibrate
from deniable.research.leakage.calibration.calibration import largest_below
from experiments.cpl import calibration
from experiments.cpl.calibration import CAPS, FAILURE_CAPS, joint_of, totals_at
from experiments.cpl.data import Table
from experiments.cpl.paper import PAPER, Floats, expected
from experiments.harness import Cell, Run
from experiments.pictures import BLUE, GREY, VERMILLION, dress, note, panels

ALL_CAPS = (0.5, *CAPS)
GREEDY = "greedy"


def shared_faces() -> Table:
    """Return the attributes of CelebA that LFW also has."""
    return calibration.common_faces()[0]


@cache
def shares_of(faces: tuple[str, ...]) -> Floats:
    """Return P(X_j = 0 | X_i = x), float64[2, d, d]: x, i (the target), j (the released attribute)."""
    data = observed(shared_faces().select(faces).records, (2,) * len(faces))
    d = len(faces)
    return np.array([[[0.5 if i == j else data.conditional(i, j)[x, 0] for j in range(d)] for i in range(d)]
                     for x in (0, 1)])  # fmt: skip


def additive_figures(shares: Floats, epsilon: float) -> Floats:
    """Return the paper's (6) about each attribute when GRR releases all over two values, float64[d].

    >>> import numpy as np
    >>> additive_figures(np.array([[[0.5, 0.8], [0.8, 0.5]], [[0.5, 0.2], [0.2, 0.5]]]), 1.0).round(4)
    array([1.5694, 1.5694])
    """
    gain = np.expm1(epsilon)
    ones, zeros = (np.abs(np.log1p(gain * part[0]) - np.log1p(gain * part[1])) for part in (shares, 1 - shares))
    figures: Floats = epsilon + np.maximum(ones, zeros).sum(axis=1)
    return figures


def additive_budget(shares: Floats, cap: float) -> float:
    """Return the largest common budget whose largest additive figure is at most the cap."""
    d = shares.shape[1]
    return largest_below(lambda epsilon: float(additive_figures(shares, epsilon).max()), cap, cap / d, cap)


def greedy_choice(shares: Floats, cap: float, count: int) -> list[int]:
    """Return `count` attributes for a large budget: repeatedly leave out the attribute whose absence helps most."""
    kept = list(range(shares.shape[1]))
    while len(kept) > count:

        def budget(left_out: int) -> float:
            rest = [j for j in kept if j != left_out]
            return additive_budget(shares[np.ix_((0, 1), rest, rest)], cap)

        kept.remove(max(kept, key=budget))
    return kept


def random_choice(d: int, count: int, seed: int, number: int) -> list[int]:
    """Return the sorted random choice with this number."""
    rng = SimulationRandomness(100_000 * seed + number).generator
    return sorted(rng.choice(d, count, replace=False).tolist())


@PAPER.experiment("fig8-choices", "Figure 8's factor and broken caps, for random choices of attributes", runs=100)
def choices(run: Run) -> None:
    """Measure the factor over SPL and the exact total for each cap, for `--runs` random choices and a greedy one."""
    count, faces = calibration.COMMON_FACES, shared_faces()

    def compute(cell: Cell) -> Cell:
        shares, cap = shares_of(faces.names), cell["cap"]
        chosen = (
            greedy_choice(shares, cap, count)
            if cell["choice"] == GREEDY
            else random_choice(len(faces.names), count, cell["seed"], cell["choice"])
        )
        epsilon = additive_budget(shares[np.ix_((0, 1), chosen, chosen)], cap)
        total = None
        if cap in FAILURE_CAPS:
            total = float(totals_at(joint_of(faces.select([faces.names[j] for j in chosen])), epsilon).max())
        return {"epsilon": epsilon, "exact": total}

    wanted: Sequence[int | str] = (GREEDY, *range(1, run.runs + 1))
    # A choice does not depend on the number of choices.
    settings = [{"choice": choice, "cap": cap} for choice in wanted for cap in ALL_CAPS]
    cells = run.cells(settings, compute)
    run.save_table({key: cell[key] for key in ("choice", "cap", "epsilon", "exact")} for cell in cells)
    rows = [_summary(cap, [cell for cell in cells if cell["cap"] == cap], count) for cap in ALL_CAPS]
    run.show(rows, title=f"Budgets by (6) over cap/{count}, and their exact totals over the cap")
    run.save_table(rows, "-summary")
    figure, axes = panels(2, 10.5, 4.2)
    _draw(axes[0], cells, ALL_CAPS, lambda cell: cell["epsilon"] * count / cell["cap"])
    dress(axes[0], "budget by (6) over cap/21", "cap on everybody's total", "times SPL")
    five = expected()["figure 8"]["times SPL"]
    axes[0].axhline(five, color="black", linewidth=1.2, linestyle=(0, (1, 1.5)))
    note(axes[0], (5.4, five), 'the paper: "five times"', "black", (0, 8), 8.5, "right")
    _draw(axes[1], cells, FAILURE_CAPS, lambda cell: cell["exact"] / cell["cap"])
    dress(
        axes[1], "what these budgets come to; above 1 the cap is broken", "cap on everybody's total", "exact total/cap"
    )
    axes[1].axhline(1, color=GREY, linewidth=1)
    run.save_figure(figure)


def _draw(panel: Axes, cells: list[Cell], caps: Sequence[float], figure: Callable[[Cell], float]) -> None:
    """Draw the figure of each choice in the column of its cap; the greedy choice is a diamond."""
    rng = np.random.default_rng(0)  # this only spreads the dots
    for place, cap in enumerate(caps):
        for cell in [cell for cell in cells if cell["cap"] == cap]:
            picked = cell["choice"] == GREEDY
            x = place if picked else place + rng.uniform(-0.3, 0.3)
            colour, size, mark = (VERMILLION, 6, "D") if picked else (BLUE, 3, "o")
            panel.plot(x, figure(cell), mark, color=colour, markersize=size, alpha=0.7, markeredgewidth=0, zorder=3)
    first = next(cell for cell in cells if (cell["choice"], cell["cap"]) == (GREEDY, caps[0]))
    note(panel, (0, figure(first)), "greedy choice", VERMILLION, (9, 0), 8.5)
    panel.set_xticks(range(len(caps)), [f"{cap:g}" for cap in caps])
    panel.set_xlim(-0.5, len(caps) - 0.5)


def _summary(cap: float, cells: list[Cell], count: int) -> Cell:
    drawn = [cell for cell in cells if cell["choice"] != GREEDY]
    (picked,) = [cell for cell in cells if cell["choice"] == GREEDY]
    times = np.array([cell["epsilon"] for cell in drawn]) * count / cap
    row: Cell = {
        "cap": cap,
        "choices": len(drawn),
        "least": float(times.min()),
        "median": float(np.median(times)),
        "most": float(times.max()),
        "share at 4.5 or more": float((times >= 4.5).mean()),
        "greedy": picked["epsilon"] * count / cap,
    }
    if cap in FAILURE_CAPS:
        ratios = np.array([cell["exact"] for cell in drawn]) / cap
        share = float((ratios > 1 + 1e-9).mean())
        row |= {
            "broken": int((ratios > 1 + 1e-9).sum()),
            "share broken": share,
            "standard error": float(np.sqrt(share * (1 - share) / len(ratios))),
            "median exact/cap": float(np.median(ratios)),
            "largest exact/cap": float(ratios.max()),
            "greedy exact/cap": picked["exact"] / cap,
        }
    return row


FEW = 12
"""Attributes of a choice with exact budgets; a hundred exact calibrations of 21 attributes would take hours."""
PUBLIC_CAPS = (1.0, 5.0, 10.0)


@PAPER.experiment("fig8-public-choices", "LFW as public knowledge, for random choices of 12 attributes", runs=200)
def public_choices(run: Run) -> None:
    """Calibrate on LFW's joint distribution by exact totals and by (6); show the totals under CelebA's."""
    faces, public = calibration.common_faces()
    count = min(FEW, len(faces.names) - 1)

    def compute(cell: Cell) -> Cell:
        chosen = random_choice(len(faces.names), count, cell["seed"], cell["choice"])
        names = [faces.names[j] for j in chosen]
        own, known = joint_of(faces.select(names)), joint_of(public.select(names))
        found: Cell = {}
        for criterion in ("exact", "additive"):
            theirs = float(calibrate(known, cell["cap"], criterion).epsilons[0])
            ours = float(calibrate(own, cell["cap"], criterion).epsilons[0])
            found[criterion] = {
                "LFW/CelebA": theirs / ours,
                "exact/cap": float(totals_at(own, theirs).max()) / cell["cap"],
            }
        return found

    settings = [{"choice": choice, "cap": cap} for choice in range(1, run.runs + 1) for cap in PUBLIC_CAPS]
    cells = run.cells(settings, compute)
    rows = []
    for criterion in ("exact", "additive"):
        for cap in PUBLIC_CAPS:
            at = [cell[criterion] for cell in cells if cell["cap"] == cap]
            ratios, budgets = (np.array([one[key] for one in at]) for key in ("exact/cap", "LFW/CelebA"))
            share = float((ratios > 1 + 1e-9).mean())
            rows.append(
                {
                    "criterion": criterion,
                    "cap": cap,
                    "choices": len(at),
                    "broken": int((ratios > 1 + 1e-9).sum()),
                    "share broken": share,
                    "standard error": float(np.sqrt(share * (1 - share) / len(at))),
                    "median exact/cap": float(np.median(ratios)),
                    "largest exact/cap": float(ratios.max()),
                    "least LFW/CelebA": float(budgets.min()),
                    "median LFW/CelebA": float(np.median(budgets)),
                    "most LFW/CelebA": float(budgets.max()),
                }
            )
    run.show(rows, title=f"Calibrated on LFW's joint, {count} attributes; exact totals under CelebA's")
    run.save_table(rows)

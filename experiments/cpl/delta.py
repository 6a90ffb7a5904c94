"""Delta is a statement about events.

The module computes the tight curve (epsilon', delta') through a correlation, and sums of deltas that are not valid.

Erratum: from its (14) on, the paper applies (epsilon, delta) to single outputs. Then delta bounds nothing: a mechanism
that adds a nonce to the plain value has arbitrarily small likelihood differences for each single output.
"""

from __future__ import annotations

import math

import numpy as np

from deniable import SimulationRandomness
from deniable.leakage import conditional_from_joint, joint_from_records, revealing_channel, worst_case_cpl
from deniable.research.leakage import channel_delta, total_delta, total_leakage
from experiments.cpl.additive import NEIGHBOURS, exclusive_or, independent_given_target
from experiments.cpl.data import celeba
from experiments.cpl.paper import PAPER, Floats
from experiments.harness import Cell, Run
from experiments.pictures import BLUE, GREY, VERMILLION, dress, note, panels

EPSILON, DELTA = 1.0, 0.01
NONCES = 1000
MANY = 8
"""Largest number of neighbours whose totals with a delta are enumerated; each has 4 outputs."""


def nonce(k: int, nonces: int) -> Floats:
    """Return the channel that releases the plain value together with a nonce.

    >>> nonce(2, 2)
    array([[0.5, 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0.5]])
    """
    return np.repeat(np.eye(k), nonces, axis=1) / nonces


def leaky(subset: tuple[int, ...], k: int, epsilon: float, delta: float) -> Floats:
    """Return randomised response on 1[value in subset] that, with probability delta, marks its report as true."""
    inside = np.isin(np.arange(k), subset)[:, None]
    keep = (1 - delta) / (1 + math.exp(-epsilon))
    answers = np.where(inside == np.array([False, True]), keep, 1 - delta - keep)
    certain = np.where(inside == np.array([False, True]), delta, 0.0)
    return np.hstack([answers, certain])


@PAPER.experiment("delta", "Delta over events and over outputs; the tight curve for Bald <- Male")
def curve(run: Run) -> None:
    """Show the nonce, and the tight delta' against epsilon', with the mechanism that attains it."""
    channel = nonce(2, NONCES)
    pointwise = float(np.abs(channel[0] - channel[1]).max())
    run.say(
        f"value and a nonce of {NONCES}: output by output epsilon 0 with delta {pointwise:g}; over events delta "
        f"{channel_delta(channel, np.eye(2), 0.0):g}"
    )
    faces = celeba().select(["Bald", "Male"])
    conditional = conditional_from_joint(joint_from_records(faces.records, faces.sizes))
    worst = worst_case_cpl(conditional, EPSILON, DELTA)
    attaining = leaky(worst.subset, 2, EPSILON, DELTA)
    rows = [
        {
            "epsilon'": float(epsilon),
            "delta', tight": worst.delta_at(float(epsilon)),
            "delta' of the mechanism": channel_delta(attaining, conditional, float(epsilon)),
        }
        for epsilon in np.linspace(0, 1, 101)
    ]
    run.save_table(rows)
    run.show(rows[::20], title=f"Bald <- Male, release with epsilon {EPSILON:g}, delta {DELTA:g}")
    closed = DELTA * math.expm1(worst.epsilon) / math.expm1(EPSILON)
    summary = {"CPL": worst.epsilon, "delta'": worst.delta, "closed form": closed, "nonce, by outputs": pointwise,
               "nonce, over events": channel_delta(channel, np.eye(2), 0.0)}  # fmt: skip
    run.save_table([summary], "-summary")
    run.say(f"at epsilon' = {worst.epsilon:.4f}: delta' {worst.delta:.6f}, closed form {closed:.6f}")
    figure, (panel,) = panels(1, 6, 3.8)
    dress(panel, "Bald <- Male; the release of Male has epsilon 1, delta .01", "epsilon'", "smallest valid delta'")
    panel.semilogy([row["epsilon'"] for row in rows], [row["delta', tight"] for row in rows], color=BLUE, linewidth=2)
    panel.plot(
        [row["epsilon'"] for row in rows[::10]], [row["delta' of the mechanism"] for row in rows[::10]], "o",
        color=VERMILLION, markerfacecolor="none", markersize=7,
    )  # fmt: skip
    panel.plot(worst.epsilon, worst.delta, "D", color="black", markersize=6)
    note(panel, (worst.epsilon, worst.delta), f"epsilon' = CPL = {worst.epsilon:.3f}", "black", (-6, -9), align="right")
    note(panel, (0.3, worst.delta_at(0.3)), "line: for every such release", BLUE, (12, 18))
    note(panel, (0.3, worst.delta_at(0.3)), "rings: a release that attains it", VERMILLION, (12, 6))
    panel.axhline(DELTA, color=GREY, linewidth=0.8, linestyle=":")
    note(panel, (0, DELTA), "delta of the release", GREY, (4, 6))
    panel.set_ylim(bottom=0.0035)
    run.save_figure(figure)


def sums(joint: Floats, epsilon: float, delta: float) -> tuple[float, float, float]:
    """Return the paper's (6) about attribute 0, epsilon and delta, and the smallest valid delta at that epsilon.

    All attributes have two values, so that `revealing_channel` is the worst (epsilon, delta)-LDP mechanism.
    """
    channels = [revealing_channel(k, epsilon, delta) for k in joint.shape]
    worst = [worst_case_cpl(conditional_from_joint(joint, 0, j), epsilon, delta) for j in range(1, joint.ndim)]
    added = epsilon + math.fsum(one.epsilon for one in worst), delta + math.fsum(one.delta for one in worst)
    return (*added, float(total_delta(joint, channels, [added[0]] * joint.ndim)[0]))


@PAPER.experiment("delta-sums", "The delta of (6), which is a sum, against the exact delta", runs=300)
def summed(run: Run) -> None:
    """Test the exclusive or, `--runs` random sets of CelebA's attributes by size, and joints for which (6) is valid."""
    xor = exclusive_or()
    epsilon, delta, at_sum = sums(xor, EPSILON, DELTA)
    channels = [revealing_channel(2, EPSILON, DELTA)] * 3
    total = float(total_leakage(xor, [channel[:, :2] / (1 - DELTA) for channel in channels]).exact[0])
    rows: list[Cell] = [
        {"joint": "exclusive or of two fair bits", "(6), epsilon": epsilon, "(6), delta": delta, "delta there": at_sum,
         "total": total, "delta at the total": float(total_delta(xor, channels, total)[0])},
        {"joint": "the same, epsilon 0, delta .1",
         **dict(zip(("(6), epsilon", "(6), delta", "delta there"), sums(xor, 0.0, 0.1), strict=True))},
    ]  # fmt: skip
    run.show(rows)
    run.save_table(rows, "-examples")

    def compute(cell: Cell) -> Cell:
        rng = SimulationRandomness(cell["seed"]).generator
        found = []
        for _ in range(cell["runs"]):
            if cell["neighbours"]:
                columns = rng.choice(len(celeba().names), cell["neighbours"] + 1, replace=False)
                joint = joint_from_records(celeba().records[:, columns], (2,) * len(columns))
            else:
                joint = _of_bits(independent_given_target(rng))
            found.append(sums(joint, EPSILON, DELTA)[1:])
        return {"(6)": [pair[0] for pair in found], "exact": [pair[1] for pair in found]}

    counts = [n for n in NEIGHBOURS if n <= MANY]
    cells = run.cells([{"neighbours": n, "epsilon": EPSILON, "delta": DELTA} for n in (*counts, 0)], compute)
    table = []
    for cell in cells:
        ratio = np.array(cell["exact"]) / np.array(cell["(6)"])
        share = float((ratio > 1 + 1e-9).mean())
        name = f"CelebA, {cell['neighbours']} neighbours" if cell["neighbours"] else "independent given target"
        table.append({"joint": name, "tried": len(ratio), "exact above (6)": int((ratio > 1 + 1e-9).sum()),
                      "share": share, "standard error": math.sqrt(share * (1 - share) / len(ratio)),
                      "median exact/(6)": float(np.median(ratio)),
                      "largest exact/(6)": float(ratio.max())})  # fmt: skip
    run.show(table, title=f"Delta at (6)'s epsilon against (6)'s delta; releases ({EPSILON:g}, {DELTA:g})")
    run.save_table(table)


def _of_bits(joint: Floats) -> Floats:
    """Return the joint distribution given the first two values of attribute 0; others become "first value or not"."""
    joint = joint[:2] / joint[:2].sum()
    for axis in range(1, joint.ndim):
        first, rest = joint.take([0], axis), joint.take(range(1, joint.shape[axis]), axis)
        joint = np.concatenate([first, rest.sum(axis=axis, keepdims=True)], axis=axis)
    return joint

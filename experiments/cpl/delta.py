"""What delta is: a statement about events, and the tight curve (epsilon', delta') through a correlation.

Erratum: the paper reads (epsilon, delta) output by output, from its (14) on. So read, delta bounds nothing: a mechanism
that adds a nonce to the plain value has likelihood differences as small as one likes for every single output.
"""

from __future__ import annotations

import math

import numpy as np

from deniable.leakage import channel_delta, conditional_from_joint, joint_from_records, worst_case_cpl
from experiments.cpl.data import celeba
from experiments.cpl.paper import PAPER, Floats
from experiments.harness import Run
from experiments.pictures import BLUE, GREY, VERMILLION, dress, note, panels

EPSILON, DELTA = 1.0, 0.01
NONCES = 1000


def nonce(k: int, nonces: int) -> Floats:
    """Return the channel that releases the plain value together with a nonce.

    >>> nonce(2, 2)
    array([[0.5, 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0.5]])
    """
    return np.repeat(np.eye(k), nonces, axis=1) / nonces


def leaky(subset: tuple[int, ...], k: int, epsilon: float, delta: float) -> Floats:
    """Return randomised response on 1[value in subset] that, with probability delta, tells the truth and says so."""
    inside = np.isin(np.arange(k), subset)[:, None]
    keep = (1 - delta) / (1 + math.exp(-epsilon))
    answers = np.where(inside == np.array([False, True]), keep, 1 - delta - keep)
    certain = np.where(inside == np.array([False, True]), delta, 0.0)
    return np.hstack([answers, certain])


@PAPER.experiment("delta", "Delta: events, not outputs; the tight curve for Bald <- Male")
def curve(run: Run) -> None:
    """Show the nonce, and tight delta' over epsilon' with the mechanism that attains it."""
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

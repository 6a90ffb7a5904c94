"""Figure 2: the copy probability by the rule of Proposition 1, and its dependence on the marginals."""

from __future__ import annotations

import numpy as np

from deniable.records.pivot.corr_rr import pairwise_copy_probabilities
from experiments.corr_rr.paper import PAPER
from experiments.corr_rr.pictures import dress, panels
from experiments.harness import Run

PIVOTS = (0.1, 0.3, 0.45, 0.7, 0.9)
"""Marginals of the pivot; the text calls its values representative and does not give them."""

COLOURS = ("#0072B2", "#009E73", "#000000", "#E69F00", "#D55E00")
N2 = 18_000


def probability(target: float, pivot: float, n2: int = N2, as_printed: bool = False) -> float:
    """Return p_y for a binary target and a binary pivot, given the frequencies of their first values."""
    marginals = [[target, 1 - target], [pivot, 1 - pivot]]
    return float(pairwise_copy_probabilities(marginals, n2, as_printed=as_printed)[0, 1])


@PAPER.experiment("figure-2", "Figure 2: copy probability against the marginals of target and pivot", quick=1)
def figure_2(run: Run) -> None:
    """Calculate the curves; nothing is random.

    The paper does not state domain size, epsilon and n2: here all is binary, n2 = 18,000, and epsilon does not matter.
    """
    targets = [round(step / 100, 2) for step in range(101)]
    curves = {pivot: [probability(target, pivot) for target in targets] for pivot in PIVOTS}
    rows = [
        {"target": target, "pivot": pivot, "p": p}
        for pivot, values in curves.items()
        for target, p in zip(targets, values, strict=True)
    ]
    run.save_table(rows)
    figure, axes = panels(1, 1, width=5.6, height=3.4)
    panel = axes[0][0]
    for (pivot, values), colour in zip(curves.items(), COLOURS, strict=True):
        panel.plot(targets, values, color=colour, linewidth=1.5, label=f"{pivot:g}")
    dress(panel, "", "marginal of the target, f(1)", "probability of a copy")
    panel.set_ylim(-0.03, 1.03)
    legend = figure.legend(loc="outside right center", frameon=False, fontsize=9, title="marginal of\nthe pivot")
    legend.get_title().set_fontsize(9)
    run.save_figure(figure)
    halves = [probability(target, 0.5) for target in np.linspace(0.1, 0.9, 5)]
    run.say(f"A uniform pivot gives p = {halves[0]:g} for every target: its copies carry no information.")
    run.say("The rule depends on the marginals only, not on epsilon or any correlation. The axis is f(1) at k = 2.")

"""Picture of a hundred women whose answer is yes, and of their reports, for four budgets."""

from __future__ import annotations

from pathlib import Path

from deniable import GRR
from experiments.pictures import BLUE, GREY, INK, panels

BUDGETS = (0.5, 1.0, 2.0, 4.0)


def sent(epsilon: float) -> tuple[int, int]:
    """Return how many of a hundred women send the truth and how many the other answer, rounded to whole women.

    >>> sent(1), sent(4)
    ((73, 27), (98, 2))
    """
    truth, _ = GRR(k=2, epsilon=epsilon).support_probabilities
    women = round(100 * truth)
    return women, 100 - women


def draw(path: Path) -> None:
    """Draw a square of dots for each budget; the picture is readable at the width of a phone."""
    figure, axes = panels(2, 5.2, 6.2, rows=2)
    for axis, epsilon in zip(axes, BUDGETS, strict=True):
        truth, lies = sent(epsilon)
        places = [(i % 10, -(i // 10)) for i in range(100)]
        for chosen, filled in ((places[:truth], True), (places[truth:], False)):
            axis.scatter(
                [x for x, _ in chosen],
                [y for _, y in chosen],
                s=72,
                facecolors=BLUE if filled else "white",
                edgecolors=BLUE if filled else GREY,
                linewidths=1.3,
            )
        axis.set_title(f"epsilon {epsilon:g}", loc="left", size=14, color=INK, pad=6)
        axis.set_xlabel(f"{truth} send yes, {lies} send no", size=12, color=INK, labelpad=7)
        axis.xaxis.set_label_coords(0, -0.03)
        axis.xaxis.label.set_horizontalalignment("left")
        axis.set(xlim=(-0.6, 9.6), ylim=(-9.6, 0.6), aspect="equal", xticks=[], yticks=[])
        for side in axis.spines.values():
            side.set_visible(False)
    figure.get_layout_engine().set(h_pad=0.16)  # type: ignore[union-attr, call-arg]
    figure.suptitle("A hundred women whose answer is yes", x=0.03, ha="left", size=14, color=INK)
    figure.savefig(path, dpi=120)

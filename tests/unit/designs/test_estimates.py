"""Coverage of the designs' intervals, enumerated over all counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from deniable import designs
from deniable.designs import Design


@pytest.mark.parametrize(
    ("design", "n"),
    [
        (designs.forced("1/6", "1/6"), 20),
        (designs.forced("1/6", "1/6"), 200),
        (designs.unrelated("1/2", "1/12"), 100),
        (designs.triangular("1/4"), 20),
        (designs.kuk("1/5", "4/5"), 100),
    ],
    ids=str,
)
def test_intervals_of_two_reports_cover(design: Design, n: int) -> None:
    """At least .937 at all prevalences by the rule of 25, as the contract states for nine designs."""
    yes = np.arange(n + 1)
    bounds = np.array([design.estimate_counts([n - one, one]).interval for one in yes.tolist()])
    for f in np.linspace(0, 1, 201):
        channel = design.channel()
        law = stats.binom.pmf(yes, n, (1 - f) * channel[0, 1] + f * channel[1, 1])
        inside = (bounds[:, 0] - 1e-12 <= f) & (f <= bounds[:, 1] + 1e-12)
        assert law @ inside >= 0.937


def test_score_intervals_of_more_reports_cover() -> None:
    """Kuk's design with two cards, 20 people: at least .928, as the contract says."""
    design, n = designs.kuk("7/10", "1/5", 2), 20
    # The estimate depends only on the sum of all reports.
    bounds = [
        design.estimate_counts([n - s, s, 0] if s <= n else [0, 2 * n - s, s - n]).interval for s in range(2 * n + 1)
    ]
    for f in np.linspace(0, 1, 101):
        one = (1 - f) * design.channel()[0] + f * design.channel()[1]
        law = np.ones(1)
        for _ in range(n):
            law = np.convolve(law, one)
        covered = sum(chance for chance, (low, high) in zip(law, bounds, strict=True) if low <= f <= high)
        assert covered >= 0.9275

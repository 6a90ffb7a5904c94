"""Pages: shortened words, and axes."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from deniable.report.page import axis_limits, axis_ticks, shorten, visible
from tests.unit.report.summaries import HOSTILE, charts, estimate, summary_of


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("plain", "plain"),
        ("a\nb", "a\\nb"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("right\u202eleft", "right\\u202eleft"),
        ("क्\u200dष", "क्\u200dष"),
        ("nul\0", "nul\\x00"),
    ],
)  # fmt: skip
def test_control_characters_are_written_as_escapes(label: str, shown: str) -> None:
    assert visible(label) == shown


def test_shorten_counts_terminal_cells() -> None:
    assert shorten("漢字漢字", 5) == "漢字…"
    assert shorten("漢字漢字", 8) == "漢字漢字"
    for label in HOSTILE:
        for width in range(1, 20):
            assert cell_len(shorten(label, width)) <= width


def test_axis_holds_everything_and_zero() -> None:
    low, high = axis_limits(charts(summary_of(estimate([0.5, 0.6]), truth={"a": [99, 1]}))[0].marks)
    assert low <= 0
    assert high >= 0.99
    negative = axis_limits(charts(summary_of(estimate([-3.0, -2.0])))[0].marks)
    assert negative[0] < -3
    assert negative[1] >= 0


def test_ticks_are_round_and_inside() -> None:
    assert axis_ticks((-0.31, 1.02)) == [-0.25, 0.0, 0.25, 0.5, 0.75, 1.0]

"""A table in each output: all columns, uncut numbers, and rows that are made when they are shown."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from deniable.report import draw
from deniable.report.parts.table import Table
from tests.unit.report.drawn import html_of, page_of, texts

WIDE = Table.of(
    ["group", "estimate", "95% interval", "note"],
    [["nurses and midwives on shifts", "\u6f22\u5b57"], ["47.6%", "3%"], ["40% to 55%", "1% to 5%"], ["x" * 9, "y"]],
)


@pytest.mark.parametrize(("width", "blocks"), [(80, 1), (40, 2), (30, 3)])
def test_columns_that_do_not_fit_follow_with_the_labels_again(width: int, blocks: int) -> None:
    lines = WIDE.lines(width)
    assert sum(line.startswith("group") for line in lines) == blocks
    assert max(map(cell_len, lines)) <= width
    for cell in ("47.6%", "40% to 55%", "1% to 5%", "x" * 9):
        assert sum(cell in line for line in lines) == 1
    assert WIDE.lines(80) == [
        "group                          estimate  95% interval       note",
        "────────────────────────────────────────────────────────────────",
        "nurses and midwives on shifts     47.6%    40% to 55%  xxxxxxxxx",
        "\u6f22\u5b57                                 3%      1% to 5%          y",
    ]


def test_labels_of_tables_below_each_other_can_line_up() -> None:
    small = Table.of(["a", "b"], [["x"], ["1"]])
    assert small.lines(80, label_width=10)[2] == "x" + " " * 9 + "  1"
    assert small.lines(8, label_width=10)[2] == "x  1".replace("  ", " " * 11)


def test_only_rows_that_are_shown_are_written() -> None:
    written = []

    def cells(i: int) -> list[str]:
        written.append(i)
        return [str(i), "1"]

    lines = Table(("row", "number"), 10**6, cells).lines(80, rows=[3, 999_999])
    assert [line.split()[0] for line in lines] == ["row", "─" * 14, "3", "999999"]
    assert written == [3, 999_999]


def test_markup_escapes_cells_and_a_picture_has_the_lines_of_a_terminal() -> None:
    part = Table.of(["<i>", "n"], [["a & b"], ["1"]])
    assert "&lt;i&gt;" in html_of(part)
    assert '<th scope="row">a &amp; b</th><td class="number strong">1</td>' in html_of(part)
    assert texts(draw(page_of(part)))[-1] == "\n".join(part.lines(80))

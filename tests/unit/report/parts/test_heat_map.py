"""Long titles and options of real surveys: complete in pictures, on pages and in terminals."""

from __future__ import annotations

import html as entities
import io
import re

import numpy as np
import pytest
from rich.console import Console

from deniable import GRR, Estimate
from deniable.answers import summarize
from deniable.report import draw, draw_pages, estimate_page, print_page, render_html
from deniable.report.page import Page, Section, balanced_label, wrap_label
from deniable.report.parts.heat_map import HeatMap
from deniable.report.parts.text import Text
from tests.unit.report.drawn import assert_nothing_overlaps, panels, texts

OPTIONS = (
    "Every day or almost every day, on weekdays and at weekends alike, all year round",
    "Several times a week, but never on two days in a row if I can avoid it",
    "About once a week, most often on Fridays or Saturdays with friends or colleagues",
    "Two or three times a month, usually at family celebrations and public holidays",
    "About once a month, and only outside of the months of fasting or training",
    "A few times a year, for instance at weddings, birthdays and on New Year's Eve",
    "Once a year or less often than that, and then at most one glass of anything",
    "Not in the last twelve months, but earlier in my life at least once a month",
    "Not in the last twelve months, and earlier in my life only now and then",
    "Never in my life, for reasons of health that a physician has explained to me",
    "Never in my life, for religious, ethical or any other reasons of my own choosing",
    "Prefer not to say",
)
TEAMS = ("Nurses and midwives on shifts that change every week", "Everyone else", "Prefer not to say")
TITLE = "Survey on alcohol, tobacco and other substances among employees of the municipal hospitals, spring 2027"
QUESTION = "How often did you drink any alcohol in the last twelve months, counting small amounts with meals?"


def of_options() -> Page:
    shares = np.full(len(OPTIONS), 1 / len(OPTIONS))
    found = Estimate(shares, 4000, np.array(4.0), np.array(4.0), labels=OPTIONS, attribute=QUESTION)
    return estimate_page(summarize({QUESTION: found}, mechanism=GRR(k=12, epsilon=1.0), n=4000, title=TITLE))


def of_a_map(rows: tuple[str, ...], columns: tuple[str, ...]) -> Page:
    values = np.linspace(0, 1, len(rows) * len(columns)).reshape(len(rows), len(columns))
    chart = HeatMap(rows, columns, QUESTION, "group", values, 1, lambda x: f"{x:.0%}", lambda *_: "", "none", "most")
    return Page(TITLE, (), (Section(QUESTION, (chart,)),))


def terminal(page: Page, width: int = 80) -> str:
    text = io.StringIO()
    print_page(Console(file=text, width=width, highlight=False), page)
    assert max(map(len, text.getvalue().splitlines())) <= width
    return text.getvalue()


def joined(lines: list[str]) -> list[str]:
    return [" ".join(line.split()) for line in lines]


def test_a_chart_has_whole_labels_in_every_output() -> None:
    page = of_options()
    figure = draw(page)
    (axes,) = panels(figure)
    assert joined([label.get_text() for label in axes.get_yticklabels()]) == list(OPTIONS)
    assert {f"“{TITLE}”", QUESTION} <= set(joined(texts(figure)))
    assert_nothing_overlaps(figure, least=20)
    # Dots stay beside their labels, in rows of different heights.
    places = np.asarray(axes.lines[1].get_ydata(), dtype=float)
    assert places == pytest.approx(axes.get_yticks())
    assert len(set(np.diff(places).round(6))) > 1
    written = terminal(page)
    labels = re.sub(r" +-?[\d.]+%.*", "", written)
    assert all(option in " ".join(labels.split()) for option in OPTIONS)
    said = entities.unescape(render_html(page))
    assert all(f'<th scope="row">{option}</th>' in said for option in OPTIONS)
    assert "…" not in written + said + "".join(texts(figure))


@pytest.mark.parametrize(("rows", "columns"), [(OPTIONS, TEAMS), (TEAMS, OPTIONS), (OPTIONS, OPTIONS)])
def test_a_map_has_whole_labels_and_fills_its_column(rows: tuple[str, ...], columns: tuple[str, ...]) -> None:
    page = of_a_map(rows, columns)
    figure = draw(page)
    assert_nothing_overlaps(figure, least=len(rows) + len(columns))
    (axes,) = panels(figure)
    assert joined([label.get_text() for label in axes.get_yticklabels()]) == list(rows)
    assert joined([label.get_text() for label in axes.get_xticklabels()]) == list(columns)
    labels = max(label.get_window_extent().width for label in axes.get_yticklabels())
    assert labels + axes.get_window_extent().width > 0.8 * figure.bbox.width
    drawing = entities.unescape(render_html(page))
    drawing = drawing[drawing.index("<svg viewBox") : drawing.index("</svg>")]
    lines = re.findall(r"<text [^>]*>([^<]*)</text>", drawing)
    assert " ".join([*columns, *rows]) in " ".join(lines)


def test_the_terminal_numbers_columns_whose_names_are_too_long_and_names_them_below() -> None:
    written = terminal(of_a_map(OPTIONS, TEAMS))
    assert all(option in " ".join(re.sub(r"  +\d+%.*", "", written).split()) for option in OPTIONS)
    assert f"13 {TEAMS[0]}" in " ".join(written.split())


def test_a_picture_of_several_pages_breaks_between_parts_and_begins_with_the_first_chart() -> None:
    (section,) = of_a_map(OPTIONS, OPTIONS).sections
    words = Section("What it says", (Text(("A sentence.",)),))
    first, *others = draw_pages(Page(TITLE, (), (words, Section(QUESTION, section.parts * 4))))
    assert others
    assert len(panels(first)) >= 1
    assert sum(len(panels(figure)) for figure in (first, *others)) == 4
    assert joined(texts(first)).count(QUESTION) == 1
    assert all(QUESTION in joined(texts(figure)) for figure in others)


@pytest.mark.parametrize("label", [*OPTIONS, "", "x" * 90, "漢字" * 30, "a " * 60])
@pytest.mark.parametrize("width", [2, 13, 30, 200])
def test_lines_of_labels_fit_and_keep_every_letter(label: str, width: int) -> None:
    for lines in (wrap_label(label, width), balanced_label(label, width)):
        assert "".join("".join(lines).split()) == "".join(label.split())
        assert all(len(line.encode("gb18030")) <= width or width == 2 for line in lines if line.isascii())
    assert len(balanced_label(label, width)) == len(wrap_label(label, width))

"""Tables, pictures and pages: what they say, and that nothing in a label can break them."""

from __future__ import annotations

import io
import json
import math
import re
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.console import Console

from deniable import GRR, Attribute, Collection, Estimate, Schema, SimulationRandomness
from deniable.answers import Summary, compare, summarize
from deniable.errors import InvalidInputError, InvalidParameterError, MissingExtraError, OutputError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.report import (
    comparison_page,
    draw,
    draw_pages,
    estimate_page,
    html,
    parts,
    picture_note,
    png,
    print_page,
    render_html,
    save_html,
    save_png,
)
from deniable.report.estimates import mechanism_text, percent
from deniable.report.fonts import families_for
from deniable.report.page import Part, axis_limits, axis_ticks, shorten, visible
from deniable.report.parts.interval_chart import IntervalChart
from deniable.report.parts.table import Table
from deniable.report.text import MAX_ROWS, print_line
from deniable.research.dealt import QuotaRR
from tests.unit.report import drawn
from tests.unit.report.drawn import assert_nothing_overlaps, panels, texts, written

HOSTILE = (
    "<script>alert(1)</script>",
    "$\\nonsense{1$",
    "[red]b[/red]",
    "line\nbreak \x1b[31m \u202e",
    "漢字" * 40,
    "x" * 300,
)


def estimate(frequencies: list[float], n: int = 1000, labels: tuple[str, ...] = (), attribute: str = "a") -> Estimate:
    """An estimate with noise variance 4 per report, so that its standard error is 2/sqrt(n)."""
    return Estimate(np.array(frequencies), n, np.array(4.0), np.array(4.0), labels=labels, attribute=attribute)


def summary_of(
    *estimates: Estimate, n: int = 1000, truth: dict[str, list[int]] | None = None, **options: object
) -> Summary:
    named = {one.attribute: one for one in estimates}
    return summarize(named, mechanism=GRR(k=2, epsilon=1.0), n=n, truth=truth, **options)  # type: ignore[arg-type]


def printed(summary: Summary, width: int = 80) -> str:
    text = io.StringIO()
    print_page(Console(file=text, width=width, highlight=False), estimate_page(summary))
    return text.getvalue()


def charts(summary: Summary) -> list[IntervalChart]:
    """The chart of every attribute."""
    return [chart for section in estimate_page(summary).sections for chart in drawn.charts(section)]


def hostile() -> Summary:
    labels = HOSTILE
    one = estimate([0.5, 0.2, 0.1, 0.1, 0.06, 0.04], labels=labels, attribute=HOSTILE[0])
    two = estimate([0.5, 0.5], labels=("yes", "no"), attribute=HOSTILE[3])
    truth = {HOSTILE[0]: [5, 2, 1, 1, 1, 0], HOSTILE[3]: [4, 6]}
    both = {each.attribute: each.processed(each.frequencies, "norm-sub") for each in (one, two)}
    return summarize(both, mechanism=GRR(k=2, epsilon=1.0), n=1000, title=HOSTILE[0], truth=truth)


# -------------------------------------------------------------------------------------------------- numbers


def test_summary_takes_numbers_from_the_raw_estimate_and_processed_ones_beside() -> None:
    raw = estimate([1.2, -0.2])
    row = summary_of(raw.processed([1.0, 0.0], "simplex")).attributes[0]
    assert row.estimate.tolist() == [1.2, -0.2]
    assert row.standard_error.tolist() == pytest.approx([0.0632455532] * 2)
    assert (row.upper - row.lower).tolist() == pytest.approx([2 * 1.959963985 * 0.0632455532] * 2)
    assert row.processed is not None
    assert row.processed.tolist() == [1.0, 0.0]


def test_simultaneous_intervals_count_every_category_of_every_attribute() -> None:
    summary = summary_of(estimate([0.5, 0.5]), estimate([0.2, 0.3, 0.5], attribute="b"), simultaneous=True)
    # Bonferroni over five: z of 1 - 0.05/10.
    half = (summary.attributes[0].upper - summary.attributes[0].lower) / 2
    assert half.tolist() == pytest.approx([2.575829304 * 0.0632455532] * 2)
    assert "all 5 hold together" in summary.interval_text


@pytest.mark.parametrize(("confidence", "text"), [(0.95, "95%"), (0.999, "99.9%"), (0.9, "90%"), (0.12345, "12.345%")])
def test_level_is_written_without_superfluous_digits(confidence: float, text: str) -> None:
    assert summary_of(estimate([0.5, 0.5]), confidence=confidence).level_text == text


def test_interval_sentence_names_the_target() -> None:
    contributors = summary_of(estimate([0.5, 0.5])).interval_text
    population = summary_of(estimate([0.5, 0.5]), target="population").interval_text
    assert "these 1,000 contributors: the noise of the randomisation only" in contributors
    assert "population" in population
    assert "sampling" in population


def test_population_intervals_are_wider() -> None:
    noise = summary_of(estimate([0.5, 0.5])).attributes[0]
    both = summary_of(estimate([0.5, 0.5]), target="population").attributes[0]
    assert both.standard_error[0] == pytest.approx(math.sqrt((4 + 0.25) / 1000))
    assert both.upper[0] - both.lower[0] > noise.upper[0] - noise.lower[0]


def test_coverage_counts_intervals_that_contain_the_truth() -> None:
    summary = summary_of(estimate([0.5, 0.5]), truth={"a": [90, 10]})
    assert summary.coverage == (0, 2)
    assert summary.coverage_text == "0 of 2 intervals contain the truth (about 1.9 expected)."
    assert summary_of(estimate([0.5, 0.5]), truth={"a": [55, 45]}).coverage == (2, 2)
    assert summary_of(estimate([0.5, 0.5])).coverage_text == ""


def test_truth_is_the_share_of_all_that_were_counted_unless_told_otherwise() -> None:
    raw = estimate([0.5, 0.3, 0.2])
    assert summary_of(raw, truth={"a": [5, 3, 2]}).attributes[0].truth == pytest.approx([0.5, 0.3, 0.2])
    assert summary_of(raw, truth={"a": [5, 3, 2]}, truth_n=20).attributes[0].truth == pytest.approx([0.25, 0.15, 0.1])


def test_truth_of_another_length_is_refused() -> None:
    with pytest.raises(
        InvalidInputError, match=r"truth of “a” must have 2 counts, one for each category, got shape=\(3,\)"
    ):
        summary_of(estimate([0.5, 0.5]), truth={"a": [1, 2, 3]})


@pytest.mark.parametrize(("n", "decimals"), [(10, 1), (1000, 1), (100_000, 2), (10**9, 4), (10**15, 4)])
def test_decimals_follow_the_standard_error(n: int, decimals: int) -> None:
    assert percent(summary_of(estimate([0.5, 0.5], n=n), n=n))(0.5) == f"{50:.{decimals}f}%"


def test_percent_has_no_negative_zero() -> None:
    text = percent(summary_of(estimate([0.5, 0.5])))
    assert [text(value) for value in (-0.0001, 0.0, -0.01, 1.234, math.nan)] == [
        "0.0%", "0.0%", "-1.0%", "123.4%", "-",
    ]  # fmt: skip


# -------------------------------------------------------------------------------------------------- JSON


def test_json_has_full_precision_and_null_for_what_does_not_exist() -> None:
    nothing = Estimate(np.full(2, np.nan), 0, np.array(4.0), np.array(4.0), contributors=1000, attribute="b")
    data = summary_of(estimate([1 / 3, 2 / 3]), nothing, truth={"a": [1, 2]}).to_dict()
    again = json.loads(json.dumps(data, allow_nan=False))
    first, second = again["attributes"]
    assert first["categories"][0]["estimate"] == 1 / 3
    assert first["categories"][0]["truth"] == 1 / 3
    assert second["reports"] == 0
    assert second["categories"][0] == {
        "category": "0",
        "estimate": None,
        "standard_error": None,
        "lower": None,
        "upper": None,
    }
    assert again["guarantee"]["epsilon"] == 1.0
    assert again["mechanism"] == {"mechanism": "GRR", "k": 2, "epsilon": "1"}
    assert again["interval"]["confidence"] == 0.95


def test_unbounded_guarantees_are_null_in_json_and_no_factor_on_the_page() -> None:
    summary = summary_of(estimate([0.6, 0.4]))
    unbounded = replace(summary, guarantee=replace(summary.guarantee, epsilon=math.inf))
    assert json.loads(json.dumps(unbounded.to_dict(), allow_nan=False))["guarantee"]["epsilon"] is None
    assert "epsilon = inf" in render_html(estimate_page(unbounded))
    assert "factor of at most" not in render_html(estimate_page(unbounded))


# -------------------------------------------------------------------------------------------------- text


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


def test_guarantee_puts_the_whole_contributor_first_then_attributes() -> None:
    guarantee = replace(GRR(k=2, epsilon=1.0).privacy(), per_attribute=(0.5, 0.25), remarks=("read this",))
    lines = guarantee.lines(["age", "smokes"])
    assert lines[0].startswith("epsilon = 1 for the whole contributor")
    assert lines[1] == "  per attribute: age 0.5, smokes 0.25"
    assert "r x 1 (upper bound)" in lines[3]
    assert lines[-1] == "  note: read this"
    alike = replace(guarantee, per_attribute=(1.0, 1.0)).lines([])
    assert alike[1] == "  per attribute: epsilon = 1 for each of the 2 attributes"
    assert GRR(k=2, epsilon=1.0).privacy().lines(["age"]) == str(GRR(k=2, epsilon=1.0).privacy()).splitlines()


# -------------------------------------------------------------------------------------------------- tables


def test_table_has_the_columns_in_order() -> None:
    raw = estimate([0.6, 0.4], labels=("yes", "no"))
    summary = summary_of(raw.processed([0.6, 0.4], "norm-sub"), truth={"a": [90, 10]})
    lines = charts(summary)[0].lines(80)
    assert re.split(r"  +", lines[0]) == ["category", "estimate", "std. error", "95% interval", "truth", "norm-sub"]
    assert re.split(r"  +", lines[2]) == ["yes", "60.0%", "6.3%", "47.6% to 72.4%", "90.0%*", "60.0%"]


def test_lines_fit_eighty_columns_whatever_the_labels() -> None:
    for line in printed(hostile()).splitlines():
        assert cell_len(line) <= 80, line
        assert "\x1b" not in line
        assert "\u202e" not in line
    assert "".join(re.findall(r"^ *(x+)", printed(hostile()), re.M)) == "x" * 300


def test_widest_numbers_fit_eighty_columns() -> None:
    raw = Estimate(np.array([-12.3456, 13.4]), 10**9, np.array(4.0), np.array(4.0), attribute="a")
    summary = summary_of(raw.processed([0.0, 1.0], "clip-normalize"), n=10**9, truth={"a": [1, 2]})
    assert percent(summary)(0.5) == "50.0000%"
    assert max(map(cell_len, printed(summary).splitlines())) <= 80


def test_narrow_terminals_keep_whole_numbers() -> None:
    assert "47.6% to 72.4%" in printed(summary_of(estimate([0.6, 0.4])), width=50)


@pytest.mark.parametrize("width", [60, 44])
def test_columns_that_do_not_fit_follow_below(width: int) -> None:
    raw = estimate([0.6, 0.4], labels=("yes, and more than once", "no"))
    text = printed(summary_of(raw.processed([0.55, 0.45], "clip-normalize"), truth={"a": [90, 10]}), width=width)
    assert max(map(cell_len, text.splitlines())) <= width
    for number in ("60.0%", "6.3%", "47.6% to 72.4%", "90.0%*", "55.0%", "45.0%"):
        assert number in text
    headers = [line for line in text.splitlines() if line.startswith("category")]
    assert len(headers) == (2 if width == 60 else 3)
    assert "  ".join(headers).split() == (
        " category".join(["category estimate std. error 95% interval truth", " clip-normalize"]).split()
        if width == 60
        else [
            "category",
            "estimate",
            "std.",
            "error",
            "category",
            "95%",
            "interval",
            "truth",
            "category",
            "clip-normalize",
        ]
    )


def test_the_title_comes_first_and_the_guarantee_last_in_one_line() -> None:
    text = printed(summary_of(estimate([0.6, 0.4])))
    assert text.startswith("Estimated frequencies\n")
    assert text.endswith("\n\nGuarantee: epsilon = 1 for the whole contributor; odds change at most 2.72-fold\n")
    assert "implemented" not in text
    assert "noise of the randomisation only" in " ".join(text.split())


def test_attribute_without_reports_says_so() -> None:
    nothing = Estimate(np.full(2, np.nan), 0, np.array(4.0), np.array(4.0), contributors=1000, attribute="b")
    text = printed(summary_of(estimate([0.6, 0.4]), nothing))
    assert "no reports" in text
    assert "nan" not in text
    assert "inf" not in text


def test_large_domains_list_the_largest_estimates() -> None:
    k = MAX_ROWS + 900
    frequencies = np.zeros(k)
    frequencies[k - 1] = 1.0
    text = printed(summary_of(estimate(list(frequencies))))
    assert f"\n{k - 1} " in text
    assert "and 900 categories with smaller estimates" in text
    # Nobody asked for a selection, but it is one.
    said = (
        "every interval holds for its own category, and does not allow for that choice. Those of a list of the largest "
        "(--top) do."
    )
    assert said in " ".join(text.split())
    assert said not in " ".join(printed(summary_of(estimate([0.6, 0.4]))).split())
    assert len(text.splitlines()) < MAX_ROWS + 30


def test_long_sentences_wrap_at_words() -> None:
    text = io.StringIO()
    print_line(Console(file=text, width=30), "  note: " + "word " * 12)
    lines = text.getvalue().splitlines()
    assert all(len(line) <= 30 for line in lines)
    assert lines[1].startswith("      word")


# -------------------------------------------------------------------------------------------------- axis


def test_axis_holds_everything_and_zero() -> None:
    low, high = axis_limits(charts(summary_of(estimate([0.5, 0.6]), truth={"a": [99, 1]}))[0].marks)
    assert low <= 0
    assert high >= 0.99
    negative = axis_limits(charts(summary_of(estimate([-3.0, -2.0])))[0].marks)
    assert negative[0] < -3
    assert negative[1] >= 0


def test_ticks_are_round_and_inside() -> None:
    assert axis_ticks((-0.31, 1.02)) == [-0.25, 0.0, 0.25, 0.5, 0.75, 1.0]


# -------------------------------------------------------------------------------------------------- pictures


def pixels(path: Path) -> NDArray[np.uint8]:
    from matplotlib.image import imread

    return np.asarray(imread(path) * 255, dtype=np.uint8)


def test_picture_is_a_png_with_a_panel_per_attribute(tmp_path: Path) -> None:
    assert len(panels(draw(estimate_page(hostile())))) == 2
    save_png(estimate_page(hostile()), tmp_path / "a.png")
    assert pixels(tmp_path / "a.png").shape[0] > 300
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_a_long_picture_is_paged_and_every_page_has_the_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(png, "MAX_HEIGHT", 5.0)
    raws = [estimate([0.3, 0.7], labels=("yes", "no"), attribute=f"a{j}") for j in range(6)]
    page = estimate_page(summary_of(*raws))
    files = save_png(page, tmp_path / "a.png")
    assert [file.name for file in files] == ["a.png", "a-2.png", "a-3.png"][: len(files)]
    assert {path.name for path in tmp_path.iterdir()} == {file.name for file in files}
    assert len(files) > 1
    figures = draw_pages(page)
    assert len(figures) == len(files)
    assert sum(len(panels(figure)) for figure in figures) == 6
    for place, figure in enumerate(figures, start=1):
        assert figure.get_size_inches()[1] <= 5.0 + 0.5
        said = texts(figure)
        assert said[0].startswith(f"{place} of {len(files)}: ")
        assert said[1].startswith("epsilon = ")
    assert len(panels(draw(page))) == 6


def test_letters_are_taken_from_the_first_font_that_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fontTools.fontBuilder import FontBuilder
    from fontTools.ttLib.tables._g_l_y_f import Glyph
    from matplotlib import font_manager

    page = estimate_page(summary_of(estimate([0.3, 0.7], labels=("\u6f22", "\U0001f9ff"), attribute="a")))
    assert "no installed font has" in picture_note(page)
    assert "Noto Sans CJK" in picture_note(page)
    assert any("the picture shows boxes" in text for text in texts(draw(page)))

    built = FontBuilder(1000)
    built.setupGlyphOrder([".notdef", "han", "eye"])
    built.setupCharacterMap({0x6F22: "han", 0x1F9FF: "eye"})
    built.setupGlyf({name: Glyph() for name in (".notdef", "han", "eye")})
    built.setupHorizontalMetrics(dict.fromkeys((".notdef", "han", "eye"), (1000, 0)))
    built.setupHorizontalHeader(ascent=800, descent=-200)
    built.setupNameTable({"familyName": "Noto Sans CJK Test", "styleName": "Regular"})
    built.setupOS2()
    built.setupPost()
    built.save(tmp_path / "test.ttf")
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [*font_manager.fontManager.ttflist])
    font_manager.fontManager.addfont(tmp_path / "test.ttf")
    assert families_for("\u6f22 yes") == (["DejaVu Sans", "Noto Sans CJK Test"], "")
    assert picture_note(page) == ""
    assert {*map(tuple, (text.get_fontfamily() for text in written(draw(page))))} == {
        ("DejaVu Sans", "Noto Sans CJK Test")
    }


@pytest.mark.parametrize("version", [None, (3, 10, 9, "final", 0)])
def test_without_a_matplotlib_that_can_the_extra_is_named(
    version: tuple[object, ...] | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An older one draws letters that run from right to left in the wrong order."""
    page = estimate_page(summary_of(estimate([0.6, 0.4])))
    if version is None:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
    else:
        monkeypatch.setattr("matplotlib.__version_info__", version)
    says = r'^pictures need matplotlib 3\.11 or later: pip install "deniable\[pictures\]"$'
    for attempt in (draw, draw_pages, picture_note, lambda page: save_png(page, tmp_path / "a.png")):
        with pytest.raises(MissingExtraError, match=says):
            attempt(page)
    assert not list(tmp_path.iterdir())
    assert "60.0%" in render_html(page)
    assert "<iframe" in estimate([0.6, 0.4])._repr_html_()


def test_a_number_is_no_part_of_a_heading_from_right_to_left() -> None:
    """Beside it, it would change sides."""
    summary = summary_of(estimate([0.3, 0.7], labels=("yes", "no"), attribute="\u05d0"), n=2000)
    (heading,) = [text for text in texts(draw(estimate_page(summary))) if "\u05d0" in text]
    assert heading == "\u05d0"
    assert panels(draw(estimate_page(summary)))[0].get_xlabel() == "1,000 reports"


@pytest.mark.parametrize("d", [1, 2, 5])
def test_no_texts_of_a_picture_overlap(d: int) -> None:
    labels = ("w" * 60, "short", "m" * 28, "x")
    raws = [estimate([0.3, 0.3, 0.2, -0.1], labels=labels, attribute=f"{'a long word ' * 9 * j}{j}") for j in range(d)]
    mechanism = CountMeanSketch(k=4, epsilon=0.123456, m=1234567)
    truth = {raw.attribute: [1, 2, 3, 4] for raw in raws}
    processed = {raw.attribute: raw.processed(raw.frequencies, "clip-normalize") for raw in raws}
    summary = summarize(processed, mechanism=mechanism, n=10**9, truth=truth, title="Title " * 30)
    assert_nothing_overlaps(draw(estimate_page(summary)), least=8 * d)


def test_whiskers_truth_and_zero_line_are_where_the_numbers_are() -> None:
    summary = summary_of(estimate([0.6, 0.4], labels=("yes", "no")), truth={"a": [55, 45]})
    (axes,) = panels(draw(estimate_page(summary)))
    segments = axes.collections[0].get_segments()  # type: ignore[attr-defined]
    assert [list(segment[:, 0]) for segment in segments] == [
        [summary.attributes[0].lower[i], summary.attributes[0].upper[i]] for i in range(2)
    ]
    assert [side for side, spine in axes.spines.items() if spine.get_visible()] == ["bottom"]
    dots, truth = axes.lines[1], axes.lines[2]
    assert list(np.asarray(axes.lines[0].get_xdata())) == [0, 0]
    assert list(np.asarray(dots.get_xdata())) == [0.6, 0.4]
    assert list(np.asarray(truth.get_xdata())) == [0.55, 0.45]
    assert truth.get_markerfacecolor() == "none"


def test_attribute_without_reports_has_no_whisker() -> None:
    nothing = Estimate(np.full(2, np.nan), 0, np.array(4.0), np.array(4.0), contributors=1000, attribute="b")
    figure = draw(estimate_page(summary_of(estimate([0.6, 0.4]), nothing)))
    assert len(panels(figure)) == 1
    assert "no reports: nothing is known about this attribute" in texts(figure)


def test_every_output_has_a_renderer_of_every_kind_of_part() -> None:
    modules = [import_module(f"{parts.__name__}.{module.name}") for module in iter_modules(parts.__path__)]
    kinds = set(Part.__subclasses__())
    assert {IntervalChart, Table} < kinds
    assert {kind.__module__ for kind in kinds} == {module.__name__ for module in modules}
    for kind in kinds:
        assert getattr(kind, "__final__", False), kind
        assert {"print_on", "markup", "drawing"} <= vars(kind).keys(), kind
    templates = Path(html.__file__).parent / "templates" / "parts"
    assert {f"{parts.__name__}.{path.stem}" for path in templates.iterdir()} == {kind.__module__ for kind in kinds}


def test_unwritable_picture_is_a_typed_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        save_png(estimate_page(summary_of(estimate([0.6, 0.4]))), tmp_path / "absent" / "a.png")
    assert not list(tmp_path.iterdir())


# -------------------------------------------------------------------------------------------------- pages


def test_labels_cannot_inject_markup() -> None:
    page = render_html(estimate_page(hostile(), method=["<script>x</script>"]))
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_page_is_self_contained() -> None:
    page = render_html(estimate_page(hostile()))
    assert not re.search(r"(src|href)=|url\(|@import|https?://", page)
    assert "Content-Security-Policy" in page


def test_page_is_well_formed_and_every_chart_has_a_text() -> None:
    page = render_html(estimate_page(hostile()))
    body = page[page.index("<body>") : page.index("</html>")]
    tree = ElementTree.fromstring(body.strip())
    for svg in tree.iter("td"):
        for strip in svg.findall("svg"):
            assert strip.get("role") == "img"
            assert "interval" in (strip.get("aria-label") or "")
    assert len(tree.findall(".//tbody/tr")) == 8


def test_page_has_the_title_then_the_numbers_then_the_guarantee() -> None:
    page = render_html(estimate_page(summary_of(estimate([0.6, 0.4]))))
    assert page.index("<h1>") < page.index("60.0%") < page.index("How to read this page")
    assert page.index("How to read this page") < page.index("epsilon = 1 for the whole contributor")
    assert "factor of at most 2.72" in page


def test_a_promise_in_a_title_is_quoted() -> None:
    lie, truth = "epsilon = 0.1 for the whole contributor", "epsilon = 1 for the whole contributor"
    page = estimate_page(summary_of(estimate([0.6, 0.4]), title=lie))
    html = render_html(page)
    body = html[html.index("<body>") :]
    assert f"<h1>“{lie}”</h1>" in body
    assert html.count(lie) == html.count(f"“{lie}”")
    assert truth in body[body.index("What contributors were promised") :]
    # In the picture from top to bottom.
    figure = draw(page)
    figure.draw_without_rendering()
    from_above = sorted(written(figure), key=lambda text: -text.get_window_extent().y1)
    seen = [text.get_text() for text in from_above]
    assert seen[1].startswith(truth)
    assert [text for text in seen if lie in text] == [f"“{lie}”"]
    assert from_above[0].get_fontweight() == "bold"


def test_page_compares_several_summaries_on_one_axis() -> None:
    summaries = [summary_of(estimate([0.6, 0.4], n=n), n=n) for n in (100, 10_000)]
    page = render_html(estimate_page(*summaries))
    axes = re.findall(r'<text x="([^"]+)" y="13"[^>]*>([^<]+)<', page)
    assert len(axes) % 2 == 0
    assert axes[: len(axes) // 2] == axes[len(axes) // 2 :]
    # Numbers of more digits beside one of them would shift the other's axis.
    columns = re.findall(r'<col width="([0-9]+)"/>', page)
    assert columns[: len(columns) // 2] == columns[len(columns) // 2 :]
    assert len(columns) == 6
    other = summary_of(estimate([0.6, 0.4], attribute="b"))
    with pytest.raises(InvalidParameterError, match="same attributes"):
        estimate_page(summaries[0], other)
    with pytest.raises(InvalidParameterError, match="at least one"):
        estimate_page()


def test_positions_on_the_page_are_the_numbers() -> None:
    summary = summary_of(estimate([0.6, 0.4]))
    low, high = axis_limits(charts(summary)[0].marks)
    expected = 100 * (0.6 - low) / (high - low)
    found = re.search(r'cx="([0-9.]+)%"', render_html(estimate_page(summary)))
    assert found is not None
    assert float(found[1]) == pytest.approx(expected, abs=0.01)


def test_page_of_no_reports_says_so_and_draws_nothing(tmp_path: Path) -> None:
    nothing = Estimate(np.full(2, np.nan), 0, np.array(4.0), np.array(4.0), contributors=10, attribute="b")
    save_html(estimate_page(summary_of(nothing)), tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "no reports" in page
    assert "<line" not in page[page.index('id="section-1"') :]


@pytest.mark.parametrize("cap", [None, 2.0])
def test_a_picture_does_not_hide_whom_the_guarantee_trusts(cap: float | None) -> None:
    quota = QuotaRR(epsilon=0.5, n=100, epsilon_aux=cap, deal_id="one")
    rng = SimulationRandomness(1)
    reports = quota.randomize(np.repeat([0, 1], 50), quota.deal(100, rng), rng)
    summary = summarize(quota.estimate(quota.aggregate(reports)), mechanism=quota, n=100)
    assert summary.guarantee.budget_text == "epsilon = 0.5 unless the dealer colludes"
    assert "None" not in mechanism_text(summary)
    grr = GRR(k=2, epsilon=0.5)
    plain = summarize(grr.estimate(grr.aggregate(np.array([0, 1]))), mechanism=grr, n=2)
    assert plain.guarantee.budget_text == "epsilon = 0.5 for the whole contributor"


def test_two_waves_of_a_number_are_compared_by_their_means() -> None:
    income = Attribute("income", kind="numeric", range=(0, 5000), grid=51)
    waves, rng = [], SimulationRandomness(1)
    for version, told in ((1, 1000), (2, 2000)):
        grr = GRR(k=51, epsilon=4.0)
        survey = Collection(Schema((income,)), grr, version)
        counted = grr.simulate_aggregate(np.bincount([told // 100], minlength=51) * 400, rng)
        waves.append((survey, replace(counted, collection=survey.id)))
    comparison = compare(*waves, independent=True)
    (table,) = comparison_page(comparison).sections[-1].parts
    assert isinstance(table, Table)
    assert table.header == ("question", "change", "std. error", "95% interval")
    mean = comparison.attributes[0].mean
    assert mean is not None
    error = mean.write(mean.standard_error)
    assert list(table.cells(0)) == ["change of the mean", mean.value_text, error, mean.interval_text]
    assert mean.lower < 1000 < mean.upper

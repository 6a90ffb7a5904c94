"""Pictures: pages, panels, and places of numbers."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import GRR, Estimate, SimulationRandomness
from deniable.answers import summarize
from deniable.errors import MissingExtraError, OutputError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.report import (
    draw,
    draw_pages,
    estimate_page,
    picture_note,
    png,
    render_html,
    save_png,
)
from deniable.report.estimates import mechanism_text
from deniable.research.dealt import QuotaRR
from tests.unit.report.drawn import assert_nothing_overlaps, panels, texts
from tests.unit.report.summaries import estimate, hostile, summary_of


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


@pytest.mark.parametrize("version", [None, (3, 10, 9, "final", 0)])
def test_without_a_matplotlib_that_can_the_extra_is_named(
    version: tuple[object, ...] | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Older versions draw right-to-left letters in the wrong order."""
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


def test_unwritable_picture_is_a_typed_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        save_png(estimate_page(summary_of(estimate([0.6, 0.4]))), tmp_path / "absent" / "a.png")
    assert not list(tmp_path.iterdir())


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

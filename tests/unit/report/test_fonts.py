"""Fonts of pictures: each letter from the first font that has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable.report import (
    draw,
    estimate_page,
    picture_note,
)
from deniable.report.fonts import families_for
from tests.unit.report.drawn import texts, written
from tests.unit.report.summaries import estimate, summary_of


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

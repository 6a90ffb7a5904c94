"""The shared browser for tests of pages is strict, and offline pages need no network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_a_page_of_a_file_runs_its_script(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    path = tmp_path / "page.html"
    path.write_text(
        "<!doctype html><title>a</title><p id=wide></p><script>"
        "const dark = matchMedia('(prefers-color-scheme: dark)').matches;"
        "document.getElementById('wide').textContent = innerWidth + ' ' + dark;</script>"
    )
    page = open_page(path.as_uri(), width=390, dark=True)
    assert page.inner_text("#wide") == "390 true"

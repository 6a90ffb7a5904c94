"""Screenshots of the demonstration: its report, its survey's page and its dashboard, as a browser shows them.

The report is that of the demonstration, so its coins fall anew each time; the pictures tell how a page looks, and no
sentence quotes their numbers.
"""

from __future__ import annotations

import io
import itertools
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from rich.console import Console

from deniable.demo import run_demo
from deniable.service.demo import SLUG, demo_collection, demonstration, rehearse
from experiments.guides.screens import browser, opened, save

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDTHS = (320, 390, 1200)
SCHEMES = ("light", "dark")
KEPT = ("390-light", "390-dark-question", "320-light-question", "1200-light-question", "1200-dark")
"""Screens of the report that docs/screenshots.md shows; all are taken, and must not be wider than the screen."""

QUESTION = "section:has(table.charted)"


def draw(folder: Path) -> None:
    """Write every screenshot into a folder."""
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, browser() as running:
        reports(running, Path(name), folder)
        survey(running, folder)


def reports(running: Browser, scratch: Path, folder: Path) -> None:
    """Write report-WIDTH-SCHEME.png, its first screen, and report-WIDTH-SCHEME-question.png, its first question."""
    run_demo(scratch, Console(file=io.StringIO()))
    address = (scratch / "report.html").as_uri()
    for width, scheme in itertools.product(WIDTHS, SCHEMES):
        with opened(running, address, width, scheme) as page:
            taken = {f"{width}-{scheme}": page.screenshot()}
            page.evaluate(f'document.querySelector("{QUESTION}").scrollIntoView()')
            taken[f"{width}-{scheme}-question"] = page.screenshot()
            if page.evaluate("document.documentElement.scrollWidth") > width:
                raise AssertionError(f"the report is wider than {width} pixels")
        for name, picture in taken.items():
            if name in KEPT:
                save(picture, folder / f"report-{name}.png")


def survey(running: Browser, folder: Path, women: int = 500) -> None:
    """Write serve-demo.png: the page that a contributor sees, and the dashboard beside it, with so many women in it."""
    with demonstration() as (here, link, login):
        rehearse(here.public, demo_collection(), women)
        while here.collector.surveys.status(SLUG)["n"] < women // 2:
            time.sleep(0.2)
        with opened(running, link, 390) as page:
            page.locator("[data-state=welcome]").wait_for()
            contributor = page.screenshot()
        with opened(running, login, 780) as page:
            page.wait_for_load_state("networkidle")
            page.goto(f"{here.admin}/surveys/{SLUG}")
            page.wait_for_load_state("networkidle")
            owner = page.screenshot()
    left, right = (Image.open(io.BytesIO(picture)).convert("RGB") for picture in (contributor, owner))
    both = Image.new("RGB", (left.width + right.width + 20, left.height), "#8a8a8a")
    both.paste(left, (0, 0))
    both.paste(right, (left.width + 20, 0))
    sink = io.BytesIO()
    both.save(sink, "PNG")
    save(sink.getvalue(), folder / "serve-demo.png")

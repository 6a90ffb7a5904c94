"""Screenshots of the demonstration: its report, its survey page and its dashboard, in a browser.

The report is the demonstration's, so that its random draws are new each time. The pictures show the look of a page, and
no sentence quotes their numbers.
"""

from __future__ import annotations

import io
import itertools
import tempfile
import time
from collections.abc import Sequence
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
"""Screens of the report in docs/screenshots.md; all screens are taken, and none may be wider than the screen."""

QUESTION = "section:has(table.charted)"


def draw(folder: Path) -> None:
    """Write every screenshot into a folder."""
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, browser() as running:
        reports(running, Path(name), folder)
        contributor(running, folder)
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


def contributor(running: Browser, folder: Path) -> None:
    """Write page-light.png and page-dark.png: screens of the survey page on a phone, side by side."""
    with demonstration(epsilon="1") as (_, link, _):
        taken: list[bytes] = []
        with opened(running, link, 390) as page:
            page.wait_for_selector("[data-state=welcome]")
            taken.append(page.screenshot())
            page.click("form button[type=submit]:visible")
            page.mouse.move(0, 0)
            page.check("input[name=deniable-0][value='1']")
            taken.append(page.screenshot())
            for number in range(1, 7):
                page.click("form button[type=submit]:visible")
                if number < 6:
                    page.check(f"input[name=deniable-{number}][value='1']")
            page.check("input[name=agree]")
            page.set_viewport_size({"width": 390, "height": 1000})
            page.evaluate("scrollTo(0, 0)")
            page.set_viewport_size({"width": 390, "height": 844})
            taken.append(page.screenshot())
            page.click("form button[type=submit]:visible")
            page.wait_for_selector("[data-state=counted]")
            page.evaluate("document.activeElement.blur()")
            taken.append(page.screenshot())
        save(beside(taken), folder / "page-light.png")
        taken = []
        with opened(running, link, 390, "dark") as page:
            page.click("text=How does this protect me?")
            page.click(".pretend button")
            page.evaluate("document.querySelector('.more').scrollIntoView()")
            taken.append(page.screenshot())
            page.evaluate("scrollTo(0, 0)")
            for number in range(7):
                page.click("form button[type=submit]:visible")
                if number < 6:
                    page.check(f"input[name=deniable-{number}][value='1']")
            page.check("input[name=agree]")
            page.click("form button[type=submit]:visible")
            page.wait_for_selector("[data-state=counted]")
            page.click("text=Show what was sent")
            page.evaluate("document.querySelector('.sent').scrollIntoView()")
            taken.append(page.screenshot())
            page.click("text=Leave this device")
            page.wait_for_selector("[data-state=left]")
            taken.append(page.screenshot())
            page.goto("about:blank")
            page.goto(link[:-1] + ("0" if link[-1] != "0" else "1"))
            page.wait_for_selector("[data-state=refused]")
            taken.append(page.screenshot())
        save(beside(taken), folder / "page-dark.png")


def beside(pictures: Sequence[bytes]) -> bytes:
    """Return pictures side by side, with a strip between them."""
    parts = [Image.open(io.BytesIO(picture)).convert("RGB") for picture in pictures]
    strip = Image.new("RGB", (sum(one.width + 20 for one in parts) - 20, max(one.height for one in parts)), "#8a8a8a")
    place = 0
    for one in parts:
        strip.paste(one, (place, 0))
        place += one.width + 20
    sink = io.BytesIO()
    strip.save(sink, "PNG")
    return sink.getvalue()


def survey(running: Browser, folder: Path, women: int = 500) -> None:
    """Write serve-demo.png: the contributor's page and the dashboard side by side, with this many women in it."""
    with demonstration() as (here, link, login):
        rehearse(here.public, demo_collection(), women)
        while here.collector.surveys.status(SLUG)["n"] < women // 2:
            time.sleep(0.2)
        with opened(running, link, 390) as page:
            page.locator("[data-state=welcome]").wait_for()
            person = page.screenshot()
        with opened(running, login, 780) as page:
            page.wait_for_load_state("networkidle")
            page.goto(f"{here.admin}/surveys/{SLUG}")
            page.wait_for_load_state("networkidle")
            owner = page.screenshot()
    save(beside([person, owner]), folder / "serve-demo.png")

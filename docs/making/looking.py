"""A built site in a browser, from its files: ``python -m docs.making.looking build/site``.

No page is wider than a phone of 320 pixels, none asks a network for anything, a search from the file finds, and
pictures of the site are taken anew into `docs/screenshots`, small enough to be kept.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docs.making.navigation import ROOT, all_pages
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

NARROW = 320
PICTURES = {
    "site-320-light": ("docs/cli", 320, 640, False, "#deniable-merge"),
    "site-390-dark": ("docs/epsilon", 390, 780, True, "article img"),
    "site-1200-light": ("docs/concepts", 1200, 750, False, "h1"),
}
"""Kept pictures: page, width and height in pixels, whether it is dark, and what is to be seen."""

COLOURS = 48


@contextmanager
def _browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, PROGRAMS)))
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


@contextmanager
def _page(
    browser: Browser, asked: list[str], width: int = NARROW, height: int = 640, dark: bool = False
) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
    )
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    yield page
    context.close()


def address(site: Path, page: str) -> str:
    """Return where a page of the built site lies."""
    return (site.resolve() / f"{page}.html").as_uri()


def too_wide(browser: Browser, site: Path, asked: list[str]) -> list[str]:
    """Return the pages that a narrow phone would have to be moved sideways for."""
    found = []
    with _page(browser, asked) as page:
        for one in [*all_pages(), "search", "genindex"]:
            page.goto(address(site, one))
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > NARROW:
                found.append(f"{one} is {width} pixels wide")
    return found


def results(browser: Browser, site: Path, asked: list[str], words: str) -> list[str]:
    """Return the titles that a search finds."""
    with _page(browser, asked, 1200) as page:
        page.goto(address(site, "docs/index"))
        page.fill("input.sidebar-search", words)
        page.press("input.sidebar-search", "Enter")
        page.wait_for_selector("#search-results ul.search li a", timeout=30_000)
        page.wait_for_function(
            "document.querySelector('#search-results p.search-summary')?.innerText.includes('found')"
        )
        return page.locator("#search-results ul.search > li > a").all_inner_texts()


def pictures(browser: Browser, site: Path, asked: list[str], folder: Path) -> None:
    """Take the kept pictures, in few colours."""
    folder.mkdir(exist_ok=True)
    for name, (one, width, height, dark, seen) in PICTURES.items():
        with _page(browser, asked, width, height, dark) as page:
            page.goto(address(site, one))
            page.locator(seen).first.evaluate("one => one.scrollIntoView({block: 'start'})")
            image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        image.quantize(COLOURS, dither=Image.Dither.NONE).save(folder / f"{name}.png", optimize=True)


def main(site: Path) -> None:
    """Look at everything, say what is wrong, and fail if anything is."""
    asked: list[str] = []
    with _browser() as browser:
        wrong = too_wide(browser, site, asked)
        found = results(browser, site, asked, "interval")
        pictures(browser, site, asked, ROOT / "docs" / "screenshots")
    wrong += [f"the network was asked for {url}" for url in asked if not url.startswith(("file:", "data:"))]
    wrong += ["a search for interval finds nothing"] if not found else []
    print("\n".join(wrong) or f"no page is wider than {NARROW} pixels; a search for interval finds {len(found)} places")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    os.umask(0o022)
    main(Path(sys.argv[1]))

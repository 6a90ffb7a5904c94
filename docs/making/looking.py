"""Check a built site in a browser, opened from its files: ``python -m docs.making.looking build/site``.

No page may be wider than a phone of 320 pixels, and no page may ask a network for anything. Searches must work from
files. Pictures of the site are taken anew into `docs/screenshots`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docs.making.navigation import ROOT, all_pages
from docs.making.words import WORDS
from experiments.guides.screens import browser, opened, save
from playwright.sync_api import Browser, Page

NARROW = 320
PICTURES = {
    "site-320-light": ("docs/cli", 320, "light", "#deniable-merge"),
    "site-390-dark": ("docs/epsilon", 390, "dark", "article img"),
    "site-1200-light": ("docs/concepts", 1200, "light", "html"),
}
"""Pictures to keep: page, width, colour scheme, and the element at the top."""

SEARCHED = "/found|did not match/.test(document.querySelector('p.search-summary')?.innerText)"

TO_THE_TOP = "one => window.scrollTo({top: one.getBoundingClientRect().top + scrollY - 70, behavior: 'instant'})"


class Look:
    """A browser with a built site, and all addresses that its pages asked for."""

    def __init__(self, running: Browser, site: Path) -> None:
        self.running, self.site = running, site.resolve()
        self.asked: list[str] = []

    @contextmanager
    def page(self, name: str, width: int = NARROW, scheme: str = "light") -> Iterator[Page]:
        """Open a page from its file."""
        with opened(self.running, "about:blank", width, scheme) as page:
            page.on("request", lambda request: self.asked.append(request.url))
            page.goto((self.site / f"{name}.html").as_uri())
            yield page

    def too_wide(self) -> list[str]:
        """Return the pages that readers on a narrow phone would have to scroll sideways."""
        found = []
        for name in [*all_pages(), "search", "genindex"]:
            with self.page(name) as page:
                width = page.evaluate("document.documentElement.scrollWidth")
            if width > NARROW:
                found.append(f"{name} is {width} pixels wide")
        return found

    def results(self, searches: list[str]) -> dict[str, list[str]]:
        """Return the titles that each search finds."""
        found = {}
        with self.page("docs/index", 1200) as page:
            for words in searches:
                page.fill("input.sidebar-search", words)
                page.press("input.sidebar-search", "Enter")
                page.wait_for_function(SEARCHED)
                found[words] = page.locator("#search-results ul.search > li > a").all_inner_texts()
        return found

    def without_copy_button(self) -> list[str]:
        """Return the pages that have code without a copy button, or output with one."""
        found = []
        for name in ("docs/tutorial", "docs/answers", "docs/mechanisms/grr"):
            with self.page(name, 1200) as page:
                code = page.locator("div.highlight").count() - page.locator("div.highlight-output").count()
                buttons = page.locator("button.copybtn").count()
            if buttons != code:
                found.append(f"{name} has {buttons} buttons for {code} blocks of code")
        return found

    def pictures(self, folder: Path) -> None:
        """Take the pictures to keep."""
        for name, (place, width, scheme, top) in PICTURES.items():
            with self.page(place, width, scheme) as page:
                page.locator(top).first.evaluate(TO_THE_TOP)
                save(page.screenshot(), folder / f"{name}.png", colours=48)


def main(site: Path) -> None:
    """Run all checks, print the faults, and fail if there are any."""
    with browser() as running:
        look = Look(running, site)
        found = look.results(["interval", *(word for page in WORDS.values() for word in page)])
        wrong = look.too_wide() + look.without_copy_button()
        look.pictures(ROOT / "docs" / "screenshots")
    wrong += [f"the network was asked for {url}" for url in look.asked if not url.startswith(("file:", "data:"))]
    wrong += [f"a search for {word} finds nothing" for word, places in found.items() if not places]
    print("\n".join(wrong) or f"no page is wider than {NARROW} pixels; searches for {len(found)} words find places")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

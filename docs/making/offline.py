"""Check that a built site is complete and needs no network: ``python -m docs.making.offline build/site``.

Every file that a page loads must be part of the site. Every link to a page, or to a place in a page, must have a
target.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

_FETCHED = {"stylesheet", "icon", "preload", "modulepreload", "prefetch", "preconnect", "dns-prefetch", "manifest"}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        self.places |= {said[name] for name in ("id", "name") if name in said}
        self.loads += [said[name] for name in ("src", "poster") if name in said]
        self.loads += [one.split()[0] for one in said.get("srcset", "").split(",") if one.strip()]
        self.loads += re.findall(r"url\(([^)]+)\)", said.get("style", ""))
        if tag == "link" and _FETCHED & set(said.get("rel", "").lower().split()):
            self.loads.append(said.get("href", ""))
        if tag == "a" and "href" in said:
            self.links.append(said["href"])


@cache
def _parsed(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _elsewhere(address: str) -> bool:
    return bool(re.match(r"(https?:)?//", address.strip("'\" ")))


def _broken(path: Path, link: str) -> bool:
    if re.match(r"[a-z]+:", link) or _elsewhere(link):
        return False
    file, place = urldefrag(link)
    target = (path.parent / unquote(file.partition("?")[0])).resolve() if file else path
    if not target.is_file():
        return True
    return bool(place) and target.suffix == ".html" and unquote(place) not in _parsed(target).places


def faults(site: Path) -> list[str]:
    """Return the faults of a built site, one line each."""
    found = []
    for path in sorted(site.rglob("*.html")):
        page, name = _parsed(path), path.relative_to(site)
        found += [f"{name} loads {one}" for one in page.loads if _elsewhere(one)]
        found += [f"{name} links to {one}, which is not there" for one in page.links if _broken(path, one)]
    for path in sorted(site.rglob("*.css")):
        used = re.findall(r"url\(([^)]+)\)|@import\s+[\"']([^\"']+)", path.read_text(encoding="utf-8"))
        found += [f"{path.relative_to(site)} loads {one}" for pair in used for one in pair if _elsewhere(one)]
    return found


def main(site: Path) -> None:
    """Print the faults, and fail if there are any."""
    found = faults(site)
    print("\n".join(found) or f"{site}/index.html is complete and needs no network")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Navigation of the site, read from the links of `docs/index.md`, so that file readers and the site share one list.

Each second-level heading is a part of the sidebar, and the links below the heading are the pages of that part, in
order. The pages `docs/api.md` and `docs/mechanisms.md` have the pages of their folders below themselves.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
START = "docs/index"
NAMES = "docs/api"
MECHANISMS = "docs/mechanisms"

PLAIN = ("spss", "output")
"""Languages of code blocks without syntax colours."""


def pages_of(text: str, page: str) -> list[str]:
    """Return the pages that a Markdown page links to, without repetition, as paths from the root without suffix."""
    linked = re.findall(r"\]\(([^)#:]+)\.md\)", text)
    return list(dict.fromkeys(posixpath.normpath(f"{posixpath.dirname(page)}/{target}") for target in linked))


def parts() -> dict[str, list[str]]:
    """Return the pages of every part of the sidebar, by the part's heading."""
    _, *sections = re.split(r"^## ", (ROOT / f"{START}.md").read_text(encoding="utf-8"), flags=re.M)
    return {section.partition("\n")[0]: pages_of(section, START) for section in sections}


def below(page: str) -> list[str]:
    """Return the pages in the folder with the name of a page, in the order of the page's links to them."""
    text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    return [one for one in pages_of(text, page) if one.startswith(f"{page}/")]


@cache
def all_pages() -> list[str]:
    """Return every page of the site."""
    return [START, *(page for part in parts().values() for page in part), *below(NAMES), *below(MECHANISMS)]


def toctree(pages: list[str], caption: str = "") -> str:
    """Return a hidden table of contents in MyST syntax."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "```{toctree}", *options, "", *(f"/{page}" for page in pages), "```", ""])


def without_folders(page: str, text: str) -> str:
    """Return a page with plain words instead of links to folders of the project and to pages that the site lacks."""
    here = (ROOT / page).parent

    def elsewhere(target: str) -> bool:
        linked = posixpath.normpath(f"{posixpath.dirname(page)}/{target}")
        return (here / target).is_dir() or (target.endswith(".md") and linked.removesuffix(".md") not in all_pages())

    return re.sub(r"\[([^]]+)\]\(([^)#:]+)\)", lambda link: link[1] if elsewhere(link[2]) else link[0], text)


def with_navigation(page: str, text: str) -> str:
    """Return a page with the additions that the sidebar needs."""
    if page == START:
        return text + "".join(toctree(pages, caption) for caption, pages in parts().items())
    return text + toctree(below(page)) if page in (NAMES, MECHANISMS) else text

"""Navigation of the site, read from the links of `docs/index.md`: one list, for readers of files and of pages.

A heading of the second level is a part of the sidebar, the links below it its pages, in their order. A page of names
(`docs/api.md`) has the pages that it links to below itself.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
START = "docs/index"
NAMES = "docs/api"

PLAIN = ("spss",)
"""Languages of blocks that nobody colours."""


def pages_of(text: str, page: str) -> list[str]:
    """Return the pages that a page of Markdown links to, without repetition, as paths from the root without suffix."""
    linked = re.findall(r"\]\(([^)#:]+)\.md\)", text)
    return list(dict.fromkeys(posixpath.normpath(f"{posixpath.dirname(page)}/{target}") for target in linked))


def parts() -> dict[str, list[str]]:
    """Return the pages of every part of the sidebar, by the part's heading."""
    _, *sections = re.split(r"^## ", (ROOT / f"{START}.md").read_text(encoding="utf-8"), flags=re.M)
    return {section.partition("\n")[0]: pages_of(section, START) for section in sections}


def names() -> list[str]:
    """Return the pages of public names."""
    return [page for page in pages_of((ROOT / f"{NAMES}.md").read_text(encoding="utf-8"), NAMES) if "/api/" in page]


def all_pages() -> list[str]:
    """Return every page of the site."""
    return [START, *(page for part in parts().values() for page in part), *names()]


def toctree(pages: list[str], caption: str = "") -> str:
    """Return a hidden table of contents, as MyST writes one."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "```{toctree}", *options, "", *(f"/{page}" for page in pages), "```", ""])


def without_folders(page: str, text: str) -> str:
    """Return a page whose links to folders of the project are their words alone: a site has no folders."""
    here = (ROOT / page).parent
    return re.sub(r"\[([^]]+)\]\(([^)#:]+)\)", lambda link: link[1] if (here / link[2]).is_dir() else link[0], text)


def with_navigation(page: str, text: str) -> str:
    """Return a page with what the sidebar needs of it."""
    if page == START:
        return text + "".join(toctree(pages, caption) for caption, pages in parts().items())
    return text + toctree(names()) if page == NAMES else text

"""Links of all pages have targets in the repository, including headings; `make docs` checks the site's links."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "experiments").glob("*/README.md")),
    *sorted((ROOT / ".github").rglob("*.md")),
    ROOT / "client" / "README.md",
]


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def prose(path: Path) -> str:
    """Return a page without its code."""
    blocks = re.sub(r"^( *)(```|~~~).*?^\1\2", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.sub(r"``.*?``|`[^`\n]*`", lambda code: code[0].strip("`").replace("[", "").replace("]", ""), blocks)


@cache
def anchors(path: Path) -> frozenset[str]:
    """Return the link targets on a page, named as repositories and the site name headings."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ (.+)$", prose(path), re.M):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    own = re.findall(r'<a (?:id|name)="([^"]+)"', path.read_text(encoding="utf-8"))
    return frozenset(f"{slug}-{n}" if n else slug for slug, last in found.items() for n in range(last + 1)) | set(own)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(<?([^)>\s]+)>?[^)]*\)", prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, place = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{_name(page)} links to {link}: no such file"
        assert target.is_relative_to(ROOT), f"{_name(page)} links to {link}, outside the project"
        if place:
            assert place in anchors(target), f"{_name(page)} links to {link}: there are {sorted(anchors(target))}"


def test_places_are_named_as_repositories_name_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `plan`: *one*, [two](x.md)\n## Same\n## Same\n```\n# no heading\n```\n")
    assert anchors(page) == {"a-plan-one-two", "same", "same-1"}

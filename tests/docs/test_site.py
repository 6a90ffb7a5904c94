"""The site's navigation has all pages in an order for newcomers; the checks of the built site find faults."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from docs.making import names, navigation, words
from docs.making.offline import faults
from pygments.lexers import find_lexer_class_by_name

from deniable import Dictionary
from deniable.core.names import CLASSES, mechanism_class
from deniable.records import Phases
from deniable.research.dealt import Dealer, Shares

ROOT = Path(__file__).parents[2]


def test_every_page_is_in_the_navigation_once() -> None:
    listed = [page for part in navigation.parts().values() for page in part]
    listed += navigation.below(navigation.NAMES) + navigation.below(navigation.MECHANISMS)
    pages = {str(path.relative_to(ROOT).with_suffix("")) for path in (ROOT / "docs").rglob("*.md")}
    assert len(set(listed)) == len(listed)
    orphans = pages - set(listed) - {navigation.START}
    assert not orphans, f"link them from docs/index.md: {sorted(orphans)}"
    assert {"SECURITY", "CONTRIBUTING", "CHANGELOG", "docs/theory/coupling"} <= set(listed)


def test_a_newcomer_reads_concepts_first_and_architecture_last() -> None:
    parts = navigation.parts()
    assert next(iter(parts.values()))[0] == "docs/concepts"
    assert list(parts)[-2:] == ["Reference", "Architecture"]


def test_the_sidebar_has_what_the_pages_link_to() -> None:
    shown = navigation.with_navigation(navigation.START, "")
    assert shown.index("/docs/concepts\n") < shown.index("/docs/choosing\n") < shown.index("/docs/api\n")
    assert ":caption: Theory" in shown
    assert "/docs/api/oracles\n" in navigation.with_navigation(navigation.NAMES, "")
    assert "/docs/mechanisms/grr\n" in navigation.with_navigation(navigation.MECHANISMS, "")
    assert navigation.with_navigation("docs/cli", "as it was") == "as it was"


def test_links_to_folders_are_words_on_the_site() -> None:
    text = "[one](results/jrr), [two](jrr.md), [three](https://example.org), [four](../../deploy/README.md)"
    said = "one, [two](jrr.md), [three](https://example.org), four"
    assert navigation.without_folders("docs/papers/ocms", text) == said


def test_words_that_people_type_find_a_page() -> None:
    """`make screenshots` types all words into the search of the built site."""
    typed = {word: page for page, said in words.WORDS.items() for word in said}
    assert typed["docker"] == "docs/deployment"
    assert typed["spss"] == "docs/forms"
    assert typed["regression"] == "docs/models"
    assert set(typed.values()) <= set(navigation.all_pages())
    made = words.with_words("docs/models", "# Title\n")
    assert made.startswith("---\nmyst:\n  html_meta:\n")
    assert made.endswith("\n---\n\n# Title\n")
    assert words.with_words("docs/faq", "# Title\n") == "# Title\n"


def test_the_first_page_has_three_doors() -> None:
    begin = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").split("\n## ")[0]
    assert [door.split("**")[0] for door in begin.split("\n* **")[1:]] == [
        "I run a survey.",
        "I analyse the answers.",
        "I check or build on the method.",
    ]


def test_names_have_their_docstrings_on_the_site_and_no_two_places() -> None:
    oracles = names.with_docstrings("docs/api/oracles", (ROOT / "docs/api/oracles.md").read_text())
    assert ".. autoclass:: deniable.oracles.GRR\n   :members:" in oracles
    assert ".. autofunction:: deniable.oracles.ocms_choice\n" in oracles
    top = names.with_docstrings("docs/api/deniable", (ROOT / "docs/api/deniable.md").read_text())
    assert "* {py:obj}`GRR <deniable.oracles.GRR>`: " in top
    assert ".. autoclass:: deniable.Estimate\n" in top
    assert names.with_docstrings("docs/cli", "* `GRR`: as it was") == "* `GRR`: as it was"
    wire = names.with_docstrings("docs/api/files", (ROOT / "docs/api/files.md").read_text())
    assert ".. autofunction:: deniable.files.wire.to_wire\n" in wire
    shown = [one for one in (ROOT / "docs/api").glob("*.md") if one.stem not in names.PAGES]
    assert not shown


def test_languages_of_blocks_are_known_to_the_site() -> None:
    for page in navigation.all_pages():
        text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
        for language in set(re.findall(r"^ *```(\w+)$", text, re.M)) - set(navigation.PLAIN):
            assert find_lexer_class_by_name(language), page


def test_names_in_sentences_lead_to_their_docstrings_whatever_their_module() -> None:
    assert names.place("deniable.Collection.estimate") == "deniable.Collection.estimate"
    assert names.place("deniable.records.phases.phases.Phases") == "deniable.records.Phases"
    assert names.place("deniable.GRR()") == "deniable.oracles.GRR"
    assert {names.place(other) for other in ("deniable", "deniable plan", "k", "GRR", "deniable.report")} == {""}


def test_what_people_look_up_has_an_example_that_doctests_run() -> None:
    wanted = {cls.__name__: cls for cls in map(mechanism_class, CLASSES)}
    wanted |= {one.__name__: one for one in (Phases, Dictionary, Dealer, Shares)}
    for namespace in ("deniable", "deniable.leakage", "deniable.research.leakage", "deniable.research.dealt"):
        wanted |= {name: one for name, one in names.public_names(namespace).items() if inspect.isroutine(one)}
    assert len(wanted) > 90
    assert not [name for name, one in wanted.items() if ">>> " not in (inspect.getdoc(one) or "")]


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<script src="https://cdn.example/x.js"></script>', "loads https://cdn.example/x.js"),
        ('<img src="//cdn.example/x.png">', "loads //cdn.example/x.png"),
        ('<link rel="stylesheet" href="http://fonts.example/css">', "loads http://fonts.example/css"),
        ('<p style="background: url(https://a.example/b)">', "loads https://a.example/b"),
        ('<a href="gone.html">', "links to gone.html"),
        ('<a href="other.html#gone">', "links to other.html#gone"),
        ('<a href="#gone">', "links to #gone"),
        ('<link rel="stylesheet" href="own.css">', "own.css loads https://fonts.example/f.woff"),
    ],
)
def test_a_built_site_that_needs_a_network_or_is_not_whole_is_found(tmp_path: Path, page: str, fault: str) -> None:
    (tmp_path / "own.css").write_text("@font-face { src: url(https://fonts.example/f.woff) }" if "own" in page else "")
    (tmp_path / "other.html").write_text('<h1 id="here">')
    (tmp_path / "index.html").write_text(page)
    (found,) = faults(tmp_path)
    assert fault in found


def test_a_whole_site_has_no_faults(tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text('<h1 id="here"><img src="data:image/png;base64,AA">')
    (tmp_path / "index.html").write_text(
        '<a href="other.html#here"><a href="https://example.org/paper"><a href="mailto:a@b.c"><a href="#x" id="x">'
    )
    assert faults(tmp_path) == []

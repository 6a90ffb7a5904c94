"""Content of the npm package: the module and the element `<deniable-survey>`; tests/stack packs and installs it."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from deniable import GRR
from deniable.core.construction import mechanism
from deniable.files.wire import to_wire
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema
from tests.browser.loopback import Loopback
from tests.browser.surveys import WORDS, every_kind, page_of
from tests.browser.test_survey_page import Visit, answer, one_question, state, stored, violations, visit
from tests.wire_vectors import RecordedWords, typed

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["visit"]

CLIENT = Path(__file__).parents[2] / "client"
LEADING = [(i + 1) * 0x9E3779B97F4A7C15 % 2**64 for i in range(64)]
RECORDED = """
const draw = crypto.getRandomValues.bind(crypto);
crypto.getRandomValues = (array) => array instanceof BigUint64Array
  ? array.map((_, i) => array[i] = BigInt(i + 1) * 0x9E3779B97F4A7C15n) && array
  : draw(array);
"""
"""Replaces the browser's random words by `LEADING`, but no other random numbers."""


@pytest.fixture
def smoker() -> Iterator[Loopback]:
    """A survey of one question."""
    with one_question(Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(2, 1.0), title="Smoking")) as one:
        yield one


def expected(collection: Collection, answers: list[Any]) -> bytes:
    """Return the bytes that the library makes from these answers with the same words."""
    words: Any = RecordedWords("page", LEADING)
    codes = np.array([typed(collection.schema, answers, words)])
    made: Any = collection.mechanism
    return bytes(to_wire(made, made.randomize(codes if made.records else codes[:, 0], words))[0])


def serve(running: Loopback, package: Path, name: str, body: str, script: str = "") -> str:
    """Serve a page with a module of the package; return its address."""
    running.scripts[f"/{name}.js"] = (package / "dist" / f"{name}.js").read_bytes()
    running.scripts["/page.js"] = script.encode()
    head = f'<title>Ours</title><script type="module" src="/{"page" if script else name}.js"></script>'
    running.html["/ours"] = f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'
    return f"{running.origin}/ours"


def documented(language: str) -> str:
    """Return the first block of a language in the page of documentation."""
    text = (CLIENT.parent / "docs" / "embedding.md").read_text(encoding="utf-8")
    found = re.search(rf"```{language}\n(.*?)```", text, re.S)
    assert found
    return found[1]


def hello(running: Loopback) -> str:
    """Return the documentation's script for a survey, and for a second draw."""
    code = documented("js").replace("@deniable/client", "/client.js").replace("ID", f'"{running.collection.id}"')
    code = code.replace("DIGITS", f'"{running.digits}"').replace("https://collector.example", running.origin)
    assert len(code.strip().splitlines()) <= 10
    return (
        code
        + """
        const again = await draw(survey, ["neither"]);
        document.body.dataset.said = `${state} ${again.state} ${again.body.length}`;
    """
    )


def said(page: Page) -> str | None:
    """Return the value that a script left in the page; a policy forbids waiting for an expression."""
    return page.locator("[data-said]").get_attribute("data-said")


def place(running: Loopback) -> str:
    return json.dumps({"api": f"{running.origin}/api/v1", "collection": running.collection.id, "link": running.digits})


@pytest.mark.parametrize("sizes", [(3, 3), (3, 2)])
def test_a_later_round_is_drawn_with_the_second_file_beside_the_module(
    visit: Visit, package: Path, sizes: tuple[int, int]
) -> None:
    """Corr-RR in a browser makes the library's bytes from the same words, over equal and over unequal domains."""
    two = Schema(tuple(Attribute(f"q{j}", ("a", "b", "c")[:k]) for j, k in enumerate(sizes)))
    made = mechanism("Corr-RR", sizes=sizes, epsilon="1", copy_probabilities=((1, 0.3), (0.6, 1)))
    with visit() as context, one_question(Collection(two, made, title="Two")) as running:
        context.add_init_script(RECORDED)
        (second,) = (package / "dist").glob("further.*.js")
        running.scripts[f"/{second.name}"] = second.read_bytes()
        script = hello(running).replace('["yes"]', '["b", "a"]')
        assert script != hello(running)
        page = context.new_page()
        page.goto(serve(running, package, "client", "", script))
        assert said(page) == "counted counted 0"
        assert list(running.counted.values()) == [expected(running.collection, ["b", "a"])]


def test_a_page_loads_draws_once_and_sends_until_counted(visit: Visit, smoker: Loopback, package: Path) -> None:
    smoker.failures = [503]
    with visit() as context:
        context.add_init_script(RECORDED)
        page = context.new_page()
        page.goto(serve(smoker, package, "client", "", hello(smoker)))
        # A counted report is not drawn again, so the second answer is not even read.
        assert said(page) == "counted counted 0"
        assert list(smoker.counted.values()) == [expected(smoker.collection, ["yes"])]
        assert len(smoker.bodies) == 2
        assert smoker.bodies[0] == smoker.bodies[1]
        assert [one["state"] for one in stored(page)] == ["counted"]


def test_sizes_are_those_of_the_documentation(package: Path) -> None:
    text = (CLIENT.parent / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for name in ("client.js", "element.js", "surveyjs.js", "survey.js", "survey.css"):
        found = re.search(rf"^\| `{name}` \| .* \| ([0-9.]+) \| ([0-9.]+) \|$", text, re.M)
        assert found
        content = (package / "dist" / name).read_bytes()
        # Compressors differ a little. A change of a tenth needs a new table.
        assert float(found[1]) == pytest.approx(len(content) / 1000, rel=0.1), name
        assert float(found[2]) == pytest.approx(len(gzip.compress(content, 9)) / 1000, rel=0.1), name
    assert len(gzip.compress((package / "dist" / "client.js").read_bytes(), 9)) <= 16 * 1024


def test_nothing_is_drawn_for_another_link_or_a_closed_survey(visit: Visit, smoker: Loopback, package: Path) -> None:
    script = """
        import { draw, load } from "/client.js";
        const said = [];
        const place = PLACE;
        await load({ ...place, link: "0".repeat(32) }).catch((error) => said.push(error.why));
        const loaded = await load(place);
        await draw(loaded, ["maybe"]).catch((error) => said.push(error.reason, error.message));
        await draw({ ...loaded, state: "closed" }, ["yes"]).catch((error) => said.push(error.why));
        document.body.dataset.said = said.join();
    """
    with visit() as context:
        page = context.new_page()
        page.goto(serve(smoker, package, "client", "", script.replace("PLACE", place(smoker))))
        refused = 'The answer to "smoker" is not one of the possible answers.'
        assert said(page) == f"tampered,unknown,{refused},refused"
        assert stored(page) == []
        assert smoker.posts == []


def test_the_element_asks_a_survey_under_a_strict_policy(visit: Visit, tmp_path: Path, package: Path) -> None:
    """The policy is the documentation's, and `visit` fails at the first violation."""
    collection = every_kind(tmp_path)
    with Loopback(collection, page_of(collection), {"fruit": WORDS}) as running, visit() as context:
        context.add_init_script(RECORDED)
        running.policy = documented("text").strip().replace("https://collector.example", running.origin)
        # The element's tag is that of the documentation. The tag of the script is in the head.
        tag = documented("html").splitlines()[-1].replace("https://collector.example", running.origin)
        tag = tag.replace("ID#DIGITS", f"{collection.id}#{running.digits}")
        page = context.new_page()
        page.goto(serve(running, package, "element", f"<main>{tag}</main>"))
        state(page, "welcome")
        assert violations(page) == []
        # The page's own colour and font apply, through a custom property, inheritance and a part.
        page.evaluate(
            """() => {
                const sheet = new CSSStyleSheet();
                sheet.replaceSync(`body { font-family: monospace } deniable-survey { --deniable-accent: rgb(1, 2, 3) }
                    deniable-survey::part(primary) { letter-spacing: 3px }`);
                document.adoptedStyleSheets = [sheet];
            }"""
        )
        style = page.evaluate(
            """() => {
                const button = document.querySelector('deniable-survey').shadowRoot.querySelector('button.go');
                const { backgroundColor, letterSpacing } = getComputedStyle(button);
                return [backgroundColor, letterSpacing, getComputedStyle(button.closest('.deniable')).fontFamily];
            }"""
        )
        assert style == ["rgb(1, 2, 3)", "3px", "monospace"]
        page.evaluate("document.adoptedStyleSheets = []")
        answer(page)
        page.wait_for_selector("deniable-survey[data-state=counted]")
        assert violations(page) == []
        assert list(running.counted.values()) == [expected(collection, ["weekly", "40", "7.5", ["phone"], "fig"])]


def test_an_element_with_half_a_link_asks_nothing(visit: Visit, smoker: Loopback, package: Path) -> None:
    src = f"{smoker.origin}/api/v1/collections/{smoker.collection.id}#{smoker.digits[:31]}"
    with visit() as context:
        page = context.new_page()
        page.goto(serve(smoker, package, "element", f'<deniable-survey src="{src}"></deniable-survey>'))
        page.wait_for_selector("deniable-survey[data-state=refused]")
        page.wait_for_selector("text=Your link is not complete")
        assert smoker.posts == []

"""Questions that only some people are asked: they are hidden from the others, and everyone reports them alike."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING

from deniable import SPL
from deniable.files.wire import from_json
from deniable.survey.collection import Collection
from deniable.survey.schema import AskIf, Attribute, Schema
from tests.browser.test_collector import accessible, pictured
from tests.service.asking import collecting, open_survey, sqlite

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCHEMA = Schema(
    (
        Attribute("smoker", ("yes", "no"), title="Do you smoke?"),
        Attribute("much", ("few", "many"), "no answer", title="How much?", ask_if=AskIf("smoker", ("yes",))),
        Attribute("sleep", ("well", "badly"), title="How do you sleep?"),
    )
)
# At this epsilon the two reports here equal the answers, except for one run in about 5,000.
LOUD = Collection(SCHEMA, SPL(SCHEMA.sizes, 32.0), title="Habits")


def choose(page: Page, label: str) -> None:
    """Choose an answer on the screen, and go on."""
    page.click(f"section:not([hidden]) label:has-text('{label}')")
    page.click("form .go:visible")


def asked(page: Page) -> str:
    """Return the question on the screen."""
    return page.inner_text("section:not([hidden]) h1")


def reviewed(page: Page) -> list[str]:
    page.wait_for_selector("[data-state=review]")
    found: list[str] = page.eval_on_selector_all(".answers dt", "terms => terms.map(one => one.textContent)")
    return found


def test_who_is_not_asked_sends_the_declared_value_in_as_many_bytes(tmp_path: Path, browser: Browser) -> None:
    with collecting(sqlite(tmp_path)) as here:
        open_survey(here.collector.surveys, "habits", LOUD)
        here.collector.refresh()
        link = here.public + here.collector.surveys.status("habits")["link"]
        bodies: list[str] = []

        def begun() -> Page:
            context = browser.new_context(viewport={"width": 390, "height": 844})
            page = context.new_page()
            page.on("request", lambda one: bodies.append(one.post_data or "") if one.method == "POST" else None)
            page.goto(link)
            page.wait_for_selector("[data-state=welcome]")
            page.click("form .go:visible")
            assert asked(page) == "Do you smoke?"
            return page

        # The second question is not asked: the page goes from the first to the third, and Back leads to the first.
        page = begun()
        choose(page, "no")
        assert asked(page) == "How do you sleep?"
        pictured(page, "branch-phone")
        accessible(page)
        page.go_back()
        assert asked(page) == "Do you smoke?"
        # The person changes the answer, so the question is now asked and answered.
        choose(page, "yes")
        assert asked(page) == "How much?"
        choose(page, "many")
        choose(page, "badly")
        assert reviewed(page) == ["Do you smoke?", "How much?", "How do you sleep?"]
        # The person changes it back at the review. The answer that is no longer asked for is neither shown nor sent.
        page.click(".answers button >> nth=0")
        choose(page, "no")
        assert reviewed(page) == ["Do you smoke?", "How do you sleep?"]
        page.set_viewport_size({"width": 1200, "height": 800})
        pictured(page, "branch-desk")
        page.check("input[name=agree]")
        page.click("form .go:visible")
        page.wait_for_selector("[data-state=counted]", timeout=60_000)
        page.context.close()

        # The question is asked, so its answer is needed before the review, also after a change at the review.
        page = begun()
        choose(page, "no")
        choose(page, "well")
        assert reviewed(page) == ["Do you smoke?", "How do you sleep?"]
        page.click(".answers button >> nth=0")
        choose(page, "yes")
        assert asked(page) == "How much?"
        choose(page, "few")
        assert reviewed(page) == ["Do you smoke?", "How much?", "How do you sleep?"]
        page.check("input[name=agree]")
        page.click("form .go:visible")
        page.wait_for_selector("[data-state=counted]", timeout=60_000)
        page.context.close()

        reports = [from_json(body.encode()).rows[0].tolist() for body in bodies if '"reports"' in body]
        assert reports == [[1, 2, 1], [0, 0, 0]]
        # All bodies have one length, and nothing in them except for the report tells the branch.
        assert len({len(body) for body in bodies}) == 1
        kept = [json.loads(body)["reports"][0] for body in bodies]
        assert {tuple(sorted(one)) for one in kept} == {("id", "leaf", "report")}
        assert {len(base64.urlsafe_b64decode(one["report"] + "==")) for one in kept} == {3}

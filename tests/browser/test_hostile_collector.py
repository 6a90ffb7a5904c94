"""A collector that changes what people read, in Chromium: its texts are not shown, and nothing is sent.

On the collector's own page, the client checks texts against the digits of the link. On a page with another host
(``--page-origin``), it checks them against the digits in that page.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from deniable import GRR
from deniable.service.survey_page import INTERFACE_KEYS, draft_page, read_page
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema
from tests.browser.loopback import SHELL, Loopback
from tests.browser.test_survey_page import Visit, answer, one_question, own_page, state, visit
from tests.client.test_docs import english

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["visit"]

OTHER = "not the survey that your link was made for"
LIE = "Checked in this browser: epsilon 0.1"
ASKED = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(2, 4.0), title="Smoking")

Change = Callable[[dict[str, Any]], None]


def word(key: str) -> Change:
    return lambda page: page["languages"]["en"].update({key: LIE})


def sentence(key: str) -> Change:
    return lambda page: page["languages"]["en"].update({"interface": {key: LIE}})


def term(key: str, value: object) -> Change:
    return lambda page: page.update({key: value})


def another_language(page: dict[str, Any]) -> None:
    """Add other texts in the reader's language, which would be shown first."""
    words = copy.deepcopy(page["languages"]["en"]) | {"intro": LIE}
    page["languages"] = {"en-GB": words, **page["languages"]}


CHANGES: dict[str, Change] = {
    **{f"the {key}": word(key) for key in ("title", "intro", "consent", "thanks")},
    "a question": lambda page: page["languages"]["en"]["questions"].update({"smoker": LIE}),
    "a label": lambda page: page["languages"]["en"]["labels"].update({"smoker": ["yes", LIE]}),
    "labels that are swapped": lambda page: page["languages"]["en"]["labels"]["smoker"].reverse(),
    "another language": another_language,
    "the contact": term("contact", LIE),
    "the smallest batch": term("min_batch", 1000),
    "what is kept": term("retention", "reports"),
    "a second person": term("second_person", True),
    "when people are asked to take part": term("consent_first", True),
}

PLACES = pytest.mark.parametrize("elsewhere", [False, True], ids=["same origin", "page elsewhere"])


@contextmanager
def served(elsewhere: bool) -> Iterator[tuple[Loopback, str]]:
    """Yield a collector and the address that an organiser handed out; then let the collector change its page."""
    with ExitStack() as stack:
        collector = one_question(ASKED)
        host = stack.enter_context(one_question(ASKED)) if elsewhere else None
        if host is not None:
            # The host serves the client and the page, and knows only the id and the digits of the survey.
            collector.page_origin = host.origin
        stack.enter_context(collector)
        if host is None:
            yield collector, collector.link
            return
        host.connect = collector.origin
        host.html["/own.html"] = own_page(ASKED.id, collector.digits, collector.origin)
        yield collector, f"{host.origin}/own.html"


def refused(page: Page, address: str, collector: Loopback) -> str:
    """Return the reason of the refusal; nothing of the survey is shown, and nothing is posted."""
    page.goto("about:blank")
    page.goto(address)
    state(page, "refused")
    assert page.locator("form, input, button, .promise").count() == 0
    shown = page.inner_text("body") + page.title()
    for text in (LIE, "epsilon", "Smoking", "smoker"):
        assert text not in shown.replace("Mine", "")
    assert collector.posts == []
    return page.text_content("[role=alert]") or ""


@PLACES
def test_a_collector_cannot_change_a_text(visit: Visit, elsewhere: bool) -> None:
    with served(elsewhere) as (collector, address), visit() as context:
        page, honest = context.new_page(), collector.page
        for what, change in CHANGES.items():
            collector.page = copy.deepcopy(honest)
            change(collector.page)
            assert OTHER in refused(page, address, collector), what
        # The same document with another layout is accepted, because only its content counts.
        collector.page = json.loads(json.dumps(honest, sort_keys=True, indent=3))
        page.goto("about:blank")
        page.goto(address)
        answer(page)
        state(page, "counted")
    assert len(collector.counted) == 1


def test_no_collector_says_a_sentence_of_the_client_even_with_a_link_of_its_own(visit: Visit) -> None:
    """A page of a survey at epsilon 4 once said that epsilon 0.1 was checked, and the report was counted.

    Three of the sentences are tested here. `test_differential` gives all of them to the function that refuses them.
    """
    guarded = [key for key in english() if key not in INTERFACE_KEYS]
    assert len(guarded) > 45
    with served(False) as (collector, _), visit() as context:
        page, honest = context.new_page(), collector.page
        for key in guarded[:: len(guarded) // 2]:
            collector.page = copy.deepcopy(honest)
            sentence(key)(collector.page)
            # The link belongs to exactly these texts.
            assert "that only the page itself may say" in refused(page, collector.link, collector), key


@PLACES
def test_a_guarantee_is_that_of_the_coins(visit: Visit, elsewhere: bool) -> None:
    with served(elsewhere) as (collector, address), visit() as context:
        page, honest = context.new_page(), collector.document
        for change in (('"epsilon": "4"', '"epsilon": "0.1"'), ('"epsilon": 4.0', '"epsilon": 0.1')):
            collector.document = honest.replace(*change)
            assert collector.document != honest
            refused(page, address, collector)
        collector.document = honest
        page.goto("about:blank")
        page.goto(address)
        state(page, "welcome")
        assert "at most a factor of 54.6" in page.inner_text(".promise")
        page.click("text=What happens to my report?")
        assert "epsilon 4, so a factor of at most 54.6" in page.inner_text("form")


def test_a_page_of_another_survey_is_refused_though_its_texts_are_the_same(visit: Visit) -> None:
    weaker = Collection(ASKED.schema, GRR(2, 8.0), title=ASKED.title)
    with served(False) as (collector, address), visit() as context:
        collector.document = weaker.to_json()
        collector.page = {**collector.page, "collection": weaker.id}
        assert "not the survey that this page asked for" in refused(context.new_page(), address, collector)
        # The refusal is the same if the collector's page asks for the other survey.
        collector.html["/s/demo"] = SHELL.format(id=weaker.id)
        collector.aliases[weaker.id] = ASKED.id
        assert OTHER in refused(context.new_page(), address, collector)


def test_a_page_that_the_collector_serves_cannot_name_other_digits(visit: Visit) -> None:
    with served(False) as (collector, address), visit() as context:
        collector.page["languages"]["en"]["intro"] = LIE
        collector.html["/s/demo"] = SHELL.format(id=ASKED.id).replace(
            "data-slug", f'data-pinned="{collector.digits}" data-slug'
        )
        assert OTHER in refused(context.new_page(), address, collector)


def test_a_problem_is_named_and_says_nothing_else(visit: Visit) -> None:
    with served(False) as (collector, address), visit() as context:
        collector.failures, collector.problem = [403], f"counted. {LIE}"
        page = context.new_page()
        page.goto(address)
        answer(page)
        state(page, "rejected")
        assert "give them this code: ?." in page.inner_text("section.end")
        assert LIE not in page.inner_text("body")


def test_terms_that_a_page_leaves_out_are_those_of_the_library(visit: Visit) -> None:
    """The sentence was once "in batches of at least , and then deleted"."""
    with served(False) as (collector, _), visit() as context:
        del collector.page["min_batch"], collector.page["retention"]
        text = json.dumps(collector.page)
        assert read_page(text, "page.json", ASKED).min_batch == 100
        assert read_page(text, "page.json", ASKED).retention == "aggregate"
        page = context.new_page()
        page.goto(collector.link)
        state(page, "welcome")
        page.click("text=What happens to my report?")
        said = "Reports are added up in groups of at least 100, then deleted. Only the sums are kept."
        assert said in page.inner_text("form")


def test_a_place_that_nothing_fills_in_is_refused(visit: Visit) -> None:
    """The page once filled in JavaScript's own `constructor`."""
    with served(False) as (collector, _), visit() as context:
        for said in ("{constructor}", "{epsilon}"):
            collector.page["languages"]["en"]["interface"] = {"contact": said}
            assert "nothing fills in" in refused(context.new_page(), collector.link, collector)


def test_a_drafted_page_says_nothing_that_the_client_says() -> None:
    assert "interface" not in draft_page(ASKED, languages=("en", "de", "fr", "es", "ar")).to_json()

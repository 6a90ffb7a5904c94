"""Invited people in a browser: one link, one report, and the information before the first question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deniable.files.wire import from_base64url, to_base64url
from deniable.service.invitations import draw_links, invitations, nullifier
from deniable.service.server import Running
from tests.browser.test_collector import accessible
from tests.browser.test_survey_page import Visit, answer, state, stored, visit as visit
from tests.service.asking import ASKED, collecting, open_survey, sqlite

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Running]:
    with collecting(sqlite(tmp_path)) as running:
        open_survey(running.collector.surveys, access="invited")
        running.collector.refresh()
        yield running


def links_of(here: Running, count: int) -> list[str]:
    links = draw_links(count)
    here.collector.store.invite(ASKED.id, invitations(ASKED.id, links, 20))
    held = here.collector.held(ASKED.id)
    assert held is not None
    base = f"{here.public}/s/smoking#{held.survey.link_digits}"
    return [base, *(f"{base}.{to_base64url(link.token)}" for link in links)]


def goto(page: Page, link: str) -> None:
    # If only the part after the # changes, the browser does not load the page again.
    page.goto("about:blank")
    page.goto(link)


def test_an_invited_person_answers_once_and_is_told_first_who_can_know_what(visit: Visit, here: Running) -> None:
    bare, link, other = links_of(here, 2)
    with visit() as context:
        page = context.new_page()
        page.goto(link)
        state(page, "welcome")
        told = page.inner_text("section.welcome")
        assert "This link is for one person and counts once." in told
        assert "Together with the server, they could find your report." in told
        assert "The promise above holds even then" in told
        accessible(page)
        answer(page)
        state(page, "counted")
        goto(page, link)
        state(page, "already")
        # Another invited person on the same device sends a report of their own.
        goto(page, other)
        answer(page)
        state(page, "counted")
        assert [one["person"] for one in stored(page)] == [1, 2]
        assert here.collector.store.waiting(ASKED.id) == 2
        token = link.rpartition(".")[2]
        assert token not in str(stored(page))
        # An address without an invitation is refused before anything is asked.
        goto(page, bare)
        state(page, "refused")
        assert page.inner_text("h1") == "Your link is not complete"


def test_a_used_or_withdrawn_link_draws_nothing(visit: Visit, here: Running) -> None:
    bare, link, other = links_of(here, 2)
    with visit() as context:
        page = context.new_page()
        page.goto(link)
        answer(page)
        state(page, "counted")
    # A cleared browser, or another browser, would draw a second report of the same answer.
    with visit() as context:
        page = context.new_page()
        page.goto(link)
        answer(page)
        state(page, "used")
        assert page.locator("form").count() == 0
        assert stored(page) == []
        assert "This link was used before" in page.inner_text("h1")
        accessible(page)
        goto(page, f"{bare}.{'A' * 22}")
        answer(page)
        state(page, "uninvited")
        assert stored(page) == []
        assert page.locator("form").count() == 0
        assert "us@example.org" in page.inner_text("section.end")
        # If the collector cannot be asked, nothing is drawn, and the answers stay until it can be asked.
        goto(page, other)
        state(page, "welcome")
        context.set_offline(True)
        answer(page)
        page.wait_for_selector("section.review .fault >> text=Check your connection")
        assert stored(page) == []
        context.set_offline(False)
        token = from_base64url([other.rpartition(".")[2]], 16, "token").tobytes()
        # The invitation was withdrawn between the question and the report. So the report is refused, and kept.
        context.route("**/receipts", lambda route: route.fulfill(status=404))
        here.collector.store.withdraw(ASKED.id, [nullifier(ASKED.id, token)])
        page.click("form button[type=submit]:visible")
        state(page, "rejected")
        assert "not-invited" in page.inner_text("section.end")
        assert stored(page)[-1]["state"] == "stopped"
    assert here.collector.store.waiting(ASKED.id) == 1

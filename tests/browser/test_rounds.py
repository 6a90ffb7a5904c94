"""Rounds in browsers: the second is learned from the first, answered by other people, and combined with the first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from deniable import SPL
from deniable.core.aggregate import Aggregate
from deniable.files.wire import to_base64url
from deniable.records.phases.phases import Phases, next_phase
from deniable.service.auth import hash_password
from deniable.service.demo import answer as answer_over_http
from deniable.service.invitations import draw_links, invitations
from deniable.service.rounds import draft_next
from deniable.service.server import Running
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema
from tests.browser.test_collector import Open, accessible, logged_in, pictured
from tests.browser.test_survey_page import Visit, go_on, state, stored, visit as visit
from tests.service.asking import PASSWORD, collecting, open_survey, sqlite

if TYPE_CHECKING:
    from playwright.sync_api import Page

SCHEMA = Schema(tuple(Attribute(one, ("no", "yes", "at times")) for one in ("smokes", "drinks", "runs")))
FIRST = Collection(SCHEMA, SPL(sizes=SCHEMA.sizes, epsilon=6.0), title="Habits")
EACH = 60


def link_of(here: Running, collection: Collection) -> str:
    held = here.collector.held(collection.id)
    assert held is not None
    return f"{here.public}/s/habits#{held.survey.link_digits}"


def answer(page: Page, codes: list[int]) -> None:
    state(page, "welcome")
    go_on(page)
    for j, code in enumerate(codes):
        page.check(f"input[name=deniable-{j}] >> nth={code}")
        go_on(page)
    page.check("input[name=agree]")
    go_on(page)


def others(here: Running, collection: Collection, count: int, seed: int) -> None:
    """Let people answer without a browser."""
    drawn = np.random.default_rng(seed).integers(0, 3, (count, 1))
    # Answers depend on each other, as in the paper.
    assert answer_over_http(here.public, collection, np.repeat(drawn, 3, axis=1)) == count


def next_round(here: Running, mechanism: str) -> Collection:
    """Close the round, learn the next one and open it."""
    made = draft_next(here.collector.surveys, "habits", EACH, mechanism)
    assert made["browsers"]
    here.collector.surveys.open("habits", anyway="only to test it")
    here.collector.refresh()
    held = here.collector.held(made["collection"])
    assert held is not None
    return held.survey.collection


@pytest.mark.parametrize(
    "mechanism",
    ["Corr-RR", *(pytest.param(name, marks=pytest.mark.long) for name in ("RS+RFD", "PivotCoded", "SMP[ADP]"))],
)
def test_a_second_round_is_answered_in_browsers_by_others_and_combined(
    tmp_path: Path, visit: Visit, open_page: Open, mechanism: str
) -> None:
    with collecting(sqlite(tmp_path)) as here:
        collector = here.collector
        collector.store.add_analyst("ann", "owner", hash_password(PASSWORD))
        open_survey(collector.surveys, "habits", FIRST, contributors=EACH)
        collector.refresh()
        others(here, FIRST, EACH - 1, 1)
        with visit() as context:
            page = context.new_page()
            page.goto(link_of(here, FIRST))
            answer(page, [0, 1, 2])
            state(page, "counted")
            made_for_first = link_of(here, FIRST)
            second = next_round(here, mechanism)
            # The first round's link still leads to that round, and nobody is alarmed.
            page.goto("about:blank")
            page.goto(made_for_first)
            state(page, "already")
            with visit() as fresh:
                other = fresh.new_page()
                other.goto(made_for_first)
                state(other, "closed")
                other.goto("about:blank")
                other.goto(f"{made_for_first[:-1]}{'01'[made_for_first[-1] == '0']}")
                state(other, "refused")
            # A person who answered the first round is not asked again on this device, and nothing is drawn.
            page.goto("about:blank")
            page.goto(link_of(here, second))
            state(page, "earlier")
            assert page.locator("form").count() == 0
            assert [one["collection"] for one in stored(page)] == [FIRST.id]
        others(here, second, EACH - 2, 2)
        for codes in ([1, 1, 1], [2, 0, 1]):
            with visit() as context:
                page = context.new_page()
                page.goto(link_of(here, second))
                answer(page, codes)
                state(page, "counted")
        collector.surveys.close("habits", now=True)
        collector.refresh()
        first, later = (Aggregate.from_bytes(collector.surveys.export("habits", place)) for place in (1, 2))
        assert (first.n, later.n) == (EACH, EACH)
        # The second round is the one that `deniable learn` makes from the first round's file, and so is the
        # combination.
        assert next_phase(FIRST, first, EACH, mechanism).id == second.id
        phases = Phases([(FIRST, first), (second, later)])
        estimates = phases.estimate(estimator="unmixed" if mechanism == "Corr-RR" else None)
        page = logged_in(here, open_page)
        page.click('a[href="/surveys/habits"] >> nth=-1')
        page.wait_for_selector("#together")
        shown = page.evaluate("async () => (await fetch('/surveys/habits/combination.json')).json()")
        for row, one in zip(shown["estimate"]["attributes"], estimates.values(), strict=True):
            assert [cell["estimate"] for cell in row["categories"]] == one.frequencies.tolist()
        assert shown["warnings"] == list(phases.warnings("unmixed" if mechanism == "Corr-RR" else None))
        assert page.locator("#rounds ~ .wide tbody tr").count() == 2
        assert page.locator("p.alarm").count() == len(shown["warnings"])
        accessible(page)
        pictured(page, f"rounds-{mechanism}")
        page.set_viewport_size({"width": 390, "height": 844})
        page.click("section[aria-labelledby=together] summary")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        pictured(page, f"rounds-{mechanism}-phone")
        page.click("#rounds ~ .wide tbody a")
        page.wait_for_url("**?round=1")
        assert page.inner_text("#rounds ~ .wide tbody tr >> nth=0").split("\t")[0] == "1, shown here"
        assert page.locator("button[data-act]").count() == 0


def test_invitations_that_were_split_serve_one_round_each(tmp_path: Path, visit: Visit, open_page: Open) -> None:
    with collecting(sqlite(tmp_path)) as here:
        collector = here.collector
        collector.store.add_analyst("ann", "owner", hash_password(PASSWORD))
        open_survey(collector.surveys, "habits", FIRST, contributors=EACH, access="invited")
        links = draw_links(2 * EACH, rounds=2)
        early, late = ([one for one in links if one.position == position] for position in (1, 2))

        def invite(collection: Collection, these: list[object]) -> None:
            collector.store.invite(collection.id, invitations(collection.id, these, 20))  # type: ignore[arg-type]
            collector.refresh()

        def person(collection: Collection, token: bytes) -> str:
            return f"{link_of(here, collection)}.{to_base64url(token)}"

        invite(FIRST, list(early))
        for one in early[:2]:
            with visit() as context:
                page = context.new_page()
                page.goto(person(FIRST, one.token))
                answer(page, [0, 1, 2])
                state(page, "counted")
        second = next_round(here, "Corr-RR")
        invite(second, list(late))
        with visit() as context:
            page = context.new_page()
            # A link of the first round draws nothing in the second, whoever has it.
            page.goto(person(second, early[5].token))
            answer(page, [0, 1, 2])
            state(page, "uninvited")
            page.goto("about:blank")
            page.goto(person(second, late[0].token))
            answer(page, [0, 1, 2])
            state(page, "counted")
        page = logged_in(here, open_page)
        page.click('a[href="/surveys/habits"] >> nth=-1')
        page.wait_for_selector("#invited")
        said = page.inner_text("section[aria-labelledby=invited]")
        # One of sixty was used. This is less than a batch, so nobody sees it.
        assert f"0 of {EACH} invitations used (0%), counted in steps of 20" in said
        assert "not who" in said
        accessible(page)
        pictured(page, "rounds-invited")
        assert json.loads(page.evaluate("document.querySelector('#dashboard').dataset.n")) == 0

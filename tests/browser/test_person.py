"""One person's budget in a browser: waves with one memo, a limit that tabs and lists cannot exceed, and saved lists."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deniable import GRR
from deniable.files.jobs.person import PersonLedger
from deniable.oracles import MemoisedGRR, MemoisedHash
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema
from tests.browser.loopback import Loopback
from tests.browser.test_survey_page import Visit, answer, one_question, state, stored, violations, visit

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

__all__ = ["visit"]
SCHEMA = Schema((Attribute("smoker", ("yes", "no")),))


def serve(server: Loopback, collection: Collection) -> None:
    """Let one address serve another survey, because a browser stores data by origin."""
    server.collection, server.document, server.page = collection, collection.to_json(), one_question(collection).page


def visit_again(page: Page, server: Loopback, collection: Collection) -> None:
    serve(server, collection)
    page.goto("about:blank")
    page.goto(server.link)


@contextmanager
def asking(mechanism: Any, title: str = "spring") -> Iterator[Loopback]:
    with one_question(Collection(SCHEMA, mechanism, title=title)) as running:
        yield running


def total(page: Page) -> str:
    page.click(".device summary")
    return page.inner_text(".device td.sum")


def set_limit(page: Page, value: str, says: str = "Limit saved.") -> None:
    if not page.locator("#deniable-limit").is_visible():
        page.click(".device summary")
    page.fill("#deniable-limit", value)
    page.click("button:text-is('Set this limit')")
    page.wait_for_selector(f"text={says}")


def test_waves_are_reported_from_one_memo_that_is_drawn_before_any_answer(visit: Visit, tmp_path: Path) -> None:
    """With equal budgets, a report is the stored row: two waves send the same bytes; both rows were stored at once."""
    coins, path = MemoisedGRR(2, 2.0, 2.0), tmp_path / "list.json"
    with asking(coins) as server, visit() as context:
        page = context.new_page()
        page.goto(server.link)
        state(page, "welcome")
        # Before the first question the page says what is not protected.
        assert "If your answer changes, others may see when it changed." in page.inner_text(".welcome")
        assert stored(page, "memos") == []
        answer(page)
        state(page, "counted")
        (memo,) = stored(page, "memos")
        assert len(memo["rows"]) == 2
        visit_again(page, server, Collection(SCHEMA, coins, title="autumn"))
        answer(page)
        state(page, "counted")
        assert stored(page, "memos") == [memo]
        sent = {json.loads(body)["reports"][0]["report"] for body in server.bodies}
        assert sent == {memo["rows"][1]}
        # Two reports copy one memo. If times of change are known, both answers may have been used.
        assert total(page) == "4"
        with page.expect_download() as download:
            page.click("button:text-is('Save the list')")
        download.value.save_as(path)
        # Who leaves is told that the memo stays. Without it, a later wave would spend epsilon again.
        page.click("text=Leave this device")
        state(page, "left")
        assert "Random draws for later parts of this survey stay too." in page.inner_text("main")
        assert stored(page, "memos") == [memo]
    ledger = PersonLedger(tmp_path / "ledger.json")
    assert ledger.merge(path) == 2
    assert ledger.merge(path) == 0
    found = ledger.total()
    assert found.times_known
    assert found.epsilon == 4


def test_another_series_has_another_memo_and_cells_are_counted_as_cells(visit: Visit, tmp_path: Path) -> None:
    coins, path = MemoisedHash(2, 2.0, 1.0, 2), tmp_path / "list.json"
    with asking(coins) as server, visit() as context:
        page = context.new_page()
        page.goto(server.link)
        answer(page)
        state(page, "counted")
        visit_again(page, server, Collection(SCHEMA, MemoisedGRR(2, 2.0, 1.0), title="another"))
        answer(page)
        state(page, "counted")
        assert len({one["id"] for one in stored(page, "memos")}) == 2
        visit_again(page, server, Collection(SCHEMA, coins, title="autumn"))
        answer(page)
        state(page, "counted")
        shown = float(total(page))
        with page.expect_download() as download:
            page.click("button:text-is('Save the list')")
        download.value.save_as(path)
    ledger = PersonLedger(tmp_path / "ledger.json")
    ledger.merge(path)
    epsilon = ledger.total().epsilon
    assert epsilon is not None
    assert shown == pytest.approx(float(epsilon), rel=1e-8)
    # The browser itself proves what each further report adds. The amount is the library's number to its last digits.
    assert float(epsilon) == pytest.approx(1 + coins.history_epsilon(2), rel=1e-12)


def test_the_page_refuses_what_would_pass_the_limit_and_says_by_how_much(visit: Visit) -> None:
    with asking(GRR(2, 1.0)) as server, visit() as context:
        page = context.new_page()
        page.goto(server.link)
        state(page, "welcome")
        set_limit(page, "nothing", "Enter a number above 0")
        set_limit(page, "1.5")
        answer(page)
        state(page, "counted")
        visit_again(page, server, Collection(SCHEMA, GRR(2, 0.7), title="second"))
        state(page, "full")
        said = page.inner_text("section.end")
        assert "your total would be 1.7. That is 0.2 above the limit of 1.5" in said
        assert page.locator("form").count() == 0
        page.click(".device summary")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        # A total that equals the limit is within it: 0.5 and 1 are 1.5.
        visit_again(page, server, Collection(SCHEMA, GRR(2, 0.5), title="third"))
        answer(page)
        state(page, "counted")
        assert len(server.bodies) == 2
        # Without a limit the survey is asked again.
        visit_again(page, server, Collection(SCHEMA, GRR(2, 0.7), title="second"))
        state(page, "full")
        set_limit(page, "")
        page.reload()
        state(page, "welcome")


def test_two_tabs_cannot_overspend_together(visit: Visit) -> None:
    """Both tabs are opened while there is budget for either survey; only one report is drawn."""
    with asking(GRR(2, 1.0)) as server, visit() as context:
        first, second = context.new_page(), context.new_page()
        first.goto(server.link)
        state(first, "welcome")
        set_limit(first, "1.5")
        visit_again(second, server, Collection(SCHEMA, GRR(2, 0.9), title="second"))
        state(second, "welcome")
        counted = server.counted
        for page in (second, first):
            state(page, "welcome")
        # Each tab answers up to the last press, and then both press.
        answer(second)
        state(second, "counted")
        first.bring_to_front()
        answer(first)
        state(first, "full")
        assert "That is 0.4 above the limit of 1.5" in first.inner_text("section.end")
        assert len(counted) == len(server.bodies) == 1
        assert len(stored(first)) == len(stored(first, "spending")) == 1


def test_an_imported_list_counts_and_cannot_be_used_to_overspend(visit: Visit, tmp_path: Path) -> None:
    here = PersonLedger(tmp_path / "here.json")
    with here.spending(Collection(SCHEMA, GRR(2, 4.0))):
        pass
    path, lower = tmp_path / "theirs.json", tmp_path / "lower.json"
    here.save(path)
    data = json.loads(path.read_text())
    data["draws"][0]["epsilon"] = "0.1"
    lower.write_text(json.dumps(data))
    with asking(GRR(2, 2.0)) as server, visit() as context:
        page = context.new_page()
        page.goto(server.link)
        state(page, "welcome")
        set_limit(page, "5")
        for _ in range(2):
            page.set_input_files("#deniable-file", path)
            page.wait_for_selector("text=List loaded.")
            assert page.inner_text(".device td.sum") == "4"
        # A second entry for the same draw would lower the total.
        page.set_input_files("#deniable-file", lower)
        page.wait_for_selector("text=This file is not a saved list.")
        assert page.inner_text(".device td.sum") == "4"
        page.reload()
        state(page, "full")
        assert "your total would be 6. That is 1 above the limit of 5" in page.inner_text("section.end")
        assert server.bodies == []
        assert stored(page, "spending")[0]["epsilon"] == "4"


def with_list(context: BrowserContext, link: str, path: Path) -> Page:
    """Return the first page of a survey after a list was loaded."""
    page = context.new_page()
    page.goto(link)
    state(page, "welcome")
    page.click(".device summary")
    page.set_input_files("#deniable-file", path)
    return page


@pytest.mark.parametrize(
    "draw",
    [
        {"epsilon": "-1"},
        {"epsilon": "0"},
        {"draw": "short"},
        {"memo": {"id": "m", "forever": "2", "once": "1", "step": "-0.5", "rows": 2}},
        {"memo": {"id": "m", "forever": "", "once": "1", "step": "", "rows": 2}},
    ],
)
def test_a_list_that_would_lower_a_total_is_refused(draw: dict[str, Any], visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    entry = {"draw": "ab" * 16, "collection": "1f", "epsilon": "1", **draw}
    path.write_text(json.dumps({"format": "deniable person ledger", "format_version": 1, "draws": [entry]}))
    with asking(GRR(2, 2.0)) as server, visit() as context:
        page = with_list(context, server.link, path)
        page.wait_for_selector("text=This file is not a saved list.")
        assert stored(page, "spending") == []


def test_a_list_with_permanent_responses_is_loaded(visit: Visit, tmp_path: Path) -> None:
    """Both kinds: later reports that cost the budget of all of them, and a next report that costs one step."""
    path = tmp_path / "list.json"
    memo = {"id": "m", "forever": "2", "once": "1", "rows": 2}
    draws = [
        {"draw": digits * 16, "collection": "1f", "epsilon": "1", "memo": {**memo, "step": step}}
        for digits, step in (("ab", ""), ("cd", "0.5"))
    ]
    path.write_text(json.dumps({"format": "deniable person ledger", "format_version": 1, "draws": draws}))
    with asking(GRR(2, 2.0)) as server, visit() as context:
        page = with_list(context, server.link, path)
        page.wait_for_selector("text=List loaded.")
        assert [one["memo"]["step"] for one in stored(page, "spending")] == ["", "0.5"]


def test_reports_of_a_browser_are_the_mechanisms(visit: Visit) -> None:
    """A report decodes as one of the library's, and a row of the memo is one of its permanent responses."""
    coins = MemoisedGRR(2, Fraction(2), Fraction(1))
    with asking(coins) as server, visit() as context:
        page = context.new_page()
        page.goto(server.link)
        answer(page)
        state(page, "counted")
        (report,) = server.counted.values()
        assert report in (b"\0", b"\1")
        (memo,) = stored(page, "memos")
        assert {base64.urlsafe_b64decode(row + "==") for row in memo["rows"]} <= {b"\0", b"\1"}

"""The collector in a browser: a person answers, the batch arrives, and the dashboard agrees with the results."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deniable.service.auth import LINK, Logins, hash_password
from deniable.service.server import Running
from tests.browser.test_survey_page import AXE, answer, violations
from tests.service.asking import ASKED, PASSWORD, Caller, body, collecting, open_survey, sqlite, summed, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open = Callable[..., "Page"]


def pictured(page: Page, name: str) -> None:
    """Save a picture for review if a folder for pictures is named."""
    if folder := os.environ.get("DENIABLE_PICTURES"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def accessible(page: Page) -> None:
    """Assert that axe finds no fault, if it is installed (npm ci in client/), as in the check of a clean checkout."""
    if AXE.exists() or os.environ.get("DENIABLE_BROWSER") == "required":
        assert not violations(page)


def logged_in(here: Running, open_page: Open, **options: Any) -> Page:
    secret = Logins(here.collector.store, here.collector.clock).issue("ann", "link", LINK)
    page = open_page(f"{here.admin}/login#{secret}", **options)
    page.wait_for_url(f"{here.admin}/")
    assert secret not in page.url
    return page


def numbers(page: Page) -> list[list[str]]:
    """Return category, estimate, standard error and interval of each row of the charts in the DOM."""
    found: list[list[str]] = page.eval_on_selector_all(
        "table.charted tbody tr",
        "rows => rows.map(row => [...row.querySelectorAll('th, td.number')].map(cell => cell.textContent.trim()))",
    )
    return found


def shown(page: Page, data: dict[str, Any]) -> None:
    """Assert that the DOM shows the numbers of the results, to its own number of digits."""
    rows = numbers(page)
    known = [row for attribute in data["estimate"]["attributes"] for row in attribute["categories"]]
    assert [row[0] for row in rows] == [row["category"] for row in known]
    for cells, row in zip(rows, known, strict=True):
        texts = re.findall(r"-?[\d.]+(?=%)", " ".join(cells[1:]))
        exact = [row[key] for key in ("estimate", "standard_error", "lower", "upper") if row[key] is not None]
        assert len(texts) == len(exact)
        for text, value in zip(texts, exact, strict=True):
            decimals = len(text.partition(".")[2])
            assert abs(float(text) - 100 * value) <= 0.500001 * 10**-decimals
    assert page.inner_text("[data-field=n]").replace(",", "") == str(data["n"])


def test_a_person_answers_and_the_dashboard_shows_the_batch(tmp_path: Path, open_page: Open, browser: Browser) -> None:
    with collecting(sqlite(tmp_path), drain_seconds=0.2) as here:
        collector = here.collector
        collector.store.add_analyst("ann", "owner", hash_password(PASSWORD))
        open_survey(collector.surveys)
        collector.refresh()
        page = logged_in(here, open_page)
        page.click("text=smoking")
        page.wait_for_selector("text=No reports yet")
        pictured(page, "dashboard-empty")
        accessible(page)

        # Nineteen others answer, and one person uses the page, because a batch is twenty reports.
        Caller(here.public).post(body(19))
        person = browser.new_page(viewport={"width": 390, "height": 800})
        person.goto(here.public + collector.surveys.status("smoking")["link"])
        person.wait_for_selector("[data-state=welcome]")
        pictured(person, "page-welcome")
        assert summed(collector.store, ASKED.id)[1] == 0
        answer(person)
        person.wait_for_selector("[data-state=counted]", timeout=60_000)
        pictured(person, "page-counted")
        person.close()
        until(lambda: summed(collector.store, ASKED.id)[1] == 20)

        # The page looks every ten seconds.
        page.wait_for_selector("[data-field=n]:text-is('20')", timeout=60_000)
        me = Caller(here.admin, {"cookie": "; ".join(f"{c['name']}={c['value']}" for c in page.context.cookies())})
        found = me("GET", "/surveys/smoking/results.json").json
        assert (found["n"], found["intervals"]) == (20, "any")
        shown(page, found)
        pictured(page, "dashboard-open")
        accessible(page)

        Caller(here.public).post(body(380, start=1000))
        until(lambda: summed(collector.store, ASKED.id)[1] == 400)
        page.set_viewport_size({"width": 320, "height": 700})
        page.reload()
        shown(page, me("GET", "/surveys/smoking/results.json").json)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        pictured(page, "dashboard-narrow")
        # A pace is known from two days on.
        assert "A forecast needs 30 reports on two days." in page.inner_text(".side")
        accessible(page)
        # The state of the survey is marked on the curve, and the text says the same.
        box, here_box = (page.locator(one).bounding_box() for one in (".curve .path", ".curve .here"))
        assert box is not None
        assert here_box is not None
        assert box["y"] <= here_box["y"] + here_box["height"] / 2 <= box["y"] + box["height"]
        for direction in ("ltr", "rtl"):
            for width, size in ((320, "100%"), (640, "200%")):
                page.set_viewport_size({"width": width, "height": 700})
                page.evaluate(
                    "([d, s]) => { document.documentElement.dir = d; document.documentElement.style.fontSize = s; }",
                    [direction, size],
                )
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (direction, size)
        page.goto(f"{here.admin}/")
        assert "400 reports" in page.inner_text(".surveys")
        assert page.locator(".surveys progress").count() == 1
        accessible(page)
        page.goto(f"{here.admin}/surveys/smoking")

        collector.surveys.close("smoking", now=True)
        collector.refresh()
        page.set_viewport_size({"width": 1200, "height": 900})
        page.reload()
        closed = me("GET", "/surveys/smoking/results.json").json
        assert closed["intervals"] == "one"
        shown(page, closed)
        pictured(page, "dashboard-closed")
        # Nobody comes any more, so the page states no pace.
        assert re.fullmatch(r"Single-choice results are within ±[0-9.]+ points\.", page.inner_text(".progress"))
        # The first result is read without scrolling, and its basis is one tap away.
        page.set_viewport_size({"width": 1200, "height": 800})
        assert page.locator(".finding").first.bounding_box()["y"] > 0  # type: ignore[index]
        assert page.evaluate("document.querySelector('.finding').getBoundingClientRect().bottom") <= 800
        assert "epsilon" not in page.inner_text("main").lower()
        for details in page.locator("details").all():
            details.locator("summary").first.click()
        accessible(page)
        page.emulate_media(color_scheme="dark")
        accessible(page)


def test_owners_pause_with_a_button_and_log_out(tmp_path: Path, open_page: Open) -> None:
    with collecting(sqlite(tmp_path)) as here:
        collector = here.collector
        collector.store.add_analyst("ann", "owner", hash_password(PASSWORD))
        open_survey(collector.surveys)
        collector.refresh()
        page = open_page(f"{here.admin}/", dark=True)
        page.wait_for_url(f"{here.admin}/login")
        pictured(page, "login")
        accessible(page)
        page.fill("#name", "ann")
        page.fill("#password", PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{here.admin}/")
        pictured(page, "surveys-dark")
        page.set_viewport_size({"width": 320, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        assert "No reports yet. 0 reports of 500 planned" in " ".join(page.inner_text(".surveys li").split())
        accessible(page)
        page.click("text=smoking")
        page.click("button[data-act=pause]")
        page.wait_for_selector("[data-field=state]:text-is('paused')")
        assert collector.surveys.status("smoking")["state"] == "paused"
        accessible(page)
        page.click("button[data-act=open]")
        page.wait_for_selector("[data-field=state]:text-is('open')")
        collector.surveys.close("smoking", now=True)
        collector.refresh()
        page.reload()
        # Cancelling deletes nothing. Typing the name deletes.
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.click("button[data-act=delete]")
        assert collector.surveys.status("smoking")["state"] == "closed"
        page.once("dialog", lambda dialog: dialog.accept("smoking"))
        page.click("button[data-act=delete]")
        page.wait_for_url(f"{here.admin}/")
        assert "There is no survey yet" in page.inner_text("main")
        page.click("#logout")
        page.wait_for_url(f"{here.admin}/login")
        page.goto(f"{here.admin}/surveys/smoking")
        page.wait_for_url(f"{here.admin}/login")
        # Requests that still run would be errors once the collector has ended.
        page.close()


@pytest.mark.long
def test_wrong_passwords_are_said_in_words_and_the_own_one_is_changed(tmp_path: Path, browser: Browser) -> None:
    with collecting(sqlite(tmp_path)) as here:
        collector = here.collector
        collector.store.add_analyst("ann", "owner", hash_password(PASSWORD))
        open_survey(collector.surveys)
        collector.refresh()
        # Chromium writes every refusal to the console.
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(f"{here.admin}/login")

        def tried(password: str) -> None:
            page.fill("#name", "ann")
            page.fill("#password", password)
            page.click("#login button")

        for _ in range(5):
            tried("wrong password")
            page.wait_for_selector("#said:text-is('The name or the password is wrong.')")
            # The wrong entry is not left there, and the next one can be typed at once.
            assert page.input_value("#password") == ""
            assert page.evaluate("document.activeElement.id") == "password"
        tried(PASSWORD)
        page.wait_for_selector("#said:text-matches('^Too many wrong passwords came. Try again in [0-9]+ seconds?.$')")
        pictured(page, "login-wait")
        accessible(page)
        page.wait_for_timeout(1500)
        tried(PASSWORD)
        page.wait_for_url(f"{here.admin}/")

        page.click("text=ann")
        page.wait_for_url(f"{here.admin}/account")
        pictured(page, "account")
        accessible(page)
        new = "another long password"
        page.fill("#old", PASSWORD)
        page.fill("#new", new)
        page.fill("#again", new + "!")
        page.click("#change button")
        page.wait_for_selector("#said:text-is('The new passwords differ.')")
        page.fill("#again", new)
        page.click("#change button")
        page.wait_for_selector("#said:text-is('The password is changed. All other sessions have ended.')")
        page.click("text=Log out everywhere")
        page.wait_for_url(f"{here.admin}/login")
        tried(new)
        page.wait_for_url(f"{here.admin}/")

        page.click("text=Audit")
        page.wait_for_url(f"{here.admin}/audit")
        acts = "[...document.querySelectorAll('.entries tbody tr')].map(row => row.cells[2].textContent)"
        assert page.evaluate(acts) == ["log-in", "log-out", "set-password", "log-in", "log-in failed"]
        page.set_viewport_size({"width": 320, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        pictured(page, "audit")
        accessible(page)
        page.fill("#survey", "smoking & more")
        page.click("#filter button")
        page.wait_for_selector("text=There are no entries.")
        assert page.input_value("#survey") == "smoking & more"
        page.close()

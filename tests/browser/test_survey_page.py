"""The survey page in Chromium: what a person sees, what leaves the device, and what stays on it."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from deniable import GRR
from deniable.core.construction import mechanism
from deniable.files.wire import from_wire
from deniable.records.pivot.pivot_coded import PivotCoded
from deniable.service.survey_page import LANGUAGES, draft_page, page_hash
from deniable.survey.collection import Collection, LearnedFrom
from deniable.survey.schema import Attribute, Schema
from tests.browser.loopback import Loopback
from tests.browser.surveys import WORDS, every_kind, page_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

ROOT = Path(__file__).parents[2]
AXE = ROOT / "client" / "node_modules" / "axe-core" / "axe.min.js"
SPY = """
globalThis.violations = [];
document.addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective));
globalThis.delays = [];
const wait = globalThis.setTimeout;
globalThis.setTimeout = (act, delay, ...rest) => {
  delays.push(delay);
  if (globalThis.held && delay % 1) return (globalThis.release = act) && 0;
  return wait(act, delay % 1 ? delay / 20 : delay, ...rest);
};
"""
"""Records violations of a page's policy and waiting times. Random waits are 20 times shorter, or held on request."""
EXPECTED = re.compile(
    r"Failed to load resource: (the server responded with a status of (403|404|410|503)|net::ERR_INTERNET)"
)
"""Messages that a browser itself writes to the console about answers that are part of the contract."""

STATES = {
    *("welcome", "question", "review", "sending", "offline", "busy", "rejected", "counted", "already"),
    *("left", "gone", "closed", "notOpen", "earlier", "refused", "used", "uninvited"),
}
"""Possible values of `data-state`."""

Visit = Callable[..., AbstractContextManager["BrowserContext"]]


@pytest.fixture
def visit(browser: Browser) -> Visit:
    """Open a fresh profile whose pages must raise no error, violate no policy and write nothing to the console."""

    @contextmanager
    def opened(width: int = 390, height: int = 800, **options: Any) -> Iterator[BrowserContext]:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        context.set_default_timeout(60_000)
        context.add_init_script(SPY)
        faults: list[str] = []
        context.on("console", lambda line: faults.append(line.text) if not EXPECTED.match(line.text) else None)
        context.on("weberror", lambda error: faults.append(str(error.error)))
        yield context
        for page in context.pages:
            assert page.evaluate("globalThis.violations ?? []") == []
        context.close()
        assert faults == []

    return opened


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[Loopback]:
    """A survey with a question of every kind."""
    collection = every_kind(tmp_path)
    with Loopback(collection, page_of(collection), {"fruit": WORDS}) as running:
        yield running


@pytest.fixture
def smoker() -> Iterator[Loopback]:
    """A survey of one question."""
    with one_question(
        Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(2, 1.0), title="Smoking")
    ) as running:
        yield running


def one_question(collection: Collection, **settings: Any) -> Loopback:
    questions = {one.name: f"Is it {one.name}?" for one in collection.schema.attributes}
    labels = {one.name: list(one.labels) for one in collection.schema.attributes}
    words = {"title": "Smoking", "intro": "a", "consent": "b", "thanks": "c", "questions": questions, "labels": labels}
    page = {**page_of(collection), "languages": {"en": words}}
    return Loopback(collection, page, **settings)


def go_on(page: Page) -> None:
    """Press the button for the next step: Start, Next, Review or Send my report."""
    page.click("form button[type=submit]:visible")


def answer(page: Page) -> None:
    """Answer the survey of one question, or every question of `every_kind`, and send."""
    state(page, "welcome")
    go_on(page)
    page.check("input[name=deniable-0][value='1']")
    if page.locator("#deniable-2").count():
        go_on(page)
        page.check("input[name=deniable-1][value='2']")
        go_on(page)
        page.fill("#deniable-2", "7.5")
        go_on(page)
        page.check("input[name=deniable-3][value='0']")
        go_on(page)
        page.fill("#deniable-4", "fig")
    go_on(page)
    state(page, "review")
    page.check("input[name=agree]")
    go_on(page)


def state(page: Page, name: str) -> None:
    """Wait until the page is in a state."""
    page.wait_for_selector(f"[data-state={name}]")


def stored(page: Page, table: str = "responses") -> list[dict[str, Any]]:
    """Return the data on this device: responses, or another table; check that no other data are stored."""
    kept: list[dict[str, Any]] = page.evaluate(
        """async (wanted) => {
            if (localStorage.length || sessionStorage.length || document.cookie) throw Error('something else is kept');
            const found = [];
            for (const { name } of await indexedDB.databases()) {
                const database = await new Promise((done) => {
                    const opening = indexedDB.open(name); opening.onsuccess = () => done(opening.result);
                });
                for (const table of database.objectStoreNames) if (table === wanted)
                    found.push(...await new Promise((done) => {
                        const all = database.transaction(table).objectStore(table).getAll();
                        all.onsuccess = () => done(all.result);
                    }));
                database.close();
            }
            return found;
        }""",
        table,
    )
    return kept


def violations(page: Page) -> list[str]:
    """Return the faults that axe finds on a page."""
    if not AXE.exists():
        required = os.environ.get("DENIABLE_BROWSER") == "required" and shutil.which("npm") is not None
        (pytest.fail if required else pytest.skip)("axe-core is not installed (npm ci in client/)")
    return axe(page)


def axe(page: Page, **options: Any) -> list[str]:
    """Return the rules that axe finds broken, with the first element of each; other rules are not listed."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(f"(() => {{ {AXE.read_text(encoding='utf-8')} }})()")
    run = "axe.run({ resultTypes: ['violations'], preload: false, ...options })"
    found = f"async (options) => (await {run}).violations.map((one) => one.id + ' ' + one.nodes[0].html)"
    return [str(one) for one in page.evaluate(found, options)]


def test_somebody_answers_on_a_phone_with_the_keyboard_alone(visit: Visit, survey: Loopback) -> None:
    with visit() as context:
        page = context.new_page()
        page.goto(survey.link)
        state(page, "welcome")
        button = "form button[type=submit]"
        steps = [
            (button, ["Enter"]),
            ("input[name=deniable-0]", ["ArrowDown"]),
            (button, ["Enter"]),
            ("input[name=deniable-1]", ["ArrowDown", "ArrowDown"]),
            (button, ["Enter"]),
            # Enter in a field also goes on.
            ("#deniable-2", ["7", ".", "5", "Enter"]),
            ("input[name=deniable-3]", ["Space"]),
            (button, ["Enter"]),
            ("#deniable-4", ["f", "i", "g", "Enter"]),
            ("input[name=agree]", ["Space"]),
            (button, ["Enter"]),
        ]
        for selector, keys in steps:
            # The new part has the focus, and is read out.
            assert page.evaluate("document.activeElement.matches('body, h1, input')"), selector
            for _ in range(20):
                page.keyboard.press("Tab")
                if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
                    break
            assert page.evaluate("(selector) => document.activeElement.matches(selector)", selector), selector
            for key in keys:
                page.keyboard.press(key)
        page.wait_for_selector("h1:focus:text-is('Thank you. Your report counts.')")
        state(page, "counted")
        (report,) = survey.counted.values()
        of = survey.collection.mechanism
        rows = np.frombuffer(report, dtype=np.uint8)[None, :]
        assert of.aggregate(from_wire(of, rows)).n == 1
        # Nothing was posted before the report, and nothing identifies the device.
        assert survey.posts == ["/reports"]
        assert not any("cookie" in (key.lower() for key in headers) for headers in survey.headers)


def test_nothing_on_the_device_knows_the_answers(visit: Visit, survey: Loopback) -> None:
    with visit() as context:
        page = context.new_page()
        page.goto(survey.link)
        answer(page)
        state(page, "counted")
        (kept,) = stored(page)
        assert set(kept) == {"collection", "person", "title", "epsilon", "body", "page", "state", "leaf"}
        # Spending is recorded under a name that no report carries, and does not depend on an answer either.
        (spent,) = stored(page, "spending")
        assert set(spent) == {"draw", "collection", "epsilon", "person"}
        assert spent["draw"] not in survey.bodies[0].decode()
        # The report was counted. So nobody sends it again, and nobody else who uses the device can read it.
        assert kept["body"] == ""
        assert page.locator("form, fieldset, input:not([type=file], #deniable-limit)").count() == 0
        # The only wait before the first try is uniform on 0 to 3 seconds, whatever was answered.
        delays = page.evaluate("delays.filter((one) => one !== undefined)")
        assert len(delays) == 1
        assert 0 <= delays[0] < 3000
        assert delays[0] != round(delays[0])


def test_what_cannot_be_kept_is_not_sent(visit: Visit, smoker: Loopback) -> None:
    with visit() as context:
        page = context.new_page()
        page.goto(smoker.link)
        state(page, "welcome")
        page.evaluate(
            "IDBObjectStore.prototype.add = () => { throw new DOMException('full', 'QuotaExceededError'); }; 0"
        )
        answer(page)
        state(page, "refused")
        assert "full" in (page.text_content("[role=alert]") or "")
        assert smoker.posts == []


def test_two_tabs_three_failures_and_two_reloads_are_one_report(visit: Visit, survey: Loopback) -> None:
    survey.failures = [503, 503, 503]
    with visit() as context:
        first, second = context.new_page(), context.new_page()
        for page in first, second:
            page.goto(survey.link)
            state(page, "welcome")
        answer(first)
        answer(second)
        first.reload()
        second.reload()
        for page in first, second:
            # The other tab's report may have been counted before this tab was loaded.
            page.wait_for_selector("[data-state=counted], [data-state=already]")
        assert len(stored(first)) == 1
    assert len(set(survey.bodies)) == 1
    assert len(survey.bodies) >= 4
    assert len(survey.counted) == 1


def test_what_is_drawn_offline_goes_when_the_device_is_online(visit: Visit, smoker: Loopback) -> None:
    with visit() as context:
        page = context.new_page()
        page.goto(smoker.link)
        state(page, "welcome")
        context.set_offline(True)
        answer(page)
        state(page, "offline")
        assert page.inner_text("h1").endswith("offline")
        assert smoker.bodies == []
        context.set_offline(False)
        state(page, "counted")
        # At the next visit the device says that it has answered, and sends nothing.
        page.reload()
        state(page, "already")
        assert len(smoker.bodies) == 1


def test_what_a_closed_survey_does_not_take_is_kept_and_can_be_tried_again(visit: Visit, smoker: Loopback) -> None:
    smoker.failures = [410]
    with visit() as context:
        page = context.new_page()
        page.goto(smoker.link)
        answer(page)
        state(page, "rejected")
        assert "what to do, and give them this code: closed." in page.inner_text("section.end")
        assert page.get_attribute("section.end a", "href") == "mailto:asking@example.org"
        assert stored(page)[0]["state"] == "stopped"
        page.click("text=Try again")
        state(page, "counted")
    assert len(set(smoker.bodies)) == 1


@pytest.mark.long
def test_a_busy_collector_is_given_the_time_that_it_asks_for(visit: Visit, smoker: Loopback) -> None:
    smoker.failures, smoker.retry_after = [503], "2"
    with visit() as context:
        page = context.new_page()
        page.goto(smoker.link)
        answer(page)
        state(page, "counted")
        assert 2000 in page.evaluate("delays")
        # A timer of a month would end at once, and again, and again.
    smoker.failures, smoker.retry_after = [503], "9000000"
    with visit() as context:
        page = context.new_page()
        page.goto(smoker.link)
        answer(page)
        state(page, "busy")
        page.wait_for_function("delays.some((delay) => delay > 10_000)")
        assert max(page.evaluate("delays")) == 3_600_000


def test_what_was_counted_before_the_close_is_counted_though_its_answer_was_lost(
    visit: Visit, smoker: Loopback
) -> None:
    """The device asks both again if no answer says whether it was counted, and does not give up a possible count."""
    smoker.lost, smoker.silent = [410, 410], 1
    with visit() as context:
        page = context.new_page()
        page.goto(smoker.link)
        answer(page)
        state(page, "counted")
    assert len(smoker.counted) == 1
    assert smoker.posts[-4:] == ["/reports", "/receipts"] * 2


def test_only_the_collectors_own_word_is_believed(visit: Visit, smoker: Loopback) -> None:
    """The login page of a network answers 200 to everything."""
    smoker.failures = [200, 200]
    with visit() as context:
        page = context.new_page()
        page.goto(smoker.link)
        answer(page)
        state(page, "counted")
        assert stored(page)[0]["state"] == "counted"
    assert len(smoker.counted) == 1
    assert len(smoker.bodies) == 3


def test_the_language_is_chosen_and_answers_stay(visit: Visit, survey: Loopback) -> None:
    survey.page["languages"]["it"] = survey.page["languages"]["en"]
    with visit(width=320, locale="de-AT") as context:
        page = context.new_page()
        page.goto(survey.link)
        state(page, "welcome")
        assert page.inner_text("h1") == "Wie Menschen leben"
        assert page.inner_text("form button[type=submit]") == "Beginnen"
        assert page.inner_text(".promise").startswith("Ihre Antworten werden auf diesem Gerät zufällig verändert")
        # A sentence without a translation says in which language it is.
        page.select_option("#deniable-language", "it")
        assert page.get_attribute(".promise p", "lang") == "en"
        go_on(page)
        page.check("input[name=deniable-0][value='1']")
        go_on(page)
        page.select_option("#deniable-language", "ar")
        assert page.evaluate("[document.documentElement.lang, document.documentElement.dir]") == ["ar", "rtl"]
        assert page.title() == "كيف يعيش الناس"
        page.click("text=رجوع")
        assert page.is_checked("input[name=deniable-0][value='1']")
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        page.select_option("#deniable-language", "de")
        assert page.inner_text("label:has(input[name=agree]) >> visible=false") == "Ja, ich nehme teil."


def test_an_untranslated_answer_reads_from_left_to_right_on_a_page_from_right_to_left(
    visit: Visit, smoker: Loopback
) -> None:
    words = smoker.page["languages"].pop("en")
    smoker.page["languages"]["ar"] = {**words, "labels": {"smoker": ["1 to 9", "10 or more"]}}
    with visit(locale="ar") as context:
        page = context.new_page()
        page.goto(smoker.link)
        state(page, "welcome")
        go_on(page)
        ends = page.eval_on_selector(
            ".choices span",
            """(span) => [0, span.textContent.indexOf("9")].map((start) => {
              const range = document.createRange();
              range.setStart(span.firstChild, start);
              range.setEnd(span.firstChild, start + 2);
              return range.getBoundingClientRect().left;
            })""",
        )
        assert ends[0] < ends[1]


@pytest.mark.parametrize("timezone", ["America/New_York", "Asia/Tokyo"])
def test_a_date_is_the_typed_one_wherever_it_is_typed(visit: Visit, timezone: str) -> None:
    born = Attribute("born", edges=tuple(f"{year}-01-01" for year in range(1990, 2012)))
    schema = Schema((born,))
    with (
        one_question(Collection(schema, GRR(schema.sizes[0], 1.0), title="Years")) as running,
        visit(locale="en-US", timezone_id=timezone) as context,
    ):
        page = context.new_page()
        page.goto(running.link)
        state(page, "welcome")
        go_on(page)
        page.fill("input.typed", "2001-01-01")
        go_on(page)
        state(page, "review")
        assert page.inner_text(".answers dd >> nth=0") == "January 1, 2001"


@pytest.mark.parametrize(
    ("locale", "tag", "typed", "read", "hint", "wrong"),
    [
        ("en-GB", "en", "7.5", "7.5", "0 to 24.", "such as 6.5."),
        ("de-DE", "de", "7,5", "7,5", "0 bis 24.", "zum Beispiel 6,5."),
        (
            "ar-EG",
            "ar",
            "\u0667\u066b\u0665",
            "\u0667\u066b\u0665",
            "من \u0660 إلى \u0662\u0664.",
            "مثل \u0666\u066b\u0665.",
        ),
    ],
)
def test_numbers_are_written_as_the_reader_writes_them(
    visit: Visit, survey: Loopback, locale: str, tag: str, typed: str, read: str, hint: str, wrong: str
) -> None:
    with visit(locale=locale) as context:
        page = context.new_page()
        page.goto(survey.link)
        state(page, "welcome")
        assert page.evaluate("document.documentElement.lang") == tag
        go_on(page)
        page.check("input[name=deniable-0][value='1']")
        go_on(page)
        page.check("input[name=deniable-1][value='2']")
        go_on(page)
        assert page.inner_text("#deniable-2-hint").startswith(hint)
        for impossible in ("24.5", "abc", ""):
            page.fill("#deniable-2", impossible)
            go_on(page)
            assert page.inner_text("#deniable-2-fault").endswith(wrong)
            assert page.get_attribute("#deniable-2", "aria-invalid") == "true"
        page.fill("#deniable-2", typed)
        assert page.inner_text("#deniable-2-fault") == ""
        go_on(page)
        page.check("input[name=deniable-3][value='0']")
        go_on(page)
        page.fill("#deniable-4", "fig")
        go_on(page)
        state(page, "review")
        assert page.inner_text(".answers dd >> nth=4") == read
        page.check("input[name=agree]")
        go_on(page)
        state(page, "counted")
    assert len(survey.counted) == 1


def test_in_every_language_that_is_drafted_all_of_it_fits_a_narrow_phone(visit: Visit, tmp_path: Path) -> None:
    """No text of the page itself stays in English, and no long word makes the page wider than the phone."""
    collection = every_kind(tmp_path)
    texts = page_of(collection)
    for tag, words in draft_page(collection, languages=LANGUAGES).languages.items():
        texts["languages"][tag] = {**texts["languages"]["en"], "thanks": words.thanks}
    texts["second_person"] = True
    with Loopback(collection, texts, {"fruit": WORDS}) as survey, visit(width=320) as context:
        page = context.new_page()
        survey.failures = [410]

        def fits() -> None:
            for tag in LANGUAGES:
                page.select_option("#deniable-language", tag)
                assert page.evaluate("document.documentElement.scrollWidth") <= 320, tag
                assert page.locator("main [lang=en]:not(option)").count() == 0, tag
            page.select_option("#deniable-language", "en")

        page.goto(survey.link)
        state(page, "welcome")
        open_all(page)
        fits()
        page.select_option("#deniable-language", "en")
        answer(page)
        state(page, "rejected")
        page.click("text=Delete my report and leave")
        open_all(page)
        fits()
        page.click("text=Try again")
        state(page, "counted")
        page.click("text=Show what was sent")
        page.click("text=Someone else wants to answer")
        open_all(page)
        fits()
        # Bytes are read from left to right, also in Arabic.
        page.select_option("#deniable-language", "ar")
        assert page.evaluate("getComputedStyle(document.querySelector('pre')).direction") == "ltr"


def open_all(page: Page) -> None:
    """Open all elements that open on demand."""
    page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_state_is_accessible_and_fits_a_narrow_phone(visit: Visit, survey: Loopback, dark: bool) -> None:
    """Each screen is tested in light mode left to right, or in dark mode right to left."""
    scheme: dict[str, Any] = {"color_scheme": "dark", "locale": "ar"} if dark else {"color_scheme": "light"}
    survey.page["second_person"] = True
    survey.page["closes_at"] = "2126-06-14T12:00:00Z"
    seen = []
    with visit(width=320, **scheme) as context:
        page = context.new_page()

        def fine(name: str) -> None:
            state(page, name)
            seen.append(name)
            open_all(page)
            assert violations(page) == [], name
            assert page.evaluate("document.documentElement.scrollWidth") <= 320, name
            small = "[...document.querySelectorAll('button, label:has(input), select, summary, .typed')]"
            small += ".filter(e => e.offsetHeight && e.offsetHeight < 44).map(e => e.outerHTML)"
            assert page.evaluate(small) == [], name

        page.goto(survey.link)
        state(page, "welcome")
        page.click(".more summary >> nth=0")
        page.click(".pretend button")
        fine("welcome")
        go_on(page)
        answers: list[Callable[[], None]] = [
            lambda: page.check("input[name=deniable-0][value='1']"),
            lambda: page.check("input[name=deniable-1][value='2']"),
            lambda: page.fill("#deniable-2", "7.5"),
            lambda: page.check("input[name=deniable-3][value='none']"),
            lambda: page.fill("#deniable-4", "fig"),
        ]
        for give in answers:
            # The page says what is missing, and this message is accessible, too.
            go_on(page)
            fine("question")
            give()
            go_on(page)
        fine("review")
        go_on(page)
        fine("review")
        page.check("input[name=agree]")
        survey.failures, survey.retry_after = [503, 410], "40"
        context.set_offline(True)
        page.evaluate("globalThis.held = true")
        go_on(page)
        fine("sending")
        page.evaluate("globalThis.held = false; release()")
        fine("offline")
        context.set_offline(False)
        fine("busy")
        # A device that comes online again need not wait to the end.
        context.set_offline(True)
        context.set_offline(False)
        state(page, "rejected")
        page.click(".acts .plain")
        fine("rejected")
        page.click(".acts .go")
        state(page, "counted")
        page.click(".end > button >> nth=0")
        page.click(".end > button >> nth=1")
        fine("counted")
        page.reload()
        fine("already")
        page.click(".acts .go")
        fine("left")
        page.click(".end > button")
        page.click(".end div button")
        go_on(page)
        page.check("input[name=deniable-0][value='1']")
        page.reload()
        fine("left")
        page.goto(f"{survey.origin}/s/demo")
        fine("refused")
    with visit(width=320, **scheme) as context:
        page = context.new_page()
        for opened, name in (("paused", "notOpen"), ("closed", "closed")):
            survey.state = opened
            page.goto("about:blank")
            page.goto(survey.link)
            fine(name)
        survey.state = "open"
        page.reload()
        state(page, "welcome")
        go_on(page)
        for give in answers:
            give()
            go_on(page)
        page.click(".acts .plain")
        fine("gone")
    assert set(seen) == STATES - {"earlier", "used", "uninvited"}


@pytest.mark.parametrize(
    ("opens_at", "said"),
    [("2125-06-14T12:00:00Z", "It opens on June 14, 2125."), ("2025-06-14T12:00:00Z", ""), (None, "")],
)
def test_a_survey_that_is_not_open_yet_says_when_it_opens(
    visit: Visit, survey: Loopback, opens_at: str | None, said: str
) -> None:
    survey.page["opens_at"] = opens_at
    survey.state = "paused"
    with visit(locale="en-US") as context:
        page = context.new_page()
        page.goto(survey.link)
        state(page, "notOpen")
        shown = page.inner_text("main")
        assert said in shown
        assert ("It opens on" in shown) == bool(said)


def test_text_twice_as_large_still_fits(visit: Visit, survey: Loopback) -> None:
    with visit(width=640) as context:
        page = context.new_page()
        page.goto(survey.link)
        state(page, "welcome")
        # At 200%, half as many CSS pixels show the same letters.
        page.evaluate("document.documentElement.style.zoom = '2'")
        open_all(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 640
        answer(page)
        state(page, "counted")
        page.click("text=Show what was sent")
        assert page.evaluate("document.documentElement.scrollWidth") <= 640


def test_no_form_where_anything_is_off(visit: Visit, smoker: Loopback) -> None:
    digits = smoker.digits
    other, others = (f"{digits[:at]}{'0' if digits[at] != '0' else '1'}{digits[at + 1 :]}" for at in (0, 31))
    halves = smoker.collection.id[:16] + page_hash(json.dumps(smoker.page))[:16]
    document = smoker.document
    with visit() as context:
        page = context.new_page()
        for link, served, reason in [
            ("", document, "not complete"),
            # Earlier links carried nothing about the texts.
            (f"#{digits[:16]}", document, "not complete"),
            (f"#{digits[:31]}", document, "not complete"),
            (f"#{digits}0", document, "not complete"),
            (f"#{other}", document, "not the survey that your link was made for"),
            (f"#{others}", document, "not the survey that your link was made for"),
            # Earlier links ended in half of the id and half of the texts' hash.
            (f"#{halves}", document, "not the survey that your link was made for"),
            (f"#{digits}", document.replace('"epsilon": "1"', '"epsilon": "2"'), "was changed"),
            (
                f"#{digits}",
                document.replace('"epsilon": 1.0', '"epsilon": 0.5', 1),
                "is not the privacy its coins give",
            ),
            (f"#{digits}", "{", "damaged"),
        ]:
            smoker.document = served
            page.goto("about:blank")
            page.goto(f"{smoker.origin}/s/demo{link}")
            state(page, "refused")
            assert reason in (page.text_content("[role=alert]") or ""), link
            assert page.locator("form, input").count() == 0
        smoker.document = document
        page.goto("about:blank")
        smoker.state = "closed"
        page.goto(smoker.link)
        state(page, "closed")
        assert page.inner_text("h1") == "This survey has closed"
        assert page.locator("form").count() == 0
    assert smoker.posts == []


def test_who_answered_the_first_part_is_not_asked_the_second(visit: Visit, smoker: Loopback) -> None:
    schema = Schema((Attribute("smoker", ("yes", "no")), Attribute("drinker", ("yes", "no"))))
    second = Collection(
        schema, PivotCoded(schema.sizes, 1.0), learned_from=LearnedFrom("0" * 64, "1" * 64, 9, (smoker.collection.id,))
    )
    with visit() as context:
        page = context.new_page()
        page.goto(smoker.link)
        answer(page)
        state(page, "counted")
        # Both surveys have one address, as with a collector. The browser keeps data by origin.
        first, smoker.collection = smoker.collection, second
        smoker.document, smoker.page = second.to_json(), one_question(second).page
        page.goto("about:blank")
        page.goto(smoker.link)
        state(page, "earlier")
        assert "Other people must answer this part" in page.inner_text("section.end")
        assert page.locator("form").count() == 0
        assert page.evaluate("async () => (await indexedDB.databases()).length") == 1
        page.click(".device summary")
        assert first.title in page.inner_text(".device tbody")


def pivot() -> Collection:
    """A survey with a mechanism from the second file."""
    two = Schema((Attribute("smoker", ("yes", "no")), Attribute("drinker", ("yes", "no"))))
    return Collection(two, PivotCoded(two.sizes, 1.0), title="Habits")


def test_the_second_file_is_there_before_the_first_question(visit: Visit) -> None:
    with visit() as context, one_question(pivot()) as survey:
        page = context.new_page()
        loaded: list[str] = []
        page.on("request", lambda request: loaded.append(request.url))
        page.goto(survey.link)
        state(page, "welcome")
        assert sum("/static/further." in one for one in loaded) == 1
        # Nothing more is needed to draw. Only the report has to leave.
        context.set_offline(True)
        go_on(page)
        for j in range(2):
            page.check(f"input[name=deniable-{j}] >> nth=0")
            go_on(page)
        page.check("input[name=agree]")
        go_on(page)
        state(page, "offline")
        context.set_offline(False)
        state(page, "counted")
        assert len(survey.counted) == 1


def test_without_the_second_file_nobody_is_asked(visit: Visit, smoker: Loopback) -> None:
    with visit() as context, one_question(pivot()) as survey:
        context.route("**/static/further.*", lambda route: route.fulfill(status=404))
        page = context.new_page()
        page.goto(survey.link)
        state(page, "refused")
        assert "A part of this page could not be loaded" in str(page.text_content("details"))
        # A survey that does not need the file does not load it.
        page.goto(smoker.link)
        state(page, "welcome")
    assert survey.posts == []


def test_a_translation_that_cannot_be_loaded_leaves_sentences_in_english(visit: Visit, survey: Loopback) -> None:
    with visit(locale="de-DE") as context:
        loaded: list[str] = []
        page = context.new_page()
        page.on("request", lambda request: loaded.append(request.url))
        page.goto(survey.link)
        state(page, "welcome")
        assert [one.rpartition("/")[2][:3] for one in loaded if "/static/" in one and one.endswith(".js")].count(
            "de."
        ) == 1
        context.route("**/static/de.*", lambda route: route.fulfill(status=404))
        page.goto("about:blank")
        page.goto(survey.link)
        state(page, "welcome")
        assert page.evaluate("document.documentElement.lang") == "de"
        assert page.text_content("button.go[lang=en]") == "Start"


def test_a_saved_list_keeps_another_browser_from_drawing_again(visit: Visit, smoker: Loopback, tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    with visit() as context:
        page = context.new_page()
        page.goto(smoker.link)
        answer(page)
        state(page, "counted")
        page.click(".device summary")
        with page.expect_download() as download:
            page.click("button:text-is('Save the list')")
        download.value.save_as(path)
    data = json.loads(path.read_text())
    assert data["format"] == "deniable device ledger"
    assert [one["collection"] for one in data["responses"]] == [smoker.collection.id]
    with visit() as context:
        page = context.new_page()
        page.goto(smoker.link)
        state(page, "welcome")
        page.click(".device summary")
        (tmp_path / "other.json").write_text('{"format": "another"}')
        page.set_input_files("#deniable-file", tmp_path / "other.json")
        page.wait_for_selector("text=This file is not a saved list.")
        # One file is the example of the format, for another survey. The other was saved here.
        for file, title in (ROOT / "tests" / "vectors" / "service" / "ledger.json", "Coffee"), (path, "Smoking"):
            page.set_input_files("#deniable-file", file)
            page.wait_for_selector(f".device td:text-is('{title}')")
            page.wait_for_selector("text=List loaded.")
        page.reload()
        state(page, "already")
        assert page.locator("form").count() == 0
    assert len(smoker.bodies) == 1


def test_likelihoods_shown_are_those_of_the_exact_channel(visit: Visit, smoker: Loopback) -> None:
    with visit() as context:
        page = context.new_page()
        page.goto(smoker.link)
        answer(page)
        state(page, "counted")
        assert page.locator(".sent tbody").count() == 0
        page.click("text=Show what was sent")
        (report,) = smoker.counted.values()
        shown = dict(row.split("\t") for row in page.inner_text(".sent tbody").strip().split("\n"))
        column = smoker.collection.mechanism.channel()[:, report[0]]
        labels = smoker.collection.schema.attributes[0].labels
        for label, chance in zip(labels, column, strict=True):
            assert abs(float(shown[label].rstrip("%")) / 100 - chance) < 5e-4
        assert page.inner_text(".points") == f"Your report points to: {labels[report[0]]}"


DOCUMENTED = re.search(r"```html\n(.*?)```", (ROOT / "docs" / "client.md").read_text(encoding="utf-8"), re.S)


def own_page(identifier: str, digits: str, collector: str = "") -> str:
    """Return a page on another host with the five lines from the documentation."""
    assert DOCUMENTED is not None
    lines = DOCUMENTED[1].replace("COLLECTION-ID", identifier).replace("LINK-DIGITS", digits)
    lines = lines.replace("https://collector.example", collector)
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>My own page</title><h1>Mine</h1>{lines}</html>'


def test_anybody_puts_the_survey_on_their_own_page(visit: Visit, smoker: Loopback) -> None:
    smoker.html["/own.html"] = own_page(smoker.collection.id, smoker.digits)
    with visit() as context:
        page = context.new_page()
        page.goto(f"{smoker.origin}/own.html")
        answer(page)
        state(page, "counted")
        assert page.title() == "My own page"
    assert len(smoker.counted) == 1
    # The page's author has written down which survey it is. Another survey that is served in its place is refused.
    another = replace(smoker.collection, title="Another")
    with (
        one_question(another, html={"/own.html": own_page(smoker.collection.id, smoker.digits)}) as served,
        visit() as context,
    ):
        served.aliases[smoker.collection.id] = another.id
        page = context.new_page()
        page.goto(f"{served.origin}/own.html")
        state(page, "refused")
        assert "not the survey that this page asked for" in (page.text_content("[role=alert]") or "")


def test_what_was_sent_is_shown_on_request_and_hidden_with_the_page(visit: Visit, smoker: Loopback) -> None:
    with visit() as context:
        page = context.new_page()
        page.goto(smoker.link)
        answer(page)
        state(page, "counted")
        assert page.locator(".points").count() == 0
        page.click("text=Show what was sent")
        assert page.locator(".points").count() == 1
        page.click("text=Hide what was sent")
        assert page.locator(".points").count() == 0
        page.click("text=Show what was sent")
        page.evaluate(
            "Object.defineProperty(document, 'hidden', { value: true });"
            "document.dispatchEvent(new Event('visibilitychange'))"
        )
        assert page.locator(".points").count() == 0
        page.reload()
        state(page, "already")
        assert page.locator("text=Show what was sent").count() == 0
        assert "One report from here has been counted." in page.inner_text("section.end")


def test_whoever_leaves_the_device_leaves_one_mark(visit: Visit, smoker: Loopback) -> None:
    with visit() as context:
        page = context.new_page()
        page.goto(smoker.link)
        answer(page)
        state(page, "counted")
        page.click("text=Leave this device")
        state(page, "left")
        mark = {"collection": smoker.collection.id, "person": 1, "title": "", "epsilon": "1", "body": "", "page": ""}
        assert stored(page) == [{**mark, "state": "left"}]
        assert "Smoking" not in page.inner_text(".device")
        assert "Random draws" not in page.inner_text("body")
        page.reload()
        state(page, "left")
        assert page.locator("form").count() == 0
        # The survey does not let another person answer here.
        assert page.locator("text=Someone else wants to answer").count() == 0
    assert len(smoker.counted) == 1


def test_whoever_leaves_in_one_tab_has_left_in_all(visit: Visit, smoker: Loopback) -> None:
    smoker.failures, smoker.retry_after = [503] * 99, "1"
    with visit() as context:
        page, other = context.new_page(), context.new_page()
        page.goto(smoker.link)
        answer(page)
        state(page, "busy")
        other.goto(smoker.link)
        state(other, "busy")
        page.click("text=Delete my report and leave")
        page.click("text=Delete it and leave")
        state(page, "left")
        state(other, "left")
        tries = len(smoker.bodies)
        smoker.failures = []
        page.wait_for_timeout(2500)
        assert len(smoker.bodies) == tries
        assert [one["state"] for one in stored(page)] == ["left"]
    assert smoker.counted == {}


OFFLINE = "Object.defineProperty(navigator, 'onLine', { get: () => false });"

MUTE = "globalThis.BroadcastChannel = class { postMessage() {} };"
"""Makes a tab that gets no messages from other tabs, like one that is still loading; it sees only the storage."""


def test_a_tab_that_is_told_counted_brings_back_nothing_of_who_has_left(visit: Visit, smoker: Loopback) -> None:
    """A fault once overwrote the mark with the survey's title, the texts' hash and "counted"."""
    with visit() as context:
        page, other = context.new_page(), context.new_page()
        page.add_init_script(MUTE)
        held: list[Any] = []
        page.route("**/reports", lambda route: held.append(route))
        other.route("**/reports", lambda route: route.abort("internetdisconnected"))
        other.add_init_script(OFFLINE)
        page.goto(smoker.link)
        answer(page)
        while not held:
            page.wait_for_timeout(100)
        other.goto(smoker.link)
        state(other, "offline")
        other.click("text=Delete my report and leave")
        other.click("text=Delete it and leave")
        state(other, "left")
        mark = stored(other)
        held[0].continue_()
        state(page, "left")
        assert "Smoking" not in page.inner_text(".device")
        assert stored(page) == mark
        assert (mark[0]["state"], mark[0]["title"], mark[0]["page"]) == ("left", "", "")
    # The report that was on its way had been sent, and counts.
    assert len(smoker.counted) == 1


def test_a_tab_sends_nothing_of_who_has_left_though_nobody_told_it(visit: Visit, smoker: Loopback) -> None:
    smoker.failures, smoker.retry_after = [503] * 99, "1"
    with visit() as context:
        page, other = context.new_page(), context.new_page()
        page.add_init_script(MUTE)
        page.goto(smoker.link)
        answer(page)
        state(page, "busy")
        other.route("**/reports", lambda route: route.abort("internetdisconnected"))
        other.add_init_script(OFFLINE)
        other.goto(smoker.link)
        state(other, "offline")
        other.click("text=Delete my report and leave")
        other.click("text=Delete it and leave")
        state(other, "left")
        tries, smoker.failures = len(smoker.bodies), []
        state(page, "left")
        assert [one["state"] for one in stored(page)] == ["left"]
        assert len(smoker.bodies) == tries
    assert smoker.counted == {}


def test_whoever_leaves_takes_nothing_from_another_person(visit: Visit, smoker: Loopback) -> None:
    smoker.page["second_person"] = True
    with visit() as context:
        page, other = context.new_page(), context.new_page()
        page.goto(smoker.link)
        answer(page)
        state(page, "counted")
        other.goto(smoker.link)
        state(other, "already")
        other.click("text=Someone else wants to answer")
        other.click("text=I am another person")
        state(other, "welcome")
        page.click("text=Leave this device")
        state(page, "left")
        answer(other)
        state(other, "counted")
        assert [one["state"] for one in stored(page)] == ["left", "counted"]
    assert len(smoker.counted) == 2


def test_leaving_before_the_report_was_counted_is_asked_about(visit: Visit, smoker: Loopback) -> None:
    smoker.failures, smoker.retry_after = [503, 503], "1"
    with visit() as context:
        page = context.new_page()
        page.goto(smoker.link)
        answer(page)
        state(page, "busy")
        page.click("text=Delete my report and leave")
        assert "has not been counted yet" in page.inner_text("[role=alert]")
        page.click("text=Stay")
        assert page.locator("[role=alert]").count() == 0
        page.click("text=Delete my report and leave")
        page.click("text=Delete it and leave")
        state(page, "left")
        tries = len(smoker.bodies)
        page.wait_for_timeout(2500)
        assert len(smoker.bodies) == tries
        assert [one["state"] for one in stored(page)] == ["left"]
    assert smoker.counted == {}


def test_leaving_at_once_empties_the_form_and_back_does_not_bring_it_back(visit: Visit, smoker: Loopback) -> None:
    smoker.html["/before.html"] = "<!doctype html><title>Before</title><p>Before</p>"
    with visit() as context:
        page = context.new_page()
        page.goto(f"{smoker.origin}/before.html")
        page.goto(smoker.link)
        state(page, "welcome")
        go_on(page)
        page.check("input[name=deniable-0][value='1']")
        page.click("text=Exit now")
        page.wait_for_url("about:blank")
        page.go_back()
        assert page.title() == "Before"
        # After another page and back, everything that the browser kept of the form is empty, and the page says so.
        page.goto(smoker.link)
        state(page, "welcome")
        go_on(page)
        page.check("input[name=deniable-0][value='1']")
        page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
        state(page, "welcome")
        assert page.locator("input[name=deniable-0]:checked").count() == 0
        assert "your answers are gone" in page.inner_text("form")
    assert smoker.posts == []


LOST = "This page was loaded again, so your answers are gone. Nothing has left this device."


def test_back_leads_through_the_questions_until_something_was_sent(visit: Visit, survey: Loopback) -> None:
    with visit() as context:
        page = context.new_page()
        page.goto(survey.link)
        state(page, "welcome")
        digits = page.url
        go_on(page)
        page.check("input[name=deniable-0][value='1']")
        go_on(page)
        page.check("input[name=deniable-1][value='2']")
        page.go_back()
        assert page.inner_text("h1:visible") == "How often do you exercise?"
        assert page.is_checked("input[name=deniable-0][value='1']")
        page.go_forward()
        assert page.inner_text("h1:visible") == "How old are you?"
        # The link is unchanged, and the history contains only a place.
        assert page.url == digits
        assert page.evaluate("history.state.deniable") == {"collection": survey.collection.id, "at": 2, "depth": 2}
        # After reloading, no answer is known in any entry of the history, and the page says so.
        page.reload()
        state(page, "welcome")
        assert page.inner_text("form .note:visible") == LOST
        page.go_back()
        state(page, "question")
        assert page.inner_text("h1:visible") == "How often do you exercise?"
        assert page.locator("input[name=deniable-0]:checked").count() == 0
        page.click("text=Back")
        state(page, "welcome")
        assert page.locator("form .note:visible").count() == 0
        answer(page)
        state(page, "counted")
        page.go_back()
        page.wait_for_timeout(100)
        assert page.locator("form, fieldset").count() == 0
        state(page, "counted")
        page.click("text=Leave this device")
        state(page, "left")
        page.go_back()
        page.wait_for_timeout(100)
        state(page, "left")
        assert page.locator("form, fieldset").count() == 0
    assert len(survey.counted) == 1


def test_a_change_leads_back_to_the_review_and_deleting_leaves_nothing(visit: Visit, survey: Loopback) -> None:
    with visit() as context:
        page = context.new_page()
        page.goto(survey.link)
        state(page, "welcome")
        go_on(page)
        page.check("input[name=deniable-0][value='1']")
        go_on(page)
        page.check("input[name=deniable-1][value='2']")
        go_on(page)
        # Declining to answer is an answer of the schema, and is sent like any other.
        page.check("input[name=deniable-2][value='9']")
        go_on(page)
        page.check("input[name=deniable-3][value='0']")
        page.check("input[name=deniable-3][value='none']")
        assert page.locator("input[name=deniable-3]:checked").count() == 1
        go_on(page)
        page.check("input[name=deniable-4]")
        go_on(page)
        state(page, "review")
        assert page.locator(".answers dd:nth-child(2)").all_inner_texts() == [
            "every week",
            "40 to 59",
            "I do not know",
            "None of these",
            "another",
        ]
        page.click(".answers button >> nth=1")
        assert page.inner_text("h1:visible") == "How old are you?"
        page.check("input[name=deniable-1][value='0']")
        go_on(page)
        state(page, "review")
        assert page.inner_text(".answers dd:nth-child(2) >> nth=1") == "below 20"
        go_on(page)
        assert page.inner_text("#deniable-tick") == "Tick the box to take part, or delete your answers and leave."
        page.click("text=Delete my answers and leave")
        state(page, "gone")
        assert page.inner_text("h1") == "Your answers are deleted"
        assert page.locator("form, fieldset").count() == 0
        page.go_back()
        page.wait_for_timeout(100)
        state(page, "gone")
        assert stored(page) == []
        page.reload()
        state(page, "welcome")
    assert survey.posts == []


def test_who_must_ask_first_asks_before_the_first_question(visit: Visit, smoker: Loopback) -> None:
    smoker.page["consent_first"] = True
    with visit() as context:
        page = context.new_page()
        page.goto(smoker.link)
        state(page, "welcome")
        go_on(page)
        state(page, "welcome")
        assert page.inner_text("#deniable-tick") == "Tick the box to take part, or leave this page."
        page.check("input[name=agree]")
        go_on(page)
        page.check("input[name=deniable-0][value='1']")
        go_on(page)
        state(page, "review")
        assert page.locator("input[name=agree]:visible").count() == 0
        go_on(page)
        state(page, "counted")
    assert len(smoker.counted) == 1


def test_the_first_question_is_one_tap_away_and_shows_all_its_answers(visit: Visit, survey: Loopback) -> None:
    with visit(height=844) as context:
        page = context.new_page()
        page.goto(survey.link)
        state(page, "welcome")
        # A stranger first reads no figure that needs an explanation, and no proof.
        assert not re.search("epsilon|hash|implemented|[0-9a-f]{8}", page.inner_text("body"), re.I)
        start = page.locator("form button[type=submit]:visible").bounding_box()
        assert start is not None
        assert start["y"] + start["height"] <= 844
        go_on(page)
        last = page.locator("input[name=deniable-0] >> nth=-1").bounding_box()
        foot = page.locator("form > .acts").bounding_box()
        assert last is not None
        assert foot is not None
        assert last["y"] + last["height"] <= foot["y"]
        assert foot["y"] + foot["height"] <= 844
        answers = "[...document.querySelectorAll('.choices label, .acts .go')].filter(e => e.offsetHeight)"
        assert page.evaluate(f"Math.min(...{answers}.map(e => e.offsetHeight))") >= 52


@pytest.mark.parametrize(("epsilon", "warns"), [("2.9", False), ("3.1", True)])
def test_little_protection_is_called_little(visit: Visit, epsilon: str, warns: bool) -> None:
    """A factor of 20 is epsilon 2.996. Below it a bar has no warning colour; above it the promise has a warning."""
    asked = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(2, float(epsilon)), title="Smoking")
    with one_question(asked) as survey, visit() as context:
        page = context.new_page()
        page.goto(survey.link)
        state(page, "welcome")
        assert ("This protects you little." in page.inner_text(".promise")) == warns
        page.click("text=How does this protect me?")

        def strength(belief: int) -> str | None:
            page.evaluate(
                "(x) => { const range = document.querySelector('[type=range]'); range.value = x;"
                "range.dispatchEvent(new Event('input')); }",
                belief,
            )
            return page.get_attribute(".belief p:last-child rect", "class")

        # The colour goes from calm to warning as the belief rises. A factor of 20 turns 50–50 into 95%.
        assert strength(50) == ("level-3" if warns else "level-2")
        assert strength(1) == "level-0"
        assert strength(99) == "level-3"
        # By hand, 1% is odds of 1 to 99, so e^epsilon to 99 afterwards. This is 15.4% and 18.4%, rounded up.
        strength(1)
        assert ("at most 19%" if warns else "at most 16%") in page.inner_text(".belief")
        answer(page)
        state(page, "counted")
        page.click("text=Show what was sent")
        classes = [one.get_attribute("class") for one in page.query_selector_all(".sent rect")]
        assert sorted(map(str, classes)) == ["level-0", "level-3" if warns else "level-2"]


def test_the_picture_is_drawn_by_the_coins_of_the_survey(visit: Visit) -> None:
    """At epsilon 1 a lie has probability 1 in 3.72: of 2,000 dots 538 are expected (standard deviation 19.8)."""
    asked = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(2, 1.0), title="Smoking")
    with one_question(asked) as survey, visit() as context:
        page = context.new_page()
        page.goto(survey.link)
        state(page, "welcome")
        page.click("text=How does this protect me?")
        assert page.locator(".card .coin").count() == 1
        lies = 0
        for _ in range(20):
            page.evaluate("document.querySelector('.pretend button').click()")
            dots = page.eval_on_selector_all(".card > svg circle", "all => all.map(one => one.getAttribute('class'))")
            assert len(dots) == 101
            lies += (swapped := dots.count("coin"))
            said = page.inner_text(".card > [role=status]")
            assert said.endswith(f"all mean “Yes”, {100 - swapped} send it and {swapped} send “No”.")
            assert said.startswith(f"Your device would send “{'No' if dots[46] == 'coin' else 'Yes'}”.")
        assert abs(lies - 538) < 5 * 19.8
    assert survey.posts == []


def test_another_person_answers_on_the_same_device_with_a_report_of_their_own(visit: Visit) -> None:
    asked = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(2, 1.0), title="Smoking")
    survey = one_question(asked)
    survey.page["second_person"] = True
    with survey, visit() as context:
        page = context.new_page()
        page.goto(survey.link)
        answer(page)
        state(page, "counted")
        page.click("text=Leave this device")
        page.click("text=Someone else wants to answer")
        assert "tell more about you than this survey promises" in page.inner_text("[role=alert]")
        page.click("text=I am another person")
        answer(page)
        state(page, "counted")
        assert [(one["person"], one["state"]) for one in stored(page)] == [(1, "left"), (2, "counted")]
        page.click(".device summary")
        # Nobody knows whether further people are the same in two surveys. So only the first person's budgets are added
        # up.
        assert page.inner_text(".device tfoot td >> nth=0") == "1"
        page.reload()
        state(page, "already")
    assert len(survey.counted) == 2


DRAWN = {
    "SPL": "every answer",
    "SPL[OUE]": "every answer",
    "SMP": "one of these answers",
    "SMP[OUE]": "one of these answers",
    "SMP[ADP]": "one of these answers",
    "PivotCoded": "one of these answers",
    "PairSample": "two of these answers",
}
"""Content of a report, by the mechanisms for records of three answers."""


def test_only_of_a_drawn_question_the_page_says_that_it_was_picked(visit: Visit) -> None:
    """The page once said so for every question, because a function's length is 1."""
    three = Schema(tuple(Attribute(one, ("yes", "no", "perhaps")) for one in ("smoker", "drinker", "runner")))
    cases = [(name, mechanism(name, sizes=three.sizes, epsilon="1"), said) for name, said in DRAWN.items()]
    both = mechanism("PairSample", sizes=three.sizes, epsilon="1", singles="0.5")
    with visit() as context:
        for name, mixed, said in [*cases, ("PairSample with singles", both, "one or two of these answers")]:
            with one_question(Collection(three, mixed, title="Habits")) as survey:
                page = context.new_page()
                page.goto(survey.link)
                state(page, "welcome")
                page.evaluate(ANSWERED)
                state(page, "review")
                assert said in page.inner_text(".review"), name
                page.check("input[name=agree]")
                go_on(page)
                state(page, "counted")
                page.click("text=Show what was sent")
                tables = page.locator(".sent table").count()
                assert tables == (3 if said == "every answer" else 1), name
                headings = page.locator(".sent thead th:nth-child(2)").all_inner_texts()
                drawn = " including the draw of the question" if tables == 1 else ""
                assert {one.removeprefix("Chance of this report") for one in headings} == {drawn and f",{drawn}"}, name
                picked = page.locator("text=Your device picked th").count()
                assert picked == (tables == 1), name
                page.close()


LEARNED: dict[str, dict[str, Any]] = {
    "Corr-RR": {"copy_probabilities": ((1, 0.5, 0.2), (0.7, 1, 0.4), (0.9, 0.1, 1))},
    "RS+RFD": {"priors": ((0.5, 0.3, 0.2),) * 3},
}


@pytest.mark.parametrize("name", LEARNED)
def test_a_report_that_hides_its_question_says_so_of_every_one(visit: Visit, name: str) -> None:
    three = Schema(tuple(Attribute(one, ("yes", "no", "perhaps")) for one in ("smoker", "drinker", "runner")))
    made = mechanism(name, sizes=three.sizes, epsilon="1", **LEARNED[name])
    with visit() as context, one_question(Collection(three, made, title="Habits")) as survey:
        page = context.new_page()
        page.goto(survey.link)
        state(page, "welcome")
        assert "does not say which answer it picked" in str(page.text_content(".more"))
        page.evaluate(ANSWERED)
        state(page, "review")
        assert "makes up the rest of the report" in page.inner_text(".review")
        page.check("input[name=agree]")
        go_on(page)
        state(page, "counted")
        page.click("text=Show what was sent")
        assert page.locator(".sent table").count() == 3
        assert page.locator("text=or made this up").count() == 3
        (report,) = survey.counted.values()
        assert len(report) == 3
        for j, code in enumerate(report):
            label = ("yes", "no", "perhaps")[code]
            assert page.locator(".sent .points").nth(j).inner_text() == f"Your report points to: {label}"


ANSWERED = """async () => {
  const settled = () => new Promise((done) => setTimeout(done));
  for (let j = 0; j < 3; j++) {
    document.querySelector(".welcome .go, form > .acts .go").form.requestSubmit();
    document.querySelector(`input[name=deniable-${j}][value="1"]`).click();
    await settled();
  }
  document.querySelector("form").requestSubmit();
}"""
"""Answers three questions and goes on to the review, in one message to the browser."""

"""A survey is made, previewed, opened, answered by 40 people and published in a browser, without touching a file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deniable.service.auth import hash_password
from deniable.service.server import Running
from tests.browser.test_collector import accessible, logged_in
from tests.browser.test_survey_page import AXE, axe
from tests.service.asking import PASSWORD, collecting, sqlite, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open = Callable[..., "Page"]

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1200, "height": 800}

QUESTIONS = (
    ("Do you smoke?", "categories", {"answers": "Yes\nNo", "missing": "Prefer not to say"}),
    ("How is your sleep?", "ordered", {"answers": "bad\nfair\ngood"}),
    ("How many hours did you sleep?", "numeric", {"low": "0", "high": "24", "points": "9"}),
    ("Which of these do you own?", "multiple", {"answers": "a phone\na radio"}),
    ("Which fruit do you like best?", "dictionary", {"words": "apple\nbanana\ncherry"}),
    ("How old are you?", "categories", {"cuts": "20\n40"}),
)

GERMAN = {
    "Do you smoke?": "Rauchen Sie?",
    "Yes": "Ja",
    "No": "Nein",
    "Prefer not to say": "Keine Angabe",
    "How is your sleep?": "Wie schlafen Sie?",
    "bad": "schlecht",
    "fair": "mittel",
    "good": "gut",
    "How many hours did you sleep?": "Wie viele Stunden haben Sie geschlafen?",
    "Which of these do you own?": "Was davon besitzen Sie?",
    "a phone": "ein Telefon",
    "a radio": "ein Radio",
    "Which fruit do you like best?": "Welches Obst mögen Sie am liebsten?",
    "How old are you?": "Wie alt sind Sie?",
    "< 20": "unter 20",
    "20 to < 40": "20 bis 39",
    ">= 40": "40 und mehr",
}

ANSWERS = """async ([people, api, id]) => {
    const client = await import("/static/survey.js");
    const read = async (path) => (await fetch(`${api}/collections/${id}${path}`)).text();
    const survey = await client.check(await read(""), id);
    const attributes = await Promise.all(
        survey.attributes.map((one) => (one.kind.loaded ? one.kind.loaded(one, read) : one)));
    const base64 = (bytes) => btoa(String.fromCharCode(...bytes))
        .replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    return Promise.all(Array.from({ length: people }, async (_, i) => {
        const answers = [i % 3 ? "Yes" : "No", ["bad", "fair", "good"][i % 3], String(5 + (i % 5)),
            i % 2 ? ["a phone"] : [], ["apple", "banana", "cherry"][i % 3], String(15 + i)];
        const words = new client.SecureWords();
        const report = survey.mechanism.randomize(client.encode(attributes, answers, words), words);
        const name = base64(crypto.getRandomValues(new Uint8Array(16)));
        const answer = await fetch(`${api}/collections/${id}/reports`, {
            method: "POST", headers: { "content-type": "application/json" },
            body: JSON.stringify({ collection: id, reports: [{ id: name, report: base64(report) }] }),
        });
        return answer.status;
    }));
}"""
"""Simulated people: the code of the client, without its page."""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Running]:
    with collecting(sqlite(tmp_path), drain_seconds=0.2) as running:
        running.collector.store.add_analyst("ann", "owner", hash_password(PASSWORD))
        yield running


def pictured(page: Page, name: str) -> None:
    """Save pictures of a phone and a desktop for review if a folder for pictures is named."""
    if folder := os.environ.get("DENIABLE_PICTURES"):
        for size, where in ((PHONE, "phone"), (DESK, "desk")):
            page.set_viewport_size(size)  # type: ignore[arg-type]
            page.screenshot(path=Path(folder) / f"{name}-{where}.png")
        page.set_viewport_size(DESK)  # type: ignore[arg-type]


def checked(page: Page, name: str) -> None:
    """Assert that the page is accessible, also in dark mode, and fits a narrow phone."""
    pictured(page, name)
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320, name
    accessible(page)
    # In the dark scheme, only colours are checked again.
    page.emulate_media(color_scheme="dark")
    if AXE.exists():
        assert axe(page, runOnly=["color-contrast"]) == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(DESK)  # type: ignore[arg-type]


def ask(page: Page, text: str, kind: str, fields: dict[str, str]) -> None:
    """Add a question with its possible answers."""
    page.fill("#text", text)
    page.select_option("#kind", kind)
    page.click("text=Add this question")
    page.wait_for_selector("h2:text-matches('Question \\\\d')")
    more = page.locator("summary", has_text="More about this question")
    if "cuts" in fields:
        more.click()
    for name, value in fields.items():
        page.fill(f"#{name}", value)
    page.click("text=Save this question")
    page.wait_for_selector("text=Saved.")


def answer_six(page: Page) -> None:
    """Answer the six questions as a person does, and send."""
    page.wait_for_selector("[data-state=welcome]")
    go = "form button[type=submit]:visible"
    page.click(go)
    page.check("input[name=deniable-0][value='0']")
    page.click(go)
    page.check("input[name=deniable-1][value='2']")
    page.click(go)
    page.fill("#deniable-2", "7.5")
    page.click(go)
    page.check("input[name^=deniable-3] >> nth=0")
    page.click(go)
    page.fill("#deniable-4", "apple")
    page.click(go)
    page.check("input[name=deniable-5][value='1']")
    page.click(go)
    page.check("input[name=agree]")
    page.click(go)


def test_a_survey_is_made_previewed_opened_answered_and_published_without_a_file(
    here: Running, open_page: Open, browser: Browser
) -> None:
    page = logged_in(here, open_page)
    page.on("dialog", lambda dialog: dialog.accept())

    # This part makes the survey.
    page.click("text=Make a survey")
    checked(page, "new")
    page.fill("#title", "How people live")
    page.click("text=Go on to the questions")
    page.wait_for_url(f"{here.admin}/drafts/how-people-live")
    checked(page, "questions-empty")
    for text, kind, fields in QUESTIONS:
        ask(page, text, kind, fields)
    # This part moves a question with the keyboard, and back.
    page.locator("button", has_text="Move up: How old are you?").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("li:nth-child(5) a:has-text('How old are you?')")
    page.locator("button", has_text="Move down: How old are you?").press("Enter")
    page.wait_for_selector("li:nth-child(6) a:has-text('How old are you?')")
    checked(page, "questions")
    page.click("a:has-text('How many hours did you sleep?')")
    checked(page, "question")

    # This part is about texts and languages.
    page.click(".steps a:has-text('Texts')")
    for name, text in (
        ("title", "How people live"),
        ("intro", "We ask how people spend their days."),
        ("consent", "Taking part is voluntary."),
    ):
        page.fill(f"[id='{name}.en']", text)
    page.fill("#contact", "Health office, ask@example.org")
    page.click("text=Save the texts")
    page.select_option("#add", "de")
    page.click("button:text-is('Add')")
    page.wait_for_selector("[id='title.de']")
    for name, text in (
        ("title", "Wie Menschen leben"),
        ("intro", "Wir fragen, wie Menschen leben."),
        ("consent", "Die Teilnahme ist freiwillig."),
    ):
        page.fill(f"[id='{name}.de']", text)
    for english, german in GERMAN.items():
        page.get_by_label(re.compile(rf"^{re.escape(english)}, Deutsch$")).fill(german)
    page.click("text=Save the texts")
    page.wait_for_selector("text=Saved.")
    checked(page, "texts")

    # The preview answers and draws, but sends and keeps nothing.
    page.click(".steps a:has-text('Preview')")
    checked(page, "preview")
    posted: list[str] = []
    page.on("request", lambda request: posted.append(request.url) if request.method == "POST" else None)
    page.click("text=Open the preview")
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    answer_six(page)
    page.wait_for_selector("[data-state=previewed]")
    assert "Nothing was sent, and nothing is kept." in page.inner_text("#survey")
    assert "This device would send one report:" in page.inner_text("#survey")
    assert "Your report points to" in page.inner_text("#survey")
    accessible(page)
    pictured(page, "try")
    assert posted == []
    assert page.evaluate("indexedDB.databases()") == []
    assert here.collector.of_slug("how-people-live") is None
    page.click("text=Back to the draft")

    # The plan refuses a survey that cannot work.
    page.set_viewport_size(DESK)  # type: ignore[arg-type]
    page.click(".steps a:has-text('Plan')")
    page.fill("#contributors", "50")
    page.click("text=Save the plan")
    page.wait_for_selector(".verdict.bad")
    page.click("button:text('Open the survey')")
    page.wait_for_selector(".fault:has-text('cannot work as it is planned')")
    checked(page, "plan-cannot-work")
    page.fill("#contributors", "2000")
    page.check("input[name=epsilon][value='4']")
    page.click("text=More terms")
    page.fill("#min_batch", "20")
    page.fill("#grace_hours", "0")
    page.click("text=Save the plan")
    page.wait_for_selector("text=With 2,000 people this survey can work")
    checked(page, "plan")
    page.click("button:text('Open the survey')")
    page.wait_for_url(f"{here.admin}/surveys/how-people-live")
    checked(page, "opened")
    link = page.inner_text(".link code")
    assert link.startswith(here.public)

    # Forty people answer: two in pages of their own, one of them in German.
    people = []
    for locale in ("en-GB", "de-DE"):
        context = browser.new_context(viewport=PHONE, locale=locale)  # type: ignore[arg-type]
        person = context.new_page()
        person.goto(link)
        answer_six(person)
        people.append(person)
    collection = here.collector.of_slug("how-people-live")
    assert collection is not None
    # This page has no survey, because the client would mount the survey of a survey's page again.
    context = browser.new_context()
    others = context.new_page()
    others.goto(f"{here.public}/")
    statuses = others.evaluate(ANSWERS, [38, "/api/v1", collection.row.id])
    assert statuses == [201] * 38
    context.close()
    for person in people:
        person.wait_for_selector("[data-state=counted]", timeout=60_000)
    assert "Meldung" in people[1].inner_text("#survey")
    for person in people:
        person.context.close()

    # This part closes, reads and publishes the survey.
    page.click("button:text-is('Close')")
    page.wait_for_selector(".chip:not(.open)")
    until(lambda: here.collector.surveys.status("how-people-live")["state"] == "closed")
    here.collector.refresh()
    page.reload()
    assert here.collector.surveys.status("how-people-live")["n"] == 40
    checked(page, "closed")
    page.click("button:text('Publish the results')")
    page.wait_for_selector("text=The results are public")
    checked(page, "published")
    public = page.locator("a[href$='/r/how-people-live/']").get_attribute("href")

    # Anybody can read the results, without a script and in both languages.
    reader = open_page(str(public), **DESK)
    for language, sentences in (
        ("en", ("Do you smoke?", "n = 40 reports", "epsilon = 4 for the whole contributor")),
        ("de", ("Rauchen Sie?", "n = 40 Meldungen", "Epsilon = 4 für die ganze Person")),
    ):
        assert reader.evaluate("document.documentElement.lang") == language
        for sentence in sentences:
            assert sentence in reader.inner_text("main")
        assert reader.locator(".finding").count() == 6
        checked(reader, f"results-{language}")
        if language == "en":
            reader.click("nav a[lang=de]")
    reader.emulate_media(media="print")
    assert not reader.locator("nav").is_visible()


def test_forms_fit_at_twice_the_text_and_from_right_to_left(here: Running, open_page: Open) -> None:
    page = logged_in(here, open_page)
    page.goto(f"{here.admin}/new")
    page.fill("#title", "كيف يعيش الناس")
    page.fill("#slug", "arabic")
    page.select_option("#language", "ar")
    page.click("text=Go on to the questions")
    ask(page, "هل تدخن؟", "categories", {"answers": "نعم\nلا"})  # noqa: RUF001  # Arabic is meant
    page.goto(f"{here.admin}/drafts/arabic/texts")
    page.select_option("#add", "en")
    page.click("button:text-is('Add')")
    page.wait_for_selector("[id='title.en']")
    for path in ("", "/texts", "/plan", "/preview"):
        page.goto(f"{here.admin}/drafts/arabic{path}")
        page.set_viewport_size({"width": 640, "height": 900})
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        assert page.evaluate("document.documentElement.scrollWidth") <= 640, path
        accessible(page)
        pictured(page, f"arabic{path.replace('/', '-')}")
    # Text that is typed in Arabic runs from right to left.
    page.goto(f"{here.admin}/drafts/arabic/texts")
    assert page.eval_on_selector("[id='title.ar']", "one => getComputedStyle(one).direction") == "rtl"

"""A device finds its own report in the data that the collector publishes; nobody learns which report it looked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.files.receipts import merkle_root, sorted_leaves
from tests.browser.test_collector import accessible, pictured
from tests.browser.test_survey_page import answer
from tests.service.asking import ASKED, Caller, body, collecting, open_survey, sqlite
from tests.service.test_leaves import rows_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

KEPT = """
() => new Promise((resolve) => {
  const opening = indexedDB.open("deniable");
  opening.onsuccess = () => {
    const asked = opening.result.transaction("responses").objectStore("responses").getAll();
    asked.onsuccess = () => { opening.result.close(); resolve(asked.result); };
  };
})
"""


def looked(page: Page) -> str:
    """Return the page's text after a look for the report, in a freshly loaded page."""
    page.reload()
    page.wait_for_selector("[data-state=already]")
    page.click("text=Find my report")
    page.wait_for_selector(".end [role=status]:not(:empty)")
    return page.inner_text(".end [role=status]")


def test_a_device_finds_its_report_in_its_batch_and_misses_it_in_a_forged_one(tmp_path: Path, browser: Browser) -> None:
    with collecting(sqlite(tmp_path)) as here:
        collector, call = here.collector, Caller(here.public)
        open_survey(collector.surveys)
        collector.refresh()
        call.post(body(25))
        collector.drain()
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto(here.public + collector.surveys.status("smoking")["link"])
        page.wait_for_selector("[data-state=welcome]")
        answer(page)
        page.wait_for_selector("[data-state=counted]", timeout=60_000)
        ((kept),) = page.evaluate(KEPT)
        # The kept response has no bytes of the report, and no secret that would prove them.
        assert set(kept) == {"collection", "person", "title", "epsilon", "body", "page", "state", "leaf"}
        assert (kept["body"], len(kept["leaf"])) == ("", 43)
        assert looked(page).startswith("Your report is not in the published count yet.")
        call.post(body(30, 500))
        collector.drain()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url.removeprefix(here.public)))
        assert looked(page) == (
            "Your report was counted. It is one of 31 reports in batch 2. Nobody can see which one is yours."
        )
        # All lists are loaded, whichever has the leaf. So everybody's requests are the same.
        lists = [url for url in asked if "/batches" in url]
        assert sorted(lists) == [
            f"/api/v1/collections/{ASKED.id}/batches{rest}" for rest in ("", "/1/leaves", "/2/leaves")
        ]
        assert not any(kept["leaf"] in url for url in asked)
        pictured(page, "receipt-phone")
        accessible(page)
        page.set_viewport_size({"width": 1200, "height": 800})
        pictured(page, "receipt-desk")

        def republished(**values: Any) -> None:
            sets = ", ".join(f"{name} = ?" for name in values)
            with collector.store._working() as run:
                run(f"UPDATE releases SET {sets} WHERE batches = 2", *values.values())

        # The report is left out, and everything else is in order. Only its device can know.
        leaves = rows_of(collector.store.released_leaves(ASKED.id, 2) or b"")
        (root,) = [one.root for one in collector.store.released_batches(ASKED.id) if one.number == 2]
        mine = _bytes(kept["leaf"])
        without = sorted_leaves(leaves[[one.tobytes() != mine for one in leaves]], 31)
        republished(leaves=without.tobytes(), root=merkle_root(without))
        page.context.clear_cookies()
        fresh = {"leaves": leaves.tobytes(), "root": bytes(32)}
        collector.surveys.close("smoking", now=True)
        collector.refresh()
        missing = "Your report is missing from the published count. Tell us@example.org about it."
        session = page.context.new_cdp_session(page)
        session.send("Network.clearBrowserCache")
        assert looked(page) == missing
        # The leaf is there, but the root is that of another list.
        republished(**fresh)
        session.send("Network.clearBrowserCache")
        assert looked(page) == missing
        republished(leaves=leaves.tobytes(), root=root)
        session.send("Network.clearBrowserCache")
        assert looked(page).startswith("Your report was counted.")
        # A person who leaves the device leaves no leaf on it.
        page.click(".acts .go")
        page.wait_for_selector("[data-state=left]")
        assert "leaf" not in page.evaluate(KEPT)[0]
        page.close()


def _bytes(text: str) -> bytes:
    import base64

    return base64.urlsafe_b64decode(text + "=")

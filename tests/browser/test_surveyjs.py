"""A SurveyJS form with the adapter: all data that leave the page, that it stores, or that its events hold are recorded.

The form saves at every page, at every change and every few milliseconds, as real forms do. Its marked questions have
unique answers. A recorder looks for these answers in all recorded data.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deniable.core.construction import mechanism
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema
from tests.browser.loopback import Loopback
from tests.browser.test_package import CLIENT, RECORDED, expected
from tests.browser.test_survey_page import Visit, one_question, violations, visit

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Request, Route

__all__ = ["visit"]

YES, NO, HOURS, OTHER_HOURS = "raw-yes-7f3a", "raw-no-91bc", "7.25", "19.75"
RAW = (YES, NO, HOURS, OTHER_HOURS)
FORM = {
    "sendResultOnPageNext": True,
    "pages": [
        {
            "elements": [
                {"type": "radiogroup", "name": "smoker", "choices": [YES, NO], "isRequired": True},
                {"type": "text", "name": "town"},
            ]
        },
        {"elements": [{"type": "text", "inputType": "number", "step": 0.01, "name": "hours"}]},
        {"elements": [{"type": "comment", "name": "remark"}]},
    ],
}
HOST = """
const form = FORM;
window.heard = [];
const seen = (name, value) => heard.push(JSON.stringify([name, value]));
const everything = (s) => [s.data, s.getPlainData({ includeEmpty: true, includeValues: true }),
  s.getData({ includePages: true, includePanels: true }), s.getFilteredValues()];
const save = (s) => fetch("/save", { method: "POST", body: JSON.stringify(everything(s)) });
class Model extends Survey.Model {
  constructor(...given) {
    super(...given);
    window.model = this;
    this.onValueChanging.add((s, { name, value }) => seen("changing", [name, value]));
    this.onValueChanged.add((s, { name, value }) => {
      seen("changed", [name, value]);
      localStorage.setItem("draft", JSON.stringify({ data: s.data, page: s.currentPageNo }));
    });
    this.onPartialSend.add((s) => save(s));
    this.onServerValidateQuestions.add((s, options) => { seen("validate", options.data); options.complete(); });
    this.onComplete.add((s) => { seen("complete", everything(s)); save(s); });
    setInterval(() => sessionStorage.setItem("all", JSON.stringify(everything(this))), 5);
  }
}
"""
"""A page that sends all data of a form; `Model` is `Survey.Model` in the documented script."""

RESTORE = """
const draft = JSON.parse(localStorage.getItem("draft") ?? "null");
if (draft) { survey.data = draft.data; survey.currentPageNo = draft.page; }
document.body.dataset.said = "shown";
survey.onComplete.add(async () => { document.body.dataset.said = (await send(loaded, await report)).state; });
"""


def documented() -> str:
    """Return the script on the page of documentation, which has at most ten lines."""
    found = re.search(r"```js\n(.*?)```", (CLIENT.parent / "docs" / "surveyjs.md").read_text(encoding="utf-8"), re.S)
    assert found
    assert len(found[1].strip().splitlines()) <= 10
    return found[1]


@pytest.fixture
def asked() -> Iterator[Loopback]:
    """A survey of two questions; one is numeric."""
    schema = Schema((Attribute("smoker", (YES, NO)), Attribute("hours", kind="numeric", range=(0, 24), grid=9)))
    collection = Collection(schema, mechanism("SMP[ADP]", sizes=schema.sizes, epsilon="1"), title="Smoking")
    with one_question(collection) as running:
        # The form sets styles by itself and has no trusted types, so a host needs this policy for SurveyJS.
        running.policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
        yield running


def serve(running: Loopback, package: Path, adapter: bytes = b"", form: Any = FORM, core: str = "survey-core") -> str:
    modules = CLIENT / "node_modules"
    running.scripts |= {
        "/client.js": (package / "dist" / "client.js").read_bytes(),
        "/surveyjs.js": adapter or (package / "dist" / "surveyjs.js").read_bytes(),
        "/core.js": (modules / core / "survey.core.min.js").read_bytes(),
        "/ui.js": (modules / "survey-js-ui" / "survey-js-ui.min.js").read_bytes(),
    }
    code = documented().replace("@deniable/client/surveyjs", "/surveyjs.js").replace("@deniable/client", "/client.js")
    code = code.replace("ID", f'"{running.collection.id}"').replace("DIGITS", f'"{running.digits}"')
    code = code.replace("https://collector.example", running.origin).replace("new Survey.Model(", "new Model(")
    imports, rest = re.sub(r"\nconst form = .*", "", code).split("\n\n", 1)
    running.scripts["/page.js"] = "\n".join([imports, HOST.replace("FORM", json.dumps(form)), rest, RESTORE]).encode()
    head = '<title>Ours</title><script src="/core.js"></script><script src="/ui.js"></script>'
    head += '<script type="module" src="/page.js"></script>'
    body = '<main><h1>Ours</h1><div id="form"></div></main>'
    running.html["/ours"] = f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'
    return f"{running.origin}/ours"


class Recorder:
    """Record of all data that leave the pages of a context, and that they store and receive."""

    def __init__(self, context: BrowserContext) -> None:
        self.sent: list[str] = []
        self.kept: list[str] = []
        self.reports: set[str] = set()
        context.on("request", self._request)
        context.route("**/save", lambda route: self._fulfil(route))

    def _fulfil(self, route: Route) -> None:
        route.fulfill(status=204)

    def _request(self, request: Request) -> None:
        self.sent.append(f"{request.url} {request.post_data or ''}")
        self.reports |= set(re.findall(r'"report":"([^"]+)"', self.sent[-1]))

    def look(self, page: Page) -> None:
        """Record the data that the page stores, and its events."""
        self.kept += page.evaluate(
            """async () => {
                const found = [JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie,
                    location.href, JSON.stringify(history.state), JSON.stringify(await caches.keys()), ...heard];
                for (const { name } of await indexedDB.databases()) {
                    const database = await new Promise((done) => {
                        const opening = indexedDB.open(name); opening.onsuccess = () => done(opening.result);
                    });
                    for (const table of database.objectStoreNames)
                        found.push(JSON.stringify(await new Promise((done) => {
                            const all = database.transaction(table).objectStore(table).getAll();
                            all.onsuccess = () => done(all.result);
                        })));
                    database.close();
                }
                return found;
            }"""
        )

    @property
    def leaks(self) -> list[str]:
        """Return the records that contain a raw answer."""
        return [one for one in (*self.sent, *self.kept) if any(raw in one for raw in RAW)]


def press(page: Page, name: str) -> None:
    page.click(f"input[type=button][value={name}]:visible")


def smokes(page: Page, answer: str = YES) -> None:
    page.wait_for_selector("[data-said]")
    page.click(f"label:has-text('{answer}')")
    page.get_by_label("town").fill("Ulm")


def sleeps(page: Page, hours: str = HOURS) -> None:
    page.wait_for_selector("input[type=number]")
    page.fill("input[type=number]", hours)
    page.keyboard.press("Tab")


def through(page: Page, recorder: Recorder) -> None:
    """Answer the whole form, change one answer before leaving its page, and complete the form."""
    smokes(page, NO)
    page.click(f"label:has-text('{YES}')")
    recorder.look(page)
    press(page, "Next")
    sleeps(page, OTHER_HOURS)
    recorder.look(page)
    sleeps(page)
    press(page, "Next")
    page.wait_for_selector("textarea")
    page.fill("textarea", "nothing")
    recorder.look(page)
    press(page, "Complete")
    page.wait_for_selector("[data-said]:not([data-said=shown])")
    recorder.look(page)


def test_a_form_is_randomised_before_anything_is_stored_or_sent(visit: Visit, asked: Loopback, package: Path) -> None:
    with visit() as context:
        context.add_init_script(RECORDED)
        recorder, page = Recorder(context), context.new_page()
        page.goto(serve(asked, package))
        through(page, recorder)
        assert page.locator("[data-said]").get_attribute("data-said") == "counted"
        recorder.look(page)
        assert recorder.leaks == []
        # Answers that are not marked went out as always, at every page. Host and collector got the same bytes of the
        # report.
        saves = [json.loads(one.partition(" ")[2]) for one in recorder.sent if "/save" in one]
        assert [one[0].get("town") for one in saves] == ["Ulm"] * 3
        assert [one[0].get("remark") for one in saves] == [None, None, "nothing"]
        own = expected(asked.collection, [YES, HOURS])
        text = base64.urlsafe_b64encode(own).decode().rstrip("=")
        assert saves[-1][0]["deniable"] == {"collection": asked.collection.id, "report": text}
        assert list(asked.counted.values()) == [own]
        assert recorder.reports == {text}


MODEL_ONLY = """
document.body.dataset.said = await (async () => {
  const question = (name) => survey.getQuestionByName(name);
  question("smoker").value = "NO";
  question("smoker").value = "YES";
  survey.setValue("town", "Ulm");
  survey.nextPage();
  await new Promise((done) => setTimeout(done, 300));
  question("hours").value = HOURS;
  survey.nextPage();
  await report;
  await new Promise((done) => setTimeout(done, 300));
  survey.setValue("remark", "nothing");
  survey.completeLastPage();
  const { state } = await send(loaded, await report);
  return `${state} ${survey.state}`;
})();
"""


def test_the_next_major_version_keeps_answers_in_its_questions(visit: Visit, asked: Loopback, package: Path) -> None:
    """survey-core 3 is not yet in the registry with fields for browsers without a framework; only its model is run."""
    if not (CLIENT / "node_modules" / "survey-core-3").exists():
        pytest.skip("survey-core 3 is not installed (npm ci in client/)")
    with visit() as context:
        context.add_init_script(RECORDED)
        recorder, page = Recorder(context), context.new_page()
        address = serve(asked, package, core="survey-core-3")
        model = MODEL_ONLY.replace("YES", YES).replace("NO", NO).replace("HOURS", HOURS)
        script = asked.scripts["/page.js"].decode().replace('survey.render(document.getElementById("form"));', "")
        asked.scripts["/page.js"] = script.replace(RESTORE, model).encode()
        asked.scripts["/ui.js"] = b""
        page.goto(address)
        assert page.locator("[data-said]").get_attribute("data-said") == "counted completed"
        recorder.look(page)
        assert page.evaluate("Survey.Version").startswith("3.")
        assert recorder.leaks == []
        assert list(asked.counted.values()) == [expected(asked.collection, [YES, HOURS])]


def test_a_form_with_the_adapter_is_as_accessible_as_without(visit: Visit, asked: Loopback, package: Path) -> None:
    """Axe finds no fault on a page of the form, before and after the draw."""
    with visit() as context:
        page = context.new_page()
        page.goto(serve(asked, package))
        page.wait_for_selector("[data-said]")
        assert violations(page) == []
        smokes(page)
        press(page, "Next")
        sleeps(page)
        assert violations(page) == []
        press(page, "Next")
        page.wait_for_selector("textarea")
        press(page, "Previous")
        page.wait_for_selector("input[type=number]")
        assert violations(page) == []


def test_a_reload_a_crash_and_a_changed_answer_draw_nothing_anew(visit: Visit, asked: Loopback, package: Path) -> None:
    with visit() as context:
        recorder, page = Recorder(context), context.new_page()
        address = serve(asked, package)
        page.goto(address)
        # If the page is killed before a draw, nothing of the answer is left, and the form asks again.
        smokes(page, NO)
        recorder.look(page)
        page = killed(page, address)
        recorder.look(page)
        smokes(page)
        press(page, "Next")
        sleeps(page)
        press(page, "Next")
        page.wait_for_selector("textarea")
        recorder.look(page)
        (drawn,) = stored_reports(page)
        # If the page is killed after the draw, the device has the report, and the questions take no other answer.
        page = killed(page, address)
        page.wait_for_selector("[data-said]")
        page.reload()
        page.wait_for_selector("[data-said]")
        questions = "['smoker', 'hours'].map((one) => model.getQuestionByName(one))"
        assert page.evaluate(f"{questions}.map((one) => [one.isReadOnly, one.isEmpty()])") == [[True, True]] * 2
        assert page.evaluate("model.data.town") == "Ulm"
        page.evaluate(f"model.getQuestionByName('smoker').value = '{NO}'")
        # The host's draft is from the moment of the draw, before the next page was shown.
        press(page, "Next")
        page.wait_for_selector("textarea")
        recorder.look(page)
        press(page, "Complete")
        page.wait_for_selector("[data-said]:not([data-said=shown])")
        recorder.look(page)
        assert recorder.leaks == []
        assert stored_reports(page) in ([drawn], [""])
        assert len(recorder.reports) == 1
        assert recorder.reports == {json.loads(drawn)["reports"][0]["report"]}


def stored_reports(page: Page) -> list[str]:
    """Return the bodies that the device stores."""
    found: list[str] = page.evaluate(
        """() => new Promise((done) => {
            const opening = indexedDB.open('deniable');
            opening.onsuccess = () => {
                const all = opening.result.transaction('responses').objectStore('responses').getAll();
                all.onsuccess = () => { opening.result.close(); done(all.result.map((one) => one.body)); };
            };
        })"""
    )
    return found


def killed(page: Page, address: str) -> Page:
    """Kill the process of a page, and open its address in another process with the same profile."""
    from playwright.sync_api import Error

    context = page.context
    with page.expect_event("crash"), contextlib.suppress(Error):
        page.goto("chrome://crash", wait_until="commit")
    page.close()
    other = context.new_page()
    other.goto(address)
    return other


@pytest.mark.parametrize(
    ("change", "said_of_it"),
    [
        ({"title": "You said {smoker}"}, "may name"),
        ({"visibleIf": f"{{Smoker}} = '{YES}'"}, "may name"),
        ({"title": "x", "setValueExpression": "displayValue('smoker')"}, "may name"),
        ({"valueName": "smoker"}, "share the value"),
    ],
)
def test_forms_that_would_show_an_answer_elsewhere_are_refused(
    visit: Visit, asked: Loopback, package: Path, change: dict[str, Any], said_of_it: str
) -> None:
    form = json.loads(json.dumps(FORM))
    form["pages"][2]["elements"][0] |= change
    address = serve(asked, package, form=form)
    asked.scripts["/page.js"] = asked.scripts["/page.js"].replace(
        b"await protect(survey, loaded);",
        b"await protect(survey, loaded).catch((error) => ({ report: document.body.dataset.refused = error.message }));",
    )
    with visit() as context:
        page = context.new_page()
        page.goto(address)
        assert said_of_it in (page.locator("[data-refused]").get_attribute("data-refused") or "")


MUTANTS: dict[str, list[tuple[str, str]]] = {
    "draws at completion only": [
        (
            "  for (const one of marked) seal(form, one);\n",
            "  form.onCompleting.add(() => marked.forEach((one) => seal(form, one)));\n",
        ),
        ("  for (const one of marked) tried(form, one);\n", ""),
        ("    return leaving.isGoingForward && asked", "    return !leaving && asked"),
    ],
    "keeps the raw value in the form's hash": [
        ("    if (key === name) return;\n", ""),
        ("    canSetValueToSurvey: () => false,\n", ""),
        ("  for (const one of marked) tried(form, one);\n", ""),
    ],
    "lets the form read the question": [
        ("    getStructuredValue: () => undefined,\n", ""),
        ("  for (const one of marked) tried(form, one);\n", ""),
    ],
}


def built(folder: Path, changes: list[tuple[str, str]]) -> bytes:
    """Return the adapter with some lines replaced."""
    for name in ("src", "package"):
        shutil.copytree(CLIENT / name, folder / name)
    shutil.copy(CLIENT / "survey.css", folder)
    source = folder / "package" / "surveyjs.ts"
    text = source.read_text()
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    source.write_text(text.replace('"./index.js"', '"/client.js"'))
    build = [str(CLIENT / "node_modules" / ".bin" / "esbuild"), str(source), "--bundle", "--format=esm"]
    build += ["--external:/client.js", "--target=es2020"]
    return subprocess.run(build, check=True, capture_output=True).stdout


@pytest.mark.parametrize("name", MUTANTS)
def test_the_recorder_finds_what_a_wrong_adapter_lets_out(
    visit: Visit, asked: Loopback, package: Path, tmp_path: Path, name: str
) -> None:
    with visit() as context:
        recorder, page = Recorder(context), context.new_page()
        page.goto(serve(asked, package, built(tmp_path / "client", MUTANTS[name])))
        through(page, recorder)
        assert recorder.leaks


def test_another_library_than_the_adapter_knows_is_refused(
    visit: Visit, asked: Loopback, package: Path, tmp_path: Path
) -> None:
    """A later version might rename its method: the adapter tries the method before anyone answers."""
    changed = [("    canSetValueToSurvey: () => false,\n", ""), ("    if (key === name) return;\n", "")]
    address = serve(asked, package, built(tmp_path / "client", changed))
    asked.scripts["/page.js"] = asked.scripts["/page.js"].replace(
        b"await protect(survey, loaded);",
        b"await protect(survey, loaded).catch((error) => ({ report: document.body.dataset.refused = error.message }));",
    )
    with visit() as context:
        page = context.new_page()
        page.goto(address)
        found = page.locator("[data-refused]").get_attribute("data-refused")
        assert found == "This version of survey-core is not one that the adapter knows."

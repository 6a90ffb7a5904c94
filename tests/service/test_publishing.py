"""Published results: the export's numbers in all languages, without scripts, and only on the owners' request."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from deniable import AdaptiveSMP, SimulationRandomness
from deniable.cli import app
from deniable.files.wire import Body, to_wire
from deniable.service.auth import hash_password
from deniable.service.server import Running
from deniable.service.survey_page import LANGUAGES, SurveyPage, draft_page
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema
from tests.service.asking import PASSWORD, Caller, collecting, sqlite

SCHEMA = Schema(
    (
        Attribute("smoker", ("yes", "no"), title="Do you smoke?"),
        Attribute("hours", kind="numeric", range=(0, 24), grid=9, title="Hours of sleep?"),
        Attribute("devices", ("phone", "radio"), kind="multiple", title="Which?"),
    )
)
SURVEY = Collection(SCHEMA, AdaptiveSMP(SCHEMA.sizes, 4.0), title="How people live")
N = 4000


def page_text() -> str:
    drafted = draft_page(SURVEY, contributors=N, languages=LANGUAGES)
    words = {
        tag: said.model_copy(update={"title": f"<{tag}> & co", "intro": "We ask.", "consent": "You may."})
        for tag, said in drafted.languages.items()
    }
    german = words["de"].model_copy(update={"labels": {**words["de"].labels, "smoker": ["ja", "nein"]}})
    terms = {"languages": {**words, "de": german}, "contact": "us@example.org", "min_batch": 20}
    page: SurveyPage = drafted.model_copy(update=terms)
    return page.to_json()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with collecting(sqlite(tmp_path_factory.mktemp("published"))) as running:
        collector = running.collector
        for name, role in (("ann", "owner"), ("bob", "analyst")):
            collector.store.add_analyst(name, role, hash_password(PASSWORD))
        collector.surveys.new("live", SURVEY.to_json(), page_text(), ".")
        collector.surveys.open("live")
        collector.refresh()
        rng = np.random.default_rng(7)
        answers = {
            "smoker": ["no"] * (N // 4) + ["yes"] * (3 * N // 4),
            "hours": (6 + 3 * rng.random(N)).round(1).tolist(),
            "devices": ["phone"] * N,
        }
        codes = SURVEY.schema.encode(answers, SimulationRandomness(1))
        rows = to_wire(SURVEY.mechanism, SURVEY.randomize(codes, SimulationRandomness(2)))
        ids = np.arange(N).astype(">u8").view(np.uint8).reshape(N, 8)
        body = Body(SURVEY.id, np.hstack([np.zeros((N, 8), np.uint8), ids]), rows)
        assert Caller(running.public).post(body).status == 201
        collector.drain()
        yield running


def logged_in(here: Running, name: str = "ann") -> Caller:
    call = Caller(here.admin, {"origin": here.admin})
    cookie = call("POST", "/session", {"name": name, "password": PASSWORD}).headers["set-cookie"].partition(";")[0]
    return Caller(here.admin, {"origin": here.admin, "cookie": cookie})


def test_results_are_public_from_publish_to_withdraw_and_only_of_a_closed_survey(here: Running) -> None:
    anyone, ann = Caller(here.public), logged_in(here)
    refused = ann("POST", "/surveys/live/publish")
    assert refused.problem == "malformed"
    assert "must be closed before its results are published, but it is open" in refused.json["detail"]
    assert ann("GET", "/surveys/live/published/index.html").problem == "not-found"
    here.collector.surveys.close("live", now=True)
    here.collector.refresh()
    for path in ("/r/live/", "/r/live/de.html", "/r/none/"):
        assert anyone("GET", path).status == 404
    # Owners see the page before anybody else does, and analysts publish nothing.
    seen = ann("GET", "/surveys/live/published/index.html").content
    assert logged_in(here, "bob")("POST", "/surveys/live/publish").problem == "not-allowed"
    crossed = Caller(here.admin, {**ann.headers, "origin": "https://evil.example"})
    assert crossed("POST", "/surveys/live/publish").problem == "not-allowed"
    assert Caller(here.admin, {"origin": here.admin})("POST", "/surveys/live/publish").problem == "login"
    assert Caller(here.admin)("GET", "/surveys/live/published/index.html").problem == "login"
    assert anyone("GET", "/r/live/").status == 404
    for _ in range(2):
        published = ann("POST", "/surveys/live/publish")
        assert (published.status, published.json["results"]) == (200, "/r/live/")
    answer = anyone("GET", "/r/live/")
    assert (answer.status, answer.content) == (200, seen)
    assert anyone("GET", "/r/live").headers["location"] == "/r/live/"
    assert anyone("GET", "/r/live/de.html").status == 200
    assert anyone("GET", "/r/live/en.html").status == 404
    # There is no script and no other style: the policy has the hash of the only sheet.
    policy = answer.headers["content-security-policy"]
    assert re.search(r"script-src 'none'; style-src 'sha256-[^']+'; ", policy)
    assert "<script" not in answer.content.decode()
    assert " style=" not in answer.content.decode()
    assert "The results are public" in ann("GET", "/surveys/live").content.decode()
    for _ in range(2):
        assert ann("POST", "/surveys/live/withdraw").json["results"] is None
    assert anyone("GET", "/r/live/").status == 404
    acts = [entry.act for entry in here.collector.store.noted(survey="live")]
    assert [act for act in acts if act in ("publish", "withdraw")] == ["publish"] * 2 + ["withdraw"] * 2


def numbers(page: str) -> list[str]:
    """Return all numbers in a page's charts, without percent signs and words."""
    cells = re.findall(
        r'<td class="said" dir="ltr"><b dir="auto">(.*?)</b>(?: <span dir="auto">(.*?)</span>)?</td>', page
    )
    return [figure for cell in cells for figure in re.findall(r"-?\d+", " ".join(cell))]


def test_pages_say_the_same_numbers_in_every_language(here: Running, tmp_path: Path) -> None:
    folder, runner = tmp_path / "results", CliRunner()
    database = f"sqlite:{here.collector.store.file}"
    if here.collector.surveys.status("live")["state"] != "closed":
        here.collector.surveys.close("live", now=True)
    command = ["survey", "publish", "live", "--database", database]
    written = runner.invoke(app, [*command, "-o", str(folder)])
    assert written.exit_code == 0, written.output
    names = ["ar.html", "de.html", "es.html", "fr.html", "index.html"]
    assert sorted(path.name for path in folder.iterdir()) == names
    # Files are written, but nothing is put on the public port.
    assert Caller(here.public)("GET", "/r/live/").status == 404
    pages = {name: (folder / name).read_text(encoding="utf-8") for name in names}
    shown = {name: numbers(page) for name, page in pages.items()}
    assert len(shown["index.html"]) > 10
    assert {tuple(found) for found in shown.values()} == {tuple(shown["index.html"])}
    # The share of smokers is that of the export, to the whole per cent, and inside of its range.
    (tmp_path / "survey.json").write_text(SURVEY.to_json())
    (tmp_path / "x.aggregate").write_bytes(here.collector.surveys.export("live"))
    said = runner.invoke(app, ["estimate", str(tmp_path / "survey.json"), str(tmp_path / "x.aggregate"), "--json"])
    (yes, no) = json.loads(said.stdout)["attributes"][0]["categories"]
    expected = [yes["estimate"], yes["lower"], yes["upper"], no["estimate"], no["lower"], no["upper"]]
    for figure, value in zip(shown["index.html"], expected, strict=False):
        assert abs(int(figure) - 100 * value) < 1.001
    english, german = html.unescape(pages["index.html"]), html.unescape(pages["de.html"])
    assert '<h2 id="finding1">More than half answered “yes”</h2>' in english
    assert '<h2 id="finding1">Mehr als die Hälfte antwortete „ja“</h2>' in german
    # In a sentence from right to left, a date keeps its order.
    assert len(re.findall(r"\u2066\d{4}-\d\d-\d\d\u2069", pages["ar.html"])) == 5
    mean = re.search(r"The mean is between ([\d.]+) and ([\d.]+)", english)
    assert mean
    assert f"Der Mittelwert liegt zwischen {mean[1].replace('.', ',')} und {mean[2].replace('.', ',')}" in german
    assert float(mean[1]) < 7.5 < float(mean[2])
    # The page says how to report the result: method, epsilon of the whole contributor, n, target and interval.
    for part in (
        f"by {SURVEY.mechanism.name}, with epsilon = 4 for the whole contributor, all questions together",
        f"n = {N:,} reports",
        # A report can reveal more about all options of a question than about one of them.
        "per question: epsilon = 4 for devices",
        "95% confidence intervals about the people who took part",
        SURVEY.id[:12],
    ):
        assert part in english
    assert f"n = {N:,}".replace(",", ".") in german
    for name, page in pages.items():
        tag = name.removesuffix(".html").replace("index", "en")
        assert f'<html lang="{tag}" dir="{"rtl" if tag == "ar" else "ltr"}">' in page
        assert f"<h1><bdi>&lt;{tag}&gt; &amp; co</bdi></h1>" in page
        links = re.findall(r'<a href="(.*?)" lang', page)
        assert sorted(links) == [other for other in names if other != name]
        # Nothing is loaded, and every picture has its numbers beside it.
        assert not re.findall(r'(?:src|href)="(?!\w+\.html")', page)
        assert page.count("<svg") == page.count("<svg>")
        assert page.count('class="drawing" aria-hidden="true"') == page.count('class="said"')

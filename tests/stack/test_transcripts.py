"""Ten lines from a tool's own first page to a counted report or a printed estimate, as in the documentation.

A transcript is the text that people copy: the first block of code on a page, and the first block of commands if there
is one. Only addresses and the digits of a link are filled in. A complete collector counts the reports.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import openpyxl
import pytest
from typer.testing import CliRunner

from deniable import GRR, Attribute, Collection, Schema, SimulationRandomness
from deniable.cli import app
from tests.browser.conftest import chromium
from tests.service.asking import Caller, body, collecting, open_survey, sqlite, summed, until
from tests.stack.conftest import ROOT, Rscript

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from deniable.service.server import Running

pytestmark = pytest.mark.long

CLIENT = ROOT / "client"
SURVEY = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=1.0), title="Smoking")
MOST_LINES = 10


def block(page: str, *languages: str) -> str:
    """Return the first block of a page in one of these languages."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.search(rf"^```(?:{'|'.join(languages)})\n(.*?)^```", text, re.M | re.S)
    assert found, page
    return found[1]


def short(*blocks: str) -> None:
    """Assert that a transcript has at most ten lines."""
    lines = [line for one in blocks for line in one.splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES, lines


class Site(NamedTuple):
    """A web site, and the data posted to it."""

    origin: str
    files: dict[str, bytes]
    posted: list[str]


@pytest.fixture
def site() -> Iterator[Site]:
    """A web site on the loopback."""
    files: dict[str, bytes] = {}
    posted: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Log nothing."""

        def answer(self, status: int, content: bytes = b"") -> None:
            kind = "text/javascript" if self.path.endswith(".js") else "text/html; charset=utf-8"
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            found = files.get(self.path)
            self.answer(404) if found is None else self.answer(200, found)

        def do_POST(self) -> None:
            posted.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.answer(204)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield Site(f"http://localhost:{server.server_port}", files, posted)
        server.shutdown()


@pytest.fixture
def collector(site: Site, tmp_path: Path) -> Iterator[Running]:
    """A collector with an open survey, which devices may use from the site."""
    with collecting(sqlite(tmp_path), drain_seconds=0.1, page_origin=[site.origin]) as here:
        open_survey(here.collector.surveys, collection=SURVEY)
        here.collector.refresh()
        # Nineteen other people answer, because reports are added up in batches of twenty.
        Caller(here.public).post(body(19, collection=SURVEY))
        yield here


def filled(code: str, here: Running) -> str:
    """Return a transcript with this collector's address and this survey's link."""
    digits = here.collector.surveys.status("smoking")["link"].partition("#")[2]
    code = code.replace("https://collector.example", here.public).replace("ID#DIGITS", f"{SURVEY.id}#{digits}")
    return re.sub(r"\bDIGITS\b", json.dumps(digits), re.sub(r"\bID\b", json.dumps(SURVEY.id), code))


def counted(here: Running) -> None:
    """Wait until the twentieth report has arrived, and all are summed."""
    until(lambda: summed(here.collector.store, SURVEY.id)[1] == 20)


def bundled(place: Path, code: str) -> bytes:
    """Return a script with its imports, as a site's bundler makes it from the installed package."""
    (place / "hello.js").write_text(code)
    tool = str(CLIENT / "node_modules" / ".bin" / "esbuild")
    run = [tool, "hello.js", "--bundle", "--format=esm", "--target=es2022"]
    return subprocess.run(run, cwd=place, check=True, capture_output=True).stdout


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium that is closed before tests of another folder start theirs."""
    yield from chromium()


@pytest.fixture
def visited(browser: Browser) -> Iterator[Page]:
    """Open a page in a fresh profile."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


def test_a_form_of_your_own(site: Site, collector: Running, package: Path, visited: Page) -> None:
    code = block("embedding.md", "js")
    short(code)
    site.files["/"] = b'<!doctype html><title>Hello</title><script type="module" src="/hello.js"></script>'
    site.files["/hello.js"] = bundled(package.parents[2], filled(code, collector))
    visited.goto(site.origin)
    counted(collector)


def test_an_element(site: Site, collector: Running, package: Path, visited: Page) -> None:
    page = block("embedding.md", "html")
    short(page)
    site.files["/"] = filled(page, collector).encode()
    site.files["/element.js"] = (package / "dist" / "element.js").read_bytes()
    visited.goto(site.origin)
    visited.click("text=Start")
    visited.check("input[name=deniable-0][value='1']")
    visited.click("form button[type=submit]:visible")
    visited.check("input[name=agree]")
    visited.click("form button[type=submit]:visible")
    counted(collector)


def test_a_form_of_surveyjs(site: Site, collector: Running, package: Path, visited: Page) -> None:
    page, code = block("surveyjs.md", "html"), block("surveyjs.md", "js")
    short(page, code)
    site.files["/"] = page.encode()
    site.files["/hello.js"] = bundled(package.parents[2], filled(code, collector))
    for name in re.findall(r'src="(/[^"]+\.min\.js)"', page):
        site.files[name] = (CLIENT / name.lstrip("/")).read_bytes()
    visited.goto(site.origin)
    visited.click("label:has-text('yes')")
    visited.click("input[type=button][value=Complete]:visible")
    counted(collector)


def commands(text: str) -> str:
    """Run a block of commands; return their output."""
    said = ""
    for line in text.splitlines():
        program, *words = shlex.split(line)
        assert program == "deniable", line
        result = CliRunner(env={"COLUMNS": "100"}).invoke(app, words, catch_exceptions=False)
        assert result.exit_code == 0, (line, result.output)
        said += result.output
    return said


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_estimate_in_r(here: Path, rscript: Rscript) -> None:
    export, code = block("r.md", "sh"), block("r.md", "r")
    short(export, code)
    stars = Collection(Schema((Attribute("stars", ("1", "2", "3", "4", "5")),)), GRR(k=5, epsilon=1.0))
    stars.save(here / "survey.json")
    codes = np.random.default_rng(1).integers(0, 5, 2_000)
    stars.aggregate(stars.randomize(codes, SimulationRandomness(1))).save(here / "all.aggregate")
    commands(export)
    assert "stars: 2,000 of 2,000 contributors" in rscript(here, code)
    assert (here / "table.csv").exists()


def test_a_questionnaire_made_with_xlsform(here: Path) -> None:
    text = block("forms.md", "sh")
    short(text)
    book = openpyxl.Workbook()
    book.remove(book.active)
    sheets = {
        "survey": [["type", "name", "label"], ["select_one yn", "smoker", "Do you smoke?"]],
        "choices": [["list_name", "name"], ["yn", "yes"], ["yn", "no"]],
    }
    for sheet, rows in sheets.items():
        page = book.create_sheet(sheet)
        for row in rows:
            page.append(row)
    book.save("form.xlsx")
    # The form's data are exported with the names of the choices.
    (here / "answers.csv").write_text("smoker\n" + "yes\nno\nno\n" * 1000)
    said = commands(text)
    found = re.search(r"^yes +([\d.]+)% +1\.8% ", said, re.M)
    # The noise is from the system's source. The share is a third, within ten standard errors.
    assert found
    assert abs(float(found[1]) - 100 / 3) < 18


def test_load_times_of_a_page(here: Path, site: Site, visited: Page) -> None:
    code, command = block("load-times.md", "js"), block("load-times.md", "sh").splitlines()[0]
    short(code, command)
    site.files["/"] = f"<!doctype html><title>Hello</title><script>{code}</script>".encode()
    for _ in range(6):
        with visited.expect_request_finished(lambda one: one.url.endswith("/timing")):
            visited.goto(site.origin)
    until(lambda: len(site.posted) == 6)
    if not json.loads(site.posted[-1]).get("confidence"):
        pytest.skip("this Chromium has no field `confidence` in Navigation Timing: it came with 145")
    (here / "loads.jsonl").write_text("\n".join(site.posted))
    assert "low" in commands(command)


def test_a_mechanism_of_a_paper(here: Path) -> None:
    code, command = block("comparing.md", "py"), block("comparing.md", "sh")
    short(code, command)
    (here / "mine.py").write_text(code)
    said = commands(command)
    assert re.search(r"honest.*hold", said)
    assert "generous breaks keeps_the_budget" in said
    assert "\\begin{tabular}" in (here / "table.tex").read_text()

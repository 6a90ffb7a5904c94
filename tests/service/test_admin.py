"""The admin port: logins, rights, and a dashboard that agrees with the command line."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from deniable import SPL
from deniable.cli import app
from deniable.core.aggregate import Aggregate
from deniable.errors import UploadError
from deniable.service.auth import NO_PASSWORD, Logins, hash_password
from deniable.service.sending import send_file
from deniable.service.server import Running
from deniable.survey.attribute import Attribute
from deniable.survey.collection import Collection
from deniable.survey.schema import Schema
from tests.service.asking import ASKED, PASSWORD, Caller, Clock, bodies, body, collecting, open_survey, page, sqlite


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with collecting(sqlite(tmp_path_factory.mktemp("admin"))) as running:
        collector = running.collector
        for name, role in (("ann", "owner"), ("bob", "analyst")):
            collector.store.add_analyst(name, role, hash_password(PASSWORD))
        open_survey(collector.surveys)
        collector.refresh()
        call = Caller(running.public)
        assert call.post(body(200)).status == 201
        assert call.post(bodies(1, 900)[0]).status == 201
        assert collector.drain() == 201
        collector.refresh()
        yield running


def logged_in(here: Running, name: str = "ann") -> Caller:
    call = Caller(here.admin, {"origin": here.admin})
    answer = call("POST", "/session", {"name": name, "password": PASSWORD})
    assert answer.status == 204
    return Caller(here.admin, {"origin": here.admin, "cookie": answer.headers["set-cookie"].partition(";")[0]})


# -------------------------------------------------------------------- access


def test_nothing_is_shown_to_strangers(here: Running) -> None:
    stranger = Caller(here.admin, {"cookie": "__Host-deniable=guess"})
    for path in ("results.json", "results.csv", "report.html", "aggregate"):
        answer = stranger("GET", f"/surveys/smoking/{path}")
        assert (answer.status, answer.problem) == (401, "login")
    for path in ("/", "/surveys/smoking"):
        answer = stranger("GET", path)
        assert (answer.status, answer.headers["location"]) == (303, "/login")
    assert stranger("GET", "/metrics").problem == "login"
    owner = Caller(here.admin, {"origin": here.admin})
    assert owner("POST", "/surveys/smoking/pause").problem == "login"
    # The public port has none of these pages.
    for path in ("/login", "/surveys/smoking/results.json", "/metrics"):
        assert Caller(here.public)("GET", path).problem == "not-found"


def test_a_session_is_a_cookie_that_scripts_and_other_origins_never_see(here: Running) -> None:
    call = Caller(here.admin, {"origin": here.admin})
    answer = call("POST", "/session", {"name": "ann", "password": PASSWORD})
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-deniable=")
    for part in ("HttpOnly", "Secure", "SameSite=strict", "Path=/", "Max-Age=43200"):
        assert part in cookie
    assert "Domain" not in cookie
    secret = cookie.partition("=")[2].partition(";")[0]
    with here.collector.store._reading() as run:
        assert not any(secret in str(row) for row in run("SELECT * FROM sessions"))
    me = logged_in(here)
    assert me("GET", "/").status == 200
    assert me("DELETE", "/session").status == 204
    assert me("GET", "/").status == 303


def test_posts_come_from_a_page_of_this_origin(here: Running) -> None:
    for origin in ("https://evil.example", here.public, "null"):
        call = Caller(here.admin, {"origin": origin})
        assert call("POST", "/session", {"name": "ann", "password": PASSWORD}).problem == "not-allowed"
    assert Caller(here.admin)("POST", "/session", {"name": "ann", "password": PASSWORD}).problem == "not-allowed"
    me = logged_in(here)
    crossed = Caller(here.admin, {**me.headers, "origin": "https://evil.example"})
    assert crossed("POST", "/surveys/smoking/pause").problem == "not-allowed"
    assert here.collector.surveys.status("smoking")["state"] == "open"


def test_analysts_read_and_owners_change_and_both_are_written_down(here: Running) -> None:
    assert logged_in(here, "bob")("POST", "/surveys/smoking/pause").problem == "not-allowed"
    assert "data-act" not in logged_in(here, "bob")("GET", "/surveys/smoking").content.decode()
    ann = logged_in(here)
    assert 'data-act="pause"' in ann("GET", "/surveys/smoking").content.decode()
    answer = ann("POST", "/surveys/smoking/pause")
    assert (answer.status, answer.json["state"]) == (200, "paused")
    answer = ann("POST", "/surveys/smoking/pause")
    assert (answer.problem, "is paused" in answer.json["detail"]) == ("malformed", True)
    assert ann("POST", "/surveys/smoking/open").json["state"] == "open"
    assert ann("POST", "/surveys/smoking/burn").problem == "not-found"
    acts = [(entry.who, entry.act) for entry in here.collector.store.noted(survey="smoking")]
    # The list of surveys shows a headline, so seeing the list is a look, too.
    assert sorted(who for who, act in acts if act == "look") == ["ann", "bob"]
    assert [one for one in acts if one[1] != "look"] == [("ann", "pause"), ("ann", "open")]


def test_a_wrong_login_is_said_without_saying_what_was_wrong(here: Running) -> None:
    call = Caller(here.admin, {"origin": here.admin})
    answers = [
        call("POST", "/session", given)
        for given in ({"name": "ann", "password": "wrong"}, {"name": "nobody", "password": PASSWORD})
    ]
    assert {answer.content for answer in answers} == {answers[0].content}
    assert answers[0].problem == "wrong-login"
    assert answers[0].json["title"] == "The name or the password is wrong."
    link = call("POST", "/session", {"link": "x"})
    assert (link.problem, "used before" in link.json["detail"]) == ("wrong-login", True)
    assert call("POST", "/session", {"name": 1}).problem == "malformed"


def test_programs_have_tokens(here: Running) -> None:
    logins = Logins(here.collector.store, here.collector.clock)
    here.collector.store.add_analyst("prometheus", "monitor", NO_PASSWORD)
    program = Caller(here.admin, {"authorization": f"Bearer {logins.issue('prometheus', 'token', None)}"})
    assert program("GET", "/surveys/smoking/results.json").problem == "not-allowed"
    text = program("GET", "/metrics").content.decode()
    assert 'deniable_reports_total{outcome="counted"} 201' in text
    assert 'deniable_counted_reports{survey="smoking"} 201' in text
    assert text.count("# TYPE deniable_commit_seconds histogram") == 1
    commits = dict(re.findall(r"deniable_commit_(\w+)_count (\d+)", text))
    assert commits["seconds"] == commits["reports"] != "0"
    analyst = Caller(here.admin, {"authorization": f"Bearer {logins.issue('bob', 'token', None)}"})
    assert analyst("GET", "/surveys/smoking/results.json").status == 200
    assert analyst("GET", "/metrics").problem == "not-allowed"
    assert Caller(here.admin, {"authorization": "Bearer x"})("GET", "/metrics").problem == "login"


# -------------------------------------------------------------------- pages


def estimated(here: Running, folder: Path, *options: str) -> dict[str, object]:
    """Return the command line's estimate of the export."""
    (folder / "survey.json").write_text(ASKED.to_json())
    (folder / "x.aggregate").write_bytes(here.collector.surveys.export("smoking"))
    arguments = ["estimate", str(folder / "survey.json"), str(folder / "x.aggregate"), "--json", *options]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found: dict[str, object] = json.loads(result.stdout)
    return found


def shown_numbers(text: str) -> list[list[str]]:
    """Return the cells of the charts' rows in a dashboard's DOM."""
    rows = re.findall(r'<tr>\s*<th scope="row">(.*?)</th>\s*<td class="chart">.*?</td>(.*?)</tr>', text, re.S)
    return [[html.unescape(name), *re.findall(r"<td[^>]*>(.*?)</td>", cells)] for name, cells in rows]


def test_results_are_what_the_command_line_says_and_the_page_shows_them(here: Running, tmp_path: Path) -> None:
    me = logged_in(here)
    answer = me("GET", "/surveys/smoking/results.json")
    found = answer.json
    assert (found["n"], found["state"], found["intervals"], found["released"]) == (
        *(201, "open", "any"),
        here.collector.clock().date().isoformat(),
    )
    assert "waiting" not in found
    assert [(day["batches"], day["n"]) for day in found["days"]] == [(1, 201)]
    assert me("GET", "/surveys/smoking/results.json", if_none_match=answer.headers["etag"]).status == 304
    options = ("--anytime", "--target", "population", "--planned", "500")
    assert found["estimate"] == estimated(here, tmp_path, *options)
    text = me("GET", "/surveys/smoking").content.decode()
    rows = shown_numbers(text)
    assert [row[0] for row in rows] == ["yes", "no", "once"]
    for row, known in zip(rows, found["estimate"]["attributes"][0]["categories"], strict=True):
        numbers = [float(number) for number in re.findall(r"-?[\d.]+(?=%)", " ".join(row[1:]))]
        exact = [100 * known[key] for key in ("estimate", "standard_error", "lower", "upper")]
        assert numbers == pytest.approx(exact, abs=0.0501)
    assert "<script>" not in text
    assert "style=" not in text
    assert "epsilon = 2 for the whole contributor" in text


def test_downloads(here: Running, tmp_path: Path) -> None:
    me = logged_in(here, "bob")
    answer = me("GET", "/surveys/smoking/aggregate")
    assert answer.headers["content-disposition"] == 'attachment; filename="smoking.aggregate"'
    (tmp_path / "x.aggregate").write_bytes(answer.content)
    assert Aggregate.load(tmp_path / "x.aggregate").n == 201
    rows = list(csv.DictReader(io.StringIO(me("GET", "/surveys/smoking/results.csv").content.decode())))
    found = me("GET", "/surveys/smoking/results.json").json["estimate"]["attributes"][0]["categories"]
    assert [(row["category"], float(row["estimate"])) for row in rows] == [
        (r["category"], r["estimate"]) for r in found
    ]
    report = me("GET", "/surveys/smoking/report.html").content.decode()
    assert report.startswith("<!doctype html>")
    assert "<script" not in report
    assert me("GET", "/surveys/none/results.json").problem == "not-found"
    assert me("GET", "/assets/page.css").status == 200
    assert me("GET", "/assets/../admin.py").status == 404


def test_while_a_survey_is_open_intervals_hold_at_every_look_or_are_not_drawn(tmp_path: Path) -> None:
    """Without a planned number of people there are none; at the close there are one-look intervals."""
    with collecting(sqlite(tmp_path)) as here:
        collector = here.collector
        collector.store.add_analyst("ann", "owner", hash_password(PASSWORD))
        collector.surveys.new("smoking", ASKED.to_json(), page(contributors=None), ".")
        collector.surveys.open("smoking")
        collector.refresh()
        me = logged_in(here)
        # Before the first batch there is no estimate, and the page says why.
        text = me("GET", "/surveys/smoking").content.decode()
        assert "No reports yet" in text
        assert "epsilon = 2" in text
        assert me("GET", "/surveys/smoking/report.html").problem == "not-found"
        Caller(here.public).post(body(100))
        collector.drain()
        collector.refresh()
        found = me("GET", "/surveys/smoking/results.json").json
        assert found["progress"] is None
        assert found["intervals"] == "none"
        assert all(row["lower"] is None for row in found["estimate"]["attributes"][0]["categories"])
        text = me("GET", "/surveys/smoking").content.decode()
        assert "there are no intervals" in text
        assert "interval covers" not in text
        assert me("POST", "/surveys/smoking/close", {"now": True}).json["state"] == "closed"
        closed = me("GET", "/surveys/smoking/results.json").json
        assert closed["intervals"] == "one"
        said = estimated(here, tmp_path)
        assert closed["estimate"] == said


def test_progress_says_how_far_off_and_when(here: Running) -> None:
    found = logged_in(here)("GET", "/surveys/smoking/results.json").json
    worst = max(row["standard_error"] for row in found["estimate"]["attributes"][0]["categories"])
    progress = found["progress"]
    assert progress["points_now"] == pytest.approx(100 * 1.96 * worst, abs=0.01)
    assert progress["points_planned"] == pytest.approx(progress["points_now"] * np.sqrt(201 / 500), abs=0.01)
    # A pace is known only after two days.
    assert (progress["per_day"], progress["days_left"], progress["n_at_close"]) == (None, None, None)


def test_a_forecast_waits_for_thirty_reports_on_two_days(tmp_path: Path) -> None:
    clock = Clock()
    with collecting(sqlite(tmp_path), clock=clock) as here:
        collector = here.collector
        collector.store.add_analyst("ann", "owner", hash_password(PASSWORD))
        open_survey(collector.surveys)
        collector.refresh()
        forecasts = []
        for start, n in ((0, 60), (100, 40)):
            Caller(here.public).post(body(n, start))
            collector.drain()
            collector.refresh()
            forecasts.append(logged_in(here)("GET", "/surveys/smoking/results.json").json["progress"]["days_left"])
            clock.move(days=1)
        # 100 reports came in two days, so the remaining 400 need eight days.
        assert forecasts == [None, 8]


def test_where_none_is_known_at_every_look_none_is_drawn_while_open(tmp_path: Path) -> None:
    """Such attributes occur beside others, in all kinds of surveys."""
    from deniable import collection

    schema = Schema(
        (
            Attribute("stars", ("1", "2", "3", "4", "5"), kind="ordered", ask="mean"),
            Attribute("devices", ("phone", "radio"), kind="multiple"),
            Attribute("hours", kind="numeric", range=(0, 24), grid=9),
        )
    )
    asked = collection(schema, 4.0, title="Mixed")
    with collecting(sqlite(tmp_path)) as here:
        collector = here.collector
        collector.store.add_analyst("ann", "owner", hash_password(PASSWORD))
        open_survey(collector.surveys, "mixed", asked)
        collector.refresh()
        sent = body(300, collection=asked)
        assert Caller(here.public).post(sent).json["counted"] == 300
        collector.drain()
        collector.refresh()
        me = logged_in(here)
        found = me("GET", "/surveys/mixed/results.json").json
        rows = {row["attribute"]: row["categories"] for row in found["estimate"]["attributes"]}
        drawn = {name: all(row["lower"] is not None for row in listed) for name, listed in rows.items()}
        assert found["intervals"] == "any"
        assert not drawn["stars"]
        assert drawn["devices: phone"]
        seal = me("GET", "/surveys/mixed").content.decode().partition('class="seal"')[2].partition("</details>")[0]
        assert "per question: epsilon = 4 for devices (upper bound)" in seal


def test_the_dashboard_says_at_each_time_what_can_be_done(tmp_path: Path) -> None:
    clock = Clock()
    with collecting(sqlite(tmp_path), clock=clock) as here:
        collector = here.collector
        collector.store.add_analyst("ann", "owner", hash_password(PASSWORD))
        terms: dict[str, Any] = {
            "opens_at": "2026-05-01T13:00:00Z",
            "closes_at": "2026-06-01T00:00:00Z",
            "grace_hours": 48,
        }
        open_survey(collector.surveys, contributors=100, **terms)
        collector.refresh()
        me, device = logged_in(here), Caller(here.public)

        def shown() -> tuple[str, list[str]]:
            text = html.unescape(me("GET", "/surveys/smoking").content.decode())
            return text, re.findall(r'data-act="(\w+)"', text)

        # It is open, so it cannot be opened or deleted, but nobody can answer yet.
        assert device.post(body(1)).problem == "not-open"
        collector.drain()
        collector.refresh()
        text, acts = shown()
        assert acts == ["pause", "close"]
        assert '<span class="chip open" data-field="state">open</span>' in text
        assert "<span>opens 2026-05-01</span>" in text
        assert "1 upload turned away (100%)" in text
        assert me("GET", "/surveys/smoking/results.json").json["state"] == "open"
        assert device("GET", f"/api/v1/collections/{ASKED.id}/state").json["state"] == "draft"
        (tmp_path / "answers.csv").write_text("smoker\nyes\n")
        with pytest.raises(UploadError, match=r"because it is not open yet\. No report was made"):
            send_file(ASKED, tmp_path / "answers.csv", here.public)
        clock.move(hours=1)
        assert device.post(body(300)).json["counted"] == 300
        collector.drain()
        collector.refresh()
        text, _ = shown()
        assert "opens 2026" not in text
        assert "If you did not expect this, pause the survey. Then compare the number" in text
        # A survey that was closed before its time does not close at that time, and cannot be paused.
        assert me("POST", "/surveys/smoking/close", {"now": False}).json["state"] == "closing"
        text, acts = shown()
        assert acts == []
        assert "<span>takes the last reports until 2026-05-03</span>" in text
        assert "closes 2026" not in text
        assert "If you did not expect this, compare the number" in text
        assert me("POST", "/surveys/smoking/close", {"now": True}).json["state"] == "closed"
        assert me("GET", "/surveys/smoking/results.json").json["accepts_until"] is None
        assert "until 2026" not in shown()[0]


def test_people_who_come_without_a_link_read_a_page(here: Running) -> None:
    for path, status, words in (("/", 200, "for surveys"), ("/s/none", 404, "no survey at this address")):
        answer = Caller(here.public)("GET", path)
        assert (answer.status, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
        assert words in answer.content.decode()
    answer = logged_in(here)("GET", "/surveys/none")
    assert answer.status == 404
    assert "There is no survey with this name" in answer.content.decode()


def test_the_link_is_whole_and_its_code_is_a_picture_of_it(here: Running) -> None:
    import segno

    me = logged_in(here)
    link = here.public + here.collector.surveys.status("smoking")["link"]
    assert link in me("GET", "/surveys/smoking").content.decode()
    answer = me("GET", "/surveys/smoking/link.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    drawn = io.BytesIO()
    segno.make_qr(link, error="m").save(drawn, kind="svg", scale=8, light="#fff", xmldecl=False)
    assert answer.content == drawn.getvalue()
    assert Caller(here.admin)("GET", "/surveys/smoking/link.svg").problem == "login"


def test_two_attributes_and_strange_labels_are_shown_as_text(tmp_path: Path) -> None:
    evil = Schema((Attribute("<b>a", ("<script>alert(1)</script>", "\"'&")), Attribute("b", ("x", "y"))))
    asked = Collection(evil, SPL(sizes=evil.sizes, epsilon=4.0), title="<img src=x>")
    with collecting(sqlite(tmp_path)) as here:
        collector = here.collector
        collector.store.add_analyst("ann", "owner", hash_password(PASSWORD))
        open_survey(collector.surveys, "evil", asked)
        collector.refresh()
        Caller(here.public).post(body(50, collection=asked))
        collector.drain()
        collector.refresh()
        me = logged_in(here)
        for path in ("/surveys/evil", "/"):
            text = me("GET", path).content.decode()
            assert "<script>alert" not in text
            assert "<img src=x" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in me("GET", "/surveys/evil").content.decode()

"""Making a survey on the admin port: rights, stored data, refusals, and repeated requests."""

from __future__ import annotations

import gzip
import html
import io
import json
import re
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import openpyxl
import pytest
from starlette.routing import Route

from deniable.service.admin import admin_app
from deniable.service.auth import hash_password
from deniable.service.draft_pages import DraftEndpoints
from deniable.service.drafts import Draft, build
from deniable.service.server import Running
from deniable.survey.kinds import KINDS
from tests.service.asking import ASKED, PASSWORD, Answer, Caller, collecting, open_survey, page as page_text, sqlite

FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with collecting(sqlite(tmp_path_factory.mktemp("drafts"))) as running:
        store = running.collector.store
        for name, role, surveys in (
            ("ann", "owner", None),
            ("eve", "owner", frozenset({"other"})),
            ("bob", "analyst", None),
            ("sam", "sender", None),
        ):
            store.add_analyst(name, role, hash_password(PASSWORD), surveys)
        yield running


class Person:
    """A logged-in user who sends forms."""

    def __init__(self, here: Running, name: str = "ann") -> None:
        call = Caller(here.admin, {"origin": here.admin})
        answer = call("POST", "/session", {"name": name, "password": PASSWORD})
        self.here = here
        self.call = Caller(here.admin, {"origin": here.admin, "cookie": answer.headers["set-cookie"].partition(";")[0]})

    def get(self, path: str) -> str:
        answer = self.call("GET", path)
        assert answer.status == 200, answer.content
        return answer.content.decode()

    def post(self, path: str, **fields: Any) -> Answer:
        return self.call("POST", path, urlencode(fields).encode(), **{"content-type": FORM})

    def sends(self, path: str, **fields: Any) -> str:
        """Send a form that is accepted; return its redirect."""
        answer = self.post(path, **fields)
        assert answer.status == 303, answer.content
        return answer.headers["location"]

    def begin(self, slug: str, title: str = "Smoking") -> str:
        assert self.sends("/new", made="0011", title=title, slug=slug, language="en") == f"/drafts/{slug}"
        return f"/drafts/{slug}"


@pytest.fixture
def ann(here: Running) -> Person:
    return Person(here)


def kept(here: Running, slug: str) -> Draft:
    text = here.collector.store.draft(slug)
    assert text is not None
    return Draft.model_validate_json(text)


def fault(answer: Answer) -> str:
    """Return the fault on the page after a refused form."""
    assert answer.status == 200, answer.content
    found = re.search(r'<p class="fault" role="alert">(.*?)</p>', answer.content.decode(), re.S)
    assert found
    return html.unescape(found[1])


def finished(ann: Person, slug: str, **terms: Any) -> str:
    """Return a draft with one question that is ready to be opened."""
    at = ann.begin(slug)
    ann.sends(f"{at}/questions", made="q001", text="Do you smoke?", kind="categories")
    ann.sends(f"{at}/questions/q001", text="Do you smoke?", kind="categories", answers="yes\nno", boxes="")
    said = {"title.en": "Smoking", "intro.en": "We ask.", "consent.en": "You may.", "contact": "us"}
    ann.sends(f"{at}/texts", **said)
    ann.sends(f"{at}/plan", **{"contributors": "500", "epsilon": "2", "min_batch": "20", **terms})
    return at


# -------------------------------------------------------------------- access


GETS = ("", "/questions/q001", "/texts", "/preview", "/try", "/plan", "/delete")
POSTS = (
    *("/questions", "/questions/q001", "/questions/q001/move", "/questions/q001/remove", "/import"),
    *("/texts", "/languages", "/plan", "/open", "/delete"),
)


def test_every_route_of_drafts_is_in_the_lists_of_these_tests(here: Running) -> None:
    routes = DraftEndpoints(here.collector, None).routes()  # type: ignore[arg-type]
    posts = {route.path for route in routes if route.methods == {"POST"}}
    known = {f"/drafts/{{slug}}{path}".replace("q001", "{key}") for path in POSTS}
    assert posts == {"/new", *known}
    gets = {route.path for route in routes if "GET" in (route.methods or ())}
    api = {path for path in gets if "/api/" in path}
    assert len(api) == 4
    assert gets == {"/new", *api, *(f"/drafts/{{slug}}{path}".replace("q001", "{key}") for path in GETS)}
    assert all(isinstance(route, Route) for route in routes)
    assert callable(admin_app(here.collector, ()))


def test_strangers_analysts_and_owners_of_others_make_nothing(here: Running, ann: Person) -> None:
    at = finished(ann, "private")
    before = kept(here, "private")
    id_ = re.search(r'data-collection="(\w+)"', ann.get(f"{at}/try"))
    assert id_
    api = [f"{at}/api/collections/{id_[1]}{path}" for path in ("", "/page", "/state", "/dictionary/x")]
    stranger = Caller(here.admin, {"origin": here.admin})
    for path in ("/new", *(at + path for path in GETS)):
        answer = stranger("GET", path)
        assert (answer.status, answer.headers["location"]) == (303, "/login"), path
    for path in api:
        assert stranger("GET", path).problem == "login"
    fields = urlencode({"name": "private", "title": "x", "slug": "mine", "remove": "en", "made": "aaaa"}).encode()
    for path in ("/new", *(at + path for path in POSTS)):
        assert stranger("POST", path, fields, **{"content-type": FORM}).problem == "login", path
    for name, problem in (("bob", "not-allowed"), ("sam", "not-allowed"), ("eve", "not-found")):
        other = Person(here, name)
        for path in POSTS:
            answer = other.call("POST", at + path, fields, **{"content-type": FORM})
            assert answer.problem == problem, (name, path)
        for path in api:
            assert other.call("GET", path).problem == problem
        assert other.post("/new", title="x", slug="mine", made="aaaa").problem == "not-allowed"
        assert "private" not in Person(here, name).call("GET", "/").content.decode()
    assert Person(here, "eve").call("GET", at).status == 404
    assert kept(here, "private") == before
    assert here.collector.store.draft("mine") is None
    # The public port has none of these pages.
    for path in ("/new", at, *api):
        assert Caller(here.public)("GET", path).problem == "not-found"


def test_no_form_comes_from_a_page_of_another_origin(here: Running, ann: Person) -> None:
    at = finished(ann, "crossed")
    before = kept(here, "crossed")
    fields = urlencode({"name": "crossed", "title": "x", "slug": "evil", "made": "aaaa", "to": "0"}).encode()
    for origin in ("https://evil.example", here.public, "null", None):
        headers = {key: value for key, value in ann.call.headers.items() if key != "origin"}
        call = Caller(here.admin, headers if origin is None else {**headers, "origin": origin})
        for path in ("/new", *(at + path for path in POSTS)):
            answer = call("POST", path, fields, **{"content-type": FORM})
            assert answer.problem == "not-allowed", (origin, path)
    assert kept(here, "crossed") == before
    page = ann.call("GET", at)
    assert "form-action 'self'" in page.headers["content-security-policy"]
    assert "script-src 'self'" in page.headers["content-security-policy"]
    # A browser sends "null" as the origin of a form unless the policy lets it say where the form was.
    assert page.headers["referrer-policy"] == "same-origin"
    assert "form-action 'none'" in ann.call("GET", "/").headers["content-security-policy"]
    # A page on another origin cannot send a form as JSON text either.
    assert ann.call("POST", "/new", b"{}", **{"content-type": "text/plain"}).problem == "unsupported"


# -------------------------------------------------------------------- saved drafts


def test_a_draft_is_begun_once_and_never_over_another(here: Running, ann: Person) -> None:
    at = ann.begin("begun", "First")
    ann.sends(f"{at}/questions", made="q001", text="Do you smoke?", kind="categories")
    # The same form again leads to the same draft, and changes nothing.
    assert ann.begin("begun", "First") == at
    assert len(kept(here, "begun").questions) == 1
    assert "must be a new name" in fault(ann.post("/new", made="ffff", title="Second", slug="begun"))
    open_survey(here.collector.surveys, "taken")
    here.collector.refresh()
    assert "but another survey has slug=" in fault(ann.post("/new", made="ffff", title="Second", slug="taken"))
    said = ann.post("/new", made="ffff", title="<b>Second</b>", slug="no good!")
    assert "slug must be 1 to 64 characters" in fault(said)
    assert "&lt;b&gt;Second&lt;/b&gt;" in said.content.decode()
    assert ann.sends("/new", made="ffff", title="Wie wir leben, 2026", language="de") == "/drafts/wie-wir-leben-2026"
    assert kept(here, "wie-wir-leben-2026").first == "de"
    here.collector.surveys.close("taken", now=True)
    here.collector.surveys.delete("taken")


def test_questions_are_added_saved_moved_and_removed_and_twice_is_once(here: Running, ann: Person) -> None:
    at = ann.begin("edited")
    for key, text in (("q001", "First?"), ("q002", "Second?"), ("q003", "Third?")):
        for _ in range(2):
            assert ann.sends(f"{at}/questions", made=key, text=text, kind="ordered") == f"{at}/questions/{key}"
    for _ in range(2):
        ann.sends(f"{at}/questions/q003/move", to="0")
    assert [one.key for one in kept(here, "edited").questions] == ["q003", "q001", "q002"]
    for _ in range(2):
        ann.sends(f"{at}/questions/q001/remove")
    assert [one.text for one in kept(here, "edited").questions] == ["Third?", "Second?"]
    answered = {"text": "Third?", "kind": "ordered", "boxes": "", "mean": "on"}
    where = ann.sends(f"{at}/questions/q003", answers=" never \r\n\r\n often", scores="0\n1", **answered)
    assert where == f"{at}?said=saved"
    saved = kept(here, "edited").question("q003")
    assert saved is not None
    assert (saved.answers, saved.scores, saved.mean) == (("never", "often"), ("0", "1"), True)
    # A wrong entry is kept, and the page says so where it can be changed.
    where = ann.sends(f"{at}/questions/q003", answers="never\nnever", scores="0\n1", **answered)
    assert where == f"{at}/questions/q003?said=kept"
    page = html.unescape(ann.get(where))
    assert "labels of attribute “third” must be distinct, got “never” twice" in page.lower()
    assert "never\nnever</textarea>" in page
    # An entry without a limit of its own still has a limit.
    assert "String should have at most 500 characters" in fault(
        ann.post(f"{at}/questions/q003", answers="x" * 501, **answered)
    )
    assert kept(here, "edited").question("q003").answers == ("never", "never")  # type: ignore[union-attr]
    assert "kind must be one of" in fault(ann.post(f"{at}/questions", made="q009", text="x", kind="essay"))
    assert "made" not in fault(ann.post(f"{at}/questions", made="Q!", text="x", kind="ordered"))


def test_a_question_of_every_kind_is_asked_as_it_was_typed(here: Running, ann: Person) -> None:
    at = ann.begin("kinds")
    typed: dict[str, dict[str, str]] = {
        "categories": {"answers": "yes\nno", "missing": "Rather not"},
        "ordered": {"answers": "bad\nfair\ngood", "scores": "0\n1\n2"},
        "numeric": {"low": "0", "high": "24", "points": "9"},
        "multiple": {"answers": "phone; old\nradio"},
        "dictionary": {"words": "apple\nbanana\ncherry\n", "other": "another"},
    }
    assert set(typed) == {name for name, kind in KINDS.items() if kind.inputs}
    for i, (kind, fields) in enumerate(typed.items()):
        ann.sends(f"{at}/questions", made=f"kind{i}", text=f"Question {i}?", kind=kind)
        where = ann.sends(f"{at}/questions/kind{i}", text=f"Question {i}?", kind=kind, name=kind, boxes="", **fields)
        assert where == f"{at}?said=saved", ann.get(where)
    ann.sends(f"{at}/questions", made="cuts", text="How old?", kind="categories")
    ann.sends(f"{at}/questions/cuts", text="How old?", kind="categories", answers="", cuts="20\n40", boxes="")
    page = ann.get(f"{at}/try")
    id_ = re.search(r'data-collection="(\w+)"', page)
    assert id_
    found = ann.call("GET", f"{at}/api/collections/{id_[1]}").json["schema"]["attributes"]
    assert [one.get("kind", "categories") for one in found[:4]] == ["categories", "ordered", "numeric", "multiple"]
    assert (found[0]["categories"], found[0]["missing"]) == (["yes", "no"], "Rather not")
    assert (found[0]["name"], found[0]["title"]) == ("categories", "Question 0?")
    assert found[1]["scores"] == [0, 1, 2]
    assert (found[2]["range"], found[2]["grid"]) == ([0, 24], 9)
    assert found[3]["separator"] == "|"
    assert (found[4]["dictionary"]["k"], found[4]["other"]) == (3, "another")
    assert found[5]["edges"] == [20, 40]
    words = ann.call("GET", f"{at}/api/collections/{id_[1]}/dictionary/dictionary").content
    assert words == b"apple\nbanana\ncherry\n"
    assert ann.call("GET", f"{at}/api/collections/{id_[1]}/dictionary/ordered").problem == "not-found"
    assert ann.call("GET", f"{at}/api/collections/{'0' * 64}").problem == "not-found"


def test_a_translation_follows_its_answer(here: Running, ann: Person) -> None:
    at = finished(ann, "translated")
    ann.sends(f"{at}/languages", add="de")
    page = ann.get(f"{at}/texts?said=languages")
    assert page.count('name="q001.') == 3
    german = {"q001.0.de": "Rauchen Sie?", "q001.1.de": "ja", "q001.2.de": "nein"}
    for _ in range(2):
        ann.sends(f"{at}/texts", **german, **{"title.de": "Rauchen", "intro.de": "Wir fragen.", "consent.de": "Ja."})
    assert kept(here, "translated").languages["de"].labels == {"q001": {"yes": "ja", "no": "nein"}}
    # After reordering, and with one answer spelled anew, each answer keeps its translation.
    ann.sends(f"{at}/questions/q001", text="Do you smoke?", kind="categories", answers="no\nyes", boxes="")
    ann.sends(f"{at}/questions/q001", text="Do you smoke?", kind="categories", answers="no\nyes, I do", boxes="")
    page = ann.get(f"{at}/try")
    id_ = re.search(r'data-collection="(\w+)"', page)
    assert id_
    said = ann.call("GET", f"{at}/api/collections/{id_[1]}/page").json["languages"]
    assert said["en"]["labels"] == {"do_you_smoke": ["no", "yes, I do"]}
    assert said["de"]["labels"] == {"do_you_smoke": ["nein", "ja"]}
    assert said["de"]["questions"] == {"do_you_smoke": "Rauchen Sie?"}
    for _ in range(2):
        ann.sends(f"{at}/languages", remove="de")
    assert list(kept(here, "translated").languages) == ["en"]
    # The first language stays.
    ann.sends(f"{at}/languages", remove="en")
    assert list(kept(here, "translated").languages) == ["en"]
    assert "should match pattern" in fault(ann.post(f"{at}/languages", other="Klingon!"))


@pytest.mark.parametrize(
    ("first", "then"), [("yes no", "no maybe"), ("1 2 3", "2 3 4"), ("cats dogs", "cats birds"), ("1 2 3", "1 3")]
)
def test_the_data_have_the_answers_that_people_read_after_an_edit(
    here: Running, ann: Person, first: str, then: str
) -> None:
    at = ann.begin("respelt")
    ann.sends(f"{at}/questions", made="q001", text="Which?", kind="categories")
    for answers in (first, then):
        ann.sends(f"{at}/questions/q001", answers="\n".join(answers.split()), boxes="")
    built = build(kept(here, "respelt").to_json())
    assert not built.of_step("questions")
    assert built.attributes["q001"].categories == tuple(then.split())
    ann.sends(f"{at}/delete", name="respelt")


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (("كم عمرك؟", "هل تدخن؟", "هل تنام؟"), ["question", "question_2", "question_3"]),
        (("How often do you drink tea?", "How often do you drink beer?"), ["how_often_do_you_drink"]),
    ],
)
def test_questions_whose_names_would_be_the_same_get_numbers(
    here: Running, ann: Person, texts: tuple[str, ...], names: list[str]
) -> None:
    at = ann.begin("named")
    for i, text in enumerate(texts):
        ann.sends(f"{at}/questions", made=f"q00{i}", text=text, kind="categories")
        ann.sends(f"{at}/questions/q00{i}", text=text, answers="yes\nno", boxes="")
    found = build(kept(here, "named").to_json())
    assert found.survey is not None
    assert found.survey.collection.schema.names[: len(names)] == tuple(names)
    assert f"if it is empty: {found.survey.collection.schema.names[1]}" in ann.get(f"{at}/questions/q001")
    # A name that was typed stays, and is not given to another question.
    ann.sends(f"{at}/questions/q001", name=names[0])
    found = build(kept(here, "named").to_json())
    assert found.survey is not None
    assert found.survey.collection.schema.names[:2] == (f"{names[0]}_2", names[0])
    ann.sends(f"{at}/delete", name="named")


def test_an_epsilon_that_is_typed_is_a_decimal_number_and_stays_as_it_is(here: Running, ann: Person) -> None:
    at = finished(ann, "third", own_epsilon="1/3")
    assert "psilon must be a decimal number such as 1.5, got epsilon=“1/3”" in html.unescape(ann.get(f"{at}/plan"))
    ann.sends(f"{at}/plan", contributors="500", own_epsilon="1,5")
    assert "psilon must be a finite number, got epsilon=“1,5”" in html.unescape(ann.get(f"{at}/plan"))
    ann.sends(f"{at}/plan", contributors="500", own_epsilon="1.2345678")
    assert '<input type="radio" name="epsilon" value="1.2345678" checked>' in ann.get(f"{at}/plan")


@pytest.mark.parametrize("typed", ["1.500", "1,500", "1 500", "1\N{NARROW NO-BREAK SPACE}500", "1'500", "1500"])
def test_a_number_of_people_may_have_marks_between_thousands(here: Running, ann: Person, typed: str) -> None:
    at = ann.begin("many")
    ann.sends(f"{at}/plan", contributors=typed)
    assert kept(here, "many").contributors == 1500
    assert "whole number" in fault(ann.post(f"{at}/plan", contributors="1,5"))
    ann.sends(f"{at}/delete", name="many")


def multipart(name: str, content: bytes, key: str = "imp1", decimal: str = "") -> tuple[bytes, str]:
    """Return the body of a form with a file, and its media type."""
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="made"\r\n\r\n{key}\r\n'.encode(),
        *([f'--x\r\nContent-Disposition: form-data; name="decimal"\r\n\r\n{decimal}\r\n'.encode()] if decimal else []),
        f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode(),
        content + b"\r\n--x--\r\n",
    ]
    return b"".join(parts), "multipart/form-data; boundary=x"


def test_questions_come_from_a_table(here: Running, ann: Person) -> None:
    at = ann.begin("table")
    body, kind = multipart("wishes.csv", b"mood,pets\ngood,cat;dog\nbad,cat\ngood,dog;bird\nfair,cat;bird\n")
    for _ in range(2):
        answer = ann.call("POST", f"{at}/import", body, **{"content-type": kind})
        assert answer.status == 303, fault(answer)
        assert answer.headers["location"] == f"{at}?said=imported"
    draft = kept(here, "table")
    assert [(one.name, one.kind, one.answers) for one in draft.questions] == [
        ("mood", "categories", ("bad", "fair", "good")),
        ("pets", "multiple", ("bird", "cat", "dog")),
    ]
    # The warnings of an import are shown beside the questions.
    assert "The schema is public" in ann.get(f"{at}?said=imported")
    for name, content, said in (
        ("notes.txt", b"x", "file must be a table (.csv, .tsv) or an XLSForm (.xlsx), got file=“notes.txt”"),
        ("empty.csv", b"", "empty.csv"),
        ("form.xlsx", b"PK", "form.xlsx"),
        # A file that becomes longer when it is read would fill the server's memory.
        ("bomb.csv", gzip.compress(b"mood\n" + b"good\n" * 1000), "; unpack the file first"),
        ("bomb.csv", b"PAR1", "; unpack the file first"),
        ("bomb.xlsx", packed(80 << 20), "must have at most 64 MiB when unpacked, but bomb.xlsx has 80 MiB"),
    ):
        body, kind = multipart(name, content, "imp2")
        shown = fault(ann.call("POST", f"{at}/import", body, **{"content-type": kind}))
        assert said in shown
        assert "/tmp" not in shown
    assert ann.call("POST", f"{at}/import", b"--x--", **{"content-type": kind}).problem == "malformed"
    assert len(kept(here, "table").questions) == 2


def packed(size: int) -> bytes:
    """Return an archive with one long part of repeated bytes."""
    written = io.BytesIO()
    with (
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("a", "w") as part,
    ):
        for _ in range(size >> 20):
            part.write(bytes(1 << 20))
    return written.getvalue()


def test_numbers_that_may_be_read_in_two_ways_are_asked_about_once(here: Running, ann: Person) -> None:
    at = ann.begin("rents")
    rents = "rent;rooms\n" + "".join(f"{1 + i % 9}.{100 + i};{i % 4}\n" for i in range(60))
    body, kind = multipart("rents.csv", rents.encode())
    asked = ann.call("POST", f"{at}/import", body, **{"content-type": kind}).content.decode()
    assert "What is 1.500 in rent?" in asked
    assert kept(here, "rents").questions == ()
    for said, high in (("point", 10), ("comma", 9000)):
        body, kind = multipart("rents.csv", rents.encode(), f"imp{said[0]}", decimal=said)
        assert ann.call("POST", f"{at}/import", body, **{"content-type": kind}).status == 303
        rent = next(one for one in kept(here, "rents").questions[::-1] if one.name == "rent")
        assert float(rent.high) >= high
        assert float(rent.high) < 3 * high
    # A column with decimal commas needs no question, and the page says how it was read.
    body, kind = multipart("fees.csv", b"fee;n\n" + b"".join(b"%d,50;1\n" % i for i in range(60)), "impf")
    assert ann.call("POST", f"{at}/import", body, **{"content-type": kind}).status == 303
    assert "fees.csv: numbers have decimal commas in fee" in kept(here, "rents").notes[0]


def test_a_draft_stays_small_and_odd_numbers_are_refused(
    here: Running, ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = ann.begin("long")
    monkeypatch.setattr("deniable.service.draft_pages.MAX_DRAFT", 3000)
    said = fault(ann.post(f"{at}/texts", **{"intro.en": "a" * 4000}))
    assert "the draft must have at most 3,000 characters" in said
    assert kept(here, "long").languages["en"].intro == ""
    ann.sends(f"{at}/questions", made="q001", text="How much?", kind="numeric")
    for low, points in (("nan", "5"), ("-inf", "5"), ("1e999", "5"), ("0", "nan"), ("0", "inf")):
        ann.sends(f"{at}/questions/q001", text="How much?", kind="numeric", low=low, high="10", points=points, boxes="")
        assert "must be a number such as 6.5" in ann.get(at)
    assert "must be a whole number of usual size" in fault(ann.post(f"{at}/plan", contributors="9" * 5000))
    assert fault(ann.post(f"{at}/plan", access="nobody")) == "“Who can answer” must be one of the choices on this page."


def test_a_survey_for_invited_people_says_where_invitations_are_made(here: Running, ann: Person) -> None:
    at = finished(ann, "asked", access="invited", epsilon="1")
    assert "deniable survey invite asked" in ann.get(f"{at}/plan")
    assert ann.sends(f"{at}/open") == "/surveys/asked"
    assert here.collector.surveys.load(here.collector.surveys.row("asked").id).page.access == "invited"
    assert "deniable survey invite asked" in ann.get("/surveys/asked")
    both = finished(ann, "both", access="invited", second_person="on")
    assert "second_person must be false" in fault(ann.post(f"{both}/open"))


def test_questions_and_translations_come_from_an_xlsform(here: Running, ann: Person) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "survey"
    for row in (
        ["type", "name", "label::English (en)", "label::German (de)"],
        ["select_one yn", "smokes", "Do you smoke?", "Rauchen Sie?"],
        ["geopoint", "where", "Where?", "Wo?"],
    ):
        sheet.append(row)
    choices = book.create_sheet("choices")
    for row in (
        ["list_name", "name", "label::English (en)", "label::German (de)"],
        ["yn", "0", "No", "Nein"],
        ["yn", "1", "Yes", "Ja"],
    ):
        choices.append(row)
    sink = io.BytesIO()
    book.save(sink)
    at = ann.begin("form")
    body, kind = multipart("form.xlsx", sink.getvalue())
    answer = ann.call("POST", f"{at}/import", body, **{"content-type": kind})
    assert answer.status == 303, answer.content
    draft = kept(here, "form")
    (question,) = draft.questions
    assert (question.answers, question.names) == (("No", "Yes"), {"No": "0", "Yes": "1"})
    assert draft.languages["de"].questions == {question.key: "Rauchen Sie?"}
    assert draft.languages["de"].labels == {question.key: {"0": "Nein", "1": "Ja"}}
    assert "row 3, where" in ann.get(at)
    # An answer that is spelled anew keeps the name that the form gave it.
    ann.sends(f"{at}/questions/{question.key}", answers="No\nYes, I do", boxes="")
    draft = kept(here, "form")
    assert draft.questions[0].names == {"No": "0", "Yes, I do": "1"}
    assert draft.languages["de"].labels == {question.key: {"0": "Nein", "1": "Ja"}}


# -------------------------------------------------------------------- open and delete


def test_a_finished_draft_is_opened_once_and_its_dashboard_takes_its_place(here: Running, ann: Person) -> None:
    at = finished(ann, "opened")
    page = ann.get(f"{at}/plan")
    assert "With 500 people this survey can work" in page
    assert "anyway" not in page
    for _ in range(2):
        assert ann.sends(f"{at}/open") == "/surveys/opened"
    assert here.collector.surveys.status("opened")["state"] == "open"
    assert here.collector.store.draft("opened") is None
    for path in GETS:
        assert ann.call("GET", at + path).status in (303, 404)
    acts = [(entry.who, entry.act) for entry in here.collector.store.noted(survey="opened")]
    assert [act for act in acts if act[1] != "look"] == [
        ("ann", "new-draft"),
        ("ann", "edit-draft"),
        ("ann", "new"),
        ("ann", "open"),
    ]
    survey = here.collector.of_slug("opened")
    assert survey is not None
    assert survey.survey.page.contributors == 500
    assert survey.survey.collection.title == "Smoking"
    # Nobody can overwrite an open survey with a draft of its name.
    assert "but another survey has slug=" in fault(ann.post("/new", made="ffff", title="x", slug="opened"))


def test_a_survey_that_cannot_work_is_opened_by_words_alone(here: Running, ann: Person) -> None:
    at = finished(ann, "hopeless", contributors="20", epsilon="0.5")
    page = html.unescape(ann.get(f"{at}/plan"))
    assert "This survey cannot work: 20 contributors and epsilon = 0.5" in page
    for said in ("", "yes", "just do"):
        refused = fault(ann.post(f"{at}/open", anyway=said))
        assert refused.startswith("This survey cannot work as it is planned, so it stays closed.")
    assert here.collector.of_slug("hopeless") is None or here.collector.surveys.status("hopeless")["state"] == "draft"
    assert ann.sends(f"{at}/open", anyway="A rehearsal among ourselves") == "/surveys/hopeless"
    (entry,) = [one for one in here.collector.store.noted(survey="hopeless") if one.act == "open"]
    assert entry.about == "A rehearsal among ourselves"


def test_a_survey_that_would_close_at_once_is_not_opened(here: Running, ann: Person) -> None:
    terms = {"contributors": "500", "epsilon": "1.9"}
    at = finished(ann, "late", **terms, closes_at="2020-01-01")
    assert "closes_at of “late” must be later than now" in fault(ann.post(f"{at}/open"))
    # The draft is all that there is, and can be mended.
    assert [row["slug"] for row in here.collector.surveys.list() if row["slug"] == "late"] == []
    ann.sends(f"{at}/plan", **terms, closes_at="2126-01-01")
    assert ann.sends(f"{at}/open") == "/surveys/late"


def test_a_draft_that_is_not_finished_is_not_opened(here: Running, ann: Person) -> None:
    at = ann.begin("half")
    assert "There is no question yet" in fault(ann.post(f"{at}/open"))
    ann.sends(f"{at}/questions", made="q001", text="Do you smoke?", kind="categories")
    ann.sends(f"{at}/questions/q001", text="Do you smoke?", kind="categories", answers="yes\nno", boxes="")
    said = fault(ann.post(f"{at}/open"))
    for part in ("introduction is not written", "consent is not written", "whom to ask", "how many people"):
        assert part in said
    for field, value, message in (
        ("contributors", "many", "“How many people will answer” must be a whole number."),
        ("min_batch", "3", "“Smallest group of reports that enters the results” must be at least 20."),
        ("min_batch", "9" * 12, "“Smallest group of reports that enters the results” must be at most 1,000,000,000."),
        ("grace_hours", "long", "“Hours after the close in which late reports still count” must be a number."),
        ("grace_hours", "9999", "“Hours after the close in which late reports still count” must be at most 8,784."),
        ("own_epsilon", "1" * 200, "“Another epsilon” must be at most 100 characters long."),
    ):
        answer = ann.post(f"{at}/plan", **{field: value})
        assert fault(answer) == message
        assert f">{message[1:].partition('”')[0]}</label>" in answer.content.decode()
    ann.sends(f"{at}/plan", contributors="1,000", own_epsilon="a lot")
    assert "epsilon" in html.unescape(ann.get(f"{at}/plan")).partition("Still open")[2]
    assert here.collector.of_slug("half") is None


def test_a_draft_is_deleted_by_its_name_typed_again(here: Running, ann: Person) -> None:
    at = ann.begin("gone")
    assert "Type its name" in ann.get(f"{at}/delete")
    assert "Type the name" in fault(ann.post(f"{at}/delete", name="gon"))
    assert here.collector.store.draft("gone") is not None
    for _ in range(2):
        assert ann.sends(f"{at}/delete", name="gone") == "/"
    assert here.collector.store.draft("gone") is None
    acts = [entry.act for entry in here.collector.store.noted(survey="gone")]
    assert acts == ["new-draft", "delete-draft"]


def test_a_closed_survey_is_deleted_by_its_name_typed_again(here: Running, ann: Person) -> None:
    open_survey(here.collector.surveys, "over", ASKED)
    here.collector.surveys.close("over", now=True)
    here.collector.refresh()
    assert ann.call("POST", "/surveys/over/delete", {"name": "ove"}).problem == "malformed"
    assert ann.call("POST", "/surveys/over/delete", {"name": "over"}).json["state"] == "deleted"
    acts = [(entry.who, entry.act) for entry in here.collector.store.noted(survey="over")]
    assert acts == [("ann", "delete")]


def test_the_dashboard_of_a_draft_says_that_it_cannot_work_and_takes_words(here: Running, ann: Person) -> None:
    here.collector.surveys.new("cli", ASKED.to_json(), page_text(ASKED, contributors=20), ".")
    here.collector.refresh()
    shown = ann.get("/surveys/cli")
    assert '<h2 id="cannot">This survey cannot work</h2>' in shown
    assert '<input id="anyway"' in shown
    refused = ann.call("POST", "/surveys/cli/open", {})
    assert (refused.problem, "cannot work" in refused.json["detail"]) == ("malformed", True)
    opened = ann.call("POST", "/surveys/cli/open", {"anyway": "only to try it"})
    assert json.loads(opened.content)["state"] == "open"


def test_nothing_of_a_draft_is_markup(here: Running, ann: Person) -> None:
    at = ann.begin("markup", "<script>alert(1)</script>")
    evil = '"><img src=x onerror=alert(1)>'
    ann.sends(f"{at}/questions", made="q001", text=evil, kind="categories")
    ann.sends(f"{at}/questions/q001", text=evil, kind="categories", answers=f"{evil}\nb", missing=evil + "2", boxes="")
    ann.sends(f"{at}/languages", other="pt-BR")
    ann.sends(f"{at}/texts", **{"title.en": evil, "intro.en": evil, "contact": evil, "q001.1.pt-BR": evil})
    for path in GETS:
        page = ann.get(at + path)
        assert "<img" not in page, path
        assert "<script>" not in page
    assert "<img" not in ann.get("/")

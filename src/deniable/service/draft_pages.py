"""Pages of the admin port on which owners make a survey: questions, texts, preview, plan, and the button that opens it.

The pages are forms that a server reads, so they work with a keyboard, without a script, and at any width. A form
contains everything about its subject, so sending it twice is the same as sending it once. The draft keeps what was
typed even if it is wrong.
"""

from __future__ import annotations

import contextlib
import functools
import io
import re
import secrets
import tempfile
import unicodedata
import zipfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from deniable.errors import AmbiguousNumbersError, DeniableError, InvalidParameterError, StoreError, quoted
from deniable.files import read_xlsform
from deniable.files.formats.tables import open_answers, with_progress
from deniable.service.admin_accounts import AccountEndpoints, check_origin
from deniable.service.auth import Analyst
from deniable.service.collector import Collector
from deniable.service.control import perform
from deniable.service.drafts import (
    EXAMPLE_GRID,
    MAX_DRAFT,
    Built,
    Draft,
    DraftQuestion,
    DraftWords,
    build,
    rows,
    with_form,
    with_schema,
)
from deniable.service.problems import AnotherPageError, Problem, to
from deniable.service.readiness import LEAST_WORDS, cannot_work
from deniable.service.receiving import read_body
from deniable.service.rendering import policy, render_template
from deniable.service.survey_page import LANGUAGE_NAMES, LANGUAGES
from deniable.service.surveys import Survey, check_closing, check_slug
from deniable.survey.attribute import Attribute
from deniable.survey.decimals import NumberColumns
from deniable.survey.drafting import draft_schema
from deniable.survey.kinds import KINDS, USUAL

if TYPE_CHECKING:
    from deniable.planning.survey_plan import SurveyPlan

MAX_FORM = 8 << 20
"""Most bytes of a form, or of an imported file."""

_FIELDS = 20_000
_IMPORT_SUFFIXES = (".csv", ".tsv", ".xlsx")

BUDGETS = ("0.5", "1", "2", "4")
"""Epsilons that a plan compares."""

STEPS = (("questions", "Questions"), ("texts", "Texts"), ("preview", "Preview"), ("plan", "Plan and open"))

PLAN_LABELS = {
    "contributors": "How many people will answer",
    "epsilon": "Another epsilon",
    "closes_at": "Closes at the beginning of this day (UTC)",
    "min_batch": "Smallest group of reports that enters the results",
    "grace_hours": "Hours after the close in which late reports still count",
    "retention": "What is kept",
    "access": "Who can answer",
}
"""Field of a draft -> label on the page of the plan."""

_RULES = {
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of usual size",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "finite_number": "a number",
    "greater_than_equal": "at least {ge:,.0f}",
    "less_than_equal": "at most {le:,.0f}",
    "string_too_long": "at most {max_length} characters long",
    "literal_error": "one of the choices on this page",
}
"""Kind of an error of pydantic -> what the field must be."""

_HEADERS = {
    "Cache-Control": "no-store",
    # Forms are sent only to this origin. A browser says which origin sends a form only if the referrer policy allows
    # it.
    "Content-Security-Policy": policy(form_action="'self'"),
    "Referrer-Policy": "same-origin",
}


class Form(NamedTuple):
    """Fields of a form that was sent."""

    values: Mapping[str, str]

    def text(self, name: str, usual: str = "") -> str:
        """Return a text whose lines are separated by line feeds only."""
        return self.values.get(name, usual).replace("\r\n", "\n")

    def line(self, name: str, usual: str = "") -> str:
        """Return a text of one line, without white space around it."""
        return " ".join(self.text(name, usual).split())

    def lines(self, name: str) -> tuple[str, ...]:
        """Return the lines of a text that are not empty."""
        return tuple(" ".join(line.split()) for line in self.text(name).split("\n") if line.strip())

    def ticked(self, name: str) -> bool:
        """Return whether a box was ticked."""
        return name in self.values


async def read_form(request: Request) -> Form:
    """Return the fields of a form.

    Raises
    ------
    Problem
        If the form comes from another origin (not-allowed), or its body cannot be read (unsupported, too-large, slow or
        malformed).
    """
    check_origin(request)
    if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
        raise Problem("unsupported", "the body must be a form")
    content = await read_body(request.headers, request.receive, MAX_FORM)
    try:
        pairs = parse_qsl(content.decode(), keep_blank_values=True, max_num_fields=_FIELDS)
    except ValueError:
        raise Problem("malformed", f"the form must be UTF-8 text with at most {_FIELDS} fields") from None
    return Form(dict(pairs))


Shows = Callable[[Request, str, Draft, str], Awaitable[Response]]
"""Function that shows a page of a draft. It gets the request, the draft's name, the draft, and the fault of the typed
text."""


class DraftEndpoints:
    """Endpoints of the pages of drafts, for owners.

    Parameters
    ----------
    collector : Collector
        Collector that gets the finished surveys.
    people : AccountEndpoints
        Check of the account that sends a request.
    """

    def __init__(self, collector: Collector, people: AccountEndpoints) -> None:
        self._collector, self._people = collector, people

    def routes(self) -> list[Route]:
        """Return the routes of these pages."""
        one, post = "/drafts/{slug}", ["POST"]
        return [
            Route("/new", self.new_page),
            Route("/new", self.new, methods=post),
            Route(one, self.questions),
            Route(f"{one}/questions", self.add, methods=post),
            Route(f"{one}/import", self.take_file, methods=post),
            Route(f"{one}/questions/{{key}}", self.question),
            Route(f"{one}/questions/{{key}}", self.save_question, methods=post),
            Route(f"{one}/questions/{{key}}/move", self.move, methods=post),
            Route(f"{one}/questions/{{key}}/remove", self.remove, methods=post),
            Route(f"{one}/texts", self.texts),
            Route(f"{one}/texts", self.save_texts, methods=post),
            Route(f"{one}/languages", self.save_languages, methods=post),
            Route(f"{one}/preview", self.preview),
            Route(f"{one}/try", self.shell),
            Route(f"{one}/api/collections/{{id}}", self.document),
            Route(f"{one}/api/collections/{{id}}/page", self.page_document),
            Route(f"{one}/api/collections/{{id}}/state", self.state),
            Route(f"{one}/api/collections/{{id}}/dictionary/{{attribute}}", self.dictionary),
            Route(f"{one}/plan", self.plan),
            Route(f"{one}/plan", self.save_plan, methods=post),
            Route(f"{one}/open", self.open, methods=post),
            Route(f"{one}/delete", self.delete_page),
            Route(f"{one}/delete", self.delete, methods=post),
        ]

    # ---------------------------------------------------------------- access

    async def _owner(self, request: Request, slug: str | None = None) -> Analyst:
        """Return the owner who sends a request, or raise the problem that keeps others out."""
        who = await self._people.known(request)
        if not who.changes:
            raise Problem("not-allowed", f"the role {who.role} may not make surveys; owners can make surveys")
        if slug is None and who.surveys is not None:
            raise Problem("not-allowed", "only an owner of all surveys can make a new survey")
        if slug is not None and not who.may(slug):
            raise Problem("not-found", "there is no draft with this name")
        return who

    async def _held(self, request: Request) -> tuple[str, Draft]:
        """Return the draft that a request names."""
        slug = request.path_params["slug"]
        await self._owner(request, slug)
        text = await run_in_threadpool(self._collector.store.draft, slug)
        if text is None:
            raise Problem("not-found", "there is no draft with this name")
        return slug, Draft.model_validate_json(text)

    async def _shown(self, request: Request) -> tuple[str, Draft]:
        """Return the draft that a page is about, or lead to another page if the draft cannot be shown."""
        try:
            return await self._held(request)
        except Problem as problem:
            if problem.name == "login":
                raise AnotherPageError(to("/login")) from None
            if problem.name != "not-found":
                raise
            slug = request.path_params["slug"]
            who = await self._people.known(request)
            # The draft was opened in the meantime, so its dashboard takes the draft's place.
            opened = who.may(slug) and self._collector.of_slug(slug) is not None
            instead = to(f"/surveys/{slug}") if opened else _html(render_template("unknown.html"), 404)
            raise AnotherPageError(instead) from None

    async def _change(self, request: Request, change: Callable[[Draft], Draft], again: Shows | None = None) -> str:
        """Change the draft that a request names, record the change, and return the draft's name.

        If a typed text is too long or has another shape, `again` shows the form with the mistake.

        Raises
        ------
        InvalidParameterError
            If a typed text is too long or has another shape, and there is no `again`.
        """
        slug: str = request.path_params["slug"]
        who = await self._owner(request, slug)

        def changed(before: str | None) -> str:
            if before is None:
                raise Problem("not-found", "there is no draft with this name")
            text = change(Draft.model_validate_json(before)).to_json()
            if len(text) > max(MAX_DRAFT, len(before)):
                raise InvalidParameterError(
                    f"the draft must have at most {MAX_DRAFT:,} characters, got {len(text):,}; shorten its texts"
                )
            return text

        await self._people.note(who.name, "edit-draft", slug, together=True)
        try:
            await run_in_threadpool(self._collector.store.change_draft, slug, changed)
        except (ValidationError, InvalidParameterError) as error:
            if again is None:
                raise InvalidParameterError(_what_is_wrong(error)) from None
            page = await again(request, *await self._held(request), _what_is_wrong(error))
            raise AnotherPageError(page) from None
        return slug

    # ---------------------------------------------------------------- new

    async def new_page(self, request: Request) -> Response:
        """Answer with the form that begins a draft."""
        if await self._people.who(request) is None:
            return to("/login")
        await self._owner(request)
        return self._new_page({"made": secrets.token_hex(8), "language": "en"})

    def _new_page(self, typed: Mapping[str, str], fault: str = "") -> Response:
        shown = {"names": LANGUAGE_NAMES, "typed": typed, "fault": fault}
        return _html(render_template("draft_new.html", **shown))

    async def new(self, request: Request) -> Response:
        """Begin a draft."""
        form = await read_form(request)
        who = await self._owner(request)
        title = form.line("title")
        slug = form.line("slug").lower() or _slug(title)
        language = form.line("other") or form.line("language", "en")
        made = form.line("made")

        def begun(before: str | None) -> str:
            if before is None:
                words = {language: DraftWords(title=title)}
                return Draft(made=made, languages=words).to_json()
            if not made or Draft.model_validate_json(before).made != made:
                raise InvalidParameterError(
                    f"slug must be a new name, but another draft has slug={quoted(slug)}; choose another name"
                )
            return before

        try:
            check_slug(slug)
            await self._people.note(who.name, "new-draft", slug, together=True)
            await run_in_threadpool(self._collector.store.change_draft, slug, begun)
        except (ValidationError, DeniableError) as error:
            return self._new_page(form.values, _what_is_wrong(error))
        return to(f"/drafts/{slug}")

    # ---------------------------------------------------------------- questions

    async def questions(self, request: Request) -> Response:
        """Answer with the list of questions."""
        return await self._questions(request, *await self._shown(request))

    async def _questions(
        self, request: Request, slug: str, draft: Draft, fault: str = "", asks: AmbiguousNumbersError | None = None
    ) -> Response:
        built = await run_in_threadpool(build, draft.to_json())
        shown = {
            "made": secrets.token_hex(4),
            "kinds": _kinds(),
            "usual": USUAL,
            "told": {key: _told(attribute) for key, attribute in built.attributes.items()},
            "wrong": {one.key: one.text for one in built.of_step("questions") if one.key},
            "maximum": MAX_FORM >> 20,
            "asks": asks,
        }
        return self._page("draft_questions.html", request, slug, draft, built, "questions", fault, **shown)

    async def add(self, request: Request) -> Response:
        """Add a question of a given kind; sending the same form again adds no further question."""
        form = await read_form(request)
        key = form.line("made")

        def added(draft: Draft) -> Draft:
            if draft.question(key) is not None:
                return draft
            low, high, points = ("0", "10", str(EXAMPLE_GRID)) if form.line("kind") == _numbers() else ("", "", "")
            question = DraftQuestion(
                key=key,
                kind=form.line("kind", USUAL),
                text=form.text("text").strip(),
                low=low,
                high=high,
                points=points,
            )
            return draft.replaced(question)

        slug = await self._change(request, added, self._questions)
        return to(f"/drafts/{slug}/questions/{key}")

    async def question(self, request: Request) -> Response:
        """Answer with the form of one question."""
        return await self._question(request, *await self._shown(request))

    async def _question(self, request: Request, slug: str, draft: Draft, fault: str = "") -> Response:
        question = draft.question(request.path_params["key"])
        if question is None:
            return to(f"/drafts/{slug}")
        built = await run_in_threadpool(build, draft.to_json())
        wrong = fault or next((one.text for one in built.faults if one.key == question.key), "")
        kind = KINDS[question.kind]
        shown = {
            "question": question,
            "kinds": _kinds(),
            "inputs": kind.inputs,
            "averaged": kind.averaged and kind.usual_ask != "mean",
            "place": [one.key for one in draft.questions].index(question.key),
            # A question that was only just added cannot be wrong yet.
            "wrong": wrong if "said" in request.query_params or fault else "",
        }
        return self._page("draft_question.html", request, slug, draft, built, "questions", fault, **shown)

    async def save_question(self, request: Request) -> Response:
        """Save the typed fields of a question, right or wrong."""
        form = await read_form(request)
        key = request.path_params["key"]

        def saved(draft: Draft) -> Draft:
            known = draft.question(key)
            if known is None:
                return draft
            typed = _typed(known, form)
            respelled = _respelled(known.answers, typed.answers)
            labels = {known.names.get(old, old): typed.names.get(new, new) for old, new in respelled.items()}
            return draft.replaced(typed).relabelled(key, labels)

        await self._change(request, saved, self._question)
        slug, draft = await self._held(request)
        built = await run_in_threadpool(build, draft.to_json())
        right = key in built.attributes and form.line("then") != "kind"
        return to(f"/drafts/{slug}?said=saved" if right else f"/drafts/{slug}/questions/{key}?said=kept")

    async def move(self, request: Request) -> Response:
        """Move a question to a given place."""
        form = await read_form(request)
        place = form.line("to", "0")
        if not place.isdecimal() or len(place) > 6:
            raise Problem("malformed", "the field “to” must be a position in the list, counted from 0")
        slug = await self._change(request, lambda draft: draft.moved(request.path_params["key"], int(place)))
        return to(f"/drafts/{slug}#{request.path_params['key']}")

    async def remove(self, request: Request) -> Response:
        """Remove a question with its translations."""
        await read_form(request)
        slug = await self._change(request, lambda draft: draft.removed(request.path_params["key"]))
        return to(f"/drafts/{slug}?said=removed")

    async def take_file(self, request: Request) -> Response:
        """Add the questions of a table of answers, or of a form made with XLSForm."""
        check_origin(request)
        slug, draft = await self._held(request)
        name, content, key, decimal = await _upload(request)
        try:
            found = await run_in_threadpool(_imported, draft, name, content, key, decimal)
            await self._change(request, lambda now: found(now) if now.question(f"{key}0") is None else now)
        except AmbiguousNumbersError as error:
            return await self._questions(request, slug, draft, asks=error)
        except (DeniableError, ValidationError) as error:
            return await self._questions(request, slug, draft, _what_is_wrong(error))
        return to(f"/drafts/{slug}?said=imported")

    # ---------------------------------------------------------------- texts

    async def texts(self, request: Request) -> Response:
        """Answer with all texts, side by side."""
        return await self._texts(request, *await self._shown(request))

    async def _texts(self, request: Request, slug: str, draft: Draft, fault: str = "") -> Response:
        built = await run_in_threadpool(build, draft.to_json())
        shown = {
            "names": LANGUAGE_NAMES,
            "shipped": LANGUAGES,
            "rows": [rows(draft, one, built.attributes.get(one.key)) for one in draft.questions],
        }
        return self._page("draft_texts.html", request, slug, draft, built, "texts", fault, **shown)

    async def save_texts(self, request: Request) -> Response:
        """Save the texts of all languages."""
        form = await read_form(request)
        slug, known = await self._held(request)
        attributes = (await run_in_threadpool(build, known.to_json())).attributes

        def saved(draft: Draft) -> Draft:
            languages = {}
            for tag, said in draft.languages.items():
                update: dict[str, Any] = {
                    part: form.text(f"{part}.{tag}", getattr(said, part)).strip()
                    for part in ("title", "intro", "consent", "thanks")
                }
                questions, labels = dict(said.questions), dict(said.labels)
                for question in draft.questions:
                    for row in rows(draft, question, attributes.get(question.key)):
                        field = f"{row.key}.{row.place}.{tag}"
                        if not form.ticked(field):
                            continue
                        if row.label is None:
                            questions[row.key] = form.text(field).strip()
                        else:
                            labels[row.key] = {**labels.get(row.key, {}), row.label: form.line(field)}
                languages[tag] = said.model_copy(update=update | {"questions": questions, "labels": labels})
            return draft.changed(languages=languages, contact=form.line("contact", draft.contact))

        await self._change(request, saved, self._texts)
        return to(f"/drafts/{slug}/texts?said=saved")

    async def save_languages(self, request: Request) -> Response:
        """Add a language, or remove one with its texts."""
        form = await read_form(request)
        add, drop = form.line("other") or form.line("add"), form.line("remove")

        def saved(draft: Draft) -> Draft:
            languages = {tag: said for tag, said in draft.languages.items() if tag != drop or tag == draft.first}
            if add:
                languages.setdefault(add, DraftWords())
            return draft.changed(languages=languages)

        slug = await self._change(request, saved, self._texts)
        return to(f"/drafts/{slug}/texts?said=languages")

    # ---------------------------------------------------------------- preview

    async def preview(self, request: Request) -> Response:
        """Answer with the list of what is still missing, and the link to the preview."""
        slug, draft = await self._shown(request)
        built = await run_in_threadpool(build, draft.to_json())
        return self._page("draft_preview.html", request, slug, draft, built, "preview")

    async def _survey(self, request: Request) -> Survey:
        _, draft = await self._held(request)
        survey = (await run_in_threadpool(build, draft.to_json())).survey
        if survey is None or request.path_params.get("id", survey.collection.id) != survey.collection.id:
            raise Problem(
                "not-found", "there is no preview of this draft, or the draft has changed: open the preview again"
            )
        return survey

    async def shell(self, request: Request) -> Response:
        """Answer with the page that contributors will see; in the preview it sends nothing."""
        try:
            survey = await self._survey(request)
        except Problem as problem:
            if problem.name == "login":
                return to("/login")
            if problem.name != "not-found":
                raise
            return to(f"/drafts/{request.path_params['slug']}/preview")
        shown = {
            "slug": request.path_params["slug"],
            "id": survey.collection.id,
            "link": survey.link_digits,
            "language": next(iter(survey.page.languages)),
        }
        return _html(render_template("draft_try.html", **shown))

    async def document(self, request: Request) -> Response:
        """Answer with the collection's document."""
        return _json((await self._survey(request)).document)

    async def page_document(self, request: Request) -> Response:
        """Answer with the survey page's document."""
        return _json((await self._survey(request)).page_text)

    async def state(self, request: Request) -> Response:
        """Answer that the survey is open, which is true only in the preview."""
        await self._survey(request)
        return _json('{"state":"open"}')

    async def dictionary(self, request: Request) -> Response:
        """Answer with the word list of a question."""
        words = (await self._survey(request)).dictionaries.get(request.path_params["attribute"])
        if words is None:
            raise Problem("not-found", "this question has no list of words")
        return Response(words, headers={"Cache-Control": "no-store"}, media_type="text/plain; charset=utf-8")

    # ---------------------------------------------------------------- plan and open

    async def plan(self, request: Request) -> Response:
        """Answer with the terms, the plan, and the button that opens the survey."""
        return await self._plan(request, *await self._shown(request))

    async def _plan(self, request: Request, slug: str, draft: Draft, fault: str = "", anyway: str = "") -> Response:
        text = draft.to_json()
        built = await run_in_threadpool(build, text)
        planned = None
        cannot = ""
        if built.survey is not None and draft.contributors is not None:
            with contextlib.suppress(DeniableError):
                planned = await run_in_threadpool(_planned, text)
            cannot = await run_in_threadpool(cannot_work, built.survey.collection, draft.contributors)
        shown = {
            "labels": PLAN_LABELS,
            "planned": planned,
            "cannot": cannot,
            "anyway": anyway,
            "least": LEAST_WORDS,
            "epsilons": tuple(dict.fromkeys((*BUDGETS, draft.epsilon))),
        }
        return self._page("draft_plan.html", request, slug, draft, built, "plan", fault, **shown)

    async def save_plan(self, request: Request) -> Response:
        """Save the terms of the survey."""
        form = await read_form(request)

        def saved(draft: Draft) -> Draft:
            contributors = re.sub(r"(?<=\d)[,. '](?=\d{3}\b)", "", form.line("contributors"))
            closes = form.line("closes_at")
            return draft.changed(
                contributors=int(contributors) if re.fullmatch(r"\d{1,12}", contributors) else contributors or None,
                epsilon=form.line("own_epsilon") or form.line("epsilon", draft.epsilon),
                min_batch=form.line("min_batch", str(draft.min_batch)),
                grace_hours=form.line("grace_hours", str(draft.grace_hours)),
                closes_at=f"{closes}T00:00:00Z" if re.fullmatch(r"\d{4}-\d\d-\d\d", closes, re.ASCII) else closes,
                retention=form.line("retention", draft.retention),
                access=form.line("access", draft.access),
                second_person=form.ticked("second_person"),
                consent_first=form.ticked("consent_first"),
            )

        slug = await self._change(request, saved, self._plan)
        return to(f"/drafts/{slug}/plan?said=saved")

    async def open(self, request: Request) -> Response:
        """Open the survey and lead to its dashboard, which replaces the draft, also if the survey is already open."""
        form = await read_form(request)
        who = await self._owner(request, request.path_params["slug"])
        slug, draft = await self._shown(request)
        built = await run_in_threadpool(build, draft.to_json())
        if built.survey is None or built.faults:
            missing = "; ".join(fault.text.rstrip(".") for fault in built.faults)
            return await self._plan(request, slug, draft, f"The survey is not finished. {missing}.")
        survey, anyway = built.survey, form.line("anyway")
        cannot = await run_in_threadpool(cannot_work, survey.collection, survey.page.contributors)
        if cannot and len(anyway.split()) < LEAST_WORDS:
            stays = (
                "This survey cannot work as it is planned, so it stays closed. Change the plan, or write below in "
                f"{LEAST_WORDS} words or more why you want to open it anyway."
            )
            return await self._plan(request, slug, draft, stays, anyway)
        try:
            await run_in_threadpool(self._open, who.name, slug, survey, built, anyway)
        except DeniableError as error:
            return await self._plan(request, slug, draft, _what_is_wrong(error), anyway)
        await run_in_threadpool(self._collector.refresh)
        return to(f"/surveys/{slug}")

    def _open(self, who: str, slug: str, survey: Survey, built: Built, anyway: str) -> None:
        surveys = self._collector.surveys
        check_closing(slug, survey.page, surveys.clock())
        with tempfile.TemporaryDirectory() as folder:
            for name, content in built.files.items():
                (Path(folder) / name).write_bytes(content)
            documents = {"document": survey.document, "page": survey.page_text, "folder": folder}
            perform(surveys, {"command": "new", "slug": slug, **documents}, who)
        perform(surveys, {"command": "open", "slug": slug, "anyway": anyway}, who)
        self._collector.store.change_draft(slug, lambda _: None)

    # ---------------------------------------------------------------- delete

    async def delete_page(self, request: Request) -> Response:
        """Answer with the form that deletes a draft."""
        slug, _ = await self._shown(request)
        return _html(render_template("draft_delete.html", slug=slug, fault=""))

    async def delete(self, request: Request) -> Response:
        """Delete a draft whose name was typed; do nothing if the draft is already gone."""
        form = await read_form(request)
        slug = request.path_params["slug"]
        who = await self._owner(request, slug)
        if form.line("name") != slug:
            return _html(render_template("draft_delete.html", slug=slug, fault="Type the name exactly as shown here."))
        if await run_in_threadpool(self._collector.store.draft, slug) is not None:
            await self._people.note(who.name, "delete-draft", slug)
            await run_in_threadpool(self._collector.store.change_draft, slug, lambda _: None)
        return to("/")

    # ---------------------------------------------------------------- pages

    def _page(
        self,
        template: str,
        request: Request,
        slug: str,
        draft: Draft,
        built: Built,
        step: str,
        fault: str = "",
        **shown: Any,
    ) -> Response:
        about = {
            "slug": slug,
            "draft": draft,
            "built": built,
            "step": step,
            "steps": STEPS,
            "fault": fault,
            "said": request.query_params.get("said", ""),
        }
        return _html(render_template(template, **about, **shown))


# -------------------------------------------------------------------- forms


def _typed(known: DraftQuestion, form: Form) -> DraftQuestion:
    """Return a question with the fields of a form; fields that the form of its kind does not have keep their values."""
    update: dict[str, Any] = {"text": form.text("text", known.text).strip(), "name": form.line("name", known.name)}
    update["kind"] = form.line("kind", known.kind)
    for part in ("low", "high", "points", "missing", "other"):
        update[part] = form.line(part, getattr(known, part))
    for part in ("cuts", "scores"):
        if form.ticked(part):
            update[part] = form.lines(part)
    if form.ticked("answers"):
        answers = update["answers"] = form.lines("answers")
        # Only an imported form gives answers other names. Such a name stays if its answer gets another spelling.
        respelled = _respelled(known.answers, answers)
        named = {respelled.get(text, text): name for text, name in known.names.items()}
        update["names"] = {text: named[text] for text in named if text in answers or text not in known.answers}
    if form.ticked("words"):
        update["words"] = "\n".join(form.lines("words"))
    if form.ticked("boxes"):
        update |= {"clip": form.ticked("clip"), "mean": form.ticked("mean")}
    return DraftQuestion.model_validate({**dict(known), **update})


def _respelled(old: tuple[str, ...], new: tuple[str, ...]) -> dict[str, str]:
    """Return the answers that have another spelling in the same place, by the old spelling."""
    pairs = zip(old, new, strict=True) if len(old) == len(new) else ()
    return {before: after for before, after in pairs if before not in new and after not in old}


def _imported(
    draft: Draft, name: str, content: bytes, key: str, decimal: str | None = None
) -> Callable[[Draft], Draft]:
    """Return a function that adds a file's questions to a draft; `decimal` is the decimal mark, if it was asked."""
    suffix = Path(name).suffix.lower()
    if suffix not in _IMPORT_SUFFIXES:
        raise InvalidParameterError(
            f"file must be a table (.csv, .tsv) or an XLSForm (.xlsx), got file={quoted(name)}; save the form in one "
            "of these formats"
        )
    if content.startswith(_PACKED):
        raise InvalidParameterError(f"file must not be compressed, got file={quoted(name)}; unpack the file first")
    # Readers want a file. It is deleted before the request is answered.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"import{suffix}"
        path.write_bytes(content)
        try:
            if suffix == ".xlsx":
                _check_unpacked(content, name)
                form = read_xlsform(path)
                if not form.attributes:
                    raise InvalidParameterError(
                        "file must contain at least one question that this collector can ask, but it contains no such "
                        "question"
                    )
                found = functools.partial(with_form, form=form, key=key)
            else:
                with open_answers(path, decimal=decimal, numbers=NumberColumns()) as reader:
                    drafted = draft_schema(with_progress(reader, None))
                    remarks = [remark.replace(str(path), name) for remark in reader.remarks]
                notes = (*remarks, *drafted.warnings)
                found = functools.partial(with_schema, attributes=drafted.schema.attributes, key=key, notes=notes)
            found(draft)
        except AmbiguousNumbersError:
            raise
        except DeniableError as error:
            raise InvalidParameterError(str(error).replace(str(path), name)) from None
    return found


_PACKED = (b"\x1f\x8b", b"PAR1")
"""First bytes of files that become longer when they are read: gzip and Parquet."""

_MOST_UNPACKED = 1 << 26
"""Most bytes of a form's sheets, which are read into the server's memory."""


def _check_unpacked(content: bytes, name: str) -> None:
    """Raise InvalidParameterError if an archive is too long when unpacked; the reader refuses other content."""
    with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(content)) as archive:
        unpacked = sum(part.file_size for part in archive.infolist())
        if unpacked > _MOST_UNPACKED:
            raise InvalidParameterError(
                f"file must have at most {_MOST_UNPACKED >> 20} MiB when unpacked, but {name} has {unpacked >> 20:,} "
                "MiB; delete the sheets and rows that do not belong to the form"
            )


async def _upload(request: Request) -> tuple[str, bytes, str, str | None]:
    """Return the name and the content of the file that a form sends, the form's key, and the decimal mark."""
    content = await read_body(request.headers, request.receive, MAX_FORM)

    async def pieces() -> AsyncGenerator[bytes, None]:
        yield content

    try:
        form = await MultiPartParser(request.headers, pieces(), max_files=1, max_fields=4, max_part_size=1000).parse()
    except (MultiPartException, KeyError, ValueError):
        raise Problem("malformed", "the body must be a form that contains a file") from None
    try:
        file, key = form.get("file"), form.get("made")
        if not isinstance(file, UploadFile) or not isinstance(key, str) or not re.fullmatch("[a-z0-9]{4,16}", key):
            raise Problem(
                "malformed",
                "the body must be a form with the fields “file” (a file) and “made” (4 to 16 characters, a-z or 0-9)",
            )
        decimal = form.get("decimal")
        mark = decimal if decimal in ("point", "comma") else None
        return Path(file.filename or "file").name[:200], await file.read(), key, mark
    finally:
        await form.close()


@functools.lru_cache(maxsize=32)
def _planned(text: str) -> SurveyPlan:
    """Return the plan of a draft at the usual budgets and at the draft's own budget."""
    from deniable.planning import plan_survey  # it loads scipy, which only owners need

    draft, survey = Draft.model_validate_json(text), build(text).survey
    assert survey is not None
    assert draft.contributors is not None
    epsilons = tuple(dict.fromkeys((*BUDGETS, draft.epsilon.strip())))
    return plan_survey(survey.collection.schema, draft.contributors, sorted(epsilons, key=float))


def _kinds() -> dict[str, str]:
    """Return the kinds of question that a page can ask, by name, the usual kind first."""
    names = sorted(KINDS, key=lambda name: (name != USUAL, list(KINDS).index(name)))
    return {name: KINDS[name].spoken for name in names if KINDS[name].inputs}


def _told(attribute: Attribute) -> str:
    """Return the answers of a question as one line of text."""
    if attribute.question_kind.rounded:
        return " \N{EN DASH} ".join(attribute.range_texts)
    if not attribute.question_kind.listed:
        return f"{len(attribute.categories):,} words"
    return " · ".join(attribute.labels)


@functools.cache
def _numbers() -> str:
    """Return the name of the kind that asks for a number in a range."""
    return next(name for name, kind in KINDS.items() if "range" in kind.inputs)


def _slug(title: str) -> str:
    """Return a name for addresses, made from a title.

    Examples
    --------
    >>> _slug("How we work, 2026"), _slug("كيف نعمل")
    ('how-we-work-2026', 'survey')
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain))[:64].strip("-") or "survey"


def _what_is_wrong(error: ValidationError | DeniableError) -> str:
    """Return the message for the person who typed, which repeats nothing that was typed.

    Among pydantic's errors, the message has the first one with its place. An error of the database itself is raised
    again, because it is not about what was typed.
    """
    if isinstance(error, StoreError) and error.__cause__ is not None:
        raise error
    if isinstance(error, DeniableError):
        return str(error)
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the form"
    if place not in PLAN_LABELS or first["type"] not in _RULES:
        return f"{PLAN_LABELS.get(place, place)}: {first['msg']}"
    return f"“{PLAN_LABELS[place]}” must be {_RULES[first['type']].format(**first.get('ctx', {}))}."


def _html(text: str, status: int = 200) -> Response:
    return Response(text, status, headers=_HEADERS, media_type="text/html; charset=utf-8")


def _json(text: str) -> Response:
    return Response(text, headers={"Cache-Control": "no-store"}, media_type="application/json")

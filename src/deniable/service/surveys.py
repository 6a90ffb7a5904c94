"""Surveys of a collector: their contents, the code that takes their reports, and the changes of their states.

The states are ``draft -> open <-> paused -> closing -> closed``. A survey goes backwards only if the clock alone closed
it, before its time. Reports are taken while a survey is open or closing. Devices draw while it is open. The clock
decides only about `opens_at`, `closes_at` and the end of grace.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from deniable.core.aggregate import Aggregate
from deniable.core.randomness import SecureRandomness
from deniable.errors import InvalidParameterError, InvalidReportError, not_available, quoted
from deniable.files.wire import Rows, from_wire, report_width
from deniable.service.clock import system_clock
from deniable.service.exports import reports_of_steps
from deniable.service.invitations import Response, response_of
from deniable.service.readiness import cannot_work, check_ready
from deniable.service.stores.releases import WHOLE_DAY, Release, Step, is_due
from deniable.service.stores.store import RECEIPT_DAYS, Batch, CollectionRow, State, Store
from deniable.service.survey_page import (
    SurveyPage,
    draft_page,
    link_digits,
    moment,
    page_hash,
    read_page,
    unfinished,
)
from deniable.survey.collection import Collection

Clock = Callable[[], datetime]
"""Function that returns the time, with its zone."""

MAX_COUNTERS = 1 << 20
"""Most counters of a sum that a collector keeps. For larger sums the collector keeps the reports."""

MAX_DICTIONARY = 1 << 21
"""Most bytes of a dictionary that a page can ask for."""

DELETABLE = ("draft", "closed")
"""States in which a survey can be deleted."""

_SLUG = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


@dataclass(frozen=True, eq=False)
class Survey:
    """One collection as a collector holds it in memory.

    Parameters
    ----------
    collection : Collection
        Collection that is asked.
    document, page_text : str
        Texts of the collection's document and of the survey document, character by character as given.
    page : SurveyPage
        Survey document, read from its text.
    dictionaries : dict of str to bytes
        Words of the attributes that have a dictionary.
    """

    collection: Collection
    document: str
    page_text: str
    page: SurveyPage
    dictionaries: dict[str, bytes]

    @classmethod
    def read(cls, document: str, page: str, dictionaries: dict[str, tuple[str, bytes]]) -> Survey:
        """Return the survey of two documents and its dictionaries, each a file's name and content, by attribute."""
        with tempfile.TemporaryDirectory() as folder:
            for file, words in dictionaries.values():
                (Path(folder) / file).write_bytes(words)
            collection = Collection.from_json(document, "the collection", folder)
        contents = {attribute: content for attribute, (_, content) in dictionaries.items()}
        return cls(collection, document, page, read_page(page, "the page", collection), contents)

    @cached_property
    def width(self) -> int:
        """Number of bytes of one report."""
        return report_width(self.collection.mechanism)

    @cached_property
    def page_hash(self) -> str:
        """Hash of the page, which a device keeps with its report."""
        return page_hash(self.page_text)

    @property
    def link_digits(self) -> str:
        """Digits at the end of a contributor's link to this survey."""
        return link_digits(self.collection.id, self.page_hash)

    @property
    def counted(self) -> bool:
        """Return whether a sum is kept; otherwise, only reports are kept."""
        return self.collection.mechanism.state_size <= MAX_COUNTERS

    def no_counts(self) -> bytes:
        """Return the sum of no reports, in the form in which a store keeps it."""
        return bytes(8 * self.collection.mechanism.state_size if self.counted else 0)

    def fold(self, rows: Rows, counts: bytes) -> Batch:
        """Add shuffled reports to a sum, and also make a file of them if reports are kept."""
        reports = from_wire(self.collection.mechanism, rows)
        content = None
        if self.page.retention == "reports":
            from deniable.files import write_reports  # it loads the reader of Parquet, which sums do not need

            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "batch.parquet"
                write_reports(path, self.collection, [reports], SecureRandomness())
                content = path.read_bytes()
        if not self.counted:
            return Batch(b"", content)
        added = self.collection.mechanism.aggregate(reports).counts
        total = np.frombuffer(counts, "<i8") + added
        return Batch(total.astype("<i8").tobytes(), content)

    def valid(self, rows: Rows) -> bool:
        """Return whether a client can have produced every one of these reports."""
        mechanism = self.collection.mechanism
        reports = from_wire(mechanism, rows)
        try:
            mechanism.check_reports(reports)
        except InvalidReportError:
            return False
        return True

    def aggregate(self, release: Release, counts: bytes, source: str) -> Aggregate:
        """Return the aggregate of a release and its sum, whose only batch is named `source` after this collector."""
        if not self.counted:
            raise InvalidParameterError(
                "the survey keeps no sum of its reports, because this sum would have "
                f"{self.collection.mechanism.state_size:,} counters, and a collector keeps at most {MAX_COUNTERS:,}. "
                "Export the reports with `survey export --reports`, and add them up with `deniable aggregate`"
            )
        batches = frozenset({source} if release.n else ())
        summed = np.frombuffer(counts or self.no_counts(), "<i8")
        return Aggregate(self.collection.mechanism, summed, release.n, self.collection.id, batches)


def state_now(row: CollectionRow, survey: Survey, now: datetime) -> State:
    """Return the state that devices are told: before `opens_at` an opened survey is still a draft."""
    opens, closes = moment(survey.page.opens_at, "opens_at"), moment(survey.page.closes_at, "closes_at")
    if row.state in ("open", "paused") and closes is not None and now >= closes:
        return "closing"
    if row.state == "open" and opens is not None and now < opens:
        return "draft"
    return row.state


def accepts_until(row: CollectionRow, page: SurveyPage) -> str | None:
    """Return the time until which reports are taken, or None if it is not known yet or the survey is closed."""
    if row.state == "closed":
        return None
    closes = moment(page.closes_at, "closes_at")
    return row.accepts_until or (None if closes is None else (closes + page.grace).isoformat())


def link_path(slug: str, survey: Survey) -> str:
    """Return a contributor's link without the address of the public port, which only its proxy knows."""
    return f"/s/{slug}#{survey.link_digits}"


def check_closing(slug: str, page: SurveyPage, now: datetime) -> None:
    """Raise InvalidParameterError if a survey that is opened now would close at once, which nobody can undo."""
    closes = moment(page.closes_at, "closes_at")
    if closes is not None and now >= closes:
        raise InvalidParameterError(
            f"closes_at of {quoted(slug)} must be later than now, got closes_at={page.closes_at}: the survey would "
            "close at once. Choose a later time; if the survey has a page.json, run `survey new` again with that file"
        )


def check_slug(slug: str) -> None:
    """Raise InvalidParameterError unless a text can be the name of a survey in its address.

    Examples
    --------
    >>> check_slug("smoking-2026")
    """
    if not slug or len(slug) > 64 or not set(slug) <= _SLUG or slug.strip("-") != slug:
        raise InvalidParameterError(
            "slug must be 1 to 64 characters (a-z, 0-9 or -), and must not begin or end with -, got "
            f"slug={quoted(slug)}; the slug becomes part of the survey's address"
        )


def not_deletable(slug: str, state: str) -> InvalidParameterError:
    """Return the error about the deletion of a survey that takes reports, or may take them again."""
    return InvalidParameterError(
        f"only a draft or a closed survey can be deleted, but {quoted(slug)} is {state}; close the survey first "
        "(`survey close --now`)"
    )


# -------------------------------------------------------------------- actions on surveys


@dataclass(frozen=True)
class Surveys:
    """Acts of owners on the surveys of one store, for the command line, its socket and the dashboard.

    Parameters
    ----------
    store : Store
        Store of the collector.
    clock : callable
        Function that returns the time.
    while_open : {"day"} or int
        Release step, after which analysts get a new sum while a survey is open: once a day, or after this many batches.
    """

    store: Store
    clock: Clock = system_clock
    while_open: Step = WHOLE_DAY

    def load(self, collection: str) -> Survey:
        """Return a collection with its documents."""
        return Survey.read(*self.store.documents(collection))

    def row(self, slug: str) -> CollectionRow:
        """Return the last collection of a survey.

        Raises
        ------
        InvalidParameterError
            If there is no such survey; the message lists the existing ones.
        """
        found = self.store.collections(slug)
        if not found:
            known = ", ".join(sorted({row.slug for row in self.store.collections()})) or "none yet"
            raise InvalidParameterError(
                f"slug must be the name of a survey, got slug={quoted(slug)}; the surveys are: {known}"
            )
        return found[-1]

    def new(
        self,
        slug: str,
        document: str,
        page: str | None,
        folder: str,
        contributors: int | None = None,
        languages: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Add a survey as a draft; if it comes without a page, one is drafted, by default in English.

        Raises
        ------
        InvalidParameterError
            If the name is not a slug, a page cannot ask the survey, or languages are given with a page.
        StoreError
            If the survey has been opened already.
        """
        check_slug(slug)
        if page is not None and languages:
            raise InvalidParameterError(
                "languages must be left out when a page is given, because the page already contains its languages",
                parameters=("languages",),
            )
        collection = Collection.from_json(document, "the collection", folder)
        if collection.dealt:
            raise not_available(
                "a survey on a collector",
                collection.mechanism.name,
                "the mechanism needs a dealer; collect the reports as files",
            )
        if collection.schema.is_text:
            raise InvalidParameterError(
                "a collector can ask only questions with categories, got open text: collect the reports as files"
            )
        text = draft_page(collection, contributors, languages or ("en",)).to_json() if page is None else page
        dictionaries = {}
        for attribute in collection.schema.attributes:
            if attribute.dictionary is not None:
                words = (Path(folder) / attribute.dictionary.file).read_bytes()
                if len(words) > MAX_DICTIONARY:
                    raise InvalidParameterError(
                        f"the dictionary of {quoted(attribute.name)} must have at most {MAX_DICTIONARY} bytes, got "
                        f"{len(words)} bytes; use fewer words, because a browser loads the whole dictionary"
                    )
                dictionaries[attribute.name] = (attribute.dictionary.file, words)
        survey = Survey.read(document, text, dictionaries)
        if contributors is not None and survey.page.contributors != contributors:
            text = survey.page.model_copy(update={"contributors": contributors}).to_json()
            survey = Survey.read(document, text, dictionaries)
        if not survey.counted and survey.page.retention == "aggregate":
            raise InvalidParameterError(
                f"retention must be “reports”, got “aggregate”: the sum would have {collection.mechanism.state_size:,} "
                f"counters, and a collector keeps at most {MAX_COUNTERS:,}"
            )
        self.store.add(collection.id, slug, document, text, survey.no_counts(), dictionaries)
        made = {"slug": slug, "collection": collection.id, "state": "draft", "link": link_path(slug, survey)}
        if why := cannot_work(collection, survey.page.contributors):
            made["warning"] = why
        return made | {"page": text}

    def open(self, slug: str, *, anyway: str = "") -> dict[str, Any]:
        """Begin to take reports, or take them again.

        This also works if a clock that was wrong has closed the survey before its time.

        Parameters
        ----------
        slug : str
            Name of the survey.
        anyway : str
            Reason for opening a survey that cannot work, in its owner's words.

        Raises
        ------
        InvalidParameterError
            If the survey's page is not written yet, the survey was closed, or it cannot work and no reason is given.
        """
        row = self.row(slug)
        survey = self.load(row.id)
        page = survey.page
        if row.state == "closing" and self._closed_too_early(row, page):
            return self._move(row, ("closing",), "open")
        if place := unfinished(page):
            raise InvalidParameterError(
                f"the page of {quoted(slug)} must be written before people read it, but {place} is empty or still a "
                "draft; edit page.json, and run `survey new` again with that file"
            )
        if row.state == "draft":
            check_closing(slug, page, self.clock())
            check_ready(slug, survey.collection, page.contributors, anyway)
        return self._move(row, ("draft", "paused"), "open")

    def _closed_too_early(self, row: CollectionRow, page: SurveyPage) -> bool:
        """Return whether only the clock closed a survey, and the time for the close has not come."""
        closes = moment(page.closes_at, "closes_at")
        if closes is None or self.clock() >= closes:
            return False
        return row.accepts_until == (closes + page.grace).isoformat()

    def pause(self, slug: str) -> dict[str, Any]:
        """Take no reports until the survey is opened again."""
        return self._move(self.row(slug), ("open",), "paused")

    def close(self, slug: str, *, now: bool = False) -> dict[str, Any]:
        """Stop devices from drawing, and take the drawn reports until grace ends; with `now`, end the grace, too."""
        row = self.row(slug)
        survey = self.load(row.id)
        if row.state in ("open", "paused"):
            until = (self.clock() + survey.page.grace).isoformat()
            self._move(row, ("open", "paused"), "closing", until)
        elif row.state != "closing" or not now:
            raise InvalidParameterError(
                f"only an open or paused survey can be closed, but {quoted(slug)} is {row.state}"
            )
        if now:
            self.finish(row.id, survey)
        return self.status(slug)

    def delete(self, slug: str) -> dict[str, Any]:
        """Delete a draft or a closed survey: documents, sums, batches, receipts, rejections and releases.

        Backups and exports that were made before still hold the survey. The name may be used again.

        Raises
        ------
        InvalidParameterError
            If the survey still takes reports, or may take them again.
        """
        self.row(slug)
        for row in self.store.collections(slug):
            if not self.store.delete(row.id):
                raise not_deletable(slug, row.state)
        return {"slug": slug, "state": "deleted"}

    def withdraw(self, slug: str) -> dict[str, Any]:
        """Remove published results from the public port; copies that others made stay."""
        row = self.row(slug)
        self.store.publish(row.id, {})
        return {"slug": row.slug, "state": row.state, "results": None}

    def status(self, slug: str) -> dict[str, Any]:
        """Return the state of a survey, and the reports and batches that analysts see."""
        row = self.row(slug)
        survey = self.load(row.id)
        page = survey.page
        return {
            "slug": row.slug,
            "collection": row.id,
            "link": link_path(slug, survey),
            "state": row.state,
            "n": row.released.n,
            "batches": row.released.batches,
            "released": row.released.day or None,
            "contributors": page.contributors,
            "opens_at": page.opens_at,
            "closes_at": page.closes_at,
            "accepts_until": accepts_until(row, page),
            "rejections": self.store.rejections(row.id),
            **self._invited(row, page),
        }

    def response(self, row: CollectionRow, page: SurveyPage) -> Response | None:
        """Return the number of used invitations of a round, in steps of a batch; None if everybody may answer."""
        if page.access != "invited":
            return None
        return response_of(self.store, row.id, page.min_batch, closed=row.state == "closed")

    def _invited(self, row: CollectionRow, page: SurveyPage) -> dict[str, Any]:
        """Return the part of the status about invitations; empty if everybody may answer."""
        found = self.response(row, page)
        if found is None:
            return {}
        tags = {tag: f"{used} of {invited}" for tag, (invited, used) in found.tags.items()}
        return {"invitations": found.sentence} | ({"channels": tags} if tags else {})

    def list(self) -> list[dict[str, Any]]:
        """Return a line for every survey: name, collection, state, and the number of reports that analysts see."""
        return [
            {"slug": row.slug, "collection": row.id, "state": row.state, "n": row.released.n}
            for row in self.store.collections()
        ]

    def export(self, slug: str, position: int | None = None) -> bytes:
        """Return the file of the last release's aggregate; `position` names another round than the last."""
        row = self.row(slug)
        if position is not None:
            rounds = self.store.collections(slug)
            if not 1 <= position <= len(rounds):
                rule = f"from 1 to {len(rounds)}" if len(rounds) > 1 else "1, because the survey has one round"
                raise InvalidParameterError(f"round must be {rule}, got round={position}")
            row = rounds[position - 1]
        return self.load(row.id).aggregate(*self.store.released(row.id), row.source).to_bytes()

    def export_reports(self, slug: str) -> dict[str, bytes]:
        """Return the files of released reports by name, one for each release step, if reports are kept."""
        row = self.row(slug)
        survey = self.load(row.id)
        if survey.page.retention != "reports":
            raise InvalidParameterError(
                f"the survey {quoted(slug)} keeps no reports, because its retention is “aggregate”"
            )
        return reports_of_steps(self.store, survey.collection, row.source)

    # ---------------------------------------------------------------- scheduled work

    def tick(self, surveys: dict[str, Survey], *, final: bool = True) -> None:
        """Close the surveys whose time is over, and delete receipts whose time is over; called every few seconds.

        Parameters
        ----------
        surveys : dict of str to Survey
            Loaded surveys, by collection.
        final : bool
            True to do also what nobody can undo: end the grace of a survey, and delete receipts and sessions.
        """
        now = self.clock()
        for row in self.store.collections():
            survey = surveys.get(row.id) or self.load(row.id)
            if row.state in ("open", "paused") and state_now(row, survey, now) == "closing":
                self.store.move(row.id, ("open", "paused"), "closing", accepts_until(row, survey.page))
            elif (
                final
                and row.state == "closing"
                and row.accepts_until
                and now >= datetime.fromisoformat(row.accepts_until)
            ):
                self.finish(row.id, survey)
            elif is_due(row.batches, row.last_day, row.released, self.while_open, self._day()):
                self.store.release(row.id, self.while_open, self._day())
        if final:
            self.store.forget_receipts((now - timedelta(days=RECEIPT_DAYS)).date().isoformat())
            self.store.end_expired(now.isoformat())

    def drain(self, row: CollectionRow, survey: Survey) -> int:
        """Move an inbox into the sum if it holds enough reports, and return the number of reports moved."""
        if row.state in ("draft", "closed"):
            return 0
        return self.store.drain(row.id, survey.page.min_batch, survey.fold, self._day(), step=self.while_open)

    def finish(self, collection: str, survey: Survey) -> None:
        """Close a collection; the rest of its inbox goes into the sum, however small it is."""
        self.store.drain(collection, 1, survey.fold, self._day(), close=True)

    def _day(self) -> str:
        return self.clock().date().isoformat()

    def _move(
        self, row: CollectionRow, before: tuple[State, ...], state: State, until: str | None = None
    ) -> dict[str, Any]:
        if not self.store.move(row.id, before, state, until):
            found = self.row(row.slug).state
            raise InvalidParameterError(
                f"the survey {quoted(row.slug)} must be {' or '.join(before)} before it can become {state}, but it is "
                f"{found}"
            )
        return self.status(row.slug)

"""Group commit: one thread takes the requests that wait, validates and commits them together, and then answers.

While one commit is under way, the requests of the next gather. A commit begins when as many wait as came last time, or
when no more came for a moment. A sender who sends alone therefore waits for nobody. Single reports have a queue of
their own and go first. A batch is written in pieces, so people do not wait behind senders of batches.

Nobody is answered before the commit is on the disk. If the outcome of a commit is unknown, the answer is 503, and the
retry's receipt decides. A commit that takes longer than `GIVE_UP` seconds counts as unknown. Every request is therefore
answered, whatever the database does.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.errors import StoreError
from deniable.files.wire import Body, Rows
from deniable.service.metrics import Metrics
from deniable.service.outages import Outages
from deniable.service.problems import Problem
from deniable.service.stores.store import NEW, UNINVITED, Posted, State, Store
from deniable.service.surveys import Clock, Survey

MAX_QUEUE = 20_000
"""Most single reports that wait. Senders of more reports are told to come again."""

MAX_BATCHES = 1 << 19
"""Most waiting reports in batches. They take no place of single reports."""

MAX_QUEUE_BYTES = 1 << 28
"""Most bytes of reports that wait in either queue. Fewer reports wait if reports are long."""

MAX_COMMIT = 4096
"""Number of reports after which no further request joins a commit."""

PIECE = 256
"""Reports of a batch that are written at a time. Single reports wait for one piece, not for the whole batch."""

MOST_IMPOSSIBLE = 512
"""Most impossible reports in a request or a piece of a batch. With more, no report of it is taken."""

_LATELY = 8
"""Number of commits after one with single reports in which batches stay small, because answered senders may come
again."""

GIVE_UP = 4.0
"""Seconds after which nobody waits for a commit any longer."""

HANGS = "the database does not answer"

_LOOK_SECONDS = 0.25
_STOP_SECONDS = 1.0

_PAUSE, _PAUSES = 0.001, 8
"""Seconds in which another report must come for a commit to go on waiting, and how often the commit waits."""


class Outcome(NamedTuple):
    """Outcome of the reports of one request."""

    counted: int
    already: int
    invalid: int


@dataclass(eq=False)
class _Item:
    survey: Survey
    body: Body
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Outcome]
    answer: Outcome | Problem | None = field(default=None)
    repeated: bool = False
    alone: bool = True

    def resolve(self) -> None:
        if self.future.done():
            return
        if isinstance(self.answer, Outcome):
            self.future.set_result(self.answer)
        else:
            self.future.set_exception(self.answer or Problem("broken"))


class _Queue:
    """Queue of requests that wait; its user must hold the lock."""

    def __init__(self) -> None:
        self._items: deque[_Item] = deque()
        self.reports = self.bytes = 0

    def add(self, item: _Item) -> None:
        self._items.append(item)
        self.reports += item.body.n
        self.bytes += item.body.rows.size

    def take(self, items: list[_Item], most: int) -> int:
        """Move items until they have at least `most` reports, and return how many reports they have."""
        taken = 0
        while self._items and taken < most:
            item = self._items.popleft()
            items.append(item)
            taken += item.body.n
            self.bytes -= item.body.rows.size
        self.reports -= taken
        return taken


class Ingest:
    """Queues of reports, and the thread that writes them.

    Parameters
    ----------
    store : Store
        Database that reports are written to.
    metrics : Metrics
        Counters of what happens.
    clock : callable
        Function that returns the time, whose day is written beside rejections.
    outages : Outages
        Log of the causes of refusals.
    """

    def __init__(self, store: Store, metrics: Metrics, clock: Clock, outages: Outages | None = None) -> None:
        self._store, self._metrics, self._clock = store, metrics, clock
        self._outages = outages or Outages()
        self._committing: tuple[float, list[_Item]] | None = None
        self._hangs, self._ended = False, threading.Event()
        self._singles, self._batches = _Queue(), _Queue()
        self._stopping = False
        self._last = self._lately = 0
        self._rejected: Counter[tuple[str, str, str]] = Counter()
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="ingest", daemon=True)
        self._looker = threading.Thread(target=self._look, name="ingest-look", daemon=True)

    @property
    def waiting(self) -> int:
        """Number of reports in the queues."""
        return self._singles.reports + self._batches.reports

    def start(self) -> None:
        """Start the thread that writes."""
        self._thread.start()
        self._looker.start()

    def stop(self) -> None:
        """Take no more reports, write those that wait, and end; a database that does not answer is not waited for."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join(_STOP_SECONDS)
        while self._thread.is_alive() and not self._hangs:
            # The thread either goes on, or is found to hang.
            self._thread.join(_LOOK_SECONDS)
        self._ended.set()
        self._looker.join()
        if not self._thread.is_alive():
            self.write_rejections()

    async def submit(self, survey: Survey, body: Body) -> Outcome:
        """Return the outcome of a request's reports when it is on the disk.

        Raises
        ------
        Problem
            If the reports are not taken: busy, closed, not-open or store.
        """
        loop = asyncio.get_running_loop()
        parts = _parts(body)
        items = [_Item(survey, part, loop, loop.create_future(), alone=body.n == 1) for part in parts]
        queue, most = (self._singles, MAX_QUEUE) if body.n == 1 else (self._batches, MAX_BATCHES)
        with self._wake:
            room = queue.reports + body.n <= most and queue.bytes + body.rows.size <= MAX_QUEUE_BYTES
            if self._hangs:
                raise self._refused("store", HANGS, body.n)
            if self._stopping or not room:
                cause = "the collector ends" if self._stopping else "too many reports are waiting"
                raise self._refused("busy", cause, body.n)
            for item in items:
                queue.add(item)
            self._wake.notify()
        if len(items) == 1:
            return await items[0].future
        # Each piece is counted or not. If the sender tries again, the counted pieces are already there.
        found = await asyncio.gather(*(item.future for item in items), return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException):
                raise one
        return Outcome(*(sum(parts) for parts in zip(*(one for one in found if isinstance(one, Outcome)), strict=True)))

    def reject(self, collection: str, reason: str, count: int = 1) -> None:
        """Count a rejection; the next drain writes it, and never more of it than day, reason and number."""
        day = self._clock().date().isoformat()
        self._metrics.reports(reason, count)
        with self._wake:
            self._rejected[collection, day, reason] += count

    def write_rejections(self) -> None:
        """Write how many reports were rejected since the last time."""
        with self._wake:
            counts, self._rejected = self._rejected, Counter()
        if not counts:
            return
        try:
            self._store.reject(counts)
        except StoreError:
            with self._wake:
                self._rejected.update(counts)

    def _refused(self, problem: str, cause: str, reports: int) -> Problem:
        self._outages.refused(cause)
        self._metrics.reports(problem, reports)
        return Problem(problem)

    # ---------------------------------------------------------------- threads

    def _run(self) -> None:
        while items := self._gathered():
            self._committing = time.monotonic(), items
            try:
                self._commit(items)
            except StoreError as error:
                self._metrics.store_error()
                self._answer_all(items, "store", str(error))
            except Exception as error:
                # Whatever the error is, the next reports must not wait for ever. The error's text could quote what was
                # sent.
                self._answer_all(items, "broken", f"the collector could not store reports: {type(error).__name__}")
            with self._wake:
                # Requests that were given up already have their answer. Their receipts say what became of them.
                given_up, self._hangs, self._committing = self._hangs, False, None
            if not given_up:
                _deliver(items)

    def _look(self) -> None:
        """Answer all requests when a commit takes too long.

        These are the requests in the commit, whose outcome is unknown, and the requests that wait.
        """
        while not self._ended.wait(_LOOK_SECONDS):
            with self._wake:
                if self._committing is None or time.monotonic() - self._committing[0] < GIVE_UP or self._hangs:
                    continue
                self._hangs = True
                self._metrics.store_error()
                # These are copies, because the commit may end meanwhile and put its own answers into the originals.
                waiting = list(self._committing[1])
                for queue in (self._singles, self._batches):
                    queue.take(waiting, queue.reports)
                items = [replace(item) for item in waiting]
            self._answer_all(items, "store", HANGS)
            _deliver(items)

    def _gathered(self) -> list[_Item]:
        with self._wake:
            while not self.waiting and not self._stopping:
                self._wake.wait()
        self._wait_for_more()
        with self._wake:
            items: list[_Item] = []
            # People come first. At least one piece of a batch is taken, so that batches go on however many people come.
            self._last = self._singles.take(items, MAX_COMMIT)
            self._lately = _LATELY if self._last else max(0, self._lately - 1)
            self._batches.take(items, 1 if self._lately else MAX_COMMIT)
            return items

    def _wait_for_more(self) -> None:
        """Wait for the senders who were answered last: a commit of many reports takes hardly longer than one of few."""
        for _ in range(_PAUSES):
            seen = self._singles.reports
            if seen >= self._last or self._stopping or self._batches.reports:
                return
            time.sleep(_PAUSE)
            if self._singles.reports == seen:
                return

    def _commit(self, items: list[_Item]) -> None:
        groups: dict[str, list[_Item]] = {}
        for item in items:
            groups.setdefault(item.survey.collection.id, []).append(item)
        valid: dict[str, NDArray[np.bool_]] = {}
        posted: dict[str, Posted] = {}
        for collection, group in groups.items():
            ids = np.concatenate([item.body.ids for item in group])
            valid[collection] = kept = valid_rows(group[0].survey, [item.body.rows for item in group])
            if kept.any():
                rows = np.concatenate([item.body.rows for item in group])
                leaves = np.concatenate([item.body.all_leaves for item in group])
                invited = group[0].survey.page.access == "invited"
                posted[collection] = Posted(ids[kept], rows[kept], invited, leaves[kept])
            if not kept.all():
                self._look_for_repeated(collection, group, kept)
        began = time.perf_counter()
        taken = self._store.take(posted) if posted else {}
        if posted:
            sizes = {collection: len(one.ids) for collection, one in posted.items()}
            self._metrics.commit(time.perf_counter() - began, sizes)
        for collection, group in groups.items():
            found = taken.get(collection, np.zeros(0, dtype=np.int64))
            self._answer(group, valid[collection], found)

    def _look_for_repeated(self, collection: str, group: list[_Item], kept: NDArray[np.bool_]) -> None:
        """Note which invalid single reports repeat a counted id with another content: the first report counts."""
        start = 0
        for item in group:
            if item.body.n == 1 and not kept[start]:
                item.repeated = self._store.counted(collection, item.body.ids.tobytes())
            start += item.body.n

    def _answer(self, group: list[_Item], valid: NDArray[np.bool_], taken: NDArray[np.int64] | State) -> None:
        collection = group[0].survey.collection.id
        fate = np.zeros(len(valid), dtype=np.int64)
        refused = taken if isinstance(taken, str) else None
        if not isinstance(taken, str) and len(taken) == len(valid) and (taken == NEW).all():
            # This is nearly always the case: all reports are valid and new.
            for item in group:
                item.answer = Outcome(item.body.n, 0, 0)
            self._metrics.reports("counted", len(valid), collection)
            return
        if not isinstance(taken, str):
            fate[valid] = taken
        start = 0
        for item in group:
            mine = slice(start, start + item.body.n)
            start += item.body.n
            kept, counted = int(valid[mine].sum()), int((fate[mine] == NEW).sum())
            uninvited = int((fate[mine] == UNINVITED).sum())
            if item.repeated:
                item.answer = Outcome(0, 1, 0)
                self._metrics.reports("already", 1, collection)
                continue
            if kept and refused is not None:
                # The survey's state has changed since the request was checked. If the survey is only paused, the answer
                # tells devices to try again.
                item.answer = Problem("closed" if refused == "closed" else "not-open")
                continue
            if uninvited and item.alone:
                # The code that refuses the report counts it.
                item.answer = Problem("not-invited")
                continue
            already = kept - counted - uninvited
            item.answer = Outcome(counted, already, item.body.n - kept + uninvited)
            self._metrics.reports("counted", counted, collection)
            self._metrics.reports("already", already, collection)
            if uninvited:
                self.reject(collection, "not-invited", uninvited)
            if item.body.n > kept:
                self.reject(collection, "invalid-report", item.body.n - kept)

    def _answer_all(self, items: list[_Item], problem: str, cause: str) -> None:
        self._outages.refused(cause, len(items))
        for item in items:
            item.answer = Problem(problem)
            self._metrics.reports(problem, item.body.n)


def _parts(body: Body) -> list[Body]:
    """Return a body in the pieces in which it is written."""
    starts = range(0, body.n, PIECE)
    parts = [slice(start, start + PIECE) for start in starts]
    leaves = body.leaves
    return [
        Body(body.collection, body.ids[part], body.rows[part], None if leaves is None else leaves[part])
        for part in parts
    ]


def valid_rows(survey: Survey, bodies: Sequence[Rows]) -> NDArray[np.bool_]:
    """Return which reports of some requests a client can have made.

    All reports are checked at once. A part is checked in halves only if a report in it is impossible. A request with
    more than `MOST_IMPOSSIBLE` impossible reports is refused as a whole. No client of the survey made it, and a search
    for each such report would keep all others waiting.

    Examples
    --------
    >>> from deniable import GRR
    >>> from deniable.service.survey_page import draft_page
    >>> from deniable.survey.collection import Collection
    >>> from deniable.survey.schema import Attribute, Schema
    >>> asked = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=1.0))
    >>> survey = Survey.read(asked.to_json(), draft_page(asked).to_json(), {})
    >>> valid_rows(survey, [np.array([[0], [1]], dtype=np.uint8), np.array([[1], [2]], dtype=np.uint8)])
    array([ True,  True,  True, False])
    """
    rows = np.concatenate(bodies)
    valid = np.ones(len(rows), dtype=np.bool_)
    if survey.valid(rows):
        return valid
    starts = np.cumsum([0, *map(len, bodies)])
    for body in _impossible(lambda one, other: survey.valid(rows[starts[one] : starts[other]]), len(bodies)):
        start, stop = starts[body], starts[body + 1]
        inside = partial(_rows_valid, survey, rows[start:stop])
        places = list(islice(_impossible(inside, stop - start), MOST_IMPOSSIBLE + 1))
        valid[start + np.array(places) if len(places) <= MOST_IMPOSSIBLE else slice(start, stop)] = False
    return valid


def _rows_valid(survey: Survey, rows: Rows, start: int, stop: int) -> bool:
    return survey.valid(rows[start:stop])


def _impossible(valid: Callable[[int, int], bool], n: int) -> Iterator[int]:
    """Yield the impossible items among 0..n-1, at least one of which is impossible.

    If a part has an impossible item and its first half is valid, the second half has that item.
    """
    parts = [(0, n, True)]
    while parts:
        start, stop, known = parts.pop()
        if not known and valid(start, stop):
            continue
        if stop - start == 1:
            yield start
            continue
        middle = (start + stop) // 2
        if valid(start, middle):
            parts.append((middle, stop, True))
        else:
            parts += [(middle, stop, False), (start, middle, True)]


def _deliver(items: list[_Item]) -> None:
    for loop in {item.loop for item in items}:
        mine = [item for item in items if item.loop is loop]
        # A port that was closed has nobody to answer. The reports of other ports are still to be written.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve, mine)


def _resolve(items: list[_Item]) -> None:
    for item in items:
        item.resolve()

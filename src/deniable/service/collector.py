"""Collector: a store, the surveys in it, the queue of reports, and the work that is done every few seconds."""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from deniable.core.randomness import SimulationRandomness
from deniable.errors import DeniableError, StoreError
from deniable.files.wire import from_wire, to_wire
from deniable.service.arrivals import Arrivals
from deniable.service.clock import system_clock
from deniable.service.ingest import HANGS, Ingest
from deniable.service.metrics import Metrics
from deniable.service.outages import Outages
from deniable.service.stores.releases import WHOLE_DAY, Step
from deniable.service.stores.store import CollectionRow, State, Store
from deniable.service.surveys import Clock, Survey, Surveys, accepts_until, state_now

DRAIN_SECONDS = 10.0
"""Shortest time between two drains of an inbox."""

_WATCH_SECONDS = 1.0
_READY_SECONDS = 1.0
"""For this time, requests about the state of the store get the last result, because a check writes to the disk."""

READY_TIMEOUT = 1.5
"""Seconds after which a database without an answer counts as not ready."""

_LEAST_QUEUE = 100
"""Least number of waiting reports that is told. With smaller numbers, anyone who looks all the time could count
people."""

_STOP_SECONDS = 1.0

_WARM_ROWS = (1, 200, 5000)

log = logging.getLogger("deniable.service")


@dataclass(frozen=True, eq=False)
class SurveySnapshot:
    """Survey as it was a moment ago.

    Parameters
    ----------
    row : CollectionRow
        State of the survey in the database.
    survey : Survey
        Content of the survey.
    """

    row: CollectionRow
    survey: Survey

    def state(self, clock: Clock) -> State:
        """Return the state that devices are told now."""
        return state_now(self.row, self.survey, clock())

    def staff_state(self, clock: Clock) -> State:
        """Return the state that staff are told now: an opened survey is open even before `opens_at`."""
        state = self.state(clock)
        return self.row.state if state == "draft" else state

    @property
    def accepts_until(self) -> str | None:
        """Time until which reports are taken, if it is known."""
        return accepts_until(self.row, self.survey.page)


class Collector:
    """Collector with everything that both ports need.

    Parameters
    ----------
    store : Store
        Database of the collector.
    clock : callable
        Function that returns the time.
    drain_seconds : float
        Seconds between two looks at an inbox.
    while_open : {"day"} or int
        Release step, after which analysts get a new sum while a survey is open, as in `Surveys`.
    steady : callable
        Function that returns whether the clock may be believed for acts that nobody can undo.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock = system_clock,
        drain_seconds: float = DRAIN_SECONDS,
        while_open: Step = WHOLE_DAY,
        steady: Callable[[], bool] = lambda: True,
    ) -> None:
        self.store, self.clock, self._steady = store, clock, steady
        self.surveys = Surveys(store, clock, while_open)
        self.arrivals = Arrivals(store, clock)
        self.metrics, self.outages = Metrics(), Outages()
        self.ingest = Ingest(store, self.metrics, clock, self.outages)
        self._drain_seconds = drain_seconds
        self._up_at, self._drained_at, self._watched_at = time.time(), 0.0, 0.0
        self._held: dict[str, SurveySnapshot] = {}
        self._warm: set[str] = set()
        self._refreshing, self._readiness = threading.Lock(), threading.Lock()
        self._looker: threading.Thread | None = None
        self._looked, self._unready = -_READY_SECONDS, "nobody has looked yet"
        self._stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="watch", daemon=True)

    def start(self) -> None:
        """Read the surveys, compile the code that takes their reports, and begin."""
        self.refresh()
        self.ingest.start()
        self._watcher.start()

    def stop(self) -> None:
        """Write the reports that wait, and end; a database that does not answer is not waited for."""
        self._stop.set()
        self._watcher.join(_STOP_SECONDS)
        self.ingest.stop()
        self.outages.look(ending=True)

    def held(self, collection: str) -> SurveySnapshot | None:
        """Return the collection with this id, or None if there is none."""
        return self._held.get(collection)

    def of_slug(self, slug: str, position: int | None = None) -> SurveySnapshot | None:
        """Return the last collection of a survey, or that of a given round; None if there is none."""
        found = [held for held in self.rounds(slug) if position in (None, held.row.position)]
        return found[-1] if found else None

    def rounds(self, slug: str) -> list[SurveySnapshot]:
        """Return the collections of a survey, in the order of its rounds."""
        found = [held for held in self._held.values() if held.row.slug == slug]
        return sorted(found, key=lambda held: held.row.position)

    def all_held(self) -> list[SurveySnapshot]:
        """Return all collections."""
        return list(self._held.values())

    def refresh(self) -> None:
        """Read the surveys' states again, and the contents of drafts.

        The content of a survey is fixed when the survey is opened.
        """
        with self._refreshing:
            held = {}
            self.metrics.mark()
            rows = self.store.collections()
            self.metrics.drained({row.id: row.batches for row in rows if row.state != "closed"})
            for row in rows:
                known = self._held.get(row.id)
                fixed = known is not None and "draft" not in (known.row.state, row.state)
                survey = known.survey if known is not None and fixed else self.surveys.load(row.id)
                if row.id not in self._warm and row.state != "closed":
                    warm(survey)
                    self._warm.add(row.id)
                held[row.id] = SurveySnapshot(row, survey)
            self._held = held

    def drain(self) -> int:
        """Move every inbox that holds enough reports into its sum, and return the number of reports moved."""
        self.ingest.write_rejections()
        self.refresh()
        added = sum(map(self._drain, self.all_held()))
        self.refresh()
        return added

    def _drain(self, held: SurveySnapshot) -> int:
        added = self.surveys.drain(held.row, held.survey)
        if added:
            self._drained_at = time.time()
        self.arrivals.log(replace(held.row, n=held.row.n + added), held.survey)
        return added

    def ready(self) -> None:
        """Raise StoreError unless the database could be written a moment ago.

        Anyone may ask, as often as they like, so a separate thread asks the database itself once a second. The request
        that caused this look waits for it, and no longer than `READY_TIMEOUT`. Other requests do not wait. If they
        waited for a database that hangs, they would keep out contributors who ask for a receipt.
        """
        with self._readiness:
            looker, first = self._looker, self._looker is None
            if looker is None and time.monotonic() - self._looked >= _READY_SECONDS:
                self._looked = time.monotonic()
                looker = self._looker = threading.Thread(target=self._look, name="ready", daemon=True)
                looker.start()
        if looker is not None and first:
            looker.join(READY_TIMEOUT)
        if looker is not None and looker.is_alive() and time.monotonic() - self._looked >= READY_TIMEOUT:
            self._unready = HANGS
        if self._unready:
            self.outages.refused(self._unready)
            raise StoreError(self._unready)

    def _look(self) -> None:
        try:
            self.store.ready()
        except StoreError as error:
            found = str(error)
        else:
            found = ""
        with self._readiness:
            self._unready, self._looked, self._looker = found, time.monotonic(), None

    def gauges(self) -> dict[str, float]:
        """Return the present values of the gauges, for operators."""
        found: dict[str, float] = {
            "deniable_queue": waiting if (waiting := self.ingest.waiting) >= _LEAST_QUEUE else 0,
            "deniable_last_drain_timestamp_seconds": self._drained_at,
            "deniable_last_watch_timestamp_seconds": self._watched_at,
            "deniable_up_timestamp_seconds": self._up_at,
        }
        for held in self.all_held():
            found |= self.arrivals.gauges(held.row, held.survey)
            # The gauge says whether a drain is overdue, not how many reports wait. Otherwise a sender of 99 reports
            # among 100 would know who sent the last.
            overdue = self.store.waiting(held.row.id) >= held.survey.page.min_batch
            found[f'deniable_batch_waiting{{survey="{held.row.slug}"}}'] = overdue
        # Gauges of one name must be neighbours.
        return dict(sorted(found.items()))

    def _tick(self) -> None:
        surveys = {held.row.id: held.survey for held in self.all_held()}
        self.surveys.tick(surveys, final=self._steady())

    def _attempt(self, act: Callable[[], object]) -> bool:
        """Do a task now or, if it fails, the next time, and return whether it was done.

        The watch continues in any case.
        """
        try:
            act()
        except StoreError as error:
            self.metrics.store_error()
            log.warning("%s", error)
        except DeniableError as error:
            log.error("%s", error)
        except Exception as error:
            # The error's text could quote what was sent.
            log.error("the watch failed: %s", type(error).__name__)
        else:
            return True
        return False

    def _watch(self) -> None:
        drained = time.monotonic()
        while not self._stop.wait(min(_WATCH_SECONDS, self._drain_seconds)):
            self.outages.look()
            self._attempt(self.refresh)
            self._attempt(self._tick)
            if time.monotonic() - drained >= self._drain_seconds:
                drained = time.monotonic()
                self.ingest.write_rejections()
                # A fault of one survey keeps no other survey from its drain.
                done = [self._attempt(functools.partial(self._drain, held)) for held in self.all_held()]
                if all(done):
                    self._watched_at = time.time()
                self._attempt(self.store.settle)
        with contextlib.suppress(DeniableError):
            self.ingest.write_rejections()


def warm(survey: Survey) -> None:
    """Compile every loop that reports of this survey go through, so that no request waits for it.

    If a report of zeros is valid, contributors' loops need not be compiled to have reports.
    """
    mechanism, schema = survey.collection.mechanism, survey.collection.schema
    zeros = np.zeros((1, survey.width), dtype=np.uint8)
    made = not survey.valid(zeros)
    for rows in _WARM_ROWS:
        if made:
            codes = np.zeros((rows, len(schema.sizes)), dtype=np.int64)
            reports = survey.collection.randomize(codes, SimulationRandomness(0))
        else:
            reports = from_wire(mechanism, zeros.repeat(rows, axis=0))
        mechanism.aggregate(reports)
        survey.valid(to_wire(mechanism, reports))

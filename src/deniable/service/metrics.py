"""Metrics for operators, as Prometheus text: counters and distributions of all reports together, never of one alone."""

from __future__ import annotations

import os
import shutil
import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from deniable import __version__

COMMIT_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
BATCH_SIZES = (1, 3, 10, 30, 100, 300, 1000, 3000)
REQUEST_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)

_STEP = 1 << 24

FAMILIES: Mapping[str, tuple[str, str]] = {
    "deniable_arrivals_off_plan": ("gauge", "Whether more reports have come than the plan of a survey explains."),
    "deniable_batch_waiting": ("gauge", "Whether enough reports wait for a batch to enter the sum."),
    "deniable_build_info": ("gauge", "Version of this program."),
    "deniable_commit_reports": ("histogram", "Reports of one survey in a commit, after their drain."),
    "deniable_commit_seconds": ("histogram", "Seconds that a commit took, after the drain of its reports."),
    "deniable_counted_reports": ("gauge", "Reports in a survey's sum."),
    "deniable_database_bytes": ("gauge", "Bytes of the database with its log, in steps of 16 MiB."),
    "deniable_disk_free_bytes": (
        "gauge",
        "Bytes that this process may still write where the database is (SQLite), in steps of 16 MiB.",
    ),
    "deniable_last_drain_timestamp_seconds": (
        "gauge",
        "When a batch last entered a sum; 0 if none has since the start.",
    ),
    "deniable_last_watch_timestamp_seconds": ("gauge", "When inboxes were last looked at."),
    "deniable_memory_available_bytes": ("gauge", "Bytes of memory that are free on this machine."),
    "deniable_open_files": ("gauge", "Files and connections that this process has open."),
    "deniable_open_files_limit": ("gauge", "Files and connections that it may have open."),
    "deniable_planned_reports": ("gauge", "Reports that a survey plans for."),
    "deniable_queue": ("gauge", "Reports that wait for their commit; 0 if fewer than 100 do."),
    "deniable_reports_total": ("counter", "Reports by what became of them; those that were taken, after their drain."),
    "deniable_request_seconds": (
        "histogram",
        "Seconds until a request was answered, by the template of its address; accepted uploads, after their drain.",
    ),
    "deniable_requests_total": (
        "counter",
        "Requests by the template of their address and the status of the answer; accepted uploads, after their drain.",
    ),
    "deniable_resident_memory_bytes": ("gauge", "Bytes of memory of this process."),
    "deniable_store_errors_total": ("counter", "Times that the database refused."),
    "deniable_up_timestamp_seconds": ("gauge", "When this process started."),
}
"""Every family of metrics, with its type and its help text."""


class Distribution:
    """Histogram that counts how often a number was at most each of some bounds.

    Parameters
    ----------
    bounds : iterable of float
        Bounds in ascending order; infinity is added.
    """

    def __init__(self, bounds: Iterable[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count a number in the histogram."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def merge(self, other: Distribution) -> None:
        """Add the counts of another histogram with the same bounds."""
        self.counts = [mine + more for mine, more in zip(self.counts, other.counts, strict=True)]
        self.total += other.total

    def lines(self, name: str, labels: str = "") -> Iterator[str]:
        """Yield the histogram as Prometheus text, with further labels such as ``route="/"``."""
        seen, more = 0, f"{labels}," if labels else ""
        for bound, count in zip([*map(number, self.bounds), "+Inf"], self.counts, strict=True):
            seen += count
            yield f'{name}_bucket{{{more}le="{bound}"}} {seen}'
        of = f"{{{labels}}}" if labels else ""
        yield f"{name}_sum{of} {number(self.total)}"
        yield f"{name}_count{of} {seen}"


def number(value: float) -> str:
    """Return a number with all its digits.

    Examples
    --------
    >>> number(1234567), number(1234567.0), number(0.25), number(1e300)[:5]
    ('1234567', '1234567', '0.25', '10000')
    """
    return str(int(value)) if value == int(value) else repr(value)


class _Part:
    """Part of the counters, which can be merged with another part."""

    def __init__(self) -> None:
        self.reports = Counter[str]()
        self.requests = Counter[tuple[str, int]]()
        self.seconds = dict[str, Distribution]()
        self.commits, self.sizes = Distribution(COMMIT_SECONDS), Distribution(BATCH_SIZES)

    def request(self, route: str, status: int, seconds: float) -> None:
        self.requests[route, status] += 1
        self.seconds.setdefault(route, Distribution(REQUEST_SECONDS)).add(seconds)

    def merge(self, other: _Part) -> None:
        self.reports += other.reports
        self.requests += other.requests
        self.commits.merge(other.commits)
        self.sizes.merge(other.sizes)
        for route, seconds in other.seconds.items():
            self.seconds.setdefault(route, Distribution(REQUEST_SECONDS)).merge(seconds)


class Metrics:
    """Counters of one process since it started; any thread may count.

    Counts of reports that were taken are shown after the next drain of their survey. Otherwise they would say how many
    reports wait. An attacker who forges all but one report of a batch would then know whose the last one is.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown, self._store_errors = _Part(), 0
        self._fresh: defaultdict[str, _Part] = defaultdict(_Part)
        self._marked: defaultdict[str, _Part] = defaultdict(_Part)
        self._waiting: dict[str, tuple[int, _Part]] = {}

    def reports(self, outcome: str, count: int = 1, taken: str | None = None) -> None:
        """Count reports by their outcome: counted, already, or the name of a problem.

        Parameters
        ----------
        outcome : str
            Outcome of the reports.
        count : int
            Number of reports.
        taken : str or None
            Collection whose next drain is waited for; None to show the reports at once.
        """
        with self._lock:
            self._part(taken).reports[outcome] += count

    def commit(self, seconds: float, reports: Mapping[str, int]) -> None:
        """Count a commit, once for each collection whose reports it contained."""
        with self._lock:
            for collection, n in reports.items():
                self._fresh[collection].commits.add(seconds)
                self._fresh[collection].sizes.add(n)

    def request(self, route: str, status: int, seconds: float, taken: str | None = None) -> None:
        """Count a request by the template of its address, with the status of its answer and the seconds it took."""
        with self._lock:
            self._part(taken).request(route, status, seconds)

    def _part(self, taken: str | None) -> _Part:
        return self._shown if taken is None else self._fresh[taken]

    def mark(self) -> None:
        """Begin a look at the database; everything counted until now was committed before the look."""
        with self._lock:
            for collection, part in self._fresh.items():
                self._marked[collection].merge(part)
            self._fresh.clear()

    def drained(self, batches: Mapping[str, int]) -> None:
        """Show the counts of drained reports, by a look at the database that came after `mark`.

        Parameters
        ----------
        batches : mapping of str to int
            Number of batches of each collection that takes reports. No reports wait for a collection that is not in it.
        """
        with self._lock:
            for collection in {*self._waiting, *self._marked, *batches}:
                now = batches.get(collection, -1)
                before, part = self._waiting.pop(collection, (now, _Part()))
                if now != before:
                    # An inbox is emptied as a whole. So everything that was counted at an earlier number of batches may
                    # be shown.
                    self._shown.merge(part)
                    part = _Part()
                part.merge(self._marked.pop(collection, _Part()))
                if now < 0:
                    self._shown.merge(part)
                else:
                    self._waiting[collection] = now, part

    def store_error(self) -> None:
        """Count an error of the database."""
        with self._lock:
            self._store_errors += 1

    def text(self, gauges: Mapping[str, float]) -> str:
        """Return all metrics as text, together with the present values of gauges, whose names may have labels.

        Examples
        --------
        >>> metrics = Metrics()
        >>> metrics.reports("counted", 1234567)
        >>> [line for line in metrics.text({"deniable_queue": 0}).splitlines() if "reports_total{" in line]
        ['deniable_reports_total{outcome="counted"} 1234567']
        """
        found: dict[str, list[str]] = {}
        for name, value in gauges.items():
            found.setdefault(name.partition("{")[0], []).append(f"{name} {number(value)}")
        with self._lock:
            found["deniable_reports_total"] = [
                f'deniable_reports_total{{outcome="{name}"}} {n}' for name, n in sorted(self._shown.reports.items())
            ]
            found["deniable_requests_total"] = [
                f'deniable_requests_total{{route="{route}",status="{status}"}} {n}'
                for (route, status), n in sorted(self._shown.requests.items())
            ]
            found["deniable_request_seconds"] = [
                line
                for route, seconds in sorted(self._shown.seconds.items())
                for line in seconds.lines("deniable_request_seconds", f'route="{route}"')
            ]
            found["deniable_commit_seconds"] = [*self._shown.commits.lines("deniable_commit_seconds")]
            found["deniable_commit_reports"] = [*self._shown.sizes.lines("deniable_commit_reports")]
            found["deniable_store_errors_total"] = [f"deniable_store_errors_total {self._store_errors}"]
        lines = []
        for name, samples in sorted(found.items()):
            kind, meaning = FAMILIES[name]
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", *samples]
        return "\n".join(lines) + "\n"


def machine_gauges(database: Path | None) -> dict[str, float]:
    """Return the resources that the process and its machine have left, and the size of a database in a file.

    Parameters
    ----------
    database : Path or None
        File of the database; None for a database elsewhere.
    """
    found: dict[str, float] = {f'deniable_build_info{{version="{__version__}"}}': 1}
    if database is not None:
        files = [database, database.with_name(database.name + "-wal")]
        held = sum(file.stat().st_size for file in files if file.exists())
        # Exact sizes would count commits, because a commit adds some pages.
        found["deniable_database_bytes"] = -(-held // _STEP) * _STEP
        found["deniable_disk_free_bytes"] = shutil.disk_usage(database.parent).free // _STEP * _STEP
    with open("/proc/meminfo", encoding="ascii") as lines:
        available = next(line for line in lines if line.startswith("MemAvailable:"))
    found["deniable_memory_available_bytes"] = 1024 * int(available.split()[1])
    with open("/proc/self/statm", encoding="ascii") as line:
        found["deniable_resident_memory_bytes"] = int(line.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    found["deniable_open_files"] = len(os.listdir("/proc/self/fd"))
    found["deniable_open_files_limit"] = os.sysconf("SC_OPEN_MAX")
    return found

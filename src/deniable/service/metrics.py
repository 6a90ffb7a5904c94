"""What operators watch, as Prometheus text: counters and distributions of all reports together, of nobody's alone."""

from __future__ import annotations

import os
import shutil
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from deniable import __version__

COMMIT_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
BATCH_SIZES = (1, 3, 10, 30, 100, 300, 1000, 3000)
REQUEST_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)

FAMILIES: Mapping[str, tuple[str, str]] = {
    "deniable_arrivals_off_plan": ("gauge", "Whether more reports have come than the plan of a survey explains."),
    "deniable_batch_waiting": ("gauge", "Whether enough reports wait for a batch to enter the sum."),
    "deniable_build_info": ("gauge", "Version of this program."),
    "deniable_commit_reports": ("histogram", "Reports in a commit."),
    "deniable_commit_seconds": ("histogram", "Seconds that a commit took."),
    "deniable_counted_reports": ("gauge", "Reports in a survey's sum."),
    "deniable_database_bytes": ("gauge", "Bytes of the database with its log."),
    "deniable_disk_free_bytes": ("gauge", "Bytes that this process may still write where the database is (SQLite)."),
    "deniable_last_drain_timestamp_seconds": (
        "gauge",
        "When a batch last entered a sum; 0 if none has since the start.",
    ),
    "deniable_last_watch_timestamp_seconds": ("gauge", "When inboxes were last looked at."),
    "deniable_memory_available_bytes": ("gauge", "Bytes of memory that are free on this machine."),
    "deniable_open_files": ("gauge", "Files and connections that this process has open."),
    "deniable_open_files_limit": ("gauge", "Files and connections that it may have open."),
    "deniable_planned_reports": ("gauge", "Reports that a survey plans for."),
    "deniable_queue": ("gauge", "Reports that wait for their commit."),
    "deniable_reports_total": ("counter", "Reports by what became of them."),
    "deniable_request_seconds": ("histogram", "Seconds until a request was answered, by the template of its address."),
    "deniable_requests_total": ("counter", "Requests by the template of their address and the status of the answer."),
    "deniable_resident_memory_bytes": ("gauge", "Bytes of memory of this process."),
    "deniable_store_errors_total": ("counter", "Times that the database refused."),
    "deniable_up_timestamp_seconds": ("gauge", "When this process started."),
}
"""Every family: its type and what it tells."""


class Distribution:
    """How often a number was at most each of some bounds.

    Parameters
    ----------
    bounds : iterable of float
        Ascending; infinity is added.
    """

    def __init__(self, bounds: Iterable[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count a number."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str, labels: str = "") -> Iterator[str]:
        """Yield it as Prometheus text, with further labels such as ``route="/"``."""
        seen, more = 0, f"{labels}," if labels else ""
        for bound, count in zip([*map(number, self.bounds), "+Inf"], self.counts, strict=True):
            seen += count
            yield f'{name}_bucket{{{more}le="{bound}"}} {seen}'
        of = f"{{{labels}}}" if labels else ""
        yield f"{name}_sum{of} {number(self.total)}"
        yield f"{name}_count{of} {seen}"


def number(value: float) -> str:
    """Return a number in all its digits.

    Examples
    --------
    >>> number(1234567), number(1234567.0), number(0.25), number(1e300)[:5]
    ('1234567', '1234567', '0.25', '10000')
    """
    return str(int(value)) if value == int(value) else repr(value)


class Metrics:
    """The numbers of one process since it started; any thread may count."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reports: Counter[str] = Counter()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: dict[str, Distribution] = {}
        self._commits, self._sizes = Distribution(COMMIT_SECONDS), Distribution(BATCH_SIZES)
        self._store_errors = 0

    def reports(self, outcome: str, count: int = 1) -> None:
        """Count reports by what became of them: counted, already, or the name of a problem."""
        with self._lock:
            self._reports[outcome] += count

    def commit(self, seconds: float, reports: int) -> None:
        """Count a commit: how long it took, and for how many reports."""
        with self._lock:
            self._commits.add(seconds)
            self._sizes.add(reports)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request by the template of its address: how it was answered, and after how long."""
        with self._lock:
            self._requests[route, status] += 1
            self._seconds.setdefault(route, Distribution(REQUEST_SECONDS)).add(seconds)

    def store_error(self) -> None:
        """Count that the database refused."""
        with self._lock:
            self._store_errors += 1

    def text(self, gauges: Mapping[str, float]) -> str:
        """Return everything, with numbers of this moment, whose names may have labels.

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
                f'deniable_reports_total{{outcome="{name}"}} {n}' for name, n in sorted(self._reports.items())
            ]
            found["deniable_requests_total"] = [
                f'deniable_requests_total{{route="{route}",status="{status}"}} {n}'
                for (route, status), n in sorted(self._requests.items())
            ]
            found["deniable_request_seconds"] = [
                line
                for route, seconds in sorted(self._seconds.items())
                for line in seconds.lines("deniable_request_seconds", f'route="{route}"')
            ]
            found["deniable_commit_seconds"] = [*self._commits.lines("deniable_commit_seconds")]
            found["deniable_commit_reports"] = [*self._sizes.lines("deniable_commit_reports")]
            found["deniable_store_errors_total"] = [f"deniable_store_errors_total {self._store_errors}"]
        lines = []
        for name, samples in sorted(found.items()):
            kind, meaning = FAMILIES[name]
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", *samples]
        return "\n".join(lines) + "\n"


def machine_gauges(database: Path | None) -> dict[str, float]:
    """Return what the process and its machine have left, and how large the database in a file is.

    Parameters
    ----------
    database : Path or None
        The file; None for a database elsewhere.
    """
    found: dict[str, float] = {f'deniable_build_info{{version="{__version__}"}}': 1}
    if database is not None:
        files = [database, database.with_name(database.name + "-wal")]
        found["deniable_database_bytes"] = sum(file.stat().st_size for file in files if file.exists())
        found["deniable_disk_free_bytes"] = shutil.disk_usage(database.parent).free
    with open("/proc/meminfo", encoding="ascii") as lines:
        available = next(line for line in lines if line.startswith("MemAvailable:"))
    found["deniable_memory_available_bytes"] = 1024 * int(available.split()[1])
    with open("/proc/self/statm", encoding="ascii") as line:
        found["deniable_resident_memory_bytes"] = int(line.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    found["deniable_open_files"] = len(os.listdir("/proc/self/fd"))
    found["deniable_open_files_limit"] = os.sysconf("SC_OPEN_MAX")
    return found

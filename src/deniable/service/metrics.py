"""What operators watch, as Prometheus text: counters and distributions of all reports together, of nobody's alone."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping

COMMIT_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
BATCH_SIZES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)


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
        at = next((i for i, bound in enumerate(self.bounds) if value <= bound), len(self.bounds))
        self.counts[at] += 1
        self.total += value

    def lines(self, name: str) -> list[str]:
        """Return it as Prometheus text."""
        found, seen = [], 0
        for bound, count in zip([*map(str, self.bounds), "+Inf"], self.counts, strict=True):
            seen += count
            found.append(f'{name}_bucket{{le="{bound}"}} {seen}')
        return [*found, f"{name}_sum {self.total:.6f}", f"{name}_count {seen}"]


class Metrics:
    """The numbers of one process since it started; any thread may count."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reports: Counter[str] = Counter()
        self._commits, self._sizes = Distribution(COMMIT_SECONDS), Distribution(BATCH_SIZES)

    def reports(self, outcome: str, count: int = 1) -> None:
        """Count reports by what became of them: counted, already, or the name of a problem."""
        with self._lock:
            self._reports[outcome] += count

    def commit(self, seconds: float, reports: int) -> None:
        """Count a commit: how long it took, and for how many reports."""
        with self._lock:
            self._commits.add(seconds)
            self._sizes.add(reports)

    def text(self, gauges: Mapping[str, float]) -> str:
        """Return everything, with numbers of this moment.

        Examples
        --------
        >>> metrics = Metrics()
        >>> metrics.reports("counted", 3)
        >>> print(metrics.text({"deniable_queue": 0}).splitlines()[1])
        deniable_reports_total{outcome="counted"} 3
        """
        with self._lock:
            lines = ["# TYPE deniable_reports_total counter"]
            lines += [f'deniable_reports_total{{outcome="{name}"}} {n}' for name, n in sorted(self._reports.items())]
            lines += ["# TYPE deniable_commit_seconds histogram", *self._commits.lines("deniable_commit_seconds")]
            lines += ["# TYPE deniable_commit_reports histogram", *self._sizes.lines("deniable_commit_reports")]
        for name, value in gauges.items():
            lines += [f"# TYPE {name.partition('{')[0]} gauge", f"{name} {value:g}"]
        return "\n".join(dict.fromkeys(lines)) + "\n"

"""A pytest plugin that records which test runs which line of the library, and the time of each test.

Use it as ``pytest -p tests.mutants.recorder``. It writes to the file that the environment variable ``MUTANTS_RECORD``
names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

RECORD = "MUTANTS_RECORD"


class Recorder:
    """One coverage measurement, switched from test to test."""

    def __init__(self, target: Path) -> None:
        self.target, self.root = target, Path.cwd()
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.coverage = coverage.Coverage(data_file=None, source=["src/deniable"], messages=False)
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Assign all lines that run during a test, including fixtures, to this test."""
        self.coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the duration of a test, and whether it fails without any mutant."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write {"lines": {file: {line: [test, ...]}}, "seconds": {test: s}, "failed": [test, ...]}."""
        self.coverage.stop()
        data = self.coverage.get_data()
        lines: dict[str, dict[int, list[int]]] = {}
        tests = {name: number for number, name in enumerate(self.seconds)}
        for file in data.measured_files():
            lines[str(Path(file).relative_to(self.root))] = {
                line: [tests[name] for name in names if name in tests]
                for line, names in data.contexts_by_lineno(file).items()
            }
        record: dict[str, Any] = {
            "tests": list(tests),
            "seconds": [round(self.seconds[name], 3) for name in tests],
            "failed": self.failed,
            "lines": lines,
        }
        self.target.write_text(json.dumps(record), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Start recording if a file is named."""
    if os.environ.get(RECORD):
        config.pluginmanager.register(Recorder(Path(os.environ[RECORD])))

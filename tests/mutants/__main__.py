"""Test a sample of small faults: ``python -m tests.mutants [--seed 1] [--count 60] [--jobs 2]``.

1. A sample is drawn (`selection.drawn`).
2. For each mutant, a copy of the project gets the fault. The nearest tests run until one fails. These are the examples
  of the mutant's file, and the files of tests that import its module.
3. If mutants survive, the suite runs once while `recorder` notes which test runs which line (again only if a file
  changed). The tests of the mutant's line run until one fails: first tests that take a minute together, then more.
4. A JSON file has the result of each mutant. Survivors are listed. Survivors that are proved equivalent
  (``equivalent.json``) are listed separately.

A mutant in a compiled loop has its own cache of compiled code, because cached loops could contain the original. A busy
machine does not change results: a test that failed must pass without the fault, and limits are in processor time. Parts
of the record and tested mutants are stored below ``build/mutants``, so that the same command continues an interrupted
run. ``--again FILE`` tests the survivors of an earlier run again, after tests were written for them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

import typer

from tests.mutants.operators import Mutant
from tests.mutants.recorder import RECORD
from tests.mutants.selection import ALL_SECONDS, FIRST_SECONDS, Record, drawn, every_mutant, nearest

ROOT = Path(__file__).parents[2]
PYTEST = (sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header")
FOLDER = ROOT / "build" / "mutants"
ALL_TESTS = (*(argument for argument in PYTEST if argument != "-x"), "--continue-on-collection-errors")
EQUIVALENT = Path(__file__).with_name("equivalent.json")
PARTS = 16
"""Number of parts of the suite while it is recorded; an interruption loses at most one part."""

PATIENCE = 300
"""Largest processor seconds for the nearest tests of one mutant."""

WAITING = 8
"""Largest ratio of clock time to processor time of a test run, because servers and busy machines wait."""


def environment(root: Path, cache: Path | None = None) -> dict[str, str]:
    """Return the environment of a test run in one copy of the project."""
    paths = os.pathsep.join(str(path) for path in (root / "src", root))
    threads = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    caches = {"NUMBA_CACHE_DIR": str(cache)} if cache else {}
    return {**os.environ, **threads, **caches, "PYTHONPATH": paths, "XDG_STATE_HOME": str(root / ".state")}


def files_of_the_project() -> list[Path]:
    """Return the files of the project in git; tests read all pages and check files at the top."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [Path(name) for name in listed.splitlines() if (ROOT / name).is_file()]


def digest(files: Sequence[Path]) -> str:
    """Return a digest of the library and its tests, on which a record of coverage depends."""
    whole = hashlib.sha256()
    for file in files:
        if file.suffix == ".py" and file.parts[0] in ("src", "tests") and file.parts[1] != "mutants":
            whole.update(str(file).encode() + b"\0" + (ROOT / file).read_bytes())
    return whole.hexdigest()[:16]


def recorded(folder: Path, files: Sequence[Path], jobs: int, tests: Sequence[str] = ()) -> Record:
    """Return which test runs which line; run the suite (or some files) to record it unless nothing has changed."""
    chosen = hashlib.sha256("\0".join(tests).encode()).hexdigest()[:4] if tests else "all"
    count = 1 if tests else PARTS
    parts = [folder / f"record-{digest(files)}-{chosen}-{part}-of-{count}.json" for part in range(count)]
    tests = tests or [str(file) for file in files if _has_tests(file)]

    def run(part: int) -> int:
        if parts[part].exists():
            return 0
        with parts[part].with_suffix(".log").open("w", encoding="utf-8") as log:
            # Doctests and unit tests alternate between the parts. A failing test must not end the record.
            return subprocess.run(
                [*ALL_TESTS, "-p", "tests.mutants.recorder", *tests[part::count]],
                cwd=ROOT,
                env={**environment(ROOT), RECORD: str(parts[part])},
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            ).returncode

    with ThreadPoolExecutor(jobs) as pool:
        codes = set(pool.map(run, range(count)))
    if not codes <= {0, 1, 5}:
        raise SystemExit(f"the tests could not be run: see the logs in {folder}")
    return Record.read(parts, ROOT)


def _has_tests(file: Path) -> bool:
    return file.suffix == ".py" and (file.parts[0] == "src" or (file.parts[0], file.name[:5]) == ("tests", "test_"))


@dataclass
class Copy:
    """One copy of the project for one mutant at a time."""

    root: Path
    number: int = 0

    def tried(self, mutant: Mutant, record: Record) -> dict[str, Any]:
        """Return the result of the tests of a mutant's line: killed by a test, killed by the clock, or not killed."""
        meeting = record.meeting(mutant)
        first = record.within(meeting, FIRST_SECONDS)
        then = record.within(meeting, ALL_SECONDS)[len(first) :]
        took = dict(zip(record.tests, record.seconds, strict=True))
        stages = [(stage, 180 + 5 * math.ceil(sum(took[test] for test in stage))) for stage in (first, then) if stage]
        found = self._tried(mutant, stages)
        return {**mutant.as_json(), "chosen": "by coverage", **found, "tests": len(meeting)}

    def tried_nearest(self, mutant: Mutant, files: Sequence[str]) -> dict[str, Any]:
        """Return the result of a mutant's nearest tests."""
        found = self._tried(mutant, [(list(files), PATIENCE)])
        return {**mutant.as_json(), "chosen": "nearest", **found, "tests": 0}

    def _tried(self, mutant: Mutant, stages: Sequence[tuple[Sequence[str], int]]) -> dict[str, Any]:
        started = time.monotonic()
        result: dict[str, Any] = {"outcome": "no test runs it", "by": ""}
        with tempfile.TemporaryDirectory() as fresh:
            cache = Path(fresh) if mutant.compiled else self.root / ".numba"
            for stage, patience in stages:
                if result["outcome"] != "killed":
                    result = self._outcome(mutant, stage, patience, cache)
        return result | {"seconds": round(time.monotonic() - started, 1)}

    def _outcome(self, mutant: Mutant, tests: Sequence[str], patience: int, cache: Path) -> dict[str, Any]:
        """Return the result of tests for a mutant; tests that fail without the fault are skipped.

        A skipped item may be a test, or a file of tests that cannot be imported.
        """
        without: list[str] = []
        while True:
            with self._fault(mutant):
                result = self._run(tests, patience, cache, without)
            failing = re.match(r"(?:FAILED|ERROR) (.+?)(?: - |$)", result["by"])
            if result["outcome"] != "killed" or not failing or failing[1] in without:
                return result
            with self._fault(None, mutant.file):
                if self._run([failing[1]], patience, self.root / ".numba")["outcome"] == "survived":
                    return result
            without.append(failing[1])

    @contextmanager
    def _fault(self, mutant: Mutant | None, name: str = "") -> Iterator[None]:
        """Put a fault (or none) into the copy for a while."""
        file = self.root / (mutant.file if mutant else name)
        source, stamp = file.read_bytes(), file.stat()
        if mutant:
            file.write_bytes(mutant.applied(source))
            self.number += 1
            # Byte code and compiled loops are identified by the time of the source, so no two mutants may share a time.
            os.utime(file, (stamp.st_mtime + 10 * self.number, stamp.st_mtime + 10 * self.number))
        try:
            yield
        finally:
            file.write_bytes(source)
            os.utime(file, (stamp.st_atime, stamp.st_mtime))

    def _run(self, tests: Sequence[str], patience: int, cache: Path, without: Sequence[str] = ()) -> dict[str, Any]:
        left = [test for test in tests if test.partition("::")[0] not in without]
        if not left:
            return {"outcome": "survived", "by": ""}
        listed = self.root / ".tests"
        listed.write_text("\n".join(left), encoding="utf-8")
        with subprocess.Popen(
            [*PYTEST, *(f"--deselect={test}" for test in without), f"@{listed}"],
            cwd=self.root,
            env=environment(self.root, cache),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as running:
            resource.prlimit(running.pid, resource.RLIMIT_CPU, (patience, patience + 10))
            try:
                said, _ = running.communicate(timeout=WAITING * patience)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
                return {"outcome": "killed", "by": "the clock"}
        # The code 5 means that no test was chosen, as in a file without examples.
        if running.returncode in (0, 5):
            return {"outcome": "survived", "by": ""}
        if running.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return {"outcome": "killed", "by": "the clock"}
        failures = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return {"outcome": "killed", "by": failures[0][:300] if failures else said[-300:]}


def copies(files: Sequence[Path], folder: Path, jobs: int) -> Queue[Copy]:
    """Return one copy of the project for each parallel job."""
    made: Queue[Copy] = Queue()
    for job in range(jobs):
        root = folder / f"copy-{job}"
        for part in {file.parts[0] for file in files if len(file.parts) > 1}:
            shutil.rmtree(root / part, ignore_errors=True)  # compiled code stays: its source has a time of its own
        for file in files:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, root / file)
        made.put(Copy(root))
    return made


def known_equivalent(mutant: Mutant) -> str:
    """Return the proof that mutants of this statement are equivalent to the original, or an empty text."""
    source = (ROOT / mutant.file).read_text(encoding="utf-8").splitlines()
    statement = " ".join(line.strip() for line in source[mutant.line - 1 : mutant.end])
    for entry in json.loads(EQUIVALENT.read_text(encoding="utf-8")):
        if same(mutant, entry) and entry["statement"] == statement:
            return str(entry["proof"])
    return ""


def same(mutant: Mutant, result: Mapping[str, Any]) -> bool:
    """Return whether a result is for this mutant, perhaps at another line."""
    return all(getattr(mutant, key) == result[key] for key in ("file", "function", "before", "after"))


def survivors(path: Path, found: Sequence[Mutant]) -> list[Mutant]:
    """Return the survivors of an earlier run as mutants of today's library; among several, the nearest line."""
    results = json.loads(path.read_text(encoding="utf-8"))["results"]
    chosen = []
    for result in results:
        if result["outcome"] in ("survived", "no test runs it"):
            alike = [one for one in found if same(one, result)]
            if not alike:
                raise SystemExit(f"{result['file']} has no {result['before']!r} in {result['function']} any more")
            place = (result["line"], result["column"])
            chosen.append(min(alike, key=lambda one: (abs(one.line - place[0]), abs(one.column - place[1]))))
    return chosen


def revision() -> str:
    """Return the current commit of the project, with a plus sign if files differ from it."""
    said = ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    return subprocess.run(said, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def main(
    seed: int = typer.Option(1, help="Seed of the sample."),
    count: int = typer.Option(60, help="Number of mutants in the sample."),
    jobs: int = typer.Option(2, help="Number of parallel jobs."),
    minutes: float = typer.Option(30.0, help="No mutant is begun after so long."),
    folder: Path = typer.Option(FOLDER, help="Folder for records and copies."),
    only: str = typer.Option("", help="Draw from files whose path contains this."),
    tests: list[str] = typer.Option([], help="Files of tests to choose from; default: all."),
    again: Path | None = typer.Option(None, help="Results of an earlier run whose survivors are tested again."),
) -> None:
    """Draw mutants, run their tests, and write the results."""
    started = time.monotonic()
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    files = files_of_the_project()
    found = [one for one in every_mutant(ROOT) if only in one.file]
    sample = survivors(again, found) if again else drawn(found, count, seed, ROOT)
    typer.echo(f"{len(found):,} mutants, {len(sample)} drawn")
    free = copies(files, folder, jobs)
    kind = hashlib.sha256(repr((sorted(tests), sample)).encode()).hexdigest()[:8]
    kept = folder / f"tried-{digest(files)}-{kind}.jsonl"
    known = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()] if kept.exists() else []

    def judged(mutant: Mutant, how: str, judge: Callable[[Copy], dict[str, Any]]) -> dict[str, Any] | None:
        for result in known:
            place = (result["line"], result["column"], result["chosen"])
            if same(mutant, result) and (mutant.line, mutant.column, how) == place:
                return dict(result)
        if time.monotonic() - started > 60 * minutes:
            return None
        copy = free.get()
        try:
            result = judge(copy)
        finally:
            free.put(copy)
        if result["outcome"] != "killed" and (proof := known_equivalent(mutant)):
            result |= {"outcome": "equivalent", "by": proof}
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        typer.echo(f"{result['outcome']:<16} {mutant.file}:{mutant.line} {mutant.before!r:.60} -> {mutant.after!r:.60}")
        return result

    def near(mutant: Mutant) -> dict[str, Any] | None:
        return judged(
            mutant, "nearest", lambda copy: copy.tried_nearest(mutant, nearest(mutant, ROOT, tests or map(str, files)))
        )

    with ThreadPoolExecutor(jobs) as pool:
        results = {mutant: result for mutant, result in zip(sample, pool.map(near, sample), strict=True) if result}
        left = [mutant for mutant, result in results.items() if result["outcome"] not in ("killed", "equivalent")]
        if left:
            typer.echo(f"{len(left)} survive the nearest tests; {time.monotonic() - started:.0f} s so far")
            record = recorded(folder, files, jobs, tests)
            typer.echo(f"{len(record.tests)} tests recorded, {len(record.failed)} fail without a mutant")

            def meet(mutant: Mutant) -> dict[str, Any] | None:
                return judged(mutant, "by coverage", lambda copy: copy.tried(mutant, record))

            for mutant, result in zip(left, pool.map(meet, left), strict=True):
                if result:
                    results[mutant] = result
    outcomes = Counter(result["outcome"] for result in results.values())
    summary = {
        "revision": revision(),
        "seed": seed,
        "drawn": len(sample),
        "tried": len(results),
        "outcomes": dict(outcomes),
        "mutants in all": len(found),
        "seconds": round(time.monotonic() - started),
        "results": list(results.values()),
    }
    path = ROOT / "results" / (f"mutants-{seed}.json" if again is None else "mutants-again.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    for result in results.values():
        if result["outcome"] in ("survived", "no test runs it"):
            typer.echo(f"SURVIVED {result['file']}:{result['line']} in {result['function'] or 'the module'}")
            typer.echo(f"    {result['before']}\n -> {result['after']}")
    said = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    typer.echo(f"{len(results)} of {len(sample)} tested: {said}; {time.monotonic() - started:.0f} s. Wrote {path}")


if __name__ == "__main__":
    typer.run(main)

"""``python -m tests.mutants [--seed 1] [--count 60] [--jobs 2]``: which of a sample of small faults the tests notice.

1. The suite runs once while `recorder` notes which test runs which line (again only if a file changed).
2. A sample is drawn (`selection.drawn`).
3. For each mutant a copy of the project gets the fault, and the tests that run its line run until one fails; first
   those that were recorded to take a minute together, and if none fails, more.
4. A JSON file says for every mutant what became of it. Survivors are listed; those proved equivalent
   (``equivalent.json``) stand apart.

A mutant in a compiled loop gets a cache of compiled code of its own: loops compiled into others would otherwise stay.
A busy machine decides nothing: a test that failed must pass without the fault, and time is the processor's. Parts of
the record and mutants that were tried are kept below ``build/mutants``; the same command goes on where it stopped.
``--again FILE`` tries the survivors of an earlier run once more, after tests were written for them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

import typer

from tests.mutants.operators import Mutant
from tests.mutants.recorder import RECORD
from tests.mutants.selection import ALL_SECONDS, FIRST_SECONDS, Record, drawn, every_mutant

ROOT = Path(__file__).parents[2]
COPIED = ("src", "tests", "experiments", "benchmarks", "docs", "pyproject.toml", "README.md", "CHANGELOG.md")
PYTEST = (sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header")
FOLDER = ROOT / "build" / "mutants"
ALL_TESTS = (*(argument for argument in PYTEST if argument != "-x"), "--continue-on-collection-errors")
EQUIVALENT = Path(__file__).with_name("equivalent.json")
PARTS = 16
"""Into how many parts the suite is split while it is recorded: what an interruption costs at most is one of them."""

WAITING = 8
"""A run of tests may take so many times as long by the clock as by the processor: servers and busy machines wait."""


def environment(root: Path, cache: Path | None = None) -> dict[str, str]:
    """Return the environment of a test run in one copy of the project."""
    paths = os.pathsep.join(str(path) for path in (root / "src", root))
    threads = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    caches = {"NUMBA_CACHE_DIR": str(cache)} if cache else {}
    return {**os.environ, **threads, **caches, "PYTHONPATH": paths, "XDG_STATE_HOME": str(root / ".state")}


def files_of_the_project() -> list[Path]:
    """Return the files that a copy of the project needs, as git knows them."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *COPIED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [Path(name) for name in listed.splitlines() if (ROOT / name).is_file()]


def digest(files: Sequence[Path]) -> str:
    """Return a digest of the library and its tests: what a record of coverage depends on."""
    whole = hashlib.sha256()
    for file in files:
        if file.suffix == ".py" and file.parts[0] in ("src", "tests"):
            whole.update(str(file).encode() + b"\0" + (ROOT / file).read_bytes())
    return whole.hexdigest()[:16]


def recorded(folder: Path, files: Sequence[Path], jobs: int, tests: Sequence[str] = ()) -> Record:
    """Return which test runs which line; run the suite (or some files) for it unless nothing changed since."""
    chosen = hashlib.sha256("\0".join(tests).encode()).hexdigest()[:4] if tests else "all"
    count = 1 if tests else PARTS
    parts = [folder / f"record-{digest(files)}-{chosen}-{part}-of-{count}.json" for part in range(count)]
    tests = tests or [str(file) for file in files if _has_tests(file)]

    def run(part: int) -> int:
        if parts[part].exists():
            return 0
        with parts[part].with_suffix(".log").open("w", encoding="utf-8") as log:
            # Doctests and unit tests alternate between the parts; a failing test must not end the record.
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
    """One copy of the project, in which one mutant at a time lives."""

    root: Path
    number: int = 0

    def tried(self, mutant: Mutant, record: Record) -> dict[str, Any]:
        """Return what became of a mutant: killed by a test, by the clock, or not."""
        started = time.monotonic()
        meeting = record.meeting(mutant)
        first = record.within(meeting, FIRST_SECONDS)
        then = record.within(meeting, ALL_SECONDS)[len(first) :]
        result: dict[str, Any] = {**mutant.as_json(), "tests": len(meeting), "outcome": "no test runs it", "by": ""}
        with tempfile.TemporaryDirectory() as fresh:
            cache = Path(fresh) if mutant.compiled else self.root / ".numba"
            for stage in (first, then):
                if stage and result["outcome"] != "killed":
                    result |= self._outcome(mutant, stage, record, cache)
        return result | {"tests run": len(first) + len(then), "seconds": round(time.monotonic() - started, 1)}

    def _outcome(self, mutant: Mutant, tests: Sequence[str], record: Record, cache: Path) -> dict[str, Any]:
        """Return what tests make of a mutant; a test that fails without the fault, too, is left out and they go on."""
        left = list(tests)
        while left:
            with self._fault(mutant):
                result = self._run(left, record, cache)
            failing = [test for test in left if f"{test} " in f"{result['by']} "]
            if result["outcome"] != "killed" or not failing:
                return result
            with self._fault(None, mutant.file):
                if self._run(failing[:1], record, self.root / ".numba")["outcome"] == "survived":
                    return result
            left.remove(failing[0])
        return {"outcome": "survived", "by": ""}

    @contextmanager
    def _fault(self, mutant: Mutant | None, name: str = "") -> Iterator[None]:
        """Let the copy have a fault, or none, for a while."""
        file = self.root / (mutant.file if mutant else name)
        source, stamp = file.read_bytes(), file.stat()
        if mutant:
            file.write_bytes(mutant.applied(source))
            self.number += 1
            # Byte code and compiled loops are told apart by the time of the source: no two mutants share one.
            os.utime(file, (stamp.st_mtime + 10 * self.number, stamp.st_mtime + 10 * self.number))
        try:
            yield
        finally:
            file.write_bytes(source)
            os.utime(file, (stamp.st_atime, stamp.st_mtime))

    def _run(self, tests: Sequence[str], record: Record, cache: Path) -> dict[str, Any]:
        took = dict(zip(record.tests, record.seconds, strict=True))
        patience = 180 + 5 * math.ceil(sum(took[test] for test in tests))
        listed = self.root / ".tests"
        listed.write_text("\n".join(tests), encoding="utf-8")
        with subprocess.Popen(
            [*PYTEST, f"@{listed}"],
            cwd=self.root,
            env=environment(self.root, cache),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (patience, patience + 10)),
        ) as running:
            try:
                said, _ = running.communicate(timeout=WAITING * patience)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
                return {"outcome": "killed", "by": "the clock"}
        if running.returncode == 0:
            return {"outcome": "survived", "by": ""}
        if running.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return {"outcome": "killed", "by": "the clock"}
        failures = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return {"outcome": "killed", "by": failures[0][:200] if failures else said[-200:]}


def copies(files: Sequence[Path], folder: Path, jobs: int) -> Queue[Copy]:
    """Return as many copies of the project as run at once."""
    made: Queue[Copy] = Queue()
    for job in range(jobs):
        root = folder / f"copy-{job}"
        shutil.rmtree(root, ignore_errors=True)
        for file in files:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, root / file)
        made.put(Copy(root))
    return made


def known_equivalent(result: dict[str, Any]) -> str:
    """Return why a mutant behaves as the original, if that was proved; else nothing."""
    same = ("file", "function", "before", "after")
    for entry in json.loads(EQUIVALENT.read_text(encoding="utf-8")):
        if all(entry[key] == result[key] for key in same):
            return str(entry["proof"])
    return ""


def same(mutant: Mutant, result: Mapping[str, Any]) -> bool:
    """Whether a result is of this mutant, perhaps at another line."""
    return all(getattr(mutant, key) == result[key] for key in ("file", "function", "before", "after"))


def survivors(path: Path, found: Sequence[Mutant]) -> list[Mutant]:
    """Return the mutants that survived an earlier run, as the library has them now; of several alike the nearest."""
    results = json.loads(path.read_text(encoding="utf-8"))["results"]
    chosen = []
    for result in results:
        if result["outcome"] in ("survived", "no test runs it"):
            alike = [one for one in found if same(one, result)]
            if not alike:
                raise SystemExit(f"{result['file']} has no {result['before']!r} in {result['function']} any more")
            chosen.append(min(alike, key=lambda one: abs(one.line - result["line"])))
    return chosen


def revision() -> str:
    """Return the commit that the project is at, with a plus sign if files differ from it."""
    said = ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    return subprocess.run(said, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def main(
    seed: int = typer.Option(1, help="Seed of the sample."),
    count: int = typer.Option(60, help="Mutants in the sample."),
    jobs: int = typer.Option(2, help="How many run at once."),
    minutes: float = typer.Option(30.0, help="No mutant is begun after so long."),
    folder: Path = typer.Option(FOLDER, help="Where records and copies go."),
    only: str = typer.Option("", help="Draw from files whose path contains this."),
    tests: list[str] = typer.Option([], help="Files of tests to choose from; all by default."),
    again: Path | None = typer.Option(None, help="Results of an earlier run, whose survivors are tried once more."),
) -> None:
    """Draw mutants, run the tests that meet them, and write what became of them."""
    started = time.monotonic()
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    files = files_of_the_project()
    record = recorded(folder, files, jobs, tests)
    found = [one for one in every_mutant(ROOT) if only in one.file]
    sample = survivors(again, found) if again else drawn(found, count, seed, ROOT)
    typer.echo(
        f"{len(record.tests)} tests ({len(record.failed)} fail without a mutant), {len(found):,} mutants, "
        f"{len(sample)} drawn; {time.monotonic() - started:.0f} s so far"
    )
    free = copies(files, folder, jobs)
    kept = (
        folder / f"tried-{digest(files)}-{hashlib.sha256(repr((sorted(tests), sample)).encode()).hexdigest()[:8]}.jsonl"
    )
    known = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()] if kept.exists() else []

    def judged(mutant: Mutant) -> dict[str, Any] | None:
        for result in known:
            if same(mutant, result) and mutant.line == result["line"]:
                return dict(result)
        if time.monotonic() - started > 60 * minutes:
            return None
        copy = free.get()
        try:
            result = copy.tried(mutant, record)
        finally:
            free.put(copy)
        if result["outcome"] != "killed" and (proof := known_equivalent(result)):
            result |= {"outcome": "equivalent", "by": proof}
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        typer.echo(f"{result['outcome']:<16} {mutant.file}:{mutant.line} {mutant.before!r:.60} -> {mutant.after!r:.60}")
        return result

    with ThreadPoolExecutor(jobs) as pool:
        results = [result for result in pool.map(judged, sample) if result is not None]
    outcomes = Counter(result["outcome"] for result in results)
    summary = {
        "revision": revision(),
        "seed": seed,
        "drawn": len(sample),
        "tried": len(results),
        "outcomes": dict(outcomes),
        "mutants in all": len(found),
        "tests": len(record.tests),
        "seconds": round(sum(result["seconds"] for result in results) / jobs),
        "results": results,
    }
    path = ROOT / "results" / (f"mutants-{seed}.json" if again is None else "mutants-again.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    for result in results:
        if result["outcome"] in ("survived", "no test runs it"):
            typer.echo(f"SURVIVED {result['file']}:{result['line']} in {result['function'] or 'the module'}")
            typer.echo(f"    {result['before']}\n -> {result['after']}")
    said = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    typer.echo(f"{len(results)} of {len(sample)} tried: {said}; {time.monotonic() - started:.0f} s. Wrote {path}")


if __name__ == "__main__":
    typer.run(main)

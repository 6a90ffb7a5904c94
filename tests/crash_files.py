"""Test files left by `kill -9`: ``python -m tests.crash_files --kills 30 -o results/crash-files.json``.

Each command that writes files runs in its own process and is killed there at moments that a seed chooses. Half of the
kills come after a random part of the time of an undisturbed run. The other half come at a random step in the file
system, which hits the instants around a rename. Then the files are checked, and the command is run again to its end.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import GRR, SimulationRandomness, cli
from deniable.core.aggregate import Aggregate
from deniable.core.outputs import PARTIAL
from deniable.errors import AlreadyRandomizedError, DuplicateReportsError
from deniable.files import aggregate_files, merge_files, randomize_file
from deniable.files.formats.reports import ReportReader, write_reports
from deniable.files.jobs import aggregating
from deniable.files.jobs.ledger import LOCK, answers_ledger
from deniable.research.dealt.files import deal_file
from deniable.research.dealt.files.shares import ShareReader, share_ledger
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema

N = 60_000
DAYS = 6
LABELS = tuple(str(i) for i in range(5_000))
PLAIN = Collection(Schema((Attribute("a", LABELS),)), GRR(k=len(LABELS), epsilon=8.0))
_quota: Any = QuotaRR(1.0, N, deal_id="crashes")
DEALT = Collection(Schema((Attribute("a", ("yes", "no")),)), _quota)
STEPS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "fcntl.flock")
"""Audit events that count as steps in the file system."""

rng = SimulationRandomness


def hidden(folder: Path) -> set[str]:
    """Return the hidden names in a folder; check that only partial files, locks and ledgers have such names."""
    names = {path.name for path in folder.iterdir() if path.name.startswith(".")}
    known = (PARTIAL, LOCK, ".deniable-shares.json", ".resume")
    assert all(name.endswith(known) for name in names), names
    return names


# -------------------------------------------------------------------- randomize


def make_answers(folder: Path) -> tuple[str, ...]:
    PLAIN.save(folder / "survey.json")
    codes = np.random.default_rng(1).integers(0, len(LABELS), N)
    (folder / "answers.csv").write_text("a\n" + "\n".join(map(str, codes)) + "\n")
    return ("randomize", "survey.json", "answers.csv", "-o", "reports.parquet")


def after_randomize(folder: Path) -> str:
    reports, answers = folder / "reports.parquet", folder / "answers.csv"
    if reports.exists():
        assert sum(len(batch) for batch in ReportReader(reports, PLAIN)) == N
    entries = answers_ledger().entries()
    assert len(entries) <= 1
    if entries:
        assert (entries[0].collection, entries[0].into, entries[0].last) == (PLAIN.id, str(reports), N)
        with pytest.raises(AlreadyRandomizedError, match=r"reports\.parquet"):
            randomize_file(PLAIN, answers, folder / "second.parquet", rng(1))
        assert not (folder / "second.parquet").exists()
    else:
        assert not reports.exists()
    assert len(
        randomize_file(PLAIN, answers, folder / "second.parquet", rng(1), allow_repeat=bool(entries)).warnings
    ) == len(entries)
    assert hidden(folder) == set()
    return f"{'reports' if reports.exists() else 'no reports'}, {_recorded(entries)}"


def _recorded(entries: Any) -> str:
    return "not recorded" if not entries else "begun" if entries[0].begun else "finished"


# -------------------------------------------------------------------- aggregate, merge


def make_reports(folder: Path) -> tuple[str, ...]:
    PLAIN.save(folder / "survey.json")
    for day in range(DAYS):
        values = np.random.default_rng(day).integers(0, len(LABELS), N).astype(np.uint16)
        write_reports(folder / f"{day}.parquet", PLAIN, [values], rng(day))
    return ("aggregate", "survey.json", *(f"{day}.parquet" for day in range(DAYS)), "-o", "all.aggregate")


def expected_counts() -> Any:
    days = [np.random.default_rng(day).integers(0, len(LABELS), N) for day in range(DAYS)]
    return sum(np.bincount(day, minlength=len(LABELS)) for day in days)


def after_aggregate(folder: Path) -> str:
    output, resume = folder / "all.aggregate", folder / ".all.aggregate.resume"
    if output.exists():
        assert np.array_equal(Aggregate.load(output).counts, expected_counts())
    finished = len(Aggregate.load(resume).batches) if resume.exists() else 0
    read: list[int] = []
    days = [folder / f"{day}.parquet" for day in range(DAYS)]
    total = aggregate_files(PLAIN, days, output, progress=lambda done, _: read.append(done))
    assert np.array_equal(total.counts, expected_counts())
    assert np.array_equal(Aggregate.load(output).counts, expected_counts())
    # The command goes on after the finished files: the first report that it counts is the one after theirs.
    assert not read or read[0] > finished * N
    assert bool(read) == (finished < DAYS)
    assert hidden(folder) == set()
    return f"{'complete' if finished == DAYS else 'goes on' if finished else 'starts anew'} after {finished} files"


def make_aggregates(folder: Path) -> tuple[str, ...]:
    make_reports(folder)
    for day in range(DAYS):
        aggregate_files(PLAIN, [folder / f"{day}.parquet"], folder / f"{day}.aggregate")
    names = [f"{day}.aggregate" for day in range(DAYS)]
    # The sum replaces its own first input, which is the hardest case.
    return ("merge", *names, "-o", names[0])


def after_merge(folder: Path) -> str:
    parts = [folder / f"{day}.aggregate" for day in range(DAYS)]
    merged = Aggregate.load(parts[0]).n == DAYS * N
    if merged:
        with pytest.raises(DuplicateReportsError):
            merge_files(parts, parts[0])
    else:
        assert Aggregate.load(parts[0]).n == N
        merge_files(parts, parts[0])
    assert np.array_equal(Aggregate.load(parts[0]).counts, expected_counts())
    assert hidden(folder) == set()
    return "the sum" if merged else "the input"


# -------------------------------------------------------------------- deal


def make_survey(folder: Path) -> tuple[str, ...]:
    DEALT.save(folder / "survey.json")
    return ("deal", "survey.json", "--contributors", str(N), "-o", "shares")


def after_deal(folder: Path) -> str:
    shares = folder / "shares"
    if shares.exists():
        assert shares.stat().st_mode & 0o077 == 0
        assert sum(len(numbers) for numbers, _ in ShareReader(shares, DEALT).batches()) == N
    entries = share_ledger(folder).entries()
    assert len(entries) <= 1
    if entries:
        with pytest.raises(AlreadyRandomizedError, match="was dealt before, to 60,000 contributors in shares"):
            deal_file(DEALT, N, folder / "second", rng(1))
    else:
        assert not shares.exists()
    outcome = f"{'shares' if shares.exists() else 'no shares'}, {_recorded(entries)}"
    deal_file(DEALT, N, folder / "second", rng(1), allow_repeat=bool(entries))
    assert hidden(folder) == {".deniable-shares.json"}
    return outcome


# -------------------------------------------------------------------- killing


@dataclass(frozen=True)
class Command:
    """A command, the files that it needs in a folder, and the check of the folder after a kill."""

    make: Callable[[Path], tuple[str, ...]]
    after: Callable[[Path], str]


COMMANDS = {
    "randomize": Command(make_answers, after_randomize),
    "aggregate": Command(make_reports, after_aggregate),
    "merge": Command(make_aggregates, after_merge),
    "deal": Command(make_survey, after_deal),
}


def run_command(folder: Path, arguments: tuple[str, ...], kill_at: int | None, ready: Any, done: Any) -> None:
    """Run a command in a child; kill the child at a step in the file system, or report its number of steps.

    Steps are counted, and `ready` is set, from the first lock on, because nothing is written before it.
    """
    os.chdir(folder)
    os.environ["XDG_STATE_HOME"] = str(folder.parent / "state")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    aggregating.CHECKPOINT_SECONDS = 0.0
    steps, locked, own = 0, False, os.path.realpath(folder.parent)

    def watch(event: str, values: tuple[Any, ...]) -> None:
        nonlocal steps, locked
        # Reads of modules and caches in other places are not steps of the command.
        if event == "fcntl.flock" and not locked:
            locked = True
            ready.set()
        if event in STEPS and (event == "fcntl.flock" or os.path.realpath(str(values[0])).startswith(own)):
            steps += locked
            if steps == kill_at:
                os.kill(os.getpid(), 9)

    sys.argv = ["deniable", *arguments]
    sys.addaudithook(watch)
    try:
        cli.main()
    finally:
        done.put(steps)


def crash(name: str, kills: int, seed: int, where: Path) -> dict[str, Any]:
    """Kill a command at random moments and check the files each time; return the outcomes and their frequencies.

    Parameters
    ----------
    name : str
        Name of the command.
    kills : int
        Number of kills.
    seed : int
        Seed of the moments.
    where : Path
        An empty directory to work in.

    Raises
    ------
    AssertionError
        If a forbidden file is left.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["deniable.cli"])
    moments = random.Random(f"{name} {seed}")
    outcomes: collections.Counter[str] = collections.Counter()
    earlier_state = os.environ.get("XDG_STATE_HOME")
    seconds, steps, alive = 0.0, 0, 0
    # The first run compiles what is not yet compiled, and the second run is measured.
    for number in range(-2, kills):
        root = where / f"{name}-{number}"
        folder = root / "work"
        folder.mkdir(parents=True)
        os.environ["XDG_STATE_HOME"] = str(root / "state")
        try:
            arguments = COMMANDS[name].make(folder)
            by_time = number % 2 == 0
            share = moments.random()
            kill_at = None if number < 0 or by_time else 1 + int(share * steps)
            ready, done = context.Event(), context.SimpleQueue()
            child = context.Process(target=run_command, args=(folder, arguments, kill_at, ready, done))
            child.start()
            ready.wait(120)
            begun = time.perf_counter()
            if number >= 0 and by_time:
                child.join(share * seconds)
                alive += child.is_alive()
                child.kill()
            child.join(120)
            if number < 0:
                assert child.exitcode == 0
                seconds, steps = time.perf_counter() - begun, done.get()
            else:
                alive += kill_at is not None
                outcomes[COMMANDS[name].after(folder)] += 1
        finally:
            if earlier_state is None:
                del os.environ["XDG_STATE_HOME"]
            else:
                os.environ["XDG_STATE_HOME"] = earlier_state
    return {
        "kills": kills,
        "killed_while_running": alive,
        "seed": seed,
        "undisturbed_seconds": round(seconds, 3),
        "undisturbed_steps": steps,
        "outcomes": dict(sorted(outcomes.items())),
    }


def main() -> None:
    """Check all commands and write the results; a failed check ends the run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=10)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    results = {}
    for name in COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            results[name] = crash(name, options.kills, options.seed, Path(folder))
        print(name, results[name], flush=True)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()

"""Test backup, restore, upgrade and rollback with real processes on both databases: `make drill`.

Reports arrive one by one during the whole drill. A restore may lose only reports that were acknowledged after the
backup was begun. Every report is then sent again. Only the lost reports count as new, so that no report counts twice.
An upgrade begins with a database that an earlier revision of this program made and filled. The rollback puts back the
backup from before the upgrade, and the earlier revision serves it again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.service import postgres
from tests.service.asking import ASKED, Caller, bodies, page

from deniable.core.outputs import write_text
from deniable.files.wire import Body

ROOT = Path(__file__).parents[1]
BEFORE = "304be01"
"""The revision from which the upgrade starts: the last one with tables of version 2."""

REPORTS, LATE = 1200, 100


@dataclass(frozen=True)
class Drill:
    """Results of one drill.

    Parameters
    ----------
    store : str
        Kind of database.
    acknowledged : (int, int, int)
        Reports acknowledged before the backup was begun, while it was made, and after it.
    restored : int
        Reports in the restored database.
    lost : int
        Acknowledged reports that the restored database lacks.
    new_again : int
        Reports that counted as new when all were sent again; these are the lost reports.
    upgraded, rolled_back : int
        Reports acknowledged by the earlier revision that are in the database after the upgrade, and after the rollback.
    seconds : dict of str to float
        Seconds of each step, until uploads were accepted again.
    """

    store: str
    acknowledged: tuple[int, int, int]
    restored: int
    lost: int
    new_again: int
    upgraded: int
    rolled_back: int
    seconds: dict[str, float]


class Revision:
    """Command line of one revision."""

    def __init__(self, source: Path) -> None:
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("DENIABLE_")},
            "PYTHONPATH": str(source),
            "DENIABLE_LIMITS_OFF": "1",
            "DENIABLE_PUBLIC": "127.0.0.1:0",
            "DENIABLE_ADMIN": "127.0.0.1:0",
        }

    def run(self, *command: object, may_fail: bool = False) -> str:
        """Run a command, and return its output."""
        words = [sys.executable, "-m", "deniable.cli", *map(str, command)]
        done = subprocess.run(words, env=self._environment, capture_output=True, text=True, check=False)
        if done.returncode and not may_fail:
            raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr}")
        return done.stdout + done.stderr

    @contextmanager
    def serving(self, database: str, *options: str) -> Iterator[Caller]:
        """Serve a database while the block runs."""
        words = [sys.executable, "-m", "deniable.cli", "serve", "--database", database, "--json", *options]
        with tempfile.TemporaryFile("w+") as log:
            process = subprocess.Popen(words, env=self._environment, stdout=subprocess.PIPE, stderr=log, text=True)
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                log.seek(0)
                raise RuntimeError(log.read())
            try:
                yield Caller(json.loads(line)["public"])
            finally:
                process.send_signal(signal.SIGTERM)
                if process.wait(60):
                    raise RuntimeError("the collector did not end as it should")
                process.stdout.close()


def taken(call: Caller, sent: list[Body]) -> int:
    """Send reports one by one; return the number of new reports."""
    return sum(call.post(one).json["counted"] for one in sent)


def held(revision: Revision, database: str) -> int:
    """Close the survey; return the number of reports in the database, in sums and waiting."""
    revision.run("survey", "close", "smoking", "--now", "--database", database)
    status = json.loads(revision.run("survey", "status", "smoking", "--json", "--database", database))
    return int(status["n"])


def drill(name: str, new_database: Callable[[], str], folder: Path, before: Revision, now: Revision) -> Drill:
    """Run all steps once with one kind of database."""
    seconds: dict[str, float] = {}
    (folder / "survey.json").write_text(ASKED.to_json())
    (folder / "page.json").write_text(page())

    def entered(revision: Revision, database: str) -> None:
        files = (folder / "survey.json", folder / "page.json")
        revision.run("survey", "new", "smoking", *files, "--database", database)
        revision.run("survey", "open", "smoking", "--database", database)

    def timed(what: str, act: Callable[[], object]) -> None:
        began = time.monotonic()
        act()
        seconds[what] = round(time.monotonic() - began, 2)

    # ------------------------------------------------ backup while reports arrive, and restore
    live, sent = new_database(), bodies(REPORTS)
    entered(now, live)
    copy = folder / f"{name}.backup"
    acknowledged: list[int] = []
    with now.serving(live) as call:
        first = taken(call, sent[: REPORTS // 3])
        sender = threading.Thread(target=lambda: acknowledged.append(taken(call, sent[REPORTS // 3 : -LATE])))
        sender.start()
        timed("backup", lambda: now.run("survey", "backup", "-o", copy, "--database", live))
        sender.join()
        late = taken(call, sent[-LATE:])
    again = new_database()
    timed("restore", lambda: now.run("survey", "restore", copy, "--database", again))
    with now.serving(again) as call:
        new_again = taken(call, sent)
    total = held(now, again)
    if total != REPORTS:
        raise RuntimeError(f"{name}: {total} reports after all were sent again, not {REPORTS}")
    restored = total - new_again
    if not LATE <= new_again <= LATE + acknowledged[0] or first + acknowledged[0] + late != REPORTS:
        raise RuntimeError(f"{name}: {new_again} were lost, of {acknowledged[0]} beside the backup and {late} after it")
    # ------------------------------------------------ upgrade from the earlier revision, and rollback
    old, earlier = new_database(), bodies(REPORTS // 2, 10_000)
    entered(before, old)
    with before.serving(old, "--migrate") as call:
        if (written := taken(call, earlier)) != len(earlier):
            raise RuntimeError(f"{name}: the earlier revision acknowledged {written} reports only")
    kept = folder / f"{name}-before.backup"
    before.run("survey", "backup", "-o", kept, "--database", old)

    def upgrade() -> None:
        now.run("survey", "migrate", "-o", folder / f"{name}-upgrade.backup", "--database", old)

    timed("upgrade", upgrade)
    with now.serving(old) as call:
        newer = taken(call, bodies(20, 20_000))
        repeated = taken(call, earlier)
    if (newer, repeated) != (20, 0):
        raise RuntimeError(f"{name}: after the upgrade {newer} of 20 were new, and {repeated} of those from before")
    upgraded = held(now, old) - newer
    refused = before.run("survey", "status", "smoking", "--database", old, may_fail=True)
    if "newer release" not in refused:
        raise RuntimeError(f"{name}: the earlier revision must refuse newer tables, it answered: {refused}")
    back = new_database()
    timed("rollback", lambda: before.run("survey", "restore", kept, "--database", back))
    with before.serving(back) as call:
        if twice := taken(call, earlier):
            raise RuntimeError(f"{name}: {twice} reports counted twice after the rollback")
    return Drill(
        store=name,
        acknowledged=(first, acknowledged[0], late),
        restored=restored,
        lost=REPORTS - restored,
        new_again=new_again,
        upgraded=upgraded,
        rolled_back=held(before, back),
        seconds=seconds,
    )


@contextmanager
def earlier_revision() -> Iterator[Path]:
    """Yield the sources of the earlier revision."""
    with tempfile.TemporaryDirectory() as folder:
        content = subprocess.run(["git", "archive", BEFORE, "src"], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=content, check=True)
        yield Path(folder) / "src"


def line(found: Drill) -> str:
    """Return the row about a drill for the page about deployment."""
    acknowledged = " + ".join(f"{n:,}" for n in found.acknowledged)
    took = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in found.seconds.items())
    return (
        f"| {found.store} | {acknowledged} | {found.restored:,} | {found.lost:,} | {found.new_again:,} | "
        f"{found.upgraded:,} | {found.rolled_back:,} | {took} |"
    )


def quoted(text: str, drills: list[Drill]) -> str:
    """Return the page with its table replaced by these figures."""
    table, times = re.subn(
        r"(\| store \| acknowledged .*\n\|[-:| ]+\|\n)(\|.*\n)+",
        lambda found: found[1] + "".join(f"{line(one)}\n" for one in drills),
        text,
    )
    if times != 1:
        raise ValueError(f"the page must quote the drill once, it does {times} times")
    return table


def main() -> None:
    """Run the drill and write its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("results/drill.json"))
    parser.add_argument("--page", type=Path, help="page that quotes the figures, to be updated")
    options = parser.parse_args()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    now = Revision(ROOT / "src")
    found: list[Drill] = []
    with earlier_revision() as source, tempfile.TemporaryDirectory(dir=options.output.parent) as name:
        folder, before = Path(name).absolute(), Revision(source)
        names = iter(range(100))
        found.append(drill("sqlite", lambda: f"sqlite:{folder / f'{next(names)}.db'}", folder, before, now))
        with postgres.server() as server:
            found.append(drill("postgresql", server.database, folder, before, now))
    for one in found:
        print(line(one))
    write_text(options.output, json.dumps([asdict(one) for one in found], indent=1) + "\n")
    if options.page is not None:
        write_text(options.page, quoted(options.page.read_text(encoding="utf-8"), found))


if __name__ == "__main__":
    main()

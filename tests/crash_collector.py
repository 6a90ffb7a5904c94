"""Random kill -9 and database stops under load: no acknowledged report is lost, and none is counted twice.

``make crash`` runs the whole check (`python -m tests.crash_collector`). ``make crash-invited`` runs it with 10,000
links for invited people, some of which are used on two devices with different reports. The tests run it with a few
kills. A sender keeps its reports as JSON Lines, and sends the same bytes again if it gets no answer. One report in ten
is sent again on purpose. A survey is drained during the whole run. All senders continue until they get an answer. In
the end, the export must equal the result of `deniable aggregate` on the acknowledged reports.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from deniable.core.aggregate import Aggregate
from deniable.core.outputs import write_text
from deniable.files import aggregate_files
from deniable.files.wire import Body, to_base64url
from deniable.service.control import ask
from deniable.service.invitations import Link, draw_links, invitations, nullifier
from tests.service import postgres
from tests.service.asking import ASKED, Caller, bodies, page

SENDERS = 8
START_SECONDS = 60.0
LONGEST_SECONDS = 3600.0
"""Time limit in seconds for a sender to send reports for all its links."""
_CODE = """
import sys
from pathlib import Path
from deniable.service.config import Configuration, LimitsShape, ResultsShape
from deniable.service.ending import Ending
from deniable.service.server import running
configuration = Configuration(
    database=sys.argv[1], public="127.0.0.1:0", admin="127.0.0.1:0", limits=LimitsShape(off=True),
    results=ResultsShape(while_open=1),
)
with Ending() as ending, running(configuration, migrate=True, drain_seconds=0.05) as here:
    print(here.public, flush=True)
    ending.wait()
"""


@dataclass
class Outcome:
    """Result of one run.

    Parameters
    ----------
    store : str
        Kind of database.
    collectors, kills, stops : int
        Number of collector processes, of kills, and of stops of the database.
    sent, acknowledged, duplicates, unanswered : int
        Number of reports made, acknowledged, and sent again on purpose; number of requests without an answer.
    counted, lost, twice : int
        Reports in the export; acknowledged reports that are missing in the export; reports that count more than once.
    equal : bool
        Whether the export's counts equal those of `deniable aggregate`.
    invited, strangers, tokens : int
        Number of invitations; of requests with an id without an invitation, which must all be refused; and of tokens in
        the database or its files, which must be 0. All are 0 in open access.
    """

    store: str
    collectors: int
    kills: int
    stops: int
    sent: int
    acknowledged: int
    duplicates: int
    unanswered: int
    counted: int
    lost: int
    twice: int
    equal: bool
    invited: int = 0
    strangers: int = 0
    tokens: int = 0

    @property
    def held(self) -> bool:
        """Whether no report was lost or counted twice."""
        return not self.lost and not self.twice and self.equal and not self.tokens


class Collector:
    """A process that is restarted after each kill."""

    def __init__(self, database: str) -> None:
        self._database = database
        self.public = ""
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        """Start the process; try again while the database is stopped."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            command = [sys.executable, "-c", _CODE, self._database]
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            assert self._process.stdout is not None
            self.public = self._process.stdout.readline().strip()
            if self.public:
                return
            self._end()
            time.sleep(0.1)
        raise RuntimeError("the collector does not start")

    def kill(self, number: int = signal.SIGKILL) -> int:
        """Send the process a signal, and return its exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        return self._end()

    def _end(self) -> int:
        assert self._process is not None
        assert self._process.stdout is not None
        code = self._process.wait(60)
        self._process.stdout.close()
        return code


def _bodies(which: int, reports: int) -> Iterator[Body]:
    """Yield the bodies of a sender, made a few hundred at a time."""
    for start in range(0, reports, 200):
        yield from bodies(200, which * 1_000_000 + start, seed=which + start)


def _invited_bodies(links: list[Link], seed: int) -> Iterator[Body]:
    """Yield the bodies of a sender for its links."""
    for link, one in zip(links, bodies(len(links), seed=seed), strict=True):
        name = np.frombuffer(nullifier(ASKED.id, link.token), np.uint8).reshape(1, 16)
        yield Body(ASKED.id, name, one.rows)


class _Sender(threading.Thread):
    """Send reports one by one, each until it is acknowledged."""

    def __init__(self, made: Iterator[Body], collectors: list[Collector], seed: int, *, invited: bool = False) -> None:
        super().__init__(daemon=True)
        self._bodies, self._invited = made, invited
        self._collectors, self._random = collectors, random.Random(seed)
        self.acknowledged: list[bytes] = []
        self.unanswered = self.duplicates = self.strangers = 0
        self.hurry = threading.Event()
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            for one in self._bodies:
                if self.hurry.is_set():
                    return
                self._until_answered(one)
                self.acknowledged.append(one.to_json())
                if self._random.random() < 0.1:
                    self.duplicates += 1
                    # A second device with the same link has drawn another report. Only the first report counts.
                    self._until_answered(Body(one.collection, one.ids, (one.rows + 1) % 3) if self._invited else one)
                if self._invited and self._random.random() < 0.05:
                    self.strangers += 1
                    name = np.frombuffer(self._random.randbytes(16), np.uint8).reshape(1, 16)
                    self._until_answered(Body(one.collection, name, one.rows), (403,))
        except Exception as error:
            self.failure = error

    def _until_answered(self, one: Body, wanted: tuple[int, ...] = (200, 201)) -> None:
        while True:
            public = self._random.choice(self._collectors).public
            try:
                status = Caller(public).post(one).status
            except OSError:
                status = 0
            except Exception as error:
                # Half an answer is not an answer.
                if type(error).__module__ != "http.client":
                    raise
                status = 0
            if status in wanted:
                return
            if status not in (0, 503):
                raise AssertionError(f"status {status}")
            self.unanswered += 1
            time.sleep(self._random.uniform(0, 0.05))


def crash(
    store: str,
    database: str,
    folder: Path,
    *,
    kills: int,
    collectors: int = 1,
    stop: Callable[[], None] | None = None,
    stops: int = 0,
    pause: float = 0.5,
    seed: int = 1,
    invited: int = 0,
) -> Outcome:
    """Kill collectors and stop their database while reports arrive; then compare the results."""
    asked = page(access="invited" if invited else "open")
    for request in (
        {"command": "new", "slug": "smoking", "document": ASKED.to_json(), "page": asked, "folder": "."},
        {"command": "open", "slug": "smoking"},
    ):
        ask(database, request)
    links = draw_links(invited) if invited else []
    for start in range(0, invited, 2000):
        entered = invitations(ASKED.id, links[start : start + 2000], 20)
        told = [(b64encode(one.nullifier).decode(), one.tag, one.part) for one in entered]
        ask(database, {"command": "invite", "slug": "smoking", "invited": told})
    running = [Collector(database) for _ in range(collectors)]
    made = [
        _invited_bodies(links[which::SENDERS], seed + which) if invited else _bodies(which, 100_000)
        for which in range(SENDERS)
    ]
    senders = [_Sender(one, running, seed + which, invited=bool(invited)) for which, one in enumerate(made)]
    for sender in senders:
        sender.start()
    chosen = random.Random(seed)
    events = ["kill"] * kills + ["stop"] * stops
    chosen.shuffle(events)
    try:
        for event in events:
            # The kill comes a moment after something was acknowledged, at random within a few commits.
            before = sum(len(sender.acknowledged) for sender in senders)
            _until(lambda before=before: _gone_on(senders, before))  # type: ignore[misc]
            time.sleep(chosen.uniform(0, pause))
            if event == "kill":
                victim = chosen.choice(running)
                victim.kill()
                victim.start()
            elif stop is not None:
                stop()
        before = sum(len(sender.acknowledged) for sender in senders)
        if invited:
            # Everybody who was invited answers after the last kill.
            for sender in senders:
                sender.join(LONGEST_SECONDS)
        else:
            _until(lambda: sum(len(s.acknowledged) for s in senders) > before + 50)
    finally:
        for sender in senders:
            sender.hurry.set()
        for sender in senders:
            sender.join(120)
        codes = [one.kill(signal.SIGTERM) for one in running]
    failures = [sender.failure for sender in senders if sender.failure is not None]
    assert not failures, failures
    assert codes == [0] * collectors, codes
    found = _compared(store, database, folder, senders, collectors, kills, stops)
    return replace(found, invited=invited, tokens=_tokens_in(database, folder, links)) if invited else found


def _gone_on(senders: list[_Sender], before: int) -> bool:
    """Return whether some more reports were acknowledged, or all are done."""
    acknowledged = sum(len(sender.acknowledged) for sender in senders)
    return acknowledged > before + 20 or not any(sender.is_alive() for sender in senders)


def _tokens_in(database: str, folder: Path, links: list[Link]) -> int:
    """Return the number of tokens in a backup of the database or in its files, as bytes or in the form of links."""
    ask(database, {"command": "backup", "output": str(folder / "copy")})
    files = [path.read_bytes() for path in folder.iterdir() if path.is_file() and path.suffix != ".jsonl"]
    stored = b"".join(files)
    return sum(link.token in stored or to_base64url(link.token).encode() in stored for link in links)


def _compared(
    store: str, database: str, folder: Path, senders: list[_Sender], collectors: int, kills: int, stops: int
) -> Outcome:
    ask(database, {"command": "close", "slug": "smoking", "now": True})
    content = base64.b64decode(ask(database, {"command": "export", "slug": "smoking"})["files"][""])
    (folder / "export.aggregate").write_bytes(content)
    exported = Aggregate.load(folder / "export.aggregate")
    lines = [line for sender in senders for line in sender.acknowledged]
    (folder / "acknowledged.jsonl").write_bytes(b"\n".join(lines))
    expected = aggregate_files(ASKED, [folder / "acknowledged.jsonl"], folder / "expected.aggregate")
    return Outcome(
        store=store,
        collectors=collectors,
        kills=kills,
        stops=stops,
        sent=len(lines),
        acknowledged=len(lines),
        duplicates=sum(sender.duplicates for sender in senders),
        unanswered=sum(sender.unanswered for sender in senders),
        strangers=sum(sender.strangers for sender in senders),
        counted=exported.n,
        lost=max(0, expected.n - exported.n),
        twice=max(0, exported.n - expected.n),
        equal=bool(np.array_equal(exported.counts, expected.counts)),
    )


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("no report was acknowledged for two minutes")
        time.sleep(0.01)


def main() -> None:
    """Run the whole check and write its result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--stops", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--invited", type=int, default=0, help="number of invitations; 0 leaves access open")
    parser.add_argument("--store", choices=["sqlite", "postgresql"], help="only this kind of database")
    parser.add_argument("-o", "--output", type=Path, default=Path("results/crash.json"))
    options = parser.parse_args()
    outcomes = []
    alone = {"kills": options.kills, "seed": options.seed, "invited": options.invited}
    if options.store != "postgresql":
        with tempfile.TemporaryDirectory() as name:
            database = f"sqlite:{name}/a.db"
            outcomes.append(crash("sqlite", database, Path(name), pause=1.0, **alone))
    if options.store != "sqlite":
        with postgres.server() as server, tempfile.TemporaryDirectory() as name:

            def stop() -> None:
                server.stop("immediate")
                server.start()

            both = alone | {"collectors": 2, "stops": options.stops}
            outcomes.append(crash("postgresql", server.database(), Path(name), stop=stop, pause=1.0, **both))
    for outcome in outcomes:
        print(outcome, flush=True)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    found = [{**asdict(outcome), "held": outcome.held} for outcome in outcomes]
    write_text(options.output, json.dumps({"seed": options.seed, "runs": found}, indent=1) + "\n")
    if not all(outcome.held for outcome in outcomes):
        raise SystemExit("an acknowledged report was lost, or counted twice")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", "src")
    main()

"""Measure how many reports a collector can take: ``make load`` writes results/load.json.

Collector and senders are separate processes on the loopback interface, and reports are stored durably. ``python -m
benchmarks.load --postgres -o docs/results/collector-load.json --page docs/deployment.md`` also updates the page that
quotes the figures.

Processor time per report is the reliable figure. Other work of the machine lowers the rates and lengthens the waits.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from deniable import SPL, SimulationRandomness
from deniable.core.outputs import write_text
from deniable.files.wire import BINARY_TYPE, ID_BYTES, JSON_TYPE, Body, to_wire
from deniable.service.control import ask
from deniable.service.survey_page import draft_page
from deniable.survey.attribute import Attribute
from deniable.survey.collection import Collection
from deniable.survey.schema import Schema

SCHEMA = Schema(tuple(Attribute(f"a{j}", ("a", "b", "c", "d")) for j in range(12)))
ASKED = Collection(SCHEMA, SPL(sizes=SCHEMA.sizes, epsilon=12.0), title="load")
CONNECTIONS = 64
BULK_SENDERS = 16
MANY_CONNECTIONS = 512
_CODE = """
import sys
from deniable.service import ingest
from deniable.service.config import Configuration, LimitsShape
from deniable.service.ending import Ending
from deniable.service.server import begin_log, keep_what_is_loaded, running
ingest.MAX_COMMIT = int(sys.argv[2])
configuration = Configuration(
    database=sys.argv[1], public="127.0.0.1:0", admin="127.0.0.1:0", limits=LimitsShape(off=True)
)
begin_log()
with Ending() as ending, running(configuration, migrate=True) as here:
    keep_what_is_loaded()
    print(here.public, flush=True)
    ending.wait()
"""


@dataclass(frozen=True)
class Figures:
    """Results for one kind of load.

    Parameters
    ----------
    what : str
        Name of the load.
    reports : int
        Number of reports counted.
    per_second : float
        Reports per second of clock time.
    p50, p99 : float
        Milliseconds until a request was answered: median and 99th percentile.
    processor : float
        Microseconds of the collector's processor time per report.
    resident : float
        MiB of the collector's memory at the end.
    load : float
        Load average of the machine at the end, which shows its other work.
    """

    what: str
    reports: int
    per_second: float
    p50: float
    p99: float
    processor: float
    resident: float
    load: float


class Served:
    """A collector that runs in its own process."""

    def __init__(self, database: str, most_per_commit: int, token: str) -> None:
        self.token = token
        command = [sys.executable, "-c", _CODE, database, str(most_per_commit)]
        # The collector's lines about requests go to a file, as in its systemd unit.
        with tempfile.TemporaryFile() as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        self.public = self.process.stdout.readline().strip()

    def seconds(self) -> float:
        """Processor seconds used until now."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> float:
        """Memory in MiB now."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def close(self) -> None:
        """Stop the collector."""
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(60):
            raise RuntimeError("the collector did not end as it should")
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def served(database: str, most_per_commit: int = 4096) -> Iterator[Served]:
    """Run a collector with an open survey."""
    page = draft_page(ASKED, 1_000_000)
    words = page.languages["en"].model_copy(update={"intro": "x", "consent": "x"})
    text = page.model_copy(update={"languages": {"en": words}, "contact": "x"}).to_json()
    ask(database, {"command": "new", "slug": "load", "document": ASKED.to_json(), "page": text, "folder": "."})
    ask(database, {"command": "open", "slug": "load"})
    sender = {"command": "add-analyst", "name": "load", "role": "sender"}
    here = Served(database, most_per_commit, ask(database, sender | {"token": True})["token"])
    try:
        yield here
    finally:
        here.close()


def requests(reports: int, each: int, kind: str, token: str = "") -> list[bytes]:
    """Return complete requests, made before the clock starts; each has the token if one is given."""
    who = f"authorization: Bearer {token}\r\n" if token else ""
    generator = np.random.default_rng(reports)
    codes = generator.integers(0, 4, (min(reports, 10_000), 12))
    pool = to_wire(ASKED.mechanism, ASKED.randomize(codes, SimulationRandomness(1)))
    found = []
    for _ in range(reports // each):
        ids = np.frombuffer(secrets.token_bytes(ID_BYTES * each), np.uint8).reshape(each, ID_BYTES)
        body = Body(ASKED.id, ids, pool[generator.integers(0, len(pool), each)])
        content = body.to_json() if kind == JSON_TYPE else body.to_binary()
        head = f"POST /api/v1/collections/{ASKED.id}/reports HTTP/1.1\r\nhost: load\r\ncontent-type: {kind}\r\n{who}"
        found.append(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)
    return found


async def _send(origin: str, queue: list[bytes], waits: list[float]) -> None:
    host, _, port = urlsplit(origin).netloc.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    while queue:
        request = queue.pop()
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        await reader.readexactly(length)
        waits.append(time.perf_counter() - began)
        if not head.startswith(b"HTTP/1.1 201"):
            raise RuntimeError(head.decode())
    writer.close()


def load(
    here: Served, what: str, reports: int, each: int = 1, kind: str = JSON_TYPE, connections: int = CONNECTIONS
) -> Figures:
    """Send this many reports over some connections, and return the figures."""
    queue, waits = requests(reports, each, kind, here.token if each > 1 else ""), list[float]()
    used, began = here.seconds(), time.perf_counter()

    async def send() -> None:
        await asyncio.gather(*(_send(here.public, queue, waits) for _ in range(connections)))

    asyncio.run(send())
    return _figures(here, what, reports, waits, used, began)


def beside_bulk(here: Served, reports: int, each: int) -> Figures:
    """Send single reports while `BULK_SENDERS` send batches without pause; waits are those of the single reports."""
    singles, batches = (
        requests(reports, 1, JSON_TYPE),
        requests(each * (4000 if each < 1000 else 120), each, BINARY_TYPE, here.token),
    )
    waits, ignored, used, began = list[float](), list[float](), here.seconds(), time.perf_counter()

    async def send() -> None:
        bulk = [asyncio.create_task(_send(here.public, batches, ignored)) for _ in range(BULK_SENDERS)]
        await asyncio.gather(*(_send(here.public, singles, waits) for _ in range(CONNECTIONS)))
        if not batches:
            raise RuntimeError("the senders of batches ended before the single reports did")
        batches.clear()
        await asyncio.gather(*bulk)

    asyncio.run(send())
    what = f"single reports (JSON) beside {BULK_SENDERS} senders of batches of {each:,}"
    return _figures(here, what, reports + each * len(ignored), waits, used, began)


def _figures(here: Served, what: str, reports: int, waits: list[float], used: float, began: float) -> Figures:
    took = time.perf_counter() - began
    p50, p99 = np.percentile(waits, (50, 99)) * 1000
    found = Figures(
        what=what,
        reports=reports,
        per_second=round(reports / took, 1),
        p50=round(float(p50), 1),
        p99=round(float(p99), 1),
        processor=round(1e6 * (here.seconds() - used) / reports, 1),
        resident=round(here.resident(), 1),
        load=os.getloadavg()[0],
    )
    print(found, flush=True)
    return found


def measure(database: str, alone: str, many: int) -> list[Figures]:
    """Return all figures for one kind of database; `alone` is a second database of that kind."""
    with served(alone, most_per_commit=1) as here:
        single = load(here, "one commit per report, 64 connections", 1_000)
    with served(database) as here:
        figures = [single, load(here, "warm-up", 2_000)]
        figures.append(load(here, "single reports (JSON), 64 connections", 20_000))
        figures.append(load(here, "batches of 100 (binary), 64 connections", many, 100, BINARY_TYPE))
        what = f"batches of 100 (binary), {MANY_CONNECTIONS} connections"
        figures.append(load(here, what, many // 4, 100, BINARY_TYPE, MANY_CONNECTIONS))
        figures += [beside_bulk(here, 5_000, each) for each in (100, 10_000)]
        figures.append(load(here, f"single reports (JSON) with {many:,} receipts there", 20_000))
    return figures


def lines(found: dict[str, Any]) -> list[str]:
    """Return the lines that the page about deployment quotes."""
    most = max(one["load"] for figures in found["figures"].values() for one in figures)
    rows = [
        f"This table was measured on {found['cores']} cores, with a load average of at most {most:.1f}:",
        "",
        "| database | load | reports/s | p50, p99 ms | processor us | memory MiB |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for database, figures in found["figures"].items():
        for one in figures:
            if one["what"] != "warm-up":
                waits = f"{one['p50']:.0f}, {one['p99']:.0f}"
                numbers = f"{one['per_second']:,.0f} | {waits} | {one['processor']:.0f} | {one['resident']:.0f}"
                rows.append(f"| {database} | {one['what']} | {numbers} |")
    return rows


def quoted(page: str, found: dict[str, Any]) -> str:
    """Return the page with its tables replaced by these figures."""
    old = r"This table was measured on \d+ cores, with a load average .*\n\n(\|.*\n)+"
    text, times = re.subn(old, "\n".join([*lines(found), ""]), page)
    if times != 1:
        raise ValueError(f"the page must quote the figures once, it does {times} times")
    return text


def main() -> None:
    """Run all loads and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=1_000_000, help="in batches")
    parser.add_argument("--postgres", action="store_true", help="also measure with PostgreSQL")
    parser.add_argument("-o", "--output", type=Path, default=Path("results/load.json"))
    parser.add_argument("--page", type=Path, help="page that quotes the figures, to be updated")
    options = parser.parse_args()
    found: dict[str, list[dict[str, object]]] = {}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    # The folder is on the disk that results go to, because a file system in memory would promise too much.
    with tempfile.TemporaryDirectory(dir=options.output.parent) as name:
        figures = measure(f"sqlite:{name}/a.db", f"sqlite:{name}/b.db", options.reports)
        found["sqlite"] = [asdict(one) for one in figures]
    if options.postgres:
        from tests.service import postgres

        with postgres.server() as server:
            figures = measure(server.database(), server.database(), options.reports)
            found["postgresql"] = [asdict(one) for one in figures]
    whole = {"cores": os.cpu_count(), "figures": found}
    write_text(options.output, json.dumps(whole, indent=1) + "\n")
    if options.page is not None:
        write_text(options.page, quoted(options.page.read_text(encoding="utf-8"), whole))


if __name__ == "__main__":
    main()

"""Time engines that sum the same reports: ``python -m benchmarks.engines``, after ``make engines``.

Reports of GRR over 16 values in four files are summed by `deniable aggregate`, by DuckDB and by Spark with two workers.
Spark also randomises. Each engine has its own process. It is called once to warm up, and then three times. Processor
time covers the process and all processes that it started, because Spark's work is done by a Java machine and its
workers.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.report import processor

ROWS = 20_000_000
FILES, K = 4, 16
JOBS = (
    ("deniable aggregate", "add up", "deniable"),
    ("DuckDB", "add up", "duckdb"),
    ("Spark local[2]", "add up", "pyspark"),
    ("Spark local[2]", "randomize", "pyspark"),
)
"""Engine, verb, and required package."""


def make(folder: Path, rows: int) -> None:
    """Write a collection, and its reports in four files."""
    import numpy as np

    import deniable
    from deniable.files import write_reports

    labels = tuple(f"answer {value}" for value in range(K))
    collection = deniable.Collection(
        deniable.Schema((deniable.Attribute("item", labels),)), deniable.GRR(K, epsilon=1.0)
    )
    collection.save(folder / "survey.json")
    rng, codes = deniable.SimulationRandomness(1), np.arange(1 << 17)[:, None] % K
    (folder / "reports").mkdir()
    for i in range(FILES):
        left = rows // FILES
        parts = (min(len(codes), left - start) for start in range(0, left, len(codes)))
        batches = (collection.randomize(codes[:part], rng) for part in parts)
        write_reports(folder / "reports" / f"{i}.parquet", collection, batches, rng)


def tree_seconds(process: int | None = None) -> float:
    """Return the processor seconds of a process and of all its descendants, running or ended."""
    statistics: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # the process has ended in the meantime
                continue
            statistics[int(entry.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    tree = {os.getpid() if process is None else process}
    while found := {one for one, (parent, _) in statistics.items() if parent in tree} - tree:
        tree |= found
    return sum(statistics[one][1] for one in tree if one in statistics) / os.sysconf("SC_CLK_TCK")


def work(folder: Path, engine: str, verb: str, rows: int) -> dict[str, float]:
    """Do one job in this process: once to warm up, then three times; return the least clock and processor times."""
    call = _call(folder, engine, verb, rows)
    call()
    taken = []
    for _ in range(3):
        clock, cpu = time.perf_counter(), tree_seconds()
        call()
        taken.append((time.perf_counter() - clock, tree_seconds() - cpu))
    return {"clock_s": min(t[0] for t in taken), "cpu_s": min(t[1] for t in taken)}


def _call(folder: Path, engine: str, verb: str, rows: int) -> Callable[[], object]:
    import deniable

    collection, reports = deniable.Collection.load(folder / "survey.json"), folder / "reports"
    if engine == "deniable aggregate":
        from deniable.files import aggregate_files

        return lambda: aggregate_files(collection, [reports], folder / "total.arrow")
    if engine == "DuckDB":
        import duckdb

        from deniable.engines import duckdb as counting

        connection = duckdb.connect()
        return lambda: counting.aggregate(connection, f"{reports}/*.parquet", collection)
    from pyspark.sql import SparkSession

    from deniable.engines import spark

    builder: Any = SparkSession.builder
    builder = builder.master("local[2]").config("spark.ui.enabled", False)
    # The batch is larger than Spark's default of 10,000, as the page advises.
    session = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", 1 << 16).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    if verb == "add up":
        stored = session.read.parquet(str(reports))
        return lambda: spark.aggregate(stored, collection)
    answers = session.range(0, rows, 1, FILES).selectExpr(f"concat('answer ', id % {K}) as item")
    return lambda: spark.randomize(answers, collection, str(folder / uuid.uuid4().hex))


def measure(rows: int, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return the times of all installed engines; each runs in a fresh process of this environment."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        make(Path(name), rows)
        for engine, verb, package in JOBS:
            job: dict[str, Any] = {"engine": engine, "verb": verb}
            if importlib.util.find_spec(package) is None:
                found.append(job)
                continue
            command = [sys.executable, "-m", "benchmarks.engines", "--work", name, engine, verb, "--rows", str(rows)]
            reply = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
            found.append(job | json.loads(reply.stdout.splitlines()[-1]))
            print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    when = datetime.now(UTC).isoformat(timespec="minutes")
    return {"machine": processor(), "when": when, "load": os.getloadavg()[0], "rows": rows, "jobs": found}


def table(found: dict[str, Any]) -> str:
    """Return the results of `measure` as a table in Markdown."""
    lines = [f"| {found['rows']:,} reports | | clock, s | processor, s |", "|---|---|---:|---:|"]
    for job in found["jobs"]:
        times = f"{job['clock_s']:.2f} | {job['cpu_s']:.2f}" if "clock_s" in job else "not installed |"
        lines.append(f"| {job['engine']} | {job['verb']} | {times} |")
    return "\n".join(lines)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.engines", description="Time engines on the same reports."
    )
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        print(json.dumps(work(Path(given.work[0]), given.work[1], given.work[2], given.rows)))
        return
    found = measure(given.rows)
    print(table(found))
    if given.output is not None:
        given.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

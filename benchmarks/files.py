"""Time the path from a file of answers to a result, against a copy by pyarrow: ``python -m benchmarks.files``.

The reports that are aggregated come from both files of answers, so there are twice as many rows. Each job is measured
in clock time, processor time and peak memory of a fresh process. Bytes per row are the growth of the peak memory from a
tenth of the rows to all rows. The results go to `docs/results/files.json`. `python -m benchmarks.capacity --page`
writes the pages that quote them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.report import processor

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "files.json"
SIZES = (2, 5, 8, 16, 16, 40)
MECHANISMS = ("SMP", "SPL", "SMP[ADP]")
KINDS = ("parquet", "csv")


def make(folder: Path, rows: int) -> None:
    """Write answers of six attributes as Parquet and CSV, and a collection per mechanism."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    import deniable

    rng, columns, attributes = np.random.default_rng(1), {}, []
    for j, k in enumerate(SIZES):
        labels = [f"answer {value}" for value in range(k)]
        codes = pa.array(rng.integers(0, k, rows).astype(np.int32))
        columns[f"q{j}"] = pa.DictionaryArray.from_arrays(codes, pa.array(labels)).cast(pa.string())
        attributes.append(deniable.Attribute(f"q{j}", tuple(labels)))
    table, schema = pa.table(columns), deniable.Schema(tuple(attributes))
    pq.write_table(table, folder / "answers.parquet")
    pacsv.write_csv(table, folder / "answers.csv")
    for name in MECHANISMS:
        mechanism = deniable.mechanism(name, sizes=SIZES, epsilon=1.0)
        deniable.Collection(schema, mechanism).save(folder / f"{name}.json")


def work(folder: Path, job: str, kind: str, mechanism: str) -> dict[str, float]:
    """Do one job in this process: once to compile and warm up, then three times; return the least times."""
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    import deniable
    from deniable.files import aggregate_files, randomize_file

    source, output = folder / f"answers.{kind}", folder / f"{job}-{kind}.out"
    reports = {kind: folder / f"{mechanism}-{kind}.parquet" for kind in KINDS}
    collection = deniable.Collection.load(folder / f"{mechanism}.json")

    def call() -> None:
        if job == "copy":
            if kind == "csv":
                pacsv.write_csv(pacsv.read_csv(source), output)
            else:
                pq.write_table(pq.read_table(source), output)
        elif job == "randomize":
            # Answers that the ledger knows are read twice, to say what was spent in total. This is not to be measured.
            (folder / "deniable" / "ledger.json").unlink(missing_ok=True)
            randomize_file(collection, source, reports[kind], deniable.SecureRandomness())
        else:
            aggregate_files(collection, list(reports.values()), output)

    call()
    taken = []
    for _ in range(3):
        clock, cpu = time.perf_counter(), time.process_time()
        call()
        taken.append((time.perf_counter() - clock, time.process_time() - cpu))
    return {"clock_s": min(t[0] for t in taken), "cpu_s": min(t[1] for t in taken), "peak_mib": peak_mib()}


def peak_mib() -> float:
    """Return the peak memory of this program in MiB.

    `getrusage` would return the peak memory of the parent process if that was larger.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def measure(rows: int, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return the times of all jobs, each in a fresh process of this environment."""
    fewer = _jobs(rows // 10, environment)
    found = _jobs(rows, environment)
    for job, small in zip(found, fewer, strict=True):
        job["bytes_per_row"] = (job["peak_mib"] - small["peak_mib"]) * 2**20 / (job["rows"] - small["rows"])
    when = datetime.now(UTC).isoformat(timespec="minutes")
    described = {"machine": processor(), "when": when, "load": os.getloadavg()[0]}
    return described | {"rows": rows, "attributes": len(SIZES), "jobs": found}


def _jobs(rows: int, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, rows)
        jobs = [("copy", kind, "SMP") for kind in KINDS]
        jobs += [("randomize", kind, mechanism) for mechanism in MECHANISMS for kind in KINDS]
        jobs += [("aggregate", "parquet", mechanism) for mechanism in MECHANISMS]
        for job, kind, mechanism in jobs:
            command = [sys.executable, "-m", "benchmarks.files", "--work", name, job, kind, mechanism]
            ledger = {**environment, "XDG_STATE_HOME": name}
            reply = subprocess.run(command, env=ledger, check=True, stdout=subprocess.PIPE, text=True)
            # The reports are those of both files of answers.
            size = rows * (len(KINDS) if job == "aggregate" else 1)
            found.append({"job": job, "kind": kind, "mechanism": mechanism, "rows": size, **json.loads(reply.stdout)})
            print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    return found


def table(found: dict[str, Any]) -> str:
    """Return the results of `measure` as a table in Markdown."""
    lines = [
        f"| rows x {found['attributes']} attributes | file | rows | clock, s | processor, s | peak, MiB | B a row |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for job in found["jobs"]:
        name = "pyarrow reads and writes it" if job["job"] == "copy" else f"{job['job']}, {job['mechanism']}"
        times = f"{job['rows']:,} | {job['clock_s']:.2f} | {job['cpu_s']:.2f}"
        lines.append(f"| {name} | {job['kind']} | {times} | {job['peak_mib']:.0f} | {round(job['bytes_per_row'])} |")
    return "\n".join(lines)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.files", description="Time the path from a file to a result."
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        folder, job, kind, mechanism = given.work
        print(json.dumps(work(Path(folder), job, kind, mechanism)))
        return
    given.output.write_text(json.dumps(measure(given.rows), indent=1) + "\n")


if __name__ == "__main__":
    main()

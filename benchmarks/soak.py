"""Run the command line many times; each run must end with its expected exit status and no other error.

``python -m benchmarks.soak [runs] [result.json]``, or ``make soak``. Most runs end in an error while the CSV parser is
still reading ahead. There, a thread of the parser once collided with the exit of the interpreter, in one of 20 to 150
runs.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from deniable import GRR
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema

RUNS = 300
LONG = 400_000
"""Number of rows that give the parser several blocks."""

CASES = {
    "empty.csv": 2,
    "header.csv": 2,
    "unknown.csv": 2,
    "ragged.csv": 2,
    "bytes.csv": 2,
    "cut.csv.gz": 2,
    "good.csv": 0,
}
"""Files of answers, and the expected exit status of randomising each file."""


def write_cases(directory: Path) -> None:
    """Write a collection and all files of answers."""
    survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=1.0))
    survey.save(directory / "survey.json")
    many = b"yes\n" * LONG
    (directory / "empty.csv").write_bytes(b"")
    (directory / "header.csv").write_bytes(b"smoker\n")
    (directory / "unknown.csv").write_bytes(b"smoker\nmaybe\n" + many)
    (directory / "ragged.csv").write_bytes(b"smoker\nyes,no\n" + many)
    (directory / "bytes.csv").write_bytes(b"smoker\n\xff\n" + many)
    (directory / "cut.csv.gz").write_bytes(gzip.compress(b"smoker\n" + many)[:-9])
    (directory / "good.csv").write_bytes(b"smoker\nyes\nno\n")


def soak(runs: int, directory: Path) -> dict[str, Any]:
    """Run the cases in turn; return how often each status occurred, and the output of unexpected runs."""
    write_cases(directory)
    seen: dict[str, Counter[int]] = {name: Counter() for name in CASES}
    unexpected = []
    environment = {**os.environ, "XDG_STATE_HOME": str(directory / "state")}
    started = time.monotonic()
    for run in range(runs):
        name = list(CASES)[run % len(CASES)]
        done = subprocess.run(
            [
                *(sys.executable, "-m", "deniable.cli", "randomize", "survey.json", name),
                *("-o", f"{run}.reports", "--allow-repeat"),
            ],
            cwd=directory, env=environment, capture_output=True, encoding="utf-8", errors="replace", timeout=300,
            check=False,
        )  # fmt: skip
        seen[name][done.returncode] += 1
        if done.returncode != CASES[name] or "terminate" in done.stderr:
            unexpected.append({"run": run, "file": name, "status": done.returncode, "said": done.stderr[-2000:]})
    counts = {name: {str(status): count for status, count in counter.items()} for name, counter in seen.items()}
    return {
        "runs": runs,
        "seconds": round(time.monotonic() - started, 1),
        "statuses": counts,
        "unexpected": unexpected,
    }


def main() -> int:
    """Run all cases, write the result, and return 1 if a run ended unexpectedly."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    output = Path(sys.argv[2] if len(sys.argv) > 2 else "results/soak.json")
    with tempfile.TemporaryDirectory() as directory:
        result = soak(runs, Path(directory))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"{runs} runs, {len(result['unexpected'])} of them unexpected: {output}")
    return 1 if result["unexpected"] else 0


if __name__ == "__main__":
    sys.exit(main())

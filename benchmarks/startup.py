"""Measure a fresh process: importing the library, compiling the loops, and making one report without a compiler."""

from __future__ import annotations

import functools
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.cases import Case
from benchmarks.measure import Spread, spread

IMPORT = "import time; start = time.process_time(); import {module}; print(time.process_time() - start)"

VERB = """
import sys
sys.argv = ["deniable", *{arguments!r}]
from deniable.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""

SMALL_FILE = """
import pathlib
from deniable import Attribute, Collection, GRR, Schema
pathlib.Path("answers.csv").write_text("smoker\\n" + "yes\\nno\\n" * 6)
Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(2, 1.0)).save("survey.json")
"""

STARTS = {
    "import deniable": "import deniable",
    "one GRR report": "from deniable import GRR, SecureRandomness\nGRR(4, 1.0).randomize([2], SecureRandomness())",
    "deniable --help": VERB.format(arguments=["--help"]),
    "randomize of a small file": VERB.format(
        arguments=["randomize", "survey.json", "answers.csv", "-o", "reports.parquet", "--allow-repeat", "--force"]
    ),
}
"""Programs that people start, each in its own process; they are compared with importing numpy."""

MOST = {"import deniable": 1.5, "one GRR report": 3.0, "deniable --help": 3.0, "randomize of a small file": 8.0}
"""Largest acceptable ratios to ``import numpy``."""

FIRST_CALL = """
import json, sys, time
import numpy as np
import deniable
name, sizes, budgets, rows = json.loads(sys.argv[1])
domain, package = sizes[0] if len(sizes) == 1 else tuple(sizes), deniable
if len(budgets) > 1:
    from deniable.research import baselines as package
mechanism = getattr(package, name.replace("-", ""))(domain, *budgets)
inputs = np.zeros((rows, len(sizes)), np.int64) if len(sizes) > 1 else np.zeros(rows, np.int64)
rng = deniable.SecureRandomness()
taken = []
for _ in range(2):
    start = time.process_time()
    reports = mechanism.randomize(inputs, rng)
    middle = time.process_time()
    if rows > 1:
        mechanism.estimate(mechanism.aggregate(reports))
    taken.append((middle - start, time.process_time() - middle))
print(json.dumps({"first": taken[0], "second": taken[1], "numba": "numba" in sys.modules}))
"""
COMPILED_ROWS = 10_000


@dataclass(frozen=True)
class FirstCall:
    """Processor seconds of a mechanism's first call in a fresh process.

    Parameters
    ----------
    cold, warm : (float, float)
        `randomize` and `aggregate` of ten thousand reports with an empty and with a filled compilation cache.
    single : float
        `randomize` of one report, interpreted.
    single_again : float
        `randomize` of a second report, interpreted.
    """

    name: str
    cold: tuple[float, float]
    warm: tuple[float, float]
    single: float
    single_again: float


def _run(code: str, argument: str = "", environment: Mapping[str, str] | None = None) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code, argument],
        env=os.environ | (environment or {}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return result.stdout


def import_times(modules: Sequence[str] = ("numpy", "numba", "deniable"), repeats: int = 5) -> dict[str, Spread]:
    """Return processor seconds to import each module in a fresh process."""
    return {name: spread([float(_run(IMPORT.format(module=name))) for _ in range(repeats)]) for name in modules}


def start_ratios(repeats: int = 5) -> dict[str, float]:
    """Return for each start its processor time over that of importing numpy, as the least of several.

    The starts take turns. Both times include the bare interpreter.
    """
    taken: dict[str, list[float]] = {name: [] for name in ("import numpy", *STARTS)}
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"XDG_STATE_HOME": folder}
        run = functools.partial(subprocess.run, cwd=folder, env=environment, capture_output=True, check=True)
        run([sys.executable, "-c", SMALL_FILE])
        for _ in range(repeats):
            for name in taken:
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                run([sys.executable, "-c", STARTS.get(name, name)])
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                taken[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    least = {name: min(times) for name, times in taken.items()}
    return {name: least[name] / least["import numpy"] for name in STARTS}


def first_call(case: Case) -> FirstCall:
    """Return the latency of the first calls of a mechanism."""

    def fresh(rows: int, cache: str) -> dict[str, Any]:
        argument = json.dumps([case.name, case.sizes, case.budgets, rows])
        reply: dict[str, Any] = json.loads(_run(FIRST_CALL, argument, {"NUMBA_CACHE_DIR": cache}))
        return reply

    with tempfile.TemporaryDirectory() as cache:
        cold = fresh(COMPILED_ROWS, cache)
        warm = fresh(COMPILED_ROWS, cache)
    with tempfile.TemporaryDirectory() as cache:
        single = fresh(1, cache)
    return FirstCall(case.name, tuple(cold["first"]), tuple(warm["first"]), single["first"][0], single["second"][0])


if __name__ == "__main__":
    for start, ratio in start_ratios(repeats=9).items():
        print(f"{start:<28}{ratio:6.2f}  (at most {MOST[start]})")

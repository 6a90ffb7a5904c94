"""Compare the speed with another revision's: ``python -m benchmarks.compare REV``, or ``make bench-compare REV=...``.

Both revisions run the rows of this file, each in its own process. They take turns row by row, so that other work of the
machine slows both alike. Processor time is compared. Speed is *kept* if two conditions are met for the medians of the
rounds: no row takes more than 1/.90 of its earlier time, and the geometric mean over all rows is at most 1/.98. A row
that is slower than that is run once more. A row is left out and named if the other revision lacks its mechanism or
parameters.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from benchmarks.measure import time_calls

ROOT = Path(__file__).parents[1]
LEAST_ROW, LEAST_MEAN = 0.90, 0.98
"""Smallest acceptable speed, as a share of the earlier speed: for one row, and for the geometric mean."""


@dataclass(frozen=True)
class Row:
    """One mechanism; its reports are made and summed.

    Parameters
    ----------
    name : str
        Name for `deniable.mechanism`.
    parameters : mapping
        Its parameters without epsilon.
    n : int
        Reports of one call.
    epsilon : float or None
        The budget; None if it is among the parameters.
    """

    name: str
    parameters: Mapping[str, Any]
    n: int
    epsilon: float | None = 1.0

    @property
    def given(self) -> dict[str, Any]:
        """All parameters of the mechanism."""
        return {**self.parameters} | ({} if self.epsilon is None else {"epsilon": self.epsilon})

    def __str__(self) -> str:
        given = {key: value for key, value in self.given.items() if key != "copy_probabilities"}
        if "sizes" in given:
            given["sizes"] = f"{len(given['sizes'])} x {given['sizes'][0]}"
        shown = (f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in given.items())
        return f"{self.name}({', '.join(shown)})"


def copies(d: int) -> tuple[tuple[float, ...], ...]:
    """Return probabilities from .3 to .7 with which each of d attributes copies each other one."""
    return tuple(tuple(1.0 if i == j else 0.3 + 0.1 * ((7 * i + j) % 5) for j in range(d)) for i in range(d))


FIVE, FIFTY = (16,) * 5, (16,) * 50
ROWS = (
    Row("GRR", {"k": 16}, 1_000_000),
    Row("SUE", {"k": 128}, 100_000),
    Row("OUE", {"k": 128}, 100_000),
    Row("THE", {"k": 128}, 100_000),
    Row("SubsetSelection", {"k": 128}, 100_000),
    Row("SubsetSelection", {"k": 256}, 100_000),
    Row("SubsetSelection", {"k": 1024}, 100_000, 4.0),
    Row("SquareWave", {"k": 256}, 1_000_000),
    Row("HE", {"k": 1024}, 1_000_000),
    Row("PGR", {"k": 1024}, 100_000),
    Row("OLH", {"k": 1024}, 20_000),
    Row("OCMS", {"k": 1 << 17}, 200_000),
    Row("SPL", {"sizes": FIVE}, 200_000),
    Row("SPL", {"sizes": FIVE, "oracle": "OUE"}, 100_000),
    Row("SMP", {"sizes": FIVE}, 1_000_000),
    Row("SMP[ADP]", {"sizes": FIVE}, 1_000_000),
    Row("SMP[ADP]", {"sizes": FIFTY}, 200_000),
    Row("RS+FD", {"sizes": FIVE}, 200_000),
    Row("PivotCoded", {"sizes": FIVE}, 200_000),
)
"""One or two rows for each kind of mechanism; docs/capacity.md gives the cost of each."""

COMPARED = (
    *ROWS,
    Row("RAPPOR", {"k": 128, "f": 0.5, "p": 0.5, "q": 0.75}, 100_000, None),
    Row("CMS", {"k": 1 << 17, "m": 4, "family": "partition"}, 200_000),
    Row("CMS", {"k": 1 << 17, "m": 4, "family": "linear"}, 200_000),
    Row("Corr-RR", {"sizes": FIVE, "copy_probabilities": copies(5)}, 200_000),
    Row("Corr-RR", {"sizes": FIFTY, "copy_probabilities": copies(50)}, 40_000),
)
"""Rows that are compared with another revision."""

VERBS = ("randomize", "aggregate")


def answers_of(row: Row) -> Any:
    """Return the answers of n contributors, all codes in turn: int64[n] or int64[n, d]."""
    import numpy as np

    people = np.arange(row.n)
    if "k" in row.parameters:
        return people % row.parameters["k"]
    return np.stack([people * (j + 1) % size for j, size in enumerate(row.parameters["sizes"])], axis=1)


# ------------------------------------------------------------------------------------ one revision, in its own process


def work(seconds: float) -> None:
    """Read row numbers from standard input until it ends; answer each with the nanoseconds per report of each verb."""
    import deniable

    made: dict[int, tuple[Any, Any, Any]] = {}
    rng = deniable.SimulationRandomness(1)
    for line in sys.stdin:
        number = int(line)
        row = COMPARED[number]
        if number not in made:
            try:
                mechanism: Any = deniable.mechanism(row.name, **row.given)
            except deniable.errors.DeniableError as error:
                print(json.dumps(str(error)), flush=True)
                continue
            answers = answers_of(row)
            reports = mechanism.randomize(answers, rng)
            mechanism.aggregate(reports)  # this compiles and is not counted
            made = {number: (mechanism, answers, reports)}
        mechanism, answers, reports = made[number]
        calls = {
            "randomize": lambda m=mechanism, a=answers: m.randomize(a, rng),
            "aggregate": lambda m=mechanism, r=reports: m.aggregate(r),
        }
        print(json.dumps({verb: time_calls(calls[verb], row.n, seconds).nanoseconds for verb in VERBS}), flush=True)


@contextmanager
def worker(tree: Path, seconds: float) -> Iterator[subprocess.Popen[str]]:
    """Run the rows of this file with the library of another tree."""
    environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{ROOT}", "NUMBA_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.compare", "--work", str(seconds)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
    ) as process:
        yield process


def ask(process: subprocess.Popen[str], number: int) -> dict[str, float] | str:
    """Return nanoseconds per report for each verb of a row, or the reason why the row cannot be run."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{number}\n")
    process.stdin.flush()
    found: dict[str, float] | str = json.loads(process.stdout.readline())
    return found


# ------------------------------------------------------------------------------------------------------ both, in turns


def speeds(before: subprocess.Popen[str], now: subprocess.Popen[str], number: int, rounds: int) -> dict[str, Any] | str:
    """Return for each verb the median nanoseconds before and now, and the median of the ratios of the rounds."""
    taken: list[tuple[dict[str, float], dict[str, float]]] = []
    for turn in range(rounds):
        pair = {which: ask(process, number) for which, process in _in_turn(before, now, turn)}
        for answer in pair.values():
            if isinstance(answer, str):
                return answer
        taken.append((pair["before"], pair["now"]))  # type: ignore[arg-type]
    return {
        verb: {
            "before": median(old[verb] for old, _ in taken),
            "now": median(new[verb] for _, new in taken),
            "speed": median(old[verb] / new[verb] for old, new in taken),
        }
        for verb in VERBS
    }


def _in_turn(before: Any, now: Any, turn: int) -> tuple[tuple[str, Any], ...]:
    both = (("before", before), ("now", now))
    return both if turn % 2 == 0 else both[::-1]


def compare(old: Path, new: Path, rounds: int, seconds: float, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the change in speed of each row, and whether the speed was kept.

    Parameters
    ----------
    old, new : Path
        Trees with a ``src`` folder.
    rounds : int
        Turns of each row.
    seconds : float
        Processor time of one turn of a verb.
    names : tuple of str
        Mechanisms to compare; all by default.
    """
    rows: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    with worker(old, seconds) as before, worker(new, seconds) as now:
        for number, row in enumerate(COMPARED):
            if names and row.name not in names:
                continue
            found = speeds(before, now, number, rounds)
            if not isinstance(found, str) and min(one["speed"] for one in found.values()) < LEAST_ROW:
                found = speeds(before, now, number, rounds)
            if isinstance(found, str):
                left_out[str(row)] = found
                continue
            for verb, one in found.items():
                rows.append({"row": str(row), "verb": verb, **one})
                print(f"{row} {verb}: {one['before']:.1f} -> {one['now']:.1f} ns, {one['speed']:.2f}", flush=True)
    mean, kept = verdict([one["speed"] for one in rows])
    return {"rows": rows, "left out": left_out, "geometric mean": mean, "kept": kept}


def verdict(found: Sequence[float]) -> tuple[float | None, bool]:
    """Return the geometric mean of all speeds, and whether the speed was kept: not if no row was compared."""
    if not found:
        return None, False
    mean = geometric_mean(found)
    return mean, mean >= LEAST_MEAN and min(found) >= LEAST_ROW


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare", description="Compare the speed with another revision's."
    )
    parser.add_argument("revision", nargs="?", help="tag, branch or commit to compare the working tree with")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="processor seconds of one turn of a verb")
    parser.add_argument(
        "--mechanism", action="append", default=[], help="mechanism to compare; repeatable; default: all"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "compare.json")
    parser.add_argument("--work", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work)
        return 0
    if not given.revision:
        parser.error("REV is needed: make bench-compare REV=<commit>")
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "before"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, given.revision], cwd=ROOT, check=True)
        try:
            result = compare(tree, ROOT, given.rounds, given.seconds, tuple(given.mechanism))
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps({"revision": given.revision, **result}, indent=1) + "\n")
    mean = result["geometric mean"]
    print(f"{'kept' if result['kept'] else 'NOT KEPT'}: geometric mean {mean:.3f}" if mean else "no row was compared")
    for row, why in result["left out"].items():
        print(f"left out: {row}: {why}")
    return 0 if result["kept"] else 1


if __name__ == "__main__":
    raise SystemExit(main())

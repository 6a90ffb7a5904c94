"""Count the modules and upward calls on a command's call path: ``python -m benchmarks.call_paths [NAME ...]``.

A *call path* is the list of modules in which the command runs a function. An *upward call* goes from a package in a
lower layer to a package in a higher layer. The layers are those of pyproject.toml. Both are counted in the second of
two runs in one process, so that imports do not count.

Each limit is today's count plus a tenth, so that a failure means that the code has changed. The page
docs/architecture.md says which call paths should become shorter.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]

LIMITS = {"leakage": (48, 5), "answer to threshold": (6, 0), "report to interval": (14, 5)}
"""Largest number of modules on a call path, and of pairs of modules with upward calls."""


@dataclass(frozen=True)
class CallPath:
    """Call path of one command.

    Attributes
    ----------
    name : str
        The command.
    modules : list of str
        Modules in the order of their first frame.
    upward_calls : dict of str to int
        Pair of modules, "lower -> higher" -> number of calls.
    most_modules, most_upward : int
        The limits. Upward calls are counted as pairs of modules.
    """

    name: str
    modules: list[str]
    upward_calls: dict[str, int]
    most_modules: int
    most_upward: int

    @property
    def kept(self) -> bool:
        """Whether the call path is within its limits."""
        return len(self.modules) <= self.most_modules and len(self.upward_calls) <= self.most_upward


def heights(pyproject: Path = ROOT / "pyproject.toml") -> dict[str, int]:
    """Return the height of each package or module below `deniable`; the lowest layer has height 0."""
    contracts = tomllib.loads(pyproject.read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract.get("containers") == ["deniable"])
    return {
        part.strip(): height
        for height, layer in enumerate(reversed(layers))
        for part in layer.replace(":", "|").split("|")
    }


def called(command: Callable[[], object], layers: dict[str, int]) -> tuple[list[str], dict[str, int]]:
    """Return the modules on a command's call path and its upward calls, from the second of two runs."""
    command()
    modules: dict[str, None] = {}
    upward: Counter[str] = Counter()

    def height(module: str) -> int | None:
        return layers.get(module.split(".")[1]) if "." in module else None

    def enter(frame: FrameType, event: str, argument: Any) -> None:  # noqa: ARG001
        name = frame.f_globals.get("__name__", "")
        if event != "call" or not name.startswith("deniable."):
            return
        modules[name] = None
        caller = frame.f_back
        # A call through a library (a decorator, a context manager) counts as a call from the nearest frame of ours.
        while caller is not None and not caller.f_globals.get("__name__", "").startswith("deniable."):
            caller = caller.f_back
        if caller is not None:
            below, above = height(caller.f_globals["__name__"]), height(name)
            if below is not None and above is not None and below < above:
                upward[f"{caller.f_globals['__name__']} -> {name}"] += 1

    threading.setprofile(enter)
    sys.setprofile(enter)
    try:
        command()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(modules), dict(upward)


def commands(directory: Path) -> dict[str, Callable[[], object]]:
    """Return the commands to measure; each runs in its own directory and can be repeated."""
    import contextlib
    import io

    import numpy as np

    from deniable import GRR, SimulationRandomness
    from deniable.cli import main

    survey, answers = directory / "survey.json", directory / "answers.csv"
    schema = directory / "schema.json"
    rng = np.random.default_rng(1)
    rows = "\n".join(
        f"{'yn'[a]},{'abc'[b]}" for a, b in zip(rng.integers(2, size=500), rng.integers(3, size=500), strict=True)
    )
    answers.write_text(f"smoker,city\n{rows}\n")

    def deniable_command(*arguments: object) -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            argv, sys.argv = sys.argv, ["deniable", *map(str, arguments)]
            try:
                main()
            except SystemExit as end:
                if end.code:
                    raise RuntimeError(f"deniable {' '.join(map(str, arguments))} ended with {end.code}") from end
            finally:
                sys.argv = argv

    deniable_command("schema", answers, "-o", schema)
    deniable_command("collection", "--schema", schema, "--mechanism", "SPL", "--epsilon", "1", "-o", survey)
    grr, source = GRR(k=4, epsilon=1.0), SimulationRandomness(1)
    reports = grr.randomize(np.arange(4), source)
    return {
        "leakage": lambda: deniable_command("leakage", answers, "--collection", survey),
        "answer to threshold": lambda: grr.randomize(np.array([3]), source),
        "report to interval": lambda: grr.estimate(grr.aggregate(reports)).interval(0.95),
    }


def main() -> None:
    """Count the call paths and write them as JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.call_paths", description="Count the modules and upward calls on call paths."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(LIMITS)}; default: all")
    parser.add_argument("-o", "--output", type=Path, default=Path("results/call_paths.json"))
    options = parser.parse_args()
    unknown = set(options.names) - set(LIMITS)
    if unknown:
        parser.error(f"NAME must be one of {', '.join(LIMITS)}, got {', '.join(sorted(unknown))}")
    layers = heights()
    with tempfile.TemporaryDirectory() as directory:
        found = [
            CallPath(name, *called(command, layers), *LIMITS[name])
            for name, command in commands(Path(directory)).items()
            if name in options.names or not options.names
        ]
    for path in found:
        counts = f"{len(path.modules)} modules (at most {path.most_modules})"
        print(f"{path.name}: {counts}, {len(path.upward_calls)} upward calls (at most {path.most_upward})")
        for line in (*path.modules, *(f"upward {pair}: {calls} calls" for pair, calls in path.upward_calls.items())):
            print(f"    {line}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps([asdict(path) | {"kept": path.kept} for path in found], indent=1) + "\n")
    sys.exit(not all(path.kept for path in found))


if __name__ == "__main__":
    main()

"""How many rooms a command walks through, and how often it climbs: ``python -m benchmarks.ways [NAME ...]``.

A *room* is a module entered by a frame of `deniable`; a *climb* a call from a lower layer to a higher one, as the
layers of pyproject.toml have them. Both are counted in the second of two runs in one process: imports do not count.
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

LIMITS = {"leakage": (18, 3), "answer to threshold": (10, None), "report to interval": (10, None)}
"""Most rooms and climbs of a way."""


@dataclass(frozen=True)
class Way:
    """What one command walked through.

    Attributes
    ----------
    name : str
        The command.
    rooms : list of str
        Modules in the order of their first frame.
    climbs : dict of str to int
        "lower -> higher" modules and how many calls went that way.
    most_rooms, most_climbs : int or None
        The limits, where there are any; climbs are counted as pairs of modules.
    """

    name: str
    rooms: list[str]
    climbs: dict[str, int]
    most_rooms: int | None = None
    most_climbs: int | None = None

    @property
    def kept(self) -> bool:
        """Whether the limits hold."""
        rooms = self.most_rooms is None or len(self.rooms) <= self.most_rooms
        return rooms and (self.most_climbs is None or len(self.climbs) <= self.most_climbs)


def heights(pyproject: Path = ROOT / "pyproject.toml") -> dict[str, int]:
    """Return the height of every package or module below `deniable`, the lowest layer 0."""
    contracts = tomllib.loads(pyproject.read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract.get("containers") == ["deniable"])
    return {
        part.strip(): height
        for height, layer in enumerate(reversed(layers))
        for part in layer.replace(":", "|").split("|")
    }


def walked(command: Callable[[], object], layers: dict[str, int]) -> tuple[list[str], dict[str, int]]:
    """Return the rooms of a command and its climbs, in the second of two runs."""
    command()
    rooms: dict[str, None] = {}
    climbs: Counter[str] = Counter()

    def height(module: str) -> int | None:
        return layers.get(module.split(".")[1]) if "." in module else None

    def enter(frame: FrameType, event: str, argument: Any) -> None:  # noqa: ARG001
        name = frame.f_globals.get("__name__", "")
        if event != "call" or not name.startswith("deniable."):
            return
        rooms[name] = None
        caller = frame.f_back
        # A call through a library (a decorator, a context manager) is its nearest frame of ours.
        while caller is not None and not caller.f_globals.get("__name__", "").startswith("deniable."):
            caller = caller.f_back
        if caller is not None:
            below, above = height(caller.f_globals["__name__"]), height(name)
            if below is not None and above is not None and below < above:
                climbs[f"{caller.f_globals['__name__']} -> {name}"] += 1

    threading.setprofile(enter)
    sys.setprofile(enter)
    try:
        command()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(rooms), dict(climbs)


def commands(directory: Path) -> dict[str, Callable[[], object]]:
    """Return the ways that are looked at, each repeatable in a directory of its own."""
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
    """Count the ways and write them as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ways", description="Rooms and climbs of a command.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(LIMITS)}; all by default")
    parser.add_argument("-o", "--output", type=Path, default=Path("results/ways.json"))
    options = parser.parse_args()
    unknown = set(options.names) - set(LIMITS)
    if unknown:
        parser.error(f"NAME must be one of {', '.join(LIMITS)}, got {', '.join(sorted(unknown))}")
    layers = heights()
    with tempfile.TemporaryDirectory() as directory:
        found = [
            Way(name, *walked(command, layers), *LIMITS[name])
            for name, command in commands(Path(directory)).items()
            if name in options.names or not options.names
        ]
    for way in found:
        limit = "" if way.most_rooms is None else f" (at most {way.most_rooms})"
        most = "" if way.most_climbs is None else f" (at most {way.most_climbs})"
        print(f"{way.name}: {len(way.rooms)} rooms{limit}, {len(way.climbs)} climbs{most}")
        for line in (*way.rooms, *(f"climb {climb}: {calls} calls" for climb, calls in way.climbs.items())):
            print(f"    {line}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps([asdict(way) | {"kept": way.kept} for way in found], indent=1) + "\n")
    sys.exit(not all(way.kept for way in found))


if __name__ == "__main__":
    main()

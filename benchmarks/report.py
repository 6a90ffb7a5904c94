"""Tables for the terminal and in Markdown, a CSV and a JSON file, and the picture."""

from __future__ import annotations

import csv
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Spread
from benchmarks.run import Comparison, Settings
from benchmarks.startup import COMPILED_ROWS, FirstCall

COLUMNS = ("mechanism", "verb", "peer", "peer ns", "our ns", "limit", "share", "ratio", "range", "goal")

NOTES = (
    "ns: processor time per report, median of the rounds. ratio = peer/ours, median of the rounds' own ratios, with"
    " the smallest and largest.",
    "limit: nanoseconds for drawing the same number of random bits and nothing else (randomize), or reading the"
    " reports once (aggregate); share = limit/ours.",
    "aggregate includes the estimate on both sides; multi-freq-ldpy also clips and renormalises it.",
    "The peers draw from a Mersenne Twister and decide by floats; ours draws a ChaCha20 keystream and decides by"
    " 64-bit integers.",
    "RSFD: the peer spends the amplified epsilon ln(d(e^epsilon - 1) + 1) on the sampled attribute, ours epsilon."
    " The same work, but not the same privacy.",
    "OCMS: tally is per report, decode per value of the dictionary; the peers decode as many values as they manage.",
)


def significant(value: float, digits: int = 3) -> str:
    """Return a number with `digits` significant digits and without an exponent."""
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".rsplit("e", 1)[1])
    decimals = digits - 1 - exponent
    return f"{round(value, decimals):.{max(decimals, 0)}f}"


def range_text(ratio: Spread) -> str:
    """Return the smallest and largest ratio."""
    return f"{significant(ratio.least)}-{significant(ratio.most)}"


def row(comparison: Comparison) -> tuple[str, ...]:
    """Return one comparison as text, in the order of COLUMNS."""
    ours = comparison.nanoseconds(comparison.ours)
    limit = comparison.nanoseconds(comparison.limits)
    goal = "" if comparison.goal is None else f">={comparison.goal:g} {'yes' if comparison.reached else 'NO'}"
    return (
        comparison.case.name,
        comparison.verb,
        comparison.peer,
        significant(comparison.nanoseconds(comparison.theirs)),
        significant(ours),
        significant(limit, 2),
        f"{limit / ours:.0%}",
        significant(comparison.ratio.median),
        range_text(comparison.ratio),
        goal,
    )


def print_comparisons(comparisons: Sequence[Comparison], console: Console) -> None:
    """Print the table, at most 80 columns wide."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for column in COLUMNS[1:]:
        left = column in ("verb", "peer", "goal")
        table.add_column(column, justify="left" if left else "right", no_wrap=True)
    for number, comparison in enumerate(comparisons):
        if number == 0 or comparisons[number - 1].case != comparison.case:
            table.add_row(f"{comparison.case.name} {comparison.case.domain}", style="bold cyan")
        table.add_row(*row(comparison)[1:], style="red" if comparison.reached is False else "")
    console.print(table)
    for note in NOTES:
        console.print(f"- {note}", style="dim", highlight=False)
    threads = [timing.parallelism for one in comparisons for timing in (*one.ours, *one.theirs)]
    console.print(
        f"- processor time over clock time: {min(threads):.2f} to {max(threads):.2f} (below 1: the machine was busy "
        "with something else; clearly above 1: several threads).",
        style="dim",
        highlight=False,
    )


def print_startup(imports: Mapping[str, Spread], calls: Sequence[FirstCall], console: Console) -> None:
    """Print the start-up costs of a fresh process."""
    console.print("\n[bold]Import, processor seconds in a fresh process[/bold] (median; least and most)")
    for name, seconds in imports.items():
        console.print(
            f"  import {name:<10} {seconds.median:.2f} ({seconds.least:.2f}-{seconds.most:.2f})", highlight=False
        )
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in (
        "first call, ms",
        "cold randomize",
        "cold aggregate",
        "warm randomize",
        "warm aggregate",
        "one report",
    ):
        table.add_column(column, justify="left" if column.startswith("first") else "right")
    for call in calls:
        table.add_row(*startup_row(call))
    console.print(table)
    console.print(
        f"- first call of {COMPILED_ROWS} reports in a fresh process; cold: empty compilation cache, warm: filled. "
        "randomize comes first and so pays the import of numba. one report: interpreted, without numba.",
        style="dim",
        highlight=False,
    )


def startup_row(call: FirstCall) -> tuple[str, ...]:
    """Return the latencies of one mechanism in milliseconds, as text."""
    seconds = (*call.cold, *call.warm, call.single)
    return (call.name, *(significant(1000 * value, 2) for value in seconds))


def environment(peers: Mapping[str, str], settings: Settings) -> dict[str, Any]:
    """Return machine and versions as text."""
    ours = {name: version(name) for name in ("deniable", "numpy", "numba", "cryptography")}
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": processor(),
        "load": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.machine()}",
        "ours": {"python": platform.python_version()} | ours,
        "peers": dict(peers),
        "settings": asdict(settings),
    }


def processor() -> str:
    """Return the name of the processor, as far as the system gives it."""
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return platform.processor()
    pairs = [line.partition(":") for line in cpuinfo.read_text().split("\n\n")[0].splitlines()]
    facts = {name.strip(): value.strip() for name, _, value in pairs}
    named = facts.get("model name") or platform.processor()
    return f"{named}, family {facts.get('cpu family')} model {facts.get('model')}, {os.cpu_count()} cores"


def write_files(comparisons: Sequence[Comparison], described: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write latest.csv (one row per comparison), latest.json (all rounds) and latest.md; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"latest.{ending}" for ending in ("csv", "json", "md")]
    header = (*COLUMNS, "bound", "words", "peer reports per round", "our error", "peer error", "peer form", "peer call")
    with paths[0].open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for one in comparisons:
            writer.writerow(
                (
                    *row(one),
                    one.bound.median,
                    one.words,
                    one.theirs[0].reports,
                    *one.errors,
                    one.form,
                    one.called,
                )
            )
    rounds = [asdict(one) | {"ratio": asdict(one.ratio), "bound": asdict(one.bound)} for one in comparisons]
    paths[1].write_text(json.dumps({"environment": described, "comparisons": rounds}, indent=1), encoding="utf-8")
    paths[2].write_text(markdown(comparisons), encoding="utf-8")
    return paths


def markdown(comparisons: Sequence[Comparison]) -> str:
    """Return the table in Markdown."""
    return lines_of([(f"{one.case.name} {one.case.domain}", *row(one)[1:]) for one in comparisons]) + "\n"


def lines_of(rows: Sequence[Sequence[str]]) -> str:
    """Return rows in the order of COLUMNS as a table in Markdown."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * 3 + "---:|" * 6 + "---|"]
    return "\n".join([*lines, *("| " + " | ".join(cells) + " |" for cells in rows)])


def server_times(comparisons: Sequence[Comparison], n: int = 1_000_000) -> list[str]:
    """Return one line per peer whose collector was measured in parts: n reports tallied, all values decoded."""
    lines = []
    for tally in (one for one in comparisons if one.verb == "tally"):
        decode = next(
            one for one in comparisons if (one.case, one.peer, one.verb) == (tally.case, tally.peer, "decode")
        )
        k = tally.case.sizes[0]
        theirs, ours = (
            (n * tally.nanoseconds(a) + k * decode.nanoseconds(b)) / 1e9
            for a, b in ((tally.theirs, decode.theirs), (tally.ours, decode.ours))
        )
        lines.append(
            f"{tally.case.name} {tally.case.domain}, {n:,} reports and all values decoded: {tally.peer} "
            f"{significant(theirs)} s, ours {significant(1000 * ours)} ms, ratio {significant(theirs / ours)}"
        )
    return lines


def write_dictionaries(text: str, folder: Path) -> Path:
    """Write dictionaries.md and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "dictionaries.md"
    path.write_text(text + "\n", encoding="utf-8")
    return path

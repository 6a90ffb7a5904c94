"""Run the benchmarks, print their results and write benchmarks/results/latest.{csv,json,md,png}."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

DICTIONARIES = "DICTIONARIES"
"""Case without a peer, compared with plain numpy: the Spread sketch, and the rates of the prime family."""

FILES, ENGINES = "FILES", "ENGINES"
"""Cases for files (from answers to a result, compared with a copy by pyarrow) and for engines that sum reports."""

PATHS = "PATHS"
"""Case without a peer: all paths that have a goal in time or memory."""

FURTHER = (PATHS, DICTIONARIES, FILES, ENGINES)

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "benchmarks.json"
"""Results from which the tables of `docs/benchmarks.md` are written."""

SINGLE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    from benchmarks.cases import CASES
    from benchmarks.peers import DEFAULT_ENVIRONMENT

    names = [*(case.name for case in CASES), *FURTHER]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Compare this library with its peers in one run."
    )
    parser.add_argument(
        "--cases",
        nargs="+",
        type=lambda given: next((name for name in names if name.lower() == given.lower()), given),
        choices=names,
        default=names,
        metavar="CASE",
        help=f"cases to run: {', '.join(names)}; default: all",
    )
    parser.add_argument(
        "--quick", action="store_true", help="rough measurement: 100,000 contributors, two short rounds"
    )
    parser.add_argument(
        "--secure", action="store_true", help="draw our random numbers from the operating system's CSPRNG"
    )
    parser.add_argument("--rounds", type=int, metavar="R", help="number of rounds; default: 5, with --quick 2")
    parser.add_argument(
        "--large",
        type=int,
        metavar="N",
        help=f"with {DICTIONARIES}: also simulate N contributors, for example 100000000",
    )
    parser.add_argument(
        "--rows", type=int, metavar="N", help=f"rows of {FILES} (default: 2000000) and {ENGINES} (20000000)"
    )
    parser.add_argument(
        "--page", action="store_true", help=f"also write {RESULTS.name} and the tables of docs/benchmarks.md"
    )
    parser.add_argument("--no-startup", action="store_true", help="skip import time and first calls")
    parser.add_argument(
        "--peers", type=Path, default=DEFAULT_ENVIRONMENT, metavar="VENV", help="virtual environment of the peers"
    )
    parser.add_argument(
        "--results", type=Path, default=Path(__file__).parent / "results", metavar="DIR", help="folder for the results"
    )
    options = parser.parse_args()
    if not (options.peers / "bin" / "python").exists():
        parser.error(f"there are no peers in {options.peers}; `make bench` installs them")
    return options


def main() -> None:
    """Run the chosen cases."""
    several = dict(os.environ)
    os.environ.update(SINGLE_THREAD)  # this must come before numpy and numba are imported, here and in every child
    options = arguments()

    from rich.console import Console

    from benchmarks import engines, files, latency, paths, quoted
    from benchmarks.cases import case_named
    from benchmarks.peers import PeerProcess
    from benchmarks.picture import draw_ratios
    from benchmarks.report import (
        environment,
        print_comparisons,
        print_startup,
        server_times,
        write_dictionaries,
        write_files,
    )
    from benchmarks.run import QUICK, Comparison, Settings, run_case
    from benchmarks.startup import first_call, import_times

    settings = replace(QUICK if options.quick else Settings(), secure=options.secure)
    if options.rounds:
        settings = replace(settings, rounds=options.rounds)
    cases = [case_named(name) for name in options.cases if name not in FURTHER]
    console = Console()
    if not console.is_terminal:
        console = Console(width=100)
    progress = Console(stderr=True, style="dim")
    comparisons: list[Comparison] = []
    with PeerProcess(options.peers) as peers:
        described = environment(peers.versions(), settings)
        for case in cases:
            comparisons += run_case(case, settings, peers, progress.print)
    console.print(described, highlight=False)
    written: list[Path] = []
    sections: dict[str, Any] = {}
    if comparisons:
        print_comparisons(comparisons, console)
        for line in server_times(comparisons):
            console.print(line, highlight=False, soft_wrap=True)
        found = latency.document(latency.latencies(comparisons, settings.rounds, settings.seconds / 2))
        sections["comparisons"] = quoted.compared(comparisons, described)
        sections["latency"] = {**described, "cases": found}
        if not options.no_startup:
            print_startup(import_times(), [first_call(case) for case in cases], console)
        written = write_files(comparisons, described, options.results)
        written.append(options.results / "latest.png")
        draw_ratios(comparisons, written[-1])
    if PATHS in options.cases:
        sections["paths"] = paths.measure(settings.rounds, settings.seconds / 3, note=progress.print)
    # From here on, both cores may be used.
    if FILES in options.cases:
        sections["files"] = files.measure(options.rows or 2_000_000, several)
    if ENGINES in options.cases:
        sections["engines"] = engines.measure(options.rows or engines.ROWS, several)
    for name, table in quoted.tables(sections).items():
        if name != "comparisons":
            console.print(f"\n{table}", highlight=False, soft_wrap=True, markup=False)
    if DICTIONARIES in options.cases:
        from benchmarks.dictionaries import large, tables

        text = tables(settings.rounds, progress.print)
        text += f"\n\n{large(options.large)}" if options.large else ""
        console.print(text, highlight=False, soft_wrap=True, markup=False)
        written.append(write_dictionaries(text, options.results))
    if options.page:
        quoted.write(sections, RESULTS)
        written += [RESULTS, quoted.PAGE]
    console.print("\nwritten: " + ", ".join(str(path) for path in written), soft_wrap=True, highlight=False)


if __name__ == "__main__":
    main()

"""Results that `docs/benchmarks.md` quotes: one JSON file; each section has its machine, date and load."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import engines, files, latency, paths
from benchmarks.pages import with_tables
from benchmarks.report import COLUMNS, lines_of, row
from benchmarks.run import Comparison

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def compared(comparisons: Sequence[Comparison], described: Mapping[str, Any]) -> dict[str, Any]:
    """Return comparisons as a section, with their rows as printed."""
    rows = [(f"{one.case.name} {one.case.domain}", *row(one)[1:]) for one in comparisons]
    return {**described, "columns": COLUMNS, "rows": rows}


def tables(sections: Mapping[str, Any]) -> dict[str, str]:
    """Return the tables of all measured sections, by name."""
    made = {
        "comparisons": lambda found: lines_of(found["rows"]),
        "latency": lambda found: latency.table(found["cases"]),
        "paths": paths.table,
        "files": files.table,
        "engines": engines.table,
    }
    return {name: f"{_measured(found)}\n\n{made[name](found)}" for name, found in sections.items()}


def _measured(found: Mapping[str, Any]) -> str:
    """Return a sentence about when and where a section was measured."""
    return f"*Measured {found['when'][:10]}: {found['machine']}; load average {found['load']:.0f}.*"


def write(sections: Mapping[str, Any], results: Path, page: Path = PAGE) -> None:
    """Replace sections by new ones of the same names, and write all of them on the page."""
    kept = json.loads(results.read_text()) if results.exists() else {}
    results.write_text(json.dumps(kept | dict(sections), indent=1) + "\n")
    page.write_text(with_tables(page.read_text(), tables(json.loads(results.read_text()))))

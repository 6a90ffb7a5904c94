"""Count statements by package, now and at another revision: ``python -m benchmarks.size [--since REV]``.

A *statement* is a statement node of the syntax tree, so that a formatter does not change the count. Docstrings count.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
APART = ("research", "service", "testing")
"""Packages outside the main part of the library: code for studies, the collector, and contracts for other authors."""

GOALS_SET = "2b5ad7ea"
"""Revision at which the goals for the sizes were set."""

ADDED = {
    "regression": ("models", "cli/fit", "report/fits", "core/report_likelihood", "planning/coefficient_plan"),
    "classical designs": ("designs", "cli/_designs", "cli/card", "report/designs"),
    "repeated questions": (
        *("oracles/memoised", "oracles/paired", "files/jobs/memos", "files/jobs/person", "files/jobs/private_document"),
        *("files/jobs/pairing", "files/jobs/spending", "cli/spending", "cli/programme", "report/programmes"),
        *("planning/programme", "planning/repeated", "planning/panel"),
    ),
    "formats of tables and numbers": (
        *("files/formats/xlsform", "files/formats/codebooks", "files/formats/pages", "cli/form"),
        *("survey/decimals", "answers/counts", "core/spreadsheets"),
    ),
    "accounts, invitations, receipts": ("files/receipts", "cli/verify", "cli/_invitations", "cli/analyst"),
    "exact intervals from few reports": ("core/bounded_sums",),
    "pilots, rare categories, deltas": (
        "oracles/sketch/pilot",
        "leakage/prior/rare_categories",
        "leakage/totals/deltas",
    ),
}
"""Features added to the main part since then: packages, and modules without their suffix."""


def statements(source: str) -> int:
    """Return the number of statements of a module."""
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(source)))


def modules(revision: str | None = None) -> Iterator[tuple[PurePosixPath, str]]:
    """Yield path below `src/deniable` and text of each module, of the working tree or of a revision."""
    source = PurePosixPath("src/deniable")
    if revision is None:
        for path in sorted((ROOT / source).rglob("*.py")):
            yield PurePosixPath(path.relative_to(ROOT / source).as_posix()), path.read_text(encoding="utf-8")
        return
    command = ["git", "archive", revision, str(source)]
    packed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        for member in archive:
            if member.name.endswith(".py") and (file := archive.extractfile(member)) is not None:
                yield PurePosixPath(member.name).relative_to(source), file.read().decode("utf-8")


def sizes(revision: str | None = None) -> Counter[str]:
    """Return the number of statements of each package; modules outside of packages count under "deniable"."""
    counted: Counter[str] = Counter()
    for path, text in modules(revision):
        counted[path.parts[0] if len(path.parts) > 1 else "deniable"] += statements(text)
    return counted


def added() -> Counter[str]:
    """Return the statements of each feature that was added to the main part since the goals were set."""
    counted: Counter[str] = Counter()
    for path, text in modules():
        for feature, places in ADDED.items():
            if str(path.with_suffix("")) in places or path.parts[0] in places:
                counted[feature] += statements(text)
    return counted


def main_house(counted: Counter[str]) -> int:
    """Return the number of statements of all packages that are not in `APART`."""
    return sum(count for package, count in counted.items() if package not in APART)


def draw(now: Counter[str], before: Counter[str], since: str, path: Path) -> None:
    """Draw the packages as bars, before and now; the largest package is first."""
    from matplotlib.figure import Figure

    packages = sorted(now | before, key=lambda package: now[package])
    figure = Figure(figsize=(8, 5.2), layout="constrained")
    axes = figure.subplots()
    for shift, counted, name, colour in ((0.2, now, "now", "#1f5f8b"), (-0.2, before, since, "#c9c9c9")):
        axes.barh([row + shift for row in range(len(packages))], [counted[one] for one in packages], 0.4, color=colour)
        axes.barh([0], [0], color=colour, label=f"{name}: {counted.total():,}, main house {main_house(counted):,}")
    axes.set_yticks(range(len(packages)), packages)
    axes.set_xlabel("statements")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Print the number of statements of each package, and draw them beside those of an earlier revision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--since", help="revision to compare with")
    parser.add_argument("--picture", type=Path, help="with --since: PNG file for the bar chart")
    asked = parser.parse_args()
    now = sizes()
    before = sizes(asked.since) if asked.since else Counter[str]()
    for package in sorted(now | before, key=lambda one: -now[one]):
        print(f"{package:<12}{before[package]:>8,}{now[package]:>8,}")
    print(f"{'all':<12}{before.total():>8,}{now.total():>8,}")
    print(f"{'main house':<12}{main_house(before):>8,}{main_house(now):>8,}")
    print(f"\nAdded to the main house since {GOALS_SET}:")
    for feature, count in added().most_common():
        print(f"{feature:<34}{count:>8,}")
    if asked.picture:
        draw(now, before, asked.since, asked.picture)


if __name__ == "__main__":
    main()

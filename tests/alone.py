"""List the lines of a package that only one test executes: ``python -m tests.alone PACKAGE TESTS... [-o FILE]``.

Use the list before you move or shorten a test. Keep a test that alone executes some lines. Other tests may still be the
only ones to notice a fault in a line; `make mutants` shows these tests.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import coverage

ROOT = Path(__file__).parents[1]
SETTINGS = "[run]\nsource_pkgs = {package}\ndynamic_context = test_function\n[report]\nexclude_also = @kernel\n"


def alone(data: coverage.CoverageData, package: Path) -> dict[str, object]:
    """Return how many lines each test executes alone; lines that the import executes count for no test."""
    lines: Counter[int] = Counter()
    tests: Counter[str] = Counter()
    for file in sorted(data.measured_files()):
        if not Path(file).is_relative_to(package):
            continue
        for contexts in data.contexts_by_lineno(file).values():
            if "" in contexts or not contexts:
                continue
            lines[min(len(contexts), 2)] += 1
            if len(contexts) == 1:
                tests[contexts[0]] += 1
    return {
        "lines_of_one_test": lines[1],
        "lines_of_several": lines[2],
        "tests": dict(sorted(tests.items(), key=lambda item: (-item[1], item[0]))),
    }


def main() -> None:
    """Run tests with one context each, and write the lines that each executes alone."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.alone", description="List the lines that only one test executes."
    )
    parser.add_argument("package", help="package, for example deniable.postprocess")
    parser.add_argument("tests", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("results/alone.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings, file = Path(folder) / "settings", Path(folder) / "data"
        settings.write_text(SETTINGS.format(package=options.package))
        command = ["coverage", "run", f"--rcfile={settings}", f"--data-file={file}", "-m", "pytest", "-n", "0"]
        subprocess.run([sys.executable, "-m", *command, *map(str, options.tests)], cwd=ROOT, check=True)
        data = coverage.CoverageData(basename=str(file))
        data.read()
        found = alone(data, ROOT / "src" / Path(*options.package.split(".")))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(options.output.read_text()) if options.output.exists() else {}
    known[options.package] = found
    options.output.write_text(json.dumps(known, indent=1) + "\n")
    print(f"{options.package}: {found['lines_of_one_test']} lines of one test, {found['lines_of_several']} of several")


if __name__ == "__main__":
    main()

"""Choice of the mutants and of their tests."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.mutants.operators import Mutant, compiles, mutants

COMPILED_SHARE = 0.1
"""Smallest share of a sample that is in compiled loops."""

FIRST_SECONDS, ALL_SECONDS = 60.0, 240.0
"""Recorded seconds of a mutant's first tests, and of all its tests; the fastest tests come first."""

NEAREST = 5
"""Number of test files for a mutant before tests are recorded."""


def every_mutant(root: Path) -> list[Mutant]:
    """Return the mutants of the whole library, by file and place."""
    files = sorted((root / "src" / "deniable").rglob("*.py"))
    return [one for file in files for one in mutants(root, file)]


def drawn(found: Sequence[Mutant], count: int, seed: int, root: Path) -> list[Mutant]:
    """Return a sample: one mutant per package, a tenth compiled, the others anywhere; at most one per line."""
    rng = random.Random(seed)
    left = list(found)
    rng.shuffle(left)
    sample: list[Mutant] = []
    lines: set[tuple[str, int]] = set()

    def take(wanted: Sequence[Mutant], upto: int) -> None:
        for one in wanted:
            if len(sample) >= upto:
                return
            if (one.file, one.line) not in lines and compiles(one, root):
                sample.append(one)
                lines.add((one.file, one.line))

    for package in sorted({one.package for one in found}):
        take([one for one in left if one.package == package], min(count, len(sample) + 1))
    already = sum(one.compiled for one in sample)
    take(
        [one for one in left if one.compiled], min(count, len(sample) + max(0, round(COMPILED_SHARE * count) - already))
    )
    take(left, count)
    return sample


def nearest(mutant: Mutant, root: Path, files: Iterable[str]) -> list[str]:
    """Return the mutant's own file, for its examples, and the files of tests that import its module.

    Files named after the module come first, then the shortest files. There are at most `NEAREST` files.
    """
    path = Path(mutant.file)
    module = path.parent if path.stem == "__init__" else path.with_suffix("")
    parent, _, stem = ".".join(module.parts[1:]).rpartition(".")
    imports = re.compile(rf"\b{re.escape(parent)}\.{stem}\b|from {re.escape(parent)} import [^\n]*\b{stem}\b")
    found = []
    for name in files:
        if Path(name).name.startswith("test_") and name.endswith(".py"):
            text = (root / name).read_text(encoding="utf-8")
            if stem in Path(name).stem or imports.search(text):
                found.append((stem not in Path(name).stem, len(text), name))
    return [mutant.file, *(name for *_, name in sorted(found)[:NEAREST])]


@dataclass
class Record:
    """Output of `tests.mutants.recorder`: tests, their seconds, and the tests of each line."""

    tests: list[str]
    seconds: list[float]
    failed: list[str]
    lines: dict[str, dict[int, list[int]]]
    root: Path

    @staticmethod
    def read(paths: Sequence[Path], root: Path) -> Record:
        """Return one record from the records of several parts of the suite."""
        whole = Record([], [], [], {}, root)
        for path in paths:
            part = json.loads(path.read_text(encoding="utf-8"))
            offset = len(whole.tests)
            whole.tests += part["tests"]
            whole.seconds += part["seconds"]
            whole.failed += part["failed"]
            for file, lines in part["lines"].items():
                known = whole.lines.setdefault(file, {})
                for line, tests in lines.items():
                    known.setdefault(int(line), []).extend(test + offset for test in tests)
        return whole

    @cached_property
    def texts(self) -> dict[str, list[str]]:
        """Lines of each file of the library."""
        return {file: (self.root / file).read_text(encoding="utf-8").splitlines() for file in self.lines}

    def meeting(self, mutant: Mutant) -> list[str]:
        """Return the tests of the mutant's line; the fastest come first.

        A line at the level of a module or class runs at import, so that all tests of the file count. Compiled loops are
        not traced, so that the tests of lines that call them also count.
        """
        own = self.lines.get(mutant.file, {})
        if not mutant.function:
            found = {test for tests in own.values() for test in tests}
        else:
            found = {test for line in range(mutant.line, mutant.end + 1) for test in own.get(line, [])}
        if mutant.compiled:
            found |= self._calling(mutant.function.rsplit(".", 1)[-1], set())
        failed = set(self.failed)
        usable = [test for test in found if self.tests[test] not in failed]
        return [self.tests[test] for test in sorted(usable, key=lambda test: (self.seconds[test], self.tests[test]))]

    def _calling(self, name: str, seen: set[str]) -> set[int]:
        """Return the tests of all lines that name a loop, directly or through other loops."""
        seen.add(name)
        found: set[int] = set()
        for file, text in self.texts.items():
            inside = ""
            for number, line in enumerate(text, start=1):
                if head := re.match(r"\s*def (\w+)", line):
                    inside = head[1]
                elif re.search(rf"\b{name}\b", line) and not line.startswith(("from ", "import ")):
                    found |= set(self.lines[file].get(number, []))
                    if inside not in seen and f"def {inside}(" in "\n".join(text):
                        decorated = re.search(rf"@kernel\ndef {inside}\(", "\n".join(text))
                        if decorated:
                            found |= self._calling(inside, seen)
        return found

    def within(self, tests: Sequence[str], seconds: float) -> list[str]:
        """Return the first tests whose recorded times sum to at most this many seconds."""
        took = dict(zip(self.tests, self.seconds, strict=True))
        total, chosen = 0.0, list[str]()
        for test in tests:
            total += took[test] + 0.01
            if total > seconds and chosen:
                break
            chosen.append(test)
        return chosen

"""The tool of ``make mutants``: faults, samples, the choice of tests, and cached compiled loops."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.mutants.__main__ import (
    EQUIVALENT,
    ROOT,
    Copy,
    _has_tests,
    environment,
    files_of_the_project,
    known_equivalent,
    same,
    survivors,
)
from tests.mutants.operators import Mutant, compiles, mutants
from tests.mutants.recorder import RECORD
from tests.mutants.selection import Record, drawn, nearest

SOURCE = '''"""A module."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import os
LIMIT: int = 3
def check(x: int = 4) -> None:
    """Refuse."""
    if x < 0 or not x:
        raise ValueError(f"{x + 1} is " + "wrong")
@kernel
def total(rows):
    check(len(rows))
    return min(rows) - 1.5
'''


def _project(root: Path, text: str = SOURCE, name: str = "src/deniable/core/one.py") -> Path:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def _mutants(root: Path) -> list[Mutant]:
    return mutants(root, _project(root))


def test_faults_are_behaviour_and_not_words(tmp_path: Path) -> None:
    found = {(one.operator, one.before, one.after) for one in _mutants(tmp_path)}
    assert found == {
        ("constant", "3", "(4)"),
        ("logic", "x < 0 or not x", "(x < 0 and (not x))"),
        ("comparison", "x < 0", "(x <= 0)"),
        ("constant", "0", "(1)"),
        ("logic", "not x", "(x)"),
        ("statement", "check(len(rows))", "pass"),
        ("arithmetic", "min(rows) - 1.5", "(min(rows) + 1.5)"),
        ("function", "min(rows)", "(max(rows))"),
        ("constant", "1.5", "(3.0)"),
    }


def test_a_mutant_knows_where_it_stands(tmp_path: Path) -> None:
    by_text = {one.before: one for one in _mutants(tmp_path)}
    assert {(one.function, one.compiled, one.line) for one in by_text.values()} == {
        ("", False, 5),
        ("check", False, 8),
        ("total", True, 12),
        ("total", True, 13),
    }
    assert by_text["1.5"].package == "core"
    changed = by_text["1.5"].applied(SOURCE.encode())
    assert changed == SOURCE.replace("1.5", "(3.0)").encode()
    assert all(compiles(one, tmp_path) for one in by_text.values())


def test_samples_are_seeded_and_reach_every_package_and_compiled_loops(tmp_path: Path) -> None:
    for package in ("core", "oracles", "files"):
        for number in range(4):
            plain = "\n".join(f"def f{line}(x):\n    return x + {line}" for line in range(20))
            _project(tmp_path, plain, f"src/deniable/{package}/m{number}.py")
    _project(
        tmp_path, "@kernel\ndef loop(x):\n    a = x + 1\n    b = a * 2\n    return b - 3\n", "src/deniable/core/k.py"
    )
    _project(tmp_path, "X = 1 < 2\n", "src/deniable/rare.py")
    found = [one for file in sorted((tmp_path / "src").rglob("*.py")) for one in mutants(tmp_path, file)]
    sample = drawn(found, 30, 1, tmp_path)
    assert sample == drawn(found, 30, 1, tmp_path) != drawn(found, 30, 2, tmp_path)
    assert len({(one.file, one.line) for one in sample}) == 30
    for seed in range(20):
        sample = drawn(found, 20, seed, tmp_path)
        assert {one.package for one in sample} == {"core", "oracles", "files", "rare"}
        assert sum(one.compiled for one in sample) >= 2


def test_tests_are_chosen_by_line_and_compiled_loops_by_their_callers(tmp_path: Path) -> None:
    _project(tmp_path, "def use(x):\n    return total(x)\n", "src/deniable/core/two.py")
    chosen = _mutants(tmp_path)
    one, two = "src/deniable/core/one.py", "src/deniable/core/two.py"
    lines = {one: {8: [0, 1, 2], 9: [1]}, two: {2: [3]}}
    record = Record(["t0", "t1", "t2", "t3"], [3.0, 1.0, 2.0, 0.5], ["t2"], lines, tmp_path)
    meeting = {mutant.before: record.meeting(mutant) for mutant in chosen}
    assert meeting["x < 0"] == ["t1", "t0"]  # the fastest test comes first, and t2 fails anyway
    assert meeting["3"] == ["t1", "t0"]  # a line at a module's level meets every test of the file
    assert meeting["1.5"] == ["t3"]
    assert record.within(["t1", "t0", "t3"], 4.1) == ["t1", "t0"]
    assert record.within(["t0"], 0.1) == ["t0"]


NESTED = {
    "src/deniable/core/kernels.py": "import numba\ndef kernel(f):\n    return numba.njit(cache=True)(f)\n",
    "src/deniable/core/inner.py": (
        "from deniable.core.kernels import kernel\n@kernel\ndef inner(x):\n    return x + 1\n"
        "def unused(x):\n    return x * 2\n"
    ),
    "src/deniable/core/outer.py": (
        "from deniable.core.kernels import kernel\nfrom deniable.core.inner import inner\n"
        "@kernel\ndef outer(x):\n    return inner(x) * 2\n"
    ),
    "src/deniable/__init__.py": "",
    "src/deniable/core/__init__.py": "",
    "tests/test_outer.py": "from deniable.core.outer import outer\ndef test_outer():\n    assert outer(1) == 4\n",
}


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    for name, text in NESTED.items():
        _project(tmp_path, text, name)
    return tmp_path


def test_the_nearest_tests_import_the_module(nested: Path) -> None:
    mutant = mutants(nested, nested / "src/deniable/core/outer.py")[0]
    _project(nested, "import deniable", "tests/test_other.py")
    _project(nested, "", "tests/unit/test_outer_more.py")
    files = ["tests/test_other.py", "tests/test_outer.py", "tests/unit/test_outer_more.py", "docs/test_outer.md"]
    assert nearest(mutant, nested, files) == [
        "src/deniable/core/outer.py",
        "tests/unit/test_outer_more.py",
        "tests/test_outer.py",
    ]


@pytest.mark.long
def test_a_test_that_fails_anyway_kills_nothing(tmp_path: Path) -> None:
    _project(tmp_path, "def f(x):\n    return x + 1\n", "src/deniable/__init__.py")
    broken, told = "def test_broken():\n    assert f(1) == 3\n", "def test_told():\n    assert f(1) == 2\n"
    _project(tmp_path, f"from deniable import f\n{broken}", "tests/test_a.py")
    _project(tmp_path, f"from deniable import f\n{broken}{told}", "tests/test_b.py")
    fault = next(
        one for one in mutants(tmp_path, tmp_path / "src/deniable/__init__.py") if one.operator == "arithmetic"
    )
    assert Copy(tmp_path).tried_nearest(fault, ["tests/test_a.py"])["outcome"] == "survived"
    _project(tmp_path, "raise FileNotFoundError('there is no page')\n", "tests/test_c.py")
    assert Copy(tmp_path).tried_nearest(fault, ["tests/test_c.py"])["outcome"] == "survived"
    killed = Copy(tmp_path).tried_nearest(fault, ["tests/test_c.py", "tests/test_a.py", "tests/test_b.py"])
    assert (killed["outcome"], "test_b.py::test_told" in killed["by"]) == ("killed", True)


def test_survivors_are_found_again_where_lines_moved(tmp_path: Path) -> None:
    before = _mutants(tmp_path)
    results = [one.as_json() | {"outcome": "survived" if one.before == "1.5" else "killed"} for one in before]
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"results": results}))
    moved = mutants(tmp_path, _project(tmp_path, "\n\n" + SOURCE))
    assert [(one.before, one.line) for one in survivors(path, moved)] == [("1.5", 15)]
    with pytest.raises(SystemExit, match="any more"):
        survivors(path, [])


def _pytest(root: Path, **more: str) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.mutants.recorder", "tests"]
    given = environment(root, root / ".numba") | more
    given["PYTHONPATH"] += os.pathsep + str(ROOT)
    return subprocess.run(command, cwd=root, env=given, capture_output=True, check=False).returncode


@pytest.mark.long
def test_a_mutant_in_a_compiled_loop_is_killed_though_its_caller_was_cached(nested: Path) -> None:
    path = nested / "record.json"
    assert _pytest(nested, **{RECORD: str(path)}) == 0
    assert list((nested / ".numba").rglob("*.nbi"))
    record = Record.read([path], nested)
    assert record.tests == ["tests/test_outer.py::test_outer"]
    found = {one.before: one for one in mutants(nested, nested / "src/deniable/core/inner.py")}
    fault = found["x + 1"]
    assert fault.compiled
    # The test calls `outer`, which calls `inner`. Neither is traced, and the caller's line is the test's own.
    record.lines["src/deniable/core/outer.py"] = {5: [0]}
    copy = Copy(nested)
    assert copy.tried_nearest(fault, ["tests/test_outer.py"])["outcome"] == "killed"
    result = copy.tried(fault, record)
    assert (result["outcome"], result["tests"]) == ("killed", 1)
    assert "test_outer" in result["by"]
    # The copy is as before, including compiled loops.
    assert (nested / fault.file).read_text() == NESTED[fault.file]
    assert _pytest(nested) == 0
    assert copy.tried(found["x * 2"], record)["outcome"] == "no test runs it"
    assert json.dumps(result)


def test_what_one_test_runs_is_recorded(tmp_path: Path) -> None:
    _project(tmp_path, "def f(x):\n    if x:\n        return 1\n    return 2\n", "src/deniable/__init__.py")
    _project(
        tmp_path,
        "from deniable import f\ndef test_a():\n    assert f(1) == 1\ndef test_b():\n    assert f(0) == 3\n",
        "tests/test_f.py",
    )
    path = tmp_path / "record.json"
    assert _pytest(tmp_path, **{RECORD: str(path)}) == 1
    record = Record.read([path, path], tmp_path)
    assert record.tests[:2] == ["tests/test_f.py::test_a", "tests/test_f.py::test_b"]
    assert set(record.failed) == {"tests/test_f.py::test_b"}
    lines = {line: sorted(tests) for line, tests in record.lines["src/deniable/__init__.py"].items()}
    assert lines == {1: [], 2: [0, 1, 2, 3], 3: [0, 2], 4: [1, 3]}


def test_the_whole_suite_is_recorded() -> None:
    """It has doctests of all depths and all files of tests, and no other files."""
    chosen = {str(file) for file in files_of_the_project() if _has_tests(file)}
    assert "tests/unit/house/test_mutants_tool.py" in chosen
    assert {str(file.relative_to(ROOT)) for file in (ROOT / "src").rglob("*.py")} <= chosen
    assert {str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py")} <= chosen
    assert not [name for name in chosen if name.startswith(("experiments", "benchmarks", "tests/mutants"))]


def test_a_proof_is_of_one_statement_that_is_still_there() -> None:
    unproved = 0
    for entry in json.loads(EQUIVALENT.read_text(encoding="utf-8")):
        alike = [one for one in mutants(ROOT, ROOT / entry["file"]) if same(one, entry)]
        assert [one for one in alike if known_equivalent(one) == entry["proof"]], entry
        unproved += sum(known_equivalent(one) == "" for one in alike)
    assert unproved > 1, "not every fault like it is proved"


MUTANTS = ROOT / "docs" / "results" / "mutants.json"


SAMPLES = json.loads(MUTANTS.read_text(encoding="utf-8"))["samples"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"seed{sample['seed']}")
def test_every_mutant_of_the_samples_that_are_kept_died_or_is_proved(sample: dict[str, Any]) -> None:
    """The named tests still exist; the page's tables count all mutants and name all survivors."""
    assert (sample["drawn"], len(sample["results"])) == (60, 60)
    page = (ROOT / "docs" / "mutants.md").read_text(encoding="utf-8")
    table = page.split(f"| fault, seed {sample['seed']} |")[1].split("\n\n")[0]
    for one in sample["results"]:
        assert one["now"] in ("killed", "equivalent", "removed")
        if one["now"] == "killed":
            file, *_, name = one["by"].split("::")
            text = (ROOT / file).read_text(encoding="utf-8")
            assert file.startswith("src") or f"def {name.partition('[')[0]}(" in text, one["by"]
    survived = [one for one in sample["results"] if one["first"] == "survived"]
    named = re.findall(r"`(\w+\.py)`", "".join(re.findall(r"^\| (.*?) \|", table, flags=re.MULTILINE)))
    assert set(named) == {Path(one["file"]).name for one in survived}
    since = Counter(one["now"] for one in survived)
    counts = (60 - len(survived), since["killed"], since["removed"], since["equivalent"])
    assert f"| {sample['seed']} | {sample['revision']} | 60 | {' | '.join(map(str, counts))} |" in page


def test_those_who_change_something_read_how_many_died_at_once() -> None:
    killed = [sum(one["first"] == "killed" for one in sample["results"]) for sample in SAMPLES]
    page = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    assert f"killed {', '.join(map(str, killed[:-1]))} and {killed[-1]} faults" in page

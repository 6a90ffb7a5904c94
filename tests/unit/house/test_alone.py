"""Lines that only one test executes: `tests.alone`."""

from __future__ import annotations

from pathlib import Path

import coverage

from tests.alone import alone


def test_lines_of_one_test_of_several_and_of_imports(tmp_path: Path) -> None:
    data = coverage.CoverageData(basename=str(tmp_path / "data"))
    inside, outside = tmp_path / "package" / "a.py", tmp_path / "other" / "b.py"
    for context, lines in (("", [1]), ("test_a", [1, 2, 3]), ("test_b", [2, 4, 5])):
        data.set_context(context)
        data.add_lines({str(inside): lines, str(outside): [10 * line for line in lines]})
    found = alone(data, tmp_path / "package")
    assert found == {"lines_of_one_test": 3, "lines_of_several": 1, "tests": {"test_b": 2, "test_a": 1}}

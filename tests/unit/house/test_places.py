"""Each module's own test is at its place, or `tests/places.toml` lists the module."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.places import ROOT, listed, modules, own_test

MOST = 104
"""Largest number of modules without their own test file: those left of 258 when the list was made."""


@pytest.mark.parametrize(
    ("module", "place"),
    [
        ("core/_bits.py", "tests/unit/core/test_bits.py"),
        ("demo.py", "tests/unit/test_demo.py"),
        ("leakage/prior/tree.py", "tests/unit/leakage/prior/test_tree.py"),
        ("cli/inspect.py", "tests/cli/test_inspect.py"),
        ("research/dealt/coupling/jrr.py", "tests/research/dealt/coupling/test_jrr.py"),
        ("cli/__main__.py", "tests/cli/test_main.py"),
        ("service/stores/accounts.py", "tests/service/test_accounts.py"),
        ("testing/bulk.py", "tests/contract/test_bulk.py"),
    ],
)
def test_the_place_of_a_modules_own_test(module: str, place: str) -> None:
    assert own_test(Path(module)) == ROOT / place


def test_each_module_has_a_test_file_of_its_own_or_is_listed() -> None:
    missing = {module: own_test(module).relative_to(ROOT) for module in modules() if not own_test(module).exists()}
    new = {module: place for module, place in missing.items() if module not in listed()}
    assert not new, f"write these test files, of the module on the left: {new}"
    assert set(listed()) == set(missing), "remove from tests/places.toml what has a test file, or is no module"


def test_listed_tests_exist_and_are_no_more_than_they_were() -> None:
    assert all(test.exists() for test in listed().values())
    assert len(listed()) <= MOST

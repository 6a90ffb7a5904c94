"""A module's own test is where its name says; `python -m tests.places` lists the modules that have none there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.places import ROOT, own_test, share

LEAST = 0.33
"""The share of modules with a test of their own may rise: many small modules are tested through those that use them."""


@pytest.mark.parametrize(
    ("module", "place"),
    [
        ("core/_bits.py", "tests/unit/core/test_bits.py"),
        ("demo.py", "tests/unit/test_demo.py"),
        ("leakage/prior/tree.py", "tests/unit/leakage/prior/test_tree.py"),
        ("cli/inspect.py", "tests/cli/test_inspect.py"),
        ("research/dealt/coupling/jrr.py", "tests/research/dealt/coupling/test_jrr.py"),
        ("service/stores/accounts.py", "tests/service/test_accounts.py"),
    ],
)
def test_the_place_of_a_modules_own_test(module: str, place: str) -> None:
    assert own_test(Path(module)) == ROOT / place


def test_as_many_modules_as_before_have_a_test_of_their_own() -> None:
    assert share() >= LEAST

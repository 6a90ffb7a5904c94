"""Settings of all tests: property tests are reproducible, a busy machine fails no test, and user state is not used."""

from __future__ import annotations

import fcntl
import functools
import gc
import itertools
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import typer.testing
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings
from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from deniable.core.names import CLASSES
from deniable.core.randomness import WordStream
from deniable.oracles.sketch.families.registry import FAMILIES

# Thousands of tests and all modules stay in memory. Looking through them for garbage took a third of the time of
# collection.
gc.disable()

collect_ignore = ["toy_package"]  # only the package's own tests put it on the path

settings.register_profile(
    "deniable", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("deniable")

WordStream.overwrites = True  # a kernel that reads words of an earlier take then reads a constant


_NUMBERS = itertools.count()
_COMPILE = Dispatcher.compile
_LOCKED = set[str]()


def _compile_once(self: Any, sig: Any) -> Any:
    """Compile while no other process compiles loops of the same module, which it would compile as well."""
    source = self.py_func.__code__.co_filename
    with global_compiler_lock:
        if source in _LOCKED or isinstance(self._cache, NullCache):
            return _COMPILE(self, sig)
        with Path(source).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _LOCKED.add(source)
            try:
                return _COMPILE(self, sig)
            finally:
                _LOCKED.discard(source)


Dispatcher.compile = _compile_once  # type: ignore[method-assign]

# `deniable` itself keeps the program, too. Making the program again would translate every command that was used.
typer.testing._get_command = functools.cache(typer.testing._get_command)  # type: ignore[attr-defined]


STUDIED = (
    *(name.replace(" ", "-") for name, place in CLASSES.items() if place.startswith("deniable.research.")),
    *(f"CMS-{family}" for family, place in FAMILIES.items() if place.startswith("deniable.research.")),
)
"""Names of mechanisms for studies, with which cases of the contract suite and of the recordings begin."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Mark tests in a browser, and tests of `deniable.research` (its tests, examples and cases of the suites)."""
    for item in items:
        if item.nodeid.startswith("tests/browser/"):
            item.add_marker("browser")
        own = item.nodeid.startswith(("tests/research/", "src/deniable/research/"))
        by_mechanism = item.nodeid.startswith(("tests/contract/", "tests/golden/"))
        case = f"{item.nodeid.partition('[')[2][:-1]}-".replace(" ", "-")
        if own or (by_mechanism and any(case.startswith(f"{name}-") for name in STUDIED)):
            item.add_marker("research")


SOURCES = Path(__file__).parents[1] / "src"


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[Any], list[Any]]:
    """Collect doctests only from the library, because tests have none."""
    found = yield
    return found if file_path.is_relative_to(SOURCES) else [one for one in found if not isinstance(one, DoctestModule)]


def pytest_collection_finish() -> None:
    """Freeze the objects made so far, so that garbage collection only visits objects of the tests."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of this test's ledger of answers, in place of the user's."""
    # `mktemp` is not used, because it looks through the folders of all earlier tests for the next number.
    home = tmp_path_factory.getbasetemp() / "state" / str(next(_NUMBERS))
    home.mkdir(parents=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    return home / "deniable"

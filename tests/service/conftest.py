"""Databases of both kinds, and a collector that the tests of one file share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from deniable.service.server import Running
from deniable.service.stores import open_store
from deniable.service.surveys import Surveys
from tests.service import postgres
from tests.service.asking import Clock, collecting, open_survey, sqlite, unhurried


def absent(what: str, variable: str) -> NoReturn:
    """Skip a test of a program that is not installed; fail if it is required, as in `.ci/run`."""
    (pytest.fail if os.environ.get(variable) == "required" else pytest.skip)(f"{what} is not installed here")


@pytest.fixture(autouse=True)
def _unhurried() -> Iterator[None]:
    """Let a collector wait for a slow database, unless a test says otherwise."""
    patched = unhurried()
    yield
    patched.undo()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """One PostgreSQL server for all tests."""
    if postgres.programs() is None:
        absent("PostgreSQL", "DENIABLE_POSTGRES")
    with postgres.server() as found:
        yield found


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new database, of either kind."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'survey.db'}"
    found: postgres.Server = request.getfixturevalue("postgres_server")
    return found.database()


@pytest.fixture
def surveys(tmp_path: Path) -> Iterator[Surveys]:
    """Surveys on an SQLite database with the test's clock; while a survey is open, each report is released at once."""
    store = open_store(sqlite(tmp_path), migrate=True)
    yield Surveys(store, Clock(), while_open=1)
    store.close()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Running]:
    """A collector with default limits."""
    with collecting(sqlite(tmp_path), limits=True) as found:
        open_survey(found.collector.surveys)
        found.collector.refresh()
        yield found

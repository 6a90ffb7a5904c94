"""Databases of both kinds, and a collector that tests of one file share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.service import postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """One PostgreSQL server for all tests."""
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed here")
    with postgres.server() as found:
        yield found


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new database, of either kind."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'survey.db'}"
    found: postgres.Server = request.getfixturevalue("postgres_server")
    return found.database()


Database = Callable[[], str]

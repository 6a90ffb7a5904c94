"""Sessions, tokens, links and passwords."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable.errors import InvalidParameterError
from deniable.service.auth import LINK, Logins, hash_password, is_password
from deniable.service.stores import open_store
from tests.service.asking import PASSWORD, Clock, sqlite


def test_sessions_tokens_and_links_end_when_they_should(tmp_path: Path) -> None:
    store, clock = open_store(sqlite(tmp_path), migrate=True), Clock()
    store.add_analyst("ann", "owner", hash_password(PASSWORD))
    logins = Logins(store, clock)
    secret = logins.log_in("ann", PASSWORD)
    assert secret is not None
    found = logins.who(secret, "session")
    assert found is not None
    assert (found.name, found.role) == ("ann", "owner")
    assert logins.who(secret, "token") is None
    clock.move(hours=12)
    assert logins.who(secret, "session") is None
    # One link gives one login, and none after a quarter of an hour.
    link = logins.issue("ann", "link", LINK)
    assert logins.redeem(link) is not None
    assert logins.redeem(link) is None
    late = logins.issue("ann", "link", LINK)
    clock.move(minutes=15)
    assert logins.redeem(late) is None
    token = logins.issue("ann", "token", None)
    clock.move(days=4000)
    assert logins.who(token, "token") is not None
    store.close()


def test_of_a_password_scrypts_digest_is_stored() -> None:
    stored = hash_password(PASSWORD)
    assert stored.startswith("scrypt$32768$8$1$")
    assert stored != hash_password(PASSWORD)
    assert PASSWORD not in stored
    assert is_password(PASSWORD, stored)
    assert not is_password(PASSWORD + " ", stored)
    with pytest.raises(InvalidParameterError, match="at least 12 characters, got 5"):
        hash_password("short")

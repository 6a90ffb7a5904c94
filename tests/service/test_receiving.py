"""Request bodies."""

from __future__ import annotations

from deniable.service import receiving


def test_the_deadline_of_a_body_is_ten_seconds() -> None:
    assert receiving.read_body.__defaults__ == (10.0,)

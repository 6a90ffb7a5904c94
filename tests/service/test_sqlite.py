"""The SQLite database of a collector."""

from __future__ import annotations

from typing import Any, cast

from deniable.service.stores.sqlite import SqliteStore


def test_reports_longer_than_a_piece_are_taken_out_one_at_a_time() -> None:
    asked: list[int] = []

    def run(statement: str, *values: Any) -> list[Any]:
        if "max(length(report))" in statement:
            return [(1 << 20,)]
        asked.extend(values[2:])
        return [(None, 0, 0)]

    assert SqliteStore._emptied(cast("Any", None), run, 7) == (b"", 0)
    assert asked == [1]

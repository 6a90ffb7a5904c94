"""Backups that rotate."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from deniable.errors import OutputError, StoreError
from deniable.service.backups import rotate
from deniable.service.stores import check_backup, open_store
from tests.service.asking import sqlite


def test_backups_rotate_and_nothing_else_is_removed(tmp_path: Path) -> None:
    store = open_store(sqlite(tmp_path), migrate=True)
    folder, second = tmp_path / "backups", iter(range(60))

    def clock() -> datetime:
        return datetime(2026, 5, 1, 3, 0, next(second), tzinfo=UTC)

    try:
        made = [rotate(folder, 3, store.backup, clock) for _ in range(3)]
        (folder / "mine.backup").write_text("mine")
        (folder / "deniable-old.backup").write_text("mine, too")
        newest = rotate(folder, 3, store.backup, clock)
        assert sorted(path.name for path in folder.iterdir()) == [
            *("deniable-20260501T030001Z.backup", "deniable-20260501T030002Z.backup"),
            *("deniable-20260501T030003Z.backup", "deniable-old.backup", "mine.backup"),
        ]
        assert not made[0].exists()
        assert folder.stat().st_mode & 0o077 == 0
        check_backup(newest)

        def half(file: Path) -> None:
            store.backup(file)
            file.write_bytes(file.read_bytes()[:5000])

        # A damaged backup does not replace another backup.
        with pytest.raises(StoreError, match=r"damaged|malformed"):
            rotate(folder, 1, half, clock)
        assert made[2].exists()
        assert newest.exists()
        with pytest.raises(OutputError, match="another backup was made in the same second"):
            rotate(folder, 3, store.backup, lambda: datetime(2026, 5, 1, 3, 0, 3, tzinfo=UTC))
    finally:
        store.close()

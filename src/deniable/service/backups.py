"""Backups that follow one another in a folder: dated, checked, and limited in number."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from deniable.errors import OutputError
from deniable.service.stores import check_backup

_NAME = re.compile(r"deniable-\d{8}T\d{6}Z\.backup")


def rotate(
    folder: Path, keep: int, write: Callable[[Path], object], clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Path:
    """Make a backup in a folder, and remove the oldest ones if there are more than `keep`.

    Nothing is removed before the new backup is complete and was read again. Files with other names are never removed.

    Parameters
    ----------
    folder : Path
        Folder of the backups; made if absent, for its owner only.
    keep : int
        Number of backups that are kept, the new one among them.
    write : callable
        Function that makes a backup in a file.
    clock : callable
        Function that returns the time, by which the backup is named.

    Returns
    -------
    Path
        The new backup.

    Raises
    ------
    OutputError
        If the folder cannot be made, or has a backup of this second.
    StoreError
        If the backup cannot be made, or is damaged.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {folder}: {error.strerror}") from error
    made = folder / f"deniable-{clock().astimezone(UTC):%Y%m%dT%H%M%SZ}.backup"
    if made.exists():
        raise OutputError(f"{made} exists already, because another backup was made in the same second; try again")
    write(made)
    check_backup(made)
    known = sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
    for old in known[:-keep]:
        old.unlink()
    return made

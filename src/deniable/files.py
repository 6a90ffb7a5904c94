"""Outputs that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from deniable.errors import OutputError


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside `path`; move it into place on success, remove it on any failure.

    A `private` file can be read by its owner only, from its first byte on.

    Raises
    ------
    OutputError
        If the directory does not exist or cannot be written.
    """
    target = Path(path)
    try:
        if target.is_dir():
            raise IsADirectoryError(21, "it is a directory")
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
        os.close(handle)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files private; give the usual permissions of a new file instead.
        if not private:
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
        temporary.replace(target)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a UTF-8 text file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")

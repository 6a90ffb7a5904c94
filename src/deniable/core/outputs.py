"""Output files that appear complete or not at all, with one writer at a time.

A writer writes an output under a hidden name in the same directory, and keeps the hidden file locked (flock). When the
file is complete and on the disk, the writer renames it. A hidden file that no process has locked was left by a killed
process. The next writer in that directory removes it. A lock ends with its process, however the process ends.

Only its owner can read a hidden file, in all cases. A collector cannot use half a file of reports, and a second draw of
the same reports spends epsilon again. The file gets the permissions of the user's umask when it gets its name.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeAlias

from deniable.errors import OutputError, OutputInUseError

PARTIAL = ".deniable.partial"
"""Ending of the hidden name under which an output is written: ``.NAME.deniable.partial``."""

Commit: TypeAlias = AbstractContextManager[object]
"""Context that is entered when an output is complete, and left when the output has its name. An OSError inside means
that the output has no name."""

_PATIENCE = 0.5
"""Seconds to wait for a process that checks whether a file is left over, before the file counts as in use."""


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str], *, private: bool = False, commit: Commit | None = None) -> Iterator[Path]:
    """Yield a temporary path beside `path`. It is moved to `path` on success and removed on any failure.

    The content is on the disk before the name, and the name is on the disk before this function returns. Until then
    only its owner can read the file. A `private` file stays readable only by its owner. Any other file gets the
    permissions of a new file with its name.

    Raises
    ------
    OutputInUseError
        If another run is writing the same file.
    OutputError
        If the directory does not exist or cannot be written.
    """
    with _atomic(Path(path), lambda name: os.close(_create(name, 0o600)), commit, shared=not private) as temporary:
        yield temporary


@contextlib.contextmanager
def atomic_directory(path: str | os.PathLike[str], *, commit: Commit | None = None) -> Iterator[Path]:
    """Yield a temporary private directory beside `path`, moved to `path` on success and removed on any failure.

    Raises
    ------
    OutputInUseError
        If another run is writing the same directory.
    OutputError
        If `path` exists, or its parent cannot be written.
    """
    with _atomic(Path(path), lambda name: os.mkdir(name, 0o700), commit, shared=False) as temporary:
        yield temporary


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for the lock of a file, and hold it. The file exists only while the lock is held.

    Raises
    ------
    OutputError
        If the file cannot be made.
    """
    try:
        while (descriptor := _hold(path, os.O_CREAT, wait=True)) is None:
            pass
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        yield
    finally:
        # A file that stays is not a lock, and the work under the lock is done. So a failure is ignored.
        with contextlib.suppress(OSError):
            _discard(path, descriptor)
        os.close(descriptor)


def write_text(path: str | os.PathLike[str], text: str, *, private: bool = False) -> None:
    """Write a UTF-8 text file atomically."""
    with atomic_path(path, private=private) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def _atomic(target: Path, create: Callable[[Path], None], commit: Commit | None, *, shared: bool) -> Iterator[Path]:
    temporary = target.with_name(f".{target.name}{PARTIAL}")
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a directory")
        mode = _usual_mode(target.parent) if shared else None
        descriptor = _claim(temporary, create)
        try:
            yield temporary
            os.fsync(descriptor)
            with commit or nullcontext():
                temporary.replace(target)
                if mode is not None:
                    # Permissions change after the name does. If a run is killed in between, the file that it leaves is
                    # too private, never too open.
                    with contextlib.suppress(OSError):
                        os.fchmod(descriptor, mode)
                _sync(target.parent)
        except BaseException:
            _discard(temporary, descriptor)
            raise
        finally:
            os.close(descriptor)
    except BlockingIOError as error:
        raise OutputInUseError(
            f"cannot write {target}: another run is writing this file; wait until that run is done"
        ) from error
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error


def _create(path: Path, mode: int) -> int:
    return os.open(path, os.O_CREAT | os.O_EXCL, mode)


def _usual_mode(directory: Path) -> int:
    """Return the permissions of a new file, read from an empty file that is made for this purpose.

    The umask is not read, because reading it changes it for all threads. The output itself is not used, because a
    process that opened it while it was empty could read its content later.
    """
    path = directory / f".{secrets.token_hex(8)}{PARTIAL}"
    descriptor = _create(path, 0o666)
    try:
        return os.fstat(descriptor).st_mode & 0o777
    finally:
        os.close(descriptor)
        path.unlink(missing_ok=True)


def _claim(temporary: Path, create: Callable[[Path], None]) -> int:
    """Return the descriptor of a hidden file or directory after creating and locking it, or raise BlockingIOError."""
    until = time.monotonic() + _PATIENCE
    while True:
        remove_left_over(temporary.parent)
        # Between the creation and the locking of a file, another process may take it for a left-over. The file is then
        # made again.
        with contextlib.suppress(FileExistsError, BlockingIOError):
            create(temporary)
            descriptor = _hold(temporary)
            if descriptor is not None:
                return descriptor
        if time.monotonic() > until:
            raise BlockingIOError
        time.sleep(0.01)


def remove_left_over(directory: Path) -> None:
    """Remove the files that killed processes left in a directory: hidden names that no process has locked."""
    for path in directory.glob(f".*{PARTIAL}"):
        # Files that are locked, or that are not ours to open, stay.
        with contextlib.suppress(OSError):
            descriptor = _hold(path)
            if descriptor is not None:
                _discard(path, descriptor)
                os.close(descriptor)
    for path in directory.glob(f".*{PARTIAL}-*"):
        # This is the journal of a database that was being written. Without the database, the journal belongs to nobody.
        if not path.with_name(path.name.rpartition("-")[0]).exists():
            path.unlink(missing_ok=True)


def _hold(path: Path, flags: int = 0, *, wait: bool = False) -> int | None:
    """Lock a file or directory and return its descriptor, or None if the path was moved, replaced or removed.

    Raises
    ------
    BlockingIOError
        If another process has locked it and `wait` is false.
    """
    # NFS locks only files that are open for writing, and no directory can be opened for writing.
    access = os.O_RDONLY if path.is_dir() else os.O_RDWR
    try:
        descriptor = os.open(path, access | flags | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError:
        if flags:
            raise
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        if _is_at(path, descriptor):
            return descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _is_at(path: Path, descriptor: int) -> bool:
    """Return whether an open file is still at a path, so that nobody has moved or replaced it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _discard(path: Path, descriptor: int) -> None:
    """Remove a locked hidden file or directory if it still has that name."""
    if _is_at(path, descriptor):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _sync(directory: Path) -> None:
    """Wait until a directory's names are on the disk, if the file system supports that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

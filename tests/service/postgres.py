"""A PostgreSQL server for the tests: on a Unix socket in a folder, run as nobody if the user is root."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

_numbers = itertools.count(1)


@functools.cache
def programs() -> Path | None:
    """Return the folder of PostgreSQL's own programs, or None if it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


class Server:
    """A running server.

    Attributes
    ----------
    folder : Path
        Folder of its data, its socket and its log.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._bin = folder, programs()
        # initdb refuses to run as root.
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(folder, self._user)
        data = str(folder / "data")
        self._run("initdb", "-D", data, "-A", "trust", "-U", "deniable", "--no-sync", "-E", "UTF8", "--locale=C")
        # Nothing listens on the network, and everything that is acknowledged is on the disk, as the collector demands.
        options = f"-k {folder} -c listen_addresses= -c shared_buffers=32MB -c max_connections=40"
        (folder / "data" / "postgresql.auto.conf").write_text("")
        self._options = options
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-l", log, "-o", self._options, "-w", "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server; "immediate" leaves the state of a power cut, except for the disk."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop")

    def database(self) -> str:
        """Return the address of a new database."""
        name = f"test{next(_numbers)}"
        self._run("createdb", "-h", str(self.folder), "-U", "deniable", name)
        return f"postgresql://deniable@/{name}?host={self.folder}"

    def _run(self, program: str, *arguments: str) -> None:
        assert self._bin is not None
        record = pwd.getpwnam(self._user) if self._user else None
        subprocess.run(
            [str(self._bin / program), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "LANG": "C"},
            user=None if record is None else record.pw_uid,
            group=None if record is None else record.pw_gid,
            extra_groups=None if record is None else [],
        )


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """Run a server while the block runs; delete all its files afterwards."""
    with tempfile.TemporaryDirectory(prefix="deniable-pg-") as name:
        os.chmod(name, 0o755)
        running = Server(Path(name))
        try:
            yield running
        finally:
            with contextlib.suppress(subprocess.CalledProcessError):
                running.stop()

"""PostgreSQL's own programs: backups by pg_dump, and checks of a file before pg_restore writes it to a database."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from deniable.core.outputs import atomic_path
from deniable.errors import StoreError
from deniable.service.stores.migrations import checked_tables, checked_version

_ENTRY = re.compile(r"\d+; \d+ \d+ (TABLE DATA|TABLE|CONSTRAINT|INDEX|SCHEMA|COMMENT|ACL|[A-Z ]+?) (\S+) (\S+)")
_STRANGE = re.compile(
    r"\b(UNLOGGED|CHECK|REFERENCES|EXCLUDE|GENERATED|INHERITS|PARTITION)\b|CREATE SCHEMA (?!public\b).*"
)
"""Pattern of definitions that would lose rows, refuse rows, or write rows elsewhere. None of our definitions has any of
them."""

_KNOWN = frozenset({"TABLE DATA", "TABLE", "CONSTRAINT", "INDEX", "SCHEMA", "COMMENT", "ACL"})


def write_dump(url: str, output: Path) -> None:
    """Write a backup of a database as of one moment, which only its owner can read."""
    program = _program("pg_dump", "a backup of PostgreSQL")
    with atomic_path(output, private=True) as temporary:
        _run([program, "--format=custom", "--no-owner", f"--file={temporary}"], url)


def check_dump(source: Path) -> None:
    """Check that a file is a backup of a collector's database, and that it contains nothing else.

    Raises
    ------
    StoreError
        If the file is not one; the message says what it is instead.
    """
    program, what = _program("pg_restore", "restoring into PostgreSQL"), f"the backup {source}"
    found = [match for line in _run([program, "--list", str(source)]).splitlines() if (match := _ENTRY.match(line))]
    if others := sorted({match[1] for match in found} - _KNOWN):
        raise StoreError(f"{what} must contain only tables, but it contains a {others[0].lower()}")
    made = _run([program, "--schema-only", "--file=-", str(source)])
    if strange := _STRANGE.search(made):
        raise StoreError(
            f"{what} must contain only the tables of a collector, but {strange[0].strip()} does not come from a "
            "collector"
        )
    checked_tables({match[3] for match in found if match[1] == "TABLE"}, what)
    lines = _run([program, "--data-only", "--table=meta", "--file=-", str(source)]).splitlines()
    # The list of contents would be complete even in a file that was cut short, so everything is read.
    _run([program, "--file=/dev/null", str(source)])
    checked_version({key: value for key, _, value in (line.partition("\t") for line in lines) if value}, what)


def restore_dump(source: Path, url: str) -> None:
    """Put a backup into an empty database, all of it or nothing."""
    program = _program("pg_restore", "restoring into PostgreSQL")
    _run([program, "--no-owner", "--exit-on-error", "--single-transaction", str(source)], url)


def _program(name: str, what: str) -> str:
    program = shutil.which(name)
    if program is None:
        raise StoreError(
            f"{what} needs the program {name}, which is not installed on this machine: install the client programs of "
            "PostgreSQL"
        )
    return program


def _run(command: list[str], url: str | None = None) -> str:
    """Run a program on a database or on a file; a password never stands where other users see it."""
    environment = dict(os.environ)
    if url is not None:
        parts = {key: str(value) for key, value in conninfo_to_dict(url).items() if value is not None}
        password = parts.pop("password", None)
        environment |= {} if password is None else {"PGPASSWORD": password}
        command = [*command, f"--dbname={make_conninfo('', **parts)}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise StoreError(f"{Path(command[0]).name} failed: {said[-1]}")
    return done.stdout

"""Backups, replacement of a database, and migration: files are checked before any change, and nothing is lost."""

from __future__ import annotations

import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deniable.cli import app
from deniable.errors import OutputError, StoreError, StoreInUseError
from deniable.service.stores import migrate_store, open_store, restore_store, store as store_module
from deniable.service.stores.migrations import STEPS, VERSION
from deniable.service.stores.store import Store
from deniable.service.surveys import Surveys
from tests.service import postgres
from tests.service.asking import ASKED, Clock, collecting, open_survey, sqlite
from tests.service.test_store import old_tables, take


def with_reports(database: str, n: int) -> Store:
    """Open a new database with a survey and waiting reports."""
    store = open_store(database, create=True)
    open_survey(Surveys(store, Clock()))
    take(store, (n, 0, 1))
    return store


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A backup with five reports."""
    store = with_reports(f"sqlite:{tmp_path / 'first.db'}", 5)
    store.backup(tmp_path / "copy.db")
    store.close()
    return tmp_path / "copy.db"


def waiting(path: Path) -> int:
    store = open_store(f"sqlite:{path}")
    try:
        return store.waiting(ASKED.id)
    finally:
        store.close()


def changed(*statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        for statement in statements:
            connection.execute(statement)
        connection.close()

    return change


def written(text: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(text)

    return write


def damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096 : 4096 * 12] = b"\x7f" * (4096 * 11)
    path.write_bytes(content)


NO_BACKUPS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a dealer's": (
        changed("UPDATE meta SET value = 'dealer' WHERE key = 'role'"),
        "must belong to a collector, but it belongs to",
    ),
    "newer": (changed("UPDATE meta SET value = '99' WHERE key = 'version'"), "by a newer release"),
    "a stranger's": (changed("DROP TABLE receipts"), "must belong to a collector, but it has no table receipts"),
    "with more in it": (changed("CREATE TABLE gossip (a)"), "its table gossip does not come from a collector"),
    "with a trigger": (
        changed("CREATE TRIGGER t AFTER INSERT ON receipts BEGIN INSERT INTO audit VALUES (1, 2, 3, 4); END"),
        "it contains a trigger",
    ),
    "of no version": (
        changed("UPDATE meta SET value = 'x' WHERE key = 'version'"),
        f"1 to {VERSION}, but it states “x”",
    ),
    "of version -1": (
        changed("UPDATE meta SET value = '-1' WHERE key = 'version'"),
        f"1 to {VERSION}, but it states “-1”",
    ),
    "of version 0": (
        changed("UPDATE meta SET value = '0' WHERE key = 'version'"),
        f"1 to {VERSION}, but it states “0”",
    ),
    "of an earlier version than it says": (
        changed("UPDATE meta SET value = '3' WHERE key = 'version'"),
        "must have the tables of version 3, but its table analysts differs",
    ),
    "without a column": (changed("ALTER TABLE collections DROP COLUMN source"), "its table collections differs"),
    "without a table": (changed("DROP TABLE releases"), "its table releases differs"),
    "without a key": (
        changed("DROP TABLE receipts", "CREATE TABLE receipts (collection BIGINT NOT NULL, nullifier BLOB NOT NULL)"),
        "its table receipts differs",
    ),
    "with a check": (
        changed("DROP TABLE inbox", "CREATE TABLE inbox (collection BIGINT NOT NULL, report BLOB NOT NULL, CHECK (0))"),
        "its table inbox differs",
    ),
    "with an index": (changed("CREATE INDEX more ON inbox (report)"), "its table more differs"),
    "with a short sum": (changed("UPDATE collections SET counts = x'00'"), "whole counters in its sums"),
    "damaged": (damaged, "damaged|malformed"),
    "text": (written("no database" * 1000), "must be an SQLite database"),
    "empty": (written(""), "must be an SQLite database"),
}


@pytest.mark.parametrize("kind", NO_BACKUPS)
def test_what_is_no_backup_of_a_collector_takes_no_place(tmp_path: Path, copy: Path, kind: str) -> None:
    change, said = NO_BACKUPS[kind]
    with_reports(sqlite(tmp_path), 20).close()
    change(copy)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(StoreError, match=said):
        restore_store(sqlite(tmp_path), copy)
    assert waiting(tmp_path / "survey.db") == 20
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_what_a_backup_replaces_is_kept_with_its_log(tmp_path: Path, copy: Path) -> None:
    path = tmp_path / "survey.db"
    store = with_reports(sqlite(tmp_path), 20)
    # A killed process leaves the database like this, with most of it in the log.
    left = {one.name: one.read_bytes() for one in tmp_path.glob("survey.db*") if one.suffix != ".lock"}
    store.close()
    for name, content in left.items():
        (tmp_path / name).write_bytes(content)
    result = CliRunner().invoke(app, ["survey", "restore", str(copy), "--database", sqlite(tmp_path)])
    assert result.exit_code == 0, result.output
    (kept,) = tmp_path.glob("survey.db.replaced-*Z")
    assert f"the earlier database is kept as {kept}" in result.output
    assert {stat.S_IMODE(one.stat().st_mode) for one in (path, kept)} == {0o600}
    assert (waiting(path), waiting(kept)) == (5, 20)
    # A second kept database is not lost either, and an unreadable one is kept as it is.
    path.write_bytes(b"SQLite format 3\0 and then nothing of the kind" * 100)
    again = restore_store(sqlite(tmp_path), copy)
    assert again is not None
    assert again != kept
    assert again.read_bytes().startswith(b"SQLite format 3\0 and then")
    assert (waiting(path), waiting(kept)) == (5, 20)
    with pytest.raises(StoreError, match="the backup and the database must be different files"):
        restore_store(sqlite(tmp_path), path)


def test_a_database_in_use_is_not_replaced(tmp_path: Path, copy: Path) -> None:
    with collecting(sqlite(tmp_path)), pytest.raises(StoreInUseError, match="served by another process"):
        restore_store(sqlite(tmp_path), copy)
    other = sqlite3.connect(tmp_path / "survey.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreInUseError, match="written by another program"):
        restore_store(sqlite(tmp_path), copy)
    other.close()


def test_what_a_killed_backup_leaves_is_no_backup_and_goes_with_the_next(tmp_path: Path) -> None:
    store = with_reports(sqlite(tmp_path), 20)
    store.close()
    code = (
        "import sys, time; from pathlib import Path; from deniable.service.stores import sqlite_files as f\n"
        "with f.atomic_path(Path(sys.argv[2]), private=True) as t:\n"
        "    import sqlite3; c = sqlite3.connect(t, isolation_level=None)\n"
        "    c.execute('PRAGMA cache_size = 1'); c.execute('CREATE TABLE a (b)'); c.execute('BEGIN')\n"
        "    c.execute('INSERT INTO a WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5e4)'\n"
        "              ' SELECT i FROM n')\n"
        "    print('there', flush=True); time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "survey.db"), str(tmp_path / "copy.db")]
    killed = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    assert killed.stdout.readline() == "there\n"
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    killed.stdout.close()
    left = {path.name for path in tmp_path.glob(".copy.db.*")}
    assert left == {".copy.db.deniable.partial", ".copy.db.deniable.partial-journal"}
    assert not (tmp_path / "copy.db").exists()
    store = open_store(sqlite(tmp_path))
    store.backup(tmp_path / "another.db")
    store.close()
    assert not list(tmp_path.glob(".*"))
    restore_store(f"sqlite:{tmp_path / 'again.db'}", tmp_path / "another.db")
    assert waiting(tmp_path / "again.db") == 20


def test_a_backup_has_nothing_of_reports_that_were_drained(tmp_path: Path) -> None:
    """The database was made before deleted rows were overwritten."""
    store = with_reports(sqlite(tmp_path), 20)
    with store._working() as run:
        run("PRAGMA secure_delete = OFF")
        run("INSERT INTO inbox VALUES (1, ?, NULL)", b"MarkedReport" * 9)
    store._writer.execute("PRAGMA secure_delete = OFF")  # type: ignore[attr-defined]
    with store._working() as run:
        run("DELETE FROM inbox WHERE length(report) > 99")
    store.settle()
    store.backup(tmp_path / "copy.db")
    store.close()
    assert b"MarkedReport" in (tmp_path / "survey.db").read_bytes()
    assert b"MarkedReport" not in (tmp_path / "copy.db").read_bytes()


@pytest.mark.parametrize("version", [2, VERSION])
def test_a_restore_ends_sessions_and_is_in_the_audit_whatever_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """Old tables have no audit for the entry; it is added when they are migrated."""
    with monkeypatch.context() as before:
        before.setattr(store_module, "VERSION", version)
        before.setattr(store_module, "STEPS", STEPS[:version])
        store = open_store(sqlite(tmp_path), create=True)
        with store._working() as run:
            run("INSERT INTO analysts (name, role, password) VALUES ('eve', 'owner', '')")
            for kind in ("session", "link", "token"):
                run("INSERT INTO sessions (digest, analyst, kind) VALUES (?, 'eve', ?)", kind, kind)
        store.backup(tmp_path / "copy.db")
        store.close()
    restore_store(sqlite(tmp_path), tmp_path / "copy.db")
    kinds = sqlite3.connect(tmp_path / "survey.db").execute("SELECT kind FROM sessions").fetchall()
    assert kinds == [("token",)], "before it is opened"
    for _ in range(2):
        store = open_store(sqlite(tmp_path), migrate=True)
        said = [(entry.who, entry.act, entry.about) for entry in store.noted()]
        store.close()
        moved = [("command line", "migrate", f"from version {version} to {VERSION}")] if version < VERSION else []
        assert sorted(said) == [*moved, ("command line", "restore", "copy.db")]


# -------------------------------------------------------------------- PostgreSQL


@pytest.mark.long
def test_a_dump_that_is_no_collectors_is_not_restored(postgres_server: postgres.Server, tmp_path: Path) -> None:
    changes = {
        "UPDATE meta SET value = 'dealer' WHERE key = 'role'": "must belong to a collector, but it belongs to a dealer",
        "UPDATE meta SET value = '99' WHERE key = 'version'": "by a newer release",
        "DROP TABLE receipts": "it has no table receipts",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'": "it contains a function",
        "CREATE TABLE gossip (a int)": "its table gossip does not come",
        "ALTER TABLE receipts SET UNLOGGED": "UNLOGGED does not come from a collector",
        "ALTER TABLE inbox ADD CHECK (length(report) > 9) NOT VALID": "CHECK does not come from a collector",
        "CREATE SCHEMA elsewhere": "CREATE SCHEMA elsewhere; does not come from a collector",
        "ALTER TABLE meta ADD FOREIGN KEY (key) REFERENCES meta (key)": "REFERENCES does not come from",
        "UPDATE meta SET value = '-1' WHERE key = 'version'": f"1 to {VERSION}, but it states “-1”",
    }
    target = postgres_server.database()
    for i, (statement, said) in enumerate(changes.items()):
        store = with_reports(postgres_server.database(), 5)
        with store._working() as run:
            run(statement)
        store.backup(tmp_path / f"copy{i}")
        store.close()
        with pytest.raises(StoreError, match=said):
            restore_store(target, tmp_path / f"copy{i}")
    (tmp_path / "text").write_text("no dump")
    with pytest.raises(StoreError, match="pg_restore failed"):
        restore_store(target, tmp_path / "text")
    # The failed restore left no tables: the database is still empty.
    store = with_reports(postgres_server.database(), 5)
    store.backup(tmp_path / "copy")
    store.close()
    restore_store(target, tmp_path / "copy")
    again = open_store(target)
    assert again.waiting(ASKED.id) == 5
    again.close()
    with pytest.raises(StoreError, match="can be restored only into an empty database"):
        restore_store(target, tmp_path / "copy")


# -------------------------------------------------------------------- migration


def test_no_verb_migrates_in_passing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old_tables(sqlite(tmp_path), monkeypatch)
    before = (tmp_path / "survey.db").read_bytes()
    (tmp_path / "survey.json").write_text(ASKED.to_json())
    (tmp_path / "password").write_text("a password of words")

    def run(*arguments: object) -> str:
        result = CliRunner().invoke(app, [*map(str, arguments), "--database", sqlite(tmp_path)])
        return f"{result.exit_code} {result.output}"

    refused = "2 error: the tables of the database have version 1"
    assert run("survey", "new", "other", tmp_path / "survey.json").startswith(refused)
    assert run("analyst", "add", "ada", "--password-file", tmp_path / "password").startswith(refused)
    assert run("survey", "list").startswith(refused)
    assert (tmp_path / "survey.db").read_bytes() == before
    said = run("survey", "migrate")
    (kept,) = tmp_path.glob("survey.db.version-1-*")
    assert said == f"0 the database is up to date; the earlier database is kept as {kept}\n"
    assert run("survey", "migrate") == "0 the database is up to date\n"
    assert run("survey", "status", "smoking").startswith("0 ")
    # Back in the earlier release, the kept database is what that release wrote.
    restore_store(sqlite(tmp_path), kept)
    assert run("survey", "list").startswith(refused)
    assert run("survey", "migrate", "--no-backup") == "0 the database is up to date\n"
    assert len(list(tmp_path.glob("survey.db.version-1-*"))) == 1
    (tmp_path / "there").write_text("")
    assert "a backup does not replace another file" in run("survey", "migrate", "-o", tmp_path / "there")


def test_a_served_database_is_not_migrated_and_one_that_cannot_be_backed_up_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_tables(sqlite(tmp_path), monkeypatch)
    before = (tmp_path / "survey.db").read_bytes()
    with pytest.raises(OutputError):
        migrate_store(sqlite(tmp_path), tmp_path / "absent" / "copy")
    assert (tmp_path / "survey.db").read_bytes() == before
    # The collector's own switch makes a backup, too.
    with collecting(sqlite(tmp_path)), pytest.raises(StoreInUseError):
        migrate_store(sqlite(tmp_path))
    assert len(list(tmp_path.glob("survey.db.version-1-*"))) == 1

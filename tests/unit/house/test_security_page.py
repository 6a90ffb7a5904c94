"""SECURITY.md names all files that the code can leave."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from deniable.core import outputs as files
from deniable.files.jobs import ledger
from deniable.research.dealt.files import shares

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "SECURITY.md").read_text()
NAMED = set(re.findall(r"`([^`]+)`", PAGE))

NAME = re.compile(
    r"[\w.*-]*\.(json|parquet|aggregate|html|png|csv|lock|partial|resume|nbi|nbc|arrow|db|sqlite|txt|log)"
)
SHIPPED = {path.name for folder in ("templates", "static") for path in (ROOT / "src").rglob(f"{folder}/*")}
READ_ONLY = {".csv", ".parquet"} | SHIPPED
"""Suffixes of files that the program only reads, and files in the package: templates, and files for the collector."""


def texts(tree: ast.AST) -> Iterator[str]:
    """Yield the strings of a module, with a star for each filled-in part."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@functools.cache
def names_in(directory: Path) -> set[str]:
    found = {text for path in directory.rglob("*.py") for text in texts(ast.parse(path.read_text()))}
    found = {text for text in found if NAME.fullmatch(text)}
    modules = {text for text in found if (ROOT / "src" / f"{text.replace('.', '/')}.py").is_file()}
    return found - modules - READ_ONLY


def is_named(name: str) -> bool:
    pattern = re.compile(re.escape(name).replace(r"\*", r"\w+"))
    whole = [span.rsplit("/", 1)[-1] for span in NAMED]
    # A name's ending stands for the files that have it.
    return any(pattern.fullmatch(span) or (name.startswith(".") and span.endswith(name)) for span in whole)


def test_the_scan_finds_what_it_should() -> None:
    names = names_in(ROOT / "src" / "deniable")
    constants = {ledger.FILE_NAME, shares.SHARES_FILE_NAME, ledger.EARLIER_FILE_NAME, ledger.LOCK, files.PARTIAL}
    assert constants | {".*.resume", "shares-*.parquet", "report.html"} <= names


def test_every_file_that_the_code_names_is_in_the_table() -> None:
    assert [name for name in sorted(names_in(ROOT / "src" / "deniable")) if not is_named(name)] == []


def test_locks_and_ledgers_are_named_in_full() -> None:
    for name in (ledger.FILE_NAME, shares.SHARES_FILE_NAME):
        assert is_named(name + ledger.LOCK)
    assert f".NAME{files.PARTIAL}" in NAMED


def test_every_row_says_who_sees_it_and_whether_it_may_be_shipped() -> None:
    (table,) = re.findall(r"\| File \|.*?\n\n", PAGE, flags=re.DOTALL)
    rows = [line.strip("|").split("|") for line in table.splitlines() if line]
    assert len(rows) > 15
    assert all(len(row) == 4 and all(cell.strip() for cell in row) for row in rows)
    for name in (ledger.FILE_NAME, shares.SHARES_FILE_NAME, ledger.EARLIER_FILE_NAME):
        assert any(name in row[0] and "**never**" in row[3] for row in rows), name

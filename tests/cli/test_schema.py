"""Drafts of schemas on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from rich.cells import cell_len

from tests.cli.conftest import Run


def test_schema_is_drafted_shown_and_warned_about(run: Run) -> None:
    result = run("schema", "answers.csv", "-o", "draft.json")
    assert result.exit_code == 0
    assert "smoker" in result.stdout
    assert max(map(cell_len, result.stdout.splitlines())) <= 80
    assert "warning: the schema is public, and its lists, ranges and cut points were read from" in result.stderr
    drafted = json.loads(Path("draft.json").read_text())
    assert [attribute["name"] for attribute in drafted["attributes"]] == ["smoker", "colour"]


def test_an_edited_schema_is_not_overwritten(run: Run) -> None:
    before = Path("schema.json").read_text()
    result = run("schema", "answers.csv", "-o", "schema.json")
    assert result.exit_code == 2
    assert "schema.json exists" in result.stderr
    assert Path("schema.json").read_text() == before
    assert run("schema", "answers.csv", "-o", "schema.json", "--force").exit_code == 0
    assert Path("schema.json").read_text() != before

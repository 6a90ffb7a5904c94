"""`deniable aggregate` on the command line."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.conftest import N, Run
from tests.cli.interrupting import interrupted, names


def test_interrupted_aggregate_goes_on_after_the_finished_files(survey: Run) -> None:
    for name in ("a.parquet", "b.parquet"):
        assert survey("randomize", "survey.json", "answers.csv", "-o", name, "--allow-repeat").exit_code == 0
    arguments = ("survey.json", "a.parquet", "b.parquet", "-o", "all.aggregate")
    result = interrupted("aggregate", *arguments)
    assert result.returncode == 130
    assert re.fullmatch("interrupted: no aggregate was written; .*goes on.*\n", result.stderr)
    assert not Path("all.aggregate").exists()
    assert not [name for name in names() if name.endswith(".partial")]
    again = survey("aggregate", *arguments)
    assert again.exit_code == 0
    assert "8,000 reports in 2 batches" in again.stderr


def test_days_are_merged_and_no_day_counts_twice(survey: Run) -> None:
    lines = Path("answers.csv").read_text().splitlines()
    for day, rows in ((1, lines[1:1001]), (2, lines[1001:])):
        Path(f"day{day}.csv").write_text("\n".join([lines[0], *rows]) + "\n")
        assert survey("randomize", "survey.json", f"day{day}.csv", "-o", f"day{day}.parquet").exit_code == 0
        assert survey("aggregate", "survey.json", f"day{day}.parquet", "-o", f"day{day}.aggregate").exit_code == 0
    merged = survey("merge", "day1.aggregate", "day2.aggregate", "-o", "all.aggregate")
    assert merged.exit_code == 0
    assert f"{N:,} reports in 2 batches" in merged.stderr
    together = survey("aggregate", "survey.json", "day1.parquet", "day2.parquet", "-o", "both.aggregate")
    assert together.exit_code == 0
    outputs = [survey("estimate", "survey.json", name, "--json").stdout for name in ("all.aggregate", "both.aggregate")]
    assert outputs[0] == outputs[1]
    twice = survey("merge", "all.aggregate", "day2.aggregate", "-o", "more.aggregate")
    assert twice.exit_code == 2
    assert not Path("more.aggregate").exists()


def test_merge_may_write_over_an_input(collected: Run) -> None:
    before = collected("estimate", "survey.json", "all.aggregate", "--json").stdout
    assert collected("merge", "all.aggregate", "-o", "all.aggregate").exit_code == 0
    assert collected("estimate", "survey.json", "all.aggregate", "--json").stdout == before

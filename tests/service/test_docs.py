"""Commands on the page about collecting work, line by line; its Python runs with that of all pages."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from benchmarks.drill import Drill, quoted as drilled
from benchmarks.load import quoted
from typer.testing import CliRunner

from deniable.cli import app
from deniable.core.aggregate import Aggregate
from deniable.service.config import read_configuration
from tests.end_to_end_rounds import Judged as RoundsJudged
from tests.service.asking import PASSWORD, SCHEMA

DOCS = Path(__file__).parents[2] / "docs"
COLLECTING = (DOCS / "collecting.md").read_text(encoding="utf-8")
DEPLOYMENT = (DOCS / "deployment.md").read_text(encoding="utf-8")


def test_the_commands_work_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    SCHEMA.save("schema.json")
    Path("password.txt").write_text(PASSWORD)
    blocks = re.findall(r"```sh\n(.*?)```", COLLECTING, re.S)
    lines = [shlex.split(line) for block in blocks for line in block.splitlines()]
    assert len(lines) == 8
    for line in lines:
        if line[:3] == ["deniable", "survey", "new"] and line[-1] == "page.json":
            page = json.loads(Path("page.json").read_text())
            words = page["languages"]["en"]
            assert [words["intro"][:6], words["consent"][:6], page["contact"][:6]] == ["DRAFT:"] * 3
            words |= {"intro": "We ask.", "consent": "You may."}
            Path("page.json").write_text(json.dumps({**page, "contact": "us@example.org"}))
        result = CliRunner().invoke(app, line[1:], catch_exceptions=False)
        assert result.exit_code == 0, (line, result.output)
    assert Aggregate.load("smoking.aggregate").n == 0


def test_the_configuration_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", DEPLOYMENT, re.S)
    (tmp_path / "collector.toml").write_text(text)
    found = read_configuration(tmp_path / "collector.toml", {}, {})
    assert found.trusted_proxies == ["127.0.0.1/32"]
    named = {"203.0.113.0/24": {"per_minute": 2000, "per_hour": 20000}}
    assert tomllib.loads(text)["limits"] == {"per_minute": 300, "per_hour": 3000, "networks": named}


def test_figures_are_those_that_were_measured() -> None:
    load = json.loads((DOCS / "results" / "collector-load.json").read_text())
    assert quoted(DEPLOYMENT, load) == DEPLOYMENT
    assert set(load) == {"cores", "figures"}
    crash = json.loads((DOCS / "results" / "collector-crash.json").read_text())
    for run in crash["runs"]:
        assert run["held"]
        said = f"{run['kills']} kills and {run['stops']} stops: {run['acknowledged']:,} acknowledged, 0 lost, 0 twice"
        assert said in " ".join(DEPLOYMENT.split())
    invited = json.loads((DOCS / "results" / "collector-crash-invited.json").read_text())["runs"]
    assert [(run["store"], run["stops"]) for run in invited] == [("sqlite", 0), ("postgresql", 10)]
    for run in invited:
        assert run["held"]
        assert run["invited"] == run["acknowledged"] == 10_000
        assert run["tokens"] == 0
        assert f"{run['kills']} kills and {run['stops']} stops" in " ".join(DEPLOYMENT.split())
        assert f"0 lost, 0 twice, {run['strangers']} strangers refused" in " ".join(DEPLOYMENT.split())
    drills = [Drill(**one) for one in json.loads((DOCS / "results" / "drill.json").read_text())]
    assert drilled(DEPLOYMENT, drills) == DEPLOYMENT
    assert all(one.lost == one.new_again and one.upgraded == one.rolled_back for one in drills)
    one, four = json.loads((DOCS / "results" / "collector-e2e.json").read_text())
    assert [(e["contributors"], e["browsers"], e["repetitions"]) for e in (one, four)] == [(6366, 500, 200)] * 2
    assert one["missed"] == 0
    missed = f"At epsilon 1, no category was missed. At epsilon 4, {four['missed']} categories were missed"
    assert f"survey has {one['categories']} categories. {missed}" in " ".join(DEPLOYMENT.split())
    covered = f"was {one['covered']:.3f} at epsilon 1 and {four['covered']:.3f} at epsilon 4".replace("0.", ".")
    assert covered in " ".join(DEPLOYMENT.split())
    (two,) = (RoundsJudged(**e) for e in json.loads((DOCS / "results" / "collector-e2e-rounds.json").read_text()))
    assert two.held
    assert two.in_both == 0
    assert (two.first + two.second, two.browsers, two.mechanism) == (6366, 60, "Corr-RR")
    for said in (
        f"counted {two.first:,} reports in the first round and {two.second:,} in the second round. No woman was",
        f"{two.tried_again} women of the first round tried their links in the second round, and all {two.refused} were",
        f"missed {two.missed} of {two.categories} categories. The test again allows {two.most} misses. Among the "
        f"{two.categories} intervals, {two.told} are narrower",
    ):
        assert said in " ".join(DEPLOYMENT.split())
    assert all(0.94 <= e["covered"] <= 0.99 and e["missed"] <= e["most"] == 9 for e in (one, four))

"""`deniable load-times`: text, JSON, a page and a picture from entries of Navigation Timing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Run


@pytest.fixture
def loads(tmp_path: Path) -> Path:
    """3,000 loads in lines of JSON; 40% have truly low confidence and take twice as long."""
    rng = np.random.default_rng(1)
    low = rng.random(3000) < 0.4
    shown = np.where(rng.random(3000) < 0.5, rng.random(3000) < 0.5, low)
    lines = [
        json.dumps({"duration": 1000.0 + 1000 * own, "confidence": {"randomizedTriggerRate": 0.5, "value": value}})
        for own, value in zip(low.tolist(), np.where(shown, "low", "high").tolist(), strict=True)
    ]
    (tmp_path / "loads.jsonl").write_text("\n".join(lines))
    return tmp_path / "loads.jsonl"


def test_the_promise_stands_before_every_number(run: Run, loads: Path, tmp_path: Path) -> None:
    page, picture = tmp_path / "loads.html", tmp_path / "loads.png"
    result: Any = run("load-times", loads, "--html", page, "--plot", picture)
    text = " ".join(result.stdout.split())
    assert text.index("epsilons of one person's loads add up") < text.index("truly low confidence (95%")
    assert "epsilon 1.099 for each load" in text
    assert page.read_text().index("are not protected") < page.read_text().index("<svg")
    assert picture.stat().st_size > 10_000


def test_json_has_every_number(run: Run, loads: Path) -> None:
    found = json.loads(run("load-times", loads, "--json", "--quantiles", "0.5").stdout)
    assert (found["format"], found["rows"], found["timed"]) == ("deniable load times", 3000, 3000)
    assert found["share"]["lower"] < 0.4 < found["share"]["upper"]
    assert [(one["quantity"], one["confidence"]) for one in found["times"]] == [
        *(("mean", "high"), ("quantile 0.5", "high")),
        *(("mean", "low"), ("quantile 0.5", "low")),
    ]
    assert found["times"][3]["value"] == 2000.0


def test_errors_are_one_line(run: Run, loads: Path) -> None:
    result = run("load-times", loads, "--outcome", "lcp")
    assert result.exit_code == 2
    assert (
        "outcome must name a column (duration, confidence.randomizedTriggerRate, confidence.value), got outcome=“lcp”"
        in result.stderr
    )
    result = run("load-times", loads, "--quantiles", "median")
    assert result.exit_code == 2
    assert "quantiles must be numbers" in result.stderr

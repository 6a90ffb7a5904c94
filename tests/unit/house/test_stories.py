"""The stories: their first lines state the truth, and they say that they are skipped without real data.

The tests of all pages check that they run, with two seeds each, and that their last sentences are true.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
STORIES = ROOT / "docs" / "stories"


@pytest.mark.parametrize("name", ["poll", "staff", "incomes"])
def test_the_first_line_says_that_people_are_invented(name: str) -> None:
    title, first = (STORIES / f"{name}.md").read_text().split("\n\n")[:2]
    assert title.startswith("# ")
    first = " ".join(first.split())
    assert re.search(r"on this page are invented\. The(y|.* their true \w+|ir true \w+) are ", first)


def test_every_story_tests_its_last_sentence_at_two_seeds() -> None:
    pages = sorted(STORIES.glob("*.md"))
    assert [page.stem for page in pages] == ["health", "incomes", "poll", "smoking", "staff"]
    # The regression compares itself with the regression on true answers.
    assert "(apart < 4).all()" in (STORIES / "smoking.md").read_text()
    for page in (one for one in pages if one.stem != "smoking"):
        assert re.search(r"for seeds? in \((1|\(3), ", page.read_text()), page.name
        assert re.search(r"assert (row\.)?lower.* <= .* <= .*upper", page.read_text()), page.name


def test_without_real_data_the_health_survey_says_that_it_is_skipped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DENIABLE_DATA", str(tmp_path))
    namespace: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", (STORIES / "health.md").read_text(), flags=re.DOTALL):
        exec(compile(block, "health.md", "exec"), namespace)
    assert capsys.readouterr().out == "skipped: set DENIABLE_DATA to a folder with brfss2015_health.csv.gz\n"


def test_the_page_quotes_how_often_intervals_held() -> None:
    found = json.loads((ROOT / "docs" / "results" / "answers.json").read_text())
    page = (ROOT / "docs" / "answers.md").read_text()
    assert found["runs"] >= 1000
    assert not found["failed"]
    assert {row["n"] for row in found["coverage"]} == {500, 20_000, 1_000_000}
    for starts in (("mean",), ("total", "at least"), ("difference",), ("three quantiles",)):
        held = [share for row in found["coverage"] for name, share in row.items() if name.startswith(starts)]
        assert f"| {min(held):.3f} to {max(held):.3f} |" in page
    for name in ("missed at any look", "missed by one-look intervals"):
        missed = [row[name] for row in found["looks"]]
        assert f"{min(missed):.3f} to {max(missed):.3f}" in page

"""The demonstration: real data, the real workflow, honest sentences, and commands that do the same."""

from __future__ import annotations

import builtins
import html
import io
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from deniable import Aggregate
from deniable.cli import app
from deniable.demo import DemoResult, run_demo
from deniable.errors import MissingExtraError, OutputError
from deniable.survey.collection import Collection
from tests.unit.affairs import TRUTH, N

EACH = ("survey.json", "reports.parquet", "all.aggregate", "estimate.png")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DemoResult, str]:
    folder = tmp_path_factory.mktemp("demo") / "out"
    text = io.StringIO()
    result = run_demo(folder, Console(file=text, width=80, highlight=False))
    return folder, result, text.getvalue()


def test_estimates_are_near_the_truth_and_nearer_at_a_larger_epsilon(demo: tuple[Path, DemoResult, str]) -> None:
    one, four = demo[1].summaries
    assert (one.guarantee.epsilon, four.guarantee.epsilon) == (1.0, 4.0)
    for summary in (one, four):
        assert summary.n == N
        for row in summary.attributes:
            assert row.truth is not None
            assert row.truth.tolist() == pytest.approx([count / N for count in TRUTH[row.attribute]])
            # There are 62 intervals of 6.5 standard errors. All contain the truth, except for one demonstration in
            # 10^8.
            assert np.all(np.abs(row.estimate - row.truth) < 6.5 * row.standard_error)
    for small, large in zip(one.attributes, four.attributes, strict=True):
        assert np.all(large.standard_error < small.standard_error / 2)


def test_every_file_of_the_path_is_there(demo: tuple[Path, DemoResult, str]) -> None:
    folder, result, _ = demo
    assert {str(path.relative_to(folder)) for path in result.files} == {
        "answers.csv", "schema.json", "report.html",
        *(f"epsilon-{epsilon}/{name}" for epsilon in (1, 4) for name in EACH),
    }  # fmt: skip
    assert all(path.stat().st_size > 100 for path in result.files)
    collection = Collection.load(folder / "epsilon-1" / "survey.json")
    assert Aggregate.load(folder / "epsilon-1" / "all.aggregate").collection == collection.id
    assert pyarrow.csv.read_csv(folder / "answers.csv").num_rows == N


def test_at_most_forty_lines_are_printed_title_and_result_first(demo: tuple[Path, DemoResult, str]) -> None:
    _, result, text = demo
    lines = text.splitlines()
    # Commands are one line each, which a terminal of 80 columns wraps. The demo's folder is shorter than that of a
    # test.
    wrapped = sum(-(-max(cell_len(line.replace(str(demo[0]), "demo")), 1) // 80) for line in lines)
    assert wrapped <= 40
    assert lines[0] == "Extramarital affairs survey (Fair 1978)"
    assert lines[3] == "How much time do you spend in extramarital affairs?"
    assert re.split("  +", lines[4]) == ["answer", "truth", "epsilon = 1", "epsilon = 4"]
    for place, summary in enumerate(result.summaries):
        row = summary.attributes[0]
        for line, at, low, high in zip(lines[6:10], row.estimate, row.lower, row.upper, strict=True):
            assert f"{100 * at:.0f}% ({100 * low:.0f}% to {100 * high:.0f}%)" == re.split("  +", line)[2 + place]
    assert len(re.findall(r"^epsilon = [14]: \d+ of 31 intervals contain the truth", text, re.M)) == 2
    assert "costs epsilon = 5 in all" in " ".join(text.split())
    assert max(cell_len(line) for line in lines if not line.startswith(("deniable ", "Open "))) <= 80


def test_it_ends_with_what_was_learned_and_what_protects(demo: tuple[Path, DemoResult, str]) -> None:
    folder, result, text = demo
    flat = " ".join(text.split())
    halves = []
    for summary in result.summaries:
        row = summary.attributes[0]
        assert row.attribute == "affairs"
        half = 100 * (row.upper[0] - row.lower[0]) / 2
        halves.append(half)
        said = " answered “none” to “How much time do you spend in extramarital affairs?”" if len(halves) == 1 else ""
        assert (
            f"{100 * row.estimate[0]:.0f}% ± {half:.0f} points{said} at epsilon {summary.guarantee.epsilon:g}" in flat
        )
    assert halves[0] > 2 * halves[1]
    assert "(the truth, which no collector sees: 67.8%)" in flat
    assert "the odds about her change by a factor of at most 2.72 at epsilon 1, 54.6 at epsilon 4" in flat
    assert text.rstrip().splitlines()[-1] == f"Open {folder / 'report.html'}"
    # The page has its title, what was learned, the first chart, and then everything else.
    page = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
    order = ("What was learned: ", '<table class="charted">', "The promise to one woman", "may lie below 0%")
    places = [page.index(text) for text in (*order, "What contributors were promised")]
    assert places == sorted(places)
    assert page[: places[1]].count("<p ") == 1
    # Every table of both runs names its epsilon.
    for epsilon in (1, 4):
        assert len(re.findall(rf"epsilon = {epsilon}: [\d,]+ reports", page)) == 6


def test_page_holds_both_runs(demo: tuple[Path, DemoResult, str]) -> None:
    page = (demo[0] / "report.html").read_text(encoding="utf-8")
    for expected in ("epsilon = 1 for the whole contributor", "epsilon = 4 for the whole contributor", "white-collar"):
        assert expected in page
    assert page.count('<table class="charted">') == 12


def test_the_printed_commands_do_the_same(
    demo: tuple[Path, DemoResult, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _, text = demo
    monkeypatch.chdir(tmp_path)
    for name in ("answers.csv", "schema.json"):
        shutil.copy(folder / name, name)
    Path("epsilon-1").mkdir()
    commands = [shlex.split(line) for line in text.splitlines() if line.startswith("deniable ") and "epsilon-1" in line]
    assert [command[1] for command in commands] == ["collection", "randomize", "aggregate", "estimate"]
    for command in commands:
        here = [word.replace(f"{folder}/", "") for word in command[1:]]
        result = CliRunner().invoke(app, here, catch_exceptions=False)
        assert result.exit_code == 0, result.output
    ids = [Collection.load(path / "epsilon-1" / "survey.json").id for path in (folder, tmp_path)]
    assert ids[0] == ids[1]
    assert Path("epsilon-1/estimate.png").exists()


def test_the_demo_can_be_run_again_in_the_same_folder(demo: tuple[Path, DemoResult, str]) -> None:
    folder = demo[0]
    before = (folder / "epsilon-1" / "reports.parquet").read_bytes()
    run_demo(folder, Console(file=io.StringIO()), epsilons=("1",))
    assert (folder / "epsilon-1" / "reports.parquet").read_bytes() != before


def test_without_statsmodels_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    original = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("statsmodels"):
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r'pip install "deniable\[demo\]"'):
        run_demo(tmp_path / "demo", Console(file=io.StringIO()))
    assert not list(tmp_path.iterdir())


def test_unwritable_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write into"):
        run_demo(tmp_path / "file" / "demo", Console(file=io.StringIO()))

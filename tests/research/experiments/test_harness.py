from __future__ import annotations

from pathlib import Path

import pytest
from experiments.harness import Cell, MissingDataError, Paper, Run, data_file
from matplotlib.figure import Figure


def _run(tmp_path: Path, runs: int = 3) -> Run:
    return Run("paper", "table-1", tmp_path, runs, seed=7)


def test_finished_cells_are_not_computed_again(tmp_path: Path) -> None:
    asked: list[int] = []

    def compute(cell: Cell) -> Cell:
        asked.append(cell["n"])
        return {"square": cell["n"] ** 2 * cell["runs"]}

    first = _run(tmp_path).cells([{"n": 1}, {"n": 2}], compute)
    assert [cell["square"] for cell in first] == [3, 12]
    again = _run(tmp_path).cells([{"n": 2}, {"n": 3}], compute)
    assert [cell["square"] for cell in again] == [12, 27]
    assert asked == [1, 2, 3]
    # Another number of runs, or another version of the computation, makes another cell.
    _run(tmp_path, runs=4).cells([{"n": 1}], compute)
    _run(tmp_path).cells([{"n": 1}], compute, version=2)
    assert asked == [1, 2, 3, 1, 1]


def test_tables_have_the_same_columns_if_their_cells_were_kept(tmp_path: Path) -> None:
    for _ in range(2):
        (cell,) = _run(tmp_path).cells([{"n": 1}], lambda _: {"width": 2, "height": float("inf")})
        assert list(cell) == ["n", "runs", "seed", "width", "height"]


def test_an_interrupted_run_keeps_what_was_finished(tmp_path: Path) -> None:
    def interrupted(cell: Cell) -> Cell:
        if cell["n"] == 2:
            raise KeyboardInterrupt
        return {"value": cell["n"]}

    with pytest.raises(KeyboardInterrupt):
        _run(tmp_path).cells([{"n": 1}, {"n": 2}], interrupted)
    cache = tmp_path / "paper" / ".table-1.cells.jsonl"
    cache.write_text(cache.read_text() + '{"key": "cut')  # a crash in the middle of writing leaves such a line
    cells = _run(tmp_path).cells([{"n": 1}, {"n": 2}], lambda cell: {"value": -cell["n"]})
    assert [cell["value"] for cell in cells] == [1, -2]


def test_tables_and_figures_are_files(tmp_path: Path) -> None:
    run = _run(tmp_path)
    path = run.save_table([{"a": 1}, {"a": 2, "b": "x,y"}])
    assert path.read_text() == 'a,b\n1,\n2,"x,y"\n'
    figure = Figure()
    figure.subplots().plot([0, 1])
    assert run.save_figure(figure, "-b").read_bytes().startswith(b"\x89PNG")


def test_data_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DENIABLE_DATA", raising=False)
    with pytest.raises(MissingDataError, match="set DENIABLE_DATA"):
        data_file("adult.csv.gz")
    monkeypatch.setenv("DENIABLE_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match="there is no adult"):
        data_file("adult.csv.gz")
    (tmp_path / "adult.csv.gz").touch()
    assert data_file("adult.csv.gz") == tmp_path / "adult.csv.gz"


def test_experiments_are_found_by_name(tmp_path: Path) -> None:
    paper, seen = Paper("paper"), []

    @paper.experiment("table-1", "a table", runs=5)
    def _table(run: Run) -> None:
        seen.append((run.name, run.runs, run.seed))

    paper.run("table-1", tmp_path)
    paper.run("table-1", tmp_path, runs=2, seed=9)
    assert seen == [("table-1", 5, 1), ("table-1", 2, 9)]

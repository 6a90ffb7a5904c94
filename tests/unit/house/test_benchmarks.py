"""Arithmetic and wording of the benchmarks; nothing is timed and no peer is needed."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rich.console import Console

if TYPE_CHECKING:
    from benchmarks.run import Comparison

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("the benchmarks are not part of this copy")
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])


def comparison(case_name: str = "GRR", our_microseconds: tuple[float, ...] = (10, 20, 40)) -> Comparison:
    """Three rounds of 10,000 reports: the peer always takes 2 ms, the limit 5 us."""
    from benchmarks.cases import case_named
    from benchmarks.measure import Timing
    from benchmarks.run import Comparison

    ours = [Timing(10_000, seconds * 1e-6, seconds * 1e-6) for seconds in our_microseconds]
    return Comparison(
        case_named(case_name),
        "randomize",
        "multi-freq-ldpy",
        "GRR_Client(x)",
        "list",
        1.0,
        ours,
        [Timing(10_000, 5e-6, 5e-6)] * len(ours),
        [Timing(10_000, 2e-3, 4e-3)] * len(ours),
    )


def test_ratio_is_peer_over_ours_round_by_round() -> None:
    one = comparison()
    assert (one.ratio.least, one.ratio.median, one.ratio.most) == pytest.approx((50, 100, 200))
    assert one.bound.median == pytest.approx(400)
    assert one.nanoseconds(one.ours) == pytest.approx(2.0)
    assert one.theirs[0].parallelism == pytest.approx(0.5)


def test_goal_is_judged_by_the_median() -> None:
    assert comparison(our_microseconds=(10, 19, 40)).reached is True
    assert comparison(our_microseconds=(10, 21, 40)).reached is False
    assert comparison("OLH").goal is None
    assert comparison("OLH").reached is None


def test_calls_are_counted_until_the_time_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import measure

    calls: list[int] = []
    readings: list[float] = []

    def read(cost: float) -> float:
        readings.append(len(calls) * cost)
        return readings[-1]

    for cost, made in ((1.0, 3), (0.01, 300), (2.0, 2)):
        calls.clear()
        clock = SimpleNamespace(process_time=partial(read, cost), perf_counter=lambda: 0.0)
        monkeypatch.setattr("benchmarks.measure.time", clock)
        timing = measure.time_calls(lambda: calls.append(1), reports=7, seconds=3.0)
        assert (len(calls), timing.reports, timing.cpu) == (made, 7 * made, made * cost)
    # Reading the clock takes no part of short calls: it was read a dozen times for 300 calls.
    assert len(readings) < 25


def test_numbers_are_written_with_three_significant_digits() -> None:
    from benchmarks.report import significant

    values = (0.0, 0.01234, 0.9996, 1.5, 99.96, 261.2, 418558.4)
    assert [significant(value) for value in values] == ["0", "0.0123", "1.00", "1.50", "100", "261", "419000"]


def test_table_fits_a_terminal_and_says_what_missed_its_goal(tmp_path: Path) -> None:
    from benchmarks.report import COLUMNS, markdown, print_comparisons, write_files

    comparisons = [comparison(), comparison(our_microseconds=(30, 30, 30))]
    with (tmp_path / "table").open("w") as file:
        print_comparisons(comparisons, Console(file=file, width=80))
    lines = (tmp_path / "table").read_text().splitlines()
    assert lines[0].split() == " ".join(COLUMNS[1:]).split()
    assert lines[1].strip() == "GRR k=16"
    assert lines[2].rstrip().endswith(">=100 yes")
    assert lines[3].rstrip().endswith(">=100 NO")
    assert max(map(len, lines)) <= 80
    assert markdown(comparisons).splitlines()[2] == (
        "| GRR k=16 | randomize | multi-freq-ldpy | 200 | 2.00 | 0.50 | 25% | 100 | 50.0-200 | >=100 yes |"
    )
    written = write_files(comparisons, {}, tmp_path)[0]
    rows = list(csv.DictReader(written.read_text().splitlines()))
    assert [row["ratio"] for row in rows] == ["100", "66.7"]
    assert rows[0]["peer call"] == "GRR_Client(x)"


def test_answers_are_reproducible_and_in_the_domain() -> None:
    from benchmarks.cases import CASES, case_named
    from benchmarks.data import digest, mean_absolute_error, true_answers, true_frequencies

    for case in CASES:
        answers = true_answers(case, 500, seed=3)
        assert digest(answers) == digest(true_answers(case, 500, seed=3))
        assert digest(answers) != digest(true_answers(case, 500, seed=4))
        assert int(answers.min()) >= 0
        assert int(answers.max()) < case.sizes[0]
    truth = true_frequencies(case_named("GRR"), np.array([0, 1, 1, 15]))
    assert truth[0][[0, 1, 2, 15]].tolist() == [0.25, 0.5, 0.0, 0.25]
    assert mean_absolute_error([truth[0] + 0.5], truth) == pytest.approx(0.5)


def test_collector_taken_apart_is_put_together_again() -> None:
    from benchmarks.cases import case_named
    from benchmarks.measure import Timing
    from benchmarks.report import server_times
    from benchmarks.run import Comparison

    case = case_named("OCMS")
    tally = Comparison(case, "tally", "pure-ldp HR", "", "list", 0.0)
    decode = Comparison(case, "decode", "pure-ldp HR", "", "list", 0.0)
    # Each report takes 1 us and 10 ns, and each value 0.1 ms and 100 ns.
    tally.theirs.append(Timing(1000, 1e-3, 1e-3))
    tally.ours.append(Timing(1000, 1e-5, 1e-5))
    decode.theirs.append(Timing(10, 1e-3, 1e-3))
    decode.ours.append(Timing(10, 1e-6, 1e-6))
    assert server_times([comparison(), tally, decode], n=1000) == [
        "OCMS k=131072, 1,000 reports and all values decoded: pure-ldp HR 13.1 s, ours 13.1 ms, ratio 999"
    ]


def test_a_rate_is_evaluations_per_second_and_judged_by_the_median() -> None:
    from benchmarks.evaluations import Rate
    from benchmarks.measure import Spread

    assert Rate("all", Spread(2e9, 1.5e9, 3e9), 2e9).row == "| all | 2.00 | 1.50-3.00 | >=2 yes |"
    assert Rate("some", Spread(0.4e9, 0.1e9, 3e9), 5e8).row == "| some | 0.40 | 0.10-3.00 | >=0.5 NO |"


def test_reference_transform_is_the_walsh_hadamard_transform() -> None:
    from benchmarks.dictionaries import reference_transform
    from scipy.linalg import hadamard

    values = np.array([3, -1, 4, 1, -5, 9, 2, 6])
    expected = hadamard(8) @ values
    reference_transform(values)
    assert values.tolist() == expected.tolist()


# --------------------------------------------------------------------------------------------- two revisions in turns


@pytest.mark.long
def test_two_trees_take_turns(capfd: pytest.CaptureFixture[str]) -> None:
    from benchmarks import compare

    found = compare.compare(compare.ROOT, compare.ROOT, rounds=2, seconds=0.001, names=("GRR",))
    assert [(one["row"], one["verb"]) for one in found["rows"]] == [
        ("GRR(k=16, epsilon=1)", "randomize"),
        ("GRR(k=16, epsilon=1)", "aggregate"),
    ]
    assert all(one["before"] > 0 < one["now"] for one in found["rows"])
    assert found["left out"] == {}
    assert "GRR(k=16, epsilon=1) randomize" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("speeds", "kept"),
    [([1.0, 0.97], True), ([0.99, 0.89, 2.0], False), ([0.97, 0.97, 0.98], False), ([], False)],
)
def test_speed_is_kept_by_every_row_and_on_average(speeds: list[float], kept: bool) -> None:
    from benchmarks.compare import verdict

    assert verdict(speeds)[1] is kept


def test_the_page_on_capacity_quotes_its_results() -> None:
    from benchmarks import capacity, compare, files

    found = json.loads(capacity.RESULTS.read_text())
    page = capacity.PAGE.read_text()
    assert capacity.with_results(page, found) == page
    assert [row["row"] for row in found["costs"]] == [str(row) for row in (*compare.ROWS, *capacity.MORE)]
    assert all(abs(row["z_sd"] - 1) < 0.01 for row in found["large"])  # for 2^20 values this is ten standard deviations
    names = {job["job"] for job in json.loads(files.RESULTS.read_text())["jobs"]}
    assert names == {"copy", "randomize", "aggregate"}
    found["costs"][0]["bytes"] += 1
    assert capacity.with_results(page, found) != page


def test_the_page_on_benchmarks_quotes_its_results(tmp_path: Path) -> None:
    from benchmarks import quoted
    from benchmarks.pages import with_tables

    results, page = ROOT / "docs" / "results" / "benchmarks.json", tmp_path / "page.md"
    sections = json.loads(results.read_text())
    assert set(sections) == {"comparisons", "latency", "paths", "files", "engines"}
    assert with_tables(quoted.PAGE.read_text(), quoted.tables(sections)) == quoted.PAGE.read_text()
    # One section that is measured anew replaces the earlier section, and the others stay.
    page.write_text(quoted.PAGE.read_text())
    (tmp_path / "results.json").write_text(results.read_text())
    again = sections["engines"] | {"rows": 12, "jobs": [{"engine": "DuckDB", "verb": "add up"}]}
    quoted.write({"engines": again}, tmp_path / "results.json", page)
    assert "| 12 reports |" in page.read_text()
    assert "| DuckDB | add up | not installed | |" in " ".join(page.read_text().split(" "))
    assert quoted.tables(sections)["files"] in page.read_text()
    with pytest.raises(ValueError, match="must have a place for 'other'"):
        with_tables("no marks", {"other": ""})


def test_a_tree_of_processes_is_counted_as_one() -> None:
    from benchmarks.engines import tree_seconds

    before = tree_seconds()
    subprocess.run([sys.executable, "-c", "sum(i * i for i in range(2_000_000))"], check=True)
    assert tree_seconds() > before


def test_what_a_row_costs_is_of_its_reports() -> None:
    from benchmarks import capacity, compare

    row = compare.Row("SMP", {"sizes": (3, 300)}, 50)
    found = capacity.cost(row, 0.0001)
    assert found["bytes"] == 1 + 2
    assert found["state_bytes"] == 8 * (303 + 2)
    assert 0 < found["bulk_ns"] < 1000 * found["device_us"]
    assert capacity.size(131_072 * 10**9) == "131 TB"


@pytest.mark.long
def test_paths_are_set_beside_their_goals() -> None:
    from benchmarks import paths

    made = {"unit": "ns", "least": 5.0, "most": 7.0}
    rows = [
        {"path": "one", "ours": 6.0, "limit": 1.25, "goal": 5.5, **made},
        {"path": "two", "ours": 6.0, "limit": None, "goal": 4.5, **made},
    ]
    assert paths.table({"paths": rows}).splitlines()[2:] == [
        "| one | ns | 1.25 | 6.00 | 5.00-7.00 | <=5.5 yes |",
        "| two | ns |  | 6.00 | 5.00-7.00 | <=4.5 NO |",
    ]
    few = [("GRR", {"k": 5}, 1.0), ("RAPPOR", {"k": 9}, 2.0)]
    with pytest.MonkeyPatch.context() as patch:
        for name, some in (("RANDOMIZED", few), ("AGGREGATED", few[:1]), ("SINGLE", ())):
            patch.setattr(paths, name, some)
        patch.setattr(paths, "prepared", lambda: iter(()))
        patch.setattr(paths, "memory", lambda: {"path": "large", "unit": "GiB", "limit": 2.0, "goal": 3.5, **made})
        found = paths.measure(2, 0.001, note=lambda _: None)["paths"]
    assert [one["path"] for one in found] == [
        "GRR k=5: randomize",
        "RAPPOR k=9: randomize",
        "GRR k=5: aggregate",
        "large",
    ]
    # The words, or the reports, are a part of what is measured.
    assert all(0 < one["limit"] < one["most"] for one in found[:3])

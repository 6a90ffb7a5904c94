"""Comparisons of mechanisms: equal data and seeds, errors by their definitions, and other libraries in a process."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from deniable import GRR
from deniable.cli import app
from deniable.errors import InvalidParameterError, MissingExtraError
from deniable.research.comparison.comparing import Comparison, Functions, Row, candidate, compare

ROOT = Path(__file__).parents[3]
PEERS = ROOT / ".venv-peers" / "bin" / "python"
LAW = (0.5, 0.3, 0.2)

MINE = """
import numpy as np

def make(k, epsilon, spent=1.0):
    p = np.exp(spent * epsilon) / (np.exp(spent * epsilon) + k - 1)
    q = (1 - p) / (k - 1)

    def client(value):
        return value if np.random.random() < p else (value + 1 + np.random.randint(k - 1)) % k

    def estimate(reports):
        return (np.bincount(reports, minlength=k) / len(reports) - q) / (p - q)

    return client, estimate

def generous(k, epsilon):
    return make(k, epsilon, 2.5)

number = 3
"""

STUB = """
import numpy as np
from random import random

class DEClient:
    def __init__(self, epsilon, k, index_mapper):
        self.k = k
    def privatise(self, value):
        return value if random() < 0.9 else np.random.randint(self.k)

class DEServer:
    def __init__(self, epsilon, k, index_mapper):
        self.k = k
    def aggregate_all(self, reports):
        print("whatever a library prints")
        self.counts = np.bincount(reports, minlength=self.k)
    def estimate_all(self, values, suppress_warnings):
        return self.counts[list(values)]
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def test_errors_are_those_of_the_formula() -> None:
    """A mechanism whose errors are always .1 and -.1: all metrics by hand, and no bias beyond chance."""
    errors = np.array([0.1, -0.1, 0.0])
    shift = Functions(
        "shift", lambda value: value, lambda reports: np.bincount(reports, minlength=3) / 50 + errors, 3, 1
    )
    shift.laws = lambda: ""  # type: ignore[method-assign]  # it has no noise to test
    (row,) = compare([shift], LAW, 1.0, contributors=50, runs=4, seed=1).rows
    assert row.mse == pytest.approx(0.02 / 3)
    assert row.mse_error == pytest.approx(0, abs=1e-9)
    assert row.mae == pytest.approx(0.2 / 3)
    assert row.largest == pytest.approx(0.1)
    assert row.bias > 1e6


def test_our_error_is_the_variance_that_the_channel_has() -> None:
    """The mean squared error of 400 runs is within 5 standard errors of the exact variance at the mean frequency."""
    n, grr = 200, GRR(k=3, epsilon=1.0)
    (row,) = compare([candidate("GRR", 3, 1.0)], LAW, 1.0, contributors=n, runs=400, seed=3).rows
    exact = np.mean([grr.variance(f, n) for f in LAW])
    assert abs(row.mse - exact) < 5 * row.mse_error
    assert row.bias < 5


def test_equal_seeds_give_equal_numbers_and_others_do_not(mine: Path) -> None:
    def run(seed: int) -> list[float]:
        chosen = [candidate(f"{mine}:make", 3, 1.0), candidate("OUE", 3, 1.0)]
        return [row.mse for row in compare(chosen, LAW, 1.0, contributors=100, runs=3, seed=seed).rows]

    assert run(1) == run(1)
    assert all(one != other for one, other in zip(run(1), run(2), strict=True))


def test_the_law_that_a_mechanism_breaks_is_named(mine: Path) -> None:
    assert candidate(f"{mine}:make", 3, 1.0).laws() == "hold"
    assert (
        candidate(f"{mine}:generous", 3, 1.0)
        .laws()
        .startswith("keeps_the_budget: in 4000 draws from each value, report")
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("{mine}:absent", "has no function “absent”"),
        ("{mine}:number", "has no function"),
        ("nowhere.py:make", "candidate must name a file or a module"),
        ("builtins:divmod", "must return a pair of functions"),
        ("pure-ldp/SS", "must be one of GRR, OUE, OLH"),
        ("NOPE", "mechanism must be one of"),
    ],
)
def test_what_cannot_run_is_refused(mine: Path, name: str, reason: str) -> None:
    with pytest.raises(InvalidParameterError, match=reason):
        candidate(name.format(mine=mine), 3, 1.0)


def test_frequencies_are_checked() -> None:
    with pytest.raises(InvalidParameterError, match=r"sum to 1, got a sum of 1\.1"):
        compare([candidate("GRR", 2, 1.0)], [0.5, 0.6], 1.0, 10, 2, 1)


def test_another_library_runs_in_a_process_and_is_seeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stub of pure-ldp: its output does not disturb the answer, and its random generators are seeded."""
    package = tmp_path / "pure_ldp" / "frequency_oracles"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("")
    (package / "direct_encoding.py").write_text(STUB)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    peer = candidate("pure-ldp/GRR", 3, 1.0, Path(sys.executable))
    answers = [np.array([0, 1, 2] * 20)] * 2
    first, again = peer.estimates(answers, [1, 1])
    assert first.tolist() == again.tolist()
    assert peer.estimates(answers, [1, 2])[1].tolist() != first.tolist()
    assert first.sum() == pytest.approx(1)
    assert peer.laws() == ""


def test_a_library_that_is_not_installed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(
        MissingExtraError, match=r"multi-freq-ldpy/GRR did not run .* No module named 'multi_freq_ldpy'"
    ):
        candidate("multi-freq-ldpy/GRR", 3, 1.0).estimates([np.array([0])], [1])


@pytest.mark.skipif(not PEERS.exists(), reason="make bench installs the other libraries")
@pytest.mark.parametrize("name", ["multi-freq-ldpy/OUE", "pure-ldp/GRR", "ldp-toolbox/SS"])
def test_other_libraries_estimate_frequencies(name: str) -> None:
    (row,) = compare([candidate(name, 3, 2.0, PEERS)], LAW, 2.0, contributors=1_000, runs=5, seed=1).rows
    assert 0 < row.mse < 0.01


def test_the_table_for_latex_escapes_names() -> None:
    row = Row("my_own & more", 1.5e-4, 2e-6, 0.01, 0.03, 1.0, "")
    text = Comparison((0.5, 0.5), 1.0, 10, 2, 1, (row,)).latex()
    assert r"my\_own \& more & 150.000 & 2.000 & 0.01000 & 0.03000 \\" in text
    assert text.count("&") == 4 + 4 + 1
    assert text.startswith("% Errors of estimated frequencies")
    assert text.endswith("\\end{tabular}\n")


def test_the_command_prints_a_table_and_writes_latex(mine: Path, tmp_path: Path) -> None:
    command = ["bench", "compare", f"{mine}:generous", "GRR", "--frequencies", ".5,.3,.2", "--contributors", "200"]
    command += ["--runs", "3", "--latex", str(tmp_path / "table.tex")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "generous breaks keeps_the_budget: in" in result.output.replace("\n", " ")
    assert r"deniable/GRR &" in (tmp_path / "table.tex").read_text()
    found: dict[str, Any] = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert [row["name"] for row in found["rows"]] == ["generous", "deniable/GRR"]
    assert math.isclose(sum(found["frequencies"]), 1)

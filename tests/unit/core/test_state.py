"""Impossible counters are refused: the laws of each mechanism's state, and of 64-bit integers."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from deniable import GRR, OUE, SMP, Aggregate, CountMeanSketch, SimulationRandomness, SubsetSelection
from deniable.core.names import CLASSES
from deniable.errors import DamagedStateError, FileFormatError, InvalidParameterError, TooLargeError
from deniable.oracles.bits import bit_outputs
from deniable.oracles.sketch.heavy_hitters import HeavyHitters
from deniable.research.baselines import SHE, AppleCMS, AppleHCMS
from deniable.research.baselines.hadamard import HadamardEncoding
from deniable.research.dealt.coupling.coupled_oue import CoupledOUE
from deniable.research.dealt.coupling.jrr_local_hashing import JRRLocalHashing
from deniable.research.dealt.quota.batches import QuotaBatches
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.records import QuotaRecords
from deniable.research.dealt.quota.unary import QuotaUnary
from deniable.research.families.query_sketch import QuerySketch
from deniable.research.records.corr_rr_aligned import AlignedCorrRR
from deniable.testing.laws import length, take
from tests.contract.cases import CASES, grid
from tests.research.dealt.dealt_cases import DEALT_CASES

PEOPLE = 6
"""Largest number of reports that are drawn; there are at least as many contributors as in the deals."""


SAMPLED = (AppleCMS, HeavyHitters, JRRLocalHashing, QuerySketch)
"""Mechanisms whose reports are not all listed, or whose states obey more laws than those of any queries do."""


def _outputs(mechanism: Any) -> Any:
    """Return reports of all kinds, each at least once if they can be listed."""
    if isinstance(mechanism, (QuotaUnary, CoupledOUE)):
        return bit_outputs(mechanism.k, "")
    if isinstance(mechanism, (QuotaRecords, QuotaBatches)):
        pairs = [(g, v) for g, part in enumerate(mechanism.parts) for v in range(part.k)]
        return mechanism.report_type(*np.array(pairs).T)
    if isinstance(mechanism, JRRLocalHashing):
        return mechanism.hashes.join(mechanism.hashes.draw_parameters(SimulationRandomness(1), 40), np.arange(40) % 2)
    if isinstance(mechanism, (AppleCMS, HeavyHitters, AlignedCorrRR)):
        inputs: Any = ["a", "bc", "zebra", "ab"] * 8 if isinstance(mechanism, HeavyHitters) else np.arange(32) % 3
        inputs = np.stack([inputs % 2, inputs], axis=1) if isinstance(mechanism, AlignedCorrRR) else inputs
        return mechanism.randomize(inputs, SimulationRandomness(1))
    return mechanism.outputs() if hasattr(mechanism, "outputs") else np.arange(mechanism.state_size)


def _makers() -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {case.name: partial(case.build, *grid(case)[0]) for case in CASES}
    found |= {case.name: partial(case.build, 48, "d") for case in DEALT_CASES}
    found |= {
        name: partial(QuotaBatches, 1.0, 12, 2, epsilon_aux=e)
        for name, e in (("QuotaBatches", None), ("QuotaBatches-capped", 2.0))
    }
    return found | {
        "AppleCMS": partial(AppleCMS, 3, 1.0, m=3, hashes=2),
        "AppleHCMS": partial(AppleHCMS, 3, 1.0, m=2, hashes=2),
        "HeavyHitters": partial(HeavyHitters, 2.0, max_bytes=5),
        "Corr-RR aligned": partial(AlignedCorrRR, (2, 3), 1.0, ((1, 0.8), (0.8, 1))),
    }


MAKERS = _makers()


def test_every_registered_mechanism_is_here() -> None:
    assert {make().name for make in MAKERS.values()} == set(CLASSES)


@pytest.mark.parametrize("name", MAKERS)
def test_what_reports_add_up_to_passes_and_nothing_beyond_it(name: str) -> None:
    """The box and the linear laws, found by brute force from single reports.

    A cell is refused if n reports cannot reach its value. A change of one cell is refused if a linear equation of all
    states forbids it, that is, if no combination of differences between reports makes it.
    """
    mechanism = MAKERS[name]()
    outputs = _outputs(mechanism)
    rows = np.unique(np.linspace(0, length(outputs) - 1, 200).astype(int))
    states = np.array([mechanism.aggregate(take(outputs, slice(o, o + 1))).counts for o in rows], dtype=np.int64)
    low, high = states.min(axis=0), states.max(axis=0)
    complete = len(rows) == length(outputs) and not isinstance(mechanism, SAMPLED)
    differences = (states - states[0]).astype(np.float64)
    fixed = _fixed_cells(differences) if complete and states.shape[1] <= 64 else []

    @given(st.lists(st.integers(0, len(rows) - 1), max_size=PEOPLE), st.data())
    @settings(max_examples=30, deadline=None)
    def check(chosen: list[int], data: st.DataObject) -> None:
        n = len(chosen)
        counts = states[chosen].sum(axis=0)
        aggregate = mechanism.aggregate(take(outputs, rows[chosen]))
        assert np.array_equal(aggregate.counts, counts)
        parts = [mechanism.aggregate(take(outputs, rows[part])) for part in (chosen[:1], chosen[1:])]
        assert parts[0] + parts[1] == aggregate
        cell = data.draw(st.integers(0, len(counts) - 1))
        reach = max(abs(int(low.min())), int(high.max())) * n
        for value in (-reach - 1, reach + 1, 1 << 62, -(1 << 62), (1 << 63) - 1):
            _refused(mechanism, counts, cell, value, n)
        for step in (1, -1) if cell in fixed else ():
            _refused(mechanism, counts, cell, int(counts[cell]) + step, n)

    check()


def _fixed_cells(differences: NDArray[np.float64]) -> list[int]:
    size = differences.shape[1]
    rank = np.linalg.matrix_rank(differences)
    return [c for c in range(size) if np.linalg.matrix_rank(np.vstack([differences, np.eye(size)[c]])) > rank]


def _refused(mechanism: Any, counts: NDArray[np.int64], cell: int, value: int, n: int) -> None:
    wrong = counts.copy()
    wrong[cell] = value
    with pytest.raises(
        DamagedStateError, match=rf"{n} reports of .* cannot have these counts: .*counts|signs|must sum"
    ):
        Aggregate(mechanism, wrong, n)


@pytest.mark.parametrize("n", range(4))
def test_sums_of_signs_are_told_exactly(n: int) -> None:
    """All vectors in a box: exactly those that n reports cannot give are refused."""
    encoding = HadamardEncoding(2, 1.0)
    single = np.array([encoding.aggregate(encoding.outputs()[o : o + 1]).counts for o in range(8)])
    possible = {(0,) * 4}
    for _ in range(n):
        possible = {tuple((np.array(state) + add).tolist()) for state in possible for add in single}
    for state in np.ndindex(*(2 * n + 3,) * 4):
        counts = np.array(state) - n - 1
        if tuple(counts.tolist()) in possible:
            Aggregate(encoding, counts, n)
        else:
            with pytest.raises(DamagedStateError):
                Aggregate(encoding, counts, n)


def test_a_report_has_one_hash_function() -> None:
    """Two cells of two functions cannot both be full, two of one can."""
    sketch = AppleCMS(3, 1.0, m=3, hashes=2)
    Aggregate(sketch, np.array([2, 2, 0, 1, 0, 1]), 3)
    with pytest.raises(DamagedStateError, match="the largest counts of all must sum to <= 3, got 4"):
        Aggregate(sketch, np.array([2, 2, 0, 0, 2, 0]), 3)


def test_sets_have_their_size() -> None:
    mechanism = SubsetSelection(5, 1.0, omega=2)
    with pytest.raises(DamagedStateError, match=r"counts\[0\.\.4\] must sum to 6, got 5"):
        Aggregate(mechanism, np.array([3, 1, 1, 0, 0]), 3)
    with pytest.raises(DamagedStateError, match=r"counts\[0\] must be in 0\.\.3, got 4"):
        Aggregate(mechanism, np.array([4, 1, 1, 0, 0]), 3)


def test_attributes_have_as_many_reports_as_they_say() -> None:
    sample = SMP((2, 3), 1.0)
    Aggregate(sample, np.array([1, 1, 0, 1, 0, 2, 1]), 3)
    with pytest.raises(DamagedStateError, match=r"counts\[5\.\.6\] must sum to 3, got 4"):
        Aggregate(sample, np.array([1, 1, 0, 2, 0, 2, 2]), 3)
    with pytest.raises(
        DamagedStateError, match=r"part 1, from counts\[2\] on, of 1 reports: counts\[0\.\.2\] must sum to 1"
    ):
        Aggregate(sample, np.array([1, 1, 0, 2, 0, 2, 1]), 3)


def test_a_deal_has_no_more_reports_than_contributors() -> None:
    quota = QuotaRR(1.0, 10, 2)
    whole = quota.simulate_aggregate([5, 5], SimulationRandomness(1))
    with pytest.raises(DamagedStateError, match="a deal to n=10 contributors has at most as many reports, got 20"):
        whole + whole
    # Quotas do not bind malicious contributors: all of them may report what most were told not to report.
    quota.estimate(quota.aggregate([0] * 10))


# ------------------------------------------------------------------------------------------------ 64 bits


@pytest.mark.parametrize("n", [True, 3.0, 100.7, "3", None, -1, 1 << 62, 1 << 70])
def test_n_is_an_integer(n: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="n must be"):
        Aggregate(GRR(3, 1.0), np.array([1, 1, 1]), n)
    assert Aggregate(GRR(3, 1.0), np.array([1, 1, 1]), np.int32(3)).n == 3  # type: ignore[arg-type]
    with pytest.raises(FileFormatError, match=r"x\.aggregate"):
        Aggregate.load(_file(tmp_path / "x.aggregate", [1, 1, 1], n=n))


def test_unsigned_counts_do_not_wrap() -> None:
    oue = OUE(2, 1.0)
    assert Aggregate(oue, np.array([1, 2], dtype=np.uint64), 2).counts.dtype == np.int64
    with pytest.raises(InvalidParameterError, match=r"counts must be < 2\^62, got counts\[1\]=18446744073709551615"):
        Aggregate(oue, np.array([1, 2**64 - 1], dtype=np.uint64), 2)


def test_sums_do_not_wrap() -> None:
    big = (1 << 61) + 5
    grr = GRR(3, 1.0)
    half = Aggregate(grr, np.array([big, 0, 0]), big)
    with pytest.raises(TooLargeError, match=rf"must have fewer than 2\^62 reports in total, got {big} \+ {big}"):
        half + half
    # Counters of SHE are sums of components far above one.
    she = SHE(2, 1.0, resolution=1 << 10, clamp=1 << 12)
    n, one = (1 << 50), (1 << 50) * ((1 << 12) - 1)
    sums = Aggregate(she, np.array([0, one]), n)
    with pytest.raises(DamagedStateError, match=rf"counts\[1\] must be in .*, got {2 * one}"):
        sums + sums
    # A histogram whose sum wraps to n is not a valid histogram.
    with pytest.raises(DamagedStateError, match=rf"counts\[0\.\.4\] must sum to 5, got {(1 << 64) + 5}"):
        Aggregate(GRR(5, 1.0), np.array([1 << 62, 1 << 62, 1 << 62, 1 << 62, 5]), 5)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_compact_states_are_checked_in_64_bits(dtype: Any) -> None:
    sketch = CountMeanSketch(2000, 1.0, 4, "spread")
    counts = np.zeros(sketch.state_size, dtype=dtype)
    counts[:3] = (1 << 31) - 1
    assert Aggregate(sketch, counts, 3 * ((1 << 31) - 1)).counts.dtype == np.int32
    with pytest.raises(DamagedStateError, match="must sum to"):
        Aggregate(sketch, counts, 3 * ((1 << 31) - 1) - (1 << 32))


def test_read_only_counts_are_not_shared_with_what_can_be_written() -> None:
    owner = np.array([1, 1, 1])
    view = owner.view()
    view.setflags(write=False)
    aggregate = Aggregate(GRR(3, 1.0), view, 3)
    owner[0] = 9
    assert aggregate.counts.tolist() == [1, 1, 1]


# ------------------------------------------------------------------------------------------------ files


def _file(path: Path, counts: Any, **changes: Any) -> Path:
    header = {
        "format": "deniable aggregate",
        "version": 1,
        "mechanism": {"mechanism": "GRR", "k": 3, "epsilon": "1"},
        "n": 3,
        "collection": "",
        "batches": [],
    }
    table = pa.table({"counts": counts}).replace_schema_metadata({"deniable": json.dumps(header | changes)})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    return path


@pytest.mark.parametrize(
    ("counts", "changes", "message"),
    [
        ([-1, 2, 2], {}, r"counts\[0\] must be in 0\.\."),
        ([1, 1, 2], {}, r"counts\[0\.\.2\] must sum to 3, got 4"),
        (pa.array([1, 1, 2**64 - 1], pa.uint64()), {}, r"counts must be < 2\^62"),
        ([1.0, 1.0, 1.0], {}, "is not an aggregate file, or the file is damaged"),
        ([1, None, 2], {}, "counts must be integers"),
        ([1, 1, 1], {"version": True}, "of version true"),
        ([1, 1, 1], {"version": 1.0}, r"of version 1\.0"),
        ([1, 1, 1], {"collection": 7}, "collection must be a string"),
        ([1, 1, 1], {"batches": "abc"}, "batches must be a list of strings"),
        ([1, 1, 1], {"batches": [["a"]]}, "batches must be a list of strings"),
    ],
)
def test_files_are_not_believed(tmp_path: Path, counts: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(FileFormatError, match=rf"x\.aggregate.*{message}"):
        Aggregate.load(_file(tmp_path / "x.aggregate", counts, **changes))
    assert Aggregate.load(_file(tmp_path / "y.aggregate", [1, 1, 1])).n == 3

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from deniable import Aggregate, SimulationRandomness
from deniable.core.spec import from_spec, to_spec
from deniable.errors import (
    DamagedStateError,
    EmptyAggregateError,
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
)
from deniable.oracles.sketch.count_mean_sketch import QUERY_ROWS, CountMeanSketch
from deniable.oracles.sketch.families.prime import HashedReports, smallest_prime
from deniable.research.families.query_sketch import QuerySketch


@pytest.mark.parametrize("family", ["prime", "spread"])
def test_a_query_list_is_part_of_the_whole(family: str) -> None:
    sketch = CountMeanSketch(700, 2.0, family=family)
    queries = (699, 3, 0, 350)
    asked = QuerySketch(sketch, queries)
    reports = sketch.randomize(np.arange(5000) % 700, SimulationRandomness(1))
    halves = [_part(reports, slice(0, 2000)), _part(reports, slice(2000, 5000))]
    state = asked.aggregate(halves[0]) + asked.aggregate(halves[1])
    whole = sketch.aggregate(reports)
    assert state.counts.tolist() == sketch.hashes.decode(whole.counts, 5000)[list(queries)].tolist()
    estimate, full = asked.estimate(state), sketch.estimate(whole)
    assert estimate.labels == ("699", "3", "0", "350")
    assert (estimate.frequencies == full.frequencies[list(queries)]).all()
    assert (estimate.standard_errors == full.standard_errors[list(queries)]).all()
    by_query = sketch.estimate(whole, queries)
    assert by_query.labels == estimate.labels
    assert (by_query.frequencies == estimate.frequencies).all()
    repeated = sketch.estimate(whole, [3, 3])
    assert repeated.labels == ("3", "3")


def _part(reports: Any, rows: slice) -> Any:
    return type(reports)(*(column[rows] for column in reports)) if isinstance(reports, tuple) else reports[rows]


def test_many_queries_decode_everything_once() -> None:
    sketch = CountMeanSketch(700, 2.0, family="spread")
    whole = sketch.aggregate(sketch.randomize(np.arange(5000) % 700, SimulationRandomness(1)))
    everything = sketch.hashes.decode(whole.counts, 5000)
    queries = np.arange(699, -1, -1)
    assert (sketch.hashes.decode_queries(whole.counts, 5000, queries) == everything[queries]).all()


def test_progress_is_told() -> None:
    sketch = CountMeanSketch(2**32, 1.0, 2)
    n = QUERY_ROWS + 10
    reports = HashedReports(*(np.zeros(n, dtype=dtype) for dtype in (np.uint64, np.uint64, np.uint8)))
    told: list[tuple[int, int]] = []
    # a0 = a1 = 0 maps everything to cell 0.
    counts = sketch.count_support(reports, [5, 77], progress=lambda done, total: told.append((done, total)))
    assert counts.tolist() == [n, n]
    assert told == [(QUERY_ROWS, n), (n, n)]


def test_the_specification_nests() -> None:
    asked = QuerySketch(CountMeanSketch(2**32, 0.1), (2**32 - 1, 5))
    spec = to_spec(asked)
    assert spec["mechanism"] == "CMS-queries"
    assert spec["sketch"]["mechanism"] == "CMS"
    assert from_spec(json.loads(json.dumps(spec))) == asked


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ((1, 2, 1), "queries must be distinct, got the code 1 at the positions 0 and 2"),
        ((), "queries must list at least one code, got none"),
        ((3, 10), r"queries must be in 0\.\.9, got queries\[1\]=10"),
        ((-1,), r"got queries\[0\]=-1"),
        ((1.0,), r"got queries\[0\]=1.0"),
        ((True,), r"got queries\[0\]=true"),
    ],
)
def test_bad_queries_are_named(queries: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        QuerySketch(CountMeanSketch(10, 1.0), queries)


def test_bad_calls_are_named() -> None:
    sketch = CountMeanSketch(10, 1.0)
    with pytest.raises(InvalidParameterError, match="sketch must be a CountMeanSketch, got int"):
        QuerySketch(3, (1,))  # type: ignore[arg-type]
    with pytest.raises(EmptyAggregateError, match="n=0"):
        sketch.estimate_support([0], 0, [1])
    aggregate = sketch.aggregate(sketch.randomize([1, 2], SimulationRandomness(1)))
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.9, got something else in row 2"):
        sketch.estimate(aggregate, [0, 10])
    with pytest.raises(DamagedStateError, match=r"counts\[3\] must be in 0\.\.2, got 7"):
        Aggregate(sketch, np.array([0, 0, 0, 7, 0, 0, 0, 0, 0, 0]), 2)


def test_impossible_prime_reports_can_be_skipped() -> None:
    sketch = CountMeanSketch(10, 1.0, 4)
    prime = smallest_prime(28)
    good = sketch.randomize(np.arange(20) % 10, SimulationRandomness(1))
    a0 = good.a0.copy()
    a0[3] = prime
    value = good.value.copy()
    value[[3, 9]] = (200, 4)
    kept = sketch.valid_reports(HashedReports(a0, good.a1, value))
    assert kept.rejected == 2
    assert kept.first_error == f"a0 must be in 0..{prime - 1}, got a0={prime} in row 4"
    rest = [i for i in range(20) if i not in (3, 9)]
    assert all((column == before[rest]).all() for column, before in zip(kept.reports, good, strict=True))
    assert sketch.valid_reports(good)[1:] == (0, "")
    assert QuerySketch(sketch, (1,)).valid_reports(HashedReports(a0, good.a1, value)).rejected == 2
    for malformed in (HashedReports(a0[:5], good.a1, value), HashedReports(a0 * 0.5, good.a1, value), a0):
        with pytest.raises(InvalidReportError):
            sketch.valid_reports(malformed)

"""DuckDB and `deniable aggregate` give the same aggregates and the same refusals. `make engines`."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import Attribute, Collection, Schema, SimulationRandomness, mechanism
from deniable.engines import duckdb
from deniable.errors import (
    DuplicateReportsError,
    EmptyAggregateError,
    FileFormatError,
    InvalidParameterError,
    InvalidReportError,
    MismatchError,
)
from deniable.files import aggregate_files, write_reports

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"
SETTINGS: dict[str, dict[str, Any]] = {
    "GRR": {"k": 16},
    "GRR[300]": {"k": 300},
    "SquareWave": {"k": 40},
    "PGR": {"k": 100},
    "RHR": {"k": 100},
}


@pytest.fixture
def connection() -> Any:
    return pytest.importorskip("duckdb", reason="make engines installs DuckDB").connect()


def survey(setting: str, epsilon: float = 1.0) -> Collection:
    parameters = SETTINGS[setting]
    labels = tuple(f"answer {value}" for value in range(parameters["k"]))
    built = mechanism(setting.partition("[")[0], **parameters, epsilon=epsilon)
    return Collection(Schema((Attribute("item", labels),)), built)


def written(collection: Collection, path: Path, n: int, seed: int = 1) -> Path:
    rng = SimulationRandomness(seed)
    codes = np.arange(n)[:, None] % collection.schema.sizes[0]
    write_reports(path, collection, [collection.randomize(codes, rng)], rng)
    return path


@pytest.mark.parametrize("setting", SETTINGS)
def test_it_makes_the_aggregate_of_the_command_line(setting: str, connection: Any, tmp_path: Path) -> None:
    collection = survey(setting)
    for i, n in enumerate((3000, 1, 700)):
        written(collection, tmp_path / f"{i}.parquet", n, seed=i)
    expected = aggregate_files(collection, [tmp_path], tmp_path / "total.arrow")
    assert duckdb.aggregate(connection, str(tmp_path / "*.parquet"), collection) == expected
    names = [str(tmp_path / f"{i}.parquet") for i in (1, 0)]
    part = duckdb.aggregate(connection, names, collection)
    assert part + duckdb.aggregate(connection, str(tmp_path / "2.parquet"), collection) == expected
    with pytest.raises(DuplicateReportsError):
        part + duckdb.aggregate(connection, names[0], collection)


def test_what_is_wrong_is_refused(connection: Any, tmp_path: Path) -> None:
    collection = survey("GRR")
    path = str(written(collection, tmp_path / "a.parquet", 100))
    shutil.copy(path, tmp_path / "copy.parquet")
    with pytest.raises(DuplicateReportsError, match="contain the same batch"):
        duckdb.aggregate(connection, [path, str(tmp_path / "copy.parquet")], collection)
    with pytest.raises(DuplicateReportsError):
        duckdb.aggregate(connection, [path, path], collection)
    with pytest.raises(MismatchError, match="contains reports of collection"):
        duckdb.aggregate(connection, path, survey("GRR", epsilon=2.0))
    empty = str(written(collection, tmp_path / "empty.parquet", 0))
    with pytest.raises(EmptyAggregateError):
        duckdb.aggregate(connection, empty, collection)
    with pytest.raises(InvalidParameterError, match="at least one file"):
        duckdb.aggregate(connection, [], collection)
    for absent in ("nothing.parquet", "nothing-*.parquet"):
        with pytest.raises(FileFormatError, match="DuckDB cannot read"):
            duckdb.aggregate(connection, str(tmp_path / absent), collection)
    pq.write_table(pa.table({"value": [1]}), tmp_path / "foreign.parquet")
    with pytest.raises(FileFormatError, match="is not a report file"):
        duckdb.aggregate(connection, [path, str(tmp_path / "foreign.parquet")], collection)
    other = Collection(collection.schema, mechanism("OUE", k=16, epsilon=1.0))
    with pytest.raises(InvalidParameterError, match="is not available for"):
        duckdb.aggregate(connection, path, other)


@pytest.mark.parametrize(
    ("changed", "value", "error"),
    [
        ("collection", "0" * 64, MismatchError),
        ("collection", None, MismatchError),
        ("value", 16, InvalidReportError),
        ("value", None, InvalidReportError),
    ],
)
def test_a_row_that_is_not_the_collection_s(
    changed: str, value: Any, error: type[Exception], connection: Any, tmp_path: Path
) -> None:
    collection = survey("GRR")
    path = written(collection, tmp_path / "a.parquet", 100)
    table, stated = pq.read_table(path), pq.read_metadata(path).metadata[b"deniable"]
    columns = {name: table[name].to_pylist() for name in table.column_names}
    columns[changed][50] = value
    pq.write_table(pa.table(columns).replace_schema_metadata({b"deniable": stated}), path)
    with pytest.raises(error) as caught:
        duckdb.aggregate(connection, str(path), collection)
    assert "16" not in str(caught.value)


def test_the_example_of_the_page(connection: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = survey("GRR")
    collection.save(tmp_path / "survey.json")
    (tmp_path / "reports").mkdir()
    written(collection, tmp_path / "reports" / "a.parquet", 500)
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```py\n(import duckdb\n.*?)```", PAGE.read_text(), flags=re.DOTALL)
    exec(compile(example, str(PAGE), "exec"), {})
    expected = aggregate_files(collection, [tmp_path / "reports"], tmp_path / "expected.arrow")
    assert (tmp_path / "total.arrow").read_bytes() == expected.to_bytes()

"""Tables that are read from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from deniable.files.formats.tables import open_answers


def _read(path: Path, columns: list[str] | None = None) -> dict[str, list[Any]]:
    with open_answers(path, columns) as reader:
        table = pa.Table.from_batches(list(reader))
        assert reader.done == reader.total
        assert reader.rows == table.num_rows
    result: dict[str, list[Any]] = table.to_pydict()
    return result


def _read_bytes(
    directory: Path, content: bytes, name: str = "a.csv", columns: list[str] | None = None
) -> dict[str, Any]:
    (directory / name).write_bytes(content)
    return _read(directory / name, columns)

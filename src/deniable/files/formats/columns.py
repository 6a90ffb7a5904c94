"""Conversion of a batch of reports between arrays and Arrow columns, by the mechanism's `report_fields`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deniable.core.checks import listed
from deniable.core.mechanism import Mechanism, ReportField
from deniable.errors import FileFormatError, InvalidReportError, quoted


def arrow_type(field: ReportField) -> pa.DataType:
    """Return the Arrow type that stores a field: fixed-size binary for bytes, a fixed-size list for other rows."""
    element = pa.from_numpy_dtype(np.dtype(field.dtype))
    if field.width is None:
        return element
    return (
        pa.binary(field.width) if field.dtype == "uint8" else pa.list_(pa.field("element", element, False), field.width)
    )


def arrays_of(reports: Any, fields: tuple[ReportField, ...]) -> list[NDArray[Any]]:
    """Return the columns of a batch of reports, checked against the mechanism's fields."""
    parts = [reports] if len(fields) == 1 else list(reports)
    if len(parts) != len(fields):
        raise InvalidReportError(
            f"reports must have the fields {listed([field.name for field in fields])}, got {len(parts)} arrays"
        )
    arrays = [np.ascontiguousarray(part) for part in parts]
    for array, field in zip(arrays, fields, strict=True):
        shape = (len(arrays[0]),) if field.width is None else (len(arrays[0]), field.width)
        if array.dtype != np.dtype(field.dtype) or array.shape != shape:
            raise InvalidReportError(
                f"report field {quoted(field.name)} must have dtype={field.dtype}, shape={shape}, got "
                f"dtype={array.dtype}, shape={array.shape}"
            )
    return arrays


def to_arrow(array: NDArray[Any], field: ReportField) -> pa.Array:
    """Return a field's array as an Arrow column, without copying."""
    kind = arrow_type(field)
    if field.width is None:
        return pa.array(array, kind)
    if field.dtype == "uint8":
        return pa.Array.from_buffers(kind, len(array), [None, pa.py_buffer(array)])
    return pa.FixedSizeListArray.from_arrays(pa.array(array.reshape(-1)), type=kind)


def to_numpy(column: pa.Array, field: ReportField, source: str, start: int) -> NDArray[Any]:
    """Return an Arrow column as a field's array; `start` rows of `source` came before it.

    Raises
    ------
    InvalidReportError
        If a report is null; the message names its row.
    """
    if column.null_count:
        row = start + int(column.is_null().to_numpy(zero_copy_only=False).argmax()) + 1
        raise InvalidReportError(
            f"{source}: report field {quoted(field.name)} must have a value in every row, but it is empty (null) in "
            f"row {row}"
        )
    if field.width is None:
        values = column.to_numpy(zero_copy_only=False)
    elif field.dtype == "uint8":
        first = column.offset * field.width
        values = np.frombuffer(column.buffers()[1], np.uint8)[first : first + len(column) * field.width]
    else:
        values = column.flatten().to_numpy(zero_copy_only=False)
    # The copy is needed because Arrow's memory is read-only: every compiled loop would be compiled once more for it.
    return np.array(values).reshape(len(column), *(() if field.width is None else (field.width,)))


def check_column(schema: pa.Schema, field: ReportField, path: str) -> None:
    """Raise FileFormatError unless a file has a field's column, of its type."""
    index = schema.get_field_index(field.name)
    if index < 0:
        raise FileFormatError(
            f"{path} must have the column {quoted(field.name)}, but its columns are {quoted(schema.names)}"
        )
    found, expected = schema.field(index).type, arrow_type(field)
    if pa.types.is_fixed_size_list(expected) and pa.types.is_fixed_size_list(found):
        same = found.list_size == expected.list_size and found.value_type == expected.value_type
    else:
        same = found == expected
    if not same:
        raise FileFormatError(f"{path}: column {quoted(field.name)} must have the type {expected}, got {found}")


def report_arrays(batch: pa.RecordBatch | pa.Table, mechanism: Mechanism[Any]) -> Any:
    """Return the reports in an Arrow batch as the mechanism's report type, for engines that keep columns.

    Engines change types. They may return a uint8 as a signed integer or a decimal, fixed-size binary as binary, and a
    fixed-size list as a list. All these are converted back exactly, or refused.

    Parameters
    ----------
    batch : pyarrow.RecordBatch or pyarrow.Table
        Batch with a column for each of `mechanism.report_fields`. Other columns are ignored.
    mechanism : Mechanism
        Mechanism of the reports.

    Raises
    ------
    InvalidReportError
        If a column is missing, a value is null, or values do not fit the field.

    Examples
    --------
    >>> from deniable import SMP
    >>> smp = SMP(sizes=(2, 300), epsilon=1.0)
    >>> reports = report_arrays(pa.table({"attribute": [0, 1], "value": [1, 299]}), smp)
    >>> reports.value.dtype, smp.aggregate(reports).n
    (dtype('uint16'), 2)
    """
    table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
    arrays = []
    for field in mechanism.report_fields:
        if table.schema.get_field_index(field.name) < 0:
            raise InvalidReportError(
                f"a batch must have the column {quoted(field.name)}, got the columns {listed(table.column_names)}"
            )
        column = table.column(field.name).combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # Arrow keeps a column without chunks chunked
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        arrays.append(to_numpy(_taken_back(column, field), field, "the batch", 0))
    return mechanism.report_type(*arrays)


def _taken_back(column: pa.Array, field: ReportField) -> pa.Array:
    kind = arrow_type(field)
    try:
        if pa.types.is_fixed_size_list(kind) and not pa.types.is_fixed_size_list(column.type):
            lengths = pc.list_value_length(column)
            if column.null_count or not pc.all(pc.equal(lengths, field.width), min_count=0).as_py():
                raise ValueError
            values = column.flatten().cast(kind.value_type)
            return pa.FixedSizeListArray.from_arrays(values, type=kind)
        return column if column.type == kind else column.cast(kind)
    except (pa.ArrowException, ValueError):
        # The cause is not chained, because its message may quote a report.
        raise InvalidReportError(
            f"report field {quoted(field.name)} must have values of the type {kind}, but its column has the type "
            f"{column.type}, which cannot be converted; write the column with the type {kind}"
        ) from None

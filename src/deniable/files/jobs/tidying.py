"""Answers with a common spelling for spellings that seem to be one answer."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from deniable.core.outputs import atomic_path
from deniable.files.formats.tables import open_answers
from deniable.files.jobs.randomizing import PathLike, refuse_overwriting
from deniable.survey.decimals import NumberColumns
from deniable.survey.encoding import is_list_type


def tidy_file(
    answers: PathLike,
    output: PathLike,
    spellings: Mapping[str, Mapping[str, str]],
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> int:
    """Holder of answers: copy a file of answers as CSV, with other spellings for some cells, before randomising.

    Parameters
    ----------
    answers : path
        File of answers: CSV, Parquet or a workbook, see `open_answers`.
    output : path
        Path for the copy. Only its owner can read it, because only the holder may read the answers.
    spellings : mapping of columns to mappings
        New spellings of cells, for instance `DraftResult.spellings`. Other cells stay as they are.
    delimiter : str, optional
        Delimiter of the cells of CSV, if it cannot be detected.
    decimal : {"point", "comma"}, optional
        Decimal mark, if the file leaves it open. The copy has decimal points.

    Returns
    -------
    int
        Number of cells that were changed.

    Raises
    ------
    FileFormatError, InvalidInputError
        If the answers cannot be read.
    OutputError
        If the copy cannot be written.

    Examples
    --------
    >>> from pyarrow import table
    >>> from pyarrow.csv import write_csv
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     answers, tidy = Path(folder) / "answers.csv", Path(folder) / "tidy.csv"
    ...     write_csv(table({"smoker": ["yes ", "no"], "weight": ["61,5", "58"]}), answers)
    ...     tidy_file(answers, tidy, {"smoker": {"yes ": "yes"}})
    ...     tidy.read_text().splitlines()[1]
    1
    '"yes","61.5"'
    """
    refuse_overwriting(output, [answers])
    changed = 0
    with (
        open_answers(answers, delimiter=delimiter, decimal=decimal, numbers=NumberColumns()) as reader,
        atomic_path(output, private=True) as temporary,
    ):
        writer: pa.csv.CSVWriter | None = None
        for batch in reader:
            columns = []
            for name, values in zip(batch.schema.names, batch.columns, strict=True):
                texts = _joined(values) if is_list_type(values.type) else values.cast(pa.string())
                for old, new in spellings.get(name, {}).items():
                    there = pc.fill_null(pc.equal(texts, old), False)
                    changed += pc.sum(there).as_py() or 0
                    texts = pc.if_else(there, new, texts)
                columns.append(texts)
            table = pa.table(columns, names=batch.schema.names)
            if writer is None:
                writer = pa.csv.CSVWriter(str(temporary), table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
    return changed


def _joined(values: pa.Array) -> pa.Array:
    """Return lists as texts, their parts divided as a schema's default separator does."""
    return pc.binary_join(values.cast(pa.list_(pa.string())), ";")

"""Counts of two report files of the same people, matched row by row."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from deniable.errors import DeniableError, MismatchError, quoted
from deniable.files.formats.columns import arrays_of
from deniable.files.formats.reports import ReportReader
from deniable.oracles.paired import PairCounts, pair_counts
from deniable.survey.collection import Collection

PathLike = str | os.PathLike[str]


def pair_files(first: tuple[Collection, PathLike], second: tuple[Collection, PathLike]) -> PairCounts:
    """Collector: return the counts of the same people's reports in two waves; row i of both files is one person.

    Files from `randomize_file` have shuffled rows, so their rows do not match by person. Both files are held in memory.

    Parameters
    ----------
    first, second : (Collection, path)
        A wave and its report file (Parquet). Both waves have the same mechanism.

    Raises
    ------
    MismatchError
        If the files differ in length, the waves in mechanism, or a file is of another collection.
    InvalidParameterError
        If the mechanism is not a pure oracle.
    FileFormatError
        If a file is damaged or foreign.
    """
    if first[0].mechanism != second[0].mechanism:
        raise MismatchError(
            f"to count pairs of reports, both waves must have the same mechanism, got {quoted(first[0].mechanism)} and "
            f"{quoted(second[0].mechanism)}; choose two waves with the same mechanism"
        )
    reports = [_reports(collection, path) for collection, path in (first, second)]
    try:
        return pair_counts(first[0].mechanism, *reports)
    except DeniableError as error:
        raise type(error)(f"{first[1]} and {second[1]}: {error}") from error


def _reports(collection: Collection, path: PathLike) -> Any:
    mechanism = collection.mechanism
    empty = [np.zeros((0, *(() if one.width is None else (one.width,))), one.dtype) for one in mechanism.report_fields]
    parts = [empty, *(arrays_of(batch, mechanism.report_fields) for batch in ReportReader(path, collection))]
    return mechanism.report_type(*(np.concatenate(column) for column in zip(*parts, strict=True)))

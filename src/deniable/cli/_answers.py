"""True answers as records of codes, for verbs that look at them as an adversary's prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.cli._app import Report, in_flags, progress
from deniable.core.checks import listed
from deniable.core.randomness import SimulationRandomness
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.files import open_answers
from deniable.files.formats.tables import with_progress
from deniable.survey.drafting import draft_schema
from deniable.survey.schema import Attribute, Schema


@dataclass(frozen=True, eq=False)
class Answers:
    """A file of answers in codes: int[n, d], its schema, and what a reader must know about how it was read."""

    codes: NDArray[np.integer[Any]]
    schema: Schema
    notes: tuple[str, ...]


def parse_names(text: str | None) -> tuple[str, ...] | None:
    """Return the names in "a, b,c", None for None.

    Raises
    ------
    InvalidParameterError
        If a name is empty or occurs twice.
    """
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(names) or len(set(names)) < len(names):
        raise InvalidParameterError(f"attributes must be different names separated by commas, got attributes={text!r}")
    return names


def read_answers(
    path: Path,
    schema: Schema | None,
    names: Sequence[str] | None,
    max_categories: int,
    *,
    target: str | None = None,
    quiet: bool = False,
    delimiter: str | None = None,
) -> Answers:
    """Read these columns (all by default) of a file, with a schema or, without one, with a draft from the file itself.

    A column that is the same in all records is left out and named, unless it is the target.

    Raises
    ------
    InvalidInputError
        If a column is absent or, among those that were asked for by name, cannot be drafted.
    """
    notes: list[str] = []
    with progress("reading the answers", quiet=quiet) as report:
        if schema is None:
            schema, notes = _drafted(path, names, target, max_categories, report, delimiter)
        elif names is not None:
            unknown = [name for name in names if name not in (*schema.asked, *schema.names)]
            if unknown:
                raise InvalidParameterError(f"the schema must have {unknown[0]!r}, it has {listed(schema.asked)}")
            schema = Schema(tuple(attribute for attribute in schema.attributes if columns_named(attribute, names)))
        if schema.is_text:
            raise InvalidParameterError(f"attribute {schema.names[0]!r} is open text: leakage is of listed categories")
        width = np.min_scalar_type(max(schema.sizes) - 1)
        parts = []
        # Nothing is reported: the rounding of numbers to their grid need not be secret, and the same numbers should
        # give the same figures.
        rounding = SimulationRandomness(0) if schema.is_rounded else None
        with open_answers(path, schema.asked, delimiter=delimiter) as reader:
            for batch in with_progress(reader, report):
                first_row = reader.rows - batch.num_rows + 1
                parts.append(schema.encode(batch, rounding, first_row=first_row).astype(width))
    return Answers(np.concatenate(parts), schema, tuple(notes))


def columns_named(attribute: Attribute, names: Sequence[str]) -> list[str]:
    """Return the columns of an attribute that names are of: the one of that name, or all if it is the attribute's."""
    return [column.name for column in attribute.columns if attribute.name in names or column.name in names]


def _drafted(
    path: Path,
    names: Sequence[str] | None,
    target: str | None,
    max_categories: int,
    report: Report | None,
    delimiter: str | None,
) -> tuple[Schema, list[str]]:
    with open_answers(path, names, delimiter=delimiter) as reader:
        draft = draft_schema(with_progress(reader, report), max_categories, kinds=False)
    left_out = [in_flags(warning, "leakage") for warning in draft.warnings if "left out" in warning]
    for name in (*(names or ()), *filter(None, [target])):
        reason = next((text for text in left_out if f"column {name!r}" in text), None)
        if reason is not None and (name == target or "single answer" not in reason):
            raise InvalidInputError(f"{reason}; a schema of your own may keep it (deniable schema, --schema)")
    cut = [attribute.name for attribute in draft.schema.attributes if attribute.edges is not None]
    notes = [*left_out]
    if cut:
        notes.append(f"numbers cut into intervals of equal width: {listed(cut)}; --schema sets other cut points")
    return draft.schema, notes

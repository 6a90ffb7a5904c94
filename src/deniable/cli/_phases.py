"""Reading the phases of a survey."""

from __future__ import annotations

from pathlib import Path

from deniable.core.aggregate import Aggregate
from deniable.errors import DeniableError, InvalidParameterError
from deniable.survey.collection import Collection


def load_phases(files: list[Path]) -> tuple[tuple[Collection, Aggregate], ...]:
    """Return the collection and the aggregate of each phase.

    Raises
    ------
    InvalidParameterError
        If an aggregate is given before its collection.
    """
    for i in range(0, len(files), 2):
        if _is_aggregate(files[i]) and not _is_aggregate(files[i + 1]):
            raise InvalidParameterError(
                f"each phase must be its collection, then its aggregate: {files[i]} is an aggregate; "
                f"give {files[i + 1]} {files[i]}"
            )
    return tuple((Collection.load(files[i]), Aggregate.load(files[i + 1])) for i in range(0, len(files), 2))


def _is_aggregate(path: Path) -> bool:
    try:
        Aggregate.load(path)
    except DeniableError:
        return False
    return True

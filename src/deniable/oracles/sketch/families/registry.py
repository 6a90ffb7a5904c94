"""The families a count-mean sketch can be built on, by name. A family joins by one entry here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from deniable.core.checks import MAX_DOMAIN
from deniable.errors import InvalidParameterError
from deniable.oracles.sketch.families.binary_field import BinaryFieldFamily
from deniable.oracles.sketch.families.family import HashFamily
from deniable.oracles.sketch.families.hash_range import CellsAround, any_integer
from deniable.oracles.sketch.families.linear import LinearFamily, prime_powers_around
from deniable.oracles.sketch.families.partition import PartitionFamily, cells_up_to_65536
from deniable.oracles.sketch.families.prime import PrimeFamily
from deniable.oracles.sketch.families.spread import SpreadFamily, powers_of_two_around


@dataclass(frozen=True)
class FamilyEntry:
    """One family, and which numbers of cells it can have.

    Parameters
    ----------
    build : callable (k, m) -> HashFamily
        Raises InvalidParameterError if the family has no member set for k and m.
    cells_around : callable int -> (int, int)
        For x >= 2, the largest admissible m <= x and the smallest admissible m > x; both the smallest admissible m if
        x is below it.
    largest_domain : int
        Largest k.
    remark : str
        What the choice of a family turns on: its report, and how its collector decodes.
    """

    build: Callable[[int, int], HashFamily]
    cells_around: CellsAround
    largest_domain: int = MAX_DOMAIN
    remark: str = ""


FAMILIES: dict[str, FamilyEntry] = {
    "prime": FamilyEntry(
        PrimeFamily.smallest,
        any_integer,
        remark="the collector compares every report with every value that is asked for",
    ),
    "spread": FamilyEntry(
        SpreadFamily,
        powers_of_two_around,
        remark="one integer per report, and one transform decodes all values",
    ),
    "partition": FamilyEntry(
        PartitionFamily,
        cells_up_to_65536,
        remark="any number of cells, and one transform decodes all values",
    ),
    "linear": FamilyEntry(
        LinearFamily,
        prime_powers_around,
        remark="any prime power of cells, and one transform decodes all values",
    ),
    "binary": FamilyEntry(
        BinaryFieldFamily,
        any_integer,
        largest_domain=1 << 64,
        remark="up to 2^64 values; the collector compares every report with every value that is asked for",
    ),
}


def family_entry(name: str) -> FamilyEntry:
    """Return a family's entry.

    Raises
    ------
    InvalidParameterError
        If there is no such family; the message lists those that exist.
    """
    if not isinstance(name, str) or name not in FAMILIES:
        raise InvalidParameterError(f"family must be one of {', '.join(FAMILIES)}, got family={name!r}")
    return FAMILIES[name]

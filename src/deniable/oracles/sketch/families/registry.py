"""The families a count-mean sketch can be built on, by name. A family joins by one entry here."""

from __future__ import annotations

import bisect
import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from deniable.core.checks import MAX_DOMAIN
from deniable.errors import unknown_name
from deniable.oracles.sketch.families.family import MAX_STATE_SIZE, HashFamily
from deniable.oracles.sketch.families.hash_range import CellsAround, Objective

MAX_CHOSEN_STATE = 1 << 26
"""Largest state, in counters, that a number of cells is chosen for in place of a better one that has too many."""


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
    cells : callable () -> tuple of int
        Every admissible number of cells, increasing, where the size of the state depends on it; else none.
    remark : str
        What the choice of a family turns on: its report, and how its collector decodes.
    """

    build: Callable[[int, int], HashFamily]
    cells_around: CellsAround
    largest_domain: int = MAX_DOMAIN
    cells: Callable[[], tuple[int, ...]] = tuple
    remark: str = ""

    def best_cells(self, k: int, objective: Objective) -> int:
        """Return the number of cells of least cost among those whose state a collector can set up.

        This is the best one of all if its state has at most `MAX_STATE_SIZE` counters, else the best with at most
        `MAX_CHOSEN_STATE`, else the best with at most `MAX_STATE_SIZE`. A domain that is too large for any of them gets
        the best one of all: reports over it are counted for a list of values.
        """
        best = objective.best(self.cells_around)
        if self.build(k, best).state_size <= MAX_STATE_SIZE:
            return best
        cells = self.cells()
        place = bisect.bisect_left(cells, best)
        for limit in (MAX_CHOSEN_STATE, MAX_STATE_SIZE):
            # The cost is convex: on either side the nearest one that fits is the best.
            sides = (reversed(cells[:place]), cells[place:])
            nearest = (next((m for m in side if self.build(k, m).state_size <= limit), None) for side in sides)
            fitting = [m for m in nearest if m is not None]
            if fitting:
                return min(fitting, key=objective.cost)
        return best


FAMILIES: Mapping[str, str] = {
    "prime": "deniable.oracles.sketch.families.prime:ENTRY",
    "spread": "deniable.oracles.sketch.families.spread:ENTRY",
    "partition": "deniable.research.families.partition:ENTRY",
    "linear": "deniable.research.families.linear:ENTRY",
    "binary": "deniable.research.families.binary_field:ENTRY",
}
"""Place of each family's entry, by its name: none is imported before it is asked for."""


@functools.cache
def _loaded(place: str) -> FamilyEntry:
    module, _, attribute = place.partition(":")
    entry: FamilyEntry = getattr(importlib.import_module(module), attribute)
    return entry


def family_entry(name: str) -> FamilyEntry:
    """Return a family's entry.

    Raises
    ------
    InvalidParameterError
        If there is no such family; the message lists those that exist.
    """
    if not isinstance(name, str) or name not in FAMILIES:
        raise unknown_name("family", name, FAMILIES)
    return _loaded(FAMILIES[name])

"""Registry, by name, of the families that a count-mean sketch can use; a new family needs one entry here."""

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
"""Largest state, in counters, that is chosen by default. If the best number of cells needs more counters, the best
number that fits is chosen."""


@dataclass(frozen=True)
class FamilyEntry:
    """One hash family and the numbers of cells that it can have.

    Parameters
    ----------
    build : callable (k, m) -> HashFamily
        Function that returns the family. It raises InvalidParameterError if the family has no member set for k and m.
    cells_around : callable int -> (int, int)
        Function that returns the largest admissible m <= x and the smallest admissible m > x, for x >= 2. If x is below
        the smallest admissible m, it returns that m twice.
    largest_domain : int
        Largest k.
    cells : callable () -> tuple of int
        Function that returns every admissible number of cells in increasing order if the size of the state depends on
        it. Otherwise it returns an empty tuple.
    remark : str
        Facts that decide the choice of a family: its report, and how its collector decodes.
    """

    build: Callable[[int, int], HashFamily]
    cells_around: CellsAround
    largest_domain: int = MAX_DOMAIN
    cells: Callable[[], tuple[int, ...]] = tuple
    remark: str = ""

    def best_cells(self, k: int, objective: Objective) -> int:
        """Return the number of cells with the smallest cost among those whose state a collector can set up.

        This is the best number of all if its state has at most `MAX_STATE_SIZE` counters. Otherwise it is the best
        number with at most `MAX_CHOSEN_STATE` counters, or else the best with at most `MAX_STATE_SIZE`. A domain that
        is too large for any of them gets the best number of all, because its reports are counted for a list of values.
        """
        best = objective.best(self.cells_around)
        if self.build(k, best).state_size <= MAX_STATE_SIZE:
            return best
        cells = self.cells()
        place = bisect.bisect_left(cells, best)
        for limit in (MAX_CHOSEN_STATE, MAX_STATE_SIZE):
            # The cost is convex, so on either side the nearest size that fits is the best.
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
"""Place of each family's entry, by the family's name. No family is imported before it is needed."""


@functools.cache
def _loaded(place: str) -> FamilyEntry:
    module, _, attribute = place.partition(":")
    entry: FamilyEntry = getattr(importlib.import_module(module), attribute)
    return entry


def family_entry(name: str) -> FamilyEntry:
    """Return the registry entry of a family.

    Raises
    ------
    InvalidParameterError
        If there is no such family. The message lists the families that exist.
    """
    if not isinstance(name, str) or name not in FAMILIES:
        raise unknown_name("family", name, FAMILIES)
    return _loaded(FAMILIES[name])

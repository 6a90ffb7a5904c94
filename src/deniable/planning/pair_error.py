"""Error of a cell of the table of two questions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from deniable.core.result import Result
from deniable.planning.precision import MAX_CONTRIBUTORS, TARGET_PRECISION, fewest
from deniable.records.pairs import attribute_pairs
from deniable.survey.schema import Schema


@dataclass(frozen=True)
class PairPlan(Result):
    """Expected errors of the table of two questions.

    Parameters
    ----------
    first, second : str
        Names of the two.
    cells : int
        Number of cells of their table.
    half_width : float
        Half-width of the interval of one cell of the consistent table, in percentage points, all cells being alike.
    reports : float
        Expected number of reports about this pair.
    contributors_needed : int or None
        Fewest that reach the target; None without one, or if no number does.
    """

    first: str
    second: str
    cells: int
    half_width: float
    reports: float
    contributors_needed: int | None


def pair_plans(
    schema: Schema, mechanism: Any, contributors: int, target: float | None, z: float
) -> tuple[PairPlan, ...]:
    """Return the errors of all tables of `PairSample`, pair after pair.

    Tables are taken to be even. Pairs of the same sizes, reported alone through the same oracles, are alike: one of
    them is computed.
    """
    columns = schema.columns
    tables = mechanism.expected_tables(MAX_CONTRIBUTORS)
    shares = dict(zip((part.attributes for part in mechanism.parts), mechanism.choice_probabilities, strict=True))
    known: dict[Any, float] = {}
    found = []
    for i, j in attribute_pairs(len(columns)):
        kind = tuple((mechanism.sizes[one], mechanism.oracles[one]) for one in (i, j))
        if kind not in known:
            # The largest of a consistent table whose cells are alike; of one contributor.
            known[kind] = float(tables.consistent(i, j).standard_errors().max()) * math.sqrt(MAX_CONTRIBUTORS)
        one = 100 * z * known[kind]
        found.append(
            PairPlan(
                columns[i].name,
                columns[j].name,
                mechanism.sizes[i] * mechanism.sizes[j],
                one / math.sqrt(contributors),
                contributors * float(shares[i, j]),
                None if target is None else _needed(one, target),
            )
        )
    return tuple(found)


def _needed(half_width: float, target: float) -> int | None:
    """Return how many contributors bring the half-width of one contributor's report down to the target."""
    return fewest(lambda n: half_width / math.sqrt(n) <= target * (1 + TARGET_PRECISION))

"""Rows of a plan, by name."""

from __future__ import annotations

from deniable.planning import Plan, PlanRow


def rows_of(result: Plan) -> dict[str, PlanRow]:
    return {row.name: row for row in result.rows}

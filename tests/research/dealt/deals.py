"""A deal, stored in files."""

from __future__ import annotations

from tests.cli.conftest import N


def collection(n: int = N) -> tuple[str, ...]:
    return (
        *("collection", "--schema", "smoker.json", "--epsilon", "1", "--title", "Smoking"),
        *("--mechanism", "QuotaRR", "--set", f"n={n}"),
    )

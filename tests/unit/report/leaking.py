"""Records with dependent attributes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from deniable.leakage.summary import LeakageSummary
from deniable.report import Page, leakage_page, print_page
from deniable.research.leakage import budgets_page
from deniable.research.leakage.calibration.budgets import Budgets, calibrate_records
from deniable.survey.schema import Attribute, Schema


def schema_of(names: tuple[str, ...], k: int = 2) -> Schema:
    return Schema(tuple(Attribute(name, tuple(f"v{c}" for c in range(k))) for name in names))


def chain(d: int, n: int = 4000, seed: int = 1, k: int = 2) -> NDArray[np.int64]:
    """Return records in which each attribute depends on the one before."""
    generator = np.random.default_rng(seed)
    columns = [generator.integers(0, k, n)]
    for _ in range(d - 1):
        columns.append(np.where(generator.random(n) < 0.6, columns[-1], generator.integers(0, k, n)))
    return np.column_stack(columns)


def page_of(result: LeakageSummary | Budgets) -> Page:
    return leakage_page(result) if isinstance(result, LeakageSummary) else budgets_page(result)


def printed(result: LeakageSummary | Budgets, width: int = 80) -> str:
    text = io.StringIO()
    print_page(Console(file=text, width=width, highlight=False, markup=False), page_of(result))
    return text.getvalue()


def correlated() -> NDArray[np.int64]:
    """Return two attributes and, mostly, their exclusive or: totals exceed the additive figure."""
    generator = np.random.default_rng(7)
    a, b = generator.integers(0, 2, (2, 6000))
    c = np.where(generator.random(6000) < 0.9, a ^ b, a)
    return np.column_stack([a, b, c])


def budgets(**options: Any) -> Budgets:
    return calibrate_records(correlated(), schema_of(("a", "b", "c")), 1.5, source="x.csv", **options)

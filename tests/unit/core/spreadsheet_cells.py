"""Cells of CSV files."""

from __future__ import annotations

import csv
import io


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))

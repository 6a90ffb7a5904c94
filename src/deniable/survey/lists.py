"""Common code of kinds with a list of categories, or with cut points that make such a list."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from deniable.errors import InvalidParameterError, quoted
from deniable.survey.encoding import canonical_decimal, is_date, listed_labels
from deniable.survey.question import Question


def settled_list(question: Question, where: str) -> dict[str, Any]:
    """Return the categories, and the edges if there are any, in the form that an attribute keeps."""
    categories = question.categories
    if question.edges is None:
        return {"categories": categories}
    edges = _checked_edges(question.edges, where)
    categories = categories or interval_labels(edges)
    if len(categories) != len(edges) + 1:
        raise InvalidParameterError(
            f"categories of {where} must have a name for each of the {len(edges) + 1} intervals that the edges make, "
            f"got {len(categories)}"
        )
    return {"categories": categories, "edges": edges}


def list_of_numbers(question: Question) -> bool:
    """Return whether the answers are numbers: numbers that cut points divide, or categories such as 0.5."""
    if question.edges is not None:
        return not question.dated
    return bool(question.categories) and all(canonical_decimal(label) is not None for label in question.categories)


def described_list(question: Question, further: str = "") -> str:
    """Return a text with all labels and their number, with `further` before the number."""
    number = "" if question.edges is None else "date, " if question.dated else "number, "
    return f" ({number}{further}{question.k} answers): {', '.join(map(quoted, question.labels))}"


def unknown_of_list(question: Question, where: str) -> str:
    """Return the message about an answer that is not in the list, or not in any interval."""
    if question.dated:
        return f"unknown answer of {where}: it must be a date like 2026-05-01; write all dates in this way"
    if question.edges is not None:
        return no_number(where)
    return (
        f"unknown category of {where}: the schema has {listed_labels(question.labels)}; correct the answer, or "
        "declare the category in the schema"
    )


def no_number(where: str) -> str:
    """Return the message about an answer that should be a number."""
    return (
        f"unknown answer of {where}: it must be a number like 1500.5, with a decimal point and nothing between "
        "thousands; write all numbers in this way"
    )


def plain_numbers(values: Iterable[Any]) -> list[float]:
    """Return numbers in the form that documents use, with whole numbers without a point."""
    return [int(value) if value.is_integer() and abs(value) < 1e15 else value for value in values]


def interval_labels(edges: Sequence[float | str]) -> tuple[str, ...]:
    """Return the labels of the intervals between cut points.

    Examples
    --------
    >>> interval_labels((20.0, 40.0))
    ('< 20', '20 to < 40', '>= 40')
    """
    texts = [edge if isinstance(edge, str) else repr(plain_numbers([edge])[0]) for edge in edges]
    between = [f"{low} to < {high}" for low, high in pairwise(texts)]
    return (f"< {texts[0]}", *between, f">= {texts[-1]}")


def checked_floats(key: str, given: Sequence[Any], where: str) -> tuple[float, ...]:
    """Return the numbers that a key contains, or raise InvalidParameterError."""
    try:
        return tuple(float(value) + 0.0 for value in given)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidParameterError(f"{key} of {where} must be numbers, got {key}={quoted(given)}") from error


def _checked_edges(edges: Sequence[float | str], where: str) -> tuple[float | str, ...]:
    if not isinstance(edges, str) and any(isinstance(edge, str) for edge in edges):
        return _checked_dates(edges, where)
    values = checked_floats("edges", edges, where)
    increasing = all(low < high for low, high in pairwise(values))
    if not values or not increasing or not all(map(math.isfinite, values)):
        raise InvalidParameterError(f"edges of {where} must be finite, increasing numbers, got edges={quoted(values)}")
    return values


def _checked_dates(edges: Sequence[float | str], where: str) -> tuple[float | str, ...]:
    dates = [edge for edge in edges if isinstance(edge, str) and is_date(edge)]
    if len(dates) < len(edges) or not all(low < high for low, high in pairwise(dates)):
        raise InvalidParameterError(
            f"edges of {where} must be increasing numbers, or increasing dates such as 2026-05-01, got "
            f"edges={quoted(edges)}"
        )
    return tuple(dates)

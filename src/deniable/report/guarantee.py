"""A guarantee in words: one line per adversary."""

from __future__ import annotations

import math
from collections.abc import Sequence

from deniable.core.privacy import Guarantee, TrustModel, bound_text, odds_text
from deniable.report.page import Card, visible


def status_text(row: TrustModel) -> str:
    """Return how sure a bound is, with its condition."""
    return f"{row.status}; {row.note}" if row.note else row.status


def attribute_epsilons(guarantee: Guarantee, attributes: Sequence[str]) -> str:
    """Return the budget of each attribute in one line; "" if there is only one attribute.

    Examples
    --------
    >>> from deniable import GRR
    >>> attribute_epsilons(GRR(k=4, epsilon=1.0).privacy(), ["age"])
    ''
    """
    values = guarantee.per_attribute
    if len(values) < 2:
        return ""
    if len(set(values)) == 1:
        return f"epsilon = {bound_text(values[0])} for each of the {len(values)} attributes"
    names = attributes if len(attributes) == len(values) else [str(j) for j in range(len(values))]
    return ", ".join(f"{visible(name)} {bound_text(value)}" for name, value in zip(names, values, strict=True))


def guarantee_lines(guarantee: Guarantee, attributes: Sequence[str] = ()) -> list[str]:
    """Return the guarantee as lines of text, the whole contributor first, then per attribute, then who may attack.

    Examples
    --------
    >>> from deniable import GRR
    >>> guarantee_lines(GRR(k=4, epsilon=1.0).privacy())[0]
    'epsilon = 1 for the whole contributor (implemented: 1.000000000000)'
    """
    lines = [guarantee.headline]
    per_attribute = attribute_epsilons(guarantee, attributes)
    if per_attribute:
        lines.append(f"  per attribute: {per_attribute}")
    for row in guarantee.trust_models:
        lines.append(f"  {row.adversary} who sees {row.view}: {row.bound} ({status_text(row)})")
    return lines + [f"  note: {remark}" for remark in guarantee.remarks]


def budget_text(guarantee: Guarantee) -> str:
    """Return the whole contributor's epsilon in a few words, with its condition if a dealer's collusion undoes it."""
    trusted = any("dealer" in row.adversary and row.epsilon > guarantee.epsilon for row in guarantee.trust_models)
    return f"epsilon = {bound_text(guarantee.epsilon)} " + (
        "unless the dealer colludes" if trusted else "for the whole contributor"
    )


def guarantee_card(guarantee: Guarantee, attributes: Sequence[str], *about: str) -> Card:
    """Return what was promised as a card: the whole contributor first, then who may attack, then other facts."""
    _, *lines = guarantee_lines(guarantee, attributes)
    if math.isfinite(guarantee.epsilon) and not any(row.delta for row in guarantee.trust_models):
        factor = odds_text(guarantee.epsilon)
        lines.insert(
            0, f"Seeing a report changes the odds between any two possible answers by a factor of at most {factor}."
        )
    headline = f"{budget_text(guarantee)} (implemented: {guarantee.implemented_text})"
    return Card(headline, tuple(line.strip() for line in (*lines, *about)), promise=True)

"""Text that is safe and short enough to show: labels from strangers, and the guarantee in words."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from deniable.privacy import Guarantee, TrustModel, bound_text

_JOINERS = "\u200c\u200d"


def visible(label: str) -> str:
    r"""Return a label on one line, control characters and direction marks written as escapes.

    Categories come from files that strangers wrote: a terminal must not obey them.

    Examples
    --------
    >>> visible("yes\n\x1b[31mno")
    'yes\\n\\x1b[31mno'
    """
    return "".join(
        character if character.isprintable() or character in _JOINERS else ascii(character)[1:-1] for character in label
    )


def shorten(label: str, width: int) -> str:
    """Return a visible label in at most `width` terminal cells, with an ellipsis where it was cut.

    Examples
    --------
    >>> shorten("managerial, administrative", 12)
    'managerial,…'
    """
    label = visible(label)
    if cell_len(label) <= width:
        return label
    return set_cell_size(label, max(width - 1, 0)).rstrip() + "…"


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

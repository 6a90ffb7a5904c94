"""A leakage figure says what it is: exact, an upper bound, or true under an assumption."""

from __future__ import annotations

import math
from dataclasses import dataclass

from deniable.core.privacy import Status


@dataclass(frozen=True)
class Leakage:
    """One figure about one attribute, in nats, and how sure it is.

    There is no status for a sum that bounds nothing: the additive figure is never a `Leakage`.

    Parameters
    ----------
    epsilon : float
        Largest log-likelihood ratio between two values of the attribute.
    status : {"exact", "upper bound", "assumption"}
        Exact: attained under the stated prior. Upper bound: proved, perhaps not attained. Assumption: holds only if
        `note` does.
    note : str
        The condition, or a remark.

    Examples
    --------
    >>> print(Leakage(0.5694, "exact"))
    0.5694 (exact)
    """

    epsilon: float
    status: Status
    note: str = ""

    def __str__(self) -> str:
        note = f"; {self.note}" if self.note else ""
        return f"{self.epsilon:.4f} ({self.status}{note})"


def weakest(*statuses: Status) -> Status:
    """Return the status of a figure computed from figures of these statuses.

    Examples
    --------
    >>> weakest("exact", "upper bound")
    'upper bound'
    """
    order: tuple[Status, ...] = ("exact", "upper bound", "assumption")
    return order[max((order.index(status) for status in statuses), default=0)]


def leakage_text(value: float, scale: float) -> str:
    """Return a leakage with two decimals, with more where the budget it is measured against is small.

    Examples
    --------
    >>> leakage_text(0.5694, 1.0), leakage_text(0.00123, 0.01)
    ('0.57', '0.0012')
    """
    if math.isinf(value):
        return "unbounded"
    # A hair more, so that 0.01 as implemented, just below, counts as 0.01.
    decimals = max(2, 2 - math.floor(math.log10(1.000001 * scale))) if 0 < scale < math.inf else 2
    return f"{value:.{decimals}f}"

"""A leakage figure says what it is: exact, an upper bound, or true under an assumption."""

from __future__ import annotations

from dataclasses import dataclass

from deniable.privacy import Status


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

"""Total that the contributors of some answers spend in all collections, as far as the ledger remembers.

Guarantees add up. Anyone who sees the reports of two collections about the same answers learns at most what the sum of
both epsilons allows. Declared decimals are added as fractions, so that ten times 0.1 are 1. A mechanism with a dealer
counts with the epsilon of a collector who sees all reports, because its headline may be about a collector who colludes
with the dealer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.core.privacy import bound_text
from deniable.core.thresholds import EpsilonLike, checked_epsilon, exact, exact_text
from deniable.errors import PrivacyLimitError
from deniable.files.jobs.ledger import Entry
from deniable.survey.collection import Collection, short_id


def budget(collection: Collection) -> str:
    """Return what a collection adds to a total, an exact decimal or fraction; "" if it has no bound.

    Examples
    --------
    >>> from deniable import GRR, Attribute, Schema
    >>> budget(Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon="0.35")))
    '0.35'
    """
    epsilon, declared = collection.privacy().of_all_reports, collection.mechanism.epsilon
    if not math.isfinite(epsilon):
        return ""
    # The guarantee's float may be the rounded declared epsilon. A guarantee that is tighter than the declared epsilon
    # is shown as it is.
    return exact_text(declared if float(declared) == epsilon else epsilon)


@dataclass(frozen=True)
class Spending:
    """Epsilon that contributors spend in a collection and in earlier collections of the same answers.

    Parameters
    ----------
    collection : Collection
        The next collection.
    earlier : tuple of Entry
        Entries of the ledger for these answers. They include runs that were stopped just before their reports appeared.

    Examples
    --------
    >>> from deniable import GRR, Attribute, Schema
    >>> survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon="0.1"))
    >>> before = Entry(event="randomized", collection="1f", into="monday.parquet", last=3, epsilon="0.2")
    >>> Spending(survey, (before,)).total
    Fraction(3, 10)
    """

    collection: Collection
    earlier: tuple[Entry, ...] = ()

    @property
    def total(self) -> Fraction | None:
        """Epsilon of all collections together; None if a collection has no bound, or no bound was recorded."""
        parts = [budget(self.collection), *(entry.epsilon for entry in self.earlier)]
        return sum(map(exact, parts), Fraction(0)) if all(parts) else None

    @property
    def bound(self) -> str:
        """The total in words, for instance "epsilon = 20", rounded up."""
        return _bound(self.total)

    @property
    def listed(self) -> str:
        """The earlier collections, with the epsilon of each and the place of its reports."""
        return ", ".join(
            f"{_bound(_of(entry))} in collection {short_id(entry.collection)} (into {entry.into}"
            f"{', if that appeared' if entry.begun else ''})"
            for entry in self.earlier
        )

    @property
    def text(self) -> str:
        """Warning that these answers were randomised before, or "" if the ledger does not know them."""
        if not self.earlier:
            return ""
        return (
            f"these answers were randomised before: {self.listed}; with this collection their contributors spend "
            f"{self.bound} in all"
        )

    def require(
        self, maximum: EpsilonLike, name: str = "max_epsilon", *, outcome: str = "nothing was randomised"
    ) -> None:
        """Raise an error if the total is larger than you accept; see `Guarantee.require`.

        Parameters
        ----------
        maximum : float, Fraction, Decimal or str
            Largest total epsilon that you accept. A float is read as the decimal that Python prints for it, so 0.1 is
            read as 1/10.
        name : str
            Name of the maximum in messages.
        outcome : str
            Part of the message that says what was done.

        Raises
        ------
        PrivacyLimitError
            If the total is larger. The message states the total and what was spent before.
        """
        self.collection.privacy().require(maximum, name)
        limit, total = exact(checked_epsilon(maximum, name)), self.total
        if self.earlier and (total is None or total > limit):
            more = "" if total is None else f", which is {bound_text(_number(total - limit))} too much"
            raise PrivacyLimitError(
                f"epsilon of all collections of these answers must be <= {name}={maximum}, got {self.bound}{more}; "
                f"spent before: {self.listed}. {outcome.capitalize()}: {larger_total(total, name)}",
                parameters=(name,),
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the total as plain JSON data; numbers without a bound are None."""
        total, parts = self.total, [(entry, _of(entry)) for entry in self.earlier]
        earlier = [
            {
                "collection": entry.collection,
                "epsilon": None if epsilon is None else _number(epsilon),
                "into": entry.into,
                "begun": entry.begun,
            }
            for entry, epsilon in parts
        ]
        return {"epsilon": None if total is None else _number(total), "earlier": earlier}


def _of(entry: Entry) -> Fraction | None:
    return exact(entry.epsilon) if entry.epsilon else None


def _number(value: Fraction) -> float:
    """Return the nearest float, or the next one if its shortest decimal is less than the number."""
    found = float(value)
    return found if exact(found) >= value else math.nextafter(found, math.inf)


def larger_total(total: Fraction | None, name: str) -> str:
    """Return the next step after a refused total, which no maximum allows if a part has no known bound."""
    accepted = f"leave out {name}" if total is None else "accept a larger total"
    return f"ask for a collection with a smaller epsilon, or {accepted}"


def _bound(value: Fraction | None) -> str:
    return "an epsilon without a known bound" if value is None else f"epsilon = {bound_text(_number(value))}"

"""Plan of a deal by helpers, as public numbers that are the same for each helper."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

from deniable.errors import InvalidParameterError, quoted
from deniable.research.dealt.dealt import DealtMechanism, types_dealt
from deniable.research.dealt.mpc.counts import CountLaw
from deniable.research.dealt.mpc.polynomials import prime_above
from deniable.research.dealt.quota.tables import QuotaTables

_ONE_BYTE = 250
MIN_PARTIES = 3
MAX_PARTIES = 5


@dataclass(frozen=True)
class Plan:
    """One deal to n contributors: public counts of types 0, 1, ..., or the law of secret ones.

    `modulus` is the prime of the field that the types are shared in.
    """

    n: int
    modulus: int
    counts: tuple[int, ...] | None
    law: CountLaw | None
    shuffle: str

    def to_json(self) -> str:
        """Return the plan as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Plan:
        """Return the plan that `to_json` wrote."""
        data = json.loads(line)
        law = data.pop("law")
        counts = data.pop("counts")
        if law is not None:
            law = CountLaw(law["k"], law["first"], tuple(law["cumulative"]), tuple(law["acceptance"]))
        return cls(**data, counts=None if counts is None else tuple(counts), law=law)


def count_law(tables: QuotaTables) -> CountLaw:
    """Return the distribution in the dealer's integer tables, in the form that the helpers invert."""
    first, last = tables.quota.first, tables.quota.last
    cumulative = accumulate(map(tables.quota.weight, range(first, last + 1)))
    left = tables.n - tables.k * first
    acceptance = [tables.truth.weight(left - j) for j in range(left + 1)]
    return CountLaw(tables.k, first, tuple(cumulative), tuple(acceptance))


def plan_of(mechanism: DealtMechanism[Any], n: int, shuffle: str = "resharing") -> Plan:
    """Return the plan for one deal, to its own number n, of a mechanism whose shares are quota types or signs."""
    dealt = types_dealt(mechanism)
    if dealt is None:
        raise InvalidParameterError(
            f"mechanism must be QuotaRR or JRR, got {quoted(mechanism)}: helpers can deal shares only for these two "
            "mechanisms"
        )
    if n != mechanism.n:
        raise InvalidParameterError(
            f"n must be {mechanism.n}, got n={n}: the deal was made for {mechanism.n} contributors"
        )
    law = None if dealt.tables is None else count_law(dealt.tables)
    return Plan(n, prime_above(max(_ONE_BYTE, dealt.types)), dealt.counts, law, shuffle)

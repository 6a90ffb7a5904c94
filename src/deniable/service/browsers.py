"""Mechanisms that the browser client knows; a survey with another mechanism has no page, and is sent in bulk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deniable.core.mechanism import Mechanism
from deniable.core.spec import to_spec

KNOWN = frozenset(
    {
        *("GRR", "SUE", "OUE", "SubsetSelection", "SquareWave", "CMS"),
        *("MemoisedGRR", "MemoisedOUE", "MemoisedHash"),
        *("SPL", "SMP", "SMP[ADP]", "PivotCoded", "PairSample", "RS+RFD", "Corr-RR"),
    }
)
"""Names of mechanisms whose reports the client makes. The vectors of `tests/vectors/wire` have all of them."""

HASH_FAMILIES = frozenset({"prime", "spread"})
"""Families of the count-mean sketch that the client knows."""

MAX_LEARNED = 64
"""Most attributes of a mechanism with learned tables whose guarantee a phone can still check quickly."""


def unknown_to_browsers(mechanism: Mechanism[Any]) -> str:
    """Return the first part of a mechanism that the browser client does not know; "" if it knows all.

    Examples
    --------
    >>> from deniable import GRR, CountMeanSketch
    >>> unknown_to_browsers(GRR(k=4, epsilon=1.0)), unknown_to_browsers(CountMeanSketch(100, 1.0, family="linear"))
    ('', 'CMS over the family linear')
    """
    return next(_unknown(to_spec(mechanism)), "")


def _unknown(spec: Any) -> Iterator[str]:
    if isinstance(spec, list):
        for one in spec:
            yield from _unknown(one)
    elif isinstance(spec, dict):
        if spec["mechanism"] not in KNOWN:
            yield spec["mechanism"]
        elif spec["mechanism"] in ("RS+RFD", "Corr-RR") and len(spec["sizes"]) > MAX_LEARNED:
            yield f"{spec['mechanism']} of more than {MAX_LEARNED} answers"
        elif spec.get("family", "prime") not in HASH_FAMILIES:
            yield f"{spec['mechanism']} over the family {spec['family']}"
        for value in spec.values():
            yield from _unknown(value)

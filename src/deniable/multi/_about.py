"""What a batch of reports says about one attribute, where the collector sees which attribute each is about."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.multi._payload import unpacked
from deniable.multi.adaptive_sample import AdaptiveSMP
from deniable.multi.pivot_coded import PivotCoded
from deniable.multi.sample import SMP

Visible: TypeAlias = SMP | AdaptiveSMP | PivotCoded
"""Record mechanisms that tell the collector which attribute was sampled."""


def reports_about(mechanism: Visible, reports: Any, attribute: int) -> tuple[NDArray[np.bool_], Any]:
    """Return which of n reports are about an attribute, bool[n], and these as reports of its oracle."""
    if isinstance(mechanism, PivotCoded):
        drawn: NDArray[np.bool_] = mechanism.pivots(reports) == attribute
        return drawn, np.asarray(reports)[drawn, attribute]
    drawn = np.asarray(reports[0]) == attribute
    body = np.asarray(reports[1])[drawn]
    if isinstance(mechanism, AdaptiveSMP):
        return drawn, unpacked(mechanism.oracles[attribute], body)
    width = mechanism.oracles[attribute].report_fields[0].width
    return drawn, body if width is None else body[:, :width]

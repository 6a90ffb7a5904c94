"""What every mechanism of a second phase offers: the one place where the convention is written down.

A second phase is a registered, frozen dataclass of published parameters. `phase_one` makes the mechanism whose
aggregate `learn` reads; `learn` is a pure function from that aggregate, and from the number of contributors who are
expected, to the mechanism itself. Further settings have defaults, so that ``cls.learn(aggregate, n2)`` always works:

* `CorrRR` ("Corr-RR"): from SPL; ``method``, ``as_printed``, ``alignment``;
* `RSRFD` ("RS+RFD"): from SPL;
* `CondRR` ("Cond-RR"): from SPL pairs;
* `GroupedCorrRR` ("Corr-RR groups"): from SPL pairs; ``method``, ``groups``, ``alignment``;
* `TwoPivotRR` ("Corr-RR two pivots"): from SPL pairs; ``method``.

What learns from SPL learns from SPL pairs as well. Later rounds: `deniable.multi.refinement`. Estimates of phases and
rounds together: `deniable.multi.two_phase.combine`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from deniable.aggregate import Aggregate
from deniable.multi.cond_rr import CondRR
from deniable.multi.corr_rr import CorrRR
from deniable.multi.grouping import GroupedCorrRR
from deniable.multi.realistic_fake_data import RSRFD
from deniable.multi.two_pivots import TwoPivotRR
from deniable.thresholds import EpsilonLike


class SecondPhase(Protocol):
    """A class of mechanisms that learn from a first phase."""

    name: str

    def phase_one(self, sizes: Sequence[int], epsilon: EpsilonLike) -> Any:
        """Return the mechanism of phase one."""

    def learn(self, aggregate: Aggregate, n2: int) -> Any:
        """Collector: learn from phase one's aggregate for n2 contributors; a pure function."""


_CLASSES: tuple[SecondPhase, ...] = (CorrRR, RSRFD, CondRR, GroupedCorrRR, TwoPivotRR)

SECOND_PHASES: Mapping[str, SecondPhase] = MappingProxyType({cls.name: cls for cls in _CLASSES})
"""Every second phase by its name."""

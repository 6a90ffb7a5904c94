"""SecondPhase: mechanisms whose published parameters are learned from an earlier phase of the same survey.

The method `phase_one` makes the mechanism whose aggregate `learn` reads. The method `learn` is a pure function. It
makes the second mechanism from that aggregate and the expected number of contributors. All other settings have
defaults, so ``cls.learn(aggregate, n2)`` always works. Mechanisms that learn from SPL can also learn from SPL pairs.
Later rounds are in `refinement`. The function `two_phase.combine` combines the estimates of phases and rounds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from deniable.core.aggregate import Aggregate
from deniable.core.mechanism import Reports
from deniable.core.names import mechanism_class, mechanism_names
from deniable.core.thresholds import EpsilonLike, checked_epsilon
from deniable.records.record import RecordMechanism


class SecondPhase(RecordMechanism[Reports]):
    """A record mechanism that learns its parameters from a first phase.

    Attributes
    ----------
    first : class
        Class of phase one's mechanism, with the parameters (sizes, epsilon).
    """

    first: ClassVar[type[RecordMechanism[Any]]]

    @classmethod
    def phase_one(cls, sizes: Sequence[int], epsilon: EpsilonLike) -> Any:
        """Return the mechanism of phase one, which reports every attribute through GRR with epsilon/d."""
        return cls.first(tuple(sizes), checked_epsilon(epsilon))

    @classmethod
    @abstractmethod
    def learn(cls, aggregate: Aggregate, n2: int) -> Self:
        """Collector: learn from phase one and return the mechanism of phase two; a pure function.

        Parameters
        ----------
        aggregate : Aggregate
            Aggregate of phase one, from the mechanism `first`. If `first` is SPL, the aggregate may come from any
            record mechanism with unbiased estimates.
        n2 : int
            Expected number of contributors in phase two.

        Raises
        ------
        InvalidParameterError
            If n2, or a setting, is out of bounds.
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or has no reports of some attribute.
        """


def second_phases() -> dict[str, type[SecondPhase[Any]]]:
    """Return every registered second phase by its name."""
    found = {name: mechanism_class(name) for name in mechanism_names()}
    return {name: cls for name, cls in found.items() if isinstance(cls, type) and issubclass(cls, SecondPhase)}

"""SecondPhase: mechanisms whose published parameters are learned from an earlier phase of the same survey.

`phase_one` makes the mechanism whose aggregate `learn` reads; `learn` is a pure function from that aggregate, and from
the number of contributors who are expected, to the mechanism itself. Further settings have defaults, so that
``cls.learn(aggregate, n2)`` always works. What learns from SPL learns from SPL pairs as well. Later rounds:
`refinement`. Estimates of phases and rounds together: `two_phase.combine`.
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
        Of the mechanism of phase one, with (sizes, epsilon) as its parameters.
    """

    first: ClassVar[type[RecordMechanism[Any]]]

    @classmethod
    def phase_one(cls, sizes: Sequence[int], epsilon: EpsilonLike) -> Any:
        """Return the mechanism of phase one: every attribute by GRR with epsilon/d."""
        return cls.first(tuple(sizes), checked_epsilon(epsilon))

    @classmethod
    @abstractmethod
    def learn(cls, aggregate: Aggregate, n2: int) -> Self:
        """Collector: learn from phase one and return the mechanism of phase two; a pure function.

        Parameters
        ----------
        aggregate : Aggregate
            Of phase one: of `first`, or where that is SPL of any record mechanism whose estimates are unbiased.
        n2 : int
            Number of contributors who are expected in phase two.

        Raises
        ------
        InvalidParameterError
            If n2, or a setting, is out of bounds.
        MismatchError, EmptyAggregateError
            If the aggregate is of another mechanism, or has no reports of some attribute.
        """


def second_phases() -> dict[str, type[SecondPhase[Any]]]:
    """Return every registered second phase by its name."""
    found = {name: mechanism_class(name) for name in mechanism_names()}
    return {name: cls for name, cls in found.items() if isinstance(cls, type) and issubclass(cls, SecondPhase)}

"""What every mechanism offers: three verbs for three actors, and its guarantee.

Mechanisms satisfy these protocols by having the members; there is no base class and nothing is overridden.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError, TooLargeError
from deniable.state import Counts

if TYPE_CHECKING:
    from deniable.aggregate import Aggregate
    from deniable.estimate import Estimate, RecordEstimate
    from deniable.privacy import Guarantee
    from deniable.randomness import SimulationRandomness

Inputs_contra = TypeVar("Inputs_contra", contravariant=True)
Reports = TypeVar("Reports")

MAX_CHANNEL_CELLS = 1 << 22
"""Largest channel matrix (inputs x outputs) that `channel()` enumerates."""


@dataclass(frozen=True)
class ReportField:
    """One column of a batch of reports: how it is stored in a file.

    Parameters
    ----------
    name : str
        Column name; the attribute of the reports' NamedTuple where reports have several fields.
    dtype : numpy dtype name
        Element type, for instance "uint8".
    width : int or None
        Elements per report for arrays of shape (n, width); None for shape (n,).
    """

    name: str
    dtype: str
    width: int | None = None


@runtime_checkable
class Mechanism(Protocol[Inputs_contra, Reports]):  # type: ignore[misc]
    """A frozen dataclass of public parameters that configures contributor, collector and analyst alike."""

    name: str

    @property
    def epsilon(self) -> float | Fraction:
        """The whole contributor's budget, as declared."""

    @property
    def randomize(self) -> Callable[..., Reports]:
        """Contributor: turn true answers, and a share each where a dealer deals, into reports, one row each."""

    def aggregate(self, reports: Reports) -> Aggregate:
        """Collector: sum reports; the result's size does not depend on their number."""

    def estimate(self, aggregate: Aggregate) -> Any:
        """Analyst: return an Estimate (one attribute) or a RecordEstimate (many)."""

    def privacy(self) -> Guarantee:
        """Return what is guaranteed, to whom, and how surely."""

    @property
    def state_size(self) -> int:
        """Length of the integer vector that an aggregate keeps."""

    def check_state(self, counts: Counts, n: int) -> None:
        """Raise DamagedStateError unless n reports can have these counts: the strongest laws that one pass can check.

        Sums of states that pass must pass too, unless there are more reports than a deal has.
        """

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """How a batch of reports is stored; several fields make a NamedTuple in this order."""

    @property
    def report_type(self) -> Callable[..., Any]:
        """Callable that builds a batch of reports from its fields' arrays, in order."""

    @property
    def report_bits(self) -> float:
        """Bits that one report needs on the wire."""

    def implemented_ratio(self) -> Any:
        """Largest likelihood ratio between two contributors' answers, exact, from the implemented thresholds."""


class FrequencyOracle(Mechanism[ArrayLike, Reports], Protocol[Reports]):
    """A mechanism for one attribute with domain {0..k-1}: codes int[n] in, an Estimate out."""

    @property
    def k(self) -> int:
        """Domain size."""

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: return unbiased frequencies with their standard errors."""

    def variance(self, f: float, n: int) -> float:
        """Variance of one estimated frequency at true frequency f (noise only) with n contributors."""

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these true counts, exactly in distribution, without reports."""


class RecordMechanism(Mechanism[ArrayLike, Reports], Protocol[Reports]):
    """A mechanism for d attributes: integer records int[n, d] in, a RecordEstimate out."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Domain sizes (k_1, ..., k_d)."""

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return the estimate of every attribute."""


class Enumerable(Protocol):
    """A mechanism whose outputs can be listed."""

    def outputs(self) -> Any:
        """Return a batch of reports holding every possible output once, in the order of `channel` columns."""

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(output | input), shape (inputs, outputs): float64, or an object array of Fractions if exact."""


def estimator_names(mechanism: Mechanism[Any, Any]) -> tuple[str, ...]:
    """Return the names of a mechanism's estimators besides `estimate`: what its class lists as `estimators`."""
    return tuple(getattr(mechanism, "estimators", ()))


def named_estimator(mechanism: Mechanism[Any, Any], name: str | None) -> Callable[..., Any]:
    """Analyst: return the estimator of that name, `estimate` for None.

    Raises
    ------
    InvalidParameterError
        If the mechanism lists no estimator of that name.
    """
    if name is None:
        return mechanism.estimate
    names = estimator_names(mechanism)
    if name not in names:
        choices = f"one of {', '.join(names)} for {mechanism.name}" if names else f"left out, {mechanism.name} has one"
        raise InvalidParameterError(f"estimator must be {choices}, got estimator={name!r}")
    found: Callable[..., Any] = getattr(mechanism, name)
    return found


def check_channel_size(inputs: int, outputs: int, what: str) -> None:
    """Raise TooLargeError if a channel has more cells than MAX_CHANNEL_CELLS."""
    if inputs * outputs > MAX_CHANNEL_CELLS:
        raise TooLargeError(
            f"the channel of {what} must have at most {MAX_CHANNEL_CELLS} cells, got {inputs} x {outputs} outputs"
        )


def float_channel(exact_channel: NDArray[Any]) -> NDArray[np.float64]:
    """Return an exact channel of Fractions as float64."""
    return exact_channel.astype(np.float64)

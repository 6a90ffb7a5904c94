"""Guarantee: what a mechanism promises, to whom, and how surely. Data, not prose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["exact", "upper bound", "assumption"]


@dataclass(frozen=True)
class TrustModel:
    """One row of a guarantee: an adversary and what it can learn about one contributor.

    Parameters
    ----------
    adversary : str
        Who attacks, for instance "collector".
    view : str
        What they see.
    epsilon : float
        Bound on the log-likelihood ratio between any two answers, in nats.
    delta : float
        Probability mass outside the bound.
    status : {"exact", "upper bound", "assumption"}
        Exact: attained. Upper bound: proved, perhaps not attained. Assumption: holds only if `note` does.
    note : str
        The condition, or a remark.

    Examples
    --------
    >>> from deniable import GRR
    >>> GRR(k=4, epsilon=1.0).privacy().trust_models[0]
    TrustModel(adversary='collector', view='one report', epsilon=1.0, delta=0.0, status='exact', note='')
    """

    adversary: str
    view: str
    epsilon: float
    delta: float = 0.0
    status: Status = "exact"
    note: str = ""


@dataclass(frozen=True)
class Guarantee:
    """What `mechanism.privacy()` returns.

    Parameters
    ----------
    epsilon : float
        Whole contributor: bound between any two records, all attributes together, one report. In nats. This is the
        tight value of the mechanism as designed; it never exceeds the declared budget.
    per_attribute : tuple of float
        Bound for two contributors who differ in one attribute only, per attribute.
    implemented_epsilon : float
        The same as `epsilon`, computed exactly from the implemented integer thresholds and rounded up.
    trust_models : tuple of TrustModel
        One row per adversary.
    remarks : tuple of str
        What a reader must know, for instance that the sampled attribute is visible to the collector.

    Examples
    --------
    >>> from deniable import GRR
    >>> print(GRR(k=4, epsilon=1.0).privacy())
    epsilon = 1 for the whole contributor (implemented: 1.000000000000)
      collector who sees one report: epsilon = 1 (exact)
      collector who sees r reports of the same answer: epsilon = r x 1 (upper bound)
    """

    epsilon: float
    per_attribute: tuple[float, ...]
    implemented_epsilon: float
    trust_models: tuple[TrustModel, ...]
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"epsilon = {self.epsilon:g} for the whole contributor (implemented: {self.implemented_epsilon:.12f})"]
        if len(self.per_attribute) > 1:
            lines.append("  per attribute: " + ", ".join(f"{value:g}" for value in self.per_attribute))
        for row in self.trust_models:
            delta = f", delta = {row.delta:g}" if row.delta else ""
            repeated = "r x " if row.view.startswith("r reports") else ""
            note = f"; {row.note}" if row.note else ""
            value = f"epsilon = {repeated}{row.epsilon:g}{delta}"
            lines.append(f"  {row.adversary} who sees {row.view}: {value} ({row.status}{note})")
        return "\n".join([*lines, *(f"  note: {remark}" for remark in self.remarks)])

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as plain JSON data."""
        return {
            "epsilon": self.epsilon,
            "per_attribute": list(self.per_attribute),
            "implemented_epsilon": self.implemented_epsilon,
            "trust_models": [dict(vars(row)) for row in self.trust_models],
            "remarks": list(self.remarks),
        }


def local_guarantee(
    epsilon: float,
    implemented_epsilon: float,
    per_attribute: tuple[float, ...] | None = None,
    remarks: tuple[str, ...] = (),
) -> Guarantee:
    """Return the guarantee of a plain local mechanism: nobody is trusted, repetition composes."""
    return Guarantee(
        epsilon=epsilon,
        per_attribute=per_attribute if per_attribute is not None else (epsilon,),
        implemented_epsilon=implemented_epsilon,
        trust_models=(
            TrustModel("collector", "one report", epsilon),
            TrustModel("collector", "r reports of the same answer", epsilon, status="upper bound"),
        ),
        remarks=remarks,
    )

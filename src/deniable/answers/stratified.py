"""Estimates from strata that the collector knows, with one aggregate each and public weights.

Strata are, for instance, regions of a sampling frame. Weights never enter a report, so every stratum's state is its
counts, and its guarantee is untouched. The estimate is f^ = sum W_h f^_h, and the strata's errors are independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

import numpy as np

from deniable.answers.independent import weighted_sum
from deniable.core.answer import Answer
from deniable.core.bounded_sums import BoundedSum
from deniable.core.checks import TARGETS
from deniable.core.estimate import Estimate
from deniable.core.questions import Floats, Questions, Terms, Weights, same_scores
from deniable.core.thresholds import exact
from deniable.errors import DuplicateReportsError, InvalidParameterError, MismatchError, quoted

_SLACK = 1e-9


@final
@dataclass(frozen=True, eq=False)
class Stratified(Questions):
    """Combined estimate of one attribute in several strata; it answers the same questions as an `Estimate`.

    Analysts get it from `strata`.

    Parameters
    ----------
    names : tuple of str
        Names of the strata.
    weights : tuple of float
        Shares of the strata in the population, which sum to 1.
    estimates : tuple of Estimate
        The attribute's estimate in each stratum.
    """

    names: tuple[str, ...]
    weights: tuple[float, ...]
    estimates: tuple[Estimate, ...]

    @property
    def attribute(self) -> str:
        """The attribute's name."""
        return self.estimates[0].attribute

    @property
    def scores(self) -> Floats | None:
        """Return the number that each category stands for in a mean."""
        return self.estimates[0].scores

    @property
    def unranked(self) -> tuple[int, ...]:
        """Codes that have no place in the order of the answers."""
        return self.estimates[0].unranked

    @property
    def k(self) -> int:
        """Number of categories."""
        return self.estimates[0].k

    @property
    def labels(self) -> tuple[str, ...]:
        """The categories' names."""
        return self.estimates[0].labels

    @property
    def n(self) -> int:
        """Number of reports of all strata."""
        return sum(estimate.n for estimate in self.estimates)

    @property
    def frequencies(self) -> Floats:
        """Weighted frequencies, float64[k]."""
        frequencies: Floats = np.array(self.weights) @ np.array([estimate.frequencies for estimate in self.estimates])
        return frequencies

    def linear(self, weights: Weights, *, question: str = "") -> Answer:
        asked = self._checked_weights(weights)
        return self._sum([estimate.linear(asked) for estimate in self.estimates], question or f"sum{self._about}")

    def _shifted(self, weights: Floats, question: str) -> Answer:
        return self._sum([estimate._shifted(weights, question) for estimate in self.estimates], question)

    def _sum(self, answers: list[Answer], question: str) -> Answer:
        added = weighted_sum(list(zip(self.weights, answers, strict=True)), f"{question}, in strata")
        return replace(added, extent=answers[0].extent, everyone=all(answer.everyone for answer in answers))

    def _terms(self, above: Floats, below: Floats) -> Terms:
        parts = [estimate._terms(above, below) for estimate in self.estimates]
        squares, shares = np.square(self.weights), np.array(self.weights)
        variances = {}
        for target in TARGETS:
            one, both, other = (squares @ np.array([part.variances[target] for part in parts])).tolist()
            variances[target] = one, both, other
        a, b = (float(shares @ [part[side] for part in parts]) for side in (0, 1))
        refusal = next((part.refusal for part in parts if part.refusal), "")
        return Terms(a, b, variances, self.n, frozenset().union(*(part.source for part in parts)), refusal)

    def _differences(self, above: Floats, below: Floats, ratios: Floats) -> tuple[BoundedSum, ...]:
        found = [estimate._differences(above, below, ratios) for estimate in self.estimates]
        parts = zip(self.weights, found, strict=True)
        return tuple(one.scaled(weight) for weight, own in parts for one in own if weight) if all(found) else ()

    def _labels_of(self) -> tuple[str, ...]:
        return self.labels

    def _check_whole(self, question: str) -> None:
        for estimate in self.estimates:
            estimate._check_whole(question)

    def _codes_by_label(self) -> Mapping[str, int]:
        return self.estimates[0]._codes_by_label()


def strata(estimates: Mapping[str, Estimate], weights: Mapping[str, float | Fraction | str]) -> Stratified:
    """Analyst: combine the estimates of one attribute in several strata, with public weights.

    Parameters
    ----------
    estimates : mapping of stratum to Estimate
        One estimate for each stratum. Nobody is in two strata.
    weights : mapping of stratum to number
        Share of each stratum in the population. Shares sum to 1. Take them from a census or a sampling frame, never
        from the reports.

    Raises
    ------
    InvalidParameterError
        If strata and weights do not have the same names, weights are negative or do not sum to 1, or a stratum has no
        reports. The message names the stratum.
    MismatchError
        If the categories or their scores differ between strata.
    DuplicateReportsError
        If two strata contain the same batch of reports.

    Examples
    --------
    >>> from deniable import GRR, SimulationRandomness
    >>> rng, grr = SimulationRandomness(1), GRR(k=2, epsilon=2.0)
    >>> east, west = (grr.estimate(grr.simulate_aggregate([yes, 1000 - yes], rng)) for yes in (200, 600))
    >>> both = strata({"east": east, "west": west}, {"east": "0.75", "west": "0.25"})
    >>> round(both.total("0").value, 2), [round(end, 2) for end in both.total("0").interval()]
    (0.32, [0.3, 0.34])
    """
    if not estimates or set(estimates) != set(weights):
        raise InvalidParameterError(
            f"weights must give a number for each stratum of the estimates ({quoted(sorted(estimates))}), got weights "
            f"for {quoted(sorted(weights))}"
        )
    shares = {name: exact(weight, f"weights[{name}]") for name, weight in weights.items()}
    total = sum(shares.values(), start=Fraction(0))
    for name, share in shares.items():
        if share < 0:
            raise InvalidParameterError(f"weights must be >= 0, got {float(share):.12g} for the stratum {quoted(name)}")
    if abs(float(total) - 1) > _SLACK:
        raise InvalidParameterError(
            f"weights must sum to 1, got a sum of {float(total):.12g}; divide every weight by this sum"
        )
    first = next(iter(estimates.values()))
    seen: dict[str, str] = {}
    for name, estimate in estimates.items():
        if estimate.n == 0:
            raise InvalidParameterError(
                f"every stratum must have reports, but {quoted(name)} has no reports: merge this stratum with another "
                "one"
            )
        if estimate.labels != first.labels:
            raise MismatchError(
                f"all strata must have the same categories, but the categories of {quoted(name)} differ from the "
                f"categories of {quoted(next(iter(estimates)))}"
            )
        if not same_scores(estimate, first):
            raise MismatchError(
                f"all strata must have the same scores, but the scores of {quoted(name)} differ from the scores of "
                f"{quoted(next(iter(estimates)))}; use estimates with the same scores"
            )
        for batch in (token for token in estimate.source if token.startswith("batch ")):
            if batch in seen:
                raise DuplicateReportsError(
                    f"the strata {quoted(seen[batch])} and {quoted(name)} both contain the reports of {batch[:18]}: "
                    "each contributor can belong to only one stratum"
                )
            seen[batch] = name
    names = tuple(estimates)
    return Stratified(names, tuple(float(shares[name]) for name in names), tuple(estimates.values()))

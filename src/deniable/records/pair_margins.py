"""Margins of each attribute, averaged with public weights over all reports of `PairSample`.

Attribute j is in d-1 tables, and may be reported alone. Each of these parts gives unbiased frequencies of the
attribute. This module averages them. The weight of part g is proportional to N_g divided by the variance of one of its
reports at the uniform distribution. These weights depend only on sizes, epsilon and numbers of reports, so the average
is unbiased too. If the weights depended on the answers, the average would not be unbiased.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import floor

import numpy as np

from deniable.core.bounded_sums import Sample
from deniable.core.estimate import Estimate, Floats
from deniable.core.joint import mixed
from deniable.records.pair_parts import Margin, Reported

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Margins:
    """Unbiased frequencies of every attribute.

    Parameters
    ----------
    sizes : tuple of int
        Domain sizes.
    reported : tuple of Reported
        Reports about each part.
    contributors : int
        Number of all reports.
    """

    sizes: tuple[int, ...]
    reported: tuple[Reported, ...]
    contributors: int

    @cached_property
    def _weighted(self) -> list[tuple[dict[tuple[int, ...], float], float]]:
        """Weights of the parts with reports of each attribute, and the sum that they were divided by."""
        found = []
        for j in range(len(self.sizes)):
            own = [one for one in self.reported if one.n and j in one.part.attributes]
            raw = {one.part.attributes: one.n / one.part.spread(one.part.attributes.index(j)) for one in own}
            total = sum(raw.values())
            found.append(({which: weight / total for which, weight in raw.items()}, total))
        return found

    @cached_property
    def about(self) -> dict[tuple[int, ...], Reported]:
        """Return the reports about each part."""
        return {one.part.attributes: one for one in self.reported}

    def weights(self, attribute: int) -> dict[tuple[int, ...], float]:
        """Return the weight of each part with reports of an attribute; the weights sum to one unless there are none."""
        return self._weighted[attribute][0]

    def precision(self, attribute: int) -> float:
        """Return the inverse variance of an attribute's frequencies at the uniform distribution, including sampling."""
        return self._weighted[attribute][1]

    def frequencies(self, attribute: int) -> Floats:
        """Return the average of an attribute's margins, or NaN if it has no reports."""
        weights, margins = self.weights(attribute), self._margins[attribute]
        if not weights:
            return np.full(self.sizes[attribute], np.nan)
        return sum(weight * margins[which].frequencies for which, weight in weights.items()) + np.zeros(1)

    @cached_property
    def _margins(self) -> list[dict[tuple[int, ...], Margin]]:
        return [{which: self.about[which].margin(j) for which in self.weights(j)} for j in range(len(self.sizes))]

    @cached_property
    def covariances(self) -> list[dict[tuple[int, ...], Floats]]:
        """Covariance from noise and sampling that each part adds to each attribute's frequencies."""
        return [
            {which: weight**2 * self.about[which].margin_covariance(j) for which, weight in self.weights(j).items()}
            for j in range(len(self.sizes))
        ]

    def estimate(self, attribute: int) -> Estimate:
        """Return an attribute's estimate; its n is the number of equally good reports of one kind, rounded down."""
        weights, k = self.weights(attribute), self.sizes[attribute]
        if not weights:
            return Estimate(np.full(k, np.nan), 0, np.zeros(k), np.zeros(k), self.contributors)
        shares = {which: weight**2 / self.about[which].n for which, weight in weights.items()}
        n = floor(1 / sum(shares.values()) + _ROUNDING)  # it is at least 1, because shares sum to at most 1
        margins = [(n * share, self._margins[attribute][which]) for which, share in shares.items()]
        absent, present = np.zeros((2, k))
        for share, margin in margins:
            absent += share * margin.absent
            present += share * margin.present
        noises = [margin.joint for _, margin in margins if margin.joint is not None]
        joint = mixed(noises, [share for share, _ in margins]) if len(noises) == len(margins) else None
        parts = ((which, self._margins[attribute][which].law) for which in weights)
        samples = tuple(Sample(self.about[which].n, weights[which], law) for which, law in parts if law is not None)
        return Estimate(
            self.frequencies(attribute), n, absent, present, self.contributors, joint=joint, samples=samples
        )

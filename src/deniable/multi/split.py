"""SPL: split the budget, report every attribute.

Each of the d attributes goes through its own frequency oracle with epsilon/d; the reports compose to epsilon. The
baseline of the multi-attribute literature. Better than sampling one attribute (`SMP`) only where epsilon/d is large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import checked_counts, checked_integer, checked_records, checked_sizes
from deniable.errors import InvalidInputError
from deniable.estimate import RecordEstimate
from deniable.mechanism import ReportField, check_channel_size, float_channel
from deniable.multi._exact import independent, product_rows
from deniable.multi._oracles import (
    Oracle,
    affine_estimates,
    checked_oracle,
    checked_share,
    empty_reports,
    make_oracles,
    output_count,
    randomize_columns,
    record_field,
)
from deniable.multi._tally import tally_columns
from deniable.privacy import Guarantee, local_guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, check_parts
from deniable.thresholds import checked_epsilon, log_up


@register("SPL")
@dataclass(frozen=True)
class SPL:
    """Every attribute by a frequency oracle with an equal share of the budget.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes (k_1, ..., k_d), d >= 1, each in 2..2^32; they may differ.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, in [1e-6, 32]; each attribute spends the exact fraction epsilon/d,
        which must be at least 1e-6.
    oracle : {"GRR", "OUE"}
        Frequency oracle of every attribute.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SPL, SimulationRandomness
    >>> import numpy as np
    >>> spl = SPL(sizes=(2, 4), epsilon=2.0)
    >>> reports = spl.randomize(np.array([[0, 3], [1, 3], [1, 0]]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape
    (dtype('uint8'), (3, 2))
    >>> estimates = spl.estimate(spl.aggregate(reports))
    >>> [estimate.k for estimate in estimates.values()]
    [2, 4]
    """

    sizes: tuple[int, ...]
    epsilon: float | Fraction
    oracle: str = "GRR"

    name = "SPL"
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", checked_sizes(self.sizes))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        share = checked_share(self.epsilon, len(self.sizes))
        make_oracles(checked_oracle(self.oracle), self.sizes, share)  # refuses what an oracle refuses

    @cached_property
    def oracles(self) -> tuple[Oracle, ...]:
        """The frequency oracle of each attribute, with its share epsilon/d."""
        return make_oracles(self.oracle, self.sizes, checked_share(self.epsilon, len(self.sizes)))

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> NDArray[Any]:
        """Contributor: report every attribute through its oracle.

        Parameters
        ----------
        inputs : int[n, d]
            Records of true codes, column j in 0..k_j-1.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        uint8, uint16 or uint32 [n, d]
            Reported codes (GRR), in the dtype of the largest domain; or packed bits uint8[n, sum of ceil(k_j/8)]
            (OUE), every attribute starting at a byte boundary.

        Raises
        ------
        InvalidInputError
            If a code is out of range, naming its row and attribute.
        """
        codes = checked_records(inputs, self.sizes)
        reports = empty_reports(self.oracles, len(codes))
        randomize_columns(self.oracles, codes, rng, reports)
        return reports

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: sum the support counts of every attribute, one attribute after the other.

        Parameters
        ----------
        reports : int[n, d] or uint8[n, sum of ceil(k_j/8)]
            As `randomize` returns them.

        Raises
        ------
        InvalidReportError
            If a report cannot have come from this mechanism, naming its row and attribute.
        """
        counts, n = tally_columns(self.oracles, reports)
        return Aggregate(self, counts, n)

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: unbiased frequencies of every attribute, f^ = (count/n - q)/(p - q) with the implemented p and q.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If it contains no reports.
        """
        check_aggregate(aggregate, self)
        return affine_estimates(aggregate.counts, self.sizes, aggregate.n, self.support_probabilities)

    def variance(self, f: float, n: int, attribute: int) -> float:
        """Variance of an estimated frequency of one attribute whose true value is f, noise only, n contributors."""
        return self.oracles[checked_integer("attribute", attribute, 0, len(self.sizes) - 1)].variance(f, n)

    # ---------------------------------------------------------------- guarantee and exact law

    @cached_property
    def support_probabilities(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Implemented (p, q) of each attribute: probability that its report supports a held value, and another."""
        return tuple(oracle.support_probabilities for oracle in self.oracles)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon for the whole record, epsilon/d for one attribute."""
        d = len(self.sizes)
        share = float(checked_share(self.epsilon, d))
        return local_guarantee(float(self.epsilon), self.implemented_epsilon(), per_attribute=(share,) * d)

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio between two records, exact: the product over the attributes."""
        return prod((oracle.implemented_ratio() for oracle in self.oracles), start=Fraction(1))

    def implemented_attribute_ratio(self, attribute: int) -> Fraction:
        """Largest likelihood ratio between two records that differ in one attribute only, exact."""
        return self.oracles[checked_integer("attribute", attribute, 0, len(self.sizes) - 1)].implemented_ratio()

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return log_up(self.implemented_ratio())

    def outputs(self) -> NDArray[Any]:
        """Every possible report once, in the order of the columns of `channel`: the last attribute changes fastest."""
        check_channel_size(1, output_count(self.oracles), repr(self))
        return product_rows([oracle.outputs() for oracle in self.oracles], record_field(self.oracles).dtype)

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | record), shape (k_1 ... k_d, outputs): float64, or exact Fractions if `exact`.

        Rows are all records in lexicographic order, the last attribute fastest; each sums to one.
        """
        check_channel_size(prod(self.sizes), output_count(self.oracles), repr(self))
        matrix = independent([oracle.channel(exact=True) for oracle in self.oracles])
        return matrix if exact else float_channel(matrix)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, counts: Sequence[ArrayLike], rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these marginal counts, exactly in distribution, without reports.

        Marginal counts are enough: every attribute of every contributor is randomised on its own, so the counts of two
        attributes are independent given the true records, however those are correlated.

        Parameters
        ----------
        counts : sequence of int[k_j]
            For each attribute, the number of contributors who hold each value; all with the same sum.
        rng : SimulationRandomness
            Source of the draw.

        Raises
        ------
        InvalidInputError
            If the counts do not fit the domains, or their sums differ.
        """
        if len(counts) != len(self.sizes):
            raise InvalidInputError(f"counts must have one array per attribute ({len(self.sizes)}), got {len(counts)}")
        marginals = [checked_counts(given, size) for given, size in zip(counts, self.sizes, strict=True)]
        totals = [int(marginal.sum()) for marginal in marginals]
        if len(set(totals)) > 1:
            raise InvalidInputError(f"counts must have the same sum for every attribute, got sums {totals}")
        parts = [
            oracle.simulate_aggregate(marginal, rng).counts
            for oracle, marginal in zip(self.oracles, marginals, strict=True)
        ]
        return Aggregate(self, np.concatenate(parts), totals[0])

    @property
    def state_size(self) -> int:
        """One counter per value of every attribute."""
        return sum(self.sizes)

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse all but support counts of n reports for every attribute."""
        check_parts(self.oracles, counts, [n] * len(self.sizes))

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """One row of codes, or of packed bits, per report."""
        return (record_field(self.oracles),)

    @property
    def report_bits(self) -> float:
        """Bits per report, the sum over the attributes."""
        return sum(oracle.report_bits for oracle in self.oracles)

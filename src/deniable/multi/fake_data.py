"""RS+FD: report one attribute truly and all others as fakes, and do not say which.

Arcolezi, Couchot, Al Bouna, Xiao, *Random sampling plus fake data: multidimensional frequency estimates with local
differential privacy* (CIKM 2021). Every contributor draws one attribute uniformly, reports it through its frequency
oracle, and sends fake reports of the others.

Erratum: the paper spends the "amplified" eps' = ln(d (e^eps - 1) + 1) on the sampled attribute. Between whole records
the ratio is then e^eps', not e^eps: one report can speak for one record, and against another, in all d attributes at
once. Even between records that differ in one attribute e^eps holds only where the attributes are alike: over GRR where
all sizes are equal, over OUE with zero fakes. Here the sampled attribute spends epsilon itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import checked_integer, checked_records, checked_sizes
from deniable.errors import InvalidParameterError
from deniable.estimate import RecordEstimate, affine_variance
from deniable.mechanism import ReportField, check_channel_size, float_channel
from deniable.multi._exact import Evidence, one_attribute_ratio, product_rows, sampled
from deniable.multi._fakes import (
    FAKES,
    fake_evidence,
    fake_law,
    fake_support,
    randomize_with_fakes,
    simulate_with_fakes,
)
from deniable.multi._oracles import (
    Oracle,
    affine_estimates,
    checked_oracle,
    empty_reports,
    make_oracles,
    output_count,
    record_field,
)
from deniable.multi._sampled import simulate_sampling
from deniable.multi._tally import tally_columns
from deniable.privacy import Guarantee, local_guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, check_parts
from deniable.thresholds import checked_epsilon, log_up

REMARK = (
    "the sampled attribute is hidden and spends epsilon itself; the amplified budget that the literature spends would "
    "not bound the ratio between whole records"
)


@register("RS+FD")
@dataclass(frozen=True)
class RSFD:
    """One uniformly sampled attribute by a frequency oracle, hidden among fake reports of the others.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes (k_1, ..., k_d), d >= 1, each in 2..2^32; they may differ.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, in [1e-6, 32], spent on the sampled attribute.
    oracle : {"GRR", "OUE"}
        Frequency oracle of every attribute.
    fakes : {"uniform", "zero", "random"}, optional
        What a fake is. Over GRR "uniform": a uniform code, the only choice. Over OUE "zero" (default): the all-zero
        vector through OUE (RS+FD[OUE-z]); or "random": a uniform value through OUE (RS+FD[OUE-r]).

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import RSFD, SimulationRandomness
    >>> import numpy as np
    >>> rsfd = RSFD(sizes=(2, 4), epsilon=1.0)
    >>> reports = rsfd.randomize(np.array([[0, 3], [1, 3], [1, 0]]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape
    (dtype('uint8'), (3, 2))
    >>> [round(value, 3) for value in rsfd.privacy().per_attribute]
    [0.558, 0.679]
    >>> RSFD(sizes=(2, 4), epsilon=1.0, oracle="OUE").fakes
    'zero'
    """

    sizes: tuple[int, ...]
    epsilon: float | Fraction
    oracle: str = "GRR"
    fakes: str | None = None

    name = "RS+FD"
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", checked_sizes(self.sizes))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        choices = FAKES[checked_oracle(self.oracle)]
        fakes = choices[0] if self.fakes is None else self.fakes
        if fakes not in choices:
            raise InvalidParameterError(f"fakes over {self.oracle} must be {' or '.join(choices)}, got fakes={fakes!r}")
        object.__setattr__(self, "fakes", fakes)
        make_oracles(self.oracle, self.sizes, self.epsilon)  # refuses what an oracle refuses

    @cached_property
    def oracles(self) -> tuple[Oracle, ...]:
        """The frequency oracle of each attribute, with the whole epsilon."""
        return make_oracles(self.oracle, self.sizes, self.epsilon)

    @property
    def _kind(self) -> str:
        return self.fakes or FAKES[self.oracle][0]

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> NDArray[Any]:
        """Contributor: report one attribute, exactly uniformly drawn, through its oracle, and fakes of the others.

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
        randomize_with_fakes(self._kind, self.oracles, codes, rng, reports)
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
        """Analyst: unbiased frequencies of every attribute, f^ = (count/n - Q)/(P - Q), see `support_probabilities`.

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
        """Variance of an estimated frequency of one attribute whose true value is f among n contributors.

        Noise only; the drawing of the attribute is part of the noise.
        """
        p, q = self.support_probabilities[checked_integer("attribute", attribute, 0, len(self.sizes) - 1)]
        return affine_variance(float(p), float(q), f, n)

    # ---------------------------------------------------------------- guarantee and exact law

    @cached_property
    def support_probabilities(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Implemented (P, Q) of each attribute: probability that a record's report supports a held value, and another.

        P = (p + (d-1) s)/d and Q = (q + (d-1) s)/d, where (p, q) are the oracle's and a fake supports any one value
        with probability s: 1/k uniform, q zero, q + (p-q)/k random.
        """
        d = len(self.sizes)
        result = []
        for oracle in self.oracles:
            (p, q), s = oracle.support_probabilities, fake_support(self._kind, oracle)
            result.append(((p + (d - 1) * s) / d, (q + (d - 1) * s) / d))
        return tuple(result)

    @cached_property
    def _evidence(self) -> tuple[Evidence, ...]:
        return tuple(fake_evidence(self._kind, oracle) for oracle in self.oracles)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon for the whole record; less between records that differ in one attribute."""
        epsilon, d = float(self.epsilon), len(self.sizes)
        per_attribute = tuple(min(epsilon, log_up(self.implemented_attribute_ratio(j))) for j in range(d))
        return local_guarantee(epsilon, self.implemented_epsilon(), per_attribute, (REMARK,))

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio between two records, exact.

        The report that speaks for one record and against the other in every attribute attains that of the oracle, for
        every d and all sizes.
        """
        high = sum((part.high for part in self._evidence), start=Fraction(0))
        return high / sum((part.low for part in self._evidence), start=Fraction(0))

    def implemented_attribute_ratio(self, attribute: int) -> Fraction:
        """Largest likelihood ratio between two records that differ in one attribute only, exact.

        Over GRR it is (k_j p_j + S)/(k_j q_j + S), S the sum of k_i q_i over the other attributes; where all sizes are
        equal, (e^epsilon + d - 1)/d.
        """
        return one_attribute_ratio(self._evidence, checked_integer("attribute", attribute, 0, len(self.sizes) - 1))

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
        truths = [oracle.channel(exact=True) for oracle in self.oracles]
        matrix = sampled(truths, [fake_law(self._kind, oracle) for oracle in self.oracles])
        return matrix if exact else float_channel(matrix)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these records, exactly in distribution, without reports.

        Contributors who sample one attribute do not sample another, so the counts of two attributes depend on each
        other through the records: marginal counts are not enough. Given who samples what, attributes are independent.
        Cost: O(r d) and a few draws per attribute.

        Parameters
        ----------
        records : int[r, d]
            Records.
        counts : int[r]
            Number of contributors who hold each record.
        rng : SimulationRandomness
            Source of the draw.

        Raises
        ------
        InvalidInputError
            If a record or a count is out of range.
        """
        held, n = simulate_sampling(records, counts, self.sizes, rng)
        pairs = zip(self.oracles, held, strict=True)
        parts = [simulate_with_fakes(self._kind, oracle, mine, n, rng) for oracle, mine in pairs]
        return Aggregate(self, np.concatenate(parts), n)

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

"""k-ary JRR inside local hashing, for fidelity: it gains nothing for rare values.

Zheng, Seeam, Hu, Zhang, Zhang, PoPETs 2025(3), section 4.6.2: every contributor draws a public hash and sends it with
the k-ary JRR of the hashed value. A report supports v (its cell is h(v)) with a probability that does not depend on the
truth coin where the contributor does not hold v and values collide with probability 1/m; so coupled coins only act
where *both* peers hold v. Measured: docs/theory/coupling.md. Use `CoupledOUE`, or `QuotaRR`, instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate
from deniable.checks import checked_codes, checked_counts, checked_integer
from deniable.errors import InvalidInputError
from deniable.joint._coupled_common import check_dealt_to, score_bounds, support_frequencies
from deniable.joint.dealt_estimate import DealtEstimate
from deniable.joint.jrr_parameters import pair_rate
from deniable.joint.jrr_shares import JRRShares
from deniable.joint.kary_jrr import MAX_VALUES, KaryJRR
from deniable.mechanism import Mechanism, ReportField
from deniable.mechanisms.hash_families._columns import columns_of
from deniable.mechanisms.hash_families.family import HashFamily
from deniable.mechanisms.hash_families.registry import family_entry
from deniable.privacy import Guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, dealt_to
from deniable.thresholds import EpsilonLike


@register("JRRLocalHashing")
@dataclass(frozen=True)
class JRRLocalHashing:
    """Local hashing over {0, ..., k-1} with k-ary JRR over m cells, for one deal to n contributors.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32.
    m : int
        Number of cells, 2 <= m <= 65535.
    p, rho : float
        Of the k-ary JRR over the m cells (`KaryJRR`).
    n : int
        Number of contributors dealt to. Fewer may report.
    colluders : int, optional
        Number of colluders that `privacy` states a row for.
    deal_id : str
        Names the deal; every deal needs its own.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import OLH, SimulationRandomness
    >>> import numpy as np
    >>> hashed = JRRLocalHashing.optimal(k=100, m=4, n=10_000, epsilon=1.0, colluders=5)
    >>> round(hashed.variance(0.01) / OLH(100, 1.0).variance(0.01, 10_000), 2)  # no gain for rare values
    1.0
    """

    k: int
    m: int
    p: float | Fraction
    rho: float | Fraction
    n: int
    colluders: int | None = None
    deal_id: str = ""

    name = "JRRLocalHashing"

    def __post_init__(self) -> None:
        hashes = family_entry("prime").build(self.k, self.m)
        object.__setattr__(self, "k", hashes.k)
        object.__setattr__(self, "m", checked_integer("m", hashes.m, 2, MAX_VALUES))
        response = self.response
        for field in ("p", "rho", "n", "colluders"):
            object.__setattr__(self, field, getattr(response, field))

    @classmethod
    def optimal(
        cls,
        k: int,
        m: int,
        n: int,
        epsilon: EpsilonLike,
        colluders: int,
        count: int | None = None,
        epsilon_aux: EpsilonLike | None = None,
        *,
        deal_id: str = "",
    ) -> Self:
        """Return local hashing with the response `KaryJRR.optimal(m, n, epsilon, ...)`, parameters as there."""
        response = KaryJRR.optimal(m, n, epsilon, colluders, count, epsilon_aux, deal_id=deal_id)
        return cls(k, m, response.p, response.rho, n, colluders, deal_id)

    @cached_property
    def hashes(self) -> HashFamily:
        """The family of public hash functions."""
        return family_entry("prime").build(self.k, self.m)

    @property
    def response(self) -> KaryJRR:
        """What cells go through."""
        return KaryJRR(self.m, self.p, self.rho, self.n, self.colluders, self.deal_id)

    # ---------------------------------------------------------------- dealer

    def deal(self, n: int, rng: Randomness) -> JRRShares:
        """Dealer: draw the signs of all n contributors; sees no data, no hashes and no reports."""
        return self.response.deal(n, rng)

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, shares: JRRShares, rng: Randomness) -> Any:
        """Contributor: draw a public hash, and report it with the response of the hashed value.

        Parameters
        ----------
        inputs : int[m]
            True codes in 0..k-1.
        shares : JRRShares
            One share per input, of this deal.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        HashedReports
            The hashes' parameters and the cells.

        Raises
        ------
        InvalidInputError
            If a code is out of range, or a share is missing or malformed.
        MismatchError
            If the shares belong to another deal.
        """
        codes = checked_codes(inputs, self.k)
        parameters = self.hashes.draw_parameters(rng, len(codes))
        cells = self.response.randomize(self.hashes.hash(codes, *parameters), shares, rng)
        return self.hashes.join(parameters, cells)

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: Any) -> Aggregate:
        """Collector: count the reports that support each value, in O(n k) time; never sees shares.

        Raises
        ------
        InvalidReportError
            If a report is not one that the mechanism can have produced, naming its row.
        """
        checked = self.hashes.checked(reports)
        return Aggregate(self._source, self.hashes.tally(checked), len(columns_of(checked)[0]))

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> DealtEstimate:
        """Analyst: unbiased frequencies f^ = (C/n' - p0)/(p1 - p0) among the n' reporters.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism or deal.
        EmptyAggregateError
            If it contains no reports.
        """
        return DealtEstimate(self.frequencies(aggregate), aggregate.n, (aggregate,))

    def frequencies(self, aggregate: Aggregate) -> NDArray[np.float64]:
        """Analyst: return the estimated frequencies alone, float64[k]; raises as `estimate` does."""
        return support_frequencies(self, aggregate)

    def frequency_bounds(self, aggregate: Aggregate, tail: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Analyst: return score bounds for `DealtEstimate.interval`, each failing with about the probability `tail`."""
        return score_bounds(self, aggregate, tail)

    def variance(self, f: float, n: int | None = None, *, reporters: int | None = None) -> float:
        """Variance of an estimated frequency whose true value among the reporters is f, noise only, exact.

        Parameters
        ----------
        f : float
            True frequency.
        n : int, optional
            The mechanism's n if given: the law depends on it.
        reporters : int, optional
            How many of the n report, all by default; who drops out must not depend on the share.
        """
        check_dealt_to(n, self.n)
        count = self.n if reporters is None else checked_integer("reporters", reporters, 1, self.n)
        present, absent = self.support_probabilities
        held, others = f * count, (1 - f) * count
        # How much the truth coin moves the support of v: by one for who holds v, by c - (1-c)/(m-1) for who does not.
        c = self.hashes.collision_probability
        pull = float(c - (1 - c) / (self.m - 1))
        pairs = (held + pull * others) ** 2 - held - pull**2 * others
        coin = self.response.coin
        spread = held * float(present * (1 - present)) + others * float(absent * (1 - absent))
        coupled = float(coin.s**2 * pair_rate(self.n)) * pairs
        return (spread - coupled) / (count * float(present - absent)) ** 2

    # ---------------------------------------------------------------- guarantee and exact law

    @cached_property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p1, p0): probability that a report supports v if the contributor holds v, and if not."""
        p, q = self.response.support_probabilities
        c = self.hashes.collision_probability
        return p, c * p + (1 - c) * q

    @property
    def epsilon(self) -> float:
        """What holds whoever colludes: the response's; infinite at the end of the range of rho."""
        return self.implemented_epsilon()

    def privacy(self, *, colluders: int | None = None, delta: float = 1e-6) -> Guarantee:
        """Return the guarantee of the response: hashes are public and drawn before the answer is looked at.

        Rows at delta are upper bounds: two answers may share a cell.
        """
        guarantee = self.response.privacy(colluders=colluders, delta=delta)
        rows = tuple(replace(row, status="upper bound") if row.delta else row for row in guarantee.trust_models)
        remark = "the hash function in a report is public and independent of the answer"
        return replace(guarantee, trust_models=rows, remarks=(*guarantee.remarks, remark))

    def implemented_ratio(self) -> Fraction | float:
        """Return the response's largest likelihood ratio of who knows the share."""
        return self.response.implemented_ratio()

    def implemented_epsilon(self) -> float:
        """Return ln of `implemented_ratio`, rounded up."""
        return self.response.implemented_epsilon()

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of n contributors with these true counts int[k], by making all reports.

        Raises
        ------
        InvalidInputError
            If the counts do not sum to n.
        """
        held = checked_counts(counts, self.k)
        if int(held.sum()) != self.n:
            raise InvalidInputError(f"counts must sum to n={self.n}, got {int(held.sum())}")
        return self.aggregate(self.randomize(np.repeat(np.arange(self.k), held), self.deal(self.n, rng), rng))

    @property
    def _source(self) -> Mechanism[Any, Any]:
        # The verbs of the collector and the analyst are every mechanism's; the contributor's also takes shares.
        return cast("Mechanism[Any, Any]", self)

    @property
    def report_type(self) -> Any:
        """The family's layout."""
        return self.hashes.report_type

    @property
    def share_type(self) -> type[JRRShares]:
        """Builds shares from the deal's id and their types."""
        return JRRShares

    @property
    def state_size(self) -> int:
        """One counter per value."""
        return self.hashes.state_size

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse what no n reports add up to, as many as contributors at most."""
        dealt_to(n, self.n)
        self.hashes.check_state(counts, n)

    @property
    def share_fields(self) -> tuple[ReportField, ...]:
        """One type per share."""
        return self.response.share_fields

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """The hash's parameters and the cell."""
        return self.hashes.report_fields

    @property
    def report_bits(self) -> float:
        """Bits per report."""
        return self.hashes.report_bits

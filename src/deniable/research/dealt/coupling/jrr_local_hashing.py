"""k-ary JRR inside local hashing, as in the paper, whose error for rare values is not smaller than that of OLH.

The mechanism is from Zheng, Seeam, Hu, Zhang, Zhang, PoPETs 2025(3), section 4.6.2. Every contributor draws a hash
function at random and sends it openly. The contributor also sends the cell of the true code, which k-ary JRR has
randomised.

For rare values, the error is not smaller than the error of OLH, which works without a dealer. The reason is as follows.
A report supports a value v if it names the cell h(v), where h is the report's hash function. Suppose that any two
values share a cell with probability 1/m, and take a contributor who does not hold v. If this contributor names the true
cell, the report supports v with probability 1/m. If the contributor names a false cell, the probability is also 1/m. So
the correlation within a pair changes the error for v only if *both* contributors of the pair hold v. Measured errors
are on the page docs/theory/coupling.md. Use `CoupledOUE` or `QuotaRR` instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.card import Card
from deniable.core.checks import Codes, checked_integer, code_dtype, settle
from deniable.core.mechanism import ReportField
from deniable.core.privacy import Guarantee
from deniable.core.randomness import Randomness, SimulationRandomness
from deniable.core.state import Counts
from deniable.core.thresholds import EpsilonLike
from deniable.oracles.sketch.families._columns import columns_of
from deniable.oracles.sketch.families.family import HashFamily
from deniable.oracles.sketch.families.registry import family_entry
from deniable.research.dealt.coupling.coins import Coin
from deniable.research.dealt.coupling.coupled import SignedCoins
from deniable.research.dealt.coupling.kary_jrr import MAX_VALUES, KaryJRR
from deniable.research.dealt.dealt import NO_ROW
from deniable.research.dealt.shares import Columns


@final
@dataclass(frozen=True)
class JRRLocalHashing(SignedCoins[Any]):
    """JRR local hashing reports a random hash function and one randomised cell, with help from a dealer.

    The hash function maps every possible answer to one of m *cells*. The mechanism `KaryJRR` randomises the cell of the
    true code. For this, a dealer deals secret shares once to n contributors, in random pairs. The shares make it less
    likely that both contributors of a pair report a false cell.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^32.
    m : int
        Number of cells m, from 2 to 65535.
    p, rho : float
        Parameters of k-ary JRR over the m cells. p is the probability of reporting the true cell. rho is at most 0, and
        sets how strongly the two reports of a pair depend on each other. The page of `KaryJRR` has the limits of rho.
    n : int
        Number of contributors who receive a share. Fewer contributors may report.
    colluders : int, optional
        Number of colluders for which `privacy` states a bound.
    deal_id : str
        Name of the deal. Every deal needs its own name.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import OLH, SimulationRandomness
    >>> from deniable.research.dealt import JRRLocalHashing
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
    epsilon: float = field(init=False, repr=False, compare=False)
    """Bound under any collusion, which is that of the response; infinite at the end of the range of rho."""

    name = "JRRLocalHashing"
    constructor = "optimal"
    card = Card(
        group="dealt",
        when="only to reproduce the paper on JRR; for rare values, its error is not smaller than the error of OLH, "
        "which is local hashing without a dealer",
        aliases=("JRR-LH",),
        planned=False,
        instead=NO_ROW,
        decoding="compares",
        wire="a hash function and one cell",
        page="theory/coupling.md",
    )

    def __post_init__(self) -> None:
        hashes = self.hashes
        settle(self, k=hashes.k, m=checked_integer("m", hashes.m, 2, MAX_VALUES))
        self._check_coins()

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
        """Return the mechanism with the response `KaryJRR.optimal(m, n, epsilon, ...)`; see its parameters there."""
        response = KaryJRR.optimal(m, n, epsilon, colluders, count, epsilon_aux, deal_id=deal_id)
        return cls(k, m, response.p, response.rho, n, colluders, deal_id)

    @cached_property
    def hashes(self) -> HashFamily:
        """The family of public hash functions."""
        return family_entry("prime").build(self.k, self.m)

    @cached_property
    def response(self) -> KaryJRR:
        """Return the mechanism that randomises cells."""
        return KaryJRR(self.m, self.p, self.rho, self.n, self.colluders, self.deal_id)

    # ---------------------------------------------------------------- contributor and collector

    def _randomize(self, codes: Codes, columns: Columns, rng: Randomness) -> Any:
        # The hash function is drawn before the answer is looked at.
        parameters = self.hashes.draw_parameters(rng, len(codes))
        cells = self.response._randomize(self.hashes.hash(codes, *parameters), columns, rng)
        return self.hashes.join(parameters, cells)

    def _tally(self, reports: Any) -> tuple[NDArray[np.int64], int]:
        # This counts the reports that support each value, in O(n k) time.
        checked = self.hashes.checked(reports)
        return self.hashes.tally(checked).astype(np.int64, copy=False), len(columns_of(checked)[0])

    def _check_counts(self, counts: Counts, n: int) -> None:
        self.hashes.check_state(counts, n)

    # ---------------------------------------------------------------- guarantee and exact distribution

    @property
    def cells(self) -> int:
        return self.m

    @property
    def coin(self) -> Coin:
        return self.response.coin

    @property
    def _pull(self) -> float:
        c = self.hashes.collision_probability
        return float(c - (1 - c) / (self.m - 1))

    @cached_property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        p, q = self.response.support_probabilities
        c = self.hashes.collision_probability
        return p, c * p + (1 - c) * q

    def _guarantee(self, theta: float, colluders: int, delta: float) -> Guarantee:
        # The guarantee is that of the response. Rows at delta are upper bounds, because two answers may share a cell.
        guarantee = self.response.guarantee_against(theta=theta, colluders=colluders, delta=delta)
        rows = tuple(replace(row, status="upper bound") if row.delta else row for row in guarantee.trust_models)
        remark = "the hash function in a report is public and independent of the answer"
        return replace(guarantee, trust_models=rows, remarks=(*guarantee.remarks, remark))

    # ---------------------------------------------------------------- reports and simulation

    def outputs(self) -> Any:
        """Return every possible report once, ordered by hash function and then by cell."""
        self._check_channel(self.k, self.hashes.member_count * self.m)
        parameters, probabilities = self.hashes.members()
        cells = np.tile(np.arange(self.m), len(probabilities)).astype(code_dtype(self.m))
        return self.hashes.join(tuple(np.repeat(column, self.m) for column in parameters), cells)

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # The simulation makes all reports.
        truth = np.repeat(np.arange(self.k), counts)
        return self._tally(self.randomize(truth, self.deal(self.n, rng), rng))[0]

    @property
    def report_type(self) -> Callable[..., Any]:
        return self.hashes.report_type

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """Parameters of the hash function, and the cell."""
        return self.hashes.report_fields

    @property
    def report_bits(self) -> float:
        """Bits per report."""
        return self.hashes.report_bits

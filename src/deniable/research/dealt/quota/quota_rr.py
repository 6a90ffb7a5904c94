"""Quota randomised response (QuotaRR), whose dealer hands out "say v" and "say the truth" in nearly fixed numbers.

In plain randomised response, each device decides alone whether to lie. So the number of lies varies by chance, and this
variation is the noise of the estimates. Here a dealer gives each contributor an instruction, which is called a *type*:
say the truth, or say a given value v. The instruction to say a given value is called a *forced answer*. The dealer
deals the types of all n contributors together, and sees neither data nor reports.

The types have the same distribution as in the following procedure. The dealer draws the types as in randomised
response, and draws all of them again until every forced answer is dealt at least a0 times.

The guarantee is pure, which means that delta is 0. It holds against a collector who knows the data and the types of
everybody else. The dealer must not collude with the collector. If the dealer colludes, only the parameter `epsilon_aux`
limits what the two can learn. The proofs are on the page about quota randomised response, docs/theory/quota_rr.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.card import Card
from deniable.core.checks import Codes, checked_integer, checked_probability, checked_report_codes, code_dtype, settle
from deniable.core.mechanism import ReportField
from deniable.core.randomness import Randomness, SimulationRandomness, blocks
from deniable.core.report_likelihood import (
    DealtTypes as RelatedTypes,
    RelatedReports,
    ReportIndicators,
    ReportLikelihood,
    TellsAnswers,
)
from deniable.core.thresholds import EPSILON_MAX, SCALE, checked_epsilon, exact
from deniable.errors import InvalidParameterError
from deniable.oracles.grr import lie_threshold, randomize_codes
from deniable.research.dealt.dealt import ROW_APART, CodeOracle, TypedShares
from deniable.research.dealt.quota.law import QuotaLaw, best_minimum, never_worse, quota_law
from deniable.research.dealt.quota.oracle import QuotaOracle, truth_weight
from deniable.research.dealt.quota.tables import QuotaTables, deal_types, quota_tables
from deniable.research.dealt.shares import Columns, DealtTypes, check_types, follow

MAX_VALUES = (1 << 16) - 1


@lru_cache(maxsize=256)
def _minimum(n: int, k: int, weight: Fraction, truth: Fraction, lie: Fraction, design: float | None) -> int:
    law = (n, k, float(weight), float(truth), float(lie))
    return never_worse(*law, best_minimum(*law, 0.5)) if design is None else best_minimum(*law, design)


@final
@dataclass(frozen=True)
class QuotaRR(QuotaOracle[Codes], CodeOracle, TypedShares, TellsAnswers, RelatedReports):
    """Quota randomised response reports one code, and a dealer decides who must report a given code.

    The dealer deals secret shares once to n contributors. A share says "tell the truth" or "say v" for a given code v.
    The instruction "say v" is called a *forced answer*. The dealer forces each code on at least a0 contributors. The
    number a0, called the *quota*, is fixed in advance.

    Parameters
    ----------
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. The guarantee holds against everybody except the dealer. A float is
        read as the decimal that Python prints for it, so 0.1 is read as 1/10.
    n : int
        Number of contributors who receive a share, from 2 to 2^32. Fewer contributors may report.
    minimum : int, optional
        Quota a0: every code is forced on at least this many contributors. The product k a0 must be less than n. With 0
        the mechanism is plain randomised response. By default, the parameter `design` decides the quota. The object
        stores the chosen quota in `minimum`.
    k : int
        Number of possible answers k, from 2 to 65535.
    design : float, optional
        Frequency, from 0 to 1, at which the default quota has the least variance. If `design` is left out, the default
        quota has the least variance at frequency 1/2. At every other frequency, the variance with the default quota is
        at most the variance of plain randomised response, for every k. A quota for rare values has a larger variance at
        frequency 1/2 than the default quota.
    epsilon_aux : float, Fraction, Decimal or str, optional
        Privacy budget against a dealer who colludes with the collector. It must be greater than epsilon. Contributors
        who are told to tell the truth then randomise their answers with this budget. If `epsilon_aux` is left out,
        nothing limits what a colluding dealer learns. Anyone who obtains a share that says "truth" can then read the
        answer from the report.
    deal_id : str
        Name of the deal. Every deal needs its own name. Aggregates of different deals are not added up. The function
        `combine_deals` combines their estimates.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds. The message names the nearest feasible value.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.dealt import QuotaRR
    >>> import numpy as np
    >>> quota = QuotaRR(epsilon=1.0, n=10_000)
    >>> quota.minimum
    2809
    >>> rng = SimulationRandomness(1)
    >>> truth = np.repeat([0, 1], [9500, 500])
    >>> reports = quota.randomize(truth, quota.deal(10_000, rng), rng)
    >>> estimate = quota.estimate(quota.aggregate(reports))
    >>> estimate.frequencies.round(3), estimate.standard_errors.round(4)
    (array([0.951, 0.049]), array([0.0031, 0.0031]))
    """

    epsilon: float | Fraction
    n: int
    minimum: int | None = None
    k: int = 2
    design: float | None = None
    epsilon_aux: float | Fraction | None = None
    deal_id: str = ""

    name = "QuotaRR"
    stated = ("minimum",)
    card = Card(
        group="dealt",
        when="if a dealer is trusted not to collude; with 10,000 contributors, its variance at epsilon 1 is about 4% "
        "of the variance of GRR; with 1,000 contributors, it is 11 to 18%; these numbers are for at most 16 possible "
        "answers, and for an answer that almost nobody gives",
        aliases=("quota randomised response",),
        planned=False,
        instead=ROW_APART,
        wire="one code",
        page="theory/quota_rr.md",
        note="epsilon holds against everyone except the dealer",
    )

    def __post_init__(self) -> None:
        settle(self, epsilon=checked_epsilon(self.epsilon), k=checked_integer("k", self.k, 2, MAX_VALUES))
        self._check_deal()
        if self.design is not None:
            settle(self, design=checked_probability("design", self.design))
        if self.epsilon_aux is not None:
            cap, got = exact(self.epsilon_aux, "epsilon_aux"), f"got epsilon_aux={self.epsilon_aux}"
            if cap <= exact(self.epsilon):
                raise InvalidParameterError(f"epsilon_aux must be > epsilon={self.epsilon}, {got}")
            if cap > EPSILON_MAX:
                raise InvalidParameterError(f"epsilon_aux must be <= {EPSILON_MAX}, {got}")
            settle(self, epsilon_aux=checked_epsilon(self.epsilon_aux, "epsilon_aux"))
        truth, lie = self._truthfulness
        weight = truth_weight(self.k, self.epsilon, lie)
        if self.minimum is None:
            settle(self, minimum=_minimum(self.n, self.k, weight, truth, lie, self.design))
        largest = (self.n - 1) // self.k
        if checked_integer("minimum", self.a0, 0) > largest:
            raise InvalidParameterError(
                f"minimum must be <= {largest}, got minimum={self.minimum}; k={self.k} times minimum must be below "
                f"n={self.n}"
            )

    def _dealt_types(self) -> DealtTypes:
        # There is one type per value. How many contributors have each type is secret.
        return DealtTypes(self.k, tables=self.tables)

    @property
    def a0(self) -> int:
        """The quota in use."""
        assert self.minimum is not None
        return self.minimum

    # ---------------------------------------------------------------- dealer and contributor

    @property
    def share_fields(self) -> tuple[ReportField, ...]:
        """One type for each share. Type v < k: report v. Type k: report the truth, or randomise it with epsilon_aux."""
        return (ReportField("types", code_dtype(self.k + 1).name),)

    def _check_types(self, columns: Columns) -> None:
        spare = self.n - self.k * self.a0
        check_types(columns[0], self.n, [self.a0 + spare] * self.k + [spare])

    def _deal(self, n: int, rng: Randomness) -> Columns:  # noqa: ARG002
        return (deal_types(self.tables.draw_counts(rng), rng),)

    def _randomize(self, codes: Codes, columns: Columns, rng: Randomness) -> Codes:
        reports = np.empty(len(codes), dtype=code_dtype(self.k))
        if self.epsilon_aux is None:
            follow(columns[0], codes, self.k, reports)
            return reports
        lie = np.uint64(lie_threshold(self.k, self.epsilon_aux))
        for rows, words in blocks(rng, len(codes)):
            randomize_codes(codes[rows], words, lie, self.k, reports[rows])
            follow(columns[0][rows], reports[rows], self.k, reports[rows])
        return reports

    # ---------------------------------------------------------------- likelihood of one report

    def _likelihood(self, reports: Any, attributes: tuple[int, ...]) -> ReportLikelihood:  # noqa: ARG002
        (p, q), own = self.support_probabilities, self._supported(reports)
        return ReportLikelihood.of_sets(own, p / q, np.full(len(own), np.log(q)))

    def _indicators(self, reports: Any, attributes: tuple[int, ...]) -> ReportIndicators:  # noqa: ARG002
        p, q = self.support_probabilities
        values = (self._supported(reports).astype(np.float64) - q) / (p - q)
        return ReportIndicators.of(values)

    def _listed_likelihood(self, attributes: tuple[int, ...]) -> ReportLikelihood:
        return self._likelihood(self.outputs(), attributes)

    def _supported(self, reports: Any) -> NDArray[np.bool_]:
        own: NDArray[np.bool_] = checked_report_codes(reports, self.k)[:, None] == np.arange(self.k)
        return own

    @property
    def _dealt_together(self) -> RelatedTypes:
        # Two contributors' types are drawn without replacement from the dealt counts (a_1, ..., a_k, b).
        n, k, moments = self.n, self.k, self.law.moments
        means = np.array([moments.a] * k + [moments.b])
        between = (moments.var_b / k - moments.var_a) / (k - 1)  # quotas and b sum to n
        counts = np.full((k + 1, k + 1), between)
        np.fill_diagonal(counts, moments.var_a)
        counts[k, :] = counts[:, k] = moments.cov
        counts[k, k] = moments.var_b
        both = (counts + np.outer(means, means) - np.diag(means)) / (n * (n - 1))
        return RelatedTypes(both - np.outer(means, means) / n**2, *self.truthfulness)

    # ---------------------------------------------------------------- guarantee and exact distribution

    @cached_property
    def _truthfulness(self) -> tuple[Fraction, Fraction]:
        if self.epsilon_aux is None:
            return Fraction(1), Fraction(0)
        lie = Fraction(lie_threshold(self.k, self.epsilon_aux), SCALE)
        return 1 - (self.k - 1) * lie, lie

    @property
    def truthfulness(self) -> tuple[float, float]:
        truth, lie = self._truthfulness
        return float(truth), float(lie)

    @cached_property
    def weight(self) -> Fraction:
        """R, the implemented weight of a share "truth" relative to a forced answer (`truth_weight`)."""
        return truth_weight(self.k, self.epsilon, self._truthfulness[1])

    @property
    def law(self) -> QuotaLaw:
        return quota_law(self.n, self.k, self.a0, float(self.weight))

    @property
    def tables(self) -> QuotaTables:
        """Integer tables for drawing the numbers of shares of each type."""
        return quota_tables(self.n, self.k, self.a0, self.weight)

    @property
    def _odds_alone(self) -> tuple[float, float]:
        return self.support_probabilities

    def implemented_ratio(self) -> Fraction:
        """Return the exact bound (1 + p R)/(1 + q R) on every likelihood ratio of the implemented distribution.

        Here R is `weight`. Contributors who are told to tell the truth report the true code with probability p and each
        other code with probability q. Without `epsilon_aux`, p is 1 and q is 0. The bound is attained, except for the
        rounding of the tables, which is at most 2^-90 (relative).
        """
        truth, lie = self._truthfulness
        return (1 + truth * self.weight) / (1 + lie * self.weight)

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        *forced, b = self.tables.draw_counts(rng)
        # The marginals method does not limit the population.
        truthful = rng.generator.multivariate_hypergeometric(counts, b, method="marginals")
        if self.epsilon_aux is not None:
            uniform = rng.generator.binomial(truthful, self.k * self.truthfulness[1])
            truthful = truthful - uniform + rng.generator.multinomial(uniform.sum(), np.full(self.k, 1 / self.k))
        return np.array(forced, dtype=np.int64) + truthful

"""RS+FD and RS+RFD: report one attribute truly and all others as fakes, and do not say which.

Every contributor draws one attribute uniformly, reports the answer through the attribute's frequency oracle, and sends
fake reports of all other attributes.

RS+FD is from Arcolezi, Couchot, Al Bouna, Xiao, *Random sampling plus fake data: multidimensional frequency estimates
with local differential privacy* (CIKM 2021). Its fakes are drawn without knowledge of the answers.

RS+RFD is from Arcolezi, Gambs, Couchot, Palamidessi, *On the risks of collecting multidimensional data under local
differential privacy* (PVLDB 2023). It is RS+FD with GRR, except that the fake of attribute j is drawn from a prior pi_j
instead of uniformly. The closer the priors are to the true distributions, the harder it is to tell which attribute was
sampled.

Erratum: the paper of 2021 spends the "amplified" budget a = ln(d (e^epsilon - 1) + 1) on the sampled attribute. Take
two records that differ in all d attributes. There is a report that supports, in every attribute, the answer of the
first record and not the answer of the second record. With the budget a, the likelihood ratio of this report between the
two records is e^a, not e^epsilon. Now take two records that differ in one attribute only, again with the budget a. With
GRR, the ratio is at most e^epsilon only if all sizes are equal. With OUE, the ratio is at most e^epsilon only if the
fakes are zero. In this implementation the sampled attribute spends epsilon, not a.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from math import prod
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.bounded_sums import ReportLaw
from deniable.core.card import Card, Variant
from deniable.core.checks import Codes, checked_integer, settle
from deniable.core.estimate import RecordEstimate, affine_estimate, affine_variance
from deniable.core.joint import JointNoise, code_reports, exchangeable, one_code, support_reports
from deniable.core.mechanism import CraftedReports
from deniable.core.randomness import Randomness, SimulationRandomness
from deniable.core.report_likelihood import ReportIndicators, ReportLikelihood, TellsAnswers
from deniable.core.support_counts import Influence, influence
from deniable.errors import InvalidParameterError, quoted
from deniable.records.fakes import FAKES, Fake, codes_among, largest_quotient_of_sums, prior_fake, sampled
from deniable.records.layout import (
    BitLayout,
    CodeLayout,
    Oracle,
    checked_oracle,
    grr_oracles,
    make_layout,
    product_rows,
    stretches,
)
from deniable.records.phases.second_phase import SecondPhase
from deniable.records.phases.two_phase import clipped, phase_one_marginals
from deniable.records.prior_draws import (
    PriorTables,
    checked_priors,
    cumulative_thresholds,
    draw_from_priors,
    implemented_prior,
    prior_tables,
)
from deniable.records.record import CountedRecords, SimulatedByRecord
from deniable.records.sampled_attribute import simulate_sampling
from deniable.records.split import SPL

REMARK = (
    "the sampled attribute is hidden and spends epsilon itself; the amplified budget that the literature spends would "
    "not bound the ratio between whole records"
)
PRIORS_REMARK = "the priors are public; learning them from private answers needs a budget of its own"
CLIPPED = "RS+RFD clipped and renormalised (biased)"
ZERO_REMARK = "a reported value whose prior is zero shows that its attribute was sampled"


@dataclass(frozen=True)
class FakeData(CountedRecords, SimulatedByRecord[NDArray[Any]], CraftedReports, TellsAnswers):
    """Base of mechanisms that send one uniformly sampled attribute with the whole epsilon, and fakes of the others."""

    reveals = "fakes"

    @property
    @abstractmethod
    def fakes_of(self) -> tuple[Fake, ...]:
        """Distribution of the fakes of each attribute."""

    @property
    def oracles(self) -> tuple[Oracle, ...]:
        """Frequency oracle of each attribute, with the whole epsilon."""
        return self.layout.oracles

    # ---------------------------------------------------------------- analyst

    @cached_property
    def support_probabilities(self) -> tuple[tuple[Any, Any], ...]:
        """Implemented (P, Q) of each attribute: probabilities that a report supports the held value, and another value.

        P = (p + (d-1) s)/d and Q = (q + (d-1) s)/d, where (p, q) are the probabilities of the oracle, and a fake
        supports any one value with probability s. For uniform fakes s is 1/k, for zero fakes q, and for random fakes q
        + (p-q)/k. For fakes from priors s is pi(v), and P and Q are tuples with one entry per value.
        """
        d = len(self.sizes)
        return tuple(
            (fake.mixed(p, d), fake.mixed(q, d))
            for fake, (p, q) in ((fake, fake.oracle.support_probabilities) for fake in self.fakes_of)
        )

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Return unbiased frequencies of every attribute, f^ = (count/n - Q)/(P - Q); see `support_probabilities`."""
        self.check(aggregate)
        found = {}
        for j, (at, (p, q)) in enumerate(zip(stretches(self.sizes), self.support_probabilities, strict=True)):
            sizes, (joint, law) = self.oracles[j].support_law.sizes, self._noise(j)
            found[j] = affine_estimate(aggregate.counts[at], aggregate.n, p, q, sizes=sizes, joint=joint, law=law)
        return RecordEstimate(found)

    def _likelihood(self, reports: Any, attributes: tuple[int, ...]) -> ReportLikelihood:
        return self._own_likelihood(self.about(reports, attributes[0]), attributes[0])

    def _own_likelihood(self, own: Any, j: int) -> ReportLikelihood:
        d, true = len(self.sizes), self.oracles[j].likelihood(own).probabilities
        return ReportLikelihood.of(true / d + self.fakes_of[j].probabilities(own)[:, None] * (1 - 1 / d))

    def _listed_likelihood(self, attributes: tuple[int, ...]) -> ReportLikelihood | None:
        (j,) = attributes
        if self.oracles[j].listed_likelihood() is None:
            return None
        return self._own_likelihood(self.oracles[j].outputs(), j)

    def _indicators(self, reports: Any, attributes: tuple[int, ...]) -> ReportIndicators:
        (j,) = attributes
        supported = self.oracles[j].supports(self.about(reports, j), np.arange(self.sizes[j]))
        p, q = (np.asarray(side, dtype=np.float64) for side in self.support_probabilities[j])
        return ReportIndicators.of((supported - q) / (p - q))

    def _noise(self, attribute: int) -> tuple[JointNoise, ReportLaw]:
        fake, (p, q), d = self.fakes_of[attribute], self.support_probabilities[attribute], len(self.sizes)
        if isinstance(fake.support, tuple):
            return one_code(p, q), code_reports(p, q)
        own, other = ((both + (d - 1) * fake.both) / d for both in fake.oracle.support_law.both())
        pairs = float(p), float(q), float(own - p * q), float(other - q * q)
        return exchangeable(*pairs), support_reports(*pairs, fake.oracle.support_law.sizes, self.sizes[attribute])

    def _influence(self, targets: int, attribute: int) -> Influence:
        k, sizes = self.sizes[attribute], self.oracles[attribute].support_law.sizes
        held, other = (np.ravel(np.asarray(side)) for side in self.support_probabilities[attribute])
        # Values with priors of their own differ in how often others support them. The worst case takes the rarest ones.
        rare = np.sort(np.resize(other, k))
        gain = held[0] - other[0]
        ends = (influence(targets, k, sizes, q + gain, q) for q in (rare[:targets].mean(), rare[-targets:].mean()))
        highest, lowest = ends
        return Influence(highest.up, lowest.down)

    def variance(self, f: float, n: int, attribute: int, value: int | None = None) -> float:
        """Variance of an estimated frequency of one attribute whose true value is f among n contributors.

        The variance counts noise only, and the drawing of the attribute is part of the noise. If the variance depends
        on the value's prior, it is the variance for one value, or (None) the mean over the attribute's values.
        """
        j = self._checked_attribute(attribute)
        chosen = None if value is None else checked_integer("value", value, 0, self.sizes[j] - 1)
        held, other = (np.ravel(np.asarray(side, dtype=np.float64)).tolist() for side in self.support_probabilities[j])
        pairs = list(zip(held, other, strict=True))
        pairs = pairs if chosen is None or len(pairs) == 1 else [pairs[chosen]]
        return sum(affine_variance(p, q, f, n) for p, q in pairs) / len(pairs)

    # ---------------------------------------------------------------- exact distribution

    def implemented_ratio(self) -> Fraction:
        """Exact largest likelihood ratio between two records.

        The likelihood of a record is proportional to the sum over attributes of its evidence, P(report | held value)/
        P(report as a fake). A report may speak for one record and against the other in every attribute. Such a report
        attains the ratio of the oracle, for every d and all sizes, up to the rounding of thresholds. A value that no
        fake takes leaves p_j/q_j alone.
        """
        alone = [fake.oracle.implemented_ratio() for fake in self.fakes_of if fake.shows]
        return max([*alone, largest_quotient_of_sums([fake.evidence for fake in self.fakes_of])])

    def _attribute_ratio(self, attribute: int) -> Fraction:
        # The ratio is that of the oracle itself if no fake takes some value: a report of this value must be true or a
        # lie. Otherwise the ratio is largest where the other attributes say least. Over GRR with uniform fakes it is
        # (k_j p_j + S)/(k_j q_j + S), with S the sum of k_i q_i over the other attributes. If all sizes are equal, it
        # is (e^epsilon + d - 1)/d.
        own = self.fakes_of[attribute]
        if own.shows:
            return own.oracle.implemented_ratio()
        others = sum((fake.least for i, fake in enumerate(self.fakes_of) if i != attribute), start=Fraction(0))
        return largest_quotient_of_sums([own.evidence, ((others, others),)])

    def outputs(self) -> NDArray[Any]:
        found: NDArray[Any] = self._product()[self._possible]
        return found

    @property
    def _possible(self) -> Any:
        """Index of the combinations of reports that can be sent; at most one report, the sampled one, is true."""
        if not any(fake.shows for fake in self.fakes_of):
            return slice(None)
        never = [np.array([chance == 0 for chance in fake.law], dtype=np.int64) for fake in self.fakes_of]
        return product_rows(never, np.int64).sum(axis=1) <= 1

    def _channel(self) -> NDArray[Any]:
        self._check_channel(prod(self.sizes), self.layout.outputs)
        truths = [fake.oracle.channel(exact=True) for fake in self.fakes_of]
        return sampled(truths, [fake.law for fake in self.fakes_of])[:, self._possible]

    def _simulate(self, records: Codes, held: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # A contributor who samples one attribute does not sample another, so the counts of two attributes depend on
        # each other through the records. Given who samples what, attributes are independent.
        sampled_counts, n = simulate_sampling(records, held, self.sizes, rng), int(held.sum())
        return np.concatenate(
            [
                fake.simulate(own, n - int(own.sum()), rng)
                for fake, own in zip(self.fakes_of, sampled_counts, strict=True)
            ]
        )


@final
@dataclass(frozen=True)
class RSFD(FakeData):
    """Each contributor reports one uniformly sampled attribute and hides it among fake reports of the other attributes.

    The parameter `oracle` decides whether the attributes are reported through GRR or OUE. With GRR, reports are an [n,
    d] array of codes. The dtype of the array is the smallest of uint8, uint16 and uint32 that can hold the codes of all
    attributes. With OUE, reports are packed bits: uint8[n, sum of ceil(k_j/8)]. Every attribute starts at a byte
    boundary.

    For two records that differ in only one attribute, a smaller epsilon can hold. The method `privacy` lists this
    epsilon in `per_attribute`, one number for each attribute.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of possible answers (k_1, ..., k_d) of the d attributes, each from 2 to 2^32. The sizes may differ.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, from 1e-6 to 32. The sampled attribute spends the whole budget.
    oracle : {"GRR", "OUE"}
        Frequency oracle of every attribute.
    fakes : {"uniform", "zero", "random"}, optional
        Kind of fake reports. With GRR the only choice is "uniform": a fake is a uniform code. With OUE the default is
        "zero": a fake is the all-zero vector, randomised by OUE (RS+FD[OUE-z]). The other choice with OUE is "random":
        a fake is a uniform value, randomised by OUE (RS+FD[OUE-r]).

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

    oracle: str = "GRR"
    fakes: str | None = None

    remarks = (REMARK,)
    name = "RS+FD"
    card = Card(
        group="records",
        when="for several attributes, if the collector must not be told which attribute was sampled",
        aliases=("RSFD",),
        wire="a code (GRR) or one bit per possible answer (OUE), for every attribute",
        note="fake reports hide which attribute was sampled",
        variants=(
            Variant(
                "RS+FD[GRR]",
                (("oracle", "GRR"),),
                "fake reports hide which attribute was sampled; RS+RFD with uniform priors is the same mechanism",
            ),
            Variant("RS+FD[OUE]", (("oracle", "OUE"),)),
        ),
    )

    def _check_parameters(self) -> None:
        choices = list(FAKES[checked_oracle(self.oracle)])
        fakes = choices[0] if self.fakes is None else self.fakes
        if fakes not in choices:
            raise InvalidParameterError(
                f"fakes must be {' or '.join(choices)} with the oracle {self.oracle}, got fakes={quoted(fakes)}"
            )
        settle(self, fakes=fakes)
        self.layout  # noqa: B018  refuses what an oracle refuses

    @cached_property
    def layout(self) -> CodeLayout | BitLayout:
        """The oracles' reports side by side."""
        return make_layout(self.oracle, self.sizes, self.epsilon)

    @cached_property
    def fakes_of(self) -> tuple[Fake, ...]:
        """Distribution of the fakes of each attribute."""
        return tuple(FAKES[self.oracle][str(self.fakes)].law(oracle) for oracle in self.oracles)

    def _randomize(self, codes: Codes, rng: Randomness) -> NDArray[Any]:
        return FAKES[self.oracle][str(self.fakes)].randomize(self.layout, codes, rng)


@final
@dataclass(frozen=True)
class RSRFD(FakeData, SecondPhase[NDArray[Any]]):
    """Each contributor reports one random attribute through GRR and hides it among fake codes of the other attributes.

    The attribute is sampled uniformly. The fake codes are drawn from public *priors*. The prior of an attribute is a
    distribution of its answers that was known or learned before.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of possible answers (k_1, ..., k_d) of the d attributes, each from 2 to 2^32. The sizes may differ.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, from 1e-6 to 32. The sampled attribute spends the whole budget.
    priors : sequence of d sequences of k_j probabilities
        Distribution of the fakes of each attribute, for example learned from other contributors. Each distribution must
        sum to 1 within 1e-9 and is normalised exactly. A probability may be zero. Epsilon still holds for the whole
        record, but a reported value with prior zero shows that its attribute was sampled (see
        `implemented_attribute_ratio`).

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.records import RSRFD
    >>> import numpy as np
    >>> rsrfd = RSRFD(sizes=(2, 3), epsilon=1.0, priors=((0.9, 0.1), (0.2, 0.3, 0.5)))
    >>> reports = rsrfd.randomize(np.array([[0, 2], [1, 2], [1, 0]]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape
    (dtype('uint8'), (3, 2))
    >>> estimates = rsrfd.estimate(rsrfd.aggregate(reports))
    >>> [estimate.k for estimate in estimates.values()]
    [2, 3]
    """

    priors: tuple[tuple[float | Fraction, ...], ...]

    first = SPL
    estimators = ("clipped",)
    name = "RS+RFD"
    card = Card(
        group="two phases",
        when="instead of RS+FD, if priors of the answers are known or were learned in a first phase",
        aliases=("RSRFD", "TwoPhaseRSRFD"),
        planned=False,
        instead="the error of RS+RFD depends on its priors; for a rough idea of the error see RS+FD[GRR], which is "
        "RS+RFD with uniform priors",
        wire="a code for every attribute",
    )

    def _check_parameters(self) -> None:
        settle(self, priors=checked_priors(self.priors, self.sizes))
        self.layout  # noqa: B018  refuses what GRR refuses

    @classmethod
    def learn(cls, aggregate: Aggregate, n2: int) -> RSRFD:
        """Collector: return the mechanism whose priors are phase one's frequencies, clipped and normalised.

        It is the two-phase variant of Seeam, Zheng, Hu (Corr-RR), section 4.2.2. `combine` weights the phases by
        counts. The priors do not depend on n2, which must be at least 1.
        """
        checked_integer("n2", n2, 1)
        first, marginals = phase_one_marginals(aggregate)
        return cls(first.sizes, first.epsilon, tuple(tuple(clipped(one).tolist()) for one in marginals))

    @cached_property
    def layout(self) -> CodeLayout:
        """A column of codes for each attribute."""
        return CodeLayout(grr_oracles(self.sizes, self.epsilon))

    @cached_property
    def _thresholds(self) -> tuple[tuple[int, ...], ...]:
        return tuple(cumulative_thresholds(prior) for prior in self.priors)

    @cached_property
    def _tables(self) -> PriorTables:
        return prior_tables(self._thresholds)

    @cached_property
    def implemented_priors(self) -> tuple[tuple[Fraction, ...], ...]:
        """Exact distributions of the fakes: multiples of 2^-64 that sum to one."""
        return tuple(implemented_prior(thresholds) for thresholds in self._thresholds)

    @cached_property
    def fakes_of(self) -> tuple[Fake, ...]:
        """Distribution of the fakes of each attribute."""
        return tuple(prior_fake(*pair) for pair in zip(self.layout.oracles, self.implemented_priors, strict=True))

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """Notes that the priors are public, and whether one of them is zero."""
        return REMARK, PRIORS_REMARK, *([ZERO_REMARK] if any(fake.shows for fake in self.fakes_of) else [])

    def _randomize(self, codes: Codes, rng: Randomness) -> NDArray[Any]:
        return codes_among(self.layout, codes, rng, partial(draw_from_priors, self._tables, rng))

    def clipped(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return the result of `estimate` with each attribute clipped to [0, 1] and normalised.

        The result is biased and has no intervals. Clipping is here done *before* phases are combined. Results of
        `estimate` can also be post-processed after they are combined. For the two-phase variant of RS+RFD, the Corr-RR
        paper prints numbers that this method gives for the reports of phase two alone.
        """
        return RecordEstimate(
            {
                j: replace(one, frequencies=clipped(one.frequencies), processing=(CLIPPED,))
                for j, one in self.estimate(aggregate).items()
            }
        )

"""Design: a classical design of randomised response as a mechanism, whose channel is a small matrix of fractions.

A device such as dice or cards, or a fact about the respondent such as a birthday, randomises the answer. The class
computes epsilon from the exact probabilities of every report. The class draws reports exactly: one random integer below
the common denominator of these probabilities decides one report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.bounded_sums import Added, Sample
from deniable.core.card import Card
from deniable.core.checks import (
    Codes,
    Target,
    check_target,
    checked_counts,
    checked_domain,
    checked_integer,
    checked_report_codes,
    code_dtype,
    settle,
)
from deniable.core.estimate import Estimate, affine_estimate
from deniable.core.joint import code_reports, listed_reports
from deniable.core.mechanism import CraftedReports
from deniable.core.privacy import Guarantee, TrustModel, repeated
from deniable.core.randomness import Randomness, SimulationRandomness, uniform_below
from deniable.core.support_counts import FEW, Influence
from deniable.core.thresholds import EpsilonLike, checked_epsilon, exact, exp_bounds, log_up
from deniable.designs.estimates import DesignEstimate, tail_beyond
from deniable.designs.instruments import Instrument, written
from deniable.designs.kinds import (
    KINDS,
    MAX_VALUES,
    Kind,
    Number,
    Rows,
    checked_number,
    checked_parameters,
    checked_rows,
    denominator,
    inverse,
    mean,
)
from deniable.errors import InvalidInputError, InvalidParameterError, out_of_range, quoted
from deniable.oracles.grr import HistogramReports
from deniable.oracles.linear import Floats, LinearOracle

TRUST = "the device is fair, nobody else sees its outcome, and no outcome is used for a second question"
"""Assumptions behind the guarantee of a paper device."""

_FEWER = "Fewer say {} than the device alone produces"
_MORE = "More say {} than if everybody were a carrier"

_STEPS = 1_000_000
"""`from_epsilon` rounds odds down to this many steps for each unit."""


class _Supported(NamedTuple):
    """Report that supports each truth, with its probability for people who hold the truth and for all others."""

    reports: NDArray[np.int64]
    p: Floats
    q: Floats


@final
@dataclass(frozen=True)
class Design(HistogramReports, LinearOracle[Codes], CraftedReports):
    """A classical design randomises the answer to one question with a device such as dice or cards.

    Build a design with a function of `deniable.designs`, such as `warner` or `crosswise`. If there are two possible
    answers, code 1 is the sensitive answer and code 0 is the other answer.

    Parameters
    ----------
    design : str
        Name of the design, a key of `deniable.designs.kinds.KINDS`.
    parameters : tuple of Fraction, int or str
        Parameters of the design in their order. They must be exact, so floats are refused.
    one_sided : bool
        True to accept that a report can prove that its contributor does not carry the trait. If a design has such
        reports, set True before you use the design in a collection, and before you print its instructions. Leave
        `one_sided` out for all other designs.

    Attributes
    ----------
    epsilon : float
        ln max(`odds`), rounded up. Infinite if a report can prove a truth.
    refusal : str
        Reason why no collection may use the design and no card is printed. Empty if the design may be used.

    Raises
    ------
    InvalidParameterError
        If a parameter is not an exact number or out of bounds, or all truths make the same reports.

    Examples
    --------
    >>> from deniable import SimulationRandomness, designs
    >>> two_dice = designs.forced(yes="1/6", no="1/12")
    >>> two_dice
    Design('forced', yes=1/6, no=1/12)
    >>> [str(most) for most in two_dice.odds]
    ['10', '11/2']
    >>> reports = two_dice.randomize([0, 1, 1], SimulationRandomness(1))
    >>> two_dice.aggregate(reports).n
    3
    """

    design: str
    parameters: tuple[Number, ...]
    one_sided: bool = False
    k: int = field(init=False, repr=False, compare=False)
    epsilon: float = field(init=False, repr=False, compare=False)
    refusal: str = field(init=False, repr=False, compare=False)

    report_type = staticmethod(np.asarray)
    support_law = None
    constructor = "from_epsilon"
    name = "Design"
    card = Card(
        group="one attribute",
        when="on paper, by telephone or in interviews; dice, cards, coins or birthdays randomise the answer",
        planned=False,
        instead="call `Design.people_needed` to find how many people a design needs",
        wire="one code",
        page="designs.md",
    )

    def __post_init__(self) -> None:
        settle(self, parameters=checked_parameters(self.design, self.parameters))
        settle(self, k=len(self.rows))
        settle(self, epsilon=log_up(self.implemented_ratio()))
        if not isinstance(self.one_sided, bool):
            raise InvalidParameterError(f"one_sided must be true or false, got one_sided={quoted(self.one_sided)}")
        if self.one_sided and math.isfinite(self.epsilon):
            raise InvalidParameterError(
                f"one_sided must be left out for {self.design}, got one_sided=true; no report of this design proves "
                "an answer"
            )
        settle(self, refusal=self._refusal())

    def __repr__(self) -> str:
        one_sided = ", one_sided=True" if self.one_sided else ""
        return f"Design({self.design!r}, {self.settings}{one_sided})"

    @property
    def settings(self) -> str:
        """The parameters by their names, as text."""
        listed = ", ".join(map(str, self.parameters))
        if self.kind.many:
            return f"{self.kind.parameters[0]}=({listed})"
        pairs = zip(self.kind.parameters, self.parameters, strict=True)
        return ", ".join(f"{name}={value}" for name, value in pairs)

    @classmethod
    def from_epsilon(
        cls,
        k: int,
        epsilon: EpsilonLike,
        design: str = "",
        parameters: Sequence[Number] = (),
    ) -> Design:
        """Return a design for k answers within a budget: the named design, or else the design with the least variance.

        Without a name, the design for two answers is `forced.at` with both odds as large as the budget allows. For more
        answers it is `forced_k` with equal probabilities. Odds are rounded down to a millionth.

        Parameters
        ----------
        k : int
            Number of answers, 2 <= k <= 64.
        epsilon : float, Fraction, Decimal or str
            Budget in nats, in [1e-6, 32].
        design : str, optional
            Name of a design.
        parameters : sequence of Fraction, int or str
            Parameters of the named design.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of bounds, the design is for another number of answers, or it needs a larger budget.

        Examples
        --------
        >>> Design.from_epsilon(2, "1.0986123")
        Design('forced', yes=1/4, no=1/4)
        >>> Design.from_epsilon(2, 1.7, "crosswise", ("2/12",))
        Design('crosswise', p=1/6)
        """
        k, budget = checked_domain(k), checked_epsilon(epsilon)
        if k > MAX_VALUES:
            raise InvalidParameterError(
                f"k must be at most {MAX_VALUES} for a design, got k={k}; choose another mechanism"
            )
        if design:
            found = cls(design, tuple(parameters))
            if found.k != k:
                raise InvalidParameterError(f"k must be {found.k} for {design} with these parameters, got k={k}")
            if not math.isfinite(found.epsilon):
                raise InvalidParameterError(
                    f"design must have a finite epsilon, but a report of {quoted(found)} can prove an answer; choose "
                    "another design, or other parameters"
                )
            if not exact(found.epsilon) <= exact(budget):
                raise out_of_range("epsilon", f">= {found.epsilon:.6g} for {quoted(found)}", f"{float(budget):g}")
            return found
        odds = Fraction(math.floor(exp_bounds(exact(budget))[0] * _STEPS), _STEPS)
        share = 1 / (odds + k - 1)
        return cls("forced", (share, share)) if k == 2 else cls("forced_k", (share,) * k)

    # ---------------------------------------------------------------- the channel

    @property
    def kind(self) -> Kind:
        """Names of parameters and reports."""
        return KINDS[self.design]

    @cached_property
    def rows(self) -> Rows:
        """Exact P(report | truth), with a row for each truth."""
        return checked_rows(self.design, checked_parameters(self.design, self.parameters))

    @cached_property
    def weights(self) -> tuple[tuple[Fraction, ...], ...]:
        """Exact unbiased scores: weights[report][truth] has mean 1 for holders of the truth, and 0 for all others.

        The scores are the inverse of the channel. If a design has two truths but more than two reports, the score is
        the number of the report, centred and scaled.
        """
        if len(self.rows[0]) == self.k:
            found = inverse(self.rows)
            assert found is not None  # every kind refuses a singular channel
            return found
        no, yes = map(mean, self.rows)
        scores = [(report - no) / (yes - no) for report in range(len(self.rows[0]))]
        return tuple((1 - score, score) for score in scores)

    @cached_property
    def odds(self) -> tuple[Fraction | float, ...]:
        """Largest evidence of one report for each truth x: the maximum of P(y|x)/P(y|x') over reports y and truths x'.

        `odds[1]` is the evidence for carrying the trait, and `odds[0]` the evidence against it. Values are Fractions,
        or the float infinity if a report proves the truth.
        """
        found: list[Fraction | float] = []
        for x, row in enumerate(self.rows):
            others = [other for other, _ in enumerate(self.rows) if other != x]
            least = [min(self.rows[other][y] for other in others) for y in range(len(row))]
            proves = any(own and not other for own, other in zip(row, least, strict=True))
            found.append(
                math.inf if proves else max(own / other for own, other in zip(row, least, strict=True) if other)
            )
        return tuple(found)

    def implemented_ratio(self) -> Fraction | float:
        """Exact largest of the `odds`; infinite if a report can prove a truth."""
        return max(self.odds)

    @cached_property
    def _floats(self) -> Floats:
        return np.array(self.rows, dtype=np.float64)

    @cached_property
    def _scores(self) -> Floats:
        return np.array(self.weights, dtype=np.float64)

    def _channel(self) -> NDArray[Any]:
        return np.array(self.rows, dtype=object)

    # ---------------------------------------------------------------- contributor

    def _randomize(self, codes: Codes, rng: Randomness) -> Codes:
        below = denominator(self.rows)
        drawn = uniform_below(rng, below, len(codes))
        ends = np.cumsum([[int(cell * below) for cell in row] for row in self.rows], axis=1, dtype=np.int64)
        reports = np.zeros(len(codes), dtype=code_dtype(self.state_size))
        for report in range(self.state_size - 1):
            reports += drawn >= ends[codes, report]
        return reports

    # ---------------------------------------------------------------- collector

    def supports(self, reports: ArrayLike, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return the truths that make each report likeliest, bool[n, len(values)]."""
        likeliest = np.array([[cell == max(column) for cell in column] for column in zip(*self.rows, strict=True)])
        return likeliest[checked_report_codes(reports, self.state_size)][:, values]

    # ---------------------------------------------------------------- analyst

    def score(self, reports: ArrayLike) -> Floats:
        """Analyst: return a score for each report, whose mean over all reports is an unbiased prevalence.

        Parameters
        ----------
        reports : int[n]
            Codes of the reports, counted from 0.

        Returns
        -------
        float64[n]
            Scores for truth 1, or float64[n, k] for all truths if there are more than two.

        Raises
        ------
        InvalidReportError
            If a report is out of range.

        Examples
        --------
        >>> from deniable import designs
        >>> designs.crosswise("2/12").score([0, 1])
        array([-0.25,  1.25])
        """
        scores = self._scores[checked_report_codes(reports, self.state_size)]
        return scores[:, 1] if self.k == 2 else scores

    @cached_property
    def _supported(self) -> _Supported | None:
        """Report that supports each truth, or None if the other truths do not all make this report equally likely."""
        channel = self.rows
        if len(channel[0]) != self.k:
            return None
        turned = self.k == 2 and channel[0][0] < channel[1][0]
        reports = [1, 0] if turned else list(range(self.k))
        p = [channel[x][y] for x, y in enumerate(reports)]
        q = [{row[y] for other, row in enumerate(channel) if other != x} for x, y in enumerate(reports)]
        if any(len(others) > 1 or own <= max(others) for own, others in zip(p, q, strict=True)):
            return None
        alike = len({*p}) == len(set().union(*q)) == 1
        shares = (np.array(p, dtype=np.float64), np.array([min(one) for one in q], dtype=np.float64))
        return _Supported(np.array(reports), *(share[0] if alike else share for share in shares))

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: return unbiased frequencies of the true answers, which are the mean scores of all reports.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If it contains no reports.
        """
        self.check(aggregate)
        return self._estimated(aggregate.counts, aggregate.n)

    def unreported(self, contributors: int) -> Estimate:
        return self._estimated(np.zeros(self.state_size, dtype=np.int64), 0, contributors)

    def _estimated(self, counts: NDArray[np.integer[Any]], n: int, contributors: int = -1) -> Estimate:
        known = self._supported
        if known is not None:
            estimate = affine_estimate(
                counts[known.reports],
                n,
                known.p,
                known.q,
                n if contributors < 0 else contributors,
                sizes=(1, 1),
                k=self.k,
                joint=self._linear_variance,
                law=code_reports(known.p, known.q),
            )
            # Frequencies come from the fractions themselves, not from rounded probabilities.
            return replace(estimate, frequencies=self._shares(counts, n))
        frequencies = self._shares(counts, n)
        noise = self._noise
        # This noise is for two truths. For more truths the noise is estimated from the reports.
        absent, present = np.diag(noise[::-1]), np.diag(noise)
        if self.k > 2 and n:
            # The expectation of W^2 - W is the variance given the truth, averaged over truths, because c^2 = c for one
            # value.
            seen = counts @ self._scores**2 / n - frequencies
            absent = present = np.clip(seen, noise.min(axis=0), noise.max(axis=0))
        samples = (Sample(n, 1.0, self._report_law),) if self.k > 2 and n else ()
        return Estimate(
            frequencies, n, absent, present, contributors=contributors, joint=self._linear_variance, samples=samples
        )

    def _shares(self, counts: NDArray[np.integer[Any]], n: int) -> Floats:
        if not n:
            return np.full(self.k, np.nan)
        columns = zip(*self.weights, strict=True)
        held = [int(count) for count in counts]
        return np.array([float(sum(w * c for w, c in zip(one, held, strict=True)) / n) for one in columns])

    def _report_law(self, scores: Floats) -> Added:
        return listed_reports(lambda values: values @ self._floats.T, self._scores @ scores)

    @cached_property
    def _noise(self) -> Floats:
        """Noise variance of one person's score for each value, given the person's truth, float64[truth, value]."""
        return self._floats @ self._scores**2 - np.eye(self.k)

    def variance(self, f: float, n: int) -> float:
        """Return the noise variance of an estimated frequency at true frequency f, with n contributors.

        The result is the mean over all true answers whose frequency may be f. The other contributors are assumed to be
        spread evenly over the other true answers.
        """
        own = float(np.trace(self._noise)) / self.k
        other = (float(self._noise.sum()) - own * self.k) / (self.k * (self.k - 1))
        return (f * own + (1 - f) * other) / n

    def _influence(self, targets: int, attribute: int) -> Influence | None:  # noqa: ARG002
        weights = np.sort(self._scores, axis=1)
        return Influence(float(weights[:, -targets:].sum(axis=1).max()), float(weights[:, :targets].sum(axis=1).min()))

    def _covariance(self, f: Floats, codes: NDArray[np.int64]) -> Floats:
        scores = self._scores[:, codes]
        matrix: Floats = (scores.T * (f @ self._floats)) @ scores
        matrix -= np.where(codes[:, None] == codes[None, :], f[codes][:, None], 0.0)
        return matrix

    def _linear_variance(self, weights: Floats, f: Floats) -> float:
        added = self._scores @ weights
        return float(f @ (self._floats @ added**2 - weights**2))

    # ---------------------------------------------------------------- guarantee

    @property
    def proves(self) -> tuple[int, ...]:
        """Truths that a report can prove."""
        return tuple(truth for truth, most in enumerate(self.odds) if math.isinf(most))

    def _refusal(self) -> str:
        if any(self.proves):
            return f"a report of {self} can prove the sensitive answer. Use this design only to estimate past surveys"
        if self.proves and not self.one_sided:
            return f"a report of {self} can prove that somebody is not a carrier; to accept this, pass one_sided=True"
        return ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The odds in words, with one sentence for each direction."""
        if self.k == 2:
            reports = self.kind.reports or ("low number", "high number")
            proofs: tuple[str, ...] = (
                f'A report of "{reports[0]}" proves that the person is not a carrier: no epsilon holds.',
                f'A report of "{reports[1]}" proves that the person is a carrier: no epsilon holds.',
            )
            words: tuple[str, ...] = ("of not being a carrier", "of being a carrier")
        else:
            proofs = tuple(f"A report can prove the answer {truth}: no epsilon holds." for truth in range(self.k))
            words = tuple(f"of the answer {truth}" for truth in range(self.k))
        return tuple(
            proofs[truth] if math.isinf(most) else f"A report raises the odds {words[truth]} at most {most} times."
            for truth, most in enumerate(self.odds)
        )

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon against anyone who sees a report, if the device is used as described."""
        note = TRUST + (f", and nobody who sees a report can learn {self.kind.fact}" if self.kind.fact else "")
        rows = [TrustModel("collector", "one report", self.epsilon, status="assumption", note=note)]
        if math.isfinite(self.epsilon):
            rows.append(repeated("r reports of the same answer", self.epsilon))
        return Guarantee(self.epsilon, (self.epsilon,), self.implemented_epsilon(), tuple(rows), self.sentences)

    # ---------------------------------------------------------------- simulation and files

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        drawn: NDArray[np.int64] = rng.generator.multinomial(counts, self._floats).sum(axis=0)
        return drawn

    @property
    def state_size(self) -> int:
        """Number of possible reports, each of which has one counter."""
        return len(self.rows[0])

    # ---------------------------------------------------------------- counts typed by hand, and planning

    def estimate_counts(
        self,
        counts: Sequence[int] | Mapping[str, int],
        *,
        confidence: float = 0.95,
        target: Target = "population",
    ) -> DesignEstimate:
        """Analyst: return the estimated shares of the truths from the counts of all reports.

        Parameters
        ----------
        counts : sequence of int, or mapping of str to int
            Number of each report, in the order of the reports or by their names ("same", "different").
        confidence : float
            Coverage of the intervals, in (0, 1).
        target : {"population", "contributors"}
            Target of the intervals: the population from which people were drawn, or only these people.

        Raises
        ------
        InvalidInputError
            If the counts are not one number >= 0 for each report, or all are 0.

        Examples
        --------
        >>> from deniable import designs
        >>> found = designs.crosswise("2/12").estimate_counts({"same": 788, "different": 212})
        >>> round(found.prevalence, 3), round(found.standard_error, 4)
        (0.068, 0.0194)
        >>> [round(end, 3) for end in found.interval]
        [0.032, 0.108]
        """
        check_target(target)
        given = checked_counts(np.asarray(self._in_order(counts)), self.state_size)
        if not given.any():
            raise InvalidInputError("counts must include at least one report, but every count is 0")
        estimate = self._estimated(given, int(given.sum()))
        lower, upper = estimate.interval(confidence, target=target)
        centred = self._scores - estimate.frequencies
        return DesignEstimate(
            design=repr(self),
            counts=tuple(given.tolist()),
            n=estimate.n,
            shares=estimate.frequencies,
            standard_errors=estimate.standard_errors_for(target),
            lower=lower,
            upper=upper,
            unbiased_variances=given @ centred**2 / max(estimate.n - 1, 1) / estimate.n,
            target=target,
            confidence=confidence,
            odds=tuple(map(str, self.odds)),
            sentences=self.sentences,
            warnings=self._warnings(given, float(estimate.frequencies[1]), confidence) if self.k == 2 else (),
            estimate=estimate,
            chances=tuple(float(row[1]) for row in self.rows) if self.state_size == self.k == 2 else (),
        )

    def _in_order(self, counts: Sequence[int] | Mapping[str, int]) -> Sequence[int]:
        if not isinstance(counts, Mapping):
            return counts
        names = self.kind.reports
        if sorted(counts) != sorted(names):
            rule = f"counts must name the reports {quoted(names)}" if names else "counts must be a list of numbers"
            raise InvalidInputError(f"{rule}, got counts with the names {quoted(list(counts))}")
        return [counts[name] for name in names]

    def _warnings(self, counts: NDArray[np.int64], share: float, confidence: float) -> tuple[str, ...]:
        """Return a warning if the unclipped interval lies outside [0, 1], for designs with two truths."""
        known, n = self._supported, int(counts.sum())
        report = self.state_size - 1 if known is None else int(known.reports[1])
        chances = [float(row[report]) for row in self.rows]
        few = known is not None and bool(n * min(chances[0], 1 - chances[1]) < FEW)
        said = f'"{(self.kind.reports or ("0", "1"))[report]}"' if self.state_size == 2 else "high numbers"
        if self.state_size > 2 and self._scores[0, 1] > self._scores[-1, 1]:
            said = "low numbers"
        for truth, comparison in enumerate((_FEWER, _MORE)):
            beyond, noise = (share - truth) * (1 if truth else -1), float(self._noise[truth, 1])
            if beyond <= 0 or noise <= 0:
                continue
            z = beyond / math.sqrt(noise / n)
            p = tail_beyond(int(counts[report]), n, chances[truth], z, few=few, above=bool(truth))
            if p <= (1 - confidence) / 2:
                return (f"{comparison.format(said)} (p = {p:.2g}). Were instructions followed?",)
        return ()

    def instrument(self, question: str, language: str = "en", *, other: str = "") -> Instrument:
        """Organiser: return the cards for one question: respondent's card, interviewer's script, device and odds.

        Parameters
        ----------
        question : str
            The sensitive question in the words of the card. It is a statement if the design asks whether something is
            true.
        language : {"en", "de"}
            Language of the card and the script.
        other : str
            The innocuous statement or the unrelated question, if the design has one.

        Raises
        ------
        InvalidParameterError
            If a report can prove an answer and `one_sided` is not set. Also if a text is missing or not needed, the
            language is unknown, or the device needs more than 200 cards.

        Examples
        --------
        >>> from deniable import designs
        >>> for line in designs.forced("1/6", "1/12").instrument("Did you pay a bribe last year?").card:
        ...     print(line)
        Throw both dice where only you see them. Add the two numbers.
        2, 3 or 4: say “yes”.
        11 or 12: say “no”.
        Otherwise answer truthfully: Did you pay a bribe last year?
        """
        if self.refusal:
            raise InvalidParameterError(
                f"this design cannot be written as instructions for people: {self.refusal}",
                parameters=("one_sided=True",),
            )
        numbers = checked_parameters(self.design, self.parameters)
        card, script, device = written(self.design, numbers, question, language, other, self.kind.fact)
        return Instrument(repr(self), question, other, language, card, script, device, self.sentences)

    def exact_noise(self, truth: int) -> Fraction:
        """Return the exact variance of the score of a person with the given true answer, 0 or 1."""
        row, scores = self.rows[truth], [weights[1] for weights in self.weights]
        return sum((cell * score**2 for cell, score in zip(row, scores, strict=True)), Fraction(0)) - truth

    def variance_of_one(self, prevalence: Number) -> Fraction:
        """Return the exact variance of one report's score, from noise and sampling, at a prevalence.

        Raises
        ------
        InvalidParameterError
            If the design has more than two answers, or the prevalence is not an exact number in [0, 1].

        Examples
        --------
        >>> from deniable import designs
        >>> str(designs.unrelated("1/2", "1/12").variance_of_one("1/10"))
        '1199/3600'
        """
        if self.k != 2:
            raise InvalidParameterError(
                f"only a design with two possible true answers can be planned, but {self} has {self.k} possible true "
                "answers"
            )
        f = checked_number("prevalence", prevalence)
        if not 0 <= f <= 1:
            raise out_of_range("prevalence", "in [0, 1]", f)
        absent, present = self.exact_noise(0), self.exact_noise(1)
        return absent + (present - absent) * f + f * (1 - f)

    def people_needed(self, prevalence: Number, standard_error: Number) -> int:
        """Return the number of people needed for a wanted standard error of the prevalence.

        Parameters
        ----------
        prevalence : Fraction, int or str
            Guess of the prevalence, in [0, 1].
        standard_error : Fraction, int or str
            Wanted standard error, > 0.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of bounds, or the design has more than two answers.

        Examples
        --------
        >>> from deniable import designs
        >>> designs.unrelated("1/2", "1/12").people_needed("1/10", "1/50")
        833
        """
        wanted = checked_number("standard_error", standard_error)
        if wanted <= 0:
            raise out_of_range("standard_error", "> 0", wanted)
        return math.ceil(self.variance_of_one(prevalence) / wanted**2)

    def beats_direct_from(self, prevalence: Number, bias: Number) -> int:
        """Return the number of people from which this design has a smaller mean squared error than a direct question.

        Parameters
        ----------
        prevalence : Fraction, int or str
            True prevalence.
        bias : Fraction, int or str
            Bias of the share of yes to the direct question, not 0.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of bounds, or the design has more than two answers.

        Examples
        --------
        >>> from deniable import designs
        >>> designs.crosswise("2/12").beats_direct_from("1/10", "-3/100")
        348
        """
        shift = checked_number("bias", bias)
        if not shift:
            raise InvalidParameterError(
                "bias must differ from 0, got bias=0; without bias, a direct question is always better"
            )
        f = checked_number("prevalence", prevalence)
        return math.floor((self.variance_of_one(f) - f * (1 - f)) / shift**2) + 1

    def design_effect(self, prevalence: Number, cluster: int, correlation: Number) -> float:
        """Return the factor by which sampling in clusters enlarges the variance of the prevalence.

        The noise of the device is independent between people, also within a cluster. So the factor is at most that of a
        direct question.

        Parameters
        ----------
        prevalence : Fraction, int or str
            Guess of the prevalence, in [0, 1].
        cluster : int
            People in each sampling unit, >= 1.
        correlation : Fraction, int or str
            Intraclass correlation of the true answers, in [0, 1].

        Raises
        ------
        InvalidParameterError
            If a parameter is out of bounds, or the design has more than two answers.

        Examples
        --------
        >>> from deniable import designs
        >>> round(designs.forced("1/6", "1/6").design_effect("1/5", 25, "1/10"), 2)
        1.81
        """
        one, rho = self.variance_of_one(prevalence), checked_number("correlation", correlation)
        if not 0 <= rho <= 1:
            raise out_of_range("correlation", "in [0, 1]", rho)
        f = checked_number("prevalence", prevalence)
        return float(1 + (checked_integer("cluster", cluster, 1) - 1) * rho * f * (1 - f) / one)

"""Default mechanism of a collection of several attributes, and the reason for it.

The default is used if no mechanism is named. The rule depends on sizes and budget only, never on data. Splitting the
budget (`SPL`) is compared with sampling one attribute by the variance that each has at the mean of a flat prior,
averaged over attributes and values. With v(epsilon) the noise of one report, splitting wins where

    v(epsilon/d) < d v(epsilon) + (d-1) (1/k) (1 - 1/k) k/(k+1),

where the last term comes from the mean of f (1 - f) under the flat prior. It is the cost of sampling, because only one
of d attributes of each contributor is observed. Each side may choose its frequency oracles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.core.checks import checked_integer, checked_sizes
from deniable.core.mechanism import Mechanism
from deniable.core.spec import to_spec
from deniable.core.thresholds import EpsilonLike, checked_epsilon
from deniable.errors import DeniableError, InvalidParameterError, TooLargeError, quoted
from deniable.planning.candidates import Candidate, build, candidates_for
from deniable.planning.precision import mean_variance
from deniable.planning.rows import PlanRow, best_row
from deniable.planning.two_phase import corr_rr_plan
from deniable.records.pair_sample import PairSample, singles_for
from deniable.records.pivot.corr_rr import CorrRR

REFERENCE_N = 1_000_000
"""Number of contributors for comparisons. Variances fall as 1/n, so any number gives the same result."""

SPLIT = ("SPL[GRR]", "SPL[OUE]")
SAMPLE = ("SMP[GRR]", "SMP[ADP]")
FAKE = ("RS+FD[GRR]", "RS+FD[OUE]")
CODED = "PivotCoded"

COPIES_TELL = "its copies may still show which attribute was sampled, for certain where a learned probability is 0 or 1"

_MEAN = "mean over attributes, values and a flat prior"


@dataclass(frozen=True)
class MechanismChoice:
    """A mechanism that was chosen automatically, and the reason in words.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism, ready to use. With two phases, this is the mechanism of phase one.
    reason : str
        Description of the alternatives, and of how much better the chosen mechanism is.
    phase_two : str
        Name of the mechanism of phase two, or "" if there is only one phase.

    Examples
    --------
    >>> choice = records_default([16, 16, 16], 1.0)
    >>> choice.mechanism.name, choice.phase_two
    ('SMP[ADP]', '')
    """

    mechanism: Mechanism[Any]
    reason: str
    phase_two: str = ""


def records_default(
    sizes: Sequence[int],
    epsilon: EpsilonLike,
    full_record: bool = False,
    hide_sampled_attribute: bool = False,
    contributors: int | None = None,
    pairs: bool = False,
) -> MechanismChoice:
    """Return the mechanism with the least expected error for records, and the reason; a pure function.

    By default the function chooses the better of two ways. One splits the budget (`SPL` over GRR or OUE). The other
    samples one attribute (`SMP`, or `AdaptiveSMP` if attributes need different oracles). If variances differ by at most
    1%, the mechanism with fewer bits per report is chosen.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes of two or more attributes, each >= 2.
    epsilon : float, Fraction, Decimal or str
        Budget of the whole contributor in nats, in [1e-6, 32].
    full_record : bool
        If True, a report must contain a code of every attribute. The choice is then `SPL` over GRR or `PivotCoded`.
    hide_sampled_attribute : bool
        If True, the collector must not learn which attribute was sampled. Local differential privacy does not need
        this, and hiding the attribute costs precision. The choice is then `RSFD`, Corr-RR in two phases, or `SPL`,
        which samples no attribute.
    contributors : int, optional
        Expected number of contributors. Corr-RR is considered only if this is given, because its bias does not fall
        with the number.
    pairs : bool
        If True, tables of all pairs of attributes are wanted. The choice is then `PairSample`, which also estimates
        single attributes.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, or no mechanism is practical.

    Examples
    --------
    >>> choice = records_default([5, 40, 6], 1.0)
    >>> [oracle.name for oracle in choice.mechanism.oracles]
    ['GRR', 'SubsetSelection', 'GRR']
    >>> choice.reason.partition(" (")[0]
    'one sampled attribute has 0.24 times the expected variance of splitting the budget'
    >>> records_default([3, 3], 20.0).mechanism.name
    'SPL'
    >>> records_default([4, 4, 4], 1.0, full_record=True).mechanism
    PivotCoded(sizes=(4, 4, 4), epsilon=1.0)
    """
    domains, budget = checked_sizes(sizes), checked_epsilon(epsilon)
    if len(domains) < 2:
        raise InvalidParameterError(
            f"sizes must list at least two attributes, got sizes={quoted(domains)}; use recommend for one attribute"
        )
    expected = None if contributors is None else checked_integer("contributors", contributors, 20)
    if pairs:
        if full_record or hide_sampled_attribute:
            wish = "full_record" if full_record else "hide_sampled_attribute"
            raise InvalidParameterError(
                f"pairs and {wish}=True cannot be used together, because a report about a pair of attributes shows "
                "which pair was drawn: leave one of the two out",
                parameters=(f"{wish}=True",),
            )
        return paired_default(domains, budget)
    split = SPLIT[:1] if full_record else SPLIT
    if hide_sampled_attribute:
        return _hidden(domains, budget, split, FAKE[:1] if full_record else FAKE, expected)
    sample = (CODED,) if full_record else SAMPLE
    rows = practical_rows(candidates_for(len(domains), [*split, *sample]), domains, budget)
    best, mechanism = _best(rows, domains, budget)
    other = _least([row for row in rows if (row.name in split) != (best.name in split)])
    compared = _against(best, other)
    if best.name in split:
        return MechanismChoice(mechanism, f"splitting the budget ({best.name}) has {compared}")
    how = "one sampled attribute, coded into a full record," if full_record else "one sampled attribute"
    return MechanismChoice(mechanism, f"{how} has {compared}{_oracles(mechanism)}")


def paired_default(
    sizes: tuple[int, ...], epsilon: float | Fraction, means: Collection[int] = (), waves: Collection[int] | None = None
) -> MechanismChoice:
    """Return a `PairSample`: one pair of attributes, or for means sometimes one attribute, with the whole budget.

    Parameters
    ----------
    sizes : tuple of int
        Domain sizes of at least two attributes.
    epsilon : float or Fraction
        Budget of the whole contributor.
    means : collection of int
        Attributes whose mean is asked. If there are any, attributes are reported alone, too.
    waves : collection of int, optional
        Attributes among `means` that are then reported through square waves; all by default.

    Raises
    ------
    InvalidParameterError, TooLargeError
        If there are fewer than two attributes, or the table of a pair is too large.

    Examples
    --------
    >>> choice = paired_default((4, 5, 6), 1.0)
    >>> choice.mechanism.name, choice.mechanism.singles
    ('PairSample', Fraction(0, 1))
    """
    reason = "one drawn pair of attributes with the whole budget: every pair has a table"
    if not means:
        return MechanismChoice(PairSample(sizes, epsilon), reason)
    through = means if waves is None else waves
    mechanism = PairSample(sizes, epsilon, FOR_MEANS, singles_for(sizes, epsilon, through))
    wave = ", square waves for means" if through else ""
    return MechanismChoice(mechanism, f"{reason}; one report in four is of one attribute{wave}")


FOR_MEANS = Fraction(1, 4)
"""Share of the contributors who report one attribute alone, if means are asked for besides tables."""


def _hidden(
    sizes: tuple[int, ...],
    epsilon: float | Fraction,
    split: Sequence[str],
    fake: Sequence[str],
    contributors: int | None,
) -> MechanismChoice:
    """Return the choice among the mechanisms that do not tell which attribute was sampled."""
    rows = practical_rows(candidates_for(len(sizes), [*split, *fake, *SAMPLE]), sizes, epsilon)
    best, mechanism = _best([row for row in rows if row.name not in SAMPLE], sizes, epsilon)
    shown = _least([row for row in rows if row.name in SAMPLE])
    if best.name in split:
        reason = f"splitting the budget ({best.name}), which samples no attribute, has {_against(best, shown)}"
    else:
        reason = f"fakes that hide the sampled attribute ({best.name}) have {_against(best, shown, 'of showing it')}"
    if contributors is None:
        return MechanismChoice(
            mechanism,
            f"{reason}; Corr-RR was not considered, because its bias can only be judged with the number of "
            "contributors",
        )
    try:
        corr_rr = corr_rr_plan(sizes, epsilon, contributors)
    except (InvalidParameterError, TooLargeError) as error:
        return MechanismChoice(mechanism, f"{reason}; Corr-RR was not considered: {error}")
    assert best.mean_variance is not None
    variance = best.mean_variance * REFERENCE_N / contributors
    numbers = f"an expected squared error of {corr_rr.mse:.2g} at best, of which bias {corr_rr.squared_bias:.2g}"
    against = f"{variance:.2g} by {best.name}, which is unbiased (for {corr_rr.assumed})"
    if corr_rr.mse < variance:
        phases = f"Corr-RR with {corr_rr.n1:,} contributors in phase one and {corr_rr.n2:,} in phase two"
        return MechanismChoice(
            CorrRR.phase_one(sizes, epsilon), f"{phases} has {numbers}, against {against}; {COPIES_TELL}", CorrRR.name
        )
    return MechanismChoice(mechanism, f"{reason}; Corr-RR has {numbers}, against {against}")


def practical_rows(candidates: Sequence[Candidate], sizes: tuple[int, ...], epsilon: float | Fraction) -> list[PlanRow]:
    """Return a row with the mean variance for a million contributors of every candidate that is practical."""
    rows = []
    for candidate in candidates:
        try:
            mechanism = build(candidate, sizes, epsilon)
        except DeniableError as error:
            rows.append(PlanRow(candidate.name, reason=f"{candidate.name}: {error}"))
            continue
        variance, bits = mean_variance(mechanism, REFERENCE_N), mechanism.report_bits
        rows.append(PlanRow(candidate.name, mechanism, {}, variance, bits_per_report=bits, feasible=True))
    return rows


def check_practical(best: PlanRow | None, rows: Sequence[PlanRow], sizes: Sequence[int], epsilon: Any) -> PlanRow:
    """Return the best row, or raise InvalidParameterError with the reasons why there is none."""
    if best is None or best.mechanism is None:
        names: dict[str, list[str]] = {}
        for row in rows:
            if row.reason:
                names.setdefault(row.reason.removeprefix(f"{row.name}: "), []).append(row.name)
        reasons = ". ".join(f"For {', '.join(those)}, {reason}" for reason, those in names.items())
        raise InvalidParameterError(
            f"no mechanism is practical for sizes={quoted(tuple(sizes))} and epsilon={epsilon}. {reasons}"
        )
    return best


def _best(rows: list[PlanRow], sizes: tuple[int, ...], epsilon: Any) -> tuple[PlanRow, Mechanism[Any]]:
    best = check_practical(best_row(rows), rows, sizes, epsilon)
    assert best.mechanism is not None
    return best, best.mechanism


def _least(rows: Sequence[PlanRow]) -> PlanRow | None:
    known = [(row.mean_variance, i) for i, row in enumerate(rows) if row.mean_variance is not None]
    return rows[min(known)[1]] if known else None


def _against(best: PlanRow, other: PlanRow | None, what: str = "") -> str:
    if other is None or other.mean_variance is None or best.mean_variance is None:
        return "no practical alternative"
    name = what or ("of splitting the budget" if other.name in SPLIT else "of sampling one attribute")
    return f"{best.mean_variance / other.mean_variance:.2g} times the expected variance {name} ({other.name}; {_MEAN})"


def _oracles(mechanism: Mechanism[Any]) -> str:
    oracles = to_spec(mechanism).get("oracles", [])
    if not oracles:
        return ""
    names = Counter(
        f"{oracle['mechanism']}[{oracle['family']}]" if "family" in oracle else oracle["mechanism"]
        for oracle in oracles
    )
    return "; oracles by size: " + ", ".join(f"{count} x {name}" for name, count in names.items())

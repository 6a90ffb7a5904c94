"""Plan with every mechanism's expected error, cost and number of contributors, before anybody is asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from numpy.typing import ArrayLike

from deniable.core.checks import checked_integer, checked_probability, checked_sizes
from deniable.core.extensions import extensions
from deniable.core.spec import to_spec
from deniable.core.thresholds import EpsilonLike, checked_epsilon
from deniable.errors import DeniableError, InvalidParameterError, TooLargeError, quoted
from deniable.oracles.sketch.ocms import OCMS
from deniable.oracles.sketch.pilot import BoundPrice, bound_price, least_bound
from deniable.planning.candidates import Candidate, build, candidates_for, preferred
from deniable.planning.precision import MAX_CONTRIBUTORS, contributors_needed, mean_variance
from deniable.planning.records import records_default
from deniable.planning.rows import Plan, PlanRow, best_row
from deniable.planning.two_phase import corr_rr_plan


def plan(
    sizes: Sequence[int],
    epsilon: EpsilonLike,
    contributors: int | None = None,
    target_error: float | None = None,
    frequency: float | None = None,
    confidence: float = 0.95,
    mechanisms: Sequence[str] | None = None,
    marginals: Sequence[ArrayLike] | None = None,
    max_frequency: float | None = None,
    pilot: int | None = None,
) -> Plan:
    """Compare mechanisms before a collection starts, by error, cost, and number of contributors needed.

    All numbers are computed from the mechanisms' variances with their implemented probabilities. Nothing is simulated.
    The errors allow for the noise only, so they are for the frequencies among these contributors. The plan also says
    which mechanisms are infeasible.

    Parameters
    ----------
    sizes : sequence of int
        Domain size of each attribute, each >= 2. With one size, the plan compares frequency oracles; with several
        sizes, it compares record mechanisms.
    epsilon : float, Fraction, Decimal or str
        Budget of the whole contributor in nats, in [1e-6, 32].
    contributors : int, optional
        Number of contributors, >= 1. Give `contributors` or `target_error` or both.
    target_error : float, optional
        Wanted half-width, in (0, 1), of the interval for a category with the true frequency `frequency`, in every
        attribute. 0.01 means one percentage point either way.
    frequency : float, optional
        True frequency of this category, in [0, 1]. The default 0 is for a category that almost nobody holds.
    confidence : float
        Confidence of the intervals, in (0, 1).
    mechanisms : sequence of str, optional
        Names of the mechanisms to compare, for instance ``["GRR", "OUE"]``, ``["CMS[spread]"]`` or ``["SPL",
        "SMP[OUE]"]``. By default all.
    marginals : sequence of float64[k_j], optional
        Expected frequencies of each attribute, for the bias of Corr-RR. By default the bias is averaged over random
        frequencies.
    max_frequency : float, optional
        For one attribute: a bound that no frequency is expected to exceed. The plan then states the price of this bound
        (`deniable.oracles.bound_price`). The bound does not change the comparison of mechanisms.
    pilot : int, optional
        For one attribute, with `contributors`: number of contributors in a first phase that finds the bound. Without
        `max_frequency`, the plan uses the bound that such a pilot finds if all values are rare (`least_bound`). The
        price is for the other contributors.

    Returns
    -------
    Plan
        One row for each mechanism. The plan recommends the feasible mechanism with the least mean variance, by the
        rules of `recommend`. OCMS, the other sketches with a transform, and Corr-RR are only listed for comparison. The
        expected squared error of Corr-RR includes its bias (`corr_rr_plan`), and its note says whether the default
        mechanism has a smaller error.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, or neither `contributors` nor `target_error` is given.

    Examples
    --------
    >>> best, other = plan([100], 4.0, target_error=0.01, mechanisms=["GRR", "OUE"]).rows
    >>> (best.name, best.contributors_needed), (other.name, other.contributors_needed)
    (('GRR', 2041), ('OUE', 2920))
    >>> names = ["SMP[GRR]", "SMP[OUE]", "SPL[GRR]"]
    >>> result = plan([5, 4, 6], 1.0, contributors=3000, target_error=0.1, mechanisms=names)
    >>> for row in result.rows:
    ...     print(row.name, "recommended" if row.recommended else row.reason)
    SMP[GRR] recommended
    SMP[OUE] needs 4,244 contributors for ±0.1, got 3,000
    SPL[GRR] needs 13,241 contributors for ±0.1, got 3,000
    """
    domains = checked_sizes(sizes)
    budget = checked_epsilon(epsilon)
    if contributors is None and target_error is None:
        raise InvalidParameterError(
            "either contributors or target_error must be given: add the number of people, or the error that you want",
            parameters=("target_error",),
        )
    if contributors is not None:
        contributors = checked_integer("contributors", contributors, 1, MAX_CONTRIBUTORS)
    if target_error is not None:
        target_error = checked_probability("target_error", target_error, open_interval=True)
    at = 0.0 if frequency is None else checked_probability("frequency", frequency)
    confidence = checked_probability("confidence", confidence, open_interval=True)

    if marginals is not None and len(domains) == 1:
        raise InvalidParameterError(
            "marginals works only with several attributes, and only for the bias of Corr-RR: leave out marginals"
        )
    offered = candidates_for(len(domains), mechanisms)
    drafts = [_draft(candidate, domains, budget, target_error, confidence, at) for candidate in offered]
    needed = [row.contributors_needed for row in drafts if row.contributors_needed is not None]
    n = contributors if contributors is not None else min(needed, default=MAX_CONTRIBUTORS)
    rows = [
        _judged_phases(row, n, target_error, marginals)
        if candidate.two_phases
        else _judged(row, n, contributors, target_error, confidence, at)
        for candidate, row in zip(offered, drafts, strict=True)
    ]
    eligible = preferred(domains, [row.name for row in rows if row.feasible])
    best = best_row([row for row in rows if row.name in eligible])
    rows = [replace(row, recommended=row is best) for row in rows]
    rows.sort(key=lambda row: math.inf if row.mean_variance is None else row.mean_variance)
    dealt: tuple[PlanRow, ...] = ()
    if contributors is not None and mechanisms is None:
        added = [point.load() for point in extensions("plans")]
        asked = (domains, budget, contributors, target_error, confidence, at)
        dealt = tuple(row for rows_of in added for row in rows_of(*asked))
    expected = pilot is not None and max_frequency is None
    first = 0 if pilot is None else _checked_pilot(pilot, contributors)
    bound = (
        None if max_frequency is None and not first else _bound(domains, budget, n, confidence, max_frequency, first)
    )
    return Plan(
        domains, budget, n, contributors, target_error, at, confidence, tuple(rows), dealt, bound, first, expected
    )


def _checked_pilot(pilot: int, contributors: int | None) -> int:
    if contributors is None:
        raise InvalidParameterError(
            f"contributors must be given together with pilot, got pilot={quoted(pilot)}: add the number of people"
        )
    return checked_integer("pilot", pilot, 1, contributors - 1)


def _bound(
    sizes: tuple[int, ...], epsilon: float | Fraction, n: int, confidence: float, at_most: float | None, pilot: int
) -> BoundPrice:
    """Return the price of the bound that is given, or that a pilot finds at best."""
    if len(sizes) != 1:
        name = "max_frequency" if at_most is not None else "pilot"
        raise InvalidParameterError(
            f"{name} works only with one attribute, but sizes lists {len(sizes)} attributes: leave out {name}",
            parameters=(name,),
        )
    if at_most is None:
        at_most = least_bound(OCMS(sizes[0], epsilon), pilot, confidence)
    return bound_price(sizes[0], epsilon, n - pilot, at_most)


def _draft(
    candidate: Candidate,
    sizes: tuple[int, ...],
    epsilon: float | Fraction,
    target_error: float | None,
    confidence: float,
    frequency: float,
) -> PlanRow:
    """Return a row with what does not depend on the number of contributors."""
    try:
        mechanism = build(candidate, sizes, epsilon)
    except DeniableError as error:
        return PlanRow(candidate.name, reason=str(error), note=candidate.note)
    parameters = {key: value for key, value in to_spec(mechanism).items() if key != "mechanism"}
    needed = None
    if target_error is not None and not candidate.two_phases:
        needed = contributors_needed(mechanism, target_error, confidence, frequency)
    return PlanRow(
        candidate.name,
        mechanism,
        parameters,
        bits_per_report=mechanism.report_bits,
        contributors_needed=needed,
        note=candidate.note,
    )


def _judged(
    row: PlanRow,
    n: int,
    contributors: int | None,
    target_error: float | None,
    confidence: float,
    frequency: float,
) -> PlanRow:
    """Return the row with its errors for n contributors, and whether it is feasible."""
    if row.mechanism is None:
        return row
    reason = ""
    if target_error is not None and row.contributors_needed is None:
        reason = f"needs more than {MAX_CONTRIBUTORS:,} contributors for ±{target_error:g}"
    elif row.contributors_needed is not None and contributors is not None and contributors < row.contributors_needed:
        reason = f"needs {row.contributors_needed:,} contributors for ±{target_error:g}, got {contributors:,}"
    return replace(row.expected(n, frequency, confidence), feasible=not reason, reason=reason)


def _judged_phases(row: PlanRow, n: int, target_error: float | None, marginals: Sequence[ArrayLike] | None) -> PlanRow:
    """Return Corr-RR's row with its expected error over both phases, and a word on whether sampling has less."""
    if row.mechanism is None:
        return row
    sizes, epsilon = row.mechanism.domain, row.mechanism.epsilon
    try:
        expected = corr_rr_plan(sizes, epsilon, n, marginals)
    except (TooLargeError, InvalidParameterError) as error:
        if marginals is not None and not isinstance(error, TooLargeError):
            raise
        return replace(row, reason=str(error), note=f"not computed: {error}")
    sampled = mean_variance(records_default(sizes, epsilon).mechanism, n)
    verdict = "worse than" if expected.mse > sampled else "better than"
    bias = f"of which bias {expected.squared_bias:.3g}" if expected.squared_bias else "no bias"
    note = (
        f"two phases, {expected.n1:,} and {expected.n2:,} contributors; expected squared error {expected.mse:.3g} "
        f"({bias}): {verdict} the default for records, {sampled:.3g}; for {expected.assumed}, from which P is learned "
        "without noise"
    )
    reason = "" if target_error is None else "contributors needed are not computed for two phases"
    if reason and expected.squared_bias:
        reason = "biased: no number of contributors makes an interval valid"
    return replace(
        row,
        mean_variance=expected.mse,
        mean_standard_error=math.sqrt(expected.mse),
        mean_bias=math.sqrt(expected.squared_bias),
        feasible=not reason,
        reason=reason,
        note=note,
    )

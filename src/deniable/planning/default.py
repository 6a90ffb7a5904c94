"""The default mechanism and collection for a schema and a budget.

A square wave reports ordered answers near the truth, so sums that change slowly along the scale have small errors. An
answer without a score ("no answer") has no place on the scale, and its code follows the last point of the scale. The
mean of those who answered jumps at that code, and the square wave has large errors at jumps. On short scales the oracle
of least error for shares then gives the better mean, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.core.checks import checked_sizes, listed
from deniable.core.construction import mechanism_for
from deniable.core.mechanism import Mechanism
from deniable.core.thresholds import EpsilonLike, checked_epsilon
from deniable.errors import InvalidParameterError, TooLargeError, quoted
from deniable.oracles.linear import LinearOracle
from deniable.oracles.sketch.heavy_hitters import HeavyHitters
from deniable.oracles.sketch.ocms import ocms_choice
from deniable.oracles.square_wave import SquareWave
from deniable.planning.candidates import candidates_for, preferred
from deniable.planning.records import (
    MechanismChoice,
    check_practical,
    paired_default,
    practical_rows,
    records_default,
)
from deniable.planning.rows import best_row
from deniable.records.oracle_choice import best_oracle, oracles_for
from deniable.records.sample import SMP, AdaptiveSMP
from deniable.survey.attribute import Attribute
from deniable.survey.collection import Collection
from deniable.survey.schema import Schema, checked_schema


def prefers_square_wave(column: Attribute, epsilon: float | Fraction) -> bool:
    """Return whether a column's mean is asked and a square wave gives it less error than the oracle for shares.

    A square wave gives less error if every answer has a score. Otherwise the two variances are compared at the uniform
    distribution over all answers, by the delta method. They are the variances of the scores less the mean; answers
    without a score do not count.

    Examples
    --------
    >>> stars = ("1", "2", "3", "4", "5")
    >>> prefers_square_wave(Attribute("stars", stars, kind="ordered", ask="mean"), 1.0)
    True
    >>> prefers_square_wave(Attribute("stars", stars, missing="no answer", kind="ordered", ask="mean"), 1.0)
    False
    """
    scores = column.code_scores
    if column.ask != "mean" or scores is None:
        return False
    counted = np.isfinite(scores)
    if counted.all():
        return True
    weights = np.where(counted, scores - scores[counted].mean(), 0.0)
    uniform = np.full(column.k, 1 / column.k)
    others: LinearOracle[Any] = best_oracle(column.k, epsilon)
    try:
        alone = others.linear_variance(weights, uniform, 1)
    except TooLargeError:  # a sketch's pairs of values have no common distribution
        return True
    return SquareWave(column.k, epsilon).linear_variance(weights, uniform, 1) <= alone


MEAN_ASKED = "the schema asks for a mean: one report of a square wave tells mean, distribution and quantiles"

FROM_SHARES = "read from shares, which serves answers without a score better"


def recommend(sizes: Sequence[int], epsilon: EpsilonLike) -> Mechanism[Any]:
    """Return the mechanism with the least mean variance among all mechanisms of acceptable cost.

    The mean variance is the average over attributes, values and all possible frequencies (uniform over the simplex).

    For one attribute, the function compares GRR, OUE, SubsetSelection and count-mean sketches: OLH, Spread, and the
    prime family with the best m. For several attributes it compares SPL over GRR or OUE, and SMP over GRR or over the
    best oracle of every attribute. `records_default` explains this choice and has more options. If two mean variances
    differ by at most 1%, the mechanism with fewer bits per report is chosen.

    A mechanism is practical if it needs at most 2^19 bits per report and 2^27 counters, and compares a report with at
    most 2^19 values. Spread is considered if a single attribute has more than 2^10 values. With more than 2^16 values
    it is preferred to all mechanisms but GRR. The other mechanisms save at most 8% of the variance, and need hours of
    the collector's time or kilobytes from each contributor.

    Parameters
    ----------
    sizes : sequence of int
        Domain size of each attribute, each >= 2.
    epsilon : float, Fraction, Decimal or str
        Budget of the whole contributor in nats, in [1e-6, 32].

    Returns
    -------
    Mechanism
        For one size, a mechanism for one attribute (codes int[n]). For several sizes, a record mechanism (int[n, d]).

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, or no mechanism is practical.

    Examples
    --------
    >>> recommend([4], 1.0)
    GRR(k=4, epsilon=1.0)
    >>> recommend([1_000_000], 2.0)
    CountMeanSketch(k=1000000, epsilon=2.0, m=8, family='spread')
    >>> recommend([5, 4, 6], 1.0)
    SMP(sizes=(5, 4, 6), epsilon=1.0, oracle='GRR')
    """
    domains = checked_sizes(sizes)
    budget = checked_epsilon(epsilon)
    if len(domains) > 1:
        return records_default(domains, budget).mechanism
    offered = [candidate for candidate in candidates_for(1) if candidate.recommendable]
    rows = practical_rows(offered, domains, budget)
    eligible = preferred(domains, [row.name for row in rows if row.feasible])
    best = check_practical(best_row([row for row in rows if row.name in eligible]), rows, domains, budget)
    assert best.mechanism is not None
    return best.mechanism


def default_mechanism(
    schema: Schema,
    epsilon: EpsilonLike,
    *,
    full_record: bool = False,
    hide_sampled_attribute: bool = False,
    contributors: int | None = None,
    pairs: bool = False,
) -> MechanismChoice:
    """Return the mechanism that a collection uses if nobody names one, and the reason; a pure function.

    The schema alone decides, never the answers:

    * Open text uses `HeavyHitters`.
    * A dictionary uses the sketch of `ocms_choice`.
    * A single attribute whose mean is asked uses `SquareWave`.
    * Any other single attribute uses the choice of `recommend`.
    * Records use the choice of `records_default`. It respects the wishes `full_record`, `hide_sampled_attribute` and
      `pairs`. If each contributor reports only a sampled attribute, attributes whose mean is asked are reported through
      square waves.


    `Attribute.ask` states whether a mean is asked. If some answers have no score, such as a missing answer, the mean
    may be better computed from shares. In this case no square wave is used (`deniable.planning.default`).

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, no mechanism is practical, or a wish would have no effect.

    Examples
    --------
    >>> from deniable import Attribute
    >>> default_mechanism(Schema((Attribute("smoker", ("yes", "no")),)), 1.0).mechanism
    GRR(k=2, epsilon=1.0)
    """
    sizes = checked_schema(schema).sizes
    wishes = {"full_record": full_record, "hide_sampled_attribute": hide_sampled_attribute, "pairs": pairs}
    if len(sizes) > 1:
        means = [j for j, column in enumerate(schema.columns) if column.ask == "mean"]
        if pairs and means and not (full_record or hide_sampled_attribute):
            budget = checked_epsilon(epsilon)
            waves = [j for j in means if prefers_square_wave(schema.columns[j], budget)]
            return paired_default(sizes, budget, means, waves)
        choice = records_default(sizes, epsilon, contributors=contributors, **wishes)
        return choice if any(wishes.values()) else _of_means(choice, schema)
    for wish, wished in wishes.items():
        if wished:
            raise InvalidParameterError(
                f"{wish}=True works only for collections with several attributes: leave out {wish}=True",
                parameters=(f"{wish}=True",),
            )
    if schema.is_text:
        return MechanismChoice(mechanism_for(HeavyHitters.name, sizes, epsilon), "it finds frequent open text")
    if not schema.attributes[0].question_kind.listed:
        sketch = ocms_choice(sizes[0], epsilon)
        return MechanismChoice(sketch.mechanism, sketch.reason)
    if prefers_square_wave(schema.columns[0], checked_epsilon(epsilon)):
        return MechanismChoice(SquareWave(sizes[0], checked_epsilon(epsilon)), MEAN_ASKED)
    why = "least mean variance among the practical mechanisms (deniable plan compares them)"
    return MechanismChoice(recommend(sizes, epsilon), why)


def _of_means(choice: MechanismChoice, schema: Schema) -> MechanismChoice:
    """Return a choice for records with square waves for the columns whose mean is asked for, if it samples one."""
    means = [j for j, column in enumerate(schema.columns) if column.ask == "mean"]
    if not means:
        return choice
    names = listed([quoted(schema.names[j]) for j in means])
    mechanism: Any = choice.mechanism
    if mechanism.name not in (SMP.name, AdaptiveSMP.name):
        return replace(choice, reason=f"{choice.reason}; means of {names} are read from its codes")
    waves = [j for j in means if prefers_square_wave(schema.columns[j], mechanism.epsilon)]
    rest = [quoted(schema.names[j]) for j in means if j not in waves]
    shares = f"; means of {listed(rest)} are {FROM_SHARES}" if rest else ""
    if not waves:
        return replace(choice, reason=f"{choice.reason}{shares}")
    oracles = oracles_for(mechanism.sizes, mechanism.epsilon, waves)
    adapted = AdaptiveSMP(mechanism.sizes, mechanism.epsilon, oracles)
    why, by_size, _ = choice.reason.partition("; oracles by size")
    others = ", the others by size" if by_size else ""
    names = listed([quoted(schema.names[j]) for j in waves])
    reason = f"{why}; square waves for {names}, whose mean is asked{others}{shares}"
    return replace(choice, mechanism=adapted, reason=reason)


def collection(
    schema: Schema,
    epsilon: EpsilonLike,
    *,
    mechanism: str | None = None,
    title: str = "",
    version: int = 1,
    full_record: bool = False,
    hide_sampled_attribute: bool = False,
    contributors: int | None = None,
    pairs: bool = False,
    **settings: Any,
) -> Collection:
    """Collector: return a collection, with the default mechanism unless you name one; `reason` explains the choice.

    Parameters
    ----------
    schema : Schema
        Questions that the collection asks.
    epsilon : float, Fraction, Decimal or str
        Budget of the whole contributor in nats, in [1e-6, 32].
    mechanism : str, optional
        Name of a mechanism, see `deniable.mechanism`. `settings` are then its other parameters.
    title, version
        See `Collection`.
    full_record, hide_sampled_attribute, contributors, pairs
        Wishes for the default mechanism for records, see `records_default`.
    **settings
        Parameters of the named mechanism.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, no mechanism is practical, or a setting or wish would have no effect.

    Examples
    --------
    >>> from deniable import Attribute, SecureRandomness
    >>> survey = collection(Schema((Attribute("smoker", ("yes", "no")),)), epsilon=1.0)
    >>> survey.mechanism, survey.reason
    (GRR(k=2, epsilon=1.0), 'least mean variance among the practical mechanisms (deniable plan compares them)')
    >>> survey.randomize({"smoker": ["no", "yes"]}, SecureRandomness()).shape
    (2,)
    """
    wishes = {"full_record": full_record, "hide_sampled_attribute": hide_sampled_attribute, "pairs": pairs}
    checked_schema(schema)
    check_wishes(mechanism, settings, wishes)
    if mechanism is None:
        choice = default_mechanism(schema, epsilon, contributors=contributors, **wishes)
        phases = f"; this is phase one of {choice.phase_two}" if choice.phase_two else ""
        return Collection(schema, choice.mechanism, version, title, reason=choice.reason + phases)
    return Collection(schema, mechanism_for(mechanism, schema.sizes, epsilon, settings), version, title)


def check_wishes(mechanism: str | None, settings: Mapping[str, Any], wishes: Mapping[str, bool]) -> None:
    """Raise an error if wishes about the default come with a named mechanism, or settings without one.

    Raises
    ------
    InvalidParameterError
        If settings or wishes would have no effect.

    Examples
    --------
    >>> check_wishes("SPL", {"oracle": "OUE"}, {"full_record": False})
    >>> check_wishes("SPL", {}, {"full_record": True})
    Traceback (most recent call last):
    ...
    deniable.errors.InvalidParameterError: full_record and mechanism cannot be used together, because ...
    """
    if mechanism is None:
        if settings:
            raise InvalidParameterError(
                f"mechanism must be named before {listed(list(settings))} can be set: name the mechanism"
            )
        return
    for wish, wished in wishes.items():
        if wished:
            raise InvalidParameterError(
                f"{wish} and mechanism cannot be used together, because {wish} chooses the mechanism: leave one of "
                "the two out",
                parameters=(wish,),
            )

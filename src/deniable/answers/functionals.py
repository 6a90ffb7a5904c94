"""Functionals, numbers that are linear in the distribution of answers (means, shares), directly from reports.

If a collector stores how often every report came, the weights W have the least variance at uniform answers (generalised
least squares). With D = diag(pi P) and pi uniform, they are

    W = D^-1 P' (P D^-1 P')^-1 c,      sum_y P(y | x) W[y] = c[x] exactly,

so that the mean of W over reports is unbiased. The reports themselves give its variance, from the mean of W^2 and from
the mean of c^2, which has weights of its own. pi is fixed, because weights that depend on the data would be biased. If
a collector stores how many reports support each value, the functional uses the sum of supports. This sum is shifted by
the constant of least variance at uniform answers (`Estimate.mean`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.answer import Answer
from deniable.core.bounded_sums import Added, Sample, bounded_sum
from deniable.core.checks import Target, checked_integer, listed
from deniable.core.estimate import Estimate
from deniable.core.joint import listed_reports
from deniable.core.mechanism import Mechanism
from deniable.errors import InvalidParameterError, not_available, quoted
from deniable.oracles.oracle import FrequencyOracle, is_oracle
from deniable.records.record import is_direct, is_records
from deniable.survey.collection import Collection

Floats = NDArray[np.float64]


def functional(
    source: Collection | Mechanism[Any],
    aggregate: Aggregate,
    scores: ArrayLike,
    *,
    attribute: int | str = 0,
    question: str = "",
) -> Answer:
    """Analyst: return the unbiased mean of scores over contributors, with its interval.

    The mean is about one attribute. The answer is like that of `Estimate.mean`, but for `SquareWave` the standard
    errors come from the reports instead of the frequencies. The function keeps the weights of the reports. So the same
    question about another aggregate needs only one pass over its counters.

    Parameters
    ----------
    source : Collection or Mechanism
        Source of the aggregate. If this is a collection, the answer also records the earlier phases behind it.
    aggregate : Aggregate
        Aggregate with at least one report.
    scores : float[k]
        Number that each value stands for in the mean. For instance, 0..k-1 give the mean code, and midpoints of income
        classes give a mean income. For the share of values up to t, give 1 to values up to t and 0 to all others.
    attribute : int or str
        For records: the attribute's index, or its name in the collection.
    question : str
        Description of the mean in words.

    Returns
    -------
    Answer
        The answer. It is NaN if nobody reported the attribute, and has no interval if the variance of reports is not
        known.

    Raises
    ------
    MismatchError, EmptyAggregateError
        If the aggregate came from another mechanism, or contains no reports.
    InvalidParameterError
        If scores are not k finite numbers, there is no such attribute, or the mechanism takes texts.
    TooLargeError
        If the mechanism's reports must be listed and there are too many.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.oracles import SquareWave
    >>> wave = SquareWave(k=11, epsilon=1.0)  # satisfaction from 0 to 10
    >>> aggregate = wave.aggregate(wave.randomize([7] * 3000 + [9] * 1000, SimulationRandomness(1)))
    >>> answer = functional(wave, aggregate, range(11), question="mean satisfaction")
    >>> answer  # the truth is 7.5
    mean satisfaction: 7.27 ± 0.15785
    >>> [round(end, 2) for end in answer.interval(0.95)]
    [6.96, 7.58]
    """
    mechanism, names, made_from = _opened(source, aggregate)
    j = _index(attribute, names, len(mechanism.domain))
    asked = _checked_scores(scores, mechanism.domain[j])
    text = question or "mean score"
    if is_oracle(mechanism) and _keeps_reports(mechanism):
        return _by_reports(mechanism, aggregate, asked, aggregate.n, text, made_from)
    if is_direct(mechanism) and _keeps_reports(mechanism.oracles[j]):
        part = mechanism.by_attribute(aggregate)[j]
        return _by_reports(mechanism.oracles[j], part, asked, aggregate.n, text, made_from)
    estimate: Any = mechanism.estimate(aggregate)
    one: Estimate = estimate[j] if is_records(mechanism) else estimate
    return replace(one.of(made_from).mean(asked), question=text)


def _opened(
    source: Collection | Mechanism[Any], aggregate: Aggregate
) -> tuple[Mechanism[Any], tuple[str, ...], frozenset[str]]:
    """Return the mechanism, the attributes' names if they have any, and the source of the answer."""
    names: tuple[str, ...] = ()
    if isinstance(source, Collection):
        source.check(aggregate)
        mechanism, made_from = source.mechanism, source.source(aggregate)
        names = tuple(column.name for column in source.schema.columns)
    else:
        mechanism, made_from = source, aggregate.source
    if mechanism.takes_text:
        raise not_available("a weighted sum of frequencies", mechanism.name, "choose a mechanism for listed categories")
    mechanism.check(aggregate)
    return mechanism, names, made_from


def _index(attribute: int | str, names: tuple[str, ...], d: int) -> int:
    if isinstance(attribute, str):
        if attribute not in names:
            numbered = f"a number from 0 to {d - 1}, because a mechanism has no names"
            known = f"one of {listed(list(names))}" if names else numbered
            raise InvalidParameterError(f"attribute must be {known}, got {quoted(attribute)}")
        return names.index(attribute)
    return checked_integer("attribute", attribute, 0, d - 1)


def functional_weights(oracle: FrequencyOracle[Any], scores: ArrayLike) -> Floats:
    """Return the amount that each possible report adds to the mean of scores, in the order of `outputs`.

    The amounts, float64[outputs], are computed by generalised least squares, as if all answers were equally frequent.
    `SquareWave` needs time O(k); other oracles list all reports.

    Raises
    ------
    InvalidParameterError
        If scores are not k finite numbers.
    TooLargeError
        If there are too many reports to list.

    Examples
    --------
    >>> from deniable import GRR
    >>> weights = functional_weights(GRR(k=3, epsilon=1.0), [1, 2, 3])
    >>> weights.round(2).tolist()
    [-0.75, 2.0, 4.75]
    """
    return _weights(oracle, tuple(_checked_scores(scores, oracle.k).tolist()))[0]


@lru_cache(maxsize=64)
def _weights(oracle: FrequencyOracle[Any], scores: tuple[float, ...]) -> tuple[Floats, float, float]:
    """Return the weights, and the least and the largest variance that any one answer gives them."""
    asked = np.array(scores)
    weights, noise = oracle.weighing.report_weights(asked)
    weights.setflags(write=False)
    return weights, max(float(noise.min()), 0.0), float(noise.max())


def _keeps_reports(oracle: FrequencyOracle[Any]) -> bool:
    """Return whether an oracle's aggregate is the histogram of its reports, and no support probabilities say more."""
    return oracle.state_is_histogram and oracle.support_law is None


def _by_reports(
    oracle: FrequencyOracle[Any],
    aggregate: Aggregate,
    scores: Floats,
    contributors: int,
    question: str,
    source: frozenset[str],
) -> Answer:
    n = aggregate.n
    if n == 0:
        return Answer(math.nan, {"contributors": math.inf, "population": math.inf}, question, 0, source=source)
    # Weights are made of centred scores, so that large scores leave digits for their differences.
    centre = float(scores.mean())
    offsets = scores - centre
    weights, least, most = _weights(oracle, tuple(offsets.tolist()))
    squares = functional_weights(oracle, offsets**2)
    shares = aggregate.counts / n
    value = float(weights @ shares)
    # W^2 has the mean noise + c^2, and c^2 has weights of its own. Both estimates are unbiased, and are limited to
    # possible values.
    seen, held = float(weights**2 @ shares), float(squares @ shares)
    noise = min(max(seen - held, least), most)
    spread = min(max(held - value**2, 0.0), float(np.ptp(scores)) ** 2 / 4)
    errors: dict[Target, float] = {
        "contributors": math.sqrt(noise / n + spread * max(0.0, 1 / n - 1 / contributors)),
        "population": math.sqrt(max(seen - value**2, noise) / n),
    }
    # Any frequencies with this mean will do.
    ends = offsets.argmin(), offsets.argmax()
    mean = np.zeros(oracle.k)
    mean[ends[1]] = min(max((value - offsets[ends[0]]) / max(float(np.ptp(offsets)), 1e-300), 0.0), 1.0)
    mean[ends[0]] += 1 - mean.sum()
    asked = bounded_sum([Sample(n, 1.0, partial(_added, oracle))], offsets, value, mean, whole=n == contributors)
    return Answer(
        value + centre,
        errors,
        question,
        n,
        sums=(asked.scaled(1.0, centre),),
        source=source,
        extent=(float(scores.min()), float(scores.max())),
        everyone=True,
    )


def _added(oracle: FrequencyOracle[Any], scores: Floats) -> Added:
    return listed_reports(oracle.weighing.report_means, functional_weights(oracle, scores))


def _checked_scores(scores: ArrayLike, k: int) -> Floats:
    try:
        given = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"scores must be {k} finite numbers (one for each value), got scores={quoted(scores)}"
        ) from None
    if given.shape != (k,) or not np.isfinite(given).all():
        wrong = (
            f"shape={given.shape}"
            if given.shape != (k,)
            else f"scores[{int(np.argmin(np.isfinite(given)))}]=nan or inf"
        )
        raise InvalidParameterError(f"scores must be {k} finite numbers (one for each value), got {wrong}")
    return given

"""Weights and complex samples: strata, clusters, finite populations, known totals, and replicate weights.

A report's score is an unbiased estimate of one person's truth, so every estimator of sampling theory works on scores.
The scores contain the noise of the device, so the variance between sampling units includes this noise once. The
correction for a finite population must not shrink the noise, so the module adds back the variance of the noise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, final, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_integer, checked_probability
from deniable.core.randomness import SimulationRandomness
from deniable.core.result import Result
from deniable.designs.design import Design
from deniable.designs.questionnaires import Figure
from deniable.errors import InvalidInputError, InvalidParameterError, quoted, unknown_name

Floats = NDArray[np.float64]
Method = Literal["linearized", "jackknife", "bootstrap"]

FEW_PEOPLE = 10
"""Fewest people who should share a stratum, a sampling unit and a weight."""

_RAKING_STEPS, _RAKED = 1000, 1e-12


class Margin(NamedTuple):
    """Known population totals of a variable that was asked openly.

    Attributes
    ----------
    values : sequence
        Value of each person.
    totals : mapping
        Number of people in the population with each value.
    """

    values: Sequence[Hashable]
    totals: Mapping[Hashable, float]


@final
@dataclass(frozen=True, eq=False)
class SampleEstimate(Result):
    """Weighted prevalence in a population.

    Attributes
    ----------
    prevalence : Figure
        Weighted mean score with its interval, never clipped.
    total : float
        Weighted sum of the scores, which is the number of carriers if the weights sum to the population.
    n, degrees : int
        Number of people, and degrees of freedom (number of sampling units minus number of strata).
    effective_n : float
        Size of a simple random sample with the same precision.
    design_effect : float
        Variance divided by the variance of a simple random sample of n people.
    method : {"linearized", "jackknife", "bootstrap"}
        Method for the variance.
    warnings : tuple of str
        Warnings, for instance about weights that identify people.
    """

    format = "deniable sample estimate"

    prevalence: Figure
    total: float
    n: int
    degrees: int
    effective_n: float
    design_effect: float
    method: Method
    warnings: tuple[str, ...]


class _Units(NamedTuple):
    """Codes of strata and sampling units: the stratum and unit of each person, and the stratum of each unit."""

    stratum: NDArray[np.intp]
    unit: NDArray[np.intp]
    of_unit: NDArray[np.intp]
    sizes: NDArray[np.intp]
    labels: list[Hashable]


def estimate_sample(
    design: Design,
    reports: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    strata: Sequence[Hashable] | None = None,
    psus: Sequence[Hashable] | None = None,
    fractions: Mapping[Hashable, float] | None = None,
    margins: Sequence[Margin] = (),
    method: Method = "linearized",
    repeats: int = 1000,
    rng: SimulationRandomness | None = None,
    confidence: float = 0.95,
) -> SampleEstimate:
    """Analyst: return the weighted prevalence of a complex sample, with its interval.

    The variance includes the noise of the device exactly once.

    Parameters
    ----------
    design : Design
        A design with two truths.
    reports : int[n]
        One report for each person.
    weights : float[n], optional
        Survey weights > 0, computed without the sensitive answer. By default 1.
    strata, psus : sequence, optional
        Stratum and primary sampling unit of each person. By default there is one stratum, and every person is a
        sampling unit of their own.
    fractions : mapping, optional
        Sampled fraction of each stratum, in [0, 1). By default 0.
    margins : sequence of Margin
        Known totals of variables that were asked openly. With one variable the weights are post-stratified, with
        several they are raked.
    method : {"linearized", "jackknife", "bootstrap"}
        Method for the variance. The jackknife and the bootstrap change the weights of the given reports; they randomise
        nothing again.
    repeats : int
        Number of bootstrap samples, >= 2.
    rng : SimulationRandomness, optional
        Source of random words for the bootstrap.
    confidence : float
        Coverage of the interval.

    Raises
    ------
    InvalidInputError
        If a column has a wrong length or a blank entry, a weight is not positive, or a stratum has only one sampling
        unit.
    InvalidParameterError
        If the design has more than two truths, or a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import designs
    >>> one_die, villages = designs.forced("1/6", "1/6"), [0, 0, 1, 1, 2, 2, 3, 3]
    >>> found = designs.estimate_sample(one_die, [0, 1, 0, 0, 1, 0, 0, 1], [1, 2, 1, 2, 1, 2, 1, 2], psus=villages)
    >>> round(found.prevalence.value, 3), found.degrees
    (0.375, 3)
    """
    confidence = checked_probability("confidence", confidence, open_interval=True)
    if design.k != 2:
        raise InvalidParameterError(
            f"a weighted prevalence needs a design with two possible true answers, got {quoted(design)}"
        )
    if method not in get_args(Method):
        raise unknown_name("method", method, get_args(Method))
    scores = design.score(reports)
    w, units = _checked_weights(weights, len(scores)), _units(strata, psus, len(scores))
    shares = _fractions(fractions, units)
    absent, present = (float(design.exact_noise(truth)) for truth in (0, 1))
    warnings = _rare(w, units)
    columns = [_column(margin, len(scores)) for margin in margins]
    calibrated = _raked(w, columns)
    mean = float(calibrated @ scores / calibrated.sum())
    relative = calibrated / calibrated.sum()
    if method == "linearized":
        between = _linearized(relative * _residuals(scores, mean, calibrated, columns), units, shares)
    elif method == "jackknife":
        between = _jackknife(scores, w, columns, units, shares, mean)
    else:
        if rng is None:
            raise InvalidParameterError("rng must be given for the bootstrap: pass SimulationRandomness(seed)")
        repeats = checked_integer("repeats", repeats, 2)
        between = _bootstrap(scores, w, columns, units, shares, mean, repeats, rng)
    noise = absent + (present - absent) * scores
    variance = max(between + float((shares[units.stratum] * relative**2) @ noise), 0.0)
    degrees = len(units.of_unit) - len(units.sizes)
    one = absent + (present - absent) * mean + mean * (1 - mean)
    # If the mean is impossible, the variance is taken at the nearest prevalence.
    if one <= 0:
        nearest = min(max(mean, 0.0), 1.0)
        one = absent + (present - absent) * nearest + nearest * (1 - nearest)
    effective = one / variance if variance > 0 else 1 / float(relative @ relative)
    return SampleEstimate(
        _score_interval(mean, math.sqrt(variance), effective, absent, present, degrees, confidence),
        float(calibrated @ scores),
        len(scores),
        degrees,
        effective,
        len(scores) / effective,
        method,
        warnings,
    )


def weighted_mean(
    scores: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    strata: Sequence[Hashable] | None = None,
    psus: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Figure:
    """Analyst: return the weighted mean of any scores, such as those of `CrosswiseAnchor.scores`.

    Parameters
    ----------
    scores : float[n]
        One score for each person.
    weights, strata, psus, confidence
        See `estimate_sample`.

    Raises
    ------
    InvalidInputError
        See `estimate_sample`.

    Examples
    --------
    >>> from deniable import designs
    >>> round(designs.weighted_mean([1.0, 0.0, 1.0, 0.0], [1, 1, 2, 2]).value, 3)
    0.5
    """
    given = np.asarray(scores, dtype=np.float64)
    w, units = _checked_weights(weights, len(given)), _units(strata, psus, len(given))
    mean = float(w @ given / w.sum())
    variance = _linearized(w / w.sum() * (given - mean), units, np.zeros(len(units.sizes)))
    half = _t(confidence, len(units.of_unit) - len(units.sizes)) * math.sqrt(variance)
    return Figure(mean, math.sqrt(variance), mean - half, mean + half)


# ---------------------------------------------------------------- the sample


def _checked_weights(weights: ArrayLike | None, n: int) -> Floats:
    try:
        found = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError("weights must be numbers, got something else") from None
    if found.shape != (n,) or not n:
        raise InvalidInputError(f"weights must have one number for each of {n} people, got shape={found.shape}")
    if not (np.isfinite(found).all() and (found > 0).all()):
        raise InvalidInputError("weights must be > 0 and finite; leave out people with weight 0")
    return found


def _units(strata: Sequence[Hashable] | None, psus: Sequence[Hashable] | None, n: int) -> _Units:
    in_stratum: Sequence[Hashable] = [0] * n if strata is None else list(strata)
    in_unit: Sequence[Hashable] = range(n) if psus is None else list(psus)
    for name, column in (("strata", in_stratum), ("psus", in_unit)):
        if len(column) != n:
            raise InvalidInputError(f"{name} must have one entry for each of the {n} people, got {len(column)}")
        blank = sum(label is None or label == "" or label != label for label in column)
        if blank:
            raise InvalidInputError(
                f"{name} must have a value for every person, but {blank:,} of {n:,} are blank; leave these people out"
            )
    labels = {label: h for h, label in enumerate(dict.fromkeys(in_stratum))}
    pairs = {pair: i for i, pair in enumerate(dict.fromkeys(zip(in_stratum, in_unit, strict=True)))}
    stratum = np.array([labels[label] for label in in_stratum])
    unit = np.array([pairs[pair] for pair in zip(in_stratum, in_unit, strict=True)])
    of_unit = np.array([labels[label] for label, _ in pairs])
    sizes = np.bincount(of_unit, minlength=len(labels))
    for label, size in zip(labels, sizes, strict=True):
        if size < 2:
            raise InvalidInputError(
                f"every stratum must have at least two sampling units, but the stratum {quoted(label)} has only "
                "one; join this stratum with a similar one"
            )
    return _Units(stratum, unit, of_unit, sizes, list(labels))


def _fractions(fractions: Mapping[Hashable, float] | None, units: _Units) -> Floats:
    given = dict(fractions or {})
    unknown = [label for label in given if label not in units.labels]
    if unknown:
        raise InvalidParameterError(f"fractions must name strata that contain people, got {quoted(unknown[0])}")
    found = np.array([checked_probability("fractions", given.get(label, 0.0)) for label in units.labels])
    if (found >= 1).any():
        raise InvalidParameterError(
            "fractions must be < 1, got 1; if everybody was asked, read the estimate for the contributors"
        )
    return found


def _rare(weights: Floats, units: _Units) -> tuple[str, ...]:
    cells = Counter(zip(units.unit.tolist(), weights.tolist(), strict=True))
    if len(units.of_unit) == len(weights):
        cells = Counter(zip(units.stratum.tolist(), weights.tolist(), strict=True))
    few = sum(count < FEW_PEOPLE for count in cells.values())
    if not few:
        return ()
    return (
        f"{few} of {len(cells)} cells of stratum, sampling unit and weight have fewer than {FEW_PEOPLE} people: "
        "a rare weight is a name. Store weight classes, or the sums of each cell.",
    )


# ---------------------------------------------------------------- known totals


class _Column(NamedTuple):
    codes: NDArray[np.intp]
    totals: Floats


def _column(margin: Margin, n: int) -> _Column:
    values, totals = margin
    if len(values) != n:
        raise InvalidInputError(f"every margin must have one value for each of the {n} people, got {len(values)}")
    order = {value: code for code, value in enumerate(totals)}
    missing = [value for value in dict.fromkeys(values) if value not in order]
    if missing:
        raise InvalidInputError(
            f"every margin must have a total for each of its values, but there is no total for the value "
            f"{quoted(missing[0])}"
        )
    codes = np.array([order[value] for value in values])
    absent = [value for value, code in order.items() if not (codes == code).any()]
    if absent:
        raise InvalidInputError(
            f"each value that has a total must occur among the people, but nobody has the value {quoted(absent[0])}; "
            "join rare values"
        )
    found = np.array([float(total) for total in totals.values()])
    if not (np.isfinite(found).all() and (found > 0).all()):
        raise InvalidInputError(
            "the total of each value in a margin must be a finite number > 0: correct the wrong totals, or "
            "leave out their values"
        )
    return _Column(codes, found)


def _raked(weights: Floats, columns: Sequence[_Column]) -> Floats:
    """Return weights that sum to the known totals, by iterative proportional fitting."""
    found = weights.copy()
    if columns and max(c.totals.sum() for c in columns) > (1 + 1e-9) * min(c.totals.sum() for c in columns):
        raise InvalidInputError(
            "the totals of each margin must sum to the same population, but the margins have different sums: correct "
            "the totals"
        )
    for _ in range(_RAKING_STEPS):
        worst = 0.0
        for codes, totals in columns:
            sums = np.bincount(codes, weights=found, minlength=len(totals))
            with np.errstate(divide="ignore", invalid="ignore"):
                factors = np.where(sums > 0, totals / sums, 1.0)
            worst = max(worst, float(np.abs(factors - 1).max()))
            found *= factors[codes]
        if worst <= _RAKED:
            return found
    raise InvalidInputError(
        "no weights fit all margins: raking (the weighting to margins) did not converge; join rare values"
    )


def _residuals(scores: Floats, mean: float, weights: Floats, columns: Sequence[_Column]) -> Floats:
    """Return scores minus the part that the margins explain, because known totals have no variance."""
    if not columns:
        return scores - mean
    marks = np.hstack([np.eye(len(totals))[codes] for codes, totals in columns])
    root = np.sqrt(weights)
    fitted = np.linalg.lstsq(marks * root[:, None], scores * root, rcond=None)[0]
    return scores - marks @ fitted


# ---------------------------------------------------------------- variances


def _linearized(z: Floats, units: _Units, fractions: Floats) -> float:
    totals = np.bincount(units.unit, weights=z, minlength=len(units.of_unit))
    centre = np.bincount(units.of_unit, weights=totals) / units.sizes
    squares = np.bincount(units.of_unit, weights=(totals - centre[units.of_unit]) ** 2)
    return float(((1 - fractions) * units.sizes / (units.sizes - 1)) @ squares)


def _mean(scores: Floats, weights: Floats, columns: Sequence[_Column]) -> float:
    kept = weights > 0
    raked = _raked(weights[kept], [_Column(codes[kept], totals) for codes, totals in columns])
    return float(raked @ scores[kept] / raked.sum())


def _jackknife(
    scores: Floats, weights: Floats, columns: Sequence[_Column], units: _Units, fractions: Floats, mean: float
) -> float:
    variance = 0.0
    for unit, h in enumerate(units.of_unit):
        size = units.sizes[h]
        factors = np.where(units.stratum == h, size / (size - 1), 1.0)
        factors[units.unit == unit] = 0.0
        moved = _mean(scores, weights * factors, columns) - mean
        variance += (1 - fractions[h]) * (size - 1) / size * moved**2
    return float(variance)


def _bootstrap(
    scores: Floats,
    weights: Floats,
    columns: Sequence[_Column],
    units: _Units,
    fractions: Floats,
    mean: float,
    repeats: int,
    rng: SimulationRandomness,
) -> float:
    """Return the bootstrap variance of Rao and Wu (1988), which draws n_h - 1 units of each stratum and rescales."""
    found = []
    for _ in range(repeats):
        factors = np.empty(len(units.of_unit))
        for h, size in enumerate(units.sizes):
            members = np.flatnonzero(units.of_unit == h)
            drawn = rng.generator.multinomial(size - 1, np.full(size, 1 / size))
            scale = math.sqrt(1 - fractions[h])
            factors[members] = 1 - scale + scale * drawn * size / (size - 1)
        found.append(_mean(scores, weights * factors[units.unit], columns))
    return float(((np.array(found) - mean) ** 2).mean())


def _t(confidence: float, degrees: int) -> float:
    from scipy import stats

    return float(stats.t.isf((1 - confidence) / 2, degrees))


def _score_interval(
    mean: float, error: float, n: float, absent: float, present: float, degrees: int, confidence: float
) -> Figure:
    """Return the interval of all prevalences that a test does not reject.

    The test of a prevalence uses the variance of n people at this prevalence.
    """
    t2 = _t(confidence, degrees) ** 2
    a = 1 + t2 / n
    b = mean + t2 * (present - absent + 1) / (2 * n)
    root = b * b - a * (mean * mean - t2 * absent / n)
    half = math.sqrt(root) / a if root > 0 else math.sqrt(t2) * error
    centre = b / a if root > 0 else mean
    return Figure(mean, error, centre - half, centre + half)

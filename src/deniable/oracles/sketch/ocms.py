"""OCMS: the optimised count-mean sketch, which chooses the number of cells and the hash family, and says why.

The choice is from Pan, *Improving Count-Mean Sketch as the Leading Locally Differentially Private Frequency Estimator
for Large Dictionaries* (IEEE CSF 2025), Theorems 3.6 and 3.8. There are two differences from the paper. First, the
number of cells is the better of the two integers around the optimum. The nearest integer costs up to 10%, or up to 4%
if any frequency may be near one. Second, the number of cells is chosen together with the family, because a family may
not admit every number. Spread admits only powers of two. They cost 1.4% on average and at most 7.7% if the mean error
over a dictionary counts. If any frequency may be near one, they cost 15% on average and up to 38%.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from deniable.core.checks import checked_integer
from deniable.core.thresholds import EpsilonLike, checked_epsilon, exact
from deniable.errors import InvalidParameterError, out_of_range, quoted
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.sketch.families.hash_range import Objective
from deniable.oracles.sketch.families.registry import FAMILIES, family_entry

Mode = Literal["l2", "mse"]

PREFERENCE = ("spread", "partition", "linear", "prime", "binary")
"""Families from the cheapest to decode to the dearest."""

QUERIED = ("prime", "binary")
"""Families that compare reports with values. They need no histogram, so its size does not matter."""

TOLERANCE = Fraction(1, 10)
"""Relative excess over the best family's variance that a cheaper family may have. Spread stays below it for all f* <=
0.1."""

MAX_COUNTERS = 1 << 26
"""Largest histogram that is chosen without being asked for (256 MiB)."""


MAX_PARTITION_CELLS = 1 << 10
"""Largest m of the partition family that is chosen by default. A report costs its collector about 10 m additions."""


@dataclass(frozen=True)
class SketchOption:
    """One family of hash functions with its best number of cells.

    Parameters
    ----------
    family : str
        Name of the family.
    m : int
        Best number of cells.
    variance : float
        Variance of an estimated frequency with one contributor. Divide it by n for n contributors. In mode "l2" it is
        the mean over the k values, in mode "mse" the largest variance for frequencies up to f*. It is computed from the
        implemented thresholds and the exact collision probability.
    excess : float
        Relative excess of the variance over the least variance that is possible if m can be any real number and two
        values collide with probability 1/m. It is negative in small domains, where values collide less often.
    report_bits : float
        Bits per report.
    state_size : int
        Number of counters that the collector keeps.
    """

    family: str
    m: int
    variance: float
    excess: float
    report_bits: float
    state_size: int


@dataclass(frozen=True)
class SketchChoice:
    """The chosen count-mean sketch, the reason, and all options; `ocms_choice` returns it.

    Parameters
    ----------
    mechanism : CountMeanSketch
        The sketch.
    reason : str
        Reason for the family and the number of cells.
    options : tuple of SketchOption
        Every family that was compared, in the order of preference.
    """

    mechanism: CountMeanSketch
    reason: str
    options: tuple[SketchOption, ...]


def ocms_choice(
    k: int, epsilon: EpsilonLike, mode: Mode = "l2", max_frequency: float | Fraction | None = None
) -> SketchChoice:
    """Return the best count-mean sketch: its family, its number of cells, and the reason.

    The families are tried in the order of their decoding cost. The function chooses the first family whose variance is
    at most 10% above the variance of the best family.

    Parameters
    ----------
    k : int
        Domain size, >= 2.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, in [1e-6, 32].
    mode : {"l2", "mse"}
        Error to minimise. "l2" is the mean squared error over all values, which also bounds the l1 error. "mse" is the
        mean squared error of the worst value.
    max_frequency : float or Fraction, optional
        For mode "mse": a bound f* in [0, 1] that no frequency exceeds. The default 1 allows all frequencies. A pilot
        can find a bound (`max_frequency_bound`).

    Returns
    -------
    SketchChoice
        The chosen sketch, the reason, and the options of all families.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, or no family allows a domain of this size.

    Examples
    --------
    >>> print(ocms_choice(10**6, 1.0).reason)
    spread with m=4: 0.2% above the least possible mean variance (m=3.72); one integer per report, and one transform \
decodes all values
    """
    objective = _objective(checked_integer("k", k, 2), epsilon, mode, max_frequency)
    sketches = {name: sketch for name in PREFERENCE if (sketch := _best_sketch(name, k, epsilon, objective))}
    if not sketches:
        largest = max(family_entry(name).largest_domain for name in FAMILIES)
        raise out_of_range("k", f"<= {largest}", k)
    ideal = float(objective.cost(Fraction(objective.best_real)))
    options = tuple(_option(sketch, objective, ideal) for sketch in sketches.values())
    least = min(option.variance for option in options)
    chosen = next(option for option in options if option.variance <= least * float(1 + TOLERANCE))
    return SketchChoice(sketches[chosen.family], _reason(chosen, options, objective, mode), options)


def OCMS(  # noqa: N802 (the field's name)
    k: int, epsilon: EpsilonLike, mode: Mode = "l2", max_frequency: float | Fraction | None = None
) -> CountMeanSketch:
    """Optimised count-mean sketch: the family and the number of cells that `ocms_choice` chooses.

    Parameters
    ----------
    k : int
        Domain size, >= 2.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, in [1e-6, 32].
    mode : {"l2", "mse"}
        Error to minimise: "l2" is the mean squared error over all values, "mse" is the mean squared error of the worst
        value.
    max_frequency : float or Fraction, optional
        For mode "mse": a bound f* in [0, 1] that no frequency exceeds. The default is 1.

    Returns
    -------
    CountMeanSketch
        The sketch with the chosen family and m. Its name in specifications is "CMS".

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> OCMS(k=10**6, epsilon=2.0)
    CountMeanSketch(k=1000000, epsilon=2.0, m=8, family='spread')
    >>> OCMS(k=10**6, epsilon=2.0, mode="mse", max_frequency=0.01).family
    'spread'
    >>> OCMS(k=10**6, epsilon=1.0, mode="mse").m
    3
    """
    return ocms_choice(k, epsilon, mode, max_frequency).mechanism


def _objective(k: int, epsilon: EpsilonLike, mode: str, max_frequency: float | Fraction | None) -> Objective:
    if mode not in ("l2", "mse"):
        raise InvalidParameterError(f'mode must be "l2" or "mse", got mode={quoted(mode)}')
    if mode == "l2":
        if max_frequency is not None:
            raise InvalidParameterError(
                f'max_frequency works only with mode="mse", got max_frequency={quoted(max_frequency)}: leave out '
                "max_frequency",
                parameters=("max_frequency",),
            )
        return Objective.mean(k, epsilon)
    bound = Fraction(1) if max_frequency is None else exact(max_frequency, "max_frequency")
    if not 0 <= bound <= 1:
        raise out_of_range("max_frequency", "in [0, 1]", max_frequency)
    return Objective.worst_case(bound, epsilon)


def _best_sketch(family: str, k: int, epsilon: EpsilonLike, objective: Objective) -> CountMeanSketch | None:
    """Return the family's best sketch, or None if it has no sketch of practical size."""
    entry = family_entry(family)
    if k > entry.largest_domain:
        return None
    try:
        sketch = CountMeanSketch(k, checked_epsilon(epsilon), objective.best(entry.cells_around), family)
    except InvalidParameterError:
        return None
    if family in QUERIED:
        return sketch
    slow = family == "partition" and sketch.hashes.m > MAX_PARTITION_CELLS
    return None if slow or sketch.state_size > MAX_COUNTERS else sketch


def _option(sketch: CountMeanSketch, objective: Objective, ideal: float) -> SketchOption:
    assert sketch.m is not None
    variance = max(sketch.variance(float(f), 1) for f in objective.frequencies)
    excess = variance / ideal - 1
    return SketchOption(sketch.family, sketch.m, variance, excess, sketch.report_bits, sketch.state_size)


def _reason(chosen: SketchOption, options: tuple[SketchOption, ...], objective: Objective, mode: str) -> str:
    what = "mean" if mode == "l2" else "worst-case"
    ideal = f"the least possible {what} variance"
    if chosen.excess < 0:
        # The formula of the best m is for domains in which answers collide.
        ideal = f"the least {what} variance with collisions, of which so small a domain has fewer"
    parts = [f"{chosen.family} with m={chosen.m}: {_above(chosen)} {ideal} (m={objective.best_real:.2f})"]
    passed = options[: options.index(chosen)]
    parts += [f"{one.family} could only have m={one.m}, {_above(one)} it" for one in passed]
    return "; ".join(filter(None, [*parts, family_entry(chosen.family).remark]))


def _above(option: SketchOption) -> str:
    return f"{abs(option.excess):.1%} {'above' if option.excess >= 0 else 'below'}"

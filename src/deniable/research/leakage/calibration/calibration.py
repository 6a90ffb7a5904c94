"""Calibration: the largest budgets that keep what everybody's release says about each attribute below a cap.

Source: *The Hidden Cost of Correlation* (2025), eq. (30), which calibrates by the additive figure (6). That figure is
not a bound: at its budgets, the exact total can exceed the cap. It is offered for comparison, and all its results say
so. The other criteria are guarantees. Erratum: signed gradient steps can stop at infeasible budgets. Here the search
ends on the safe side.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR, Context, Decimal
from typing import ClassVar

from numpy.typing import ArrayLike
from scipy import optimize

from deniable.core.result import HIDDEN, OPTIONAL, Result
from deniable.core.thresholds import EPSILON_MAX, EpsilonLike, checked_epsilon, exact
from deniable.errors import InvalidParameterError, TooLargeError, out_of_range
from deniable.leakage.prior.correlation import Leakage
from deniable.leakage.prior.distributions import Floats
from deniable.leakage.prior.pairwise import own_deltas
from deniable.leakage.prior.tree import TreePrior
from deniable.leakage.totals.deltas import composed_delta, worst_deltas
from deniable.leakage.totals.total import ADDITIVE_LABEL
from deniable.oracles.grr import GRR
from deniable.research.leakage.calibration.criteria import (
    Blocks,
    Criterion,
    Epsilon,
    Figure,
    MechanismFactory,
    additive_deltas,
    checked_prior,
    figure_of,
    releases_of,
    sizes_of,
)

ADDITIVE_WARNING = (
    f"no guarantee: the {ADDITIVE_LABEL} can lie below the true total, also where every pair of attributes is "
    "independent"
)

_SLACK = 1e-13
"""Relative rounding error granted to a figure in double precision."""

STATED = "for an adversary whose prior is the stated joint distribution"
_ANY = "for any joint distribution"


@dataclass(frozen=True, eq=False)
class Calibration(Result):
    """Budgets and what they guarantee, as `calibrate` and `calibrate_unequal` return them.

    Parameters
    ----------
    epsilons : tuple of float or Fraction
        Budget of every attribute, in nats.
    caps : tuple of float
        Cap on the criterion's figure about every attribute.
    criterion : {"exact", "blocks", "prior-free", "additive"}
        Criterion of the calibration.
    figures : float64[d]
        Figures of the criterion at these budgets. Additive figures are not bounds.
    exact : float64[d] or None
        Exact totals at these budgets under the stated prior. None if they cannot be computed.
    totals : tuple of Leakage
        Total of every attribute: exact if it was computed, otherwise the best known bound.
    mechanism : str
        Name of the mechanism, or "any mechanism".
    caveat : str
        Name of the prior for which the figures hold, or the warning that they are not bounds.
    delta : float
        Delta of each release. The totals have their own deltas.
    figure_deltas : float64[d] or None
        Deltas of the additive figures, which are not bounds either. None for other criteria and without a delta.
    """

    also: ClassVar = {"is_guarantee": "is_guarantee", "figures_are": "figures_are"}

    epsilons: tuple[Epsilon, ...]
    caps: tuple[float, ...]
    criterion: Criterion
    figures: Floats
    exact: Floats | None = field(metadata=HIDDEN)
    totals: tuple[Leakage, ...]
    mechanism: str
    caveat: str
    delta: float = field(default=0.0, metadata=OPTIONAL)
    figure_deltas: Floats | None = field(default=None, metadata=HIDDEN)

    @property
    def is_guarantee(self) -> bool:
        """Return whether the caps are proved to hold for the stated prior.

        It is False for the additive criterion, and for a tree that was fitted to data.
        """
        if self.criterion in ("additive", "prior-free"):
            return self.criterion == "prior-free"
        return all(total.status != "assumption" for total in self.totals)

    @property
    def figures_are(self) -> str:
        """Return the kind of `figures`: a guarantee, figures under an assumption, or additive figures."""
        if self.criterion == "additive":
            return ADDITIVE_LABEL
        return "guarantee" if self.is_guarantee else "figure under an assumption"

    def __str__(self) -> str:
        budgets = sorted(set(map(float, self.epsilons)))
        span = f"{budgets[0]:.6g}" if len(budgets) == 1 else f"{budgets[0]:.6g} to {budgets[-1]:.6g}"
        delta = f", delta {self.delta:.3g}" if self.delta else ""
        lines = [
            f"epsilon {span}{delta} for each of {len(self.epsilons)} attributes, {self.mechanism}, criterion "
            f"{self.criterion}",
            f"  largest {self.figures_are}: {self.figures.max():.6g} of {_shown_caps(self.caps)}; {self.caveat}",
        ]
        largest = max(self.totals, key=lambda total: total.epsilon)
        lines.append(f"  largest total: {largest}")
        return "\n".join(lines)


def calibrate(
    joint: ArrayLike | TreePrior,
    epsilon_total: float,
    criterion: Criterion = "exact",
    mechanism: MechanismFactory | None = GRR,
    blocks: Blocks | None = None,
    *,
    delta: float = 0.0,
) -> Calibration:
    """Return the largest common budget that keeps every attribute's figure at or below epsilon_total.

    The figure of the criterion rises with the budget. The search ends just below the cap and rounds the budget down to
    nine digits. If a mechanism changes its form with epsilon (the size of a subset, the width of a sketch), the figure
    may jump. The returned budget always meets the cap. If the figure jumps, a larger budget may meet the cap, too.

    Parameters
    ----------
    joint : float[k_1, ..., k_d] or TreePrior
        Prior of the adversary. For "prior-free" only its shape matters.
    epsilon_total : float
        Cap on the total leakage about every attribute, in nats.
    criterion : {"exact", "blocks", "prior-free", "additive"}
        Figure to keep below the cap. "exact": exact totals. "blocks": direct leakage plus the joint CPL of all other
        attributes, or plus the joint CPL of each block. The blocks of a tree prior are its branches. "prior-free": the
        sum of all epsilons. "additive": direct leakage plus the sum of pairwise leakages, which is not a bound.
    mechanism : callable (k, epsilon) -> mechanism, or None
        Function that returns the mechanism of an attribute. None stands for any mechanism with these epsilons
        (Algorithm 2); it cannot be used with "exact".
    blocks : partition of the attributes, or mapping from each attribute to a partition of the others; optional
        For "blocks": parts of the other attributes that are independent given the attribute. This is checked on the
        joint distribution.
    delta : float
        Delta of each release for events, for any mechanism. The budgets are the same as for delta = 0. Each total has
        the smallest delta that is known to be valid together with its epsilon.

    Raises
    ------
    InvalidParameterError
        If `epsilon_total` is not positive and finite, or the criterion does not fit the other arguments. Also if
        `delta` is not 0 although a mechanism is given.
    TooLargeError
        If exact totals cannot be computed. The message names the size and the alternatives.

    Examples
    --------
    >>> import numpy as np
    >>> xor = np.zeros((2, 2, 2))
    >>> xor[0, 0, 0] = xor[0, 1, 1] = xor[1, 0, 1] = xor[1, 1, 0] = 0.25
    >>> print(calibrate(xor, 1.0))
    epsilon 0.74494 for each of 3 attributes, GRR, criterion exact
      largest guarantee: 1 of 1; for an adversary whose prior is the stated joint distribution
      largest total: 1.0000 (exact; for an adversary whose prior is the stated joint distribution)
    >>> wrong = calibrate(xor, 1.0, "additive")
    >>> wrong.is_guarantee, wrong.epsilons[0], float(wrong.exact.max().round(4))
    (False, 1.0, 1.4338)
    """
    prior = checked_prior(joint)
    cap = checked_cap("epsilon_total", epsilon_total)
    d = len(sizes_of(prior))
    if delta:
        own_deltas(delta, releases_of(sizes_of(prior), mechanism)([cap / d] * d))
    figure = figure_of(prior, criterion, mechanism, blocks)
    if criterion == "prior-free":
        common: Epsilon = checked_epsilon(exact(epsilon_total) / d)
    else:
        common = largest_below(lambda epsilon: float(figure([epsilon] * d).max()), cap, cap / d, cap)
    found = finished(prior, [common] * d, [cap] * d, criterion, mechanism, figure)
    return _with_delta(found, prior, delta) if delta else found


def largest_below(
    figure: Callable[[float], float], cap: float, low: float, high: float, limit: float = float(EPSILON_MAX)
) -> float:
    """Return the largest x in [low, limit] with figure(x) <= cap, from below, rounded down to nine digits.

    `figure` must rise. That figure(low) <= cap is known in advance and not evaluated. The search begins at `high`.
    """
    tried: dict[float, float] = {low: -cap}

    def excess(x: float) -> float:
        if x not in tried:
            tried[x] = figure(x) - cap * (1 + _SLACK)
        return tried[x]

    high = min(high, limit)
    while excess(high) <= 0:
        # Either nearly the whole cap is used, or a mechanism spends less than it declares and the search goes further
        # up.
        if -1e-9 * cap < excess(high) or high >= limit:
            return high
        high = min(2 * high, limit)
    excess(max(low, rounded_down(optimize.brentq(excess, low, high, xtol=1e-11 * high, rtol=1e-11))))
    over = min(x for x, value in tried.items() if value > 0)
    below = max(x for x, value in tried.items() if value <= 0 and x <= over)
    while over - below > 2e-9 * over:
        # The middle is not rounded: nine digits can be coarser than the bracket, and the middle would then always be
        # its lower end.
        middle = (below + over) / 2
        below, over = (middle, over) if excess(middle) <= 0 else (below, middle)
    tidy = rounded_down(below)
    return tidy if excess(tidy) <= 0 else below


def rounded_down(epsilon: float) -> float:
    """Return the largest decimal of nine significant digits that is <= epsilon.

    Examples
    --------
    >>> rounded_down(0.7449400628223746)
    0.744940062
    """
    return float(Context(prec=9, rounding=ROUND_FLOOR).create_decimal(Decimal(epsilon)))


def finished(
    prior: Floats | TreePrior,
    epsilons: Sequence[Epsilon],
    caps: Sequence[float],
    criterion: Criterion,
    mechanism: MechanismFactory | None,
    figure: Figure,
) -> Calibration:
    """Return the calibration at these budgets, with exact totals if they can be computed."""
    figures = figure(epsilons)
    exact_totals: Floats | None = figures if criterion == "exact" else None
    if criterion != "exact" and mechanism is not None:
        with contextlib.suppress(TooLargeError, InvalidParameterError):
            exact_totals = figure_of(prior, "exact", mechanism)(epsilons)
    fitted = isinstance(prior, TreePrior) and prior.fitted
    relative = f"{STATED}, and if attributes depend on each other along the fitted tree only" if fitted else STATED
    caveat = {"additive": ADDITIVE_WARNING, "prior-free": _ANY}.get(criterion, relative)
    if exact_totals is not None:
        totals = [Leakage(float(total), "assumption" if fitted else "exact", relative) for total in exact_totals]
    elif criterion == "blocks":
        totals = [Leakage(float(total), "assumption" if fitted else "upper bound", relative) for total in figures]
    else:
        totals = [Leakage(math.fsum(map(float, epsilons)), "upper bound", _ANY)] * len(epsilons)
    name = "any mechanism" if mechanism is None else str(getattr(mechanism, "name", mechanism))
    return Calibration(tuple(epsilons), tuple(caps), criterion, figures, exact_totals, tuple(totals), name, caveat)


def _with_delta(found: Calibration, prior: Floats | TreePrior, delta: float) -> Calibration:
    """Return the calibration with the delta of each release, and of each total."""
    d = len(found.epsilons)
    if all(total.note == _ANY for total in found.totals):
        totals = [replace(total, delta=composed_delta([delta] * d)) for total in found.totals]
    else:
        joint = None if isinstance(prior, TreePrior) else prior
        budgets = [float(epsilon) for epsilon in found.epsilons]
        deltas = worst_deltas(
            joint, sizes_of(prior), budgets, [delta] * d, [total.epsilon for total in found.totals]
        ).deltas
        totals = [replace(total, delta=float(one)) for total, one in zip(found.totals, deltas, strict=True)]
    added = additive_deltas(prior, found.epsilons, delta) if found.criterion == "additive" else None
    return replace(found, totals=tuple(totals), delta=delta, figure_deltas=added)


def checked_cap(name: str, cap: EpsilonLike) -> float:
    """Return a cap as float, or raise InvalidParameterError unless it is positive and finite."""
    value = float(exact(cap, name))
    if not value > 0:
        raise out_of_range(name, "> 0", value)
    return value


def _shown_caps(caps: Sequence[float]) -> str:
    return f"{caps[0]:.6g}" if len(set(caps)) == 1 else f"caps {min(caps):.6g} to {max(caps):.6g}"

"""Loss of a second phase compared with the default on the same people, before anybody reports in it.

None of the mechanisms that learn their tables is known to beat sampling one attribute (docs/choosing.md). The loss is
large if the learned table is nearly singular. So the loss is computed for the given collection, from the unbiased
estimate of one simulated phase. The simulated answers have the frequencies that phase one found, and are independent of
each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.randomness import SimulationRandomness
from deniable.core.thresholds import EpsilonLike
from deniable.errors import DeniableError
from deniable.planning.precision import attribute_variance, mean_variance
from deniable.planning.records import records_default
from deniable.planning.two_phase import corr_rr_plan
from deniable.records.phases.two_phase import clipped, unbiased

_N, _SEED = 10_000, 1
"""Number of simulated contributors, and seed. Standard errors are then within a few percent of those of many more
contributors."""

NOT_DETERMINED = (
    "how much precision this phase loses, compared with the default mechanism on the same people, is not determined"
)


def second_phase_loss(mechanism: Any, frequencies: Sequence[ArrayLike]) -> float:
    """Return the mean variance of a phase's unbiased estimates, divided by the variance of the default mechanism.

    Parameters
    ----------
    mechanism : RecordMechanism
        Mechanism of the phase, for instance from `learn`.
    frequencies : sequence of float64[k_j]
        Assumed frequencies, for instance phase one's estimates, which are clipped to distributions.

    Returns
    -------
    float
        Ratio for the same people. Both variances include noise and sampling, and are averaged over values and then
        attributes. NaN if the phase has no unbiased estimate, or its errors are infinite.

    Examples
    --------
    >>> from deniable import CorrRR
    >>> copies = CorrRR((4, 4), epsilon=1.0, copy_probabilities=((1.0, 0.4), (0.4, 1.0)))
    >>> loss = second_phase_loss(copies, [[0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25]])
    >>> 1 < loss < 20
    True
    """
    try:
        return _loss(mechanism, frequencies, records_default(mechanism.domain, mechanism.epsilon).mechanism)
    except DeniableError:
        return math.nan


def _loss(mechanism: Any, frequencies: Sequence[ArrayLike], usual: Any) -> float:
    shares = [clipped(np.asarray(one, dtype=np.float64)) for one in frequencies]
    rng = SimulationRandomness(_SEED)
    drawn = [rng.generator.choice(len(share), _N, p=share) for share in shares]
    estimates = unbiased(mechanism.aggregate(mechanism.randomize(np.column_stack(drawn), rng)))
    if not all(one.is_raw for one in estimates.values()):
        return math.nan
    ours = float(np.mean([np.mean(one.standard_errors_for("population") ** 2) for one in estimates.values()]))
    default = float(
        np.mean(
            [
                np.mean([attribute_variance(usual, j, f, _N) + f * (1 - f) / _N for f in share])
                for j, share in enumerate(shares)
            ]
        )
    )
    return ours / default if math.isfinite(ours) else math.nan


def loss_text(mechanism: Any, frequencies: Sequence[ArrayLike]) -> str:
    """Return `second_phase_loss` as a sentence.

    Examples
    --------
    >>> from deniable import SPL
    >>> "2.3 times the variance of SMP" in loss_text(SPL(sizes=(4, 4), epsilon=1.0), [[0.25] * 4] * 2)
    True
    """
    try:
        usual = records_default(mechanism.domain, mechanism.epsilon).mechanism
        loss = _loss(mechanism, frequencies, usual)
    except DeniableError:
        return NOT_DETERMINED
    if math.isnan(loss):
        return NOT_DETERMINED
    times = f"{loss:.2g}" if loss < 100 else f"{float(f'{loss:.2g}'):,.0f}"
    return (
        f"predicted: unbiased estimates of this phase have {times} times the variance of {usual.name}, the default, on "
        "the same people"
    )


def two_phases_text(sizes: Sequence[int], epsilon: EpsilonLike, contributors: int) -> str:
    """Return a sentence that compares Corr-RR's two phases with the default mechanism, before phase one.

    The tables of phase two are not learned yet. The sentence assumes the best tables, as `corr_rr_plan` does, and so
    flatters Corr-RR.

    Examples
    --------
    >>> "5.8 times the squared error of SMP" in two_phases_text((4, 4), 1.0, 10_000)
    True
    """
    plan = corr_rr_plan(sizes, epsilon, contributors)
    usual = records_default(sizes, epsilon).mechanism
    return (
        f"predicted: both phases together have {plan.mse / mean_variance(usual, contributors):.2g} times the squared "
        f"error of {usual.name}, the default, on the same people, at best"
    )

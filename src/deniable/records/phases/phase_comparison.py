"""Where phases together are less precise than one of them alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deniable.core.estimate import Estimate, RecordEstimate

TOLERANCE = 1.01
"""Standard errors that differ by less than this factor are alike."""


def worse_together(phases: Sequence[RecordEstimate], together: RecordEstimate) -> tuple[str, ...]:
    """Return a sentence for every attribute whose combined standard error is larger than the best phase's alone.

    Compared are standard errors for the population, root mean square over the categories: those for the contributors
    would be about other people in every phase. Nothing is said where the combination has none.
    """
    found = []
    for name, both in together.items():
        error = _error(both)
        alone = [_error(part[name]) for part in phases]
        best = int(np.argmin([one if np.isfinite(one) else np.inf for one in alone]))
        if np.isfinite(error) and error > TOLERANCE * alone[best]:
            found.append(
                f"{name}: the standard error is {error:.2g} for all phases together by counts, and {alone[best]:.2g} "
                f"for phase {best + 1} alone: read that phase alone, or give it more of the weight"
            )
    return tuple(found)


def _error(estimate: Estimate) -> float:
    return float(np.sqrt(np.mean(estimate.standard_errors_for("population") ** 2)))

"""Tables that are decoded to their margins."""

from __future__ import annotations

import numpy as np

from deniable.core.projection import nearest_distribution
from deniable.records.dependence import decoding as decoder


def test_margins_are_fitted_thirty_times() -> None:
    """If a cell is zero and another nearly zero, alternate fitting is slow: 29 or 31 times would show."""
    rows, columns = np.array([0.51, 0.49]), np.array([0.5, 0.5])
    certain = np.zeros(len(decoder._TAU2))
    certain[-1] = 1.0
    interaction = decoder._Interaction(np.array([[0.252, -0.252], [-0.252, 0.252]]), np.ones((2, 2)), 1e-9)
    start = nearest_distribution((np.outer(rows, columns) + interaction.raw).ravel()).reshape(2, 2)
    fits = [start]
    for _ in range(31):
        fitted = fits[-1] * (rows / fits[-1].sum(axis=1))[:, None]
        fits.append(fitted * columns / fitted.sum(axis=0))
    found = decoder._decoded_table(interaction, certain, rows, columns).frequencies
    assert [sweeps for sweeps, one in enumerate(fits) if np.abs(one - found).max() < 1e-6] == [30]

"""Two waves of a survey for comparison."""

from __future__ import annotations

import numpy as np

from deniable import Aggregate, Attribute, Collection, Schema, SimulationRandomness
from deniable.records import AdaptiveSMP

WAVES = Schema(
    (
        Attribute("vote", ("Red", "Green", "Blue, or none"), missing="no answer", title="Whom would you vote for?"),
        Attribute("stars", ("1", "2", "3", "4", "5"), kind="ordered"),
        Attribute("colour", ("a", "b")),
    )
)
"""Questions of the two waves."""

Wave = tuple[Collection, Aggregate]


def wave_of(name: str, seed: int, votes: tuple[float, ...]) -> Wave:
    """Return a wave of 9,000 people; these shares vote for each party, or do not answer."""
    survey = Collection(WAVES, AdaptiveSMP(WAVES.sizes, 2.0), title=name)
    rng = np.random.default_rng(seed)
    records = np.column_stack(
        [rng.choice(4, 9000, p=votes), rng.choice(5, 9000, p=(0.1, 0.1, 0.2, 0.3, 0.3)), rng.integers(0, 2, 9000)]
    )
    return survey, survey.aggregate(survey.randomize(records, SimulationRandomness(seed)))


def two_waves() -> tuple[Wave, Wave]:
    """May and June."""
    return wave_of("May", 1, (0.5, 0.3, 0.15, 0.05)), wave_of("June", 2, (0.4, 0.4, 0.15, 0.05))

"""Cross tables for reports."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable import Attribute, Schema, SimulationRandomness
from deniable.answers import crosstabs, summarize_crosstab
from deniable.answers.crosstab_summary import CrosstabSummary
from deniable.planning.default import collection


def summary(n: int, strength: float, epsilon: float = 3.0) -> CrosstabSummary:
    """Two teams, one of which is more content, by `strength`; and a question that is independent of both."""
    schema = Schema(
        (Attribute("team", ("sales", "labs")), Attribute("content", ("yes", "no")), Attribute("coin", ("a", "b")))
    )
    survey = collection(schema, epsilon, pairs=True, title="<b>Staff")
    mechanism: Any = survey.mechanism
    generator = np.random.default_rng(4)
    team, coin = generator.integers(0, 2, n), generator.integers(0, 2, n)
    content = (generator.random(n) > 0.5 + strength * (0.5 - team)).astype(int)
    reports = mechanism.randomize(np.stack([team, content, coin], axis=1), SimulationRandomness(2))
    table = crosstabs(survey, survey.aggregate(reports))["team", "content"]
    return summarize_crosstab(table, survey.privacy(), title=survey.title, collection=survey.id)

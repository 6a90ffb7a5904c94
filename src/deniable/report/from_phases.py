"""From several phases to one `Summary`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from deniable.estimate import RecordEstimate
from deniable.multi.phases import Phases
from deniable.report.from_estimates import summarize
from deniable.report.summary import Summary


def summarize_phases(phases: Phases, estimates: RecordEstimate, **options: Any) -> Summary:
    """Analyst: collect what tables, pictures and pages show about all phases of a survey together.

    Parameters
    ----------
    phases : Phases
        Where the reports came from; its guarantee is shown first, and says who took part where.
    estimates : RecordEstimate
        What ``phases.estimate`` returned, or a post-processed version of it.
    **options
        As `summarize` takes them: confidence, target, simultaneous, truth, ...

    Examples
    --------
    >>> from deniable import SPL, Attribute, Collection, Schema, SimulationRandomness
    >>> from deniable.multi.phases import next_phase
    >>> import numpy as np
    >>> rng, answers = SimulationRandomness(1), np.array([[0, 0], [0, 1], [1, 1]] * 100)
    >>> schema = Schema((Attribute("smokes", ("no", "yes")), Attribute("drinks", ("no", "yes"))))
    >>> first = Collection(schema, SPL(sizes=(2, 2), epsilon=1.0))
    >>> first_reports = first.aggregate(first.randomize(answers, rng))
    >>> second = next_phase(first, first_reports, contributors=300)
    >>> second_reports = second.aggregate(second.randomize(answers, rng))
    >>> phases = Phases(((first, first_reports), (second, second_reports)))
    >>> summarize_phases(phases, phases.estimate()).mechanism_text
    'SPL, then Corr-RR'
    """
    last, _ = phases.parts[-1]
    summary = summarize(
        estimates, mechanism=last.mechanism, n=phases.n, title=last.title, collection=last.id, **options
    )
    earlier = tuple(collection.mechanism.name for collection, _ in phases.parts[:-1])
    return replace(summary, guarantee=phases.privacy(), earlier=earlier)

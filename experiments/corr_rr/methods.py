"""Methods that are compared: all on the same contributors, raw and with the same post-processing.

* ``SPL``: each attribute by GRR with epsilon/d; ``SMP``: one attribute with all of epsilon, and its index;
* ``RS+FD``: one attribute with all of epsilon, and uniform fakes for the others;
* ``RS+RFD``: fakes from phase one's marginals; ``RS+RFD clipped``: phase two clipped to [0, 1] and normalised before
  the phases are combined, as the paper's numbers need; ``RS+RFD truth``: one phase with the true frequencies as priors,
  which are unknown in practice (preprint only);
* ``Corr-RR``: copy probabilities pair by pair; ``Corr-RR joint``: by the joint optimum, for more than two attributes;
  ``Corr-RR preprint``: by the preprint's rule; ``Corr-RR copying``: copies always;
* ``default``: the library's recommendation; ``phase one``: the estimate from phase one alone; ``uniform``: 1/k.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from deniable import RSFD, SMP, SPL, Aggregate, CorrRR, RecordEstimate, SimulationRandomness, recommend
from deniable.postprocess import hierarchical, simplex
from deniable.records import RSRFD, combine
from experiments.corr_rr.populations import Floats, People

DEFAULT = "default|hierarchical"
"""Name of the default's line: the mechanism from `recommend`, with the hierarchical decoder."""


class Setting(NamedTuple):
    """One survey.

    Parameters
    ----------
    epsilon : float
        Budget of the whole record.
    n1 : int
        Contributors of phase one.
    known_priors : bool
        Whether RS+RFD is also run with the true frequencies as priors.
    """

    epsilon: float
    n1: int
    known_priors: bool = False


def copying(first: Aggregate, _: int) -> CorrRR:
    """Return Corr-RR that always copies, as both rules do for marginals that are exactly equal."""
    sizes = first.mechanism.sizes
    return CorrRR(sizes, first.mechanism.epsilon, ((1.0,) * len(sizes),) * len(sizes))


COPIES: dict[str, Callable[[Aggregate, int], CorrRR]] = {
    "Corr-RR": CorrRR.learn,
    "Corr-RR joint": lambda first, n2: CorrRR.learn(first, n2, "joint"),
    "Corr-RR preprint": lambda first, n2: CorrRR.learn(first, n2, rule="preprint"),
    "Corr-RR copying": copying,
}
"""Methods to find P from phase one. Draws depend on their order: add new ones at the end, or older results change."""
RULES = ("Corr-RR", "Corr-RR preprint")
"""Names of Corr-RR with the rules of the two papers."""

Collect = Callable[[Any, People, SimulationRandomness], Aggregate]
"""(mechanism, contributors, randomness) -> aggregate."""


def simulated(mechanism: Any, group: People, rng: SimulationRandomness) -> Aggregate:
    """Draw the aggregate from its exact distribution, without making reports."""
    if isinstance(mechanism, SPL):
        return mechanism.simulate_aggregate(group.marginal_counts, rng)
    aggregate: Aggregate = mechanism.simulate_aggregate(group.records, group.counts, rng)
    return aggregate


def reported(mechanism: Any, group: People, rng: SimulationRandomness) -> Aggregate:
    """Randomise each record and count the reports, which is slow and has the same distribution."""
    aggregate: Aggregate = mechanism.aggregate(mechanism.randomize(np.repeat(group.records, group.counts, axis=0), rng))
    return aggregate


def estimates(
    group: People, setting: Setting, rng: SimulationRandomness, collect: Collect = simulated
) -> dict[str, RecordEstimate]:
    """Collect from the same contributors with all methods; return each estimate before post-processing."""
    sizes, epsilon = group.sizes, setting.epsilon
    mechanisms = {
        "SPL": SPL(sizes, epsilon),
        "SMP": SMP(sizes, epsilon),
        "RS+FD": RSFD(sizes, epsilon),
        "default": recommended(sizes, epsilon),
    }
    if setting.known_priors:
        mechanisms["RS+RFD truth"] = RSRFD(sizes, epsilon, tuple(map(tuple, group.frequencies)))
    found = {name: one.estimate(collect(one, group, rng)) for name, one in mechanisms.items()}
    return found | two_phases(group, setting, rng, collect)


def four(group: People, setting: Setting, rng: SimulationRandomness) -> dict[str, RecordEstimate]:
    """Collect with the paper's four mechanisms only, and Corr-RR with all rules for its copies."""
    one_phase = {"SPL": SPL(group.sizes, setting.epsilon), "RS+FD": RSFD(group.sizes, setting.epsilon)}
    found = {name: one.estimate(simulated(one, group, rng)) for name, one in one_phase.items()}
    return found | two_phases(group, setting, rng, copies=RULES)


def two_phases(
    group: People,
    setting: Setting,
    rng: SimulationRandomness,
    collect: Collect = simulated,
    copies: Sequence[str] = tuple(COPIES),
) -> dict[str, RecordEstimate]:
    """Collect from the same contributors in two phases; all methods share phase one."""
    first_group, second_group = group.split(setting.n1, rng.generator)
    first = collect(CorrRR.phase_one(group.sizes, setting.epsilon), first_group, rng)
    one: RecordEstimate = first.mechanism.estimate(first)
    fakes = RSRFD.learn(first, second_group.n)
    second = collect(fakes, second_group, rng)
    found = {
        "RS+RFD": combine(one, fakes.estimate(second)),
        "RS+RFD clipped": combine(one, fakes.clipped(second)),
    }
    for name in copies:
        if name != "Corr-RR joint" or len(group.sizes) > 2:
            corr_rr = COPIES[name](first, second_group.n)
            found[name] = combine(one, corr_rr.estimate(collect(corr_rr, second_group, rng)))
    return found | {"phase one": one, "uniform": uniform(one)}


@cache
def recommended(sizes: tuple[int, ...], epsilon: float) -> Any:
    """Return the library's default mechanism."""
    return recommend(sizes, epsilon)


def uniform(like: RecordEstimate) -> RecordEstimate:
    """Return 1/k for each value: an estimate without any report."""
    return RecordEstimate({j: part.processed(np.full(part.k, 1 / part.k), "uniform") for j, part in like.items()})


POST: Mapping[str, Callable[[RecordEstimate], RecordEstimate]] = {"raw": lambda estimate: estimate, "simplex": simplex}
"""Post-processing that each method gets; "raw" is none."""


def errors(
    truth: Sequence[Floats], found: Mapping[str, RecordEstimate], posts: Sequence[str] = tuple(POST)
) -> dict[str, float]:
    """Return the mean squared error (eq. (2)) of each method and post-processing, as "method|post"."""
    lines = {f"{name}|{post}": POST[post](one) for name, one in found.items() for post in posts}
    if "default" in found:
        lines[DEFAULT] = hierarchical(found["default"])
    return {
        line: float(
            np.mean([np.mean((part.frequencies - f) ** 2) for part, f in zip(one.values(), truth, strict=True)])
        )
        for line, one in lines.items()
    }

"""Repeated collections of one setting: errors of the projected baselines and of the decoded default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deniable import RSFD, SMP, SPL, CorrRR, RecordEstimate, SimulationRandomness
from deniable.planning.records import records_default
from deniable.postprocess import hierarchical, simplex
from deniable.records import RSRFD, combine
from experiments.corr_rr.decoder_data import Population, population
from experiments.corr_rr.methods import simulated
from experiments.corr_rr.populations import Floats, People
from experiments.harness import Cell

BASELINES = ("SPL", "SMP", "RS+FD", "RS+RFD", "RS+RFD clipped", "Corr-RR")
PHASE_ONE = 0.1
"""Share of contributors in phase one, for the two-phase baselines."""
SLOW_RUNS = 10
"""Repetitions of Corr-RR over domains that differ; there it takes longest and is far from the best."""


class Choice:
    """The library's choices for records of these sizes: if a full record must be sent, and if not.

    Parameters
    ----------
    sizes : tuple of int
        Domain sizes.
    epsilon : float
        Budget of the whole record.
    """

    def __init__(self, sizes: tuple[int, ...], epsilon: float) -> None:
        self.splits = isinstance(records_default(sizes, epsilon, full_record=True).mechanism, SPL)
        self.any_report = records_default(sizes, epsilon).mechanism

    @property
    def protocol(self) -> str:
        """Names of both choices."""
        return f"{'SPL' if self.splits else 'PivotCoded'}, {self.any_report.name}"


def collect(
    given: Population, epsilon: float, choice: Choice, rng: SimulationRandomness, corr_rr: bool = True
) -> dict[str, RecordEstimate]:
    """Return the estimates of all baselines, projected, and of the default, decoded; each has its own collection.

    The default decodes the same reports as the baseline SPL or SMP: `PivotCoded` sends SMP's content in another form.
    """
    people, sizes = given.people, given.people.sizes

    def estimated(mechanism: SPL | SMP | RSFD | CorrRR, group: People) -> RecordEstimate:
        return mechanism.estimate(simulated(mechanism, group, rng))

    raw = {
        "SPL": estimated(SPL(sizes, epsilon), people),
        "SMP": estimated(SMP(sizes, epsilon), people),
        "RS+FD": estimated(RSFD(sizes, epsilon), people),
    }
    first_people, second_people = people.split(max(1, round(PHASE_ONE * people.n)), rng.generator)
    first = simulated(CorrRR.phase_one(sizes, epsilon), first_people, rng)
    one: RecordEstimate = first.mechanism.estimate(first)
    fakes = RSRFD.learn(first, second_people.n)
    second = simulated(fakes, second_people, rng)
    raw["RS+RFD"] = combine(one, fakes.estimate(second))
    raw["RS+RFD clipped"] = combine(one, fakes.clipped(second))
    if corr_rr:
        raw["Corr-RR"] = combine(one, estimated(CorrRR.learn(first, second_people.n), second_people))
    answers = {name: simplex(one) for name, one in raw.items()}
    answers["default"] = hierarchical(raw["SPL" if choice.splits else "SMP"], groups=given.groups)
    other = choice.any_report.estimate(simulated(choice.any_report, people, rng))
    assert isinstance(other, RecordEstimate)
    return answers | {"any report": hierarchical(other, groups=given.groups)}


def squared_errors(answers: Mapping[str, RecordEstimate], truth: Sequence[Floats]) -> list[float]:
    """Return the mean squared error of each estimate: over the values, then over the attributes."""
    return [
        float(np.mean([np.mean((one.frequencies - f) ** 2) for one, f in zip(answer.values(), truth, strict=True)]))
        for answer in answers.values()
    ]


def repetitions(sizes: Sequence[int], runs: int) -> int:
    """Return the number of collections: enough for `runs` free frequencies in all, and at least 40."""
    return max(40, -(-runs // sum(k - 1 for k in sizes)))


def measure(cell: Cell) -> Cell:
    """Return each method's mean squared error in one setting, and the default's ratio to the best baseline.

    The best baseline is chosen by these runs. This choice favours the baselines a little.
    """
    given = population(cell)
    people, truth = given.people, given.people.frequencies
    rng = SimulationRandomness(cell["seed"])
    choice = Choice(people.sizes, cell["epsilon"])
    columns: dict[str, list[float]] = {name: [] for name in (*BASELINES, "default", "any report")}
    for i in range(repetitions(people.sizes, cell["runs"])):
        corr_rr = len(set(people.sizes)) == 1 or i < SLOW_RUNS
        answers = collect(given, cell["epsilon"], choice, rng, corr_rr)
        for name, error in zip(answers, squared_errors(answers, truth), strict=True):
            columns[name].append(error)
    table = {name: np.array(column) for name, column in columns.items()}
    best = min(BASELINES, key=lambda name: float(table[name].mean()))
    values: Cell = {"people": people.n, "d": len(people.sizes), "k": sizes_text(people.sizes)}
    values |= {"repetitions": len(table["default"]), "protocol": choice.protocol}
    values |= {name: float(column.mean()) for name, column in table.items()}
    ratio, error = paired_ratio(table["default"], table[best])
    other, other_error = paired_ratio(table["any report"], table[best])
    return values | {"best": best, "ratio": ratio, "error": error, "any ratio": other, "any error": other_error}


def paired_ratio(numerator: Floats, denominator: Floats) -> tuple[float, float]:
    """Return the ratio of means over the same runs, and its standard error by the delta method.

    If the second method has fewer runs, they are the first runs of the other method.
    """
    numerator = numerator[: len(denominator)]
    ratio = float(numerator.mean() / denominator.mean())
    residuals = numerator - ratio * denominator
    return ratio, float(residuals.std(ddof=1) / np.sqrt(len(residuals)) / denominator.mean())


def sizes_text(sizes: Sequence[int]) -> str:
    """Return the domain sizes as text: one number if all are equal."""
    return str(sizes[0]) if len(set(sizes)) == 1 else "/".join(map(str, sizes))

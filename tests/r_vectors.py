"""Vectors that the R package and the library share: counts of a survey, and an analyst's numbers from them.

``python -m tests.r_vectors`` writes ``r/tests/vectors.json`` and the example in ``r/inst/extdata`` (``make vectors``);
pytest compares the library with the files, and ``r/tests/vectors.R`` compares the R package with them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import GRR, OUE, SPL, Attribute, Collection, Schema, SimulationRandomness
from deniable.answers import counts_document, summarize
from deniable.core.aggregate import Aggregate
from deniable.core.checks import TARGETS
from deniable.core.construction import mechanism
from deniable.core.estimate import Estimate
from deniable.core.mechanism import Mechanism
from deniable.core.projection import nearest_distribution
from deniable.oracles.square_wave import SquareWave
from deniable.oracles.subset import SubsetSelection
from deniable.oracles.unary import SUE
from deniable.records.sample import SMP

R = Path(__file__).parents[1] / "r"
PLACE = R / "tests" / "vectors.json"
EXAMPLE = R / "inst" / "extdata"

LABELS = ("yes", "no", "rarely", "été", "NA", "=2", "six", "seven")


def subjects() -> Iterator[tuple[Mechanism[Any], int]]:
    """Yield mechanisms and numbers of contributors."""
    for epsilon in (0.5, 1.0, 6.0):
        yield GRR(k=2, epsilon=epsilon), 400
    yield GRR(k=2, epsilon=6.0), 20
    yield GRR(k=5, epsilon=8.0), 100
    yield GRR(k=8, epsilon=2.0), 30_000
    yield OUE(k=5, epsilon=1.0), 900
    yield OUE(k=4, epsilon=7.0), 200
    yield SUE(k=3, epsilon=7.0), 60
    yield SubsetSelection(k=7, epsilon=0.75), 2_000
    yield SubsetSelection(k=3, epsilon=6.0), 50
    yield mechanism("CMS", k=6, epsilon=2.0), 700
    yield SquareWave(k=5, epsilon=2.0), 500
    yield SPL((2, 4), epsilon=3.0), 500
    yield SMP((2, 4), epsilon=6.0), 90
    yield SMP((3, 5), epsilon=1.0), 20_000


def cases() -> Iterator[dict[str, Any]]:
    """Yield the content of the file in order: a counts document, and the numbers for each of its attributes."""
    for place, (subject, n) in enumerate(subjects()):
        schema = Schema(tuple(Attribute(f"a{j}", LABELS[:k]) for j, k in enumerate(subject.domain)))
        survey = Collection(schema, subject, title=f"case {place}")
        people = np.random.default_rng(place)
        codes = np.column_stack([people.binomial(k - 1, 0.3, n) for k in subject.domain])
        aggregate = survey.aggregate(survey.randomize(codes, SimulationRandomness(place)))
        estimates = survey.estimate(aggregate)
        yield {
            "counts": json.loads(counts_document(survey, aggregate)),
            "expected": [numbers(one) for one in estimates.values()],
        }


def numbers(estimate: Estimate) -> dict[str, Any]:
    """Return an analyst's numbers from an estimate, for both targets."""
    whole = estimate.support is not None
    found: dict[str, Any] = {"frequencies": estimate.frequencies.tolist()}
    for target in TARGETS:
        found[target] = {"standard_errors": estimate.standard_errors_for(target).tolist()}
        if whole:
            found[target]["intervals"] = [
                np.column_stack(estimate.interval(confidence, target=target, simultaneous=together)).tolist()
                for confidence, together in ((0.95, False), (0.9, True))
            ]
            matrix = covariance(estimate, target)
            found[target]["covariance"] = None if matrix is None else matrix.tolist()
    return found


def covariance(estimate: Estimate, target: Any) -> NDArray[np.float64] | None:
    """Return the covariance matrix at the nearest possible frequencies, from answers to linear questions."""
    k = estimate.k
    one = np.eye(k)

    def variance(weights: NDArray[np.float64]) -> float:
        return estimate._variance(weights, target)

    matrix = np.array([[(variance(v + w) - variance(v - w)) / 4 for w in one] for v in one])
    return None if np.isnan(matrix).any() else matrix


def nearest() -> dict[str, Any]:
    """Return frequencies and the nearest distribution."""
    given = [0.7, -0.2, 0.6, 0.05]
    return {"given": given, "found": nearest_distribution(np.array(given)).tolist()}


def example() -> dict[str, str]:
    """Return the files of one small survey: its collection, counts and results."""
    survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=1.0), title="Smoking")
    aggregate = Aggregate(survey.mechanism, np.array([240, 360]), 600, survey.id)
    summary = summarize(
        survey.estimate(aggregate), mechanism=survey.mechanism, n=600, title=survey.title, collection=survey.id
    )
    return {
        "survey.json": survey.to_json(),
        "counts.json": counts_document(survey, aggregate),
        "numbers.csv": summary.csv(),
        "results.json": "".join(summary.json_parts()) + "\n",
    }


def texts() -> dict[Path, str]:
    """Return all files by path."""
    vectors = json.dumps({"nearest": nearest(), "cases": list(cases())}, ensure_ascii=False) + "\n"
    return {PLACE: vectors, **{EXAMPLE / name: text for name, text in example().items()}}


if __name__ == "__main__":
    for place, text in texts().items():
        place.write_text(text, encoding="utf-8")

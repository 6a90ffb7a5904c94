"""Problems for the known answers in tests/vectors/models.json, and exact reports of all kinds."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dn
from deniable.core.report_likelihood import ReportIndicators, ReportLikelihood
from deniable.models.problem import MixtureProblem, RowWeights
from deniable.models.row_laws import BothLaw, MultinomialLaw, OrderedLaw, PredictorLaw, RowLaw
from deniable.oracles import SquareWave

PATH = Path(__file__).parents[2] / "vectors" / "models.json"
NAMES = {
    "GRR": dn.GRR,
    "OUE": dn.OUE,
    "SUE": dn.SUE,
    "SubsetSelection": dn.SubsetSelection,
    "CountMeanSketch": dn.CountMeanSketch,
    "SquareWave": SquareWave,
}


@cache
def vectors() -> dict[str, Any]:
    """Return the cases by their id."""
    return {case["id"]: case for case in json.loads(PATH.read_text())["cases"]}


def mechanism_of(spelled: dict[str, Any]) -> Any:
    """Return the mechanism of a case, from its spelling in Python."""
    return eval(spelled["repr"], dict(NAMES))


def reports_of(mechanism: Any, given: Any) -> Any:
    """Return a case's reports in the mechanism's type."""
    fields = mechanism.report_fields
    if isinstance(given, dict):
        return mechanism.report_type(*(np.array(given[field.name], dtype=field.dtype) for field in fields))
    return np.array(given, dtype=fields[0].dtype)


def likelihood_of(case: dict[str, Any]) -> ReportLikelihood:
    """Return the likelihood of a case's reports."""
    if "repr" not in case["mechanism"]:
        parts = [(mechanism_of(case["mechanism"][side]), case["reports"][side]) for side in ("outcome", "predictor")]
        return ReportLikelihood.product([one.likelihood(reports_of(one, given)) for one, given in parts])
    mechanism = mechanism_of(case["mechanism"])
    found: ReportLikelihood = mechanism.likelihood(reports_of(mechanism, case["reports"]))
    if "asked" in case:
        asked = np.array(case["asked"], dtype=np.bool_)
        found = found.at(asked).placed(asked)
    return found


def indicators_of(case: dict[str, Any]) -> ReportIndicators:
    """Return the indicators of a case's reports."""
    mechanism = mechanism_of(case["mechanism"])
    found: ReportIndicators = mechanism.indicators(reports_of(mechanism, case["reports"]))
    return found


def listed_of(case: dict[str, Any]) -> ReportLikelihood | None:
    """Return all possible reports of a case."""
    if "repr" in case["mechanism"]:
        one: ReportLikelihood | None = mechanism_of(case["mechanism"]).listed_likelihood()
        return one
    sides = [mechanism_of(case["mechanism"][side]).listed_likelihood() for side in ("outcome", "predictor")]
    return ReportLikelihood.every_pair(sides)


def problem_of(case: dict[str, Any]) -> MixtureProblem:
    """Return the likelihood problem of a case, in its own columns."""
    likelihood, x = likelihood_of(case), np.array(case["X"])
    k, designs = likelihood.relative.shape[1], [x]
    law: RowLaw
    if case["model"].startswith("ordered"):
        law = OrderedLaw(k)
    elif case["model"].startswith("predictor"):
        law, designs = PredictorLaw(case["model"].split()[1], np.eye(k)[:, 1:]), [x, x]
    elif case["model"] == "both randomised":
        law, designs = BothLaw(2, np.eye(k // 2)[:, 1:]), [x, x]
    else:
        law = MultinomialLaw(k)
    weights = RowWeights(np.array(case["weights"])) if "weights" in case else RowWeights()
    return MixtureProblem(law, designs, likelihood, np.array(case.get("outcome", []), dtype=np.float64), weights)


def clusters_of(case: dict[str, Any]) -> Any:
    """Return a case's clusters as codes, or None."""
    if "clusters" not in case:
        return None
    return np.unique(case["clusters"], return_inverse=True)[1].astype(np.int64)

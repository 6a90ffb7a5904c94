"""Function `fit_compliance`, a regression that allows for people who do not follow the instructions of a design."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_kind
from deniable.designs.compliance import ComplianceDesign
from deniable.errors import InvalidInputError, InvalidParameterError, quoted
from deniable.models.building import Built, Parameters, check_columns, clipped, many, role_of, standardise
from deniable.models.fitted import Fit, Source
from deniable.models.fitting import cluster_warnings, row_values
from deniable.models.formulas import INTERCEPT, effects_of, parse_formula, plain_columns
from deniable.models.maximising import best_of_starts
from deniable.models.privacy import privacy_statement
from deniable.models.problem import MixtureProblem, RowWeights
from deniable.models.reading import Rows, complete, frame_of
from deniable.models.row_laws import NO_OUTCOME, ComplianceLaw

_EDGE = 10.0
"""Logit at the mean of all columns beyond which a share counts as 0 or 1."""


def fit_compliance(
    formula: str,
    design: ComplianceDesign,
    people: Any,
    second: str,
    *,
    followers: Literal["same", "1"] = "same",
    clusters: str | ArrayLike | None = None,
    weights: str | ArrayLike | None = None,
    missing: Literal["drop", "refuse"] = "drop",
) -> Fit:
    """Analyst: fit a logit of a sensitive trait together with the share of people who follow the instructions.

    Parameters
    ----------
    formula : str
        Formula as in R, such as ``"report ~ age + C(region)"``: the column of reports on the left, plain columns on the
        right.
    design : ComplianceDesign
        Design from `designs.crosswise_anchor` or `designs.cheaters`, or a `designs.LieDetector`.
    people : table or path
        Table in a form that `fit` allows, with a row for each person. Reports are 0 and 1, or names: "different" and
        "same" for the crosswise model, "no" and "yes" for two groups.
    second : str
        Name of the column of reports to the anchor ("different" or "same"), or of the random group (1 or 2).
    followers : {"same", "1"}
        "same": the share of people who follow the instructions has its own logit of the same plain columns. "1": it is
        the same for everybody.
    clusters, weights : str or array, optional
        See `fit`.
    missing : {"drop", "refuse"}
        Treatment of rows with a missing value: "drop" leaves them out and counts them, "refuse" raises an error.

    Returns
    -------
    Fit
        Coefficients of the trait, then the coefficients of the second logit, named "follows: Intercept" and so on.
        Standard errors are robust (sandwich). With `cheaters`, the coefficients of the trait are about people who
        follow the instructions. If an estimated share is 0 or 1, no coefficient is determined, and slopes have score
        intervals.

    Raises
    ------
    NoIntervalError
        If the anchor does not show that anybody followed the instructions.
    InvalidParameterError
        If formula, design or options are not compatible.
    InvalidInputError
        If a report or a second number does not have one of its two values, or no row is complete.

    References
    ----------
    Atsusaka and Stevenson (2023), *A bias-corrected estimator for the crosswise model with inattentive respondents*;
    Clark and Desharnais (1998); Moshagen, Musch and Erdfelder (2012).

    Examples
    --------
    >>> from deniable import designs
    >>> same = np.repeat([1, 1, 0, 0], [1116, 311, 425, 148])
    >>> anchor = np.repeat([1, 0, 1, 0], [1116, 311, 425, 148])
    >>> design = designs.crosswise_anchor("3/20", "3/20")
    >>> found = fit_compliance("same ~ 1", design, {"same": same, "anchor": anchor}, "anchor")
    >>> (1 / (1 + np.exp(-found.params))).round(3).to_dict()
    {'Intercept': 0.105, 'follows: Intercept': 0.773}
    """
    checked_kind("design", design, ComplianceDesign)  # type: ignore[type-abstract]
    for name, value, choices in (("followers", followers, ("same", "1")), ("missing", missing, ("drop", "refuse"))):
        if value not in choices:
            raise InvalidParameterError(f"{name} must be one of {', '.join(choices)}, got {name}={quoted(value)}")
    table = frame_of(people).reset_index(drop=True)
    outcome = formula.partition("~")[0].strip()
    for name in (outcome, second):
        if name not in table.columns:
            raise InvalidParameterError(
                f"the table must have the column {quoted(name)}, but its columns are {quoted(list(table.columns))}"
            )
    parsed = parse_formula(formula, (outcome,), [str(name) for name in table.columns if name not in (outcome, second)])
    if not parsed.randomised_outcome or parsed.predictors:
        raise InvalidParameterError(
            f"formula must have {outcome} alone on its left side, and not on its right side, got "
            f"formula={quoted(formula)}"
        )
    weighting, groups = row_values(table, weights, "weights"), row_values(table, clusters, "clusters")
    kept = complete(Rows(None, table), [outcome, second, *parsed.columns], missing, weighting, groups)
    table = table[kept]
    weighting, groups = (None if one is None else one[kept] for one in (weighting, groups))
    report = _codes(table[outcome], design.reports)
    other = _codes(table[second], design.seconds)
    begin = design.beginning(report, other)
    plain, values = plain_columns(parsed, table)
    check_columns(values, plain.names)
    if plain.intercept is None:
        raise InvalidParameterError(
            f"formula must have an intercept, got formula={quoted(formula)}; leave 0 and -1 out of the formula"
        )
    scaling = standardise(values, plain.intercept, centred=False)
    alike = followers == "same"
    own, others = plain.names, plain.names if alike else (INTERCEPT,)
    p, q = len(own), len(others)
    roles = tuple(map(role_of, own))
    turned, start = np.eye(p + q), np.zeros(p + q)
    turned[:p, :p] = scaling.turned()
    if alike:
        turned[p:, p:] = scaling.turned()
    inside = [clipped(np.array([1 - share, share])) for share in begin]
    at = [plain.intercept, p + others.index(INTERCEPT)]
    start[at] = [math.log(one[1] / one[0]) for one in inside]
    told = design.told(report, other)
    law = ComplianceLaw(told.relative.shape[1] // 4)
    columns = [values, values if alike else np.ones((len(values), 1))]
    problem = MixtureProblem(law, columns, told, NO_OUTCOME, RowWeights(weighting))
    parameters = Parameters(
        (*own, *(f"{design.follower}: {name}" for name in others)),
        (*roles, *many("scale", q)),
        turned,
        np.concatenate([scaling.deviations, np.ones(q)]),
    )
    labels = ("no", "yes")
    effects = effects_of(parsed, {outcome: labels}, plain)
    built = Built(problem, start, parameters, "logit", "ml", labels, scaling, effects)
    codes = None if groups is None else np.unique(groups, return_inverse=True)[1].astype(np.int64)
    solution, starts = best_of_starts(problem, start)
    if np.abs(solution.theta[at]).max() > _EDGE:
        # If a share is 0 or 1 at the mean of all columns, the maximum lies on the boundary.
        solution = solution._replace(converged=False)
    guarantee = design.device.privacy()
    source = Source(
        table,
        len(kept),
        int((~kept).sum()),
        codes,
        weighting is not None,
        False,
        None,
        guarantee,
        privacy_statement(design.device, guarantee),
        "",
        type(design).__name__,
        {outcome: labels},
    )
    warnings = cluster_warnings(codes)
    warnings += [design.assumes] if design.assumes else []
    return Fit(parsed, plain, built, solution, starts, source, "sandwich", None, warnings)


def _codes(column: Any, names: tuple[str, str]) -> NDArray[np.int64]:
    """Return the codes 0 and 1 of a column that has them, or the names."""
    known = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "False": 0, "True": 1} | dict(zip(names, (0, 1), strict=True))
    if names == ("1", "2"):
        known = {"1": 0, "2": 1, "1.0": 0, "2.0": 1}
    found = column.astype(str).map(known)
    if found.isna().any():
        row = int(np.argmax(found.isna().to_numpy())) + 1
        # The report is not quoted, because beside plain columns it names its sender.
        raise InvalidInputError(f"{column.name} must be {names[0]} or {names[1]}, got something else in row {row}")
    codes: NDArray[np.int64] = found.to_numpy(dtype=np.int64)
    return codes

"""Function `fit`, a regression in which the outcome, predictors, or both were randomised."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.checks import checked_kind
from deniable.core.report_likelihood import ReportIndicators, ReportLikelihood
from deniable.errors import InvalidParameterError, NotIdentifiedError, quoted
from deniable.models.building import (
    Built,
    Material,
    Method,
    Model,
    answered_labels,
    build_mixture,
    build_outcome,
    build_weighted,
    check_columns,
    check_model,
)
from deniable.models.fitted import (
    ENOUGH_CLUSTERS,
    FEWEST_CLUSTERS,
    MOST_ERROR,
    WARN_ERROR,
    CovType,
    Fit,
    Source,
)
from deniable.models.formulas import ModelFormula, effects_of, parse_formula, plain_columns, plain_outcome
from deniable.models.maximising import STARTS, best_of_starts
from deniable.models.privacy import privacy_statement
from deniable.models.problem import MixtureProblem, RowWeights, gram
from deniable.models.reading import Missing, Rows, complete, frame_of, pairs_of, rows_of, some_reports
from deniable.models.row_laws import Floats, MultinomialLaw, OrderedLaw
from deniable.survey.collection import Collection

if TYPE_CHECKING:
    import pandas

MAX_CELLS = 256
"""Most combinations of categories of the randomised attributes of a model."""

_PILOT_ROWS = 20_000


def fit(
    formula: str,
    survey: Collection,
    reports: Any,
    people: Any = None,
    *,
    model: Model = "auto",
    method: Method = "auto",
    cov_type: CovType = "sandwich",
    clusters: str | ArrayLike | None = None,
    weights: str | ArrayLike | None = None,
    key: str | None = None,
    missing: Missing = "category",
    classes: Literal["same", "1"] = "same",
    force: bool = False,
) -> Fit:
    """Analyst: fit a regression whose coefficients are about the true answers.

    Row i of the table and row i of the reports must come from the same contributor. A wrong order cannot be detected,
    and makes slopes shrink to zero.

    Parameters
    ----------
    formula : str
        Formula as in R, such as ``"smoker ~ age + C(region)"``. Names of the survey's attributes are randomised
        answers; other names are columns of the table. A randomised answer can be on either side, but only alone or as
        ``C(name)``.
    survey : Collection
        Collection with the questions and the mechanism.
    reports : reports, path, table or Aggregate
        Reports in one of these forms: as the mechanism returns them, a report file, a pandas column of codes or of
        reported labels, or a table with a column for each field of a report. The formula ``a ~ b`` without a table also
        takes an aggregate of "SPL pairs".
    people : table or path, optional
        Columns that are not randomised: a table from pandas, polars or pyarrow, a dict of columns, or a CSV or Parquet
        file.
    model : {"auto", "logit", "multinomial", "ordered", "linear", "poisson"}
        "auto" chooses by the outcome. For a randomised outcome it is "logit" for two categories, "multinomial" for
        more, "ordered" for ordered categories, and "linear" if a mean was asked. For a plain outcome it is "logit" for
        0 and 1, and otherwise "linear".
    method : {"auto", "ml", "weights"}
        "ml" is maximum likelihood. "weights" uses estimating equations with unbiased indicators, which assume nothing
        about the errors. It is the default if predictors are randomised. If the outcome is randomised as well, you must
        name the method.
    cov_type : {"sandwich", "observed", "opg", "expected"}
        Kind of standard errors. "sandwich" is robust. "observed" uses the inverse Hessian, and "opg" the outer product
        of scores. "expected" uses the Fisher information; it needs a randomised outcome whose possible reports can be
        listed.
    clusters, weights : str or array, optional
        Cluster and sampling weight of each row, as the name of a column or as n values. Both need "sandwich" standard
        errors.
    key : str, optional
        Name of a column that links reports and table, with unique values in both. By default they are linked row by
        row.
    missing : {"category", "drop", "refuse"}
        Treatment of missing values. By default, rows without a report, or with a missing value in a needed column, are
        left out and counted. "No answer" of a randomised attribute is then a category like the others. With "drop" the
        model is about people who answered. It still uses all rows, because reports hide who did not answer. "refuse"
        raises an error with the number of incomplete rows.
    classes : {"same", "1"}
        Assumption about a randomised predictor, for "ml". "same" allows the predictor to depend on the plain columns of
        the formula. "1" assumes that the predictor depends on none of them. Its coefficient is biased if this is false.
    force : bool
        If True, fit even if the expected standard errors show that there are too few reports.

    Raises
    ------
    NotIdentifiedError
        If the reports cannot answer the question, or there are too few.
    InvalidParameterError
        If formula, model or options are not compatible.
    InvalidInputError
        If no row is complete, or rows are incomplete with `missing="refuse"`.
    MismatchError
        If reports and table do not match.
    MissingExtraError
        If formulaic and pandas are not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import GRR, Attribute, Collection, Schema, SimulationRandomness, models
    >>> age = np.random.default_rng(1).normal(size=4000)
    >>> smokes = np.random.default_rng(2).random(4000) < 1 / (1 + np.exp(1 - 0.5 * age))
    >>> survey = Collection(Schema((Attribute("smoker", ("no", "yes")),)), GRR(k=2, epsilon=2.0))
    >>> reports = survey.randomize(smokes.astype(int)[:, None], SimulationRandomness(3))
    >>> fitted = models.fit("smoker ~ age", survey, reports, {"age": age})
    >>> fitted.params.round(2).to_dict(), fitted.determined
    ({'Intercept': -1.02, 'age': 0.52}, True)
    """
    checked_kind("survey", survey, Collection)
    _check_choices(
        model=(model, Model),
        method=(method, Method),
        cov_type=(cov_type, CovType),
        missing=(missing, Missing),
        classes=(classes, None),
    )
    survey.schema.check_listed("a regression explains listed categories")
    if key is not None and people is None:
        raise InvalidParameterError("key works only with people: leave out key, or pass people")
    mechanism, names = survey.mechanism, survey.schema.names
    parsed, rows = _read(formula, survey, reports, people, key)
    places = [names.index(name) for name in parsed.randomised]
    _check_related(parsed, mechanism)
    weighting, groups = row_values(rows.table, weights, "weights"), row_values(rows.table, clusters, "clusters")
    kept = complete(rows, parsed.columns, missing, weighting, groups)
    dropped = int((~kept).sum())
    if dropped:
        rows = Rows(some_reports(rows.reports, kept, mechanism), rows.table[kept], rows.frequency)
        weighting, groups = (None if one is None else one[kept] for one in (weighting, groups))
    attributes = {name: survey.schema.columns[names.index(name)] for name in parsed.randomised}
    silent = [name for name, one in attributes.items() if missing == "drop" and one.missing_code is not None]
    cells = math.prod(attribute.k for attribute in attributes.values())
    if cells > MAX_CELLS:
        raise InvalidParameterError(
            f"the randomised attributes of a formula must have at most {MAX_CELLS} combinations of categories, got "
            f"{cells}; merge categories"
        )
    outcome, labels = (np.empty(0), ()) if parsed.randomised_outcome else plain_outcome(parsed, rows.table)
    own = attributes[parsed.outcome] if parsed.randomised_outcome else None
    chosen, way = check_model(model, method, parsed, own, outcome, silent)
    _check_errors(cov_type, way, weighting, groups, mechanism.dealt_types is not None)
    plain, values = plain_columns(parsed, rows.table)
    if rows.frequency is None and people is not None:
        check_columns(values, plain.names)
    likelihood, indicators = mechanism.likelihood(rows.reports, places), mechanism.indicators(rows.reports, places)
    if not likelihood.asked.any():
        raise NotIdentifiedError(
            f"no report says anything about {' and '.join(parsed.randomised)}; collect more reports"
        )
    kept_labels = {name: answered_labels(one, name in silent) for name, one in attributes.items()}
    effects = effects_of(parsed, kept_labels, plain)
    material = Material(
        parsed,
        attributes,
        plain,
        values,
        outcome,
        labels,
        effects,
        RowWeights(weighting, rows.frequency),
        tuple(silent),
    )
    listed = mechanism.listed_likelihood(places) if parsed.randomised_outcome else None
    built = _build(material, likelihood, indicators, chosen, way, classes, listed)
    if cov_type == "expected" and built.listed is None:
        raise InvalidParameterError(
            'cov_type="expected" needs a randomised outcome and reports that can be listed: use cov_type="sandwich", '
            '"observed" or "opg"',
            parameters=('cov_type="expected"', 'cov_type="sandwich"'),
        )
    codes = None if groups is None else np.unique(groups, return_inverse=True)[1].astype(np.int64)
    warnings = cluster_warnings(codes)
    expected = None
    if weighting is None and groups is None and mechanism.dealt_types is None and rows.frequency is None:
        expected = expected_error(built)
    warnings += _error_warnings(expected, built, force)
    solution, starts = best_of_starts(
        built.problem,
        built.start,
        1 if chosen == "linear" and way == "weights" else STARTS,
        np.broadcast_to(1 / built.parameters.unit, built.problem.size),
    )
    guarantee = survey.privacy()
    source = Source(
        rows.table,
        len(kept),
        dropped,
        codes,
        weighting is not None,
        rows.frequency is not None,
        mechanism.dealt_types,
        guarantee,
        privacy_statement(mechanism, guarantee),
        survey.id,
        survey.title,
        kept_labels,
    )
    return Fit(parsed, plain, built, solution, starts, source, cov_type, expected, warnings)


def _check_choices(**given: tuple[str, Any]) -> None:
    for name, (value, kind) in given.items():
        choices = ("same", "1") if kind is None else get_args(kind)
        if value not in choices:
            raise InvalidParameterError(f"{name} must be one of {', '.join(choices)}, got {name}={quoted(value)}")


def _read(formula: str, survey: Collection, reports: Any, people: Any, key: str | None) -> tuple[ModelFormula, Rows]:
    names = survey.schema.names
    if isinstance(reports, Aggregate) and people is None:
        parsed = parse_formula(formula, names, ())
        if not parsed.randomised_outcome or len(parsed.randomised) != 2:
            raise NotIdentifiedError(
                f"an aggregate can only relate one attribute to another, as in {names[0]} ~ {names[-1]}, got "
                f"formula={quoted(formula)}; fit the reports instead"
            )
        return parsed, pairs_of(survey, reports, *parsed.randomised)
    rows = rows_of(survey, reports, people, key)
    return parse_formula(formula, names, tuple(map(str, rows.table.columns))), rows


def _check_related(parsed: ModelFormula, mechanism: Any) -> None:
    if len(parsed.randomised) > max(mechanism.related_attributes, 1):
        raise NotIdentifiedError(
            f"no report of {mechanism.name} says anything about {' and '.join(parsed.randomised)} together; to "
            "explain one attribute by the other, collect with SPL, or with PairSample (`deniable collection --pairs`)"
        )


def row_values(table: pandas.DataFrame, given: Any, name: str) -> NDArray[Any] | None:
    """Return weights or clusters: a column of the table, or values."""
    if given is None:
        return None
    if isinstance(given, str):
        if given not in table.columns:
            raise InvalidParameterError(
                f"{name} must name a column of the table, got {name}={quoted(given)}", parameters=(name,)
            )
        found: NDArray[Any] = table[given].to_numpy()
    else:
        found = np.asarray(given)
    if found.shape != (len(table),):
        raise InvalidParameterError(
            f"{name} must have one value for each of the {len(table):,} rows, got shape={found.shape}"
        )
    if name == "weights":
        found = found.astype(np.float64)
        if not (found[np.isfinite(found)] >= 0).all():
            raise InvalidParameterError("weights must be >= 0, got a negative number")
        if not (found > 0).any():
            raise InvalidParameterError("weights must include at least one number > 0, got none")
    return found


def _check_errors(cov_type: str, way: str, weights: Any, groups: Any, dealt: bool) -> None:
    for what, given in (("weights", weights is not None), ("clusters", groups is not None), ("dealt reports", dealt)):
        if given and cov_type != "sandwich":
            raise InvalidParameterError(
                f'cov_type must be "sandwich" with {what}, got cov_type="{cov_type}"', parameters=("cov_type",)
            )
    if way == "weights" and cov_type != "sandwich":
        raise InvalidParameterError(
            f'cov_type must be "sandwich" with method="weights", got cov_type="{cov_type}"',
            parameters=("cov_type", 'method="weights"'),
        )


def cluster_warnings(codes: NDArray[np.int64] | None) -> list[str]:
    """Return what to say of few clusters, and refuse very few."""
    if codes is None:
        return []
    count = int(codes.max()) + 1
    if count < FEWEST_CLUSTERS:
        raise InvalidParameterError(
            f"there must be at least {FEWEST_CLUSTERS} clusters, got {count}; standard errors from fewer clusters are "
            "not reliable"
        )
    if count < ENOUGH_CLUSTERS:
        return [f"{count} clusters are few: 95% intervals may cover only 90%, less if clusters differ in size"]
    return []


def _build(
    material: Material,
    likelihood: ReportLikelihood,
    indicators: ReportIndicators,
    model: str,
    way: str,
    classes: str,
    listed: Any,
) -> Built:
    if way == "weights":
        return build_weighted(material, material.answered(indicators), model)
    if material.formula.predictors:
        return build_mixture(material, likelihood, indicators, model, classes, listed)
    return build_outcome(material, likelihood, indicators, model, listed)


def _error_warnings(expected: float | None, built: Built, force: bool) -> list[str]:
    n = built.problem.n
    warnings = []
    if built.method == "ml" and built.model in ("linear", "poisson"):
        law = "normal errors" if built.model == "linear" else "Poisson counts"
        warnings.append(f'likelihood assumes {law}; method="weights" assumes nothing about the errors')
    if expected is None or expected <= WARN_ERROR:
        return warnings
    needed = _rounded_up(n * (expected / MOST_ERROR) ** 2)
    if expected > MOST_ERROR and not force:
        raise NotIdentifiedError(
            f"the expected standard error of a slope is {expected:.3g} per standard deviation of its column, which is "
            f"too large. An error of {MOST_ERROR} needs about {needed:,} people, but there are {n:,}; pass force=True "
            "to fit anyway",
            parameters=("force=True",),
        )
    warnings.append(
        f"expected standard error of a slope {expected:.2g} for one standard deviation of its column: there are few "
        "reports for this model"
    )
    return warnings


def _rounded_up(people: float) -> int:
    digits = 10 ** max(int(math.log10(max(people, 1))) - 2, 0)
    return int(math.ceil(people / digits) * digits)


def expected_error(built: Built) -> float | None:
    """Return the largest expected standard error of a slope per standard deviation of its column.

    The error is computed at the shares of all rows, without effects. It exists only for models of a randomised outcome
    that are fitted by likelihood and have no randomised predictors. The result is None for all other models.
    """
    problem = built.problem
    if not isinstance(problem, MixtureProblem) or not isinstance(problem.law, MultinomialLaw | OrderedLaw):
        return None
    slopes = built.parameters.places("slope")
    if not len(slopes):
        return None
    x = problem.designs[0]
    phi = _without_effects(problem, built.start)
    local = local_information(problem, phi, built.listed)
    asked = float(problem.likelihood.asked.mean())
    spread = np.linalg.inv(gram(x) * max(asked, 1e-12))
    outcomes = {place // x.shape[1] for place in slopes}
    # Ordered columns are centred, so cuts and slopes do not share information.
    errors = np.linalg.inv(local) if isinstance(problem.law, MultinomialLaw) else np.array([[1 / local[0, 0]]])
    columns = [place % x.shape[1] for place in slopes]
    return max(math.sqrt(max(spread[j, j] * errors[a, a], 0.0)) for j in set(columns) for a in outcomes)


def _without_effects(problem: MixtureProblem, start: Floats) -> Floats:
    """Return the numbers of one row with all slopes zero."""
    flat = MixtureProblem(
        problem.law,
        [np.zeros((1, design.shape[1])) for design in problem.designs],
        ReportLikelihood.silent(1, problem.law.cells),
    )
    if isinstance(problem.law, MultinomialLaw):
        x = problem.designs[0]
        constant = [j for j in range(x.shape[1]) if np.ptp(x[:1000, j]) == 0 and x[0, j] == 1]
        if constant:
            flat.designs[0][0, constant[0]] = 1.0
    return flat.numbers(start, slice(0, 1))


def local_information(problem: MixtureProblem, phi: Floats, listed: ReportLikelihood | None) -> Floats:
    """Return the information of one row in its numbers, float64[m, m]; from the reports where they cannot be listed."""
    law = problem.law
    if listed is not None:
        chances = law.cell_probabilities(phi)[0]
        many = np.repeat(phi, len(listed.relative), axis=0)
        score = law.evaluate(many, listed.relative, np.empty(0), False).score
        weights = np.exp(listed.log_scale) * (listed.relative @ chances)
        found: Floats = score.T @ (score * weights[:, None])
        return found
    rows = np.flatnonzero(problem.likelihood.asked)[:_PILOT_ROWS]
    relative = problem.likelihood.relative[rows]
    score = law.evaluate(np.repeat(phi, len(rows), axis=0), relative, np.empty(0), False).score
    return score.T @ score / max(len(rows), 1)


__all__ = ["fit", "frame_of"]

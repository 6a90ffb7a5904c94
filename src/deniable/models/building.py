"""Construction of a problem in standardised columns, and conversion of its result to the public parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from deniable.core.report_likelihood import ReportIndicators, ReportLikelihood
from deniable.errors import InvalidParameterError, NotIdentifiedError, quoted
from deniable.models.formulas import Effects, ModelFormula, PlainColumns
from deniable.models.problem import BLOCK_ROWS, MixtureProblem, Problem, RowWeights, gram
from deniable.models.row_laws import (
    NO_OUTCOME,
    BothLaw,
    Family,
    Floats,
    MultinomialLaw,
    OrderedLaw,
    PredictorLaw,
    RowLaw,
)
from deniable.models.weighting import Copy, Link, WeightedProblem
from deniable.survey.attribute import Attribute

Model = Literal["auto", "logit", "multinomial", "ordered", "linear", "poisson"]
Method = Literal["auto", "ml", "weights"]
Role = Literal["slope", "intercept", "cut", "scale", "class"]

FEWEST_ROWS = 5
"""A column must differ from its commonest value in this many rows."""

_SHARE_LOW, _SHARE_HIGH = 0.01, 0.99


@dataclass(frozen=True, eq=False)
class Parameters:
    """Names and roles of the parameters of a problem.

    Parameters
    ----------
    names : tuple of str
        Names of the public parameters.
    roles : tuple of str
        Role of each parameter. Roles of the class model are for parameters that describe the predictor alone.
    turned : float64[P, P]
        Matrix that maps the problem's parameters to the public parameters.
    deviations : float64[P]
        Standard deviation of each slope's column, divided by the size of a linear model's outcome; one for the others.
    unit : float64[P] or float64[1]
        Unit of the problem's parameters: size of a linear model's outcome, otherwise one.
    """

    names: tuple[str, ...]
    roles: tuple[Role, ...]
    turned: Floats
    deviations: Floats
    unit: Floats = field(default_factory=lambda: np.ones(1))

    def places(self, *roles: Role) -> NDArray[np.int64]:
        """Return the places of the parameters with these roles."""
        return np.array([place for place, role in enumerate(self.roles) if role in roles], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Built:
    """Problem that is ready to be maximised.

    Parameters
    ----------
    problem : Problem
        Problem in standardised columns.
    start : float64[P]
        Parameters at which the search begins.
    parameters : Parameters
        Meaning of the problem's parameters.
    model : str
        Name of the model.
    method : {"ml", "weights"}
        Method that fits the model.
    categories : tuple of str
        Labels of the outcome's categories, the reference first; empty if the outcome is a number.
    scaling : Scaling
        Standardisation of the plain columns.
    listed : ReportLikelihood or None
        All possible reports about a randomised outcome, if they are few.
    """

    problem: Problem
    start: Floats
    parameters: Parameters
    model: str
    method: str
    categories: tuple[str, ...]
    scaling: Scaling
    effects: Effects
    listed: ReportLikelihood | None = None


@dataclass(frozen=True, eq=False)
class Scaling:
    """Standardisation of columns, (x - means) / deviations.

    Parameters
    ----------
    means, deviations : float64[p]
        Mean and standard deviation of each column; zero and one for the intercept.
    intercept : int or None
        Place of the intercept among the columns.
    """

    means: Floats
    deviations: Floats
    intercept: int | None

    def turned(self) -> Floats:
        """Return the map from coefficients of standardised columns to those of the columns, float64[p, p]."""
        found = np.diag(1 / self.deviations)
        if self.intercept is not None:
            found[self.intercept] -= self.means / self.deviations
        return found

    def apply(self, values: Floats) -> Floats:
        """Return columns standardised."""
        return (values - self.means) / self.deviations


def standardise(values: Floats, intercept: int | None, centred: bool) -> Scaling:
    """Standardise columns float64[n, p] in place; without an intercept only divide them, unless `centred`."""
    means = values.mean(axis=0)
    squares = np.zeros(len(means))
    for start in range(0, len(values), BLOCK_ROWS):
        # Squares are summed in blocks, because numpy's own function would hold a second copy of all columns.
        squares += ((values[start : start + BLOCK_ROWS] - means) ** 2).sum(axis=0)
    deviations = np.sqrt(squares / len(values))
    constant = deviations < 1e-12 * np.maximum(np.abs(means), 1.0)
    deviations[constant] = 1.0
    if intercept is None and not centred:
        means[:] = 0.0
    means[constant] = 0.0
    values -= means
    values /= deviations
    return Scaling(means, deviations, intercept)


def check_columns(values: Floats, names: Sequence[str]) -> None:
    """Raise InvalidParameterError if columns are linearly dependent, or if one singles out few rows.

    Raises
    ------
    InvalidParameterError
        If columns depend on each other linearly, or a column tells fewer than five rows from all others.
    """
    n, p = values.shape
    for place, name in enumerate(names):
        column = values[:, place]
        # If fewer than FEWEST_ROWS rows differ from a value, the value is also the commonest of these first rows.
        few, counts = np.unique(column[: 2 * FEWEST_ROWS - 1], return_counts=True)
        apart = n - int(np.count_nonzero(column == few[int(np.argmax(counts))]))
        if 0 < apart < FEWEST_ROWS:
            raise InvalidParameterError(
                f"column {quoted(name)} must differ from its most frequent value in at least {FEWEST_ROWS} rows, but "
                f"only {apart} rows differ; merge categories. Predictions from so few rows would be guesses about "
                "single people"
            )
    products = gram(values)
    scale = np.sqrt(np.maximum(np.diag(products), 1e-300))
    eigen = np.linalg.eigvalsh(products / np.outer(scale, scale)) if p else np.ones(1)
    if eigen[0] < 1e-10:
        raise InvalidParameterError(
            f"the columns {', '.join(names)} depend on each other linearly; leave out a column that the others "
            "determine"
        )


# ---------------------------------------------------------------- shares


def unbiased_shares(indicators: ReportIndicators, counted: Floats | None) -> Floats:
    """Return the mean indicators of the rows that were asked, float64[cells]."""
    weights = indicators.asked.astype(np.float64) if counted is None else indicators.asked * counted
    # einsum is used, because the order in which BLAS adds up many rows depends on its threads.
    found: Floats = np.einsum("i,ic->c", weights, indicators.values) / max(weights.sum(), 1e-300)
    return found


def clipped(shares: Floats) -> Floats:
    """Return shares moved into [.01, .99], with sum one."""
    inside = np.clip(np.where(np.isfinite(shares), shares, 1 / len(shares)), _SHARE_LOW, _SHARE_HIGH)
    found: Floats = inside / inside.sum()
    return found


# ---------------------------------------------------------------- problems


@dataclass(frozen=True, eq=False)
class Material:
    """Inputs from which a problem is built.

    Parameters
    ----------
    formula : ModelFormula
        Formula of the model.
    attributes : dict of str to Attribute
        Randomised attributes by name.
    plain : PlainColumns
        The plain columns.
    values : float64[n, p]
        Values of the plain columns, which are standardised in place.
    outcome : float64[n]
        Plain outcome; empty if the outcome is randomised.
    outcome_labels : tuple of str
        Names of the plain outcome's two categories, if they have names.
    effects : Effects
        Columns of randomised predictors.
    weights : RowWeights
        Weights of the rows.
    silent : tuple of str
        Attributes whose category "no answer" is left out of the model.
    """

    formula: ModelFormula
    attributes: dict[str, Attribute]
    plain: PlainColumns
    values: Floats
    outcome: Floats
    outcome_labels: tuple[str, ...]
    effects: Effects
    weights: RowWeights
    silent: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of a randomised outcome."""
        return self.attributes[self.formula.outcome].labels

    @property
    def left_out(self) -> str | None:
        """The outcome's "no answer", where a likelihood has an equation of its own for it that nobody reads."""
        return self.attributes[self.formula.outcome].missing if self.formula.outcome in self.silent else None

    @property
    def categories(self) -> tuple[str, ...]:
        """Labels of a randomised outcome that the model is about."""
        return answered_labels(self.attributes[self.formula.outcome], self.formula.outcome in self.silent)

    def equations(self, columns: Sequence[str]) -> tuple[tuple[str, ...], tuple[Role, ...]]:
        """Return names and roles of a multinomial logit's coefficients, category by category."""
        many = len(self.categories) > 2
        names = tuple(
            f"{label}: {name}" if many or label == self.left_out else name
            for label in self.labels[1:]
            for name in columns
        )
        roles: tuple[Role, ...] = tuple(
            "class" if label == self.left_out else role_of(name) for label in self.labels[1:] for name in columns
        )
        return names, roles

    def answered(self, indicators: ReportIndicators) -> ReportIndicators:
        """Return indicators without the cells of those who did not answer."""
        if not self.silent:
            return indicators
        kept = np.ones(1, dtype=np.bool_)
        for name, attribute in self.attributes.items():
            own = np.arange(attribute.k) != (attribute.missing_code if name in self.silent else -1)
            kept = np.outer(kept, own).ravel()
        return indicators._replace(values=np.ascontiguousarray(indicators.values[:, kept]))

    def cell_names(self) -> list[str]:
        """Return what each cell of the randomised predictors is called."""
        names = [""]
        for name in self.formula.predictors:
            names = [f"{old} {name}={label}".strip() for old in names for label in self.attributes[name].labels]
        return names


def answered_labels(attribute: Attribute, silent: bool) -> tuple[str, ...]:
    """Return the labels of an attribute, without that of "no answer" if it is left out."""
    return tuple(label for label in attribute.labels if not (silent and label == attribute.missing))


def build_outcome(
    material: Material, likelihood: ReportLikelihood, indicators: ReportIndicators, model: str, listed: Any
) -> Built:
    """Return the likelihood of a randomised outcome: binary, multinomial or ordered logit."""
    plain, values, labels = material.plain, material.values, material.labels
    k = len(labels)
    shares = clipped(unbiased_shares(indicators, material.weights.product))
    if model == "ordered":
        kept = [place for place in range(len(plain.names)) if place != plain.intercept]
        columns = [plain.names[place] for place in kept]
        values = np.ascontiguousarray(values[:, kept])
        scaling = standardise(values, None, centred=True)
        p = len(columns)
        law: RowLaw = OrderedLaw(k)
        turned: Floats = np.eye(p + k - 1)
        turned[:p, :p] = np.diag(1 / scaling.deviations)
        turned[p, :p] = scaling.means / scaling.deviations
        steps = [f"log step to {labels[j]}/{labels[j + 1]}" for j in range(1, k - 1)]
        names = (*columns, f"{labels[0]}/{labels[1]}", *steps)
        roles = many("slope", p) + many("cut", k - 1)
        deviations = np.concatenate([scaling.deviations, np.ones(k - 1)])
        below = np.cumsum(shares)[:-1]
        cuts = np.log(below / (1 - below))
        start = np.concatenate([np.zeros(p), cuts[:1], np.log(np.diff(cuts))])
    else:
        scaling = standardise(values, plain.intercept, centred=False)
        law = MultinomialLaw(k)
        turned = np.asarray(np.kron(np.eye(k - 1), scaling.turned()), dtype=np.float64)
        names, roles = material.equations(plain.names)
        deviations = np.tile(scaling.deviations, k - 1)
        start = np.zeros((k - 1, len(plain.names)))
        if plain.intercept is not None:
            start[:, plain.intercept] = np.log(shares[1:] / shares[0])
    problem = MixtureProblem(law, [values], likelihood, NO_OUTCOME, material.weights)
    parameters = Parameters(names, roles, turned, deviations)
    return Built(
        problem, start.ravel(), parameters, model, "ml", material.categories, scaling, material.effects, listed
    )


def many(role: Role, number: int) -> tuple[Role, ...]:
    """Return the same role several times."""
    return (role,) * number


def role_of(name: str) -> Role:
    """Return the role of a plain column's coefficient."""
    return "intercept" if name == "Intercept" else "slope"


def _effect_deviations(effects: Effects, shares: Floats) -> Floats:
    means = shares @ effects.alone
    return np.sqrt(np.maximum(means * (1 - means), 1e-12))


def build_mixture(
    material: Material,
    likelihood: ReportLikelihood,
    indicators: ReportIndicators,
    model: str,
    classes: str,
    listed: Any,
) -> Built:
    """Return the likelihood of a model with randomised predictors, plain or randomised outcome."""
    plain, values, effects = material.plain, material.values, material.effects
    cells, q = effects.alone.shape
    every = clipped(unbiased_shares(indicators, material.weights.product))
    both = material.formula.randomised_outcome
    k = len(material.labels) if both else 1
    shares = every.reshape(k, cells).sum(axis=0)
    scaling = standardise(values, plain.intercept, centred=False)
    designs = [values, values if classes == "same" else np.ones((len(values), 1))]
    if classes == "same" and plain.intercept is None:
        raise InvalidParameterError('classes must be "1" in a formula without an intercept, got classes="same"')
    own = scaling.turned()
    class_names = plain.names if classes == "same" else ("Intercept",)
    class_turned = own if classes == "same" else np.eye(1)
    class_start = np.zeros((cells - 1, len(class_names)))
    class_start[:, plain.intercept if classes == "same" else 0] = np.log(shares[1:] / shares[0])
    cell_names = material.cell_names()[1:]
    class_parameters = tuple(f"{cell}: {name}" for cell in cell_names for name in class_names)
    slopes = _effect_deviations(effects, shares)
    p = len(plain.names)
    if both:
        law: RowLaw = BothLaw(k, effects.alone)
        m = k - 1
        # The problem has the coefficients of all plain predictors first, while people read coefficients outcome by
        # outcome.
        order = [
            place
            for a in range(m)
            for place in (*range(a * p, (a + 1) * p), *range(m * p + a * q, m * p + (a + 1) * q))
        ]
        names, roles = material.equations((*plain.names, *effects.alone_names))
        deviations = np.tile(np.concatenate([scaling.deviations, slopes]), m)
        turned = np.zeros((m * (p + q),) * 2)
        turned[: m * p, : m * p] = np.kron(np.eye(m), own)
        turned[m * p :, m * p :] = np.eye(m * q)
        turned = turned[order]
        start = np.zeros(m * (p + q))
        outcome_shares = every.reshape(k, cells).sum(axis=1)
        if plain.intercept is not None:
            start[plain.intercept : m * p : p] = np.log(outcome_shares[1:] / outcome_shares[0])
        categories = material.categories
    else:
        family = cast(Family, model)
        law = PredictorLaw(family, effects.alone)
        extra = ("log sigma",) if family == "linear" else ()
        names = (*plain.names, *effects.alone_names, *extra)
        roles = tuple(role_of(name) for name in names[: p + q]) + many("scale", len(extra))
        unit = np.ones(p + q + len(extra))
        if family == "linear":
            unit[: p + q] = size_of(material.outcome)
        deviations = np.concatenate([scaling.deviations, slopes, np.ones(len(extra))]) / unit
        turned = np.eye(p + q + len(extra))
        turned[:p, :p] = own
        start = _start_of(family, material, p, q)
        categories = material.outcome_labels
    size = len(turned)
    unit = np.concatenate([np.ones(size) if both else unit, np.ones(class_start.size)])
    whole = np.zeros((size + class_start.size,) * 2)
    whole[:size, :size] = turned
    whole[size:, size:] = np.kron(np.eye(cells - 1), class_turned)
    parameters = Parameters(
        (*names, *class_parameters),
        (*roles, *many("class", len(class_parameters))),
        whole,
        np.concatenate([deviations, np.ones(len(class_parameters))]),
        unit,
    )
    problem = MixtureProblem(law, designs, likelihood, material.outcome, material.weights)
    begin = np.concatenate([start, class_start.ravel()])
    return Built(problem, begin, parameters, model, "ml", categories, scaling, effects, listed if both else None)


def size_of(outcome: Floats) -> float:
    """Return the root mean square of a linear model's outcome, in whose units its coefficients are."""
    # numpy's own sum has an order that does not depend on threads.
    return float(np.sqrt(np.mean(np.square(outcome)))) or 1.0


def _start_of(family: str, material: Material, p: int, q: int) -> Floats:
    start, y = np.zeros(p + q + (family == "linear")), material.outcome
    place = material.plain.intercept
    if place is not None:
        mean = float(y.mean())
        if family == "logit":
            mean = float(np.clip(mean, _SHARE_LOW, _SHARE_HIGH))
            start[place] = np.log(mean / (1 - mean))
        else:
            start[place] = np.log(max(mean, 1e-3)) if family == "poisson" else mean
    if family == "linear":
        start[-1] = np.log(max(float(y.std()), 1e-12))
    return start


def build_weighted(material: Material, indicators: ReportIndicators, model: str) -> Built:
    """Return the estimating equations with unbiased indicators."""
    plain, values, effects = material.plain, material.values, material.effects
    scaling = standardise(values, plain.intercept, centred=False)
    n, p = values.shape
    cells, q = effects.alone.shape
    columns = p + q + len(effects.mixed)
    copies = []
    mixed_values = [scaling.means[place] + scaling.deviations[place] * values[:, place] for _, place in effects.mixed]
    for cell in range(cells):
        on = [number for number, (factor, _) in enumerate(effects.mixed) if factor[cell]]
        places = np.concatenate([np.arange(p, p + q), p + q + np.array(on, dtype=np.int64)]).astype(np.int64)
        constant = np.broadcast_to(effects.alone[cell], (n if on else 1, q))
        own = np.concatenate([constant, *(mixed_values[number][:, None] for number in on)], axis=1)
        copies.append(Copy(places, own))
    totals, responses, categories = _responses(material, indicators, model, cells)
    m = responses.shape[2]
    link: Link = "linear" if model == "linear" else "poisson" if model == "poisson" else "logit"
    problem = WeightedProblem(link, columns, np.arange(p), values, copies, totals, responses, material.weights)
    one = np.eye(columns)
    one[:p, :p] = scaling.turned()
    column_names = (*plain.names, *effects.alone_names, *effects.mixed_names)
    labels = categories[1:] if m > 1 or categories else ("",)
    names = tuple(f"{label}: {name}" if m > 1 else name for label in labels[:m] for name in column_names)
    counted = material.weights.product
    shares = clipped(totals.mean(axis=0) if counted is None else np.einsum("i,ic->c", counted, totals) / counted.sum())
    deviations = np.concatenate(
        [
            scaling.deviations,
            _effect_deviations(effects, shares),
            np.array(
                [
                    scaling.deviations[place] * np.sqrt(max(float(factor @ shares), 1e-12))
                    for factor, place in effects.mixed
                ]
            ),
        ]
    )
    unit = np.full(m * columns, size_of(responses.sum(axis=(1, 2))) if link == "linear" else 1.0)
    parameters = Parameters(
        names,
        tuple(role_of(name) for _ in range(m) for name in column_names),
        np.asarray(np.kron(np.eye(m), one), dtype=np.float64),
        np.tile(deviations, m) / unit,
        unit,
    )
    start = np.zeros((m, columns))
    if plain.intercept is not None:
        mean = responses.sum(axis=(0, 1)) / max(totals.sum(), 1e-300)
        if link == "logit":
            inside = clipped(np.concatenate([[1 - mean.sum()], mean]))
            start[:, plain.intercept] = np.log(inside[1:] / inside[0])
        else:
            start[:, plain.intercept] = np.log(np.maximum(mean, 1e-3)) if link == "poisson" else mean
    return Built(problem, start.ravel(), parameters, model, "weights", categories, scaling, effects)


def _responses(
    material: Material, indicators: ReportIndicators, model: str, cells: int
) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Return the copies' weights [n, cells], weighted outcomes [n, cells, m], and the outcome's labels."""
    formula = material.formula
    if not formula.randomised_outcome:
        totals = indicators.values
        return totals, totals[:, :, None] * material.outcome[:, None, None], material.outcome_labels
    attribute, categories = material.attributes[formula.outcome], material.categories
    own = indicators.values.reshape(len(indicators.values), len(categories), cells)
    if model == "linear":
        scores = attribute.code_scores
        if scores is None:
            raise InvalidParameterError(
                f"{formula.outcome} must have a score for each category in a linear model, but the schema has no "
                'scores; use model="multinomial"',
                parameters=('model="multinomial"',),
            )
        scores = scores[[attribute.labels.index(label) for label in categories]]
        known = np.isfinite(scores)
        responses = np.einsum("nac,a->nc", own[:, known], scores[known])[:, :, None]
        if cells == 1 and known.all() and not material.silent:
            # There is one copy, whose weight is known to be one.
            return indicators.asked[:, None].astype(np.float64), responses, ()
        return own[:, known].sum(axis=1), responses, ()
    responses = own[:, 1:].swapaxes(1, 2)
    if cells == 1 and not material.silent:
        return indicators.asked[:, None].astype(np.float64), responses, categories
    return own.sum(axis=1), responses, categories


def check_model(
    model: str,
    method: str,
    formula: ModelFormula,
    attribute: Attribute | None,
    outcome: Floats,
    silent: Sequence[str] = (),
) -> tuple[str, str]:
    """Return the model and the method, or raise an error if they do not fit the outcome.

    `silent` names the attributes whose category "no answer" is left out.

    Raises
    ------
    InvalidParameterError
        If the model does not suit the outcome, or the method does not suit the model.
    NotIdentifiedError
        If an ordered model has categories without a place in the order.
    """
    predictors = bool(formula.predictors)
    if attribute is not None:
        k = len(answered_labels(attribute, attribute.name in silent))
        if k < 2:
            raise InvalidParameterError(
                f'{attribute.name} must have at least two categories besides "no answer" if missing="drop", got {k}'
            )
        chosen = _outcome_model(model, method, attribute, k, predictors)
    else:
        binary = bool(np.isin(outcome, (0.0, 1.0)).all())
        chosen = ("logit" if binary else "linear") if model == "auto" else model
        if chosen not in ("logit", "linear", "poisson"):
            raise InvalidParameterError(
                f'model must be "logit", "linear" or "poisson", got model={quoted(model)}: the outcome '
                f"{formula.outcome} is a plain column"
            )
        if chosen == "logit" and not binary:
            raise InvalidParameterError(
                f'model must be "linear" or "poisson", got model={quoted(model)}: the outcome has numbers other than 0 '
                "and 1"
            )
        if chosen == "poisson" and ((outcome < 0).any() or (outcome != np.round(outcome)).any()):
            raise InvalidParameterError(
                'model must be "linear", got model="poisson": the outcome has numbers that are not whole numbers >= 0'
            )
    if method == "auto" and attribute is not None and predictors:
        raise InvalidParameterError(
            'method must be "ml" or "weights" if the outcome and a predictor are randomised, got method="auto". "ml" '
            'is more precise; "weights" assumes nothing about how the predictor depends on plain columns'
        )
    scores = chosen == "linear" and attribute is not None
    way = ("weights" if predictors or scores else "ml") if method == "auto" else method
    if way == "ml" and scores:
        raise InvalidParameterError('method must be "weights" for a linear model of scores, got method="ml"')
    if way == "ml" and formula.mixed:
        raise InvalidParameterError(
            'method must be "weights" for interactions of randomised and plain columns, got method="ml"'
        )
    if way == "ml" and set(silent) & set(formula.predictors):
        raise InvalidParameterError(
            'method must be "weights" for missing="drop" with a randomised predictor, got method="ml"'
        )
    if way == "weights" and chosen == "ordered":
        raise InvalidParameterError('method must be "ml" for an ordered model, got method="weights"')
    return chosen, way


def _outcome_model(model: str, method: str, attribute: Attribute, k: int, predictors: bool) -> str:
    ranked = attribute.question_kind.in_order(attribute) and not attribute.unranked
    chosen = model
    if model == "auto":
        if k == 2:
            chosen = "logit"
        elif attribute.ask == "mean":
            chosen = "linear"
        else:
            chosen = "ordered" if ranked and not predictors and method != "weights" else "multinomial"
    if chosen == "poisson":
        raise InvalidParameterError(
            'model must be a model for categories, such as "multinomial", got model="poisson": the outcome '
            f"{attribute.name} has categories"
        )
    if chosen == "logit" and k > 2:
        raise InvalidParameterError(
            f'model must be "multinomial" or "ordered" for the {k} categories of {attribute.name}, got model="logit"'
        )
    if chosen == "ordered" and attribute.unranked:
        raise NotIdentifiedError(
            f'some answers of {attribute.name} have no place in its order; use model="multinomial", which needs no '
            "order",
            parameters=('model="multinomial"',),
        )
    if chosen == "ordered" and predictors:
        raise InvalidParameterError('model must be "multinomial" with a randomised predictor, got model="ordered"')
    return chosen

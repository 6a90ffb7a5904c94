"""A fitted model: coefficients, standard errors, intervals, tests, predictions and effects."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from deniable.core.checks import checked_probability
from deniable.core.privacy import Guarantee
from deniable.core.report_likelihood import DealtTypes, ReportLikelihood
from deniable.errors import InvalidInputError, InvalidParameterError, NoIntervalError, quoted
from deniable.models.building import Built
from deniable.models.formulas import ModelFormula, PlainColumns
from deniable.models.intervals import HeldFixed
from deniable.models.maximising import FAR, SMALLEST, Solution, Starts, scaled_information
from deniable.models.predicting import interval_of, predicted
from deniable.models.problem import MixtureProblem, inverse
from deniable.models.row_laws import Floats

if TYPE_CHECKING:
    import pandas

    from deniable.models.summary import FitSummary

CovType = Literal["sandwich", "observed", "opg", "expected"]
IntervalKind = Literal["auto", "wald", "score", "profile"]

WARN_ERROR, MOST_ERROR, CHECKED_ERROR = 0.3, 0.7, 0.1
"""Limits of standard errors per standard deviation of a column. Above the first, score intervals and a warning are
used. Above the second, a fit needs force. Above the third, a coefficient is determined only if its score interval has
ends."""

FEWEST_CLUSTERS, ENOUGH_CLUSTERS = 20, 50

_MOST_SCORED = 50_000_000
"""Rows times listed reports up to which scores are projected by the expected information."""


class LikelihoodRatio(NamedTuple):
    """A likelihood ratio test of two nested models.

    Attributes
    ----------
    statistic : float
        Twice the difference of the log likelihoods.
    degrees : int
        Number of additional parameters in the larger model.
    p_value : float
        Probability of at least this statistic if the smaller model is true.
    """

    statistic: float
    degrees: int
    p_value: float


class Test(NamedTuple):
    """A test that coefficients have given values.

    Attributes
    ----------
    statistic : float
        Chi-squared, or F with clusters.
    degrees : int
        Number of coefficients.
    p_value : float
        Probability of at least this statistic if they have these values.
    """

    statistic: float
    degrees: int
    p_value: float


@dataclass(frozen=True, eq=False)
class Source:
    """Rows and promises behind a model.

    Parameters
    ----------
    table : pandas.DataFrame
        The plain columns of the rows that were used.
    rows, dropped : int
        Rows that were read, and those left out because a value was missing.
    clusters : int64[n] or None
        Cluster of each row, from 0 on.
    sampling, frequency : bool
        Whether rows have sampling weights, or stand for several equal ones.
    dealt : DealtTypes or None
        How reports depend on each other.
    guarantee : Guarantee
        What was promised to the contributors.
    statement : str
        The privacy statement.
    collection, title : str
        Id and title of the collection.
    reference : dict of str to sequence of str
        Labels of every randomised attribute.
    """

    table: pandas.DataFrame
    rows: int
    dropped: int
    clusters: NDArray[np.int64] | None
    sampling: bool
    frequency: bool
    dealt: DealtTypes | None
    guarantee: Guarantee
    statement: str
    collection: str
    title: str
    labels: dict[str, tuple[str, ...]]


class Fit:
    """A fitted model, as `fit` returns it.

    Attributes
    ----------
    model : str
        "logit", "multinomial", "ordered", "linear" or "poisson".
    method : str
        "ml" or "weights".
    cov_type : str
        Kind of standard errors.
    n : int
        Number of rows that were used.
    llf : float
        Log likelihood of the reports, given the public parts of each report: its hash function, and which attribute was
        asked. NaN for the method "weights".
    expected_error : float or None
        Largest expected standard error of a slope, if every column has standard deviation 1. It assumes the overall
        shares of the outcome's categories and no effects. None if it is not defined.
    starts : Starts
        Numbers of starting points that were tried, and that led to the same maximum.
    """

    def __init__(
        self,
        formula: ModelFormula,
        plain: PlainColumns,
        built: Built,
        solution: Solution,
        starts: Starts,
        source: Source,
        cov_type: CovType,
        expected_error: float | None,
        warnings: Sequence[str],
    ) -> None:
        self.formula = formula.text
        self.model, self.method, self.cov_type = built.model, built.method, cov_type
        self.n, self.starts, self.expected_error = built.problem.n, starts, expected_error
        self.llf = solution.evaluation.value if built.problem.is_likelihood else math.nan
        self.source = source
        self._formula, self._plain, self._built, self._solution = formula, plain, built, solution
        self._warnings = list(warnings)
        self._held: dict[int, HeldFixed] = {}

    def __repr__(self) -> str:
        """Return model, formula and number of rows."""
        return f"Fit({self.formula!r}, model={self.model!r}, method={self.method!r}, n={self.n:,})"

    # ---------------------------------------------------------------- coefficients

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters."""
        return self._built.parameters.names

    @cached_property
    def params(self) -> pandas.Series:
        """Estimated coefficients, as a pandas Series."""
        import pandas

        return pandas.Series(self._built.parameters.turned @ self._solution.theta, index=list(self.names))

    @property
    def shown(self) -> NDArray[np.int64]:
        """Positions of the model's own parameters, without those that only describe a randomised predictor."""
        return self._built.parameters.places("slope", "intercept", "cut", "scale")

    @property
    def slopes(self) -> NDArray[np.int64]:
        """Positions of the slopes."""
        return self._built.parameters.places("slope")

    @property
    def converged(self) -> bool:
        """True if a finite maximum was found, with positive definite information."""
        return self._solution.converged

    @cached_property
    def _covariance(self) -> Floats:
        """Covariance of the public parameters, NaN where none was found."""
        size = self._built.problem.size
        scaled, _ = scaled_information(self._solution.evaluation.hessian)
        if not self.converged or np.linalg.eigvalsh(scaled)[0] < SMALLEST:
            return np.full((size, size), np.nan)
        turned = self._built.parameters.turned
        return turned @ self._inner_covariance() @ turned.T

    def _inner_covariance(self) -> Floats:
        theta, information = self._solution.theta, -self._solution.evaluation.hessian
        if self.cov_type == "observed":
            return inverse(information)
        if self.cov_type == "opg":
            return inverse(self._built.problem.middle(theta))
        if self.cov_type == "expected":
            return inverse(self._expected_information(theta))
        bread = inverse(information)
        return bread @ self._middle(theta) @ bread

    def _middle(self, theta: Floats) -> Floats:
        found = self._built.problem.middle(theta, self.source.clusters)
        problem = self._built.problem
        if self.source.dealt is not None and isinstance(problem, MixtureProblem) and not self._formula.predictors:
            found = found + dealt_correction(problem, theta, self.source.dealt)
        return found

    def _expected_information(self, theta: Floats) -> Floats:
        problem = self._built.problem
        assert isinstance(problem, MixtureProblem)
        assert self._built.listed is not None
        return problem.expected(theta, self._built.listed)

    @cached_property
    def undetermined(self) -> tuple[str, ...]:
        """Names of the coefficients that the reports do not determine. Their intervals have an infinite end."""
        parameters, covariance = self._built.parameters, self._covariance
        if np.isnan(covariance).any():
            return tuple(self.names[place] for place in self.shown)
        found, errors = [], np.sqrt(np.maximum(np.diag(covariance), 0.0))
        critical = float(stats.chi2.ppf(0.95, 1))
        for place in self.slopes:
            if errors[place] * parameters.deviations[place] > CHECKED_ERROR:
                held = self._fixed(int(place))
                if not all(held.closes(side, critical) for side in (-1, 1)):
                    found.append(self.names[place])
        return tuple(found)

    @property
    def determined(self) -> bool:
        """True if all coefficients are determined. "Not determined" does not mean "no effect"."""
        return not self.undetermined

    @cached_property
    def bse(self) -> pandas.Series:
        """Standard errors; NaN for coefficients that are not determined."""
        import pandas

        errors = np.sqrt(np.maximum(np.diag(self._covariance), 0.0))
        errors[[self.names.index(name) for name in self.undetermined]] = np.nan
        return pandas.Series(errors, index=list(self.names))

    def cov_params(self) -> pandas.DataFrame:
        """Return the covariance matrix of all parameters; NaN if no maximum was found."""
        import pandas

        return pandas.DataFrame(self._covariance, index=list(self.names), columns=list(self.names))

    @property
    def tvalues(self) -> pandas.Series:
        """Coefficients divided by their standard errors."""
        return self.params / self.bse

    @cached_property
    def pvalues(self) -> pandas.Series:
        """Two-sided p-values for the hypothesis that a coefficient is zero; `interval_kind` names the kind of test."""
        import pandas

        found = 2 * self._tail(np.abs(self.tvalues.to_numpy()))
        if self.interval_kind == "score":
            for place in self.slopes:
                found[place] = self.score_test(self.names[place]).p_value
        return pandas.Series(found, index=list(self.names))

    @property
    def _degrees(self) -> float:
        """Degrees of freedom of Wald's statistics: one less than clusters, infinitely many without."""
        return math.inf if self.source.clusters is None else float(self.source.clusters.max())

    def _tail(self, values: Any) -> Any:
        return stats.norm.sf(values) if math.isinf(self._degrees) else stats.t.sf(values, self._degrees)

    def _quantile(self, confidence: float) -> float:
        share = 0.5 + confidence / 2
        found = stats.norm.ppf(share) if math.isinf(self._degrees) else stats.t.ppf(share, self._degrees)
        return float(found)

    # ---------------------------------------------------------------- intervals

    @cached_property
    def largest_error(self) -> float:
        """Largest standard error of a slope, expected or found, if every column has standard deviation 1."""
        errors = np.sqrt(np.maximum(np.diag(self._covariance), 0.0)) * self._built.parameters.deviations
        found = float(errors[self.slopes].max()) if len(self.slopes) else 0.0
        return max(found if math.isfinite(found) else math.inf, self.expected_error or 0.0)

    @cached_property
    def interval_kind(self) -> Literal["wald", "score"]:
        """Kind of intervals that `conf_int` gives for slopes by default."""
        return "score" if self.undetermined or self.largest_error > WARN_ERROR else "wald"

    def conf_int(self, alpha: float = 0.05, method: IntervalKind = "auto") -> pandas.DataFrame:
        """Return the intervals of all parameters, in columns "lower" and "upper".

        Parameters
        ----------
        alpha : float
            One minus the confidence level.
        method : {"auto", "wald", "score", "profile"}
            "auto" gives Wald's intervals if standard errors are small and everything is determined. Otherwise it gives
            score intervals of the slopes, whose ends may be infinite. "profile" compares log likelihoods.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of bounds.
        NoIntervalError
            If log likelihoods cannot be compared. This is so with sampling weights, clusters or a dealer, and with the
            method "weights". Also if standard errors are so large that profile intervals would contain the truth too
            rarely.
        """
        import pandas

        checked_probability("alpha", alpha, open_interval=True)
        if method not in ("auto", "wald", "score", "profile"):
            raise InvalidParameterError(
                f'method must be "auto", "wald", "score" or "profile", got method={quoted(method)}'
            )
        kind = self.interval_kind if method == "auto" else method
        if kind == "profile":
            self._check_likelihood("a profile interval")
            if self.largest_error > WARN_ERROR:
                raise NoIntervalError(
                    f"a profile interval needs every slope to have a standard error of at most {WARN_ERROR} per "
                    f'standard deviation of its column, but the largest is {self.largest_error:.2g}; use method="score"'
                )
        reach = self._quantile(1 - alpha) * np.sqrt(np.maximum(np.diag(self._covariance), 0.0))
        values = self.params.to_numpy()
        ends = np.stack([values - reach, values + reach], axis=1)
        if kind == "wald":
            ends[[self.names.index(name) for name in self.undetermined]] = np.nan
        else:
            critical = self._quantile(1 - alpha) ** 2
            places = self.slopes if kind == "score" else self.shown
            for place in places:
                held = self._fixed(int(place))
                ends[place] = held.end(-1, critical, kind), held.end(1, critical, kind)
        return pandas.DataFrame(ends, index=list(self.names), columns=["lower", "upper"])

    def _fixed(self, place: int) -> HeldFixed:
        if place not in self._held:
            parameters, built = self._built.parameters, self._built
            deviation = parameters.deviations[place]
            error = float(np.sqrt(max(self._covariance[place, place], 0.0)))
            width = error if math.isfinite(error) and error > 0 else 0.5 / deviation
            scale = np.broadcast_to(1 / parameters.unit, built.problem.size)
            self._held[place] = HeldFixed(
                built.problem,
                parameters.turned[place],
                self._solution.theta,
                min(width, FAR / deviation / 4),
                FAR / deviation,
                scale,
                self._middle,
                self._information(),
                not max(error * deviation, self.expected_error or 0.0) <= WARN_ERROR,
            )
        return self._held[place]

    def _information(self) -> Callable[[Floats, Floats], Floats]:
        """Return what `HeldFixed` takes for the information at given parameters."""
        built = self._built
        if built.listed is not None and self.n * len(built.listed.relative) <= _MOST_SCORED:
            return lambda theta, _: self._expected_information(theta)
        if built.problem.is_likelihood:
            return lambda _, middle: middle
        return lambda theta, _: -built.problem.evaluate(theta).hessian

    def _check_likelihood(self, what: str) -> None:
        source = self.source
        if not self._built.problem.is_likelihood:
            raise NoIntervalError(
                f'{what} needs a likelihood, but a fit with method="weights", or with two reports from each person, '
                "has no likelihood: use score intervals"
            )
        if source.sampling or source.clusters is not None or source.dealt is not None:
            raise NoIntervalError(
                f"{what} needs independent rows without sampling weights; use score intervals and Wald tests"
            )

    # ---------------------------------------------------------------- tests

    def score_test(self, name: str, value: float = 0.0) -> Test:
        """Return the score test that a coefficient has a given value."""
        found = self._fixed(self._place(name)).score_statistic(value)
        return Test(found, 1, float(2 * self._tail(math.sqrt(found))))

    def wald_test(self, names: Sequence[str]) -> Test:
        """Return Wald's test that several coefficients are zero (with G clusters: F, G - 1 degrees of freedom).

        Raises
        ------
        InvalidParameterError
            If there are no names, a name is given twice, or a name is not a coefficient.
        """
        if isinstance(names, str) or not len(names) or len(set(names)) < len(names):
            raise InvalidParameterError(
                f"names must list one or more different coefficients, got names={quoted(names)}"
            )
        places = [self._place(name) for name in names]
        values, covariance = self.params.to_numpy()[places], self._covariance[np.ix_(places, places)]
        if np.isnan(covariance).any() or set(names) & set(self.undetermined):
            return Test(math.nan, len(places), math.nan)
        found = float(values @ np.linalg.solve(covariance, values))
        if math.isinf(self._degrees):
            return Test(found, len(places), float(stats.chi2.sf(found, len(places))))
        found /= len(places)
        return Test(found, len(places), float(stats.f.sf(found, len(places), self._degrees)))

    def compare(self, smaller: Fit) -> LikelihoodRatio:
        """Return the likelihood ratio test against a model of the same rows with fewer terms.

        Raises
        ------
        NoIntervalError
            If log likelihoods cannot be compared. This is so with sampling weights, clusters or a dealer, and with the
            method "weights". Also if standard errors are so large that the test would mislead.
        InvalidParameterError
            If the other model is not nested in this model, or uses other rows.
        """
        for one in (self, smaller):
            one._check_likelihood("a likelihood ratio")
            if one.largest_error > WARN_ERROR:
                raise NoIntervalError(
                    f"a likelihood ratio needs every slope to have a standard error of at most {WARN_ERROR} per "
                    f"standard deviation of its column, but the largest is {one.largest_error:.2g}; use score_test"
                )
        nested = set(smaller.names) <= set(self.names) and (smaller.model, smaller.source.collection) == (
            self.model,
            self.source.collection,
        )
        if not nested or len(smaller.names) == len(self.names):
            raise InvalidParameterError(
                "`smaller` must be nested in this model: the same kind of model for the same collection, with only "
                "some of the terms. Leave some terms out of this model's formula, and fit that smaller model"
            )
        if self.source.table.index.tolist() != smaller.source.table.index.tolist():
            raise InvalidParameterError(
                f"smaller must be fitted to the same rows, got {smaller.n:,} rows instead of {self.n:,}; drop the rows "
                "with missing values in the columns of this formula, and fit both models again"
            )
        statistic, degrees = max(2 * (self.llf - smaller.llf), 0.0), len(self.names) - len(smaller.names)
        return LikelihoodRatio(statistic, degrees, float(stats.chi2.sf(statistic, degrees)))

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise InvalidParameterError(
                f"name must be one of the coefficients {', '.join(self.names)}, got name={quoted(name)}"
            )
        return self.names.index(name)

    # ---------------------------------------------------------------- predictions

    @property
    def _categories(self) -> tuple[str, ...]:
        return self._built.categories

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """Names of the predictions: the outcome's categories, or "mean"."""
        if self.model in ("linear", "poisson"):
            return ("mean",)
        return self._categories or ("0", "1")

    @cached_property
    def _own(self) -> NDArray[np.int64]:
        """Places of the coefficients that predictions depend on."""
        return self._built.parameters.places("slope", "intercept", "cut")

    def _design(self, table: pandas.DataFrame, cell: int | NDArray[np.int64]) -> Floats:
        """Return all columns of rows, the predictors' cell given for all or for each."""
        plain, effects = self._plain.matrix(table), self._built.effects
        if self.model == "ordered":
            return np.delete(plain, [] if self._plain.intercept is None else [self._plain.intercept], axis=1)
        cells = np.broadcast_to(cell, len(table))
        mixed = [(factor[cells] * plain[:, place])[:, None] for factor, place in effects.mixed]
        return np.concatenate([plain, effects.alone[cells], *mixed], axis=1)

    def _cells(self, table: pandas.DataFrame) -> NDArray[np.int64]:
        """Return the predictors' cell of each row of a table that has their labels."""
        cells = np.zeros(len(table), dtype=np.int64)
        for name in self._formula.predictors:
            labels = self.source.labels[name]
            if name not in table.columns:
                raise InvalidInputError(
                    f"the table must have the column {quoted(name)}, with one of {', '.join(labels)} in every row"
                )
            known = {label: code for code, label in enumerate(labels)}
            values = [known.get(str(value), -1) for value in table[name]]
            if min(values, default=0) < 0:
                row = values.index(-1)
                raise InvalidInputError(
                    f"{name} must be one of {', '.join(labels)}, got something else in row {row + 1}"
                )
            cells = cells * len(labels) + np.array(values, dtype=np.int64)
        return cells

    def predict(self, people: Any, interval: float | None = None) -> pandas.DataFrame:
        """Return predicted probabilities of the outcome's categories, or its mean, for rows of plain columns.

        Predictions never use a person's report, because they would be guesses about single contributors. For a
        randomised predictor, give a column of labels. Each label is an answer that the prediction assumes.

        Parameters
        ----------
        people : table
            Table in a form that `fit` allows, with the same columns.
        interval : float, optional
            Confidence level. It adds the columns "standard_error", "lower" and "upper".

        Returns
        -------
        pandas.DataFrame
            Table with a row for each row of `people` and a column for each category. With an interval: table with a row
            for each pair of a row of `people` and a category.

        Raises
        ------
        InvalidInputError
            If a column that the formula needs is missing.
        """
        import pandas

        from deniable.models.reading import frame_of

        table = frame_of(people).reset_index(drop=True)
        missing = sorted(self._right_columns - set(table.columns))
        if missing:
            raise InvalidInputError(
                f"the table must have all plain columns of the formula, but lacks {quoted(missing)}"
            )
        found = predicted(self.model, self.params.to_numpy()[self._own], self._design(table, self._cells(table)))
        names = list(self.outcome_names)
        if interval is None:
            return pandas.DataFrame(found.values, columns=names)
        level = checked_probability("interval", interval, open_interval=True)
        covariance = self._covariance[np.ix_(self._own, self._own)]
        errors, lower, upper = interval_of(self.model, found, covariance, self._quantile(level))
        rows = np.repeat(np.arange(len(table)), len(names))
        columns = {"row": rows, "outcome": names * len(table), "value": found.values.ravel()}
        return pandas.DataFrame(
            {**columns, "standard_error": errors.ravel(), "lower": lower.ravel(), "upper": upper.ravel()}
        )

    def marginal_effects(self, confidence: float = 0.95) -> pandas.DataFrame:
        """Return average effects of each variable on the predicted probabilities or the mean.

        For numbers the effect is the mean slope over all rows. For 0/1 columns, categories and randomised predictors it
        is the mean difference from the first value. Standard errors are by the delta method.

        Returns
        -------
        pandas.DataFrame
            Columns "variable", "outcome", "effect", "standard_error", "lower", "upper".
        """
        import pandas

        level = checked_probability("confidence", confidence, open_interval=True)
        quantile, covariance = self._quantile(level), self._covariance[np.ix_(self._own, self._own)]
        rows: list[tuple[str, str, float, float, float, float]] = []
        for variable, low, high, span in self._contrasts():
            up, down = (self._mean_prediction(*one) for one in (high, low))
            effect = (up[0] - down[0]) / span
            jacobian = (up[1] - down[1]) / span
            errors = np.sqrt(np.maximum(np.einsum("vp,pq,vq->v", jacobian, covariance, jacobian), 0.0))
            for name, value, error in zip(self.outcome_names, effect, errors, strict=True):
                rows.append((variable, name, value, error, value - quantile * error, value + quantile * error))
        return pandas.DataFrame(rows, columns=["variable", "outcome", "effect", "standard_error", "lower", "upper"])

    def _mean_prediction(self, table: pandas.DataFrame, cell: int | NDArray[np.int64]) -> tuple[Floats, Floats]:
        found = predicted(self.model, self.params.to_numpy()[self._own], self._design(table, cell))
        return found.values.mean(axis=0), found.jacobian.mean(axis=0)

    def _contrasts(self) -> Any:
        """Yield name, the lower and the upper scenario, and how far apart they are."""
        table, cells = self._sampled, int(self._built.effects.alone.shape[0])
        typical = self._typical_cell
        for name in self._formula.columns:
            if name not in self._right_columns:
                continue
            column = table[name]
            values = column.dropna().unique()
            numeric = column.dtype.kind in "iuf"
            if numeric and not set(values) <= {0, 1}:
                step = 1e-4 * float(column.std())
                low, high = table.assign(**{name: column - step}), table.assign(**{name: column + step})
                yield name, (low, typical), (high, typical), 2 * step
                continue
            first, *others = sorted(values)
            for other in others:
                low, high = (table.assign(**{name: one}) for one in (first, other))
                named = name if set(values) <= {0, 1} else f"{name}: {other} against {first}"
                yield named, (low, typical), (high, typical), 1.0
        if cells > 1 and len(self._formula.predictors) == 1:
            (name,) = self._formula.predictors
            labels = self.source.labels[name]
            for cell in range(1, cells):
                yield f"{name}: {labels[cell]} against {labels[0]}", (table, 0), (table, cell), 1.0

    @property
    def _right_columns(self) -> set[str]:
        return {str(one) for one in self._formula.plain.required_variables}

    @cached_property
    def _sampled(self) -> pandas.DataFrame:
        """The rows that effects are averaged over: all, or a random 50,000."""
        table = self.source.table
        return table if len(table) <= 50_000 else table.sample(50_000, random_state=1)

    @property
    def _typical_cell(self) -> int:
        """The cell at which plain variables' effects are taken: the reference of every predictor."""
        return 0

    # ---------------------------------------------------------------- statements and summaries

    @property
    def privacy_statement(self) -> str:
        """Privacy statement to show before any result."""
        return self.source.statement

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings to read before the numbers."""
        found = list(self._warnings)
        if self.starts.tried > 1 and self.starts.agree < self.starts.tried:
            found.append(
                f"{self.starts.agree} of {self.starts.tried} starts led to this maximum; there may be several maxima"
            )
        if self.interval_kind == "score" and not self.undetermined:
            found.append(
                f"standard errors are large ({self.largest_error:.2g} per standard deviation of a column): intervals "
                "and p-values are those of score tests"
            )
        if self.undetermined and not self.converged:
            found.append("no maximum was found: read the intervals, not the coefficients")
        return tuple(found)

    def summarize(self, confidence: float = 0.95) -> FitSummary:
        """Return the privacy statement, coefficients, warnings and sentences as data."""
        from deniable.models.summary import summarize_fit

        return summarize_fit(self, confidence)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The coefficients in words."""
        return self.summarize().sentences

    def summary(self, confidence: float = 0.95) -> str:
        """Return a table to print, with the privacy statement, the coefficients, and sentences about them."""
        return self.summarize(confidence).text()


def dealt_correction(problem: MixtureProblem, theta: Floats, dealt: DealtTypes) -> Floats:
    """Return what the dependence of dealt reports adds to the middle of the sandwich.

    The sum over types u, w of (P(u, w) - P(u) P(w)) (M_u M_w' - sum_i m_iu m_iw'), m_iu the score of row i if its type
    is u, for "truth" its mean under the fitted model, and M_u the sum over rows.
    """
    k, size = problem.law.cells, problem.size
    total, within = np.zeros((k + 1, size)), np.zeros((size, size))
    own = np.unique(problem.likelihood.relative)
    high, low = own[-1], own[0]
    for start in range(0, problem.n, problem.block_rows):
        rows = slice(start, min(start + problem.block_rows, problem.n))
        length = rows.stop - rows.start
        part = problem.subset(np.arange(rows.start, rows.stop))
        scores = np.empty((length, k + 1, size))
        for code in range(k):
            told = np.full((length, k), low)
            told[:, code] = high
            reported = ReportLikelihood(told, np.zeros(length), np.ones(length, dtype=np.bool_))
            scores[:, code] = part.told_by(reported).scores(theta, slice(0, length))
        chances = part.law.cell_probabilities(part.numbers(theta, slice(0, length)))
        saying = dealt.truth * chances + dealt.lie * (1 - chances)
        scores[:, k] = np.einsum("nc,ncp->np", saying, scores[:, :k])
        total += scores.sum(axis=0)
        mixed = np.einsum("uw,nwp->nup", dealt.covariance, scores)
        within += scores.reshape(-1, size).T @ mixed.reshape(-1, size)
    return total.T @ dealt.covariance @ total - within

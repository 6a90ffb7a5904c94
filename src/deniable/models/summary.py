"""Summary of a fitted model as data: privacy statement, coefficients, and their meaning in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from deniable.core.checks import checked_probability
from deniable.core.privacy import Guarantee
from deniable.core.result import HIDDEN, OPTIONAL, Result
from deniable.errors import quoted


@dataclass(frozen=True, eq=False)
class Coefficient(Result):
    """Row of the table of coefficients.

    Parameters
    ----------
    name : str
        Name that the formula gives.
    role : {"slope", "intercept", "cut", "scale"}
        Role of the coefficient.
    value, standard_error, p_value, lower, upper : float
        Estimate, standard error, p-value and ends of the interval; NaN where a number does not exist.
    lower_infinite, upper_infinite : bool
        True if the interval has no end on this side.
    determined : bool
        True if the reports determine the coefficient.
    """

    name: str
    role: str
    value: float
    standard_error: float
    p_value: float
    lower: float
    upper: float
    lower_infinite: bool
    upper_infinite: bool
    determined: bool


@dataclass(frozen=True, eq=False)
class FitSummary(Result):
    """A fitted model with warnings and sentences, as `Fit.summarize` returns it.

    Parameters
    ----------
    privacy_statement : str
        Privacy statement to show before any result.
    formula, model, method, cov_type : str
        Formula, model, method, and kind of standard errors.
    title, collection : str
        Title and id of the collection.
    outcome : str
        Left side of the formula.
    categories : tuple of str
        Categories of the outcome, with the reference first. Empty for numbers.
    rows, dropped, used : int
        Numbers of rows that were read, left out because of missing values, and used.
    confidence : float
        Level of the intervals.
    interval_kind : {"wald", "score"}
        Kind of the slopes' intervals.
    coefficients : tuple of Coefficient
        Coefficients of the model, without the coefficients that only describe a randomised predictor.
    determined : bool
        Whether all coefficients are determined.
    converged : bool
        Whether a maximum was found.
    log_likelihood : float
        Log likelihood. NaN for the method "weights".
    starts, agree : int
        Numbers of starting points that were tried, and that led to the same maximum.
    expected_error : float
        See `Fit`. NaN if it is not defined.
    warnings, sentences : tuple of str
        Warnings to read before the numbers, and sentences about the numbers.
    guarantee : Guarantee
        Guarantee for the contributors.
    effects, predictions : tuple of dict
        Rows of `Fit.marginal_effects` and of `Fit.predict`, if they were asked for.
    """

    format: ClassVar[str] = "deniable fit"

    privacy_statement: str
    formula: str
    model: str
    method: str
    cov_type: str
    title: str
    collection: str
    outcome: str
    categories: tuple[str, ...]
    rows: int
    dropped: int
    used: int
    confidence: float
    interval_kind: str
    coefficients: tuple[Coefficient, ...]
    determined: bool
    converged: bool
    log_likelihood: float
    starts: int
    agree: int
    expected_error: float
    warnings: tuple[str, ...]
    sentences: tuple[str, ...]
    guarantee: Guarantee = field(metadata=HIDDEN)
    effects: tuple[dict[str, Any], ...] = field(default=(), metadata=OPTIONAL)
    predictions: tuple[dict[str, Any], ...] = field(default=(), metadata=OPTIONAL)

    @property
    def level_text(self) -> str:
        """The confidence level as text, such as "95%"."""
        return f"{100 * self.confidence:g}%"

    def cells(self) -> list[list[str]]:
        """Return the table's cells, a list for each column: name, value, error, interval, p."""
        made = self.coefficients
        return [
            [one.name for one in made],
            [number(one.value) if one.determined else "not determined" for one in made],
            [number(one.standard_error) for one in made],
            [ends_text(one) for one in made],
            ["" if math.isnan(one.p_value) else p_text(one.p_value) for one in made],
        ]

    @property
    def header(self) -> list[str]:
        """Names of the table's columns."""
        return ["", "coefficient", "std. error", f"{self.level_text} interval", "p"]

    def text(self) -> str:
        """Return everything as plain text."""
        columns = [[head, *cells] for head, cells in zip(self.header, self.cells(), strict=True)]
        widths = [max(map(len, column)) for column in columns]
        lines = [self.privacy_statement, "", self.formula, self.facts, ""]
        for row in zip(*columns, strict=True):
            first, *others = (
                cell.ljust(width) if at == 0 else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            lines.append("  ".join([first, *others]).rstrip())
        lines += ["", *(f"Warning: {one}" for one in self.warnings), *self.sentences]
        return "\n".join(lines)

    @property
    def facts(self) -> str:
        """Model, method and rows in one line."""
        how = "maximum likelihood" if self.method == "ml" else "inverse channel weights"
        left = f", {self.dropped:,} left out for missing values" if self.dropped else ""
        fit = f"; log likelihood {self.log_likelihood:.4f}" if math.isfinite(self.log_likelihood) else ""
        against = f"; coefficients against {quoted(self.categories[0])}" if len(self.categories) > 1 else ""
        if self.model == "ordered":
            against = f"; {quoted(self.categories[0])} is the lowest category"
        return f"{self.model} by {how}, {self.cov_type} standard errors, {self.used:,} rows{left}{against}{fit}"


def number(value: float) -> str:
    """Return a coefficient with four significant digits, an empty text for none."""
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:.4f}" if 0.001 <= abs(value) < 1000 or value == 0 else f"{value:.3g}"


def p_text(value: float) -> str:
    """Return a p-value."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def ends_text(one: Coefficient) -> str:
    """Return an interval in words."""
    low = "-inf" if one.lower_infinite else number(one.lower)
    high = "inf" if one.upper_infinite else number(one.upper)
    return f"{low} to {high}" if low and high else ""


def summarize_fit(fit: Any, confidence: float = 0.95) -> FitSummary:
    """Return everything that people read of a fitted model."""
    level = checked_probability("confidence", confidence, open_interval=True)
    ends = fit.conf_int(1 - level).to_numpy()
    values, errors, p_values = (one.to_numpy() for one in (fit.params, fit.bse, fit.pvalues))
    roles, undetermined = fit._built.parameters.roles, set(fit.undetermined)
    coefficients = []
    for place in fit.shown:
        low, high = ends[place]
        one = Coefficient(
            fit.names[place],
            roles[place],
            float(values[place]),
            float(errors[place]),
            float(p_values[place]) if roles[place] != "scale" else math.nan,
            float(low) if np.isfinite(low) else math.nan,
            float(high) if np.isfinite(high) else math.nan,
            bool(np.isneginf(low)),
            bool(np.isposinf(high)),
            fit.names[place] not in undetermined,
        )
        coefficients.append(one)
    source = fit.source
    return FitSummary(
        privacy_statement=fit.privacy_statement,
        formula=fit.formula,
        model=fit.model,
        method=fit.method,
        cov_type=fit.cov_type,
        title=source.title,
        collection=source.collection,
        outcome=fit._formula.outcome,
        categories=fit._categories,
        rows=source.rows,
        dropped=source.dropped,
        used=fit.n,
        confidence=level,
        interval_kind=fit.interval_kind,
        coefficients=tuple(coefficients),
        determined=fit.determined,
        converged=fit.converged,
        log_likelihood=fit.llf,
        starts=fit.starts.tried,
        agree=fit.starts.agree,
        expected_error=math.nan if fit.expected_error is None else fit.expected_error,
        warnings=fit.warnings,
        sentences=tuple(_sentence(fit, one, f"{100 * level:g}%") for one in coefficients if one.role == "slope"),
        guarantee=source.guarantee,
    )


def _sentence(fit: Any, one: Coefficient, level: str) -> str:
    if fit.model == "linear":
        return _linear_sentence(fit, one, level)
    what, name = _ratio_of(fit, one)
    low = "" if one.lower_infinite or math.isnan(one.lower) else _ratio(one.lower)
    high = "" if one.upper_infinite or math.isnan(one.upper) else _ratio(one.upper)
    if not one.determined:
        kind = "rate ratio" if fit.model == "poisson" else "odds ratio"
        known = " and ".join(filter(None, [f"above {low}" if low else "", f"below {high}" if high else ""]))
        told = f"the reports say only that its {kind} is {known}" if known else "the reports say nothing about it"
        return f"The effect of {one.name} is not determined: {told}."
    ends = f"{level} interval {low or '0'} to {high or 'infinity'}"
    return f"{what} {_ratio(one.value)} times as high {name} ({ends}), other columns equal."


def _ratio(log: float) -> str:
    """Return a ratio with two decimals, or three significant digits where it is far from one."""
    ratio = math.exp(log)
    return f"{ratio:.2f}" if 0.1 <= ratio < 100 else f"{ratio:.3g}"


def _ratio_of(fit: Any, one: Coefficient) -> tuple[str, str]:
    """Return what is multiplied, and where."""
    label, _, rest = one.name.partition(": ") if fit.model == "multinomial" else ("", "", one.name)
    where = _where(rest)
    if fit.model == "poisson":
        return f"The mean of {fit._formula.outcome} is", where
    if fit.model == "ordered":
        return f"The odds of a higher {fit._formula.outcome} are", where
    categories = fit.outcome_names
    if fit.model == "multinomial":
        return f"The odds of {quoted(label)} against {quoted(categories[0])} are", where
    return f"The odds of {quoted(categories[1])} are", where


def _where(name: str) -> str:
    if "[T." in name and ":" not in name:
        variable, _, label = name.partition("[T.")
        variable = variable.removeprefix("C(").removesuffix(")")
        return f"where {variable} is {quoted(label.removesuffix(']'))}"
    return f"for each unit of {name}" if ":" not in name else f"for each unit of the interaction {name}"


def _linear_sentence(fit: Any, one: Coefficient, level: str) -> str:
    if not one.determined:
        return f"The effect of {one.name} is not determined."
    sign = "higher" if one.value >= 0 else "lower"
    return (
        f"The mean of {fit._formula.outcome} is {number(abs(one.value))} {sign} {_where(one.name)} ({level} interval "
        f"of the difference {ends_text(one)}), other columns equal."
    )

"""Command that fits a regression to randomised answers."""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli._app import check_outputs, check_unused, command, print_result
from deniable.cli._options import AsJson, CollectionFile, Confidence, Html
from deniable.errors import InvalidParameterError, quoted
from deniable.survey.collection import Collection

_STEPS = 7


class ModelName(StrEnum):
    """Models, with the spelling of the command line."""

    auto = "auto"
    logit = "logit"
    multinomial = "multinomial"
    ordered = "ordered"
    linear = "linear"
    poisson = "poisson"


class MethodName(StrEnum):
    """Methods, with the spelling of the command line."""

    auto = "auto"
    ml = "ml"
    weights = "weights"


class CovName(StrEnum):
    """Kinds of standard errors, with the spelling of the command line."""

    sandwich = "sandwich"
    observed = "observed"
    opg = "opg"
    expected = "expected"


class MissingName(StrEnum):
    """Treatment of missing values, with the spelling of the command line."""

    category = "category"
    drop = "drop"
    refuse = "refuse"


@command("fit")
def fit(
    context: typer.Context,
    formula: Annotated[str, typer.Argument(metavar="FORMULA", help='As in R: "smoker ~ age + C(region)".')],
    survey: CollectionFile,
    reports: Annotated[Path, typer.Argument(metavar="REPORTS", help="Report file (Parquet).")],
    covariates: Annotated[
        Path | None, typer.Argument(metavar="COVARIATES", help="Plain columns, row by row: CSV or Parquet.")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", "--png", help="Also draw a picture (PNG).")] = None,
    html: Html = None,
    as_json: AsJson = False,
    confidence: Confidence = 0.95,
    model: Annotated[ModelName, typer.Option("--model", help="Kind of model.")] = ModelName.auto,
    method: Annotated[
        MethodName, typer.Option("--method", help="Likelihood, or weights that assume less.")
    ] = MethodName.auto,
    cov_type: Annotated[CovName, typer.Option("--cov", help="Kind of standard errors.")] = CovName.sandwich,
    clusters: Annotated[
        str | None, typer.Option("--cluster", metavar="COLUMN", help="Column with the cluster of each row.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option("--weights", metavar="COLUMN", help="Column with sampling weights.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="COLUMN", help="Column that matches reports and table.")
    ] = None,
    missing: Annotated[
        MissingName, typer.Option("--missing", help='Keep "no answer", leave it out, or refuse blank rows.')
    ] = MissingName.category,
    effects: Annotated[bool, typer.Option("--effects", help="Also list average effects.")] = False,
    predict: Annotated[
        str | None, typer.Option("--predict", metavar="A=20:80", help="Also predict along a column.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Allow a fit with too few reports.")] = False,
) -> None:
    """Fit a regression to randomised answers.

    For analysts. Coefficients are those of the true answers. Row i of the table and row i of the reports must come from
    the same contributor. The privacy statement is printed first.
    """
    from deniable import models
    from deniable.report import fit_page

    if covariates is None:
        check_unused(context, "without COVARIATES", {"key"})
    check_outputs([survey, reports, *([covariates] if covariates else [])], plot, html)
    found = models.fit(
        formula,
        Collection.load(survey),
        reports,
        covariates,
        model=model.value,
        method=method.value,
        cov_type=cov_type.value,
        clusters=clusters,
        weights=weights,
        key=key,
        missing=missing.value,
        force=force,
    )
    summary = found.summarize(confidence)
    averages = found.marginal_effects(confidence) if effects else None
    predictions = None if predict is None else _predictions(found, predict, confidence)
    page = fit_page(summary, averages, predictions)
    summary = dataclasses.replace(summary, effects=_records(averages), predictions=_records(predictions))
    print_result(summary, page, as_json, plot, html)


def _predictions(found: Any, text: str, confidence: float) -> Any:
    """Return predictions along one column.

    Other numbers are at their median, categories at their commonest value.
    """
    import numpy as np

    name, _, rest = text.partition("=")
    low, _, high = rest.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        raise InvalidParameterError(
            f"predict must be a column and two numbers, such as age=20:80, got {quoted(text)}"
        ) from None
    table = found.source.table
    table = table[[column for column in table.columns if column in found._right_columns]]
    if name not in table.columns or table[name].dtype.kind not in "biuf":
        raise InvalidParameterError(
            f"predict must name a column of numbers on the right side of the formula, got {quoted(name)}"
        )
    values = np.linspace(*ends, _STEPS)
    typical = {
        column: [float(own.median()) if own.dtype.kind in "iuf" else own.mode().iloc[0]] * _STEPS
        for column, own in table.items()
    }
    rows: dict[str, Any] = {**typical, name: values}
    rows |= {attribute: [found.source.labels[attribute][0]] * _STEPS for attribute in found._formula.predictors}
    predicted = found.predict(rows, interval=confidence)
    return predicted.assign(label=[f"{name} {values[row]:g}" for row in predicted.pop("row")])


def _records(frame: Any) -> tuple[dict[str, Any], ...]:
    return () if frame is None else tuple(frame.to_dict("records"))

"""Missing values: blank rows are skipped and counted, and "no answer" can be left out of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from typer.testing import CliRunner

import deniable as dn
from deniable import models
from deniable.cli import app
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.files import write_reports

N = 6000


def people() -> pd.DataFrame:
    return pd.DataFrame({"age": np.random.default_rng(1).normal(size=N)})


def answers(age: Any) -> Any:
    """Return no, yes or no answer; older people say yes more often, and answer less often."""
    rng = np.random.default_rng(2)
    yes = rng.random(N) < 1 / (1 + np.exp(0.5 - 0.6 * age))
    return np.where(rng.random(N) < 1 / (1 + np.exp(1.5 - 0.8 * age)), 2, yes)


def survey(epsilon: float) -> dn.Collection:
    smoker = dn.Attribute("smoker", ("no", "yes"), missing="no answer")
    return dn.Collection(dn.Schema((smoker,)), dn.GRR(k=3, epsilon=epsilon))


def reports(asked: dn.Collection, table: pd.DataFrame) -> Any:
    return asked.randomize(answers(table.age.to_numpy())[:, None], dn.SimulationRandomness(3))


def test_blank_rows_are_left_out_and_counted_or_refused_on_request() -> None:
    table, asked = people(), survey(3.0)
    told = reports(asked, table)
    blank = table.assign(age=table.age.where(np.arange(N) >= 10))
    with pytest.raises(
        InvalidInputError, match=r"10 of 6,000 rows have missing values \(10 in age\); pass missing=\"category\""
    ):
        models.fit("smoker ~ age", asked, told, blank, missing="refuse")
    found = models.fit("smoker ~ age", asked, told, blank)
    assert (found.source.rows, found.source.dropped, found.n) == (N, 10, N - 10)
    assert "5,990 rows, 10 left out for missing values" in found.summary()
    rest = models.fit("smoker ~ age", asked, told[10:], table[10:])
    np.testing.assert_allclose(found.params, rest.params, rtol=1e-9)
    with pytest.raises(InvalidInputError, match="at least one row of the table must be complete"):
        models.fit("smoker ~ age", asked, told, table.assign(age=np.nan))
    assert len(found.names) == 4, '"no answer" stays a category'
    with pytest.raises(InvalidInputError, match="10 in age"):
        models.by_group("age", "smoker", asked, told, blank, missing="refuse")
    kept = models.by_group("age", "smoker", asked, told, blank)
    assert kept.dropped == 10
    np.testing.assert_allclose(kept.values, models.by_group("age", "smoker", asked, told[10:], table[10:]).values)


def test_rows_without_a_report_are_left_out_or_refused() -> None:
    table, asked = people(), survey(3.0)
    told = reports(asked, table)
    column = pd.Series(np.array(["no", "yes", "no answer"], dtype=object)[told.ravel()])
    column[:7] = None
    with pytest.raises(InvalidInputError, match="7 in the reports"):
        models.fit("smoker ~ age", asked, column, table, missing="refuse")
    found = models.fit("smoker ~ age", asked, column, table)
    assert found.source.dropped == 7
    rest = models.fit("smoker ~ age", asked, told[7:], table[7:])
    np.testing.assert_allclose(found.params, rest.params, rtol=1e-9)


def test_no_answer_has_an_equation_of_its_own_that_nobody_reads() -> None:
    """A multinomial logit has the coefficients of people who answered: "yes" against "no" is the same equation."""
    table, asked = people(), survey(3.0)
    told = reports(asked, table)
    whole = models.fit("smoker ~ age", asked, told, table)
    assert [name for name in whole.params.index if whole.names.index(name) in whole.shown] == [
        *("yes: Intercept", "yes: age"),
        *("no answer: Intercept", "no answer: age"),
    ]
    found = models.fit("smoker ~ age", asked, told, table, missing="drop")
    assert (found.model, found.outcome_names) == ("logit", ("no", "yes"))
    assert [found.names[place] for place in found.shown] == ["Intercept", "age"]
    np.testing.assert_allclose(found.params.iloc[:2], whole.params.iloc[:2], rtol=1e-9)
    np.testing.assert_allclose(found.bse.iloc[:2], whole.bse.iloc[:2], rtol=1e-9)
    assert found.llf == pytest.approx(whole.llf, rel=1e-12)
    np.testing.assert_allclose(found.predict(table[:5]).sum(axis=1), 1.0)
    assert abs(found.params["age"] - 0.6) < 4 * found.bse["age"]
    assert "no answer" not in " ".join(found.sentences)


def test_mutant_no_answer_counted_as_no() -> None:
    """Mutant: older people answer less often; as "no" this bends the slope by more than four standard errors."""
    table, asked = people(), survey(3.0)
    yes = (answers(table.age.to_numpy()) == 1).astype(float)
    mutant = sm.Logit(yes, sm.add_constant(table.age)).fit(disp=0)
    found = models.fit("smoker ~ age", asked, reports(asked, table), table, missing="drop")
    assert abs(mutant.params["age"] - 0.6) > 4 * found.bse["age"]


@pytest.mark.parametrize("formula", ["smoker ~ age", "height ~ age + smoker"])
def test_weights_without_noise_are_statsmodels_of_those_who_answered(formula: str) -> None:
    table, asked = people(), survey(30.0)
    truth = answers(table.age.to_numpy())
    table["height"] = 1.0 + 0.3 * table.age + 0.5 * (truth == 1) + np.random.default_rng(5).normal(size=N)
    found = models.fit(formula, asked, reports(asked, table), table, method="weights", missing="drop")
    own = truth < 2
    assert (~own).sum() > 1000
    if formula.startswith("smoker"):
        expected = sm.Logit(truth[own], sm.add_constant(table.age[own])).fit(disp=0)
    else:
        columns = np.column_stack([np.ones(N), table.age, truth == 1])[own]
        expected = sm.OLS(table.height[own].to_numpy(), columns).fit()
    np.testing.assert_allclose(found.params, expected.params, rtol=1e-6)
    assert found.n == N


def test_what_cannot_be_left_out_is_refused() -> None:
    table, asked = people().assign(height=1.0), survey(3.0)
    table["height"] += table.age
    told = reports(asked, table)
    with pytest.raises(InvalidParameterError, match='method must be "weights" for missing="drop"'):
        models.fit("height ~ age + smoker", asked, told, table, method="ml", missing="drop")
    one = dn.Attribute("smoker", ("yes",), missing="no answer")
    single = dn.Collection(dn.Schema((one,)), dn.GRR(k=2, epsilon=3.0))
    with pytest.raises(InvalidParameterError, match="two categories beside"):
        models.fit("smoker ~ age", single, np.minimum(told, 1), table, missing="drop")


def test_the_command_counts_what_it_leaves_out(tmp_path: Path) -> None:
    table, asked = people(), survey(3.0)
    asked.save(tmp_path / "survey.json")
    random = dn.SimulationRandomness(2)
    write_reports(tmp_path / "reports.parquet", asked, [reports(asked, table)], random)
    cells = ["" if row < 12 else f"{age:.3f}" for row, age in enumerate(table.age)]
    (tmp_path / "people.csv").write_text("\n".join(["age", *(cell or '""' for cell in cells)]) + "\n")
    files = [str(tmp_path / name) for name in ("survey.json", "reports.parquet", "people.csv")]
    refused = CliRunner().invoke(app, ["fit", "smoker ~ age", *files, "--missing", "refuse"])
    assert refused.exit_code == 2
    assert "12 of 6,000 rows have missing values" in refused.stderr
    found = CliRunner().invoke(app, ["fit", "smoker ~ age", *files])
    assert "5,988 rows, 12 left out for missing values" in " ".join(found.stdout.split())
    data = json.loads(CliRunner().invoke(app, ["fit", "smoker ~ age", *files, "--json"]).stdout)
    assert (data["rows"], data["dropped"], data["used"]) == (N, 12, N - 12)

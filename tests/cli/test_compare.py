"""Two waves compared on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from deniable import Attribute, Collection, Schema, SimulationRandomness, answers
from deniable.core.aggregate import Aggregate
from tests.cli.conftest import Run


def test_compare_two_waves(run: Run, waves: tuple[tuple[Collection, Aggregate], tuple[Collection, Aggregate]]) -> None:
    files = ["May.json", "May.aggregate", "June.json", "June.aggregate"]
    result = run("compare", *files, "--independent", "--html", "c.html", "--png", "c.png")
    assert result.exit_code == 0, result.stderr
    comparison = answers.compare(*waves, independent=True)
    words = " ".join(result.stdout.split())
    for sentence in comparison.sentences:
        assert sentence in words
    assert "“Red” of “Whom would you vote for?” fell by" in words
    assert "From “May” to “June”" in words
    for title in "May", "June":
        assert f"Guarantee of “{title}”: epsilon = 2 for the whole contributor; odds change at most" in words
    told = run("compare", *files, "--independent", "--verbose").stdout
    assert "“May”: epsilon = 2 for the whole contributor (implemented: " in told
    assert "“June”: epsilon = 2 for the whole contributor (implemented: " in told
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")
    page = Path("c.html").read_text().replace("&#39;", "'")
    assert "“Green” of “Whom would you vote for?” rose by" in page
    data = json.loads(run("compare", *files, "--independent", "--json").stdout)
    red = data["attributes"][0]["categories"][0]
    first, second = (survey.estimate(aggregate)["vote"] for survey, aggregate in waves)
    change = answers.difference(second["Red"], first["Red"], independent=True)
    assert (red["change"], red["lower"], red["upper"]) == (change.value, *change.interval(target="population"))
    assert data["sentences"] == comparison.sentences
    assert data["attributes"][1]["mean"]["value"] == pytest.approx(0, abs=0.2)
    titled = [*files, "--independent", "--json", "--attribute", "Whom would you vote for?"]
    assert [one["attribute"] for one in json.loads(run("compare", *titled).stdout)["attributes"]] == ["vote"]
    for wrong, message in (
        (files, "compare needs --independent"),
        ([*files[:2], *files[:2], "--independent"], "these two answers share collection"),
        (
            [*files, "--independent", "--attribute", "nothing"],
            "attributes must name attributes that both collections ask with the same categories",
        ),
    ):
        refused = run("compare", *wrong)
        assert refused.exit_code == 2
        assert message in refused.stderr


def test_compare_waves_of_the_same_people(run: Run) -> None:
    """Report files are compared row by row: the paired interval, a picture, and refusals."""
    from deniable.files import write_reports
    from deniable.oracles import MemoisedGRR, pair_counts

    schema = Schema((Attribute("smoker", ("yes", "no")),))
    coins, rng = MemoisedGRR(2, 2.0, 1.9), SimulationRandomness(3)
    truth = np.arange(6000) % 2
    later = np.where(np.arange(6000) % 8 == 0, 1, truth)
    kept, new = coins.permanent(truth, rng), coins.permanent(later, rng)
    waves = [coins.report(kept, rng), coins.report(np.where(truth == later, kept, new), rng)]
    surveys = [Collection(schema, coins, title=title) for title in ("spring", "autumn")]
    for survey, reports in zip(surveys, waves, strict=True):
        survey.save(Path(f"{survey.title}.json"))
        write_reports(Path(f"{survey.title}.parquet"), survey, [reports[:4000], reports[4000:]], rng)
    files = ["spring.json", "spring.parquet", "autumn.json", "autumn.parquet"]
    result = run("compare", *files, "--same-people", "--png", "c.png", "--json")
    assert result.exit_code == 0, result.stderr
    data = json.loads(result.stdout)
    found = pair_counts(coins, *waves).trend()
    row = data["attributes"][0]["categories"][1]
    assert (row["change"], row["lower"], row["upper"]) == (found.change[1], *found.interval()[1])
    assert data["same_people"] is True
    assert "whose two reports are taken together" in data["interval"]["covers"]
    words = " ".join(run("compare", *files, "--same-people").stdout.split())
    assert "you confirmed that the same row is the same person" in words
    for wrong, message in (
        ([*files, "--same-people", "--independent"], "without --independent"),
        (["spring.json", "spring.parquet", "spring.json", "autumn.parquet", "--same-people"], "autumn.parquet"),
        (files, "compare the report files with --same-people"),
    ):
        refused = run("compare", *wrong)
        assert refused.exit_code == 2
        assert message in refused.stderr

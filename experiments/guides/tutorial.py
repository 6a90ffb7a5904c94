"""The two annotated pictures of the tutorial: its survey with a fixed seed, and the report on a phone."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from deniable import Schema, SimulationRandomness, collection
from deniable.answers import summarize
from deniable.files import aggregate_files, randomize_file, read_truth
from deniable.report import estimate_page, save_html
from experiments.guides.screens import PHONE, browser, crop, mark, opened
from experiments.guides.staff import text

DOCS = Path(__file__).parents[2] / "docs"
SEED = 11


def questionnaire() -> Schema:
    """Return the schema that readers of the tutorial write."""
    (document,) = re.findall(r"```json\n(.*?)```", (DOCS / "tutorial.md").read_text(encoding="utf-8"), re.S)
    return Schema.from_json(document)


def report(folder: Path) -> Path:
    """Follow the steps of the tutorial with a fixed seed; return its report."""
    schema = questionnaire()
    survey = collection(schema, 2, title="Night shifts")
    answers, reports, page = folder / "answers.csv", folder / "reports.parquet", folder / "report.html"
    answers.write_text(text().replace(";Day;", ";day;").replace(";Night;", ";night;"), encoding="utf-8")
    randomize_file(survey, answers, reports, SimulationRandomness(SEED), allow_repeat=True)
    total = aggregate_files(survey, [reports], folder / "all.aggregate")
    summary = summarize(
        survey.estimate(total),
        mechanism=survey.mechanism,
        n=total.n,
        title=survey.title,
        truth=read_truth(survey, answers),
        collection=survey.id,
    )
    save_html(estimate_page(summary), page)
    return page


def draw(folder: Path) -> None:
    """Write tutorial-promise.png and tutorial-question.png."""
    with tempfile.TemporaryDirectory() as name, browser() as running:
        address = report(Path(name)).as_uri()
        with opened(running, address, PHONE, scale=1.5) as page:
            said = ("odds", "contributors,", "collection ")
            mark(page, [".card .headline", *(f".card p:text('{words}')" for words in said)])
            crop(page, ".card", ".card", folder / "tutorial-promise.png")
        with opened(running, address, PHONE, scale=1.5) as page:
            section = "section:has(h2:has-text('Do you think of leaving?'))"
            row = f"{section} tbody tr:nth-child"
            places = ("(1) line.interval", "(2) circle.estimate", "(2) td:nth-of-type(3)", "(3) path.truth")
            mark(page, [f"{section} caption", *(f"{row}{place}" for place in places)])
            crop(page, section, section, folder / "tutorial-question.png")

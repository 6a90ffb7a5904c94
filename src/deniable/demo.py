"""The main job on real, sensitive data: Fair's survey about extramarital affairs, from answers to error bars.

Ray Fair, *A theory of extramarital affairs*, Journal of Political Economy (1978). The answers of 6,366 readers of
*Redbook* come with statsmodels (extra ``demo``); nothing is downloaded and no answer is stored in this package. Every
woman is one contributor. Each is randomised with the operating system's randomness under a whole-contributor epsilon,
once at 1 and once at 4, along the same path that a user's own data takes. Two runs about the same people would cost
them the sum of both epsilons: outside a demonstration, make one.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
from rich.console import Console

from deniable.answers import Summary, summarize
from deniable.core.outputs import atomic_path
from deniable.core.privacy import odds_text
from deniable.core.randomness import SecureRandomness
from deniable.errors import MissingExtraError, OutputError
from deniable.files import aggregate_files, randomize_file, read_truth
from deniable.planning import recommend
from deniable.report import estimate_page, print_page, save_html, save_png
from deniable.report.text import print_line
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema

EPSILONS = ("1", "4")
TITLE = "Extramarital affairs survey (Fair 1978)"

BINNING = (
    "affairs is the survey's measure of time spent in extramarital affairs, a number >= 0, binned by a rule that is "
    "public and fixed beforehand: none (below 0.01), under 1, 1 to under 4, 4 or more. age is the midpoint of the "
    "questionnaire's own classes, binned into them. The other answers are categories of the questionnaire."
)

_TITLES = {
    "affairs": "How much time do you spend in extramarital affairs?",
    "rate_marriage": "How do you rate your marriage?",
    "religious": "How religious are you?",
    "age": "How old are you?",
    "educ": "What is your education?",
    "occupation": "What is your occupation?",
}
"""What people read, in the order in which it is asked."""

_SCALES: dict[str, dict[float, str]] = {
    "rate_marriage": {1: "very poor", 2: "poor", 3: "fair", 4: "good", 5: "very good"},
    "religious": {1: "not", 2: "mildly", 3: "fairly", 4: "strongly"},
    "educ": {
        9: "grade school",
        12: "high school",
        14: "some college",
        16: "college graduate",
        17: "some graduate school",
        20: "advanced degree",
    },
    "occupation": {
        1: "student",
        2: "farming, semi-skilled or unskilled",
        3: "white-collar",
        4: "teacher, nurse, artist, technician",
        5: "managerial, administrative, business",
        6: "professional with advanced degree",
    },
}


def demo_schema() -> Schema:
    """Return the public list of questions and answers, written down from the questionnaire and not from the answers.

    Examples
    --------
    >>> demo_schema().sizes
    (4, 5, 4, 6, 6, 6)
    """
    ages = ("under 20", "20 to 24", "25 to 29", "30 to 34", "35 to 39", "40 or over")
    spent = ("none", "under 1", "1 to under 4", "4 or more")
    attributes = {
        "affairs": Attribute("affairs", spent, edges=(0.01, 1, 4), title=_TITLES["affairs"]),
        "age": Attribute("age", ages, edges=(20, 25, 30, 35, 40), title=_TITLES["age"]),
        **{name: Attribute(name, tuple(labels.values()), title=_TITLES[name]) for name, labels in _SCALES.items()},
    }
    return Schema(tuple(attributes[name] for name in _TITLES))


def demo_answers() -> pa.Table:
    """Return the true answers, a row per contributor.

    Raises
    ------
    MissingExtraError
        If statsmodels is not installed.
    """
    try:
        from statsmodels.datasets import fair
    except ImportError as error:
        raise MissingExtraError('the demo needs statsmodels and its data: pip install "deniable[demo]"') from error
    frame = fair.load_pandas().data
    columns = {}
    for name in demo_schema().names:
        values = [float(value) for value in frame[name]]
        columns[name] = [_SCALES[name][value] for value in values] if name in _SCALES else values
    return pa.table(columns)


@dataclass(frozen=True)
class DemoResult:
    """What the demo found and wrote.

    Parameters
    ----------
    summaries : tuple of Summary
        One per epsilon.
    files : tuple of Path
        Everything that was written.
    """

    summaries: tuple[Summary, ...]
    files: tuple[Path, ...]


def run_demo(folder: Path, console: Console, epsilons: Sequence[str] = EPSILONS) -> DemoResult:
    """Randomise, collect and estimate the survey at every epsilon; print tables and write files into a folder.

    Parameters
    ----------
    folder : Path
        Made if absent; files of an earlier demo are replaced.
    console : rich Console
        Where to print.
    epsilons : sequence of str
        Budgets of the whole contributor, one run each.

    Raises
    ------
    MissingExtraError
        If statsmodels is not installed.
    OutputError
        If the folder cannot be written.
    """
    table, schema = demo_answers(), demo_schema()
    answers, schema_file, page = folder / "answers.csv", folder / "schema.json", folder / "report.html"
    _make(folder)
    with atomic_path(answers, private=True) as temporary:
        pyarrow.csv.write_csv(table, temporary)
    schema.save(schema_file)
    print_line(console, TITLE, style="bold")
    print_line(
        console, f"{table.num_rows:,} women, {len(schema.names)} questions; every woman sends one report per run."
    )
    print_line(console, BINNING)
    cost = ""
    if len(epsilons) > 1:
        spent = f"{sum(map(float, epsilons)):g}"
        cost = f"Randomising the same people {len(epsilons)} times costs epsilon = {spent} in all; do it once."
        print_line(console, cost)
    files, summaries = [answers, schema_file], []
    for epsilon in epsilons:
        run = _Run(folder / f"epsilon-{epsilon}", epsilon)
        summaries.append(_estimate(run, answers, schema))
        files += [run.survey, run.reports, run.total, run.picture]
        console.print()
        print_line(console, f"epsilon = {epsilon}, the same on the command line:", style="bold")
        for command in run.commands(schema_file, answers):
            console.print(shlex.join(command), soft_wrap=True)
        console.print()
        print_page(console, estimate_page(summaries[-1], budgets=True))
    lead = (learned(summaries), protected(summaries), NEGATIVE)
    introduction = (
        f"{table.num_rows:,} readers of Redbook answered its questionnaire. Here every one of them is a contributor "
        f"with {len(schema.names)} answers, randomised on her own. Because this is a demonstration, the true "
        f"frequencies are shown as well. {cost}",
        BINNING,
    )
    save_html(estimate_page(*summaries, title=TITLE, introduction=introduction, lead=lead), page)
    files.append(page)
    console.print()
    for epsilon, summary in zip(epsilons, summaries, strict=True):
        print_line(console, f"epsilon = {epsilon}: {summary.coverage_text}")
    print_line(console, "Files:")
    for path in files:
        console.print(f"  {path}", soft_wrap=True)
    for line in lead:
        console.print()
        print_line(console, line)
    console.print()
    console.print(f"Open {page}", soft_wrap=True, style="bold")
    return DemoResult(tuple(summaries), tuple(files))


NEGATIVE = (
    "An estimate may lie below 0% or above 100%: noise is taken off on average, not from each number. Cutting it at 0% "
    "would make it biased; the interval says what can be true."
)


def learned(summaries: Sequence[Summary]) -> str:
    """Return what was learned about the first question's most frequent answer, in one sentence.

    Which answer that is, the last summary says, the one of the largest budget.
    """
    last = summaries[-1].attributes[0]
    top = int(last.estimate.argmax())
    found: list[str] = []
    for summary in summaries:
        row = summary.attributes[0]
        half = 100 * (row.upper[top] - row.lower[top]) / 2
        said = f" answered {row.categories[top]!r} to {(row.title or row.attribute)!r}" if not found else ""
        found.append(
            f"{100 * row.estimate[top]:.0f}% +- {half:.0f} points{said} at epsilon {summary.guarantee.epsilon:g}"
        )
    truth = "" if last.truth is None else f" (the truth, which no collector sees: {100 * last.truth[top]:.1f}%)"
    return f"What was learned: {', '.join(found)}{truth}."


def protected(summaries: Sequence[Summary]) -> str:
    """Return what protects one woman, in one sentence."""
    factors = [
        f"{odds_text(summary.guarantee.epsilon)} times at epsilon {summary.guarantee.epsilon:g}"
        for summary in summaries
    ]
    return (
        "What protects one woman: whatever she answered, whoever looks at her report and whatever else they know, the "
        f"odds about her move by at most {', '.join(factors)}."
    )


class _Run:
    """Where one run writes, and the commands that would do the same."""

    def __init__(self, folder: Path, epsilon: str) -> None:
        self.folder, self.epsilon = folder, epsilon
        names = ("survey.json", "reports.parquet", "all.aggregate", "estimate.png")
        self.survey, self.reports, self.total, self.picture = (folder / name for name in names)

    def commands(self, schema: Path, answers: Path) -> list[list[str]]:
        survey, reports, total = str(self.survey), str(self.reports), str(self.total)
        design = ["--schema", str(schema), "--epsilon", self.epsilon, "--title", TITLE]
        show = ["--truth", str(answers), "--plot", str(self.picture)]
        return [
            ["deniable", "collection", *design, "-o", survey],
            ["deniable", "randomize", survey, str(answers), "-o", reports],
            ["deniable", "aggregate", survey, reports, "-o", total],
            ["deniable", "estimate", survey, total, *show],
        ]


def _estimate(run: _Run, answers: Path, schema: Schema) -> Summary:
    """Take the answers along the whole path at one epsilon."""
    _make(run.folder)
    collection = Collection(schema, recommend(schema.sizes, run.epsilon), title=TITLE)
    collection.save(run.survey)
    # The same public data at every demonstration: randomising it again is the point.
    randomize_file(collection, answers, run.reports, SecureRandomness(), again=True)
    total = aggregate_files(collection, [run.reports], run.total)
    summary = summarize(
        collection.estimate(total),
        mechanism=collection.mechanism,
        n=total.n,
        title=TITLE,
        truth=read_truth(collection, answers),
        collection=collection.id,
    )
    save_png(estimate_page(summary), run.picture)
    return summary


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write into {folder}: {error.strerror or error}") from error

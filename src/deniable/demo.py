"""The main job on real, sensitive data: Fair's survey about extramarital affairs, from answers to error bars.

The survey is that of `deniable.survey.example`. Every woman is one contributor. Each is randomised with the operating
system's randomness under a whole-contributor epsilon, once at 1 and once at 4, along the same path that a user's own
data takes. Two runs about the same people would cost them the sum of both epsilons: outside a demonstration, make one.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.csv
from rich.console import Console

from deniable.answers import Summary, summarize
from deniable.core.outputs import atomic_path
from deniable.core.privacy import odds_text
from deniable.core.randomness import SecureRandomness
from deniable.errors import OutputError, quoted
from deniable.files import aggregate_files, randomize_file, read_truth
from deniable.planning import recommend
from deniable.report import estimate_page, save_html, save_png
from deniable.report.parts.table import Table
from deniable.report.text import print_line, print_lines
from deniable.survey.collection import Collection
from deniable.survey.example import BINNING, TITLE, demo_answers, demo_schema
from deniable.survey.schema import Schema

EPSILONS = ("1", "4")


@dataclass(frozen=True)
class DemoResult:
    """Results of the demo, and the files that it wrote.

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
    cost = ""
    if len(epsilons) > 1:
        spent = f"{sum(map(float, epsilons)):g}"
        cost = f"Randomising the same people {len(epsilons)} times costs epsilon = {spent} in all; do it once."
    runs = [_Run(folder / f"epsilon-{epsilon}", epsilon) for epsilon in epsilons]
    files, summaries = [answers, schema_file], []
    for run in runs:
        summaries.append(_estimate(run, answers, schema))
        files += [run.survey, run.reports, run.total, run.picture]
    found, safe = learned(summaries), protected(summaries)
    method = (
        f"{table.num_rows:,} readers of Redbook answered its questionnaire. Here every one of them is a contributor "
        f"with {len(schema.names)} answers, randomised on her own. Because this is a demonstration, the true "
        f"frequencies are shown as well. {cost}",
        BINNING,
        safe,
    )
    save_html(estimate_page(*summaries, title=TITLE, lead=[found], method=method), page)
    files.append(page)
    print_line(console, TITLE, style="bold")
    print_line(console, f"{table.num_rows:,} women, {len(schema.names)} questions, one randomised report from each")
    console.print()
    first = summaries[-1].attributes[0]
    print_line(console, first.title or first.attribute, style="bold")
    print_lines(console, _result(summaries).lines(console.width))
    for summary in summaries:
        print_line(console, f"epsilon = {summary.guarantee.epsilon:g}: {summary.coverage_text}")
    console.print()
    for line in (found, safe, cost):
        print_line(console, line)
    console.print()
    print_line(console, f"The same at epsilon = {epsilons[0]}, on the command line:", style="bold")
    for command in runs[0].commands(schema_file, answers):
        console.print(shlex.join(command), soft_wrap=True)
    console.print()
    console.print(f"Open {page}", soft_wrap=True, style="bold")
    return DemoResult(tuple(summaries), tuple(files))


def _result(summaries: Sequence[Summary]) -> Table:
    """Return the first question's answers: the truth, and the estimate with its interval at every epsilon."""
    first = summaries[-1].attributes[0]
    assert first.truth is not None
    columns = [list(first.categories), [f"{100 * share:.0f}%" for share in first.truth]]
    for summary in summaries:
        row = summary.attributes[0]
        ends = zip(row.estimate, row.lower, row.upper, strict=True)
        columns.append([f"{100 * at:.0f}% ({100 * low:.0f}% to {100 * high:.0f}%)" for at, low, high in ends])
    header = ["answer", "truth", *(f"epsilon = {summary.guarantee.epsilon:g}" for summary in summaries)]
    return Table.of(header, columns)


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
        said = f" answered {quoted(row.categories[top])} to {quoted(row.title or row.attribute)}" if not found else ""
        found.append(
            f"{100 * row.estimate[top]:.0f}% ± {half:.0f} points{said} at epsilon {summary.guarantee.epsilon:g}"
        )
    truth = "" if last.truth is None else f" (the truth, which no collector sees: {100 * last.truth[top]:.1f}%)"
    return f"What was learned: {', '.join(found)}{truth}."


def protected(summaries: Sequence[Summary]) -> str:
    """Return what protects one woman, in one sentence."""
    factors = [
        f"{odds_text(summary.guarantee.epsilon)} at epsilon {summary.guarantee.epsilon:g}" for summary in summaries
    ]
    return (
        "The promise to one woman: whatever she answered, and whatever anyone who sees her report already knows, the "
        f"odds about her change by a factor of at most {', '.join(factors)}."
    )


class _Run:
    """Files that one run writes, and the commands that would do the same."""

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
    # Every demonstration randomises the same public data again. This is intended.
    randomize_file(collection, answers, run.reports, SecureRandomness(), allow_repeat=True)
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

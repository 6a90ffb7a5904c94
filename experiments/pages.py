"""Trace each number on pages of ``docs/papers``, and some in ``docs/theory``, to its command and its CSV file.

The module ``experiments/<paper>/page.py`` repeats the sentences and table rows of a page that quote results. Each
number in them is read from a cell of a CSV file (`Results.number`). The files are in ``docs/papers/results/<paper>``,
and ``commands.json`` has the command that wrote each file. `Page.check` then finds

* sentences that are missing on the page, or have other numbers there,
* numbers without a source: they are not part of a quotation, of a setting or reference such as "epsilon 1" or "figure
  3(a)", or of a text that the page declares as `stated` with its source,
* contradictions that lack a setting, a size or the paper's reply (`Contradiction`),
* pictures whose caption does not say what is drawn and from which seed.

Pages of ``docs/theory`` (`THEORY`), named ``theory/jrr`` and so on, have modules of their own. Their files are in
``docs/theory/results``. On these pages, whole numbers of one digit count as parts of formulas and are not traced. Exact
numbers on ``theory/sketches`` and ``theory/corr_rr`` come from no file: the library computes them for each check.

``python -m experiments.pages PAPER`` checks one page. With ``--update results``, it first copies CSV files and pictures
from a folder of results. With ``--against results-2``, it writes ``seeds.csv``: the numbers that differ with another
seed.
"""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
FOLDER = DOCS / "papers"
PAPERS = ("corr_rr", "ocms", "jrr", "cpl", "answers")
THEORY = {
    "theory/jrr": "experiments.jrr.theory_page",
    "theory/coupling": "experiments.jrr.coupling_page",
    "theory/leakage": "experiments.cpl.theory_page",
    "theory/sketches": "experiments.ocms.theory_page",
    "theory/quota_rr": "experiments.jrr.quota_page",
    "theory/dealing": "experiments.jrr.dealing_page",
    "theory/dealt_intervals": "experiments.jrr.dealt_intervals_page",
    "theory/corr_rr": "experiments.corr_rr.theory_page",
}
"""Page of docs/theory -> module that quotes its results."""
COMMANDS, SEEDS = "commands.json", "seeds.csv"

NUMBER = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|(?<=\d))(?:e-?\d+)?%?")
_ONE = r"(?:-?[\d,]*\.?\d+(?:e-?\d+)?)"
_SEVERAL = rf"{_ONE}(?:(?:, | and | or | to | / |/|, and |\.\.){_ONE})*"
_PLACE = r"(?:[A-Z]{1,4}\b|\d+(?:\.\d+)*)(?:\([a-z\d]\)|[a-f]\b)?"
NOT_RESULTS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:[Ff]igures?|[Tt]ables?|[Tt]heorems?|[Cc]orollar(?:y|ies)|[Ll]emmas?|[Aa]lgorithms?|[Aa]pp\.|[Aa]ppendix"
        rf"|[Ss]ections?|[Ee]xamples?|[Ee]qs?\.|[Ee]quations?|[Bb]enchmarks?|[Pp]anels?|[Dd]efinitions?"
        rf"|[Pp]ropositions?|[Ss]teps?|\bline) {_PLACE}(?:(?:, | and | to | or ){_PLACE})*",
        rf"\b(?:epsilon|epsilons|delta|seeds?) (?:of |at |is |= |from |to )?{_SEVERAL}",
        rf"\b[nkdMTm] (?:=|from|up to) {_SEVERAL}",
        r"\b[1-9]\.\d\.\d\b|\bepsilon/\d+",
        r"\(\d{1,2}\)(?: (?:to|and) \(\d{1,2}\))?",
        r"\b(?:PoPETs|arXiv|PVLDB|VLDB|CRYPTO) [\d.]+(?:\(\d+\))?",
    )
)
"""Patterns of numbers that name a place in the paper or a setting of an experiment."""

_OPEN, _CLOSE = "⟨", "⟩"


@dataclass(frozen=True)
class Contradiction:
    """One row of a page's table of contradictions between its experiments and a paper.

    Parameters
    ----------
    says : str
        Statement of the paper, and its place.
    setting : str
        Mechanism, data, sizes, budgets and runs of the measurement.
    found : str
        Result, with marked numbers (`traced`), and a standard error if anything was drawn at random.
    reply : str
        Probable reply of the paper.
    """

    says: str
    setting: str
    found: str
    reply: str

    @property
    def row(self) -> str:
        """Row of the table, with marks.

        >>> Contradiction("a", "exact", traced(0.5, ".1f"), "b").row
        '| a | exact | ⟨.5⟩ | b |'
        """
        return f"| {self.says} | {self.setting} | {self.found} | {self.reply} |"

    def lacks(self) -> Iterator[str]:
        """Yield missing parts, and numbers in `found` that are neither traced nor settings."""
        cells = {"statement": self.says, "setting": self.setting, "size": self.found, "reply": self.reply}
        for name, cell in cells.items():
            if not re.search(r"\w", cell):
                yield f"a contradiction has no {name}: {_unmarked(self.row)}"
        untraced = re.sub(f"{_OPEN}[^{_CLOSE}]*{_CLOSE}", " ", self.found)
        for pattern in NOT_RESULTS:
            untraced = pattern.sub(" ", untraced)
        for found in NUMBER.finditer(untraced):
            if found[0]:
                yield f"nothing traces {found[0]} in the size of: {_unmarked(self.row)}"
        drawn = not re.search(r"\bexact\b|closed form", f"{self.setting} {self.found}")
        if drawn and not re.search(r"±|\([^()]*⟩\)|standard error|confidence|interval|undecided", self.found):
            yield f"a measured contradiction has no standard error: {_unmarked(self.row)}"


@dataclass(frozen=True)
class Results:
    """The CSV files of one paper in one folder.

    Parameters
    ----------
    folder : Path
        Folder of the files ``NAME.csv``; a reproduction writes them to ``results/<paper>``.
    """

    folder: Path
    _read: dict[str, list[dict[str, str]]] = field(default_factory=dict, repr=False)

    def rows(self, table: str, **where: Any) -> list[dict[str, str]]:
        """Return the rows of a table that have the given values in the named columns; ``_`` means a blank in a name."""
        if table not in self._read:
            with (self.folder / f"{table}.csv").open(encoding="utf-8", newline="") as file:
                self._read[table] = list(csv.DictReader(file))
        wanted = {key.replace("_", " "): value for key, value in where.items()}
        return [row for row in self._read[table] if all(_same(_get(row, key), value) for key, value in wanted.items())]

    def text(self, table: str, column: str, **where: Any) -> str:
        """Return the cell of a column in the only row that matches.

        Raises
        ------
        LookupError
            If no row matches, or several rows match.
        """
        found = self.rows(table, **where)
        if len(found) != 1:
            raise LookupError(f"{table}.csv has {len(found)} rows with {where}, one is needed")
        return _get(found[0], column)

    def value(self, table: str, column: str, **where: Any) -> float:
        """Return the number in a cell (`text`)."""
        return float(self.text(table, column, **where))

    def number(self, table: str, column: str, spec: str, **where: Any) -> str:
        """Return the number in a cell as printed on the page, marked as traced (`traced`)."""
        return traced(self.value(table, column, **where), spec)


def _get(row: Mapping[str, str], column: str) -> str:
    return row[column] if column in row else row[column.replace(" ", "_")]


def _same(cell: str, value: object) -> bool:
    if isinstance(value, str):
        return cell == value
    try:
        return float(cell) == value
    except ValueError:
        return False


def printed(value: float, spec: str) -> str:
    """Return a number as printed on pages: no zero before the point, short exponents, "infinite".

    >>> printed(0.338, ".2f"), printed(24_100_000.0, ".1e"), printed(0.257, ".0%"), printed(1200, ",.0f")
    ('.34', '2.4e7', '26%', '1,200')
    """
    if math.isinf(value):
        return "infinite"
    text = re.sub(r"e([+-])0*(\d)", lambda found: f"e{found[1].strip('+')}{found[2]}", format(value, spec))
    return re.sub(r"^(-?)0\.(?=\d)", r"\1.", text)


def traced(value: float, spec: str) -> str:
    """Return a number as printed on the page, marked as read from a file (or computed from numbers in files)."""
    return f"{_OPEN}{printed(value, spec)}{_CLOSE}"


def number_of(row: Mapping[str, str], column: str, spec: str) -> str:
    """Return the number in a cell of a row as printed on the page, marked as traced."""
    return traced(float(row[column]), spec)


def setting(value: float | str) -> str:
    """Return a setting that labels a row of a table, marked as not a result."""
    return f"{_OPEN}{value if isinstance(value, str) else printed(value, 'g')}{_CLOSE}"


def plain(markdown: str) -> str:
    r"""Return the text of a page in one line, without code, addresses, pictures, emphasis and rules of tables.

    >>> plain("1. A **bold**\n   claim, [linked](a-1.md): `x = 3`")
    'A bold claim, linked: `code`'
    """
    text = re.sub(r"```.*?```|<!--.*?-->", " ", markdown, flags=re.DOTALL)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", " ", text)
    text = re.sub(r"`[^`]*`", "`code`", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^[ >]*(?:\d+\. |[-*] |#+ )|^\|[-: |]+\|$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\s*\|\s*", " | ", text.replace("*", ""))
    return re.sub(r"\s+", " ", text).strip()


def _nothing(_: Results) -> Sequence[str]:
    """Return no rows, for pages without corrections."""
    return ()


def _none(_: Results) -> Sequence[Contradiction]:
    """Return no contradictions, for pages that are not about a paper's claims."""
    return ()


@dataclass(frozen=True)
class Page:
    """Quotations on one page of ``docs/papers``, with the results of its experiments.

    Parameters
    ----------
    name : str
        ``docs/papers/<name>.md``, ``docs/papers/results/<name>``.
    parts : sequence of callable
        Results -> sentences and rows on a part of the page, with marked numbers (`Results.number`, `setting`).
    stated : mapping
        Text on the page with numbers that are not results of an experiment -> source of the numbers.
    pictures : mapping
        Picture of the page -> picture among the results.
    paper : str
        Paper whose experiments write the results, if its name is not the page's.
    theory : bool
        Whether the page is in ``docs/theory``.
    contradictions : callable, optional
        Results -> all contradictions between the paper and its reproduction, in the order of the page's table. Most of
        their numbers also appear elsewhere on the page, so that a comparison with another seed does not count them
        again.
    corrections : callable, optional
        Results -> rows of the page's table of its own corrections, with marked numbers. A comparison does not count
        them.
    """

    name: str
    parts: Sequence[Callable[[Results], Sequence[str]]]
    stated: Mapping[str, str]
    pictures: Mapping[str, str]
    paper: str = ""
    theory: bool = False
    contradictions: Callable[[Results], Sequence[Contradiction]] = _none
    corrections: Callable[[Results], Sequence[str]] = _nothing

    @property
    def folder(self) -> Path:
        """Folder of the page."""
        return DOCS / "theory" if self.theory else FOLDER

    @property
    def path(self) -> Path:
        """Path of the page."""
        return self.folder / f"{self.name}.md"

    @property
    def experiments(self) -> str:
        """Package below `experiments` that writes the results."""
        return self.paper or self.name

    @cached_property
    def results(self) -> Results:
        """Results that are stored beside the page."""
        return Results(self.folder / "results" / self.name)

    def quotes(self, results: Results) -> list[str]:
        """Return all sentences and rows that quote results, with the numbers of these results."""
        return [quote for part in self.parts for quote in part(results)]

    def check(self, markdown: str | None = None) -> list[str]:
        """Return the faults of the page (or of another text in its place); the list is empty if there are none."""
        source = self.path.read_text(encoding="utf-8") if markdown is None else markdown
        text = plain(source)
        wrong, known = [], [False] * len(text)
        for quote in (*self.quotes(self.results), *self._other_seed()):
            wrong += _find(quote, text, known)
        for statement in self.stated:
            wrong += _find(f"{_OPEN}{plain(statement)}{_CLOSE}", text, known)
        for row in self.corrections(self.results):
            wrong += _find(row, text, known)
        for one in self.contradictions(self.results):
            wrong += _find(one.row, text, known)
            wrong += one.lacks()
            # Numbers that are not traced there are settings or the paper's own. `lacks` checks the numbers that were
            # found.
            _find(f"{_OPEN}{_unmarked(one.row).strip('| ')}{_CLOSE}", text, known)
        for pattern in NOT_RESULTS:
            for found in pattern.finditer(text):
                known[found.start() : found.end()] = [True] * (found.end() - found.start())
        for found in NUMBER.finditer(text):
            formula = self.theory and re.fullmatch(r"-?\d", found[0])
            if found[0] and not formula and not all(known[found.start() : found.end()]):
                around = text[max(0, found.start() - 50) : found.end() + 30]
                wrong.append(f"nothing traces {found[0]} in: {around}")
        return [*wrong, *self._untold(), *self._uncaptioned(source)]

    def _other_seed(self) -> list[str]:
        """Return the page's statements about the other seed; none before `differences` were written."""
        path = self.results.folder / SEEDS
        if not path.exists():
            return []
        differ = len(path.read_text(encoding="utf-8").splitlines()) - 1
        every = sum(len(_marked(quote)) for quote in self.quotes(self.results))
        return [
            f"{traced(differ, 'd')} of the {traced(every, 'd')} numbers that this page quotes would be printed "
            f"differently"
        ]

    def _untold(self) -> Iterator[str]:
        commands = json.loads((self.results.folder / COMMANDS).read_text(encoding="utf-8"))
        files = {path.stem for path in self.results.folder.glob("*.csv")} - {Path(SEEDS).stem}
        for table in sorted(files ^ set(commands)):
            yield f"{table}.csv or its command in {COMMANDS} is missing below {self.results.folder.name}"
        self.quotes(self.results)
        self.contradictions(self.results)
        self.corrections(self.results)
        for table in sorted(files - set(self.results._read)):
            yield f"{table}.csv is not quoted: leave it out"

    def _uncaptioned(self, source: str) -> Iterator[str]:
        for found in re.finditer(r"!\[[^\]]*\]\(([^)]*)\)\s*([^\n]*(?:\n[^\n]+)*)", source):
            if found[1] not in self.pictures:
                yield f"{found[1]} is not among the page's pictures"
            caption = found[2]
            if not (caption.startswith("*") and re.search(r"seed \d|[Ee]xact|closed form", caption)):
                yield f"{found[1]} has no caption in italics that names its seed, or says that it is exact"

    def update(self, results: Path) -> None:
        """Copy the tables that the page quotes, their commands, and its pictures from a folder of results."""
        source, target = results / self.experiments, self.results.folder
        found = Results(source)
        self.quotes(found)
        self.contradictions(found)
        self.corrections(found)
        commands = json.loads((source / COMMANDS).read_text(encoding="utf-8"))
        target.mkdir(parents=True, exist_ok=True)
        for table in found._read:
            shutil.copyfile(source / f"{table}.csv", target / f"{table}.csv")
        kept = {table: commands[table] for table in sorted(found._read)}
        (target / COMMANDS).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        for shown, drawn in self.pictures.items():
            shutil.copyfile(source / drawn, self.folder / shown)
        self.results._read.clear()

    def differences(self, results: Path) -> list[dict[str, str]]:
        """Return the numbers of the page that differ in another folder of results, which has another seed."""
        rows = []
        for ours, theirs in zip(
            self.quotes(self.results), self.quotes(Results(results / self.experiments)), strict=True
        ):
            if ours.startswith("|") and ours.split(_OPEN)[0] != theirs.split(_OPEN)[0]:
                raise LookupError(
                    f"rows of the two seeds stand in another order: {_unmarked(ours)} and {_unmarked(theirs)}"
                )
            pairs = zip(_marked(ours), _marked(theirs), strict=True)
            rows += [{"page": one, "other seed": other, "in": _unmarked(ours)} for one, other in pairs if one != other]
        return rows


def _marked(quote: str) -> list[str]:
    return re.findall(f"{_OPEN}(.*?){_CLOSE}", quote)


def _unmarked(quote: str) -> str:
    return quote.replace(_OPEN, "").replace(_CLOSE, "")


def _find(quote: str, text: str, known: list[bool]) -> list[str]:
    """Mark all numbers of a quotation as known, wherever it is on the page; if it is missing, return the difference."""
    pieces = re.split(f"([{_OPEN}{_CLOSE}])", plain(quote))
    wanted, spans, inside = "", [], False
    for piece in pieces:
        if piece in (_OPEN, _CLOSE):
            inside = piece == _OPEN
            continue
        if inside:
            spans.append((len(wanted), len(wanted) + len(piece)))
        wanted += piece
    places = [found.start() for found in re.finditer(rf"(?<![\w.]){re.escape(wanted)}(?![\w%])", text)]
    for place in places:
        for start, end in spans:
            known[place + start : place + end] = [True] * (end - start)
    if places:
        return []
    alike = re.search(_with_any_numbers(wanted), text)
    return [f"the page has not: {wanted}" + (f"\n    but: {alike[0]}" if alike else "")]


def _with_any_numbers(wanted: str) -> str:
    # This matches a number inside a sentence. `NUMBER` itself also matches the empty string.
    return r"(?:[-\d.,e%]*\d[\d%]*|infinite)".join(
        re.escape(part) for part in re.split(r"(?<![\w.])(?:-?[\d.,]*\d(?:e-?\d+)?%?|infinite)", wanted)
    )


def page_of(paper: str) -> Page | None:
    """Return the page of a paper, or None if its reproduction does not declare one."""
    module = THEORY.get(paper, f"experiments.{paper}.page")
    if find_spec(module) is None:
        return None
    page: Page = import_module(module).PAGE
    return page


def main() -> None:
    """Run the command line."""
    import typer

    def command(
        papers: list[str] = typer.Argument(help=", ".join((*PAPERS, *THEORY))),
        update: Path | None = typer.Option(
            None, "--update", help="Folder of results to take tables and pictures from."
        ),
        against: Path | None = typer.Option(None, "--against", help="Folder of results of another seed."),
    ) -> None:
        wrong = 0
        for paper in papers:
            page = page_of(paper)
            if page is None:
                raise typer.BadParameter(f"there is no experiments/{paper}/page.py")
            if update:
                page.update(update)
            if against:
                rows = page.differences(against)
                with (page.results.folder / SEEDS).open("w", newline="", encoding="utf-8") as file:
                    writer = csv.DictWriter(file, ["page", "other seed", "in"])
                    writer.writeheader()
                    writer.writerows(rows)
                numbers = sum(len(_marked(quote)) for quote in page.quotes(page.results))
                typer.echo(f"{paper}: {len(rows)} of {numbers} numbers differ at the other seed")
            for sentence in page.check():
                typer.echo(sentence)
                wrong += 1
        raise typer.Exit(wrong > 0)

    typer.run(command)


if __name__ == "__main__":
    main()

"""Questionnaires made with XLSForm, workbooks whose sheets ``survey`` and ``choices`` contain the questions.

Questions with one or several answers from a list, and questions for numbers between limits, become questions of a
schema. Translations (``label::German (de)``) become texts of a survey page. Safely Report's columns
``garbling::answer`` and ``garbling::rate`` say that a device answers for the contributor. Such a question becomes a
collection of its own, whose mechanism is the design `deniable.designs.garbling`. Anything that cannot be mapped is
listed with its row.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from deniable.designs import Design, garbling
from deniable.errors import (
    DeniableError,
    FileFormatError,
    InvalidInputError,
    InvalidParameterError,
    MissingExtraError,
    quoted,
)
from deniable.files.formats.workbooks import cell_text, check_workbook_size
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema

FINEST = 64
"""Most points of the grid of a number, unless it is a whole number with fewer values."""

_LABEL = re.compile(r"label(?:::(?P<language>.+))?")
_TAG = re.compile(r"\(\s*([A-Za-z0-9-]+)\s*\)\s*$")
_LIMITS = re.compile(r"\s*\.\s*(<=|>=|<|>)\s*(-?\d+(?:\.\d+)?)\s*")
_NOT_ASKED = ("start", "end", "today", "deviceid", "username", "phonenumber", "audit", "calculate", "hidden", "note")
_BATCHES = (
    "the coins of a batch depend on each other, so people who know the other answers could learn yours; "
    "leave the column empty"
)

Row = Mapping[str, str]


class Unmapped(NamedTuple):
    """A row of a form that did not become a question.

    Attributes
    ----------
    sheet : str
        Name of the sheet.
    row : int
        Number of the row in the spreadsheet.
    name : str
        Name of the question, or its type if it has none.
    reason : str
        Reason why the row did not become a question, and what to do.
    """

    sheet: str
    row: int
    name: str
    reason: str

    def __str__(self) -> str:
        """Return it as a line of text."""
        return f"sheet {self.sheet}, row {self.row}, {self.name}: {self.reason}"


class _CannotMapError(Exception):
    """Raised with the reason why a row cannot be mapped."""


class GarbledQuestion(NamedTuple):
    """A question that the device answers instead of the contributor, with some probability.

    Attributes
    ----------
    attribute : Attribute
        Attribute with two categories: the other answer, then the sensitive answer.
    rate : Fraction
        Probability that the device gives the sensitive answer.
    row : int
        Row of the question in the sheet.
    """

    attribute: Attribute
    rate: Fraction
    row: int

    def design(self, *, one_sided: bool = False) -> Design:
        """Return the design: `deniable.designs.garbling` with this rate."""
        return garbling(self.rate, one_sided=one_sided)

    def collection(self, *, one_sided: bool = False, title: str = "") -> Collection:
        """Return a collection that asks this question only.

        Raises
        ------
        InvalidParameterError
            If `one_sided` is not set. The other answer proves that its contributor does not hold the sensitive answer,
            so no epsilon holds.
        """
        return Collection(Schema((self.attribute,)), self.design(one_sided=one_sided), title=title)


@dataclass(frozen=True)
class XLSForm:
    """A questionnaire, as `read_xlsform` returns it.

    Parameters
    ----------
    title : str
        Title of the form.
    attributes : tuple of Attribute
        Questions without garbling, in their order.
    garbled : tuple of GarbledQuestion
        Questions with garbling.
    texts : mapping
        Texts in each language: ``title``, ``questions`` (text by name) and ``labels`` (texts of all answers by name).
        They have the form of the ``languages`` of a survey page.
    unmapped : tuple of Unmapped
        Rows that did not become a question.
    """

    title: str
    attributes: tuple[Attribute, ...]
    garbled: tuple[GarbledQuestion, ...]
    texts: Mapping[str, Mapping[str, Any]]
    unmapped: tuple[Unmapped, ...]

    @property
    def schema(self) -> Schema:
        """The schema of the questions without garbling.

        Raises
        ------
        InvalidParameterError
            If there is no such question.
        """
        return Schema(self.attributes)


def read_xlsform(path: Path) -> XLSForm:
    """Read a questionnaire made with XLSForm (.xlsx; extra ``excel``).

    Parameters
    ----------
    path : path
        The workbook.

    Raises
    ------
    MissingExtraError
        If openpyxl is not installed.
    FileFormatError
        If the file is not a workbook with the sheets ``survey`` and ``choices``.
    InvalidInputError
        If the garbling of a question cannot be reproduced exactly. The message names every such row. Without its noise,
        or with other noise, the import would break the promise of the form.

    Examples
    --------
    >>> import openpyxl, tempfile
    >>> book = openpyxl.Workbook()
    >>> book.active.title = "survey"
    >>> for row in (["type", "name", "label"], ["select_one yn", "smokes", "Do you smoke?"]):
    ...     book["survey"].append(row)
    >>> choices = book.create_sheet("choices")
    >>> for row in (["list_name", "name", "label"], ["yn", "no", "No"], ["yn", "yes", "Yes"]):
    ...     choices.append(row)
    >>> path = Path(tempfile.mkdtemp()) / "form.xlsx"
    >>> book.save(path)
    >>> [one.name for one in read_xlsform(path).attributes]
    ['smokes']
    """
    sheets = _sheets(Path(path))
    settings = next(iter(sheets.get("settings", [])), (0, {}))[1]
    lists = _Lists(sheets["choices"])
    language = settings.get("default_language", "")
    form = _Form(lists, _tag(language) if language else "en")
    for row, cells in sheets["survey"]:
        form.read(row, cells)
    if form.refused:
        raise InvalidInputError(
            f"{path}: these questions cannot be garbled exactly as the form says; change these "
            "questions:\n" + "\n".join(form.refused)
        )
    title = settings.get("form_title", "")
    for texts in form.texts.values():
        texts["title"] = title
    return XLSForm(title, tuple(form.attributes), tuple(form.garbled), form.texts, tuple(form.unmapped))


def _sheets(path: Path) -> dict[str, list[tuple[int, Row]]]:
    """Return every sheet's rows with their numbers, as texts by the header's names; empty cells are left out."""
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError(f'openpyxl must be installed to read {path}: pip install "deniable[excel]"') from error
    found: dict[str, list[tuple[int, Row]]] = {}
    with path.open("rb") as file, _readable(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns about styles, rules and pictures
        check_workbook_size(path, file)
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        for sheet in book.worksheets:
            sheet.reset_dimensions()
            lines = ([cell_text(cell).strip() for cell in line] for line in sheet.iter_rows(values_only=True))
            header = [name.lower() if not name.lower().startswith("label::") else name for name in next(lines, [])]
            rows = enumerate(lines, start=2)
            cells = ((row, dict(zip(header, line, strict=False))) for row, line in rows)
            found[sheet.title.lower()] = [
                (row, {name: text for name, text in line.items() if name and text}) for row, line in cells
            ]
    missing = [name for name in ("survey", "choices") if name not in found]
    if missing:
        raise FileFormatError(f"{path} must have the sheets survey and choices of XLSForm, but {missing[0]} is missing")
    return found


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except DeniableError:
        raise
    except Exception:
        # The parser of an XML archive may raise anything.
        raise FileFormatError(f"{path} is not a workbook (.xlsx), or the file is damaged or locked") from None


def _tag(language: str) -> str:
    """Return the tag of a language as XLSForm writes it: "German (de)" is "de"."""
    found = _TAG.search(language)
    return (found.group(1) if found else language).strip().lower()


class _Lists:
    """The lists of choices, by name: names of choices, and their labels by language."""

    def __init__(self, rows: Sequence[tuple[int, Row]]) -> None:
        self._choices: dict[str, list[tuple[int, Row]]] = {}
        for row, cells in rows:
            self._choices.setdefault(cells.get("list_name") or cells.get("list name", ""), []).append((row, cells))

    def names(self, name: str) -> tuple[str, ...]:
        """Return the names of the choices of a list."""
        if not name or name not in self._choices:
            raise _CannotMapError(f"the sheet choices has no list named {quoted(name)}; add the list")
        found = tuple(cells.get("name", "") for _, cells in self._choices[name])
        if not all(found) or len(set(found)) < len(found):
            row = next(row for row, cells in self._choices[name] if found.count(cells.get("name", "")) > 1 or not cells)
            raise _CannotMapError(
                f"the choices of the list {quoted(name)} must have different names; see row {row} of the sheet choices"
            )
        return found

    def label(self, name: str, choice: str, column: str) -> str:
        """Return the label of a choice in a column, its name if there is none."""
        (cells,) = (cells for _, cells in self._choices[name] if cells.get("name") == choice)
        return cells.get(column) or cells.get("label") or choice


@dataclass
class _Form:
    """Questions of the sheet ``survey``, read from its first row to its last."""

    lists: _Lists
    default: str
    attributes: list[Attribute] = field(default_factory=list)
    garbled: list[GarbledQuestion] = field(default_factory=list)
    unmapped: list[Unmapped] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    texts: dict[str, dict[str, Any]] = field(default_factory=dict)
    rosters: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)

    def read(self, row: int, cells: Row) -> None:
        """Read one row."""
        kind, *rest = cells.get("type", "").replace("select one", "select_one").split()
        kind = kind.lower() if kind else ""
        name = cells.get("name", "") or cells.get("type", "")
        if kind in ("begin_group", "begin_repeat", "begin"):
            repeated = "repeat" in kind or rest[:1] == ["repeat"]
            self.rosters.append(name if repeated else "")
            self.conditions.append(cells.get("relevant", ""))
            return
        if kind in ("end_group", "end_repeat", "end") and (kind != "end" or rest[:1] in (["group"], ["repeat"])):
            if self.rosters:
                self.rosters.pop()
                self.conditions.pop()
            return
        if not cells:
            return
        garbles = any(cells.get(f"garbling::{key}") for key in ("answer", "rate", "covariate"))
        try:
            self._add(row, name, kind, rest, cells, garbles)
        except (_CannotMapError, InvalidParameterError) as error:
            problem = Unmapped("survey", row, name, str(error))
            if garbles:
                self.refused.append(str(problem))
            else:
                self.unmapped.append(problem)

    def _add(self, row: int, name: str, kind: str, rest: Sequence[str], cells: Row, garbles: bool) -> None:
        if kind in _NOT_ASKED and not garbles:
            raise _CannotMapError(f"a question of the type {kind} has no answer")
        if any(self.rosters):
            raise _CannotMapError(
                f"the question is in the repeat {quoted(self.rosters[-1])}, but a person reports each question once; "
                "move the question out of the repeat"
            )
        if cells.get("relevant") or any(self.conditions):
            raise _CannotMapError(
                "the question has a condition (relevant), which would show who answered the question; ask everyone, "
                'with an answer such as "does not apply"'
            )
        reader = _READERS.get(kind)
        if reader is None:
            raise _CannotMapError(
                f"the type {kind or 'without a name'} has no list of answers; ask for a choice from a list"
            )
        attribute = reader(self, name, rest, cells)
        if garbles:
            garbled = self._garbled(attribute, kind, cells, row)
            if garbled is None:
                self.unmapped.append(
                    Unmapped("survey", row, name, "its rate is 0: it is asked directly, without any noise")
                )
                self.attributes.append(attribute)
            else:
                self.garbled.append(garbled)
                attribute = garbled.attribute
        else:
            self.attributes.append(attribute)
        self._translate(attribute, cells, rest)

    def _garbled(self, attribute: Attribute, kind: str, cells: Row, row: int) -> GarbledQuestion | None:
        """Return the question and its rate; None for a rate of 0."""
        if kind != "select_one" or len(attribute.labels) != 2:
            raise _CannotMapError(
                "only a question of the type select_one with two choices can be garbled; leave the garbling columns "
                "of this question empty"
            )
        carrier = cells.get("garbling::answer", "")
        if carrier not in attribute.categories:
            raise _CannotMapError(
                f"garbling::answer must name one of the choices ({' or '.join(attribute.categories)}), got "
                f"{quoted(carrier)}"
            )
        covariate = cells.get("garbling::covariate", "")
        if covariate == "*":
            raise _CannotMapError(f"garbling::covariate must be empty, got “*”: {_BATCHES}")
        if covariate:
            raise _CannotMapError(f"garbling::covariate must be empty, got the name of a column: {_BATCHES}")
        written = cells.get("garbling::rate", "")
        if not re.fullmatch(r"(\d*\.?\d+|\d+\.)(e-?\d+)?", written, re.I):
            raise _CannotMapError(f"garbling::rate must be a decimal number in [0, 1), got {quoted(written)}")
        rate = Fraction(written)
        if rate >= 1:
            raise _CannotMapError(
                f"garbling::rate must be in [0, 1), got {written}: with a rate of 1 everyone would give the same answer"
            )
        if not rate:
            return None
        other = next(one for one in attribute.categories if one != carrier)
        return GarbledQuestion(Attribute(attribute.name, (other, carrier), title=attribute.title), rate, row)

    def _translate(self, attribute: Attribute, cells: Row, rest: Sequence[str]) -> None:
        for column in cells:
            match = _LABEL.fullmatch(column)
            if match is None:
                continue
            language = match.group("language")
            texts = self.texts.setdefault(_tag(language) if language else self.default, {"questions": {}, "labels": {}})
            texts["questions"][attribute.name] = cells[column]
            # A survey page has labels for numbers, too: the points of their grid.
            texts["labels"][attribute.name] = [
                self.lists.label(rest[0], one, column) if rest else one for one in attribute.labels
            ]

    # ---------------------------------------------------------------- types of questions

    def _one(self, name: str, rest: Sequence[str], cells: Row) -> Attribute:
        self._check_choices(rest, cells)
        return Attribute(name, self.lists.names(rest[0] if rest else ""), title=_title(cells))

    def _several(self, name: str, rest: Sequence[str], cells: Row) -> Attribute:
        self._check_choices(rest, cells)
        # Forms write the chosen names with a space between them.
        names = self.lists.names(rest[0] if rest else "")
        return Attribute(name, names, kind="multiple", separator=" ", title=_title(cells))

    def _check_choices(self, rest: Sequence[str], cells: Row) -> None:
        if "or_other" in rest:
            raise _CannotMapError("or_other adds open text; instead, add an answer such as “other” to the list")
        if cells.get("choice_filter"):
            raise _CannotMapError(
                "choice_filter makes the list of answers depend on another answer; give everyone the same list"
            )

    def _whole(self, name: str, rest: Sequence[str], cells: Row) -> Attribute:  # noqa: ARG002
        least, most = _limits(cells.get("constraint", ""), whole=True)
        return _number(name, least, most, min(int(most - least) + 1, FINEST), cells)

    def _decimal(self, name: str, rest: Sequence[str], cells: Row) -> Attribute:  # noqa: ARG002
        least, most = _limits(cells.get("constraint", ""), whole=False)
        return _number(name, least, most, FINEST, cells)

    def _range(self, name: str, rest: Sequence[str], cells: Row) -> Attribute:  # noqa: ARG002
        given = dict(re.findall(r"(\w+)\s*=\s*(-?\d+(?:\.\d+)?)", cells.get("parameters", "")))
        least, most, step = (Fraction(given.get(key, usual)) for key, usual in _RANGE.items())
        if step <= 0 or most <= least or (most - least) % step:
            raise _CannotMapError(
                "parameters must have start < end, and a whole number of steps between start and end; change start, "
                "end or step"
            )
        return _number(name, least, most, min(int((most - least) / step) + 1, FINEST), cells)


_RANGE = {"start": "0", "end": "10", "step": "1"}
"""Parameters of a range, with XLSForm's defaults."""

_READERS = {
    "select_one": _Form._one,
    "select_multiple": _Form._several,
    "integer": _Form._whole,
    "int": _Form._whole,
    "decimal": _Form._decimal,
    "range": _Form._range,
}


def _title(cells: Row) -> str:
    return cells.get("label") or next((text for column, text in cells.items() if _LABEL.fullmatch(column)), "")


def _number(name: str, least: Fraction, most: Fraction, points: int, cells: Row) -> Attribute:
    return Attribute(name, kind="numeric", range=(float(least), float(most)), grid=points, title=_title(cells))


def _limits(constraint: str, *, whole: bool) -> tuple[Fraction, Fraction]:
    """Return the least and the largest number that a constraint such as ``. >= 0 and . <= 120`` allows."""
    least: Fraction | None = None
    most: Fraction | None = None
    for part in re.split(r"\band\b", constraint) if constraint else []:
        found = _LIMITS.fullmatch(part)
        if found is None:
            raise _CannotMapError(
                "the constraint must give a smallest and a largest number, such as . >= 0 and . <= 120"
            )
        sign, limit = found.group(1), Fraction(found.group(2))
        if sign in "<>":
            if not whole:
                raise _CannotMapError(
                    "the limits in the constraint must themselves be possible answers: write <= and >= instead of < "
                    "and >"
                )
            limit += -1 if sign == "<" else 1
        if sign[0] == ">":
            least = limit
        else:
            most = limit
    if least is None or most is None or least >= most:
        raise _CannotMapError(
            "the constraint of a number needs two limits, such as . >= 0 and . <= 120; these limits will be public"
        )
    return least, most

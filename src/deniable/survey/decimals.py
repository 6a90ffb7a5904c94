"""Numbers as people write them in files, with decimal commas, thousands separators and white space.

A cell such as ``1.746,82``, ``0,70`` or ``1 746.5`` can be read in one way only, and is read in this way. A cell such
as ``1.746`` or ``1,746`` can be read in two ways. Then the other cells of its column decide. If they do not decide, the
user is asked, once for all columns. A wrong guess would make numbers a thousand times too large or too small.

All commands that read answers (`schema`, `randomize`, `send` and others) use this module, so that a file has one
meaning.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from deniable.core.checks import listed
from deniable.errors import AmbiguousNumbersError, InvalidParameterError, quoted
from deniable.survey.tally import FEW_DIFFERENT_WORDS, FEW_WORDS, NOTHING

Mark: TypeAlias = Literal["point", "comma"]
"""The mark before the fraction. The other mark may divide thousands."""

Reading: TypeAlias = Literal["word", "plain", "point", "comma", "1.500", "1,500"]
"""Kinds of cells: not a number; only digits; a number with a decimal point, or with a decimal comma; or a number that
may have either."""

HEAD_RECORDS = 2000
"""First records that decide how the numbers of a file are written."""

_SIGN = r"([+\-\u2212]?)"
_SPACED = re.compile(_SIGN + r"([1-9][0-9]{0,2}(?:[ \u00a0\u202f'\u2019][0-9]{3})+)(?:([.,])([0-9]+))?")
_WHOLE = re.compile(_SIGN + "[0-9]+", re.ASCII)
_BOTH = re.compile(_SIGN + r"([1-9][0-9]{0,2}(?:([.,])[0-9]{3})(?:\3[0-9]{3})*)(?!\3)[.,]([0-9]+)", re.ASCII)
_GROUPS = re.compile(_SIGN + r"([1-9][0-9]{0,2})([.,])([0-9]{3}(?:\3[0-9]{3})*)", re.ASCII)
_FRACTION = re.compile(_SIGN + r"([0-9]*)([.,])([0-9]+)((?:[eE][+-]?[0-9]+)?)", re.ASCII)
_LIST = re.compile(r"[1-9][0-9]?(?:,[1-9][0-9]?)+", re.ASCII)
_GIVEN: Mapping[str | None, Mark | None] = {None: None, "point": "point", "comma": "comma"}
_MARK: Mapping[str, Mark] = {".": "point", ",": "comma"}
_OTHER: Mapping[str, str] = {".": ",", ",": "."}


def read_number(text: str) -> tuple[Reading, str]:
    """Return the way to read a cell, and the number with a decimal point if it can be read in one way only.

    Examples
    --------
    >>> [read_number(text) for text in ("1.746,82", "0,70", "1 746", "1,746")]
    [('comma', '1746.82'), ('comma', '0.70'), ('plain', '1746'), ('1,500', '1,746')]
    """
    text = text.strip()
    if found := _SPACED.fullmatch(text):
        sign, whole, mark, fraction = found.groups()
        digits = _sign(sign) + "".join(filter(str.isdigit, whole))
        return ("plain", digits) if mark is None else (_MARK[mark], f"{digits}.{fraction}")
    if _WHOLE.fullmatch(text):
        return "plain", text.replace("\u2212", "-")
    if found := _BOTH.fullmatch(text):
        sign, whole, mark, fraction = found.groups()
        return _MARK[_OTHER[mark]], f"{_sign(sign)}{whole.replace(mark, '')}.{fraction}"
    if found := _GROUPS.fullmatch(text):
        sign, whole, mark, rest = found.groups()
        # A mark that divides several groups can only stand between thousands.
        if mark in rest:
            return _MARK[_OTHER[mark]], _sign(sign) + whole + rest.replace(mark, "")
        return ("1.500" if mark == "." else "1,500"), text
    if found := _FRACTION.fullmatch(text):
        sign, whole, mark, fraction, power = found.groups()
        return _MARK[mark], f"{_sign(sign)}{whole}.{fraction}{power}"
    return "word", text


def plain_number(text: str, mark: Mark | None) -> str | None:
    """Return a cell of a column of numbers with a decimal point, or None if it may be read in two ways.

    Parameters
    ----------
    text : str
        Text of the cell. Words are returned unchanged.
    mark : {"point", "comma"} or None
        Decimal mark of the column, if it is known.

    Examples
    --------
    >>> [plain_number("1.746", mark) for mark in ("point", "comma", None)]
    ['1.746', '1746', None]
    """
    reading, number = read_number(text)
    if reading == "word":
        return text if number else ""
    if reading not in ("1.500", "1,500"):
        return number
    if mark is None:
        return None
    written = "." if reading == "1.500" else ","
    number = number.replace("\u2212", "-")
    return number.replace(",", ".") if _MARK[written] == mark else number.replace(written, "")


def _sign(sign: str) -> str:
    return "-" if sign == "\u2212" else sign


@dataclass(frozen=True)
class NumberColumns:
    """Columns of a file that hold numbers.

    Parameters
    ----------
    known : mapping of str to collections of str, optional
        Columns of numbers, each with its labels, which are texts that stay unchanged. If None, the columns of numbers
        are guessed. They are the columns whose cells are numbers except for a few words.

    Examples
    --------
    >>> NumberColumns({"income": {"none"}}).known
    {'income': {'none'}}
    """

    known: Mapping[str, Collection[str]] | None = None


@dataclass
class _Column:
    """Counts of the cells of one column."""

    readings: Counter[Reading] = field(default_factory=Counter)
    words: set[str] = field(default_factory=set)
    lists: bool = True

    def add(self, text: str, times: int) -> None:
        shown = text.strip()
        reading, _ = read_number(shown)
        if not shown or shown.casefold() in NOTHING:
            return
        several = _LIST.fullmatch(shown)
        if reading == "comma" or several:
            parts = [int(part) for part in shown.split(",")] if several else []
            # "1,3" may be the options 1 and 3; "2,0" and "48,50" may not.
            self.lists = self.lists and bool(parts) and all(a < b for a, b in pairwise(parts))
        self.readings[reading] += times
        if reading == "word" and len(self.words) <= FEW_DIFFERENT_WORDS:
            self.words.add(shown)

    @property
    def seems_numeric(self) -> bool:
        words, cells = self.readings["word"], self.readings.total()
        few = words <= FEW_WORDS * cells or (len(self.words) <= FEW_DIFFERENT_WORDS and 2 * words <= cells)
        return words < cells and few and not (self.lists and self.readings["comma"])

    @property
    def marks(self) -> set[Mark]:
        return {mark for mark in _MARK.values() if self.readings[mark]}

    @property
    def undecided(self) -> bool:
        return self.readings["1.500"] + self.readings["1,500"] > 0


class Decimals:
    """Style of the numbers in one file, which is found in the first records and used for all records.

    Parameters
    ----------
    path : path or str
        Name of the file or table in messages.
    numbers : NumberColumns
        Columns that hold numbers.
    decimal : {"point", "comma"}, optional
        Decimal mark that the user gives.
    points : bool
        True if a number such as 1.500 has a decimal point unless something speaks against it. This is so in files that
        programs write, and in files with commas between the cells.

    Raises
    ------
    InvalidParameterError
        If `decimal` is neither "point" nor "comma".

    Examples
    --------
    >>> found = Decimals(Path("a.csv"), NumberColumns(), None, points=False)
    >>> found.look({"income": ["1.746,82", "980"]})
    >>> found.convert(pa.record_batch({"income": ["2.500"]}), first_row=1)["income"].to_pylist()
    ['2500']
    """

    def __init__(
        self, path: Path | str, numbers: NumberColumns, decimal: str | None, points: bool, remedy: str = "--decimal "
    ) -> None:
        if decimal not in _GIVEN:
            raise InvalidParameterError(f'decimal must be "point" or "comma", got decimal={quoted(decimal)}')
        self._path, self._known, self._points, self._remedy = path, numbers.known, points, remedy
        self._given = _GIVEN[decimal]
        self._marks: dict[str, Mark | None] = {}
        self._commas: list[str] = []

    def look(self, columns: Mapping[str, Iterable[str | None]]) -> None:
        """Find the style of the numbers in each column from the first cells of the file.

        Raises
        ------
        InvalidParameterError
            If a column may be read in two ways, and the user did not say in which.
        """
        found: dict[str, _Column] = {}
        for name, cells in columns.items():
            found[name] = column = _Column()
            kept = () if self._known is None else self._known.get(name, ())
            for text, times in Counter(cells).items():
                if text and text not in kept:
                    column.add(text, times)
        elsewhere = {mark for column in found.values() if column.seems_numeric for mark in column.marks}
        asked = []
        for name, column in found.items():
            if self._known is None and not column.seems_numeric:
                continue
            mark: Mark | None = self._given
            if mark is None and len(column.marks) == 1:
                (mark,) = column.marks
            elif mark is None and not column.marks and not column.readings["1,500"]:
                usual = elsewhere == {"point"} or (self._points and "comma" not in elsewhere)
                mark = "point" if usual else None
            self._marks[name] = mark
            if mark is None and column.undecided and (self._known is None or name in self._known):
                asked.append(name)
        if asked:
            points = sum(found[name].readings["1.500"] for name in asked)
            raise AmbiguousNumbersError(
                tuple(asked), str(self._path), "comma" if points else "point", remedy=self._remedy
            )

    def convert(self, batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
        """Return a batch with plain numbers in the columns of numbers, and with empty cells instead of white space.

        Raises
        ------
        InvalidParameterError
            If a cell may be read in two ways and no cell before it says in which. The message names the row.
        """
        columns = [
            self._column(name, values, first_row) if pa.types.is_string(values.type) else values
            for name, values in zip(batch.schema.names, batch.columns, strict=True)
        ]
        return pa.record_batch(columns, names=batch.schema.names)

    def _column(self, name: str, values: pa.Array, first_row: int) -> pa.Array:
        numbers = name in self._marks if self._known is None else name in self._known
        if not numbers:
            blank = pc.utf8_is_space(values)
            return pc.if_else(blank, "", values) if pc.any(blank).as_py() else values
        mark = self._marks.get(name, "point" if self._points else None)
        looked = (
            r"[,\s'\x{00a0}\x{202f}\x{2019}\x{2212}]" if mark == "point" else r"[.,\s'\x{00a0}\x{202f}\x{2019}\x{2212}]"
        )
        if not pc.any(pc.match_substring_regex(values, looked)).as_py():
            return values
        kept = () if self._known is None else self._known[name]
        encoded = values.dictionary_encode()
        texts: list[str] = encoded.dictionary.to_pylist()
        plain = [text if text in kept else plain_number(text, mark) for text in texts]
        if None in plain:
            code = plain.index(None)
            row = pc.index(encoded.indices, pa.scalar(code, encoded.indices.type)).as_py()
            whole: Mark = "comma" if read_number(texts[code])[0] == "1.500" else "point"
            raise AmbiguousNumbersError((name,), str(self._path), whole, first_row + row, self._remedy)
        if name not in self._commas and any(
            "," in text and new != text and (read_number(text)[0] == "comma" or mark == "comma")
            for text, new in zip(texts, plain, strict=True)
        ):
            self._commas.append(name)
        new = pa.DictionaryArray.from_arrays(encoded.indices, pa.array(plain, pa.string()))
        return new.cast(pa.string())

    @property
    def remarks(self) -> Iterator[str]:
        """Yield remarks that name the columns in which commas were read as decimal commas."""
        if self._commas:
            yield f"numbers have decimal commas in {listed(self._commas)}"


def plain_table(table: pa.Table, numbers: NumberColumns, decimal: str | None = None, first_row: int = 1) -> pa.Table:
    """Return a table with plain numbers in its columns of text, read like a file with the same cells.

    Parameters
    ----------
    table : pyarrow Table
        Table in memory. Columns of other types stay unchanged, because their numbers can be read in one way only.
    numbers : NumberColumns
        Columns that hold numbers.
    decimal : {"point", "comma"}, optional
        Decimal mark that the user gives. By default 1.500 has a decimal point unless a cell speaks against it.
    first_row : int
        Number of the first record, for messages.

    Raises
    ------
    AmbiguousNumbersError
        If a number may be read in two ways, and neither the user nor a cell says in which.

    Examples
    --------
    >>> table = pa.table({"income": ["1.746,82", "2.500"], "age": [30, 40]})
    >>> plain_table(table, NumberColumns({"income": ()}))["income"].to_pylist()
    ['1746.82', '2500']
    """
    wanted = table.column_names if numbers.known is None else numbers.known.keys()
    places = [i for i, field in enumerate(table.schema) if field.name in wanted and _is_text(field.type)]
    if not places:
        return table
    found = Decimals("the table", numbers, decimal, points=True, remedy="decimal=")
    texts = {table.schema[i].name: pc.cast(table.column(i), pa.string()) for i in places}
    found.look({name: column.unique().to_pylist()[:HEAD_RECORDS] for name, column in texts.items()})
    for i in places:
        name = table.schema[i].name
        batch = pa.record_batch([texts[name].combine_chunks()], names=[name])
        table = table.set_column(i, name, found.convert(batch, first_row).column(0))
    return table


def _is_text(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))

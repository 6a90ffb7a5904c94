"""Files of answers as people really have them; ``python -m tests.messy.files`` writes them, and tests read them."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = Path(__file__).parent
N = 150


def _text(columns: Mapping[str, Sequence[Any]], delimiter: str, line_end: str = "\n") -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=line_end)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _drawn(seed: int, choices: Sequence[Any]) -> list[Any]:
    return [choices[i] for i in np.random.default_rng(seed).integers(0, len(choices), N)]


def _boxes(seed: int, separator: str) -> list[str]:
    chosen = np.random.default_rng(seed).integers(0, 2, (N, 3))
    names = np.array(["phone", "radio", "television"])
    return [separator.join(names[row == 1]) for row in chosen]


def spreadsheet() -> bytes:
    """Return CSV with semicolons, a byte-order mark, Windows line ends, decimal commas, and a delimiter in a title."""
    amounts = [f"{value:.2f}".replace(".", ",") for value in np.random.default_rng(1).uniform(5, 90, N)]
    columns = {"Geschlecht; w/m": _drawn(2, "wm"), "Note": _drawn(3, "12345"), "Betrag": amounts}
    return b"\xef\xbb\xbf" + _text(columns, ";", "\r\n").encode()


def german() -> bytes:
    """Return Windows-1252 CSV: semicolons, decimal commas, points between thousands, blanks as no answer, weights."""
    generator = np.random.default_rng(25)

    def written(values: Any, digits: int) -> list[str]:
        return [f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,")) for value in values]

    incomes = written(generator.uniform(450, 9800, N), 2)
    rents = written(generator.uniform(250, 1950, N), 0)
    rents[5], rents[60] = "k.A.", "1.234,50"
    blank = [" ", "", *["x"] * 8]
    columns = {
        "Stadt": [
            "  " if mark == " " else "" if not mark else town
            for mark, town in zip(_drawn(26, blank), _drawn(27, ["Köln", "München", "Düsseldorf"]), strict=True)
        ],
        "Haushalt": _drawn(28, ["1", "2", "3", "4", "5", ""]),
        "Einkommen": [income if mark == "x" else mark for mark, income in zip(_drawn(29, blank), incomes, strict=True)],
        "Miete": rents,
        "Gewicht": written(generator.uniform(0.3, 2.4, N), 2),
    }
    return _text(columns, ";", "\r\n").encode("cp1252")


def tabs() -> bytes:
    """Return tab-separated text in a .csv file, with commas and line ends inside cells and an empty last column."""
    columns = {
        "place": _drawn(4, ["Paris, France", "Lyon, France", "Berlin,\nGermany", ""]),
        "visits": np.random.default_rng(5).integers(0, 8, N).tolist(),
        "nothing": [""] * N,
    }
    return _text(columns, "\t").encode()


def numbers() -> bytes:
    """Return numbers with several marks for a missing answer, and one answer in words."""
    ages = np.random.default_rng(6).integers(18, 91, N).astype(str).tolist()
    ages[3], ages[50], ages[70], ages[99], ages[120] = "NA", "NA", "n/a", "", "over sixty"
    heights = [f"{value:.2f}" for value in np.random.default_rng(7).normal(1.7, 0.08, N)]
    return _text({"age": ages, "height": heights, "children": _drawn(8, ["0", "1", "2", "3", "?"])}, ",").encode()


def incomes() -> bytes:
    """Return skewed amounts: most are below a few thousand, one is far above."""
    amounts = np.round(np.random.default_rng(9).lognormal(7.4, 0.5, N), 2)
    amounts[17] = 8_123_456.78
    return _text({"income": amounts.tolist(), "sector": _drawn(10, ["public", "private"])}, ",").encode()


def spellings() -> bytes:
    """Return one answer in several spellings."""
    columns = {
        "smoker": _drawn(11, ["Yes", "yes", "YES ", "no", "No"]),
        "town": _drawn(12, ["New York", "new  york", "Boston"]),
    }
    return _text(columns, ",").encode()


def boxes() -> bytes:
    """Return several answers per cell with three delimiters; a form writes commas."""
    columns = {"owns": _boxes(13, ", "), "wants": _boxes(14, ";"), "had": _boxes(15, " | ")}
    return _text(columns, ",").encode()


def identifiers() -> bytes:
    """Return row numbers, names, dates, free text, a constant column, and one usable column."""
    first = datetime.date(2024, 1, 1)
    days = [str(first + datetime.timedelta(days=int(i))) for i in np.random.default_rng(16).integers(0, 700, N)]
    columns = {
        "row": range(1, N + 1),
        "email": [f"person{i}@example.org" for i in range(N)],
        "date": days,
        "month": [day[:7] for day in days],
        "remark": [f"it was the {i}th time" for i in range(N)],
        "wave": ["1"] * N,
        "answer": _drawn(17, ["agree", "disagree", ""]),
    }
    return _text(columns, ",").encode()


def typed() -> bytes:
    """Return Parquet with types: lists, nulls, truth values, dates, categories, whole numbers as floats."""
    generator = np.random.default_rng(18)
    lists = [cell.split(";") if cell else [] for cell in _boxes(19, ";")]
    table = pa.table(
        {
            "owns": pa.array([None, *lists[1:]], pa.list_(pa.string())),
            "agrees": pa.array(_drawn(20, [True, False, None])),
            "stars": pa.array([float(value) for value in generator.integers(1, 6, N)]),
            "minutes": pa.array([*generator.integers(0, 600, N - 1).tolist(), None], pa.int32()),
            "born": pa.array([datetime.date(1950 + i % 50, 1, 1 + i % 28) for i in range(N)]),
            "town": pa.array(_drawn(21, ["A", "B", "C"])).dictionary_encode(),
        }
    )
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def workbook() -> bytes:
    """Return a spreadsheet with types, a formula, an empty line, a second sheet, and empty last cells."""
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["stars", "owns", "amount", "when", "agrees", "remark"])
    stars, owns = np.random.default_rng(22).integers(1, 6, N).tolist(), _boxes(23, "; ")
    amounts = np.random.default_rng(24).uniform(0, 40, N).round(2).tolist()
    for i in range(N):
        day = datetime.datetime(2024, 1 + i % 12, 1 + i % 28)
        sheet.append([float(stars[i]), owns[i] or None, amounts[i], day, bool(i % 3), None])
        if i == N // 2:
            sheet.append([None] * 6)
    sheet["A2"] = "=1+1"
    book.create_sheet("notes").append(["not", "this"])
    book.properties.created = book.properties.modified = datetime.datetime(2024, 1, 1)
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


FILES = {
    "spreadsheet.csv": spreadsheet,
    "german.csv": german,
    "tabs.csv": tabs,
    "numbers.csv": numbers,
    "incomes.csv": incomes,
    "spellings.csv": spellings,
    "boxes.csv": boxes,
    "identifiers.csv": identifiers,
    "typed.parquet": typed,
    "workbook.xlsx": workbook,
}

if __name__ == "__main__":
    for name, content in FILES.items():
        (FOLDER / name).write_bytes(content())

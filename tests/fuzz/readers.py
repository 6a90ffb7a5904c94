"""All readers of files as functions of bytes, with a valid file for each."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from deniable import Aggregate, SimulationRandomness
from deniable.errors import DeniableError
from deniable.files.formats.reports import ReportReader, write_reports
from deniable.files.formats.tables import open_answers
from deniable.research.dealt.files.shares import ShareReader, write_shares
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.survey.collection import Collection
from deniable.survey.dictionary_file import read_dictionary, read_lines
from deniable.survey.drafting import draft_schema
from deniable.survey.schema import Attribute, Schema
from tests.messy import files as messy
from tests.unit.survey_files import SCHEMA, SURVEY, answers_file
from tests.vectors import kinds

_QUOTA: Any = QuotaRR(1.0, 20, 4, deal_id="a")
DEALT = Collection(Schema((Attribute("smoker", ("yes", "no")),)), _QUOTA)

Reader = Callable[[Path], Any]


def _answers(path: Path) -> None:
    with open_answers(path) as reader:
        for _ in reader:
            pass


def _encoded(path: Path) -> None:
    with open_answers(path, kinds.SCHEMA.asked) as reader:
        for batch in reader:
            kinds.SCHEMA.decode(kinds.SCHEMA.encode(batch, SimulationRandomness(1)))


def _drafted(path: Path) -> None:
    with open_answers(path) as reader:
        schema = draft_schema(iter(reader)).schema
    assert Schema.from_json(schema.to_json()) == schema


READERS: dict[str, tuple[str, Reader]] = {
    "collection": (".json", Collection.load),
    "schema": (".json", Schema.load),
    "collection of kinds": (".json", Collection.load),
    "schema of kinds": (".json", Schema.load),
    "answers of kinds": (".csv", lambda path: _encoded(path)),
    "draft": (".csv", lambda path: _drafted(path)),
    "aggregate": (".aggregate", Aggregate.load),
    "reports": (".parquet", lambda path: list(ReportReader(path, SURVEY))),
    "shares": (".parquet", lambda path: list(ShareReader(path, DEALT).batches())),
    "csv": (".csv", _answers),
    "parquet": (".parquet", _answers),
    "workbook": (".xlsx", _answers),
    "dictionary": (".txt", read_dictionary),
    "lines": (".txt", read_lines),
}
"""Name -> (suffix, reader)."""


DOCUMENTS = {"collection of kinds": "survey.json", "schema of kinds": "schema.json"}
KINDS = """sex,age,stars,mood,income,share,devices,languages
f,17,1,bad,12.5,0.25,phone;radio,en
m,45,5,good,99999,,fax,es; ca|en
,3e1,3,so-so,0,-.5,,
"""


@cache
def valid(name: str) -> bytes:
    """Return a small file that the reader accepts."""
    with tempfile.TemporaryDirectory() as directory:
        path, rng = Path(directory) / f"valid{READERS[name][0]}", SimulationRandomness(1)
        if name in ("csv", "parquet"):
            answers_file(path, 20)
        elif name == "workbook":
            return (Path(messy.__file__).parent / "workbook.xlsx").read_bytes()
        elif name in DOCUMENTS:
            return (Path(kinds.__file__).parent / DOCUMENTS[name]).read_bytes()
        elif name in ("answers of kinds", "draft"):
            path.write_text(KINDS)
        elif name in ("dictionary", "lines"):
            path.write_text("apple\nbanana\ncherry\n")
        elif name == "collection":
            SURVEY.save(path)
        elif name == "schema":
            SCHEMA.save(path)
        elif name == "aggregate":
            counted = SURVEY.mechanism.aggregate(SURVEY.randomize({"smoker": ["no"], "age": [30]}, rng))
            replace(counted, collection=SURVEY.id).save(path)
        elif name == "reports":
            write_reports(path, SURVEY, [SURVEY.randomize({"smoker": ["no", "yes"], "age": [30, 50]}, rng)], rng)
        else:
            write_shares(path, DEALT, "d" * 32, np.arange(1, 21), _QUOTA.deal(20, rng))
        return path.read_bytes()


def read(name: str, content: bytes) -> bool:
    """Read a file with this content: True if it is accepted, False after a typed error; other errors are findings."""
    suffix, reader = READERS[name]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f"input{suffix}"
        path.write_bytes(content)
        try:
            reader(path)
        except DeniableError:
            return False
    return True

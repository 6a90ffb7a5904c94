"""No message contains a true answer: a canary goes into every input, and no traceback or output repeats it."""

from __future__ import annotations

import gzip
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import deniable as dn
from deniable.cli import app
from deniable.errors import InvalidInputError
from deniable.files import open_answers, randomize_file, read_truth
from deniable.research.dealt import KaryJRR, QuotaRR, QuotaUnary, Shares
from deniable.research.dealt.quota.records import QuotaRecords
from deniable.survey.drafting import draft_schema
from deniable.survey.encoding import as_table

WORD, CODE = "I am HIV positive", 987654321
RNG = dn.SimulationRandomness(1)

LISTED = dn.Schema((dn.Attribute("a", ("x", "y")), dn.Attribute("b", ("1", "2"))))
BINNED = dn.Schema((dn.Attribute("a", edges=(1, 2)), dn.Attribute("b", ("1", "2"))))
TEXT = dn.Schema((dn.Attribute("a", text=True),))
DATED = dn.Schema((dn.Attribute("a", edges=("2026-01-01", "2026-07-01")),))
KINDS = dn.Schema(
    (
        dn.Attribute("a", kind="numeric", range=(0, 10), grid=11),
        dn.Attribute("b", ("x", "y"), kind="multiple"),
        dn.Attribute("c", ("1", "2"), kind="ordered"),
    )
)


def leaks(text: str) -> bool:
    """Return whether a text shows the canary, a part of it, or a number in a spelling that contains it."""
    return any(part in text for part in ("HIV", "positive", str(CODE), "987654", "9.876", "987,654"))


def silent(action: Callable[[], Any]) -> None:
    """Assert that an action fails on purpose, and that no part of its traceback shows the canary."""
    with pytest.raises(dn.DeniableError) as caught:
        action()
    # The lines of the test itself quote only names, so the whole traceback can be searched.
    assert not leaks("".join(traceback.format_exception(caught.value)))


TABLES: dict[str, tuple[dn.Schema, Any]] = {
    "unknown category": (LISTED, {"a": ["x", WORD], "b": ["1", "1"]}),
    "unknown number": (LISTED, {"a": ["x", "y"], "b": [1, CODE]}),
    "unknown float": (LISTED, {"a": ["x", "y"], "b": [1.0, CODE + 0.5]}),
    "no number": (BINNED, {"a": ["1", WORD], "b": ["1", "1"]}),
    "infinite": (BINNED, {"a": ["1", f"{CODE}e999"], "b": ["1", "1"]}),
    "dates": (LISTED, {"a": pa.array([CODE], pa.timestamp("s")), "b": ["1"]}),
    "bytes": (LISTED, {"a": pa.array([b"\xff" + WORD.encode()]), "b": ["1"]}),
    "nested": (LISTED, {"a": [[CODE]], "b": ["1"]}),
    "mixed": (LISTED, {"a": [1, WORD], "b": ["1", "1"]}),
    "huge": (LISTED, {"a": [CODE**9], "b": ["1"]}),
    "surrogate": (LISTED, {"a": [WORD + "\udc80"], "b": ["1"]}),
    "lengths": (LISTED, {"a": [WORD], "b": ["1", "1"]}),
    "no columns": (LISTED, {"a": WORD, "b": ["1"]}),
    "frame": (LISTED, pd.DataFrame({"a": pd.Series([1, WORD], dtype=object), "b": [1, 1]})),
    "header": (LISTED, {"a": ["x"], WORD: ["1"]}),
    "only header": (LISTED, {f"x;{WORD}": ["1"]}),
    "damaged dictionary": (
        LISTED,
        {"a": pa.DictionaryArray.from_arrays(pa.array([CODE]), pa.array(["x"]), safe=False), "b": ["1"]},
    ),
    "outside a range": (KINDS, {"a": ["1", str(CODE)], "b": ["x", "y"], "c": [1, 2]}),
    "no date": (DATED, {"a": ["2026-01-01", WORD]}),
    "a number for a date": (DATED, {"a": [1, CODE]}),
    "below a range": (KINDS, {"a": [1.0, -CODE - 0.5], "b": ["x", "y"], "c": [1, 2]}),
    "no number of a grid": (KINDS, {"a": ["1", WORD], "b": ["x", "y"], "c": [1, 2]}),
    "a number too long": (KINDS, {"a": ["1", str(CODE) * 99], "b": ["x", "y"], "c": [1, 2]}),
    "an exponent too large": (KINDS, {"a": ["1", f"{CODE}e99999"], "b": ["x", "y"], "c": [1, 2]}),
    "a number that is nested": (KINDS, {"a": [[CODE]], "b": ["x"], "c": [1]}),
    "an unknown box": (KINDS, {"a": [1, 2], "b": ["x", f"y;{WORD}"], "c": [1, 2]}),
    "an unknown box in a list": (KINDS, {"a": [1, 2], "b": [["x"], [WORD, "y"]], "c": [1, 2]}),
    "a box that is no text": (KINDS, {"a": [1], "b": pa.array([[WORD.encode() + b"\xff"]]), "c": [1]}),
    "lists in lists": (KINDS, {"a": [1], "b": [[[WORD]]], "c": [1]}),
    "not in order": (KINDS, {"a": [1, 2], "b": ["x", "y"], "c": [1, CODE]}),
    "text with NUL": (TEXT, {"a": [f"{WORD}\0"]}),
    "missing text": (TEXT, {"a": [WORD, None]}),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str) -> None:
    schema, answers = TABLES[name]
    silent(lambda: schema.encode(answers, RNG))


CSV = {
    "category": f"a,b\nx,1\n{WORD},1\n",
    "number": f"a,b\nx,{CODE}\n",
    "ragged": f"a,b\nx,1,{WORD}\n",
    "short": f"a,b\n{WORD}\n",
    "unclosed": f'a,b\nx,1\n"{WORD},1\n',
    "long": "a,b\n" + WORD * 20_000 + ",1\n",
    "not UTF-8": f"a,b\n{WORD}\xe9,1\n",
    "no header": f"{WORD},1\nx,1\n",
    "no header, not UTF-8": f"{WORD}\xe9,1\nx,1\n",
    "same names": f"a,b,{WORD},{WORD}\n",
}


@pytest.mark.parametrize("name", CSV)
def test_csv(name: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_bytes(CSV[name].encode("latin-1"))
    survey = dn.Collection(LISTED, dn.SPL(sizes=(2, 2), epsilon=1.0))
    survey.save(tmp_path / "survey.json")
    if name != "same names":
        silent(lambda: randomize_file(survey, path, tmp_path / "r.parquet", RNG))
        silent(lambda: read_truth(survey, path))
        output = CliRunner().invoke(
            app, ["randomize", str(tmp_path / "survey.json"), str(path), "-o", str(tmp_path / "r.parquet")]
        )
        assert output.exit_code == 2
        assert "error: " in output.stderr
        assert not leaks(output.output + output.stderr)
    else:
        silent(lambda: open_answers(path))


KIND_ROWS = {
    "outside a range": f"{CODE},x,1",
    "no number": f"{WORD},x,1",
    "too long": f"{str(CODE) * 99},x,1",
    "an unknown box": f"1,x;{WORD},1",
    "not in order": f"1,x,{CODE}",
}


@pytest.mark.parametrize("name", KIND_ROWS)
def test_kinds_on_the_command_line(name: str, tmp_path: Path) -> None:
    """No command shows, logs or stores any part of the row."""
    answers, survey = tmp_path / "answers.csv", dn.collection(KINDS, 1.0)
    answers.write_text(f"a,b,c\n1,y,2\n{KIND_ROWS[name]}\n")
    survey.save(tmp_path / "survey.json")
    reports = tmp_path / "r.parquet"
    silent(lambda: randomize_file(survey, answers, reports, RNG))
    silent(lambda: read_truth(survey, answers))
    before = sorted(tmp_path.iterdir())
    output = CliRunner().invoke(app, ["randomize", str(tmp_path / "survey.json"), str(answers), "-o", str(reports)])
    assert output.exit_code == 2
    assert "attribute “" in output.stderr
    assert "in row 2" in output.stderr
    assert not leaks(output.output + output.stderr)
    assert sorted(tmp_path.iterdir()) == before


def test_readings_show_nothing() -> None:
    readings = KINDS.read({"a": [9.876], "b": ["x"], "c": ["1"]})
    assert not leaks(repr(readings) + str(readings))


def test_a_workbook(tmp_path: Path) -> None:
    path, survey = tmp_path / "a.xlsx", dn.Collection(LISTED, dn.SPL(sizes=(2, 2), epsilon=1.0))
    for line in ([WORD, 1], ["x", CODE], ["x", 1, WORD]):
        book = openpyxl.Workbook()
        for one in (["a", "b"], line):
            book.active.append(one)
        book.save(path)
        silent(lambda: randomize_file(survey, path, tmp_path / "r.parquet", RNG))
    whole = path.read_bytes()
    for start in range(0, len(whole), 400):
        path.write_bytes(whole[:start] + WORD.encode() + whole[start + len(WORD) :])
        silent(lambda: randomize_file(survey, path, tmp_path / "r.parquet", RNG))


def test_a_damaged_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv.gz"
    packed = gzip.compress(f"a,b\n{WORD},1\n".encode())
    for content in (packed[:-9], packed[:-8] + b"\0" * 8, packed + b"HIV", packed[:20] + b"\xff" * 20):
        path.write_bytes(content)

        def read() -> None:
            with open_answers(path, ["a"]) as reader:
                LISTED.encode(pa.Table.from_batches(list(reader)))

        silent(read)


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "answers.parquet"
    survey = dn.Collection(LISTED, dn.SPL(sizes=(2, 2), epsilon=1.0))
    pq.write_table(pa.table({"a": ["x", WORD], "b": ["1", "2"]}), path, compression="none")
    silent(lambda: randomize_file(survey, path, tmp_path / "r.parquet", RNG))
    whole = path.read_bytes()
    for start in range(4, len(whole) - 60, 40):
        path.write_bytes(whole[:start] + bytes(byte ^ 0x5A for byte in whole[start : start + 3]) + whole[start + 3 :])
        silent(lambda: randomize_file(survey, path, tmp_path / "r.parquet", RNG))


MECHANISMS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "GRR": (dn.GRR(k=4, epsilon=1.0), (8,)),
    "OUE": (dn.OUE(k=4, epsilon=1.0), (8,)),
    "OLH": (dn.OLH(k=4, epsilon=1.0), (8,)),
    "RAPPOR": (dn.RAPPOR.from_epsilon(k=4, epsilon=1.0), (8,)),
    "SPL": (dn.SPL(sizes=(4, 4), epsilon=1.0), (8, 2)),
    "SMP": (dn.SMP(sizes=(4, 4), epsilon=1.0), (8, 2)),
    "RS+FD": (dn.RSFD(sizes=(4, 4), epsilon=1.0), (8, 2)),
    "QuotaRR": (QuotaRR(epsilon=1.0, n=8, k=4, deal_id="d"), (8,)),
    "QuotaUnary": (QuotaUnary(k=4, epsilon=1.0, n=8, deal_id="d"), (8,)),
    "QuotaRecords": (QuotaRecords(sizes=(4, 4), epsilon=1.0, n=8, deal_id="d"), (8, 2)),
    "KaryJRR": (KaryJRR.optimal(4, 8, 1.0, 0, deal_id="d"), (8,)),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_codes_are_answers_too(name: str) -> None:
    mechanism, shape = MECHANISMS[name]
    shares = (mechanism.deal(8, RNG),) if mechanism.dealt else ()
    for wrong in (
        np.full(shape, CODE),
        np.full(shape, -CODE),
        np.full(shape, float(CODE)),
        np.full(shape, WORD),
        np.full(shape, WORD, dtype=object),
        [[CODE], [CODE, 1]],
    ):
        silent(lambda wrong=wrong: mechanism.randomize(wrong, *shares, RNG))  # type: ignore[misc]


def test_the_length_of_an_answer_is_not_shown() -> None:
    with pytest.raises(InvalidInputError, match=r"got dtype=text: pass labels to a collection"):
        dn.GRR(k=4, epsilon=1.0).randomize(np.array([WORD]), RNG)


def test_shares_are_not_shown() -> None:
    groups = MECHANISMS["QuotaRecords"][0]
    dealt = groups.deal(8, RNG)
    types = np.full(8, CODE, dtype=np.int64)
    shares = Shares(dealt.deal_id, (dealt.columns[0], types))
    silent(lambda: groups.randomize(np.zeros((8, 2), dtype=np.int64), shares, RNG))


@pytest.mark.parametrize("texts", [[WORD + "\0"], [WORD + "\ud800"], [WORD.encode() and CODE], WORD])
def test_heavy_hitters(texts: Any) -> None:
    silent(lambda: dn.HeavyHitters(epsilon=1.0).randomize(texts, RNG))


@pytest.mark.parametrize("texts", [["x", WORD], [WORD + "\ud800"], [CODE], WORD])
def test_dictionaries(texts: Any, tmp_path: Path) -> None:
    silent(lambda: dn.Dictionary(("x", "y")).codes(texts))
    if texts != ["x", WORD]:
        silent(lambda: dn.fingerprint(texts, b"key"))
    (tmp_path / "words.txt").write_text("x\ny\n")
    schema = dn.Schema((dn.Attribute.from_dictionary("a", tmp_path / "words.txt"),))
    silent(lambda: schema.encode({"a": texts}))


def test_drafts_warn_without_answers() -> None:
    """The draft itself lists categories; messages about it do not."""
    people = [f"{WORD} {i}" for i in range(40)]
    draft = draft_schema(
        pa.table({"a": people, "b": [float(CODE + i * i) for i in range(40)], "c": ["x", WORD] * 20}), max_categories=8
    )
    assert len(draft.warnings) == 3
    assert not leaks(" ".join(draft.warnings))
    silent(lambda: draft_schema(pa.table({"a": people})))
    silent(lambda: draft_schema(as_table({"a": [[CODE]]})))

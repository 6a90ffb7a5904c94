"""Reports on the wire: a round trip for all mechanisms, one spelling per body, and no repeated report in files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from deniable import GRR, SimulationRandomness
from deniable.errors import InvalidReportError, TooLargeError
from deniable.files import aggregate_files, write_reports
from deniable.files.wire import (
    MAX_BODY,
    Body,
    from_base64url,
    from_binary,
    from_json,
    from_wire,
    report_width,
    to_base64url,
    to_wire,
)
from deniable.research.baselines.histogram import SHE
from tests.contract.cases import CASES, grid
from tests.unit.files.posted import body
from tests.unit.survey_files import SURVEY


def columns(reports: Any) -> list[Any]:
    return list(reports) if isinstance(reports, tuple) else [reports]


# -------------------------------------------------------------------- rows


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_mechanisms_reports_come_back_from_the_wire(case: Any) -> None:
    sizes, epsilon = grid(case)[-1]
    mechanism = case.build(sizes, epsilon)
    inputs = np.repeat(case.inputs(sizes), 3, axis=0)
    reports = mechanism.randomize(inputs, SimulationRandomness(4))
    rows = to_wire(mechanism, reports)
    assert rows.shape == (len(inputs), report_width(mechanism))
    back = from_wire(mechanism, rows)
    assert type(back) is type(reports)
    for one, other in zip(columns(reports), columns(back), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert np.array_equal(one, other)
    assert mechanism.aggregate(back) == mechanism.aggregate(reports)
    # By the definition, fields follow one after the other, little-endian, report by report.
    for i in (0, len(inputs) - 1):
        fields = zip(mechanism.report_fields, columns(reports), strict=True)
        said = b"".join(
            np.asarray(column[i]).astype(np.dtype(f.dtype).newbyteorder("<")).tobytes() for f, column in fields
        )
        assert rows[i].tobytes() == said


@given(st.integers(0, 4), st.data())
def test_any_bytes_of_the_right_width_are_reports_of_some_kind_and_the_same_bytes(n: int, data: st.DataObject) -> None:
    mechanism = SHE(k=3, epsilon=1.0)
    width = report_width(mechanism)
    content = data.draw(st.binary(min_size=n * width, max_size=n * width))
    rows = np.frombuffer(content, np.uint8).reshape(n, width)
    assert to_wire(mechanism, from_wire(mechanism, rows)).tobytes() == content


def test_rows_of_another_width_and_reports_of_another_type_are_refused() -> None:
    grr = GRR(k=1000, epsilon=1.0)
    with pytest.raises(
        InvalidReportError,
        match=r"rows must be an array uint8\[n, 2\] for GRR \(one row for each report\), got dtype=uint8",
    ):
        from_wire(grr, np.zeros((1, 3), np.uint8))
    with pytest.raises(InvalidReportError, match="must have dtype=uint16"):
        to_wire(grr, np.zeros(1, np.uint8))


# -------------------------------------------------------------------- bodies


@given(st.integers(1, 5), st.integers(1, 9), st.integers(0, 1 << 30))
def test_both_bodies_say_the_same(n: int, width: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    whole = generator.integers(0, 256, (n, 16 + width), dtype=np.uint8)
    made = Body(hashlib.sha256(whole.tobytes()).hexdigest(), whole[:, :16], whole[:, 16:])
    parsed = json.loads(made.to_json())
    assert set(parsed) == {"collection", "reports"}
    for found in (from_json(made.to_json(), width), from_json(made.to_json()), from_binary(made.to_binary(), width)):
        assert (found.collection, found.n) == (made.collection, n)
        assert np.array_equal(found.ids, made.ids)
        assert np.array_equal(found.rows, made.rows)


@given(st.text(alphabet="AQgwBxyz0189-_+/=", min_size=22, max_size=22))
def test_an_id_has_one_spelling(text: str) -> None:
    try:
        (row,) = from_base64url([text], 16, "id")
    except InvalidReportError:
        # A refused text is not the text for these bytes.
        assert set(text) & set("+/=") or text[-1] not in "AQgw"
    else:
        assert to_base64url(row) == text


ONE = body(1).to_json()
BAD_BODIES = {
    "nothing": b"",
    "no object": b"[]",
    "depth": b"[" * 100_000,
    "an unknown key": ONE.replace(b'"reports"', b'"more":1,"reports"'),
    "a leaf": ONE.replace(b'"report":', b'"leaf":"AAAA","report":'),
    "no collection": b'{"reports":[]}',
    "no reports": ONE.split(b"[")[0] + b"[]}",
    "a collection in capitals": ONE.replace(SURVEY.id.encode(), SURVEY.id.upper().encode()),
    "a number for an id": ONE.replace(b'"AAAAAAAAAAAAAAAAAAAAAA"', b"7"),
    "a short id": ONE.replace(b'"AAAAAAAAAAAAAAAAAAAAAA"', b'"AAAAAAAAAAAAAAAAAAAAA"'),
    "spare bits": ONE.replace(b'"AAAAAAAAAAAAAAAAAAAAAA"', b'"AAAAAAAAAAAAAAAAAAAAAB"'),
    "another alphabet": ONE.replace(b'"AAAAAAAAAAAAAAAAAAAAAA"', b'"+AAAAAAAAAAAAAAAAAAAAA"'),
    "padding": ONE.replace(b'"AAAAAAAAAAAAAAAAAAAAAA"', b'"AAAAAAAAAAAAAAAAAAAA=="'),
    "a longer report": ONE.replace(b'"}]', b'AAAA"}]'),
    "bytes that are no text": ONE[:-4] + b"\xff" + ONE[-4:],
    "a NaN": ONE.replace(b'"AAAAAAAAAAAAAAAAAAAAAA"', b"NaN"),
}


@pytest.mark.parametrize("kind", BAD_BODIES)
def test_a_body_that_is_none_is_refused(kind: str) -> None:
    with pytest.raises(InvalidReportError) as error:
        from_json(BAD_BODIES[kind], report_width(SURVEY.mechanism))
    assert len(str(error.value)) < 200


def test_too_much_is_refused_before_it_is_read() -> None:
    with pytest.raises(TooLargeError, match="at most 1048576 bytes"):
        from_json(b" " * (MAX_BODY + 1), 1)
    many = Body("0" * 64, np.zeros((10_001, 16), np.uint8), np.zeros((10_001, 1), np.uint8))
    with pytest.raises(TooLargeError, match="at most 10000 reports"):
        from_binary(many.to_binary(), 1)
    with pytest.raises(InvalidReportError, match="32 bytes, and another 17 bytes for every report"):
        from_binary(bytes(50), 1)
    with pytest.raises(InvalidReportError, match="at least one report"):
        from_binary(bytes(32), 1)


# -------------------------------------------------------------------- files


def test_posted_reports_add_up_to_what_a_report_file_adds_up_to(tmp_path: Path) -> None:
    first, second = body(300), body(50, start=300)
    lines = tmp_path / "posted"
    lines.mkdir()
    (lines / "a.jsonl").write_bytes(first.to_json() + b"\n\n" + body(1, start=400).to_json() + b"\n")
    (lines / "b.jsonl").write_bytes(second.to_json())
    (lines / ".hidden.jsonl").write_bytes(b"not looked at")
    counted = aggregate_files(SURVEY, [lines], tmp_path / "posted.aggregate")
    parts = [from_wire(SURVEY.mechanism, one.rows) for one in (first, second, body(1, start=400))]
    write_reports(tmp_path / "all.parquet", SURVEY, parts, SimulationRandomness(1))
    expected = aggregate_files(SURVEY, [tmp_path / "all.parquet"], tmp_path / "all.aggregate")
    assert counted.n == 351
    assert np.array_equal(counted.counts, expected.counts)
    assert len(counted.batches) == 2


def test_reports_that_are_no_list_are_refused() -> None:
    body = json.dumps({"collection": "0" * 64, "reports": {}}).encode()
    with pytest.raises(InvalidReportError, match="reports must be a list"):
        from_json(body)

"""Readers accept any file or refuse it with a typed error, in bounded time."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from deniable.core.names import CLASSES, mechanism_class
from deniable.core.spec import from_spec
from deniable.errors import DeniableError, FileFormatError
from deniable.survey.schema import Schema
from tests.fuzz.readers import READERS, read, valid

CORPUS = Path(__file__).parent / "corpus"
TEXTS = ("collection", "schema", "collection of kinds", "schema of kinds")

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.floats(allow_nan=False),
    st.text(max_size=6),
    st.sampled_from(["1e999999999", "1/3", "-1", "0.1", "inf", "nan", "GRR", "SPL", "QuotaRR", "CMS", "\ud800"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
)


@pytest.mark.parametrize("name", READERS)
def test_what_is_valid_is_read(name: str) -> None:
    assert read(name, valid(name))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_was_found_stays_refused(path: Path) -> None:
    read(path.parent.name, path.read_bytes())


# pyarrow decodes a row with too many cells before it asks what to do. The error is typed, but the complaint is
# pyarrow's.
UNDECODABLE = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@UNDECODABLE
@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
@settings(max_examples=40)
def test_damaged_bytes(name: str, data: st.DataObject) -> None:
    content = bytearray(valid(name))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.integers(0, 8))
        content[at : at + length] = data.draw(st.binary(max_size=8))
        content = content or bytearray(b"x")
    read(name, bytes(content))


@UNDECODABLE
@pytest.mark.parametrize("name", READERS)
@given(content=st.binary(max_size=200))
@settings(max_examples=20)
def test_any_bytes(name: str, content: bytes) -> None:
    read(name, content)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return each (container, key) in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in items for place in [(value, key), *_places(item)]]


@pytest.mark.parametrize("name", TEXTS)
@given(data=st.data())
@settings(max_examples=150)
def test_damaged_documents(name: str, data: st.DataObject) -> None:
    document = json.loads(valid(name))
    container, key = data.draw(st.sampled_from(_places(document)))
    if data.draw(st.booleans()) and isinstance(container, dict):
        del container[key]
    else:
        container[key] = data.draw(VALUES)
    read(name, json.dumps(document).encode())


_NAMES = ("k", "epsilon", "n", "sizes", "m", "family", "omega", "minimum", "oracle", "p", "q", "rho", "said", "denied",
          "oracles", "minima", "batches", "size", "maps", "copy_probabilities", "priors", "queries", "sketch", "tables",
          "conditionals", "groups", "colluders", "weight", "deal_id", "bits", "max_bytes", "hashes", "design",
          "parameters", "one_sided")  # fmt: skip


@given(data=st.data())
@settings(max_examples=300)
def test_damaged_mechanisms(data: st.DataObject) -> None:
    small = st.one_of(st.integers(-1, 40), st.sampled_from(["0.5", "1", "2", 0.25, None, True]), VALUES)
    fields = data.draw(st.dictionaries(st.sampled_from(_NAMES), small, max_size=5))
    name = data.draw(st.sampled_from(sorted(CLASSES)))
    fields_of = {field.name for field in dataclasses.fields(mechanism_class(name))}
    spec = {"epsilon": "1", "k": 4, "sizes": [2, 3], "n": 20} | fields
    known = {key: value for key, value in spec.items() if key in fields_of}
    for given_fields in (spec, known):
        with contextlib.suppress(DeniableError):
            from_spec({"mechanism": name} | given_fields)


# ------------------------------------------------------------------------------------------------ cost

HUGE = 1 << 32
HOSTILE: list[dict[str, Any]] = [
    {"mechanism": "GRR", "k": 2, "epsilon": "1e999999999"},
    {"mechanism": "GRR", "k": 2, "epsilon": "1E-99999999"},
    {"mechanism": "GRR", "k": 2, "epsilon": "1_0e+0_9_9999999"},
    {"mechanism": "GRR", "k": 2, "epsilon": "1." + "1" * 900_000},
    {"mechanism": "GRR", "k": 2, "epsilon": "1/" + "7" * 900_000},
    {"mechanism": "GRR", "k": 2, "epsilon": 10**4000},
    {"mechanism": "RAPPOR", "k": 10, "f": "1e-99999999", "p": "0.5", "q": "0.4"},
    {"mechanism": "JRR", "p": "0." + "7" * 500_000, "rho": "-0.2", "n": 100},
    {"mechanism": "JRR", "p": "0.75", "rho": "-0.2", "n": HUGE},
    {"mechanism": "QuotaRR", "epsilon": "1", "n": 10**8, "k": 1000},
    {"mechanism": "QuotaRR", "epsilon": "1", "n": HUGE - 2},
    {"mechanism": "QuotaRR", "epsilon": "1", "n": HUGE, "k": 1000, "minimum": 4_000_000},
    {"mechanism": "QuotaRR", "epsilon": "0.000001", "n": HUGE, "k": 2, "minimum": 2_147_000_000},
    {"mechanism": "QuotaUnary", "epsilon": "1", "n": HUGE, "k": 65536},
    {"mechanism": "QuotaUnary", "epsilon": "1", "n": HUGE, "k": 65536, "said": 10**9, "denied": 10**9},
    {"mechanism": "QuotaBatches", "epsilon": "1", "size": 10**8, "batches": 1000, "k": 1000},
    {"mechanism": "QuotaBatches", "epsilon": "1", "size": 1000, "batches": 65536, "k": 2, "minimum": 100},
    {"mechanism": "QuotaRecords", "epsilon": "1", "n": 10**6, "sizes": [2] * 100_000, "minima": [2] * 100_000},
    {"mechanism": "QuotaRecords", "epsilon": "1", "n": HUGE // 256, "sizes": list(range(2, 258)), "minima": [10] * 256},
    {"mechanism": "SPL", "sizes": [2] * 200_000, "epsilon": "32"},
    {"mechanism": "SPL pairs", "sizes": [2] * 200_000, "epsilon": "32"},
    {"mechanism": "SMP", "sizes": list(range(2, 100_000)), "epsilon": "1"},
    {"mechanism": "SMP[ADP]", "sizes": list(range(2, 4098)), "epsilon": "1"},
    {"mechanism": "PivotCoded", "sizes": list(range(2, 100_000)), "epsilon": "1"},
    {"mechanism": "Corr-RR aligned", "sizes": [HUGE] * 2, "epsilon": "1", "copy_probabilities": [["1", "0"]] * 2},
    {"mechanism": "RS+RFD", "sizes": [1000] * 100, "epsilon": "1", "priors": [["0.001"] * 1000] * 100},
    {"mechanism": "RS+RFD", "sizes": [50_000], "epsilon": "1", "priors": [[f"1/{i + 50_000}" for i in range(50_000)]]},
    {"mechanism": "SubsetSelection", "k": HUGE, "epsilon": "1", "omega": 1 << 31},
    {"mechanism": "CMS", "k": HUGE, "epsilon": "1", "family": "linear", "m": 65521},
    {"mechanism": "PGR", "k": 1 << 30, "epsilon": "1", "q": (1 << 31) - 1},
]

_TIMED = """
import json, sys, time
from deniable.errors import DeniableError
from deniable.core.spec import from_spec
for spec in json.load(sys.stdin):
    started = time.process_time()
    try:
        from_spec(spec).privacy()
    except DeniableError:
        pass
    print(spec["mechanism"], time.process_time() - started, flush=True)
"""


@pytest.mark.long
def test_no_specification_takes_long() -> None:
    """Each specification is refused, or loaded with its guarantee, within 4 s of processor time."""
    assert all(len(json.dumps(spec)) <= 1 << 20 for spec in HOSTILE)
    run = subprocess.run(
        [sys.executable, "-c", _TIMED], input=json.dumps(HOSTILE), capture_output=True, text=True, timeout=240
    )
    lines = run.stdout.splitlines()
    assert run.returncode == 0, run.stderr[-2000:]
    assert len(lines) == len(HOSTILE)
    assert max(float(line.rsplit(" ", 1)[1]) for line in lines) < 4, lines


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "[" * 40 + "]" * 40, '{"a":' * 500 + "1" + "}" * 500]
)
def test_deep_documents_are_refused(text: str) -> None:
    with pytest.raises(FileFormatError, match=r"nested more than 32 levels deep|is not JSON"):
        Schema.from_json(text)


def test_deep_metadata_are_refused(tmp_path: Path) -> None:
    import pyarrow as pa

    from deniable import Aggregate

    header = '{"mechanism":' * 900 + "1" + "}" * 900
    table = pa.table({"counts": [1]}).replace_schema_metadata({"deniable": header})
    with pa.ipc.new_file(str(tmp_path / "x"), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(FileFormatError, match="damaged"):
        Aggregate.load(tmp_path / "x")


def test_what_a_document_must_state() -> None:
    with pytest.raises(FileFormatError, match="QuotaRR is damaged: minimum is missing"):
        from_spec({"mechanism": "QuotaRR", "epsilon": "1", "n": 100})
    assert from_spec({"mechanism": "QuotaRR", "epsilon": "1", "n": 100, "minimum": 0}).name == "QuotaRR"

"""The client refuses exactly the documents that the library refuses."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from deniable.oracles.memoised import MemoisedHash
from deniable.service.survey_page import LANGUAGES, draft_page, page_hash
from deniable.survey.collection import Collection
from tests.client.tampering import (
    Tampered,
    dumped,
    raw_id,
    read_by_the_library,
    surveys,
    tampered_documents,
    tampered_pages,
)

ROOT = Path(__file__).parents[2]
NODE = shutil.which("node")


def verdicts(documents: list[Tampered], place: Path) -> list[str]:
    """Return the client's verdict on each document: "taken", "refused", or an error that is not a refusal."""
    asked, answered = place / "documents.jsonl", place / "verdicts.json"
    asked.write_text("".join(f"{json.dumps(one._asdict())}\n" for one in documents))
    command = ["node", str(ROOT / "client" / "test" / "differential.mjs"), str(asked), str(answered)]
    subprocess.run(command, check=True, timeout=120)
    found: list[str] = json.loads(answered.read_text())
    return found


PAGES = [
    '{"b": 72.0, "a": "\\u00e9"}',
    '{ "a":"é",\n "b":72.0 }',
    '{"b": 72, "a": "é"}',
    '{"b": 7.20e1, "a": "é", "c": -0, "d": 1E400, "e": 0.10}',
    '{"\\ud83d\\ude00": 1, "\\uffff": 2, "z": {"y": [true, null, {}], "x": []}}',
    '{"quote": "\\" \\\\ \\/ \\b\\f\\n\\r\\t \\u007f \\u2028 \\u0000"}',
]


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_client_and_the_library_agree_on_the_hash_of_a_page(tmp_path: Path) -> None:
    """White space, escapes and the order of keys do not matter, but the spelling of a number does."""
    pages = [*PAGES, *(draft_page(one, 7, LANGUAGES).to_json() for one in surveys())]
    asked, answered = tmp_path / "pages.json", tmp_path / "hashes.json"
    asked.write_text(json.dumps(pages))
    command = ["node", str(ROOT / "client" / "test" / "hashes.mjs"), str(asked), str(answered)]
    subprocess.run(command, check=True, timeout=120)
    found = json.loads(answered.read_text())
    assert found == [page_hash(page) for page in pages]
    assert found[0] == found[1]
    assert len(set(found)) == len(pages) - 1
    canonical = '{"a":"\\u00e9","b":72.0}'
    assert found[0] == hashlib.sha256(canonical.encode()).hexdigest()


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_client_and_the_library_take_the_same_documents(tmp_path: Path) -> None:
    documents = tampered_documents(160) + tampered_pages(400)
    accepted = sum(one.accepted for one in documents)
    assert len(documents) >= 4000
    assert accepted >= 700  # these are mutants that are valid surveys, and unchanged surveys
    expected = ["taken" if one.accepted else "refused" for one in documents]
    different = [
        (one.what, wanted, got)
        for one, wanted, got in zip(documents, expected, verdicts(documents, tmp_path), strict=True)
        if wanted != got
    ]
    assert different == []


NAMED = {
    "a label twice": ("categories", ["red", "red", "blue"]),
    "a label that is missing's": ("missing", "red"),
    "an empty name": ("name", ""),
    "the name of another question": ("name", "née"),
    "half of a surrogate pair": ("title", "\ud800"),
    "the default kind": ("kind", "categories"),
    "scores of what is not ordered": ("scores", [1, 2, 3]),
}


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_documents_that_the_client_took(tmp_path: Path) -> None:
    """Each document has the id of its written content, and the guarantee of the survey from which it was made."""
    survey = next(one for one in surveys() if one.mechanism.name == "SMP")
    document = json.loads(survey.to_json())
    mutants = []
    for what, (key, value) in NAMED.items():
        mutant = json.loads(survey.to_json())
        mutant["schema"]["attributes"][0][key] = value
        mutant["format_version"] = 2
        mutants.append((what, mutant))
    mutants += [(f"version {value}", {**document, "version": value}) for value in (0, 1.5, -1)]
    for epsilon in ("+2.25", "2.250", "225e-2", "9/4", " 2.25"):
        mutants.append((f"epsilon {epsilon}", {**document, "mechanism": {**document["mechanism"], "epsilon": epsilon}}))
    written = [dumped({**mutant, "id": raw_id(mutant)}) for _, mutant in mutants]
    assert not any(map(read_by_the_library, written))
    documents = [Tampered(what, text, "", False) for (what, _), text in zip(mutants, written, strict=True)]
    found = dict(zip([what for what, _ in mutants], verdicts(documents, tmp_path), strict=True))
    assert found == dict.fromkeys(found, "refused")


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_a_bound_without_end_does_not_keep_the_client_busy(tmp_path: Path) -> None:
    document = json.loads(next(surveys()).to_json())
    document["guarantee"]["implemented_epsilon"] = 1e300
    text = dumped(document)
    endless = text.replace("1e+300", "1e400")
    assert endless != text
    documents = [Tampered("1e300", text, "", False), Tampered("infinite", endless, "", False)]
    assert verdicts(documents, tmp_path) == ["refused", "refused"]


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_client_takes_as_many_buckets_as_the_library_and_no_more(tmp_path: Path) -> None:
    survey = next(one for one in surveys() if one.mechanism.name == "MemoisedHash")
    most = Collection(survey.schema, MemoisedHash(3, 2, 0.5, 1 << 20), survey.version, survey.title).to_json()
    more = {**json.loads(most), "mechanism": {**json.loads(most)["mechanism"], "g": (1 << 20) + 1}}
    text = dumped({**more, "id": raw_id(more)})
    assert not read_by_the_library(text)
    assert verdicts([Tampered("most", most, "", True), Tampered("more", text, "", False)], tmp_path) == [
        "taken",
        "refused",
    ]

"""Example files of all formats: they equal today's output, and they can be read.

`python -m tests.service.test_examples` writes them again. A changed file means a changed format.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from deniable.files.formats.json_lines import JsonLinesReader
from deniable.files.wire import Body, from_binary, from_json
from deniable.service.collector import Collector
from deniable.service.config import read_configuration
from deniable.service.problems import Problem
from deniable.service.results import results
from deniable.service.stores import open_store
from deniable.service.stores.store import Posted
from deniable.service.survey_page import read_page, unfinished
from tests.service.asking import ASKED, Clock, body, open_survey, page

FOLDER = Path(__file__).parents[1] / "vectors" / "service"

CONFIGURATION = """\
# How a collector runs; every key is also read from the environment, as DENIABLE_DATABASE.
database = "sqlite:/var/lib/deniable/survey.db"
public = "127.0.0.1:8080"
admin = "127.0.0.1:8081"
page_origin = ["https://pages.example.org"]
trusted_proxies = ["127.0.0.1/32"]
admin_proxies = []
hosts = ["results.example.org"]

[limits]
per_minute = 300
per_hour = 3000
off = false

[limits.networks."203.0.113.0/24"]
per_minute = 2000
per_hour = 20000

[results]
while_open = "day"
"""


def made(folder: Path) -> dict[str, bytes]:
    """Return the content of all examples."""
    sent = body(3)
    store = open_store(f"sqlite:{folder / 'survey.db'}", migrate=True)
    try:
        collector = Collector(store, Clock())
        open_survey(collector.surveys)
        many = body(120)
        store.take({ASKED.id: Posted(many.ids, many.rows)})
        held_row = collector.surveys.row("smoking")
        collector.surveys.drain(held_row, collector.surveys.load(ASKED.id))
        store.reject({(ASKED.id, "2026-05-01", "invalid-report"): 2})
        collector.refresh()
        held = collector.held(ASKED.id)
        assert held is not None
        found = results(held, store, Clock()).data
    finally:
        store.close()
    lines = [Body(sent.collection, sent.ids[i : i + 1], sent.rows[i : i + 1]).to_json() for i in range(3)]
    return {
        "survey.json": ASKED.to_json().encode(),
        "page.json": page(closes_at="2026-06-01T00:00:00Z").encode(),
        "posted.jsonl": b"\n".join(lines) + b"\n",
        "body.json": sent.to_json(),
        "body.bin": sent.to_binary(),
        "problem.json": Problem("too-large", "a body must have at most 1048576 bytes").body(),
        "configuration.toml": CONFIGURATION.encode(),
        "results.json": json.dumps(found, indent=1, ensure_ascii=False).encode() + b"\n",
    }


def test_examples_are_what_is_written(tmp_path: Path) -> None:
    expected = made(tmp_path)
    assert set(expected) <= {path.name for path in FOLDER.iterdir()}
    for name, content in expected.items():
        if name != "results.json":
            assert (FOLDER / name).read_bytes() == content, name
    # Floats differ in their last digits between machines.
    _close(json.loads((FOLDER / "results.json").read_bytes()), json.loads(expected["results.json"]))


def test_examples_are_read() -> None:
    assert read_page((FOLDER / "page.json").read_text(), "page.json", ASKED).closes_at == "2026-06-01T00:00:00Z"
    assert unfinished(read_page((FOLDER / "page.json").read_text(), "page.json", ASKED)) == ""
    assert JsonLinesReader(FOLDER / "posted.jsonl", ASKED).n == 3
    one, other = from_json((FOLDER / "body.json").read_bytes()), from_binary((FOLDER / "body.bin").read_bytes(), 1)
    assert np.array_equal(one.ids, other.ids)
    assert np.array_equal(one.rows, other.rows)
    settings = read_configuration(FOLDER / "configuration.toml", {}, {})
    assert settings.database == "sqlite:/var/lib/deniable/survey.db"
    problem = json.loads((FOLDER / "problem.json").read_bytes())
    assert list(problem) == ["type", "title", "status", "detail"]


def _close(one: object, other: object) -> None:
    if isinstance(one, dict) and isinstance(other, dict):
        assert list(one) == list(other)
        for key in one:
            _close(one[key], other[key])
    elif isinstance(one, list) and isinstance(other, list):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            _close(mine, theirs)
    elif isinstance(one, float) and isinstance(other, float):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    else:
        assert one == other


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        for file, content in made(Path(name)).items():
            (FOLDER / file).write_bytes(content)

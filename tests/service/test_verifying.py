"""Verification from outside: an honest collector passes, and each falsification is found by its check."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

from deniable import GRR, SimulationRandomness
from deniable.cli import app
from deniable.core.aggregate import Aggregate
from deniable.errors import CollectorError, FileFormatError, MismatchError
from deniable.files import write_reports
from deniable.files.receipts import merkle_root, sorted_leaves, sum_digest
from deniable.files.wire import from_wire
from deniable.service.publishing import publish
from deniable.service.sending import send_file, sent_leaves
from deniable.service.server import Running
from deniable.service.surveys import link_path
from deniable.service.verifying import Answered, Fetch, Verification, verify_collector
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema
from tests.service.asking import ASKED, Caller, body, collecting, open_survey, sqlite
from tests.service.test_leaves import rows_of, with_leaves

API = f"/api/v1/collections/{ASKED.id}"
LOUD = Collection(ASKED.schema, GRR(k=3, epsilon=8.0), title=ASKED.title)
RENAMED = Collection(Schema((Attribute("smoker", ("yes", "no", "never")),)), ASKED.mechanism, title=ASKED.title)


class Honest(NamedTuple):
    """A closed survey with three batches, with published results and reports."""

    link: str
    fetch: Fetch
    leaves: list[bytes]
    running: Running

    def verify(self, tampered: dict[str, Callable[[bytes], bytes]] | None = None, **more: Any) -> Verification:
        """Verify the served content, with changes at some paths."""

        def fetch(address: str) -> Answered:
            path = address.removeprefix(self.running.public)
            answer = self.fetch(address)
            change = (tampered or {}).get(path)
            return answer if change is None else Answered(200, change(answer.content))

        return verify_collector(ASKED, self.link, fetch=fetch, **{"leaves": self.leaves, **more})


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Honest]:
    with collecting(sqlite(tmp_path_factory.mktemp("verified"))) as running:
        surveys, leaves = running.collector.surveys, []
        open_survey(surveys, retention="reports")
        running.collector.refresh()
        call = Caller(running.public)
        for start, n in ((0, 25), (100, 30), (200, 21)):
            sent, made = with_leaves(body(n, start), start)
            assert call.post(sent).status == 201
            leaves.append(made[0])
            running.collector.drain()
        surveys.close("smoking", now=True)
        publish(surveys, "smoking", reports=True)
        running.collector.refresh()
        link = running.public + link_path("smoking", surveys.load(ASKED.id))

        def fetch(address: str) -> Answered:
            answer = call("GET", address.removeprefix(running.public))
            return Answered(answer.status, answer.content)

        yield Honest(link, fetch, leaves, running)


def test_an_honest_collector_passes_every_check(honest: Honest) -> None:
    found = honest.verify()
    assert {check.name: check.status for check in found.checks} == dict.fromkeys(
        ("collection", "guarantee", "texts", "page", "client", "batches", "receipt", "sum", "reports"), "passed"
    )
    found.require()
    said = {check.name: check.detail for check in found.checks}
    assert said["receipt"] == "all 3 are counted, in batch 1, 2, 3"
    assert said["reports"] == "the aggregate is the sum of 76 published reports"


# -------------------------------------------------------------------- falsifications


def changed(**values: Any) -> Callable[[bytes], bytes]:
    """Change keys of a JSON object."""
    return lambda content: json.dumps(json.loads(content) | values).encode()


def batch(number: int, **values: Any) -> Callable[[bytes], bytes]:
    """Change one batch of the list."""

    def change(content: bytes) -> bytes:
        said = json.loads(content)
        said["batches"][number - 1] |= values
        return json.dumps(said).encode()

    return change


def without(number: int) -> Callable[[bytes], bytes]:
    """Remove a batch, and renumber the others as if it had never existed."""

    def change(content: bytes) -> bytes:
        said = json.loads(content)
        del said["batches"][number - 1]
        said["batches"] = [one | {"number": i} for i, one in enumerate(said["batches"], 1)]
        return json.dumps(said).encode()

    return change


def relabelled(content: bytes) -> bytes:
    said = json.loads(content)
    said["languages"]["en"]["labels"]["smoker"] = ["no", "yes", "once"]
    return json.dumps(said).encode()


def counts_moved(content: bytes) -> bytes:
    held = Aggregate.from_bytes(content)
    counts = held.counts.copy()
    counts[:2] += [1, -1]
    return Aggregate(held.mechanism, counts, held.n, held.collection, held.batches).to_bytes()


def of_another(content: bytes) -> bytes:
    held = Aggregate.from_bytes(content)
    return Aggregate(held.mechanism, held.counts, held.n, "1" * 64, held.batches).to_bytes()


def fewer(content: bytes) -> bytes:
    held = Aggregate.from_bytes(content)
    counts = held.counts.copy()
    counts[int(counts.argmax())] -= 1
    return Aggregate(held.mechanism, counts, held.n - 1, held.collection, held.batches).to_bytes()


def report_file(collection: Collection, n: int, folder: Path) -> Callable[[bytes], bytes]:
    """Replace reports by others from a collection."""
    reports = from_wire(collection.mechanism, np.ones((n, 1), np.uint8))
    path = folder / f"{collection.id[:8]}-{n}.parquet"
    write_reports(path, collection, [reports], SimulationRandomness(3))
    return lambda _: path.read_bytes()


def forged(honest: Honest, number: int) -> tuple[bytes, str]:
    """Return the leaves of a batch with one leaf replaced, and the root over them: a consistent forgery."""
    leaves = rows_of(honest.fetch(f"{honest.running.public}{API}/batches/{number}/leaves").content)
    mine = honest.leaves[number - 1]
    kept = leaves[[leaf.tobytes() != mine for leaf in leaves]]
    made = sorted_leaves(kept, len(leaves))
    return made.tobytes(), merkle_root(made).hex()


def test_every_falsification_is_found_by_its_check(honest: Honest, tmp_path: Path) -> None:
    leaves, bundle = f"{API}/batches/2/leaves", "/static/survey.js"
    listed = honest.fetch(f"{honest.running.public}{API}/batches").content
    total = Aggregate.from_bytes(honest.fetch(f"{honest.running.public}{API}/aggregate").content)
    moved = Aggregate.from_bytes(counts_moved(total.to_bytes())).counts.astype("<i8").tobytes()
    recommitted = sum_digest(bytes(16), ASKED.id, total.n, moved).hex()
    content, root = forged(honest, 2)
    assert len(json.loads(listed)["batches"]) == 3
    falsified: dict[str, tuple[str, str, dict[str, Callable[[bytes], bytes]]]] = {
        "epsilon, with id and guarantee computed again": (
            *("collection", "answers with collection"),
            {API: lambda _: LOUD.to_json().encode()},
        ),
        "epsilon of the guarantee alone": (
            *("collection", "must state the guarantee of its mechanism"),
            {API: lambda content: content.replace(b'"epsilon": 2.0', b'"epsilon": 8.0', 1)},
        ),
        "epsilon of the mechanism, with the id as it was": (
            *("collection", "changed after it was made"),
            {API: lambda content: content.replace(b'"epsilon": "2"', b'"epsilon": "8"')},
        ),
        "a label, with the id computed again": (
            *("collection", "answers with collection"),
            {API: lambda _: RENAMED.to_json().encode()},
        ),
        "labels on the page": ("texts", "different texts", {f"{API}/page": relabelled}),
        "the client": ("client", "differs from the file of this release", {bundle: lambda content: content + b"//"}),
        "the page that loads it": (
            *("page", "may load another program"),
            {"/s/smoking": lambda content: content.replace(b"</head>", b'<script src="/x.js"></script></head>')},
        ),
        "a leaf dropped": ("batches", "30 reports, but it has 29 leaves", {leaves: lambda content: content[32:]}),
        "a leaf added": (
            "batches",
            "30 reports, but it has 31 leaves",
            {leaves: lambda content: content + b"\xff" * 32},
        ),
        "a leaf changed": ("batches", "does not match its leaves", {leaves: lambda content: bytes(32) + content[32:]}),
        "leaves in order of arrival": (
            *("batches", "must be sorted"),
            {leaves: lambda content: content[-32:] + content[:-32]},
        ),
        "a root": ("batches", "does not match its leaves", {f"{API}/batches": batch(2, root="0" * 64)}),
        "a batch forged with its root": (
            *("receipt", "1 of 3 reports are in no batch"),
            {leaves: lambda _: content, f"{API}/batches": batch(2, root=root)},
        ),
        "a batch removed": ("batches", "does not list batch 2", {f"{API}/batches": lambda c: _gap(c)}),
        "a batch removed and the rest renumbered": (
            *("sum", "76 reports, but the batches have 55"),
            {f"{API}/batches": without(3)},
        ),
        "the number of a batch's reports": (
            "batches",
            "31 reports, but it has 30",
            {f"{API}/batches": batch(2, n=31)},
        ),
        "batches of another collection": (
            "batches",
            "belong to collection",
            {f"{API}/batches": changed(collection="1" * 64)},
        ),
        "the aggregate": ("sum", "to which the collector committed itself", {f"{API}/aggregate": counts_moved}),
        "the aggregate of another collection": ("sum", "belongs to collection", {f"{API}/aggregate": of_another}),
        "an aggregate with a report fewer": ("sum", "75 reports, but the batches have 76", {f"{API}/aggregate": fewer}),
        "an aggregate with a new commitment": (
            *("reports", "does not match the digest that was stated"),
            {
                f"{API}/aggregate": counts_moved,
                f"{API}/batches": batch(3, digest=recommitted, opening="00" * 16),
            },
        ),
        "a new commitment and no others": (
            *("reports", "is not the sum of the reports"),
            {
                f"{API}/aggregate": counts_moved,
                f"{API}/batches": lambda content: batch(3, digest=None, opening=None)(content),
            },
        ),
        "reports": (
            *("reports", "does not match the digest that was stated"),
            {f"{API}/batches/2/reports": report_file(ASKED, 30, tmp_path)},
        ),
        "reports of another collection": (
            *("reports", "collection"),
            {f"{API}/batches/2/reports": report_file(LOUD, 30, tmp_path)},
        ),
        "reports that are fewer": (
            *("reports", "states 30 reports, but it contains 29"),
            {f"{API}/batches/2/reports": report_file(ASKED, 29, tmp_path)},
        ),
    }
    assert len(falsified) >= 10
    for what, (name, said, tampered) in falsified.items():
        found = honest.verify(tampered)
        failed = {check.name: check.detail for check in found.of("failed")}
        assert name in failed, what
        assert said in failed[name], what
        assert not found.consistent
        with pytest.raises(MismatchError, match=name):
            found.require()


def _gap(content: bytes) -> bytes:
    said = json.loads(content)
    del said["batches"][1]
    return json.dumps(said).encode()


def test_what_is_not_published_is_not_determined(honest: Honest) -> None:
    """This is so while a survey runs, and for an address without a link, which has no texts to compare."""
    hidden = {f"{API}/batches": changed(aggregate=False, reports=False)}
    found = honest.verify(hidden)
    assert {check.name for check in found.of("not determined")} == {"sum", "reports"}
    assert found.consistent
    bare = verify_collector(ASKED, honest.running.public, fetch=honest.fetch)
    assert {check.name for check in bare.of("not determined")} == {"texts", "page"}
    absent = honest.verify({f"{API}/state": changed(state="open")}, leaves=[bytes(32)])
    assert [check.detail for check in absent.of("not determined")] == [
        "1 of 1 reports are in no batch yet; look again after the next release"
    ]
    kept_none = honest.verify(leaves=[])
    assert [check.name for check in kept_none.of("not determined")] == ["receipt"]


@pytest.mark.parametrize(
    "content", [b"[]", b"{}", b"\xff", b'{"collection": "x", "batches": [1], "aggregate": true, "reports": true}']
)
def test_hostile_answers_fail_a_check_and_raise_nothing(honest: Honest, content: bytes) -> None:
    for path in (API, f"{API}/page", f"{API}/batches", f"{API}/aggregate", f"{API}/batches/1/reports"):
        assert not honest.verify({path: lambda _: content}).consistent


def test_an_address_where_nobody_answers_is_an_error() -> None:
    with pytest.raises(CollectorError, match=r"nothing answers at http://127.0.0.1:9: .*check the address"):
        verify_collector(ASKED, "http://127.0.0.1:9")


# -------------------------------------------------------------------- a contributor, from Python


def test_a_sender_finds_its_reports_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    survey, answers = tmp_path / "survey.json", tmp_path / "answers.csv"
    survey.write_text(ASKED.to_json())
    answers.write_text("smoker\nno\n")
    with collecting(sqlite(tmp_path)) as running:
        open_survey(running.collector.surveys)
        running.collector.refresh()
        with pytest.raises(FileFormatError, match="are kept here, because this user has not sent reports"):
            sent_leaves(ASKED, answers)
        sent = send_file(ASKED, answers, running.public)
        assert sent.counted == 1
        # The secret is kept for its owner only, and is in nothing that was sent.
        seed = sent.kept.with_suffix(".secrets")
        assert seed.stat().st_mode & 0o777 == 0o600
        (leaf,) = sent_leaves(ASKED, answers)
        assert send_file(ASKED, answers, running.public).already == 1
        run = CliRunner()
        call = ["verify", str(survey), running.public, "--mine", str(answers)]
        early = run.invoke(app, call)
        assert (early.exit_code, early.output.splitlines()[0]) == (
            0,
            "consistent: 4 checks passed, 0 failed, 5 are not determined",
        )
        assert "?  receipt: 1 of 1 reports are in no batch yet" in early.output
        assert Caller(running.public).post(body(30, 500)).status == 201
        running.collector.drain()
        assert leaf in running.collector.store.released_leaves(ASKED.id, 1)  # type: ignore[operator]
        late = run.invoke(app, [*call, "--json"])
        said = {check["name"]: check for check in json.loads(late.output)["checks"]}
        assert said["receipt"]["detail"] == "it is counted, in batch 1"
        # A collector that leaves the report out is found once the survey is closed, with exit code 1.
        with running.collector.store._working() as statement:
            leaves = rows_of(running.collector.store.released_leaves(ASKED.id, 1) or b"")
            rest = sorted_leaves(leaves[[one.tobytes() != leaf for one in leaves]], len(leaves))
            statement("UPDATE releases SET leaves = ?, root = ?", rest.tobytes(), merkle_root(rest))
        running.collector.surveys.close("smoking", now=True)
        running.collector.refresh()
        lost = run.invoke(app, call)
        assert lost.exit_code == 1
        assert lost.output.startswith("NOT CONSISTENT: ")
        assert " NO  receipt: 1 of 1 reports are in no batch, and the survey is closed" in lost.output
        files = [path.read_bytes() for path in tmp_path.glob("survey.db*") if path.is_file()]
        assert seed.read_bytes() not in b"".join(files)

"""Rounds on a collector: the second round equals that of the workflow with files, and has other people."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from deniable import SPL, SimulationRandomness
from deniable.cli import app
from deniable.core.aggregate import Aggregate
from deniable.errors import EmptyAggregateError, InvalidParameterError, MismatchError
from deniable.files.wire import to_wire
from deniable.records.phases.phases import Phases, next_phase
from deniable.service.invitations import Link, draw_links, invitations, nullifier
from deniable.service.rounds import combined, draft_next
from deniable.service.stores import open_store
from deniable.service.stores.store import NEW, UNINVITED, Posted
from deniable.service.surveys import Surveys, link_path
from deniable.service.verifying import Answered, verify_collector
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema
from tests.service.asking import Caller, Clock, collecting, open_survey, sqlite

SCHEMA = Schema((Attribute("smokes", ("no", "yes")), Attribute("drinks", ("no", "yes"))))
FIRST = Collection(SCHEMA, SPL(sizes=(2, 2), epsilon=2.0), title="Habits")


@pytest.fixture
def surveys(database: str) -> Iterator[Surveys]:
    store = open_store(database, migrate=True)
    yield Surveys(store, Clock())
    store.close()


def answer(surveys: Surveys, collection: Collection, links: list[Link], seed: int) -> list[int]:
    """Let people answer with their links; return the results for their reports."""
    codes = np.random.default_rng(seed).integers(0, 2, (len(links), 2))
    rows = to_wire(collection.mechanism, collection.randomize(codes, SimulationRandomness(seed)))
    ids = np.frombuffer(b"".join(nullifier(collection.id, one.token) for one in links), np.uint8).reshape(-1, 16)
    found = surveys.store.take({collection.id: Posted(ids, rows, invited=True)})[collection.id]
    assert not isinstance(found, str)
    return [int(one) for one in found]


@pytest.mark.parametrize("mechanism", ["Corr-RR", "RS+RFD"])
def test_a_second_round_is_that_of_the_files_and_has_nobody_of_the_first(surveys: Surveys, mechanism: str) -> None:
    open_survey(surveys, "habits", FIRST, access="invited", closes_at="2026-06-01T00:00:00Z")
    links = draw_links(400, rounds=2)
    first, second = ([one for one in links if one.position == position] for position in (1, 2))
    surveys.store.invite(FIRST.id, invitations(FIRST.id, first, 20))
    assert answer(surveys, FIRST, first, 1) == [NEW] * 200
    made = draft_next(surveys, "habits", 200, mechanism)
    assert (made["round"], made["learned_from"], made["state"]) == (2, 200, "draft")
    assert made["browsers"]
    before = Aggregate.from_bytes(surveys.export("habits", 1))
    expected = next_phase(FIRST, before, 200, mechanism)
    assert made["collection"] == expected.id
    later = surveys.load(expected.id)
    assert later.page.closes_at is None
    assert later.page.access == "invited"
    surveys.open("habits")
    surveys.store.invite(expected.id, invitations(expected.id, second, 20))
    assert answer(surveys, expected, first, 2) == [UNINVITED] * 200
    assert answer(surveys, expected, second, 3) == [NEW] * 200
    surveys.close("habits", now=True)
    after = Aggregate.from_bytes(surveys.export("habits"))
    assert (before.n, after.n) == (200, 200)
    together = Phases([(FIRST, before), (expected, after)])
    assert together.n == 400
    # The collector's sums are those of the same reports in files.
    codes = np.random.default_rng(3).integers(0, 2, (200, 2))
    by_hand = expected.aggregate(expected.randomize(codes, SimulationRandomness(3)))
    assert after.counts.tolist() == by_hand.counts.tolist()
    assert "smokes" in together.estimate()


def test_a_round_follows_one_that_was_opened_and_has_reports(surveys: Surveys) -> None:
    open_survey(surveys, "habits", FIRST)
    with pytest.raises(InvalidParameterError, match="mechanism must be one of"):
        draft_next(surveys, "habits", 200, "SPL")
    assert surveys.status("habits")["state"] == "open"  # nothing was closed for the next round
    with pytest.raises(EmptyAggregateError):
        draft_next(surveys, "habits", 200)
    assert [row.position for row in surveys.store.collections("habits")] == [1]
    with pytest.raises(InvalidParameterError, match="round must be 1, because the survey has one round, got round=2"):
        surveys.export("habits", 2)


def test_what_cannot_be_learned_from_stays_open(surveys: Surveys) -> None:
    open_survey(surveys)
    with pytest.raises(MismatchError, match="phase one must use a mechanism for records, such as SPL"):
        draft_next(surveys, "smoking", 200)
    assert surveys.status("smoking")["state"] == "open"


def test_a_draft_is_opened_before_another_round_follows(surveys: Surveys) -> None:
    open_survey(surveys, "habits", FIRST, access="invited")
    links = draw_links(40)
    surveys.store.invite(FIRST.id, invitations(FIRST.id, links, 20))
    answer(surveys, FIRST, links, 1)
    draft_next(surveys, "habits", 40)
    with pytest.raises(InvalidParameterError, match="round 2 of “habits” is still a draft"):
        draft_next(surveys, "habits", 40)


def answered(surveys: Surveys, collection: Collection, seed: int) -> None:
    """Let people answer in open access, and close the survey."""
    codes = np.random.default_rng(seed).integers(0, 2, (200, 2))
    rows = to_wire(collection.mechanism, collection.randomize(codes, SimulationRandomness(seed)))
    ids = np.random.default_rng(seed).integers(0, 256, (200, 16), np.uint8)
    surveys.store.take({collection.id: Posted(ids, rows)})
    surveys.close("habits", now=True)


def after_two(surveys: Surveys, mechanism: str) -> tuple[Collection, Collection]:
    """Run two rounds and close them; return their collections."""
    open_survey(surveys, "habits", FIRST)
    answered(surveys, FIRST, 1)
    second = surveys.load(draft_next(surveys, "habits", 200, mechanism)["collection"]).collection
    assert combined(surveys, "habits").summary is None  # a round that is a draft has no result
    surveys.open("habits")
    answered(surveys, second, 2)
    return FIRST, second


@pytest.mark.parametrize("mechanism", ["Corr-RR", "RS+RFD", "PivotCoded", "SMP[ADP]"])
def test_the_dashboard_combines_rounds_as_the_files_do(
    surveys: Surveys, mechanism: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collections = after_two(surveys, mechanism)
    found = combined(surveys, "habits")
    assert [(one.position, one.mechanism, one.n, one.state) for one in found.rounds] == [
        (1, "SPL", 200, "closed"),
        (2, mechanism, 200, "closed"),
    ]
    for place, collection in enumerate(collections, 1):
        collection.save(tmp_path / f"survey-{place}.json")
        (tmp_path / f"{place}.aggregate").write_bytes(surveys.export("habits", place))
    # This runs the command exactly as the dashboard names it.
    program, *arguments = found.command.split()
    assert program == "deniable"
    with contextlib.chdir(tmp_path):
        said = CliRunner().invoke(app, [*arguments, "--json"])
    assert said.exit_code == 0, said.output
    shown = json.loads(found.to_json())
    printed = json.loads(said.stdout)
    assert found.summary is not None
    assert shown["estimate"]["attributes"] == printed["attributes"]
    assert shown["estimate"]["n"] == printed["n"] == 400
    # Every warning of the files is also a warning of the dashboard.
    assert all(one in " ".join(said.stderr.split()) for one in found.warnings)
    # Over equal domains, Corr-RR has an unbiased estimate with intervals, besides its own estimate.
    assert found.estimator == ("unmixed" if mechanism == "Corr-RR" else None)
    assert all(row["lower"] is not None for one in printed["attributes"] for row in one["categories"])


def test_a_question_that_one_round_knows_better_has_a_warning_and_no_chart(surveys: Surveys) -> None:
    after_two(surveys, "SMP[ADP]")
    found = combined(surveys, "habits")
    names = {warning.partition(":")[0] for warning in found.warnings}
    assert names | {finding.name for finding in found.findings} == {"smokes", "drinks"}
    assert not names & {finding.name for finding in found.findings}
    for finding in found.findings:
        assert [bar.label for bar in finding.bars] == ["no", "yes"]


def test_the_page_of_a_second_round_is_the_one_that_verify_expects(tmp_path: Path) -> None:
    """It names the first round, whose links lead to it."""
    with collecting(sqlite(tmp_path)) as running:
        surveys = running.collector.surveys
        open_survey(surveys, "habits", FIRST)
        answered(surveys, FIRST, 1)
        second = surveys.load(draft_next(surveys, "habits", 200)["collection"])
        surveys.open("habits")
        running.collector.refresh()
        call = Caller(running.public)

        def fetch(address: str) -> Answered:
            answer = call("GET", address.removeprefix(running.public))
            return Answered(answer.status, answer.content)

        link = running.public + link_path("habits", second)
        assert f'data-earlier="{FIRST.id}"' in fetch(f"{running.public}/s/habits").content.decode()
        found = verify_collector(second.collection, link, fetch=fetch)
        status = {check.name: check.status for check in found.checks}
        assert (status["texts"], status["page"], status["client"]) == ("passed", "passed", "passed")

"""A person's ledger: exact totals, refusals with the excess, and no overspending by processes, copies or merges."""

from __future__ import annotations

import json
import os
import secrets
import stat
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable import GRR, Attribute, Collection, Schema, SecureRandomness
from deniable.core.thresholds import exact, log_up
from deniable.errors import DeniableError, FileFormatError, InvalidParameterError, OutputError, PrivacyLimitError
from deniable.files.jobs import person as module
from deniable.files.jobs.memos import Memo, MemoStore
from deniable.files.jobs.person import Draw, MemoBudget, PersonLedger, PersonTotal, new_draw, person_ledger, read_draws
from deniable.oracles import MemoisedGRR, MemoisedHash, MemoisedOUE

SCHEMA = Schema((Attribute("mood", ("good", "so so", "bad")),))


def survey(epsilon: Any, version: int = 1) -> Collection:
    return Collection(SCHEMA, GRR(3, epsilon), version=version)


def spend(ledger: PersonLedger, collection: Collection, maximum: Any = None, memo: Memo | None = None) -> PersonTotal:
    with ledger.spending(collection, maximum=maximum, memo=memo) as total:
        return total


@pytest.fixture
def ledger(tmp_path: Path) -> PersonLedger:
    return PersonLedger(tmp_path / "ledger.json")


# ---------------------------------------------------------------- adding up


def test_decimals_add_exactly_and_a_limit_is_exact(ledger: PersonLedger) -> None:
    for version in range(1, 11):
        total = spend(ledger, survey("0.1", version), maximum=1)
    assert total.epsilon == 1
    assert stat.S_IMODE(os.stat(ledger.path).st_mode) == 0o600
    with pytest.raises(
        PrivacyLimitError, match=r"must be <= max_epsilon=1, got epsilon = 1\.1, which is 0\.1 too much"
    ):
        spend(ledger, survey("0.1", 11), maximum=1)
    assert ledger.total().epsilon == 1
    assert spend(ledger, survey("1/3", 12)).epsilon == Fraction(4, 3)
    # The budget may exceed what one collection may have.
    assert spend(ledger, survey("32", 13), maximum=100).epsilon == Fraction(4, 3) + 32


def test_the_same_collection_twice_is_two_draws(ledger: PersonLedger) -> None:
    spend(ledger, survey(1))
    assert spend(ledger, survey(1)).epsilon == 2


@pytest.mark.parametrize(
    "mechanism", [MemoisedGRR(3, 2.0, 1.0), MemoisedHash(3, 2.0, 1.0, 2), MemoisedOUE(3, 2.0, 1.0)], ids=repr
)
def test_reports_of_one_memo_are_a_group(mechanism: Any, ledger: PersonLedger) -> None:
    """T reports cost the smaller of two bounds: for any two histories, or epsilon_forever per possible answer."""
    memo = Memo("ab" * 16, None)
    for waves in range(1, 8):
        total = spend(ledger, Collection(SCHEMA, mechanism, version=waves), memo=memo)
        protected = mechanism.history_epsilon(waves)
        known = min(waves, mechanism.memo_rows) * 2 if mechanism.kept == "answer" else 10**9
        expected = protected if waves == 1 or protected <= known else known
        assert float(total.epsilon or 0) == pytest.approx(expected, rel=1e-12)
        assert (total.epsilon or 0) >= exact(1) if waves == 1 else (total.epsilon or 0) <= known
        assert total.times_known == (waves > 1 and protected > known)
    # A second memo, from another device or after a loss, is another group. So budgets add up.
    other = spend(ledger, Collection(SCHEMA, mechanism, version=8), memo=Memo("cd" * 16, None))
    assert other.epsilon == (total.epsilon or 0) + 1


def test_a_group_is_never_below_what_an_adversary_can_learn() -> None:
    """The statement about any two histories against the enumeration, T = 1, 2, 3."""
    for mechanism in (MemoisedGRR(3, 2.0, 1.0), MemoisedHash(3, 1.0, 0.9, 2)):
        kept = new_draw(Collection(SCHEMA, mechanism), Memo("ab" * 16, None))
        for waves in (1, 2, 3):
            total = PersonTotal(tuple(kept.model_copy(update={"draw": f"{i:032x}"}) for i in range(waves)))
            epsilon, ratio = total.epsilon, mechanism.history_ratio(waves)
            same = mechanism.history_ratio(waves, same_changes=True)
            bound = same if total.times_known else ratio
            assert epsilon is not None
            assert log_up(bound) <= float(epsilon) + 1e-9


def test_reports_that_copy_a_memo_count_as_if_times_were_known(ledger: PersonLedger) -> None:
    copying, memo = MemoisedGRR(3, 2.0, 2.0), Memo("ab" * 16, None)
    for version, expected in ((1, 2), (2, 4), (3, 6), (4, 6)):
        total = spend(ledger, Collection(SCHEMA, copying, version=version), memo=memo)
        assert total.epsilon == expected
        assert total.times_known == (version > 1)
    assert json.loads(ledger.path.read_text())["draws"][0]["memo"]["step"] == ""


def test_equal_times_of_change_do_not_bound_cells(ledger: PersonLedger) -> None:
    """Three values in two cells at (1, 0.9): e^3.68 between histories that change at the same times, not e^2."""
    for version in (1, 2, 3):
        total = spend(
            ledger, Collection(SCHEMA, MemoisedHash(3, 1.0, 0.9, 2), version=version), memo=Memo("ab" * 16, None)
        )
    assert total.epsilon is not None
    assert (float(total.epsilon) > 3.68, total.times_known) == (True, False)
    copying = MemoisedHash(3, 1.0, 1.0, 2)
    for version in (4, 5):
        total = spend(ledger, Collection(SCHEMA, copying, version=version), memo=Memo("cd" * 16, None))
    assert total.epsilon is None


def test_a_draw_without_a_bound_has_no_total() -> None:
    total = PersonTotal((Draw(draw="00" * 16, collection="c", epsilon=""),))
    assert total.epsilon is None
    assert total.bound == "an epsilon without a known bound"
    with pytest.raises(PrivacyLimitError, match="got an epsilon without a known bound; spent before"):
        module.require(total, PersonTotal(()), 5)


# ---------------------------------------------------------------- checks before the draw


def test_the_entry_is_there_before_the_draw_and_goes_if_the_draw_fails(ledger: PersonLedger) -> None:
    for error in (OutputError("full"), OSError("full")):
        seen: list[int] = []

        def fail(error: Exception, seen: list[int]) -> None:
            with ledger.spending(survey(1)):
                seen.append(len(PersonLedger(ledger.path).total().draws))
                raise error

        with pytest.raises(type(error)):
            fail(error, seen)
        assert seen == [1]
        assert ledger.total().draws == ()
    # After any other exception nobody knows what became of a report, so it counts.
    with pytest.raises(KeyboardInterrupt), ledger.spending(survey(1)):
        raise KeyboardInterrupt
    assert ledger.total().epsilon == 1


def test_a_memo_goes_with_its_mechanism(ledger: PersonLedger) -> None:
    for collection, memo, message in (
        (survey(1), Memo("ab" * 16, None), "memo must be left out, because GRR keeps no"),
        (Collection(SCHEMA, MemoisedGRR(3, 2.0, 1.0)), None, "memo must be given, because MemoisedGRR keeps"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            spend(ledger, collection, memo=memo)
    with pytest.raises(InvalidParameterError, match="max_epsilon must be > 0"):
        spend(ledger, survey(1), maximum=0)
    assert not ledger.path.exists()


def test_reports_that_were_kept_count_after_a_loss(ledger: PersonLedger) -> None:
    spend(ledger, survey("0.5"))
    assert ledger.ensure(survey("0.5")).epsilon == Fraction(1, 2)
    ledger.path.unlink()
    assert ledger.ensure(survey("0.5")).epsilon == Fraction(1, 2)
    # For permanent responses that may be lost as well, the larger budget counts.
    assert ledger.ensure(Collection(SCHEMA, MemoisedGRR(3, 2.0, 1.0))).epsilon == Fraction(5, 2)


WORKER = """
import sys
from pathlib import Path
from deniable import GRR, Attribute, Collection, Schema
from deniable.errors import PrivacyLimitError
from deniable.files.jobs.person import PersonLedger
ledger, first = PersonLedger(Path(sys.argv[1])), int(sys.argv[2])
schema, allowed = Schema((Attribute("mood", ("good", "so so", "bad")),)), 0
for version in range(first, first + 10):
    try:
        with ledger.spending(Collection(schema, GRR(3, "0.25"), version=version), maximum="2.5"):
            allowed += 1
    except PrivacyLimitError as error:
        assert "which is 0.25 too much" in str(error), error
print(allowed)
"""


def test_four_processes_cannot_overspend(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    running = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(path), str(first)], stdout=subprocess.PIPE, text=True)
        for first in (100, 200, 300, 400)
    ]
    allowed = [int(process.communicate(timeout=120)[0]) for process in running]
    assert sum(allowed) == 10
    assert PersonLedger(path).total().epsilon == Fraction(5, 2)


# ---------------------------------------------------------------- other devices


def test_merging_adds_each_draw_once_and_never_lowers(tmp_path: Path) -> None:
    here, there = PersonLedger(tmp_path / "here.json"), PersonLedger(tmp_path / "there.json")
    spend(here, survey(1))
    here.save(tmp_path / "copy.json")
    assert stat.S_IMODE(os.stat(tmp_path / "copy.json").st_mode) == 0o600
    assert there.merge(tmp_path / "copy.json") == 1
    # Both devices answer, even the same survey. These are two draws.
    spend(here, survey(2, 2))
    spend(there, survey(2, 2))
    assert here.merge(there.path) == 1
    assert here.total().epsilon == 5
    for _ in range(3):
        assert here.merge(there.path) == 0
        assert here.merge(tmp_path / "copy.json") == 0
    assert here.total().epsilon == 5
    # An imported ledger cannot be used to overspend: the limit applies to the merged total.
    there.merge(here.path)
    assert there.total().epsilon == 5
    with pytest.raises(PrivacyLimitError, match=r"got epsilon = 5\.5, which is 0\.5 too much"):
        spend(there, survey("0.5", 3), maximum=5)


def entry(**changes: Any) -> dict[str, Any]:
    return {"draw": "ab" * 16, "collection": "1f", "epsilon": "1", **changes}


MEMO: dict[str, Any] = {"id": "m", "forever": "2", "once": "1", "step": "0.5", "rows": 3}


@pytest.mark.parametrize(
    ("draws", "message"),
    [
        ([entry(epsilon="-1")], "must state a budget > 0 for every draw"),
        ([entry(epsilon="0")], "must state a budget > 0 for every draw"),
        ([entry(epsilon="much")], "must state every budget as a number"),
        ([entry(draw="short")], "must name each draw with 32 hexadecimal digits"),
        ([entry(memo={**MEMO, "step": "-0.5"})], "must state a budget > 0 for every draw"),
        ([entry(memo={**MEMO, "rows": -1})], "must state a budget > 0 for every draw"),
        ([entry(memo={**MEMO, "forever": ""})], "must state a budget > 0 for every draw"),
        ([entry(epsilon=1)], "epsilon"),
        ([entry(), entry(epsilon="2")], "must have one entry for every draw"),
    ],
)
def test_a_file_that_would_lower_a_total_is_refused(draws: list[Any], message: str, tmp_path: Path) -> None:
    path, ledger = tmp_path / "theirs.json", PersonLedger(tmp_path / "ours.json")
    spend(ledger, survey(1))
    before = ledger.path.read_bytes()
    path.write_text(json.dumps({"format": "deniable person ledger", "format_version": 1, "draws": draws}))
    with pytest.raises(FileFormatError, match=message):
        ledger.merge(path)
    assert ledger.path.read_bytes() == before


def test_another_entry_for_a_known_draw_is_refused(tmp_path: Path) -> None:
    ledger, path = PersonLedger(tmp_path / "ours.json"), tmp_path / "theirs.json"
    spend(ledger, survey(1))
    data = json.loads(ledger.path.read_text())
    data["draws"][0]["epsilon"] = "0.1"
    path.write_text(json.dumps(data))
    with pytest.raises(FileFormatError, match="must agree with this ledger about every draw"):
        ledger.merge(path)
    assert ledger.total().epsilon == 1


def test_the_list_that_a_browser_saves_can_be_merged(tmp_path: Path) -> None:
    path, ledger = tmp_path / "list.json", PersonLedger(tmp_path / "ours.json")
    document: dict[str, Any] = {
        "format": "deniable device ledger",
        "format_version": 2,
        "responses": [{"collection": "1f"}],
        "spending": [entry(person=1), entry(person=2, draw="cd" * 16), entry(person=1, draw="ef" * 16, memo=MEMO)],
    }
    path.write_text(json.dumps(document))
    assert [draw.draw for draw in read_draws(path)] == ["ab" * 16, "ef" * 16]
    assert ledger.merge(path) == 2
    assert ledger.total().epsilon == 2
    path.write_text(json.dumps(document | {"format_version": 1}))
    with pytest.raises(FileFormatError, match="must have format_version=2, got format_version=1; save the list again"):
        ledger.merge(path)
    path.write_text(json.dumps(document | {"spending": 1}))
    with pytest.raises(FileFormatError, match="spending"):
        ledger.merge(path)


def test_nothing_in_it_depends_on_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda size: "0" * 2 * size)
    contents = set()
    for code in range(3):
        ledger, store = PersonLedger(tmp_path / f"{code}.json"), MemoStore(tmp_path / f"{code}.memos.json")
        wave = Collection(SCHEMA, MemoisedGRR(3, 2.0, 1.0))
        memo = Memo("ab" * 16, store.memo(wave, SecureRandomness()).rows)
        with ledger.spending(wave, memo=memo):
            store.report(wave, [code], SecureRandomness())
        contents.add(ledger.path.read_text())
    assert len(contents) == 1


def test_the_user_has_a_ledger_for_every_person() -> None:
    spend(person_ledger("ann"), survey(1))
    assert person_ledger("ann").total().epsilon == 1
    assert person_ledger().total().draws == ()
    with pytest.raises(DeniableError, match="person must be"):
        person_ledger("../me")
    assert isinstance(MemoBudget(**MEMO), MemoBudget)

"""The ledger: a second randomisation of the same answers is noticed, and the ledger reveals no answer."""

from __future__ import annotations

import hmac
import itertools
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from deniable.core.randomness import SimulationRandomness
from deniable.errors import AlreadyRandomizedError, DuplicateReportsError, FileFormatError, OutputError
from deniable.files import aggregate_files
from deniable.files.formats import csv_files
from deniable.files.formats.reports import ReportReader
from deniable.files.jobs.aggregating import randomize_file
from deniable.files.jobs.ledger import (
    EARLIER_FILE_NAME,
    FILE_NAME,
    RECOGNISED_FROM,
    AnswersDigest,
    Entry,
    answers_ledger,
)
from deniable.oracles.sketch.heavy_hitters import HeavyHitters
from deniable.records.split import SPL
from deniable.research.dealt import QuotaRR
from deniable.research.dealt.files import deal_file
from deniable.research.dealt.files.shares import share_ledger
from deniable.survey.collection import Collection
from deniable.survey.encoding import Readings
from deniable.survey.schema import Attribute, Schema
from tests.forked import Forked
from tests.unit.survey_files import SURVEY, N, answers_file, files, rng

FEW = 40
RUN = "from deniable.cli import main; import sys; sys.argv[0] = 'deniable'; main()"


def one_answer(path: Path, smoker: str, age: str) -> Path:
    path.write_text(f"smoker,age\n{smoker},{age}\n")
    return path


# -------------------------------------------------------------------- privacy of the ledger


def recovered(directory: Path, candidates: Iterator[bytes]) -> list[bytes]:
    """Attack: return the candidates whose digest, with or without a key from the directory, is in the directory."""
    content = b"\n".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())
    strings = set(re.findall(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", content))
    keys = [b"", *(bytes.fromhex(text.decode()) for text in strings)]
    return [
        candidate
        for candidate in candidates
        if any(hmac.new(key, candidate, "sha256").hexdigest().encode() in strings for key in keys)
    ]


@pytest.mark.parametrize("known", [0, FEW, N])
def test_no_answer_is_recovered_from_what_lies_beside_the_reports(known: int, tmp_path: Path) -> None:
    """The adversary has the folder of the reports, and all answers except the last contributor's."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    rows = [("yes", "33"), ("no", "71")] * (known // 2)
    head = "smoker,age\n" + "".join(f"{smoker},{age}\n" for smoker, age in rows)
    answers = tmp_path / "answers.csv"
    answers.write_text(f"{head}no,57\n")
    randomize_file(SURVEY, answers, folder / "reports.parquet", rng())
    candidates = [f"{head}{smoker},{age}\n" for smoker in ("yes", "no", "") for age in range(100)]
    digests = [AnswersDigest(SURVEY, b"") for _ in range(3 * 4)]
    encoded = []
    for digest, (smoker, age) in zip(digests, itertools.product(range(3), range(4)), strict=True):
        codes = SURVEY.schema.encode(
            {"smoker": [*(row[0] for row in rows), "no"], "age": [*(row[1] for row in rows), "57"]}
        )
        codes[-1] = smoker, age
        digest.update(Readings(codes))
        encoded.append(codes.astype("u1").tobytes() + digest.n.to_bytes(8, "little"))
    assert recovered(folder, iter([*(text.encode() for text in candidates), *encoded])) == []
    assert files(folder) == {"reports.parquet"}


def test_what_few_answers_leave_with_their_holder_does_not_depend_on_them(tmp_path: Path, state: Path) -> None:
    answers, entries = tmp_path / "a.csv", []
    for smoker, age in (("yes", "33"), ("no", "57")):
        one_answer(answers, smoker, age)
        randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng(), allow_repeat=True)
        entries.append(answers_ledger().entries()[-1])
    assert entries[0] == entries[1]
    assert entries[0].answers == f"path:{answers.resolve()}"


def test_only_their_holder_can_read_it(tmp_path: Path, state: Path) -> None:
    umask = os.umask(0)
    try:
        randomize_file(SURVEY, answers_file(tmp_path / "a.csv"), tmp_path / "r.parquet", rng())
    finally:
        os.umask(umask)
    assert files(state) == {FILE_NAME}
    assert (state.stat().st_mode & 0o777, (state / FILE_NAME).stat().st_mode & 0o777) == (0o700, 0o600)
    state.chmod(0o755)
    answers_ledger()
    assert state.stat().st_mode & 0o777 == 0o700


def test_many_answers_are_recognised_by_a_key_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = set()
    for name in ("x", "y"):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))
        randomize_file(SURVEY, answers_file(tmp_path / "a.csv"), tmp_path / f"{name}.parquet", rng())
        (entry,) = answers_ledger().entries()
        digests.add(entry.answers)
    assert len(digests) == 2
    assert all(re.fullmatch("hmac:[0-9a-f]{64}", digest) for digest in digests)


def test_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for stated in ("", "relative/path"):
        monkeypatch.setenv("XDG_STATE_HOME", stated)
        assert answers_ledger().path == tmp_path / ".local" / "state" / "deniable" / FILE_NAME
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(
        OutputError, match=r"^cannot write .*/file/deniable: .*set XDG_STATE_HOME to keep the ledger elsewhere$"
    ):
        randomize_file(SURVEY, answers_file(tmp_path / "a.csv"), tmp_path / "r.parquet", rng())
    assert not (tmp_path / "r.parquet").exists()


def test_without_a_home_it_is_not_put_beside_the_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "")
    # os.path.expanduser gives this answer for a user whom the system does not know, as in many containers.
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    answers = answers_file(tmp_path / "a.csv")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match=r"this user has no home.* set XDG_STATE_HOME to keep the ledger elsewhere$"):
        randomize_file(SURVEY, answers, "r.parquet", rng())
    assert files(tmp_path) == {"a.csv"}


def test_what_an_earlier_version_left_is_pointed_out_and_left_alone(tmp_path: Path) -> None:
    left = tmp_path / EARLIER_FILE_NAME
    left.write_text("anything")
    result = randomize_file(SURVEY, answers_file(tmp_path / "a.csv"), tmp_path / "r.parquet", rng())
    (warning,) = result.warnings
    assert warning.startswith(f"{left} is from an earlier version")
    assert warning.endswith("Delete it, and never pass it on")
    assert left.read_text() == "anything"


# -------------------------------------------------------------------- the same answers


@pytest.mark.parametrize("same", ["a.csv", "copy.csv", "a.parquet", "reordered.csv"])
def test_many_answers_are_recognised_whatever_their_file(same: str, tmp_path: Path) -> None:
    answers = answers_file(tmp_path / "a.csv")
    randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng())
    before = (tmp_path / "r.parquet").read_bytes()
    shutil.copy(answers, tmp_path / "copy.csv")
    answers_file(tmp_path / "a.parquet")
    rows = [line.split(",") for line in answers.read_text().splitlines()]
    (tmp_path / "reordered.csv").write_text("".join(f'"{smoker}",{age}\r\n' for _, age, smoker in rows))
    for output in ("r.parquet", "s.parquet"):
        with pytest.raises(AlreadyRandomizedError) as caught:
            randomize_file(SURVEY, tmp_path / same, tmp_path / output, rng(2))
        assert str(caught.value) == (
            f"{tmp_path / same} was randomised before for this collection (into {tmp_path / 'r.parquet'}): anyone "
            "who sees all reports sees 2 reports of each contributor, so the bound for each contributor is "
            "epsilon = 16 instead of epsilon = 8. To randomise these answers again, pass allow_repeat=True"
        )
    assert (tmp_path / "r.parquet").read_bytes() == before
    assert files(tmp_path) == {"a.csv", "copy.csv", "a.parquet", "reordered.csv", "r.parquet"}


def test_two_people_with_equal_answers_are_two(tmp_path: Path) -> None:
    for name in ("anna", "berta"):
        answers = one_answer(tmp_path / f"{name}.csv", "yes", "33")
        assert randomize_file(SURVEY, answers, tmp_path / f"{name}.parquet", rng()).warnings == ()
    (tmp_path / "link.csv").symlink_to(tmp_path / "anna.csv")
    for again in ("anna.csv", "link.csv"):
        with pytest.raises(AlreadyRandomizedError, match=r"was randomised before for this collection \(into .*anna.p"):
            randomize_file(SURVEY, tmp_path / again, tmp_path / "r.parquet", rng())


def test_a_file_that_grew_is_still_that_file(tmp_path: Path) -> None:
    answers = answers_file(tmp_path / "a.csv", RECOGNISED_FROM - 1)
    randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng())
    answers_file(answers, RECOGNISED_FROM)
    with pytest.raises(AlreadyRandomizedError):
        randomize_file(SURVEY, answers, tmp_path / "s.parquet", rng())


@pytest.mark.parametrize("n", [FEW, N])
def test_again_is_possible_and_warns(n: int, tmp_path: Path) -> None:
    answers = answers_file(tmp_path / "a.csv", n)
    for run in range(3):
        result = randomize_file(SURVEY, answers, tmp_path / f"{run}.parquet", rng(run), allow_repeat=True)
        assert len(result.warnings) == (run > 0)
    assert f"(into {tmp_path / '0.parquet'}, {tmp_path / '1.parquet'})" in result.warnings[0]
    assert "epsilon = 24 instead of epsilon = 8" in result.warnings[0]


def test_other_answers_and_other_collections_are_free(tmp_path: Path) -> None:
    answers = answers_file(tmp_path / "a.csv")
    randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng())
    # The file of many answers may be overwritten by that of the next day.
    randomize_file(SURVEY, answers_file(answers, seed=2), tmp_path / "s.parquet", rng())
    randomize_file(replace(SURVEY, version=2), answers, tmp_path / "t.parquet", rng())
    entries = answers_ledger().entries()
    assert [Path(entry.into).name for entry in entries] == ["r.parquet", "s.parquet", "t.parquet"]
    assert [(entry.first, entry.last, entry.begun) for entry in entries] == [(1, N, False)] * 3


def test_numbers_are_recognised_whatever_their_coins_and_spelling(tmp_path: Path) -> None:
    """Rounding differs but answers do not; answers with the same grid point are still different answers."""
    income = Attribute("income", kind="numeric", range=(0, 10), grid=3, missing="no answer")
    schema = Schema((Attribute("smoker", ("yes", "no")), income))
    survey = Collection(schema, SPL(sizes=schema.sizes, epsilon=1.0))
    n = RECOGNISED_FROM
    values = [f"{i % 7}.5" for i in range(n - 1)] + [""]
    one, two, three = (tmp_path / name for name in ("one.csv", "two.csv", "three.csv"))
    one.write_text("smoker,income\n" + "".join(f"yes,{value}\n" for value in values))
    two.write_text("income,smoker\n" + "".join(f"{value and value + '0'},yes\n" for value in values))
    three.write_text("smoker,income\n" + "".join(f"yes,{value}\n" for value in ["0.5001", *values[1:]]))
    first, second = (schema.encode({"smoker": ["yes"] * n, "income": values}, rng(i)) for i in (1, 2))
    assert (first != second).any()
    randomize_file(survey, one, tmp_path / "1.parquet", rng(1))
    with pytest.raises(AlreadyRandomizedError, match="was randomised before for this collection"):
        randomize_file(survey, two, tmp_path / "2.parquet", rng(2))
    randomize_file(survey, three, tmp_path / "3.parquet", rng(3))

    def digest(*parts: list[str]) -> str:
        result = AnswersDigest(survey, b"key")
        for part in parts:
            result.update(schema.read({"smoker": ["yes"] * len(part), "income": pa.array(part, pa.string())}))
        return result.answers()

    assert digest(values) == digest(values[:7], values[7:])
    assert digest(values) != digest([*values[:-2], "", values[-2]])
    assert digest(["1.5", "1.6", *values]) != digest(["1.6", "1.5", *values])
    assert digest(values[1:]) == ""


def test_texts_are_recognised_and_not_run_together() -> None:
    survey = Collection(Schema((Attribute("site", text=True),)), HeavyHitters(epsilon=4.0))

    def digest(*parts: list[str]) -> str:
        result = AnswersDigest(survey, b"key")
        for part in parts:
            result.update(survey.schema.read({"site": part}))
        return result.answers()

    many = ["ab", "c"] * (RECOGNISED_FROM // 2)
    assert digest(many) == digest(many[:7], many[7:])
    assert digest(many) != digest(["a", "bc"] * (RECOGNISED_FROM // 2))
    assert digest(many[1:]) == ""


# -------------------------------------------------------------------- simultaneous, killed and damaged runs


def waits_for_a_lock(pid: int) -> bool:
    return any(line.split()[1] == "->" and f" {pid} " in line for line in Path("/proc/locks").read_text().splitlines())


def test_of_three_runs_at_once_one_succeeds(tmp_path: Path) -> None:
    answers_file(tmp_path / "a.csv")
    SURVEY.save(tmp_path / "survey.json")
    with answers_ledger().held():
        # All three are held up before they first read the ledger, and then go on at once.
        runs = [Forked(RUN, "randomize", "survey.json", "a.csv", "-o", f"{i}.parquet", cwd=tmp_path) for i in range(3)]
        while not all(waits_for_a_lock(run.pid) for run in runs):
            assert [run.poll() for run in runs] == [None] * 3
            time.sleep(0.1)
    ended = [run.wait() for run in runs]
    errors = [one.stderr for one in ended]
    assert sorted(one.returncode for one in ended) == [0, 2, 2], errors
    assert sum("was randomised before for this collection" in error for error in errors) == 2
    assert len(list(tmp_path.glob("?.parquet"))) == 1
    assert len(answers_ledger().entries()) == 1


@pytest.mark.parametrize("n", [FEW, N])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_run_killed_as_its_reports_appear_is_recorded(when: str, n: int, tmp_path: Path, state: Path) -> None:
    answers = answers_file(tmp_path / "a.csv", n)
    SURVEY.save(tmp_path / "survey.json")
    kill = (
        "import os, pathlib, signal\n"
        "replace = pathlib.Path.replace\n"
        "def killing(source, target):\n"
        "    if target.name != 'r.parquet':\n"
        "        return replace(source, target)\n"
        f"    {'' if when == 'before' else 'replace(source, target)'}\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "pathlib.Path.replace = killing\n"
    )
    run = Forked(kill + RUN, "randomize", "survey.json", "a.csv", "-o", "r.parquet", cwd=tmp_path)
    assert run.wait().returncode == -9
    assert (tmp_path / "r.parquet").exists() == (when == "after")
    message = (
        f"a run that randomised {answers} for this collection was stopped just before its reports appeared (as "
        f"{tmp_path / 'r.parquet'}): if no file of reports appeared, nobody saw reports and nothing is spent twice"
    )
    with pytest.raises(AlreadyRandomizedError) as caught:
        randomize_file(SURVEY, answers, tmp_path / "s.parquet", rng())
    assert str(caught.value) == f"{message}. To randomise these answers again, pass allow_repeat=True"
    # The refused run removed what the killed run had left unfinished.
    assert files(tmp_path) - {"r.parquet"} == {"a.csv", "survey.json"}
    assert randomize_file(SURVEY, answers, tmp_path / "s.parquet", rng(), allow_repeat=True).warnings == (message,)
    with pytest.raises(AlreadyRandomizedError, match=r"\(into .*s.parquet\).*; a run that randomised"):
        randomize_file(SURVEY, answers, tmp_path / "t.parquet", rng())
    assert files(state) == {FILE_NAME}


def test_an_entry_is_begun_before_the_reports_appear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    replace_ = Path.replace

    def watched(source: Path, target: Path) -> Path:
        if target.name == "r.parquet":
            seen.append([entry.begun for entry in answers_ledger().entries()])
        return replace_(source, target)

    monkeypatch.setattr(Path, "replace", watched)
    randomize_file(SURVEY, answers_file(tmp_path / "a.csv"), tmp_path / "r.parquet", rng())
    assert seen == [[True]]
    assert [entry.begun for entry in answers_ledger().entries()] == [False]


def test_reports_that_cannot_get_their_name_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_ = Path.replace

    def full(source: Path, target: Path) -> Path:
        if target.name == "r.parquet":
            raise OSError(28, "No space left on device")
        return replace_(source, target)

    answers = answers_file(tmp_path / "a.csv")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(OutputError, match=r"^cannot write .*r.parquet: No space left on device$"):
            randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng())
    assert files(tmp_path) == {"a.csv"}
    assert answers_ledger().entries() == ()
    assert randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng()).warnings == ()


def test_answers_are_forgotten_if_another_ledger_refuses(tmp_path: Path) -> None:
    """The ledger of shares refuses if another run used one of them meanwhile: no reports, and no record."""
    ledger, other = answers_ledger(), share_ledger(tmp_path)
    entry = Entry(event="randomized", collection="c", into="r.parquet", last=3, answers="path:/a.csv")

    def refuse(_: object) -> None:
        raise AlreadyRandomizedError("a share was used before")

    with (
        pytest.raises(AlreadyRandomizedError),
        ledger.recording([entry], lambda _: None),
        other.recording([], refuse),
    ):
        raise AssertionError
    assert ledger.entries() == ()


def test_a_lock_that_cannot_be_removed_does_not_undo_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reports exist: an error now would make the outer ledger forget them."""
    ledger, other = answers_ledger(), share_ledger(tmp_path)
    entry = Entry(event="randomized", collection="c", into="r.parquet", last=3, answers="path:/a.csv")

    def read_only(path: Path, missing_ok: bool = False) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", read_only)
    with ledger.recording([entry], lambda _: None), other.recording([], lambda _: None):
        pass
    assert [kept.begun for kept in ledger.entries()] == [False]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        '{"format": "deniable ledger", "format_version": 1, "key": 1, "entries": []}',
        '{"format": "deniable ledger", "format_version": 1, "key": "no digits", "entries": []}',
        '{"format": "deniable ledger", "format_version": 1, "entries": [{"event": "lost"}]}',
    ],
)
def test_a_damaged_ledger_stops_the_run(content: str, tmp_path: Path, state: Path) -> None:
    answers = answers_file(tmp_path / "a.csv")
    answers_ledger().path.write_text(content)
    for again in (False, True):
        with pytest.raises(FileFormatError, match=rf"{FILE_NAME}"):
            randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng(), allow_repeat=again)
    assert files(tmp_path) == {"a.csv"}
    assert (state / FILE_NAME).read_text() == content


def test_the_ledger_of_a_run_in_between_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 1000)
    one, two = answers_file(tmp_path / "a.csv"), answers_file(tmp_path / "b.csv", seed=2)
    calls = 0

    def meanwhile(done: int, total: int | None) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            randomize_file(SURVEY, two, tmp_path / "s.parquet", rng())

    randomize_file(SURVEY, one, tmp_path / "r.parquet", rng(), progress=meanwhile)
    for answers in (one, two):
        with pytest.raises(AlreadyRandomizedError):
            randomize_file(SURVEY, answers, tmp_path / "t.parquet", rng())


def test_reports_that_cannot_be_recorded_do_not_appear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OutputError("cannot write: disk full")

    answers_ledger().key()
    monkeypatch.setattr("deniable.files.jobs.ledger.write_text", full)
    with pytest.raises(OutputError, match="disk full"):
        randomize_file(SURVEY, answers_file(tmp_path / "a.csv"), tmp_path / "r.parquet", rng())
    assert files(tmp_path) == {"a.csv"}


def test_reports_that_appeared_stay_recorded_if_no_more_can_be_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_ = Path.replace

    def full_afterwards(source: Path, target: Path) -> Path:
        if target.name == FILE_NAME and (tmp_path / "r.parquet").exists():
            raise OSError(28, "No space left on device")
        return replace_(source, target)

    answers = answers_file(tmp_path / "a.csv")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full_afterwards)
        randomize_file(SURVEY, answers, tmp_path / "r.parquet", rng())
    assert ReportReader(tmp_path / "r.parquet", SURVEY).n == N
    with pytest.raises(AlreadyRandomizedError, match="was stopped just before its reports appeared"):
        randomize_file(SURVEY, answers, tmp_path / "s.parquet", rng())


def test_ledgers_of_shares_of_the_first_edition_are_read(tmp_path: Path) -> None:
    entry = {"event": "used", "collection": "c", "dealing": "d", "first": 3, "last": 9, "into": "r.parquet"}
    document = {"format": "deniable share ledger", "format_version": 1, "entries": [entry]}
    ledger = share_ledger(tmp_path)
    ledger.path.write_text(json.dumps(document))
    (read,) = ledger.entries()
    assert entry.items() <= read.model_dump().items()
    assert not read.begun


def test_one_batch_stays_one_batch(tmp_path: Path) -> None:
    """Reports of a run with --allow-repeat are separate reports: both are counted, once each."""
    answers = answers_file(tmp_path / "a.csv")
    both = [tmp_path / "r.parquet", tmp_path / "s.parquet"]
    for seed, path in enumerate(both):
        randomize_file(SURVEY, answers, path, rng(seed), allow_repeat=True)
    assert aggregate_files(SURVEY, both, tmp_path / "all").n == 2 * N
    with pytest.raises(DuplicateReportsError):
        aggregate_files(SURVEY, [*both, both[0]], tmp_path / "twice")


def test_reports_never_take_the_place_of_shares(tmp_path: Path) -> None:
    survey = Collection(Schema((Attribute("a", ("x", "y")),)), QuotaRR(1.0, 40, deal_id="1"))
    deal_file(survey, 40, tmp_path / "deal", SimulationRandomness(5))
    (tmp_path / "answers.csv").write_text("a\n" + "x\ny\n" * 20)
    (held,) = (tmp_path / "deal").glob("*.parquet")
    before = held.read_bytes()
    for shares in (tmp_path / "deal", held):
        with pytest.raises(OutputError, match="this file is also an input"):
            randomize_file(survey, tmp_path / "answers.csv", held, SimulationRandomness(1), shares=shares)
    assert held.read_bytes() == before

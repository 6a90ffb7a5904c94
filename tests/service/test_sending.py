"""A person who sends by the command line: waves of one question, a memo, a budget, and the person's ledger."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from deniable import GRR
from deniable.cli import app
from deniable.errors import InvalidParameterError, PrivacyLimitError, UploadError
from deniable.files import ReportReader
from deniable.files.jobs.memos import user_memos
from deniable.files.jobs.person import person_ledger
from deniable.files.wire import to_base64url
from deniable.oracles import MemoisedGRR
from deniable.service.sending import send_file
from deniable.service.survey_page import link_digits, page_hash
from deniable.survey.collection import Collection
from tests.service.asking import ASKED, SCHEMA, TOKEN, collecting, open_survey, sqlite

COINS = MemoisedGRR(3, 2.0, 1.0)
COPYING = MemoisedGRR(3, 2.0, 2.0)
WAVES = [Collection(SCHEMA, COINS, version=version, title="Smoking again") for version in (1, 2, 3)]
COPIES = [Collection(SCHEMA, COPYING, version=version) for version in (1, 2)]
ONCE = [Collection(SCHEMA, GRR(3, 0.75), version=version) for version in range(10, 16)]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with collecting(sqlite(tmp_path_factory.mktemp("person"))) as here:
        for number, one in enumerate((*WAVES, *COPIES, *ONCE, ASKED)):
            slug = f"wave{number}"
            open_survey(here.collector.surveys, slug, one)
        here.collector.refresh()
        yield here.public


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    (tmp_path / "answers.csv").write_text("smoker\nno\n")
    return tmp_path / "answers.csv"


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert "Traceback" not in result.output
    return result


def test_waves_are_reported_from_one_memo(url: str, answers: Path) -> None:
    memo = None
    for number, wave in enumerate(WAVES, 1):
        sent = send_file(wave, answers, url)
        assert (sent.counted, sent.drawn) == (1, True)
        kept = user_memos().memo(wave, None)  # type: ignore[arg-type]  # nothing is drawn any more
        memo = memo or kept.id
        assert kept.id == memo
        assert sent.person_total is not None
        assert float(sent.person_total.epsilon or 0) == pytest.approx(
            min(COINS.history_epsilon(number), 1 if number == 1 else 2 * number)
        )
    # If reports copy the permanent response, two waves of one answer have the same bytes. So the memo was used.
    reports = [next(iter(ReportReader(send_file(one, answers, url).kept, one))) for one in COPIES]
    expected = user_memos().memo(COPIES[0], None).rows[1]  # type: ignore[arg-type]
    assert [int(np.asarray(one)[0]) for one in reports] == [int(expected)] * 2


def test_a_budget_is_the_persons_whatever_the_file_is_called(url: str, tmp_path: Path) -> None:
    (tmp_path / "survey.json").write_text(ONCE[2].to_json())
    for number, one in enumerate(ONCE[:2]):
        (tmp_path / f"{number}.csv").write_text("smoker\nno\n")
        send_file(one, tmp_path / f"{number}.csv", url, max_epsilon="1.5")
    (tmp_path / "2.csv").write_text("smoker\nonce\n")
    refused = run("send", tmp_path / "survey.json", tmp_path / "2.csv", url, "--budget", "2.24")
    assert refused.exit_code == 2
    said = " ".join(refused.output.split())
    assert (
        "must be <= --max-epsilon=2.24, got epsilon = 2.25, which is 0.01 too much; spent before: epsilon = 1.5" in said
    )
    assert person_ledger().total().epsilon == Fraction(3, 2)
    allowed = run("send", tmp_path / "survey.json", tmp_path / "2.csv", url, "--budget", "2.25", "--json")
    assert allowed.exit_code == 0, allowed.output
    assert json.loads(allowed.stdout[allowed.stdout.index("{") :])["person"]["epsilon"] == 2.25
    # Kept reports are sent again, and nothing is entered twice. A smaller budget refuses them, too.
    assert send_file(ONCE[2], tmp_path / "2.csv", url, max_epsilon="2.25").already == 1
    with pytest.raises(PrivacyLimitError, match=r"which is 0\.25 too much"):
        send_file(ONCE[2], tmp_path / "2.csv", url, max_epsilon="2")
    # Another person on the same device has a ledger of their own.
    (tmp_path / "ann.csv").write_text("smoker\nno\n")
    assert send_file(ONCE[3], tmp_path / "ann.csv", url, person="ann", max_epsilon="0.75").counted == 1
    assert person_ledger().total().epsilon == Fraction(9, 4)


WORKER = """
import sys
from pathlib import Path
from deniable import Collection
from deniable.errors import PrivacyLimitError
from deniable.files.wire import to_base64url
from deniable.service.sending import send_file
from deniable.service.survey_page import link_digits, page_hash
survey, answers, url = Collection.load(Path(sys.argv[1])), Path(sys.argv[2]), sys.argv[3]
try:
    print(send_file(survey, answers, url, max_epsilon="0.8").counted)
except PrivacyLimitError:
    print("refused")
"""


def test_two_processes_cannot_overspend(url: str, tmp_path: Path) -> None:
    """Two surveys at once, each within the budget, both together beyond it: only one is sent."""
    running = []
    for number, one in enumerate(ONCE[4:6]):
        (tmp_path / f"{number}.json").write_text(one.to_json())
        (tmp_path / f"{number}.csv").write_text("smoker\nyes\n")
        command = [sys.executable, "-c", WORKER, str(tmp_path / f"{number}.json"), str(tmp_path / f"{number}.csv"), url]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    said = sorted(process.communicate(timeout=120)[0].strip() for process in running)
    assert said == ["1", "refused"]
    assert person_ledger().total().epsilon == Fraction(3, 4)


def test_a_survey_for_everyone_draws_nothing_for_an_invitation(url: str, answers: Path) -> None:
    with urlopen(f"{url}/api/v1/collections/{ASKED.id}/page") as page:
        digits = link_digits(ASKED.id, page_hash(page.read().decode()))
    with pytest.raises(UploadError, match="but the survey is for everyone: no report was made"):
        send_file(ASKED, answers, f"{url}/s/wave11#{digits}.{to_base64url(bytes(16))}")
    assert person_ledger("me").total().draws == ()


def test_several_people_have_no_person(url: str, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("smoker\nyes\nno\n")
    assert send_file(ASKED, tmp_path / "two.csv", url, token=TOKEN).person_total is None
    assert person_ledger().total().draws == ()
    with pytest.raises(InvalidParameterError, match="person must be left out for a file of more than one row"):
        send_file(ASKED, tmp_path / "two.csv", url, token=TOKEN, person="ann")
    with pytest.raises(InvalidParameterError, match="MemoisedGRR keeps permanent responses"):
        send_file(WAVES[0], tmp_path / "two.csv", url, token=TOKEN)


def test_the_ledger_is_printed_copied_and_merged(url: str, answers: Path, tmp_path: Path) -> None:
    send_file(ONCE[0], answers, url)
    send_file(WAVES[0], answers, url)
    said = run("spending", "-o", tmp_path / "copy.json")
    assert f"{ONCE[0].id[:12]}: epsilon = 0.75" in said.output
    assert f"{WAVES[0].id[:12]}: epsilon = 1, one report of permanent responses" in said.output
    assert "this person has spent epsilon = 1.75 in 2 draws\n" in said.output
    merged = run("spending", "--person", "tablet", "--add", tmp_path / "copy.json", "--json")
    assert "2 draws were new" in merged.output
    data = json.loads(merged.stdout[merged.stdout.index("{") :])
    assert (data["person"], data["epsilon"], data["times_known"], len(data["draws"])) == ("tablet", 1.75, False, 2)
    assert "0 draws were new" in run("spending", "--person", "tablet", "--add", tmp_path / "copy.json").output
    refused = run("spending", "--add", answers)
    assert refused.exit_code == 2
    assert "is not JSON" in refused.output
    for _ in range(2):
        send_file(WAVES[1], answers, url)
        send_file(WAVES[2], answers, url)
    assert "(if the times at which answers changed are known anyway)" not in run("spending").output

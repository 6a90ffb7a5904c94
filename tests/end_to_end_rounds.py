"""The demonstration's women answer in two rounds, by invitations split in advance; some of them in browsers.

``make e2e-rounds`` (`python -m tests.end_to_end_rounds`) runs all commands of an organiser: new, open, invite, answers,
next, open, invite, answers, close. The requirements are: every woman counts in exactly one round. The second round
refuses links of the first round. `survey next` and `deniable learn` make the same round. The dashboard's combination
has the numbers of `deniable combine`. The number of its intervals that miss the truth is at most the .9999 quantile of
Binomial(their number, .075).
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from deniable import SPL
from deniable.core.checks import Codes
from deniable.core.outputs import write_text
from deniable.errors import UploadError
from deniable.service.config import Configuration, LimitsShape
from deniable.service.demo import answer
from deniable.service.invitations import Link, nullifier, read_links
from deniable.service.rounds import combined
from deniable.service.server import Running, running
from deniable.service.survey_page import draft_page
from deniable.survey.collection import Collection
from deniable.survey.example import TITLE, demo_answers, demo_schema
from tests.end_to_end import MISSED, QUANTILE, answer_in_browser, chromium, truth_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SLUG = "women"
TRIED_AGAIN = 50
"""Number of women of the first round who try their links in the second round."""


@dataclass(frozen=True)
class Judged:
    """Result of one survey with two rounds.

    Parameters
    ----------
    epsilon, mechanism : str
        Budget of each woman, and mechanism of the second round.
    first, second, browsers : int
        Number of women counted in each round, and of those in both who used a browser.
    in_both, in_none : int
        Women counted in both rounds, and in none.
    tried_again, refused : int
        Number of women of the first round who sent a report to the second, and of those whom the collector refused.
    same_round, same_numbers : bool
        Whether the second round, and the combination, equal those of the workflow with files.
    categories, missed, most, told : int
        Number of intervals, of those that miss the truth, the largest acceptable number of misses, and the number of
        intervals other than 0 to 100%.
    warnings : int
        Number of sentences beside the combination.
    processor_seconds : float
        Processor seconds of this process and its commands, without the browser.
    """

    epsilon: str
    mechanism: str
    first: int
    second: int
    browsers: int
    in_both: int
    in_none: int
    tried_again: int
    refused: int
    same_round: bool
    same_numbers: bool
    categories: int
    missed: int
    most: int
    told: int
    warnings: int
    processor_seconds: float

    @property
    def held(self) -> bool:
        """Whether all requirements are met."""
        whole = not self.in_both and not self.in_none and self.refused == self.tried_again
        return whole and self.same_round and self.same_numbers and self.missed <= self.most


class Organiser:
    """Commands of an organiser in a folder, next to a running collector."""

    def __init__(self, folder: Path, database: str) -> None:
        self._folder, self._database = folder, database

    def run(self, *arguments: object) -> str:
        """Run a command of `deniable`; return what it prints."""
        command = [sys.executable, "-m", "deniable.cli", *map(str, arguments)]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command[2:])}\n{done.stdout}{done.stderr}")
        return done.stdout

    def survey(self, action: str, *arguments: object) -> str:
        """Run `deniable survey`."""
        return self.run("survey", action, SLUG, *arguments, "--database", self._database)


def page_of(collection: Collection, contributors: int) -> str:
    """Return the page of a survey for invited people."""
    page = draft_page(collection, contributors=contributors)
    words = page.languages["en"].model_copy(
        update={
            "title": TITLE,
            "intro": "In 1978, readers of Redbook were asked these questions.",
            "consent": "This survey is a test. Your report is deleted at its end.",
            "questions": {one.name: one.title for one in demo_schema().attributes},
        }
    )
    changed = {"languages": {"en": words}, "access": "invited", "contact": "whoever runs this test"}
    return page.model_copy(update=changed).to_json()


def ids_of(collection: Collection, links: list[Link]) -> NDArray[np.uint8]:
    """Return the ids that holders of links send."""
    names = b"".join(nullifier(collection.id, one.token) for one in links)
    return np.frombuffer(names, np.uint8).reshape(-1, 16)


def ask(
    here: Running,
    collection: Collection,
    links: list[Link],
    codes: Codes,
    folder: Path,
    file: str,
    browser: Browser | None,
    browsers: int,
) -> None:
    """Let the women of one round answer; the first of them use browsers with the links of the inviter's file."""
    with (folder / file).open(newline="") as rows:
        addresses = {int(row["number"]): row["link"] for row in csv.DictReader(rows)}
    if browser is not None:
        for one in links[:browsers]:
            answer_in_browser(browser, addresses[one.number], codes[one.number - 1].tolist())
    rest = links[browsers:]
    women = [one.number - 1 for one in rest]
    assert answer(here.public, collection, codes[women], ids=ids_of(collection, rest)) == len(rest)


def refused_again(here: Running, collection: Collection, links: list[Link], codes: Codes) -> int:
    """Let women of the first round send a report to the second; return how many are refused."""
    refused = 0
    for one in links:
        with contextlib.suppress(UploadError):
            answer(here.public, collection, codes[[one.number - 1]], ids=ids_of(collection, [one]))
            continue
        refused += 1
    return refused


def run(epsilon: str, mechanism: str, contributors: int, browsers: int, folder: Path, seed: int = 1) -> Judged:
    """Run a command of `deniable`; return its output."""
    schema = demo_schema()
    first = Collection(schema, SPL(sizes=schema.sizes, epsilon=float(epsilon)), title=TITLE)
    codes = schema.encode(demo_answers())
    codes = codes[np.random.default_rng(seed).permutation(len(codes))[:contributors]]
    first.save(folder / "survey-1.json")
    write_text(folder / "page.json", page_of(first, contributors // 2))
    database = f"sqlite:{folder / 'women.db'}"
    organiser = Organiser(folder, database)
    configuration = Configuration(
        database=database, public="127.0.0.1:0", admin="127.0.0.1:0", limits=LimitsShape(off=True)
    )
    anyway = ("--anyway", "only to test it")
    with running(configuration, migrate=True, drain_seconds=1.0) as here, contextlib.ExitStack() as stack:
        browser = stack.enter_context(chromium()) if browsers else None
        organiser.survey("new", "survey-1.json", "page.json")
        organiser.survey("open", *anyway)
        invite = ("--count", contributors, "--rounds", 2, "--url", here.public, "-o", "links.csv")
        organiser.survey("invite", *invite)
        links = read_links(folder / "links.csv")
        early, late = ([one for one in links if one.position == position] for position in (1, 2))
        ask(here, first, early, codes, folder, "links.csv", browser, browsers // 2)
        planned = ("--contributors", len(late), "--mechanism", mechanism)
        organiser.survey("next", *planned, "-o", "survey-2.json")
        second = Collection.load(folder / "survey-2.json")
        organiser.survey("open", *anyway)
        organiser.survey("invite", "--links", "links.csv", "--url", here.public, "-o", "links-2.csv")
        again = early[:TRIED_AGAIN]
        refused = refused_again(here, second, again, codes)
        ask(here, second, late, codes, folder, "links-2.csv", browser, browsers - browsers // 2)
        organiser.survey("close", "--now")
        store = here.collector.store
        found = combined(here.collector.surveys, SLUG)
        counted = [
            sum(store.counted(collection.id, nullifier(collection.id, one.token)) for collection in (first, second))
            for one in links
        ]
        for position in (1, 2):
            organiser.survey("export", "--round", position, "-o", f"{position}.aggregate")
    organiser.run("learn", "survey-1.json", "1.aggregate", *planned, "-o", "learned.json")
    shown = json.loads(found.to_json())
    # This runs the command exactly as the dashboard names it.
    printed: dict[str, Any] = json.loads(organiser.run(*found.command.split()[1:], "--json"))
    assert found.summary is not None
    truth, missed, told = truth_of(first, codes), 0, 0
    for row in found.summary.attributes:
        shares = truth[row.attribute] / len(codes)
        missed += int(((row.lower > shares) | (row.upper < shares)).sum())
        told += int(((row.lower > 0) | (row.upper < 1)).sum())
    categories = sum(schema.sizes)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Judged(
        epsilon=epsilon,
        mechanism=mechanism,
        first=found.rounds[0].n,
        second=found.rounds[1].n,
        browsers=browsers,
        in_both=counted.count(2),
        in_none=counted.count(0),
        tried_again=len(again),
        refused=refused,
        same_round=Collection.load(folder / "learned.json").id == second.id,
        same_numbers=shown["estimate"]["attributes"] == printed["attributes"],
        categories=categories,
        missed=missed,
        most=int(binom.ppf(QUANTILE, categories, MISSED)),
        told=told,
        warnings=len(found.warnings),
        processor_seconds=round(sum(one.ru_utime + one.ru_stime for one in used), 1),
    )


def main() -> None:
    """Run the survey and write its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contributors", type=int, default=6366)
    parser.add_argument("--browsers", type=int, default=60)
    parser.add_argument("--epsilon", default="4")
    parser.add_argument("--mechanism", default="Corr-RR")
    parser.add_argument("-o", "--output", type=Path, default=Path("results/e2e-rounds.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        judged = run(options.epsilon, options.mechanism, options.contributors, options.browsers, Path(folder))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    write_text(options.output, json.dumps([asdict(judged)], indent=1) + "\n")
    print(judged)
    if not judged.held:
        raise SystemExit("the two rounds do not meet the requirements")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_STATE_HOME"] = home
        main()

"""The demonstration's women answer through the public port, some of them in browsers; then estimates are checked.

``make e2e`` (`python -m tests.end_to_end`) runs all 6,366 women, 500 of them in browsers; the tests run sixty. At each
budget, the number of categories whose interval misses the truth must not exceed the .9999 quantile of Binomial(their
number, .075). One survey gives only one number of misses. Therefore 200 surveys are simulated without the ports: the
mean share of intervals that contain the truth must be from .94 to .99.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from deniable.answers import summarize
from deniable.core.aggregate import Aggregate
from deniable.core.checks import Codes
from deniable.core.outputs import write_text
from deniable.core.randomness import SimulationRandomness
from deniable.service.demo import SLUG, answer, demo_collection, demonstration
from deniable.survey.collection import Collection
from deniable.survey.example import demo_answers
from tests.browser.conftest import PROGRAMS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MISSED = 0.075
QUANTILE = 0.9999
COVERED = (0.94, 0.99)
"""Bounds of the mean coverage of simulated surveys."""
AT_ONCE = 12
"""Number of women whose pages are open at a time; each page waits up to three seconds before it sends."""
# One message to the browser does all clicks, because separate messages would each wait for the next frame.
_ANSWER = """codes => {
  const click = (which) => document.querySelector(which).click();
  const go = () => document.querySelector("#survey form").requestSubmit();
  go();
  codes.forEach((code, j) => {
    click(`input[name=deniable-${j}][value="${code}"]`);
    go();
  });
  click("input[name=agree]");
  go();
}"""


@dataclass(frozen=True)
class Judged:
    """Result of one run.

    Parameters
    ----------
    epsilon : str
        Budget of each woman.
    contributors, browsers : int
        Number of women who answered, and of those in a browser.
    categories, missed, most : int
        Number of intervals, of those that miss the truth, and the largest acceptable number of misses.
    repetitions : int
        Number of simulated surveys of the same women.
    covered : float or None
        Mean share of their intervals that contain the truth; None without simulated surveys.
    """

    epsilon: str
    contributors: int
    browsers: int
    categories: int
    missed: int
    most: int
    repetitions: int = 0
    covered: float | None = None

    @property
    def held(self) -> bool:
        """Whether all requirements are met."""
        return self.missed <= self.most and (self.covered is None or COVERED[0] <= self.covered <= COVERED[1])


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Run a headless browser while the block runs."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, PROGRAMS)))
    arguments = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, headless=True, args=arguments)
        yield browser
        browser.close()


def answer_in_browser(browser: Browser, link: str, codes: list[int]) -> None:
    """Let one woman answer on the page, with her own profile."""
    leave(answered(browser, link, codes))


def answer_in_browsers(browser: Browser, link: str, codes: Codes) -> None:
    """Let women answer on the page, each with her own profile, some of them at a time."""
    for start in range(0, len(codes), AT_ONCE):
        for page in [answered(browser, link, one.tolist()) for one in codes[start : start + AT_ONCE]]:
            leave(page)


def answered(browser: Browser, link: str, codes: list[int]) -> Page:
    """Open the page for a woman and answer, up to the button that sends the report."""
    context = browser.new_context(viewport={"width": 390, "height": 800}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(link)
    page.wait_for_selector("[data-state=welcome]")
    page.evaluate(_ANSWER, codes)
    return page


def leave(page: Page) -> None:
    """Wait until a page says that its report was counted, and close it."""
    page.wait_for_selector("[data-state=counted]")
    page.context.close()


def truth_of(collection: Collection, codes: Codes) -> dict[str, NDArray[np.int64]]:
    """Return the true counts of every attribute."""
    columns = enumerate(zip(collection.schema.names, collection.schema.sizes, strict=True))
    return {name: np.bincount(codes[:, j], minlength=size) for j, (name, size) in columns}


def held_and_all(collection: Collection, aggregate: Aggregate, codes: Codes) -> tuple[int, int]:
    """Return the number of intervals of an aggregate that contain these women's truth, and of all intervals."""
    estimates, truth = collection.estimate(aggregate), truth_of(collection, codes)
    n, mechanism = aggregate.n, collection.mechanism
    found = summarize(estimates, n=n, mechanism=mechanism, truth=truth, truth_n=len(codes)).coverage
    assert found is not None
    return found


def simulated(epsilon: str, repetitions: int, seed: int = 1) -> float:
    """Return the mean share of intervals that contain the truth, over simulated surveys of all women."""
    collection, generator = demo_collection(epsilon), SimulationRandomness(seed)
    codes = collection.schema.encode(demo_answers())
    shares = []
    for _ in range(repetitions):
        held, categories = held_and_all(collection, collection.aggregate(collection.randomize(codes, generator)), codes)
        shares.append(held / categories)
    return float(np.mean(shares))


def run(epsilon: str, contributors: int, browsers: int, seed: int = 1) -> Judged:
    """Let women answer at one epsilon, close the survey, and check its export."""
    collection = demo_collection(epsilon)
    codes = collection.schema.encode(demo_answers())
    codes = codes[np.random.default_rng(seed).permutation(len(codes))[:contributors]]
    with demonstration(epsilon=epsilon) as (here, link, _):
        counted = answer(here.public, collection, codes[browsers:]) if contributors > browsers else 0
        if browsers:
            with chromium() as browser:
                answer_in_browsers(browser, link, codes[:browsers])
        surveys = here.collector.surveys
        surveys.close(SLUG, now=True)
        content = surveys.export(SLUG)
    aggregate = Aggregate.from_bytes(content)
    assert counted + browsers == aggregate.n == contributors
    held, categories = held_and_all(collection, aggregate, codes)
    most = int(binom.ppf(QUANTILE, categories, MISSED))
    return Judged(epsilon, contributors, browsers, categories, categories - held, most)


def main() -> None:
    """Run both budgets and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contributors", type=int, default=6366)
    parser.add_argument("--browsers", type=int, default=500)
    parser.add_argument("--repetitions", type=int, default=200, help="simulated surveys")
    parser.add_argument("-o", "--output", type=Path, default=Path("results/e2e.json"))
    options = parser.parse_args()
    judged = []
    for epsilon in ("1", "4"):
        covered = simulated(epsilon, options.repetitions)
        one = run(epsilon, options.contributors, options.browsers)
        judged.append(replace(one, repetitions=options.repetitions, covered=round(covered, 4)))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    write_text(options.output, json.dumps([asdict(one) for one in judged], indent=1) + "\n")
    for one in judged:
        print(one)
    if not all(one.held for one in judged):
        raise SystemExit("more intervals miss the truth than chance allows")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_STATE_HOME"] = home
        main()

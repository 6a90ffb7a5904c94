"""The demonstration's women answer through the public port, some of them in browsers; then the estimates are judged.

``make e2e`` runs all 6,366 (`python -m tests.end_to_end`), the tests sixty. By the law of the intervals: at each budget
the number of categories whose interval misses the truth must not exceed the .9999 quantile of Binomial(their number,
.075).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binom

from deniable.answers import summarize
from deniable.core.aggregate import Aggregate
from deniable.core.outputs import write_text
from deniable.demo import demo_answers
from deniable.service.demo import SLUG, answer, demo_collection, demonstration

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MISSED = 0.075
QUANTILE = 0.9999
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Judged:
    """What one run gave.

    Parameters
    ----------
    epsilon : str
        Budget of every woman.
    contributors, browsers : int
        How many answered, and how many of them in a browser.
    categories, missed, most : int
        Intervals, how many do not hold the truth, and how many may not.
    """

    epsilon: str
    contributors: int
    browsers: int
    categories: int
    missed: int
    most: int


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Run a headless browser inside the block."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, _BROWSERS)))
    arguments = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, headless=True, args=arguments)
        yield browser
        browser.close()


def answer_in_browser(browser: Browser, link: str, codes: list[int]) -> None:
    """Let one woman answer on the page, in a profile of her own."""
    context = browser.new_context(viewport={"width": 390, "height": 800}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(link)
    page.wait_for_selector("[data-state=form]")
    page.check("input[name=agree]")
    for j, code in enumerate(codes):
        page.check(f"input[name=deniable-{j}][value='{code}']")
    page.click("button[type=submit]")
    page.wait_for_selector("[data-state=counted]")
    context.close()


def run(epsilon: str, contributors: int, browsers: int, seed: int = 1) -> Judged:
    """Let women answer at one epsilon, close the survey, and judge its export."""
    collection = demo_collection(epsilon)
    codes = collection.schema.encode(demo_answers())
    codes = codes[np.random.default_rng(seed).permutation(len(codes))[:contributors]]
    truth = {
        name: np.bincount(codes[:, j], minlength=size)
        for j, (name, size) in enumerate(zip(collection.schema.names, collection.schema.sizes, strict=True))
    }
    with demonstration(epsilon=epsilon) as (here, link, _):
        counted = answer(here.public, collection, codes[browsers:]) if contributors > browsers else 0
        if browsers:
            with chromium() as browser:
                for one in codes[:browsers]:
                    answer_in_browser(browser, link, one.tolist())
        surveys = here.collector.surveys
        surveys.close(SLUG, now=True)
        content = surveys.export(SLUG)
    aggregate = Aggregate.from_bytes(content)
    assert counted + browsers == aggregate.n == contributors
    summary = summarize(
        collection.estimate(aggregate), mechanism=collection.mechanism, n=aggregate.n, truth=truth, truth_n=contributors
    )
    assert summary.coverage is not None
    hits, categories = summary.coverage
    most = int(binom.ppf(QUANTILE, categories, MISSED))
    return Judged(epsilon, contributors, browsers, categories, categories - hits, most)


def main() -> None:
    """Run both budgets and write what they gave."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contributors", type=int, default=6366)
    parser.add_argument("--browsers", type=int, default=500)
    parser.add_argument("-o", "--output", type=Path, default=Path("results/e2e.json"))
    options = parser.parse_args()
    judged = [run(epsilon, options.contributors, options.browsers) for epsilon in ("1", "4")]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    write_text(options.output, json.dumps([asdict(one) for one in judged], indent=1) + "\n")
    for one in judged:
        print(one)
    if any(one.missed > one.most for one in judged):
        raise SystemExit("more categories are missed than chance allows")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_STATE_HOME"] = home
        main()

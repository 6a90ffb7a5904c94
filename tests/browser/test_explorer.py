"""The explorer in a browser: each number on it agrees with Python, which computes it without the page's own data."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import pytest

from deniable import Attribute, Schema
from deniable.planning import Exploration, explore, plan_survey
from deniable.planning.precision import attribute_variance
from deniable.report import save_explorer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCHEMA = Schema(
    (
        Attribute("stars", ("1", "2", "3", "4", "5"), "no answer", kind="ordered", ask="mean", title="How many stars?"),
        Attribute("devices", ("phone", "radio"), kind="multiple"),
        Attribute("</script><img src=x onerror=alert(1)>", ("a", "b", "c", "d", "e")),
        Attribute("county", tuple(f"county {i}" for i in range(40))),
    )
)
Z = NormalDist().inv_cdf(0.975)
Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def explored() -> Exploration:
    return explore(SCHEMA, 8000, ["1.25"], target=5)


@pytest.fixture(scope="module")
def explorer(explored: Exploration, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("explorer") / "explore.html"
    save_explorer(explored, path, title="Staff survey")
    return path.as_uri()


def digits(value: float, uncertainty: float) -> str:
    places = 0 if uncertainty >= 100 else 1 if uncertainty >= 0.95 else 2 if uncertainty >= 0.095 else 4
    return f"{value:.{places}f}"


def shown(page: Page) -> list[list[str]]:
    """Return the text of each question's row, cell by cell."""
    rows = page.locator("#questions .row:not(.head)")
    found: list[list[str]] = rows.evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('.text, small')].map(one => one.textContent))"
    )
    return [[text.replace("\u00a0", " ") for text in row] for row in found]


def expected(epsilon: str, n: int, share: float, target: float) -> list[list[str]]:
    """Return the same text from a plan for this budget and number, and from the mechanism's variance at this share."""
    (setting,) = plan_survey(SCHEMA, n, [epsilon], target=target).settings
    found = []
    for j, question in enumerate(setting.questions):
        mean = question.ask == "mean"
        low, high = (1.0, 5.0) if mean else (0.0, 100.0)
        half, value, unit = question.half_width, 3.0, ""
        if not mean:
            half = 100 * Z * math.sqrt(attribute_variance(setting.mechanism, j, share, n))
            value, unit = 100 * share, "%"
        ends = (digits(max(low, value - half), half), digits(min(high, value + half), half))
        guess = question.guess
        found.append(
            [
                question.label,
                f"its mean, {question.unit}" if mean else f"{question.categories} answers",
                f"{digits(value, half)}{unit} ± {digits(half, half)}",
                f"{ends[0]} to {ends[1]}{unit}; at most ± {digits(question.half_width, question.half_width)}",
                f"{100 * guess.without:.1f}% → {100 * guess.after:.1f}%" if guess.after is not None else "not known",
                "" if guess.exact else "with ideal hash functions",
                f"{question.contributors_needed:,}",
                f"for ± {target:g}{'% of the scale' if mean else ' points'}",
            ]
        )
    return found


def slide(page: Page, label: str, value: int) -> None:
    page.get_by_label(label, exact=True).evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input', {bubbles: true})); }", value
    )


def test_every_number_is_pythons(explored: Exploration, explorer: str, open_page: Open) -> None:
    stops = [stop.epsilon for stop in explored.stops]
    page = open_page(explorer)
    assert page.inner_text("#epsilon-value") == "1.25"
    assert shown(page) == expected("1.25", 8000, 0.3, 5)
    page.locator("summary").click()
    for epsilon, position, n, share, target in (
        ("0.1", 0, 100, 0, 3.0),
        ("1", 38, 7900, 50, 0.5),
        ("4", 60, 100_000, 97, 2.0),
        ("8", 120, 100_000_000, 100, 12.5),
    ):
        slide(page, "Privacy budget epsilon", stops.index(epsilon))
        slide(page, "Contributors", position)
        slide(page, "Suppose a share of", share)
        page.get_by_label("Wanted: within ±").fill(f"{target:g}")
        assert page.input_value("#contributors-number") == f"{n:,}"
        assert page.inner_text("#epsilon-value") == epsilon
        assert page.inner_text("#share-value") == f"{share}%"
        assert shown(page) == expected(epsilon, n, share / 100, target)
        (setting,) = plan_survey(SCHEMA, n, [epsilon], every=True).settings
        assert page.inner_text("#promise").lower() == f"{setting.promise}.".lower()
        assert page.inner_text("#how") == f"{setting.name}; a report has {setting.bits_per_report:.1f} bits."
        rows = page.locator("#mechanism-rows tr").evaluate_all(
            "rows => rows.map(row => [...row.children].map(one => one.textContent.replace(/\\u00a0/g, ' ')))"
        )
        errors = [one.relative_half_width for one in setting.mechanisms]
        assert [row[0] for row in rows] == [one.name for one in setting.mechanisms]
        assert [row[1] for row in rows] == ["-" if e is None else f"± {digits(100 * e, 100 * e)}" for e in errors]
        assert [row[2] for row in rows] == [
            "-" if one.bits_per_report is None else f"{one.bits_per_report:.1f}" for one in setting.mechanisms
        ]
        assert [row[3] for row in rows] == [
            "-" if one.influence is None else f"{one.influence:.1f}" for one in setting.mechanisms
        ]
        worst = max(error for error, one in zip(errors, setting.mechanisms, strict=True) if one.chosen and error)
        verdict = page.inner_text("#verdict").replace("\u00a0", " ")
        assert f"± {digits(100 * worst, 100 * worst)} points of 100" in verdict
        assert ("cannot work" in verdict) == bool(setting.warning)


def test_drawn_intervals_lie_where_they_are_said_to(explorer: str, open_page: Open) -> None:
    page = open_page(explorer)
    slide(page, "Suppose a share of", 2)
    row = page.locator("#questions .row:not(.head)").nth(3)
    x, width = (float(row.locator(".band").get_attribute(name) or "nan") for name in ("x", "width"))
    half = (
        100
        * Z
        * math.sqrt(attribute_variance(plan_survey(SCHEMA, 8000, ["1.25"]).settings[0].mechanism, 3, 0.02, 8000))
    )
    assert x == 0  # nobody can be fewer than none
    assert width == pytest.approx(2 + half, rel=1e-12)
    assert row.locator("svg").get_attribute("aria-label") == f"interval from 0.0 to {2 + half:.1f}%"


def test_the_verdict_counts_a_scale_by_its_length(tmp_path: Path, open_page: Open) -> None:
    income = Attribute("income", kind="numeric", range=(0, 5000), grid=21)
    schema = Schema((income, Attribute("smoker", ("yes", "no"))))
    save_explorer(explore(schema, 1000), tmp_path / "page.html")
    (setting,) = plan_survey(schema, 1000, ["1"]).settings
    points = [100 * question.half_width / span for question, span in zip(setting.questions, (5000, 100), strict=True)]
    assert points[0] > points[1]
    verdict = open_page((tmp_path / "page.html").as_uri()).inner_text("#verdict").replace("\u00a0", " ")
    assert f"± {digits(points[0], points[0])} points of 100" in verdict
    assert "“income”" in verdict


def test_keys_move_sliders_and_wrong_numbers_change_nothing(explorer: str, open_page: Open) -> None:
    page = open_page(explorer)
    page.get_by_label("Privacy budget epsilon", exact=True).focus()
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#epsilon-value") == "1.3"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "contributors-number"
    field = page.get_by_label("Contributors, as a number")
    field.fill("12,345")
    before = shown(page)
    assert before == expected("1.3", 12_345, 0.3, 5)
    for wrong in ("", "many", "0", "-5", "1e99"):
        field.fill(wrong)
        assert field.get_attribute("aria-invalid") == "true"
        assert shown(page) == before
    page.keyboard.press("Enter")  # Enter submits nothing
    assert shown(page) == before
    field.fill("1000000")
    assert shown(page) == expected("1.3", 1_000_000, 0.3, 5)


@pytest.mark.long
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_small_screens_in_both_colours(explorer: str, open_page: Open, dark: bool) -> None:
    for width in (320, 390, 1200):
        page = open_page(explorer, width=width, dark=dark)
        page.locator("summary").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(21, 24, 28)" if dark else "rgb(255, 255, 255)")
        # Numbers are on the screen beside or below their question, and none is outside of it.
        boxes: list[dict[str, float]] = page.locator("#questions .text, #questions small").evaluate_all(
            "all => all.map(one => { const {left, right} = one.getBoundingClientRect(); return {left, right}; })"
        )
        assert all(box["left"] >= 0 and box["right"] <= width for box in boxes)
        unlabelled = page.evaluate("[...document.querySelectorAll('input')].filter(one => !one.labels.length).length")
        assert unlabelled == page.locator("input[aria-label]").count()


def test_nothing_is_loaded_or_sent_and_no_other_script_runs(explorer: str, browser: Browser) -> None:
    page = browser.new_page()  # this page is not strict, because the refusal is an error on its console
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(explorer)
    slide(page, "Contributors", 50)
    assert asked == [explorer]
    assert page.locator("img").count() == 0
    refused: Any = page.evaluate(
        """() => new Promise(done => {
          document.addEventListener('securitypolicyviolation', event => done(event.effectiveDirective));
          const script = document.createElement('script');
          script.textContent = 'document.title = "changed"';
          document.body.append(script);
        })"""
    )
    assert refused.startswith("script-src")
    assert "changed" not in page.title()
    page.context.close()


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours as defined in WCAG 2."""

    def luminance(colour: str) -> float:
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_text_can_be_read_in_both_colours() -> None:
    style = (Path(__file__).parents[2] / "src/deniable/report/templates/explorer.css").read_text()
    schemes = [dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in style.split("@media")[:2]]
    assert len(schemes) == 2
    for colours in schemes:
        for background in ("paper", "card"):
            assert contrast(colours["ink"], colours[background]) >= 7
            assert contrast(colours["soft"], colours[background]) >= 4.5
        for mark in ("good", "fair", "bad", "mark"):
            assert contrast(colours[mark], colours["paper"]) >= 3

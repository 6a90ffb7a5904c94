"""Numbers in docs/papers and docs/theory come from a command and a CSV file, or are stated with their source."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from experiments.pages import (
    COMMANDS,
    DOCS,
    PAPERS,
    THEORY,
    Contradiction,
    Page,
    Results,
    page_of,
    plain,
    printed,
    setting,
    traced,
)

TRACED = (*PAPERS, *THEORY)


def _page(paper: str) -> Page:
    page = page_of(paper)
    assert page is not None
    return page


@pytest.mark.parametrize("paper", TRACED)
def test_every_number_of_the_page_is_traced(paper: str) -> None:
    assert _page(paper).check() == []


def test_the_guide_repeats_the_errors_of_the_theory_page() -> None:
    """Each row of two-phase mechanisms in docs/choosing.md has the errors at rho = .9."""
    results = _page("theory/corr_rr").results
    guide = plain((DOCS / "choosing.md").read_text(encoding="utf-8"))
    for method in ("SMP", "SPL", "RS+RFD clipped", "Corr-RR", "two groups", "groups chosen by error",
                   "Cond-RR unmixed", "two pivots, least norm, unmixed"):  # fmt: skip
        cells = (results.value("achieved", "mse", method=method, post="raw", rho=0.9, epsilon=e) for e in (0.5, 2))
        assert f"| {' | '.join(printed(one, '.1e') for one in cells)} |" in guide, method


@pytest.mark.parametrize("paper", TRACED)
def test_every_table_names_a_command_that_exists(paper: str) -> None:
    page = _page(paper)
    commands = json.loads((page.results.folder / COMMANDS).read_text(encoding="utf-8"))
    experiments = import_module(f"experiments.{page.experiments}.__main__").PAPER.experiments
    for table, command in commands.items():
        found = re.fullmatch(rf"python -m experiments\.{page.experiments} (\S+) --runs (\d+) --seed 1", command)
        assert found, command
        assert found[1] in experiments
        assert table.startswith(found[1])


@pytest.mark.parametrize("paper", TRACED)
def test_the_results_beside_a_page_are_small(paper: str) -> None:
    for path in _page(paper).results.folder.iterdir():
        assert path.stat().st_size < 80_000, path.name


@pytest.mark.parametrize("paper", sorted({*PAPERS} - {"answers"}))
def test_contradictions_have_setting_size_and_reply(paper: str) -> None:
    page = _page(paper)
    found = page.contradictions(page.results)
    assert len(found) > 10
    assert [lack for one in found for lack in one.lacks()] == []


@pytest.mark.long
@pytest.mark.parametrize("paper", TRACED)
def test_a_changed_digit_is_noticed(paper: str) -> None:
    """Raise the first digit of each fortieth traced number of the page: each change is noticed.

    Numbers of one digit are left out, because they may be a setting, such as a seed.
    """
    page = _page(paper)
    source = page.path.read_text(encoding="utf-8")
    quoted = [match for quote in page.quotes(page.results) for match in re.findall("⟨([^⟩]*\\d[^⟩]*)⟩", quote)]
    for number in [number for number in quoted if len(re.findall(r"\d", number)) > 1][::40]:
        places = [found.start() for found in re.finditer(rf"(?<![\w.]){re.escape(number)}(?![\w%.])", source)]
        changed = re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), number, count=1)
        for place in places[:1]:
            assert page.check(source[:place] + changed + source[place + len(number) :]), (number, place)


# ------------------------------------------------------------------------------------------------ the mechanism itself


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    folder = tmp_path / "results" / "jrr"
    folder.mkdir(parents=True)
    (folder / "fig-1.csv").write_text("method,share of ones,mse\nRR,0.1,0.2577\nJRR,0.1,12345.6\n")
    (folder / COMMANDS).write_text('{"fig-1": "python -m experiments.jrr fig-1 --runs 3 --seed 1"}')
    monkeypatch.setattr("experiments.pages.FOLDER", tmp_path)

    def quotes(results: Results) -> list[str]:
        rr = results.number("fig-1", "mse", ".2f", method="RR", share_of_ones=0.1)
        jrr = results.number("fig-1", "mse", ",.0f", method="JRR")
        return [f"RR has {rr}, JRR {jrr}.", f"| {setting(0.1)} | {rr} |"]

    return Page("jrr", (quotes,), {"as in 2003": "the paper's references"}, {"a.png": "fig-1.png"})


GOOD = """# A page

At epsilon .1, figure 3(a), n = 400, **RR has .26,
JRR 12,346.** It is [as in 2003](x.md).

| share | MSE |
|---|---|
| .1 | .26 |

![alt 7](a.png)
*What is drawn; seed 1.*
"""


def test_a_page_that_is_traced(small: Page) -> None:
    assert small.check(GOOD) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (".26,", ".27,", "the page has not: RR has .26, JRR 12,346."),
        ("| .26 |", "| .25 |", "the page has not: | .1 | .26 |"),
        ("# A page", "# A page\n\nIt costs 17 seconds.", "nothing traces 17"),
        ("# A page", "# A page\n\nA share of 95% of them.", "nothing traces 95%"),
        ("as in 2003", "as in 2004", "the page has not: as in 2003"),
        ("; seed 1", "", "has no caption"),
        ("a.png", "b.png", "b.png is not among"),
    ],
)
def test_what_is_wrong_is_said(small: Page, before: str, after: str, said: str) -> None:
    assert GOOD.count(before) >= 1
    assert said in "\n".join(small.check(GOOD.replace(before, after)))


DRAWN = Contradiction(
    '"RR is best" (5.1)',
    "n = 400, 3 runs",
    f"JRR has {traced(0.2, '.1f')} ± {traced(0.03, '.2f')}",
    "that 300 runs say so",
)
LISTED = """
| the paper | setting | here | reply |
|---|---|---|---|
| "RR is best" (5.1) | n = 400, 3 runs | JRR has .2 ± .03 | that 300 runs say so |
"""


def test_a_page_with_a_contradiction(small: Page) -> None:
    page = replace(small, contradictions=lambda _: [DRAWN])
    assert page.check(GOOD + LISTED) == []
    assert "the page has not: | " in page.check(GOOD)[0]
    assert "but: " in "\n".join(page.check(GOOD + LISTED.replace(".03", ".04")))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"says": " "}, "has no statement"),
        ({"setting": "-"}, "has no setting"),
        ({"found": ""}, "has no size"),
        ({"reply": " "}, "has no reply"),
        ({"found": f"JRR has {traced(0.2, '.1f')}"}, "a measured contradiction has no standard error"),
        ({"found": f"JRR has .3 ± {traced(0.03, '.2f')}"}, "nothing traces .3 in the size"),
    ],
)
def test_what_a_contradiction_lacks_is_said(small: Page, changed: dict[str, str], said: str) -> None:
    lacking = replace(DRAWN, **changed)
    assert said in "\n".join(replace(small, contradictions=lambda _: [lacking]).check(GOOD))


def test_exact_contradictions_need_no_standard_error() -> None:
    exact = replace(DRAWN, setting="n = 400; exact", found=traced(0.2, ".1f"))
    assert list(exact.lacks()) == []
    assert list(DRAWN.lacks()) == []


def test_tables_without_a_command_or_a_reader_are_seen(small: Page) -> None:
    folder = small.results.folder
    (folder / "fig-2.csv").write_text("a\n1\n")
    assert "fig-2.csv or its command" in "\n".join(small.check(GOOD))
    (folder / COMMANDS).write_text('{"fig-1": "a", "fig-2": "b"}')
    assert "fig-2.csv is not quoted" in "\n".join(small.check(GOOD))


def test_another_seed_is_compared_number_by_number(small: Page, tmp_path: Path) -> None:
    other = tmp_path / "other" / "jrr"
    other.mkdir(parents=True)
    (other / "fig-1.csv").write_text("method,share of ones,mse\nRR,0.1,0.2577\nJRR,0.1,12399\n")
    assert small.differences(tmp_path / "other") == [
        {"page": "12,346", "other seed": "12,399", "in": "RR has .26, JRR 12,346."}
    ]


def test_rows_in_another_order_are_not_compared(small: Page, tmp_path: Path) -> None:
    def rows(results: Results) -> list[str]:
        return [f"| {row['method']} | {traced(float(row['mse']), '.1f')} |" for row in results.rows("fig-1")]

    other = tmp_path / "other" / "jrr"
    other.mkdir(parents=True)
    (other / "fig-1.csv").write_text("method,share of ones,mse\nJRR,0.1,12399\nRR,0.1,0.2577\n")
    with pytest.raises(LookupError, match="in another order"):
        replace(small, parts=(rows,)).differences(tmp_path / "other")


def test_one_cell_is_asked_for(small: Page) -> None:
    with pytest.raises(LookupError, match="2 rows"):
        small.results.value("fig-1", "mse", share_of_ones=0.1)
    with pytest.raises(LookupError, match="0 rows"):
        small.results.value("fig-1", "mse", method="quota RR")


def test_numbers_are_printed_as_on_the_pages() -> None:
    assert [printed(0.05, ".3f"), printed(-0.5, ".1f"), printed(2e-6, ".0e")] == [".050", "-.5", "2e-6"]
    assert traced(float("inf"), ".2f") == "⟨infinite⟩"
    assert plain("| a | b |\n|---|---:|\n| **.1** | `x1` |") == "| a | b | | .1 | `code` |"

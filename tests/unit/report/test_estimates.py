"""Tables, pictures and pages: their content, and that no label can break them."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from deniable import GRR, Attribute, Collection, Estimate, Schema, SimulationRandomness
from deniable.answers import Summary, codebook, compare
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.report import (
    comparison_page,
    draw,
    estimate_page,
    html,
    parts,
    print_page,
    render_html,
)
from deniable.report.estimates import percent
from deniable.report.page import Part
from deniable.report.parts.interval_chart import IntervalChart
from deniable.report.parts.table import Table
from deniable.report.text import MAX_ROWS
from tests.unit.report.drawn import panels, texts
from tests.unit.report.summaries import charts, estimate, hostile, summary_of


def printed(summary: Summary, width: int = 80) -> str:
    text = io.StringIO()
    print_page(Console(file=text, width=width, highlight=False), estimate_page(summary))
    return text.getvalue()


# -------------------------------------------------------------------------------------------------- numbers


def test_summary_takes_numbers_from_the_raw_estimate_and_processed_ones_beside() -> None:
    raw = estimate([1.2, -0.2])
    row = summary_of(raw.processed([1.0, 0.0], "simplex")).attributes[0]
    assert row.estimate.tolist() == [1.2, -0.2]
    assert row.standard_error.tolist() == pytest.approx([0.0632455532] * 2)
    assert (row.upper - row.lower).tolist() == pytest.approx([2 * 1.959963985 * 0.0632455532] * 2)
    assert row.processed is not None
    assert row.processed.tolist() == [1.0, 0.0]


def test_simultaneous_intervals_count_every_category_of_every_attribute() -> None:
    summary = summary_of(estimate([0.5, 0.5]), estimate([0.2, 0.3, 0.5], attribute="b"), simultaneous=True)
    # Bonferroni over five intervals uses the z of 1 - 0.05/10.
    half = (summary.attributes[0].upper - summary.attributes[0].lower) / 2
    assert half.tolist() == pytest.approx([2.575829304 * 0.0632455532] * 2)
    assert "all 5 hold together" in summary.interval_text


@pytest.mark.parametrize(("confidence", "text"), [(0.95, "95%"), (0.999, "99.9%"), (0.9, "90%"), (0.12345, "12.345%")])
def test_level_is_written_without_superfluous_digits(confidence: float, text: str) -> None:
    assert summary_of(estimate([0.5, 0.5]), confidence=confidence).level_text == text


def test_interval_sentence_names_the_target() -> None:
    contributors = summary_of(estimate([0.5, 0.5])).interval_text
    population = summary_of(estimate([0.5, 0.5]), target="population").interval_text
    assert "these 1,000 contributors: the noise of the randomisation only" in contributors
    assert "population" in population
    assert "sampling" in population


def test_notes_and_codebook_of_a_biased_estimate_promise_no_average() -> None:
    biased = replace(estimate([0.5, 0.5]), processing=("Corr-RR (biased)",))
    for one in (biased, biased.processed([0.5, 0.5], "simplex")):
        summary = summary_of(one, estimate([0.5, 0.5], attribute="b"))
        notes = " ".join(estimate_page(summary).notes)
        assert "may differ from the true frequencies even on average" in notes
        assert "remove the effect" not in notes
        assert "would be biased" not in notes
        assert "unbiased" not in codebook(summary)
    fair = summary_of(estimate([0.5, 0.5]))
    assert "remove the effect of randomisation on average" in " ".join(estimate_page(fair).notes)
    assert "unbiased estimate" in codebook(fair)


def test_population_intervals_are_wider() -> None:
    noise = summary_of(estimate([0.5, 0.5])).attributes[0]
    both = summary_of(estimate([0.5, 0.5]), target="population").attributes[0]
    assert both.standard_error[0] == pytest.approx(math.sqrt((4 + 0.25) / 1000))
    assert both.upper[0] - both.lower[0] > noise.upper[0] - noise.lower[0]


def test_coverage_counts_intervals_that_contain_the_truth() -> None:
    summary = summary_of(estimate([0.5, 0.5]), truth={"a": [90, 10]})
    assert summary.coverage == (0, 2)
    assert summary.coverage_text == "0 of 2 intervals contain the truth (about 1.9 expected)."
    assert summary_of(estimate([0.5, 0.5]), truth={"a": [55, 45]}).coverage == (2, 2)
    assert summary_of(estimate([0.5, 0.5])).coverage_text == ""


def test_what_has_no_interval_cannot_miss_the_truth() -> None:
    biased = replace(estimate([0.5, 0.5]), processing=("Corr-RR (biased)",))
    summary = summary_of(biased, truth={"a": [90, 10]})
    assert summary.coverage_text == ""
    assert "*" not in printed(summary)
    both = summary_of(biased, estimate([0.5, 0.5], attribute="b"), truth={"a": [90, 10], "b": [90, 10]})
    assert both.coverage == (0, 2)


def test_truth_is_the_share_of_all_that_were_counted_unless_told_otherwise() -> None:
    raw = estimate([0.5, 0.3, 0.2])
    assert summary_of(raw, truth={"a": [5, 3, 2]}).attributes[0].truth == pytest.approx([0.5, 0.3, 0.2])
    assert summary_of(raw, truth={"a": [5, 3, 2]}, truth_n=20).attributes[0].truth == pytest.approx([0.25, 0.15, 0.1])


def test_truth_of_another_length_is_refused() -> None:
    with pytest.raises(
        InvalidInputError, match=r"truth of “a” must have 2 counts \(one for each category\), got shape=\(3,\)"
    ):
        summary_of(estimate([0.5, 0.5]), truth={"a": [1, 2, 3]})


@pytest.mark.parametrize(("n", "decimals"), [(10, 1), (1000, 1), (100_000, 2), (10**9, 4), (10**15, 4)])
def test_decimals_follow_the_standard_error(n: int, decimals: int) -> None:
    assert percent(summary_of(estimate([0.5, 0.5], n=n), n=n))(0.5) == f"{50:.{decimals}f}%"


def test_percent_has_no_negative_zero() -> None:
    text = percent(summary_of(estimate([0.5, 0.5])))
    assert [text(value) for value in (-0.0001, 0.0, -0.01, 1.234, math.nan)] == [
        "0.0%", "0.0%", "-1.0%", "123.4%", "-",
    ]  # fmt: skip


# -------------------------------------------------------------------------------------------------- JSON


def test_json_has_full_precision_and_null_for_what_does_not_exist() -> None:
    nothing = Estimate(np.full(2, np.nan), 0, np.array(4.0), np.array(4.0), contributors=1000, attribute="b")
    data = summary_of(estimate([1 / 3, 2 / 3]), nothing, truth={"a": [1, 2]}).to_dict()
    again = json.loads(json.dumps(data, allow_nan=False))
    first, second = again["attributes"]
    assert first["categories"][0]["estimate"] == 1 / 3
    assert first["categories"][0]["truth"] == 1 / 3
    assert second["reports"] == 0
    assert second["categories"][0] == {
        "category": "0",
        "estimate": None,
        "standard_error": None,
        "lower": None,
        "upper": None,
    }
    assert again["guarantee"]["epsilon"] == 1.0
    assert again["mechanism"] == {"mechanism": "GRR", "k": 2, "epsilon": "1"}
    assert again["interval"]["confidence"] == 0.95


def test_unbounded_guarantees_are_null_in_json_and_no_factor_on_the_page() -> None:
    summary = summary_of(estimate([0.6, 0.4]))
    unbounded = replace(summary, guarantee=replace(summary.guarantee, epsilon=math.inf))
    assert json.loads(json.dumps(unbounded.to_dict(), allow_nan=False))["guarantee"]["epsilon"] is None
    assert "epsilon = inf" in render_html(estimate_page(unbounded))
    assert "factor of at most" not in render_html(estimate_page(unbounded))


# -------------------------------------------------------------------------------------------------- text


def test_guarantee_puts_the_whole_contributor_first_then_attributes() -> None:
    guarantee = replace(GRR(k=2, epsilon=1.0).privacy(), per_attribute=(0.5, 0.25), remarks=("read this",))
    lines = guarantee.lines(["age", "smokes"])
    assert lines[0].startswith("epsilon = 1 for the whole contributor")
    assert lines[1] == "  per attribute: age 0.5, smokes 0.25"
    assert "r x 1 (upper bound)" in lines[3]
    assert lines[-1] == "  note: read this"
    alike = replace(guarantee, per_attribute=(1.0, 1.0)).lines([])
    assert alike[1] == "  per attribute: epsilon = 1 for each of the 2 attributes"
    assert GRR(k=2, epsilon=1.0).privacy().lines(["age"]) == str(GRR(k=2, epsilon=1.0).privacy()).splitlines()


# -------------------------------------------------------------------------------------------------- tables


def test_table_has_the_columns_in_order() -> None:
    raw = estimate([0.6, 0.4], labels=("yes", "no"))
    summary = summary_of(raw.processed([0.6, 0.4], "norm-sub"), truth={"a": [90, 10]})
    lines = charts(summary)[0].lines(80)
    assert re.split(r"  +", lines[0]) == ["category", "estimate", "std. error", "95% interval", "truth", "norm-sub"]
    assert re.split(r"  +", lines[2]) == ["yes", "60.0%", "6.3%", "47.6% to 72.4%", "90.0%*", "60.0%"]


def test_lines_fit_eighty_columns_whatever_the_labels() -> None:
    for line in printed(hostile()).splitlines():
        assert cell_len(line) <= 80, line
        assert "\x1b" not in line
        assert "\u202e" not in line
    assert "".join(re.findall(r"^ *(x+)", printed(hostile()), re.M)) == "x" * 300


def test_widest_numbers_fit_eighty_columns() -> None:
    raw = Estimate(np.array([-12.3456, 13.4]), 10**9, np.array(4.0), np.array(4.0), attribute="a")
    summary = summary_of(raw.processed([0.0, 1.0], "clip-normalize"), n=10**9, truth={"a": [1, 2]})
    assert percent(summary)(0.5) == "50.0000%"
    assert max(map(cell_len, printed(summary).splitlines())) <= 80


def test_narrow_terminals_keep_whole_numbers() -> None:
    assert "47.6% to 72.4%" in printed(summary_of(estimate([0.6, 0.4])), width=50)


@pytest.mark.parametrize("width", [60, 44])
def test_columns_that_do_not_fit_follow_below(width: int) -> None:
    raw = estimate([0.6, 0.4], labels=("yes, and more than once", "no"))
    text = printed(summary_of(raw.processed([0.55, 0.45], "clip-normalize"), truth={"a": [90, 10]}), width=width)
    assert max(map(cell_len, text.splitlines())) <= width
    for number in ("60.0%", "6.3%", "47.6% to 72.4%", "90.0%*", "55.0%", "45.0%"):
        assert number in text
    headers = [line for line in text.splitlines() if line.startswith("category")]
    assert len(headers) == (2 if width == 60 else 3)
    assert "  ".join(headers).split() == (
        " category".join(["category estimate std. error 95% interval truth", " clip-normalize"]).split()
        if width == 60
        else [
            "category",
            "estimate",
            "std.",
            "error",
            "category",
            "95%",
            "interval",
            "truth",
            "category",
            "clip-normalize",
        ]
    )


def test_the_title_comes_first_and_the_guarantee_last_in_one_line() -> None:
    text = printed(summary_of(estimate([0.6, 0.4])))
    assert text.startswith("Estimated frequencies\n")
    assert text.endswith("\n\nGuarantee: epsilon = 1 for the whole contributor; odds change at most 2.72-fold\n")
    assert "implemented" not in text
    assert "noise of the randomisation only" in " ".join(text.split())


def test_attribute_without_reports_says_so() -> None:
    nothing = Estimate(np.full(2, np.nan), 0, np.array(4.0), np.array(4.0), contributors=1000, attribute="b")
    text = printed(summary_of(estimate([0.6, 0.4]), nothing))
    assert "no reports" in text
    assert "nan" not in text
    assert "inf" not in text


def test_large_domains_list_the_largest_estimates() -> None:
    k = MAX_ROWS + 900
    frequencies = np.zeros(k)
    frequencies[k - 1] = 1.0
    text = printed(summary_of(estimate(list(frequencies))))
    assert f"\n{k - 1} " in text
    assert "and 900 categories with smaller estimates" in text
    # Nobody asked for a selection, but the output is a selection.
    said = (
        "Every interval holds for its own category, and does not allow for this selection. With --top, the intervals "
        "allow for it."
    )
    assert said in " ".join(text.split())
    assert said not in " ".join(printed(summary_of(estimate([0.6, 0.4]))).split())
    assert len(text.splitlines()) < MAX_ROWS + 30


# -------------------------------------------------------------------------------------------------- pictures


def test_a_number_is_no_part_of_a_heading_from_right_to_left() -> None:
    """A number next to it would change sides."""
    summary = summary_of(estimate([0.3, 0.7], labels=("yes", "no"), attribute="\u05d0"), n=2000)
    (heading,) = [text for text in texts(draw(estimate_page(summary))) if "\u05d0" in text]
    assert heading == "\u05d0"
    assert panels(draw(estimate_page(summary)))[0].get_xlabel() == "1,000 reports"


def test_every_output_has_a_renderer_of_every_kind_of_part() -> None:
    modules = [import_module(f"{parts.__name__}.{module.name}") for module in iter_modules(parts.__path__)]
    kinds = set(Part.__subclasses__())
    assert {IntervalChart, Table} < kinds
    assert {kind.__module__ for kind in kinds} == {module.__name__ for module in modules}
    for kind in kinds:
        assert getattr(kind, "__final__", False), kind
        assert {"print_on", "markup", "drawing"} <= vars(kind).keys(), kind
    templates = Path(html.__file__).parent / "templates" / "parts"
    assert {f"{parts.__name__}.{path.stem}" for path in templates.iterdir()} == {kind.__module__ for kind in kinds}


# -------------------------------------------------------------------------------------------------- pages


def test_page_has_the_title_then_the_numbers_then_the_guarantee() -> None:
    page = render_html(estimate_page(summary_of(estimate([0.6, 0.4]))))
    assert page.index("<h1>") < page.index("60.0%") < page.index("How to read this page")
    assert page.index("How to read this page") < page.index("epsilon = 1 for the whole contributor")
    assert "factor of at most 2.72" in page


def test_page_compares_several_summaries_on_one_axis() -> None:
    summaries = [summary_of(estimate([0.6, 0.4], n=n), n=n) for n in (100, 10_000)]
    page = render_html(estimate_page(*summaries))
    axes = re.findall(r'<text x="([^"]+)" y="13"[^>]*>([^<]+)<', page)
    assert len(axes) % 2 == 0
    assert axes[: len(axes) // 2] == axes[len(axes) // 2 :]
    # If one of them had numbers with more digits, the other's axis would shift.
    columns = re.findall(r'<col width="([0-9]+)"/>', page)
    assert columns[: len(columns) // 2] == columns[len(columns) // 2 :]
    assert len(columns) == 6
    other = summary_of(estimate([0.6, 0.4], attribute="b"))
    with pytest.raises(InvalidParameterError, match="same attributes"):
        estimate_page(summaries[0], other)
    with pytest.raises(InvalidParameterError, match="at least one"):
        estimate_page()


def test_two_waves_of_a_number_are_compared_by_their_means() -> None:
    income = Attribute("income", kind="numeric", range=(0, 5000), grid=51)
    waves, rng = [], SimulationRandomness(1)
    for version, told in ((1, 1000), (2, 2000)):
        grr = GRR(k=51, epsilon=4.0)
        survey = Collection(Schema((income,)), grr, version)
        counted = grr.simulate_aggregate(np.bincount([told // 100], minlength=51) * 400, rng)
        waves.append((survey, replace(counted, collection=survey.id)))
    comparison = compare(*waves, independent=True)
    (table,) = comparison_page(comparison).sections[-1].parts
    assert isinstance(table, Table)
    assert table.header == ("question", "change", "std. error", "95% interval")
    mean = comparison.attributes[0].mean
    assert mean is not None
    error = mean.write(mean.standard_error)
    assert list(table.cells(0)) == ["change of the mean", mean.value_text, error, mean.interval_text]
    assert mean.lower < 1000 < mean.upper

"""Leakage as tables, pictures and pages: their content, their robustness, and statements that they must not make."""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from rich.cells import cell_len

from deniable import GRR, OUE, RSFD, SMP, SPL
from deniable.errors import InvalidInputError, InvalidParameterError, OutputError
from deniable.leakage.prior.correlation import Leakage, any_mechanism_channel, cpl, worst_case_cpl
from deniable.leakage.summary import LeakageSummary, summarize, summarize_collection
from deniable.leakage.totals.total import ADDITIVE_LABEL
from deniable.report import Page, draw, leakage_page, render_html, save_html, save_png
from deniable.report.colours import OWN, shade
from deniable.report.page import Mark, Section
from deniable.report.parts.heat_map import HeatMap
from deniable.report.parts.interval_chart import IntervalChart
from deniable.report.parts.table import Table
from deniable.research.leakage import budgets_page
from deniable.research.leakage.calibration.budgets import calibrate_records
from deniable.research.leakage.calibration.criteria import Criterion
from deniable.research.leakage.joint_totals import exact_totals
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema
from tests.unit.report.drawn import assert_nothing_overlaps, charts, panels, texts
from tests.unit.report.leaking import chain, correlated, printed, schema_of

HOSTILE = ("<script>alert(1)</script>", "$\\nonsense{1$", "[red]b[/red]", "line\nbreak \x1b[31m \u202e", "漢字" * 40)
E1 = math.e - 1


def bald_and_male() -> LeakageSummary:
    """Of 500 without a beard... four cells of known size: bald given male and the other way round."""
    records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [5000, 4000, 100, 900], axis=0)
    return summarize(records, schema_of(("bald", "male")), "1", source="faces.csv", release="by GRR")


def of_chain(d: int, names: tuple[str, ...] | None = None, target: str | None = None) -> LeakageSummary:
    names = names or tuple(f"attribute_number_{j}" for j in range(d))
    return summarize(
        chain(d), schema_of(names), 1.0, source="answers.csv", release="each by any mechanism", target=target
    )


def matrix_lines(summary: LeakageSummary, width: int) -> list[str]:
    (part,) = (part for part in leakage_page(summary).sections[0].parts if isinstance(part, HeatMap))
    return part.lines(width)


def source_lines(summary: LeakageSummary, width: int) -> list[str]:
    return charts(leakage_page(summary).sections[0])[0].lines(width)


def total_lines(summary: LeakageSummary, width: int) -> list[str]:
    return charts(leakage_page(summary).sections[-1])[0].lines(width)


# -------------------------------------------------------------------------------------------------- any mechanism


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0), (3, 0.5), (5, 2.0)])
def test_the_channel_of_any_mechanism_has_epsilon_and_reaches_every_set(k: int, epsilon: float) -> None:
    channel = any_mechanism_channel(k, epsilon)
    assert channel.sum(axis=1) == pytest.approx(np.ones(k))
    assert (channel.max(axis=0) / channel.min(axis=0)) == pytest.approx(np.full(2**k - 2, math.exp(epsilon)))
    sets = {tuple(column > column.min() * 1.0001) for column in channel.T}
    assert len(sets) == 2**k - 2
    generator = np.random.default_rng(k)
    for _ in range(20):
        rows = generator.dirichlet(np.full(k, 0.5), size=4)
        assert cpl(channel, rows) == pytest.approx(worst_case_cpl(rows, epsilon).epsilon, abs=1e-12)


def test_no_mechanism_leaks_more_in_total_than_the_one_that_stands_for_all() -> None:
    generator = np.random.default_rng(3)
    worst = [any_mechanism_channel(3, 1.0)] * 3
    for trial in range(30):
        joint = generator.dirichlet(np.full(27, 0.3)).reshape(3, 3, 3)
        others = []
        for _ in range(3):
            # Rows of a random channel are within e of each other: weights in [1, e], renormalised by a common slack
            # column.
            weights = 1 + E1 * generator.random((3, 5)) * generator.integers(0, 2, (3, 5))
            scaled = weights / (weights.sum(axis=1).max() * 1.5)
            others.append(np.column_stack([scaled, 1 - scaled.sum(axis=1)]))
            assert (others[-1].max(axis=0) / others[-1].min(axis=0)).max() <= math.e * 1.0001
        bound = exact_totals(joint, worst)
        assert (exact_totals(joint, others) <= bound + 1e-9).all(), trial
        assert (exact_totals(joint, [GRR(k=3, epsilon=1.0)] * 3) <= bound + 1e-9).all()
        assert exact_totals(joint, [OUE(k=3, epsilon=1.0)] * 3) == pytest.approx(bound, abs=1e-9)


# -------------------------------------------------------------------------------------------------- numbers


def test_the_matrix_is_asymmetric_and_rows_are_about_whom() -> None:
    summary = bald_and_male()
    # P(male | bald) = 0.9, P(male | not) = 4/9, P(bald | male) = 9/49, P(bald | not) = 1/51.
    about_bald = math.log((1 + 0.9 * E1) / (1 + 4 / 9 * E1))
    about_bald = max(about_bald, math.log((1 + 5 / 9 * E1) / (1 + 0.1 * E1)))
    about_male = math.log((1 + 9 / 49 * E1) / (1 + E1 / 51))
    assert summary.matrix == pytest.approx(np.array([[0, about_bald], [about_male, 0]]))
    assert about_bald > 2 * about_male
    first = summary.strongest[0]
    assert (first.target, first.source) == ("bald", "male")
    assert str(first) == f"releasing male reveals up to {about_bald:.2f} of a possible 1.00 about bald"


def test_totals_of_exclusive_or_are_exact_and_above_the_additive_figure() -> None:
    records = np.array([[a, b, a ^ b] for a, b in itertools.product((0, 1), repeat=2)] * 100)
    summary = summarize(records, schema_of(("a", "b", "c")), 1.0, source="x.csv", release="by any")
    assert [total.total.epsilon for total in summary.totals] == pytest.approx([1.4337808] * 3)
    assert [total.additive_figure_not_a_bound for total in summary.totals] == pytest.approx([1.0] * 3)
    assert summary.prior_free == pytest.approx(3.0)
    assert summary.exact
    assert {total.total.status for total in summary.totals} == {"upper bound"}
    assert "for the worst of these mechanisms" in summary.remarks[0]


def test_a_named_mechanism_has_its_own_figures() -> None:
    records, schema = chain(3, k=3), schema_of(("a", "b", "c"), k=3)
    options: dict[str, Any] = {"source": "x.csv", "release": "by it"}
    worst = summarize(records, schema, 1.0, **options)
    oue = summarize(records, schema, [OUE(k=3, epsilon=1.0)] * 3, **options)
    exponential = [GRR(k=3, epsilon=0.5)] * 3
    less = summarize(records, schema, exponential, **options)
    assert oue.matrix == pytest.approx(worst.matrix)
    assert [total.total.epsilon for total in oue.totals] == pytest.approx(
        [total.total.epsilon for total in worst.totals]
    )
    assert [total.total.status for total in oue.totals] == ["exact"] * 3
    assert "some report attains them" in oue.remarks[0]
    assert (less.matrix <= worst.matrix).all()


def test_what_is_not_released_is_asked_about_only() -> None:
    summary = summarize(
        chain(3), schema_of(("a", "b", "c")), 1.0, source="x.csv", release="by any", released=["a", "b"], target="c"
    )
    assert summary.direct.tolist() == pytest.approx([1, 1, 0])
    assert summary.columns == [0, 1]
    assert summary.about == [2]
    assert [pair.target for pair in summary.strongest] == ["c", "c"]
    everything = of_chain(3, ("a", "b", "c"))
    # Given c, a says nothing beyond b in a chain. So the leakage is nearly what b alone says, and less than with c's
    # own release.
    assert summary.matrix[2, 1] <= summary.totals[0].total.epsilon < everything.totals[2].total.epsilon
    assert summary.prior_free == pytest.approx(2.0)
    assert "0.00" in total_lines(summary, 80)[-1]


def test_constants_and_absent_categories_are_named_by_their_labels() -> None:
    records = chain(3, k=3)
    records[:, 0] = 2
    records[records[:, 1] == 1, 1] = 0
    summary = summarize(records, schema_of(("a", "b", "c"), k=3), 1.0, source="x.csv", release="by any")
    assert summary.names == ("b", "c")
    assert summary.notes == (
        "left out, because it is the same in all records: a",
        "b: nobody holds v1; nothing can be said about them",
    )


def test_few_records_are_warned_about_and_give_a_range() -> None:
    records = np.repeat([[0, 0], [0, 1], [1, 1]], [60, 40, 3], axis=0)
    summary = summarize(records, schema_of(("rare", "b")), 1.0, source="x.csv", release="by any")
    (warning,) = summary.warnings
    assert "rare “v1” (3)" in warning
    low, high = summary.strongest[0].plausible or (0, 0)
    assert 0 < low < high < 1
    assert f"reveals {low:.2f} to {high:.2f} of a possible 1.00 about" in str(summary.strongest[0])
    assert f"({summary.strongest[0].epsilon:.2f} in these records, of which few tell)" in str(summary.strongest[0])
    assert summary.strongest[0].to_dict()["text"] == str(summary.strongest[0])


def test_the_range_of_few_records_holds_their_own_figure() -> None:
    # Nobody with the rare answer says yes. This empty cell puts the records' own figure at the end of the possible
    # range.
    records = np.repeat([[0, 0], [0, 1], [1, 1]], [60, 40, 3], axis=0)
    for seen in (records, np.concatenate([records, np.repeat([[1, 0]], 2, axis=0)])):
        for pair in summarize(seen, schema_of(("rare", "b")), 5.0, source="x.csv", release="by any").strongest:
            assert pair.plausible is not None
            assert pair.plausible[0] <= pair.epsilon <= pair.plausible[1]


def test_many_records_need_no_range() -> None:
    records = np.repeat([[0, 0], [0, 1], [1, 1]], [60, 40, 3], axis=0)
    many = summarize(np.repeat(records, 1000, axis=0), schema_of(("rare", "b")), 1.0, source="x", release="")
    assert not many.warnings
    assert all(pair.plausible is None for pair in many.strongest)


def test_totals_of_records_that_are_nearly_all_different_are_warned_about() -> None:
    records = np.random.default_rng(1).integers(0, 2, (500, 12))
    names = tuple(f"a{j}" for j in range(12))
    summary = summarize(records, schema_of(names), 1.0, source="x.csv", release="by any")
    assert any("share. Totals then distinguish these very people" in warning for warning in summary.warnings)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"target": "z"}, InvalidParameterError, "target must be one of a, b, c, got target=“z”"),
        ({"target": "c"}, InvalidInputError, "target “c” is the same in all records"),
        ({"released": ["a", "y"]}, InvalidParameterError, "attributes must be among a, b, c, got “y”"),
    ],
)
def test_unknown_and_constant_attributes_are_refused(options: dict[str, Any], error: type, says: str) -> None:
    records = chain(3)
    records[:, 2] = 0
    with pytest.raises(error, match=re.escape(says)):
        summarize(records, schema_of(("a", "b", "c")), 1.0, source="x.csv", release="", **options)


def test_one_attribute_that_varies_is_refused() -> None:
    records = np.array([[0, 1], [1, 1]])
    with pytest.raises(InvalidInputError, match="at least two attributes must vary in the records, but only a varies"):
        summarize(records, schema_of(("a", "b")), 1.0, source="x.csv", release="")


# -------------------------------------------------------------------------------------------------- collections


@pytest.mark.parametrize("cls", [SPL, SMP, RSFD])
def test_a_collection_keeps_its_id_and_its_guarantee_gets_a_section(cls: Any) -> None:
    survey = Collection(schema_of(("a", "b", "c")), cls(sizes=(2, 2, 2), epsilon=2.0), title="Survey")
    before = survey.to_json()
    summary = summarize_collection(chain(3), survey, source="prior.csv")
    assert survey.to_json() == before
    assert (summary.collection, summary.title) == (survey.id, "Survey")
    assert summary.guarantee is not None
    assert summary.promise == survey.privacy()
    rows = summary.guarantee.trust_models[len(survey.privacy().trust_models) :]
    assert [row.view for row in rows] == [f"one report and asks about {name}" for name in "abc"]
    assert [row.epsilon for row in rows] == [total.total.epsilon for total in summary.totals]
    assert {row.status for row in rows} == {"assumption"}
    assert all("the joint distribution of prior.csv" in row.note for row in rows)
    assert all(0 < total.total.epsilon <= 2 + 1e-9 for total in summary.totals)
    assert summary.prior_free == pytest.approx(2.0)
    assert {total.additive_figure_not_a_bound is None for total in summary.totals} == {cls is not SPL}
    text = printed(summary)
    assert text.endswith("\nGuarantee: epsilon = 2 for the whole contributor; odds change at most 7.39-fold\n")
    assert "asks about" not in text
    assert len(json.loads(json.dumps(summary.to_dict()))["guarantee"]["trust_models"]) == len(rows) + 2


def test_collections_of_one_attribute_and_of_other_mechanisms_are_refused() -> None:
    one = Collection(schema_of(("a",)), GRR(k=2, epsilon=1.0))
    with pytest.raises(
        InvalidParameterError,
        match=r"the collection has one attribute\. For every prior, the leakage about this attribute is epsilon = 1",
    ):
        summarize_collection(np.zeros((3, 1), dtype=int), one, source="x.csv")


# -------------------------------------------------------------------------------------------------- tables


def test_the_matrix_fits_the_terminal_or_gives_way() -> None:
    short = of_chain(5, ("a", "bb", "ccc", "dddd", "eeeee"))
    assert matrix_lines(short, 80)[0].split() == ["about", "↓", "a", "bb", "ccc", "dddd", "eeeee"]
    long = of_chain(8)
    lines = matrix_lines(long, 80)
    assert lines[0].split() == ["about", "↓", *map(str, range(1, 9))]
    assert lines[2].startswith("1 attribute_number_0")
    assert max(map(cell_len, lines)) <= 80
    wide = of_chain(14)
    assert matrix_lines(wide, 80) == []
    assert "too many pairs for a table" in printed(wide)
    assert max(map(cell_len, printed(wide).splitlines())) <= 80


def test_cells_of_the_table_are_the_matrix() -> None:
    summary = bald_and_male()
    rows = [line.split() for line in matrix_lines(summary, 80)[2:]]
    assert rows == [["bald", "-", f"{summary.matrix[0, 1]:.2f}"], ["male", f"{summary.matrix[1, 0]:.2f}", "-"]]


def test_a_target_has_a_list_of_sources_strongest_first() -> None:
    summary = of_chain(5, tuple("abcde"), target="c")
    lines = source_lines(summary, 80)
    values = [float(line.split()[1]) for line in lines[2:]]
    assert values == sorted(values, reverse=True)
    assert {line.split()[0] for line in lines[2:]} == set("abde")
    assert printed(summary).splitlines()[0] == "What this release leaks about c"
    assert "\nc  " in printed(summary)
    assert "\na  " not in printed(summary).split("Everything released together")[1]


def test_small_budgets_have_more_decimals() -> None:
    summary = summarize(chain(2), schema_of(("a", "b")), "0.01", source="x.csv", release="")
    assert summary.number(0.00123) == "0.0012"
    assert bald_and_male().number(0.5) == "0.50"


def test_what_figures_are_relative_to_is_always_said() -> None:
    for summary in (bald_and_male(), of_chain(5, target="attribute_number_2")):
        for output in (
            printed(summary),
            render_html(leakage_page(summary)),
            " ".join(texts(draw(leakage_page(summary)))),
        ):
            flat = " ".join(output.split())
            assert "This adversary knows how often every combination of answers occurs" in flat
            assert f"{summary.prior.records:,} records" in flat
            assert "For any prior, no total" in flat


# -------------------------------------------------------------------------------------------------- hostile labels


def hostile() -> LeakageSummary:
    labels = Schema(tuple(Attribute(name, ("yes", HOSTILE[0] + "\n")) for name in HOSTILE))
    records = chain(5)
    records[:, 4] = 0
    records[:2, 4] = 1
    return summarize(records, labels, 1.0, source="<b>\x1b.csv", release="each")


def test_labels_cannot_break_a_terminal() -> None:
    for summary in (hostile(), replace(hostile(), target=HOSTILE[3])):
        for line in printed(summary).splitlines():
            assert cell_len(line) <= 80, line
            assert line.isprintable() or line == ""


@pytest.mark.parametrize("target", [None, HOSTILE[3]])
def test_pages_are_well_formed_self_contained_and_escaped(target: str | None) -> None:
    page = render_html(leakage_page(replace(hostile(), target=target)))
    assert "<script" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert not re.search(r"(src|href)=|url\(|@import|https?://", page)
    assert "Content-Security-Policy" in page
    body = page[page.index("<body>") : page.index("</html>")]
    tree = ElementTree.fromstring(body.strip())
    inner = {part for svg in tree.iter("svg") for part in svg.iter("svg") if part is not svg}
    drawings = [svg for svg in tree.iter("svg") if svg not in inner and svg.get("aria-hidden") != "true"]
    assert len(drawings) >= 6
    for svg in drawings:
        assert svg.get("role") == "img"
        assert svg.get("aria-label")


def test_pictures_of_hostile_labels_are_drawn(tmp_path: Path) -> None:
    for number, summary in enumerate((hostile(), replace(hostile(), target=HOSTILE[3]))):
        save_png(leakage_page(summary), tmp_path / f"{number}.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.png", "1.png"]
    with pytest.raises(OutputError, match="cannot write"):
        save_png(leakage_page(hostile()), tmp_path / "absent" / "a.png")
    with pytest.raises(OutputError, match="cannot write"):
        save_html(leakage_page(hostile()), tmp_path / "absent" / "a.html")


# -------------------------------------------------------------------------------------------------- heat maps


def test_the_picture_has_the_matrix_with_zero_and_epsilon_as_ends() -> None:
    summary = of_chain(6)
    axes, totals = panels(draw(leakage_page(summary)))
    (bar,) = axes.child_axes
    (mesh,) = axes.collections
    drawn: Any = np.ma.asarray(mesh.get_array()).reshape(6, 6)
    assert np.ma.getmaskarray(drawn).tolist() == np.eye(6, dtype=bool).tolist()
    assert drawn.filled(0.0) == pytest.approx(summary.matrix)
    assert list(mesh.get_clim()) == pytest.approx([0, 1])
    assert [label.get_text() for label in bar.get_yticklabels()] == ["0.00", "0.25", "0.50", "0.75", "1.00"]
    assert axes.get_title(loc="left").startswith("↓ about\n→ released\n")
    assert to_hex(tuple(mesh.get_cmap().get_bad().tolist())) == OWN
    bars = [patch.get_width() for patch in totals.patches[6:]]  # type: ignore[attr-defined]
    assert bars == pytest.approx([total.total.epsilon for total in summary.totals])
    numbers = {text.get_position(): text.get_text() for text in axes.texts}
    assert numbers[(1.5, 0.5)] == f"{summary.matrix[0, 1]:.2f}".removeprefix("0")


def test_cells_carry_numbers_up_to_fifteen_attributes() -> None:
    for d, numbers in ((15, 15 * 14), (16, 0)):
        page = leakage_page(of_chain(d))
        assert len(panels(draw(page))[0].texts) == numbers
        assert len(re.findall(r">\d\.\d\d</text></g>", render_html(page))) == numbers


@pytest.mark.long
@pytest.mark.parametrize(("d", "target"), [(2, None), (7, None), (15, None), (40, None), (12, "attribute_number_3")])
def test_no_texts_of_a_picture_overlap(d: int, target: str | None) -> None:
    summary = of_chain(d, target=target)
    page = leakage_page(replace(summary, title="A long title of a survey " * 9))
    assert_nothing_overlaps(draw(page), least=2 * d)


def test_bars_of_a_target_are_what_each_attribute_says_about_it() -> None:
    summary = of_chain(5, target="attribute_number_2")
    axes, _ = panels(draw(leakage_page(summary)))
    bars = [patch.get_width() for patch in axes.patches[4:]]  # type: ignore[attr-defined]
    assert bars == pytest.approx(sorted(np.delete(summary.matrix[2], 2), reverse=True))
    assert list(axes.get_xlim()) == pytest.approx([0, 1])


def test_the_page_says_of_every_cell_what_it_means() -> None:
    summary = bald_and_male()
    page = render_html(leakage_page(summary))
    value = f"{summary.matrix[0, 1]:.2f}"
    cell = re.search(
        rf"<title>releasing male reveals up to {value} of a possible 1.00 about bald</title>(.*?)</g>", page
    )
    assert cell is not None
    assert f'fill="{shade(float(summary.matrix[0, 1]))}"' in cell[1]
    assert f">{value}</text>" in cell[1]
    assert page.count("its own release</title>") == 2


# -------------------------------------------------------------------------------------------------- the additive figure


@functools.cache
def additive_outputs() -> dict[str, str]:
    """Return all rendered outputs that contain the additive figure, or might."""
    schema = schema_of(("a", "b", "c"))
    summaries = [
        summarize(correlated(), schema, 1.0, source="x.csv", release="by any", target=target) for target in (None, "c")
    ]
    survey = Collection(schema, SPL(sizes=(2, 2, 2), epsilon=3.0))
    summaries.append(summarize_collection(correlated(), survey, source="x.csv"))
    wide = tuple(f"a{j}" for j in range(23))
    summaries.append(summarize(chain(23), schema_of(wide), [GRR(k=2, epsilon=1.0)] * 23, source="x", release=""))
    outputs = {}
    for number, summary in enumerate(summaries):
        outputs[f"{number} text"] = printed(summary)
        outputs[f"{number} json"] = json.dumps(summary.to_dict(), ensure_ascii=False)
        outputs[f"{number} html"] = render_html(leakage_page(summary))
        outputs[f"{number} png"] = "\n".join(texts(draw(leakage_page(summary))))
    criteria: tuple[Criterion, ...] = ("exact", "blocks", "prior-free", "additive")
    for criterion, tree in itertools.product(criteria, (False, True)):
        budgets = calibrate_records(
            correlated(), schema, 2, source="x.csv", mechanism=GRR, criterion=criterion, along_tree=tree
        )
        for kind, text in (
            ("text", printed(budgets)),
            ("json", json.dumps(budgets.to_dict(), ensure_ascii=False)),
            ("html", render_html(budgets_page(budgets))),
            ("png", "\n".join(texts(draw(budgets_page(budgets))))),
        ):
            outputs[f"{criterion} {tree} {kind}"] = text
    return outputs


def test_the_additive_figure_is_always_printed_under_its_name_and_never_as_a_guarantee() -> None:
    for where, output in additive_outputs().items():
        flat = re.sub(r"\s+", " ", re.sub(r'"criterion": "additive"', "", output))
        for found in re.finditer("additive", flat, re.IGNORECASE):
            assert flat[found.start() :].startswith(ADDITIVE_LABEL), (
                where,
                flat[found.start() - 60 : found.end() + 60],
            )
        for found in re.finditer(re.escape(ADDITIVE_LABEL), flat):
            around = flat[max(0, found.start() - 90) : found.end() + 90]
            assert not re.search(r"(?<!No )(?<!no )guarantee[ds]?\b", around.replace("is_guarantee", "")), (
                where,
                around,
            )
        shown = where[0].isdigit() or where.startswith("additive")
        assert (ADDITIVE_LABEL in flat) == shown, where


def test_the_additive_criterion_warns_in_every_output() -> None:
    for where, output in additive_outputs().items():
        if where.startswith("additive"):
            flat = " ".join(output.split())
            assert f"No guarantee: the {ADDITIVE_LABEL} can lie below the true total" in flat, where
            if where.endswith("text"):
                assert flat.index("WARNING") < flat.index("Released")
            if where.endswith("json"):
                assert json.loads(output)["is_guarantee"] is False


def numbers(value: Any, path: str = "") -> dict[str, float]:
    """Return all numbers in JSON data, by path."""
    if isinstance(value, dict):
        return {k: v for key, item in value.items() for k, v in numbers(item, f"{path}/{key}").items()}
    if isinstance(value, list):
        return {k: v for at, item in enumerate(value) for k, v in numbers(item, f"{path}/{at}").items()}
    return {path: float(value)} if isinstance(value, (int, float)) and not isinstance(value, bool) else {}


def test_the_value_of_the_additive_figure_occurs_under_its_name_only() -> None:
    schema = schema_of(("a", "b", "c"))
    summary = summarize(correlated(), schema, 1.0, source="x.csv", release="by any")
    for total in summary.totals:
        assert total.additive_figure_not_a_bound is not None
        assert total.total.epsilon > total.additive_figure_not_a_bound + 0.05
    data = [summary.to_dict(), calibrate_records(
        correlated(), schema, 2, source="x.csv", mechanism=GRR, criterion="additive"
    ).to_dict()]  # fmt: skip
    for document in data:
        found = numbers(document)
        labelled = {value for path, value in found.items() if path.endswith(ADDITIVE_LABEL)}
        assert len(labelled) == 3
        caps = {value for path, value in found.items() if path.endswith("/cap")}
        for path, value in found.items():
            if not path.endswith(ADDITIVE_LABEL) and value not in caps:
                assert all(abs(value - figure) > 1e-9 for figure in labelled), path


def test_no_leakage_with_a_status_carries_the_additive_figure() -> None:
    summary = summarize(correlated(), schema_of(("a", "b", "c")), 1.0, source="x.csv", release="by any")
    figures = [total.additive_figure_not_a_bound or 0.0 for total in summary.totals]
    assert min(figures) > 0
    for leakage in (leakage for total in summary.totals for leakage in (total.total, total.along_a_tree) if leakage):
        assert isinstance(leakage, Leakage)
        assert all(abs(leakage.epsilon - figure) > 1e-6 for figure in figures)


# -------------------------------------------------------------------------------------------------- budgets


def test_a_calibration_page_is_well_formed_and_escaped() -> None:
    names = HOSTILE[:3]
    summary = calibrate_records(
        correlated(), schema_of(names), 2, source="<i>.csv", mechanism=GRR, criterion="additive"
    )
    page = render_html(budgets_page(summary))
    assert "<script" not in page
    assert "<i>" not in page
    ElementTree.fromstring(page[page.index("<body>") : page.index("</html>")].strip())
    assert max(map(cell_len, printed(summary).splitlines())) <= 80


def test_numbers_of_bars_stand_beside_their_bars() -> None:
    rows = Table.of(["about", "leakage"], [["a", "b", "c"], ["1.25", "2.5", "3.75"]])
    chart = IntervalChart(rows, (Mark("bar", "leakage", np.array([1.25, 2.5, 3.75])),), "{:g}".format)
    figure = draw(Page("Budgets", (), (Section("By attribute", (chart,)),)))
    figure.draw_without_rendering()
    (axes,) = panels(figure)
    beside = {text.get_text(): text for text in axes.texts}
    for bar, number in zip(axes.patches, ("1.25", "2.5", "3.75"), strict=True):
        assert isinstance(bar, Rectangle)
        own, its = bar.get_window_extent(), beside[number].get_window_extent()
        assert its.x0 > axes.bbox.x1
        assert (its.y0 + its.y1) / 2 == pytest.approx((own.y0 + own.y1) / 2, abs=1.0)  # this is one pixel of 27

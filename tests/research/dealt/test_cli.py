"""Dealt shares on the command line: files for each actor, and refusals."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import N, Run, schema_text
from tests.cli.interrupting import interrupted, names
from tests.research.dealt.deals import collection


def few(rows: int, name: str = "few.csv") -> str:
    lines = Path("answers.csv").read_text().splitlines()
    Path(name).write_text("\n".join(lines[: rows + 1]) + "\n")
    return name


def randomize(run: Run, shares: str | Path, answers: str = "answers.csv", output: str = "reports.parquet") -> str:
    result = run("randomize", "survey.json", answers, "--allow-repeat", "--shares", shares, "-o", output)
    assert result.exit_code in (0, 2)
    return result.stderr


def test_whole_way_with_a_dealer(dealt: Run) -> None:
    assert "4,000 contributors have each spent epsilon = 1" in randomize(dealt, "shares")
    assert dealt("aggregate", "survey.json", "reports.parquet", "-o", "all.aggregate").exit_code == 0
    result = dealt("estimate", "survey.json", "all.aggregate", "--truth", "answers.csv", "--json")
    for row in json.loads(result.stdout)["attributes"][0]["categories"]:
        assert abs(row["estimate"] - row["truth"]) < 6 * row["standard_error"]
        # Without a dealer the standard error is .0152.
        assert row["standard_error"] < 0.01
        assert 0 <= row["lower"] < row["upper"] <= 1
    text = dealt("estimate", "survey.json", "all.aggregate", "--verbose").stdout
    assert "collector and dealer who sees all reports and all shares: epsilon = inf" in text
    assert "the dealer must not collude with the collector" in text


def test_the_dealer_alone_can_read_the_deal(dealt: Run) -> None:
    assert Path("shares").stat().st_mode & 0o077 == 0
    (file,) = Path("shares").glob("*.parquet")
    assert file.stat().st_mode & 0o077 == 0
    assert pq.read_table(file).column_names == ["contributor", "types"]
    # Neither the collection nor the reports contain a type.
    randomize(dealt, "shares")
    assert pq.read_table("reports.parquet").column_names == ["value", "collection"]


def test_two_collections_are_two_deals(quota: Run) -> None:
    assert quota(*collection(), "-o", "other.json").exit_code == 0
    one, other = (json.loads(Path(name).read_text()) for name in ("survey.json", "other.json"))
    assert one["mechanism"]["deal_id"] != other["mechanism"]["deal_id"]
    assert one["id"] != other["id"]
    assert quota("deal", "other.json", "--contributors", N, "-o", "others").exit_code == 0
    assert "contains shares of collection" in randomize(quota, "others")


def test_handing_out_takes_shares_from_the_dealer(dealt: Run) -> None:
    def hand_out(who: str, output: str) -> str:
        return dealt("hand-out", "survey.json", "shares", "--contributor", who, "-o", output).stderr

    assert "1 share left shares" in hand_out("17", "anna.parquet")
    assert "300 shares left shares" in hand_out("101-400", "clinic.parquet")
    table = pq.read_table("anna.parquet")
    assert table.column("contributor").to_pylist() == [17]
    assert Path("anna.parquet").stat().st_mode & 0o077 == 0
    (file,) = Path("shares").glob("*.parquet")
    left = pq.read_table(file).column("contributor").to_pylist()
    assert left == [i for i in range(1, N + 1) if i != 17 and not 101 <= i <= 400]
    assert "has no share for contributor 17: this share was handed out, or never dealt" in hand_out("17", "b.parquet")
    assert "has no share for contributor 101:" in hand_out("100-102", "b.parquet")
    assert f"has no share for contributor {N + 1:,}" in hand_out(f"{N}-{N + 1}", "b.parquet")
    assert "clinic.parquet exists" in hand_out("1", "clinic.parquet")
    assert "contributor must be a number, or a range such as 1-500, got contributor=“x”" in hand_out("x", "b.parquet")
    assert "the range of contributors must start at 1" in hand_out("5-4", "b.parquet")
    assert not Path("b.parquet").exists()
    assert "300 contributors have each spent" in randomize(dealt, "clinic.parquet", few(300))
    assert "1 contributors have each spent" in randomize(dealt, "anna.parquet", few(1), "one.parquet")


def test_all_shares_can_be_handed_out(dealt: Run) -> None:
    assert dealt("hand-out", "survey.json", "shares", "--contributor", f"1-{N}", "-o", "all.parquet").exit_code == 0
    assert "shares contains no shares: all shares were handed out" in randomize(dealt, "shares")
    assert "4,000 contributors" in randomize(dealt, "all.parquet")


def test_a_share_is_used_once(dealt: Run) -> None:
    dealt("hand-out", "survey.json", "shares", "--contributor", "1-10", "-o", "ten.parquet")
    assert "10 contributors" in randomize(dealt, "ten.parquet", few(10), "a.parquet")
    # Answers and output differ, so the refusal is about the used share.
    error = randomize(dealt, "ten.parquet", few(9, "nine.csv"), "b.parquet")
    assert "the share of contributor 1 in ten.parquet was already used (for a.parquet)" in error
    assert not Path("b.parquet").exists()
    # Nine of the remaining shares are used, then one of them again.
    assert "3,981 shares were not used: the answers have 9 rows" in randomize(dealt, "shares", "nine.csv", "c.parquet")
    assert "the share of contributor 11 in shares was already used" in randomize(
        dealt, "shares", "few.csv", "d.parquet"
    )
    used = dealt("hand-out", "survey.json", "shares", "--contributor", "19", "-o", "late.parquet")
    assert "the share of contributor 19 was already used (for c.parquet)" in used.stderr


def test_shares_are_missing_duplicated_or_none(dealt: Run) -> None:
    dealt("hand-out", "survey.json", "shares", "--contributor", "1-10", "-o", "ten.parquet")
    assert "ten.parquet contains only 10 shares: row 11 of the answers has no share" in randomize(
        dealt, "ten.parquet", few(11)
    )
    assert "there is no file nothing.parquet" in randomize(dealt, "nothing.parquet")
    assert "answers.csv is not a Parquet file" in randomize(dealt, "answers.csv")
    without = dealt("randomize", "survey.json", "answers.csv", "-o", "reports.parquet")
    assert "shares must be given, because QuotaRR needs one share for each contributor" in without.stderr
    table = pq.read_table("ten.parquet")
    pq.write_table(table.take([0, 1, 1, 2]), "twice.parquet")
    assert "but contributor 2 is listed twice or out of order" in randomize(dealt, "twice.parquet", few(3))
    Path("copies").mkdir()
    for name in "ab":
        pq.write_table(table, f"copies/{name}.parquet")
    assert "but contributor 1 is listed twice or out of order" in randomize(dealt, "copies", few(20))
    pq.write_table(table.replace_schema_metadata(None), "bare.parquet")
    assert "bare.parquet holds no shares" in randomize(dealt, "bare.parquet", few(3))
    assert not Path("reports.parquet").exists()
    # None of these refused runs used a share.
    assert "10 contributors" in randomize(dealt, "ten.parquet", few(10))


def test_a_mechanism_without_a_dealer_takes_no_shares(dealt: Run) -> None:
    dealt("collection", "--schema", "smoker.json", "--epsilon", "1", "-o", "plain.json")
    result = dealt("randomize", "plain.json", "answers.csv", "--shares", "shares", "-o", "reports.parquet")
    assert "shares must be left out, because GRR needs no dealer" in result.stderr
    result = dealt("deal", "plain.json", "--contributors", 5, "-o", "none")
    assert "the collection must have a mechanism with a dealer, got GRR" in result.stderr


def test_one_collection_is_dealt_once(dealt: Run) -> None:
    again = ("deal", "survey.json", "--contributors", N, "-o")
    assert "shares exists, but a deal needs a new directory" in dealt(*again, "shares").stderr
    assert "this collection was dealt before, to 4,000 contributors in shares" in dealt(*again, "second").stderr
    assert not Path("second").exists()
    result = dealt(*again, "second", "--allow-repeat")
    assert result.exit_code == 0
    assert "must not be used side by side" in result.stderr
    (file,) = Path("second").glob("*.parquet")
    file.rename("shares/second.parquet")
    assert "and shares/second.parquet contain shares of different runs of `deniable deal`" in randomize(dealt, "shares")


def test_another_number_of_contributors_is_refused(quota: Run) -> None:
    result = quota("deal", "survey.json", "--contributors", 10, "-o", "shares")
    assert result.exit_code == 2
    assert "n must be 4000, got n=10: the deal was made for 4000 contributors" in result.stderr
    assert not Path("shares").exists()
    assert (
        "cannot write absent/shares" in quota("deal", "survey.json", "--contributors", N, "-o", "absent/shares").stderr
    )


def test_several_deals_of_one_survey(dealt: Run) -> None:
    randomize(dealt, "shares")
    dealt("aggregate", "survey.json", "reports.parquet", "-o", "all.aggregate")
    assert dealt(*collection(500), "-o", "late.json").exit_code == 0
    dealt("deal", "late.json", "--contributors", 500, "-o", "late")
    dealt("randomize", "late.json", few(450), "--shares", "late", "-o", "late.parquet")
    dealt("aggregate", "late.json", "late.parquet", "-o", "late.aggregate")
    merged = dealt("merge", "all.aggregate", "late.aggregate", "-o", "both.aggregate")
    assert "cannot merge aggregates of different mechanisms: QuotaRR" in merged.stderr
    result = dealt("estimate", "survey.json", "all.aggregate", "--deal", "late.aggregate", "--json")
    data = json.loads(result.stdout)
    assert data["n"] == N + 450
    parts = [
        json.loads(dealt("estimate", survey, aggregate, "--json").stdout)["attributes"][0]["categories"][0]["estimate"]
        for survey, aggregate in (("survey.json", "all.aggregate"), ("late.json", "late.aggregate"))
    ]
    pooled = (N * parts[0] + 450 * parts[1]) / (N + 450)
    assert data["attributes"][0]["categories"][0]["estimate"] == pytest.approx(pooled, abs=1e-12)
    same = dealt("estimate", "survey.json", "all.aggregate", "--deal", "all.aggregate")
    assert "two aggregates belong to the same deal" in same.stderr
    dealt("collection", "--schema", "smoker.json", "--epsilon", "1", "-o", "plain.json")
    dealt("randomize", "plain.json", "answers.csv", "-o", "plain.parquet")
    dealt("aggregate", "plain.json", "plain.parquet", "-o", "plain.aggregate")
    other = dealt("estimate", "survey.json", "all.aggregate", "--deal", "plain.aggregate")
    assert other.exit_code == 2
    assert "must belong to the same survey" in other.stderr
    none = dealt("estimate", "plain.json", "plain.aggregate", "--deal", "all.aggregate")
    assert "several deals need a mechanism with a dealer, got GRR" in none.stderr


def test_an_interrupted_deal_leaves_nothing(quota: Run) -> None:
    before = names()
    result = interrupted("deal", "survey.json", "--contributors", str(N), "-o", "shares")
    assert result.returncode == 130
    assert result.stderr == "interrupted: nothing was written: no share exists\n"
    assert names() == before


def test_a_deal_that_cannot_be_written_leaves_nothing(quota: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    before = names()
    monkeypatch.setattr("deniable.research.dealt.files.shares.pq.write_table", full)
    result = quota("deal", "survey.json", "--contributors", N, "-o", "shares")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert names() == before


def test_an_interrupted_randomize_uses_no_share(dealt: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        # The failure comes after the shares were recorded as used, before the reports appear.
        patch.setattr("deniable.files.formats.reports._Digest.hexdigest", stop)
        result = dealt("randomize", "survey.json", "answers.csv", "--shares", "shares", "-o", "reports.parquet")
        assert result.exit_code == 130
    assert not Path("reports.parquet").exists()
    assert "4,000 contributors" in randomize(dealt, "shares")


def test_a_dealt_client_is_not_audited_alone(quota: Run) -> None:
    result = quota("audit", "survey.json")
    assert result.exit_code == 2
    assert "an audit runs a single client" in result.stderr


def test_a_plan_shows_what_a_dealer_would_buy(run: Run) -> None:
    text = run("plan", "--sizes", "2", "--epsilon", "0.5", "--contributors", "10000").stdout
    assert "  QuotaRR " in text
    assert "QuotaRR: needs a dealer who does not collude with the collector" in " ".join(text.split())
    assert text.rstrip().endswith("recommended: GRR")
    data = json.loads(run("plan", "--sizes", "2", "--epsilon", "0.5", "--contributors", "10000", "--json").stdout)
    assert [row["name"] for row in data["dealt"]] == ["QuotaRR", "JRR"]
    assert "JRR: epsilon = 0.5 only against who reads one report" in " ".join(text.split())
    assert data["recommended"] == "GRR"


@pytest.mark.parametrize(
    ("names_of", "mechanism", "settings"),
    [
        (("colour",), "QuotaUnary", (f"n={N}",)),
        (("smoker", "colour"), "QuotaRecords", (f"n={N}",)),
        (("colour",), "QuotaBatches", ("size=400", "batches=11")),
        (("colour",), "QuotaRR", (f"n={N}", "epsilon_aux=4")),
        (("smoker",), "JRR", (f"n={N}", "colluders=5")),
        (("smoker",), "ReportCoupledRR", (f"n={N}", "colluders=5")),
        (("colour",), "KaryJRR", (f"n={N}", "colluders=5")),
        (("colour",), "CoupledOUE", (f"n={N}", "colluders=5")),
    ],
)
def test_every_mechanism_with_a_dealer_goes_the_whole_way(
    run: Run, names_of: tuple[str, ...], mechanism: str, settings: tuple[str, ...]
) -> None:
    Path("asked.json").write_text(schema_text(*names_of))
    chosen = [word for setting in settings for word in ("--set", setting)]
    steps = (
        (
            "collection",
            "--schema",
            "asked.json",
            "--epsilon",
            2,
            "--mechanism",
            mechanism,
            *chosen,
            "-o",
            "survey.json",
        ),
        ("deal", "survey.json", "--contributors", N, "-o", "shares"),
        ("hand-out", "survey.json", "shares", "--contributor", f"1-{N - 1}", "-o", "most.parquet"),
        ("randomize", "survey.json", few(N - 1), "--shares", "most.parquet", "-o", "reports.parquet"),
        ("aggregate", "survey.json", "reports.parquet", "-o", "all.aggregate"),
        ("estimate", "survey.json", "all.aggregate", "--truth", "few.csv", "--json"),
    )
    for step in steps:
        result = run(*step)
        assert result.exit_code == 0, result.output
    attributes = json.loads(result.stdout)["attributes"]
    assert [attribute["attribute"] for attribute in attributes] == list(names_of)
    for row in (row for attribute in attributes for row in attribute["categories"]):
        # Six standard errors are exceeded once in five hundred million.
        assert abs(row["estimate"] - row["truth"]) < 6 * row["standard_error"]
        assert row["lower"] < row["upper"]


def test_two_categories_are_asked_of_joint_randomised_response(run: Run) -> None:
    Path("asked.json").write_text(schema_text("colour"))
    result = run(
        *("collection", "--schema", "asked.json", "--epsilon", 2, "--mechanism", "JRR"),
        *("--set", "n=100", "--set", "colluders=5", "-o", "survey.json"),
    )
    assert result.exit_code == 2
    assert "JRR works with an attribute with two categories, but the attribute of the schema has 4" in result.stderr


def test_what_is_handed_out_leaves_the_directory(dealt: Run) -> None:
    before = sorted(os.listdir("shares"))
    inside = dealt("hand-out", "survey.json", "shares", "--contributor", "1", "-o", "shares/one.parquet")
    assert inside.exit_code == 2
    assert (
        "shares/one.parquet must be outside shares, because shares that are handed out leave the deal" in inside.stderr
    )
    assert sorted(os.listdir("shares")) == before


def test_an_interrupted_hand_out_hands_no_share_out_twice(dealt: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    arguments = ("hand-out", "survey.json", "shares", "--contributor", "7-9", "-o")
    with monkeypatch.context() as patch:
        # The failure comes before the file for the contributors is complete, so nothing has left.
        patch.setattr("deniable.research.dealt.files.dealing.write_shares", stop)
        assert dealt(*arguments, "first.parquet").exit_code == 130
    with monkeypatch.context() as patch:
        # The failure comes after that: contributors have their shares, although the directory still holds them.
        patch.setattr("deniable.research.dealt.files.dealing._remove", stop)
        assert dealt(*arguments, "second.parquet").exit_code == 130
    assert Path("second.parquet").exists()
    message = "the share of contributor 7 was already used (for second.parquet)"
    assert message in dealt(*arguments, "third.parquet").stderr
    assert not Path("third.parquet").exists()

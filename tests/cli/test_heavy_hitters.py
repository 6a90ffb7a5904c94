"""Large dictionaries and open text on the command line: the whole workflow, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

from deniable import Collection, SimulationRandomness
from deniable.files import write_reports
from tests.cli.conftest import MadeOnce, Run, run_all

K, N = 3000, 20_000
COLLECTION = ("collection", "--attribute", "url", "--epsilon", "4")


@pytest.fixture
def dictionary(run: Run) -> Run:
    """words.txt of 3,000 words, answers.csv of 20,000 records, survey.json (epsilon 4)."""
    generator = np.random.default_rng(7)
    Path("words.txt").write_text("".join(f"page {i}\n" for i in range(K)))
    codes = generator.choice(4, N, p=[0.5, 0.3, 0.15, 0.05]) * 700
    Path("answers.csv").write_text("url\n" + "".join(f"page {code}\n" for code in codes))
    made = run(*COLLECTION, "--dictionary", "words.txt", "-o", "survey.json")
    assert made.exit_code == 0, made.output
    return run


@pytest.fixture
def counted(dictionary: Run, made_once: MadeOnce) -> Run:
    """The same survey after `randomize` and `aggregate` made all.aggregate."""
    made_once("counted", lambda: way(dictionary, "survey.json", "answers.csv"))
    return dictionary


@pytest.fixture
def hunt(run: Run, made_once: MadeOnce) -> Run:
    """hunt.json (epsilon 6), hunt.csv of 60,000 strings, all.aggregate."""
    words = ["lamp"] * 30_000 + ["naïve"] * 20_000 + [f"x{i}" for i in range(10_000)]
    Path("hunt.csv").write_text("url\n" + "\n".join(words) + "\n")
    made = run("collection", "--attribute", "url", "--epsilon", "6", "--heavy-hitters", "-o", "hunt.json")
    assert made.exit_code == 0, made.output
    made_once("hunt", lambda: way(run, "hunt.json", "hunt.csv"))
    return run


def way(run: Run, collection: str, answers: str) -> None:
    run_all(run, f"randomize {collection} {answers} -o r.parquet", f"aggregate {collection} r.parquet -o all.aggregate")


def refused(run: Run, message: str, *arguments: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("error: ") == 1
    assert message in result.stderr
    # The guarantee is printed before answers are read.
    assert result.stdout == "" or (arguments[0] == "randomize" and result.stdout.startswith("epsilon = "))


def rows(run: Run, *arguments: str) -> list[dict[str, Any]]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    (attribute,) = json.loads(result.stdout)["attributes"]
    return list(attribute["categories"])


# -------------------------------------------------------------------- dictionaries


def test_the_sketch_is_chosen_and_says_why(dictionary: Run) -> None:
    result = dictionary(*COLLECTION, "--dictionary", "words.txt", "-o", "survey.json")
    assert result.exit_code == 0
    assert "family=spread" in result.stdout
    assert "recommended: spread with m=" in result.stdout
    assert Path("survey.json").stat().st_size < 3000


def test_other_mechanisms_can_be_named(dictionary: Run) -> None:
    for options, expected in (
        (("--mechanism", "OCMS", "--set", "mode=mse"), "CMS"),
        (("--mechanism", "CMS[partition]"), "family=partition"),
        (("--mechanism", "GRR"), "GRR (k=3000"),
    ):
        result = dictionary(*COLLECTION, "--dictionary", "words.txt", *options, "-o", "other.json", "--force")
        assert result.exit_code == 0, result.output
        assert expected in result.stdout


def test_top_is_sorted_and_allows_for_the_selection(counted: Run) -> None:
    result = counted("estimate", "survey.json", "all.aggregate", "--top", "4", "--truth", "answers.csv")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    table = lines[lines.index("url") + 3 :]
    assert [line.split("  ")[0] for line in table[:4]] == ["page 0", "page 700", "page 1400", "page 2100"]
    assert table[4] == "and 2,996 categories with smaller estimates"
    text = " ".join(lines)
    assert "all 3,000 hold together" in text
    assert "The categories were selected by their estimates" in text
    assert max(map(cell_len, lines)) <= 80
    top = rows(counted, "estimate", "survey.json", "all.aggregate", "--top", "4", "--truth", "answers.csv")
    plain = {row["category"]: row for row in rows(counted, "estimate", "survey.json", "all.aggregate")}
    assert len(plain) == K
    for row in top:
        assert row["estimate"] == plain[row["category"]]["estimate"]
        assert row["lower"] < plain[row["category"]]["lower"]
        # Six standard errors are exceeded once in five hundred million.
        assert abs(row["estimate"] - row["truth"]) < 6 * row["standard_error"]


def test_pictures_and_pages_of_a_top_list(counted: Run) -> None:
    result = counted("estimate", "survey.json", "all.aggregate", "--top", "4", "--plot", "a.png", "--html", "a.html")
    assert result.exit_code == 0
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    page = Path("a.html").read_text()
    assert "page 2100" in page
    assert "the 4 largest, 2,996 categories with smaller estimates are not listed" in page
    assert "The categories were selected by their estimates" in page


def test_queries_are_words_or_a_file(counted: Run) -> None:
    Path("asked.txt").write_text("page 700\npage 5\n")
    by_file = rows(counted, "estimate", "survey.json", "all.aggregate", "--queries", "asked.txt")
    by_name = rows(counted, "estimate", "survey.json", "all.aggregate", "--queries", "page 700,page 5")
    assert by_file == by_name
    assert [row["category"] for row in by_file] == ["page 700", "page 5"]
    assert abs(by_file[0]["estimate"] - 0.3) < 0.05


def test_missing_and_other_answers_have_a_place_if_they_are_given_one(dictionary: Run) -> None:
    Path("odd.csv").write_text('url,n\npage 1,1\nunheard of,2\n"",3\n')
    again = ("randomize", "survey.json", "odd.csv", "-o", "odd.parquet")
    place = "words.txt; correct the answer, or add the word to that file and make the collection again"
    refused(dictionary, f"unknown word of attribute “url” in row 2: this word is not in {place}", *again)
    Path("odd.csv").write_text('url,n\npage 1,1\n"",3\n')
    place = "to accept missing answers, make the collection again with `deniable collection --missing WORD`"
    refused(dictionary, f"missing answer of attribute “url” in row 2; {place}", *again)
    Path("odd.csv").write_text('url,n\npage 1,1\nunheard of,2\n"",3\n')
    made = dictionary(
        *COLLECTION, "--dictionary", "words.txt", "--missing", "none", "--other", "else", "-o", "wide.json"
    )
    assert made.exit_code == 0
    assert dictionary("randomize", "wide.json", "odd.csv", "-o", "odd.parquet").exit_code == 0
    assert Collection.load("wide.json").schema.sizes == (K + 2,)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\na\n", "words.txt must contain every word once, got “a” in lines 1 and 3"),
        (b"a\n\nb\n", "but line 2 is empty"),
        (b"a\n", "words must have at least 2 entries"),
        (b"\xff\xfea\n", "words.txt must be UTF-8 text"),
    ],
)
def test_bad_dictionaries_are_refused(run: Run, content: bytes, message: str) -> None:
    Path("words.txt").write_bytes(content)
    refused(run, message, *COLLECTION, "--dictionary", "words.txt", "-o", "survey.json")
    assert not Path("survey.json").exists()


def test_every_command_needs_the_dictionary_that_was_published(counted: Run) -> None:
    commands = (
        ("randomize", "survey.json", "answers.csv", "-o", "other.parquet"),
        ("aggregate", "survey.json", "r.parquet", "-o", "other.aggregate"),
        ("estimate", "survey.json", "all.aggregate"),
    )
    with Path("words.txt").open("a") as file:
        file.write("one more\n")
    for arguments in commands:
        refused(counted, "words.txt must be the dictionary", *arguments)
    Path("words.txt").unlink()
    for arguments in commands:
        refused(counted, "there is no file words.txt: survey.json needs this dictionary", *arguments)


def test_a_collection_is_published_with_its_dictionary(dictionary: Run) -> None:
    Path("elsewhere").mkdir()
    message = "the dictionary words.txt must be in the same folder"
    refused(dictionary, message, *COLLECTION, "--dictionary", "words.txt", "-o", "elsewhere/survey.json")


def test_bad_questions_about_a_dictionary(counted: Run) -> None:
    estimate = ("estimate", "survey.json", "all.aggregate")
    refused(counted, "has no category “page 9999”", *estimate, "--queries", "page 1,page 9999")
    refused(counted, "got “page 1” twice", *estimate, "--queries", "page 1,page 1")
    refused(counted, "got an empty word", *estimate, "--queries", "page 1,")
    refused(counted, "top and queries cannot be used together", *estimate, "--queries", "page 1", "--top", "3")
    assert counted(*estimate, "--top", "0").exit_code == 2
    made = counted(*COLLECTION, "--dictionary", "words.txt", "--mechanism", "CMS[partition]", "-o", "other.json")
    assert made.exit_code == 0
    refused(counted, "the aggregate belongs to collection", "estimate", "other.json", "all.aggregate")


def test_what_is_asked_comes_from_one_place(dictionary: Run) -> None:
    end = ("-o", "new.json")
    one = "exactly one of --schema, --dictionary and --heavy-hitters must be given"
    refused(dictionary, one, *COLLECTION, *end)
    refused(dictionary, one, *COLLECTION, "--dictionary", "words.txt", "--heavy-hitters", *end)
    refused(dictionary, "attribute must name", "collection", "--epsilon", "1", "--dictionary", "words.txt", *end)
    refused(dictionary, "attribute must be left out with --schema", *COLLECTION, "--schema", "schema.json", *end)
    refused(dictionary, "leave out categories, edges and other", *COLLECTION, "--heavy-hitters", "--other", "x", *end)
    refused(
        dictionary,
        "choose another mechanism, such as HeavyHitters",
        *COLLECTION,
        "--heavy-hitters",
        "--mechanism",
        "GRR",
        *end,
    )
    listed = ("--dictionary", "words.txt", "--mechanism", "HeavyHitters")
    refused(dictionary, "choose another mechanism, such as GRR", *COLLECTION, *listed, *end)


def test_queries_need_a_collection_of_one_attribute(collected: Run) -> None:
    refused(
        collected,
        "queries need a collection with one attribute",
        "estimate",
        "survey.json",
        "all.aggregate",
        "--queries",
        "yes",
    )
    result = collected("estimate", "survey.json", "all.aggregate", "--top", "1")
    assert "and 1 categories with smaller estimates" in result.stdout
    assert "all 6 hold together" in result.stdout


# -------------------------------------------------------------------- invalid reports


def test_invalid_reports_are_refused_or_counted(dictionary: Run) -> None:
    survey = Collection.load("survey.json")
    rng = SimulationRandomness(1)
    reports = survey.randomize({"url": ["page 1"] * 50}, rng)
    reports[[4, 9]] = 2**32 - 1
    write_reports("hostile.parquet", survey, [reports], rng)
    aggregate = ("aggregate", "survey.json", "hostile.parquet", "-o", "all.aggregate")
    refused(dictionary, "hostile.parquet: report must be in 0..", *aggregate)
    assert not Path("all.aggregate").exists()
    result = dictionary(*aggregate, "--skip-invalid")
    assert result.exit_code == 0
    assert "warning: hostile.parquet: 2 invalid reports are not counted; the first: report must be in" in result.stderr
    assert "in row 5" in result.stderr
    assert "48 reports in 1 batch" in result.stderr


def test_a_mechanism_that_cannot_tell_is_named(collected: Run) -> None:
    refused(
        collected,
        "skipping invalid reports is not available for SMP",
        "aggregate",
        "survey.json",
        "r",
        "-o",
        "new.aggregate",
        "--skip-invalid",
    )


# -------------------------------------------------------------------- open text


def test_frequent_strings_are_found(hunt: Run) -> None:
    result = hunt("heavy-hitters", "hunt.json", "all.aggregate", "--truth", "hunt.csv", "--html", "a.html")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[-1].startswith("Guarantee: epsilon = 6 for the whole contributor")
    start = lines.index("url") + 1
    assert lines[start].endswith(" reports")
    assert [line.split()[0] for line in lines[start + 3 : start + 5]] == ["lamp", "naïve"]
    assert lines[start + 3].split()[-1].startswith("50.0")
    text = " ".join(lines)
    assert "The same reports were used to find the strings" in text
    assert "all 2,560,000 hold together" in text
    assert max(map(cell_len, lines)) <= 80
    assert "naïve" in Path("a.html").read_text()


def test_found_strings_as_json(hunt: Run) -> None:
    found = rows(hunt, "heavy-hitters", "hunt.json", "all.aggregate", "--truth", "hunt.csv")
    assert [row["category"] for row in found[:2]] == ["lamp", "naïve"]
    for row, truth in zip(found, (1 / 2, 1 / 3), strict=False):
        assert row["truth"] == pytest.approx(truth)
        assert row["lower"] < row["truth"] < row["upper"]
    assert len(rows(hunt, "heavy-hitters", "hunt.json", "all.aggregate", "--top", "1")) == 1
    asked = rows(hunt, "heavy-hitters", "hunt.json", "all.aggregate", "--queries", "nobody,lamp")
    assert [row["category"] for row in asked] == ["nobody", "lamp"]
    assert asked[1]["lower"] > found[0]["lower"]
    refused(hunt, "at most 8 bytes", "heavy-hitters", "hunt.json", "all.aggregate", "--queries", "lamp,lampshade")
    search = ("heavy-hitters", "hunt.json", "all.aggregate", "--queries", "nobody,lamp")
    for option in ("--threshold", "--top"):
        refused(hunt, f"{option} must be left out with --queries", *search, option, "5")


def test_a_high_threshold_finds_nothing(hunt: Run) -> None:
    result = hunt("heavy-hitters", "hunt.json", "all.aggregate", "--threshold", "10000", "--plot", "a.png")
    assert result.exit_code == 0
    assert "nothing found: no answer stands out from the noise" in result.stdout
    assert Path("a.png").exists()


def test_missing_strings_need_a_policy(run: Run) -> None:
    Path("few.csv").write_text('url,n\nlamp,1\n"",2\n')
    assert run(*COLLECTION, "--heavy-hitters", "-o", "strict.json").exit_code == 0
    refused(run, "missing answer of attribute “url” in row 2", "randomize", "strict.json", "few.csv", "-o", "r.parquet")
    assert run(*COLLECTION, "--heavy-hitters", "--missing", "(none)", "-o", "lax.json").exit_code == 0
    assert run("randomize", "lax.json", "few.csv", "-o", "r.parquet").exit_code == 0


def test_verbs_for_the_other_kind_of_collection_say_so(hunt: Run) -> None:
    refused(hunt, "use `deniable heavy-hitters`", "estimate", "hunt.json", "all.aggregate")
    refused(hunt, "open text", "leakage", "hunt.csv", "--collection", "hunt.json")
    refused(hunt, "open text", "audit", "hunt.json")
    made = hunt("collection", "--schema", "schema.json", "--epsilon", "1", "-o", "survey.json")
    assert made.exit_code == 0
    refused(hunt, "use `deniable estimate --top 50`", "heavy-hitters", "survey.json", "all.aggregate")
    made = hunt(*COLLECTION, "--heavy-hitters", "-o", "other.json")
    assert made.exit_code == 0
    refused(hunt, "the aggregate belongs to collection", "heavy-hitters", "other.json", "all.aggregate")
    refused(hunt, "threshold must be > 0", "heavy-hitters", "hunt.json", "all.aggregate", "--threshold", "0")

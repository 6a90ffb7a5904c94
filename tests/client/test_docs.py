"""Statements of docs/client.md about the client are true."""

import json
import re
from pathlib import Path

import pytest

from deniable import GRR
from deniable.errors import InvalidParameterError
from deniable.service.survey_page import (
    INTERFACE_KEYS,
    LANGUAGES,
    PLACES,
    SurveyPage,
    draft_page,
    read_page,
    unfinished,
)
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")


def english() -> dict[str, str]:
    """Return the page's own sentences by their keys."""
    text = (ROOT / "client" / "src" / "text.ts").read_text(encoding="utf-8")
    return {key: json.loads(said) for key, said in re.findall(r'^  (\w+): ("(?:[^"\\]|\\.)*"),$', text, re.M)}


def table() -> str:
    """Return the table of sentences on the page."""
    said = english().items()
    rows = [f"| `{key}` | {words} | {'yes' if key in INTERFACE_KEYS else ''} |" for key, words in said]
    return "\n".join(["| key | in English | can be replaced |", "|---|---|---|", *rows])


def free() -> dict[str, set[str]]:
    """Return the keys that a survey document may replace in the client, with their placeholders."""
    text = (ROOT / "client" / "src" / "free.ts").read_text(encoding="utf-8")
    listed = re.findall(r"^    (\w+): \[(.*)\],$", text, re.M)
    return {key: set(re.findall(r'"(\{\w+\})"', places)) for key, places in listed}


def test_the_page_lists_the_words_of_the_interface() -> None:
    assert len(english()) > 50
    assert table() in PAGE
    assert sorted(free()) == sorted(INTERFACE_KEYS)
    # These placeholders are filled in where a document may word a sentence. Another placeholder in braces is refused.
    filled = {key: set(re.findall(r"\{\w+\}", words)) for key, words in english().items() if key in INTERFACE_KEYS}
    assert {key: places for key, places in filled.items() if places} == PLACES
    assert free() == filled


def test_sentences_of_the_second_file_are_there_in_every_language() -> None:
    said = json.loads((ROOT / "client" / "src" / "further" / "sentences.json").read_text(encoding="utf-8"))
    assert sorted(said) == sorted(
        {"en", *(path.stem for path in (ROOT / "client" / "src" / "languages").glob("*.json"))}
    )
    filled = {key: sorted(re.findall(r"\{\w+\}", words)) for key, words in said["en"].items()}
    for language in said.values():
        assert {key: sorted(re.findall(r"\{\w+\}", words)) for key, words in language.items()} == filled
        assert all(language.values())


GUARDED = """
promise checked weak swaps mixes stop hundred flipped correct factor sure suppose before after takesSingle takesAll
takesOne takesTwo takesEither takesHidden options seesAll seesOne seesTwo address keepsSum keepsReports rest repeats
tick still step range pressSingle pressAll pressOne pressTwo pressEither pressHidden send later stays ready wait kept
ask counted sent points nothing everyAnswer times yes no madeOne madeTwo madeHidden made chance chanceDrawn oneIn
others everyAnswer bytes receipt epsilon sum stateCounted previewed previewedNote wouldSend left mark markDraws onceOnly
secondNote leaveUnsent shared tampered differs cannot
"""


def test_the_screens_that_a_program_can_find_out_are_listed() -> None:
    source = (ROOT / "client" / "src" / "page.ts").read_text(encoding="utf-8")
    shown = set(re.findall(r'\bend\("(\w+)"', source)) | {"welcome", "question", "review", "offline", "busy", "refused"}
    listed = re.search(r"The names are (.*?)\n\n", PAGE, re.S)
    assert listed
    assert set(re.findall(r"`(\w+)`", listed[1])) == shown


def test_what_states_the_guarantee_cannot_be_replaced() -> None:
    asked = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=4.0))
    page = json.loads(draft_page(asked).to_json())
    for key in GUARDED.split():
        assert key in english()
        page["languages"]["en"]["interface"] = {key: "Checked in this browser: epsilon 0.1."}
        with pytest.raises(InvalidParameterError, match=f"interface must not have the key “{key}”; leave this key out"):
            read_page(json.dumps(page), "page.json", asked)
    for key, said in (("contact", "{constructor}"), ("agree", "Yes {contact}.")):
        page["languages"]["en"]["interface"] = {key: said}
        with pytest.raises(InvalidParameterError, match="because it has no value here"):
            read_page(json.dumps(page), "page.json", asked)
    page["languages"]["en"]["interface"] = {"agree": "Yes, I do."}
    assert read_page(json.dumps(page), "page.json", asked).languages["en"].interface == {"agree": "Yes, I do."}


@pytest.mark.parametrize("tag", LANGUAGES[1:])
def test_all_sentences_ship_in_a_language(tag: str) -> None:
    """Their placeholders must be the same: a sentence without its number would say less."""
    asked = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=1.0))
    drafted = read_page(draft_page(asked, languages=("en", tag)).to_json(), "page.json", asked)
    assert list(drafted.languages) == ["en", tag]
    assert [words.interface for words in drafted.languages.values()] == [{}, {}]
    words = json.loads((ROOT / "client" / "src" / "languages" / f"{tag}.json").read_text(encoding="utf-8"))
    said = english()
    assert set(words) == set(said)
    places = re.compile(r"\{\w+\}")
    for key, sentence in words.items():
        assert sorted(places.findall(sentence)) == sorted(places.findall(said[key])), key
        assert sentence == sentence.strip(), key
        # A sentence that is the same in English is a name, or a word that both languages have.
        assert sentence != said[key] or key in ("epsilon", "questions", "no", "sum"), key
        # Bold text is bold in every language.
        assert sentence.count("*") == said[key].count("*"), key
    assert drafted.languages[tag].thanks != drafted.languages["en"].thanks
    assert unfinished(drafted) == "languages.en.intro"


def test_of_other_languages_no_page_is_drafted() -> None:
    asked = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=1.0))
    with pytest.raises(InvalidParameterError, match="language must be one of en, de, fr, es, ar, got language=“it”"):
        draft_page(asked, languages=("it",))
    assert isinstance(draft_page(asked, languages=("ar",)), SurveyPage)


def test_the_survey_is_embedded_in_five_lines() -> None:
    (example,) = re.findall(r"```html\n(.*?)```", PAGE, re.S)
    assert len(example.strip().splitlines()) == 5


if __name__ == "__main__":
    before, _, rest = PAGE.partition("<!-- interface -->\n")
    after = rest[rest.index("\n## Measured") :]
    (ROOT / "docs" / "client.md").write_text(f"{before}<!-- interface -->\n\n{table()}\n{after}", encoding="utf-8")

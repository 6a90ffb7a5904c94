"""Dictionaries in files, and the schemas and collections that refer to them; open text."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from deniable import GRR, CountMeanSketch, HeavyHitters, SimulationRandomness
from deniable.errors import (
    FileFormatError,
    InvalidInputError,
    InvalidParameterError,
    MismatchError,
    OutputError,
    UnknownCategoryError,
)
from deniable.survey.attribute import Attribute
from deniable.survey.collection import Collection
from deniable.survey.dictionary import Dictionary
from deniable.survey.dictionary_file import DictionaryFile, read_dictionary, read_lines
from deniable.survey.schema import Schema
from tests.unit.survey.conftest import WORDS


def collection(path: Path) -> Collection:
    attribute = Attribute.from_dictionary("word", path)
    return Collection(Schema((attribute,)), CountMeanSketch(k=attribute.k, epsilon=1.0, family="spread"))


# -------------------------------------------------------------------- the file


def test_lines_are_words_exactly(words: Path) -> None:
    assert read_dictionary(words).words == WORDS
    content = b"".join(len(word.encode()).to_bytes(8, "little") + word.encode() for word in WORDS)
    assert read_dictionary(words).digest == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("content", ["\ufeffa\r\nb\u2028c\x0bd\r\n", "a\nb\u2028c\x0bd", "\ufeffa\nb\u2028c\x0bd\r\n"])
def test_line_ends_and_byte_order_mark_do_not_matter(tmp_path: Path, content: str) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(content.encode())
    assert read_lines(path) == ("a", "b\u2028c\x0bd")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\nc\nb\na\n", "must contain every word once, got “b” in lines 2 and 4"),
        (b"a\n\nb\n", "must have a word in every line, but line 2 is empty"),
        (b"a\nb\n\n", "but line 3 is empty"),
        (b"", "but line 1 is empty"),
        (b"a\n", "words must have at least 2 entries, got 1"),
        (b"a\n\xff\n", "must be UTF-8 text, but byte 3 is 0xff, which is not UTF-8"),
    ],
)
def test_bad_dictionaries_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=message):
        read_dictionary(path)


@pytest.mark.parametrize("name", ["", "..", "a/b", "/etc/passwd", "a\\b"])
def test_a_document_cannot_point_elsewhere(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="must be the name of a file"):
        DictionaryFile(name, Dictionary(("a", "b")))
    reference = {"name": "word", "dictionary": {"file": name, "k": 2, "digest": ""}}
    text = json.dumps({"format": "deniable schema", "format_version": 1, "attributes": [reference]})
    with pytest.raises(FileFormatError, match=r"^s\.json: file of a dictionary must be the name of a file"):
        Schema.from_json(text, "s.json", tmp_path)


# -------------------------------------------------------------------- attributes


def test_words_are_text_and_never_numbers(words: Path) -> None:
    attribute = Attribute.from_dictionary("word", words, missing="none", other="another")
    schema = Schema((attribute,))
    answers = ["naïve", "3.0", "3", "3.00", None, "", " blue ", "blue", "red"]
    assert schema.encode({"word": answers})[:, 0].tolist() == [5, 3, 2, 7, 6, 6, 4, 7, 0]
    assert attribute.labels == (*WORDS, "none", "another")
    assert attribute.codes(["another", "3"]).tolist() == [7, 2]
    assert schema.decode(np.array([[5], [6]])).to_pydict() == {"word": ["naïve", "none"]}


def test_an_unknown_word_is_named_without_the_whole_dictionary(words: Path) -> None:
    schema = Schema((Attribute.from_dictionary("word", words),))
    with pytest.raises(UnknownCategoryError, match=r"unknown word of attribute “word” in row 2: .*not in words"):
        schema.encode({"word": ["red", "gren"]})
    with pytest.raises(UnknownCategoryError, match="attribute “word” has no category “gren”"):
        schema.attributes[0].codes(["red", "gren"])


# -------------------------------------------------------------------- documents


def test_a_collection_refers_to_its_dictionary(words: Path, tmp_path: Path) -> None:
    survey = collection(words)
    survey.save(tmp_path / "survey.json")
    stored = json.loads((tmp_path / "survey.json").read_text())["schema"]["attributes"]
    reference = {"file": "words.txt", "k": 6, "digest": Dictionary(WORDS).digest}
    assert stored == [{"name": "word", "dictionary": reference}]
    loaded = Collection.load(tmp_path / "survey.json")
    assert loaded == survey
    assert loaded.id == survey.id
    survey.schema.save(tmp_path / "schema.json")
    assert Schema.load(tmp_path / "schema.json") == survey.schema


def test_the_id_covers_the_words(words: Path) -> None:
    before = collection(words).id
    words.write_text("\n".join(reversed(WORDS)))
    assert collection(words).id != before


def test_missing_and_changed_dictionaries_are_refused(words: Path, tmp_path: Path) -> None:
    collection(words).save(tmp_path / "survey.json")
    expected = Dictionary(WORDS).digest
    words.write_text("\n".join(reversed(WORDS)))
    found = Dictionary(WORDS[::-1]).digest
    with pytest.raises(
        FileFormatError,
        match=rf"words\.txt must be the dictionary .* 6 words with digest {expected}, got 6 .*{found}; use the",
    ):
        Collection.load(tmp_path / "survey.json")
    words.unlink()
    with pytest.raises(FileFormatError, match=rf"words\.txt: .*survey\.json needs this dictionary .*{expected}"):
        Collection.load(tmp_path / "survey.json")


def test_documents_are_written_beside_their_dictionary_only(words: Path, tmp_path: Path) -> None:
    survey = collection(words)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with pytest.raises(OutputError, match="must be in the same folder"):
        survey.save(elsewhere / "survey.json")
    (elsewhere / "words.txt").write_text("other\nwords\n")
    with pytest.raises(OutputError, match="is a different dictionary"):
        survey.schema.save(elsewhere / "schema.json")
    assert {path.name for path in elsewhere.iterdir()} == {"words.txt"}


# -------------------------------------------------------------------- open text


def test_open_text_reaches_the_mechanism_as_it_is(tmp_path: Path) -> None:
    schema = Schema((Attribute("word", missing="(none)", text=True),))
    assert schema.encode({"word": ["b", None, "", "b"]}).tolist() == [["b"], ["(none)"], ["(none)"], ["b"]]
    assert schema.encode({"word": [30, 4]}).tolist() == [["30"], ["4"]]
    hunt = Collection(schema, HeavyHitters(epsilon=6.0, max_bytes=4))
    reports = hunt.randomize({"word": ["lamp"] * 30_000 + [None] * 30_000}, SimulationRandomness(1))
    found = hunt.estimate(hunt.aggregate(reports), threshold=5.0)["word"]
    # "(none)" is longer than the four bytes that are searched.
    assert set(found.labels) == {"lamp", "(non"}
    assert np.abs(found.frequencies - 0.5).max() < 6 * found.standard_errors.max()
    hunt.save(tmp_path / "hunt.json")
    assert Collection.load(tmp_path / "hunt.json") == hunt


def test_open_text_is_checked() -> None:
    schema = Schema((Attribute("word", text=True),))
    assert (schema.sizes, schema.is_text, schema.attributes[0].labels) == ((0,), True, ())
    with pytest.raises(InvalidInputError, match=r"missing answer of attribute “word” in row 12"):
        schema.encode({"word": ["a", "b", ""]}, first_row=10)
    with pytest.raises(InvalidInputError, match=r"attribute “word” in row 11 must not contain the character NUL"):
        schema.encode({"word": ["a", "a\0b"]}, first_row=10)
    with pytest.raises(InvalidInputError, match="open text"):
        schema.decode(np.zeros((1, 1), dtype=np.int64))
    with pytest.raises(MismatchError, match="numbers of categories"):
        Collection(schema, GRR(k=2, epsilon=1.0))
    with pytest.raises(MismatchError, match="numbers of categories"):
        Collection(Schema((Attribute("word", ("a", "b")),)), HeavyHitters(epsilon=1.0))

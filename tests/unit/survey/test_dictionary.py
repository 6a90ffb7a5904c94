from __future__ import annotations

import hashlib
import pickle
from typing import Any

import numpy as np
import pytest

from deniable import CountMeanSketch, SimulationRandomness
from deniable.errors import InvalidInputError, InvalidParameterError, UnknownCategoryError
from deniable.survey.dictionary import Dictionary, fingerprint

WORDS = ("red", "green", "blue", "", "Ünïcode", "red ")


def test_codes_are_places() -> None:
    dictionary = Dictionary(WORDS)
    assert dictionary.k == 6
    assert dictionary.codes(["blue", "red", "", "blue"]).tolist() == [2, 0, 3, 2]
    assert dictionary.codes([]).shape == (0,)
    assert dictionary.codes(word for word in ("red ", "red")).tolist() == [5, 0]
    assert dictionary.words_of(np.array([4, 2])) == ("Ünïcode", "blue")
    assert dictionary == Dictionary(list(WORDS)) == pickle.loads(pickle.dumps(dictionary))  # type: ignore[arg-type]
    assert hash(dictionary) == hash(Dictionary(WORDS))
    assert dictionary != Dictionary(WORDS[::-1])


def test_the_digest_is_of_the_words_and_their_order() -> None:
    content = b"".join(len(w.encode()).to_bytes(8, "little") + w.encode() for w in WORDS)
    assert Dictionary(WORDS).digest == hashlib.sha256(content).hexdigest()
    digests = {Dictionary(words).digest for words in (("ab", "c"), ("a", "bc"), ("c", "ab"), ("ab", "c", ""))}
    assert len(digests) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a", "b", "c", "b", "a"), "words must be distinct, got “b” in rows 2 and 4"),
        (("a",), "words must have at least 2 entries, got 1"),
        ((), "words must have at least 2 entries, got 0"),
        ("ab", "words must be a sequence of strings, got str"),
        (("a", 3), "words must be Unicode text, got 3 in row 2"),
        (("a", "b\ud800"), r"words must be Unicode text, got “b\\ud800” in row 2"),
    ],
)
def test_bad_dictionaries_are_named(words: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Dictionary(words)


def test_queries_outside_the_dictionary_are_named() -> None:
    dictionary = Dictionary(WORDS)
    with pytest.raises(
        UnknownCategoryError, match="every word must be in the dictionary of 6 words, but the word in row 3 is not"
    ):
        dictionary.codes(["red", "blue", "Red", "also not"])
    for odd in (None, ["red"], 0):
        with pytest.raises(UnknownCategoryError, match="in row 2"):
            dictionary.codes(["red", odd])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match=r"words must be a list of strings, got a single str$"):
        dictionary.codes("red")
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.5, got something else in row 2"):
        dictionary.words_of([0, 6])


def test_words_through_a_sketch() -> None:
    dictionary = Dictionary(tuple(f"word {i}" for i in range(3000)))
    sketch = CountMeanSketch(dictionary.k, 4.0, family="spread")
    held = dictionary.codes(["word 17"] * 900 + ["word 2999"] * 100)
    asked = ["word 2999", "word 17", "word 0"]
    aggregate = sketch.aggregate(sketch.randomize(held, SimulationRandomness(3)))
    estimate = sketch.estimate(aggregate, queries=dictionary.codes(asked)).named("word", asked)
    assert estimate.labels == tuple(asked)
    # Six standard errors are exceeded with 2e-9 each, two-sided.
    assert (np.abs(estimate.frequencies - [0.1, 0.9, 0.0]) < 6 * estimate.standard_errors).all()
    assert estimate.standard_errors.max() < 0.04


def test_fingerprints_are_keyed_blake2b() -> None:
    """BLAKE2b-64 keyed, read little-endian; the first is RFC 7693's function by another call of hashlib."""
    texts, key = ["red", "", "Ünïcode"], bytes(range(32))
    expected = [
        int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8, key=key).digest(), "little") for text in texts
    ]
    assert fingerprint(texts, key).tolist() == expected
    assert fingerprint(texts, key).dtype == np.uint64
    # This is a literal, so that fingerprints stay those of published collections.
    assert fingerprint(["red", "green"], b"colours, 2026").tolist() == [460955519491917312, 12764628955807076506]
    assert not set(fingerprint(texts, key).tolist()) & set(fingerprint(texts, b"another").tolist())
    assert fingerprint([], key).shape == (0,)


@pytest.mark.parametrize(
    ("texts", "key", "error", "message"),
    [
        (["a"], b"", InvalidParameterError, "key must be 1 to 64 bytes, got 0 bytes"),
        (["a"], bytes(65), InvalidParameterError, "got 65 bytes"),
        (["a"], "text", InvalidParameterError, "got str"),
        (["a", 5], b"k", InvalidInputError, "texts must be Unicode strings, got int in row 2"),
        (["\udfff"], b"k", InvalidInputError, "in row 1"),
        ("red", b"k", InvalidInputError, "must be a list of strings"),
    ],
)
def test_bad_fingerprints_are_named(texts: Any, key: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fingerprint(texts, key)

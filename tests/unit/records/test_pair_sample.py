"""PairSample: the exact construction of a report, and its guarantee."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import SimulationRandomness
from deniable.core.spec import from_spec, to_spec
from deniable.core.thresholds import SCALE
from deniable.errors import FileFormatError, InvalidParameterError, InvalidReportError, MismatchError, TooLargeError
from deniable.oracles.subset import SubsetSelection
from deniable.postprocess import iterative_bayes
from deniable.records.pair_sample import PairSample
from deniable.testing import laws

VECTORS = Path(__file__).parents[2] / "vectors" / "pair_sample.json"

SETTINGS = [
    ((2, 2), 1.0, "0"),
    ((2, 3), 0.5, "0.25"),
    ((2, 2, 2), 2.0, "0"),
    ((2, 2, 2), 1.0, "1/3"),
    ((3, 4), 0.3, "0"),
]


class Words:
    """A source that returns listed words and counts them."""

    def __init__(self, words: list[int]) -> None:
        self.left = list(words)

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Fill an array with the next words."""
        words[:] = np.array(self.left[: words.size], dtype=np.uint64).reshape(words.shape)
        del self.left[: words.size]


@pytest.mark.parametrize(("sizes", "epsilon", "singles"), SETTINGS)
def test_the_channel_is_the_statement_in_rationals(sizes: tuple[int, ...], epsilon: float, singles: str) -> None:
    """P(choice) times subset selection of that choice's code, enumerated here from the thresholds alone."""
    mechanism = PairSample(sizes, epsilon, singles)
    d, beta = len(sizes), Fraction(math.floor(Fraction(singles) * SCALE), SCALE)
    pairs = list(itertools.combinations(range(d), 2))
    choices: list[tuple[int, ...]] = [*pairs, *((j,) for j in range(d))] if beta else list(pairs)
    expected = []
    for record in itertools.product(*map(range, sizes)):
        row = []
        for choice in choices:
            k = math.prod(sizes[j] for j in choice)
            code = record[choice[0]] if len(choice) == 1 else record[choice[0]] * sizes[choice[1]] + record[choice[1]]
            oracle = SubsetSelection(k, epsilon)
            omega = oracle.outputs().shape[1]
            p, _ = oracle.support_probabilities
            share = beta / d if len(choice) == 1 else (1 - beta) / len(pairs)
            for subset in itertools.combinations(range(k), omega):
                inside = p / math.comb(k - 1, omega - 1)
                row.append(share * (inside if code in subset else (1 - p) / math.comb(k - 1, omega)))
        expected.append(row)
    channel = mechanism.channel(exact=True)
    assert np.array_equal(channel, np.array(expected, dtype=object))
    assert all(sum(row) == 1 for row in channel)
    largest = max(
        SubsetSelection(math.prod(sizes[j] for j in choice), epsilon).implemented_ratio() for choice in choices
    )
    assert laws.channel_ratio(channel) == mechanism.implemented_ratio() == largest
    assert epsilon - 1e-9 < mechanism.implemented_epsilon() <= epsilon


@pytest.mark.parametrize(("sizes", "epsilon", "singles"), SETTINGS[1:4])
def test_the_ratio_of_one_attribute_is_exact(sizes: tuple[int, ...], epsilon: float, singles: str) -> None:
    mechanism = PairSample(sizes, epsilon, singles)
    channel = mechanism.channel(exact=True).reshape(*sizes, -1)
    for j in range(len(sizes)):
        moved = np.moveaxis(channel, j, 0)
        worst = max(max(high / low for high, low in zip(a.flat, b.flat, strict=True)) for a in moved for b in moved)
        assert worst == mechanism.implemented_attribute_ratio(j)


def reference(spec: dict[str, Any], record: list[int], words: list[int]) -> tuple[int, list[int]]:
    """Make one report as the docstring of `PairSample` says, but for the subset, which is drawn from the words left."""
    sizes, left = spec["sizes"], list(words)
    d, threshold = len(sizes), math.floor(Fraction(spec["singles"]) * SCALE)
    alone = left.pop(0) < threshold if threshold else False
    options = d if alone else d * (d - 1) // 2
    word = left.pop(0)
    while (word * options) % SCALE < SCALE % options:
        word = left.pop(0)
    choice = word * options // SCALE
    if alone:
        k, code, omega = sizes[choice], record[choice], spec["oracles"][choice]["omega"]
    else:
        i, j = list(itertools.combinations(range(d), 2))[choice]
        k, code, omega = sizes[i] * sizes[j], record[i] * sizes[j] + record[j], spec["omegas"][choice]
    subset = SubsetSelection(k, spec["epsilon"], omega).randomize([code], Words(left))
    return choice + (d * (d - 1) // 2 if alone else 0), list(subset.astype(subset.dtype.newbyteorder("<")).tobytes())


@pytest.mark.parametrize("entry", json.loads(VECTORS.read_text()), ids=lambda entry: entry["name"])
def test_one_report_is_made_of_these_words(entry: dict[str, Any]) -> None:
    """The word order that clients in other languages share, forever: listed words, one report."""
    words = [int(word, 16) for word in entry["words"]]
    source = Words(words)
    report = from_spec(entry["mechanism"]).randomize([entry["record"]], source)
    assert (int(report.choice[0]), report.payload[0].tolist()) == (entry["choice"], entry["payload"])
    assert len(words) - len(source.left) == entry["words_used"]
    choice, payload = reference(entry["mechanism"], entry["record"], words)
    assert choice == entry["choice"]
    assert payload == entry["payload"][: len(payload)]
    assert not any(entry["payload"][len(payload) :])


def test_choices_are_as_probable_as_stated() -> None:
    """Chi-squared of a batch's choices, one shared by pairs and attributes; a pair drawn among d would show at once."""
    mechanism, n = PairSample((2, 3, 2, 5), 1.0, "0.3"), 60_000
    choices = mechanism.randomize(np.zeros((n, 4), dtype=int), SimulationRandomness(3)).choice
    law = np.array([float(share) for share in mechanism.choice_probabilities])
    assert law.sum() == pytest.approx(1, abs=1e-15)
    assert laws.chi_squared(np.bincount(choices, minlength=10), n * law) > 1e-6


def test_a_batch_and_its_contributors_one_by_one_have_one_law() -> None:
    """Codes of rows, sorted by kind of oracle, come back in their rows: what a row says does not leave it."""
    mechanism, rng = PairSample((2, 3, 5), 20.0, "0.5"), SimulationRandomness(9)
    records = np.stack([rng.generator.integers(0, k, 5000) for k in (2, 3, 5)], axis=1)
    reports = mechanism.randomize(records, rng)
    for choice, part in enumerate(mechanism.parts):
        rows = np.flatnonzero(reports.choice == choice)
        subsets = mechanism.chosen(reports, choice)
        held = mechanism.code(records[rows], choice)
        assert len(rows) > 200
        assert np.mean((subsets == held[:, None]).any(axis=1)) > 0.999, part
    assert mechanism.reported_attribute(reports).tolist() == np.array([-1, -1, -1, 0, 1, 2])[reports.choice].tolist()
    with pytest.raises(InvalidParameterError, match="choice must be <= 5, got choice=6"):
        mechanism.chosen(reports, 6)


def test_the_state_is_additive_and_refuses_what_cannot_be() -> None:
    mechanism = PairSample((2, 3, 2), 1.0, "0.25")
    reports = mechanism.randomize(np.zeros((300, 3), dtype=int), SimulationRandomness(2))
    aggregate = mechanism.aggregate(reports)
    assert mechanism.state_size == 6 + 4 + 6 + 2 + 3 + 2 + 6
    assert aggregate.counts[-6:].tolist() == np.bincount(reports.choice, minlength=6).tolist()
    for choice, count in ((6, 0), (1, 99)):
        damaged = reports._replace(choice=reports.choice.copy(), payload=reports.payload.copy())
        if choice == 6:
            damaged.choice[17] = choice
        else:
            damaged.payload[17] = count
        with pytest.raises(InvalidReportError, match="row 18"):
            mechanism.aggregate(damaged)


def test_bad_parameters_are_named_with_what_helps() -> None:
    with pytest.raises(InvalidParameterError, match="at least two attributes"):
        PairSample((4,), 1.0)
    with pytest.raises(
        TooLargeError, match=r"4,096 cells, got 65 x 64 for attributes 2 and 1: give these attributes fewer"
    ):
        PairSample((2, 64, 65), 1.0)
    with pytest.raises(TooLargeError, match="at most 256 attributes, got 4096"):
        PairSample((2,) * 4096, 1.0)
    with pytest.raises(TooLargeError, match="all pairs must have at most"):
        PairSample((64,) * 60, 1.0)
    for singles in (1, -0.1, "1.5", "much", None):
        with pytest.raises(InvalidParameterError, match="singles must be"):
            PairSample((2, 2), 1.0, singles)
    with pytest.raises(InvalidParameterError, match=r"oracles\[1\] must have k=3 and epsilon=1.0"):
        PairSample((2, 3), 1.0, "0.5", (SubsetSelection(2, 1.0), SubsetSelection(4, 1.0)))
    given: Any
    for given in (3, "3", b"3", {3}):
        with pytest.raises(InvalidParameterError, match="omegas must be a sequence of integers"):
            PairSample((2, 3), 1.0, omegas=given)
    with pytest.raises(InvalidParameterError, match=r"omegas\[0\] must be <= 5"):
        PairSample((2, 3), 1.0, omegas=(6,))
    spec = to_spec(PairSample((2, 3), 1.0))
    with pytest.raises(FileFormatError, match="omegas is missing"):
        from_spec({**spec, "omegas": []})
    mechanism = PairSample((2, 3), 1.0)
    with pytest.raises(MismatchError, match="needs counts of every possible report"):
        iterative_bayes(mechanism, mechanism.aggregate(mechanism.randomize([[0, 0]], SimulationRandomness(1))))

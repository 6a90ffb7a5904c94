"""Unknown dictionaries: the search finds frequent strings, counts them without bias, and refuses nonsense."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import deniable as dn
from deniable.core.spec import from_spec, to_spec
from deniable.errors import (
    EmptyAggregateError,
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
    MismatchError,
)
from deniable.oracles.sketch.heavy_hitters import HeavyHitters, PrefixReports


def _zipf_strings(n: int, words: int, seed: int) -> tuple[list[str], dict[str, float]]:
    """Return n strings of 3..8 letters, frequencies proportional to rank^-1.2, and the true frequencies."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    dictionary = sorted({"".join(rng.choice(letters, rng.integers(3, 9))) for _ in range(words)})
    rng.shuffle(dictionary)
    weights = 1 / np.arange(1, len(dictionary) + 1) ** 1.2
    counts = rng.multinomial(n, weights / weights.sum())
    texts = [word for word, count in zip(dictionary, counts, strict=True) for _ in range(count)]
    return texts, {word: count / n for word, count in zip(dictionary, counts, strict=True)}


def test_recall_and_precision_on_zipf_strings() -> None:
    """Strings above 6 standard errors are found; strings below 2 are not; nearly all intervals contain the truth.

    A string at 6 standard errors misses one of 7 thresholds of 4 with probability below 7 x .023 (normal). Few strings
    are that low, so that the recall must be at least .9. A string below 2 is taken with probability .023.
    """
    texts, truth = _zipf_strings(300_000, 5_000, seed=1)
    hunt = HeavyHitters(epsilon=4.0)
    aggregate = hunt.aggregate(hunt.randomize(texts, dn.SimulationRandomness(2)))
    found = hunt.estimate(aggregate)
    spread = found.standard_errors.min()
    heavy = {word for word, frequency in truth.items() if frequency > 6 * spread}
    assert len(heavy) >= 10
    assert len(heavy & set(found.labels)) >= 0.9 * len(heavy)
    assert all(truth.get(word, 0.0) > 2 * spread for word in found.labels)
    lower, upper = found.interval(0.999)
    assert all(low <= truth[word] <= high for word, low, high in zip(found.labels, lower, upper, strict=True))
    assert list(found.frequencies) == sorted(found.frequencies, reverse=True)


def test_the_search_begins_with_every_text_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are padded with zero bytes, which nothing follows. So 2^16 - 255 prefixes of two bytes are texts."""
    begun: list[NDArray[np.uint8]] = []
    honest = HeavyHitters._support

    def support(self: HeavyHitters, aggregate: Any, level: int, prefixes: NDArray[np.uint8]) -> Any:
        begun.append(prefixes)
        return honest(self, aggregate, level, prefixes)

    monkeypatch.setattr(HeavyHitters, "_support", support)
    hunt = HeavyHitters(epsilon=1.0, max_bytes=3)
    hunt.estimate(hunt.aggregate(hunt.randomize(["a"], dn.SimulationRandomness(1))))
    codes = begun[0].astype(int) @ [256, 1]
    assert codes.tolist() == [code for code in range(1 << 16) if code == 0 or code > 255]


def test_given_strings_are_counted_without_bias() -> None:
    """Mean over seeded collections against the truth: |z| below 5.3 for 3 strings, family-wise error 3.5e-7."""
    texts = ["yes"] * 600 + ["no"] * 300 + ["naïve"] * 100
    hunt = HeavyHitters(epsilon=3.0, max_bytes=6)
    asked = ["yes", "naïve", "nobody"]
    estimates = [
        hunt.estimate(hunt.aggregate(hunt.randomize(texts, dn.SimulationRandomness(seed))), asked)
        for seed in range(200)
    ]
    values = np.array([estimate.frequencies for estimate in estimates])
    # Groups are small here (100 reports of 1000). So it also adds noise which contributors are sampled to report the
    # longest prefix.
    z = (values.mean(axis=0) - [0.6, 0.1, 0.0]) / (values.std(axis=0, ddof=1) / np.sqrt(len(values)))
    assert (np.abs(z) < 5.3).all()
    assert estimates[0].labels == ("yes", "naïve", "nobody")


def test_folds_are_linear_and_differ_from_group_to_group() -> None:
    hunt = HeavyHitters(epsilon=1.0, max_bytes=5)
    rng = np.random.default_rng(3)
    first, second = (rng.integers(0, 256, size=(500, 5), dtype=np.uint8) for _ in range(2))
    folds: list[NDArray[np.int64]] = []
    for group in range(hunt.groups):
        a, b, both = (hunt.fold(rows, group) for rows in (first, second, first ^ second))
        assert ((a ^ b) == both).all()
        assert 0 <= a.min() <= a.max() < 1 << 16
        folds.append(a)
    # Two bytes can be told apart. Longer prefixes have two unrelated folds.
    assert (folds[0] == folds[1]).all()
    assert len(np.unique(hunt.fold(np.array([[a, b] for a in range(256) for b in range(256)], np.uint8), 0))) == 1 << 16
    assert all((folds[g] != folds[g + 1]).mean() > 0.99 for g in range(2, hunt.groups, 2))


def test_a_string_that_shares_one_fold_with_a_heavy_one_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """All contributors hold one string; without the agreement of the two folds, impostors appear."""
    hunt = HeavyHitters(epsilon=6.0, max_bytes=4)
    aggregate = hunt.aggregate(hunt.randomize(["gold"] * 60_000, dn.SimulationRandomness(4)))
    assert hunt.estimate(aggregate).labels == ("gold",)
    sure = np.ones
    monkeypatch.setattr(HeavyHitters, "_agreement", lambda _self, support, *_rest: sure(len(support), dtype=bool))
    monkeypatch.setattr(HeavyHitters, "fold", lambda self, rows, group: _narrow(self, rows, group))
    assert len(hunt.estimate(hunt.aggregate(hunt.randomize(["gold"] * 60_000, dn.SimulationRandomness(4)))).labels) > 1


def _narrow(hunt: HeavyHitters, rows: Any, group: int) -> NDArray[np.int64]:
    """Return a fold to 5 bits for longer prefixes, so that strings often share folds."""
    folded = np.zeros(len(rows), dtype=np.int64)
    for place, table in enumerate(hunt._tables[group]):
        folded ^= table[rows[:, place]]
    return folded if group < 2 else folded & 31


def test_the_report_hides_the_string_and_shows_the_group() -> None:
    hunt = HeavyHitters(epsilon=1.0)
    assert hunt.implemented_ratio() == hunt.sketch.implemented_ratio()
    assert 0.999999 < hunt.implemented_epsilon() <= 1.0 + 1e-15
    assert "prefix length" in str(hunt.privacy())


def test_merging_and_files_and_specification() -> None:
    hunt = HeavyHitters(epsilon=2.0, max_bytes=4, seed=5)
    texts = ["abc", "abd", "xyz"] * 50
    reports = hunt.randomize(texts, dn.SimulationRandomness(1))
    whole = hunt.aggregate(reports)
    parts = [hunt.aggregate(PrefixReports(*(field[rows] for field in reports))) for rows in (slice(1), slice(1, None))]
    assert parts[0] + parts[1] == whole
    assert whole + dn.Aggregate.empty(hunt) == whole
    assert from_spec(json.loads(json.dumps(to_spec(hunt)))) == hunt
    assert whole.counts[-hunt.groups :].sum() == whole.n == 150


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, "epsilon must be > 0"),
        ({"epsilon": 1.0, "max_bytes": 2}, "max_bytes must be >= 3"),
        ({"epsilon": 1.0, "fold_bits": 25}, "fold_bits must be <= 24"),
        ({"epsilon": 1.0, "seed": -1}, "seed must be >= 0"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        HeavyHitters(**parameters)


def test_bad_input_is_named() -> None:
    hunt = HeavyHitters(epsilon=1.0, max_bytes=3)
    rng = dn.SimulationRandomness(1)
    wrong: Any
    for wrong, message in (
        (["a", None], r"got NoneType in row 2"),
        (["a\0b"], "NUL"),
        (["\ud800"], "Unicode text"),
        ("abc", "sequence of strings"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            hunt.randomize(wrong, rng)
    reports = hunt.randomize(["abc"] * 20, rng)
    with pytest.raises(InvalidReportError, match=r"group must be in 0\.\.3, got group=9 in row 1"):
        hunt.aggregate(PrefixReports(np.full(20, 9, dtype=np.uint8), reports.value))
    with pytest.raises(InvalidReportError, match="row 1"):
        hunt.aggregate(PrefixReports(reports.group, np.full(20, 2**32 - 1, dtype=reports.value.dtype)))
    with pytest.raises(InvalidReportError, match="the same length"):
        hunt.aggregate(PrefixReports(reports.group, reports.value[:3]))
    aggregate = hunt.aggregate(reports)
    with pytest.raises(InvalidParameterError, match="threshold must be > 0"):
        hunt.estimate(aggregate, threshold=0)
    with pytest.raises(EmptyAggregateError):
        hunt.estimate(dn.Aggregate.empty(hunt))
    with pytest.raises(MismatchError):
        hunt.estimate(dn.Aggregate.empty(HeavyHitters(epsilon=2.0)))


def test_nothing_frequent_gives_an_empty_list() -> None:
    hunt = HeavyHitters(epsilon=0.1, max_bytes=3)
    found = hunt.estimate(hunt.aggregate(hunt.randomize(["a", "b", "c"] * 5, dn.SimulationRandomness(1))))
    assert found.k == 0
    assert found.to_arrow().num_rows == 0
    # The number is at least the 2^16 first prefixes, and 256 bytes after each prefix that was kept.
    assert found.looked_at == 256 * 10_000
    assert hunt.estimate(hunt.aggregate(hunt.randomize(["a"], dn.SimulationRandomness(1))), ["a"]).looked_at == 0


def test_strings_are_encoded_together_as_they_are_one_by_one() -> None:
    texts = ["", "a", "éééé", "日本語", "exactly8", "more than eight", "", "x" * 40]
    one_by_one = [list(text.encode()[:8].ljust(8, b"\0")) for text in texts]
    hitters = HeavyHitters(1.0)
    assert hitters.encode(texts).tolist() == one_by_one
    many: Any = np.array(texts * 20, dtype=object)
    assert hitters.encode(many).tolist() == one_by_one * 20
    assert hitters.encode([]).shape == (0, 8)
    wrong: list[tuple[Any, str]] = [
        (["a", "\0", 3], "NUL, but the string in row 2 contains it"),
        (["a", 3, "\0"], "got int in row 2"),
    ]
    for given, message in wrong:
        with pytest.raises(InvalidInputError, match=message):
            hitters.encode(given)

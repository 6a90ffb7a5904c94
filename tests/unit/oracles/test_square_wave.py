"""The square wave: exact privacy for all windows, the words of one report, and weights that invert the channel."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import SimulationRandomness
from deniable.core.construction import mechanism
from deniable.core.spec import from_spec, to_spec
from deniable.core.thresholds import SCALE, exact, spent
from deniable.errors import BrokenLawError, InvalidParameterError
from deniable.oracles.square_wave import SquareWave, Wave, make_wave, mean_window, randomize_wave
from deniable.testing import laws

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "ordered.json").read_text())
EVERY_WINDOW = [(k, window) for k in range(2, 9) for window in range(k + 1)]


class Recorded:
    """Words of a client, in order."""

    def __init__(self, *words: int) -> None:
        self.words: Iterator[int] = iter(words)

    def fill(self, words: NDArray[np.uint64]) -> None:
        for i in range(len(words)):
            words[i] = next(self.words)


# ---------------------------------------------------------------- the channel


@pytest.mark.parametrize("epsilon", [0.35, 2.0])
def test_every_window_is_exactly_private_and_its_weights_undo_it_exactly(epsilon: float) -> None:
    for k, window in EVERY_WINDOW:
        wave = SquareWave(k, epsilon, window)
        laws.rows_sum_to_one(wave)
        laws.ratio_keeps_the_budget(wave, epsilon)
        assert wave.state_size == k + 2 * window
        channel = wave.channel(exact=True)
        for scores in ([Fraction(x * x - 3, 7) for x in range(k)], [Fraction(x <= 1) for x in range(k)]):
            undone = channel @ wave.gls_weights(scores, exact=True)
            assert undone.tolist() == scores


@pytest.mark.parametrize("setting", VECTORS["thresholds"])
def test_thresholds_are_those_of_independent_code(setting: str) -> None:
    (k, epsilon, window), expected = setting.split(","), VECTORS["thresholds"][setting]
    wave = SquareWave(int(k), Fraction(epsilon), int(window))
    assert wave.implemented_ratio() == Fraction(expected["ratio_max"])
    channel = wave.channel(exact=True)
    assert channel[0, -1] == Fraction(expected["far"], SCALE)
    assert channel[0, 0] == Fraction(expected["near_total"], wave.wave.width * SCALE)


def test_windows_of_the_paper_are_those_of_independent_code() -> None:
    for setting, window in VECTORS["windows"].items():
        k, epsilon = setting.split(",")
        assert SquareWave(int(k), epsilon, "paper").window == window, setting
    # e^t - 1 - t cancels in floats here. The limit of the formula is half the domain.
    assert SquareWave(256, 1e-6, "paper").window == 127


def test_the_window_for_means_is_the_best_of_all_and_the_specification_states_it() -> None:
    for k, epsilon in ((5, 0.5), (7, 1.0), (12, 3.0)):
        scores = np.arange(k) / (k - 1)
        variances = []
        for window in range(k + 1):
            wave = SquareWave(k, epsilon, window)
            channel, weights = wave.channel(), _dense_weights(wave.channel(), scores)
            variances.append(float((channel @ weights**2 - scores**2).mean()))
        best = SquareWave(k, epsilon).window
        assert best == int(np.argmin(variances)) == mean_window(k, spent(exact(epsilon)))
        assert min(variances) < variances[0]
        spec = to_spec(SquareWave(k, epsilon))
        assert spec["window"] == best
        assert from_spec(spec) == SquareWave(k, epsilon)


def _dense_weights(channel: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return W = D^-1 P'(P D^-1 P')^-1 c, as printed."""
    scaled = channel / channel.mean(axis=0)
    found: NDArray[np.float64] = scaled.T @ np.linalg.solve(scaled @ channel.T, scores)
    return found


@pytest.mark.parametrize(("k", "window"), [(2, 0), (2, 2), (6, 1), (6, 4), (9, 9), (16, 7)])
def test_weights_are_those_of_the_dense_formula(k: int, window: int) -> None:
    wave, scores = SquareWave(k, 0.8, window), np.sqrt(np.arange(k))
    expected = _dense_weights(wave.channel(), scores)
    assert np.abs(wave.gls_weights(scores) - expected).max() < 1e-11 * np.abs(expected).max()


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: f"k={case['k']}")
def test_the_mean_is_that_of_independent_code(case: dict[str, Any]) -> None:
    counts = np.array(case["counts"])
    weights = SquareWave(case["k"], case["epsilon"], case["b"]).gls_weights(np.linspace(0, 1, case["k"]))
    assert weights == pytest.approx(case["gls_mean_weights"], abs=1e-9)
    n, mean = counts.sum(), weights @ counts / counts.sum()
    assert mean == pytest.approx(case["mean"], abs=1e-12)
    assert np.sqrt((weights**2 @ counts / n - mean**2) / n) == pytest.approx(case["mean_se"], rel=1e-12)


def test_thousands_of_codes_agree_with_the_channel_in_blocks() -> None:
    wave = SquareWave(600, 1.0, 1500 // 5)
    f = np.linspace(1, 2, 600) / np.linspace(1, 2, 600).sum()
    scores = np.sin(np.arange(600))
    weights, law = wave.gls_weights(scores), f @ wave.channel()
    exact_variance = law @ weights**2 - f @ scores**2
    assert wave.linear_variance(scores, f, 1) == pytest.approx(exact_variance, rel=1e-10)
    assert scores @ wave.covariance(f, 1) @ scores == pytest.approx(exact_variance, rel=1e-8)


# ---------------------------------------------------------------- the words of one report


def test_the_words_of_one_report_are_frozen() -> None:
    wave = SquareWave(5, 1.0, 1)
    far = 1517645295935836686
    lies = 4 * far
    near = (SCALE - lies) // 3
    assert (SCALE - lies) % 3 == 1  # one word is left over
    fresh = SCALE // 3
    recorded = [
        # The columns are code, words and report.
        (0, (0,), 3),
        (0, (far - 1,), 3),
        (0, (far,), 4),
        (0, (lies - 1,), 6),
        (2, (0,), 0),
        (2, (2 * far - 1,), 1),
        (2, (2 * far,), 5),
        (2, (lies - 1,), 6),
        (4, (lies - 1,), 3),
        (4, (lies,), 4),
        (2, (lies,), 2),
        (2, (lies + near - 1,), 2),
        (2, (lies + near,), 3),
        (2, (lies + 2 * near,), 4),
        (2, (SCALE - 2,), 4),
        (2, (SCALE - 1, 0), 2),
        (2, (SCALE - 1, 2 * fresh), 4),
        (2, (SCALE - 1, SCALE - 1, fresh), 3),
    ]
    for code, words, report in recorded:
        source = Recorded(*words)
        assert wave.randomize([code], source).tolist() == [report], (code, words)
        assert list(source.words) == []


def test_a_window_of_zero_is_randomized_response() -> None:
    wave = SquareWave(2, 20.0, 0)  # the only stretch of near words does not fit a signed integer
    far = round(wave.channel(exact=True)[0, 1] * SCALE)
    for code, word, report in ((0, 0, 1), (0, far - 1, 1), (0, far, 0), (1, SCALE - 1, 1), (1, far - 1, 0)):
        assert wave.randomize([code], Recorded(word)).tolist() == [report]


def test_compiled_and_interpreted_loops_make_the_same_reports() -> None:
    rng = np.random.default_rng(3)
    for k, window, epsilon in ((2, 0, 20.0), (7, 3, 0.5), (4096, 4096, 1.0), (4096, 0, 1e-6), (300, 40, 4.0)):
        wave = SquareWave(k, epsilon, window)
        far = int(wave.channel(exact=True)[0, -1] * SCALE) if k < 500 else int(wave.exact_wave.far * SCALE)
        near = (SCALE - (k - 1) * far) // wave.wave.width
        codes = rng.integers(0, k, 4000)
        edges = [(j * far + d) % SCALE for j in range(1, min(k, 400)) for d in (-1, 0)]
        edges += [((k - 1) * far + j * near + d) % SCALE for j in range(min(wave.wave.width, 400) + 1) for d in (-1, 0)]
        words = np.array([*edges, *map(int, rng.integers(0, SCALE, 4000 - len(edges), dtype=np.uint64))], np.uint64)
        made = np.empty((2, 4000), dtype=np.uint16)
        left = randomize_wave.compiled(codes, words, np.uint64(far), np.uint64(near), k, window, made[0])
        with np.errstate(over="ignore"):
            again = randomize_wave.interpreted(codes, words, np.uint64(far), np.uint64(near), k, window, made[1])
        assert left == again
        assert (made[0] == made[1]).all()
        for code, word, report in zip(codes.tolist(), words.tolist(), made[0].tolist(), strict=True):
            if word < (k - 1) * far:
                j = word // far
                assert report == (j if j < code else j + 2 * window + 1)
            else:
                assert report == code + min((word - (k - 1) * far) // near, 2 * window)


# ---------------------------------------------------------------- estimates


def test_means_and_distribution_of_an_estimate_are_the_weighted_sums_of_its_reports() -> None:
    wave, truth = SquareWave(16, 1.0), np.arange(1, 17) * 500
    aggregate = wave.simulate_aggregate(truth, SimulationRandomness(5))
    estimate = wave.estimate(aggregate)
    for scores in (np.arange(16.0), (np.arange(16) <= 6).astype(float)):
        assert estimate.frequencies @ scores == pytest.approx(
            wave.gls_weights(scores) @ aggregate.counts / aggregate.n, abs=1e-12
        )
    assert estimate.frequencies.sum() == pytest.approx(1, abs=1e-12)


def test_standard_errors_come_from_the_reports() -> None:
    wave = SquareWave(8, 1.0)
    # All answers are at one end, so the average noise over the scale differs.
    truth = np.array([40_000, 0, 0, 0, 0, 0, 0, 0])
    aggregate = wave.simulate_aggregate(truth, SimulationRandomness(5))
    expected = np.sqrt(np.diag(wave.covariance(truth / truth.sum(), aggregate.n)))
    assert wave.estimate(aggregate).standard_errors == pytest.approx(expected, rel=0.02)
    few = wave.estimate(wave.aggregate(np.array([3], dtype=np.uint8)))
    assert np.isfinite(few.standard_errors).all()


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"k": 4097}, "k must be <= 4096 for a square wave, got k=4097: coarsen"),
        ({"k": 1}, "k must be >= 2"),
        ({"window": "wide"}, 'window must be "mean", "paper" or an integer in 0..8'),
        ({"window": 9}, "window must be <= 8, got window=9"),
        ({"window": -1}, "window must be >= 0"),
        ({"window": 1.5}, "window must be an integer"),
        ({"epsilon": 0}, "epsilon must be > 0"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidParameterError, match=says):
        SquareWave(**{"k": 8, "epsilon": 1.0, **parameters})


def test_it_is_found_by_its_names() -> None:
    assert mechanism("square wave", k=8, epsilon=1.0) == mechanism("SW", k=8, epsilon=1.0) == SquareWave(8, 1.0)


# ---------------------------------------------------------------- mutants


def _mutant(monkeypatch: pytest.MonkeyPatch, **members: Any) -> SquareWave:
    for name, member in members.items():
        monkeypatch.setattr(Wave, name, member)
    return SquareWave(5, 1.0, 2)


def test_a_window_of_2b_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    def narrow(self: Wave) -> Any:
        x, y = np.arange(self.k)[:, None], np.arange(self.outputs)
        return np.where((x <= y) & (y < x + 2 * self.window), self.near, self.far)

    with pytest.raises(BrokenLawError, match="sums to"):
        laws.rows_sum_to_one(_mutant(monkeypatch, channel=narrow))


def test_an_output_range_of_one_less_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    shorter = property(lambda self: self.k + 2 * self.window - 1)
    with pytest.raises(BrokenLawError):
        laws.rows_sum_to_one(_mutant(monkeypatch, outputs=shorter))


def test_weights_of_another_window_die(monkeypatch: pytest.MonkeyPatch) -> None:
    weights, other = Wave.weights, make_wave(5, 1, spent(exact(1.0)))
    wave = _mutant(monkeypatch, weights=lambda _, c: np.pad(weights(other, c), ((0, 0), (1, 1)), mode="edge"))
    with pytest.raises(BrokenLawError, match="has mean"):
        laws.unbiased(wave)

"""Empirical audit: a lower confidence bound on the epsilon of anything that randomises.

A mechanism's source may be wrong, and another person's client may not be what it claims. Any client can be run. A
client is not epsilon-private if an event S (a set of reports) is more than e^epsilon times likelier under input x than
under x'. Half of the reports choose the event for every pair of inputs. The other half bounds the event's two
probabilities (Clopper and Pearson 1934), with a Bonferroni correction over pairs and bounds. So the bound holds with
probability 1 - alpha for every mechanism. An audit can refute a claim, but it can never confirm a claim.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from deniable.core.checks import checked_integer, checked_probability
from deniable.core.randomness import Randomness
from deniable.core.result import Result
from deniable.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
    TooLargeError,
    out_of_range,
    quoted,
)
from deniable.oracles.oracle import FrequencyOracle, is_oracle

Counts = NDArray[np.int64]


Labels: TypeAlias = Callable[[Any], NDArray[np.integer[Any]]]
"""Function of a caller's own events. It turns a batch of n reports into labels int[n], each in 0..4095."""


MAX_LABELS = 4096
"""Most distinct labels that an audit counts."""


def features(mechanism: FrequencyOracle[Any], reports: Any) -> NDArray[np.uint8]:
    """Return what every report says about every value, as small levels uint8[n, k] (`support_levels`).

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import OUE
    >>> features(OUE(k=3, epsilon=1.0), np.array([[0b101]], dtype=np.uint8))
    array([[1, 0, 1]], dtype=uint8)
    """
    return mechanism.support_levels(reports, np.arange(mechanism.k))


def event_probability(mechanism: FrequencyOracle[Any]) -> float | None:
    """Return the probability, under input x, of the event that tells x from another input best; None if not known."""
    return None if mechanism.support_law is None else mechanism.support_law.telling()


class Reader(ABC):
    """Counts the labels of batches of reports, and hands the counts out pair by pair."""

    @abstractmethod
    def count(self, reports: Any, owners: NDArray[np.int64]) -> None:
        """Add a batch of n reports; owners int[n] are the positions of their inputs."""

    @abstractmethod
    def pairs(self, x: int) -> tuple[Counts, Counts]:
        """Return label counts under input x and under every x', both int64[inputs, labels]."""

    @abstractmethod
    def describe(self, event: NDArray[np.bool_], pair: tuple[Any, Any]) -> str:
        """Say in words which reports are in an event bool[labels]."""


@final
class LabelReader(Reader):
    """Reads reports through a function to labels; by default an integer report is its own label."""

    def __init__(self, inputs: int, labels: Labels | None = None) -> None:
        self._labels = labels
        self._counts = np.zeros((inputs, 1), dtype=np.int64)

    def count(self, reports: Any, owners: NDArray[np.int64]) -> None:
        labels = np.asarray(self._labels(reports) if self._labels else reports)
        if labels.shape != owners.shape or not np.issubdtype(labels.dtype, np.integer):
            raise InvalidReportError(
                f"the labels of reports must be integers of shape ({len(owners)},), got dtype={labels.dtype}, "
                f"shape={labels.shape}: pass reports_of (the mechanism that made the reports), or events (a function "
                "that gives each report a label)"
            )
        low, high = int(labels.min()), int(labels.max())
        if low < 0 or high >= MAX_LABELS:
            raise InvalidReportError(
                f"labels of reports must be in 0..{MAX_LABELS - 1}, got {low if low < 0 else high}: pass events (a "
                "function that groups the reports)"
            )
        if high >= self._counts.shape[1]:
            self._counts = np.pad(self._counts, ((0, 0), (0, high + 1 - self._counts.shape[1])))
        width = self._counts.shape[1]
        cells = np.bincount(owners * width + labels, minlength=self._counts.size)
        self._counts += cells.reshape(self._counts.shape)

    def pairs(self, x: int) -> tuple[Counts, Counts]:
        return np.broadcast_to(self._counts[x], self._counts.shape), self._counts

    def describe(self, event: NDArray[np.bool_], pair: tuple[Any, Any]) -> str:  # noqa: ARG002
        inside = np.flatnonzero(event)
        one_of = "one of " if len(inside) > 1 else ""
        return f"the label of the report is {one_of}{quoted(inside)}"


@final
class FeatureReader(Reader):
    """Reader of reports through `features`, whose label for a pair of inputs is the levels of these two values.

    Label a*levels + b means level a at x and level b at x'.
    """

    def __init__(self, mechanism: FrequencyOracle[Any], codes: NDArray[np.int64]) -> None:
        self._mechanism, self._codes = mechanism, codes
        self._levels = mechanism.levels
        m = len(codes)
        # The count at [u, w, a, b] is the number of reports of input u that have level a at u and level b at w.
        self._counts = np.zeros((m, m, self._levels, self._levels), dtype=np.int64)

    def count(self, reports: Any, owners: NDArray[np.int64]) -> None:
        levels = features(self._mechanism, reports)[:, self._codes]
        for u in range(len(self._codes)):
            rows = levels[owners == u]
            for a in range(self._levels):
                own = rows[rows[:, u] == a]
                for b in range(self._levels):
                    self._counts[u, :, a, b] += (own == b).sum(axis=0)

    def pairs(self, x: int) -> tuple[Counts, Counts]:
        m = len(self._codes)
        return self._counts[x].reshape(m, -1), self._counts[:, x].transpose(0, 2, 1).reshape(m, -1)

    def describe(self, event: NDArray[np.bool_], pair: tuple[Any, Any]) -> str:
        inside = [divmod(int(label), self._levels) for label in np.flatnonzero(event)]
        levels = ", or ".join(f"{a} and {b}" for a, b in inside)
        return f"the levels of values {pair[0]} and {pair[1]} in the report are {levels}"


def reader_for(mechanism: FrequencyOracle[Any] | None, inputs: NDArray[Any], events: Labels | None) -> Reader:
    """Return how to read reports: the caller's events first, then what is known of the mechanism, then as they are."""
    if events is not None or mechanism is None or says_one(mechanism):
        return LabelReader(len(inputs), events)
    if inputs.ndim != 1 or inputs.min() < 0 or inputs.max() >= mechanism.k:
        raise InvalidInputError(
            f"inputs must be codes of answers in 0..{mechanism.k - 1} for {quoted(mechanism)}, got another input"
        )
    return FeatureReader(mechanism, inputs.astype(np.int64))


def block_rows(mechanism: FrequencyOracle[Any] | None) -> int:
    """Return how many reports an audit asks for at a time, so that their features stay in some megabytes."""
    k = 1 if mechanism is None or says_one(mechanism) else mechanism.k
    return max(1, (1 << 22) // max(k, 16))


def says_one(mechanism: FrequencyOracle[Any]) -> bool:
    """Tell whether a report is the one value that it supports: then it is its own label, and no guess is needed."""
    law = mechanism.support_law
    return law is not None and law.reachable == 1 and mechanism.report_fields[0].width is None


MAX_INPUTS = 100
"""Largest number of inputs that one audit compares."""

MAX_REPORTS = 10**10
"""Largest number of reports that one audit makes."""

EXCESS = 1.3
"""An audit is sized to find a mechanism that spends this many times the claimed epsilon."""

Progress = Callable[[int, int], None]
"""Function that is called with (reports so far, reports in total)."""


class Client(Protocol):
    """Subject of an audit: anything that turns answers into reports, one row each."""

    def randomize(self, inputs: Any, rng: Any) -> Any:
        """Turn n true answers into n independent reports."""


@dataclass(frozen=True)
class AuditResult(Result):
    """Result of an audit: a lower confidence bound on a client's epsilon. `audit` returns it.

    Parameters
    ----------
    epsilon_lower : float
        Lower bound in nats. With probability at least 1 - alpha, the true epsilon is at least this large.
    alpha : float
        Probability of a wrong bound, over all pairs of inputs together.
    claimed_epsilon : float
        Epsilon that the client claims.
    pair : (object, object)
        Inputs x and x' that the reports distinguish best.
    event : str
        Description of the reports that are likelier for x than for x'.
    inputs : int
        Number of inputs compared.
    samples : int
        Number of reports for each input. One half chose the events, the other half bounded their probabilities.
    """

    also: ClassVar = {"verdict": "verdict", "exceeds_claim": "exceeds_claim"}

    epsilon_lower: float
    alpha: float
    claimed_epsilon: float
    pair: tuple[Any, Any]
    event: str
    inputs: int
    samples: int

    @property
    def exceeds_claim(self) -> bool:
        """Return whether the claim is refuted. False neither refutes nor confirms the claim."""
        return self.epsilon_lower > self.claimed_epsilon

    @property
    def verdict(self) -> str:
        """The result in words."""
        return "exceeds the claim" if self.exceeds_claim else "no violation found (this proves nothing)"

    def __str__(self) -> str:
        return (
            f"{self.verdict}: epsilon >= {self.epsilon_lower:.4f} with confidence {1 - self.alpha:g}, "
            f"claimed {self.claimed_epsilon:g}; inputs {self.pair[0]} and {self.pair[1]}, event: {self.event}; "
            f"{self.samples} reports for each of {self.inputs} inputs"
        )


def audit(
    client: Client,
    claimed_epsilon: float | None = None,
    *,
    rng: Randomness,
    inputs: ArrayLike | None = None,
    reports_of: FrequencyOracle[Any] | None = None,
    events: Labels | None = None,
    samples: int | None = None,
    alpha: float = 0.01,
    progress: Progress | None = None,
) -> AuditResult:
    """Return a lower confidence bound on the epsilon of a client.

    Parameters
    ----------
    client : object with ``randomize(inputs, rng)``
        Client to audit: a mechanism of this library, or another client behind a small adapter. Its reports must be
        independent. If a client stores its reports, audit a fresh installation for every report.
    claimed_epsilon : float, optional
        Claimed epsilon. The default is ``client.epsilon``.
    rng : Randomness
        Source of random words for the client.
    inputs : array of 2..100 rows, optional
        Answers to compare, one in each row: codes or records. By default all codes 0..k-1 of the client or of
        `reports_of`.
    reports_of : mechanism, optional
        If the client is not a mechanism of this library: a mechanism whose reports have the same form.
    events : callable, optional
        Function that gives each of n reports a label, int[n] in 0..4095. The audit compares how often sets of labels
        (events) occur. By default an integer report is its own label, and other reports are grouped by `features` of
        `reports_of`.
    samples : int, optional
        Number of reports for each input, both halves together. The default and the minimum is `needed_samples`. If the
        audit knows only labels of the reports, the default assumes events as rare as those of GRR over the inputs. Use
        more reports if your events are rarer.
    alpha : float
        Probability of a wrong bound, in (0, 1).
    progress : callable, optional
        Function that is called from time to time with (reports so far, total reports).

    Returns
    -------
    AuditResult

    Raises
    ------
    InvalidParameterError
        If `samples` is too small (the message states the minimum), there is no claim, or the number of inputs is not
        2..100.
    TooLargeError
        If more than MAX_REPORTS reports are needed, as for claims above about 15.
    InvalidReportError
        If the reports cannot be read. The message says which argument to pass.

    Examples
    --------
    >>> from deniable import GRR, SimulationRandomness
    >>> rng = SimulationRandomness(1)
    >>> audit(GRR(k=4, epsilon=1.0), rng=rng).verdict
    'no violation found (this proves nothing)'
    >>> print(audit(GRR(k=4, epsilon=1.3), claimed_epsilon=1.0, rng=rng).verdict)
    exceeds the claim
    """
    read = client if reports_of is None else reports_of
    known = read if is_oracle(read) else None
    claim = getattr(client, "epsilon", None) if claimed_epsilon is None else claimed_epsilon
    if claim is None or not 0 < float(claim) < math.inf:
        raise InvalidParameterError(f"claimed_epsilon must be finite and > 0, got claimed_epsilon={quoted(claim)}")
    answers = _checked_inputs(inputs, None if known is None else known.k)
    alpha = checked_probability("alpha", alpha, open_interval=True)
    probability = event_probability(known) if known is not None and events is None else None
    needed = needed_samples(float(claim), len(answers), probability=probability, alpha=alpha)
    samples = checked_integer("samples", needed if samples is None else samples, 1)
    if samples < needed:
        raise out_of_range(
            "samples",
            f">= {needed} reports per input to tell epsilon {float(claim):g} from {EXCESS * float(claim):g} "
            f"over {len(answers)} inputs",
            samples,
        )
    if samples * len(answers) > MAX_REPORTS:
        remedy = (
            f"pass fewer samples ({needed} are enough)"
            if needed * len(answers) <= MAX_REPORTS
            else "a claimed epsilon that is very small or very large cannot be audited"
            + (". Compare fewer inputs" if len(answers) > 2 else "")
        )
        raise TooLargeError(
            f"an audit must make at most {MAX_REPORTS:,} reports in total, got {samples:,} for each of {len(answers)} "
            f"inputs: {remedy}"
        )
    half, each = samples // 2, alpha / (2 * len(answers) * (len(answers) - 1))
    total = 2 * half * len(answers)
    learned, tested = (reader_for(known, answers, events) for _ in range(2))
    done = 0
    for reader in (learned, tested):
        for reports, owners in _batches(client, answers, half, block_rows(known), rng):
            reader.count(reports, owners)
            done += len(owners)
            if progress is not None:
                progress(done, total)
    bound, pair, event = _strongest(learned, tested, len(answers), half, each)
    shown = (_plain(answers[pair[0]]), _plain(answers[pair[1]]))
    described = tested.describe(event, shown) if event.any() else "none tells any two inputs apart"
    return AuditResult(bound, alpha, float(claim), shown, described, len(answers), 2 * half)


def _strongest(
    learned: Reader, tested: Reader, inputs: int, n: int, alpha: float
) -> tuple[float, tuple[int, int], NDArray[np.bool_]]:
    """Return the largest bound over all pairs, the pair, and its event; n trials per input in either half."""
    best, pair, event = 0.0, (0, 1), np.zeros(1, dtype=np.bool_)
    for x in range(inputs):
        chosen = choose_events(*learned.pairs(x), n, alpha)
        own, other = (_inside(counts, chosen) for counts in tested.pairs(x))
        with np.errstate(divide="ignore"):
            bounds = np.log(lower_bound(own, n, alpha)) - np.log(upper_bound(other, n, alpha))
        bounds[x] = -math.inf
        if bounds.max() > best:
            best, pair = float(bounds.max()), (x, int(bounds.argmax()))
            event = chosen[pair[1]]
    return best, pair, event


def choose_events(own: NDArray[np.int64], other: NDArray[np.int64], n: int, alpha: float) -> NDArray[np.bool_]:
    """Return for every pair the labels whose bound seems best, bool[pairs, labels], from counts of the learning half.

    Labels are sorted by their likelihood ratio, and a prefix of them is chosen. The best prefix has the largest log
    ratio after subtraction of the cost of the two confidence bounds. That cost is a normal approximation, which affects
    the choice only.
    """
    order = np.argsort(np.log(other + 0.5) - np.log(own + 0.5), axis=1, kind="stable")
    inside = [(np.take_along_axis(counts, order, axis=1).cumsum(axis=1) + 0.5) / (n + 1) for counts in (own, other)]
    z = -float(special.ndtri(alpha))
    cost = sum(np.sqrt(np.maximum(1 - p, 0) / p) for p in inside) * z / math.sqrt(n)
    last = (np.log(inside[0]) - np.log(inside[1]) - cost).argmax(axis=1)
    chosen = np.zeros(own.shape, dtype=np.bool_)
    np.put_along_axis(chosen, order, np.arange(own.shape[1]) <= last[:, None], axis=1)
    return chosen


def lower_bound(count: NDArray[Any], n: int, alpha: float) -> NDArray[np.float64]:
    """Clopper-Pearson lower confidence bound of a probability, exact level at least 1 - alpha; count of n trials."""
    with np.errstate(all="ignore"):
        bound = special.betaincinv(count, n - count + 1, alpha)
    return np.where(count > 0, bound, 0.0)


def upper_bound(count: NDArray[Any], n: int, alpha: float) -> NDArray[np.float64]:
    """Clopper-Pearson upper confidence bound of a probability, exact level at least 1 - alpha; count of n trials."""
    with np.errstate(all="ignore"):
        bound = special.betainccinv(count + 1, n - count, alpha)
    return np.where(count < n, bound, 1.0)


def needed_samples(
    epsilon: float,
    inputs: int,
    *,
    probability: float | None = None,
    alpha: float = 0.01,
    power: float = 0.95,
) -> int:
    """Return the number of reports per input that an audit needs to refute a client that spends 1.3 times its claim.

    With this number, the second half of the reports for a single pair of inputs refutes the claim with probability
    `power`.

    Parameters
    ----------
    epsilon : float
        Claimed epsilon in nats.
    inputs : int
        Number of inputs to compare, 2..100. More pairs of inputs need a larger correction.
    probability : float, optional
        Probability of the event that refutes the claim, for the input that makes this event likelier. Rare events need
        more reports. The default is the probability for GRR over the inputs: GRR has the rarest events among the
        standard mechanisms.
    alpha : float
        Probability of a wrong bound.
    power : float
        Probability of refuting such a claim.

    Examples
    --------
    >>> [needed_samples(epsilon, inputs) for epsilon, inputs in ((1.0, 2), (1.0, 10), (0.5, 100))]
    [2816, 18176, 1228800]
    """
    inputs = checked_integer("inputs", inputs, 2, MAX_INPUTS)
    alpha = checked_probability("alpha", alpha, open_interval=True)
    power = checked_probability("power", power, open_interval=True)
    if not 0 < epsilon < math.inf:
        raise InvalidParameterError(f"epsilon must be finite and > 0, got epsilon={epsilon}")
    odds = math.exp(EXCESS * epsilon)
    likely = odds / (odds + inputs - 1) if probability is None else checked_probability("probability", probability)
    each, miss = alpha / (2 * inputs * (inputs - 1)), (1 - power) / 2

    def found(n: int) -> bool:
        own, other = stats.binom.ppf(miss, n, likely), stats.binom.isf(miss, n, likely / odds)
        lower, upper = lower_bound(np.array([own]), n, each), upper_bound(np.array([other]), n, each)
        return bool(lower[0] > math.exp(epsilon) * upper[0])

    high = 16
    while not found(high):
        high *= 2
    low = high // 2
    while high - low > high // 64:
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return 2 * high


def _inside(counts: NDArray[np.int64], chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    # The test half may have labels that the learning half did not see, or the reverse.
    width = min(counts.shape[1], chosen.shape[1])
    inside: NDArray[np.int64] = (counts[:, :width] * chosen[:, :width]).sum(axis=1)
    return inside


def _batches(
    client: Client, answers: NDArray[Any], repeats: int, rows: int, rng: Randomness
) -> Iterator[tuple[Any, NDArray[np.int64]]]:
    """Yield (reports, owners): every input `repeats` times in all, interleaved, about `rows` reports at a time."""
    step = max(1, rows // len(answers))
    for start in range(0, repeats, step):
        owners = np.tile(np.arange(len(answers)), min(step, repeats - start))
        yield client.randomize(answers[owners], rng), owners


def _plain(answer: Any) -> Any:
    return tuple(answer.tolist()) if answer.ndim else answer.item()


def _checked_inputs(inputs: ArrayLike | None, k: int | None) -> NDArray[Any]:
    if inputs is None:
        if k is None:
            raise InvalidParameterError(
                "inputs must be given, because this client does not state how many answers are possible: pass inputs "
                "or k"
            )
        if k > MAX_INPUTS:
            raise InvalidParameterError(
                f"inputs must be given, because k={k} answers are possible: pass 2 to {MAX_INPUTS} answers to compare"
            )
        return np.arange(k)
    answers = np.asarray(inputs)
    if answers.ndim < 1 or not 2 <= len(answers) <= MAX_INPUTS or len(np.unique(answers, axis=0)) < len(answers):
        raise InvalidParameterError(
            f"inputs must be 2 to {MAX_INPUTS} different answers to compare, got shape={answers.shape}"
        )
    return answers

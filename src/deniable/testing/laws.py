"""Laws, one function each, that raise BrokenLawError with the place if a mechanism breaks them.

A law either enumerates every input and every output of `channel`, or samples with a fixed seed and a bound from theory.
"""

from __future__ import annotations

import itertools
import json
import math
import pickle
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from deniable.core.aggregate import Aggregate
from deniable.core.estimate import Estimate
from deniable.core.randomness import SimulationRandomness
from deniable.core.spec import from_spec, to_spec
from deniable.core.thresholds import exact as exact_number
from deniable.errors import (
    BrokenLawError,
    EmptyAggregateError,
    FileFormatError,
    InvalidInputError,
    MismatchError,
    NotIdentifiedError,
    quoted,
)
from deniable.models.problem import MixtureProblem
from deniable.models.row_laws import MultinomialLaw
from deniable.oracles.grr import GRR

Floats = NDArray[np.float64]

FAMILY_WISE_ERROR = 1e-6
"""Probability that a correct mechanism fails one statistical law (over all its cells). Seeds are fixed."""

FREQUENCIES = (0.0, 0.3, 1.0)
"""True frequencies at which variances are checked."""


def hold(condition: bool | np.bool_, says: str) -> None:
    """Raise BrokenLawError unless the condition holds; `assert` would vanish under ``python -O``."""
    if not condition:
        raise BrokenLawError(says)


# ---------------------------------------------------------------- batches and inputs


def columns(reports: Any) -> tuple[Any, ...]:
    """Return the arrays of a batch of reports."""
    return tuple(reports) if isinstance(reports, tuple) else (reports,)


def take(reports: Any, rows: Any) -> Any:
    """Select rows of a batch of reports (an array or a NamedTuple of arrays)."""
    return type(reports)(*(field[rows] for field in reports)) if isinstance(reports, tuple) else reports[rows]


def length(reports: Any) -> int:
    """Return the number of reports of a batch."""
    return len(columns(reports)[0])


def keys(reports: Any) -> list[bytes]:
    """Return one hashable key per report, equal for equal reports whatever the dtype."""
    n = length(reports)
    parts = [np.asarray(field, dtype=np.int64).reshape(n, math.prod(np.shape(field)[1:])) for field in columns(reports)]
    joined = np.ascontiguousarray(np.concatenate(parts, axis=1))
    return [row.tobytes() for row in joined]


def all_inputs(mechanism: Any) -> NDArray[np.int64]:
    """Return every input once, in the order of the channel's rows: codes int[k], or records int[r, d]."""
    if not mechanism.records:
        return np.arange(mechanism.domain[0], dtype=np.int64)
    return np.array(list(itertools.product(*map(range, mechanism.domain))), dtype=np.int64)


def some_reports(mechanism: Any, n: int, seed: int) -> Any:
    """Return the reports of n contributors who hold inputs in turn."""
    inputs = all_inputs(mechanism)
    return mechanism.randomize(inputs[np.arange(n) % len(inputs)], SimulationRandomness(seed))


def simulated(mechanism: Any, counts: NDArray[np.int64], rng: SimulationRandomness) -> Aggregate:
    """Draw the aggregate of `counts[i]` contributors with input i of `all_inputs`."""
    given: tuple[Any, ...] = (counts,)
    if mechanism.records:
        records = all_inputs(mechanism)
        marginals = [
            np.bincount(records[:, j], weights=counts, minlength=size).astype(np.int64)
            for j, size in enumerate(mechanism.domain)
        ]
        given = (marginals,) if mechanism.simulates == "marginals" else (records, counts)
    aggregate: Aggregate = mechanism.simulate_aggregate(*given, rng)
    return aggregate


def _integers(exact: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return an exact channel as integers over one common denominator."""
    common = math.lcm(*{Fraction(cell).denominator for cell in exact.flat})
    return np.array([[int(cell * common) for cell in row] for row in exact], dtype=object), common


# ---------------------------------------------------------------- likelihood of one report

_RATIOS = 1e-9


def _about(mechanism: Any) -> list[tuple[int, ...]]:
    """Return each attribute alone, and two together where reports relate them."""
    d = len(mechanism.domain)
    pairs = itertools.permutations(range(d), 2) if mechanism.related_attributes > 1 else ()
    return [*((j,) for j in range(d)), *pairs]


def _held(mechanism: Any, attributes: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the cell of these attributes of every input."""
    inputs = all_inputs(mechanism).reshape(-1, len(mechanism.domain))
    sizes = [mechanism.domain[j] for j in attributes]
    return np.ravel_multi_index(tuple(inputs[:, j] for j in attributes), sizes).astype(np.int64)


def reports_have_a_likelihood(mechanism: Any) -> None:
    """The mean of L(another answer)/L(the true one) is one, and indicators have mean one at the true answer, else zero.

    The means are over the reports of every input, by the channel. If no report has a likelihood, the mechanism must
    refuse to give one.
    """
    outputs, channel = mechanism.outputs(), mechanism.channel()
    for attributes in _about(mechanism):
        try:
            likelihood, indicators = (
                mechanism.likelihood(outputs, attributes),
                mechanism.indicators(outputs, attributes),
            )
        except NotIdentifiedError:
            return
        for law, own in zip(channel, _held(mechanism, attributes), strict=True):
            ratios = law @ (likelihood.relative / likelihood.relative[:, [own]])
            hold(bool(np.abs(ratios - 1).max() < _RATIOS), f"likelihood ratios of {attributes} have mean {ratios}")
            asked = law * indicators.asked
            means = asked @ indicators.values / asked.sum()
            hold(
                bool(np.abs(means - np.eye(len(means))[own]).max() < 1e-7),
                f"indicators of {attributes} have mean {means} where the answer is {own}",
            )
        listed = mechanism.listed_likelihood(attributes)
        if listed is not None:
            sums = listed.probabilities.sum(axis=0)
            hold(bool(np.abs(sums - 1).max() < _RATIOS), f"listed likelihoods of {attributes} sum to {sums}")


def models_have_their_gradient(mechanism: Any) -> None:
    """The gradient and Hessian of a logit model of the reports are those of finite differences."""
    reports, random = some_reports(mechanism, 60, 5), np.random.default_rng(5)
    x = np.column_stack([np.ones(60), random.normal(size=60)])
    for attributes in _about(mechanism):
        try:
            likelihood = mechanism.likelihood(reports, attributes)
        except NotIdentifiedError:
            return
        cells = likelihood.relative.shape[1]
        problem = MixtureProblem(MultinomialLaw(cells), [x], likelihood)
        theta, step = random.normal(0, 0.3, problem.size), 1e-5
        at = problem.evaluate(theta)
        for place in range(problem.size):
            moved = step * np.eye(problem.size)[place]
            up, down = problem.evaluate(theta + moved), problem.evaluate(theta - moved)
            slope, bend = (up.value - down.value) / (2 * step), (up.gradient - down.gradient) / (2 * step)
            hold(bool(abs(slope - at.gradient[place]) < 1e-5), f"gradient of {attributes} is {at.gradient[place]}")
            hold(bool(np.abs(bend - at.hessian[place]).max() < 1e-5), f"Hessian of {attributes} is {at.hessian[place]}")


# ---------------------------------------------------------------- data


def is_found_by_name(mechanism: Any) -> None:
    """Its specification, after JSON, is read as an equal mechanism with the same hash."""
    try:
        again = from_spec(json.loads(json.dumps(to_spec(mechanism))))
    except FileFormatError as error:
        raise BrokenLawError(
            f"the specification of the mechanism cannot be read back: {error}. A mechanism of another package must "
            f"have an entry point with the name {quoted(mechanism.name)} in the group deniable.mechanisms"
        ) from error
    hold(again == mechanism, f"after JSON it is {quoted(again)}")
    hold(hash(again) == hash(mechanism), "equal mechanisms have different hashes")


def is_data(mechanism: Any) -> None:
    """Parameters only: equal, hashable, frozen, picklable."""
    again = pickle.loads(pickle.dumps(mechanism))
    hold(again == mechanism, "it is another one after pickling")
    hold(hash(again) == hash(mechanism), "equal mechanisms have different hashes")
    try:
        mechanism.epsilon = 99
    except AttributeError:
        return
    raise BrokenLawError(
        "the mechanism must be frozen, but this check could change its epsilon; use @dataclass(frozen=True)"
    )


def reports_match_their_declaration(mechanism: Any) -> None:
    """`report_fields` tells what `randomize` returns, and `report_type` builds the same batch from its arrays."""
    for n in (0, 1, 40):  # the batches are empty, interpreted and compiled
        reports = some_reports(mechanism, n, 1)
        fields, declared = columns(reports), mechanism.report_fields
        hold(len(fields) == len(declared), f"reports have {len(fields)} fields, report_fields lists {len(declared)}")
        for field, says in zip(fields, declared, strict=True):
            hold(field.dtype == np.dtype(says.dtype), f"{says.name} has dtype {field.dtype}, declared is {says.dtype}")
            shape = (n,) if says.width is None else (n, says.width)
            hold(field.shape == shape, f"{says.name} has shape {field.shape}, declared is {shape}")
        hold(keys(mechanism.report_type(*fields)) == keys(reports), "report_type makes other reports of these arrays")
        hold(mechanism.aggregate(reports).n == n, f"the aggregate of {n} reports says it has another number")
        hold(len(mechanism.aggregate(reports).counts) == mechanism.state_size, "the state's length is not state_size")


def report_bits_fit(mechanism: Any) -> None:
    """A report on the wire is no longer than what is stored: 0 < `report_bits` <= 8 (bytes of `report_fields`)."""
    stored = 8 * sum(np.dtype(field.dtype).itemsize * (field.width or 1) for field in mechanism.report_fields)
    bits = mechanism.report_bits
    hold(0 < bits <= stored, f"report_bits is {bits}, and a report is stored in {stored} bits")


def refuses_bad_answers(mechanism: Any) -> None:
    """An answer beyond the domain is an InvalidInputError that names its row, and no report is made."""
    inputs = all_inputs(mechanism)
    for wrong in (mechanism.domain[0], -1):
        answers = np.resize(inputs, (30, *inputs.shape[1:]))
        answers.reshape(30, -1)[16, 0] = wrong
        try:
            mechanism.randomize(answers, SimulationRandomness(1))
        except InvalidInputError as error:
            hold("row 17" in str(error), f"the message about a code in row 17 does not name the row: {error}")
        else:
            raise BrokenLawError(
                f"randomize must refuse codes outside the domain {mechanism.domain}, but it accepted {wrong}"
            )


def refuses_what_does_not_belong(mechanism: Any) -> None:
    """An aggregate of no reports has no estimate, and another mechanism's aggregate is neither added nor read."""
    other = GRR(k=2, epsilon=0.31415926)
    foreign = other.aggregate(np.array([0, 1]))
    mine = mechanism.aggregate(some_reports(mechanism, 3, 1))
    refused: tuple[tuple[type[Exception], str, Callable[[], Any]], ...] = (
        (EmptyAggregateError, "it estimates from no reports", lambda: mechanism.estimate(Aggregate.empty(mechanism))),
        (MismatchError, "it estimates from another mechanism's aggregate", lambda: mechanism.estimate(foreign)),
        (MismatchError, "its aggregate takes another mechanism's", lambda: mine + foreign),
    )
    for expected, says, call in refused:
        try:
            call()
        except expected:
            continue
        raise BrokenLawError(says)


def merging_is_adding(mechanism: Any, reports: Any, cuts: Sequence[int]) -> None:
    """Aggregates of any partition, in any order, sum to the aggregate of the whole; empty is neutral."""
    whole, empty = mechanism.aggregate(reports), Aggregate.empty(mechanism)
    edges = [0, *sorted(cuts), length(reports)]
    parts = [mechanism.aggregate(take(reports, slice(a, b))) for a, b in itertools.pairwise(edges)]
    for order in (parts, parts[::-1]):
        total = empty
        for part in order:
            total = total + part
        hold(total == whole, f"parts cut at {list(cuts)} do not sum to the whole")
        hold(total.n == length(reports), f"parts cut at {list(cuts)} have {total.n} reports of {length(reports)}")
    hold(whole + empty == empty + whole == whole, "the empty aggregate is not neutral")


# ---------------------------------------------------------------- by enumeration


def rows_sum_to_one(mechanism: Any) -> None:
    """The channel is a probability law of distinct outputs for every input, exactly."""
    exact = mechanism.channel(exact=True)
    hold(all(isinstance(cell, (Fraction, int)) for cell in exact.flat), "channel(exact=True) has inexact cells")
    scaled, common = _integers(exact)
    for x, row in enumerate(scaled):
        hold(min(row) >= 0, f"row {x} of the channel has a negative cell")
        hold(sum(row) == common, f"row {x} of the channel sums to {Fraction(sum(row), common)}")
    hold(bool(np.abs(mechanism.channel().sum(axis=1) - 1).max() <= 1e-12), "the float channel does not sum to one")
    listed = keys(mechanism.outputs())
    hold(len(set(listed)) == len(listed), "outputs lists a report twice")
    hold(exact.shape[1] == len(listed), f"outputs lists {len(listed)} reports for {exact.shape[1]} columns")


def channel_ratio(exact: NDArray[Any]) -> Fraction:
    """Return the largest likelihood ratio of a channel, from all columns."""
    worst = Fraction(1)
    for column in exact.T:
        low, high = min(column), max(column)
        hold(low > 0 or high == 0, "an output that one input can produce and another cannot")
        worst = max(worst, high / low) if high else worst
    return worst


def ratio_keeps_the_budget(mechanism: Any, declared: Any = None, tight: float | None = None) -> None:
    """The largest ratio of the enumerated channel is the implemented one, within the budget and not far below it.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism whose channel is enumerated.
    declared : float, Fraction, Decimal or str, optional
        Budget, the mechanism's `epsilon` by default.
    tight : float, optional
        Tight epsilon of one report, `privacy().epsilon` by default. It is checked from below too, because otherwise a
        mechanism that is merely too noisy would pass.
    """
    ratio = channel_ratio(mechanism.channel(exact=True))
    implemented = mechanism.implemented_ratio()
    hold(
        ratio == implemented,
        f"implemented_ratio is {quoted(float(implemented))}, the channel's is {quoted(float(ratio))}",
    )
    context = Context(prec=50)
    logarithm = context.ln(context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    budget = exact_number(mechanism.epsilon if declared is None else declared)
    limit = context.divide(Decimal(budget.numerator), Decimal(budget.denominator))
    lowest = Decimal(mechanism.privacy().epsilon if tight is None else tight)
    slack = Decimal("1e-45")  # this is the error of the 50-digit logarithm itself
    hold(logarithm <= limit + slack, f"ln ratio {logarithm} exceeds the declared epsilon {limit}")
    near = abs(logarithm - lowest) <= Decimal("1e-9") * max(lowest, Decimal("0.01"))
    hold(near, f"ln ratio is {logarithm}, the tight epsilon is said to be {lowest}")
    rounded = Decimal(mechanism.implemented_epsilon())
    above = logarithm <= rounded <= logarithm + Decimal("1e-12")
    hold(above, f"implemented_epsilon is {rounded}, ln ratio is {logarithm}")


def report_bits_hold_the_entropy(mechanism: Any) -> None:
    """A report on the wire is at least as long as its entropy: on average, no code is shorter (Shannon).

    The entropy is that of the report of a uniform input. If all outputs are then equally likely, it is log2 of their
    number.
    """
    mixed = mechanism.channel().mean(axis=0)
    entropy, bits = float(stats.entropy(mixed[mixed > 0], base=2)), mechanism.report_bits
    hold(entropy <= bits + 1e-9, f"report_bits is {bits}, and reports have an entropy of {entropy} bits")


def _single_report_states(mechanism: Any) -> NDArray[np.int64]:
    """Return the state vector that each possible report adds, int64[outputs, state_size]."""
    outputs = mechanism.outputs()
    return np.array([mechanism.aggregate(take(outputs, slice(o, o + 1))).counts for o in range(length(outputs))])


def single_report_estimates(mechanism: Any) -> Floats:
    """Return estimates from each possible report alone for all attributes, float64[outputs, sum of sizes].

    Attributes follow one after the other. Three laws enumerate these estimates, so a caller of all three computes them
    once and passes them to each.
    """
    outputs, found = mechanism.outputs(), []
    for o in range(length(outputs)):
        estimate = mechanism.estimate(mechanism.aggregate(take(outputs, slice(o, o + 1))))
        parts = [estimate] if isinstance(estimate, Estimate) else list(estimate.values())
        found.append(np.concatenate([part.frequencies for part in parts]))
    return np.array(found)


def unbiased(mechanism: Any, estimates: Floats | None = None) -> None:
    """E[f^(v) | x] = 1[x = v], by the exact channel; conditional on the attribute being reported where one is drawn."""
    channel = mechanism.channel()
    estimates = single_report_estimates(mechanism) if estimates is None else estimates
    inputs = all_inputs(mechanism).reshape(channel.shape[0], -1)
    seen = ~np.isnan(estimates)
    slack = 1e-12 * max(1.0, float(np.nanmax(np.abs(estimates))))
    for x, row in zip(inputs, channel, strict=True):
        truth = np.concatenate([np.eye(size)[code] for size, code in zip(mechanism.domain, x, strict=True)])
        for v in range(len(truth)):
            mass = row[seen[:, v]]
            mean = math.fsum(mass * estimates[seen[:, v], v]) / math.fsum(mass)
            hold(abs(mean - truth[v]) <= slack, f"input {x}: the estimate of value {v} has mean {mean}, not {truth[v]}")


# ---------------------------------------------------------------- one attribute, by enumeration


def variance_is_the_channels(mechanism: Any, n: int = 1000, estimates: Floats | None = None) -> None:
    """`variance` is the enumerated one at f = 0, .3 and 1.

    The other contributors are spread evenly over the other values, and the mean is over values. This is the definition
    of `variance` if it depends on the values.
    """
    k = mechanism.domain[0]
    estimates = single_report_estimates(mechanism) if estimates is None else estimates
    channel = mechanism.channel()
    noise = np.array([row @ (estimates - mean) ** 2 for row, mean in zip(channel, channel @ estimates, strict=True)])
    own, other = np.trace(noise) / k, (noise.sum() - np.trace(noise)) / (k * (k - 1))
    for f in FREQUENCIES:
        says, found = mechanism.variance(f, n), (f * own + (1 - f) * other) / n
        hold(math.isclose(says, found, rel_tol=1e-10), f"variance(f={f}, n={n}) is {says}, the channel's is {found}")


def covariance_is_the_channels(mechanism: Any, n: int = 1000, estimates: Floats | None = None) -> None:
    """`covariance` and `linear_variance` are the enumerated ones, to 1e-12 of the largest variance."""
    k = mechanism.domain[0]
    estimates = single_report_estimates(mechanism) if estimates is None else estimates
    channel = mechanism.channel()
    f = np.arange(1, k + 1) / (k * (k + 1) / 2)
    expected = np.zeros((k, k))
    for share, row in zip(f, channel, strict=True):
        centred = estimates - row @ estimates
        expected += share * ((centred * row[:, None]).T @ centred) / n
    slack = 1e-12 * float(np.diag(expected).max())
    found = mechanism.covariance(f, n)
    worst = float(np.abs(found - expected).max())
    hold(worst <= slack, f"covariance differs from the channel's by {worst}, at variances of {np.diag(expected)}")
    some = np.arange(k)[::-2]
    apart = float(np.abs(mechanism.covariance(f, n, some) - found[np.ix_(some, some)]).max())
    hold(apart <= slack, f"covariance of the values {some.tolist()} differs from that part of the whole by {apart}")
    for weights in (np.arange(k) - 0.3 * k, (np.arange(k) == 1).astype(float), np.ones(k)):
        says, exact = mechanism.linear_variance(weights, f, n), float(weights @ expected @ weights)
        scale = slack * float(weights @ weights) * k
        hold(abs(says - exact) <= scale, f"linear_variance of {weights} is {says}, the channel's is {exact}")


def supports_follow_the_channel(mechanism: Any) -> None:
    """A report supports its own value with probability p and every other with q, exactly; sums of it are the support.

    `supports` of any values is the corresponding part of the whole.
    """
    outputs, values = mechanism.outputs(), np.arange(mechanism.domain[0])
    matrix = mechanism.supports(outputs, values)
    shape = (length(outputs), len(values))
    hold(
        matrix.dtype == np.bool_ and matrix.shape == shape,
        f"supports must be bool{list(shape)}, got {matrix.shape}",
    )
    backwards = mechanism.supports(outputs, values[::-2])
    hold(np.array_equal(backwards, matrix[:, ::-2]), "supports of some values is not that part of the whole")
    p, q = mechanism.support_probabilities
    scaled, common = _integers(mechanism.channel(exact=True))
    for v in values:
        for x, mass in enumerate(scaled[:, matrix[:, v]].sum(axis=1)):
            found, expected = Fraction(mass, common), p if x == v else q
            hold(
                found == expected,
                f"a report of {x} supports {v} with probability {quoted(float(found))}, not {quoted(float(expected))}",
            )
    counted = mechanism.support_counts(mechanism.aggregate(outputs))
    hold(np.array_equal(counted, matrix.sum(axis=0)), "support_counts of an aggregate is not the sum of supports")


# ---------------------------------------------------------------- by sampling


def chi_squared(observed: NDArray[np.int64], expected: Floats) -> float:
    """Return the p-value of counts against their expectations; cells with expectations below 5 are pooled."""
    hold(observed[expected == 0].sum() == 0, "an output of probability zero occurred")
    order = np.argsort(expected)
    observed, expected = observed[order], expected[order]
    small = int(np.searchsorted(np.cumsum(expected), 5)) + 1 if expected[0] < 5 else 0
    small = max(small, int((expected < 5).sum()))
    if small > 1:
        observed = np.append(observed[small:], observed[:small].sum())
        expected = np.append(expected[small:], expected[:small].sum())
    keep = expected > 0
    if keep.sum() < 2:
        return 1.0
    statistic = float(((observed[keep] - expected[keep]) ** 2 / expected[keep]).sum())
    return float(stats.chi2.sf(statistic, int(keep.sum()) - 1))


def reports_follow_the_channel(mechanism: Any, n: int = 40_000, seed: int = 20_26) -> None:
    """Chi-squared of the randomised reports of every input against its channel row."""
    channel = mechanism.channel()
    column = {key: o for o, key in enumerate(keys(mechanism.outputs()))}
    inputs = all_inputs(mechanism)
    rng = SimulationRandomness(seed)
    for x, row in zip(inputs, channel, strict=True):
        drawn = keys(mechanism.randomize(np.repeat(x[None], n, axis=0), rng))
        hold(column.keys() >= set(drawn), f"input {x}: a report that outputs does not list")
        observed = np.bincount([column[key] for key in drawn], minlength=len(row))
        p_value = chi_squared(observed, row * n)
        hold(
            p_value >= FAMILY_WISE_ERROR / len(inputs),
            f"input {x}: reports do not follow the channel, p-value {p_value}",
        )


def simulated_aggregates_follow_the_law(mechanism: Any, draws: int = 4000, seed: int = 11) -> None:
    """Means and covariances of `simulate_aggregate` against the exact ones of the channel (z, Bonferroni)."""
    states = _single_report_states(mechanism).astype(np.float64)
    channel = mechanism.channel()
    counts = np.arange(3, 3 + channel.shape[0], dtype=np.int64) * 7
    mean = np.zeros(states.shape[1])
    covariance, cumulant = np.zeros((2, states.shape[1], states.shape[1]))
    for count, row in zip(counts, channel, strict=True):
        mean += count * (row @ states)
        centred = states - row @ states
        one = (centred * row[:, None]).T @ centred
        covariance += count * one
        squares = centred**2
        cumulant += count * ((squares * row[:, None]).T @ squares - np.outer(np.diag(one), np.diag(one)) - 2 * one**2)
    rng = SimulationRandomness(seed)
    drawn = np.array([simulated(mechanism, counts, rng).counts for _ in range(draws)], dtype=np.float64)
    hold(simulated(mechanism, counts, rng).n == counts.sum(), "simulated aggregates have another number of reports")
    tests = len(mean) + len(mean) * (len(mean) + 1) / 2
    z = stats.norm.isf(FAMILY_WISE_ERROR / tests / 2)
    deviation = drawn - mean
    spread = np.sqrt(np.diag(covariance))
    error = z * spread / math.sqrt(draws) + 1e-9
    hold(bool((np.abs(deviation.mean(axis=0)) <= error).all()), "simulated aggregates have other means than reports")
    # Var(sample covariance) = (s_ii s_jj + s_ij^2 + k_iijj)/draws, and fourth cumulants add up like variances.
    sample = deviation.T @ deviation / draws
    error = 1.1 * z * np.sqrt((np.outer(spread**2, spread**2) + covariance**2 + cumulant).clip(0) / draws) + 1e-9
    hold(bool((np.abs(sample - covariance) <= error).all()), "simulated aggregates have other covariances than reports")


def intervals_cover(mechanism: Any, n: int = 5000, draws: int = 3000, seed: int = 5, *, no_wider: bool = True) -> None:
    """Coverage of the 95% interval for these contributors at frequencies 0, 0.1 and 0.9 of the first attribute.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism with an unbiased estimate.
    n, draws, seed : int
        Number of contributors, number of rehearsals and seed of the rehearsals.
    no_wider : bool
        True if intervals must not cover more than 95% either; exact intervals cover more if counts are small.
    """
    size = mechanism.domain[0]
    shares = [0, n // 10, n - n // 10] if size > 2 else [n // 10, n - n // 10]
    held = np.array(shares + [0] * (size - len(shares)))
    inputs = all_inputs(mechanism).reshape(-1, len(mechanism.domain))
    counts = np.zeros(len(inputs), dtype=np.int64)
    for value, count in enumerate(held):
        counts[np.flatnonzero(inputs[:, 0] == value)[0]] = count
    rng = SimulationRandomness(seed)
    hits = np.zeros(size)
    for _ in range(draws):
        estimate = mechanism.estimate(simulated(mechanism, counts, rng))
        lower, upper = (estimate[0] if mechanism.records else estimate).interval(0.95)
        hits += (lower <= held / n) & (held / n <= upper)
    # These are exact binomial bounds of the simulation itself. 0.005 is the score interval's own discreteness at n =
    # 5000.
    error = FAMILY_WISE_ERROR / 2 / len(shares)
    low, high = stats.binom.ppf(error, draws, 0.945), stats.binom.isf(error, draws, 0.955)
    covered = hits[: len(shares)]
    hold(bool((covered >= low).all()), f"95% intervals cover {covered / draws} of the time")
    hold(not no_wider or bool((covered <= high).all()), f"95% intervals cover {covered / draws} of the time")

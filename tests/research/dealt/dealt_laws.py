"""Laws of dealt mechanisms: functions that raise AssertionError for a broken law. The mutants call them as well."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import deniable as dn
from deniable.core.names import mechanism_class
from deniable.errors import (
    DamagedStateError,
    EmptyAggregateError,
    InvalidInputError,
    InvalidParameterError,
    MismatchError,
)
from deniable.research.dealt import QuotaRR, QuotaUnary, Shares
from deniable.research.dealt.coupling.coupled import SignedCoins
from deniable.research.dealt.files.dealing import deal_file
from deniable.research.dealt.files.shares import ShareReader
from deniable.research.dealt.several_deals import combine_deals
from deniable.testing import laws
from tests.research.dealt.dealt_cases import (
    DealtCase,
    Row,
    batch,
    report_states,
    rows_of,
    state_law,
)

FAMILY_WISE_ERROR = laws.FAMILY_WISE_ERROR


def fields_of(mechanism: Any, shares: Any) -> list[NDArray[Any]]:
    return [*shares.columns]


def columns_of(reports: Any) -> tuple[NDArray[Any], ...]:
    return tuple(reports) if isinstance(reports, tuple) else (reports,)


def estimated(mechanism: Any, aggregate: Any) -> NDArray[np.float64]:
    """Return the estimated frequencies of all values of all attributes, one after another."""
    estimate = mechanism.estimate(aggregate)
    parts = [estimate] if hasattr(estimate, "frequencies") else list(estimate.values())
    return np.concatenate([part.frequencies for part in parts])


# ---------------------------------------------------------------- data


def is_data(case: DealtCase, mechanism: Any) -> None:
    laws.is_data(mechanism)
    assert mechanism.dealt
    assert mechanism_class(mechanism.name) is type(mechanism)
    for field in dataclasses.fields(mechanism):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(mechanism, field.name, None)
    again, other = case.build(mechanism.n, mechanism.deal_id), case.build(mechanism.n, "another")
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert other != mechanism
    assert other == dataclasses.replace(mechanism, deal_id="another")


def shares_match_their_declaration(case: DealtCase, mechanism: Any, rng: Any) -> None:
    """Check that `share_fields` and `report_fields` describe deals and reports, and that shares can be sliced."""
    n = mechanism.n
    shares = mechanism.deal(n, rng)
    assert len(shares) == n
    assert shares.deal_id == mechanism.deal_id
    for field, array in zip(mechanism.share_fields, fields_of(mechanism, shares), strict=True):
        assert array.dtype == np.dtype(field.dtype)
        assert array.shape == ((n,) if field.width is None else (n, field.width))
    whole = rows_of(fields_of(mechanism, shares), n)
    for rows in (0, n - 1, -1, np.int64(1), slice(0, 0), slice(1, n), slice(None, None, 2)):
        part = shares[rows]
        expected = [whole[rows]] if isinstance(rows, int | np.integer) else whole[rows]
        assert len(part) == len(expected)
        assert part.deal_id == mechanism.deal_id
        assert rows_of(fields_of(mechanism, part), len(part)) == expected
    with pytest.raises(IndexError):  # otherwise iteration over shares would never end
        shares[n]
    again = Shares(mechanism.deal_id, shares.columns)
    assert type(again) is type(shares)
    inputs = case.many(mechanism)
    for rows in (slice(0, 0), slice(0, 1), slice(0, n)):
        count = len(inputs[rows])
        reports = mechanism.randomize(inputs[rows], again[rows], rng)
        columns = columns_of(reports)
        for field, array in zip(mechanism.report_fields, columns, strict=True):
            assert array.dtype == np.dtype(field.dtype)
            assert array.shape == ((count,) if field.width is None else (count, field.width))
        aggregate = mechanism.aggregate(mechanism.report_type(*columns))
        assert aggregate.n == count
        assert aggregate.counts.shape == (mechanism.state_size,)
    assert mechanism.report_bits > 0


def shares_survive_parquet(mechanism: Any, directory: Path) -> None:
    sizes = mechanism.sizes if hasattr(mechanism, "sizes") else (mechanism.k,)
    attributes = tuple(dn.Attribute(f"a{j}", tuple(f"v{v}" for v in range(k))) for j, k in enumerate(sizes))
    collection = dn.Collection(dn.Schema(attributes), mechanism)
    deal_file(collection, mechanism.n, directory / "deal", dn.SimulationRandomness(9))
    expected = mechanism.deal(mechanism.n, dn.SimulationRandomness(9))
    read = list(ShareReader(directory / "deal", collection).batches())
    assert [number for numbers, _ in read for number in numbers.tolist()] == list(range(1, mechanism.n + 1))
    for i, field in enumerate(mechanism.share_fields):
        found = np.concatenate([fields_of(mechanism, shares)[i] for _, shares in read])
        assert found.dtype == np.dtype(field.dtype)
        assert np.array_equal(found, fields_of(mechanism, expected)[i])
    with pytest.raises(MismatchError):
        ShareReader(directory / "deal", dn.Collection(collection.schema, dataclasses.replace(mechanism, deal_id="b")))


# ---------------------------------------------------------------- laws of chance


def _fits(observed: Mapping[Any, int], law: Mapping[Any, float], tests: int) -> None:
    """Test counts against a distribution by chi-squared, at the family-wise error over this many tests."""
    draws = sum(observed.values())
    assert observed.keys() <= {key for key, w in law.items() if w > 0}, "an outcome of probability zero occurred"
    listed = [key for key, w in law.items() if w > 0]
    counts = np.array([observed.get(key, 0) for key in listed])
    p_value = laws.chi_squared(counts, np.array([law[key] for key in listed]) * draws)
    assert p_value >= FAMILY_WISE_ERROR / tests, p_value


def deals_follow_the_law(case: DealtCase, mechanism: Any, draws: int = 1500, seed: int = 3) -> None:
    """Test whole deals against the distribution of all types by chi-squared."""
    rng, observed = dn.SimulationRandomness(seed), Counter[tuple[Row, ...]]()
    for _ in range(draws):
        observed[tuple(rows_of(fields_of(mechanism, mechanism.deal(mechanism.n, rng)), mechanism.n))] += 1
    _fits(observed, dict(case.types(mechanism)), 1)


def contributors_follow_their_shares(case: DealtCase, mechanism: Any, draws: int = 1000, seed: int = 4) -> None:
    """Test the reports for each share and answer by chi-squared."""
    rng, observed = dn.SimulationRandomness(seed), defaultdict[tuple[Row, Any], Counter[Any]](Counter)
    answers, states = case.answers(mechanism), dict[Row, tuple[Row, int]]()
    for i in range(draws):
        data = np.array([answers[(i + j * (1 + i // len(answers))) % len(answers)] for j in range(mechanism.n)])
        shares = mechanism.deal(mechanism.n, rng)
        reports = rows_of(columns_of(mechanism.randomize(data, shares, rng)), mechanism.n)
        types = rows_of(fields_of(mechanism, shares), mechanism.n)
        for type_, x, report in zip(types, data.tolist(), reports, strict=True):
            observed[type_, tuple(x) if isinstance(x, list) else x][report] += 1
    for (type_, x), counts in observed.items():
        law = case.says(mechanism, type_, x)
        if len(law) > 64:  # there are many hash functions, so only the collector's counts of them matter
            states.update(report_states(mechanism, law.keys() - states.keys()))
            merged, seen = defaultdict[Any, float](float), Counter[Any]()
            for report, w in law.items():
                merged[states[report]] += w
            for report, count in counts.items():
                seen[states[report]] += count
            counts, law = seen, merged
        _fits(counts, law, len(observed))


def simulated_aggregates_follow_the_law(case: DealtCase, mechanism: Any, draws: int = 1000, seed: int = 5) -> None:
    """Test `simulate_aggregate` against the enumerated distribution of the counters by chi-squared."""
    rng, listed = dn.SimulationRandomness(seed), case.data(mechanism)
    chosen, known = (listed[0], listed[len(listed) // 2]), dict[Any, Any]()
    for data in chosen:
        observed = Counter[Any]()
        for _ in range(draws):
            aggregate = case.simulate(mechanism, data, rng)
            observed[tuple(aggregate.counts.tolist()), aggregate.n] += 1
        _fits(observed, state_law(case, mechanism, data, mechanism.n, known), len(chosen))


def _variance(mechanism: Any, data: NDArray[np.int64], reporters: int, f: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the stated variance of each estimate, or nan if the mechanism states none for these data."""
    if hasattr(mechanism, "sizes"):
        attribute = np.repeat(np.arange(len(mechanism.sizes)), mechanism.sizes)
        if reporters < mechanism.n:
            return np.full(len(f), np.nan)
        return np.array([mechanism.variance(v, mechanism.n, j) for v, j in zip(f.tolist(), attribute, strict=True)])
    if hasattr(mechanism, "batches"):
        parts = [data[i : min(i + mechanism.size, reporters)] for i in range(0, reporters, mechanism.size)]
        own = np.array([np.bincount(part, minlength=mechanism.k) / len(part) for part in parts])
        even = (np.abs(own - own[0]) < 1e-12).all(axis=0)
        return np.array([mechanism.variance(v, reporters) if same else np.nan for v, same in zip(f, even, strict=True)])
    return np.array([mechanism.variance(v, reporters=reporters) for v in f.tolist()])


def estimates_are_exact(case: DealtCase, mechanism: Any) -> None:
    """Check E f^ = f and Var f^ = variance(f) by enumeration, for all contributors and after drop-outs."""
    checked, known = 0, dict[Any, Any]()
    for reporters, data in itertools.product((mechanism.n, mechanism.n - 1), case.data(mechanism)):
        law = state_law(case, mechanism, data, reporters, known)
        source = mechanism.aggregate(batch(mechanism.report_type, mechanism.report_fields, [])).mechanism
        listed = [(dn.Aggregate(source, np.array(counts), n), w) for (counts, n), w in law.items() if w > 0]
        assert all(aggregate.n == reporters for aggregate, _ in listed)
        values = np.array([estimated(mechanism, aggregate) for aggregate, _ in listed])
        weights = np.array([w for _, w in listed])[:, None] * ~np.isnan(values)
        mean = (weights * np.nan_to_num(values)).sum(axis=0) / weights.sum(axis=0)
        truth = case.truth(mechanism, data[:reporters])
        scale = max(1.0, float(np.nanmax(np.abs(values))))
        assert np.abs(mean - truth).max() <= 1e-9 * scale, (data, reporters, mean)
        measured = (weights * np.nan_to_num(values - mean) ** 2).sum(axis=0) / weights.sum(axis=0)
        stated = _variance(mechanism, data, reporters, truth)
        told = ~np.isnan(stated)
        checked += int(told.sum())
        assert (np.abs(measured - stated)[told] <= 1e-9 * scale**2).all(), (data, reporters, measured, stated)
    assert checked >= 4


def _near(case: DealtCase, mechanism: Any, found: NDArray[np.float64], data: Any, reporters: int, tests: int) -> None:
    """Test mean (t) and variance (normal) of estimates against the truth and the stated variance."""
    draws, wide = found.shape
    truth = case.truth(mechanism, data[:reporters])
    level = FAMILY_WISE_ERROR / (2 * wide * tests)
    spread = found.std(axis=0, ddof=1)
    deviation = np.abs(found.mean(axis=0) - truth)
    assert (deviation <= stats.t.isf(level / 2, draws - 1) * spread / math.sqrt(draws) + 1e-12).all(), deviation
    stated = _variance(mechanism, data, reporters, truth)
    known = ~np.isnan(stated)
    # Var s^2 is 2 sigma^4/draws for normal estimates. The factor allows for a kurtosis of 4.
    allowed = 1.25 * stats.norm.isf(level / 2) * math.sqrt(2 / draws)
    assert (np.abs(spread[known] ** 2 / stated[known] - 1) <= allowed).all(), spread**2 / stated


def estimates_of_many(case: DealtCase, mechanism: Any, draws: int = 250, seed: int = 6) -> None:
    """Test the whole protocol, its drop-outs, and `simulate_aggregate` for many contributors."""
    rng, data, n = dn.SimulationRandomness(seed), case.many(mechanism), mechanism.n
    for reporters in (n, n - n // 5):
        found = []
        for _ in range(draws):
            reports = mechanism.randomize(data[:reporters], mechanism.deal(n, rng)[:reporters], rng)
            found.append(estimated(mechanism, mechanism.aggregate(reports)))
        _near(case, mechanism, np.array(found), data, reporters, 3)
    simulated = [estimated(mechanism, case.simulate(mechanism, data, rng)) for _ in range(draws)]
    _near(case, mechanism, np.array(simulated), data, n, 3)


# ---------------------------------------------------------------- privacy


def worst_case(case: DealtCase, mechanism: Any) -> float:
    """Return the largest log ratio of two answers' likelihoods, given the report and (by `view`) shares."""
    seen: dict[Any, dict[Any, float]] = defaultdict(lambda: defaultdict(float))
    answers = case.answers(mechanism)
    for types, weight in case.types(mechanism):
        mine, *others = types
        known = (mine,) if case.view == "my share" else tuple(others)
        for x in answers:
            for report, w in case.says(mechanism, mine, x).items():
                seen[known, report][x] += weight * w
    worst = 0.0
    for likelihood in seen.values():
        low, high = min(likelihood.get(x, 0.0) for x in answers), max(likelihood.values())
        if high > 1e-15:
            worst = max(worst, math.inf if low <= 1e-15 else math.log(high / low))
    return worst


def keeps_its_guarantee(case: DealtCase, mechanism: Any) -> None:
    """Check that `privacy()`'s first number is at least the enumerated worst case, and equal if it is reached."""
    guarantee = mechanism.privacy()
    first = guarantee.trust_models[0]
    assert "shares" in first.view
    assert ("others' shares" in first.view) == (case.view == "others' shares")
    worst = worst_case(case, mechanism)
    assert worst <= guarantee.implemented_epsilon * (1 + 1e-12)
    assert guarantee.implemented_epsilon == mechanism.implemented_epsilon()
    assert first.epsilon == guarantee.epsilon
    if math.isfinite(guarantee.epsilon):
        assert math.log(mechanism.implemented_ratio()) <= guarantee.implemented_epsilon
        assert guarantee.implemented_epsilon <= guarantee.epsilon * (1 + 1e-12)
    if case.reached and mechanism.n == case.exact[-1]:
        assert worst == pytest.approx(guarantee.implemented_epsilon, rel=1e-9)


# ---------------------------------------------------------------- sums and several deals


def merging_is_adding(case: DealtCase, mechanism: Any, reports: Any, cuts: list[int]) -> None:
    laws.merging_is_adding(mechanism, reports, cuts)
    first, last = (cuts[0], cuts[-1]) if cuts else (0, 0)
    edges = sorted((first, last))
    a, b, c = (
        mechanism.aggregate(laws.take(reports, rows))
        for rows in (slice(0, edges[0]), slice(edges[0], edges[1]), slice(edges[1], None))
    )
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)


def deals_do_not_mix(case: DealtCase, mechanism: Any) -> None:
    other, rng, data = (
        dataclasses.replace(mechanism, deal_id="another"),
        dn.SimulationRandomness(7),
        case.many(mechanism),
    )
    mine, theirs = (m.aggregate(m.randomize(data, m.deal(m.n, rng), rng)) for m in (mechanism, other))
    refuses(MismatchError, lambda: mine + theirs, "merge")
    refuses(MismatchError, lambda: mechanism.estimate(theirs), "came from")
    refuses(EmptyAggregateError, lambda: mechanism.estimate(dn.Aggregate.empty(mechanism)))
    refuses(DamagedStateError, lambda: mine + mine, "at most as many reports")


def deals_combine(case: DealtCase, mechanism: Any) -> None:
    """Check that several deals are weighted by their reporters, which keeps the combination unbiased."""
    rng = dn.SimulationRandomness(8)
    other = case.build(mechanism.n + 10, "another")
    data = case.many(mechanism)
    half = mechanism.n // 2
    mine = mechanism.aggregate(mechanism.randomize(data[:half], mechanism.deal(mechanism.n, rng)[:half], rng))
    theirs = case.simulate(other, case.many(other), rng)
    if not case.combines:
        refuses(MismatchError, lambda: combine_deals([mine, theirs]))
        return
    both = combine_deals([mine, theirs])
    parts = [estimated(m, a) for m, a in ((mechanism, mine), (other, theirs))]
    assert both.n == half + other.n
    assert both.frequencies == pytest.approx((half * parts[0] + other.n * parts[1]) / both.n, abs=1e-12)
    errors = [m.estimate(a).standard_errors for m, a in ((mechanism, mine), (other, theirs))]
    expected = np.hypot(half * errors[0], other.n * errors[1]) / both.n
    assert both.standard_errors == pytest.approx(expected, rel=1e-9)
    refuses(MismatchError, lambda: combine_deals([mine, mine]), "the same deal")


# ---------------------------------------------------------------- errors


def refuses(error: type[Exception] | tuple[type[Exception], ...], act: Any, message: str = "") -> None:
    """Assert that an action raises this error; other errors are not caught."""
    caught = None
    try:
        act()
    except error as found:
        caught = found
    assert caught is not None, f"{error} was not raised"
    assert re.search(message, str(caught)), caught


def refuses_bad_shares(case: DealtCase, mechanism: Any) -> None:
    rng, data, n = dn.SimulationRandomness(1), case.many(mechanism), mechanism.n
    shares = mechanism.deal(n, rng)
    theirs = dataclasses.replace(mechanism, deal_id="theirs").deal(n, rng)

    def use(given: Any, rows: slice = slice(None)) -> Any:
        return lambda: mechanism.randomize(data[rows], given, rng)

    refuses(MismatchError, use(theirs), "deal “theirs”, not to deal “mine”")
    one_each = "every contributor needs one share"
    refuses(InvalidInputError, use(shares[:-1]), one_each)
    refuses(InvalidInputError, use(shares, slice(0, -1)), one_each)
    refuses(InvalidInputError, use(shares[:0]), one_each)
    # If another mechanism stores a share of this deal's name in the same way, it cannot be told from one's own share.
    foreign = QuotaUnary(2, 1.0, n, deal_id="mine").deal(n, rng)
    if mechanism.share_fields == QuotaUnary(2, 1.0, n).share_fields:
        foreign = QuotaRR(1.0, n, deal_id="mine").deal(n, rng)
    for wrong in (None, fields_of(mechanism, shares)[-1], [0] * n, foreign):
        refuses(InvalidInputError, use(wrong), "from the dealer")
    *front, last = fields_of(mechanism, shares)
    refuses(InvalidInputError, use(Shares("mine", (*front, np.full_like(last, 255)))))
    if last.ndim == 1:  # each contributor has a type, so the row is named
        one_wrong = last.copy()
        own = shares.columns[0][16] if hasattr(mechanism, "sizes") else 0
        one_wrong[16] = case.sizes(mechanism)[own] + 1
        refuses(InvalidInputError, use(Shares("mine", (*front, one_wrong))), "in row 17")
    twice = Shares.joined([shares, shares])
    refuses(InvalidInputError, lambda: mechanism.randomize(np.concatenate([data, data]), twice, rng), "duplicated")
    if isinstance(mechanism, SignedCoins):
        copied = Shares("mine", (np.full_like(last, last[0]),))
        refuses(InvalidInputError, use(copied), "duplicated")
    for wrong_n in (n + 1, n - 1)[: 1 if hasattr(mechanism, "batches") else 2]:
        refuses(InvalidParameterError, lambda wrong_n=wrong_n: mechanism.deal(wrong_n, rng), "n must be")
    refuses(InvalidParameterError, lambda: mechanism.variance(0.1, n + 1), "n must be")
    refuses(InvalidParameterError, lambda: mechanism.randomize(data, shares, None), "rng must be")


def refuses_bad_answers(case: DealtCase, mechanism: Any) -> None:
    rng, sizes = dn.SimulationRandomness(1), case.sizes(mechanism)
    shares, wrong = mechanism.deal(mechanism.n, rng), case.many(mechanism)
    for value in (sizes[0], -1):
        wrong.reshape(mechanism.n, -1)[16, 0] = value
        message = rf"0\.\.{sizes[0] - 1}, got something else in row 17"
        refuses(InvalidInputError, lambda: mechanism.randomize(wrong, shares, rng), message)
    right = case.many(mechanism)
    refuses(InvalidInputError, lambda: mechanism.randomize(right.astype(float), shares, rng), "dtype=float64")
    refuses(InvalidInputError, lambda: mechanism.randomize(right[None], shares, rng), "shape")


def collector_takes_no_shares(mechanism: Any, rng: Any) -> None:
    """Check that methods of collector and analyst have no parameter for shares, and that shares are not reports."""
    assert list(inspect.signature(mechanism.aggregate).parameters) == ["reports"]
    assert list(inspect.signature(mechanism.estimate).parameters) == ["aggregate"]
    refuses((TypeError, ValueError, dn.DeniableError), lambda: mechanism.aggregate(mechanism.deal(mechanism.n, rng)))

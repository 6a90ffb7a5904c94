"""Bands of a distribution function, and quantiles that invert them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from deniable import GRR, Estimate, SubsetSelection
from deniable.core.checks import Target
from deniable.core.ordered import Quantile
from deniable.errors import NoIntervalError
from tests.unit.core.test_questions import at, one_of


def test_a_band_that_is_asked_for_again_is_what_a_new_one_is() -> None:
    """A curve caches its bands by confidence, target and number of intervals."""
    estimate = one_of(GRR(k=4, epsilon=2.0), GRR(k=4, epsilon=2.0).aggregate([0, 1, 1, 2, 3] * 30))
    kept = estimate.cdf()
    targets: tuple[Target, ...] = ("contributors", "population")
    for confidence, target, together in itertools.product((0.9, 0.95), targets, (1, 70)):
        fresh = estimate.cdf().band(confidence, target, together)
        for _ in range(2):
            found = kept.band(confidence, target, together)
            assert np.array_equal(found, fresh)
            found[0][:] = -1


def test_quantiles_invert_the_band() -> None:
    estimate = at(SubsetSelection(k=8, epsilon=2.0), [400, 300, 200, 400, 300, 200, 100, 100], np.arange(8) * 10.0)
    cdf = estimate.cdf()
    lower, upper = cdf.interval(0.9, simultaneous=True)
    single = [answer.interval(1 - 0.1 / 7) for answer in cdf.answers]
    assert np.column_stack([lower, upper])[:-1] == pytest.approx(np.array(single), rel=1e-12)
    band = cdf.band(0.9)
    assert band[0] == pytest.approx(np.clip(np.maximum.accumulate(lower), 0, 1), rel=1e-12)
    assert band[1] == pytest.approx(np.clip(np.minimum.accumulate(upper[::-1])[::-1], 0, 1), rel=1e-12)
    wider = cdf.band(0.9, simultaneous=70)
    assert wider[0][3] == cdf.answers[3].interval(0.9, simultaneous=70)[0] < band[0][3]
    for p in (0.1, 0.25, 0.5, 0.9):
        quantile = cdf.quantile(p)
        least, most = quantile.places(0.9)
        # The band allows a place if F may reach p there: no earlier lower bound reaches p, but this upper bound does.
        allowed = [t for t in range(8) if upper[t:].min() >= p and not (t and lower[:t].max() >= p)]
        assert (least, most) == (allowed[0], allowed[-1])
        assert least <= quantile.place <= most
        assert quantile.value == quantile.place * 10.0
        assert quantile.bounds(0.9) == (least * 10.0, most * 10.0)
    assert [one.p for one in estimate.quantiles((0.2, 0.8))] == [0.2, 0.8]


def test_a_quantile_may_lie_where_the_band_just_reaches_it() -> None:
    cdf = at(SubsetSelection(k=8, epsilon=2.0), [400, 300, 200, 400, 300, 200, 100, 100], np.arange(8) * 10.0).cdf()
    lower, upper = cdf.band(0.9)
    places = [t for t in range(7) if 0 < upper[t] < 1]
    assert len(places) > 3
    for t in places:
        assert Quantile(float(upper[t]), cdf, 7).places(0.9)[0] == t
    for t in (t for t in range(7) if 0 < lower[t] < 1):
        assert Quantile(float(lower[t]), cdf, 0).places(0.9)[1] == t


def test_scores_order_the_categories() -> None:
    estimate = at(GRR(k=3, epsilon=3.0), [100, 200, 300], [5.0, 1.0, 3.0])
    assert estimate.cdf().labels == ("1", "2", "0")
    assert estimate.at_least("2").value == pytest.approx(estimate.frequencies[[2, 0]].sum())


def test_quantiles_without_reports_are_not_determined() -> None:
    nothing = Estimate(np.full(3, np.nan), 0, np.array(4.0), np.array(4.0), contributors=1000)
    for scores in (None, [1.0, 2.0, 3.0], [1.0, 2.0, math.nan]):
        (median,) = nothing.named("stars", ("1", "2", "3"), scores).quantiles([0.5])
        assert median.label == ""
        assert math.isnan(median.value)
        for ask in (median.interval, median.bounds, median.places):
            with pytest.raises(NoIntervalError, match="without reports"):
                ask()

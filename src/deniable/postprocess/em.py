"""Iterative Bayesian update (EM), which finds the frequencies under which the reports are likeliest.

The method is from Agrawal, Aggarwal, *On the design and quantification of privacy preserving data mining algorithms*
(2001), and ElSalamouny, Palamidessi, *Generalized iterative Bayesian update and applications to mechanisms for privacy
protection* (2020).

With channel P and output histogram c of n reports, one update is ``f_x <- f_x sum_y P[x,y] (c_y/n) / (f P)_y``. It
never lowers the log-likelihood L(f) = sum_y c_y ln (f P)_y, which is concave. From the uniform distribution it
converges to a maximum. A bound on the possible rise of L is known at every step: L(max) - L(f) <= n (max_x g_x - 1),
where g_x is the factor of f_x above. This bound decides when to stop.

If privacy is strong, all g_x are close to one and the plain update needs up to millions of steps. Steps are therefore
over-relaxed: each step is f_x g_x^eta, normalised. The exponent eta grows while the likelihood rises, and is cut when
the likelihood would fall. The fixed points are the same, the likelihood is monotone as before, and hundreds of times
fewer steps are needed (Salakhutdinov, Roweis, *Adaptive overrelaxed bound optimization methods*, 2003). With eta = 1
the step is the plain update.

EM needs the likelihood of the data. An aggregate determines the likelihood if it *is* the histogram of outputs. This
holds for GRR, for SquareWave, and for each attribute's column of a record mechanism over GRR. Support counts of unary
encodings, subsets and hashes no longer show which values one report supported together, so the likelihood is lost. The
product of the counts' marginal distributions would be the likelihood of data that nobody collected. For these
mechanisms, keep the reports (`iterative_bayes_reports`) or use `norm_sub`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast, overload

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.checks import checked_integer
from deniable.core.estimate import Estimate, Floats, RecordEstimate
from deniable.core.mechanism import Mechanism
from deniable.errors import InvalidParameterError, MismatchError, out_of_range, quoted
from deniable.oracles.oracle import FrequencyOracle, is_oracle
from deniable.oracles.support import FixedSize
from deniable.records.record import is_direct, is_records

Linear = Callable[[Floats], Floats]


@overload
def iterative_bayes(
    mechanism: FrequencyOracle[Any], aggregate: Aggregate, *, max_iterations: int = ..., tolerance: float = ...
) -> Estimate: ...
@overload
def iterative_bayes(
    mechanism: Mechanism[Any], aggregate: Aggregate, *, max_iterations: int = ..., tolerance: float = ...
) -> Estimate | RecordEstimate: ...
def iterative_bayes(
    mechanism: Mechanism[Any], aggregate: Aggregate, *, max_iterations: int = 10_000, tolerance: float = 1e-3
) -> Estimate | RecordEstimate:
    """Return the maximum-likelihood frequencies, by EM, of an aggregate that is a histogram of its reports.

    Parameters
    ----------
    mechanism : GRR, SquareWave, or a record mechanism over these (SPL, SMP, RSFD, RSRFD, AdaptiveSMP)
        Mechanism of the aggregate. An update takes time O(k), or O(k (k + 2b)) for SquareWave. For records, the
        frequencies of each attribute maximise the likelihood of its own column of reports.
    aggregate : Aggregate
        Aggregate with at least one report.
    max_iterations : int
        Maximum number of updates, >= 1.
    tolerance : float
        Distance > 0 in nats. Updates stop when the log-likelihood of all reports is certainly within this distance of
        its maximum. The result is then within about ``sqrt(2 tolerance)`` standard errors of the maximum-likelihood
        frequencies.

    Returns
    -------
    Estimate or RecordEstimate
        Frequencies >= 0 that sum to one. The step states the number of iterations and whether they converged, for
        instance "em (11 iterations, converged)". There are no intervals. `raw` is the mechanism's raw estimate. An
        attribute without reports stays NaN.

    Raises
    ------
    MismatchError
        If the mechanism's aggregates are not histograms of its outputs, or the aggregate came from another mechanism.
    EmptyAggregateError
        If there are no reports.
    InvalidParameterError
        If `max_iterations` or `tolerance` is out of bounds.

    Examples
    --------
    >>> from deniable import GRR
    >>> import numpy as np
    >>> grr = GRR(k=3, epsilon=1.0)
    >>> estimate = iterative_bayes(grr, grr.aggregate(np.repeat([0, 1, 2], [60, 30, 10])))
    >>> estimate.raw.frequencies.round(3), estimate.frequencies.round(3)
    (array([ 1.066,  0.242, -0.307]), array([0.861, 0.139, 0.   ]))
    >>> estimate.processing
    ('em (11 iterations, converged)',)
    """
    _check_stopping(max_iterations, tolerance)
    if is_oracle(mechanism) and mechanism.state_is_histogram:
        return _histogram(mechanism, mechanism.estimate(aggregate), aggregate.counts, max_iterations, tolerance)
    # The state of pairs is not a histogram of single attributes, whatever oracle is used for attributes that are drawn
    # alone.
    oracles = mechanism.oracles if is_records(mechanism) and mechanism.reveals != "pairs" else ()
    if not oracles or not all(oracle.state_is_histogram for oracle in oracles):
        raise MismatchError(
            "em (iterative_bayes) needs counts of every possible report, as in an aggregate of GRR, of SquareWave, or "
            f"of records over GRR, got an aggregate of {quoted(mechanism)}; use norm-sub, or iterative_bayes_reports "
            "in Python"
        )
    record: RecordEstimate = mechanism.estimate(aggregate)
    if is_direct(mechanism):
        parts = zip(oracles, record.items(), mechanism.by_attribute(aggregate), strict=True)
        return RecordEstimate(
            {
                name: _histogram(oracle, raw, part.counts, max_iterations, tolerance)
                for oracle, (name, raw), part in parts
            }
        )
    # Record mechanisms keep the columns' counts one after the other. Each column has its own (p, q).
    starts = np.cumsum([0] + [oracle.k for oracle in oracles])
    probabilities = cast(Any, mechanism).support_probabilities
    columns = zip(record.items(), starts[:-1], probabilities, strict=True)
    return RecordEstimate(
        {
            name: _column(one, aggregate.counts[start : start + one.k], p, q, max_iterations, tolerance)
            for (name, one), start, (p, q) in columns
        }
    )


def iterative_bayes_reports(
    mechanism: Mechanism[Any], reports: Any, *, max_iterations: int = 10_000, tolerance: float = 1e-3
) -> Estimate:
    """Return the maximum-likelihood frequencies of a batch of reports, by EM over the mechanism's channel.

    It works for every mechanism for one attribute whose outputs can be enumerated (`mechanism.outputs()`): GRR, subset
    selection, and unary encodings and sketches with small domains. It uses information that an aggregate does not
    contain, for instance which bits of a unary report were set together.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism of the reports. Its channel may have at most `deniable.core.mechanism.MAX_CHANNEL_CELLS` cells.
    reports : batch of reports
        Reports in the form of `mechanism.randomize`, at least one.
    max_iterations, tolerance
        See `iterative_bayes`.

    Returns
    -------
    Estimate
        See `iterative_bayes`.

    Raises
    ------
    MismatchError
        If the mechanism cannot be enumerated, or is not for one attribute.
    TooLargeError
        If the mechanism has too many outputs.
    InvalidReportError
        If a report cannot have come from the mechanism.
    EmptyAggregateError
        If there are no reports.
    InvalidParameterError
        If `max_iterations` or `tolerance` is out of bounds.

    Examples
    --------
    >>> from deniable import OUE, SimulationRandomness
    >>> import numpy as np
    >>> oue = OUE(k=3, epsilon=1.0)
    >>> reports = oue.randomize(np.repeat([0, 1, 2], [60, 30, 10]), SimulationRandomness(1))
    >>> estimate = iterative_bayes_reports(oue, reports)
    >>> float(estimate.frequencies.sum().round(12)), estimate.frequencies.min() >= 0
    (1.0, np.True_)
    """
    _check_stopping(max_iterations, tolerance)
    if not is_oracle(mechanism):
        raise MismatchError(f"iterative_bayes_reports needs a one-attribute mechanism, got {mechanism.name}")
    raw = mechanism.estimate(mechanism.aggregate(reports))
    channel = mechanism.channel()
    observed, counts = _output_histogram(mechanism.outputs(), reports)
    seen = np.ascontiguousarray(channel[:, observed])
    return _listed(raw, seen, counts, max_iterations, tolerance)


def _histogram(
    oracle: FrequencyOracle[Any], raw: Estimate, counts: NDArray[Any], max_iterations: int, tolerance: float
) -> Estimate:
    """Return the frequencies that EM finds from a histogram of the outputs of one oracle."""
    law = oracle.support_law
    if isinstance(law, FixedSize) and law.size == 1:
        return _column(raw, counts, law.p, (1 - law.p) / (law.k - 1), max_iterations, tolerance)
    return _listed(raw, oracle.channel(), counts.astype(np.float64), max_iterations, tolerance)


def _column(
    raw: Estimate, counts: NDArray[np.int64], p: Any, q: Any, max_iterations: int, tolerance: float
) -> Estimate:
    """Return EM's frequencies for a histogram of n codes with the channel q[y], plus (p - q) if y is the true code."""
    lie: Floats = np.broadcast_to(np.asarray(q, dtype=np.float64), counts.shape)
    gain = float(np.ravel(np.asarray(p, dtype=np.float64) - lie)[0])
    return _maximum_likelihood(
        raw,
        counts.astype(np.float64),
        lambda f: lie * f.sum() + gain * f,
        lambda g: lie @ g + gain * g,
        max_iterations,
        tolerance,
    )


def _listed(raw: Estimate, channel: Floats, counts: Floats, max_iterations: int, tolerance: float) -> Estimate:
    """Return EM's frequencies for a histogram of the outputs that are the channel's columns."""
    return _maximum_likelihood(raw, counts, lambda f: f @ channel, lambda g: channel @ g, max_iterations, tolerance)


def _maximum_likelihood(
    raw: Estimate, counts: Floats, forward: Linear, backward: Linear, max_iterations: int, tolerance: float
) -> Estimate:
    """Return EM's result from a uniform start, where `forward` is f -> f P and `backward` is g -> P g."""
    if raw.n == 0:
        return raw.processed(raw.frequencies, "em (no reports)")
    n = counts.sum()
    shares = np.where(counts > 0, counts / n, 1.0)

    def log_likelihood(outputs: Floats) -> float:
        # The likelihood is relative to that of the shares themselves, because smaller numbers have smaller rounding
        # errors.
        return float((counts * np.log(outputs / shares)).sum())

    frequencies = np.full(raw.k, 1 / raw.k)
    outputs = forward(frequencies)
    reached = log_likelihood(outputs)
    factor = backward(counts / outputs) / n
    iterations, eta = 0, 1.0
    while n * (factor.max() - 1) > tolerance and iterations < max_iterations:
        iterations += 1
        # The step is bounded below, because a frequency that becomes exactly zero could never come back.
        step = np.exp(np.maximum(eta * np.log(factor / factor.max()), -30.0))
        proposal = np.maximum(frequencies * step / (frequencies @ step), 1e-100)
        proposed = forward(proposal)
        value = log_likelihood(proposed)
        if value < reached and eta > 1:
            eta = max(1.0, eta / 4)
            continue
        frequencies, outputs, reached, eta = proposal, proposed, value, eta * 1.5
        factor = backward(counts / outputs) / n
    state = "converged" if n * (factor.max() - 1) <= tolerance else "not converged"
    steps = "1 iteration" if iterations == 1 else f"{iterations} iterations"
    return raw.processed(frequencies / frequencies.sum(), f"em ({steps}, {state})")


def _output_histogram(outputs: Any, reports: Any) -> tuple[Any, Floats]:
    """Return (columns, counts): the outputs that occur among the reports, as channel columns, and their counts."""
    keys = _row_keys(outputs, outputs)
    order = np.argsort(keys)
    values, counts = np.unique(_row_keys(reports, outputs), return_counts=True)
    return order[np.searchsorted(keys, values, sorter=order)], counts.astype(np.float64)


def _row_keys(batch: Any, like: Any) -> Any:
    """Return one opaque sortable key per report, the bytes of its fields in the dtypes of `like`."""
    fields = batch if isinstance(like, tuple) else (batch,)
    models = like if isinstance(like, tuple) else (like,)
    columns = []
    for field, model in zip(fields, models, strict=True):
        array = np.ascontiguousarray(np.asarray(field), dtype=model.dtype)
        columns.append(array.reshape(len(array), -1).view(np.uint8))
    table = np.ascontiguousarray(np.concatenate(columns, axis=1))
    return table.view(f"V{table.shape[1]}").ravel()


def _check_stopping(max_iterations: int, tolerance: float) -> None:
    checked_integer("max_iterations", max_iterations, 1)
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float, np.integer, np.floating)):
        raise InvalidParameterError(f"tolerance must be a number > 0, got tolerance={quoted(tolerance)}")
    if not (tolerance > 0 and math.isfinite(tolerance)):
        raise out_of_range("tolerance", "> 0 and finite", tolerance)

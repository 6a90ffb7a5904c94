"""Load times by true confidence, from the field `confidence` of Navigation Timing, which browsers randomise.

A browser replaces the true value of a load by a fair coin with probability f, its `randomizedTriggerRate`. So the value
that is shown is true with probability 1 - f/2, and e^epsilon = (2 - f)/f. This is generalised randomised response with
two values. Let S = 1 where "low" is shown. Then T = (S - f/2)/(1 - f) has the mean 1 where low is true and 0 where high
is true, whatever f a row has. Its variance is (f/2)(1 - f/2)/(1 - f)^2 in both cases.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import stats

from deniable.core.checks import checked_probability
from deniable.core.result import Result
from deniable.errors import FileFormatError, InvalidInputError, InvalidParameterError, quoted
from deniable.models.formulas import formulaic
from deniable.models.groups import GroupValues, group_means, group_quantiles
from deniable.models.reading import frame_of
from deniable.models.row_laws import Floats
from deniable.report.page import Card, Mark, Page, Section
from deniable.report.parts.interval_chart import IntervalChart
from deniable.report.parts.table import Table
from deniable.report.parts.text import Text

if TYPE_CHECKING:
    import pandas


def load_times_page(found: LoadTimes) -> Page:
    """Return the page of load times by true confidence.

    Parameters
    ----------
    found : LoadTimes
        Result of `load_times`.

    Examples
    --------
    >>> entry = {"duration": 900.0, "confidence": {"value": "high", "randomizedTriggerRate": 0.5}}
    >>> page = load_times_page(load_times([entry, entry, {"duration": 800.0}]))
    >>> print(*page.notes[:2], sep=chr(10))
    2 loads of 3 rows; left out: no confidence 1
    The shown values say 0.0% low, which is not the share of loads of truly low confidence.
    """
    level = f"{100 * found.level:g}%"
    names = [f"{one.quantity}, {one.confidence}" for one in found.times]
    low, high = (100 * end for end in (found.share.lower, found.share.upper))
    left = ", ".join(f"{reason} {count:,}" for reason, count in found.left_out.items())
    promise = (
        f"epsilon {found.epsilon:.4g} for each load" if math.isfinite(found.epsilon) else "No epsilon: a rate of 0"
    )
    rates = sorted({f"{found.lowest_rate:.7g}", f"{found.highest_rate:.7g}"})
    sentence = (
        f"{100 * found.share.value:.1f}% of loads like these have a truly low confidence "
        f"({level} interval {low:.1f}% to {high:.1f}%)."
    )
    share = _chart(["low"], [found.share], level, "share", 100.0, "{:.1f}%")
    return Page(
        title=f"Load times by true confidence: {found.outcome}",
        cards=(Card(promise, (found.privacy_statement, f"randomizedTriggerRate {' to '.join(rates)}"), promise=True),),
        sections=(
            Section("What it says", (Text((sentence,), items=True),)),
            Section("Share of low confidence", (share,)),
            Section(found.outcome, (_chart(names, found.times, level, found.outcome, 1.0, "{:,.5g}"),)),
        ),
        notes=(
            f"{found.used:,} loads of {found.rows:,} rows" + (f"; left out: {left}" if left else ""),
            f"The shown values say {100 * found.shown_low:.1f}% low, "
            "which is not the share of loads of truly low confidence.",
            "Intervals are about loads like these, drawn independently. Several loads of one person make them short.",
            "" if all(one.determined for one in found.times) else '"Not determined": the loads are too few to tell.',
        ),
        brief=f"{promise}; {found.used:,} loads",
    )


def _chart(
    labels: Sequence[str], numbers: Sequence[TrueNumber], level: str, name: str, scale: float, form: str
) -> IntervalChart:
    values = scale * np.array([one.value for one in numbers])
    ends = scale * np.array([(one.lower, one.upper) for one in numbers])
    known = np.array([one.determined for one in numbers])
    cells = [form.format(one) if there else "" for one, there in zip(values, known, strict=True)]
    intervals = [
        f"{form.format(a)} to {form.format(b)}" if there else "not determined"
        for (a, b), there in zip(ends, known, strict=True)
    ]
    marks = (
        Mark("interval", f"{level} interval", np.where(known[:, None], ends, np.nan)),
        Mark("estimate", name, np.where(known, values, np.nan)),
    )
    table = Table.of(["", name, f"{level} interval"], [list(labels), cells, intervals])
    return IntervalChart(table, marks, lambda tick: form.format(tick), rest="rows")


VALUE, RATE = "confidence.value", "confidence.randomizedTriggerRate"
"""Columns of a table that was made from entries."""

GROUPS = ("high", "low")
_JSON = (".json", ".jsonl", ".ndjson")
_STATEMENT = (
    "Browsers randomised the confidence of each load with {epsilon}. Every load is drawn anew, so the epsilons of one "
    "person's loads add up. The times beside it are not protected, and a time may tell what the value hides."
)


@dataclass(frozen=True, eq=False)
class TrueNumber(Result):
    """One number about loads with a given true confidence.

    Parameters
    ----------
    quantity : str
        "share", "mean", or a quantile such as "quantile 0.75".
    confidence : {"high", "low"}
        True confidence of the loads.
    value, standard_error : float
        The estimate, which is not clipped, and its standard error, which is NaN for quantiles.
    lower, upper : float
        Ends of the interval. Infinite if the rows do not determine the number.
    """

    quantity: str
    confidence: str
    value: float
    standard_error: float
    lower: float
    upper: float

    @property
    def determined(self) -> bool:
        """True if both ends of the interval are finite."""
        return math.isfinite(self.lower) and math.isfinite(self.upper)


@dataclass(frozen=True, eq=False)
class LoadTimes(Result):
    """Load times by true confidence, as `load_times` returns them.

    Parameters
    ----------
    privacy_statement : str
        Privacy statement to show before any result.
    outcome : str
        Name of the column of times.
    rows, used, timed : int
        Numbers of rows that were read, that have a confidence, and that also have a time.
    left_out : dict of str to int
        Numbers of rows that are not counted in `timed`, by reason.
    lowest_rate, highest_rate : float
        Lowest and highest rate of the used rows.
    epsilon : float
        ln((2 - f)/f) for the lowest rate f. Infinite if a row was not randomised.
    level : float
        Confidence level of the intervals.
    shown_low : float
        Share of "low" in the rows, before any correction.
    share : TrueNumber
        Share of loads whose true confidence is low.
    times : tuple of TrueNumber
        Mean and quantiles. Those of high confidence come first.
    """

    format: ClassVar[str] = "deniable load times"

    privacy_statement: str
    outcome: str
    rows: int
    used: int
    timed: int
    left_out: dict[str, int]
    lowest_rate: float
    highest_rate: float
    epsilon: float
    level: float
    shown_low: float
    share: TrueNumber
    times: tuple[TrueNumber, ...]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a row for each number, the share first."""
        import pandas

        return pandas.DataFrame([one.to_dict() for one in (self.share, *self.times)]).set_index(
            ["quantity", "confidence"]
        )


def low_indicators(shown_low: Floats, rates: Floats) -> Floats:
    """Return unbiased indicators of true low confidence, one for each row.

    Parameters
    ----------
    shown_low : float64[n]
        1 where "low" is shown.
    rates : float64[n]
        Rate `randomizedTriggerRate` of each row, below 1.

    Examples
    --------
    >>> low_indicators(np.array([1.0, 0.0, 1.0]), np.array([0.5, 0.5, 0.0]))
    array([ 1.5, -0.5,  1. ])
    """
    return (shown_low - rates / 2) / (1 - rates)


def noise_variances(rates: Floats) -> Floats:
    """Return the variances of `low_indicators`, which do not depend on what is true.

    Examples
    --------
    >>> noise_variances(np.array([0.5, 0.0]))
    array([0.75, 0.  ])
    """
    return rates / 2 * (1 - rates / 2) / (1 - rates) ** 2


def _share(told: Floats, rates: Floats, level: float) -> TrueNumber:
    """Return the share of true low confidence among loads like these, with a score interval.

    The mean of n indicators has the variance (V + s(1 - s))/n at the share s, where V is the mean noise variance.
    """
    n, value = len(told), float(told.mean())
    noise = float(noise_variances(rates).mean())
    spread = float(stats.norm.ppf(0.5 + level / 2)) ** 2 / n
    middle = (2 * value + spread) / (2 * (1 + spread))
    # The square is negative only if no share from 0 to 1 is near, because the noise happened to be far out.
    square = middle**2 - (value**2 - spread * noise) / (1 + spread)
    half = math.sqrt(max(square, 0.0))
    lower, upper = (min(max(end, 0.0), 1.0) for end in (middle - half, middle + half))
    error = math.sqrt((noise + max(value * (1 - value), 0.0)) / n)
    return TrueNumber("share", "low", value, error, lower, upper)


def _table(rows: Any) -> pandas.DataFrame:
    """Return rows as a table.

    The rows are a file, a table, or a list of entries as `JSON.stringify` writes them.
    """
    formulaic()
    import pandas

    if isinstance(rows, (str, os.PathLike)) and str(rows).lower().endswith(_JSON):
        return pandas.json_normalize(_entries(Path(rows)))
    if isinstance(rows, list):
        return pandas.json_normalize(rows)
    return frame_of(rows)


def _entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a JSON list, or of a file with one entry in each line."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise FileFormatError(f"there is no file {path}") from error
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{path} must be UTF-8 text, but it is in another encoding; save the file as UTF-8"
        ) from error
    whole = text.lstrip().startswith("[")
    pieces = [(1, text)] if whole else [(at, one) for at, one in enumerate(text.splitlines(), 1) if one.strip()]
    found: list[Any] = []
    for at, piece in pieces:
        try:
            read = json.loads(piece)
        except ValueError as error:
            raise FileFormatError(f"{path}, row {at}: every entry must be JSON on one line") from error
        entries = read if whole else [read]
        if not all(isinstance(one, Mapping) for one in entries):
            raise FileFormatError(f"{path}, row {at}: every entry must be a JSON object")
        found += entries
    return found


def _column(table: pandas.DataFrame, name: str, option: str) -> pandas.Series:
    if name not in table.columns:
        known = ", ".join(map(str, table.columns)) or "none"
        raise InvalidParameterError(
            f"{option} must name a column ({known}), got {option}={quoted(name)}", parameters=(option,)
        )
    return table[name]


def _numbers(table: pandas.DataFrame, name: str, option: str) -> Floats:
    """Return a column as numbers, with NaN where a cell is empty."""
    import pandas

    column = _column(table, name, option)
    numbers: Floats = pandas.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.isnan(numbers) & column.notna().to_numpy() & (column.astype(str) != "").to_numpy()
    if wrong.any():
        raise InvalidInputError(f"row {int(np.flatnonzero(wrong)[0]) + 1}: {name} must be a number or empty")
    return numbers


def load_times(
    rows: Any,
    outcome: str = "duration",
    *,
    quantiles: Sequence[float] = (0.5, 0.75, 0.95),
    confidence: float = 0.95,
    value: str = VALUE,
    rate: str = RATE,
) -> LoadTimes:
    """Analyst: return the share of loads with truly low confidence, and load times by true confidence.

    Rows may have different rates. Rows without a confidence are left out and counted, and so are rows with the rate 1,
    which reveal nothing. Times that are empty or not positive are also left out, because such loads were not finished.

    Parameters
    ----------
    rows : path, table, or list of dict
        Page loads, one in each row. A file may be CSV, Parquet or JSON (a list, or an entry in each line). A table is a
        data frame. Entries of a list are those that `PerformanceNavigationTiming.toJSON` returns.
    outcome : str
        Name of the column of times.
    quantiles : sequence of float
        Shares in (0, 1).
    confidence : float
        Confidence level of the intervals, for loads that are drawn independently from the same distribution as these
        rows.
    value, rate : str
        Name of the column with "high" or "low", and name of the column with the rate (`randomizedTriggerRate`).

    Raises
    ------
    InvalidInputError
        If a value is neither "high" nor "low", a rate is not in [0, 1], or fewer than two rows are left.
    InvalidParameterError
        If a column is missing, or a level or a quantile is not in (0, 1).
    FileFormatError
        If the file cannot be read.

    References
    ----------
    W3C, *Navigation Timing Level 2*, `PerformanceTimingConfidence`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> low = rng.random(20_000) < 0.3
    >>> shown = np.where(rng.random(20_000) < 0.5, rng.random(20_000) < 0.5, low)
    >>> rows = {"confidence.value": np.where(shown, "low", "high"), "duration": 900.0 + 600 * low}
    >>> found = load_times(rows | {"confidence.randomizedTriggerRate": np.full(20_000, 0.5)})
    >>> round(found.shown_low, 2), round(found.share.value, 2), round(math.exp(found.epsilon), 12)
    (0.4, 0.3, 3.0)
    >>> [(one.confidence, round(one.value, -1)) for one in found.times if one.quantity == "mean"]
    [('high', 900.0), ('low', 1500.0)]
    """
    level = checked_probability("confidence", confidence, open_interval=True)
    for share in quantiles:
        checked_probability("quantiles", share, open_interval=True)
    if len(set(quantiles)) < len(quantiles):
        raise InvalidParameterError(f"quantiles must be different, got quantiles={quoted(tuple(quantiles))}")
    table = _table(rows)
    shown, rates = _column(table, value, "value"), _numbers(table, rate, "rate")
    times = _numbers(table, outcome, "outcome")
    filled = shown.notna().to_numpy() & (shown.astype(str) != "").to_numpy()
    wrong = filled & ~shown.isin(GROUPS).to_numpy()
    if wrong.any():
        raise InvalidInputError(f"row {int(np.flatnonzero(wrong)[0]) + 1}: {value} must be high, low or empty")
    outside = filled & ~((rates >= 0) & (rates <= 1))
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        raise InvalidInputError(f"row {row + 1}: {rate} must be in [0, 1], got {rates[row]:g}")
    used = filled & (rates < 1)
    timed = used & np.isfinite(times) & (times > 0)
    reasons = {"no confidence": ~filled, "rate 1, which says nothing": filled & ~used, "no time": used & ~timed}
    if timed.sum() < 2:
        raise InvalidInputError(f"at least two loads must have a confidence and a time, got {timed.sum()} such loads")
    low = (shown == "low").to_numpy()[used].astype(np.float64)
    told, own = low_indicators(low, rates[used]), rates[used]
    both = np.stack([1 - told, told], axis=1)[timed[used]]
    lengths = times[timed]
    found = [("mean", group_means(both, lengths, GROUPS, level))]
    found += [(f"quantile {one:g}", group_quantiles(both, lengths, one, GROUPS, level)) for one in quantiles]
    lowest = float(own.min())
    epsilon = math.log((2 - lowest) / lowest) if lowest else math.inf
    said = f"epsilon {epsilon:.4g}" if lowest else "a rate of 0 in some rows, which gives no protection"
    return LoadTimes(
        _STATEMENT.format(epsilon=said if lowest == own.max() or not lowest else f"{said} at most"),
        outcome,
        len(table),
        int(used.sum()),
        int(timed.sum()),
        {reason: int(where.sum()) for reason, where in reasons.items() if where.any()},
        lowest,
        float(own.max()),
        epsilon,
        level,
        float(low.mean()),
        _share(told, own, level),
        tuple(_numbers_of(place, name, one) for place in range(2) for name, one in found),
    )


def _numbers_of(place: int, quantity: str, found: GroupValues) -> TrueNumber:
    columns = (found.values, found.standard_errors, found.lower, found.upper)
    return TrueNumber(quantity, GROUPS[place], *(float(column[place]) for column in columns))

"""Plan with one row per mechanism, the assumptions, and the recommended row."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, ClassVar

import pyarrow as pa

from deniable.core.mechanism import Mechanism
from deniable.core.result import HIDDEN, OPTIONAL, Result
from deniable.oracles.sketch.pilot import BoundPrice
from deniable.planning.precision import mean_variance, quantile, worst_variance

TIE = 0.01
"""Mean variances within 1% of the least are a tie. Nobody sees half a percent of a standard error, but reports may
differ a thousandfold in size."""


@dataclass(frozen=True)
class PlanRow(Result):
    """Expected errors of one mechanism; numbers are None if the mechanism cannot be built.

    Parameters
    ----------
    name : str
        Name of the mechanism. "SPL[OUE]" is SPL over OUE.
    mechanism : Mechanism or None
        Mechanism, ready to use. With two phases, this is the mechanism of phase one.
    parameters : mapping
        Fields of its specification, for instance ``{"k": 4, "epsilon": "1"}``.
    mean_variance : float
        Variance averaged over values, attributes and uniformly distributed frequencies. Mechanisms are compared by this
        number. For a biased estimate it is the mean squared error.
    mean_standard_error : float
        Square root of `mean_variance`.
    standard_error : float
        Standard error of a category with true frequency `Plan.frequency`, for the worst attribute.
    half_width : float
        Half-width of the interval for this category at `Plan.confidence`: z standard errors.
    bits_per_report : float
        Information content of one report.
    contributors_needed : int or None
        Smallest number of contributors with a `half_width` of at most `Plan.target_error`, to four digits. None without
        a target.
    feasible : bool
        Whether the mechanism can be built, is practical, and reaches the target with the given contributors.
    reason : str
        Reason why the mechanism is infeasible, or "".
    note : str
        Further facts that a reader must know.
    mean_bias : float
        Root of the mean squared bias, which is part of `mean_standard_error`. 0 if the estimate is unbiased. A biased
        estimate has no standard error and no interval.
    recommended : bool
        True for at most one row. It is the feasible row with the least mean variance, or with fewer bits if mean
        variances differ by at most 1%.

    Examples
    --------
    >>> from deniable.planning import plan
    >>> (row,) = plan([100], 1.0, contributors=50_000, mechanisms=["OUE"]).rows
    >>> row.parameters, row.bits_per_report, round(row.half_width, 4), row.feasible
    ({'k': 100, 'epsilon': '1'}, 100.0, 0.0168, True)
    """

    name: str
    mechanism: Mechanism[Any] | None = field(default=None, repr=False, metadata=HIDDEN)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    mean_variance: float | None = None
    mean_standard_error: float | None = None
    standard_error: float | None = None
    half_width: float | None = None
    bits_per_report: float | None = None
    contributors_needed: int | None = None
    feasible: bool = False
    reason: str = ""
    note: str = ""
    mean_bias: float = 0.0
    recommended: bool = False

    def expected(self, n: int, frequency: float, confidence: float) -> PlanRow:
        """Return the row of a mechanism, with its errors for n contributors."""
        assert self.mechanism is not None
        average, error = mean_variance(self.mechanism, n), math.sqrt(worst_variance(self.mechanism, frequency, n))
        return replace(
            self,
            mean_variance=average,
            mean_standard_error=math.sqrt(average),
            standard_error=error,
            half_width=quantile(confidence) * error,
        )


@dataclass(frozen=True)
class Plan(Result):
    """A comparison of mechanisms and its assumptions, as `plan` returns it.

    Parameters
    ----------
    sizes : tuple of int
        Domain sizes of the attributes.
    epsilon : float or Fraction
        Whole-contributor budget.
    n : int
        Number of contributors for which errors are computed: the given number, or else the smallest number with which
        some mechanism reaches the target.
    contributors : int or None
        Given number of contributors.
    target_error : float or None
        Given half-width.
    frequency : float
        True frequency of the category for `standard_error` and `half_width`.
    confidence : float
        Confidence of the intervals.
    rows : tuple of PlanRow
        Rows, those with the least mean variance first. Mechanisms that cannot be built come last.
    dealt : tuple of PlanRow
        Rows of mechanisms that need a dealer, if `contributors` was given and no mechanism was named. They are never
        recommended.
    bound : BoundPrice or None
        Gain and cost of a bound on all frequencies, if `max_frequency` or `pilot` was given.
    pilot : int
        Number of contributors in a first phase that finds the bound, or 0.
    expected_bound : bool
        Whether the bound was not given, but is the bound that a pilot of this size finds if all values are rare.

    Examples
    --------
    >>> from deniable.planning import plan
    >>> result = plan([4, 4], epsilon=1.0, contributors=10_000)
    >>> [row.name for row in result.rows][:2], result.recommended.name
    (['SMP[GRR]', 'SMP[ADP]'], 'SMP[GRR]')
    >>> result.to_arrow().column("mean_standard_error").to_numpy().round(4)[:2]
    array([0.0198, 0.0198])
    """

    also: ClassVar = {"assumptions": "assumptions", "recommended": "choice"}

    sizes: tuple[int, ...]
    epsilon: float | Fraction
    n: int
    contributors: int | None
    target_error: float | None
    frequency: float
    confidence: float
    rows: tuple[PlanRow, ...]
    dealt: tuple[PlanRow, ...] = ()
    bound: BoundPrice | None = field(default=None, metadata=OPTIONAL)
    pilot: int = field(default=0, metadata=OPTIONAL)
    expected_bound: bool = field(default=False, metadata=OPTIONAL)

    @property
    def recommended(self) -> PlanRow | None:
        """The recommended row, or None if no mechanism is feasible."""
        return next((row for row in self.rows if row.recommended), None)

    @property
    def choice(self) -> str | None:
        """Name of the recommended row."""
        return None if self.recommended is None else self.recommended.name

    @property
    def verdict(self) -> str:
        """The recommendation in words, or the reason why there is none."""
        if self.recommended is not None:
            return f"recommended: {self.choice}"
        known = [(row.contributors_needed, row) for row in self.rows if row.contributors_needed is not None]
        if not known:
            return f"infeasible: {'; '.join(dict.fromkeys(row.reason for row in self.rows))}"
        nearest = min(known, key=lambda one: one[0])[1]
        return f"infeasible: {nearest.name} {nearest.reason}"

    @property
    def feasible(self) -> bool:
        """Return whether any mechanism is feasible."""
        return self.recommended is not None

    @property
    def assumptions(self) -> str:
        """Assumptions behind the numbers, in one line."""
        rare = "f -> 0" if self.frequency == 0 else f"f = {self.frequency:g}"
        worst = "" if len(self.sizes) == 1 else ", worst attribute"
        target = "" if self.target_error is None else f" Target: half-width <= {self.target_error:g} at {rare}."
        return (
            f"For {self.n:,} contributors. Errors allow for the noise only, so they are about these contributors and "
            "not about a wider population. "
            f"Standard error and {100 * self.confidence:g}% half-width at {rare}{worst}; "
            f"mean standard error over all values and a flat prior.{target}"
        )

    def to_arrow(self) -> pa.Table:
        """Return the rows as a pyarrow table: the fields of `PlanRow` except `mechanism`; parameters as JSON."""
        texts = ("name", "parameters", "reason", "note")
        flags = ("feasible", "recommended")
        columns = {}
        for name in (one.name for one in fields(PlanRow)):
            if name != "mechanism":
                kind = pa.string() if name in texts else pa.bool_() if name in flags else pa.float64()
                kind = pa.int64() if name == "contributors_needed" else kind
                values = [getattr(row, name) for row in self.rows]
                columns[name] = pa.array([json.dumps(v) if name == "parameters" else v for v in values], kind)
        return pa.table(columns)

    def __str__(self) -> str:
        lines = [f"{'mechanism':<17}{'std error':>10}{'mean s.e.':>10}{'±':>9}{'bits':>10}{'needed':>14}"]
        for row in self.rows:
            if row.mechanism is None:
                numbers = f"{'-':>10}{'-':>10}{'-':>9}{'-':>10}{'-':>14}"
            else:
                needed = "-" if row.contributors_needed is None else f"{row.contributors_needed:,}"
                errors = "".join(
                    f"{'-':>{width}}" if value is None else f"{value:>{width}.5f}"
                    for value, width in ((row.standard_error, 10), (row.mean_standard_error, 10), (row.half_width, 9))
                )
                numbers = f"{errors}{row.bits_per_report:>10,.1f}{needed:>14}"
            verdict = "  recommended" if row.recommended else "" if row.feasible else f"  infeasible: {row.reason}"
            lines.append(f"{row.name:<17}{numbers}{verdict}")
        return "\n".join([*lines, self.assumptions])


def best_row(rows: Sequence[PlanRow]) -> PlanRow | None:
    """Return the feasible row of least mean variance (a tie: fewer bits, then the earlier), None if there is none."""
    compared = [
        (row.mean_variance, row.bits_per_report, row)
        for row in rows
        if row.feasible and row.mean_variance is not None and row.bits_per_report is not None
    ]
    if not compared:
        return None
    tied = (1 + TIE) * min(variance for variance, _, _ in compared)
    # Bits are rounded, because log2 k computed in two ways must be one number.
    return min((round(bits, 6), i, row) for i, (variance, bits, row) in enumerate(compared) if variance <= tied)[2]

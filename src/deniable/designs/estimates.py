"""Results of designs: estimated shares with intervals, the evidence of reports, and warnings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import final

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Target, checked_probability
from deniable.core.estimate import Estimate
from deniable.core.result import HIDDEN, Result
from deniable.errors import InvalidParameterError, out_of_range

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class DesignEstimate(Result):
    """Estimated shares of the truths behind the reports of a design; never clipped.

    Attributes
    ----------
    design : str
        The design with its parameters.
    counts : tuple of int
        Number of times that each report was given.
    n : int
        Number of reports.
    shares, standard_errors, lower, upper : float64[k]
        Shares of all truths with standard errors and intervals. If there are two truths, truth 1 is the sensitive
        answer. If an exact interval contains no share from 0 to 1, both its ends are 0 or both are 1.
    unbiased_variances : float64[k]
        Squared standard errors for the population, computed with the divisor n - 1, as in the R package RRreg.
    target : {"population", "contributors"}
        Target of standard errors and intervals.
    confidence : float
        Coverage of the intervals.
    odds : tuple of str
        Largest evidence of a report for each truth; "inf" if a report can prove it.
    sentences : tuple of str
        The odds in words.
    warnings : tuple of str
        Warnings about these reports.
    noes_share : float
        Share of people who say no whatever the device says, as assumed in `noes`; otherwise 0.
    """

    format = "deniable design estimate"

    design: str
    counts: tuple[int, ...]
    n: int
    shares: Floats
    standard_errors: Floats
    lower: Floats
    upper: Floats
    unbiased_variances: Floats
    target: Target
    confidence: float
    odds: tuple[str, ...]
    sentences: tuple[str, ...]
    warnings: tuple[str, ...]
    estimate: Estimate = field(metadata=HIDDEN)
    chances: tuple[float, ...] = field(default=(), metadata=HIDDEN)
    noes_share: float = 0.0

    @property
    def prevalence(self) -> float:
        """Estimated share of the sensitive answer."""
        self._check_two()
        return float(self.shares[1])

    @property
    def standard_error(self) -> float:
        """Standard error of the prevalence."""
        self._check_two()
        return float(self.standard_errors[1])

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of the prevalence."""
        self._check_two()
        return float(self.lower[1]), float(self.upper[1])

    def _check_two(self) -> None:
        if len(self.shares) != 2:
            raise InvalidParameterError(
                f"only a design with two possible true answers has one prevalence, but {self.design} has "
                f"{len(self.shares)} possible true answers; read shares, lower and upper instead"
            )

    def noes(self, delta: float) -> DesignEstimate:
        """Return the estimate if a given share of people say no whatever the device says.

        Report 0 is "no". The share is assumed and not estimated, so show the results for a range of shares.

        Parameters
        ----------
        delta : float
            Share of these people, in [0, 1).

        Raises
        ------
        InvalidParameterError
            If the share is out of bounds, or the design does not have two reports.

        Examples
        --------
        >>> from deniable import designs
        >>> found = designs.forced("1/6", "1/6").estimate_counts([1604, 831])
        >>> [round(found.noes(delta).prevalence, 3) for delta in (0, 0.05, 0.1)]
        [0.262, 0.289, 0.319]
        """
        delta = checked_probability("delta", delta)
        if delta == 1:
            raise out_of_range("delta", "in [0, 1)", delta)
        if len(self.chances) != 2 or self.noes_share:
            raise InvalidParameterError(
                "noes works only with a design that has two possible reports, and only on an estimate with "
                f"noes_share=0, got an estimate of {self.design} with noes_share={self.noes_share}"
            )
        no, yes = self.chances

        def moved(shares: Floats) -> Floats:
            found = ((no + (yes - no) * shares[1]) / (1 - delta) - no) / (yes - no)
            return np.array([1 - found, found])

        lower, upper = moved(self.lower), moved(self.upper)
        return replace(
            self,
            shares=moved(self.shares),
            standard_errors=self.standard_errors / (1 - delta),
            lower=np.array([1 - upper[1], lower[1]]),
            upper=np.array([1 - lower[1], upper[1]]),
            unbiased_variances=self.unbiased_variances / (1 - delta) ** 2,
            noes_share=delta,
        )


def tail_beyond(count: int, n: int, chance: float, z: float, *, few: bool, above: bool) -> float:
    """Return the probability of a count at least this extreme, if nobody or everybody held the truth that it supports.

    Parameters
    ----------
    count, n : int
        Reports that support the truth, and all reports.
    chance : float
        Probability of such a report.
    z : float
        Distance of the estimate beyond 0 or 1, in standard errors at that end.
    few : bool
        True to use the exact distribution of the count. False to use the normal approximation, as intervals do.
    above : bool
        True if larger counts are more extreme.
    """
    if not few:
        return 1 - NormalDist().cdf(z)
    from scipy import stats  # only small counts need scipy

    return float(stats.binom.sf(count - 1, n, chance) if above else stats.binom.cdf(count, n, chance))

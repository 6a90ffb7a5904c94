"""Estimate: what the analyst reads, with what it is sure of and what it is not.

Every unbiased estimator in this library is affine in a sum of independent per-contributor terms, so one contributor
adds variance ``noise_absent`` to the frequency of a category they do not hold and ``noise_present`` to one they
do. Two uncertainties follow, and every interval says which one it covers:

* ``target="contributors"``: the frequency among these very contributors; noise of the mechanism only;
* ``target="population"``: the frequency in the population they were drawn from; noise and sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_integer, checked_probability
from deniable.core.renderers import render
from deniable.errors import InvalidParameterError, MissingExtraError, NoIntervalError, UnknownCategoryError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa
    from matplotlib.figure import Figure

FEW = 25.0
"""Expected mistakes below which a count is no normal variable: Poisson(25) puts all but .055 on its score interval."""

Floats = NDArray[np.float64]
Target = Literal["contributors", "population"]
Probability = float | Fraction


SHOWN, MOST_SHOWN = 10, 30
"""Categories that a text, and that a picture, lists of an estimate."""


def _frozen(values: ArrayLike) -> Floats:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


class _Labels:
    """The field `labels`: the default names "0", "1", ... are made when first read, for domains of millions."""

    @overload
    def __get__(self, estimate: None, owner: type) -> tuple[()]: ...
    @overload
    def __get__(self, estimate: Estimate, owner: type) -> tuple[str, ...]: ...
    def __get__(self, estimate: Estimate | None, owner: type) -> tuple[str, ...]:
        if estimate is None:
            return ()  # the field's default
        if not estimate.__dict__["_labels"]:
            estimate.__dict__["_labels"] = tuple(str(v) for v in range(estimate.k))
        stored: tuple[str, ...] = estimate.__dict__["_labels"]
        return stored

    def __set__(self, estimate: Estimate, labels: Sequence[str]) -> None:
        estimate.__dict__["_labels"] = tuple(labels)


@dataclass(frozen=True, eq=False)
class SupportCounts:
    """What an estimate was made from, where every report supports v on its own: the law of the counts is known.

    Parameters
    ----------
    counts : int64[k]
        Number of reports that support each value.
    n : int
        Number of reports.
    p, q : float64 or float64[k]
        Probability that a report supports v if its contributor holds v, and, whatever they hold instead, if not.
    """

    counts: NDArray[np.int64]
    n: int
    p: Floats
    q: Floats

    def bounds(self, tail: float, target: Target) -> tuple[Floats, Floats]:
        """Return exact bounds, each float64[k]; NaN where at least `FEW` reports are expected to be mistaken."""
        few = np.broadcast_to(self.n * np.minimum(self.q, 1 - self.p) < FEW, self.counts.shape)
        lower, upper = np.full((2, len(few)), np.nan)
        if few.any():
            from deniable.core import exact_interval  # loads scipy

            exact = exact_interval.of_contributors if target == "contributors" else exact_interval.of_population
            p, q = (np.broadcast_to(share, few.shape)[few] for share in (self.p, self.q))
            # Of a million categories with one law most have one of few counts.
            alike = self.p.ndim == self.q.ndim == 0
            _, first, which = np.unique(
                self.counts[few] if alike else np.arange(len(p)), return_index=True, return_inverse=True
            )
            found = exact(self.counts[few][first], self.n, p[first], q[first], tail)
            lower[few], upper[few] = (bound[which] for bound in found)
        return lower, upper

    def of(self, codes: NDArray[np.int64]) -> SupportCounts:
        """Return the counts of chosen categories."""
        p, q = (share if share.ndim == 0 else share[codes] for share in (self.p, self.q))
        return SupportCounts(self.counts[codes], self.n, p, q)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated frequencies of the k categories of one attribute.

    Analysts get one from ``mechanism.estimate(aggregate)``. Raw estimates are unbiased and never clipped: they may be
    negative or exceed one, and their standard errors say why.

    Parameters
    ----------
    frequencies : float64[k]
        Estimated frequencies.
    n : int
        Number of reports the estimate is made from.
    noise_absent, noise_present : float64[k] or float
        Variance of one report's unbiased estimate of 1[x = v] when the contributor does not, or does, hold v.
        In units of squared frequency; the mechanism's noise only.
    contributors : int, optional
        Number of contributors the reports were sampled from; n unless the mechanism samples attributes (SMP).
    labels : sequence of str, optional
        Category names; "0", "1", ... by default.
    attribute : str, optional
        The attribute's name, for tables and plots.
    processing : tuple of str
        The post-processing that made this estimate, oldest first; empty for a raw estimate.
    raw : Estimate, optional
        The raw estimate behind a post-processed one, where there is an unbiased one.
    bounds : callable, optional
        The mechanism's own interval for these contributors, where its reports are no independent sum: (tail) -> (lower,
        upper), each float64[k], either bound failing with probability at most `tail`.
    support : SupportCounts, optional
        The counts behind the frequencies, where their law is known: a sum of two binomials.

    Raises
    ------
    InvalidParameterError
        If there is not one label per category.

    Examples
    --------
    >>> from deniable import GRR
    >>> import numpy as np
    >>> grr = GRR(k=2, epsilon=1.0)
    >>> estimate = grr.estimate(grr.aggregate(np.repeat([0, 1], [300, 100])))
    >>> estimate.frequencies.round(3)
    array([ 1.041, -0.041])
    >>> estimate.standard_errors.round(3)
    array([0.048, 0.048])
    >>> [bound.round(2) for bound in estimate.interval(0.95)]
    [array([ 0.95, -0.14]), array([1.14, 0.05])]
    """

    frequencies: Floats
    n: int
    noise_absent: Floats
    noise_present: Floats
    contributors: int = -1
    labels: _Labels = _Labels()
    attribute: str = ""
    processing: tuple[str, ...] = ()
    raw: Estimate | None = field(default=None, repr=False)
    bounds: Callable[[float], tuple[Floats, Floats]] | None = field(default=None, repr=False)
    support: SupportCounts | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        frequencies = _frozen(self.frequencies)
        object.__setattr__(self, "frequencies", frequencies)
        for name in ("noise_absent", "noise_present"):
            object.__setattr__(self, name, _frozen(np.broadcast_to(getattr(self, name), frequencies.shape)))
        if self.contributors < 0:
            object.__setattr__(self, "contributors", self.n)
        given = len(self.__dict__["_labels"])
        if given not in (0, len(frequencies)):
            raise InvalidParameterError(f"labels must name all {len(frequencies)} categories, got {given} labels")

    def __repr__(self) -> str:
        about = f" of {self.attribute!r}" if self.attribute else ""
        steps = f", after {', '.join(self.processing)}" if self.processing else ""
        codes = np.arange(self.k) if self.k <= SHOWN else np.sort(self._largest(SHOWN))
        lines = [f"Estimate{about}: k = {self.k:,}, n = {self.n:,}{steps}"]
        for code, error in zip(codes, self[codes].standard_errors, strict=True):
            uncertain = f" +- {error:.5g}" if self.is_raw else ""
            lines.append(f"  {self.labels[code]!r}: {self.frequencies[code]:.5g}{uncertain}")
        if self.k > SHOWN:
            lines.append(f"  and {self.k - SHOWN:,} categories with smaller estimates")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        shown: str = render("html", {self.attribute or "frequencies": self.top(MOST_SHOWN)})
        return shown

    def __getitem__(self, labels: str | Sequence[str] | NDArray[np.int64]) -> Estimate:
        """Return the estimate of one category, or of several, by label or, in an array, by code.

        Raises
        ------
        UnknownCategoryError
            If there is no such category, naming the label.
        """
        if isinstance(labels, np.ndarray):
            return self._of(labels)
        codes = self._codes
        wanted = [labels] if isinstance(labels, str) else list(labels)
        for label in wanted:
            if label not in codes:
                raise UnknownCategoryError(f"estimate must have the category {label!r}, it does not")
        return self._of(np.array([codes[label] for label in wanted], dtype=np.int64))

    def top(self, n: int = 10) -> Estimate:
        """Return the estimate of the n most frequent categories, the largest first.

        They were selected by their own estimates: intervals that shall hold nevertheless take ``simultaneous`` = the
        number of categories that they were selected from.

        Examples
        --------
        >>> from deniable import GRR
        >>> grr = GRR(k=3, epsilon=3.0)
        >>> colours = grr.estimate(grr.aggregate([0, 2, 2, 1, 2])).named("colour", ["red", "green", "blue"])
        >>> colours.top(1)
        Estimate of 'colour': k = 1, n = 5
          'blue': 0.64192 +- 0.13529
        """
        return self._of(self._largest(min(checked_integer("n", n, 1), self.k)))

    def plot(self) -> Figure:
        """Return a matplotlib figure of the most frequent categories, with intervals where there are any."""
        figure: Figure = render("figure", {self.attribute or "frequencies": self.top(MOST_SHOWN)})
        return figure

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {label: code for code, label in enumerate(self.labels)}

    def _largest(self, n: int) -> NDArray[np.int64]:
        ranked: NDArray[np.int64] = np.argsort(-self.frequencies, kind="stable")[:n]
        return ranked

    def _of(self, codes: NDArray[np.int64]) -> Estimate:
        bounds, support, raw = self.bounds, self.support, self.raw
        return replace(
            self,
            frequencies=self.frequencies[codes],
            noise_absent=self.noise_absent[codes],
            noise_present=self.noise_present[codes],
            labels=tuple(self.labels[code] for code in codes),
            raw=None if raw is None else raw._of(codes),
            bounds=None if bounds is None else lambda tail: _chosen(bounds(tail), codes),
            support=None if support is None else support.of(codes),
        )

    @property
    def k(self) -> int:
        """Domain size."""
        return len(self.frequencies)

    @property
    def is_raw(self) -> bool:
        """Whether the frequencies are the mechanism's own unbiased estimate."""
        return not self.processing

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of the frequencies among these contributors (noise only), float64[k].

        NaN after post-processing: read ``estimate.raw.standard_errors`` instead. Infinite without reports.
        """
        return self.standard_errors_for("contributors")

    def standard_errors_for(self, target: Target) -> Floats:
        """Return standard errors for a target, float64[k]: "contributors" (noise) or "population" (and sampling)."""
        _check_target(target)
        if not self.is_raw:
            return np.full(self.k, np.nan)
        if self.n == 0:
            return np.full(self.k, np.inf)
        f = np.clip(self.frequencies, 0.0, 1.0)
        noise = self.noise_absent + (self.noise_present - self.noise_absent) * f
        return np.sqrt(noise / self.n + f * (1 - f) * self._sampling(target))

    def interval(
        self, confidence: float = 0.95, *, target: Target = "contributors", simultaneous: bool | int = False
    ) -> tuple[Floats, Floats]:
        """Return (lower, upper) confidence bounds, each float64[k].

        Where the law of the counts is known (`support`) and fewer than 25 mistaken reports are expected,
        min(n q, n (1 - p)) < 25, the interval inverts that law exactly (`deniable.core.exact_interval`), within [0, 1],
        and covers at least what it says at every n and f. A raw estimate outside [0, 1] lies outside that interval.

        Elsewhere it is all frequencies f that a z-test with the variance *at f* does not reject (Wilson's construction,
        mapped through the affine estimator), not clipped to [0, 1]. For these contributors, a mechanism of dealt coins
        has its own (`bounds`).

        Parameters
        ----------
        confidence : float
            Coverage in (0, 1).
        target : {"contributors", "population"}
            What the interval covers: noise only, or noise and sampling from a large population.
        simultaneous : bool or int
            True: all k intervals hold together with `confidence`, by Bonferroni's bound. An integer >= 1 gives the
            number of intervals that shall hold together, for instance over several attributes.

        Returns
        -------
        (float64[k], float64[k])
            Lower and upper bounds; NaN if there are no reports.

        Raises
        ------
        InvalidParameterError
            If the confidence, the target or the number of intervals is out of bounds.
        NoIntervalError
            If the estimate was post-processed.

        Notes
        -----
        The score interval takes the sum of the reports to be normal. From 25 expected mistakes on, single intervals of
        95% for these contributors cover at least .925 (`make intervals`), in steps with n and f.

        If reports are of a random part of the contributors (SMP: n_j of n report attribute j), holders among them are
        random, too, and the interval for all contributors is a score interval at every count: no exact coverage is
        claimed for it. Where all reports count, as with SPL, RS+FD and RS+RFD, it is exact as above; for the population
        it is with SMP, too, given n_j.
        """
        _check_target(target)
        confidence = checked_probability("confidence", confidence, open_interval=True)
        comparisons = self._comparisons(simultaneous)
        if not self.is_raw:
            steps = ", ".join(self.processing)
            instead = "; use estimate.raw.interval(...)" if self.raw is not None and self.raw.is_raw else ""
            raise NoIntervalError(f"no valid interval is known after {steps}{instead}")
        if self.n == 0:
            nothing = np.full(self.k, np.nan)
            return nothing, nothing.copy()
        if self.bounds is not None and target == "contributors":
            return self.bounds((1 - confidence) / (2 * comparisons))
        tail = (1 - confidence) / (2 * comparisons)
        lower, upper = self._score(tail, target)
        if self.support is not None and (target == "population" or self.contributors == self.n):
            exact = self.support.bounds(tail, target)
            known = ~np.isnan(exact[0])
            lower, upper = np.where(known, exact[0], lower), np.where(known, exact[1], upper)
        return lower, upper

    def _score(self, tail: float, target: Target) -> tuple[Floats, Floats]:
        z2 = NormalDist().inv_cdf(tail) ** 2
        sampling = self._sampling(target)
        # (f^ - f)^2 <= z^2 [ (absent + (present - absent) f)/n + sampling f (1-f) ]: a quadratic in f.
        slope = (self.noise_present - self.noise_absent) / self.n + sampling
        a = 1 + z2 * sampling
        b = self.frequencies + z2 * slope / 2
        c = self.frequencies**2 - z2 * self.noise_absent / self.n
        root = b**2 - a * c
        half = np.sqrt(np.maximum(root, 0.0)) / a
        lower, upper = b / a - half, b / a + half
        # Far outside [0, 1] the quadratic may have no solution: fall back to the variance at the nearest frequency.
        wald = np.sqrt(z2) * self.standard_errors_for(target)
        lower = np.where(root > 0, lower, self.frequencies - wald)
        upper = np.where(root > 0, upper, self.frequencies + wald)
        return lower, upper

    def _comparisons(self, simultaneous: bool | int) -> int:
        if isinstance(simultaneous, (bool, np.bool_)):
            return self.k if simultaneous else 1
        return checked_integer("simultaneous", simultaneous, 1)

    def _sampling(self, target: Target) -> float:
        drawn = 1 / self.n
        return drawn if target == "population" else max(0.0, drawn - 1 / self.contributors)

    def processed(self, frequencies: ArrayLike, step: str) -> Estimate:
        """Return a post-processed estimate that names its step and keeps the raw one; it has no intervals."""
        return replace(
            self,
            frequencies=np.asarray(frequencies, dtype=np.float64),
            processing=(*self.processing, step),
            raw=self if self.raw is None else self.raw,
        )

    def named(self, attribute: str, labels: Sequence[str]) -> Estimate:
        """Return the same estimate under an attribute's name and its categories' names."""
        raw = self.raw.named(attribute, labels) if self.raw is not None else None
        return replace(self, attribute=attribute, labels=tuple(labels), raw=raw)

    def to_arrow(self, confidence: float = 0.95, target: Target = "contributors") -> pa.Table:
        """Return a pyarrow table: category, estimate, standard_error, lower, upper (null where none exists)."""
        import pyarrow as pa

        columns: dict[str, Any] = {"category": list(self.labels), "estimate": self.frequencies}
        if self.is_raw and self.n > 0:
            lower, upper = self.interval(confidence, target=target)
            columns |= {"standard_error": self.standard_errors_for(target), "lower": lower, "upper": upper}
        else:
            columns |= {name: pa.nulls(self.k, pa.float64()) for name in ("standard_error", "lower", "upper")}
        return pa.table(columns)

    def to_pandas(self, confidence: float = 0.95, target: Target = "contributors") -> pandas.DataFrame:
        """Return the table of `to_arrow` as a pandas DataFrame (extra ``dataframes``)."""
        return _to_pandas(self.to_arrow(confidence, target))

    def to_polars(self, confidence: float = 0.95, target: Target = "contributors") -> polars.DataFrame:
        """Return the table of `to_arrow` as a polars DataFrame (extra ``dataframes``)."""
        return _to_polars(self.to_arrow(confidence, target))


class RecordEstimate(Mapping[int | str, Estimate]):
    """The estimates of a record mechanism: attribute index or name -> Estimate.

    Analysts get one from ``mechanism.estimate(aggregate)``, keyed by index, or from a Collection, keyed by name.

    Parameters
    ----------
    estimates : mapping of int or str to Estimate
        The estimate of each attribute, in order.

    Examples
    --------
    >>> from deniable import SPL, SimulationRandomness
    >>> import numpy as np
    >>> spl = SPL(sizes=(2, 3), epsilon=2.0)
    >>> reports = spl.randomize(np.array([[0, 2], [1, 1]]), SimulationRandomness(1))
    >>> estimates = spl.estimate(spl.aggregate(reports))
    >>> list(estimates), estimates[1].k
    ([0, 1], 3)
    """

    def __init__(self, estimates: Mapping[int | str, Estimate] | Mapping[int, Estimate] | Mapping[str, Estimate]):
        self._estimates: dict[int | str, Estimate] = dict(estimates.items())

    def __getitem__(self, attribute: int | str) -> Estimate:
        return self._estimates[attribute]

    def __iter__(self) -> Iterator[int | str]:
        return iter(self._estimates)

    def __len__(self) -> int:
        return len(self._estimates)

    def __repr__(self) -> str:
        shown = list(self._estimates.items())[:SHOWN]
        lines = [f"{name!r}: {estimate!r}" for name, estimate in shown]
        hidden = len(self) - len(shown)
        return "\n".join(["RecordEstimate", *lines, *([f"and {hidden:,} more attributes"] if hidden else [])])

    def _repr_html_(self) -> str:
        shown: str = render("html", self._shown)
        return shown

    def plot(self) -> Figure:
        """Return a matplotlib figure of every attribute's most frequent categories."""
        figure: Figure = render("figure", self._shown)
        return figure

    @property
    def _shown(self) -> dict[int | str, Estimate]:
        return {name: estimate.top(MOST_SHOWN) for name, estimate in self._estimates.items()}

    @property
    def comparisons(self) -> int:
        """Number of frequencies over all attributes, for intervals that hold together (``simultaneous=``)."""
        return sum(estimate.k for estimate in self._estimates.values())

    def to_arrow(self, confidence: float = 0.95, target: Target = "contributors") -> pa.Table:
        """Return one pyarrow table over all attributes, its first column ``attribute``."""
        import pyarrow as pa

        tables = []
        for name, estimate in self._estimates.items():
            table = estimate.to_arrow(confidence, target)
            tables.append(table.add_column(0, "attribute", pa.array([str(name)] * estimate.k)))
        return pa.concat_tables(tables)

    def to_pandas(self, confidence: float = 0.95, target: Target = "contributors") -> pandas.DataFrame:
        """Return the table of `to_arrow` as a pandas DataFrame (extra ``dataframes``)."""
        return _to_pandas(self.to_arrow(confidence, target))

    def to_polars(self, confidence: float = 0.95, target: Target = "contributors") -> polars.DataFrame:
        """Return the table of `to_arrow` as a polars DataFrame (extra ``dataframes``)."""
        return _to_polars(self.to_arrow(confidence, target))


def affine_estimate(counts: ArrayLike, n: int, p: ArrayLike, q: ArrayLike, contributors: int | None = None) -> Estimate:
    """Return the unbiased Estimate from support counts.

    A report *supports* v with probability p if its contributor holds v and q otherwise, so
    ``f^(v) = (counts[v]/n - q)/(p - q)`` and one report's variances are q(1-q) and p(1-p) over (p-q)^2.

    Parameters
    ----------
    counts : int[k]
        Number of reports that support each value, each on its own.
    n : int
        Number of reports.
    p, q : float or float[k]
        The *implemented* support probabilities.
    contributors : int, optional
        Number of contributors the n reports were sampled from, n by default.
    """
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    counts = np.asarray(counts, dtype=np.int64)
    gain = p - q
    frequencies = (counts / n - q) / gain if n > 0 else np.full(counts.shape, np.nan)
    return Estimate(
        frequencies=frequencies,
        n=n,
        noise_absent=q * (1 - q) / gain**2,
        noise_present=p * (1 - p) / gain**2,
        contributors=n if contributors is None else contributors,
        support=SupportCounts(counts, n, p, q),
    )


def affine_variance(p: Probability, q: Probability, f: float, n: int) -> float:
    """Return the variance of (count/n - q)/(p - q) at true frequency f, noise only, n contributors."""
    p, q = float(p), float(q)
    return (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2)


def _chosen(bounds: tuple[Floats, Floats], codes: NDArray[np.int64]) -> tuple[Floats, Floats]:
    lower, upper = bounds
    return lower[codes], upper[codes]


def _check_target(target: str) -> None:
    if target not in ("contributors", "population"):
        raise InvalidParameterError(f'target must be "contributors" or "population", got target={target!r}')


def _to_pandas(table: pa.Table) -> pandas.DataFrame:
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise MissingExtraError('to_pandas needs pandas: pip install "deniable[dataframes]"') from error
    frame: pandas.DataFrame = table.to_pandas()
    return frame


def _to_polars(table: pa.Table) -> polars.DataFrame:
    try:
        import polars
    except ImportError as error:
        raise MissingExtraError('to_polars needs polars: pip install "deniable[dataframes]"') from error
    frame = polars.from_arrow(table)
    assert isinstance(frame, polars.DataFrame)
    return frame

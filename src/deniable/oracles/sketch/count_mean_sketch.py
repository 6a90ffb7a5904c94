"""Count-mean sketch (CMS): report a noisy cell of a public random hash; local hashing is its special case.

The count-mean sketch is from Pan, *Improving Count-Mean Sketch as the Leading Locally Differentially Private Frequency
Estimator for Large Dictionaries* (IEEE CSF 2025). Local hashing is from Bassily, Smith (2015) for m = 2 cells, and from
Wang, Blocki, Li, Jha, *Locally differentially private protocols for frequency estimation* (2017) for m = e^epsilon + 1
cells.

Every contributor draws a hash function h from a public family. The device hashes the true code x to the cell h(x), and
randomises the cell with GRR over the m cells. It reports h and the resulting cell z.

A report supports a value v if z = h(v). Let p be the probability that GRR reports the true cell, and q the probability
that it reports one particular other cell. Two values collide if h maps both values to the same cell. Suppose that every
two values collide with the same probability c. If the contributor holds v, the report supports v with probability p1 =
p. Otherwise, the report supports v with probability p0 = c p + (1-c) q. So one formula estimates all frequencies, for
every family and every m.

Hash families (class `HashFamily`) differ in the report, in the collector's state, and in how the state is decoded.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.card import Card, Variant
from deniable.core.checks import Codes, checked_codes, checked_integer, code_dtype, settle
from deniable.core.estimate import Estimate, affine_estimate
from deniable.core.kernels import worth_compiling
from deniable.core.mechanism import ChecksRows, ReportField, SkipsInvalid
from deniable.core.privacy import Guarantee
from deniable.core.randomness import BLOCK_WORDS, Randomness, SimulationRandomness
from deniable.core.state import Counts
from deniable.core.thresholds import checked_epsilon
from deniable.errors import EmptyAggregateError, InvalidReportError
from deniable.oracles.grr import GRR, OneCode
from deniable.oracles.grr_bulk import MAX_DOMAIN, randomize_many
from deniable.oracles.pure import PureOracle
from deniable.oracles.sketch.families._columns import columns_of
from deniable.oracles.sketch.families.family import HashFamily
from deniable.oracles.sketch.families.hash_range import Objective
from deniable.oracles.sketch.families.registry import family_entry
from deniable.oracles.support import Hashed

QUERY_ROWS = 1 << 20
"""Reports that are compared with a query list before progress is told."""

Progress = Callable[[int, int], None]
"""Function that is called with the number of reports done and the total number."""


@dataclass(frozen=True)
class Sketch(PureOracle[Any], SkipsInvalid, ChecksRows):
    """Base of sketches, which report a public hash function and the answer's cell after randomised response."""

    k: int

    @property
    @abstractmethod
    def hashes(self) -> HashFamily:
        """The family of public hash functions."""

    @property
    @abstractmethod
    def response(self) -> OneCode:
        """The randomised response that cells go through."""

    @cached_property
    def uncounted(self) -> slice | None:  # type: ignore[override]  # data of the base, here of the family
        """Codes of the hash function that the Spread family never draws; None for other families."""
        return self.hashes.uncounted

    @cached_property
    def support_law(self) -> Hashed:
        return Hashed(self.hashes, *self.response.support_probabilities)

    # ---------------------------------------------------------------- collector

    def _tally(self, reports: Any) -> tuple[NDArray[np.integer[Any]], int]:
        checked = self.hashes.checked(reports)
        return self.hashes.tally(checked), len(columns_of(checked)[0])

    def _check_rows(self, reports: Any) -> Any:
        return self.hashes.checked(reports)

    def _valid_rows(self, reports: Any) -> tuple[NDArray[np.bool_], str]:
        try:
            return np.ones(len(columns_of(self.hashes.checked(reports))[0]), dtype=np.bool_), ""
        except InvalidReportError as error:
            return self.hashes.valid_rows(reports), str(error)

    def supports(self, reports: Any, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which values each report's hash function maps to its cell, bool[n, len(values)]."""
        parameters, cells = self.hashes.split(self.hashes.checked(reports))
        codes = np.tile(values, len(cells))
        own = self.hashes.hash(codes, *(np.repeat(column, len(values)) for column in parameters))
        matrix: NDArray[np.bool_] = own.reshape(len(cells), len(values)) == cells[:, None]
        return matrix

    def count_support(
        self, reports: Any, queries: ArrayLike, *, progress: Progress | None = None
    ) -> NDArray[np.integer[Any]]:
        """Return the number of reports that support each chosen value; the collector needs no state for it.

        Parameters
        ----------
        reports : reports
            Reports of the contributors, n rows.
        queries : int[q]
            Codes in 0..k-1, in any order.
        progress : callable, optional
            Function that is called with (reports done, n) after every 2^20 reports.

        Returns
        -------
        int64[q]
            Support counts, which add up over batches. `estimate_support` computes frequencies from them.

        Raises
        ------
        InvalidReportError, InvalidInputError
            If a report or a query is out of range. The message names its row.
        """
        checked, values = self.hashes.checked(reports), checked_codes(queries, self.k)
        n = len(columns_of(checked)[0])
        total = np.zeros(len(values), dtype=np.int64)
        for start in range(0, n, QUERY_ROWS):
            part = self.report_type(*(column[start : start + QUERY_ROWS] for column in columns_of(checked)))
            total += self.hashes.count_queries(part, values)
            if progress is not None:
                progress(min(start + QUERY_ROWS, n), n)
        return total

    # ---------------------------------------------------------------- analyst

    def _support(self, counts: NDArray[np.int64], n: int, codes: Codes | None) -> NDArray[np.integer[Any]]:
        return self.hashes.decode(counts, n) if codes is None else self.hashes.decode_queries(counts, n, codes)

    def estimate_support(self, support: ArrayLike, n: int, queries: ArrayLike) -> Estimate:
        """Return unbiased frequencies of a query list from its support counts among n reports (`count_support`).

        Analysts use it for dictionaries that are too large for a state. The collector keeps the reports, or these
        counts, which add up.

        Examples
        --------
        >>> sketch = CountMeanSketch(k=2**32, epsilon=2.0)
        >>> reports = sketch.randomize(np.full(1000, 123_456_789), SimulationRandomness(1))
        >>> support = sketch.count_support(reports, [123_456_789, 5])
        >>> sketch.estimate_support(support, 1000, [123_456_789, 5]).frequencies.round(1)
        array([1., 0.])
        """
        if n == 0:
            raise EmptyAggregateError(f"an estimate needs at least one report, got n=0 for {self}")
        p1, p0 = map(float, self.support_probabilities)
        return affine_estimate(support, n, p1, p0, k=self.k).named(
            "", [str(code) for code in checked_codes(queries, self.k)]
        )

    # ---------------------------------------------------------------- guarantee and exact distribution

    @property
    def collision_probability(self) -> Fraction:
        """Exact probability c that v and v' have the same cell, which is the same for every v != v'."""
        return self.hashes.collision_probability

    @cached_property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p1, p0): probabilities that a report supports v if the contributor holds v, and otherwise."""
        p, q = self.response.support_probabilities
        c = self.collision_probability
        return p, c * p + (1 - c) * q

    def implemented_ratio(self) -> Fraction:
        return self.response.implemented_ratio()

    def outputs(self) -> Any:
        """Return every possible report once, ordered by hash function and then by cell."""
        return self._outputs()[0]

    def _outputs(self) -> tuple[Any, NDArray[Any]]:
        """Return every possible report and the probability of its hash function."""
        hashes = self.hashes
        self._check_channel(self.k, hashes.member_count * hashes.m)
        parameters, probabilities = hashes.members()
        repeated = tuple(np.repeat(column, hashes.m) for column in parameters)
        cells = np.tile(np.arange(hashes.m), len(probabilities)).astype(code_dtype(hashes.m))
        return hashes.join(repeated, cells), np.repeat(probabilities, hashes.m)

    def _channel(self) -> NDArray[Any]:
        # If the channel is too large to list, `response` and `collision_probability` give the same facts.
        outputs, drawn = self._outputs()
        parameters, cells = self.hashes.split(outputs)
        p, q = (drawn * probability for probability in self.response.support_probabilities)
        rows = [np.where(self.hashes.hash(np.full(len(cells), v), *parameters) == cells, p, q) for v in range(self.k)]
        return np.array(rows, dtype=object)

    # ---------------------------------------------------------------- simulation and files

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # Different values share the contributors' hashes, so no product distribution replaces the reports. The time is
        # that of `randomize` and `aggregate`.
        return self._simulate_by_reports(counts, rng)

    @property
    def state_size(self) -> int:
        """Length of the family's state: k support counters, or a histogram of reports."""
        return self.hashes.state_size

    def check_state(self, counts: Counts, n: int) -> None:
        self.hashes.check_state(counts, n)

    @property
    def report_type(self) -> Callable[..., Any]:
        """Type of the family's reports: a NamedTuple with the cell last, or an array if a report is one integer."""
        return self.hashes.report_type

    @cached_property
    def report_fields(self) -> tuple[ReportField, ...]:
        return self.hashes.report_fields

    @property
    def report_bits(self) -> float:
        return self.hashes.report_bits


@final
@dataclass(frozen=True)
class CountMeanSketch(Sketch):
    """The count-mean sketch hashes the true code to a cell, and reports the hash function and the noisy cell.

    The hash function maps every possible answer to one of m cells. The device draws the function at random, and
    randomises the cell of the true code with GRR over the m cells.

    Plans have a name for each variant. For example, CMS[spread] is the name of the sketch with the hash family
    "spread". OLH has m = round(e^epsilon) + 1 cells, and BLH has 2 cells. OCMS has the family and the number of cells
    that the function `ocms_choice` chooses.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^32, or up to 2^64 with the binary family.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. A float is read as the decimal that Python prints for it, so 0.1 is
        read as 1/10.
    m : int, optional
        Number of cells m, from 2 to 2^32. The default is the m with the least mean squared error, averaged over the
        possible answers. If the collector's state for this m would have more than 2^28 counters, the default is the
        best m whose state has at most 2^26 counters. If there is no such m, the default is the best m whose state has
        at most 2^28 counters. The object stores the default in `m`, so client and server always use the same m. If you
        set `m` yourself, or if k is above 2^27, the state can have more than 2^28 counters. With such a state, the
        collector can only count the reports for a list of values (`count_support`, `QuerySketch`).
    family : str
        Hash family. The function `OCMS` chooses a suitable family.

        * "prime" allows any m. Its functions are ((a0 + a1 x) mod P) mod m, where P is the smallest prime that is at
          least k and at least 7m. The state is one counter for each possible answer. Adding up n reports takes time
          proportional to n k, so this family is for a moderate k, or for a short list of values.
        * "spread" needs an m that is a power of two. A report is one integer. The state is a histogram of about k
          m/(m-1) counters, and one transform decodes it in milliseconds.
        * "partition" allows any m, and "linear" needs an m that is a prime power. A report is two or three integers,
          and one transform decodes the state.
        * "binary" allows any m, and k up to 2^64. The collector estimates the frequencies of a list of values only
          (`QuerySketch`).

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, or there is no such family.

    Examples
    --------
    >>> from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> sketch = CountMeanSketch(k=1000, epsilon=1.0)
    >>> sketch
    CountMeanSketch(k=1000, epsilon=1.0, m=4, family='prime')
    >>> reports = sketch.randomize(np.array([17, 999, 17]), SimulationRandomness(1))
    >>> reports.a0.dtype, reports.value.dtype, reports.value.shape
    (dtype('uint32'), dtype('uint8'), (3,))
    >>> sketch.estimate(sketch.aggregate(reports)).k
    1000
    >>> urls = CountMeanSketch(k=10**6, epsilon=1.0, family="spread")
    >>> reports = urls.randomize(np.array([17, 999_999, 17]), SimulationRandomness(1))
    >>> reports.dtype, urls.estimate(urls.aggregate(reports), queries=[17, 18]).labels
    (dtype('uint32'), ('17', '18'))
    """

    epsilon: float | Fraction
    m: int | None = None
    family: str = "prime"
    made_by: str = field(default="", init=False, compare=False)

    name = "CMS"
    card = Card(
        group="dictionaries",
        when="for a question with a thousand or more possible answers; it has about the error of OUE, and a report "
        "takes a few bytes",
        aliases=("CountMeanSketch", "count-mean sketch"),
        wire="a hash function and a cell",
        page="theory/sketches.md",
        variants=(
            Variant("BLH", (("m", 2),), "the collector compares every report with every value", decoding="compares"),
            Variant(
                "OLH", (), "the collector compares every report with every value", recommended=True, decoding="compares"
            ),
            Variant(
                "CMS[spread]",
                (("family", "spread"),),
                "one integer per report; one transform decodes all values",
                recommended=True,
                decoding="transform",
            ),
            Variant(
                "OCMS",
                (),
                "the sketch that the chooser takes for the mean error; its family is among the parameters",
                alternative=True,
            ),
            Variant(
                "CMS[partition]",
                (("family", "partition"),),
                "the collector adds about 10 m integers per report; one transform decodes all values",
                alternative=True,
            ),
            Variant(
                "CMS[linear]", (("family", "linear"),), "one transform over F_p decodes all values", alternative=True
            ),
            Variant(
                "CMS[prime]",
                (("family", "prime"),),
                "the collector compares every report with every value",
                recommended=True,
                decoding="compares",
            ),
            Variant(
                "CMS[binary]",
                (("family", "binary"),),
                "for chosen values among up to 2^64; for all of them the collector compares every report with every "
                "value",
                alternative=True,
                decoding="compares",
            ),
        ),
    )

    def __post_init__(self) -> None:
        entry = family_entry(self.family)
        settle(self, k=checked_integer("k", self.k, 2, entry.largest_domain), epsilon=checked_epsilon(self.epsilon))
        m = entry.best_cells(self.k, Objective.mean(self.k, self.epsilon)) if self.m is None else self.m
        cells = entry.build(self.k, m).m
        GRR(cells, self.epsilon)  # it raises what GRR raises
        settle(self, m=cells)

    def __repr__(self) -> str:
        """Return the call that makes this sketch, by an older name such as `OLH` if that name made it."""
        if self.made_by:
            return f"{self.made_by}(k={self.k}, epsilon={self.epsilon!r})"
        return f"CountMeanSketch(k={self.k}, epsilon={self.epsilon!r}, m={self.m}, family={self.family!r})"

    @cached_property
    def hashes(self) -> HashFamily:
        """The family of public hash functions."""
        assert self.m is not None
        return family_entry(self.family).build(self.k, self.m)

    @cached_property
    def response(self) -> GRR:
        """The randomised response that cells go through: GRR over m values."""
        return GRR(self.hashes.m, self.epsilon)

    # ---------------------------------------------------------------- contributor

    def _randomize(self, codes: Codes, rng: Randomness) -> Any:
        # The result has the family's layout: HashedReports(a0, a1, value) for the prime family, one uint32 or uint64
        # for Spread.
        if len(codes) <= BLOCK_WORDS:
            return self._randomize_block(codes, rng)
        columns = [np.empty(len(codes), dtype=field.dtype) for field in self.report_fields]
        for start in range(0, len(codes), BLOCK_WORDS):
            rows = slice(start, start + BLOCK_WORDS)
            part = self._randomize_block(codes[rows], rng)
            for column, values in zip(columns, columns_of(part), strict=True):
                column[rows] = values
        return self.report_type(*columns)

    def _randomize_block(self, codes: Codes, rng: Randomness) -> Any:
        parameters = self.hashes.draw_parameters(rng, len(codes))
        cells = self.hashes.hash(codes, *parameters)
        if worth_compiling(len(codes)) and self.hashes.m <= MAX_DOMAIN:
            return self.hashes.join(parameters, randomize_many(cells, self.response._lie, self.hashes.m, rng))
        return self.hashes.join(parameters, self.response._randomize(cells, rng))

    def privacy(self) -> Guarantee:
        return self._local_guarantee("the hash function in a report is public and independent of the answer")

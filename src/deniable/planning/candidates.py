"""Which mechanisms a plan compares, how each is built from (sizes, epsilon), and when it is impractical."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.core.mechanism import Mechanism
from deniable.errors import InvalidParameterError, TooLargeError
from deniable.oracles.comparators.exponential import Exponential
from deniable.oracles.grr import GRR
from deniable.oracles.histogram import SHE
from deniable.oracles.histogram_threshold import THE
from deniable.oracles.rappor import RAPPOR
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.sketch.local_hashing import BLH, OLH
from deniable.oracles.sketch.ocms import OCMS
from deniable.oracles.subset import SubsetSelection
from deniable.oracles.unary import OUE, SUE
from deniable.records.fake_data import RSFD
from deniable.records.pivot.corr_rr import CorrRR
from deniable.records.pivot.pivot_coded import PivotCoded
from deniable.records.sample import SMP, AdaptiveSMP
from deniable.records.split import SPL

MAX_REPORT_BITS = 1 << 19
"""Largest practical report: 64 KiB. Beyond, a contributor's upload and a day's storage are the problem."""

MAX_STATE_SIZE = 1 << 27
"""Largest practical aggregate: 2^27 counters, one GiB."""

MAX_COMPARED = 1 << 19
"""Most values that each report is compared with: two minutes of a core per million reports. Beyond, a transform."""

SMALL_DOMAIN = 1 << 10
"""Up to so many values a subset or a bit per value is a short report, and no transform is needed."""

LARGE_DOMAIN = 1 << 16
"""From more values than this on, a mechanism that decodes all of them in one transform is preferred where there is
one: its variance is within a tenth of the least, its report is a few bytes, and its collector takes milliseconds."""

Build = Callable[[tuple[int, ...], float | Fraction], Mechanism[Any]]


@dataclass(frozen=True)
class Candidate:
    """One mechanism that a plan may compare.

    Parameters
    ----------
    name : str
        The field's name, with the frequency oracle in brackets for records: "SPL[OUE]".
    build : callable
        (sizes, epsilon) -> mechanism.
    note : str
        What a reader of the plan must know about it.
    recommendable : bool
        Whether `recommend` may choose it without being asked.
    compares : bool
        Whether decoding compares every report with every value.
    transforms : bool
        Whether short reports are decoded for all values by one transform.
    alternative : bool
        Recommended only if nothing else that was asked for is feasible.
    two_phases : bool
        Whether `build` returns phase one only, and the error is that of both phases, with bias.
    """

    name: str
    build: Build
    note: str = ""
    recommendable: bool = False
    compares: bool = False
    transforms: bool = False
    alternative: bool = False
    two_phases: bool = False


_DECODED = "the collector compares every report with every value"

ONE_ATTRIBUTE = (
    Candidate("GRR", lambda sizes, epsilon: GRR(sizes[0], epsilon), recommendable=True),
    Candidate("SUE", lambda sizes, epsilon: SUE(sizes[0], epsilon)),
    Candidate("OUE", lambda sizes, epsilon: OUE(sizes[0], epsilon), recommendable=True),
    Candidate(
        "RAPPOR",
        lambda sizes, epsilon: RAPPOR.from_epsilon(sizes[0], epsilon),
        "epsilon covers any number of reports of one memoised answer",
    ),
    Candidate("SubsetSelection", lambda sizes, epsilon: _subset_selection(sizes[0], epsilon), recommendable=True),
    Candidate("Exponential", lambda sizes, epsilon: Exponential(sizes[0], epsilon), "equals GRR at epsilon/2"),
    Candidate("SHE", lambda sizes, epsilon: SHE(sizes[0], epsilon)),
    Candidate("THE", lambda sizes, epsilon: THE(sizes[0], epsilon), "its tight epsilon is below the declared one"),
    Candidate("BLH", lambda sizes, epsilon: BLH(sizes[0], epsilon), _DECODED, compares=True),
    Candidate("OLH", lambda sizes, epsilon: OLH(sizes[0], epsilon), _DECODED, recommendable=True, compares=True),
    Candidate(
        "CMS[spread]",
        lambda sizes, epsilon: CountMeanSketch(sizes[0], epsilon, family="spread"),
        "one integer per report; one transform decodes all values",
        recommendable=True,
        transforms=True,
    ),
    Candidate(
        "OCMS",
        lambda sizes, epsilon: OCMS(sizes[0], epsilon),
        "the sketch that the chooser takes for the mean error; its family is among the parameters",
        alternative=True,
    ),
    Candidate(
        "CMS[partition]",
        lambda sizes, epsilon: CountMeanSketch(sizes[0], epsilon, family="partition"),
        "the collector adds about 10 m integers per report; one transform decodes all values",
        alternative=True,
    ),
    Candidate(
        "CMS[linear]",
        lambda sizes, epsilon: CountMeanSketch(sizes[0], epsilon, family="linear"),
        "one transform over F_p decodes all values",
        alternative=True,
    ),
    Candidate(
        "CMS[prime]",
        lambda sizes, epsilon: CountMeanSketch(sizes[0], epsilon, family="prime"),
        _DECODED,
        recommendable=True,
        compares=True,
    ),
    Candidate(
        "CMS[binary]",
        lambda sizes, epsilon: CountMeanSketch(sizes[0], epsilon, family="binary"),
        f"for chosen values among up to 2^64; for all of them {_DECODED}",
        compares=True,
        alternative=True,
    ),
)
"""Frequency oracles for one attribute, in the order that settles ties."""

_VISIBLE = "the collector sees which attribute was sampled"
_FAKE = "the sampled attribute is hidden among fakes"

RECORDS = (
    Candidate("SPL[GRR]", lambda sizes, epsilon: SPL(sizes, epsilon, "GRR"), recommendable=True),
    Candidate("SPL[OUE]", lambda sizes, epsilon: SPL(sizes, epsilon, "OUE"), recommendable=True),
    Candidate("SMP[GRR]", lambda sizes, epsilon: SMP(sizes, epsilon, "GRR"), _VISIBLE, recommendable=True),
    Candidate("SMP[OUE]", lambda sizes, epsilon: SMP(sizes, epsilon, "OUE"), _VISIBLE),
    Candidate(
        "SMP[ADP]",
        lambda sizes, epsilon: AdaptiveSMP(sizes, epsilon),
        f"{_VISIBLE}; each attribute through the oracle of least error for its size",
        recommendable=True,
    ),
    Candidate(
        "PivotCoded",
        lambda sizes, epsilon: PivotCoded(sizes, epsilon),
        "one sampled attribute, in the format of a full record; the collector sees which",
    ),
    Candidate(
        "RS+FD[GRR]",
        lambda sizes, epsilon: RSFD(sizes, epsilon, "GRR"),
        f"{_FAKE}; RS+RFD with uniform priors is the same mechanism",
    ),
    Candidate("RS+FD[OUE]", lambda sizes, epsilon: RSFD(sizes, epsilon, "OUE"), _FAKE),
    Candidate("Corr-RR", CorrRR.phase_one, alternative=True, two_phases=True),
)
"""Record mechanisms, in the order that settles ties."""


_DEALT = "needs a dealer: the whole plan, for a number of contributors, has its row apart; leave out mechanisms"

_NOT_PLANNED = {
    **dict.fromkeys(("quotarr", "quotaunary", "quotarecords", "quotabatches", "jrr", "karyjrr"), _DEALT),
    "splpairs": "SPL pairs has the errors of SPL[GRR] for frequencies: compare that",
    **{
        spelling: f"{name} has no error in closed form before phase one has been collected: {instead}"
        for spelling, name, instead in (
            ("condrr", "Cond-RR", "compare Corr-RR, and SMP[GRR], which it has not been seen to beat"),
            ("corrrrgroups", "Corr-RR groups", "compare Corr-RR, which is one group, and SPL[GRR], which is d groups"),
            ("corrrrtwopivots", "Corr-RR two pivots", "compare Corr-RR and SPL[GRR]"),
            ("rsrfd", "RS+RFD", "compare RS+FD[GRR], which is RS+RFD with uniform priors"),
        )
    },
}
"""Why mechanisms that people ask for are not compared by name."""


def candidates_for(d: int, mechanisms: Sequence[str] | None = None) -> tuple[Candidate, ...]:
    """Return the candidates for d attributes, all or those named.

    A name matches without regard to case; "SPL" means SPL over every oracle, "CMS" the sketch of every family; "RSFD"
    is RS+FD.

    Raises
    ------
    InvalidParameterError
        If a name matches nothing, or no name is given.
    """
    offered = ONE_ATTRIBUTE if d == 1 else RECORDS
    if mechanisms is None:
        return offered
    if isinstance(mechanisms, str) or len(mechanisms) == 0:
        raise InvalidParameterError(f"mechanisms must be a non-empty list of names, got mechanisms={mechanisms!r}")
    chosen = set()
    for wanted in mechanisms:
        matching = {one.name for one in offered if str(wanted).casefold() in _spellings(one)}
        if not matching:
            if why := _NOT_PLANNED.get(_bare(wanted)):
                raise InvalidParameterError(f"mechanisms must have an error that can be planned, got {wanted!r}: {why}")
            names = ", ".join(one.name for one in offered)
            attributes = "one attribute" if d == 1 else f"{d} attributes"
            raise InvalidParameterError(
                f"mechanisms must be among {names} for {attributes}, got mechanisms={list(mechanisms)!r}"
            )
        chosen |= matching
    return tuple(one for one in offered if one.name in chosen)


def build(candidate: Candidate, sizes: tuple[int, ...], epsilon: float | Fraction) -> Mechanism[Any]:
    """Return the candidate's mechanism.

    Raises
    ------
    InvalidParameterError
        If the mechanism does not exist for these parameters.
    TooLargeError
        If it exceeds a limit of practicality, naming the limit.
    """
    # Before building: a table of so many values would take long to set up only to be refused.
    _check_limit("counters", sum(sizes), MAX_STATE_SIZE)
    if candidate.compares:
        _check_limit("values compared with every report", sizes[0], MAX_COMPARED)
    mechanism = candidate.build(sizes, epsilon)
    _check_limit("bits per report", mechanism.report_bits, MAX_REPORT_BITS)
    _check_limit("counters", mechanism.state_size, MAX_STATE_SIZE)
    return mechanism


def preferred(sizes: tuple[int, ...], feasible: Sequence[str]) -> tuple[str, ...]:
    """Return which of the feasible names may be recommended: all of them if none suits the domain.

    One attribute: a transform suits more than 2^10 values. For more than 2^16 it is preferred to all others but GRR,
    whose report is as short and whose histogram is the answer.
    """
    k = sizes[0]
    suitable = [one for one in ONE_ATTRIBUTE + RECORDS if one.name in feasible and not one.alternative]
    if len(sizes) == 1 and k <= SMALL_DOMAIN:
        suitable = [one for one in suitable if not one.transforms]
    elif len(sizes) == 1 and k > LARGE_DOMAIN and any(one.transforms for one in suitable):
        suitable = [one for one in suitable if one.transforms or one.name == "GRR"]
    return tuple(one.name for one in suitable) or tuple(feasible)


def _subset_selection(k: int, epsilon: float | Fraction) -> SubsetSelection:
    mechanism = SubsetSelection(k, epsilon)
    assert mechanism.omega is not None
    # C(k, omega) >= 2^min(omega, k - omega): this settles it before as many logarithms are summed.
    _check_limit("bits per report", min(mechanism.omega, k - mechanism.omega), MAX_REPORT_BITS)
    return mechanism


def _bare(name: object) -> str:
    """Return a name without case, separators and what stands in brackets; names of classes are those of mechanisms."""
    plain = str(name).casefold().partition("[")[0].translate(str.maketrans("", "", "+- "))
    return {"groupedcorrrr": "corrrrgroups", "twopivotrr": "corrrrtwopivots", "twophasersrfd": "rsrfd"}.get(
        plain, plain
    )


def _spellings(candidate: Candidate) -> set[str]:
    name = candidate.name.casefold()
    return {spelling for full in (name, name.replace("+", "")) for spelling in (full, full.partition("[")[0])}


def _check_limit(what: str, value: float, limit: int) -> None:
    if value > limit:
        raise TooLargeError(f"{what} must be <= {limit:,} to be practical, got {value:,.0f}")

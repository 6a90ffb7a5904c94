"""Names of mechanisms and their classes, in a static table. So no class is imported only to be listed.

Mechanisms of other packages register by an entry point of the group `deniable.mechanisms`, "NAME = module:Class". Entry
points are read only for names that this table does not have.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from deniable.core.card import Card
from deniable.core.extensions import extensions
from deniable.errors import InvalidParameterError, quoted, unknown_name

CLASSES: Mapping[str, str] = {
    "GRR": "deniable.oracles.grr:GRR",
    "SUE": "deniable.oracles.unary:SUE",
    "OUE": "deniable.oracles.unary:OUE",
    "RAPPOR": "deniable.oracles.rappor:RAPPOR",
    "MemoisedGRR": "deniable.oracles.memoised:MemoisedGRR",
    "MemoisedOUE": "deniable.oracles.memoised:MemoisedOUE",
    "MemoisedHash": "deniable.oracles.memoised:MemoisedHash",
    "SubsetSelection": "deniable.oracles.subset:SubsetSelection",
    "Exponential": "deniable.research.baselines.exponential:Exponential",
    "SHE": "deniable.research.baselines.histogram:SHE",
    "THE": "deniable.research.baselines.histogram_threshold:THE",
    "L-GRR": "deniable.research.baselines.longitudinal:LGRR",
    "L-OUE": "deniable.research.baselines.longitudinal:LOUE",
    "LOLOHA": "deniable.research.baselines.longitudinal:LOLOHA",
    "SquareWave": "deniable.oracles.square_wave:SquareWave",
    "Design": "deniable.designs.design:Design",
    "CMS": "deniable.oracles.sketch.count_mean_sketch:CountMeanSketch",
    "CMS-queries": "deniable.research.families.query_sketch:QuerySketch",
    "HeavyHitters": "deniable.oracles.sketch.heavy_hitters:HeavyHitters",
    "HE": "deniable.research.baselines.hadamard:HadamardEncoding",
    "RHR": "deniable.research.baselines.recursive_hadamard:RecursiveHadamard",
    "PGR": "deniable.research.baselines.projective_geometry:PGR",
    "AppleCMS": "deniable.research.baselines.apple:AppleCMS",
    "AppleHCMS": "deniable.research.baselines.apple_hadamard:AppleHCMS",
    "SPL": "deniable.records.split:SPL",
    "SMP": "deniable.records.sample:SMP",
    "SMP[ADP]": "deniable.records.sample:AdaptiveSMP",
    "PivotCoded": "deniable.records.pivot.pivot_coded:PivotCoded",
    "RS+FD": "deniable.records.fake_data:RSFD",
    "RS+RFD": "deniable.records.fake_data:RSRFD",
    "SPL pairs": "deniable.records.split:SPLPairs",
    "PairSample": "deniable.records.pair_sample:PairSample",
    "Corr-RR": "deniable.records.pivot.corr_rr:CorrRR",
    "Corr-RR aligned": "deniable.research.records.corr_rr_aligned:AlignedCorrRR",
    "Corr-RR groups": "deniable.research.records.grouping:GroupedCorrRR",
    "Corr-RR two pivots": "deniable.research.records.two_pivots:TwoPivotRR",
    "Cond-RR": "deniable.research.records.cond_rr:CondRR",
    "QuotaRR": "deniable.research.dealt.quota.quota_rr:QuotaRR",
    "QuotaUnary": "deniable.research.dealt.quota.unary:QuotaUnary",
    "QuotaRecords": "deniable.research.dealt.quota.records:QuotaRecords",
    "QuotaBatches": "deniable.research.dealt.quota.batches:QuotaBatches",
    "JRR": "deniable.research.dealt.coupling.jrr:JRR",
    "KaryJRR": "deniable.research.dealt.coupling.kary_jrr:KaryJRR",
    "JRRLocalHashing": "deniable.research.dealt.coupling.jrr_local_hashing:JRRLocalHashing",
    "CoupledOUE": "deniable.research.dealt.coupling.coupled_oue:CoupledOUE",
    "ReportCoupledRR": "deniable.research.dealt.coupling.report_coupling:ReportCoupledRR",
}
"""Every mechanism of this package: its name, as specifications carry it, and its class. The order settles ties."""

SPECIAL_CASES: Mapping[str, str] = {
    "BLH": "deniable.oracles.sketch.local_hashing:BLH",
    "OLH": "deniable.oracles.sketch.local_hashing:OLH",
    "OCMS": "deniable.oracles.sketch.ocms:OCMS",
}
"""Names of the field for a class with some parameters set: functions, listed among the variants of its card."""

_SEPARATORS = str.maketrans("", "", "+- ")


class Found(NamedTuple):
    """Meaning of a name.

    Attributes
    ----------
    name : str
        The name in its official spelling.
    make : callable
        Class, or function of a special case.
    settings : dict of str to value
        Parameters that the name sets: "SMP[OUE]" is SMP with ``oracle="OUE"``.
    """

    name: str
    make: Any
    settings: dict[str, Any]


def spelling(name: str) -> str:
    """Return a name in lower case without plus signs, hyphens and spaces ("Corr-RR two pivots": "corrrrtwopivots")."""
    return name.translate(_SEPARATORS).casefold()


def mechanism_names() -> tuple[str, ...]:
    """Return the names of all mechanisms and named special cases of this package, sorted."""
    return tuple(sorted({**CLASSES, **SPECIAL_CASES}))


@functools.cache
def mechanism_class(name: str) -> Any:
    """Return a mechanism's class, or a special case's function, by its exact name.

    Raises
    ------
    InvalidParameterError
        If no mechanism has that name, here or by entry point.
    """
    if place := CLASSES.get(name) or SPECIAL_CASES.get(name):
        module, _, attribute = place.partition(":")
        return getattr(importlib.import_module(module), attribute)
    for point in extensions("mechanisms"):
        if point.name == name:
            return point.load()
    raise unknown_name("mechanism", name, mechanism_names())


def cards() -> Iterator[tuple[str, Card]]:
    """Yield the name and the card of every mechanism of this package, in order. It imports all mechanisms."""
    for name in CLASSES:
        yield name, mechanism_class(name).card


def find(name: str) -> Found:
    """Return the meaning of a typed name of a class, special case or variant, or of an alias on a card.

    Upper and lower case, plus signs, hyphens and spaces make no difference: "rsfd[grr]" is "RS+FD[GRR]".

    Raises
    ------
    InvalidParameterError
        If the name has no meaning.
    """
    known = {spelling(one): one for one in (*CLASSES, *SPECIAL_CASES)}
    outside, bracket, inside = name.removesuffix("]").partition("[")
    if spelling(name) in known:
        outside, bracket = name, ""
    own = known.get(spelling(outside)) or _alias(spelling(outside)) or _registered_elsewhere(spelling(outside))
    make = mechanism_class(own or name)
    if not bracket:
        return Found(own or name, make, {})
    variants = [] if own in SPECIAL_CASES else [one for one in make.card.variants if "[" in one.name]
    if not variants:
        raise InvalidParameterError(f"mechanism must be {own}, got mechanism={quoted(name)}: {own} has no variants")
    for variant in variants:
        if spelling(variant.name) == spelling(f"{own}[{inside}]"):
            return Found(variant.name, make, dict(variant.settings))
    # The card lists no such variant, but the class knows whether its parameter can have that value.
    return Found(f"{own}[{inside}]", make, {variants[0].settings[0][0]: inside})


def _alias(spelled: str) -> str | None:
    return next((own for own, card in cards() if spelled in map(spelling, card.aliases)), None)


def _registered_elsewhere(spelled: str) -> str | None:
    return next((point.name for point in extensions("mechanisms") if spelling(point.name) == spelled), None)

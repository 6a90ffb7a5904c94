"""What few records do to leakage figures, and what the records say nothing about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from deniable.core.checks import Codes, listed
from deniable.core.randomness import SimulationRandomness
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.leakage.prior.distributions import Floats, conditional_from_joint
from deniable.leakage.prior.empirical_prior import Observed, observed
from deniable.leakage.prior.mechanism_leakage import Release, mechanism_cpl
from deniable.leakage.prior.pairwise import Pair, PairCounts
from deniable.leakage.prior.uncertain_prior import SMALL_CELL, range_from_counts
from deniable.survey.schema import Schema

_DRAWS, _SEED = 100, 1
_NEGLIGIBLE = 0.02
_RARE_SHARE = 0.05


def varying(codes: Codes, schema: Schema, target: str | None = None) -> Observed:
    """Return the records of the attributes that vary, or raise if fewer than two do, or not the target."""
    if target is not None and target not in schema.names:
        raise InvalidParameterError(f"target must be one of {listed(schema.names)}, got target={target!r}")
    data = observed(codes, schema.sizes, schema.names)
    if target is not None and target not in data.names:
        raise InvalidInputError(f"target {target!r} is the same in all records: there is nothing to tell apart")
    if len(data.names) < 2:
        raise InvalidInputError(
            f"at least two attributes must vary in the records, got {listed(data.names)} only: nothing is correlated"
        )
    return data


def with_ranges(pairs: Sequence[Pair], data: Observed, releases: Sequence[Release]) -> tuple[Pair, ...]:
    """Return the pairs, those with few records in a cell with their range over plausible populations."""
    counts = PairCounts.of(data.codes, data.sizes)
    result = []
    for pair in pairs:
        i, j = data.names.index(pair.target), data.names.index(pair.source)
        table, attribute = counts.table(i, j), data.attributes[j]
        if table.min() >= SMALL_CELL:
            result.append(pair)
            continue
        release, domain, seen = releases[attribute], data.domains[attribute], data.categories[j]

        def figure(joint: Floats, release: Release = release, domain: int = domain, seen: Codes = seen) -> float:
            wide = np.zeros((len(joint), domain))
            wide[:, seen] = conditional_from_joint(joint)
            return mechanism_cpl(release, wide).epsilon

        found = range_from_counts(table, figure, SimulationRandomness(_SEED), draws=_DRAWS)
        low, high = min(float(found.low), pair.epsilon), max(float(found.high), pair.epsilon)
        matters = max(abs(low - pair.epsilon), abs(high - pair.epsilon)) > _NEGLIGIBLE * pair.possible
        result.append(replace(pair, plausible=(low, high)) if matters else pair)
    return tuple(result)


def left_out(data: Observed, schema: Schema) -> tuple[str, ...]:
    """Return what the records say nothing about: constant attributes, categories that nobody holds."""
    constant = [name for name in schema.names if name not in data.names]
    notes = [f"left out, because it is the same in all records: {listed(constant)}"] if constant else []
    for name, attribute, seen in zip(data.names, data.attributes, data.categories, strict=True):
        labels = schema.columns[attribute].labels
        absent = [label for code, label in enumerate(labels) if code not in set(seen.tolist())]
        if absent:
            notes.append(f"{name}: nobody holds {listed(absent)}; nothing can be said about that")
    return tuple(notes)


def warnings_of(data: Observed, schema: Schema, *, exact: bool) -> tuple[str, ...]:
    """Return one sentence for each way in which few records make figures large; if `exact`, also about totals."""
    warnings = []
    rare = []
    for j, (name, attribute) in enumerate(zip(data.names, data.attributes, strict=True)):
        labels = schema.columns[attribute].labels
        held = np.bincount(data.codes[:, j], minlength=data.sizes[j])
        rare += [f"{name} {labels[data.categories[j][c]]!r} ({held[c]})" for c in np.flatnonzero(held < SMALL_CELL)]
    if rare:
        warnings.append(
            f"{len(rare)} categor{'y is' if len(rare) == 1 else 'ies are'} held by fewer than {SMALL_CELL} records, so "
            f"that what is leaked about them looks as large as it can be: {listed(rare)}. Merge them in a schema, or "
            "leave them out"
        )
    if exact:
        _, counts = np.unique(np.ravel_multi_index(tuple(data.codes.T), data.sizes), return_counts=True)
        few = int(counts[counts < SMALL_CELL].sum())
        if few > _RARE_SHARE * len(data.codes):
            warnings.append(
                f"{few / len(data.codes):.0%} of the records have a combination of answers that fewer than "
                f"{SMALL_CELL} share. Totals then tell these very people apart; in the population they are smaller"
            )
    return tuple(warnings)

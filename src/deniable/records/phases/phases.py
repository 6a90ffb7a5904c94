"""Phases as collections: the collection file of the next phase, and the joint estimate of all phases.

A phase is a collection of its own, so that its reports cannot be mixed with another's. The next phase's file publishes
what was learned as the parameters of its mechanism, and records which collection and which aggregate it learned from.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from deniable.core.aggregate import Aggregate
from deniable.core.checks import checked_integer, checked_kind, settle
from deniable.core.estimate import Estimate, RecordEstimate
from deniable.core.mechanism import Mechanism
from deniable.core.privacy import Guarantee
from deniable.core.spec import content_hash, to_spec
from deniable.errors import InvalidParameterError, MismatchError, quoted, unknown_name
from deniable.oracles.sketch.pilot import learn_sketch
from deniable.records.phases.refinement import refine
from deniable.records.phases.second_phase import second_phases
from deniable.records.phases.two_phase import combine, phase_one_marginals
from deniable.records.pivot.pivot_coded import PivotCoded
from deniable.records.sample import AdaptiveSMP
from deniable.survey.collection import Collection, LearnedFrom, short_id

_PAIRED = ", with its aggregate second"

TOLERANCE = 1.01
"""Standard errors that differ by less than this factor count as equal."""


def learners() -> dict[str, Callable[..., Mechanism[Any]]]:
    """Return the functions that make the next phase's mechanism from an earlier aggregate, by mechanism name."""
    found: dict[str, Callable[..., Mechanism[Any]]] = {name: cls.learn for name, cls in second_phases().items()}
    return found | {
        "PivotCoded": learn_nothing(PivotCoded),
        "SMP[ADP]": learn_nothing(AdaptiveSMP),
        "OCMS": learn_sketch,
    }


def learn_nothing(cls: type[PivotCoded] | type[AdaptiveSMP]) -> Callable[[Aggregate, int], Mechanism[Any]]:
    """Return a function that makes a mechanism with one sampled attribute from an earlier phase's sizes and epsilon.

    The mechanism does not learn anything, because its estimates are unbiased for all marginals.
    """

    def learn(aggregate: Aggregate, n2: int) -> Mechanism[Any]:
        checked_integer("n2", n2, 1)
        first, _ = phase_one_marginals(aggregate)
        return cls(first.sizes, first.epsilon)

    return learn


def learner_names() -> list[str]:
    """Return the names of the mechanisms that can follow an earlier phase."""
    return list(learners())


def aggregate_hash(aggregate: Aggregate) -> str:
    """Return a digest (SHA-256, hex) of what an estimate depends on: mechanism, collection, counts and n."""
    return content_hash(
        {
            "mechanism": to_spec(aggregate.mechanism),
            "collection": aggregate.collection,
            "counts": aggregate.counts.tolist(),
            "n": aggregate.n,
        }
    )


def _digest(aggregates: Sequence[Aggregate]) -> str:
    """Return an aggregate's own digest, or the digest of several aggregates' digests in their order."""
    hashes = [aggregate_hash(aggregate) for aggregate in aggregates]
    return hashes[0] if len(hashes) == 1 else content_hash({"aggregates": hashes})


def _learned_with(name: str, free: list[str], settings: dict[str, Any]) -> None:
    """Raise InvalidParameterError unless all settings are among the free ones."""
    unknown = next((setting for setting in settings if setting not in free), None)
    if unknown is not None:
        raise InvalidParameterError(
            f"settings for {name} must be among {', '.join(free)}, got {quoted(unknown)}; leave this setting out"
            if free
            else f"settings for {name} must be left out, got {quoted(unknown)}"
        )


def next_phase(
    collection: Collection, aggregate: Aggregate, contributors: int, mechanism: str = "Corr-RR", **settings: Any
) -> Collection:
    """Collector: learn the next phase's mechanism and return its collection; a pure function.

    The new collection publishes the learned parameters. It also publishes three facts about the earlier phase: its id,
    a digest of its aggregate, and its number of reports. All this is computed from randomised reports, so publishing it
    costs no privacy.

    Parameters
    ----------
    collection, aggregate : Collection, Aggregate
        Phase to learn from, and the aggregate of its reports.
    contributors : int
        Expected number of contributors in the next phase, >= 2. They must not have taken part in an earlier phase.
    mechanism : str
        Name of the next mechanism, one of `learner_names`. OCMS is for one attribute and learns a bound on all
        frequencies (`learn_sketch`). All other mechanisms are for records.
    **settings
        Further arguments of the next mechanism's `learn`, for instance ``method="joint"`` for Corr-RR.

    Returns
    -------
    Collection
        Collection with the same schema and title, the next version, and `learned_from`.

    Raises
    ------
    MismatchError
        If the aggregate is of another collection, or nothing can be learned from its mechanism.
    EmptyAggregateError
        If the aggregate contains no reports.
    InvalidParameterError
        If the mechanism cannot learn, or a setting is unknown or out of bounds.

    Examples
    --------
    >>> from deniable import SPL, Attribute, Collection, Schema, SimulationRandomness
    >>> import numpy as np
    >>> schema = Schema((Attribute("smokes", ("no", "yes")), Attribute("drinks", ("no", "yes"))))
    >>> first = Collection(schema, SPL(sizes=(2, 2), epsilon=1.0))
    >>> answers = np.array([[0, 0], [0, 1], [1, 1]] * 100)
    >>> aggregate = first.aggregate(first.randomize(answers, SimulationRandomness(1)))
    >>> second = next_phase(first, aggregate, contributors=900)
    >>> second.mechanism.name, second.version, second.learned_from.collection == first.id
    ('Corr-RR', 2, True)
    """
    checked_kind("collection", collection, Collection, _PAIRED).check(aggregate)
    checked_integer("contributors", contributors, 2)
    known = learners()
    if mechanism not in known:
        raise unknown_name("mechanism", mechanism, known)
    learn = known[mechanism]
    free = list(inspect.signature(learn).parameters)[2:]
    _learned_with(mechanism, free, settings)
    return Collection(
        collection.schema,
        learn(aggregate, contributors, **settings),
        collection.version + 1,
        collection.title,
        LearnedFrom(collection.id, aggregate_hash(aggregate), aggregate.n),
    )


def next_round(
    phases: Sequence[tuple[Collection, Aggregate]], contributors: int, mechanism: str = "Corr-RR", **settings: Any
) -> Collection:
    """Collector: learn the next phase from all phases so far and return its collection; a pure function.

    For one phase, the function does the same as `next_phase`. For several phases, `refinement.refine` learns Corr-RR
    from all their unbiased estimates together.

    Parameters
    ----------
    phases : sequence of (Collection, Aggregate)
        One or more phases in their order, in the form that `Phases` takes.
    contributors, mechanism, **settings
        Arguments as for `next_phase`. Only Corr-RR learns from several phases, with `method` and `alignment`.

    Returns
    -------
    Collection
        Collection with a version one higher than the last phase's, and with `learned_from` of all phases.

    Raises
    ------
    MismatchError
        If an aggregate is of another collection, the phases do not belong together, or none has an unbiased estimate.
    EmptyAggregateError
        If a phase has no reports.
    InvalidParameterError
        If there is no phase, one occurs twice, or the mechanism or a setting does not fit.

    Examples
    --------
    >>> from deniable import SPL, Attribute, Collection, Schema, SimulationRandomness
    >>> import numpy as np
    >>> rng, answers = SimulationRandomness(1), np.array([[0, 0], [0, 1], [1, 1]] * 100)
    >>> schema = Schema((Attribute("smokes", ("no", "yes")), Attribute("drinks", ("no", "yes"))))
    >>> survey = Collection(schema, SPL(sizes=(2, 2), epsilon=1.0))
    >>> phases = [(survey, survey.aggregate(survey.randomize(answers, rng)))]
    >>> for _ in range(2):
    ...     survey = next_round(phases, contributors=300)
    ...     phases.append((survey, survey.aggregate(survey.randomize(answers, rng))))
    >>> survey.version, survey.learned_from.contributors, len(survey.learned_from.earlier)
    (3, 600, 1)
    """
    if not phases:
        raise InvalidParameterError("phases must list at least one phase, got none")
    if len(phases) == 1:
        return next_phase(*phases[0], contributors, mechanism, **settings)
    together = Phases(phases)
    checked_integer("contributors", contributors, 2)
    if mechanism != "Corr-RR":
        raise InvalidParameterError(
            f"only Corr-RR can learn from {len(phases)} phases, got mechanism={quoted(mechanism)}: give a single "
            "phase, or mechanism Corr-RR"
        )
    _learned_with("Corr-RR from several phases", ["method", "alignment"], settings)
    aggregates = [aggregate for _, aggregate in together.parts]
    *earlier, last = [collection for collection, _ in together.parts]
    source = LearnedFrom(last.id, _digest(aggregates), together.n, tuple(collection.id for collection in earlier))
    return Collection(last.schema, refine(aggregates, contributors, **settings), last.version + 1, last.title, source)


@dataclass(frozen=True)
class Phases:
    """The phases of one survey in their order, each with its reports.

    Parameters
    ----------
    parts : sequence of (Collection, Aggregate)
        At least two phases. Each phase except the first was learned from an earlier phase.

    Raises
    ------
    InvalidParameterError
        If there are fewer than two phases, or a phase occurs twice.
    MismatchError
        If an aggregate is of another collection, the schemas differ, or a phase was not learned from an earlier phase.

    Examples
    --------
    >>> from deniable import SPL, Attribute, Collection, Schema, SimulationRandomness
    >>> import numpy as np
    >>> rng, answers = SimulationRandomness(1), np.array([[0, 0], [0, 1], [1, 1]] * 100)
    >>> schema = Schema((Attribute("smokes", ("no", "yes")), Attribute("drinks", ("no", "yes"))))
    >>> first = Collection(schema, SPL(sizes=(2, 2), epsilon=1.0))
    >>> first_reports = first.aggregate(first.randomize(answers, rng))
    >>> second = next_phase(first, first_reports, contributors=300)
    >>> second_reports = second.aggregate(second.randomize(answers, rng))
    >>> phases = Phases(((first, first_reports), (second, second_reports)))
    >>> phases.n, phases.estimate()["drinks"].contributors
    (600, 600)
    """

    parts: Sequence[tuple[Collection, Aggregate]]

    def __post_init__(self) -> None:
        settle(self, parts=tuple(self.parts))
        if len(self.parts) < 2:
            raise InvalidParameterError(
                "at least two phases must be given, and each phase is a collection with its aggregate, got "
                f"{len(self.parts)} phases"
            )
        earlier: list[str] = []
        for place, (collection, aggregate) in enumerate(self.parts, start=1):
            checked_kind(f"phases[{place - 1}]", collection, Collection, _PAIRED).check(aggregate)
            if collection.schema != self.parts[0][0].schema:
                raise MismatchError(f"phase {place} must have the same schema as phase 1, but its schema is different")
            if collection.id in earlier:
                raise InvalidParameterError(
                    f"all phases must be different collections, got collection {short_id(collection.id)} twice: merge "
                    "the aggregates of this collection first"
                )
            source = collection.learned_from
            if earlier and (source is None or source.collection not in earlier):
                told = "from no phase" if source is None else f"from collection {short_id(source.collection)}"
                raise MismatchError(
                    f"phase {place} (collection {short_id(collection.id)}) must have learned from an earlier phase "
                    f"({', '.join(map(short_id, earlier))}), but phase {place} learned {told}. All phases must be "
                    "parts of one survey; to compare two surveys, use `deniable.answers.compare` (`deniable compare`)"
                )
            earlier.append(collection.id)

    @property
    def n(self) -> int:
        """Total number of contributors in all phases."""
        return sum(aggregate.n for _, aggregate in self.parts)

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """Return notes on who took part in which phase, and on reports that arrived too late for learning."""
        found = [
            f"phase {place}: {collection.mechanism.name}, {aggregate.n:,} contributors, "
            f"epsilon = {collection.privacy().epsilon:g} for each"
            for place, (collection, aggregate) in enumerate(self.parts, 1)
        ]
        found.append("epsilon is for one phase: people who took part in several phases have spent the sum")
        return (*found, *self.late_reports)

    @cached_property
    def late_reports(self) -> tuple[str, ...]:
        """Return a warning for every phase that was learned before all reports of its source had arrived."""
        given = {collection.id: (place, aggregate) for place, (collection, aggregate) in enumerate(self.parts, 1)}
        found = []
        for place, (collection, _) in enumerate(self.parts, 1):
            learned = collection.learned_from
            if learned is None or any(one not in given for one in (*learned.earlier, learned.collection)):
                continue
            sources = [given[one] for one in (*learned.earlier, learned.collection)]
            if _digest([aggregate for _, aggregate in sources]) != learned.aggregate:
                read = " and ".join(str(source) for source, _ in sources)
                found.append(
                    f"phase {place} learned from {learned.contributors:,} reports of phase"
                    f"{'s' if learned.earlier else ''} {read}, not from these "
                    f"{sum(aggregate.n for _, aggregate in sources):,}"
                )
        return tuple(found)

    def estimates(self, estimator: str | None = None) -> tuple[RecordEstimate, ...]:
        """Analyst: return the separate estimates of all phases, in their order.

        Parameters
        ----------
        estimator : str, optional
            Name of an estimator. It is used for each phase whose mechanism has this estimator, and `estimate` is used
            for all other phases.

        Raises
        ------
        EmptyAggregateError
            If a phase has no reports.
        InvalidParameterError
            If no phase has such an estimator.
        """
        offered = [collection.mechanism.estimators for collection, _ in self.parts]
        if estimator is not None and not any(estimator in names for names in offered):
            choices = dict.fromkeys(name for names in offered for name in names)
            known = f"one of {', '.join(choices)}" if choices else "left out, every phase has one"
            raise InvalidParameterError(f"estimator must be {known}, got estimator={quoted(estimator)}")
        return tuple(
            collection.estimate(aggregate, estimator=estimator if estimator in names else None)
            for (collection, aggregate), names in zip(self.parts, offered, strict=True)
        )

    def estimate(self, weights: str | Sequence[float] = "counts", estimator: str | None = None) -> RecordEstimate:
        """Analyst: combine the estimates of the phases; see `deniable.records.combine`.

        Parameters
        ----------
        weights : {"counts", "inverse-variance"} or sequence of float
            Weights of the phases.
        estimator : str, optional
            See `estimates`.

        Raises
        ------
        EmptyAggregateError
            If a phase has no reports.
        InvalidParameterError
            If the weights do not fit the phases, or no phase has such an estimator.
        """
        return combine(*self.estimates(estimator), weights=weights)

    def warnings(self, estimator: str | None = None) -> tuple[str, ...]:
        """Return a warning for each attribute with a smaller standard error in one phase alone than in all phases.

        The phases are weighted by counts. One phase alone is better if the learned tables of another phase are nearly
        singular, because the unbiased estimate of that phase then has large errors.
        """
        alone = self.estimates(estimator)
        return worse_together(alone, combine(*alone))

    def privacy(self) -> Guarantee:
        """Return the guarantee for people who took part in one phase, with the largest bounds of all phases."""
        guarantees = [collection.privacy() for collection, _ in self.parts]
        worst = max(guarantees, key=lambda one: one.epsilon)
        remarks = dict.fromkeys(remark for one in guarantees for remark in one.remarks)
        return replace(
            worst,
            per_attribute=tuple(map(max, zip(*(one.per_attribute for one in guarantees), strict=True))),
            implemented_epsilon=max(one.implemented_epsilon for one in guarantees),
            remarks=(*self.remarks, *remarks),
        )


def worse_together(phases: Sequence[RecordEstimate], together: RecordEstimate) -> tuple[str, ...]:
    """Return a sentence for each attribute whose combined standard error is larger than that of the best phase.

    The function compares standard errors for the population, as the root mean square over the categories. Standard
    errors for the contributors would describe different people in every phase. There is no sentence for an attribute if
    the combination has no standard errors.
    """
    found = []
    for name, both in together.items():
        error = _error(both)
        alone = [_error(part[name]) for part in phases]
        best = int(np.argmin([one if np.isfinite(one) else np.inf for one in alone]))
        if np.isfinite(error) and error > TOLERANCE * alone[best]:
            found.append(
                f"{name}: the standard error is {error:.2g} for all phases together by counts, and {alone[best]:.2g} "
                f"for phase {best + 1} alone: use that phase alone, or give it more weight"
            )
    return tuple(found)


def _error(estimate: Estimate) -> float:
    return float(np.sqrt(np.mean(estimate.standard_errors_for("population") ** 2)))

"""Largest budgets for a data set that keep the leakage about everybody in it below a cap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.checks import checked_records, listed
from deniable.core.result import HIDDEN, OPTIONAL, Result
from deniable.core.thresholds import EpsilonLike
from deniable.errors import InvalidInputError, InvalidParameterError, TooLargeError, quoted
from deniable.leakage.prior.correlation import MAX_DOMAIN, Leakage, Release, any_mechanism_channel, check_releases
from deniable.leakage.prior.distributions import Floats
from deniable.leakage.prior.empirical_prior import Observed, left_out, varying, warnings_of
from deniable.leakage.prior.rare_categories import rare_warnings
from deniable.leakage.prior.tree import TreePrior
from deniable.leakage.summary import record_leakage
from deniable.leakage.totals.total import ADDITIVE_DELTA, ADDITIVE_LABEL
from deniable.research.leakage.calibration.budget_allocation import calibrate_unequal
from deniable.research.leakage.calibration.calibration import ADDITIVE_WARNING, Calibration, calibrate, checked_cap
from deniable.research.leakage.calibration.criteria import Criterion, Epsilon, MechanismFactory
from deniable.survey.schema import Schema


def check_budgets(
    budgets: Budgets, records: ArrayLike, schema: Schema, *, source: str, mechanism: MechanismFactory | None = None
) -> CheckedBudgets:
    """Data-protection officer: return the total leakages at given budgets if the prior comes from other records.

    Parameters
    ----------
    budgets : Budgets
        Budgets from `calibrate_records`.
    records : int[n, d]
        Codes of the schema's attributes in the other records.
    schema : Schema
        Schema with which the budgets were calibrated.
    source : str
        Source of the records, for instance the name of a file.
    mechanism : callable (k, epsilon) -> mechanism, or None
        The same `mechanism` as in `calibrate_records`.

    Raises
    ------
    InvalidInputError
        If a code is out of range, or no attribute varies.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import Attribute, Schema
    >>> from deniable.research.leakage import calibrate_records
    >>> schema = Schema((Attribute("bald", ("no", "yes")), Attribute("male", ("no", "yes"))))
    >>> public = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [450, 350, 50, 150], axis=0)
    >>> people = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [500, 400, 10, 90], axis=0)
    >>> budgets = calibrate_records(public, schema, 2, source="public.csv")
    >>> checked = check_budgets(budgets, people, schema, source="people.csv")
    >>> [(one.attribute, round(one.total.epsilon, 3), one.within) for one in checked.totals]
    [('bald', 2.328, False), ('male', 1.976, True)]
    """
    codes = checked_records(records, schema.sizes)
    data = varying(codes, schema)
    found = budgets.calibration
    known = dict(zip(budgets.names, zip(found.epsilons, found.caps, strict=True), strict=True))
    releases: list[Release] = []
    for name, k in zip(schema.names, schema.sizes, strict=True):
        if name not in known:  # it has no budget, so that it is not released
            releases.append(np.ones((k, 1)))
        elif mechanism is not None:
            releases.append(mechanism(k, known[name][0]))
        else:
            epsilon = float(known[name][0])
            releases.append(any_mechanism_channel(k, epsilon) if k <= MAX_DOMAIN else epsilon)
    leaked = record_leakage(data, releases=releases, delta=found.delta)
    totals = [
        CheckedTotal(name, known[name][1], total)
        for name, total in zip(data.names, leaked.totals, strict=True)
        if name in known
    ]
    return CheckedBudgets(
        source, len(codes), tuple(totals), left_out(data, schema), warnings_of(data, schema, exact=not leaked.tree)
    )


@dataclass(frozen=True, eq=False)
class CheckedTotal(Result):
    """Total leakage about one attribute at the budgets, under the other prior.

    Parameters
    ----------
    attribute : str
        Name of the attribute.
    cap : float
        Cap that its total had to stay below.
    total : Leakage
        Leakage about the attribute by everything together.
    """

    also: ClassVar = {"within": "within"}

    attribute: str
    cap: float
    total: Leakage

    @property
    def within(self) -> bool | None:
        """Return True if the cap holds, or None if only a bound above the cap is known."""
        if self.total.epsilon <= self.cap * (1 + 1e-9):
            return True
        return False if self.total.status == "exact" else None


@dataclass(frozen=True, eq=False)
class CheckedBudgets(Result):
    """Total leakages at given budgets for an adversary with another prior, as `check_budgets` returns them.

    Parameters
    ----------
    source : str
        Source of the other prior: the name of a file.
    records : int
        Number of its records.
    totals : tuple of CheckedTotal
        Totals about the attributes that vary in these records.
    notes, warnings : tuple of str
        Notes on what was left out, and reasons why figures may be larger than in a population.
    """

    also: ClassVar = {"text": "text"}

    source: str
    records: int
    totals: tuple[CheckedTotal, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """A sentence that says whether the caps hold under the other prior."""
        whom = f"For somebody who knows {self.source} ({self.records:,} records)"
        broken = [one.attribute for one in self.totals if one.within is False]
        unknown = [one.attribute for one in self.totals if one.within is None]
        if broken:
            worst = max(self.totals, key=lambda one: one.total.epsilon / one.cap)
            return (
                f"{whom} these budgets do not hold: the cap is exceeded for {listed(broken)}, most by "
                f"{worst.attribute} ({worst.total.epsilon:.4g} of {worst.cap:.4g})."
            )
        if unknown:
            return f"{whom} it is not known whether the cap holds for {listed(unknown)}: a bound is above it."
        return f"{whom} every cap holds, too."


_Prior: TypeAlias = Floats | TreePrior


@dataclass(frozen=True, eq=False)
class CalibrationPrior(Result):
    """Prior of the adversary to which the totals refer.

    Parameters
    ----------
    source : str
        Name of the file from which the records come.
    records : int
        Number of records.
    along_tree : bool
        True if a fitted tree stands in for the joint distribution of the records.
    anybody : bool
        True if the budgets hold whatever the adversary knows.
    """

    also: ClassVar = {"text": "text"}

    source: str
    records: int
    along_tree: bool
    anybody: bool = field(metadata=HIDDEN)

    @property
    def text(self) -> str:
        """Description of the prior in words."""
        if self.anybody:
            return "These budgets hold for any adversary, whatever is known about the attributes' dependence."
        where = f"{self.source} ({self.records:,} records)"
        if self.along_tree:
            return (
                f"Totals are relative to one adversary: somebody who knows how often every pair of answers occurs in "
                f"{where}, and takes attributes to depend on each other along the likeliest tree only."
            )
        return (
            "Totals are relative to one adversary: somebody who knows how often every combination of answers occurs in "
            f"{where}, and nothing else about a person. For somebody who knows another population they may be larger."
        )


@dataclass(frozen=True, eq=False)
class Budget(Result):
    """Budget of one attribute, its cap, and the total at these budgets, in nats.

    Parameters
    ----------
    attribute : str
        Name of the attribute.
    epsilon, cap : float
        Budget, and cap that the criterion's figure had to stay below.
    total : Leakage
        Leakage about the attribute by everything together.
    additive_figure_not_a_bound : float or None
        Figure of the criterion, if that figure bounds nothing.
    additive_delta_not_a_bound : float or None
        Delta of this figure, if releases have a delta.
    """

    attribute: str
    epsilon: float
    cap: float
    total: Leakage
    additive_figure_not_a_bound: float | None = field(default=None, metadata={"json": ADDITIVE_LABEL, **OPTIONAL})
    additive_delta_not_a_bound: float | None = field(default=None, metadata={"json": ADDITIVE_DELTA, **OPTIONAL})


@dataclass(frozen=True, eq=False)
class Budgets(Result):
    """Budgets of the attributes of a data set, and what they guarantee, as `calibrate_records` returns them.

    Parameters
    ----------
    calibration : Calibration
        Result of `calibrate` or `calibrate_unequal`.
    names : tuple of str
        Names of the attributes that vary, in the order of the budgets.
    prior : CalibrationPrior
        Prior of the adversary for which the totals hold.
    worst_case : bool
        Whether totals are the largest over all mechanisms with these epsilons.
    notes, warnings : tuple of str
        Notes on what was left out or changed, and reasons why figures may be larger than in a population.
    check : Result or None
        Totals of the budgets under another prior (`check_budgets`), if they were computed.
    """

    format = "deniable calibration"
    also: ClassVar = {
        "criterion": "calibration.criterion",
        "is_guarantee": "calibration.is_guarantee",
        "warning": "warning",
        "mechanism": "calibration.mechanism",
        "attributes": "attributes",
        "comparison": "comparison",
    }

    calibration: Calibration = field(metadata=HIDDEN)
    names: tuple[str, ...] = field(metadata=HIDDEN)
    prior: CalibrationPrior
    worst_case: bool = field(default=False, metadata={"json": "worst_case_over_mechanisms"})
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    check: CheckedBudgets | None = field(default=None, metadata=OPTIONAL)

    @property
    def attributes(self) -> tuple[Budget, ...]:
        """The budgets and totals of every attribute."""
        found = self.calibration
        figures: Sequence[float | None] = found.figures.tolist() if self.additive else [None] * len(self.names)
        deltas: Sequence[float | None] = [None] * len(self.names)
        if found.figure_deltas is not None:
            deltas = found.figure_deltas.tolist()
        rows = zip(self.names, map(float, found.epsilons), found.caps, found.totals, figures, deltas, strict=True)
        return tuple(Budget(*row) for row in rows)

    @property
    def additive(self) -> bool:
        """Return whether the budgets come from the additive figure, which is not a bound."""
        return self.calibration.criterion == "additive"

    @property
    def warning(self) -> str | None:
        """Return the reason why the budgets are not a guarantee; None if they are."""
        if self.calibration.is_guarantee:
            return None
        if not self.additive:
            return (
                "No guarantee: that attributes depend on each other along a tree only is an assumption that nobody "
                "checked."
            )
        text = f"{ADDITIVE_WARNING[0].upper()}{ADDITIVE_WARNING[1:]}."
        if self.exceeded:
            totals = "the worst of all mechanisms exceeds" if self.worst_case else "exact totals exceed"
            text += f" Here {totals} the cap for {self.exceeded} of {len(self.names)} attributes (*)."
        return text

    @property
    def above(self) -> list[bool]:
        """Return whether an attribute's exact total exceeds its cap; False if exact totals are not known."""
        exact = self.calibration.caps if self.calibration.exact is None else self.calibration.exact.tolist()
        return [total > cap * (1 + 1e-9) for total, cap in zip(exact, self.calibration.caps, strict=True)]

    @property
    def exceeded(self) -> int:
        """Number of attributes whose exact total exceeds its cap."""
        return sum(self.above)

    @property
    def comparison(self) -> str:
        """A sentence that compares the budgets with equal splitting, which needs no prior."""
        share = min(self.calibration.caps) / len(self.names)
        split = f"Splitting the smallest cap equally gives {share:.6g} each, and that holds for any prior"
        if not self.calibration.is_guarantee:
            return f"{split}."
        budgets = [float(epsilon) / share for epsilon in self.calibration.epsilons]
        low, high = min(budgets), max(budgets)
        span = f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"
        return f"{split}; these budgets are {span} times that."


def calibrate_records(
    records: ArrayLike,
    schema: Schema,
    epsilon_total: EpsilonLike,
    *,
    source: str,
    mechanism: MechanismFactory | None = None,
    criterion: Criterion | None = None,
    along_tree: bool = False,
    unequal: bool = False,
    caps: Mapping[str, EpsilonLike] | None = None,
    notes: Sequence[str] = (),
    delta: float = 0.0,
) -> Budgets:
    """Data-protection officer: return the largest budgets that keep the leakage about each attribute below a cap.

    Parameters
    ----------
    records : int[n, d]
        Codes of the schema's attributes. Their empirical distribution is the adversary's prior.
    schema : Schema
        Names and labels.
    epsilon_total : float, Fraction, Decimal or str
        Cap on the total leakage about every attribute, in nats.
    source : str
        Source of the records, for instance the name of a file.
    mechanism : callable (k, epsilon) -> mechanism, or None
        Function that returns the mechanism of an attribute. None stands for any mechanisms with these epsilons.
    criterion : {"exact", "blocks", "prior-free", "additive"} or None
        See `calibrate`. "additive" is not a guarantee, and the result says so. None stands for the first of "exact",
        "blocks" and "prior-free" that can be computed. If this is not "exact", a note says why.
    along_tree : bool
        If True, a joint distribution that is too large for exact totals is replaced by the likeliest tree. The totals
        then hold only if this tree is the true distribution.
    unequal : bool
        If True, find unequal budgets with the least total variance.
    caps : mapping of names to numbers, optional
        Caps of single attributes, which replace epsilon_total. Budgets are then unequal.
    notes : sequence of str
        Facts about the records that a reader must know.
    delta : float
        Delta of each release for events. Releases are then any mechanisms with their budget and this delta.

    Raises
    ------
    InvalidInputError
        If fewer than two attributes vary.
    InvalidParameterError
        If the criterion does not fit the other arguments, or a cap is out of bounds or for an unknown attribute. Also
        if the schema asks for open text, or the mechanism is for whole records.
    TooLargeError
        If the figures of the given criterion cannot be computed. The message names the size.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable.survey.schema import Attribute
    >>> schema = Schema((Attribute("bald", ("no", "yes")), Attribute("male", ("no", "yes"))))
    >>> records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [500, 400, 10, 90], axis=0)
    >>> budgets = calibrate_records(records, schema, 2, source="faces.csv")
    >>> budgets.calibration.is_guarantee, round(float(budgets.calibration.epsilons[0]), 4)
    (True, 1.3177)
    """
    schema.check_listed("leakage is computed for listed categories")
    codes = checked_records(records, schema.sizes)
    data = varying(codes, schema)
    total = checked_cap("epsilon_total", epsilon_total)
    limits = _limits(data, total, caps or {})
    if (unequal or caps) and mechanism is None:
        raise InvalidParameterError(
            "mechanism must be named for unequal budgets, because these budgets minimise the variance of one mechanism"
        )
    if delta and mechanism is not None:
        raise InvalidParameterError(
            f"delta must be 0 for a named mechanism, got delta={delta}: leave out the mechanism to get budgets for all "
            "mechanisms with this delta"
        )
    chosen = _UNNAMED if criterion is None else ((criterion, ""),)
    for used, why in chosen:
        note = [why] if why else []
        _check_fits(data, used, mechanism)
        try:
            prior = _prior(data, used, along_tree)
            if unequal or caps:
                assert mechanism is not None
                found = calibrate_unequal(prior, limits, used, mechanism)
            else:
                stand_in = _AnyMechanism(data.names) if used in ("exact", "additive") else None
                found = calibrate(prior, total, used, stand_in if mechanism is None else mechanism, delta=delta)
            break
        except TooLargeError:
            if used == chosen[-1][0]:
                raise
    return Budgets(
        calibration=found,
        names=data.names,
        prior=CalibrationPrior(source, len(codes), along_tree and used != "prior-free", used == "prior-free"),
        worst_case=mechanism is None,
        notes=(*notes, *left_out(data, schema), *note),
        warnings=(
            *warnings_of(data, schema, exact=used == "exact" and not along_tree),
            *rare_warnings(data, np.array([float(epsilon) for epsilon in found.epsilons])),
        ),
    )


_UNNAMED: tuple[tuple[Criterion, str], ...] = (
    ("exact", ""),
    (
        "blocks",
        "exact totals are out of reach for these attributes: an upper bound of each is kept below the cap (blocks), so "
        "larger budgets may be possible",
    ),
    (
        "prior-free",
        "neither exact totals nor bounds that know these answers are in reach for so many attributes: the cap is split "
        "(prior-free)",
    ),
)
"""Criteria that are tried if none is named, and the notes about them."""


class _AnyMechanism:
    """Stand-in for all mechanisms, if its sets of values can be listed."""

    name = "any mechanism with this budget"

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def __call__(self, k: int, epsilon: Epsilon) -> Floats:
        if k > MAX_DOMAIN:
            raise TooLargeError(
                f"the worst case over all mechanisms is known for at most {MAX_DOMAIN} categories, got an attribute "
                f"with {k} categories: name the mechanism, merge categories, or choose the criterion “prior-free”"
            )
        return any_mechanism_channel(k, float(epsilon))


def _prior(data: Observed, criterion: Criterion, along_tree: bool) -> _Prior:
    # The prior-free bound needs only the sizes. A tree has them whatever the number of attributes.
    if along_tree or criterion == "prior-free":
        return TreePrior.from_records(data)
    return data.joint()


def _limits(data: Observed, total: float, caps: Mapping[str, EpsilonLike]) -> list[float]:
    unknown = [name for name in caps if name not in data.names]
    if unknown:
        raise InvalidParameterError(
            f"caps must name attributes that vary in the records ({listed(data.names)}), got {quoted(unknown[0])}"
        )
    return [checked_cap(f"cap of {quoted(name)}", caps[name]) if name in caps else total for name in data.names]


def _check_fits(data: Observed, criterion: Criterion, mechanism: MechanismFactory | None) -> None:
    """Raise an error for mechanisms whose leakage depends on categories that nobody holds.

    Calibration only sees the other categories.
    """
    if mechanism is None:
        return
    oracles = [mechanism(size, 1.0) for size in data.sizes]
    check_releases(oracles, len(oracles))
    if criterion == "prior-free":
        return
    for name, attribute, size, oracle in zip(data.names, data.attributes, data.sizes, oracles, strict=True):
        law = oracle.support_law if size < data.domains[attribute] else None
        # A report may say something about categories that nobody holds: hashes share cells with them, and subsets
        # contain some of them.
        subsets = law is not None and law.reachable is not None and oracle.report_fields[0].width is not None
        if law is not None and (law.hashes is not None or subsets):
            raise InvalidInputError(
                f"every category of {quoted(name)} must occur in the records to calibrate this mechanism, but only "
                f"{size} of {data.domains[attribute]} occur: leave the other categories out of the schema"
            )

"""From records and a cap to budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from deniable.checks import checked_records
from deniable.errors import InvalidInputError, InvalidParameterError, TooLargeError
from deniable.leakage._any_mechanism import MAX_DOMAIN, any_mechanism_channel
from deniable.leakage.calibration import calibrate, checked_cap
from deniable.leakage.criteria import Criterion, Epsilon, MechanismFactory
from deniable.leakage.distributions import Floats
from deniable.leakage.observed import Observed
from deniable.leakage.tree import TreePrior
from deniable.leakage.unequal import calibrate_unequal
from deniable.mechanisms.count_mean_sketch import CountMeanSketch
from deniable.mechanisms.subset import SubsetSelection
from deniable.report.leakage_calibration import CalibrationSummary
from deniable.report.leakage_caveats import left_out, listed, varying, warnings_of
from deniable.schema import Schema
from deniable.thresholds import EpsilonLike

_Prior: TypeAlias = Floats | TreePrior


def summarize_calibration(
    records: ArrayLike,
    schema: Schema,
    epsilon_total: EpsilonLike,
    *,
    source: str,
    mechanism: MechanismFactory | None = None,
    criterion: Criterion = "exact",
    along_tree: bool = False,
    unequal: bool = False,
    caps: Mapping[str, EpsilonLike] | None = None,
    notes: Sequence[str] = (),
) -> CalibrationSummary:
    """Data-protection officer: the largest budgets per attribute that keep what is leaked about each below a cap.

    Parameters
    ----------
    records : int[n, d]
        Codes of the schema's attributes; their empirical distribution is the adversary's prior.
    schema : Schema
        Names and labels.
    epsilon_total : float, Fraction, Decimal or str
        Cap on the total leakage about every attribute, nats.
    source : str
        Where the records come from, for instance a file's name.
    mechanism : callable (k, epsilon) -> mechanism, or None
        How attributes are released. None: by any mechanisms with these epsilons.
    criterion : {"exact", "blocks", "prior-free", "additive"}
        As for `calibrate`; "additive" is no guarantee and says so.
    along_tree : bool
        Replace the joint distribution, where it is too large, by the likeliest tree: an assumption.
    unequal : bool
        Unequal budgets of least total variance instead of equal ones.
    caps : mapping of names to numbers, optional
        Caps of single attributes, in place of epsilon_total; they make budgets unequal.
    notes : sequence of str
        What a reader must know about the records.

    Raises
    ------
    InvalidInputError
        If fewer than two attributes vary.
    InvalidParameterError
        If the criterion does not fit the other arguments, or a cap is for an unknown attribute or out of bounds.
    TooLargeError
        If exact totals are out of reach; the message names the size and the alternatives.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable.schema import Attribute
    >>> schema = Schema((Attribute("bald", ("no", "yes")), Attribute("male", ("no", "yes"))))
    >>> records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [500, 400, 10, 90], axis=0)
    >>> summary = summarize_calibration(records, schema, 2, source="faces.csv")
    >>> summary.calibration.is_guarantee, round(float(summary.calibration.epsilons[0]), 4)
    (True, 1.3177)
    """
    codes = checked_records(records, schema.sizes)
    data = varying(codes, schema)
    total = checked_cap("epsilon_total", epsilon_total)  # type: ignore[arg-type]
    limits = _limits(data, total, caps or {})
    _check_fits(data, criterion, mechanism)
    prior = _prior(data, criterion, along_tree)
    factory: Any = mechanism
    if mechanism is None and criterion in ("exact", "additive"):
        factory = _AnyMechanism(data.names)
    if unequal or caps:
        if mechanism is None:
            raise InvalidParameterError("mechanism must be named for unequal budgets, which minimise its variance")
        found = calibrate_unequal(prior, limits, criterion, mechanism)
    else:
        found = calibrate(prior, total, criterion, factory)
    return CalibrationSummary(
        calibration=found,
        names=data.names,
        source=source,
        records=len(codes),
        along_tree=along_tree and criterion != "prior-free",
        worst_case=mechanism is None,
        notes=(*notes, *left_out(data, schema)),
        warnings=warnings_of(data, schema, exact=criterion == "exact" and not along_tree),
    )


class _AnyMechanism:
    """Stands for all mechanisms, where its sets of values can be listed."""

    name = "any mechanism with this budget"

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def __call__(self, k: int, epsilon: Epsilon) -> Floats:
        if k > MAX_DOMAIN:
            raise TooLargeError(
                f"the worst of all mechanisms is known for at most {MAX_DOMAIN} categories, got an attribute with {k}: "
                "name the mechanism, merge categories, or choose the criterion prior-free"
            )
        return any_mechanism_channel(k, float(epsilon))


def _prior(data: Observed, criterion: Criterion, along_tree: bool) -> _Prior:
    # The prior-free bound needs the sizes only, and a tree has them whatever the number of attributes.
    if along_tree or criterion == "prior-free":
        return TreePrior.from_records(data)
    return data.joint()


def _limits(data: Observed, total: float, caps: Mapping[str, EpsilonLike]) -> list[float]:
    unknown = [name for name in caps if name not in data.names]
    if unknown:
        raise InvalidParameterError(f"caps must be for attributes among {listed(data.names)}, got {unknown[0]!r}")
    return [checked_cap(f"cap of {name}", caps[name]) if name in caps else total for name in data.names]  # type: ignore[arg-type]


def _check_fits(data: Observed, criterion: Criterion, mechanism: MechanismFactory | None) -> None:
    """Refuse mechanisms whose leakage depends on categories that nobody holds: calibration sees the others only."""
    if mechanism is None or criterion == "prior-free":
        return
    for name, attribute, size in zip(data.names, data.attributes, data.sizes, strict=True):
        if size < data.domains[attribute] and isinstance(mechanism(size, 1.0), CountMeanSketch | SubsetSelection):
            raise InvalidInputError(
                f"every category of {name!r} must occur in the records to calibrate this mechanism, {size} of "
                f"{data.domains[attribute]} do: leave the others out of the schema"
            )

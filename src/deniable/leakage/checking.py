"""Totals of calibrated budgets for an adversary with another prior than the one that they were calibrated on."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.checks import checked_records
from deniable.leakage.calibration.budgets import Budgets
from deniable.leakage.calibration.checked import CheckedBudgets, CheckedTotal
from deniable.leakage.calibration.criteria import MechanismFactory
from deniable.leakage.prior.correlation import MAX_DOMAIN, Release, any_mechanism_channel
from deniable.leakage.prior.empirical_prior import left_out, varying, warnings_of
from deniable.leakage.summary import record_leakage
from deniable.survey.schema import Schema


def check_budgets(
    budgets: Budgets, records: ArrayLike, schema: Schema, *, source: str, mechanism: MechanismFactory | None = None
) -> CheckedBudgets:
    """Data-protection officer: what calibrated budgets come to if the adversary's prior is that of other records.

    Parameters
    ----------
    budgets : Budgets
        From `calibrate_records`.
    records : int[n, d]
        Codes of the schema's attributes: the population that the budgets are checked against.
    schema : Schema
        The schema that the budgets were calibrated with.
    source : str
        Where the records come from, for instance a file's name.
    mechanism : callable (k, epsilon) -> mechanism, or None
        The one that the budgets were calibrated for.

    Raises
    ------
    InvalidInputError
        If a code is out of range, or no attribute varies.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import Attribute, Schema
    >>> from deniable.leakage import calibrate_records
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

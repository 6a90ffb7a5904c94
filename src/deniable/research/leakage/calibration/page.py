"""Page that shows the budgets of a calibration."""

from __future__ import annotations

from deniable.leakage.totals.total import ADDITIVE_DELTA, ADDITIVE_LABEL
from deniable.report.leakages import PRIVATE, few_records
from deniable.report.page import Card, Page, Section
from deniable.report.parts.table import Table
from deniable.report.parts.text import Text
from deniable.research.leakage.calibration.budgets import Budgets, CheckedBudgets


def budgets_page(budgets: Budgets) -> Page:
    """Return the page of a calibration: budgets, and what they guarantee or a warning that they guarantee nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import Attribute, Schema
    >>> from deniable.research.leakage.calibration.budgets import calibrate_records
    >>> schema = Schema((Attribute("bald", ("no", "yes")), Attribute("male", ("no", "yes"))))
    >>> records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [500, 400, 10, 90], axis=0)
    >>> budgets_page(calibrate_records(records, schema, 2, source="faces.csv")).title
    'Budgets that keep every total within 2'
    """
    found = budgets.calibration
    cap = f"{found.caps[0]:.6g}" if len(set(found.caps)) == 1 else "its own cap"
    if_tree = "" if found.is_guarantee else ", if attributes depend along a tree only"
    title = f"Budgets that keep every total within {cap}{if_tree}"
    worst = " Totals are the largest over all such mechanisms." if budgets.worst_case else ""
    delta = f" and delta = {found.delta:g}" if found.delta else ""
    released = f"Released: {len(budgets.names)} attributes, each by {found.mechanism}{delta}.{worst}"
    warning = [] if budgets.warning is None else [Card(budgets.warning, warning=True)]
    statuses = {
        "exact": "worst case" if budgets.worst_case else "exact",
        "upper bound": "at most",
        "assumption": "if a tree",
    }
    marks = ["*" if above else " " * any(budgets.above) for above in budgets.above]
    header = ["attribute", "epsilon", "cap", "total", ""]
    columns = [
        list(budgets.names),
        [f"{float(epsilon):.6g}" for epsilon in found.epsilons],
        [f"{one:.6g}" for one in found.caps],
        [f"{total.epsilon:.4f}{mark}" for total, mark in zip(found.totals, marks, strict=True)],
        [statuses[total.status] for total in found.totals],
    ]
    if found.delta:
        header.append("its delta")
        columns.append([f"{total.delta:.3g}" for total in found.totals])
    if budgets.additive:
        title = f"Budgets at which the {ADDITIVE_LABEL} is {cap}"
        header.append(ADDITIVE_LABEL)
        columns.append([f"{float(figure):.4f}" for figure in found.figures])
    if found.figure_deltas is not None:
        header.append(ADDITIVE_DELTA)
        columns.append([f"{float(figure):.3g}" for figure in found.figure_deltas])
    return Page(
        title=title,
        cards=(*warning, Card(released, (budgets.prior.text, *budgets.notes)), *few_records(budgets.warnings)),
        sections=(
            Section("Budget of each attribute", (Table.of(header, columns), Text((budgets.comparison,)))),
            *_check(budgets.check),
        ),
        brief=released,
        footer=PRIVATE,
        private=True,
    )


def _check(check: CheckedBudgets | None) -> list[Section]:
    if check is None:
        return []
    marks = {True: "", False: "*", None: "?"}
    columns = [
        [one.attribute for one in check.totals],
        [f"{one.cap:.6g}" for one in check.totals],
        [f"{one.total.epsilon:.4f}{marks[one.within]}" for one in check.totals],
        [str(one.total.status) for one in check.totals],
    ]
    table = Table.of(["attribute", "cap", "total", ""], columns)
    return [
        Section(f"Checked against {check.source}", (Text((check.text,)), table, Text((*check.notes, *check.warnings))))
    ]

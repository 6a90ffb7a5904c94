"""Budgets from a calibration, as a terminal, a page and JSON show them; the additive criterion with its warning."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from deniable.files import write_text
from deniable.leakage.calibration import ADDITIVE_WARNING, Calibration
from deniable.leakage.total import ADDITIVE_LABEL
from deniable.report.leakage_html import page_template
from deniable.report.tables import print_line, table_lines
from deniable.report.text import visible

FORMAT = "deniable calibration"
FORMAT_VERSION = 1


@dataclass(frozen=True, eq=False)
class CalibrationSummary:
    """Everything that one page says about calibrated budgets.

    Parameters
    ----------
    calibration : Calibration
        From `calibrate` or `calibrate_unequal`.
    names : tuple of str
        The attributes that vary, in its order.
    source : str
        Where the prior comes from: a file's name.
    records : int
        Number of records behind the prior.
    along_tree : bool
        Whether a fitted tree stands in for the joint distribution.
    worst_case : bool
        Whether totals are the largest over all mechanisms with these epsilons.
    notes, warnings : tuple of str
        What was left out or changed; why figures may be larger than in a population.
    """

    calibration: Calibration
    names: tuple[str, ...]
    source: str
    records: int
    along_tree: bool = False
    worst_case: bool = False
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def additive(self) -> bool:
        """Whether the budgets come from the additive figure, which bounds nothing."""
        return self.calibration.criterion == "additive"

    @property
    def heading(self) -> str:
        """What the page is about, in a few words."""
        caps = self.calibration.caps
        cap = f"{caps[0]:.6g}" if len(set(caps)) == 1 else "its own cap"
        if self.additive:
            return f"Budgets at which the {ADDITIVE_LABEL} is {cap}"
        if_tree = "" if self.calibration.is_guarantee else ", if attributes depend along a tree only"
        return f"Budgets that keep every total within {cap}{if_tree}"

    @property
    def release_text(self) -> str:
        """One sentence: what would be released, and how."""
        worst = " Totals are the largest over all such mechanisms." if self.worst_case else ""
        return f"Released: {len(self.names)} attributes, each by {self.calibration.mechanism}.{worst}"

    @property
    def prior_text(self) -> str:
        """One sentence: what the budgets are relative to."""
        if self.calibration.criterion == "prior-free":
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

    @property
    def warning(self) -> str:
        """Why the budgets are no guarantee; empty if they are one."""
        if self.calibration.is_guarantee:
            return ""
        if not self.additive:
            return (
                "No guarantee: that attributes depend on each other along a tree only is an assumption that nobody "
                "checked."
            )
        text = additive_warning()
        if self.exceeded:
            totals = "the worst of all mechanisms exceeds" if self.worst_case else "exact totals exceed"
            text += f" Here {totals} the cap for {self.exceeded} of {len(self.names)} attributes (*)."
        return text

    @property
    def exceeded(self) -> int:
        """Number of attributes whose exact total exceeds its cap; 0 where exact totals are not known."""
        if self.calibration.exact is None:
            return 0
        pairs = zip(self.calibration.exact, self.calibration.caps, strict=True)
        return sum(_above(float(total), cap) for total, cap in pairs)

    @property
    def comparison_text(self) -> str:
        """One sentence: how these budgets compare with splitting, which needs no prior."""
        share = min(self.calibration.caps) / len(self.names)
        split = f"Splitting the smallest cap equally gives {share:.6g} each, and that holds for any prior"
        if not self.calibration.is_guarantee:
            return f"{split}."
        budgets = [float(epsilon) / share for epsilon in self.calibration.epsilons]
        low, high = min(budgets), max(budgets)
        span = f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"
        return f"{split}; these budgets are {span} times that."

    def columns(self) -> tuple[list[str], list[list[str]]]:
        """Return the table: header, and cells column by column."""
        found = self.calibration
        statuses = {
            "exact": "worst case" if self.worst_case else "exact",
            "upper bound": "at most",
            "assumption": "if a tree",
        }
        header = ["attribute", "epsilon", "cap", "total", ""]
        cells = [
            list(self.names),
            [f"{float(epsilon):.6g}" for epsilon in found.epsilons],
            [f"{cap:.6g}" for cap in found.caps],
            [f"{total.epsilon:.4f}{mark}" for total, mark in zip(found.totals, self._marks(), strict=True)],
            [statuses[total.status] for total in found.totals],
        ]
        if self.additive:
            header.append(ADDITIVE_LABEL)
            cells.append([f"{float(figure):.4f}" for figure in found.figures])
        return header, cells

    def _marks(self) -> list[str]:
        """Return an asterisk for every exact total above its cap, and an equal space elsewhere if there is one."""
        if self.calibration.exact is None or not self.exceeded:
            return [""] * len(self.names)
        return [
            "*" if _above(float(total), cap) else " "
            for total, cap in zip(self.calibration.exact, self.calibration.caps, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON data in full precision."""
        found = self.calibration
        attributes = []
        for j, name in enumerate(self.names):
            row: dict[str, Any] = {
                "attribute": name,
                "epsilon": float(found.epsilons[j]),
                "cap": found.caps[j],
                "total": dict(vars(found.totals[j])),
            }
            if self.additive:
                row[ADDITIVE_LABEL] = float(found.figures[j])
            attributes.append(row)
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "criterion": found.criterion,
            "is_guarantee": found.is_guarantee,
            "warning": self.warning or None,
            "worst_case_over_mechanisms": self.worst_case,
            "prior": {
                "source": self.source,
                "records": self.records,
                "along_tree": self.along_tree,
                "text": self.prior_text,
            },
            "mechanism": found.mechanism,
            "attributes": attributes,
            "comparison": self.comparison_text,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }


def _above(total: float, cap: float) -> bool:
    return total > cap * (1 + 1e-9)


def additive_warning() -> str:
    """Return why the additive figure guarantees nothing, as a sentence that gives it its full name."""
    return f"{ADDITIVE_WARNING[0].upper()}{ADDITIVE_WARNING[1:]}."


def print_calibration(console: Console, summary: CalibrationSummary) -> None:
    """Print the budgets and what they guarantee; a warning comes first."""
    print_line(console, summary.heading, style="bold")
    if summary.warning:
        print_line(console, f"WARNING: {summary.warning}", style="bold")
    print_line(console, visible(summary.release_text))
    print_line(console, visible(summary.prior_text))
    console.print()
    header, cells = summary.columns()
    for line in table_lines(header, cells, console.width):
        console.print(Text(line), no_wrap=True, crop=False)
    console.print()
    print_line(console, summary.comparison_text)
    for kind, sentences in (("warning", summary.warnings), ("note", summary.notes)):
        for sentence in sentences:
            print_line(console, f"{kind}: {visible(sentence)}")


def render_calibration_html(summary: CalibrationSummary) -> str:
    """Return the page: budgets, what they guarantee, or the warning that they guarantee nothing."""
    header, cells = summary.columns()
    rows = [[visible(row[0]), *row[1:]] for row in zip(*cells, strict=True)]
    return page_template("calibration.html").render(
        summary=summary, title=visible(summary.heading), header=header, rows=rows
    )


def save_calibration_html(summary: CalibrationSummary, path: str | os.PathLike[str]) -> None:
    """Write `render_calibration_html` to a file, atomically.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    write_text(path, render_calibration_html(summary))

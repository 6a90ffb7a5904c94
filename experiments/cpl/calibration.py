"""Figure 8: the largest common budget under a cap on each total, by the paper's criterion and by exact totals.

CelebA and LFW share 38 attribute names. The paper uses 21 and does not list them. We take the first 21 in CelebA's
(alphabetical) order. The paper's caps are missing from its text, too. We use 1 to 20.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from deniable import GRR, SimulationRandomness
from deniable.leakage import joint_from_records
from deniable.research.adversary.attacks import attack_success
from deniable.research.leakage import calibrate, exact_totals
from experiments.cpl.data import COMMON_FACES as COMMON_FACES, Table, common_faces as common_faces, lfw
from experiments.cpl.paper import PAPER, Floats, expected
from experiments.harness import Cell, Run
from experiments.pictures import BLUE, GREEN, GREY, ORANGE, VERMILLION, apart, dress, note, panels

CAPS = (1.0, 2.0, 5.0, 10.0, 20.0)
FAILURE_CAPS = (1.0, 5.0, 20.0)
PUBLIC = ("first 21", "last 21", "even 19", "odd 19")
"""Choices of attributes for which LFW's joint distribution replaces CelebA's."""
LINES = {
    ("exact", "CelebA"): (BLUE, "-", "o", "exact, CelebA"),
    ("exact", "LFW"): (GREEN, "--", "s", "exact, LFW's joint"),
    ("additive", "CelebA"): (VERMILLION, "-.", "D", "additive, CelebA"),
    ("additive", "LFW"): (ORANGE, ":", "^", "additive, LFW's joint"),
}


def joint_of(table: Table) -> Floats:
    """Return the empirical joint distribution of a table."""
    return joint_from_records(table.records, table.sizes)


def totals_at(joint: Floats, epsilon: float) -> Floats:
    """Return the exact total about each attribute when GRR releases all attributes with the same budget."""
    return exact_totals(joint, [GRR(2, epsilon)] * joint.ndim)


def selected(selection: str) -> Table:
    """Return attributes of CelebA that LFW also has: the first or last 21, or every second one."""
    faces = common_faces()[0]
    names, kind = faces.names, selection.partition(" ")[0]
    parts = {"first": names[:COMMON_FACES], "last": names[-COMMON_FACES:], "even": names[::2], "odd": names[1::2]}
    return faces.select(parts[kind])


@PAPER.experiment("fig8", "Calibration on CelebA, 21 attributes; LFW as public knowledge")
def budgets(run: Run) -> None:
    """Compute budgets by criterion and prior, and their totals under CelebA's joint distribution."""
    known: dict[str, Floats] = {}

    def prior(name: str) -> Floats:
        if not known:
            faces, public = common_faces(COMMON_FACES)
            known.update({"CelebA": joint_of(faces), "LFW": joint_of(public)})
        return known[name]

    def compute(cell: Cell) -> Cell:
        found = calibrate(prior(cell["prior"]), cell["cap"], cell["criterion"])
        epsilon = float(found.epsilons[0])
        totals = totals_at(prior("CelebA"), epsilon)
        rng = SimulationRandomness(cell["seed"])
        grr, records = GRR(2, epsilon), common_faces(COMMON_FACES)[0].records
        wrong = [float((grr.randomize(column, rng) != column).mean()) for column in records.T]
        return {
            "epsilon": epsilon,
            "exact under CelebA": float(totals.max()),
            "0-1 error": 1 - attack_success(grr),
            "0-1 error, simulated": float(np.mean(wrong)),
        }

    settings = [{"cap": cap, "prior": name, "criterion": criterion} for criterion, name in LINES for cap in CAPS]
    cells = run.cells(settings, compute)
    rows = [
        {**{key: cell[key] for key in ("criterion", "prior", "cap", "epsilon")},
         "times SPL": cell["epsilon"] * COMMON_FACES / cell["cap"],
         "exact total under CelebA": cell["exact under CelebA"],
         "0-1 error": cell["0-1 error"],
         "0-1 error, simulated": cell["0-1 error, simulated"]}
        for cell in cells
    ]  # fmt: skip
    shown = ["criterion", "prior", "cap", "epsilon", "times SPL", "exact total under CelebA", "0-1 error"]
    run.show(rows, shown, title="Budgets per attribute, 21 attributes of CelebA")
    run.save_table(rows)
    _public(run)
    _halves(run)
    figure, axes = panels(2, 10, 4.4)
    _lines(axes[0], rows, "epsilon")
    dress(axes[0], "budget of each attribute", "cap on everybody's total, epsilon_total", "epsilon per attribute")
    _lines(axes[1], rows, "0-1 error")
    dress(axes[1], "error of a report", "cap on everybody's total, epsilon_total", "0-1 error")
    run.save_figure(figure)


def _public(run: Run) -> None:
    """Calibrate on LFW's joint distribution by exact totals; show the resulting totals under CelebA's."""

    def compute(cell: Cell) -> Cell:
        table = selected(cell["selection"])
        epsilon = float(calibrate(joint_of(lfw().select(table.names)), cell["cap"]).epsilons[0])
        totals = totals_at(joint_of(table), epsilon)
        return {"epsilon": epsilon, "exact": float(totals.max()), "largest about": table.names[int(totals.argmax())]}

    settings = [{"selection": name, "cap": cap, "prior": "LFW"} for name in PUBLIC for cap in FAILURE_CAPS]
    cells = run.cells(settings, compute)
    rows = [
        {
            "attributes": cell["selection"],
            "cap": cell["cap"],
            "epsilon": cell["epsilon"],
            "exact total": cell["exact"],
            "exact/cap": cell["exact"] / cell["cap"],
            "largest about": cell["largest about"],
        }
        for cell in cells
    ]
    run.show(rows, title="Calibrated exactly, but on LFW's joint: totals under CelebA's")
    run.save_table(rows, "-public")


def _halves(run: Run) -> None:
    """Show how exact totals depend on the choice of the records for the prior."""

    def compute(cell: Cell) -> Cell:
        faces = common_faces(COMMON_FACES)[0]
        order = SimulationRandomness(cell["seed"]).generator.permutation(len(faces.records))
        parts = {"all": order, "half": order[::2], "other half": order[1::2]}
        values = {}
        for name, rows in parts.items():
            prior = joint_of(faces._replace(records=faces.records[rows]))
            values[name] = float(totals_at(prior, cell["epsilon"]).max())
        return values

    cells = run.cells([{"halves": True, "epsilon": epsilon} for epsilon in (0.5, 1.0, 2.0)], compute)
    rows = [{key: cell[key] for key in ("epsilon", "all", "half", "other half")} for cell in cells]
    run.show(rows, title="Largest exact total by prior: all of CelebA or a random half")
    run.save_table(rows, "-halves")


def _lines(panel: Axes, rows: list[Cell], value: str) -> None:
    """Draw one value against the caps, with the rule that splits the budget as a thin line, labelled at the right."""
    ends = []
    for (criterion, name), (colour, dash, mark, text) in LINES.items():
        own = [row for row in rows if (row["criterion"], row["prior"]) == (criterion, name)]
        panel.plot(
            [row["cap"] for row in own],
            [row[value] for row in own],
            dash,
            marker=mark,
            color=colour,
            linewidth=1.6,
            markersize=4.5,
        )
        ends.append((own[-1][value], text, colour))
    split = [cap / COMMON_FACES for cap in CAPS]
    error = [1 - attack_success(GRR(2, epsilon)) for epsilon in split]
    panel.plot(CAPS, split if value == "epsilon" else error, color=GREY, linewidth=1.2)
    ends.append((split[-1] if value == "epsilon" else error[-1], "SPL: cap/21", GREY))
    if value == "epsilon":
        five = [expected()["figure 8"]["times SPL"] * budget for budget in split]
        shown = [cap for cap, budget in zip(CAPS, five, strict=True) if budget < 3.2]
        panel.plot(shown, five[: len(shown)], color="black", linewidth=1.4, linestyle=(0, (1, 1.5)))
        note(panel, (shown[-1], five[len(shown) - 1]), 'the paper: "five times"', "black", (-4, 10), 8.5, "center")
    panel.set_ylim(bottom=0)
    low, high = panel.get_ylim()
    for (_, text, colour), y in zip(ends, apart([end[0] for end in ends], 0.055 * (high - low)), strict=True):
        note(panel, (20, y), text, colour, (9, 0), 8.5)
    panel.set_xlim(0, 29)
    panel.set_xticks([1, 2, 5, 10, 20])

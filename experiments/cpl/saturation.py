"""Figure 4(b): leakage about gender grows with epsilon up to a limit; its total, exact and by the paper's sum."""

from __future__ import annotations

from deniable import GRR, SimulationRandomness
from deniable.leakage import conditional_from_joint, joint_from_records, saturation
from deniable.research.adversary.attack_workflow import statistical_cpl
from deniable.research.leakage import total_leakage
from experiments.cpl.data import LOADERS
from experiments.cpl.paper import PAPER
from experiments.harness import Cell, Run
from experiments.pictures import BLUE, GREEN, GREY, PURPLE, VERMILLION, dress, note, panels

TARGET, SOURCES = "Male", ("No_Beard", "Wearing_Necklace", "Smiling")
EPSILONS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
SAMPLED = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
STYLES = {"No_Beard": (BLUE, "o"), "Wearing_Necklace": (PURPLE, "s"), "Smiling": (GREEN, "^")}


@PAPER.experiment("fig4b", "CelebA: CPL about gender against epsilon, GRR; exact total and additive figure", runs=25)
def over_epsilon(run: Run) -> None:
    """Compute curves, their limits, the simulated workflow, and totals of four released attributes."""

    def compute(cell: Cell) -> Cell:
        table = LOADERS["CelebA"]().select([TARGET, *SOURCES])
        grr = [GRR(2, cell["epsilon"])] * 4
        found = total_leakage(joint_from_records(table.records, table.sizes), grr)
        values = {
            "cpl": found.pairwise[0, 1:].tolist(),
            "exact": float(found.exact[0]),
            "additive": float(found.additive_figure_not_a_bound[0]),
            "sampled": [],
        }
        if cell["epsilon"] in SAMPLED:
            simulated = statistical_cpl(
                table.records,
                table.sizes,
                grr,
                rng=SimulationRandomness(cell["seed"]),
                replications=cell["runs"],
                surrogates=0,
            )
            values["sampled"] = simulated.estimates[0, 1:].tolist()
        return values

    cells = run.cells([{"epsilon": epsilon} for epsilon in EPSILONS], compute)
    joint = joint_from_records(*LOADERS["CelebA"]().select([TARGET, *SOURCES])[:2])
    limits = {source: saturation(conditional_from_joint(joint, 0, j)) for j, source in enumerate(SOURCES, start=1)}
    rows = [
        {
            "epsilon": cell["epsilon"],
            **{source: cell["cpl"][j] for j, source in enumerate(SOURCES)},
            **{f"{source} sampled": cell["sampled"][j] for j, source in enumerate(SOURCES) if cell["sampled"]},
            "total, exact": cell["exact"],
            "additive figure (not a bound)": cell["additive"],
        }
        for cell in cells
    ]
    run.save_table(rows)
    shown = ["epsilon", *SOURCES, "total, exact", "additive figure (not a bound)"]
    run.show([row for row in rows if row["epsilon"] in SAMPLED], shown, "Leakage about Male")
    run.say("limits: " + ", ".join(f"{source} {limit:.3f}" for source, limit in limits.items()))
    figure, (left, right) = panels(2, 10.5, 4.2)
    dress(left, "about Male, by releasing one attribute", "epsilon of each attribute", "CPL, nats")
    left.plot([0, 6.4], [0, 6.4], color="#b0b0b0", linewidth=1, linestyle="--")
    note(left, (4.2, 4.2), "epsilon", GREY, (-8, 4), align="right")
    x = [cell["epsilon"] for cell in cells]
    for j, source in enumerate(SOURCES):
        colour, mark = STYLES[source]
        left.plot(x, [cell["cpl"][j] for cell in cells], color=colour, linewidth=2)
        dots = [cell for cell in cells if cell["sampled"]]
        left.plot([c["epsilon"] for c in dots], [c["sampled"][j] for c in dots], mark, color=colour, markersize=5)
        left.axhline(limits[source], color=colour, linewidth=0.8, linestyle=":")
        text = f"{source.replace('_', ' ')}, limit {limits[source]:.2f}"
        note(left, (10, limits[source]), text, colour, (0, 8), align="right")
    note(left, (0.3, 6.3), "lines: exact; marks: simulated", GREY, (0, 0))
    left.set_xlim(0, 10.2)
    left.set_ylim(0, 6.6)
    dress(right, "about Male, by releasing all four", "epsilon of each attribute", "nats")
    right.plot(x, [4 * value for value in x], color=GREY, linewidth=1.2, linestyle="--")
    right.plot(x, [cell["additive"] for cell in cells], color=VERMILLION, linewidth=2, linestyle="-.")
    right.plot(x, [cell["exact"] for cell in cells], color=BLUE, linewidth=2)
    right.set_xlim(0, 10.2)
    right.set_ylim(0, 20)
    note(right, (3.2, 14.5), "sum of epsilons\n(bound for any prior)", GREY, (0, 0), align="right")
    note(right, (7.7, 17.4), "additive figure\n(not a bound)", VERMILLION, (0, 0), align="right")
    note(right, (8, cells[14]["exact"]), "exact total", BLUE, (8, -6))
    run.save_figure(figure)

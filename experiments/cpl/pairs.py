"""Figures 4(a), 4(c), 4(d), 5 and a map of CelebA: leakage between pairs of attributes.

The paper's text leaves some settings open. Figure 4(c) shows seven attributes of Cardio; we use the attributes that
need no binning, which are exactly seven. Normalised mutual information is I/sqrt(H H').
"""

from __future__ import annotations

import numpy as np

from deniable import SimulationRandomness
from deniable.leakage import mechanism_cpl
from deniable.leakage.prior.empirical_prior import observed
from deniable.research.adversary.attack_workflow import statistical_cpl
from deniable.research.adversary.attacks import attack_cpl
from deniable.research.adversary.benchmarks import MECHANISMS, leakage_matrix
from experiments.cpl.data import CARDIO_NUMERIC, LOADERS, Table
from experiments.cpl.paper import PAPER, Floats, expected, pairs_of
from experiments.cpl.pictures import DATA_COLOURS, DATA_MARKS, heat_map
from experiments.harness import Cell, Run
from experiments.pictures import BLUE, GREY, VERMILLION, dress, note, panels

EPSILON = 1.0
SOURCES = ("occupation", "education", "income")
FIVE = ("GRR", "RAPPOR", "EXP", "OUE", "OLH")
SMALL = 0.1


def grr_matrix(table: Table, epsilon: float = EPSILON) -> Floats:
    """Return CPL between all pairs when GRR releases each attribute, float64[d, d]."""
    priors = observed(table.records, table.sizes)
    return leakage_matrix(priors, [MECHANISMS["GRR"](k, epsilon) for k in priors.kept_domains])


@PAPER.experiment("fig4a", "Adult: CPL about gender by three attributes and five mechanisms, epsilon 1", runs=25)
def gender(run: Run) -> None:
    """Compare channel, attack, and the paper's statistical workflow, which converges to the attack's figure."""

    def compute(cell: Cell) -> Cell:
        table = LOADERS["Adult"]().select(["sex", *SOURCES])
        priors = observed(table.records, table.sizes)
        mechanisms = [MECHANISMS[cell["mechanism"]](k, cell["epsilon"]) for k in table.sizes]
        sampled = statistical_cpl(
            table.records,
            table.sizes,
            mechanisms,
            rng=SimulationRandomness(cell["seed"]),
            replications=cell["runs"],
            surrogates=1000,
        )
        conditionals = [priors.conditional(0, j) for j in (1, 2, 3)]
        return {
            "channel": [mechanism_cpl(m, c).epsilon for m, c in zip(mechanisms[1:], conditionals, strict=True)],
            "attack": [attack_cpl(m, c) for m, c in zip(mechanisms[1:], conditionals, strict=True)],
            "sampled": sampled.estimates[0, 1:].tolist(),
            "p_value": sampled.p_values[0, 1:].tolist(),
        }

    cells = run.cells([{"mechanism": name, "epsilon": EPSILON} for name in FIVE], compute)
    rows = [
        {
            "released": source,
            "mechanism": cell["mechanism"],
            **{kind: cell[kind][j] for kind in ("channel", "attack", "sampled", "p_value")},
        }
        for j, source in enumerate(SOURCES)
        for cell in cells
    ]
    run.show(rows, title="CPL about gender, epsilon 1")
    run.save_table(rows)
    figure, axes = panels(3, 10, 3.1, sharey=True)
    for j, (source, panel) in enumerate(zip(SOURCES, axes, strict=True)):
        dress(panel, f"by releasing {source}", "CPL about gender, nats")
        for y, cell in enumerate(cells):
            panel.plot([cell["attack"][j], cell["channel"][j]], [y, y], color="#cccccc", linewidth=3, zorder=1)
            panel.plot(cell["channel"][j], y, "o", color=BLUE, markersize=8, zorder=3)
            panel.plot(cell["attack"][j], y, "D", color=VERMILLION, markersize=6, markerfacecolor="white", zorder=4)
            panel.plot(cell["sampled"][j], y, "|", color="black", markersize=11, zorder=5)
        panel.set_xlim(0, 0.5)
        panel.set_ylim(len(FIVE) - 0.5, -0.8)
        panel.set_yticks(range(len(FIVE)), FIVE)
        panel.grid(axis="x", color="0.92")
        panel.set_axisbelow(True)
    note(axes[1], (0.2, 1.6), "the report (channel)", BLUE, (0, 0))
    note(axes[1], (0.2, 2.1), "the guess from it (attack)", VERMILLION, (0, 0))
    note(axes[1], (0.2, 2.6), "bar: the guess, simulated", "black", (0, 0))
    run.save_figure(figure)


@PAPER.experiment("fig4c", "Cardio: CPL between seven attributes, GRR, epsilon 1")
def patients(run: Run) -> None:
    """Draw the exact matrix; print the asymmetry between cholesterol and disease."""
    table = LOADERS["Cardio"]()
    table = table.select([name for name in table.names if name not in CARDIO_NUMERIC])
    matrix = grr_matrix(table)
    rows = [
        {"about": about, "released": released, "cpl": float(matrix[i, j])}
        for i, about in enumerate(table.names)
        for j, released in enumerate(table.names)
        if i != j
    ]
    run.save_table(rows)
    strongest = sorted(rows, key=lambda row: -float(str(row["cpl"])))[:5]
    run.show(strongest, title="Strongest pairs")
    cholesterol, disease = table.names.index("cholesterol"), table.names.index("cardio")
    run.say(
        f"cholesterol <- cardio {matrix[cholesterol, disease]:.3f}, cardio <- cholesterol "
        f"{matrix[disease, cholesterol]:.3f}: leakage has a direction"
    )
    figure, axes = panels(1, 6.6, 5.6)
    heat_map(axes[0], matrix, table.names, top=float(matrix.max()), size=9.5)
    run.save_figure(figure)


@PAPER.experiment("celeba-map", "CelebA: CPL between all 40 attributes, GRR, epsilon 1")
def faces(run: Run) -> None:
    """Draw the matrix of all 1,560 ordered pairs."""
    table = LOADERS["CelebA"]()
    matrix = grr_matrix(table)
    run.save_table(
        {"about": about, "released": released, "cpl": float(matrix[i, j])}
        for i, about in enumerate(table.names)
        for j, released in enumerate(table.names)
        if i != j
    )
    figure, axes = panels(1, 11.5, 10.6)
    heat_map(axes[0], matrix, table.names, top=EPSILON, size=8, digits=0)
    run.save_figure(figure)


@PAPER.experiment("fig4d", "Share of small CPLs over all pairs of three data sets: GRR, epsilon 1")
def small(run: Run) -> None:
    """Draw a histogram of CPL over all ordered pairs."""
    edges = np.linspace(0, 1, 11)
    rows, figures = [], {}
    for name, load in LOADERS.items():
        table = load()
        figures[name] = pairs_of(grr_matrix(table))
        worst = pairs_of(leakage_matrix(observed(table.records, table.sizes), [EPSILON] * len(table.sizes)))
        rows.append(
            {
                "data": name,
                "pairs": len(figures[name]),
                "below epsilon/10": float((figures[name] < SMALL).mean()),
                "the same by Algorithm 2": float((worst < SMALL).mean()),
                "below epsilon/2": float((figures[name] < EPSILON / 2).mean()),
                "mean": float(figures[name].mean()),
                "largest": float(figures[name].max()),
            }
        )
    run.show(rows, title="CPL of all ordered pairs, GRR, epsilon 1")
    run.save_table(rows)
    figure, axes = panels(3, 10, 2.9, sharey=True)
    for panel, row in zip(axes, rows, strict=True):
        name = str(row["data"])
        shares = np.histogram(figures[name], edges)[0] / len(figures[name])
        panel.bar(edges[:-1] + 0.05, shares, width=0.09, color=DATA_COLOURS[name])
        for left, share in zip(edges, shares, strict=False):
            if share >= 0.005:
                note(panel, (float(left) + 0.05, share), f"{share:.0%}", GREY, (0, 7), 8, "center")
        dress(panel, f"{name}, {row['pairs']:,} pairs", "CPL, nats (at most 1)", "share of pairs")
        panel.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        panel.set_ylim(0, 0.65)
    for panel in axes[1:]:
        panel.set_ylabel("")
    run.save_figure(figure)


@PAPER.experiment("fig5", "CPL against mutual information and Pearson correlation: GRR, epsilon 1")
def conventional(run: Run) -> None:
    """Show that correlation metrics vary with CPL but do not determine it."""
    points = [point for name, load in LOADERS.items() for point in _metrics(name, load())]
    run.save_table(points)
    summary = []
    for metric in ("nmi", "pearson"):
        for low in np.arange(0, 1, 0.1):
            inside = [p for p in points if low <= p[metric] < low + 0.1 or (p[metric] == 1 and low > 0.85)]
            if inside:
                values = np.array([p["cpl"] for p in inside])
                summary.append(
                    {
                        "metric": metric,
                        "from": round(float(low), 1),
                        "pairs": len(inside),
                        "mean": float(values.mean()),
                        "sd": float(values.std()),
                        "least": float(values.min()),
                        "most": float(values.max()),
                    }
                )
    run.save_table(summary, "-bins")
    extremes: list[Cell] = []
    for name in LOADERS:
        own = [p for p in points if p["data"] == name]
        figures = {key: np.array([p[key] for p in own]) for key in ("cpl", "nmi", "pearson")}
        surprise = max((p for p in own if p["nmi"] < 0.005), key=lambda p: float(p["cpl"]))
        extremes.append(
            {
                "data": name,
                "correlation with Pearson": float(np.corrcoef(figures["cpl"], figures["pearson"])[0, 1]),
                "correlation with NMI": float(np.corrcoef(figures["cpl"], figures["nmi"])[0, 1]),
                "largest at NMI below .005": surprise["cpl"],
                "its pair": f"{surprise['about']} <- {surprise['released']}",
                "its NMI": surprise["nmi"],
            }
        )
    run.show(extremes, title="CPL and correlation metrics, by data set")
    run.save_table(extremes, "-extremes")
    run.show(summary, title="CPL by bin of a correlation metric, all data sets")
    figure, axes = panels(2, 10.5, 4.2, sharey=True)
    titles = {"nmi": "normalised mutual information", "pearson": "absolute Pearson correlation of the codes"}
    for panel, (metric, title) in zip(axes, titles.items(), strict=True):
        for name, colour in DATA_COLOURS.items():
            own = [p for p in points if p["data"] == name]
            panel.plot(
                [p[metric] for p in own],
                [p["cpl"] for p in own],
                DATA_MARKS[name],
                color=colour,
                alpha=0.45,
                markersize=3.2,
                markeredgewidth=0,
            )
        bins = [row for row in summary if row["metric"] == metric]
        x = [float(str(row["from"])) + 0.05 for row in bins]
        y, sd = ([float(str(row[key])) for row in bins] for key in ("mean", "sd"))
        panel.errorbar(x, y, sd, fmt="o-", color="black", markersize=5, linewidth=1, capsize=3, zorder=4)
        dress(panel, f"against {title}", title, "CPL, nats" if metric == "nmi" else "")
        panel.set_xlim(-0.02, 1.02)
        panel.set_ylim(-0.05, 1.04)
    for name, colour in DATA_COLOURS.items():
        y_label = {"CelebA": 0.17, "Adult": 0.10, "Cardio": 0.03}[name]
        axes[0].plot(0.62, y_label, DATA_MARKS[name], color=colour, markersize=5)
        note(axes[0], (0.62, y_label), name, colour, (8, 0))
    note(axes[0], (0.60, 0.24), "black: mean and sd in a tenth", "black", (0, 0))
    spread = expected()["figure 5"]["spread of CPL at NMI .5"]
    axes[0].annotate(
        "",
        (0.5, 0.38),
        (0.5, 0.38 + spread),
        arrowprops={"arrowstyle": "|-|", "color": GREY, "shrinkA": 0, "shrinkB": 0},
    )
    note(
        axes[0],
        (0.52, 0.55),
        f"the paper: a spread of {spread:g} at .5;\nbetween which values it does not say",
        GREY,
        (0, 0),
    )
    run.save_figure(figure)


def _metrics(name: str, table: Table) -> list[Cell]:
    """Return CPL, normalised mutual information and |Pearson| of each ordered pair."""
    matrix = grr_matrix(table)
    correlations = np.abs(np.corrcoef(table.records.astype(np.float64), rowvar=False))
    priors = observed(table.records, table.sizes)
    entropies = [_entropy(priors.frequencies(j)) for j in range(len(table.names))]
    points = []
    for i in range(len(table.names)):
        for j in [j for j in range(len(table.names)) if j != i]:
            joint = priors.conditional(i, j) * priors.frequencies(i)[:, None]
            shared = max(0.0, entropies[i] + entropies[j] - _entropy(joint))
            points.append(
                {
                    "data": name,
                    "about": table.names[i],
                    "released": table.names[j],
                    "cpl": float(matrix[i, j]),
                    "nmi": float(shared / np.sqrt(entropies[i] * entropies[j])),
                    "pearson": float(correlations[i, j]),
                }
            )
    return points


def _entropy(probabilities: Floats) -> float:
    held = probabilities[probabilities > 0]
    return float(-(held * np.log(held)).sum())

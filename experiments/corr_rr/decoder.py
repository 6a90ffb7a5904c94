"""The hierarchical decoder: on the settings used to choose it, on held-out settings, and over large domains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from deniable import RecordEstimate, SimulationRandomness
from deniable.postprocess import hierarchical, norm_sub
from deniable.records.sample import AdaptiveSMP
from experiments.corr_rr import decoder_settings as settings
from experiments.corr_rr.decoder_data import population
from experiments.corr_rr.decoder_runs import BASELINES, measure, paired_ratio, sizes_text, squared_errors
from experiments.corr_rr.paper import PAPER
from experiments.corr_rr.pictures import dress, panels
from experiments.harness import Cell, Run

NOTICEABLE = 1.05
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


def summary(cells: Sequence[Cell], ratio: str = "ratio") -> Cell:
    """Return worst, median, best and geometric mean of the ratios, and the number of ratios above 1.05."""
    ratios = np.array([cell[ratio] for cell in cells])
    return {
        "settings": len(ratios),
        "best": float(ratios.min()),
        "median": float(np.median(ratios)),
        "geometric mean": float(np.exp(np.log(ratios).mean())),
        "worst": float(ratios.max()),
        "above 1.05": int((ratios > NOTICEABLE).sum()),
    }


def summaries(families: dict[str, list[Cell]]) -> list[Cell]:
    """Return one row per family of settings and kind of report."""
    return [
        {"settings of": family, "report": report} | summary(cells, ratio)
        for report, ratio in (("full record", "ratio"), ("any", "any ratio"))
        for family, cells in families.items()
    ]


def flat(cell: Cell) -> Cell:
    """Return a cell as a row of a table, with lists as text."""
    columns = {"columns": " ".join("+".join(group) for group in cell.get("columns", []))}
    return {name: value for name, value in (cell | columns).items() if name not in ("sizes", "sample")}


def draw_sorted(run: Run, families: dict[str, list[Cell]], title: str) -> None:
    """Draw all ratios in order, with two standard errors on each side, for a full record and for any report."""
    figure, rows = panels(1, 2, width=11, height=3.9)
    kinds = (("ratio", "error", "A full record must be sent"), ("any ratio", "any error", "Any report may be sent"))
    cells = [(family, cell) for family, members in families.items() for cell in members]
    colours = dict(zip(families, COLOURS, strict=False))
    for axes, (ratio, error, heading) in zip(rows[0], kinds, strict=True):
        _sorted_points(axes, [(cell[ratio], cell[error], colours[family]) for family, cell in cells])
        dress(axes, heading, "settings, from the best to the worst ratio")
    ends = [end(cell) for _, cell in cells for end in (_lower, _upper)]
    rows[0][0].set_ylim(min(ends) * 0.9, max(ends) * 1.1)
    ratio_ticks(rows[0][0], [tick for tick in (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2) if tick > min(ends)])
    rows[0][0].set_ylabel("error of the default over that of the best baseline", size=9)
    for place, (family, members) in enumerate(families.items()):
        text = f"{family}: {len(members)}"
        options: dict[str, Any] = {"transform": rows[0][0].transAxes, "ha": "right", "color": colours[family]}
        rows[0][0].text(0.98, 0.05 + 0.07 * place, text, **options)
    figure.suptitle(title, x=0.01, ha="left", size=11)
    run.save_figure(figure)


def _lower(cell: Cell) -> float:
    return float(max(min(cell["ratio"] - 2 * cell["error"], cell["any ratio"] - 2 * cell["any error"]), 1e-3))


def _upper(cell: Cell) -> float:
    return float(max(cell["ratio"] + 2 * cell["error"], cell["any ratio"] + 2 * cell["any error"]))


def _sorted_points(axes: Axes, points: Iterable[tuple[float, float, str]]) -> None:
    ordered = sorted(points)
    for place, (ratio, error, colour) in enumerate(ordered):
        ends = [max(ratio - 2 * error, 1e-3), ratio + 2 * error]
        axes.plot([place, place], ends, color=colour, alpha=0.35, linewidth=1)
    axes.scatter(range(len(ordered)), [p[0] for p in ordered], s=9, c=[p[2] for p in ordered], zorder=3)
    axes.axhline(1, color="0.3", linewidth=1)
    axes.axhline(NOTICEABLE, color="0.5", linewidth=0.8, linestyle=":")
    axes.set_yscale("log")


def ratio_ticks(axes: Axes, ticks: Sequence[float]) -> None:
    """Set the ticks of the vertical axis to these ratios."""
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


SHOWN = ("source", "alpha", "file", "columns", "people", "d", "k", "epsilon", "best", "ratio", "error", "any ratio")


def report(run: Run, families: dict[str, list[Cell]], title: str) -> None:
    """Write all settings; show the summary, the settings with larger errors, and the picture."""
    everything = [cell for cells in families.values() for cell in cells]
    run.save_table(map(flat, everything))
    total = summaries(families | {"all": everything})
    run.save_table(total, "-summary")
    run.show(total, title="error of the default over the best of " + ", ".join(BASELINES) + ", all projected")
    lost = sorted((c for c in everything if c["ratio"] > NOTICEABLE), key=lambda c: -c["ratio"])
    run.show(map(flat, lost), SHOWN, f"all {len(lost)} settings above {NOTICEABLE} where a full record must be sent")
    sure = sum(cell["ratio"] - 2 * cell["error"] > 1 for cell in everything)
    run.say(f"{sure} of {len(everything)} settings are above 1 by more than two standard errors.")
    errors = sorted(cell["error"] / cell["ratio"] for cell in everything)
    large = errors[len(errors) * 19 // 20]
    run.say(f"Monte-Carlo standard error of a ratio: median {np.median(errors):.1%}, 95% below {large:.1%}.")
    draw_sorted(run, families, title)


@PAPER.experiment("decoder", "Error of the decoder on the settings used to choose it", runs=600)
def decoder(run: Run) -> None:
    """Measure the default on the tables' and figures' settings; `runs` counts free frequencies (see `repetitions`)."""
    cells = run.cells(settings.choosing(), measure)
    families = {name: [c for c in cells if c["family"] == name] for name in dict.fromkeys(c["family"] for c in cells)}
    report(run, families, "Settings that chose the decoder")


@PAPER.experiment("held-out", "Error of the decoder on held-out settings", runs=2000)
def held_out(run: Run) -> None:
    """Measure the default on random settings and on views of real data; `runs` as in `decoder`."""
    cells = run.cells(settings.held_out(), measure)
    families = {
        "synthetic": [cell for cell in cells if "file" not in cell],
        "real data": [cell for cell in cells if "file" in cell],
    }
    report(run, families, "Settings that chose nothing")


# ---------------------------------------------------------------- large domains

Groups = tuple[tuple[int, ...], ...]


def _plain(raw: RecordEstimate, _: Groups) -> RecordEstimate:
    return norm_sub(raw)


def _first_version(raw: RecordEstimate, groups: Groups) -> RecordEstimate:
    return hierarchical(raw, groups=groups, dominant=False)


def _present(raw: RecordEstimate, groups: Groups) -> RecordEstimate:
    return hierarchical(raw, groups=groups)


DECODERS: dict[str, Callable[[RecordEstimate, Groups], RecordEstimate]] = {
    "norm-sub": _plain,
    "first version": _first_version,
    "decoder": _present,
}


def measure_large(cell: Cell) -> Cell:
    """Return errors of the decoder, its first version and norm-sub, for the same reports by the best oracles."""
    given = population(cell)
    people, truth = given.people, given.people.frequencies
    mechanism, rng = AdaptiveSMP(people.sizes, cell["epsilon"]), SimulationRandomness(cell["seed"])
    errors = []
    for _ in range(cell["runs"]):
        raw = mechanism.estimate(mechanism.simulate_aggregate(people.records, people.counts, rng))
        errors.append(squared_errors({name: decode(raw, given.groups) for name, decode in DECODERS.items()}, truth))
    plain, first, present = np.array(errors).T
    ratio, error = paired_ratio(present, plain)
    before, before_error = paired_ratio(first, plain)
    values: Cell = {"people": people.n, "d": len(people.sizes), "k": sizes_text(people.sizes)}
    values |= {"oracles": " ".join(dict.fromkeys(type(oracle).__name__ for oracle in mechanism.oracles))}
    values |= {"norm-sub": float(plain.mean()), "ratio": ratio, "error": error}
    return values | {"first ratio": before, "first error": before_error}


@PAPER.experiment("large-k", "Error of the decoder against norm-sub for 16, 64 and 256 categories", runs=20)
def large_k(run: Run) -> None:
    """Measure the decoder and its first version over large domains, with and without a dominant category."""
    cells = run.cells(settings.large(), measure_large)
    run.save_table(map(flat, cells))
    kinds = {"no dominant category": False, "a dominant category": True}
    rows = []
    for kind, dominant in kinds.items():
        for k in map(str, settings.LARGE):
            members = [cell for cell in cells if cell["k"] == k and (cell["source"] == "spike") == dominant]
            for version, ratio in (("first", "first ratio"), ("present", "ratio")):
                rows.append({"settings with": kind, "k": k, "version": version} | summary(members, ratio))
    run.save_table(rows, "-summary")
    noise = [
        {"people": people, "k": k, "d": 4} | summary(members)
        for people in (2_000, 200_000)
        for k in map(str, settings.LARGE)
        if (members := [c for c in cells if (c["people"], c["k"], c["d"]) == (people, k, 4) and c["source"] != "spike"])
    ]
    run.save_table(noise, "-noise")
    run.show(rows, title="error of the decoder over that of norm-sub on the same reports of best oracles")
    lost = sorted((cell for cell in cells if cell["ratio"] > NOTICEABLE), key=lambda c: -c["ratio"])
    columns = ["source", "alpha", "power", "share", "people", "d", "k", "epsilon", "ratio", "error", "first ratio"]
    run.save_table([{name: cell.get(name, "") for name in columns} for cell in lost], "-lost")
    run.show(map(flat, lost), columns, f"all {len(lost)} settings above {NOTICEABLE}")
    draw_large(run, cells, kinds)


def draw_large(run: Run, cells: Sequence[Cell], kinds: dict[str, bool]) -> None:
    """Draw the ratios of both versions by domain size, without and with a dominant category."""
    figure, axes = panels(1, 2, width=11, height=3.9)
    for panel, (kind, dominant) in zip(axes[0], kinds.items(), strict=True):
        for place, k in enumerate(map(str, settings.LARGE)):
            members = [cell for cell in cells if cell["k"] == k and (cell["source"] == "spike") == dominant]
            for shift, (name, colour) in enumerate((("first ratio", "#E69F00"), ("ratio", "#0072B2"))):
                values = sorted(cell[name] for cell in members)
                x = place + (shift - 0.5) * 0.36 + np.linspace(-0.13, 0.13, len(values))
                panel.scatter(x, values, s=10, color=colour, alpha=0.8, linewidth=0)
                middle = float(np.exp(np.log(values).mean()))
                panel.plot([x[0], x[-1]], [middle, middle], color=colour, linewidth=2)
        panel.axhline(1, color="0.3", linewidth=1)
        panel.set_xticks(range(3), ["k = 16", "k = 64", "k = 256"])
        panel.set_yscale("log")
        ratio_ticks(panel, [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10])
        dress(panel, f"Settings with {kind}", "")
    axes[0][0].set_ylabel("error of the decoder over that of norm-sub", size=9)
    for place, (text, colour) in enumerate((("first version", "#E69F00"), ("now", "#0072B2"))):
        axes[0][0].text(0.02, 0.1 - 0.07 * place, text, transform=axes[0][0].transAxes, color=colour)
    figure.suptitle(
        "Large domains, each attribute by its best oracle; bars are geometric means", x=0.01, ha="left", size=11
    )
    run.save_figure(figure)

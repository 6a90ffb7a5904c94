"""Ordered answers: noise of a mean, decoded distributions, and coverage of intervals for means and quantiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from deniable import Aggregate, SimulationRandomness, SubsetSelection
from deniable.answers import functional
from deniable.oracles import SquareWave
from deniable.postprocess import iterative_bayes, simplex, smooth
from experiments.answers.mean_mechanisms import MEANS, boxes, deviation, hybrid, rounded, square_wave, subset_scores
from experiments.answers.ordered_data import SCALES, distribution, invented
from experiments.answers.paper import PAPER
from experiments.harness import Cell, Run
from experiments.pictures import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, VERMILLION, dress, panels

Floats = NDArray[np.float64]

EPSILONS = (0.5, 1.0, 2.0, 4.0)
SHORT, LONG = (4, 5, 6, 7, 8, 9, 10, 11), (16, 32, 64, 128, 256)
COLOURS = dict(zip(MEANS, (BLUE, GREEN, VERMILLION, PURPLE, ORANGE, INK, GREY), strict=True))

# ---------------------------------------------------------------- the noise of a mean


@PAPER.experiment("mean-noise", "Error of a mean by seven mechanisms, for one report (exact)", quick=1)
def mean_noise(run: Run) -> None:
    """Tabulate closed forms; nothing is drawn at random."""
    rows: list[Cell] = [
        {"mechanism": name, "k": k, "epsilon": epsilon, **deviation(variance(k, epsilon))}
        for k in (16, 256)
        for name, variance in MEANS.items()
        for epsilon in EPSILONS
    ]
    run.show(rows, title="standard deviation of one report's mean, in units of the range")
    run.save_table(rows)
    figure, axes = panels(2, 9.6, 4.0, sharey=True)
    for panel, kind in zip(axes, ("uniform", "worst"), strict=True):
        of_hybrid = {row["epsilon"]: row[kind] for row in rows if row["mechanism"] == "Hybrid" and row["k"] == 16}
        for (name, colour), mark in zip(COLOURS.items(), "o^sDvxP", strict=True):
            own = [row for row in rows if row["mechanism"] == name and row["k"] == 16]
            ratios = [row[kind] / of_hybrid[row["epsilon"]] for row in own]
            panel.plot(EPSILONS, ratios, f"{mark}-", color=colour, markersize=5, linewidth=1.3, label=name)
        panel.set_xscale("log", base=2)
        panel.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        panel.set_yscale("log")
        panel.set_yticks((0.7, 1, 1.5, 2, 3, 4), (".7", "1", "1.5", "2", "3", "4"))
        panel.minorticks_off()
        panel.axhline(1, color="#b0b0b0", linewidth=0.8, zorder=0)
        dress(panel, f"{kind} answers" if kind == "uniform" else "the worst answer", "epsilon")
    axes[0].set_ylabel("error over Hybrid's", size=9, color=GREY)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=8.5, loc="outside upper center", ncols=4, labelcolor=INK)
    run.save_figure(figure)


@PAPER.experiment("mean-hybrid", "Error of a mean: square wave against Hybrid, by length of the scale (exact)", quick=1)
def mean_hybrid(run: Run) -> None:
    """Tabulate ratios of standard deviations; nothing is drawn at random.

    Answers are numbers in the range, which the square wave first rounds at random to its scale. Codes are the points of
    the scale. "subset selection" is the ratio of its error to the square wave's, for uniform codes.
    """
    rows: list[Cell] = []
    for k in (*SHORT, *LONG):
        for epsilon in EPSILONS:
            own = square_wave(k, epsilon)
            answers, between = rounded(own)
            rows.append(
                {
                    "k": k,
                    "epsilon": epsilon,
                    "uniform answers": math.sqrt(between.mean() / hybrid(epsilon, answers).mean()),
                    "uniform codes": math.sqrt(own.mean() / hybrid(epsilon, np.linspace(-1, 1, k)).mean()),
                    "subset selection": math.sqrt(subset_scores(k, epsilon).mean() / own.mean()),
                    "worst": math.sqrt(own.max() / hybrid(epsilon, np.linspace(-1, 1, k)).max()),
                    "at any answer": math.sqrt((between / hybrid(epsilon, answers)).max()),
                    "worst, rounded": math.sqrt(between.max() / hybrid(epsilon, answers).max()),
                }
            )
    run.show(rows, title="standard deviation of the mean over Hybrid's")
    run.save_table(rows)
    summary = []
    for scales, ks in (("4 to 11", SHORT), ("16 and more", LONG)):
        chosen = [row for row in rows if row["k"] in ks]
        summary.append({"scales": scales, **{key: max(row[key] for row in chosen) for key in list(chosen[0])[2:]},
                        "subset selection at least": min(row["subset selection"] for row in chosen)})  # fmt: skip
    run.show(summary, title="the largest of them")
    run.save_table(summary, "-largest")


@PAPER.experiment("boxes", "Multiple-choice questions: report all options, or one ticked option (exact)", quick=1)
def several_answers(run: Run) -> None:
    """Tabulate variances; nothing is drawn at random."""
    rows: list[Cell] = [
        {"epsilon": epsilon, "boxes": m, "ticked at most": c, **boxes(m, c, epsilon)}
        for epsilon in ("0.5", "1", "2")
        for c in (1, 2, 3)
        for m in (5, 10, 20, 50)
    ]
    for row in rows:
        row["padded over every box"] = row["padded"] / row["every box"]
    run.show(rows, title="n times the variance of the share of a box that nobody ticks")
    run.save_table(rows)
    crossing = [
        {
            "epsilon": epsilon,
            "ticked at most": c,
            "padding is better from": next(m for m in range(2, 200) if padding_wins(m, c, epsilon)),
        }
        for epsilon in ("0.5", "1", "2")
        for c in (1, 2, 3)
    ]
    run.show(crossing, title="number of options from which padding to this many ticks has the smaller variance")
    run.save_table(crossing, "-crossing")


def padding_wins(m: int, c: int, epsilon: str) -> bool:
    """Return whether padding to c ticks and reporting one of them has the smaller variance."""
    found = boxes(m, c, epsilon)
    return found["padded"] < found["every box"]


# ---------------------------------------------------------------- distributions decoded


def ems(wave: SquareWave, aggregate: Aggregate) -> Floats:
    """Decode as in Li et al. (2020): EM with a smoothing of [1 2 1]/4 after each step.

    The decoder stops when ten steps raise the log-likelihood by less than e^epsilon/1000.
    """
    channel, counts = wave.channel(), aggregate.counts.astype(np.float64)
    frequencies, reached = np.full(wave.k, 1 / wave.k), -math.inf
    kernel = np.array([0.25, 0.5, 0.25])
    edges = np.convolve(np.ones(wave.k), kernel, "same")
    for step in range(10_000):
        reports = frequencies @ channel
        if step % 10 == 0:
            value = float(counts @ np.log(reports))
            if value - reached < 1e-3 * math.exp(float(wave.epsilon)):
                break
            reached = value
        frequencies = frequencies * (channel @ (counts / reports))
        frequencies = np.convolve(frequencies / frequencies.sum(), kernel, "same") / edges
        frequencies /= frequencies.sum()
    return frequencies


def _by_subsets(k: int, epsilon: float, counts: NDArray[np.int64], rng: SimulationRandomness) -> Floats:
    oracle = SubsetSelection(k, epsilon)
    return _only(simplex(oracle.estimate(oracle.simulate_aggregate(counts, rng))))


DECODERS: dict[str, Callable[[SquareWave, Aggregate], Floats]] = {
    "smooth": lambda wave, aggregate: _only(smooth(wave, aggregate)),
    "EM": lambda wave, aggregate: _only(iterative_bayes(wave, aggregate)),
    "EMS": ems,
}
SUBSETS = "subset selection, simplex"
METHODS = (*DECODERS, SUBSETS)
SHARES = (0.25, 0.5, 0.75)


def _only(estimate: Any) -> Floats:
    frequencies: Floats = estimate.frequencies
    return frequencies


def errors_of(frequencies: Floats, truth: Floats) -> dict[str, float]:
    """Return the Wasserstein-1 distance (in units of the range), the MSE of the cells, and the error of quantiles."""
    found, true = np.cumsum(frequencies), np.cumsum(truth)
    places = np.minimum(np.searchsorted(found, SHARES), len(truth) - 1)
    below = np.concatenate([[0.0], true])
    # The quartile's code covers the shares below[place]..true[place]. `outside` is how far the wanted share is outside
    # of them.
    outside = np.maximum(np.maximum(below[places] - SHARES, SHARES - true[places]), 0.0)
    return {
        "W1": float(np.abs(found - true)[:-1].sum() / (len(truth) - 1)),
        "cells": float(((frequencies - truth) ** 2).mean()),
        "quantiles": float(outside.mean()),
    }


def decode(cell: Cell, shares: Floats) -> Cell:
    """Return the mean errors of each method over the runs of a cell; each run draws new people and new reports."""
    wave = SquareWave(len(shares), cell["epsilon"])
    found: dict[str, list[dict[str, float]]] = {method: [] for method in METHODS}
    for number in range(cell["runs"]):
        rng = SimulationRandomness(1_000_003 * cell["seed"] + number)
        counts = rng.generator.multinomial(cell["n"], shares)
        aggregate = wave.simulate_aggregate(counts, rng)
        decoded = {name: decoder(wave, aggregate) for name, decoder in DECODERS.items()}
        decoded[SUBSETS] = _by_subsets(wave.k, cell["epsilon"], counts, rng)
        for method, frequencies in decoded.items():
            found[method].append(errors_of(frequencies, counts / cell["n"]))
    return {
        f"{error} {method}": float(np.mean([one[error] for one in every]))
        for error in ("W1", "cells", "quantiles")
        for method, every in found.items()
    }


def decoders_table(run: Run, scales: Sequence[tuple[str, int]], shares_of: Callable[[str], Floats], ns: Iterable[int],
                   epsilons: Sequence[float]) -> None:  # fmt: skip
    """Decode all settings; write their errors and a summary."""
    settings = [
        {"scale": label, "k": k, "epsilon": epsilon, "n": n} for label, k in scales for epsilon in epsilons for n in ns
    ]
    cells = run.cells(settings, lambda cell: decode(cell, shares_of(cell["scale"])))
    run.save_table(cells)
    summary: list[Cell] = []
    for group, ks in (("k up to 8", range(9)), ("k from 16 on", range(16, 1 << 12))):
        chosen = [cell for cell in cells if cell["k"] in ks]
        summary += [_compared(group, chosen, method) for method in METHODS if chosen]
    run.show(summary, title=f"errors divided by those of EM on the same reports; {run.runs} runs per setting")
    run.save_table(summary, "-summary")
    _draw_decoders(run, cells)


def _compared(group: str, cells: Sequence[Cell], method: str) -> Cell:
    """Return a method's errors over those of EM and of the best method: geometric mean over settings, and worst."""
    own, em = (np.array([cell[f"W1 {name}"] for cell in cells]) for name in (method, "EM"))
    best = np.array([min(cell[f"W1 {one}"] for one in METHODS) for cell in cells])
    by_cell = np.array([cell[f"cells {method}"] / cell["cells EM"] for cell in cells])
    shares, of_em = (sum(cell[f"quantiles {name}"] for cell in cells) for name in (method, "EM"))
    return {
        "scales": group,
        "settings": len(cells),
        "method": method,
        "W1 over EM": float(np.exp(np.log(own / em).mean())),
        "worst over EM": float((own / em).max()),
        "worst over the best": float((own / best).max()),
        "cells over EM": float(np.exp(np.log(by_cell).mean())),
        "quantiles over EM": shares / of_em if of_em else math.nan,
    }


def _draw_decoders(run: Run, cells: Sequence[Cell]) -> None:
    labels = list(dict.fromkeys(cell["scale"] for cell in cells))
    figure, (axes,) = panels(1, 8.4, 0.6 + 0.5 * len(labels))
    styles = {"smooth": (BLUE, "o"), "EMS": (ORANGE, "s"), SUBSETS: (GREY, "x")}
    for method, (colour, mark) in styles.items():
        points = [(cell[f"W1 {method}"] / cell["W1 EM"], labels.index(cell["scale"])) for cell in cells]
        offset = {"smooth": -0.16, "EMS": 0.0, SUBSETS: 0.16}[method]
        axes.plot(
            [x for x, _ in points],
            [y + offset for _, y in points],
            mark,
            color=colour,
            markersize=4.5,
            alpha=0.75,
            label=method,
            linestyle="none",
        )
    axes.axvline(1, color=INK, linewidth=0.9)
    axes.set_xscale("log")
    ticks = (0.25, 0.5, 1, 2, 5, 10, 20, 50, 100)
    low, high = axes.get_xlim()
    axes.set_xticks([tick for tick in ticks if low <= tick <= high], [f"{t:g}" for t in ticks if low <= t <= high])
    axes.minorticks_off()
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(axis="x", color="0.93", linewidth=0.6)
    dress(axes, "", "Wasserstein-1 distance over that of EM of the same reports (less is better)")
    axes.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, labelcolor=INK)
    run.save_figure(figure)


HELD_OUT = {"epsilons": (0.7, 1.5, 3.0), "ns": (2_000, 20_000, 200_000)}


@PAPER.experiment("decoders", "Decoders smooth, EM and EMS on five held-out data sets (needs DENIABLE_DATA)", runs=20)
def decoders(run: Run) -> None:
    """Decode ten scales at nine settings each; report all settings."""
    scales = [(scale.label, scale.k) for scale in SCALES]
    decoders_table(run, scales, distribution, HELD_OUT["ns"], HELD_OUT["epsilons"])  # type: ignore[arg-type]


@PAPER.experiment(
    "decoders-invented", "Decoders smooth, EM and EMS on an invented distribution (no data)", runs=20, quick=2
)
def decoders_invented(run: Run) -> None:
    """Decode a distribution with two humps and a spike."""
    scales = [(f"two humps and a spike, k = {k}", k) for k in (7, 32)]
    decoders_table(run, scales, lambda label: invented(int(label.rpartition(" ")[2])), (20_000,), (0.7, 1.5, 3.0))


@PAPER.experiment("example", "Example of a decoded distribution: ages of 20,000 people (needs DENIABLE_DATA)")
def example(run: Run) -> None:
    """Draw one collection and decode it."""
    k, epsilon, n = 32, 1.5, 20_000
    shares = distribution(f"age of reviewers, k = {k}")
    rng = SimulationRandomness(run.seed)
    counts = rng.generator.multinomial(n, shares)
    wave = SquareWave(k, epsilon)
    aggregate = wave.simulate_aggregate(counts, rng)
    found = {name: decoder(wave, aggregate) for name, decoder in DECODERS.items()}
    truth = counts / n
    cdf = wave.estimate(aggregate).named("age", [str(i) for i in range(k)], np.arange(k)).cdf()
    lower, upper = cdf.band(0.95)
    ages = 18 + (np.arange(k) + 0.5) * 82 / k
    run.save_table(
        {"age": age, "truth": truth[i], **{name: one[i] for name, one in found.items()},
         "cdf": cdf.values[i], "lower": lower[i], "upper": upper[i]}
        for i, age in enumerate(ages)
    )  # fmt: skip
    figure, axes = panels(2, 9.6, 3.5)
    axes[0].bar(ages, truth, width=82 / k * 0.9, color="0.87", label="these contributors")
    for name, colour in (("EM", VERMILLION), ("EMS", ORANGE), ("smooth", BLUE)):
        axes[0].plot(ages, found[name], color=colour, linewidth=1.5 if name == "smooth" else 1.1, label=name)
    axes[0].legend(frameon=False, fontsize=8.5, labelcolor=INK)
    dress(axes[0], "decoded shares", "age", "")
    edges = 18 + (np.arange(k) + 1) * 82 / k
    axes[1].fill_between(edges, lower, upper, step="post", color=BLUE, alpha=0.18, linewidth=0, label="band, 95%")
    axes[1].step(edges, np.cumsum(truth), where="post", color=INK, linewidth=1.1, label="these contributors")
    axes[1].step(edges, cdf.values, where="post", color=BLUE, linewidth=1.3, label="raw estimate")
    axes[1].legend(frameon=False, fontsize=8.5, loc="lower right", labelcolor=INK)
    dress(axes[1], "share up to an age", "age", "")
    run.save_figure(figure)


# ---------------------------------------------------------------- coverage of intervals

LEVEL = 0.95
FAMILY = 0.01
"""Probability that a coverage in the table leaves its Monte-Carlo bounds although all true coverages are exact."""


def cover(cell: Cell, shares: Floats) -> Cell:
    """Return the coverage of intervals: for the mean (two methods), the whole distribution function, and quartiles."""
    k, n = len(shares), cell["n"]
    wave, scores = SquareWave(k, cell["epsilon"]), np.arange(k, dtype=np.float64)
    hits = dict.fromkeys(("mean, of frequencies", "mean, of reports", "mean, population", "band", "quartiles"), 0)
    width = 0.0
    for number in range(cell["runs"]):
        rng = SimulationRandomness(1_000_003 * cell["seed"] + number)
        counts = rng.generator.multinomial(n, shares)
        truth = counts / n
        aggregate = wave.simulate_aggregate(counts, rng)
        estimate = wave.estimate(aggregate).named("", list(map(str, range(k))), scores)
        mean, answer = estimate.mean(), functional(wave, aggregate, scores)
        hits["mean, of frequencies"] += _holds(mean.interval(LEVEL), float(truth @ scores))
        hits["mean, of reports"] += _holds(answer.interval(LEVEL), float(truth @ scores))
        hits["mean, population"] += _holds(answer.interval(LEVEL, target="population"), float(shares @ scores))
        cdf, true = estimate.cdf(), np.cumsum(truth)
        lower, upper = cdf.band(LEVEL)
        hits["band"] += bool(((lower <= true + 1e-12) & (true <= upper + 1e-12)).all())
        quartiles = [cdf.quantile(p) for p in SHARES]
        places = [one.places(LEVEL) for one in quartiles]
        held = np.minimum(np.searchsorted(true + 1e-12, SHARES), k - 1)
        hits["quartiles"] += all(low <= place <= high for (low, high), place in zip(places, held, strict=True))
        width += sum(high - low for low, high in places) / len(places) / (k - 1)
    found: Cell = {name: count / cell["runs"] for name, count in hits.items()}
    return {**found, "quartiles' width": width / cell["runs"]}


def _holds(bounds: tuple[float, float], truth: float) -> bool:
    return bool(bounds[0] <= truth <= bounds[1])


def coverage_table(run: Run, settings: Sequence[Cell], shares_of: Callable[[str], Floats]) -> None:
    """Measure all settings; write Monte-Carlo bounds and the least and largest coverage."""
    cells = run.cells(settings, lambda cell: cover(cell, shares_of(cell["scale"])))
    run.save_table(cells)
    names = sorted({*cells[0]} - {*settings[0], "runs", "seed", "quartiles' width"})
    tail = FAMILY / (2 * len(cells) * len(names))
    low, high = (float(end) / run.runs for end in stats.binom.interval(1 - 2 * tail, run.runs, LEVEL))
    summary = [
        {
            "interval": name,
            "settings": len(cells),
            "runs": run.runs,
            "least": min(cell[name] for cell in cells),
            "mean": float(np.mean([cell[name] for cell in cells])),
            "largest": max(cell[name] for cell in cells),
            "from": low,
            "to": high,
        }
        for name in names
    ]
    run.show(summary, title=f"coverage of {LEVEL:.0%} intervals; at the stated level, all lie between the bounds")
    run.save_table(summary, "-summary")
    figure, (axes,) = panels(1, 8.4, 2.9)
    axes.axvspan(low, high, color="0.92", linewidth=0, zorder=0)
    axes.axvline(LEVEL, color=INK, linewidth=0.9)
    for place, name in enumerate(names):
        values = [cell[name] for cell in cells]
        spread = np.linspace(-0.22, 0.22, len(values))
        axes.plot(values, place + spread, "o", color=BLUE, markersize=3.5, alpha=0.7)
    axes.set_yticks(range(len(names)), [f"{name[0].upper()}{name[1:]}" for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(min(0.92, low - 0.005), 1.002)
    dress(axes, "", f"coverage of {LEVEL:.0%} intervals over {run.runs:,} runs; grey: bounds of chance")
    run.save_figure(figure)


COVERED = (
    "clothing rating, k = 5",
    "age of reviewers, k = 16",
    "onsets of a rhythm, k = 17",
)


@PAPER.experiment("coverage", "Coverage for means, distributions and quartiles (needs DENIABLE_DATA)", runs=1000)
def coverage(run: Run) -> None:
    """Simulate collections from 500 to a million people."""
    settings: list[Cell] = [
        {"scale": label, "epsilon": epsilon, "n": n}
        for label in COVERED
        for epsilon in (0.7, 3.0)
        for n in (500, 20_000, 1_000_000)
    ]
    coverage_table(run, settings, distribution)


@PAPER.experiment("coverage-invented", "Coverage for means, distributions and quartiles (no data)", runs=1000, quick=10)
def coverage_invented(run: Run) -> None:
    """Simulate collections from people with two humps and a spike."""
    settings: list[Cell] = [
        {"scale": f"two humps and a spike, k = {k}", "epsilon": 1.0, "n": n} for k in (7, 16) for n in (500, 20_000)
    ]
    coverage_table(run, settings, lambda label: invented(int(label.rpartition(" ")[2])))

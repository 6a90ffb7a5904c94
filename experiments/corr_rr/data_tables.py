"""Table 3 and Figure 12 (preprint: Table I): our encodings of the real data against the printed correlations."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from experiments.corr_rr.paper import PAPER
from experiments.corr_rr.pictures import dress, panels
from experiments.corr_rr.real import ENCODINGS, PREPRINT_DATA, PRINTED_DATA, codes, correlations, everybody
from experiments.harness import Run
from experiments.pictures import panels as unshared


@PAPER.experiment("real-data", "Encodings of the real data: Table 3, Figure 12; preprint Table I")
def real_data(run: Run) -> None:
    """Show our choices where the text leaves room, and our correlations beside the printed ones."""
    rows = []
    for name, encoding in ENCODINGS.items():
        found = correlations(name)
        rows.append(
            {
                "data": name,
                "d": len(encoding.columns),
                "k": encoding.k,
                "contributors": encoding.n or everybody(name).n,
                "correlations": f"{min(found):.3f} to {max(found):.3f}",
                "printed": " to ".join(f"{value:g}" for value in dict.fromkeys(encoding.printed)),
            }
        )
        run.say(f"{name}: {', '.join(encoding.columns)}: {encoding.note}")
    run.save_table(rows)
    run.show(rows, title="Correlations of codes")
    shares = [
        {"data": name, "attribute": column, "code": code, "frequency": frequency}
        for name, encoding in ENCODINGS.items()
        for column, part in zip(encoding.columns, everybody(name).frequencies, strict=True)
        for code, frequency in enumerate(part.tolist())
    ]
    run.save_table(shares, "-marginals")
    figure, axes = panels(1, len(PRINTED_DATA), height=3.0)
    for name, panel in zip(PRINTED_DATA, axes[0], strict=True):
        parts = everybody(name).frequencies
        width = 0.8 / len(parts)
        for j, (column, part) in enumerate(zip(ENCODINGS[name].columns, parts, strict=True)):
            places = [code + (j - (len(parts) - 1) / 2) * width for code in range(len(part))]
            panel.bar(places, part, width * 0.92, color=("#0072B2", "#E69F00", "#009E73")[j], label=column)
        panel.set_xticks(range(ENCODINGS[name].k))
        dress(panel, name, "code", "frequency" if panel is axes[0][0] else "")
        panel.legend(frameon=False, fontsize=8.5, loc="upper right")
        panel.set_ylim(0, max(part.max() for part in parts) * 1.45)
    run.save_figure(figure)
    run.save_figure(_matrices(), "-matrices")


def _matrices() -> Figure:
    """Draw the preprint's Figure 3: correlations of all pairs of attributes, with its colours and order of axes."""
    figure, axes = unshared(len(PREPRINT_DATA), 11, 3.8)
    for name, panel in zip(PREPRINT_DATA, axes, strict=True):
        matrix = np.atleast_2d(np.corrcoef(codes(name).T))
        drawn = panel.imshow(matrix, cmap="RdBu", vmin=-1, vmax=1)
        low, high = ENCODINGS[name].printed
        off = matrix[~np.eye(len(matrix), dtype=np.bool_)]
        heading = f"{name}: {off.min():.2f} to {off.max():.2f}"
        dress(panel, heading, f"attribute; printed: {low:g} to {high:g}", "attribute" if panel is axes[0] else "")
        panel.grid(visible=False)
        numbers = [str(number) for number in range(1, len(matrix) + 1)]
        panel.set_xticks(range(len(matrix)), numbers, fontsize=7)
        panel.set_yticks(range(len(matrix)), numbers, fontsize=7)
    figure.colorbar(drawn, ax=axes, shrink=0.8, label="correlation of the codes")
    return figure

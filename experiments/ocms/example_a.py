"""Appendix A: the example of a reconstruction, computed again."""

from __future__ import annotations

import math

import numpy as np

from experiments.harness import Run
from experiments.ocms.paper import PAPER, expected


@PAPER.experiment("example-a", "Appendix A: the reconstruction matrix of the example", quick=1)
def example_a(run: Run) -> None:
    """Compute Q = (P'P)^-1 P' of the printed P and compare it with the printed Q; nothing is random."""
    printed = expected()["appendix_a"]
    p, q = np.array(printed["P"]), np.array(printed["Q"])
    ours = np.linalg.inv(p.T @ p) @ p.T
    rows = [
        {
            "value": int(v) + 1,
            "output": "ABCDE"[u],
            "printed": q[v, u],
            "ours": ours[v, u],
            "difference": q[v, u] - ours[v, u],
        }
        for v in range(3)
        for u in range(5)
    ]
    run.save_table(rows)
    ratio = float((p.max(axis=1) / p.min(axis=1)).max())
    facts = {
        "largest difference": float(np.abs(q - ours).max()),
        "sum of column 1": float(p[:, 0].sum()),
        "sum of column 2": float(p[:, 1].sum()),
        "sum of column 3": float(p[:, 2].sum()),
        "farthest entry of Q P from the identity, printed": float(np.abs(q @ p - np.eye(3)).max()),
        "farthest entry of Q P from the identity, ours": float(np.abs(ours @ p - np.eye(3)).max()),
        "epsilon": math.log(ratio),
    }
    run.save_table([{"fact": name, "number": number} for name, number in facts.items()], "-facts")
    run.show(rows, title="Appendix A: Q, printed and recomputed from the printed P")
    for name, number in facts.items():
        run.say(f"{name}: {number:.4g}")

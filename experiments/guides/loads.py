"""Picture of load times by true confidence: the simulated loads of docs/load-times.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from deniable.report import save_png
from deniable.research.load_times import load_times, load_times_page


def draw(path: Path) -> None:
    """Write the picture."""
    rng, n, rate = np.random.default_rng(1), 8000, 0.4994798
    low = rng.random(n) < 0.25
    replaced = rng.random(n) < rate
    shown = np.where(replaced, rng.integers(0, 2, n) == 1, low)
    loads = {
        "confidence.value": np.where(shown, "low", "high"),
        "confidence.randomizedTriggerRate": np.full(n, rate),
        "duration": rng.gamma(4.0, np.where(low, 500.0, 200.0)),
    }
    save_png(load_times_page(load_times(loads)), path)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(64)
    small.save(path, optimize=True)

"""A small survey with files, for the tests of the streaming jobs."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deniable import SimulationRandomness
from deniable.records.split import SPL
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema

SCHEMA = Schema((Attribute("smoker", ("yes", "no"), missing="no answer"), Attribute("age", edges=(20, 40, 60))))
SURVEY = Collection(SCHEMA, SPL(sizes=SCHEMA.sizes, epsilon=8.0))
N = 1000


def rng(seed: int = 1) -> SimulationRandomness:
    return SimulationRandomness(seed)


def answers_file(path: Path, n: int = N, seed: int = 1) -> Path:
    """Write n answers, as CSV or Parquet, the same for the same seed."""
    generator = np.random.default_rng(seed)
    smoker = generator.choice(["yes", "no", ""], n, p=[0.2, 0.7, 0.1]).tolist()
    age = generator.integers(10, 90, n).tolist()
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"id": range(n), "age": age, "smoker": smoker}), path, row_group_size=n // 3 + 1)
    else:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([("id", "age", "smoker"), *zip(range(n), age, smoker, strict=True)])
    return path


def files(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


class Interrupt:
    """A progress callback that is interrupted (Ctrl-C) at one of its calls, counted from 1."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.calls: list[tuple[int, int | None]] = []

    def __call__(self, done: int, total: int | None) -> None:
        self.calls.append((done, total))
        if len(self.calls) == self.at:
            raise KeyboardInterrupt

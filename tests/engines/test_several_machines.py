"""Files on several machines: sums of parts, stored on any file system and merged as a tree, equal the whole sum."""

from __future__ import annotations

import functools
import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import fs

from deniable import SMP, Aggregate, Attribute, Collection, Schema, SimulationRandomness
from deniable.errors import DuplicateReportsError
from deniable.files import aggregate_files, write_reports

SURVEY = Collection(
    Schema((Attribute("smoker", ("yes", "no")), Attribute("town", tuple(map(str, range(40)))))), SMP((2, 40), 1.0)
)
MACHINES = 5


def local(directory: Path) -> tuple[fs.FileSystem, str]:
    store, place = fs.FileSystem.from_uri((directory / "sums").as_uri())
    return store, place


def in_memory(directory: Path) -> tuple[fs.FileSystem, str]:
    fsspec = pytest.importorskip("fsspec", reason="make engines installs fsspec")
    return fs.PyFileSystem(fs.FSSpecHandler(fsspec.filesystem("memory"))), f"/{directory.name}"


@pytest.mark.parametrize("where", [local, in_memory])
def test_a_tree_of_sums_is_the_sum(where: Any, tmp_path: Path) -> None:
    store, place = where(tmp_path)
    store.create_dir(place)

    def keep(total: Aggregate, name: str) -> None:
        with store.open_output_stream(f"{place}/{name}") as stream:
            stream.write(total.to_bytes())

    def merged(*names: str) -> Aggregate:
        parts = (Aggregate.from_bytes(store.open_input_file(f"{place}/{name}").readall()) for name in names)
        return functools.reduce(operator.add, parts)

    files = []
    for machine in range(MACHINES):
        rng, own = SimulationRandomness(machine), []
        for i in range(2):
            codes = np.stack([np.arange(50 + machine) % 2, np.arange(50 + machine) % 40], axis=1)
            own.append(tmp_path / f"{machine}-{i}.parquet")
            write_reports(own[-1], SURVEY, [SURVEY.randomize(codes, rng)], rng)
        keep(aggregate_files(SURVEY, own, tmp_path / f"{machine}.arrow"), f"machine-{machine}")
        files += own
    everything = aggregate_files(SURVEY, files, tmp_path / "everything.arrow")
    keep(merged("machine-0", "machine-1", "machine-2"), "rack-0")
    keep(merged("machine-3", "machine-4"), "rack-1")
    assert merged("rack-0", "rack-1") == everything
    assert merged(*(f"machine-{machine}" for machine in (3, 1, 4, 0, 2))) == everything
    with pytest.raises(DuplicateReportsError, match="batch"):
        merged("rack-0", "machine-1")

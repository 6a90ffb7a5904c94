"""Files of released reports: one file for each release step, so that no file shows the batches inside a step."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import final

import numpy as np

from deniable.core.randomness import Words
from deniable.files.wire import from_wire, report_width, to_wire
from deniable.service.stores.store import Store
from deniable.survey.collection import Collection


def reports_of_steps(store: Store, collection: Collection, source: str, only: int | None = None) -> dict[str, bytes]:
    """Return the report files of a collection's releases, by name.

    Parameters
    ----------
    store : Store
        Database of the collector.
    collection : Collection
        Collection whose reports are read.
    source : str
        Collector's name for the collection, which makes each file the same batch in every export.
    only : int, optional
        Number of the one step to read, from 1.
    """
    files, last = {}, 0
    for number, release in enumerate(store.releases(collection.id), 1):
        first, last = last + 1, release.batches
        if only not in (None, number):
            continue
        batches = [store.batch_file(collection.id, i) for i in range(first, last + 1)]
        name = f"{source}/{first}-{last}"
        files[f"batch-{number:06}.parquet"] = batches[0] if len(batches) == 1 else _merged(collection, batches, name)
    return files


def _merged(collection: Collection, batches: Sequence[bytes], name: str) -> bytes:
    """Return one report file made from several; its sorted reports show neither batches nor the order in them."""
    from deniable.files import ReportReader, write_reports  # it loads the reader of Parquet, which sums do not need

    mechanism = collection.mechanism
    width, rows = report_width(mechanism), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "batch.parquet"
        for content in batches:
            path.write_bytes(content)
            rows += [to_wire(mechanism, reports) for reports in ReportReader(path, collection)]
        together = np.concatenate(rows)
        ordered = np.sort(together.view(f"V{width}")[:, 0]).view(np.uint8).reshape(together.shape)
        write_reports(path, collection, [from_wire(mechanism, ordered)], _Number(name))
        return path.read_bytes()


@final
class _Number:
    """Source of a file's batch number, always the same for one name: two exports of a step must not add up."""

    def __init__(self, name: str) -> None:
        self._name = name.encode()

    def fill(self, words: Words) -> None:
        """Overwrite words with those that belong to the name."""
        words[:] = np.frombuffer(hashlib.shake_256(self._name).digest(8 * len(words)), "<u8")

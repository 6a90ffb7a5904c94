"""What an interrupted `aggregate_files` leaves behind, and where the next run goes on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from deniable.core.aggregate import Aggregate
from deniable.errors import DeniableError, OutputError
from deniable.survey.collection import Collection

CHECKPOINT_SECONDS = 1.0
"""The sum of the finished files is written at most this often, and at every interruption."""


class Checkpoint:
    """The sum of the finished report files, in a hidden aggregate file beside the output.

    A context manager, to be entered while the output is ours alone: inside, `keep` what is finished; if the block is
    left by an exception (an interruption is one), that is written. `done` removes the file once the output is there.

    Parameters
    ----------
    collection : Collection
        Which the reports belong to.
    output : Path
        Where the aggregate will be.
    batches : set of str
        Digests of the batches that shall be in it. What an earlier run left is used only if it contains no others.

    Attributes
    ----------
    aggregate : Aggregate
        The sum so far; inside the block at first that of an earlier run, or empty.
    """

    def __init__(self, collection: Collection, output: Path, batches: set[str]) -> None:
        self.path = output.with_name(f".{output.name}.resume")
        self.aggregate = Aggregate.empty(collection.mechanism, collection.id)
        self._batches = batches
        self._written = time.monotonic()

    def __enter__(self) -> Checkpoint:
        with contextlib.suppress(DeniableError):
            earlier = Aggregate.load(self.path)
            if earlier.collection == self.aggregate.collection and earlier.batches <= self._batches:
                self.aggregate = earlier
        return self

    @contextlib.contextmanager
    def done(self) -> Iterator[None]:
        """Remove the file after the block."""
        yield
        self.path.unlink(missing_ok=True)

    def keep(self, aggregate: Aggregate) -> None:
        """Take note that one more file is finished."""
        self.aggregate = aggregate
        if time.monotonic() - self._written >= CHECKPOINT_SECONDS:
            self._write()

    def _write(self) -> None:
        self.aggregate.save(self.path)
        self._written = time.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None and self.aggregate.batches:
            with contextlib.suppress(OutputError):
                self._write()
